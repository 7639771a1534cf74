"""Shapes: asking for them, changing them, what is known of them, padding, repeating, rolling."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import ArgumentError, IndexOutOfBounds, ShapeError, UsageError
from ...graph.node import constant as constant_node
from ...graph.node import make
from ...graph.op import Op as Row
from ...graph.shapes import axis_of, show
from ..base.exceptions import RefusedError
from ..classes.op import KernelOp
from ..handles.variables import Handle, as_tensor_variable, constant
from .joining import join
from .raise_op import Assert

__all__ = ["Shape", "Shape_i", "Reshape", "Rebroadcast", "SpecifyShape", "Flatten", "shape",
           "size", "reshape", "flatten", "ravel", "transpose", "swapaxes", "squeeze",
           "shape_padleft",
           "shape_padright", "shape_padaxis", "addbroadcast", "unbroadcast", "patternbroadcast",
           "specify_shape", "get_vector_length", "tile", "Tile", "roll", "moveaxis", "shape_i",
           "is_flat", "as_shape", "expand_dims", "atleast_nd"]  # fmt: skip


class Shape(KernelOp):
    """The shape of a tensor as an int64 vector."""

    __props__ = ()

    def __init__(self):
        KernelOp.__init__(self, ops.shape, "Shape")


_shape = Shape()


def shape(x):
    """The shape of `x`, an int64 vector."""
    return _shape(x)


def size(x):
    """The number of elements of `x`, an int64 scalar."""
    x = as_tensor_variable(x)
    if x.ndim == 0:
        return x.shape.prod(dtype="int64")
    if x.ndim == 1:
        return x.shape[0]
    return x.shape.prod()


class Shape_i(KernelOp):  # noqa: N801 (Theano's name)
    """The size of one axis."""

    def __init__(self, i):
        KernelOp.__init__(self, _size_i, "Shape_i", i=int(i))

    def __str__(self):
        return f"Shape_i{{{self.attrs['i']}}}"

    def __reduce__(self):
        return Shape_i, (self.attrs["i"],)


def _size_i(x, i):
    size = ops.size_of(x, i)
    return constant_node(np.asarray(size, "int64")) if isinstance(size, int) else size


def shape_i(var, i, fgraph=None):
    """The size of axis `i` of `var`."""
    return Shape_i(i)(var)


# --- sizes as arguments -----------------------------------------------------------------------


def as_shape(sizes):
    """Sizes given as ints, scalars, or a vector, as a list of ints and int64 scalar variables.

    A vector of unknown length stays one variable.
    """
    if isinstance(sizes, Handle):
        if sizes.ndim == 0:
            return [sizes]
        try:
            count = get_vector_length(sizes)
        except ValueError:
            return sizes
        return [sizes[i] for i in range(count)]
    if isinstance(sizes, np.ndarray):
        sizes = sizes.reshape(-1).tolist()
    if not isinstance(sizes, (list, tuple)):
        sizes = [sizes]
    found = []
    for s in sizes:
        if isinstance(s, (Handle, np.ndarray)) or hasattr(s, "node"):
            s = as_tensor_variable(s)
            if s.ndim:
                if s.ndim == 1 and s.broadcastable[0]:
                    s = s[0]
                else:
                    raise UsageError(f"shape arguments must be scalars, not of {s.ndim} dimensions")
            if s.dtype not in (*dtypes.INTEGERS, "bool"):
                raise UsageError(
                    f"the shape of a new tensor is made of integers, and {s} is {s.dtype}: cast it"
                )
            found.append(
                int(s.data) if hasattr(s, "data") and isinstance(s.data, np.ndarray) else s
            )
        elif isinstance(s, (float, np.floating)) and s != int(s):
            raise UsageError(f"a size must be an integer, not {s!r}")
        else:
            found.append(int(s))
    return found


def get_vector_length(v):
    """The length of a vector where it is known; ValueError elsewhere."""
    v = as_tensor_variable(v)
    if v.ndim != 1:
        raise UsageError(f"only vectors have a length here, and {v} has {v.ndim} dimensions")
    if v.node.shape[0] is not None:
        return int(v.node.shape[0])
    raise ArgumentError(f"the length of the vector {v} is not known while the graph is built")


def _joined_sizes(pattern, sizes):
    """Sizes from a pattern of ints and None, where None takes the next scalar node."""
    rest = iter(sizes)
    return [next(rest) if p is None else p for p in pattern]


def pattern_of(sizes):
    """(pattern of ints and None, the symbolic ones among `sizes`)."""
    return (
        tuple(s if isinstance(s, int) else None for s in sizes),
        [s for s in sizes if not isinstance(s, int)],
    )


# --- reshape ----------------------------------------------------------------------------------


class Reshape(KernelOp):
    """Another shape, given by a vector of `ndim` sizes."""

    def __init__(self, ndim, name=None):
        KernelOp.__init__(self, _reshape_to, "Reshape", ndim=int(ndim))
        self.ndim = int(ndim)

    def make_node(self, x, shp):
        if not isinstance(shp, Handle):
            shp = (
                [s if not isinstance(s, int) else s for s in np.atleast_1d(shp)]
                if isinstance(shp, np.ndarray)
                else shp
            )
        x = as_tensor_variable(x)
        shp = as_tensor_variable(shp, ndim=1)
        if not (shp.dtype in dtypes.INTEGERS or getattr(shp, "data", np.ones(1)).size == 0):
            raise UsageError("Shape must be integers", shp, shp.dtype)
        return KernelOp.make_node(self, x, shp)

    def __str__(self):
        return f"Reshape{{{self.ndim}}}"

    def __reduce__(self):
        return Reshape, (self.ndim,)


def _reshape_to(x, sizes, ndim):
    """Reshape to a vector node of `ndim` sizes."""
    sizes = ops.cast(sizes, "int64")
    if sizes.shape != (ndim,):
        sizes = ops.reshape(sizes, [ndim])  # an error where there are not as many
    known = ops.known_values(sizes)
    if known is None:
        known = [None] * ndim
    entries = [ops.getitem(sizes, i) if d is None else int(d) for i, d in enumerate(known)]
    return _reshape(x, entries)


def _reshape(x, entries):
    """Reshape to ints and scalar nodes; a symbolic size may turn out to be -1."""
    if all(isinstance(e, int) for e in entries):
        return ops.reshape(x, entries)
    if -1 not in entries:
        entries = [
            e if isinstance(e, int) or _size_for_sure(e) else _resolved(x, entries, k)
            for k, e in enumerate(entries)
        ]
    return ops.reshape(x, entries)


def _size_for_sure(node):
    """Whether a scalar node is no -1: a size, or computed from sizes by products and sums."""
    stack = [node]
    while stack:
        n = stack.pop()
        if n.op.name == "shape" or n.op.name == "constant" and (n.value >= 0).all():
            continue
        if (
            n.op.name
            not in (
                "squeeze",
                "slice",
                "mul",
                "add",
                "prod",
                "cast",
                "floor_div",
                "expand",
                "reshape",
                "maximum",
                "pack",
                "getitem",
                "dynamic_slice",
                "concatenate",
            )
            or not n.inputs
        ):
            return False
        stack.extend(n.inputs)
    return True


def _resolved(x, entries, k):
    """Entry `k`, or where it is -1 what the other sizes leave."""
    others = [e for i, e in enumerate(entries) if i != k]
    total = constant_node(np.asarray(1, "int64"))
    for e in others:
        total = ops.mul(total, ops.cast(e, "int64") if not isinstance(e, int) else e)
    count = ops.prod(ops.shape(x)) if x.ndim else constant_node(np.asarray(1, "int64"))
    e = ops.cast(entries[k], "int64")
    left = ops.floor_div(count, ops.maximum(ops.abs(total), 1))
    return ops.where(ops.eq(e, -1), left, e)


def reshape(x, newshape, ndim=None):
    """`x` with the sizes `newshape`: ints, scalars or a vector; one may be -1.

    ndim: how many there are, where `newshape` is a vector of unknown length.
    """
    if ndim is None:
        newshape = (
            as_tensor_variable(newshape) if not _empty(newshape) else constant(np.zeros(0, "int64"))
        )
        if newshape.ndim != 1:
            raise UsageError(
                "reshape takes its sizes as a vector, or as a list or tuple of "
                f"scalars, but {newshape} has {newshape.ndim} dimensions"
            )
        try:
            ndim = get_vector_length(newshape)
        except ValueError:
            raise ArgumentError(
                f"reshape cannot tell how many sizes {newshape} holds: say so with "
                "ndim=, the number of dimensions of the result"
            ) from None
    elif _empty(newshape):
        newshape = constant(np.zeros(0, "int64"))
    return Reshape(ndim)(x, newshape)


def _empty(sizes):
    return isinstance(sizes, (list, tuple, np.ndarray)) and len(sizes) == 0


class Flatten(KernelOp):
    """`outdim` axes, the last of which holds all others."""

    def __init__(self, outdim=1):
        KernelOp.__init__(self, _flatten, "Flatten", outdim=int(outdim))

    def __reduce__(self):
        return Flatten, (self.attrs["outdim"],)


def _flatten(x, outdim):
    return ops.flatten(x, outdim) if x.ndim else ops.reshape(x, [1])


def is_flat(var, ndim=None, outdim=None):
    """Whether `var` has `ndim` (1) dimensions."""
    return var.ndim == (ndim or outdim or 1)


def flatten(x, ndim=None, outdim=None):
    """`ndim` axes (1 by default), the last of which holds all that are left."""
    ndim = outdim if ndim is None and outdim is not None else (1 if ndim is None else ndim)
    x = as_tensor_variable(x)
    if ndim < 1 or (ndim > 1 and ndim > x.ndim):
        raise ArgumentError(f"ndim {ndim} out of bound [1, {x.ndim + 1})")
    return Flatten(ndim)(x)


def ravel(x):
    """All elements as a vector."""
    return flatten(x)


# --- axes -------------------------------------------------------------------------------------


def transpose(x, axes=None):
    """Axes in the order `axes`, reversed by default."""
    x = as_tensor_variable(x)
    axes = (
        list(range(x.ndim - 1, -1, -1))
        if axes is None
        else [a + x.ndim if a < 0 else a for a in axes]
    )
    made = x.dimshuffle(axes) if axes else x.dimshuffle([])
    if x.name and axes == list(range(x.ndim - 1, -1, -1)):
        made.name = x.name + ".T"
    return made


def swapaxes(y, axis1, axis2):
    """Two axes exchanged."""
    y = as_tensor_variable(y)
    order = list(range(y.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return y.dimshuffle(order)


def moveaxis(x, source, destination):
    """Axis `source` at the place `destination`."""
    x = as_tensor_variable(x)
    source = axis_of(source, x.ndim, "the source of moveaxis")
    order = [i for i in range(x.ndim) if i != source]
    order.insert(axis_of(destination, x.ndim, "the destination of moveaxis"), source)
    return x.dimshuffle(order)


def squeeze(x, axis=None):
    """Without the axes known to have size 1, or without `axis`."""
    x = as_tensor_variable(x)
    if axis is None:
        return x.dimshuffle([i for i in range(x.ndim) if not x.broadcastable[i]])
    given = axis if isinstance(axis, (list, tuple)) else [axis]
    axes = [axis_of(a, x.ndim, "the axis of squeeze") for a in given]
    return addbroadcast(x, *axes).dimshuffle([i for i in range(x.ndim) if i not in axes])


def shape_padleft(t, n_ones=1):
    """`n_ones` new axes in front."""
    t = as_tensor_variable(t)
    return t.dimshuffle(["x"] * n_ones + list(range(t.ndim)))


def shape_padright(t, n_ones=1):
    """`n_ones` new axes at the end."""
    t = as_tensor_variable(t)
    return t.dimshuffle(list(range(t.ndim)) + ["x"] * n_ones)


def shape_padaxis(t, axis):
    """A new axis of size 1 at index `axis` of the result."""
    t = as_tensor_variable(t)
    ndim = t.ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexOutOfBounds(f"axis {axis} is out of bounds [-{ndim}, {ndim})")
    order = list(range(t.ndim))
    order.insert(axis % ndim, "x")
    return t.dimshuffle(order)


def expand_dims(x, axis):
    """A new axis of size 1."""
    return shape_padaxis(x, axis)


def atleast_nd(x, ndim):
    """At least `ndim` axes."""
    x = as_tensor_variable(x)
    return x if x.ndim >= ndim else shape_padleft(x, ndim - x.ndim)


# --- what is known to have size 1 -------------------------------------------------------------


class Rebroadcast(KernelOp):
    """Axes that are said to have size 1, or said not to be known to: pairs (axis, whether)."""

    def __init__(self, *axis):
        self.axis = {int(a): bool(b) for a, b in sorted(axis)}
        KernelOp.__init__(self, _rebroadcast, "Rebroadcast", axis=tuple(self.axis.items()))

    def on(self, inputs):
        node = KernelOp.on(self, inputs)
        x, y = inputs[0], node.outputs[0]
        if self.axis and max(self.axis) >= x.ndim:
            raise ArgumentError(
                f"no axis {max(self.axis)} to rebroadcast in a tensor of {x.ndim} dimensions"
            )
        y.type = x.type.clone(
            broadcastable=[self.axis.get(i, b) for i, b in enumerate(x.type.broadcastable)]
        )
        return node

    def make_node(self, x):
        return self.on([as_tensor_variable(x)])

    def __reduce__(self):
        return Rebroadcast, tuple(self.axis.items())

    def __str__(self):
        pairs = ",".join(f"({i}, {b})" for i, b in self.axis.items())
        return f"Rebroadcast{{{pairs}}}"


def _rebroadcast(x, axis):
    """Axes said to be 1 become so for the engine, which checks it; others stay what they are."""
    ones = tuple(a for a, b in axis if b and a < x.ndim and x.shape[a] != 1)
    return ops.expand(ops.squeeze(x, ones), ones) if ones else x


def _axes_of(x, axes):
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise ArgumentError(
                f"there is no axis {a} in a tensor of {x.ndim} dimensions, {x}: give "
                f"axes from {-x.ndim} to {x.ndim - 1}"
            )
    return [a % x.ndim for a in axes]


def addbroadcast(x, *axes):
    """`x`, whose `axes` have size 1: checked when it is computed."""
    x = as_tensor_variable(x)
    axes = [a for a in _axes_of(x, axes) if not x.broadcastable[a]]
    return Rebroadcast(*[(a, True) for a in axes])(x) if axes else x


def unbroadcast(x, *axes):
    """`x`, of whose `axes` it is no longer known that they have size 1."""
    x = as_tensor_variable(x)
    axes = [a for a in _axes_of(x, axes) if x.broadcastable[a]]
    return Rebroadcast(*[(a, False) for a in axes])(x) if axes else x


def patternbroadcast(x, broadcastable):
    """`x` with this pattern of axes known to have size 1."""
    x = as_tensor_variable(x)
    pairs = [(i, b) for i, b in enumerate(broadcastable) if bool(b) != x.broadcastable[i]]
    return Rebroadcast(*pairs)(x) if pairs else x


class SpecifyShape(KernelOp):
    """`x`, which has this shape: checked when it is computed."""

    def __init__(self):
        KernelOp.__init__(self, _specify, "SpecifyShape")

    def make_node(self, x, shape):
        x, shape = as_tensor_variable(x), as_tensor_variable(shape)
        if shape.ndim > 1 or shape.ndim == 1 and shape.node.shape[0] not in (None, x.ndim):
            raise RefusedError("the shape has another number of entries than x has dimensions")
        return KernelOp.make_node(self, x, shape if shape.ndim else shape_padleft(shape))

    def __reduce__(self):
        return SpecifyShape, ()


def _specify(x, sizes):
    sizes = ops.cast(sizes, "int64")
    known = ops.known_values(sizes) or [None] * x.ndim
    unknown = [i for i, d in enumerate(known) if d is None]
    if len(unknown) < x.ndim:
        known = tuple(None if d is None else int(d) for d in known)
        x = make("theano_specified", (x,), {"sizes": known})
    if not unknown:
        return x
    count = ops.eq(ops.size_of(sizes, 0), x.ndim)
    sizes = ops.concatenate([sizes, ops.zeros_like(ops.shape(x))], 0)  # where there are too few
    return ops.check(
        x,
        count,
        *[ops.eq(ops.getitem(ops.shape(x), i), ops.getitem(sizes, i)) for i in unknown],
        message="SpecifyShape: the shape is another one",
    )


class SpecifiedShapeError(ShapeError, AssertionError):
    """A tensor has not the shape that specify_shape says."""


def _specified(attrs, x):
    sizes = attrs["sizes"]
    if any(None not in (a, b) and a != b for a, b in zip(x.shape, sizes)):
        raise SpecifiedShapeError(f"the shape is {show(x.shape)}, not {show(sizes)} as specified")
    return x.dtype, tuple(b if a is None else a for a, b in zip(x.shape, sizes))


def _run_specified(attrs, x):
    _specified(attrs, x)
    return x


Row(
    "theano_specified",
    "composite",
    _specified,
    _run_specified,
    lambda node, g: (g,),
    lower=lambda node: node.inputs[0],
    doc="x, whose sizes are attrs['sizes'] (None: any); else an error.",
)


specify_shape = SpecifyShape()


# --- copies -----------------------------------------------------------------------------------


class Tile(KernelOp):
    """Copies side by side."""

    def __init__(self, ndim):
        KernelOp.__init__(self, _tile, "Tile", ndim=int(ndim))


def _tile(x, reps, ndim):
    return ops.tile(x, [ops.getitem(reps, i) for i in range(ndim)])


def tile(x, reps, ndim=None):
    """Copies of `x` side by side, `reps` along each axis; the missing ones are 1."""
    x = as_tensor_variable(x)
    if ndim is not None and ndim < x.ndim:
        raise ArgumentError(f"tile cannot take ndim={ndim}, as x has {x.ndim} dimensions already")
    if isinstance(reps, (int, np.integer)):
        reps = [int(reps)]
    elif isinstance(reps, (Handle, np.ndarray)):
        reps = as_tensor_variable(reps)
        if reps.ndim == 0:
            reps = [reps]
        elif reps.ndim > 1:
            raise ArgumentError(f"reps has {reps.ndim} dimensions; tile takes a scalar or a vector")
        elif reps.node.shape[0] is None:
            if ndim is None:
                raise ArgumentError(
                    "tile cannot tell how many entries the vector reps holds: pass ndim="
                )
            few = reps.shape[0] <= ndim
            reps = Assert(f"tile: reps has more than ndim={ndim} entries")(reps, few)
            count, reps = reps.shape[0], join(0, np.ones(ndim, reps.dtype), reps)
            reps = [reps[count + i] for i in range(ndim)]  # those that are missing are 1
        else:
            reps = [reps[i] for i in range(reps.node.shape[0])]
    elif not isinstance(reps, (list, tuple)):
        raise ArgumentError(
            f"reps is a {type(reps).__name__}; tile takes an int, a list, a tuple "
            "or a tensor of integers"
        )
    for r in reps:
        kind = getattr(r, "dtype", None)
        if not isinstance(r, (int, np.integer)) and (
            kind is None or getattr(r, "ndim", 0) != 0 or "int" not in str(kind)
        ):
            raise ArgumentError(f"{r!r} in reps is not an integer scalar")
    count = max(x.ndim, len(reps), ndim or 0)
    if ndim is not None and len(reps) > ndim:
        raise ArgumentError(f"reps has {len(reps)} entries, more than ndim={ndim}")
    reps = [1] * (count - len(reps)) + list(reps)
    pattern, symbolic = pattern_of([int(r) if isinstance(r, np.integer) else r for r in reps])
    return KernelOp(_tiled, "Tile", pattern=pattern)(x, *symbolic)


def _tiled(x, *reps, pattern):
    sizes = _joined_sizes(pattern, [ops.cast(r, "int64") for r in reps])
    x = ops.expand(x, tuple(range(len(sizes) - x.ndim)))
    lead = []
    for d, r in zip(range(x.ndim), sizes):
        lead += [r, ops.size_of(x, d)]
    wide = ops.expand(x, tuple(range(0, 2 * x.ndim, 2)))
    wide = ops.broadcast_to(wide, lead)
    return ops.reshape(wide, [_times(r, ops.size_of(x, d)) for d, r in enumerate(sizes)])


def _times(a, b):
    return a * b if isinstance(a, int) and isinstance(b, int) else ops.mul(a, b)


def roll(x, shift, axis=None):
    """Elements moved by `shift` along `axis` (of all elements for None), around the end."""
    x = as_tensor_variable(x)
    if axis is None:
        return (
            roll(x.flatten(), shift, 0).reshape(x.shape, ndim=x.ndim)
            if x.ndim > 1
            else roll(x, shift, 0)
            if x.ndim
            else x
        )
    axis = axis_of(axis, x.ndim, "the axis of roll")
    if isinstance(shift, (int, np.integer)):
        return KernelOp(_roll, "Roll", shift=int(shift), axis=axis)(x)
    shift = as_tensor_variable(shift) % x.shape[axis]
    first = (slice(None),) * axis
    return join(
        axis,
        x[first + (slice(x.shape[axis] - shift, None),)],
        x[first + (slice(None, x.shape[axis] - shift),)],
    )


def _roll(x, shift, axis):
    return ops.roll(x, shift, axis)
