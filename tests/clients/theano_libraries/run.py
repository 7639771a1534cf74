"""Libraries written for Theano, from their own sources: `make libraries SOURCE=folder`.

SOURCE holds a folder for each library of tables.py that is at hand; the others are skipped. Each is
copied, changed as the tables have it, and its own tests run with ckernels as the module theano.
What is known to fail stands in failing.txt, by reason: status 1 where another test fails, or one
that stands there passes; a reason that ends with SOMETIMES may do either. Results stand in
results.txt, from which page.py writes the guide. With --write the lines of
the libraries named are written anew, sorted by REASONS: read what it wrote.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

from ..theano_suite import run as suite
from .tables import CHANGED, LIBRARIES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KNOWN = HERE / "failing.txt"
RESULTS = HERE / "results.txt"  # a line for each library: when it ran, passed, failed, skipped
SOMETIMES = ": sometimes"
SETTINGS = "[pytest]\npython_files = test*.py *_test.py\nnorecursedirs = .git\n"
HOME = '{{"floatx": "float32", "epsilon": 1e-07, "backend": "theano", "image_dim_ordering": "{}"}}'
UNSORTED = "not sorted by reason"
REASONS = [  # (reason, pattern of the error)
    ("the network is asked for a file", r"URL fetch|urlopen|ConnectionError|Name or service"),
    (
        "another library has changed since",
        r"has no attribute 'decode'|as an integer|slice indices must be|inhomogeneous|"
        r"integer scalar arrays|No module named '(tensorflow|google|sklearn|skimage|cv2|nose)|"
        r"_mock_|sklearn|has been removed|h5py|arrays to stack|only integers, slices|as_matrix|"
        r"assignment destination is read-only|no attribute '__name__'|IPython|pydotplus",
    ),
    ("the old GPU back-end, gone from Theano 1.0 too", r"sandbox\.cuda|name 'cuda'"),
    ("a name that is absent", r"that ckernels does not have|ImportError: cannot import"),
]


def known(path=KNOWN):
    """{"library test": reason} of failing.txt."""
    return suite.known(path)


def copied(name, source, folder):
    """The copy of a library's folder, changed for Python and libraries of today."""
    target = folder / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source / LIBRARIES[name].folder, target, ignore=shutil.ignore_patterns(".git"))
    for file, changes in CHANGED.get(name, {}).items():
        text = (target / file).read_text(encoding="utf-8")
        for old, new in changes:
            if old not in text:
                raise SystemExit(f"{file} is not that of {name}: it has no {old!r}")
            text = text.replace(old, new)
        (target / file).write_text(text, encoding="utf-8")
    (target / ".keras").mkdir(exist_ok=True)
    (target / ".keras" / "keras.json").write_text(HOME.format(LIBRARIES[name].keras))
    (target / "ckernels.ini").write_text(SETTINGS)
    return target


def environment(name, target, source):
    """A home of its own, the libraries it uses, functions that run through NumPy by default."""
    library = LIBRARIES[name]
    used = [str(source / other) for other in library.uses]
    flags = f"{os.environ.get('THEANO_FLAGS', 'linker=py')},{library.flags}"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(target), *used, str(HERE / "programs"), str(ROOT)]),
        "THEANO_FLAGS": flags,
        "HOME": str(target),
        "FUEL_DATA_PATH": str(target),
        "MPLBACKEND": "Agg",
        **({"KERAS_BACKEND": "theano"} if library.keras else {}),
    }


def run(name, source, folder, arguments=()):
    """Run the tests of a library; results are in NAME.xml, the output in NAME.log."""
    target, library = copied(name, source, folder), LIBRARIES[name]
    for test in library.tests:
        if test.startswith("programs/"):  # away from the tests here and their conftest
            (target / "programs").mkdir(exist_ok=True)
            shutil.copy(HERE / test, target / test)
    tests = [t for t in library.tests if (target / t).exists()]
    report = folder / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "old_world"]
    command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", "--timeout=900"]
    command += ["-c", "ckernels.ini", f"--rootdir={target}", f"--junitxml={report}"]
    command += [f"--ignore={t}" for t in library.leave_out if (target / t).exists()]
    done = subprocess.run(
        [*command, *tests, *arguments],
        cwd=target,
        env=environment(name, target, source),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    (folder / f"{name}.log").write_text(done.stdout)
    if not report.exists():
        raise SystemExit(f"{name} did not run to its end: see {folder / name}.log")


def results(folder, name):
    """(counts of tests that passed, failed and were skipped, {"library test": error}), where a test
    with parameters is one."""
    passed, failed, skipped, bad = 0, 0, 0, {}
    for case in ET.parse(folder / f"{name}.xml").getroot().iter("testcase"):
        wrong = [e for kind in ("failure", "error") for e in case.findall(kind)]
        if wrong:
            failed += 1
            test = ".".join(filter(None, [case.get("classname"), case.get("name")]))
            test = re.sub(r"\[.*", "", test, flags=re.S)
            bad[f"{name} {test}"] = (wrong[0].get("message") or "") + (wrong[0].text or "")
        elif case.find("skipped") is None:
            passed += 1
        else:
            skipped += 1
    return passed, failed, skipped, bad


def write(folder, names, path=KNOWN):
    """failing.txt with what failed of these libraries; a reason written by hand stays."""
    old = known(path)
    table = {t: r for t, r in old.items() if t.split()[0] not in names or r.endswith(SOMETIMES)}
    for name in names:
        for test, error in results(folder, name)[3].items():
            fits = [reason for reason, pattern in REASONS if re.search(pattern, error)]
            table[test] = old.get(test) or (fits or [UNSORTED])[0]
    suite.save(table, path)


def main(source, folder, *names):
    """Run the libraries named, or all; the exit status."""
    names = [n for n in names if not n.startswith("-")]
    strange = sorted(set(names) - set(LIBRARIES))
    if strange:
        raise SystemExit(f"no library is called {strange[0]}: there are {', '.join(LIBRARIES)}")
    source, folder = pathlib.Path(source).resolve(), pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    expected, unknown, late = known(), [], []
    for name in names or LIBRARIES:
        library = LIBRARIES[name]
        needed = (library.folder, *library.uses)
        absent = [part for part in needed if not (source / part).is_dir()]
        if absent:
            where = f", which is {library.repository} at GitHub" * (absent[0] == library.folder)
            print(f"{name}: skipped, {source} has no folder {absent[0]}{where}", flush=True)
            continue
        run(name, source, folder)
        passed, failed, skipped, bad = results(folder, name)
        listed = {t: r for t, r in expected.items() if t.split()[0] == name}
        unknown += [t for t in bad if t not in listed]
        late += [t for t, r in listed.items() if t not in bad and not r.endswith(SOMETIMES)]
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped", flush=True)
        suite.record({name: (passed, failed, skipped)}, RESULTS)
    return suite.judged(unknown, late)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(pathlib.Path(sys.argv[3]).resolve(), sys.argv[4:])
    else:
        sys.exit(main(*sys.argv[1:]))
