"""PdbBreakpoint: variables that pass through, and a debugger when a condition holds."""

import importlib

import numpy as np

from ...base.errors import UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply
from ..graph.type import DisconnectedType
from ..handles.variables import as_tensor_variable

DEBUGGERS = ("pudb", "ipdb", "pdb")  # the first that is installed is taken


class PdbBreakpoint(Op):
    """`op(condition, *variables)` gives the variables; where `condition` is not zero, a debugger
    stops in `perform`, whose `inputs` are their values.

    What is given back has to be used, or nothing is computed and nothing stops.
    """

    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, condition, *monitored_vars):
        condition = as_tensor_variable(condition)
        if condition.ndim:
            raise UsageError(f"the condition of a breakpoint is a scalar, not {condition.type}")
        kept = [v if hasattr(v, "type") else as_tensor_variable(v) for v in monitored_vars]
        self.inp_types = [v.type for v in kept]
        return Apply(self, [condition, *kept], [v.type() for v in kept])

    def perform(self, node, inputs, output_storage):
        condition, *values = inputs
        if np.asarray(condition).any():
            print(f"The breakpoint {self.name} was reached; `values` are its variables")
            stop()
        for cell, value in zip(output_storage, values):
            cell[0] = value

    def infer_shape(self, node, input_shapes):
        return input_shapes[1:]

    def grad(self, inputs, output_gradients):
        return [DisconnectedType()(), *output_gradients]

    def connection_pattern(self, node):
        count = len(node.inputs) - 1
        return [[False] * count, *([k == j for j in range(count)] for k in range(count))]


def stop():
    """Start the first debugger there is."""
    for name in DEBUGGERS:
        try:
            debugger = importlib.import_module(name)
        except ImportError:
            continue
        debugger.set_trace()
        return


__getattr__ = _absent_of("theano.tests.breakpoint")
