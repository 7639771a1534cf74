"""Sizes that follow from the argument `n` of an exported function: their values, and their C.

A plan for a class of shapes has expressions over n and assumptions about n (graph/sizes.py). Here
they are evaluated for each n that a caller may give, which shows for which n the plan is right, and
written as C. Where C cannot compute an expression, its present value is written, and the plan is
for that n alone.
"""

from ..base.native import runtime
from ..graph.sizes import (
    AT_LEAST,
    FLOOR_DIVIDE,
    GREATEST,
    MODULO,
    SAME,
    SCRATCH,
    SMALLEST,
    SYMBOL,
    Size,
)


def at(size, n):
    """The value of a size, or of an int, for this n."""
    if type(size) is not Size:
        return size
    total = 0
    for monomial, c in size.terms:
        for atom in monomial:
            c *= _atom_at(size.of.atoms[atom][0], n)
        total += c
    return total


def _atom_at(what, n):
    if what[0] == SYMBOL:
        return n
    if what[0] == SCRATCH:
        return runtime.native_scratch([at(word, n) for word in what[1]])
    a, b = at(what[1], n), at(what[2], n)
    if what[0] == FLOOR_DIVIDE:
        return a // b
    if what[0] == MODULO:
        return a % b
    return max(a, b) if what[0] == GREATEST else min(a, b)


def shape_at(shape, n):
    return tuple(at(x, n) for x in shape)


def within(sizes, most):
    """All n up to `most` that the class of these sizes may have; empty where all are ints."""
    lows = [
        low
        for size in sizes
        if type(size) is Size
        for what, low, _ in size.of.atoms
        if what[0] == SYMBOL
    ]
    return range(min(lows), most + 1) if lows else range(0)


def largest(size, most):
    """The greatest value of a size for any n up to `most`."""
    return max((at(size, n) for n in within([size], most)), default=size)


def holds(sizes, n):
    """Whether all that was assumed in a ShapeClass holds for this n."""
    for assumption in sizes.assumed.values():
        value = at(assumption.size, n)
        right = (
            value == 0
            if assumption.kind == SAME
            else value >= 0
            if assumption.kind == AT_LEAST
            else value != 0
        )
        if not right:
            return False
    return True


def spans(numbers):
    """[(first, last)] of the runs of consecutive numbers in a set."""
    found = []
    for k in sorted(numbers):
        if found and found[-1][1] == k - 1:
            found[-1][1] = k
        else:
            found.append([k, k])
    return [tuple(span) for span in found]


def c_text(size):
    """A size as C over `n`; an int as it is."""
    if type(size) is not Size:
        return str(size)
    try:
        return _terms(size)
    except ValueError:
        return str(int(size))  # an assumption: the plan is for this value alone


def _terms(size):
    parts = []
    for monomial, c in size.terms:
        names = [_atom(size.of.atoms[atom][0]) for atom in monomial]
        parts.append(" * ".join(([] if c == 1 and names else [str(c)]) + names))
    return " + ".join(parts).replace("+ -", "- ")


def _atom(what):
    """One atom as C; ValueError where C would compute another number, or cannot compute it."""
    if what[0] == SYMBOL:
        return "n"
    if what[0] not in (FLOOR_DIVIDE, MODULO, GREATEST, SMALLEST):
        raise ValueError
    if what[0] in (FLOOR_DIVIDE, MODULO) and any(_low(x) is None or _low(x) < 0 for x in what[1:]):
        raise ValueError  # C rounds towards 0, Python down
    a, b = (f"({_terms(x)})" if type(x) is Size else str(x) for x in what[1:])
    if what[0] == FLOOR_DIVIDE:
        return f"({a} / {b})"
    if what[0] == MODULO:
        return f"({a} % {b})"
    return f"({a} {'>' if what[0] == GREATEST else '<'} {b} ? {a} : {b})"


def _low(x):
    return x.low if type(x) is Size else x
