"""Sums inside products: (y / p - (1 - y) / (1 - p)) * p * (1 - p) loses its divisions.

This is where gradients of naive losses become stable. It runs after `products` has seen the whole
graph, because a sum that was multiplied out no longer matches another use of itself.
"""

from ..graph.node import make
from ..graph.op import having
from .engine import Family, scalar
from .factors import (
    MAX_FACTORS,
    REAL,
    SEEN,
    Fraction,
    inside,
    into_scatter,
    read,
    scattered_values,
    scatters,
    simplify,
    write,
)

family = Family("sums")
MAX_TERMS = 4
VANISH = having("vanishes")


def wanted(nodes):
    """Whether there is anything to do for this room among `nodes`: a quotient of tensors, or an
    exp times a sum with an exp."""
    return any(
        n.dtype in REAL
        and (n.op.name == "true_div" and n.inputs[1].op.kind != "leaf" or _undone(n))
        for n in nodes
    )


def _undone(n):
    """Whether `n` is exp(a) * (exp(b) + c): the gradient of log(exp(x) / (1 + exp(x)))."""
    return n.op.name == "mul" and any(
        a.op.name == "exp"
        and s.op.name in ("add", "sub")
        and any(i.op.name == "exp" for i in s.inputs)
        for a, s in (n.inputs, n.inputs[::-1])
    )


def terms(node):
    """[(sign, node)] of a short sum, or None."""
    if node.op.name not in ("add", "sub"):
        return None
    out, todo = [], [(1, node)]
    while todo:
        sign, n = todo.pop()
        name = n.op.name
        if name in SEEN:
            n = inside(n)
            name = n.op.name
        if name in ("add", "sub") and len(todo) + len(out) < MAX_TERMS:
            todo.append((-sign if name == "sub" else sign, n.inputs[1]))
            todo.append((sign, n.inputs[0]))
        elif name == "neg":
            todo.append((-sign, n.inputs[0]))
        else:
            out.append((sign, n))
    return out if len(out) <= MAX_TERMS else None


def distributed(f, dtype):
    """(a / p + b) * p as a + b * p, where that takes divisors away; else None."""
    for k, s in enumerate(f.above):
        parts = terms(s)
        if not parts:
            continue
        rest = Fraction(1.0, f.above[:k] + f.above[k + 1 :], f.below)
        made = []
        for sign, term in parts:
            own = simplify(read(term).times(rest))
            own.coef *= sign
            made.append(own)
        if all(not _hazard(own, term, rest) for own, (_, term) in zip(made, parts)) and sum(
            map(_cost, made)
        ) < _cost(rest) + sum(_cost(read(t)) for _, t in parts):
            total = None
            for own in made:
                total = (
                    write(own, dtype) if total is None else make("add", (total, write(own, dtype)))
                )
            return total if f.coef == 1 else make("mul", (total, scalar(f.coef, dtype)))
    return None


def _into_scatters(f, dtype):
    """scatter(a / p + b) * p is scatter(a + b * gather(p)), where that takes divisors away: the
    gradient of e / sum(e) for a part e of exp(t). None elsewhere."""
    for k, s in enumerate(f.above):
        for j, p in enumerate(f.above if scatters(s) else ()):
            new = into_scatter(s, p, distributed) if j != k else None
            if new is not None:
                rest = [n for i, n in enumerate(f.above) if i not in (j, k)]
                return write(Fraction(f.coef, [*rest, new], f.below), dtype)
    return None


def _cost(f):
    """Divisions and exponentials of a Fraction: what distributing must save."""
    hidden = sum(len(scattered_values(n).below) for n in f.above if scattered_values(n) is not None)
    return len(f.below) + hidden + _exps(f)


def _exps(f):
    return sum(n.op.name == "exp" for n in f.above)


def _hazard(f, term, rest):
    """Whether a divisor is left that may vanish, or an exp came in: the factor that undoes it is
    still to come."""
    return (
        _exps(f) > _exps(read(term)) + _exps(rest)
        or any(n.op.name in VANISH for n in f.below)
        or any(len(scattered_values(n).below) for n in f.above if scattered_values(n) is not None)
    )


@family.rule("mul", "true_div")
def distribute(node):
    """(a / p + b / q) * p * q is a * q + b * p, where that takes every vanishing divisor away.

    Code: any number of terms and factors, and whether it is worth it is known only when it is done.
    """
    if node.dtype not in REAL:
        return None
    f = simplify(read(node))
    if f.size() > MAX_FACTORS:
        return None
    if any(n.op.name in ("add", "sub") or n.op.name in SEEN for n in f.above):
        made = distributed(f, node.dtype)
        if made is not None:
            return made
    return _into_scatters(f, node.dtype)
