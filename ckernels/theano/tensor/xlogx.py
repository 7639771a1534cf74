"""xlogx and xlogy0: x log(x) and x log(y), 0 where x is 0."""

from ..base.names import absent_of as _absent_of
from ..handles.variables import as_tensor_variable
from .elementwise import eq, log, switch


def xlogx(x):
    """x log(x), 0 for x = 0."""
    x = as_tensor_variable(x)
    zero = eq(x, 0)
    return switch(zero, 0, x * log(switch(zero, 1, x)))


def xlogy0(x, y):
    """x log(y), 0 for x = 0."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    zero = eq(x, 0)
    return switch(zero, 0, x * log(switch(zero, 1, y)))


XlogX, XlogY0 = xlogx, xlogy0


__getattr__ = _absent_of("theano.tensor.xlogx")
