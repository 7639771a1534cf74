"""Triangles and diagonals of matrices."""

from .. import dtypes, ops
from .config import floatx
from .operands import node_of
from .tensor import Tensor


def tril(x, k=0):
    """The lower triangle of matrices, up to diagonal `k`; the rest is zero.

    >>> K.tril(np.ones((2, 3))).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return Tensor(ops.tril(node_of(x), k))


def triu(x, k=0):
    """The upper triangle of matrices, from diagonal `k` on; the rest is zero.

    >>> K.triu(np.ones((2, 3))).eval()
    array([[1., 1., 1.],
           [0., 1., 1.]])
    """
    return Tensor(ops.triu(node_of(x), k))


def tri(n, m=None, k=0, dtype=None):
    """The n x m matrix (m = n by default) with ones up to diagonal `k` and zeros above it.

    n, m: ints or scalar tensors.

    >>> K.tri(2, 3, dtype="int32").eval()
    array([[1, 0, 0],
           [1, 1, 0]], dtype=int32)
    """
    n, m = (getattr(v, "node", v) for v in (n, n if m is None else m))
    rows, columns = ops.arange(0, n, 1, "int64"), ops.arange(0, m, 1, "int64")
    below = ops.ge(ops.expand(ops.add(rows, k), (1,)), ops.expand(columns, (0,)))
    return Tensor(ops.cast(below, dtypes.name_of(dtype or floatx())))


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The elements with index (i, i + offset) in two axes, as a last axis in their place.

    >>> K.diagonal(np.array([[1, 2], [3, 4]]), 1).eval()
    array([2])
    """
    return Tensor(ops.diagonal(node_of(x), offset, axis1, axis2))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal over two axes.

    >>> K.trace(np.array([[1, 2], [3, 4]])).eval()
    array(5)
    """
    return Tensor(ops.trace(node_of(x), offset, axis1, axis2))
