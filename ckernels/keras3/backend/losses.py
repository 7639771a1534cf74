"""keras.ops.nn's losses, moments and normalisation, one-hot vectors and attention."""

import numpy as np
from keras.src import backend

from ... import ops
from ...base.errors import NotSupported
from ..casts import result_type, standardize_dtype
from ..eager import compiled
from ..rows import either
from ..values import Symbolic, cast, convert_to_tensor, has_traced, node_of, shape
from .activations import log_softmax, sigmoid, softmax
from .elementwise import clip, log, log10, logical_and, square, tanh, where
from .products import einsum
from .reductions import max, mean, sum
from .shaping import arange, expand_dims, moveaxis, repeat, reshape, squeeze

WIDE = frozenset(map(np.dtype, ("float32", "float64")))  # of arrays that are computed as they are


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    """Ones where the class is, zeros for classes that do not exist."""
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the ckernels backend")
    x, dtype = convert_to_tensor(x), standardize_dtype(dtype or "float32")
    if not num_classes:
        num_classes = int(np.max(x)) + 1
    if x.__class__ is np.ndarray and axis == -1 and x.dtype.kind in "iu":
        return _rows_of(x, num_classes, dtype)
    hot = expand_dims(x, -1) == arange(num_classes, dtype=x.dtype)
    return moveaxis(cast(hot, dtype), -1, axis) if axis != -1 else cast(hot, dtype)


def _rows_of(x, num_classes, dtype):
    found, flat = np.zeros((*x.shape, num_classes), dtype), x.ravel()
    inside = (flat >= 0) & (flat < num_classes)
    places = np.arange(0, x.size * num_classes, num_classes) if num_classes else flat
    found.put((places + flat.astype("int64"))[inside], 1)
    return found


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the ckernels backend")
    x = convert_to_tensor(x)
    hot = one_hot(cast(x, "int32"), num_classes, axis=axis, dtype=dtype)
    return max(hot, axis=1 if x.ndim > 1 else 0)


def _floats(target, output):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if not (output.dtype is target.dtype and output.dtype in WIDE):
        dtype = result_type(output.dtype, float)
        target, output = cast(target, dtype), cast(output, dtype)
    return target, output


def _known_alike(a, b):
    return len(a) == len(b) and not any(
        x != y for x, y in zip(a, b) if x is not None and y is not None
    )


def _refuse_shapes(target, output, what="must have the same shape"):
    raise ValueError(
        f"Arguments `target` and `output` {what}. Received: "
        f"target.shape={target.shape}, output.shape={output.shape}"
    )


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = _floats(target, output)
    if not has_traced(target, output) and target.shape == output.shape and output.ndim:
        return _categorical(target, output, from_logits, axis)
    if not _known_alike(target.shape, output.shape):
        _refuse_shapes(target, output)
    if output.ndim < 1:
        _refuse_shapes(target, output, "must be at least rank 1")
    if from_logits and has_traced(target, output):
        return Symbolic(ops.softmax_crossentropy(node_of(output), node_of(target), axis))
    return -sum(target * _log_probability(output, from_logits, axis), axis=axis)


@np.errstate(all="ignore")
def _categorical(target, output, from_logits, axis):
    logs = log_softmax(output, axis) if from_logits else _logs(output, output, axis)
    return -np.add.reduce(target * logs, axis)


def _logs(picked, output, axis):
    """Logarithms of elements of an array's rows as shares of these."""
    low = backend.epsilon()
    return np.log((picked / np.add.reduce(output, axis, keepdims=True)).clip(low, 1 - low))


@np.errstate(all="ignore")
def _of_classes(target, output, from_logits, axis):
    """The loss of rows of arrays by their classes: 0 where there is none of that number."""
    inside = (target >= 0) & (target < output.shape[axis])
    places = np.expand_dims(np.where(inside, target, 0).astype("int64"), axis)
    rows = log_softmax(output, axis) if from_logits else output
    picked = np.take_along_axis(rows, places, axis)
    logs = picked if from_logits else _logs(picked, output, axis)
    return np.where(inside, -logs.squeeze(axis), output.dtype.type(0))


def _log_probability(output, from_logits, axis):
    if from_logits:
        return log_softmax(output, axis=axis)
    output = output / sum(output, axis, keepdims=True)
    return log(clip(output, backend.epsilon(), 1 - backend.epsilon()))


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target, "int32"), convert_to_tensor(output)
    if target.ndim == output.ndim and target.shape[-1] == 1:
        target = squeeze(target, -1)
    if output.ndim < 1:
        raise ValueError(
            f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}"
        )
    sizes = [s for a, s in enumerate(output.shape) if a != axis % output.ndim]
    if not _known_alike(target.shape, sizes):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last "
            f"dimension: target.shape={target.shape}, output.shape={output.shape}"
        )
    if not has_traced(target, output) and output.dtype.kind == "f" and output.shape[axis]:
        return _of_classes(target, output, from_logits, axis)
    hot = one_hot(target, output.shape[axis], axis=axis, dtype=output.dtype)
    return categorical_crossentropy(hot, output, from_logits, axis)


def binary_crossentropy(target, output, from_logits=False):
    target, output = _floats(target, output)
    if not _known_alike(target.shape, output.shape):
        _refuse_shapes(target, output)
    if from_logits:
        if has_traced(target, output):
            return Symbolic(ops.sigmoid_crossentropy(node_of(output), node_of(target)))
        output = sigmoid(output)
    if not has_traced(target, output):
        return _binary(target, output)
    output = clip(output, backend.epsilon(), 1 - backend.epsilon())
    return -(target * log(output) + (1 - target) * log(1 - output))


@np.errstate(all="ignore")
def _binary(target, output):
    output = output.clip(backend.epsilon(), 1 - backend.epsilon())
    return -(target * np.log(output) + (1 - target) * np.log(1 - output))


def moments(x, axes, keepdims=False, synchronized=False):
    """Mean and variance; half floats are computed in float32 and limited to what they hold."""
    if synchronized:
        raise NotSupported("synchronized=True is for several machines")
    x = convert_to_tensor(x)
    axes = tuple(axes) if isinstance(axes, list | tuple) else axes
    if x.__class__ is np.ndarray and x.dtype in WIDE:
        return compiled(_moments, x, axes=axes, keepdims=keepdims, open_sizes=True)
    half = standardize_dtype(x.dtype) == "float16"
    wide = cast(x, "float32") if half else x
    centre = mean(wide, axes, keepdims=True)
    spread = mean(square(wide - centre), axes, keepdims=keepdims)
    centre = centre if keepdims else squeeze(centre, axes)
    if not half:
        return centre, spread
    most = float(np.finfo("float16").max)
    return tuple(cast(clip(m, -most, most), "float16") for m in (centre, spread))


def _moments(n, axes, keepdims):
    return ops.mean(n, axes, keepdims), ops.var(n, axes, keepdims)


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = convert_to_tensor(x)
    mean, variance = convert_to_tensor(mean), convert_to_tensor(variance)
    sizes = [1] * x.ndim
    sizes[axis] = mean.shape[0]
    given = [None if t is None else convert_to_tensor(t) for t in (offset, scale)]
    if all(t is None or (t.__class__ is np.ndarray and t.dtype in WIDE)
           for t in (x, mean, variance, *given)):  # fmt: skip
        return _normalised(x, mean, variance, sizes, *given, epsilon)
    factor = either(lambda v: 1 / np.sqrt(v), ops.rsqrt, reshape(variance, sizes) + epsilon)
    if scale is not None:
        factor = factor * reshape(convert_to_tensor(scale), sizes)
    found = (x - reshape(mean, sizes)) * factor
    if offset is not None:
        found = found + reshape(convert_to_tensor(offset), sizes)
    return cast(found, result_type(x.dtype, mean.dtype))


@np.errstate(all="ignore")
def _normalised(x, mean, variance, sizes, offset, scale, epsilon):
    factor = 1 / np.sqrt(variance.reshape(sizes) + epsilon)
    if scale is not None:
        factor = factor * scale.reshape(sizes)
    found = x - mean.reshape(sizes)
    found = np.multiply(found, factor, out=found if factor.dtype == found.dtype else None)
    if offset is not None:
        found = found + offset.reshape(sizes)
    return cast(found, result_type(x.dtype, mean.dtype))


def psnr(x1, x2, max_val):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if x1.shape != x2.shape:
        raise ValueError(
            f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. "
        )
    max_val = convert_to_tensor(max_val, dtype=x2.dtype)
    return 20 * log10(max_val) - 10 * log10(mean(square(x1 - x2)))


# ---- attention -----------------------------------------------------------------------------------


def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    """softmax(query key' scale + bias) value over (batch, length, heads, size).

    Groups of heads of the query may share one of key and value. flash_attention changes nothing:
    how the scores are kept is decided when the step is compiled.
    """
    query, key, value = (convert_to_tensor(x) for x in (query, key, value))
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. Received: "
            f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    dtype = result_type(query.dtype, key.dtype, value.dtype)
    query, key, value = (cast(x, dtype) for x in (query, key, value))
    key, value = (_for_heads(x, query.shape[2]) for x in (key, value))
    wide = result_type(dtype, "float32")
    scale = 1 / np.sqrt(key.shape[-1]) if scale is None else scale
    logits = einsum("btnh,bsnh->bnts", *(cast(x, wide) for x in (query, key)))
    logits = logits * convert_to_tensor(scale, wide)
    if bias is not None:
        logits = cast(logits + convert_to_tensor(bias, dtype), wide)
    if attn_logits_soft_cap is not None:
        logits = tanh(logits / attn_logits_soft_cap) * attn_logits_soft_cap
    weights = cast(softmax(_masked(logits, mask, is_causal)), dtype)
    return einsum("bnts,bsnh->btnh", weights, value)


def _for_heads(x, heads):
    """Keys or values repeated for the heads of the query that share them."""
    return x if x.shape[2] == heads else repeat(x, heads // x.shape[2], 2)


def _masked(logits, mask, is_causal):
    """Logits far below zero where a mask is False."""
    if mask is None and not is_causal:
        return logits
    seen = None if mask is None else convert_to_tensor(mask, "bool")
    if is_causal:
        rows, columns = shape(logits)[-2:]
        causal = expand_dims(arange(rows), -1) >= arange(columns)
        seen = causal if seen is None else logical_and(seen, causal)
    low = -0.7 * (65500.0 if str(logits.dtype) == "float16" else 3.38953e38)
    return where(seen, logits, convert_to_tensor(low, logits.dtype))
