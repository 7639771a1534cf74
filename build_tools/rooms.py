"""What each room imports, read from the sources, and the drawing of it: docs/rooms.svg.

`python -m build_tools.rooms` writes the drawing and prints its figures; `tests/test_layers.py`
reads the same imports. The ways in are drawn as one room.
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ckernels"
DRAWING = ROOT / "docs" / "rooms.svg"
DOORS = ("__init__", "errors", "config", "cli", "pytensor", "dask", "mpi", "typing")
WIDE, HIGH, GAP_X, GAP_Y, MARGIN = 124, 34, 26, 34, 20  # of a box, between boxes, around all


@cache
def tree_of(path):
    """The parsed file: parsed once."""
    return ast.parse(path.read_text())


@cache
def nodes_of(path):
    """All nodes of the parsed file, as ast.walk gives them: walked once."""
    return tuple(ast.walk(tree_of(path)))


def room_of(parts):
    """The room of a module given by its parts below the package: ('graph', 'node') -> 'graph'.

    The C runtime is part of `base`, whose file `native.py` alone imports it.
    """
    if parts and parts[0] == "_runtime":
        return "base"
    return parts[0] if parts else "__init__"


def imports_of(path):
    """(line, parts of the module below the package) for each import of ckernels in a file."""
    here = path.relative_to(PACKAGE).with_suffix("").parts
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(here[: len(here) - node.level])
            parts = base + (node.module.split(".") if node.module else [])
            for alias in node.names if not parts else [None]:
                found.append((node.lineno, parts or [alias.name]))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ckernels":
            parts = node.module.split(".")[1:]
            found += [(node.lineno, parts or [alias.name]) for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "ckernels":
                    found.append((node.lineno, alias.name.split(".")[1:]))
    return found


def files():
    """The sources of the package in order; what is made while building is left out."""
    return sorted(p for p in PACKAGE.rglob("*.py") if not p.name.startswith("_loader"))


def drawn(room):
    """The box of a room: the ways in are one."""
    return "ways in" if room in DOORS else room


def imported():
    """{room: rooms it imports}, as boxes of the drawing."""
    boxes = {}
    for path in files():
        own = drawn(room_of(path.relative_to(PACKAGE).with_suffix("").parts))
        others = {drawn(room_of(parts)) for _, parts in imports_of(path)}
        boxes.setdefault(own, set()).update(others - {own})
        for other in others:
            boxes.setdefault(other, set())
    return boxes


def floors(boxes):
    """{room: floor}: 1 where nothing is imported, else one above the highest imported.

    ValueError where rooms import each other in a circle.
    """
    found = {}

    def floor(room, above=()):
        if room in above:
            raise ValueError("a circle of rooms: " + " -> ".join([*above, room]))
        if room not in found:
            found[room] = 1 + max((floor(r, (*above, room)) for r in boxes[room]), default=0)
        return found[room]

    for room in sorted(boxes):
        floor(room)
    return found


def direct(boxes):
    """The imports that no other way leads along: what is drawn as a line."""

    @cache
    def reach(room):
        return frozenset().union(*({r} | reach(r) for r in boxes[room]))

    return {
        room: {r for r in below if not any(r in reach(o) for o in below if o != r)}
        for room, below in boxes.items()
    }


def svg(boxes):
    """The drawing: a box per room, the ground at the bottom, a line down to what is imported."""
    level, lines = floors(boxes), direct(boxes)
    rows = {}
    for room in sorted(level):
        rows.setdefault(level[room], []).append(room)
    widest, highest = max(map(len, rows.values())), max(rows)
    width = 2 * MARGIN + widest * WIDE + (widest - 1) * GAP_X
    height = 2 * MARGIN + highest * HIGH + (highest - 1) * GAP_Y
    at = {}
    for floor, rooms in rows.items():
        left = (width - len(rooms) * WIDE - (len(rooms) - 1) * GAP_X) / 2
        for i, room in enumerate(rooms):
            at[room] = (left + i * (WIDE + GAP_X), MARGIN + (highest - floor) * (HIGH + GAP_Y))
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="14" role="img" aria-label="Rooms and imports">',
        f'<rect width="{width}" height="{height}" fill="#fafbfc"/>',
    ]
    for room in sorted(lines):
        for other in sorted(lines[room]):
            (x, y), (u, v) = at[room], at[other]
            x, u, y = x + WIDE / 2, u + WIDE / 2, y + HIGH
            bend = (v - y) / 2
            text.append(
                f'<path d="M{x:g},{y:g} C{x:g},{y + bend:g} {u:g},{v - bend:g} {u:g},{v:g}" '
                'fill="none" stroke="#8a97a5"/>'
            )
    for room, (x, y) in sorted(at.items()):
        text.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="6" fill="#ffffff" '
            f'stroke="#3b4a5a"/><text x="{x + WIDE / 2:g}" y="{y + HIGH / 2 + 5:g}" '
            f'text-anchor="middle">{room}</text>'
        )
    return "\n".join([*text, "</svg>"]) + "\n"


# ---- files ----


def module_name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == "__init__" else parts)


def edges(path, modules):
    """Those of `modules` that a file imports, inside functions too."""
    here = path.relative_to(PACKAGE).with_suffix("").parts
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(here[: len(here) - node.level])
            parts = base + (node.module.split(".") if node.module else [])
            for alias in node.names:
                whole, short = "/".join([*parts, alias.name]), "/".join(parts)
                found = whole if whole in modules else short
                if found and found in modules and found != module_name(path):
                    yield found


def files_imported():
    """{file: files that it imports}, named as modules are."""
    modules = {module_name(path): path for path in files()}
    return {name: set(edges(path, modules)) for name, path in modules.items()}


def figures(boxes, graph):
    """What the drawing shows, as a sentence; ValueError names a circle of rooms or of files."""
    level = floors(boxes)
    climbing = [(a, b) for a in boxes for b in boxes[a] if level[b] >= level[a]]
    floors(graph)
    return (
        f"{len(boxes)} rooms on {max(level.values())} floors, {sum(map(len, boxes.values()))} "
        f"arrows, {len(climbing)} of them climb; {len(graph)} files, no circle among them"
    )


if __name__ == "__main__":
    DRAWING.write_text(svg(imported()))
    print(figures(imported(), files_imported()))
