"""Values that a gradient computes again instead of keeping them: what K.checkpoint makes.

A node `checkpoint` is its first operand; the others are what that was computed from. Its gradient
never reads the values in between: it builds them anew from `again(x, g)`, which is x but waits for
the cotangent g, so that it neither merges with x nor runs before the way back has come that far.
(Griewank and Walther 2000; Chen et al. 2016.)
"""

import numpy as np

from ..graph.node import make
from ..graph.op import Op
from ..graph.walk import rebuild, toposort_cut

__all__ = ["checkpoint"]


def checkpoint(y, xs):
    """`y`, computed from the nodes `xs` and others, so that its gradient computes again what lies
    between; `y` itself where it does not depend on them."""
    xs = list(dict.fromkeys(xs))
    cut = {x.uid for x in xs}
    between, captured = set(cut), {}
    for node in toposort_cut([y], cut):
        if any(i.uid in between for i in node.inputs):
            between.add(node.uid)
            captured.update(
                (i, None) for i in node.inputs if i.uid not in between and i.op.name != "constant"
            )
    if y.uid not in between or y.uid in cut:
        return y
    return make("checkpoint", (y, *xs, *captured), {"count": len(xs)})


def _grad(node, g):
    from .accumulate import accumulate, carries  # start-up: programs without gradients

    y, *kept = node.inputs
    xs, captured = kept[: node.attrs["count"]], kept[node.attrs["count"] :]
    waiting = [x for x in xs if x.op.name != "variable"] or xs  # variables are there anyway
    fresh = {x: make("again", (x, g)) for x in waiting}
    (anew,) = rebuild([y], fresh)
    targets = [fresh.get(x, x) for x in xs] + captured
    wanted = [t for t in targets if carries(t)]
    ends = {t.uid for t in wanted}  # the walk outside goes on from here to what is before them
    found = dict(zip(wanted, accumulate({anew: g}, wanted, (), ends)))
    return [None, *(found.get(t) for t in targets)]


Op(
    "checkpoint",
    "opaque",
    lambda attrs, y, *xs: (y.dtype, y.shape),
    lambda attrs, y, *xs: np.array(y),
    _grad,
    ulp=0,
    doc="The first operand; the gradient computes it again from the others.",
)
Op(
    "again",
    "opaque",
    lambda attrs, x, g: (x.dtype, x.shape),
    lambda attrs, x, g: np.array(x),
    lambda node, g: (g, None),
    ulp=0,
    doc="The first operand, not before the second is there, and no node but itself.",
)
