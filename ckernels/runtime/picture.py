"""Graphs as boxes and arrows, for `K.draw`: as the user wrote them, after rewriting, as kernels.

A view is made of plain numbers and strings, with a place for every box and a way for every arrow
(sugiyama.py); what becomes of it, an SVG or a page, is in drawing.py. Functions in pieces, and
functions never called, have only the first view: no plan is made for a picture.
"""

import linecache

from ..base.errors import CKernelsError
from ..graph.printing import location
from ..graph.shapes import show
from ..graph.walk import toposort
from ..plan.instructions import flatten
from .charts import values
from .sugiyama import HIGH, layered, routed

SHOWN = 48  # characters of a line


class Picture:
    """Boxes and arrows. boxes: dicts with label, note, line, kind and what is known beside them
    (c, parts, share); arrows: (number of a box, number of a box); ways: see `routed`."""

    def __init__(self, title):
        self.title, self.boxes, self.arrows = title, [], []
        self.draft = None  # the plan in the making that it shows, if it does
        self.sources = {}  # the text of each line of the user's program

    def box(self, label, note="", line=None, kind="op", **more):
        """The number of a new box."""
        if len(label) > 34:
            more["whole"], label = label, label[:33] + "…"
        if line and location(line) not in self.sources:
            text = " ".join(linecache.getline(line[0], line[1]).split())
            self.sources[location(line)] = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
        width = max(56, 7.2 * max(len(label), 0.8 * len(note)) + 18)
        self.boxes.append(
            {
                "label": label,
                "note": note,
                "line": location(line),
                "kind": kind,
                "w": round(width),
                "h": HIGH,
                **more,
            }
        )
        return len(self.boxes) - 1

    def arrow(self, a, b):
        if a != b and (a, b) not in self._seen():
            self.arrows.append((a, b))
            self._seen().add((a, b))

    def _seen(self):
        return self.__dict__.setdefault("_pairs", set())

    def placed(self):
        """This with x and y for the middle of each box, and a way for each arrow."""
        layered(self.boxes, self.arrows)
        self.ways = routed(self.boxes, self.arrows)
        self.__dict__.pop("_pairs", None)
        return self


def views(what):
    """The views of a compiled function, or of nodes."""
    info = getattr(what, "info", what)
    spec = getattr(info, "spec", None)
    if spec is None:
        return [written("as written", what).placed()]
    roots = spec.outputs + [new for _, new in spec.updates]
    found = [written("as written", roots).placed()]
    program = getattr(info, "program", None)
    if getattr(program, "bound", None) is None or getattr(info, "pieces", None) is not None:
        return found
    try:
        draft = program.drafted("lower")
    except CKernelsError:  # shapes that do not fit: the last call failed for them
        return found
    kernels = as_kernels(draft, info, roots).placed()
    kernels.draft = draft
    return [kernels, written("after rewriting", program.optimised).placed(), *found]


# --- what is drawn ----------------------------------------------------------------------------


def written(title, roots):
    """A box for each operation; small constants stand in the boxes that use them."""
    view, at = Picture(title), {}
    for node in toposort(roots):
        if hidden(node):
            continue
        numbers = [shown(i) for i in node.inputs if hidden(i)]
        view_box = view.box(
            name_of(node) + (f" {' '.join(numbers)}" if numbers else ""),
            note_of(node),
            node.line,
            kind_of(node),
            **values(node),
        )
        at[node.uid] = view_box
        for i in node.inputs:
            if not hidden(i):
                view.arrow(at[i.uid], view_box)
    for root in roots:
        if root.uid in at:
            view.boxes[at[root.uid]]["result"] = True
    return view


def hidden(node):
    """A constant of one number, or a size."""
    return node.op.name == "extent" or node.value is not None and node.value.size == 1


def shown(node):
    if node.op.name == "extent":
        return repr(node.attrs["size"])
    return f"{node.value.item():.6g}" if node.value.dtype.kind == "f" else str(node.value.item())


def name_of(node):
    return str(node.name or ("constant" if node.value is not None else node.op.name))


def note_of(node):
    if node.outs is not None:
        return f"{len(node.outs)} results"
    return f"{node.dtype} {show(node.shape)}"


def kind_of(node):
    if node.op.kind == "leaf":
        return "leaf"
    return "move" if node.op.kind == "movement" else "op"


def as_kernels(draft, info, roots):
    """A box for each instruction of the plan, with its operations, its C and its share of time."""
    from ..codegen.emit import emit  # start-up: a stored plan is drawn from what is planned again

    view, made = Picture("as kernels"), {}
    instructions = flatten(draft.instructions)
    shares = times(info, instructions)
    for k, instr in enumerate(instructions):
        name = f"{k}: {instr.name}"
        parts = [(n.op.name, note_of(n), location(n.line)) for n in instr.nodes]
        kernel = instr.kernel
        last = instr.nodes[-1] if instr.nodes else None
        note, line = ("", None) if last is None else (note_of(last), last.line)
        b = view.box(
            name,
            note,
            line,
            "kernel",
            parts=parts,
            c=emit(kernel)[1] if kernel is not None else "",
            share=shares[k] if shares else None,
        )
        for n in instr.nodes:
            made.setdefault(n.uid, b)
    for instr, b in zip(instructions, range(len(instructions))):
        for node in instr.nodes:
            for x in node.inputs:
                source = maker(x, made, view)
                if source is not None:
                    view.arrow(source, b)
    return view


def maker(x, made, view):
    """The box of what computes `x`, through views; a leaf gets one when it is first met."""
    while x.uid not in made and (x.op.kind == "movement" or x.op.name == "item"):
        x = x.inputs[0]
    if x.uid not in made and x.op.kind == "leaf" and not hidden(x):
        made[x.uid] = view.box(name_of(x), note_of(x), x.line, "leaf", **values(x))
    return made.get(x.uid)


def times(info, instructions):
    """The share of the time of each instruction, where it was measured; else None."""
    try:
        table = info.profile_table()
    except Exception:  # not measured: K.function(..., profile=True) does
        return None
    if not table or len(table) != len(instructions):
        return None
    return [round(row.percent, 2) for row in table]
