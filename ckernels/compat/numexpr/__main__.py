"""`python -m ckernels.compat.numexpr program.py arguments`: a program of numexpr's, as it is."""

from ...base.runner import run_program
from . import install

if __name__ == "__main__":
    raise SystemExit(run_program("ckernels.compat.numexpr", install))
