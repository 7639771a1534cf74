"""The ops that theano.tensor.opt defines; its rewrites are the engine's affair."""

from .joining import MakeVector, make_vector  # noqa: F401
from .shaping import Shape_i, shape_i  # noqa: F401
