"""Ops that need the order of the elements along an axis: sort, argsort, top_k, in_top_k.

Sorting puts NaN last, as NumPy does; places of equal elements keep their order. (In `ckernels.ops`
the name `sort` is the function.)
"""

import builtins

import numpy as np

from ..base import dtypes, given
from ..base.errors import DTypeError, ShapeError
from ..graph.node import Node, make
from ..graph.op import Op
from ..graph.shapes import axis_of, show
from .base import cast, expand, to_node
from .elementwise import abs, sub, where
from .filling import arange
from .indexing.advanced import check_range, take, take_along_axis
from .logic import gt, isfinite, logical_and, lt
from .movement import flatten, flip, squeeze
from .reduce import sum
from .shape import size_of

__all__ = ["sort", "selected", "argsort", "numpy_argsort", "numpy_partition", "top_k", "in_top_k"]


def along(x, axis, name):
    """(x, axis) with axis None meaning the flattened tensor."""
    x = to_node(x, name)
    if axis is None:
        return flatten(x), 0
    return x, axis_of(axis, x.ndim)


# --- NumPy's own order of equal elements ---------------------------------------------------------


def _numpy_order(name, dtype, run, grad, doc):
    Op(name, "opaque", lambda a, x: (dtype or x.dtype, x.shape), run, grad, ulp=0, cost=20, doc=doc)


def _grad_partition(node, g):
    """What stands at a rank of the sorted result came from what has that rank in x."""
    x, axis = node.inputs[0], node.attrs["axis"]
    there, here = (make("argsort", (n,), {"axis": axis}) for n in (x, node))
    return (make("put_along_axis_add", (x, there, take_along_axis(g, here, axis)),
                 {"axis": axis}),)  # fmt: skip


_numpy_order(
    "numpy_argsort",
    "int64",
    lambda a, x: np.array(x).argsort(a["axis"]).astype("int64", copy=False),
    lambda node, g: (None,),
    "np.argsort along attrs['axis'], equal elements as NumPy's fastest sort leaves them.",
)
_numpy_order(
    "numpy_partition",
    None,
    lambda a, x: np.partition(x, a["kth"], a["axis"]),
    _grad_partition,
    "np.partition along attrs['axis'] at the places attrs['kth'].",
)


def part_of(kth, size):
    """(falling, count) of the elements that a partition at one place puts in order: those before
    it and itself, or from it on where these are fewer; None of several places, or of none."""
    if len(kth) > 1 or not -size <= kth[0] < size:
        return None
    k = kth[0] if kth[0] >= 0 else kth[0] + size
    return (True, size - k) if 2 * k >= size else (False, k + 1)


def _places_parted(a, x):
    part = part_of(a["kth"], x.shape[a["axis"]])
    if part is None:  # NumPy has another way, or refuses it
        return np.argpartition(np.array(x), a["kth"], a["axis"]).astype("int64", copy=False)
    x = np.moveaxis(x, a["axis"], -1)
    found = _first_places({"axis": x.ndim - 1, "falling": part[0], "count": part[1]}, x)
    chosen = np.zeros(x.shape, bool)
    np.put_along_axis(chosen, found, True, -1)
    others = np.argsort(chosen, -1, kind="stable")[..., : x.shape[-1] - part[1]]
    y = [others, np.flip(found, -1)] if part[0] else [found, others]
    return np.moveaxis(np.concatenate(y, -1), -1, a["axis"])


_numpy_order(
    "argpartition",
    "int64",
    _places_parted,
    lambda node, g: (None,),
    "np.argpartition along attrs['axis'] at the places attrs['kth']. At one place what is before "
    "it (or behind, where that is less) comes in order, the others as they are.",
)


def numpy_argsort(x, axis=-1):
    """np.argsort without a kind: equal elements as NumPy leaves them on this machine."""
    x, axis = along(x, axis, "argsort")
    return make("numpy_argsort", (x,), {"axis": axis})


def numpy_partition(x, kth, axis=-1, places=False):
    """np.partition, or np.argpartition with `places`; elements where NumPy leaves them, but for
    places about one of them."""
    name = "argpartition" if places else "partition"
    x, axis = along(x, axis, name)
    kth = tuple(kth) if isinstance(kth, (list, tuple, np.ndarray)) else (kth,)
    kth = tuple(given.integer(k, f"kth of {name}, or each of its numbers,") for k in kth)
    size = x.shape[axis]
    if size is not None and any(not -size <= k < size for k in kth):
        raise ShapeError(f"{name}: kth {kth} is out of bounds for an axis of {size} elements")
    return make(name if places else f"numpy_{name}", (x,), {"axis": axis, "kth": kth})


# --- order ------------------------------------------------------------------------------------


def _sorted(attrs, x):
    """NumPy's order, in which -0.0 equals 0.0, and with that -0.0 first. By its stable sort: the
    fastest one of 2.4 may make a 0.0 of a -0.0."""
    axis = attrs["axis"]
    y = np.sort(x, axis, kind="stable")
    zeros = y == 0
    if dtypes.is_float(dtypes.name_of(x.dtype)) and np.any(zeros & np.signbit(y)):
        negative = np.sum((x == 0) & np.signbit(x), axis, keepdims=True)
        signed = np.where(np.cumsum(zeros, axis) <= negative, -0.0, 0.0)
        y = np.where(zeros, signed.astype(x.dtype), y)
    return y


def _grad_sort(node, g):
    x, axis = node.inputs[0], node.attrs["axis"]
    order = make("argsort", (x,), {"axis": axis})
    return (make("put_along_axis_add", (x, order, g), {"axis": axis}),)


Op(
    "sort",
    "opaque",
    lambda a, x: (x.dtype, x.shape),
    _sorted,
    _grad_sort,
    ulp=0,
    cost=20,
    doc="Rising order along attrs['axis'].",
)


def _infer_selected(attrs, x, places):
    return x.dtype, x.shape[:-1] + places.shape


def _selected(attrs, x, places):
    check_range(places, x.ndim - 1, x.shape[-1])
    return np.take(_sorted({"axis": x.ndim - 1}, x), places, -1)


def _grad_selected(node, g):
    x, places = node.inputs
    axis = x.ndim - 1
    order = take(make("argsort", (x,), {"axis": axis}), places, axis)
    return make("put_along_axis_add", (x, order, g), {"axis": axis}), None


Op(
    "selected",
    "opaque",
    _infer_selected,
    _selected,
    _grad_selected,
    ulp=0,
    cost=20,
    doc="The elements at the places of the second operand, a vector, of the rows in rising order.",
)
Op(
    "argsort",
    "opaque",
    lambda a, x: ("int64", x.shape),
    lambda a, x: np.array(x).argsort(a["axis"], "stable").astype("int64", copy=False),
    lambda node, g: (None,),
    ulp=0,
    cost=20,
    doc="The indices that sort along attrs['axis'], equal elements in their order.",
)


def _check_count(attrs, shape):
    axis, count = attrs["axis"], attrs["count"]
    if shape[axis] is not None and count > shape[axis]:
        k = count if attrs["falling"] else -count
        raise ShapeError(f"top_k of {k} elements along axis {axis} of shape {show(shape)}")


def _infer_places(attrs, x):
    axis, count = attrs["axis"], attrs["count"]
    _check_count(attrs, x.shape)
    return "int64", x.shape[:axis] + (count,) + x.shape[axis + 1 :]


def _first_places(attrs, x):
    axis, count = attrs["axis"], attrs["count"]
    _check_count(attrs, x.shape)
    if attrs["falling"]:  # sorted the other way round and turned, the first of equals stay first
        x = np.flip(x, axis)
    order = np.argsort(np.array(x), axis, kind="stable").astype("int64")
    if attrs["falling"]:
        order = x.shape[axis] - 1 - np.flip(order, axis)
    return np.take(order, np.arange(count), axis)


Op(
    "first_places",
    "opaque",
    _infer_places,
    _first_places,
    lambda node, g: (None,),
    ulp=0,
    cost=5,
    doc="The places of the first attrs['count'] elements in rising order, or in falling order.",
)


def sort(x, axis=-1):
    """`x` in rising order along `axis` (None: flattened)."""
    x, axis = along(x, axis, "sort")
    return make("sort", (x,), {"axis": axis})


MOST_SELECTED = 4  # places that are found one by one; sorting takes as long as seven


def selected(x, places):
    """The elements at `places`, a vector, of `x` in rising order along its last axis."""
    x, places = to_node(x, "selected"), to_node(places, "selected")
    count = places.shape[0]
    if count is None or count > MOST_SELECTED:
        return take(sort(x), places, -1)
    return make("selected", (x, cast(places, "int64")), {})


def argsort(x, axis=-1):
    """The indices that sort `x` along `axis` (None: flattened); equal elements keep their order."""
    x, axis = along(x, axis, "argsort")
    return make("argsort", (x,), {"axis": axis})


def top_k(x, k, axis=-1):
    """(values, indices) of the `k` largest elements along `axis`, falling; of equals the first.

    A negative `k`: the -k smallest, rising. NaN counts as the largest. k: an int or a scalar node.
    """
    x = to_node(x, "top_k")
    axis = axis_of(axis, x.ndim)
    k = k if isinstance(k, Node) else given.whole(k, "k")
    if isinstance(k, Node):
        falling, rising = (_first(order(x, axis), abs(k), axis) for order in (_falling, argsort))
        order = where(gt(k, 0), falling, rising)
    else:
        attrs = {"axis": axis, "count": builtins.abs(k), "falling": k >= 0}
        order = make("first_places", (x,), attrs)
    return take_along_axis(x, order, axis), order


def _falling(x, axis):
    """The indices that sort `x` along `axis` in falling order, equal elements in theirs: sorting
    the flipped tensor and flipping back keeps the first of them first."""
    back = flip(argsort(flip(x, axis), axis), axis)
    return sub(sub(size_of(x, axis), 1), back)


def _first(order, k, axis):
    return take(order, arange(k), axis)  # which looks whether there are so many


def in_top_k(predictions, targets, k):
    """Whether predictions[i, targets[i]] is among the `k` largest of row i: a bool vector.

    Ties at the edge count as in; a prediction that is not finite is never in.
    """
    predictions, targets = to_node(predictions, "in_top_k"), to_node(targets, "in_top_k")
    if predictions.ndim != 2 or targets.ndim != 1:
        raise ShapeError(
            f"in_top_k needs a matrix and a vector, got shapes {show(predictions.shape)} and "
            f"{show(targets.shape)}"
        )
    if targets.dtype not in dtypes.INTEGERS:
        raise DTypeError(f"the targets of in_top_k must be integers, not {targets.dtype}")
    own = take_along_axis(predictions, expand(targets, (1,)), 1)
    larger = sum(gt(predictions, own), 1)
    return logical_and(lt(larger, k), isfinite(squeeze(own, 1)))
