"""Metrics of Keras 2.3 for which it asks for TensorFlow: `top_k` of Precision and Recall, MeanIoU.

Keras compares the backend's name and refuses. `mend` gives its classes what they refuse, in terms
of its own base classes, so that their configurations, names and weights are those of TensorFlow.
"""

import numpy as np

from .. import ops
from ..api.operands import node_of
from ..api.tensor import Tensor
from ..graph.node import make


def mend(metrics):
    """Mend the module keras.metrics; an older Keras has no such metrics."""
    if not hasattr(metrics, "MeanIoU"):
        return
    metrics.metrics_utils.filter_top_k = filter_top_k
    for kind in (metrics.Precision, metrics.Recall):
        kind.__init__ = _with_top_k(kind.__init__, metrics.metrics_utils.NEG_INF)
    metrics.MeanIoU = mean_iou(metrics)


def _with_top_k(init, lowest):
    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):  # noqa: N807
        init(self, thresholds, None, class_id, name, dtype)
        self.top_k = top_k
        if top_k is not None and thresholds is None:
            self.thresholds = [lowest]

    __init__.__doc__ = init.__doc__
    return __init__


def filter_top_k(x, k):
    """`x` where it is among the `k` largest along the last axis, -1e10 elsewhere.

    >>> filter_top_k(np.array([[1.0, 3.0, 2.0]]), 2).eval()
    array([[-1.e+10,  3.e+00,  2.e+00]])
    """
    x = node_of(x)
    _, places = ops.top_k(x, k)
    shape = ops.shape(x)
    classes = ops.arange(0, ops.getitem(shape, -1), 1, "int64")
    chosen = ops.any(ops.eq(ops.expand(places, (x.ndim,)), classes), x.ndim - 1)
    return Tensor(ops.where(chosen, x, -1e10))


def confusion(true, predicted, classes, weights=None):
    """The counts (or sums of weights) of class pairs, (classes, classes): rows are true classes.

    Classes may be floats. IndexError when the function runs for one that is not in [0, classes).

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), 2).eval()
    array([[1., 0.],
           [1., 1.]])
    """
    true, predicted = (ops.cast(ops.flatten(node_of(y)), "int64") for y in (true, predicted))
    if weights is None:
        weights = ops.full_like(ops.cast(true, "float64"), 1.0)
    else:
        weights = ops.cast(ops.flatten(node_of(weights)), "float64")
    fits = ops.lt(ops.maximum(true, predicted), classes)
    fits = ops.logical_and(fits, ops.ge(ops.minimum(true, predicted), 0))
    pair = ops.where(fits, ops.add(ops.mul(true, classes), predicted), classes * classes)
    counts = make("scatter_add", (node_of(np.zeros(classes * classes)), pair, weights), {"axis": 0})
    return Tensor(ops.reshape(counts, ops.pack(classes, classes)))


def mean_iou(metrics):
    """The class MeanIoU on keras.metrics.Metric."""
    K = metrics.K  # noqa: N806

    class MeanIoU(metrics.Metric):
        __doc__ = metrics.MeanIoU.__doc__

        def __init__(self, num_classes, name=None, dtype=None):
            super().__init__(name=name, dtype=dtype)
            self.num_classes = num_classes
            self.total_cm = self.add_weight(
                "total_confusion_matrix", (num_classes, num_classes), "zeros", "float64"
            )

        def update_state(self, y_true, y_pred, sample_weight=None):
            found = confusion(y_true, y_pred, self.num_classes, sample_weight)
            return K.update_add(self.total_cm, found)

        def result(self):
            total = self.total_cm.node
            hits = ops.sum(ops.mul(total, np.eye(self.num_classes)), 1)
            either = ops.sub(ops.add(ops.sum(total, 0), ops.sum(total, 1)), hits)
            seen = ops.ne(either, 0)
            iou = ops.true_div(ops.where(seen, hits, 0.0), ops.where(seen, either, 1.0))
            count = ops.maximum(ops.sum(ops.cast(seen, "float64")), 1.0)
            return Tensor(ops.cast(ops.true_div(ops.sum(iou), count), self.dtype))

        def reset_states(self):
            K.set_value(self.total_cm, np.zeros((self.num_classes, self.num_classes)))

        def get_config(self):
            return {**super().get_config(), "num_classes": self.num_classes}

    MeanIoU.__module__ = metrics.__name__
    MeanIoU.__qualname__ = "MeanIoU"
    return MeanIoU
