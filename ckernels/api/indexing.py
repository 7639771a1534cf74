"""Reading and writing parts of tensors by index; Python indexing is `x[...]` on the handle."""

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError
from .config import floatx
from .operands import integer, node_of, operand
from .tensor import Tensor, need_tensor
from .variables import shape_vector


def gather(reference, indices):
    """The rows reference[indices].

    Parameters
    ----------
    reference : tensor or array
        (rows, ...).
    indices : tensor or array
        Integers of any shape; negative ones count back.

    Returns
    -------
    Tensor
        indices.shape + reference.shape[1:].

    Raises
    ------
    IndexOutOfBounds
        In a call with an index beyond the rows.

    Examples
    --------
    >>> K.gather(np.array([[1, 2], [3, 4], [5, 6]]), [2, 0, -1]).eval()
    array([[5, 6],
           [1, 2],
           [5, 6]])
    """
    indices = _integers(indices, "the indices of gather")
    return Tensor(ops.take(node_of(reference), indices, 0))


def take(x, indices, axis=0):
    """The entries at integer `indices` along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    indices : tensor or array
        Integers, of any shape; negative ones count from the end.
    axis : int, default 0
        Along which they count.

    Returns
    -------
    Tensor
        With the axes of `indices` in the place of `axis`.

    Raises
    ------
    DTypeError
        For indices that are no integers.
    ShapeError
        For an axis that does not exist.
    IndexOutOfBounds
        For an index beyond the axis.

    Examples
    --------
    >>> K.take(np.array([[1, 2], [3, 4]]), [1], axis=1).eval()
    array([[2],
           [4]])
    """
    return Tensor(ops.take(node_of(x), _integers(indices, "the indices of take"), axis))


def _integers(x, what):
    if isinstance(x, (list, tuple)) and not x:
        x = np.zeros(0, "int64")
    node = node_of(x, what)
    if node.dtype not in dtypes.INTEGERS:
        raise DTypeError(f"{what} must be integers, not {node.dtype}; use K.cast(x, 'int64')")
    return node


def one_hot(indices, num_classes):
    """1 at the class and 0 elsewhere, along a new last axis of size `num_classes`.

    Parameters
    ----------
    indices : tensor or array
        Class numbers of any shape.
    num_classes : int
        The size of the new axis.

    Returns
    -------
    Tensor
        indices.shape + (num_classes,), of dtype floatx().

    Examples
    --------
    >>> K.one_hot([0, 2], 3).eval()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    indices = _integers(indices, "the indices of one_hot")
    classes = integer(num_classes, "num_classes")
    if classes < 0:
        raise ArgumentError(f"one_hot needs a num_classes of 0 or more, got {classes}")
    return Tensor(ops.cast(ops.one_hot(indices, classes), floatx()))


def set_subtensor(x, y):
    """A tensor like a, with `y` in the place of x, where x was made by indexing: x = a[...].

    Parameters
    ----------
    x : Tensor
        The result of indexing.
    y : tensor or array
        Of a shape that broadcasts to that of `x`.

    Returns
    -------
    Tensor
        Of the shape and dtype of a, which stays as it is.

    Raises
    ------
    DTypeError
        Where `x` was not made by indexing, and for a `y` of a dtype that a cannot hold.
    ShapeError
        Where `y` does not fit the part.

    Examples
    --------
    >>> x = K.zeros((4,))
    >>> K.set_subtensor(x[1:3], 5).eval()
    array([0., 5., 5., 0.], dtype=float32)
    """
    base, key = _origin(x, "set_subtensor")
    return Tensor(ops.set_subtensor(base.node, key, operand(y)))


def inc_subtensor(x, y):
    """A tensor like a, with `y` added in the place of x, where x was made by indexing: x = a[...].

    Positions that occur more than once are added to each time.

    Parameters
    ----------
    x : Tensor
        The result of indexing.
    y : tensor, array or number
        Of a shape that broadcasts to that of `x`.

    Returns
    -------
    Tensor
        Of the shape and dtype of a.

    Raises
    ------
    DTypeError
        Where `x` is no result of indexing, and where the dtype of `y` does not fit that of a.
    ShapeError
        Where the shape of `y` does not fit.

    Examples
    --------
    >>> x = K.zeros((3,))
    >>> K.inc_subtensor(x[[0, 0, 2]], 1).eval()
    array([2., 0., 1.], dtype=float32)
    """
    base, key = _origin(x, "inc_subtensor")
    return Tensor(ops.inc_subtensor(base.node, key, operand(y)))


def _origin(x, name):
    origin = getattr(need_tensor(x, f"the first argument of {name}"), "_subtensor", None)
    if origin is None:
        raise DTypeError(
            f"the first argument of {name} must be the result of indexing, e.g. "
            f"{name}(x[2:5], y); {x!r} is not"
        )
    return origin


def nonzero(x):
    """Where the elements are that are not zero.

    Parameters
    ----------
    x : Tensor
        Of at least one dimension.

    Returns
    -------
    tuple of Tensor
        A vector of indices, int64, for each axis; how long they are a call decides.

    Raises
    ------
    ShapeError
        For a scalar.
    DTypeError
        For what is no tensor of ckernels.

    Examples
    --------
    >>> [i.eval() for i in K.nonzero(K.constant([[0, 1], [1, 0]]))]
    [array([0, 1]), array([1, 0])]
    """
    return need_tensor(x, "the argument of nonzero").nonzero()


def flatnonzero(x):
    """The indices of the elements of the flattened `x` that are not zero.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        A vector, int64; its length is known only in a call.

    Examples
    --------
    >>> K.flatnonzero(K.constant([[0, 1], [1, 0]])).eval()
    array([1, 2])
    """
    return Tensor(ops.flatnonzero(node_of(x)))


def take_along_axis(x, indices, axis):
    """One entry along `axis` for each position of the other axes, np.take_along_axis.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    indices : tensor or array
        Integers, of as many dimensions as `x`; it picks along `axis` at each position of the other
        axes, which broadcast.
    axis : int
        Along which they count.

    Returns
    -------
    Tensor
        Along `axis` of the size of `indices`.

    Raises
    ------
    DTypeError
        For indices that are no integers.
    ShapeError
        For another number of dimensions, sizes that do not fit, and an axis that does not exist.
    IndexOutOfBounds
        For an index beyond the axis.

    Examples
    --------
    >>> K.take_along_axis(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), 1).eval()
    array([[2],
           [3]])
    """
    indices = _integers(indices, "the indices of take_along_axis")
    return Tensor(ops.take_along_axis(node_of(x), indices, axis))


def choose(index, choices, mode="raise"):
    """At each place the element of choices[index[place]]; all of them broadcast.

    Parameters
    ----------
    index : tensor or array
        Of integers.
    choices : list of tensors, or tensor
        Tensors, or one tensor whose first axis counts them.
    mode : {"raise", "wrap", "clip"}, default "raise"
        An index out of range raises, wraps around or is limited to the ends.

    Returns
    -------
    Tensor
        Of the shape that index and choices broadcast to.

    Raises
    ------
    CheckError
        In a call, with mode="raise", where an index is out of range.
    DTypeError
        Where the index is not of integers.
    ArgumentError
        For another mode.

    Examples
    --------
    >>> K.choose(np.array([1, 0]), [np.array([1, 2]), np.array([10, 20])]).eval()
    array([10,  2])
    """
    if isinstance(choices, (list, tuple)):
        choices = [operand(c) for c in choices]
    else:
        choices = node_of(choices)
    return Tensor(ops.choose_from(_integers(index, "the index of choose"), choices, mode))


def compress(condition, x, axis=None):
    """The slices of `x` along `axis` where the vector `condition` is not 0.

    Parameters
    ----------
    condition : tensor or array
        A vector, at most as long as the axis.
    x : tensor or array
        Of any shape.
    axis : int, optional
        None: the elements of the flattened `x`.

    Returns
    -------
    Tensor
        Of the shape of `x`, or a vector; the length of this axis is known only in a call.

    Raises
    ------
    ShapeError
        Where the condition is no vector, and for an axis that does not exist.
    IndexOutOfBounds
        In a call, where the condition holds beyond the end of the axis.

    Examples
    --------
    >>> K.compress(K.constant([0, 1]), K.constant([[1.0, 2.0], [3.0, 4.0]]), axis=1).eval()
    array([[2.],
           [4.]], dtype=float32)
    """
    return Tensor(ops.compress(node_of(condition), node_of(x), axis))


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The position in memory of the element `multi_index` of an array of the sizes `dims`.

    Parameters
    ----------
    multi_index : tuple of tensor, or tensor
        A tensor of integers for each axis, or one with the axes first.
    dims : tuple of int
        The sizes.
    mode : {"raise", "wrap", "clip"}, default "raise"
        What an index beyond its axis is.
    order : {"C", "F"}, default "C"
        "C" for rows, "F" for columns.

    Returns
    -------
    Tensor
        int64, of the shape of an index.

    Raises
    ------
    ArgumentError
        For a mode or order that does not exist.
    ShapeError
        For another number of indices than of sizes.
    DTypeError
        For indices that are no integers.
    ValueError
        With "raise", for an index beyond its axis.

    Examples
    --------
    >>> K.ravel_multi_index((np.array([1]), np.array([2])), (2, 3)).eval()
    array([5])
    """
    if isinstance(multi_index, (list, tuple)):
        multi_index = [_integers(i, "an index") for i in multi_index]
    else:
        multi_index = _integers(multi_index, "an index")
    return Tensor(ops.ravel_multi_index(multi_index, shape_vector(dims), mode, order))


def unravel_index(flat, dims, order="C"):
    """The index of the element at position `flat` in the memory of an array of the sizes `dims`.

    Parameters
    ----------
    flat : tensor or array
        Integers, of any shape.
    dims : tuple of int
        The sizes.
    order : {"C", "F"}, default "C"
        "C" for rows, "F" for columns.

    Returns
    -------
    tuple of Tensor
        One for each axis, int64, of the shape of flat.

    Raises
    ------
    ArgumentError
        For an order that does not exist.
    DTypeError
        For positions that are no integers.
    ShapeError
        For a position beyond the array; it is a ValueError.

    Examples
    --------
    >>> [i.eval() for i in K.unravel_index(np.array([5]), (2, 3))]
    [array([1]), array([2])]
    """
    found = ops.unravel_index(_integers(flat, "a position"), shape_vector(dims), order)
    return tuple(map(Tensor, found))
