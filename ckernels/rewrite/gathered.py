"""Updates of rows: `w - rate * gradient` whose gradient is zero but for rows that were gathered.

Gradients of gathers are scatters into zeros. An update that adds to its variable what is zero where
such a gradient is becomes an addition to these rows alone, computed from these rows of all that it
reads; so does one whose gradient is a slice set in zeros. What is added to a row that was gathered
more than once is summed first, in the order of the scatter: a sum of large numbers and a small one
would lose digits. Nothing here knows how plans write in place.
"""

import numpy as np

from ..base import dtypes
from ..graph.node import constant, make
from ..graph.op import having
from ..graph.shapes import product
from ..graph.walk import consumers, toposort, toposort_cut
from ..ops import broadcast_to, concatenate, flatten, neg, reshape, slice_, take
from ..ops.base import cast
from ..ops.reference import evaluate
from .engine import fit, number
from .factors import NOT_NEGATIVE

FEW = 2  # rows are worth it up to this part of the variable: half of it
EFFECTS, GENERATORS = having("effect"), having("generator")


def gathered_updates(updates, outputs):
    """New values [(variable, new value)] -> new values, those that change a few rows rewritten."""
    roots = [*outputs, *(new for _, new in updates)]
    order = toposort(roots)
    if not any(is_term(n) for n in order):
        return [new for _, new in updates]
    kept, users = {}, consumers(order)
    for root in roots:
        kept[root.uid] = kept.get(root.uid, 0) + 1
    changes = [Change.of(*update) for update in updates]
    left = {c for c in changes if c is not None and kept[c.new.uid] == 1}
    while True:
        read = {n.uid for c in left for n in c.inner} | {c.new.uid for c in left}
        named = kept.keys() - {c.new.uid for c in left}
        stay = {c for c in left if c.reads_alone(users, read, named)}
        if len(stay) == len(left):
            break
        left = stay
    return [c.rewritten() if c in left else new for c, (_, new) in zip(changes, updates)]


def is_term(node):
    """Whether `node` is zero but for rows, or for a slice, that others say."""
    if node.op.name == "scatter_add":
        return node.attrs["axis"] == 0
    if node.op.name != "set_slice" or node.attrs.get("exact"):
        return False
    zeros = node.inputs[0]
    while zeros.op.name == "broadcast_to":
        zeros = zeros.inputs[0]
    return zeros.value is not None and not np.any(zeros.value)


class Change:
    """An update that adds `step` to its variable, or takes it away (sign -1).

    inner: the nodes between the step and what it reads, operands first; terms: the scatters among
    these, or the slice in zeros. Where all terms are 0, so is the step.
    """

    def __init__(self, variable, new, step, sign):
        self.variable, self.new, self.step, self.sign = variable, new, step, sign
        self.inner, self.terms, self.inside = [], [], set()

    @classmethod
    def of(cls, variable, new):
        """The Change that an update is, None where it is anything else."""
        if not dtypes.is_float(new.dtype) or new.shape != variable.shape or not new.ndim:
            return None
        found = None
        if new.op.name in ("add", "sub") and new.inputs[0] is variable:
            found = cls(variable, new, new.inputs[1], 1 if new.op.name == "add" else -1)
        elif new.op.name == "add" and new.inputs[1] is variable:
            found = cls(variable, new, new.inputs[0], 1)
        return found if found is not None and found.fits() else None

    def fits(self):
        if self.step.shape != self.variable.shape or self.step.dtype != self.variable.dtype:
            return False
        return self.walk() and self.vanishes() and self.is_few()

    def walk(self):
        """Find the nodes and terms of the step; False where it reads what has no rows to take."""
        ends, stack = set(), [self.step]
        while stack:
            node = stack.pop()
            if node.uid in ends or node.uid in self.inside:
                continue
            if self.is_small(node) or node.op.kind == "leaf":
                ends.add(node.uid)
                continue
            self.inside.add(node.uid)
            if is_term(node) and node.shape == self.variable.shape:
                self.terms.append(node)
                ends.update(i.uid for i in node.inputs)
            elif node.op.kind == "elementwise" and not others_decide(node):
                stack.extend(node.inputs)
            else:
                return False
        self.inner = [n for n in toposort_cut([self.step], ends) if n.uid in self.inside]
        self.terms.sort(key=lambda n: n.uid)
        return bool(self.terms)

    def is_small(self, node):
        """Whether a node is the same for all rows."""
        return node.ndim < self.variable.ndim or type(node.shape[0]) is int and node.shape[0] == 1

    def vanishes(self):
        """Whether the step is 0 where all terms are."""
        values = {}
        for node in self.inner:
            values[node.uid] = 0.0 if node in self.terms else self.folded(node, values)
        return values[self.step.uid] == 0

    def folded(self, node, values):
        """The number that all elements of `node` are, from those of its operands; or None."""
        of = [values.get(i.uid, number(i)) for i in node.inputs]
        name = node.op.name
        if name == "mul" and 0 in of:
            return 0.0
        if name == "true_div" and of[0] == 0:
            return 0.0 if self.is_small(node.inputs[1]) or apart(node.inputs[1]) else None
        if name == "where" and of[1] == of[2]:
            return of[1]
        if None in of:
            return None
        inputs = [constant(np.asarray(v, i.dtype)) for v, i in zip(of, node.inputs)]
        return evaluate([make(node.op, inputs, node.attrs)])[0].item()

    def is_few(self):
        """Whether the terms are of fewer rows than are worth it, and of one kind."""
        shape = self.variable.shape
        if self.terms[0].op.name == "set_slice":
            return len(self.terms) == 1 and self.less(self.terms[0].inputs[1].shape)
        indices = [t.inputs[1] for t in self.terms if t.op.name == "scatter_add"]
        if len(indices) < len(self.terms) or 0 in shape or any(0 in i.shape for i in indices):
            return False
        if len(indices) > 1 and any(i.dtype == "uint64" for i in indices):
            return False
        return self.less((sum(product(i.shape) for i in indices), *shape[1:]))

    def less(self, shape):
        return product(shape) * FEW < product(self.variable.shape)

    def reads_alone(self, users, read, named):
        """Whether nobody reads what would not be computed."""
        return all(
            n.uid not in named and all(u.uid in read for u in users[n.uid])
            for n in (*self.inner, self.new)
        )

    # ---- what takes its place -----------------------------------------------------------------

    def rewritten(self):
        if self.terms[0].op.name == "set_slice":
            (term,) = self.terms
            made = self.of_part(self.slice_of, {term: term.inputs[1]})
            return make("inc_slice", (self.variable, made), term.attrs, like=self.new)
        indices, sums = self.summed()
        made = self.of_part(lambda x: x if self.is_small(x) else take(x, indices, 0), sums)
        template = ("a", *[":"] * (self.variable.ndim - 1))
        inputs = (self.variable, made, indices)
        return make("advanced_inc", inputs, {"template": template}, like=self.new)

    def slice_of(self, x):
        if all(type(n) is int and n == 1 for n in x.shape):
            return x
        return slice_(fit(x, self.variable.shape), self.terms[0].attrs["slices"])

    def of_part(self, part, made):
        """The step of a part of the variable, with its sign. made: {term: its numbers there}; part:
        what any other tensor is there."""
        for node in self.inner:
            if node not in made:
                inputs = [made[i] if i in made else part(i) for i in node.inputs]
                made[node] = make(node.op, inputs, node.attrs, like=node)
        return neg(made[self.step]) if self.sign < 0 else made[self.step]

    def summed(self):
        """(the indices of all terms, {term: rows at them}). Rows that belong together are summed
        where the first of them stands; the others are zero, and adding them changes nothing."""
        indices = [flatten(term.inputs[1]) for term in self.terms]
        counts, width = [i.shape[0] for i in indices], self.variable.shape[1:]
        if len(indices) > 1:
            indices = [concatenate([cast(i, "int64") for i in indices], 0)]
        first, start, sums = make("first_equal", (indices[0], self.variable)), 0, {}
        for term, count in zip(self.terms, counts):
            zeros = broadcast_to(constant(np.zeros((), term.dtype)), (sum(counts), *width))
            at = slice_(first, [(start, start + count, 1)]) if len(counts) > 1 else first
            rows = reshape(term.inputs[2], (count, *width))
            sums[term] = make("scatter_add", (zeros, at, rows), {"axis": 0}, like=term)
            start += count
        return indices[0], sums


def others_decide(node):
    """Whether an element of `node` is more than a function of those at its place."""
    return node.op.name in EFFECTS or node.op.name in GENERATORS


def apart(n, depth=6):
    """Whether `n`, rounded, is above 0 wherever it is a number at all: a square root plus 1e-7; or
    the root of a table plus 1e-7, but for tables that hold -1e-7 or less."""
    name, ins, value = n.op.name, n.inputs, number(n)
    if value is not None:
        return value > 0
    if not depth:
        return False
    if name == "add":
        return any(apart(a, depth - 1) and not_negative(b) for a, b in (ins, ins[::-1]))
    if name == "maximum":
        return any(apart(i, depth - 1) for i in ins)
    return name == "sqrt" and (apart(ins[0], depth - 1) or is_above(ins[0]))


def is_above(n):
    """Whether `n` is a sum with a number above 0, as what optimisers add below their roots; K.sqrt
    limits it from below by 0."""
    if n.op.name == "maximum":
        return any(is_above(i) for i in n.inputs)
    return n.op.name == "add" and any((number(i) or 0) > 0 or is_above(i) for i in n.inputs)


def not_negative(n):
    """Whether `n` is at least 0 wherever it is a number at all."""
    value = number(n)
    return n.op.name == "sqrt" or n.op.name in NOT_NEGATIVE or value is not None and value >= 0
