"""Pooling, resizing, padding and biases of images in both data formats."""

from functools import partial

import numpy as np
import pytest
from ops.loops import convolved

import ckernels as K

from .test_conv import FORMATS, RNG, array, check, finite, first


def pooled(x, size, strides, padding, mode):
    """Pooling as convolutions: an average is a depthwise sum over a sum of ones; a maximum is
    taken over the convolutions with unit kernels, far below zero where there is padding.
    """
    x = x.astype("float64")
    ones = np.ones((*size, 1, 1))
    channels = [x[..., c : c + 1] for c in range(x.shape[-1])]
    if mode == "avg":
        count = convolved(np.ones_like(channels[0]), ones, 1, strides, padding)
        sums = [convolved(c, ones, 1, strides, padding) for c in channels]
        return np.concatenate(sums, -1) / count
    parts = []
    for at in np.ndindex(*size):
        unit = np.zeros_like(ones)
        unit[at] = 1
        inside = convolved(np.ones_like(channels[0]), unit, 1, strides, padding)
        part = np.concatenate([convolved(c, unit, 1, strides, padding) for c in channels], -1)
        parts.append(np.where(inside > 0, part, -np.inf))
    return np.max(parts, 0)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("mode", ["max", "avg"])
def test_pool(mode, data_format):
    for n, name in ((2, "pool2d"), (3, "pool3d")):
        x = array(2, *(6, 5, 4)[:n], 3)
        for size, strides, padding in (
            ((2, 2, 2), (2, 2, 2), "valid"),
            ((3, 2, 3), (1, 1, 1), "same"),
            ((2, 3, 2), (3, 2, 2), "same"),
        ):
            size, strides = size[:n], strides[:n]
            want = pooled(x, size, strides, padding, mode).astype("float32")
            check(
                partial(
                    getattr(K, name),
                    pool_size=size,
                    strides=strides,
                    padding=padding,
                    data_format=data_format,
                    pool_mode=mode,
                ),
                want,
                x,
                data_format=data_format,
            )


def test_strides_default_to_one_in_keras_and_to_the_window_in_pool():
    x = K.ones((1, 6, 6, 1))
    assert K.int_shape(K.pool2d(x, (2, 2))) == (1, 5, 5, 1)
    assert K.int_shape(K.pool(x, 2)) == (1, 3, 3, 1)
    assert K.int_shape(K.pool(x, (4, 5), padding="partial", pool_mode="sum")) == (1, 2, 2, 1)
    assert K.int_shape(K.pool(K.ones((1, 6, 2)), 3)) == (1, 2, 2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["max", "avg", "sum", "average_inc_pad", "average_exc_pad"])
@pytest.mark.parametrize("padding", ["valid", "same", "partial", ((1, 0), 1)])
def test_gradients_of_pools(mode, padding):
    x = K.placeholder((None, None, None, 2), dtype="float64")
    value = RNG.permutation(24).reshape(1, 4, 3, 2) / 8.0
    y = K.pool(x, 2, None if padding == "partial" else 1, padding, pool_mode=mode)
    shape = K.function([x], y)(value).shape
    cost = K.sum(K.square(y) * RNG.normal(size=shape))
    for _ in range(2):
        grad = K.gradients(cost, [x])[0]
        f = K.function([x], cost)
        want = finite(lambda moved, f=f: float(f(moved[0])), [value], 0)
        np.testing.assert_allclose(K.function([x], grad)(value), want, atol=1e-4)
        cost = K.sum(grad * RNG.normal(size=value.shape))


@pytest.mark.parametrize("data_format", FORMATS)
def test_nearest(data_format):
    x = array(2, 3, 4, 5)
    check(
        partial(K.resize_images, height_factor=2, width_factor=3, data_format=data_format),
        x.repeat(2, 1).repeat(3, 2),
        x,
        data_format=data_format,
    )
    x = array(2, 3, 2, 2, 2)
    check(
        partial(
            K.resize_volumes,
            depth_factor=1,
            height_factor=2,
            width_factor=3,
            data_format=data_format,
        ),
        x.repeat(2, 2).repeat(3, 3),
        x,
        data_format=data_format,
    )


def interpolated(x, axis, factor):
    """np.interp at the centres of the new pixels."""
    size = x.shape[axis]
    at = (np.arange(size * factor) + 0.5) / factor - 0.5
    return np.apply_along_axis(lambda line: np.interp(at, np.arange(size), line), axis, x)


@pytest.mark.parametrize("data_format", FORMATS)
def test_bilinear(data_format):
    x = array(2, 3, 4, 2)
    for factors in ((2, 3), (1, 4), (5, 1)):
        want = interpolated(interpolated(x.astype("float64"), 1, factors[0]), 2, factors[1])
        check(
            partial(
                K.resize_images,
                height_factor=factors[0],
                width_factor=factors[1],
                data_format=data_format,
                interpolation="bilinear",
            ),
            want.astype("float32"),
            x,
            data_format=data_format,
        )


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_gradients_of_resizing(interpolation):
    x = K.placeholder((1, 3, 2, 2), dtype="float64")
    value = RNG.normal(size=(1, 3, 2, 2))
    y = K.resize_images(x, 2, 3, "channels_last", interpolation)
    cost = K.sum(K.square(y) * RNG.normal(size=(1, 6, 6, 2)))
    for _ in range(2):
        grad = K.gradients(cost, [x])[0]
        f = K.function([x], cost)
        want = finite(lambda moved, f=f: float(f(moved[0])), [value], 0)
        np.testing.assert_allclose(K.function([x], grad)(value), want, atol=1e-6)
        cost = K.sum(grad * RNG.normal(size=value.shape))


@pytest.mark.parametrize("data_format", FORMATS)
def test_padding(data_format):
    x = array(2, 3, 4, 5)
    check(
        partial(K.spatial_2d_padding, padding=((1, 2), (0, 3)), data_format=data_format),
        np.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0))),
        x,
        data_format=data_format,
    )
    x = array(2, 3, 2, 2, 2)
    check(
        partial(K.spatial_3d_padding, padding=((1, 2), (0, 3), (0, 0)), data_format=data_format),
        np.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0), (0, 0))),
        x,
        data_format=data_format,
    )


@pytest.mark.parametrize("data_format", FORMATS)
def test_bias_add(data_format):
    for sizes in ((4,), (4, 3), (4, 3, 2)):
        x, vector = array(2, *sizes, 5), array(5)
        check(
            lambda a, b: K.bias_add(a, b, data_format),
            x + vector,
            x,
            vector,
            data_format=data_format,
        )
    x, b = array(2, 3, 4, 5), array(5)
    want = first(x + b) if data_format == "channels_first" else x + b
    a = K.variable(first(x) if data_format == "channels_first" else x)
    v = K.variable(b)
    np.testing.assert_allclose(K.bias_add(a, v, data_format).eval(), want)
    grad = K.gradients(K.sum(K.bias_add(a, v, data_format)), [v])[0]
    np.testing.assert_allclose(grad.eval(), np.full(5, 24))


@pytest.mark.parametrize(
    "build, match",
    [
        (lambda x: K.pool2d(x, (2, 2), padding="twice"), "'twice'"),
        (lambda x: K.pool2d(x, (2, 2), pool_mode="median"), "pool_mode"),
        (lambda x: K.pool2d(x, (2, 2), data_format="channels_middle"), "data_format"),
        (lambda x: K.pool2d(x, (2, 2), strides=(0, 1)), "strides"),
        (lambda x: K.pool2d(x, (2, 2, 2)), "2 of them"),
        (lambda x: K.pool2d(x, (7, 2)), "window of size 7 is larger than the image of size 4"),
        (lambda x: K.pool3d(x, (2, 2, 2)), "pool3d needs x of 5 dimensions"),
        (lambda x: K.resize_images(x, 0, 1, "channels_last"), "positive"),
        (lambda x: K.resize_images(x, 1, 1, "channels"), "data_format"),
        (lambda x: K.resize_images(x, 1, 1, "channels_last", "cubic"), "interpolation"),
        (lambda x: K.resize_volumes(x, 1, 1, 1, "channels_last"), "5 dimensions"),
        (lambda x: K.spatial_2d_padding(x, (1, 1)), "pairs"),
        (lambda x: K.spatial_2d_padding(x, ((-1, 1), (0, 0))), "negative"),
        (lambda x: K.spatial_3d_padding(x), "5 dimensions"),
    ],
)
def test_errors(build, match):
    with pytest.raises(ValueError, match=match) as caught:
        build(K.zeros((2, 4, 3, 2)))
    assert "test_conv_images.py" in str(caught.value)


def test_factors_are_integers():
    with pytest.raises(TypeError, match="factor"):
        K.resize_images(K.zeros((1, 2, 2, 1)), 1.5, 2, "channels_last")


def test_depthwise_images_whose_channels_lie_apart():
    """Operands as their callers hold them, in any order of axes, with gaps and reversed: the image,
    the kernel and the slope of the result, beside NumPy."""
    rng = np.random.default_rng(0)
    x, w = K.placeholder((2, 7, 9, 4)), K.placeholder((3, 3, 4, 1))
    y = K.depthwise_conv2d(x, w, data_format="channels_last")
    g = K.placeholder(K.int_shape(y))
    outputs = [y, *K.gradients(K.sum(y * g), [x, w])]
    f = K.function([x, w, g], outputs, mode="compiled")
    reference = K.function([x, w, g], outputs, mode="reference")
    arrays = [rng.normal(size=K.int_shape(t)).astype("float32") for t in (x, w, g)]
    want = reference(arrays)
    lie = [
        lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, -1, 1)), 1, -1),
        np.asfortranarray,
        lambda a: np.repeat(a, 2, -1)[..., ::2],
        lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    ]
    for laid in lie:
        for which in ((0,), (1,), (2,), (0, 1, 2)):
            for a, b in zip(f([laid(v) if k in which else v for k, v in enumerate(arrays)]), want):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
