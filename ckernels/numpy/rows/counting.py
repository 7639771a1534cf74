"""Rows of what counts, searches and integrates samples: searchsorted, interp, convolve ..."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import constant
from ...graph.shapes import axis_of
from .arranging import common_nodes
from .base import node_of, row, ufunc
from .filling import linspace

NONE = np._NoValue


@row(np.searchsorted)
def searchsorted(rule, a, v, side="left", sorter=None):
    a, v = common_nodes(rule, (node_of(a, rule), node_of(v, rule)))
    return ops.cast(ops.searchsorted(a, v, side, sorter), "int64")


@row(np.trapezoid)
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
    n, m = a.shape[0], v.shape[0]
    if None in (n, m) or 0 in (n, m) or not dtypes.is_float(a.dtype) or min(n, m) > 64:
        raise NotSupported("convolve with sizes that are unknown or large")
    if m > n:
        a, v, n, m = v, a, m, n
    first, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[
        mode
    ]
    wide = ops.pad(a, [(m - 1, m - 1)])
    parts = [
        ops.mul(ops.getitem(wide, slice(first + k, first + k + count)), ops.getitem(v, m - 1 - k))
        for k in range(m)
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = ops.add(whole, part)
    return whole


@row(np.cov)
def cov(rule, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *,
        dtype=None):  # fmt: skip
    x = node_of(m, rule)
    if y is not None or fweights is not None or aweights is not None or dtype is not None:
        raise NotSupported("cov with weights, a dtype or two sets of samples")
    if x.ndim != 2 or dtypes.is_complex(x.dtype) or (rowvar and x.shape[0] in (None, 1)):
        raise NotSupported("cov of what is no matrix of several real variables")
    return ops.cov(ops.cast(x, rule.common([np.dtype(x.dtype), np.dtype("float64")])), None,
                   rowvar, bias, ddof)  # fmt: skip


@row(np.histogram)
def histogram(rule, a, bins=10, range=None, density=None, weights=None):  # noqa: A002
    """Equal bins over the range of the data, by NumPy's steps: a first guess of the bin, put right
    by the edges."""
    x = ops.flatten(node_of(a, rule))
    if not isinstance(bins, int) or range is not None or density or x.dtype != "float64":
        raise NotSupported("histogram but of float64 in equal bins over all data")
    if x.shape[0] == 0:
        raise NotSupported("histogram of no elements")
    low, high = ops.min(x), ops.max(x)
    same = ops.eq(low, high)
    low, high = (ops.where(same, ops.sub(low, 0.5), low), ops.where(same, ops.add(high, 0.5), high))
    edges = linspace(rule, low, high, bins + 1)
    scaled = ops.mul(ops.true_div(ops.sub(x, low), ops.sub(high, low)), float(bins))
    at = ops.clip(ops.cast(scaled, "int64"), 0, bins - 1)
    at = ops.sub(at, ops.cast(ops.lt(x, ops.take(edges, at, 0)), "int64"))
    above = ops.ge(x, ops.take(edges, ops.add(at, 1), 0))
    at = ops.add(at, ops.cast(ops.logical_and(above, ops.ne(at, bins - 1)), "int64"))
    one = ops.ones_like(x, "int64") if weights is None else ops.flatten(node_of(weights, rule))
    if dtypes.is_complex(one.dtype):
        raise NotSupported("histogram of complex weights")
    empty = constant(np.zeros(bins, one.dtype))
    return ops.scatter_add(empty, at, one), edges
