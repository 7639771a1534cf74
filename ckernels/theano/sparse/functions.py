"""theano.sparse: matrices of which few numbers are stored, over K.sparse.

A sparse variable is four tensors of the engine (the numbers, where they stand, the shape), so its
gradients and kernels are ordinary; SciPy's matrices go in and come out. Gradients are structured:
they have the places of what they are by.
"""

import functools

import numpy as np

from ...api import sparse as own
from ...api.shape import stack as _own_stack
from ...api.sparse.construct import as_format
from ...api.sparsetensor import (
    INDEX,
    SparseTensor,
    assembled,
    compressed,
    empty,
    scipy_sparse,
    sparse_constant,
    sparse_placeholder,
)
from ...api.tensor import Tensor
from ...api.variables import ones_like as _own_ones_like
from ...base.errors import ArgumentError, NotSupported, UsageError
from ..base.config import config
from ..base.hooks import register_hook as _register_hook
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply, Constant, Variable
from ..graph.pickling import deep_copied, reduced
from ..graph.type import Type
from ..handles.sharedvar import SharedVariable, TensorSharedVariable
from ..handles.type import TensorType, name_of
from ..handles.variables import as_tensor_variable, wrap
from ..tensor.creation import arange
from ..tensor.elementwise import conj as of_tensor
from ..tensor.joining import stack
from ..user_ops.perform import Standing, standing_for

sparse_formats = ["csc", "csr"]
all_dtypes = set(own.all_dtypes)
complex_dtypes = sorted(d for d in all_dtypes if d.startswith("complex"))
float_dtypes = sorted(d for d in all_dtypes if d.startswith("float"))
int_dtypes = sorted(d for d in all_dtypes if d.startswith("int"))
uint_dtypes = sorted(d for d in all_dtypes if d.startswith("uint"))
integer_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = complex_dtypes + float_dtypes
discrete_dtypes = integer_dtypes


class SparseType(Type):
    """Sparse matrices of a format, 'csr' or 'csc', and a dtype."""

    ndim, broadcastable = 2, (False, False)
    dtype_set = all_dtypes

    def __init__(self, format, dtype):
        if format not in sparse_formats:
            raise NotSupported(f"sparse matrices are csr or csc here, not {format!r}")
        self.format, self.dtype = format, name_of(dtype)
        if self.dtype not in all_dtypes:
            raise NotSupported(f"a sparse matrix cannot be of dtype {dtype}")

    def filter(self, value, strict=False, allow_downcast=None):
        """`value` as a SciPy matrix of this type; TypeError where it does not fit."""
        if isinstance(value, Variable):
            raise UsageError(f"a matrix is needed, not the symbolic {value}")
        if not scipy_sparse().issparse(value):
            if strict or not hasattr(value, "__array__"):
                raise UsageError(f"{self} is a sparse matrix of SciPy, not {type(value).__name__}")
            raise UsageError(
                f"{self} needs a sparse matrix: scipy.sparse.{self.format}_matrix(x) makes one"
            )
        if strict and (value.format != self.format or value.dtype != self.dtype):
            raise UsageError(f"{self} is strict: {value.format} of {value.dtype} was given")
        made = compressed(value, self.format, "the matrix")
        if made.dtype != self.dtype:
            if not allow_downcast and not np.can_cast(made.dtype, self.dtype, "safe"):
                raise UsageError(f"a matrix of {made.dtype} may not fit in {self}: use astype")
            made = made.astype(self.dtype)
        return made

    def make_variable(self, name=None):
        plain = sparse_placeholder((None, None), self.dtype, name, self.format)
        standing = Standing()
        data, indices, indptr, extent = (standing_for(node, standing) for node in plain.parts)
        parts = [Tensor(node) for node in (data, indices, indptr)]
        made = SparseVariable.on(SparseTensor(*parts, extent, self.format, name), self, name)
        standing.note(made)
        return made

    def make_constant(self, value, name=None):
        return SparseConstant.of(self.filter(value), name)

    @property
    def Variable(self):  # noqa: N802 (Theano's name)
        """The class of the variables of this type."""
        return SparseVariable

    @property
    def Constant(self):  # noqa: N802
        """The class of the constants of this type."""
        return SparseConstant

    def filter_variable(self, other, allow_convert=True):
        other = as_sparse_variable(other)
        if other.type != self:
            raise UsageError(f"{other} has the type {other.type} where {self} is needed")
        return other

    @staticmethod
    def may_share_memory(a, b):
        """Whether two matrices, or a matrix and an array, lie in the same memory."""
        parts = [
            [x.data, x.indices, x.indptr] if scipy_sparse().issparse(x) else [x] for x in (a, b)
        ]
        return any(np.may_share_memory(p, q) for p in parts[0] for q in parts[1])

    @staticmethod
    def values_eq(a, b):
        return a.shape == b.shape and a.dtype == b.dtype and abs(a - b).sum() == 0

    @staticmethod
    def values_eq_approx(a, b, eps=1e-6):
        """Whether two matrices are equal up to rounding."""
        return a.shape == b.shape and bool(np.allclose(a.toarray(), b.toarray(), atol=eps))

    def __eq__(self, other):
        return type(self) is type(other) and (self.format, self.dtype) == (
            other.format,
            other.dtype,
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((SparseType, self.format, self.dtype))

    def __str__(self):
        return f"Sparse[{self.dtype}, {self.format}]"

    __repr__ = __str__


def _operator(name, swapped=False):
    def method(self, other):
        function = globals()[name]
        return function(other, self) if swapped else function(self, other)

    return method


class SparseVariable(SparseTensor, Variable):
    """A symbolic sparse matrix."""

    __hash__ = object.__hash__
    __eq__, __ne__ = object.__eq__, object.__ne__
    __str__ = Variable.__str__
    __repr__ = Variable.__repr__
    eval = Variable.eval

    @classmethod
    def on(cls, tensor, kind=None, name=None):
        """The variable of a sparse tensor of K."""
        self = object.__new__(cls)
        kind = kind or SparseType(tensor.format, tensor.dtype)
        Variable.__init__(self, kind, None, None, name)
        handles = [
            p if isinstance(p, Variable) else wrap(p.node)
            for p in (tensor.data, tensor.indices, tensor.indptr)
        ]
        SparseTensor.__init__(self, *handles, tensor.extent, tensor.format, name)
        self.extent_handle = wrap(tensor.extent)
        return self

    @property
    def tensor_parts(self):
        """The tensors it is made of: numbers, indices, ends of rows or columns, shape."""
        return [self.data, self.indices, self.indptr, self.extent_handle]

    def split(self, value):
        """The arrays of those parts for a value."""
        shape = value.shape if self.format == "csr" else value.shape[::-1]
        data = np.ascontiguousarray(value.data, dtype=self.dtype)
        return [data, value.indices.astype(INDEX), value.indptr.astype(INDEX), empty(shape)]

    def join(self, arrays):
        """The value, a SciPy matrix, of such arrays."""
        data, indices, indptr, extent = (np.asarray(a) for a in arrays)
        shape = extent.shape[:2] if self.format == "csr" else extent.shape[1::-1]
        return assembled(self.format, data, indices, indptr, shape)

    @property
    def size(self):
        """How many numbers are stored."""
        return csm_data(self).size  # noqa: F821 (a row of FUNCTIONS)

    def part_apply(self, handle):
        """The Apply that makes `handle`, on the node of one of its parts, of this variable."""
        parts = [handle if p.node is handle.node else wrap(p.node) for p in self.tensor_parts]
        return Apply.made(Parts(), [self], parts)

    def clone(self):
        return self.type(self.name)

    def __reduce_ex__(self, protocol):
        return reduced(self)

    def __deepcopy__(self, memo):
        return deep_copied(self, memo)

    shape = property(lambda self: applied("shape", _shape, self))
    broadcastable = (False, False)
    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")
    __dot__ = __matmul__ = _operator("structured_dot")
    __rdot__ = __rmatmul__ = _operator("structured_dot", True)

    def __bool__(self):
        return True

    def __neg__(self):
        return neg(self)

    def __getitem__(self, key):
        return getitem(self, key)

    def dot(self, other):
        return dot(self, other)

    def sum(self, axis=None, sparse_grad=False):
        return sp_sum(self, axis, sparse_grad)

    def transpose(self):
        return transpose(self)

    T = property(transpose)

    def toarray(self):
        return dense_from_sparse(self)

    def astype(self, dtype):
        return cast(self, dtype)

    def zeros_like(self):
        return sp_zeros_like(self)


def _shape(x):
    return x.shape


class SparseConstant(SparseVariable, Constant):
    """A sparse matrix that is part of a graph."""

    @classmethod
    def of(cls, matrix, name=None):
        self = cls.on(sparse_constant(matrix), None, name)
        self.data_held = matrix
        return self

    @property
    def value(self):
        """The matrix."""
        return self.data_held

    def signature(self):
        m = self.data_held
        return self.type, m.shape, m.data.tobytes(), m.indices.tobytes(), m.indptr.tobytes()

    def again(self):
        """A constant of a matrix of its own."""
        return type(self).of(self.data_held.copy(), self.name)

    def clone(self):
        return type(self).of(self.data_held, self.name)

    def __reduce_ex__(self, protocol):
        return type(self).of, (self.data_held, self.name)


class SparseTensorSharedVariable(SparseVariable, SharedVariable):
    """A sparse matrix that functions share; its shape stays."""

    @classmethod
    def of(cls, matrix, name=None, borrow=False):
        tensor = sparse_constant(matrix)
        kind = SparseType(matrix.format, matrix.dtype.name)
        for part, dtype in (("data", kind.dtype), ("indices", INDEX), ("indptr", INDEX)):
            value = np.array(getattr(matrix, part), dtype=dtype)
            title = name and f"{name}.{part}"
            setattr(
                tensor, part, TensorSharedVariable(title, TensorType(dtype, (False,)), value, False)
            )
        self = cls.on(tensor, kind, name)
        self.container = _Held(self)
        return self

    def get_value(self, borrow=False, return_internal_type=False):
        """The matrix, a copy."""
        parts = [p.get_value() for p in (self.data, self.indices, self.indptr)]
        return self.join([*parts, np.asarray(self.extent.value)])

    def set_value(self, new_value, borrow=False):
        """Replace numbers and places by those of a matrix of the same shape."""
        made = self.type.filter(new_value)
        if made.shape != self.int_shape:
            raise ArgumentError(f"the matrix has shape {made.shape}, the variable {self.int_shape}")
        parts = (self.data, self.indices, self.indptr)
        for part, array in zip(parts, self.split(made)):
            part.set_value(array)

    def again(self):
        """A shared variable with the value of this one now, and its update."""
        made = type(self).of(self.get_value(), self.name)
        made.default_update = self.default_update
        return made

    def clone(self):
        return type(self).of(self.get_value(), self.name)

    def __reduce_ex__(self, protocol):
        made = type(self).of, (self.get_value(), self.name)
        update = self.default_update
        return made if update is None else (*made, {"default_update": update})


class _Held:
    """The value of a sparse shared variable, as its container."""

    def __init__(self, variable):
        self.variable = variable

    @property
    def value(self):
        return self.variable.get_value()

    @value.setter
    def value(self, value):
        self.variable.set_value(value)

    data = value


def sparse_constructor(value, name=None, strict=False, allow_downcast=None, borrow=False,
                       format=None):  # fmt: skip
    """A shared variable with a SciPy matrix for its value."""
    if not scipy_sparse().issparse(value):
        raise UsageError(f"a sparse matrix of SciPy is needed, not {type(value).__name__}")
    return SparseTensorSharedVariable.of(compressed(value, format, "the value"), name, borrow)


shared = sparse_constructor
_register_hook("sparse_shared", sparse_constructor)


# ---- variables ---------------------------------------------------------------------------------


def is_sparse_variable(x):
    """Whether `x` is a sparse variable; NotImplementedError for what is no matrix."""
    return isinstance(x, SparseTensor)


def _is_sparse(x):
    """Whether `x` is a matrix of SciPy; NotImplementedError for what is no matrix at all."""
    if not (isinstance(x, np.ndarray) or scipy_sparse().issparse(x)):
        raise NotSupported("a matrix of SciPy or an array of NumPy is needed", x)
    return scipy_sparse().issparse(x)


def _is_dense(x):
    """Whether `x` is an array of NumPy; NotImplementedError for what is no matrix at all."""
    return not _is_sparse(x)


def _is_dense_variable(x):
    """Whether a variable is a tensor; NotImplementedError for what is no matrix."""
    if not isinstance(x, Variable):
        raise NotSupported("a variable is needed", x)
    return not is_sparse_variable(x)


_is_sparse_variable = is_sparse_variable  # Theano's name


def as_sparse_variable(x, name=None):
    """`x` as a sparse variable: variables pass, SciPy's matrices become constants."""
    if isinstance(x, Apply):
        x = x.default_output()
    if isinstance(x, SparseVariable):
        return x
    if isinstance(x, SparseTensor):
        return SparseVariable.on(x)
    if not scipy_sparse().issparse(x):
        raise UsageError(f"{x!r} makes no sparse variable: a SciPy matrix does", type(x))
    return SparseConstant.of(compressed(x, None, "the constant"), name)


as_sparse = as_sparse_variable


def as_sparse_or_tensor_variable(x, name=None):
    """`x` as a sparse variable if it is sparse, else as a tensor."""
    sparse = isinstance(x, SparseTensor) or scipy_sparse().issparse(x)
    return as_sparse_variable(x, name) if sparse else as_tensor_variable(x, name)


def constant(x, name=None):
    """A sparse constant of a SciPy matrix."""
    if not scipy_sparse().issparse(x):
        raise UsageError("sparse.constant needs a SciPy matrix", x)
    return as_sparse_variable(x, name)


def matrix(format, name=None, dtype=None):
    """A sparse matrix of a format; dtype: floatX by default."""
    return SparseType(format, config.floatX if dtype is None else dtype)(name)


def csr_matrix(name=None, dtype=None):
    """A sparse matrix, compressed along its rows."""
    return matrix("csr", name, dtype)


def csc_matrix(name=None, dtype=None):
    """A sparse matrix, compressed along its columns."""
    return matrix("csc", name, dtype)


csr_dmatrix, csr_fmatrix = SparseType("csr", "float64"), SparseType("csr", "float32")
csc_dmatrix, csc_fmatrix = SparseType("csc", "float64"), SparseType("csc", "float32")


# ---- operations --------------------------------------------------------------------------------


class SparseOp(Op):
    """A function of K.sparse on variables; what is no variable is a parameter of the op."""

    of_engine = True  # its results are tensors of the engine, put together

    def __init__(self, name, build, slots, options):
        self.name, self.build, self.slots, self.options = name, build, slots, options

    def make_node(self, *inputs):
        inputs = [as_sparse_or_tensor_variable(x) for x in inputs]
        given = map(_plain, inputs)
        found = self.build(
            *[next(given) if s is None else s[0] for s in self.slots], **dict(self.options)
        )
        several = isinstance(found, (tuple, list))
        made = [_variable(x) for x in (found if several else [found])]
        apply = Apply.made(self, inputs, made)
        for v in made:
            v.owner = apply
        return apply

    def __call__(self, *inputs, **kwargs):
        made = self.make_node(*inputs).outputs
        return made[0] if len(made) == 1 else made

    def _lower(self, apply):
        for old, new in zip(apply.outputs, self.make_node(*apply.inputs).outputs):
            if isinstance(old, SparseVariable):
                old.data, old.indices, old.indptr = new.data, new.indices, new.indptr
                old.extent, old.extent_handle = new.extent, new.extent_handle
            else:
                old.node = new.node

    def _key(self):
        return self.name, repr(self.slots), repr(self.options)

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __str__(self):
        return self.name


def _kind(name, function, *takes):
    """A class of Ops by Theano's name: an object of it, called, is `function` with what the class
    `takes` beside variables; parameters that only say how Theano computes are accepted."""

    def init(self, *parameters, **options):
        given = {**dict(zip(takes, parameters)), **options}
        self.name, self.given = name, {k: given.get(k) for k in takes}

    def call(self, *inputs, **kwargs):
        if hasattr(self, "build"):
            return SparseOp.__call__(self, *inputs, **kwargs)
        inputs = [inputs] if function in ("hstack", "vstack") else inputs
        return globals()[function](*inputs, *self.given.values(), **kwargs)

    def key(self):
        return SparseOp._key(self) if hasattr(self, "build") else (name, repr(self.given))

    methods = {"__init__": init, "__call__": call, "_key": key, "__module__": __name__,
               "__doc__": f"The op of `{function}`."}  # fmt: skip
    return type(name, (SparseOp,), methods)


KINDS = {}  # {function: the class of its ops}
for _row in """
    SquareDiagonal square_diagonal; EnsureSortedIndices ensure_sorted_indices; Usmm usmm;
    StructuredDot structured_dot; SamplingDot sampling_dot; TrueDot true_dot; Dot dot; Diag diag;
    SpSum sp_sum axis; Neg neg; Transpose transpose; Remove0 remove0; Cast cast out_type;
    ColScaleCSC col_scale; RowScaleCSC row_scale; CSMProperties csm_properties;
    GetItem2d getitem; ConstructSparseFromList construct_sparse_from_list; AddSS add; MulSS mul;
    DenseFromSparse dense_from_sparse; HStack hstack format dtype; VStack vstack format dtype
""".replace("\n", " ").split(";"):
    _name, _of, *_takes = _row.split()
    globals()[_name] = KINDS[_of] = _kind(_name, _of, *_takes)
ALIKE = """
    AddSS add_s_s add; AddSD add_s_d add; AddSSData add_s_s_data add; MulSS mul_s_s mul;
    MulSD mul_s_d mul; MulSV mul_s_v col_scale;
    StructuredAddSV structured_add_s_v structured_add_s_v;
    EqualSS equal_s_s eq; EqualSD equal_s_d eq; NotEqualSS not_equal_s_s neq;
    NotEqualSD not_equal_s_d neq; LessThanSS less_than_s_s lt; LessThanSD less_than_s_d lt;
    GreaterThanSS greater_than_s_s gt; GreaterThanSD greater_than_s_d gt;
    LessEqualSS less_equal_s_s le; LessEqualSD less_equal_s_d le;
    GreaterEqualSS greater_equal_s_s ge;
    GreaterEqualSD greater_equal_s_d ge; GetItem2d get_item_2d getitem;
    GetItemScalar get_item_scalar getitem; GetItemList get_item_list rows_of;
    GetItem2Lists get_item_2lists numbers_at; StructuredDotGradCSC sdg_csc dot_grad_csc;
    StructuredDotGradCSR sdg_csr dot_grad_csr
""".replace("\n", " ")  # class, an object of it, the function that it is when called
for _row in ALIKE.split(";"):
    _name, _object, _of = _row.split()
    if _name not in globals():
        globals()[_name] = _kind(_name, _of)
    globals()[_object] = globals()[_name]()


class Parts(Op):
    """The tensors that a sparse variable is made of: what gradients are written with."""

    __props__ = ()
    of_engine = True

    def make_node(self, x):
        return Apply.made(self, [x], [wrap(p.node) for p in x.tensor_parts])

    def _lower(self, apply):
        for old, part in zip(apply.outputs, apply.inputs[0].tensor_parts):
            old.node = part.node


def _plain(x):
    """A variable as a tensor of K alone, whose operators are K's."""
    if isinstance(x, SparseVariable):
        parts = [Tensor(p.node) for p in (x.data, x.indices, x.indptr)]
        return SparseTensor(*parts, x.extent, x.format)
    return Tensor(x.node)


def _variable(x):
    """The variable on what a function of K gave."""
    if isinstance(x, SparseTensor):
        return SparseVariable.on(x)
    return wrap(x.node) if isinstance(x, Tensor) else as_tensor_variable(x)


def _symbolic(x):
    return isinstance(x, (Variable, Tensor, SparseTensor, np.ndarray)) or scipy_sparse().issparse(x)


def applied(name, build, *args, **options):
    """The variable, or variables, of a function of K on arguments."""
    inputs = [x for x in args if _symbolic(x)]
    slots = tuple(None if _symbolic(x) else (x,) for x in args)
    kind = KINDS.get(name[0].lower() + name[1:], SparseOp)
    op = object.__new__(kind)
    SparseOp.__init__(op, name, build, slots, tuple(sorted(options.items())))
    return op(*inputs)


def _function(name, build=None):
    build = build or getattr(own, name)

    def function(*args, **kwargs):
        return applied(name, build, *args, **kwargs)

    function.__name__, function.__doc__ = name, build.__doc__
    return function


def _compared(compare, x, y):
    """Theano's: uint8, in the format of the first where both sides are sparse, else dense."""
    found = compare(x, y)
    if isinstance(found, SparseTensor):
        return as_format(found, x.format)
    return found.astype("uint8")


def _comparison(name):
    compare = getattr(own, name)
    function = _function(name, functools.partial(_compared, compare))
    function.__doc__ = compare.__doc__
    return function


eq, neq, lt, le, gt, ge = map(_comparison, ("eq", "neq", "lt", "le", "gt", "ge"))
FUNCTIONS = """
add sub mul neg row_scale col_scale structured_add structured_exp structured_log
structured_maximum structured_minimum structured_pow structured_sigmoid sp_ones_like sp_zeros_like
arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sgn sin sinh sqr sqrt tan
tanh trunc csm_data csm_indices csm_indptr csm_shape csm_properties csr_from_dense csc_from_dense
transpose cast bcast wcast icast lcast fcast dcast ccast zcast true_dot sampling_dot
usmm sp_sum diag square_diagonal ensure_sorted_indices remove0 clean construct_sparse_from_list
""".split()
for _name in FUNCTIONS:
    globals()[_name] = _function(_name)
neg, sp_sum, transpose, cast, sp_zeros_like = map(
    globals().__getitem__, ("neg", "sp_sum", "transpose", "cast", "sp_zeros_like")
)


def dot(x, y):
    """The product of two matrices, at least one of them sparse; dense."""
    if not any(isinstance(v, SparseTensor) or scipy_sparse().issparse(v) for v in (x, y)):
        raise UsageError("one factor of sparse.dot is a sparse matrix; tensor.dot takes dense ones")
    return applied("dot", own.dot, x, y)


def dense_from_sparse(x):
    """A sparse matrix as a dense one."""
    return applied("dense_from_sparse", own.dense_from_sparse, as_sparse_variable(x))


class CSM(SparseOp):
    """The op of (data, indices, indptr, shape) that makes a sparse matrix of `format`."""

    def __init__(self, format, kmap=None):
        if kmap is not None:
            raise NotSupported("CSM has no kmap in Theano 1.0 either: index the data beforehand")
        super().__init__(f"CSM{{{format}}}", own.CSM(format), (None,) * 4, ())
        self.format = format

    def make_node(self, data, indices, indptr, shape):
        return super().make_node(*map(as_tensor_variable, (data, indices, indptr, shape)))

    def __reduce__(self):
        return CSM, (self.format,)


CSR, CSC = CSM("csr"), CSM("csc")


class CSMGrad(SparseOp):
    """The op of (data, indices, indptr, shape) of a matrix and of its gradient: what the gradient
    has at the places of the matrix, in the order of its data."""

    def __init__(self, kmap=None):
        if kmap is not None:
            raise NotSupported("CSMGrad has no kmap in Theano 1.0 either")
        super().__init__("CSMGrad", _at_places_of, (None,) * 8, ())


csm_grad = CSMGrad


def _at_places_of(data, indices, indptr, shape, g_data, g_indices, g_indptr, g_shape):
    # Compressed along columns, a matrix is taken for its transpose, and so is its gradient.
    rows, other = indptr.shape[0] - 1, shape[0] + shape[1] - (indptr.shape[0] - 1)
    extent = _own_stack([rows, other])
    places = own.CSR(_own_ones_like(data), indices, indptr, extent)
    given = own.CSR(g_data, g_indices, g_indptr, extent)
    return own.csm_data(own.mul(places, own.dense_from_sparse(given)))


class SparseFromDense:
    """The op of csr_from_dense and csc_from_dense, by the format it makes."""

    def __init__(self, format):
        self.format = format

    def __call__(self, x):
        return globals()[f"{self.format}_from_dense"](x)


def _joined(name, format, dtype, *blocks):
    return getattr(own, name)(list(blocks), format, dtype)


def _stacked(name):
    def function(blocks, format=None, dtype=None):
        build = functools.partial(_joined, name, format, dtype)
        return applied(name, build, *map(as_sparse, blocks))

    function.__name__, function.__doc__ = name, getattr(own, name).__doc__
    return function


hstack, vstack = _stacked("hstack"), _stacked("vstack")


def structured_add_s_v(x, y):
    """x with y[j] added to each stored number of column j."""
    return add(x, col_scale(sp_ones_like(x), y))  # noqa: F821 (a row of FUNCTIONS)


def rows_of(x, index):
    """The rows of a sparse matrix that a list of integers names, as a sparse matrix."""
    x, index = as_sparse_variable(x), as_tensor_variable(index)
    if index.ndim != 1 or index.dtype not in integer_dtypes:
        raise UsageError(f"rows are named by a vector of integers, not by one of {index.type}")
    height, count = x.shape[0], index.shape[0]
    ones = index.ones_like().astype(x.dtype)  # a matrix with a one in each row, times x
    one_hot = CSR(ones, arange(height)[index], arange(count + 1), stack([count, height]))
    return applied("as_format", as_format, true_dot(one_hot, x), x.format)  # noqa: F821


def numbers_at(x, ind1, ind2):
    """The vector of x[ind1[k], ind2[k]]."""
    return dense_from_sparse(x)[as_tensor_variable(ind1), as_tensor_variable(ind2)]


def getitem(x, index):
    """x[i, j], a number; x[a:b:s, c:d:t], a sparse matrix; x[rows], with a list, a sparse matrix;
    x[rows, columns], with two lists, the vector of these numbers."""
    x = as_sparse_variable(x)
    if not isinstance(index, tuple):
        index = (index, slice(None)) if isinstance(index, slice) else (index,)
    if all(np.ndim(k) == 1 if isinstance(k, list) else getattr(k, "ndim", 0) == 1 for k in index):
        return rows_of(x, *index) if len(index) == 1 else numbers_at(x, *index)
    steps = [k for k in index if isinstance(k, slice) and k.step not in (None, 1)]
    if steps and len(index) == 2 and isinstance(index[0], slice) and isinstance(index[1], slice):
        for axis, key in enumerate(index):
            x = x if key == slice(None) else _strided(x, axis, key)
        return x
    slices = [isinstance(k, slice) for k in index]
    if len(index) == 2 and slices[0] != slices[1]:
        raise NotSupported(
            "x[i, a:b] would be a sparse vector, which there is not: x[i:i + 1, a:b] is a matrix"
        )
    parts = [v for k in index for v in ((k.start, k.stop) if isinstance(k, slice) else (k,))]
    return applied("getitem", _own_getitem, x, tuple(slices), *parts)


def _own_getitem(x, slices, *parts):
    parts = iter(parts)
    key = tuple(slice(next(parts), next(parts)) if s else next(parts) for s in slices)
    return own.getitem(x, key if len(key) != 1 else key[0])


def _strided(x, axis, key):
    if axis:
        return transpose(_strided(transpose(x), 0, key))
    return rows_of(x, arange(x.shape[0])[key])


def _structured_dot(x, y):
    """x @ y, of which one at least is sparse: dense where one is dense, else sparse."""
    if isinstance(x, SparseTensor) or scipy_sparse().issparse(x):
        return own.structured_dot(x, y)
    return own.dot(x, y)


structured_dot = _function("structured_dot", _structured_dot)


def structured_dot_grad(sparse_A, dense_B, ga):  # noqa: N803 (Theano's names)
    """The gradient of structured_dot by the numbers stored in its first factor, at their places."""
    return sampling_dot(ga, dense_B, sp_ones_like(sparse_A))  # noqa: F821


def _dot_grad(format):
    def function(indices, indptr, b, g):
        indices, b, g = map(as_tensor_variable, (indices, b, g))
        shape = stack([g.shape[0], b.shape[0]])
        places = CSM(format)(indices.ones_like().astype(g.dtype), indices, indptr, shape)
        return csm_data(sampling_dot(g, b, places))  # noqa: F821

    return function


dot_grad_csc, dot_grad_csr = _dot_grad("csc"), _dot_grad("csr")


def structured_monoid(tensor_op):
    """A decorator: what it decorates becomes `tensor_op` on the numbers that are stored."""

    def decorator(f):
        def wrapper(x, *numbers):
            data, indices, indptr, shape = csm_properties(as_sparse_variable(x))  # noqa: F821
            return CSM(x.format)(tensor_op(data, *numbers), indices, indptr, shape)

        wrapper.__name__, wrapper.__doc__ = f.__name__, f.__doc__
        return wrapper

    return decorator


def conj(x):
    """The conjugate of each number that is stored."""
    return structured_monoid(of_tensor)(conj)(x)


def _at_places(g, x):
    return x.with_data(g)


def by_data(targets, differentiate):
    """Gradients by sparse variables: those by their numbers, at their places.

    differentiate(list of tensors) -> list of gradients.
    """
    found = differentiate([t.data if isinstance(t, SparseVariable) else t for t in targets])
    return [
        applied("AtPlaces", _at_places, g, t)
        if isinstance(t, SparseVariable) and isinstance(g, Tensor)
        else g
        for t, g in zip(targets, found)
    ]


enable_sparse = True  # what programs ask before they use sparse variables

__getattr__ = _absent_of("theano.sparse")
