"""Values that differ from others in their gradient alone; rewriting puts the others in their place.

`with_gradient`: a gradient of the program's own, as `keras.ops.custom_gradient` gives. `arguments`:
what a function is differentiated by, apart from what else was computed from the same values.
`stored`: what a Variable was given, where gradients end. `with_slopes_of`: gradients of another
node of the same value.
"""

from keras.src import tree

from ..base.errors import NotSupported
from ..graph.node import make, new_uid
from ..graph.op import Op
from ..graph.walk import rebuild
from .casts import cast_node
from .values import Symbolic, node_of


def _first_operand(name, grad, doc):
    """An op whose value is its first operand; grad(node, g) -> a cotangent for each operand."""
    return Op(
        name,
        "composite",
        lambda attrs, x, *others: (x.dtype, x.shape),
        lambda attrs, x, *others: x,
        grad,
        lower=lambda node: node.inputs[0],
        doc=doc,
    )


def _slopes(node, g):
    """Cotangents: none for the value, the program's for what it was computed from."""
    found = node.attrs["pullback"](Symbolic(g))
    found = list(found) if isinstance(found, tuple | list) else [found]
    inputs = node.inputs[1:]
    found += [None] * (len(inputs) - len(found))
    wanted = [None if f is None else cast_node(node_of(f), x.dtype) for f, x in zip(found, inputs)]
    return (None, *wanted)


CUSTOM_GRADIENT = _first_operand(
    "own_gradient",
    _slopes,
    "The first operand; the gradient by the others is what attrs['pullback'] returns for it.",
)


def with_gradient(inputs, value, pullback):
    """`value`, whose gradient by the traced values `inputs` is pullback(upstream)."""
    if not isinstance(value, Symbolic):
        raise NotSupported(
            "keras.ops.custom_gradient in a traced step: the function returns one tensor and the "
            "function of its gradient"
        )
    nodes = [node_of(x) for x in inputs]
    return Symbolic(make(CUSTOM_GRADIENT, (value.node, *nodes), {"pullback": pullback}))


ARGUMENT = _first_operand(
    "argument",
    lambda node, g: (g,),
    "The operand, as a node that nothing but the function it is given to depends on.",
)


def arguments(values):
    """The same values as nodes of their own, for a function that is differentiated by them."""
    return tree.map_structure(
        lambda x: Symbolic(make(ARGUMENT, (node_of(x),), {"uid": new_uid()})), values
    )


STORED = _first_operand(
    "stored",
    lambda node, g: (None,),
    "The operand as a Variable holds it: a gradient ends there, as it does in TensorFlow.",
)


def stored(node):
    """The node of a value that was assigned to a Variable."""
    return make(STORED, (node,), {"uid": new_uid()})


TWICE = _first_operand(
    "computed_twice",
    lambda node, g: (None, g),
    "The first operand; gradients go through the second, which has the same value.",
)


def with_slopes_of(node, other):
    """The value of `node`, with the gradients of `other`, a node of the same value."""
    return make(TWICE, (node, other), {})


def without_gradients(nodes):
    """The nodes with values in the place of what differs in its gradient: a graph to send away."""
    ours = (CUSTOM_GRADIENT, ARGUMENT, STORED, TWICE)
    return rebuild(nodes, step=lambda node: node.inputs[0] if node.op in ours else node)
