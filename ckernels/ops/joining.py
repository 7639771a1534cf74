"""Joining and cutting tensors: concatenate, stack, split, pad. All of them copy.

Parts of symbolic size are dynamic slices; their gradients put the parts back where they were.
"""

import builtins
import numbers

import numpy as np

from ..base.errors import DTypeError, ShapeError
from ..graph.node import Node, make
from ..graph.op import Op
from ..graph.shapes import axis_of, show
from .base import cast, expand, is_weak, operands, scalar, to_node
from .elementwise import add, floor_div, sub
from .indexing.slicing import dynamic_slice
from .movement import slice_
from .reduce import sum
from .shape import size_of

__all__ = ["concatenate", "stack", "split", "pad"]


# --- joining ----------------------------------------------------------------------------------


def _infer_concatenate(attrs, *xs):
    axis, first = attrs["axis"], xs[0]
    for x in xs[1:]:
        if x.dtype != first.dtype:
            raise DTypeError(f"concatenate needs one dtype, got {first.dtype} and {x.dtype}")
        if x.ndim != first.ndim:
            raise ShapeError(
                "concatenate needs tensors of one rank, got shapes "
                + " and ".join(show(i.shape) for i in (first, x))
            )
    shape = []
    for k in range(first.ndim):
        sizes = [x.shape[k] for x in xs]
        known = [s for s in sizes if s is not None]
        if k == axis:
            shape.append(None if None in sizes else builtins.sum(sizes))
        elif any(s != known[0] for s in known[1:]):
            raise ShapeError(
                f"cannot concatenate shapes {' and '.join(show(x.shape) for x in xs[:6])} "
                f"along axis {axis}: sizes of axis {k} differ"
            )
        else:
            shape.append(known[0] if known else None)
    return first.dtype, tuple(shape)


def _run_concatenate(attrs, *xs):
    try:
        return np.concatenate(xs, axis=attrs["axis"])
    except ValueError:
        raise ShapeError(
            f"cannot concatenate shapes {' and '.join(show(x.shape) for x in xs[:6])} "
            f"along axis {attrs['axis']}"
        ) from None


def _grad_concatenate(node, g):
    axis = node.attrs["axis"]
    return split(g, [size_of(x, axis) for x in node.inputs], axis)


Op(
    "concatenate",
    "opaque",
    _infer_concatenate,
    _run_concatenate,
    _grad_concatenate,
    doc="Tensors joined along an existing axis.",
)


def concatenate(tensors, axis=0):
    """Tensors of one rank joined along `axis`; their dtypes are promoted."""
    nodes = operands([to_node(t, "concatenate") for t in tensors], "concatenate") if tensors else []
    if not nodes:
        raise ShapeError("concatenate needs at least one tensor")
    if nodes[0].ndim == 0:
        raise ShapeError("cannot concatenate scalars; use stack")
    axis = axis_of(axis, nodes[0].ndim)
    return nodes[0] if len(nodes) == 1 else make("concatenate", nodes, {"axis": axis})


def stack(tensors, axis=0):
    """Tensors of one shape joined along a new axis at `axis` of the result."""
    nodes = operands(list(tensors), "stack") if len(tensors) else []
    if not nodes:
        raise ShapeError("stack needs at least one tensor")
    if any(n.ndim != nodes[0].ndim for n in nodes):
        raise ShapeError(
            "stack needs tensors of one shape, got "
            + " and ".join(show(n.shape) for n in nodes[:6])
        )
    axis = axis_of(axis, nodes[0].ndim + 1)
    return concatenate([expand(n, (axis,)) for n in nodes], axis)


def split(x, parts, axis=0):
    """The pieces of `x` along `axis`, a list: `parts` equal ones, or of the sizes `parts`."""
    x = to_node(x, "split")
    axis = axis_of(axis, x.ndim)
    if isinstance(parts, numbers.Integral):
        size = x.shape[axis]
        if parts < 1 or (size is not None and size % parts):
            raise ShapeError(
                f"cannot split axis {axis} of shape {show(x.shape)} into {parts} equal parts"
            )
        each = floor_div(size_of(x, axis), int(parts)) if size is None else size // parts
        parts = [each] * int(parts)
    elif x.shape[axis] is not None and all(isinstance(p, numbers.Integral) for p in parts):
        if builtins.sum(parts) != x.shape[axis] or builtins.min(parts, default=0) < 0:
            raise ShapeError(
                f"parts of sizes {list(parts)} do not make up axis {axis} of shape {show(x.shape)}"
            )
    pieces, start = [], 0
    for p in parts:
        stop = (
            start + p if not isinstance(start, Node) and not isinstance(p, Node) else add(start, p)
        )
        pieces.append(dynamic_slice(x, [(None, None, 1)] * axis + [(start, stop, 1)]))
        start = stop
    return pieces


# --- padding ----------------------------------------------------------------------------------


def _infer_pad(attrs, x, value):
    return x.dtype, tuple(
        None if d is None else d + a + b for d, (a, b) in zip(x.shape, attrs["widths"])
    )


def _inside(widths):
    return [(a, -b if b else None, 1) for a, b in widths]


def _grad_pad(node, g):
    inner = slice_(g, _inside(node.attrs["widths"]))
    value = node.inputs[1]
    return inner, None if value.value is not None else sub(sum(g), sum(inner))


Op(
    "pad",
    "opaque",
    _infer_pad,
    lambda a, x, value: np.pad(x, a["widths"], constant_values=value) if x.ndim else np.array(x),
    _grad_pad,
    doc="x with attrs['widths'] entries of a scalar before and after each axis.",
)


def pad(x, widths, value=0):
    """`x` with `value` before and after each axis; widths: ((before, after), ...), static ints."""
    x = to_node(x, "pad")
    widths = tuple((int(a), int(b)) for a, b in widths)
    if len(widths) != x.ndim or any(w < 0 for pair in widths for w in pair):
        raise ShapeError(
            f"pad needs a pair of sizes >= 0 for each axis of shape {show(x.shape)}, got {widths}"
        )
    if not any(w for pair in widths for w in pair):
        return x
    value = (
        scalar(value, x.dtype, "pad") if is_weak(value) else cast(to_node(value, "pad"), x.dtype)
    )
    return make("pad", (x, value), {"widths": widths})
