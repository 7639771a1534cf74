"""Sizes at which a file or a function is likely more than one subject. (Widths are `make lint`'s.)

Files are cut by subject; a number of lines warns and decides nothing.

`python tests/test_budget.py` reports everything beyond the softer limits of the style guide.
"""

import ast
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE, FUNCTION = 900, 80  # what the tests warn of
SOFT_FILE, SOFT_FUNCTION, SOFT_LINE = 400, 40, 100  # what the report names
PYTHON = sorted(
    p
    for folder in ("ckernels", "build_tools", "benchmarks", "examples", "tests")
    for p in (ROOT / folder).rglob("*.py")
    if p.name != "_loader.py"
)
C = sorted(p for p in (ROOT / "ckernels" / "src").rglob("*.[ch]"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def statements(node):
    """All statements in a node: 14 times fewer than nodes."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(node, name, None)
        for child in inner if isinstance(inner, list) else ():
            yield child
            yield from statements(child)


def functions_of(path):
    """(name, lines) of each function, its docstring and inner functions not counted."""
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body
            if ast.get_docstring(node) is not None:
                body = body[1:]
            inner = sum(
                n.end_lineno - n.lineno + 1
                for n in body
                if isinstance(n, (ast.FunctionDef, ast.ClassDef))
            )
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            yield node.name, lines - inner


def count(path):
    return len(path.read_text().splitlines())


def long_files(paths):
    return [f"{name_of(p)}: {count(p)} lines" for p in paths if count(p) > FILE]


def long_functions(paths):
    found = ((p, name, lines) for p in paths for name, lines in functions_of(p))
    return [f"{name_of(p)}: {name}: {lines} lines" for p, name, lines in found if lines > FUNCTION]


@pytest.mark.rest  # it warns and decides nothing
def test_long_files_and_functions_are_named_in_a_warning():
    """Whoever adds to them asks whether they are still about one thing; no number decides it."""
    long = long_files(PYTHON + C) + long_functions(PYTHON)
    if long:
        warnings.warn("more than one subject? " + "; ".join(long), stacklevel=1)


def test_what_is_counted(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "long.py"
    inner = "    def inner():\n" + "        x = 1\n" * FUNCTION
    path.write_text(
        f'def outer():\n    """Words.\n\n    More."""\n{inner}' + "    y = 1\n" * FUNCTION
    )
    assert long_functions([path]) == []
    path.write_text(path.read_text() + "    z = 1\n")
    assert long_functions([path]) == [f"long.py: outer: {FUNCTION + 1} lines"]
    path.write_text("x = 1\n" * FILE)
    assert long_files([path]) == []
    path.write_text("x = 1\n" * (FILE + 1))
    assert long_files([path]) == [f"long.py: {FILE + 1} lines"]


if __name__ == "__main__":
    for path in PYTHON + C:
        if count(path) > SOFT_FILE:
            print(f"{name_of(path)}: {count(path)} lines")
        wide = sum(len(line) > SOFT_LINE for line in path.read_text().splitlines())
        if wide:
            print(f"{name_of(path)}: {wide} lines wider than {SOFT_LINE}")
        if path.suffix == ".py":
            for name, lines in functions_of(path):
                if lines > SOFT_FUNCTION:
                    print(f"{name_of(path)}: {name} has {lines} lines")
