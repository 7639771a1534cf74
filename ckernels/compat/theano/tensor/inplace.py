"""theano.tensor.inplace: elementwise operations under the names of their in-place forms.

Nothing is written to here: the engine decides about memory. `exp_inplace(x)` is exp(x).
"""

from . import elementwise, rules

_OWN = {"abs__inplace": "abs_", "int_div_inplace": "int_div", "transpose_inplace": None}


def __getattr__(name):
    if name == "transpose_inplace":
        from .shaping import transpose

        return transpose
    base = _OWN.get(name) or name.removesuffix("_inplace")
    if name.endswith("_inplace"):
        for found in (base, base + "_"):
            if found in rules.UNARY or found in rules.SEVERAL:
                return getattr(elementwise, found)
    from ..names import elsewhere

    return elsewhere("theano.tensor.inplace", name)
