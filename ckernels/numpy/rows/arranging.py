"""Rows of functions that arrange elements: choices, joins, parts, other orders, other shapes."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import Node
from ...graph.shapes import axis_of
from ...ops.shape import sized
from ..promote import kind_of, supported
from .base import as_operand, node_of, row, typed, ufunc

NONE = np._NoValue


def common_nodes(rule, values, dtype=None):
    """`values` as nodes of their common dtype."""
    values = [as_operand(v) for v in values]
    dtype = supported(dtype) if dtype is not None else rule.common([kind_of(v) for v in values])
    return [typed(v, dtype) for v in values]


@row(np.where, array=True)
def where(rule, condition, x=NONE, y=NONE):
    if x is NONE:
        return nonzero(rule, condition)
    a, b = common_nodes(rule, (x, y))
    return ops.where(node_of(condition, rule), a, b)


@row(np.nonzero)
def nonzero(rule, a):
    return tuple(ops.nonzero(node_of(a, rule)))


@row(np.clip)
def clip(rule, a, a_min=NONE, a_max=NONE, out=None, *, min=NONE, max=NONE, **kwargs):
    if (
        kwargs
        or (a_min is NONE) != (a_max is NONE)
        or a_min is not NONE
        and (min, max) != (NONE, NONE)
    ):
        raise NotSupported("clip with options of ufuncs, or one limit and no word for the other")
    low = min if a_min is NONE else a_min
    high = max if a_max is NONE else a_max
    y = as_operand(a)
    low, high = (None if b is None or b is NONE else as_operand(b) for b in (low, high))
    if low is not None and high is not None:  # all three decide the dtype
        y = typed(y, rule.common([kind_of(x) for x in (y, low, high)]))
    if low is not None:
        y = ufunc(rule, np.maximum, y, low)
    if high is not None:  # of two equal operands the first has the slope
        pair = (high, y) if ops.leave_nothing(low, high) else (y, high)
        y = ufunc(rule, np.minimum, *pair)
    return node_of(y, rule)


@row(np.concatenate)
def concatenate(rule, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if axis is None and dtype is None:  # here alone numbers may be joined, which are weak
        dtype = rule.common([kind_of(as_operand(a)) for a in arrays])
    nodes = common_nodes(rule, [node_of(a, rule) for a in arrays], dtype)
    if axis is None:
        nodes, axis = [ops.flatten(n) for n in nodes], 0
    return ops.concatenate(nodes, axis)


@row(np.stack)
def stack(rule, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    return ops.stack(common_nodes(rule, [node_of(a, rule) for a in arrays], dtype), axis)


def at_least(x, ndim, rule):
    """`x` as a node of at least `ndim` dimensions, as np.atleast_1d and its kin make it."""
    x = node_of(x, rule)
    if ndim == 3 and x.ndim < 3:
        return ops.expand(x, {0: (0, 1, 2), 1: (0, 2), 2: (2,)}[x.ndim])
    return ops.expand(x, tuple(range(ndim - x.ndim)))


def _stacked(function, ndim, axis):
    @row(function)
    def build(rule, tup, *, dtype=None, casting="same_kind"):
        nodes = [at_least(t, ndim, rule) for t in tup]
        along = 0 if function is np.hstack and nodes[0].ndim == 1 else axis
        return concatenate(rule, nodes, along, dtype=dtype)


_stacked(np.vstack, 2, 0)
_stacked(np.hstack, 1, 1)
_stacked(np.dstack, 3, 2)


@row(np.column_stack)
def column_stack(rule, tup):
    nodes = [node_of(t, rule) for t in tup]
    return concatenate(rule, [ops.expand(at_least(n, 1, rule), (1,)) if n.ndim < 2 else n
                              for n in nodes], 1)  # fmt: skip


MOST_PARTS = 10_000  # of a split; a graph has a node for each


def _split(rule, ary, indices_or_sections, axis, equal):
    x = node_of(ary, rule)
    size = x.shape[axis]
    if size is None:
        raise NotSupported("a split along an axis of unknown size")
    at = indices_or_sections
    if isinstance(at, (int, np.integer)):
        if not 0 < at <= MOST_PARTS:
            raise NotSupported(f"{at} parts")
        if equal and size % at:
            raise ValueError("array split does not result in an equal division")
        each, more = divmod(size, int(at))
        at = np.cumsum([each + (i < more) for i in range(at)])[:-1]
    bounds = [0, *map(int, at), None]
    whole = (slice(None),) * axis_of(axis, x.ndim)
    return [ops.getitem(x, (*whole, slice(a, b))) for a, b in zip(bounds, bounds[1:])]


@row(np.split)
def split(rule, ary, indices_or_sections, axis=0):
    return _split(rule, ary, indices_or_sections, axis, True)


@row(np.array_split)
def array_split(rule, ary, indices_or_sections, axis=0):
    return _split(rule, ary, indices_or_sections, axis, False)


@row(np.tile)
def tile(rule, A, reps):  # noqa: N803 (NumPy's name)
    x, reps = node_of(A, rule), tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    x = ops.expand(x, tuple(range(len(reps) - x.ndim)))
    return ops.tile(x, (1,) * (x.ndim - len(reps)) + reps)


@row(np.repeat)
def repeat(rule, a, repeats, axis=None):
    x = node_of(a, rule)
    if axis is None:
        x, axis = ops.flatten(x), 0
    if not isinstance(repeats, (int, np.integer)):
        return ops.repeat(x, node_of(repeats, rule), axis)
    return ops.repeat(x, int(repeats), axis)


@row(np.roll, array=True)
def roll(rule, a, shift, axis=None):
    x, shifts = node_of(a, rule), shifts_of(shift, rule)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    count = max(len(shifts), len(axes)) if shifts and axes else 0
    if any(len(each) not in (1, count) for each in (shifts, axes)):
        raise NotSupported("shifts and axes of roll that are not as many")
    for k in range(count):
        x = ops.roll(x, shifts[k % len(shifts)], axes[k % len(axes)])
    return x


def shifts_of(shift, rule):
    """The shifts that a roll is told, each an int or the node of a number."""
    if isinstance(shift, (tuple, list)):
        found = [shifts_of(each, rule) for each in shift]
        if any(np.ndim(each) for each in shift):
            raise NotSupported("shifts of roll in several axes")
        return [s for (s,) in found]
    if isinstance(shift, (int, np.integer)):
        return [int(shift)]
    node = node_of(shift, rule)
    if node.ndim == 0:
        return [int(node.value)] if node.op.name == "constant" else [node]
    if node.ndim > 1 or node.shape[0] is None:
        raise NotSupported("shifts of roll of a length that data decide")
    return [s for i in range(node.shape[0]) for s in shifts_of(ops.getitem(node, i), rule)]


@row(np.flip)
def flip(rule, m, axis=None):
    return ops.flip(node_of(m, rule), axis)


@row(np.fliplr)
def fliplr(rule, m):
    return ops.flip(node_of(m, rule), 1)


@row(np.flipud)
def flipud(rule, m):
    return ops.flip(node_of(m, rule), 0)


@row(np.pad, array=True)
def pad(rule, array, pad_width, mode="constant", **kwargs):
    x = node_of(array, rule)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if mode == "constant":
        value = kwargs.pop("constant_values", 0)
        if kwargs or not isinstance(value, (int, float)):
            raise NotSupported("pad with several constants")
        return ops.pad(x, [tuple(w) for w in widths], typed(value, x.dtype))
    if kwargs or mode not in AROUND:
        raise NotSupported(f"pad with mode={mode!r}")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _padded(x, axis, before, after, mode)
    return x


AROUND = {  # mode -> (parts before the first element, behind the last): of widths a and b
    "edge": (lambda a: (0, 1, 1), lambda b: (-1, None, 1)),
    "reflect": (lambda a: (a, 0, -1), lambda b: (-2, -2 - b, -1)),
    "symmetric": (lambda a: (a - 1, None, -1), lambda b: (None, -1 - b, -1)),
    "wrap": (lambda a: (-a, None, 1), lambda b: (0, b, 1)),
}


def _padded(x, axis, before, after, mode):
    """`x` with elements of its own around it along an axis."""
    size = x.shape[axis]
    most = max(before, after) + (mode == "reflect") if mode != "edge" else 1
    if size is not None and size < most:  # it is repeated
        if not size:
            raise NotSupported(f"pad with mode={mode!r} along an axis of no elements")
        return ops.take(x, np.pad(np.arange(size), (before, after), mode), axis)
    if size is None:
        enough = ops.ge(ops.getitem(ops.shape(x), axis), most)
        x = ops.check(x, enough, message=f"pad with mode={mode!r} of fewer elements than "
                      f"{most}", error="value")  # fmt: skip
    whole = (slice(None),) * axis
    parts = [x]
    for place, width, part in zip((0, 2), (before, after), AROUND[mode]):
        if width:
            found = ops.getitem(x, (*whole, slice(*part(width))))
            if mode == "edge":
                found = ops.repeat(found, width, axis) if width > 1 else found
            parts.insert(place, found)
    return ops.concatenate(parts, axis)


@row(np.diff)
def diff(rule, a, n=1, axis=-1, prepend=NONE, append=NONE):
    x = node_of(a, rule)
    if prepend is not NONE or append is not NONE or n < 0:
        raise NotSupported("diff with prepend or append, or less than 0 times")
    along = (slice(None),) * axis_of(axis, x.ndim)
    function = np.not_equal if x.dtype == "bool" else np.subtract
    for _ in range(n):
        later = ops.getitem(x, (*along, slice(1, None)))
        x = ufunc(rule, function, later, ops.getitem(x, (*along, slice(None, -1))))
    return x


@row(np.take)
def take(rule, a, indices, axis=None, out=None, mode="raise"):
    x, indices = node_of(a, rule), node_of(indices, rule)
    if axis is None:
        x, axis = ops.flatten(x), 0
    return ops.take(x, indices, axis_of(axis, x.ndim), mode)


@row(np.take_along_axis)
def take_along_axis(rule, arr, indices, axis=-1):
    return ops.take_along_axis(node_of(arr, rule), node_of(indices, rule), axis)


@row(np.compress)
def compress(rule, condition, a, axis=None, out=None):
    return ops.compress(node_of(condition, rule), node_of(a, rule), axis)


def _known_way(kind, stable):
    return (
        kind is None or stable is None and kind in ("quicksort", "heapsort", "mergesort", "stable")
    )


@row(np.sort)
def sort(rule, a, axis=-1, kind=None, order=None, *, stable=None):
    x = node_of(a, rule)
    if dtypes.is_complex(x.dtype) or order is not None or not _known_way(kind, stable):
        raise NotSupported("sorting by fields, or complex numbers, or in no way of NumPy's")
    if axis is None:
        x, axis = ops.flatten(x), 0
    return ops.sort(x, axis)


@row(np.argsort)
def argsort(rule, a, axis=-1, kind=None, order=None, *, stable=None):
    x = node_of(a, rule)
    named = _known_way(kind, stable) and kind != "heapsort"
    if dtypes.is_complex(x.dtype) or order is not None or not named:
        raise NotSupported("sorting by fields or by heaps, or complex numbers")
    if kind in ("stable", "mergesort") or stable:
        return ops.argsort(x, axis)
    return ops.numpy_argsort(x, axis)


def _partition(function, places):
    @row(function)
    def build(rule, a, kth, axis=-1, kind="introselect", order=None):
        x = node_of(a, rule)
        if dtypes.is_complex(x.dtype) or order is not None:
            raise NotSupported("the order of complex numbers, or by fields")
        if isinstance(kth, Node):
            raise NotSupported("a partition at places that data decides")
        return ops.numpy_partition(x, kth, axis, places)


_partition(np.partition, False)
_partition(np.argpartition, True)


@row(np.real)
def real(rule, val):
    return ops.real(node_of(val, rule))


@row(np.imag)
def imag(rule, val):
    return ops.imag(node_of(val, rule))


@row(np.nan_to_num)
def nan_to_num(rule, x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = node_of(x, rule)
    if dtypes.is_discrete(x.dtype):
        return x
    if dtypes.is_complex(x.dtype):
        raise NotSupported("nan_to_num of complex numbers")
    most = float(np.finfo(x.dtype).max)
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    infinite = ops.where(ops.gt(x, 0), ops.full_like(x, high), ops.full_like(x, low))
    y = ops.where(ops.isinf(x), infinite, x)
    return ops.where(ops.isnan(x), ops.full_like(x, nan), y)


@row(np.round, np.around)
def round(rule, a, decimals=0, out=None):  # noqa: A001 (NumPy's name)
    x = node_of(a, rule)
    if decimals == 0 and x.dtype != "bool" and not dtypes.is_complex(x.dtype):
        return ops.round(x)
    if x.dtype in ("int64", "uint64") or not dtypes.is_float(x.dtype) and (
            x.dtype == "bool" or dtypes.is_complex(x.dtype)):  # fmt: skip
        raise NotSupported(f"round of {x.dtype} to decimals")
    if dtypes.is_discrete(x.dtype):
        ten = 10.0 ** -min(int(decimals), 0)
        return ops.cast(ops.mul(ops.round(ops.true_div(ops.cast(x, "float64"), ten)), ten), x.dtype)
    ten = typed(10.0 ** abs(int(decimals)), x.dtype)
    if decimals > 0:
        return ops.true_div(ops.round(ops.mul(x, ten)), ten)
    return ops.mul(ops.round(ops.true_div(x, ten)), ten)


@row(np.isclose)
def isclose(rule, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = node_of(a, rule), node_of(b, rule)
    if dtypes.is_discrete(a.dtype) or dtypes.is_discrete(b.dtype):
        a, b = ops.cast(a, "float64"), ops.cast(b, "float64")
    if dtypes.is_complex(a.dtype) or dtypes.is_complex(b.dtype):
        raise NotSupported("isclose of complex numbers")
    gap = ufunc(rule, np.absolute, ufunc(rule, np.subtract, a, b))
    room = ufunc(rule, np.add, ufunc(rule, np.multiply, ops.abs(b), rtol), atol)
    near = ops.logical_and(ufunc(rule, np.less_equal, gap, room), ops.isfinite(b))
    near = ops.logical_or(near, ufunc(rule, np.equal, a, b))
    if equal_nan:
        near = ops.logical_or(near, ops.logical_and(ops.isnan(a), ops.isnan(b)))
    return near


@row(np.allclose)
def allclose(rule, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return ops.all(isclose(rule, a, b, rtol, atol, equal_nan))


@row(np.broadcast_to, array=True)
def broadcast_to(rule, array, shape, subok=False):
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return ops.broadcast_to(node_of(array, rule), list(shape))


@row(np.append)
def append(rule, arr, values, axis=None):
    arr, values = node_of(arr, rule), node_of(values, rule)
    if axis is None:
        arr, values, axis = ops.flatten(arr), ops.flatten(values), 0
    return concatenate(rule, [arr, values], axis)


@row(np.reshape, array=True)
def reshape(rule, a, /, shape=None, order="C", *, copy=None):
    if order != "C":
        raise NotSupported(f"reshape with order={order!r}")
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return ops.reshape(node_of(a, rule), list(shape))


@row(np.ravel)
def ravel(rule, a, order="C"):
    if order != "C":
        raise NotSupported(f"ravel with order={order!r}")
    return ops.flatten(node_of(a, rule))


@row(np.transpose, array=True)
def transpose(rule, a, axes=None):
    return ops.transpose(node_of(a, rule), axes)


@row(np.swapaxes, array=True)
def swapaxes(rule, a, axis1, axis2):
    return ops.swapaxes(node_of(a, rule), axis1, axis2)


@row(np.moveaxis, array=True)
def moveaxis(rule, a, source, destination):
    return ops.moveaxis(node_of(a, rule), source, destination)


@row(np.squeeze, array=True)
def squeeze(rule, a, axis=None):
    x = node_of(a, rule)
    if axis is None and None in x.shape:
        raise NotSupported("squeeze of all axes where sizes are unknown")
    return ops.squeeze(x, axis)


@row(np.expand_dims, array=True)
def expand_dims(rule, a, axis):
    x = node_of(a, rule)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return ops.expand(x, tuple(axis_of(i, x.ndim + len(axes)) for i in axes))


@row(np.shape)
def shape(rule, a):
    return tuple(sized(node_of(a, rule)))
