"""Composite ops: oracle and lowered form against NumPy, gradients against differences."""

import mpmath
import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.node import make
from ckernels.graph.walk import toposort

from .helpers import check_gradient, evaluate, gradient, leaf, lowered, run, run_lowered

X = np.array([[[0.3, -1.2, 2.5], [0.9, 1.1, -0.4]], [[1.7, 0.2, -2.2], [-0.6, 3.1, 0.8]]])
AXES = [None, 0, 1, -1, (0, 2), (0, 1, 2)]
INF, NAN = np.inf, np.nan


def both(build, *arrays):
    """Oracle and lowered results, which must agree; the lowered one is returned."""
    one, two = run(build, *arrays), run_lowered(build, *arrays)
    assert one.dtype == two.dtype and one.shape == two.shape
    np.testing.assert_allclose(one, two, rtol=100 * np.finfo(one.dtype).eps, atol=1e-7)
    return two


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_moments(axis, keepdims):
    for name in ("mean", "var", "std"):
        expected = getattr(np, name)(X, axis, keepdims=keepdims)
        got = both(lambda v, name=name: getattr(ops, name)(v, axis, keepdims), X)
        np.testing.assert_allclose(got, expected, rtol=1e-14)
        assert got.shape == expected.shape
    np.testing.assert_allclose(both(lambda v: ops.var(v, axis, ddof=1), X), np.var(X, axis, ddof=1))


def test_moments_of_other_dtypes():
    i = np.array([[1, 2], [3, 5]])
    assert both(ops.mean, i) == 2.75 and both(ops.mean, i).dtype == "float64"
    assert both(ops.mean, i > 2) == 0.5
    half = np.full(10000, 30, "float16")  # its sum is beyond float16
    assert both(ops.mean, half) == 30
    assert both(ops.var, half) == 0
    assert np.isnan(both(ops.mean, np.zeros(0)))
    large = 1e4 + np.arange(4, dtype="float32")  # no cancellation
    np.testing.assert_allclose(both(ops.var, large), 1.25)
    with pytest.raises(DTypeError):
        ops.var(leaf((2,), "complex64"))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["mean", "var", "std", "logsumexp"])
def test_reducing_gradients(name, axis):
    check_gradient(lambda v: getattr(ops, name)(v, axis), X)
    check_gradient(lambda v: getattr(ops, name)(v, axis, keepdims=True), X, static=True)


@pytest.mark.parametrize("name", ["mean", "var", "logsumexp", "softmax", "log_softmax"])
def test_second_gradients(name):
    def first(v):
        y = getattr(ops, name)(v, -1)
        return gradient(y, [v], ops.mul(y, 1.5))[0]

    check_gradient(first, X, rtol=1e-5)


def softmax_exactly(row):
    e = [mpmath.exp(float(v)) for v in row]
    return [float(v / sum(e)) for v in e]


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-15), ("float32", 1e-6), ("float16", 2e-3)])
def test_softmax_family_against_mpmath(dtype, rtol):
    x = np.array([[1000.0, 1000, 990], [-3, 0.5, 2], [-1000, -1001, -1000]]).astype(dtype)
    p = np.array([softmax_exactly(r) for r in x])
    np.testing.assert_allclose(both(ops.softmax, x), p, rtol=rtol)
    np.testing.assert_allclose(both(ops.log_softmax, x), np.log(p), rtol=rtol, atol=rtol)
    exact = [float(mpmath.log(sum(mpmath.exp(float(v)) for v in r))) for r in x]
    np.testing.assert_allclose(both(lambda v: ops.logsumexp(v, 1), x), exact, rtol=rtol)
    assert ops.softmax(leaf((2,), dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_sums_of_exponentials_are_right_to_epsilons(dtype):
    """The bound the documents give, where one class has nearly all and where many share it."""
    eps, rng = float(np.finfo(dtype).eps), np.random.default_rng(0)
    gaps = [0, 1e-4, 0.5, 3, 8, 16, 20, 30, 80]
    x = np.stack([-gap - rng.exponential(0.3 + gap / 8, 37) for gap in gaps]).astype(dtype)
    x[:, 5] = 0
    with mpmath.workdps(50):
        sums = [mpmath.fsum(mpmath.exp(mpmath.mpf(float(i))) for i in row) for row in x]
        exact = np.array([float(mpmath.log(s)) for s in sums])
    wide = x.astype("float64") - exact[:, None]
    for got, right in (
        (both(ops.log_softmax, x), wide),
        (both(lambda v: ops.logsumexp(v, 1), x), exact),
        (both(lambda v: ops.logsumexp(v, 0), x.T.copy()), exact),
    ):
        assert np.all(np.abs(got - right) <= 4 * eps * np.maximum(1, np.abs(right)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_gradients_along_any_axis(name, axis):
    check_gradient(lambda v: getattr(ops, name)(v, axis), X)
    p = both(lambda v: ops.softmax(v, axis), X)
    np.testing.assert_allclose(p, np.exp(X) / np.exp(X).sum(axis, keepdims=True), rtol=1e-14)


def test_infinities_in_the_softmax_family():
    x = np.array([[-INF, -INF], [-INF, 0], [INF, 0], [1, NAN]])
    np.testing.assert_array_equal(both(lambda v: ops.logsumexp(v, 1), x), [-INF, 0, INF, NAN])
    np.testing.assert_array_equal(both(ops.softmax, x)[1], [0, 1])
    np.testing.assert_array_equal(both(ops.log_softmax, x)[1], [-INF, 0])
    assert run(lambda v: ops.logsumexp(v, 0), np.zeros((0, 2))).tolist() == [-INF, -INF]
    assert run_lowered(lambda v: ops.logsumexp(v, 0), np.zeros((0, 2))).tolist() == [-INF, -INF]
    assert both(ops.softmax, np.zeros((2, 0))).shape == (2, 0)
    a = leaf((2,))
    y = ops.logsumexp(a)
    (g,) = gradient(y, [a], ops.ones_like(y))
    np.testing.assert_array_equal(evaluate([g], {a: np.array([-INF, -INF])})[0], [0, 0])
    np.testing.assert_array_equal(evaluate([g], {a: np.array([INF, 1])})[0], [NAN, 0])


def test_logaddexp_and_logdiffexp():
    a = np.array([0.0, 1000, -INF, INF, -INF, 3])
    b = np.array([0.0, 999, -INF, INF, 2, -INF])
    np.testing.assert_allclose(run(ops.logaddexp, a, b), np.logaddexp(a, b), rtol=1e-15)
    d = run(ops.logdiffexp, np.array([1.0, 5, 2]), np.array([0.5, 5, -INF]))
    np.testing.assert_allclose(d, [np.log(np.e - np.exp(0.5)), -INF, 2], rtol=1e-14)
    check_gradient(ops.logaddexp, X[0], X[1])
    check_gradient(ops.logdiffexp, X[0] + 9, X[1])
    check_gradient(ops.logaddexp, X[0], X[0])  # smooth where both are equal
    u, v = leaf((5,)), leaf((5,))
    y = ops.logaddexp(u, v)
    slopes = evaluate(
        gradient(y, [u, v], ops.ones_like(y)),
        {u: np.array([1, -INF, INF, -INF, 2]), v: np.array([1, -INF, INF, 3, -INF])},
    )
    np.testing.assert_array_equal(slopes, [[0.5, 0.5, 0.5, 0, 1], [0.5, 0.5, 0.5, 1, 0]])


TARGET = np.array([[[0.2, 0.5, 0.3], [0, 0, 1]], [[1, 0, 0], [0.1, 0.1, 0.9]]])


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_softmax_crossentropy(axis):
    got = both(lambda x, t: ops.softmax_crossentropy(x, t, axis), X, TARGET)
    logp = X - np.log(np.exp(X).sum(axis, keepdims=True))
    np.testing.assert_allclose(got, -(TARGET * logp).sum(axis), rtol=1e-13)
    check_gradient(lambda x, t: ops.softmax_crossentropy(x, t, axis), X, TARGET, rtol=1e-5)


def test_softmax_crossentropy_with_masked_logits_and_broadcast_targets():
    x, t = np.array([[0.0, 0, -INF]]), np.array([[0.5, 0.5, 0]])
    np.testing.assert_allclose(both(ops.softmax_crossentropy, x, t), [np.log(2)])
    check_gradient(ops.softmax_crossentropy, X[0], TARGET[:1, 0])
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(2,\)"):
        ops.softmax_crossentropy(leaf((2, 3)), leaf((2,)))


def test_sigmoid_crossentropy():
    x = np.array([-1000.0, 1000, 0, 2, -3])
    t = np.array([0.0, 1, 0.5, 0.3, 1])
    got = both(ops.sigmoid_crossentropy, x, t)
    p = 1 / (1 + np.exp(-x[2:]))
    naive = -(t[2:] * np.log(p) + (1 - t[2:]) * np.log(1 - p))
    np.testing.assert_allclose(got[2:], naive, rtol=1e-14)
    np.testing.assert_array_equal(got[:2], [0, 0])
    assert both(ops.sigmoid_crossentropy, np.array([1000.0]), np.array([0.0]))[0] == 1000
    check_gradient(ops.sigmoid_crossentropy, X, TARGET[0])


def test_broadcast_by_example():
    g, like = np.arange(24.0).reshape(2, 3, 4), np.zeros((3, 1))
    summed = both(lambda a, b: make("unbroadcast", (a, b)), g, like)
    np.testing.assert_array_equal(summed, g.sum(axis=(0, 2)).reshape(3, 1))
    np.testing.assert_array_equal(
        both(ops.broadcast_like, like[:, 0], np.zeros((2, 3))), np.zeros((2, 3))
    )
    check_gradient(lambda a, b: make("unbroadcast", (a, b)), g, like, wrt=(0,))
    check_gradient(lambda a, b: ops.broadcast_like(a, b), like, g, wrt=(0,))
    with pytest.raises(ShapeError, match=r"\(3,\) to \(1,\)"):
        ops.broadcast_like(leaf((3,)), leaf((1,)))
    x = leaf((2, 3))
    assert ops.unbroadcast(x, x) is x and ops.broadcast_like(x, x) is x


def test_count():
    assert ops.count(leaf((2, 3))).value == 6
    unknown = ops.count(leaf((None, 3)), 0, "float32")
    assert unknown.op.name == "count" and unknown.shape == ()
    assert both(lambda v: make("count", (v,), {"axes": (0, 1), "dtype": "float32"}), X) == 4


def test_lowered_forms_fuse():
    """Nothing but elementwise, reduce, expand and constants: what a row program is made of."""
    x, t = leaf((4, 5)), leaf((4, 5))
    for y in (
        ops.softmax(x),
        ops.log_softmax(x),
        ops.logsumexp(x, 1),
        ops.mean(x, 1),
        ops.var(x, 1),
        ops.softmax_crossentropy(x, t),
        ops.sigmoid_crossentropy(x, t),
    ):
        for node in toposort(lowered([y])):
            assert node.op.kind in ("elementwise", "reduce", "leaf") or node.op.name == "expand"


@pytest.mark.parametrize("dtype", [*filter(dtypes.available, dtypes.FLOATS)])
def test_gradients_keep_the_dtype(dtype):
    x = leaf((2, 3), dtype)
    for y in (
        ops.softmax(x),
        ops.log_softmax(x),
        ops.logsumexp(x, 1),
        ops.mean(x, 1),
        ops.var(x, 1),
        ops.std(x, 1),
        ops.softmax_crossentropy(x, x),
        ops.sigmoid_crossentropy(x, x),
    ):
        assert gradient(y, [x], ops.ones_like(y))[0].dtype == dtype
