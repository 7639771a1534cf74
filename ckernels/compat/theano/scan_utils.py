"""theano.scan_module.scan_utils: names that programs use."""

from .gof.graph import equal_computations  # noqa: F401
from .scan_module import clone, until  # noqa: F401
