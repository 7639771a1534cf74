"""The solutions of Goodfellow's Theano exercises, and what they are to find: run by ../run.py."""

import glob
import os
import re
import subprocess
import sys

import pytest

CUT = (  # Python 2, and a module that Theano 1.0 does not have either
    (r"(?m)^(\s*)print ([^#\n]*)", r"\1print(\2)"),
    (r"from theano\.compat\.python2x import", "from collections import"),
    (r"\bxrange\b", "range"),
)
WANTED = {  # what stands for SUCCESS! where an exercise shows an error or is one
    "03_bug.py": "",
    "ex_01_compute_test_value.py": "ShapeError",
    "ex_01_compute_test_value_soln.py": "ShapeError",
}


def exercises():
    """The solutions, and the exercises that are programs with a bug to be found."""
    found = glob.glob("0[12]*/**/*_soln.py", recursive=True)
    return sorted([*found, *(f for f in glob.glob("0*/**/*.py", recursive=True)
                             if os.path.basename(f) in WANTED and f not in found)])  # fmt: skip


@pytest.mark.parametrize("path", exercises(), ids=os.path.basename)
def test_exercise(path, tmp_path):
    folder, name = os.path.split(path)
    for file in glob.glob(f"{folder}/*.py"):  # they import each other
        with open(file, encoding="utf-8") as opened:
            text = opened.read().expandtabs(4)
        for old, new in CUT:
            text = re.sub(old, new, text)
        (tmp_path / os.path.basename(file)).write_text(text)
    code = (
        "import sys, runpy, numpy as np, ckernels.compat.theano as t; t.install(); "
        "sys.path.insert(0, '.'); np.cast = getattr(np, 'cast', None) or type('cast', (), "
        "{'__getitem__': lambda self, d: lambda x: np.asarray(x).astype(d)})(); "
        f"runpy.run_path({name!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    text = done.stdout + done.stderr
    wanted = WANTED.get(name)
    assert (done.returncode == 0) == (wanted != "ShapeError"), text[-1000:]
    if wanted is None and "SUCCESS" in (tmp_path / name).read_text():
        assert "SUCCESS!" in done.stdout, text[-1000:]
    assert not wanted or wanted in done.stderr
