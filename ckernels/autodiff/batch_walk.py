"""The walk that gives nodes one more axis, and what depends on them, by the rules of ops.

The rules are in batch.py, those of scans in scan_batch.py; this file finds them by name.
"""

from .. import ops
from ..graph.node import line_of
from ..graph.op import rules
from ..graph.walk import rebuild
from ..ops.shape import shape_vector, sized


class NoBatchRule(Exception):
    """An op has no rule for a batch axis; the message is its name."""


def _one_of(values):
    """Something of the shape of one of the values, which there is of none too."""
    return ops.cast(ops.sum(values, (0,)), values.dtype)


class Batch:
    """wide: {uid: the node with the batch axis} for what depends on the replaced nodes."""

    def __init__(self, wide):
        self.count = sized(next(iter(wide.values())), [0])[0]
        self.size = shape_vector([self.count])
        self.wide = {n.uid: values for n, values in wide.items()}
        self.scans = {}  # {uid of a batched scan: which of its results vary}
        # what nothing of the batch decides, in terms of what has the axis: {node: node}
        self.still = {
            n: _one_of(values) for n, values in wide.items() if n.op.name == "placeholder"
        }

    def visit(self, node):
        if node.uid in self.wide or not any(i.uid in self.wide for i in node.inputs):
            return
        rule = rules("batch").get(node.op.name)
        if rule is None and node.op.kind in ("elementwise", "reduce"):
            rule = rules("batch")[f"[{node.op.kind}]"]
        if rule is None:
            raise NoBatchRule(node.op.name)
        with line_of(node):
            made = rule(self, node)
            if made is not None:  # None: only the shape was read, nothing depends on it
                self.wide[node.uid] = made

    def settled(self, nodes):
        """`nodes` without results of scans that have the axis now, and shapes of what has it."""
        done = {}
        for old, new in self.still.items():
            done[old] = rebuild([new], done)[0]
        return rebuild(list(nodes), done)

    def has(self, node):
        return node.uid in self.wide

    def get(self, node):
        return self.wide.get(node.uid, node)

    def full(self, node):
        """`node` with the batch axis, repeated along it when it does not depend on it."""
        if node.uid in self.wide:
            return self.wide[node.uid]
        return ops.broadcast_to(ops.expand(node, (0,)), self.sizes(node))

    def sizes(self, node):
        """The vector of sizes of `node` with the batch axis."""
        return self.before(ops.shape(node))

    def before(self, vector):
        return ops.concatenate([self.size, vector])

    def ranked(self, node, ndim):
        """An operand of a result of `ndim` dimensions: batch axis first, then axes of size 1."""
        x = self.get(node)
        return ops.expand(x, tuple(range(1, 1 + ndim - node.ndim))) if self.has(node) else x
