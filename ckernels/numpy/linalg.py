"""`ckernels.numpy.linalg`: linear algebra, under NumPy's names, on Arrays."""

import numpy as np

from .names import getter

__getattr__ = getter(np.linalg, globals())


def __dir__():
    return dir(np.linalg)
