"""Convolutions: Keras's functions, and the general `conv` and `conv_transpose` behind them.

Images are (batch, *sizes, channels), or (batch, channels, *sizes) with data_format
"channels_first"; kernels are (*sizes, channels in, channels out) in both. Kernels are not flipped
(correlation), as in Keras. Inside everything is channels last; the other format is a view.
"""

import numbers

from .. import ops
from ..base.errors import ArgumentError, ShapeError
from ..base.given import flag, sequence
from ..graph.node import Node
from ..graph.shapes import show
from ..ops.windows import extent, pads, window_attrs
from .config import data_format_of
from .operands import integer, node_of
from .tensor import Tensor


def to_last(x, data_format):
    """The node `x` with its channels in the last axis."""
    if data_format == "channels_last":
        return x
    return ops.transpose(x, (0, *range(2, x.ndim), 1))


def from_last(x, data_format):
    """The channels-last node `x` as a handle in `data_format`."""
    if data_format == "channels_first":
        x = ops.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))
    return Tensor(x)


def image(x, what, n=None, data_format=None):
    """(node with channels last, data_format) of what a user passed as images of `n` axes."""
    data_format = data_format_of(data_format)
    x = node_of(x, "x")
    order = "channels, *sizes" if data_format == "channels_first" else "*sizes, channels"
    if x.ndim < 3 or (n is not None and x.ndim != n + 2):
        wanted = "at least 3" if n is None else n + 2
        raise ShapeError(
            f"{what} needs x of {wanted} dimensions, (batch, {order}), got shape {show(x.shape)}"
        )
    return to_last(x, data_format), data_format


def _kernel(kernel, what, ndim, axes="channels in, channels out"):
    kernel = node_of(kernel, "kernel")
    if kernel.ndim != ndim:
        raise ShapeError(
            f"{what} needs a kernel of {ndim} dimensions, (*sizes, {axes}), got shape "
            f"{show(kernel.shape)}"
        )
    return kernel


def _flipped(kernel, flip):
    return ops.flip(kernel, tuple(range(kernel.ndim - 2))) if flag(flip, "flip") else kernel


# --- the general forms ------------------------------------------------------------------------


def conv(
    x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1, groups=1, flip=False
):
    """Convolution over any number of spatial axes, with a kernel that is not flipped unless asked.

    Parameters
    ----------
    x : tensor or array
        (batch, *sizes, channels), or with channels second as `data_format` says.
    kernel : tensor or array
        (*kernel sizes, channels / groups, output channels).
    strides : int or tuple of int, default 1
        Steps between windows: one for all axes, or one per axis.
    padding : str, int or tuple, default "valid"
        "valid", "same" (TensorFlow's: an odd row of zeros is at the end), "full", "half" (kernel //
        2 on each side), "causal" (all in front), an integer, or per axis one of these or a pair
        (low, high).
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : int or tuple of int, default 1
        Steps between elements of the kernel.
    groups : int, default 1
        Each convolves its own channels to its own output channels.
    flip : bool, default False
        Turn the kernel around first (a convolution in the sense of signal processing).

    Returns
    -------
    Tensor
        (batch, *result sizes, output channels), or with channels second.

    Raises
    ------
    ShapeError
        Where image and kernel do not fit together.
    ArgumentError
        For a padding that does not exist, and strides below 1.

    Notes
    -----
    A result size is (size + low + high - (kernel - 1) * dilation - 1) // stride + 1, or with "same"
    the size over the stride rounded up.

    Examples
    --------
    >>> x, kernel = K.ones((1, 5, 5, 3)), K.ones((3, 3, 3, 8))
    >>> K.int_shape(K.conv(x, kernel, strides=2, padding=((0, 1), 2)))
    (1, 2, 4, 8)
    """
    x, data_format = image(x, "conv", None, data_format)
    kernel = _flipped(_kernel(kernel, "conv", x.ndim), flip)
    return from_last(ops.conv(x, kernel, strides, padding, dilation_rate, groups), data_format)


def conv_transpose(
    x,
    kernel,
    output_shape=None,
    strides=1,
    padding="valid",
    data_format=None,
    dilation_rate=1,
    groups=1,
    flip=False,
):
    """The transpose of `conv`, its gradient with respect to x: from results to images.

    Parameters
    ----------
    x : tensor or array
        (batch, *result sizes, output channels of the kernel), or with channels second.
    kernel : tensor or array
        That of the convolution that is undone: (*kernel sizes, channels / groups, output channels).
    output_shape : tuple, optional
        The full shape of the result; batch and channels may be None, sizes too, where the smallest
        image with results of this size is meant ("same": size * stride).
    strides, padding, data_format, dilation_rate, groups, flip : object
        Those of the convolution that is undone, as in `conv`.

    Returns
    -------
    Tensor
        The images, (batch, *sizes, channels), or with channels second.

    Raises
    ------
    ShapeError
        Where output_shape does not fit `x` and the kernel.

    Examples
    --------
    >>> K.int_shape(K.conv_transpose(K.ones((1, 3, 3, 8)), K.ones((3, 3, 2, 8)), strides=2))
    (1, 7, 7, 2)
    """
    x, data_format = image(x, "conv_transpose", None, data_format)
    kernel = _flipped(_kernel(kernel, "conv_transpose", x.ndim), flip)
    n = x.ndim - 2
    attrs = window_attrs("conv_transpose", n, strides, padding, dilation_rate)
    shape = [None] * x.ndim if output_shape is None else _full_shape(output_shape, x, data_format)
    known = (x.shape[0], kernel.shape[-2] and kernel.shape[-2] * integer(groups, "groups"))
    for what, have, want in zip(("images", "channels"), (shape[0], shape[-1]), known):
        if isinstance(have, int) and want is not None and have != want:
            raise ShapeError(
                f"output_shape asks for {have} {what}, but x of shape {show(x.shape)} "
                f"(channels last) and the kernel {show(kernel.shape)} give {want}"
            )
    sizes = [_smallest(x, kernel, k, attrs) if s is None else s for k, s in enumerate(shape[1:-1])]
    y = ops.conv_input_grad(x, kernel, sizes, strides, padding, dilation_rate, groups)
    return from_last(y, data_format)


def _full_shape(output_shape, x, data_format):
    """The entries of an output_shape, channels last: ints, scalar nodes and None."""
    node = getattr(output_shape, "node", output_shape)
    if isinstance(node, Node):
        if node.ndim != 1 or node.shape[0] not in (None, x.ndim):
            raise ShapeError(
                f"output_shape must have {x.ndim} entries, got a tensor of shape {show(node.shape)}"
            )
        known = ops.known_values(node) or [None] * x.ndim
        parts = [ops.getitem(node, k) if v is None else v for k, v in enumerate(known)]
    else:
        output_shape = sequence(output_shape, "output_shape")
        if len(output_shape) != x.ndim:
            raise ShapeError(
                f"output_shape must have {x.ndim} entries for x of shape "
                f"{show(x.shape)}, got {output_shape!r}"
            )
        parts = [_entry(p) for p in output_shape]
    if data_format == "channels_first":
        parts = [parts[0], *parts[2:], parts[1]]
    return parts


def _entry(p):
    if p is None:
        return None
    if isinstance(p, numbers.Integral):
        if p < 0:
            raise ShapeError(f"output_shape has the negative size {p}; use None for an open one")
        return int(p)
    return ops.cast(node_of(p, "an entry of output_shape"), "int64")


def _smallest(x, kernel, axis, attrs):
    """The least size of an image whose result has the size of `x`."""
    size, k = ops.size_of(x, axis + 1), kernel.shape[axis]
    stride, spec = attrs["strides"][axis], attrs["padding"][axis]
    if spec == "same":
        return size * stride if isinstance(size, int) else ops.mul(size, stride)
    if k is None or spec == "partial":
        raise ShapeError(
            f"conv_transpose needs output_shape for a kernel of shape "
            f"{show(kernel.shape)} and padding {spec!r}"
        )
    dilation = attrs["dilation"][axis]
    more = extent(k, dilation) - sum(pads(spec, None, k, stride, dilation))
    if isinstance(size, int):
        return max(0, (size - 1) * stride + more)
    return ops.maximum(ops.add(ops.mul(ops.sub(size, 1), stride), more), 0)


# --- Keras ------------------------------------------------------------------------------------


def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """1D convolution with a kernel that is not flipped.

    Parameters
    ----------
    x : tensor or array
        (batch, steps, channels), or (batch, channels, steps) as `data_format` says.
    kernel : tensor or array
        (length, channels, filters).
    strides : int, default 1
        Steps between windows.
    padding : str, default "valid"
        "valid", "same", or "causal" (no output sees a later step), or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : int, default 1
        Steps between elements of the kernel.

    Returns
    -------
    Tensor
        (batch, steps, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where image and kernel do not fit together.

    Examples
    --------
    >>> x = K.variable(np.arange(4.0).reshape(1, 4, 1))
    >>> K.conv1d(x, K.ones((2, 1, 1)), padding="causal").eval().ravel()
    array([0., 1., 3., 5.], dtype=float32)
    """
    return _keras(1, "conv1d", x, kernel, strides, padding, data_format, dilation_rate)


def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    """2D convolution with a kernel that is not flipped.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    kernel : tensor or array
        (rows, columns, channels, filters).
    strides : tuple of int, default (1, 1)
        Steps between windows.
    padding : str, default "valid"
        "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : tuple of int, default (1, 1)
        Steps between elements of the kernel.

    Returns
    -------
    Tensor
        (batch, rows, columns, filters), or with filters second.

    Raises
    ------
    ShapeError
        For other numbers of dimensions or channels, and where the image is smaller than the kernel.
    ArgumentError
        For a `padding` or `data_format` that does not exist.

    Examples
    --------
    >>> K.int_shape(K.conv2d(K.ones((2, 5, 6, 3)), K.ones((3, 3, 3, 8)), padding="same"))
    (2, 5, 6, 8)
    """
    return _keras(2, "conv2d", x, kernel, strides, padding, data_format, dilation_rate)


def conv3d(
    x, kernel, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1)
):
    """3D convolution with a kernel that is not flipped.

    Parameters
    ----------
    x : tensor or array
        (batch, depth, rows, columns, channels), or with channels second as `data_format` says.
    kernel : tensor or array
        (depth, rows, columns, channels, filters).
    strides : tuple of int, default (1, 1, 1)
        Steps between windows.
    padding : str, default "valid"
        "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : tuple of int, default (1, 1, 1)
        Steps between elements of the kernel.

    Returns
    -------
    Tensor
        (batch, depth, rows, columns, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where image and kernel do not fit together.

    Examples
    --------
    >>> K.int_shape(K.conv3d(K.ones((1, 4, 5, 6, 2)), K.ones((3, 3, 3, 2, 7))))
    (1, 2, 3, 4, 7)
    """
    return _keras(3, "conv3d", x, kernel, strides, padding, data_format, dilation_rate)


def _keras(n, what, x, kernel, strides, padding, data_format, dilation_rate):
    x, data_format = image(x, what, n, data_format)
    kernel = _kernel(kernel, what, n + 2)
    return from_last(ops.conv(x, kernel, strides, padding, dilation_rate), data_format)


def conv2d_transpose(
    x, kernel, output_shape, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)
):
    """The transpose of conv2d (called deconvolution): up from results to images.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, filters), or with filters second as `data_format` says.
    kernel : tensor or array
        (rows, columns, output channels, channels of x).
    output_shape : tuple of int, None and Tensor, or Tensor
        The whole shape of the result: ints, None or scalar tensors, or a tensor of 4 ints.
    strides : tuple of int, default (1, 1)
        Those of the convolution that is undone.
    padding : str, default "valid"
        "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : tuple of int, default (1, 1)
        Steps between elements of the kernel.

    Returns
    -------
    Tensor
        Of shape `output_shape`.

    Raises
    ------
    ShapeError
        Where no convolution of such an image would give the shape of `x`, and for another number of
        sizes than 4.

    Examples
    --------
    >>> x, kernel = K.ones((1, 2, 2, 3)), K.ones((3, 3, 5, 3))
    >>> K.int_shape(K.conv2d_transpose(x, kernel, (1, 4, 4, 5), (2, 2), "same"))
    (1, 4, 4, 5)
    """
    image(x, "conv2d_transpose", 2, data_format)
    return conv_transpose(x, kernel, output_shape, strides, padding, data_format, dilation_rate)


def conv3d_transpose(x, kernel, output_shape, strides=(1, 1, 1), padding="valid", data_format=None):
    """The transpose of conv3d; as `conv2d_transpose`, with one axis more.

    Parameters
    ----------
    x : tensor or array
        (batch, depth, rows, columns, filters), or with filters second as `data_format` says.
    kernel : tensor or array
        (depth, rows, columns, output channels, channels of x).
    output_shape : tuple of int, None and Tensor, or Tensor
        The whole shape of the result: ints, None or scalar tensors, or a tensor of 5 ints.
    strides : tuple of int, default (1, 1, 1)
        Those of the convolution that is undone.
    padding : str, default "valid"
        "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.

    Returns
    -------
    Tensor
        Of shape `output_shape`.

    Raises
    ------
    ShapeError
        Where no convolution of such an image would give the shape of `x`.

    Examples
    --------
    >>> x, kernel = K.ones((1, 2, 2, 2, 3)), K.ones((2, 2, 2, 5, 3))
    >>> K.int_shape(K.conv3d_transpose(x, kernel, (1, 3, 3, 3, 5)))
    (1, 3, 3, 3, 5)
    """
    image(x, "conv3d_transpose", 3, data_format)
    return conv_transpose(x, kernel, output_shape, strides, padding, data_format)


# --- depthwise and separable ------------------------------------------------------------------


def _depthwise(n, what, x, kernel, strides, padding, dilation_rate):
    """Each channel of the channels-last node `x` with its own kernels (*sizes, channels, m)."""
    kernel = _kernel(kernel, what, n + 2, "channels, multiplier")
    channels = x.shape[-1] if kernel.shape[-2] is None else kernel.shape[-2]
    if channels is None:
        raise ShapeError(
            f"{what} needs a known number of channels, got x {show(x.shape)} and a "
            f"kernel {show(kernel.shape)}"
        )
    if x.shape[-1] not in (None, channels):
        raise ShapeError(
            f"{what} of x {show(x.shape)} with {x.shape[-1]} channels (last) and a "
            f"kernel {show(kernel.shape)} for {channels} channels"
        )
    sizes = [ops.size_of(kernel, k) for k in range(n)]
    filters = (
        ops.mul(channels, m) if isinstance(m := ops.size_of(kernel, n + 1), Node) else channels * m
    )
    each = ops.reshape(kernel, [*sizes, 1, filters])
    return ops.conv(x, each, strides, padding, dilation_rate, groups=channels)


def _separable(n, what, x, depthwise, pointwise, strides, padding, data_format, dilation_rate):
    x, data_format = image(x, what, n, data_format)
    pointwise = _kernel(pointwise, what, n + 2)
    if any(d not in (None, 1) for d in pointwise.shape[:n]):
        raise ShapeError(
            f"the pointwise kernel of {what} must have size 1 along the spatial axes, "
            f"got shape {show(pointwise.shape)}"
        )
    y = _depthwise(n, what, x, depthwise, strides, padding, dilation_rate)
    return from_last(ops.conv(y, pointwise), data_format)


def depthwise_conv2d(
    x, depthwise_kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)
):
    """Each channel convolved with kernels of its own.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    depthwise_kernel : tensor or array
        (rows, columns, channels, multiplier).
    strides : tuple of int, default (1, 1)
        Steps between windows.
    padding : str, default "valid"
        "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : tuple of int, default (1, 1)
        Steps between elements of the kernel.

    Returns
    -------
    Tensor
        (batch, rows, columns, channels * multiplier), or with channels second; those of one input
        channel are together.

    Raises
    ------
    ShapeError
        Where image and kernel do not fit together.

    Examples
    --------
    >>> K.int_shape(K.depthwise_conv2d(K.ones((1, 5, 5, 3)), K.ones((3, 3, 3, 2))))
    (1, 3, 3, 6)
    """
    x, data_format = image(x, "depthwise_conv2d", 2, data_format)
    y = _depthwise(2, "depthwise_conv2d", x, depthwise_kernel, strides, padding, dilation_rate)
    return from_last(y, data_format)


def separable_conv1d(
    x,
    depthwise_kernel,
    pointwise_kernel,
    strides=1,
    padding="valid",
    data_format=None,
    dilation_rate=1,
):
    """A depthwise convolution, then one of size 1.

    Parameters
    ----------
    x : tensor or array
        (batch, steps, channels), or (batch, channels, steps) as `data_format` says.
    depthwise_kernel : tensor or array
        (length, channels, multiplier).
    pointwise_kernel : tensor or array
        (1, channels * multiplier, filters).
    strides : int or tuple of int, default 1
        Steps between windows of the first.
    padding : str, default "valid"
        Of the first; "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : int or tuple of int, default 1
        Steps between elements of the first kernel.

    Returns
    -------
    Tensor
        (batch, output steps, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where a kernel is for another number of channels.
    ArgumentError
        For a padding or data_format that does not exist.

    Examples
    --------
    >>> x = K.ones((1, 5, 3))
    >>> K.int_shape(K.separable_conv1d(x, K.ones((3, 3, 2)), K.ones((1, 6, 4))))
    (1, 3, 4)
    """
    return _separable(
        1,
        "separable_conv1d",
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides,
        padding,
        data_format,
        dilation_rate,
    )


def separable_conv2d(
    x,
    depthwise_kernel,
    pointwise_kernel,
    strides=(1, 1),
    padding="valid",
    data_format=None,
    dilation_rate=(1, 1),
):
    """A depthwise convolution, then one of size 1 x 1.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    depthwise_kernel : tensor or array
        (rows, columns, channels, multiplier).
    pointwise_kernel : tensor or array
        (1, 1, channels * multiplier, filters).
    strides : tuple of int, default (1, 1)
        Steps between windows of the first.
    padding : str, default "valid"
        Of the first; "valid", "same", or as in `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    dilation_rate : tuple of int, default (1, 1)
        Steps between elements of the first kernel.

    Returns
    -------
    Tensor
        (batch, output rows, output columns, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where a kernel is for another number of channels.
    ArgumentError
        For a padding or data_format that does not exist.

    Examples
    --------
    >>> x = K.ones((1, 5, 5, 3))
    >>> K.int_shape(K.separable_conv2d(x, K.ones((3, 3, 3, 2)), K.ones((1, 1, 6, 4))))
    (1, 3, 3, 4)
    """
    return _separable(
        2,
        "separable_conv2d",
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides,
        padding,
        data_format,
        dilation_rate,
    )


# --- unshared ---------------------------------------------------------------------------------


def local_conv1d(inputs, kernel, kernel_size, strides, data_format=None):
    """A convolution with another kernel at each place.

    Parameters
    ----------
    inputs : tensor or array
        (batch, steps, channels).
    kernel : tensor or array
        (output length, kernel length * channels, filters).
    kernel_size : tuple of int
        (kernel length,).
    strides : tuple of int
        One integer, the steps between windows.
    data_format : {"channels_last", "channels_first"}, optional
        None means channels last whatever the default layout is, as the documented shapes say.

    Returns
    -------
    Tensor
        (batch, output length, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where the kernel is for other windows.
    ArgumentError
        For a `data_format` that does not exist.

    Examples
    --------
    >>> x, kernel = K.ones((2, 5, 3)), K.ones((4, 6, 7))
    >>> K.int_shape(K.local_conv1d(x, kernel, (2,), (1,)))
    (2, 4, 7)
    """
    data_format = "channels_last" if data_format is None else data_format
    return _local(1, "local_conv1d", inputs, kernel, kernel_size, strides, None, data_format)


def local_conv2d(inputs, kernel, kernel_size, strides, output_shape, data_format=None):
    """A 2D convolution with another kernel at each place.

    Parameters
    ----------
    inputs : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    kernel : tensor or array
        (output rows * output columns, rows * columns * channels, filters): the first axis has
        pixels of the result, the second elements of a window, both row by row (with channels_first
        the channel comes before rows and columns, as in Keras).
    kernel_size : tuple of int
        (rows, columns) of a window.
    strides : tuple of int
        Steps between windows.
    output_shape : tuple of int
        (output rows, output columns).
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.

    Returns
    -------
    Tensor
        (batch, output rows, output columns, filters), or with filters second.

    Raises
    ------
    ShapeError
        Where `output_shape` is not what the windows give.
    ArgumentError
        For a `data_format` that does not exist.

    Examples
    --------
    >>> x, kernel = K.ones((2, 5, 5, 3)), K.ones((12, 18, 7))
    >>> K.int_shape(K.local_conv2d(x, kernel, (2, 3), (1, 1), (4, 3)))
    (2, 4, 3, 7)
    """
    return _local(
        2, "local_conv2d", inputs, kernel, kernel_size, strides, output_shape, data_format
    )


def _local(n, what, x, kernel, kernel_size, strides, output_shape, data_format):
    x, data_format = image(x, what, n, data_format)
    kernel = node_of(kernel, "kernel")
    if kernel.ndim != 3:
        raise ShapeError(
            f"{what} needs a kernel (places, features, filters), got shape {show(kernel.shape)}"
        )
    p = ops.patches(x, tuple(kernel_size), tuple(strides))
    _check_local(what, p, kernel, output_shape, n)
    if data_format == "channels_first":
        p = ops.transpose(p, (*range(n + 1), 2 * n + 1, *range(n + 1, 2 * n + 1)))
    batch, places, features = ops.size_of(p, 0), kernel.shape[0], kernel.shape[1]
    rows = ops.reshape(p, [batch, _size(kernel, 0, places), _size(kernel, 1, features)])
    y = ops.matmul(ops.transpose(rows, (1, 0, 2)), kernel)
    sizes = [ops.size_of(p, k) for k in range(n + 1)]
    y = ops.reshape(ops.transpose(y, (1, 0, 2)), [*sizes, ops.size_of(kernel, 2)])
    return from_last(y, data_format)


def _size(x, axis, known):
    return ops.size_of(x, axis) if known is None else known


def _check_local(what, p, kernel, output_shape, n):
    """Raise unless the patches `p` fit the kernel and the output shape, as far as is known."""
    places, features = p.shape[1 : n + 1], p.shape[n + 1 :]
    if output_shape is not None:
        if len(output_shape) != n:
            raise ArgumentError(f"{what}: output_shape must be {n} integers, got {output_shape!r}")
        if any(
            isinstance(o, numbers.Integral) and r not in (None, o)
            for o, r in zip(output_shape, places)
        ):
            raise ShapeError(
                f"{what}: output_shape {tuple(output_shape)} asked for, but windows "
                f"of {show(p.shape[n + 1 : -1])} give {show(places)}"
            )
    for word, have, sizes in (
        ("places", kernel.shape[0], places),
        ("features", kernel.shape[1], features),
    ):
        if have is not None and None not in sizes:
            want = 1
            for s in sizes:
                want *= s
            if want != have:
                raise ShapeError(
                    f"{what}: a kernel of shape {show(kernel.shape)} is for {have} "
                    f"{word}, but there are {' x '.join(map(str, sizes))} of them"
                )
