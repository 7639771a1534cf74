"""The ops that theano.tensor.opt defines; its rewrites are the engine's affair."""

from ..names import absent_of as _absent_of
from ..raise_op import Assert, assert_, assert_op  # noqa: F401
from .joining import MakeVector, make_vector  # noqa: F401
from .shaping import Shape_i, shape_i  # noqa: F401

__getattr__ = _absent_of("theano.tensor.opt")
