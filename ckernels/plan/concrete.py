"""A graph in which the shapes of a call are known; or not, because data decides one."""

from ..graph.folding import fold
from ..graph.node import line_of, make
from ..graph.walk import rebuild


class DataDecides(Exception):
    """No plan can be made: some shape follows from the values of a call."""


def concretise(roots, shapes):
    """`roots` with the leaves in `shapes` ({leaf Node: shape}) of that shape, constants folded."""
    replace = {}
    for leaf, shape in shapes.items():
        if leaf.shape != tuple(shape):
            with line_of(leaf):
                replace[leaf] = make(leaf.op, (), {**leaf.attrs, "shape": tuple(shape)})
        else:
            replace[leaf] = leaf
    return rebuild(roots, replace, fold)


def unknown(order):
    """Those of some nodes whose shape data decides, though the shapes of the inputs are known."""
    return [n for n in order if n.outs is None and None in n.shape]
