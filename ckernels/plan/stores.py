"""Stores in place: which results of set_subtensor and its kin take the memory of what they change.

A store may write into its first operand where nobody reads that again. Readers come first then:
the order in which units are emitted gets an edge for each. What a loop nest computes only to be
stored it writes where it belongs. States of a scan that a step changes by such stores alone stay
where they are. Here it is decided; the lowerings ask Context.target where a result lies.
"""

from collections import deque

from ..base import dtypes
from ..graph.node import make
from ..graph.sizes import indices
from ..graph.walk import consumers
from ..ops.scan import ScanSignature

STORES = ("set_slice", "inc_slice", "advanced_set", "advanced_inc")
WITH_KERNELS = (*STORES, "advanced_combine")


def is_store(node):
    """Whether `node` changes some elements of a tensor and has a kernel for that."""
    return node.op.name in WITH_KERNELS and not dtypes.is_complex(node.dtype) and node.size != 1


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


def shown(node):
    """The node, or the one of its results, whose memory a view shows."""
    while node.op.kind == "movement":
        node = node.inputs[0]
    return node


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


def key_of(node):
    """By what `Context.assigned` knows a result."""
    return (node.inputs[0].uid, node.attrs["index"]) if node.op.name == "item" else node.uid


# ---- states that scans and branches change ------------------------------------------------------


def scanned(stores, final):
    """The first value of a state of which only the last one is read, if a scan may change it."""
    node, index = final.inputs[0], final.attrs["index"]
    sig, items = ScanSignature.of(node), stores.plan.items(node)
    i = index - sig.carries
    if not 0 <= i < sig.carries or sig.trace(i) in items or node.attrs["taps"][i] != (-1,):
        return None
    init, body = sig.inits[i], node.attrs["body"]
    same = body.outputs[i] is body.inputs[sig.tap_inputs(i)[-1]]
    if same or init.op.name != "expand" or init.attrs["axes"] != (0,):
        return None
    return init.inputs[0] if stores.read_once(node, init) else None


def lies_alone(plan, final):
    """Whether this is the last value of a state that a scan leaves in memory of its own: the state
    changes, and no result shows all its values."""
    node, index = final.inputs[0], final.attrs["index"]
    if node.op.name != "scan":
        return False
    sig, items, body = ScanSignature.of(node), plan.items(node), node.attrs["body"]
    i = index - sig.carries
    if not 0 <= i < sig.carries or sig.trace(i) in items:
        return False
    value, taps = body.outputs[i], sig.tap_inputs(i)
    if any(value is body.inputs[k] for k in taps.values()):
        return False
    shown = [body.outputs[sig.carries + k] for k in range(sig.outs) if sig.out(k) in items]
    return not any(value is out for out in shown)


def branched(stores, result):
    """The operand of a branch that both sides change by stores, or one side does and the other
    leaves as it is."""
    node, index = result.inputs[0], result.attrs["index"]
    found = {changed_input(node.attrs[side], index) for side in ("then", "other")}
    if len(found) != 1 or None in found:
        return None
    x = node.inputs[1 + found.pop()]
    return x if stores.read_once(node, x) else None


def changed_input(body, index):
    """The number of the input that stores lead from to this output, or None."""
    node = body.outputs[index]
    while is_store(node):
        node = node.inputs[0]
    return next((k for k, n in enumerate(body.inputs) if n is node), None)


def no_change(stores, item):
    return None


CHANGES = {"scan": scanned, "ifelse": branched}


class Stores:
    """Decides for the units of a Binder, and adds to what they need."""

    def __init__(self, binder, units):
        self.binder, self.plan, self.units = binder, binder.plan, units
        self.users = consumers(binder.order)
        self.last = {n.uid: n for chain in binder.partial.values() for n in chain}  # of variables
        self.kept = {shown(root).uid for _, root in binder.ends}
        self.kept |= {shown(x).uid for n in self.last.values() for x in n.inputs}
        self.named = {root.uid for _, root in binder.ends}
        self.unit_of, self.readers = {}, {}
        for unit in units:
            for node in unit.nodes:
                if unit.group is None or binder.home[node.uid][0] is unit.group:
                    self.unit_of[node.uid] = unit
            for read in unit.reads:
                self.readers.setdefault(shown(read).uid, []).append(unit)
        self.done = set()
        self.late = {}  # unit: the stores that it writes, or may write, in place
        self.sources, self.elsewhere = {}, set()
        self.changed = {}  # uid of a store: what it changes
        self.found = {}  # uid of a store in place: (store, the unit that writes it)
        self.kept_states = set()  # uids of states that stay where they are
        self.framed = {}  # {uid of a state: a store} where nothing around that changes

    def run(self):
        """{uid of a store in place: what it changes}, the first ones first."""
        for node in self.binder.order:
            self.note(node)
        if self.changed:
            self.walk()
            self.settle_states()
            for store, writer in self.found.values():
                self.wait(store, writer)
        return {uid: self.changed[uid] for uid in self.found}

    def note(self, node):
        """Take up `node` if it is a store, or a state that a scan or a branch changes."""
        if node.uid in self.last:
            return
        if is_store(node):
            x, maker = node.inputs[0], node
        elif node.op.name == "item" and node.size != 1:
            x, maker = CHANGES.get(node.inputs[0].op.name, no_change)(self, node), node.inputs[0]
            if maker.uid in self.unit_of:
                self.unit_of[node.uid] = self.unit_of[maker.uid]
        else:
            return
        if x is None or maker.uid not in self.unit_of:
            return
        self.changed[node.uid] = x
        self.unit_of[node.uid] = self.unit_of[maker.uid]
        part = self.sources[node.uid] = self.part_of(node)
        if part is not None and part[0].uid in self.unit_of:
            self.late.setdefault(self.unit_of[part[0].uid], []).append(node)
        if not self.is_kept(x):
            self.late.setdefault(self.unit_of[node.uid], []).append(node)

    def owns(self, x):
        """Whether the memory of `x` is its own, so that it may be written again."""
        if x.op.name == "item":
            return x.uid in self.found or lies_alone(self.plan, x)
        home = self.binder.home
        return x.uid in home or x.op.kind == "gemm" or is_store(x) or x.uid in self.binder.states

    def is_kept(self, x):
        """Whether a result shows `x`, or a view of it."""
        return shown(x).uid in self.kept

    def read_once(self, node, x):
        """Whether just one operand of a scan or branch shows `x`."""
        source = shown(x)
        return sum(shown(i) is source for i in node.inputs) == 1

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
        free = y.uid not in self.named and y.uid in self.binder.home
        return (y, added) if alone and free else None

    def aligned(self, unit, store):
        """Whether a loop nest reads of what the store changes only the element that it makes."""
        x, (y, _), group = store.inputs[0], self.sources[store.uid], unit.group
        for node in unit.nodes:
            for operand, _, source, want in group.reads[node.uid]:
                if shown(operand) is not x:
                    continue
                if (
                    group.reduced
                    or source.op.name != "slice"
                    or source.inputs[0] is not x
                    or not same_part(source, store)
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
        x, own = self.changed[store.uid], self.unit_of[store.uid]
        if not self.owns(x) or self.is_kept(x) or store.uid in self.elsewhere:
            return False
        if x.uid in self.unit_of and self.unit_of[x.uid] not in self.done:
            return False
        if any(r not in self.done and r not in (unit, own) for r in self.readers_of(x)):
            return False
        return unit is own or self.aligned(unit, store)

    def readers_of(self, x):
        return self.readers.get(shown(x).uid, ())

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
                self.plan.parts[y.uid] = store, store.attrs["slices"], added

    def pays(self, store):
        """Whether a store that may not be in place yet is computed where it belongs in a new place,
        what is around it copied there; the other way is a copy of it into the old one later."""
        x, y = store.inputs
        once = not self.owns(x) or self.is_kept(x) or 2 * y.size >= x.size
        return once and unit_steps(store.attrs["slices"])

    def wait(self, store, writer):
        """Let the unit that writes in place come after all that read there."""
        x = self.changed[store.uid]
        before = [r for r in self.readers_of(x) if r is not self.unit_of[store.uid]]
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
                first, node = node, self.changed[node.uid]
            named = self.plan.assigned.get(key_of(ends[new])) == new
            if named and first is not None and node.uid == uid:
                self.kept_states.add(uid)
                continue
            inside = self.binder.inside
            if (
                inside
                and named
                and ends[new].uid in self.elsewhere
                and ends[new].inputs[0].uid == uid
            ):
                self.framed[uid] = ends[new]
            for store, _ in list(self.found.values()):
                if self.changed[store.uid].uid == uid:
                    self.forget(store)

    def forget(self, store):
        """The store is not in place after all."""
        del self.found[store.uid]
        if self.sources[store.uid] and not unit_steps(store.attrs["slices"]):
            self.plan.parts.pop(self.sources[store.uid][0].uid, None)
