"""Fourier transforms between real and complex tensors, in the precision of their operands.

Three unscaled ops over axes counted from the end: `fft` of complex tensors in either direction,
`rfft_half` of real ones to the half of the spectrum that is stored, `irfft_half` back. Each is
linear, so its gradient is another of them. Pairs of real numbers, as Theano has: fourier.py.
"""

import functools

import numpy as np

from ..base import native
from ..base.errors import ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, expand, zeros_like
from .elementwise import mul, real, where
from .filling import arange
from .joining import concatenate
from .logic import eq, logical_or
from .movement import slice_

__all__ = ["fft", "rfft_half", "irfft_half"]

LONG = 1 << 16  # elements from which threads share a transform


@functools.cache
def library():
    """SciPy's transforms, which know float32 and threads; NumPy's where SciPy is not installed."""
    try:
        from scipy import fft
    except ImportError:
        return np.fft
    return fft


def transform(name, x, *args, **options):
    """A transform of the library by name, on all threads where it is long."""
    module = library()
    if module is not np.fft and x.size >= LONG and native.runtime is not None:
        options["workers"] = native.runtime.get_num_threads()
    return getattr(module, name)(x, *args, **options)


def complex_of(dtype):
    """The complex dtype of as many digits."""
    return "complex64" if dtype in ("float32", "complex64") else "complex128"


def real_of(dtype):
    """The dtype of the parts of a complex dtype."""
    return "float32" if dtype == "complex64" else "float64"


def _check(name, attrs, x):
    axes = attrs["axes"]
    if x.ndim < max(-a for a in axes) or len(set(axes)) != len(axes):
        raise ShapeError(f"{name} over the axes {axes} of shape {show(x.shape)}")
    if any(x.shape[a] == 0 for a in axes):
        raise ShapeError(f"{name} of shape {show(x.shape)}: an axis is empty")


def _infer_fft(attrs, z):
    _check("fft", attrs, z)
    return z.dtype, z.shape


def _run_fft(attrs, z):
    name, norm = ("ifftn", "forward") if attrs["inverse"] else ("fftn", "backward")
    return transform(name, z, axes=attrs["axes"], norm=norm).astype(z.dtype, copy=False)


def _with_last(shape, axis, size):
    """`shape` with another size at an axis counted from the end."""
    at = len(shape) + axis
    return (*shape[:at], size, *shape[at + 1 :])


def _infer_half(attrs, x):
    _check("rfft", attrs, x)
    n = x.shape[attrs["axes"][-1]]
    half = None if n is None else n // 2 + 1
    return complex_of(x.dtype), _with_last(x.shape, attrs["axes"][-1], half)


def _run_half(attrs, x):
    found = transform("rfftn", x, axes=attrs["axes"])
    return found.astype(complex_of(x.dtype.name), copy=False)


def _infer_whole(attrs, z):
    _check("irfft", attrs, z)
    have, n = z.shape[attrs["axes"][-1]], attrs["size"]
    if have is not None and have != n // 2 + 1:
        raise ShapeError(f"irfft to {n} needs {n // 2 + 1} frequencies, got {have}")
    return real_of(z.dtype), _with_last(z.shape, attrs["axes"][-1], n)


def _run_whole(attrs, z):
    axes, n = attrs["axes"], attrs["size"]
    sizes = [*(z.shape[a] for a in axes[:-1]), n]
    if z.shape[axes[-1]] != n // 2 + 1:
        raise ShapeError(f"irfft to {n} needs {n // 2 + 1} frequencies, got {z.shape[axes[-1]]}")
    found = transform("irfftn", z, s=sizes, axes=axes, norm="forward")
    return found.astype(real_of(z.dtype.name), copy=False)


def fft(z, axes, inverse=False):
    """The transform of complex `z` over axes counted from the end, unscaled in both directions."""
    return make("fft", (z,), {"axes": tuple(axes), "inverse": bool(inverse)})


def rfft_half(x, axes):
    """The transform of real `x` over axes; of the last one frequencies 0 to n // 2."""
    return make("rfft_half", (x,), {"axes": tuple(axes)})


def irfft_half(z, axes, size):
    """The real tensor of `size` elements along the last of the axes, unscaled."""
    return make("irfft_half", (z,), {"axes": tuple(axes), "size": int(size)})


def _grad_fft(node, g):
    return (fft(g, node.attrs["axes"], not node.attrs["inverse"]),)


def _grad_half(node, g):
    """The real part of the transform back of `g`, with zeros for what is not stored."""
    x, axes = node.inputs[0], node.attrs["axes"]
    at = x.ndim + axes[-1]
    n = x.shape[at]
    if n is None:
        raise ShapeError("the gradient of rfft needs to know the size that it transforms")
    if n - g.shape[at] > 0:
        whole = [(None, None, 1)] * at
        rest = zeros_like(slice_(g, [*whole, (None, n - g.shape[at], 1)]))
        g = concatenate([g, rest], at)
    return (real(fft(g, axes, True)),)


def _grad_whole(node, g):
    """The transform of `g`, twice for frequencies that stand for two."""
    z, axes, n = node.inputs[0], node.attrs["axes"], node.attrs["size"]
    spectrum = rfft_half(g, axes)
    k = arange(0, n // 2 + 1, 1, "int64")
    alone = logical_or(eq(k, 0), eq(mul(k, 2), n))
    weights = cast(where(alone, 1.0, 2.0), real_of(z.dtype))
    weights = expand(weights, tuple(range(1, -axes[-1]))) if axes[-1] < -1 else weights
    return (mul(spectrum, cast(weights, spectrum.dtype)),)


for _name, _infer, _run, _grad, _doc in (
    ("fft", _infer_fft, _run_fft, _grad_fft, "The transform of a complex tensor over attrs['axes'],"
     " unscaled; attrs['inverse']: back."),
    ("rfft_half", _infer_half, _run_half, _grad_half, "The half of the spectrum of a real tensor,"
     " unscaled."),
    ("irfft_half", _infer_whole, _run_whole, _grad_whole, "The real tensor of a half of a "
     "spectrum, unscaled."),
):  # fmt: skip
    Op(_name, "opaque", _infer, _run, _grad, ulp=64, cost=20, doc=_doc)
