"""Gathers at many indices: each index is read once, held within range, and only then used."""

import re
import threading

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import IndexOutOfBounds
from ckernels.plan.lowerings.indexed import SHORT, STRETCH

RNG = np.random.default_rng(11)
INTEGERS = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


def gather(dtype="int64", values="float64"):
    x = K.placeholder((None,), dtype=values)
    index = K.placeholder((None,), dtype=dtype)
    return K.function([x, index], x[index])


def test_the_text_reads_each_index_once():
    x = K.placeholder((None, None), dtype="float64")
    rows, columns = (K.placeholder((None,), dtype="int64") for _ in range(2))
    f = K.function([x, rows, columns], x[rows, columns])
    picked = f(np.eye(3), np.arange(40) % 3, np.arange(40) % 2)
    assert np.array_equal(picked, np.eye(3)[np.arange(40) % 3, np.arange(40) % 2])
    quick, careful = f.source().split("if (others) {")
    for loop in (quick, careful):
        assert [len(re.findall(rf"i{k}\[", loop)) for k in (0, 1)] == [1, 1], loop


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("values", ["float64", "float32", "int8"])
def test_any_number_of_indices(dtype, values):
    f = gather(dtype, values)
    x = RNG.integers(-99, 99, 100).astype(values)
    for count in (1, SHORT - 1, SHORT, SHORT + 1, STRETCH - 1, STRETCH, 2 * STRETCH + SHORT + 3):
        index = RNG.integers(0, 100, count).astype(dtype)
        assert np.array_equal(f(x, index), x[index])
        if not dtype.startswith("u"):
            index[count // 2] = -100
            assert np.array_equal(f(x, index), x[index])


@pytest.mark.parametrize("at", [0, STRETCH - 1, STRETCH, 2 * STRETCH + 2])
@pytest.mark.parametrize(
    "dtype, wrong",
    [("int64", 100), ("int64", -101), ("int64", 2**62), ("int64", -(2**63)), ("int8", 127),
     ("int32", -(2**31)), ("uint32", 2**32 - 1), ("uint64", 2**63)],
)  # fmt: skip
def test_one_index_out_of_range(dtype, wrong, at):
    index = RNG.integers(0, 100, 2 * STRETCH + SHORT).astype(dtype)
    index[at] = wrong
    with pytest.raises(IndexOutOfBounds):
        gather(dtype)(np.arange(100.0), index)


@pytest.mark.parametrize("count", [1, SHORT, 2 * STRETCH])
def test_nothing_to_pick_from(count):
    with pytest.raises(IndexOutOfBounds):
        gather()(np.ones(0), np.zeros(count, "int64"))


@pytest.mark.parametrize("count", [SHORT - 1, STRETCH])
def test_another_thread_may_change_the_indices_during_a_call(count):
    """A call then gives elements of x or says that an index is wrong; it reads nothing else."""
    f, x, index = gather(), np.arange(100.0), np.zeros(count, "int64")
    over = threading.Event()

    def change():
        while not over.is_set():
            index[:] = 2**50
            index[:] = 7

    other = threading.Thread(target=change)
    other.start()
    ended = set()
    try:
        for _ in range(30000):
            try:
                ended.update(np.unique(f(x, index)))
            except IndexOutOfBounds:
                ended.add("wrong")
    finally:
        over.set()
        other.join()
    assert ended <= {"wrong", *range(100)}
