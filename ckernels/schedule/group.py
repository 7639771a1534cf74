"""A Group: nodes that one loop nest computes, and how each lies in the nest's domain.

Views that only rename axes are maps from a tensor's axes to domain axes, so they cost nothing.
`fuse.py` decides what goes into which group. Sizes are compared here, never hashed: a size may be
an expression over the sizes of the inputs.
"""
GENERATORS = {"iota", "random_uniform", "random_normal", "random_bits"}
AXIS_VIEWS = {"expand", "squeeze", "transpose", "broadcast_to"}
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "argmax", "argmin"}


class Group:
    """One future kernel. `maps[uid]` sends the axes of a member to domain axes (None: size 1)."""

    def __init__(self, domain, reduced=()):
        self.domain = list(domain)
        self.reduced = tuple(reduced)
        self.maps = {}
        self.nodes = []                 # members, users before inputs until `finish`
        self.wants = {}                 # uid of a possible member -> set of maps it is read with
        self.partial = False            # a chunked reduction: its results are one per chunk
        self.number = None              # its place in `Units`

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
        read = []
        for operand, want in operand_maps(node, amap, self):
            base, want = peel(operand, want)
            self.wants.setdefault(base.uid, set()).add(want)
            read.append(base.uid)
        return read

    def streams(self):
        """Number of tensors the loop reads from memory."""
        return sum(1 for uid in self.wants if uid not in self.maps)

    def seen_as(self, uid):
        """The maps with which the loop makes or reads a tensor."""
        return {self.maps[uid]} if uid in self.maps else self.wants.get(uid, set())

    def compares(self):
        """Whether computed tensors are compared with each other here."""
        return any(n.op.name in COMPARISONS and all(i.value is None for i in n.inputs)
                   and n.inputs[0].size != 1 for n in self.nodes)

    def __repr__(self):
        names = ", ".join(n.op.name for n in self.nodes)
        return f"Group({self.domain}, reduced={self.reduced}: {names})"


def operand_maps(node, amap, group):
    """(operand, its axis map) for each tensor operand of a member of `group`."""
    if node.op.name in GENERATORS:
        return [(i, (None,) * i.ndim) for i in node.inputs[:1]]     # the state; shapes are known
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
    result = []
    for operand in node.inputs:
        shift = node.ndim - operand.ndim
        result.append((operand, tuple(None if size == 1 else amap[k + shift]
                                      for k, size in enumerate(operand.shape))))
    return result


def peel(node, amap):
    """Look through views that only rename axes: the tensor behind `node` and its own axis map."""
    while node.op.name in AXIS_VIEWS:
        name, x = node.op.name, node.inputs[0]
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
