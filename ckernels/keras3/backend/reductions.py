"""keras.ops' functions over axes: sums, extrema, moments, running sums, order and counts."""

import builtins

import numpy as np
from keras.src.backend import config

from ... import ops
from ...graph.shapes import axes_of
from ..casts import cast_node, result_type, standardize_dtype
from ..direct import named, quiet
from ..eager import compiled
from ..gradient import with_gradient
from ..rows import as_axis, dtype_of, either, floating, placed, promoted, reduction, summed
from ..values import Symbolic, cast, convert_to_tensor, node_of
from .elementwise import isclose, refuse_traced, where


def _mean_of(dtype):
    """Means compute in float; int64 in floatx()."""
    return floating(dtype)


sum = reduction("sum", np.sum, ops.sum, summed)
mean = reduction("mean", np.mean, ops.mean, _mean_of)
std = reduction("std", np.std, ops.std, _mean_of)
all = reduction(
    "all", np.all, lambda n, a, k: ops.all(cast_node(n, "bool"), a, k), out=lambda d: "bool"
)
any = reduction(
    "any", np.any, lambda n, a, k: ops.any(cast_node(n, "bool"), a, k), out=lambda d: "bool"
)


def _shared(extremum):
    """An extremum whose gradient is shared evenly by the elements that are equal to it."""

    def graph(n, axis, keepdims):
        found = extremum(n, axis, keepdims)

        def pullback(g):
            best = ops.cast(ops.eq(n, extremum(n, axis, True)), n.dtype)
            sizes = [1 if axis is None or a in axes_of(axis, n.ndim) else ops.size_of(n, a)
                     for a in range(n.ndim)]  # fmt: skip
            return Symbolic(
                ops.mul(ops.true_div(best, ops.sum(best, axis, True)), ops.reshape(g.node, sizes))
            )

        if "float" not in n.dtype:
            return found
        return with_gradient((Symbolic(n),), Symbolic(found), pullback).node

    return graph


amax = reduction("amax", np.max, _shared(ops.max))
amin = reduction("amin", np.min, _shared(ops.min))


def _spread(a, axis, keepdims):
    high = np.maximum.reduce(a, axis, None, None, keepdims)
    return high - np.minimum.reduce(a, axis, None, None, keepdims)


ptp = reduction("ptp", _spread, ops.ptp)
_variance = reduction("var", np.var, ops.var, lambda d: result_type(floating(d), "float32"))


def var(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    return cast(_variance(x, axis, keepdims), floating(dtype_of(x)))


def prod(x, axis=None, keepdims=False, dtype=None):
    x = convert_to_tensor(x)
    dtype = dtype or summed(dtype_of(x))
    return _product(cast(x, dtype), axis, keepdims)


_product = reduction("prod", np.prod, ops.prod)


def _at_least(x, initial):
    return where(x < initial, convert_to_tensor(initial, x.dtype), x)


def _at_most(x, initial):
    return where(x > initial, convert_to_tensor(initial, x.dtype), x)


def max(x, axis=None, keepdims=False, initial=None):
    if initial is None:
        return amax(x, axis, keepdims)
    x = convert_to_tensor(x)
    if not isinstance(x, Symbolic):
        return np.max(x, axis=as_axis(axis), keepdims=keepdims, initial=initial)
    return _at_least(amax(x, axis, keepdims), initial)


def min(x, axis=None, keepdims=False, initial=None):
    if initial is None:
        return amin(x, axis, keepdims)
    x = convert_to_tensor(x)
    if not isinstance(x, Symbolic):
        return np.min(x, axis=as_axis(axis), keepdims=keepdims, initial=initial)
    return _at_most(amin(x, axis, keepdims), initial)


def count_nonzero(x, axis=None):
    x = convert_to_tensor(x)
    axis = as_axis(axis)
    found = either(
        lambda a: np.asarray(np.count_nonzero(a, axis=axis)),
        lambda n: ops.sum(ops.cast(cast_node(n, "bool"), "int64"), axis),
        x,
    )
    return cast(found, "int32")


def _index_of(name, eager, graph):
    def function(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        found = either(
            lambda a: eager(a, axis=axis, keepdims=keepdims),
            lambda n: graph(cast_node(n, "int32") if n.dtype == "bool" else n, axis, keepdims),
            x,
        )
        return cast(found, "int32")

    return named(function, name)


argmax = _index_of("argmax", np.argmax, ops.argmax)
argmin = _index_of("argmin", np.argmin, ops.argmin)


def _without_nan(plain, eager, reduced, filler, empty=None):
    """`plain` without NaN: `filler` takes its place; empty: the result where all are."""
    eager = quiet(eager)

    def function(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        if "float" not in dtype_of(x):
            return plain(x, axis, keepdims)
        axis = as_axis(axis)
        if not isinstance(x, Symbolic):
            return cast(eager(x, axis, None, None, keepdims), x.dtype)
        kept = ops.logical_not(_is_nan(x.node))
        found = reduced(ops.where(kept, x.node, filler), axis, keepdims)
        if empty is not None:
            found = ops.where(ops.any(kept, axis, keepdims), found, empty)
        return Symbolic(cast_node(found, x.dtype))

    return named(function, f"nan{plain.__name__.removeprefix('a')}")


def _is_nan(n):
    return ops.isnan(n) if "float" in n.dtype else ops.zeros_like(n, dtype="bool")


def _quiet(eager, x, axis, keepdims):
    import warnings  # start-up

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # slices that hold nothing but NaN
        return eager(x, axis=axis, keepdims=keepdims)


nansum = _without_nan(sum, np.nansum, ops.sum, 0)
nanprod = _without_nan(prod, np.nanprod, ops.prod, 1)
nanmax = _without_nan(amax, np.fmax.reduce, ops.max, -np.inf, empty=np.nan)
nanmin = _without_nan(amin, np.fmin.reduce, ops.min, np.inf, empty=np.nan)


def nanmean(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    dtype = floating(dtype_of(x))
    if not isinstance(x, Symbolic):
        return cast(_quiet(np.nanmean, x, as_axis(axis), keepdims), dtype)
    x, axis = cast(x, dtype), as_axis(axis)
    kept = ops.logical_not(_is_nan(x.node))
    total = ops.sum(ops.where(kept, x.node, 0), axis, keepdims)
    count = ops.sum(ops.cast(kept, "int64"), axis, keepdims)
    return Symbolic(ops.true_div(total, ops.cast(count, dtype)))


def nanvar(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    dtype = floating(dtype_of(x))
    if not isinstance(x, Symbolic):
        return cast(_quiet(np.nanvar, x, as_axis(axis), keepdims), dtype)
    x, axis = cast(x, dtype), as_axis(axis)
    kept = ops.logical_not(_is_nan(x.node))
    away = ops.where(kept, ops.sub(x.node, nanmean(x, axis, True).node), 0)  # so are slopes
    total, count = (ops.sum(n, axis, keepdims) for n in (ops.square(away), ops.cast(kept, "int64")))
    return Symbolic(ops.true_div(total, ops.cast(count, dtype)))


def nanstd(x, axis=None, keepdims=False):
    found = nanvar(x, axis, keepdims)
    return either(np.sqrt, ops.sqrt, found)


def nanargmax(x, axis=None, keepdims=False):
    return _nan_index(argmax, x, axis, keepdims, -np.inf)


def nanargmin(x, axis=None, keepdims=False):
    return _nan_index(argmin, x, axis, keepdims, np.inf)


def _nan_index(index, x, axis, keepdims, filler):
    """The place of an extremum among numbers; -1 where there are none."""
    x = convert_to_tensor(x)
    if "float" not in dtype_of(x):
        return index(x, axis, keepdims)
    nan = either(np.isnan, ops.isnan, x)
    found = index(where(nan, convert_to_tensor(filler, x.dtype), x), axis, keepdims)
    return where(all(nan, axis, keepdims), convert_to_tensor(-1, "int32"), found)


def average(x, axis=None, weights=None):
    x = convert_to_tensor(x)
    dtypes = [x.dtype, float]
    if weights is not None:
        weights = convert_to_tensor(weights)
        dtypes.append(weights.dtype)
    dtype = result_type(*dtypes)
    x = cast(x, dtype)
    if weights is None:
        return mean(x, axis)
    weights = cast(weights, dtype)
    if not isinstance(x, Symbolic) and not isinstance(weights, Symbolic):
        return np.average(x, weights=weights, axis=as_axis(axis)).astype(dtype)
    w = node_of(weights)
    if w.ndim != x.ndim and axis is not None:
        w = ops.reshape(w, [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])
    total = ops.sum(ops.mul(node_of(x), w), as_axis(axis))
    return Symbolic(ops.true_div(total, ops.sum(ops.broadcast_like(w, node_of(x)), as_axis(axis))))


def _running(name, eager, graph):
    at_once = quiet(eager)

    def function(x, axis=None, dtype=None):
        x = convert_to_tensor(x)
        dtype = standardize_dtype(dtype or x.dtype)
        dtype = "int32" if dtype == "bool" else dtype
        if x.__class__ is np.ndarray and x.dtype.kind in "biu":
            return at_once(x, axis, dtype)
        x = cast(x, dtype)

        def of_node(n):
            return graph(ops.flatten(n) if axis is None else n, 0 if axis is None else axis)

        return cast(placed(lambda a: at_once(a, axis=axis), of_node, x), x.dtype)

    return named(function, name)


cumsum = _running("cumsum", np.cumsum, ops.cumsum)
cumprod = _running("cumprod", np.cumprod, ops.cumprod)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_nan_to(x, 0), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_nan_to(x, 1), axis, dtype)


def _nan_to(x, filler):
    x = convert_to_tensor(x)
    if "float" not in dtype_of(x):
        return x
    nan = either(np.isnan, ops.isnan, x)
    return where(nan, convert_to_tensor(filler, x.dtype), x)


# ---- order ---------------------------------------------------------------------------------------


def sort(x, axis=-1):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray and axis is not None:
        x = x.copy("K")
        x.sort(axis)
        return x
    return placed(lambda a: np.sort(a, axis), lambda n: ops.sort(*_flat(n, axis)), x)


def argsort(x, axis=-1):
    x = convert_to_tensor(x)
    if not x.ndim:
        axis = None
    if x.size is None or x.size >= MANY or isinstance(x, Symbolic):
        return compiled(order_of, x, axis=axis, open_sizes=True)
    return x.argsort(axis, "stable").astype("int32")


MANY = 2048  # elements of an array whose order the runtime finds faster than NumPy


def order_of(n, axis):
    return ops.cast(ops.argsort(*_flat(n, axis)), "int32")


def _flat(n, axis):
    n = ops.cast(n, "uint8") if n.dtype == "bool" else n
    return (ops.flatten(n), 0) if axis is None else (n, axis)


def argpartition(x, kth, axis=-1):
    x = convert_to_tensor(x)
    if x.__class__ is np.ndarray:
        return x.argpartition(kth, axis).astype("int32")
    return Symbolic(ops.cast(ops.argsort(*_flat(node_of(x), axis)), "int32"))


def searchsorted(sorted_sequence, values, side="left"):
    if convert_to_tensor(sorted_sequence).ndim != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. "
            f"You can use `keras.ops.vectorized_map`. Received: {sorted_sequence}"
        )
    return _places(convert_to_tensor(sorted_sequence), convert_to_tensor(values), side)


def _places(row, values, side):
    dtype = promoted(row, values)
    row, values = cast(row, dtype), cast(values, dtype)
    if isinstance(row, Symbolic) or isinstance(values, Symbolic):
        found = ops.searchsorted(node_of(row), node_of(values), side)
        return Symbolic(ops.cast(found, "int32"))
    return row.searchsorted(values, side).astype("int32")


def digitize(x, bins):
    x, bins = convert_to_tensor(x), convert_to_tensor(bins)
    return _places(bins, x, "right")


def _quantile(name, eager):
    def function(x, q, axis=None, method="linear", keepdims=False):
        x = convert_to_tensor(x)
        dtype = floating(dtype_of(x))
        if not isinstance(x, Symbolic) and not isinstance(q, Symbolic):
            found = eager(
                cast(x, dtype),
                np.asarray(q, dtype),
                axis=as_axis(axis),
                method=method,
                keepdims=keepdims,
            )
            return cast(np.asarray(found), dtype)
        return Symbolic(_quantile_of(node_of(x, dtype), node_of(q, dtype), axis, method, keepdims))

    return named(function, name)


def _quantile_of(n, q, axis, method, keepdims, without_nan=False):
    """Quantiles along axes by sorting: a NaN makes those of its row NaN, or is left out."""
    axes = range(n.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted(a % n.ndim for a in axes)
    rest = [a for a in range(n.ndim) if a not in axes]
    kept = [1 if a in axes else ops.size_of(n, a) for a in range(n.ndim)]
    rows = ops.reshape(ops.transpose(n, rest + axes), [*(ops.size_of(n, a) for a in rest), -1])
    ordered = ops.sort(rows)  # NaN at the end
    nan = ops.isnan(rows)
    if without_nan:
        count = ops.sum(ops.cast(ops.logical_not(nan), "int64"), -1, True)
    else:
        count = ops.broadcast_like(ops.size_of(rows, -1), ops.sum(nan, -1, True))
    last = ops.maximum(ops.sub(ops.cast(count, n.dtype), 1), 0)
    place = ops.mul(last, ops.flatten(q))
    low, high = ops.floor(place), ops.ceil(place)
    at = [ops.take_along_axis(ordered, ops.cast(p, "int64"), -1) for p in (low, high)]
    share = {
        "linear": ops.sub(place, low),
        "lower": ops.zeros_like(place),
        "higher": ops.ones_like(place),
        "midpoint": ops.full_like(place, 0.5),
        "nearest": ops.cast(ops.ne(ops.round(place), low), n.dtype),
    }[method]
    between = ops.add(at[0], ops.mul(ops.sub(at[1], at[0]), share))
    alike = ops.logical_and(ops.eq(*at), ops.isinf(at[0]))  # of which the difference is NaN
    found = ops.where(alike, at[0], between)
    if not without_nan:
        found = ops.where(ops.any(nan, -1, True), np.nan, found)
    found = ops.moveaxis(found, -1, 0)
    sizes = kept if keepdims else [ops.size_of(n, a) for a in rest]
    return ops.reshape(found, [*(ops.size_of(q, a) for a in range(q.ndim)), *sizes])


quantile = _quantile("quantile", np.quantile)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    x = convert_to_tensor(x)
    x = cast(x, floating(dtype_of(x)))
    if isinstance(x, Symbolic) or isinstance(q, Symbolic):
        q = node_of(q, dtype_of(x))
        return Symbolic(_quantile_of(node_of(x), q, axis, method, keepdims, without_nan=True))
    options = {"axis": as_axis(axis), "method": method, "keepdims": keepdims}
    return cast(np.nanquantile(x, np.asarray(q, "float64"), **options), x.dtype)


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return quantile(x, _hundredth(q), axis, method, keepdims)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return nanquantile(x, _hundredth(q), axis, method, keepdims)


def _hundredth(q):
    return q / 100 if isinstance(q, Symbolic) else np.asarray(q, "float64") / 100


def median(x, axis=None, keepdims=False):
    return _middle(np.median, quantile, x, axis, keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return _middle(np.nanmedian, nanquantile, x, axis, keepdims)


def _middle(eager, quantiles, x, axis, keepdims):
    """A median; NumPy's quantiles of infinite numbers are NaN, its medians are not."""
    x = convert_to_tensor(x)
    if isinstance(x, Symbolic):
        return quantiles(x, 0.5, axis, "linear", keepdims)
    dtype = floating(dtype_of(x))
    x = x if x.dtype.kind in "iu" else cast(x, dtype)  # of integers with one rounding, and sooner
    return cast(np.asarray(_quiet(eager, x, as_axis(axis), keepdims)), dtype)


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the ckernels backend")
    x = convert_to_tensor(x)
    dtype = "int32"
    if weights is not None:
        weights = convert_to_tensor(weights)
        dtype = result_type(x.dtype, weights.dtype)
    if isinstance(x, Symbolic) or isinstance(weights, Symbolic):
        return Symbolic(
            _counts(
                node_of(x), None if weights is None else node_of(weights, dtype), minlength, dtype
            )
        )
    rows = x.reshape(-1, x.shape[-1])
    each = [None] * len(rows) if weights is None else weights.reshape(rows.shape)
    rows = rows.astype("int64")
    length = builtins.max(int(rows.max(initial=-1)) + 1, minlength)
    found = [np.bincount(r, w, length) for r, w in zip(rows, each)]
    return np.reshape(found, (*x.shape[:-1], length)).astype(dtype)


def _counts(x, weights, minlength, dtype):
    """Counts of each integer below `minlength` along the last axis."""
    hot = ops.eq(ops.expand_dims(x, -1), ops.arange(minlength, dtype=x.dtype))
    hot = ops.cast(hot, dtype)
    if weights is not None:
        hot = ops.mul(hot, ops.expand_dims(weights, -1))
    return ops.cast(ops.sum(hot, -2), dtype)


def histogram(x, bins=10, range=None):
    x = convert_to_tensor(x)
    dtype = floating(dtype_of(x))
    if isinstance(x, Symbolic):
        counts, edges = _histogram(node_of(x, dtype), bins, range)
        return Symbolic(counts), Symbolic(edges)
    counts, edges = np.histogram(x, bins=bins, range=range)
    return counts.astype("int32"), edges.astype(dtype)


def _histogram(n, bins, limits):
    """Counts between even edges, the last one inside; of what lies in them."""
    n = ops.flatten(n)
    low, high = (
        (ops.min(n), ops.max(n)) if limits is None else (node_of(e, n.dtype) for e in limits)
    )
    same = ops.eq(low, high)  # as NumPy: half to each side
    low, high = ops.where(same, ops.sub(low, 0.5), low), ops.where(same, ops.add(high, 0.5), high)
    steps = node_of(np.arange(bins + 1) / bins, n.dtype)
    edges = ops.add(low, ops.mul(ops.sub(high, low), steps))
    place = ops.sub(ops.searchsorted(edges, n, "right"), 1)
    place = ops.where(ops.eq(n, high), bins - 1, place)
    return _counts(place, None, bins, "int32"), edges


def unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False,
           axis=None, size=None, fill_value=None):  # fmt: skip
    x = convert_to_tensor(x)
    refuse_traced("unique", x)
    asked = size is not None or return_index, return_inverse, size is not None or return_counts
    found = np.unique(x, *asked, axis=axis, equal_nan=False)
    found = iter(found if builtins.any(asked) else [found])
    values, first, inverse, counts = next(found), *(next(found) if a else None for a in asked)
    if size is not None:
        values, first, counts = _sized(size, fill_value, axis, values, first, counts)
    wanted = [(return_index, first), (return_inverse, inverse), (return_counts, counts)]
    results = [values, *(r.astype("int32") for asked, r in wanted if asked)]
    return tuple(results) if len(results) > 1 else values


def _sized(size, fill_value, axis, values, first, counts):
    """Results of unique cut, or filled up, to `size` values."""
    along = 0 if axis is None else axis
    kept = np.take(values, np.arange(builtins.min(size, values.shape[along])), along)
    more = size - kept.shape[along]
    if more > 0:
        widths = [(0, more if a == along % values.ndim else 0) for a in np.arange(values.ndim)]
        filler = 0 if fill_value is None else fill_value
        kept = np.pad(kept, widths, constant_values=filler)
    first = np.pad(first[:size], (0, builtins.max(more, 0)), constant_values=first[0])
    return kept, first, np.pad(counts[:size], (0, builtins.max(more, 0)))


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return all(isclose(x1, x2, rtol, atol, equal_nan))


def corrcoef(x):
    x = convert_to_tensor(x)
    dtype = config.floatx() if dtype_of(x) == "int64" else result_type(x.dtype, float)
    x = cast(x, dtype)

    def graph(n):
        c = ops.cov(n) if n.ndim > 1 else ops.reshape(ops.var(n), (1, 1))
        d = ops.sqrt(ops.diagonal(c))
        found = ops.true_div(c, ops.mul(ops.expand_dims(d, 1), ops.expand_dims(d, 0)))
        return found if n.ndim > 1 else ops.reshape(found, ())

    return cast(either(np.corrcoef, graph, x), dtype)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = convert_to_tensor(y)
    dtype = result_type(y.dtype, float)
    if x is not None:
        x = convert_to_tensor(x)
        dtype = result_type(dtype, x.dtype)
    y, axis = cast(y, dtype), axis % y.ndim

    def graph(n, steps):
        n = ops.moveaxis(n, axis, -1)
        pairs = ops.add(
            ops.getitem(n, (Ellipsis, slice(1, None))), ops.getitem(n, (Ellipsis, slice(None, -1)))
        )
        gap = (
            dx
            if steps is None
            else ops.diff(steps if steps.ndim == 1 else ops.moveaxis(steps, axis, -1))
        )
        return ops.sum(ops.mul(ops.mul(pairs, gap), 0.5), -1)

    return cast(
        either(
            lambda a, s: np.trapezoid(a, s, dx, axis),
            graph,
            y,
            None if x is None else cast(x, dtype),
        ),
        dtype,
    )
