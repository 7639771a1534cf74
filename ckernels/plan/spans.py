"""Spans of integers: between which two numbers all elements of a node lie, whatever a call gives.

Indices that turns of a loop count are known so: an instruction that reads or stores at them cannot
fail, and may write where an error would be seen.
"""

import numpy as np

from ..base import dtypes
from ..ops.indexing.advanced import indexed_axes
from ..ops.scan import ScanSignature

INDICES = {"take": 1, "advanced_take": 1, "advanced_set": 2, "advanced_inc": 2}  # where they begin


class Spans:
    """The spans of nodes of one graph, or of the body of a scan or a branch. given: {uid of an
    input: its span, or None}. A span is (least, greatest), both ints."""

    def __init__(self, given=()):
        self.known = dict(given)

    def of(self, node):
        """The span of a node, or None where it is not known."""
        if node.uid not in self.known:
            found = self.found(node) if node.dtype in dtypes.INTEGERS else None
            self.known[node.uid] = unwrapped(found, node.dtype)
        return self.known[node.uid]

    def found(self, node):
        if node.value is not None:
            value = np.asarray(node.value)
            whole = value.size and value.dtype.kind in "iu"
            return (int(value.min()), int(value.max())) if whole else None
        name = node.op.name
        if name == "iota":
            count = node.shape[node.attrs["axis"]]
            return (0, count - 1) if type(count) is int and count else None
        if node.inputs and (node.op.kind == "movement" or name == "cast"):
            return self.of(node.inputs[0])
        rule = RULES.get(name)
        spans = rule and [self.of(x) for x in node.inputs]
        return rule(*spans) if rule and None not in spans else None

    def inside(self, node):
        """The Spans of the body of a scan."""
        sig, given = ScanSignature.of(node), {}
        inputs = sig.body.inputs
        for k, (head, rows) in enumerate(sig.seqs):
            given[inputs[k].uid] = self.of(rows) if head is None else None
        steps = self.of(sig.steps)
        for i, init in enumerate(sig.inits):
            for tap, k in sig.tap_inputs(i).items():
                counts = tap == -1 and steps is not None
                given[inputs[k].uid] = (
                    self.counter(sig, i, inputs[k], init, steps) if counts else None
                )
        for k, x in enumerate(sig.others, sig.first_other):
            given[inputs[k].uid] = self.of(x)
        return Spans(given)

    def counter(self, sig, i, old, init, steps):
        """The span of a state that grows by one number in each step."""
        new, first = sig.body.outputs[i], self.of(init)
        if new.op.name != "add" or first is None or old not in new.inputs:
            return None
        more = next((x for x in new.inputs if x is not old), None)
        if more is None or more.value is None or more.value.ndim or more.value < 0:
            return None
        last = first[1] + int(more.value) * max(steps[1] - 1, 0)
        return unwrapped((first[0], last), old.dtype)

    def side(self, node, body):
        """The Spans of one side of a branch."""
        return Spans({x.uid: self.of(y) for x, y in zip(body.inputs, node.inputs[1:])})

    def within(self, node):
        """Whether all indices of a node exist."""
        first = INDICES.get(node.op.name)
        if first is None:
            return False
        x = node.inputs[0]
        axes = [(node.attrs["axis"], 1)] if first == 1 and "axis" in node.attrs else None
        axes = axes or indexed_axes(node.attrs["template"])
        return all(self.fits(i, x.shape[a], w) for (a, w), i in zip(axes, node.inputs[first:]))

    def fits(self, index, size, width):
        span = self.of(index)
        return span is not None and type(size) is int and (
            -size <= span[0] and span[1] <= size - width and (width == 1 or span[0] >= 0)
        )  # fmt: skip


def unwrapped(span, dtype):
    """The span, or None where a dtype does not hold all of it: numbers wrap."""
    ends = np.iinfo(dtype) if span else None
    return span if ends and ends.min <= span[0] and span[1] <= ends.max else None


def product(a, b):
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


RULES = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "neg": lambda a: (-a[1], -a[0]),
    "mul": product,
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
