"""Horizontal fusion: loops that read one large tensor, or one of which makes it, become one.

Each pair is asked about once per tensor, near ones first; of a tensor that very many loops read
(the input of a sum of a thousand sines) each loop gives up after NEAR others in vain, so that the
time stays in proportion.
"""

from .group import AXIS_VIEWS, Group, together_deep, weight
from .legal import BETWEEN, merge_fits

NEAR = 16  # refusals after which a loop of a tensor gives up on the others
OF_NODES = ("nodes", "maps", "reads", "wants", "varying", "held", "cost", "depth", "behind")
LOOK = 64  # units between two loops that are looked at for what to cut


class Horizontal:
    """Joins `groups` where that is possible and keeps `units` up to date."""

    def __init__(self, units, groups, order):
        self.units, self.groups, self.order = units, list(groups), order
        self.home = units.home
        self.apart = {}  # (group, group) -> (uid, the Reason why they are not one)

    def join(self):
        """The groups that are left."""
        touched = {}
        for group in self.groups:
            for uid in dict.fromkeys([*group.maps, *group.wants]):
                touched.setdefault(uid, []).append(group)
        nodes = {n.uid: n for n in self.order}
        for uid, groups in touched.items():
            if len(groups) > 1 and _large(nodes[uid]):
                self.join_around(uid, groups)
        self.apart = {pair: why for pair, why in self.apart.items() if all(g.nodes for g in pair)}
        return [g for g in self.groups if g.nodes]

    def join_around(self, uid, groups):
        """Join those of `groups` that make or read the tensor `uid` alike."""
        after, last = {}, {}  # the next group that sees the tensor alike
        for group in reversed(groups):
            seen = frozenset(group.seen_as(uid))
            after[group], last[seen] = last.get(seen), group
        for a in groups:
            before, b, missed = a, after[a], 0
            while a.nodes and b is not None and missed < NEAR:
                if b.nodes:
                    reason = self.try_merge(a, b, uid)
                    if reason is not None:
                        self.apart[a, b] = uid, reason
                        missed += 1
                if not b.nodes:
                    after[before] = after[b]  # `b` is empty now: try no loop with it again
                else:
                    before = b
                b = after[b]

    def try_merge(self, a, b, uid):
        """Make `b` part of `a` unless there is a Reason, which is returned."""
        reason = merge_fits(a, b, uid)
        if reason is not None:
            return reason
        if a.partial:
            self.untangle(a, b)
            self.untangle(b, a)
        if self.units.path(a, b) or self.units.path(b, a):
            return BETWEEN
        self.merge(a, b)
        return None

    def merge(self, a, b):
        a.depth = together_deep(a, b)
        for node in b.nodes:
            if node.uid not in a.maps:
                a.maps[node.uid], a.reads[node.uid] = b.maps[node.uid], b.reads[node.uid]
                a.nodes.append(node)
                a.cost += weight(node)
            homes = self.home[node.uid]
            homes[:] = dict.fromkeys(a if g is b else g for g in homes)
        for key, maps in b.wants.items():
            mine = a.wants.get(key, ())
            a.wants[key] = (*mine, *[m for m in maps if m not in mine])
        a.varying |= b.varying
        a.held |= b.held
        a.reduced = a.reduced or b.reduced
        b.nodes, b.maps, b.reads = [], {}, {}
        self.units.merge(a, b)

    def untangle(self, a, b):
        """Cut loops in two that read `a` and make what `b` needs, but not of `a`.

        Two passes over the same chunks can then be one: the sums of g and of g * (x - mean) that a
        batch norm's gradient wants need not wait for each other, though one loop uses both.
        """
        if not self.units.path(a, b):
            return
        between = self.between(a, b)
        needed = self.needed(b, between | {a.number})
        if not needed.isdisjoint(n.uid for n in a.nodes):
            return
        for group in (self.units.units[number] for number in sorted(between)):
            if not isinstance(group, Group) or group.partial:
                continue
            early = [n for n in group.nodes if n.uid in needed]
            late = [n for n in group.nodes if n.uid not in needed]
            if all(any(n.op.kind == "reduce" for n in part) for part in (early, late)):
                self.cut(group, early, late)

    def between(self, a, b):
        """Numbers of the units on the ways from `a` to `b`; empty when they are more than LOOK."""
        bits, seen = self.units.bits[b.number], set()
        stack = list(self.units.outside(a.number) - {b.number})
        while stack:
            at = stack.pop()
            if at in seen or at == b.number or not self.units.below[at] & bits:
                continue
            seen.add(at)
            if len(seen) > LOOK:
                return set()
            stack.extend(self.units.outside(at))
        return seen

    def needed(self, b, numbers):
        """uids of the members of these units that `b` is computed from, through these units."""
        inside = {n.uid for number in numbers for n in self.units.members(number)}
        seen, stack = set(), list(b.nodes)
        while stack:
            for x in stack.pop().inputs:
                while x.op.name in AXIS_VIEWS:
                    x = x.inputs[0]
                if x.uid in inside and x.uid not in seen:
                    seen.add(x.uid)
                    stack.append(x)
        return seen

    def cut(self, group, early, late):
        """Make `group` two: nodes `late` go to a new one."""
        parts = []
        for nodes in (early, late):
            part = Group(group.domain, group.reduced)
            for node in nodes:
                part.add(node, group.maps[node.uid])
            parts.append(part)
        rest = parts[1]
        for name in OF_NODES:
            setattr(group, name, getattr(parts[0], name))
        self.groups.append(rest)
        for node in late:
            homes = self.home[node.uid]
            homes[:] = [rest if g is group else g for g in homes]
        self.units.cut(group, rest)


def _large(node):
    """Whether a tensor has two elements at least."""
    if node.shape is None or any(n == 0 for n in node.shape):
        return False
    return any(n != 1 for n in node.shape)
