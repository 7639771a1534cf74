"""Rows of reductions and of what is made of them: sums, means, extrema, norms of samples."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.shapes import axes_of, axis_of
from ...ops.composite import extent
from .base import accumulate, agreeing, node_of, reduce, row, shaped_as, ufunc

NONE = np._NoValue


def _plain(value, default):
    return default if value is NONE else value


def _reduction(function, which):
    @row(function)
    def build(rule, a, axis=None, dtype=None, out=None, keepdims=NONE, initial=NONE, where=NONE):
        keep, where = _plain(keepdims, False), _plain(where, True)
        return reduce(rule, which, a, axis, dtype, keep, initial, where)

    return build


def _extremum(function, alias, which):
    @row(function, alias)
    def build(rule, a, axis=None, out=None, keepdims=NONE, initial=NONE, where=NONE):
        keep, where = _plain(keepdims, False), _plain(where, True)
        return reduce(rule, which, a, axis, None, keep, initial, where)

    return build


def _truth(function, which):
    @row(function)
    def build(rule, a, axis=None, out=None, keepdims=NONE, *, where=NONE):
        x = ops.cast(node_of(a, rule), "bool")
        return reduce(rule, which, x, axis, None, _plain(keepdims, False), NONE,
                      _plain(where, True))  # fmt: skip

    return build


total = _reduction(np.sum, np.add)
_reduction(np.prod, np.multiply)
largest = _extremum(np.max, np.amax, np.maximum)
smallest = _extremum(np.min, np.amin, np.minimum)
_truth(np.any, np.logical_or)
_truth(np.all, np.logical_and)


@row(np.argmax)
def argmax(rule, a, axis=None, out=None, *, keepdims=NONE):
    return _position(ops.argmax, rule, a, axis, keepdims)


@row(np.argmin)
def argmin(rule, a, axis=None, out=None, *, keepdims=NONE):
    return _position(ops.argmin, rule, a, axis, keepdims)


def _position(op, rule, a, axis, keepdims):
    x = node_of(a, rule)
    if dtypes.is_complex(x.dtype):
        raise NotSupported("ordering of complex numbers")
    if x.ndim == 0:
        return ops.zeros_like(x, "int64")
    return op(x, axis, bool(_plain(keepdims, False)))


def _for_mean(rule, a, dtype):
    x = node_of(a, rule)
    if dtype is not None and np.dtype(dtype).kind in "biu":
        raise NotSupported("a mean in integers")
    return ops.cast(x, dtypes.name_of(dtype) if dtype is not None else rule.mean(x.dtype))


@row(np.mean)
def mean(rule, a, axis=None, dtype=None, out=None, keepdims=NONE, *, where=NONE):
    x, keep = _for_mean(rule, a, dtype), _plain(keepdims, False)
    if _plain(where, True) is True:
        axes = axes_of(axis, x.ndim)
        return ops.mean(x, axes, keep) if axes else x
    mask = ops.broadcast_like(ops.cast(node_of(where, rule), "bool"), x)
    count = ops.cast(ops.sum(mask, axis, keep), x.dtype)
    return ops.true_div(ops.sum(ops.where(mask, x, 0), axis, keep), count)


def spread(rule, a, axis, dtype, ddof, keepdims, where, about, correction):
    if about is not NONE or correction is not NONE and ddof != 0:
        raise NotSupported("a spread about another mean, or with ddof and correction")
    x = _for_mean(rule, a, dtype)
    ddof = ddof if correction is NONE else correction
    axes, keep = axes_of(axis, x.ndim), _plain(keepdims, False)
    everywhere = _plain(where, True) is True
    if ddof == 0 and axes and everywhere and not dtypes.is_complex(x.dtype):
        return ops.var(x, axes, keep)
    middle = mean(rule, x, axes, keepdims=True, where=where) if axes else x
    centred = ops.sub(x, middle)
    squares = ops.square(ops.abs(centred) if dtypes.is_complex(x.dtype) else centred)
    kind = squares.dtype
    if everywhere:
        count = extent(x, axes, kind)
    else:
        mask = ops.broadcast_like(ops.cast(node_of(where, rule), "bool"), x)
        count = ops.cast(ops.sum(mask, axes, keep), kind)
        squares = ops.where(mask, squares, ops.zeros_like(squares))
    room = ops.maximum(ops.sub(count, ops.cast(ddof, kind)), 0)
    return ops.true_div(ops.sum(squares, axes, keep), room)


@row(np.var)
def var(rule, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NONE, *, where=NONE,
        mean=NONE, correction=NONE):  # fmt: skip
    return spread(rule, a, axis, dtype, ddof, keepdims, where, mean, correction)


@row(np.std)
def std(rule, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NONE, *, where=NONE,
        mean=NONE, correction=NONE):  # fmt: skip
    return ops.sqrt(spread(rule, a, axis, dtype, ddof, keepdims, where, mean, correction))


@row(np.ptp)
def ptp(rule, a, axis=None, out=None, keepdims=NONE):
    keep = _plain(keepdims, False)
    high, low = largest(rule, a, axis, keepdims=keep), smallest(rule, a, axis, keepdims=keep)
    return ufunc(rule, np.subtract, high, low)


@row(np.count_nonzero)
def count_nonzero(rule, a, axis=None, *, keepdims=False):
    return ops.sum(ops.cast(node_of(a, rule), "bool"), axis, keepdims)


OTHER_WEIGHTS = "Shape of weights must be consistent with shape of a along specified axis."


@row(np.average)
def average(rule, a, axis=None, weights=None, returned=False, *, keepdims=NONE):
    if returned:
        raise NotSupported("average with returned=True")
    if weights is None:
        found = mean(rule, a, axis, keepdims=keepdims)
        if found.size == 0:
            raise NotSupported("the average of no rows, an error in NumPy")
        return found
    a, weights = node_of(a, rule), node_of(weights, rule)
    if a.ndim != weights.ndim:
        if not isinstance(axis, int) or weights.ndim != 1:
            raise NotSupported("average with weights of other dimensions")
        weights = agreeing(weights, a, [(0, axis_of(axis, a.ndim))], OTHER_WEIGHTS)
        weights = ops.expand(weights, tuple(i for i in range(a.ndim) if i != axis % a.ndim))
    else:
        weights = shaped_as(weights, a, OTHER_WEIGHTS)
    common = rule.common([np.dtype(a.dtype), np.dtype(weights.dtype)])
    if dtypes.is_discrete(a.dtype):
        common = rule.common([np.dtype(common), np.dtype("float64")])
    a, weights = ops.cast(a, common), ops.cast(ops.broadcast_like(weights, a), common)
    keep = _plain(keepdims, False)
    above, below = ops.sum(ops.mul(a, weights), axis, keep), ops.sum(weights, axis, keep)
    message = "Weights sum to zero, can't be normalized"
    below = ops.check(below, ops.ne(below, 0), message=message, error="zero")
    return ops.true_div(above, below)


def _without_nan(value):
    """A builder for the row of a function that takes `value` in the place of NaN."""

    def replaced(x):
        if dtypes.is_discrete(x.dtype):
            return x
        return ops.where(ops.isnan(x), ops.full_like(x, value), x)

    return replaced


@row(np.nansum)
def nansum(rule, a, axis=None, dtype=None, out=None, keepdims=NONE, initial=NONE, where=NONE):
    x = _without_nan(0)(node_of(a, rule))
    return total(rule, x, axis, dtype, None, keepdims, initial, where)


@row(np.nanprod)
def nanprod(rule, a, axis=None, dtype=None, out=None, keepdims=NONE, initial=NONE, where=NONE):
    x = _without_nan(1)(node_of(a, rule))
    return reduce(rule, np.multiply, x, axis, dtype, _plain(keepdims, False), initial,
                  _plain(where, True))  # fmt: skip


@row(np.nanmean)
def nanmean(rule, a, axis=None, dtype=None, out=None, keepdims=NONE, *, where=NONE):
    x = node_of(a, rule)
    if dtypes.is_discrete(x.dtype) or where is not NONE:
        return mean(rule, a, axis, dtype, None, keepdims, where=where)
    return mean(rule, x, axis, dtype, None, keepdims, where=ops.logical_not(ops.isnan(x)))


def _nan_extremum(function, plain, far):
    @row(function)
    def build(rule, a, axis=None, out=None, keepdims=NONE, initial=NONE, where=NONE):
        x = node_of(a, rule)
        if dtypes.is_discrete(x.dtype):
            return plain(rule, x, axis, None, keepdims, initial, where)
        if initial is not NONE or where is not NONE:
            raise NotSupported(f"{function.__name__} with initial= or where=")
        keep, gone = _plain(keepdims, False), ops.isnan(x)
        found = plain(rule, ops.where(gone, ops.full_like(x, far), x), axis, None, keep)
        return ops.where(ops.all(gone, axis, keep), ops.full_like(found, np.nan), found)


_nan_extremum(np.nanmax, largest, -np.inf)
_nan_extremum(np.nanmin, smallest, np.inf)


def _running(function, which):
    @row(function)
    def build(rule, a, axis=None, dtype=None, out=None):
        x = node_of(a, rule)
        if axis is None:
            x, axis = ops.flatten(x), 0
        return accumulate(rule, which, x, axis, dtype)


_running(np.cumsum, np.add)
_running(np.cumprod, np.multiply)
