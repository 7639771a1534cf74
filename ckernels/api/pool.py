"""Pooling, resizing and padding of images, in both data formats.

Images are (batch, *sizes, channels), or (batch, channels, *sizes) with data_format
"channels_first". Padding is never a maximum, and with "avg" it does not count.
"""

from .. import ops
from ..base import dtypes
from ..base.errors import ArgumentError, ShapeError
from ..base.given import word
from ..graph.node import Node
from .conv import from_last, image
from .operands import integer

POOLS = {
    "max": ops.pool_max,
    "sum": ops.pool_sum,
    "avg": ops.pool_average,
    "average_exc_pad": ops.pool_average,
    "average_inc_pad": lambda *args: ops.pool_average(*args, inside=False),
}  # fmt: skip


# --- pooling ----------------------------------------------------------------------------------


def pool(x, pool_size, strides=None, padding="valid", data_format=None, pool_mode="max"):
    """Pooling over any number of spatial axes.

    Parameters
    ----------
    x : tensor or array
        (batch, *sizes, channels), or (batch, channels, *sizes) as `data_format` says.
    pool_size : int or tuple of int
        Of a window: an integer or one per axis.
    strides : int or tuple of int, optional
        Steps between windows; None: windows side by side.
    padding : str, default "valid"
        As in `conv`, or "partial": at the end, windows see what is left of the image.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    pool_mode : str, default "max"
        "max", "sum", "avg" (or "average_exc_pad": padding does not count), "average_inc_pad" (it
        does).

    Returns
    -------
    Tensor
        (batch, *output sizes, channels), or with channels second.

    Raises
    ------
    ArgumentError
        For a pool_mode, padding or data_format that does not exist, and for windows of another
        number of axes; it is a ValueError.
    ShapeError
        Where a window is larger than the image.

    Examples
    --------
    >>> x = K.variable(np.arange(5.0).reshape(1, 5, 1))
    >>> K.pool(x, 2, padding="partial").eval().ravel()
    array([1., 3., 4.], dtype=float32)
    """
    return _pool(None, "pool", x, pool_size, strides, padding, data_format, pool_mode)


def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    """2D pooling of images.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    pool_size : tuple of int
        (rows, columns) of a window.
    strides : tuple of int, default (1, 1)
        Steps between windows.
    padding : str, default "valid"
        "valid" or "same", or as in `pool`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    pool_mode : str, default "max"
        "max" or "avg", or as in `pool`.

    Returns
    -------
    Tensor
        (batch, output rows, output columns, channels), or with channels second.

    Raises
    ------
    ArgumentError
        For a pool_mode or padding that does not exist; it is a ValueError.
    ShapeError
        For an `x` that has not 4 dimensions.

    Examples
    --------
    >>> x = K.variable(np.arange(16.0).reshape(1, 4, 4, 1))
    >>> K.pool2d(x, (2, 2), (2, 2)).eval()[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    """
    return _pool(2, "pool2d", x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(x, pool_size, strides=(1, 1, 1), padding="valid", data_format=None, pool_mode="max"):
    """3D pooling of volumes.

    Parameters
    ----------
    x : tensor or array
        (batch, depth, rows, columns, channels), or with channels second as `data_format` says.
    pool_size : tuple of int
        (depth, rows, columns) of a window.
    strides : tuple of int, default (1, 1, 1)
        Steps between windows.
    padding : str, default "valid"
        "valid" or "same", or as in `pool`.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.
    pool_mode : str, default "max"
        "max" or "avg", or as in `pool`.

    Returns
    -------
    Tensor
        With as many dimensions as x.

    Raises
    ------
    ArgumentError
        For a pool_mode or padding that does not exist; it is a ValueError.
    ShapeError
        For an `x` that has not 5 dimensions.

    Examples
    --------
    >>> K.int_shape(K.pool3d(K.ones((1, 4, 4, 4, 2)), (2, 2, 2), (2, 2, 2), pool_mode="avg"))
    (1, 2, 2, 2, 2)
    """
    return _pool(3, "pool3d", x, pool_size, strides, padding, data_format, pool_mode)


def _pool(n, what, x, pool_size, strides, padding, data_format, pool_mode):
    x, data_format = image(x, what, n, data_format)
    word(pool_mode, POOLS, "pool_mode")
    return from_last(POOLS[pool_mode](x, pool_size, strides, padding), data_format)


# --- resizing ---------------------------------------------------------------------------------


def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    """Images enlarged by integer factors.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns).
    height_factor, width_factor : int
        At least 1.
    data_format : {"channels_last", "channels_first"}
        Which of the two `x` is.
    interpolation : {"nearest", "bilinear"}, default "nearest"
        "nearest" repeats pixels; "bilinear" takes the pixels to be squares and interpolates between
        their centres, as TensorFlow 2 and PyTorch do (align_corners=False).

    Returns
    -------
    Tensor
        With factor times as many rows and columns.

    Raises
    ------
    ArgumentError
        For a data_format or interpolation that does not exist, and a factor below 1.
    UsageError
        Where a factor is no integer.
    ShapeError
        For an `x` that has not 4 dimensions.

    Examples
    --------
    >>> x = K.variable(np.arange(2.0).reshape(1, 1, 2, 1))
    >>> K.resize_images(x, 1, 2, "channels_last").eval().ravel()
    array([0., 0., 1., 1.], dtype=float32)
    """
    factors = (height_factor, width_factor)
    return resized(2, "resize_images", x, factors, data_format, interpolation)


def resize_volumes(x, depth_factor, height_factor, width_factor, data_format):
    """Volumes enlarged by integer factors: each voxel is repeated.

    Parameters
    ----------
    x : tensor or array
        (batch, depth, rows, columns, channels), or with channels second.
    depth_factor, height_factor, width_factor : int
        At least 1.
    data_format : {"channels_last", "channels_first"}
        Which of the two `x` is.

    Returns
    -------
    Tensor
        With factor times the sizes.

    Raises
    ------
    ArgumentError
        For a data_format that does not exist.

    Examples
    --------
    >>> K.int_shape(K.resize_volumes(K.ones((1, 2, 2, 2, 3)), 1, 2, 3, "channels_last"))
    (1, 2, 4, 6, 3)
    """
    factors = (depth_factor, height_factor, width_factor)
    return resized(3, "resize_volumes", x, factors, data_format, "nearest")


def resized(n, what, x, factors, data_format, interpolation, centred=True):
    """Images (n = 2) or volumes (n = 3) enlarged; centred: see `bilinear`."""
    x, data_format = image(x, what, n, data_format)
    factors = tuple(integer(f, f"a factor of {what}") for f in factors)
    if min(factors) < 1:
        raise ArgumentError(f"{what}: factors must be positive integers, not {factors}")
    if interpolation not in ("nearest", "bilinear"):
        raise ArgumentError(f"interpolation must be 'nearest' or 'bilinear', not {interpolation!r}")
    wide = nearest(x, factors) if interpolation == "nearest" else bilinear(x, factors, centred)
    return from_last(wide, data_format)


def times(size, factor):
    """A size (int or scalar node) times an int."""
    return ops.mul(size, factor) if isinstance(size, Node) else size * factor


def nearest(x, factors):
    """The node `x` (N, *S, C) with each element repeated along the spatial axes."""
    n = len(factors)
    sizes = [ops.size_of(x, k) for k in range(x.ndim)]
    wide, result = [sizes[0]], [sizes[0]]
    for size, factor in zip(sizes[1:-1], factors):
        wide += [size, factor]
        result.append(times(size, factor))
    between = ops.expand(x, tuple(2 + 2 * k for k in range(n)))
    return ops.reshape(ops.broadcast_to(between, [*wide, sizes[-1]]), [*result, sizes[-1]])


def bilinear(x, factors, centred=True):
    """The node `x` (N, *S, C) interpolated linearly between the centres of its elements.

    Not centred: new element j lies at j / factor, as in TensorFlow 1.
    """
    x = ops.cast(x, dtypes.to_float(x.dtype))
    for axis, factor in enumerate(factors, 1):
        if factor > 1:  # the centre of new element j lies at (j + 1/2) / factor - 1/2
            size = times(ops.size_of(x, axis), factor)
            x = ops.interpolate(x, axis, size, 2, 1 - factor if centred else 0, 2 * factor)
    return x


# --- padding ----------------------------------------------------------------------------------


def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    """Zeros around images.

    Parameters
    ----------
    x : tensor or array
        (batch, rows, columns, channels), or (batch, channels, rows, columns) as `data_format` says.
    padding : tuple of pairs of int, default ((1, 1), (1, 1))
        ((top, bottom), (left, right)).
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.

    Returns
    -------
    Tensor
        With more rows and columns.

    Raises
    ------
    ShapeError
        For an `x` that has not 4 dimensions, and negative padding.
    ArgumentError
        For a padding that is not two pairs, and a data_format that does not exist.

    Examples
    --------
    >>> K.int_shape(K.spatial_2d_padding(K.ones((1, 2, 2, 3)), ((1, 0), (2, 3))))
    (1, 3, 7, 3)
    """
    return _zeros_around(2, "spatial_2d_padding", x, padding, data_format)


def spatial_3d_padding(x, padding=((1, 1), (1, 1), (1, 1)), data_format=None):
    """Zeros around volumes.

    Parameters
    ----------
    x : tensor or array
        (batch, depth, rows, columns, channels), or with channels second as `data_format` says.
    padding : tuple of pairs of int, default ((1, 1), (1, 1), (1, 1))
        A pair for each of depth, rows and columns.
    data_format : {"channels_last", "channels_first"}, optional
        image_data_format() by default.

    Returns
    -------
    Tensor
        Larger along these three axes.

    Raises
    ------
    ShapeError
        For an `x` that has not 5 dimensions.
    ArgumentError
        For a data_format that does not exist.

    Examples
    --------
    >>> K.int_shape(K.spatial_3d_padding(K.ones((1, 2, 2, 2, 3))))
    (1, 4, 4, 4, 3)
    """
    return _zeros_around(3, "spatial_3d_padding", x, padding, data_format)


def _zeros_around(n, what, x, padding, data_format):
    x, data_format = image(x, what, n, data_format)
    pairs = list(padding) if isinstance(padding, (list, tuple)) else []
    if len(pairs) != n or any(not isinstance(p, (list, tuple)) or len(p) != 2 for p in pairs):
        raise ArgumentError(f"{what}: padding must be {n} pairs (before, after), got {padding!r}")
    widths = [tuple(integer(w, "padding") for w in p) for p in pairs]
    if any(w < 0 for pair in widths for w in pair):
        raise ShapeError(f"{what}: padding must not be negative, got {padding!r}")
    return from_last(ops.pad(x, ((0, 0), *widths, (0, 0))), data_format)
