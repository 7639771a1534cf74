"""Orders of which few places are read: these are selected, nothing is sorted.

Equal elements are one as good as another where elements are asked for. Where their places are, and
two elements are equal or one is NaN, the sort that was asked for says which comes first, and runs.
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
# values sort in half the time of places: of 1,000 rows of 1,000 floats, sorted in 4.3 ms, the last
# 1, 10, 50 take 2.2, 3.3, 6.7, of 16 rows of 8,000 0.12, 0.12, 0.23 for 0.51, the last of 30,000
# rows of 32 4.3 for 1.8
FEW_VALUES, LEAST_VALUES = 64, 512


def along(x, axis, *bounds):
    """`x` sliced along one axis."""
    return slice_(x, [(None, None, 1)] * axis + [bounds])


def end_of_order(node, n, axis, few, least):
    """(how many places the slice reads, whether from the last one on, whether backwards); None
    where these are not a few at one end: of so many times as many, which are at least so many."""
    taken = indices(node.attrs["slices"][axis], n)
    count, step = taken.count, taken.step
    if type(count) is Size or not count or step not in (1, -1) or n < max(few * count, least):
        return None
    low, high = sorted((0, count - 1), key=lambda k: k * step)
    if surely(taken.start + low * step, 0):
        return count, False, step == -1
    if surely(taken.start + high * step, n - 1):
        return count, True, step == 1
    return None


def selected(node, x, axis, few=FEW, least=0):
    """(places of the few elements that a slice reads of an order of `x`, what the slice takes of
    them, whether from the last one on); None where these are not few."""
    if is_complex(x.dtype) or node.attrs.get("exact"):
        return None
    end = end_of_order(node, x.shape[axis], axis, few, least)
    if end is None:
        return None
    count, falling, backwards = end
    places = make("first_places", (x,), {"axis": axis, "count": count + 1, "falling": falling})
    rest = list(node.attrs["slices"])
    rest[axis] = (count - 1, None, -1) if backwards else (None, count, 1)
    return places, rest, falling


@family.rule("slice")
def few_of_sorted(node):
    """np.sort(x)[..., -k:] is k elements that are selected. Code: as few_of_order."""
    if node.inputs[0].op.name != "sort":
        return None
    x, axis = node.inputs[0].inputs[0], node.inputs[0].attrs["axis"]
    found = selected(node, x, axis, FEW_VALUES, LEAST_VALUES)
    return found and slice_(take_along_axis(x, found[0], axis), found[1])


@family.rule("slice")
def few_of_order(node):
    """np.argsort(x)[:k] is k places that are selected. Code: from either end, in either direction,
    along any axis, with a choice where elements are equal.
    """
    order = node.inputs[0]
    if order.op.name not in ("argsort", "numpy_argsort") or order.attrs.get("whole"):
        return None
    x, axis = order.inputs[0], order.attrs["axis"]
    found = selected(node, x, axis)
    if found is None:
        return None
    places, rest, falling = found
    chosen = slice_(places, rest)
    if order.op.name == "argsort" and not falling:
        return chosen
    some = take_along_axis(x, places, axis)
    before, after = along(some, axis, None, -1, 1), along(some, axis, 1, None, 1)
    clear = all_of((gt if falling else lt)(before, after))
    whole = make(order.op, order.inputs, {**order.attrs, "whole": True})
    return choose(clear, chosen, make("slice", (whole,), node.attrs))
