"""Context: what lowerings may ask and do while a graph becomes instructions.

It says where nodes lie, gives places to new results, and takes instructions. Which nodes come in
which order, and what shares memory with what, is decided in binder.py and stores.py, which write it
down here; lowerings call methods only.
"""

import itertools
import weakref
from dataclasses import replace

from ..base import dtypes
from ..codegen.indexed import checked
from ..codegen.layout import as_pairs, fresh, part_of_pairs, view
from ..codegen.lower import Lowering
from ..graph.folding import of_sizes
from ..graph.shapes import product
from ..graph.sizes import Size, greatest, surely, value_of
from ..schedule.cost import least_units
from ..schedule.group import Group
from . import native
from .instructions import KernelCall
from .lowerings.movement import part, without
from .template import SizedConstant

JOINED = ("concatenate", "set_slice", "complex_of")  # others may write parts of them before


class Context:
    """Of one graph, or of a body inside of it: then `outer` is the Context around, whose buffers,
    constants and names it has, and `invariant` are buffers that a scan around only reads.

    inputs: {placeholder uid: (index, strides in elements or None, whether its elements may lie at
    any byte)}; cells: {variable uid: index};
    body(context, ends, given, invariant, states): the Binder of a body.
    """

    def __init__(self, inputs, cells, body, outer=None, invariant=()):
        self.inputs, self.cells, self.outer = inputs, cells, outer
        self.body = weakref.WeakMethod(body)  # a Binder has its Context
        self.constants, self.sizes, self.names = (
            ([], {}, itertools.count(1))
            if outer is None
            else (outer.constants, outer.sizes, outer.names)
        )
        self.invariant, self.copied = set(invariant), {}
        self.instructions, self.layouts = [], {}
        self.aligned = {}  # {uid of what lies at any byte: the layout of a copy}
        self.assigned = {}  # {uid of a node, or it and an index: the buffer of an end that it is}
        self.parts = {}  # {uid: (a concatenation or a store, where in it, axes of 1 it lacks)}
        self.stores = {}  # {uid of a store in place: what it changes}
        self.framed = {}  # {uid of a state: a store} where nothing around that changes
        self.used = {}  # {uid of a node: {index: item of it that is used}}
        self.checked = {}  # {uid of indices: sizes of which they are known to be indices}
        self.changing = set()  # buffers of results that may lie where inputs do
        self.orders, self.planes = None, frozenset()

    # ---- where nodes lie ------------------------------------------------------------------------

    def layout(self, node):
        """Where `node` lies, element by element at addresses of its dtype: what does not is copied
        now, once."""
        found = self.lies(node)
        if not found.loose:
            return found
        if node.uid not in self.aligned:
            if node.op.kind == "movement":
                x = self.layout(node.inputs[0])
                made = view(node, x) or view(node, self.compact(x))
            else:
                made = self.copy(found)
            self.aligned[node.uid] = made
        return self.aligned[node.uid]

    def lies(self, node):
        """Where `node` lies, for loops, which read elements at any byte; views are computed, views
        that need a copy are copied now."""
        if node.uid not in self.layouts:
            self.layouts[node.uid] = self.find(node)
        return self.layouts[node.uid]

    def copied_from(self, node):
        """Where a copy reads `node`: as it lies, if a loop over its rows is as good as any copy."""
        found = self.lies(node)
        return found if found.loose and found.strides[-1:] == (1,) else self.layout(node)

    def find(self, node):
        name = node.op.name
        if name == "placeholder":
            index, strides, loose = self.inputs[node.uid]
            made = fresh(("in", index), node.shape, node.dtype)
            made = made if strides is None else replace(made, strides=strides)
            return replace(made, loose=loose)
        if name == "variable":
            return fresh(("cell", self.cells[node.uid]), node.shape, node.dtype)
        if name in ("constant", "extent"):
            return fresh(self.constant(constant_of(node)).buffer, node.shape, node.dtype)
        if name == "item":
            raise AssertionError("an item is laid out with its node")
        if node.op.kind == "movement":
            x = self.lies(node.inputs[0])
            return view(node, x) or view(node, self.compact(x))
        raise AssertionError(f"{node} was not computed before it is read")

    def lay(self, node, layout):
        """Note that `node` lies there."""
        self.layouts[node.uid] = layout

    def items(self, node):
        """{index: item of `node` that is used}."""
        return self.used.get(node.uid, {})

    # ---- places for results ---------------------------------------------------------------------

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
        dtype, shape = (node.dtype, node.shape) if index is None else node.outs[index]
        order = self.orders.of.get(key)
        if key in self.assigned:
            return fresh(self.assigned[key], shape, dtype, order)
        made = self.temp(shape, dtype, order)
        if node.op.name in JOINED:
            self.assigned[key] = made.buffer
        return made

    def place(self, node):
        """The target of `node`, which from now on lies there."""
        made = self.target(node)
        self.lay(node, made)
        return made

    def places(self, node, kinds=None):
        """The targets of all results of `node`, which from now on lie there; kinds: what is made of
        results that nobody reads, where that is less."""
        if node.outs is None:
            return [self.place(node)]
        items = self.items(node)
        made = [
            self.target(node, k) if k in items else self.temp(shape, dtype)
            for k, (dtype, shape) in enumerate(kinds or node.outs)
        ]
        for index, item in items.items():
            self.lay(item, made[index])
        return made

    def temp(self, shape, dtype, order=None):
        """A new buffer between instructions."""
        name = ("tmp", next(self.names))
        self.sizes[name] = greatest(1, product(shape)) * dtypes.ITEMSIZE[dtype]
        return fresh(name, shape, dtype, order)

    def row(self):
        """A name for the row of a scan."""
        return "row", next(self.names)

    def constant(self, array):
        """A new constant: an array, or a SizedConstant."""
        self.constants.append(array)
        return fresh(("const", len(self.constants) - 1), array.shape, str(array.dtype))

    # ---- what is known of them ------------------------------------------------------------------

    def bytes_of(self, buffer):
        """The bytes of a buffer between instructions."""
        return self.sizes[buffer]

    def own_buffer(self, node, index=None):
        """The buffer of an end of the graph that a result is, or None."""
        return self.assigned.get(node.uid if index is None else (node.uid, index))

    def changed(self, node):
        """What a store in place changes, or None."""
        return self.stores.get(node.uid)

    def is_placed(self, node):
        """Whether a node has to be somewhere: an end of the graph, or a part of another node."""
        return node.uid in self.assigned or node.uid in self.parts

    def is_plane(self, node):
        """Whether a node is computed with channels first."""
        return node.uid in self.planes

    def is_framed(self, store):
        """Whether what is around this store in a state is there before the first step."""
        return any(found is store for found in self.framed.values())

    def is_invariant(self, layout):
        """Whether a scan around only reads what lies there."""
        return layout.buffer in self.invariant

    # ---- instructions ---------------------------------------------------------------------------

    def add(self, instr):
        """The next instruction."""
        self.instructions.append(instr)

    def launch(self, launch, nodes, name=None, looked=False):
        """The instruction of a Launch, where it has anything to do. looked: whether its indices
        were looked at before."""
        if not launch.n:
            return
        self.add(
            KernelCall(
                name=name or "+".join(n.op.name for n in nodes),
                pointers=launch.pointers,
                dims=launch.dims,
                n=launch.n,
                block=launch.block,
                grain=greatest(launch.least, least_units(launch.n, launch.work)),
                ns=value_of(launch.work) / 1000,
                reads=launch.reads,
                writes=launch.writes,
                inplace=launch.inplace,
                kernel=launch.kernel,
                looked=looked,
                node=nodes[-1] if nodes else None,
                nodes=list(nodes),
                work=launch.work,
            )
        )

    def check(self, index, array, size, node):
        """An instruction that fails where an element of `array`, which is `index` as it lies, is no
        index into an axis of `size`; none where that is known."""
        if 0 not in array.shape and self.is_new(index, size):
            self.launch(checked(array, size), [node], "check")

    def is_new(self, index, size):
        """Whether nobody looked yet whether these are indices into an axis of `size`; from now on
        somebody did."""
        known = self.checked.setdefault(index.uid, [])
        new = not any(surely(size, n) for n in known)
        if new:
            known.append(size)
        return new

    def looked_at(self, node, indices, nest):
        """Whether the indices of a nest are looked at before it runs, as they are where it reads or
        writes the memory of an argument: nothing may fail once that changes."""
        looked = nest.far.buffer in self.changing
        for index, place in zip(indices, nest.indices):
            if looked:
                self.check(index, place.layout, place.size, node)
            elif 0 not in place.layout.shape:
                self.is_new(index, place.size)  # it looks itself
        return looked

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
        low, kind = Lowering(group, None, []), dtypes.as_bits(source.dtype)
        ref = low.add_ref("in", kind, source, maps)
        value = low.value("load", kind, operand=ref)
        out = low.add_ref("out", kind, target, maps)
        self.launch(low.build([(out, value)]), [], "copy")
        return target

    def compact(self, layout):
        """A contiguous copy of a layout, made before the scan where that only reads it."""
        if layout.buffer not in self.invariant:
            return self.copy(layout)
        if layout not in self.copied:
            self.copied[layout] = made = self.outer.compact(layout)
            self.invariant.add(made.buffer)
        return self.copied[layout]

    def inner(self, ends, given, invariant=(), states=()):
        """The Binder of a body: it has the same buffers; given: {node: where it lies}; invariant:
        buffers that a scan around it only reads; states: {uid of a node: buffer of an end} of
        states that may stay where they are."""
        return self.body()(self, ends, given, invariant, states)


def constant_of(node):
    """The array of a constant, or what it is computed from for each set of shapes."""
    if of_sizes(node):
        array = node.value
        return SizedConstant("int64", array.shape, list(array.flat))
    if node.op.name == "extent" and type(node.attrs["size"]) is Size:
        return SizedConstant(node.dtype, (), [node.attrs["size"]])
    return node.op.oracle(node.attrs)
