"""Matrix products: Dot, PyTensor's BLAS ops, and what Blockwise makes of them."""

from .... import ops
from ..checks import agreed
from ..registry import Untranslated, translates


def _floats(node, inputs):
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise Untranslated("complex products")
    return [ops.cast(x, dtype) for x in inputs]


@translates("Dot", "Dot22")
def dot(context, op, node, inputs):
    return ops.dot(*_floats(node, inputs))


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
