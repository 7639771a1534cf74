"""Theano 1.0.5's own tests through the facade: `make theano`, or `run.py PACKAGE FOLDER [names]`.

PACKAGE is the unpacked source of Theano 1.0.5, FOLDER where its test files are copied to, each
under a flat name (tensor/tests/test_basic.py: tensor__test_basic.py). Prints a line for each file,
and two sums: of the tests as pytest counts them, with all their parameters and classes, and of the
functions as the files define them, where one has passed if all its tests have. With
THEANO_FLAGS=linker=py functions run through NumPy, in a tenth of the time.

What is known to fail stands in failing.txt, by reason. Status 1: another test fails, or one that
stands there passes. Tests that are listed as not run (slow, or left to chance) count as failures;
those that are listed as run in C, what NumPy's way does not have to be, are run so. Files that are
not run stand in left_out.txt, by reason: one that stands in neither list ends the run.
What each file gave stands in results.txt, from which the guide is written.
`run.py --write PACKAGE FOLDER [names]` writes the lines of these files anew from their logs, by
REASONS below: read what it wrote, as a reason is only as good as its pattern.
"""

import ast
import concurrent.futures
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
KNOWN = HERE / "failing.txt"
LEFT_OUT = HERE / "left_out.txt"  # the other test files of Theano, by the reason they are not run
RESULTS = HERE / "results.txt"  # a line for each file: when it ran, and the counts of `main`
FILES = """
__test_2nd_order_grads __test_breakpoint __test_dictionary_output __test_gradient __test_ifelse
__test_pickle_unpickle_theano_fn __test_rop __test_updates compile__test_builders
compile__test_function compile__test_function_module compile__test_misc compile__test_mode
compile__test_monitormode compile__test_nanguardmode compile__test_ops compile__test_pfunc
compile__test_shared gof__test_compute_test_value gof__test_graph gof__test_op gof__test_opt
gof__test_params_type gof__test_toolbox misc__test_may_share_memory misc__test_pkl_utils
sandbox__test_rng_mrg scalar__test_basic scan_module__test_scan scan_module__test_scan_checkpoints
scan_module__test_scan_utils sparse__test_basic sparse__test_sp2 sparse__test_type
tensor__test_basic tensor__test_casting tensor__test_complex tensor__test_elemwise
tensor__test_extra_ops tensor__test_fft tensor__test_gc tensor__test_inc_subtensor tensor__test_io
tensor__test_keepdims tensor__test_merge tensor__test_misc tensor__test_nlinalg
tensor__test_raw_random tensor__test_shared_randomstreams tensor__test_sharedvar
tensor__test_slinalg tensor__test_sort tensor__test_subtensor tensor__test_utils tensor__test_var
tensor__test_xlogx tensor_nnet__test_abstract_conv tensor_nnet__test_bn tensor_nnet__test_conv
tensor_nnet__test_conv3d2d tensor_nnet__test_corr tensor_nnet__test_neighbours
tensor_nnet__test_nnet tensor_nnet__test_sigm tensor_signal__test_conv tensor_signal__test_pool
typed_list__test_basic typed_list__test_type
""".split()
SLOW = ("tensor__test_sort", "tensor__test_basic", "tensor_signal__test_pool")
CONFTEST = """
import sys
sys.path.insert(0, {here!r})
import stand_ins
stand_ins.install({folder!r})

def pytest_collection_modifyitems(items):
    stand_ins.mark(items, {inside!r})
"""
SETTINGS = """[pytest]
python_files=*.py
python_classes=Test* test_* T_* t_* *Test* *Tester*
"""
INSIDE = (  # what a test of a graph's ops or of memory names: its function is none of behaviour
    r"fgraph|toposort|maker|\.owner\b|optdb|storage_map|gpuarray|c_code|_compile_and_check"
)
NOT_RUN = ": not run"  # what reasons of tests end with that are left out
COMPILED = ": run in C"  # what reasons of tests end with that run without linker=py, and pass
SLOW_REASON = "slow" + NOT_RUN
GRAPH = (
    r"topo|fgraph|isinstance|\.owner|\.op\b|nodes|scan_node|storage|destroy|len\(|order|nb_scan|"
    r"any\(\[|np\.sum\($|not \[True|large_count|\.outputs\[|assert ok|stack_trace|has_cx1hot"
)
PARTS = (
    r"no attribute '(connection_pattern|var_mappings|storage_map|destroy_map|op|inputs|outputs|"
    r"Subtensor|clients|view_map|_scan\w+)'|list index out of range|of a graph have no owner"
)
REASONS = [     # (reason, pattern of the error, pattern of the line of the test where it failed)
    ("there is no GPU", r"gpuarray|mode_with_gpu", ""),
    ("a name that is absent",
     r"is absent|stand_ins\.|that ckernels does not have|Absent|no attribute '_", ""),
    ("test values inside of scan and OpFromGraph", r"has no test value|test_value'", ""),
    ("variables that are no tensors", r"is no tensor|no tensors|dtype\('O'\)|NoneConst", ""),
    ("NumPy, SciPy or Python have changed since 2020", r"np\.inexact|scipy\.linalg|MAXDIMS|cffi|"
     r"numpy' has no|name '\w+' is not defined|getfullargspec|FileNotFound|fixture 'f'|"
     r"arg 1 must be an exception|'partial' object|no attribute 'nout'|find_common_type", ""),
    ("RandomFunction is made by the functions of raw_random alone", r"RandomFunction", ""),
    ("gradients of complex numbers", r"sign does not take complex|imag has no gradient", ""),
    ("variables are named auto_N by another counter", "", r"auto_name"),
    ("a gradient is a variable of its own, no alias of a known one", "AssertionError",
     r"\bis (gval|g0|tensor\.grad)"),
    ("values never share memory: borrow, mutable and in-place change nothing of the caller's",
     "AssertionError|Alias", r"may_share_memory|aval|bval|data_of|four == 4|out2 is out|is get_x|"
     r"is data\b|r_ is r_T|borrow|total_func|dec\[s\]|is not true : x"),
    ("it asks which ops a rewritten graph holds, or what memory is used", "AssertionError", GRAPH),
    ("it asks which ops a rewritten graph holds, or what memory is used", PARTS, ""),
    ("C of a user's Op", r"MethodNotDefined|c_code", ""),
    ("inputs that only lend their sizes, known beforehand, are refused as unused",
     r"UnusedInputError: no output", ""),
    ("refused while the graph is built, or with another class of error",
     r"ShapeError|IndexOutOfBounds|ArgumentError|DTypeError|UsageError|no part can have|not raised|"
     r"NotSupportedHere|NotScalarConstant|cannot store|outputs need|duplicate axes|"
     r"cannot tell how many|NotImplementedError|has been ignored|cannot be (int64|bool)", ""),
    ("refused while the graph is built, or with another class of error", "",
     r"except|raises|assertRaises|str\(e\)|assert False"),
    ("a gradient that is disconnected or undefined otherwise",
     r"DisconnectedInputError|NullTypeGradError|DisconnectedError", ""),
    (SLOW_REASON, r"Timeout", ""),
    ("with linker=py nothing is rewritten for accuracy" + COMPILED,
     r"expected \[nan|by differences  nan", ""),
    ("a gradient by a sparse matrix has its places, the others are 0", "GradientError",
     r"verify_grad\(conv_op"),
    ("rounding, or dtypes of NumPy of today", r"wrong value|WrongValue|GradientError", ""),
]  # fmt: skip
UNSORTED = "not sorted by reason"


def prepared(text, package, root):
    """A test file of 2020 for unittest and pytest of today; generators of tests are one test,
    those in classes, which nose sets up in its own way, are left out.

    Modules that a file got by importing all names of another are imported.
    """
    text = re.sub(
        r"\A((?:#.*\n|\s|\"\"\"[^\"]*\"\"\")*from __future__ import [\w, ]+)",
        r"\1; import theano, numpy as np",
        text,
    )
    text = re.sub(r"from \.(test_\w+)", rf"from {package}.\1", text)
    text = re.sub(r"from \. import (test_\w+)", rf"import {package}.\1", text)
    text = text.replace(f"import {package}.test_basic as", f"from {package} import test_basic as")
    text = re.sub(r"eval\(self.__class__.__module__.*\)", "pass", text)
    text = text.replace("os.path.split(theano.__file__)[0]", repr(str(root)))
    text = text.replace("assertEquals", "assertEqual").replace("self.assert_(", "self.assertTrue(")
    # Lists as indices, -1 as an unsigned number, dtypes of abstract classes: NumPy took them then.
    text = text.replace("x[[slice(1, -1)] * x.ndim]", "x[tuple([slice(1, -1)] * x.ndim)]")
    text = text.replace("[l][region]", "[l][tuple(region)]")
    text = text.replace("np.array((-1,), dtype=dtype)", "np.array((-1,)).astype(dtype)")
    text = text.replace(" x[idx] += a", " x[tuple(idx) if type(idx) is list else idx] += a")
    text = text.replace("dtype = np.dtype(cls)", "dtype = __import__('stand_ins').dtype_of(cls)")
    text = re.sub(r"ufunc\(np\.(ceil|floor|trunc)\)", r"ufunc(np.old_\1)", text)
    text = text.replace('print("sum %f" % _sum)', 'print("sum %f" % _sum.item())')
    text = text.replace("expected = 'test_compute_test", "expected = 'gof__test_compute_test")
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.FunctionDef)
            and node.name.startswith("test")
            and any(isinstance(part, ast.Yield) for part in ast.walk(node))
        ):
            line = node.lineno - 1
            if node.col_offset:
                lines[line] = lines[line].replace("def test", "def generate_test")
            else:
                lines[line] = f"@__import__('stand_ins').all_of\n{lines[line]}"
    return "\n".join([*lines, "import sys", "globals()[__name__] = sys.modules[__name__]", ""])


def copy(package, folder):
    """Copy the test files of `package` to `folder`, flat, with a conftest."""
    folder.mkdir(parents=True, exist_ok=True)
    root = package.resolve() / "theano"
    for file in root.rglob("tests/test_*.py"):
        parts = file.relative_to(root).parts
        if "gpuarray" in parts:
            continue
        name = "_".join(parts[:-2]) + "__" + parts[-1]
        own = ".".join(["theano", *parts[:-1]])
        (folder / name).write_text(prepared(file.read_text(), own, root))
        for data in file.parent.glob("*.pkl"):
            shutil.copy(data, folder)
    (folder / "conftest.py").write_text(
        CONFTEST.format(here=str(HERE), folder=str(folder), inside=INSIDE)
    )
    (folder / "pytest.ini").write_text(SETTINGS)


def run(folder, name):
    """Run one file; its results are in NAME.xml, its output in NAME.log."""
    apart = [t.replace("::", ".py::", 1) for t, reason in known().items()
             if t.startswith(f"{name}::") and reason.endswith((NOT_RUN, COMPILED))]  # fmt: skip
    compiled = [t.replace("::", ".py::", 1) for t, reason in known().items()
                if t.startswith(f"{name}::") and reason.endswith(COMPILED)]  # fmt: skip
    for part, tests, flags in (
        ("", [*(f"--deselect={t}" for t in apart), f"{name}.py"], {}),
        (".compiled", compiled, {"THEANO_FLAGS": "linker=cvm"}),
    ):
        (folder / f"{name}{part}.xml").unlink(missing_ok=True)
        if tests:
            run_part(folder, name + part, tests, flags)


def run_part(folder, report, tests, flags):
    """Run tests of one file; their results are in REPORT.xml, the output in REPORT.log."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=short",
        "-W",
        "ignore",
        "--timeout=900",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}.xml",
        *tests,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE.parents[2]), *sys.path]),
            **flags,
        },
    )
    (folder / f"{report}.log").write_text(done.stdout + done.stderr)


def results(folder, name):
    """(count of tests that passed, {test: (error, text)} of those that did not, {(function, whether
    of behaviour): whether all its tests passed})."""
    passed, bad, functions = 0, {}, {}
    file = folder / f"{name}.xml"
    if not file.exists():
        raise SystemExit(f"{name} did not run to its end: see {folder / name}.log")
    files = [f for f in (file, folder / f"{name}.compiled.xml") if f.exists()]
    for case in (case for f in files for case in ET.parse(f).getroot().iter("testcase")):
        wrong = [e for kind in ("failure", "error") for e in case.findall(kind)]
        if wrong:
            owner = case.get("classname").rpartition(".")[2]
            inside = "" if owner in (name, "") else f"::{owner}"
            message = " ".join((wrong[0].get("message") or "").split())
            bad[f"{name}{inside}::{case.get('name')}"] = message, wrong[0].text or ""
        elif case.find("skipped") is None:
            passed += 1
        else:
            continue
        marks = {p.get("name"): p.get("value") for p in case.iter("property")}
        if marks.get("function", "").startswith(f"{name}:"):
            key = marks["function"], marks["behaviour"] == "True"
            functions[key] = functions.get(key, True) and not wrong
    return passed, bad, functions


def reason_of(message, text, folder):
    """The first of REASONS whose patterns fit an error and the line of the test it came from, or
    None."""
    found = re.findall(r"([\w/.]*?(\w*__test_\w+\.py)):(\d+)", text)
    line = ""
    if found:
        lines = (folder / found[-1][1]).read_text().split("\n")
        line = lines[int(found[-1][2]) - 1]
    for reason, error, place in REASONS:
        if re.search(error, message + text) and re.search(place, line):
            return reason
    return None


def known(path=KNOWN):
    """{test: reason} of failing.txt."""
    found, reason = {}, None
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            found[line.strip()] = reason
    return found


def write(folder, names):
    """failing.txt with the failures of these files as their logs have them.

    A reason that no pattern gives stays as it was written there by hand.
    """
    old = known()
    table = {
        t: r
        for t, r in old.items()
        if t.partition("::")[0] not in names or r.endswith((NOT_RUN, COMPILED))
    }
    for name in names:
        for test, (message, text) in results(folder, name)[1].items():
            table[test] = reason_of(message, text, folder) or old.get(test) or UNSORTED
    save(table)


def save(table, path=KNOWN):
    """failing.txt with the tests of `known`."""
    parts = []
    for reason in sorted(set(table.values())):
        parts += [f"# {reason}", *sorted(t for t, r in table.items() if r == reason), ""]
    path.write_text("\n".join(parts))


def recorded(path=RESULTS):
    """{name: its columns after the first} of a file of results."""
    lines = path.read_text().splitlines() if path.exists() else ()
    return {line.split()[0]: line.split()[1:] for line in lines}


def record(rows, path=RESULTS):
    """Put rows {name: numbers} with today's date into a file of results."""
    today = datetime.date.today().isoformat()
    rows = {**recorded(path), **{name: (today, *map(str, row)) for name, row in rows.items()}}
    path.write_text("".join(" ".join((name, *row)) + "\n" for name, row in sorted(rows.items())))


def judged(unknown, late):
    """The exit status, after a line for each test that failing.txt is wrong about."""
    for test in unknown:
        print(f"not in failing.txt: {test}")
    for test in late:
        print(f"in failing.txt, and passes: {test}")
    return 1 if unknown or late else 0


def main(package, folder, *names):
    folder = pathlib.Path(folder).resolve()
    copy(pathlib.Path(package), folder)
    expected, total, unknown, late, functions = known(), [0, 0], [], [], {}
    names = names or FILES
    told = {*FILES, *known(LEFT_OUT)}
    untold = sorted(f.stem for f in folder.glob("*__test_*.py") if f.stem not in told)
    if untold:
        raise SystemExit(f"neither run nor in {LEFT_OUT.name}: {', '.join(untold)}")
    strange = sorted(n for n in names if not (folder / f"{n}.py").exists())
    if strange:
        raise SystemExit(f"no such files: {', '.join(strange)}; in {folder} are all there are")
    first = sorted(names, key=lambda n: n not in SLOW)
    two, rows = concurrent.futures.ThreadPoolExecutor(2), {}
    done = {n: two.submit(run, folder, n) for n in first}
    for name in names:
        done[name].result()
        passed, bad, found = results(folder, name)
        functions.update(found)
        listed = {t: r for t, r in expected.items()
                  if t.partition("::")[0] == name and not r.endswith(COMPILED)}  # fmt: skip
        slow = [t for t, reason in listed.items() if reason.endswith(NOT_RUN)]
        total = [total[0] + passed, total[1] + len(bad) + len(slow)]
        unknown += [t for t in bad if t not in listed]
        late += [t for t in listed if t not in bad and t not in slow]
        print(f"{name}: {passed} passed, {len(bad) + len(slow)} failed", flush=True)
        kinds = [[good for (_, own), good in found.items() if own == kind] for kind in (1, 0)]
        sums = [number for kind in kinds for number in (sum(kind), len(kind))]
        rows[name] = passed, len(bad) + len(slow), *sums
    record(rows)
    print(f"{total[0]} tests passed, {total[1]} failed; the logs are in {folder}")
    for behaviour, what in (True, "of behaviour"), (False, "that look into graphs or memory"):
        own = [good for (_, kind), good in functions.items() if kind == behaviour]
        print(f"{sum(own)} of {len(own)} functions {what} passed in all their tests")
    return judged(unknown, late)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(pathlib.Path(sys.argv[3]).resolve(), sys.argv[4:] or FILES)
    else:
        sys.exit(main(*sys.argv[1:]))
