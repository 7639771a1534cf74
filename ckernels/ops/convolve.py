"""Convolution of rows: any part of all sums of products, of which NumPy's modes are three.

y[k] = sum over j of a[k + start - j] * v[j], over the places that both rows have: nothing is
padded, so that a factor that is not finite meets no zero. `conv` of conv.py is that of images.
"""

import numpy as np

from ..base.errors import ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import show
from .base import operands, to_node
from .elementwise import sub
from .indexing.keys import getitem
from .movement import flip, vector_values
from .shape import shape_vector, size_of

__all__ = ["convolve"]


def _infer(attrs, a, v, part):
    rows = a.shape[:-1]
    if not a.ndim == v.ndim >= 1 or any(
        None not in pair and pair[0] != pair[1] for pair in zip(rows, v.shape)
    ):
        raise ShapeError(
            f"convolve of shapes {show(a.shape)} and {show(v.shape)}: it takes as many rows of each"
        )
    return a.dtype, (*rows, vector_values("convolve", part)[1])


def _run(attrs, a, v, part):
    start, size = map(int, part)
    rows = a.shape[:-1]
    y = np.zeros((*rows, size), a.dtype)
    if not a.shape[-1] or not v.shape[-1]:
        return y
    for at in np.ndindex(*rows):
        whole = np.convolve(a[at], v[at])
        low, high = max(start, 0), min(start + size, len(whole))
        y[at][low - start : max(high, low) - start] = whole[low : max(high, low)]
    return y


def _grad(node, g):
    a, v, part = node.inputs
    start = getitem(part, 0)

    def other(x, like):
        last = sub(size_of(x, x.ndim - 1), 1)
        return convolve(g, flip(x, -1), sub(last, start), size_of(like, like.ndim - 1))

    return other(v, a), other(a, v), None


Op(
    "convolve",
    "opaque",
    _infer,
    _run,
    _grad,
    ulp=64,
    cost=20,
    doc="Sums of products a[k + start - j] * v[j] of real rows; the third operand: start, size.",
)


def convolve(a, v, start, size):
    """`size` elements, from the one of number `start`, of the full convolution of real rows."""
    a, v = operands((to_node(a, "convolve"), to_node(v, "convolve")), "convolve")
    return make("convolve", (a, v, shape_vector((start, size))))
