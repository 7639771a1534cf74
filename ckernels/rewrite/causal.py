"""Masks in the order of time: which conditions say that row r sees keys up to r + k, and no more.

Such a mask needs no memory, and scores that it hides need no time. Sizes may be those of a class.
"""

import numpy as np

from ..base import dtypes
from ..graph.known import known
from .engine import number
from .scores import bare

INVERSE = {"ge": "lt", "lt": "ge", "gt": "le", "le": "gt"}


def causal_offset(c, holds, sizes):
    """The k for which row r sees keys up to r + k, where the condition `c` (holds: or its opposite)
    says that and no more; else None."""
    while c.op.name in ("logical_not", "eq", "ne", "cast", "expand", "broadcast_to"):
        if c.op.name in ("eq", "ne") and number(bare(c.inputs[1])) != 0:
            return None
        holds ^= c.op.name in ("logical_not", "eq")
        c = c.inputs[0]
    if c.shape[-2:] != sizes:
        return None
    if c.value is not None:
        return offset_of_values((c.value != 0) == holds, *sizes)
    if c.op.name in ("tril", "triu") and holds == (c.op.name == "tril"):
        return c.attrs["k"] - (not holds) if number(bare(c.inputs[0])) else None
    name = c.op.name if holds else INVERSE.get(c.op.name)
    if name not in INVERSE:
        return None
    (rows, a), (columns, b) = (index_of(x, sizes) for x in c.inputs)
    if rows == 1 and columns == 0:  # columns stand left
        name, a, b, rows, columns = {"le": "ge", "lt": "gt"}.get(name), b, a, 0, 1
    if (rows, columns) != (0, 1) or name not in ("ge", "gt"):
        return None
    return a - b - (name == "gt")


def index_of(x, sizes):
    """(0, k) where x is the number of a row plus k, (1, k) of a column; (None, 0) of others."""
    axis = 0 if x.ndim > 1 and x.shape[-1] == 1 else 1
    if x.ndim == 0 or x.shape[axis - 2 if axis == 0 else -1] != sizes[axis]:
        return None, 0
    x, more = bare(x), 0
    while x.op.name in ("cast", "add", "sub"):
        by = 0 if x.op.name == "cast" else known(bare(x.inputs[1]))
        if type(by) is list or by is None or not dtypes.is_discrete(x.inputs[0].dtype):
            return None, 0
        more = more - by if x.op.name == "sub" else more + by
        x = bare(x.inputs[0])
    first = first_of(x)
    return (None, 0) if first is None or x.size != sizes[axis] else (axis, first + more)


def first_of(x):
    """The first of integers that count up by 1, or None."""
    if x.op.name == "iota":
        return 0 if x.ndim == 1 else None
    if x.op.name == "arange":
        first, _, step = map(known, x.inputs)
        return first if step == 1 and dtypes.is_discrete(x.dtype) else None
    if x.value is None or x.value.dtype.kind not in "iu" or not x.size:
        return None
    line = x.value.reshape(-1)
    return int(line[0]) if np.all(np.diff(line) == 1) else None


def offset_of_values(value, rows, columns):
    if value.shape[-2:] != (rows, columns) or value.size != rows * columns or not value.size:
        return None
    value = value.reshape(rows, columns)
    k = int(value[0].sum()) - 1
    k = k if k >= 0 or not value.any() else -int(value.any(1).argmax())
    return k if np.array_equal(value, np.tri(rows, columns, k, dtype=bool)) else None
