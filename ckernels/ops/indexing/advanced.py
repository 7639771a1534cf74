"""Ops indexed by integer arrays: take, NumPy's mixed indexing, their gradients, nonzero.

Every oracle checks its indices: one out of range raises IndexOutOfBounds with the index, the axis
and its size. Negative indices count from the end. Repeated positions are added to each time.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import ArgumentError, DTypeError, IndexOutOfBounds, KeyShapeError, ShapeError
from ...graph.node import Node, constant, item, make
from ...graph.op import Op
from ...graph.shapes import axis_of, broadcast, show
from ..base import cast, expand, from_copies, to_node, unbroadcast, zeros_like
from ..elementwise import clip, mod
from ..movement import broadcast_to, flatten, reshape, squeeze
from ..shape import size_of, sized, times

__all__ = ["take", "scatter_add", "take_along_axis", "put_along_axis_add", "advanced_take",
           "advanced_set", "advanced_inc", "mask_indices", "nonzero", "argwhere", "flatnonzero",
           "repeat_index", "repeat", "repeat_elements"]  # fmt: skip


def is_window(t):
    """Whether an entry of a template is a number of neighbours, from an index on."""
    return type(t) is int


def is_indexed(t):
    return t == "a" or is_window(t)


def check_range(indices, axis, size):
    """IndexOutOfBounds unless all of `indices` are in [-size, size)."""
    if not indices.size:
        return
    number = int if indices.dtype != object else lambda place: place  # a Size would be taken
    if number(indices.max()) >= size or number(indices.min()) < -size:
        size = int(size)
        wrong = indices[(indices >= size) | (indices < -size)].reshape(-1)[0]
        raise IndexOutOfBounds(
            f"index {int(wrong)} is out of bounds for axis {axis} of size {size}"
        )


def int_indices(indices, what):
    node = to_node(indices, what)
    if node.dtype not in dtypes.INTEGERS:
        raise DTypeError(f"the indices of {what} must be integers, not {node.dtype}")
    return node


# --- take -------------------------------------------------------------------------------------


def _taken(x, axis, shape):
    return x[:axis] + shape + x[axis + 1 :]


def _check_static(indices, axis, size):
    if indices.value is not None and size is not None:
        check_range(indices.value, axis, size)


def _infer_take(attrs, x, indices):
    axis = attrs["axis"]
    _check_static(indices, axis, x.shape[axis])
    return x.dtype, _taken(x.shape, axis, indices.shape)


@from_copies
def _run_take(attrs, x, indices):
    check_range(indices, attrs["axis"], x.shape[attrs["axis"]])
    if indices.size == 0:
        return np.empty(_taken(x.shape, attrs["axis"], indices.shape), x.dtype)
    return np.take(x, indices, axis=attrs["axis"])


def _grad_take(node, g):
    x, indices = node.inputs
    return make("scatter_add", (x, indices, g), node.attrs), None


Op(
    "take",
    "opaque",
    _infer_take,
    _run_take,
    _grad_take,
    doc="x at integer indices along attrs['axis']; the index's axes take its place.",
)


def take(x, indices, axis=0, mode="raise"):
    """The entries of `x` at integer `indices` (any shape) along `axis`; its axes take their place.

    mode: "raise" (negative indices count from the end), "wrap" (modulo) or "clip" to the ends.
    """
    x, indices = to_node(x, "take"), int_indices(indices, "take")
    axis = axis_of(axis, x.ndim)
    if mode == "wrap":
        indices = mod(cast(indices, "int64"), size_of(x, axis))
    elif mode == "clip":
        size = size_of(x, axis)
        indices = clip(cast(indices, "int64"), 0, size - 1)
    elif mode != "raise":
        raise ArgumentError(f"the mode of take is 'raise', 'wrap' or 'clip', not {mode!r}")
    return make("take", (x, indices), {"axis": axis})


def _infer_scatter(attrs, like, indices, g):
    want = _taken(like.shape, attrs["axis"], indices.shape)
    if len(want) != g.ndim or any(None not in (a, b) and a != b for a, b in zip(want, g.shape)):
        raise ShapeError(
            f"scatter_add into {show(like.shape)} at indices of shape {show(indices.shape)} "
            f"needs values of shape {show(want)}, got {show(g.shape)}"
        )
    return g.dtype, like.shape


@from_copies
def _run_scatter(attrs, like, indices, g):
    axis = attrs["axis"]
    check_range(indices, axis, like.shape[axis])
    out = np.zeros(like.shape, g.dtype)
    flat = indices.reshape(-1)
    g = np.moveaxis(g.reshape(_taken(like.shape, axis, (flat.size,))), axis, 0)
    np.add.at(np.moveaxis(out, axis, 0), flat, g)
    return out


Op(
    "scatter_add",
    "opaque",
    _infer_scatter,
    _run_scatter,
    lambda node, g: (None, None, make("take", (g, node.inputs[1]), node.attrs)),
    doc="Zeros like the first operand, with g added at the indices: the gradient of take.",
)


def scatter_add(like, indices, g, axis=0):
    """Zeros in the shape of `like` with `g` added at integer `indices` along `axis`."""
    like = to_node(like, "scatter_add")
    return make(
        "scatter_add",
        (like, int_indices(indices, "scatter_add"), to_node(g, "scatter_add")),
        {"axis": axis_of(axis, like.ndim)},
    )


@from_copies
def _run_equal(attrs, indices, like):
    size = like.shape[0]
    check_range(indices, 0, size)
    wide = np.where(indices < 0, indices.astype("int64") + size, indices)
    _, first, which = np.unique(wide, return_index=True, return_inverse=True)
    return first[which.reshape(-1)].astype("int64")


Op(
    "first_equal",
    "opaque",
    lambda attrs, indices, like: ("int64", indices.shape),
    _run_equal,
    doc="For each of a vector of indices into the first axis of the second operand, the first "
    "place with an equal one: where rows that belong together meet.",
)


# --- along an axis ----------------------------------------------------------------------------


def _infer_along(attrs, x, indices):
    axis = attrs["axis"]
    if x.ndim != indices.ndim:
        raise ShapeError(
            f"take_along_axis needs indices of {x.ndim} dimensions for shape "
            f"{show(x.shape)}, got {show(indices.shape)}"
        )
    rest = broadcast(
        "take along an axis of", _taken(x.shape, axis, (1,)), _taken(indices.shape, axis, (1,))
    )
    return x.dtype, _taken(rest, axis, (indices.shape[axis],))


def _wide(x, indices, axis):
    """x and indices with their other axes broadcast against each other."""
    rest = np.broadcast_shapes(_taken(x.shape, axis, (1,)), _taken(indices.shape, axis, (1,)))
    return tuple(np.broadcast_to(a, _taken(rest, axis, (a.shape[axis],))) for a in (x, indices))


@from_copies
def _run_along(attrs, x, indices):
    axis = attrs["axis"]
    check_range(indices, axis, x.shape[axis])
    x, indices = _wide(x, indices, axis)
    return (
        np.take_along_axis(x, indices, axis) if indices.size else np.empty(indices.shape, x.dtype)
    )


Op(
    "take_along_axis",
    "opaque",
    _infer_along,
    _run_along,
    lambda node, g: (make("put_along_axis_add", node.inputs + (g,), node.attrs), None),
    doc="x[.., indices[.., i, ..], ..]: one index per position of the other axes.",
)


@from_copies
def _run_put_along(attrs, like, indices, g):
    axis = attrs["axis"]
    check_range(indices, axis, like.shape[axis])
    at = list(np.indices(g.shape, sparse=True))
    for k, size in enumerate(like.shape):
        if size == 1 and k != axis:
            at[k] = np.zeros_like(at[k])
    at[axis] = np.broadcast_to(indices, g.shape)
    out = np.zeros(like.shape, g.dtype)
    np.add.at(out, tuple(at), g)
    return out


def _put_along_shape(attrs, like, indices, g):
    """Axes but the one that is picked along broadcast: a size of 1 of a call is asked for here."""
    axis, name = attrs["axis"], "put_along_axis_add"
    broadcast(name, indices.shape, g.shape)
    broadcast(name, _taken(like.shape, axis, ()), _taken(g.shape, axis, ()))
    return g.dtype, like.shape


Op(
    "put_along_axis_add",
    "opaque",
    _put_along_shape,
    _run_put_along,
    lambda node, g: (None, None, make("take_along_axis", (g, node.inputs[1]), node.attrs)),
    doc="Zeros like the first operand with g added: the gradient of take_along_axis.",
)


def take_along_axis(x, indices, axis):
    """np.take_along_axis: `indices` has the rank of `x` and picks along `axis` at each position."""
    x = to_node(x, "take_along_axis")
    return make(
        "take_along_axis",
        (x, int_indices(indices, "take_along_axis")),
        {"axis": axis_of(axis, x.ndim)},
    )


def put_along_axis_add(like, indices, g, axis):
    """Zeros in the shape of `like` with `g` added where take_along_axis would read."""
    like = to_node(like, "put_along_axis_add")
    return make(
        "put_along_axis_add",
        (like, int_indices(indices, "put_along_axis_add"), to_node(g, "put_along_axis_add")),
        {"axis": axis_of(axis, like.ndim)},
    )


# --- NumPy's mixed advanced indexing ----------------------------------------------------------


def _together(template):
    """Whether the indexed axes stand side by side, so that the result keeps them in place."""
    at = [i for i, t in enumerate(template) if t == "a"]
    return not at or at[-1] - at[0] + 1 == len(at)


def advanced_shape(template, shape, index_shapes):
    """Static shape of x[template]; NumPy puts separated index axes first."""
    wide, rest, place, sizes = broadcast("index with", *index_shapes), [], None, iter(shape)
    for t in template:
        if t == "a":
            next(sizes)
            place = len(rest) if place is None else place
        elif t != ".":
            size = 1 if t == "n" else next(sizes)
            rest.append(t if is_window(t) else size)
    place = place or 0 if _together(template) else 0
    return tuple(rest[:place]) + wide + tuple(rest[place:])


def indexed_axes(template):
    """[(axis, how many neighbours an index takes of it)]."""
    axes = [t for t in template if t not in ("n", ".")]
    return [(k, t if is_window(t) else 1) for k, t in enumerate(axes) if is_indexed(t)]


def _infer_advanced(attrs, x, *indices):
    template = attrs["template"]
    for (axis, width), node in zip(indexed_axes(template), indices):
        size = x.shape[axis]
        _check_static(node, axis, None if size is None else size - width + 1)
    if any(i.ndim for t, i in zip(filter(is_indexed, template), indices) if is_window(t)):
        raise ShapeError("the beginning of a slice must be a scalar")
    return x.dtype, advanced_shape(template, x.shape, [i.shape for i in indices])


def key_of(template, x, indices):
    picked = []
    for (axis, width), array in zip(indexed_axes(template), indices):
        check_range(array, axis, x.shape[axis] - width + 1)
        picked.append((array, x.shape[axis] - width + 1))
    source, other = iter(picked), {"n": None, ".": ..., ":": slice(None)}

    def entry(t):
        if not is_indexed(t):
            return other[t]
        at, size = next(source)
        start = at if t == "a" else int(at) % size
        return start if t == "a" else slice(start, start + t)

    return tuple([entry(t) for t in template])


@from_copies
def _run_advanced(attrs, x, *indices):
    return np.array(x[key_of(attrs["template"], x, indices)])


def _grad_advanced(node, g):
    x, indices = node.inputs[0], node.inputs[1:]
    return (make("advanced_inc", (zeros_like(x), g) + indices, node.attrs),) + (None,) * len(
        indices
    )


Op(
    "advanced_take",
    "opaque",
    _infer_advanced,
    _run_advanced,
    _grad_advanced,
    doc="x[key] with integer arrays; attrs['template'] has 'a' for each, ':', 'n' (new "
    "axis), '.', an ellipsis of no axes: it sets indices apart all the same; a number is that many "
    "neighbours: of all such runs along an axis the one whose number the next operand is.",
)


def infer_write(attrs, x, y, *indices):
    part = _infer_advanced(attrs, x, *indices)[1]
    lead = len(part) - y.ndim
    if x.dtype != y.dtype:
        raise DTypeError(f"writing at indices needs one dtype, got {x.dtype} and {y.dtype}")
    if lead < 0 or any(
        None not in (a, b) and a not in (1, b) for a, b in zip(y.shape, part[lead:])
    ):
        raise ShapeError(
            f"a value of shape {show(y.shape)} does not fit a part of shape {show(part)}"
        )
    return x.dtype, x.shape


def _run_write(inc):
    @from_copies
    def run(attrs, x, y, *indices):
        out = np.array(x, order="C")
        key = key_of(attrs["template"], x, indices)
        if not inc:
            out[key] = y
            return out
        # Positions in memory, so that new axes in the key are no special case.
        where = np.arange(x.size).reshape(x.shape)[key]
        np.add.at(out.reshape(-1), where, np.broadcast_to(y, where.shape))
        return out

    return run


def _grad_inc(node, g):
    y, indices = node.inputs[1], node.inputs[2:]
    part = make("advanced_take", (g,) + indices, node.attrs)
    return (g, unbroadcast(part, y)) + (None,) * len(indices)


def _grad_set(node, g):
    y, indices = node.inputs[1], node.inputs[2:]
    hole = constant(np.zeros((), dtype=g.dtype))
    gx = make("advanced_set", (g, hole) + indices, node.attrs)
    if y.ndim == 0 and y.value is not None:
        return (gx, None) + (None,) * len(indices)
    last = "advanced_last" if any(i.ndim for i in indices) else "advanced_take"  # each place once
    part = make(last, (g,) + indices, node.attrs)
    return (gx, unbroadcast(part, y)) + (None,) * len(indices)


@from_copies
def _run_last(attrs, g, *indices):
    """g at the indices; where several write to one place only the last one counts, so gets it."""
    key = key_of(attrs["template"], g, indices)
    where = np.arange(g.size).reshape(g.shape)[key]
    last = np.full(g.size, -1)
    last[where.reshape(-1)] = np.arange(where.size)
    won = last[where] == np.arange(where.size).reshape(where.shape)
    return np.where(won, g[key], 0).astype(g.dtype, copy=False)


def _grad_last(node, g):
    x, indices = node.inputs[0], node.inputs[1:]
    hole = zeros_like(x)
    return (make("advanced_set", (hole, g) + indices, node.attrs),) + (None,) * len(indices)


# fmt: off
Op("advanced_set", "opaque", infer_write, _run_write(False), _grad_set,
   doc="x with y at x[key]; of repeated positions the last wins.")
Op("advanced_inc", "opaque", infer_write, _run_write(True), _grad_inc,
   doc="x with y added at x[key], once for each time a position occurs.")
Op("advanced_last", "opaque", _infer_advanced, _run_last, _grad_last,
   doc="x[key], zero where a later entry of the key names the same position.")
# fmt: on


def _advanced(name, first, indices, template):
    return make(
        name, first + [int_indices(i, "an index") for i in indices], {"template": tuple(template)}
    )


def advanced_take(x, indices, template):
    """x[key]: template has ':', 'n' (new axis), '.' (nothing), 'a' (the next of `indices`) or a
    number (that many neighbours, from the next of `indices` on)."""
    return _advanced("advanced_take", [to_node(x, "indexing")], indices, template)


def advanced_set(x, y, indices, template):
    """A tensor like `x` with `y` (broadcast) at x[key]."""
    return _advanced("advanced_set", [x, y], indices, template)


def advanced_inc(x, y, indices, template):
    """A tensor like `x` with `y` (broadcast) added at x[key]."""
    return _advanced("advanced_inc", [x, y], indices, template)


# --- positions from data ----------------------------------------------------------------------


INT64 = np.dtype("int64")


def _check_mask(mask, shape, axis):
    part = shape[axis : axis + len(mask)]
    if part == mask:
        return
    if len(part) != len(mask) or any(None not in (a, b) and a != b for a, b in zip(mask, part)):
        raise KeyShapeError(
            f"a mask of shape {show(mask)} does not fit axes {axis} to "
            f"{axis + len(mask) - 1} of a tensor of shape {show(shape)}"
        )


def _infer_mask(attrs, x, mask):
    _check_mask(mask.shape, x.shape, attrs["axis"])
    return [("int64", (None,))] * mask.ndim


def _places(x):
    """x.nonzero() of a copy: NumPy counts first, and writes as many places of a table."""
    return np.array(x).nonzero()


def _run_mask(attrs, x, mask):
    _check_mask(mask.shape, x.shape, attrs["axis"])
    found = _places(mask)
    if mask.ndim == 1 and found[0].dtype == INT64:
        return found
    # a vector's are one array already, those of a table its columns
    return tuple([i.astype("int64", copy=mask.ndim > 1) for i in found])


Op(
    "mask_indices",
    "opaque",
    _infer_mask,
    _run_mask,
    lambda node, g: (None, None),
    doc="nonzero(mask), checked against axes of x from attrs['axis'].",
)
Op(
    "nonzero",
    "opaque",
    lambda a, x: [("int64", (None,))] * x.ndim,
    lambda a, x: tuple([i.astype(INT64, copy=False) for i in _places(x)]),
    lambda node, g: (None,),
    doc="Index vectors of the elements that are not zero, one per axis.",
)


def _infer_mask_index(attrs, x, mask):
    _check_mask(mask.shape, x.shape, attrs["axis"])
    return "int64", (int(np.count_nonzero(mask.value)),)


def _run_mask_index(attrs, x, mask):
    return _run_mask(attrs, x, mask)[attrs["part"]]


def _lower_mask_index(node):
    x, mask = node.inputs
    return constant(_run_mask_index(node.attrs, x, mask.value))


Op(
    "mask_index",
    "composite",
    _infer_mask_index,
    _run_mask_index,
    lambda node, g: (None, None),
    lower=_lower_mask_index,
    doc="One of the index vectors of a constant mask, which must fit the axes of x.",
)


def _infer_fitted_mask(attrs, x, mask):
    _check_mask(mask.shape, x.shape, 0)
    return mask.dtype, mask.shape


Op(
    "fitted_mask",
    "composite",
    _infer_fitted_mask,
    lambda attrs, x, mask: _infer_fitted_mask(attrs, x, mask) and mask,
    lambda node, g: (None, None),
    lower=lambda node: node.inputs[1],
    doc="The mask, which must fit the leading axes of x.",
)


def mask_indices(x, mask, axis):
    """Index vectors equal to `mask` as an index of the axes of `x` from `axis`."""
    if mask.value is not None:
        _check_mask(mask.shape, x.shape, axis)
        if None not in x.shape[axis : axis + mask.ndim]:
            return [constant(i.astype("int64")) for i in np.nonzero(mask.value)]
        parts = range(mask.ndim)
        return [make("mask_index", (x, mask), {"axis": axis, "part": i}) for i in parts]
    found = make("mask_indices", (x, mask), {"axis": axis})
    return [item(found, i) for i in range(mask.ndim)]


def nonzero(x):
    """A tuple of index vectors of the elements that are not zero, one for each axis."""
    x = to_node(x, "nonzero")
    if x.ndim == 0:
        raise ShapeError("nonzero of a scalar has no axis to index; use flatnonzero")
    found = make("nonzero", (x,))
    return tuple(item(found, i) for i in range(x.ndim))


def flatnonzero(x):
    """Indices of the elements of the flattened `x` that are not zero."""
    return nonzero(flatten(to_node(x, "flatnonzero")))[0]


def argwhere(x):
    """A matrix with the index of each element that is not zero as a row."""
    columns = [expand(n, (1,)) for n in nonzero(x)]
    return make("concatenate", columns, {"axis": 1})


def _infer_repeat_index(attrs, counts, size):
    if counts.ndim != 1 or size.ndim:
        raise ShapeError(f"repeat needs a vector of counts, got shape {show(counts.shape)}")
    length = None
    if counts.value is not None and size.value is not None:
        length = len(_run_repeat_index(attrs, counts.value, size.value))
    return "int64", (length,)


@from_copies
def _run_repeat_index(attrs, counts, size):
    if len(counts) != size:
        raise ShapeError(f"repeat got {len(counts)} counts for an axis of size {int(size)}")
    if counts.size and counts.min() < 0:
        raise ShapeError(f"repeat: {int(counts.min())} is a negative count")
    return np.repeat(np.arange(size, dtype="int64"), counts)


Op(
    "repeat_index",
    "opaque",
    _infer_repeat_index,
    _run_repeat_index,
    lambda node, g: (None, None),
    doc="i repeated counts[i] times, for all i.",
)


def repeat_index(counts, size):
    """The vector in which each i < size occurs counts[i] times."""
    size = size if isinstance(size, Node) else constant(np.asarray(size, "int64"))
    node = make("repeat_index", (cast(to_node(counts, "repeat"), "int64"), size))
    if counts.value is not None and size.value is not None:
        return constant(_run_repeat_index({}, counts.value, size.value))
    return node


def repeat(x, repeats, axis=None):
    """np.repeat: each element `repeats` times along `axis` (None: of the flattened tensor).

    repeats: an int or a scalar node for all, or a vector (array or node) with a count for each.
    """
    x = to_node(x, "repeat")
    if axis is None:
        x, axis = flatten(x), 0
    axis = axis_of(axis, x.ndim)
    counts = to_node(repeats, "the repeats of repeat")
    if counts.dtype == "bool" or counts.dtype.startswith(("float", "complex")):
        raise DTypeError(f"the repeats of repeat must be integers, not {counts.dtype}")
    if counts.ndim == 1 and counts.shape[0] == 1:
        counts = squeeze(counts, 0)
    if counts.ndim:
        return take(x, repeat_index(counts, size_of(x, axis)), axis)
    n = int(counts.value) if counts.value is not None else counts
    if isinstance(n, int) and n < 0:
        raise ShapeError(f"repeat: {n} is a negative count")
    sizes = sized(x)
    wide = broadcast_to(expand(x, (axis + 1,)), sizes[: axis + 1] + [n] + sizes[axis + 1 :])
    return reshape(wide, sizes[:axis] + [times(sizes[axis], n)] + sizes[axis + 1 :])


repeat_elements = repeat
