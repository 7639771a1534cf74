"""From a concrete graph to the instructions of a C Plan: in which order, what shares memory.

Fuses, lowers every group and every other node, lets the next loop run on rows of what was just made
where it may, and leaves what has no C of its own to its oracle. What lowerings may do is in
context.py. Shapes and strides are numbers here; kernels are not compiled here, and intermediates
get their place in memory.py.
"""

import copy
from dataclasses import replace

from .. import compiler
from ..base import dtypes
from ..base.errors import CompilerMissing
from ..codegen.laid import SHORT
from ..codegen.layout import fresh, view
from ..codegen.lower import Lowering, loaded
from ..graph.node import make
from ..graph.op import having, rules
from ..graph.shapes import product
from ..graph.sizes import bare, sizes_in, value_of
from ..graph.walk import consumers, rebuild
from ..ops.scan import is_scan, without_rows
from ..schedule.chunks import in_chunks
from ..schedule.follow import COPIED
from ..schedule.fuse import fuse
from ..schedule.gathers import gather_of, is_gather
from ..schedule.order import Order, units_of
from . import bands, epilogue, gemm, native, scan  # noqa: F401  (gemm, scan: their lowerings)
from .context import Context
from .instructions import KernelCall, PyCall, RuntimeCall
from .lowerings.movement import lies_in, narrow
from .orders import Orders
from .partial import PartialUpdates, partial_updates
from .stores import Stores, added_first, key_of
from .template import OracleCall

AGAIN, LEAST_AGAIN = 16, 1024  # how often a loop meets what is copied for it, and how much in all
RESHAPES, LOWERINGS = having("reshapes"), rules("lowering")


def ready(roots):
    """`roots` as loops are made of them: long reductions in two steps, indices not widened, sums
    that are stored where an operand of them lies as sums and stores."""
    return rebuild(roots, step=lambda n: narrow(added_first(in_chunks(n))))


class Binder:
    """Builds the instructions for concrete `outputs` and `updates` (Nodes).

    These are as `ready` gives them. inputs, cells: as Context has them; refused: keys of kernels
    whose loops oracles run.
    variables: those of the updates, where these may write parts of them in place; c_order: whether
    all results lie in C order; homes: {number of an output: the input, whose memory it may have}.
    """

    def __init__(
        self,
        outputs,
        updates,
        inputs,
        cells,
        refused=frozenset(),
        variables=(),
        c_order=False,
        homes=(),
    ):
        self.refused, self.variables, self.c_order = refused, variables, c_order
        self.built = {}  # loops lowered so far: see Lowering
        self.schedules = []  # of this graph and of all bodies inside of it
        self.bands = True  # whether sums may run on rows of loops
        outs = [(("out", i), n) for i, n in enumerate(outputs)]
        nexts = [(("next", i), n) for i, n in enumerate(updates)]
        self.begin(outs + nexts, Context(inputs, cells, self.body))
        self.take_over(dict(homes))

    def begin(self, ends, plan):
        """Take up a graph: `ends` are (buffer, the node whose value it shall hold)."""
        self.ends, self.plan, roots = ends, plan, [root for _, root in ends]
        self.inside = plan.outer is not None
        self.schedule = fuse(roots, compiler.ready_made())
        self.schedules.append(self.schedule)
        self.order, self.home = self.schedule
        plan.planes = native.in_planes(self.order, roots)
        plan.orders = self.find_orders()
        self.partial = partial_updates(self.order, ends, () if self.inside else self.variables)
        self.states = {}  # of a body: see Context.inner
        self.apart = {}  # {uid of what is read in steps: a copy without}
        for node in self.order:
            if node.op.name == "item":
                plan.used.setdefault(node.inputs[0].uid, {})[node.attrs["index"]] = node

    def take_over(self, homes):
        """Let outputs lie where the inputs do that they are the last value of: these are states."""
        leaves = {i: n for n in self.order for i, *_ in [self.plan.inputs.get(n.uid, (None,))]}
        natural = {
            k: i for k, i in homes.items() if self.plan.orders.result(self.ends[k][1]) is None
        }
        self.homes, self.moved = natural, {}
        self.plan.changing = {("out", k) for k in natural}
        for k, i in natural.items():
            if i in leaves:
                self.plan.lies(leaves[i])
                self.states[leaves[i].uid] = ("out", k)

    def find_orders(self):
        """The Orders of the graph; in a body all lies in C order but for planes."""
        inputs = {} if self.inside else self.plan.inputs
        strides = {uid: strides for uid, (_, strides, _) in inputs.items()}
        planes = native.plane_orders(self.order, self.plan.planes)
        fixed = self.c_order or self.inside
        return Orders(self.order, self.ends, strides, self.home, planes, fixed, self.inside)

    def body(self, plan, ends, given, invariant, states):
        """The Binder of a body of the graph that `plan` is of: see Context.inner."""
        made = copy.copy(self)
        roots = ready([n for _, n in ends])
        inner = Context(plan.inputs, plan.cells, made.body, plan, invariant)
        made.begin([(buffer, root) for (buffer, _), root in zip(ends, roots)], inner)
        for node, layout in given.items():
            inner.lay(node, layout)
        made.states = dict(states)
        return made

    # ---- what shares memory -------------------------------------------------------------------

    def assign_roots(self):
        """Give each root that a unit produces its own memory; others are copied at the end."""
        self.copies = []
        for buffer, root in self.ends:
            node = self.plan.orders.source(root)
            key, assigned = key_of(node), self.plan.assigned
            if node.op.kind not in ("leaf", "movement") and key not in assigned:
                assigned[key] = buffer
            else:
                self.copies.append((buffer, root))

    def assign_parts(self):
        """Let loop nests write into their part of a concatenation, where nobody else reads it."""
        users = consumers(self.order)
        kept = {root.uid for _, root in self.ends}
        for node in self.order:
            if node.op.name == "complex_of":
                for k, x in enumerate(node.inputs):
                    alone = users[x.uid] == [node] and node.inputs.count(x) == 1
                    if x.uid in self.home and x.uid not in kept and alone:
                        self.plan.parts[x.uid] = (node, k, ())
                continue
            if node.op.name != "concatenate" or dtypes.is_complex(node.dtype):
                continue
            axis, start = node.attrs["axis"], 0
            for x in node.inputs:
                stop = start + x.shape[axis]
                part, lacks = (x.inputs[0], x.attrs["axes"]) if x.op.name == "expand" else (x, ())
                if (
                    part.uid in self.home
                    and not kept & {x.uid, part.uid}
                    and users[x.uid] == [node]
                    and users[part.uid] == ([node] if part is x else [x])
                    and node.inputs.count(x) == 1
                ):
                    slices = [(None, None, 1)] * node.ndim
                    slices[axis] = (start, stop, 1)
                    self.plan.parts[part.uid] = (node, slices, lacks)
                start = stop

    def assign_stores(self, units):
        """Let stores write where their first operand lies, if that is its end."""
        plan, found = self.plan, Stores(self, units)
        plan.stores, plan.framed = found.run(), found.framed
        self.kept_states, self.framed = found.kept_states, found.framed
        for uid in self.kept_states:
            plan.layouts[uid] = replace(plan.layouts[uid], buffer=self.states[uid])
            if not self.inside:
                self.moved[self.states[uid][1]] = plan.inputs[uid][0]
        made = {node.uid: key_of(node) for node in self.order if node.uid in plan.stores}
        for uid, x in reversed(list(plan.stores.items())):
            if made[uid] in plan.assigned:
                plan.assigned.setdefault(key_of(x), plan.assigned[made[uid]])

    # ---- instructions -------------------------------------------------------------------------

    def emit(self, unit):
        """The instructions of a unit, which are the last ones then."""
        before = len(self.plan.instructions)
        if unit.group is None:
            self.emit_node(unit.nodes[0])
        else:
            self.emit_group(unit)
        return self.plan.instructions[before:]

    def emit_node(self, node):
        lower = LOWERINGS.get(node.op.name)
        if lower is None or not lower(self.plan, node):
            self.emit_call(node)
        for item in self.plan.items(node).values():
            self.bring_back(item)

    def bring_back(self, item):
        """Let a state that was to be changed in place, and was not, lie there all the same."""
        changed = self.plan.changed(item)
        if changed is not None:
            place, made = self.plan.layout(changed), self.plan.layout(item)
            if not lies_in(made, place):
                self.plan.copy(made, place)
            self.plan.lay(item, place)

    def emit_group(self, unit):
        """The kernel of a loop nest: what it reads is laid out, then what it makes."""
        self.check_indices(unit)
        read = {x.uid: self.near(x, unit.group) for x in loaded(unit.group)}
        makes = [n for n in unit.nodes if n.uid in self.stored and self.makes(unit, n)]
        stores = [(node, self.plan.place(node)) for node in makes]
        launch = Lowering(unit.group, read, stores, self.built).run()
        if self.refused and launch.kernel.key() in self.refused:
            self.emit_calls(unit.nodes, {node.uid for node in makes})
        else:
            self.plan.launch(launch, unit.nodes)

    def makes(self, unit, node):
        """Whether a loop nest is the one that stores a node, which others may compute again."""
        return self.home[node.uid][0] is unit.group

    def near(self, node, group):
        """Where a loop reads a tensor: in a copy if it walks it in steps, or in short rows that lie
        apart, again and again.

        Of a table of boxes (n, 4) a loop reads each column in steps of four: overlaps of 1,000
        boxes with 800 take 0.48 ms so, 0.23 where the columns are copied first. The corners of
        1,000 boxes, `boxes[:, None, 2:]`, beside those of 50 take 0.30 ms as pairs that lie four
        apart, 0.02 where they are copied and walked as one row.
        """
        found = self.plan.lies(node)
        last, step = [value_of(n[-1]) if n else 1 for n in (found.shape, found.strides)]
        if group.held or last == 1 or abs(step) < 2 and not apart(node, found, group):
            return found
        size = value_of(product(found.shape))
        if not LEAST_AGAIN <= size * AGAIN <= value_of(product(group.domain)):
            return found
        if node.uid not in self.apart:
            self.apart[node.uid] = self.plan.compact(found)
        return self.apart[node.uid]

    def check_indices(self, unit):
        """Check the indices at which a loop reads, each array once for each size it picks from."""
        for node in unit.nodes:
            for operand, _, axis, width in gather_of(node).picks if is_gather(node) else ():
                index, size = node.inputs[operand], node.inputs[0].shape[axis] - width + 1
                self.plan.check(index, self.plan.layout(index), size, node)

    def emit_calls(self, nodes, stored):
        """A loop whose kernel cannot be had: the oracles of its nodes one after the other.

        stored: uids of those that are laid out already; what others compute for it again it
        computes again too.
        """
        if any(node.op.oracle is None for node in nodes):
            raise CompilerMissing("part of a loop whose kernel is missing has no oracle")
        for node in nodes:
            if node.uid not in stored:
                self.plan.lay(node, self.plan.temp(node.shape, node.dtype))
            self.emit_call(node)

    def emit_call(self, node):
        """An op without C: its oracle, called with views of the operands."""
        plan = self.plan
        run = without_rows(node, plan.items(node)) if is_scan(node) else node
        ins = [plan.layout(i) for i in node.inputs]
        laid = node.outs is None and plan.layouts.get(node.uid)
        outs = [laid] if laid else plan.places(node, run.outs)
        size = sum(value_of(product(lay.shape)) for lay in ins + outs)
        plan.add(
            PyCall(
                name=node.op.name,
                pointers=[lay.pointer for lay in ins + outs],
                ns=2000 + size,
                reads=[lay.buffer for lay in ins],
                writes=[lay.buffer for lay in outs],
                call=OracleCall(bare_node(run)),
                ins=ins,
                outs=outs,
                node=node,
                nodes=[node],
            )
        )

    def run(self):
        """All instructions in order; buffers named, arena not yet placed."""
        plan = self.plan
        units, self.stored = units_of(self.schedule, [root for _, root in self.ends])
        last_ones = PartialUpdates(plan, self.partial)
        self.assign_roots()
        self.assign_parts()
        self.assign_stores(units)
        order = Order(units)
        while order.ready:
            unit = order.first()
            made = [] if unit.nodes[0].uid in last_ones.nodes else self.emit(unit)
            order.finish(unit)
            self.follow(unit, made, order)
        assert order.empty(), "the fused graph has a cycle"
        for buffer, root in self.copies:
            axes = plan.orders.result(root)
            if root.op.name == "reshape" and root.uid not in plan.layouts:
                root, axes = self.uncopied(root), None
            plan.copy(plan.copied_from(root), fresh(buffer, root.shape, root.dtype, axes))
        last_ones.emit({i: ("cell", plan.cells[self.variables[i].uid]) for i in self.partial})
        return plan.instructions

    def uncopied(self, node):
        """What a reshape that needs a copy reads: the copy may as well be the result."""
        x = node.inputs[0]
        return node if view(node, self.plan.lies(x)) else x

    def follow(self, unit, made, order):
        """Run on rows of what was just made the loop that the order has for that, if it may."""
        first = made[-1] if made else None
        of_product = isinstance(first, RuntimeCall) and bool(first.rows)
        if of_product:
            found, ways = order.on_product(unit, self.schedule), epilogue
        elif isinstance(first, KernelCall) and self.bands and not self.inside:
            found, ways = order.on_rows(unit), bands
        else:
            return
        if found is None:
            return
        made = self.emit(found)
        order.finish(found)
        if not made or not isinstance(made[-1], KernelCall):
            return
        loop, alone = made[-1], len(made) == 1
        reason = None if alone else COPIED(unit.nodes[0])
        if of_product:  # what the graph says comes first
            reason = self.schedule.on_rows(unit.nodes[0], found.group) or reason
        reason = reason or ways.why_apart(first, loop, self.refused)
        if of_product:
            order.settle(unit, found, reason, self.schedule)
        elif reason is not None and alone:
            self.schedule.note_band(unit.group, found.group, reason)
        if reason is None:
            self.plan.instructions[-2:] = [ways.joined(first, loop)]
        else:
            self.follow(found, made, order)


def apart(node, layout, group):
    """Whether a loop over elements meets short rows of a tensor one after the other that do not lie
    so: `codegen.laid` has no way to walk them as one row."""
    wide = [a for a, n in enumerate(group.domain) if value_of(n) != 1]
    if group.reduced or len(wide) < 3 or value_of(group.domain[wide[-1]]) >= SHORT:
        return False
    for reads in group.reads.values():
        for amap in (amap for operand, amap, *_ in reads if operand is node):
            step = dict.fromkeys(wide, 0)
            step.update((a, value_of(s)) for a, s in zip(amap, layout.strides) if a in step)
            far, near = step[wide[-2]], step[wide[-1]]
            if near == 1 and far not in (0, value_of(group.domain[wide[-1]])):
                return True
    return False


def bare_node(node):
    """`node` for its oracle, which reads plain ints in attributes."""
    if not any(True for _ in sizes_in(node.attrs)):
        return node
    return make(node.op, node.inputs, {key: bare(x) for key, x in node.attrs.items()})
