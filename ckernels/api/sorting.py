"""Orders along an axis: sorting, the largest elements, and what is found by them; counts."""

import numpy as np

from .. import ops
from .operands import as_array, node_of, operand
from .tensor import Tensor


def sort(x, axis=-1):
    """`x` in rising order along `axis`, NaN last.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axis : int, default -1
        None: of the flattened tensor.

    Returns
    -------
    Tensor
        Of the shape of x, or a vector.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.sort(np.array([3, 1, 2])).eval()
    array([1, 2, 3])
    """
    return Tensor(ops.sort(node_of(x), axis))


def argsort(x, axis=-1):
    """The indices that sort `x` along `axis`; equal elements keep their order.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    axis : int, default -1
        Along which to sort; None: `x` is flattened first.

    Returns
    -------
    Tensor
        Of dtype int64 and the shape of `x`, or a vector for axis=None.

    Raises
    ------
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.argsort(np.array([3, 1, 2])).eval()
    array([1, 2, 0])
    """
    return Tensor(ops.argsort(node_of(x), axis))


def top_k(x, k, axis=-1):
    """The `k` largest elements along `axis`, falling; of equals the first.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    k : int or Tensor
        A scalar; a negative one gives the -k smallest, rising.
    axis : int, default -1
        Along which they are compared.

    Returns
    -------
    values : Tensor
        Along `axis` of size k.
    indices : Tensor
        Where they are along it, int64.

    Raises
    ------
    ShapeError
        For an axis of fewer elements, or that does not exist.
    IndexOutOfBounds
        For an axis of fewer elements where a call says `k`.

    Examples
    --------
    >>> values, indices = K.top_k(np.array([3, 1, 2]), 2)
    >>> values.eval(), indices.eval()
    (array([3, 2]), array([0, 2]))
    """
    return tuple(Tensor(n) for n in ops.top_k(node_of(x), _plain(k), axis))


def partition(x, kth, axis=-1):
    """`x` in an order in which the elements `kth` stand where sorting puts them.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension.
    kth : int or list of int
        Before such an element are no larger ones, behind it no smaller ones.
    axis : int, default -1
        Along which they are put in order; None: of the flattened tensor.

    Returns
    -------
    Tensor
        Of the shape of x, or a vector.

    Raises
    ------
    ShapeError
        For an axis that does not exist.
    IndexOutOfBounds
        Where the axis has no element `kth`.

    Examples
    --------
    >>> K.partition(np.array([3, 1, 2]), 1).eval()[1]
    np.int64(2)
    """
    return Tensor(ops.partition(node_of(x), kth, axis))


def median(x, axis=None, keepdims=False):
    """The middle of the sorted elements along `axis`, of an even number the mean of the two there.

    Parameters
    ----------
    x : tensor or array
        Of real numbers, of any shape.
    axis : int, optional
        The axis that goes; None: all.
    keepdims : bool, default False
        Whether it stays, with size 1.

    Returns
    -------
    Tensor
        Of the shape of x without that axis; NaN where an element is. Of integers float64.

    Raises
    ------
    ShapeError
        For an axis that does not exist.
    IndexOutOfBounds
        For an axis of no elements.
    DTypeError
        For complex numbers, which have no order.

    Examples
    --------
    >>> K.median(np.array([[3.0, 1.0, 2.0], [4.0, 5.0, 9.0]]), axis=1).eval()
    array([2., 5.])
    """
    return Tensor(ops.median(node_of(x), axis, keepdims))


def quantile(x, q, axis=None, method="linear", keepdims=False):
    """The quantiles `q` along `axis`.

    Parameters
    ----------
    x : tensor or array
        Of real numbers, of any shape.
    q : float, list or Tensor
        Numbers from 0 to 1; the axis of a vector comes first in the result.
    axis : int, optional
        The axis that goes; None: all.
    method : str, default "linear"
        "linear", "lower", "higher", "nearest" or "midpoint", as in NumPy.
    keepdims : bool, default False
        Whether it stays, with size 1.

    Returns
    -------
    Tensor
        NaN where an element is.

    Raises
    ------
    ArgumentError
        For a `q` beyond 0 and 1 or of more than one axis, and a method that does not exist.
    ShapeError
        For an axis that does not exist.
    IndexOutOfBounds
        For an axis of no elements.

    Notes
    -----
    The gradient flows to the elements around a quantile.

    Examples
    --------
    >>> K.quantile(np.array([0.0, 1.0, 2.0, 3.0]), [0.25, 0.5]).eval()
    array([0.75, 1.5 ])
    """
    return Tensor(ops.quantile(node_of(x), _plain(q), axis, method, keepdims))


def percentile(x, q, axis=None, method="linear", keepdims=False):
    """`quantile` with `q` from 0 to 100.

    Parameters
    ----------
    x : tensor or array
        Of real numbers, of any shape.
    q : float, list or Tensor
        Numbers from 0 to 100; the axis of a vector comes first in the result.
    axis : int, optional
        The axis that goes; None: all.
    method : str, default "linear"
        As in `quantile`.
    keepdims : bool, default False
        Whether it stays, with size 1.

    Returns
    -------
    Tensor
        NaN where an element is.

    Raises
    ------
    ArgumentError
        For a `q` beyond 0 and 100, and a method that does not exist.

    Examples
    --------
    >>> K.percentile(np.array([0.0, 1.0, 2.0, 3.0]), 50).eval()
    array(1.5)
    """
    q = (
        ops.true_div(q.node, 100)
        if isinstance(q, Tensor)
        else np.true_divide(as_array(q, "q"), 100)
    )
    return Tensor(ops.quantile(node_of(x), q, axis, method, keepdims))


def searchsorted(x, v, side="left", sorter=None):
    """Where the elements of `v` would be put into the vector `x` to keep it rising.

    Parameters
    ----------
    x : tensor or array
        A vector, rising, or put in order by `sorter`.
    v : tensor or array
        Of any shape.
    side : {"left", "right"}, default "left"
        "left" before or "right" behind equal ones.
    sorter : tensor or array, optional
        Indices that sort `x`.

    Returns
    -------
    Tensor
        int64, of the shape of v.

    Raises
    ------
    ShapeError
        Where `x` is no vector.
    ArgumentError
        For a side that does not exist.

    Examples
    --------
    >>> K.searchsorted(np.array([1, 2, 2, 5]), np.array([2, 9])).eval()
    array([1, 4])
    """
    sorter = sorter if sorter is None else node_of(sorter)
    return Tensor(ops.searchsorted(node_of(x), operand(v), side, sorter))


def unique(x, return_index=False, return_inverse=False, return_counts=False):
    """The different elements of `x`, rising.

    Parameters
    ----------
    x : tensor or array
        Of any shape; it is flattened.
    return_index : bool, default False
        The index of each one's first occurrence in the flattened `x` too.
    return_inverse : bool, default False
        For each element of `x` its number among them too, in the shape of `x`.
    return_counts : bool, default False
        How often each occurs too.

    Returns
    -------
    Tensor or tuple of Tensor
        A vector whose length is known only in a call; with what is asked for a tuple, in that
        order.

    Notes
    -----
    All NaN are one number. The gradient flows to the first occurrences.

    Examples
    --------
    >>> values, counts = K.unique(K.constant([3.0, 1.0, 3.0]), return_counts=True)
    >>> values.eval(), counts.eval()
    (array([1., 3.], dtype=float32), array([1, 2]))
    """
    found = ops.unique(node_of(x), return_index, return_inverse, return_counts)
    return tuple(map(Tensor, found)) if isinstance(found, tuple) else Tensor(found)


def bincount(x, weights=None, minlength=0):
    """How often each integer from 0 on occurs in the vector `x`, or the sum of its `weights`.

    Parameters
    ----------
    x : tensor or array
        A vector of integers that are not negative.
    weights : tensor or array, optional
        A vector with one for each element of `x`.
    minlength : int or Tensor, default 0
        The least length of the result.

    Returns
    -------
    Tensor
        A vector. Its length is known only in a call: the largest of `x` and one more, at least
        `minlength`.

    Raises
    ------
    ShapeError
        Where `x` is no vector, or `weights` has another length.
    DTypeError
        Where `x` is not of integers.
    CheckError
        In a call, if a number is negative.

    Examples
    --------
    >>> K.bincount(K.constant([0, 2, 2], dtype="int64")).eval()
    array([1, 0, 2])
    >>> K.bincount(np.array([0, 1, 1]), np.array([0.5, 1.0, 2.0])).eval()
    array([0.5, 3. ])
    """
    weights = weights if weights is None else node_of(weights)
    return Tensor(ops.bincount(node_of(x), weights, _plain(minlength)))


def diff(x, n=1, axis=-1):
    """The differences of neighbours along `axis`, `n` times over.

    Parameters
    ----------
    x : tensor or array
        Of at least one dimension; of bool, whether neighbours differ.
    n : int, default 1
        How often.
    axis : int, default -1
        Along which.

    Returns
    -------
    Tensor
        Of the shape of `x`, the axis shorter by `n`, at least 0.

    Raises
    ------
    ArgumentError
        For an `n` below 0.
    ShapeError
        For an axis that does not exist.

    Examples
    --------
    >>> K.diff(np.array([1, 4, 9])).eval()
    array([3, 5])
    """
    return Tensor(ops.diff(node_of(x), n, axis))


def _plain(x):
    """The node of a handle; anything else as it is."""
    return getattr(x, "node", x)
