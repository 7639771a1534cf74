"""Graphs inside of ops, branches and checks: OpFromGraph, IfElse, CheckAndRaise."""
from .... import ops
from ....graph.node import Node
from ..table import NoRule, rule


@rule("OpFromGraph")
def inner_graph(context, op, node, inputs):
    return context.inline(op.fgraph, inputs)


@rule("IfElse")
def ifelse(context, op, node, inputs):
    """Lazy where both sides have one shape; else the graph is cut here, and a piece is chosen."""
    condition, *sides = inputs
    then, other = sides[:op.n_outs], sides[op.n_outs:]
    if any(not isinstance(x, Node) for x in sides):
        raise NoRule("a choice of what is no tensor")
    if any(a.shape != b.shape or None in a.shape for a, b in zip(then, other)):
        raise NoRule("the sides may have different shapes")
    return [ops.choose(condition, a, b) for a, b in zip(then, other)]


@rule("NoneConst")
def none(context, op, node, inputs):
    return None


@rule("MakeSlice")
def make_slice(context, op, node, inputs):
    return slice(*inputs)
