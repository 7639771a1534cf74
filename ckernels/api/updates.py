"""Updates: what a function writes to variables after its outputs, checked when they are made."""

from typing import NamedTuple

from ..graph.node import Node, constant
from .operands import operand, update_value
from .sparsetensor import SparseVariable
from .tensor import Tensor, Variable, need_variable


class Update(NamedTuple):
    """What K.update and its kin return: a pair for the `updates` of a function."""

    variable: Variable
    value: Tensor


def update(x, new_x):
    """The update of variable `x` to `new_x`, for the `updates` of a function.

    Parameters
    ----------
    x : Variable
        Of any shape and dtype.
    new_x : tensor, array or number
        Its new value, of its shape and of a dtype that converts to its own.

    Returns
    -------
    Update
        For `K.function(..., updates=[...])`.

    Examples
    --------
    >>> v = K.variable(1.0)
    >>> K.function([], v, updates=[K.update(v, v * 3)])()
    array(1., dtype=float32)
    >>> K.get_value(v)
    array(3., dtype=float32)
    """
    if isinstance(x, SparseVariable):
        return Update(x, new_x)
    need_variable(x, "the first argument of update")
    return Update(x, Tensor(update_value(x, new_x)))


def update_add(x, increment):
    """The update that adds `increment` to variable `x`.

    Parameters
    ----------
    x : Variable
        Of any shape and dtype.
    increment : tensor, array or number
        What is added; of a shape that broadcasts to that of `x`.

    Returns
    -------
    Update
        For `K.function(..., updates=[...])`.

    Examples
    --------
    >>> v = K.variable(1.0)
    >>> K.function([], [], updates=[K.update_add(v, 2)])()
    []
    >>> K.get_value(v)
    array(3., dtype=float32)
    """
    return update(need_variable(x, "the first argument of update_add"), x + increment)


def update_sub(x, decrement):
    """The update that subtracts `decrement` from variable `x`.

    Parameters
    ----------
    x : Variable
        Of any shape and dtype.
    decrement : tensor, array or number
        What is subtracted; of a shape that broadcasts to that of `x`.

    Returns
    -------
    Update
        For `K.function(..., updates=[...])`.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> _ = K.function([], [], updates=[K.update_sub(v, 0.5)])()
    >>> K.get_value(v)
    array([0.5, 1.5], dtype=float32)
    """
    return update(need_variable(x, "the first argument of update_sub"), x - decrement)


def moving_average_update(x, value, momentum):
    """The update of `x` to x * momentum + value * (1 - momentum).

    Parameters
    ----------
    x : Variable
        What is updated.
    value : tensor or array
        Of its shape.
    momentum : float or Tensor
        The part of the old value that stays.

    Returns
    -------
    Update
        (variable, value), an entry of the updates of K.function.

    Raises
    ------
    DTypeError
        Where `x` is no variable.
    ShapeError
        Where `value` does not fit it.

    Examples
    --------
    >>> v = K.variable(1.0)
    >>> K.function([], [], updates=[K.moving_average_update(v, K.constant(2.0), 0.5)])()
    []
    >>> K.get_value(v)
    array(1.5, dtype=float32)
    """
    need_variable(x, "the first argument of moving_average_update")
    return update(x, x * momentum + Tensor(_as_node(value)) * (1.0 - momentum))


def _as_node(value):
    value = operand(value)
    return value if isinstance(value, Node) else constant(value)
