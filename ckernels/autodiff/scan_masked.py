"""A scan of few steps as one of all its rows, in which the other steps change nothing.

The gradient of a scan that ends early goes back through `limit` steps from where that was, which
only the call knows. Its own gradient is taken of this form.
"""

from .. import ops
from ..base.errors import NotSupported
from ..graph.node import constant, placeholder
from ..graph.walk import rebuild
from ..ops.scan import Carry, ScanSignature, scan_node


def whole(node, cotangents):
    """(scan over all rows up to the count, cotangents of its results) for one that goes backwards
    from there for `limit` steps."""
    sig, attrs = ScanSignature.of(node), node.attrs
    live = placeholder("bool", ())
    rows = _live(sig, attrs["limit"])
    inputs = [placeholder(n.dtype, n.shape) for n in sig.body.inputs]
    made = rebuild(sig.body.at(inputs), dict(zip(inputs[sig.first_other :], sig.others)))
    seqs = [
        (lag, [x for x in pair if x is not None], own)
        for lag, pair, own in zip(attrs["seqs"], sig.seqs, inputs)
    ]
    carries = []
    for i, (init, taps) in enumerate(zip(sig.inits, attrs["taps"])):
        own = inputs[sig.tap_inputs(i)[-1]]
        carries.append(Carry(init, taps, [own], ops.where(live, made[i], own)))
    outs = [ops.where(live, x, ops.zeros_like(x)) for x in made[sig.carries :]]
    new = scan_node(
        sig.steps,
        [*seqs, (0, [rows], live)],
        carries,
        outs,
        None,
        sig.count,
        sig.others,
        node.op.name,
        reverse=True,
        name=attrs["name"],
        recompute=attrs["recompute"],
    )
    given = list(cotangents)
    for i in range(sig.carries):
        g = given[sig.trace(i)]
        if g is not None:
            there = ops.expand(rows, tuple(range(1, g.ndim))) if g.ndim > 1 else rows
            given[sig.trace(i)] = ops.where(there, g, ops.zeros_like(g))
    return new, given


def _live(sig, limit):
    """For each row whether its step runs."""
    steps = sig.steps if sig.steps.value is None else sig.steps.value.item()
    ones = ops.broadcast_to(constant(1, "int64"), ops.shape_vector([steps]))
    return ops.gt(ops.cumsum(ones, 0), ops.sub(sig.count, constant(limit, "int64")))


def of_operands(node, new, found):
    """The cotangents `found` of the operands of `new`, for those of `node`."""
    totals = {}
    for x, g in zip(new.inputs, found):
        if g is not None:
            totals[x.uid] = g if x.uid not in totals else ops.add(totals[x.uid], g)
    result = [totals.pop(x.uid, None) for x in node.inputs]
    if totals:
        raise NotSupported(
            "this gradient of a scan with `until` and truncate_gradient cannot be "
            "differentiated; leave out truncate_gradient"
        )
    return result
