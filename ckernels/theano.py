"""`python -m ckernels.theano program.py arguments`: a program written for Theano, as it is.

Also `-m module`. THEANO_FLAGS and .theanorc are read. compat/theano/installing.py does the work.
"""

import sys

from .compat.theano.installing import main

if __name__ == "__main__":
    sys.exit(main())
