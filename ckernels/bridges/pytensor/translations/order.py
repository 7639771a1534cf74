"""What depends on the order along an axis: sorting, Argmax, running sums, Nonzero."""

from .... import ops
from ....ops.shape import sized, times
from ..registry import Untranslated, translates


def _along(op, inputs):
    """(tensor, axis). The axis is a property of the op in PyTensor 3.3.7, before that an input."""
    if len(inputs) == 1:
        return inputs[0], op.axis
    x, axis = inputs
    if axis is None:
        return x, None
    if axis.value is None:
        raise Untranslated("an axis that is data")
    return x, int(axis.value)


@translates("SortOp")
def sort(context, op, node, inputs):
    x, axis = _along(op, inputs)
    return ops.sort(x, axis)


@translates("ArgSortOp")
def argsort(context, op, node, inputs):
    x, axis = _along(op, inputs)
    return ops.argsort(x, axis)


@translates("Argmax")
def argmax(context, op, node, inputs):
    (x,) = inputs
    axes = tuple(range(x.ndim)) if op.axis is None else tuple(op.axis)
    if not x.ndim:
        return ops.cast(ops.zeros_like(x), "int64")
    if len(axes) in (1, x.ndim) and (len(axes) == 1 or axes == tuple(range(x.ndim))):
        return ops.argmax(x, axes)
    kept = [a for a in range(x.ndim) if a not in axes]
    sizes = sized(x, kept)
    line = ops.reshape(ops.transpose(x, kept + list(axes)), sizes + [times(*sized(x, axes))])
    return ops.argmax(line, (len(kept),))


@translates("CumOp")
def running(context, op, node, inputs):
    (x,), dtype = inputs, node.outputs[0].type.dtype
    if x.dtype.startswith("complex"):
        raise Untranslated("complex running sums")
    axis = op.axis
    return ops.cast((ops.cumsum if op.mode == "add" else ops.cumprod)(x, axis), dtype)


@translates("Nonzero")
def nonzero(context, op, node, inputs):
    return list(ops.nonzero(inputs[0]))
