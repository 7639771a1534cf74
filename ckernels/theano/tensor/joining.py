"""Joining and splitting: join, concatenate, stack, split."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import ArgumentError, CKernelsError, IndexOutOfBounds, ShapeError, UsageError
from ...base.warned import warn_user
from ...graph.node import constant as constant_node
from ..base.exceptions import NotScalarConstantError
from ..classes.meanings import DISCRETE, upcast
from ..classes.op import KernelOp
from ..handles.constants import get_scalar_constant_value
from ..handles.variables import Handle, as_tensor_variable, constant
from .elementwise import eq, ge, gt, lt, switch
from .raise_op import valued

__all__ = ["Join", "Split", "join", "join_", "concatenate", "stack", "stacklists", "split",
           "horizontal_stack", "vertical_stack", "MakeVector", "make_vector",
           "largest", "smallest"]  # fmt: skip


class Join(KernelOp):
    """Tensors one after the other along an axis."""

    def __init__(self, view=-1):
        KernelOp.__init__(self, _join, "Join")
        self.view = view

    def make_node(self, axis, *tensors):
        axis = _axis(axis)
        tensors = [as_tensor_variable(t) for t in tensors]
        if not tensors:
            raise ArgumentError("join was given no tensors: name one or more after the axis")
        _check_axes(tensors)
        ndim = tensors[0].ndim
        if not -ndim <= axis < ndim:
            raise IndexOutOfBounds(f"Join axis {axis} out of bounds [0, {ndim})")
        return KernelOp.make_node(self, constant(np.asarray(axis % ndim)), *tensors)

    def __reduce__(self):
        return Join, (self.view,)

    def __str__(self):
        return "Join"


def _axis(axis):
    """An axis as an int."""
    if isinstance(axis, Handle):
        if axis.ndim or axis.dtype not in DISCRETE:
            raise UsageError(f"an axis is an integer, not {axis.type}")
        return int(get_scalar_constant_value(axis))
    if not isinstance(axis, (int, np.integer)) and not (
        isinstance(axis, np.ndarray) and axis.ndim == 0 and axis.dtype.kind in "iu"
    ):
        raise UsageError(f"Axis must be an integer, got {axis!r}")
    return int(axis)


def _join(axis, *tensors):
    dtype = upcast(*(t.dtype for t in tensors))
    return ops.concatenate([ops.cast(t, dtype) for t in tensors], int(axis.value))


def join(axis, *tensors_list):
    """Tensors one after the other along `axis`.

    >>> import ckernels.compat.theano.tensor as T
    >>> T.join(0, np.zeros((1, 2)), np.ones((1, 2))).eval().tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if len(tensors_list) == 1 and not isinstance(tensors_list[0], (list, tuple)):
        return as_tensor_variable(tensors_list[0])
    if len(tensors_list) == 1:
        tensors_list = tensors_list[0]
    tensors = [as_tensor_variable(t) for t in tensors_list]
    if not tensors:
        raise ArgumentError("join was given no tensors: name one or more after the axis")
    try:
        axis = _axis(axis)
    except NotScalarConstantError:
        return _join_along(axis, tensors)
    _check_axes(tensors)
    if not -tensors[0].ndim <= axis < tensors[0].ndim:
        raise IndexOutOfBounds(f"Join axis {axis} out of bounds [0, {tensors[0].ndim})")
    return join_(axis, *tensors)


def _join_along(axis, tensors):
    """`join` along the axis that an integer variable says in each call: of three axes, as those
    before it and those behind it are one each."""
    ndim = tensors[0].ndim
    _check_axes(tensors)
    axis = valued(
        axis, f"Join axis out of bounds [0, {ndim})", ge(axis, -ndim), lt(axis, ndim), error="index"
    )
    axis = switch(lt(axis, 0), axis + ndim, axis)
    places = constant(np.arange(ndim))
    others = [switch(eq(places, axis), 1, t.shape) for t in tensors]
    text = "a tensor differs from the first one along another axis than that it is joined along"
    tensors = tensors[:1] + [
        valued(t, text, eq(others[0], other).all()) for t, other in zip(tensors[1:], others[1:])
    ]
    before = switch(lt(places, axis), others[0], 1).prod()
    behind = switch(gt(places, axis), others[0], 1).prod()
    made = join(1, *(t.reshape(stack([before, t.shape[axis], behind])) for t in tensors))
    return made.reshape(switch(eq(places, axis), made.shape[1], others[0]), ndim=ndim)


def _check_axes(tensors):
    ndim = tensors[0].ndim
    if any(t.ndim != ndim for t in tensors):
        raise UsageError(
            f"join needs tensors with equally many axes, and these have {[t.ndim for t in tensors]}"
        )
    if not ndim:
        raise UsageError("scalars have no axis to join along: make a vector with stack")


join_ = Join()


def concatenate(tensor_list, axis=0):
    """A list of tensors one after the other along `axis`."""
    if not isinstance(tensor_list, (tuple, list)):
        raise UsageError(
            "concatenate takes its tensors in one list or tuple, as in "
            f"concatenate([a, b]), not {tensor_list}"
        )
    return join(axis, *tensor_list)


def stack(*tensors, **kwargs):
    """Tensors of one shape along a new axis: stack([a, b], axis=0), or stack(a, b)."""
    if not tensors and not kwargs:
        raise CKernelsError("theano.tensor.stack(tensors, axis) needs at least one argument")
    if tensors and isinstance(tensors[0], (list, tuple)) or "tensors" in kwargs:
        many = tensors[0] if tensors else kwargs["tensors"]
        axis = kwargs.get("axis", tensors[1] if len(tensors) > 1 else 0)
    elif (
        tensors
        and isinstance(tensors[0], (Handle, np.ndarray))
        and tensors[0].ndim
        and len(tensors) <= 2
        and (len(tensors) == 1 or isinstance(tensors[1], int))
    ):
        many, axis = tensors[0], kwargs.get("axis", tensors[1] if len(tensors) > 1 else 0)
    else:
        warn_user(
            "stack(a, b) is an older way to write stack([a, b]): give the tensors in a list",
            DeprecationWarning,
        )
        many, axis = tensors, 0
    if len(many) == 0 if not isinstance(many, Handle) else False:
        raise CKernelsError("stack was given an empty list: put one tensor or more in it")
    many = [as_tensor_variable(t) for t in many]
    ndim = many[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexOutOfBounds(f"axis {axis} is out of bounds [-{ndim}, {ndim})")
    if any(t.ndim != ndim - 1 for t in many):
        raise UsageError(
            f"stack needs tensors with equally many axes, and these have {[t.ndim for t in many]}"
        )
    if ndim == 1:
        return MakeVector(upcast(*(t.dtype for t in many)))(*many)
    order = list(range(ndim - 1))
    order.insert(axis % ndim, "x")
    return join(axis % ndim, *(t.dimshuffle(order) for t in many))


class MakeVector(KernelOp):
    """Scalars as a vector of `dtype`."""

    def __init__(self, dtype="int64"):
        KernelOp.__init__(self, _vector, "MakeVector", dtype=dtype)
        self.dtype = dtype

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        if not all(upcast(x.dtype, self.dtype) == self.dtype for x in inputs):
            raise UsageError(
                f"a vector of {self.dtype} cannot hold these without loss: "
                f"{[x.dtype for x in inputs]}"
            )
        return KernelOp.make_node(self, *inputs)

    def __reduce__(self):
        return MakeVector, (self.dtype,)


def _vector(*scalars, dtype):
    if not scalars:
        return constant_node(np.zeros(0, dtype))
    return ops.stack([ops.cast(s, dtype) for s in scalars], 0)


make_vector = MakeVector()


def stacklists(arg):
    """Nested lists of tensors as one tensor.

    >>> import ckernels.compat.theano.tensor as T
    >>> T.stacklists([[1, 2], [3, 4]]).eval().tolist()
    [[1, 2], [3, 4]]
    """
    if isinstance(arg, (tuple, list)):
        return stack([stacklists(a) for a in arg])
    return arg


def horizontal_stack(*args):
    """Matrices side by side."""
    return _stacked(1, args)


def vertical_stack(*args):
    """Matrices one below the other."""
    return _stacked(0, args)


def _stacked(axis, args):
    if len(args) < 2:
        raise ArgumentError("Too few arguments")
    args = [as_tensor_variable(a) for a in args]
    if any(a.ndim != 2 for a in args):
        raise ArgumentError("All arguments must be matrices")
    return concatenate(args, axis=axis)


class Split(KernelOp):
    """Parts of given sizes along an axis."""

    def __init__(self, len_splits):
        KernelOp.__init__(self, _split, "Split", len_splits=int(len_splits))
        self.len_splits = int(len_splits)

    def make_node(self, x, axis, splits):
        x, splits = as_tensor_variable(x), as_tensor_variable(splits)
        if splits.dtype not in dtypes.INTEGERS:
            raise UsageError("splits, the sizes of the parts, is a vector of integers", splits.type)
        axis = constant(np.asarray(_axis(axis) % max(x.ndim, 1)))
        return KernelOp.make_node(self, x, axis, splits)

    def __call__(self, x, axis=0, splits=None, **kwargs):
        return list(self.make_node(x, axis, splits).outputs)

    def __reduce__(self):
        return Split, (self.len_splits,)


def _split(x, axis, splits, len_splits):
    parts, start, axis = [], 0, int(axis.value)
    known = ops.known_values(ops.cast(splits, "int64"))
    sizes = [ops.cast(ops.getitem(splits, i), "int64") for i in range(len_splits)]
    if known is not None and None not in known:
        sizes = [int(k) for k in known]
        if len(sizes) != len_splits:
            raise ShapeError(f"In Split, len(splits) = {len(sizes)}, not {len_splits}")
        if x.shape[axis] is not None and sum(sizes) != x.shape[axis]:
            raise ShapeError(f"The splits sum to {sum(sizes)}, expected {x.shape[axis]}")
        if any(s < 0 for s in sizes):
            raise ShapeError(f"Split: no part can have a size below 0, as in {sizes}")
    else:
        total = sizes[0]
        for s in sizes[1:]:
            total = ops.add(total, s)
        low = sizes[0]
        for s in sizes[1:]:
            low = ops.minimum(low, s)
        size = ops.getitem(ops.shape(x), axis)
        x = ops.check(
            x,
            ops.logical_and(ops.eq(total, size), ops.ge(low, 0)),
            message="Split: the sizes do not add up to that of the axis",
            error="value",
        )
    for s in sizes:
        end = start + s if isinstance(start, int) and isinstance(s, int) else ops.add(start, s)
        parts.append(ops.getitem(x, (slice(None),) * axis + (slice(start, end),)))
        start = end
    return parts


def split(x, splits_size, n_splits, axis=0):
    """`n_splits` parts of the sizes `splits_size` along `axis`, a list."""
    return Split(n_splits)(x, axis, splits_size)


def largest(*args):
    """The largest of its arguments, element by element."""
    if len(args) == 2:
        a, b = args
        return switch(gt(a, b), a, b)
    return stack(args).max(axis=0)


def smallest(*args):
    """The smallest of its arguments, element by element."""
    if len(args) == 2:
        a, b = args
        return switch(lt(a, b), a, b)
    return stack(args).min(axis=0)
