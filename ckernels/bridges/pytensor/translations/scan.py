"""Scan: PyTensor's scans as those of ckernels.

PyTensor hands a scan its states as buffers that hold the first rows and room for the others, and
gets the buffers back; when fewer rows are kept than there are steps, the last ones stay. Here a
scan has first rows and a trace, and the buffer is their concatenation, of which only what is used
is computed. A mit-mot state, which gradients of scans are made of, is a window that moves along its
buffer: a sequence enters it at one end and its rows leave at the other.
"""

import numpy as np

from .... import ops
from ....graph.node import Node, constant, item, make, placeholder
from ....ops.scan import Carry, ScanSignature, scan_node
from ....ops.scan_ends import ran, with_last
from ....ops.shape import known_value, size_of
from ..registry import Untranslated, translates


def _row(x):
    """The placeholder of a step for a row of `x`."""
    return placeholder(x.dtype, x.shape[1:])


class Outer:
    """The operands of a Scan by their roles, in PyTensor 3.0 to 3.3."""

    def __init__(self, op, inputs):
        info, rest = op.info, list(inputs[1:])

        def take(count):
            found = rest[:count]
            del rest[:count]
            return found

        self.seqs = take(info.n_seqs)
        self.mit_mot = take(len(info.mit_mot_in_slices))
        self.states = take(len(info.mit_sot_in_slices) + len(info.sit_sot_in_slices))
        untraced = info.__dict__.get("n_untraced_sit_sot", None)
        untraced = info.n_shared_outs if untraced is None else untraced
        self.untraced, self.sizes = take(untraced), take(info.n_nit_sot)
        self.others = rest
        self.taps = [tuple(t) for t in info.mit_sot_in_slices + info.sit_sot_in_slices]


class StateBuffer:
    """A mit-mot state: contents of the buffer from row t + low to row t + high, at step t."""

    def __init__(self, buffer, taps_in, taps_out, steps):
        back = -min(0, min(taps_in))
        self.reads = [t + back for t in taps_in]
        self.writes = [t + back for t in taps_out]
        self.low, self.high = min(self.reads + self.writes), max(self.reads + self.writes)
        self.buffer, self.steps = buffer, steps
        self.sequence = ops.dynamic_slice(buffer, [(self.high, ops.add(steps, self.high), 1)])
        self.enters = _row(self.sequence)
        self.held = [_row(buffer) for _ in range(self.low, self.high)]

    def inputs(self):
        """What the step reads of it."""
        cells = self.held + [self.enters]
        return [cells[k - self.low] for k in self.reads]

    def step(self, written):
        """(new values of the cells that stay, what leaves), given what the step writes."""
        cells = self.held + [self.enters]
        for k, new in zip(self.writes, written):
            cells[k - self.low] = new
        self.leaves, self.kept = cells[0], cells[1:]

    def carries(self):
        return [
            Carry(ops.slice_(self.buffer, [(k, k + 1, 1)]), (-1,), [cell], new)
            for k, cell, new in zip(range(self.low, self.high), self.held, self.kept)
        ]

    def result(self, left, finals):
        """The buffer after the scan: rows before, those that left, those still held, the rest."""
        parts = [ops.slice_(self.buffer, [(0, self.low, 1)])] if self.low else []
        parts += [left, *[ops.expand(f, (0,)) for f in finals]]
        parts.append(ops.dynamic_slice(self.buffer, [(ops.add(self.steps, self.high), None, 1)]))
        return ops.concatenate(parts, 0)


class ScanMaker:
    """One Scan on its way to a scan of ckernels."""

    def __init__(self, context, op, inputs):
        self.op, self.info, outer = op, op.info, Outer(op, inputs)
        self.outer = outer
        self.steps = steps_of(inputs[0])
        if any(not isinstance(x, Node) for x in inputs):
            raise Untranslated("a state that is no tensor")
        self.seqs = [(0, [ops.dynamic_slice(x, [(0, self.steps, 1)])], _row(x)) for x in outer.seqs]
        self.windows = [
            StateBuffer(x, i, o, self.steps)
            for x, i, o in zip(
                outer.mit_mot, self.info.mit_mot_in_slices, self.info.mit_mot_out_slices
            )
        ]
        self.rows = [[_row(x) for _ in taps] for x, taps in zip(outer.states, outer.taps)]
        self.kept = [placeholder(x.dtype, x.shape) for x in outer.untraced]
        inner = [row for _, _, row in self.seqs]
        inner += [cell for w in self.windows for cell in w.inputs()]
        inner += [cell for row in self.rows for cell in row]
        inner += self.kept + outer.others
        self.sort(context.inline(op.fgraph, inner))
        self.build()

    def sort(self, outputs):
        """Take the outputs of a step by their roles."""
        rest = list(outputs)

        def take(count):
            found = rest[:count]
            del rest[:count]
            return found

        for window, writes in zip(self.windows, self.info.mit_mot_out_slices):
            window.step(take(len(writes)))
        self.new_states = take(len(self.outer.states))
        self.new_rows = take(self.info.n_nit_sot)
        self.new_kept = take(len(self.kept))
        self.until = None
        if self.info.as_while:
            (flag,) = take(1)
            self.until = flag if flag.dtype == "bool" else ops.ne(flag, 0)

    def build(self):
        carries = [c for w in self.windows for c in w.carries()]
        self.first_state = len(carries)
        for x, taps, own, new in zip(
            self.outer.states, self.outer.taps, self.rows, self.new_states
        ):
            init = ops.slice_(x, [(0, -min(taps), 1)])
            carries.append(Carry(init, taps, own, new))
        self.first_kept = len(carries)
        carries += [
            Carry(ops.expand(x, (0,)), (-1,), [own], new)
            for x, own, new in zip(self.outer.untraced, self.kept, self.new_kept)
        ]
        outs = [w.leaves for w in self.windows] + self.new_rows
        seqs = self.seqs + [(0, [w.sequence], w.enters) for w in self.windows]
        self.node = scan_node(self.steps, seqs, carries, outs, self.until, name=self.op.name)
        self.layout = ScanSignature.of(self.node)

    # ---- results ------------------------------------------------------------------------------

    def results(self):
        """The values of PyTensor's outputs, in its order."""
        found, at = [], 0
        for k, window in enumerate(self.windows):
            held = len(window.held)
            finals = [self.final(at + j) for j in range(held)]
            at += held
            found.append(window.result(item(self.node, self.layout.out(k)), finals))
        for j, (x, taps) in enumerate(zip(self.outer.states, self.outer.taps)):
            found.append(self.buffer(x, -min(taps), self.first_state + j))
        for j, size in enumerate(self.outer.sizes):
            rows = self.trace(self.layout.out(len(self.windows) + j))
            found.append(self.last_rows(rows, 0, ops.cast(size, "int64")))
        found += [self.final(self.first_kept + j) for j in range(len(self.kept))]
        return found

    def final(self, i):
        return item(self.node, self.layout.final(i))

    def trace(self, index):
        rows = item(self.node, index)
        return ran(rows) if self.until is not None else rows

    def buffer(self, x, first, i):
        """The buffer of a state after the scan; its last row is the last state."""
        if first == 1 and x.shape[0] == 1:
            return ops.expand(self.final(i), (0,))
        if self.until is not None and first > 1:
            raise Untranslated("a window of a scan that ends early")
        rows = ops.concatenate(
            [ops.slice_(x, [(0, first, 1)]), self.trace(self.layout.trace(i))], 0
        )
        found = self.last_rows(rows, first, rows_of(x))
        return with_last(found, self.final(i))

    def last_rows(self, rows, first, kept):
        """The last `kept` of `rows`, of which `first` were there before; zeros where too few."""
        count = ops.add(self.executed(), first)
        start = ops.maximum(ops.sub(count, kept), 0)
        known = known_value(kept)
        if known != first + (known_value(self.steps) or -1):
            rows = ops.dynamic_slice(rows, [(start, None, 1)])
        if self.until is not None:
            return rows
        missing = ops.maximum(ops.sub(kept, count), 0)
        if known_value(missing) == 0:
            return rows
        sizes = [size_of(rows, k) for k in range(1, rows.ndim)]
        zeros = ops.broadcast_to(ops.cast(0, rows.dtype), [missing, *sizes])
        return ops.concatenate([rows, zeros], 0)

    def executed(self):
        return self.steps if self.until is None else item(self.node, self.layout.executed)


def rows_of(x):
    """How many rows `x` has, as a node."""
    size = size_of(x, 0)
    return size if isinstance(size, Node) else constant(np.int64(size))


def steps_of(x):
    """The number of steps as an int64 scalar: where it is data, a size, so that each has a plan."""
    x = ops.cast(x, "int64")
    known = known_value(x)
    if known is not None:
        return constant(np.int64(known))
    size = size_of(make("scan_steps", (x,)), 0)
    return size if isinstance(size, Node) else constant(np.int64(size))


@translates("Scan")
def scan(context, op, node, inputs):
    return ScanMaker(context, op, inputs).results()
