"""Sums of parts: gradients of slices, each written into zeros, become one concatenation.

set_slice(0, a) + set_slice(0, b) reads and writes the whole tensor three times to put two parts
side by side. The gates of an LSTM are four such parts. Parts stored one after another wait for each
other, and what is summed for one of them cannot share a loop with what is summed for the next.
"""

from ..graph.node import make
from ..graph.sizes import indices, surely
from ..ops import broadcast_to
from .engine import Family

family = Family("parts")
WHOLE = ((None, None, 1), (None, None, None))
LONGEST = 64  # stores that are looked at together


def parts_of(node):
    """(axis, [(first, end, value)]) of a tensor that is zero but for parts along one axis."""
    found, axis = [], None
    while node.op.name == "set_slice":
        base, value = node.inputs
        along = [k for k, s in enumerate(node.attrs["slices"]) if s not in WHOLE]
        if len(along) != 1 or axis not in (None, along[0]):
            return None
        axis = along[0]
        size = node.shape[axis]
        r = indices(node.attrs["slices"][axis], size)
        shape = node.shape[:axis] + (r.count,) + node.shape[axis + 1 :]
        if r.step != 1 or r.count == 0 or value.shape != shape:
            return None
        found.append((r.start, r.stop, value))
        node = base
    if not found or not _zeros(node):
        return None
    found = sorted_parts(found)
    return (axis, found) if disjoint(found) else None


def _zeros(node):
    while node.op.name == "broadcast_to":
        node = node.inputs[0]
    return node.value is not None and not node.value.any()


def disjoint(parts):
    return all(a[1] <= b[0] for a, b in zip(parts, parts[1:]))


@family.rule("add")
def parts_side_by_side(node):
    """Parts written into zeros and added are one tensor of parts; without gaps, a concatenation.

    Code: any number of parts.
    """
    a, b = node.inputs
    if a.op.name != "set_slice" or b.op.name != "set_slice" or not surely(a.shape, b.shape):
        return None
    one, two = parts_of(a), parts_of(b)
    if one is None or two is None or one[0] != two[0]:
        return None
    axis, parts = one[0], sorted_parts(one[1] + two[1])
    if not disjoint(parts):
        return None
    ends = [0] + [p[1] for p in parts]
    if ends[:-1] == [p[0] for p in parts] and ends[-1] == node.shape[axis]:
        return make("concatenate", [p[2] for p in parts], {"axis": axis})
    for first, end, value in two[1]:
        a = with_part("set_slice", a, axis, first, end, value)
    return a


@family.rule("add")
def added_at_a_place(node):
    """x and what zeros hold at one place, or in one slice that moves, is x with that added there.

    So the gradient of a loop that stores in such places costs in proportion to these. Code: of any
    key whose indices are scalars.
    """
    for x, added in (node.inputs, node.inputs[::-1]):
        if added.op.name == "advanced_inc" and _zeros(added.inputs[0]):
            (y, *at), template = added.inputs[1:], added.attrs["template"]
        elif added.op.name == "scatter_add":
            (at, y), axis = added.inputs[1:], added.attrs["axis"]
            at, template = [at], (":",) * axis + ("a",) + (":",) * (added.ndim - axis - 1)
        else:
            continue
        alike = None not in node.shape and x.shape == node.shape == added.shape
        if alike and not any(i.ndim for i in at):  # sizes last: each question parts a class of them
            return make("advanced_inc", (x, y, *at), {"template": template}, like=node)
    return None


@family.rule("advanced_inc")
def added_to_a_hole(node):
    """What is added where zeros were stored is stored there. Code: of any key."""
    hole, y, *at = node.inputs
    if hole.op.name != "advanced_set" or hole.attrs != node.attrs or any(i.ndim for i in at):
        return None
    x, zero, *there = hole.inputs
    if there != at or not _zeros(zero):
        return None
    return make("advanced_set", (x, y, *at), node.attrs, like=node)


def with_part(op, x, axis, first, end, value):
    """`x` with `value` stored in, or added to, a part along one axis."""
    slices = [WHOLE[0]] * x.ndim
    slices[axis] = (first, end, 1)
    return make(op, (x, value), {"slices": tuple(slices)})


@family.rule("set_slice", "inc_slice")
def adjacent_stores(node):
    """Neighbouring parts stored one after another are one store of a concatenation, and none where
    they are all of the tensor.

    Code: any number of parts.
    """
    if node.inputs[0].op.name != node.op.name or node.dtype == "bool":
        return None
    x, axis, parts = stored(node)
    runs = []
    for first, end, value in parts:
        if runs and runs[-1][1] == first:
            runs[-1][1] = end
            runs[-1][2].append(value)
        else:
            runs.append([first, end, [value]])
    if len(runs) == len(parts):
        return None
    for first, end, values in runs:
        value = make("concatenate", values, {"axis": axis}) if len(values) > 1 else values[0]
        if value.shape == x.shape:
            return make("add", (x, value)) if node.op.name == "inc_slice" else value
        x = with_part(node.op, x, axis, first, end, value)
    return x


def stored(node):
    """(base, axis, [(first, end, value)]) of stores of parts that share no element."""
    parts, axis, name = [], None, node.op.name
    while node.op.name == name and len(parts) < LONGEST:
        x, value = node.inputs
        along = [k for k, s in enumerate(node.attrs["slices"]) if s not in WHOLE]
        if len(along) != 1 or axis not in (None, along[0]):
            break
        r = indices(node.attrs["slices"][along[0]], x.shape[along[0]])
        shape = x.shape[: along[0]] + (r.count,) + x.shape[along[0] + 1 :]
        part = (r.low, r.end, broadcast_to(value, shape))
        run = r.count == 1 or r.step == 1 and r.count != 0
        if not run or not disjoint(sorted_parts([*parts, part])):
            break
        axis, node = along[0], x
        parts.append(part)
    return node, axis, sorted_parts(parts)


def sorted_parts(parts):
    return sorted(parts, key=lambda part: part[0])
