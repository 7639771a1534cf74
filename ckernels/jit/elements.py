"""np.vectorize and np.apply_along_axis in a trace: a function of Python's for each element, or for
each row, as the rows of one batch.

NumPy gives such a function Python's numbers, but for the first element, whose result says of what
dtype all are: where that could be another one the call is NumPy's.
"""

import functools

import numpy as np

from ..base.errors import NotSupported
from ..numpy.value import ArrayValue
from .number import known
from .rerun import of_rows

KINDS = {"float64": float, "int64": int, "bool": bool}


class Elementwise:
    """What np.vectorize makes of a function, in a trace."""

    def __init__(self, build, pyfunc, otypes=None, doc=None, excluded=None, cache=False,
                 signature=None):  # fmt: skip
        if excluded or signature is not None or isinstance(otypes, str) and len(otypes) > 1:
            raise NotSupported("np.vectorize with excluded, a signature or several otypes")
        self.build, self.pyfunc, self.otypes = build, pyfunc, otypes

    def __call__(self, *args, **kwargs):
        trace = self.build.trace
        if kwargs or not args:
            raise NotSupported("np.vectorize with arguments by their names")
        arrays = np.broadcast_arrays(*[trace.array(x) for x in args])
        shape = arrays[0].read().shape
        if 0 in shape or not all(a.dtype.name in KINDS for a in arrays):
            raise NotSupported("np.vectorize of no elements, or of other dtypes than Python has")

        def element(*values):
            return self.pyfunc(*[known(trace, v.read(), KINDS[v.dtype.name]) for v in values])

        shape, flat = arrays[0].shape, [a.reshape(-1) for a in arrays]
        found = of_rows(trace, element, flat, {}, tuple(range(len(flat))))
        several = isinstance(found, tuple)
        results = found if several else (found,)
        if not all(isinstance(r, ArrayValue) and r.ndim == 1 for r in results):
            raise NotSupported("np.vectorize of a function that returns no numbers")
        results = tuple(r.reshape(shape) for r in results)
        if self.otypes is not None:
            kind = self.otypes if isinstance(self.otypes, str) else self.otypes[0]
            results = tuple(r.astype(kind) for r in results)
        return results if several else results[0]


def vectorized(build, made):
    """What an np.vectorize of the program is in a trace."""
    function = build.seen(vars(made), "pyfunc", made.pyfunc)
    return Elementwise(build, function, made.otypes, None, made.excluded, False, made.signature)


def along_axis(build):
    """np.apply_along_axis in a trace."""

    @functools.wraps(np.apply_along_axis)
    def apply_along_axis(func1d, axis, arr, *args, **kwargs):
        arr = build.trace.array(arr)
        if not arr.ndim or 0 in arr.read().shape:
            raise NotSupported("np.apply_along_axis of no elements")
        axis = range(arr.ndim)[axis]
        rows = np.moveaxis(arr, axis, -1)
        lead = rows.shape[:-1]
        flat = rows.reshape(-1, rows.shape[-1])
        found = of_rows(build.trace, lambda row: func1d(row, *args, **kwargs), [flat], {}, (0,))
        if not isinstance(found, ArrayValue):
            raise NotSupported("np.apply_along_axis of a function that returns no array")
        found = found.reshape((*lead, *found.shape[1:]))
        rest = range(found.ndim - len(lead))
        return np.moveaxis(found, [len(lead) + i for i in rest], [axis + i for i in rest])

    return apply_along_axis
