"""Tests mirror the rooms: what tests ckernels/codegen/ir.py is tests/codegen/test_ir.py.

A part of what is to be said of a file may have one of its own, named after it: test_scan_state.py
stands beside test_scan.py. Tests of a folder (api/sparse/) or of a file at the top may be a folder.
"""

import re
from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "ckernels"
# Tests of more than one room, or of what is none: folders, then files.
FOLDERS = {
    "clients": "programs and libraries written for others: examples, Keras, natural_bm",
    "stress": "the compiledir, threads and shapes under what may happen, through all rooms",
}
FILES = {
    "api/test_bad_arguments.py": "every public function of every dialect",
    "api/test_docstrings.py": "every public function of K",
    "api/test_documented.py": "the examples of two documents, in their order",
    "api/test_empty.py": "every K function, of no elements",
    "api/test_images_everywhere.py": "every image function in one table, of four files",
    "api/test_import.py": "what `import ckernels` loads",
    "api/test_names.py": "names of NumPy, SciPy and Theano, of many files",
    "api/test_signatures.py": "every K function has its documented signature",
    "codegen/test_random_graphs.py": "fusion, layouts, forms and plans all at once",
    "export/test_clean.py": "what a whole export may contain",
    "export/test_examples.py": "models that train in C, whole",
    "export/test_machines.py": "whole exports on other processors",
    "export/test_programs.py": "whole exports, compiled and run",
    "export/test_random_exports.py": "whole exports of functions made at random",
    "numpy/test_probes.py": "promotion and edges through the whole room",
    "numpy/test_coverage.py": "all rows, against what NumPy lets others intercept",
    "jit/test_layouts.py": "views and copies of every function, in numpy/ and jit/",
    "jit/test_masks.py": "parts under masks, in numpy/value.py and numpy/owner.py",
    "jit/test_rows_by_data.py": "loops that data count, in namespace, flow, syntax, growing",
    "jit/test_rows.py": "rows of NumPy's functions in jitted programs",
    "jit/test_random_loops.py": "functions with loops, through syntax, flow and turns",
    "jit/test_nested_programs.py": "containers, functions that call one another and shared memory",
    "jit/test_random_programs.py": "masks, views, loops and layouts of arguments all at once",
    "jit/test_half_floats.py": "what loops of lower.py read of halves, as programs see it",
    "jit/test_odd_arguments.py": "what branches.py and the dispatch in C make of any argument",
    "jit/test_stores.py": "what arrays take, in value.py and owner.py of another room",
    "jit/test_random_costs.py": "derivatives of programs of all of jit",
    "jit/test_slopes.py": "slopes of every ufunc, through rows, ops and transforms",
    "jit/test_wide_programs.py": "every function of ckernels.numpy in programs of all of jit",
    "jit/test_bad_arguments.py": "options of jit and its transforms, and flags",
    "keras3/test_bad_arguments.py": "every function of keras.ops",
    "numpy/test_odd_arguments.py": "every function of ckernels.numpy",
    "keras3/test_histories.py": "training, in one process after other training and in two",
    "keras3/test_data.py": "data of all kinds, and Keras's layers that prepare it",
    "keras3/test_files.py": "files that other backends of Keras wrote",
    "keras3/test_draws.py": "the distributions of draws, by statistics",
    "keras3/test_products.py": "products of bytes, and the quantised layers made of them",
    "keras3/test_programs.py": "whole programs, beside the losses of another backend",
    "keras3/test_suite.py": "how Keras's own tests are run, in tests/clients",
    "numpy/rows/test_functions.py": "rows of functions, of all subjects",
    "ops/test_c_expressions.py": "the C of every op",
    "ops/test_derivatives.py": "the derivatives of every op",
    "plan/test_sizes_of_one.py": "open sizes of 1 through shape rules, planning and lowerings",
    "plan/test_unknown_sizes.py": "sizes through planning, staging and scans",
    "rewrite/test_every_dtype.py": "every rule of every family, over all dtypes",
    "rewrite/test_formulas.py": "every formula of every family",
    "rewrite/test_near_misses.py": "all recognisers of all families",
    "rewrite/test_random_integers.py": "all rules and kernels on graphs of integers",
    "rewrite/test_rules.py": "every rule that is code, of every family",
    "schedule/test_deep.py": "no room recurses along a graph",
    "test_benchmarks.py": "benchmarks/",
    "test_bfloat16.py": "one dtype through all rooms",
    "test_budget.py": "the sizes of all files",
    "test_contributing.py": "the examples of CONTRIBUTING.md",
    "test_docs.py": "the examples of docs/ and docstrings",
    "test_layers.py": "what all files import",
    "test_mirror.py": "the names of tests",
    "test_covered.py": "build_tools/covered.py",
    "test_mutants.py": "build_tools/mutants.py",
    "test_sampled.py": "tests/sampled.py",
    "test_switched.py": "build_tools/switched.py",
    "test_no_compiler.py": "all rooms without a C compiler",
    "test_recognisers.py": "what recognises a form, of six rooms",
    "test_site.py": "build_tools/",
    "test_types.py": "build_tools/",
    "test_warm.py": "build_tools/warm.py",
    "test_everything.py": "build_tools/everything.py",
    "test_wheels.py": "build_tools/",
    "test_words.py": "the names of all files",
}
ALL = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def stems(folder):
    """What can be tested in a folder of the package: its files, of Python and of C, and folders."""
    if not folder.is_dir():
        return set()
    found = (p for p in folder.iterdir() if p.is_dir() or p.suffix in (".py", ".c", ".h"))
    return {p.stem.lstrip("_") for p in found} - {"init", "pycache"}


def subject(path):
    """The file or folder of the package whose name a test file has; None if there is none."""
    name, folder = path.stem.removeprefix("test_"), path.parent
    if (PACKAGE / folder).with_suffix(".py").is_file():  # tests/base/errors/: errors.py
        return folder.with_suffix(".py")
    fitting = [s for s in stems(PACKAGE / folder) if name == s or name.startswith(s + "_")]
    return folder / max(fitting, key=len) if fitting else None


def listed(path):
    return path.as_posix() in FILES or any(
        path.is_relative_to(folder) for folder in FOLDERS
    )  # fmt: skip


def test_a_test_file_stands_where_its_subject_stands():
    lost = [path.as_posix() for path in ALL if subject(path) is None and not listed(path)]
    assert not lost, (
        f"of these files of tests/ none has the name of one of ckernels/: {lost}. Name it after "
        "what it tests, or list it in tests/test_mirror.py with the reason"
    )


def test_exceptions_are_needed():
    for name in FILES:
        assert (TESTS / name).exists() and subject(Path(name)) is None, name
    for folder in FOLDERS:
        assert any(subject(path) is None for path in ALL if path.is_relative_to(folder)), folder


def test_subjects_are_found_by_whole_words():
    assert subject(Path("plan/test_scan_by_rows.py")) == Path("plan/scan_by_rows")
    assert subject(Path("plan/test_scan_trips.py")) == Path("plan/scan")
    assert subject(Path("plan/test_scanner.py")) is None
    assert subject(Path("codegen/test_scan.py")) is None  # a file of another room
    assert subject(Path("base/errors/test_calls.py")) == Path("base/errors.py")
    assert subject(Path("ops/test_init.py")) is None


def test_files_that_the_makefile_names_are_there():
    named = set(re.findall(r"\btests/[\w/]+\.py\b", (TESTS.parent / "Makefile").read_text()))
    lost = sorted(name for name in named if not (TESTS.parent / name).exists())
    assert named and not lost, lost


ROOT_FILES = set(
    "CHANGELOG.md CONTRIBUTING.md LICENSE MANIFEST.in Makefile README.md benchmarks build_tools "
    "ckernels docs examples pyproject.toml setup.py tests".split()
)


def test_nothing_strays_at_the_root():
    """What a tool has written stands in an ignored folder, or is no part of the project."""
    root = TESTS.parent
    ignored = [line.strip("/") for line in (root / ".gitignore").read_text().split()]
    found = {p.name for p in root.iterdir() if not p.name.startswith(".")} - ROOT_FILES
    strays = {name for name in found if not any(fnmatch(name, i) for i in ignored)}
    assert not strays, f"{sorted(strays)}: delete them, ignore them, or list them with ROOT_FILES"
