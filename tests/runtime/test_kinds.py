"""How arrays lie, as classes of shapes know it: transposed, reversed, strided arrays, axes of
size 1 and 0, each in the class that its loops need, whatever was called before."""

import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ckernels as K
from ckernels.runtime.kinds import dense_strides, kind_of, lie, written_kind

BASE = np.arange(4 * 6 * 10, dtype="float64").reshape(4, 6, 10)
VIEWS = {
    "C": lambda x: x,
    "F": lambda x: x.transpose(2, 1, 0).copy().transpose(2, 1, 0),
    "channels": lambda x: x.transpose(0, 2, 1).copy().transpose(0, 2, 1),
    "first two turned": lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "reversed last": lambda x: x[:, :, ::-1].copy()[:, :, ::-1],
    "reversed first": lambda x: x[::-1].copy()[::-1],
    "reversed all": lambda x: x[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
    "every second": lambda x: np.repeat(x, 2, 2)[:, :, ::2],
    "a part of F": lambda x: np.repeat(x.transpose(2, 1, 0), 2, 0).transpose(2, 1, 0)[:, :, ::2],
    "backwards by two": lambda x: np.repeat(x[:, :, ::-1], 2, 2)[:, :, ::-2],
}


def test_dense_and_strided_arrays_are_told_apart():
    x = np.zeros((2, 3, 4))
    assert lie(x) is None
    assert lie(x.T) == ((2, 1, 0), None)
    assert lie(x[::-1]) == ((~0, 1, 2), None)
    assert lie(x[:, ::-1].T) == ((2, ~1, 0), None)
    assert lie(x[:, :, ::2]) == ((0, 1, 2), (12, 4, 2))
    assert lie(x[:, :2]) == ((0, 1, 2), (12, 4, 1))  # padded: near to dense and not dense
    assert lie(x[:, :, :0]) is None  # nothing is read
    assert lie(np.broadcast_to(np.zeros(4), (3, 4))) == ((1, 0), (0, 1))


def test_the_stride_of_an_axis_of_one_says_nothing():
    x = as_strided(np.zeros(100), (3, 1, 4), (8, 777 * 8, 24))
    assert lie(x) == ((1, 2, 0), None)
    assert lie(as_strided(np.zeros(100), (3, 1, 4), (16, 8, 48))) == ((1, 2, 0), (2, 0, 6))
    assert lie(as_strided(np.zeros(100), (1, 1), (16, 8))) is None


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (3, 1, 2), (2, 1, 1), (5,), (1, 1, 6)])
def test_dense_strides_are_those_of_the_array(shape):
    for perm in itertools.permutations(range(len(shape))):
        for signs in itertools.product((1, -1), repeat=len(shape)):
            x = np.zeros([shape[p] for p in perm]).transpose(np.argsort(perm))
            x = x[tuple(slice(None, None, s) for s in signs)]
            found = lie(x)
            if found is None:
                continue
            assert found.strides is None
            wanted = [s // 8 for s in x.strides]
            for k, (got, want) in enumerate(zip(dense_strides(found.order, shape), wanted)):
                assert shape[k] == 1 or got == want


def function(build, ndim=3, dtype="float64"):
    return K.function([K.placeholder((None,) * ndim, dtype=dtype)], build)


def build_of(what):
    x = K.placeholder((None, None, None), dtype="float64")
    return K.function([x], {"sum": K.sum(K.exp(x * 1e-3), axis=(0, 2)), "add": x + 1}[what])


@pytest.mark.parametrize("what", ["sum", "add"])
def test_what_a_call_gives_does_not_depend_on_the_calls_before(what):
    """Each layout first, then after each other one: the same bits, and the layout of the result."""
    fresh = {}
    for name, view in VIEWS.items():
        result = build_of(what)(view(BASE))
        np.testing.assert_allclose(
            result, np.exp(BASE * 1e-3).sum((0, 2)) if what == "sum" else BASE + 1, 1e-14
        )
        fresh[name] = result
    f = build_of(what)
    for first, second in itertools.permutations(VIEWS, 2):
        for name in (first, second):
            result = f(VIEWS[name](BASE[:3]))  # another size, through the class
            result = f(VIEWS[name](BASE))
            assert result.tobytes("A") == fresh[name].tobytes("A"), (first, second)
            assert result.strides == fresh[name].strides


def test_the_runtime_finds_the_class_that_python_finds():
    """A new size of a known layout is planned without Python, one of another layout is not; rows of
    fewer than 8 elements that lie apart have classes of their own (codegen/laid.py)."""
    base = np.arange(14 * 15 * 16, dtype="float64").reshape(14, 15, 16)
    x = K.placeholder((None, None, None), dtype="float64")
    f = K.function([x], K.sqrt(x))
    for name, view in VIEWS.items():
        f(view(base))
        known = f.stats()["classes"]
        for n, m, k in ((13, 12, 14), (12, 15, 13), (12, 12, 12)):
            part = np.abs(np.ascontiguousarray(base[:n, :m, :k]))
            np.testing.assert_array_equal(f(view(part)), np.sqrt(part))
        assert f.stats()["classes"] == known, name
    assert f.stats()["classes"] == len(VIEWS)


def test_kinds_tell_layouts_apart():
    x = K.placeholder((None, None, None), dtype="float64")
    program = K.function([x], x + 1).info.program
    kinds = {kind_of(program, [view(BASE)])[0] for view in VIEWS.values()}
    assert len(kinds) == len(VIEWS)
    assert len({tuple(written_kind(program, [view(BASE)])) for view in VIEWS.values()}) == len(
        kinds
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "float16"])
@pytest.mark.parametrize("shape", [(67,), (1,), (0,), (5, 33), (3, 1), (0, 4), (2, 3, 37)])
def test_reversed_axes(dtype, shape):
    rng = np.random.default_rng(3)
    x = np.asarray(rng.integers(0, 2 if dtype == "bool" else 100, shape), dtype)
    y = np.asarray(rng.integers(0, 2 if dtype == "bool" else 100, shape), dtype)
    a, b = (K.placeholder((None,) * len(shape), dtype=dtype) for _ in "ab")
    f = K.function([a, b], [K.maximum(a, b), K.equal(a, b), a[..., ::-1], K.cast(a, "float32")])
    for signs in itertools.product((1, -1), repeat=len(shape)):
        key = tuple(slice(None, None, s) for s in signs)
        for p, q in ((x[key], y[key]), (x[key], y), (x, y[key])):
            wanted = np.maximum(p, q), p == q, p[..., ::-1], p.astype("float32")
            for got, want in zip(f(p, q), wanted):
                np.testing.assert_array_equal(got, want)


def test_a_reversed_vector_is_a_class_of_its_own():
    x = K.placeholder((None,), dtype="float32")
    f = K.function([x], K.maximum(x, 3))
    f(np.ones(100, "float32")[::-1])
    assert "[-i]" in f.source() and "* d[" not in f.source()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "max", "argmax", "any", "prod"])
def test_reductions_over_reversed_axes(name, axis):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 5, (37, 70)).astype("int32")
    p = K.placeholder((None, None), dtype="int32")
    f = K.function([p], getattr(K, name)(p, axis=axis))
    for view in (x[::-1], x[:, ::-1], x[::-1, ::-1], x[::-1].T, x.T[::-1, ::-1]):
        np.testing.assert_array_equal(f(view), getattr(np, name)(view, axis=axis))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(7,), (300, 200), (2, 3, 4), (0, 3), ()])
def test_arrays_between_the_places_of_their_dtype(dtype, shape):
    """Unaligned arrays, and fields of records, whose strides are no whole numbers of elements."""
    rng = np.random.default_rng(5)
    x = np.asarray(rng.integers(0, 100, shape), dtype)
    record = np.zeros(shape, [("before", "i4"), ("field", dtype)])
    record["field"] = x
    odd = np.zeros(shape, [("before", "i1"), ("field", dtype)])
    odd["field"] = x
    room = np.zeros(x.nbytes + 16, "uint8")
    shifted = room[1 : 1 + x.nbytes].view(dtype).reshape(shape)
    shifted[...] = x
    p = K.placeholder((None,) * len(shape), dtype=dtype)
    f = K.function([p], [p + 1, K.concatenate([p, p], 0)] if shape else [p + 1])
    for view in (record["field"], odd["field"], shifted, shifted[::-1] if shape else shifted):
        wanted = [view + 1, np.concatenate([view, view])] if shape else [view + 1]
        for got, want in zip(f(view), wanted):
            np.testing.assert_array_equal(got, want)


# ---- elements at any byte ------------------------------------------------------------------------

SIDE = 192  # of a matrix of more than the bytes that are copied whatever is done with them


def loosely(x):
    """A copy of an array, one byte behind where its dtype wants it."""
    room = np.zeros(x.nbytes + 1, "uint8")
    found = room[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


def numbers(dtype, shape=(SIDE, SIDE)):
    rng = np.random.default_rng(5)
    return np.asarray(rng.integers(-50, 50, shape), dtype)


LOOPS = {
    "elementwise": lambda x: x * 2 + 1,
    "rows": lambda x: K.sum(x, axis=1),
    "columns": lambda x: K.max(x, axis=0),
    "chunks": lambda x: K.sum(x),
    "places": lambda x: K.argmin(x, axis=1),
    "softmax": lambda x: K.softmax(K.cast(x, "float32")),
    "cast": lambda x: K.cast(x, "float64"),
    "short rows": lambda x: K.reshape(x, (-1, 3)) * K.reshape(x, (-1, 3))[0],
    "steps": lambda x: x[::2, ::-3] + 1,
    "distances": lambda x: K.sum(K.square(x[:40, None, :8] - x[None, 40:80, :8]), axis=2),
}
OTHERS = {
    "product": lambda x: K.dot(x, K.transpose(x)),
    "transpose": lambda x: K.transpose(x),
    "reversed": lambda x: x[:, ::-1],
    "result": lambda x: x[1:],
    "joined": lambda x: K.concatenate([x, x[:3]], 0),
    "sort": lambda x: K.sort(x, 1),
    "running": lambda x: K.cumsum(x, 1),
    "rows at indices": lambda x: K.gather(x, [3, -1, 3]),
    "scan": lambda x: K.scan(lambda row, h: h + row, x, K.zeros_like(x[0]))[0],
    "store": lambda x: K.set_subtensor(x[2:4], 7),
    "repeated": lambda x: K.tile(x[:, :5], (2, 3)),
}
WAYS = {
    "whole": lambda x: x,
    "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1],
    "every second": lambda x: x[:, ::2],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize("what", [*LOOPS, *OTHERS])
def test_unaligned_arrays_give_the_bits_of_aligned_ones(what, dtype):
    f, x = function_of({**LOOPS, **OTHERS}[what], dtype), numbers(dtype, (2 * SIDE, SIDE))
    loose = loosely(x)
    for name, way in WAYS.items():
        wanted = np.asarray(f(way(x)))
        before = f.stats()["classes"]
        for _ in range(2):  # by Python's plan, then by the runtime's memory of it
            got = np.asarray(f(way(loose)))
            assert got.dtype == wanted.dtype and got.flags.aligned, name
            assert got.tobytes() == wanted.tobytes(), name
        assert f.stats()["classes"] == before + 1, name
        np.testing.assert_array_equal(f(way(x)), wanted)
    np.testing.assert_array_equal(loose, x)


def function_of(build, dtype):
    x = K.placeholder((None, None), dtype=dtype)
    return K.function([x], build(x))


@pytest.mark.parametrize("what", LOOPS)
def test_loops_read_unaligned_arrays_without_a_copy(what):
    f, x = function_of(LOOPS[what], "float32"), numbers("float32")
    f(x)
    steps = f.steps()
    f(loosely(x))
    assert f.steps() == steps
    assert "typedef float loose_float __attribute__((aligned(1)));" in f.source()
    assert "const loose_float *const x0 = p[0];" in f.source()


def test_what_is_no_loop_reads_one_aligned_copy():
    x = K.placeholder((None, None), dtype="float64")
    f = K.function([x], [K.dot(x, K.transpose(x)), K.sort(x, 1), K.cumsum(x[1:], 0), x + 1])
    f(numbers("float64"))
    steps = len(f.steps())
    f(loosely(numbers("float64")))
    assert len(f.steps()) == steps + 1


def test_one_of_two_operands_may_be_unaligned():
    a, b = (K.placeholder((None, None), dtype="float32") for _ in "ab")
    f, x, y = K.function([a, b], a - b * 2), numbers("float32"), numbers("float32")[::-1].copy()
    wanted = f(x, y)
    for p, q in ((loosely(x), y), (x, loosely(y)), (loosely(x), loosely(y)), (x, y)):
        np.testing.assert_array_equal(f(p, q), wanted)
        np.testing.assert_array_equal(f(p[:100], q[:100]), wanted[:100])  # through the class
    assert f.stats()["classes"] == 4


def test_small_unaligned_arrays_and_steps_between_elements_are_copied():
    f, x = function_of(lambda x: x + 1, "float64"), numbers("float64")
    f(x)
    np.testing.assert_array_equal(f(loosely(x[:8, :8])), x[:8, :8] + 1)
    packed = np.zeros(x.shape, [("flag", "u1"), ("number", "float64")])
    packed["number"] = x
    assert packed["number"].strides[-1] == 9
    np.testing.assert_array_equal(f(packed["number"]), x + 1)
    assert f.stats()["classes"] == 1


def test_kinds_tell_unaligned_arrays_apart():
    program, x = function_of(lambda x: x + 1, "float64").info.program, numbers("float64")
    for way in WAYS.values():
        kinds = [kind_of(program, [way(a)])[0] for a in (x, loosely(x))]
        written = [written_kind(program, [way(a)]) for a in (x, loosely(x))]
        assert kinds[0] != kinds[1] and written[0] != written[1]
