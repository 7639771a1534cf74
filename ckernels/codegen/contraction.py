"""Which reductions are contractions: sums over an axis that two operands share, of whatever is made
of them for each pair of their rows.

Distances between all points, outer sums, weighted kernels and their gradients: a tile of outputs
then shares what it reads (forms/contraction.py). A product alone is a matrix product before it
comes here. Nothing here knows C.
"""

from ..base import dtypes
from ..base.machine import LANES
from .ir import FIXED

LEAST_OUTPUTS = LANES, 3  # along vectors and across: with fewer, little is shared
WHOLE, PART = 0, 512  # columns of a unit of the range: 0 for all, some where rows are few
MOST = 2  # reductions: the accumulators of a tile fill the registers
# GCC makes no vectors of a tile with a choice in it.
STRAIGHT = ("load", "add", "sub", "mul", "neg", "square", "abs", "true_div", "reciprocal", "sqrt",
            "convert")  # fmt: skip


def cone(values):
    """The values that reductions are made of, in order."""
    seen, stack = set(), [v.args[0] for v in values if v.reduces]
    while stack:
        i = stack.pop()
        if i not in seen and values[i].op not in FIXED:
            seen.add(i)
            stack.extend(values[i].args)
    return sorted(seen)


def varies(values, walks):
    """Along which axes each value varies, as a set: A and B, the two outer axes of a tile, and Q,
    the reduced one. walks: those of each operand."""
    found = []
    for v in values:
        mine = walks[v.operand] if v.operand >= 0 else frozenset()
        for a in v.args:
            mine = mine | found[a]
        found.append(mine - {"Q"} if v.reduces else mine)
    return found


def _simple(values, walks, stores):
    found = [v for v in values if v.reduces]
    return 0 < len(found) <= MOST and all(
        v.op == "sum" and dtypes.is_float(values[v.args[0]].dtype) for v in found
    )


def _one_loop(values, walks, stores):
    later = any(v.level and (v.reduces or v.run) for v in values)
    return not later and not any("Q" in walks[operand] for operand, _ in stores)


def _straight(values, walks, stores):
    kinds = varies(values, walks)
    return all(values[i].op in STRAIGHT for i in cone(values) if kinds[i] == {"A", "B", "Q"})


def _no_indices(values, walks, stores):
    return all(values[i].op != "index" for i in cone(values))


def _no_whole(values, walks, stores):
    return all(len(walks[values[i].operand]) < 3 for i in cone(values) if values[i].operand >= 0)


def _shared(values, walks, stores):
    loads = [walks[values[i].operand] for i in cone(values) if values[i].operand >= 0]
    return {"A", "Q"} in loads and {"B", "Q"} in loads


QUESTIONS = (
    (_simple, "sums no floats, or too many: GCC keeps no maximum of a tile in registers"),
    (_straight, "has more than arithmetic for each element of the axis"),
    (_one_loop, "walks the reduced axis again after a reduction, or stores along it"),
    (_no_indices, "counts along its axes below a reduction"),
    (_no_whole, "reads a tensor of all axes, which nothing shares"),
    (_shared, "has no two operands that share the reduced axis alone"),
)


def why_not(values, walks, stores):
    """Why a reduction over one axis is no contraction, as the end of a sentence; None if it is.

    stores: (operand, value). Exponentials of squared distances of 1000 x 1000 points of 32 numbers
    take 20 ms as rows and 2.7 in tiles, of 3 numbers 1.3 and 1.0, of 256 64 and 15; sums of
    absolute differences of 256 numbers 41 and 17 (one core of Zen 4).
    """
    for holds, sentence in QUESTIONS:
        if not holds(values, walks, stores):
            return sentence
    return None
