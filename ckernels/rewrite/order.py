"""Orders of which few places are read: these are selected, nothing is sorted.

Where the elements that count are all different, each sort has them in one order. Where two of them
are equal, or one is NaN, the sort that was asked for says which comes first, and runs.
"""

from ..base.dtypes import is_complex
from ..graph.node import make
from ..graph.sizes import Size, indices, surely
from ..ops import all as all_of
from ..ops import gt, lt, slice_, take_along_axis
from ..ops.branch import choose
from .engine import Family

family = Family("order")
FEW = 16  # an axis is so many times as long: the first 8 of 40,000 floats 20 us, sorted 1,800


def along(x, axis, *bounds):
    """`x` sliced along one axis."""
    return slice_(x, [(None, None, 1)] * axis + [bounds])


def end_of_order(node, n, axis):
    """(how many places the slice reads, whether from the last one on, whether backwards); None
    where these are not a few at one end."""
    taken = indices(node.attrs["slices"][axis], n)
    count, step = taken.count, taken.step
    if type(count) is Size or not count or step not in (1, -1) or n < FEW * count:
        return None
    low, high = sorted((0, count - 1), key=lambda k: k * step)
    if surely(taken.start + low * step, 0):
        return count, False, step < 0
    if surely(taken.start + high * step, n - 1):
        return count, True, step > 0
    return None


@family.rule("slice")
def few_of_order(node):
    """np.argsort(x)[:k] is k places that are selected. Code: from either end, in either direction,
    along any axis, with a choice where elements are equal.
    """
    order = node.inputs[0]
    if order.op.name not in ("argsort", "numpy_argsort") or order.attrs.get("whole"):
        return None
    x, axis = order.inputs[0], order.attrs["axis"]
    end = None if is_complex(x.dtype) or node.attrs.get("exact") else end_of_order(
        node, x.shape[axis], axis)  # fmt: skip
    if end is None:
        return None
    count, falling, backwards = end
    places = make("first_places", (x,), {"axis": axis, "count": count + 1, "falling": falling})
    rest = list(node.attrs["slices"])
    rest[axis] = (count - 1, None, -1) if backwards else (None, count, 1)
    chosen = slice_(places, rest)
    if order.op.name == "argsort" and not falling:
        return chosen
    some = take_along_axis(x, places, axis)
    before, after = along(some, axis, None, -1, 1), along(some, axis, 1, None, 1)
    clear = all_of((gt if falling else lt)(before, after))
    whole = make(order.op, order.inputs, {**order.attrs, "whole": True})
    return choose(clear, chosen, make("slice", (whole,), node.attrs))
