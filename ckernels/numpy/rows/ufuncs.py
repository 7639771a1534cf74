"""Rows of NumPy's ufuncs: a builder over nodes that have the dtypes of the loop already.

Which dtypes these are, the rule decides; a builder sees bool, integers, floats or complex numbers
and builds what NumPy computes in that loop.
"""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import constant
from .base import UFUNCS, Row, contracted, inner_of_rows, newer


def _add(function, build, reduction=None, running=None):
    UFUNCS[function] = Row(function.__name__, build, True, False, reduction, running)


def _alike(x, value):
    return constant(np.asarray(value, dtype=x.dtype), x.dtype)


def _reducing(name):
    return lambda x, axes: getattr(ops, name)(x, axes)


def _power(x, p):
    if dtypes.kind(p.dtype) == "i" and (p.value is None or (p.value < 0).any()):
        raise NotSupported("an integer power of integers, which NumPy refuses where it is negative")
    return ops.pow(x, p)


def _fmod(x, z):
    if dtypes.is_discrete(x.dtype):
        rest = ops.mod(x, z)
        if dtypes.kind(x.dtype) == "u":
            return rest
        turned = ops.logical_and(ops.ne(rest, 0), ops.ne(ops.lt(x, 0), ops.lt(z, 0)))
        return ops.where(turned, ops.sub(rest, z), rest)
    return _not_half(ops.fmod)(x, z)


def _not_half(build):
    """`build` of floats that kernels compute in as they are stored."""

    def checked(*nodes):
        if nodes[0].dtype == "float16":
            raise NotSupported("digits of float16")
        return build(*nodes)

    return checked


def _heaviside(x, at_zero):
    step = ops.where(ops.lt(x, 0), _alike(x, 0), _alike(x, 1))
    return ops.where(ops.isnan(x), x, ops.where(ops.eq(x, 0), at_zero, step))


def _ordered(a, b, first):
    """(a, b) where `first` holds, else (b, a): of two equal ones each is one of both, so that what
    is computed from them has its slopes there, which a maximum beside a minimum has not."""
    return ops.where(first, a, b), ops.where(first, b, a)


def _gap(a, b):
    """(the larger of two exponents, how far the other one is below it)."""
    top, low = _ordered(a, b, ops.gt(a, b))
    alike = ops.logical_and(ops.eq(a, b), ops.isinf(a))
    return top, ops.where(alike, _alike(a, 0), ops.sub(low, top))


def _logaddexp(a, b):
    top, gap = _gap(a, b)
    return ops.add(top, ops.log1p(ops.exp(gap)))


def _logaddexp2(a, b):
    top, gap = _gap(a, b)
    return ops.add(top, ops.true_div(ops.log1p(ops.exp2(gap)), _alike(a, np.log(2.0))))


def _hypot(a, b):
    """Without overflow: the larger times the root of 1 + ratio squared."""
    top, low = _ordered(a, b, ops.ge(ops.abs(a), ops.abs(b)))
    safe = ops.where(ops.eq(top, 0), _alike(top, 1), top)
    root = ops.sqrt(ops.add(ops.square(ops.true_div(low, safe)), _alike(a, 1)))
    infinite = ops.logical_or(ops.isinf(a), ops.isinf(b))
    return ops.where(infinite, _alike(a, np.inf), ops.mul(ops.abs(top), root))


def _signbit(x):
    if dtypes.is_discrete(x.dtype):
        return ops.lt(x, 0)
    return ops.signbit(x)


def _copysign(x, sign):
    return ops.where(_signbit(sign), ops.neg(ops.abs(x)), ops.abs(x))


def _ignoring_nan(pick):
    def build(a, b):
        if dtypes.is_discrete(a.dtype):
            return pick(a, b)
        return ops.where(ops.isnan(a), b, ops.where(ops.isnan(b), a, pick(a, b)))

    return build


def _positive(x):
    return x


def _reciprocal(x):
    if dtypes.is_discrete(x.dtype):
        raise NotSupported("the reciprocal of integers")
    return ops.reciprocal(x)


def _real_only(build):
    def checked(*operands):
        nodes = [n for n in operands if hasattr(n, "dtype")]
        if any(dtypes.is_complex(n.dtype) for n in nodes):
            raise NotSupported("ordering of complex numbers")
        return build(*operands)

    return checked


def _matmul(a, b):
    if a.ndim == 0 or b.ndim == 0:
        raise NotSupported("a product of matrices that are scalars")
    return contracted(ops.matmul, a, b)


def _maximum_of(op):
    def reduction(x, axes):
        if dtypes.is_complex(x.dtype):
            raise NotSupported("ordering of complex numbers")
        return op(x, axes)

    return reduction


def _of_truth(build):
    return lambda x, axis: build(ops.cast(x, "bool"), axis)


def _divmod(x, z):
    return ops.floor_div(x, z), ops.mod(x, z)


def _modf(x):
    whole = ops.trunc(x)
    part = ops.where(ops.isinf(x), _alike(x, 0), ops.sub(x, whole))
    return _copysign(part, x), whole


def _cbrt(x):
    """By a power, then one step of Newton's method: exact cubes have exact roots."""
    size = ops.abs(x)
    y = ops.pow(size, _alike(x, 1 / 3))
    odd = ops.logical_or(ops.eq(size, 0), ops.isinf(size))
    safe = ops.where(odd, _alike(x, 1), y)
    step = ops.true_div(ops.sub(safe, ops.true_div(size, ops.square(safe))), _alike(x, 3))
    return _copysign(ops.where(odd, size, ops.sub(safe, step)), x)


def _spacing(x):
    far = ops.where(ops.lt(x, 0), _alike(x, -np.inf), _alike(x, np.inf))
    return ops.where(ops.isfinite(x), ops.sub(ops.nextafter(x, far), x), _alike(x, np.nan))


def _ldexp(x, e):
    return ops.ldexp(x, ops.cast(e, x.dtype))


def _frexp(x):
    e = ops.exponent(x)
    return ops.ldexp(x, ops.cast(ops.neg(e), x.dtype)), e


def _lcm(a, b):
    common = ops.gcd(a, b)
    return ops.abs(ops.mul(ops.floor_div(a, ops.where(ops.eq(common, 0), _alike(a, 1), common)), b))


def _bit_count(x):
    return ops.bit_count(x)


def _clip(x, low, high):
    return _real_only(ops.clip)(x, low, high)


def _matrix_vector(a, x):
    return ops.squeeze(_matmul(a, ops.expand(x, (x.ndim,))), (-1,))


def _vector_matrix(x, a):
    return ops.squeeze(_matmul(ops.expand(ops.conj(x), (x.ndim - 1,)), a), (-2,))


_add(np.add, ops.add, _reducing("sum"), lambda x, axis: ops.cumsum(x, axis))
_add(np.subtract, ops.sub)
_add(np.multiply, ops.mul, _reducing("prod"), lambda x, axis: ops.cumprod(x, axis))
_add(np.maximum, _real_only(ops.maximum), _maximum_of(ops.max), _real_only(ops.cummax))
_add(np.minimum, _real_only(ops.minimum), _maximum_of(ops.min), _real_only(ops.cummin))
_add(np.logical_and, ops.logical_and, _reducing("all"), _of_truth(ops.cummin))
_add(np.logical_or, ops.logical_or, _reducing("any"), _of_truth(ops.cummax))
for _function, _build in {
    np.true_divide: ops.true_div, np.floor_divide: ops.floor_div, np.remainder: ops.mod,
    np.divmod: _divmod, np.fmod: _fmod, np.modf: _modf, np.power: _power, np.float_power: _power,
    np.negative: ops.neg, np.positive: _positive, np.absolute: ops.abs, np.fabs: ops.abs,
    np.sign: ops.sign, np.square: ops.square, np.sqrt: ops.sqrt, np.reciprocal: _reciprocal,
    np.cbrt: _cbrt, np.exp: ops.exp, np.exp2: ops.exp2, np.expm1: ops.expm1, np.log: ops.log,
    np.log2: ops.log2, np.log10: ops.log10, np.log1p: ops.log1p, np.logaddexp: _logaddexp,
    np.logaddexp2: _logaddexp2, np.sin: ops.sin, np.cos: ops.cos, np.tan: ops.tan,
    np.arcsin: ops.asin, np.arccos: ops.acos, np.arctan: ops.atan, np.arctan2: ops.atan2,
    np.sinh: ops.sinh, np.cosh: ops.cosh, np.tanh: ops.tanh, np.arcsinh: ops.asinh,
    np.arccosh: ops.acosh, np.arctanh: ops.atanh, np.hypot: _hypot, np.deg2rad: ops.deg2rad,
    np.radians: ops.deg2rad, np.rad2deg: ops.rad2deg, np.degrees: ops.rad2deg,
    np.floor: ops.floor, np.ceil: ops.ceil, np.trunc: ops.trunc, np.rint: ops.round,
    np.equal: ops.eq, np.not_equal: ops.ne, np.less: _real_only(ops.lt),
    np.less_equal: _real_only(ops.le), np.greater: _real_only(ops.gt),
    np.greater_equal: _real_only(ops.ge), np.logical_xor: ops.logical_xor,
    np.logical_not: ops.logical_not, np.bitwise_and: ops.bit_and, np.bitwise_or: ops.bit_or,
    np.bitwise_xor: ops.bit_xor, np.invert: ops.bit_not, np.left_shift: ops.left_shift,
    np.right_shift: ops.right_shift, np.isnan: ops.isnan, np.isinf: ops.isinf,
    np.isfinite: ops.isfinite, np.conjugate: ops.conj, np.heaviside: _heaviside,
    np.signbit: _signbit, np.copysign: _copysign, np.fmax: _ignoring_nan(ops.maximum),
    np.fmin: _ignoring_nan(ops.minimum), np.matmul: _matmul,
    np.nextafter: _not_half(ops.nextafter), np.spacing: _not_half(_spacing), np.gcd: ops.gcd,
    np.lcm: _lcm, np.ldexp: _not_half(_ldexp), np.frexp: _not_half(_frexp),
}.items():  # fmt: skip
    _add(_function, _build)
if hasattr(np, "vecdot"):  # NumPy 2.0 and later
    _add(np.vecdot, inner_of_rows)
if hasattr(np, "bitwise_count"):
    _add(np.bitwise_count, _bit_count)
if hasattr(np, "matvec"):  # 2.2 and later
    _add(np.matvec, _matrix_vector)
    _add(np.vecmat, _vector_matrix)
for _name, _build in {"clip": _clip, "_ones_like": ops.ones_like}.items():
    _ufunc = newer(f"_core.umath.{_name}")  # ufuncs without a public name
    if _ufunc is not None:
        _add(_ufunc, _build)
