"""Stores in place: which results of set_subtensor and its kin take the memory of what they change.

A store may write into its first operand where nobody reads that again. Readers come first then:
the order in which units are emitted gets an edge for each. What a loop nest computes only to be
stored it writes where it belongs. States of a scan that a step changes by such stores alone stay
where they are. Here it is decided; the lowerings ask Binder.target where a result lies.
"""

from collections import deque

from ..base import dtypes
from ..graph.node import make
from ..graph.sizes import indices, value_of
from ..graph.walk import consumers

STORES = ("set_slice", "inc_slice", "advanced_set", "advanced_inc")


def is_store(node):
    """Whether `node` changes some elements of a tensor and has a kernel for that."""
    return node.op.name in STORES and not dtypes.is_complex(node.dtype) and node.size != 1


def added_first(node):
    """inc_slice as a sum and a store of it: the sum shares the loop nest of what is added."""
    if node.op.name != "inc_slice" or node.dtype == "bool" or dtypes.is_complex(node.dtype):
        return node
    x, y = node.inputs
    if of_variable(x):
        return node
    total = make("add", (make("slice", (x,), node.attrs), y))
    return make("set_slice", (x, total), node.attrs)


def of_variable(x):
    """Whether `x` is a variable, or one with stores: partial.py adds to it in place."""
    while x.op.name in STORES:
        x = x.inputs[0]
    return x.op.name == "variable"


def unit_steps(slices):
    """Whether a slice along each axis is a run of neighbours, in either direction."""
    return all(s[2] in (None, 1, -1) for s in slices)


def wide(amap):
    """The domain axes of a map."""
    return [a for a in amap if a is not None]


def same_part(one, other):
    """Whether two nodes read or change the same part of their first operand."""
    shape = one.inputs[0].shape
    return all(
        indices(a, n) == indices(b, n)
        for a, b, n in zip(one.attrs["slices"], other.attrs["slices"], shape)
    )


class Stores:
    """Decides for the units of a Binder, and adds to what they need."""

    def __init__(self, binder, units):
        self.binder, self.units = binder, units
        self.users = consumers(binder.order)
        self.kept = {binder.base(root).uid for _, root in binder.ends}
        self.named = {root.uid for _, root in binder.ends}
        self.unit_of, self.readers = {}, {}
        for unit in units:
            for node in unit.nodes:
                if unit.group is None or binder.home[node.uid][0] is unit.group:
                    self.unit_of[node.uid] = unit
            for read in unit.reads:
                self.readers.setdefault(binder.base(read).uid, []).append(unit)
        self.done = set()
        self.late = {}  # unit: the stores that it writes, or may write, in place
        self.sources, self.elsewhere = {}, set()
        self.found = {}  # uid of a store in place: (store, the unit that writes it)

    def run(self):
        """The stores in place, by uid; those of a state are there from its row to its new value."""
        late = {n.uid for chain in self.binder.partial.values() for n in chain}  # of variables
        stores = [
            n
            for n in self.binder.order
            if is_store(n) and n.uid in self.unit_of and n.uid not in late
        ]
        for store in stores:
            part = self.sources[store.uid] = self.part_of(store)
            if part is not None and part[0].uid in self.unit_of:
                self.late.setdefault(self.unit_of[part[0].uid], []).append(store)
            if self.owns(store.inputs[0]) and store.inputs[0].uid not in self.kept:
                self.late.setdefault(self.unit_of[store.uid], []).append(store)
        if stores:
            self.walk()
            self.settle_states()
            for store, writer in self.found.values():
                self.wait(store, writer)
        return {uid: store for uid, (store, _) in self.found.items()}

    def owns(self, x):
        """Whether the memory of `x` is its own, so that it may be written again."""
        home = self.binder.home
        return x.uid in home or x.op.kind == "gemm" or is_store(x) or x.uid in self.binder.states

    # ---- what is computed only to be stored -----------------------------------------------------

    def part_of(self, store):
        """The result of a loop nest that may be computed right where the store puts it, and the
        axes of size 1 that it lacks there; None where there is none."""
        if store.op.name != "set_slice":
            return None
        x, y = store.inputs
        whole = tuple(indices(s, n)[1] for s, n in zip(store.attrs["slices"], x.shape))
        if tuple(y.shape) != whole or 0 in whole:
            return None
        reader, added = store, ()
        if y.op.name == "expand" and self.users[y.uid] == [store]:
            reader, added, y = y, y.attrs["axes"], y.inputs[0]
        alone = self.users[y.uid] == [reader] and reader.inputs.count(y) == 1
        free = y.uid not in self.named and y.uid not in self.binder.parts
        return (y, added) if alone and free and y.uid in self.binder.home else None

    def aligned(self, unit, store):
        """Whether a loop nest reads of what the store changes only the element that it makes."""
        x, (y, _), group = store.inputs[0], self.sources[store.uid], unit.group
        for node in unit.nodes:
            for operand, _, base, want in group.reads[node.uid]:
                if base.uid in group.maps or self.binder.base(operand) is not x:
                    continue
                if (
                    group.reduced
                    or base.op.name != "slice"
                    or base.inputs[0] is not x
                    or not same_part(base, store)
                    or wide(want) != wide(group.maps[y.uid])
                ):
                    return False
        return True

    # ---- order --------------------------------------------------------------------------------

    def walk(self):
        """Take the units in an order in which stores come as late as they can."""
        left = {unit: len(unit.needs) for unit in self.units}
        users = {unit: [] for unit in self.units}
        for unit in self.units:
            for producer in unit.needs:
                users[producer].append(unit)
        ready = deque(unit for unit in self.units if not left[unit])
        waiting = {}
        while ready or waiting:
            unit = ready.popleft() if ready else self.next_of(waiting)
            if unit in self.late and unit not in waiting:
                waiting[unit] = True
                continue
            if unit in waiting:
                del waiting[unit]
                self.decide(unit)
            self.done.add(unit)
            for user in users[unit]:
                left[user] -= 1
                if not left[user]:
                    ready.append(user)

    def next_of(self, waiting):
        """Of units that wait the first one whose stores are all in place; else the first one."""
        for unit in waiting:
            if all(self.fits(unit, store) for store in self.late[unit]):
                return unit
        return next(iter(waiting))

    def fits(self, unit, store):
        """Whether `unit` may write the store in place now: all others that read there are done."""
        x = store.inputs[0]
        if not self.owns(x) or x.uid in self.kept or store.uid in self.elsewhere:
            return False
        if x.uid in self.unit_of and self.unit_of[x.uid] not in self.done:
            return False
        own = self.unit_of[store.uid]
        if any(r not in self.done and r not in (unit, own) for r in self.readers.get(x.uid, ())):
            return False
        return unit is own or self.aligned(unit, store)

    def decide(self, unit):
        for store in self.late[unit]:
            own = self.unit_of[store.uid]
            if store.uid in self.found:
                continue
            if self.fits(unit, store):
                self.found[store.uid] = store, unit
            elif unit is not own and self.pays(store):
                self.elsewhere.add(store.uid)
            else:
                continue
            if unit is not own:
                y, added = self.sources[store.uid]
                self.binder.parts[y.uid] = store, store.attrs["slices"], added

    def pays(self, store):
        """Whether a store that may not be in place yet is computed where it belongs in a new place,
        what is around it copied there; the other way is a copy of it into the old one later."""
        x, y = store.inputs
        once = not self.owns(x) or x.uid in self.kept or 2 * value_of(y.size) >= value_of(x.size)
        return once and unit_steps(store.attrs["slices"])

    def wait(self, store, writer):
        """Let the unit that writes in place come after all that read there."""
        x = store.inputs[0]
        before = [r for r in self.readers.get(x.uid, ()) if r is not self.unit_of[store.uid]]
        if x.uid in self.unit_of:
            before.append(self.unit_of[x.uid])
        writer.needs.update(unit for unit in before if unit is not writer)

    # ---- states of a scan ---------------------------------------------------------------------

    def settle_states(self):
        """A state stays in its place if stores in place lead from its old value to its new one."""
        ends = {buffer: root for buffer, root in self.binder.ends}
        for uid, new in list(self.binder.states.items()):
            node, first = ends[new], None
            while node.uid in self.found:
                first, node = node, node.inputs[0]
            named = self.binder.assigned.get(ends[new].uid) == new
            if named and first is not None and node.uid == uid:
                self.binder.kept_states.add(uid)
                continue
            if named and ends[new].uid in self.elsewhere and ends[new].inputs[0].uid == uid:
                self.binder.framed[uid] = ends[new]
            for store, _ in list(self.found.values()):
                if store.inputs[0].uid == uid:
                    self.forget(store)

    def forget(self, store):
        """The store is not in place after all."""
        del self.found[store.uid]
        if self.sources[store.uid] and not unit_steps(store.attrs["slices"]):
            self.binder.parts.pop(self.sources[store.uid][0].uid, None)
