"""Sparse tensors from their parts, from SciPy and from dense tensors, and back; formats, dtypes."""

import numpy as np

from ... import ops
from ...base import dtypes, given
from ...base.errors import DTypeError, ShapeError
from ...graph.node import Node, constant
from ...graph.shapes import show
from ...ops import sparse as rows
from ..config import float_dtype
from ..operands import is_sparse_matrix, node_of, static_shape
from ..sparsetensor import (
    FORMATS,
    INDEX,
    SparseTensor,
    extent_like,
    sparse_constant,
    sparse_placeholder,
)
from ..tensor import Tensor

all_dtypes = frozenset((*dtypes.INTEGERS, "float32", "float64", *dtypes.COMPLEX))


def is_sparse_tensor(x):
    """Whether `x` is a SparseTensor or a matrix of SciPy."""
    return isinstance(x, SparseTensor) or is_sparse_matrix(x)


def as_sparse_variable(x, name=None):
    """`x` as a sparse tensor: itself, or a SciPy matrix as a constant. DTypeError for others."""
    return x if isinstance(x, SparseTensor) else sparse_constant(x, name)


as_sparse = as_sparse_variable


def as_sparse_or_tensor_variable(x, name=None):
    """`x` as a sparse tensor where it is sparse, else as a dense one."""
    return as_sparse_variable(x, name) if is_sparse_tensor(x) else Tensor(node_of(x), name)


def csr_matrix(name=None, dtype=None, shape=(None, None)):
    """A placeholder of a matrix compressed along rows; dtype floatx() by default.

    >>> K.sparse.csr_matrix("x").format
    'csr'
    """
    return sparse_placeholder(static_shape(shape), float_dtype(dtype), name, "csr")


def csc_matrix(name=None, dtype=None, shape=(None, None)):
    """A placeholder of a matrix compressed along columns; dtype floatx() by default."""
    return sparse_placeholder(static_shape(shape), float_dtype(dtype), name, "csc")


def CSM(format):  # noqa: N802
    """The function that makes a matrix of `format` from its properties: `CSR` or `CSC`."""
    given.word(format, FORMATS, "format")
    return CSR if format == "csr" else CSC


def CSR(data, indices, indptr, shape):  # noqa: N802
    """The matrix whose row i holds data[indptr[i]:indptr[i + 1]] in the columns `indices`.

    shape: two ints, or an int vector. Differentiable by `data`.

    >>> K.sparse.CSR([7.0, 8.0, 9.0], [0, 1, 2], [0, 2, 3, 3], (3, 3)).toarray().eval()
    array([[7., 8., 0.],
           [0., 0., 9.],
           [0., 0., 0.]], dtype=float32)
    """
    return _compressed(data, indices, indptr, shape, "csr")


def CSC(data, indices, indptr, shape):  # noqa: N802
    """The matrix whose column i holds data[indptr[i]:indptr[i + 1]] in the rows `indices`.

    >>> K.sparse.CSC([7.0, 8.0, 9.0], [0, 1, 2], [0, 2, 3, 3], (3, 3)).toarray().eval()
    array([[7., 0., 0.],
           [8., 0., 0.],
           [0., 9., 0.]], dtype=float32)
    """
    return _compressed(data, indices, indptr, shape, "csc")


def _compressed(data, indices, indptr, shape, format):
    data, indices, indptr = (node_of(p) for p in (data, indices, indptr))
    if any(p.ndim != 1 for p in (data, indices, indptr)):
        raise ShapeError(
            "data, indices and indptr must be vectors, got shapes "
            + ", ".join(show(p.shape) for p in (data, indices, indptr))
        )
    if any(p.dtype not in dtypes.INTEGERS for p in (indices, indptr)):
        raise DTypeError(
            f"indices and indptr must be integers, not {indices.dtype} and {indptr.dtype}"
        )
    if isinstance(shape, Tensor):
        sizes = [ops.getitem(shape.node, k) for k in (0, 1)]
    else:
        sizes = [s if isinstance(s, int) else getattr(s, "node", s) for s in shape]
        what = "a size of a sparse matrix"
        sizes = [s if isinstance(s, Node) else given.whole(s, what) for s in sizes]
    if format == "csc":
        sizes.reverse()
    extent = extent_like(*sizes)
    for what, held, needed in (
        ("indptr", indptr.shape[0], None if extent.shape[0] is None else extent.shape[0] + 1),
        ("indices", indices.shape[0], data.shape[0]),
    ):
        if None not in (held, needed) and held != needed:
            raise ShapeError(f"{what} has {held} elements where the {format} matrix has {needed}")
    parts = [Tensor(p) for p in (data, ops.cast(indices, INDEX), ops.cast(indptr, INDEX))]
    return SparseTensor(*parts, extent, format)


def csm_properties(csm):
    """(data, indices, indptr, shape) of a sparse tensor, dense vectors."""
    x = as_sparse_variable(csm)
    return x.data, x.indices, x.indptr, x.shape


def csm_data(csm):
    """The stored numbers."""
    return csm_properties(csm)[0]


def csm_indices(csm):
    """The columns (csr) or rows (csc) of the stored numbers."""
    return csm_properties(csm)[1]


def csm_indptr(csm):
    """Where the rows (csr) or columns (csc) begin and end in data and indices."""
    return csm_properties(csm)[2]


def csm_shape(csm):
    """The shape, an int64 vector."""
    return csm_properties(csm)[3]


# ---- dense and back -----------------------------------------------------------------------------


def dense_from_sparse(x):
    """The matrix as a dense tensor; several numbers stored for one element are added.

    >>> x = K.sparse.csr_matrix(shape=(2, 2))
    >>> import scipy.sparse as sp
    >>> K.function([x], K.sparse.dense_from_sparse(x))(sp.eye(2))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    x = as_sparse_variable(x)
    dense = rows.csr_dense(*x.parts)
    return Tensor(dense if x.format == "csr" else ops.transpose(dense, (1, 0)))


def csr_from_dense(x):
    """The elements of a dense matrix that are not 0, compressed along rows."""
    x = node_of(x)
    if x.ndim != 2:
        raise ShapeError(f"a sparse tensor is a matrix, not of shape {show(x.shape)}")
    return csr_where(x, ops.ne(x, 0))


def csr_where(x, held):
    """The elements of the dense node `x` where the node `held` is true, compressed along rows."""
    indices, ends = rows.csr_held(held)
    ends = ops.cast(ends, INDEX)
    extent = extent_like(ops.size_of(x, 0), ops.size_of(x, 1))
    return SparseTensor(
        Tensor(rows.csr_take(indices, ends, extent, x)), Tensor(indices), Tensor(ends), extent
    )


def csc_from_dense(x):
    """The elements of a dense matrix that are not 0, compressed along columns."""
    return csr_from_dense(ops.transpose(node_of(x), (1, 0))).transpose()


def ends_of(counts):
    """indptr from the number of entries of each row."""
    zero = constant(np.zeros(1, "int64"))
    return ops.cast(ops.concatenate([zero, ops.cumsum(counts)]), INDEX)


def other_way(x):
    """The same matrix in the other format."""
    data, indices, indptr, extent = x.parts
    order, ends = rows.csr_order(indices, indptr, extent)
    across = rows.csr_rows(indices, indptr, extent)
    return SparseTensor(
        Tensor(ops.take(data, order)),
        Tensor(ops.take(across, order)),
        Tensor(ends),
        rows.turned(extent),
        "csc" if x.format == "csr" else "csr",
    )


def as_format(x, format):
    return x if x.format == format else other_way(x)


def transpose(x):
    """The transpose, in the other format: nothing is computed."""
    return as_sparse_variable(x).transpose()


def cast(variable, dtype):
    """The matrix with numbers of another dtype."""
    x = as_sparse_variable(variable)
    return x.with_data(ops.cast(x.data.node, dtype))


bcast, wcast, icast, lcast, fcast, dcast, ccast, zcast = (
    (lambda dtype: lambda x: cast(x, dtype))(d)
    for d in ("int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")
)
