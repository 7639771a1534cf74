"""The gradient of a scan: another scan over the same rows, in the opposite order.

It carries the cotangents of the states; rows of traces and of stored values come in as sequences,
what is cheap is computed again. What a step contributes to the gradient of something that stays the
same is summed in a carry, unless it is a product of matrices: then its factors are per-step results
and one product after the scan sums all steps. The gradient scan is a scan like any other, so it has
a gradient itself.
"""

from .. import ops
from ..base import dtypes
from ..graph.node import constant, item, placeholder
from ..graph.op import register_rule
from ..graph.walk import rebuild, toposort, toposort_cut
from ..ops.scan import Carry, ScanSignature, scan_node
from ..ops.shape import sized
from .accumulate import accumulate
from .scan_masked import of_operands, whole
from .scan_saved import choose_saved
from .scan_sums import Sums, depending


@register_rule("gradient", "scan", "scan_debug")
def gradient_of_scan(node, cotangents):
    """Cotangents of the operands of the scan `node`, None where nothing arrives."""
    if node.attrs["reverse"] and node.attrs["limit"] >= 0:
        new, given = whole(node, cotangents)
        return of_operands(node, new, _Gradient(new, given).results())
    return _Gradient(node, cotangents).results()


def _row(x):
    """A placeholder for a row of `x`."""
    return placeholder(x.dtype, x.shape[1:])


class _Gradient:
    def __init__(self, node, cotangents):
        self.node, self.sig, self.attrs = node, ScanSignature.of(node), node.attrs
        sig = self.sig
        self.inputs = [placeholder(n.dtype, n.shape) for n in sig.body.inputs]
        self.outputs = sig.body.at(self.inputs)
        self.g_trace = [cotangents[sig.trace(i)] for i in range(sig.carries)]
        self.g_final = [cotangents[sig.final(i)] for i in range(sig.carries)]
        self.g_out = [cotangents[sig.out(k)] for k in range(sig.outs)]
        self.counted = sig.count is not None or self.attrs["until"]
        self.window = (
            self.attrs["truncate"] if self.attrs["truncate"] >= 0 and not self.counted else None
        )
        self.differentiate()
        self.save()
        self.build()

    # ---- one step backwards ----------------------------------------------------------------------

    def differentiate(self):
        """Cotangents of the step's inputs for those of its outputs."""
        sig = self.sig
        states = [i for i in range(sig.carries) if self.reachable(i)]
        live = {i for i in states if self.g_final[i] is not None}
        while True:
            self.pending, starts = {}, {}
            self.rows = []  # [(rows of cotangents, placeholder)]
            for i in sorted(live):
                shape = self.outputs[i].shape
                depth = -min(self.attrs["taps"][i])
                self.pending[i] = [placeholder(self.outputs[i].dtype, shape) for _ in range(depth)]
                self.start(starts, self.outputs[i], self.pending[i][0])
            given = list(zip(self.outputs, self.g_trace))
            given += list(zip(self.outputs[sig.carries :], self.g_out))
            for output, g in given:
                if g is not None:
                    row = _row(g)
                    self.rows.append((g, row))
                    self.start(starts, output, row)
            found = accumulate(starts, self.inputs) if starts else [None] * len(self.inputs)
            self.found = dict(zip(self.inputs, found))
            used = {
                i
                for i in states
                if any(self.found[self.inputs[k]] is not None for k in sig.tap_inputs(i).values())
            }
            if used <= live:
                return
            live |= used

    @staticmethod
    def start(starts, node, g):
        starts[node] = ops.add(starts[node], g) if node in starts else g

    def reachable(self, i):
        """Whether state `i` can have a cotangent: it is a float that something depends on."""
        return dtypes.is_inexact(self.outputs[i].dtype)

    def carried(self):
        """{state: the new values of its pending cotangents}."""
        found = {}
        for i, pending in self.pending.items():
            at = self.sig.tap_inputs(i)
            found[i] = []
            for j, nxt in enumerate(pending[1:] + [None], 1):
                part = self.found[self.inputs[at[-j]]] if -j in at else None
                both = [x for x in (nxt, part) if x is not None]
                found[i].append(
                    ops.add(*both)
                    if len(both) == 2
                    else both[0]
                    if both
                    else ops.zeros_like(pending[0])
                )
        return found

    # ---- what it reads of the forward scan -------------------------------------------------------

    def save(self):
        """Extend the forward scan by what is stored, and list the sequences the step can read."""
        sig = self.sig
        self.new_pending = self.carried()
        wanted = [x for row in self.new_pending.values() for x in row]
        wanted += [g for g in self.found.values() if g is not None]
        cotangents = [p for row in self.pending.values() for p in row] + [r for _, r in self.rows]
        tainted = depending(wanted, cotangents)
        varying = depending(wanted, self.inputs[: sig.first_other])
        free = {n.uid: sig.trace(i) for i, n in enumerate(self.outputs[: sig.carries])}
        outs = [] if self.attrs["recompute"] else self.outputs[sig.carries : sig.carries + sig.outs]
        for k, n in enumerate(outs):  # of a checkpointed scan they are all states: not stored
            free.setdefault(n.uid, sig.out(k))
        own = {n.uid for n in self.inputs}
        free = {uid: k for uid, k in free.items() if uid not in own and uid in varying}
        saved = choose_saved(wanted, tainted, varying, set(free), self.attrs["recompute"])
        self.forward, index = self.extended(saved)
        self.stored = {}  # {node of the step: its rows}
        for n in toposort(wanted):
            if n.uid in free and n.uid not in tainted:
                self.stored[n] = item(self.forward, index[free[n.uid]])
        for k, n in enumerate(saved):
            self.stored[n] = item(self.forward, ScanSignature.of(self.forward).out(sig.outs + k))

    def extended(self, saved):
        """(the forward scan with `saved` as further results, {old index of an item: new index})."""
        sig = self.sig
        index = {k: k for k in range(len(self.node.outs))}
        if not saved:
            return self.node, index
        seqs, at = [], 0
        for lag, operands in zip(self.attrs["seqs"], sig.seqs):
            seqs.append((lag, [x for x in operands if x is not None], self.inputs[at]))
            at += 1
        carries = []
        for i, taps in enumerate(self.attrs["taps"]):
            own = [self.inputs[k] for k in sig.tap_inputs(i).values()]
            carries.append(Carry(sig.inits[i], taps, own, self.outputs[i]))
        outs = self.outputs[sig.carries : sig.carries + sig.outs] + saved
        until = self.outputs[-1] if self.attrs["until"] else None
        options = {
            k: self.attrs[k]
            for k in ("reverse", "limit", "truncate", "recompute", "states", "name")
        }
        made = self.outside([c.new for c in carries] + outs + ([] if until is None else [until]))
        carries = [c._replace(new=new) for c, new in zip(carries, made)]
        more = scan_node(
            sig.steps,
            seqs,
            carries,
            made[sig.carries : sig.carries + len(outs)],
            None if until is None else made[-1],
            sig.count,
            sig.others,
            self.node.op.name,
            **options,
        )
        index[sig.executed] = ScanSignature.of(more).executed
        return more, index

    def sequences(self):
        """[(lag, operands, placeholder)] of all forward rows."""
        sig, found = self.sig, []
        for lag, (head, rows), own in zip(self.attrs["seqs"], sig.seqs, self.inputs):
            found.append((lag, [rows] if head is None else [head, rows], own))
        for i in range(sig.carries):
            trace, init = item(self.forward, sig.trace(i)), sig.inits[i]
            for tap, k in sig.tap_inputs(i).items():
                if self.attrs["reverse"]:
                    found.append((0, [self.next_rows(trace, init)], self.inputs[k]))
                else:
                    depth = -min(self.attrs["taps"][i])
                    head = init if depth == -tap else ops.slice_(init, [(depth + tap, None, 1)])
                    found.append((-tap, [head, trace], self.inputs[k]))
        return found

    def next_rows(self, trace, init):
        """For a scan that runs backwards: the state before step t, which step t + 1 made."""
        shifted = ops.slice_(ops.concatenate([trace, init], 0), [(1, None, 1)])
        if not self.counted:
            return shifted
        last = ops.sub(item(self.forward, ScanSignature.of(self.forward).executed), 1)
        numbers = ops.cumsum(ops.ones_like(_one_each(shifted), "int64"), 0)
        at = ops.eq(ops.sub(numbers, 1), last)
        return ops.where(ops.expand(at, tuple(range(1, shifted.ndim))), init, shifted)

    # ---- the gradient scan -----------------------------------------------------------------------

    def build(self):
        sig = self.sig
        self.emitted = []
        rows = {
            k: g
            for k, n in enumerate(self.inputs[: len(sig.seqs)])
            if (g := self.found[n]) is not None
        }
        for g in rows.values():
            self.emit(g)
        self.sums = Sums(self)
        carries = []  # [(first rows, placeholder, new value)]
        for i, pending in self.pending.items():
            for j, (own, new) in enumerate(zip(pending, self.new_pending[i])):
                first = self.g_final[i] if j == 0 else None
                first = (
                    ops.zeros_like(ops.slice_(sig.inits[i], [(-1, None, 1)]))
                    if first is None
                    else ops.expand(first, (0,))
                )
                carries.append((first, own, new))
        self.first_sum = len(carries)
        for k, (total, part) in self.sums.accumulated.items():
            first = ops.expand(ops.zeros_like(sig.others[k]), (0,))
            carries.append((first, total, ops.add(total, part)))
        nodes = [new for _, _, new in carries] + self.emitted
        replace = {n: placeholder(n.dtype, n.shape) for n in self.stored}
        made = self.outside(rebuild(nodes, replace))
        own = {own.uid for _, own, _ in carries}
        seqs = [(0, [g], row) for g, row in self.rows] + self.sequences()
        seqs += [(0, [x], replace[n]) for n, x in self.stored.items()]
        reached = {n.uid for n in toposort_cut(made, {n.uid for n in sig.others})} | own
        seqs = [s for s in seqs if s[2].uid in reached]
        self.scan(
            seqs,
            [Carry(first, (-1,), [own], new) for (first, own, _), new in zip(carries, made)],
            made[len(carries) :],
        )

    def scan(self, seqs, carries, outs):
        sig, attrs = self.sig, self.attrs
        self.steps, count, limit = sig.steps, None, -1
        if self.counted:
            executed = ScanSignature.of(self.forward).executed
            count = item(self.forward, executed) if attrs["until"] else sig.count
            limit = attrs["truncate"]
        if self.window is not None:  # only the last rows take part
            self.steps = ops.minimum(sig.steps, constant(self.window, "int64"))
            skipped = ops.sub(sig.steps, self.steps)
            seqs = [(0, [self.tail(lag, xs, skipped)], own) for lag, xs, own in seqs]
        name = attrs["name"] and f"gradient of {attrs['name']}"
        self.backward = scan_node(
            self.steps,
            seqs,
            carries,
            outs,
            None,
            count,
            sig.others,
            self.node.op.name,
            reverse=not attrs["reverse"],
            limit=limit,
            recompute=attrs["recompute"],
            name=name,
        )

    @staticmethod
    def tail(lag, operands, skipped):
        """The rows from `skipped` on, of a sequence that may be lagged."""
        if lag:
            head, rows = operands
            operands = [ops.concatenate([head, ops.slice_(rows, [(None, -lag, 1)])], 0)]
            total = ops.size_of(rows, 0)
            operands = [ops.dynamic_slice(operands[0], [(0, total, 1)])]
        return ops.dynamic_slice(operands[0], [(skipped, None, 1)])

    def final(self, i):
        return item(self.backward, self.carry_count + i)

    def outside(self, nodes):
        """`nodes` of a step with operands in the place of the inputs that stay the same."""
        return rebuild(list(nodes), dict(zip(self.inputs[self.sig.first_other :], self.sig.others)))

    def emit(self, node):
        """Make `node` a per-step result; its index."""
        for k, known in enumerate(self.emitted):
            if known is node:
                return k
        self.emitted.append(node)
        return len(self.emitted) - 1

    def result(self, k):
        return item(self.backward, 2 * self.carry_count + k)

    @property
    def carry_count(self):
        return len(self.backward.attrs["taps"])

    # ---- results ---------------------------------------------------------------------------------

    def results(self):
        sig = self.sig
        found = [None] if sig.count is None else [None, None]
        for k, (head, _) in enumerate(sig.seqs):
            g = self.found[self.inputs[k]]
            rows = None if g is None else self.padded(self.result(self.emit(g)))
            found += [rows] if head is None else _split_lag(rows, self.attrs["seqs"][k])
        at = 0
        for i in range(sig.carries):
            if i not in self.pending:
                found.append(None)
                continue
            depth = len(self.pending[i])
            finals = [ops.expand(self.final(at + j), (0,)) for j in range(depth)]
            found.append(ops.concatenate(finals[::-1], 0) if depth > 1 else finals[0])
            at += depth
        return found + [self.sums.total(k) for k in range(len(sig.others))]

    def padded(self, rows):
        """`rows` with zeros for the steps that truncation leaves out."""
        if self.window is None:
            return rows
        skipped = ops.sub(self.sig.steps, self.steps)
        sizes = ops.shape_vector([skipped, *sized(rows)[1:]])
        zeros = ops.broadcast_to(constant(0, rows.dtype), sizes)
        return ops.concatenate([zeros, rows], 0)


# --- parts of expressions ---------------------------------------------------------------------


def _split_lag(rows, lag):
    """The cotangents of head and rows, from those of one after the other."""
    if rows is None:
        return [None, None]
    hole = ops.broadcast_to(constant(0, rows.dtype), ops.shape_vector([lag, *sized(rows)[1:]]))
    both = ops.concatenate([rows, hole], 0)
    return [ops.slice_(both, [(0, lag, 1)]), ops.slice_(both, [(lag, None, 1)])]


def _one_each(x):
    """A vector with a number for each row of `x`, of which only the shape is read: a sum, which
    there is of no elements too."""
    return ops.sum(x, tuple(range(1, x.ndim))) if x.ndim > 1 else x
