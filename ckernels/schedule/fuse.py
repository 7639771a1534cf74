"""Fusion: convex regions of one iteration domain become one loop nest with several outputs.

Works on graphs whose shapes are all concrete, users before what they use. What may join is asked of
`legal.py`, what is worth it of `policy.py`; `units.py` knows what would make a cycle. Strides,
buffers and C are not known here.
"""

from ..graph.sizes import surely
from ..graph.walk import consumers, toposort
from .gathers import is_gather
from .group import AXIS_VIEWS, GENERATORS, Group
from .horizontal import Horizontal
from .legal import APART, RESHAPED, TAKEN, Beside, Join, fusible, in_the_way
from .parameters import parameterise
from .policy import is_read_by_loops, worth_repeating
from .units import Units

__all__ = ["Schedule", "fuse", "fusible"]


class Schedule:
    """order: all nodes, inputs before users; home: {uid: [groups the node is computed in]}.

    Unpacks as (order, home). `why` says of what a loop reads why it does not compute it; apart:
    {(a group, a group): (uid of a tensor that both make or read, the Reason why they are not one)}.
    """

    def __init__(self, order, home, missed, earlier, apart):
        self.order, self.home, self.apart = order, home, apart
        self.missed, self.earlier = missed, earlier

    def __iter__(self):
        return iter((self.order, self.home))

    def why(self, node, group):
        """The Reason why `group` reads `node` from memory; None for inputs and constants."""
        if node.op.kind == "leaf":
            return None
        if node.uid not in self.home:
            noted = self.on_rows(node, group)
            if node.op.name == "reshape":
                return RESHAPED
            return noted or APART.get(node.op.kind, APART["opaque"])
        stack = [group.number]
        while stack:
            number = stack.pop()
            if (node.uid, number) in self.missed:
                return self.missed[node.uid, number]
            stack.extend(self.earlier.get(number, ()))
        return TAKEN

    def on_rows(self, node, group):
        """The Reason why `group` does not run on the rows of `node`, which no loop computes; None
        where it does, or was not asked."""
        return None if node.uid in self.home else self.missed.get((node.uid, group.number))

    def note(self, node, group, reason):
        """Why `group` does not run on the rows of `node`, a product; None where it does."""
        self.missed[node.uid, group.number] = reason

    def note_band(self, rows, sums, reason):
        """Why two loops, which both make or read a tensor, are not one that goes band by band."""
        uid = next(u for u in (*rows.maps, *rows.varying) if u in sums.varying)
        self.apart[rows, sums] = uid, reason


def fuse(outputs, apart=False):
    """Partition the fusible nodes under `outputs` (concrete shapes) into Groups: a Schedule.

    apart: numbers lie in memory, so that kernels serve programs with others; see parameters.py.
    """
    return _Fuser(outputs, apart).run()


def longest_first(order, outputs):
    """The nodes of `order`, of a sum's operands the one that takes the longest chain first: the
    terms that are added to it then need not wait for it."""
    depth = {}
    for node in order:
        chain = node.op.kind == "elementwise"
        depth[node.uid] = 1 + max([depth[x.uid] for x in node.inputs], default=0) if chain else 0
    result, met, stack = [], set(), list(outputs)[::-1]
    while stack:
        node = stack.pop()
        if node is None:  # the inputs of the next one are in the order
            result.append(stack.pop())
        elif node.uid not in met:
            met.add(node.uid)
            stack += (node, None)
            inputs = node.inputs
            if depth[node.uid] and len(inputs) > 1:
                inputs = sorted(inputs, key=lambda x: -depth[x.uid])
            stack.extend(x for x in inputs[::-1] if x.uid not in met)
    return result


def side_by_side(order, users):
    """`order` where elementwise nodes that free an operand come as soon as all operands are there.

    Two sums over the same terms go on together then, term by term. One after the other, as the
    order of the graph has them, all terms would wait between the two, and loops that are full in
    the middle would store them.
    """
    result, done = [], set()
    waits = {n.uid: len(dict.fromkeys(n.inputs)) for n in order}
    left = {n.uid: len(users[n.uid]) for n in order}

    def frees(node):
        return any(
            left[x.uid] == 1 and x.op.kind == "elementwise" and surely(x.size, node.size)
            for x in node.inputs
        )

    for first in order:
        stack = [first]
        while stack:
            node = stack.pop()
            if node.uid in done:
                continue
            done.add(node.uid)
            result.append(node)
            last = []  # to read an operand
            for x in dict.fromkeys(node.inputs):
                left[x.uid] -= 1
                if left[x.uid] == 1:
                    last += [u for u in users[x.uid] if u.uid not in done]
            for user in users[node.uid]:
                waits[user.uid] -= 1
            for user in (*last, *users[node.uid]):
                if not waits[user.uid] and user.op.kind == "elementwise" and frees(user):
                    stack.append(user)
    return result


class _Fuser:
    def __init__(self, outputs, apart):
        order, self.apart = longest_first(toposort(outputs), outputs), apart
        self.users = consumers(order)
        self.order = side_by_side(order, self.users)
        self.keep = {n.uid for n in outputs}
        self.units = Units(self.users)
        self.home = self.units.home
        self.groups = []
        self.wanting = {}  # uid -> groups that read the tensor
        self.missed = {}  # (uid, number of a group) -> the Reason why they are not joined
        self.rests = {}  # number of a full group -> the one that took what it refused
        self.chunks = {}  # (uid, axes) -> [(partial reduction of it, its group)]

    def run(self):
        for node in reversed(self.order):
            if fusible(node):
                self.place(node)
                self.units.settle(node)
            elif is_gather(node) and self.place_gather(node):
                self.units.settle(node)
            elif node.op.name not in AXIS_VIEWS:
                self.units.add_single(node)
        horizontal = Horizontal(self.units, self.groups, self.order)
        groups = horizontal.join()
        rank = {n.uid: i for i, n in enumerate(self.order)}
        for group in groups:
            group.nodes.sort(key=lambda n: rank[n.uid])
        parameterise(groups, self.apart)
        return Schedule(self.order, self.home, self.missed, self.units.earlier, horizontal.apart)

    def place(self, node):
        """Put a node into groups that read it, or into one of its own."""
        wanting = list(self.wanting.get(node.uid, ()))
        if len(wanting) > 1:
            wanting.sort(key=lambda g: g.number)
        scalar = all(n == 1 for n in node.shape)
        again = node.op.name in GENERATORS or (scalar and node.op.kind == "elementwise")
        readers = sorted(self.units.readers(node), reverse=True)  # the one made last first
        beneath = self.units.beneath(readers)
        joined = worth_repeating(node, wanting, self.keep, self.users, self.home) and self.join_all(
            node, wanting, readers, beneath
        )
        for group in () if joined else wanting:
            if self.join(node, group, readers, beneath):
                joined = True
                if not again:
                    break
        homes = self.home.get(node.uid, ())
        if not joined and not self.join_rest(node, wanting, readers, beneath):
            self.start_rest(node, wanting)
        elif scalar and all(g.partial for g in homes):
            self.start(node)  # a chunked kernel cannot store one scalar: keep a home that can
        if scalar:
            self.home[node.uid].sort(key=lambda g: g.partial)

    def place_gather(self, node):
        """Whether a gather is now a load of all loops that read it, or of one that stores it; else
        it is a kernel of its own."""
        wanting = sorted(self.wanting.get(node.uid, ()), key=lambda g: g.number)
        readers = sorted(self.units.readers(node), reverse=True)
        beneath = self.units.beneath(readers)
        if is_read_by_loops(node, wanting, self.keep, self.users, self.home):
            return self.join_all(node, wanting, readers, beneath)
        return any(self.join(node, group, readers, beneath) for group in wanting)

    def join_all(self, node, groups, readers, beneath):
        """Make `node` a member of all `groups`, or of none."""
        joins = [Join(node, g, self.users) for g in groups]
        if any(self.why_not(j, readers, beneath, groups) for j in joins):
            return False
        for join in joins:
            self.admit(join)
        return True

    def join(self, node, group, readers, beneath):
        """Whether `node` is now a member of `group`."""
        join = Join(node, group, self.users)
        reason = self.why_not(join, readers, beneath, (*self.home.get(node.uid, ()), group))
        if reason is not None:
            self.missed[node.uid, group.number] = reason
            return False
        self.admit(join)
        return True

    def join_rest(self, node, wanting, readers, beneath):
        """Whether `node` is now beside what a full loop refused before: two sums over the same
        terms, which one loop makes to its end, go on in one loop."""
        for group in wanting:
            rest = self.rests.get(group.number)
            if rest is None or self.missed[node.uid, group.number] is not group.room:
                continue
            join = Beside(node, rest, self.users)
            if self.why_not(join, readers, beneath, (rest,)) is None:
                self.admit(join)
                return True
        return False

    def start_rest(self, node, wanting):
        """A group for `node`, beside which what else the same full loops refuse will be."""
        self.start(node)
        for group in wanting:
            if self.missed[node.uid, group.number] is group.room:
                self.rests[group.number] = self.home[node.uid][-1]

    def why_not(self, join, readers, beneath, inside):
        """The Reason against a join when the groups `inside` compute the node for themselves."""
        reason = join.why_not()
        if reason is not None or not beneath & self.units.bits[join.group.number]:
            return reason
        inside = {g.number for g in inside}
        return in_the_way(self.units, [r for r in readers if r not in inside], join.group)

    def admit(self, join):
        join.group.reduced, join.group.domain = join.reduced, join.domain
        self.add(join.node, join.group, join.amap)

    def add(self, node, group, amap):
        for uid in group.add(node, amap):
            self.wanting.setdefault(uid, {})[group] = None
        self.home.setdefault(node.uid, []).append(group)

    def start(self, node):
        """A group for `node`: what reads the same tensor in the same chunks is one group."""
        if node.op.kind != "reduce":
            amap = tuple(None if n == 1 else a for a, n in enumerate(node.shape))
            return self.found(Group(node.shape), node, amap)
        x, axes = node.inputs[0], node.attrs["axes"]
        if node.op.name != "partial":
            wide = [a for a in range(x.ndim) if x.shape[a] != 1]
            place = {a: k for k, a in enumerate(wide)}
            group = Group([x.shape[a] for a in wide], [place[a] for a in axes if a in place])
            kept = (a for a in range(x.ndim) if a not in axes)
            return self.found(group, node, tuple(map(place.get, kept)))
        amap = (None,) * node.ndim
        groups = self.chunks.setdefault((x.uid, axes), [])
        for other, group in groups:
            if other.shape == node.shape:
                return self.add(node, group, amap)
        group = Group(x.shape, [a for a in axes if x.shape[a] != 1])
        group.partial = True
        groups.append((node, group))
        return self.found(group, node, amap)

    def found(self, group, node, amap):
        self.units.add_group(group)
        self.groups.append(group)
        self.add(node, group, amap)
