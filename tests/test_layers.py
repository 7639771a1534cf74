"""A room imports only from rooms above it. Imports inside functions count too.

The order is that of DESIGN's map of rooms; what breaks it is listed below with its reason.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ckernels"
ORDER = [
    "locks",
    "collector",
    "errors",
    "config",
    "dtypes",
    "graph",
    "ops",
    "reference",
    "autodiff",
    "rewrite",
    "schedule",
    "codegen",
    "compiler",
    "_runtime",  # the C extension: knows NumPy and nothing of ckernels
    "plan",
    "runtime",
    "api",
    "compat",
    "export",
    "__init__",
    "bridges",
    "pytensor",  # the public module of that bridge
    "cli",
    "theano",  # `python -m ckernels.theano`, which only calls compat/theano
]
EXCEPTIONS = {
    # (file, room it imports): reason
}


def room_of(parts):
    """The room of a module given by its parts below the package: ('graph', 'node') -> 'graph'."""
    name = parts[0] if parts else "__init__"
    return name


def imports_of(path):
    """(line, parts of the module below the package) for each import of ckernels in a file."""
    here = path.relative_to(PACKAGE).with_suffix("").parts
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
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


FILES = sorted(p for p in PACKAGE.rglob("*.py") if not p.name.startswith("_loader"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_come_from_rooms_above(path):
    name = path.relative_to(PACKAGE).as_posix()
    own = room_of(path.relative_to(PACKAGE).with_suffix("").parts)
    assert own in ORDER, f"{name} belongs to no room: add it to the map"
    for line, parts in imports_of(path):
        other = room_of(parts)
        if (name, other) in EXCEPTIONS:
            continue
        assert other in ORDER, f"{name}:{line} imports {other}, which is no room"
        assert ORDER.index(other) <= ORDER.index(own), f"{name}:{line} imports {other}, below it"


def test_exceptions_are_needed():
    for (name, room), reason in EXCEPTIONS.items():
        assert reason
        assert any(room_of(parts) == room for _, parts in imports_of(PACKAGE / name)), name


def test_the_compiler_room_knows_no_graph():
    for path in (PACKAGE / "compiler").glob("*.py"):
        rooms = {room_of(parts) for _, parts in imports_of(path)}
        assert rooms <= {"locks", "errors", "config", "compiler"}, path.name


def test_no_room_uses_what_runs_text_as_code():
    """No pickle, eval, exec or shell: names users choose never become code."""
    for path in FILES:
        if path.relative_to(PACKAGE).as_posix() == "compat/theano/misc/pkl_utils.py":
            continue  # dump and load of Theano: pickles are what it is about
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {a.name for a in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "marshal", "shelve"}, f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                builtin = node.func.id in ("eval", "exec")
                assert not builtin or _defined(path, node.func.id), f"{path}:{node.lineno}"
            if isinstance(node, ast.keyword) and node.arg == "shell":
                assert isinstance(node.value, ast.Constant) and not node.value.value, path


def _defined(path, name):
    """Whether a file has a function of its own by that name (K.eval)."""
    return any(
        isinstance(n, ast.FunctionDef) and n.name == name for n in ast.parse(path.read_text()).body
    )
