"""Tensors that pass through unchanged, with a check at run time or another gradient on the way."""

from .. import ops
from .operands import node_of
from .tensor import Tensor


def check(x, *conditions, message=""):
    """`x`, after all `conditions` were found to hold everywhere (Theano's Assert).

    Parameters
    ----------
    x : tensor, array or number
        What is given on.
    *conditions : tensor
        Of any shape and dtype bool; a number counts as true when it is not 0.
    message : str, default ""
        What the error says.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    CheckError
        In a call, where a condition does not hold. It is an AssertionError; no variable changes.

    Examples
    --------
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

    Parameters
    ----------
    x : tensor
        Of any shape.
    low, high : number
        The limits.

    Returns
    -------
    Tensor
        `x`.

    Raises
    ------
    UsageError
        For a limit that is no number.

    Examples
    --------
    >>> x = K.variable(3.0)
    >>> float(K.grad(K.grad_clip(x, -1, 1) ** 2, x).eval())
    1.0
    """
    return Tensor(ops.grad_clip(node_of(x), low, high))


def grad_scale(x, factor):
    """`x`; the gradient that comes back to it is multiplied by the number `factor`.

    Parameters
    ----------
    x : tensor
        Of any shape.
    factor : number
        -1 turns the gradient around.

    Returns
    -------
    Tensor
        `x`.

    Raises
    ------
    UsageError
        For a factor that is no number.

    Examples
    --------
    >>> x = K.variable(3.0)
    >>> float(K.grad(K.grad_scale(x, -1.0) ** 2, x).eval())
    -6.0
    """
    return Tensor(ops.grad_scale(node_of(x), factor))
