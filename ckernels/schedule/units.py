"""The quotient graph while groups are being formed: groups and single nodes, and what flows where.

Each unit knows as a bitset what lies below it: the units its results flow into. Whether a node may
join a group, or two groups may become one, without a cycle is then a question to one integer, and a
change costs what it touches. Bitsets of 20,000 units are 2.5 kB each; a search per question, as it
was before, made fusion of 80 residual layers take 6 s and grow with the square.
"""

from .group import AXIS_VIEWS, Group


class Units:
    """Units by number: below[number] has a bit of each unit that its results flow into.

    mark[number] is the bit that stands for a unit, bits[number] those of all it was merged from:
    any of them tells that something reaches it. Nodes are added users first. A group knows its
    number, a node that is a unit of its own is in `single`; `home` has the groups that compute a
    node.
    """

    def __init__(self, users):
        self.users = users
        self.home, self.single = {}, {}
        self.units, self.mark, self.bits, self.below = [], [], [], []
        self.shared = set()  # numbers of units that were cut in two: both halves share their bits
        self.readings = {}  # uid of a node -> uids of the nodes that read it
        self.earlier = {}  # number -> numbers of the groups it was merged or cut from

    def add_group(self, group):
        """A number for a new group that nothing flows into yet."""
        group.number = self._add(group)

    def add_single(self, node):
        self.single[node.uid] = number = self._add(node)
        self.below[number] = self.flow(self.readers(node))

    def _add(self, unit):
        self.units.append(unit)
        self.mark.append(1 << len(self.mark))
        self.bits.append(self.mark[-1])
        self.below.append(0)
        return len(self.bits) - 1

    def members(self, number):
        """The nodes of a unit."""
        unit = self.units[number]
        return unit.nodes if isinstance(unit, Group) else (unit,)

    def readers(self, node):
        """Numbers of the units that read `node` from memory.

        These are the groups that do not compute it themselves, and single nodes.
        """
        uid, home = node.uid, self.home
        found = set()
        for user in self.readings.get(uid) or self.reading(uid):
            homes = home.get(user)
            if homes is None:
                found.add(self.single[user])
            else:
                for group in homes:
                    if uid not in group.maps:
                        found.add(group.number)
        return found

    def reading(self, uid):
        """uids of the nodes that read a node, also through views that only rename axes."""
        found, stack = [], list(self.users[uid])
        while stack:
            user = stack.pop()
            if user.op.name in AXIS_VIEWS:
                stack.extend(self.users[user.uid])
            else:
                found.append(user.uid)
        self.readings[uid] = found
        return found

    def sources(self, number):
        """Numbers of the units that a unit reads from memory, as far as they were added."""
        unit, found = self.units[number], set()
        inside = unit.maps if isinstance(unit, Group) else ()
        for node in self.members(number):
            for x in node.inputs:
                while x.op.name in AXIS_VIEWS:
                    x = x.inputs[0]
                if x.uid in self.single:
                    found.add(self.single[x.uid])
                elif x.uid in self.home and x.uid not in inside:
                    found.update([g.number for g in self.home[x.uid]])
        return found

    def flow(self, numbers):
        """The bits of these units and of all below them."""
        found = 0
        for number in numbers:
            found |= self.mark[number] | self.below[number]
        return found

    def beneath(self, numbers):
        """The bits of all units below these."""
        found = 0
        for number in numbers:
            found |= self.below[number]
        return found

    def settle(self, node):
        """Note what flows out of `node`, now that `home` has all groups that compute it."""
        flow = self.flow(self.readers(node))
        for group in self.home[node.uid]:
            self.widen(group.number, flow)

    def widen(self, number, flow):
        """Let `flow` be below a unit and below all that flows into it."""
        stack = [number]
        while stack:
            at = stack.pop()
            if flow & ~self.below[at]:
                self.below[at] |= flow
                stack.extend(self.sources(at))

    def reaches(self, numbers, target):
        """Whether something flows from any of these units into another one, the group `target`."""
        bits = self.bits[target.number]
        found = [n for n in numbers if self.below[n] & bits or n == target.number]
        if not found or target.number not in self.shared:
            return bool(found)
        seen = set()
        while found:  # a bit that two halves share does not say which one
            at = found.pop()
            if at == target.number:
                return True
            if at not in seen:
                seen.add(at)
                found.extend(
                    n for n in self.outside(at) if self.below[n] & bits or n == target.number
                )
        return False

    def outside(self, number):
        """Numbers of all units that read what a unit makes."""
        return {n for node in self.members(number) for n in self.readers(node)} - {number}

    def path(self, a, b):
        """Whether a result of group `a` flows into group `b` through units other than both."""
        if not self.below[a.number] & self.bits[b.number]:
            return False
        return self.reaches(self.outside(a.number) - {b.number}, b)

    def merge(self, a, b):
        """Group `b` became part of `a`; `home` and the members say so already."""
        self.bits[a.number] |= self.bits[b.number]
        self.earlier.setdefault(a.number, []).append(b.number)
        if b.number in self.shared:
            self.shared.add(a.number)
        self.below[a.number] = flow = self.flow(self.outside(a.number))
        for number in self.sources(a.number):  # one bit of the two is enough to know what reaches
            self.widen(number, flow)  # them both, so only what is below them is news

    def cut(self, group, rest):
        """Part of `group` became the new group `rest`: less may flow, here and above."""
        self.add_group(rest)
        self.earlier[rest.number] = [group.number]
        self.mark[rest.number] = self.mark[group.number]
        self.bits[rest.number] = self.bits[group.number]
        self.below[rest.number] = self.below[group.number]
        self.shared |= {group.number, rest.number}
        stack = [group.number, rest.number]
        while stack:
            at = stack.pop()
            flow = self.flow(self.outside(at))
            if flow != self.below[at]:
                self.below[at] = flow
                stack.extend(self.sources(at))
