"""Rows that are NumPy's own Python code: it runs over ArrayValues, and what it does is the row.

A copy of the function sees, under the names of its module, functions that make traced arrays in
the place of those that NumPy does not dispatch (`zeros`, `asarray`). What that code asks of values
(`if (x < 0).any()`) only NumPy can answer, and the row refuses; so it does where NumPy's code is of
another version and needs what is not here.
"""

import builtins
import importlib
import types

import numpy as np

from ...base.errors import NotSupported
from ...graph.node import Node
from .base import FUNCTIONS, Row, as_operand, newer

MADE = {f: f.__name__ for f in (np.zeros, np.ones, np.empty, np.full, np.arange, np.eye,
                                np.identity, np.linspace)}  # fmt: skip


def _traced():
    """(Owner, value), which need rows themselves."""
    return (importlib.import_module("ckernels.numpy.owner").Owner,
            importlib.import_module("ckernels.numpy.value"))  # fmt: skip


class Copies:
    """Copies of NumPy's functions for one run; each once."""

    def __init__(self, owner):
        self.owner, self.made = owner, {}
        self.builtins = {**vars(builtins), "isinstance": is_instance}

    def seen(self, value):
        """What a copy sees in the place of what a name of NumPy's module has."""
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numpy"):
            return Module(self, value)
        try:
            replaced = self.replaced(value)
        except TypeError:  # not hashable: no function
            return value
        if replaced is not None:
            return replaced
        inside = isinstance(value, types.FunctionType) and value.__module__.startswith("numpy")
        return self.copy(value) if inside else value

    def replaced(self, value):
        """The function over values for one that NumPy does not dispatch; None for another."""
        if value in CONVERTING:
            return self.asarray if value is not np.array else self.array
        if value in MADE:
            return lambda *args, **kwargs: self.creation(value, args, kwargs)
        return None

    def creation(self, function, args, kwargs):
        """A new array: a traced one, as values may be stored into it."""
        args = [self.owner.argument(a) for a in args]
        row = FUNCTIONS[function]
        return _traced()[1].result(self.owner, row.build(self.owner.rule, *args, **kwargs), False)

    def asarray(self, a, dtype=None, order=None, **options):
        return self.owner.array(a, dtype)

    def array(self, object, dtype=None, copy=True, order="K", subok=False, ndmin=0, **options):
        value = self.owner.array(object, dtype)
        while value.ndim < ndmin:
            value = value[None]
        return value.copy() if copy else value

    def copy(self, function):
        """The function with its names replaced."""
        found = self.made.get(function)
        if found is None:
            names = {"__builtins__": self.builtins, "__name__": function.__module__}
            found = types.FunctionType(function.__code__, names, function.__name__,
                                       function.__defaults__, function.__closure__)  # fmt: skip
            found.__kwdefaults__ = function.__kwdefaults__
            self.made[function] = found  # before its names: functions call one another
            for name in _names(function.__code__):
                if name in function.__globals__:
                    names[name] = self.seen(function.__globals__[name])
        return found


CONVERTING = {np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.array}


class Module:
    """A module of NumPy as a copy sees it."""

    def __init__(self, copies, module):
        self.copies, self.module = copies, module

    def __getattr__(self, name):
        return self.copies.seen(getattr(self.module, name))


def is_instance(x, kinds):
    """isinstance, for which an ArrayValue is an ndarray, or a scalar of its dtype."""
    if not isinstance(x, _traced()[1].ArrayValue):
        return isinstance(x, kinds)
    return issubclass(x.dtype.type if x.scalar else np.ndarray, kinds)


def _names(code):
    """The names that a function and those inside of it may look up."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def run(owner, function, args, kwargs):
    """The value of NumPy's `function` for ArrayValues of `owner`, by its Python code."""
    implementation = getattr(function, "_implementation", None)
    if not isinstance(implementation, types.FunctionType):
        raise NotSupported(f"np.{function.__name__} is no Python code in this NumPy")
    try:
        return Copies(owner).copy(implementation)(*args, **kwargs)
    except (AttributeError, NameError) as problem:
        raise NotSupported(f"np.{function.__name__}: {problem}") from problem


def _value(owner, x):
    """An operand as the ArrayValue that it is."""
    if isinstance(x, Node):
        return _traced()[1].ArrayValue(owner, x, False, True)
    if type(x) in (list, tuple):
        return type(x)([_value(owner, i) for i in x])
    return x


def _node(x):
    """A result as a node, in the same tuples and lists."""
    if isinstance(x, _traced()[1].ArrayValue):
        return x.read()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_node(i) for i in x])
    if type(x) in (list, tuple):
        return type(x)([_node(i) for i in x])
    return as_operand(x) if isinstance(x, (np.ndarray, np.generic)) else x


def compose(function):
    """Enter the row of a function that is Python code of NumPy's."""

    def build(rule, *args, **kwargs):
        owner = _traced()[0](rule)
        given = {k: _value(owner, v) for k, v in kwargs.items()}
        return _node(run(owner, function, [_value(owner, a) for a in args], given))

    FUNCTIONS[function] = Row(function.__name__, build, python=function)


def otherwise(function):
    """NumPy's Python code for what the row of a function refuses."""
    first = FUNCTIONS[function]
    compose(function)
    second = FUNCTIONS[function].build

    def build(rule, *args, **kwargs):
        try:
            return first.build(rule, *args, **kwargs)
        except NotSupported:
            return second(rule, *args, **kwargs)

    FUNCTIONS[function] = first._replace(build=build)


PYTHON = """
    angle apply_over_axes astype corrcoef cumulative_prod cumulative_sum diag_indices_from
    dsplit extract fix flatnonzero geomspace hsplit iscomplex isneginf isposinf isreal
    ix_ logspace nancumprod nancumsum poly polyadd polyder polysub polyval resize rollaxis
    rot90 sinc sort_complex tril_indices_from triu_indices_from unstack unwrap vander vsplit
    linalg.diagonal linalg.matmul linalg.matrix_norm linalg.multi_dot linalg.outer
    linalg.tensorinv linalg.trace linalg.vector_norm fft.fftshift
    fft.ifftshift
""".split()
for _function in filter(None, map(newer, PYTHON)):
    compose(_function)
for _function in (np.diff, np.average, newer("trapezoid"), np.linspace, np.cov, np.linalg.norm,
                  np.isclose, np.gradient):  # fmt: skip
    if _function in FUNCTIONS:
        otherwise(_function)
