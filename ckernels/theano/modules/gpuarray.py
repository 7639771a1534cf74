"""theano.gpuarray: a module that imports and says that there is no GPU back-end."""

from ...base.errors import NotSupported
from ..base.names import absent_of as _absent_of

pygpu_activated = False
pygpu = None


def init_dev(dev, name=None, preallocate=None):
    """NotImplementedError: there is no GPU back-end."""
    raise NotSupported(f"there is no GPU back-end: {dev} cannot be used; the device is the CPU")


use = init_dev

__getattr__ = _absent_of("theano.gpuarray")
