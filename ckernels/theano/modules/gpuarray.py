"""theano.gpuarray: a module that imports and says that there is no GPU back-end."""

import types

from ...base.errors import NotSupported
from ..base.names import absent_of as _absent_of

pygpu_activated = False
pygpu = None


def init_dev(dev, name=None, preallocate=None):
    """NotImplementedError: there is no GPU back-end."""
    raise NotSupported(f"there is no GPU back-end: {dev} cannot be used; the device is the CPU")


use = init_dev


def _absent():
    """False: there is no GPU back-end."""
    return False


_absent.msg = "there is no GPU back-end"
# What programs ask of theano.gpuarray.dnn before they use it.
dnn = types.SimpleNamespace(dnn_present=_absent, dnn_available=_absent)

__getattr__ = _absent_of("theano.gpuarray")
