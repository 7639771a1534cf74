"""Activations of theano.tensor.nnet."""

import numpy as np

from ....base import dtypes
from ...base.names import absent_of as _absent_of
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

    An array with a number for alpha gives an array, as in Theano.
    """
    if isinstance(x, np.ndarray) and isinstance(alpha, (int, float)):
        return np.maximum(x, 0) if not alpha else np.where(x > 0, x, alpha * x).astype(x.dtype)
    x = as_tensor_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return maximum(x, constant(np.asarray(0, x.dtype)))
    alpha = as_tensor_variable(alpha)
    return switch(x > 0, x, alpha * x)


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
