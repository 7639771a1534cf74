"""Ops for the product of two sparse matrices: how many numbers each holds, where, and which.

Three ops: counts of places and the places themselves (the symbolic half, from indices alone), and
the numbers of the product at the places of any third matrix, which is closed under
differentiation. None makes more than the result holds. Matrices are those of sparse.py.
"""

import numpy as np

from ..base.errors import ArgumentError, DTypeError, ShapeError
from ..graph.node import constant, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, from_copies, operands, to_node
from .indexing.advanced import take
from .indexing.keys import getitem
from .joining import concatenate
from .movement import broadcast_to, transpose
from .running import cumsum
from .shape import pack
from .sparse import check_data, csr_order, csr_rows, rows_of, structure_of

__all__ = ["csr_product", "csr_product_places"]

BLOCK = 1 << 18  # products of two numbers that the oracles look at together


def _check(name, first, second, data=(None, None)):
    """(rows, columns) of the product of matrices given as (indices, indptr, extent)."""
    rows, inner = structure_of(name, *first, data[0])
    near, columns = structure_of(name, *second, data[1])
    if None not in (inner, near) and inner != near:
        raise ShapeError(
            f"cannot multiply a sparse matrix of shape {show((rows, inner))} with one "
            f"of shape {show((near, columns))}: {inner} columns meet {near} rows"
        )
    return rows, columns


def _pairs(first, second):
    """(row, column, entry of the first, entry of the second) of all products, in blocks of rows."""
    name = "the product of two sparse matrices"
    if first[2].shape[1] != second[2].shape[0]:
        raise ShapeError(
            f"cannot multiply sparse matrices of shapes {show(first[2].shape[:2])} "
            f"and {show(second[2].shape[:2])}"
        )
    rows, _ = (
        rows_of(name, *first[:2], first[2].shape),
        rows_of(name, *second[:2], second[2].shape),
    )
    held, middle = np.diff(second[1].astype("int64")), first[0][: len(rows)].astype("int64")
    many = held[middle]
    start = 0
    total = np.append(0, np.cumsum(many))
    while start < len(rows):
        stop = max(start + 1, int(np.searchsorted(total, total[start] + BLOCK, "right")) - 1)
        while stop < len(rows) and rows[stop] == rows[stop - 1]:  # whole rows
            stop += 1
        left = np.repeat(np.arange(start, stop), many[start:stop])
        right = (
            np.arange(len(left))
            - (total[left] - total[start])
            + second[1].astype("int64")[middle[left]]
        )
        yield rows[left], second[0][right].astype("int64"), left, right
        start = stop


def _blocks_of_places(first, second):
    """The places of the product as row * columns + column, sorted, in blocks of whole rows."""
    columns = max(second[2].shape[1], 1)
    for row, column, _, _ in _pairs(first, second):
        yield np.unique(row * columns + column)


# ---- the symbolic half --------------------------------------------------------------------------


def _infer_counts(attrs, *parts):
    rows, _ = _check("the product of two sparse matrices", parts[:3], parts[3:])
    return "int64", (rows,)


@from_copies
def _run_counts(attrs, *parts):
    count = np.zeros(parts[2].shape[0], "int64")
    columns = max(parts[5].shape[1], 1)
    for places in _blocks_of_places(parts[:3], parts[3:]):
        count += np.bincount(places // columns, minlength=len(count))
    return count


Op(
    "csr_counts",
    "opaque",
    _infer_counts,
    _run_counts,
    lambda node, g: (None,) * 6,
    ulp=0,
    properties={"padding": ((0, 3), ())},
    doc="How many places each row of the product of two sparse matrices has.",
)


def _infer_places(attrs, *parts):
    _check("the product of two sparse matrices", parts[:3], parts[3:6])
    return parts[3].dtype, parts[7].shape


@from_copies
def _run_places(attrs, *parts):
    columns = max(parts[5].shape[1], 1)
    found = np.concatenate([np.zeros(0, "int64"), *_blocks_of_places(parts[:3], parts[3:6])])
    held = np.bincount(found // columns, minlength=parts[2].shape[0])
    if len(found) != len(parts[7]) or not np.array_equal(np.diff(parts[6]), held):
        raise ArgumentError(
            f"the rows of the product of two sparse matrices have {held.tolist()} "
            f"places, not {np.diff(parts[6]).tolist()}"[:200]
        )
    return (found % columns).astype(parts[3].dtype)


Op(
    "csr_places",
    "opaque",
    _infer_places,
    _run_places,
    lambda node, g: (None,) * 8,
    ulp=0,
    properties={"padding": ((0, 3), ())},
    doc="""The column of each place of the product, rising in each row. The last two operands: where
   its rows begin and end, and a vector that has one element for each place.""",
)


# ---- numbers ------------------------------------------------------------------------------------


def _infer_product(attrs, data, *parts):
    first, second, third = parts[:3], parts[4:7], parts[7:]
    rows, columns = _check("the product of two sparse matrices", first, second, (data, parts[3]))
    if data.dtype != parts[3].dtype:
        raise DTypeError(f"csr_product needs one dtype, got {data.dtype} and {parts[3].dtype}")
    if third[2].shape[:2] != (rows, columns) and None not in (*third[2].shape[:2], rows, columns):
        raise ShapeError(
            f"a product of shape {show((rows, columns))} is read at the places of a "
            f"matrix of shape {show(third[2].shape[:2])}"
        )
    return data.dtype, third[0].shape


@from_copies
def _run_product(attrs, data, *parts):
    first, second, third = parts[:3], parts[4:7], parts[7:]
    name = "the product of two sparse matrices"
    check_data(name, data, first[0])
    check_data(name, parts[3], second[0])
    rows, columns = rows_of(name, *third[:2], third[2].shape), max(third[2].shape[1], 1)
    wide = {"float16": "float64", "float32": "float64"}.get(data.dtype.name, data.dtype)
    wanted, where = np.unique(rows * columns + third[0][: len(rows)], return_inverse=True)
    total = np.zeros(len(wanted), wide)
    for row, column, left, right in _pairs(first, second):
        place = row * columns + column
        at = np.searchsorted(wanted, place)
        hit = at < len(wanted)
        hit[hit] = wanted[at[hit]] == place[hit]
        np.add.at(total, at[hit], data[left[hit]].astype(wide) * parts[3][right[hit]])
    out = np.zeros(third[0].shape, data.dtype)
    out[: len(rows)] = total[where.reshape(-1)]
    return out


def _grad_product(node, g):
    data, indices, indptr, extent, other, *near = node.inputs[:8]
    third = node.inputs[8:]
    first = (indices, indptr, extent)
    by_first = make("csr_product", (g, *third, *transposed(other, *near), *first))
    by_second = make("csr_product", (*transposed(data, *first), g, *third, *near))
    return (by_first, *(None,) * 3, by_second, *(None,) * 6)


def transposed(data, indices, indptr, extent):
    """The rows of the transpose."""
    order, ends = csr_order(indices, indptr, extent)
    return (
        take(data, order),
        take(csr_rows(indices, indptr, extent), order),
        ends,
        transpose(extent, (1, 0, 2)),
    )


Op(
    "csr_product",
    "opaque",
    _infer_product,
    _run_product,
    _grad_product,
    ulp=64,
    properties={"padding": ((0, 1, 4, 5, 8), (8,))},
    doc="""The numbers of the product of two sparse matrices at the stored places of a third one, of
   which equal ones get the same number; 0 for padding.""",
)


# ---- build functions ----------------------------------------------------------------------------


def csr_product_places(first, second):
    """(indices, indptr) of the product of matrices given as (indices, indptr, extent)."""
    count = make("csr_counts", (*first, *second))
    ends = concatenate([constant(np.zeros(1, "int64")), cumsum(count)])
    like = broadcast_to(constant(np.zeros((), bool)), pack(getitem(ends, -1)))
    return make("csr_places", (*first, *second, ends, like)), cast(ends, first[1].dtype)


def csr_product(first, second, places):
    """The numbers of `first` times `second`, matrices as (data, indices, indptr, extent), at the
    stored places of a matrix as (indices, indptr, extent); dtypes are promoted."""
    name = "the product of two sparse matrices"
    data, other = operands([to_node(first[0], name), to_node(second[0], name)], name)
    return make("csr_product", (data, *first[1:], other, *second[1:], *places))
