"""theano.tensor.inplace: elementwise operations under the names of their in-place forms.

`exp_inplace(x)` is exp(x), and the engine decides about memory: only a function made with
accept_inplace=True whose output is such an op of an input writes to the array it is called with.
"""

from ..base.names import elsewhere as _elsewhere
from ..classes import meanings
from . import elementwise
from .shaping import transpose

_OWN = {"abs__inplace": "abs_", "int_div_inplace": "int_div", "transpose_inplace": None}


def __getattr__(name):
    if name == "transpose_inplace":
        return transpose
    base = _OWN.get(name) or name.removesuffix("_inplace")
    if name.endswith("_inplace"):
        for found in (base, base + "_"):
            if found in meanings.UNARY or found in meanings.SEVERAL:
                plain = getattr(elementwise, found)
                made = elementwise.Elemwise(plain.scalar_op, {0: 0}, name)
                return globals().setdefault(name, made)
    return _elsewhere("theano.tensor.inplace", name)
