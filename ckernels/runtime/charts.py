"""Charts beside the graphs of `K.draw`, as plain numbers and strings: a timeline of the last call,
the memory of a call, two profiles side by side, the values of a variable.

What is drawn of them is decided in ckernels/pictures/charts.js; the graphs are in picture.py.
"""

from difflib import SequenceMatcher

import numpy as np

from ..graph.printing import location
from ..graph.sizes import value_of
from ..plan.instructions import flatten

BINS = 24
SHOWN = 6  # values of a variable
MOST = 1 << 20  # of them are looked at


def timeline(function):
    """The spans of the last call; None where none was watched."""
    found = function.timeline()
    if not found:
        return None
    names, spans = {}, []
    for s in found:
        key = (s.step, s.name, location(s.line))
        at = names.setdefault(key, len(names))
        spans.append([at, s.thread, round(1e3 * s.start, 3), round(1e3 * s.end, 3)])
    return {
        "title": "timeline",
        "chart": "timeline",
        "names": [f"{step}: {name}" for step, name, _ in names],
        "lines": [line for _, _, line in names],
        "spans": spans,  # [number of a name, thread, from, to in us]
        "lost": found.lost,
    }


def memory(draft):
    """What lies where in the arena of a plan, from the instruction that writes it first to the one
    that reads it last; None where nothing lies there."""
    from ..plan.memory import arrange, keep_apart, lifetimes  # start-up

    flat, sizes = flatten(draft.instructions), draft.buffer_sizes
    arena, live = arrange(flat, sizes), lifetimes(flat)
    places, total = arena.offsets([value_of(size) for size in arena.sizes])
    keep_apart(flat, live)
    if not live:
        return None
    writer = {}
    for instr in flat:
        for buffer in instr.writes:
            writer.setdefault(buffer, instr)
    blocks = []
    for buffer, (first, last) in live.items():
        instr = writer.get(buffer, flat[int(first)])
        blocks.append(
            [instr.name, location(instr.line), int(first), min(int(last), len(flat) - 1),
             places[buffer], value_of(sizes[buffer])]
        )  # fmt: skip
    return {
        "title": "memory",
        "chart": "memory",
        "steps": [instr.name for instr in flat],
        "blocks": blocks,  # [name, line, first and last instruction, offset, bytes]
        "total": total,
    }


def profiles(functions):
    """The profiles of two functions, row beside row where both do the same; None where one has
    none."""
    tables = [f.profile_table() for f in functions]
    if not all(tables):
        return None
    calls = [max(row.calls for row in t if row.name[:1] != " ") for t in tables]
    a, b = ([(r.name.strip(), 1e3 * r.ms / n, location(r.line)) for r in t]
            for t, n in zip(tables, calls))  # fmt: skip
    rows = []
    matcher = SequenceMatcher(None, [r[0] for r in a], [r[0] for r in b], autojunk=False)
    for _, i, j, k, m in matcher.get_opcodes():
        paired = matcher.a[i:j] == matcher.b[k:m]
        if paired:
            rows += [[x[0], x[1], y[1], x[2], y[2]] for x, y in zip(a[i:j], b[k:m])]
        else:
            rows += [[x[0], x[1], None, x[2], ""] for x in a[i:j]]
            rows += [[y[0], None, y[1], "", y[2]] for y in b[k:m]]
    return {
        "title": "profiles",
        "chart": "profiles",
        "names": [t.title for t in tables],
        "rows": rows,  # [name, us of a call here, there, lines]
    }


def values(node):
    """A variable's values at present, as lines and a histogram; {} for what is no variable."""
    store = node.attrs.get("store")
    if store is None:
        return {}
    array = np.asarray(store.get())
    numbers = array.dtype.kind in "fiuc"
    first = " ".join(f"{v:.4g}" if numbers else str(v) for v in array.ravel()[:SHOWN])
    lines = [f"values: {first}" + (" …" if array.size > SHOWN else "")]
    counts = []
    if numbers and array.dtype.kind != "c" and array.size:
        every = -(-array.size // MOST)
        some = array.ravel()[::every].astype("float64")
        finite = some[np.isfinite(some)]
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            seen = f" of every {every}th" if every > 1 else ""
            lines.append(f"{low:.4g} to {high:.4g}, mean {finite.mean():.4g}{seen}")
            counts = np.histogram(finite, BINS)[0].tolist() if low < high else []
        if finite.size < some.size:
            lines.append(f"{some.size - finite.size} NaN or infinite")
    return {"values": lines, "counts": counts}
