"""The learning phase: a scalar input, 0 when testing and 1 when training, 0 by default.

`learning_phase()` is a placeholder with a default: a function that lists it among its inputs gets
it from the caller, any other takes 0, unless `set_learning_phase` fixed it.
"""

import numpy as np

from .. import ops
from ..base import given, locks
from ..base.errors import ArgumentError, ShapeError, with_line
from ..graph.node import Literal
from ..graph.shapes import show
from .config import register_reset
from .operands import node_of, operand
from .tensor import Tensor, placeholder_node

_lock = locks.lock()
_phase = None


def learning_phase():
    """The learning phase: 0 in tests, 1 in training.

    Returns
    -------
    Tensor or int
        A scalar uint8 tensor, an input of functions that is 0 where a call does not give it; or the
        int that `set_learning_phase` fixed.

    Examples
    --------
    >>> x = K.placeholder((), name="x")
    >>> f = K.function([x, K.learning_phase()], K.in_train_phase(x * 2, x))
    >>> f(1.0, 0), f(1.0, 1)
    (array(1., dtype=float32), array(2., dtype=float32))
    """
    global _phase
    with _lock:
        if _phase is None:
            _phase = Tensor(
                placeholder_node("uint8", (), "learning_phase", default=Literal(np.uint8(0)))
            )
            _phase._keras_shape, _phase._uses_learning_phase = (), False
        return _phase


def set_learning_phase(value):
    """Fix the learning phase to 0 or 1.

    Parameters
    ----------
    value : int
        0 for tests, 1 for training.

    Returns
    -------
    None
        It holds until `clear_session`.

    Raises
    ------
    ArgumentError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> K.set_learning_phase(1)
    >>> K.learning_phase()
    1
    >>> K.clear_session()
    """
    global _phase
    if not isinstance(value, (bool, int, float, np.generic)) or value not in (0, 1):
        raise ArgumentError(f"the learning phase is 0 (test) or 1 (train), not {value!r}")
    with _lock:
        _phase = int(value)


def reset():
    """Forget a fixed phase, and start a new input."""
    global _phase
    with _lock:
        _phase = None


register_reset(reset)


def switch(condition, then_expression, else_expression):
    """`then_expression` where `condition` is not zero, else `else_expression`.

    Parameters
    ----------
    condition : tensor, array or number
        One with fewer dimensions than the expressions selects along their leading axes.
    then_expression, else_expression : tensor, array, number or callable
        Callables return one.

    Returns
    -------
    Tensor
        Of the shape that all broadcast to.

    Notes
    -----
    Both sides are computed, unless the condition is a scalar and both are callables: then only the
    side that is taken runs (see `ifelse`).

    Examples
    --------
    >>> K.switch(K.constant([1, 0]), K.constant([1, 2]), K.constant([3, 4])).eval()
    array([1., 4.], dtype=float32)
    """
    condition = node_of(condition, "the condition of switch")
    lazy = not condition.ndim and _lazy(then_expression) and _lazy(else_expression)
    then, other = operand(_called(then_expression)), operand(_called(else_expression))
    if lazy and getattr(then, "shape", 0) == getattr(other, "shape", 1):
        return Tensor(_chosen(condition, then, other))
    ndim = max(getattr(then, "ndim", 0), getattr(other, "ndim", 0))
    if 0 < condition.ndim < ndim:
        condition = ops.expand(condition, tuple(range(condition.ndim, ndim)))
    if condition.dtype != "bool":
        condition = ops.ne(condition, 0)
    return Tensor(ops.where(condition, then, other))


def ifelse(condition, then_expression, else_expression):
    """`then_expression` if the scalar `condition` is not zero, else `else_expression`.

    What only the other side needs is not computed.

    Parameters
    ----------
    condition : tensor or number
        A scalar.
    then_expression, else_expression : tensor, callable, or list of tensors
        Tensors, callables that return one, or lists of tensors; both sides have one shape.

    Returns
    -------
    Tensor or list of Tensor
        A list where a side is one. Where the dtypes differ, of that which both promote to.

    Raises
    ------
    ShapeError
        Where the condition is no scalar, and where the sides have two shapes.
    ArgumentError
        For lists of two lengths.

    Notes
    -----
    The semantics are those of Theano's ifelse.

    Examples
    --------
    >>> x = K.placeholder((), name="x")
    >>> f = K.function([x], K.ifelse(x > 0, K.log(x), x - 1))
    >>> f(1.0), f(-1.0)
    (array(0., dtype=float32), array(-2., dtype=float32))
    """
    condition = node_of(condition, "the condition of ifelse")
    if condition.ndim:
        raise with_line(
            ShapeError(
                f"the condition of ifelse must be a scalar, not of shape {show(condition.shape)}; "
                "K.switch and K.where choose element by element"
            ),
            condition,
        )
    then, other = _called(then_expression), _called(else_expression)
    if not isinstance(then, (list, tuple)) and not isinstance(other, (list, tuple)):
        return Tensor(_chosen(condition, operand(then), operand(other)))
    then, other = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (then, other))
    if len(then) != len(other):
        raise ArgumentError(f"the two sides of ifelse have {len(then)} and {len(other)} tensors")
    return [Tensor(_chosen(condition, operand(a), operand(b))) for a, b in zip(then, other)]


def _chosen(condition, then, other):
    a, b = ops.operands((then, other), "ifelse")
    if a.ndim != b.ndim and not hasattr(then, "op"):
        a = ops.broadcast_like(a, b)
    elif a.ndim != b.ndim and not hasattr(other, "op"):
        b = ops.broadcast_like(b, a)
    return ops.choose(condition, a, b)


def _lazy(expression):
    return callable(expression) and not isinstance(expression, Tensor)


def in_train_phase(x, alt, training=None):
    """`x` when training, else `alt`.

    Parameters
    ----------
    x, alt : tensor, or callable
        Callables return a tensor.
    training : bool, int or Tensor, optional
        A scalar; None: the learning phase.

    Returns
    -------
    Tensor
        Marked with `_uses_learning_phase` where it depends on the phase. With a Python bool or int,
        the chosen side itself.

    Raises
    ------
    ShapeError
        Where the sides do not broadcast and the phase is a tensor.

    Examples
    --------
    >>> K.in_train_phase(K.constant(1.0), K.constant(2.0), training=True).eval()
    array(1., dtype=float32)
    """
    uses = training is None
    training = learning_phase() if uses else training
    if isinstance(training, Tensor):
        result = switch(training, x, alt)
    else:
        result = _called(x if given.flag(training, "training") else alt)
    if uses and hasattr(result, "__dict__"):
        result._uses_learning_phase = True
    return result


def in_test_phase(x, alt, training=None):
    """`x` when testing, else `alt`: the mirror of `in_train_phase`.

    Parameters
    ----------
    x, alt : tensor, or callable
        Callables return a tensor.
    training : bool, int or Tensor, optional
        A scalar; None: the learning phase.

    Returns
    -------
    Tensor
        Marked with `_uses_learning_phase` where it depends on the phase.

    Examples
    --------
    >>> K.in_test_phase(K.constant(1.0), K.constant(2.0), training=True).eval()
    array(2., dtype=float32)
    """
    return in_train_phase(alt, x, training=training)


def _called(x):
    return x() if callable(x) and not isinstance(x, Tensor) else x
