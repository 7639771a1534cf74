"""Sums, products and comparisons element by element, and functions of the stored numbers."""

import numpy as np

from ... import ops
from ...base.errors import ShapeError, UsageError
from ...graph.node import Node, constant, make
from ...graph.shapes import show
from ...ops import sparse as rows
from ..operands import node_of, operand
from ..sparsetensor import INDEX, SparseTensor
from ..tensor import Tensor
from .construct import (
    as_format,
    as_sparse_variable,
    csr_from_dense,
    dense_from_sparse,
    is_sparse_tensor,
)
from .structure import remove0


def neg(x):
    """-x."""
    x = as_sparse_variable(x)
    return x.with_data(ops.neg(x.data.node))


def _sides(x, y, name):
    """Both operands, sparse ones as sparse tensors; at least one is."""
    pair = [as_sparse_variable(a) if is_sparse_tensor(a) else a for a in (x, y)]
    if not any(isinstance(a, SparseTensor) for a in pair):
        raise UsageError(f"K.sparse.{name} needs a sparse operand; K has {name} of dense tensors")
    shapes = [a.int_shape if isinstance(a, SparseTensor) else node_of(a).shape for a in pair]
    if all(len(s) == 2 for s in shapes) and any(
        None not in (a, b) and a != b for a, b in zip(*shapes)
    ):
        raise ShapeError(
            f"{name} of matrices of shapes {show(shapes[0])} and {show(shapes[1])}: "
            "sparse matrices are not broadcast"
        )
    return pair


def add(x, y):
    """x + y: sparse when both are, else dense. No broadcasting.

    >>> import scipy.sparse as sp
    >>> K.sparse.add(sp.eye(2), np.ones((2, 2))).eval()
    array([[2., 1.],
           [1., 2.]])
    """
    return _added(*_sides(x, y, "add"), ops.add)


def sub(x, y):
    """x - y: sparse when both are, else dense. No broadcasting."""
    return _added(*_sides(x, y, "sub"), ops.sub)


def _added(x, y, build):
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return _on_union(x, y, build)
    return Tensor(build(*(_dense_matrix(a) for a in (x, y))))


def _dense_matrix(x):
    x = dense_from_sparse(x).node if is_sparse_tensor(x) else node_of(x)
    if x.ndim != 2:
        raise ShapeError(
            f"a sparse matrix meets dense matrices only, not the shape {show(x.shape)}"
        )
    return x


def _on_union(x, y, build):
    """`build` of the numbers of two sparse matrices, where at least one of them stores one."""
    y = as_format(y, x.format)
    total = [ops.concatenate(pair) for pair in zip(x.parts[:2], y.parts[:2])]
    data, indices = total
    order = rows.csr_interleave(indices, x.indptr.node, y.indptr.node)
    ends = ops.add(x.indptr.node, y.indptr.node)
    target, kept, kept_ends = rows.csr_merge(ops.take(indices, order), ends, x.extent)
    first = ops.lt(order, ops.size_of(x.data.node, 0))
    data = ops.take(data, order)
    zero = ops.cast(constant(0), data.dtype)
    like = ops.cast(kept, data.dtype)
    sides = [
        make("scatter_add", (like, target, ops.where(first, *pair)), {"axis": 0})
        for pair in ((data, zero), (zero, data))
    ]
    return SparseTensor(Tensor(build(*sides)), Tensor(kept), Tensor(kept_ends), x.extent, x.format)


def mul(x, y):
    """x * y, elementwise, sparse; a number or a dense matrix multiplies the stored numbers."""
    x, y = _sides(x, y, "mul")
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return _on_union(x, y, ops.mul)
    x, y = (x, y) if isinstance(x, SparseTensor) else (y, x)
    y = operand(y)
    if not isinstance(y, Node) or y.ndim == 0:
        return x.with_data(ops.mul(x.data.node, y))
    return x.with_data(ops.mul(x.data.node, _at_places(x, y)))


def _at_places(x, y):
    """The elements of the dense matrix `y` where `x` stores numbers."""
    y = _dense_matrix(y)
    y = y if x.format == "csr" else ops.transpose(y, (1, 0))
    return rows.csr_take(*x.parts[1:], y)


def _compared(name, doc):
    build = getattr(ops, "ne" if name == "neq" else name)

    def compare(x, y):
        x, y = _sides(x, y, name)
        both = isinstance(x, SparseTensor) and isinstance(y, SparseTensor)
        if both and name in ("neq", "lt", "gt"):  # not true where both are 0
            found = _on_union(x, y, build)
            return remove0(found.with_data(ops.cast(found.data.node, "uint8")))
        found = build(*(_dense_matrix(a) for a in (x, y)))
        return csr_from_dense(Tensor(ops.cast(found, "uint8"))) if both else Tensor(found)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"{doc}: a sparse uint8 matrix when both are sparse, else a dense bool one."
    return compare


eq, neq = _compared("eq", "x == y, elementwise"), _compared("neq", "x != y, elementwise")
lt, le = _compared("lt", "x < y, elementwise"), _compared("le", "x <= y, elementwise")
gt, ge = _compared("gt", "x > y, elementwise"), _compared("ge", "x >= y, elementwise")


def _scaled(x, s, along):
    """x times the vector `s` along its compressed axis (True), or across it."""
    s = node_of(s)
    if s.ndim != 1:
        raise ShapeError(f"a scale is a vector, not of shape {show(s.shape)}")
    index = rows.csr_rows(*x.parts[1:]) if along else x.indices.node
    return x.with_data(ops.mul(x.data.node, ops.take(s, index)))


def row_scale(x, s):
    """Row i times s[i], sparse."""
    x = as_sparse_variable(x)
    return _scaled(x, s, x.format == "csr")


def col_scale(x, s):
    """Column j times s[j], sparse."""
    x = as_sparse_variable(x)
    return _scaled(x, s, x.format == "csc")


# ---- functions of the stored numbers ------------------------------------------------------------


def _on_stored(name, build, doc):
    def structured(x):
        x = as_sparse_variable(x)
        return x.with_data(build(x.data.node))

    structured.__name__ = structured.__qualname__ = name
    structured.__doc__ = f"{doc} of the stored numbers; what is not stored stays 0."
    return structured


for _name, _build in {
    "structured_sigmoid": ops.sigmoid,
    "structured_exp": ops.exp,
    "structured_log": ops.log,
    "sin": ops.sin,
    "arcsin": ops.asin,
    "tan": ops.tan,
    "arctan": ops.atan,
    "sinh": ops.sinh,
    "arcsinh": ops.asinh,
    "tanh": ops.tanh,
    "arctanh": ops.atanh,
    "rad2deg": ops.rad2deg,
    "deg2rad": ops.deg2rad,
    "rint": ops.round,
    "ceil": ops.ceil,
    "floor": ops.floor,
    "trunc": ops.trunc,
    "sgn": ops.sign,
    "log1p": ops.log1p,
    "expm1": ops.expm1,
    "sqr": ops.square,
    "sqrt": ops.sqrt,
}.items():
    globals()[_name] = _on_stored(_name, _build, _name.removeprefix("structured_"))


def _with_number(name, build, doc):
    def structured(x, y):
        x, y = as_sparse_variable(x), operand(y)
        if isinstance(y, Node) and y.ndim:
            raise ShapeError(f"{name} takes a scalar, not the shape {show(y.shape)}")
        return x.with_data(build(x.data.node, y))

    structured.__name__ = structured.__qualname__ = name
    structured.__doc__ = f"{doc} for each stored number; what is not stored stays 0."
    return structured


structured_pow = _with_number("structured_pow", ops.pow, "x ** y")
structured_add = _with_number("structured_add", ops.add, "x + y")
structured_minimum = _with_number("structured_minimum", ops.minimum, "min(x, y)")
structured_maximum = _with_number("structured_maximum", ops.maximum, "max(x, y)")


def sp_ones_like(x):
    """Ones with the structure of `x`."""
    x = as_sparse_variable(x)
    return x.with_data(ops.ones_like(x.data.node))


def sp_zeros_like(x):
    """The shape of `x` with no stored number."""
    x = as_sparse_variable(x)
    nothing = [Tensor(constant(np.zeros(0, d))) for d in (x.dtype, INDEX)]
    ends = Tensor(ops.zeros_like(x.indptr.node))
    return SparseTensor(*nothing, ends, x.extent, x.format)
