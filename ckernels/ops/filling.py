"""Tensors made by filling: arange, eye, one_hot, diagonals and triangles.

Triangles, diagonal matrices and fill_diagonal are composites: at concrete shapes they lower to a
`where` over index comparisons and fuse. diagonal and arange of symbolic bounds are opaque.
"""

import builtins
import math
import numbers

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, DTypeError, OutOfMemory, ShapeError, UsageError
from ..graph.node import Node, constant, make
from ..graph.op import Op
from ..graph.shapes import axis_of, distinct, show
from ..graph.sizes import Size, ceil_divide
from .base import cast, expand, fits, is_weak, operands, scalar, to_node
from .elementwise import add, iota, mul, sub, where
from .joining import pad
from .logic import eq, ge, logical_and
from .reduce import sum
from .shape import known_value, size_of

__all__ = ["arange", "diag", "diagonal", "fill_diagonal", "eye", "tril", "triu", "one_hot"]


# --- arange -----------------------------------------------------------------------------------


MOST = 1 << 48  # elements; no computer addresses more


def _length(start, stop, step):
    if step == 0:
        raise ShapeError("the step of arange cannot be 0")
    if not all(isinstance(v, Size) or math.isfinite(v) for v in (start, stop, step)):
        raise ArgumentError(f"arange needs finite numbers, got {start}, {stop} and {step}")
    if all(isinstance(v, (int, Size)) for v in (start, stop, step)):
        span = stop - start if step > 0 else start - stop
        return 0 if span <= 0 else ceil_divide(span, abs(step))
    return builtins.max(0, math.ceil((stop - start) / step))


def _infer_arange(attrs, *bounds):
    values = [b.value.item() if b.value is not None else known_value(b) for b in bounds]
    return attrs["dtype"], (None if None in values else _length(*values),)


def _run_arange(attrs, start, stop, step):
    first, last, by = start.item(), stop.item(), step.item()
    return _arange(first, by, _length(first, last, by), attrs["dtype"])


def _first_fit(start, step, length, dtype):
    """As in NumPy, the first two elements, where both are ints, are numbers of the dtype."""
    if dtypes.is_discrete(dtype) and dtype != "bool" and type(start) is type(step) is int:
        for value in (start, start + step)[:length]:
            if not fits(value, dtype):
                info = np.iinfo(dtype)
                raise DTypeError(
                    f"arange from {start} by {step}: {value} does not fit in {dtype} "
                    f"({info.min} to {info.max}); ask for a wider dtype"
                )


def _arange(start, step, length, dtype):
    if length > MOST:
        raise OutOfMemory(f"arange from {start} by {step} has {length} elements")
    _first_fit(start, step, length, dtype)
    if np.dtype(dtype).kind in "iub":
        try:
            return (int(start) + np.arange(length) * int(step)).astype(dtype)
        except OverflowError as problem:
            raise DTypeError(f"arange from {start} by {step} does not fit in {dtype}") from problem
    if dtypes.is_complex(dtype):
        return (start + np.arange(length) * ((start + step) - start)).astype(dtype)
    # NumPy's rule: of the first two elements, rounded, the others follow in float32 or float64.
    wide = np.float64 if dtype == "float64" else np.float32
    first = np.array([start, start + step]).astype(dtype)
    low, high = first.astype(wide)
    found = (low + np.arange(length).astype(wide) * (high - low)).astype(dtype)
    found[1:2] = first[1:]
    return found


def _grad_arange(node, g):
    """By start the sum, by step each element times its place; stop only counts the elements."""
    start, _, step = node.inputs
    by_start = sum(g) if dtypes.is_float(start.dtype) else None
    by_step = None
    if dtypes.is_float(step.dtype):
        places = arange(0, size_of(g, 0), 1, "int64")
        by_step = sum(mul(g, cast(places, g.dtype)))
    return (
        None if by_start is None else cast(by_start, start.dtype),
        None,
        None if by_step is None else cast(by_step, step.dtype),
    )


Op(
    "arange",
    "opaque",
    _infer_arange,
    _run_arange,
    _grad_arange,
    doc="start, start + step, .. below stop, in attrs['dtype'].",
)


def arange(start, stop=None, step=1, dtype=None):
    """A vector start, start + step, .. below stop (numbers, scalar nodes); one argument: stop."""
    if stop is None:
        start, stop = 0, start
    if start is None or stop is None or step is None:
        raise UsageError(f"the bounds of arange are numbers, got {start}, {stop}, step {step}")
    bounds = [
        b.node if isinstance(getattr(b, "node", None), Node) else b for b in (start, stop, step)
    ]
    if dtype is None:
        dtype = operands(bounds, "arange")[0].dtype
    dtype = dtypes.name_of(dtype)
    values = [_number(b) for b in bounds]
    if None in values:
        nodes = [b if isinstance(b, Node) else to_node(b, "arange") for b in bounds]
        if any(n.ndim for n in nodes):
            raise ShapeError(
                "the bounds of arange are scalars, got shapes "
                + ", ".join(show(n.shape) for n in nodes)
            )
        return make("arange", nodes, {"dtype": dtype})
    start, stop, step = values
    length = _length(start, stop, step)
    sized = any(type(v) is Size for v in values)
    if dtypes.is_discrete(dtype) and dtype != "bool" and (sized or length > 16):
        if not sized:
            _first_fit(start, step, length, dtype)
        start, step = (v if type(v) is Size else int(v) for v in (start, step))
        return counted(start, step, length, dtype)
    return constant(_arange(start, step, length, dtype))


def counted(start, step, length, dtype):
    """start, start + step, ..: arithmetic on an index of `length` elements."""
    whole = dtypes.is_discrete(dtype)
    line = cast(iota((length,), 0, dtype if whole else "int64"), dtype)
    line = line if step == 1 else mul(line, step)
    return line if start == 0 else add(line, start)


def _number(b):
    if type(b) in (int, float, Size):
        return b
    if not isinstance(b, Node):
        exact = isinstance(b, (numbers.Integral, np.ndarray)) and np.size(b) == 1
        value = given.number(b, "a bound of arange")  # a sentence for what is none
        return np.asarray(b).item() if exact else value
    if b.value is not None and b.ndim == 0:
        return b.value.item()
    return known_value(b) if b.ndim == 0 and dtypes.is_discrete(b.dtype) else None


# --- diagonals --------------------------------------------------------------------------------


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


Op(
    "diagonal",
    "opaque",
    _infer_diagonal,
    lambda a, x: np.array(np.diagonal(x, a["offset"], *a["axes"])),
    lambda node, g: (make("diagonal_place", (node.inputs[0], g), node.attrs),),
    doc="The diagonal over two axes, as the last axis.",
)
Op(
    "diagonal_place",
    "opaque",
    lambda a, like, g: (g.dtype, like.shape),
    _run_place,
    lambda node, g: (None, make("diagonal", (g,), node.attrs)),
    doc="Zeros like the first operand with g on the diagonal: the gradient of diagonal.",
)


def diagonal(x, offset=0, axis1=0, axis2=1):
    """np.diagonal: the elements of two axes with index (i, i + offset), as the last axis."""
    x = to_node(x, "diagonal")
    if x.ndim < 2:
        raise ShapeError(f"diagonal needs at least 2 dimensions, got shape {show(x.shape)}")
    axes = (axis_of(axis1, x.ndim), axis_of(axis2, x.ndim))
    if axes[0] == axes[1]:
        raise ShapeError(f"diagonal needs two different axes, got {axis1} twice")
    return make("diagonal", (x,), {"offset": given.whole(offset, "offset"), "axes": axes})


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


Op(
    "diag_matrix",
    "composite",
    _infer_diag_matrix,
    lambda a, v: np.diag(v, a["offset"]),
    lambda node, g: (diagonal(g, node.attrs["offset"]),),
    lower=_lower_diag_matrix,
    ulp=0,
    doc="The matrix with a vector on its diagonal.",
)


def diag(x, offset=0):
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    x = to_node(x, "diag")
    if x.ndim == 1:
        return make("diag_matrix", (x,), {"offset": offset})
    if x.ndim == 2:
        return diagonal(x, offset)
    raise ShapeError(f"diag needs a vector or a matrix, got shape {show(x.shape)}")


def _on_diagonal(shape, offset):
    hits = [
        eq(add(iota(shape, 0), offset) if offset else iota(shape, 0), iota(shape, i))
        for i in range(1, len(shape))
    ]
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
    if x.ndim < 2 or (x.ndim > 2 and len(distinct(x.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal needs a matrix, or a tensor whose axes are all of one size, got "
            f"shape {show(x.shape)}"
        )
    return x.dtype, x.shape


def _grad_fill_diagonal(node, g):
    x = node.inputs[0]
    zero = constant(np.zeros((), g.dtype))
    gx = make("fill_diagonal", (g, zero), node.attrs)
    gv = None if node.inputs[1].value is not None else sub(sum(g), sum(gx))
    return gx, gv if x.ndim else None


Op(
    "fill_diagonal",
    "composite",
    _infer_fill_diagonal,
    _run_fill_diagonal,
    _grad_fill_diagonal,
    lower=lambda node: where(
        _on_diagonal(node.shape, node.attrs["offset"]), node.inputs[1], node.inputs[0]
    ),
    ulp=0,
    doc="x with a scalar on its diagonal.",
)


def fill_diagonal(x, value, offset=0):
    """A tensor like `x` with the scalar `value` on its diagonal (offset only for matrices)."""
    x = to_node(x, "fill_diagonal")
    value = (
        scalar(value, x.dtype, "fill_diagonal")
        if is_weak(value) and not isinstance(value, float)
        else to_node(value, "fill_diagonal")
    )
    if value.ndim or not np.can_cast(value.dtype, x.dtype, "same_kind"):
        raise DTypeError(
            f"fill_diagonal puts a scalar into a {x.dtype} tensor, got {value.dtype} of shape "
            f"{show(value.shape)}"
        )
    offset = given.whole(offset, "offset")
    if offset and x.ndim != 2:
        raise ShapeError(f"fill_diagonal with an offset needs a matrix, got shape {show(x.shape)}")
    return make("fill_diagonal", (x, cast(value, x.dtype)), {"offset": int(offset)})


def eye(n, m=None, k=0, dtype=None):
    """The n x m matrix (m = n by default) with ones on diagonal `k`; n, m: ints or scalar nodes."""
    m, dtype = n if m is None else m, dtypes.name_of(dtypes.floatx() if dtype is None else dtype)
    n, m = (v if isinstance(v, int) else cast(to_node(v, "eye"), "int64") for v in (n, m))
    rows, columns = arange(0, n, 1, "int64"), arange(0, m, 1, "int64")
    return cast(eq(expand(add(rows, k), (1,)), expand(columns, (0,))), dtype)


# --- triangles --------------------------------------------------------------------------------


def _triangle(name, fn, keep):
    def infer(attrs, x):
        if x.ndim < 2:
            raise ShapeError(f"{name} needs at least 2 dimensions, got shape {show(x.shape)}")
        return x.dtype, x.shape

    def lower(node):
        x = node.inputs[0]
        rows, columns = iota(x.shape[-2:], 0), iota(x.shape[-2:], 1)
        zero = constant(np.zeros((), x.dtype))
        return where(keep(add(rows, node.attrs["k"]), columns), x, zero)

    op = Op(
        name,
        "composite",
        infer,
        lambda a, x: fn(x, a["k"]),
        lambda node, g: (make(op, (g,), node.attrs),),
        lower=lower,
        ulp=0,
        doc=f"The {'lower' if name == 'tril' else 'upper'} triangle of matrices from diagonal k.",
    )

    def build(x, k=0):
        return make(op, (to_node(x, name),), {"k": given.whole(k, "k")})

    build.__name__ = build.__qualname__ = name
    build.__doc__ = op.doc + " The rest is zero."
    return build


tril = _triangle("tril", np.tril, ge)
triu = _triangle("triu", np.triu, lambda rows, columns: ge(columns, rows))


def one_hot(indices, num_classes, dtype=None):
    """1 at the class, else 0, along a new last axis of `num_classes`; out of range: all 0."""
    indices = to_node(indices, "one_hot")
    if indices.dtype not in dtypes.INTEGERS:
        raise DTypeError(f"the indices of one_hot must be integers, not {indices.dtype}")
    classes = arange(0, num_classes, 1, "int64")
    classes = expand(classes, tuple(range(indices.ndim)))
    hit = eq(expand(cast(indices, "int64"), (indices.ndim,)), classes)
    return cast(hit, dtypes.name_of(dtypes.floatx() if dtype is None else dtype))
