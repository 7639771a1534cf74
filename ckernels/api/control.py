"""Tensors that pass through unchanged, with a check at run time or another gradient on the way."""

from .. import ops
from .operands import node_of
from .tensor import Tensor


def check(x, *conditions, message=""):
    """`x`, after all `conditions` were found to hold everywhere (Theano's Assert).

    conditions: bool tensors of any shape; a number counts as true when it is not 0. Where one does
    not hold, the call of the function raises CheckError, an AssertionError, with `message` and
    changes no variable.

    >>> x = K.placeholder((None,))
    >>> f = K.function([x], K.check(x, K.all(x > 0), message="x must be positive"))
    >>> f([[1.0, 2.0]])
    array([1., 2.], dtype=float32)
    >>> f([[1.0, -2.0]])
    Traceback (most recent call last):
    ...
    ckernels.ops.control.CheckError: check failed: x must be positive ...
    """
    return Tensor(ops.check(node_of(x), *map(node_of, conditions), message=message))


def zero_grad(x):
    """`x`, through which gradients are zero.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        The same values.

    Notes
    -----
    Unlike with `stop_gradient`, a cost still counts as depending on `x`.

    Examples
    --------
    >>> x = K.variable(3.0)
    >>> float(K.grad(K.zero_grad(x) * x, x).eval())
    3.0
    """
    return Tensor(ops.zero_grad(node_of(x)))


def grad_clip(x, low, high):
    """`x`; the gradient that comes back to it is limited to [low, high], elementwise.

    >>> x = K.variable(3.0)
    >>> float(K.grad(K.grad_clip(x, -1, 1) ** 2, x).eval())
    1.0
    """
    return Tensor(ops.grad_clip(node_of(x), low, high))


def grad_scale(x, factor):
    """`x`; the gradient that comes back to it is multiplied by the number `factor`.

    >>> x = K.variable(3.0)
    >>> float(K.grad(K.grad_scale(x, -1.0) ** 2, x).eval())
    -6.0
    """
    return Tensor(ops.grad_scale(node_of(x), factor))
