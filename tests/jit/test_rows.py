"""Functions of NumPy in jitted programs of open sizes: extrema that run, stores at indices, pieces,
orders of equal elements, borders of images; near misses are the calls that NumPy serves."""

import numpy as np
import pytest

import ckernels as ck

from .beside import check

RNG = np.random.default_rng(2)
A, TIES = RNG.normal(size=(12, 10)), RNG.integers(0, 4, (15, 40)).astype("float64")
PLACES = RNG.integers(0, 12, 40)


def drawdown(x):
    top = np.maximum.accumulate(x, axis=1)
    return (top - x).max(), np.minimum.accumulate(x[::-1]), np.logical_or.accumulate(x > 1, axis=1)


def stores(x, i, v):
    low, high = np.full(x.shape, np.inf), np.full(len(x), -np.inf)
    np.minimum.at(low, (slice(None), i % x.shape[1]), v)
    np.maximum.at(high, i, v)
    np.subtract.at(high, i, 1.0)
    np.maximum.at(x, i[:3], 0.5)
    return low, high


def pieces(x, starts):
    return np.add.reduceat(x, starts), np.maximum.reduceat(x, [0, 3, 4], axis=1)


def orders(x):
    best = np.argpartition(-x, 5, axis=1)[:, :5]
    return np.argsort(x), x.argsort(axis=0), best, np.partition(x, (3, -2), axis=0)


def around(x):
    return [np.pad(x, ((2, 1), (0, 3)), mode=m) for m in ("edge", "reflect", "symmetric", "wrap")]


@pytest.mark.parametrize("program, arguments", [
    (drawdown, [A]), (stores, [A, PLACES, RNG.normal(size=40)]), (pieces, [A, np.array([1, 4, 9])]),
    (orders, [TIES]), (orders, [TIES.astype("int8")]), (around, [A]), (around, [A.T]),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_traced(program, arguments):
    check(program, *arguments)


def extrema(x, i):
    y = x.copy()
    np.maximum.at(y, i, x[:5])
    np.minimum.at(y, (i, 2), x[0, 0])
    return np.maximum.accumulate(x), np.minimum.accumulate(x[:, ::-1], axis=1), y


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16",
                                   "float32", "float64"])  # fmt: skip
def test_extrema_at_the_limits_of_dtypes(dtype):
    bits = RNG.integers(0, 256, (12, 10, 8)).astype("uint8")
    x = bits[..., : np.dtype(dtype).itemsize].copy().view("uint8" if dtype == "bool" else dtype)
    x = np.nan_to_num(x[..., 0]) > 99 if dtype == "bool" else x[..., 0]
    check(extrema, x, np.array([3, 0, 3, -1, 7]))


def test_what_a_call_decides_otherwise_is_numpys():
    jitted = check(pieces, A, np.array([4, 1, 9]), traced=None)
    assert list(jitted.report()["numpy"]) == ["a call failed: ArgumentCheckError"]
    wide = check(lambda x: np.pad(x[9:], 5, mode="reflect"), A, traced=None)
    assert wide.report()["numpy"]


def test_stores_that_would_round_are_numpys():
    def larger(x, v):
        np.maximum.at(x, [0, 0], v)
        return x

    check(larger, np.zeros(9, "int8"), np.array([200, 3]), traced=False)
    with pytest.raises(TypeError, match="subtract"):
        ck.jit(lambda x: np.subtract.at(x, 0, True))(np.ones(9, bool))
