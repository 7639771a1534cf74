"""Shapes and what fills them: Reshape, Alloc, ARange, Eye, diagonals, JoinDims, SpecifyShape."""

import numpy as np

from .... import ops
from ....graph.node import Node
from ....ops.shape import size_of, sized, times
from ..checks import specified
from ..registry import Untranslated, translates


@translates("Shape")
def shape(context, op, node, inputs):
    return ops.shape(inputs[0])


@translates("Shape_i")
def shape_i(context, op, node, inputs):
    return ops.cast(ops.to_node(_int64(size_of(inputs[0], op.i))), node.outputs[0].type.dtype)


def _int64(size):
    return size if isinstance(size, Node) else np.asarray(size, "int64")


@translates("SpecifyShape")
def specify_shape(context, op, node, inputs):
    x, *sizes = inputs
    return specified(x, [None if s is None else ops.cast(s, "int64") for s in sizes])


@translates("Reshape")
def reshape(context, op, node, inputs):
    x, sizes = inputs
    if sizes.shape[0] is None:
        sizes = specified(sizes, [op.ndim])
    return ops.reshape(x, [_known_or(sizes, k) for k in range(op.ndim)])


def _known_or(vector, k):
    known = ops.known_values(vector)
    if known is not None and known[k] is not None:
        return known[k]
    return ops.getitem(vector, k)


@translates("JoinDims")
def join_dims(context, op, node, inputs):
    (x,), first, count = inputs, op.start_axis, op.n_axes
    sizes = sized(x)
    middle = times(*sizes[first : first + count])
    return ops.reshape(x, sizes[:first] + [middle] + sizes[first + count :])


@translates("SplitDims")
def split_dims(context, op, node, inputs):
    x, vector = inputs
    count = node.outputs[0].type.ndim - x.ndim + 1
    sizes = sized(x)
    parts = [_known_or(vector, k) for k in range(count)]
    return ops.reshape(x, sizes[: op.axis] + parts + sizes[op.axis + 1 :])


# --- filled tensors ---------------------------------------------------------------------------


@translates("Alloc")
def alloc(context, op, node, inputs):
    x, *sizes = inputs
    fixed = [
        None if d == 1 else s
        for d, s in zip(node.inputs[0].type.shape, sizes[len(sizes) - x.ndim :])
    ]
    if any(s is not None for s in fixed):
        x = specified(x, [None if s is None else ops.cast(s, "int64") for s in fixed], "Alloc")
    return ops.broadcast_to(x, sizes) if sizes else x


@translates("AllocEmpty")
def alloc_empty(context, op, node, inputs):
    zero = ops.cast(0, op.dtype)
    return ops.broadcast_to(zero, list(inputs)) if inputs else zero


@translates("MakeVector")
def make_vector(context, op, node, inputs):
    if op.dtype == "int64" and all(x.dtype != "uint64" for x in inputs):
        return ops.pack(*inputs)
    if not inputs:
        return ops.to_node(np.zeros(0, op.dtype))
    return ops.stack([ops.cast(x, op.dtype) for x in inputs])


@translates("ARange")
def arange(context, op, node, inputs):
    if any(x.dtype.startswith("complex") for x in inputs):
        raise Untranslated("complex bounds")
    return ops.arange(*inputs, dtype=op.dtype)


@translates("Eye")
def eye(context, op, node, inputs):
    n, m, k = inputs
    return ops.eye(_size(n), _size(m), _size(k), op.dtype)


def _size(node):
    return int(node.value) if node.value is not None else ops.cast(node, "int64")


# --- diagonals --------------------------------------------------------------------------------


@translates("ExtractDiag")
def extract_diag(context, op, node, inputs):
    return ops.diagonal(inputs[0], op.offset, op.axis1, op.axis2)


@translates("AllocDiag")
def alloc_diag(context, op, node, inputs):
    (v,) = inputs
    if op.offset or v.ndim != 1:
        return context.inline(op.fgraph, inputs)
    n = size_of(v, 0)
    return ops.where(ops.eye(n, n, 0, "bool"), ops.expand(v, (1,)), ops.cast(0, v.dtype))


@translates("BlockDiagonal")
def block_diag(context, op, node, inputs):
    dtype = node.outputs[0].type.dtype
    parts = [ops.cast(x, dtype) for x in inputs]
    widths = [size_of(x, 1) for x in parts]
    zero, rows = ops.cast(0, dtype), []
    for k, x in enumerate(parts):
        beside = [ops.broadcast_to(zero, [size_of(x, 0), n]) for n in widths]
        rows.append(ops.concatenate([*beside[:k], x, *beside[k + 1 :]], 1))
    return ops.concatenate(rows, 0)


@translates("FillDiagonal")
def fill_diagonal(context, op, node, inputs):
    x, value = inputs
    if x.ndim > 2 or None in x.shape or x.shape[0] > x.shape[1]:
        raise Untranslated("NumPy fills tall matrices once more")
    return ops.fill_diagonal(x, ops.cast(value, x.dtype))


@translates("Repeat")
def repeat(context, op, node, inputs):
    x, repeats = inputs
    return ops.repeat(x, repeats, op.axis)
