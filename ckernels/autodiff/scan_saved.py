"""What the gradient of a scan keeps from the forward steps, and what it computes again.

Reading a stored row costs memory traffic, computing it again costs arithmetic: `choose_saved`
weighs both per node, with sizes where they are known. Products, nested scans and everything else
that is expensive is stored; cheap functions of rows and states are recomputed.
"""

import math

from ..base import dtypes
from ..base.machine import NS_COST, NS_MEMORY_BYTE, NS_MULTIPLY
from ..graph.op import having
from ..graph.walk import toposort

UNKNOWN = 32  # the size that an unknown dimension counts as
MOVED = 3 * NS_MEMORY_BYTE  # ns to write a byte (which reads its line) and read it elsewhere
EXPENSIVE = 1e6  # ns of ops whose cost nobody modelled: nested scans, decompositions, sorting
READS, EFFECTS = having("reads"), having("effect")


def elements(node):
    return math.prod(UNKNOWN if d is None else d for d in node.shape)


def _bytes(node):
    return elements(node) * dtypes.ITEMSIZE[node.dtype]


def _own(node):
    """ns to compute `node` from its inputs."""
    if node.op.kind in ("leaf", "movement"):
        return 0.0
    if node.op.kind == "elementwise":
        return elements(node) * node.op.cost * NS_COST
    if node.op.kind == "gemm":
        depth = node.inputs[0].shape[-1]
        return elements(node) * (UNKNOWN if depth is None else depth) * NS_MULTIPLY + 300
    if node.op.kind == "reduce":
        return elements(node.inputs[0]) * NS_COST * 2
    if node.op.kind == "composite":
        return max(elements(i) for i in (node, *node.inputs)) * node.op.cost * NS_COST
    if node.op.name in ("shape", "pack") or node.op.name in EFFECTS:
        return 0.0
    if node.op.name == "take":
        return elements(node) * NS_COST * 4
    return EXPENSIVE


def _values(node):
    """The operands whose values `node` needs, not only their shapes."""
    return node.inputs[: READS.get(node.op.name)]


def choose_saved(wanted, tainted, varying, free, nothing=False):
    """The nodes to store: those from which the rest of what `wanted` needs is computed again.

    wanted: nodes of the backward step; tainted: uids of what depends on cotangents; varying: uids
    of forward nodes that differ from step to step; free: uids of those that are stored anyway.
    nothing: store no more than that.
    """
    order = toposort(wanted)
    forward = [n for n in order if n.uid not in tainted]
    keep = _cheapest(forward, varying, free, nothing)
    saved, again, shapes = _reached(order, tainted, keep, free)
    for node in sorted(saved, key=order.index, reverse=True):
        # What follows cheaply from other stored rows, or from what is computed again, is dropped.
        there = free | {n.uid for n in saved if n is not node} | again
        if node not in _cheapest(forward, varying, there, nothing):
            saved.remove(node)
            again = again | {node.uid}
    return saved + [n for n in shapes if n not in saved and n.uid in varying and n.inputs]


def _cheapest(forward, varying, free, nothing):
    """The nodes of `forward` that are cheaper to store than to compute again."""
    best, keep = {}, set()
    for node in forward:
        if node.uid not in varying:
            best[node.uid] = 0.0
        elif node.uid in free or node.op.kind == "leaf":
            best[node.uid] = NS_MEMORY_BYTE * _bytes(node) if node.outs is None else 0.0
        else:
            best[node.uid] = _own(node) + sum(best[i.uid] for i in dict.fromkeys(_values(node)))
            if node.outs is None and not nothing and MOVED * _bytes(node) < best[node.uid]:
                best[node.uid] = MOVED * _bytes(node)
                keep.add(node)
    return keep


def _reached(order, tainted, keep, free):
    """What the backward step reaches of the forward one: (stored, uids of what is computed again,
    what is read only for its shape, and is not stored once shapes are known)."""
    users, saved, seen = [n for n in order if n.uid in tainted], [], set()
    stack = [i for n in users for i in _values(n) if i.uid not in tainted]
    shapes = [i for n in users for i in n.inputs if i.uid not in tainted]
    while stack:
        node = stack.pop()
        if node.uid in seen or node.uid in free:
            continue
        seen.add(node.uid)
        if node in keep:
            saved.append(node)
        else:
            stack.extend(_values(node))
            shapes.extend(node.inputs)
    return (
        saved,
        seen - {n.uid for n in saved},
        [n for n in dict.fromkeys(shapes) if n.uid not in seen and n.uid not in free],
    )
