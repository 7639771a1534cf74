"""Activations, dropout and normalisation."""

import numbers

from .. import ops
from ..base import dtypes, given
from ..base.errors import ArgumentError, ShapeError
from ..graph.node import Node
from ..graph.shapes import axes_of, axis_of, show
from .config import data_format_of
from .operands import integer, node_of, operand, shape_vector
from .random import uniform_node
from .tensor import Tensor


def relu(x, alpha=0.0, max_value=None):
    """x above 0, alpha * x below, at most `max_value`. NaN stays NaN.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape.
    alpha : float, default 0.0
        The slope below 0.
    max_value : float, optional
        What larger elements become; None: no limit.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.relu(np.array([-2.0, 0.5, 9.0]), alpha=0.5, max_value=6.0).eval()
    array([-1. ,  0.5,  6. ])
    """
    x = node_of(x)
    weak_zero = isinstance(alpha, numbers.Real) and alpha == 0
    y = ops.relu(x) if weak_zero else ops.where(ops.lt(x, 0), ops.mul(x, operand(alpha)), x)
    if max_value is None:
        return Tensor(y)
    most = operand(max_value)  # of two equal operands the first has the slope
    return Tensor(ops.minimum(*((most, y) if ops.leave_nothing(0, most) else (y, most))))


def elu(x, alpha=1.0):
    """x above 0, alpha * (exp(x) - 1) below.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape; elements are taken one by one.
    alpha : number or tensor, default 1.0
        Minus what it tends to for small x.

    Returns
    -------
    Tensor
        Of the shape of `x`; integers become floats.

    Notes
    -----
    The formula is that of D.-A. Clevert, T. Unterthiner and S. Hochreiter, ICLR 2016.

    Examples
    --------
    >>> K.elu(np.array([-1.0, 2.0])).eval().round(3)
    array([-0.632,  2.   ])
    """
    x = node_of(x)
    # Without the minimum, exp of large x gives inf * 0 in the gradient of the branch not taken.
    below = ops.expm1(ops.minimum(x, 0))
    alpha = operand(alpha)
    if isinstance(alpha, Node) or alpha != 1:
        below = ops.mul(below, alpha)
    return Tensor(ops.where(ops.gt(x, 0), x, below))


def softmax(x):
    """exp(x) / sum(exp(x)) over the last axis, without overflow.

    Parameters
    ----------
    x : tensor or array
        (..., n); integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x; each row has the sum 1.

    Examples
    --------
    >>> K.softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).eval()
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return Tensor(ops.softmax(_vector_or_more(x, "softmax"), -1))


def log_softmax(x):
    """The logarithm of `softmax(x)`, exact for small probabilities.

    Of a class that has nearly all of the probability it is right to 4 epsilons, not to as many
    ulps: beside logits 20 below, it is 0 in float32 and not -2e-9.

    Parameters
    ----------
    x : tensor or array
        (..., n); integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For a scalar.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> K.log_softmax(np.array([1000.0, 0.0])).eval()
    array([    0., -1000.])
    """
    return Tensor(ops.log_softmax(_vector_or_more(x, "log_softmax"), -1))


def _vector_or_more(x, name):
    x = node_of(x)
    if x.ndim == 0:
        raise ShapeError(f"{name} needs a tensor of at least one dimension, got a scalar")
    return x


def softplus(x):
    """log(1 + exp(x)) without overflow.

    Parameters
    ----------
    x : tensor or array
        Of any shape; integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> K.softplus(np.array([-1000.0, 0.0, 1000.0])).eval().round(3)
    array([0.00e+00, 6.93e-01, 1.00e+03])
    """
    return Tensor(ops.softplus(operand(x)))


def softsign(x):
    """x / (1 + |x|).

    Parameters
    ----------
    x : tensor or array
        Of any shape; integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.softsign(np.array([-1.0, 3.0])).eval()
    array([-0.5 ,  0.75])
    """
    x = node_of(x)
    return Tensor(ops.true_div(x, ops.add(ops.abs(x), 1)))


def sigmoid(x):
    """1 / (1 + exp(-x)) without overflow.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.sigmoid(np.array([-1000.0, 0.0])).eval()
    array([0. , 0.5])
    """
    return Tensor(ops.sigmoid(operand(x)))


def hard_sigmoid(x):
    """0.2 * x + 0.5 limited to [0, 1].

    Parameters
    ----------
    x : tensor, array or number
        Of any shape; elements are taken one by one.

    Returns
    -------
    Tensor
        Of the shape of `x`; integers become floats.

    Notes
    -----
    The slope is that of Keras and Theano.

    Examples
    --------
    >>> K.hard_sigmoid(np.array([-9.0, 0.0, 9.0])).eval()
    array([0. , 0.5, 1. ])
    """
    return Tensor(ops.clip(ops.add(ops.mul(node_of(x), 0.2), 0.5), 0, 1))


def tanh(x):
    """Hyperbolic tangent.

    Parameters
    ----------
    x : tensor or array
        Of any shape; integers become floats as in NumPy.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.tanh(np.array([0.0, 1.0])).eval().round(3)
    array([0.   , 0.762])
    """
    return Tensor(ops.tanh(operand(x)))


def dropout(x, level, noise_shape=None, seed=None):
    """`x` with a fraction `level` of its entries set to 0 at random, the rest divided by 1 - level.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    level : float or Tensor
        At least 0, below 1.
    noise_shape : tuple, optional
        The shape of the keep/drop flags, broadcast to `x`; None entries take the size of `x`.
    seed : int, optional
        Of the draws; without one it follows from `set_random_seed` or from NumPy's global
        generator.

    Returns
    -------
    Tensor
        Of the shape of x, drawn anew in each call of a function.

    Raises
    ------
    ArgumentError
        Unless 0 <= level < 1.

    Examples
    --------
    >>> y = K.dropout(K.ones((1000,)), 0.25, seed=1).eval()
    >>> sorted(set(y.round(3).tolist()))[0], bool(700 < (y > 0).sum() < 800)
    (0.0, True)
    """
    x = node_of(x)
    if isinstance(level, numbers.Real):
        if not 0 <= level < 1:
            raise ArgumentError(f"dropout level must be in [0, 1), not {level!r}")
        if level == 0:
            return Tensor(x)
    keep = ops.sub(1.0, operand(level)) if isinstance(operand(level), Node) else 1.0 - level
    dtype = dtypes.to_float(x.dtype)
    mask = ops.lt(uniform_node(_noise_shape(x, noise_shape), dtype, seed), keep)
    return Tensor(ops.where(mask, ops.true_div(x, keep), ops.cast(node_of(0), dtype)))


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return ops.shape(x)
    if isinstance(noise_shape, Tensor):
        return shape_vector(noise_shape)
    noise_shape = given.sequence(noise_shape, "noise_shape")
    if not any(d is None for d in noise_shape):
        return shape_vector(noise_shape)
    return shape_vector(
        [d if d is not None else _size(x, axis_of(i, x.ndim)) for i, d in enumerate(noise_shape)]
    )


def _size(x, axis):
    size = ops.size_of(x, axis)
    return Tensor(size) if isinstance(size, Node) else size


def l2_normalize(x, axis):
    """`x` divided by its L2 norm along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension; integers become floats.
    axis : int
        Along which the squares are added.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Notes
    -----
    Where the norm is tiny the divisor is 1e-6 (1e-3 in float16).

    Examples
    --------
    >>> K.l2_normalize(np.array([3.0, 4.0]), axis=0).eval()
    array([0.6, 0.8])
    """
    x = node_of(x)
    floor = 1e-6 if x.dtype == "float16" else 1e-12
    return Tensor(ops.mul(x, ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis, True), floor))))


def in_top_k(predictions, targets, k):
    """Whether predictions[i, targets[i]] is among the `k` largest of row i.

    Parameters
    ----------
    predictions : tensor or array
        (samples, classes).
    targets : tensor or array
        (samples,), integers.
    k : int
        How many; an element as large as the last of them is among them too.

    Returns
    -------
    Tensor
        A bool vector, (samples,).

    Raises
    ------
    ShapeError
        Where they are no matrix and no vector.
    DTypeError
        For targets that are no integers.
    UsageError
        For a `k` that is no integer.
    IndexOutOfBounds
        In a call, for a target that is no class.

    Examples
    --------
    >>> K.in_top_k(np.array([[0.1, 0.7, 0.2]]), np.array([2]), 2).eval()
    array([ True])
    """
    return Tensor(ops.in_top_k(node_of(predictions), node_of(targets), integer(k, "k")))


def normalize_batch_in_training(x, gamma, beta, reduction_axes, epsilon=0.001):
    """`x` normalised with the mean and the variance of this batch over `reduction_axes`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    gamma : tensor, array or None
        The scale, of the shape of the axes that stay.
    beta : tensor, array or None
        What is added, of that shape too.
    reduction_axes : list of int
        The axes of mean and variance.
    epsilon : float, default 0.001
        Added to the variance.

    Returns
    -------
    x : Tensor
        (x - mean) / sqrt(variance + epsilon) * gamma + beta.
    mean, variance : Tensor
        Of the axes that stay.

    Raises
    ------
    ShapeError
        For an axis that does not exist, and where gamma or beta do not fit.

    Notes
    -----
    Ioffe and Szegedy, 2015.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> y, mean, var = K.normalize_batch_in_training(x, None, None, [0])
    >>> mean.eval(), var.eval()
    (array([2., 4.]), array([1., 4.]))
    """
    x = node_of(x)
    axes = axes_of(given.sequence(reduction_axes, "reduction_axes"), x.ndim)
    mean, var = ops.mean(x, axes, True), ops.var(x, axes, True)
    normal = _normalized(x, mean, var, _aligned(beta, x, axes), _aligned(gamma, x, axes), epsilon)
    return normal, Tensor(ops.squeeze(mean, axes)), Tensor(ops.squeeze(var, axes))


def _aligned(v, x, axes):
    """`v`, given over the axes of `x` that are not reduced, with size-1 axes where they are."""
    if v is None:
        return None
    v = node_of(v)
    return ops.expand(v, axes) if 0 < v.ndim == x.ndim - len(axes) else v


def batch_normalization(x, mean, var, beta, gamma, epsilon=0.001):
    """(x - mean) / sqrt(var + epsilon) * gamma + beta.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    mean, var : tensor or array
        Of shapes that broadcast with that of `x`.
    beta, gamma : tensor, array or None
        The shift and the scale, which broadcast too; None: 0 and 1.
    epsilon : float, default 0.001
        What is added to the variance.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Notes
    -----
    Keras's document prints sqrt(var) + epsilon; every implementation of it computed this form,
    whose gradient stays finite at var = 0 and which trained weights expect. The formula is that of
    S. Ioffe and C. Szegedy, ICML 2015.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> K.batch_normalization(x, x.mean(0), x.var(0), None, None, 0.0).eval()
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    parts = [None if p is None else node_of(p) for p in (mean, var, beta, gamma)]
    return _normalized(node_of(x), *parts, epsilon)


def _normalized(x, mean, var, beta, gamma, epsilon):
    y = ops.mul(ops.sub(x, mean), ops.rsqrt(ops.add(var, epsilon)))
    if gamma is not None:
        y = ops.mul(y, gamma)
    return Tensor(y if beta is None else ops.add(y, beta))


def bias_add(x, bias, data_format=None):
    """`x` plus a bias over its channels.

    Parameters
    ----------
    x : tensor or array
        (batch, ..., channels), or (batch, channels, ...) as `data_format` says.
    bias : tensor or array
        A vector with an element for each channel, or a tensor with one dimension less than `x` (no
        batch) whose last axis is that of the channels.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    ArgumentError
        For another data_format.
    ShapeError
        For another number of dimensions, and for sizes that do not fit.

    Examples
    --------
    >>> K.bias_add(K.zeros((2, 3)), np.array([1.0, 2.0, 3.0], "float32")).eval()
    array([[1., 2., 3.],
           [1., 2., 3.]], dtype=float32)
    """
    data_format = data_format_of(data_format)
    x, bias = node_of(x), node_of(bias)
    if bias.ndim != 1 and bias.ndim != x.ndim - 1:
        raise ShapeError(
            f"bias_add needs a bias of 1 or {x.ndim - 1} dimensions for x of shape "
            f"{show(x.shape)}, got shape {show(bias.shape)}"
        )
    if data_format == "channels_first" and x.ndim > 2:
        if bias.ndim == 1:
            bias = ops.expand(bias, tuple(range(1, x.ndim - 1)))
        else:
            bias = ops.transpose(bias, (bias.ndim - 1,) + tuple(range(bias.ndim - 1)))
    return Tensor(ops.add(x, bias))
