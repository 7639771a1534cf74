"""A room imports only from rooms above it. Imports inside functions count too.

The order is that of DESIGN's map of rooms; what breaks it is listed below with its reason.
"""

import ast
import re

import pytest

from build_tools import rooms
from build_tools.rooms import PACKAGE, imports_of, nodes_of, room_of, tree_of

ORDER = [
    "base",
    "graph",
    "ops",
    "autodiff",
    "rewrite",
    "schedule",
    "codegen",
    "compiler",
    "plan",
    "runtime",
    "numpy",
    "jit",
    "api",
    "theano",  # programs written for Theano: a front end beside api
    "compat",
    "export",
    "errors",  # the exceptions and the flags by their public names
    "config",
    "__init__",
    "bridges",
    "pytensor",  # the public modules of bridges
    "dask",
    "mpi",
    "keras3",  # exports models, and trains them on many machines
    "cli",
    "typing",  # types for annotations
]  # fmt: skip
EXCEPTIONS = {
    # (file, room it imports): reason
}  # fmt: skip
REGISTRATIONS = {
    # function by which a room lets others fill something in: rooms that call it
    "register_trees": {"graph"},            # errors print trees of expressions
    "register_operators": {"ops"},          # nodes have Python's operators
    "register_rule": {"autodiff", "bridges"},  # of scans and spectra; PyTensor's checks in batches
    "register_rules": {"graph", "autodiff", "plan"},  # tables of them; lowerings too
    "register_interpreter": {"ops"},  # bodies of scans and branches run in NumPy
    "register_function": {"api"},           # handles have `eval`
    "register_reset": {"api"},              # clear_session forgets the learning phase
    "register_others": {"bridges"},         # processes of a cluster compile for one another
    "register_shown": {"theano"},           # scans look like Theano's ops
    "register_hook": {"theano"},            # what goes up inside of it: base/hooks.py has the list
    "register_sparse": {"api"},             # operators of sparse tensors, which load late
    "register_parted": {"api"},             # what of other libraries makes such handles
    "register_names": {"__init__"},         # refusals of NumPy's functions name those of K
}  # fmt: skip
FOREIGN = (  # of Python, PyTensor and Dask
    "register_at_fork",
    "register_linker",
    "register_mode",
    "register_plugin",
)


DIALECT = PACKAGE / "theano"  # its files are Theano's modules
FILES = rooms.files()


def test_imports_come_from_rooms_above():
    for path in FILES:
        name = path.relative_to(PACKAGE).as_posix()
        own = room_of(path.relative_to(PACKAGE).with_suffix("").parts)
        assert own in ORDER, f"{name} belongs to no room: add it to the map"
        for line, parts in imports_of(path):
            other = room_of(parts)
            if (name, other) in EXCEPTIONS:
                continue
            assert other in ORDER, f"{name}:{line} imports {other}, which is no room"
            assert ORDER.index(other) <= ORDER.index(own), (
                f"{name}:{line} imports {other}, below it"
            )


def test_one_file_knows_whether_the_runtime_is_there():
    for path in FILES:
        modules = {parts[0] for _, parts in imports_of(path) if parts}
        assert "_runtime" not in modules or path == PACKAGE / "base" / "native.py", path


def test_exceptions_are_needed():
    for (name, room), reason in EXCEPTIONS.items():
        assert reason
        assert any(room_of(parts) == room for _, parts in imports_of(PACKAGE / name)), name


def test_the_compiler_room_knows_no_graph():
    for path in (PACKAGE / "compiler").glob("*.py"):
        rooms = {room_of(parts) for _, parts in imports_of(path)}
        assert rooms <= {"base", "compiler"}, path.name


def test_no_room_uses_what_runs_text_as_code():
    """No pickle, eval, exec or shell: names users choose never become code."""
    for path in FILES:
        if path.relative_to(PACKAGE).as_posix() == "theano/compile/pkl_utils.py":
            continue  # dump and load of Theano: pickles are what it is about
        for node in nodes_of(path):
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
    return any(isinstance(n, ast.FunctionDef) and n.name == name for n in tree_of(path).body)


def test_the_binder_stays_in_the_planning_room():
    """Other rooms ask the Draft: a binder handed on would tie them to its attributes unseen."""
    for path in FILES:
        if PACKAGE / "plan" in path.parents:
            continue
        for node in nodes_of(path):
            name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None)))
            assert name != "binder", f"{path.relative_to(PACKAGE)}:{node.lineno} uses a binder"


# ---- what one file does to another but by imports ------------------------------------------------


def imported_names(path):
    """{name in the file: room it was imported from}, of other rooms."""
    here, found = path.relative_to(PACKAGE).with_suffix("").parts, {}
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(here[: len(here) - node.level])
            parts = base + (node.module.split(".") if node.module else [])
            for alias in node.names:
                room = room_of(parts or [alias.name])
                if room != room_of(here):
                    found[alias.asname or alias.name] = room
    return found


def assigned(path):
    """(line, name) of each `name.attribute = ...` and setattr(name, ...)."""
    for node in nodes_of(path):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, (ast.AugAssign, ast.AnnAssign))
            else []
        )
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            targets = [ast.Attribute(node.args[0], "")]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield node.lineno, target.value.id


def test_no_room_writes_into_another():
    """What is filled in from outside is registered: a call of a function that says so."""
    for path in FILES:
        foreign = imported_names(path)
        for line, name in assigned(path):
            if name in foreign and name != "config":  # flags are there to be set
                raise AssertionError(f"{path.name}:{line} writes into {name} of {foreign[name]}")


def modules_of(path):
    """{name in the file: file} of the modules of the package that it imports."""
    here, found = path.relative_to(PACKAGE).with_suffix("").parts, {}
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = PACKAGE.joinpath(*here[: len(here) - node.level])
            folder = base.joinpath(*(node.module or "").split("."))
            for alias in node.names:
                if (folder / f"{alias.name}.py").exists() or (folder / alias.name).is_dir():
                    found[alias.asname or alias.name] = alias.name
    return found


def test_a_private_name_stays_in_its_file():
    """_name is of one file: what another one needs has a public name there."""
    for path in FILES:
        modules = modules_of(path)
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.level:
                private = {a.name for a in node.names if a.name[0] == "_"} - {*modules.values()}
                assert private <= ({"_runtime"} if path.name == "native.py" else {"__version__"}), (
                    f"{path.name}:{node.lineno}: {private}"
                )
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                private = node.attr[0] == "_" and node.attr[:2] != "__"
                assert not (private and node.value.id in modules), (
                    f"{path.name}:{node.lineno}: {node.value.id}.{node.attr}"
                )


def test_registrations_are_known():
    found = {}
    for path in FILES:
        room = room_of(path.relative_to(PACKAGE).parts)
        room = room.removesuffix(".py")
        for node in nodes_of(path):
            name = getattr(getattr(node, "func", None), "id", None) or getattr(
                getattr(node, "func", None), "attr", ""
            )
            name = name.removeprefix("_")
            if isinstance(node, ast.Call) and name.startswith("register_") and name not in FOREIGN:
                found.setdefault(name, set()).add(room)
    assert found == REGISTRATIONS


# ---- the drawing ---------------------------------------------------------------------------------


def test_the_drawing_shows_the_imports_of_today():
    drawing = rooms.svg(rooms.imported())
    assert rooms.DRAWING.read_text() == drawing, "run `python -m build_tools.rooms`"


def test_rooms_stand_on_floors():
    """No room imports one of its own floor or of a higher one; what is drawn fits on a page."""
    boxes = rooms.imported()
    floor = rooms.floors(boxes)
    assert all(floor[below] < floor[room] for room in boxes for below in boxes[room])
    assert len(boxes) <= 22 and max(floor.values()) <= 11


def test_figures_count_what_is_drawn():
    boxes, files = {"a": {"b", "c"}, "b": {"c"}, "c": set()}, {"a/x": {"b"}, "b": set()}
    found = rooms.figures(boxes, files)
    assert found.startswith("3 rooms on 3 floors, 3 arrows, 0 of them climb; 2 files")
    with pytest.raises(ValueError, match="a/x -> b -> a/x"):
        rooms.figures(boxes, {"a/x": {"b"}, "b": {"a/x"}})


def test_floors_refuse_circles_and_lines_are_not_repeated():
    with pytest.raises(ValueError, match="a -> b -> a"):
        rooms.floors({"a": {"b"}, "b": {"a"}})
    boxes = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert rooms.floors(boxes) == {"a": 3, "b": 2, "c": 1}
    assert rooms.direct(boxes) == {"a": {"b"}, "b": {"c"}, "c": set()}


# ---- circles -------------------------------------------------------------------------------------


def test_no_circle_of_files():
    graph = rooms.files_imported()
    done, open_now = set(), []

    def visit(name):
        assert name not in open_now, " -> ".join([*open_now[open_now.index(name) :], name])
        if name not in done:
            open_now.append(name)
            for other in sorted(graph[name]):
                visit(other)
            done.add(open_now.pop())

    for name in sorted(graph):
        visit(name)


# Packages that may not be there: what needs one imports it where it is used.
MAY_BE_ABSENT = {
    *(
        "scipy",
        "nutpie",
        "pymc",
        "pytensor",
        "keras",
        "yaml",
        "PIL",
        "sklearn",
        "ml_dtypes",
        "cffi",
    ),
    *(
        "numba",
        "cairosvg",
        "dask",
        "distributed",
        "mpi4py",
        "zarr",
        "torch",
        "jax",
        "theano",
        "h5py",
        "matplotlib",
    ),
}


def imports_inside_functions(path):
    """(node, the comment beside it, where it is)."""
    lines, name = path.read_text().split("\n"), path.relative_to(PACKAGE).as_posix()
    for function in nodes_of(path):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                why = "".join(lines[node.lineno - 1 : node.end_lineno]).partition("#")[2]
                yield node, why, f"{name}:{node.lineno}: say why this import is inside a function"


def test_imports_of_other_packages_inside_functions_say_why():
    """Theano's modules show their names to programs, so helpers stay out of them."""
    for path in (p for p in FILES if DIALECT not in p.parents):
        for node, why, sentence in imports_inside_functions(path):
            if getattr(node, "level", 0) == 0:
                package = node.names[0].name if isinstance(node, ast.Import) else node.module
                assert why or package.partition(".")[0] in MAY_BE_ABSENT, sentence


def test_imports_inside_functions_say_why():
    """They buy start-up time, or load what may not be there. Programs see the names of Theano's."""
    for path in FILES:
        for node, why, sentence in imports_inside_functions(path):
            if DIALECT in path.parents and "start-up" in why:
                assert re.search(r"start-up: [\d.]+ ms", why), f"{sentence}, and how long it takes"
            elif getattr(node, "level", 0):
                assert "start-up" in why or why and DIALECT in path.parents, sentence
