"""Slices of a sum of a product: each part adds up its own, in the kernel that reads it.

The gates of an LSTM are slices of z = x_t W + h U + b. Where slices are all that reads such an
elementwise tensor and none overlaps another, the elementwise work moves behind them: the kernel of
the gates reads the product itself, and z is neither written nor read again (LSTM of 50 steps of
(32, 128): 60 us of 1.5 ms on one core).
"""

from ...graph.node import make
from ...graph.sizes import indices, surely
from ...graph.walk import consumers
from ..parts import disjoint

FULL = (None, None, 1)


def parts_first(opened):
    """Elementwise tensors of a step of which only slices side by side are read."""
    order = opened.order()
    users = consumers(order)
    fixed = {n.uid for n in opened.outputs} | opened.frozen
    mapping = {}
    for n in order:
        if _elementwise(n) and n.uid not in fixed and users[n.uid] and _cut(users[n.uid]):
            inner = _inner(n, users, fixed)
            if any(i.op.name == "matmul" for m in inner for i in m.inputs):
                uids = {m.uid for m in inner}
                mapping.update((s, _part(n, s.attrs["slices"], uids)) for s in users[n.uid])
    if not mapping:
        return False
    opened.replace(mapping)
    return True


def _elementwise(node):
    return node.op.kind == "elementwise" and node.ndim == 2


def _cut(users):
    """Whether all of them are slices along the last axis that do not overlap."""
    bounds = []
    for s in users:
        if s.op.name != "slice" or len(set(s.inputs)) != 1:
            return False
        rows, columns = s.attrs["slices"]
        size = s.inputs[0].shape[1]
        r = indices(columns, size)
        if rows not in (FULL, (None, None, None)) or r.step != 1 or r.count == 0:
            return False
        bounds.append((r.start, r.stop))
    return len(bounds) > 1 and disjoint(sorted(bounds))


def _inner(node, users, fixed):
    """`node` and what is computed for it alone, element by element."""
    found, stack, own = [], [node], {node.uid}
    while stack:
        n = stack.pop()
        found.append(n)
        for i in n.inputs:
            if (
                _elementwise(i)
                and i.uid not in fixed
                and i.uid not in own
                and surely(i.shape, node.shape)
                and all(u.uid == n.uid for u in users[i.uid])
            ):
                own.add(i.uid)
                stack.append(i)
    return found


def _part(node, slices, inner):
    """The columns `slices` of `node`, computed from those of its operands."""
    if node.uid in inner:
        return make(node.op, [_part(i, slices, inner) for i in node.inputs], node.attrs)
    columns = slices[-1]
    if not node.ndim or node.shape[-1] == 1:
        return node
    return make("slice", (node,), {"slices": (FULL,) * (node.ndim - 1) + (columns,)})
