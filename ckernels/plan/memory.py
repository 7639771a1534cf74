"""Where buffers lie: liveness over the instructions of a plan, offsets in one arena.

Instructions come as a flat list, the body of a loop (or the sides of a branch) after the
instruction it belongs to. What a loop reads from outside, carries from step to step or keeps for
later lives through all of it. Knows the buffers that steps touch, not what they compute.
"""
from .instructions import LOOP, flatten

ALIGN = 64


def lifetimes(steps):
    """{arena buffer: [first, last]}: the positions between which its contents matter."""
    live, spans = {}, []
    for i, step in enumerate(steps):
        for buffer in step.reads + step.writes:
            if buffer[0] == "tmp":
                live.setdefault(buffer, [i, i])[1] = i
        body = getattr(step, "body", ())
        if body and step.kind == LOOP:
            spans.append((i, i + len(flatten(body, step.depth + 1)) + 0.5))  # after the last one
    for start, end in spans:
        for span in live.values():
            first, last = span
            if first <= end and last >= start and (first <= start or last > end):
                span[:] = min(first, start), max(last, end)
    return live


def place(steps, sizes):
    """Arena offsets {buffer: bytes} by liveness, greedy best fit on size; returns (offsets, bytes).

    A result takes the place of an operand of the same size that is read there for the last time,
    where the step says that both are walked alike.
    """
    live = lifetimes(steps)
    host = overwrite(steps, sizes, live)
    keep_apart(steps, live)
    offsets, placed, top = {}, [], 0
    for buffer in sorted((b for b in live if b not in host), key=lambda b: -sizes[b]):
        first, last = live[buffer]
        size = -(-sizes[buffer] // ALIGN) * ALIGN
        at = 0
        for start, end in sorted((o, o + s) for o, s, f, e in placed if f <= last and first <= e):
            if at + size <= start:
                break
            at = max(at, end)
        offsets[buffer] = at
        placed.append((at, size, first, last))
        top = max(top, at + size)
    for buffer, root in host.items():
        offsets[buffer] = offsets[root]
    return offsets, top


def keep_apart(steps, live):
    """Let all that a loop in parts works on live through it: one part may be steps ahead."""
    for start, step in enumerate(steps):
        if step.kind == LOOP and step.loop.apart:
            end = start + len(flatten(step.body, step.depth + 1)) + 0.5
            for span in live.values():
                if span[0] <= end and span[1] >= start:
                    span[:] = min(span[0], start), max(span[1], end)


def overwrite(steps, sizes, live):
    """{result: the buffer it takes the place of}; `live` of that buffer grows to cover both."""
    host = {}
    for i, step in enumerate(steps):
        taken = set()
        for result, operand in step.inplace:
            if result not in live or operand not in live or result in host or operand in taken:
                continue
            root = host.get(operand, operand)
            if sizes[result] != sizes[root] or live[result][0] != i or live[operand][1] != i \
                    or live[root][1] != i:
                continue
            host[result] = root
            taken.add(operand)
            live[root][1] = live[result][1]
    return host
