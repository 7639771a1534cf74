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
"""


def test_import_loads_no_tools():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "ckernels.api.function" in loaded
    assert not set(HEAVY) & set(loaded)
    late = (
        "ckernels.compiler",
        "ckernels.codegen",
        "ckernels.runtime.function",
        "ckernels.autodiff.reverse",
    )
    assert not [m for m in loaded if m.startswith(late)]
