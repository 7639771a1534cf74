"""Matrix products: Dot, PyTensor's BLAS ops, and what Blockwise makes of them."""

from .... import ops
from ..checks import agreed
from ..registry import Untranslated, translates


def _floats(node, inputs):
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise Untranslated("complex products")
    return [ops.cast(x, dtype) for x in inputs]


FEW, MANY = 8, 64  # at most so many columns, and at least so many rows: see `dot`


@translates("Dot", "Dot22")
def dot(context, op, node, inputs):
    """The product; one of few columns is computed as its transpose, so that loops over it (as the
    softmax over a few classes) have the long axis inside: 12 us instead of 94 us for 500 x 4."""
    x, y = _floats(node, inputs)
    if x.ndim == y.ndim == 2 and None not in (x.shape[0], y.shape[1]):
        if 1 < y.shape[1] <= FEW and x.shape[0] >= MANY:
            return ops.transpose(ops.matmul(ops.transpose(y), ops.transpose(x)))
    return ops.dot(x, y)


@translates("Dot22Scalar")
def dot22scalar(context, op, node, inputs):
    x, y, scale = _floats(node, inputs)
    return ops.mul(ops.dot(x, y), scale)


@translates("Gemv")
def gemv(context, op, node, inputs):
    y, alpha, a, x, beta = _floats(node, inputs)
    return ops.add(ops.mul(beta, y), ops.mul(alpha, ops.dot(a, x)))


@translates("Gemm")
def gemm(context, op, node, inputs):
    z, alpha, x, y, beta = _floats(node, inputs)
    return ops.add(ops.mul(beta, z), ops.mul(alpha, ops.dot(x, y)))


@translates("Ger")
def ger(context, op, node, inputs):
    a, alpha, x, y = _floats(node, inputs)
    return ops.add(a, ops.mul(alpha, ops.mul(ops.expand(x, (1,)), ops.expand(y, (0,)))))


@translates("BatchedDot")
def batched_dot(context, op, node, inputs):
    x, y = agreed(node, _floats(node, inputs), (2, 2), error="batch")
    return ops.matmul(x, y)
