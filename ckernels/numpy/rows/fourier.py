"""Rows of np.fft: transforms over any axes, sizes and norms, of real and complex tensors."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import constant
from ...graph.shapes import axis_of
from ...ops.composite import extent
from ...ops.shape import sized
from ...ops.spectra import complex_of, real_of
from .base import node_of, row

INVERSE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm):
    norm = norm or "backward"
    if norm not in INVERSE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm


def _complex(x):
    return x if dtypes.is_complex(x.dtype) else ops.cast(x, _wide(x.dtype))


def _wide(dtype):
    return complex_of("float32" if dtype in ("float16", "float32", "complex64") else "float64")


def resized(x, n, axis):
    """`x` cut or filled with zeros to `n` elements along an axis; n None: as it is."""
    size, axis = x.shape[axis], axis_of(axis, x.ndim)
    if n is None or n == size:
        return x
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    whole = (slice(None),) * axis
    if size is None:
        sizes = [n if k == axis else d for k, d in enumerate(sized(x))]
        zeros = ops.broadcast_to(constant(np.zeros((), x.dtype)), sizes)
        there = ops.minimum(ops.getitem(ops.shape(x), axis), n)
        part = ops.getitem(x, (*whole, slice(None, n)))
        return ops.set_subtensor(zeros, (*whole, slice(None, there)), part)
    if n < size:
        return ops.getitem(x, (*whole, slice(None, n)))
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, n - size)
    return ops.pad(x, widths, constant(np.zeros((), x.dtype)))


def _scaled(y, count, norm):
    """An unscaled transform over `count` elements (a node of floats) by its norm."""
    if norm == "backward":
        return y
    by = ops.sqrt(count) if norm == "ortho" else count
    return ops.mul(y, ops.cast(ops.reciprocal(by), y.dtype))


def _axes(x, s, axes):
    """(sizes or None, axes from the end) of a transform of several axes."""
    if axes is None:
        axes = range(-x.ndim if s is None else -len(s), 0)
    axes = [axis_of(a, x.ndim) - x.ndim for a in axes]
    if s is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if not axes or len(set(axes)) != len(axes):
        raise NotSupported("a transform over no axis, or over one twice")
    if s is None:
        return [None] * len(axes), axes
    return [None if n in (None, -1) else int(n) for n in s], axes


def _checked(x, axes):
    if any(x.shape[a] == 0 for a in axes):
        raise NotSupported("a transform of no elements")
    return x


def _count(x, axes):
    return extent(x, tuple(a % x.ndim for a in axes), real_of(_wide(x.dtype)))


def transformed(x, s, axes, norm, inverse):
    """fftn or ifftn of a node."""
    norm = INVERSE[_norm(norm)] if inverse else _norm(norm)
    sizes, axes = _axes(x, s, axes)
    for n, a in zip(sizes, axes):
        x = resized(x, n, a)
    x = _complex(_checked(x, axes))
    return _scaled(ops.fft(x, axes, inverse), _count(x, axes), norm)


def half(x, s, axes, norm):
    """rfftn of a node."""
    if dtypes.is_complex(x.dtype):
        raise TypeError("rfft of complex numbers")
    sizes, axes = _axes(x, s, axes)
    for n, a in zip(sizes, axes):
        x = resized(x, n, a)
    x = ops.cast(_checked(x, axes), real_of(_wide(x.dtype)))
    return _scaled(ops.rfft_half(x, axes), _count(x, axes), _norm(norm))


def whole(x, s, axes, norm):
    """irfftn of a node."""
    sizes, axes = _axes(x, s, axes)
    n, last = sizes[-1], axes[-1]
    if n is None and x.shape[last] is not None:
        n = 2 * (x.shape[last] - 1)
    if n is not None and n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    for m, a in zip([*sizes[:-1], None if n is None else n // 2 + 1], axes):
        x = resized(x, m, a)
    y = ops.irfft_half(_complex(_checked(x, axes)), axes, n)
    return _scaled(y, _count(y, axes), INVERSE[_norm(norm)])


def _of_one(n):
    """The size of a transform along one axis, where -1, which means all of several, is none."""
    return (0 if n == -1 else n,)


for _function, _build in {np.fft.fftn: lambda *a: transformed(*a, False),
                          np.fft.ifftn: lambda *a: transformed(*a, True),
                          np.fft.rfftn: half, np.fft.irfftn: whole}.items():  # fmt: skip
    row(_function)(lambda rule, a, s=None, axes=None, norm=None, out=None, f=_build:
                   f(node_of(a, rule), s, axes, norm))  # fmt: skip
for _function, _build in {np.fft.fft2: lambda *a: transformed(*a, False),
                          np.fft.ifft2: lambda *a: transformed(*a, True),
                          np.fft.rfft2: half, np.fft.irfft2: whole}.items():  # fmt: skip
    row(_function)(lambda rule, a, s=None, axes=(-2, -1), norm=None, out=None, f=_build:
                   f(node_of(a, rule), s, axes, norm))  # fmt: skip
for _function, _build in {np.fft.fft: lambda *a: transformed(*a, False),
                          np.fft.ifft: lambda *a: transformed(*a, True),
                          np.fft.rfft: half, np.fft.irfft: whole}.items():  # fmt: skip
    row(_function)(lambda rule, a, n=None, axis=-1, norm=None, out=None, f=_build:
                   f(node_of(a, rule), _of_one(n), (axis,), norm))  # fmt: skip


@row(np.fft.hfft)
def hfft(rule, a, n=None, axis=-1, norm=None, out=None):
    return whole(ops.conj(node_of(a, rule)), _of_one(n), (axis,), INVERSE[_norm(norm)])


@row(np.fft.ihfft)
def ihfft(rule, a, n=None, axis=-1, norm=None, out=None):
    return ops.conj(half(node_of(a, rule), _of_one(n), (axis,), INVERSE[_norm(norm)]))
