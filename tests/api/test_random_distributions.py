"""Every distribution of K.random_* and RandomStreams against its law: Kolmogorov-Smirnov where it
is continuous, chi-square where it is not, with fixed seeds. Also what must not matter: the number
of threads, the way of running, being inside a scan. `-m slow` draws millions.
"""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.errors import ArgumentError

stats = pytest.importorskip("scipy.stats")

FEW, MANY = 20_000, 4_000_000
LIKELY = 1e-4  # each test would fail by chance once in ten thousand seeds; the seeds are fixed


@pytest.fixture(params=["reference", "compiled"])
def mode(request):
    with config.change(mode=request.param):
        yield request.param


def values(*tensors):
    """Arrays of the tensors, all from one call."""
    return K.function([], list(tensors))()


def fits(sample, law):
    assert stats.kstest(sample.astype("float64").reshape(-1), law.cdf).pvalue > LIKELY


def counted(sample, chances):
    """Chi-square of integers 0 .. len(chances) - 1 that should come up with these chances."""
    seen = np.bincount(sample.reshape(-1), minlength=len(chances))
    chances = np.asarray(chances, "float64")
    assert len(seen) == len(chances) and not seen[chances == 0].any()
    want = sample.size * chances / chances.sum()
    possible = chances > 0
    assert stats.chisquare(seen[possible], want[possible]).pvalue > LIKELY


UNIFORM = stats.uniform(-1, 4)
NORMAL = stats.norm(2, 0.5)
TRUNCATED = stats.truncnorm(-2, 2, 2, 0.5)
CONTINUOUS = {
    "uniform": (lambda n, s, d: K.random_uniform((n,), -1, 3, d, s), UNIFORM),
    "uniform of tensors": (
        lambda n, s, d: K.random_uniform((n,), K.constant(-1, d), K.constant(3, d), d, s), UNIFORM),
    "normal": (lambda n, s, d: K.random_normal((n,), 2, 0.5, d, s), NORMAL),
    "truncated": (lambda n, s, d: K.truncated_normal((n,), 2, 0.5, d, s), TRUNCATED),
    "streams uniform": (lambda n, s, d: streams(s).uniform((n,), -1.0, 3.0, dtype=d), UNIFORM),
    "streams normal": (lambda n, s, d: streams(s).normal((n,), 2.0, 0.5, dtype=d), NORMAL),
    "variable uniform": (
        lambda n, s, d: K.random_uniform_variable((n,), -1, 3, d, seed=s), UNIFORM),
    "variable normal": (lambda n, s, d: K.random_normal_variable((n,), 2, 0.5, d, seed=s), NORMAL),
}  # fmt: skip


def streams(seed):
    return K.RandomStreams(seed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, dtype, mode):
    build, law = CONTINUOUS[name]
    x = values(build(FEW, 11, dtype))[0]
    assert x.dtype == dtype
    fits(x, law)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_millions(name, dtype):
    """Bins as fine as float32 allows would show steps of 2**-24; a thousand bins are coarser."""
    build, law = CONTINUOUS[name]
    with config.change(mode="compiled"):
        for seed in (1, 2, 3):
            x = values(build(MANY, seed, dtype))[0].astype("float64")
            counted(np.minimum(law.cdf(x) * 1000, 999).astype("int64"), np.ones(1000))
            half = (law.cdf(x) * 40).astype("int64").clip(0, 39)
            counted(half[:-1:2] * 40 + half[1::2], np.ones(1600))  # neighbours are independent


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ends(dtype, mode):
    """Bounds hold in every dtype; means and deviations within four standard errors."""
    u, z, t = values(
        K.random_uniform((FEW,), -2, 6, dtype, 3),
        K.random_normal((FEW,), 0, 1, dtype, 3),
        K.truncated_normal((FEW,), 1, 2, dtype, 3),
    )
    assert u.dtype == z.dtype == t.dtype == dtype and np.isfinite(z).all()
    assert u.min() >= -2 and u.max() <= 6 and t.min() >= -3 and t.max() <= 5
    u, z, t = (a.astype("float64") for a in (u, z, t))
    for x, law in ((u, stats.uniform(-2, 8)), (z, stats.norm()), (t, stats.truncnorm(-2, 2, 1, 2))):
        assert abs(x.mean() - law.mean()) < 4 * law.std() / FEW**0.5
        fourth = (float(law.stats("k")) + 3) * law.var() ** 2
        error = (fourth - law.var() ** 2) ** 0.5
        assert abs(x.var() - law.var()) < 4 * error / FEW**0.5


def discrete(n, seed):
    """{name: (integers, chances)}"""
    rng = K.RandomStreams(seed)
    p = np.array([0.1, 0.0, 0.6, 0.3])
    rows = np.broadcast_to(p, (n, 4))
    picks = rng.choice(size=2, replace=False, p=rows)
    x = values(
        K.random_uniform((n,), -3, 4, "int32", seed),
        K.random_binomial((n,), 0.3, seed=seed),
        K.random_binomial((n,), 0.9, dtype="int64", seed=seed),
        rng.binomial((n,), p=0.3),
        rng.binomial((n,), n=5, p=0.4),
        rng.multinomial(pvals=rows),
        rng.multinomial(n=3, pvals=rows)[:, 2],
        rng.choice(p=rows),
        picks[:, 0] * 4 + picks[:, 1],
    )
    pairs = [
        [a * b / (1 - a) if i != j and b else 0 for j, b in enumerate(p)] for i, a in enumerate(p)
    ]
    coin = [0.7, 0.3]
    return {
        "integers": (x[0] + 3, np.ones(7)),
        "bernoulli": (x[1].astype("int64"), coin),
        "bernoulli int64": (x[2], [0.1, 0.9]),
        "streams bernoulli": (x[3], coin),
        "streams binomial": (x[4], stats.binom(5, 0.4).pmf(range(6))),
        "one of": (x[5].argmax(1), p),
        "multinomial": (x[6], stats.binom(3, 0.6).pmf(range(4))),
        "choice": (x[7][:, 0], p),
        "choice of two": (x[8], np.ravel(pairs)),
    }


def test_discrete(mode):
    for _, (sample, chances) in discrete(FEW // 4 if mode == "reference" else FEW, 5).items():
        counted(sample, chances)


@pytest.mark.slow
def test_discrete_millions():
    with config.change(mode="compiled"):
        for seed in (1, 2, 3):
            for _, (sample, chances) in discrete(MANY // 4, seed).items():
                counted(sample, chances)


def test_probabilities_element_by_element(mode):
    p = np.linspace(0, 1, 11).astype("float32")
    shape = (2000, 11)
    a, b = values(K.random_binomial(shape, p, seed=4), streams(4).binomial(shape, p=p))
    for x in (a, b):
        assert not x[:, 0].any() and x[:, 10].all()
        z = (x.mean(0) - p)[1:-1] / np.sqrt(p * (1 - p) / 2000)[1:-1]
        assert np.abs(z).max() < 4


def test_dropout_keeps_its_share(mode):
    x = K.ones((FEW,))
    kept = values(K.dropout(x, 0.3, seed=2))[0]
    counted((kept > 0).astype("int64"), [0.3, 0.7])
    np.testing.assert_allclose(kept[kept > 0], 1 / 0.7, rtol=1e-6)


# ---- independence --------------------------------------------------------------------------------


def uncorrelated(a, b):
    r = np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1]
    assert abs(r) < 4.5 / a.size**0.5


def test_neighbours_calls_streams_and_seeds_are_independent(mode):
    n = (100, 200)
    K.set_random_seed(9)
    one, two = K.random_normal(n), K.random_normal(n)  # two streams of a seed
    rng = K.RandomStreams(9)
    third, fourth = rng.normal(n), rng.uniform(n)
    f = K.function([], [one, two, third, fourth, K.random_normal(n, seed=10)])
    first, second = f(), f()
    for a in first:
        for lag in (1, 2, 3, 16, 200):
            uncorrelated(a.reshape(-1)[lag:], a.reshape(-1)[:-lag])
    for a, b in zip(first, second):
        uncorrelated(a, b)
    for i, a in enumerate(first):
        for b in first[:i]:
            uncorrelated(a, b)


@pytest.mark.slow
def test_bits_are_fair():
    """Each of the 32 bits of a word, alone and with its neighbour word, over millions of words."""
    with config.change(mode="compiled"):
        u = values(K.random_uniform((MANY,), 0, 1, "float64", 1))[0]
    words = (u * 2.0**32).astype("uint64")
    for bit in range(32):
        ones = (words >> np.uint64(bit)).astype("int64") & 1
        counted(ones, [1, 1])
        counted(ones[:-1] * 2 + ones[1:], [1, 1, 1, 1])


# ---- what must not matter ------------------------------------------------------------------------


def everything(n):
    rng = K.RandomStreams(21)
    return [
        K.random_uniform((n,), seed=1),
        K.random_normal((n,), seed=2, dtype="float64"),
        K.truncated_normal((n,), seed=3),
        K.random_binomial((n,), 0.3, seed=4),
        K.random_uniform((n,), 0, 9, "int32", 5),
        K.dropout(K.ones((n,)), 0.5, seed=6),
        rng.uniform((n,)),
        rng.normal((n,)),
        rng.binomial((n,), p=0.5),
    ]


def test_threads_change_nothing():
    before = K.get_num_threads()
    results = []
    with config.change(mode="compiled"):
        for threads in (1, 2):
            K.set_num_threads(threads)
            try:
                f = K.function([], everything(300_001))
                results.append(f() + f())
            finally:
                K.set_num_threads(before)
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


def test_both_ways_of_running_agree():
    results = []
    for mode in ("reference", "compiled"):
        with config.change(mode=mode):
            f = K.function([], everything(1001))
            f()
            results.append(f())
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=1e-6)


def test_a_loop_draws_what_calls_draw(mode):
    def tensors():
        rng = K.RandomStreams(33)
        return [
            K.random_uniform((3, 4), seed=7),
            K.random_normal((5,), seed=8),
            K.random_binomial((6,), 0.5, seed=9),
            rng.uniform((7,)),
            rng.binomial((4,), p=0.5),
        ]

    outputs, updates = K.scan(tensors, n_steps=4)
    scanned, calls = K.function([], outputs, updates=updates), K.function([], tensors())
    for _ in range(2):  # the states go on after the scan
        rows = scanned()
        for step in range(4):
            for a, b in zip(rows, calls()):
                np.testing.assert_allclose(a[step], b, rtol=3e-6, atol=1e-6)


# ---- refusals ------------------------------------------------------------------------------------


def test_refusals():
    cases = [
        (lambda: K.random_binomial((2,), 1.5), ValueError, r"p of random_binomial .* got 1.5"),
        (lambda: K.random_binomial((2,), np.array([0.5, -0.1])), ValueError, "got -0.1"),
        (lambda: K.random_binomial((2,), K.constant(np.nan)), ValueError, "got nan"),
        (lambda: K.random_binomial((2,), 0.5j), TypeError, "real"),
        (lambda: K.random_normal((2, -1)), ValueError, "negative"),
        (lambda: K.random_binomial((2,), np.full((3, 2), 0.5)), ValueError, r"p would widen"),
        (lambda: K.random_normal((2,), np.zeros((3, 2))), ValueError, r"mean .* widen .*3, 2"),
        (lambda: K.random_uniform((2,), 0, np.ones(3)), ValueError, "broadcast"),
        (lambda: K.random_uniform((2.5,)), TypeError, "integer"),
        (lambda: K.random_normal((2,), dtype="int32"), TypeError, "int32"),
        (lambda: K.truncated_normal((2,), dtype="bool"), TypeError, "bool"),
        (lambda: K.random_uniform((2,), dtype="complex64"), TypeError, "complex64"),
    ]
    for build, kind, match in cases:
        with pytest.raises(kind, match=match):
            build()


def test_integers_stay_below_a_large_bound(mode):
    low = 2**52
    x = values(K.random_uniform((FEW,), low, low + 3, "int64", 6))[0]
    counted(x - low, [1, 1, 1])
    y = values(K.random_uniform((FEW,), K.constant(-2, dtype="int64"), 4, "int16", 6))[0]
    counted(y.astype("int64") + 2, np.ones(6))


def test_empty_and_scalar_draws(mode):
    a, b, c = values(K.random_uniform((0, 3)), K.random_normal(()), K.random_binomial((2, 0), 0.5))
    assert (a.shape, b.shape, c.shape) == ((0, 3), (), (2, 0)) and np.isfinite(b)


@pytest.mark.parametrize("draw", [K.categorical, K.multinomial])
@pytest.mark.parametrize("wrong", [[[1, 0], [0, 0]], [[1, -1], [1, 2]], [[np.nan, 1], [1, 0]]])
def test_probabilities_that_data_makes_none(draw, wrong):
    p = K.placeholder((None, 2), name="p")
    f = K.function([p], draw(p))
    for good in (np.array([[0, 1], [2.0, 3]]), np.zeros((0, 2))):
        assert len(f(good)) == len(good)
    with pytest.raises(ArgumentError, match="probabilities of"):
        f(np.array(wrong, "float32"))


def test_draws_of_a_softmax_in_a_scan_stay_in_its_kernels():
    p = K.placeholder((5,))
    s, _ = K.scan(
        lambda h: h + K.cast(K.categorical(K.softmax(h)), "float32"), outputs_info=p, n_steps=3
    )
    assert not any("check" in step for step in K.function([p], s).steps())
