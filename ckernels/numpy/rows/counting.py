"""Rows of what counts, searches and integrates samples: searchsorted, interp, convolve ..."""

import functools

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.shapes import axis_of
from .arranging import common_nodes
from .base import agreeing, newer, node_of, row, shaped_as, ufunc

NONE = np._NoValue


@row(np.searchsorted)
def searchsorted(rule, a, v, side="left", sorter=None):
    a, v = common_nodes(rule, (node_of(a, rule), node_of(v, rule)))
    if sorter is not None:
        sorter = shaped_as(node_of(sorter, rule), a, "sorter.size must equal a.size")
    return ops.cast(ops.searchsorted(a, v, side, sorter), "int64")


@row(newer("trapezoid"))
def trapezoid(rule, y, x=None, dx=1.0, axis=-1):
    y = node_of(y, rule)
    at = (slice(None),) * axis_of(axis, y.ndim)
    later, before = ops.getitem(y, (*at, slice(1, None))), ops.getitem(y, (*at, slice(None, -1)))
    if x is not None:
        x = node_of(x, rule)
        if x.ndim != 1:
            raise NotSupported("trapezoid with places of several dimensions")
        dx = ufunc(rule, np.subtract, ops.getitem(x, slice(1, None)),
                   ops.getitem(x, slice(None, -1)))  # fmt: skip
        dx = ops.expand(dx, tuple(range(1, y.ndim - len(at))))
    both = ufunc(rule, np.true_divide,
                 ufunc(rule, np.multiply, dx, ufunc(rule, np.add, later, before)), 2.0)  # fmt: skip
    return ops.cast(ops.sum(both, axis), both.dtype)


@row(np.gradient)
def gradient(rule, f, *varargs, axis=None, edge_order=1):
    """Differences over coordinates that need not be even; of spacings NumPy's code is the row."""
    f, places = node_of(f, rule), [node_of(v, rule) for v in varargs]
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not places or len(places) != len(axes) or any(p.ndim != 1 for p in places) or (
        f.dtype == "bool" or any(dtypes.is_complex(p.dtype) for p in places)
    ):  # fmt: skip
        raise NotSupported("gradient over what are no coordinates of each axis")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    f = f if dtypes.is_inexact(f.dtype) else ops.cast(f, "float64")
    found = [_slope(rule, f, p, axis_of(a, f.ndim), edge_order) for a, p in zip(axes, places)]
    return found[0] if len(found) == 1 else type(np.gradient(np.eye(2)))(found)


def _slope(rule, f, places, axis, edge_order):
    """np.gradient along one axis over the vector `places`."""
    message = "when 1d, distances must match the length of the corresponding dimension"
    f = agreeing(f, places, [(axis, 0)], message)
    few = "Shape of array too small to calculate a numerical gradient"
    if f.shape[axis] is None:
        enough = ops.ge(ops.size_of(f, axis), edge_order + 1)
        f = ops.check(f, enough, message=few, error="value")
    elif f.shape[axis] <= edge_order:
        raise ValueError(few)
    places = places if dtypes.is_inexact(places.dtype) else ops.cast(places, "float64")
    gaps = ops.diff(places)

    def part(x, start, stop):
        """x[start:stop] along the axis; gaps lie along it."""
        at = axis if x is f else 0
        found = ops.getitem(x, (*(slice(None),) * at, slice(start, stop)))
        return found if x is f else ops.expand(found, tuple(range(1, f.ndim - axis)))

    def apply(function, *operands):
        return functools.reduce(lambda a, b: ufunc(rule, function, a, b), operands)

    def total(*pairs):
        return apply(np.add, *[apply(np.multiply, factor, x) for factor, x in pairs])

    low, high = part(gaps, None, -1), part(gaps, 1, None)
    both, product = ops.add(low, high), ops.mul(low, high)
    even = ops.all(ops.eq(gaps, ops.getitem(gaps, 0)))  # where NumPy leaves the middle one out
    middle, bend = part(f, 1, -1), apply(np.true_divide, ops.sub(high, low), product)
    middle = ops.where(even, ops.zeros_like(middle), middle)
    before, after = ops.true_div(high, ops.mul(low, both)), ops.true_div(low, ops.mul(high, both))
    inner = total((ops.neg(before), part(f, None, -2)), (bend, middle), (after, part(f, 2, None)))
    if edge_order == 1:
        ends = [apply(np.true_divide, ops.sub(part(f, 1, 2), part(f, None, 1)), part(gaps, 0, 1)),
                apply(np.true_divide, ops.sub(part(f, -1, None), part(f, -2, -1)),
                      part(gaps, -1, None))]  # fmt: skip
    else:
        a, b = part(gaps, 0, 1), part(gaps, 1, 2)
        ends = [_of_second_order(total, a, b, [part(f, k, k + 1) for k in range(3)], 1)]
        a, b = part(gaps, -1, None), part(gaps, -2, -1)
        three = [part(f, -1 - k, -k or None) for k in range(3)]
        ends.append(_of_second_order(total, a, b, three, -1))
    whole = [ops.cast(x, f.dtype) for x in (ends[0], inner, ends[1])]
    return ops.concatenate(whole, axis)


def _of_second_order(total, near, far, values, sign):
    """The slope at an end from three values, the first of them there; near, far: gaps."""
    both, sign = ops.add(near, far), ops.cast(sign, near.dtype)
    return total(
        (ops.neg(ops.mul(sign, ops.true_div(ops.add(both, near), ops.mul(near, both)))), values[0]),
        (ops.mul(sign, ops.true_div(both, ops.mul(near, far))), values[1]),
        (ops.neg(ops.mul(sign, ops.true_div(near, ops.mul(far, both)))), values[2]),
    )


@row(np.interp)
def interp(rule, x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = (ops.cast(node_of(v, rule), "float64") for v in (x, xp, fp))
    fp = shaped_as(fp, xp, "fp and xp are not of the same length")
    if period is not None:
        raise NotSupported("interp with a period")
    count = ops.cast(ops.getitem(ops.shape(xp), 0), "int64")
    j = ops.sub(ops.cast(ops.searchsorted(xp, x, "right"), "int64"), 1)
    low = ops.clip(j, 0, ops.maximum(ops.sub(count, 2), 0))
    high = ops.minimum(ops.add(low, 1), ops.sub(count, 1))
    x0, x1, f0, f1 = (ops.take(a, i, 0) for a, i in ((xp, low), (xp, high), (fp, low), (fp, high)))
    gap = ops.sub(x1, x0)
    slope = ops.true_div(ops.sub(f1, f0), ops.where(ops.eq(gap, 0), 1.0, gap))
    y = ops.add(ops.mul(slope, ops.sub(x, x0)), f0)
    # from the other end where an infinity stands at this one, as NumPy has it
    back = ops.add(ops.mul(slope, ops.sub(x, x1)), f1)
    back = ops.where(ops.logical_and(ops.isnan(back), ops.eq(f0, f1)), f0, back)
    y = ops.where(ops.isnan(y), ops.where(ops.eq(x, x0), f0, back), y)
    y = ops.where(ops.eq(x, x1), f1, y)
    first, last = ops.getitem(xp, 0), ops.getitem(xp, -1)
    before = ops.getitem(fp, 0) if left is None else ops.cast(node_of(left, rule), "float64")
    after = ops.getitem(fp, -1) if right is None else ops.cast(node_of(right, rule), "float64")
    y = ops.where(ops.lt(x, first), before, ops.where(ops.gt(x, last), after, y))
    return ops.where(ops.isnan(x), x, y)


@row(np.bincount)
def bincount(rule, x, /, weights=None, minlength=0):
    x = node_of(x, rule)
    if not dtypes.is_discrete(x.dtype) or x.dtype == "uint64":
        raise NotSupported("bincount of what are no small integers")
    if isinstance(minlength, (int, np.integer)) and minlength < 0:
        raise NotSupported("bincount of fewer than no bins")
    if weights is not None:
        weights = ops.cast(node_of(weights, rule), "float64")
    return ops.bincount(x, weights, minlength)


@row(np.convolve)
def convolve(rule, a, v, mode="full"):
    return convolved(*common_nodes(rule, (node_of(a, rule), node_of(v, rule))), mode)


def convolved(a, v, mode, turned=False):
    """The part of the convolution of two vectors that a mode of NumPy's says. turned: a shorter
    first one is what NumPy lets slide, so that it begins at the other end."""
    if a.ndim > 1 or v.ndim > 1 or mode not in ("full", "same", "valid"):
        raise NotSupported("convolve of what are no vectors, or in a mode of another name")
    a, v = (ops.expand(x, (0,)) if not x.ndim else x for x in (a, v))
    n, m = ops.size_of(a, 0), ops.size_of(v, 0)
    if 0 in (n, m):
        raise NotSupported("convolve of nothing")
    if None in a.shape + v.shape:
        some = ops.ge(ops.minimum(n, m), 1)
        a = ops.check(a, some, message="convolve of nothing", error="value")
    least, most = ops.minimum(n, m), ops.maximum(n, m)
    start, size = ops.sub(least, 1), ops.add(ops.sub(most, least), 1)
    if mode == "full":
        start, size = 0, ops.sub(ops.add(n, m), 1)
    elif mode == "same":
        shorter = ops.clip(ops.sub(m, n), 0, 1) if turned else 0
        start, size = ops.floor_div(ops.add(start, shorter), 2), most

    def part(x, y):
        return ops.convolve(x, y, start, size)

    if dtypes.is_complex(a.dtype):
        (ar, ai), (vr, vi) = ((ops.real(x), ops.imag(x)) for x in (a, v))
        return ops.complex_of(ops.sub(part(ar, vr), part(ai, vi)),
                              ops.add(part(ar, vi), part(ai, vr)))  # fmt: skip
    if a.dtype == "bool":
        return ops.ne(part(ops.cast(a, "int32"), ops.cast(v, "int32")), 0)
    if a.dtype == "float16":  # whose sums NumPy takes in float32
        return ops.cast(part(ops.cast(a, "float32"), ops.cast(v, "float32")), "float16")
    return part(a, v)


@row(np.cov, array=True)
def cov(rule, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *,
        dtype=None):  # fmt: skip
    found = [node_of(v, rule) for v in (m, y) if v is not None]
    if dtype is not None or any(x.ndim > 2 for x in found):
        raise NotSupported("cov with a dtype, or of samples in more than two dimensions")
    common = rule.common([*(np.dtype(x.dtype) for x in found), np.dtype("float64")])
    rows = []
    for k, x in enumerate(found):
        turned = not rowvar and x.ndim == 2 and (k == 0 or x.shape[0] != 1)
        if turned and k and x.shape[0] is None:
            raise NotSupported("samples in the columns of what may be one row")
        x = ops.expand(ops.cast(x, common), tuple(range(2 - x.ndim)))
        rows.append(ops.transpose(x) if turned else x)
    if rows[0].shape[0] == 0:
        raise NotSupported("cov of no variables")
    x = rows[0]
    if y is not None:
        y = agreeing(rows[1], x, [(1, 1)], "two sets of samples of different sizes")
        x = ops.concatenate([x, y], 0)
    if x.shape[0] is None:
        raise NotSupported("cov of an unknown number of variables")
    ddof = ddof if ddof is not None else 0 if bias else 1
    count = ops.cast(ops.getitem(ops.shape(x), 1), "float64")
    weights = _cov_weights(x, fweights, aweights, rule)
    if weights is None:
        around, freedom = ops.mean(x, 1, keepdims=True), ops.sub(count, ddof)
    else:
        weights, by_importance = weights
        whole = ops.sum(weights)
        whole = ops.check(whole, ops.ne(whole, 0), message="weights of sum 0", error="value")
        around = ops.true_div(ops.sum(ops.mul(x, weights), 1, True), whole)
        share = whole if by_importance is None else ops.sum(ops.mul(weights, by_importance))
        freedom = ops.sub(whole, ops.mul(ddof, ops.true_div(share, whole)))
    x = ops.sub(x, around)
    weighted = x if weights is None else ops.mul(x, weights)
    if dtypes.is_complex(x.dtype):
        weighted = ops.conj(weighted)
    c = ops.covariances(x, weighted, freedom)
    return ops.squeeze(c, (0, 1)) if x.shape[0] == 1 else c


def _cov_weights(x, fweights, aweights, rule):
    """(the weights of the samples, which NumPy refuses if negative or, of counts, broken; those by
    importance or None), or None without any."""
    found = []
    for number, w in enumerate((fweights, aweights)):
        if w is None:
            found.append(None)
            continue
        w = ops.cast(node_of(w, rule), "float64")
        if w.ndim != 1:
            raise NotSupported("weights of cov that are no vector")
        w = agreeing(w, x, [(0, 1)], "weights of cov of another size")
        right = ops.all(ops.ge(w, 0))
        if number == 0:
            right = ops.logical_and(right, ops.all(ops.eq(w, ops.round(w))))
        found.append(ops.check(w, right, message="such weights of cov", error="value"))
    counts, importance = found
    if counts is None and importance is None:
        return None
    if counts is None or importance is None:
        return counts if importance is None else importance, importance
    return ops.mul(counts, importance), importance
