"""Operations on shapes that cannot fit: an error of the call that computes them, not of the graph.

Types of Theano know which axes have size 1, and no other size. So a graph of constants that do not
fit can be written, and its error comes in the calls of a function that needs it.
"""

from ...api.tensor import placeholder_node
from ...base import dtypes
from ...base.errors import CKernelsError
from ...graph.node import item, make
from ...graph.op import Op as Row


class Refusal:
    """Why outputs of these (dtype, shape) cannot be computed: an attribute of a node."""

    def __init__(self, types, kind, text):
        self.types, self.kind, self.text = tuple(types), kind, text

    def __eq__(self, other):
        return isinstance(other, Refusal) and vars(self) == vars(other)

    def __hash__(self):
        return hash((self.types, self.text))

    def __repr__(self):
        return self.text


def refused(build, inputs, attrs, problem):
    """What `build(*inputs, **attrs)` would give if sizes were not known, as nodes whose computing
    raises `problem`, a ShapeError; `problem` now, where it fits no sizes at all."""
    hidden = [_hidden(n) for n in inputs]
    try:
        found = build(*hidden, **attrs)
    except (CKernelsError, ValueError, TypeError, IndexError):
        raise problem from None
    nodes = found if isinstance(found, (list, tuple)) else [found]
    text = f"Shape mismatch: {problem.args[0]}"
    return refusing(inputs, [(n.dtype, n.shape) for n in nodes], type(problem), text)


def _hidden(node):
    """A node of the type of `node`: of its sizes only those that are 1 are known."""
    return placeholder_node(node.dtype, [1 if d == 1 else None for d in node.shape])


def refusing(inputs, types, kind, text):
    """Nodes of these (dtype, shape) whose computing raises kind(text)."""
    node = make("refused", inputs, {"why": Refusal(types, kind, text)})
    return [node] if node.outs is None else [item(node, k) for k in range(len(types))]


def _infer(attrs, *inputs):
    types = attrs["why"].types
    return list(types) if len(types) > 1 else types[0]


def _run(attrs, *arrays):
    raise attrs["why"].kind(attrs["why"].text)


def _grad(node, g):
    why = node.attrs["why"]
    return [
        refusing(node.inputs, [(x.dtype, x.shape)], why.kind, why.text)[0]
        if dtypes.is_inexact(x.dtype)
        else None
        for x in node.inputs
    ]


Row(
    "refused",
    "opaque",
    _infer,
    _run,
    _grad,
    properties={"effect": True},
    doc="What shapes do not allow: an error with the reason when it is computed.",
)
