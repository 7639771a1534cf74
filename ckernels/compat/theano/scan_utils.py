"""theano.scan_module.scan_utils: names that programs use."""

from .gof.graph import equal_computations  # noqa: F401
from .names import absent_of as _absent_of
from .scan_module import clone, until  # noqa: F401

__getattr__ = _absent_of("theano.scan_utils")
