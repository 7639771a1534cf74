"""Scalar ops: what an Elemwise computes per element, and in which dtype.

Operands have the dtypes of PyTensor's graph and the result the one that PyTensor chose; a
translation casts between them as PyTensor's `impl` does. Ops without one are computed by `impl`.
"""

import numpy as np

from .... import ops
from ....api.own import c_op
from ....api.tensor import Tensor
from ....base import dtypes
from ....base.errors import CompilerMissing
from ....codegen.element_loops import element_loop
from ....graph.node import constant, item, placeholder
from ....ops.scan import Carry, ScanSignature, scan_node
from ....ops.shape import size_of
from ....ops.special import polygamma
from ....rewrite import optimise
from ..registry import SCALARS, Untranslated, find, translates_scalar
from .scan import steps_of


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


def apply_several(op, operands, outputs):
    """The nodes of all outputs of the scalar `op`, whose variables are `outputs`."""
    kinds = [kind.__name__ for kind in type(op).__mro__]
    if "Composite" in kinds:
        return apply_composite(op, operands)
    if "ScalarLoop" in kinds:
        return loop(op, operands)
    if len(outputs) != 1:
        raise Untranslated("several outputs")
    return [apply_scalar(op, operands, outputs[0].type.dtype)]


def apply_composite(op, operands):
    """The nodes of all outputs of an op with a graph of scalars inside."""
    graph = op.fgraph
    values = dict(zip(graph.inputs, operands))

    def of(variable):
        if variable not in values:
            values[variable] = ops.to_node(np.asarray(variable.data, variable.type.dtype))
        return values[variable]

    for node in graph.toposort():
        args = [of(i) for i in node.inputs]
        values.update(zip(node.outputs, apply_several(node.op, args, node.outputs)))
    return [of(out) for out in graph.outputs]


# --- loops of one element -----------------------------------------------------------------------


def loop(op, operands):
    """The nodes of all outputs of a ScalarLoop: in C an element takes its steps by itself; where an
    operation has no C, or there is no compiler, they step together in a scan.
    """
    count, *rest = operands
    sizes = _sizes(operands)
    states = len(op.outputs) - op.is_while
    wide = [ops.broadcast_to(x, sizes) for x in (ops.cast(count, "int64"), *rest)]
    found = _each(op, wide, states)
    return _together(op, wide[0], wide[1:], states) if found is None else found


def _sizes(operands):
    """The sizes that operands of one rank broadcast to, which were checked to do so."""
    found = []
    for axis in range(operands[0].ndim):
        x = next((x for x in operands if x.shape[axis] != 1), operands[0])
        found.append(size_of(x, axis))
    return found


def _each(op, operands, states):
    """As a body of C, or None."""
    if any(dtypes.is_complex(x.dtype) or x.dtype in dtypes.C_STORED for x in operands):
        return None
    names = ["n", *(f"x{k}" for k in range(states))]
    names += [f"c{k}" for k in range(len(operands) - len(names))]
    cells = [placeholder(x.dtype, ()) for x in operands[1:]]
    new = optimise(apply_composite(op, cells))
    until = new.pop() if op.is_while else None
    body = element_loop(cells[:states], cells[states:], new, until)
    if body is None:
        return None
    labels = {f"y{k}": (x.dtype, (None,)) for k, x in enumerate(new)}
    if op.is_while:
        labels["ended"] = ("bool", (None,))
    flat = [Tensor(x if x.ndim == 1 else ops.reshape(x, (-1,))) for x in operands]
    try:
        found = c_op(
            body,
            dict(zip(names, flat)),
            labels,
            infer_shape=lambda n, *others: [n] * len(labels) if len(labels) > 1 else n,
            name="loop of PyTensor",
            parallel=True,
        )
    except CompilerMissing:
        return None
    found = found if isinstance(found, tuple) else (found,)
    like = operands[0]
    sizes = [size_of(like, axis) for axis in range(like.ndim)]
    return [y.node if like.ndim == 1 else ops.reshape(y.node, sizes) for y in found]


def _together(op, count, rest, states):
    """As a scan in which all elements step together. One that has ended, or has taken its number of
    steps, keeps its state; the last to end ends the scan.
    """
    inits = rest[:states]
    if op.is_while:  # as PyTensor's Python and numba modes have it without a step
        inits.append(ops.full_like(count, False, "bool"))
    inits.append(ops.gt(count, 0))
    held = [placeholder(x.dtype, x.shape) for x in inits]
    done = placeholder("int64", ())
    active = held[-1]
    new = apply_composite(op, held[:states] + rest[states:])
    after = ops.add(done, ops.cast(1, "int64"))
    goes_on = ops.logical_and(active, ops.lt(after, count))
    if op.is_while:
        goes_on = ops.logical_and(goes_on, ops.logical_not(new[-1]))
    new = [ops.where(active, ops.cast(n, h.dtype), h) for n, h in zip(new, held)] + [goes_on]
    carries = [Carry(ops.expand(x, (0,)), (-1,), [h], n) for x, h, n in zip(inits, held, new)]
    carries.append(Carry(ops.cast(np.zeros(1), "int64"), (-1,), [done], after))
    most = _most(count)
    steps = constant(np.int64(most)) if most is not None else steps_of(_largest(count))
    node = scan_node(steps, (), carries, (), ops.logical_not(ops.any(goes_on)), name=op.name)
    layout = ScanSignature.of(node)
    return [item(node, layout.final(i)) for i in range(len(op.outputs))]


def _largest(count):
    return ops.max(ops.concatenate([ops.reshape(count, (-1,)), ops.cast(np.zeros(1), "int64")], 0))


def _most(x):
    """What no element of `x` exceeds, or None: the larger side of a choice between constants."""
    if x.value is not None:
        return max(0, int(x.value.max(initial=0)))
    if x.op.name in ("cast", "broadcast_to", "broadcast_like", "expand"):
        return _most(x.inputs[0])
    if x.op.name == "where":
        sides = [_most(side) for side in x.inputs[1:]]
        return None if None in sides else max(sides)
    return None
