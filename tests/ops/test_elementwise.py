"""Elementwise ops: values against NumPy and mpmath, gradients against differences, dtypes."""

import math

import mpmath
import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.op import REGISTRY
from ckernels.ops.special import polygamma
from ckernels.runtime.function import make_function

from .helpers import check_gradient, evaluate, gradient, leaf, run

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, -1e-30, 30.0, -30.0, 1e4, np.inf, -np.inf, np.nan]
FLOATS = ("float16", "float32", "float64")

# op, the NumPy function that says what it means
LIKE_NUMPY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sqrt": np.sqrt,
    "square": np.square, "abs": np.abs, "neg": np.negative, "sign": np.sign, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "round": np.round, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "identity": np.positive,
    "stop_gradient": np.positive, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LIKE_NUMPY)
def test_unary_means_what_numpy_means(name, dtype):
    x = np.array(EDGES, dtype="float64").astype(dtype)
    got = run(getattr(ops, name), x)
    with np.errstate(all="ignore"):
        wide = LIKE_NUMPY[name](x.astype("float64"))
        expected = wide if wide.dtype == bool else wide.astype(dtype)
    assert got.dtype == expected.dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got.astype("float64"), expected.astype("float64"), rtol=4 * eps)
    if expected.dtype != bool:  # the sign of zero counts
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])


def _mp(fn):
    def exact(x):
        try:
            return float(fn(mpmath.mpf(float(x))))
        except (ValueError, ZeroDivisionError):
            return math.nan

    return exact


mpmath.mp.dps = 80  # exp(-100) next to 1 leaves 36 digits
# op: (exact function, arguments, largest relative error, absolute error allowed near zeros)
EXACT = {
    "erf": (mpmath.erf, np.linspace(-6, 6, 61), 4e-16, 0),
    "erfc": (mpmath.erfc, np.linspace(-6, 26, 61), 1e-15, 0),
    "erfinv": (mpmath.erfinv, np.r_[np.linspace(-.999, .999, 41), 1e-300, 1 - 1e-12, 1 - 2.3e-16],
               1e-15, 0),
    "erfcinv": (lambda y: mpmath.erfinv(1 - y), np.r_[np.linspace(.01, 1.99, 41), 1e-12, 1e-30],
                2e-15, 1e-17),
    "gamma": (mpmath.gamma, np.r_[np.linspace(-5.3, 20, 51), 1e-5, 170.5], 2e-15, 0),
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))),
                np.r_[np.linspace(-5.3, 20, 51), 1e-5, 3e3], 2e-14, 4e-16),
    "digamma": (mpmath.digamma,
                np.r_[np.linspace(-5.3, 30, 71), 1e-5, 1.4616, 1.46163214496836, 1e9],
                4e-15, 1e-14),
    "trigamma": (lambda x: mpmath.polygamma(1, x), np.r_[np.linspace(-5.3, 30, 71), 1e-5, 1e9],
                 2e-14, 0),
    "i0": (lambda x: mpmath.besseli(0, x), np.r_[np.linspace(-40, 40, 41), 1e-9, 300, 700], 2e-15,
           0),
    "i1": (lambda x: mpmath.besseli(1, x), np.r_[np.linspace(-40, 40, 40), 1e-9, 300, 700], 2e-15,
           0),
    "j0": (lambda x: mpmath.besselj(0, x), np.r_[np.linspace(-60, 60, 81), 1e-9, 1e4], 0, 4e-16),
    "j1": (lambda x: mpmath.besselj(1, x), np.r_[np.linspace(-60, 60, 81), 1e4], 0, 4e-16),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), np.linspace(-700, 700, 57), 4e-16, 0),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), np.linspace(-700, 700, 57), 4e-16, 0),
    "log1mexp": (lambda x: mpmath.log(1 - mpmath.exp(x)), -np.logspace(-12, 2, 41), 1e-15, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_special_functions_against_mpmath(name):
    fn, x, rtol, atol = EXACT[name]
    np.testing.assert_allclose(
        run(getattr(ops, name), x), [_mp(fn)(v) for v in x], rtol=rtol, atol=atol
    )


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_polygamma_against_mpmath(order):
    x = np.r_[np.linspace(-5.3, 30, 71), 1e-5, 1e9]
    want = [float(mpmath.polygamma(order, mpmath.mpf(float(v)))) for v in x]
    np.testing.assert_allclose(run(lambda x: polygamma(order, x), x), want, rtol=1e-11)
    edges = run(lambda x: polygamma(order, x), np.array([0.0, -2, np.inf, -np.inf, np.nan]))
    pole = np.inf if order % 2 else np.nan
    np.testing.assert_array_equal(edges, [pole, pole, 0, np.nan, np.nan])


@pytest.mark.parametrize(
    "name, x, expected",
    [
        ("erf", [-np.inf, np.inf, np.nan], [-1, 1, np.nan]),
        ("erfc", [-np.inf, np.inf, 40], [2, 0, 0]),
        ("erfinv", [-1, 1, 0, 1.5, np.nan], [-np.inf, np.inf, 0, np.nan, np.nan]),
        ("erfcinv", [0, 2, 1, -1, 3, np.nan], [np.inf, -np.inf, 0, np.nan, np.nan, np.nan]),
        (
            "gamma",
            [0.0, -0.0, -1, 200, np.inf, -np.inf],
            [np.inf, -np.inf, np.nan, np.inf, np.inf, np.nan],
        ),
        ("gammaln", [0.0, -3, np.inf, 1, 2], [np.inf, np.inf, np.inf, 0, 0]),
        ("digamma", [0.0, -0.0, -2, np.inf, -np.inf], [-np.inf, np.inf, np.nan, np.inf, np.nan]),
        ("i0", [0, np.inf, -np.inf, np.nan, 1e5], [1, np.inf, np.inf, np.nan, np.inf]),
        ("i1", [0, np.inf, -np.inf, np.nan], [0, np.inf, -np.inf, np.nan]),
        ("i0e", [0, np.inf, -np.inf, np.nan, 1e306], [1, 0, 0, np.nan, 3.989422804014327e-154]),
        ("i1e", [0, np.inf, -np.inf, np.nan, -1e306], [0, 0, 0, np.nan, -3.989422804014327e-154]),
        ("j0", [0, np.inf, np.nan], [1, 0, np.nan]),
        ("j1", [0, 1e-9, -1e-9, -np.inf], [0, 5e-10, -5e-10, 0]),
        ("sigmoid", [1000, -1000, np.nan], [1, 0, np.nan]),
        ("softplus", [1000, -1000, np.inf, -np.inf, np.nan], [1000, 0, np.inf, 0, np.nan]),
        ("log1mexp", [0, -np.inf, -800], [-np.inf, 0, 0]),
        ("relu", [-1, 0, 2, np.inf, -np.inf, np.nan], [0, 0, 2, np.inf, 0, np.nan]),
    ],
)
def test_edges(name, x, expected):
    np.testing.assert_allclose(
        run(getattr(ops, name), np.array(x, "float64")), expected, rtol=1e-15
    )


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_div": np.floor_divide,
          "mod": np.mod, "maximum": np.maximum, "minimum": np.minimum, "eq": np.equal,
          "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
          "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
          "logical_xor": np.logical_xor, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or,
          "bit_xor": np.bitwise_xor, "left_shift": np.left_shift, "right_shift": np.right_shift,
          "true_div": np.true_divide, "pow": np.power, "atan2": np.arctan2}  # fmt: skip


@pytest.mark.parametrize("a", dtypes.ALL)
@pytest.mark.parametrize("b", dtypes.ALL)
def test_result_dtypes_for_all_pairs(a, b):
    """NumPy's promotion for all ops it agrees on; refused where NumPy refuses."""
    x, z = leaf((2,), a), leaf((2,), b)
    for name, fn in BINARY.items():
        if name in ("true_div", "atan2"):  # small ints give float32: the Theano rule, tested below
            continue
        complexes = dtypes.is_complex(a) or dtypes.is_complex(b)
        if complexes and name in ("maximum", "minimum", "lt", "le", "gt", "ge"):
            with pytest.raises(DTypeError):  # NumPy orders complex numbers; ckernels does not
                getattr(ops, name)(x, z)
            continue
        try:
            expected = fn(np.ones(2, a), np.ones(2, b)).dtype.name
        except TypeError:
            with pytest.raises(DTypeError):
                getattr(ops, name)(x, z)
            continue
        assert getattr(ops, name)(x, z).dtype == expected, name


@pytest.mark.parametrize("dtype", dtypes.BOOL + dtypes.INTEGERS)
def test_integers_and_bools_like_numpy(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype) if dtype != "bool" else None
    low, high = (0, 1) if info is None else (info.min, info.max)
    x = rng.integers(
        low, high, 200, dtype="uint64" if dtype == "uint64" else "int64", endpoint=True
    ).astype(dtype)
    small = rng.integers(0 if low == 0 else -7, 2 if info is None else 70, 200).astype(dtype)
    for name, fn in BINARY.items():
        second = np.abs(small) % 5 if name == "pow" else small
        if name == "sub" and dtype == "bool":
            continue
        with np.errstate(all="ignore"):
            expected = fn(x, second.astype(dtype))
        got = run(getattr(ops, name), x, second.astype(dtype))
        if name in ("true_div", "atan2"):
            np.testing.assert_allclose(
                got, expected, rtol=1e-2 if dtype in ("bool", "int8", "uint8") else 1e-6
            )
        else:
            np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("name", ["exp", "true_div", "sqrt", "sigmoid", "erf", "mean"])
def test_discrete_to_float(name):
    for dtype in dtypes.BOOL + dtypes.INTEGERS:
        x = leaf((2,), dtype)
        y = ops.true_div(x, x) if name == "true_div" else getattr(ops, name)(x)
        small = dtype in ("bool", "int8", "int16", "uint8", "uint16")
        assert y.dtype == ("float32" if small else "float64")
    assert ops.exp(2).dtype == dtypes.floatx()


def test_python_numbers_are_weak_and_numpy_scalars_are_not():
    x = {d: leaf((2,), d) for d in dtypes.ALL}
    assert (x["float16"] + 2.5).dtype == "float16"
    assert (x["int8"] + 1).dtype == "int8"
    assert (x["int8"] + 1.5).dtype == "float32"
    assert (x["bool"] + 1).dtype == "int64"
    assert (1 - x["bool"]).dtype == "int64"
    assert (x["float32"] * np.float64(2)).dtype == "float64"
    assert (x["float16"] * np.float32(2)).dtype == "float32"
    assert (np.float64(2) * x["float32"]).dtype == "float64"
    assert (np.ones(2, "float32") + x["float16"]).dtype == "float32"
    assert (x["float32"] + 1j).dtype == "complex64"
    assert ops.where(x["bool"], x["float16"], 0).dtype == "float16"
    assert ops.where(x["float32"], 1.0, x["int8"]).dtype == "float32"
    assert ops.clip(x["uint8"], 3, 7).dtype == "uint8"


@pytest.mark.parametrize(
    "other, words",
    [
        (None, "None"),
        ("a", "'a'"),
        (300, "300 does not fit in uint8"),
        (-1, "-1 does not fit"),
        (10**30, "does not fit"),
        ({}, "neither"),
        (len, "neither"),
    ],
)
def test_what_is_no_operand_is_refused_in_words(other, words):
    with pytest.raises(DTypeError, match=words):
        leaf((2,), "uint8") + other


def test_lists_of_tensors_are_refused_in_words():
    x = leaf((2,))
    with pytest.raises(DTypeError, match="stack"):
        x + [x, x]
    with pytest.raises(DTypeError, match="too large"):
        x + 10**400


def test_lists_of_python_floats_have_the_default_float_dtype():
    x = leaf((2,), "float32")
    assert (x + [0.5, 2]).dtype == dtypes.floatx()
    assert (x + [np.float64(0.5), 2]).dtype == "float64"
    assert (leaf((2,), "int32") + [1, 2]).dtype == "int64"
    assert (x + [[1.0], [2.0]]).shape == (2, 2)


def test_comparing_with_an_int_beyond_the_dtype():
    x = np.array([0, 200], "uint8")
    np.testing.assert_array_equal(run(lambda x: x < 300, x), [True, True])
    np.testing.assert_array_equal(run(lambda x: x > -1, x), [True, True])


def test_bool_has_no_minus_and_says_so():
    b = leaf((2,), "bool")
    for build in (lambda: b - b, lambda: -b):
        with pytest.raises(DTypeError, match="does not take bool"):
            build()
    with pytest.raises(DTypeError, match="float64"):
        leaf((2,)) & leaf((2,))


def test_shape_errors_name_the_shapes():
    with pytest.raises(ShapeError, match=r"cannot add shapes \(\?, 3\) and \(4,\)"):
        leaf((None, 3)) + leaf((4,))
    with pytest.raises(ShapeError, match=r"where"):
        ops.where(leaf((2,)), leaf((3,)), 0)
    assert (leaf((None, 1)) * leaf((3,))).shape == (None, 3)


def test_equal_expressions_are_one_node():
    x, z = leaf((2,)), leaf((2,))
    assert x + z is z + x
    assert x * z is z * x
    assert x - z is not z - x
    assert ops.exp(x) is ops.exp(x)
    assert x + 1 is x + 1.0  # weak numbers are constants of the tensor's dtype
    assert x == x and x != z  # identity, not elementwise
    assert len({x: 1, z: 2}) == 2


def test_operators():
    x = np.array([3.0, -2.0, 0.5])
    z = np.array([2.0, 4.0, -1.5])
    for fn in (
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a // b,
        lambda a, b: a % b,
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: 2 - a,
        lambda a, b: 2 / b,
        lambda a, b: 7 // a,
        lambda a, b: 7 % b,
        lambda a, b: 2**b,
        lambda a, b: b**2,
        lambda a, b: -a,
        lambda a, b: abs(a),
        lambda a, b: +a,
        lambda a, b: 1 < a,
        lambda a, b: divmod(a, b)[0],
    ):
        np.testing.assert_allclose(run(fn, x, z), fn(x, z))
    i, k = np.array([6, -5, 9]), np.array([3, 1, 2])
    for fn in (
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a ^ b,
        lambda a, b: ~a,
        lambda a, b: a << b,
        lambda a, b: a >> b,
        lambda a, b: 1 << b,
        lambda a, b: a // b,
    ):
        np.testing.assert_array_equal(run(fn, i, k), fn(i, k))
    flags = np.array([True, False])
    np.testing.assert_array_equal(run(lambda a: ~a, flags), ~flags)
    with pytest.raises(DTypeError, match="truth value"):
        bool(leaf(()) < 1)
    with pytest.raises(TypeError):
        len(leaf((2,)))
    with pytest.raises(TypeError):
        list(leaf(()))


SMOOTH = np.array([[0.3, -0.7, 0.45], [-0.2, 0.85, 0.6]])
POSITIVE = np.array([[0.4, 1.7, 2.6], [3.3, 0.9, 5.1]])
DOMAIN = {"log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE, "sqrt": POSITIVE, "rsqrt": POSITIVE,
          "acosh": POSITIVE + 1, "log1mexp": -POSITIVE, "gamma": POSITIVE, "gammaln": POSITIVE,
          "digamma": POSITIVE, "erfcinv": SMOOTH + 1, "reciprocal": POSITIVE}  # fmt: skip
UNARY_ROWS = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "log1mexp",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "softplus",
    "erf",
    "erfc",
    "erfinv",
    "erfcinv",
    "gamma",
    "gammaln",
    "digamma",
    "i0",
    "i1",
    "j0",
    "j1",
    "neg",
    "abs",
    "square",
    "sqr",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "relu",
    "deg2rad",
    "rad2deg",
    "identity",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
]


@pytest.mark.parametrize("name", UNARY_ROWS)
def test_unary_gradients(name):
    check_gradient(getattr(ops, name), DOMAIN.get(name, SMOOTH))


@pytest.mark.parametrize(
    "name",
    ["add", "sub", "mul", "true_div", "mod", "floor_div", "maximum", "minimum", "atan2", "pow"],
)
def test_binary_gradients_sum_over_broadcast_axes(name):
    fn = getattr(ops, name)
    check_gradient(fn, POSITIVE, np.array([1.3, 2.1, 0.7]))
    check_gradient(fn, np.array([[1.4], [2.2]]), POSITIVE, static=True)
    check_gradient(fn, np.array(1.4), POSITIVE)


def test_choice_gradients():
    check_gradient(
        lambda c, a, b: ops.where(c > 0.4, a, b),
        SMOOTH,
        POSITIVE,
        np.array([1.0, 2, 3]),
        wrt=(1, 2),
    )
    check_gradient(lambda x: ops.clip(x, -0.5, 0.5), SMOOTH)


@pytest.mark.parametrize("power", [0, 1, 2, 3, -1, -2, 0.5, 1.5, -0.5])
def test_gradients_of_constant_powers(power):
    check_gradient(lambda x: x**power, POSITIVE)


def slope(build, x, g=1.0):
    """The gradient of `build` at each element of `x`, for the cotangent `g`."""
    x = np.asarray(x, "float64")
    a = leaf(x.shape)
    y = build(a)
    cotangent = ops.mul(ops.ones_like(y), g)
    return evaluate(gradient(y, [a], cotangent), {a: x})[0]


def test_gradients_at_the_edges():
    np.testing.assert_array_equal(slope(lambda x: x**2, [0, 3]), [0, 6])
    np.testing.assert_array_equal(slope(lambda x: x**0, [0, 3]), [0, 0])
    np.testing.assert_array_equal(slope(lambda x: x**1, [0, 3]), [1, 1])
    np.testing.assert_array_equal(slope(ops.abs, [0, -2]), [0, -1])
    np.testing.assert_array_equal(slope(ops.relu, [0, -2, 2]), [0, 0, 1])
    np.testing.assert_array_equal(slope(ops.sqrt, [0, 4]), [np.inf, 0.25])
    np.testing.assert_array_equal(slope(ops.sqrt, [0, 4], g=0), [0, 0])
    np.testing.assert_array_equal(
        slope(lambda x: ops.where(x > 0, ops.sqrt(x), 0), [0, 4]), [0, 0.25]
    )
    np.testing.assert_array_equal(slope(lambda x: ops.maximum(x, 1), [0, 1, 2]), [0, 1, 1])
    np.testing.assert_array_equal(slope(lambda x: ops.maximum(1, x), [0, 1, 2]), [0, 0, 1])
    np.testing.assert_array_equal(
        slope(lambda x: ops.clip(x, 0, 1), [-1, 0, 0.5, 1, 2]), [0, 1, 1, 1, 0]
    )
    np.testing.assert_array_equal(slope(ops.i1, [0]), [0.5])
    np.testing.assert_array_equal(slope(ops.j1, [0]), [0.5])
    np.testing.assert_array_equal(slope(ops.sigmoid, [-1e3, 1e3]), [0, 0])
    np.testing.assert_array_equal(slope(ops.softplus, [-1e3, 1e3]), [0, 1])


def test_gradient_of_a_power_with_a_variable_exponent_at_zero():
    x, p = leaf((4,)), leaf((4,))
    y = x**p
    gx, gp = gradient(y, [x, p], ops.ones_like(y))
    env = {x: np.zeros(4), p: np.array([0.0, 1, 2, 3])}
    np.testing.assert_array_equal(evaluate([gx], env)[0], [0, 1, 0, 0])
    np.testing.assert_array_equal(evaluate([gp], env)[0], [0, 0, 0, 0])


def test_what_has_no_gradient():
    x = leaf((3,))
    for y in (ops.stop_gradient(x), ops.cast(x, "int32"), x > 0):
        assert gradient(y, [x], ops.ones_like(y)) == [None]
    i = leaf((3,), "int64")
    y = ops.cast(i, "float64") * x
    assert gradient(y, [i], y) == [None]


def test_gradient_through_casts_keeps_the_dtype():
    x = leaf((3,), "float32")
    y = ops.square(ops.cast(x, "float64"))
    (g,) = gradient(y, [x], ops.ones_like(y))
    assert g.dtype == "float32"
    np.testing.assert_array_equal(evaluate([g], {x: np.float32([1, 2, 3])})[0], [2, 4, 6])


@pytest.mark.parametrize("start", dtypes.ALL)
@pytest.mark.parametrize("to", dtypes.ALL)
def test_casts_like_numpy(start, to):
    x = np.array([0, 1, 2, 100], "float64").astype(start)
    if dtypes.is_complex(start) and not dtypes.is_complex(to) and to != "bool":
        with pytest.raises(DTypeError, match="real, imag"):
            ops.cast(leaf((4,), start), to)
        return
    np.testing.assert_array_equal(run(lambda v: ops.cast(v, to), x), x.astype(to))


def test_integer_powers():
    x, p = np.array([-1, -1, 1, 2, 0, 3]), np.array([-1, -2, -5, -1, -1, 2])
    np.testing.assert_array_equal(run(ops.pow, x, p), [-1, 1, 1, 0, 0, 9])
    with pytest.raises(DTypeError, match="negative integer power"):
        leaf((2,), "int32") ** -1


def test_complex_rows():
    z = np.array([1 + 2j, -3 - 1j], "complex64")
    for name, fn in {
        "real": np.real,
        "imag": np.imag,
        "conj": np.conj,
        "angle": np.angle,
        "abs": np.abs,
        "exp": np.exp,
        "sqrt": np.sqrt,
    }.items():
        got = run(getattr(ops, name), z)
        np.testing.assert_allclose(got, fn(z), rtol=1e-6)
        assert got.dtype == fn(z).dtype
    x = np.array([1.0, -2.0, np.nan])
    np.testing.assert_array_equal(run(ops.imag, x), [0, 0, 0])
    np.testing.assert_array_equal(run(ops.angle, x), [0, np.pi, np.nan])
    assert ops.real(leaf((2,))).op.name == "placeholder"


def test_rounding_leaves_integers_alone():
    i = leaf((2,), "int32")
    assert ops.floor(i) is i and ops.round(i) is i
    np.testing.assert_array_equal(run(ops.isfinite, np.array([1, 2])), [True, True])


def test_iota_and_isclose():
    np.testing.assert_array_equal(
        evaluate([ops.iota((2, 3), 1, "float32")], {})[0],
        np.arange(3, dtype="float32") + np.zeros((2, 1), "float32"),
    )
    a = np.array([1.0, 1.0, np.inf, np.inf, np.nan, 0])
    b = np.array([1.0 + 1e-7, 1.1, np.inf, -np.inf, np.nan, 1e-9])
    np.testing.assert_array_equal(run(ops.isclose, a, b), np.isclose(a, b))
    np.testing.assert_array_equal(
        run(lambda x, z: ops.isclose(x, z, equal_nan=True), a, b), np.isclose(a, b, equal_nan=True)
    )


def test_every_row_has_what_the_rest_is_derived_from():
    for op in REGISTRY.values():
        if op.kind == "elementwise" and op.name not in ("iota",):
            assert op.oracle and op.doc, op


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_infinity_minus_itself_is_no_number(dtype):
    """Where the last product of a function overflows to infinity, and the compiler makes one
    operation of it and of a sum behind it, the product is a finite number."""
    x = np.tile(np.array([*EDGES, 88.8, 100, 128, 129, 710, 800, 1100, -1100], dtype), 5)
    functions = {n: getattr(ops, n) for n in {*LIKE_NUMPY, *EXACT} - {"square"}}  # it is a product
    functions |= {"pow": lambda x: ops.pow(x, 200.0), "power": lambda x: ops.pow(1.5, x),
                  "of both": lambda x: ops.pow(ops.abs(x), x)}  # fmt: skip
    with np.errstate(all="ignore"):
        values = {name: run(function, x) for name, function in functions.items()}
    values = {n: v for n, v in values.items() if v.dtype == dtype and np.isinf(v).any()}
    assert len(values) > 20
    a, given = leaf(x.shape, dtype), [leaf(x.shape, dtype) for _ in values]
    nodes = [ops.sub(functions[name](a), y) for name, y in zip(values, given)]
    found = make_function([a, *given], nodes)(x, *values.values())
    for name, y in zip(values, found, strict=True):
        assert np.isnan(y[np.isinf(values[name])]).all(), name
