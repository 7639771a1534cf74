"""Updates: what a function writes to variables after its outputs, checked when they are made."""

from typing import NamedTuple

import numpy as np

from .. import ops
from ..errors import DTypeError, ShapeError, with_line
from ..graph.node import Node, constant
from ..graph.shapes import show
from .operands import converted, operand
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


def update_value(variable, value):
    """The node that replaces `variable`: of its dtype, rank and static shape."""
    what = f"the update of {variable!r}"
    node = fitting(operand(value, what), variable.dtype, what)
    old, new = variable.node.shape, node.shape
    if len(old) != len(new) or any(
        a is not None and b is not None and a != b for a, b in zip(old, new)
    ):
        raise with_line(
            ShapeError(f"{what} has shape {show(new)}, but the variable has shape {show(old)}"),
            node,
        )
    return node


def fitting(value, dtype, what):
    """`value` as a node of `dtype`; DTypeError when that would change its kind."""
    if not isinstance(value, Node):
        return constant(converted(np.asarray(value), dtype, what))
    if value.dtype != dtype and not np.can_cast(value.dtype, dtype, "same_kind"):
        raise with_line(
            DTypeError(
                f"{what} has dtype {value.dtype}, which does not fit {dtype}; use "
                f"K.cast(x, {dtype!r})"
            ),
            value,
        )
    return ops.cast(value, dtype)
