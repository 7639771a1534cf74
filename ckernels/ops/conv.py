"""Convolution: conv and its two adjoints, closed under differentiation.

Channels last: images (N, *S, C), kernels (*K, C / groups, O), results (N, *R, O), for any number
of spatial axes. CORRELATION: kernels are not flipped. Output channel o belongs to group
o // (O / groups), input channel c to group c // (C / groups). The geometry is in windows.py.
"""

import math
from typing import NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import show
from .base import operands, to_node
from .shape import shape_vector, sized
from .windows import (
    Sized,
    all_pads,
    check_numbers,
    check_window_attrs,
    compute_dtype,
    counts,
    cropped,
    known_sizes,
    padded,
    spatial_sizes,
    taps,
    window_attrs,
)

__all__ = ["conv", "conv_input_grad", "conv_weight_grad", "kernel_sizes"]


# --- geometry ---------------------------------------------------------------------------------


class Geometry(NamedTuple):
    """A convolution in numbers; `padding` has no words any more."""

    batch: int
    sizes: tuple  # of the image, S
    channels: int  # C
    kernel: tuple  # K
    results: tuple  # R
    out_channels: int  # O
    strides: tuple
    padding: tuple
    dilation: tuple
    groups: int


def geometry(node):
    """The Geometry of a conv, conv_input_grad or conv_weight_grad node of known shapes."""
    first, second = node.inputs[:2]
    if node.op.name == "conv":
        image, kernel, result = first.shape, second.shape, node.shape
    elif node.op.name == "conv_input_grad":
        image, kernel, result = node.shape, second.shape, first.shape
    else:
        image, kernel, result = first.shape, node.shape, second.shape
    attrs = node.attrs
    return Geometry(
        image[0],
        image[1:-1],
        image[-1],
        kernel[:-2],
        result[1:-1],
        kernel[-1],
        attrs["strides"],
        all_pads(attrs, image[1:-1], kernel[:-2]),
        attrs["dilation"],
        attrs["groups"],
    )


def _check(name, attrs, image=None, kernel=None, result=None):
    """Raise unless the nodes that are given have the rank, dtype and channels they need."""
    n, groups = len(attrs["strides"]), attrs["groups"]
    check_window_attrs(attrs, n, name)
    for what, x in (("an image", image), ("a kernel", kernel), ("a result", result)):
        if x is not None and x.ndim != n + 2:
            raise ShapeError(
                f"{name} over {n} spatial axes needs {what} of {n + 2} dimensions, "
                f"got shape {show(x.shape)}"
            )
    check_numbers(name, *(x for x in (image, kernel, result) if x is not None))
    c, o = (None if image is None else image.shape[-1]), None
    if kernel is not None:
        each, o = kernel.shape[-2:]
        if None not in (c, each) and c != each * groups:
            raise ShapeError(
                f"{name} of an image {show(image.shape)} with {c} channels and a kernel "
                f"{show(kernel.shape)} for {each} channels" + _in_groups(groups)
            )
    if result is not None:
        if None not in (o, result.shape[-1]) and o != result.shape[-1]:
            raise ShapeError(
                f"{name} of a result {show(result.shape)} with {result.shape[-1]} "
                f"channels and a kernel {show(kernel.shape)} that makes {o}"
            )
        o = result.shape[-1]
    for what, channels in (("input", c), ("output", o)):
        if channels is not None and channels % groups:
            raise ShapeError(
                f"{name}: {groups} groups do not divide {channels} {what} channels: "
                + _shapes(image, kernel, result)
            )


def _in_groups(groups):
    return "" if groups == 1 else f" in each of {groups} groups"


def _shapes(image=None, kernel=None, result=None):
    named = (("image", image), ("kernel", kernel), ("result", result))
    return " and ".join(f"{word} {show(x.shape)}" for word, x in named if x is not None)


def _check_results(name, want, result, shown):
    """Raise unless the spatial sizes of the node `result` may be those of the tuple `want`."""
    have = result.shape[1:-1]
    if any(None not in pair and pair[0] != pair[1] for pair in zip(have, want)):
        raise ShapeError(
            f"{name}: a convolution of {shown()} has a result of sizes {show(want)}, "
            f"not {show(have)}"
        )


# --- conv -------------------------------------------------------------------------------------


def _infer_conv(attrs, x, w):
    _check("conv", attrs, image=x, kernel=w)
    results = counts(attrs, x.shape[1:-1], w.shape[:-2], "kernel", lambda: _shapes(x, w))
    return x.dtype, (x.shape[0], *results, w.shape[-1])


def _run_conv(attrs, x, w):
    _, shape = _infer_conv(attrs, Sized(x), Sized(w))
    wide = padded(x, all_pads(attrs, x.shape[1:-1], w.shape[:-2]))
    groups, dtype = attrs["groups"], compute_dtype(x.dtype)
    y = np.zeros((groups, math.prod(shape[:-1]), shape[-1] // groups), dtype)
    for offset, there in taps(w.shape[:-2], shape[1:-1], attrs["strides"], attrs["dilation"]):
        y += np.matmul(_rows(wide[there], groups, dtype), _rows(w[offset], groups, dtype))
    return _from_rows(y, shape).astype(x.dtype, copy=False)


def _rows(x, groups, dtype):
    """(..., channels) as (groups, rows, channels / groups)."""
    rows, channels = math.prod(x.shape[:-1]), x.shape[-1]
    return x.reshape(rows, groups, channels // groups).swapaxes(0, 1).astype(dtype, copy=False)


def _from_rows(y, shape):
    return y.swapaxes(0, 1).reshape(shape)


def _grad_conv(node, g):
    x, w = node.inputs
    return (
        make("conv_input_grad", (g, w, spatial_sizes(x)), node.attrs),
        make("conv_weight_grad", (x, g, kernel_sizes(w)), node.attrs),
    )


def kernel_sizes(w):
    """The spatial sizes of a kernel (*K, C, O) as an int64 vector node."""
    return shape_vector(sized(w, range(w.ndim - 2)))


# --- conv_input_grad --------------------------------------------------------------------------


def _infer_input_grad(attrs, g, w, sizes):
    name = "conv_input_grad"
    _check(name, attrs, kernel=w, result=g)
    image = known_sizes(sizes, len(attrs["strides"]), name)
    shown = lambda: f"an image of sizes {show(image)} and a kernel {show(w.shape)}"
    _check_results(name, counts(attrs, image, w.shape[:-2], "kernel", shown), g, shown)
    each = w.shape[-2]
    return g.dtype, (g.shape[0], *image, None if each is None else each * attrs["groups"])


def _run_input_grad(attrs, g, w, sizes):
    _, shape = _infer_input_grad(attrs, Sized(g), Sized(w), Sized(sizes))
    around = all_pads(attrs, shape[1:-1], w.shape[:-2])
    groups, dtype = attrs["groups"], compute_dtype(g.dtype)
    wide = padded(np.zeros(shape, dtype), around)
    rows = _rows(g, groups, dtype)
    for offset, there in taps(w.shape[:-2], g.shape[1:-1], attrs["strides"], attrs["dilation"]):
        part = np.matmul(rows, _rows(w[offset], groups, dtype).swapaxes(1, 2))
        wide[there] += _from_rows(part, (*g.shape[:-1], shape[-1]))
    return np.ascontiguousarray(cropped(wide, around)).astype(g.dtype, copy=False)


def _grad_input_grad(node, h):
    g, w, _ = node.inputs
    return (
        make("conv", (h, w), node.attrs),
        make("conv_weight_grad", (h, g, kernel_sizes(w)), node.attrs),
        None,
    )


# --- conv_weight_grad -------------------------------------------------------------------------


def _infer_weight_grad(attrs, x, g, kernel):
    name = "conv_weight_grad"
    _check(name, attrs, image=x, result=g)
    if None not in (x.shape[0], g.shape[0]) and x.shape[0] != g.shape[0]:
        raise ShapeError(
            f"{name} of an image {show(x.shape)} and a result {show(g.shape)}: "
            f"{x.shape[0]} images against {g.shape[0]}"
        )
    sizes = known_sizes(kernel, len(attrs["strides"]), name)
    shown = lambda: f"an image {show(x.shape)} and a kernel of sizes {show(sizes)}"
    _check_results(name, counts(attrs, x.shape[1:-1], sizes, "kernel", shown), g, shown)
    c = x.shape[-1]
    return x.dtype, (*sizes, None if c is None else c // attrs["groups"], g.shape[-1])


def _run_weight_grad(attrs, x, g, kernel):
    _, shape = _infer_weight_grad(attrs, Sized(x), Sized(g), Sized(kernel))
    wide = padded(x, all_pads(attrs, x.shape[1:-1], shape[:-2]))
    groups, dtype = attrs["groups"], compute_dtype(x.dtype)
    out, rows = np.zeros(shape, dtype), _rows(g, groups, dtype)
    for offset, there in taps(shape[:-2], g.shape[1:-1], attrs["strides"], attrs["dilation"]):
        part = np.matmul(_rows(wide[there], groups, dtype).swapaxes(1, 2), rows)
        out[offset] = part.swapaxes(0, 1).reshape(shape[-2:])
    return out.astype(x.dtype, copy=False)


def _grad_weight_grad(node, v):
    x, g, _ = node.inputs
    return (
        make("conv_input_grad", (g, v, spatial_sizes(x)), node.attrs),
        make("conv", (x, v), node.attrs),
        None,
    )


# fmt: off
Op("conv", "opaque", _infer_conv, _run_conv, _grad_conv, ulp=256,
   doc="Correlation of images (N, *S, C) with a kernel (*K, C / groups, O).")
Op("conv_input_grad", "opaque", _infer_input_grad, _run_input_grad, _grad_input_grad, ulp=256,
   doc="What conv does backwards: results (N, *R, O) to images of the sizes given.")
Op("conv_weight_grad", "opaque", _infer_weight_grad, _run_weight_grad, _grad_weight_grad, ulp=256,
   doc="The kernel of the sizes given whose conv with the image is the result's cotangent.")
# fmt: on


# --- build functions --------------------------------------------------------------------------


def _attrs(what, n, groups, *windows):
    if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)) or groups < 1:
        raise ArgumentError(f"{what}: groups must be an integer of at least 1, not {groups!r}")
    if n < 1:
        raise ShapeError(f"{what} needs images of at least 3 dimensions: (batch, size, channels)")
    return {**window_attrs(what, n, *windows), "groups": int(groups)}


def conv(x, w, strides=1, padding="valid", dilation=1, groups=1):
    """Images `x` (N, *S, C) correlated with `w` (*K, C / groups, O): (N, *R, O).

    strides, dilation: ints or one per spatial axis. padding: "valid", "same", "full", "half",
    "causal", an int, or per axis one of these or a pair (low, high).
    """
    x, w = operands((to_node(x, "conv"), to_node(w, "conv")), "conv")
    sizes, kernel = x.shape[1:-1], w.shape[:-2] if w.ndim == x.ndim else None
    attrs = _attrs("conv", x.ndim - 2, groups, strides, padding, dilation, sizes, kernel)
    return make("conv", (x, w), attrs)


def conv_input_grad(g, w, sizes, strides=1, padding="valid", dilation=1, groups=1):
    """The transpose of `conv` in its image: results `g` (N, *R, O) to images (N, *sizes, C)."""
    what = "conv_input_grad"
    g, w = operands((to_node(g, what), to_node(w, what)), what)
    sizes, n = shape_vector(sizes, "sizes"), g.ndim - 2
    known, kernel = known_sizes(sizes, n, what), w.shape[:-2] if w.ndim == g.ndim else None
    attrs = _attrs(what, n, groups, strides, padding, dilation, known, kernel)
    return make(what, (g, w, sizes), attrs)


def conv_weight_grad(x, g, kernel, strides=1, padding="valid", dilation=1, groups=1):
    """The transpose of `conv` in its kernel: images and results to kernels (*kernel, C, O)."""
    what = "conv_weight_grad"
    x, g = operands((to_node(x, what), to_node(g, what)), what)
    kernel, n = shape_vector(kernel, "kernel sizes"), x.ndim - 2
    known = known_sizes(kernel, n, what)
    attrs = _attrs(what, n, groups, strides, padding, dilation, x.shape[1:-1], known)
    return make(what, (x, g, kernel), attrs)
