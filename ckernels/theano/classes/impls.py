"""Scalar ops of users as a row of the engine: applied to each element through their `impl`.

Slow, as Python is; the scalar ops of Theano have rules of their own (meanings.py).
"""

import numpy as np

from ... import ops
from ...base import dtypes
from ...graph.node import Node, make, placeholder
from ...graph.op import Op as Row
from ...graph.shapes import broadcast
from ...graph.walk import rebuild
from ...ops.base import unbroadcast
from ..graph.type import DisconnectedType, NullType
from .special import null


def _infer_scalar(attrs, *inputs):
    return attrs["dtype"], broadcast(str(attrs["op"]), *(n.shape for n in inputs))


def _run_scalar(attrs, *arrays):
    wide = np.broadcast_arrays(*arrays)
    out = np.empty(wide[0].shape, attrs["dtype"])
    impl = attrs["op"].impl
    for place in np.ndindex(*out.shape):
        out[place] = impl(*(a[place] for a in wide))
    return out


def _grad_scalar(node, g):
    op, given = node.attrs["op"], (*node.inputs, g)
    single = [placeholder(n.dtype, ()) for n in given]  # a rule of numbers, for each element
    parts = op.grad([op.wrapped(n) for n in single[:-1]], [op.wrapped(single[-1])])
    parts = [getattr(p, "node", p) for p in parts]
    nodes = iter(rebuild([p for p in parts if isinstance(p, Node)], dict(zip(single, given))))
    parts = [_whole(next(nodes), g) if isinstance(p, Node) else p for p in parts]
    return [_part(p, n) for p, n in zip(parts, node.inputs)]


def _whole(part, g):
    """`part` for all elements of the result: a constant may have come of a rule of numbers."""
    return part if part.ndim == g.ndim else ops.broadcast_like(part, g)


def _part(part, n):
    """What `grad` of a scalar op gave for the operand `n`, as a node or None."""
    kind = getattr(part, "type", None)
    if part is None or isinstance(kind, DisconnectedType) or not dtypes.is_inexact(n.dtype):
        return None
    if isinstance(kind, NullType):
        return null(n, kind.why_null)
    return unbroadcast(ops.cast(part, n.dtype), n)


Row(
    "theano_scalar",
    "opaque",
    _infer_scalar,
    _run_scalar,
    _grad_scalar,
    doc="A scalar op of a user, applied to each element through its `impl`.",
)


def through_impl(op, dtype, nodes):
    """The node, of `dtype`, of a user's scalar op."""
    return make("theano_scalar", nodes, {"op": op, "dtype": dtype})
