"""Scans with one more axis: how `batch` treats a scan, for Jacobians through scans.

The batch axis of a sequence comes after its axis of steps, so that a row is a batch of rows. Which
states vary with the batch is found first: those that start so, and those that come to depend on it.
"""

from .. import ops
from ..graph.node import item, make, placeholder
from ..graph.op import register_rule
from ..graph.walk import rebuild, toposort
from ..ops.scan import Carry, ScanSignature, scan_node
from .batch_walk import Batch, NoBatchRule


def _wide_inputs(b, sig):
    """(indices of the body's inputs with the batch axis, of states with it, uids that depend)."""
    wide = {k for k, pair in enumerate(sig.seqs) if any(x is not None and b.has(x) for x in pair)}
    wide |= {k for k, x in enumerate(sig.others, sig.first_other) if b.has(x)}
    states = {i for i, x in enumerate(sig.inits) if b.has(x)}
    order = toposort(sig.body.outputs)
    while True:
        inputs = wide | {k for i in states for k in sig.tap_inputs(i).values()}
        depends = {sig.body.inputs[k].uid for k in inputs}
        for n in order:
            if any(i.uid in depends for i in n.inputs):
                depends.add(n.uid)
        more = {i for i in range(sig.carries) if sig.body.outputs[i].uid in depends} | states
        if more == states:
            return inputs, states, depends
        states = more


def row_by_row(outputs, wide):
    """`outputs` with all of `wide` {node: values} replaced, one step of a scan for each row: what
    `batched` gives, for ops without a rule."""
    steps = ops.cast(ops.shape(next(iter(wide.values())))[0], "int64")
    own = {n: placeholder(n.dtype, n.shape) for n in wide}
    outs = rebuild(list(outputs), own)
    rows = [(0, [values], own[n]) for n, values in wide.items()]
    made = scan_node(steps, rows, (), outs)
    return [item(made, k) for k in range(len(outs))]


@register_rule("batch", "scan", "scan_debug")
def scan_rule(b, node):
    """The scan `node` with the batch axis in whatever depends on it."""
    sig, attrs = ScanSignature.of(node), node.attrs
    wide, states, depends = _wide_inputs(b, sig)
    if (
        attrs["until"]
        and sig.body.outputs[-1].uid in depends
        or b.has(sig.steps)
        or (sig.count is not None and b.has(sig.count))
    ):
        raise NoBatchRule("a scan that ends at another step for each row")
    size = b.count if isinstance(b.count, int) else None
    own = [
        placeholder(n.dtype, (size, *n.shape) if k in wide else n.shape)
        for k, n in enumerate(sig.body.inputs)
    ]
    inner = [placeholder(n.dtype, n.shape) for n in sig.body.inputs]
    outputs = sig.body.at([inner[k] if k in wide else own[k] for k in range(len(own))])
    walk = Batch({inner[k]: own[k] for k in wide}) if wide else None
    for n in toposort(outputs) if walk else ():
        walk.visit(n)
    seqs = []
    for k, (lag, pair) in enumerate(zip(attrs["seqs"], sig.seqs)):
        operands = [x for x in pair if x is not None]
        if k in wide:
            operands = [ops.swapaxes(b.full(x), 0, 1) for x in operands]
        seqs.append((lag, operands, own[k]))
    carries = []
    for i, (init, taps) in enumerate(zip(sig.inits, attrs["taps"])):
        at = [own[k] for k in sig.tap_inputs(i).values()]
        if i in states:
            carries.append(Carry(ops.swapaxes(b.full(init), 0, 1), taps, at, walk.full(outputs[i])))
        else:
            carries.append(Carry(init, taps, at, outputs[i]))
    outs = [walk.get(x) if walk else x for x in outputs[sig.carries : sig.carries + sig.outs]]
    replace = dict(zip(own[sig.first_other :], (b.get(x) for x in sig.others)))
    until = outputs[-1:] if attrs["until"] else []
    made = [c.new for c in carries] + outs + until
    made = rebuild(walk.settled(made) if walk else made, replace)
    carries = [c._replace(new=new) for c, new in zip(carries, made)]
    options = {k: attrs[k] for k in ("reverse", "limit", "truncate", "recompute", "name")}
    new = scan_node(
        sig.steps,
        seqs,
        carries,
        made[sig.carries : sig.carries + sig.outs],
        made[-1] if until else None,
        sig.count,
        list(replace.values()),
        node.op.name,
        **options,
    )
    rows = {sig.trace(i) for i in states}
    rows |= {
        sig.out(k)
        for k, x in enumerate(outputs[sig.carries : sig.carries + sig.outs])
        if walk and walk.has(x)
    }
    b.scans[new.uid] = (rows, {sig.final(i) for i in states})
    return new


@register_rule("batch", "item")
def item_rule(b, node):
    """A result of a batched node with the batch axis first; None where it does not vary."""
    new = b.get(node.inputs[0])
    if new.uid not in b.scans:  # of a decomposition, say: all its results vary
        return make(node.op, (b.full(node.inputs[0]),), node.attrs)
    rows, finals = b.scans[new.uid]
    index = node.attrs["index"]
    if index in rows:
        return ops.swapaxes(item(new, index), 0, 1)
    if index in finals:
        return item(new, index)
    b.still[node] = item(new, index)
    return None
