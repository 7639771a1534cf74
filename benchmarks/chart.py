"""The chart on top of RESULTS.md: a dot per case, how many times faster than its best peer.

A row per family of cases, a logarithmic scale, a tick at the geometric mean of the family. SVG
written as text: no library is needed to look at it, and a `title` names each dot on hover.
"""

import math
from html import escape

from benchmarks.workload import OURS, PEERS

FAMILIES = {
    # family: how the names of its cases begin
    "calls": ("call",),
    "elementwise": ("light", "heavy", "Black-Scholes"),
    "softmax and norms": ("softmax", "log_softmax", "logsumexp", "layer norm", "batch norm"),
    "reductions": ("sum", "mean+var", "argmax"),
    "dense layers": ("dense", "logistic", "MLP"),
    "images": ("conv", "max-pool", "upsample", "CNN"),
    "views and gathers": ("x.T", "x +", "embedding"),
    "order": ("sort", "ten largest", "medians"),
    "sparse": ("sparse",),
    "CTC": ("ctc",),
    "random numbers": ("uniform", "normal", "bernoulli"),
    "scans": ("scan", "LSTM", "RBM"),
    "Keras": ("Keras",),
    "deep nets": ("residual", "transformer", "chain", "sines", "64 lengths", "ResNet50"),
    "starting": ("first", "import"),
}  # fmt: skip
LEFT, RIGHT, ROW, TOP, WIDTH = 150, 60, 30, 46, 900
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
AHEAD, BEHIND, INK, FAINT = "#2f7d4f", "#c2452d", "#333333", "#d9d9d9"


def family_of(case):
    """The family a case belongs to by the beginning of its name, or None."""
    fits = [
        (len(start), family)
        for family, starts in FAMILIES.items()
        for start in starts
        if case.startswith(start)
    ]
    return max(fits)[1] if fits else None


def ratio_of(record):
    """Best peer's time over ours, or None where one of both is missing or it is no time."""
    ours = record["seconds"].get(OURS)
    peers = [t for name, t in record["seconds"].items() if name in PEERS and t]
    if not ours or not peers or record.get("unit", "s") != "s":
        return None
    return min(peers) / ours


def ratios_of(records):
    """{family: [(ratio, case)]} in the order of FAMILIES, empty ones left out."""
    found = {name: [] for name in FAMILIES}
    for record in records:
        ratio, family = ratio_of(record), family_of(record["case"])
        if ratio and family:
            found[family].append((ratio, record["case"]))
    return {name: sorted(pairs) for name, pairs in found.items() if pairs}


def mean(ratios):
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def place(ratio):
    """The x of a ratio; those beyond the scale sit on its ends."""
    low, high = math.log2(TICKS[0]), math.log2(TICKS[-1])
    at = min(max(math.log2(ratio), low), high)
    return LEFT + (at - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def svg(records):
    """The chart of all records that have a peer, as the text of an SVG file."""
    families = ratios_of(records)
    every = [ratio for pairs in families.values() for ratio, _ in pairs]
    height = TOP + ROW * len(families) + 34
    bottom = height - 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" font-size="14">Times as fast as the best peer of each case'
        + (f", {mean(every):.2f}x in the geometric mean of {len(every)}" if every else "")
        + "</text>",
    ]
    for tick in TICKS:
        x = place(tick)
        colour, wide = (INK, 1.5) if tick == 1 else (FAINT, 1)
        lines.append(
            f'<line x1="{x:.1f}" y1="{TOP - 14}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}" '
            f'stroke-width="{wide}"/><text x="{x:.1f}" y="{bottom + 18}" '
            f'text-anchor="middle">{tick:g}x</text>'
        )
    for i, (name, pairs) in enumerate(families.items()):
        y = TOP + ROW * i + ROW / 2 - 8
        middle = mean([ratio for ratio, _ in pairs])
        lines.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
        for ratio, case in pairs:
            colour = AHEAD if ratio >= 1 else BEHIND
            lines.append(
                f'<circle cx="{place(ratio):.1f}" cy="{y:.1f}" r="5" fill="{colour}" '
                f'fill-opacity="0.55"><title>{escape(case)}: {ratio:.2f}x</title></circle>'
            )
        lines.append(
            f'<line x1="{place(middle):.1f}" y1="{y - 10:.1f}" x2="{place(middle):.1f}" '
            f'y2="{y + 10:.1f}" stroke="{INK}" stroke-width="2"/>'
            f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4:.1f}">{middle:.2f}x</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"
