"""Rows of functions that put elements together by places: blocks, insertions, choices, bits."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import constant
from ...graph.shapes import axis_of
from .arranging import common_nodes, concatenate
from .base import node_of, row, typed, ufunc
from .counting import convolved


@row(np.argwhere)
def argwhere(rule, a):
    return ops.cast(ops.argwhere(node_of(a, rule)), "int64")


@row(np.array_equal)
def array_equal(rule, a1, a2, equal_nan=False):
    a, b = node_of(a1, rule), node_of(a2, rule)
    if None in a.shape + b.shape:
        raise NotSupported("array_equal of unknown sizes")
    if a.shape != b.shape:
        return constant(np.asarray(False))
    same = ufunc(rule, np.equal, a, b)
    if equal_nan and dtypes.is_inexact(a.dtype) and dtypes.is_inexact(b.dtype):
        same = ops.logical_or(same, ops.logical_and(ops.ne(a, a), ops.ne(b, b)))
    return ops.all(same)


@row(np.array_equiv)
def array_equiv(rule, a1, a2):
    a, b = node_of(a1, rule), node_of(a2, rule)
    if None in a.shape + b.shape:
        raise NotSupported("array_equiv of unknown sizes")
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return constant(np.asarray(False))
    return ops.all(ufunc(rule, np.equal, a, b))


@row(np.block, array=True)
def block(rule, arrays):
    def depth(x):
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def ranks(x):
        return max(map(ranks, x)) if isinstance(x, list) else node_of(x, rule).ndim

    levels = depth(arrays)
    ndim = max(levels, ranks(arrays)) if levels else 0

    def joined(x, level):
        if level == levels:
            if isinstance(x, list):
                raise ValueError("List depths are mismatched")
            node = node_of(x, rule)
            return ops.expand(node, tuple(range(ndim - node.ndim)))
        if not isinstance(x, list) or not x:
            raise ValueError("List depths are mismatched, or a list is empty")
        return concatenate(rule, [joined(i, level + 1) for i in x], ndim - levels + level)

    return joined(arrays, 0)


@row(np.broadcast_arrays, array=True)
def broadcast_arrays(rule, *args, subok=False):
    nodes = [node_of(a, rule) for a in args]
    if any(None in n.shape for n in nodes):
        raise NotSupported("broadcast_arrays of unknown sizes")
    shape = list(np.broadcast_shapes(*[n.shape for n in nodes]))
    return tuple(ops.broadcast_to(n, shape) for n in nodes)


@row(np.choose)
def choose(rule, a, choices, out=None, mode="raise"):
    if not isinstance(choices, (list, tuple)):
        raise NotSupported("choose from one array of choices")
    return ops.choose_from(node_of(a, rule), common_nodes(rule, list(choices)), mode)


@row(np.select, array=True)
def select(rule, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions")
    *choices, last = common_nodes(rule, [*choicelist, default])
    for condition, choice in zip(condlist[::-1], choices[::-1]):
        condition = node_of(condition, rule)
        if condition.dtype != "bool":
            raise TypeError("conditions of select must be of bools")
        last = ops.where(condition, choice, last)
    return last


def _static_size(x, axis, what):
    size = x.shape[axis]
    if size is None:
        raise NotSupported(f"{what} along an axis of unknown size")
    return size


def _known(obj, what):
    if not isinstance(obj, (int, np.integer, slice, list, tuple, np.ndarray)):
        raise NotSupported(f"{what} at places that data decides")
    return obj


@row(np.delete)
def delete(rule, arr, obj, axis=None):
    x = node_of(arr, rule)
    if axis is None:
        x, axis = ops.flatten(x), 0
    places = np.delete(np.arange(_static_size(x, axis, "delete")), _known(obj, "delete"))
    return ops.take(x, places, axis_of(axis, x.ndim))


@row(np.insert)
def insert(rule, arr, obj, values, axis=None):
    x = node_of(arr, rule)
    if axis is None:
        x, axis = ops.flatten(x), 0
    axis, obj = axis_of(axis, x.ndim), _known(obj, "insert")
    size, values = _static_size(x, axis, "insert"), ops.cast(node_of(values, rule), x.dtype)
    if None in x.shape + values.shape:
        raise NotSupported("insert of unknown sizes")
    if isinstance(obj, (int, np.integer)):  # one place, as many as the values have along the axis
        values = ops.expand(values, tuple(range(x.ndim - values.ndim)))
        values = ops.moveaxis(values, 0, axis)
        count, at = values.shape[axis], [int(obj)]
        at = at * count if -size <= obj <= size else at
    else:
        at = np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(obj)
        count = len(at)
    shape = [*x.shape[:axis], count, *x.shape[axis + 1 :]]
    values = ops.broadcast_to(values, shape)
    order = np.insert(np.arange(size), at, size + np.arange(count))
    return ops.take(ops.concatenate([x, values], axis), order, axis)


@row(np.diagflat)
def diagflat(rule, v, k=0):
    return ops.diag(ops.flatten(node_of(v, rule)), k)


@row(np.correlate)
def correlate(rule, a, v, mode="valid"):
    a, v = common_nodes(rule, (node_of(a, rule), node_of(v, rule)))
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("correlate takes arrays of one dimension")
    v = ops.flip(v, 0)
    return convolved(a, ops.conj(v) if dtypes.is_complex(v.dtype) else v, mode, turned=True)


@row(np.i0, array=True)
def i0(rule, x):
    x = node_of(x, rule)
    if dtypes.is_complex(x.dtype):
        raise TypeError("i0 not supported for complex values")
    return ops.i0(ops.cast(x, rule.mean(np.dtype(x.dtype))))


@row(np.unpackbits)
def unpackbits(rule, a, /, axis=None, count=None, bitorder="big"):
    x = node_of(a, rule)
    if x.dtype != "uint8" or count is not None or bitorder not in ("big", "little"):
        raise NotSupported("unpackbits with a count, or of what are no bytes")
    if axis is None:
        x, axis = ops.flatten(x), 0
    axis = axis_of(axis, x.ndim)
    bits = np.arange(8, dtype="uint8")
    bits = constant(bits[::-1].copy() if bitorder == "big" else bits)
    wide = ops.moveaxis(x, axis, -1)
    if None in wide.shape:
        raise NotSupported("unpackbits of unknown sizes")
    found = ops.bit_and(ops.right_shift(ops.expand(wide, (wide.ndim,)), bits),
                        typed(1, "uint8"))  # fmt: skip
    found = ops.reshape(found, [*wide.shape[:-1], wide.shape[-1] * 8])
    return ops.moveaxis(found, -1, axis)


@row(np.packbits)
def packbits(rule, a, /, axis=None, bitorder="big"):
    x = ops.cast(ops.cast(node_of(a, rule), "bool"), "uint8")
    if None in x.shape or bitorder not in ("big", "little"):
        raise NotSupported("packbits of unknown sizes")
    if axis is None:
        x, axis = ops.flatten(x), 0
    axis = axis_of(axis, x.ndim)
    wide = ops.moveaxis(x, axis, -1)
    missing = -wide.shape[-1] % 8
    wide = ops.pad(wide, [(0, 0)] * (wide.ndim - 1) + [(0, missing)], typed(0, "uint8"))
    wide = ops.reshape(wide, [*wide.shape[:-1], wide.shape[-1] // 8, 8])
    weights = 1 << np.arange(8)
    weights = constant((weights[::-1] if bitorder == "big" else weights).astype("uint8"))
    found = ops.cast(ops.sum(ops.mul(wide, weights), -1), "uint8")
    return ops.moveaxis(found, -1, axis)


@row(np.ravel_multi_index)
def ravel_multi_index(rule, multi_index, dims, mode="raise", order="C"):
    index = [node_of(i, rule) for i in multi_index]
    return ops.ravel_multi_index(tuple(index), tuple(dims), mode, order)


@row(np.unravel_index)
def unravel_index(rule, indices, shape, order="C"):
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(ops.unravel_index(node_of(indices, rule), tuple(shape), order))


@row(np.lib.stride_tricks.sliding_window_view, array=True)
def sliding_window_view(rule, x, window_shape, axis=None, *, subok=False, writeable=False):
    x = node_of(x, rule)
    sizes = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of(a, x.ndim) for a in axes]
    if len(axes) != len(sizes) or len(set(axes)) != len(axes):
        raise NotSupported("windows over an axis twice, or of another number than axes")
    for size, a in zip(sizes, axes):
        if x.shape[a] is not None and size > x.shape[a]:
            raise ValueError("window shape cannot be larger than input array shape")
        if size < 1:
            raise NotSupported("windows of no elements")
        x = ops.sliding_windows(x, a, int(size))
    return x


@row(np.tri, array=True)
def tri(rule, N, M=None, k=0, dtype=float, *, like=None):  # noqa: N803 (NumPy's names)
    return constant(np.tri(N, M, k, dtypes.numpy_name(np.dtype(dtype))))


@row(np.polyint)
def polyint(rule, p, m=1, k=None):
    x = node_of(p, rule)
    if k is not None or x.ndim != 1 or m < 0 or x.shape[0] is None:
        raise NotSupported("polyint with constants of integration")
    for _ in range(int(m)):
        n = x.shape[0]
        x = ufunc(rule, np.true_divide, x, np.arange(n, 0, -1))
        x = ops.concatenate([x, constant(np.zeros(1, x.dtype))], 0)
    return x


@row(np.polyfit)
def polyfit(rule, x, y, deg, rcond=None, full=False, w=None, cov=False):
    """By least squares of scaled powers; without NumPy's warning of a poor fit."""
    x, y = (ops.cast(node_of(v, rule), "float64") for v in (x, y))
    if full or cov or w is not None or not isinstance(deg, int) or x.shape[0] is None:
        raise NotSupported("polyfit with weights or more results, or of an unknown size")
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError("expected x and y to have the same length")
    table = ops.stack([ops.pow(x, float(deg - i)) for i in range(deg + 1)], 1)
    scale = ops.sqrt(ops.sum(ops.square(table), 0))
    rcond = x.shape[0] * float(np.finfo("float64").eps) if rcond is None else rcond
    found = ops.lstsq(ops.true_div(table, scale), y, rcond)[0]
    return ops.true_div(found, scale if y.ndim == 1 else ops.expand(scale, (1,)))


# --- what depends on dtypes alone -------------------------------------------------------------


@row(np.result_type)
def result_type(rule, *arrays_and_dtypes):
    kinds = [k if not hasattr(k, "op") else np.dtype(k.dtype) for k in arrays_and_dtypes]
    return np.result_type(*kinds)


@row(np.can_cast)
def can_cast(rule, from_, to, casting="safe"):
    return np.can_cast(np.dtype(from_.dtype) if hasattr(from_, "op") else from_, to, casting)


@row(np.common_type)
def common_type(rule, *arrays):
    return np.common_type(*[np.empty(0, a.dtype) if hasattr(a, "op") else a for a in arrays])


@row(np.min_scalar_type)
def min_scalar_type(rule, a, /):
    if hasattr(a, "op") and a.ndim == 0:
        raise NotSupported("min_scalar_type of a number that data decides")
    return np.min_scalar_type(np.empty(1, a.dtype) if hasattr(a, "op") else a)
