"""Orders along an axis: sorting, the largest elements, and what is found by them; counts."""

import numpy as np

from .. import ops
from .operands import as_array, node_of, operand
from .tensor import Tensor


def sort(x, axis=-1):
    """`x` in rising order along `axis` (None: flattened), NaN last.

    >>> K.sort(np.array([3, 1, 2])).eval()
    array([1, 2, 3])
    """
    return Tensor(ops.sort(node_of(x), axis))


def argsort(x, axis=-1):
    """The indices that sort `x` along `axis` (None: flattened); equal elements keep their order.

    >>> K.argsort(np.array([3, 1, 2])).eval()
    array([1, 2, 0])
    """
    return Tensor(ops.argsort(node_of(x), axis))


def top_k(x, k, axis=-1):
    """(values, indices) of the `k` largest elements along `axis`, falling; of equals the first.

    A negative `k` gives the -k smallest, rising. k: an int or a scalar tensor; an axis of fewer
    elements is a ShapeError, or an IndexOutOfBounds where a call says `k`.

    >>> values, indices = K.top_k(np.array([3, 1, 2]), 2)
    >>> values.eval(), indices.eval()
    (array([3, 2]), array([0, 2]))
    """
    return tuple(Tensor(n) for n in ops.top_k(node_of(x), _plain(k), axis))


def partition(x, kth, axis=-1):
    """`x` in an order along `axis` (None: flattened) in which the elements `kth` (an int or a list)
    stand where sorting puts them, no larger ones before them and no smaller ones behind.

    >>> K.partition(np.array([3, 1, 2]), 1).eval()[1]
    np.int64(2)
    """
    return Tensor(ops.partition(node_of(x), kth, axis))


def median(x, axis=None, keepdims=False):
    """The middle of the sorted elements along `axis` (None: of all), of an even number the mean of
    the two there; NaN where an element is. An axis of no elements is an IndexOutOfBounds.

    >>> K.median(np.array([[3.0, 1.0, 2.0], [4.0, 5.0, 9.0]]), axis=1).eval()
    array([2., 5.])
    """
    return Tensor(ops.median(node_of(x), axis, keepdims))


def quantile(x, q, axis=None, method="linear", keepdims=False):
    """The quantiles `q` (numbers from 0 to 1) along `axis` (None: of all); NaN where an element is.

    q: a number, a vector or a tensor; the axis of a vector comes first in the result. method:
    "linear", "lower", "higher", "nearest" or "midpoint", as in NumPy. The gradient flows to the
    elements around a quantile.

    >>> K.quantile(np.array([0.0, 1.0, 2.0, 3.0]), [0.25, 0.5]).eval()
    array([0.75, 1.5 ])
    """
    return Tensor(ops.quantile(node_of(x), _plain(q), axis, method, keepdims))


def percentile(x, q, axis=None, method="linear", keepdims=False):
    """`quantile` with `q` from 0 to 100.

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
    """Where the elements of `v` would be put into the vector `x` to keep it rising: int64.

    side: "left" before or "right" behind equal ones. sorter: indices that sort `x`.

    >>> K.searchsorted(np.array([1, 2, 2, 5]), np.array([2, 9])).eval()
    array([1, 4])
    """
    sorter = sorter if sorter is None else node_of(sorter)
    return Tensor(ops.searchsorted(node_of(x), operand(v), side, sorter))


def unique(x, return_index=False, return_inverse=False, return_counts=False):
    """The different elements of `x`, rising. With what is asked for, a tuple: the index of each
    one's first occurrence in the flattened `x`; for each element of `x` its number among them, in
    the shape of `x`; how often each occurs.

    The length is known only in a call. All NaN are one number. The gradient flows to the first
    occurrences.

    >>> values, counts = K.unique(K.constant([3.0, 1.0, 3.0]), return_counts=True)
    >>> values.eval(), counts.eval()
    (array([1., 3.], dtype=float32), array([1, 2]))
    """
    found = ops.unique(node_of(x), return_index, return_inverse, return_counts)
    return tuple(map(Tensor, found)) if isinstance(found, tuple) else Tensor(found)


def bincount(x, weights=None, minlength=0):
    """How often each integer from 0 on occurs in the vector `x`, or the sum of its `weights`.

    The length is known only in a call: the largest of `x` and one more, at least `minlength`.
    CheckError if a number is negative.

    >>> K.bincount(K.constant([0, 2, 2], dtype="int64")).eval()
    array([1, 0, 2])
    """
    weights = weights if weights is None else node_of(weights)
    return Tensor(ops.bincount(node_of(x), weights, _plain(minlength)))


def diff(x, n=1, axis=-1):
    """The differences of neighbours along `axis`, `n` times over.

    >>> K.diff(np.array([1, 4, 9])).eval()
    array([3, 5])
    """
    return Tensor(ops.diff(node_of(x), n, axis))


def _plain(x):
    """The node of a handle; anything else as it is."""
    return getattr(x, "node", x)
