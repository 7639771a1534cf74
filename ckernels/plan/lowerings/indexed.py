"""Ops that are indexed by integer arrays as nests of codegen/indexed.py.

`take`, `take_along_axis` and NumPy's advanced indexing differ only in how domain axes map to
strides; so do their gradients.
"""

from ...codegen.indexed import Index, IndexedNest
from ...ops.indexing.advanced import is_indexed, is_window


def drops_checks(domain, indices):
    """Whether an empty domain would leave indices unchecked: left to the oracle then."""
    return 0 in domain and any(0 not in i.layout.shape for i in indices)


def axis_nest(far, near, axis, array):
    """The nest of take and its gradient: axes of `array` stand in the place of `axis` of `far`."""
    rank = len(array.shape)
    far_strides = far.strides[:axis] + (0,) * rank + far.strides[axis + 1 :]
    strides = (0,) * axis + array.strides + (0,) * (len(far.shape) - axis - 1)
    index = Index(array, strides, far.shape[axis], far.strides[axis])
    return (
        None
        if drops_checks(near.shape, [index])
        else IndexedNest(near.shape, far, far_strides, near, near.strides, [index])
    )


def along_nest(far, near, axis, array):
    """The nest of take_along_axis: other axes are broadcast over those of `near`."""

    def spread(layout):
        return tuple(0 if n == 1 else s for n, s in zip(layout.shape, layout.strides))

    far_strides = tuple(0 if k == axis else s for k, s in enumerate(spread(far)))
    index = Index(array, spread(array), far.shape[axis], far.strides[axis])
    return (
        None
        if drops_checks(near.shape, [index])
        else IndexedNest(near.shape, far, far_strides, near, near.strides, [index])
    )


def template_nest(template, far, near, arrays):
    """The nest of NumPy's advanced indexing; `near` has the shape of far[key]."""
    places = [i for i, t in enumerate(template) if t == "a"]
    together = places and places[-1] - places[0] + 1 == len(places)
    place = sum(t not in ("a", ".") for t in template[: places[0]]) if together else 0
    rank = max(len(a.shape) for a in arrays)
    rest, picks, axis = [], [], 0
    for t in template:
        if is_indexed(t):
            width = t if is_window(t) else 1
            picks.append((far.shape[axis] - width + 1, far.strides[axis]))
        if t not in ("a", "."):
            rest.append(0 if t == "n" else far.strides[axis])
        axis += t not in ("n", ".")
    far_strides = tuple(rest[:place]) + (0,) * rank + tuple(rest[place:])
    indices = []
    for a, (size, step) in zip(arrays, picks):
        lead = place + rank - len(a.shape)
        strides = tuple(0 if n == 1 else s for n, s in zip(a.shape, a.strides))
        strides = (0,) * lead + strides + (0,) * (len(rest) - place)
        indices.append(Index(a, strides, size, step))
    return (
        None
        if drops_checks(near.shape, indices)
        else IndexedNest(near.shape, far, far_strides, near, near.strides, indices)
    )
