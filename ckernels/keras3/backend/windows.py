"""keras.ops.nn's convolutions and pools, compiled for arrays too; patches and blocks of pixels."""

import numpy as np
from keras.src import backend
from keras.src.backend.common.backend_utils import (
    compute_conv_transpose_padding_args_for_jax,
)

from ... import ops
from ...base.errors import OutOfMemory
from ..casts import result_type
from ..eager import compiled
from ..values import cast, convert_to_tensor, shape
from .core import scatter
from .reductions import amax, mean
from .shaping import concatenate, pad, reshape, stack, transpose


def _each(number, n):
    """A number for each of n spatial axes."""
    return (int(number),) * n if isinstance(number, int) else tuple(int(i) for i in number)


def _last(x, data_format):
    """Channels last, and the way back."""
    data_format = backend.standardize_data_format(data_format)
    x = convert_to_tensor(x)
    if data_format == "channels_last":
        return x, lambda y: y
    back = (0, x.ndim - 1, *range(1, x.ndim - 1))
    return transpose(x, (0, *range(2, x.ndim), 1)), lambda y: transpose(y, back)


def _conv_nodes(x, kernel, strides, padding, dilation, groups):
    return ops.conv(x, kernel, strides, padding, dilation, groups)


def _floats(*xs):
    """Tensors in a dtype of floats, and the dtype of the result."""
    dtype = result_type(*[x.dtype for x in xs])
    if len(xs) > 1 and all(str(x.dtype) == "int8" for x in xs):
        dtype = "int32"
    wide = dtype if "float" in dtype else "float64" if dtype == "int32" else "float32"
    return [cast(x, wide) for x in xs], dtype


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, back = _last(inputs, data_format)
    kernel = convert_to_tensor(kernel)
    channels, wanted = x.shape[-1], kernel.shape[-2]
    if channels is not None and channels % wanted:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {channels} and kernel in_channels {wanted}. "
        )
    n = x.ndim - 2
    (x, kernel), dtype = _floats(x, kernel)
    found = compiled(
        _conv_nodes,
        x,
        kernel,
        strides=_each(strides, n),
        padding=padding,
        dilation=_each(dilation_rate, n),
        groups=channels // wanted,
    )
    return back(cast(found, dtype))


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    kernel = convert_to_tensor(kernel)
    *sizes, channels, each = kernel.shape
    kernel = reshape(kernel, [*sizes, 1, channels * each])
    return conv(inputs, kernel, strides, padding, data_format, dilation_rate)


def separable_conv(
    inputs,
    depthwise_kernel,
    pointwise_kernel,
    strides=1,
    padding="valid",
    data_format=None,
    dilation_rate=1,
):
    middle = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(middle, pointwise_kernel, 1, "valid", data_format)


def _transposed_nodes(x, kernel, crops, strides, dilation):
    """The adjoint of a convolution, cut by `crops` at both ends of each axis (negative: zeros)."""
    sizes = []
    for axis, ((low, high), stride, dil) in enumerate(zip(crops, strides, dilation)):
        reach = (kernel.shape[axis] - 1) * dil + 1 - max(low, 0) - max(high, 0)
        count = ops.size_of(x, axis + 1)
        whole = (count - 1) * stride + reach if isinstance(count, int) else None
        sizes.append(ops.add(ops.mul(ops.sub(count, 1), stride), reach) if whole is None else whole)
    pads = tuple((max(low, 0), max(high, 0)) for low, high in crops)
    found = ops.conv_input_grad(x, kernel, sizes, strides, pads, dilation, 1)
    more = [(max(-low, 0), max(-high, 0)) for low, high in crops]
    return ops.pad(found, [(0, 0), *more, (0, 0)]) if any(map(any, more)) else found


def conv_transpose(
    inputs,
    kernel,
    strides=1,
    padding="valid",
    output_padding=None,
    data_format=None,
    dilation_rate=1,
):
    """The transpose of a convolution, in the sizes Keras computes for it."""
    x, back = _last(inputs, data_format)
    kernel = convert_to_tensor(kernel)
    if x.shape[-1] is not None and x.shape[-1] != kernel.shape[-1]:
        raise ValueError(
            "The number of input channels of `conv_transpose` must be that of the kernel. "
            f"Received: inputs.shape={tuple(x.shape)} (channels last), kernel.shape={kernel.shape}"
        )
    n = x.ndim - 2
    strides, dilation = _each(strides, n), _each(dilation_rate, n)
    ends = compute_conv_transpose_padding_args_for_jax(
        x.shape, kernel.shape, strides, padding, output_padding, dilation
    )
    reach = [(k - 1) * d for k, d in zip(kernel.shape, dilation)]
    crops = tuple((r - low, r - high) for r, (low, high) in zip(reach, ends))
    (x, kernel), dtype = _floats(x, kernel)
    found = compiled(_transposed_nodes, x, kernel, crops=crops, strides=strides, dilation=dilation)
    return back(cast(found, dtype))


# ---- pools ---------------------------------------------------------------------------------------


def _max_nodes(x, size, strides, padding):
    return ops.pool_max(x, size, strides, padding)


def _average_nodes(x, size, strides, padding):
    return ops.pool_average(x, size, strides, padding, inside=True)


def _pool(builder, x, size, strides, padding, data_format):
    x, back = _last(x, data_format)
    n = x.ndim - 2
    size = _each(size, n)
    strides = size if strides is None else _each(strides, n)
    (wide,), dtype = _floats(x)
    found = compiled(builder, wide, size=size, strides=strides, padding=padding)
    return back(cast(found, x.dtype))


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(_max_nodes, inputs, pool_size, strides, padding, data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(_average_nodes, inputs, pool_size, strides, padding, data_format)


MOST_PARTS = 2**47  # addresses of a process


def _adaptive(inputs, output_size, data_format, reduce):
    """Windows whose bounds divide each axis into `output_size` parts as evenly as can be."""
    x, back = _last(inputs, data_format)
    for axis, count in enumerate(_each(output_size, x.ndim - 2), start=1):
        size = x.shape[axis]
        parts = []
        if count >= MOST_PARTS:
            raise OutOfMemory(f"an output of {count} parts along axis {axis} fits into no memory")
        for i in range(count):
            key = [slice(None)] * x.ndim
            key[axis] = slice(i * size // count, -(-(i + 1) * size // count))
            parts.append(reduce(x[tuple(key)], axis, keepdims=True))
        x = concatenate(parts, axis)
    return back(x)


def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, mean)


def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, amax)


# ---- patches and blocks --------------------------------------------------------------------------


def _pairs(number):
    return (number, number) if isinstance(number, int) else tuple(number)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Patches of images (batch, channels, rows, columns) as columns: torch's unfold."""
    k, d, p, s = (_pairs(v) for v in (kernel_size, dilation, padding, stride))
    x = pad(convert_to_tensor(input), ((0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])))
    counts = [(n - (a - 1) * b - 1) // c + 1 for n, a, b, c in zip(x.shape[2:], k, d, s)]
    parts = []
    for i in range(k[0]):
        for j in range(k[1]):
            rows = slice(i * d[0], i * d[0] + (counts[0] - 1) * s[0] + 1, s[0])
            columns = slice(j * d[1], j * d[1] + (counts[1] - 1) * s[1] + 1, s[1])
            parts.append(x[:, :, rows, columns])
    return reshape(stack(parts, 2), [-1, x.shape[1] * k[0] * k[1], counts[0] * counts[1]])


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of `unfold`: patches are added where they lie."""
    x = convert_to_tensor(x)
    o, k, d, p, s = (_pairs(v) for v in (output_size, kernel_size, dilation, padding, stride))
    sizes = [n + 2 * q for n, q in zip(o, p)]
    counts = [(n - (a - 1) * b - 1) // c + 1 for n, a, b, c in zip(sizes, k, d, s)]
    channels = x.shape[1] // (k[0] * k[1])
    at = [
        (np.arange(a) * b)[:, None] + np.arange(m) * c for a, b, c, m in zip(k, d, s, counts)
    ]  # (place in the kernel, patch) of each axis
    rows = np.broadcast_to(at[0][:, None, :, None], (*k, *counts)).reshape(-1)
    columns = np.broadcast_to(at[1][None, :, None, :], (*k, *counts)).reshape(-1)
    values = reshape(x, [-1, channels, k[0] * k[1] * counts[0] * counts[1]])
    values = transpose(values, (2, 0, 1))
    found = scatter(np.stack([rows, columns], -1), values, (*sizes, shape(x)[0], channels))
    found = transpose(found, (2, 3, 0, 1))
    return found[:, :, p[0] : p[0] + o[0], p[1] : p[1] + o[1]]


def depth_to_space(x, block_size, data_format="channels_last"):
    x, back = _last(x, data_format)
    batch, rows, columns, channels = shape(x)
    depth = channels // block_size**2
    x = reshape(x, [batch, rows, columns, block_size, block_size, depth])
    x = transpose(x, (0, 1, 3, 2, 4, 5))
    return back(reshape(x, [batch, rows * block_size, columns * block_size, depth]))


def space_to_depth(x, block_size, data_format="channels_last"):
    x, back = _last(x, data_format)
    batch, rows, columns, channels = shape(x)
    rows, columns = rows // block_size, columns // block_size
    x = reshape(x, [batch, rows, block_size, columns, block_size, channels])
    x = transpose(x, (0, 1, 3, 2, 4, 5))
    return back(reshape(x, [batch, rows, columns, block_size**2 * channels]))
