"""Gathers at many indices: each index is read once, held within range, and only then used."""

import re
import threading

import numpy as np
import pytest
from ops.agree import leaf

import ckernels as K
from ckernels import ops
from ckernels.base.errors import IndexOutOfBounds
from ckernels.codegen.indexed import LONG, PLACES, RUN, SHORT, STRETCH
from ckernels.jit import jit
from ckernels.ops.indexing.combining import OF_NUMPY
from ckernels.runtime.function import make_function

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


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16",
                                   "float32", "float64"])  # fmt: skip
@pytest.mark.parametrize("how", ["max", "min"])
def test_extrema_at_indices(how, dtype):
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 256, (60, 5, 8)).astype("uint8")
    v = bits[..., 0] > 99 if dtype == "bool" else bits.view(dtype)[..., 0]
    x, i = v[:11].copy(), rng.integers(-11, 11, 60)
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in (x, v, i)]
    a, b, at = leaves
    rows = ops.combine_subtensor(a, at, b, how)
    places = ops.combine_subtensor(a, (at, 2), ops.getitem(b, (slice(None), 1)), how)
    f = make_function(leaves, [rows, places])
    wants = x.copy(), x.copy()
    with np.errstate(invalid="ignore"):
        OF_NUMPY[how].at(wants[0], i, v)
        OF_NUMPY[how].at(wants[1], (i, 2), v[:, 1])
    for got, want in zip(f(x, v, i), wants):
        np.testing.assert_array_equal(got, want)
    assert f.stats()["kernels"]
    with pytest.raises(IndexOutOfBounds, match="index 11"):
        f(x, v, np.where(i == 3, 11, i))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("how", ["and", "or", "xor"])
def test_bits_at_indices(how, dtype):
    rng = np.random.default_rng(6)
    x, v = (rng.integers(0, 200, n).astype(dtype) for n in (11, 60))
    i = rng.integers(-11, 11, 60)
    leaves = [leaf((None,), a.dtype.name) for a in (x, v, i)]
    a, b, at = leaves
    f = make_function(leaves, [ops.combine_subtensor(a, at, b, how)], single=True)
    want = x.copy()
    OF_NUMPY[how].at(want, i, v)
    np.testing.assert_array_equal(f(x, v, i), want)
    assert f.stats()["kernels"]


@pytest.mark.parametrize("places", [1, PLACES - 1, PLACES, PLACES + 1])
@pytest.mark.parametrize("count", [LONG - 1, LONG, LONG + 3])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "int16"])
def test_counts_in_tables(count, places, dtype):
    rng = np.random.default_rng(5)
    i = rng.integers(-places, places, count).astype("int32")
    v = rng.integers(0, 100, count).astype(dtype)
    leaves = [leaf((None,), a) for a in (dtype, "int32", dtype)]
    f = make_function(leaves, [ops.scatter_add(*leaves)], single=True)
    want = np.zeros(places, dtype)
    np.add.at(want, i, v)
    for values, at in ((v, i), (v[::-1], i[::-1])):
        np.testing.assert_array_equal(f(np.zeros(places, dtype), at, values), want)
    assert "table[4]" in f.source()
    with pytest.raises(IndexOutOfBounds, match=f"index {places}"):
        f(np.zeros(places, dtype), np.append(i[1:], np.int32(places)), v)


RUNS = {
    "rows": lambda x, i, j: ops.take(x, i, 0),
    "columns": lambda x, i, j: ops.take(x, i, 1),
    "crops": lambda x, i, j: ops.getitem(x, (ops.expand(i, (1,)), j)),
    "each its own": lambda x, i, j: ops.getitem(x, (i, j)),
    "a table": lambda x, i, j: ops.take(x, ops.expand(i, (1,)) + j, 0),
}


@pytest.mark.parametrize("run", [1, 2, 3, RUN, RUN + 1])
@pytest.mark.parametrize("name", RUNS)
def test_short_runs_at_each_place(name, run):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(9, 9, run)).astype("float32")
    i, j = rng.integers(-4, 5, (2, 40))
    a = leaf((None, None, run), "float32")
    leaves = [a, leaf((None,), "int64"), leaf((None,), "int64")]
    f = make_function(leaves, [RUNS[name](*leaves)], single=True)
    want = make_function(leaves, [RUNS[name](*leaves)], single=True, mode="reference")
    for values in (x, x[::-1, :, ::-1], x.transpose(1, 0, 2), np.asfortranarray(x)):
        np.testing.assert_array_equal(f(values, i, j), want(values, i, j))
    assert f(x, i[:0], j[:0]).size == 0 and f.stats()["kernels"]
    with pytest.raises(IndexOutOfBounds, match="out of bounds"):
        f(x, np.where(i == 2, 30, i), j)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int16"])
@pytest.mark.parametrize("how", ["add", "set", "max"])
def test_rows_of_any_index_are_each_of_one_unit(dtype, how):
    """Units of work share the rows out: each looks at all indices and leaves others their own."""
    rng = np.random.default_rng(7)
    x, v = (np.round(99 * rng.normal(size=(n, 600))) for n in (100, 1000))  # sums without rounding
    i = rng.integers(0, 100, 1000).astype(dtype)
    leaves = [leaf((None, None), "float64"), leaf((None, None), "float64"), leaf((None,), dtype)]
    a, b, at = leaves
    node = {
        "add": lambda: ops.inc_subtensor(a, (at,), b),
        "set": lambda: ops.set_subtensor(a, (at,), b),
        "max": lambda: ops.combine_subtensor(a, at, b, "max"),
    }[how]()
    f, want = make_function(leaves, [node], single=True), x.copy()
    if how == "set":
        want[i] = v
    else:
        {"add": np.add, "max": np.maximum}[how].at(want, i, v)
    np.testing.assert_array_equal(f(x, v, i), want)
    assert f.stats()["kernels"]


def test_of_many_numbers_for_one_place_the_last_one_stays():
    x, y = (leaf((None,), "float64") for _ in range(2))
    rows, columns = (leaf((None,), "int64") for _ in range(2))
    wide = leaf((None, None), "float64")
    f = make_function(
        [x, wide, rows, columns, y],
        [ops.set_subtensor(x, rows, y), ops.set_subtensor(wide, (rows, columns), y)],
        positional_only=True,
    )
    for count in (5, 100, 3000):
        i, j, numbers = (
            RNG.integers(-9, 9, count),
            RNG.integers(-4, 4, count),
            np.arange(1.0 * count),
        )
        want, both = np.zeros(9), np.zeros((9, 4))
        want[i], both[i, j] = numbers, numbers
        got = f(np.zeros(9), np.zeros((9, 4)), i, j, numbers)
        np.testing.assert_array_equal(got[0], want)
        np.testing.assert_array_equal(got[1], both)


READS = [
    lambda z, i: z[i],
    lambda z, i: z[:, i],
    lambda z, i: z[i, 1],
    lambda z, i: z[..., i],
    lambda z, i: z[i, :, i],
    lambda z, i: z[i[:, None], 1:, i],
    lambda z, i: np.take(z, i, axis=1),
    lambda z, i: z[::-1, ::2][i % 2],
]


@pytest.mark.parametrize("read", range(len(READS)))
def test_complex_numbers_are_read_as_rows_of_their_parts(read):
    parts = RNG.normal(size=(2, 3, 8, 5))
    z = parts[0] + 1j * parts[1]
    z.real[0, 0, 0], z.imag[1, 1, 1], z.imag[2, 0, 2] = np.nan, -0.0, np.inf
    f = READS[read]
    for dtype in ("complex64", "complex128"):
        x = z.astype(dtype)
        for each in (x, np.asfortranarray(x), x[:, ::-2], x[:, :3].T.copy().T):
            for index in (np.array([0, 2, -1, 1]), np.array([], int), np.array([1])):
                jitted = jit(f)
                want, got = f(each, index), jitted(each, index)
                assert got.dtype == want.dtype and got.shape == want.shape
                assert got.tobytes() == want.tobytes()
        assert "NumPy" not in jitted.explain()
        for beyond in (9, -9):
            with pytest.raises(IndexError):
                jitted(x, np.array([0, beyond])) if read != 7 else x[beyond]
