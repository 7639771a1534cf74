"""Rows: how a function of Keras is made from its NumPy function, its node builder and a dtype rule.

Each maker returns the function that Keras calls: it brings values through the door, casts them by
the rule, and runs the NumPy function on arrays or the builder on nodes. What is no row of a table
is written out in backend/ with `either`.
"""

import functools

import numpy as np
from keras.src.backend import config

from ..numpy.rows import UFUNCS
from .casts import KEPT, result_type, standardize_dtype
from .direct import direct, named, quiet
from .values import Symbolic, cast, convert_to_tensor, node_of


def floating(dtype):
    """The dtype of a function of real numbers: floatx() for int64, else promoted with a float."""
    return config.floatx() if dtype == "int64" else result_type(dtype, float)


def same(dtype):
    return dtype


def no_bool(dtype):
    """Arithmetic on bools is arithmetic on int32."""
    return "int32" if dtype == "bool" else dtype


def summed(dtype):
    """Sums and products of small integers are wider."""
    if dtype in ("bool", "int8", "int16"):
        return "int32"
    return "uint32" if dtype in ("uint8", "uint16") else dtype


def dtype_of(x):
    return standardize_dtype(x.dtype)


def promoted(*xs):
    """The dtype of several operands; Python numbers are weak."""
    return result_type(*[getattr(x, "dtype", type(x)) for x in xs])


def operands(*xs):
    """Operands as they promote: numbers stay numbers, all else is a tensor."""
    return [x if isinstance(x, bool | int | float | complex) else convert_to_tensor(x) for x in xs]


@functools.lru_cache
def _kept(rule):
    """The dtypes of arrays that a rule leaves as they are."""
    return frozenset(d for d in KEPT if rule(d.name) == d.name)


def placed(eager, graph, *xs):
    """`eager` of arrays, or `graph` of nodes where one of the tensors `xs` is traced."""
    for x in xs:
        if isinstance(x, Symbolic):
            return wrapped(graph(*[None if x is None else node_of(x) for x in xs]))
    return eager(*xs)


def either(eager, graph, *xs):
    """`placed`, without the warnings of what computes floats."""
    return placed(quiet(eager), graph, *xs)


def wrapped(found):
    """Nodes, in tuples and lists too, as traced values."""
    if isinstance(found, tuple | list):
        return type(found)(wrapped(f) for f in found)
    return Symbolic(found)


def unary(name, eager, graph=None, rule=same, out=None):
    """A function of one tensor; graph None: that of the ufunc `eager` in the rows of NumPy.

    out: the dtype of the result where it is not the operand's; `eager` gives it itself.
    """
    graph, at_once = graph or UFUNCS[eager].build, quiet(eager)

    def function(x):
        x = convert_to_tensor(x)
        x = cast(x, rule(dtype_of(x)))
        found = placed(at_once, graph, x)
        return found if out is None else cast(found, out)

    return direct(eager, named(function, name), _kept(rule))


def binary(name, eager, graph=None, rule=same, out=None):
    """A function of two operands that are promoted together; graph and out as for `unary`."""
    graph, at_once, known = graph or UFUNCS[eager].build, quiet(eager), {}

    def function(x1, x2):
        arrays = x1.__class__ is x2.__class__ is np.ndarray
        dtype = known.get((x1.dtype, x2.dtype, config.floatx())) if arrays else None
        if dtype is not None:
            return at_once(x1.astype(dtype, copy=False), x2.astype(dtype, copy=False))
        x1, x2 = operands(x1, x2)
        dtype = rule(promoted(x1, x2))
        if arrays and x1.dtype in KEPT and x2.dtype in KEPT:
            known[x1.dtype, x2.dtype, config.floatx()] = np.dtype(dtype)
        found = placed(at_once, graph, convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype))
        return found if out is None else cast(found, out)

    return direct(eager, named(function, name), _kept(rule), count=2)


AT_ONCE = {
    np.max: lambda x, axis, keepdims: np.maximum.reduce(x, axis, None, None, keepdims),
    np.min: lambda x, axis, keepdims: np.minimum.reduce(x, axis, None, None, keepdims),
    np.any: lambda x, axis, keepdims: np.logical_or.reduce(x, axis, bool, None, keepdims),
    np.all: lambda x, axis, keepdims: np.logical_and.reduce(x, axis, bool, None, keepdims),
}  # what NumPy's functions come to for arrays
WITHIN = {np.sum: np.add, np.prod: np.multiply}  # that add up in a dtype without a cast before


def reduction(name, eager, graph, rule=same, out=None):
    """A reduction over axes. rule: the dtype it computes in; out: (dtype before) -> result's."""
    fast, at_once, kept = AT_ONCE.get(eager), quiet(eager), _kept(rule)
    within = quiet(WITHIN[eager].reduce) if eager in WITHIN else None

    def function(x, axis=None, keepdims=False):
        if fast and x.__class__ is np.ndarray and x.dtype in kept:
            return fast(x, as_axis(axis), keepdims)
        x = convert_to_tensor(x)
        before = dtype_of(x)
        if within and x.__class__ is np.ndarray:
            return within(x, as_axis(axis), rule(before), None, keepdims)
        x = cast(x, rule(before))
        axis = as_axis(axis)
        if isinstance(x, Symbolic):
            found = wrapped(graph(x.node, axis, keepdims))
        else:
            found = at_once(x, axis=axis, keepdims=keepdims)
        return cast(found, rule(before) if out is None else out(before))

    return named(function, name)


def as_axis(axis):
    """None, an int or a tuple of ints."""
    if axis is None or isinstance(axis, int):
        return axis
    if isinstance(axis, list | tuple):
        return tuple(int(a) for a in axis)
    return int(axis)
