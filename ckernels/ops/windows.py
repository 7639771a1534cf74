"""Windows that slide over images: the geometry convolution and pooling share, and `patches`;
windows along one axis of any tensor, as a view.

Images are (batch, *sizes, channels). Per spatial axis a window of `kernel` elements `dilation`
apart starts every `stride` elements of the padded image. Padding is a pair (low, high), or a word
whose numbers depend on sizes that may be unknown yet: "same", "full", "half", "causal", "partial".
"""

import itertools
import numbers
from functools import lru_cache

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, DTypeError, ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import axis_of, show
from .base import to_node
from .movement import reshape, transpose
from .shape import known_values, shape_vector, sized, times

__all__ = ["patches", "patches_grad", "sliding_windows", "window_attrs", "spatial_sizes"]

WORDS = ("same", "full", "half", "causal", "partial")
LARGEST = 2**31 - 1  # of strides, dilations and paddings: products of two stay within int64


# --- one axis ---------------------------------------------------------------------------------


def extent(kernel, dilation):
    """The elements a dilated kernel spans; None when unknown."""
    return None if kernel is None else max(0, (kernel - 1) * dilation + 1)


def pads(spec, size, kernel, stride, dilation):
    """(low, high) of one axis for a padding that may be a word; None while it is not known."""
    if isinstance(spec, tuple):
        return spec
    reach = extent(kernel, dilation)
    if reach is None or (size is None and (spec == "partial" or (spec == "same" and stride > 1))):
        return None
    if spec == "full":
        return (reach - 1, reach - 1)
    if spec == "half":
        return (reach // 2, reach // 2)
    if spec == "causal":
        return (reach - 1, 0)
    if spec == "partial":
        count = partial_count(size, reach, stride)
        return (0, max(0, (count - 1) * stride + reach - size))
    total = reach - 1 if stride == 1 else max(0, (-(-size // stride) - 1) * stride + reach - size)
    return (total // 2, total - total // 2)  # an odd one is at the end, as TensorFlow has it


def partial_count(size, kernel, stride):
    """How many windows start so that each sees something the one before did not."""
    if stride >= kernel:
        return (size - 1) // stride + 1 if size else 0
    return max(0, (size - 1 - kernel + stride) // stride) + 1 if size else 0


def count(spec, size, kernel, stride, dilation):
    """How many windows there are along an axis; None when that is not known yet."""
    if size is None:
        return None
    if spec == "same":
        return -(-size // stride)
    if kernel is None:
        return None
    low, high = pads(spec, size, kernel, stride, dilation)
    return max(0, (size + low + high - extent(kernel, dilation)) // stride + 1)


# --- all axes ---------------------------------------------------------------------------------


def all_pads(attrs, sizes, kernel):
    """((low, high), ...) of all axes, sizes known: what words in attrs["padding"] mean."""
    dilation = attrs.get("dilation", (1,) * len(sizes))
    return tuple(map(pads, attrs["padding"], sizes, kernel, attrs["strides"], dilation))


def counts(attrs, sizes, kernel, what, shown):
    """The sizes of the result (None where unknown); ShapeError where a window does not fit.

    what: the name of the window in the error ("kernel"); shown() gives the shapes it quotes.
    attrs["empty"]: a window that does not fit is no error, and the result has no elements.
    """
    dilation = attrs.get("dilation", (1,) * len(sizes))
    if 0 in kernel:
        raise ShapeError(f"a {what} of size {show(kernel)} has no elements: {shown()}")
    out = tuple(map(count, attrs["padding"], sizes, kernel, attrs["strides"], dilation))
    for axis, (n, size) in enumerate(zip(out, sizes)):
        if n == 0 and size and not attrs.get("empty"):
            reach = extent(kernel[axis], dilation[axis])
            low, high = pads(
                attrs["padding"][axis], size, kernel[axis], attrs["strides"][axis], dilation[axis]
            )
            spans = "" if reach == kernel[axis] else f" (dilated: {reach})"
            padded = f" padded by {low} and {high}" if low or high else ""
            raise ShapeError(
                f"a {what} of size {kernel[axis]}{spans} is larger than the image of "
                f"size {size}{padded} along spatial axis {axis}: {shown()}"
            )
    return out


def per_axis(value, n, name, least, what):
    """`value` (an int for all axes, or one per axis) as a tuple of n ints of at least `least`."""
    items = (value,) * n if isinstance(value, numbers.Integral) else value
    good = (
        isinstance(items, (tuple, list))
        and len(items) == n
        and all(isinstance(i, numbers.Integral) and not isinstance(i, bool) for i in items)
    )
    if not good:
        raise ArgumentError(f"{what}: {name} must be an integer or {n} of them, not {value!r}")
    if any(not least <= i <= LARGEST for i in items):
        raise ArgumentError(
            f"{what}: {name} must be at least {least} and below 2**31 along every "
            f"axis, not {value!r}"
        )
    return tuple(int(i) for i in items)


def axis_paddings(value, n, what):
    """`value` as one entry per axis: pairs, and words other than "valid"."""
    n = given.integer(n, f"{what}: the number of spatial axes")
    if isinstance(value, str) or isinstance(value, numbers.Integral):
        value = (value,) * n
    if not isinstance(value, (tuple, list)) or len(value) != n:
        raise ArgumentError(
            f"{what}: padding must be a word, an integer, or one entry for each of "
            f"{n} spatial axes, not {value!r}"
        )
    return tuple(_axis_padding(p, what) for p in value)


def _axis_padding(p, what):
    if isinstance(p, str):
        if p == "valid":
            return (0, 0)
        if p not in WORDS:
            raise ArgumentError(
                f"{what}: padding {p!r} is none of valid, "
                f"{', '.join(WORDS)}, nor a number or a pair of them"
            )
        return p
    return per_axis(p, 2, "a padding", 0, what)


def window_attrs(what, n, strides=1, padding="valid", dilation=1, sizes=None, kernel=None):
    """attrs of an op over windows of `n` spatial axes, checked, words replaced where known.

    strides, dilation: an int or one per axis. padding: "valid" or a word of WORDS, an int, or one
    per axis of these or of pairs (low, high). sizes, kernel: what is known of the image and the
    window (None: unknown). ArgumentError with `what` in the sentence.
    """
    sizes, kernel = sizes or (None,) * n, kernel or (None,) * n
    attrs = {
        "strides": per_axis(strides, n, "strides", 1, what),
        "dilation": per_axis(dilation, n, "dilation", 1, what),
    }
    words = axis_paddings(padding, n, what)
    if 0 in kernel:
        raise ShapeError(f"{what}: a window of size {show(kernel)} has no elements")
    known = map(pads, words, sizes, kernel, attrs["strides"], attrs["dilation"])
    attrs["padding"] = tuple(p if k is None else k for p, k in zip(words, known))
    return attrs


def check_window_attrs(attrs, n, what):
    """ArgumentError unless attrs are what `window_attrs` makes for `n` axes."""
    _check_window(attrs["strides"], attrs.get("dilation", (1,) * n), attrs["padding"], n, what)


@lru_cache(maxsize=256)  # they are checked again whenever a graph is rebuilt: 40 us each time
def _check_window(strides, dilation, padding, n, what):
    per_axis(strides, n, "strides", 1, what)
    per_axis(dilation, n, "dilation", 1, what)
    if axis_paddings(padding, n, what) != padding:
        raise ArgumentError(
            f"{what}: the attribute padding must be a pair or a word of "
            f"{', '.join(WORDS)} for each axis, not {padding!r}"
        )


def spatial_sizes(x):
    """The sizes of the spatial axes of an image tensor as an int64 vector node."""
    return shape_vector(sized(x, range(1, x.ndim - 1)))


# --- walks of NumPy over windows --------------------------------------------------------------


def padded(x, padding, value=0):
    """`x` with `value` around its spatial axes."""
    if not any(p for pair in padding for p in pair):
        return x
    return np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=value)


def cropped(x, padding):
    """The inside of what `padded` would make."""
    inside = tuple(slice(low, size - high) for (low, high), size in zip(padding, x.shape[1:-1]))
    return x[(slice(None), *inside)]


def taps(kernel, results, strides, dilation):
    """(offset in the window, index of a padded image: what all windows see there), row-major."""
    for offset in itertools.product(*map(range, kernel)):
        yield (
            offset,
            (
                slice(None),
                *(
                    slice(o * d, o * d + max(0, (r - 1) * s + 1), s)
                    for o, d, r, s in zip(offset, dilation, results, strides)
                ),
            ),
        )


def compute_dtype(dtype):
    """float16 and bfloat16 compute in float32."""
    return np.dtype(dtypes.computed(np.dtype(dtype).name))


def check_numbers(what, *nodes):
    """DTypeError unless all nodes are real numbers of one dtype."""
    if any(n.dtype != nodes[0].dtype for n in nodes):
        raise DTypeError(f"{what} needs one dtype, got " + " and ".join(n.dtype for n in nodes))
    if nodes[0].dtype == "bool" or dtypes.is_complex(nodes[0].dtype):
        raise DTypeError(f"{what} takes real numbers, not {nodes[0].dtype}; cast them first")


def known_sizes(vector, n, what):
    """What is known of a vector of `n` sizes, a tuple with None; ShapeError when it is none."""
    if vector.ndim != 1 or vector.dtype != "int64" or vector.shape[0] not in (None, n):
        raise ShapeError(
            f"{what} needs {n} int64 sizes, got {vector.dtype} of shape {show(vector.shape)}"
        )
    found = known_values(vector)
    sizes = (None,) * n if found is None else tuple(found)
    if any(s is not None and s < 0 for s in sizes):
        raise ShapeError(f"{what} cannot make an image of size {show(sizes)}")
    return sizes


# --- patches ----------------------------------------------------------------------------------


def _infer_patches(attrs, x):
    kernel = attrs["size"]
    n = len(kernel)
    check_window_attrs(attrs, n, "patches")
    if x.ndim != n + 2:
        raise ShapeError(
            f"patches of {n} axes need an image of {n + 2} dimensions, got shape {show(x.shape)}"
        )
    results = counts(attrs, x.shape[1:-1], kernel, "window", lambda: f"image {show(x.shape)}")
    if attrs.get("exact"):
        _check_exact(attrs, x.shape[1:-1])
    return x.dtype, (x.shape[0], *results, *kernel, x.shape[-1])


class TilingError(ShapeError, TypeError):
    """Windows that do not tile an image, as was asked for; Theano called that a TypeError."""


def _check_exact(attrs, sizes):
    """TilingError where windows leave something of the padded image at the end of an axis."""
    axes = zip(sizes, attrs["size"], attrs["strides"], attrs["padding"], attrs["dilation"])
    for axis, (size, k, s, spec, d) in enumerate(axes):
        around = size and pads(spec, size, k, s, d)
        if around and (size + sum(around) - extent(k, d)) % s:
            raise TilingError(
                f"windows of size {k} every {s} elements do not divide the image of "
                f"size {size}, padded by {around[0]} and {around[1]}, along spatial "
                f"axis {axis}"
            )


def _run_patches(attrs, x):
    kernel = attrs["size"]
    n = len(kernel)
    results = _infer_patches(attrs, Sized(x))[1][1 : n + 1]
    wide = padded(x, all_pads(attrs, x.shape[1:-1], kernel))
    out = np.empty((x.shape[0], *results, *kernel, x.shape[-1]), x.dtype)
    for offset, there in taps(kernel, results, attrs["strides"], attrs["dilation"]):
        out[(slice(None),) * (n + 1) + offset] = wide[there]
    return out


def _infer_patches_grad(attrs, g, sizes):
    kernel = attrs["size"]
    n = len(kernel)
    check_window_attrs(attrs, n, "patches_grad")
    image = known_sizes(sizes, n, "patches_grad")
    if g.ndim != 2 * n + 2:
        raise ShapeError(f"patches of {n} axes have {2 * n + 2} dimensions, got {show(g.shape)}")
    results = counts(attrs, image, kernel, "window", lambda: f"image sizes {show(image)}")
    for have, want in zip(g.shape[1:-1], results + tuple(kernel)):
        if None not in (have, want) and have != want:
            raise ShapeError(
                f"patches of shape {show(g.shape)} are none of an image of sizes "
                f"{show(image)} by windows of {show(kernel)}: they would be "
                f"{show((g.shape[0], *results, *kernel, g.shape[-1]))}"
            )
    return g.dtype, (g.shape[0], *image, g.shape[-1])


class Sized:
    """What `infer` asks of a node, for an array."""

    def __init__(self, array):
        self.value, self.dtype, self.shape = array, array.dtype.name, array.shape
        self.ndim = array.ndim


def _run_patches_grad(attrs, g, sizes):
    kernel, image = attrs["size"], tuple(int(s) for s in sizes)
    n = len(kernel)
    _, shape = _infer_patches_grad(attrs, Sized(g), Sized(sizes))
    around = all_pads(attrs, image, kernel)
    wide = padded(np.zeros(shape, compute_dtype(g.dtype)), around)
    for offset, there in taps(kernel, g.shape[1 : n + 1], attrs["strides"], attrs["dilation"]):
        wide[there] += g[(slice(None),) * (n + 1) + offset]
    return np.ascontiguousarray(cropped(wide, around)).astype(g.dtype, copy=False)


Op(
    "patches",
    "opaque",
    _infer_patches,
    _run_patches,
    lambda node, g: (make("patches_grad", (g, spatial_sizes(node.inputs[0])), node.attrs),),
    ulp=0,
    doc="All windows of an image: (N, *sizes, C) gives (N, *results, *size, C).",
)
Op(
    "patches_grad",
    "opaque",
    _infer_patches_grad,
    _run_patches_grad,
    lambda node, g: (make("patches", (g,), node.attrs), None),
    ulp=64,
    doc="Windows added up at their places in images of the sizes given: the gradient of patches.",
)


def patches(x, size, strides=1, padding="valid", dilation=1, exact=False):
    """All windows of the images `x` (N, *S, C): shape (N, *R, *size, C).

    exact: ShapeError where the last window does not end at the end of the (padded) image.
    """
    x = to_node(x, "patches")
    n = x.ndim - 2
    size = per_axis(size, n, "size", 1, "patches")
    attrs = window_attrs("patches", n, strides, padding, dilation, x.shape[1:-1], size)
    if exact:
        attrs["exact"] = True
    return make("patches", (x,), {"size": size, **attrs})


def patches_grad(p, sizes, size, strides=1, padding="valid", dilation=1):
    """Windows `p` (N, *R, *size, C) added up at their places in images (N, *sizes, C)."""
    p, sizes = to_node(p, "patches_grad"), shape_vector(sizes, "sizes")
    n = len(size)
    known = known_sizes(sizes, n, "patches_grad")
    attrs = window_attrs("patches_grad", n, strides, padding, dilation, known, size)
    return make("patches_grad", (p, sizes), {"size": tuple(size), **attrs})


# --- windows along one axis -------------------------------------------------------------------


def _infer_windows(attrs, x):
    axis, size = attrs["axis"], attrs["size"]
    count = x.shape[axis]
    if count is not None and count < size:
        raise ShapeError(f"windows of {size} elements along axis {axis} of shape {show(x.shape)}")
    count = None if count is None else count - (size - 1)
    return x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1 :], size)


def _run_windows(attrs, x):
    _infer_windows(attrs, Sized(x))
    return np.lib.stride_tricks.sliding_window_view(x, attrs["size"], attrs["axis"])


def _grad_windows(node, g):
    """All that an element was shown as, added up: patches of images with one channel."""
    x, axis = node.inputs[0], node.attrs["axis"]
    others = [k for k in range(x.ndim) if k != axis]
    rest = sized(x, others)
    g = transpose(g, [*others, axis, x.ndim])
    g = reshape(g, [times(*rest), *sized(g, (x.ndim - 1, x.ndim)), 1])
    back = patches_grad(g, sized(x, [axis]), (node.attrs["size"],))
    back = reshape(back, [*rest, *sized(x, [axis])])
    order = [*others, axis]
    return (transpose(back, [order.index(k) for k in range(x.ndim)]),)


Op(
    "sliding_windows",
    "movement",
    _infer_windows,
    _run_windows,
    _grad_windows,
    doc="All runs of attrs['size'] neighbours along attrs['axis'], each along a new last axis.",
)


def sliding_windows(x, axis, size):
    """All runs of `size` neighbours along `axis`, each along a new last axis: a view."""
    x, size = to_node(x, "sliding_windows"), given.integer(size, "the size of windows")
    if size < 1:
        raise ShapeError(f"windows have one element or more, not {size}")
    return make("sliding_windows", (x,), {"axis": axis_of(axis, x.ndim), "size": size})
