"""Attention in graphs as users write them, softmax(q @ k.T * scale + bias) @ v, and gradients.

A softmax whose weights are read by products alone becomes one node that keeps no scores, if these
are many; so do the products of its gradient, which come from the same rules wherever the softmax
came from. What almost is attention is left as it is, for a reason. This file knows nothing of how
tiles are made.
"""

from .. import ops
from ..base import dtypes
from ..graph.node import item, line_of, make
from ..graph.printing import location
from ..graph.shapes import product
from ..graph.sizes import smallest
from ..graph.walk import consumers, toposort
from .causal import causal_offset
from .scores import (
    Chain,
    canonical,
    is_weights,
    one_graph,
    products_of,
    regrouped,
    rescaled,
    swapped,
)

# Scores of one matrix, and of all: fewer stay in cache, where products and one loop over rows are
# faster, by 1.3 times for 64 by 64 and by 1.03 for 256 by 256 (Zen 4, one thread, width 64); 8 of
# 512 by 512 are level, and from there on blocks win.
LEAST_OF_ONE, LEAST = 1 << 16, 1 << 20


class NotAttention(Exception):
    """Why a softmax is none of attention: a sentence, in which {} stands for a node."""

    def __init__(self, text, *about):
        super().__init__(text)
        self.text, self.about = text, about

    def __str__(self):
        places = [
            (x.op.name, location(x.line)) if hasattr(x, "op") else (x, "") for x in self.about
        ]
        return self.text.format(*(f"{name} ({at})" if at else name for name, at in places))


@one_graph()
def attention_blocks(roots, least=None, refused=None):
    """`roots` with attention by blocks. refused: a list that receives (softmax node, why)."""
    order = toposort(roots)
    weights = [n for n in order if n.op.name == "softmax"]
    if not weights:
        return roots
    users, found = consumers(order), {}
    readers, least = products_of(order), LEAST if least is None else least
    for p in weights:
        if readers.get(p.uid):
            try:
                found.update(Attention(p, readers[p.uid], users, roots, least).products())
            except NotAttention as no:
                if refused is not None:
                    refused.append((p, str(no)))
    return rebuilt(roots, found) if found else roots


def rebuilt(roots, found):
    """`roots` with other nodes in the place of some: found, {node: node of the graph as it is}.
    Where one would depend on itself (its operands are made from its result), all stays."""
    final, stack, at_work = {}, list(reversed(roots)), set()
    while stack:
        node = stack[-1]
        if node in final:
            stack.pop()
            continue
        reads = (found[node],) if node in found else node.inputs
        waiting = [x for x in reads if x not in final]
        if waiting:
            if node in at_work:
                return roots
            at_work.add(node)
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        inputs = [final[x] for x in reads]
        if node in found:
            final[node] = inputs[0]
        elif all(x is old for x, old in zip(inputs, node.inputs)):
            final[node] = node
        else:
            with line_of(node):
                final[node] = make(node.op, inputs, node.attrs, like=node)
    return [final[n] for n in roots]


class Attention:
    """A softmax, and the products that read its weights."""

    def __init__(self, p, readers, users, roots, least):
        self.p, self.readers, self.users, self.least = p, readers, users, least
        self.roots = {n.uid for n in roots}
        self.batch = p.shape[:-2]

    def products(self):
        """{product: what takes its place}; NotAttention where the scores have to be stored."""
        p = self.p
        if not is_weights(p):
            raise NotAttention("the softmax is not along the last axis")
        if p.dtype not in ("float32", "float64"):
            raise NotAttention("it is {}: only float32 and float64 are made by blocks", p.dtype)
        if not any(r.over_keys and not r.slopes for r in self.readers):
            raise NotAttention("no product sums over what the softmax weighs")
        self.scores = Chain(p.inputs[0], lambda n: n.op.name == "matmul", adds=True)
        if self.scores.end is None:
            raise NotAttention("its scores are no product with a scale, a bias and a mask")
        if self.scores.drawn is not None:
            raise NotAttention("scores are drawn before their softmax")
        self.check_readers()
        self.check_users()
        # Blocks add up in another order: results follow from sizes alone, so the bounds are exact.
        one, least = product(p.shape[-2:]), min(LEAST_OF_ONE, self.least)
        if not (one >= least and product(p.shape) >= self.least):
            raise NotAttention("there are few scores: they stay in cache")
        return {r.node: self.replaced(r) for r in self.readers}

    # ---- what has to hold ---------------------------------------------------------------------

    def check_readers(self):
        self.first = next(r for r in self.readers if r.over_keys and not r.slopes)
        self.kept = self.first.chain
        if self.kept.fill not in (None, 0) or self.kept.terms:
            raise NotAttention("something is done with its weights before they are read")
        self.zero = bool(self.kept.hidden)
        if self.zero and (
            set(self.kept.hidden) != set(self.scores.hidden) or not self.is_low(self.scores.fill)
        ):
            raise NotAttention("other weights are set to 0 than those of hidden scores")
        for r in self.readers:
            of_weights = r.inner if r.slopes else r.chain
            if self.how(of_weights) != self.how(self.kept):
                raise NotAttention("{} reads the weights in another way", r.node)
            if r.slopes and (
                r.chain.scale_keys() != self.scores.scale_keys()
                or set(r.chain.hidden) != set(self.scores.hidden)
                or r.chain.drawn is not None
                or r.chain.fill not in (None, 0)
            ):
                raise NotAttention("{} reads another slope than that of the scores", r.node)
            operand = r.operand.shape
            if operand[:-2] != r.batch():
                raise NotAttention("{} has one matrix of weights for many products", r.node)
            if r.slopes:
                g, vt = r.inner.product()
                batch = r.inner.end.shape[:-2]
                r.pair = self.of_weights(g, batch), self.of_weights(swapped(vt), batch)
                self.check_gradient(r)

    def is_low(self, fill):
        return fill is not None and fill < float(dtypes.finfo(self.p.dtype).min) / 4

    @staticmethod
    def how(chain):
        return chain.scale_keys(), set(chain.hidden), chain.drawn

    def check_gradient(self, r):
        """Slopes of scores are multiplied with the very keys and queries that made the scores."""
        q, kt = self.scores.product()
        want = swapped(kt) if r.over_keys else q
        if canonical(r.with_other()) is not canonical(want):
            raise NotAttention("{} is no gradient by queries or keys", r.node)

    def of_weights(self, x, batch):
        """Matrices of a batch as matrices of the batch that weights have."""
        return regrouped(canonical(x), batch, self.batch)

    def pair_for(self, r):
        """(g, v), both in the batch of weights, for a product that is part of a gradient: slopes of
        weights are g @ v.T. Where only values have a gradient, v may be any."""
        if r.slopes:
            return r.pair
        g = self.of_weights(r.with_other(), r.batch())
        same = [x.pair for x in self.readers if x.slopes and x.pair[0] is g]
        first = self.first
        return same[0] if same else (g, self.of_weights(first.with_other(), first.batch()))

    def check_users(self):
        """Nobody else reads what is not stored any more."""
        inside = {n.uid for n in (self.p, *self.scores.nodes)}
        for r in self.readers:
            inside.update(n.uid for n in r.nodes())
        mine = inside | {r.node.uid for r in self.readers}
        for uid in inside:
            for user in self.users.get(uid, ()):
                if user.uid not in mine:
                    raise NotAttention("{} reads the scores or their weights too", user)
            if uid in self.roots:
                raise NotAttention("the weights are a result themselves")

    # ---- what is made -------------------------------------------------------------------------

    def operands(self):
        """(q, k, {name: other operand}, attrs) of the nodes"""
        batch = self.scores.end.shape[:-2]
        q, kt = self.scores.product()
        q = rescaled(self.of_weights(q, batch), self.scores.scales)
        others = {"bias": self.bias(), **self.mask()}
        causal = others.pop("causal", None)
        if self.kept.drawn is not None:
            others["state"] = self.kept.drawn[0]
        others = {name: x for name, x in others.items() if x is not None}
        fill = float("-inf") if self.zero or self.scores.fill is None else self.scores.fill
        attrs = {
            "has": tuple(others),
            "causal": causal,
            "fill": float(fill),
            "zero": self.zero,
            "keep": 0 if self.kept.drawn is None else self.kept.drawn[1],
        }
        return q, self.of_weights(swapped(kt), batch), others, attrs

    def bias(self):
        """All that is added to scores, as one node; None where nothing is."""
        total = None
        for x, batch, scales in self.scores.terms:
            x = rescaled(ops.cast(x, self.p.dtype), scales)
            lack = 2 - x.ndim
            x = ops.expand(x, tuple(range(lack))) if lack > 0 else x
            x = regrouped(x, batch, self.batch)
            total = x if total is None else ops.add(total, x)
        return total

    def mask(self):
        """{"mask": a bool node, "causal": a number}, of which one or both may be missing."""
        masks, causal = None, None
        for (c, holds), batch in self.scores.hidden.items():
            offset = causal_offset(c, holds, self.p.shape[-2:])
            if offset is not None:
                causal = offset if causal is None else smallest(causal, offset)
                continue
            c = c if holds else ops.logical_not(c)
            c = ops.expand(c, tuple(range(2 - c.ndim))) if c.ndim < 2 else c
            c = regrouped(c, batch, self.batch)
            masks = c if masks is None else ops.logical_and(masks, c)
        return {"mask": masks, "causal": causal}

    def replaced(self, r):
        """What takes the place of the product that `r` is."""
        q, k, others, attrs = self.operands()
        with line_of(r.node):
            if r.over_keys and not r.slopes:
                v = self.of_weights(r.with_other(), r.batch())
                made = item(make("attention", (q, k, v, *others.values()), attrs), 0)
                return r.finished(rescaled(made, r.chain.scales))
            g, v = self.pair_for(r)
            g = rescaled(g, (r.inner if r.slopes else r.chain).scales)
            inputs = (q, k, v, *others.values())
            ahead = make("attention", inputs, attrs)
            back = make("attention_grad", (*inputs, item(ahead, 0), item(ahead, 1), g), attrs)
            made = item(back, 2 if not r.slopes else 0 if r.over_keys else 1)
            return r.finished(rescaled(made, r.chain.scales) if r.slopes and r.over_keys else made)
