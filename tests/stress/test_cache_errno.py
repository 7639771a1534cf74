"""Each file operation of the compiledir fails with each errno: it costs a rebuild and a line.

A small C library is preloaded into one Python process, which forks a child for each case and tells
the library which operation on files of the compiledir fails, with what, at which call, and whether
those after it fail too. The child builds, checks what the kernels compute, and ends well; a healthy
process after it does too. Then the same with kill -9 and Ctrl-C in place of the error.
"""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .harness import CC, ROOT, needs_compiler, needs_fork

pytestmark = [
    needs_compiler,
    needs_fork,
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD and /proc"),
]
OPERATIONS = ["open", "create", "write", "read", "close", "rename", "link", "unlink", "mkdir",
              "stat", "fstat", "access", "utime", "opendir", "readdir", "seek"]  # fmt: skip
ERRORS = ["ENOSPC", "EDQUOT", "EIO", "EACCES", "EROFS", "ESTALE"]
AFTER = [0, 1, 3]  # the first call fails, or the second, or the fourth, and all after it

DRIVER = r"""
import json, os, sys, ctypes
sys.path.insert(0, os.getcwd())
import logging, tempfile
from tests_harness import Child, check, assert_sound, forget, temporaries
from ckernels.compiler import cache, keep, kept
library = ctypes.CDLL(None)

def touchy(numbers, old):
    # entries last used long ago, so that a hit renews them, and a cap, so that something is evicted
    from ckernels.base.config import config
    for name in os.listdir(config.compiledir) if os.path.isdir(config.compiledir) else ():
        if old and name.endswith(".so"):
            os.utime(os.path.join(config.compiledir, name), (1e9, 1e9))
    return numbers

def prepare(warm):
    if warm:
        check(*warm)
        touchy(warm, True)
        forget()

def life():
    from ckernels.base.config import config
    with config.change({"cache.max_files": 9}):
        made = check(1, 2, 3)
        forget()
        check(1, 2, 3, 4)
        plan = "e" * 64
        if keep(plan, b"plan"):
            assert kept(plan) in (b"plan", None)
        store = cache.current()
        store.keep_source("f" * 64, "int broken;")
        store.verify()
        store.sweep()

def faulty(root, operation, number, after, warm, once):
    prepare(warm)
    (library.ck_fault_once if once else library.ck_fault)(
        root.encode(), operation.encode(), number, after)
    life()
    failed = library.ck_fault_failed()
    library.ck_fault(b"", b"", 0, 0)
    return failed

def mortal(root, number, after, warm):
    prepare(warm)
    library.ck_kill(root.encode(), number, after)
    life()
    seen = library.ck_fault_seen()
    library.ck_fault(b"", b"", 0, 0)
    return seen

def healthy(flags):
    (made, found), errors = Child(check, 1, 2, 3, flags=flags).finish()
    assert made + found == 3 and errors.count("\n") <= 1, errors
    store = cache.Cache(flags["compiledir"])
    assert store.verify() == [], store.verify()
    return store

hit = {}
for line in sys.stdin:
    root, operation, number, after, warm, once = json.loads(line)
    os.makedirs(root)
    # the private directory is healthy in every other case, and as faulty as the compiledir else
    tempfile.tempdir = root + "-tmp" if after % 2 == 0 else os.path.join(root, "tmp")
    os.makedirs(tempfile.tempdir)
    flags = {"compiledir": os.path.join(root, "kernels")}
    if operation != "kill":
        case = Child(faulty, root, operation, number, after, warm, once, flags=flags)
        failed, errors = case.finish()
        assert "Traceback" not in errors, errors
        assert len(errors.splitlines()) <= 4, errors  # of two lives: `forget` ends one
        healthy(flags)
    elif number == 0:
        failed = Child(mortal, root, 0, 0, warm, flags=flags).finish()[0]
    else:
        status, _, errors = Child(mortal, root, number, after, warm, flags=flags).wait()
        # 0: it was done before, the number of operations varies with who was first at what
        assert status in (0, -9 if number == 9 else 130), (number, after, status, errors)
        directory, failed = flags["compiledir"], int(status != 0)
        if number == 2:
            assert not os.path.isdir(directory) or temporaries(directory) == [], (after, errors)
        healthy(flags).sweep()
        assert temporaries(directory) == []
    hit[operation] = hit.get(operation, 0) + failed
print(json.dumps(hit))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The preloaded library, built with the compiler of the tests."""
    path = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    command = [
        CC,
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        str(path),
        str(source),
        "-ldl",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return path


def inject(library, tmp_path, cases):
    """Run all cases in one preloaded process; {operation: how often it was made to fail}."""
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    harness = "import sys; sys.path.insert(0, {!r})\nfrom tests.stress.harness import *\n"
    (tmp_path / "tests_harness.py").write_text(harness.format(str(ROOT)))
    env = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(driver)],
        input="\n".join(map(json.dumps, cases)),
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def cases(tmp_path, operations, errors, points):
    """points: [(the call that fails first, whether only that one does)]"""
    numbered = [
        (o, e, n, warm, once)
        for o in operations
        for e in errors
        for n, once in points
        for warm in ([], [1, 2])
    ]
    return [
        (str(tmp_path / f"case{k}"), o, getattr(errno, e), n, warm, once)
        for k, (o, e, n, warm, once) in enumerate(numbered)
    ]


@pytest.mark.rest
def test_each_operation_once(library, tmp_path):
    errors = ["ENOSPC", "EIO", "ESTALE"]
    found = []
    for k, operation in enumerate(OPERATIONS):
        point = (k % 2, k % 5 == 4)
        cold, warm = cases(tmp_path / operation, [operation], [errors[k % 3]], [point])
        found.append(cold if operation in ("mkdir", "access", "link") else warm)
    for operation in OPERATIONS:
        (tmp_path / operation).mkdir()
    hit = inject(library, tmp_path, found)
    silent = {operation for operation in OPERATIONS if not hit.get(operation)}
    assert not silent, f"these never failed, so nothing was tested: {silent}"


@pytest.mark.slow
def test_every_operation_with_every_errno(library, tmp_path):
    points = [(after, False) for after in AFTER] + [(1, True)]
    hit = inject(library, tmp_path, cases(tmp_path, OPERATIONS, ERRORS, points))
    assert all(hit.get(operation) for operation in OPERATIONS), hit


@pytest.mark.rest
@pytest.mark.parametrize("signal", [9, 2])
@pytest.mark.parametrize("step", [150, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_at_each_file_operation(library, tmp_path, step, signal):
    """A cold and a warm life, killed at operations on the compiledir from the first to the last.

    Ctrl-C unwinds: it leaves no temporary file, wherever it comes.
    """
    found = []
    for warm in ([], [1, 2]):
        count = inject(library, tmp_path, [(str(tmp_path / f"count{warm}"), "kill", 0, 0, warm, 0)])
        assert count["kill"] > 100
        found += [
            (str(tmp_path / f"{signal}-{warm}-{k}"), "kill", signal, k, warm, 0)
            for k in range(7 % step, count["kill"], step)
        ]
    assert inject(library, tmp_path, found)["kill"] >= 0.8 * len(found)
