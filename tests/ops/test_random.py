"""Threefry against its published vectors; the documented layout; distributions, fixed seeds."""

import math

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.node import constant
from ckernels.ops.random import threefry2x32, words
from ckernels.ops.reference import evaluate

from .agree import leaf

N = 20000


def draw(build, *args, **kwargs):
    return evaluate([build(*args, **kwargs)], {})[0]


# Random123, kat_vectors: threefry2x32 20 rounds: counter, key, result.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]  # fmt: skip


@pytest.mark.parametrize("counter, key, result", KNOWN)
def test_known_answers(counter, key, result):
    assert tuple(int(w) for w in threefry2x32(*key, *counter)) == result


def plain_threefry(key, counter):
    """Salmon et al. 2011, with Python integers."""
    low = 0xFFFFFFFF
    ks = [key[0], key[1], 0x1BD11BDA ^ key[0] ^ key[1]]
    x = [(counter[0] + ks[0]) & low, (counter[1] + ks[1]) & low]
    for i in range(20):
        r = [13, 15, 26, 6, 17, 29, 16, 24][i % 8]
        x[0] = (x[0] + x[1]) & low
        x[1] = ((x[1] << r | x[1] >> (32 - r)) & low) ^ x[0]
        if i % 4 == 3:
            s = i // 4 + 1
            x = [(x[0] + ks[s % 3]) & low, (x[1] + ks[(s + 1) % 3] + s) & low]
    return tuple(x)


@pytest.mark.parametrize("first", [0, 5, 2**32 - 2, 2**40 + 7, 3 * 2**48])
def test_layout_of_the_counter(first):
    seed, stream, call = 0x1234567890ABCDEF, 77, 2**33 + 3
    r0, r1 = words((seed, stream, call), 4, first)
    for k in range(4):
        i = first + k
        high = i >> 32
        folded = (high << 16 | high >> 16) & 0xFFFFFFFF
        want = plain_threefry((seed & 0xFFFFFFFF, stream), (i & 0xFFFFFFFF, 3 ^ folded))
        assert (int(r0[k]), int(r1[k])) == want


def test_rows_are_made_of_the_words():
    state = (42, 3, 9)
    r0, r1 = (w.astype(np.uint64) for w in words(state, 6))
    np.testing.assert_array_equal(
        draw(ops.random_bits, state, (2, 3)), r0.astype(np.uint32).reshape(2, 3)
    )
    np.testing.assert_array_equal(
        draw(ops.random_bits, state, (6,), "uint64"), r0 + r1 * np.uint64(2**32)
    )
    u32, u64 = (
        draw(ops.random_uniform, state, (6,)),
        draw(ops.random_uniform, state, (6,), "float64"),
    )
    np.testing.assert_array_equal(u32, (r0 // 256 / 2**24).astype("float32"))
    exact = [((int(a) >> 5) * 2**26 + (int(b) >> 6)) / 2**53 for a, b in zip(r0, r1)]
    np.testing.assert_array_equal(u64, exact)
    z64 = draw(ops.random_normal, state, (6,), "float64")
    want = [
        math.sqrt(-2 * math.log((int(a) + 1) / 2**32)) * math.cos(2 * math.pi * int(b) / 2**32)
        for a, b in zip(r0, r1)
    ]
    np.testing.assert_allclose(z64, want, rtol=1e-13)
    z32 = draw(ops.random_normal, state, (6,))
    want = [
        math.sqrt(-2 * math.log((int(a) // 256 + 1) / 2**24))
        * math.cos(2 * math.pi * int(b) / 2**32)
        for a, b in zip(r0, r1)
    ]
    np.testing.assert_allclose(z32, np.float32(want), rtol=1e-6)


def test_elements_depend_on_their_index_only():
    long, short = (
        draw(ops.random_normal, (1, 0, 0), (100,)),
        draw(ops.random_normal, (1, 0, 0), (10, 3)),
    )
    np.testing.assert_array_equal(long[:30].reshape(10, 3), short)
    for other in ((2, 0, 0), (1, 1, 0), (1, 0, 1)):
        assert not np.intersect1d(long, draw(ops.random_normal, other, (100,))).size


def test_shapes_and_errors():
    state = constant(np.array([1, 2, 3], "int64"))
    x = leaf((None, 4))
    node = ops.random_uniform(state, ops.shape(x))
    assert node.shape == (None, 4) and node.dtype == "float32"
    assert evaluate([node], {x: np.zeros((3, 4))})[0].shape == (3, 4)
    assert draw(ops.random_uniform, state, ()).shape == () and draw(
        ops.random_uniform, state, (0, 2)
    ).shape == (0, 2)
    with pytest.raises(DTypeError, match="float32 or float64"):
        ops.random_uniform(state, (3,), "int32")
    with pytest.raises(ShapeError, match="state"):
        ops.random_uniform(constant(np.zeros(2, "int64")), (3,))
    with pytest.raises(ShapeError, match="negative"):
        ops.random_uniform(state, (-3,))


# --- distributions ----------------------------------------------------------------------------


def ks(sample, cdf):
    """The Kolmogorov-Smirnov statistic times sqrt(n); above 1.95 once in a thousand samples."""
    x = np.sort(sample.astype("float64").reshape(-1))
    n = len(x)
    f = cdf(x)
    return max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n)) * math.sqrt(n)


def phi(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_uniform_and_normal(dtype, seed):
    u = draw(ops.uniform, (seed, 0, 0), (N,), -1, 3, dtype)
    assert u.dtype == dtype and u.min() >= -1 and u.max() <= 3
    z = draw(ops.normal, (seed, 0, 0), (N,), 2.0, 0.5, dtype)
    assert z.dtype == dtype
    if dtype != "float16":
        assert ks(u, lambda x: (x + 1) / 4) < 1.95
        assert ks((z - 2) / 0.5, phi) < 1.95
        assert u.max() < 3
    inner = draw(ops.truncated_normal, (seed, 0, 0), (N,), 1.0, 2.0, dtype)
    assert inner.min() >= -3 and inner.max() <= 5
    edge = phi(-2.0)
    if dtype != "float16":
        assert ks((inner - 1) / 2, lambda x: (phi(x) - edge) / (1 - 2 * edge)) < 1.95


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normals_are_independent(dtype):
    z = draw(ops.random_normal, (5, 1, 0), (N * 10,), dtype).astype("float64")
    assert abs(z.mean()) < 4 / math.sqrt(len(z)) and abs(z.std() - 1) < 0.006
    assert abs(np.mean(z**4) - 3) < 0.08 and np.isfinite(z).all() and np.abs(z).max() > 4
    for lag in (1, 2, 3, 64):
        assert abs(np.mean(z[lag:] * z[:-lag])) < 4 / math.sqrt(len(z))


def test_discrete():
    b = draw(ops.bernoulli, (3, 0, 0), (N,), 0.3)
    assert set(np.unique(b)) == {0, 1} and abs(b.mean() - 0.3) < 4 * math.sqrt(0.21 / N)
    k = draw(ops.binomial, (3, 0, 0), (N,), 5, 0.4, "int64")
    assert k.dtype == "int64" and k.min() >= 0 and k.max() <= 5
    assert abs(k.mean() - 2) < 4 * math.sqrt(1.2 / N) and abs(k.var() - 1.2) < 0.06
    i = draw(ops.random_integers, (3, 0, 0), (N,), -2, 4)
    counts = np.bincount(i + 2, minlength=6)
    assert len(counts) == 6 and np.all(np.abs(counts - N / 6) < 5 * math.sqrt(N / 6))
    p = np.broadcast_to(np.array([0.1, 0.0, 0.6, 0.3]), (N, 4))
    c = draw(ops.categorical, (3, 0, 0), p)
    freq = np.bincount(c, minlength=4) / N
    assert freq[1] == 0 and np.all(np.abs(freq - p[0]) <= 5 * np.sqrt(p[0] * (1 - p[0]) / N))
    m = draw(ops.multinomial, (3, 0, 0), p[:2000], 7, "int64")
    assert m.shape == (2000, 4) and np.all(m.sum(1) == 7) and abs(m[:, 2].mean() - 4.2) < 0.12
    one = draw(ops.multinomial, (3, 0, 0), p[:50])
    assert one.dtype == "float32" and np.all(one.sum(1) == 1)


def test_probabilities_that_vary():
    p = np.array([[0.0], [1.0], [0.5]])
    b = draw(ops.bernoulli, (8, 0, 0), (3, 1000), p)
    assert b[0].sum() == 0 and b[1].sum() == 1000 and 400 < b[2].sum() < 600
    k = draw(ops.binomial, (8, 0, 0), (3, 1000), 4, p)
    assert k[0].sum() == 0 and k[1].sum() == 4000


def test_permutation():
    a = draw(ops.permutation, (1, 0, 0), 1000)
    assert sorted(a.tolist()) == list(range(1000)) and not np.array_equal(
        a, draw(ops.permutation, (1, 0, 1), 1000)
    )
    first = [draw(ops.permutation, (s, 0, 0), 3).tolist() for s in range(600)]
    orders, counts = np.unique(first, axis=0, return_counts=True)
    assert len(orders) == 6 and np.all(np.abs(counts - 100) < 45)
    n = leaf((), "int64")
    assert evaluate([ops.permutation((1, 0, 0), n)], {n: np.int64(7)})[0].shape == (7,)
