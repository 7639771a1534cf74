"""Products of tensors and linear algebra."""

from .. import ops
from .operands import node_of, operand
from .tensor import Tensor


def dot(x, y):
    """The dot product over the last axis of `x` and the last but one of `y` (or its only one).

    (2, 3) . (4, 3, 5) gives (2, 4, 5), as in Theano and NumPy.
    """
    return Tensor(ops.dot(node_of(x), node_of(y)))


def matmul(x, y):
    """The matrix product, batched over leading axes that broadcast."""
    return Tensor(ops.matmul(node_of(x), node_of(y)))


def batch_dot(x, y, axes=None):
    """Dot products within each sample of a batch, over one axis of `x` and one of `y`.

    axes: the two axes (or one int for both), not 0; by default the last of `x` and the last but
    one of `y` (its last when it has two). The shape is that of `x` less its axis, and of `y` less
    its axis and batch; one dimension becomes (batch, 1).
    """
    return Tensor(ops.batch_dot(node_of(x), node_of(y), axes))


def diag(x):
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    return Tensor(ops.diag(node_of(x)))


def fill_diagonal(x, val):
    """The matrix `x` with the scalar `val` on its diagonal."""
    return Tensor(ops.fill_diagonal(node_of(x), operand(val)))


def svd(x):
    """(U, S, V) with x = U . diag(S) . V, as NumPy: reduced, singular values falling."""
    return tuple(Tensor(n) for n in ops.svd(node_of(x)))


def solve(a, b):
    """The x with a . x = b."""
    return Tensor(ops.solve(node_of(a), node_of(b)))


def inverse(x):
    """The inverse of a square matrix."""
    return Tensor(ops.inverse(node_of(x)))


def det(x):
    """The determinant of a square matrix."""
    return Tensor(ops.det(node_of(x)))
