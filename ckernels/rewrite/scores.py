"""Scores and weights of attention as graphs have them: chains of scales, choices, biases and views
that end in a product of matrices or a softmax, and the products that read such weights.

What is found is described; what becomes of it is decided in attention.py.
"""

import threading
from contextlib import contextmanager

from .. import ops
from . import views
from .engine import Matcher, number, remembered

BATCH = ("reshape", "expand", "squeeze")  # views that may regroup the axes of a batch
VIEWS = Matcher(views.family)


def is_number(x, node):
    """Whether an operand is one number, however many axes it has."""
    return all(type(n) is int and n == 1 for n in x.shape) and x.dtype == node.dtype


_passes = threading.local()  # views: what `canonical` calls while one graph is looked at


@contextmanager
def one_graph():
    """Within it `canonical` remembers: each of many blocks asks about all that is before it."""
    before = getattr(_passes, "views", None)
    _passes.views = remembered(VIEWS)
    try:
        yield
    finally:
        _passes.views = before


def canonical(x):
    """`x` with its views as their rules write them, so that equal ones are one node."""
    return (getattr(_passes, "views", None) or remembered(VIEWS))([x])[0]


def swapped(x):
    """The matrices `x` transposed."""
    return canonical(ops.swapaxes(x, -1, -2))


def is_swap(node):
    perm = node.attrs.get("perm", ()) if node.op.name == "transpose" else ()
    n = len(perm)
    return n > 1 and perm == (*range(n - 2), n - 1, n - 2)


def regroups(node):
    """Whether a view keeps the last two axes and regroups those before."""
    if node.op.name not in BATCH:
        return False
    x = node.inputs[0]
    return min(x.ndim, node.ndim) > 1 and x.shape[-2:] == node.shape[-2:]


def regrouped(x, old, new):
    """`x`, matrices of the batch `old` or that broadcast to it, as matrices of the batch `new`."""
    if old == new:
        return x
    return ops.reshape(ops.broadcast_to(x, (*old, *x.shape[-2:])), (*new, *x.shape[-2:]))


def bare(x):
    """`x` without the axes of size 1 that a number has, and without being broadcast."""
    while x.op.name in (*BATCH, "broadcast_to"):
        x = x.inputs[0]
    return x


def condition(node):
    """(condition, whether it stands for what is kept, kept, number) of a choice between scores and
    a number; None for others."""
    if node.op.name != "where":
        return None
    c, yes, no = node.inputs
    for kept, other, holds in ((yes, no, True), (no, yes, False)):
        value = number(bare(other))
        if value is not None and kept.shape == node.shape:
            return c, holds, kept, value
    return None


def all_of(c, holds):
    """The conditions, with whether they hold, all of which `c` (holds: or its opposite) needs."""
    found, stack = [], [(c, holds)]
    while stack:
        c, holds = stack.pop()
        if c.op.name == "logical_not":
            stack.append((c.inputs[0], not holds))
        elif c.op.name == ("logical_and" if holds else "logical_or"):
            stack += [(x, holds) for x in c.inputs]
        else:
            found.append((c, holds))
    return found


class Chain:
    """From scores or weights down to where they come from: what is done on the way.

    scales: (op, number) from the outside in; hidden: {(condition, whether it keeps): batch there}
    of choices; fill: the number of these; drawn: (state, how many of 2**24); terms: what is added,
    as (node, batch there, scales outside of it); nodes: all on the way, the end included.
    """

    def __init__(self, node, is_end, adds=False):
        self.scales, self.hidden, self.fill, self.drawn, self.terms = [], {}, None, None, []
        self.nodes, self.turned, self.adds = [], False, adds
        self.end = self.follow(node, is_end, adds)

    def follow(self, node, is_end, adds):
        while not is_end(node):
            self.nodes.append(node)
            if is_swap(node) and not (self.hidden or self.drawn or self.terms):
                self.turned = not self.turned
                node = node.inputs[0]
                continue
            if regroups(node):
                node = node.inputs[0]
                continue
            for step in (self.choice, self.scaled, self.added if adds else None):
                inner = step and step(node)
                if inner is not None:
                    break
            else:
                return None
            node = inner
        self.nodes.append(node)
        return node

    def choice(self, node):
        found = condition(node)
        if found is None or (self.turned and self.adds):
            return None
        c, holds, kept, value = found
        draw = draws(c, node) if holds and value == 0 else None
        if draw is not None:
            if self.drawn is not None:
                return None
            self.drawn = draw
            return kept
        if self.fill not in (None, value) or self.terms or (value and self.scales):
            return None
        self.fill = value
        self.hidden.update(dict.fromkeys(all_of(c, holds), node.shape[:-2]))
        return kept

    def scaled(self, node):
        name, inputs = node.op.name, node.inputs
        if name == "neg":
            self.scales.append((name, None))
            return inputs[0]
        for k in (1, 0) if name == "mul" else (1,) if name == "true_div" else ():
            if is_number(inputs[k], node) and inputs[1 - k].shape == node.shape:
                self.scales.append((name, inputs[k]))
                return inputs[1 - k]
        return None

    def added(self, node):
        """Of a sum the operand that leads to a product of matrices; the other one is a bias."""
        if node.op.name not in ("add", "sub") or self.turned:
            return None
        for k in (0, 1):
            x, other = node.inputs[k], node.inputs[1 - k]
            if x.shape == node.shape and leads_to_product(x):
                if node.op.name == "sub" and k:
                    return None
                if node.op.name == "sub":
                    other = ops.neg(other)
                self.terms.append((other, node.shape[:-2], tuple(self.scales)))
                return x
        return None

    def product(self):
        """(a, b) where what the chain ends in is the product a @ b, as seen from its outer end."""
        a, b = self.end.inputs
        return (swapped(b), swapped(a)) if self.turned else (a, b)

    def scale_keys(self):
        """The scales in one order, to be compared."""
        return sorted((name, -1 if x is None else bare(x).uid) for name, x in self.scales)


def leads_to_product(x):
    chain = Chain(x, lambda n: n.op.name == "matmul", adds=True)
    return chain.end is not None


def draws(c, node):
    """(state, of 2**24 draws so many are below) where `c` compares draws of its own for each of the
    elements of `node`; else None."""
    if c.op.name != "lt" or c.shape != node.shape or c.inputs[0].op.name != "random_uniform":
        return None
    drawn, value = c.inputs[0], number(bare(c.inputs[1]))
    if drawn.dtype != "float32" or c.inputs[1].dtype != "float32" or value is None:
        return None
    return drawn.inputs[0], int(-(-value * 2**24 // 1))


def rescaled(x, scales):
    for name, factor in scales:
        if factor is None:
            x = ops.neg(x)
        else:
            factor = bare(factor)
            factor = ops.reshape(factor, ()) if factor.ndim else factor
            x = (ops.mul if name == "mul" else ops.true_div)(x, factor)
    return x


# ---- products that read weights, or slopes of scores --------------------------------------------


def products_of(order):
    """{uid of a softmax: [Reader]} of all products that read weights or what follows from them."""
    found = {}
    for node in order:
        if node.op.name == "matmul":
            for k in (0, 1):
                reader = Reader.of(node, k)
                if reader is not None:
                    found.setdefault(reader.weights.uid, []).append(reader)
    return found


def is_weights(node):
    return node.op.name == "softmax" and node.attrs["axis"] == node.ndim - 1 > 0


def slope(node):
    """(weights, slopes of weights, nodes) where `node` is the slope of scores as the gradient of
    softmax is written: p * (g - sum(p * g)); else None."""
    if node.op.name != "mul":
        return None
    for p, less in (node.inputs, node.inputs[::-1]):
        if not is_weights(p) or less.op.name != "sub":
            continue
        g, wide = less.inputs
        total = wide.inputs[0] if wide.op.name == "expand" else wide
        last = (p.ndim - 1,)
        if total.op.name == "sum" and total.attrs["axes"] == last == wide.attrs.get("axes"):
            both = total.inputs[0]
            if both.op.name == "mul" and set(both.inputs) == {p, g} and g.shape == p.shape:
                return p, g, (node, less, wide, total, both)
    return None


class Reader:
    """A product `node` one operand of which, `which`, are weights or (slopes) slopes of scores.

    chain: from there to the weights or slopes; inner: of slopes, the Chain of slopes of weights.
    """

    def __init__(self, node, which, chain, weights, inner):
        self.node, self.which, self.chain = node, which, chain
        self.weights, self.inner = weights, inner
        self.slopes = inner is not None
        self.operand = node.inputs[which]
        self.other = node.inputs[1 - which]
        # W @ x, or x @ W.T, sums over keys; W.T @ x, or x @ W, over rows
        self.over_keys = chain.turned == bool(which)

    @classmethod
    def of(cls, node, which):
        chain = Chain(node.inputs[which], lambda n: is_weights(n) or slope(n))
        if chain.end is None:
            return None
        if is_weights(chain.end):
            return cls(node, which, chain, chain.end, None)
        p, g, nodes = slope(chain.end)
        inner = Chain(g, lambda n: n.op.name == "matmul")
        if inner.end is None:
            return None
        inner.nodes += nodes
        return cls(node, which, chain, p, inner)

    def nodes(self):
        return [*self.chain.nodes, *(self.inner.nodes if self.slopes else ())]

    def with_other(self):
        """The other operand as the right one of a product with weights (or weights turned) left."""
        return self.other if not self.which else swapped(self.other)

    def batch(self):
        return self.node.shape[:-2]

    def finished(self, made):
        """`made`, in the batch of the weights, as the product's result."""
        made = made if not self.which else ops.swapaxes(made, -1, -2)
        return regrouped(made, self.weights.shape[:-2], self.batch())
