"""Arithmetic: cast, sums, products, powers, rounding, extrema, where, the few for complex.

Integers wrap as in NumPy (the C goes through unsigned types, where overflow is defined); bool adds
as "or" and multiplies as "and". maximum and minimum give the gradient of a tie to the first
operand, as in Theano.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.folding import of_sizes
from ..graph.node import Node, make
from ..graph.op import Op
from ..graph.shapes import axis_of, show
from ..graph.sizes import Size
from .base import (
    broadcast_like,
    cast,
    elementwise,
    elementwise_op,
    full_like,
    is_weak,
    ones_like,
    operands,
    scalar,
    to_node,
    zeros_like,
)
from .logic import eq, ge, gt, isnan, le, lt

__all__ = ["cast", "add", "add_rounded", "sub", "sub_rounded", "mul", "true_div", "masked_mul",
           "masked_div", "floor_div", "mod", "pow", "neg", "abs",
           "sign", "square", "sqr", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "trunc",
           "round", "maximum", "minimum", "clip", "leave_nothing", "where", "masked",
           "relu", "identity", "stop_gradient",
           "deg2rad", "rad2deg", "real", "imag", "complex_of", "conj", "angle", "iota",
           "zeros_like", "ones_like", "full_like", "broadcast_like"]  # fmt: skip

# Arithmetic that would overflow a signed type is done in these: there it wraps, as NumPy does.
_WRAPS_IN = {1: "uint8_t", 2: "uint32_t", 4: "uint32_t", 8: "uint64_t"}


def c_number(value, dtype):
    """A float literal in the C type of `dtype`."""
    return repr(float(value)) if dtype == "float64" else f"{float(np.float32(value))!r}f"


def c_wrapping(sign, for_bool=None):
    """The C of a binary operator: plain for floats, wrapping for ints, `for_bool` for bool."""

    def c(attrs, dtype):
        if dtype in dtypes.FLOATS:
            return f"({{0}}) {sign} ({{1}})"
        if dtype == "bool":
            return f"({{0}}) {for_bool} ({{1}})"
        kind, wide = dtypes.C_NAMES[dtype], _WRAPS_IN[dtypes.ITEMSIZE[dtype]]
        return f"({kind})(({wide})({{0}}) {sign} ({wide})({{1}}))"

    return c


def c_builtin(name):
    """The C of a compiler builtin that is exact and vectorises: __builtin_sqrtf, __builtin_sqrt."""

    def c(attrs, dtype):
        return f"__builtin_{name}{'' if dtype == 'float64' else 'f'}({{0}})"

    return c


def c_kinds(floats, ints, bools="({0})", unsigned=None):
    """The C chosen by kind of dtype; each choice a template or a callable (attrs, dtype)."""

    def c(attrs, dtype):
        kind = dtypes.kind(dtype)
        pick = {"f": floats, "i": ints, "u": unsigned or ints, "b": bools}[kind]
        return pick(attrs, dtype) if callable(pick) else pick

    return c


def number(node):
    """The value of a constant with one element, else None."""
    value = node.value
    return value.item() if value is not None and value.size == 1 else None


# --- cast -------------------------------------------------------------------------------------


def _c_cast(attrs, dtype):
    to = attrs["dtype"]
    if dtypes.is_complex(to) or dtypes.is_complex(dtype):
        return None
    if to == "bool":
        return "(({0}) != 0)"
    if dtype == "bool" and to in dtypes.FLOATS:  # gcc 12 makes no vectors of (float)a_bool
        return "(({0}) ? 1.0 : 0.0)" if to == "float64" else "(({0}) ? 1.0f : 0.0f)"
    if to in dtypes.C_STORED:
        name = dtypes.C_STORED[to]
        if (dtype, to) == ("float64", "float16"):  # rounded once, as by NumPy
            return "ck_half_to_float(ck_double_to_half({0}))"
        return f"ck_{name}_to_float(ck_float_to_{name}((float)({{0}})))"
    if dtype in dtypes.FLOATS and to in dtypes.INTEGERS:
        start = "f64" if dtype == "float64" else "f32"
        return f"ck_{start}_to_{dtypes.SUFFIX[to]}({{0}})"
    if to == "float64" and dtype in ("int64", "uint64"):
        return f"ck_{dtypes.SUFFIX[dtype]}_to_f64({{0}})"
    return f"({dtypes.C_NAMES[to]})({{0}})"


def _run_cast(attrs, x):
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(attrs["dtype"])


def _grad_cast(node, g):
    x = node.inputs[0]
    differentiable = dtypes.is_inexact(x.dtype) and dtypes.is_inexact(node.dtype)
    if differentiable and dtypes.is_complex(g.dtype) and not dtypes.is_complex(x.dtype):
        g = real(g)
    return [cast(g, x.dtype) if differentiable else None]


# fmt: off
Op("cast", "elementwise", lambda attrs, x: (attrs["dtype"], x.shape), _run_cast, _grad_cast,
   _c_cast, ulp=0, doc="`x` in another dtype; out of range values convert as NumPy converts them.")


# --- arithmetic -------------------------------------------------------------------------------

add = elementwise("add", c_wrapping("+", "|"), np.add, lambda x, z, y, g: (g, g),
                  commutative=True, ulp=0, takes="biufc", doc="x + z; bools: or.")
sub = elementwise("sub", c_wrapping("-"), np.subtract, lambda x, z, y, g: (g, neg(g)),
                  ulp=0, takes="iufc", doc="x - z.")
mul = elementwise("mul", c_wrapping("*", "&"), np.multiply,
                  lambda x, z, y, g: (mul(g, z), mul(g, x)),
                  commutative=True, ulp=0, takes="biufc", doc="x * z; bools: and.")
# A product that is read by more than a sum or a difference is no operand of an fma.
add_rounded = elementwise("add_rounded", "(({0}) != ({0}) ? ({0}) : ({0}) + ({1}))", np.add,
                          lambda x, z, y, g: (g, g), ulp=0, takes="f",
                          doc="x + z where the product that x is was rounded, as by NumPy.")
sub_rounded = elementwise("sub_rounded", "(({0}) == ({1}) ? ({0}) - ({0}) : ({0}) - ({1}))",
                          np.subtract, lambda x, z, y, g: (g, neg(g)), ulp=0, takes="f",
                          doc="x - z where both are products that were rounded: 0 of equal ones.")
true_div = elementwise("true_div", "({0}) / ({1})", np.true_divide,
                       lambda x, z, y, g: (true_div(g, z), neg(true_div(mul(g, y), z))),
                       rule="float", ulp=0, cost=2, takes="fc", doc="x / z as floats.")
floor_div = elementwise("floor_div", "ck_floordiv_{S}({0}, {1})", np.floor_divide,
                        lambda x, z, y, g: (zeros_like(x), zeros_like(z)), rule="number", ulp=0,
                        cost=4, takes="iuf", doc="Floor of x / z; an integer over 0 is 0.")
mod = elementwise("mod", "ck_mod_{S}({0}, {1})", np.mod,
                  lambda x, z, y, g: (g, neg(mul(g, floor_div(x, z)))), rule="number", ulp=0,
                  cost=5, takes="iuf", doc="x - z * floor(x / z); an integer mod 0 is 0.")


# A slope may be inf where nothing flows through it, as that of sqrt at 0 behind a `where`, and
# 0 * inf would poison all that is added to it. These two are linear in x: their derivative by x
# does not ask whether x happens to be 0: Rop and second derivatives differentiate just there.
masked_mul = elementwise("masked_mul", "(({0}) == 0 ? 0 : ({0}) * ({1}))",
                         lambda x, z: np.where(x == 0, 0, x * z),
                         lambda x, z, y, g: (masked_mul(g, z), masked_mul(x, g)),
                         rule="float", ulp=0, takes="fc", doc="x * z; 0 where x is 0, for any z.")
masked_div = elementwise("masked_div", "(({0}) == 0 ? 0 : ({0}) / ({1}))",
                         lambda x, z: np.where(x == 0, 0, x / z),
                         lambda x, z, y, g: (masked_div(g, z),
                                             neg(masked_div(masked_mul(y, g), z))),
                         rule="float", ulp=0, cost=2, takes="fc",
                         doc="x / z; 0 where x is 0, for any z.")
# fmt: on


def _run_pow(x, p):
    if x.dtype.kind != "i":
        return np.power(x, p)
    # NumPy refuses negative integer exponents; the op truncates the exact value.
    odd = np.where(p % 2 == 0, 1, x)
    inverse = np.where(np.abs(x) == 1, odd, 0)
    return np.where(p < 0, inverse, np.power(x, np.maximum(p, 0)))


def _grad_pow(x, p, y, g):
    exponent = number(p)
    if exponent is None:
        gx = masked_mul(g, masked_mul(p, pow(x, sub(p, 1))))
        gp = masked_mul(g, mul(y, make("log", (where(gt(x, 0), x, 1),))))
        return (None if x.value is not None else gx), gp
    if exponent == 0:
        return zeros_like(y), None
    if exponent == 1:
        return g, None
    # At 0 the value is finite and the slope is not. (Negative powers have no value there, and a
    # mask would hide (1 + exp(-x)) ** -1 from the rules that know it.)
    steep = not isinstance(exponent, complex) and 0 < exponent < 1
    slope = x if exponent == 2 else pow(x, scalar(exponent - 1, x.dtype))
    return (masked_mul if steep else mul)(g, mul(slope, p)), None


_pow = elementwise(
    "pow",
    "ck_pow_{S}({0}, {1})",
    _run_pow,
    _grad_pow,
    rule="number",
    ulp=4,
    cost=15,
    takes="iufc",
    wide=True,
    doc="x ** p; integers to a negative power truncate to 0.",
)


def pow(x, p):
    """x ** p elementwise. A negative constant power of integers is an error, as in NumPy."""
    x, p = operands((x, p), "pow")
    if p.value is not None and x.dtype in dtypes.SIGNED and (p.value < 0).any():
        raise DTypeError(f"pow: {x.dtype} to a negative integer power; cast the base first")
    return _pow(x, p)


def _c_neg(attrs, dtype):
    if dtype in dtypes.FLOATS:
        return "-({0})"
    return f"({dtypes.C_NAMES[dtype]})(-({_WRAPS_IN[dtypes.ITEMSIZE[dtype]]})({{0}}))"


# fmt: off
neg = elementwise("neg", _c_neg, np.negative, lambda x, y, g: neg(g), ulp=0, takes="iufc",
                  doc="-x.")
abs = elementwise("abs", c_kinds(c_builtin("fabs"), "ck_abs_{S}({0})", unsigned="({0})"), np.abs,
                  lambda x, y, g: mul(g, _direction(x, y)), ulp=0, takes="biufc",
                  out=lambda d: {"complex64": "float32", "complex128": "float64"}.get(d, d),
                  doc="|x|; the gradient at 0 is 0.")
sign = elementwise("sign", "ck_sign_{S}({0})", np.sign, lambda x, y, g: zeros_like(x),
                   rule="number", ulp=0, cost=2, takes="iuf", doc="-1, 0 or 1; NaN stays.")
# fmt: on


def _direction(x, size):
    """x / |x|, and 0 at 0: the sign of a real number."""
    if not dtypes.is_complex(x.dtype):
        return sign(x)
    return where(eq(size, 0), 0, true_div(x, cast(size, x.dtype)))


def _c_square(attrs, dtype):
    return c_wrapping("*", "&")(attrs, dtype).replace("{1}", "{0}")


square = elementwise(
    "square",
    _c_square,
    np.square,
    lambda x, y, g: mul(g, mul(x, 2)),
    rule="number",
    ulp=0,
    takes="iufc",
    doc="x * x.",
)
sqr = square


# fmt: off
sqrt = elementwise("sqrt", c_builtin("sqrt"), np.sqrt,
                   lambda x, y, g: masked_div(g, add(y, y)), rule="float", ulp=0, cost=3,
                   takes="fc", doc="Square root; the slope at 0 is inf, but 0 where g is 0.")
rsqrt = elementwise("rsqrt", lambda a, d: f"{c_number(1, d)} / {c_builtin('sqrt')(a, d)}",
                    lambda x: 1 / np.sqrt(x), lambda x, y, g: mul(g, mul(mul(y, -0.5), mul(y, y))),
                    rule="float", ulp=2, cost=4, takes="f", wide=True, doc="1 / sqrt(x).")
reciprocal = elementwise("reciprocal", lambda a, d: f"{c_number(1, d)} / ({{0}})", lambda x: 1 / x,
                         lambda x, y, g: neg(mul(g, mul(y, y))), rule="float", ulp=0, cost=2,
                         takes="fc", doc="1 / x as a float.")
# fmt: on


# --- rounding: integers are already round -----------------------------------------------------


def _rounding(name, fn, doc):
    op = elementwise(
        name,
        f"ck_{name}_{{S}}({{0}})",
        fn,
        lambda x, y, g: zeros_like(x),
        ulp=0,
        takes="f",
        doc=doc,
    )

    def build(x):
        x = scalar_or_node(x, name)
        return x if dtypes.is_discrete(x.dtype) else op(x)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def scalar_or_node(x, name):
    """`x` as a Node: a Python number in its default dtype."""
    return operands((x,), name)[0] if is_weak(x) else to_node(x, name)


# fmt: off
floor = _rounding("floor", np.floor, "Largest integer <= x; the gradient is 0.")
ceil = _rounding("ceil", np.ceil, "Smallest integer >= x; the gradient is 0.")
trunc = _rounding("trunc", np.trunc, "x towards 0; the gradient is 0.")
round = _rounding("round", np.rint, "Nearest integer, halves to even; the gradient is 0.")


# --- choice -----------------------------------------------------------------------------------


def _labels_misfit(chosen, predictions, other):
    """That there are not as many labels as rows, where classes equal to labels choose."""
    one_hot = chosen.op.name == "eq" and chosen.ndim == predictions.ndim > 1
    if not one_hot or not any(i.op.name in ("iota", "arange") for i in chosen.inputs):
        return ""
    return (
        f"labels of shape {show(chosen.shape[:-1])} do not fit predictions of shape "
        f"{show(predictions.shape)}: each row of predictions has one label"
    )


_where = elementwise_op("where", "(({0}) ? ({1}) : ({2}))", np.where,
                        lambda c, a, b, y, g: (None, where(c, g, 0), where(c, 0, g)),
                        takes="biufc", conditions=1, misfit=_labels_misfit, ulp=0,
                        doc="a where cond else b.")
# fmt: on


def where(cond, a, b):
    """`a` where `cond` (any dtype; not zero means true) else `b`; all three broadcast."""
    a, b = operands((a, b), "where")
    return make(_where, (cast(scalar_or_node(cond, "where"), "bool"), a, b))


_masked = elementwise_op("masked", "((void)({0}), ({1}))",
                         lambda c, x: np.broadcast_arrays(c, x)[1],
                         lambda c, x, y, g: (None, where(c, g, 0)), takes="biufc", conditions=1,
                         ulp=0, doc="x; nothing flows back to it where cond is not.")  # fmt: skip


def masked(cond, x):
    """`x` as operand of what is read under the mask `cond` alone: there a slope may be inf."""
    return make(_masked, (cond, x))


def _extremum(name, c, fn, first_wins, doc):
    def grad(x, z, y, g):
        first = first_wins(x, z)
        return where(first, g, 0), where(first, 0, g)

    return elementwise(name, c, fn, grad, ulp=0, cost=1.5, doc=doc)


maximum = _extremum(
    "maximum",
    "ck_max_{S}({0}, {1})",
    np.maximum,
    lambda x, z: ge(x, z),
    "The larger of both, NaN wins; a tie sends the gradient to x.",
)
minimum = _extremum(
    "minimum",
    "ck_min_{S}({0}, {1})",
    np.minimum,
    lambda x, z: le(x, z),
    "The smaller of both, NaN wins; a tie sends the gradient to x.",
)


def leave_nothing(low, high):
    """Whether these bounds are constants with no number between them: their clip is constant."""

    def value(bound):
        if type(bound) in (int, float):
            return bound
        node = None if is_weak(bound) else getattr(bound, "node", bound)
        return node.value if type(node) is Node and not of_sizes(node) else None

    low, high = value(low), value(high)
    if low is None or high is None or np.ndim(low) and np.ndim(high) and low.shape != high.shape:
        return False
    return bool(np.all(np.greater_equal(low, high)))


def clip(x, low, high):
    """x limited to [low, high]; None leaves a side open. On the bounds the gradient passes, but
    where they are constants that leave nothing between them."""
    y = x if low is None else maximum(x, low)
    if high is None:
        return to_node(y, "clip")
    return minimum(high, y) if leave_nothing(low, high) else minimum(y, high)


# fmt: off
relu = elementwise("relu", c_kinds(*["(({0}) < 0 ? 0 : ({0}))"] * 2, unsigned="({0})"),
                   lambda x: np.where(x < 0, 0, x), lambda x, y, g: where(gt(y, 0), g, 0),
                   rule="number", ulp=0, takes="iuf",
                   doc="max(x, 0), NaN stays; the slope at 0 is 0.")
identity = elementwise("identity", "({0})", np.array, lambda x, y, g: g, ulp=0,
                       takes="biufc", doc="x.")
stop_gradient = elementwise("stop_gradient", "({0})", np.array, lambda x, y, g: None, ulp=0,
                            takes="biufc", doc="x, a constant to the gradient.")
# fmt: on


def _scaled(name, factor, doc):
    return elementwise(
        name,
        lambda attrs, dtype: f"({{0}}) * {c_number(factor, dtype)}",
        lambda x: x * factor,
        lambda x, y, g: mul(g, factor),
        rule="float",
        ulp=1,
        takes="f",
        wide=True,
        doc=doc,
    )


deg2rad = _scaled("deg2rad", np.pi / 180, "Degrees to radians.")
rad2deg = _scaled("rad2deg", 180 / np.pi, "Radians to degrees.")


# --- complex: rewrite/pairs.py has the parts; real tensors never reach these ops --------------
# The cotangent of x + iy is the slope by x plus i times the slope by y, so that of z through a
# function f with a complex derivative is g conj(f'(z)): autodiff/accumulate.py has it from the rule
# of real numbers. The functions of the parts have rules of their own, which are these.

# fmt: off
_part = {"complex64": "float32", "complex128": "float64"}.get
_real = elementwise("real", None, np.real, lambda x, y, g: cast(g, x.dtype), out=_part, takes="c",
                    doc="Real part.")
_imag = elementwise("imag", None, np.imag, lambda x, y, g: mul(cast(g, x.dtype), 1j), out=_part,
                    takes="c", doc="Imaginary part.")
_conj = elementwise("conj", None, np.conj, lambda x, y, g: conj(g), takes="c",
                    doc="Complex conjugate.")
_angle = elementwise("angle", None, np.angle,
                     lambda x, y, g: true_div(mul(cast(g, x.dtype), 1j), conj(x)), out=_part,
                     takes="c", doc="Argument.")
# fmt: on


def _run_complex_of(attrs, a, b):
    z = np.empty(a.shape, "complex64" if a.dtype == "float32" else "complex128")
    z.real, z.imag = a, b
    return z


Op("complex_of", "opaque",
   lambda attrs, a, b: ("complex64" if a.dtype == "float32" else "complex128", a.shape),
   _run_complex_of, grad=lambda node, g: (real(g), imag(g)),
   doc="The complex tensor of these parts, of one shape.")  # fmt: skip


def complex_of(a, b):
    """The complex tensor of real and imaginary parts, of one shape and dtype."""
    return make("complex_of", (a, b))


def real(x):
    """Real part; a real tensor itself."""
    x = scalar_or_node(x, "real")
    return _real(x) if dtypes.is_complex(x.dtype) else x


def imag(x):
    """Imaginary part; zeros for a real tensor."""
    x = scalar_or_node(x, "imag")
    return _imag(x) if dtypes.is_complex(x.dtype) else zeros_like(x)


def conj(x):
    """Complex conjugate; a real tensor itself."""
    x = scalar_or_node(x, "conj")
    return _conj(x) if dtypes.is_complex(x.dtype) else x


def angle(x):
    """Argument of a complex number; 0 or pi for a real one, NaN stays."""
    x = scalar_or_node(x, "angle")
    if dtypes.is_complex(x.dtype):
        return _angle(x)
    x = cast(x, dtypes.to_float(x.dtype))
    return where(lt(x, 0), np.pi, where(isnan(x), x, 0))


# --- iota -------------------------------------------------------------------------------------


def _infer_iota(attrs):
    return attrs["dtype"], attrs["shape"]


def _run_iota(attrs):
    shape, axis = attrs["shape"], attrs["axis"]
    line = np.arange(shape[axis]).astype(attrs["dtype"])
    line = line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(line, shape).copy()


Op("iota", "elementwise", _infer_iota, _run_iota, ulp=0, doc="The index along one axis.")


def iota(shape, axis=0, dtype="int64"):
    """A tensor of the given (concrete) shape whose elements are their own index along `axis`."""
    shape = tuple(
        d if type(d) is Size else int(d)
        for d in ((shape,) if isinstance(shape, Size) or np.ndim(shape) == 0 else shape)
    )
    if any(d < 0 for d in shape):
        raise ShapeError(f"iota: shape {shape} has a negative size")
    return make(
        "iota",
        (),
        {"shape": shape, "axis": axis_of(axis, len(shape)), "dtype": dtypes.name_of(dtype)},
    )
