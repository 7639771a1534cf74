"""Opaque: what stands for an array that kernels have no type for (texts, dates, objects, records),
or for an object whose state cannot be read (a generator of random numbers, a set, a lock, a file).

It may be kept, replaced, returned and given to others as it is; what else is done with it leaves
the call to NumPy.
"""

import numpy as np

from ..base.errors import NotSupported
from ..numpy.promote import supported


def why_opaque(x):
    """The NotSupported for a leaf that kernels have no type for; else None."""
    if isinstance(x, (np.ndarray, np.generic)):
        try:
            supported(x.dtype)
        except NotSupported as problem:
            return problem.with_traceback(None)
    elif not isinstance(x, (int, float, complex)):
        return NotSupported(f"an argument of type {type(x).__name__}, whose state cannot be traced")
    return None


class Opaque:
    """opaque_why: the exception that says which type it is; opaque_type: that."""

    __slots__ = ("opaque_why", "opaque_type")
    __hash__ = object.__hash__
    __array_priority__ = 1000.0

    def __init__(self, why, kind):
        self.opaque_why, self.opaque_type = why, kind

    def __getattr__(self, name):
        if name[:2] == "__":  # asked by Python and by libraries
            raise AttributeError(name)
        raise self.opaque_why


class OpaqueCallable(Opaque):
    """One that can be called, as Python tells."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        raise self.opaque_why


def stand_in(why, x):
    """What stands for an object of such a type."""
    return (OpaqueCallable if callable(x) else Opaque)(why, type(x))


def _refused(name):
    def method(self, *args, **kwargs):
        raise self.opaque_why

    method.__name__ = name
    return method


USES = """
add and array array_function array_ufunc bool complex contains copy deepcopy delitem divmod enter
eq exit float floordiv format ge getitem gt iadd iand ifloordiv imul index int invert ior ipow isub
iter itruediv ixor le len lt matmul mod mul ne neg next or pos pow radd rand rdivmod reduce_ex repr
rfloordiv rmatmul rmod rmul ror round rpow rsub rtruediv rxor setitem str sub truediv xor
""".split()
for _name in USES:
    setattr(Opaque, f"__{_name}__", _refused(f"__{_name}__"))
