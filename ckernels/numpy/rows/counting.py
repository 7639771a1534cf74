"""Rows of what counts, searches and integrates samples: searchsorted, interp, convolve ..."""

import functools

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.shapes import axis_of
from .arranging import common_nodes
from .base import newer, node_of, row, shaped_as, ufunc

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
    if weights is not None:
        weights = ops.cast(node_of(weights, rule), "float64")
    return ops.bincount(x, weights, minlength)


@row(np.convolve)
def convolve(rule, a, v, mode="full"):
    a, v = common_nodes(rule, (node_of(a, rule), node_of(v, rule)))
    if a.shape[0] is not None and (v.shape[0] is None or v.shape[0] > a.shape[0]):
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    if m is None or 0 in (n, m) or a.dtype == "bool" or mode not in AROUND:
        raise NotSupported("convolve of bools, of nothing, or of two unknown sizes")
    if n is None and mode != "full":
        longer = ops.ge(ops.getitem(ops.shape(a), 0), m)
        a = ops.check(a, longer, message="convolve of fewer elements than weights", error="value")
    known = v.value is not None and np.isfinite(v.value).all()
    if mode != "valid" and dtypes.is_inexact(v.dtype) and not known:  # 0 * inf is no zero
        finite = ops.all(ops.isfinite(v))
        v = ops.check(v, finite, message="convolve of weights that are not finite", error="value")
    wide = ops.pad(a, [AROUND[mode](m)]) if mode != "valid" else a
    windows = ops.sliding_windows(wide, 0, m)
    if m > FEW:
        return ops.cast(ops.sum(ops.mul(windows, ops.flip(v, 0)), -1), a.dtype)
    parts = [ops.mul(ops.getitem(windows, (slice(None), k)), ops.getitem(v, m - 1 - k))
             for k in range(m)]  # fmt: skip
    return functools.reduce(ops.add, parts)


FEW = 64  # weights that are written out as a sum
AROUND = {"full": lambda m: (m - 1, m - 1), "same": lambda m: (m // 2, (m - 1) // 2),
          "valid": lambda m: (0, 0)}  # fmt: skip


@row(np.cov, array=True)
def cov(rule, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *,
        dtype=None):  # fmt: skip
    x = node_of(m, rule)
    if y is not None or fweights is not None or aweights is not None or dtype is not None:
        raise NotSupported("cov with weights, a dtype or two sets of samples")
    if x.ndim != 2 or dtypes.is_complex(x.dtype) or (rowvar and x.shape[0] in (None, 1)):
        raise NotSupported("cov of what is no matrix of several real variables")
    return ops.cov(ops.cast(x, rule.common([np.dtype(x.dtype), np.dtype("float64")])), None,
                   rowvar, bias, ddof)  # fmt: skip
