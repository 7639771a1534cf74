"""Draws are distributed as they should be, and are the same numbers of arrays and in a step."""

import keras
import numpy as np
import pytest
from keras import random
from scipy import stats

from ckernels.keras3 import jit

N = 20000
CONTINUOUS = {
    "uniform": (lambda s, n: random.uniform(n, -1.0, 3.0, seed=s), stats.uniform(-1, 4)),
    "normal": (lambda s, n: random.normal(n, 2.0, 3.0, seed=s), stats.norm(2, 3)),
    "truncated": (lambda s, n: random.truncated_normal(n, seed=s), stats.truncnorm(-2, 2)),
    "gamma 0.3": (lambda s, n: random.gamma(n, 0.3, seed=s), stats.gamma(0.3)),
    "gamma 1": (lambda s, n: random.gamma(n, 1.0, seed=s), stats.gamma(1)),
    "gamma 7.5": (lambda s, n: random.gamma(n, 7.5, seed=s), stats.gamma(7.5)),
    "beta": (lambda s, n: random.beta(n, 0.7, 2.5, seed=s), stats.beta(0.7, 2.5)),
    "beta of large": (lambda s, n: random.beta(n, 30.0, 10.0, seed=s), stats.beta(30, 10)),
}
DISCRETE = {
    "randint": (lambda s, n: random.randint(n, -3, 4, seed=s), stats.randint(-3, 4)),
    "binomial": (lambda s, n: random.binomial(n, 9.0, 0.3, seed=s), stats.binom(9, 0.3)),
    "categorical": (
        lambda s, n: random.categorical(np.log([[1.0, 2.0, 3.0, 4.0]]), n[0], seed=s)[0],
        stats.rv_discrete(values=([0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4])),
    ),
    "dropout": (
        lambda s, n: random.dropout(np.ones(n, "float32"), 0.3, seed=s) > 0, stats.bernoulli(0.7)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_draws_by_kolmogorov_and_smirnov(name):
    draw, wanted = CONTINUOUS[name]
    found = np.asarray(draw(11, (N,)), "float64")
    assert stats.kstest(found, wanted.cdf).pvalue > 1e-3
    further = np.asarray(draw(12, (N,)), "float64")
    assert abs(stats.spearmanr(found, further).statistic) < 4 / np.sqrt(N)
    off = stats.kstest(found * 1.03 + 0.02, wanted.cdf).pvalue  # what the test would see
    assert off < 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_draws_by_their_counts(name):
    draw, wanted = DISCRETE[name]
    found = np.asarray(draw(13, (N,)), "int64")
    values = np.unique(found)
    counts = np.array([(found == v).sum() for v in values])
    expected = wanted.pmf(values)
    assert expected.sum() > 1 - 1e-3 and np.all(expected > 0)
    expected = N * expected / expected.sum()
    seen = expected > 5
    scale = counts[seen].sum() / expected[seen].sum()
    assert stats.chisquare(counts[seen], expected[seen] * scale).pvalue > 1e-3


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_a_step_draws_the_numbers_that_arrays_get(name):
    draw, _ = {**CONTINUOUS, **DISCRETE}[name]
    generators = [keras.random.SeedGenerator(5) for _ in range(2)]
    eager = [np.asarray(draw(generators[0], (50,))) for _ in range(3)]
    step = jit(lambda: draw(generators[1], (50,)))
    traced = [step() for _ in range(3)]
    assert not np.array_equal(eager[0], eager[1])
    for a, b in zip(eager, traced):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_orders_are_all_as_likely():
    orders = [tuple(random.shuffle(np.arange(3), seed=s)) for s in range(600)]
    counts = [orders.count(o) for o in set(orders)]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3


def test_draws_differ_by_seed_and_repeat():
    a, b, c = (random.normal((4,), seed=s) for s in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    assert random.normal((0, 3), seed=1).shape == (0, 3)
    assert random.uniform((), seed=1).shape == ()
