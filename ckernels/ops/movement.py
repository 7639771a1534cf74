"""Movement ops: transpose, expand, squeeze, reshape, broadcast_to, slice. Views: no element moves.

Also what is built from them: flip, tile, repeat, flatten, stack, permute. Shapes may be given by
ints, scalar nodes or a vector node; sizes stay None where only the call knows them.
"""

import numpy as np

from ..base import given
from ..base.errors import IndexOutOfBounds, ShapeError
from ..graph.node import Node, make
from ..graph.op import Op
from ..graph.shapes import axes_of, axis_of, product, show
from ..graph.sizes import Size, indices, surely
from .base import expand, to_node, unbroadcast, zeros_like
from .shape import known_value, known_values, pack, shape, shape_vector, size_of, sized, times

__all__ = ["transpose", "permute", "swapaxes", "moveaxis", "expand_dims", "squeeze", "reshape",
           "flatten", "broadcast_to", "slice_", "flip", "reverse", "tile", "shape",
           "pack", "known_values", "known_value", "size_of",
           "shape_vector"]  # fmt: skip


# --- transpose --------------------------------------------------------------------------------


def _infer_transpose(attrs, x):
    return x.dtype, tuple(x.shape[p] for p in attrs["perm"])


def _grad_transpose(node, g):
    perm = node.attrs["perm"]
    return (transpose(g, tuple(perm.index(i) for i in range(len(perm)))),)


Op(
    "transpose",
    "movement",
    _infer_transpose,
    lambda a, x: np.transpose(x, a["perm"]),
    _grad_transpose,
    doc="Axes in the order attrs['perm'].",
)


def transpose(x, perm=None):
    """`x` with its axes in the order `perm`; reversed by default."""
    x = to_node(x, "transpose")
    if perm is None:
        perm = tuple(reversed(range(x.ndim)))
    else:
        perm = given.sequence(perm, "the order of axes")
        perm = tuple(given.integer(p, "an axis of transpose") for p in perm)
    if len(perm) != x.ndim or len({axis_of(p, x.ndim) for p in perm}) != x.ndim:
        raise ShapeError(
            f"{perm} is no order of the {x.ndim} axes of a tensor of shape {show(x.shape)}"
        )
    perm = tuple(p % x.ndim for p in perm)
    if perm == tuple(range(x.ndim)):
        return x
    if x.op.name == "transpose":
        return transpose(x.inputs[0], tuple(x.attrs["perm"][p] for p in perm))
    return make("transpose", (x,), {"perm": perm})


permute = transpose


def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged."""
    x = to_node(x, "swapaxes")
    order = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[a], order[b] = b, a
    return transpose(x, order)


def moveaxis(x, source, destination):
    """`x` with one axis moved to another position; the rest keep their order."""
    x = to_node(x, "moveaxis")
    source, destination = axis_of(source, x.ndim), axis_of(destination, x.ndim)
    order = [i for i in range(x.ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


# --- axes of size 1 ---------------------------------------------------------------------------


def _infer_expand(attrs, x):
    axes, rest = attrs["axes"], iter(x.shape)
    ndim = x.ndim + len(axes)
    if any(not 0 <= a < ndim for a in axes) or len(set(axes)) != len(axes):
        raise ShapeError(
            f"expand: axes {axes} are no distinct positions in a result of {ndim} dimensions"
        )
    return x.dtype, tuple(1 if i in axes else next(rest) for i in range(ndim))


Op(
    "expand",
    "movement",
    _infer_expand,
    lambda a, x: np.expand_dims(x, a["axes"]),
    lambda node, g: (squeeze(g, node.attrs["axes"]),),
    doc="Size-1 axes at positions of the result.",
)


def expand_dims(x, axis=-1):
    """`x` with new axes of size 1 at positions `axis` of the result (an int or several)."""
    x = to_node(x, "expand_dims")
    count = len(axis) if isinstance(axis, (list, tuple)) else 1
    return expand(x, axes_of(axis, x.ndim + count))


def _infer_squeeze(attrs, x):
    axes = attrs["axes"]
    wrong = [a for a in axes if x.shape[a] not in (1, None)]
    if wrong:
        raise ShapeError(
            f"cannot squeeze axis {wrong[0]} of shape {show(x.shape)}: "
            f"its size is {x.shape[wrong[0]]}, not 1"
        )
    return x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in axes)


def _run_squeeze(attrs, x):
    wrong = [a for a in attrs["axes"] if x.shape[a] != 1]
    if wrong:
        raise ShapeError(
            f"cannot squeeze axis {wrong[0]} of shape {show(x.shape)}: "
            f"its size is {x.shape[wrong[0]]}, not 1"
        )
    return np.squeeze(x, attrs["axes"])


Op(
    "squeeze",
    "movement",
    _infer_squeeze,
    _run_squeeze,
    lambda node, g: (expand(g, node.attrs["axes"]),),
    doc="Without axes of size 1.",
)


def squeeze(x, axes=None):
    """`x` without its axes of size 1 at `axes`; by default all that are known to have size 1."""
    x = to_node(x, "squeeze")
    axes = (
        tuple(i for i, d in enumerate(x.shape) if d == 1) if axes is None else axes_of(axes, x.ndim)
    )
    if not axes:
        return x
    if x.op.name == "expand" and x.attrs["axes"] == axes:
        return x.inputs[0]
    return make("squeeze", (x,), {"axes": axes})


# --- reshape ----------------------------------------------------------------------------------


def vector_values(what, vector):
    if vector.dtype != "int64" or vector.ndim != 1:
        raise ShapeError(
            f"{what} needs an int64 vector of sizes, got {vector.dtype} of shape "
            f"{show(vector.shape)}"
        )
    known = known_values(vector)
    if known is None:
        raise ShapeError(
            f"{what}: the number of dimensions must be known when the graph is built, but "
            "the vector of sizes has unknown length"
        )
    return known


def _infer_reshape(attrs, x, vector):
    new = vector_values("reshape", vector)
    holes = [i for i, d in enumerate(new) if d == -1]
    if len(holes) > 1 or any(d is not None and d < -1 for d in new):
        raise ShapeError(
            f"cannot reshape {show(x.shape)} to {show(new)}: sizes are >= 0, and at most one "
            "may be -1"
        )
    rest = product([d for d in new if d != -1])
    total = product(x.shape)
    if holes and None not in (rest, total):
        if rest == 0 or total % rest:
            raise ShapeError(
                f"cannot reshape {show(x.shape)} to {show(new)}: {total} elements do not "
                f"divide into {rest}"
            )
        new[holes[0]] = total // rest
    elif None not in (rest, total) and rest != total:
        raise ShapeError(
            f"cannot reshape {show(x.shape)} ({total} elements) to {show(new)} ({rest} elements)"
        )
    return x.dtype, tuple(None if d == -1 else d for d in new)


def _run_reshape(attrs, x, vector):
    new = tuple(int(d) for d in vector)
    try:
        if any(d < -1 for d in new):  # NumPy takes any negative size for -1
            raise ValueError
        return np.reshape(x, new)
    except ValueError:
        raise ShapeError(
            f"cannot reshape {show(x.shape)} ({x.size} elements) to {show(vector.tolist())}"
        ) from None


Op(
    "reshape",
    "movement",
    _infer_reshape,
    _run_reshape,
    lambda node, g: (reshape(g, shape(node.inputs[0])), None),
    doc="The same elements in C order in another shape; one size may be -1.",
)


def reshape(x, sizes):
    """`x` with other sizes (ints, scalar nodes, or a vector node); one may be -1 (or None)."""
    return _of_sizes("reshape", x, sizes)


def _of_sizes(name, x, sizes):
    """`x` in other sizes by the movement op `name`; itself where it is known to have them."""
    x = to_node(x, name)
    vector = shape_vector(sizes, f"the shape of {name}")
    known = known_values(vector)
    if known is not None and None not in x.shape and tuple(known) == x.shape:
        return x
    return make(name, (x, vector))


def flatten(x, ndim=1):
    """`x` with its trailing axes joined so that `ndim` are left."""
    x, ndim = to_node(x, "flatten"), given.integer(ndim, "ndim")
    if x.ndim == ndim:
        return x
    if not 1 <= ndim <= max(x.ndim, 1):
        raise ShapeError(f"cannot flatten shape {show(x.shape)} to {ndim} dimensions")
    kept = x.shape[: ndim - 1]
    if 0 in kept or kept.count(None) > 0:
        return reshape(x, sized(x, range(ndim - 1)) + [times(*sized(x, range(ndim - 1, x.ndim)))])
    return reshape(x, kept + (-1,))


# --- broadcast_to -----------------------------------------------------------------------------


def _infer_broadcast_to(attrs, x, vector):
    new = vector_values("broadcast_to", vector)
    lead = len(new) - x.ndim
    if (
        lead < 0
        or any(d is not None and d < 0 for d in new)
        or any(None not in (old, d) and old not in (1, d) for old, d in zip(x.shape, new[lead:]))
    ):
        raise ShapeError(f"cannot broadcast shape {show(x.shape)} to {show(new)}")
    known = [
        d if d is not None else (old if old not in (None, 1) else None)
        for old, d in zip((None,) * lead + x.shape, new)
    ]
    return x.dtype, tuple(known)


def _run_broadcast_to(attrs, x, vector):
    shape = tuple(vector.tolist())
    if not x.ndim and x.flags.c_contiguous and min(shape, default=0) >= 0:
        line = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))  # a tenth of NumPy's function
        line.flags.writeable = False
        return line
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ShapeError(
            f"cannot broadcast shape {show(x.shape)} to {show(vector.tolist())}"
        ) from None


Op(
    "broadcast_to",
    "movement",
    _infer_broadcast_to,
    _run_broadcast_to,
    lambda node, g: (unbroadcast(g, node.inputs[0]), None),
    doc="Repeated along axes of size 1.",
)


def broadcast_to(x, sizes):
    """`x` repeated along its axes of size 1 (and new leading ones) to the given sizes."""
    return _of_sizes("broadcast_to", x, sizes)


# --- slice ------------------------------------------------------------------------------------


def sliced_size(size, start, stop, step):
    """Length of range(size)[start:stop:step]; None when the size is unknown and matters."""
    if size is None or type(size) is int and start is stop is None and step == 1:
        return size
    return indices((start, stop, step), size).count


def check_exact(attrs, shape, slices):
    """IndexOutOfBounds where a slice of one that stands for an index (attrs["exact"]) is empty."""
    for a in attrs.get("exact", ()):
        k = slices[a][0] or 0
        if shape[a] is not None and not -shape[a] <= k < shape[a]:
            raise IndexOutOfBounds(f"index {k} is out of bounds for axis {a} of size {shape[a]}")


def _infer_slice(attrs, x):
    check_exact(attrs, x.shape, attrs["slices"])
    return x.dtype, tuple(sliced_size(d, *s) for d, s in zip(x.shape, attrs["slices"]))


def _grad_slice(node, g):
    slices = node.attrs["slices"]
    if all(s[:2] == (None, None) and s[2] in (1, -1) for s in slices):
        return (slice_(g, slices),)
    return (make("set_slice", (zeros_like(node.inputs[0]), g), {"slices": slices}),)


def _run_slice(attrs, x):
    check_exact(attrs, x.shape, attrs["slices"])
    return x[tuple(slice(*s) for s in attrs["slices"])]


Op(
    "slice",
    "movement",
    _infer_slice,
    _run_slice,
    _grad_slice,
    doc="Basic slices, one (start, stop, step) per axis.",
)


WHOLE = (None, None, 1)
FAR = 1 << 62  # no axis is so long: ints beyond it mean the same, and fit in int64
STRIDE = 1 << 40  # nor has anybody an axis of which two elements are so far apart


def near(n, most=FAR):
    """An int as a bound of a slice: the nearest one up to `most` of its sign."""
    return n if n is None or type(n) is Size else max(-most, min(int(n), most))


def normal_slice(s, size):
    """(start, stop, step) of ints and None in a normal form: whole axes are (None, None, 1)."""
    if s == WHOLE and type(size) is not Size:  # which may be asked whether it is 0
        return s
    start, stop, step = s
    step = 1 if step is None else near(step, STRIDE)
    if step == 0:
        raise ShapeError("the step of a slice cannot be 0")
    start, stop = near(start), near(stop)
    if step > 0 and start == 0:
        start = None
    if (
        size is not None
        and surely(sliced_size(size, start, stop, step), size)
        and (step == 1 or size > 1)
    ):
        return (None, None, step)
    return (start, stop, step)


def slice_(x, slices):
    """`x` sliced by one (start, stop, step) (or slice) per leading axis; static ints and None."""
    x = to_node(x, "slice")
    slices = [(s.start, s.stop, s.step) if isinstance(s, slice) else tuple(s) for s in slices]
    if len(slices) > x.ndim:
        raise ShapeError(f"{len(slices)} slices for a tensor of {x.ndim} dimensions")
    slices += [(None, None, 1)] * (x.ndim - len(slices))
    slices = tuple(normal_slice(s, d) for s, d in zip(slices, x.shape))
    if all(s == (None, None, 1) for s in slices):
        return x
    return make("slice", (x,), {"slices": slices})


# --- built from these -------------------------------------------------------------------------


def flip(x, axes=None):
    """`x` with the order of elements reversed along `axes` (all by default)."""
    x = to_node(x, "flip")
    axes = axes_of(axes, x.ndim)
    return slice_(x, [(None, None, -1 if i in axes else 1) for i in range(x.ndim)])


reverse = flip


def tile(x, reps):
    """`x` repeated as a whole reps[i] times along axis i (np.tile); reps: ints or scalar nodes."""
    x = to_node(x, "tile")
    reps = [reps] if isinstance(reps, (int, np.integer, Node)) else list(reps)
    if x.ndim < len(reps):
        x = expand(x, tuple(range(len(reps) - x.ndim)))
    reps = [1] * (x.ndim - len(reps)) + reps
    if all(isinstance(r, (int, np.integer)) and r == 1 for r in reps) or not reps:
        return x
    sizes = sized(x)
    wide = expand(x, tuple(range(0, 2 * x.ndim, 2)))
    wide = broadcast_to(wide, [d for pair in zip(reps, sizes) for d in pair])
    return reshape(wide, [times(r, d) for r, d in zip(reps, sizes)])
