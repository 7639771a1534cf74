"""Pooling: maximum, sum and average of windows over images (N, *S, C), and their adjoints.

Padding is never a maximum and adds nothing to a sum; NaN wins as in NumPy; of equal maxima the
first in row-major order gets the gradient. The geometry is in windows.py; attrs["size"] is the
window. Averages are composites: a sum of windows over counts known at concrete shapes.
"""

import numpy as np

from ..base import dtypes
from ..base.errors import ShapeError
from ..graph.node import constant, make
from ..graph.op import Op
from ..graph.shapes import product, show
from .base import cast, to_node
from .elementwise import true_div
from .shape import shape_vector
from .windows import (
    Sized,
    all_pads,
    axis_paddings,
    check_numbers,
    check_window_attrs,
    compute_dtype,
    counts,
    cropped,
    known_sizes,
    padded,
    per_axis,
    spatial_sizes,
    taps,
    window_attrs,
)

__all__ = ["pool_max", "pool_sum", "pool_average", "pool_sum_grad", "window_counts"]


def _results(name, attrs, x):
    """The shape of a pooled `x`."""
    size = attrs["size"]
    check_window_attrs(attrs, len(size), name)
    if x.ndim != len(size) + 2:
        raise ShapeError(
            f"{name} over {len(size)} spatial axes needs images of {len(size) + 2} "
            f"dimensions, got shape {show(x.shape)}"
        )
    check_numbers(name, x)
    out = counts(attrs, x.shape[1:-1], size, "window", lambda: f"image {show(x.shape)}")
    return (x.shape[0], *out, x.shape[-1])


def _check_like(name, attrs, x, y):
    """Raise unless `y` may have the shape of a pooled `x`."""
    want = _results(name, attrs, x)
    check_numbers(name, x, y)
    if y.ndim != x.ndim or any(
        None not in pair and pair[0] != pair[1] for pair in zip(want, y.shape)
    ):
        raise ShapeError(
            f"{name}: an image {show(x.shape)} is pooled to {show(want)}, not {show(y.shape)}"
        )


def _walk(attrs, x, y):
    """(index of the padded image, which windows see an element of the image there) per tap."""
    sizes, size = x.shape[1:-1], attrs["size"]
    around = all_pads(attrs, sizes, size)
    inside = padded(np.ones((1, *sizes, 1), bool), around)
    for _, there in taps(size, y.shape[1:-1], attrs["strides"], (1,) * len(size)):
        yield there, inside[there]


def _around(attrs, x):
    return all_pads(attrs, x.shape[1:-1], attrs["size"])


# --- maximum ----------------------------------------------------------------------------------


def _lowest(dtype):
    return -np.inf if dtypes.is_float(dtype.name) else np.iinfo(dtype).min


def _run_max(attrs, x):
    shape = _results("pool_max", attrs, Sized(x))
    wide = padded(x, _around(attrs, x), _lowest(x.dtype))
    y = np.full(shape, _lowest(x.dtype), x.dtype)
    for there, _ in _walk(attrs, x, y):
        np.maximum(y, wide[there], out=y)
    return y


def _firsts(attrs, x, y):
    """(index of the padded image, windows whose first maximum is there) per tap."""
    wide = padded(x, _around(attrs, x))
    left = np.ones(y.shape, bool)
    for there, inside in _walk(attrs, x, y):
        part = wide[there]
        hit = left & inside & ((part == y) | ((part != part) & (y != y)))
        left &= ~hit
        yield there, hit


def _infer_max_grad(attrs, x, y, g):
    _check_like("pool_max_grad", attrs, x, y)
    _check_like("pool_max_grad", attrs, x, g)
    return g.dtype, x.shape


def _run_max_grad(attrs, x, y, g):
    _infer_max_grad(attrs, Sized(x), Sized(y), Sized(g))
    around = _around(attrs, x)
    wide = padded(np.zeros(x.shape, compute_dtype(g.dtype)), around)
    for there, hit in _firsts(attrs, x, y):
        wide[there] += np.where(hit, g, 0)
    return np.ascontiguousarray(cropped(wide, around)).astype(g.dtype, copy=False)


def _infer_max_take(attrs, x, y, v):
    _check_like("pool_max_take", attrs, x, y)
    check_numbers("pool_max_take", x, v)
    if v.ndim != x.ndim or any(
        None not in pair and pair[0] != pair[1] for pair in zip(x.shape, v.shape)
    ):
        raise ShapeError(
            f"pool_max_take needs values in the shape of the image {show(x.shape)}, "
            f"got {show(v.shape)}"
        )
    return v.dtype, y.shape


def _run_max_take(attrs, x, y, v):
    _infer_max_take(attrs, Sized(x), Sized(y), Sized(v))
    wide, out = padded(v, _around(attrs, x)), np.zeros(y.shape, v.dtype)
    for there, hit in _firsts(attrs, x, y):
        np.copyto(out, wide[there], where=hit)
    return out


def _grad_max(node, g):
    return (make("pool_max_grad", (node.inputs[0], node, g), node.attrs),)


def _grad_max_grad(node, h):
    x, y, _ = node.inputs
    return None, None, make("pool_max_take", (x, y, h), node.attrs)


def _grad_max_take(node, u):
    x, y, _ = node.inputs
    return None, None, make("pool_max_grad", (x, y, u), node.attrs)


# fmt: off
Op("pool_max", "opaque", lambda a, x: (x.dtype, _results("pool_max", a, x)), _run_max, _grad_max,
   ulp=0, doc="The maximum of each window.")
Op("pool_max_grad", "opaque", _infer_max_grad, _run_max_grad, _grad_max_grad, ulp=64,
   doc="g at the first maximum of each window, added up: (image, maxima, g) to an image.")
Op("pool_max_take", "opaque", _infer_max_take, _run_max_take, _grad_max_take, ulp=0,
   doc="Of the last operand, what lies where each window of the first has its first maximum.")
# fmt: on


# --- sum --------------------------------------------------------------------------------------


def _run_sum(attrs, x):
    shape = _results("pool_sum", attrs, Sized(x))
    wide, y = padded(x, _around(attrs, x)), np.zeros(shape, compute_dtype(x.dtype))
    for there, _ in _walk(attrs, x, y):
        y += wide[there]
    return y.astype(x.dtype, copy=False)


def _sum_grad_shape(name, attrs, g, sizes):
    image = known_sizes(sizes, len(attrs["size"]), name)
    if g.ndim != len(image) + 2:
        raise ShapeError(
            f"{name} needs a tensor of {len(image) + 2} dimensions, got shape {show(g.shape)}"
        )
    check_numbers(name, g)
    shape = (g.shape[0], *image, g.shape[-1])
    want = counts(attrs, image, attrs["size"], "window", lambda: f"image sizes {show(image)}")
    if any(None not in pair and pair[0] != pair[1] for pair in zip(want, g.shape[1:-1])):
        raise ShapeError(
            f"{name}: an image of sizes {show(image)} is pooled to sizes "
            f"{show(want)}, not {show(g.shape[1:-1])}"
        )
    return shape


def _run_sum_grad(attrs, g, sizes):
    shape = _sum_grad_shape("pool_sum_grad", attrs, Sized(g), Sized(sizes))
    wide = np.zeros(shape, compute_dtype(g.dtype))
    around = _around(attrs, wide)
    wide = padded(wide, around)
    for _, there in taps(attrs["size"], g.shape[1:-1], attrs["strides"], (1,) * len(around)):
        wide[there] += g
    return np.ascontiguousarray(cropped(wide, around)).astype(g.dtype, copy=False)


def _forward(name):
    """The gradient of an op that undoes the op `name`: it is linear, so `name` itself."""
    return lambda node, h: (make(name, (h,), node.attrs), None)


def _backward(name):
    return lambda node, g: (make(name, (g, spatial_sizes(node.inputs[0])), node.attrs),)


Op(
    "pool_sum",
    "opaque",
    lambda a, x: (x.dtype, _results("pool_sum", a, x)),
    _run_sum,
    _backward("pool_sum_grad"),
    ulp=64,
    doc="The sum of each window.",
)
Op(
    "pool_sum_grad",
    "opaque",
    lambda a, g, sizes: (g.dtype, _sum_grad_shape("pool_sum_grad", a, g, sizes)),
    _run_sum_grad,
    _forward("pool_sum"),
    ulp=64,
    doc="g added to every element of its window: to an image.",
)


# --- average ----------------------------------------------------------------------------------


def window_counts(attrs, sizes):
    """How many elements each window averages: an int array of the spatial sizes of the result.

    attrs["inside"], per axis: only elements of the image count; else padding counts too.
    """
    size, around = attrs["size"], all_pads(attrs, sizes, attrs["size"])
    results = counts(attrs, sizes, size, "window", lambda: f"image sizes {show(sizes)}")
    out = np.ones((), "int64")
    axes = zip(size, attrs["strides"], around, results, sizes, attrs["inside"])
    for k, s, (low, _), r, n, inside in axes:
        start = np.arange(r) * s - low
        if inside:
            line = np.minimum(start + k, n) - np.maximum(start, 0)
        else:
            line = np.full(r, k)
        out = np.multiply.outer(out, np.maximum(line, 1))
    return out


def _divided(x, attrs, sizes):
    """The node `x` over the counts of its windows.

    Padding that is a word differs from size to size, and so do counts: they are always an array
    then, so that one kernel serves all sizes. Without padding every window is whole.
    """
    words = any(isinstance(p, str) for p in attrs["padding"])
    if not words and not any(map(any, all_pads(attrs, sizes, attrs["size"]))):
        return true_div(x, constant(np.asarray(product(attrs["size"]), x.dtype)))
    number = window_counts(attrs, tuple(map(int, sizes)))
    if not words and number.size and (number == number.flat[0]).all():
        number = number.flat[0]
        return true_div(x, constant(np.asarray(number, x.dtype)))
    return true_div(x, constant(number[..., None].astype(x.dtype)))


def _wide(x):
    return cast(x, dtypes.computed(x.dtype))


def _bare(attrs):
    return {k: v for k, v in attrs.items() if k != "inside"}


def _lower_average(node):
    x = node.inputs[0]
    total = make("pool_sum", (_wide(x),), _bare(node.attrs))
    return cast(_divided(total, node.attrs, x.shape[1:-1]), x.dtype)


def _lower_average_grad(node):
    g, sizes = node.inputs
    image = known_sizes(sizes, len(node.attrs["size"]), "pool_average_grad")
    each = _divided(_wide(g), node.attrs, image)
    return cast(make("pool_sum_grad", (each, sizes), _bare(node.attrs)), g.dtype)


def _run_average(attrs, x):
    total = _run_sum(attrs, x.astype(compute_dtype(x.dtype)))
    number = window_counts(attrs, x.shape[1:-1])[..., None].astype(total.dtype)
    return (total / number).astype(x.dtype, copy=False)


def _run_average_grad(attrs, g, sizes):
    number = window_counts(attrs, tuple(int(s) for s in sizes))[..., None]
    wide = g.astype(compute_dtype(g.dtype))
    return _run_sum_grad(attrs, wide / number.astype(wide.dtype), sizes).astype(g.dtype, copy=False)


Op(
    "pool_average",
    "composite",
    lambda a, x: (x.dtype, _results("pool_average", a, x)),
    _run_average,
    _backward("pool_average_grad"),
    lower=_lower_average,
    ulp=64,
    doc="The mean of each window.",
)
Op(
    "pool_average_grad",
    "composite",
    lambda a, g, sizes: (g.dtype, _sum_grad_shape("pool_average_grad", a, g, sizes)),
    _run_average_grad,
    _forward("pool_average"),
    lower=_lower_average_grad,
    ulp=64,
    doc="g over the count of its window, added to every element of it: to an image.",
)


# --- build functions --------------------------------------------------------------------------


def _attrs(what, x, size, strides, padding, empty=False):
    n = x.ndim - 2
    if n < 1:
        raise ShapeError(
            f"{what} needs images of at least 3 dimensions, (batch, size, channels), "
            f"got shape {show(x.shape)}"
        )
    size = per_axis(size, n, "the window", 1, what)
    strides = size if strides is None else strides
    attrs = window_attrs(what, n, strides, padding, 1, x.shape[1:-1], size)
    del attrs["dilation"]
    return {"size": size, **attrs, **({"empty": True} if empty else {})}


def pool_max(x, size, strides=None, padding="valid", empty=False):
    """The maximum of each window of `size` in the images `x` (N, *S, C): (N, *R, C).

    strides: None for windows side by side. padding: as in `conv`, or "partial": windows that
    reach over the end see what is left of the image. empty: a window that is larger than the padded
    image is no error, but gives a result without elements.
    """
    x = to_node(x, "pool_max")
    return make("pool_max", (x,), _attrs("pool_max", x, size, strides, padding, empty))


def pool_sum(x, size, strides=None, padding="valid", empty=False):
    """The sum of each window; arguments as for `pool_max`."""
    x = to_node(x, "pool_sum")
    return make("pool_sum", (x,), _attrs("pool_sum", x, size, strides, padding, empty))


def pool_sum_grad(g, sizes, size, strides=None, padding="valid"):
    """`g` added to every element of its window in images of the spatial sizes `sizes`."""
    g, sizes = to_node(g, "pool_sum_grad"), shape_vector(sizes, "sizes")
    attrs = _attrs("pool_sum_grad", g, size, strides, "valid")
    known = known_sizes(sizes, g.ndim - 2, "pool_sum_grad")
    full = window_attrs(
        "pool_sum_grad", g.ndim - 2, attrs["strides"], padding, 1, known, attrs["size"]
    )
    return make("pool_sum_grad", (g, sizes), {**attrs, "padding": full["padding"]})


def pool_average(x, size, strides=None, padding="valid", inside=True, empty=False):
    """The mean of each window, in a float dtype; inside: padding does not count.

    What "partial" adds at the end is no padding and never counts.
    """
    x = to_node(x, "pool_average")
    x = cast(x, dtypes.to_float(x.dtype))
    attrs = _attrs("pool_average", x, size, strides, padding, empty)
    words = axis_paddings(padding, x.ndim - 2, "pool_average")
    counted = tuple(bool(inside) or word == "partial" for word in words)
    return make("pool_average", (x,), {**attrs, "inside": counted})
