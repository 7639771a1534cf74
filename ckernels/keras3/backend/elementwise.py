"""keras.ops' functions of single elements: a ufunc, its row over nodes, Keras's dtype rule."""

import builtins

import ml_dtypes
import numpy as np

from ... import ops
from ...base.errors import NotSupported
from ...numpy.rows import UFUNCS
from ..casts import FLOAT, KEPT, cast_node, result_type
from ..direct import direct, named
from ..rows import (
    binary,
    dtype_of,
    either,
    floating,
    no_bool,
    operands,
    placed,
    promoted,
    unary,
)
from ..values import OPERATORS, cast, convert_to_tensor

FLOATS = (
    *(np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctanh, np.cos, np.cosh),
    *(np.deg2rad, np.rad2deg, np.exp, np.exp2, np.expm1, np.log, np.log10, np.log1p, np.log2),
    *(np.sin, np.sinh, np.sqrt, np.tan, np.tanh, np.reciprocal, np.cbrt, np.ceil, np.floor),
    np.fabs,
)
globals().update({f.__name__: unary(f.__name__, f, rule=floating) for f in FLOATS})


def _sinc(n):
    """sin(pi x) / (pi x), whose value and slope at 0 are 1 and 0."""
    angle = ops.mul(ops.where(ops.eq(n, 0), 1.0, n), float(np.pi))
    return ops.where(ops.eq(n, 0), 1.0, ops.true_div(ops.sin(angle), angle))


sinc = unary("sinc", lambda a: np.sinc(a).astype(a.dtype), _sinc, floating)
i0 = unary("i0", np.i0, ops.i0, floating)


def trunc(x):
    x = convert_to_tensor(x)
    return x if "float" not in dtype_of(x) else either(np.trunc, ops.trunc, x)


negative = unary("negative", np.negative)
absolute = unary("absolute", np.absolute)
abs = absolute
sign = unary("sign", np.sign)
square = unary("square", np.square, rule=no_bool)
conjugate = unary("conjugate", np.conjugate)
conj = conjugate
real = unary("real", np.real, ops.real)
imag = unary("imag", np.imag, ops.imag)
isfinite = unary("isfinite", np.isfinite, out="bool")
isinf = unary("isinf", np.isinf, out="bool")
isnan = unary("isnan", np.isnan, out="bool")
isneginf = unary("isneginf", np.isneginf, lambda n: _infinite(n, ops.lt), out="bool")
isposinf = unary("isposinf", np.isposinf, lambda n: _infinite(n, ops.gt), out="bool")
isreal = unary("isreal", np.isreal, lambda n: ops.ones_like(n, dtype="bool"), out="bool")
signbit = unary(
    "signbit",
    lambda a: np.signbit(a) if a.dtype.kind == "f" else a < 0,
    lambda n: UFUNCS[np.signbit].build(n) if "float" in n.dtype else ops.lt(n, 0),
    out="bool",
)


def _infinite(n, side):
    return ops.logical_and(ops.isinf(n), side(n, 0))


def angle(x):
    x = convert_to_tensor(x)
    dtype = floating(dtype_of(x))
    return cast(either(np.angle, ops.angle, x), dtype)


def _logical_not(x):
    return either(np.logical_not, ops.logical_not, cast(convert_to_tensor(x), "bool"))


logical_not = direct(np.logical_not, named(_logical_not, "logical_not"), KEPT)
add, subtract = binary("add", np.add), binary("subtract", np.subtract)
multiply, power = binary("multiply", np.multiply), binary("power", np.power, ops.pow)
maximum, minimum = binary("maximum", np.maximum), binary("minimum", np.minimum)
fmax, fmin = binary("fmax", np.fmax), binary("fmin", np.fmin)
mod = binary("mod", np.mod, rule=no_bool)
floor_divide = binary("floor_divide", np.floor_divide, rule=no_bool)
arctan2 = binary("arctan2", np.arctan2, rule=floating)
logaddexp = binary("logaddexp", np.logaddexp, rule=floating)
logaddexp2 = binary("logaddexp2", np.logaddexp2, rule=floating)
hypot = binary("hypot", np.hypot, rule=floating)


def _fmod(a, b):
    """The rest with the sign of the first: exact, since both rests are of the same division."""
    rest = ops.mod(ops.abs(a), ops.abs(b))
    return ops.where(ops.lt(a, 0), ops.neg(rest), rest)


fmod = binary("fmod", np.fmod, _fmod, no_bool)


def _halves(dtype):
    return floating("float32" if dtype in ("int32", "uint8") else dtype)


heaviside = binary("heaviside", np.heaviside, rule=_halves)


def _float(dtype):
    return result_type(dtype, float)


divide = binary("divide", np.divide, rule=_float)
true_divide = divide


def divide_no_nan(x1, x2):
    x1, x2 = operands(x1, x2)
    dtype = result_type(*[getattr(x, "dtype", type(x)) for x in (x1, x2)], float)
    a, b = (convert_to_tensor(x, dtype) for x in (x1, x2))

    def graph(a, b):
        zero = ops.eq(b, 0)
        return ops.where(zero, 0, ops.true_div(a, ops.where(zero, 1, b)))

    return either(lambda a, b: np.where(b == 0, np.zeros((), dtype), np.divide(a, b)), graph, a, b)


def _comparisons(*ufuncs):
    return [binary(f.__name__, f, out="bool") for f in ufuncs]


equal, not_equal = _comparisons(np.equal, np.not_equal)
greater, greater_equal = _comparisons(np.greater, np.greater_equal)
less, less_equal = _comparisons(np.less, np.less_equal)


def _truth(dtype):
    return "bool"


INTEGERS = frozenset(d for d in KEPT if d.kind in "biu")  # whose truth is asked as fast as theirs


def _logical(ufunc):
    """Large arrays of floats are cast first: NumPy asks for the truth of floats one by one."""
    other = binary(ufunc.__name__, ufunc, rule=_truth, out="bool")
    return direct(ufunc, other, INTEGERS, KEPT, count=2)


logical_and, logical_or = _logical(np.logical_and), _logical(np.logical_or)
logical_xor = _logical(np.logical_xor)


def _bits(name, ufunc):
    """A function of two operands that Keras calls x and y."""
    made = binary(name, ufunc)
    return direct(ufunc, named(lambda x, y: made(x, y), name), INTEGERS, count=2)


bitwise_and, bitwise_or = _bits("bitwise_and", np.bitwise_and), _bits("bitwise_or", np.bitwise_or)
bitwise_xor = _bits("bitwise_xor", np.bitwise_xor)
bitwise_left_shift = _bits("bitwise_left_shift", np.left_shift)
bitwise_right_shift = _bits("bitwise_right_shift", np.right_shift)
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
bitwise_invert = bitwise_not = unary("bitwise_invert", np.invert)


def clip(x, x_min, x_max):
    x = convert_to_tensor(x)
    dtype = no_bool(dtype_of(x))
    x = cast(x, dtype)
    low, high = (None if b is None else convert_to_tensor(b, dtype) for b in (x_min, x_max))

    return cast(either(np.clip, ops.clip, x, low, high), dtype)


def round(x, decimals=0):
    x = convert_to_tensor(x)
    dtype = dtype_of(x)
    if "int" in dtype or dtype == "bool":
        x = cast(x, "int32" if dtype == "bool" else dtype)
        if decimals >= 0:
            return x
    if not decimals and x.__class__ is np.ndarray:
        return np.rint(x)

    def graph(n):
        scale = float(10.0 ** builtins.abs(decimals))
        if not decimals:
            return ops.round(n)
        first, then = (ops.mul, ops.true_div) if decimals > 0 else (ops.true_div, ops.mul)
        return cast_node(then(ops.round(first(n, scale)), scale), n.dtype)

    return either(lambda a: np.round(a, decimals), graph, x)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = convert_to_tensor(x)
    if "float" not in dtype_of(x):
        return x
    if x.__class__ is np.ndarray and posinf is None and neginf is None:
        return np.nan_to_num(x, nan=nan)
    limits = ml_dtypes.finfo(dtype_of(x))
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf

    def graph(n):
        n = ops.where(ops.isnan(n), nan, n)
        n = ops.where(ops.logical_and(ops.isinf(n), ops.gt(n, 0)), high, n)
        return ops.where(ops.logical_and(ops.isinf(n), ops.lt(n, 0)), low, n)

    return either(lambda a: np.nan_to_num(a, nan=nan, posinf=high, neginf=low), graph, x)


def where(condition, x1=None, x2=None):
    condition = convert_to_tensor(condition)
    if x1 is None or x2 is None:
        if x1 is not None or x2 is not None:
            raise ValueError("`x1` and `x2` either both should be `None` or both non-None.")
        return either(
            lambda c: np.where(c),
            lambda n: tuple(ops.cast(i, "int64") for i in ops.nonzero(n)),
            condition,
        )
    x1, x2 = operands(x1, x2)
    dtype = promoted(x1, x2)
    return either(
        np.where,
        lambda c, a, b: ops.where(cast_node(c, "bool"), a, b),
        condition,
        convert_to_tensor(x1, dtype),
        convert_to_tensor(x2, dtype),
    )


@np.errstate(all="ignore")
def _close(x1, x2, rtol, atol):
    """np.isclose of arrays of one dtype of floats."""
    away, room = np.subtract(x1, x2), np.absolute(x2)
    np.absolute(away, out=away)
    room *= rtol
    room += atol
    found = away <= room
    found &= np.isfinite(x2)
    found |= x1 == x2
    return found


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    if (
        x1.__class__ is x2.__class__ is np.ndarray
        and x1.shape == x2.shape != ()
        and x1.dtype is x2.dtype is FLOAT
        and rtol.__class__ is atol.__class__ is float
        and not equal_nan
    ):
        return _close(x1, x2, rtol, atol)
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = dtype_of(x1) if x1.dtype == x2.dtype else result_type(x1.dtype, x2.dtype)
    return placed(
        lambda a, b: np.isclose(a, b, rtol, atol, equal_nan),
        lambda a, b: cast_node(ops.isclose(a, b, rtol, atol, equal_nan), "bool"),
        cast(x1, dtype),
        cast(x2, dtype),
    )


def _on_arrays(ufunc, rule):
    """A ufunc that has no row of graphs."""

    def function(x1, x2):
        x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
        dtype = rule(result_type(x1.dtype, x2.dtype))
        refuse_traced(ufunc.__name__, x1, x2)
        return ufunc(cast(x1, dtype), cast(x2, dtype))

    return named(function, ufunc.__name__)


def refuse_traced(name, *xs):
    """NotSupported for a function that is not yet one of graphs."""
    if any(not isinstance(x, np.ndarray | np.generic) and x is not None for x in xs):
        raise NotSupported(
            f"keras.ops.{name} of the ckernels backend takes values, and got one that is traced: "
            "compute it outside of the step"
        )


gcd, lcm = _on_arrays(np.gcd, no_bool), _on_arrays(np.lcm, no_bool)
nextafter = _on_arrays(np.nextafter, floating)


def ldexp(x1, x2):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = result_type(x1.dtype, x2.dtype, float)
    if "int" not in dtype_of(x2):
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={x2.dtype}")
    return either(
        lambda a, b: np.ldexp(a, b).astype(dtype),
        lambda a, b: ops.mul(a, ops.exp2(ops.cast(b, dtype))),
        cast(x1, dtype),
        x2,
    )


copy = unary("copy", np.array, lambda n: n)


def _of_bits(name):
    """An operator that is logical for bools and of bits for integers."""
    logical, bits = globals()[f"logical_{name}"], globals()[f"bitwise_{name}"]
    return lambda a, b: (logical if promoted(*operands(a, b)) == "bool" else bits)(a, b)


OPERATORS.update(
    add=add, sub=subtract, mul=multiply, truediv=true_divide, floordiv=floor_divide, mod=mod,
    pow=power, neg=negative, abs=absolute, eq=equal, ne=not_equal, lt=less, le=less_equal,
    gt=greater, ge=greater_equal, lshift=left_shift, rshift=right_shift,
    invert=lambda x: logical_not(x) if dtype_of(x) == "bool" else bitwise_not(x),
    **{name: _of_bits(name) for name in ("and", "or", "xor")},
)  # fmt: skip
