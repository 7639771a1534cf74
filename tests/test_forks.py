"""tests/forks.py: processes that share the files of tests."""

import re
import subprocess
import sys
from pathlib import Path

CONFTEST = """
import forks, pytest
pytest_addoption = forks.add_option

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    return forks.run(session)
"""
FIRST = """
import os, signal, warnings
import pytest

@pytest.fixture
def torn():
    yield
    assert False, "in the teardown"

def test_a(tmp_path, capfd):
    assert tmp_path.is_dir() and not capfd.readouterr().out

def test_b():
    os.write(1, b"what it wrote")
    assert 1 == 2

def test_c(): warnings.warn(UserWarning("of a lambda", lambda: 0))
def test_d(): pytest.skip("not here")
def test_e(torn): pass
def test_f(): os.kill(os.getpid(), signal.SIGKILL)
def test_g(): print("seen" if os.getpid() else "")
@pytest.mark.xfail
def test_h(): assert False
def test_i(): pass
"""
SECOND = """
import os
import pytest

def test_a(): os._exit(0)

@pytest.mark.parametrize("k", range(5))
def test_b(k): pass
"""
END = """\
SKIPPED [1] test_first.py:18: not here
XFAIL test_first.py::test_h
ERROR test_first.py::test_e - AssertionError: in the teardown
FAILED test_first.py::test_b - assert 1 == 2
FAILED test_first.py::test_f - the process that ran this test ended: killed by signal 9
FAILED test_second.py::test_a - the process that ran this test ended: exit status 0""".splitlines()


def test_reports_are_those_of_one_process(tmp_path):
    """Failures, warnings, what was written; who dies fails one test, and the others are run."""
    for name, text in (("conftest", CONFTEST), ("test_first", FIRST), ("test_second", SECOND)):
        (tmp_path / f"{name}.py").write_text(text)
    command = [*(sys.executable, "-m", "pytest", "--jobs", "2", "-ra"), *("-p", "no:cacheprovider")]
    environment = {"PYTHONPATH": str(Path(__file__).parent), "PATH": "", "COLUMNS": "120"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert sorted(line for line in lines if line in END) == sorted(END)
    assert re.search("3 failed, 10 passed, 1 skipped, 1 xfailed, 1 warning, 1 error", lines[-1])
    assert "what it wrote" in lines and "of a lambda" in done.stdout
    first = [*command[:-3], "-q", "-x", "test_second.py", "test_first.py::test_a"]
    done = subprocess.run(first, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "stopping after 1 failures" in done.stdout
