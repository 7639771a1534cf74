"""A line on a terminal when compiling takes over a second; lines per phase with print_progress."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckernels.base.config import config
from ckernels.compiler import progress

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import sys, time
from ckernels.compiler import progress
progress.PATIENCE = {patience}
with progress.Progress(8) as shown:
    shown.done(3)
    time.sleep(0.6)
print("done")
"""


def on_terminal(code, **environment):
    """(stdout, what the terminal at stderr received)."""
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    os.close(follower)
    seen = b""
    try:
        while piece := os.read(leader, 4096):
            seen += piece
    except OSError:  # the child closed its end
        pass
    os.close(leader)
    out, _ = child.communicate(timeout=240)
    assert child.returncode == 0
    return out, seen.decode()


def test_a_terminal_sees_a_line_that_goes_away():
    out, seen = on_terminal(CODE.format(patience=0.05))
    assert out == "done\n" and "compiling 8 kernels, 3 done" in seen
    assert seen.endswith(progress.CLEAR) and "\n" not in seen


def test_quick_builds_show_nothing():
    assert on_terminal(CODE.format(patience=30))[1] == ""


PROGRAM = """
import numpy as np
import ckernels as K
x = K.placeholder((None,), name="x")
f = K.function([x], [K.tanh(x), K.sum(x)], mode="compiled")
print(f([np.zeros(3, "f")])[1])
"""


def test_a_cold_start_on_a_terminal(script, tmp_path):
    """A real program and a compiler that takes longer than a second; warm, it shows nothing."""
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not cc:
        pytest.skip("needs a C compiler")
    slow = script("slow", f'case "$*" in *"-x c -"*) sleep 1.5;; esac; exec {cc} "$@"')
    flags = f"cc={slow},compiledir={tmp_path / 'kernels'}"
    out, seen = on_terminal(PROGRAM, CKERNELS_FLAGS=flags)
    assert out == "0.0\n" and seen.endswith(progress.CLEAR) and "\n" not in seen
    assert re.search(r"ckernels: compiling \d kernels, 0 done, 1 s", seen)
    assert on_terminal(PROGRAM, CKERNELS_FLAGS=flags) == ("0.0\n", "")


def test_a_pipe_sees_nothing(capsys):
    with progress.Progress(8) as shown:
        shown.done(8)
        assert shown.thread is None
    assert capsys.readouterr().err == ""


def test_phases_are_lines(capsys):
    phases = progress.Phases()
    phases("planned %d nodes", 7)
    assert capsys.readouterr().err == ""
    with config.change(print_progress=True):
        phases("planned %d nodes", 7)
    text = capsys.readouterr().err
    assert text.startswith("ckernels: planned 7 nodes in ") and text.endswith(" ms\n")


def test_the_phases_of_a_function(tmp_path, capsys):
    pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
    import numpy as np

    import ckernels as K

    flags = {"print_progress": True, "compiledir": str(tmp_path), "mode": "compiled"}
    with config.change(flags):
        x = K.placeholder((None,), name="x")
        K.function([x], K.sum(K.exp(x)) * 3)(np.ones(4, "f"))
    text = capsys.readouterr().err
    for phase in ("rewrite", "schedule", "lower", "compile kernels", "encode", "provided"):
        assert f"ckernels: {phase}" in text
