"""Gradients of eigh and svd where values are equal, nearly equal, or not: of costs that are
functions of the matrix, beside differences and known derivatives."""

import numpy as np
import pytest
from ops.agree import leaf

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.ops.reference import evaluate

rng = np.random.default_rng(5)


def orthogonal(n):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def symmetric(values):
    q = orthogonal(len(values))
    x = q * np.asarray(values, "float64") @ q.T
    return (x + x.T) / 2


VALUES = {
    "different": [0.5, 1.0, 2.0, 3.5],
    "two equal": [1.0, 1.0, 2.0, 3.0],
    "all equal": [2.0, 2.0, 2.0, 2.0],
    "two pairs": [1.0, 1.0, 3.0, 3.0],
    "nearly": [1.0, 1.0 + 1e-13, 1.0 + 3e-9, 3.0],
    "close": [1.0, 1.0 + 1e-6, 1.0 + 1e-4, 3.0],
    "a kernel": [0.0, 1e-17, 1e-16, 4.0],
    "one": [2.0],
}


def costs(n):
    """{name: (cost of nodes x, f(x) in NumPy)}: functions of x made from its eigenvalues and
    vectors, symmetric in no other way."""
    b = rng.normal(size=(n, n))
    b += b.T
    y = rng.normal(size=n)

    def function_of(f):
        def build(x):
            w, v = ops.eigh(x)
            return ops.matmul(ops.mul(v, ops.expand(f(w), (0,))), ops.swapaxes(v, -1, -2))

        return build

    inverse = function_of(lambda w: ops.true_div(1, ops.add(w, 0.1)))
    exponential = function_of(ops.exp)
    return {
        "quadratic form": lambda x: ops.matmul(ops.matmul(y, inverse(x)), y),
        "trace": lambda x: ops.sum(ops.mul(exponential(x), b)),
        "the matrix again": lambda x: ops.sum(ops.mul(function_of(lambda w: w)(x), b)),
        "square": lambda x: ops.sum(ops.square(ops.sub(exponential(x), b))),
        "with x beside": lambda x: ops.sum(ops.mul(ops.matmul(exponential(x), x), b)),
    }


def differences(cost, x, step=1e-4):
    """Of a symmetric matrix, of which the lower triangle is read; sixth order."""
    a = leaf(x.shape)
    node, found = cost(a), np.zeros_like(x)
    for i, j in zip(*np.tril_indices(len(x))):
        for k, c in ((1, 45), (2, -9), (3, 1)):
            for sign in (1, -1):
                moved = x.copy()
                moved[i, j] += sign * k * step
                moved[j, i] = moved[i, j]
                found[i, j] += sign * c * evaluate([node], {a: moved})[0] / (60 * step)
    return found


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("cost", costs(1))
def test_gradient_of_a_function_of_the_matrix(values, cost):
    x = symmetric(VALUES[values])
    build = costs(len(x))[cost]
    a = leaf(x.shape)
    (got,) = evaluate([reverse.grad(build(a), a)], {a: x})
    # "with x beside" reads the upper triangle of x by itself.
    want = differences(build, x)
    got = np.tril(got) + (np.triu(got, 1).T if cost == "with x beside" else 0)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7 * np.abs(want).max())


def test_compiled_float32_batches_and_sizes_of_a_call():
    x = K.placeholder((None, None, None))
    w, v = K.eigh(x)
    cost = K.sum(K.exp(w)[:, None, :] * v * v * K.arange(1, K.shape(x)[1] + 1)[None, :, None])
    f = K.function([x], K.grad(cost, x))
    equal = np.stack([np.eye(3), np.diag([1.0, 1.0, 2.0])])
    want = [np.diag([1, 2, 3]) * np.e, np.diag([np.e, 2 * np.e, 3 * np.e**2])]
    np.testing.assert_allclose(f(equal), want, rtol=1e-5, atol=1e-5)
    assert f(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert f(np.zeros((0, 2, 2))).shape == (0, 2, 2)
    # off the diagonal of equal values too: d exp(x)[1, 0] / d x[1, 0] is e
    y = K.placeholder((2, 2))
    w, v = K.eigh(y)
    full = K.dot(v * K.exp(w), K.transpose(v))
    g = K.function([y], K.grad(full[1, 0] + full[0, 1], y))(np.eye(2))
    np.testing.assert_allclose(g, [[0, 0], [2 * np.e, 0]], rtol=1e-5, atol=1e-6)


def kron(a, b):
    return np.kron(a, b)


def test_kronecker_covariances():
    """A Gaussian log density through eigenvalues of two covariances, as Gaussian processes on grids
    have it (Saatci 2011): the gradient by the length scale beside the dense one."""
    points = [np.linspace(0, 1, 7), np.linspace(0, 2, 5)]
    y = rng.normal(size=35)

    def covariances(scale):
        return [K.exp(-K.square((p[:, None] - p[None]) / scale) / 2) for p in points]

    scale = K.placeholder((), dtype="float64")
    (w1, v1), (w2, v2) = (K.eigh(c) for c in covariances(scale))
    w = K.reshape(w1[:, None] * w2[None], (35,)) + 1e-3
    q = K.reshape(K.dot(K.dot(K.transpose(v1), y.reshape(7, 5)), v2), (35,))
    cost = K.sum(K.square(q) / w) + K.sum(K.log(w))
    f = K.function([scale], [cost, K.grad(cost, scale)])

    def dense(s):
        c = kron(*(np.exp(-(((p[:, None] - p[None]) / s) ** 2) / 2) for p in points))
        c = c + 1e-3 * np.eye(35)
        return y @ np.linalg.solve(c, y) + np.linalg.slogdet(c)[1]

    for s in (0.3, 0.9, 2.0):
        value, slope = f(s)
        h = 1e-4 * s
        want = (dense(s - 2 * h) - 8 * dense(s - h) + 8 * dense(s + h) - dense(s + 2 * h)) / 12 / h
        np.testing.assert_allclose(value, dense(s), rtol=1e-9)
        np.testing.assert_allclose(slope, want, rtol=1e-5)


SHAPES = {
    "square": ((3, 3), [2.0, 2.0, 1.0]),
    "tall": ((4, 3), [2.0, 2.0, 1.0]),
    "wide": ((2, 4), [1.5, 1.5]),
    "different": ((3, 4), [3.0, 2.0, 1.0]),
    "nearly": ((4, 3), [2.0 + 1e-14, 2.0, 1.0]),
}


def has_slope(cost, x):
    """The gradient of `cost` at x beside differences of the sixth order."""
    a = leaf(x.shape)
    node, want, h = cost(a), np.zeros_like(x), 1e-4
    for i in np.ndindex(*x.shape):
        for j, weight in ((1, 45), (2, -9), (3, 1)):
            for sign in (1, -1):
                moved = x.copy()
                moved[i] += sign * j * h
                want[i] += sign * weight * evaluate([node], {a: moved})[0] / (60 * h)
    (got,) = evaluate([reverse.grad(node, a)], {a: x})
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_gradient_of_svd(name, full):
    """Of sum(b * U f(S) V), and with full factors of projections onto all their columns."""
    (m, n), s = SHAPES[name]
    k = len(s)
    x = orthogonal(m)[:, :k] * np.array(s) @ orthogonal(n)[:, :k].T
    b, c, d = rng.normal(size=(m, n)), rng.normal(size=(m, m)), rng.normal(size=(n, n))

    def cost(x):
        u, s, v = ops.svd(x, full)
        first, rest = ops.getitem(u, (..., slice(None, k))), ops.getitem(u, (..., slice(k, None)))
        top = ops.getitem(v, (slice(None, k),))
        scaled = ops.mul(first, ops.expand(ops.mul(s, ops.exp(s)), (0,)))
        total = ops.sum(ops.mul(ops.matmul(scaled, top), b))
        if full:
            below = ops.getitem(v, (slice(k, None),))
            total = ops.add(total, ops.sum(ops.mul(ops.matmul(rest, ops.swapaxes(rest, 0, 1)), c)))
            total = ops.add(
                total, ops.sum(ops.mul(ops.matmul(ops.swapaxes(below, 0, 1), below), d))
            )
        return total

    has_slope(cost, x)


def test_second_derivatives_at_equal_values_are_nan_and_not_wrong():
    x = K.placeholder((2, 2), dtype="float64")
    w, v = K.eigh(x)
    slope = K.grad(K.sum(K.dot(v * K.exp(w), K.transpose(v))), x)
    f = K.function([x], [slope, K.grad(K.sum(slope), x)])
    first, second = f(np.eye(2))
    np.testing.assert_allclose(first, [[np.e, 0], [2 * np.e, np.e]], rtol=1e-12)
    assert np.isnan(second).any()
    first, second = f(np.diag([1.0, 2.0]))
    assert np.isfinite(second).all()


@pytest.mark.parametrize("which", ["left", "right", "values"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_costs_of_one_factor_alone(shape, which):
    """Of sum_k k u_k u_k' (or of v, or of the values): what else svd gives has no cotangent."""
    k = min(shape)
    s, weights = np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])
    x = orthogonal(shape[0])[:, :k] * s @ orthogonal(shape[1])[:, :k].T
    side = shape[0] if which == "left" else shape[1]
    b = rng.normal(size=(side, side))

    def cost(x):
        u, values, vt = ops.svd(x, False)
        if which == "values":
            return ops.sum(ops.mul(ops.exp(values), weights))
        rows = ops.transpose(u) if which == "left" else vt
        scaled = ops.mul(rows, weights.reshape(-1, 1))
        return ops.sum(ops.mul(ops.matmul(ops.transpose(scaled), rows), b))

    has_slope(cost, x)
