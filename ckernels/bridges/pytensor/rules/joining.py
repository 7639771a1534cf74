"""Join and Split, in the form of PyTensor 3.3 (the axis is a property) and before (an input)."""
from .... import ops
from ....errors import ShapeError
from ..table import NoRule, rule


def _axis(op, inputs):
    if hasattr(op, "axis"):
        return op.axis, list(inputs)
    first, *rest = inputs
    if first.value is None:
        raise NoRule("an axis that is data")
    return int(first.value), rest


@rule("Join")
def join(context, op, node, inputs):
    axis, parts = _axis(op, inputs)
    dtype = node.outputs[0].type.dtype
    return ops.concatenate([ops.cast(x, dtype) for x in parts], axis)


@rule("Split")
def split(context, op, node, inputs):
    if hasattr(op, "axis"):
        x, sizes, axis = *inputs, op.axis
    else:
        x, first, sizes = inputs
        if first.value is None:
            raise NoRule("an axis that is data")
        axis = int(first.value)
    if sizes.value is None:
        raise NoRule("sizes of a split that are data")      # perform says what is wrong with them
    if x.shape[axis] is None:
        _check(sizes.value, op.len_splits)
    return ops.split(x, [int(s) for s in sizes.value], axis)


def _check(sizes, count):
    if len(sizes) != count or (sizes < 0).any():
        raise ShapeError(f"a Split into {count} parts cannot have the sizes {sizes.tolist()}")
