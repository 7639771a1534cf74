"""Differences, counts, unique elements, grids and choices against NumPy."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.base.errors import ArgumentError, IndexOutOfBounds, ShapeError
from ckernels.ops.control import CheckError
from ckernels.ops.reference import evaluate

from .agree import agree

RNG = np.random.default_rng(4)


def loosely(build, expect, *arrays, rtol=0):
    """`agree` for results whose sizes only data tells."""
    agree(build, expect, *arrays, rtol=rtol, exact_shape=False)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "bool"])
def test_diff(dtype):
    x = RNG.integers(0, 2 if dtype == "bool" else 100, (3, 4)).astype(dtype)
    for n in (0, 1, 2, 5):
        for axis in (0, -1):
            if n <= x.shape[axis]:
                agree(lambda v, n=n, a=axis: ops.diff(v, n, a), np.diff(x, n, axis), x)
    with pytest.raises(ArgumentError, match="order of diff"):
        ops.diff(x, -1)


def test_bincount():
    for x in (np.array([1, 0, 3, 3]), np.zeros(0, "int64"), np.array([2, 2], "uint8")):
        loosely(lambda v: ops.bincount(v), np.bincount(x), x)
        loosely(lambda v: ops.bincount(v, minlength=6), np.bincount(x, minlength=6), x)
        w = RNG.normal(size=x.shape)
        loosely(ops.bincount, np.bincount(x, w).astype("float64"), x, w, rtol=1e-15)
    with pytest.raises(CheckError, match="negative"):
        K.bincount(K.constant([1, -1], dtype="int64")).eval()
    with pytest.raises(ShapeError, match="weight for each"):
        ops.bincount(np.array([1, 2]), np.ones(3))
    with pytest.raises(TypeError, match="integers"):
        ops.bincount(np.ones(3))


def test_searchsorted():
    x = np.array([1.0, 2.0, 2.0, 7.0, np.nan])
    for v in (np.array([0.0, 2.0, 9.0, np.nan]), np.array(2.0), np.zeros((0, 2)), np.ones((2, 2))):
        for side in ("left", "right"):
            agree(
                lambda a, b, s=side: ops.searchsorted(a, b, s),
                np.asarray(np.searchsorted(x, v, side)),
                x,
                v,
            )
    mixed, order = x[[3, 1, 0, 2]], np.array([2, 1, 3, 0])
    agree(
        lambda a, b: ops.searchsorted(a, b, sorter=order),
        np.searchsorted(mixed, np.array([2.0]), sorter=order),
        mixed,
        np.array([2.0]),
    )
    with pytest.raises(ArgumentError, match="side"):
        ops.searchsorted(x, v, "middle")
    with pytest.raises(ShapeError, match="vector to search"):
        ops.searchsorted(np.ones((2, 2)), 1.0)


@pytest.mark.parametrize(
    "x",
    [
        np.array([3, 1, 3, 2, 1]),
        np.array([[2.0, 1.0], [2.0, np.nan]]),
        np.array(4),
        np.zeros(0),
        np.array([np.nan, np.nan, -0.0, 0.0]),
        np.array([True, True]),
        np.zeros((2, 0), "int8"),
    ],
)
def test_unique(x):
    want = np.unique(x, True, True, True)
    want = (*want[:2], want[2].reshape(x.shape), want[3])  # NumPy 2.0 had another shape
    loosely(lambda v: ops.unique(v, True, True, True), list(want), x)
    loosely(ops.unique, want[0], x)


def test_unique_compiled_in_pieces():
    x = K.placeholder(ndim=1)
    values, counts = K.unique(x, return_counts=True)
    f = K.function([x], [values * 2, counts, K.grad(K.sum(values**2), x)])
    for a in (np.array([2, 1, 2], "float32"), np.array([5], "float32")):
        got = f([a])
        want = np.unique(a, return_counts=True)
        np.testing.assert_array_equal(got[0], want[0] * 2)
        np.testing.assert_array_equal(got[1], want[1])
        first = np.unique(a, return_index=True)[1]
        grad = np.zeros_like(a)
        grad[first] = 2 * a[first]
        np.testing.assert_array_equal(got[2], grad)


def test_positions_in_a_grid():
    dims = (3, 4, 2)
    index = tuple(RNG.integers(0, d, (2, 5)) for d in dims)
    for order in "CF":
        flat = np.ravel_multi_index(index, dims, order=order)
        agree(lambda *i, o=order: ops.ravel_multi_index(i, dims, order=o), flat, *index)
        agree(lambda v, o=order: ops.ravel_multi_index(v, dims, order=o), flat, np.stack(index))
        agree(lambda v, o=order: ops.unravel_index(v, dims, o), list(index), flat)
    wild = tuple(i * 3 - 2 for i in index)
    for mode in ("wrap", "clip"):
        agree(
            lambda *i, m=mode: ops.ravel_multi_index(i, dims, m),
            np.ravel_multi_index(wild, dims, mode),
            *wild,
        )
    with pytest.raises(
        ValueError, match=r"ravel_multi_index: \(.*\) is out of range of the sizes \(3, 4, 2\)"
    ):
        evaluate([ops.ravel_multi_index(wild, dims)], {})
    with pytest.raises(ValueError, match="24 is out of range"):
        evaluate(list(ops.unravel_index(np.array(24), dims)), {})
    with pytest.raises(ShapeError, match="2 indices for 3 axes"):
        ops.ravel_multi_index(index[:2], dims)
    with pytest.raises(ArgumentError, match="order"):
        ops.unravel_index(np.array(1), dims, "K")


def test_choose():
    a = np.array([[0, 2], [1, 0]])
    choices = [RNG.normal(size=(2, 2)), RNG.normal(size=(2, 1)), RNG.normal(size=())]
    agree(lambda i, *c: ops.choose_from(i, c), np.choose(a, choices), a, *choices)
    stacked = RNG.normal(size=(3, 2, 2))
    (got,) = evaluate([ops.choose_from(a, stacked)], {})
    np.testing.assert_array_equal(got, np.choose(a, stacked))
    for mode in ("wrap", "clip"):
        agree(
            lambda i, m=mode: ops.choose_from(i, list(stacked), m),
            np.choose(a * 4 - 3, stacked, mode=mode),
            a * 4 - 3,
        )
    for bad in (a - 1, a + 1):
        with pytest.raises(CheckError, match="3 choices"):
            K.choose(K.variable(bad, dtype="int64"), stacked).eval({})
            K.eval(K.choose(K.variable(bad, dtype="int64"), stacked))


def test_compress():
    x = RNG.normal(size=(3, 4))
    for condition, axis in (([0, 1, 1], 0), ([1, 0, 0, 1], 1), ([0, 1], 1), ([1] * 12, None)):
        c = np.array(condition)
        loosely(lambda a, b, k=axis: ops.compress(a, b, k), np.compress(c, x, axis), c, x)
    with pytest.raises(ShapeError, match="vector"):
        ops.compress(np.ones((2, 2)), x)
    with pytest.raises(IndexOutOfBounds):
        evaluate([ops.compress(np.ones(5), x, 1)], {})


def test_cov():
    x, y = RNG.normal(size=(3, 5)), RNG.normal(size=(2, 5))
    for kw in ({}, {"bias": True}, {"ddof": 2}, {"rowvar": False}):
        agree(lambda v, k=kw: ops.cov(v, **k), np.cov(x, **kw), x, rtol=1e-12)
    agree(ops.cov, np.cov(x, y), x, y, rtol=1e-12)
    agree(ops.cov, np.cov(x[0]), x[0], rtol=1e-12)
    agree(ops.cov, np.cov(x[0], y[0]), x[0], y[0], rtol=1e-12)
    with pytest.raises(ShapeError, match="cov"):
        ops.cov(np.ones((2, 2, 2)))


def test_bartlett():
    for n in (0, 1, 2, 5, 8):
        loosely(lambda v: ops.bartlett(v, "float64"), np.bartlett(n), np.array(n), rtol=1e-15)
        np.testing.assert_allclose(K.eval(K.bartlett(n, "float64")), np.bartlett(n), atol=1e-15)


def test_top_k():
    x = np.array([[3.0, 1.0, 3.0, 2.0], [np.nan, 0.0, -1.0, 5.0]])
    falling = np.argsort(-np.where(np.isnan(x), np.inf, x), 1, kind="stable")
    rising = np.argsort(x, 1, kind="stable")
    for k in (1, 3, -1, -4, 0):
        order = falling[:, :k] if k > 0 else rising[:, :-k]
        agree(lambda v, k=k: ops.top_k(v, k, 1), [np.take_along_axis(x, order, 1), order], x)
        n = K.placeholder((), dtype="int64")
        values, indices = K.top_k(x, n)
        got = K.function([n], [values, indices])([k])
        np.testing.assert_array_equal(got[1], order)
    with pytest.raises(ShapeError, match="5 elements"):
        ops.top_k(x, 5, 1)
    with pytest.raises(ShapeError, match="-5 elements"):
        ops.top_k(x, -5, 1)
