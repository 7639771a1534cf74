"""Sizes at which a file or a function is surely more than one subject. (Widths are `make lint`'s.)

Files are cut by subject; a number of lines only warns.

`python tests/test_budget.py` reports everything beyond the softer limits of the style guide.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE, FUNCTION = 900, 80  # what fails
SOFT_FILE, SOFT_FUNCTION, SOFT_LINE = 400, 40, 100  # what the report names
OVER = {
}  # fmt: skip
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


def test_files_are_short():
    long = [name_of(p) for p in PYTHON + C if count(p) > OVER.get(name_of(p), FILE)]
    assert not long, f"longer than {FILE} lines; split them by what their parts are about: {long}"


def test_functions_are_short():
    found = ((p, name, lines) for p in PYTHON for name, lines in functions_of(p))
    long = [f"{name_of(p)}: {name}: {lines}" for p, name, lines in found if lines > FUNCTION]
    assert not long, f"functions longer than {FUNCTION} lines: {long}"


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
