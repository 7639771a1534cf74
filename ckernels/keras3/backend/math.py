"""keras.ops.math: segments, the largest of a row, spectra and special functions."""

import functools

import numpy as np

from ... import ops
from ...base.errors import ShapeError
from ...ops.spectra import LENGTHS, complex_of
from .. import fourier
from ..casts import result_type, standardize_dtype
from ..eager import compiled
from ..rows import as_axis, either, floating, unary, wrapped
from ..values import Symbolic, cast, convert_to_tensor, has_traced, node_of, shape
from .elementwise import greater, isnan, maximum, sqrt, square, where
from .products import slogdet
from .reductions import MANY, sum
from .shaping import broadcast_to, expand_dims, moveaxis, pad, reshape, take, take_along_axis


def _segments(name, eager, start, combine):
    def function(data, segment_ids, num_segments=None, sorted=False):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids, "int32")
        if ids.ndim != 1:
            raise ValueError(
                "Argument `segment_ids` should be an 1-D vector, got shape: "
                f"{len(ids.shape)}. Consider either flatten input with segment_ids.reshape((-1)) "
                "and data.reshape((-1, ) + data.shape[len(segment_ids.shape):]) or vectorize "
                "with vmap."
            )
        if has_traced(data, ids):
            return Symbolic(combine(node_of(data), node_of(ids), num_segments))
        count = int(ids.max(initial=-1)) + 1 if num_segments is None else num_segments
        found = np.full((count, *data.shape[1:]), start(data.dtype), data.dtype)
        inside = (ids >= 0) & (ids < count)
        eager.at(found, ids[inside], data[inside])
        return found

    function.__name__, function.__doc__ = name, f"keras.ops.{name} of arrays and traced values."
    return function


def _least(dtype):
    return -np.inf if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).min


def _most(dtype):
    return np.inf if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max


def _inside(ids, count):
    """Ids of segments that do not exist point to one more, which is cut off."""
    return ops.where(ops.logical_and(ops.ge(ids, 0), ops.lt(ids, count)), ids, count)


def _sums(data, ids, count):
    sizes = [count + 1, *(ops.size_of(data, a) for a in range(1, data.ndim))]
    zeros = ops.broadcast_to(node_of(0, data.dtype), sizes)
    return ops.getitem(ops.inc_subtensor(zeros, _inside(ids, count), data), slice(0, count))


def _by_segment(reduce, start):
    """A reduction over the rows of each segment, of all rows where the id is another one's."""

    def combine(data, ids, count):
        hot = ops.eq(ops.expand_dims(ops.arange(count, dtype="int32"), 1), ids)
        hot = ops.reshape(hot, [count, -1, *[1] * (data.ndim - 1)])
        kind = np.dtype(data.dtype if data.dtype != "bfloat16" else "float32")
        return reduce(ops.where(hot, ops.expand_dims(data, 0), start(kind)), 1)

    return combine


segment_sum = _segments("segment_sum", np.add, lambda d: 0, _sums)
segment_max = _segments("segment_max", np.maximum, _least, _by_segment(ops.max, _least))
segment_min = _segments("segment_min", np.minimum, _most, _by_segment(ops.min, _most))
segment_prod = _segments(
    "segment_prod", np.multiply, lambda d: 1, _by_segment(ops.prod, lambda d: 1)
)


def top_k(x, k, sorted=True, is_stable=True):
    """The k largest of each row, and where they are; of equal ones the first, asked for or not."""
    x = convert_to_tensor(x)
    if isinstance(x, Symbolic):
        return wrapped(_first(x.node, k))
    if x.size >= MANY:
        return compiled(_first, x, k=k, open_sizes=True)
    # the last of rising order, from the end: NaN first, and of equal ones the first
    order = x.shape[-1] - 1 - x[..., ::-1].argsort(-1, "stable")[..., ::-1][..., :k]
    return np.take_along_axis(x, order, -1), order.astype("int32")


def _first(n, k):
    values, places = ops.top_k(n, k)
    return values, ops.cast(places, "int32")


def in_top_k(targets, predictions, k):
    """Whether the class of each row is among its k best; ties count, and NaN is below all."""
    targets, predictions = convert_to_tensor(targets, "int32"), convert_to_tensor(predictions)
    if predictions.__class__ is np.ndarray and targets.__class__ is np.ndarray:
        own = np.take_along_axis(predictions, targets[..., None].astype("int64"), -1)
        if own.dtype.kind == "f":
            own = np.where(np.isnan(own), own.dtype.type(-np.inf), own)
        return np.count_nonzero(predictions > own, -1) < k
    own = take_along_axis(predictions, expand_dims(targets, -1), -1)
    own = where(isnan(own), convert_to_tensor(-np.inf, own.dtype), own)
    return sum(cast(greater(predictions, own), "int32"), -1) < k


def logsumexp(x, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    x, axis = cast(x, floating(standardize_dtype(x.dtype))), as_axis(axis)

    def eager(a):
        top = np.max(a, axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0).astype(a.dtype)
        found = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
        return found if keepdims else np.squeeze(found, axis)

    return either(eager, lambda n: ops.logsumexp(n, axis, keepdims), x)


def cdist(x, y):
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    dtype = result_type(x.dtype, y.dtype, float)
    x, y = cast(x, dtype), cast(y, dtype)
    return sqrt(maximum(sum(square(expand_dims(x, -2) - expand_dims(y, -3)), -1), 0))


def extract_sequences(x, sequence_length, sequence_stride):
    """Overlapping windows along the last axis."""
    x = convert_to_tensor(x)
    count = 1 + (x.shape[-1] - sequence_length) // sequence_stride
    return take(x, _places(count, sequence_length, sequence_stride), -1)


@functools.lru_cache(64)
def _places(count, length, stride):
    """Where the elements of windows lie."""
    return (np.arange(count)[:, None] * stride + np.arange(length)).astype("int32")


rsqrt = unary("rsqrt", lambda a: 1 / np.sqrt(a), ops.rsqrt, floating)


def _special(name, graph):
    def eager(a):
        import scipy.special  # Keras asks for SciPy

        return getattr(scipy.special, name)(a)

    def function(x):
        x = convert_to_tensor(x)
        x = cast(x, floating(standardize_dtype(x.dtype)))
        if str(x.dtype) in ("bfloat16", "float16"):
            return cast(function(cast(x, "float32")), x.dtype)
        return cast(either(eager, graph, x), x.dtype)

    function.__name__, function.__doc__ = name, f"keras.ops.{name} of arrays and traced values."
    return function


erf, erfc = _special("erf", ops.erf), _special("erfc", ops.erfc)
erfinv = _special("erfinv", ops.erfinv)


def gammainc(x1, x2):
    """The lower incomplete gamma function of `x2`, in shares of its whole."""
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = result_type(x1.dtype, x2.dtype, float)
    wide = result_type(dtype, "float32")
    return cast(compiled(ops.gammainc, cast(x1, wide), cast(x2, wide), open_sizes=True), dtype)


def logdet(x):
    return slogdet(x)[1]


# ---- spectra -------------------------------------------------------------------------------------


def _complex(x):
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    real, imag = (convert_to_tensor(p) for p in x)
    if real.shape != imag.shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary."
            "Both the real and imaginary parts should have the same shape. "
            f"Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    if "float" not in str(real.dtype) or "float" not in str(imag.dtype):
        raise ValueError(f"At least one tensor in input `x` is not of type float.Received: x={x}.")
    return real, imag


def _parts(found, dtype):
    return found.real.astype(dtype), found.imag.astype(dtype)


def _scipy():
    import scipy.fft  # Keras asks for SciPy, whose transforms of float32 take half of NumPy's time

    return scipy.fft


def _computed(*xs):
    """The dtype in which tensors of floats are transformed."""
    return "float64" if any(x.dtype == "float64" for x in xs) else "float32"


def _transform(name, axes, inverse=False):
    def function(x):
        real, imag = _complex(x)
        dtype, wide = real.dtype, _computed(real, imag)
        if has_traced(real, imag):
            parts = _traced_transform(cast(real, wide), cast(imag, wide), axes, inverse)
            return tuple(cast(p, dtype) for p in parts)
        if axes == (-1,) and real.size >= MANY and real.shape[-1] in LENGTHS:
            parts = compiled(fourier.transform, cast(real, wide), cast(imag, wide))
            return tuple(cast(p, dtype) for p in parts)
        both = np.empty(real.shape, complex_of(wide))
        both.real, both.imag = real, imag
        return _parts(getattr(_scipy(), name)(both, overwrite_x=True), dtype)

    function.__name__, function.__doc__ = name, f"keras.ops.{name} of arrays and traced values."
    return function


def _traced_transform(real, imag, axes, inverse):
    """Transforms of traced values, axis by axis."""
    for axis in axes:
        parts = [node_of(moveaxis(p, axis, -1)) for p in (real, imag)]
        real, imag = wrapped(fourier.transform(*parts, inverse))
        if inverse:
            count = real.shape[-1] or cast(shape(real)[-1], real.dtype)
            real, imag = real / count, imag / count
        real, imag = moveaxis(real, -1, axis), moveaxis(imag, -1, axis)
    return real, imag


fft = _transform("fft", (-1,))
fft2 = _transform("fft2", (-2, -1))
ifft2 = _transform("ifft2", (-2, -1), inverse=True)


def _check_length(name, x, fft_length, length):
    """length: of the signal where fft_length is None."""
    given = isinstance(fft_length, (int, np.integer)) and fft_length > 0
    none = length is not None and length < 1
    if x.ndim == 0 or (none if fft_length is None else not given):
        raise ShapeError(
            f"{name} transforms the last axis, as fft_length elements where that is given: x has "
            f"shape {tuple(x.shape)} and fft_length is {fft_length!r}. Give an array of one axis "
            "or more that has elements, and a positive whole number or None as fft_length."
        )


def rfft(x, fft_length=None):
    x = convert_to_tensor(x)
    dtype = standardize_dtype(x.dtype)
    dtype = dtype if dtype == "float64" else floating(dtype)
    x = cast(x, "float64" if dtype == "float64" else "float32")
    _check_length("rfft", x, fft_length, x.shape[-1] if x.ndim else 0)
    if not isinstance(x, Symbolic):
        return _parts(_scipy().rfft(x, fft_length), dtype)
    x = _of_length(x, fft_length)
    if fourier.real_in_c(x.shape[-1]):
        return tuple(cast(p, dtype) for p in wrapped(fourier.half(x.node)))
    pairs = ops.rfft(x.node)
    return tuple(cast(Symbolic(ops.getitem(pairs, (Ellipsis, i))), dtype) for i in (0, 1))


def _of_length(x, length):
    """The last axis cut, or filled up with zeros, to `length`."""
    if length is None or length == x.shape[-1]:
        return x
    if length < x.shape[-1]:
        return x[..., :length]
    return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])])


def irfft(x, fft_length=None):
    real, imag = _complex(x)
    dtype, wide = real.dtype, _computed(real, imag)
    _check_length("irfft", real, fft_length, 2 * (real.shape[-1] - 1) if real.ndim else 0)
    if not has_traced(real, imag):
        return _scipy().irfft(real + 1j * imag, fft_length).astype(dtype, copy=False)
    real, imag = cast(real, wide), cast(imag, wide)
    length = 2 * (real.shape[-1] - 1) if fft_length is None else fft_length
    real, imag = _of_length(real, length // 2 + 1), _of_length(imag, length // 2 + 1)
    if fourier.real_in_c(length):
        found = fourier.whole(node_of(real), node_of(imag), length)
        found = ops.mul(found, node_of(1 / length, wide))
    else:
        pairs = ops.stack([node_of(real), node_of(imag)], -1)
        found = ops.irfft(pairs, is_odd=bool(length % 2))
    return cast(Symbolic(found), dtype)


def _window(window, sequence_length, fft_length, dtype):
    if window is None:
        return np.ones(fft_length, dtype)
    if isinstance(window, str):
        import scipy.signal  # Keras asks for SciPy

        values = scipy.signal.get_window(window, sequence_length)
    else:
        values = np.asarray(convert_to_tensor(window))
        if values.shape != (sequence_length,):
            raise ValueError(
                "The shape of `window` must be equal to [sequence_length]."
                f"Received: window shape={values.shape}"
            )
    left = (fft_length - sequence_length) // 2
    return np.pad(values, (left, fft_length - sequence_length - left)).astype(dtype)


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    x = convert_to_tensor(x)
    if "float" not in str(x.dtype):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: {x.dtype}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    if isinstance(window, str) and window not in ("hann", "hamming"):
        raise ValueError(
            "If a string is passed to `window`, it must be one of `'hann'`, `'hamming'`. "
            f"Received: window={window}"
        )
    if center:
        widths = [(0, 0)] * (x.ndim - 1) + [(fft_length // 2, fft_length // 2)]
        x = pad(x, widths, mode="reflect")
    rows = extract_sequences(x, fft_length, sequence_stride)
    values = _window(window, sequence_length, fft_length, str(x.dtype))
    return rfft(rows * values, fft_length)


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    real, imag = _complex(x)
    values = _window(window, sequence_length, fft_length, str(real.dtype))
    rows = irfft((real, imag), fft_length) * values
    squares = broadcast_to(np.square(values), (shape(rows)[-2], fft_length))
    weights = _overlapped(squares, fft_length, sequence_stride)  # fewer at both ends
    found = _overlapped(rows, fft_length, sequence_stride)
    found = found / where(weights > 1e-10, weights, 1.0)
    if window is None:
        found = found * (fft_length / sequence_stride)
    start = fft_length // 2 if center else 0
    if length is not None:
        return found[..., start : start + length]
    return found[..., start : -start or None]


def _overlapped(rows, length, stride):
    """Rows (..., count, length) added up, each one stride behind the one before."""
    turns = -(-length // stride)
    if rows.__class__ is np.ndarray:
        *before, count, _ = rows.shape
        blocks = np.zeros((*before, count + turns - 1, stride), rows.dtype)
        for turn in range(turns):
            part = rows[..., turn * stride : (turn + 1) * stride]
            blocks[..., turn : turn + count, : part.shape[-1]] += part
        return blocks.reshape(*before, -1)[..., : (count - 1) * stride + length]
    rows = pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, turns * stride - length)])
    *before, count, _ = shape(rows)
    total, joined = None, count * stride if isinstance(count, int) else -1
    for turn in range(turns):
        part = reshape(rows[..., turn * stride : (turn + 1) * stride], [*before, joined])
        part = pad(
            part,
            [(0, 0)] * (part.ndim - 1) + [(turn * stride, (turns - 1 - turn) * stride)],
        )
        total = part if total is None else total + part
    return total[..., : length - turns * stride or None]
