"""Graphs inside of ops, branches and checks: OpFromGraph, IfElse, CheckAndRaise."""

from .... import ops
from ....graph.node import Node
from ..checks import asserted
from ..perform import Call
from ..registry import Untranslated, translates


@translates("OpFromGraph")
def inner_graph(context, op, node, inputs):
    return context.inline(op.fgraph, inputs)


@translates("IfElse")
def ifelse(context, op, node, inputs):
    """Lazy where both sides have one shape; else the graph is cut here, with both computed."""
    condition, *sides = inputs
    then, other = sides[: op.n_outs], sides[op.n_outs :]
    tensors = all(isinstance(x, Node) for x in sides)
    if not tensors or _differ(then, other) or not (context.lazy or _alike(then, other)):
        raise Untranslated("sides that are no tensors, or of different shapes")
    context.chooses = True
    return [ops.choose(condition, a, b) for a, b in zip(then, other)]


def _alike(then, other):
    """Whether the sides are known to have the same shapes."""
    return all(a.shape == b.shape and None not in a.shape for a, b in zip(then, other))


def _differ(then, other):
    """Whether two sides are known to have different shapes."""
    return any(
        None not in (m, n) and m != n for a, b in zip(then, other) for m, n in zip(a.shape, b.shape)
    )


@translates("CheckAndRaise")
def check(context, op, node, inputs):
    x, *conditions = inputs
    return asserted(Call(node), x, [ops.cast(c, "bool") for c in conditions])


@translates("MakeSlice")
def make_slice(context, op, node, inputs):
    return slice(*inputs)
