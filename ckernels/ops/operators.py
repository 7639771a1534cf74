"""Python operators of Node: a + b, a < b, a[...] and their reflected forms. Not == and !=: those
stay identity, because Nodes are dictionary keys; use `eq` and `ne`.
"""

from ..base.errors import DTypeError, ShapeError
from ..graph.node import register_operators
from . import elementwise, logic
from .indexing.keys import getitem
from .linalg import matmul


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
          "divmod": _divmod, "pow": elementwise.pow, "matmul": matmul, "and": logic.bit_and,
          "or": logic.bit_or, "xor": logic.bit_xor, "lshift": logic.left_shift,
          "rshift": logic.right_shift}  # fmt: skip
COMPARISONS = {"lt": logic.lt, "le": logic.le, "gt": logic.gt, "ge": logic.ge}
UNARY = {"neg": elementwise.neg, "pos": lambda x: x, "abs": elementwise.abs, "invert": _invert}


def register():
    """Give nodes their operators."""
    found = {}
    for name, fn in BINARY.items():
        found[f"__{name}__"] = lambda a, b, fn=fn: fn(a, b)
        found[f"__r{name}__"] = lambda a, b, fn=fn: fn(b, a)
    for name, fn in COMPARISONS.items():
        found[f"__{name}__"] = lambda a, b, fn=fn: fn(a, b)
    for name, fn in UNARY.items():
        found[f"__{name}__"] = lambda x, fn=fn: fn(x)
    found["__getitem__"] = lambda x, index: getitem(x, index)
    found["__iter__"] = lambda x: _iterate(x)
    found["__len__"] = lambda x: _length(x)
    register_operators(found)
