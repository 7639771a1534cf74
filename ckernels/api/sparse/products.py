"""Products of matrices of which one or both are sparse; sums along an axis, products with ones."""

from ... import ops
from ...base import given
from ...base.errors import ArgumentError, ShapeError, UsageError
from ...graph.node import constant
from ...graph.shapes import show
from ...ops import sparse as rows
from ..operands import node_of, operand
from ..sparsetensor import SparseTensor, extent_like
from ..tensor import Tensor
from .construct import (
    as_format,
    as_sparse_variable,
    csr_from_dense,
    dense_from_sparse,
    is_sparse_tensor,
)


def dot(x, y):
    """The product of two matrices (or a matrix and a vector), one or both of them sparse; dense.

    >>> import scipy.sparse as sp
    >>> K.sparse.dot(sp.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]])).eval()
    array([[1., 2.],
           [3., 4.]])
    """
    if not is_sparse_tensor(x):
        if not is_sparse_tensor(y):
            raise UsageError("K.sparse.dot needs a sparse operand; K.dot takes dense ones")
        x, y = node_of(x), as_sparse_variable(y)
        turned = x if x.ndim == 1 else ops.transpose(x, (1, 0)) if x.ndim == 2 else x
        product = _sparse_dot(y.transpose(), turned)
        return Tensor(product if x.ndim == 1 else ops.transpose(product, (1, 0)))
    x = as_sparse_variable(x)
    if is_sparse_tensor(y):
        return dense_from_sparse(_sparse_product(x, as_sparse_variable(y)))
    return Tensor(_sparse_dot(x, node_of(y)))


def _sparse_product(x, y):
    """x @ y of two sparse tensors, sparse, in the format of `x`: nothing becomes dense."""
    from ...ops.sparseproduct import csr_product, csr_product_places  # start-up

    if None not in (x.int_shape[1], y.int_shape[0]) and x.int_shape[1] != y.int_shape[0]:
        raise ShapeError(
            f"cannot multiply a sparse matrix of shape {show(x.int_shape)} with one "
            f"of shape {show(y.int_shape)}"
        )
    y = as_format(y, x.format)
    first, second = (x.parts, y.parts) if x.format == "csr" else (y.parts, x.parts)
    indices, ends = csr_product_places(first[1:], second[1:])
    extent = extent_like(ops.size_of(first[3], 0), ops.size_of(second[3], 1))
    data = csr_product(first, second, (indices, ends, extent))
    return SparseTensor(Tensor(data), Tensor(indices), Tensor(ends), extent, x.format)


def _sparse_dot(x, y):
    if y.ndim not in (1, 2):
        raise ShapeError(
            f"the product of a sparse matrix with a tensor of shape {show(y.shape)} "
            "is not defined: a vector or a matrix is needed"
        )
    columns = y if y.ndim == 2 else ops.expand(y, (1,))
    product = rows.csr_dot(*x.parts, columns, x.format == "csc")
    return product if y.ndim == 2 else ops.squeeze(product, (1,))


def structured_dot(x, y):
    """x @ y for a sparse `x`: dense for a dense `y`, sparse for a sparse one."""
    x = as_sparse_variable(x)
    return _sparse_product(x, as_sparse_variable(y)) if is_sparse_tensor(y) else dot(x, y)


def true_dot(x, y, grad_preserves_dense=True):
    """x @ y as a sparse matrix; one or both are sparse. The option is accepted and not needed."""
    if is_sparse_tensor(x) and is_sparse_tensor(y):
        return _sparse_product(as_sparse_variable(x), as_sparse_variable(y))
    return csr_from_dense(dot(x, y))


def sampling_dot(x, y, p):
    """p * (x @ y.T), computed only where the sparse `p` stores a number; x and y are dense."""
    p = as_sparse_variable(p)
    x, y = node_of(x), node_of(y)
    pair = (x, y) if p.format == "csr" else (y, x)
    return p.with_data(ops.mul(p.data.node, rows.csr_sample(*p.parts[1:], *pair)))


def usmm(alpha, x, y, z):
    """alpha * (x @ y) + z, dense; one of x and y is sparse."""
    return Tensor(ops.add(ops.mul(operand(alpha), dot(x, y).node), node_of(z)))


def sp_sum(x, axis=None, sparse_grad=False):
    """The sum over `axis` (None: of all), dense. sparse_grad is accepted: gradients are sparse."""
    x = as_sparse_variable(x)
    axis = None if axis is None else given.integer(axis, "the axis of sp_sum")
    if axis not in (None, 0, 1, -1, -2):
        raise ArgumentError(f"the axis of sp_sum is None, 0 or 1, not {axis!r}")
    back = axis is not None and (axis % 2 == 0) == (x.format == "csr")
    ones = ops.broadcast_to(
        ops.cast(constant(1), x.dtype), ops.pack(ops.size_of(x.extent, 0 if back else 1), 1)
    )
    sums = ops.squeeze(rows.csr_dot(*x.parts, ones, back), (1,))
    return Tensor(ops.sum(sums) if axis is None else sums)
