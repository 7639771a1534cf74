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
        axis = int(first.value) % x.ndim
    if sizes.shape[0] != op.len_splits or (sizes.value is not None and (sizes.value < 0).any()):
        raise Between("sizes that are wrong, or of any count: perform says in which way")
    if sizes.value is None:
        return _by_data(x, ops.cast(sizes, "int64"), axis)
    parts = [int(s) for s in sizes.value]
    if x.shape[axis] != sum(parts):
        x = specified(x, [sum(parts) if k == axis else None for k in range(x.ndim)], "Split")
    return ops.split(x, parts, axis)


def _by_data(x, sizes, axis):
    """Slices from one sum of `sizes` to the next: lengths of PyMC's dims are shared variables."""
    for total, what in ((sizes, "Split"), (ops.maximum(sizes, 0), "Split with none below 0")):
        total = ops.sum(total)
        x = specified(x, [total if k == axis else None for k in range(x.ndim)], what)
    parts, start = [], 0
    for k in range(sizes.shape[0]):
        stop = ops.add(start, ops.getitem(sizes, (k,)))
        parts.append(ops.getitem(x, (*[slice(None)] * axis, slice(start, stop))))
        start = stop
    return parts
