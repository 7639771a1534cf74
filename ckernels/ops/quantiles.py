"""What is read off sorted tensors: partitions, medians, quantiles. Built of other ops, so they have
gradients: to the elements that a result lies between.
"""

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, DTypeError, IndexOutOfBounds
from ..graph.node import Node
from ..graph.shapes import show
from .base import cast, expand, to_node
from .control import check
from .elementwise import add, floor, minimum, mul, round, sub, where
from .indexing.advanced import take
from .joining import stack
from .logic import eq, ge, isinf, isnan, le, logical_and
from .movement import moveaxis, transpose
from .shape import size_of
from .sort import along, selected, sort

__all__ = ["partition", "median", "quantile"]

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def partition(x, kth, axis=-1):
    """`x` in an order along `axis` (None: flattened) in which the elements `kth` (an int or ints)
    stand where sorting puts them, no larger ones before them and no smaller ones behind."""
    x, axis = along(x, axis, "partition")
    size = x.shape[axis]
    for k in kth if isinstance(kth, (list, tuple)) or np.ndim(kth) == 1 else [kth]:
        k = given.integer(k, "kth of partition, or each of its numbers,")
        if size is not None and not -size <= k < size:
            raise IndexOutOfBounds(
                f"partition: element {k} is out of bounds for axis {axis} of shape {show(x.shape)}"
            )
    return sort(x, axis)


def floats(x, axis, name):
    """(x as floats, the axis, its size less one)."""
    x, axis = along(x, axis, name)
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"complex numbers have no order, so {name} has no meaning for them")
    x = cast(x, dtypes.to_float(x.dtype))
    return x, axis, sub(cast(to_node(size_of(x, axis)), "int64"), 1)


def rising(x, axis, name):
    """(x sorted along the axis as floats, the axis, its size less one, its last elements)."""
    x, axis, last = floats(x, axis, name)
    x = sort(x, axis)
    return x, axis, last, take(x, last, axis)


def median(x, axis=None, keepdims=False):
    """The middle of the sorted elements along `axis` (None: of all), or the mean of the two there;
    NaN where one of them is."""
    rank = to_node(x, "median").ndim
    x, axis, last = floats(x, axis, "median")
    half = (last // 2, last - last // 2)
    found = selected(moveaxis(x, axis, -1), stack([*half, last]))
    low, high, end = (take(found, k, -1) for k in range(3))
    middle = where(eq(*half), low, mul(add(low, high), 0.5))
    found = where(isnan(end), end, middle)
    return kept(found, rank, axis, x) if given.flag(keepdims, "keepdims") else found


def quantile(x, q, axis=None, method="linear", keepdims=False):
    """The quantiles `q`, from 0 to 1, along `axis` (None: of all); NaN where an element is.

    q: a number, a vector, or a node of either; the axis of a vector comes first in the result.
    method: "linear" between the two elements around a quantile, "lower" or "higher" of them, the
    "nearest" one (of equally near ones that of an even place), or their "midpoint".
    """
    given.word(method, METHODS, "the method of quantile")
    rank = to_node(x, "quantile").ndim
    x, axis, last, end = rising(x, axis, "quantile")
    q = checked(q)
    place = mul(q, cast(last, "float64"))
    below = floor(place)
    low = cast(round(place) if method == "nearest" else below, "int64")
    high = minimum(cast(add(low, cast(sub(place, below) > 0, "int64")), "int64"), last)
    a, b = take(x, low, axis), take(x, high, axis)
    weight = sub(place, below)
    if q.ndim:
        order = (axis, *(k for k in range(a.ndim) if k != axis))
        a, b = transpose(a, order), transpose(b, order)
        weight = expand(weight, tuple(range(1, a.ndim)))
    found = {
        "linear": lambda: between(a, b, cast(weight, x.dtype)),
        "midpoint": lambda: between(a, b, cast(where(eq(weight, 0), 0, 0.5), x.dtype)),
        "higher": lambda: b,
    }.get(method, lambda: a)()
    found = where(isnan(end), end, found)
    return kept(found, rank, axis, x, q.ndim) if given.flag(keepdims, "keepdims") else found


def between(a, b, weight):
    """a + (b - a) * weight, from the nearer end, so that neither is missed by a rounding."""
    step = sub(b, a)
    near_a, near_b = add(a, mul(step, weight)), sub(b, mul(step, sub(1, weight)))
    alike = logical_and(eq(a, b), isinf(a))  # of which the difference is NaN
    return where(alike, a, where(ge(weight, 0.5), near_b, near_a))


def checked(q):
    """`q` in float64; those beyond 0 to 1 raise, when the graph is built or at the call."""
    message = "quantiles are numbers from 0 to 1"
    if not isinstance(q, Node):
        try:
            q = np.asarray(q, "float64")
        except (TypeError, ValueError):
            raise ArgumentError(f"{message}, not {q!r}") from None
        if not np.all((q >= 0) & (q <= 1)):
            raise ArgumentError(f"{message}, not {q.tolist()}")
    node = cast(to_node(q, "quantile"), "float64")
    if node.ndim > 1:
        raise ArgumentError(f"quantile takes a number or a vector, not shape {show(node.shape)}")
    if node.value is None:
        node = check(node, logical_and(ge(node, 0), le(node, 1)), message=message)
    return node


def kept(found, rank, axis, x, before=0):
    """`found` with axes of one where x had those that are gone; `before`: axes in front of them."""
    axes = (axis,) if rank == x.ndim else tuple(range(rank))
    return expand(found, tuple(a + before for a in axes))
