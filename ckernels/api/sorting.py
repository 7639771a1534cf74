"""Orders along an axis: sorting, the largest elements, and what is found by them."""

from .. import ops
from .operands import node_of
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

    >>> values, indices = K.top_k(np.array([3, 1, 2]), 2)
    >>> values.eval(), indices.eval()
    (array([3, 2]), array([0, 2]))
    """
    return tuple(Tensor(n) for n in ops.top_k(node_of(x), k, axis))
