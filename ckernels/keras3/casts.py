"""Values in another dtype by Keras's rules, the same numbers for arrays and for nodes.

A number is True where it is not 0. A float beyond the integers becomes the nearest of them and NaN
becomes 0, as XLA has it: quantised nets count on that, where what C gives hangs on the instruction.
Keras's names of dtypes, and what they promote to, are looked up once: eager operations on small
arrays took most of their time for that.
"""

import functools

import numpy as np
from keras.src.backend import config
from keras.src.backend.common import dtypes as rules
from keras.src.backend.common import standardize_dtype as keras_name

from .. import ops
from ..base.dtypes import is_float, kind
from ..base.native import runtime
from ..graph.node import constant

_NAMES = {  # {a dtype of NumPy in the machine's byte order, or its name: Keras's name}
    np.dtype(name): name
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}


def standardize_dtype(dtype):
    """Keras's name of a dtype; of a Python type, and of None, what the settings say now."""
    if dtype.__class__ is not str and not (isinstance(dtype, np.dtype) and dtype.isnative):
        return keras_name(dtype)
    name = _NAMES.get(dtype)
    if name is None:
        name = _NAMES[dtype] = keras_name(dtype)
    return name


@functools.lru_cache(4096)
def _promoted(floatx, dtypes):
    return rules.result_type(*dtypes)


def result_type(*dtypes):
    """What dtypes and Python's types of numbers promote to, by Keras's rules."""
    return _promoted(config.floatx(), dtypes)


# Arrays of these dtypes are tensors as they are, whatever the settings say.
KEPT = frozenset(
    d for d, name in _NAMES.items() if d.kind in "biuf" and result_type(d) == name != "int64"
)
FLOAT = np.dtype("float32")  # that of most arrays, which some functions take at once


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
    """An array in another dtype, a name of Keras's; itself where it has it."""
    before = _NAMES.get(x.dtype)
    if before == dtype or (before is None and x.dtype == dtype):
        return x
    number = _number(x.dtype, dtype)
    if number is None:
        return x.astype(dtype) if x.dtype.kind in "iub" else _as_float(x, dtype)
    if x.itemsize < 4 or x.dtype.kind != "f":  # halves, and floats that are not NumPy's
        x = x.astype(_wide(before or x.dtype.name))
    if runtime is None or x.__class__ is not np.ndarray:
        return _saturated(x, dtype)
    return runtime.saturated(x, number)


@functools.lru_cache(1024)
def _number(source, dtype):
    """NumPy's number of an integer dtype that takes floats, None for other pairs."""
    drops = _drops_a_fraction(_NAMES.get(source) or source.name, dtype)
    return np.dtype(dtype).num if drops else None


@np.errstate(invalid="ignore", over="ignore")
def _as_float(x, dtype):
    return x.astype(dtype)


@np.errstate(invalid="ignore")
def _saturated(x, dtype):
    """What the runtime's function of this name does."""
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
