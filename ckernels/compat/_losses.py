"""Losses with TensorFlow's meaning, under which programs for Keras were written.

Cross-entropies of Keras 2.2 and 2.3 take the target first, and the classes lie on any axis; in the
CTC loss of either Keras a label that is no class ends the sequence.
"""

from .. import ops
from ..api import losses
from ..api.config import epsilon
from ..api.ctc import batch_cost
from ..api.operands import node_of
from ..api.tensor import Tensor, need_tensor
from ..base.given import flag
from ..graph.shapes import axis_of

tensorflow2 = True  # False while Keras 2.2 is loaded, which came before TensorFlow 2


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
    if not flag(from_logits, "from_logits") and output.op.name != "softmax":
        output = ops.true_div(output, ops.sum(output, -1, True))
    return losses.sparse_categorical_crossentropy(output, target, from_logits)


def binary_crossentropy(target, output, from_logits=False):
    """-(target * log(output) + (1 - target) * log(1 - output)); the target comes first.

    Where `output` is not a sigmoid, epsilon() is added in both logarithms, as TensorFlow 2 does
    for Keras 2.3.

    >>> from ckernels.compat import keras2 as K
    >>> K.binary_crossentropy(np.array([1.0, 1.0]), np.array([0.5, 0.0])).eval().round(4)
    array([ 0.6931, 15.4249])
    """
    return losses.binary(output, target, from_logits, more=epsilon() if tensorflow2 else 0.0)


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The CTC loss of each sample, (samples, 1), as ckernels.ctc_batch_cost but for its labels.

    A label that is the blank or no class (classes - 1 and above) ends the sequence before
    label_length does; programs mark empty sequences by it. A class behind it is an error.

    >>> from ckernels.compat import keras2 as K
    >>> p = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> K.ctc_batch_cost(np.array([[1]]), p, np.array([[2]]), np.array([[1]])).eval().round(4)
    array([[1.3863]])
    """
    return batch_cost(y_true, y_pred, input_length, label_length, ends=True)


def _class_last(x, axis):
    """The node of `x` with its class axis last."""
    x = node_of(x)
    axis = axis_of(axis, x.ndim, "the axis of a cross-entropy")
    if axis == x.ndim - 1:
        return x
    return ops.transpose(x, (*range(axis), *range(axis + 1, x.ndim), axis))


def summed(cost):
    """The scalar whose gradient TensorFlow takes for `cost`: the sum of a tensor, or of several."""
    costs = cost if isinstance(cost, (list, tuple)) and cost else [cost]
    nodes = [ops.sum(x) if x.ndim else x for x in (need_tensor(c, "the cost").node for c in costs)]
    total = nodes[0]
    for node in nodes[1:]:
        total = ops.add(total, node)
    return Tensor(total)
