"""`python -m ckernels.theano program.py arguments`: a program written for Theano, as it is.

Also `-m module`. THEANO_FLAGS and .theanorc are read. The work is done by compat/theano/install.py.
"""

import sys

from .compat.theano.install import main

if __name__ == "__main__":
    sys.exit(main())
