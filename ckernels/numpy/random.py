"""`ckernels.numpy.random`: random numbers, which NumPy draws, under NumPy's names, on Arrays."""

import numpy as np

from .names import getter

__getattr__ = getter(np.random, globals())


def __dir__():
    return dir(np.random)
