"""`import ckernels` is cheap: it loads neither tools nor compilers, and it reads no settings."""

import subprocess
import sys

HEAVY = (
    "subprocess tempfile json multiprocessing cffi configparser concurrent.futures scipy".split()
)
SCRIPT = """
import sys, numpy
before = set(sys.modules)
import ckernels
print(*sorted(m for m in set(sys.modules) - before))
from ckernels.base.config import config
assert config._values is None
ckernels.jit
print(*sorted(m for m in set(sys.modules) - before))
double = ckernels.jit(lambda x: x + x)
assert double(numpy.arange(3.0)).tolist() == [0, 2, 4] and not double.report()["numpy"]
print(*sorted(m for m in set(sys.modules) - before))
"""


def test_import_loads_no_tools():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded, with_jit, called = map(str.split, run.stdout.splitlines())
    assert "ckernels.api.function" in loaded
    assert not set(HEAVY) & set(loaded)
    late = (
        "ckernels.compiler",
        "ckernels.codegen",
        "ckernels.runtime.function",
        "ckernels.autodiff.reverse",
    )
    assert not [m for m in loaded if m.startswith(late)]
    plans = ("ckernels.rewrite", "ckernels.schedule", "ckernels.codegen", late[-1], "numpy.ma")
    assert "ckernels.jit.turns" in with_jit
    assert not [m for m in with_jit if m.startswith(plans)]  # a stored plan does without
    assert not {"numpy.ma", "numpy.random"} & set(called)
