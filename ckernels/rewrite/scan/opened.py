"""Scans taken apart and closed again, and their bodies: what the passes on scans work with.

A pass works on an `Opened` scan: its step as plain nodes, with the operands that stay the same in
their places, from which a new scan is made. Here are also the rules on slices that scans bring
about, and how bodies are rewritten. The passes themselves run in passes.py.
"""

from collections import OrderedDict
from dataclasses import replace

from ... import ops
from ...graph.node import item, make, placeholder
from ...graph.op import having
from ...graph.sizes import indices
from ...graph.walk import rebuild, toposort, toposort_cut
from ...ops.bodies import Body, shapes_known
from ...ops.scan import Carry, ScanSignature, is_scan, scan_node
from ..engine import Family
from .results import ScanFinal, ScanOut, ScanTrace, results_of

family = Family("scans")
KEPT = 256  # rewritten bodies that are remembered
HOLD = having("bodies")
_bodies = OrderedDict()


def wanted(order):
    """Whether there is a scan or a branch among the nodes `order`."""
    return any(n.op.name in HOLD for n in order)


# --- rows -------------------------------------------------------------------------------------


@family.rule("dynamic_slice")
def static_slice(node):
    """A slice whose bounds have become known is a view. (Code: any number of bounds.)"""
    x, bounds = node.inputs[0], node.inputs[1:]
    if any(b.value is None for b in bounds):
        return None
    values = [b.value.item() for b in bounds]
    slices = [
        tuple(values[b[1]] if isinstance(b, tuple) else b for b in s)
        for s in node.attrs["template"]
    ]
    return ops.dynamic_slice(x, slices, node.attrs.get("exact", ()))


@family.rule("slice")
def last_row_is_final(node):
    """The last row of a trace is the last state, which is there without storing the trace.

    Code: whether the scan runs all steps is read from its step.
    """
    trace = node.inputs[0]
    if trace.op.name != "item" or not is_scan(trace.inputs[0]):
        return None
    scan = trace.inputs[0]
    sig, total = ScanSignature.of(scan), trace.shape[0]
    if not total or trace.attrs["index"] >= sig.carries or not runs_all(scan):
        return None
    if not takes_last(node, trace, scan):
        return None
    rest = node.attrs["slices"][1:]
    final = ops.expand(item(scan, sig.final(trace.attrs["index"])), (0,))
    return make("slice", (final,), {"slices": ((None, None, 1), *rest)})


@family.rule("slice")
def slice_of_one_part(node):
    """A slice that lies in one of the tensors joined is a slice of that. (Code: any number.)"""
    joined = node.inputs[0]
    if joined.op.name != "concatenate":
        return None
    axis, at = joined.attrs["axis"], 0
    *lead, bounds = node.attrs["slices"][: axis + 1]
    rows = indices(bounds, joined.shape[axis])
    for part in joined.inputs:
        end = at + part.shape[axis]
        if rows.count != 0 and at <= rows.low and rows.end <= end:
            moved = rows.moved(-at).bounds(end - at)
            return make(
                "slice", (part,), {"slices": (*lead, moved, *node.attrs["slices"][axis + 1 :])}
            )
        at = end
    return None


def runs_all(scan):
    """Whether every step of a scan runs."""
    a = scan.attrs
    return not a["until"] and not a["counted"] and a["limit"] < 0


# --- bodies -----------------------------------------------------------------------------------


def with_bodies(roots, optimise, key):
    """`roots` with the bodies of scans and branches rewritten by optimise(list of nodes)."""

    def step(node):
        names = HOLD.get(node.op.name)
        if names is None:
            return node
        new = {name: _rewritten(node.attrs[name], optimise, key) for name in names}
        if all(new[name] is node.attrs[name] for name in names):
            return node
        return make(node.op, node.inputs, {**node.attrs, **new})

    return rebuild(roots, step=step)


def _rewritten(body, optimise, key):
    if not shapes_known(body):  # data decides some shape inside: its oracle will run it
        return body
    found = _bodies.get((body, key))
    if found is None:
        outputs = optimise(list(body.outputs))
        found = body if tuple(outputs) == body.outputs else Body(body.inputs, outputs)
        _bodies[body, key] = found
        while len(_bodies) > KEPT:
            _bodies.popitem(last=False)
    return found


# --- scans taken apart ------------------------------------------------------------------------


class Opened:
    """A scan whose step is plain nodes, to be changed and closed again.

    rows       [[lag, operands, placeholder]]
    carries    [Carry]
    outs       nodes; until: a node or None
    results    for each result of the old scan where it is now, a ScanResult; None: nobody reads it
    """

    def __init__(self, scan, stand_ins=None):
        self.scan, self.sig = scan, ScanSignature.of(scan)
        sig, taps = self.sig, scan.attrs["taps"]
        own = stand_ins or [
            placeholder(n.dtype, n.shape) for n in sig.body.inputs[: sig.first_other]
        ]
        made = sig.body.at([*own, *sig.others])
        self.frozen = {n.uid for n in sig.others}
        self.rows = [
            [lag, [x for x in pair if x is not None], row]
            for lag, pair, row in zip(scan.attrs["seqs"], sig.seqs, own)
        ]
        self.carries = [
            Carry(init, t, [own[k] for k in sig.tap_inputs(i).values()], new)
            for i, (init, t, new) in enumerate(zip(sig.inits, taps, made))
        ]
        self.outs = made[sig.carries : sig.carries + sig.outs]
        self.until = made[-1] if scan.attrs["until"] else None
        self.results = results_of(sig)

    @property
    def steps(self):
        """How many steps there are at most."""
        return self.sig.steps.value.item() if self.sig.steps.value is not None else None

    @property
    def outputs(self):
        return (
            [c.new for c in self.carries] + self.outs + ([] if self.until is None else [self.until])
        )

    def order(self):
        """The nodes of a step, and of what is computed before the scan for it."""
        return toposort_cut(self.outputs, self.frozen)

    def row_leaves(self):
        return {row.uid for _, _, row in self.rows}

    def state_leaves(self):
        return {n.uid for c in self.carries for n in c.inputs}

    def replace(self, mapping):
        """Put nodes in the place of others, everywhere in the step."""
        made = rebuild(self.outputs, {**{n: n for n in self.sig.others}, **mapping})
        self.carries = [c._replace(new=new) for c, new in zip(self.carries, made)]
        self.outs = made[len(self.carries) : len(self.carries) + len(self.outs)]
        self.until = None if self.until is None else made[-1]

    def emit(self, node):
        """The result that has the rows of `node`."""
        for i, c in enumerate(self.carries):
            if c.new is node:
                return ScanTrace(i)
        return ScanOut(self.emit_out(node))

    def emit_out(self, node):
        """The index of `node` among the per-step results, made one when it is none."""
        for k, known in enumerate(self.outs):
            if known is node:
                return k
        self.outs.append(node)
        return len(self.outs) - 1

    def close(self):
        """{index of an old result: node of the new one}."""
        attrs, sig = self.scan.attrs, self.sig
        used = {n.uid for n in toposort_cut(self.outputs, self.frozen)}
        seqs = [tuple(r) for r in self.rows if r[2].uid in used]
        options = {k: attrs[k] for k in ("reverse", "limit", "name", "recompute")}
        new = scan_node(
            sig.steps,
            seqs,
            self.carries,
            self.outs,
            self.until,
            sig.count,
            sig.others,
            self.scan.op.name,
            **options,
        )
        where = ScanSignature.of(new)
        return {k: r.node(new, where) for k, r in enumerate(self.results) if r is not None}


def move_outs(opened, kept, place):
    """Keep the per-step results `kept`; place: {old index: the result it is now}."""

    def now(result):
        return place[result.out] if isinstance(result, ScanOut) else result

    opened.results = [result and result.mapped(now) for result in opened.results]
    opened.outs = kept


def drop_carries(opened, dropped):
    """The scan without the carries in `dropped`: {carry: function of its trace or final value that
    gives the result which stands for that}."""
    rest = [i for i in range(len(opened.carries)) if i not in dropped]

    def now(result):
        if not isinstance(result, (ScanTrace, ScanFinal)):
            return result
        if result.carry in dropped:
            return dropped[result.carry](result).mapped(now)
        return replace(result, carry=rest.index(result.carry))

    opened.results = [result and result.mapped(now) for result in opened.results]
    opened.carries = [opened.carries[i] for i in rest]


def depending(order, leaves):
    """uids of the nodes of `order` that depend on the uids `leaves`, those included."""
    found = set(leaves)
    for node in order:
        if any(i.uid in found for i in node.inputs):
            found.add(node.uid)
    return found


def substitute(roots, scan, items):
    """`roots` with `items` {index: node} in the place of the results of `scan`."""
    found = {}
    for node in toposort(roots):
        if node.op.name == "item" and node.inputs[0] is scan:
            found[node] = items[node.attrs["index"]]
    return rebuild(roots, found)


def takes_last(user, rows, scan):
    """Whether `user` is a slice that reads of all `rows` only that of the last step."""
    if user.op.name != "slice":
        return False
    total = rows.shape[0]
    at = 0 if scan.attrs["reverse"] else total - 1
    rows = indices(user.attrs["slices"][0], total)
    return rows.count == 1 and rows.start == at
