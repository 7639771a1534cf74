"""Dtypes of numexpr: its kinds, as its manual and a look at numexpr 2.14 give them."""

import numpy as np
import pytest

from ckernels.compat.numexpr import evaluate
from ckernels.compat.numexpr.kinds import kind_of_dtype, kind_of_number

NAMES = {
    "b": np.array([True, False, True]), "i": np.array([1, -2, 7], "int32"),
    "l": np.array([3, 5, -2]), "f": np.array([1.5, -2, 0.25], "float32"),
    "d": np.array([1, -2.5, 0.5]), "c": np.array([1j, 2, -1 - 2j]),
    "y": np.array([1, 2, 200], "uint8"), "u": np.array([1, 2, 3], "uint32"),
    "h": np.array([1, 2, 3], "float16"),
}  # fmt: skip
RESULTS = {
    "b * b": "bool", "b + b": "bool", "b / b": "float64", "b << 1": "int32", "b < b": "bool",
    "i // i": "int32", "i / i": "float64", "i % i": "int32", "i + l": "int64", "i + f": "float32",
    "l + f": "float32", "f * 2": "float32", "f * 2.0": "float64", "f * 1j": "complex128",
    "y + y": "int32", "u + u": "int64", "h + h": "float32", "i * 2**33": "int64", "~i": "int32",
    "sqrt(b)": "float32", "sqrt(i)": "float64", "sqrt(f)": "float32", "abs(i)": "float64",
    "abs(f)": "float32", "abs(c)": "complex128", "round(f)": "float64", "round(i)": "int32",
    "sign(i)": "int32", "floor(f)": "float32", "trunc(f)": "float64", "hypot(f, f)": "float64",
    "arctan2(f, i)": "float32", "maximum(i, l)": "float64", "isnan(i)": "bool",
    "conj(d)": "complex128", "complex(d, d)": "complex128", "c.real": "float64",
    "d.imag": "float64", "where(b, i, d)": "float64", "where(b, 1, 2)": "int32",
    "sum(i)": "int32", "sum(f)": "float32", "prod(l)": "int64", "max(f)": "float32",
    "i ** 2": "int32", "f ** 0.5": "float32", "f ** 2": "float32", "i ** -1.0": "float64",
    "2": "int32", "2**40": "int64", "2.5": "float64", "True": "bool", "abs(-3)": "int64",
}  # fmt: skip
MISSING = {
    "b - b": "sub_bbb", "-b": "neg_bb", "~d": "invert_dd", "d & d": "and_ddd", "c < c": "lt_bcc",
    "c % c": "mod_ccc", "ceil(c)": "ceil_cc", "sum(b)": "sum_bb", "where(i, b, b)": "where_iibb",
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("text", RESULTS)
def test_dtypes_of_results(text):
    got = evaluate(text, NAMES)
    assert type(got) is np.ndarray and got.dtype == RESULTS[text]


@pytest.mark.parametrize("text", MISSING)
def test_kinds_without_a_loop(text):
    with pytest.raises(NotImplementedError, match=MISSING[text]):
        evaluate(text, NAMES)


def test_values_are_those_of_the_kinds():
    i, f = NAMES["i"], NAMES["f"]
    np.testing.assert_array_equal(evaluate("i * 2000000000", NAMES), i * np.int32(2000000000))
    np.testing.assert_array_equal(evaluate("f * 0.1", NAMES), f.astype("float64") * 0.1)
    np.testing.assert_array_equal(evaluate("y + 100", NAMES), [101, 102, 300])
    np.testing.assert_array_equal(evaluate("2 ** l", NAMES), [8, 32, 0])
    np.testing.assert_array_equal(evaluate("b + b * b", NAMES), NAMES["b"])
    np.testing.assert_array_equal(evaluate("where(True, i, d)", NAMES), i)


@pytest.mark.parametrize("text", ["i ** -1", "i ** -2"])
def test_integers_have_no_negative_powers(text):
    with pytest.raises(ValueError, match="negative integer powers"):
        evaluate(text, NAMES)


def test_axes_are_not_negative():
    for axis in (-1, 1, 300):
        with pytest.raises(ValueError):
            evaluate(f"sum(d, axis={axis})", NAMES)


def test_casts_of_operands():
    a = np.array([1, 2], "uint64")
    assert evaluate("a + 1", {"a": a}).dtype == "int64"
    for _ in range(2):
        with pytest.raises(TypeError, match="'safe'"):
            evaluate("a + 1", {"a": a}, casting="safe")
    with pytest.raises(ValueError, match="Unicode"):
        evaluate("a == 'x'", {"a": np.array(["x"])})


def test_kinds():
    for value, kind in [
        *((True, "bool"), (2, "int"), (2**31, "long"), (1.5, "double"), (1j, "complex")),
        *((np.float32(1), "float"), (b"a", "bytes")),
    ]:
        assert kind_of_number(value) == kind
    assert kind_of_dtype(np.dtype("longdouble")) == "double"


def test_numexpr_itself_has_these_dtypes():
    numexpr = pytest.importorskip("numexpr")
    if numexpr.__name__ != "numexpr":
        pytest.skip("ckernels stands in its place")
    for text, dtype in RESULTS.items():
        assert numexpr.evaluate(text, NAMES).dtype == dtype, text
    for text in MISSING:
        with pytest.raises(NotImplementedError):
            numexpr.evaluate(text, NAMES)
