"""`tensor.default`: what stands for an input in calls that give None for it."""

import numpy as np

from ...base.errors import UsageError
from ..classes.op import Op
from ..graph.apply import Apply, Constant, Variable
from ..graph.type import NullType
from ..handles.variables import as_tensor_variable
from ..user_ops.perform import stand_in

__all__ = ["default", "Default"]


class Default(Op):
    """The first of two of one type, or the second where a call gives None for the first."""

    __props__ = ()
    takes_none = 0, 1  # the inputs that may be None

    def make_node(self, x, default):
        if not isinstance(default, Variable):
            default = x.type.make_constant(x.type.filter(default))
        if x.type != default.type:
            raise UsageError(
                f"default() takes two variables of one type: {x} has {x.type}, {default} "
                f"{default.type}"
            )
        return Apply(self, [x, default], [default.type()])

    def _lower(self, apply):
        if apply.inputs[0].owner is None:
            stand_in(apply)
        else:
            apply.outputs[0].node = apply.inputs[0].node

    def perform(self, node, inputs, outputs):
        x = inputs[1] if inputs[0] is None else inputs[0]
        if x is None:
            raise UsageError(f"{node} got None for both of its inputs")
        outputs[0][0] = np.array(x)

    def grad(self, inputs, grads):
        return [NullType("default() has no gradient: it asks for None")() for _ in inputs]


def default(x, default):
    """`x`, or `default` in calls that give None for the input `x`."""
    x = x if isinstance(x, Variable) else as_tensor_variable(x)
    given = x.owner is None and not isinstance(x, Constant) and not hasattr(x, "container")
    return Default()(x, default) if given else x
