"""Scans and branches as instructions of a plan, which run the steps without Python.

The body of a scan is planned like any graph. What it reads and writes per step are rows of
sequences, states and results: buffers named ("row", k), of which a Move says where they lie at
each step, so that results are written where they stay and states are read from there. States nobody
keeps live in rings of few rows, or in one row that is overwritten.
"""

from dataclasses import replace

import numpy as np

from ..base import dtypes
from ..base.machine import STEP_NS
from ..codegen.layout import Layout, contiguous_strides, fresh
from ..graph.op import register_rules
from ..graph.shapes import product
from ..graph.sizes import Size, smallest, value_of
from ..graph.walk import toposort
from ..ops.bodies import shapes_known
from ..ops.scan import ScanSignature, label
from .instructions import Branch, HandedOn, Move, Moving, Scan, touched
from .lowerings.movement import copy_around, spread
from .scan_by_rows import batch_parts
from .stores import changed_input

BOUNDED = {"minimum": min, "maximum": max, "where": max}  # of which two numbers it is one
MOST = 1 << 40  # steps of a scan of which only the call knows how many
TYPICAL = 1000  # how many are assumed of it


def itemsize(dtype):
    return dtypes.ITEMSIZE[dtype]


def row_bytes(layout):
    """Bytes of one row of a contiguous layout."""
    return product(layout.shape[1:]) * itemsize(layout.dtype)


def base_of(layout, index=0):
    """(buffer, bytes) of row `index`."""
    return layout.buffer, _start_of(layout, index) * itemsize(layout.dtype)


def row_of(layout, index):
    """The layout of row `index`."""
    return Layout(
        layout.buffer,
        layout.shape[1:],
        layout.strides[1:],
        layout.dtype,
        _start_of(layout, index),
    )


def _start_of(layout, index):
    """Elements before row `index`; rows without elements have no place behind the buffer's end."""
    if not index or 0 in layout.shape[1:]:
        return layout.offset
    return layout.offset + index * layout.strides[0]


def dense(shape, strides):
    """Whether these are the strides of contiguous memory."""
    return 0 in shape or all(
        n == 1 or s == c for n, s, c in zip(shape, strides, contiguous_strides(shape))
    )


def scan(plan, node):
    """The lowering of a scan; False where only its oracle can run it."""
    sig, items = ScanSignature.of(node), plan.items(node)
    by_value = sig.steps.value is None
    if (
        not shapes_known(node.attrs["body"])
        or by_value
        and (
            sig.seqs
            or sig.count is not None
            or node.attrs["reverse"]
            or any(not sig.carries <= k < sig.out(0) and k != sig.executed for k in items)
        )
    ):
        return False
    ScanPlanner(plan, node).run()
    return True


def most_of(steps):
    """The most that a number of steps may be."""
    if steps.value is not None:
        return steps.value.item()
    both = [min(MOST, most_of(x)) for x in steps.inputs] if steps.op.name in BOUNDED else [MOST]
    return BOUNDED.get(steps.op.name, max)(both[-2:])


class ScanPlanner:
    """Plans one scan: operands to rows, the body to instructions, results to buffers."""

    def __init__(self, plan, node):
        self.plan, self.node = plan, node
        self.sig, self.body, self.attrs = ScanSignature.of(node), node.attrs["body"], node.attrs
        self.items = plan.items(node)
        by_value = self.sig.steps.value is None  # steps that an operand counts
        self.rows = most_of(self.sig.steps)
        self.counter = self.sig.steps if by_value else self.sig.count
        limit = self.attrs["limit"]
        self.most = self.rows if limit < 0 else smallest(self.rows, limit)
        self.fixed = self.counter is None and not self.attrs["until"]  # how many steps run
        self.moving = Moving(self.rows, limit, bool(self.attrs["reverse"]))
        self.given, self.ends = {}, []
        self.old, self.new = {}, {}  # (carry, tap) and carry: names of their rows
        self.stored = {}  # index of a body output: the layout of all its rows
        self.inits, self.invariant = {}, set()
        self.late = []  # (layout, target) to be copied after the scan

    def run(self):
        if not self.most:
            return self.skip()
        self.needed()
        self.bind_sequences()
        self.bind_others()
        self.bind_carries()
        self.bind_outs()
        inner = self.plan.inner(self.ends, self.given, self.invariant, self.free_states())
        instructions = inner.run()
        self.kept = {i for i in self.alive if self.state_uid(i) in inner.kept_states}
        self.framed = {
            i: inner.framed[self.state_uid(i)]
            for i in self.alive
            if self.state_uid(i) in inner.framed
        }
        for i in self.alive:
            self.settle(i, instructions)
        self.moving.states = [self.state(i) for i in self.alive if self.is_handed_on(i)]
        self.moving.parts, self.moving.whole = batch_parts(self, instructions)
        self.results()
        self.add(instructions)
        for copy in self.late:
            self.plan.copy(*copy)

    # ---- what is needed ---------------------------------------------------------------------

    def needed(self):
        """Outputs of the body that somebody reads, here or in a later step; inputs they read."""
        sig, outputs = self.sig, self.body.outputs
        self.wanted = {
            i
            for i in range(sig.carries)
            if sig.trace(i) in self.items or sig.final(i) in self.items
        }
        self.wanted |= {sig.carries + k for k in range(sig.outs) if sig.out(k) in self.items}
        if self.attrs["until"]:
            self.wanted.add(len(outputs) - 1)
        while True:
            self.read = {n.uid for n in toposort([outputs[k] for k in sorted(self.wanted)])}
            more = {
                i
                for i in range(sig.carries)
                if i not in self.wanted and any(self.reads(k) for k in sig.tap_inputs(i).values())
            }
            if not more:
                break
            self.wanted |= more
        self.alive = [i for i in range(sig.carries) if i in self.wanted and not self.same(i)]

    def reads(self, index):
        return self.body.inputs[index].uid in self.read

    def same(self, i):
        """Whether carry `i` never changes."""
        taps = self.sig.tap_inputs(i)
        return tuple(taps) == (-1,) and self.body.outputs[i] is self.body.inputs[taps[-1]]

    # ---- operands ---------------------------------------------------------------------------

    def name(self):
        return self.plan.row()

    def give(self, index, layout):
        self.given[self.body.inputs[index]] = layout

    def moved(self, move, shape, strides, dtype):
        """The layout of a row whose address changes by this Move."""
        name = self.name()
        self.moving.moves[name] = move
        return Layout(name, tuple(shape), tuple(strides), dtype)

    def bind_sequences(self):
        for k, (head, rows) in enumerate(self.sig.seqs):
            if not self.reads(k):
                continue
            lay = self.plan.layout(rows)
            size = itemsize(lay.dtype)
            if head is None:
                if not lay.strides[0]:
                    self.give(k, row_of(lay, 0))
                    continue
                move = Move(base_of(lay), lay.strides[0] * size)
            else:
                first, lag = self.plan.layout(head), self.attrs["seqs"][k]
                if first.strides[1:] != lay.strides[1:]:
                    first, lay = self.contiguous(first), self.contiguous(lay)
                move = Move(
                    base_of(first),
                    first.strides[0] * size,
                    None,
                    lag,
                    "tt",
                    base_of(lay),
                    lay.strides[0] * size,
                    None,
                    lag,
                )
            self.give(k, self.moved(move, lay.shape[1:], lay.strides[1:], lay.dtype))

    def contiguous(self, layout):
        """The layout, or a copy, of which each row is contiguous."""
        if dense(layout.shape[1:], layout.strides[1:]):
            strides = (layout.strides[0], *contiguous_strides(layout.shape[1:]))
            return replace(layout, strides=strides)
        return self.plan.copy(layout)

    def bind_others(self):
        for k, x in enumerate(self.sig.others, self.sig.first_other):
            if self.reads(k):
                lay = self.plan.layout(x)
                self.give(k, lay)
                self.invariant.add(lay.buffer)

    # ---- states -----------------------------------------------------------------------------

    def bind_carries(self):
        for i, init in enumerate(self.sig.inits):
            if i not in self.wanted:
                continue
            first = self.inits[i] = self.plan.layout(init)
            shape, strides = first.shape[1:], contiguous_strides(first.shape[1:])
            if self.same(i):
                first = self.inits[i] = self.contiguous(first)
                last = row_of(first, first.shape[0] - 1)
                self.give(self.sig.tap_inputs(i)[-1], last)
                if self.sig.trace(i) in self.items:
                    self.store(i, [self.sig.trace(i)])
                continue
            for tap, index in self.sig.tap_inputs(i).items():
                if self.reads(index):
                    self.old[i, tap] = self.name()
                    self.give(index, Layout(self.old[i, tap], shape, strides, first.dtype))
            copies = [k for k in self.outs() if self.output(k) is self.body.outputs[i]]
            if self.sig.trace(i) in self.items or copies:
                self.store(i, [self.sig.trace(i), *map(self.sig.out, copies)])
            else:
                self.new[i] = self.name()
                self.ends.append((self.new[i], self.body.outputs[i]))

    def state_uid(self, i):
        """The uid of the body's input that is the last value of state `i`, None where none is."""
        index = self.sig.tap_inputs(i).get(-1)
        return None if index is None else self.body.inputs[index].uid

    def is_handed_on(self, i):
        """Whether state `i` is made anew in each step and read in the next one alone."""
        return self.attrs["taps"][i] == (-1,) and i not in self.kept and i not in self.framed

    def state(self, i):
        init = self.inits[i]
        count = product(init.shape[1:])
        return HandedOn(self.old.get((i, -1)), self.new[i], init.dtype, count)

    def free_states(self):
        """{uid of the body's input: buffer of its new value} of states that no results show."""
        return {
            self.state_uid(i): self.new[i]
            for i in self.alive
            if i not in self.stored and self.attrs["taps"][i] == (-1,) and (i, -1) in self.old
        }

    def outs(self):
        return [k for k in range(self.sig.outs) if self.sig.carries + k in self.wanted]

    def output(self, k):
        return self.body.outputs[self.sig.carries + k]

    def store(self, which, items):
        """Keep all rows of an output of the body; `items` are the results that show them."""
        used = [self.items[k] for k in items if k in self.items]
        own = [n for n in used if self.plan.own_buffer(self.node, n.attrs["index"])]
        shown = (own or used)[0]
        rows = self.plan.target(self.node, shown.attrs["index"])
        self.stored[which] = rows
        self.new[which] = self.name()
        self.moving.moves[self.new[which]] = Move(base_of(rows), row_bytes(rows))
        self.ends.append((self.new[which], self.body.outputs[which]))
        for n in used:
            self.show(n, rows)

    def show(self, item, layout):
        """Let a result lie at `layout`; copied after the scan where it has a place of its own."""
        self.plan.lay(item, layout)
        buffer = self.plan.own_buffer(self.node, item.attrs["index"])
        if buffer is not None and buffer != layout.buffer:
            self.late.append((layout, fresh(buffer, layout.shape, layout.dtype)))

    def bind_outs(self):
        carried = [self.body.outputs[i] for i in self.alive]
        seen = {}
        for k in self.outs():
            if self.output(k) not in carried:
                seen.setdefault(self.output(k), []).append(k)
        for ks in seen.values():
            self.store(self.sig.carries + ks[0], [self.sig.out(k) for k in ks])
        if self.attrs["until"]:
            flag = self.plan.temp((), "bool")
            self.moving.flag = base_of(flag)
            self.ends.append((flag.buffer, self.body.outputs[-1]))

    def settle(self, i, instructions):
        """Where the rows of carry `i` are written and read, now that its instructions are known."""
        first, moves = self.inits[i], self.moving.moves
        if i in self.kept:
            return self.keep(i, first)
        first = self.inits[i] = self.contiguous(first)
        if self.given_up(i):  # steps read it while they write its end
            first = self.inits[i] = self.plan.copy(first)
        size, length = row_bytes(first), first.shape[0]
        start = {tap: base_of(first, length + tap) for tap in self.attrs["taps"][i]}
        stride = first.strides[0] * itemsize(first.dtype)
        rows = self.stored.get(i)
        ring = None
        if rows is None:
            apart = i in self.framed or not self.overwrites(i, instructions)
            ring = 1 << length.bit_length() if apart else 1
            rows = self.ring(i, first, ring)
            if i in self.framed:
                self.frame(i, first, rows)
        for tap in self.attrs["taps"][i]:
            if (i, tap) not in self.old:
                continue
            move = Move(start[tap], stride, None, -tap, "jj", base_of(rows), size, ring, -tap)
            if ring is None and self.moving.reverse:
                move = replace(move, by="jt", shift=-1)
            moves[self.old[i, tap]] = move

    def keep(self, i, first):
        """State `i` stays where it is: only parts of it change, which are stored in place."""
        if self.given_up(i):
            first = self.inits[i] = self.contiguous(first)
            self.moving.moves[self.new[i]] = base_of(first, first.shape[0] - 1)
            return
        rows = self.ring(i, first, 1)
        self.plan.copy(row_of(first, first.shape[0] - 1), row_of(rows, 0))
        self.inits[i] = rows  # what the last state is where there is no step

    def given_up(self, i):
        """Whether the first value of state `i` lies in memory that the last one takes over."""
        final = self.items.get(self.sig.final(i))
        return final is not None and self.plan.changed(final) is not None

    def frame(self, i, first, rows):
        """Put what no step changes of state `i` into all places where it comes to lie."""
        last = row_of(first, first.shape[0] - 1)
        targets = [row_of(rows, k) for k in range(rows.shape[0])]
        move = self.moving.moves[self.new[i]]
        if move.b is not None:
            targets.append(fresh(move.b[0], last.shape, last.dtype))
        for target in targets:
            copy_around(self.plan, self.framed[i], last, target, True)

    def overwrites(self, i, instructions):
        """Whether the new state may be written over the old one: nobody reads that any more."""
        if self.attrs["taps"][i] != (-1,):
            return False
        old, new = self.old.get((i, -1)), self.new[i]
        seen = [touched(instr) for instr in instructions]
        writers = [k for k, (_, writes) in enumerate(seen) if new in writes]
        readers = [k for k, (reads, _) in enumerate(seen) if old in reads]
        if len(writers) != 1 or (readers and readers[-1] > writers[0]):
            return False
        return writers[0] not in readers or (new, old) in instructions[writers[0]].inplace

    def ring(self, i, first, ring):
        """The layout of the rows of a state nobody keeps; its last row is the result's."""
        final = self.items.get(self.sig.final(i))
        buffer = None if final is None else self.plan.own_buffer(self.node, self.sig.final(i))
        shape = first.shape[1:]
        if buffer is not None and ring == 1:
            rows = fresh(buffer, (1, *shape), first.dtype)
        else:
            rows = self.plan.temp((ring, *shape), first.dtype)
        move = Move(base_of(rows), row_bytes(rows), ring, self.rows)
        if ring == 1:
            move = base_of(rows)
        elif buffer is not None and self.fixed:  # the last step writes the result
            move = replace(move, until=self.most - 1, b=(buffer, 0))
        self.moving.moves[self.new[i]] = move
        return rows

    # ---- results ----------------------------------------------------------------------------

    def results(self):
        """Where last states and the count of steps lie."""
        sig, moving = self.sig, self.moving
        for i in range(sig.carries):
            final = self.items.get(sig.final(i))
            if final is None:
                continue
            first = self.inits[i]
            last = row_of(first, first.shape[0] - 1)
            if self.same(i) or i in self.kept and self.given_up(i):
                self.show(final, last)
            elif self.fixed:
                self.fixed_final(i, final)
            else:
                made = self.plan.target(self.node, sig.final(i))
                self.plan.lay(final, made)
                moving.finals.append((base_of(made), self.new[i], base_of(last), row_bytes(first)))
        done = self.items.get(sig.executed)
        if done is not None:
            made = self.plan.target(self.node, sig.executed)
            self.plan.lay(done, made)
            moving.executed = base_of(made)
        if self.counter is not None:
            moving.count = base_of(self.plan.layout(self.counter))
        if not self.fixed or self.most < self.rows:
            moving.traces = [(base_of(rows), row_bytes(rows)) for rows in self.stored.values()]

    def fixed_final(self, i, final):
        rows = self.stored.get(i)
        if rows is not None:
            last = self.rows - self.most if self.moving.reverse else self.most - 1
            return self.show(final, row_of(rows, last))
        move = self.moving.moves[self.new[i]]
        shape, dtype = self.inits[i].shape[1:], self.inits[i].dtype
        if not isinstance(move, Move):
            base = move
        elif move.b is not None:
            base = move.b
        else:
            base = move.a[0], move.a[1] + (self.most - 1) % move.a_ring * move.a_stride
        at = base[1] // itemsize(dtype)
        self.plan.lay(final, Layout(base[0], shape, contiguous_strides(shape), dtype, at))

    def add(self, instructions):
        """The scan instruction itself."""
        moving, stored = self.moving, [rows.buffer for rows in self.stored.values()]
        many = self.most if self.sig.steps.value is not None else "n"
        many = many.expression() if isinstance(many, Size) else many
        name = f"{label(self.attrs).removeprefix('the ')} of {many} steps"
        bases = [
            base
            for move in moving.moves.values()
            for base in (move.bases if isinstance(move, Move) else [move])
        ]
        bases += [base for base in (moving.count, moving.flag, moving.executed) if base]
        bases += [base for to, _, first, _ in moving.finals for base in (to, first)]
        buffers = list(dict.fromkeys(base[0] for base in bases))
        steps = value_of(self.most)
        ns = float(TYPICAL if steps >= MOST else steps)
        ns *= STEP_NS + sum(s.ns for s in instructions)
        self.plan.add(
            Scan(
                name=name,
                pointers=[],
                ns=ns,
                reads=buffers,
                writes=buffers + stored,
                node=self.node,
                nodes=[self.node],
                body=instructions,
                moving=moving,
            )
        )

    def skip(self):
        """No step runs."""
        plan, sig, node = self.plan, self.sig, self.node
        for index, found in self.items.items():
            made = plan.target(node, index)
            plan.lay(found, made)
            if 0 in made.shape:
                continue
            if sig.final(0) <= index < sig.out(0):
                first = plan.layout(sig.inits[index - sig.carries])
                source = row_of(first, first.shape[0] - 1)
            else:
                source = spread(plan.constant(np.zeros((), made.dtype)), made.shape)
            plan.copy(source, made)


# ---- branches ---------------------------------------------------------------------------------


def ifelse(plan, node):
    """The lowering of a branch: instructions of both sides, of which one runs."""
    sides = [node.attrs["then"], node.attrs["other"]]
    if not all(map(shapes_known, sides)):
        return False
    condition, *captured = node.inputs
    pointer = plan.layout(condition).pointer
    places = {
        k: plan.layout(x) for k, x in enumerate(captured) if any(k in side.used for side in sides)
    }
    made = {}
    for index, found in plan.items(node).items():
        changed = plan.changed(found)
        made[index] = plan.target(node, index) if changed is None else plan.layout(changed)
        plan.lay(found, made[index])
    inside = {k for k, found in plan.items(node).items() if plan.changed(found) is not None}
    halves = [half(plan, side, places, made, inside) for side in sides]
    ns = max(sum(s.ns for s in found) for found in halves)
    plan.add(
        Branch(
            name="if",
            pointers=[pointer],
            ns=ns,
            reads=[pointer[0]],
            node=node,
            nodes=[node],
            then=halves[0],
            other=halves[1],
        )
    )
    return True


def half(plan, side, places, made, inside):
    """The instructions of one side of a branch. made: {index of a result: its layout}; inside:
    indices of those that are operands changed in place."""
    given = {side.inputs[k]: places[k] for k in side.used if k in places}
    results = {index: side.outputs[index] for index in made}
    for index in inside & results.keys():
        if results[index] in side.inputs:  # as it was
            del results[index]
    states = {
        side.inputs[changed_input(side, k)].uid: made[k].buffer for k in inside & results.keys()
    }
    ends = [(made[index].buffer, root) for index, root in results.items()]
    inner = plan.inner(ends, given, states=states)
    instructions = inner.run()
    if set(states) <= inner.kept_states:
        return instructions
    ends = {index: plan.temp(root.shape, root.dtype) for index, root in results.items()}
    inner = plan.inner([(ends[index].buffer, root) for index, root in results.items()], given)
    instructions = inner.run()
    for index, found in ends.items():
        inner.plan.copy(found, made[index])
    return instructions


register_rules("lowering", {"scan": scan, "ifelse": ifelse})
