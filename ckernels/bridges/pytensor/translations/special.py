"""Softmax and its kin, which PyTensor 3.3 has as inner graphs: here each is one op, stable."""

from .... import ops
from ..registry import Untranslated, translates


def _axes(op, x):
    axis = op.axis
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _flat(op, x, fn):
    """fn(x, axis); for all axes at once fn of a matrix of one row."""
    axes = _axes(op, x)
    if len(axes) == 1:
        return fn(x, axes[0])
    if len(axes) != x.ndim:
        raise Untranslated("over some of several axes")
    return ops.reshape(fn(ops.reshape(x, [1, -1]), 1), ops.shape(x))


@translates("Softmax")
def softmax(context, op, node, inputs):
    return _flat(op, inputs[0], ops.softmax)


@translates("LogSoftmax")
def log_softmax(context, op, node, inputs):
    return _flat(op, inputs[0], ops.log_softmax)


@translates("SoftmaxGrad")
def softmax_grad(context, op, node, inputs):
    dy, sm = inputs
    if op.axis is None or not isinstance(op.axis, int):
        raise Untranslated("several axes")
    d = ops.mul(dy, sm)
    return ops.sub(d, ops.mul(sm, ops.sum(d, op.axis, keepdims=True)))


@translates("LogSumExp")
def logsumexp(context, op, node, inputs):
    return ops.logsumexp(inputs[0], _axes(op, inputs[0]))
