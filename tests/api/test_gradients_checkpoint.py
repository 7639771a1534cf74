"""K.checkpoint: the same derivatives to any order, in every mode, from less memory."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import DTypeError, UsageError

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4)).astype("float64")


def block(t, w):
    return K.tanh(K.dot(K.sin(t), w)) + t * 0.5


def both(build, mode="reference"):
    """Outputs of build(wrap) with checkpoints and without."""
    outs = []
    for wrap in (K.checkpoint, lambda f: f):
        x = K.placeholder((None, 4), dtype="float64", name="x")
        w = K.variable(np.linspace(-1, 1, 16).reshape(4, 4), dtype="float64")
        f = K.function([x], build(x, w, wrap), mode=mode, on_unused_input="ignore")
        outs.append(f(X))
    return outs


def same(build, mode, rtol=1e-13):
    for a, b in zip(*both(build, mode)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


MODES = ["reference", "compiled", "fast_compile"]


def chain(x, w, wrap, depth=4):
    h = x
    for _ in range(depth):
        h = wrap(lambda t: block(block(t, w), w))(h) * 0.5
    return h


@pytest.mark.sampled(1, mode=MODES[:2])
@pytest.mark.parametrize("mode", MODES)
def test_first_gradients_are_the_same(mode):
    def build(x, w, wrap):
        h = chain(x, w, wrap)
        return [h, *K.gradients(K.mean(K.square(h)), [x, w])]

    same(build, mode)


@pytest.mark.sampled(1, mode=MODES[:2])
@pytest.mark.parametrize("mode", MODES)
def test_second_order(mode):
    def build(x, w, wrap):
        h = chain(x, w, wrap, 2)
        cost = K.sum(K.square(h))
        gx, gw = K.gradients(cost, [x, w])
        return [
            *K.gradients(K.sum(gx * K.sin(x)) + K.sum(gw * gw), [x, w]),
            K.Rop(h, x, K.cos(x)),
            K.Rop(gx, x, K.cos(x)),
            K.Lop(h, w, K.cos(x)),
        ]

    same(build, mode, 1e-11)


@pytest.mark.sampled(1, mode=MODES[:2])
@pytest.mark.parametrize("mode", MODES)
def test_jacobians_and_nested_checkpoints(mode):
    def build(x, w, wrap):
        inner = wrap(lambda t: K.exp(K.sin(t)))
        outer = wrap(lambda t: inner(inner(t)) * K.sum(t, axis=1, keepdims=True))
        y = K.sum(outer(x), axis=1)
        return [K.jacobian(y, x), K.gradients(K.sum(y), [x])[0], K.hessian(K.sum(y), x)]

    same(build, mode, 1e-12)


@pytest.mark.sampled(1, mode=MODES[:2])
@pytest.mark.parametrize("mode", MODES)
def test_several_arguments_and_results_and_captured_tensors(mode):
    def build(x, w, wrap):
        captured = K.square(w)

        def pair(a, b, factor=1.0):
            return [K.tanh(K.dot(a, captured) + K.dot(b, w)) * b * factor, K.sum(a) * b]

        one, two = wrap(pair)(x, K.cos(x), factor=2.0)
        cost = K.sum(one * one) + K.sum(K.sin(two))
        return [one, two, *K.gradients(cost, [x, w])]

    same(build, mode, 1e-12)


@pytest.mark.parametrize("mode", MODES[:2])
def test_random_draws_are_the_same_both_times(mode):
    def build(x, w, wrap):
        h = wrap(lambda t: K.dropout(K.tanh(t), 0.5, seed=3) * K.sin(t))(x)
        return [h, K.gradients(K.sum(K.square(h)), [x])[0]]

    same(build, mode)


def test_stable_forms_reach_inside():
    """log(softmax) is rewritten in the middle of a checkpoint too, forwards and backwards."""
    x, t = K.placeholder((1, 3)), K.placeholder((1, 3))
    y = K.checkpoint(lambda x: K.log(K.softmax(x)))(x)
    f = K.function([x, t], [y, K.gradients(K.sum(y * t), [x])[0]], mode="compiled")
    got, slope = f(np.array([[0.0, 300, 0]]), np.array([[1.0, 0, 0]]))
    np.testing.assert_allclose(got, [[-300, 0, -300]], rtol=1e-6)
    np.testing.assert_allclose(slope, [[1, -1, 0]], rtol=1e-6)


def peak(depth, segment):
    x = h = K.placeholder((None, 16))
    weights = [K.variable(np.eye(16) / 2) for _ in range(depth)]

    def run(t, part):
        for w in part:
            t = t + K.tanh(K.dot(t, w))
        return t

    for k in range(0, depth, segment):
        part = weights[k : k + segment]
        h = K.checkpoint(lambda t, part=part: run(t, part))(h) if segment < depth else run(h, part)
    cost = K.mean(K.square(h))
    updates = [(w, w - 0.1 * g) for w, g in zip(weights, K.gradients(cost, weights))]
    f = K.function([x], cost, updates=updates, mode="compiled")
    losses = [float(f(np.full((256, 16), 0.01))) for _ in range(2)]
    return f.stats()["peak_bytes"] / (256 * 16 * 4), losses


def test_memory_falls_to_the_square_root_of_the_depth():
    pytest.importorskip("ckernels._runtime")
    whole, losses = peak(64, 64)
    segments, again = peak(64, 8)
    np.testing.assert_allclose(losses, again, rtol=1e-5)
    assert whole > 120 and segments < 30, (whole, segments)
    assert peak(16, 4)[0] < segments < 2.4 * peak(16, 4)[0]


def test_what_a_checkpoint_takes():
    x = K.placeholder((2,))
    with pytest.raises(UsageError, match="takes a function"):
        K.checkpoint(x)
    with pytest.raises(DTypeError, match="what a checkpoint's function gives"):
        K.checkpoint(lambda t: 3.0)(x)
    constant = K.constant([1.0, 2.0])
    assert K.checkpoint(lambda t: constant)(x) is constant  # does not depend on x
    assert K.checkpoint(lambda t: t)(x) is x
    y = K.checkpoint(lambda t: (t * 2.0, t + 1.0))(x)
    assert isinstance(y, tuple) and K.checkpoint(block).__name__ == "block"
    i = K.placeholder((2,), dtype="int32")
    assert K.dtype(K.checkpoint(lambda t, k: t[k])(x, i)) == "float32"
    g = K.gradients(K.sum(K.checkpoint(lambda t, k: K.square(t[k]))(x, i)), [x])[0]
    np.testing.assert_array_equal(K.function([x, i], g)([3.0, 4.0], [1, 1]), [0, 16])
