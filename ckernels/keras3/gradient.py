"""Values that differ from others in their gradient alone; rewriting puts the others in their place.

`with_gradient`: a gradient of the program's own, as `keras.ops.custom_gradient` gives. `arguments`:
what a function is differentiated by, apart from what else was computed from the same values.
`stored`: what a Variable was given, where gradients end. `with_slopes_of`: gradients of another
node of the same value.
"""

from keras.src import tree

from ..api.tensor import placeholder_node
from ..base.errors import NotSupported
from ..graph.node import make, new_uid
from ..graph.op import Op
from ..graph.walk import read_from_outside, rebuild, toposort
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
    count = node.attrs["own"]
    read = node.inputs[1 + count :]
    return (None, *node.attrs["pullback"](g, read), *[None] * len(read))


def _wanted(found, inputs):
    """What a program's gradient returned, as nodes: one for each input, None without a slope."""
    found = list(found) if isinstance(found, tuple | list) else [found]
    found += [None] * (len(inputs) - len(found))
    return [None if f is None else cast_node(node_of(f), x.dtype) for f, x in zip(found, inputs)]


CUSTOM_GRADIENT = _first_operand(
    "own_gradient",
    _slopes,
    "The first operand; attrs['pullback'] gives its gradient by the next ones, from the rest.",
)


def with_gradient(inputs, value, pullback):
    """`value`, whose gradient by the traced values `inputs` is pullback(upstream)."""
    if not isinstance(value, Symbolic):
        raise NotSupported(
            "keras.ops.custom_gradient in a traced step: the function returns one tensor and the "
            "function of its gradient"
        )
    nodes = [node_of(x) for x in inputs]
    pullback, read = _closed(pullback, value.node, nodes)
    operands = (value.node, *nodes, *read)
    return Symbolic(make(CUSTOM_GRADIENT, operands, {"pullback": pullback, "own": len(nodes)}))


def _closed(pullback, value, inputs):
    """(function of a cotangent and of what `pullback` read of its surroundings, that).

    A step of a loop is made anew with other values in the place of its own: nodes that a function
    of Python holds would stay the old ones.
    """
    upstream = placeholder_node(value.dtype, value.shape)
    try:
        slopes = _wanted(pullback(Symbolic(upstream)), inputs)
    except Exception:  # it tells when a gradient is asked for, if one is
        return lambda g, read: _wanted(pullback(Symbolic(g)), inputs), ()
    there = [s for s in slopes if s is not None]
    inside = {upstream.uid}
    inside.update(
        n.uid for n in toposort(there) if any(i.uid in inside for i in n.inputs) or n is upstream
    )
    read = [n for n in read_from_outside(there, inside) if n.value is None]

    def again(g, now):
        found = iter(rebuild(there, {upstream: g, **dict(zip(read, now))}))
        return [None if s is None else next(found) for s in slopes]

    return again, read


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
