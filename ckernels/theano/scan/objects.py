"""scan whose step reads what is no tensor (a typed list): a loop in Python over a compiled step."""

import numpy as np

from ..base.exceptions import NotSupportedHere
from ..classes.op import Op
from ..compile.function import function
from ..graph.apply import Apply
from ..handles.type import TensorType
from ..handles.variables import as_tensor_variable
from .updates import OrderedUpdates


class ObjectScan(Op):
    """A step taken for each row of its sequences; states go from one to the next."""

    def __init__(self, inner_inputs, inner_outputs, sequences, states, steps):
        self.inner = inner_inputs, inner_outputs
        self.counts, self.steps, self.made = (sequences, len(states)), steps, None
        self.carried = states  # for each state the number of the output it becomes

    __eq__, __hash__ = object.__eq__, object.__hash__

    def make_node(self, *inputs):
        kinds = [TensorType(v.dtype, (False, *v.broadcastable)) for v in self.inner[1]]
        return Apply(self, list(inputs), [t() for t in kinds])

    def perform(self, node, inputs, storage):
        if self.made is None:
            self.made = function(*self.inner, on_unused_input="ignore")
        many, held = self.counts
        count = int(inputs[0]) if self.steps else min(len(s) for s in inputs[1 : 1 + many])
        sequences, states = inputs[1 : 1 + many], list(inputs[1 + many : 1 + many + held])
        rows = []
        for k in range(count):
            found = self.made(*[s[k] for s in sequences], *states, *inputs[1 + many + held :])
            rows.append(found)
            states = [found[i] for i in self.carried]
        for k, (cell, v) in enumerate(zip(storage, node.outputs)):
            made = np.array([row[k] for row in rows], dtype=v.dtype)
            cell[0] = made if rows else np.empty((0,) * v.ndim, v.dtype)


def scan_objects(fn, sequences, outputs_info, non_sequences, n_steps, return_list):
    """(outputs, updates) of such a scan: sequences and states without taps."""
    if any(isinstance(x, dict) for x in (*sequences, *outputs_info)):
        raise NotSupportedHere("a scan over what is no tensor takes no taps")
    sequences = [as_tensor_variable(s) for s in sequences]
    states = [as_tensor_variable(s) for s in outputs_info if s is not None]
    others = [v if hasattr(v, "type") else as_tensor_variable(v) for v in non_sequences]
    rows = [TensorType(s.dtype, s.broadcastable[1:])() for s in sequences]
    before, inside = [s.type() for s in states], [v.type() for v in others]
    found = fn(*rows, *before, *inside)
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
        if found[1]:
            raise NotSupportedHere("a scan over what is no tensor makes no updates")
        found = found[0]
    outs = [as_tensor_variable(v) for v in (found if isinstance(found, (list, tuple)) else [found])]
    carried = [k for k, info in enumerate(outputs_info) if info is not None]
    op = ObjectScan([*rows, *before, *inside], outs, len(rows), carried, n_steps is not None)
    steps = as_tensor_variable(np.int64(0) if n_steps is None else n_steps)
    made = op(steps, *sequences, *states, *others, return_list=True)
    return (made if return_list or len(made) > 1 else made[0]), OrderedUpdates()
