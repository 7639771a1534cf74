"""`ckernels.numpy.fft`: Fourier transforms, under NumPy's names, on Arrays."""

import numpy as np

from .names import getter

__getattr__ = getter(np.fft, globals())


def __dir__():
    return dir(np.fft)
