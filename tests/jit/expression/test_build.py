"""Expressions by NumPy's meaning are NumPy's expressions: values, dtypes and errors."""

import numpy as np
import pytest

from ckernels.base.errors import ArgumentError, UsageError
from ckernels.jit.expression.build import FUNCTIONS, fold
from ckernels.jit.expression.run import evaluate

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip
BINARY = ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a < b", "a == b", "a >= b",
          "where(a > b, a, b)", "a * 2 + 1", "2.5 * a - b", "3 - a", "(a & b) | a ^ b", "~a",
          "-a", "a ** 2", "a ** 0.5", "maximum(a, b)", "arctan2(a, b)", "hypot(a, b)", "fmod(a, b)",
          "a << 1", "sum(a) + b", "abs(a)", "sign(a)", "a.real + b.imag", "copy(a)"]  # fmt: skip
SCOPE = {"abs": np.abs, "sum": np.sum, "min": np.min, "max": np.max, "round": np.round}


def in_numpy(text, names):
    with np.errstate(all="ignore"):
        return eval(text, {**vars(np), **SCOPE}, dict(names))


def outcome(run, text, names):
    try:
        return run(text, names), None
    except (TypeError, ValueError, NotImplementedError) as problem:
        return None, problem


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", BINARY)
def test_values_and_dtypes_are_numpys(text, dtype):
    a = np.array([3, 1, 0, 7, 2]).astype(dtype)
    for b in (np.array([2, 5, 1, 7, 3]).astype(dtype), np.array([2.5, 1, 3, 4, 1])):
        names = {"a": a, "b": b}
        want, refused = outcome(in_numpy, text, names)
        got, problem = outcome(evaluate, text, names)
        assert (problem is None) == (refused is None), (problem, refused)
        if refused is None:
            assert got.dtype == want.dtype and np.shape(got) == np.shape(want)
            exact = want.dtype.kind in "biu"
            tolerance = 0 if exact else 100 * np.finfo(want.dtype).eps
            np.testing.assert_allclose(got, want, rtol=tolerance)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"where", "clip"}))
def test_functions_are_numpys(name):
    x = np.array([0.25, 0.5, 1.0, -0.5, -0.0, np.nan, np.inf])
    function = FUNCTIONS[name]
    two = getattr(function, "nin", 1) == 2
    text = f"{name}(x, y)" if two else f"{name}(x)"
    for dtype in ("float32", "float64"):
        names = {"x": x.astype(dtype), "y": np.full(7, 0.75, dtype)}
        with np.errstate(all="ignore"):
            want = function(names["x"], names["y"]) if two else function(names["x"])
        got = evaluate(text, names)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "any", "all"])
@pytest.mark.parametrize("axis", ["", ", axis=0", ", axis=1", ", axis=-1", ", axis=None", ", 1"])
def test_reductions_are_numpys(name, axis):
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6, dtype="int8").reshape(2, 3)):
        want = in_numpy(f"{name}(x{axis}) + 1", {"x": x})
        got = evaluate(f"{name}(x{axis}) + 1", {"x": x})
        assert got.dtype == want.dtype and type(got) is type(want)
        np.testing.assert_allclose(got, want)


def test_python_numbers_are_weak_also_as_operands():
    x = np.arange(3, dtype="float32")
    for s in (2, 2.5, True):
        assert evaluate("x * s", {"x": x, "s": s}).dtype == "float32"
    assert evaluate("x * s", {"x": x, "s": 2j}).dtype == "complex64"
    assert evaluate("x * s", {"x": x, "s": np.float64(2)}).dtype == "float64"
    n = np.arange(3, dtype="int8")
    assert evaluate("n + s", {"n": n, "s": 3}).dtype == "int8"


@pytest.mark.parametrize(
    "text",
    ["9**9**9**9", "1 << 10**10", "2**63 * 4", "9223372036854775807 * 9223372036854775807",
     "(-2)**65", "1 << 65", "123456789012345678901234567890", "-(2**64 - 1)"],
)  # fmt: skip
def test_integers_beyond_64_bits_are_refused(text):
    with pytest.raises((ArgumentError, OverflowError)):
        evaluate(text, {})


def test_large_powers_within_bounds_are_computed():
    assert evaluate("2**63 - 1", {}) == 2**63 - 1
    assert evaluate("1**10**18", {}) == 1 and evaluate("(-1)**(10**18 + 1)", {}) == -1
    assert evaluate("9.0**9**9", {}) == np.inf and evaluate("0.0**-1", {}) == np.inf
    assert evaluate("1e308 * 10", {}) == np.inf and fold("**", [2, -1]) == 0.5
    assert fold("**", [-8.0, 0.5]) == pytest.approx(np.sqrt(8) * 1j)


@pytest.mark.parametrize("text", ["nosuch(a)", "open(a)", "eval(a)", "getattr(a, a)"])
def test_names_of_functions_are_a_list(text):
    with pytest.raises(ArgumentError, match="no function"):
        evaluate(text, {"a": np.ones(2)})


@pytest.mark.parametrize("text", ["sin(a, a)", "sin()", "sin(a, axis=0)", "a + 'x'", "'a' * 9"])
def test_wrong_operands(text):
    with pytest.raises(UsageError):
        evaluate(text, {"a": np.ones(2)})


def test_byte_strings_are_compared_by_numpy():
    s = np.array([b"abc", b"x", b""])
    np.testing.assert_array_equal(evaluate("s == 'x'", {"s": s}), [False, True, False])
    np.testing.assert_array_equal(evaluate("contains(s, b'b')", {"s": s}), [True, False, False])
    np.testing.assert_array_equal(evaluate("s < t", {"s": s, "t": s[::-1]}), s < s[::-1])


@pytest.mark.parametrize("a, b", [(1, 65), (3, 2**62), (-1, 10**9), (0, 2**62)])
def test_shifts_beyond_64_bits_are_refused(a, b):
    """Python would take all memory, or says that there are too many digits."""
    with pytest.raises((ArgumentError, OverflowError, ValueError), match="64|large"):
        fold("<<", [a, b])
    assert fold("<<", [3, 4]) == 48
