"""Theano's bilinear upsampling of images (batch, channels, rows, columns), by kernels as printed in
its manual and by the interpolation they stand for."""

import math

import numpy as np

from ... import ops
from ...api.conv import from_last, image
from ...api.operands import integer
from ...api.tensor import Tensor
from ...base import dtypes
from ...base.errors import ArgumentError
from ...graph.node import Node, constant


def bilinear_kernel_1D(ratio, normalize=True):
    """The kernel 1 .. ratio .. 1 that interpolates between elements `ratio` apart, over `ratio` if
    normalize: a vector of floatx().

    >>> bilinear_kernel_1D(2).eval()
    array([0.5, 1. , 0.5], dtype=float32)
    """
    ratio = _positive(ratio, "ratio")
    line = ratio - np.abs(np.arange(1 - ratio, ratio))
    return Tensor(constant((line / (ratio if normalize else 1)).astype(dtypes.floatx())))


def bilinear_kernel_2D(ratio, normalize=True):
    """The outer product of two 1D kernels.

    >>> bilinear_kernel_2D(2).eval()[0]
    array([0.25, 0.5 , 0.25], dtype=float32)
    """
    line = bilinear_kernel_1D(ratio, normalize).node.value
    return Tensor(constant(np.outer(line, line)))


def _positive(value, what):
    value = getattr(value, "node", value)
    if isinstance(value, Node):
        if value.value is None or value.ndim:
            raise ArgumentError(f"{what} must be an integer or a constant of one")
        value = int(value.value)
    if integer(value, what) < 1:
        raise ArgumentError(f"{what} must be at least 1, not {value!r}")
    return int(value)


def bilinear_upsampling(
    input, ratio=None, frac_ratio=None, batch_size=None, num_input_channels=None, use_1D_kernel=True
):
    """Images `ratio` times as large along both axes (frac_ratio: see `frac_bilinear_upsampling`),
    interpolated linearly. Edges are repeated, with an even ratio once more at the end than at the
    start. batch_size, num_input_channels and use_1D_kernel change nothing.

    >>> x = K.variable(np.arange(4.0).reshape(1, 1, 2, 2))
    >>> bilinear_upsampling(x, 2).eval()[0, 0]
    array([[0. , 0.5, 1. , 1. ],
           [1. , 1.5, 2. , 2. ],
           [2. , 2.5, 3. , 3. ],
           [2. , 2.5, 3. , 3. ]], dtype=float32)
    """
    if (ratio is None) == (frac_ratio is None):
        raise ArgumentError("bilinear_upsampling needs either ratio or frac_ratio")
    if frac_ratio is not None:
        return frac_bilinear_upsampling(input, frac_ratio)
    ratio = _positive(ratio, "ratio")
    return _upsampled(input, ((ratio, 1), (ratio, 1)))


def frac_bilinear_upsampling(input, frac_ratio):
    """Images resized by (numerator, denominator), or a pair of these for rows and columns: every
    denominator-th element of an upsampling by the numerator, ceil(size * numerator / denominator).

    >>> x = K.variable(np.arange(4.0).reshape(1, 1, 1, 4))
    >>> frac_bilinear_upsampling(x, ((1, 1), (3, 2))).eval().ravel().round(3)
    array([0.   , 0.333, 1.   , 1.667, 2.333, 3.   ], dtype=float32)
    """
    if not isinstance(frac_ratio, tuple) or len(frac_ratio) != 2:
        raise ArgumentError(
            f"frac_ratio must be a pair of integers, or a pair of such pairs, not {frac_ratio!r}"
        )
    pairs = frac_ratio if isinstance(frac_ratio[0], tuple) else (frac_ratio, frac_ratio)
    if any(len(p) != 2 for p in pairs):
        raise ArgumentError(f"frac_ratio must be made of pairs, not {frac_ratio!r}")
    pairs = [tuple(_positive(v, "frac_ratio") for v in p) for p in pairs]
    return _upsampled(input, [(a // math.gcd(a, b), b // math.gcd(a, b)) for a, b in pairs])


def _upsampled(input, ratios):
    x, data_format = image(input, "bilinear_upsampling", 2, "channels_first")
    x = ops.cast(x, dtypes.to_float(x.dtype))
    for axis, (up, down) in enumerate(ratios, 1):
        size = ops.size_of(x, axis)
        new = (
            ops.floor_div(ops.add(ops.mul(size, up), down - 1), down)
            if isinstance(size, Node)
            else (size * up + down - 1) // down
        )
        # New element j lies at (j * down - (up - 1) // 2) / up.
        x = ops.interpolate(x, axis, new, down, -((up - 1) // 2), up)
    return from_last(x, data_format)
