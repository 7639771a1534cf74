"""Values in another dtype by Keras's rules, the same numbers for arrays and for nodes.

A number is True where it is not 0. A float beyond the integers becomes the nearest of them and NaN
becomes 0, as XLA has it: quantised nets count on that, where what C gives hangs on the instruction.
"""

import numpy as np

from .. import ops
from ..base.dtypes import is_float, kind
from ..graph.node import constant


def cast_node(node, dtype):
    """A node in another dtype."""
    if node.dtype == dtype:
        return node
    if dtype == "bool":
        return ops.ne(node, 0)
    if not _drops_a_fraction(node.dtype, dtype):
        return ops.cast(node, dtype)
    node = ops.cast(node, _wide(node.dtype))
    low, high = _ends(node.dtype, dtype)
    found = ops.cast(ops.clip(ops.where(ops.isnan(node), 0, node), low, high), dtype)
    last = np.array(np.iinfo(dtype).max, dtype)
    return found if high == last else ops.where(ops.gt(node, high), constant(last), found)


def cast_array(x, dtype):
    """An array in another dtype; itself where it has it."""
    if x.dtype == dtype:
        return x
    with np.errstate(invalid="ignore", over="ignore"):
        if not _drops_a_fraction(x.dtype.name, dtype):
            return x.astype(dtype)
        x = x.astype(_wide(x.dtype.name))
        low, high = _ends(x.dtype.name, dtype)
        found = np.clip(np.where(np.isnan(x), x.dtype.type(0), x), low, high).astype(dtype)
    last = np.array(np.iinfo(dtype).max, dtype)
    return found if high == last else np.where(x > high, last, found)


def _drops_a_fraction(source, dtype):
    return is_float(source) and kind(dtype) in "iu"


def _wide(dtype):
    """The dtype whose numbers hold the ends of small integers exactly."""
    return "float64" if dtype == "float64" else "float32"


def _ends(source, dtype):
    """The least and the greatest float of `source` that integers of `dtype` hold."""
    limits, number = np.iinfo(dtype), np.dtype(source).type
    high = number(limits.max)
    if int(high) > limits.max:
        high = np.nextafter(high, number(0))
    return number(limits.min), high
