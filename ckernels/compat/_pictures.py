"""The functions for image files that scipy.misc had until SciPy 1.2, by Pillow.

Programs for Keras 1 read and write pictures by them. `install` adds them to scipy.misc; those that
exist stay as they are.
"""

import numpy as np

from ..base.errors import ArgumentError, NotSupported, ShapeError
from . import _modern

MODES = {"nearest": "NEAREST", "lanczos": "LANCZOS", "bilinear": "BILINEAR", "bicubic": "BICUBIC",
         "cubic": "BICUBIC"}  # fmt: skip


def _pillow():
    try:
        from PIL import Image
    except ImportError as problem:
        raise NotSupported("pictures need Pillow: pip install pillow") from problem
    return Image


def bytescale(data, cmin=None, cmax=None, high=255, low=0):
    """`data` from cmin .. cmax (its own extremes) to low .. high, as uint8; uint8 as it is.

    >>> bytescale(np.array([-1.0, 0.0, 1.0]))
    array([  0, 128, 255], dtype=uint8)
    """
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if not data.size:
        return data.astype(np.uint8)
    low_end = data.min() if cmin is None else cmin
    span = (data.max() if cmax is None else cmax) - low_end
    scaled = (data - low_end) * ((high - low) / (span or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(arr, high=255, low=0, cmin=None, cmax=None, mode=None):
    """A Pillow image of an array (rows, columns), or with 3 or 4 channels on any axis."""
    Image, data = _pillow(), np.asarray(arr)  # noqa: N806
    if data.ndim == 3:
        channels = next((axis for axis in (2, 0, 1) if data.shape[axis] in (3, 4)), None)
        if channels is None:
            raise ShapeError(f"no axis of shape {data.shape} has 3 or 4 channels")
        data = np.moveaxis(data, channels, 2)
    elif data.ndim != 2:
        raise ShapeError(f"a picture has 2 axes, or 3 with channels, not the shape {data.shape}")
    image = Image.fromarray(np.ascontiguousarray(bytescale(data, cmin, cmax, high, low)))
    return image.convert(mode) if mode else image


def fromimage(im, flatten=False, mode=None):
    """The array of a Pillow image: uint8, or float32 greys with `flatten`."""
    if mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        return np.array(im.convert("F"))
    return np.array(im.convert("L").convert("1") if im.mode == "1" else im)


def imread(name, flatten=False, mode=None):
    """The picture in a file as an array (rows, columns, channels), or without channels if grey."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name, arr, format=None):
    """Write an array as a picture; floats are scaled so that their extremes are 0 and 255."""
    toimage(arr).save(name, format)


def imresize(arr, size, interp="bilinear", mode=None):
    """A picture of another size: a percentage (int), a factor (float), or (rows, columns)."""
    if interp not in MODES:
        raise ArgumentError(f"interp is one of {', '.join(MODES)}, not {interp!r}")
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        wanted = tuple((np.array(image.size) * size).astype(int))
    else:
        wanted = (int(size[1]), int(size[0]))
    method = getattr(getattr(_pillow(), "Resampling", _pillow()), MODES[interp])
    return fromimage(image.resize(wanted, resample=method))


FUNCTIONS = (bytescale, fromimage, imread, imresize, imsave, toimage)


def install():
    """Add the functions to scipy.misc when it is imported."""
    _modern.mend_scipy_misc(add)


def add(misc):
    """Add the functions that the module scipy.misc does not have."""
    for function in FUNCTIONS:
        if function.__name__ not in vars(misc):
            setattr(misc, function.__name__, function)
