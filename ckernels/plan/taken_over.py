"""Results that lie in the memory of inputs: arguments that a jitted function changes, in place.

An input whose last value is a result is like a state of a scan: stores may write where it lies,
and a loop that reads of it no more than the element that it makes may write over it. The runtime
runs all before the first instruction that does so, then looks at the result that says whether the
values of the call suit the plan, and writes. Nothing may fail from there on, since an error is to
leave all arguments as they were: what may fail comes before where it reads nothing of what is
written, as looks at indices do; else the results are computed beside, and the caller copies them.
"""

import re

from ..codegen.emit import emit
from ..codegen.ir import Kernel
from ..graph.sizes import surely
from .instructions import Branch, KernelCall, Native, Scan, touched
from .records import TransposeDims
from .spans import Spans

MOVES = ("gather", "scatter", "check_indices")  # fail for wrong indices alone
FAILS = re.compile(r"return [^;]*CK_E")


def candidates(draft):
    """{number of a result: the input} of those that may lie there: of one type, in C order."""
    found = {}
    for k, i in draft.homes.items():
        node, root = draft.inputs[i], draft.of_outputs()[k]
        leaf = draft.leaf(node)
        same = len(leaf.shape) == len(root.shape) and all(map(surely, leaf.shape, root.shape))
        plain = draft.strides.get(node) is None and node not in draft.loose
        if same and plain and leaf.dtype == root.dtype and 0 not in root.shape:
            found[k] = i
    return found


def cannot_fail(instr, spans):
    """Whether an instruction ends well for all values, and runs no Python. spans: Spans of the
    graph that it is of."""
    if isinstance(instr, KernelCall):
        kernel = instr.kernel
        known = isinstance(kernel, Kernel) or kernel is not None and kernel.form in MOVES
        return known and (instr.looked
                          or all(map(spans.within, instr.nodes)) and len(instr.nodes) > 0
                          or not FAILS.search(emit(kernel)[1]))  # fmt: skip
    if isinstance(instr, Scan):
        inner = spans.inside(instr.node)
        return instr.moving.parts is None and all(cannot_fail(i, inner) for i in instr.body)
    if isinstance(instr, Branch):
        sides = [(instr.then, "then"), (instr.other, "other")]
        return all(cannot_fail(i, spans.side(instr.node, instr.node.attrs[side]))
                   for body, side in sides for i in body)  # fmt: skip
    return isinstance(instr, Native) and isinstance(instr.record, TransposeDims)


def ordered(instructions, early, ends):
    """The instructions in an order in which those that are `early` come before the first one that
    writes to one of `ends`, where what they read and write lets them; `early` in that order too."""
    seen = [[set(buffers) for buffers in touched(instr)] for instr in instructions]
    writers = [n for n, (_, writes) in enumerate(seen) if writes & ends]
    if not writers:
        return instructions, early
    head, waiting = list(range(writers[0])), list(range(writers[0], len(seen)))
    for n in [n for n in waiting if early[n]]:
        at = waiting.index(n)
        wanted, stay = [n], []
        for m in reversed(waiting[:at]):  # from what it needs to what they need
            apart = all(disjoint(seen[m], seen[w]) for w in wanted)
            (stay if apart else wanted).append(m)
        if not any(m in writers for m in wanted):
            head += reversed(wanted)
            waiting = [*reversed(stay), *waiting[at + 1 :]]
    order = head + waiting
    return [instructions[n] for n in order], [early[n] for n in order]


def disjoint(one, other):
    """Whether two instructions may change places: neither writes what the other touches."""
    return not (one[1] & (other[0] | other[1]) or other[1] & one[0])


class TakenOver:
    """Which results lie in inputs after all. kept: {result: input}; instructions: in their order;
    first: the number of the first one that writes there; lost: those of `moved` that may not.

    moved: {result: input} of which the plan reads the input where the result lies; asked: the
    result that has to be known before, or None.
    """

    def __init__(self, instructions, homes, moved, asked):
        spans = Spans()
        early = [not cannot_fail(instr, spans) or asked is not None
                 and ("out", asked) in touched(instr)[1] for instr in instructions]  # fmt: skip
        if any(early):
            instructions, early = ordered(instructions, early, {("out", k) for k in homes})
        self.instructions = instructions
        self.seen = [touched(instr) for instr in instructions]
        known = max((n for n, first in enumerate(early) if first), default=-1)
        self.kept, self.first = {}, len(instructions)
        for k, i in homes.items():
            writers = self.writers(("out", k))
            if not writers or writers[0] <= known:
                continue
            if moved.get(k) == i or self.may_be_one(k, i, writers):
                self.kept[k] = i
                self.first = min(self.first, writers[0])
        self.lost = {k for k in moved if k not in self.kept}

    def writers(self, buffer):
        return [n for n, (_, writes) in enumerate(self.seen) if buffer in writes]

    def may_be_one(self, k, i, writers):
        """Whether nothing reads the input after the result is written but the loop that does so,
        element by element."""
        readers = [n for n, (reads, _) in enumerate(self.seen) if ("in", i) in reads]
        if not readers or readers[-1] < writers[0]:
            return True
        instr = self.instructions[writers[0]]
        alike = (("out", k), ("in", i)) in instr.inplace
        return readers[-1] == writers[0] and alike
