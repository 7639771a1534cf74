"""Views of graphs as text: an SVG, or a page with all views that needs nothing else.

Charts (timeline, memory, profiles) come from charts.py. The page's look and behaviour are in
ckernels/pictures/, with the layout library dagre (MIT). Graphs of more than 120 boxes are shown
folded by the user's lines or functions; large ones unfolded keep the places and ways that
sugiyama.py gave them.
"""

import html
import json
import os

from . import charts
from .picture import views
from .sugiyama import HIGH

PICTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pictures")
FILLS = {"op": "#eef3fb", "leaf": "#e9f5ea", "move": "#f4f4f4", "kernel": "#fdf1e3"}
SMALL = 60  # boxes of a picture that a notebook shows without being asked


def read(name):
    with open(os.path.join(PICTURES, name), encoding="utf-8") as f:
        return f.read()


class Drawing(str):
    """The text of a page; a notebook shows the page itself."""

    __slots__ = ()

    def _repr_html_(self):
        return (
            f'<iframe srcdoc="{html.escape(self)}" style="width: 100%; height: 560px; '
            'border: 1px solid #ccc"></iframe>'
        )


def shown(what):
    """All views of a subject as the page reads them, charts behind the graph of kernels."""
    data = []
    for v in views(what):
        found = {"title": v.title, "boxes": v.boxes, "arrows": v.arrows, "ways": v.ways}
        data.append({**found, "sources": v.sources})
        if v.draft is not None:
            found = charts.timeline(getattr(what, "info", what)), charts.memory(v.draft)
            data += [chart for chart in found if chart]
    return data


def page(what, title):
    """One self-contained HTML file, as a Drawing, of one subject or of a tuple of two functions."""
    if isinstance(what, tuple):
        data = [found for found in (charts.profiles(what),) if found]
        for letter, function in zip("ab", what):
            for found in shown(function):
                data.append({**found, "title": f"{letter}: {found['title']}"})
    else:
        data = shown(what)
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "@title@": html.escape(title),
        "@style@": read("page.css"),
        "@dagre@": read("dagre.min.js"),
        "@fold@": read("fold.js"),
        "@charts@": read("charts.js"),
        "@script@": read("page.js"),
        "@data@": text,
    }
    out = read("page.html")
    for hole, part in parts.items():
        out = out.replace(hole, part, 1)
    return Drawing(out)


def svg(view, scale=1.0):
    """A View as the text of an SVG."""
    ends = [b["x"] + b["w"] / 2 for b in view.boxes] + [x for way in view.ways for x, _ in way]
    wide = max(ends, default=0) + 12
    high = max((b["y"] + b["h"] / 2 for b in view.boxes), default=0) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * scale:.0f}" '
        f'height="{high * scale:.0f}" viewBox="-6 -6 {wide:.0f} {high:.0f}" '
        'font-family="sans-serif">'
    ]
    rows = sorted({b["y"] for b in view.boxes})
    for (a, b), way in zip(view.arrows, view.ways):
        lines.append(
            f'<path d="{curve(view.boxes[a], view.boxes[b], way, rows)}" fill="none" '
            'stroke="#9aa5b1"/>'
        )
    for b in view.boxes:
        lines.append(
            f"<g><title>{html.escape(b['line'])}</title>"
            f'<rect x="{b["x"] - b["w"] / 2:.1f}" y="{b["y"] - b["h"] / 2}" width="{b["w"]}" '
            f'height="{b["h"]}" rx="5" fill="{FILLS[b["kind"]]}" stroke="#7b8794"/>'
            f'<text x="{b["x"]}" y="{b["y"] - 2}" text-anchor="middle" font-size="12">'
            f"{html.escape(b['label'])}</text>"
            f'<text x="{b["x"]}" y="{b["y"] + 11}" text-anchor="middle" font-size="9" '
            f'fill="#52606d">{html.escape(b["note"])}</text></g>'
        )
    return "\n".join([*lines, "</svg>"])


def curve(p, q, way, rows):
    """The path of an arrow between boxes of an SVG: straight beside the boxes that it passes."""
    x, y, k = p["x"], p["y"] + p["h"] / 2, rows.index(p["y"]) + 1
    path, stops = f"M{x} {y}", []
    for at, count in way:
        stops.append((at, rows[k] - HIGH / 2, rows[k + count - 1] + HIGH / 2))
        k += count
    end = q["y"] - q["h"] / 2
    for at, above, below in [*stops, (q["x"], end, end)]:
        middle = (y + above) / 2
        path += f"C{x} {middle} {at} {middle} {at} {above}" + (f"V{below}" if below > above else "")
        x, y = at, below
    return path


def summary(function):
    """A function for a notebook: what it is, its steps, and a small picture."""
    steps = function.steps() if hasattr(function, "steps") else []
    listed = "\n".join(steps[:20]) + (f"\n... {len(steps) - 20} more" if len(steps) > 20 else "")
    first = views(function)[0]
    shown = (
        svg(first, 0.8)
        if len(first.boxes) <= SMALL
        else f'<p>{len(first.boxes)} boxes: K.draw(f, "graph.html") shows them.</p>'
    )
    return (
        f"<div><code>{html.escape(repr(function))}</code><pre>{html.escape(listed)}</pre>"
        f"{shown}</div>"
    )
