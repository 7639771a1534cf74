"""Small names of the module theano itself."""

import numpy as np

from ...base.errors import NotSupported
from ..base.exceptions import AsTensorError
from ..handles.type import name_of
from ..handles.variables import as_tensor_variable


def dot(l, r):  # noqa: E741
    """The product of two variables, dense or sparse, or of one and an array."""
    for one, other, name in ((l, r, "__dot__"), (r, l, "__rdot__")):
        method = getattr(one, name, None)
        if method is None:
            continue
        try:
            found = method(other)
        except AsTensorError:  # the other one is sparse: it has the product
            continue
        if found is not NotImplemented:
            return found
    raise NotSupported("neither factor of dot is a variable; make one a tensor", l, r)


def _asarray(a, dtype, order=None):
    """np.asarray with a dtype by name."""
    return np.asarray(a, dtype=name_of(dtype) if isinstance(dtype, str) else dtype, order=order)


def as_symbolic(x):
    """`x` as a variable."""
    return as_tensor_variable(x)
