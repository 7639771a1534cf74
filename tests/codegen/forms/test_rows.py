"""Row programs: what the second loop over a row asks for, and that it computes the same."""

import re

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen.forms.row_loops import AT_ONCE, KNOWN
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from ..planned import leaf

RNG = np.random.default_rng(3)


def run(build, x):
    """(result, lines of C that prefetch) of build(leaf) on x; the result is checked."""
    s = leaf((None,) * x.ndim, x.dtype.name)
    root = build(s)
    function = make_function([s], [root], positional_only=True)
    (got,) = function(x)
    np.testing.assert_allclose(got, evaluate([root], {s: x})[0], rtol=2e-4, atol=2e-5)
    return [line.strip() for line in function.info.source().split("\n") if "_prefetch" in line]


def normalised(x):
    off = x - ops.mean(x, 1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), 1, keepdims=True) + 1e-5)


def softmax(x):
    return ops.softmax(x, 1)


def shaped(rows, columns):
    return RNG.standard_normal((rows, columns), dtype="float32")


def test_long_rows_from_memory_ask_for_what_comes_next():
    asked = run(normalised, shaped(700, 800))
    assert [line.endswith(", 1);") for line in asked] == [False, True]  # the next row; the result


@pytest.mark.parametrize("shape", [(64, 768), (40000, 16), (9, 4097)], ids=str)
def test_rows_in_cache_short_ones_and_very_long_ones_do_not(shape):
    assert not run(normalised, shaped(*shape))


@pytest.mark.parametrize("shape", [(2, 16), (3, 17), (5, 513), (6, 1025)], ids=str)
def test_exponentials_always_do(shape):
    assert len(run(softmax, shaped(*shape))) == 2


def test_only_what_lies_side_by_side_is_asked_for():
    assert all("a0" not in line for line in run(lambda x: softmax(x[:, ::2]), shaped(20, 40)))
    assert not run(lambda x: ops.sum(ops.exp(x - 1), 1), shaped(20, 40))  # one loop


# ---- the vector that ends with the row ----


LONG = [
    *range(14, 35),
    47,
    48,
    49,
    100,
    511,
    512,
    513,
    520,
    528,
    1000,
    1023,
    1024,
    1025,
    4097,
    5000,
]
RESTS = {
    "softmax": softmax,
    "sum": lambda x: ops.sum(ops.exp(x), 1),
    "product": lambda x: ops.prod(ops.exp(x / 100), 1),
    "maximum": lambda x: ops.max(x, 1),
    "minimum": lambda x: ops.min(ops.tanh(x), 1),
    "of conditions": lambda x: ops.any(ops.exp(x) > 9, 1),
    "together": lambda x: (
        ops.tanh(x) - ops.max(x, 1, keepdims=True) * ops.sum(ops.exp(x), 1)[:, None]
    ),
    "argmax": lambda x: ops.argmax(ops.tanh(x), 1),
    "spread": lambda x: ops.sum(ops.square(ops.sin(x - ops.mean(ops.cos(x), 1)[:, None])), 1),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RESTS)
def test_rows_of_all_lengths(name, dtype):
    """Whatever is left behind the last whole vector counts once, with NaN and infinities in it."""
    x = leaf((None, None), dtype)
    root = RESTS[name](x)
    f = make_function([x], [root], positional_only=True)
    for columns in LONG:
        a = shaped(6, columns).astype(dtype)
        a[1, -1], a[2, -17:-14], a[3, -1], a[4, -2] = 4, np.nan, np.inf, -np.inf
        a[5] = 1
        with np.errstate(all="ignore"):
            (want,) = evaluate([root], {x: a.astype("float64")})
            got = f(a)[0]
        rtol = 2e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, err_msg=str(columns))


def test_rests_of_pieces_of_a_row():
    """Axes that do not lie as one: each piece has a rest of its own."""
    x = leaf((None, None, None))
    root = ops.softmax(ops.reshape(x, (-1,)))[:1] + ops.sum(ops.exp(x), (0, 2))[:1]
    both = [ops.sum(ops.exp(x), (0, 2)), ops.max(x, (0, 2)), root]
    f = make_function([x], both, positional_only=True)
    for shape in ((3, 4, 17), (2, 40, 33), (5, 3, 100), (4, 2, 16), (1, 1, 31)):
        a = RNG.standard_normal(shape, dtype="float32")
        for array in (a, np.repeat(a, 2, 2)[:, :, ::2], np.asfortranarray(a)):
            for got, want in zip(f(array), evaluate(both, {x: array})):
                np.testing.assert_allclose(got, want, rtol=1e-5)


def test_only_dear_loops_and_extremes_take_the_rest_as_a_vector():
    def ends(build):
        s = leaf((None, None))
        f = make_function([s], [build(s)], positional_only=True)
        f(shaped(40, 20))
        return f.info.source().count("- 16; j <")

    assert ends(softmax) == 1  # its largest element is ck_max_of_f32's
    assert ends(lambda x: ops.sum(ops.square(x), 1)) == 0
    assert ends(normalised) == 0
    assert ends(lambda x: ops.max(ops.square(x), 1)) == 1
    assert ends(lambda x: ops.max(x, 1)) == 0


# ---- sums of several vectors side by side ----

SUMS = {
    "sum": lambda x, y: ops.sum(x),
    "of squares": lambda x, y: ops.sum(ops.square(x)),
    "of products": lambda x, y: ops.sum(x * y),
    "two": lambda x, y: ops.sum(x) - ops.sum(x * 2 + 1),
    "of rows": lambda x, y: ops.sum(x, -1),
    "of products of rows": lambda x, y: ops.sum(x * y, -1),
    "of a number": lambda x, y: ops.sum(x * 0 + y[0, 0]),
    "product": lambda x, y: ops.prod(ops.maximum(x, 38) - 37),  # of 1 and 2
    "products of rows": lambda x, y: ops.prod(ops.maximum(x, 38) - 37, -1),
}
AROUND_BLOCKS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 191, 192, 200, 1000, 4097]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SUMS)
def test_each_element_is_summed_once(name, dtype):
    """Sums of whole numbers and products of powers of two are exact, whatever their order; NaN and
    infinities come through."""
    x, y = leaf((None, None), dtype), leaf((None, None), dtype)
    f = make_function([x, y], [SUMS[name](x, y)], positional_only=True)
    shapes = [(1, n) for n in AROUND_BLOCKS] + [(3, 129), (700, 131), (2, 16384), (5, 16391)]
    shapes += [(3, n) for n in (2047, 2048, 2049, 2112, 5000)]
    for shape in shapes:
        if name == "of a number" and not shape[1]:
            continue
        a, b = (RNG.integers(-40, 40, shape).astype(dtype) for _ in range(2))
        (want,) = evaluate([SUMS[name](x, y)], {x: a, y: b})
        np.testing.assert_array_equal(f(a, b)[0], want, err_msg=str(shape))
        for at in range(0, a.size, max(1, a.size // 37)):
            for number in (np.nan, np.inf):
                spoilt = a.copy()
                spoilt.flat[at] = number
                with np.errstate(invalid="ignore"):
                    (want,) = evaluate([SUMS[name](x, y)], {x: spoilt, y: b})
                np.testing.assert_array_equal(f(spoilt, b)[0], want, err_msg=f"{shape} {at}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [None, 1])
def test_a_second_loop_over_the_same_numbers(axis, dtype):
    """It prefetches in blocks of its own."""
    x = leaf((None, None), dtype)
    roots = [ops.sum(x, axis), ops.var(x, axis), ops.sum(ops.square(x - ops.max(x)), axis)]
    f = make_function([x], roots, positional_only=True)
    for shape in [(1, n) for n in AROUND_BLOCKS[1:]] + [(700, 131), (2, 16384), (5, 16391)]:
        a = RNG.integers(-40, 40, shape).astype(dtype)
        for got, want in zip(f(a), evaluate(roots, {x: a.astype("float64")})):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-9, err_msg=str(shape))


def test_which_sums_are_taken_side_by_side():
    def blocks(build, shape, dtype="float32"):
        s = leaf((None,) * len(shape), dtype)
        f = make_function([s], [build(s)], positional_only=True)
        a = np.ones(shape, dtype)
        np.testing.assert_allclose(f(a)[0], evaluate([build(s)], {s: a.astype("float64")})[0], 1e-3)
        return f.info.source().count("CK_SIDE_BY_SIDE(")

    large, small = (300, 400), (30, 40)
    assert blocks(ops.sum, large) == 2  # of floats, and of the double of each chunk
    assert blocks(ops.sum, small, "float64") == 1
    assert blocks(lambda x: ops.sum(x, 1), large, "float64") == 1
    assert blocks(lambda x: ops.sum(x, 1), large) == 1  # rows of floats; of 2048 at least
    assert blocks(lambda x: ops.sum(x * x[::-1], 1), large) == 0
    assert blocks(lambda x: ops.sum(x * x[::-1]), large) == 1  # floats of two operands
    assert blocks(lambda x: ops.sum(x[:, ::2], 1), large, "float64") == 0  # every other number
    assert blocks(lambda x: ops.sum(ops.exp(x), 1), large, "float64") == 0  # dear
    assert blocks(lambda x: ops.prod(x, 1), large, "float64") == 1
    assert blocks(lambda x: ops.max(x, 1), large, "float64") == 0
    assert blocks(lambda x: ops.sum(x, 1), large, "int64") == 0
    assert blocks(lambda x: ops.sum(x, 1), large, "float16") == 0


# ---- truth values that are known early -----------------------------------------------------------


def truth(build, x):
    """The C of build(leaf) on x, whose results are those of NumPy's oracle."""
    s = leaf((None,) * x.ndim, x.dtype.name)
    roots = build(s)
    function = make_function([s], roots, positional_only=True)
    for got, want in zip(function(x), evaluate(roots, {s: x})):
        np.testing.assert_array_equal(got, want)
    return function.info.source()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("length", [1, KNOWN - 1, KNOWN, KNOWN + 1, 2 * KNOWN, 40_000])
def test_truth_values_stop_at_what_decides_wherever_it_lies(dtype, length):
    places = {0, length // 2, length - 1, min(KNOWN, length - 1), min(KNOWN, length) - 1}
    places |= {min(AT_ONCE, length) - 1, min(AT_ONCE, length - 1)}
    for at in sorted(places):
        x = np.zeros((3, length), dtype)
        x[1, at] = 1
        for rows in (x, x == 0, x[:, ::-1], x[1], np.repeat(x, 2, 1)[:, ::2]):
            text = truth(lambda s: [ops.any(s, s.ndim - 1), ops.all(s, s.ndim - 1)], rows)
            assert "break;" in text or length == 1  # which no loop goes over


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
def test_truth_values_of_runs_stop_at_the_run_that_decides(dtype):
    for at in (0, 1, 17, 299, 300, 40 * 300 - 1):
        x = np.zeros(40 * 300, dtype)
        x[at] = 1
        x = np.repeat(x.reshape(40, 300), 2, 1)[:, ::2]
        assert "break;" in truth(lambda s: [ops.any(s), ops.all(ops.eq(s, 0))], x)
        block = np.stack([x, np.zeros_like(x)], 1)  # reduced around the middle
        truth(lambda s: [ops.any(s, (0, 2)), ops.all(ops.eq(s, 0), (0, 2))], block)


def test_truth_values_are_as_wide_as_what_they_are_of():
    for dtype, kind in (("uint8", "uint8_t"), ("float32", "int"), ("float64", "int64_t")):
        text = truth(lambda s: [ops.any(s, 1)], np.zeros((3, 70), dtype))
        assert re.search(rf" {kind} a_\d+ = 0;", text), dtype
        text = truth(lambda s: [ops.max(s[:, ::-1], 1)], np.zeros((3, 70), dtype))
        assert (f" {kind} bad_" in text) == dtype.startswith("float")


def test_nan_is_true_and_no_element_decides_nothing():
    x = np.zeros((2, 3000), "float32")
    x[0, 2999] = np.nan
    truth(lambda s: [ops.any(s, 1), ops.all(ops.isnan(s), 1)], x)
    truth(lambda s: [ops.any(s, 1), ops.all(s, 1)], np.zeros((4, 0), "bool"))
    truth(lambda s: [ops.any(s, 1), ops.all(s, 1)], np.zeros((0, 40), "bool"))


def test_loops_that_sum_as_well_go_on_to_the_end():
    x = RNG.integers(0, 2, (5, 3000)).astype("int32")
    text = truth(lambda s: [ops.any(s, 1), ops.sum(s, 1)], x)
    assert text.count("for (int64_t r ") == 1 and "break;" not in text


# ---- sums between two places ----

LEAST, MOST = np.iinfo("int64").min, np.iinfo("int64").max
ENDS = [-1, 0, 1, 15, 16, 17, 40, 49, 50, 51, LEAST, LEAST + 1, MOST, MOST - 1]


def at_once(size, op, turned, low):
    """(x, n) -> sums of x, and of its squares, where its place in the row is on a side of n."""

    def build(x, n, m):
        places = ops.arange(0, size, 1, "int64")
        test = getattr(ops, op)(*((n, places) if turned else (places, n)))
        test = ops.logical_and(test, ops.ge(places, m)) if low else test
        x = ops.where(test, x, 0)
        return ops.sum(x, -1), ops.sum(x * ops.square(x), -1)

    return build


@pytest.mark.sampled(1)
@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("low", [False, True])
def test_sums_between_two_places(op, turned, low):
    """Of rows and of chunks; numbers beyond do not matter, whatever they are."""
    holds = getattr(np, {"lt": "less", "le": "less_equal", "gt": "greater",
                         "ge": "greater_equal"}[op])  # fmt: skip
    for dtype, shape in (("float64", (3, 50)), ("float32", (3, 50)), ("int64", (3, 50)),
                         ("float64", (1 << 18,)), ("float64", (2, 0))):  # fmt: skip
        size = shape[-1]
        leaves = [leaf(shape, dtype), leaf((), "int64"), leaf((), "int64")]
        outputs = list(at_once(size, op, turned, low)(*leaves))
        f = make_function(leaves, outputs, positional_only=True, downcast=False)
        whole = RNG.integers(-9, 9, shape).astype(dtype)
        for n in (*ENDS, size // 3, size - 1) if size <= 50 else (LEAST, -1, 0, 70001, size, MOST):
            for m in (-1, 7, 48, MOST) if low else (0,):
                x, places = whole.copy(), np.arange(size)
                inside = holds(n, places) if turned else holds(places, n)
                inside &= (places >= m) if low else True
                if dtype != "int64":
                    x[..., ~inside] = np.resize([np.nan, np.inf, -np.inf], (~inside).sum())
                for got, want in zip(f(x, np.int64(n), np.int64(m)), (x, x**3)):
                    want = np.where(inside, want, 0).sum(-1)
                    np.testing.assert_array_equal(got, want, f"{op} {n} {m} {shape}")


def test_what_a_run_has_once_is_read_before_it():
    def masked(x):
        return ops.sum(ops.where(x[:, :1] > 0, x * x[:, :1], 0))

    def of_parts(x):
        return ops.max(ops.exp(x[:, :1]) + x[:, 1:] * ops.abs(x[:, :1]))

    for build in (masked, of_parts):
        for shape in ((7, 3), (12, 10), (40, 33), (2, 200), (5000, 12), (5000, 40)):
            x = RNG.standard_normal(shape)
            s = leaf((None, None), "float64")
            root = build(s)
            function = make_function([s], [root], positional_only=True)
            np.testing.assert_allclose(
                function(x)[0], evaluate([root], {s: x})[0], rtol=1e-12, atol=1e-12
            )
        lines = [line.strip() for line in function.info.source().split("\n")]
        inner = lines.index("for (int64_t j = 0; j < n; j++) {")
        read = [k for k, line in enumerate(lines) if line.endswith("b1[0];") or "= b0[0]" in line]
        assert read and max(read) < inner
