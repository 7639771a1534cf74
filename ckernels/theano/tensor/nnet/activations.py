"""Activations of theano.tensor.nnet."""

import numpy as np

from .... import ops
from ....base import dtypes
from ....graph.node import make
from ....graph.op import Op as Row
from ....ops.base import unbroadcast
from ...base.names import absent_of as _absent_of
from ...classes.op import apply_op
from ...handles.variables import as_tensor_variable, constant
from ..creation import arange
from ..elementwise import (  # noqa: F401
    abs_,
    cast,
    clip,
    expm1,
    maximum,
    minimum,
    sigmoid,
    softplus,
    switch,
)
from ..products import batched_dot, dot, tensordot
from .losses import softmax


def relu(x, alpha=0):
    """max(x, alpha * x); alpha: the slope below 0, a number or a tensor that broadcasts.

    The slope at 0 is (1 + alpha) / 2. An array with a number for alpha gives an array, as in
    Theano.
    """
    if isinstance(x, np.ndarray) and isinstance(alpha, (int, float)):
        return np.maximum(x, 0) if not alpha else np.where(x > 0, x, alpha * x).astype(x.dtype)
    x = as_tensor_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        y = maximum(x, constant(np.asarray(0, x.dtype)))
        return apply_op(_relu, y, x) if dtypes.is_float(x.dtype) else y
    alpha = as_tensor_variable(alpha)
    y = switch(x > 0, x, alpha * x)
    return apply_op(_relu, y, x, alpha) if dtypes.is_float(x.dtype) else y


def _relu(*operands):
    return make("theano_relu", operands)


def _slopes(node, g):
    """Of (1 + alpha) / 2 * x + (1 - alpha) / 2 * |x|, as Theano writes it: |x| has slope 0 at 0."""
    _, x, *rest = node.inputs
    if not rest:
        below = ops.where(ops.eq(x, 0), ops.mul(g, 0.5), 0)
        return None, ops.where(ops.gt(x, 0), g, below)
    alpha = ops.cast(rest[0], node.dtype)
    below = ops.where(ops.eq(x, 0), ops.mul(ops.add(alpha, 1), 0.5), alpha)
    by_x = ops.where(ops.gt(x, 0), g, ops.mul(g, below))
    by_alpha = None
    if dtypes.is_float(rest[0].dtype):
        by_alpha = ops.where(ops.gt(x, 0), 0, ops.mul(g, ops.cast(x, node.dtype)))
        by_alpha = ops.cast(unbroadcast(by_alpha, rest[0]), rest[0].dtype)
    return None, ops.cast(unbroadcast(by_x, x), x.dtype), by_alpha


Row(
    "theano_relu",
    "composite",
    lambda attrs, y, *others: (y.dtype, y.shape),
    lambda attrs, y, *others: y,
    _slopes,
    lower=lambda node: node.inputs[0],
    doc="The first operand: relu of the second, with the third as slope below 0.",
)


def elu(x, alpha=1):
    """x above 0, alpha * (exp(x) - 1) below."""
    x = as_tensor_variable(x)
    return switch(x > 0, x, alpha * expm1(minimum(x, 0)))


def selu(x):
    """The scaled elu of Klambauer et al., Self-Normalizing Neural Networks, 2017."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def softsign(x):
    """x / (1 + |x|)."""
    x = as_tensor_variable(x)
    return x / (1 + abs_(x))


def hard_sigmoid(x):
    """0.2 x + 0.5, limited to [0, 1]."""
    x = as_tensor_variable(x)
    dtype = x.dtype if x.dtype.startswith("float") else dtypes.small_or_wide(x.dtype)
    slope, shift = constant(np.asarray(0.2, dtype)), constant(np.asarray(0.5, dtype))
    return clip(cast(x, dtype) * slope + shift, 0, 1)


def ultra_fast_sigmoid(x):
    """An approximation of sigmoid by pieces of x / (1 + x), within 0.07; its dtype is the same."""
    x = as_tensor_variable(x)
    dtype = sigmoid(x).dtype

    def number(value):
        return np.asarray(value, dtype)

    half = cast(x, dtype) * number(0.5)
    size = abs_(half)
    line = number(0.935409070603099) + number(0.0458812946797165) * (size - number(1.7))
    tail = switch(size < number(3), line, number(0.99505475368673))
    value = switch(
        size < number(1.7),
        number(1.5) * half / (number(1) + size),
        switch(half >= number(0), tail, -tail),
    )
    return number(0.5) * (value + number(1))


def h_softmax(
    x,
    batch_size,
    n_outputs,
    n_classes,
    n_outputs_per_class,
    W1,
    b1,
    W2,
    b2,  # noqa: N803
    target=None,
):
    """The two-level softmax: class first, then output within its class.

    Without target the probabilities (batch, n_outputs); with it those of the targets, a vector.
    """
    class_probs = softmax(dot(x, W1) + b1)
    if target is None:
        activations = tensordot(x, W2, (1, 1)) + b2
        activations = activations.reshape((-1, n_outputs_per_class))
        probs = softmax(activations).reshape((batch_size, n_classes, -1))
        probs = class_probs.dimshuffle(0, 1, "x") * probs
        return probs.reshape((batch_size, -1))[:, :n_outputs]
    target = target.flatten()
    classes, within = target // n_outputs_per_class, target % n_outputs_per_class
    activations = batched_dot(x.dimshuffle(0, "x", 1), W2[classes])[:, 0] + b2[classes]
    rows = arange(batch_size)
    return class_probs[rows, classes] * softmax(activations)[rows, within]


# Programs ask whether the op of a variable is one of these.
scalar_sigmoid, scalar_softplus = sigmoid.scalar_op, softplus.scalar_op
ScalarSigmoid, ScalarSoftplus = type(scalar_sigmoid), type(scalar_softplus)

__getattr__ = _absent_of(
    "theano.tensor.nnet.sigm",
    {
        "rewrites.mul_trees": """compute_mul is_1pexp is_exp is_mul is_neg parse_mul_tree
            partition_num_or_denom perform_sigm_times_exp replace_leaf simplify_mul"""
    },
)
