"""Passes over kernels: each where it applies, and on inputs that almost match, against NumPy.

In mode "fast_compile" few rewrites run before, so that kernels see the formulas as written.
"""

import re

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen import passes
from ckernels.codegen.ir import Kernel, Operand, Value
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from .planned import leaf

RNG = np.random.default_rng(7)


def run(build, *arrays, mode="fast_compile"):
    """(result, C text) of build(*leaves) on arrays."""
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    function = make_function(leaves, [build(*leaves)], positional_only=True, mode=mode)
    return function(*arrays)[0], function.info.source()


def full(value, shape=(3, 5), dtype="float32"):
    return np.full(shape, value, dtype)


def normal(*shape, dtype="float32"):
    return RNG.normal(size=shape).astype(dtype)


# ---- quotients by the sum of a softmax become products with its reciprocal ----


def over_sum(z, a, b, axis=1):
    """z / sum(exp(a - max(b)))."""
    e = ops.exp(a - ops.max(b, axis, keepdims=True))
    return z / ops.sum(e, axis, keepdims=True)


def over_sum_below(z, x, low):
    """z / sum(exp(x - maximum(max(x), low)))."""
    top = ops.maximum(ops.max(x, 1, keepdims=True), low)
    return z / ops.sum(ops.exp(x - top), 1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_divides_once_per_row(dtype, axis):
    x = 30 * normal(6, 50, dtype=dtype)

    def softmax(x):
        e = ops.exp(x - ops.max(x, axis, keepdims=True))
        return e / ops.sum(e, axis, keepdims=True)

    got, text = run(softmax, x)
    e = np.exp((x - x.max(axis, keepdims=True)).astype("longdouble"))
    np.testing.assert_allclose(
        got, e / e.sum(axis, keepdims=True), rtol=8 * np.finfo(dtype).eps, atol=1e-38
    )
    assert text.count("1.0f / " if dtype == "float32" else "1.0 / ") == 1


@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_the_sum_of_other_exponentials_may_be_tiny(mode):
    """The maximum of b says nothing of a: here the sum is subnormal, its reciprocal infinite."""
    got, _ = run(over_sum, full(1e-43), full(0), full(100), mode=mode)
    want = np.float32(1e-43) / np.float64(5 * np.float32(np.exp(-100.0)))
    np.testing.assert_allclose(got, full(want), rtol=0.05)  # both are subnormal
    assert np.isfinite(got).all()


@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_exponentials_over_their_own_tiny_sum(mode):
    def build(a, b):
        e = ops.exp(a - ops.max(b, 1, keepdims=True))
        return e / ops.sum(e, 1, keepdims=True)

    got, _ = run(build, full(0, (3, 4)), full(100, (3, 4)), mode=mode)
    np.testing.assert_array_equal(got, full(0.25, (3, 4)))


@pytest.mark.parametrize(
    "build, arrays",
    [
        (lambda z, x: over_sum(z, 2 * x, x), (full(1e-43), full(-50))),
        (lambda z, x: over_sum(z, x, -x), (full(1e-43), full(-50))),
        (
            lambda z, x: z / ops.sum(ops.exp(x - ops.min(x, 1, keepdims=True)), 1, keepdims=True),
            (full(1), np.array([[0, 80, 80, 80, 80]] * 3, "float32")),
        ),
        (
            lambda z, x: z / ops.prod(ops.exp(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
            (full(1e-43), np.array([[0, -100, 0, 0, 0]] * 3, "float32")),
        ),
        (
            lambda z, x: z / ops.sum(ops.exp2(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
            (full(3), normal(3, 5)),
        ),
        (
            lambda z, x: z / ops.max(ops.exp(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
            (full(3), normal(3, 5)),
        ),
        (lambda z, x: over_sum_below(z, x, np.float32(0)), (full(1e-43), full(-100))),
        (lambda z, x: over_sum_below(z, x, -x), (full(1e-43), full(-50))),
    ],
    ids=["twice x", "minus x", "minimum", "product", "exp2", "maximum of exponentials"]
    + ["at least 0", "at least minus x"],
)
def test_almost_a_softmax(build, arrays):
    got, text = run(build, *arrays)
    leaves = [leaf(a.shape, "float64") for a in arrays]
    (want,) = evaluate([build(*leaves)], dict(zip(leaves, [a.astype("float64") for a in arrays])))
    tiny = arrays[0].max() < 1e-40  # few bits are left in subnormal numbers
    np.testing.assert_allclose(got, want, rtol=0.05 if tiny else 1e-5)
    assert "1.0f / " not in text


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 3, 40, 600])
def test_rows_of_infinities_and_nan(dtype, axis, size):
    """As NumPy's: NaN in rows of -inf alone, and in those with an inf or a NaN."""
    shape = [6, 7, 5]
    shape[axis] = size
    x = (10 * normal(*shape)).astype(dtype)
    rows = np.moveaxis(x, axis, -1).reshape(-1, size)  # copies: written back below
    rows[0], rows[1, -1], rows[2, 0], rows[3, 0] = -np.inf, -np.inf, np.inf, np.nan
    rows[4], rows[5], rows[6] = np.finfo(dtype).min, np.finfo(dtype).max, np.inf
    rows[7, : size // 2] = -np.inf
    moved = [n for i, n in enumerate(shape) if i != axis] + [size]
    x = np.ascontiguousarray(np.moveaxis(rows.reshape(moved), -1, axis))
    wide = x.astype("float64")
    with np.errstate(invalid="ignore", over="ignore"):
        e = np.exp(wide - wide.max(axis, keepdims=True))
        want = e / e.sum(axis, keepdims=True)
    limits = {"rtol": 64 * np.finfo(dtype).eps, "atol": 1e-7 if dtype == "float16" else 1e-37}
    for mode in ("compiled", "fast_compile"):
        got, _ = run(lambda x: ops.softmax(x, axis), x, mode=mode)
        np.testing.assert_allclose(got, want, **limits)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_and_logsumexp_take_one_exponential(dtype):
    x = leaf((None, None), dtype)
    outputs = [ops.softmax(x, 1), ops.logsumexp(x, 1)]
    f = make_function([x], outputs, positional_only=True)
    a = 30 * normal(6, 50, dtype=dtype)
    a[1, 3], a[2], a[3, :2], a[4, 5] = -np.inf, -np.inf, np.inf, np.nan
    p, y = f(a)
    wide = a.astype("float64")
    with np.errstate(divide="ignore", invalid="ignore"):
        top = wide.max(1, keepdims=True)
        e = np.exp(wide - top)
        total = e.sum(1, keepdims=True)
        want = np.where(np.isfinite(top), np.log(total) + top, top)[:, 0]
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(p, e / total, rtol=64 * eps, atol=1e-37)
    np.testing.assert_allclose(y, want, rtol=8 * eps)
    assert len(f.info.steps()) == 1
    assert len(set(re.findall(r" = (ck_exp\w*\(.+\));", f.info.source()))) == 1


# ---- the exponential of x - logsumexp(x) is a multiple of the summed ones ----


LOWEST = np.finfo("float32").min


def exp_less_logsumexp(x, top, lowest=LOWEST):
    """exp(x - y), y = log(sum(exp(x - top))) + top; both at least `lowest`."""
    top = ops.maximum(top, np.float32(lowest))
    y = ops.log(ops.sum(ops.exp(x - ops.expand_dims(top, 1)), 1)) + top
    y = ops.maximum(ops.where(ops.isfinite(top), y, top), np.float32(lowest))
    return ops.exp(x - ops.expand_dims(y, 1))


def finite(x):
    return ops.where(ops.isfinite(x), x, 0)


@pytest.mark.parametrize("lowest", [LOWEST, -60])
def test_a_logsumexps_gradient_takes_one_exponential_per_element(lowest):
    x = 20 * normal(6, 40)
    x[1, 3], x[2], x[3, :2], x[4, 5] = -np.inf, -np.inf, np.inf, np.nan
    x[5] = -80
    got, text = run(lambda x: exp_less_logsumexp(x, ops.max(x, 1), lowest), x)
    wide = x.astype("float64")
    top = np.maximum(wide.max(1, keepdims=True), lowest)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(np.exp(wide - top).sum(1, keepdims=True)) + top
        want = np.exp(wide - np.maximum(np.where(np.isfinite(top), y, top), lowest))
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-38)
    assert ("ck_exp" in text.rsplit("for (", 1)[1]) == (lowest != LOWEST)


@pytest.mark.parametrize("shift", [95, 100, 103])
def test_a_top_that_is_no_maximum(shift):
    """exp(x - top) is tiny and exp(top - y) overflows although their product is about 1."""
    x = full(0)
    for build in (
        lambda x, b: exp_less_logsumexp(x, ops.max(b, 1)),
        lambda x, b: exp_less_logsumexp(x, finite(ops.max(b, 1))),
        lambda x, b: exp_less_logsumexp(x, ops.maximum(ops.max(x, 1), ops.max(b, 1))),
    ):
        got, _ = run(build, x, full(shift))
        assert np.isfinite(got).all() and (got > 0.1).all(), got


# ---- exponentials of what is never positive need one scale ----

NEVER_POSITIVE = {
    "a Gaussian": lambda x, y: ops.exp(-x * x / 2),
    "of a square": lambda x, y: ops.exp(-ops.square(x - y) / 8.0),
    "of a difference": lambda x, y: ops.exp(-0.5 - ops.square(x) * 3.0),
    "of a sum": lambda x, y: ops.exp(-(ops.abs(x) + ops.square(y))),
    "of two signs": lambda x, y: ops.exp(ops.abs(x) * -ops.square(y)),
    "of a root": lambda x, y: ops.exp(-ops.sqrt(ops.abs(x))),
    "of a norm": lambda x, y: ops.exp(-ops.sum(ops.square(x), 1)),
    "of another": lambda x, y: ops.exp(-ops.exp(x)),
}
ALMOST_NEVER = {
    "of a number": lambda x, y: ops.exp(-x),
    "of a square": lambda x, y: ops.exp(ops.square(x) / 8.0),
    "of two factors": lambda x, y: ops.exp(-x * y),
    "with a number above": lambda x, y: ops.exp(0.5 - ops.square(x)),
    "with another sum": lambda x, y: ops.exp(x - ops.square(y)),
    "of a negative quotient": lambda x, y: ops.exp(-ops.square(x) / -8.0),
    "of a quotient by what may be -0.0": lambda x, y: ops.exp(-ops.square(x) / -ops.abs(y)),
    "of a root that may be -0.0": lambda x, y: ops.exp(-1.0 / ops.sqrt(y)),
    "of a sum of both": lambda x, y: ops.exp(-ops.sum(x, 1)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*NEVER_POSITIVE, *(f"almost {n}" for n in ALMOST_NEVER)])
def test_exponentials_of_what_is_never_positive(name, dtype):
    build = ALMOST_NEVER[name[7:]] if name.startswith("almost ") else NEVER_POSITIVE[name]
    x, y = normal(2, 3, 60).astype(dtype) * 4
    x[0, :8] = 0, -0.0, np.inf, -np.inf, np.nan, 1e-3, 9.5, -27
    y[0, 4:12] = 0, -0.0, np.inf, -np.inf, np.nan, 1e-3, 9.5, 27
    got, text = run(build, x, y)
    leaves = [leaf(a.shape, "float64") for a in (x, y)]
    with np.errstate(all="ignore"):
        (want,) = evaluate([build(*leaves)], dict(zip(leaves, (x, y))))
        np.testing.assert_allclose(
            got, want.astype(dtype), rtol=1e-4 if dtype[5] == "3" else 1e-12, atol=1e-44
        )
    assert ("ck_exp_below_" in text) == (name in NEVER_POSITIVE)


# ---- exponentials of what is at most zero need one scale ----


def below(x, top):
    return ops.exp(x - ops.expand_dims(top, 1))


def rows_of_all_kinds(dtype):
    """Rows with inf, -inf, NaN, nothing else, and all magnitudes of differences."""
    x = (normal(9, 70) * np.logspace(-6, 2, 9)[:, None]).astype(dtype)
    x[2, 5], x[3, 6], x[4] = -np.inf, np.nan, -np.inf
    x[6, 7], x[7, 3:5] = np.inf, (np.inf, np.nan)
    x[8, :2] = 3e38, -3e38
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("least", [None, -1, 40], ids=["maximum", "a lower one", "a higher one"])
def test_exponentials_below_a_maximum(least, dtype):
    def top(x):
        return ops.max(x, 1) if least is None else ops.maximum(ops.max(x, 1), least)

    x = rows_of_all_kinds(dtype)
    got, text = run(lambda x: ops.sum(below(x, top(x)), 1), x)
    assert "ck_exp_shifted_" in text
    each, text = run(lambda x: ops.stack([below(x, top(x)), below(x, top(x))])[0], x)
    assert "ck_exp_shifted_" in text
    with np.errstate(all="ignore"):
        most = x.max(1, keepdims=True)
        most = most if least is None else np.maximum(most, x.dtype.type(least))
        want = np.exp((x - most).astype("float64")).astype(dtype)
    tight = {"rtol": 2 * np.finfo(dtype).eps, "atol": 2 * np.finfo(dtype).smallest_subnormal}
    np.testing.assert_allclose(each, want, **tight)
    np.testing.assert_allclose(got, want.sum(1), rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: below(x, ops.min(x, 1)),
        lambda x: below(2 * x, ops.max(x, 1)),
        lambda x: below(x, ops.max(-x, 1)),
        lambda x: below(x, ops.mean(x, 1)),
        lambda x: ops.exp(ops.expand_dims(ops.max(x, 1), 1) - x),
        lambda x: ops.exp(x + ops.expand_dims(ops.max(x, 1), 1)),
        lambda x: below(x, ops.maximum(ops.min(x, 1), 4)),
        lambda x: below(x, ops.minimum(ops.max(x, 1), 4)),
        lambda x: below(x, finite(ops.max(x, 1))),
        lambda x: below(x, ops.where(ops.isfinite(ops.max(x, 1)), ops.max(x, 1), -80)),
        lambda x: below(x, ops.where(ops.isfinite(ops.min(x, 1)), ops.max(x, 1), 0)),
    ],
    ids=[
        "minimum",
        "twice",
        "of -x",
        "mean",
        "turned",
        "sum",
        "above a minimum",
        "at most",
        "finite",
        "not zero",
        "of another",
    ],
)
def test_almost_below_a_maximum(build):
    x = np.array([[-44, -1, 3, 43], [0, 75, 80, 85], [-90, -80, -1, -0.0]], "float32")
    got, text = run(build, x)
    with np.errstate(over="ignore"):
        want = reference(build, x).astype("float32")
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert "ck_exp_f32" in text and "ck_exp_shifted" not in text


# ---- quotients by a root that is fixed along a row become products ----


def reference(build, *arrays):
    """The result in float64, by the oracles."""
    leaves = [leaf(a.shape, "float64") for a in arrays]
    return evaluate([build(*leaves)], dict(zip(leaves, [a.astype("float64") for a in arrays])))[0]


@pytest.mark.parametrize("axis", [0, 1])
def test_quotients_by_a_root_per_row_share_its_reciprocal(axis):
    def build(x):
        scale = ops.sqrt(ops.sum(ops.square(x), axis, keepdims=True))
        return ops.tanh(x / scale) - ops.exp(x) / scale

    x = normal(40, 30)
    got, text = run(build, x)
    np.testing.assert_allclose(got, reference(build, x), rtol=1e-5, atol=1e-6)
    assert text.count("1.0f / ") == 1


def test_a_root_that_lies_in_memory():
    """The load says which op made what it reads."""
    x, r = leaf((None, None)), leaf((None, 1))
    root = ops.sqrt(r)
    function = make_function([x, r], [x / root, root], positional_only=True, mode="fast_compile")
    a, b = normal(30, 40), np.abs(normal(30, 1)) + 1
    np.testing.assert_allclose(function(a, b)[0], a / np.sqrt(b), rtol=3e-7)
    assert function.info.source().count("1.0f / ") == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x / ops.sqrt(ops.square(x) + 1),  # of each element
        lambda x: x / (ops.sqrt(ops.sum(ops.square(x), 1, keepdims=True)) + 1),  # a sum
        lambda x: x / ops.sum(ops.square(x), 1, keepdims=True),  # no root
        lambda x: ops.sum(ops.square(x), 1) / ops.sqrt(ops.sum(ops.exp(x), 1)),  # once per row
        lambda x: ops.sqrt(ops.sum(ops.square(x), 1, keepdims=True)) / x,  # above the line
    ],
    ids=["per element", "root plus 1", "no root", "both per row", "root above"],
)
def test_almost_a_quotient_by_a_root_per_row(build):
    x = normal(20, 30) + np.float32(0.1)
    got, text = run(build, x)
    np.testing.assert_allclose(got, reference(build, x), rtol=1e-5)
    assert "1.0f / " not in text


def test_roots_at_the_edges():
    """The reciprocal of a root is 0 and infinite where the quotient is 0 and infinite or NaN."""
    x = np.array([[0, 1, -3, np.inf, np.nan]] * 5, "float32")
    r = np.array([[0], [np.inf], [1e-45], [3e38], [np.nan]], "float32")
    got, text = run(lambda x, r: x / ops.sqrt(r), x, r)
    with np.errstate(all="ignore"):
        want = x / np.sqrt(r)
    np.testing.assert_allclose(got, want, rtol=2e-7)
    assert text.count("1.0f / ") == 2  # of each row: where these lie side by side, or apart


# ---- quotients by one number in sums become products ----


def density(x, s, m):
    """Sums of squares and of quotients by one number of each row, and the quotients of others."""
    z = (x - m) / s
    return ops.sum(-0.5 * ops.square(z) - ops.log(s), 1) + ops.sum(z * x, 1)


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-13), ("float32", 2e-6)])
@pytest.mark.parametrize("axis", [0, 1])
def test_quotients_in_sums_are_products(axis, dtype, rtol):
    for size in (1, 7, 100, 3000):
        x, m = normal(4, size, dtype=dtype), np.asarray(normal(dtype=dtype))
        s = np.exp(normal(4, 1, dtype=dtype))
        if axis == 0:
            x = np.asfortranarray(x)
        leaves = [leaf(a.shape if a.ndim < 2 else (None, a.shape[1] if a is s else None), dtype)
                  for a in (x, s, m)]  # fmt: skip
        f = make_function(leaves, [density(*leaves)], positional_only=True)
        z = (x.astype(float) - m) / s
        want = (-0.5 * z * z - np.log(s.astype(float))).sum(1) + (z * x).sum(1)
        np.testing.assert_allclose(f(x, s, m)[0], want, rtol=rtol, atol=rtol * size)
        over = re.findall(r"(\S+) / v", f.info.source())
        assert size == 1 or over and set(over) <= {"1.0", "1.0f"}  # a row of one is no sum
    for bad in (np.nan, np.inf, 0, -0.0):
        s[1] = bad
        with np.errstate(all="ignore"):
            z = (x - m) / s
            want = (-0.5 * z * z - np.log(s)).sum(1) + (z * x).sum(1)
        np.testing.assert_allclose(f(x, s, m)[0], want, rtol=1e-3)


@pytest.mark.parametrize(
    "build",
    [
        lambda x, s: [ops.sum(x * x / s, 1), x * x / s],
        lambda x, s: [ops.sum(ops.exp(x / s) + x, 1)],
        lambda x, s: [ops.sum(ops.where(ops.lt(x / s, 1), x, 2 * x), 1)],
        lambda x, s: [ops.max(x / s + x, 1)],
        lambda x, s: [ops.sum(ops.square(s / x), 1)],
        lambda x, s: [ops.prod(x / s + x, 1)],
    ],
    ids=["stored too", "an exponential", "a condition", "a maximum", "above", "a product"],
)
def test_other_quotients_by_one_number_stay(build):
    x, s = normal(20, 30), np.abs(normal(20, 1)) + 1
    leaves = [leaf(a.shape) for a in (x, s)]
    f = make_function(leaves, build(*leaves), positional_only=True)
    for got, want in zip(f(x, s), evaluate(build(*leaves), dict(zip(leaves, (x, s))))):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert "1.0f / " not in f.info.source() and " / " in f.info.source()


# ---- a maximum and its place ----


def kernel_of(*values, stores=((1, 4),), form="rows", runs=0):
    """A kernel that loads x and stores some values."""
    operands = (
        Operand("in", "float32", 1),
        Operand("out", "int32", 1),
        Operand("index", "int32", 1),
        Operand("in", "float32", 1),
    )
    return Kernel(form, 1, runs, operands, (Value("load", "float32", operand=0), *values), stores)


def place(best=1, x=0, first=3):
    """Values 1 to 4: the maximum of value 0, an index, where it is (of x, as `best`), the first."""
    return (
        Value("max", "float32", (0,)),
        Value("index", "int32", operand=2),
        Value("index_of", "int32", (x, best, 2), (("float", True),), level=1),
        Value("first", "int32", (first,), level=1),
    )


def test_places_are_found_with_their_maximum():
    assert passes.places(kernel_of(*place())) == {1: 4}
    assert passes.places(kernel_of(*place(), form="columns", runs=1)) == {1: 4}


@pytest.mark.parametrize(
    "kernel",
    [
        kernel_of(*place(), runs=1),  # not in order of indices
        kernel_of(*place(), stores=((1, 4), (1, 3))),  # the index is read too
        kernel_of(
            *place(),
            Value("load", "float32", operand=3),
            Value("max", "float32", (5,)),
            Value("index_of", "int32", (0, 6, 2), (("float", True),), level=1),
            Value("first", "int32", (7,), level=1),
            stores=((1, 8),),
        ),  # of another's maximum
    ],
    ids=["runs", "index read", "another maximum"],
)
def test_almost_a_place(kernel):
    assert passes.places(kernel) == ({1: 4} if len(kernel.values) > 5 else {})


def test_the_place_of_one_tensors_maximum_in_another():
    """max(y) and argmax(x) in one kernel: each is its own."""
    x, y = normal(30, 700), normal(30, 700)
    got, _ = run(lambda x, y: ops.argmax(x, 1) + ops.cast(ops.max(y, 1) * 0, "int64"), x, y)
    np.testing.assert_array_equal(got, x.argmax(1))


# ---- accumulators ----


def reduction(op, dtype, cost=0.0):
    """The Accumulator of a reduction of f(x), f of that `cost`, and whether it runs in blocks."""
    kernel = Kernel(
        "rows",
        1,
        0,
        (Operand("in", dtype, 1), Operand("out", dtype, 0)),
        (
            Value("load", dtype, operand=0),
            Value("tanh", dtype, (0,), cost=cost),
            Value(op, dtype, (1,), vec=False, run=False),
        ),
        ((1, 2),),
    )
    return passes.accumulators(kernel)[2], passes.in_blocks(kernel, 2)


def test_what_reductions_run_in():
    assert reduction("sum", "float32") == (("float64", False), False)
    assert reduction("sum", "float16", cost=5) == (("float64", False), True)
    assert reduction("sum", "float32", cost=passes.RECOMPUTE_COST) == (("float64", False), False)
    assert reduction("sum", "float64", cost=9) == (("float64", False), False)
    assert reduction("prod", "float32", cost=9) == (("float64", False), False)
    assert reduction("sum", "int64") == (("uint64", False), False)
    assert reduction("max", "int64")[0] == ("int64", False)
    assert reduction("max", "float16")[0] == ("float32", True)
    assert reduction("min", "bool")[0] == ("uint8", False)
    assert reduction("any", "bool")[0] == ("uint8", False)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: ops.sum(ops.exp(x), 1),
        lambda x: ops.sum(ops.square(x), 1),
        lambda x: ops.sum(ops.exp(x), 0),
        lambda x: ops.prod(ops.exp(x / 1000), 1),
    ],
)
def test_sums_are_as_exact_in_blocks(build):
    x = normal(30, 2000)
    np.testing.assert_allclose(run(build, x)[0], reference(build, x), rtol=5e-6)


# ---- ciphers ----

STATE = np.array([3, 5, 7], "int64")


def uniform(shape, dtype="float32"):
    return lambda state: ops.random_uniform(state, shape, dtype)


@pytest.mark.parametrize(
    "build, unroll",
    [
        (uniform((5000,)), 8),
        (lambda s: ops.random_normal(s, (5000,), "float32"), 4),
        (lambda s: uniform((5000,))(s) + uniform((5000,))(s + 1), 4),
        (lambda s: uniform((5000,))(s) < 0.25, 2),
        (lambda s: ops.sum(uniform((50, 1000))(s), 1), 0),  # a loop that reduces
        (lambda s: ops.cast(s, "float32") * 2, 0),  # no cipher
    ],
    ids=["uniform", "normal", "two draws", "bytes", "sums", "no cipher"],
)
def test_ciphers_run_side_by_side(build, unroll):
    state = leaf((3,), "int64")
    function = make_function([state], [build(state)], positional_only=True, mode="fast_compile")
    (want,) = evaluate([build(state)], {state: STATE})
    np.testing.assert_allclose(function(STATE)[0], want, rtol=1e-5, atol=1e-6)
    found = [int(n) for n in re.findall(r"GCC unroll (\d+)", function.info.source())]
    assert found == [unroll] * bool(unroll)


# ---- patterns ----


def test_patterns():
    values = (
        Value("load", "float32", operand=0),
        Value("load", "float32", operand=3),
        Value("sub", "float32", (0, 1)),
        Value("add", "float32", (1, 2)),
        Value("sub", "float32", (0, 0)),
    )

    def find(pattern, i):
        return list(passes.matches(pattern, i, values, {}))

    assert find(("sub", "x", "y"), 2) == [{"x": 0, "y": 1}]
    assert find(("sub", "x", "x"), 2) == [] != find(("sub", "x", "x"), 4)
    assert find(("add", ("sub", "x", "y"), "y"), 3) == [{"x": 0, "y": 1}]  # either order
    assert find(("sub", ("sub", "x", "y"), "z"), 2) == []
    assert find(passes.Either((("exp", "x"), ("sub", "x", "y"))), 2) == [{"x": 0, "y": 1}]
    assert find(("add", "z", passes.Bound("d", ("sub", "x", "z"))), 3) == [{"z": 1, "d": 2, "x": 0}]
    assert find(("sub", "x"), 2) == [] == find(("exp", "x"), 2)


# ---- limits: extrema with a number that is no NaN ----

EDGES = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -7.0, 1.0, 2.0, 3.0, 9.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_limits_are_one_comparison_each(dtype):
    x = np.array(EDGES * 7, dtype)
    got, text = run(lambda x: ops.minimum(ops.maximum(x, 1), 3), x)
    np.testing.assert_array_equal(got, np.minimum(np.maximum(x, dtype_of(x)(1)), dtype_of(x)(3)))
    assert "ck_max" not in text and "ck_min" not in text
    got, text = run(lambda x: ops.maximum(-2, x), x)  # the number first
    np.testing.assert_array_equal(got, np.maximum(dtype_of(x)(-2), x))
    assert "ck_max" not in text


def dtype_of(x):
    return x.dtype.type


@pytest.mark.parametrize("limit", [np.nan, "scalar", "row"])
def test_a_limit_that_may_be_nan_is_asked_for_it(limit):
    x = np.array(EDGES, "float32")
    if limit is np.nan:
        got, text = run(lambda x: ops.maximum(x, np.float32(np.nan)), x)
        assert np.isnan(got).all()
    else:
        y = np.array(np.nan, "float32") if limit == "scalar" else x[::-1].copy()
        got, text = run(ops.maximum, x, y)
        np.testing.assert_array_equal(got, np.maximum(x, y))
    assert "ck_max" in text


def test_limits_of_integers_are_left_to_their_own_extrema():
    x = np.arange(-5, 5, dtype="int32")
    got, text = run(lambda x: ops.minimum(ops.maximum(x, -2), 3), x)
    np.testing.assert_array_equal(got, np.clip(x, -2, 3))
    assert "ck_max_i32" in text


# ---- reversed operands are turned first where elements have several widths ----


@pytest.mark.sampled(1)
@pytest.mark.parametrize("build, dtype, turned", [
    (ops.isnan, "float32", True), (lambda x: ops.cast(x, "uint8"), "int32", True),
    (lambda x: ops.cast(x, "float64"), "bool", True), (ops.exp, "float16", True),
    (ops.exp, "float32", False), (lambda x: ops.add(x, x), "uint8", False),
    (lambda x: ops.sum(ops.isnan(x), -1), "float32", False),  # no flat loop
])  # fmt: skip
@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_reversed_operands_are_turned_first(build, dtype, turned, n):
    for shape in ((n,), (3, n)):
        x = np.asarray(RNG.integers(0, 2, shape) * 3, dtype)[..., ::-1]
        result, text = run(build, x)
        node = leaf(x.shape, dtype)
        (wanted,) = evaluate([build(node)], {node: x})
        np.testing.assert_allclose(result, wanted, 1e-3)
        assert ("t0[256]" in text) == (turned and n > 1)


# ---- rows of bytes are cut into short vectors behind the long ones ----


@pytest.mark.parametrize("build, dtype, cut", [
    (ops.logical_and, "bool", True), (ops.lt, "float32", True), (ops.maximum, "uint8", True),
    (ops.add, "float32", False),  # no bytes
    (lambda x, y: ops.lt(ops.exp(x), y), "float32", False),  # work enough without
])  # fmt: skip
@pytest.mark.parametrize("n", [65, 79, 80, 127, 128, 129, 200])
def test_rows_of_bytes(build, dtype, cut, n):
    x = np.asarray(RNG.integers(0, 2, (3, 4, n)), dtype)
    y = np.asarray(RNG.integers(0, 2, (3, 1, n)), dtype)
    result, text = run(build, x, y)
    a, b = leaf(x.shape, dtype), leaf(y.shape, dtype)
    (wanted,) = evaluate([build(a, b)], {a: x, b: y})
    np.testing.assert_array_equal(result, wanted)
    assert ("i < whole" in text) == cut
    flat, text = run(build, x, x)
    (wanted,) = evaluate([build(a, a)], {a: x})
    np.testing.assert_array_equal(flat, wanted)
    assert "whole" not in text  # one long row


@pytest.mark.parametrize("n", [3, 16, 63, 64])
def test_truth_values_of_short_rows_are_kept_as_bytes(n):
    x, y = (RNG.integers(0, 2, shape).astype(bool) for shape in ((30, 40, n), (30, 1, n)))
    result, text = run(ops.logical_xor, x, y)
    np.testing.assert_array_equal(result, x ^ y)
    assert "_Bool t" not in text


@pytest.mark.parametrize("source, moved", [
    ({}, True), ({"outer": False}, False), ({"inner": 0}, False), ({"inner": 2}, False),
    ({"dtype": "int32"}, False),
], ids=["rows", "one row for all", "a number each", "every second", "others"])  # fmt: skip
def test_what_only_moves_rows(source, moved):
    operands = (Operand(**({"role": "in", "dtype": "float32", "inner": 1, "outer": True} | source)),
                Operand("out", "float32", 1, True))  # fmt: skip
    load = Value("load", operands[0].dtype, operand=0)
    for outer in (0, 1):
        kernel = Kernel("flat", outer, 0, operands, (load,), ((1, 0),))
        assert passes.moves_rows(kernel) == (moved and outer == 1)
