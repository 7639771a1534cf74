"""Joining, cutting and filling rows: concatenate, split, pad, arange, diagonals, triangles, one_hot.

Triangles, diagonal matrices and fill_diagonal are composites: at concrete shapes they lower to a `where`
over index comparisons and fuse. concatenate, pad, diagonal and arange of symbolic bounds are opaque.
"""
import builtins
import math
import numbers

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ShapeError
from ..graph.node import Node, constant, make
from ..graph.op import Op
from ..graph.shapes import axis_of, show
from .base import cast, expand, is_weak, operands, scalar, to_node
from .elementwise import add, floor_div, iota, mod, mul, sub, where
from .logic import eq, ge, logical_and
from .movement import flatten, reshape, slice_
from .reduce import sum
from .shape import known_value, size_of, sized

__all__ = ["concatenate", "stack", "split", "pad", "arange", "diag", "diagonal", "fill_diagonal", "eye",
           "tril", "triu", "one_hot", "roll"]


# --- joining ----------------------------------------------------------------------------------------

def _infer_concatenate(attrs, *xs):
    axis, first = attrs["axis"], xs[0]
    for x in xs[1:]:
        if x.dtype != first.dtype:
            raise DTypeError(f"concatenate needs one dtype, got {first.dtype} and {x.dtype}")
        if x.ndim != first.ndim:
            raise ShapeError("concatenate needs tensors of one rank, got shapes "
                             + " and ".join(show(i.shape) for i in (first, x)))
    shape = []
    for k in range(first.ndim):
        sizes = [x.shape[k] for x in xs]
        known = {s for s in sizes if s is not None}
        if k == axis:
            shape.append(None if None in sizes else builtins.sum(sizes))
        elif len(known) > 1:
            raise ShapeError(f"cannot concatenate shapes {' and '.join(show(x.shape) for x in xs[:6])} "
                             f"along axis {axis}: sizes of axis {k} differ")
        else:
            shape.append(known.pop() if known else None)
    return first.dtype, tuple(shape)


def _run_concatenate(attrs, *xs):
    try:
        return np.concatenate(xs, axis=attrs["axis"])
    except ValueError:
        raise ShapeError(f"cannot concatenate shapes {' and '.join(show(x.shape) for x in xs[:6])} "
                         f"along axis {attrs['axis']}") from None


def _grad_concatenate(node, g):
    axis = node.attrs["axis"]
    return split(g, [size_of(x, axis) for x in node.inputs], axis)


Op("concatenate", "opaque", _infer_concatenate, _run_concatenate, _grad_concatenate,
   doc="Tensors joined along an existing axis.")


def concatenate(tensors, axis=0):
    """Tensors of one rank joined along `axis`; their dtypes are promoted."""
    nodes = operands([to_node(t, "concatenate") for t in tensors], "concatenate") if tensors else []
    if not nodes:
        raise ShapeError("concatenate needs at least one tensor")
    if nodes[0].ndim == 0:
        raise ShapeError("cannot concatenate scalars; use stack")
    axis = axis_of(axis, nodes[0].ndim)
    return nodes[0] if len(nodes) == 1 else make("concatenate", nodes, {"axis": axis})


def stack(tensors, axis=0):
    """Tensors of one shape joined along a new axis at `axis` of the result."""
    nodes = operands(list(tensors), "stack") if len(tensors) else []
    if not nodes:
        raise ShapeError("stack needs at least one tensor")
    if any(n.ndim != nodes[0].ndim for n in nodes):
        raise ShapeError("stack needs tensors of one shape, got "
                         + " and ".join(show(n.shape) for n in nodes[:6]))
    axis = axis_of(axis, nodes[0].ndim + 1)
    return concatenate([expand(n, (axis,)) for n in nodes], axis)


def split(x, parts, axis=0):
    """A list of the pieces of `x` along `axis`: `parts` equal ones, or pieces of the sizes `parts`."""
    from .indexing import dynamic_slice
    x = to_node(x, "split")
    axis = axis_of(axis, x.ndim)
    if isinstance(parts, numbers.Integral):
        size = x.shape[axis]
        if parts < 1 or (size is not None and size % parts):
            raise ShapeError(f"cannot split axis {axis} of shape {show(x.shape)} into {parts} equal parts")
        each = floor_div(size_of(x, axis), int(parts)) if size is None else size // parts
        parts = [each] * int(parts)
    elif x.shape[axis] is not None and all(isinstance(p, numbers.Integral) for p in parts):
        if builtins.sum(parts) != x.shape[axis] or builtins.min(parts, default=0) < 0:
            raise ShapeError(f"parts of sizes {list(parts)} do not make up axis {axis} of shape "
                             f"{show(x.shape)}")
    pieces, start = [], 0
    for p in parts:
        stop = start + p if not isinstance(start, Node) and not isinstance(p, Node) else add(start, p)
        pieces.append(dynamic_slice(x, [(None, None, 1)] * axis + [(start, stop, 1)]))
        start = stop
    return pieces


# --- padding ----------------------------------------------------------------------------------------

def _infer_pad(attrs, x, value):
    return x.dtype, tuple(None if d is None else d + a + b for d, (a, b) in zip(x.shape, attrs["widths"]))


def _inside(widths):
    return [(a, -b if b else None, 1) for a, b in widths]


def _grad_pad(node, g):
    inner = slice_(g, _inside(node.attrs["widths"]))
    value = node.inputs[1]
    return inner, None if value.value is not None else sub(sum(g), sum(inner))


Op("pad", "opaque", _infer_pad,
   lambda a, x, value: np.pad(x, a["widths"], constant_values=value) if x.ndim else np.array(x),
   _grad_pad, doc="x with attrs['widths'] entries of a scalar before and after each axis.")


def pad(x, widths, value=0):
    """`x` with `value` before and after each axis: widths is ((before, after), ...) of static ints."""
    x = to_node(x, "pad")
    widths = tuple((int(a), int(b)) for a, b in widths)
    if len(widths) != x.ndim or any(w < 0 for pair in widths for w in pair):
        raise ShapeError(f"pad needs a pair of sizes >= 0 for each axis of shape {show(x.shape)}, "
                         f"got {widths}")
    if not any(w for pair in widths for w in pair):
        return x
    value = scalar(value, x.dtype, "pad") if is_weak(value) else cast(to_node(value, "pad"), x.dtype)
    return make("pad", (x, value), {"widths": widths})


def roll(x, shift, axis=None):
    """np.roll: elements shifted along `axis` (None: of the flattened tensor), wrapping around."""
    from .advanced import take
    x = to_node(x, "roll")
    if axis is None:
        return reshape(roll(flatten(x), shift, 0), sized(x))
    axis = axis_of(axis, x.ndim)
    size = size_of(x, axis)
    shift = to_node(shift, "roll") if not isinstance(shift, numbers.Integral) else shift
    if isinstance(size, int) and isinstance(shift, numbers.Integral):
        k = int(shift) % size if size else 0
        whole = [(None, None, 1)] * axis
        return concatenate([slice_(x, whole + [(size - k, None, 1)]),
                            slice_(x, whole + [(None, size - k, 1)])], axis) if k else x
    return take(x, mod(sub(arange(0, size, 1, "int64"), shift), size), axis)


# --- arange -----------------------------------------------------------------------------------------

def _length(start, stop, step):
    if step == 0:
        raise ShapeError("the step of arange cannot be 0")
    if all(isinstance(v, int) for v in (start, stop, step)):
        return len(range(start, stop, step))
    return builtins.max(0, math.ceil((stop - start) / step))


def _infer_arange(attrs, *bounds):
    values = [b.value.item() if b.value is not None else known_value(b) for b in bounds]
    return attrs["dtype"], (None if None in values else _length(*values),)


def _run_arange(attrs, start, stop, step):
    first, last, by = start.item(), stop.item(), step.item()
    return _arange(first, by, _length(first, last, by), attrs["dtype"])


def _arange(start, step, length, dtype):
    if np.dtype(dtype).kind in "iub":
        return (int(start) + np.arange(length) * int(step)).astype(dtype)
    # NumPy's rule for float64: element i is start + i * delta with delta = (start + step) - start.
    return (start + np.arange(length) * ((start + step) - start)).astype(dtype)


Op("arange", "opaque", _infer_arange, _run_arange, lambda node, g: (None, None, None),
   doc="start, start + step, .. below stop, in attrs['dtype'].")


def arange(start, stop=None, step=1, dtype=None):
    """A vector start, start + step, .. below stop (numbers or scalar nodes); one argument is the stop."""
    if stop is None:
        start, stop = 0, start
    bounds = [b.node if isinstance(getattr(b, "node", None), Node) else b for b in (start, stop, step)]
    if dtype is None:
        dtype = operands(bounds, "arange")[0].dtype
    dtype = dtypes.name_of(dtype)
    values = [_number(b) for b in bounds]
    if None in values:
        nodes = [b if isinstance(b, Node) else to_node(b, "arange") for b in bounds]
        if any(n.ndim for n in nodes):
            raise ShapeError("the bounds of arange are scalars, got shapes "
                             + ", ".join(show(n.shape) for n in nodes))
        return make("arange", nodes, {"dtype": dtype})
    start, stop, step = values
    length = _length(start, stop, step)
    if dtypes.is_discrete(dtype) and dtype != "bool" and length > 16:
        line = iota((length,), 0, dtype)
        line = line if int(step) == 1 else mul(line, int(step))
        return line if int(start) == 0 else add(line, int(start))
    return constant(_arange(start, step, length, dtype))


def _number(b):
    if not isinstance(b, Node):
        return np.asarray(b).item()
    if b.value is not None and b.ndim == 0:
        return b.value.item()
    return known_value(b) if b.ndim == 0 and dtypes.is_discrete(b.dtype) else None


# --- diagonals --------------------------------------------------------------------------------------

def _diagonal_size(n, m, k):
    if n is None or m is None:
        return None
    return builtins.max(0, builtins.min(n + builtins.min(k, 0), m - builtins.max(k, 0)))


def _infer_diagonal(attrs, x):
    (a, b), k = attrs["axes"], attrs["offset"]
    rest = tuple(d for i, d in enumerate(x.shape) if i not in (a, b))
    return x.dtype, rest + (_diagonal_size(x.shape[a], x.shape[b], k),)


def _run_place(attrs, like, g):
    out = np.zeros(like.shape, g.dtype)
    view = np.diagonal(out, attrs["offset"], *attrs["axes"])
    view.setflags(write=True)
    view[...] = g
    return out


Op("diagonal", "opaque", _infer_diagonal,
   lambda a, x: np.array(np.diagonal(x, a["offset"], *a["axes"])),
   lambda node, g: (make("diagonal_place", (node.inputs[0], g), node.attrs),),
   doc="The diagonal over two axes, as the last axis.")
Op("diagonal_place", "opaque", lambda a, like, g: (g.dtype, like.shape), _run_place,
   lambda node, g: (None, make("diagonal", (g,), node.attrs)),
   doc="Zeros like the first operand with g on the diagonal: the gradient of diagonal.")


def diagonal(x, offset=0, axis1=0, axis2=1):
    """np.diagonal: the elements of two axes with index (i, i + offset), as the last axis."""
    x = to_node(x, "diagonal")
    if x.ndim < 2:
        raise ShapeError(f"diagonal needs at least 2 dimensions, got shape {show(x.shape)}")
    axes = (axis_of(axis1, x.ndim), axis_of(axis2, x.ndim))
    if axes[0] == axes[1]:
        raise ShapeError(f"diagonal needs two different axes, got {axis1} twice")
    return make("diagonal", (x,), {"offset": int(offset), "axes": axes})


def _infer_diag_matrix(attrs, v):
    n = v.shape[0]
    size = None if n is None else n + builtins.abs(attrs["offset"])
    return v.dtype, (size, size)


def _lower_diag_matrix(node):
    v, k = node.inputs[0], node.attrs["offset"]
    rows, columns = iota(node.shape, 0), iota(node.shape, 1)
    if k >= 0:
        wide = expand(pad(v, ((0, k),)), (1,))
    else:
        wide = expand(pad(v, ((0, -k),)), (0,))
    return where(eq(add(rows, k) if k else rows, columns), wide, 0)


Op("diag_matrix", "composite", _infer_diag_matrix, lambda a, v: np.diag(v, a["offset"]),
   lambda node, g: (diagonal(g, node.attrs["offset"]),), lower=_lower_diag_matrix, ulp=0,
   doc="The matrix with a vector on its diagonal.")


def diag(x, offset=0):
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    x = to_node(x, "diag")
    if x.ndim == 1:
        return make("diag_matrix", (x,), {"offset": int(offset)})
    if x.ndim == 2:
        return diagonal(x, offset)
    raise ShapeError(f"diag needs a vector or a matrix, got shape {show(x.shape)}")


def _on_diagonal(shape, offset):
    hits = [eq(add(iota(shape, 0), offset) if offset else iota(shape, 0), iota(shape, i))
            for i in range(1, len(shape))]
    total = hits[0]
    for h in hits[1:]:
        total = logical_and(total, h)
    return total


def _run_fill_diagonal(attrs, x, value):
    out = np.array(x)
    if x.ndim == 2:
        view = np.diagonal(out, attrs["offset"])
        view.setflags(write=True)
        view[...] = value
    else:
        out[(np.arange(x.shape[0]),) * x.ndim] = value
    return out


def _infer_fill_diagonal(attrs, x, value):
    sizes = {d for d in x.shape if d is not None}
    if x.ndim < 2 or (x.ndim > 2 and len(sizes) > 1):
        raise ShapeError(f"fill_diagonal needs a matrix, or a tensor whose axes are all of one size, got "
                         f"shape {show(x.shape)}")
    return x.dtype, x.shape


def _grad_fill_diagonal(node, g):
    x = node.inputs[0]
    zero = constant(np.zeros((), g.dtype))
    gx = make("fill_diagonal", (g, zero), node.attrs)
    gv = None if node.inputs[1].value is not None else sub(sum(g), sum(gx))
    return gx, gv if x.ndim else None


Op("fill_diagonal", "composite", _infer_fill_diagonal, _run_fill_diagonal, _grad_fill_diagonal,
   lower=lambda node: where(_on_diagonal(node.shape, node.attrs["offset"]), node.inputs[1],
                            node.inputs[0]), ulp=0, doc="x with a scalar on its diagonal.")


def fill_diagonal(x, value, offset=0):
    """A tensor like `x` with the scalar `value` on its diagonal (offset only for matrices)."""
    x = to_node(x, "fill_diagonal")
    value = scalar(value, x.dtype, "fill_diagonal") if is_weak(value) and not isinstance(value, float) \
        else to_node(value, "fill_diagonal")
    if value.ndim or not np.can_cast(value.dtype, x.dtype, "same_kind"):
        raise DTypeError(f"fill_diagonal puts a scalar into a {x.dtype} tensor, got {value.dtype} of shape "
                         f"{show(value.shape)}")
    if offset and x.ndim != 2:
        raise ShapeError(f"fill_diagonal with an offset needs a matrix, got shape {show(x.shape)}")
    return make("fill_diagonal", (x, cast(value, x.dtype)), {"offset": int(offset)})


def eye(n, m=None, k=0, dtype=None):
    """The n x m matrix (m = n by default) with ones on diagonal `k`, zeros elsewhere. Sizes: ints or nodes."""
    m, dtype = n if m is None else m, dtypes.name_of(dtype or dtypes.floatx())
    n, m = (v if isinstance(v, int) else cast(to_node(v, "eye"), "int64") for v in (n, m))
    rows, columns = arange(0, n, 1, "int64"), arange(0, m, 1, "int64")
    return cast(eq(expand(add(rows, k), (1,)), expand(columns, (0,))), dtype)


# --- triangles --------------------------------------------------------------------------------------

def _triangle(name, fn, keep):
    def infer(attrs, x):
        if x.ndim < 2:
            raise ShapeError(f"{name} needs at least 2 dimensions, got shape {show(x.shape)}")
        return x.dtype, x.shape

    def lower(node):
        x = node.inputs[0]
        rows, columns = iota(x.shape[-2:], 0), iota(x.shape[-2:], 1)
        return where(keep(add(rows, node.attrs["k"]), columns), x, 0)

    op = Op(name, "composite", infer, lambda a, x: fn(x, a["k"]),
            lambda node, g: (make(op, (g,), node.attrs),), lower=lower, ulp=0,
            doc=f"The {'lower' if name == 'tril' else 'upper'} triangle of matrices from diagonal k.")

    def build(x, k=0):
        return make(op, (to_node(x, name),), {"k": int(k)})
    build.__name__ = build.__qualname__ = name
    build.__doc__ = op.doc + " The rest is zero."
    return build


tril = _triangle("tril", np.tril, ge)
triu = _triangle("triu", np.triu, lambda rows, columns: ge(columns, rows))


def one_hot(indices, num_classes, dtype=None):
    """1 at the class and 0 elsewhere along a new last axis of `num_classes`; indices out of range: all 0."""
    indices = to_node(indices, "one_hot")
    if indices.dtype not in dtypes.INTEGERS:
        raise DTypeError(f"the indices of one_hot must be integers, not {indices.dtype}")
    classes = arange(0, num_classes, 1, "int64")
    classes = expand(classes, tuple(range(indices.ndim)))
    hit = eq(expand(cast(indices, "int64"), (indices.ndim,)), classes)
    return cast(hit, dtypes.name_of(dtype or dtypes.floatx()))
