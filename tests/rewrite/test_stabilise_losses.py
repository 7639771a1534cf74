"""Losses written naively, and their gradients, are finite and right where the logits are huge.

The truth comes from closed forms in mpmath (xent = log(1 + exp(+-z)), gradients p - y) or in
float64.
"""

from functools import cache

import mpmath
import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise
from ckernels.rewrite.stabilise import exponent

from .helpers import placeholder, ulps


def run(roots, env):
    with np.errstate(all="ignore"):
        return evaluate(optimise(roots), env)


LOGITS = {
    "float64": [0.0, 0.3, -2.5, 20.0, -37.0, 40.0, 709.5, -709.5, 745.5, 1000.0, -1000.0],
    "float32": [0.0, 0.3, -2.5, 17.0, -17.0, 88.7, -88.7, 104.0, 1e3, -1e3, 1e4, -1e4],
}  # fmt: skip


def sigmoid(z):
    return 1 / (1 + mpmath.exp(-z))


@cache
def binary_truth(z, y, dtype):
    """(loss, d loss / d logit), rounded from enough digits; nothing in the formulas cancels."""
    with mpmath.workdps(60):
        z, y = mpmath.mpf(float(z)), mpmath.mpf(float(y))
        loss = y * mpmath.log1p(mpmath.exp(-z)) + (1 - y) * mpmath.log1p(mpmath.exp(z))
        return float(loss), float((1 - y) * sigmoid(z) - y * sigmoid(-z))


def by_division(z):
    return 1 / (1 + ops.exp(-z))


def by_reciprocal(z):
    return ops.reciprocal(1 + ops.exp(-z))


def by_power(z):
    return (1 + ops.exp(-z)) ** -1


def by_quotient(z):
    return ops.exp(z) / (1 + ops.exp(z))


def entropy(p, y):
    return -y * ops.log(p) - (1 - y) * ops.log(1 - p)


def entropy_of_sum(p, y):
    return -(y * ops.log(p) + (1 - y) * ops.log(1 - p))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", [entropy, entropy_of_sum])
@pytest.mark.parametrize(
    "probability", [by_division, by_reciprocal, by_power, by_quotient, ops.sigmoid]
)
def test_binary_crossentropy(probability, loss, dtype):
    logits = np.repeat(LOGITS[dtype], 3).astype(dtype)
    targets = np.resize([0.0, 1.0, 0.25], logits.shape).astype(dtype)
    z, y = placeholder(dtype, logits.shape, "z"), placeholder(dtype, logits.shape, "y")
    xent = loss(probability(z), y)
    got, slope = run([xent, grad(ops.sum(xent), [z])[0]], {z: logits, y: targets})
    want, want_slope = np.array(
        [binary_truth(float(a), float(b), dtype) for a, b in zip(logits, targets)]
    ).T
    assert ulps(got, want, dtype).max() <= 8
    assert np.isfinite(slope).all()
    # p - y with 0 < y < 1 cancels near p = y; 0 and 1 must keep every digit
    scale = np.where(targets % 1 == 0, 0, 1.0)
    assert ulps(slope, want_slope, dtype, scale).max() <= 8


def manual_graph(n, features, dtype="float64"):
    """The logistic regression of the Theano manual."""
    x, y = placeholder(dtype, (n, features), "x"), placeholder(dtype, (n,), "y")
    w, b = placeholder(dtype, (features,), "w"), placeholder(dtype, (), "b")
    p = 1 / (1 + ops.exp(-ops.dot(x, w) - b))
    xent = -y * ops.log(p) - (1 - y) * ops.log(1 - p)
    cost = ops.mean(xent) + 0.01 * ops.sum(w**2)
    return (x, y, w, b), [xent, cost] + list(grad(cost, [w, b]))


def manual_numbers(n, features, seed=0):
    rng = np.random.RandomState(seed)
    x, y = rng.randn(n, features), rng.randint(size=n, low=0, high=2).astype("float64")
    return x, y, rng.randn(features), np.array(0.0)


def stable(x, y, w, b):
    z = x @ w + b
    p, q = np.exp(-np.logaddexp(0, -z)), np.exp(-np.logaddexp(0, z))
    xent = y * np.logaddexp(0, -z) + (1 - y) * np.logaddexp(0, z)
    slope = (-y * q + (1 - y) * p) / len(y)
    return xent, xent.mean() + 0.01 * (w**2).sum(), x.T @ slope + 0.02 * w, slope.sum()


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_logistic_regression_of_the_manual(scale):
    leaves, roots = manual_graph(400, 784)
    arrays = list(manual_numbers(400, 784))
    arrays[2] = arrays[2] * scale
    for got, want in zip(run(roots, dict(zip(leaves, arrays))), stable(*arrays)):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


def test_logistic_regression_has_no_divisions_left():
    leaves, roots = manual_graph(40, 7)
    from ckernels.graph.walk import toposort

    left = {n.op.name for n in toposort(optimise(roots)) if n.size > 1}
    assert "sigmoid" in left and not left & {"true_div", "exp", "log"}


# --- several classes ------------------------------------------------------------------------------

ROWS, CLASSES = 6, 5


def naive_softmax(x, axis=1):
    e = ops.exp(x)
    return e / ops.sum(e, axis, keepdims=True)


def shifted_softmax(x, axis=1):
    e = ops.exp(x - ops.max(x, axis, keepdims=True))
    return e / ops.sum(e, axis, keepdims=True)


def dimshuffled_softmax(x):
    e = ops.exp(x)
    return e / ops.reshape(ops.sum(e, 1), (ROWS, 1))


def renormalised(x):
    p = ops.softmax(x)
    return p / ops.sum(p, 1, keepdims=True)


def flat(t, p):
    size = ROWS * CLASSES
    return -ops.sum(ops.reshape(t, (size,)) * ops.log(ops.reshape(p, (size,))))


LOSSES = {
    "sum": lambda t, p: -ops.sum(t * ops.log(p)),
    "rows": lambda t, p: ops.sum(-ops.sum(t * ops.log(p), 1)),
    "mean": lambda t, p: ops.mean(-ops.sum(t * ops.log(p), 1)) * ROWS,
    "reshaped": flat,
    "turned": lambda t, p: -ops.sum(ops.transpose(ops.transpose(t) * ops.transpose(ops.log(p)))),
    "transposed": lambda t, p: -ops.sum(ops.transpose(t) * ops.log(ops.transpose(p))),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "softmax", [naive_softmax, shifted_softmax, dimshuffled_softmax, ops.softmax, renormalised]
)
def test_categorical_crossentropy(softmax, loss, dtype):
    logits, targets = class_numbers(dtype)
    x, t = placeholder(dtype, logits.shape, "x"), placeholder(dtype, logits.shape, "t")
    cost = LOSSES[loss](t, softmax(x))
    check_classes(cost, x, t, logits, targets, dtype)


def class_numbers(dtype):
    rng = np.random.default_rng(3)
    logits = (1e4 * rng.normal(size=(ROWS, CLASSES))).astype(dtype)
    logits[0], logits[1] = 0, np.arange(CLASSES)
    targets = rng.dirichlet(np.ones(CLASSES), ROWS).astype(dtype)
    targets[2] = np.eye(CLASSES)[1]
    return logits, targets


def check_classes(cost, x, t, logits, targets, dtype):
    got, slope = run([cost, grad(cost, [x])[0]], {x: logits, t: targets})
    wide, weights = logits.astype("float64"), targets.astype("float64")
    top = wide.max(1, keepdims=True)
    logp = wide - top - np.log(np.exp(wide - top).sum(1, keepdims=True))
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, -(weights * logp).sum(), rtol=8 * eps)
    want = np.exp(logp) * weights.sum(1, keepdims=True) - weights
    np.testing.assert_allclose(slope, want, rtol=16 * eps, atol=8 * eps)


def test_softmax_of_transposed_logits():
    logits, targets = class_numbers("float32")
    x, t = placeholder("float32", logits.shape, "x"), placeholder("float32", logits.shape, "t")
    p = naive_softmax(ops.transpose(x), 0)
    cost = -ops.sum(ops.transpose(t) * ops.log(p))
    check_classes(cost, x, t, logits, targets, "float32")


@pytest.mark.parametrize(
    "build",
    [
        lambda x, i, j: -ops.sum(ops.log(naive_softmax(x))[i, j]),
        lambda x, i, j: -ops.sum(ops.log(naive_softmax(x)[i, j])),
        lambda x, i, j: -ops.sum(ops.log(ops.softmax(x)[i, j])),
        lambda x, i, j: -ops.sum(ops.log(ops.take_along_axis(ops.softmax(x), j[:, None], 1))),
    ],
)
def test_crossentropy_of_class_numbers(build):
    logits, _ = class_numbers("float32")
    j = np.array([0, 4, 1, 1, 3, 2])
    targets = np.eye(CLASSES, dtype="float32")[j]
    x, t = placeholder("float32", logits.shape, "x"), placeholder("float32", logits.shape, "t")
    check_classes(build(x, np.arange(ROWS), j), x, t, logits, targets, "float32")


def test_log_of_sum_of_exponentials_and_its_gradient():
    x = placeholder("float32", (4,))
    cost = ops.log(ops.sum(ops.exp(x)))
    array = np.array([1e4, 1e4, -1e4, 0], "float32")
    got, slope = run([cost, grad(cost, [x])[0]], {x: array})
    np.testing.assert_allclose(got, 1e4 + np.log(2), rtol=1e-7)
    np.testing.assert_allclose(slope, [0.5, 0.5, 0, 0], rtol=1e-6)


def test_softplus_and_its_gradient():
    x = placeholder("float64", (5,))
    array = np.array([1000.0, -1000, 0, 40, -40])
    got, slope = run(
        [ops.log(1 + ops.exp(x)), grad(ops.sum(ops.log(1 + ops.exp(x))), [x])[0]], {x: array}
    )
    np.testing.assert_allclose(got, np.logaddexp(0, array), rtol=1e-15)
    np.testing.assert_allclose(slope, np.exp(-np.logaddexp(0, -array)), rtol=1e-14)


def test_two_way_logaddexp_and_its_gradient():
    a, b = placeholder("float64", (4,)), placeholder("float64", (4,))
    cost = ops.log(ops.exp(a) + ops.exp(b))
    u, v = np.array([1000.0, -1000, 3, 0]), np.array([1001.0, -1000, -800, 0])
    got, slope = run([cost, grad(ops.sum(cost), [a])[0]], {a: u, b: v})
    np.testing.assert_allclose(got, np.logaddexp(u, v), rtol=1e-15)
    np.testing.assert_allclose(slope, np.exp(u - np.logaddexp(u, v)), rtol=1e-13)


# --- logarithms of what underflows, by themselves -------------------------------------------------

TALL = {"float32": [0.0, 200.0, -300.0, 90.0, 1000.0, -2000.0],
        "float64": [0.0, 2e3, -3e3, 900.0, 1e4, -2e4]}  # fmt: skip


def exact_softmax(x):
    e = [mpmath.exp(v) for v in x]
    return [v / mpmath.fsum(e) for v in e]


def exact_sigmoid(x):
    return [1 / (1 + mpmath.exp(-v)) for v in x]


def slopes(total):
    """Rows of the Jacobian of log softmax, weighed by `total` and added up."""
    return lambda x: [total[i] - mpmath.fsum(total) * p for i, p in enumerate(exact_softmax(x))]


ONES = [1] * 6
UNWEIGHED = {
    "softmax": (lambda x: ops.sum(ops.log(ops.softmax(x))), slopes(ONES)),
    "minus": (lambda x: -ops.sum(ops.log(ops.softmax(x))), slopes([-1] * 6)),
    "twice": (lambda x: ops.sum(2 * ops.log(ops.softmax(x))), slopes([2] * 6)),
    "mean": (lambda x: 6 * ops.mean(ops.log(ops.softmax(x))), slopes(ONES)),
    "reshaped": (lambda x: ops.sum(ops.log(ops.reshape(ops.softmax(x), (2, 3)))), slopes(ONES)),
    "of a row": (lambda x: ops.sum(ops.log(ops.softmax(ops.expand(x, (0,))))), slopes(ONES)),
    "naive": (lambda x: ops.sum(ops.log(naive_softmax(x, 0))), slopes(ONES)),
    "shifted": (lambda x: ops.sum(ops.log(shifted_softmax(x, 0))), slopes(ONES)),
    "element": (lambda x: ops.log(ops.softmax(x)[2]), slopes([0, 0, 1, 0, 0, 0])),
    "slice": (lambda x: ops.sum(ops.log(ops.softmax(x)[1:])), slopes([0, 1, 1, 1, 1, 1])),
    "sum exp": (lambda x: ops.log(ops.sum(ops.exp(x))), exact_softmax),
    "mean exp": (lambda x: ops.log(ops.mean(ops.exp(x))), exact_softmax),
    "sigmoid": (lambda x: ops.sum(ops.log(ops.sigmoid(x))),
                lambda x: exact_sigmoid([-v for v in x])),
    "one minus": (lambda x: ops.sum(ops.log(1 - ops.sigmoid(x))),
                  lambda x: [-p for p in exact_sigmoid(x)]),
    "e / (1 + e)": (lambda x: ops.sum(ops.log(ops.exp(x) / (1 + ops.exp(x)))),
                    lambda x: exact_sigmoid([-v for v in x])),
    "1 / (1 + e)": (lambda x: ops.sum(ops.log(1 / (1 + ops.exp(x)))),
                    lambda x: [-p for p in exact_sigmoid(x)]),
    "log odds": (lambda x: ops.sum(ops.log(ops.sigmoid(x) / (1 - ops.sigmoid(x)))),
                 lambda x: [1] * 6),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNWEIGHED)
def test_gradients_without_weights(name, dtype):
    """1 / p * p is 1 where p underflows: nothing else says so where no weight is there."""
    cost, truth = UNWEIGHED[name]
    x, array = placeholder(dtype, (6,)), np.array(TALL[dtype], dtype)
    value, slope = run([cost(x), grad(cost(x), [x])[0]], {x: array})
    with mpmath.workdps(50):
        want = [float(v) for v in truth([mpmath.mpf(float(v)) for v in array])]
    assert np.isfinite(value)
    np.testing.assert_allclose(slope, want, rtol=16 * np.finfo(dtype).eps, atol=1e-30)


@pytest.mark.parametrize(
    "cost",
    [
        lambda x, y: ops.sum(ops.exp(x) * ops.exp(y)),
        lambda x, y: ops.sum(ops.exp(x) * (ops.exp(y) + x)),
        lambda x, y: ops.sum(ops.exp(x) / (x + ops.mean(ops.exp(x)))),
        lambda x, y: ops.sum(ops.exp(x) / ops.mean(ops.exp(y))),
        lambda x, y: ops.softmax(x, 1) / ops.sum(ops.softmax(x, 1), 0),
        lambda x, y: ops.softmax(x, 1) / ops.sum(ops.softmax(x, 1)),
        lambda x, y: ops.sum(ops.exp(x) / ops.mean(ops.exp(x), 0, keepdims=True)[::-1] * x),
        lambda x, y: ops.sum(
            ops.set_slice(ops.zeros_like(x), 1 / ops.softmax(x)[1:3], [(0, 2, 1)]) * ops.softmax(x)
        ),
    ],
)
def test_near_misses_of_what_cancels(cost):
    x, y = placeholder("float64", (4, 3)), placeholder("float64", (4, 3))
    rng = np.random.default_rng(0)
    env = {x: rng.normal(size=(4, 3)), y: rng.normal(size=(4, 3))}
    got, want = run([cost(x, y)], env)[0], evaluate([cost(x, y)], env)[0]
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan])
def test_powers_by_0_and_by_no_number_have_no_exponent(value):
    """log(x ** 0) is 0 where x is 0 or inf, of which 0 * log(x) is NaN."""
    assert exponent(ops.to_node(np.float64(value), "c")) is None
    assert exponent(ops.to_node(np.float64(-2.5), "c")) == -2.5
    assert exponent(ops.to_node(np.full(2, 3.0), "c")) is None
    x = placeholder("float64", (4,))
    values = np.array([0.0, np.inf, 2.0, -1.0])
    with np.errstate(all="ignore"):
        want = np.log(values ** np.float64(value))
    np.testing.assert_array_equal(
        run([ops.log(ops.pow(x, np.float64(value)))], {x: values})[0], want
    )
