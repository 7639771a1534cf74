"""Where buffers lie: liveness over the instructions of a plan, offsets in one arena.

Instructions come as a flat list, the body of a scan (or the sides of a branch) after the
instruction it belongs to. What a scan reads from outside, carries from step to step or keeps for
later lives through all of it. The order in which buffers lie on each other is chosen for the sizes
at hand; their offsets follow from any sizes. Knows the buffers that instructions touch, not what
they compute.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from ..base.machine import VECTOR
from ..base.native import runtime
from ..graph.sizes import surely, value_of
from .instructions import Scan

ALIGN = VECTOR
WASTE = 0.03  # of what is unavoidable


@dataclass
class Arena:
    """Buffers in an order in which each one lies on some of those before it: below[i] are the
    numbers of the highest ones under buffer i. host: {buffer: the one whose place it takes}."""

    names: list
    sizes: list
    below: list
    host: dict = field(default_factory=dict)

    def edges(self):
        """`below` as the runtime reads it: where each buffer's part starts, and all parts."""
        starts = np.zeros(len(self.below) + 1, np.int64)
        starts[1:] = np.cumsum([len(under) for under in self.below])
        return starts, np.array([j for under in self.below for j in under], np.int64)

    def offsets(self, sizes):
        """({buffer: bytes from the start}, bytes in all) for these sizes of `names`."""
        at, total = runtime.stack(np.array(sizes, np.int64), *self.edges())
        found = dict(zip(self.names, at.tolist()))
        for buffer, root in self.host.items():
            found[buffer] = found[root]
        return found, total


def lifetimes(instructions):
    """{arena buffer: [first, last]}: the positions between which its contents matter."""
    live, spans = {}, []
    for i, instr in enumerate(instructions):
        for buffer in instr.reads + instr.writes:
            if buffer[0] == "tmp":
                live.setdefault(buffer, [i, i])[1] = i
        if isinstance(instr, Scan) and instr.body:
            spans.append((i, i + instr.n + 0.5))  # after the last one
    for start, end in spans:
        for span in live.values():
            first, last = span
            if first <= end and last >= start and (first <= start or last > end):
                span[:] = min(first, start), max(last, end)
    return live


def arrange(instructions, sizes):
    """The Arena of these instructions, by liveness: first fit in the best of some orders.

    A result takes the place of an operand of the same size that is read there for the last time,
    where the instruction says that both are walked alike.
    """
    live = lifetimes(instructions)
    host = overwrite(instructions, sizes, live)
    keep_apart(instructions, live)
    present = {b: -(-value_of(sizes[b]) // ALIGN) * ALIGN for b in live if b not in host}
    names = list(present)
    spans = np.array([[2 * end for end in live[b]] for b in names], np.int64).reshape(-1, 2)
    offsets = placed(np.array([present[b] for b in names], np.int64), spans)
    order = np.argsort(offsets, kind="stable").tolist()
    names, spans = [names[k] for k in order], [spans[k].tolist() for k in order]
    below = piled(spans, [int(offsets[k]) for k in order])
    return Arena(names, [sizes[b] for b in names], below, host)


def unavoidable(sizes, spans):
    """The most bytes that live at one moment, of blocks with these sizes and [first, last]."""
    at = np.concatenate([spans[:, 0], spans[:, 1] + 1])
    change = np.concatenate([sizes, -sizes])
    return int(np.cumsum(change[np.lexsort((change, at))]).max(initial=0))


def placed(sizes, spans):
    """Offsets of blocks: each in turn in the first gap, largest first. Where that wastes more than
    WASTE, also with the longest-lived first, or with the largest product of both."""
    lengths, best, least = spans[:, 1] - spans[:, 0], None, unavoidable(sizes, spans)
    for weight in (sizes, sizes * lengths, lengths):
        order = np.argsort(-weight, kind="stable")
        offsets = np.empty(len(sizes), np.int64)
        offsets[order] = runtime.arena(sizes[order], spans[order])
        total = (offsets + sizes).max(initial=0)
        if best is None or total < best[0]:
            best = total, offsets
        if total <= least * (1 + WASTE):
            break
    return best[1]


def piled(spans, offsets):
    """Which blocks lie right under each one at some time. spans: [first, last] of the blocks, in
    the order of their offsets.

    At each moment the blocks that live form a pile; a pair of neighbours in it is noted when a
    block comes between or goes.
    """
    below = [set() for _ in spans]
    births = sorted(range(len(spans)), key=lambda i: spans[i][0])
    deaths = sorted(range(len(spans)), key=lambda i: spans[i][1])
    pile, gone = [], 0

    def note(k):
        """Neighbours k - 1 and k of the pile."""
        if 0 < k < len(pile):
            below[pile[k][1]].add(pile[k - 1][1])

    for i in births:
        while spans[deaths[gone]][1] < spans[i][0]:
            k = bisect_left(pile, (offsets[deaths[gone]], deaths[gone]))
            del pile[k]
            note(k)
            gone += 1
        k = bisect_left(pile, (offsets[i], i))
        pile.insert(k, (offsets[i], i))
        note(k)
        note(k + 1)
    return [sorted(under) for under in below]


def offsets(instructions, sizes):
    """Offsets {buffer: bytes} of the arena of `instructions`, and its bytes."""
    arena = arrange(instructions, sizes)
    return arena.offsets(arena.sizes)


def keep_apart(instructions, live):
    """Keep all buffers of a scan in parts until it ends, since one part may be steps ahead."""
    for start, instr in enumerate(instructions):
        if isinstance(instr, Scan) and instr.moving.parts:
            end = start + instr.n + 0.5
            for span in live.values():
                if span[0] <= end and span[1] >= start:
                    span[:] = min(span[0], start), max(span[1], end)


def overwrite(instructions, sizes, live):
    """{result: the buffer it takes the place of}; `live` of that buffer grows to cover both."""
    host = {}
    for i, instr in enumerate(instructions):
        taken = set()
        for result, operand in instr.inplace:
            if result not in live or operand not in live or result in host or operand in taken:
                continue
            root = host.get(operand, operand)
            if (
                not surely(sizes[result], sizes[root])
                or live[result][0] != i
                or live[operand][1] != i
                or live[root][1] != i
            ):
                continue
            host[result] = root
            taken.add(operand)
            live[root][1] = live[result][1]
    return host
