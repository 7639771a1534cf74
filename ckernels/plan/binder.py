"""From a concrete graph to the instructions of a C Plan: order, buffers, what each one does.

Fuses, lowers every group, turns matrix products into gemm instructions (with the next loop as
epilogue where it fits), scans and branches into instructions with others inside, everything
without C of its own into a call of its oracle. Shapes and strides are numbers here; kernels are
not compiled here, and intermediates get their place in memory.py.
"""

import copy
import itertools
from dataclasses import replace

from .. import compiler
from ..base import dtypes
from ..base.errors import CompilerMissing
from ..codegen.layout import as_pairs, fresh, part_of_pairs, view
from ..codegen.lower import Lowering
from ..graph.folding import of_sizes
from ..graph.node import make
from ..graph.op import having, rules
from ..graph.shapes import product
from ..graph.sizes import Size, bare, greatest, sizes_in, surely, value_of
from ..graph.walk import consumers, rebuild
from ..schedule.cost import least_units
from ..schedule.follow import COPIED
from ..schedule.fuse import fuse
from ..schedule.gathers import gather_of, is_gather
from ..schedule.group import Group
from ..schedule.order import Order, units_of
from ..schedule.split import split
from . import bands, epilogue, native, scan  # noqa: F401  (scan: its lowerings)
from .gemm import Products
from .instructions import Instruction, KernelCall, PyCall, RuntimeCall
from .lowerings import indexed
from .lowerings.movement import lies_in, narrow, part, without
from .orders import Orders
from .partial import PartialUpdates, partial_updates
from .stores import Stores, added_first, key_of
from .template import OracleCall, SizedConstant

JOINED = ("concatenate", "set_slice", "complex_of")  # others may write parts of them before
RESHAPES, LOWERINGS = having("reshapes"), rules("lowering")


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
        self.bands = True  # whether sums may run on rows of loops
        self.begin(
            [
                *((("out", i), n) for i, n in enumerate(outputs)),
                *((("next", i), n) for i, n in enumerate(updates)),
            ]
        )

    def begin(self, ends):
        """Take up a graph: `ends` are (buffer, the node whose value it shall hold)."""
        self.ends, roots = ends, [root for _, root in ends]
        self.schedule = fuse(roots, compiler.ready_made())
        self.schedules.append(self.schedule)
        self.order, self.home = self.schedule
        self.planes = native.in_planes(self.order, roots)
        self.orders = self.find_orders()
        self.partial = partial_updates(self.order, ends, () if self.outer else self.variables)
        self.instructions, self.layouts, self.assigned, self.copied = [], {}, {}, {}
        self.parts = {}  # {uid: (a concatenation or a store, where in it, axes of 1 it lacks)}
        self.stores = {}  # {uid of a store in place: what it changes}
        self.states, self.kept_states, self.framed = {}, set(), {}  # of a body: see `inner`
        self.checked = {}  # {uid of indices: sizes of which they are known to be indices}
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
        if native.copied(self, source, target):
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
        instr = KernelCall(
            name=name or "+".join(n.op.name for n in nodes),
            pointers=launch.pointers,
            dims=launch.dims,
            n=launch.n,
            block=launch.block,
            grain=grain,
            ns=value_of(launch.work) / 1000,
            reads=launch.reads,
            writes=launch.writes,
            inplace=launch.inplace,
            kernel=launch.kernel,
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
        self.check_indices(unit)
        launch = Lowering(unit.group, self.layout, stores, self.built).run()
        if not self.refused or launch.kernel.key() not in self.refused:
            return self.add_launch(launch, unit.nodes)
        return self.emit_calls(unit.nodes, {node.uid for node, _ in stores})

    def check_indices(self, unit):
        """Check the indices at which a loop reads, each array once for each size it picks from."""
        for node in unit.nodes:
            for operand, _, axis in gather_of(node).picks if is_gather(node) else ():
                index, size = node.inputs[operand], node.inputs[0].shape[axis]
                known = self.checked.setdefault(index.uid, [])
                if 0 in index.shape or any(surely(size, n) for n in known):
                    continue
                known.append(size)
                launch = indexed.checked(self.layout(index), size)
                self.add_launch(launch, [node], "check")

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
            PyCall(
                name=node.op.name,
                pointers=[self.pointer(lay) for lay in ins + outs],
                ns=2000 + size,
                reads=[lay.buffer for lay in ins],
                writes=[lay.buffer for lay in outs],
                call=OracleCall(bare_node(node)),
                ins=ins,
                outs=outs,
                node=node,
                nodes=[node],
            )
        )

    @staticmethod
    def pointer(layout):
        return (layout.buffer, layout.offset * dtypes.ITEMSIZE[layout.dtype])

    def run(self):
        """All instructions in order; buffers named, arena not yet placed."""
        units, self.stored = units_of(self.schedule, [root for _, root in self.ends])
        last_ones = PartialUpdates(self, self.partial)
        self.assign_roots()
        self.assign_parts()
        self.assign_stores(units)
        order = Order(units)
        while order.ready:
            unit = order.first()
            if unit.nodes[0].uid in last_ones.nodes:
                order.finish(unit)
                continue
            instr = self.emit_unit(unit)
            order.finish(unit)
            last = self.instructions[-1] if self.instructions else None
            if isinstance(instr, Instruction) and instr is last:
                self.follow(unit, instr, order)
        assert order.empty(), "the fused graph has a cycle"
        for buffer, root in self.copies:
            axes = self.orders.result(root)
            if root.op.name == "reshape" and root.uid not in self.layouts:
                root, axes = self.uncopied(root), None
            self.copy(self.layout(root), fresh(buffer, root.shape, root.dtype, axes))
        last_ones.emit({i: ("cell", self.cells[self.variables[i].uid]) for i in self.partial})
        return self.instructions

    def uncopied(self, node):
        """What a reshape that needs a copy reads: the copy may as well be the result."""
        x = node.inputs[0]
        return node if view(node, self.layout(x)) else x

    def follow(self, unit, first, order):
        """Run on rows of what was just made the loop that the order has for that, if it may."""
        of_product = isinstance(first, RuntimeCall) and bool(first.rows)
        if of_product:
            found, ways = order.on_product(unit, self.schedule), epilogue
        elif self.bands and self.outer is None:
            found, ways = order.on_rows(unit), bands
        else:
            return
        if found is None:
            return
        before = len(self.instructions)
        loop = self.emit_group(found)
        order.finish(found)
        if loop is None or not loop.n:
            return
        alone = len(self.instructions) == before + 1
        reason = None if alone else COPIED(unit.nodes[0])
        if of_product:  # what the graph says comes first
            reason = self.schedule.on_rows(unit.nodes[0], found.group) or reason
        reason = reason or ways.why_apart(first, loop, self.refused)
        if of_product:
            order.settle(unit, found, reason, self.schedule)
        elif reason is not None and alone:
            self.schedule.note_band(unit.group, found.group, reason)
        if reason is None:
            self.instructions[-2:] = [ways.joined(first, loop)]
        else:
            self.follow(found, loop, order)


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
