"""Shapes as data: `shape` gives the sizes of a tensor, `pack` makes a vector of scalars.

`known_values` reads as much of an integer vector as is known while the graph is built (by
graph/known.py); the shape rules of reshape, broadcast_to, arange and dynamic slices use it. Helpers
turn what users pass as a shape into a vector node. (In `ckernels.ops` the name `shape` is the
function; import this file by its full path.)
"""

import numbers

import numpy as np

from ..base import dtypes
from ..base.errors import DTypeError, ShapeError
from ..graph.known import known
from ..graph.node import Node, constant, make, sizes_constant
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, to_node
from .elementwise import mul

__all__ = ["shape", "pack", "known_values", "known_value", "size_of", "shape_vector"]


def _infer_pack(attrs, *items):
    for item in items:
        if item.ndim or item.dtype != "int64":
            raise ShapeError(
                f"pack needs int64 scalars, got {item.dtype} of shape {show(item.shape)}"
            )
    return "int64", (len(items),)


Op(
    "shape",
    "opaque",
    lambda a, x: ("int64", (x.ndim,)),
    lambda a, x: np.array(x.shape, dtype="int64"),
    lambda node, g: (None,),
    doc="The sizes of a tensor, an int64 vector.",
)
Op(
    "pack",
    "opaque",
    _infer_pack,
    lambda a, *items: np.array(items, dtype="int64"),
    lambda node, g: (None,) * len(node.inputs),
    doc="An int64 vector of scalars.",
)


def shape(x):
    """The sizes of `x` as an int64 vector; a constant where all of them are known."""
    x = to_node(x, "shape")
    if None not in x.shape:
        return sizes_constant(x.shape, (x.ndim,))
    return make("shape", (x,))


def pack(*items):
    """An int64 vector of integer scalars (nodes or Python ints)."""
    nodes = [_scalar(i) for i in items]
    if all(n.value is not None for n in nodes):
        if any(n.attrs["value"].array.dtype == object for n in nodes):
            return sizes_constant([n.value.item() for n in nodes], (len(nodes),))
        return constant(np.array([int(n.value) for n in nodes], dtype="int64"))
    return make("pack", nodes)


def _scalar(x):
    x = to_node(x, "pack")
    if not dtypes.is_discrete(x.dtype):
        raise DTypeError(f"a size must be an integer, got a {x.dtype} tensor")
    if x.ndim:
        raise ShapeError(f"a size must be a scalar, got a tensor of shape {show(x.shape)}")
    return cast(x, "int64")


def size_of(x, axis):
    """The size of one axis: an int where it is known, else a scalar node."""
    if x.shape[axis] is not None:
        return x.shape[axis]
    one = make("slice", (shape(x),), {"slices": ((axis, axis + 1, 1),)})
    return make("squeeze", (one,), {"axes": (0,)})


def shape_vector(sizes, name="shape"):
    """An int64 vector node from an int, a sequence of ints and scalar nodes, or a vector node."""
    node = sizes if isinstance(sizes, Node) else getattr(sizes, "node", None)
    if isinstance(node, Node) and node.ndim == 1:
        if not dtypes.is_discrete(node.dtype):
            raise DTypeError(f"{name} must be integers, got a {node.dtype} vector")
        return cast(node, "int64")
    if isinstance(node, Node) or isinstance(sizes, numbers.Integral):
        sizes = (sizes,)
    return pack(*[-1 if s is None else s for s in sizes])


def sized(x, axes=None):
    """The sizes of `x` along `axes` (all by default), ints where known."""
    return [size_of(x, a) for a in (range(x.ndim) if axes is None else axes)]


def times(*sizes):
    """The product of sizes that are ints or scalar nodes."""
    total, nodes = 1, []
    for s in sizes:
        if isinstance(s, Node):
            nodes.append(s)
        else:
            total *= int(s)
    for n in nodes:
        total = n if not isinstance(total, Node) and total == 1 else mul(total, n)
    return total


# --- what is known of an integer tensor while the graph is built ------------------------------


def known_value(node):
    """The value of an integer scalar node, or None."""
    found = known(node)
    return None if isinstance(found, list) else found


def known_values(node):
    """The values of an integer vector, a list with None where unknown; None for unknown length."""
    found = known(node)
    if isinstance(found, list):
        return found
    return None if node.shape[0] is None else [None] * node.shape[0]
