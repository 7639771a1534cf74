"""Batch normalisation: by given statistics, while training (with running averages), and after."""

import numpy as np

from .... import ops
from ....base.errors import ArgumentError
from ...base.names import absent_of as _absent_of
from ...classes.op import KernelOp, apply_op
from ...graph.apply import Variable
from ...handles.variables import as_tensor_variable
from ..elementwise import sqrt
from ..shaping import addbroadcast, patternbroadcast


def batch_normalization(inputs, gamma, beta, mean, std, mode="low_mem"):
    """(inputs - mean) * (gamma / std) + beta; all broadcast."""
    return (inputs - mean) * (gamma / std) + beta


def _axes(ndim, axes):
    """The axes that statistics are taken over."""
    if axes == "per-activation":
        return (0,)
    if axes == "spatial":
        return (0,) + tuple(range(2, ndim))
    found = tuple(
        int(a) for a in (axes if isinstance(axes, (list, tuple, np.ndarray)) else (axes,))
    )
    if not all(0 <= a < ndim for a in found) or list(found) != sorted(found):
        raise ArgumentError(f"invalid axes: {axes}")
    return found


def _parameters(inputs, axes, *given):
    """Parameters as variables that broadcast along `axes`."""
    kept = [i for i in range(inputs.ndim) if i not in axes]
    found = []
    for p in given:
        if p is None:
            found.append(None)
            continue
        p = as_tensor_variable(p)
        if p.ndim == len(kept) and p.ndim != inputs.ndim:
            order = iter(range(p.ndim))
            p = p.dimshuffle(["x" if i in axes else next(order) for i in range(inputs.ndim)])
        elif p.ndim != inputs.ndim:
            raise ArgumentError(
                "gamma and beta must have as many dimensions as the input, or as many "
                "as are not normalised over"
            )
        found.append(addbroadcast(p, *axes))
    return found


def batch_normalization_train(
    inputs,
    gamma,
    beta,
    axes="per-activation",
    epsilon=1e-4,
    running_average_factor=0.1,
    running_mean=None,
    running_var=None,
):
    """(normalised inputs, mean, 1 / sqrt(variance + epsilon), then running averages where given).

    axes: 'per-activation', 'spatial', or those the statistics are taken over. epsilon: at least
    1e-5. All but the first result have the axes that gamma has: all, or those not in `axes`.
    """
    inputs = as_tensor_variable(inputs)
    axes = _axes(inputs.ndim, axes)
    _check_epsilon(epsilon)
    small = as_tensor_variable(gamma).ndim != inputs.ndim
    gamma, beta, mean0, var0 = _parameters(inputs, axes, gamma, beta, running_mean, running_var)
    mean = inputs.mean(axes, keepdims=True)
    var = inputs.var(axes, keepdims=True)
    # one op, whose slope is made of its value: to hold invstd constant ends the path there
    invstd = apply_op(ops.rsqrt, var + np.asarray(epsilon, var.dtype))
    out = (inputs - mean) * (gamma * invstd) + beta
    found = [mean, invstd]
    factor = running_average_factor
    if running_mean is not None:
        found.append(mean0 * (1.0 - factor) + mean * factor)
    if running_var is not None:
        m = (inputs.size / mean.size).astype(inputs.dtype)
        found.append(var0 * (1.0 - factor) + (m / (m - 1)) * var * factor)
    if small:
        kept = [i for i in range(inputs.ndim) if i not in axes]
        found = [v.dimshuffle(kept) for v in found]
    given = [v for v in (running_mean, running_var) if v is not None]
    return (out, *found[:2], *map(_as, found[2:], given))


class AbstractBatchNormTrainGrad(KernelOp):
    """Gradients of training by the inputs, the scale and the bias, in one op.

    Its inputs: x, the gradient dy by the result, the scale, the mean and 1 / sqrt(variance +
    epsilon), these three with size 1 along `axes`.
    """

    def __init__(self, axes=(0,)):
        KernelOp.__init__(self, _train_grad, "AbstractBatchNormTrainGrad", axes=tuple(axes))
        self.axes = tuple(axes)

    def make_node(self, x, dy, scale, x_mean, x_invstd, epsilon=None):
        x, dy = as_tensor_variable(x), as_tensor_variable(dy)
        return KernelOp.make_node(self, x, dy, *_parameters(x, self.axes, scale, x_mean, x_invstd))

    def __reduce__(self):
        return AbstractBatchNormTrainGrad, (self.axes,)


def _train_grad(x, dy, scale, mean, invstd, axes):
    far = ops.sub(x, mean)
    part = ops.mul(dy, invstd)
    own = ops.mean(ops.mul(dy, far), axes, keepdims=True)
    slope = ops.sub(part, ops.mul(ops.mul(far, own), ops.pow(invstd, 3)))
    slope = ops.mul(scale, ops.sub(slope, ops.mean(part, axes, keepdims=True)))
    dscale = ops.sum(ops.mul(part, far), axes, keepdims=True)
    return [slope, dscale, ops.sum(dy, axes, keepdims=True)]


def _as(new, old):
    """A running average with the dtype and pattern of the old one."""
    if isinstance(old, Variable) and old.ndim == new.ndim:
        new = patternbroadcast(new.astype(old.dtype), old.broadcastable)
    return new


def _check_epsilon(epsilon):
    if not isinstance(epsilon, Variable) and epsilon < 1e-5:
        raise ArgumentError(f"an epsilon of {epsilon} is too small: take 1e-5 or more")


def batch_normalization_test(inputs, gamma, beta, mean, var, axes="per-activation", epsilon=1e-4):
    """(inputs - mean) / sqrt(var + epsilon) * gamma + beta."""
    inputs = as_tensor_variable(inputs)
    axes = _axes(inputs.ndim, axes)
    _check_epsilon(epsilon)
    gamma, beta, mean, var = _parameters(inputs, axes, gamma, beta, mean, var)
    return (inputs - mean) * (gamma / sqrt(var + np.asarray(epsilon, var.dtype))) + beta


__getattr__ = _absent_of("theano.tensor.nnet.bn")
