"""`python -m ckernels.pytensor program.py args`: a program as it is, with our mode its default.

PyTensor's flags refuse a mode that nobody registered yet, so PYTENSOR_FLAGS cannot name it.
"""

import runpy
import sys


def main(arguments=None):
    """Run the program named by the first argument (or `-m module`) in mode CKERNELS."""
    from pytensor import config

    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or given[0] in ("-h", "--help"):
        print("usage: python -m ckernels.pytensor (program.py | -m module) [arguments]")
        raise SystemExit(0 if given else 2)
    config.mode = "CKERNELS"
    if given[0] == "-m":
        sys.argv = given[1:]
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = given
        runpy.run_path(given[0], run_name="__main__")
