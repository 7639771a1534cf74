"""Linear algebra, alone or under Blockwise: the ops here take axes before the last two as a batch.

What ckernels has as an op of its own has a row; decompositions with other conventions (permuted LU,
Schur, ...) run through PyTensor's perform.
"""

from .... import ops
from ..checks import agreed
from ..registry import TRANSLATIONS, Untranslated, find, translates

BATCHED = {"Cholesky", "MatrixInverse", "Det", "Dot", "Dot22", "SLogDet"}


@translates("Blockwise")
def blockwise(context, op, node, inputs):
    core = op.core_op
    name = type(core).__name__
    if name not in BATCHED:
        return unbatched(context, op, node, inputs)
    inputs = agreed(node, inputs, [len(sig) for sig in op.inputs_sig])
    if name in ("Dot", "Dot22"):
        return ops.matmul(*[ops.cast(x, node.outputs[0].type.dtype) for x in inputs])
    return find(TRANSLATIONS, core)(context, core, node, inputs)


def unbatched(context, op, node, inputs):
    """The row of the core op where there is no batch."""
    if node.outputs[0].type.ndim != len(op.outputs_sig[0]):
        raise Untranslated(f"a batch of {type(op.core_op).__name__}")
    return find(TRANSLATIONS, op.core_op)(context, op.core_op, node, inputs)


def _real(node, x):
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise Untranslated("complex matrices")
    return ops.cast(x, dtype)


@translates("MatrixInverse")
def inverse(context, op, node, inputs):
    return ops.inverse(_real(node, inputs[0]))


@translates("Det")
def det(context, op, node, inputs):
    return ops.det(_real(node, inputs[0]))
