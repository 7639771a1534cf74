"""Cross-entropies of Keras 2.2 and 2.3: the target comes first, and the classes lie on any axis."""

from .. import ops
from ..api import losses
from ..api.operands import node_of
from ..errors import ArgumentError


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """-sum(target * log(output)) over the class axis; the target comes first.

    >>> from ckernels.compat import keras2 as K
    >>> t, p = np.array([[0.0, 1.0]]), np.array([[0.25, 0.75]])
    >>> K.categorical_crossentropy(t, p).eval().round(4)
    array([0.2877])
    """
    target, output = _class_last(target, axis), _class_last(output, axis)
    return losses.categorical_crossentropy(output, target, from_logits)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """-log(output[..., target] / sum(output)), the class an integer; the target comes first.

    The target may keep the class axis, with size 1, where the output has it.
    """
    target, ndim = node_of(target), node_of(output).ndim
    target = _class_last(target, axis) if target.ndim == ndim else target
    output = _class_last(output, axis)
    if not from_logits and output.op.name != "softmax":
        output = ops.true_div(output, ops.sum(output, -1, True))
    return losses.sparse_categorical_crossentropy(output, target, from_logits)


def binary_crossentropy(target, output, from_logits=False):
    """-(target * log(output) + (1 - target) * log(1 - output)); the target comes first."""
    return losses.binary_crossentropy(output, target, from_logits)


def _class_last(x, axis):
    """The node of `x` with its class axis last."""
    x = node_of(x)
    axis = axis % x.ndim if -x.ndim <= axis < x.ndim else _no_axis(axis, x)
    if axis == x.ndim - 1:
        return x
    return ops.transpose(x, (*range(axis), *range(axis + 1, x.ndim), axis))


def _no_axis(axis, x):
    raise ArgumentError(f"axis {axis} of a cross-entropy is not an axis of shape {x.shape}")
