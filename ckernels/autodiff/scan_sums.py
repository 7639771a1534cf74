"""Sums over the steps of a gradient scan: what each step contributes to the gradient of a weight.

A contribution a.T @ b of matrices is not added up step by step: a and b become results of the scan,
or are rows it has anyway, and one product of all rows sums all steps. Sums of rows that are results
anyway are taken after the scan too; the rest is carried.
"""

from .. import ops
from ..graph.node import make, placeholder
from ..graph.op import having
from ..graph.sizes import surely
from ..graph.walk import toposort
from ..ops.shape import sized, times

MOVES = having("moves")


def depending(outputs, leaves):
    """uids of what depends on the nodes (or uids) `leaves`."""
    found = {getattr(n, "uid", n) for n in leaves}
    for node in toposort(outputs):
        if any(i.uid in found for i in node.inputs):
            found.add(node.uid)
    return found


class Sums:
    """products: {operand: [(moves, factor, factor)]}; of_rows: [(operand, moves, like, result)];
    accumulated: {operand: (placeholder of the sum, what a step adds)}.
    """

    def __init__(self, gradient):
        self.gradient = gradient
        self.products, self.accumulated, self.of_rows = {}, {}, []
        sig, inputs, found = gradient.sig, gradient.inputs, gradient.found
        step = {n.uid for n in inputs[: sig.first_other]}
        step |= {p.uid for row in gradient.pending.values() for p in row}
        step |= {row.uid for _, row in gradient.rows}
        varies = depending([g for g in found.values() if g is not None], step)
        rest = {}
        for k, own in enumerate(inputs[sig.first_other :]):
            if found[own] is None:
                continue
            for term in terms(found[own]):
                moves, inner = _moved(term, varies)
                if _is_product(inner, varies):
                    a, b = inner.inputs
                    x = a.inputs[0] if a.op.name == "transpose" else ops.transpose(a, (1, 0))
                    self.products.setdefault(k, []).append((moves, self.factor(x), self.factor(b)))
                else:
                    rest.setdefault(k, []).append((term, moves, inner))
        for k, kept in rest.items():
            left = [t for t, *form in kept if not self.sum_of_rows(k, *form, varies)]
            if left:
                total = _sum(left)
                self.accumulated[k] = (placeholder(total.dtype, total.shape), total)

    def factor(self, x):
        """A per-step factor: ("emitted", k), ("rows", node) or ("lagged", lag, head, rows)."""
        if not self.gradient.counted and self.gradient.window is None:
            for lag, operands, own in self.gradient.sequences():
                if own is x:
                    return ("lagged", lag, *operands) if lag else ("rows", operands[0])
        if x in self.gradient.stored and self.gradient.window is None:
            return ("rows", self.gradient.stored[x])
        return ("emitted", self.gradient.emit(x))

    def sum_of_rows(self, k, moves, inner, varies):
        """Whether a term sums what is a per-step result anyway; if so, the sum is noted."""
        if inner.op.name != "unbroadcast":
            return False
        g, like = inner.inputs
        if like.uid in varies or all(g is not e for e in self.gradient.emitted):
            return False
        self.of_rows.append((k, moves, like, self.gradient.emit(g)))
        return True

    def stacked(self, factor):
        """[(rows from, to, array)]: the factor of all steps, one after the other."""
        kind, *rest = factor
        if kind == "emitted":
            return [(None, None, self.gradient.result(rest[0]))]
        if kind == "rows":
            return [(None, None, rest[0])]
        lag, head, rows = rest
        steps = ops.size_of(rows, 0)
        short = (
            head
            if isinstance(steps, int) and steps >= lag
            else ops.dynamic_slice(head, [(0, steps, 1)])
        )
        return [(None, lag, short), (lag, None, ops.slice_(rows, [(None, -lag, 1)]))]

    def product_sum(self, moves, left, right):
        """The sum over all steps of moves(a_t.T @ b_t)."""
        parts = []
        for low, high, a in self.stacked(left):
            for low2, high2, b in self.stacked(right):
                span = _meet((low, high), (low2, high2))
                if span is None:
                    continue
                a_part = _rows_of(a, span, (low, high))
                b_part = _rows_of(b, span, (low2, high2))
                parts.append(ops.matmul(ops.transpose(_flat(a_part), (1, 0)), _flat(b_part)))
        return self.moved(_sum(parts), moves)

    def moved(self, total, moves):
        for move in reversed(moves):
            total = make(move.op, (total, *self.gradient.outside(move.inputs[1:])), move.attrs)
        return total

    def row_sum(self, moves, like, k):
        """The sum over all steps of moves(unbroadcast(g_t, like)), g_t being result `k`."""
        (like,) = self.gradient.outside([like])
        return self.moved(make("unbroadcast", (self.gradient.result(k), like)), moves)

    def total(self, k):
        """The gradient with respect to operand `k` of those that stay the same, or None."""
        parts = [self.product_sum(*p) for p in self.products.get(k, ())]
        parts += [self.row_sum(*form) for j, *form in self.of_rows if j == k]
        if k in self.accumulated:
            at = self.gradient.first_sum + list(self.accumulated).index(k)
            parts.append(self.gradient.final(at))
        return _sum(parts) if parts else None


# --- parts of expressions ---------------------------------------------------------------------


def _sum(parts):
    total = parts[0]
    for p in parts[1:]:
        total = ops.add(total, p)
    return total


def terms(node):
    """The terms of a sum of tensors of one shape, left to right."""
    found, stack = [], [node]
    while stack:
        n = stack.pop()
        if n.op.name == "add" and all(surely(i.shape, n.shape) for i in n.inputs):
            stack.extend(reversed(n.inputs))
        else:
            found.append(n)
    return found


def _moved(term, varies):
    """(the movements applied to it, outermost first, what is moved)."""
    moves, node = [], term
    while node.op.name in MOVES and not any(i.uid in varies for i in node.inputs[1:]):
        moves.append(node)
        node = node.inputs[0]
    return moves, node


def _is_product(node, varies):
    return node.op.name == "matmul" and all(i.ndim == 2 and i.uid in varies for i in node.inputs)


def _meet(a, b):
    """The common part of two spans of rows; spans are all, the first L or those after them."""
    if b == (None, None):
        return a
    if a == (None, None):
        return b
    low = max(a[0] or 0, b[0] or 0)
    highs = [h for h in (a[1], b[1]) if h is not None]
    high = min(highs) if highs else None
    return None if high is not None and low >= high else (low or None, high)


def _rows_of(x, span, have):
    """The rows `span` of an array that holds the rows `have`."""
    if span == have:
        return x
    base = have[0] or 0
    low, high = (span[0] or 0) - base, None if span[1] is None else span[1] - base
    return ops.slice_(x, [(low, high, 1)])


def _flat(x):
    """(T, k, m) as (T * k, m)."""
    steps, k, m = sized(x)
    return ops.reshape(x, [times(steps, k), m])
