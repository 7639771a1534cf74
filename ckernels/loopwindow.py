"""A loop of few steps as one of all its rows, in which the other steps change nothing.

The gradient of a loop that ends early goes back through `limit` steps from where that was, which
only the call knows. Its own gradient is taken of this form.
"""
from . import ops
from .errors import NotSupported
from .graph.node import constant
from .graph.walk import rebuild
from .loopsums import leaf
from .ops.loop import Carry, Layout, scan_node


def whole(node, cotangents):
    """(loop over all rows up to the count, cotangents of its results) for one that goes backwards
    from there for `limit` steps."""
    lay, attrs = Layout.of(node), node.attrs
    live = leaf("bool", ())
    rows = _live(lay, attrs["limit"])
    inputs = [leaf(n.dtype, n.shape) for n in lay.body.inputs]
    made = rebuild(lay.body.at(inputs), dict(zip(inputs[lay.first_other:], lay.others)))
    seqs = [(lag, [x for x in pair if x is not None], own)
            for lag, pair, own in zip(attrs["seqs"], lay.seqs, inputs)]
    carries = []
    for i, (init, taps) in enumerate(zip(lay.inits, attrs["taps"])):
        own = inputs[lay.tap_inputs(i)[-1]]
        carries.append(Carry(init, taps, [own], ops.where(live, made[i], own)))
    outs = [ops.where(live, x, ops.zeros_like(x)) for x in made[lay.carries:]]
    new = scan_node(lay.steps, [*seqs, (0, [rows], live)], carries, outs, None, lay.count,
                    lay.others, node.op.name, reverse=True, name=attrs["name"],
                    recompute=attrs["recompute"])
    given = list(cotangents)
    for i in range(lay.carries):
        g = given[lay.trace(i)]
        if g is not None:
            there = ops.expand(rows, tuple(range(1, g.ndim))) if g.ndim > 1 else rows
            given[lay.trace(i)] = ops.where(there, g, ops.zeros_like(g))
    return new, given


def _live(lay, limit):
    """For each row whether its step runs."""
    steps = lay.steps if lay.steps.value is None else lay.steps.value.item()
    ones = ops.broadcast_to(constant(1, "int64"), ops.shape_vector([steps]))
    return ops.gt(ops.cumsum(ones, 0), ops.sub(lay.count, constant(limit, "int64")))


def of_operands(node, new, found):
    """The cotangents `found` of the operands of `new`, for those of `node`."""
    totals = {}
    for x, g in zip(new.inputs, found):
        if g is not None:
            totals[x.uid] = g if x.uid not in totals else ops.add(totals[x.uid], g)
    result = [totals.pop(x.uid, None) for x in node.inputs]
    if totals:
        raise NotSupported("this gradient of a loop with `until` and truncate_gradient cannot be "
                           "differentiated; leave out truncate_gradient")
    return result
