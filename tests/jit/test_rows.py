"""Functions of NumPy in jitted programs of open sizes: extrema that run, stores at indices, pieces,
orders of equal elements, borders of images; near misses are the calls that NumPy serves."""

import warnings

import numpy as np
import pytest

import ckernels as ck

from .beside import check, flat

RNG = np.random.default_rng(2)
V = RNG.normal(size=15).round(1)
A, TIES = RNG.normal(size=(12, 10)), RNG.integers(0, 4, (15, 40)).astype("float64")
PLACES = RNG.integers(0, 12, 40)


def drawdown(x):
    top = np.maximum.accumulate(x, axis=1)
    return (top - x).max(), np.minimum.accumulate(x[::-1]), np.logical_or.accumulate(x > 1, axis=1)


def stores(x, i, v):
    low, high = np.full(x.shape, np.inf), np.full(len(x), -np.inf)
    np.minimum.at(low, (slice(None), i % x.shape[1]), v)
    np.maximum.at(high, i, v)
    np.subtract.at(high, i, 1.0)
    np.maximum.at(x, i[:3], 0.5)
    return low, high


def pieces(x, starts):
    return np.add.reduceat(x, starts), np.maximum.reduceat(x, [0, 3, 4], axis=1)


def orders(x):
    best = np.sort(np.take_along_axis(x, np.argpartition(-x, 5, axis=1)[:, :5], 1))
    return np.argsort(x), x.argsort(axis=0), best, np.partition(x, (3, -2), axis=0)


def around(x):
    return [np.pad(x, ((2, 1), (0, 3)), mode=m) for m in ("edge", "reflect", "symmetric", "wrap")]


def in_turn(x, mask, values):
    np.place(x, mask, values)
    y = x * 2
    np.putmask(y, mask, values)
    np.place(y, y > 1, [1.5, 2.5])
    np.putmask(y, y < 0, 3)
    return y


def joined(x):
    changes = np.r_[True, x[1:] != x[:-1], False]
    return changes, np.c_[x, x * 2, x], np.r_[x[0], 3.0], np.r_[0:3], np.c_[np.ones(2), np.ones(2)]


def lists(x):
    corner = np.diag([1.0, 1.0, x[0]])
    return corner, np.sum([x[0], x[1]]), np.max((x[0], 3, x[1])), np.sort([x[2], 0.0]), np.mean(x)


def parts_in_lists(x):
    turned = np.dot(x[0, :2], ((0, -1), (1, 0))), np.append(x[0], [x[1, 1], 3])
    return (np.concatenate(([x[0]], x, [x[1] + x[2], np.zeros(10)])), np.hstack([x[0, 0], x[0]]),
            np.concatenate(([x[0, 0]], [x[1, 1], 2])), np.vstack([[x[0, 0], x[1, 1]], x[:2, 3]]),
            np.stack([[x[0, 0], 1], [2, x[1, 1]]]), np.isin(x, [x[0, 0], x[2, 3]]), turned,
            np.average(x[:2, 0], weights=[x[2, 0] + 9, 1]), np.interp([0.1, x[0, 0]], x[0], x[1]),
            np.linspace(x[0], 2 * x[0], 5, axis=-1), np.linspace(0, x[0], 4, axis=1))  # fmt: skip


def columns_and_rows(x, n):
    return (np.c_[np.ones(len(x)), x], np.c_[x[:, 0], x, x[:, 1]], np.c_[2, 3.0, x[0, 0]],
            np.r_[0.5, x[0]], np.r_[0:n, n + 1 : len(x)], np.r_[0:1:5j, x[0]], np.r_[x, x],
            np.r_[np.float32(2), x[0]], np.r_[1:4, x[0], True], x[np.r_[0:n, n + 1 : len(x)]],
            x[range(3)], x[range(5, 0, -2), 1])  # fmt: skip


def extremes_of_nothing(x):
    none, row = np.zeros((0, 3)), np.zeros((3, 0))
    return (np.max(none, initial=2), np.min(none, axis=0, initial=1), none.max(initial=x[0, 0]),
            np.max(row, axis=1, initial=x[0, 0], keepdims=True))  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_lists_of_traced_parts_are_arrays(dtype):
    x = (10 * A).astype(dtype)
    check(parts_in_lists, x)
    check(columns_and_rows, x, 4)
    check(extremes_of_nothing, x)
    check(lambda x, y: np.r_[x[0], y], x, 2.5)


def numbered(a, b):
    product = np.einsum(a, [0, 1], b, [1, 2], [2, 0])
    return product, np.einsum(a, [0, 1], b, [1, 2]), np.einsum(a, [..., 3], [3, ...])


def capon(x):
    cov = x @ np.conj(x.T) + 0.1 * np.eye(len(x))
    return np.linalg.inv(cov), np.linalg.solve(cov, x[:, 0]), np.kron(x[:2], x[0].real)


def without_nan(x):
    x[2:5, 3] = np.nan
    x[:, 4] = np.nan
    shown = x > -1
    return (np.nanvar(x, axis=1, ddof=2), np.nanstd(x, 0, where=shown), np.nanvar(x, keepdims=True),
            np.nanvar(x[:, 4:], axis=0), np.nanstd(x[:2], axis=0, ddof=2, dtype="float32"),
            np.nanvar(x > 0, axis=1))  # fmt: skip


def convolved(x, v):
    modes = ("full", "same", "valid")
    return [np.convolve(x, v, m) for m in modes] + [np.correlate(x, v * 1j, m) for m in modes]


def transformed(x):
    """To sizes below and above those of the operand, which one trace does not know."""
    parts = [(np.fft.fft(x, n), np.fft.rfft(x, n, axis=0), np.fft.irfft(x, n)) for n in (4, 11, 20)]
    return parts, np.fft.fft2(x, (15, 3), norm="ortho"), np.fft.ifft(x, 1)


def binned(x):
    return np.histogram(x, 7, (-1, 1)), np.histogram(x, 4), np.histogram2d(x[0], x[1], 5)[0]


def orders_of_samples(x):
    cube = np.stack([x, 2 * x])
    several = np.median(cube, axis=(0, 2)), np.percentile(cube, [10, 60], axis=(0, 1))
    gaps = np.where(x > 1, np.nan, x)
    return *several, np.nanmedian(gaps, axis=0), np.nanquantile(gaps, 0.3), np.quantile(x, 0.2, 1)


@pytest.mark.parametrize("program, arguments", [
    (orders_of_samples, [A]),
    *[(convolved, [RNG.normal(size=40), RNG.normal(size=k)]) for k in (1, 2, 7, 8)],
    (convolved, [np.arange(40), np.arange(1, 6)]), (convolved, [V.astype("float32"), V[:3]]),
    (transformed, [A]), (transformed, [A.T]), (binned, [A]),
    (in_turn, [A, A > 0, np.arange(7.0)]), (in_turn, [A.T, A.T > 9, np.arange(3.0)]),
    (joined, [V]), (lists, [V]), (numbered, [A, A.T]), (capon, [A + 1j * A[::-1]]),
    (capon, [np.rint(A - 2j * A[:, ::-1]).astype("complex64")[:9]]), (without_nan, [A]),
    (drawdown, [A]), (stores, [A, PLACES, RNG.normal(size=40)]), (pieces, [A, np.array([1, 4, 9])]),
    (orders, [TIES]), (orders, [TIES.astype("int8")]), (around, [A]), (around, [A.T]),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_traced(program, arguments):
    check(program, *arguments)


def diagonals(a, value, wrap):
    b = a.copy()
    np.fill_diagonal(b, 0)
    np.fill_diagonal(a, value, wrap=wrap)
    return b, a * 2


def places(a):
    i, j = np.triu_indices(a.shape[0], 1)
    b, c = a.copy(), np.zeros_like(a)
    b[i, j] = 0
    c[np.tril_indices(len(a), -1)] = a[i, j]
    return b, b[j, i].sum(), c, a[np.diag_indices(4)], a[np.indices((2, 3))[0]] * np.tri(20)[3]


def grids(a):
    i, j = np.mgrid[0:9, 0:9]
    k, l = np.ogrid[:4, :5]
    i *= 2
    return a[i, j] * (i - j), a[k, l]


Q = RNG.random((20, 20))


@pytest.mark.parametrize("program, arguments", [
    *[(diagonals, [a, v, wrap]) for wrap in (False, True) for a, v in (
        (Q, 2.0), (Q[:5].T, 2), (Q[:5], Q[0, :3]), (Q[:9, ::-4], Q[0]), (Q[:0], 1.0),
        (Q[:, :0], 1.0), (Q[:1], 3), (Q[:, :1], 3), (np.zeros((4, 4, 4)), Q[0, :4]),
        (np.arange(12).reshape(3, 4), 2.7), (np.arange(12).reshape(6, 2), Q[0] * 9),
        (np.zeros((5, 2), "complex64"), 1j), (np.ones((7, 3), bool), 0), (Q[::2, ::2], [1, 2]))],
    (places, [Q]), (grids, [Q]),
])  # fmt: skip
def test_diagonals_and_places_of_known_numbers(program, arguments):
    check(program, *arguments)


def test_diagonals_that_are_refused():
    for a, value in ((Q[0], 1.0), (np.zeros((2, 3, 3)), 1.0)):
        with pytest.raises(ValueError, match="at least 2-d|equal length"):
            ck.jit(diagonals)(a.copy(), value, False)


def factors(x, i):
    y, n, b = x.copy(), (x * 3).astype("int64"), x > 0
    np.multiply.at(y, i, x[:5] + 2)
    np.divide.at(y, (i, 2), x[0, 0] - 3)
    np.multiply.at(n, (i, 1), [2, 3, -1, 2, 5])
    np.bitwise_or.at(n, i, n[:5])
    np.bitwise_and.at(n, (slice(None), [0, 0]), 14)
    np.bitwise_xor.at(b, i, True)
    np.multiply.at(b, i[:2], False)
    return y, n, b


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_factors_and_bits_at_places(dtype):
    check(factors, RNG.normal(size=(12, 4)).astype(dtype), np.array([3, 0, 3, -1, 7]))


@pytest.mark.filterwarnings("ignore::ckernels.errors.CKernelsWarning")
def test_quotients_of_integers_at_places_are_numpys():
    def halves(x, i):
        np.divide.at(x, i, 2)
        return x

    for x in (np.arange(4), np.arange(4) > 1):
        given = [(f, x.copy()) for f in (halves, ck.jit(halves))]
        found = []
        for f, y in given:
            try:
                found.append((f(y, np.array([1, 1])), y))
            except TypeError as problem:
                found.append((str(problem), y))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])


def extrema(x, i):
    y = x.copy()
    np.maximum.at(y, i, x[:5])
    np.minimum.at(y, (i, 2), x[0, 0])
    return np.maximum.accumulate(x), np.minimum.accumulate(x[:, ::-1], axis=1), y


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16",
                                   "float32", "float64"])  # fmt: skip
def test_extrema_at_the_limits_of_dtypes(dtype):
    bits = RNG.integers(0, 256, (12, 10, 8)).astype("uint8")
    x = bits[..., : np.dtype(dtype).itemsize].copy().view("uint8" if dtype == "bool" else dtype)
    x = np.nan_to_num(x[..., 0]) > 99 if dtype == "bool" else x[..., 0]
    check(extrema, x, np.array([3, 0, 3, -1, 7]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("starts", [[0], [3], [2, 5, 12], [1, 2, 3, 12]])
def test_pieces_from_any_place_on(dtype, starts):
    x = (RNG.normal(size=(13, 3)) * 9).astype(dtype)
    traced = None if dtype == "complex64" else True
    check(lambda x: (np.add.reduceat(x, starts), np.minimum.reduceat(x[:, 0], starts)), x,
          traced=traced)  # fmt: skip


def lasts(x):
    return np.subtract.reduce(x), np.subtract.reduce(x[:, 0]), np.divide.reduce(x, axis=-1)


def lasts_of_integers(x):
    return np.gcd.reduce(x), np.bitwise_xor.reduce(x, axis=1, keepdims=True), np.subtract.reduce(x)


@pytest.mark.parametrize("rows", [1, 2, 13, 40])
def test_reductions_step_by_step(rows):
    x = RNG.normal(size=(rows, 3)) * 9
    for dtype in ("float64", "float32", "complex128"):
        check(lasts, x.astype(dtype))
    for dtype in ("int32", "int64", "uint8"):
        check(lasts_of_integers, x.astype(dtype))
    slope = ck.jit.grad(lambda x: np.sum(np.divide.reduce(x) ** 2))(x)
    for i in np.ndindex(*x.shape):
        e = np.zeros(x.shape)
        e[i] = 1e-6 * abs(x[i])
        up, down = (np.sum(np.divide.reduce(x + d) ** 2) for d in (e, -e))
        np.testing.assert_allclose(slope[i] * e[i], (up - down) / 2, rtol=1e-5, atol=1e-12)


def test_reductions_of_nothing_are_numpys():
    f = ck.jit(lambda x: np.subtract.reduce(x[x > 0]))
    assert f(np.arange(12.0)) == np.subtract.reduce(np.arange(1.0, 12.0))
    for x in (np.zeros(12), np.zeros(0)):
        with pytest.raises(ValueError, match="zero-size"):
            f(x)


def test_what_a_call_decides_otherwise_is_numpys():
    f = check(pieces, A, np.array([4, 1, 9]), traced=False)  # a guard says so
    assert list(f.report()["numpy"].values()) == [3] and f.report()["traces"] == 1
    check(lambda x: np.pad(x[9:], 5, mode="reflect"), A, traced=False)


def test_a_trace_of_open_sizes_serves_others():
    for program, rest in (
        (convolved, [RNG.normal(size=4)]),
        (transformed, []),
        (binned, []),
        (orders_of_samples, []),
    ):
        jitted = ck.jit(program)
        for n in (9, 12, 31):
            x = RNG.normal(size=n) if rest else RNG.normal(size=(n, 10))
            np.testing.assert_equal(len(jitted(x, *rest)), len(program(x, *rest)))
            for got, want in zip(flat(jitted(x, *rest)), flat(program(x, *rest)), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
        told = jitted.report()
        assert (told["traces"], told["numpy"], told["sized"]) == (1, {}, []), program


def test_more_weights_than_elements_are_numpys():
    jitted = ck.jit(lambda x, v: np.convolve(x[::4], v))
    x, v = RNG.normal(size=12), np.arange(5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(jitted(x, v), np.convolve(x[::4], v))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16", "bool", "complex64"])
def test_convolved_vectors_of_open_sizes(dtype, mode):
    """Either may be the longer one: a call says which."""
    both = [ck.jit(lambda x, v, f=f: f(x, v, mode)) for f in (np.convolve, np.correlate)]
    for n in (9, 10, 70, 71, 300):
        for m in (9, 12, 71, 270):
            x, v = (RNG.integers(0, 9, k).astype(dtype) for k in (2 * n, m))
            x, v = (x[::-2], v) if dtype[0] != "c" else (x[::-2] * 1j + x[1::2], v - 2j * v[::-1])
            for jitted, f in zip(both, (np.convolve, np.correlate)):
                got, want = jitted(x, v), f(x, v, mode)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
    for jitted in both:
        told = jitted.report()
        assert (told["traces"], told["numpy"], told["sized"]) == (1, {}, [])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(12, 30), (30, 12), (11, 11)])
def test_slopes_of_convolved_vectors(sizes, mode):
    x, v = (RNG.normal(size=n) for n in sizes)

    def cost(x, v):
        return (np.convolve(x, v, mode) ** 2).sum() + np.correlate(x, v, mode)[0] ** 3

    slopes, bends = ck.jit.grad(cost, argnums=(0, 1)), ck.jit.hessian(cost)(x, v)
    for k, got in enumerate(slopes(x, v)):
        for i, e in enumerate(1e-6 * np.eye(sizes[k])):
            there, back = ([a + s * e if j == k else a for j, a in enumerate((x, v))]
                           for s in (1, -1))  # fmt: skip
            want = (cost(*there) - cost(*back)) / 2e-6
            np.testing.assert_allclose(got[i], want, rtol=1e-5, atol=1e-5)
            if not k:
                bend = (slopes(*there)[0] - slopes(*back)[0]) / 2e-6
                np.testing.assert_allclose(bends[i], bend, rtol=1e-5, atol=1e-5)
    rows = np.stack([x, 2 * x])
    got = ck.jit.vmap(lambda x, v: np.convolve(x, v, mode), in_axes=(0, None))(rows, v)
    np.testing.assert_allclose(got, [np.convolve(r, v, mode) for r in rows], atol=1e-12)


def test_nothing_convolved_is_numpys_error():
    jitted = ck.jit(lambda x, v: np.convolve(x[x > 0], v))
    x = np.arange(-3.0, 20)
    np.testing.assert_allclose(jitted(x, x), np.convolve(x[x > 0], x))
    for x in (-np.ones(30), np.ones(0)):
        with pytest.raises(ValueError, match="empty|nothing"):
            jitted(x, x)


def test_values_in_turn_that_do_not_fit_are_an_error():
    placed = ck.jit(lambda x, v: np.place(x, x == 0, v))
    with pytest.raises(TypeError, match="Cannot cast array data"):
        placed(np.zeros(20, "int32"), np.arange(2))
    x = np.zeros(20, "int32")
    ck.jit(lambda x: np.place(x, x == 0, [7, 8]))(x)
    assert x.tolist() == [7, 8] * 10


def test_stores_that_would_round_are_numpys():
    def larger(x, v):
        np.maximum.at(x, [0, 0], v)
        return x

    check(larger, np.zeros(9, "int8"), np.array([200, 3]), traced=False)
    with pytest.raises(TypeError, match="subtract"):
        ck.jit(lambda x: np.subtract.at(x, 0, True))(np.ones(9, bool))


FLOATS, WITH_GAPS = ("float16", "float32", "float64"), RNG.normal(size=(5, 7)) * 20
WITH_GAPS[1, :3], WITH_GAPS[4, 6] = np.nan, np.inf
QUANTILES = [
    0.3, 1, [0.25, 1.0], (0, 1), [], np.float32(0.7), np.float64(0.7), np.array([0.3, 0.9], "f4"),
    np.array(0.5), np.array([0, 1], "uint8"),
]  # fmt: skip
OLD_QUANTILES = np.lib.NumpyVersion(np.__version__) < "2.4.0"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint16", "int64"])
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_quantiles_of_every_dtype_by_every_form_are_numpys(name, dtype):
    function, x = getattr(np, name), np.nan_to_num(WITH_GAPS, posinf=9)
    x = (abs(x) if dtype == "uint16" else x).astype(dtype)
    # before 2.4 NumPy's are NaN between inf and a number, and quantiles that are NumPy's own floats
    # are of other dtypes
    arrays = [x, WITH_GAPS.astype(dtype)] if dtype in FLOATS and not OLD_QUANTILES else [x]
    wide = [x * np.int64(2**52) + 1] if dtype == "int64" else []
    for at, q in enumerate(QUANTILES):
        if OLD_QUANTILES and getattr(q, "dtype", None) in ("float32", "float64"):
            continue
        method = ("linear", "lower", "higher", "nearest", "midpoint")[at % 5]

        def by(x, q=q, method=method):
            return function(x, q, axis=0), function(x, q, axis=(0, 1), method=method, keepdims=True)

        check(lambda xs: [by(x) for x in xs], arrays, traced=None if dtype == "float16" else True)  # noqa: B023
        if method in ("lower", "higher", "nearest"):
            check(lambda xs: [function(x, q, method=method) for x in xs], wide)  # noqa: B023


HYNDMAN_FAN = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull",
               "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased")  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_quantiles_by_the_methods_of_hyndman_and_fan_are_numpys(dtype):
    """At quantiles that fall on elements as well, where a step is decided by one rounding."""
    several = np.array([*np.arange(0, 1.01, 0.05), 1 / 3, 0.125])
    # before 2.4 NumPy rounds a number to the dtype of x, and float32 0.3 is above 0.3
    percent = 30 if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else 25

    def by(x, q):
        return [(np.quantile(x, q, method=m), np.percentile(x, percent, axis=0, method=m),
                 np.nanquantile(x, 0.9, method=m)) for m in HYNDMAN_FAN]  # fmt: skip

    tables = [RNG.permutation(n).astype(dtype) for n in (1, 10, 11, 20, 50)]
    for x in tables + ([WITH_GAPS[1].astype(dtype)] if dtype[0] == "f" else []):
        check(by, x, several)


def test_quantiles_out_of_range_are_numpys_errors():
    for function, q in ((np.quantile, 1.5), (np.percentile, [50.0, -1.0]), (np.quantile, np.nan)):
        jitted = ck.jit(lambda x, q: function(x, q))  # noqa: B023
        for given in (q, np.array(q)):
            with pytest.raises(ValueError, match="must be in the range"):
                jitted(V, given)


@pytest.mark.parametrize(
    "a, w", [(V[:0], V[:0]), (V, 0 * V), (A, A * 0), (A, np.r_[1, -1, [0] * 8])]
)
def test_an_average_by_weights_that_sum_to_zero_is_no_number(a, w):
    jitted = ck.jit(lambda a, w: np.average(a, -1, w))
    for function in (jitted, lambda a, w: np.average(a, -1, w)):
        with pytest.raises(ZeroDivisionError, match="sum to zero"):
            function(a, w)
    check(lambda a, w: np.average(a, -1, w), A, A + 9)


@pytest.mark.parametrize("dtype", ["int32", "bool", "uint8", *FLOATS[1:]])
def test_a_pseudo_inverse_of_nothing_keeps_its_dtype(dtype):
    check(np.linalg.pinv, np.zeros((0, 3), dtype), traced=True)


GAPS = np.array([0.1, 0.5, 0.2, 1.0, 0.3])


def over_places(f, x, y):
    return (np.gradient(f, x, y), np.gradient(f, x, axis=0, edge_order=2), np.gradient(f[0], y),
            np.gradient(f, y, axis=-1), np.gradient(f, x, y[::-1], edge_order=2))  # fmt: skip


@pytest.mark.sampled(0)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_slopes_over_coordinates(dtype):
    for n, k in ((3, 4), (8, 12), (12, 40)):
        f = (10 * RNG.normal(size=(n, k))).astype(dtype)
        x, y = np.cumsum(np.resize(GAPS, n)), np.arange(k) ** 2
        check(over_places, f, x, y)
        check(over_places, f.T.copy().T, x[::-1], y.astype("float32"))
        check(over_places, f, 2 * np.arange(n), y)


def test_slopes_over_coordinates_that_are_even_leave_out_the_middle():
    f = np.where(np.arange(20) == 7, np.inf, 1.0)
    check(np.gradient, f, 0.5 * np.arange(20))
    check(np.gradient, f, np.cumsum(np.resize(GAPS, 20)))


def test_coordinates_that_do_not_fit_are_numpys_error():
    jitted = ck.jit(np.gradient)
    for f, x in ((np.ones(20), np.ones(19)), (np.ones(4), np.ones(3))):
        with pytest.raises(ValueError, match="distances must match"):
            jitted(f, x)


def test_the_slope_of_slopes_over_coordinates():
    def cost(f, x):
        return (np.gradient(f, x) ** 2 * np.arange(12)).sum() + np.gradient(f, x, edge_order=2)[-1]

    f, x = RNG.normal(size=12), np.cumsum(np.resize(GAPS, 12))
    for k, got in enumerate(ck.jit.grad(cost, argnums=(0, 1))(f, x)):
        for i, e in enumerate(1e-6 * np.eye(12)):
            up, down = (cost(*[a + s * e if j == k else a for j, a in enumerate((f, x))])
                        for s in (1, -1))  # fmt: skip
            np.testing.assert_allclose(got[i], (up - down) / 2e-6, rtol=1e-5, atol=1e-4)


def written_diagonals(a):
    d = np.einsum("ii->i", a)
    before = d * 1
    d[1:3] -= 2
    a[0, 0] = 7
    d[...] = d[::-1]
    return d, before, a * 2, np.einsum(a, [1, 1], [1])


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", "bool"])
def test_the_diagonal_of_a_product_is_a_view(dtype):
    for n in (3, 12):
        a = (10 * RNG.normal(size=(n, n))).astype(dtype)
        program = written_diagonals if dtype != "bool" else lambda a: np.einsum("ii->i", a)
        check(program, a)
        check(program, a.T)
    with pytest.raises(ValueError, match="don't match"):
        ck.jit(lambda a: np.einsum("ii->i", a))(np.ones((9, 12)))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("sizes", [(2, 3), (9, 3), (3, 9)])
def test_convolved_weights_that_are_not_finite_meet_no_padding(sizes, bad):
    x, v = (RNG.normal(size=n) for n in sizes)
    fixed = np.append(bad, RNG.normal(size=2))
    for x[0], v[0] in ((bad, 1), (1, bad), (1, 1)):
        check(lambda x, v: np.convolve(x, v), x, v, traced=None)
        check(lambda x: np.convolve(x, fixed, "same"), x, traced=None)


FIRST = [
    lambda x: np.argsort(x, axis=1)[:, :5], lambda x: np.argsort(x, axis=1)[:, -5:],
    lambda x: np.argsort(x, axis=1)[:, ::-1][:, :5],
    lambda x: np.argsort(x, axis=1)[:, :5][:, ::-1],
    lambda x: np.argsort(x, axis=0)[:2, 1:], lambda x: np.argsort(x, axis=1)[::2, 0],
    lambda x: np.argsort(x, axis=1, kind="stable")[:, :5],
    lambda x: np.argsort(x, axis=1, kind="stable")[:, -5:], lambda x: np.argsort(x[0])[:9],
    lambda x: np.take_along_axis(x, np.argsort(x, axis=1)[:, -3:], 1),
    lambda x: np.sort(x, axis=1)[:, -5:], lambda x: np.sort(x, 1)[:, ::-1][:, :5],
    lambda x: np.sort(x, axis=0)[:2, 1:], lambda x: np.sort(x)[::2, 0],
]  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("first", FIRST)
def test_first_places_of_an_order(first):
    """As NumPy has them: of different numbers, of equal ones, of NaN, of rows that are short."""
    rng, f = np.random.default_rng(6), ck.jit(first)
    for shape in ((40, 200), (1, 161), (33, 20), (3, 600)):
        x = rng.standard_normal(shape)
        holes = np.where(rng.random(shape) < 0.02, np.nan, x)
        for y in (x, np.round(x), holes, np.full(shape, np.nan), x.astype("float32"), x * 0 - 0.0,
                  rng.integers(0, 10**6, shape), rng.integers(0, 9, shape), x > 0):  # fmt: skip
            found, wanted = f(y), first(y)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    assert f.report()["numpy"] == {}


@pytest.mark.parametrize("order", [np.argsort, np.sort])
def test_first_places_share_memory_with_what_else_is_returned(order):
    @ck.jit
    def parts(x):
        found = order(x)
        return found, found[:4]

    found, some = parts(np.arange(999.0))
    some[0] = 7
    assert found[0] == 7


def running(x):
    return np.subtract.accumulate(x, axis=1), np.hypot.accumulate(x), np.divide.accumulate(x[0])


def test_running_results_step_by_step():
    x = np.random.default_rng(4).normal(size=(9, 12))
    for part in (x, x.T, x[::2, :5], x[:, :0], x.astype("f4")):
        check(running, part)
    slope = ck.jit.grad(lambda x: np.sum(np.divide.accumulate(x) * np.arange(12.0)))(x[0])
    for i in range(12):
        e = np.zeros(12)
        e[i] = 1e-6
        up, down = (np.sum(np.divide.accumulate(x[0] + d) * np.arange(12.0)) for d in (e, -e))
        np.testing.assert_allclose(slope[i], (up - down) / 2e-6, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edges", [[1.0], [1.0, 1.0], [0.0, 1.0, 2.0], np.array([0.5])], ids=str)
def test_histograms_of_few_edges(edges):
    x = np.array([0.0, 1.0, 2.0])
    for f in (np.histogram, np.histogram_bin_edges):
        check(lambda x, f=f: f(x, edges), x, traced=None)
        check(lambda x, e, f=f: f(x, e), x, np.asarray(edges), traced=None)


def bins_of_numbers(x, low, high):
    whole = (x * 9).astype(int)
    return (
        np.histogram(x, 5, (low, high)), np.histogram(x, 4, range=[0, high]),
        np.histogram(x, bins=3, range=(low * 2, 1), density=True),
        np.histogram(x, [low, 0.5, high]),
        np.histogram_bin_edges(whole, 4, (0, high)), np.histogram(whole, 3, (low, 9)),
        np.histogram(x, 4, (x.min(), x.max())),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_histograms_between_numbers_that_are_arguments(dtype):
    x = np.random.default_rng(4).random(40).astype(dtype)
    check(bins_of_numbers, x, 0.1, 0.75)
    for low, high in ((0.75, 0.1), (0.3, float("nan"))):
        with pytest.raises(ValueError):
            bins_of_numbers(x, low, high)
        with pytest.raises(ValueError):
            ck.jit(bins_of_numbers)(x, low, high)
    check(lambda x, b: np.histogram(x, 5, (b, b)), x, 0.25)


def sums_of_products(x, y):
    """Which of NumPy's are arrays of no dimensions, and which are scalars."""
    several = [np.einsum(s, *a, optimize=o) for o in (True, False) for s, a in
               (("ij,ij->", (x, y)), ("ij->", (x,)), ("ij,ij,ij", (x, y, x)), ("ij,kl->", (x, y)),
                ("i,i", (x[0], y[0])))]  # fmt: skip
    return *several, np.tensordot(x, y, 2), np.linalg.tensordot(x, y, axes=2), np.vdot(x, y)


def test_sums_of_products_are_arrays_where_numpys_are():
    check(sums_of_products, A, A + 1)
    check(sums_of_products, A + 1j, A)


def test_averages_of_no_rows_are_numpys_errors():
    for function in (lambda x: np.average(x, axis=1), lambda x: np.average(x[:, :0], axis=0)):
        with pytest.raises(ZeroDivisionError), np.errstate(all="ignore"):
            ck.jit(lambda x: function(x))(np.zeros((0, 3)))  # noqa: B023


def scalar_types(x, n):
    h = np.uint32(2166136261)
    for b in x.astype(np.uint8):
        h = (h ^ b) * np.uint32(16777619)
    return (h, x.astype("f4") * np.float32(n), np.uint8(n) + np.uint8(1), np.int64(n) // 2,
            np.complex64(n) * x, np.bool_(n), np.float64(n) / 3, np.intp(len(x)))  # fmt: skip


def test_python_numbers_as_scalars_of_numpys():
    for n in (7, 3.75, 0, 254.0, 2.0):
        check(scalar_types, V * 9, n)
    with pytest.raises(OverflowError), np.errstate(all="ignore"):
        ck.jit(scalar_types)(V, 256)


def windows(x, n):
    return [w(n) * x[:n] for w in (np.hanning, np.hamming, np.bartlett, np.blackman)], np.kaiser(
        n, 5.0
    )


def test_windows_of_a_number_of_points():
    for n in (12, 3):
        check(windows, V, n)
