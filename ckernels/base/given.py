"""What users gave for an argument that is no tensor, as what it has to be: each refused in words.

`what` is how the sentence calls the argument. Tensors and shapes are `api/operands.py`.
"""

import numbers
import os
from collections.abc import Mapping
from operator import index

import numpy as np

from .errors import ArgumentError, UsageError


def _refuse(what, kind, x):
    text = repr(x)
    raise UsageError(f"{what} must be {kind}, not {text if len(text) < 80 else type(x).__name__}")


def integer(x, what):
    """`x` as an int; UsageError with `what` when it is none. What Python takes for an index is one:
    an array of no dimensions, as a size is that was computed; a size of a tensor."""
    try:
        return _refuse(what, "an integer", x) if isinstance(x, (bool, np.bool_)) else index(x)
    except TypeError:
        _refuse(what, "an integer", x)


def whole(x, what):
    """`integer`, that takes floats and arrays of one element too if they are whole."""
    if isinstance(x, numbers.Integral):
        return int(x)
    value = number(x, what)
    if value != value // 1:  # NaN and inf too
        _refuse(what, "an integer", x)
    return int(x)


def number(x, what):
    """`x` as a float: a real number, or an array of one."""
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        _refuse(what, "a number", x)


def flag(x, what):
    """`x`, True or False (or 1 or 0, or None for False), as a bool."""
    if x is None or isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (numbers.Real, np.ndarray)) and np.ndim(x) == 0 and x in (0, 1):
        return bool(x)
    _refuse(what, "True or False", x)


def text(x, what):
    """`x`, a str."""
    return x if isinstance(x, str) else _refuse(what, "a string", x)


def name(x):
    """`x` as the name of a tensor: a str or None."""
    return x if x is None else text(x, "a name")


def word(x, words, what):
    """`x`, one of `words`, which may be None among others."""
    if not any(x is one or type(x) is type(one) and x == one for one in words):
        raise ArgumentError(f"{what} is one of {', '.join(map(repr, words))}, not {x!r}")
    return x


def sequence(x, what):
    """The items of `x` as a list."""
    try:
        return list(x)
    except TypeError:
        _refuse(what, "a list", x)


def walked(x, what):
    """An iterator over the items of `x`."""
    try:
        return iter(x)
    except TypeError:
        _refuse(what, "a list", x)


def pair(x, what):
    """The two items of `x`."""
    items = sequence(x, what)
    if len(items) != 2:
        _refuse(what, "a pair", x)
    return items


def items(x, what):
    """The pairs of a dict; none for None."""
    if x is None:
        return ()
    return x.items() if isinstance(x, Mapping) else _refuse(what, "a dict", x)


def function(x, what):
    """`x`, which can be called."""
    return x if callable(x) else _refuse(what, "a function", x)


def path(x, what):
    """`x` as the name of a file or folder, a str."""
    try:
        return os.fsdecode(x)
    except TypeError:
        _refuse(what, "the name of a file or folder", x)
