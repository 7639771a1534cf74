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
    """The update of `x` to x + increment.

    >>> v = K.variable(1.0)
    >>> K.function([], [], updates=[K.update_add(v, 2)])()
    []
    >>> K.get_value(v)
    array(3., dtype=float32)
    """
    return update(need_variable(x, "the first argument of update_add"), x + increment)


def update_sub(x, decrement):
    """The update of `x` to x - decrement."""
    return update(need_variable(x, "the first argument of update_sub"), x - decrement)


def moving_average_update(x, value, momentum):
    """The update of `x` to x * momentum + value * (1 - momentum).

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
