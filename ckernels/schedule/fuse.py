"""Fusion: convex regions of one iteration domain become one loop nest with several outputs.

Works on graphs whose shapes are all concrete. A Group (`group.py`) is a domain (axis sizes), the
set of domain axes that are reduced, and its members. Strides, buffers and C are not known here.
"""
from ..graph.walk import consumers, toposort
from .group import AXIS_VIEWS, GENERATORS, Group, peel

CHEAP = 3                   # cost up to which computing again beats storing and reading again
MAX_STREAMS = 24            # memory streams of one loop; more thrash the hardware prefetchers
SERIAL_REDUCTION = 65536    # a single row longer than this deserves more than one thread


def fusible(node):
    """Whether the code generator has a scalar expression or a reduction for `node`."""
    if node.dtype is None or node.dtype.startswith("complex"):
        return False
    if any(i.dtype is None or i.dtype.startswith("complex") for i in node.inputs):
        return False
    if node.op.kind == "elementwise":
        return node.op.c is not None or node.op.name in GENERATORS
    return node.op.kind == "reduce" or node.op.name == "partial"


def ancestors(nodes):
    """uids of all nodes that `nodes` are computed from."""
    seen, stack = set(), list(nodes)
    while stack:
        for x in stack.pop().inputs:
            if x.uid not in seen:
                seen.add(x.uid)
                stack.append(x)
    return seen


def fuse(outputs):
    """Partition the fusible nodes under `outputs` into Groups.

    Returns (order, groups_of): the topological order and {uid: [groups the node is computed in]}.
    """
    return _Fuser(outputs).run()


class _Fuser:
    def __init__(self, outputs):
        self.order = toposort(outputs)
        self.rank = {n.uid: i for i, n in enumerate(self.order)}
        self.users = consumers(self.order)
        self.keep = {n.uid for n in outputs}
        self.home = {}              # uid -> groups computing it
        self.groups = []

    def run(self):
        for node in reversed(self.order):
            if fusible(node):
                self.place(node)
        self.merge_siblings()
        for group in self.groups:
            group.nodes.sort(key=lambda n: self.rank[n.uid])
        return self.order, self.home

    def place(self, node):
        wanting = [g for g in self.groups if node.uid in g.wants]
        again = node.op.name in GENERATORS or (node.size == 1 and node.op.kind == "elementwise")
        joined = self.worth_repeating(node, wanting) and self.join_all(node, wanting)
        for group in () if joined else wanting:
            if self.join(node, group, self.fit(node, group)):
                joined = True
                if not again:
                    break
        homes = self.home.get(node.uid, ())
        if not joined or all(g.partial and node.size == 1 for g in homes):
            self.start(node)        # a chunked kernel cannot store one scalar: keep a home that can
        if node.size == 1:
            self.home[node.uid].sort(key=lambda g: g.partial)

    def worth_repeating(self, node, wanting):
        """Whether each loop that reads a cheap `node` had better compute it than one store it.

        Then nobody writes or reads it, and each loop reads at most one tensor of that size instead.
        Not where values are compared: two loops may round a sum of products differently.
        """
        if not 1 < len(wanting) < 6 or node.op.kind != "elementwise" or node.op.cost > CHEAP:
            return False
        if node.uid in self.keep or not all(self.reads_fused(u) for u in self.users[node.uid]):
            return False
        sources = {peel(x, (0,) * x.ndim)[0] for x in node.inputs}
        wide = {x.uid for x in sources if x.size == node.size and x.value is None}
        return all(len(wide - g.wants.keys() - g.maps.keys()) < 2 and not g.compares()
                   for g in wanting)

    def reads_fused(self, user):
        """Whether `user`, or what reads it through views of axes, is computed in a loop."""
        if user.uid in self.home:
            return True
        return user.op.name in AXIS_VIEWS and user.uid not in self.keep and all(
            self.reads_fused(u) for u in self.users[user.uid])

    def start(self, node):
        if node.op.name == "partial":
            group = self.same_chunks(node)
            if group is not None:
                return self.admit(node, group, tuple(None for _ in node.shape))
            group = Group(node.inputs[0].shape, ())
            group.reduced = tuple(a for a in node.attrs["axes"] if group.domain[a] != 1)
            group.partial = True
            amap = tuple(None for _ in node.shape)
        elif node.op.kind == "reduce":
            x = node.inputs[0]
            group = Group(x.shape)
            group.reduced = tuple(a for a in node.attrs["axes"] if x.shape[a] != 1)
            kept = [a for a in range(x.ndim) if a not in node.attrs["axes"]]
            amap = tuple(None if x.shape[a] == 1 else a for a in kept)
        else:
            group = Group(node.shape)
            amap = tuple(None if n == 1 else a for a, n in enumerate(node.shape))
        self.groups.append(group)
        self.admit(node, group, amap)

    def same_chunks(self, node):
        """The group of another partial reduction of this tensor: both must cut it alike."""
        for group in self.groups:
            if any(n.op.name == "partial" and n.inputs == node.inputs and n.shape == node.shape
                   and n.attrs["axes"] == node.attrs["axes"] for n in group.nodes):
                return group
        return None

    def admit(self, node, group, amap):
        if node.op.name == "partial":
            group.maps[node.uid] = amap
            group.nodes.append(node)
            x = node.inputs[0]
            want = tuple(None if n == 1 else a for a, n in enumerate(x.shape))
            base, want = peel(x, want)
            group.wants.setdefault(base.uid, set()).add(want)
        else:
            group.add(node, amap)
        self.home.setdefault(node.uid, []).append(group)

    def join_all(self, node, groups):
        """Make `node` a member of all `groups`, or of none."""
        fits = [self.fit(node, g, groups) for g in groups]
        return None not in fits and all([self.join(node, *pair) for pair in zip(groups, fits)])

    def join(self, node, group, fit):
        if fit is None:
            return False
        amap, group.reduced, group.domain = fit
        self.admit(node, group, amap)
        return True

    def fit(self, node, group, others=()):
        """(axis map, reduced axes, domain) with which `node` can join `group`, or None.

        others: groups that will compute the node for themselves.
        """
        maps = group.wants[node.uid]
        if len(maps) != 1 or node.uid in group.maps or node.op.name == "partial":
            return None
        amap = next(iter(maps))
        if len(set(a for a in amap if a is not None)) != sum(a is not None for a in amap):
            return None
        if len(group.wants) + len(group.nodes) > 64 or self.streams(group) >= MAX_STREAMS:
            return None
        if any(a is None and n != 1 for a, n in zip(amap, node.shape)):
            return None                          # read element by element: a random state
        covers = {a for a in amap if a is not None}
        reduced, domain = group.reduced, group.domain
        if node.op.kind == "reduce":
            change = self.reduction_fit(node, group, covers)
            if change is None:
                return None
            reduced, domain = change
        elif node.size != 1 and node.op.name not in GENERATORS and covers != group.wide():
            if group.partial:
                return None
            if not group.reduced:
                reduced = self.row_axes(node, group, covers)
            if not reduced or covers != group.wide() - set(reduced):
                return None
        if node.size and any(n == 0 and a not in reduced for a, n in enumerate(domain)):
            return None                          # that loop never runs, but `node` has a value
        away = [u for u in self.readers(node) if u is not group and u not in others]
        return None if self.reaches(away, group) else (amap, reduced, domain)

    def reduction_fit(self, node, group, covers):
        """(reduced axes, domain) of `group` once `node` reduces inside it, or None."""
        x = node.inputs[0]
        sizes = [x.shape[a] for a in node.attrs["axes"] if x.shape[a] != 1]
        if group.partial or not sizes:
            return None
        wide = group.wide()
        if group.reduced:
            same = [group.domain[a] for a in group.reduced] == sizes
            return (group.reduced, group.domain) if same and covers == group.outer() else None
        free = sorted(wide - covers)
        total = 1
        for n in sizes:
            total *= n
        if not free:                              # the group so far is this reduction's epilogue
            first = len(group.domain)
            return tuple(range(first, first + len(sizes))), group.domain + sizes
        if [group.domain[a] for a in free] != sizes:
            return None
        if not covers and total > SERIAL_REDUCTION:
            return None                           # one long row: a barrier would make it serial
        return tuple(free), group.domain

    def row_axes(self, node, group, covers):
        """The axes a row-level `node` leaves free, when a reduction over just those feeds it."""
        free = tuple(sorted(group.wide() - covers))
        sizes = [group.domain[a] for a in free]
        if not covers:
            return ()
        seen, stack = set(), [node]
        while stack:
            x = stack.pop()
            while x.op.name in AXIS_VIEWS:
                x = x.inputs[0]
            if x.uid in seen or x.size != node.size:
                continue
            seen.add(x.uid)
            if x.op.kind == "reduce" and x.op.name != "partial":
                source = x.inputs[0]
                if [source.shape[a] for a in x.attrs["axes"] if source.shape[a] != 1] == sizes:
                    return free
            elif fusible(x):
                stack.extend(x.inputs)
        return ()

    def streams(self, group):
        inside = group.maps
        return sum(1 for uid in group.wants if uid not in inside)

    def readers(self, node):
        """What reads `node` from memory: groups that do not compute it, and single nodes."""
        stack = list(self.users[node.uid])
        while stack:
            user = stack.pop()
            if user.uid in self.home:
                yield from (g for g in self.home[user.uid] if node.uid not in g.maps)
            elif user.op.name in AXIS_VIEWS:
                stack.extend(self.users[user.uid])
            else:
                yield user

    def reaches(self, units, target):
        """Whether what `units` (groups and single nodes) compute flows into the group `target`."""
        stack, seen = list(units), set()
        while stack:
            unit = stack.pop()
            if unit is target:
                return True
            if id(unit) not in seen:
                seen.add(id(unit))
                for node in unit.nodes if isinstance(unit, Group) else (unit,):
                    stack.extend(self.readers(node))
        return False

    def merge_siblings(self):
        """Join groups of one domain that read the same large tensor, or one of which makes it."""
        touched = {}
        for group in self.groups:
            for uid in dict.fromkeys([*group.maps, *group.wants]):
                touched.setdefault(uid, []).append(group)
        size = {n.uid: (n.size or 0) if n.shape is not None else 0 for n in self.order}
        for uid, groups in touched.items():
            if size[uid] < 2:
                continue
            for i, a in enumerate(groups):
                for b in groups[i + 1:]:
                    if a.nodes and b.nodes and a is not b:
                        self.try_merge(a, b, uid)

    @staticmethod
    def seen_as(group, uid):
        """The maps with which `group` makes or reads a tensor."""
        return {group.maps[uid]} if uid in group.maps else group.wants.get(uid, set())

    def try_merge(self, a, b, uid):
        if not self.same_loop(a, b) or len(a.nodes) + len(b.nodes) > 64:
            return
        shared = self.seen_as(a, uid)
        if shared != self.seen_as(b, uid) or len(shared) != 1:
            return
        if not set(next(iter(shared))) - {None}:
            return
        if any(self.seen_as(a, k) != self.seen_as(b, k) for k in {*a.maps, *b.maps}
               if self.seen_as(a, k) and self.seen_as(b, k)):
            return                                # one makes what the other reads in another order
        if self.streams(a) + self.streams(b) > MAX_STREAMS:
            return
        if a.partial:
            self.untangle(a, b)
            self.untangle(b, a)
        if self.path(a, b) or self.path(b, a):
            return
        for node in b.nodes:
            if node.uid not in a.maps:
                a.maps[node.uid] = b.maps[node.uid]
                a.nodes.append(node)
            homes = self.home[node.uid]
            homes[:] = dict.fromkeys(a if g is b else g for g in homes)
        for key, maps in b.wants.items():
            a.wants.setdefault(key, set()).update(maps)
        a.reduced = a.reduced or b.reduced
        b.nodes = []
        b.maps = {}
        self.groups = [g for g in self.groups if g is not b]

    @staticmethod
    def same_loop(a, b):
        """Whether two groups can share a nest: the same, or a flat one beside the other's rows."""
        if a.domain != b.domain or a.partial != b.partial:
            return False
        if a.partial:
            mine, yours = ({n.shape for n in g.nodes if n.op.name == "partial"} for g in (a, b))
            return a.reduced == b.reduced and mine == yours
        if a.reduced == b.reduced:
            return True
        rows = a if a.reduced else b
        if a.reduced and b.reduced:
            return False
        outer = total = 1
        for k, n in enumerate(rows.domain):
            total, outer = total * n, outer * (1 if k in rows.reduced else n)
        return total <= SERIAL_REDUCTION or outer >= 64     # else the flat loop would lose threads

    def untangle(self, a, b):
        """Cut loops in two that read `a` and make what `b` needs, but not of `a`.

        Two passes over the same chunks can then be one: the sums of g and of g * (x - mean) that a
        batch norm's gradient wants need not wait for each other, though one loop uses both.
        """
        between = self.path(a, b) and ancestors(b.nodes)
        if not between or not between.isdisjoint(n.uid for n in a.nodes):
            return
        for group in list(self.groups):
            early = [n for n in group.nodes if n.uid in between]
            late = [n for n in group.nodes if n.uid not in between]
            if group is not b and not group.partial and all(
                    any(n.op.kind == "reduce" for n in part) for part in (early, late)):
                self.cut(group, early, late)

    def cut(self, group, early, late):
        """Make `group` two: nodes `late` go to a new one."""
        parts = []
        for nodes in (early, late):
            part = Group(group.domain, group.reduced)
            for node in nodes:
                part.add(node, group.maps[node.uid])
            parts.append(part)
        group.nodes, group.maps, group.wants = parts[0].nodes, parts[0].maps, parts[0].wants
        self.groups.append(parts[1])
        for node in late:
            homes = self.home[node.uid]
            homes[:] = [parts[1] if g is group else g for g in homes]

    def path(self, a, b):
        """Whether a result of `a` flows into `b` through nodes outside of both."""
        outside = [u for n in a.nodes for u in self.readers(n) if u is not a and u is not b]
        return self.reaches(outside, b)
