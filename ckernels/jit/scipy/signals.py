"""scipy.signal, scipy.ndimage, scipy.fft, scipy.integrate and scipy.spatial.distance over NumPy.

Each takes the arguments of SciPy's function that it serves; a call with others is SciPy's.
"""

import math

import numpy as np

from .parts import fast_length, unserved

LONG = 400  # elements of both vectors from which their spectra are multiplied
MOST = 128  # elements of a kernel whose steps are written out
BORDERS = {"reflect": "symmetric", "grid-mirror": "symmetric", "nearest": "edge",
           "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
           "constant": "constant", "grid-constant": "constant"}  # fmt: skip

# ---- scipy.signal --------------------------------------------------------------------------------


def convolve(in1, in2, mode="full", method="auto"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if np.ndim(in1) != 1 or np.ndim(in2) != 1:
        return convolve2d(in1, in2, mode)
    if method not in ("auto", "direct", "fft"):
        unserved(f"method={method!r}")
    floats = in1.dtype.kind in "fc" and in2.dtype.kind in "fc"  # others are exact, or rounded
    if method == "fft" and not floats:
        unserved("a product of spectra of integers")
    if method == "fft" or method == "auto" and floats and len(in1) > LONG and len(in2) > LONG:
        return cut(by_spectra(in1, in2), in1, in2, mode)
    if mode == "valid":
        return np.convolve(in1, in2, "valid")
    return cut(np.convolve(in1, in2), in1, in2, mode)


def by_spectra(in1, in2):
    """The whole convolution of two vectors, as a product of their spectra."""
    count = len(in1) + len(in2) - 1
    n = fast_length(int(count))
    if in1.dtype.kind == "c" or in2.dtype.kind == "c":
        return np.fft.ifft(np.fft.fft(in1, n) * np.fft.fft(in2, n), n)[:count]
    return np.fft.irfft(np.fft.rfft(in1, n) * np.fft.rfft(in2, n), n)[:count]


def cut(whole, in1, in2, mode):
    """The part of a whole convolution that a mode asks for."""
    if mode == "full":
        return whole
    if mode == "same":
        first = (len(in2) - 1) // 2
        return whole[first : first + len(in1)]
    if mode != "valid":
        unserved(f"mode={mode!r}")
    short, long = (len(in1), len(in2)) if len(in1) < len(in2) else (len(in2), len(in1))
    return whole[short - 1 : long]


def fftconvolve(in1, in2, mode="full", axes=None):
    if axes is not None or np.ndim(in1) != 1 or np.ndim(in2) != 1:
        unserved("fftconvolve along some axes")
    return convolve(in1, in2, mode, "fft")


def correlate(in1, in2, mode="full", method="auto"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if np.ndim(in1) != 1 or np.ndim(in2) != 1:
        return correlate2d(in1, in2, mode)
    if mode == "valid" and len(in2) > len(in1):
        return convolve(in2, in1[::-1], mode, method)[::-1]
    return convolve(in1, np.conj(in2)[::-1], mode, method)


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill" or np.ndim(in1) != 2 or np.ndim(in2) != 2:
        unserved("a convolution with such borders")
    (m, n), (p, q) = np.shape(in1), np.shape(in2)
    if p * q > MOST or not p * q:
        unserved("a convolution with a kernel of so many elements")
    if mode == "valid" and (p > m or q > n):
        unserved("a convolution of a kernel with an image")
    wide = np.pad(in1, ((p - 1, p - 1), (q - 1, q - 1)), constant_values=fillvalue)
    total = 0
    for i in range(p):
        for j in range(q):
            rows = slice(p - 1 - i, p - 1 - i + m + p - 1)
            total = total + wide[rows, q - 1 - j : q - 1 - j + n + q - 1] * in2[i, j]
    if mode == "full":
        return total
    if mode == "same":
        return total[(p - 1) // 2 : (p - 1) // 2 + m, (q - 1) // 2 : (q - 1) // 2 + n]
    if mode != "valid":
        unserved(f"mode={mode!r}")
    return total[p - 1 : m, q - 1 : n]


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if mode == "same" and (np.shape(in2)[0] % 2 == 0 or np.shape(in2)[1] % 2 == 0):
        unserved("correlate of the same size with a kernel of even sides")
    return convolve2d(in1, np.conj(in2)[::-1, ::-1], mode, boundary, fillvalue)


def lfilter(b, a, x, axis=-1):
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if b.ndim > 1 or a.ndim > 1 or np.ndim(x) != 1:
        unserved("lfilter of more than a vector")
    b, a = b / a[0], a / a[0]
    order = max(len(a), len(b))
    b = np.concatenate([b, np.zeros(order - len(b), b.dtype)])
    a = np.concatenate([a, np.zeros(order - len(a), a.dtype)])
    if order == 1:
        return x * b[0]
    y = np.zeros(len(x), np.result_type(b, a, x))
    held = np.zeros(order, y.dtype)  # the state of the transposed direct form II, and 0
    for n in range(len(x)):
        out = b[0] * x[n] + held[0]
        held[:-1] = held[1:] + b[1:] * x[n] - a[1:] * out
        y[n] = out
    return y


def detrend(data, axis=-1, type="linear"):
    data = np.moveaxis(data, axis, -1)
    rest = data - np.mean(data, axis=-1, keepdims=True)
    if type in ("linear", "l"):
        time = np.arange(1, data.shape[-1] + 1) / data.shape[-1]
        time = (time - np.mean(time)).astype(rest.dtype)
        slope = np.sum(rest * time, axis=-1, keepdims=True) / np.sum(time * time)
        rest = rest - slope * time
    elif type not in ("constant", "c"):
        unserved(f"type={type!r}")
    return np.moveaxis(rest, -1, axis)


# ---- scipy.ndimage -------------------------------------------------------------------------------


def bordered(x, before, after, axis, mode, cval):
    """An array with so many elements more on both sides of an axis."""
    if mode not in BORDERS:
        unserved(f"mode={mode!r}")
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    if BORDERS[mode] == "constant":
        return np.pad(x, widths, constant_values=cval)
    return np.pad(x, widths, mode=BORDERS[mode])


def floats(x):
    if x.dtype.name not in ("float32", "float64"):
        unserved(f"an image of {x.dtype}")
    return x.astype(np.float64)


def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    if np.ndim(weights) != 1:
        unserved("correlate1d with such weights")
    shape = [1] * input.ndim
    shape[axis] = len(weights)
    return correlated(input, np.reshape(weights, shape), output, mode, cval, origin)


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    if len(weights) % 2 == 0:
        unserved("convolve1d with an even number of weights")
    return correlate1d(input, weights[::-1], axis, output, mode, cval, origin)


def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0,
                      truncate=4.0):  # fmt: skip
    if order or not isinstance(sigma, (int, float)):
        unserved("a filter of derivatives, or of a width that data decide")
    radius = int(truncate * float(sigma) + 0.5)
    weights = np.exp(-0.5 / (sigma * sigma) * np.arange(-radius, radius + 1) ** 2)
    return correlate1d(input, weights / weights.sum(), axis, output, mode, cval, 0)


def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0):
    widths = sigma if isinstance(sigma, (tuple, list)) else [sigma] * input.ndim
    if len(widths) != input.ndim or not isinstance(mode, str):
        unserved("a filter with such borders")
    for axis, width in enumerate(widths):
        if not isinstance(width, (int, float)):
            unserved("a filter of a width that data decide")
        if width > 1e-15:
            input = gaussian_filter1d(input, width, axis, order, output, mode, cval, truncate)
    return input


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return correlate1d(input, np.ones(size) / size, axis, output, mode, cval, origin)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    sizes = size if isinstance(size, (tuple, list)) else [size] * input.ndim
    if len(sizes) != input.ndim or not isinstance(mode, str):
        unserved("a filter with such borders")
    for axis, each in enumerate(sizes):
        if each > 1:
            input = uniform_filter1d(input, each, axis, output, mode, cval, origin)
    return input


def correlated(input, weights, output, mode, cval, origin):
    """The sum over all offsets of the weights."""
    if output is not None or origin or np.ndim(weights) != input.ndim or not isinstance(mode, str):
        unserved("a filter with such weights")
    if not 0 < np.size(weights) <= MOST:
        unserved("a filter with so many weights")
    wide = floats(input)
    for axis, count in enumerate(np.shape(weights)):
        wide = bordered(wide, count // 2, count - 1 - count // 2, axis, mode, cval)
    total = 0
    for at in np.ndindex(*np.shape(weights)):
        part = tuple([slice(k, k + n) for k, n in zip(at, input.shape)])
        total = total + wide[part] * weights[at]
    return total.astype(input.dtype)


def image_correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    return correlated(input, weights, output, mode, cval, origin)


def image_convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    if any([n % 2 == 0 for n in np.shape(weights)]):
        unserved("a convolution with weights of even sides")
    return correlated(input, np.flip(weights), output, mode, cval, origin)


def laplace(input, output=None, mode="reflect", cval=0.0):
    total = correlate1d(input, [1, -2, 1], 0, output, mode, cval, 0)
    for axis in range(1, input.ndim):
        total = total + correlate1d(input, [1, -2, 1], axis, output, mode, cval, 0)
    return total


def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    axis = axis % input.ndim
    found = correlate1d(input, [-1, 0, 1], axis, output, mode, cval, 0)
    for other in range(input.ndim):
        if other != axis:
            found = correlate1d(found, [1, 2, 1], other, output, mode, cval, 0)
    return found


# ---- scipy.fft -----------------------------------------------------------------------------------


def of_one_axis(function):
    def transform(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
        return function(x, n, axis, norm)

    return transform


def of_two_axes(function):
    def transform(x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
        return function(x, s, axes, norm)

    return transform


fft, ifft, rfft, irfft = map(of_one_axis, (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft))
fft2, ifft2 = map(of_two_axes, (np.fft.fft2, np.fft.ifft2))
rfft2, irfft2 = map(of_two_axes, (np.fft.rfft2, np.fft.irfft2))


def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    if type != 2 or n is not None or norm not in (None, "backward", "ortho"):
        unserved("a cosine transform of such a kind")
    x = np.moveaxis(x, axis, -1)
    count = x.shape[-1]
    turned = np.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    half = count // 2 + 1
    angle = np.pi / (2 * count) * np.arange(half)
    found = np.fft.rfft(turned)
    even = 2 * (found.real * np.cos(angle) + found.imag * np.sin(angle))
    odd = 2 * (found.real * np.sin(angle) - found.imag * np.cos(angle))
    mirrored = odd[..., 1 : count - half + 1][..., ::-1]  # of spectra of real numbers
    found = np.concatenate([even, mirrored], axis=-1).astype(x.dtype)
    if norm == "ortho":
        scale = np.where(np.arange(count) == 0, math.sqrt(1 / 4), math.sqrt(1 / 2))
        found = (found * (scale / np.sqrt(count))).astype(x.dtype)
    return np.moveaxis(found, -1, axis)


# ---- scipy.integrate -----------------------------------------------------------------------------


def trapezoid(y, x=None, dx=1.0, axis=-1):
    return np.trapezoid(y, x, dx, axis)


def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    if initial not in (None, 0):
        unserved(f"initial={initial!r}")
    if x is None:
        steps = dx
    elif np.ndim(x) == 1:
        shape = [1] * np.ndim(y)
        shape[axis] = -1
        steps = np.reshape(np.diff(x), shape)
    else:
        steps = np.diff(x, axis=axis)
    y = np.moveaxis(y, axis, -1)
    parts = (y[..., 1:] + y[..., :-1]) / 2.0
    parts = parts * (steps if x is None else np.moveaxis(steps, axis, -1))
    found = np.cumsum(parts, axis=-1)
    if initial == 0:
        found = np.concatenate([np.zeros_like(y[..., :1]), found], axis=-1)
    return np.moveaxis(found, -1, axis)


def simpson(y, x=None, dx=1.0, axis=-1):
    y = np.moveaxis(y, axis, -1)
    if x is not None and np.ndim(x) != 1:
        unserved("simpson over points of each row")
    count = y.shape[-1]
    if count < 3:
        return np.trapezoid(y, x, dx, -1)
    if x is None and count % 2:
        return np.sum(y[..., :-1:2] + 4.0 * y[..., 1::2] + y[..., 2::2], axis=-1) * (dx / 3.0)
    h = np.full(count - 1, dx) if x is None else np.diff(x)
    last = count if count % 2 else count - 1  # points of whole parabolas
    h0, h1 = h[: last - 1 : 2], h[1 : last - 1 : 2]
    both, product, ratio = h0 + h1, h0 * h1, h0 / h1
    a, b, c = y[..., 0 : last - 2 : 2], y[..., 1 : last - 1 : 2], y[..., 2:last:2]
    whole = np.sum(
        both / 6.0 * (a * (2.0 - 1.0 / ratio) + b * (both * (both / product)) + c * (2.0 - ratio)),
        axis=-1,
    )
    if count % 2 == 0:
        before, step = h[-2], h[-1]
        alpha = (2 * step**2 + 3 * before * step) / (6 * (step + before))
        beta = (step**2 + 3 * before * step) / (6 * before)
        eta = step**3 / (6 * before * (before + step))
        whole = whole + alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]
    return whole


# ---- scipy.spatial.distance ----------------------------------------------------------------------


def lengths(total):
    """Square roots, whose slope at 0 is 0."""
    there = total > 0
    return np.where(there, np.sqrt(np.where(there, total, 1)), 0)


def between(a, b, metric):
    """Distances along the last axis."""
    if metric == "euclidean":
        return lengths(np.sum((a - b) ** 2, axis=-1))
    if metric == "sqeuclidean":
        return np.sum((a - b) ** 2, axis=-1)
    if metric == "cityblock":
        return np.sum(np.abs(a - b), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(a - b), axis=-1)
    unserved(f"the metric {metric!r}")


def doubles(x):
    if np.dtype(x.dtype).kind not in "fiub":
        unserved(f"distances of {x.dtype}")
    return x.astype(np.float64)


def cdist(XA, XB, metric="euclidean"):
    XA, XB = doubles(XA), doubles(XB)
    return between(XA[:, None, :], XB[None, :, :], metric)


def pdist(X, metric="euclidean"):
    X = doubles(X)
    first, second = np.triu_indices(X.shape[0], 1)
    return between(X[first], X[second], metric)
