"""K.shared: variables as in Theano, whose sizes may change with each new value."""

import numpy as np

from ..base import given
from ..base.errors import ShapeError
from ..graph.shapes import show
from .operands import as_array, static_shape
from .tensor import Variable


def shared(value, name=None, borrow=False, shape=None):
    """A variable with the dtype and rank of `value`.

    Parameters
    ----------
    value : array, number or nested lists
        A Python int gives int64, a float float64.
    name : str, optional
        What messages call it.
    borrow : bool, default False
        Whether the variable may keep the array itself instead of a copy.
    shape : tuple of int and None, optional
        What is fixed about the shape, e.g. (None, 10); by default nothing.

    Returns
    -------
    Variable
        Later values may have other sizes where `shape` fixes none.

    Raises
    ------
    ShapeError
        Where `value` has not that shape.
    DTypeError
        For what no dtype holds, such as text.

    Examples
    --------
    >>> s = K.shared(np.zeros((2, 3)), name="s")
    >>> s.set_value(np.ones((5, 3)))
    >>> s.get_value().shape, s.dtype
    ((5, 3), 'float64')
    """
    name = given.name(name)
    what = f"the value of shared variable {name!r}" if name else "the value of a shared variable"
    array = as_array(value, what)
    fixed = (None,) * array.ndim if shape is None else static_shape(shape)
    if len(fixed) != array.ndim or any(d not in (None, s) for d, s in zip(fixed, array.shape)):
        raise ShapeError(f"{what} has shape {show(array.shape)}, which is not {show(fixed)}")
    if not given.flag(borrow, "borrow"):
        array = np.array(array, order="C", copy=True)
    return Variable(array, name, fixed)
