"""Nests of short rows, elementwise or reduced whole: NumPy's numbers, whatever is laid out anew."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.codegen import laid
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from ..pages import guarded
from ..planned import leaf

RNG = np.random.default_rng(5)
DTYPES = ["float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
          "uint64", "bool", "float16"]  # fmt: skip


def numbers(dtype, *shape):
    x = RNG.integers(0, 2 if dtype == "bool" else 9, shape)
    return x.astype(dtype)


def runner(build, *shapes, dtype):
    """A call of build(*leaves) that gives (its results, how the operands of each kernel lie)."""
    leaves = [leaf(s, dtype) for s in shapes]
    roots = build(*leaves)
    f = make_function(leaves, roots, positional_only=True, downcast=False)

    def call(*arrays, rtol=1e-6):
        got = f(*arrays)
        with np.errstate(all="ignore"):
            wanted = evaluate(roots, dict(zip(leaves, arrays)))
        for one, want in zip(got, wanted):
            np.testing.assert_allclose(one, want, rtol=rtol)
        kernels = [i.kernel for i in f.info.program.drafted("lower").instructions]
        return got, [{op.laid for op in k.operands} - {""} for k in kernels]

    return call


def everything(x, c, r):
    """Values of one row, of one number per row, of both, and of all elements; four of them kept."""
    return [ops.where(ops.eq(c, r), x, ops.maximum(c, x)), c + ops.mul(r, x), ops.minimum(x, r)]


@pytest.mark.sampled(1, dtype=["bool", "int8", "int32", "float32", "complex64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_lengths_and_dtypes(dtype):
    """Rows of 1 to 70, and so few and so many of them that blocks and vectors have a rest.

    Of dtypes but float32, each length with two of these counts."""
    call = runner(everything, (None, None), (None,), (None, 1), dtype=dtype)
    for n in (*range(1, 36), 40, 47, 48, 63, 64, 65, 70):
        counts, turn = (1, 2, 3, 17, 1100 // n, 2300 // n + 1), n + DTYPES.index(dtype)
        for rows in counts if dtype == "float32" else counts[turn % 3 :: 3]:
            call(numbers(dtype, rows, n), numbers(dtype, n), numbers(dtype, rows, 1))
    call(numbers(dtype, 0, 3), numbers(dtype, 3), numbers(dtype, 0, 1))
    call(numbers(dtype, 5, 0), numbers(dtype, 0), numbers(dtype, 5, 1))


def test_bfloat16():
    x, c, r = K.placeholder((None, 3), "bfloat16"), *(K.placeholder((k,)) for k in (3, None))
    f = K.function([x, c, r], K.cast(x, "float32") * c + K.expand_dims(r, 1))
    for rows in (2, 173, 1000):
        a, b, d = numbers("float32", rows, 3), numbers("float32", 3), numbers("float32", rows)
        np.testing.assert_array_equal(f(a, b, d), a * b + d[:, None])


def test_what_is_laid_out():
    call = runner(lambda x, c, r: [x * c + r], (None, 5), (5,), (None, 1), dtype="float32")
    _, kinds = call(*(numbers("float32", *s) for s in ((300, 5), (5,), (300, 1))))
    assert kinds == [{laid.ALONG, laid.CYCLE, laid.REPEAT}]


def test_leading_axes_rows_of_rows_and_channels_in_the_middle():
    """(.., m, n) with a row for all, a row for each of the leading axes, a number per row."""
    for shapes in (
        [(7, 40, 3), (3,), (7, 1, 3)],
        [(7, 40, 3), (7, 1, 3), (7, 40, 1)],
        [(5, 4, 33, 6), (5, 1, 1, 6), (1, 4, 33, 1)],
        [(5, 4, 33, 6), (4, 1, 6), (5, 1, 33, 1)],
    ):
        call = runner(lambda x, a, b: [x * a - b, a + 0 * x], *shapes, dtype="float64")
        _, kinds = call(*(numbers("float64", *s) for s in shapes))
        assert all(kinds)


def test_few_elements_within_leading_axes_are_as_they_are():
    for rows, laid_out in ((7, False), (8, True)):
        call = runner(lambda x, c: [x * c], (50, rows, 3), (50, 1, 3), dtype="float32")
        _, kinds = call(numbers("float32", 50, rows, 3), numbers("float32", 50, 1, 3))
        assert bool(kinds[0]) == laid_out


def test_operands_that_are_reversed_strided_and_apart():
    call = runner(lambda x, c, r: [x * c + r], (None, None), (None,), (None, 1), dtype="float32")
    x, c, r = numbers("float32", 900, 7), numbers("float32", 7), numbers("float32", 900, 1)
    for a in (x, x[::-1], x[:, ::-1], np.repeat(x, 3, 1)[:, ::3], np.asfortranarray(x)):
        for b in (c, c[::-1], np.repeat(c, 2)[::2], np.broadcast_to(c[:1], c.shape)):
            for d in (r, r[::-1], np.repeat(r, 2, 0)[::2]):
                call(a, b, d)


def test_nothing_beyond_the_operands_is_read():
    """Vectors of numbers of rows are read from the stack, never from what lies behind an array."""
    call = runner(lambda x, c, r: [x * c + r], (None, None), (None,), (None, 1), dtype="float32")
    for n in (2, 3, 15, 17, 33):
        for rows in (16, 255, 1024):
            for end in (True, False):
                x, c, r = (numbers("float32", *s) for s in ((rows, n), (n,), (rows, 1)))
                call(*(guarded(a, end) for a in (x, c, r)))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_numbers_of_rows_of_narrow_integers(dtype):
    """Lengths up to more than a vector of bytes; numbers that lie side by side and apart."""
    call = runner(lambda x, r: [ops.maximum(x, r)], (None, None), (None, 1), dtype=dtype)
    for n in range(2, 70):
        x, r = numbers(dtype, 997, n), numbers(dtype, 2 * 997, 1)
        call(x, r[:997])
        if n % 5 == 3:
            call(x, r[::2])
            call(x, r[1996::-2])
            call(guarded(x[:300], True), guarded(r[:300], True))


MIRRORED = {
    "mirrored": lambda x: x[:, ::-1, :3],
    "last of each row": lambda x: x[:, :, -3:],
    "every second": lambda x: x[:, ::2, ::3],
    "backwards in a row": lambda x: x[:, :, 4:1:-1],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MIRRORED)
def test_rows_that_lie_apart(name, dtype):
    """Images of few and of many rows, with a number for each pixel and for each channel."""

    def build(x, r, c):
        y = MIRRORED[name](x)
        return [ops.maximum(y, r[:, : y.shape[1]]), ops.where(ops.eq(y, c), c, y) + c]

    for width in (2, 40, 700):
        call = runner(build, (None, width, 8), (None, width, 1), (3,), dtype=dtype)
        for rows in (2, 5) if dtype == "float32" else (3,):
            x = numbers(dtype, rows, width, 8)
            given = x, numbers(dtype, rows, width, 1), numbers(dtype, 3)
            _, kinds = call(*given)
            assert width == 2 or kinds[0] >= {laid.ALONG, laid.APART, laid.REPEAT}
            call(*(guarded(a, True) for a in given))
            call(x[::-1, ::-1], *given[1:])
        call(x[:0], given[1][:0], given[2])


def test_signs_of_zeros_and_nan_of_rows_that_lie_apart():
    call = runner(lambda x: [ops.neg(x[:, :2])], (None, 5), dtype="float32")
    x = np.resize(np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, 2], "f"), (333, 5))
    (got,), kinds = call(x)
    assert kinds == [{laid.APART, laid.ALONG}]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(-x[:, :2]))


def test_threads_begin_within_the_two_axes():
    """Parts of a range begin anywhere in a row of rows, and in a row."""
    shapes = [(999, 41, 7), (999, 1, 7), (999, 41, 1)]
    call = runner(lambda x, c, r: [x * c + r], *shapes, dtype="float32")
    arrays, before = [numbers("float32", *s) for s in shapes], K.get_num_threads()
    try:
        for threads in (1, 2, 4):
            K.set_num_threads(threads)
            _, kinds = call(*arrays)
            assert kinds == [{laid.ALONG, laid.CYCLE, laid.REPEAT}]
    finally:
        K.set_num_threads(before)


def test_any_number_of_threads_gives_the_same_bits():
    shapes = [(None, None), (None,), (None, 1)]
    call = runner(lambda x, c, r: [ops.exp(x - c) * ops.tanh(r)], *shapes, dtype="float32")
    for n in (3, 11, 31):
        arrays = [RNG.standard_normal(s).astype("f") for s in ((60_000, n), (n,), (60_000, 1))]
        before, found = K.get_num_threads(), []
        try:
            for threads in (1, 2, 4):
                K.set_num_threads(threads)
                found.append(call(*arrays, rtol=1e-4)[0][0])
        finally:
            K.set_num_threads(before)
        assert all(np.array_equal(found[0], other) for other in found)


def test_draws_are_those_of_a_flat_loop():
    """A mask of dropout counts elements, which short rows do not change."""
    c = K.placeholder((3,))
    draws = [K.random_uniform((200, 3), seed=7) for _ in range(2)]
    (alone,) = K.function([], [draws[0]])()
    scaled, draw = K.function([c], [draws[1] * c, draws[1]])(np.ones(3, "f"))
    np.testing.assert_array_equal(alone, draw)
    np.testing.assert_array_equal(alone, scaled)


REDUCED = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
}


def reduced_as_a_whole(names, x, c, r, mask, n, rows=4000):
    """(what NumPy and a kernel make of reductions of all short rows, the kinds in that kernel)."""
    leaves = [
        leaf((rows, n), x.dtype.name),
        leaf((1, n), c.dtype.name),
        leaf((rows, 1), r.dtype.name),
    ]
    leaves.append(leaf((rows, n), "bool"))
    a, b, d, m = leaves
    each = ops.where(m, ops.maximum(a, b), ops.minimum(a, d))
    roots = [getattr(ops, name)(each) for name in names]
    f = make_function(leaves, roots, positional_only=True, downcast=False)
    got = f(x, c, r, mask)
    each = np.where(mask, np.maximum(x, c), np.minimum(x, r))
    kernels = [i.kernel for i in f.info.program.drafted("lower").instructions]
    kinds = [{op.laid for op in k.operands} - {""} for k in kernels if k.form == "chunks"]
    return got, [REDUCED[name](each) for name in names], kinds


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_short_rows_reduced_in_one_loop(dtype):
    for n in (12, 17, 31):
        args = [numbers(dtype, *s) for s in ((4000, n), (1, n), (4000, 1))]
        for names in (["max", "sum"], ["any"], ["min", "all"]):
            got, wanted, kinds = reduced_as_a_whole(names, *args, numbers("bool", 4000, n), n)
            assert kinds == [{laid.ALONG, laid.CYCLE, laid.REPEAT}]
            for one, want in zip(got, wanted):
                np.testing.assert_allclose(one, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_products_of_all_short_rows(dtype):
    x, c, r = np.ones((4000, 12), dtype), np.ones((1, 12), dtype), np.ones((4000, 1), dtype)
    x[1700, 3], x[3999, 11], mask = 3, 0.5, np.ones((4000, 12), bool)
    got, wanted, kinds = reduced_as_a_whole(["prod", "max"], x, c * 0.5, r, mask, 12)
    assert kinds and [float(v) for v in got] == [1.5, 3] == [float(v) for v in wanted]
    x[2000, 5] = np.nan
    got, wanted, _ = reduced_as_a_whole(["max", "sum"], x, c, r, mask, 12)
    assert np.isnan(got).all() and np.isnan(wanted).all()


def test_near_misses_of_rows_reduced_in_one_loop():
    """Rows of full vectors, and the place of an extremum."""
    args = [numbers("float64", *s) for s in ((4000, 65), (1, 65), (4000, 1))]
    got, wanted, kinds = reduced_as_a_whole(["sum"], *args, numbers("bool", 4000, 65), 65)
    assert got[0] == wanted[0] and not any(kinds)
    x, c = leaf((4000, 12), "float64"), leaf((1, 12), "float64")
    f = make_function([x, c], [ops.argmax(ops.reshape(x * c, (-1,)))], positional_only=True)
    rows, cycle = numbers("float64", 4000, 12), numbers("float64", 1, 12)
    assert f(rows, cycle)[0] == np.argmax(rows * cycle)


NEAR = {
    "rows of full vectors": (lambda x, c: [x + c], [(50, 65), (65,)]),
    "a running index along the row": (lambda x, c: [x + ops.iota((50, 3), 1)], [(50, 3), (3,)]),
    "rows that are turned": (lambda x, c: [ops.transpose(x) + c], [(3, 50), (3,)]),
    "wide rows that lie apart": (lambda x, c: [x[:, :20] + c], [(50, 23), (20,)]),
    "nothing to lay out": (lambda x, c: [x * 2, c * 2], [(50, 3), (3,)]),
}


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name):
    build, shapes = NEAR[name]
    _, kinds = runner(build, *shapes, dtype="float32")(*(numbers("float32", *s) for s in shapes))
    assert not any(kinds)


def test_repeated_numbers_alone_stop_pays_where_rows_fill_vectors():
    for dtype, last in (("float32", 31), ("float64", 15), ("uint8", 64)):
        for n in (last, last + 1):
            call = runner(lambda x, r: [x + r], (None, n), (None, 1), dtype=dtype)
            _, kinds = call(numbers(dtype, 40, n), numbers(dtype, 40, 1))
            assert kinds == [{laid.ALONG, laid.REPEAT} if n == last else set()]


def parts_of_rows(x):
    """Rows that lie apart: what is before and behind them is of others."""
    return [ops.slice_(x, [(None, None, 1), (1, -1, 1)]), ops.concatenate([x, x[::-1]], 1)]


@pytest.mark.sampled(1, dtype=["bool", "int8", "int32", "float32", "complex64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_all_lengths_that_are_moved(dtype):
    call = runner(parts_of_rows, (None, None), dtype=dtype)
    for n in (*range(2, 40), 62, 63, 64, 65, 66, 67, 97, 130):
        x = numbers(dtype, (1, 3, 18, 300)[n % 4], n)
        call(guarded(x, n % 2 == 0))
        call(x[::-1])
    call(numbers(dtype, 0, 9))


def test_rows_that_are_moved_by_threads_begin_anywhere():
    call, before = runner(parts_of_rows, (None, 50, None), dtype="uint8"), K.get_num_threads()
    try:
        for threads in (2, 3):
            K.set_num_threads(threads)
            for n in (3, 7, 41, 100):
                call(numbers("uint8", 900, 50, n))
    finally:
        K.set_num_threads(before)


@pytest.mark.parametrize(
    "build, moved",
    [(lambda x: x[:, 1:], True), (lambda x: x[::-2, 2:-1], True), (lambda x: x[:, ::-1], False),
     (lambda x: x[:, ::2], False), (lambda x: ops.cast(x[:, 1:], "int32"), False),
     (lambda x: x[1:], False), (lambda x: x[:, 1:] + 1, False),
     (lambda x: ops.concatenate([ops.broadcast_like(ops.expand(x[0], (0,)), x), x], 1), True)],
    ids=["slice", "steps of rows", "mirrored", "every second", "cast", "as one", "computed",
         "one row for all, beside others"],
)  # fmt: skip
def test_what_only_moves_rows(build, moved):
    x = leaf((None, None), "float32")
    root = build(x)
    f, given = make_function([x], [root], positional_only=True), numbers("float32", 90, 11)
    np.testing.assert_array_equal(f(given)[0], evaluate([root], {x: given})[0])
    assert ("rows moved as they are" in f.source()) == moved


def test_how_long_rows_may_be_that_are_copied_side_by_side():
    """Of one array or two; of bytes any length, of elements that do not lie together few."""
    one, two = (lambda x: [ops.neg(x[:, 1:])]), (lambda x: [x[:, 1:] + x[:, :-1]])
    every = lambda x: [ops.neg(x[:, 2::2])]  # noqa: E731
    cases = [(one, "float32", 15), (two, "float32", 7), (one, "float64", 7), (two, "float64", 3),
             (one, "uint8", 64), (every, "float32", 5)]  # fmt: skip
    for build, dtype, most in cases:
        for n in (most, most + 1):
            width = 2 * n + 2 if build is every else n + 1
            call = runner(build, (None, width), dtype=dtype)
            _, kinds = call(guarded(numbers(dtype, 700, width), True))
            assert (laid.APART in kinds[0]) == (n == most), (dtype, n)
