"""Scalar ops: what an Elemwise computes per element, and in which dtype.

Operands have the dtypes of PyTensor's graph and the result the one that PyTensor chose; a
translation casts between them as PyTensor's `impl` does. Ops without one are computed by `impl`.
"""

import numpy as np

from .... import ops
from ....base import dtypes
from ....ops.special import polygamma
from ..registry import SCALARS, Untranslated, find, translates_scalar


def apply_scalar(op, operands, dtype):
    """The node of the scalar `op` on nodes `operands`, in `dtype`; may raise Untranslated."""
    if dtypes.is_complex(dtype) or any(dtypes.is_complex(x.dtype) for x in operands):
        if type(op).__name__ not in COMPLEX:
            raise Untranslated(f"complex {type(op).__name__}")
    return ops.cast(find(SCALARS, op)(op, operands, dtype), dtype)


COMPLEX = {"Add", "Sub", "Mul", "TrueDiv", "Neg", "Identity", "Second", "Switch", "EQ", "NEQ",
           "Exp", "Sqr", "Sqrt", "Conj", "Composite"}  # fmt: skip


def common(operands):
    """`operands` in the dtype NumPy promotes theirs to."""
    dtype = np.result_type(*[x.dtype for x in operands]).name
    return [ops.cast(x, dtype) for x in operands]


# --- in the dtype of the result ---------------------------------------------------------------


def _row(name, fn, fold=False):
    def row(op, operands, dtype):
        args = [ops.cast(x, dtype) for x in operands]
        if not fold:
            return fn(*args)
        total = args[0]
        for x in args[1:]:
            total = fn(total, x)
        return total

    translates_scalar(name)(row)


for _name, _fn in {
    "Add": ops.add,
    "Mul": ops.mul,
    "Maximum": ops.maximum,
    "Minimum": ops.minimum,
    "ScalarMaximum": ops.maximum,
    "ScalarMinimum": ops.minimum,
    "OR": ops.bit_or,
    "AND": ops.bit_and,
    "XOR": ops.bit_xor,
}.items():
    _row(_name, _fn, fold=True)


def _reciprocal(x):
    return ops.true_div(ops.cast(1, x.dtype), x)


def _away_from_zero(x):
    half = ops.cast(0.5, x.dtype)
    return ops.where(ops.lt(x, 0), ops.ceil(x - half), ops.floor(x + half))


DIRECT = {
    "Sub": ops.sub, "TrueDiv": ops.true_div, "Identity": lambda x: x, "Abs": ops.abs,
    "Neg": ops.neg, "Reciprocal": _reciprocal, "Log": ops.log, "Log2": ops.log2,
    "Log10": ops.log10, "Log1p": ops.log1p, "Exp": ops.exp, "Exp2": ops.exp2, "Expm1": ops.expm1,
    "Sqr": ops.square, "Sqrt": ops.sqrt, "Cos": ops.cos, "ArcCos": ops.acos, "Sin": ops.sin,
    "ArcSin": ops.asin, "Tan": ops.tan, "ArcTan": ops.atan, "ArcTan2": ops.atan2,
    "Cosh": ops.cosh, "ArcCosh": ops.acosh, "Sinh": ops.sinh, "ArcSinh": ops.asinh,
    "Tanh": ops.tanh, "ArcTanh": ops.atanh, "Deg2Rad": ops.deg2rad, "Rad2Deg": ops.rad2deg,
    "Erf": ops.erf, "Erfc": ops.erfc, "Erfinv": ops.erfinv, "Erfcinv": ops.erfcinv,
    "Gamma": ops.gamma, "GammaLn": ops.gammaln, "Psi": ops.digamma, "TriGamma": ops.trigamma,
    "I0": ops.i0, "I1": ops.i1, "I0e": ops.i0e, "I1e": ops.i1e,
    "J0": ops.j0, "J1": ops.j1, "Sigmoid": ops.sigmoid,
    "Softplus": ops.softplus, "Log1mexp": ops.log1mexp,
    "RoundHalfAwayFromZero": _away_from_zero, "RoundHalfToEven": ops.round, "Conj": ops.conj,
    "Ceil": ops.ceil, "Floor": ops.floor, "Trunc": ops.trunc,
}  # fmt: skip
# PyTensor's class and the op of this name, where this version of ckernels has it.
NAMED = {"GammaInc": "gammainc", "GammaIncC": "gammaincc", "BetaInc": "betainc", "Erfcx": "erfcx",
         "Ive": "ive", "Kve": "kve", "Jv": "jv", "GammaIncInv": "gammaincinv",
         "GammaIncCInv": "gammainccinv", "BetaIncInv": "betaincinv", "Owens_t": "owens_t",
         "Hyp2F1": "hyp2f1", "NdtriExp": "ndtri_exp"}  # fmt: skip
DIRECT.update({name: getattr(ops, known) for name, known in NAMED.items() if hasattr(ops, known)})
for _name, _fn in DIRECT.items():
    _row(_name, _fn)


@translates_scalar("PolyGamma")
def _polygamma(op, operands, dtype):
    order = operands[0].value
    if order is None or order.size != 1 or order.item() < 1:
        raise Untranslated("polygamma of an order that is data")
    return polygamma(int(order.item()), ops.cast(operands[1], dtype))


@translates_scalar("Sign")
def _sign(op, operands, dtype):
    x = operands[0]
    return x if x.dtype == "bool" else ops.sign(x)


@translates_scalar("IntDiv")
def _int_div(op, operands, dtype):
    return ops.floor_div(*common(operands))


@translates_scalar("Mod")
def _mod(op, operands, dtype):
    return ops.mod(*common(operands))


@translates_scalar("Pow")
def _pow(op, operands, dtype):
    return ops.pow(*[ops.cast(x, dtype) for x in operands])


# --- truth ------------------------------------------------------------------------------------


def _comparison(name, fn):
    translates_scalar(name)(lambda op, operands, dtype: fn(*common(operands)))


for _name, _fn in {
    "LT": ops.lt,
    "GT": ops.gt,
    "LE": ops.le,
    "GE": ops.ge,
    "EQ": ops.eq,
    "NEQ": ops.ne,
}.items():
    _comparison(_name, _fn)


@translates_scalar("IsNan")
def _isnan(op, operands, dtype):
    return ops.isnan(operands[0])


@translates_scalar("IsInf")
def _isinf(op, operands, dtype):
    return ops.isinf(operands[0])


@translates_scalar("InRange")
def _in_range(op, operands, dtype):
    x, low, high = common(operands)
    above = ops.gt(x, low) if op.openlow else ops.ge(x, low)
    return ops.logical_and(above, ops.lt(x, high) if op.openhi else ops.le(x, high))


@translates_scalar("Switch")
def _switch(op, operands, dtype):
    condition, *sides = operands
    return ops.where(condition, *[ops.cast(x, dtype) for x in sides])


@translates_scalar("Invert")
def _invert(op, operands, dtype):
    return ops.bit_not(operands[0])


@translates_scalar("Clip")
def _clip(op, operands, dtype):
    """PyTensor compares with the lower bound first: with low > high, x < low gives low."""
    x, low, high = (ops.cast(i, dtype) for i in operands)
    if low.value is not None and high.value is not None and (low.value <= high.value).all():
        return ops.clip(x, low, high)
    return ops.where(ops.lt(x, low), low, ops.where(ops.gt(x, high), high, x))


@translates_scalar("Second")
def _second(op, operands, dtype):
    like, x = operands
    if all(b == 1 or b == a for a, b in zip(like.shape, x.shape)) and None not in x.shape:
        return ops.broadcast_like(ops.cast(x, dtype), like)
    return ops.where(ops.full_like(like, True, "bool"), x, x)


@translates_scalar("Cast")
def _cast(op, operands, dtype):
    if dtypes.is_complex(operands[0].dtype) and not dtypes.is_complex(dtype):
        raise Untranslated("a cast of complex numbers to real ones")
    return operands[0]


# --- several at once --------------------------------------------------------------------------


def apply_composite(op, operands):
    """The nodes of all outputs of a Composite."""
    graph = op.fgraph
    values = dict(zip(graph.inputs, operands))

    def of(variable):
        if variable not in values:
            values[variable] = ops.to_node(np.asarray(variable.data, variable.type.dtype))
        return values[variable]

    for node in graph.toposort():
        args = [of(i) for i in node.inputs]
        if type(node.op).__name__ == "Composite":
            values.update(zip(node.outputs, apply_composite(node.op, args)))
        else:
            (out,) = node.outputs
            values[out] = apply_scalar(node.op, args, out.type.dtype)
    return [of(out) for out in graph.outputs]
