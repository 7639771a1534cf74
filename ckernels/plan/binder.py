"""From a concrete graph to the instructions of a C Plan: order, buffers, what each one does.

Fuses, lowers every group, turns matrix products into gemm instructions (with the next loop as
epilogue where it fits), scans and branches into instructions with others inside, everything
without C of its own into a call of its oracle. Shapes and strides are numbers here; kernels are
not compiled here, and intermediates get their place in memory.py.
"""

import copy
import heapq
import itertools
from dataclasses import replace

from .. import compiler
from ..base import dtypes
from ..base.errors import CompilerMissing
from ..codegen.dims import LaunchDims
from ..codegen.layout import as_pairs, contiguous_strides, fresh, part_of_pairs, view
from ..codegen.lower import Lowering
from ..graph.folding import of_sizes
from ..graph.node import make
from ..graph.op import having, rules
from ..graph.shapes import product
from ..graph.sizes import Size, bare, greatest, sizes_in, value_of
from ..graph.walk import consumers, rebuild
from ..schedule.cost import least_units
from ..schedule.fuse import fuse, fusible
from ..schedule.group import Group
from ..schedule.split import split
from . import native, scan  # noqa: F401  (scan: its lowerings)
from .gemm import Products
from .instructions import GEMM, KERNEL, PYCALL, Instruction, record_of, words
from .lowerings.movement import lies_in, narrow, part, without
from .orders import Orders
from .partial import PartialUpdates, partial_updates
from .records import GemmDims, WindowDims
from .stores import Stores, added_first, key_of
from .template import OracleCall, SizedConstant

JOINED = ("concatenate", "set_slice", "complex_of")  # others may write parts of them before
RESHAPES, LOWERINGS = having("reshapes"), rules("lowering")


class Unit:
    """A group, or a single node, waiting to be scheduled."""

    def __init__(self, nodes, group=None):
        self.nodes, self.group = nodes, group
        self.needs, self.reads = set(), []  # reads: nodes (views included) whose memory it reads
        self.waits, self.done = 0, False  # for how many of them; whether it is emitted


ENDS = 3  # units from the last one of a path: a product, Adam's two means, the new weights


class Queue:
    """Units in order: the first of those whose producers are all done comes next.

    Before them all come the ends of paths, nearest to the end first: they write results of the
    call, which need no memory of the arena, and read what may then be given to others (gradients of
    weights and updates, which the walk over a graph meets after the way back through all layers).
    """

    def __init__(self, units):
        self.users = {unit: [] for unit in units}
        for unit in units:
            unit.waits = len(unit.needs)
            for producer in unit.needs:
                self.users[producer].append(unit)
        left = {}  # how many units follow a unit on the longest path
        for unit in reversed(units):
            left[unit] = 1 + max((left.get(user, ENDS) for user in self.users[unit]), default=-1)
        self.place = {unit: (min(left[unit], ENDS + 1), k) for k, unit in enumerate(units)}
        self.units = units
        self.ready = [self.place[unit] for unit in units if not unit.waits]
        heapq.heapify(self.ready)

    def first(self):
        return self.units[self.ready[0][1]]

    def finish(self, unit):
        """`unit` has its instructions: what waited for it alone is ready."""
        unit.done = True
        for user in self.users[unit]:
            user.waits -= 1
            if not user.waits:
                heapq.heappush(self.ready, self.place[user])
        while self.ready and self.units[self.ready[0][1]].done:
            heapq.heappop(self.ready)

    def empty(self):
        return all(unit.done for unit in self.units)


def ready(roots):
    """`roots` as loops are made of them: long reductions in two steps, indices not widened, sums
    that are stored where an operand of them lies as sums and stores."""
    return rebuild(roots, step=lambda n: narrow(added_first(split(n))))


class Binder(Products):
    """Builds the instructions for concrete `outputs` and `updates` (Nodes).

    These are as `ready` gives them. inputs: {placeholder uid: (index, strides in elements or
    None)}; cells: {variable uid: index}; refused: keys of kernels whose loops oracles run.
    variables: those of the updates, where these may write parts of them in place; c_order: whether
    all results lie in C order.
    """

    def __init__(
        self, outputs, updates, inputs, cells, refused=frozenset(), variables=(), c_order=False
    ):
        self.inputs, self.cells, self.refused = inputs, cells, refused
        self.constants, self.sizes, self.names = [], {}, itertools.count(1)
        self.outer, self.steady = None, frozenset()
        self.built = {}  # loops lowered so far: see Lowering
        self.schedules = []  # of this graph and of all bodies inside of it
        self.variables, self.c_order = variables, c_order
        self.begin(
            [
                *((("out", i), n) for i, n in enumerate(outputs)),
                *((("next", i), n) for i, n in enumerate(updates)),
            ]
        )

    def begin(self, ends):
        """Take up a graph: `ends` are (buffer, the node whose value it shall hold)."""
        self.ends, roots = ends, [root for _, root in ends]
        self.schedules.append(fuse(roots, compiler.ready_made()))
        self.order, self.home = self.schedules[-1]
        self.planes = native.in_planes(self.order, roots)
        self.orders = self.find_orders()
        self.partial = partial_updates(self.order, ends, () if self.outer else self.variables)
        self.instructions, self.layouts, self.assigned, self.copied = [], {}, {}, {}
        self.parts = {}  # {uid: (a concatenation or a store, where in it, axes of 1 it lacks)}
        self.stores = {}  # {uid of a store in place: what it changes}
        self.states, self.kept_states, self.framed = {}, set(), {}  # of a body: see `inner`
        self.items = {}  # {uid of a node: {index: item of it that is used}}
        for node in self.order:
            if node.op.name == "item":
                self.items.setdefault(node.inputs[0].uid, {})[node.attrs["index"]] = node

    def find_orders(self):
        """The Orders of the graph; in a body all lies in C order but for planes."""
        strides = {} if self.outer else {uid: strides for uid, (_, strides) in self.inputs.items()}
        planes = native.plane_orders(self.order, self.planes)
        inside = self.outer is not None
        return Orders(
            self.order, self.ends, strides, self.home, planes, self.c_order or inside, inside
        )

    def inner(self, ends, given, steady=(), states=()):
        """The Binder of a body: it has the same buffers; given: {node: where it lies}; steady:
        buffers that a scan around it only reads; states: {uid of a node: buffer of an end} of
        states that may stay where they are; those that do are in `kept_states`, by uid. framed:
        {uid of a state: a store} where nothing around that changes."""
        made = copy.copy(self)
        made.outer, made.steady = self, set(steady)
        made.begin(list(zip([buffer for buffer, _ in ends], ready([n for _, n in ends]))))
        made.layouts.update((node.uid, layout) for node, layout in given.items())
        made.states = dict(states)
        return made

    # ---- what must lie in memory --------------------------------------------------------------

    def reads_of(self, unit):
        """Nodes (views included) whose memory a unit reads."""
        if unit.group is None:
            return list(unit.nodes[0].inputs)
        maps, reads = unit.group.maps, unit.group.reads
        return [
            operand
            for node in unit.nodes
            for operand, _, base, _ in reads[node.uid]
            if base.uid not in maps
        ]

    def units(self):
        """All units, with the producers each one needs."""
        made, units = {}, []
        for node in self.order:
            if node.op.kind in ("leaf", "movement") or node.op.name == "item":
                continue
            if node.uid in self.home:
                for group in self.home[node.uid]:
                    if id(group) not in made:
                        made[id(group)] = Unit(group.nodes, group)
                        units.append(made[id(group)])
            else:
                made[node.uid] = Unit([node])
                units.append(made[node.uid])
        self.stored = set()
        for unit in units:
            unit.reads = self.reads_of(unit)
            for read in unit.reads:
                self.mark(read)
        for _, root in self.ends:
            self.mark(root)
        producer = {}
        for unit in units:
            for node in unit.nodes:
                if unit.group is None or self.home[node.uid][0] is unit.group:
                    producer[node.uid] = unit
        for unit in units:
            for read in unit.reads:
                base = self.base(read)
                if base.uid in producer:
                    unit.needs.add(producer[base.uid])
            unit.needs.discard(unit)
        return [u for u in units if self.useful(u)]

    def useful(self, unit):
        return unit.group is None or any(
            n.uid in self.stored and self.home[n.uid][0] is unit.group for n in unit.nodes
        )

    @staticmethod
    def base(node):
        """The node whose memory a view shows."""
        while node.op.kind == "movement" or node.op.name == "item":
            node = node.inputs[0]
        return node

    def mark(self, node):
        base = self.base(node)
        if fusible(base):
            self.stored.add(base.uid)

    # ---- buffers ------------------------------------------------------------------------------

    def temp(self, shape, dtype, order=None):
        name = ("tmp", next(self.names))
        self.sizes[name] = greatest(1, product(shape)) * dtypes.ITEMSIZE[dtype]
        return fresh(name, shape, dtype, order)

    def target(self, node, index=None):
        """A dense layout for a new result: an output or next-value buffer where it is one.

        Its axes are in C order but for what `orders` says. What is only computed to be joined with
        others is a part of the whole, and a store in place lies where its first operand does.
        """
        key = node.uid if index is None else (node.uid, index)
        if key in self.stores:
            return self.layout(self.stores[key])
        if key in self.parts:
            whole, slices, lacks = self.parts[key]
            if whole.op.name == "complex_of":
                return part_of_pairs(self.target(whole), slices)
            return without(part(self.target(whole), slices), lacks)
        dtype, shape = self.type_of(node, index)
        order = self.orders.of.get(key)
        if key in self.assigned:
            return fresh(self.assigned[key], shape, dtype, order)
        made = self.temp(shape, dtype, order)
        if node.op.name in JOINED:
            self.assigned[key] = made.buffer
        return made

    @staticmethod
    def type_of(node, index):
        return (node.dtype, node.shape) if index is None else node.outs[index]

    def assign_roots(self):
        """Give each root that a unit produces its own memory; others are copied at the end."""
        self.copies = []
        for buffer, root in self.ends:
            node = self.orders.source(root)
            key = node.uid
            if node.op.name == "item":
                key = (node.inputs[0].uid, node.attrs["index"])
            produced = node.op.kind not in ("leaf", "movement")
            if produced and key not in self.assigned:
                self.assigned[key] = buffer
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
                        self.parts[x.uid] = (node, k, ())
                continue
            if node.op.name != "concatenate" or dtypes.is_complex(node.dtype):
                continue
            axis, start = node.attrs["axis"], 0
            for x in node.inputs:
                stop = start + x.shape[axis]
                if (
                    x.uid in self.home
                    and x.uid not in kept
                    and users[x.uid] == [node]
                    and node.inputs.count(x) == 1
                ):
                    slices = [(None, None, 1)] * node.ndim
                    slices[axis] = (start, stop, 1)
                    self.parts[x.uid] = (node, slices, ())
                start = stop

    def assign_stores(self, units):
        """Let stores write where their first operand lies, if that is its end."""
        self.stores = Stores(self, units).run()
        for uid in self.kept_states:
            self.layouts[uid] = replace(self.layouts[uid], buffer=self.states[uid])
        made = {node.uid: key_of(node) for node in self.order if node.uid in self.stores}
        for uid, x in reversed(list(self.stores.items())):
            if made[uid] in self.assigned:
                self.assigned.setdefault(key_of(x), self.assigned[made[uid]])

    def is_framed(self, store):
        """Whether what is around this store in a state is there before the first step."""
        return any(found is store for found in self.framed.values())

    def layout(self, node):
        """Where `node` lies; views are computed, views that need a copy are copied now."""
        if node.uid in self.layouts:
            return self.layouts[node.uid]
        found = self.find_layout(node)
        self.layouts[node.uid] = found
        return found

    def find_layout(self, node):
        name = node.op.name
        if name == "placeholder":
            index, strides = self.inputs[node.uid]
            made = fresh(("in", index), node.shape, node.dtype)
            return made if strides is None else replace(made, strides=strides)
        if name == "variable":
            return fresh(("cell", self.cells[node.uid]), node.shape, node.dtype)
        if name in ("constant", "extent"):
            self.constants.append(constant_of(node))
            return fresh(("const", len(self.constants) - 1), node.shape, node.dtype)
        if name == "item":
            raise AssertionError("an item is laid out with its node")
        if node.op.kind == "movement":
            x = self.layout(node.inputs[0])
            return view(node, x) or view(node, self.compact(x))
        raise AssertionError(f"{node} was not computed before it is read")

    def copy(self, source, target=None):
        """An instruction that copies one layout to another (a fresh contiguous one)."""
        target = target or self.temp(source.shape, source.dtype)
        if native.transposition(self, source, target):
            return target
        if dtypes.is_complex(source.dtype):
            self.copy(as_pairs(source), as_pairs(target))
            return target
        maps = tuple(None if n == 1 else k for k, n in enumerate(source.shape))
        group = Group(source.shape)
        low = Lowering(group, None, [])
        ref = low.add_ref("in", source.dtype, source, maps)
        value = low.value("load", source.dtype, operand=ref)
        out = low.add_ref("out", source.dtype, target, maps)
        self.add_launch(low.build([(out, value)]), [], "copy")
        return target

    def compact(self, layout):
        """A contiguous copy of a layout, made before the scan where that only reads it."""
        if layout.buffer not in self.steady:
            return self.copy(layout)
        if layout not in self.copied:
            self.copied[layout] = made = self.outer.compact(layout)
            self.steady.add(made.buffer)
        return self.copied[layout]

    # ---- instructions -------------------------------------------------------------------------

    def add_launch(self, launch, nodes, name=None):
        grain = greatest(launch.least, least_units(launch.n, launch.work))
        instr = Instruction(
            KERNEL,
            name or "+".join(n.op.name for n in nodes),
            launch.pointers,
            launch.dims,
            launch.n,
            launch.block,
            grain,
            value_of(launch.work) / 1000,
            launch.reads,
            launch.writes,
            launch.inplace,
            launch.kernel,
            node=nodes[-1] if nodes else None,
            nodes=list(nodes),
            work=launch.work,
        )
        if launch.n:
            self.instructions.append(instr)
        return instr

    def emit_unit(self, unit):
        if unit.group is not None:
            return self.emit_group(unit)
        node = unit.nodes[0]
        if node.op.kind == "gemm" and node.dtype in ("float32", "float64"):
            return self.emit_gemm(node)
        lower = LOWERINGS.get(node.op.name)
        done = lower is not None and lower(self, node)
        instr = done or self.emit_call(node)
        for item in self.items.get(node.uid, {}).values():
            self.bring_back(item)
        return instr

    def bring_back(self, item):
        """Let a state that was to be changed in place, and was not, lie there all the same."""
        if item.uid in self.stores:
            place = self.layout(self.stores[item.uid])
            if not lies_in(self.layouts[item.uid], place):
                self.copy(self.layouts[item.uid], place)
            self.layouts[item.uid] = place

    def emit_group(self, unit):
        stores = []
        for node in unit.nodes:
            if node.uid in self.stored and self.home[node.uid][0] is unit.group:
                made = self.target(node)
                self.layouts[node.uid] = made
                stores.append((node, made))
        launch = Lowering(unit.group, self.layout, stores, self.built).run()
        if not self.refused or launch.kernel.key() not in self.refused:
            return self.add_launch(launch, unit.nodes)
        return self.emit_calls(unit.nodes, {node.uid for node, _ in stores})

    def emit_calls(self, nodes, stored):
        """A loop whose kernel cannot be had: the oracles of its nodes one after the other.

        stored: uids of those that are laid out already; what others compute for it again it
        computes again too.
        """
        if any(node.op.oracle is None for node in nodes):
            raise CompilerMissing("part of a loop whose kernel is missing has no oracle")
        for node in nodes:
            if node.uid not in stored:
                self.layouts[node.uid] = self.temp(node.shape, node.dtype)
            self.emit_call(node)

    def emit_call(self, node):
        """An op without C: its oracle, called with views of the operands."""
        ins = [self.layout(i) for i in node.inputs]
        if node.outs is None:
            outs = [self.layouts.get(node.uid) or self.target(node)]
            self.layouts[node.uid] = outs[0]
        else:
            outs = [self.target(node, k) for k in range(len(node.outs))]
            for index, user in self.items.get(node.uid, {}).items():
                self.layouts[user.uid] = outs[index]
        size = sum(value_of(product(lay.shape)) for lay in ins + outs)
        self.instructions.append(
            Instruction(
                PYCALL,
                node.op.name,
                [self.pointer(lay) for lay in ins + outs],
                [],
                ns=2000 + size,
                reads=[lay.buffer for lay in ins],
                writes=[lay.buffer for lay in outs],
                call=(OracleCall(bare_node(node)), ins, outs),
                node=node,
                nodes=[node],
            )
        )

    @staticmethod
    def pointer(layout):
        return (layout.buffer, layout.offset * dtypes.ITEMSIZE[layout.dtype])

    def run(self):
        """All instructions in order; buffers named, arena not yet placed."""
        units, last_ones = self.units(), PartialUpdates(self, self.partial)
        self.assign_roots()
        self.assign_parts()
        self.assign_stores(units)
        queue = Queue(units)
        while queue.ready:
            unit = queue.first()
            if unit.nodes[0].uid in last_ones.nodes:
                queue.finish(unit)
                continue
            instr = self.emit_unit(unit)
            queue.finish(unit)
            last = self.instructions[-1] if self.instructions else None
            if isinstance(instr, Instruction) and instr.rows and instr is last:
                self.attach_epilogue(unit, instr, queue)
        assert queue.empty(), "the fused graph has a cycle"
        for buffer, root in self.copies:
            order = self.orders.result(root)
            if root.op.name == "reshape" and root.uid not in self.layouts:
                root, order = self.uncopied(root), None
            self.copy(self.layout(root), fresh(buffer, root.shape, root.dtype, order))
        last_ones.emit({i: ("cell", self.cells[self.variables[i].uid]) for i in self.partial})
        return self.instructions

    def uncopied(self, node):
        """What a reshape that needs a copy reads: the copy may as well be the result."""
        x = node.inputs[0]
        return node if view(node, self.layout(x)) else x

    def attach_epilogue(self, unit, gemm, queue):
        """Run the loop that reads this product panel by panel, while the panel is in cache."""
        for other in queue.users[unit]:
            if other.waits or other.group is None or other.done:
                continue
            before = len(self.instructions)
            instr = self.emit_group(other)
            queue.finish(other)
            if instr and len(self.instructions) == before + 1 and self.fits(gemm, instr):
                self.instructions.pop()
                gemm.kernel, gemm.ns = instr.kernel, gemm.ns + instr.ns
                gemm.work = gemm.work + instr.work
                gemm.pointers = gemm.pointers + instr.pointers
                kind = GemmDims if gemm.kind == GEMM else WindowDims
                record = record_of(kind, gemm.dims).but(unit=instr.n // gemm.rows)
                gemm.dims = words(record) + instr.dims
                gemm.inplace = [p for p in instr.inplace if p[1] not in gemm.reads]
                gemm.reads = gemm.reads + [r for r in instr.reads if r not in gemm.writes]
                gemm.writes = gemm.writes + instr.writes
                gemm.name += " then " + instr.name
                gemm.nodes = gemm.nodes + instr.nodes
            return

    @staticmethod
    def fits(gemm, instr):
        """Whether a kernel walks the rows of C in order, so that panels of it are panels of C."""
        rows, n, c = gemm.rows, gemm.columns, gemm.writes[0]
        kernel, dims = instr.kernel, LaunchDims.read(instr.kernel, instr.dims)
        if kernel.form == "flat":
            if instr.n != rows * n:
                return False
        elif kernel.form == "rows":
            if instr.n != rows or dims.n != n or kernel.runs:
                return False
        elif kernel.form != "columns" or kernel.outer or kernel.runs != 1:
            return False  # columns: the rows of C side by side, each read along its run
        sizes = dims.outer + ((dims.n,) if kernel.form == "flat" else ())
        want = contiguous_strides(sizes)
        if kernel.form == "rows":
            want = tuple(s * n for s in want)
        pointers, seen = iter(instr.pointers), False
        for op, (inner, far, run) in zip(kernel.operands, dims.steps):
            if op.role == "index":
                continue
            buffer, offset = next(pointers)
            if buffer == c:
                if kernel.form == "columns":
                    inner, far, want, sizes = run[0], (inner,), (n,), (rows,)
                got = far + ((inner,) if kernel.form == "flat" else ())
                sizes_ok = all(g == w or s == 1 for g, w, s in zip(got, want, sizes))
                if offset or inner != 1 or not sizes_ok:
                    return False
                seen = True
        return seen and (kernel.form != "columns" or (dims.n, *dims.runs) == (rows, n))


def bare_node(node):
    """`node` for its oracle, which reads plain ints in attributes."""
    if not any(True for _ in sizes_in(node.attrs)):
        return node
    return make(node.op, node.inputs, {key: bare(x) for key, x in node.attrs.items()})


def constant_of(node):
    """The array of a constant, or what it is computed from for each set of shapes."""
    if of_sizes(node):
        array = node.value
        return SizedConstant("int64", array.shape, list(array.flat))
    if node.op.name == "extent" and type(node.attrs["size"]) is Size:
        return SizedConstant(node.dtype, (), [node.attrs["size"]])
    return node.op.oracle(node.attrs)
