"""Partitions, medians and quantiles against NumPy: methods, axes, NaN, infinities, sizes that only
a call knows; their gradients. The kernel of searchsorted, which shares the order of elements."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.errors import ArgumentError, DTypeError, IndexOutOfBounds
from ckernels.ops import reference
from ckernels.plan.instructions import PYCALL

from .agree import agree, check_gradient

RNG = np.random.default_rng(17)
METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_medians(axis, n):
    x = RNG.normal(size=(3, n))
    for keepdims in (False, True):
        agree(
            lambda x, keepdims=keepdims: ops.median(x, axis, keepdims),
            lambda x, keepdims=keepdims: np.median(x, axis, keepdims=keepdims),
            x,
            rtol=1e-15,
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q", [0.0, 1.0, 0.37, [0.0, 0.25, 0.5, 0.61, 1.0], []])
def test_quantiles(method, q):
    x = RNG.normal(size=(4, 6, 3))
    for axis in (0, 1, 2, None):
        for keepdims in (False, True):
            agree(
                lambda x, a=axis, k=keepdims: ops.quantile(x, q, a, method, k),
                lambda x, a=axis, k=keepdims: np.quantile(x, q, a, method=method, keepdims=k),
                x,
                rtol=1e-13,
            )


@pytest.mark.parametrize("method", METHODS)
def test_nan_and_infinities(method):
    rows = np.array([[1.0, np.nan, 2], [np.inf, np.inf, 0], [-np.inf, 0, np.inf], [3, 3, 3]])
    got = K.eval(K.quantile(rows, [0.25, 0.5, 1.0], 1, method))
    assert np.isnan(got[:, 0]).all()
    assert got[1].tolist() == [np.nan, np.inf, 0.0, 3.0][1:] if got[1, 0] == 0 else True
    assert got[2, 1:].tolist() == [np.inf, np.inf, 3.0] and got[1, 1:].tolist() == [np.inf, 0, 3]
    assert np.isnan(K.eval(K.median(rows))) and K.eval(K.median(rows, 1))[1] == np.inf


def test_integers_and_halves():
    for dtype in ("int8", "uint8", "int64", "bool", "float16", "float32"):
        x = (RNG.normal(size=(3, 6)) * 3).astype(dtype)
        got = K.eval(K.median(x, 1))
        np.testing.assert_allclose(got, np.median(x.astype("float64"), 1), rtol=1e-3)
        np.testing.assert_array_equal(K.eval(K.quantile(x, 0.0, 1)), x.min(1))


def test_sizes_of_a_call_and_quantiles_of_a_call():
    x, q = K.placeholder((None, None), dtype="float64"), K.placeholder((None,), dtype="float64")
    f = K.function([x, q], [K.median(x, 0), K.quantile(x, q, 1), K.percentile(x, q * 100, 1)])
    for n in (1, 4, 700, 3):
        values, at = RNG.normal(size=(n, n + 1)), np.linspace(0, 1, n)
        for got, want in zip(f([values, at]), (np.median(values, 0), np.quantile(values, at, 1))):
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)
    with pytest.raises(Exception, match="from 0 to 1"):
        f([np.ones((2, 2)), np.array([1.5])])


def test_gradients():
    x = RNG.normal(size=(4, 5))
    check_gradient(lambda x: ops.median(x, 1), x)
    check_gradient(lambda x: ops.median(x, 0), x)
    check_gradient(lambda x: ops.quantile(x, [0.1, 0.63], 1), x)
    check_gradient(lambda x: ops.partition(x, 2), x)


def test_partition():
    x = RNG.integers(0, 9, (5, 40))
    for kth in (0, 7, -1, [3, 20]):
        got = K.eval(K.partition(x, kth, 1))
        for k in np.atleast_1d(kth) % 40:
            np.testing.assert_array_equal(got[:, k], np.partition(x, k, 1)[:, k])
            assert (got[:, :k] <= got[:, k : k + 1]).all()
            assert (got[:, k:] >= got[:, k : k + 1]).all()


def test_refused():
    x = np.ones((2, 3))
    with pytest.raises(ArgumentError, match="method"):
        ops.quantile(x, 0.5, 0, "hazen")
    with pytest.raises(ArgumentError, match="from 0 to 1"):
        ops.quantile(x, [0.5, 1.1])
    with pytest.raises(ArgumentError, match="vector"):
        ops.quantile(x, [[0.5]])
    with pytest.raises(IndexOutOfBounds, match="element 3"):
        ops.partition(x, 3)
    with pytest.raises(DTypeError, match="no order"):
        ops.median(x.astype("complex64"))
    with pytest.raises(IndexOutOfBounds):
        K.eval(K.median(np.ones((2, 0)), 1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool", "int64"])
def test_searchsorted_in_c(side, dtype):
    x = K.placeholder((None,), dtype=dtype)
    v = K.placeholder((None, None), dtype=dtype)
    f = K.function([x, v], K.searchsorted(x, v, side))
    for n in (0, 1, 2, 17, 1000):
        table = np.sort((RNG.normal(size=n) * 9).astype(dtype))
        found = (RNG.normal(size=(7, 40)) * 9).astype(dtype)
        if dtype.startswith("float"):
            table = np.sort(np.where(RNG.random(n) < 0.1, np.nan, table)).astype(dtype)
            found[0, :5] = np.nan, -0.0, 0.0, np.inf, -np.inf
        doubled = np.repeat(table, 2)
        for t in (table, doubled[::2], np.ascontiguousarray(table[::-1])[::-1]):
            for many in (found, found.T, found[::-2, ::3], found[:0], found[:1, :1]):
                np.testing.assert_array_equal(f([t, many]), np.searchsorted(t, many, side))
    assert PYCALL not in {instruction.kind for instruction in f.info.program.instructions}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int16",
                                   "int64", "uint8", "uint32", "uint64", "bool"])  # fmt: skip
def test_what_stands_at_places_of_rows_in_order(dtype):
    """Of rows below and above the length from which they are not sorted whole."""
    held = "float32" if dtype == "bfloat16" else dtype
    x = K.placeholder((None, None), dtype=held)
    p = K.placeholder((3,), dtype="int64")
    found = ops.cast(ops.selected(ops.cast(x.node, dtype), p.node), held)
    f = K.function([x, p], Tensor(found))
    for n in (1, 3, 513, 2100, 9000):
        many = np.round(RNG.normal(size=(3, n)) * 40)  # which bfloat16 holds
        if "float" in dtype:
            many = np.where(RNG.random(n) < 0.1, np.nan, many)
            many[0, : n // 2] = np.resize([-0.0, 0.0, np.inf, -np.inf], n // 2)
        many[1, n // 3 :] = many[1, 0]  # nearly all are equal
        many = many.astype(held)
        for rows in (many, many[::-1, ::-1], np.asfortranarray(many), many[:0]):
            for places in ((0, n // 2, n - 1), (-1, n // 3, n // 3), (n // 2, -n, 2 * n // 3)):
                expected = np.take(reference.evaluate([ops.sort(rows.copy())], {})[0], places, -1)
                found = f([rows, places])
                assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes() or (
                    np.isnan(found.astype("f8")).any()), (n, places)  # fmt: skip
                np.testing.assert_array_equal(found, expected)
    assert PYCALL not in {instruction.kind for instruction in f.info.program.instructions}
    with pytest.raises(IndexOutOfBounds):
        f([many, (0, 0, n)])


def test_medians_are_those_of_numpy():
    f = K.function([v := K.placeholder((None, None), dtype="float64")], K.median(v, 0))
    for n in (1, 2, 1500, 1501):
        x = RNG.normal(size=(n, 4))
        x[n // 2, 3] = np.nan
        np.testing.assert_array_equal(f([x]), np.median(x, 0))
    jitted = K.jit(lambda x, q: (np.quantile(x, q, axis=1), np.percentile(x, 90), np.median(x)))
    for dtype in ("float32", "float64", "int16"):
        for n in (7, 1700):
            x = (RNG.normal(size=(4, n)) * 9).astype(dtype)
            q = np.array([0.1, 0.5, 0.9])
            for a, b in zip(jitted(x, q), (
                np.quantile(x, q, axis=1), np.percentile(x, 90), np.median(x))):  # fmt: skip
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
