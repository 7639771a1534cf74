"""Products of tensors and linear algebra."""

from .. import ops
from ..errors import ShapeError
from ..graph.shapes import axis_of, show
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
    x, y = node_of(x), node_of(y)
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError(
            f"batch_dot needs tensors of at least 2 dimensions, got {show(x.shape)} and "
            f"{show(y.shape)}"
        )
    a, b = _batch_axes(x, y, axes)
    rows = [i for i in range(1, x.ndim) if i != a]
    columns = [i for i in range(1, y.ndim) if i != b]
    left = _joined(ops.transpose(x, (0, *rows, a)), 1, x.ndim - 1)
    right = _joined(ops.transpose(y, (0, b, *columns)), 2, y.ndim)
    z = ops.matmul(left, right)
    if len(rows) == 1 and len(columns) == 1:
        return Tensor(z)
    dims = [ops.size_of(x, i) for i in (0, *rows)] + [ops.size_of(y, i) for i in columns]
    return Tensor(ops.reshape(z, dims if len(dims) > 1 else dims + [1]))


def _batch_axes(x, y, axes):
    if axes is None:
        axes = (x.ndim - 1, max(y.ndim - 2, 1))
    pair = (axes, axes) if isinstance(axes, int) else tuple(axes)
    if len(pair) != 2 or any(isinstance(i, (list, tuple)) for i in pair):
        raise ValueError(
            f"the axes of batch_dot are two integers, one for each tensor, not {axes!r}"
        )
    a, b = axis_of(pair[0], x.ndim), axis_of(pair[1], y.ndim)
    if 0 in (a, b):
        raise ValueError("batch_dot cannot sum over axis 0, which is the batch")
    p, q = x.shape[a], y.shape[b]
    if p != q and None not in (p, q):
        raise ShapeError(
            f"batch_dot over axis {a} of shape {show(x.shape)} and axis {b} of shape "
            f"{show(y.shape)}: {p} is not {q}"
        )
    return a, b


def _joined(x, start, stop):
    """`x` with its axes from `start` up to `stop` joined into one (no axes: of size 1)."""
    if stop - start == 1:
        return x
    sizes, total = [ops.size_of(x, i) for i in range(x.ndim)], 1
    for size in sizes[start:stop]:
        total = total * size
    return ops.reshape(x, [*sizes[:start], total, *sizes[stop:]])


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
