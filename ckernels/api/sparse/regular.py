"""Gradients for all elements of a sparse tensor, stored or not: what Theano calls regular."""

from ... import ops
from ...graph.node import constant, make
from ...graph.walk import toposort
from ...ops import sparse as rows
from ..gradients import engine
from ..tensor import Tensor, need_tensor
from .construct import as_sparse_variable, other_way


def regular_grad(cost, wrt):
    """The gradient of the scalar `cost` by each element of the sparse tensor `wrt`, dense.

    K.grad gives the gradient for the stored numbers (structured). Here an element that is not
    stored counts as a 0 that could be another number, wherever `wrt`, or it times a number, is
    multiplied by a matrix (dot, sp_sum, products of two sparse tensors), or made dense; in other
    functions only stored numbers count. The result takes the memory of the dense matrix.

    >>> import scipy.sparse as sp
    >>> x = K.variable(sp.eye(2), dtype="float32")
    >>> cost = K.sum(K.dot(x, np.array([[1.0], [2.0]], "float32")))
    >>> K.eval(K.grad(cost, x)).tolist(), K.eval(K.sparse.regular_grad(cost, x)).tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]])
    """
    x, total = as_sparse_variable(wrt), need_tensor(cost, "the cost").node
    data, *places = x.parts
    order = toposort([total])
    readers = []
    for turned, (numbers, *where) in enumerate((x.parts, other_way(x).parts)):
        scaled = _multiples(order, numbers)
        readers += [
            (n, scaled[k], piece, turned) for n in order for k, piece in _reader(n, scaled, where)
        ]
    stored, *slopes = engine().grad(total, [data, *(n for n, *_ in readers)])
    ones = rows.csr_dense(ops.ones_like(data), *places)
    parts = []
    for (_, times, piece, turned), g in zip(readers, slopes):
        part = ops.mul(times, piece(g))
        parts.append(ops.transpose(part, (1, 0)) if turned else part)
    held = ops.true_div(rows.csr_dense(stored, *places), ops.maximum(ones, 1))
    if parts:
        everywhere = parts[0]
        for part in parts[1:]:
            everywhere = ops.add(everywhere, part)
        held = ops.where(ops.gt(ones, 0), held, everywhere)
    return Tensor(held if x.format == "csr" else ops.transpose(held, (1, 0)))


def _multiples(order, data):
    """{node: factor} of the vectors that are `data` times a factor."""
    found = {data: ops.cast(constant(1), data.dtype)}
    for node in order:
        name, inputs = node.op.name, node.inputs
        if name == "neg" and inputs[0] in found:
            found[node] = ops.neg(found[inputs[0]])
        elif name == "mul" and node.ndim == 1:
            for one, other in (inputs, inputs[::-1]):
                if one in found and not _full(other).ndim:
                    found[node] = ops.mul(found[one], _full(other))
    return found


def _full(node):
    """What was broadcast to `node`."""
    while node.op.name in ("expand", "broadcast_like", "broadcast_to"):
        node = node.inputs[0]
    return node


def _reader(node, scaled, places):
    """[(multiple, cotangent -> part of the gradient)] of a node that reads a matrix densely."""
    first, inputs = node.op.name, node.inputs
    if first == "csr_dot" and inputs[0] in scaled and list(inputs[1:4]) == places:
        y = inputs[4]
        if node.attrs["back"]:
            return [(inputs[0], lambda g: ops.matmul(y, ops.transpose(g, (1, 0))))]
        return [(inputs[0], lambda g: ops.matmul(g, ops.transpose(y, (1, 0))))]
    if first != "csr_dense":
        return []
    if inputs[0] in scaled and list(inputs[1:]) == places:
        return [(inputs[0], lambda g: g)]
    if inputs[0].op.name != "csr_product" or inputs[0].inputs[8:] != inputs[1:]:
        return []
    left, right = inputs[0].inputs[:4], inputs[0].inputs[4:8]
    parts = []
    if left[0] in scaled and list(left[1:]) == places:
        parts.append(
            (
                left[0],
                lambda g: ops.transpose(
                    make("csr_dot", (*right, ops.transpose(g, (1, 0))), {"back": False}), (1, 0)
                ),
            )
        )
    if right[0] in scaled and list(right[1:]) == places:
        parts.append((right[0], lambda g: make("csr_dot", (*left, g), {"back": True})))
    return parts
