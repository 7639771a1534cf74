"""Derivatives as the Theano manual prints them, and what happens where there are none."""

import inspect
import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.api.tensor import Tensor
from ckernels.base.errors import CKernelsError, DisconnectedError
from ckernels.compat import keras2
from tests.jit.test_slopes import POINTS, outside, smooth


def vector(name=None, dtype="float64"):
    return K.placeholder(ndim=1, dtype=dtype, name=name)


def test_manual_gradients():
    x = K.placeholder(ndim=0, dtype="float64")
    f = K.function([x], K.grad(x**2, x))
    np.testing.assert_allclose([f(4), f(94.2)], [8.0, 188.4])
    m = K.placeholder(ndim=2, dtype="float64")
    g = K.grad(K.sum(1 / (1 + K.exp(-m))), m)
    np.testing.assert_allclose(
        K.function([m], g)([[[0, 1], [-1, -2]]]),
        [[0.25, 0.19661193], [0.19661193, 0.10499359]],
        rtol=1e-7,
    )


def test_manual_jacobian_and_hessian():
    x = vector()
    np.testing.assert_allclose(K.function([x], K.jacobian(x**2, x))([[4, 4]]), np.diag([8.0, 8]))
    np.testing.assert_allclose(
        K.function([x], K.hessian(K.sum(x**2), x))([[4, 4]]), np.diag([2.0, 2])
    )


def test_jacobian_without_connection():
    x, y = vector(), vector()
    assert K.jacobian(x * 2, y, disconnected="none") is None
    with pytest.raises(DisconnectedError):
        K.jacobian(x * 2, y)
    both = K.jacobian(x * y, [x, y])
    f = K.function([x, y], both)
    for got, expected in zip(f([1, 2], [3, 4]), (np.diag([3, 4]), np.diag([1, 2]))):
        np.testing.assert_allclose(got, expected)


def test_manual_rop_and_lop():
    W, V = (K.placeholder(ndim=2, dtype="float64") for _ in "WV")
    x, v = vector(), vector()
    y = K.dot(x, W)
    f = K.function([W, V, x], K.Rop(y, W, V))
    np.testing.assert_allclose(f([[1, 1], [1, 1]], [[2, 2], [2, 2]], [0, 1]), [2, 2])
    g = K.function([v, x], K.Lop(y, W, v))
    np.testing.assert_allclose(g([2, 2], [0, 1]), [[0, 0], [2, 2]])


def test_manual_hessian_times_vector():
    x, v = vector(), vector()
    gy = K.grad(K.sum(x**2), x)
    for product in (K.grad(K.sum(gy * v), x), K.Rop(gy, x, v)):
        np.testing.assert_allclose(K.function([x, v], product)([4, 4], [2, 2]), [4, 4])


def test_gradients_follow_the_list():
    a, b = K.variable([1.0, 2.0]), K.variable([3.0, 4.0])
    got = K.gradients(K.sum(a * a * b), [a, b])
    assert isinstance(got, list) and all(isinstance(g, K.Tensor) for g in got)
    np.testing.assert_allclose(K.eval(got[0]), [6, 16])
    np.testing.assert_allclose(K.eval(got[1]), [1, 4])
    assert isinstance(K.grad(K.sum(a), a), K.Tensor)


def test_disconnected():
    a, lonely = K.variable([1.0]), K.variable([1.0, 2.0], name="lonely")
    cost = K.sum(a)
    with pytest.raises(DisconnectedError, match=r"(?s)lonely.*test_gradients\.py:\d+"):
        K.gradients(cost, [a, lonely])
    assert K.gradients(cost, [a, lonely], disconnected="none")[1] is None
    np.testing.assert_array_equal(
        K.eval(K.gradients(cost, [a, lonely], disconnected="zero")[1]), [0, 0]
    )
    with pytest.raises(ValueError, match="maybe"):
        K.grad(cost, lonely, disconnected="maybe")


def test_cost_must_be_a_scalar():
    a = K.variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"scalar.*\(2,\)"):
        K.gradients(a * 2, [a])


def test_stop_gradient():
    a = K.variable([3.0])
    np.testing.assert_allclose(K.eval(K.gradients(K.sum(a * K.stop_gradient(a)), [a])[0]), [3])
    both = K.stop_gradient([a, a * 2])
    assert isinstance(both, list) and len(both) == 2


def test_consider_constant_and_known_grads():
    a = K.variable([3.0])
    square = a * a
    got = K.grad(K.sum(square * a), a, consider_constant=[square])
    np.testing.assert_allclose(K.eval(got), [9])
    got = K.grad(None, a, known_grads={square: K.constant([10.0])})
    np.testing.assert_allclose(K.eval(got), [60])


@pytest.mark.parametrize(
    "part",
    [lambda p: p[2], lambda p: p[2:3], lambda p: p[-4], lambda p: K.gather(p, np.array([2]))],
)
def test_log_of_a_part_of_a_softmax_that_underflows(part):
    """The length is not known when the function is made: an index is a slice that must exist."""
    x = K.placeholder((None,))
    cost = K.sum(K.log(part(K.softmax(x))))
    f = K.function([x], [cost, *K.gradients(cost, [x])], mode="compiled")
    value, slope = f(np.array([0, 200, -300, 90, 1000, -2000]))
    assert value == -1300
    np.testing.assert_array_equal(slope, [0, 0, 1, 0, -1, 0])


def test_manual_logistic_regression_trains_without_nan():
    rng = np.random.RandomState(0)
    rows, feats = 400, 784
    data = rng.randn(rows, feats), rng.randint(0, 2, rows)
    x, y = K.placeholder(ndim=2, dtype="float64"), K.placeholder(ndim=1, dtype="int64")
    w, b = K.shared(rng.randn(feats), name="w"), K.shared(0.0, name="b")
    p_1 = 1 / (1 + K.exp(-K.dot(x, w) - b))
    xent = -y * K.log(p_1) - (1 - y) * K.log(1 - p_1)
    stable = K.binary_crossentropy(K.sigmoid(K.dot(x, w) + b), y)
    cost = K.mean(stable) + 0.01 * K.sum(w**2)
    gw, gb = K.grad(cost, [w, b])
    train = K.function(
        [x, y], [p_1, K.mean(stable)], updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb))
    )
    costs = [float(train(*data)[1]) for _ in range(30)]
    assert np.isfinite(costs).all() and costs[-1] < 0.75 * costs[0]
    assert xent.dtype == "float64" and np.isfinite(w.get_value()).all()


# ---- where formulas change ----------------------------------------------------------------------

NOT_SLOPES = {"zero_grad", "disconnected_grad", "stop_gradient", "consider_constant", "dropout"}


def of_elements(function, count, args):
    """(function of arrays, its slopes) of a K function that takes `count` vectors element by
    element, or None."""
    xs = [K.placeholder((None,), dtype="float64") for _ in range(count)]
    y = function(*xs)
    if not isinstance(y, Tensor) or y.ndim != 1 or K.dtype(y) != "float64":
        return None
    f = K.function(xs, y, on_unused_input="ignore")
    few, whole = f(*(a[2:7] for a in args)), f(*args)
    if whole.shape != args[0].shape or not np.array_equal(few, whole[2:7], equal_nan=True):
        return None
    slopes = K.gradients(K.sum(y), xs, disconnected="zero")
    return f, K.function(xs, slopes, on_unused_input="ignore")(*args)


@pytest.mark.parametrize("count", [1, 2])
def test_slopes_of_all_functions_where_formulas_change(count):
    """Of equal operands, at zeros, ones and borders, against differences to both sides."""
    args = [np.array(column) for column in zip(*itertools.product(POINTS, repeat=count))]
    compared = 0
    for name, function in inspect.getmembers(K, inspect.isfunction):
        with config.change(mode="reference"), np.errstate(all="ignore"):
            try:
                found = of_elements(function, count, args)
            except (CKernelsError, TypeError):
                continue
            if found is None or name in NOT_SLOPES:
                continue
            f, slopes = found
            for k, slope in enumerate(slopes):
                want, at = smooth(f, args, k)
                wrong = at & ~(np.abs(slope - want) < 2e-3 * (1 + np.abs(want)))
                assert not wrong.any(), (name, [a[wrong] for a in (*args, slope, want)])
                compared += int(np.sum(at))
    assert compared > 300


LIMITS = [(1.0, 1.0), (0.0, 0), (2, -1), (1, None), (None, 0.5), (-1, 0.5), (np.ones(9), 1.0)]
LIMITS += [(np.float64(0.5), np.float64(0.5)), (0.0, np.full(9, -0.0))]
OPTIONS = {f"clip {limits}": lambda x, limits=limits: K.clip(x, *limits) for limits in LIMITS}
for _alpha, _most in itertools.product([0, 0.0, 0.3, 1.0, -0.5], [None, 0, -1.0, 1, 0.5]):
    OPTIONS[f"relu {_alpha} {_most}"] = lambda x, a=_alpha, most=_most: K.relu(x, a, most)
    for _at in (0.0, 1.0, -0.5):
        OPTIONS[f"keras2 relu {_alpha} {_most} {_at}"] = lambda x, a=_alpha, most=_most, at=_at: (
            keras2.relu(x, a, most, at)
        )


@pytest.mark.parametrize("name", OPTIONS)
def test_slopes_at_corners_are_between_those_of_both_sides(name):
    x, points = vector(), np.array(POINTS)
    y = OPTIONS[name](x)
    with config.change(mode="reference"):
        f, g = K.function([x], y), K.function([x], K.grad(K.sum(y), x))
        wrong = outside(f, g(points), [points])
    assert not wrong.any(), (points[wrong], g(points)[wrong])
