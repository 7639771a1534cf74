"""Elemwise, CAReduce and DimShuffle: PyTensor's loops over elements.

PyTensor does not broadcast an axis that its type does not mark as of size 1, even where its size
happens to be 1 in a call; `agreed` checks that.
"""

from .... import ops
from ....base import dtypes
from ....ops.reduce import prod
from ..checks import agreed
from ..registry import Untranslated, translates
from .scalar import apply_several


@translates("Elemwise")
def elemwise(context, op, node, inputs):
    return apply_several(op.scalar_op, agreed(node, inputs), node.outputs)


# --- scalars ----------------------------------------------------------------------------------


@translates("ScalarOp")
def scalar(context, op, node, inputs):
    return apply_several(op, inputs, node.outputs)


@translates(
    "ScalarFromTensor",
    "TensorFromScalar",
    "ViewOp",
    "DeepCopyOp",
    "CpuContiguous",
    "Unbroadcast",
    "TypeCastingOp",
)
def same(context, op, node, inputs):
    return inputs[0]


# --- reductions -------------------------------------------------------------------------------


def _product(x, axes, op):
    if type(op).__name__ == "ProdWithoutZeros":
        x = ops.where(ops.eq(x, 0), ops.cast(1, x.dtype), x)
    return prod(x, axes)


def _bits(logical):
    def reduce_(x, axes, op):
        if x.dtype != "bool" and type(op).__name__ == "CAReduce":
            raise Untranslated("bitwise reduction of integers")
        return logical(x, axes)

    return reduce_


REDUCTIONS = {
    "Add": lambda x, axes, op: ops.sum(x, axes), "Mul": _product, "MulWithoutZeros": _product,
    "Maximum": lambda x, axes, op: ops.max(x, axes), "OR": _bits(ops.any), "AND": _bits(ops.all),
    "ScalarMaximum": lambda x, axes, op: ops.max(x, axes),
    "Minimum": lambda x, axes, op: ops.min(x, axes),
    "ScalarMinimum": lambda x, axes, op: ops.min(x, axes)}  # fmt: skip


@translates("CAReduce")
def reduction(context, op, node, inputs):
    (x,), dtype = inputs, node.outputs[0].type.dtype
    axes = tuple(range(x.ndim)) if op.axis is None else tuple(op.axis)
    name = type(op.scalar_op).__name__
    if name not in REDUCTIONS or dtypes.is_complex(x.dtype) and name not in ("Add", "Mul"):
        raise Untranslated(f"reduction by {name}")
    wide = getattr(op, "acc_dtype", None)
    if name in ("Add", "Mul", "MulWithoutZeros") and wide:
        x = ops.cast(x, wide)
    y = REDUCTIONS[name](x, axes, op) if axes else x
    return ops.cast(y, dtype)


# --- axes -------------------------------------------------------------------------------------


@translates("DimShuffle")
def dimshuffle(context, op, node, inputs):
    x, order = inputs[0], op.new_order
    kept = [i for i in order if i != "x"]
    dropped = tuple(i for i in range(x.ndim) if i not in kept)
    x = ops.squeeze(x, dropped) if dropped else x
    rank = {axis: k for k, axis in enumerate(sorted(kept))}
    x = ops.transpose(x, [rank[i] for i in kept])
    return ops.expand(x, tuple(k for k, i in enumerate(order) if i == "x"))
