"""Values and shapes as programs for Keras expect them.

NumPy scalars where ckernels has arrays without dimensions: a loss is rounded there, and written to
JSON. And `_keras_shape` on what Keras's own backends put it on.
"""

import numpy as np

from ..api import shape, variables
from ..base import given


def scalar(value):
    """The NumPy scalar in an array without dimensions; anything else as it is."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def doubles(values):
    """np.float64, a Python float too, for a value without dimensions or each such in a list."""
    if isinstance(values, list):
        return [doubles(v) for v in values]
    without = isinstance(values, (np.ndarray, np.generic)) and not values.ndim
    return np.float64(values) if without else values


def plain(values):
    """The dict `values` with Python numbers in place of NumPy scalars and of arrays without
    dimensions."""
    found = {}
    for name, value in values.items():
        without = isinstance(value, (np.ndarray, np.generic)) and not value.ndim
        found[name] = value.item() if without else value
    return found


def eval(x):
    """The value of a tensor that needs no input: an array, or a NumPy scalar."""
    return scalar(variables.eval(x))


def get_value(x):
    """The value of a variable: a new array, or a NumPy scalar."""
    return scalar(variables.get_value(x))


def batch_get_value(ops):
    """The values of several variables, as a list."""
    return [get_value(x) for x in given.sequence(ops, "the argument of batch_get_value")]


def repeat_elements(x, rep, axis):
    """Each element of `x` repeated `rep` times along `axis`; its `_keras_shape` is set."""
    y = shape.repeat_elements(x, rep, axis)
    y._keras_shape = y.node.shape
    return y


class Scalars:
    """A function whose outputs without dimensions are NumPy scalars; all else is the function's."""

    def __init__(self, function, places):
        self._function, self._places = function, places

    def __call__(self, *args, **kwargs):
        found = self._function(*args, **kwargs)
        if self._places is None:
            return scalar(found)
        for i in self._places:
            found[i] = scalar(found[i])
        return found

    def __getattr__(self, name):
        return getattr(self._function, name)

    def __repr__(self):
        return repr(self._function)


def places_of_scalars(outputs):
    """The places of those in a list of outputs that have no dimensions; None: the only output."""
    if not isinstance(outputs, (list, tuple)):
        return () if outputs is None or outputs.ndim else None
    return [i for i, y in enumerate(outputs) if not y.ndim]


def with_scalars(function, outputs):
    """`function` with NumPy scalars for those of its `outputs` that have no dimensions."""
    places = places_of_scalars(outputs)
    return function if places is not None and not places else Scalars(function, places)
