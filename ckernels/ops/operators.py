"""Python operators of Node: a + b, a < b, a[...] and their reflected forms. Not == and !=: those
stay identity, because Nodes are dictionary keys; use `eq` and `ne`.
"""
from ..errors import DTypeError, ShapeError
from ..graph.node import Node
from . import elementwise, logic


def _matmul(a, b):
    from .linalg import matmul
    return matmul(a, b)


def _getitem(x, index):
    from .indexing import getitem
    return getitem(x, index)


def _invert(x):
    return logic.logical_not(x) if x.dtype == "bool" else logic.bit_not(x)


def _iterate(x):
    """Rows of `x`. Without this, Python's old protocol would call x[0], x[1], .. for ever."""
    if not x.ndim:
        raise DTypeError("a symbolic scalar is not iterable")
    if x.shape[0] is None:
        raise ShapeError("cannot iterate over an axis of unknown size; index it or use scan")
    return (x[i] for i in range(x.shape[0]))


def _length(x):
    raise DTypeError("a symbolic node has no len(); use .shape[0], or shape(x)[0]")


def _divmod(a, b):
    return elementwise.floor_div(a, b), elementwise.mod(a, b)


BINARY = {"add": elementwise.add, "sub": elementwise.sub, "mul": elementwise.mul,
          "truediv": elementwise.true_div, "floordiv": elementwise.floor_div,
          "mod": elementwise.mod,
          "divmod": _divmod, "pow": elementwise.pow, "matmul": _matmul, "and": logic.bit_and,
          "or": logic.bit_or, "xor": logic.bit_xor, "lshift": logic.left_shift,
          "rshift": logic.right_shift}
COMPARISONS = {"lt": logic.lt, "le": logic.le, "gt": logic.gt, "ge": logic.ge}
UNARY = {"neg": elementwise.neg, "pos": lambda x: x, "abs": elementwise.abs, "invert": _invert}


def _attach(dunder, method):
    method.__name__ = dunder
    setattr(Node, dunder, method)


def attach():
    """Give the class Node its operators."""
    for name, fn in BINARY.items():
        _attach(f"__{name}__", lambda a, b, fn=fn: fn(a, b))
        _attach(f"__r{name}__", lambda a, b, fn=fn: fn(b, a))
    for name, fn in COMPARISONS.items():
        _attach(f"__{name}__", lambda a, b, fn=fn: fn(a, b))
    for name, fn in UNARY.items():
        _attach(f"__{name}__", lambda x, fn=fn: fn(x))
    _attach("__getitem__", lambda x, index: _getitem(x, index))
    _attach("__iter__", lambda x: _iterate(x))
    _attach("__len__", lambda x: _length(x))
    Node.__array_ufunc__ = None   # ndarray + node asks the node
