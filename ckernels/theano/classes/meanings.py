"""What each elementwise operation of Theano means as nodes of the engine: one row per name.

A row is (scalar class, operands, build): the class name that debugprint shows, and the function of
nodes. Here Theano's dtypes are decided where they differ from K's: integers divided are floatX,
ceil of an integer is a float, round refuses integers.
"""

import functools

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported, UsageError
from ...graph.node import constant, make
from ...graph.op import REGISTRY
from ..base.config import config
from .special import special

DISCRETE = dtypes.BOOL + dtypes.INTEGERS


def upcast(*names):
    """The dtype that holds values of all `names`, at least one, as Theano's scalar.upcast."""
    return _promoted(*map(np.dtype, names))


@functools.lru_cache(maxsize=1024)
def _promoted(*kinds):
    common = kinds[0]
    for kind in kinds[1:]:
        common = np.promote_types(common, kind)
    return common.name


def floats(x, complex_ok=True):
    """`x` as a float: small integers as float32, wide ones as float64."""
    if dtypes.is_inexact(x.dtype):
        if not complex_ok and dtypes.is_complex(x.dtype):
            raise UsageError("complex numbers are not supported here")
        return x
    return ops.cast(x, dtypes.small_or_wide(x.dtype))


def number(value, like):
    """A constant of the dtype of `like`."""
    return constant(np.asarray(value, like.dtype))


def folded(build):
    """`build` of two operands as one of any number, from the left."""

    def many(*nodes):
        total = nodes[0]
        for n in nodes[1:]:
            total = build(total, n)
        return total

    return many


def common(*nodes):
    if len({n.dtype for n in nodes}) == 1:
        return nodes
    dtype = upcast(*(n.dtype for n in nodes))
    return [ops.cast(n, dtype) for n in nodes]


def sub(x, y):
    if x.dtype == "bool" and y.dtype == "bool":
        raise UsageError("bools have no difference: write a ^ b for where they differ")
    return ops.sub(*common(x, y))


def true_div(x, y):
    if dtypes.is_discrete(x.dtype) and dtypes.is_discrete(y.dtype):
        x, y = ops.cast(x, config.floatX), ops.cast(y, config.floatX)
    return ops.true_div(*common(x, y))


def _whole(x, y):
    if dtypes.is_complex(x.dtype) or dtypes.is_complex(y.dtype):
        raise ComplexError(
            f"no remainder (%) of {x.dtype} by {y.dtype}: complex numbers have none, as in NumPy"
        )
    x, y = common(x, y)
    return (ops.cast(x, "int8"), ops.cast(y, "int8")) if x.dtype == "bool" else (x, y)


class ComplexError(NotSupported):
    """An operation that complex numbers do not have."""


def int_div(x, y):
    if dtypes.is_complex(x.dtype) or dtypes.is_complex(y.dtype):
        raise ComplexError(
            f"no floor division (//) of {x.dtype} by {y.dtype}: complex numbers "
            "have none, as in NumPy; use /"
        )
    return ops.floor_div(*_whole(x, y))


def mod(x, y):
    return ops.mod(*_whole(x, y))


def power(x, p):
    """x ** p. Integers to a negative power are cut towards 0, as C's pow is."""
    dtype = upcast(x.dtype, p.dtype)
    whole = dtypes.is_discrete(dtype)
    if p.value is not None and p.ndim == 0 and not whole and not dtypes.is_complex(dtype):
        return ops.pow(ops.cast(x, dtype), ops.cast(p, dtype))
    if whole and (
        p.value is None and p.dtype in dtypes.SIGNED or p.value is not None and (p.value < 0).any()
    ):
        wide = ops.pow(ops.cast(x, "float64"), ops.cast(p, "float64"))
        return ops.cast(wide, "int8" if dtype == "bool" else dtype)
    if dtype == "bool":
        dtype = "int8"
    return ops.pow(ops.cast(x, dtype), ops.cast(p, dtype))


def neg(x):
    if x.dtype == "bool":
        raise UsageError("a bool has no negative: write ~a")
    return ops.neg(x)


def ordered(build):
    """`build` of two operands; complex numbers are ordered by real, then imaginary parts."""

    def two(x, y):
        x, y = common(x, y)
        if dtypes.is_complex(x.dtype):
            return _complex_order(build, x, y)
        return build(x, y)

    return two


def _complex_order(build, x, y):
    """`build` of complex numbers as NumPy has it: real parts decide, imaginary ones where equal."""
    name = build.__name__
    if name in ("maximum", "minimum"):
        first = _complex_order(ops.ge if name == "maximum" else ops.le, x, y)
        bad = ops.isnan(ops.add(ops.real(x), ops.imag(x)))
        return ops.where(ops.logical_or(first, bad), x, y)
    strict = {"lt": ops.lt, "le": ops.lt, "gt": ops.gt, "ge": ops.gt}[name]
    same = ops.eq(ops.real(x), ops.real(y))
    return ops.where(same, build(ops.imag(x), ops.imag(y)), strict(ops.real(x), ops.real(y)))


def bits(build):
    """`build` of bools or integers."""

    def two(*nodes):
        total = nodes[0]
        for n in nodes:
            if not dtypes.is_discrete(n.dtype):
                raise UsageError(f"bitwise operations take bools and integers, not {n.dtype}")
        for n in nodes[1:]:
            total = build(*common(total, n))
        return total

    return two


def invert(x):
    if not dtypes.is_discrete(x.dtype):
        raise UsageError(f"~ takes bools and integers, not {x.dtype}")
    return ops.logical_not(x) if x.dtype == "bool" else ops.bit_not(x)


def rounded(build):
    """`build`, as a float."""

    def one(x):
        return build(floats(x, False))

    return one


def only_float(x):
    if not dtypes.is_float(x.dtype):
        raise UsageError(f"round takes floats, not {x.dtype}")
    return x


def round_half_to_even(x):
    return ops.round(only_float(x))


def round_half_away(x):
    x = only_float(x)
    whole = ops.floor(ops.add(ops.abs(x), number(0.5, x)))
    # |x| + 0.5 is rounded up to a whole number for the largest number below 0.5.
    whole = ops.where(ops.lt(ops.abs(x), number(0.5, x)), number(0, x), whole)
    big = ops.ge(ops.abs(x), number(2.0 ** (dtypes.finfo(x.dtype).nmant), x))
    return ops.where(big, x, ops.mul(whole, ops.sign(x)))


def sgn(x):
    if dtypes.is_complex(x.dtype):
        raise UsageError("sgn: complex numbers have no sign")
    return ops.cast(ops.sign(x), x.dtype)


def sqr(x):
    return ops.square(x)


def inv(x):
    if x.dtype == "bool" or dtypes.is_discrete(x.dtype):
        return ops.true_div(number(1, floats(x)), floats(x))
    return ops.true_div(number(1, x), x)


def second(a, b):
    """`b` in the shape of `a` and `b` together."""
    lead = a.ndim - b.ndim
    if lead >= 0 and all(
        d == 1 or d is not None and d == e for d, e in zip(b.shape, a.shape[lead:])
    ):
        return ops.broadcast_like(b, a)
    # Either may be the one that is repeated: the comparison has the shape of both, and only that.
    like = [ops.cast(ops.eq(n, n), "int8") for n in (a, b)]
    return ops.broadcast_like(b, ops.add(*like))


def switch(c, a, b):
    a, b = common(a, b)
    return ops.where(c, a, b)


def clip(x, low, high):
    x, low, high = common(x, low, high)
    if dtypes.is_complex(x.dtype):
        raise UsageError("clip: complex numbers have no order")
    # Bounds the wrong way round: the lower one wins, as `x < min ? min : x > max ? max : x` has it.
    return ops.where(ops.lt(x, low), low, ops.where(ops.gt(x, high), high, x))


def arithmetic(build):
    """`build` of two operands of a common dtype."""
    row = REGISTRY[build.__name__]

    def two(x, y):
        if x.dtype == y.dtype and x.dtype in dtypes.FLOATS:  # nothing to promote: 20 us less
            return make(row, (x, y))
        return build(*common(x, y))

    return two


def floated(build, real_only=True):
    """`build` of floats; of complex numbers, unless real_only, or where NumPy has it for those."""
    name = build.__name__
    row = REGISTRY.get(name)

    def function(*nodes):
        if row is not None and len(nodes) == 1 and nodes[0].dtype in dtypes.FLOATS:
            return make(row, nodes)
        if real_only and name in COMPLEX and dtypes.is_complex(nodes[0].dtype):
            return _special(COMPLEX[name], nodes[0])
        nodes = [floats(n, not real_only) for n in nodes]
        return build(*(common(*nodes) if len(nodes) > 1 else nodes))

    return function


# Functions of complex numbers that only NumPy computes: {name of the engine: its name}.
COMPLEX = {"exp2": "exp2", "expm1": "expm1", "log2": "log2", "log10": "log10", "log1p": "log1p",
           "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
           "acosh": "arccosh", "atanh": "arctanh", "erf": "erf", "erfc": "erfc"}  # fmt: skip


def arctan2(y, x):
    return ops.atan2(*common(floats(y, False), floats(x, False)))


def imag(x):
    return ops.imag(x)


def isinf(x):
    return ops.isinf(x) if dtypes.is_inexact(x.dtype) else ops.isinf(ops.cast(x, "float32"))


def isnan(x):
    return ops.isnan(x) if dtypes.is_inexact(x.dtype) else ops.isnan(ops.cast(x, "float32"))


def gammau(k, x):
    return ops.mul(ops.gammaincc(k, x), ops.gamma(k))


def gammal(k, x):
    return ops.mul(ops.gammainc(k, x), ops.gamma(k))


def _special(name, *nodes):
    return special(name, *nodes)


def jv(v, x):
    return _special("jv", v, x)


def iv(v, x):
    return _special("iv", v, x)


def sigmoid(x):
    return ops.sigmoid(floats(x))


def softplus(x):
    return ops.softplus(floats(x))


def absolute(x):
    return ops.cast(x, "bool") if x.dtype == "bool" else ops.abs(x)


def identity(x):
    return ops.identity(x)


def complex_(x, y):
    return _special("complex", floats(x, False), floats(y, False))


def complex_from_polar(r, theta):
    r, theta = common(floats(r, False), floats(theta, False))
    return complex_(ops.mul(r, ops.cos(theta)), ops.mul(r, ops.sin(theta)))


def real(x):
    return ops.real(x)


def angle(x):
    if not dtypes.is_complex(x.dtype):
        x = ops.cast(x, "float64" if dtypes.is_discrete(x.dtype) else x.dtype)
    return ops.angle(x)


_f = floated
UNARY = {
    "neg": ("Neg", neg), "abs_": ("Abs", absolute), "exp": ("Exp", _f(ops.exp, False)),
    "exp2": ("Exp2", _f(ops.exp2)), "expm1": ("Expm1", _f(ops.expm1)),
    "log": ("Log", _f(ops.log, False)), "log2": ("Log2", _f(ops.log2)),
    "log10": ("Log10", _f(ops.log10)), "log1p": ("Log1p", _f(ops.log1p)),
    "sgn": ("Sgn", sgn), "ceil": ("Ceil", rounded(ops.ceil)),
    "floor": ("Floor", rounded(ops.floor)), "trunc": ("Trunc", rounded(ops.trunc)),
    "round_half_to_even": ("RoundHalfToEven", round_half_to_even),
    "round_half_away_from_zero": ("RoundHalfAwayFromZero", round_half_away),
    "sqr": ("Sqr", sqr), "sqrt": ("Sqrt", _f(ops.sqrt, False)), "inv": ("Inv", inv),
    "deg2rad": ("Deg2Rad", _f(ops.deg2rad)), "rad2deg": ("Rad2Deg", _f(ops.rad2deg)),
    "cos": ("Cos", _f(ops.cos, False)), "sin": ("Sin", _f(ops.sin, False)),
    "tan": ("Tan", _f(ops.tan, False)), "cosh": ("Cosh", _f(ops.cosh, False)),
    "sinh": ("Sinh", _f(ops.sinh, False)), "tanh": ("Tanh", _f(ops.tanh, False)),
    "arccos": ("ArcCos", _f(ops.acos)), "arcsin": ("ArcSin", _f(ops.asin)),
    "arctan": ("ArcTan", _f(ops.atan)), "arccosh": ("ArcCosh", _f(ops.acosh)),
    "arcsinh": ("ArcSinh", _f(ops.asinh)), "arctanh": ("ArcTanh", _f(ops.atanh)),
    "erf": ("Erf", _f(ops.erf)), "erfc": ("Erfc", _f(ops.erfc)),
    "erfcx": ("Erfcx", _f(ops.erfcx)),
    "erfinv": ("Erfinv", _f(ops.erfinv)), "erfcinv": ("Erfcinv", _f(ops.erfcinv)),
    "gamma": ("Gamma", _f(ops.gamma)), "gammaln": ("GammaLn", _f(ops.gammaln)),
    "psi": ("Psi", _f(ops.digamma)), "tri_gamma": ("TriGamma", _f(ops.trigamma)),
    "j0": ("J0", _f(ops.j0)), "j1": ("J1", _f(ops.j1)), "i0": ("I0", _f(ops.i0)),
    "i1": ("I1", _f(ops.i1)), "invert": ("Invert", invert), "isnan": ("IsNan", isnan),
    "isinf": ("IsInf", isinf), "real": ("Real", real), "imag": ("Imag", imag),
    "angle": ("Angle", angle), "conj": ("Conj", ops.conj),
    "sigmoid": ("ScalarSigmoid", sigmoid), "softplus": ("ScalarSoftplus", softplus),
    "identity": ("Identity", identity), "tensor_copy": ("Identity", identity),
}  # fmt: skip
SEVERAL = {
    "add": ("Add", folded(arithmetic(ops.add))),
    "mul": ("Mul", folded(arithmetic(ops.mul))),
    "sub": ("Sub", sub), "true_div": ("TrueDiv", true_div), "int_div": ("IntDiv", int_div),
    "mod": ("Mod", mod), "pow": ("Pow", power),
    "maximum": ("Maximum", folded(ordered(ops.maximum))),
    "minimum": ("Minimum", folded(ordered(ops.minimum))),
    "lt": ("LT", ordered(ops.lt)), "gt": ("GT", ordered(ops.gt)), "le": ("LE", ordered(ops.le)),
    "ge": ("GE", ordered(ops.ge)), "eq": ("EQ", lambda x, y: ops.eq(*common(x, y))),
    "neq": ("NEQ", lambda x, y: ops.ne(*common(x, y))),
    "and_": ("AND", bits(ops.bit_and)), "or_": ("OR", bits(ops.bit_or)),
    "xor": ("XOR", bits(ops.bit_xor)), "arctan2": ("ArcTan2", arctan2),
    "second": ("Second", second),
    "switch": ("Switch", switch), "clip": ("Clip", clip), "chi2sf": ("Chi2SF", _f(ops.chi2sf)),
    "gammainc": ("GammaInc", _f(ops.gammainc)), "gammaincc": ("GammaIncC", _f(ops.gammaincc)),
    "gammau": ("GammaU", _f(gammau)), "gammal": ("GammaL", _f(gammal)),
    "jv": ("Jv", _f(jv)), "iv": ("Iv", _f(iv)), "complex": ("Complex", complex_),
    "complex_from_polar": ("ComplexFromPolar", complex_from_polar),
}  # fmt: skip
SYMBOLS = {"add": "+", "mul": "*", "sub": "-", "true_div": "/", "int_div": "//", "mod": "%",
           "pow": "**", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "neq": "!=",
           "and_": "&", "or_": "|", "xor": "^"}  # fmt: skip
ARITY = {"switch": 3, "clip": 3}


def build_of(name):
    """The function of nodes behind a name."""
    return (UNARY.get(name) or SEVERAL[name])[1]


def cast_to(x, dtype):
    """`x` in another dtype; complex numbers stay complex."""
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        raise UsageError(
            f"cannot cast {x.dtype} to {dtype}: say which part is meant, with real(), "
            "imag(), abs() or angle()"
        )
    return ops.cast(x, dtype)
