"""Updates of rows: `w - rate * gradient` whose gradient is zero but for rows that were gathered.

Gradients of gathers are scatters into zeros. An update that adds such a one to its variable, scaled
by numbers, becomes an addition to these rows alone; so does one whose gradient is a slice set in
zeros. What is added to a row that was gathered more than once is summed first, in the order of the
scatter: a sum of large numbers and a small one would lose digits. Nothing here knows how plans
write in place.
"""

import numpy as np

from ..base import dtypes
from ..graph.node import constant, make
from ..graph.shapes import product
from ..graph.walk import consumers, rebuild, toposort
from ..ops import broadcast_to, concatenate, flatten, neg, reshape, slice_
from ..ops.base import cast

FEW = 2  # rows are worth it up to this part of the variable: half of it


def gathered_updates(updates, outputs):
    """New values [(variable, new value)] -> new values, those that change a few rows rewritten."""
    roots = [*outputs, *(new for _, new in updates)]
    users = consumers(toposort(roots))
    kept = {}
    for root in roots:
        kept[root.uid] = kept.get(root.uid, 0) + 1
    return [
        new if kept[new.uid] > 1 else Gathered(variable, users, kept).rewritten(new)
        for variable, new in updates
    ]


class Gathered:
    """One variable, and who reads the nodes of the graph (`users`) or keeps their values."""

    def __init__(self, variable, users, kept):
        self.variable, self.users, self.kept = variable, users, kept

    def rewritten(self, new):
        step, sign = self.step_of(new)
        terms = [] if step is None else self.terms_of(step, new)
        if not terms:
            return new
        if all(term.op.name == "scatter_add" for term in terms):
            return self.of_rows(new, step, terms, sign)
        if len(terms) == 1 and self.few(terms[0].inputs[1].shape):
            part = rebuild([step], {terms[0]: terms[0].inputs[1]})[0]
            part = neg(part) if sign < 0 else part
            return make("inc_slice", (self.variable, part), terms[0].attrs, like=new)
        return new

    def step_of(self, new):
        """(what is added to the variable, its sign) where the new value is such a sum."""
        if not dtypes.is_float(new.dtype) or new.shape != self.variable.shape or not new.ndim:
            return None, 0
        if new.op.name in ("add", "sub") and new.inputs[0] is self.variable:
            return new.inputs[1], 1 if new.op.name == "add" else -1
        if new.op.name == "add" and new.inputs[1] is self.variable:
            return new.inputs[0], 1
        return None, 0

    def terms_of(self, step, new):
        """The scatters, or the slice in zeros, of which `step` is a sum with scalar factors; empty
        where it is anything else, or where somebody else reads what would not be computed."""
        found, stack = [], [(step, new)]
        while stack:
            node, user = stack.pop()
            if self.users[node.uid] != [user] or node.uid in self.kept:
                return []
            if node.shape != self.variable.shape or node.dtype != self.variable.dtype:
                return []
            name = node.op.name
            if is_term(node):
                found.append(node)
            elif name in ("add", "sub") and node.inputs[0] is not node.inputs[1]:
                stack += [(x, node) for x in node.inputs]
            elif name == "neg" or name == "true_div" and is_number(node.inputs[1], node):
                stack.append((node.inputs[0], node))
            elif name == "mul" and any(is_number(x, node) for x in node.inputs):
                stack.append((node.inputs[is_number(node.inputs[0], node)], node))
            else:
                return []
        return found[::-1]

    def few(self, shape):
        return product(shape) * FEW < product(self.variable.shape)

    def of_rows(self, new, step, terms, sign):
        """Rows that belong together are summed where the first of them stands; the others are
        zero, and adding them changes nothing."""
        indices = [flatten(term.inputs[1]) for term in terms]
        counts = [i.shape[0] for i in indices]
        width = self.variable.shape[1:]
        if not self.few((sum(counts), *width)) or 0 in (*counts, *self.variable.shape):
            return new
        if len(indices) > 1:
            if any(i.dtype == "uint64" for i in indices):
                return new
            indices = [concatenate([cast(i, "int64") for i in indices], 0)]
        first, start, sums = make("first_equal", (indices[0], self.variable)), 0, {}
        zeros = broadcast_to(constant(np.zeros((), new.dtype)), (sum(counts), *width))
        for term, count in zip(terms, counts):
            at = slice_(first, [(start, start + count, 1)]) if len(terms) > 1 else first
            rows = reshape(term.inputs[2], (count, *width))
            sums[term] = make("scatter_add", (zeros, at, rows), {"axis": 0}, like=term)
            start += count
        step = rebuild([step], sums)[0]
        step = neg(step) if sign < 0 else step
        template = ("a", *[":"] * len(width))
        inputs = (self.variable, step, indices[0])
        return make("advanced_inc", inputs, {"template": template}, like=new)


def is_term(node):
    if node.op.name == "scatter_add":
        return node.attrs["axis"] == 0
    if node.op.name != "set_slice" or node.attrs.get("exact"):
        return False
    zeros = node.inputs[0]
    while zeros.op.name == "broadcast_to":
        zeros = zeros.inputs[0]
    return zeros.value is not None and not np.any(zeros.value)


def is_number(x, node):
    """Whether an operand is one number, however many axes it has."""
    return all(type(n) is int and n == 1 for n in x.shape) and x.dtype == node.dtype
