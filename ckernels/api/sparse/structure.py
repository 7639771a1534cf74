"""Joining, cutting and tidying sparse matrices: what changes their structure."""

import numpy as np

from ... import ops
from ...base import dtypes, given
from ...base.errors import ArgumentError, ShapeError, UsageError
from ...graph.node import Node, constant
from ...graph.shapes import show
from ...ops import sparse as rows
from ..config import float_dtype
from ..operands import known_shape, node_of, operand
from ..random import generator
from ..sparsetensor import FORMATS, INDEX, SparseTensor, extent_like, scipy_sparse
from ..tensor import Tensor
from .construct import (
    as_format,
    as_sparse_variable,
    csc_from_dense,
    csc_matrix,
    csr_matrix,
    ends_of,
    other_way,
)
from .products import sp_sum


def _list_of(blocks, name):
    if not isinstance(blocks, (list, tuple)) or not blocks:
        raise UsageError(f"{name} needs a list of sparse matrices, got {blocks!r}"[:200])
    return [as_sparse_variable(b) for b in blocks]


def _joined(blocks, along, format, dtype):
    """Matrices joined along their compressed axis (True), or across it, all in `format`."""
    blocks = [as_format(b, format) for b in blocks]
    data = ops.concatenate([b.data.node for b in blocks])
    sizes = [b.extent for b in blocks]
    extent = ops.concatenate(sizes, 0 if along else 1)
    start, indices, ends = 0, [], []
    for b in blocks:
        if along:
            part = b.indptr.node if not ends else ops.slice_(b.indptr.node, [(1, None, 1)])
            indices.append(b.indices.node)
            ends.append(ops.add(part, start) if ends else part)
            start = ops.add(ops.getitem(b.indptr.node, -1), start)
        else:
            indices.append(ops.add(b.indices.node, ops.cast(node_of(start), INDEX)))
            start = ops.add(node_of(ops.size_of(b.extent, 1)), start)
    indices = ops.concatenate(indices)
    if along:
        ends = ops.concatenate(ends)
    else:
        order = rows.csr_interleave(indices, *(b.indptr.node for b in blocks))
        data, indices = ops.take(data, order), ops.take(indices, order)
        ends = blocks[0].indptr.node
        for b in blocks[1:]:
            ends = ops.add(ends, b.indptr.node)
    data = data if dtype is None else ops.cast(data, dtype)
    return SparseTensor(
        Tensor(data),
        Tensor(ops.cast(indices, INDEX)),
        Tensor(ops.cast(ends, INDEX)),
        extent,
        format,
    )


def hstack(blocks, format=None, dtype=None):
    """Matrices side by side. format: of the result, "csc" by default; dtype: promoted by default.

    >>> import scipy.sparse as sp
    >>> K.sparse.hstack([sp.eye(2), sp.eye(2)]).toarray().eval()
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    format = _wanted(format)
    return _joined(_list_of(blocks, "hstack"), format == "csc", format, dtype)


def _wanted(format):
    """The format of a joined matrix; ArgumentError for what is no name of one."""
    if format is None or isinstance(format, str):
        return format or "csc"
    raise ArgumentError(f"the format of a sparse matrix is 'csc' or 'csr', not {format!r}")


def vstack(blocks, format=None, dtype=None):
    """Matrices below each other. format: of the result, "csc" by default."""
    format = _wanted(format)
    return _joined(_list_of(blocks, "vstack"), format == "csr", format, dtype)


def concatenate(blocks, axis=-1):
    """Sparse matrices joined along `axis`, in the format of the first."""
    blocks = _list_of(blocks, "concatenate")
    if axis not in (0, 1, -1, -2):
        raise ArgumentError(f"sparse matrices have the axes 0 and 1, not {axis!r}")
    return (hstack if axis % 2 else vstack)(blocks, blocks[0].format)


def getitem(x, key):
    """x[i, j], a dense scalar; x[a:b, c:d], a sparse matrix. Steps must be 1.

    UsageError for x[i], x[i, a:b] and the like: sparse tensors are matrices; x[i:i + 1, a:b] is
    one.
    """
    x = as_sparse_variable(x)
    if (
        not isinstance(key, tuple)
        or len(key) != 2
        or isinstance(key[0], slice) != isinstance(key[1], slice)
    ):
        raise UsageError(
            f"x[i, j] and x[a:b, c:d] are parts of a sparse tensor, {key!r} is none: "
            "a sparse vector is the matrix x[i:i + 1, a:b]"
        )
    keys = key if x.format == "csr" else key[::-1]
    data, indices, indptr, extent = x.parts
    where = rows.csr_rows(indices, indptr, extent), indices
    if not isinstance(key[0], slice):
        found = ops.logical_and(
            *(ops.eq(w, _position(k, extent, axis)) for axis, (w, k) in enumerate(zip(where, keys)))
        )
        return Tensor(ops.sum(ops.where(found, data, ops.cast(constant(0), data.dtype))))
    bounds = [_bounds(k, extent, axis) for axis, k in enumerate(keys)]
    inside = [ops.logical_and(ops.ge(w, a), ops.lt(w, b)) for w, (a, b) in zip(where, bounds)]
    (kept,) = ops.nonzero(ops.logical_and(*inside))
    (top, bottom), (left, _) = bounds
    counts = _counts(ops.cast(ops.logical_and(*inside), "int64"), x)
    ends = ends_of(ops.getitem(counts, slice(top, bottom)))
    part = ops.getitem(extent, tuple(slice(a, b) for a, b in bounds))
    return SparseTensor(
        Tensor(ops.take(data, kept)),
        Tensor(ops.cast(ops.sub(ops.take(indices, kept), ops.cast(node_of(left), INDEX)), INDEX)),
        Tensor(ends),
        part,
        x.format,
    )


def _counts(marks, x):
    """Sums of the int64 `marks` of the stored numbers, one for each row."""
    ones = ops.broadcast_to(constant(np.ones((), "int64")), ops.pack(ops.size_of(x.extent, 1), 1))
    return ops.squeeze(rows.csr_dot(marks, *x.parts[1:], ones), (1,))


def _position(k, extent, axis):
    """A row or column number, negative ones counted from the end."""
    size = ops.size_of(extent, axis)
    k = operand(k)
    if isinstance(k, Node):
        return ops.where(ops.lt(k, 0), ops.add(k, size), k)
    if isinstance(size, int) and not -size <= k < size:
        raise ShapeError(f"index {k} is outside an axis of {size} positions")
    return k if k >= 0 else ops.add(node_of(size), k)


def _bounds(s, extent, axis):
    """(start, stop) of a slice with step 1, within the axis."""
    if s.step not in (None, 1):
        raise UsageError(f"slices of sparse tensors have the step 1, not {s.step!r}")
    size = ops.size_of(extent, axis)
    plain = all(v is None or isinstance(v, (int, np.integer)) for v in (s.start, s.stop))
    if plain and isinstance(size, int):
        start, stop, _ = slice(s.start, s.stop).indices(size)
        return start, max(start, stop)
    size = node_of(size)

    def within(v, default):
        if v is None:
            return default
        v = ops.cast(node_of(v), "int64")
        v = ops.where(ops.lt(v, 0), ops.add(v, size), v)
        return ops.minimum(ops.maximum(v, 0), size)

    start = within(s.start, node_of(0))
    return start, ops.maximum(start, within(s.stop, size))


def diag(x):
    """The main diagonal, a dense vector."""
    x = as_sparse_variable(x)
    data, indices, indptr, extent = x.parts
    on = ops.eq(rows.csr_rows(indices, indptr, extent), indices)
    x = x.with_data(ops.where(on, data, ops.cast(constant(0), data.dtype)))
    sums = sp_sum(x, 1 if x.format == "csr" else 0).node
    return Tensor(
        ops.getitem(
            sums,
            slice(
                None, ops.minimum(*map(node_of, (ops.size_of(extent, 0), ops.size_of(extent, 1))))
            ),
        )
    )


def square_diagonal(diag):
    """The square sparse matrix (csc) with the vector `diag` on its diagonal."""
    d = node_of(diag)
    if d.ndim != 1:
        raise ShapeError(f"a diagonal is a vector, not of shape {show(d.shape)}")
    size = ops.size_of(d, 0)
    places = ops.arange(0, ops.add(node_of(size), 1), 1, INDEX)
    return SparseTensor(
        Tensor(d),
        Tensor(ops.slice_(places, [(None, -1, 1)])),
        Tensor(places),
        extent_like(size, size),
        "csc",
    )


def construct_sparse_from_list(x, values, ilist):
    """The matrix shaped as the dense `x` that holds row i of `values` in row ilist[i]; csc."""
    return csc_from_dense(ops.scatter_add(node_of(x), node_of(ilist), node_of(values)))


# ---- the stored form ----------------------------------------------------------------------------


def ensure_sorted_indices(x):
    """The same matrix with rising indices in each row (csr) or column (csc)."""
    return other_way(other_way(as_sparse_variable(x)))


def remove0(x):
    """The same matrix without stored zeros."""
    x = as_sparse_variable(x)
    held = ops.ne(x.data.node, 0)
    (kept,) = ops.nonzero(held)
    ends = ends_of(_counts(ops.cast(held, "int64"), x))
    return SparseTensor(
        Tensor(ops.take(x.data.node, kept)),
        Tensor(ops.take(x.indices.node, kept)),
        Tensor(ends),
        x.extent,
        x.format,
    )


def clean(x):
    """The same matrix with sorted indices and without stored zeros."""
    return ensure_sorted_indices(remove0(x))


# ---- for tests ----------------------------------------------------------------------------------


def sparse_random_inputs(
    format, shape, n=1, out_dtype=None, p=0.5, gap=None, explicit_zero=False, unsorted_indices=False
):
    """(variables, data): `n` placeholders and SciPy matrices with a share `p` of stored numbers.

    gap: (exclusive maximum,) or (minimum, maximum) of the numbers; by default [0, 1) for floats,
    [0, 50) for ints. explicit_zero: some zeros are stored; unsorted_indices: some rows are.
    """

    sp, rng = scipy_sparse(), generator(None)
    dtype = float_dtype(out_dtype)
    whole = dtype in dtypes.INTEGERS
    gap = [50 if whole else 1] if gap is None else given.sequence(gap, "gap")
    low, high = (given.number(g, "an end of gap") for g in ([0] * (2 - len(gap)) + gap)[:2])
    shape = given.pair(known_shape(shape), "the shape of a matrix")
    given.word(format, FORMATS, "format")
    matrices = []
    for _ in range(n):
        drawn = rng.uniform(low, high, shape)
        drawn = (np.floor(drawn) if whole else drawn).astype(dtype)
        held = rng.uniform(0, 1, shape) < p
        matrix = sp.coo_matrix((drawn[held], np.nonzero(held)), shape=shape).asformat(format)
        if explicit_zero and len(matrix.data):
            matrix.data[::2] = 0
        if unsorted_indices:
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:]):
                matrix.indices[a:b] = matrix.indices[a:b][::-1].copy()
                matrix.data[a:b] = matrix.data[a:b][::-1].copy()
            matrix.has_sorted_indices = False
        matrices.append(matrix)
    make_one = csr_matrix if format == "csr" else csc_matrix
    return [make_one(f"x{k}", dtype) for k in range(n)], matrices
