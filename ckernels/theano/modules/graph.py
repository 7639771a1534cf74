"""theano.graph: the modules of theano.gof under the names that Theano-PyMC 1.1 gave them."""
# ruff: noqa: F403

from ..base.names import absent_of as _absent_of
from .gof import *

__getattr__ = _absent_of("theano.graph")
