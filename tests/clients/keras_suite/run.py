"""Keras's own tests on ckernels: `make keras KERAS=2.3.1`, or `run.py PACKAGE FOLDER [arguments]`.

PACKAGE is the unpacked source of Keras 2.3.1 or 2.2.4, FOLDER where its tests are copied to, with
the changes of tables.py; further arguments go to pytest. Where a test asks for TensorFlow's module
of the backend it gets the backend itself. Prints every failure with its reason,
and ends with an error where there is one without.
"""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    from .tables import CHANGED, KNOWN, LEFT_OUT, WANTED
except ImportError:  # run as a program
    from tables import CHANGED, KNOWN, LEFT_OUT, WANTED

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Of NumPy and Python, before each test: what a few epochs reach depends on the draws, and so does
# which of the applications are tested.
SEED = 1
CONFTEST = f"""

import random
import numpy
import keras
keras.backend.tensorflow_backend = keras.backend


@pytest.fixture(autouse=True)
def draws():
    numpy.random.seed({SEED})
    random.seed({SEED})
"""
SETTINGS = "[pytest]\ntimeout = 300\nnorecursedirs = build\n"
FEATURES = "from numpy._core._multiarray_umath import __cpu_dispatch__ as found; print(*found)"


def without_skips(text, names):
    """`text` with the tests `names` no longer skipped where TensorFlow is not the backend."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            for mark in node.decorator_list:
                drop = range(mark.lineno - 1, mark.end_lineno)
                if "tensorflow" in "".join(lines[k] for k in drop):
                    for k in drop:
                        lines[k] = ""
    return "\n".join(lines)


def prepared(name, text, version):
    """The test file `name` of a Keras, changed as the tables have it."""
    for old, new in CHANGED[version].get(name, ()):
        if old not in text:
            raise SystemExit(f"{name} is not that of Keras {version}: it has no {old!r}")
        text = text.replace(old, new)
    text = without_skips(text, WANTED[version].get(name, ()))
    return text + CONFTEST if name == "conftest.py" else text


def copy(package, folder, version):
    """Copy the tests of the unpacked `package` to `folder`, changed, without what is left out."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(package / "tests", folder / "tests")
    for name in LEFT_OUT[version]:
        if "::" not in name:
            (folder / "tests" / name).unlink()
    for file in (folder / "tests").rglob("*.py"):
        name = file.relative_to(folder / "tests").as_posix()
        file.write_text(prepared(name, file.read_text(), version))
    (folder / "pytest.ini").write_text(SETTINGS)


def environment(folder):
    """Keras on ckernels, with a home of its own; NumPy without AVX: Keras compares with its exp to
    the last bit and with its argsort to the order of equals.
    """
    home = folder / "home"
    home.mkdir(exist_ok=True)
    found = subprocess.run([sys.executable, "-c", FEATURES], capture_output=True, text=True)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "KERAS_BACKEND": "ckernels.compat.keras2",
        "KERAS_HOME": str(home),
        "HOME": str(home),
        "NPY_DISABLE_CPU_FEATURES": found.stdout.strip(),
    }


def verdict(output, version):
    """[(test, why it fails or None)] of pytest's summary, and known failures that did not come."""
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(\S+?)(?: - .*)?$", output, re.M)
    known = KNOWN[version]
    return [(test, known.get(test)) for test in failed], sorted(set(known) - set(failed))


def main(package, folder, *arguments):
    package, folder = pathlib.Path(package), pathlib.Path(folder).resolve()
    version = package.name.rpartition("-")[2]
    copy(package, folder, version)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-rfE"]
    command += ["--continue-on-collection-errors", "--disable-warnings", *arguments]
    command += [f"--deselect=tests/{name}" for name in LEFT_OUT[version] if "::" in name]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    (folder / "log").write_text(done.stdout)
    failed, absent = verdict(done.stdout, version)
    for test, why in failed:
        print(f"{test}: {why or 'FAILS WITHOUT A KNOWN REASON'}")
    for test in absent if "-k" not in arguments else ():
        print(f"{test} is known to fail, and does not")
    print(re.findall(r"^.*(?:passed|failed|error).* in .*$", done.stdout, re.M)[-1:] or done.stdout)
    return any(why is None for _, why in failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
