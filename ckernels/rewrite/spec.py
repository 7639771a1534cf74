"""What holds for a rewritten graph, node by node: the spec of what fusion and planning are given.

Shapes and dtypes are known, composites are gone, and operands broadcast to what is computed from
them. Looks at present sizes and asks no questions about them. For tests and mode="debug".
"""

from ..base import dtypes
from ..graph.op import REGISTRY
from ..graph.sizes import value_of
from ..graph.walk import toposort


def check(roots):
    """`roots`; AssertionError in a sentence for the first node under them that breaks the spec."""
    for node in toposort(roots):
        for holds, sentence in SPEC:
            assert holds(node), f"{node} {sentence}"
    return roots


def concrete(roots):
    """Whether all shapes under `roots` are known: then the spec holds once they are rewritten."""
    return all(
        _known(*out) for node in toposort(roots) for out in node.outs or [(node.dtype, node.shape)]
    )


def _known(dtype, shape):
    return dtype in dtypes.ITEMSIZE and shape is not None and None not in shape


def _broadcasts(node):
    shape = [value_of(n) for n in node.shape]
    return all(
        x.ndim <= node.ndim
        and all(value_of(n) in (1, m) for n, m in zip(x.shape[::-1], shape[::-1]))
        for x in node.inputs
    )


def _alike(node):
    """Whether the operands of an elementwise op have one dtype; a condition is a bool."""
    found = [x.dtype for x in node.inputs]
    if node.op.name == "where":
        return found[0] == "bool" and found[1] == found[2]
    return len(set(found)) < 2


def elementwise(node):
    """Whether it computes element by element (and not from a state, as random numbers)."""
    return node.op.kind == "elementwise" and node.inputs and node.op.c is not None


SPEC = (
    (lambda n: REGISTRY.get(n.op.name) is n.op, "is of an op that is not declared"),
    (lambda n: n.op.kind != "composite", "is a composite, which should have been lowered"),
    (lambda n: all(_known(*out) for out in n.outs or [(n.dtype, n.shape)]),
     "has a dtype or a size that is not known"),
    (lambda n: not elementwise(n) or _alike(n), "mixes operands of several dtypes"),
    (lambda n: not elementwise(n) or _broadcasts(n), "has operands that do not broadcast to it"),
    (lambda n: n.op.kind != "reduce" or all(0 <= a < n.inputs[0].ndim for a in n.attrs["axes"]),
     "reduces over an axis that is not there"),
)  # fmt: skip
