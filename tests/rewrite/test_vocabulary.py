"""Losses over many classes: logits by blocks give the same, and near misses keep their logits."""

import numpy as np
import pytest

import ckernels as K
from ckernels.config import config
from ckernels.rewrite import vocabulary
from ckernels.runtime import stored

N, D, C = 21, 6, 700


@pytest.fixture(autouse=True)
def few_logits_are_many(monkeypatch):
    monkeypatch.setattr(vocabulary, "LEAST", 0)
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))


def case(dtype="float64", bias=True, batch=(N,), seed=0):
    """Placeholders and arrays of h, w, b and t."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((*batch, D), (D, C), (C,))]
    arrays.append(rng.integers(0, C, batch).astype("int32"))
    arrays = arrays if bias else [arrays[0], arrays[1], arrays[3]]
    return [K.placeholder(shape=(None,) * a.ndim, dtype=str(a.dtype)) for a in arrays], arrays


def logits(h, w, *b):
    return K.dot(h, w) + b[0] if b else K.dot(h, w)


LOSSES = {
    "sparse": lambda x, t: K.mean(K.sparse_categorical_crossentropy(x, t, from_logits=True)),
    "softmax": lambda x, t: K.mean(K.sparse_categorical_crossentropy(K.softmax(x), t)),
    "taken": lambda x, t: (
        -K.sum(K.take_along_axis(K.log_softmax(x), K.expand_dims(K.cast(t, "int64"), -1), -1))
    ),
    "weighted": lambda x, t: K.sum(
        K.sparse_categorical_crossentropy(x, t, from_logits=True) * K.cast(t % 3, K.dtype(x))
    ),
}


def found(f):
    return [s.split(": ")[1] for s in f.steps() if "attention" in s]


def both_ways(build, xs, arrays, ulps=64):
    """With and without blocks: equal but for rounding, NaN in the same places."""
    f = K.function(xs, build(*xs))
    with config.change(optimizer_excluding="attention"):
        g = K.function(xs, build(*xs))
    for a, b in zip(f(arrays), g(arrays)):
        assert a.shape == b.shape and np.array_equal(np.isnan(a), np.isnan(b))
        limit = ulps * np.finfo(a.dtype).eps * np.nanmax(np.abs(b), initial=1)
        assert np.nanmax(np.abs(a - b), initial=0) <= limit
    assert not found(g)
    return f


@pytest.mark.sampled(1)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch", [(N,), (3, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_and_gradients(loss, bias, batch, dtype):
    xs, arrays = case(dtype, bias, batch)

    def build(*xs):
        cost = LOSSES[loss](logits(*xs[:-1]), xs[-1])
        return [cost, *K.gradients(cost, xs[:-1])]

    f = both_ways(build, xs, arrays)
    assert found(f) == ["attention", "attention_values_grad"]
    cost = K.function(xs, LOSSES[loss](logits(*xs[:-1]), xs[-1]))
    assert abs(cost(arrays) - f(arrays)[0]) < 1e-4 and found(cost) == ["attention"]


def test_against_numpy_and_differences():
    xs, arrays = case()
    cost = LOSSES["sparse"](logits(*xs[:-1]), xs[-1])
    f, g = K.function(xs, cost), K.function(xs, K.gradients(cost, xs[:-1]))
    h, w, b, t = arrays
    x = h @ w + b
    top = x.max(1)
    want = top + np.log(np.exp(x - top[:, None]).sum(1)) - x[np.arange(N), t]
    assert abs(f(arrays) - want.mean()) < 1e-13
    rng = np.random.default_rng(2)
    for which, slope in enumerate(g(arrays)):
        for k in range(8):
            at = tuple(rng.integers(0, arrays[which].shape))
            at = (*at[:-1], t[k]) if which else at  # columns that are somebody's class
            ends = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[which][at] += step
                ends.append(f(moved))
            assert abs((ends[0] - ends[1]) / 2e-5 - slope[at]) < 1e-8


def test_classes_out_of_range_and_repeated_ones():
    xs, arrays = case()
    arrays[-1][:] = arrays[-1] % 3
    arrays[-1][2], arrays[-1][5] = -1, C

    def build(h, w, b, t):
        loss = K.sparse_categorical_crossentropy(logits(h, w, b), t, from_logits=True)
        cost = K.sum(K.where(K.isnan(loss), K.zeros_like(loss), loss))
        return [loss, *K.gradients(cost, [h, w, b])]

    f = both_ways(build, xs, arrays)
    assert found(f) == ["attention", "attention_values_grad"]
    assert np.isnan(f(arrays)[0]).sum() == 2


def test_no_rows_and_one_class():
    xs, _ = case()
    cost = K.sum(K.sparse_categorical_crossentropy(logits(*xs[:-1]), xs[-1], from_logits=True))
    for n, classes in ((0, 4), (3, 1)):
        rng = np.random.default_rng(1)
        arrays = [rng.standard_normal(s) for s in ((n, D), (D, classes), (classes,))]
        arrays.append(np.zeros(n, "int32"))
        both_ways(lambda *xs: [cost, *K.gradients(cost, xs[:-1])], xs, arrays)


def test_bits_are_equal_for_any_number_of_threads():
    xs, arrays = case("float32")
    cost = LOSSES["sparse"](logits(*xs[:-1]), xs[-1])
    f, before, bits = (
        K.function(xs, [cost, *K.gradients(cost, xs[:-1])]),
        K.get_num_threads(),
        set(),
    )
    try:
        for threads in (1, 2, 4):
            K.set_num_threads(threads)
            bits.add(b"".join(np.asarray(a).tobytes() for a in f(arrays)))
    finally:
        K.set_num_threads(before)
    assert len(bits) == 1


NEAR = {
    "logits are read too": lambda x, t: LOSSES["sparse"](x, t) + K.sum(K.square(x)),
    "an accuracy": lambda x, t: LOSSES["sparse"](x, t) + K.cast(K.sum(K.argmax(x)), "float64"),
    "a function of logits": lambda x, t: LOSSES["sparse"](K.tanh(x), t),
    "a smoothed loss": lambda x, t: LOSSES["sparse"](x, t) - K.mean(K.log_softmax(x)),
    "a function of slopes": lambda x, t: (
        LOSSES["sparse"](x, t) + K.sum(K.tanh(K.gradients(LOSSES["sparse"](x, t), [x])[0]))
    ),
    "all classes": lambda x, t: K.sum(K.log_softmax(x)),
    "other classes": lambda x, t: K.sum(
        K.where(K.expand_dims(t, 1) < K.arange(K.shape(x)[1]), K.log_softmax(x), 0.0)
    ),
}


@pytest.mark.parametrize("name", NEAR)
def test_near_misses_keep_their_logits(name):
    xs, arrays = case()
    build = NEAR[name]
    f = both_ways(lambda *xs: [build(logits(*xs[:-1]), xs[-1])], xs, arrays)
    assert not found(f)
    assert "the scores of log_softmax" in f.explain()


def test_weights_that_are_a_result_keep_their_logits():
    """Also where nobody else reads them: what a gradient would make of them is not there."""
    xs, arrays = case()

    def build(*xs):
        x = logits(*xs[:-1])
        return [LOSSES["sparse"](x, xs[-1]), 2.0 * K.softmax(x)]

    assert not found(both_ways(build, xs, arrays))


def test_few_logits_are_stored(monkeypatch):
    monkeypatch.setattr(vocabulary, "LEAST", N * C + 1)
    xs, arrays = case()
    f = K.function(xs, LOSSES["sparse"](logits(*xs[:-1]), xs[-1]))
    f(arrays)
    assert not found(f) and "stored" not in f.explain()
