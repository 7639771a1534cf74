"""Softmax and cross-entropies. Nothing is clipped; labels may be integers or rows of numbers."""

import numpy as np

from .... import ops
from ....base.errors import ArgumentError, IndexOutOfBounds, UsageError
from ....base.warned import warn_user
from ....graph.node import make
from ....graph.op import Op as Row
from ...classes.meanings import floats, upcast
from ...classes.op import KernelOp
from ...graph.apply import Constant
from ...handles.variables import as_tensor_variable
from ..creation import arange, zeros
from ..elementwise import cast, eq, log
from ..extra_ops import Unique
from ..joining import concatenate, join
from ..reductions import argmax, max, sum
from ..shaping import shape_padleft


class Softmax(KernelOp):
    """exp(x) / sum(exp(x)) of rows."""

    def __init__(self):
        KernelOp.__init__(self, _softmax, "Softmax")

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim not in (1, 2) or x.dtype not in ("float16", "float32", "float64"):
            raise ArgumentError(f"{self} takes a vector or a matrix of floats, not {x.type}")
        if x.ndim == 1:
            x = shape_padleft(x, n_ones=1)
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return type(self), ()


class LogSoftmax(Softmax):
    """The logarithm of softmax, without overflow."""

    def __init__(self):
        KernelOp.__init__(self, _log_softmax, "LogSoftmax")


def _softmax(x):
    return ops.softmax(x, -1)


def _log_softmax(x):
    return ops.log_softmax(x, -1)


softmax_op, logsoftmax_op = Softmax(), LogSoftmax()


def softmax(c):
    """exp(x) / sum(exp(x)) of each row; of a vector a matrix of one row."""
    c = as_tensor_variable(c)
    if c.ndim == 1 and c.broadcastable[0]:
        warn_user("softmax of a vector that has one element is 1, whatever its value")
    return softmax_op(c)


def softmax_graph(c):
    """softmax, written out."""
    return softmax(c)


def logsoftmax(c):
    """log(softmax(c)), without overflow."""
    return logsoftmax_op(c)


class _OfRows(KernelOp):
    """An op on a matrix of floats and what belongs to its rows: inputs of these ranks."""

    ranks = ()

    def __init__(self, **attrs):
        KernelOp.__init__(self, type(self).compute, type(self).__name__, **attrs)

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        if tuple(x.ndim for x in inputs) != self.ranks:
            raise ArgumentError(
                f"{type(self).__name__} takes inputs of {self.ranks} dimensions, not "
                f"{[str(x.type) for x in inputs]}"
            )
        return KernelOp.make_node(self, *inputs)

    def __reduce__(self):
        return type(self), tuple(self.attrs.values())


class SoftmaxWithBias(_OfRows):
    """softmax(x + b) of a matrix and a vector."""

    ranks = (2, 1)

    @staticmethod
    def compute(x, b):
        dtype = upcast(x.dtype, b.dtype)
        return ops.softmax(ops.add(ops.cast(x, dtype), ops.cast(b, dtype)), -1)


softmax_with_bias = SoftmaxWithBias()


class SoftmaxGrad(_OfRows):
    """The gradient by x of softmax(x), which is `y`, from the gradient `g` by its value."""

    ranks = (2, 2)

    @staticmethod
    def compute(g, y):
        product = ops.mul(ops.cast(g, y.dtype), y)
        return ops.sub(product, ops.mul(ops.sum(product, -1, keepdims=True), y))


softmax_grad = SoftmaxGrad()


def _hot(labels, like):
    """Ones at the labels of the rows, zeros elsewhere; an error for one below 0."""
    fits = ops.all(ops.ge(labels, 0))
    labels = ops.check(labels, fits, message="a label is below 0", error="value")
    classes = ops.arange(0, ops.size_of(like, 1), 1, "int64")
    return ops.eq(ops.expand(ops.cast(labels, "int64"), (1,)), classes)


def _places(labels, like):
    """Labels as indices of the columns of a matrix, where those below 0 do not count from the end:
    less the count of columns they are out of bounds."""
    labels = ops.cast(labels, "int64")
    below = ops.sub(labels, ops.size_of(like, 1))
    return ops.where(ops.lt(labels, 0), below, labels)


class LabelError(IndexOutOfBounds, ArgumentError):
    """A label that is no class."""


def _checked_labels(attrs, labels, like):
    """The labels; LabelError for one that is none of the columns."""
    wrong = labels[(labels < 0) | (labels >= like.shape[1])]
    if wrong.size:
        raise LabelError(
            f"the label {wrong.flat[0]} is none of the {like.shape[1]} classes, counted from 0"
        )
    return labels.astype("int64")


Row(
    "theano_labels",
    "composite",
    lambda attrs, labels, like: ("int64", labels.shape),
    _checked_labels,
    lambda node, g: (None, None),
    lower=lambda node: _places(*node.inputs),
    doc="Labels as indices of the columns of a matrix; compiled, those below 0 are out of bounds.",
)


def _labels(labels, like):
    if not labels.dtype.startswith("int"):
        return labels
    return make("theano_labels", (labels, like))


class CrossentropySoftmax1HotWithBiasDx(_OfRows):
    """The gradient by x of the cross-entropies of softmax(x + b), `y`, from the `g` of each."""

    ranks = (1, 2, 1)

    @staticmethod
    def compute(g, y, labels):
        slope = ops.sub(y, ops.cast(_hot(labels, y), y.dtype))
        return ops.mul(ops.expand(ops.cast(g, y.dtype), (1,)), slope)


class CrossentropyCategorical1HotGrad(_OfRows):
    """The gradient by probabilities `p` of -log p at the labels, from the `g` of each row."""

    ranks = (1, 2, 1)

    @staticmethod
    def compute(g, p, labels):
        slope = ops.neg(ops.true_div(ops.expand(ops.cast(g, p.dtype), (1,)), p))
        return ops.where(_hot(labels, p), slope, ops.zeros_like(p))


crossentropy_softmax_1hot_with_bias_dx = CrossentropySoftmax1HotWithBiasDx()
crossentropy_categorical_1hot_grad = CrossentropyCategorical1HotGrad()


class CrossentropySoftmaxArgmax1HotWithBias(_OfRows):
    """[-log softmax(x + b) at the labels, softmax(x + b), argmax of the rows], in one op."""

    ranks = (2, 1, 1)

    @staticmethod
    def compute(x, b, labels):
        dtype = upcast(x.dtype, b.dtype)
        z = ops.add(ops.cast(x, dtype), ops.cast(b, dtype))
        rows = ops.arange(0, ops.size_of(z, 0), 1, "int64")
        places = ops.reshape(_labels(labels, z), [ops.size_of(z, 0)])  # one for each row
        nll = ops.neg(ops.getitem(ops.log_softmax(z, -1), (rows, places)))
        return [nll, ops.softmax(z, -1), ops.cast(ops.argmax(z, -1), labels.dtype)]


class Prepend_scalar_constant_to_each_row(_OfRows):  # noqa: N801 (Theano's name)
    """A matrix with the number `val` in front of each row."""

    ranks = (2,)

    def __init__(self, val=0):
        _OfRows.__init__(self, val=float(val))

    @staticmethod
    def compute(mat, val):
        first = ops.full_like(ops.getitem(mat, (slice(None), slice(0, 1))), val)
        return ops.concatenate([first, mat], 1)


class Prepend_scalar_to_each_row(_OfRows):  # noqa: N801 (Theano's name)
    """A matrix with a number in front of each row."""

    ranks = (0, 2)

    @staticmethod
    def compute(val, mat):
        first = ops.zeros_like(ops.getitem(mat, (slice(None), slice(0, 1))))
        return ops.concatenate([ops.add(first, ops.cast(val, mat.dtype)), mat], 1)


def binary_crossentropy(output, target):
    """-(target log(output) + (1 - target) log(1 - output)) of each element.

    A term whose factor is the constant 0, as for the target 1, is left out.
    """
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    whole = -(target * log(output) + (1.0 - target) * log(1.0 - output))
    constant = target.data if isinstance(target, Constant) else None
    if constant is not None and (constant == 1).all():
        return cast(-(target * log(output)), whole.dtype)
    if constant is not None and (constant == 0).all():
        return cast(-((1.0 - target) * log(1.0 - output)), whole.dtype)
    return whole


def sigmoid_binary_crossentropy(output, target):
    """binary_crossentropy(sigmoid(output), target), without overflow."""
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    return KernelOp(_sigmoid_xent, "sigmoid_binary_crossentropy")(output, target)


def _sigmoid_xent(x, t):
    x = floats(x)
    return ops.sub(ops.softplus(x), ops.mul(x, ops.cast(t, x.dtype)))


def crossentropy_categorical_1hot(coding_dist, true_one_of_n):
    """-log of the entry of each row that its label says; a ValueError for one that is no class."""
    coding_dist, true_one_of_n = map(as_tensor_variable, (coding_dist, true_one_of_n))
    if coding_dist.ndim != 2:
        raise UsageError(f"the probabilities are a matrix, not of type {coding_dist.type}")
    if true_one_of_n.ndim != 1 or "int" not in true_one_of_n.dtype:
        raise UsageError(f"labels are a vector of integers, not of type {true_one_of_n.type}")
    rows = arange(true_one_of_n.shape[0])
    return -log(coding_dist[rows, KernelOp(_labels, "labels")(true_one_of_n, coding_dist)])


class CrossentropyCategorical1Hot:
    """The op of `crossentropy_categorical_1hot`; a call makes a variable."""

    def __call__(self, coding_dist, true_one_of_n):
        return crossentropy_categorical_1hot(coding_dist, true_one_of_n)


def categorical_crossentropy(coding_dist, true_dist):
    """The cross-entropy of rows: labels are rows of probabilities, or a vector of integers."""
    coding_dist, true_dist = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true_dist.ndim == coding_dist.ndim:
        return -sum(true_dist * log(coding_dist), axis=coding_dist.ndim - 1)
    if true_dist.ndim == coding_dist.ndim - 1:
        if true_dist.dtype.startswith("float"):
            raise UsageError(f"a vector of labels has to hold integers, not {true_dist.dtype}")
        return crossentropy_categorical_1hot(coding_dist, true_dist)
    raise UsageError(
        f"coding_dist has {coding_dist.ndim} dimensions and true_dist "
        f"{true_dist.ndim}: give true_dist as many, or one fewer where it holds "
        "integer labels"
    )


def crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx):
    """[-log softmax(x + b) at the labels, softmax(x + b), argmax of the rows]."""
    x, b, y_idx = map(as_tensor_variable, (x, b, y_idx))
    if x.ndim != 2 or not x.dtype.startswith("float"):
        raise ArgumentError(f"x has to be a matrix of floats, not {x.type}")
    if b.ndim != 1 or not b.dtype.startswith("float"):
        raise ArgumentError(f"b has to be a vector of floats, not {b.type}")
    if y_idx.ndim != 1 or "int" not in y_idx.dtype:
        raise ArgumentError(f"the labels y_idx have to be a vector of integers, not {y_idx.type}")
    return CrossentropySoftmaxArgmax1HotWithBias()(x, b, y_idx)


def crossentropy_softmax_1hot_with_bias(x, b, y_idx, **kwargs):
    """[-log softmax(x + b) at the labels, softmax(x + b)]."""
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2]


def crossentropy_softmax_1hot(x, y_idx, **kwargs):
    """[-log softmax(x) at the labels, softmax(x)]."""
    x = as_tensor_variable(x)
    return crossentropy_softmax_1hot_with_bias(x, zeros([x.shape[1]], dtype=x.dtype), y_idx)


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x, b, y_idx, **kwargs):
    """(cross-entropies, softmax, its maxima, their places)."""
    nll, probs = crossentropy_softmax_1hot_with_bias(x, b, y_idx)
    return nll, probs, max(probs, axis=-1), argmax(probs, axis=-1)


def crossentropy_softmax_max_and_argmax_1hot(x, y_idx, **kwargs):
    """`crossentropy_softmax_max_and_argmax_1hot_with_bias` without a bias."""
    x = as_tensor_variable(x)
    return crossentropy_softmax_max_and_argmax_1hot_with_bias(
        x, zeros([x.shape[1]], dtype=x.dtype), y_idx
    )


def prepend_scalar_to_each_row(val, mat):
    """A matrix with a number in front of each row."""
    val, mat = as_tensor_variable(val), as_tensor_variable(mat)
    column = cast(val, mat.dtype) + zeros((mat.shape[0], 1), dtype=mat.dtype)
    return join(1, column, mat)


def prepend_0_to_each_row(mat):
    """A matrix with 0 in front of each row."""
    return prepend_scalar_to_each_row(np.asarray(0, as_tensor_variable(mat).dtype), mat)


def prepend_1_to_each_row(mat):
    """A matrix with 1 in front of each row."""
    return prepend_scalar_to_each_row(np.asarray(1, as_tensor_variable(mat).dtype), mat)


def confusion_matrix(actual, pred):
    """[how often each class (row) was taken for each (column), the classes in order]."""
    actual, pred = as_tensor_variable(actual), as_tensor_variable(pred)
    for what, x in (("actual", actual), ("pred", pred)):
        if x.ndim != 1:
            raise ArgumentError(f"{what} has {x.ndim} dimensions; confusion_matrix takes vectors")
    order = Unique(False, False, False)(concatenate([actual, pred]))
    rows = cast(eq(actual.dimshuffle(0, "x"), order.dimshuffle("x", 0)), "int64")
    columns = cast(eq(pred.dimshuffle(0, "x"), order.dimshuffle("x", 0)), "int64")
    return [rows.T.dot(columns), order]
