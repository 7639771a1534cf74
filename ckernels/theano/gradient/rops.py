"""R_op of users' Ops: the tangent of a graph that passes Ops with a rule of their own.

The engine makes J v of two gradients; a result of such an Op is cut out of the graph there, with
what its R_op says as its tangent. Ops inside of steps of scan go by their gradients.
"""

from ... import ops
from ...api.tensor import placeholder_node
from ...autodiff import reverse as engine
from ...base import dtypes
from ...base.errors import ArgumentError
from ...graph.node import item
from ...graph.walk import rebuild, toposort
from ..base.exceptions import NullTypeGradError
from ..classes.op import PureOp
from ..graph.type import DisconnectedType, NullType
from ..handles.variables import as_tensor_variable, wrap


def has_own(op):
    """Whether an Op says itself what its tangent is."""
    if hasattr(op, "rop_overrides"):  # a graph as an op
        return not (isinstance(op.rop_overrides, str) and op.rop_overrides == "default")
    return type(op).R_op is not PureOp.R_op


def tangent(y, xs, vs):
    """J v of the node `y` by the nodes `xs`; vs: their tangents."""
    graph = _Cut(xs, vs)
    for node in toposort([y]):
        if node.op.name in ("perform", "perform_unfolded") and has_own(node.attrs["op"].op):
            graph.add(node)
    return graph.of(y)


class _Cut:
    """A graph in which results of Ops with an R_op are inputs with a tangent each."""

    def __init__(self, xs, vs):
        self.xs, self.vs, self.cut, self.back = list(xs), list(vs), {}, {}

    def of(self, node):
        """The tangent of a node, or None where it is zero."""
        root = rebuild([node], self.cut)[0]
        if not dtypes.is_inexact(root.dtype) or not set(self.xs) & set(toposort([root])):
            return None
        return rebuild([engine.Rop(root, self.xs, self.vs)], self.back)[0]

    def add(self, node):
        points = [self.of(i) for i in node.inputs]
        if all(p is None for p in points):
            return
        op = node.attrs["op"].op
        found = op.R_op(
            [wrap(i) for i in node.inputs], [p if p is None else wrap(p) for p in points]
        )
        made = [node] if node.outs is None else [item(node, k) for k in range(len(node.outs))]
        if not isinstance(found, (list, tuple)) or len(found) != len(made):
            raise ArgumentError(
                f"R_op of {op} returns a list of {len(made)} variables, not {found!r}"
            )
        for out, part in zip(made, found):
            if out not in self.xs:
                self.stand_in(op, out, part)

    def stand_in(self, op, out, part):
        kind = getattr(part, "type", None)
        if isinstance(kind, NullType):
            raise NullTypeGradError(f"R_op of {op} is undefined: {kind.why_null}")
        fresh = placeholder_node(out.dtype, out.shape, None)
        self.cut[out], self.back[fresh] = fresh, out
        if part is not None:  # a disconnected one is zero, as in Theano
            zero = isinstance(kind, DisconnectedType)
            self.xs.append(fresh)
            self.vs.append(ops.zeros_like(out) if zero else as_tensor_variable(part).node)
