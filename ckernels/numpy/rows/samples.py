"""Rows of order statistics, of samples with NaN, and of bins."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import Node, constant
from ...graph.shapes import axes_of
from ...ops.quantiles import METHODS
from ...ops.shape import sized, times
from ..promote import Weak
from .base import as_operand, node_of, row, shaped_as, typed, ufunc
from .filling import linspace
from .reductions import spread

NONE = np._NoValue


def _plain(value, default=None):
    return default if value is NONE else value


def _floats(rule, a):
    x = node_of(a, rule)
    if dtypes.is_complex(x.dtype) or x.dtype == "bool":
        raise NotSupported("order statistics of complex numbers or bools")
    return ops.cast(x, rule.mean(np.dtype(x.dtype)))


def gathered(x, axis):
    """(`x` with the axes that are to go at its end, as one; the axes)."""
    axes = axes_of(axis, x.ndim)
    rest = [a for a in range(x.ndim) if a not in axes]
    x = ops.transpose(x, [*rest, *axes]) if list(axes) != list(range(len(rest), x.ndim)) else x
    if len(axes) == 1:
        return x, axes
    kept = sized(x, range(len(rest)))
    return ops.reshape(x, [*kept, times(*sized(x, range(len(rest), x.ndim)))]), axes


@row(np.median, array="keepdims")
def median(rule, a, axis=None, out=None, overwrite_input=False, keepdims=False):
    x = node_of(a, rule)
    x = ops.cast(x, rule.mean(np.dtype(x.dtype)))
    if dtypes.is_complex(x.dtype) or x.size == 0:
        raise NotSupported("the median of complex numbers, or of no elements")
    x, axes = gathered(x, axis)
    found = ops.median(x, -1)
    return ops.expand(found, axes) if keepdims else found


def _vector(rule, numbers):
    """A list of numbers, which data may decide, as a vector of the dtype of an array of them."""
    if not any(isinstance(i, (Node, Weak)) for i in numbers):
        return np.asarray(numbers)
    nodes = [node_of(i, rule) for i in numbers]
    if any(n.ndim for n in nodes):
        raise NotSupported("quantiles in a table")
    common = rule.common([np.dtype(n.dtype) for n in nodes])
    return ops.stack([ops.cast(n, common) for n in nodes], 0)


def _probabilities(rule, q, by):
    """(the quantiles in the dtype that NumPy finds their places in, an example of `q`)."""
    if isinstance(q, (list, tuple)) and not isinstance(q, Weak):
        q = _vector(rule, q)
    node = ufunc(rule, np.true_divide, q, by) if by != 1 else node_of(q, rule)
    if node.ndim > 1 or dtypes.is_complex(node.dtype) or node.dtype in ("bool", "float16"):
        raise NotSupported(f"quantiles of {node.ndim} dimensions or of {node.dtype}")
    if isinstance(q, Weak):
        example = q.kind(0)
    elif isinstance(q, Node):
        example = np.zeros((1,) * q.ndim, q.dtype)
    else:
        example = q if isinstance(q, (int, float)) else np.asarray(q)
    name, most = ("Quantiles", 1) if by == 1 else ("Percentiles", 100)
    message = f"{name} must be in the range [0, {most}]"
    if node.value is not None:
        if not ((node.value >= 0) & (node.value <= 1)).all():
            raise NotSupported(message)
        return node, example
    inside = ops.logical_and(ops.ge(node, 0), ops.le(node, 1))
    return ops.check(node, inside, message=message, error="value"), example


# Hyndman and Fan's methods that NumPy names: by its two numbers a continuous one, else a step
CONTINUOUS = {"interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
              "median_unbiased": (1 / 3.0, 1 / 3.0),
              "normal_unbiased": (3 / 8.0, 3 / 8.0)}  # fmt: skip
STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
KNOWN = (*METHODS, *CONTINUOUS, *STEPS)


def _hyndman_fan(q, last, method):
    """`_places` by one of their methods. What the floor decides is rounded as in NumPy."""
    count = ops.mul(ops.cast(ops.add(last, 1), q.dtype), q)
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        count = ops.add_rounded(count, ops.add_rounded(ops.mul(q, 1 - alpha - beta), alpha))
    place = ops.add_rounded(count, -1)
    if method == "closest_observation":
        place = ops.sub(place, 0.5)
    below = ops.floor(place)
    weight = ops.sub(place, below)
    low, high = (ops.clip(ops.cast(n, "int64"), 0, last) for n in (below, ops.add(below, 1)))
    if method in CONTINUOUS:
        return low, high, weight
    here = ops.eq(weight, 0)
    if method == "averaged_inverted_cdf":
        return low, high, ops.where(here, typed(0.5, q.dtype), typed(1, q.dtype))
    if method == "closest_observation":
        here = ops.logical_and(here, ops.eq(ops.mod(below, 2), 1))
    return ops.where(here, low, high), None, None


def _places(q, last, method):
    """(places below and above the quantiles `q`, how far between them or None where each is one
    element) in `last` + 1 sorted elements; `last`: of the shape of `q`, or with axes before its."""
    named = method in CONTINUOUS or method in STEPS
    if dtypes.is_discrete(q.dtype) and (named or method == "midpoint"):
        q = ops.cast(q, "float64")
    if named:
        return _hyndman_fan(q, last, method)
    place = ops.mul(ops.cast(last, q.dtype), q)
    if dtypes.is_discrete(place.dtype):
        return ops.cast(place, "int64"), None, None
    below = ops.floor(place)
    if method in ("lower", "higher", "nearest"):
        one = {"lower": below, "higher": ops.ceil(place), "nearest": ops.round(place)}[method]
        return ops.cast(one, "int64"), None, None
    low, weight = ops.cast(below, "int64"), ops.sub(place, below)
    if method == "midpoint":
        half = typed(0.5, place.dtype)
        weight = ops.where(ops.eq(weight, 0), ops.zeros_like(weight), half)
    return low, ops.minimum(ops.add(low, 1), last), weight


def _between(a, b, weight, dtype):
    """From `a` to `b` by NumPy's steps: the difference of floats in their own dtype, from the
    nearer end. Differences of ints are of floats, since those of narrow ints wrap."""
    if dtypes.is_discrete(a.dtype):
        a, b = ops.cast(a, dtype), ops.cast(b, dtype)
    step = ops.cast(ops.sub(b, a), dtype)
    a, b, weight = (ops.cast(n, dtype) for n in (a, b, weight))
    near_a = ops.add_rounded(ops.mul(step, weight), a)
    near_b = ops.add_rounded(ops.neg(ops.mul(step, ops.sub(1, weight))), b)
    return ops.where(ops.ge(weight, 0.5), near_b, near_a)


def _rows(rule, a, axis):
    x = node_of(a, rule)
    if dtypes.is_complex(x.dtype) or x.dtype == "bool":
        raise NotSupported("order statistics of complex numbers or bools")
    x, axes = gathered(x, axis)
    if x.shape[-1] == 0:
        raise NotSupported("quantiles of no elements")
    return x, axes


def _samples(rule, a, axis):
    x, axes = _rows(rule, a, axis)
    return ops.sort(x, -1), axes  # NaN at the end


def _last(x):
    return ops.sub(ops.cast(ops.getitem(ops.shape(x), x.ndim - 1), "int64"), 1)


def _last_number(x):
    """The place of the last element of sorted rows that is no NaN; 0 where there is none."""
    count = ops.sum(ops.cast(ops.logical_not(ops.isnan(x)), "int64"), -1)
    return ops.maximum(ops.sub(count, 1), 0)


def _each(x, places, several=False):
    """Of each row of `x` the element at its place, or those at its several places."""
    if several:
        return ops.take_along_axis(x, places, -1)
    return ops.squeeze(ops.take_along_axis(x, ops.expand(places, (places.ndim,)), -1), (-1,))


def _selected(x, *places):
    """The elements of each row of `x` that are at these places in order: of each number or vector
    one array, of None None; those of numbers have an axis of one beside those of vectors."""
    if any(i is not None and i.shape == (None,) for i in places):
        x = ops.sort(x, -1)
        places = [i if i is None else ops.reshape(i, (-1,)) for i in places]
        return [i if i is None else ops.take(x, i, -1) for i in places]
    wanted = [ops.reshape(ops.cast(i, "int64"), (-1,)) for i in places if i is not None]
    several = any(i is not None and i.ndim for i in places)
    found, at, parts = ops.selected(x, ops.concatenate(wanted, 0)), 0, []
    for i in places:
        if i is None:
            parts.append(None)
            continue
        size = i.shape[0] if i.ndim else 1
        part = slice(at, at + size) if several else at
        parts.append(ops.getitem(found, (..., part)))
        at += size
    return parts


def _quantile(function, by, without_nan=False):
    @row(function, array="keepdims")
    def build(rule, a, q, axis=None, out=None, overwrite_input=False, method="linear",
              keepdims=NONE, *, weights=None, interpolation=None):  # fmt: skip
        if weights is not None or interpolation is not None or method not in KNOWN:
            raise NotSupported(f"{function.__name__} with weights or the method {method!r}")
        wanted, example = _probabilities(rule, q, by)
        x, axes = _rows(rule, a, axis)
        if without_nan and 0 in x.shape:
            raise NotSupported("quantiles of an array without elements")
        dtype = function(np.ones(2, x.dtype), example, method=method).dtype.name  # NumPy knows it
        if x.dtype == "float16" and dtype != "float16":
            raise NotSupported(
                "quantiles of float16 in a wider dtype, by differences rounded to 16 bits"
            )
        if without_nan and dtypes.is_float(x.dtype):
            x = ops.sort(x, -1)  # NaN at the end
            last = _last_number(x)
            last = ops.expand(last, (last.ndim,)) if wanted.ndim else last
            low, high, weight = _places(wanted, last, method)
            found, other = (i if i is None else _each(x, i, wanted.ndim) for i in (low, high))
        else:
            last = _last(x)
            low, high, weight = _places(wanted, last, method)
            found, other, end = _selected(x, low, high, last)
        found = ops.cast(found, dtype) if weight is None else _between(found, other, weight, dtype)
        if dtypes.is_float(x.dtype) and not without_nan:
            end = ops.cast(end, dtype)
            found = ops.where(ops.isnan(end), end, found)
        found = ops.moveaxis(found, -1, 0) if wanted.ndim else found
        if not _plain(keepdims, False):
            return found
        return ops.expand(found, tuple(i + wanted.ndim for i in axes))


_quantile(np.quantile, 1)
_quantile(np.percentile, 100)
_quantile(np.nanquantile, 1, without_nan=True)
_quantile(np.nanpercentile, 100, without_nan=True)


@row(np.nanmedian, array="keepdims")
def nanmedian(rule, a, axis=None, out=None, overwrite_input=False, keepdims=NONE):
    x = node_of(a, rule)
    if dtypes.is_discrete(x.dtype):
        return median(rule, x, axis, keepdims=_plain(keepdims, False))
    x, axes = _samples(rule, x, axis)
    last = _last_number(x)
    half = ops.floor_div(last, 2)
    low, high = _each(x, half), _each(x, ops.sub(last, half))
    alone = ops.eq(half, ops.sub(last, half))
    found = ops.where(alone, low, ops.mul(ops.add(low, high), 0.5))
    return ops.expand(found, axes) if _plain(keepdims, False) else found


def _nan_spread(rule, a, axis, dtype, ddof, keepdims, where, about, correction):
    """The variance of what is no NaN; NaN where it is of no more elements than `ddof`."""
    x = node_of(a, rule)
    if not dtypes.is_float(x.dtype):
        return spread(rule, x, axis, dtype, ddof, keepdims, where, about, correction)
    there = ops.logical_not(ops.isnan(x))
    if _plain(where, True) is not True:
        there = ops.logical_and(
            there, ops.broadcast_like(ops.cast(node_of(where, rule), "bool"), x)
        )
    found = spread(rule, x, axis, dtype, ddof, keepdims, there, about, correction)
    count = ops.sum(ops.cast(there, "int64"), axes_of(axis, x.ndim), _plain(keepdims, False))
    few = ops.le(count, ddof if correction is NONE else correction)
    return ops.where(few, ops.full_like(found, np.nan), found)


@row(np.nanvar)
def nanvar(rule, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NONE, *, where=NONE,
           mean=NONE, correction=NONE):  # fmt: skip
    return _nan_spread(rule, a, axis, dtype, ddof, keepdims, where, mean, correction)


@row(np.nanstd)
def nanstd(rule, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NONE, *, where=NONE,
           mean=NONE, correction=NONE):  # fmt: skip
    return ops.sqrt(_nan_spread(rule, a, axis, dtype, ddof, keepdims, where, mean, correction))


def _nan_place(function, op, far):
    @row(function)
    def build(rule, a, axis=None, out=None, *, keepdims=NONE):
        x = node_of(a, rule)
        if dtypes.is_complex(x.dtype):
            raise NotSupported("ordering of complex numbers")
        if not dtypes.is_float(x.dtype):
            return op(x, axis, bool(_plain(keepdims, False)))
        gone = ops.isnan(x)
        axes = axes_of(axis, x.ndim)
        some = ops.all(ops.logical_not(ops.all(gone, axes)))
        x = ops.where(gone, ops.full_like(x, far), x)
        x = ops.check(x, some, message="All-NaN slice encountered", error="value")
        return op(x, axis, bool(_plain(keepdims, False)))


_nan_place(np.nanargmax, ops.argmax, -np.inf)
_nan_place(np.nanargmin, ops.argmin, np.inf)


@row(np.digitize)
def digitize(rule, x, bins, right=False):
    x, edges = node_of(x, rule), node_of(bins, rule)
    if edges.ndim != 1 or dtypes.is_complex(x.dtype):
        raise NotSupported("digitize but by a vector, or of complex numbers")
    common = rule.common([np.dtype(x.dtype), np.dtype(edges.dtype)])
    x, edges = ops.cast(x, common), ops.cast(edges, common)
    later, before = ops.getitem(edges, slice(1, None)), ops.getitem(edges, slice(None, -1))
    rising, falling = ops.all(ops.ge(later, before)), ops.all(ops.le(later, before))
    edges = ops.check(edges, ops.logical_or(rising, falling), error="value",
                      message="bins must be monotonically increasing or decreasing")  # fmt: skip
    side = "left" if right else "right"
    found = ops.cast(ops.searchsorted(ops.sort(edges, 0), x, side), "int64")
    count = ops.cast(ops.getitem(ops.shape(edges), 0), "int64")
    return ops.where(rising, found, ops.sub(count, found))


def _limits(x, range):
    """(low, high) of equal bins."""
    if range is not None and any(isinstance(end, (Weak, Node)) for end in range):
        wide = [as_operand(end) for end in range]
        if any(isinstance(end, Node) and np.promote_types(end.dtype, x.dtype) != x.dtype
               and not dtypes.is_discrete(x.dtype) for end in wide):  # fmt: skip
            raise NotSupported("a range of more precise numbers than these")
        low, high = [typed(end, "float64") for end in wide]
        fits = ops.logical_and(ops.isfinite(ops.sub(high, low)), ops.le(low, high))
        low = ops.check(low, fits, error="value", message="a range that NumPy refuses")
        same = ops.eq(low, high)
        return ops.where(same, ops.sub(low, 0.5), low), ops.where(same, ops.add(high, 0.5), high)
    if range is not None:
        low, high = map(float, range)
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise NotSupported("a range that NumPy refuses")
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return constant(np.asarray(low)), constant(np.asarray(high))
    low, high = ops.min(x), ops.max(x)
    if dtypes.is_float(x.dtype):
        finite = ops.isfinite(ops.sub(ops.mul(low, 0.5), ops.mul(high, 0.5)))
        low = ops.check(low, finite, message="autodetected range is not finite", error="value")
    same = ops.eq(low, high)
    return ops.where(same, ops.sub(low, 0.5), low), ops.where(same, ops.add(high, 0.5), high)


def edges_of(rule, x, bins, range):
    """The edges of bins: of so many equal ones over the data or a range, or those given."""
    if isinstance(bins, (list, tuple)) and any(isinstance(b, (Weak, Node)) for b in bins):
        kinds = [np.dtype(node_of(b, rule).dtype) for b in bins]
        bins = ops.stack([typed(b, rule.common(kinds)) for b in bins])
    if isinstance(bins, (np.ndarray, list, tuple)):
        edges = np.asarray(bins)
        if edges.ndim != 1 or edges.size < 2 or (np.diff(edges) < 0).any():
            raise NotSupported("edges of no bin, or that do not rise")
        return constant(edges)
    if isinstance(bins, Node) and bins.ndim == 1 and (bins.shape[0] or 0) > 1:
        later, before = ops.getitem(bins, slice(1, None)), ops.getitem(bins, slice(None, -1))
        return ops.check(bins, ops.ge(later, before), error="value",
                         message="`bins` must increase monotonically, when an array")  # fmt: skip
    if not isinstance(bins, (int, np.integer)) or bins < 1 or x.shape[0] == 0:
        raise NotSupported("bins by a rule, or of no elements")
    low, high = _limits(x, range)
    kind = "float64" if dtypes.is_discrete(x.dtype) else x.dtype
    if range is None:
        low, high = ops.cast(low, kind), ops.cast(high, kind)
    return ops.cast(linspace(rule, low, high, int(bins) + 1, computed=low.dtype), kind)


@row(np.histogram_bin_edges)
def histogram_bin_edges(rule, a, bins=10, range=None, weights=None):
    return edges_of(rule, ops.flatten(node_of(a, rule)), bins, range)


def binned(x, edges, equal, exact=False):
    """The numbers of the bins of `x`; the number of bins for what is in none. The last bin holds
    its upper edge. equal: whether edges lie at equal distances."""
    if equal:
        return ops.equal_bins(ops.cast(x, edges.dtype), edges, exact)
    count = constant(np.asarray(edges.shape[0] - 1))
    common = np.promote_types(x.dtype, edges.dtype).name
    x, edges = ops.cast(x, common), ops.cast(edges, common)
    at = ops.sub(ops.cast(ops.searchsorted(edges, x, "right"), "int64"), 1)
    at = ops.where(ops.eq(x, ops.getitem(edges, -1)), ops.sub(count, 1), at)
    return ops.where(ops.lt(at, 0), count, at)


def _counted(at, one, count):
    """How much of `one` is in each of so many bins; what is in none comes behind them."""
    empty = constant(np.zeros(count + 1, one.dtype))
    return ops.getitem(ops.scatter_add(empty, at, one), slice(None, count))


@row(np.histogram)
def histogram(rule, a, bins=10, range=None, density=None, weights=None):
    a = node_of(a, rule)
    x = ops.flatten(a)
    if dtypes.is_complex(x.dtype) or x.dtype in ("bool", "float16", "uint64"):
        raise NotSupported(f"histogram of {x.dtype}")
    edges = edges_of(rule, x, bins, range)
    at = binned(x, edges, isinstance(bins, (int, np.integer)))
    if weights is None:
        one = ops.ones_like(x, "int64")
    else:
        message = "weights should have the same shape as a."
        one = ops.flatten(shaped_as(node_of(weights, rule), a, message))
    if dtypes.is_complex(one.dtype):
        raise NotSupported("histogram of complex weights")
    counts = _counted(at, one, edges.shape[0] - 1)
    if density:
        wide = ops.cast(ops.sub(ops.getitem(edges, slice(1, None)),
                                ops.getitem(edges, slice(None, -1))), "float64")  # fmt: skip
        counts = ops.true_div(ops.true_div(ops.cast(counts, "float64"), wide),
                              ops.cast(ops.sum(counts), "float64"))  # fmt: skip
    return counts, edges


def _of_columns(rule, columns, bins, range, weights):
    """(counts, edges) of points by their coordinates, vectors of float64."""
    count = len(columns)
    bins = [bins] * count if isinstance(bins, (int, np.integer)) else list(bins)
    ranges = [None] * count if range is None else list(range)
    if len(bins) != count or len(ranges) != count:
        raise NotSupported("bins or ranges of another number than there are coordinates")
    edges, flat, sizes = [], None, []
    for x, b, r in zip(columns, bins, ranges):
        edges.append(edges_of(rule, x, b, r))
        at = binned(x, edges[-1], isinstance(b, (int, np.integer)), exact=True)
        sizes.append(edges[-1].shape[0])
        flat = at if flat is None else ops.add(ops.mul(flat, sizes[-1]), at)
    if weights is None:
        one = ops.ones_like(flat, "float64")
    else:
        message = "The weights and list don't have the same length."
        one = ops.cast(shaped_as(node_of(weights, rule), flat, message), "float64")
    counts = ops.scatter_add(constant(np.zeros(int(np.prod(sizes)))), flat, one)
    return ops.getitem(ops.reshape(counts, sizes), (slice(None, -1),) * count), edges


@row(np.histogramdd)
def histogramdd(rule, sample, bins=10, range=None, density=None, weights=None):
    if isinstance(sample, (list, tuple)):
        sample = ops.stack([ops.flatten(node_of(s, rule)) for s in sample], 1)
    sample = node_of(sample, rule)
    if sample.ndim != 2 or sample.shape[1] is None or density or sample.dtype != "float64":
        raise NotSupported("histogramdd but of float64 in rows, without density")
    columns = [ops.getitem(sample, (slice(None), k)) for k in np.arange(sample.shape[1])]
    return _of_columns(rule, columns, bins, range, weights)


@row(np.histogram2d)
def histogram2d(rule, x, y, bins=10, range=None, density=None, weights=None):
    if isinstance(bins, (np.ndarray, list)) and np.ndim(bins[0]) == 0 and len(bins) not in (1, 2):
        bins = [bins, bins]
    x, y = node_of(x, rule), node_of(y, rule)
    if density or (x.ndim, y.ndim, x.dtype, y.dtype) != (1, 1, "float64", "float64"):
        counts, edges = histogramdd(rule, [x, y], bins, range, density, weights)
    else:
        y = shaped_as(y, x, "x and y must have the same length.")
        counts, edges = _of_columns(rule, [x, y], bins, range, weights)
    return counts, edges[0], edges[1]


@row(np.ediff1d)
def ediff1d(rule, ary, to_end=None, to_begin=None):
    x = ops.flatten(node_of(ary, rule))
    if x.dtype == "bool":
        raise NotSupported("differences of bools")
    found = [ops.sub(ops.getitem(x, slice(1, None)), ops.getitem(x, slice(None, -1)))]
    for place, value in ((0, to_begin), (len(found) + 1, to_end)):
        if value is not None:
            value = node_of(value, rule)
            if not np.can_cast(value.dtype, x.dtype, "same_kind"):
                raise TypeError("dtype of `to_begin` or `to_end` must be compatible with `ary`")
            found.insert(place, ops.cast(ops.flatten(value), x.dtype))
    return ops.concatenate(found, 0) if len(found) > 1 else found[0]
