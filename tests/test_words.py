"""docs/rooms.md: every file has a line in the table of its room, and names keep to the glossary.

A name is cut into words ("ScanPlanner": scan, planner). A word of the glossary may stand in the
names of files and classes of the rooms that the glossary gives it, and means one thing there.
"""

import ast
import functools
import re
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ckernels"
PAGE = (ROOT / "docs" / "rooms.md").read_text()
GENERATED = {"_loader.py"}
DIALECT = PACKAGE / "theano"
# Names of Theano's whose words mean something else there.
THEIRS = {
    "DownsampleFactorMaxGradGrad",
    "InvalidValueError",
    "TestValueError",
    "test_values",
    "LocalGroupDB",
    "LocalOptGroup",
    "WrongValue",
    "Split",
    "Tile",
}
FILES = sorted(
    p
    for p in PACKAGE.rglob("*")
    if p.suffix in (".py", ".c", ".h")
    and p.name not in GENERATED
    and (p.name != "__init__.py" or len(ast.parse(p.read_text()).body) > 1)
)


def room_of(path):
    """'graph' for ckernels/graph/node.py; 'dask' for ckernels/dask.py."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def tables():
    """{room: names of files, or folders/, in its table}; those of no room are under ''."""
    found = {}
    for head, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S):
        room = head.rstrip("/") if head.endswith("/") else ""
        names = re.findall(r"^\| `([^`]+(?:\.[a-z]+|/))` \|", text, re.M)
        found.setdefault(room, set()).update(names)
    return found


def glossary():
    """{word: rooms whose names may have it}."""
    text = PAGE[PAGE.index("## Words") : PAGE.index("## Top level")]
    rows = re.findall(r"^\| (\w+) \| .+ \| ([\w -]+) \|$", text, re.M)
    assert len(rows) == len({word for word, _ in rows}) > 30, "a word has one meaning"
    return {word: set(rooms.split()) for word, rooms in rows if word != "word"}


def words(name):
    """'ScanPlanner' and 'scan_planners' are scan, planner."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {w.lower() if w.endswith("ss") else w.lower().removesuffix("s") for w in found}


@functools.cache
def classes(path):
    return re.findall(r"^ *class (\w+)[(:]", path.read_text(), re.M)


def names():
    """(name, room, file) of all files and classes."""
    for path in FILES:
        if DIALECT / "modules" in path.parents:  # Theano's own modules, which import others
            continue
        if path.name != "__init__.py":
            yield path.stem, room_of(path), path
        if path.suffix == ".py":
            for name in classes(path):
                yield name, room_of(path), path


def test_every_file_has_a_line_in_the_table_of_its_room():
    listed = tables()
    for path in FILES:
        parts = path.relative_to(PACKAGE).parts
        room, name = (parts[0], "/".join(parts[1:])) if len(parts) > 1 else ("", parts[0])
        folder = name.partition("/")[0] + "/"
        assert {name, folder} & listed.get(room, set()), (
            f"docs/rooms.md: the table of {room or 'Top level'} has no line for {name}"
        )


def test_every_line_has_its_file():
    for room, files in tables().items():
        for name in files:
            assert (PACKAGE / room / name).exists(), f"docs/rooms.md: {room}/{name} is gone"


def test_names_keep_to_the_glossary():
    known = glossary()
    for name, room, path in names():
        for word in words(name) & set(known) if name not in THEIRS else ():
            assert room in known[word], (
                f"{path.relative_to(ROOT)}: {name} has the word {word!r}, which means something "
                f"else: see the words of docs/rooms.md"
            )


def test_no_two_classes_have_one_name():
    found = defaultdict(set)
    for name, room, path in names():
        if room != "theano" and name != path.stem and not name.startswith("_"):
            found[name].add(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


# ---- files that are spoken of ----

SPOKEN = re.compile(r"(?<![\w/.{}$`-])((?:[a-z_]\w*/)*[a-z_]\w*\.(?:py|c|h|md))\b(?![.(])")
ELSEWHERE = {"train.py", "model.c", "model.h", "mine.h", "math.h"}  # of users, of libm


def prose(path):
    """The docstrings and comments of a file."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""
    with path.open() as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.string


def unknown_files(texts, known):
    """What `texts` call files, with or without a folder, and is none of the paths `known`."""
    found = {name for text in texts for name in SPOKEN.findall(text)} - ELSEWHERE
    return {n for n in found if not any(f"/{path}".endswith(f"/{n}") for path in known)}


def unknown_in(path, known):
    """The same of a file; it is only cut into prose and code where any of its text is unknown."""
    return unknown_files([path.read_text()], known) and unknown_files(prose(path), known)


def test_files_that_docstrings_name_exist(tmp_path):
    known = [
        p.relative_to(ROOT).as_posix()
        for part in ("ckernels", "tests", "docs", "build_tools", "benchmarks", "examples")
        for p in (ROOT / part).rglob("*.*")
    ]
    assert "ckernels/graph/node.py" in known
    assert unknown_files(["see graph/node.py, node.py and api/node.py"], known) == {"api/node.py"}
    spoken = tmp_path / "spoken.py"
    spoken.write_text('"""See gone.py, not node.py."""\nX = "lost.c"  # as in away.c and node.py\n')
    assert unknown_in(spoken, known) == {"gone.py", "away.c"}
    spoken.write_text('"""See node.py."""\nX = "lost.c"\n')
    assert unknown_in(spoken, known) == set()
    wrong = {
        path.relative_to(ROOT).as_posix(): names
        for path in PACKAGE.rglob("*.py")
        if (names := unknown_in(path, known))
    }
    assert not wrong
