"""`python -m ckernels.MODULE program.py`: it runs, with its arguments, beside its files."""

import subprocess
import sys

import pytest

from ckernels.base import runner

PROGRAMS = {
    "ckernels.compat.theano": "import theano; found = theano.__version__",
    "ckernels.compat.keras1": "import os; found = os.environ['KERAS_BACKEND']",
    "ckernels.compat.keras2": "import os; found = os.environ['KERAS_BACKEND']",
    "ckernels.compat.numexpr": "import numexpr; found = numexpr.evaluate('2 * 3')",
}
FOUND = {
    "ckernels.compat.theano": "1.0.5",
    "ckernels.compat.keras1": "theano",
    "ckernels.compat.keras2": "ckernels.compat.keras2",
    "ckernels.compat.numexpr": "6",
}


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["python"])
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("module", PROGRAMS)
def test_what_a_program_finds(module, tmp_path):
    (tmp_path / "beside.py").write_text("value = 5\n")
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys, beside\n{PROGRAMS[module]}\n"
        "print(found, __name__, beside.value, sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-m", module, str(program), "a", "-b"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [FOUND[module], "__main__ 5 ['a', '-b']\n"]


def test_modules_and_usage(kept, tmp_path, capsys):
    (tmp_path / "module_that_ran.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    sys.path.insert(0, str(tmp_path))
    order = []
    assert runner.run_program("m", lambda: order.append(1), ["-m", "module_that_ran", "x"]) == 0
    assert capsys.readouterr().out == "__main__ ['x']\n" and order == [1]
    for given in ([], ["-m"]):
        assert runner.run_program("m", order.clear, given) == 2 and order == [1]
        assert "usage: python -m m program.py" in capsys.readouterr().err
    assert runner.run_program("m", order.clear, ["--help"]) == 0 and order == [1]
    assert "usage: python -m m program.py" in capsys.readouterr().out


def test_a_program_that_ends_otherwise(kept, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit(7)")
    with pytest.raises(SystemExit, match="7"):
        runner.run_program("m", lambda: None, [str(program)])
