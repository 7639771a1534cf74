"""How rows are declared: `elementwise` and `reduction` turn one call into an Op and its build function.

Build functions take Nodes, handles, NumPy arrays and Python numbers, promote dtypes (Python numbers are
weak), insert casts and return a Node. Rows themselves live in the sibling files.
"""
import numpy as np

from .. import dtypes
from ..errors import DTypeError
from ..graph.node import Node, as_node, constant, make
from ..graph.op import Op
from ..graph.shapes import axes_of, broadcast

WEAK = (bool, int, float, complex)


def operands(args, name="an operation"):
    """Nodes of one common dtype for `args` (Python numbers weak), as a list."""
    nodes = [a if type(a) in WEAK else as_node(a) for a in args]
    strong = [n.dtype for n in nodes if isinstance(n, Node)]
    if None in strong:
        raise DTypeError(f"{name} got a node with several outputs; take one of them first")
    weak = [type(n) for n in nodes if not isinstance(n, Node)]
    common = dtypes.promote(strong, weak)
    return [cast(n, common) if isinstance(n, Node) else constant(n, common) for n in nodes]


def cast(x, dtype):
    """`x` with another dtype; itself when it has it already."""
    x, dtype = as_node(x), dtypes.name_of(dtype)
    if x.dtype == dtype:
        return x
    if x.value is not None and x.value.size <= 64:
        with np.errstate(all="ignore"):
            return constant(x.value.astype(dtype))
    return make("cast", (x,), {"dtype": dtype})


def unbroadcast(g, like):
    """`g` summed over the axes along which `like` was broadcast, so that it has the shape of `like`."""
    if g.shape == like.shape and None not in g.shape:
        return g
    if like.ndim == 0 and g.ndim == 0:
        return g
    return make("unbroadcast", (g, like))


def elementwise(name, c, oracle, grad=None, rule="same", out=None, **row):
    """Declare an elementwise op and return its build function.

    c: see `Op.c`. oracle(*arrays) -> array. grad(*inputs, y, g) -> cotangent or tuple of them (None:
    no gradient to that input); summing over broadcast axes is done here. rule: "same" promotes the
    operands to a common dtype; "float" also makes it a float (see dtypes.to_float); "bool" casts them
    to bool. out: dtype of the result when it is not the operands' ("bool", or a callable dtype -> name).
    """
    def infer(attrs, *inputs):
        shape = broadcast(name, *(n.shape for n in inputs))
        dtype = inputs[-1].dtype
        return (out(dtype) if callable(out) else out or dtype), shape

    def node_grad(node, g):
        result = grad(*node.inputs, node, g)
        result = result if isinstance(result, (tuple, list)) else (result,)
        return [None if r is None else unbroadcast(r, i) for r, i in zip(result, node.inputs)]

    op = Op(name, "elementwise", infer, lambda attrs, *xs: oracle(*xs), node_grad if grad else None,
            c, **row)

    def build(*args):
        nodes = operands(args, name)
        if rule == "float":
            nodes = [cast(n, dtypes.to_float(n.dtype)) for n in nodes]
        elif rule == "bool":
            nodes = [cast(n, "bool") for n in nodes]
        return make(op, nodes)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = row.get("doc") or f"Elementwise {name}."
    return build


def reduction(name, oracle, grad=None, accumulate=None, out=None, **row):
    """Declare a reduction over attrs["axes"] and return its build function (x, axis, keepdims).

    oracle(array, axes) -> array. grad(x, y, g, axes) -> cotangent of x, where y and g come with the
    reduced axes kept as size 1. accumulate: dtype -> dtype the operand is cast to first.
    """
    def infer(attrs, x):
        shape = tuple(d for i, d in enumerate(x.shape) if i not in attrs["axes"])
        return (out(x.dtype) if callable(out) else out or x.dtype), shape

    def node_grad(node, g):
        axes = node.attrs["axes"]
        return (grad(node.inputs[0], expand(node, axes), expand(g, axes), axes),)

    op = Op(name, "reduce", infer, lambda attrs, x: oracle(x, attrs["axes"]),
            node_grad if grad else None, **row)

    def build(x, axis=None, keepdims=False):
        x = as_node(x)
        axes = axes_of(axis, x.ndim)
        if accumulate:
            x = cast(x, accumulate(x.dtype))
        y = make(op, (x,), {"axes": axes}) if axes or name.startswith("arg") else x
        return expand(y, axes) if keepdims else y

    build.__name__ = build.__qualname__ = name
    build.__doc__ = row.get("doc") or f"Reduction {name}."
    return build


def expand(x, axes):
    """`x` with size-1 axes inserted so that they are at the positions `axes` of the result."""
    axes = tuple(sorted(axes))
    return make("expand", (as_node(x),), {"axes": axes}) if axes else as_node(x)
