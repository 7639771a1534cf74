"""Variables, placeholders and constants: making them, asking about them, their values."""

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import ArgumentError, DTypeError, ShapeError
from ..graph.node import constant as constant_node
from ..graph.shapes import product, show
from .config import float_dtype
from .operands import (
    allocated,
    as_array,
    converted,
    has_tensor,
    integer,
    is_sparse_matrix,
    known_shape,
    node_of,
    shape_vector,
    static_shape,
)
from .parted import register_parted
from .sparsetensor import (
    SparseTensor,
    SparseVariable,
    is_input,
    sparse_constant,
    sparse_placeholder,
)
from .tensor import Tensor, Variable, need_tensor, need_variable, placeholder_node

MOST_DIMENSIONS = 32  # of an array that a call takes: MAX_DIMS of the runtime


def _of_matrix(matrix):
    from . import sparse  # noqa: F401 (start-up: the operators of sparse tensors)

    return sparse_constant(matrix)


register_parted(is_sparse_matrix, _of_matrix)


def variable(value, dtype=None, name=None):
    """A variable: a tensor with a value that updates and `set_value` change.

    Parameters
    ----------
    value : array, number, nested lists or SciPy matrix
        The initial value; of a SciPy matrix the variable is sparse. It is copied.
    dtype : str, optional
        floatx() by default, whatever the dtype of `value`.
    name : str, optional
        What messages call it.

    Returns
    -------
    Variable
        Of the shape of `value`.

    Examples
    --------
    >>> import ckernels as K
    >>> K.variable([[1, 2], [3, 4]], dtype="float64", name="example_var").eval()
    array([[1., 2.],
           [3., 4.]])
    """
    if isinstance(value, SparseTensor):
        value = value.eval()
    if is_sparse_matrix(value):
        from . import sparse  # noqa: F401 (start-up: the operators of sparse tensors)

        return SparseVariable(value, float_dtype(dtype), name)
    if isinstance(value, Variable):
        value = value.get_value(borrow=True)
    elif isinstance(value, Tensor):
        value = value.eval()
    named = given.name(name)
    what = f"the value of variable {named!r}" if named else "the value of a variable"
    return Variable(_owned(as_array(value, what), float_dtype(dtype), what), name)


def _owned(array, dtype, what):
    """A C-contiguous copy of `array` in `dtype` that nobody else holds."""
    cast = converted(array, dtype, what)
    return np.array(cast, order="C", copy=True)


def constant(value, dtype=None, shape=None, name=None):
    """A tensor whose value never changes.

    Parameters
    ----------
    value : array, number or nested lists
        It is copied.
    dtype : str, optional
        floatx() by default.
    shape : tuple of int, optional
        A number is filled out to it, an array reshaped.
    name : str, optional
        What messages call it.

    Returns
    -------
    Tensor
        Of that value.

    Examples
    --------
    >>> K.constant([1, 2]).eval()
    array([1., 2.], dtype=float32)
    >>> K.constant(3, shape=(2, 2), dtype="int32").eval()
    array([[3, 3],
           [3, 3]], dtype=int32)
    """
    dtype = float_dtype(dtype)
    array = _owned(as_array(value, "the value of a constant"), dtype, "the value of a constant")
    if shape is not None:
        shape = known_shape(shape)
        if array.size == 1:
            array = np.full(shape, array.reshape(()), dtype)
        elif array.size == product(shape):
            array = array.reshape(shape)
        else:
            raise ShapeError(
                f"a constant of {array.size} elements does not fill shape {show(shape)}"
            )
    return Tensor(constant_node(array), name)


def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None):
    """An input of functions: a tensor without a value.

    Parameters
    ----------
    shape : tuple of int and None, optional
        None where a size is decided by a call. If both are given, shape is used, not `ndim`.
    ndim : int, optional
        The number of dimensions, all of unknown size.
    dtype : str, optional
        floatx() by default.
    sparse : bool, default False
        Functions take SciPy matrices for it, of any of their formats.
    name : str, optional
        Its keyword in calls, and what messages call it.

    Returns
    -------
    Tensor
        Of that shape and dtype.

    Raises
    ------
    ArgumentError
        Where neither shape nor ndim is given.

    Examples
    --------
    >>> x = K.placeholder(shape=(None, 3), name="x")
    >>> K.int_shape(x), K.dtype(x), K.ndim(x)
    ((None, 3), 'float32', 2)
    >>> K.int_shape(K.placeholder(ndim=2))
    (None, None)
    """
    if shape is None and ndim is None:
        raise ArgumentError(
            "placeholder needs a shape or an ndim, e.g. placeholder(shape=(None, 10)) or "
            "placeholder(ndim=2)"
        )
    if shape is None and not 0 <= integer(ndim, "ndim") <= MOST_DIMENSIONS:
        raise ArgumentError(f"placeholder takes an ndim of 0 to {MOST_DIMENSIONS}, got {ndim}")
    shape = (None,) * int(ndim) if shape is None else static_shape(shape)
    if len(shape) > MOST_DIMENSIONS:
        raise ShapeError(
            f"a placeholder has at most {MOST_DIMENSIONS} dimensions, not {len(shape)}"
        )
    if given.flag(sparse, "sparse"):
        from . import sparse  # noqa: F401, F811 (start-up)

        return sparse_placeholder(shape, float_dtype(dtype), name)
    tensor = Tensor(placeholder_node(float_dtype(dtype), shape, name))
    tensor._keras_shape, tensor._uses_learning_phase = shape, False
    return tensor


def is_placeholder(x):
    """Whether `x` is an input made by `placeholder` (or the learning phase).

    Parameters
    ----------
    x : object
        Sparse inputs count too.

    Returns
    -------
    bool
        False for all that is no tensor.

    Examples
    --------
    >>> K.is_placeholder(K.placeholder(ndim=1)), K.is_placeholder(K.zeros((2,)))
    (True, False)
    """
    if isinstance(x, SparseTensor):
        return is_input(x)
    return isinstance(x, Tensor) and x.node.op.name == "placeholder"


def is_variable(x):
    """Whether `x` is a variable.

    Parameters
    ----------
    x : object
        Whatever it is.

    Returns
    -------
    bool
        True for sparse variables too.

    Examples
    --------
    >>> K.is_variable(K.zeros((2,))), K.is_variable(K.constant(1))
    (True, False)
    """
    return isinstance(x, (Variable, SparseVariable))


def is_tensor(x):
    """Whether `x` is a tensor of this backend, variables included.

    Parameters
    ----------
    x : object
        Whatever it is.

    Returns
    -------
    bool
        False for NumPy arrays.

    Examples
    --------
    >>> K.is_tensor(K.constant(1)), K.is_tensor(np.ones(2))
    (True, False)
    """
    return isinstance(x, (Tensor, SparseTensor))


def is_keras_tensor(x):
    """Whether `x` has Keras metadata: made by `variable`, `placeholder` or a Keras layer.

    Parameters
    ----------
    x : Tensor
        Sparse ones too.

    Returns
    -------
    bool
        False for a constant.

    Raises
    ------
    ArgumentError
        When `x` is no tensor of this backend at all. It is a ValueError.

    Examples
    --------
    >>> K.is_keras_tensor(K.placeholder((2,))), K.is_keras_tensor(K.constant(1))
    (True, False)
    """
    if not isinstance(x, (Tensor, SparseTensor)):
        raise ArgumentError(
            f"is_keras_tensor needs a tensor of ckernels, not {type(x).__name__}: {x!r}"[:200]
        )
    return hasattr(x, "_keras_shape") or hasattr(x, "_keras_history")


def is_sparse(tensor):
    """Whether `tensor` is sparse.

    Parameters
    ----------
    tensor : object
        SciPy matrices count too.

    Returns
    -------
    bool
        False for dense tensors, and for what is no tensor.

    Examples
    --------
    >>> K.is_sparse(K.placeholder((2, 2))), K.is_sparse(K.placeholder((2, 2), sparse=True))
    (False, True)
    """
    return isinstance(tensor, SparseTensor) or is_sparse_matrix(tensor)


def to_dense(tensor):
    """`tensor` as a dense tensor.

    Parameters
    ----------
    tensor : Tensor
        Sparse or not.

    Returns
    -------
    Tensor
        Of the same shape; itself when it is dense.

    Examples
    --------
    >>> K.int_shape(K.to_dense(K.placeholder((2, 3), sparse=True)))
    (2, 3)
    """
    if is_sparse(tensor):
        return tensor.toarray()
    return need_tensor(tensor, "the argument of to_dense")


def shape(x):
    """The symbolic shape of `x`; `int_shape` is what is known already.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        An int32 vector of the sizes.

    Examples
    --------
    >>> K.shape(K.zeros((2, 3))).eval()
    array([2, 3], dtype=int32)
    """
    if isinstance(x, SparseTensor):
        return Tensor(ops.cast(x.shape.node, "int32"))
    return Tensor(ops.cast(ops.shape(node_of(x)), "int32"))


def int_shape(x):
    """The shape of `x`, as far as it is known.

    Parameters
    ----------
    x : tensor or array
        Of any shape; a `_keras_shape` on it comes first.

    Returns
    -------
    tuple of int and None
        None where a size is decided by a call.

    Examples
    --------
    >>> K.int_shape(K.placeholder((None, 3)) * 2)
    (None, 3)
    """
    if isinstance(x, Tensor):
        known = getattr(x, "_keras_shape", None)
        return tuple(known) if known is not None else x.node.shape
    return x.int_shape if isinstance(x, SparseTensor) else node_of(x).shape


def ndim(x):
    """The number of dimensions of `x`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    int
        Known without a call.

    Examples
    --------
    >>> K.ndim(K.zeros((2, 3)))
    2
    """
    return x.ndim if isinstance(x, SparseTensor) else node_of(x).ndim


def dtype(x):
    """The dtype of `x` as a string.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    str
        Such as "float32".

    Examples
    --------
    >>> K.dtype(K.constant(1, dtype="int8") * 0.5)
    'float32'
    """
    return x.dtype if isinstance(x, SparseTensor) else node_of(x).dtype


def count_params(x):
    """The number of scalars in `x`.

    Parameters
    ----------
    x : Tensor or Variable
        Of a known shape; of a variable its present value counts.

    Returns
    -------
    int
        1 for a scalar.

    Raises
    ------
    ShapeError
        When its shape is not known.

    Examples
    --------
    >>> K.count_params(K.zeros((2, 3)))
    6
    """
    if isinstance(x, Variable):
        return int(x.get_value(borrow=True).size)
    count = product(int_shape(x))
    if count is None:
        raise ShapeError(f"cannot count the elements of {x!r}: its shape is {show(int_shape(x))}")
    return count


def eval(x):
    """The value of a variable, or of an expression that needs no input, as a NumPy array, dense.

    Parameters
    ----------
    x : Tensor
        Of any shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> K.eval(K.variable([1.0, 2.0]) * 2)
    array([2., 4.], dtype=float32)
    """
    if isinstance(x, SparseTensor):
        return x.eval().toarray()
    return need_tensor(x, "the argument of eval").eval()


def get_value(x):
    """The value of a variable, a copy.

    Parameters
    ----------
    x : Variable
        Of any shape and dtype.

    Returns
    -------
    array or SciPy matrix
        Of a sparse variable a SciPy matrix, of others an array.

    Examples
    --------
    >>> K.get_value(K.variable([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    if isinstance(x, SparseVariable):
        return x.get_value()
    return need_variable(x, "the argument of get_value").get_value()


def batch_get_value(ops):
    """The values of several variables.

    Parameters
    ----------
    ops : list of Variable
        Sparse variables too.

    Returns
    -------
    list of ndarray
        Copies; SciPy matrices for sparse variables.

    Raises
    ------
    DTypeError
        Where one of them is no variable.

    Examples
    --------
    >>> K.batch_get_value([K.variable([1.0, 2.0]), K.variable(3, dtype="int32")])
    [array([1., 2.], dtype=float32), array(3, dtype=int32)]
    """
    return [get_value(x) for x in given.sequence(ops, "the argument of batch_get_value")]


def set_value(x, value):
    """Give the variable `x` a new value of the same shape.

    Parameters
    ----------
    x : Variable
        Of any shape and dtype.
    value : array or number
        Of the shape of `x`; it is converted to its dtype and copied.

    Returns
    -------
    None
        Functions see the new value from their next call on.

    Raises
    ------
    ShapeError
        Where the shapes differ; it names both.

    Examples
    --------
    >>> v = K.variable([1.0, 2.0])
    >>> K.set_value(v, [3, 4])
    >>> K.get_value(v)
    array([3., 4.], dtype=float32)
    """
    if not isinstance(x, SparseVariable):
        need_variable(x, "the first argument of set_value")
    x.set_value(value)


def batch_set_value(tuples):
    """`set_value` for each (variable, value); all or none, where one does not fit.

    Parameters
    ----------
    tuples : list of (Variable, array)
        Each value has the shape of its variable and is converted to its dtype.

    Returns
    -------
    None
        The variables are changed.

    Raises
    ------
    ShapeError
        Where a value has another shape than its variable.
    DTypeError
        Where one of them is no variable.
    UsageError
        For an item that is no pair.

    Examples
    --------
    >>> v, w = K.zeros((1,)), K.zeros((1,))
    >>> K.batch_set_value([(v, [1.0]), (w, [2.0])])
    >>> K.batch_get_value([v, w])
    [array([1.], dtype=float32), array([2.], dtype=float32)]
    """
    what = "the argument of batch_set_value"
    pairs = [given.pair(p, f"an item of {what}") for p in given.sequence(tuples, what)]
    checked = [(x, x.fitting(v) if isinstance(x, Variable) else v) for x, v in pairs]
    for x, value in checked:
        set_value(x, value)


def get_variable_shape(x):
    """The shape of a variable's present value.

    Parameters
    ----------
    x : Variable or Tensor
        Of another tensor, the static shape.

    Returns
    -------
    tuple of int or None
        None for a size that is not known.

    Examples
    --------
    >>> K.get_variable_shape(K.zeros((2, 3))), K.get_variable_shape(K.placeholder((None, 2)))
    ((2, 3), (None, 2))
    """
    if isinstance(x, Variable):
        return x.get_value(borrow=True).shape
    return int_shape(x)


def zeros(shape, dtype=None, name=None):
    """A variable filled with 0; with a symbolic shape a tensor.

    Parameters
    ----------
    shape : tuple of int and Tensor, or Tensor
        Of the result.
    dtype : str, optional
        floatx() by default.
    name : str, optional
        What messages call it.

    Returns
    -------
    Variable or Tensor
        Of that shape.

    Raises
    ------
    ShapeError
        For a negative size.
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.get_value(K.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    return _filled(0, shape, dtype, name)


def ones(shape, dtype=None, name=None):
    """A variable filled with 1; with a symbolic shape a tensor.

    Parameters
    ----------
    shape : tuple of int and Tensor, or Tensor
        Of the result.
    dtype : str, optional
        floatx() by default.
    name : str, optional
        What messages call it.

    Returns
    -------
    Variable or Tensor
        Of that shape.

    Raises
    ------
    ShapeError
        For a negative size.
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.get_value(K.ones((2,), dtype="int64"))
    array([1, 1])
    """
    return _filled(1, shape, dtype, name)


def _filled(value, shape, dtype, name):
    dtype = float_dtype(dtype)
    if isinstance(shape, Tensor) or has_tensor(shape):
        one = constant_node(np.asarray(value, dtype))
        return Tensor(ops.broadcast_to(one, shape_vector(shape)), name)
    shape = known_shape(shape)
    return Variable(allocated(lambda: np.full(shape, value, dtype), shape, dtype), name)


def eye(size, dtype=None, name=None):
    """A variable holding the identity matrix of `size` rows.

    Parameters
    ----------
    size : int
        0 or more.
    dtype : str, optional
        floatx() by default.
    name : str, optional
        Of the variable.

    Returns
    -------
    Variable
        Of shape (size, size).

    Raises
    ------
    ShapeError
        For a size below 0.
    UsageError
        For a size that is no integer.
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.get_value(K.eye(2))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = integer(size, "size")
    if rows < 0:
        raise ShapeError(f"eye makes a matrix of 0 rows or more, not of {rows}")
    dtype = float_dtype(dtype)
    return Variable(allocated(lambda: np.eye(rows, dtype=dtype), (rows, rows), dtype), name)


def zeros_like(x, dtype=None, name=None):
    """A tensor of zeros with the shape of `x`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    dtype : str, optional
        That of `x` by default.
    name : str, optional
        What messages call it.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.zeros_like(K.constant([1, 2])).eval()
    array([0., 0.], dtype=float32)
    """
    return _filled_like(0, x, dtype, name)


def ones_like(x, dtype=None, name=None):
    """A tensor of ones with the shape of `x`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    dtype : str, optional
        That of `x` by default.
    name : str, optional
        What messages call it.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.ones_like(K.constant([1, 2]), dtype="int32").eval()
    array([1, 1], dtype=int32)
    """
    return _filled_like(1, x, dtype, name)


def _filled_like(value, x, dtype, name):
    x = node_of(x)
    dtype = x.dtype if dtype is None else dtypes.name_of(dtype)
    return Tensor(ops.full_like(ops.cast(x, dtype), value), name)


def identity(x):
    """A tensor with the content of `x`: a new handle on the same expression.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> x = K.constant([1.0, 2.0])
    >>> K.identity(x) is x, K.identity(x).eval().tolist()
    (False, [1.0, 2.0])
    """
    return Tensor(node_of(x))


def cast(x, dtype):
    """`x` as a tensor of another dtype.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape. Floats lose what is behind the point when they become integers.
    dtype : str
        The dtype, as "float32".

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    DTypeError
        For a dtype that does not exist, and None.

    Examples
    --------
    >>> K.cast(K.constant([0.5, 1.5]), "int32").eval()
    array([0, 1], dtype=int32)
    """
    if dtype is None:
        raise DTypeError("cast needs the dtype to cast to, e.g. 'float32' or K.floatx(), not None")
    return Tensor(ops.cast(node_of(x), dtype))


def print_tensor(x, message=""):
    """`x`, printing `message` and its value whenever it is computed.

    Parameters
    ----------
    x : Tensor
        Of any shape.
    message : str, default ""
        What stands before the value.

    Returns
    -------
    Tensor
        The same values.

    Raises
    ------
    DTypeError
        For what is no tensor of ckernels.

    Examples
    --------
    >>> f = K.function([], K.print_tensor(K.constant(2.0), "here:") * 3)
    >>> f()
    here: 2.0
    array(6., dtype=float32)
    """
    return Tensor(ops.print_(need_tensor(x, "the argument of print_tensor").node, message))
