"""dtype rules that rows are built with: `NUMPY` is NumPy 2's, exactly, for it asks NumPy.

A rule answers which dtypes a ufunc computes in, what a reduction accumulates in and what several
operands become. Kinds are np.dtypes, or the Python types int, float and complex for weak numbers.
Another library's promotion is another object with these methods (Keras 3 promotes as JAX does).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base import dtypes
from ..base.errors import NotSupported
from ..graph.node import Node
from ..ops.base import fits

WEAK_EXAMPLES = {int: 0, float: 0.0, complex: 0j}


class Weak(NamedTuple):
    """A Python number that is known only when the function runs: a scalar node of int64, float64
    or complex128, the Python type that it counts as in promotion, and the (least, greatest) int
    that it can be, where that is known."""

    node: Node
    kind: type
    bounds: tuple | None = None


def kind_of(x):
    """What an operand of a row counts as in promotion: its np.dtype, or the type of a number."""
    if isinstance(x, Node):
        return np.dtype(x.dtype)
    if isinstance(x, Weak):
        return x.kind
    if isinstance(x, (bool, np.bool_)):
        return np.dtype(bool)
    if isinstance(x, (np.generic, np.ndarray)):
        return x.dtype
    for kind in (int, float, complex):
        if isinstance(x, kind):
            return kind
    raise NotSupported(f"{type(x).__name__} is no operand of a NumPy function that is compiled")


def supported(dtype):
    """The name of a NumPy dtype; NotSupported for one that kernels do not have."""
    name = dtypes.numpy_name(np.dtype(dtype))
    if name not in dtypes.ITEMSIZE or not np.dtype(dtype).isnative:
        raise NotSupported(f"arrays of dtype {name} are computed by NumPy")
    return name


@lru_cache(4096)
def _loop(ufunc, kinds, dtype):
    options = {}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **options)
    return tuple(supported(d) for d in found)


@lru_cache(1024)
def _reduction(ufunc, kind, dtype):
    options = {} if dtype is None else {"signature": (np.dtype(dtype), None, None)}
    found = ufunc.resolve_dtypes((None, kind, None), reduction=True, **options)
    return tuple(supported(d) for d in found[1:])


class Promotion:
    """NumPy 2's promotion, asked of NumPy: `ufunc.resolve_dtypes` and `np.result_type`."""

    floating = "float64"  # of creation functions that were given no dtype
    integer = supported(np.dtype(int))

    def loop(self, ufunc, kinds, dtype=None):
        """Names of the dtypes of the operands, then of the results, that `ufunc` computes in.

        Raises TypeError as NumPy does where it has no such loop.

        >>> from ckernels.numpy.promote import NUMPY
        >>> NUMPY.loop(np.true_divide, (np.dtype("int8"), int))
        ('float64', 'float64', 'float64')
        """
        return _loop(ufunc, tuple(kinds), dtype)

    def reduction(self, ufunc, kind, dtype=None):
        """(dtype of the operand, of the result) of `ufunc.reduce` and `ufunc.accumulate`."""
        return _reduction(ufunc, kind, dtype)

    def common(self, kinds):
        """The name of the dtype that operands of these kinds are brought to together."""
        return supported(np.result_type(*[WEAK_EXAMPLES.get(k, k) for k in kinds]))

    def mean(self, kind):
        """The dtype of a mean or a variance of elements of this kind."""
        kind = np.dtype(kind)
        return self.floating if kind.kind in "iub" else supported(kind)


NUMPY = Promotion()


def check_fits(value, dtype):
    """OverflowError where a Python int is outside of `dtype`, in NumPy's words."""
    if isinstance(value, int) and dtype != "bool" and not fits(value, dtype):
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
