"""Discrete Fourier transforms of real tensors; complex numbers are pairs in a last axis of size 2.

Both ops are unscaled: `irfft` of `rfft` gives the input times the number of elements transformed.
So each is the other's gradient, but for weights of the half of the spectrum that is not stored.
"""

import numpy as np

from ..base import dtypes, given
from ..base.errors import DTypeError, ShapeError
from ..graph.node import Node, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, expand, to_node
from .elementwise import add, mul, rsqrt, sub, true_div, where
from .filling import arange
from .logic import eq, logical_or
from .movement import vector_values
from .shape import shape_vector, size_of, sized, times
from .spectra import complex_of, transform

__all__ = ["rfft", "irfft"]


def _infer_rfft(attrs, x):
    k = attrs["ndim"]
    if not 1 <= k <= x.ndim:
        raise ShapeError(
            f"rfft over the last {k} axes of shape {show(x.shape)}: it takes 1 to {x.ndim}"
        )
    if any(d == 0 for d in x.shape[-k:]):
        raise ShapeError(f"rfft over the last {k} axes of shape {show(x.shape)}: an axis is empty")
    n = x.shape[-1]
    return x.dtype, x.shape[:-1] + (None if n is None else n // 2 + 1, 2)


def _run_rfft(attrs, x):
    wide = x.astype(dtypes.computed(x.dtype.name), copy=False)
    z = transform("rfft", wide, range(x.ndim - attrs["ndim"], x.ndim))
    pairs = np.ascontiguousarray(z).view(z.real.dtype).reshape(*z.shape, 2)
    return pairs.astype(x.dtype, copy=False)


def _infer_irfft(attrs, z, sizes):
    sizes = vector_values("irfft", sizes)
    k = len(sizes)
    if z.ndim <= k or z.shape[-1] not in (2, None):
        raise ShapeError(
            f"irfft to {show(sizes)} needs pairs in a last axis of size 2 behind at "
            f"least {k} axes, got shape {show(z.shape)}"
        )
    half = None if sizes[-1] is None else sizes[-1] // 2 + 1
    for have, want in zip(z.shape[-k - 1 : -1], sizes[:-1] + [half]):
        if None not in (have, want) and have != want:
            raise ShapeError(
                f"irfft of shape {show(z.shape)} to {show(sizes)}: an axis of the "
                f"spectrum has size {have}, and that of such a tensor is {want}"
            )
    return z.dtype, z.shape[: -k - 1] + tuple(sizes)


def _run_irfft(attrs, z, sizes):
    axes = range(z.ndim - 1 - len(sizes), z.ndim - 1)
    sizes = [int(n) for n in sizes]
    if z.shape[axes[0] :] != (*sizes[:-1], sizes[-1] // 2 + 1, 2):
        raise ShapeError(f"irfft of shape {show(z.shape)} to {show(sizes)}: the sizes do not fit")
    wide = z.astype(dtypes.computed(z.dtype.name), copy=False)
    spectrum = np.ascontiguousarray(wide).view(complex_of(wide.dtype.name))[..., 0]
    return transform("irfft", spectrum, axes, sizes[-1], norm="forward").astype(z.dtype, copy=False)


def _weights(n, half, dtype, inner):
    """`inner` for the frequencies that stand for two, 1 for 0 and n / 2, along the last but one."""
    k = arange(0, half, 1, "int64")
    alone = logical_or(eq(k, 0), eq(mul(k, 2), n))
    return expand(cast(where(alone, 1.0, inner), dtype), (1,))


def _grad_rfft(node, g):
    x, k = node.inputs[0], node.attrs["ndim"]
    sizes = sized(x, range(x.ndim - k, x.ndim))
    g = mul(g, _weights(sizes[-1], size_of(g, g.ndim - 2), g.dtype, 0.5))
    return (make("irfft", (g, shape_vector(sizes))),)


def _grad_irfft(node, g):
    z, sizes = node.inputs
    count = sizes.shape[0]
    spectrum = make("rfft", (g,), {"ndim": count})
    n = size_of(g, g.ndim - 1)
    return mul(spectrum, _weights(n, size_of(z, z.ndim - 2), g.dtype, 2.0)), None


Op(
    "rfft",
    "opaque",
    _infer_rfft,
    _run_rfft,
    _grad_rfft,
    ulp=64,
    cost=20,
    doc="The spectrum over the last attrs['ndim'] axes, unscaled, as pairs in a last axis.",
)
Op(
    "irfft",
    "opaque",
    _infer_irfft,
    _run_irfft,
    _grad_irfft,
    ulp=64,
    cost=20,
    doc="The real tensor, of the sizes of the second operand, of a spectrum; unscaled.",
)

NORMS = (None, "ortho", "no_norm")


def _scaled(y, count, norm, plain):
    """`y` divided by sqrt(count) for "ortho", by `count` where that is the default."""
    given.word(norm, NORMS, "norm")
    if norm == "ortho":
        return mul(y, rsqrt(cast(to_node(count), y.dtype)))
    return true_div(y, cast(to_node(count), y.dtype)) if norm is None and not plain else y


def _real(x, name, hint):
    x = to_node(x, name)
    if dtypes.is_complex(x.dtype):
        raise DTypeError(f"{name} takes real numbers, not {x.dtype} {show(x.shape)}; {hint}")
    return x


def rfft(x, ndim=1, norm=None):
    """The discrete Fourier transform of real `x` over its last `ndim` axes; of the last, the
    n // 2 + 1 frequencies that are not mirror images. Real and imaginary parts are a new last axis.

    norm: "ortho" divides by the root of the number of elements; else nothing is divided.
    """
    x = _real(x, "rfft", "K.real(x) is the real part of complex numbers")
    x = cast(x, dtypes.to_float(x.dtype))
    ndim = given.whole(ndim, "ndim")
    y = make("rfft", (x,), {"ndim": ndim})
    return _scaled(y, times(*sized(x, range(x.ndim - ndim, x.ndim))), norm, True)


def irfft(z, ndim=1, norm=None, is_odd=False):
    """The real tensor of the spectrum `z`, pairs as `rfft` makes them, over `ndim` axes.

    is_odd: the last size is 2 m - 1 of m frequencies, else 2 m - 2. norm: None divides by the
    number of elements, "ortho" by its root, "no_norm" not at all.
    """
    z = _real(z, "irfft", "a complex number is a pair in the last axis")
    z = cast(z, dtypes.to_float(z.dtype))
    ndim = given.whole(ndim, "ndim")
    if not 1 <= ndim < z.ndim:
        raise ShapeError(
            f"irfft over {ndim} axes of shape {show(z.shape)}, whose last axis is "
            f"that of the pairs: it takes 1 to {z.ndim - 1}"
        )
    sizes = sized(z, range(z.ndim - 1 - ndim, z.ndim - 1))
    half, odd = sizes[-1], int(given.flag(is_odd, "is_odd"))
    sizes[-1] = add(mul(sub(half, 1), 2), odd) if isinstance(half, Node) else 2 * (half - 1) + odd
    y = make("irfft", (z, shape_vector(sizes)))
    return _scaled(y, times(*sizes), norm, False)
