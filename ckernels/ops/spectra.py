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
from .base import cast, expand
from .elementwise import mul, where
from .filling import arange
from .logic import eq, logical_or
from .shape import size_of

__all__ = ["fft", "rfft_half", "irfft_half"]

LONG = 1 << 16  # elements from which threads share a transform
# rows that have a form in C; the longest: what threads have room for on their stacks
LENGTHS = tuple(1 << k for k in range(4, 13))


@functools.cache
def library():
    """SciPy's transforms, which know float32 and threads; NumPy's where SciPy is not installed."""
    try:
        from scipy import fft
    except ImportError:
        return np.fft
    return fft


def transform(name, x, axes, size=None, **options):
    """A transform of the library by name, on all threads where it is long; `size`: of the last of
    the axes. Over one axis by the function of one, which costs a third at few elements."""
    module = library()
    if module is not np.fft and x.size >= LONG and native.runtime is not None:
        options["workers"] = native.runtime.get_num_threads()
    if len(axes) == 1:
        run, place = getattr(module, name), (size, axes[0])
    else:
        sizes = None if size is None else [*(x.shape[a] for a in axes[:-1]), size]
        run, place = getattr(module, name + "n"), (sizes, axes)
    if module is not np.fft:  # which warns of nothing
        return run(x, *place, **options)
    with np.errstate(all="ignore"):
        return run(x, *place, **options)


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
    name, norm = ("ifft", "forward") if attrs["inverse"] else ("fft", "backward")
    return transform(name, z, attrs["axes"], norm=norm).astype(z.dtype, copy=False)


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
    found = transform("rfft", x, attrs["axes"])
    return found.astype(np.complex64 if x.dtype.char == "f" else np.complex128, copy=False)


def _infer_whole(attrs, z, like=None):
    _check("irfft", attrs, z)
    have, n = z.shape[attrs["axes"][-1]], attrs["size"]
    if like is not None:
        return real_of(z.dtype), _with_last(
            z.shape, attrs["axes"][-1], like.shape[attrs["axes"][-1]]
        )
    if n is None:
        n = None if have is None else 2 * (have - 1)
    elif have is not None and have != n // 2 + 1:
        raise ShapeError(f"irfft to {n} needs {n // 2 + 1} frequencies, got {have}")
    return real_of(z.dtype), _with_last(z.shape, attrs["axes"][-1], n)


def _run_whole(attrs, z, like=None):
    axes, n = attrs["axes"], attrs["size"]
    n = like.shape[axes[-1]] if like is not None else n
    n = 2 * (z.shape[axes[-1]] - 1) if n is None else n
    if n < 1:
        raise ShapeError(f"irfft to {n} elements")
    if z.shape[axes[-1]] != n // 2 + 1:
        raise ShapeError(f"irfft to {n} needs {n // 2 + 1} frequencies, got {z.shape[axes[-1]]}")
    found = transform("irfft", z, axes, n, norm="forward")
    return found.astype(np.float32 if z.dtype.char == "F" else np.float64, copy=False)


def fft(z, axes, inverse=False):
    """The transform of complex `z` over axes counted from the end, unscaled in both directions."""
    return make("fft", (z,), {"axes": tuple(axes), "inverse": bool(inverse)})


def rfft_half(x, axes):
    """The transform of real `x` over axes; of the last one frequencies 0 to n // 2."""
    return make("rfft_half", (x,), {"axes": tuple(axes)})


def irfft_half(z, axes, size=None, like=None):
    """The real tensor of `size` elements along the last of the axes, unscaled; None: of as many as
    `like` has there, or twice as many as there are frequencies beside the first."""
    size = None if size is None else int(size)
    inputs = (z,) if like is None else (z, like)
    return make("irfft_half", inputs, {"axes": tuple(axes), "size": size})


def _grad_fft(node, g):
    return (fft(g, node.attrs["axes"], not node.attrs["inverse"]),)


def _weights(n, half, dtype, axis, inner):
    """`inner` for frequencies that stand for two, 1 for 0 and n / 2, along an axis from the end."""
    k = arange(0, half, 1, "int64")
    weights = cast(where(logical_or(eq(k, 0), eq(mul(k, 2), n)), 1.0, inner), dtype)
    return expand(weights, tuple(range(1, -axis))) if axis < -1 else weights


def _grad_half(node, g):
    """The transform back of `g`, where two frequencies share what one is stored for."""
    x, axes = node.inputs[0], node.attrs["axes"]
    at = x.ndim + axes[-1]
    weights = _weights(size_of(x, at), size_of(g, at), x.dtype, axes[-1], 0.5)
    n = x.shape[at]
    g = mul(g, cast(weights, g.dtype))
    return (irfft_half(g, axes, n) if n is not None else irfft_half(g, axes, None, x),)


def _grad_whole(node, g):
    """The transform of `g`, twice for frequencies that stand for two."""
    z, axes = node.inputs[0], node.attrs["axes"]
    at = z.ndim + axes[-1]
    weights = _weights(size_of(g, at), size_of(z, at), g.dtype, axes[-1], 2.0)
    spectrum = rfft_half(g, axes)
    return (mul(spectrum, cast(weights, spectrum.dtype)), None)[: len(node.inputs)]


for _name, _infer, _run, _grad, _doc in (
    ("fft", _infer_fft, _run_fft, _grad_fft, "The transform of a complex tensor over attrs['axes'],"
     " unscaled; attrs['inverse']: back."),
    ("rfft_half", _infer_half, _run_half, _grad_half, "The half of the spectrum of a real tensor,"
     " unscaled."),
    ("irfft_half", _infer_whole, _run_whole, _grad_whole, "The real tensor of a half of a "
     "spectrum, unscaled."),
):  # fmt: skip
    Op(_name, "opaque", _infer, _run, _grad, ulp=64, cost=20, doc=_doc)
