"""Ops on compressed sparse matrices: products with dense ones, going dense, reordering.

A matrix is four ordinary nodes: the stored numbers `data`, the column of each in `indices`, where
the rows begin and end in `indptr` (rows + 1), and `extent`, an empty tensor of shape (rows,
columns, 0) that carries the shape where every plan sees it. A matrix compressed along columns is
the transpose of such a one. Numbers behind indptr[-1] are padding; equal places add up.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, IndexOutOfBounds, ShapeError
from ..graph.node import constant, item, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, from_copies, operands, to_node
from .indexing.keys import getitem
from .joining import concatenate
from .movement import broadcast_to
from .reduce import sum as sum_
from .running import cumsum
from .shape import pack

__all__ = ["csr_dot", "csr_sample", "csr_dense", "csr_take", "csr_rows", "csr_order", "csr_merge",
           "csr_interleave", "csr_held", "turned"]  # fmt: skip


# --- shapes and checks -------------------------------------------------------------------------


def structure_of(name, indices, indptr, extent, data=None):
    """(rows, columns) of a matrix, as far as known; ShapeError where its parts are no vectors."""
    ranks = [(indices, 1), (indptr, 1), (extent, 3)] + ([(data, 1)] if data is not None else [])
    if any(n.ndim != rank for n, rank in ranks):
        raise ShapeError(
            f"{name} needs vectors of data, indices and indptr, got shapes "
            + ", ".join(show(n.shape) for n, _ in ranks)
        )
    if any(n.dtype not in dtypes.INTEGERS for n in (indices, indptr)):
        raise DTypeError(
            f"{name}: indices and indptr must be integers, not {indices.dtype} and {indptr.dtype}"
        )
    return extent.shape[:2]


def _same(name, what, found, wanted):
    if None not in (found, wanted) and found != wanted:
        raise ShapeError(f"{name}: {what} has the size {found} where {wanted} is needed")


def rows_of(name, indices, indptr, shape):
    """The row of each stored number, checked; padding is left out."""
    rows, columns = shape[:2]
    if len(indptr) != rows + 1:
        raise ShapeError(
            f"{name}: an indptr of {len(indptr)} numbers is none of {rows} rows: it "
            f"needs {rows + 1}"
        )
    held = np.diff(indptr.astype("int64"))
    if indptr[0] != 0 or (held < 0).any() or indptr[-1] > len(indices):
        raise ArgumentError(
            f"{name}: indptr must begin with 0, never fall, and end at most with "
            f"{len(indices)}, the number of stored entries; got {indptr.tolist()}"
        )
    used = indices[: indptr[-1]]
    outside = (used < 0) | (used >= columns)
    if outside.any():
        raise IndexOutOfBounds(
            f"{name}: index {used[outside][0]} of a sparse matrix is outside "
            f"the {columns} positions of its axis"
        )
    return np.repeat(np.arange(rows), held)


def check_data(name, data, indices):
    if data.shape != indices.shape:
        raise ShapeError(f"{name}: {len(data)} stored numbers have {len(indices)} indices")


# --- products with dense matrices --------------------------------------------------------------


def _infer_dot(attrs, data, indices, indptr, extent, y):
    rows, columns = structure_of("the dot product", indices, indptr, extent, data)
    if y.ndim != 2:
        raise ShapeError(
            f"the dot product of a sparse matrix needs a dense matrix, not the shape "
            f"{show(y.shape)}"
        )
    if data.dtype != y.dtype:
        raise DTypeError(f"csr_dot needs one dtype, got {data.dtype} and {y.dtype}")
    near, far = (rows, columns) if attrs["back"] else (columns, rows)
    if None not in (near, y.shape[0]) and near != y.shape[0]:
        shape = (columns, rows) if attrs["back"] else (rows, columns)
        raise ShapeError(
            f"cannot multiply a sparse matrix of shape {show(shape)} with one of "
            f"shape {show(y.shape)}: {near} columns meet {y.shape[0]} rows"
        )
    return data.dtype, (far, y.shape[1])


@from_copies
def _run_dot(attrs, data, indices, indptr, extent, y):
    rows = rows_of("the dot product", indices, indptr, extent.shape)
    check_data("the dot product", data, indices)
    near, far = (rows, indices[: len(rows)]) if attrs["back"] else (indices[: len(rows)], rows)
    if y.shape[0] != extent.shape[0 if attrs["back"] else 1]:
        raise ShapeError(
            f"cannot multiply a sparse matrix of shape "
            f"{show(extent.shape[:2][:: -1 if attrs['back'] else 1])} with one of "
            f"shape {show(y.shape)}"
        )
    wide = {"float16": "float64", "float32": "float64"}.get(data.dtype.name, data.dtype)
    out = np.zeros((extent.shape[1 if attrs["back"] else 0], y.shape[1]), wide)
    np.add.at(out, far, data[: len(rows), None].astype(wide) * y[near])
    return out.astype(data.dtype)


def _grad_dot(node, g):
    data, indices, indptr, extent, y = node.inputs
    back = node.attrs["back"]
    near = make("csr_dot", (data, indices, indptr, extent, g), {"back": not back})
    pair = (y, g) if back else (g, y)
    return make("csr_sample", (indices, indptr, extent, *pair)), None, None, None, near


Op(
    "csr_dot",
    "opaque",
    _infer_dot,
    _run_dot,
    _grad_dot,
    ulp=64,
    properties={"padding": ((0, 1), ())},
    doc="The matrix times the dense y; with attrs['back'] its transpose times y.",
)


def _infer_sample(attrs, indices, indptr, extent, u, v):
    rows, columns = structure_of("sampling", indices, indptr, extent)
    if u.ndim != 2 or v.ndim != 2:
        raise ShapeError(
            f"sampling a product needs two matrices, got shapes {show(u.shape)} and {show(v.shape)}"
        )
    if u.dtype != v.dtype:
        raise DTypeError(f"csr_sample needs one dtype, got {u.dtype} and {v.dtype}")
    _same("sampling", "the first matrix", u.shape[0], rows)
    _same("sampling", "the second matrix", v.shape[0], columns)
    _same("sampling", "the last axis of the second matrix", v.shape[1], u.shape[1])
    return u.dtype, indices.shape


@from_copies
def _run_sample(attrs, indices, indptr, extent, u, v):
    _infer_sample(attrs, *(_Known(a) for a in (indices, indptr, extent, u, v)))
    rows = rows_of("sampling", indices, indptr, extent.shape)
    wide = {"float16": "float64", "float32": "float64"}.get(u.dtype.name, u.dtype)
    out = np.zeros(indices.shape, u.dtype)
    out[: len(rows)] = (u[rows].astype(wide) * v[indices[: len(rows)]]).sum(1)
    return out


class _Known:
    """What shape rules read of an array."""

    def __init__(self, array):
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype.name


def _grad_sample(node, g):
    indices, indptr, extent, u, v = node.inputs
    parts = (g, indices, indptr, extent)
    return (
        None,
        None,
        None,
        make("csr_dot", (*parts, v), {"back": False}),
        make("csr_dot", (*parts, u), {"back": True}),
    )


Op(
    "csr_sample",
    "opaque",
    _infer_sample,
    _run_sample,
    _grad_sample,
    ulp=64,
    properties={"padding": ((0,), (0,))},
    doc="u @ v.T at the places of the stored numbers only; 0 for padding.",
)


# --- to and from dense -------------------------------------------------------------------------


def _infer_dense(attrs, data, indices, indptr, extent):
    return data.dtype, structure_of("to_dense", indices, indptr, extent, data)


@from_copies
def _run_dense(attrs, data, indices, indptr, extent):
    rows = rows_of("to_dense", indices, indptr, extent.shape)
    check_data("to_dense", data, indices)
    out = np.zeros(extent.shape[:2], data.dtype)
    np.add.at(out, (rows, indices[: len(rows)]), data[: len(rows)])
    return out


def _grad_dense(node, g):
    _, indices, indptr, extent = node.inputs
    return make("csr_take", (indices, indptr, extent, g)), None, None, None


Op(
    "csr_dense",
    "opaque",
    _infer_dense,
    _run_dense,
    _grad_dense,
    ulp=2,
    properties={"padding": ((0, 1), ())},
    doc="The matrix, dense: numbers stored for one place are added.",
)


def _infer_take(attrs, indices, indptr, extent, x):
    rows, columns = structure_of("reading at stored places", indices, indptr, extent)
    if x.ndim != 2:
        raise ShapeError(
            f"a sparse matrix meets dense matrices only, not the shape {show(x.shape)}"
        )
    _same("reading at stored places", "the first axis of the dense matrix", x.shape[0], rows)
    _same("reading at stored places", "the second axis of the dense matrix", x.shape[1], columns)
    return x.dtype, indices.shape


@from_copies
def _run_take(attrs, indices, indptr, extent, x):
    _infer_take(attrs, *(_Known(a) for a in (indices, indptr, extent, x)))
    rows = rows_of("reading at stored places", indices, indptr, extent.shape)
    out = np.zeros(indices.shape, x.dtype)
    out[: len(rows)] = x[rows, indices[: len(rows)]]
    return out


def _grad_take(node, g):
    indices, indptr, extent, _ = node.inputs
    return None, None, None, make("csr_dense", (g, indices, indptr, extent))


Op(
    "csr_take",
    "opaque",
    _infer_take,
    _run_take,
    _grad_take,
    ulp=0,
    properties={"padding": ((0,), (0,))},
    doc="The elements of a dense matrix at the places of the stored numbers; 0 for padding.",
)


# --- the places themselves ---------------------------------------------------------------------


def _infer_rows(attrs, indices, indptr, extent):
    structure_of("the rows of a sparse matrix", indices, indptr, extent)
    return indices.dtype, indices.shape


@from_copies
def _run_rows(attrs, indices, indptr, extent):
    rows = rows_of("the rows of a sparse matrix", indices, indptr, extent.shape)
    return np.append(rows, np.zeros(len(indices) - len(rows))).astype(indices.dtype)


Op(
    "csr_rows",
    "opaque",
    _infer_rows,
    _run_rows,
    lambda node, g: (None,) * 3,
    ulp=0,
    properties={"padding": ((0,), (0,))},
    doc="The row of each stored number; 0 for padding.",
)


def _infer_order(attrs, indices, indptr, extent):
    _, columns = structure_of("turning a sparse matrix", indices, indptr, extent)
    return [("int64", indices.shape), (indptr.dtype, (None if columns is None else columns + 1,))]


@from_copies
def _run_order(attrs, indices, indptr, extent):
    rows = rows_of("turning a sparse matrix", indices, indptr, extent.shape)
    used = indices[: len(rows)]
    order = np.append(np.argsort(used, kind="stable"), np.arange(len(rows), len(indices)))
    ends = np.bincount(used.astype("int64"), minlength=extent.shape[1]).cumsum()
    return order.astype("int64"), np.append(0, ends).astype(indptr.dtype)


Op(
    "csr_order",
    "opaque",
    _infer_order,
    _run_order,
    lambda node, g: (None,) * 3,
    ulp=0,
    doc="""(order, indptr) of the transpose: entry k of the matrix compressed along its columns is
   entry order[k] of the one compressed along its rows. Stable; padding stays behind.""",
)


@from_copies
def _run_interleave(attrs, count, *indptrs):
    starts = np.append(0, np.cumsum([p[-1] for p in indptrs]))[:-1]
    pieces = [
        np.arange(p[r], p[r + 1]) + start
        for r in range(len(indptrs[0]) - 1)
        for p, start in zip(indptrs, starts)
    ]
    order = np.concatenate([*pieces, np.zeros(0, int)]).astype("int64")
    if len(order) != len(count):
        raise ShapeError("matrices with padding cannot be joined")
    return order


Op(
    "csr_interleave",
    "opaque",
    lambda a, count, *indptrs: ("int64", count.shape),
    _run_interleave,
    lambda node, g: (None,) * len(node.inputs),
    ulp=0,
    doc="""Where the numbers of matrices side by side come from: row 0 of each, row 1 of each, ...,
   as positions in all their numbers, one matrix after the other (`count` has so many elements).""",
)


@from_copies
def _run_merge(attrs, indices, indptr, extent):
    rows = rows_of("merging places", indices, indptr, extent.shape)
    places = rows * extent.shape[1] + indices[: len(rows)].astype("int64")
    kept, target = np.unique(places, return_inverse=True)
    columns = max(extent.shape[1], 1)
    ends = np.bincount(kept // columns, minlength=extent.shape[0]).cumsum()
    return (
        target.reshape(-1).astype("int64"),
        (kept % columns).astype(indices.dtype),
        np.append(0, ends).astype(indptr.dtype),
    )


def _infer_merge(attrs, indices, indptr, extent):
    rows, _ = structure_of("merging places", indices, indptr, extent)
    return [
        ("int64", indices.shape),
        (indices.dtype, (None,)),
        (indptr.dtype, (None if rows is None else rows + 1,)),
    ]


Op(
    "csr_merge",
    "opaque",
    _infer_merge,
    _run_merge,
    lambda node, g: (None,) * 3,
    ulp=0,
    doc="""(target, indices, indptr) of the matrix with each place stored once, columns rising:
   number k of the old one belongs to number target[k] of the new one.""",
)


def _infer_held(attrs, held, ends, like):
    if (
        held.ndim != 2
        or ends.ndim != 1
        or like.ndim != 1
        or held.dtype != "bool"
        or ends.dtype != "int64"
    ):
        raise ShapeError(
            f"csr_held needs a bool matrix and two vectors, got {held.dtype} "
            f"{show(held.shape)}, {ends.dtype} {show(ends.shape)}, {show(like.shape)}"
        )
    return "int32", like.shape


@from_copies
def _run_held(attrs, held, ends, like):
    if not np.array_equal(np.diff(ends), held.sum(1)) or len(like) != held.sum():
        raise ArgumentError("csr_held: rows do not begin and end where their places do")
    return held.nonzero()[1].astype("int32")


Op(
    "csr_held",
    "opaque",
    _infer_held,
    _run_held,
    lambda node, g: (None,) * 3,
    ulp=0,
    doc="""The columns where the bool matrix is true, row by row. ends: where the rows begin and
   end; the last operand has an element for each place.""",
)


# --- build functions ---------------------------------------------------------------------------


def csr_dot(data, indices, indptr, extent, y, back=False):
    """The matrix (with `back` its transpose) times the dense matrix `y`; dtypes are promoted."""
    data, y = operands([to_node(data, "dot"), to_node(y, "dot")], "dot")
    return make("csr_dot", (data, indices, indptr, extent, y), {"back": bool(back)})


def csr_sample(indices, indptr, extent, u, v):
    """u @ v.T at the stored places only; dtypes are promoted."""
    return make("csr_sample", (indices, indptr, extent, *operands([u, v], "sampling")))


def csr_dense(data, indices, indptr, extent):
    """The matrix, dense."""
    return make("csr_dense", (data, indices, indptr, extent))


def csr_take(indices, indptr, extent, x):
    """The elements of the dense `x` at the stored places."""
    return make("csr_take", (indices, indptr, extent, to_node(x, "a sparse product")))


def csr_rows(indices, indptr, extent):
    """The row of each stored number."""
    return make("csr_rows", (indices, indptr, extent))


def csr_order(indices, indptr, extent):
    """(order, indptr) of the transpose."""
    node = make("csr_order", (indices, indptr, extent))
    return item(node, 0), item(node, 1)


def csr_interleave(count, *indptrs):
    """Positions that put the rows of several matrices side by side."""
    return make("csr_interleave", (count, *indptrs))


def csr_held(held):
    """(indices, indptr int64) of the places where the bool matrix `held` is true."""
    count = sum_(cast(held, "int64"), 1)
    ends = concatenate([constant(np.zeros(1, "int64")), cumsum(count)])
    like = broadcast_to(constant(np.zeros((), bool)), pack(getitem(ends, -1)))
    return make("csr_held", (held, ends, like)), ends


def csr_merge(indices, indptr, extent):
    """(target, indices, indptr) with each place stored once."""
    node = make("csr_merge", (indices, indptr, extent))
    return tuple(item(node, k) for k in range(3))


def turned(extent):
    """The extent of the transpose."""
    return make("transpose", (extent,), {"perm": (1, 0, 2)})
