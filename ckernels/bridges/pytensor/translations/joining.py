"""Join and Split, in the form of PyTensor 3.3 (the axis is a property) and before (an input)."""

from .... import ops
from ..checks import specified
from ..registry import Between, Untranslated, translates


def _axis(op, inputs):
    if hasattr(op, "axis"):
        return op.axis, list(inputs)
    first, *rest = inputs
    if first.value is None:
        raise Untranslated("an axis that is data")
    return int(first.value), rest


@translates("Join")
def join(context, op, node, inputs):
    axis, parts = _axis(op, inputs)
    dtype = node.outputs[0].type.dtype
    return ops.concatenate([ops.cast(x, dtype) for x in parts], axis)


@translates("Split")
def split(context, op, node, inputs):
    if hasattr(op, "axis"):
        x, sizes, axis = *inputs, op.axis
    else:
        x, first, sizes = inputs
        if first.value is None:
            raise Untranslated("an axis that is data")
        axis = int(first.value)
    if sizes.value is None or len(sizes.value) != op.len_splits or (sizes.value < 0).any():
        raise Between("sizes that are data, or wrong: perform says in which way")
    parts = [int(s) for s in sizes.value]
    if x.shape[axis] != sum(parts):
        x = specified(x, [sum(parts) if k == axis else None for k in range(x.ndim)], "Split")
    return ops.split(x, parts, axis)
