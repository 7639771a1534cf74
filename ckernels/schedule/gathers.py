"""Gathers inside loop nests: which axes of a tensor the loop walks, and which an index picks from.

`take`, `take_along_axis` and NumPy's advanced indexing differ in this alone. The tensor and its
indices lie in memory before the loop begins: indices are checked there, once.
"""

from typing import NamedTuple

from ..base.dtypes import COMPLEX
from ..ops.indexing.advanced import is_window
from .parameters import is_number

# Least elements that lie together at each index where a loop reads them there, by what it does with
# them. Embeddings of 4,096 of 5,000 rows of 64 and more floats, one core of Zen 4: plus a table 44
# us instead of 63 (of 16 25 and 20); means of twenty 131 instead of 272 (of 16 75 and 92); softmax
# 282 instead of 222, of 512 rows of 768 184 and 204.
STORED_RUN, SUMMED_RUN, LONG_RUN = 64, 16, 256


class Gather(NamedTuple):
    """along: for each axis of the tensor the axis of the result that walks it, None where an index
    picks. picks: (number of the operand that is the index, the axes of the result that it runs
    along, the axis of the tensor that it picks from, how many elements of that it takes: one, or
    those from there on that the result walks)."""

    along: tuple
    picks: tuple


def gather_of(node):
    """The Gather that `node` is; None for all else."""
    made = KINDS.get(node.op.name)
    return None if made is None else made(node)


def _take(node):
    x, index = node.inputs
    axis, rank = node.attrs["axis"], index.ndim
    along = [k if k < axis else k + rank - 1 for k in range(x.ndim)]
    along[axis] = None
    return Gather(tuple(along), ((1, tuple(range(axis, axis + rank)), axis, 1),))


def _along_axis(node):
    axis = node.attrs["axis"]
    along = tuple(None if k == axis else k for k in range(node.ndim))
    return Gather(along, ((1, tuple(range(node.ndim)), axis, 1),))


def _advanced(node):
    template, indices = node.attrs["template"], node.inputs[1:]
    at = [i for i, t in enumerate(template) if t == "a"]
    rank = max(i.ndim for i in indices)
    together = at and at[-1] - at[0] + 1 == len(at)  # none: windows alone
    place = sum(t not in ("a", ".") for t in template[: at[0]]) if together else 0
    along, picked, out = [], [], 0
    for t in template:
        if t == "a":
            picked.append((len(along), 1))
            along.append(None)
        elif t != ".":
            if is_window(t):
                picked.append((len(along), t))
            if t != "n":
                along.append(out if out < place else out + rank)
            out += 1
    picks = [
        (k + 1, tuple(range(place + rank - i.ndim, place + rank)), axis, width)
        for k, (i, (axis, width)) in enumerate(zip(indices, picked))
    ]
    return Gather(tuple(along), tuple(picks))


KINDS = {"take": _take, "take_along_axis": _along_axis, "advanced_take": _advanced}


def is_gather(node):
    """Whether a loop nest may read at indices what `node` says."""
    return (
        node.op.name in KINDS
        and node.dtype not in COMPLEX
        and not any(is_number(i) for i in node.inputs)
        and any(n != 1 for n in node.shape)
    )


def run_of(node):
    """The axis of a gather along which elements of the tensor lie together; None where its last
    one is that of an index."""
    last = max(k for k, n in enumerate(node.shape) if n != 1)
    return last if last in gather_of(node).along else None


def gather_maps(node, amap):
    """(operand, its axis map) for a gather of this axis map; the tensor comes first."""
    x, gather = node.inputs[0], gather_of(node)
    found = [(x, _map(x, gather.along, amap))]
    for operand, axes, _, _ in gather.picks:
        found.append((node.inputs[operand], _map(node.inputs[operand], axes, amap)))
    return found


def _map(x, axes, amap):
    return tuple(None if n == 1 or a is None else amap[a] for n, a in zip(x.shape, axes))
