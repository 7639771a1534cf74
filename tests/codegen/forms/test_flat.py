"""Flat loops: what one scalar stores lies before the loop over the elements; blocks in which sines
and quotients are of small numbers alone."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.codegen.emit import emit
from ckernels.codegen.forms.flat import ASKED
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from ..planned import leaf, plan

ROW, SCALAR = np.linspace(0, 1, 24).reshape(4, 6), np.float64(0.5)


def both(x, s):
    scale = ops.exp(s)
    return ops.mul(x, scale), scale


def test_a_scalar_that_is_kept_does_not_lie_in_the_vector_loop():
    """GCC makes no vectors of a loop that stores one number at one place each time."""
    for x in (ROW, ROW.T, ROW[:, ::2], ROW[0]):
        steps, kernels = plan(both, x, SCALAR, rtol=1e-12)
        assert [k.form for k in kernels] == ["flat"]
        text = emit(kernels[0])[1]
        before, loop = text.split("#pragma GCC ivdep")
        constant = [i for i, o in enumerate(kernels[0].operands) if (o.role, o.inner) == ("out", 0)]
        assert len(constant) == 1
        assert f"y{constant[0]}[0] =" in before and f"{constant[0]}[0] =" not in loop
        assert len(kernels[0].stores) == 2


# ---- sines, cosines, tangents --------------------------------------------------------------------

LARGE = (1e20, -3e15, 1e13, np.inf, -np.inf, np.nan)


def angles(n, dtype, *places):
    """Angles of which those at `places` are large, infinite or no numbers."""
    x = np.linspace(-400, 400, n).astype(dtype)
    for k, at in enumerate(places):
        x[at % n] = LARGE[k % len(LARGE)]
    return x


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_angle_is_what_it_is_beside_large_ones(name, dtype):
    """Bit for bit: the block asks libm or not, and where blocks begin is left to the threads."""
    x = K.placeholder((None,), dtype=dtype)
    f = K.function([x], getattr(K, name)(x))
    for n in (1, ASKED - 1, ASKED, 3 * ASKED + 7):
        plain = f(angles(n, dtype))
        for places in ((0,), (n - 1,), (ASKED, 2 * ASKED - 1), tuple(range(0, n, 50))):
            a = angles(n, dtype, *places)
            got, same = f(a), np.isin(np.arange(n), np.array(places) % n, invert=True)
            np.testing.assert_array_equal(got[same], plain[same])
            with np.errstate(invalid="ignore"):
                wanted = getattr(np, name)(a.astype("float64"))
            np.testing.assert_allclose(got, wanted, rtol=1e-6 if dtype == "float32" else 1e-14)
            np.testing.assert_array_equal(f(a[::-1]), got[::-1])
            np.testing.assert_array_equal(f(np.repeat(a, 2)[::2]), got)
    assert f(np.zeros(0, dtype)).shape == (0,) and np.signbit(f(np.array([-0.0], dtype))) == (
        name != "cos"
    )


def test_an_update_in_place_asks_before_it_stores():
    x = angles(1000, "float64", 3, 300, 700)
    v = K.variable(x, dtype="float64")
    f = K.function([], [], updates=[(v, K.sin(v) * 2)])
    f()
    np.testing.assert_allclose(K.get_value(v), np.sin(x) * 2, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("build, asks", [
    (lambda x: ops.sin(x), True),
    (lambda x: ops.add(ops.sin(ops.mul(x, 3)), ops.cos(x)), True),
    (lambda x: ops.sin(ops.exp(x)), False),  # dear to know beforehand
    (lambda x: ops.sinh(x), False),
    (lambda x: ops.sum(ops.sin(x), 1), False),  # no flat loop
])  # fmt: skip
def test_blocks_are_asked_where_that_is_cheap(build, asks):
    steps, kernels = plan(build, ROW[:, ::2] * 9, rtol=1e-10)
    texts = [emit(k)[1] for k in kernels]
    assert any("ck_near_" in text for text in texts) == asks
    assert any("int large = 0;" in text for text in texts) == asks


QUOTIENTS = {
    "by an array": (lambda x, y: [x % y, x // y], True),
    "by a number": (lambda x, y: [x % 7, x // -7], True),
    "of a number": (lambda x, y: [100 % y, -3 // y], True),
    "by a power of two": (lambda x, y: [x % 64, x // 64], False),
    "by a large number": (lambda x, y: [x % (2**60 + 1), x // 2**51], False),
    "of int32": (lambda x, y: [ops.cast(x, "int32") % ops.cast(y, "int32")], False),
    "summed": (lambda x, y: [ops.sum(x % y, 1)], False),  # no flat loop
    "dear to know": (lambda x, y: [ops.cast(ops.exp(ops.cast(y, "float64")), "int64") % 7], False),
}  # fmt: skip


def as_they_lie(build, x, y):
    """(the function, what it gives and what the oracles give): of arrays in memory, with rows
    reversed and turned."""
    leaves = [leaf(a.shape, a.dtype.name) for a in (x, y)]
    roots = build(*leaves)
    function, pairs = make_function(leaves, roots, positional_only=True), []
    for p, q in ((x, y), (x[:, ::-1].copy()[:, ::-1], y), (x.T.copy().T, y)):
        with np.errstate(all="ignore"):
            wanted = evaluate(roots, dict(zip(leaves, (p, q))))
        pairs += zip(function(p, q), wanted)
    return function, pairs


@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_of_int64_are_those_of_doubles_where_both_are_small(name):
    """Blocks of small numbers, of large ones, of both; signs, zeros and the ends of the range."""
    build, asks = QUOTIENTS[name]
    rng = np.random.default_rng(8)
    ends = np.array([2**51 - 1, 2**51, -(2**51), -(2**51) - 1, 2**63 - 1, -(2**63), 0, -1, 1])
    for largest in (100, 2**51 - 1, 2**62):
        x = rng.integers(-largest, largest, (7, 700), endpoint=True)
        y = rng.integers(-10, 20, (7, 700))
        x[3, 100:109] = ends
        y[3, 90:120:3] = rng.choice(ends, 10)
        function, pairs = as_they_lie(build, x, y)
        for got, want in pairs:
            np.testing.assert_array_equal(got, want)
        assert ("ck_near_" in function.info.source()) == asks


REMAINDERS = {
    "by an array": (lambda x, y: [x % y, x // y, ops.fmod(x, y)], True),
    "by a number": (lambda x, y: [x % 2.5, x // -7], True),
    "of a number": (lambda x, y: [100 % y, -3 // y], True),
    "by a tiny number": (lambda x, y: [x % 0.0005], False),
    "by nothing": (lambda x, y: [x % 0, x // 0], False),
    "of a large number": (lambda x, y: [6e5 % y], False),
    "summed": (lambda x, y: [ops.sum(x % y, 1)], False),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REMAINDERS)
def test_remainders_of_floats_need_libm_only_where_quotients_are_huge(name, dtype):
    """Blocks of usual numbers, others with one beyond them on either side, or that is none."""
    build, asks = REMAINDERS[name]
    rng = np.random.default_rng(8)
    x, y = (rng.normal(size=(7, 700)).astype(dtype) * 100 for _ in range(2))
    odd = [0, -0.0, np.inf, -np.inf, np.nan, 1e-3, 9.9e-4, 0.01, 0.0099, 4.9e5, 5.1e5, 1e13, 3e30,
           1e-40, 0.5, 3]  # fmt: skip
    for k, v in enumerate(odd):
        x[k % 4, 40 * k], y[k % 3, 40 * k + k % 2] = v, odd[-k]
    function, pairs = as_they_lie(build, x, y)
    for got, want in pairs:
        if name == "summed":
            np.testing.assert_allclose(got, want, rtol=1e-5)
        else:
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(
                np.signbit(got) | np.isnan(got), np.signbit(want) | np.isnan(want)
            )
    assert ("ck_near_mod" in function.info.source()) == asks


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_an_exponent_per_row_are_those_of_one_per_element(dtype):
    """Signs, zeros, infinities and what has no power, where conditions on y alone are masks."""
    odd = 2**24 - 1 if dtype == "float32" else 2**53 - 1
    edges = [0, 1, 2, 3, 0.5, 1.5, np.inf, 1e30, 1e-40, odd, 2 * odd]
    v = np.array([*edges, *(-e for e in edges), -0.0, np.nan], dtype)
    x, y = K.placeholder((None, None), dtype=dtype), K.placeholder((None, 1), dtype=dtype)
    z = K.placeholder((None, None), dtype=dtype)
    bases, exponents = (np.ascontiguousarray(a) for a in np.meshgrid(v, v))
    with np.errstate(all="ignore"):
        wanted = bases**exponents
    for got in (
        K.function([x, y], x**y)(bases, exponents[:, :1]),
        K.function([x, z], x**z)(bases, exponents),
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        sure = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got)[sure], np.signbit(wanted)[sure])


@pytest.mark.parametrize("columns", [7, 8, 15, 16, 17, 24, 31, 33, 100])
def test_what_is_left_of_rows_behind_whole_vectors_is_a_vector_too(columns):
    """Rows of columns of a wider matrix: what lies beside them stays, and bits are those of whole
    vectors."""
    r = np.random.default_rng(columns)
    wide, h = r.normal(size=(5, 3 * columns)).astype("f"), r.normal(size=(5, columns)).astype("f")

    def gates(wide, h):
        z, c = ops.sigmoid(wide[:, :columns]), ops.tanh(wide[:, columns : 2 * columns])
        return ops.add(ops.mul(z, h), ops.mul(ops.sub(1, z), c)), z

    steps, kernels = plan(gates, wide, h, rtol=3e-7)
    form = {k.form for k in kernels}
    assert form == {"flat"} and "ck_part_f32(t" in emit(kernels[-1])[1] or columns < 16
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    f = K.function([x, y], K.sigmoid(x) * y + K.tanh(y) * K.exp(x))
    left, right = r.normal(size=(2, 5, 200)).astype("f")
    whole = f(left[:, 3:115], right[:, 3:115])
    parts = f(left[:, 3 : 3 + columns], right[:, 3 : 3 + columns])
    np.testing.assert_array_equal(parts, whole[:, :columns])


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
def test_truth_values_of_words_lie_as_elements_do(dtype):
    """Blocks of 32 and what is left, of rows and unaligned, by one number, of several results."""
    r, largest = np.random.default_rng(7), np.iinfo("int64").max
    values = r.choice(np.array([0, 1, 2, 3, largest]), (5, 331)).astype(dtype)
    values[r.integers(0, 2, values.shape) > 0] *= np.array(-1).astype(dtype)
    if dtype == "float64":
        values[:, ::7], values[:, 3::11], values[:, 5::13] = np.nan, np.inf, -np.inf

    x, y = K.placeholder((None, None), dtype=dtype), K.placeholder((None, None), dtype=dtype)
    some = K.isinf(x) ^ ~K.isnan(y)
    f = K.function([x, y], [x < y, x <= y[:1], K.not_equal(x, 2), some, (x > 1) | (x <= y[:, :1])])
    for n in (0, 1, 31, 32, 33, 64, 95, 96, 200):
        a, b = values[:, 3 : 3 + n], values[:, 131 : 131 + n]
        if n == 96:  # at an odd address, one row
            raw = np.zeros(5 * n * 8 + 1, "uint8")[1:].view(dtype).reshape(5, n)
            raw[:], a = a, raw
        some = np.isinf(a) ^ ~np.isnan(b)
        wanted = a < b, a <= b[:1], a != 2, some, (a > 1) | (a <= b[:, :1])
        for got, want in zip(f(a, b), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
