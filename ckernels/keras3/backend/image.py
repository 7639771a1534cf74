"""keras.ops.image: colours, sizes, warps and filters of pictures (..., rows, columns, channels)."""

import builtins
import functools
import math

import numpy as np
from keras.src import backend

from ..casts import result_type, standardize_dtype
from ..eager import compiled
from ..rows import dtype_of, wrapped
from ..values import Symbolic, cast, convert_to_tensor, shape
from .elementwise import (
    absolute,
    clip,
    equal,
    exp,
    floor,
    logical_and,
    maximum,
    minimum,
    mod,
    round,
    sin,
    square,
    where,
)
from .linalg import solve
from .products import tensordot
from .random import normal
from .reductions import sum
from .shaping import (
    arange,
    expand_dims,
    moveaxis,
    pad,
    reshape,
    stack,
    take,
    tile,
)
from .windows import depthwise_conv

RESIZE_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")
GREY = (0.2989, 0.5870, 0.1140)  # ITU-R 601


def _last(images, data_format):
    """Pictures with channels last, and the way back."""
    images = convert_to_tensor(images)
    if images.ndim not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if backend.standardize_data_format(data_format) == "channels_last":
        return images, lambda y: y
    return moveaxis(images, -3, -1), lambda y: moveaxis(y, -1, -3)


def _float(images):
    dtype = standardize_dtype(images.dtype)
    return cast(images, dtype if "float" in dtype else result_type(dtype, float))


def rgb_to_grayscale(images, data_format=None):
    images, back = _last(images, data_format)
    if images.shape[-1] not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if images.shape[-1] == 1:
        return back(images)
    dtype = standardize_dtype(images.dtype)
    grey = tensordot(_float(images), convert_to_tensor(GREY, _float(images).dtype), [[-1], [-1]])
    return back(cast(expand_dims(grey, -1), dtype))


def _need_colours(images):
    """ValueError for images that are no floats of three colours."""
    if images.shape[-1] != 3:
        raise ValueError(
            f"Input images must have 3 channels, but received images with {images.shape[-1]} "
            "channels."
        )
    dtype = standardize_dtype(images.dtype)
    if "float" not in dtype:
        raise ValueError(
            f"Invalid images dtype: expected float dtype. Received: images.dtype={dtype}"
        )
    return dtype


def rgb_to_hsv(images, data_format=None):
    images, back = _last(images, data_format)
    _need_colours(images)
    return back(compiled(_hsv_node, images, open_sizes=True))


def _hsv_node(n):
    red, green, blue = (Symbolic(n)[..., i] for i in range(3))
    value, low = (f(f(red, green), blue) for f in (maximum, minimum))
    spread = value - low
    safe = where(spread > 0, spread, 1)
    saturation = where(value > 0, spread / where(value > 0, value, 1), 0)
    hue = where(
        equal(value, red),
        (green - blue) / safe,
        where(equal(value, green), (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    hue = where(spread > 0, mod(hue / 6, 1), 0)
    return cast(stack([hue, saturation, value], -1), n.dtype).node


def hsv_to_rgb(images, data_format=None):
    images, back = _last(images, data_format)
    _need_colours(images)
    hue, saturation, value = (images[..., i] for i in range(3))
    sixth = hue * 6
    mask = [absolute(sixth - 3) - 1, 2 - absolute(sixth - 2), 2 - absolute(sixth - 4)]
    parts = [(clip(m, 0, 1) - 1) * saturation + 1 for m in mask]
    return back(cast(stack([p * value for p in parts], -1), images.dtype))


# ---- other sizes ---------------------------------------------------------------------------------


def _triangle(x):
    return _larger(1 - absolute(x), 0.0)


def _cubic(x):
    """Keys 1981 with a = -0.5."""
    x = absolute(x)
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return where(x >= 2, 0.0, where(x >= 1, far, near))


def _lanczos(radius):
    def kernel(x):
        y = np.pi * x
        found = radius * sin(y) * sin(y / radius) / where(x != 0, np.pi**2 * x**2, 1.0)
        return where(absolute(x) > radius, 0.0, where(absolute(x) > 1e-3, found, 1.0))

    return kernel


KERNELS = {
    "linear": _triangle, "bilinear": _triangle, "trilinear": _triangle, "triangle": _triangle,
    "cubic": _cubic, "bicubic": _cubic, "tricubic": _cubic,
    "lanczos3": _lanczos(3), "lanczos5": _lanczos(5),
}  # fmt: skip


def _larger(a, b):
    return where(a > b, a, b)


def _matrix(size, wanted, scale, translation, kernel, antialias, dtype):
    """`_weights` in a dtype; the last ones of numbers are kept."""
    if isinstance(size, Symbolic):
        matrix = _weights(size, wanted, scale, translation, kernel, antialias)
        return cast(cast(matrix, "float32"), dtype)
    return _matrix_of_numbers(size, wanted, scale, translation, kernel, antialias, dtype)


@functools.lru_cache(64)
def _matrix_of_numbers(*described):
    *described, dtype = described
    found = cast(cast(_weights(*described), "float32"), dtype)
    found.flags.writeable = False
    return found


def _weights(size, wanted, scale, translation, kernel, antialias):
    """The matrix (size, wanted) that takes samples of one axis to another count of them.

    size: a traced scalar where a picture's size is open. Everything is computed in float64.
    """
    inverse = 1 / scale
    width = _larger(inverse, 1.0) if antialias else 1.0
    places = (np.arange(wanted) + 0.5) * inverse - translation * inverse - 0.5
    at = cast(arange(size), "float64")
    found = kernel(absolute(places[None] - at[:, None]) / width)
    total = sum(found, axis=0, keepdims=True)
    known = absolute(total) > 1000 * np.finfo("float32").eps
    found = where(known, found / where(total != 0, total, 1.0), 0.0)
    return where(logical_and(places >= -0.5, places <= size - 0.5), found, 0.0)


def scale_and_translate(
    images, output_shape, scale, translation, spatial_dims, method, antialias=True
):
    images = convert_to_tensor(images)
    dtype = standardize_dtype(images.dtype)
    x = _float(images)
    scale, translation = np.asarray(scale, "float64"), np.asarray(translation, "float64")
    for i, axis in enumerate(spatial_dims):
        which = float(scale[i]), float(translation[i]), KERNELS[method], antialias
        x = _along(x, _matrix(x.shape[axis], output_shape[axis], *which, dtype_of(x)), axis)
    return cast(round(x) if "int" in dtype else x, dtype)


NARROW = 8  # columns: 8 x 128 x 128 x 3 take 7 ms by a product for each row of pixels, by one 1.6


def _along(x, matrix, axis):
    if x.__class__ is np.ndarray and matrix.__class__ is np.ndarray:
        before, (size, *rest) = x.shape[: axis % x.ndim], x.shape[axis % x.ndim :]
        columns = math.prod(rest)
        if columns < NARROW:
            return np.moveaxis(np.tensordot(x, matrix, [[axis], [0]]), -1, axis)
        found = np.matmul(matrix.T, x.reshape(*before, size, columns))
        return found.reshape(*before, matrix.shape[1], *rest)
    return moveaxis(tensordot(x, matrix, [[axis], [0]]), -1, axis)


@functools.lru_cache(64)
def _nearest(had, wanted):
    """Places of the nearest of `had` elements for each of `wanted`."""
    places = floor((np.arange(wanted) + 0.5) * had / wanted)
    return cast(where(places < had - 1, places, had - 1.0), "int64")


def _resized(x, size, interpolation, antialias):
    """(..., rows, columns, channels) in another size."""
    for axis, wanted in zip((x.ndim - 3, x.ndim - 2), size):
        had = shape(x)[axis]
        if isinstance(had, Symbolic):
            had = cast(had, "float64")
        if interpolation == "nearest":
            x = take(
                x, (_nearest if had.__class__ is int else _nearest.__wrapped__)(had, wanted), axis
            )
        else:
            described = had, wanted, wanted / had, 0, KERNELS[interpolation], antialias
            x = _along(x, _matrix(*described, dtype_of(x)), axis)
    return x


def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    if interpolation not in RESIZE_INTERPOLATIONS:
        raise ValueError(
            "Invalid value for argument `interpolation`. "
            f"Expected of one {RESIZE_INTERPOLATIONS}. Received: interpolation={interpolation}"
        )
    if fill_mode != "constant":
        raise ValueError(
            "Invalid value for argument `fill_mode`. Only `'constant'` is supported. "
            f"Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    if len(size) != 2:
        raise ValueError(f"Expected `size` to be a tuple of 2 integers. Received: size={size}")
    size = tuple(int(s) for s in size)
    if any(s <= 0 for s in size):
        raise ValueError(f"`size` must have positive height and width. Received: size={size}")
    x, back = _last(images, data_format)
    dtype = standardize_dtype(x.dtype)
    if crop_to_aspect_ratio:
        x = _cropped(x, size)
    elif pad_to_aspect_ratio:
        x = _bordered(x, size, fill_value)
    found = _resized(x if interpolation == "nearest" else _float(x), size, interpolation, antialias)
    if "int" in dtype and interpolation != "nearest":
        limits = np.iinfo(dtype)
        found = clip(round(found), limits.min, limits.max)
    return back(cast(found, dtype))


def _cropped(x, size):
    """The middle of the picture in the proportions of `size`."""
    rows, columns = x.shape[-3:-1]
    high = builtins.max(1, builtins.min(int(float(columns * size[0]) / size[1]), rows))
    wide = builtins.max(1, builtins.min(int(float(rows * size[1]) / size[0]), columns))
    top, left = int((rows - high) / 2), int((columns - wide) / 2)
    return x[..., top : top + high, left : left + wide, :]


def _bordered(x, size, fill_value):
    """The picture with borders, in the proportions of `size`."""
    rows, columns = x.shape[-3:-1]
    high = builtins.max(rows, int(float(columns * size[0]) / size[1]))
    wide = builtins.max(columns, int(float(rows * size[1]) / size[0]))
    top, left = int((high - rows) / 2), int((wide - columns) / 2)
    widths = [(0, 0)] * (x.ndim - 3) + [
        (top, high - rows - top), (left, wide - columns - left), (0, 0)
    ]  # fmt: skip
    return pad(x, widths, constant_values=fill_value)


# ---- warps ---------------------------------------------------------------------------------------


def _folded(index, size, mode):
    """Indices beyond the ends by a mode of scipy.ndimage: (indices inside, whether they count)."""
    if mode == "constant":
        return clip(index, 0, size - 1), logical_and(index >= 0, index < size)
    if mode == "nearest":
        return clip(index, 0, size - 1), None
    if mode == "wrap":
        return mod(index, size), None
    if mode == "mirror":
        period = maximum(2 * (size - 1), 1)
        turn = mod(index, period)
        return where(turn >= size, period - turn, turn), None
    turn = mod(index, 2 * size)
    return where(turn >= size, 2 * size - 1 - turn, turn), None


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    """Values between the elements of `inputs`, at coordinates (ndim, ...)."""
    inputs = convert_to_tensor(inputs)
    coordinates = convert_to_tensor(coordinates)
    if coordinates.shape[0] != inputs.ndim:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. Received "
            f"inputs with shape: {inputs.shape} and coordinate leading dim of "
            f"{coordinates.shape[0]}"
        )
    if coordinates.ndim < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. "
            f"Received input with shape: {coordinates.shape}"
        )
    if fill_mode not in FILL_MODES:
        raise ValueError(
            "Invalid value for argument `fill_mode`. Expected one of "
            f"{set(FILL_MODES)}. Received: fill_mode={fill_mode}"
        )
    if order not in (0, 1):
        raise ValueError(
            f"Invalid value for argument `order`. Expected one of {[0, 1]}. Received: order={order}"
        )
    dtype = standardize_dtype(inputs.dtype)
    x = _float(inputs)
    coordinates = cast(coordinates, x.dtype)
    fill = convert_to_tensor(fill_value, x.dtype)
    found = compiled(_between, x, coordinates, fill, open_sizes=True, order=order, mode=fill_mode)
    return cast(round(found) if "int" in dtype and order else found, dtype)


def _between(x, coordinates, fill, order, mode):
    """The sum over the corners of each place, weighted by how near they are, of nodes."""
    x, coordinates, fill = wrapped((x, coordinates, fill))
    sizes, axes = shape(x), []
    for axis in range(x.ndim):
        place = coordinates[axis]
        if order == 0:
            axes.append([(cast(round(place), "int32"), 1.0)])
            continue
        low = floor(place)
        share = place - low
        low = cast(low, "int32")
        axes.append([(low, 1 - share), (low + 1, share)])
    total = 0
    for corner in np.ndindex(*[len(a) for a in axes]):
        key, weight, inside = [], 1.0, None
        for axis, pick in enumerate(corner):
            index, near = axes[axis][pick]
            index, counts = _folded(index, sizes[axis], mode)
            key.append(index)
            weight = weight * near
            if counts is not None:
                inside = counts if inside is None else logical_and(inside, counts)
        value = x[tuple(key)]
        if inside is not None:
            value = where(inside, value, fill)
        total = total + value * weight
    return total.node


AFFINE_INTERPOLATIONS = {"nearest": 0, "bilinear": 1}


def _check_warp(images, transform, interpolation, fill_mode=None):
    if interpolation not in AFFINE_INTERPOLATIONS:
        raise ValueError(
            "Invalid value for argument `interpolation`. Expected of one "
            f"{set(AFFINE_INTERPOLATIONS)}. Received: interpolation={interpolation}"
        )
    if fill_mode is not None and fill_mode not in FILL_MODES:
        raise ValueError(
            "Invalid value for argument `fill_mode`. Expected of one "
            f"{set(FILL_MODES)}. Received: fill_mode={fill_mode}"
        )
    if transform is not None and transform.ndim not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={transform.shape}"
        )


def affine_transform(
    images,
    transform,
    interpolation="bilinear",
    fill_mode="constant",
    fill_value=0,
    data_format=None,
):
    """out(x, y) = in(a x + b y + c, d x + e y + f) for transforms (a, b, c, d, e, f, 0, 0)."""
    x, back = _last(images, data_format)
    transform = convert_to_tensor(transform)
    _check_warp(x, transform, interpolation, fill_mode)
    single = x.ndim == 3
    x = expand_dims(x, 0) if single else x
    transform = expand_dims(transform, 0) if transform.ndim == 1 else transform
    transform = cast(transform, _float(x).dtype)
    rows, columns = x.shape[1:3]
    y_at, x_at = _grid(rows, columns, transform.dtype)
    t = [reshape(transform[:, i], [-1, 1, 1]) for i in range(8)]
    row = t[3] * x_at + t[4] * y_at + t[5]
    column = t[0] * x_at + t[1] * y_at + t[2]
    found = _warped(x, row, column, interpolation, fill_mode, fill_value)
    return back(found[0] if single else found)


def _grid(rows, columns, dtype):
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return convert_to_tensor(y, dtype), convert_to_tensor(x, dtype)


def _warped(x, row, column, interpolation, fill_mode, fill_value):
    """Each picture of a batch, read at places (batch, rows, columns)."""
    dtype = standardize_dtype(x.dtype)
    wide = _float(x)
    fill = convert_to_tensor(fill_value, wide.dtype)
    order = AFFINE_INTERPOLATIONS[interpolation]
    found = compiled(
        _warped_node, wide, row, column, fill, open_sizes=True, order=order, mode=fill_mode
    )
    return cast(round(found) if "int" in dtype and order else found, dtype)


def _warped_node(x, row, column, fill, order, mode):
    x, row, column, fill = wrapped((x, row, column, fill))
    batch, *sizes, _ = shape(x)
    samples = reshape(arange(batch, dtype="int32"), [-1, 1, 1])
    axes = []
    for place, size in zip((row, column), sizes):
        if order == 0:
            axes.append([(cast(round(place), "int32"), 1.0, size)])
        else:
            low = floor(place)
            share, low = place - low, cast(low, "int32")
            axes.append([(low, 1 - share, size), (low + 1, share, size)])
    total = 0
    for i, near_i, rows in axes[0]:
        for j, near_j, columns in axes[1]:
            i_in, i_counts = _folded(i, rows, mode)
            j_in, j_counts = _folded(j, columns, mode)
            value = x[samples, i_in, j_in]
            if i_counts is not None:
                value = where(expand_dims(logical_and(i_counts, j_counts), -1), value, fill)
            weight = near_i * near_j
            total = total + (value if order == 0 else value * expand_dims(weight, -1))
    return total.node


def compute_homography_matrix(start_points, end_points):
    """The eight numbers of the projection that takes `end_points` to `start_points`."""
    start, end = (
        convert_to_tensor(start_points, "float32"),
        convert_to_tensor(end_points, "float32"),
    )
    rows, right = [], []
    one, zero = start[:, 0, 0] * 0 + 1, start[:, 0, 0] * 0
    for i in range(4):
        (x, y), (u, v) = (end[:, i, 0], end[:, i, 1]), (start[:, i, 0], start[:, i, 1])
        rows.append(stack([x, y, one, zero, zero, zero, -x * u, -y * u], -1))
        rows.append(stack([zero, zero, zero, x, y, one, -x * v, -y * v], -1))
        right += [u, v]
    return solve(stack(rows, 1), stack(right, -1))


def perspective_transform(
    images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None
):
    x, back = _last(images, data_format)
    start, end = convert_to_tensor(start_points), convert_to_tensor(end_points)
    for name, points in (("start_points", start), ("end_points", end)):
        if points.ndim not in (2, 3) or tuple(points.shape[-2:]) != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {tuple(points.shape)}"
            )
    if start.shape != end.shape:
        raise ValueError(
            "start_points and end_points must have the same shape. Received "
            f"start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    _check_warp(x, None, interpolation)
    single = x.ndim == 3
    x = expand_dims(x, 0) if single else x
    start, end = (expand_dims(p, 0) if p.ndim == 2 else p for p in (start, end))
    t = compute_homography_matrix(start, end)
    t = [reshape(t[:, i], [-1, 1, 1]) for i in range(8)]
    y_at, x_at = _grid(*x.shape[1:3], t[0].dtype)
    depth = t[6] * x_at + t[7] * y_at + 1
    row = (t[3] * x_at + t[4] * y_at + t[5]) / depth
    column = (t[0] * x_at + t[1] * y_at + t[2]) / depth
    found = _warped(x, row, column, interpolation, "constant", fill_value)
    return back(found[0] if single else found)


# ---- filters -------------------------------------------------------------------------------------


def _bell(size, spread):
    """`size` numbers around a normal density's top, whose sum is 1."""
    away = np.arange(size) - (size - 1) / 2
    line = exp(square(convert_to_tensor(away, spread.dtype) / spread) * -0.5)
    return line / sum(line)


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    x, back = _last(images, data_format)
    dtype = x.dtype
    single = x.ndim == 3
    x = _float(expand_dims(x, 0) if single else x)
    spread = convert_to_tensor(sigma, x.dtype)
    across, down = (_bell(int(kernel_size[i]), spread[i]) for i in (0, 1))
    kernel = expand_dims(down, 1) * expand_dims(across, 0)
    kernel = tile(reshape(kernel, (*kernel.shape, 1, 1)), (1, 1, x.shape[-1], 1))
    found = depthwise_conv(x, kernel, 1, "same", "channels_last")
    return back(cast(found[0] if single else found, dtype))


def elastic_transform(
    images,
    alpha=20.0,
    sigma=5.0,
    interpolation="bilinear",
    fill_mode="reflect",
    fill_value=0.0,
    seed=None,
    data_format=None,
):
    from keras.src.random.seed_generator import draw_seed

    x, back = _last(images, data_format)
    _check_warp(x, None, interpolation, fill_mode)
    single = x.ndim == 3
    x = expand_dims(x, 0) if single else x
    dtype = _float(x).dtype
    sizes = shape(x)[:3]
    seed = draw_seed(seed)
    size = (int(6 * sigma) | 1,) * 2
    shifts = []
    for turn in (0, 1):
        noise = normal(
            [*sizes, 1], dtype=dtype, seed=seed + convert_to_tensor([0, turn], seed.dtype)
        )
        blurred = gaussian_blur(noise, size, (sigma, sigma), "channels_last")
        shifts.append(alpha * blurred[..., 0])
    y_at, x_at = _grid(*x.shape[1:3], dtype)
    found = _warped(x, y_at + shifts[1], x_at + shifts[0], interpolation, fill_mode, fill_value)
    return back(found[0] if single else found)


def sobel_edges(images, data_format=None):
    x, back = _last(images, data_format)
    single = x.ndim == 3
    x = _float(expand_dims(x, 0) if single else x)
    across = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], "float32")
    found = []
    x = pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    for kernel in (across.T, across):
        wide = np.repeat(kernel[:, :, None, None], x.shape[-1], 2).astype(str(x.dtype))
        edge = depthwise_conv(x, wide, 1, "valid", "channels_last")
        found.append(back(edge[0] if single else edge))
    return stack(found, -1)
