"""SparseTensor: the handle on a sparse matrix, and its placeholders, variables and constants.

A sparse matrix is four ordinary tensors (see `ckernels.ops.sparse`), so its gradients, kernels and
plans are ordinary too. SciPy is imported where a matrix of its own comes in or goes out.
"""

import numpy as np

from .. import ops
from ..base import given
from ..base.errors import DTypeError, NotSupported, ShapeError, UsageError, user_line
from ..graph.node import constant, make
from ..graph.shapes import show
from .operands import converted, is_sparse_matrix, operand
from .parted import Parted
from .tensor import Comparison, Tensor, Variable, comparable, function_of, placeholder_node

FORMATS = ("csr", "csc")
INDEX = "int32"


def scipy_sparse():
    """The module scipy.sparse, or what to do without it."""
    try:
        import scipy.sparse
    except ImportError as problem:
        raise NotSupported("sparse matrices need SciPy: pip install ckernels[sparse]") from problem
    return scipy.sparse


def register_sparse(functions):
    """Say what the operators are: the module K.sparse, loaded where sparse tensors are made."""
    global _functions
    _functions = functions


class SparseTensor(Parted):
    """A symbolic sparse matrix, compressed along rows (`format` "csr") or columns ("csc").

    data     the stored numbers, a vector; behind indptr[-1] there is padding
    indices  the column (csr) or row (csc) of each
    indptr   slice(indptr[i], indptr[i + 1]) of both is row (csr) or column (csc) i
    extent   a node of shape (rows, columns, 0) for csr, (columns, rows, 0) for csc
    name     as given, or None

    Operators +, -, *, @ and indexing are those of `K.sparse`; gradients are with respect to the
    stored numbers.
    """

    __array_priority__ = 2000
    __array_ufunc__ = None
    ndim = 2

    def __init__(self, data, indices, indptr, extent, format="csr", name=None):
        given.word(format, FORMATS, "the format of a sparse tensor")
        self.data, self.indices, self.indptr = data, indices, indptr
        self.extent, self.format, self.name = extent, format, name
        self.line = user_line()

    @property
    def dtype(self):
        """Name of the dtype of the stored numbers."""
        return self.data.dtype

    @property
    def int_shape(self):
        """(rows, columns), None where unknown."""
        shape = self.extent.shape[:2]
        return shape if self.format == "csr" else shape[::-1]

    @property
    def shape(self):
        """The symbolic shape, an int64 vector."""
        sizes = [ops.size_of(self.extent, k) for k in (0, 1)]
        return Tensor(ops.pack(*(sizes if self.format == "csr" else sizes[::-1])))

    @property
    def parts(self):
        """The nodes data, indices, indptr and extent."""
        return self.data.node, self.indices.node, self.indptr.node, self.extent

    def with_data(self, data):
        """The same structure with other numbers."""
        data = data if isinstance(data, Tensor) else Tensor(data)
        return SparseTensor(data, self.indices, self.indptr, self.extent, self.format)

    def function_of_parts(self, build, inputs, outputs, options):
        if not callable(build) or not isinstance(options, dict):
            raise UsageError(
                "function_of_parts is what K.function asks of sparse tensors; K.function(inputs, "
                "outputs) makes functions of them"
            )
        return _functions.function_of_parts(build, inputs, outputs, options)

    def __repr__(self):
        return self.name or f"<SparseTensor {self.format} {self.dtype} {show(self.int_shape)}>"

    __hash__ = object.__hash__

    def __eq__(self, other):
        return SparseComparison(self, other) if _comparable(other) else NotImplemented

    def __ne__(self, other):
        return SparseComparison(self, other, True) if _comparable(other) else NotImplemented

    def __bool__(self):
        raise UsageError(f"{self!r} has no truth value: it is symbolic")

    def __array__(self, dtype=None, copy=None):
        raise UsageError(
            f"{self!r} is a sparse tensor where a dense one is needed: K.to_dense(x) makes it "
            "dense, K.dot and the functions of K.sparse take it as it is"
        )

    def __len__(self):
        raise UsageError(f"{self!r} has no length; K.int_shape and x.shape tell its shape")

    __iter__ = None

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        make, arguments, *rest = super().__reduce_ex__(max(protocol, 2))
        return _functions.restored, (make, arguments), *rest

    def toarray(self):
        """The matrix as a dense tensor."""
        return _functions.dense_from_sparse(self)

    def transpose(self):
        """The transpose: the same numbers in the other format."""
        other = "csc" if self.format == "csr" else "csr"
        return SparseTensor(self.data, self.indices, self.indptr, self.extent, other)

    T = property(transpose)

    @staticmethod
    def concatenate(tensors, axis):
        """Sparse tensors joined along an axis: a sparse tensor."""
        return _functions.concatenate(tensors, axis)

    def dot(self, other):
        """The product with a dense or sparse matrix, or a vector; dense."""
        return _functions.dot(self, other)

    def sum(self, axis=None):
        """The sum over an axis (None: of all), dense."""
        return _functions.sp_sum(self, axis)

    def __neg__(self):
        return _functions.neg(self)

    def __add__(self, other):
        return _functions.add(self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return _functions.sub(self, other)

    def __rsub__(self, other):
        return _functions.sub(other, self)

    def __mul__(self, other):
        return _functions.mul(self, other)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return _functions.dot(self, other)

    def __rmatmul__(self, other):
        return _functions.dot(other, self)

    def __getitem__(self, key):
        return _functions.getitem(self, key)

    def eval(self, inputs=None, session=None):
        """The value, a SciPy matrix. inputs: {placeholder: value}."""
        inputs = dict(given.items(inputs, "inputs of eval, {placeholder: value},"))
        return function_of(list(inputs), self)(*inputs.values())


def _comparable(other):
    return isinstance(other, SparseTensor) or comparable(other)


class SparseComparison(Comparison):
    """`left == right` where one side is sparse at least: dense as an operand. K.sparse.eq and
    K.sparse.neq give sparse results."""

    def sides(self):
        dense = [x.toarray() if isinstance(x, SparseTensor) else x for x in (self.left, self.right)]
        return [operand(x) for x in dense]


class SparseVariable(SparseTensor):
    """A sparse matrix whose numbers and structure are kept between calls.

    Updates change its stored numbers: `updates=[(v.data, v.data - rate * gradient.data)]`.
    """

    def __init__(self, matrix, dtype, name=None):
        what = f"the value of variable {name!r}" if name else "the value of a variable"
        matrix = compressed(matrix, None, what)
        parts = arrays_of(matrix, dtype, what)
        names = [name and f"{name}.{part}" for part in ("data", "indices", "indptr")]
        extent = constant(empty(parts[3]))
        handles = [
            Variable(np.array(a), n, shape)
            for a, n, shape in zip(parts, names, ((None,), (None,), parts[2].shape))
        ]
        super().__init__(*handles, extent, matrix.format, name)
        self._keras_shape = matrix.shape
        self._uses_learning_phase = False

    def __repr__(self):
        return self.name or f"<SparseVariable {self.format} {self.dtype} {show(self.int_shape)}>"

    def get_value(self, borrow=False):
        """The current value, a SciPy matrix that shares no memory with the variable."""
        parts = [p.get_value() for p in (self.data, self.indices, self.indptr)]
        return assembled(self.format, *parts, self.int_shape)

    def set_value(self, value, borrow=False):
        """Replace numbers and structure by those of a SciPy matrix of the same shape.

        A function that runs in another thread meanwhile may see parts of both.
        """
        what = f"the new value of {self!r}"
        matrix = compressed(value, self.format, what)
        if matrix.shape != self.int_shape:
            raise ShapeError(
                f"{what} has shape {show(matrix.shape)}, but the variable has shape "
                f"{show(self.int_shape)}"
            )
        for part, array in zip(
            (self.data, self.indices, self.indptr), arrays_of(matrix, self.dtype, what)
        ):
            part.set_value(array)

    def eval(self, inputs=None, session=None):
        """The current value, a SciPy matrix."""
        return super().eval(inputs) if inputs else self.get_value()


# ---- SciPy's matrices ---------------------------------------------------------------------------


def compressed(matrix, format, what):
    """`matrix` (of SciPy, any format) as CSR or CSC; format None: as it is, else CSR."""
    if isinstance(matrix, SparseTensor):
        raise UsageError(f"{what} is the symbolic {matrix!r}; a SciPy matrix is needed")
    if not (is_sparse_matrix(matrix) or hasattr(matrix, "tocsr")):
        shape = getattr(matrix, "shape", None)
        found = f"an array of shape {show(shape)}" if isinstance(shape, tuple) else repr(matrix)
        raise DTypeError(
            f"{what} is {found[:80]}, where a sparse matrix is needed; "
            "scipy.sparse.csr_matrix(x) makes one"
        )
    if len(matrix.shape) != 2:
        raise ShapeError(f"{what} has shape {show(matrix.shape)}; sparse tensors are matrices")
    format = format or ("csc" if matrix.format == "csc" else "csr")
    return matrix if matrix.format == format else matrix.asformat(format)


def arrays_of(matrix, dtype, what):
    """(data, indices, indptr, shape along and across the format) of a compressed matrix."""
    shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    if max(len(matrix.data), *shape) > np.iinfo(INDEX).max:
        raise ShapeError(
            f"{what} has {len(matrix.data)} stored entries and the shape "
            f"{show(matrix.shape)}: indices are {INDEX}"
        )
    return (
        converted(matrix.data, dtype, what),
        matrix.indices.astype(INDEX, copy=False),
        matrix.indptr.astype(INDEX, copy=False),
        shape,
    )


def empty(shape):
    """An array without elements, whose first sizes are `shape`."""
    return np.empty((*shape, 0), bool)


def assembled(format, data, indices, indptr, shape):
    """A SciPy matrix; what lies behind the last row is cut off."""
    kind = getattr(scipy_sparse(), f"{format}_matrix")
    used = int(indptr[-1])
    return kind((data[:used], indices[:used], indptr), shape=shape, copy=False)


# ---- making them --------------------------------------------------------------------------------


def sparse_placeholder(shape, dtype, name=None, format="csr"):
    """An input that takes SciPy matrices of the shape (ints and None) in any of their formats."""
    if len(shape) != 2:
        raise ShapeError(
            f"a sparse placeholder is a matrix; it cannot have the shape {show(shape)}"
        )
    along = tuple(shape if format == "csr" else shape[::-1])
    ends = None if along[0] is None else along[0] + 1
    title = given.name(name) or "a sparse input"
    parts = [
        Tensor(placeholder_node(kind, sizes, f"{title}.{part}"))
        for kind, sizes, part in (
            (dtype, (None,), "data"),
            (INDEX, (None,), "indices"),
            (INDEX, (ends,), "indptr"),
        )
    ]
    extent = placeholder_node("bool", (*along, 0), f"{title}.shape")
    tensor = SparseTensor(*parts, extent, format, name)
    tensor._keras_shape, tensor._uses_learning_phase = tuple(shape), False
    tensor.number = np.dtype(tensor.dtype)
    return tensor


def sparse_constant(matrix, name=None):
    """A SciPy matrix as a sparse tensor that does not change."""
    matrix = compressed(matrix, None, "the sparse constant")
    *parts, shape = arrays_of(matrix, matrix.dtype.name, "the sparse constant")
    return SparseTensor(
        *(Tensor(constant(p)) for p in parts), constant(empty(shape)), matrix.format, name
    )


def is_input(x):
    """Whether a sparse tensor was made by `sparse_placeholder`."""
    return all(n.op.name == "placeholder" for n in x.parts)


def extent_like(rows, columns):
    """A node of shape (rows, columns, 0) for sizes that are ints or nodes."""
    if all(isinstance(n, int) for n in (rows, columns)):
        return constant(empty((rows, columns)))
    one = constant(np.empty((1, 1, 0), bool))
    return make("broadcast_to", (one, ops.pack(rows, columns, 0)))
