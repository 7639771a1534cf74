"""Where a change of a variable gets to: through which results of loops, and past which draws."""

from ...graph.walk import toposort
from ...ops.scan import ScanSignature

BLOCKING = {"stop_gradient", "shape", "argmax", "argmin", "argsort", "eq", "ne", "lt", "le", "gt",
            "ge", "isnan", "isinf", "perform", "perform_unfolded", "null_gradient",
            "iota"}  # fmt: skip
SCANS = ("scan", "scan_debug")


class Reach:
    """What depends on some nodes, and what does by a parameter of a draw: `passed`, `drawn`.

    Both hold uids. It ends at nodes of `stopped` and where BLOCKING has an op.
    """

    draws = False  # whether a graph with a draw was ever made

    def __init__(self, ends, passed, drawn=(), stopped=()):
        self.passed, self.drawn, self.stopped = set(passed), set(drawn), stopped
        self.of_scans = {}  # {uid of a scan: (indices of results passed, of results drawn)}
        for n in toposort(ends):
            if n.uid not in self.stopped and n.op.name not in BLOCKING:
                self.visit(n)

    def visit(self, n):
        if n.op.name in SCANS:
            self.of_scans[n.uid] = self.through(n)
        elif n.op.name == "item" and n.inputs[0].uid in self.of_scans:
            for found, indices in zip((self.passed, self.drawn), self.of_scans[n.inputs[0].uid]):
                if n.attrs["index"] in indices:
                    found.add(n.uid)
        else:
            if self.hits(self.passed, n.inputs):
                self.passed.add(n.uid)
            if self.hits(self.drawn, n.inputs) or (
                n.op.name == "theano_random" and self.hits(self.passed, n.inputs[2:])
            ):
                self.drawn.add(n.uid)

    @staticmethod
    def hits(uids, nodes):
        return any(n is not None and n.uid in uids for n in nodes)

    def through(self, scan):
        """(indices of the results of a scan that are passed, of those drawn)."""
        sig = ScanSignature.of(scan)
        starts, states = [], []
        for uids in (self.passed, self.drawn):
            places = {k for k, pair in enumerate(sig.seqs) if self.hits(uids, pair)}
            places |= {k for k, x in enumerate(sig.others, sig.first_other) if x.uid in uids}
            starts.append(places)
            states.append({i for i, x in enumerate(sig.inits) if x.uid in uids})
        while True:
            inputs = [
                places.union(*(sig.tap_inputs(i).values() for i in held))
                for places, held in zip(starts, states)
            ]
            step = Reach(
                sig.body.outputs, *({sig.body.inputs[k].uid for k in found} for found in inputs)
            )
            made = [
                [k for k, x in enumerate(sig.body.outputs) if x.uid in uids]
                for uids in (step.passed, step.drawn)
            ]
            more = [held.union(k for k in ks if k < sig.carries) for held, ks in zip(states, made)]
            if more == states:
                break
            states = more
        return [
            {sig.final(i) for i in held}
            | {sig.trace(k) if k < sig.carries else sig.out(k - sig.carries) for k in ks}
            for held, ks in zip(states, made)
        ]
