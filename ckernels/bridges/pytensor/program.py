"""`python -m ckernels.pytensor program.py args`: a program as it is, with our mode its default.

PyTensor's flags refuse a mode that nobody registered yet, so PYTENSOR_FLAGS cannot name it.
"""

from ...base.runner import run_program


def install():
    """Make CKERNELS the default mode."""
    from pytensor import config

    config.mode = "CKERNELS"


def main(arguments=None):
    """Run the program named by the first argument (or `-m module`) in mode CKERNELS."""
    return run_program("ckernels.pytensor", install, arguments)
