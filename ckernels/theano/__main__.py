"""`python -m ckernels.theano program.py arguments`: a program written for Theano, as it is.

Also `-m module`. THEANO_FLAGS and .theanorc are read. modules/installing.py does the work.
"""

from .modules.installing import main

if __name__ == "__main__":
    raise SystemExit(main())
