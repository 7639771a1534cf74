"""Loops inside of loops with one number of steps in all turns, of which the first few run.

A gradient keeps what the steps of a scan computed. In `for i in range(n): for j in range(i)` an
inner scan has other numbers of rows in each outer turn, which are no rows of one array. Here it
gets the greatest number as its `steps` and its own as its `count`; a scan that carries maxima finds
the former.
"""

from .. import ops
from ..graph.node import constant, item, line_of, placeholder
from ..graph.walk import rebuild, toposort
from ..ops import reference
from ..ops.scan import Carry, ScanSignature, is_endless, is_scan, scan_node

OPTIONS = ("reverse", "limit", "truncate", "recompute", "states", "name")


def even(roots):
    """`roots` with such scans, for what is differentiated."""
    bounds = []
    new = _each(list(roots), None, bounds)
    return rebuild(new, {p: _known(value) for p, value in bounds}) if bounds else list(roots)


def _known(node):
    """`node`, or its value where no input decides it."""
    if any(n.op.name in ("placeholder", "variable") for n in toposort([node])):
        return node
    return constant(reference.evaluate([node], {})[0])


def _each(outputs, varies, bounds):
    """`outputs` with their scans changed. varies: uids of what each outer turn has for itself, None
    outside of all; bounds: gets (placeholder of a number of steps, what each turn needs)."""
    order = toposort(outputs)
    by_rows = {n.inputs[0].uid for n in order if n.op.name == "item" and is_scan(n.inputs[0])
               and not ScanSignature.of(n.inputs[0]).is_final(n.attrs["index"])}  # fmt: skip
    for scan in reversed([n for n in order if is_scan(n)]):
        with line_of(scan):
            new = _changed(scan, varies, scan.uid in by_rows, bounds)
        if new is not scan:
            outputs = rebuild(outputs, {scan: new})
    return outputs


def _varying(outputs, leaves):
    """The uids of what depends on the values of leaves."""
    found = {n.uid for n in leaves}
    for n in toposort(outputs):
        if n.op.name != "shape" and any(i.uid in found for i in n.inputs):
            found.add(n.uid)
    return found


def _changed(scan, varies, by_rows, bounds):
    opened = _Opened(scan)
    sig, inside = opened.sig, []
    moving = list(opened.own)
    if varies is not None:
        moving += [p for p, x in zip(opened.same, sig.others) if x.uid in varies]
    outputs = _each(opened.outputs, _varying(opened.outputs, moving), inside)
    bounds += opened.bounds(inside)
    steps, count = sig.steps, sig.count
    if varies is not None and not by_rows and not sig.seqs and (
        steps.uid in varies or scan.attrs["until"] and is_endless(scan)
    ):  # fmt: skip
        needed = item(scan, sig.executed) if scan.attrs["until"] else steps
        count = steps if count is None else ops.minimum(count, steps)
        steps = placeholder("int64", ())
        bounds.append((steps, needed))
    if outputs is opened.outputs and steps is sig.steps:
        return scan
    return opened.scan(outputs, steps, count)


class _Opened:
    """A scan whose step is over placeholders. own: those that each step has for itself; same: those
    of what stays the same."""

    def __init__(self, scan):
        self.node, self.sig, self.attrs = scan, ScanSignature.of(scan), scan.attrs
        self.inputs = [placeholder(n.dtype, n.shape) for n in self.sig.body.inputs]
        first = self.sig.first_other
        self.own, self.same = self.inputs[:first], self.inputs[first:]
        self.outputs = self.sig.body.at(self.inputs)

    def outside(self, nodes):
        return rebuild(list(nodes), dict(zip(self.same, self.sig.others)))

    def rows(self, k):
        lag = self.attrs["seqs"][k]
        return lag, [x for x in self.sig.seqs[k] if x is not None], self.inputs[k]

    def carry(self, i, new):
        own = [self.inputs[k] for k in self.sig.tap_inputs(i).values()]
        return Carry(self.sig.inits[i], self.attrs["taps"][i], own, new)

    def scan(self, outputs, steps, count):
        """The scan with another step, which has results like those of this one."""
        sig, made = self.sig, self.outside(outputs)
        carries = [self.carry(i, made[i]) for i in range(sig.carries)]
        outs = made[sig.carries : sig.carries + sig.outs]
        until = made[-1] if self.attrs["until"] else None
        return scan_node(steps, [self.rows(k) for k in range(len(sig.seqs))], carries, outs, until,
                         count, sig.others, self.node.op.name,
                         **{k: self.attrs[k] for k in OPTIONS})  # fmt: skip

    def bounds(self, inside):
        """Bounds that hold in all steps, for those of one step: over what is outside of it."""
        varies = _varying([value for _, value in inside], self.own)
        moving = [(p, value) for p, value in inside if value.uid in varies]
        found = [(p, self.outside([v])[0]) for p, v in inside if v.uid not in varies]
        if not moving:
            return found
        needed = [value for _, value in moving]
        if self.attrs["until"]:
            needed.append(self.outputs[-1])
        states = self.states(needed)
        greatest = [placeholder("int64", ()) for _ in moving]
        news = [ops.maximum(m, value) for m, (_, value) in zip(greatest, moving)]
        made = self.outside([*news, *[self.outputs[i] for i in states], *needed[len(moving) :]])
        zero = ops.expand(constant(0, "int64"), (0,))
        carries = [Carry(zero, (-1,), [m], new) for m, new in zip(greatest, made)]
        carries += [self.carry(i, new) for i, new in zip(states, made[len(carries) :])]
        reached = {n.uid for n in toposort([c.new for c in carries] + made[len(carries) :])}
        seqs = [self.rows(k) for k in range(len(self.sig.seqs)) if self.inputs[k].uid in reached]
        node = scan_node(self.sig.steps, seqs, carries, (), (made[len(carries) :] or [None])[0],
                         self.sig.count, self.sig.others, self.node.op.name,
                         reverse=self.attrs["reverse"], limit=self.attrs["limit"])  # fmt: skip
        sig = ScanSignature.of(node)
        return found + [(p, item(node, sig.final(k))) for k, (p, _) in enumerate(moving)]

    def states(self, needed):
        """The states that nodes of the step are computed from, in each step."""
        carries, found, fresh = range(self.sig.carries), set(), True
        own = [{self.inputs[k].uid for k in self.sig.tap_inputs(i).values()} for i in carries]
        while fresh:
            reached = {n.uid for n in toposort(needed + [self.outputs[i] for i in found])}
            fresh = {i for i in carries if own[i] & reached} - found
            found |= fresh
        return sorted(found)
