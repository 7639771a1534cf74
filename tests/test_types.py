"""The stubs name what is public as it is; type checkers find no error in programs of users."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ckernels as K
from build_tools import stubs
from ckernels.jit.function import PUBLIC as OF_JITTED
from ckernels.runtime.common import PUBLIC
from ckernels.typing import Function, JitFunction

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = [
    ROOT / "tests" / "typed" / f"{n}.py" for n in ("program", "dialects", "library", "jitted")
]
EXAMPLES = [ROOT / "examples" / f"{n}.py" for n in
            ("first", "logistic_regression", "mlp_digits", "cnn_digits", "rbm_mnist")]  # fmt: skip


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda p: p.name)
def test_the_stubs_are_those_of_today(path):
    assert path.read_text() == stubs.stubs()[path], "run `python -m build_tools.stubs`"


def test_every_public_name_has_a_type():
    text = (ROOT / "ckernels" / "__init__.pyi").read_text()
    for name in {*K.__all__, *(n for n in dir(K) if n[0] != "_")}:
        assert re.search(rf"\b(def {name}\(|{name}: |as {name}$)", text, re.M), name


def test_a_function_shows_editors_what_it_shows_users():
    named = {*Function.__annotations__, *(n for n in vars(Function) if n[0] != "_")}
    assert named == set(PUBLIC)
    assert {n for n in vars(JitFunction) if n[0] != "_"} == set(OF_JITTED)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_program_runs(path):
    done = subprocess.run([sys.executable, path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def checked(command, files):
    """What a checker says of the files; skipped where it is not installed (`make types` does)."""
    found = shutil.which(command[0], path=f"{Path(sys.executable).parent}")
    if not found:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        [found, *command[1:], *map(str, files)], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def test_pyright_finds_no_error():
    said = checked(["basedpyright", "--project", "tests/typed/pyright.json", "--level", "error",
                    "--pythonpath", sys.executable], ())  # fmt: skip
    assert "0 errors" in said, said


def test_pyright_finds_a_mistake(tmp_path):
    """What would show that nothing is checked at all."""
    bad = tmp_path / "bad.py"
    bad.write_text("import ckernels as K\nK.function([], []).stepps()\nK.exp(1, 2)\n")
    said = checked(["basedpyright", "--level", "error", "--pythonpath", sys.executable], [bad])
    assert '"stepps"' in said and "2 errors" in said, said


def test_pyright_finds_a_mistake_under_jit(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("import ckernels as ck\n@ck.jit\ndef f(x: float) -> float: return x\n"
                   "f('a')\nf.raport()\nck.jit.gard(f)\nf(1.0).upper()\n")  # fmt: skip
    said = checked(["basedpyright", "--level", "error", "--pythonpath", sys.executable], [bad])
    assert '"raport"' in said and '"gard"' in said and "4 errors" in said, said


@pytest.mark.parametrize("name", ["keras1", "keras2"])
def test_pyright_finds_a_mistake_in_a_dialect(name, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(f"from ckernels.compat import {name} as K\nK.sofmax(1)\nK.relu(1, 2, 3, 4, 5)\n")
    said = checked(["basedpyright", "--level", "error", "--pythonpath", sys.executable], [bad])
    assert '"sofmax"' in said and "2 errors" in said, said


def test_mypy_finds_no_error():
    flags = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=build/mypy"]
    for path in (*PROGRAMS, *EXAMPLES):
        said = checked(["mypy", *flags], [path])
        assert "Success" in said, said
