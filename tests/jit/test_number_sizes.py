"""Sizes of axes that stay open: what programs compute with them, over many sizes and one trace."""

import math

import numpy as np
import pytest

import ckernels as ck
from tests.jit.beside import flat
from tests.jit.beside import same as same_one

SIZES = (20, 31, 9, 60, 101, 10, 200)


def same(want, got):
    want, got = flat(want), flat(got)
    assert len(want) == len(got)
    for one, other in zip(want, got):
        same_one(one, other)


def frequencies(x):
    n = x.size
    low_pass = np.abs(np.fft.fftfreq(n, d=0.5)) < 0.4
    return np.fft.ifft(np.fft.fft(x) * low_pass).real, np.fft.fftfreq(n), np.fft.rfftfreq(n, 0.1)


def shifted(x):
    n = len(x)
    y = np.zeros(n)
    y[1:] = x[:-1]
    return y


def padded(x):
    y = np.empty(x.shape[0] + 1)
    y[0] = 0
    y[1:] = np.cumsum(x)
    return y


def window(x):
    n = len(x)
    return x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


def halves(x):
    n = len(x) // 2
    return x[:n] - x[n : 2 * n], x[n], x[n - 1 :: -1], x[-n], -n, abs(-n), n**3, 7 % n, n << 2


def ranges(x):
    n = len(x)
    return (np.arange(n), np.arange(1, n + 1), np.arange(n, dtype="float32"), np.arange(0.0, n),
            np.arange(0, 2 * n, 2), np.linspace(0, 1, n), np.linspace(x[0], x[1], n - 9),
            np.linspace(-1.0, 2.0, n, endpoint=False))  # fmt: skip


def matrices(x):
    n = len(x)
    a = np.zeros((n, n + 1), "int32")
    a[np.arange(n), np.arange(n)] = 3
    return (a, np.eye(n), np.identity(n, "float32"), np.eye(n, 3), np.eye(3, M=n, k=1),
            np.full((2, n), x), np.full(n, n), np.ones(shape=n), np.eye(len(x) - 9))  # fmt: skip


def numbers(x):
    n = len(x)
    return (n / 2, n**0.5, n**2, 1 / n, n % 7, math.sqrt(n), math.ceil(n / 3), float(n), int(n),
            n * (n - 1) / 2, n > 100, n == 20, n != 20, len(x) == x.size, bool(n), divmod(n, 7),
            isinstance(n, int), type(n) is int, min(n, 50), max(n - 20, 1))  # fmt: skip


def dtypes(x):
    return [x.astype(d) * len(x) for d in ("float32", "int32", "int64", "float64", "bool")]


def views(x):
    n = len(x) // 2
    y = x[:n]
    return y, x.reshape(len(x), 1), np.broadcast_to(x, (2, len(x)))


def reshaped(x):
    n = len(x) // 2
    return x[: 2 * n].reshape(n, 2) * 2, x[: 2 * n].reshape(2, n), np.reshape(x, (1, len(x)))


def checked(x):
    assert len(x) > 1 and x.shape == np.ones(len(x)).shape
    if len(x) < 9 or not x.size:
        raise ValueError("short")
    return x / len(x)


@pytest.mark.parametrize("function", [
    frequencies, shifted, padded, window, halves, ranges, matrices, numbers, views, reshaped,
    checked, dtypes,
], ids=lambda f: f.__name__)  # fmt: skip
def test_one_trace_serves_all_sizes(function):
    f = ck.jit(function)
    for n in SIZES:
        mine, yours = (np.random.default_rng(n).normal(size=n) for _ in range(2))
        same(function(mine), f(yours))
        np.testing.assert_array_equal(mine, yours)
    report = f.report()
    assert not report["numpy"] and not report["pinned"] and not report["sized"], report
    assert report["traces"] <= (1 if function is not numbers else len(SIZES)), report


def test_a_view_of_an_argument_at_a_computed_place_is_one():
    f = ck.jit(lambda x: x[: len(x) // 2])
    for n in SIZES:
        x = np.arange(float(n))
        assert np.shares_memory(f(x), x) and len(f(x)) == n // 2


def test_a_row_that_data_choose_is_a_view():
    f, x = ck.jit(lambda x: x[np.argmax(x[:, 0])]), np.arange(40.0).reshape(20, 2) % 7
    assert np.shares_memory(f(x), x)
    same(x[np.argmax(x[:, 0])], f(x))
    assert f.report()["traces"] == 1


def test_comparisons_are_branches():
    f = ck.jit(lambda x: x * 2 if len(x) > 100 else x * 3)
    for n in SIZES:
        same(np.ones(n) * (2 if n > 100 else 3), f(np.ones(n)))
    assert f.report()["traces"] == 2 and not f.report()["pinned"]


def many(x):
    return sum(len(x) > k for k in range(20, 200, 10)) * x


@pytest.mark.parametrize("function", [
    many, lambda x: x * {len(x): 2.0}[len(x)], lambda x: (x, f"{len(x)}", [0] * len(x)),
    lambda x: [v for v in x], lambda x: np.roll(x, len(x) // 2), lambda x: np.hanning(len(x)) * x,
    lambda x: np.diag(np.outer(x, x), len(x) // 2), lambda x: np.split(x, [len(x) // 3]),
])  # fmt: skip
def test_what_asks_for_a_size_in_python_has_a_trace_for_each(function):
    f = ck.jit(function)
    for n in (20, 31, 9, 60):
        x = np.arange(float(n))
        same(function(x), f(x))
    assert not f.report()["numpy"], f.report()


@pytest.mark.parametrize("function", [
    lambda x: np.zeros(len(x) - 20), lambda x: np.linspace(0, 1, len(x) - 20),
    lambda x: x / (1 / (len(x) - 9)), lambda x: len(x) // (len(x) - 9),
    lambda x: np.eye(len(x) - 10), lambda x: x[len(x) - 40 + 9],
])  # fmt: skip
def test_what_python_refuses_of_a_size_is_refused(function):
    f = ck.jit(function)
    for n in (31, 9, 40, 20):
        try:
            found = function(np.ones(n))
        except Exception as problem:
            with pytest.raises(type(problem)):
                f(np.ones(n))
        else:
            same(found, f(np.ones(n)))


def test_numbers_beyond_64_bits_are_pythons():
    f = ck.jit(lambda x: (len(x) ** 8 * len(x) ** 8, x))
    for n in (9, 100, 1000, 20):
        assert f(np.ones(n))[0] == n**16


def test_gradients_and_batches_of_programs_that_ask_for_sizes():
    def loss(x):
        n = len(x)
        return ((x - np.arange(n) / n) ** 2).sum() / n

    g = ck.jit(ck.jit.grad(loss))
    for n in SIZES:
        x = np.arange(n) * 0.3
        np.testing.assert_allclose(g(x), 2 * (x - np.arange(n) / n) / n)
    assert g.report()["traces"] == 1
    v = ck.jit(ck.jit.vmap(loss))
    for n in SIZES:
        x = np.arange(3.0 * n).reshape(3, n)
        np.testing.assert_allclose(v(x), [loss(row) for row in x])
