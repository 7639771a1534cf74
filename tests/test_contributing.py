"""CONTRIBUTING.md: its examples run, in a process of their own: they declare ops and rules."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
ROOT = Path(__file__).resolve().parents[1]


def test_the_examples_do_what_they_say():
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "test_docs.py", "CONTRIBUTING.md"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
