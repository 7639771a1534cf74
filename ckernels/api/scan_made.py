"""A scan that was made, by the outputs of the step: where their rows and last values are."""

from .. import ops
from ..graph.node import item
from ..ops.scan import ScanSignature
from ..ops.scan_ends import ran, with_last
from .scan_step import Updates


class MadeScan:
    """A scan that was made, by output of its step.

    parts    for each output ("carry", i) or ("out", k); states: the same for its last values
    wrap     what makes the rows of an output of a result of the scan, where they are not the same
    updates  {variable: value after the scan}
    windows  for each carry whether it is the last rows of a state, of which the last is the value
    """

    def __init__(self, node, parts, count, wrap=None, states=None, windows=()):
        self.node, self.signature, self.parts = node, ScanSignature.of(node), parts
        self.count, self.updates, self.wrap = count, Updates(), wrap
        self.states, self.windows = states or parts, windows

    def rows(self):
        """The rows of each output, of the steps that ran."""
        found = []
        for (kind, k), final in zip(self.parts, self.finals()):
            index = self.signature.trace(k) if kind == "carry" else self.signature.out(k)
            rows = item(self.node, index)
            if self.wrap is not None:
                rows = self.wrap(rows)
                if final is not None:
                    rows = with_last(rows, final, self.count)
            elif self.node.attrs["until"]:
                rows = ran(rows)
            found.append(rows)
        return found

    def final_of(self, i):
        final = item(self.node, self.signature.final(i))
        return ops.getitem(final, -1) if self.windows and self.windows[i] else final

    def finals(self):
        """The last value of each output with state, None for the others."""
        return [self.final_of(k) if kind == "carry" else None for kind, k in self.states]
