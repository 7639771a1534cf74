"""In which order of their axes results lie in memory: as their large operands do.

NumPy's rule, for the whole graph: where all operands of elementwise work that have its shape lie in
one order (transposed arrays, channels moved by a view), the result takes it, and so do reductions,
joins and padded tensors; else C order. What needs C order says so here: the next values of
variables, results that a program wants so, tensors that are reshaped, operands of ops with
kernels of their own. Decided before anything is laid out; buffers are not known here.
"""

from ..base import dtypes
from ..graph.op import having
from ..graph.shapes import in_memory
from ..graph.sizes import Size, surely, value_of
from ..graph.walk import consumers

RESHAPES, GENERATORS = having("reshapes"), having("generator")
SAME_MEMORY = ("expand", "squeeze", "set_slice")  # a store may be in place
JOINS = ("concatenate", "set_slice", "pad", "again")  # made of copies, into any order
FREE = None  # the order of what has none: one number everywhere, or made from indices


def c_order(node):
    return tuple(range(node.ndim))


class Orders:
    """of: {uid: order} of results that do not lie in C order; `shown` says how views lie.

    order: all nodes, inputs first; ends: [(buffer, root)]; strides: {uid of an input: its strides,
    or None}; home: uids of what loop nests compute; planes: {uid: order} of what an instruction
    lays otherwise. fixed: whether all results lie in C order; still: whether all nodes do.
    """

    def __init__(self, order, ends, strides, home, planes=(), fixed=False, still=False):
        self.strides, self.home, self.planes = strides, home, dict(planes)
        self.found, self.of, self.still = {}, {}, still
        self.fixed = {id(root) for (space, *_), root in ends if fixed or space != "out"}
        if any(strides.values()) or any(n.op.name == "transpose" for n in order):
            self.c_only = self.wanting(order)
            for node in order:
                self.decide(node)

    def decide(self, node):
        if node.outs is None:
            self.found[node.uid] = self.order_of(node)
            if self.takes(node) and self.shown(node) is not None:
                self.of[node.uid] = self.found[node.uid]

    def takes(self, node):
        """Whether what computes the node can lay it in any order."""
        return (
            not self.still
            and (node.uid in self.home and node.op.name != "partial" or node.op.name in JOINS)
            and not dtypes.is_complex(node.dtype)
        )

    def shown(self, node):
        """The order in which a node or view lies; None for C order."""
        found = self.found.get(node.uid)
        return None if found is FREE or same(found, c_order(node), node.shape) else found

    def source(self, root):
        """The node in whose memory, as the order of the root says, a result may be."""
        node, reshaped = root, False
        turns = id(root) not in self.fixed or self.shown(root) is None
        if self.found.get(root.uid) is FREE:  # what has no order is made in C order
            turns = False
        while node.op.name in RESHAPES or node.op.name == "transpose" and turns and not reshaped:
            reshaped = reshaped or node.op.name == "reshape"
            node = node.inputs[0]
        return node

    def result(self, root):
        """The order of a result; None for C order. A transpose of an input alone is made as it is
        asked for: it is what the program is for."""
        if id(root) in self.fixed:
            return None
        node, turned = root, False
        while node.op.kind == "movement":
            turned = turned or node.op.name == "transpose"
            node = node.inputs[0]
        return None if turned and node.op.kind == "leaf" else self.shown(root)

    def order_of(self, node):
        name = node.op.name
        if name in VIEWS:
            return VIEWS[name](node, self.found[node.inputs[0].uid])
        if node.uid in self.planes:
            return self.planes[node.uid]
        if self.strides.get(node.uid):  # of an input
            return of_input([value_of(s) for s in self.strides[node.uid]], node)
        if name in GENERATORS:
            return FREE
        if node.ndim < 2 or not self.takes(node) or node.uid in self.c_only:
            return c_order(node)
        if node.op.kind == "reduce":
            kept = [k for k in range(node.inputs[0].ndim) if k not in node.attrs["axes"]]
            return renumbered(self.found[node.inputs[0].uid], kept)
        return self.common(node)

    def common(self, node):
        """The order of the large operands; C order where they differ, or none is large."""
        large = [i for i in node.inputs if is_large(node, i)]
        orders = [o for o in (self.found[i.uid] for i in large) if o is not FREE]
        if not orders:
            return FREE if large else c_order(node)
        return orders[0] if all(same(o, orders[0], node.shape) for o in orders) else c_order(node)

    def wanting(self, order):
        """{uid} of what something reads that wants it in C order, straight or with axes of size 1
        more or less."""
        users, found = consumers(order), set()
        for x in reversed(order):
            for user in users[x.uid]:
                if user.op.name in SAME_MEMORY:
                    wants = user.inputs[0] is x and user.uid in found
                else:
                    wants = not self.takes_any(user, x)
                if wants:
                    found.add(x.uid)
                    break
            if id(x) in self.fixed:
                found.add(x.uid)
        return found

    def takes_any(self, user, x):
        """Whether `user` reads `x` as well in another order."""
        name = user.op.name
        if name == "matmul":
            return x.ndim == 2
        return user.uid in self.home or name in VIEWS and name != "reshape" or name in JOINS


def is_large(node, operand):
    """Whether an operand has all elements of the result, or a large part of what is joined."""
    if node.op.name in JOINS:
        return operand.ndim == node.ndim and (
            node.op.name != "set_slice" or node.inputs[0] is operand
        )
    return operand.ndim == node.ndim and surely(operand.shape, node.shape)


def of_input(strides, node):
    """The order of an array with these strides; C order where some elements are seen again."""
    again = any(not s and n != 1 for s, n in zip(strides, map(value_of, node.shape)))
    return c_order(node) if again else in_memory(strides, node.shape)


def same(one, other, shape):
    """Whether two orders are the same for this shape, in which axes of size 1 lie anywhere."""
    return one == other or wide(one, shape) == wide(other, shape)


def wide(order, shape):
    return [k for k in order if type(shape[k]) is Size or shape[k] != 1]


def renumbered(order, kept):
    """The order of the axes `kept`, which are numbered anew."""
    if order is FREE:
        return FREE
    return tuple(kept.index(k) for k in order if k in kept)


# ---- views: (node, order of what it shows) -> order ----------------------------------------------


def transposed(node, order):
    perm = node.attrs["perm"]
    return order if order is FREE else tuple(perm.index(k) for k in order)


def expanded(node, order):
    new = node.attrs["axes"]
    rest = [k for k in range(node.ndim) if k not in new]
    return order if order is FREE else (*new, *(rest[k] for k in order))


def squeezed(node, order):
    x = node.inputs[0]
    return renumbered(order, [k for k in range(x.ndim) if k not in node.attrs["axes"]])


def spread(node, order):
    return order if is_large(node, node.inputs[0]) else FREE


def kept(node, order):
    return order


def reshaped(node, order):
    return c_order(node)


VIEWS = {"transpose": transposed, "expand": expanded, "squeeze": squeezed, "slice": kept,
         "broadcast_to": spread, "reshape": reshaped}  # fmt: skip
