"""Opaque: what stands for an array that kernels have no type for: texts, dates, objects, records.

It may be kept, replaced, returned and given to others as it is; what else is done with it leaves
the call to NumPy.
"""

import numpy as np

from ..base.errors import NotSupported
from ..numpy.promote import supported


def why_opaque(x):
    """The NotSupported for an array or a scalar of a type that kernels do not have; else None."""
    if isinstance(x, (np.ndarray, np.generic)):
        try:
            supported(x.dtype)
        except NotSupported as problem:
            return problem.with_traceback(None)
    return None


class Opaque:
    """why: the exception that says which type it is."""

    __slots__ = ("why",)
    __hash__ = object.__hash__
    __array_priority__ = 1000.0

    def __init__(self, why):
        self.why = why

    def __getattr__(self, name):
        if name[:2] == "__":  # asked by Python and by libraries
            raise AttributeError(name)
        raise self.why


def _refused(name):
    def method(self, *args, **kwargs):
        raise self.why

    method.__name__ = name
    return method


USES = """
add and array array_function array_ufunc bool complex contains copy deepcopy delitem divmod eq
float floordiv format ge getitem gt iadd iand ifloordiv imul index int invert ior ipow isub iter
itruediv ixor le len lt matmul mod mul ne neg or pos pow radd rand rdivmod reduce_ex repr
rfloordiv rmatmul rmod rmul ror round rpow rsub rtruediv rxor setitem str sub truediv xor
""".split()
for _name in USES:
    setattr(Opaque, f"__{_name}__", _refused(f"__{_name}__"))
