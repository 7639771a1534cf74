"""A subinterpreter has no runtime: its import says so, and functions run through NumPy there."""

import subprocess
import sys

import pytest

pytest.importorskip("ckernels._runtime")
# In a process that has not imported NumPy: NumPy lets itself be imported into one interpreter.
PROGRAM = '''
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)
interpreters.run_string(made, """
import sys, warnings
warnings.simplefilter("ignore")
try:
    import ckernels._runtime
    print("imported", flush=True)
except ImportError as error:
    print(error, flush=True)
import ckernels as K
x = K.placeholder((None,))
print(float(K.function([x], K.sum(x * x))([[1.0, 2.0, 3.0]])), flush=True)
""")
interpreters.destroy(made)
'''


def test_import_is_refused_and_numpy_serves():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    said, value = done.stdout.splitlines()
    assert "main interpreter of a process only" in said and value == "14.0", done.stderr
