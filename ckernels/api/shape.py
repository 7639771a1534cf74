"""Shapes: joining, reordering, repeating and padding tensors; ranges of numbers."""

import numpy as np

from .. import ops
from ..base import given
from ..base.errors import ShapeError, UsageError
from ..graph.shapes import axes_of, axis_of, show
from .operands import integer, node_of, reshaped, shape_vector
from .sparsetensor import SparseTensor
from .tensor import Tensor
from .variables import is_sparse, to_dense


def concatenate(tensors, axis=-1):
    """Tensors joined along an existing axis.

    Parameters
    ----------
    tensors : list of tensor or array
        Of one number of dimensions, and of equal sizes but along `axis`.
    axis : int, default -1
        Along which they are joined.

    Returns
    -------
    Tensor
        Of sparse ones a sparse tensor, of some a dense one.

    Raises
    ------
    ShapeError
        Where the other sizes differ.

    Examples
    --------
    >>> K.concatenate([K.zeros((2, 1)), K.ones((2, 2))], axis=1).eval()
    array([[0., 1., 1.],
           [0., 1., 1.]], dtype=float32)
    """
    if isinstance(tensors, (list, tuple)) and any(map(is_sparse, tensors)):
        if all(map(is_sparse, tensors)):
            return SparseTensor.concatenate(tensors, axis)
        tensors = [to_dense(t) if is_sparse(t) else t for t in tensors]
    return Tensor(ops.concatenate(_list_of(tensors, "concatenate"), axis))


def stack(x, axis=0):
    """Tensors of one shape joined along a new axis.

    Parameters
    ----------
    x : list of tensor or array
        At least one.
    axis : int, default 0
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        With one dimension more, of the dtype that all promote to.

    Raises
    ------
    ShapeError
        For none, for other shapes, and for an axis that does not exist.

    Examples
    --------
    >>> K.stack([K.constant([1, 2]), K.constant([3, 4])], axis=1).eval()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    return Tensor(ops.stack(_list_of(x, "stack"), axis))


def _list_of(tensors, name):
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise UsageError(f"{name} needs a list of tensors, got {type(tensors).__name__}")
    if not tensors:
        raise ShapeError(f"{name} needs at least one tensor")
    return [node_of(t) for t in tensors]


def reshape(x, shape):
    """`x` with another shape.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    shape : tuple of int and Tensor, or a vector Tensor
        One int may be -1: what is left.

    Returns
    -------
    Tensor
        The same elements in C order.

    Raises
    ------
    ShapeError
        Where the elements do not fit.

    Examples
    --------
    >>> K.int_shape(K.reshape(K.zeros((2, 6)), (3, -1)))
    (3, 4)
    """
    return Tensor(reshaped(x, shape))


def permute_dimensions(x, pattern):
    """`x` with its axes in the order `pattern`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    pattern : tuple of int
        Every axis of `x` once.

    Returns
    -------
    Tensor
        Axis i is the axis pattern[i] of x.

    Raises
    ------
    ShapeError
        Where `pattern` is no order of the axes.

    Examples
    --------
    >>> K.int_shape(K.permute_dimensions(K.zeros((2, 3, 4)), (2, 0, 1)))
    (4, 2, 3)
    """
    axes = given.sequence(pattern, "the pattern")
    axes = tuple(given.whole(p, "an axis of the pattern") for p in axes)
    return Tensor(ops.transpose(node_of(x), axes))


def transpose(x):
    """`x` with its axes reversed.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        Of the shape of x reversed.

    Examples
    --------
    >>> K.int_shape(K.transpose(K.zeros((2, 3))))
    (3, 2)
    """
    x = node_of(x)
    return Tensor(ops.transpose(x, tuple(reversed(range(x.ndim)))))


def flatten(x):
    """`x` as a vector.

    Parameters
    ----------
    x : tensor or array
        Of any shape.

    Returns
    -------
    Tensor
        Its elements row by row, the last axis the fastest.

    Examples
    --------
    >>> K.int_shape(K.flatten(K.zeros((2, 3))))
    (6,)
    >>> K.flatten(np.array([[1, 2], [3, 4]])).eval()
    array([1, 2, 3, 4])
    """
    return Tensor(ops.flatten(node_of(x)))


def batch_flatten(x):
    """`x` as a matrix with the same first axis.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.

    Returns
    -------
    Tensor
        Of shape (batch, product of the other sizes).

    Raises
    ------
    ShapeError
        For a scalar.

    Examples
    --------
    >>> K.int_shape(K.batch_flatten(K.zeros((2, 3, 4))))
    (2, 12)
    """
    x = node_of(x)
    if x.ndim == 0:
        raise ShapeError("batch_flatten needs at least one dimension, got a scalar")
    return Tensor(ops.flatten(x, 2) if x.ndim > 1 else ops.expand(x, (1,)))


def expand_dims(x, axis=-1):
    """`x` with a new axis of size 1.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis : int, default -1
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        With one dimension more.

    Examples
    --------
    >>> K.int_shape(K.expand_dims(K.zeros((2, 3)), 1))
    (2, 1, 3)
    """
    x = node_of(x)
    return Tensor(ops.expand(x, (axis_of(integer(axis, "axis"), x.ndim + 1),)))


def squeeze(x, axis):
    """`x` without its axis (or axes) of size 1 at index `axis`.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis : int or tuple of int
        The axes that go.

    Returns
    -------
    Tensor
        Of the other axes.

    Raises
    ------
    ShapeError
        For an axis of another size, or that does not exist.

    Examples
    --------
    >>> K.int_shape(K.squeeze(K.zeros((2, 1, 3)), 1))
    (2, 3)
    """
    x = node_of(x)
    return Tensor(ops.squeeze(x, axes_of(axis, x.ndim)))


def repeat_elements(x, rep, axis):
    """Each element of `x` repeated `rep` times along `axis`, as np.repeat.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    rep : int
        At least 0.
    axis : int
        Along which they stand side by side.

    Returns
    -------
    Tensor
        Along `axis` of rep times the size.

    Raises
    ------
    ShapeError
        For an axis that does not exist, and a negative `rep`.
    UsageError
        Where `rep` is no int.

    Examples
    --------
    >>> K.repeat_elements(np.array([1, 2]), 2, axis=0).eval()
    array([1, 1, 2, 2])
    """
    return Tensor(ops.repeat(node_of(x), integer(rep, "rep"), axis))


def repeat(x, n):
    """A matrix repeated along a new axis in its middle.

    Parameters
    ----------
    x : tensor or array
        (samples, dim).
    n : int or Tensor
        A scalar: how often.

    Returns
    -------
    Tensor
        (samples, n, dim).

    Raises
    ------
    ShapeError
        For an `x` that is no matrix, and a negative `n`.

    Examples
    --------
    >>> K.int_shape(K.repeat(K.zeros((2, 3)), 5))
    (2, 5, 3)
    """
    x = node_of(x)
    if x.ndim != 2:
        raise ShapeError(f"repeat needs a tensor of 2 dimensions, got shape {show(x.shape)}")
    sizes = (ops.size_of(x, 0), _count(n, "n of repeat"), ops.size_of(x, 1))
    return Tensor(ops.broadcast_to(ops.expand(x, (1,)), sizes))


def tile(x, n):
    """`x` tiled n[i] times along axis i, np.tile.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    n : int, tuple of int and Tensor, or Tensor
        An int tiles the last axis (NumPy); a tensor is a scalar, or a vector of known length.

    Returns
    -------
    Tensor
        Along axis i of n[i] times the size.

    Raises
    ------
    ShapeError
        For a negative count.

    Examples
    --------
    >>> K.tile(np.array([1, 2]), 2).eval()
    array([1, 2, 1, 2])
    """
    x = node_of(x)
    if isinstance(n, Tensor) and n.ndim == 1:
        n = list(n)
    counts = given.sequence(n, "n") if isinstance(n, (list, tuple, np.ndarray)) else (n,)
    counts = tuple(_count(c, "a count of tile") for c in counts)
    return Tensor(ops.tile(x, counts))


def _count(count, what):
    """How often to repeat: a scalar node, or an int that is not negative."""
    if isinstance(count, Tensor):
        if count.ndim:
            shape = show(count.node.shape)
            raise ShapeError(f"{what} must be a scalar, not a tensor of shape {shape}")
        return count.node
    count = integer(count, what)
    if count < 0:
        raise ShapeError(f"{what} is {count}: nothing repeats a negative number of times")
    return count


def reverse(x, axes):
    """`x` reversed along an axis or several.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axes : int or list of int
        The axes.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.reverse(np.array([1, 2, 3]), 0).eval()
    array([3, 2, 1])
    """
    x = node_of(x)
    axes = axes_of(axes, x.ndim)
    return Tensor(ops.flip(x, axes))


def arange(start, stop=None, step=1, dtype="int32"):
    """A vector start, start + step, ... below stop.

    Parameters
    ----------
    start : int, number or Tensor
        A scalar, the first element. Where it is the only argument it is the stop, and the start is
        0.
    stop : int, number or Tensor, optional
        A scalar that the elements do not reach.
    step : int, number or Tensor, default 1
        A scalar, not 0; below 0 the elements fall.
    dtype : str, default "int32"
        Of the result.

    Returns
    -------
    Tensor
        A vector. Its length is known only in a call where it follows from tensors.

    Raises
    ------
    ShapeError
        For a step of 0, and for bounds that are no scalars.
    DTypeError
        For a dtype that does not exist.

    Examples
    --------
    >>> K.arange(2, 8, 2).eval()
    array([2, 4, 6], dtype=int32)
    >>> K.arange(0, 1, 0.25, dtype="float32").eval()
    array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    bounds = [b.node if isinstance(b, Tensor) else b for b in (start, stop, step)]
    return Tensor(ops.arange(*bounds, dtype))


def temporal_padding(x, padding=(1, 1)):
    """Zeros before and after the middle axis of a tensor of 3 dimensions.

    Parameters
    ----------
    x : tensor or array
        (batch, steps, dim).
    padding : tuple of int, default (1, 1)
        How many steps before and after.

    Returns
    -------
    Tensor
        (batch, before + steps + after, dim).

    Raises
    ------
    ShapeError
        For another number of dimensions, and negative padding.

    Examples
    --------
    >>> K.int_shape(K.temporal_padding(K.zeros((2, 3, 4)), (1, 2)))
    (2, 6, 4)
    """
    x = node_of(x)
    if x.ndim != 3:
        raise ShapeError(
            f"temporal_padding needs a tensor of 3 dimensions, got shape {show(x.shape)}"
        )
    left, right = (integer(p, "padding") for p in padding)
    return Tensor(ops.pad(x, ((0, 0), (left, right), (0, 0))))


def broadcast_to(x, shape):
    """`x` repeated along its axes of size 1, and along new first axes, to `shape`.

    Parameters
    ----------
    x : tensor or array
        Of any shape that broadcasts to `shape`.
    shape : tuple of int and Tensor, or Tensor
        Ints and scalar tensors, or a vector tensor of known length.

    Returns
    -------
    Tensor
        Of this shape.

    Raises
    ------
    ShapeError
        Where `x` does not broadcast to it.

    Examples
    --------
    >>> K.broadcast_to(np.array([1, 2]), (2, 2)).eval()
    array([[1, 2],
           [1, 2]])
    """
    return Tensor(ops.broadcast_to(node_of(x), shape_vector(shape)))


def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    axis1, axis2 : int
        The two.

    Returns
    -------
    Tensor
        With as many dimensions as x.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.int_shape(K.swapaxes(K.zeros((2, 3, 4)), 0, 2))
    (4, 3, 2)
    """
    return Tensor(ops.swapaxes(node_of(x), axis1, axis2))


def moveaxis(x, source, destination):
    """`x` with one axis moved to another position; the others keep their order.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    source : int
        The axis that moves.
    destination : int
        Where it stands in the result.

    Returns
    -------
    Tensor
        With as many dimensions as x.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.int_shape(K.moveaxis(K.zeros((2, 3, 4)), 0, 2))
    (3, 4, 2)
    """
    return Tensor(ops.moveaxis(node_of(x), source, destination))


def roll(x, shift, axis=None):
    """Elements moved by `shift` places along `axis`; what leaves one end enters at the other.

    Parameters
    ----------
    x : tensor or array
        Of any shape.
    shift : int or Tensor
        A scalar.
    axis : int, optional
        None: of the flattened tensor, in the shape of `x`.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ShapeError
        For an axis that does not exist.
    DTypeError
        Where `shift` is no integer.

    Examples
    --------
    >>> K.roll(np.array([1, 2, 3, 4]), 1).eval()
    array([4, 1, 2, 3])
    """
    return Tensor(ops.roll(node_of(x), getattr(shift, "node", shift), axis))


def split(x, parts, axis=0):
    """The pieces of `x` along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    parts : int or list of int
        How many equal ones, or the size of each.
    axis : int, default 0
        Along which it is cut.

    Returns
    -------
    list of Tensor
        In their order.

    Raises
    ------
    ShapeError
        Where the parts do not make up the axis, and for an axis that does not exist.

    Examples
    --------
    >>> a, b = K.split(np.arange(6), [2, 4])
    >>> a.eval(), b.eval()
    (array([0, 1]), array([2, 3, 4, 5]))
    >>> [K.int_shape(p) for p in K.split(K.zeros((2, 6)), 3, axis=1)]
    [(2, 2), (2, 2), (2, 2)]
    """
    if isinstance(parts, Tensor):
        parts = list(parts)
    if isinstance(parts, (list, tuple, np.ndarray)):
        parts = given.sequence(parts, "parts")
        parts = [_count(p, "a size of split") for p in parts]
    else:
        parts = integer(parts, "the number of parts of split")
    return [Tensor(n) for n in ops.split(node_of(x), parts, axis)]
