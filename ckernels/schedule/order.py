"""In which order units run: a loop nest, or a node with an instruction of its own, is a unit.

The order follows from what units read of each other. The planner takes it unit by unit, for it may
add what they wait for (stores in place), and asks which loop may run on rows of the unit it has
just made (follow.py). Buffers are not known here.
"""

import heapq

from .follow import BEHIND, RUNS, later
from .group import base

ENDS = 3  # units from the last one of a path: a product, Adam's two means, the new weights


class Unit:
    """A group, or a single node, waiting to be scheduled."""

    def __init__(self, nodes, group=None):
        self.nodes, self.group = nodes, group
        self.needs, self.reads = set(), []  # reads: nodes (views included) whose memory it reads
        self.waits, self.done = 0, False  # for how many of them; whether it is emitted


def reads_of(unit):
    """Nodes (views included) whose memory a unit reads."""
    if unit.group is None:
        return list(unit.nodes[0].inputs)
    maps, reads = unit.group.maps, unit.group.reads
    return [
        operand
        for node in unit.nodes
        for operand, _, source, _ in reads[node.uid]
        if source.uid not in maps
    ]


def units_of(schedule, roots):
    """(all units, with what each one needs; uids of what loops must store), of a Schedule."""
    home, made, units = schedule.home, {}, []
    for node in schedule.order:
        if node.op.kind in ("leaf", "movement") or node.op.name == "item":
            continue
        for group in home.get(node.uid, (None,)):
            key = node.uid if group is None else id(group)
            if key not in made:
                made[key] = Unit([node] if group is None else group.nodes, group)
                units.append(made[key])
    shown = list(roots)
    for unit in units:
        unit.reads = reads_of(unit)
        shown += unit.reads
    stored = {x.uid for x in map(base, shown) if x.uid in home}

    def makes(unit, node):
        return unit.group is None or home[node.uid][0] is unit.group

    producer = {n.uid: unit for unit in units for n in unit.nodes if makes(unit, n)}
    for unit in units:
        found = (producer.get(base(read).uid) for read in unit.reads)
        unit.needs.update(p for p in found if p is not None and p is not unit)
    useful = [u for u in units if u.group is None or any(
        n.uid in stored and makes(u, n) for n in u.nodes)]  # fmt: skip
    return useful, stored


class Order:
    """Units in order: the first of those whose producers are all done comes next.

    The last units of a path come before all others, the very last one first. They write results of
    the call, which need no memory of the arena, and free what they read: gradients of weights and
    updates, which the order of the graph has only after the way back through all layers.
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
        self.sums = {}  # {uid: the loops of sums in chunks that read it}
        for unit in units:
            if unit.group is not None and unit.group.partial:
                for uid in unit.group.varying:
                    self.sums.setdefault(uid, []).append(unit)

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

    # ---- what runs on rows of the unit that is just done ----------------------------------------

    def on_product(self, unit, schedule):
        """The loop to run next, on rows of a product; the schedule gets Reasons of the others.

        Where none may run on rows, one that reads the product comes next all the same: it is in
        cache.
        """
        found = None
        for other in self.users[unit]:
            if other.group is None or other.done:
                continue
            reason = later(unit, other)
            if not other.waits and (found is None or found[1] is not None and reason is None):
                found = other, reason
            schedule.note(unit.nodes[0], other.group, reason)
        return found[0] if found else None

    def settle(self, unit, chosen, reason, schedule):
        """Note whether the loop `chosen` runs on the rows of a product, and so none of the others;
        reason: why it does not."""
        node = unit.nodes[0]
        schedule.note(node, chosen.group, reason)
        for other in self.users[unit]:
            if other is not chosen and other.group is not None:
                if schedule.on_rows(node, other.group) is None:
                    schedule.note(node, other.group, (BEHIND if reason else RUNS)(node))

    def on_rows(self, unit):
        """The loop of sums to run next, over rows that the loop `unit` made or read."""
        group = unit.group
        if group is None or group.partial or not group.reduced:
            return None
        uids = (*group.maps, *group.varying)
        found = {u for uid in uids for u in self.sums.get(uid, ()) if not u.waits and not u.done}
        return min(found, key=self.place.get, default=None)
