"""A Group: nodes that one loop nest computes, and how each lies in the nest's domain.

Views that only rename axes are maps from a tensor's axes to domain axes, so they cost nothing.
`fuse.py` decides what goes into which group. Sizes are compared here, never hashed: a size may be
an expression over the sizes of the inputs.
"""

from ..graph.op import having
from .gathers import KINDS, gather_maps

GENERATORS, AXIS_VIEWS = having("generator"), having("axis_view")
HEAVIEST = 24  # cost of one operation in the sums below; the most that counts
COMPARISONS = having("compares")


class Group:
    """One future kernel. `maps[uid]` sends the axes of a member to domain axes (None: size 1)."""

    def __init__(self, domain, reduced=()):
        self.domain = list(domain)
        self.reduced = tuple(reduced)
        self.maps = {}
        self.nodes = []  # members, users before inputs until `finish`
        self.wants = {}  # uid of a possible member -> the different maps it is read with, a tuple
        self.partial = False  # a chunked reduction: its results are one per chunk
        self.stored = False  # whether what it reduces is better made by another loop
        self.room = None  # the Reason why it takes no more than tails
        self.number = None  # its place in `Units`
        self.varying = set()  # uids in `wants` that change along the loop
        self.cost = 0.0  # of all members, per element
        self.depth = 0.0  # cost of the longest chain of members
        self.behind = {}  # uid -> cost of the longest chain that starts by reading it
        self.held = set()  # uids of what members read at indices, and of these: in memory before
        self.numbers = frozenset()  # uids of constants that the loop reads from memory
        self.reads = {}  # uid of a member -> what it reads: see `reading`

    def axes(self, node):
        """Domain axes (of size other than 1) that a member varies along."""
        return {a for a in self.maps[node.uid] if a is not None}

    def wide(self):
        """All domain axes of size other than 1."""
        return {a for a, n in enumerate(self.domain) if n != 1}

    def outer(self):
        return self.wide() - set(self.reduced)

    def add(self, node, amap):
        """Make `node` a member and note what its operands would have to look like to follow.

        Returns the uids of the operands.
        """
        self.maps[node.uid] = amap
        self.nodes.append(node)
        self.cost += weight(node)
        chain = self.chain_with(node)
        self.depth = max(self.depth, chain)
        self.reads[node.uid] = reads = reading(node, amap, self)
        if node.op.name in KINDS:
            self.held.update(base.uid for _, _, base, _ in reads)
            return []
        wants, behind = self.wants, self.behind
        for _, _, base, want in reads:
            uid = base.uid
            found = wants.get(uid)
            if found is None:
                wants[uid] = (want,)
            elif want not in found:
                wants[uid] = (*found, want)
            if want.count(None) < len(want):
                self.varying.add(uid)
            if behind.get(uid, 0.0) < chain:
                behind[uid] = chain
        return [base.uid for _, _, base, _ in reads]

    def chain_with(self, node):
        """Cost of the longest chain of members that would start with `node`.

        A reduction ends one loop over a row and begins the next: what follows waits for it anyway.
        """
        loops = node.op.kind == "reduce"
        return weight(node) + (0.0 if loops else self.behind.get(node.uid, 0.0))

    def streams(self):
        """Number of tensors read from memory, without values that stay the same along the loop."""
        return len([uid for uid in self.varying | self.held if uid not in self.maps])

    def seen_as(self, uid):
        """The different maps with which the loop makes or reads a tensor."""
        return (self.maps[uid],) if uid in self.maps else self.wants.get(uid, ())

    def sees_alike(self, other, uid):
        """Whether two loops make or read a tensor with the same maps."""
        return set(self.seen_as(uid)) == set(other.seen_as(uid))

    def compares(self):
        """Whether computed tensors are compared with each other here."""
        return any(
            n.op.name in COMPARISONS
            and all(i.value is None for i in n.inputs)
            and n.inputs[0].size != 1
            for n in self.nodes
        )

    def __repr__(self):
        names = ", ".join(n.op.name for n in self.nodes)
        return f"Group({self.domain}, reduced={self.reduced}: {names})"


def weight(node):
    """What `node` adds to the cost of a loop, per element."""
    return min(node.op.cost, HEAVIEST)


def together_deep(a, b):
    """What the depth of two groups is as one. Where one reads what the other makes, chains go from
    one into the other; what is the same all along the loop is no part of them."""
    if a.maps.keys().isdisjoint(b.wants) and b.maps.keys().isdisjoint(a.wants):
        return max(a.depth, b.depth)
    chains, deepest = {}, 0.0  # {uid: cost of the longest chain that ends with it}
    for group, node in sorted(((g, n) for g in (a, b) for n in g.nodes), key=lambda p: p[1].uid):
        reduction, amap = node.op.kind == "reduce", group.maps[node.uid]
        if amap.count(None) == len(amap) and not reduction:
            continue
        reads = [source.uid for _, _, source, _ in group.reads[node.uid]]
        chain = weight(node) + max([chains.get(uid, 0.0) for uid in reads], default=0.0)
        chains[node.uid] = 0.0 if reduction else chain
        deepest = max(deepest, chain)
    return deepest


def operand_maps(node, amap, group):
    """(operand, its axis map) for each tensor operand of a member of `group`."""
    if node.op.name in GENERATORS:
        return [(i, (None,) * i.ndim) for i in node.inputs[:1]]  # the state; shapes are known
    if node.op.name == "partial":
        x = node.inputs[0]
        return [(x, tuple(None if n == 1 else k for k, n in enumerate(x.shape)))]
    if node.op.kind == "reduce":
        x = node.inputs[0]
        kept, reduced, out = iter(amap), iter(group.reduced), []
        for k, size in enumerate(x.shape):
            if k in node.attrs["axes"]:
                axis = next(reduced) if size != 1 else None
            else:
                axis = next(kept)
            out.append(axis)
        return [(x, tuple(out))]
    if node.op.name in KINDS:
        return gather_maps(node, amap)
    result, whole = [], None
    for operand in node.inputs:
        if operand.shape is node.shape:
            if whole is None:
                whole = tuple([None if size == 1 else a for size, a in zip(node.shape, amap)])
            result.append((operand, whole))
        elif operand.shape:
            shift = len(node.shape) - len(operand.shape)
            result.append(
                (
                    operand,
                    tuple(
                        [
                            None if size == 1 else amap[k + shift]
                            for k, size in enumerate(operand.shape)
                        ]
                    ),
                )
            )
        else:
            result.append((operand, ()))
    return result


def reading(node, amap, group):
    """What a member of `group` reads: (operand, its axis map, the tensor behind views that only
    rename axes, the axis map of that)."""
    return [(x, want, *peel(x, want)) for x, want in operand_maps(node, amap, group)]


def peel(node, amap):
    """Look through views that only rename axes: the tensor behind `node` and its own axis map."""
    while (name := node.op.name) in AXIS_VIEWS:
        x = node.inputs[0]
        if name == "expand":
            amap = tuple(a for k, a in enumerate(amap) if k not in node.attrs["axes"])
        elif name == "squeeze":
            kept = iter(amap)
            amap = tuple(None if k in node.attrs["axes"] else next(kept) for k in range(x.ndim))
        elif name == "transpose":
            back = [None] * x.ndim
            for k, source in enumerate(node.attrs["perm"]):
                back[source] = amap[k]
            amap = tuple(back)
        else:
            shift = node.ndim - x.ndim
            amap = tuple(None if n == 1 else amap[k + shift] for k, n in enumerate(x.shape))
        node = x
    return node, amap


def base(node):
    """The node whose memory a view shows."""
    while node.op.kind == "movement" or node.op.name == "item":
        node = node.inputs[0]
    return node
