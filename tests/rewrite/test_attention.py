"""Attention is found as users write it, and left alone where it almost is: near misses by name."""

import sys
from collections import Counter

import numpy as np
import pytest

import ckernels as K
from ckernels.config import config
from ckernels.graph.walk import toposort
from ckernels.rewrite import attention, optimise
from ckernels.runtime import stored

B, H, N, M, D = 2, 3, 40, 56, 8


@pytest.fixture(autouse=True)
def few_scores_are_many(monkeypatch):
    monkeypatch.setattr(attention, "LEAST", 0)
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))


def inputs(shapes=((B, H, N, D), (B, H, M, D), (B, H, M, D)), seed=0):
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(s).astype("float32") for s in shapes]
    return [K.placeholder(shape=(None,) * (a.ndim - 1) + a.shape[-1:]) for a in arrays], arrays


def transposed(x):
    return K.permute_dimensions(x, (*range(K.ndim(x) - 2), K.ndim(x) - 1, K.ndim(x) - 2))


def found(f):
    return [s.split(": ")[1] for s in f.steps() if "attention" in s]


def with_gradients(build, xs, wrt=3):
    out = build(*xs)
    return [out, *K.gradients(K.sum(K.square(out) * 0.5), xs[:wrt])]


def same(build, xs, arrays, wrt=3, ulps=128):
    """By blocks and not: the results, in ulps of their largest element."""
    K.set_random_seed(5)
    f = K.function(xs, with_gradients(build, xs, wrt))
    K.set_random_seed(5)
    with config.change(optimizer_excluding="attention"):
        g = K.function(xs, with_gradients(build, xs, wrt))
    for a, b in zip(f(arrays), g(arrays)):
        assert a.shape == b.shape and np.array_equal(np.isnan(a), np.isnan(b))
        limit = ulps * np.finfo(a.dtype).eps * np.nanmax(np.abs(b), initial=1)
        assert np.nanmax(np.abs(a - b), initial=0) <= limit
    assert found(f) == ["attention", "attention_grad"] and not found(g), f.explain()
    return f


def causal(scores, k=0):
    rows, columns = K.shape(scores)[K.ndim(scores) - 2], K.shape(scores)[K.ndim(scores) - 1]
    return K.expand_dims(K.arange(rows), 1) + k >= K.expand_dims(K.arange(columns), 0)


def distances(scores):
    rows, columns = (K.shape(scores)[K.ndim(scores) - k] for k in (2, 1))
    between = K.expand_dims(K.arange(rows), 1) - K.expand_dims(K.arange(columns), 0)
    return K.cast(K.abs(between), "float32")


def scaled(q, k):
    return K.matmul(q, transposed(k)) / np.sqrt(D)


SPELLINGS = {
    "matmul": lambda q, k, v: K.matmul(K.softmax(scaled(q, k)), v),
    "scale_times": lambda q, k, v: K.matmul(K.softmax(K.matmul(q, transposed(k)) * 0.3), v),
    "scale_of_queries": lambda q, k, v: K.matmul(K.softmax(K.matmul(q * 0.3, transposed(k))), v),
    "no_scale": lambda q, k, v: K.matmul(K.softmax(K.matmul(q, transposed(k))), v),
    "minus": lambda q, k, v: K.matmul(K.softmax(-scaled(q, k)), v),
    "keys_first": lambda q, k, v: K.matmul(K.softmax(transposed(K.matmul(k, transposed(q)))), v),
    "values_first": lambda q, k, v: transposed(
        K.matmul(transposed(v), transposed(K.softmax(scaled(q, k))))
    ),
    "causal": lambda q, k, v: K.matmul(
        K.softmax(K.where(causal(scaled(q, k)), scaled(q, k), -1e9)), v
    ),
    "causal_inf": lambda q, k, v: K.matmul(
        K.softmax(K.where(causal(scaled(q, k), 3), scaled(q, k), -np.inf)), v
    ),
    "future_first": lambda q, k, v: K.matmul(
        K.softmax(K.where(K.logical_not(causal(scaled(q, k))), -1e9, scaled(q, k))), v
    ),
    "tril": lambda q, k, v: K.matmul(
        K.softmax(
            K.where(K.tril(K.ones_like(scaled(q, k), dtype="bool")), scaled(q, k), -1e9)
        ), v
    ),
    "added_triangle": lambda q, k, v: K.matmul(
        K.softmax(scaled(q, k) + (1 - K.tril(K.ones_like(scaled(q, k)[0, 0]))) * -1e9), v
    ),
    "distances_taken_away": lambda q, k, v: K.matmul(
        K.softmax(scaled(q, k) - 0.2 * distances(scaled(q, k))), v
    ),
    "dropout": lambda q, k, v: K.matmul(K.dropout(K.softmax(scaled(q, k)), 0.3, seed=7), v),
    "causal_dropout": lambda q, k, v: K.matmul(
        K.dropout(K.softmax(K.where(causal(scaled(q, k)), scaled(q, k), -1e9)), 0.3, seed=7), v
    ),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_are_found_with_their_gradients(name):
    xs, arrays = inputs()
    same(SPELLINGS[name], xs, arrays)


@pytest.mark.parametrize("axes", [(2, 2), None])
def test_batch_dot_of_keras(axes):
    xs, arrays = inputs(((B, N, D), (B, M, D), (B, M, D)))

    def build(q, k, v):
        if axes is None:
            scores = K.batch_dot(q, K.permute_dimensions(k, (0, 2, 1)))
        else:
            scores = K.batch_dot(q, k, axes=axes)
        return K.batch_dot(K.softmax(scores / np.sqrt(D)), v)

    same(build, xs, arrays)


def test_one_matrix_and_many_axes_of_a_batch():
    xs, arrays = inputs(((N, D), (M, D), (M, D)))
    same(SPELLINGS["matmul"], xs, arrays)
    xs, arrays = inputs(((2, 1, 2, N, D), (2, 3, 1, M, D), (2, 3, 1, M, D)))
    same(SPELLINGS["matmul"], xs, arrays)


def test_heads_that_are_split_from_a_width():
    """As layers of Keras do: (batch, length, heads * width), reshaped and transposed."""
    xs, arrays = inputs(((B, N, H * D), (B, M, H * D), (B, M, H * D)))

    def split(x):
        return K.permute_dimensions(K.reshape(x, (-1, K.shape(x)[1], H, D)), (0, 2, 1, 3))

    def build(q, k, v):
        out = SPELLINGS["matmul"](*map(split, (q, k, v)))
        return K.reshape(K.permute_dimensions(out, (0, 2, 1, 3)), (-1, K.shape(q)[1], H * D))

    same(build, xs, arrays)


@pytest.mark.parametrize("whole_row", [False, True])
def test_padding_as_a_bias_and_as_a_mask(whole_row):
    xs, arrays = inputs()
    seen = np.random.default_rng(3).random((B, M)) < 0.6
    seen[0] &= not whole_row
    seen[:, 0] |= not whole_row
    pad = K.placeholder(shape=(None, None))

    def added(q, k, v, p):
        hidden = K.expand_dims(K.expand_dims(1 - p, 1), 1)
        return K.matmul(K.softmax(scaled(q, k) + hidden * -1e9), v)

    def chosen(q, k, v, p):
        keep = K.expand_dims(K.expand_dims(K.equal(p, 1.0), 1), 1)
        return K.matmul(K.softmax(K.where(keep, scaled(q, k), -1e9)), v)

    for build in (added, chosen):
        same(build, [*xs, pad], [*arrays, seen.astype("float32")])


def test_two_layers_one_after_the_other():
    xs, arrays = inputs(((B, N, D), (B, N, D), (B, N, D)))

    def build(q, k, v):
        for _ in range(2):
            q = K.batch_dot(K.softmax(K.batch_dot(q, k, axes=(2, 2)) / np.sqrt(D)), v) + q
        return q

    f = K.function(xs, with_gradients(build, xs))
    with config.change(optimizer_excluding="attention"):
        g = K.function(xs, with_gradients(build, xs))
    for a, b in zip(f(arrays), g(arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert found(f) == ["attention", "attention", "attention_grad", "attention_grad"]


def test_many_layers_take_linear_work():
    """Each asks how its operands are written, of which the last ones stand on all layers."""

    def calls(n):
        q, k, v = (K.placeholder((B, N, D)) for _ in range(3))
        x = q
        for _ in range(n):
            x = K.batch_dot(K.softmax(K.batch_dot(x, k, axes=(2, 2)) / np.sqrt(D)), v) + x
        roots = [g.node for g in K.gradients(K.sum(K.square(x)), [q, k, v])]
        seen = Counter()
        sys.setprofile(lambda frame, event, arg: seen.update((event,)))
        try:
            blocks = optimise(roots)
        finally:
            sys.setprofile(None)
        assert sum(node.op.name == "attention_grad" for node in toposort(blocks)) == n
        return seen.total()

    assert calls(16) < 6 * calls(4)  # linear is 4, quadratic 16


def test_against_numpy_in_double():
    xs, arrays = inputs(((B, N, D), (B, M, D), (B, M, D)))
    xs = [K.placeholder(shape=(None, None, D), dtype="float64") for _ in xs]
    q, k, v = arrays = [a.astype("float64") for a in arrays]
    f = K.function(xs, SPELLINGS["matmul"](*xs))
    s = q @ k.swapaxes(1, 2) / np.sqrt(D)
    e = np.exp(s - s.max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(f(arrays), want, rtol=0, atol=32 * np.finfo("f8").eps)
    assert found(f) == ["attention"]


def test_second_derivatives_are_those_of_the_formula():
    """A gradient of a gradient reads scores in ways that tiles do not know."""
    xs = [K.placeholder(shape=(3, 2), dtype="float64") for _ in range(3)]
    arrays = [np.random.default_rng(k).standard_normal((3, 2)) for k in range(3)]
    out = K.sum(K.square(K.matmul(K.softmax(K.matmul(xs[0], transposed(xs[1]))), xs[2])))
    first = K.function(xs, K.gradients(out, xs))
    second = K.function(xs, K.gradients(K.sum(K.square(K.gradients(out, xs[:1])[0])), xs))
    for which, got in enumerate(second(arrays)):
        for at in np.ndindex(3, 2):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[which][at] += step
                ends.append(np.sum(first(moved)[0] ** 2))
            assert abs((ends[0] - ends[1]) / 2e-5 - got[at]) < 1e-6 * max(1, abs(got[at]))


NEAR = {
    "weights are read too": (
        lambda q, k, v: K.concatenate([K.matmul(K.softmax(scaled(q, k)), v),
                                       K.softmax(scaled(q, k))[..., :D]], 2),
        "reads the scores or their weights too"),
    "scores are read too": (
        lambda q, k, v: K.matmul(K.softmax(scaled(q, k)), v) + K.sum(scaled(q, k)),
        "reads the scores or their weights too"),
    "a function of the scores": (
        lambda q, k, v: K.matmul(K.softmax(30 * K.tanh(scaled(q, k) / 30)), v),
        "its scores are no product"),
    "a function of the weights": (
        lambda q, k, v: K.matmul(K.square(K.softmax(scaled(q, k))), v), None),
    "another axis": (
        lambda q, k, v: K.matmul(transposed(K.softmax(transposed(scaled(q, k)))), v), None),
    "a scale for each row": (
        lambda q, k, v: K.matmul(K.softmax(scaled(q, k) * K.sum(q, -1, keepdims=True)), v),
        "its scores are no product"),
    "a bias beside the mask": (
        lambda q, k, v: K.matmul(
            K.softmax(K.where(causal(scaled(q, k)), scaled(q, k), -1e9) + K.sum(q) * 0.1), v),
        "its scores are no product"),
    "scores that are dropped": (
        lambda q, k, v: K.matmul(K.softmax(K.dropout(scaled(q, k), 0.3, seed=1)), v),
        "drawn before"),
    "only some weights are 0": (
        lambda q, k, v: K.matmul(
            K.where(causal(scaled(q, k), 1), K.softmax(
                K.where(causal(scaled(q, k)), scaled(q, k), -1e30)), 0.0), v),
        "other weights are set to 0"),
    "sums over rows": (
        lambda q, k, v: K.matmul(transposed(K.softmax(scaled(q, k))), q), "no product sums"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_near_misses_are_left_as_they_are(name):
    xs, arrays = inputs()
    build, why = NEAR[name]
    f = K.function(xs, build(*xs))
    with config.change(optimizer_excluding="attention"):
        g = K.function(xs, build(*xs))
    np.testing.assert_allclose(f(arrays), g(arrays), rtol=1e-5, atol=1e-6)
    assert not found(f)
    if why is not None:
        assert "the scores of softmax" in f.explain() and why in f.explain()


@pytest.mark.parametrize(
    "one, all_, taken",
    [
        (N * M, B * H * N * M, True),
        (N * M + 1, B * H * N * M, False),
        (N * M, B * H * N * M + 1, False),
    ],
    ids=["enough", "few in each", "few in all"],
)
def test_scores_that_stay_in_cache_are_stored(one, all_, taken, monkeypatch):
    """Many matrices of few scores: each of them stays in cache, however many there are."""
    monkeypatch.setattr(attention, "LEAST_OF_ONE", one)
    monkeypatch.setattr(attention, "LEAST", all_)
    xs, arrays = inputs()
    f = K.function(xs, K.matmul(K.softmax(scaled(*xs[:2])), xs[2]))
    scores = arrays[0].astype("float64") @ arrays[1].swapaxes(-1, -2) / np.sqrt(D)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ arrays[2]
    np.testing.assert_allclose(f(arrays), want, rtol=1e-5, atol=1e-6)
    assert bool(found(f)) == taken


def test_the_gradient_of_a_bias_reads_slopes():
    """Its own gradient is a sum of slopes of scores, which tiles do not keep."""
    xs, arrays = inputs()
    bias = K.placeholder(shape=(None, None))
    out = K.matmul(K.softmax(scaled(*xs[:2]) + bias), xs[2])
    arrays.append(np.zeros((N, M), "float32"))
    f = K.function([*xs, bias], K.gradients(K.sum(K.square(out)), [bias]))
    f(arrays)
    assert not found(f)
    g = K.function([*xs, bias], [out, *K.gradients(K.sum(K.square(out)), xs)])
    g(arrays)
    assert found(g) == ["attention", "attention_grad"]


def test_few_scores_are_stored_and_many_are_not(monkeypatch):
    monkeypatch.setattr(attention, "LEAST", 1 << 20)
    xs, _ = inputs(((N, D), (M, D), (M, D)))
    both = K.function(xs, SPELLINGS["matmul"](*xs))
    for n, m, many in ((1000, 1000, False), (1024, 1024, True), (1024, 1023, False)):
        f, arrays = K.function(xs, SPELLINGS["matmul"](*xs)), [np.ones((s, D)) for s in (n, m, m)]
        assert np.array_equal(f(arrays), both(arrays))  # whatever was planned before
        assert bool(found(f)) == many
    assert "there are few scores" in f.explain()


def test_values_that_follow_from_a_gradient_are_no_circle():
    """The values of one product are made of the sum over rows of the same weights."""
    xs, arrays = inputs(((N, D), (N, D), (N, D)))
    weights = K.softmax(scaled(*xs[:2]))
    out = K.matmul(weights, K.tanh(K.matmul(transposed(weights), xs[2])))
    f = K.function(xs, out)
    with config.change(optimizer_excluding="attention"):
        g = K.function(xs, out)
    np.testing.assert_allclose(f(arrays), g(arrays), rtol=1e-4, atol=1e-6)
