"""Constant folding: ops of constants, and shapes that are known, become constants.

Used wherever graphs are rebuilt with shapes that have become known: functions at their first call,
and the bodies of scans.
"""

import numpy as np

from .known import known
from .node import constant, sizes_constant
from .op import having

FOLD = 4096  # largest constant that folding may create, in elements
EFFECTS = having("effect")


def of_sizes(node):
    """Whether a node is a constant that holds sizes of a class of shapes."""
    return node.op.name == "constant" and node.attrs["value"].array.dtype == object


def fold(node):
    """A constant when all inputs are constants (or it is a known shape), else the node."""
    if node.op.name == "shape" and None not in node.inputs[0].shape:
        return sizes_constant(node.inputs[0].shape, node.shape)
    if not node.inputs or node.outs is not None or node.op.name in EFFECTS:
        return node
    if any(i.op.name != "constant" for i in node.inputs):
        # users compute sizes in int32, as K.shape gives them
        wanted = node.op.name == "cast" and node.inputs[0].dtype == "int32"
        return fold_sizes(node) if wanted else node
    if None in node.shape or node.size > FOLD:
        return node
    if any(map(of_sizes, node.inputs)):
        return fold_sizes(node)
    with np.errstate(all="ignore"):
        value = node.op.oracle(node.attrs, *(i.value for i in node.inputs))
    sized = any(i.attrs["value"].sized for i in node.inputs)
    return constant(np.asarray(value, dtype=node.dtype).reshape(node.shape), sized=sized)


def fold_sizes(node):
    """The constant of the sizes that a node computes from sizes. Where it computes other numbers
    (floats, say), the node: they differ from shape to shape, so each call computes them."""
    found = known(node) if node.dtype == "int64" and node.ndim < 2 else None
    values = found if isinstance(found, list) else [found]
    return node if None in values else sizes_constant(values, node.shape)
