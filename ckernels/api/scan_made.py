"""MadeScan: where a scan has the rows and the last value of each output of its step function."""

from .. import ops
from ..graph.node import item
from ..ops.scan import ScanSignature
from ..ops.scan_ends import ran, with_last
from .scan_step import Updates


class MadeScan:
    """A scan that was made, seen from the outputs of its step function.

    parts    where the rows of each output are: ("carry", i) or ("out", k)
    states   the same for last values
    wrap     a function from a result of the scan to the rows of an output; None: they are the same
    updates  {variable: value after the scan}
    windows  for each carry whether it holds several rows of a state, of which the last is its value
    """

    def __init__(self, node, parts, wrap=None, states=None, windows=()):
        self.node, self.signature, self.parts = node, ScanSignature.of(node), parts
        self.updates, self.wrap = Updates(), wrap
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
                    rows = with_last(rows, final)
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
