"""Every image function in one table: both data formats, both orders of gradients to all operands,
float16, and sizes that are not known, with nothing left to Python and no kernel for a new size.
"""

from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

import ckernels as K
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def compiled(settings):
    with K.config.change(mode="compiled"):
        yield


class Case(NamedTuple):
    build: object  # of (data format, images, other operands)
    shapes: tuple  # of the images, channels last, and the other operands
    smooth: bool = True


def up(x, w, f, sizes, strides, padding):
    channels = K.int_shape(w)[-2]
    shape = (None, channels, *sizes) if f == "channels_first" else (None, *sizes, channels)
    build = K.conv2d_transpose if len(sizes) == 2 else K.conv3d_transpose
    return build(x, w, shape, strides, padding, f)


CASES = {
    "conv1d": Case(lambda f, x, w: K.conv1d(x, w, 2, "valid", f), ((2, 7, 2), (3, 2, 3))),
    "conv1d same": Case(lambda f, x, w: K.conv1d(x, w, 2, "same", f), ((2, 6, 2), (3, 2, 3))),
    "conv1d causal dilated": Case(lambda f, x, w: K.conv1d(x, w, 1, "causal", f, 2),
                                  ((2, 6, 2), (3, 2, 3))),
    "conv2d": Case(lambda f, x, w: K.conv2d(x, w, (2, 1), "same", f),
                   ((2, 5, 4, 3), (3, 2, 3, 2))),
    "conv2d dilated": Case(lambda f, x, w: K.conv2d(x, w, (1, 1), "valid", f, (2, 1)),
                           ((2, 6, 4, 2), (3, 2, 2, 3))),
    "conv3d": Case(lambda f, x, w: K.conv3d(x, w, (1, 2, 1), "same", f),
                   ((2, 3, 4, 3, 2), (2, 2, 3, 2, 2))),
    "conv full": Case(lambda f, x, w: K.conv(x, w, 1, "full", f, flip=True),
                      ((2, 4, 3, 2), (2, 3, 2, 2))),
    "conv asymmetric": Case(lambda f, x, w: K.conv(x, w, 2, ((0, 2), (1, 0)), f),
                            ((2, 4, 5, 2), (3, 3, 2, 2))),
    "conv groups": Case(lambda f, x, w: K.conv(x, w, 1, "half", f, groups=2),
                        ((2, 4, 3, 4), (3, 3, 2, 6))),
    "conv2d_transpose": Case(lambda f, x, w: up(x, w, f, (6, 5), (2, 2), "same"),
                             ((2, 3, 3, 2), (3, 3, 3, 2))),
    "conv3d_transpose": Case(lambda f, x, w: up(x, w, f, (5, 3, 4), (2, 1, 2), "valid"),
                             ((2, 2, 2, 2, 2), (3, 2, 2, 3, 2))),
    "depthwise_conv2d": Case(lambda f, x, w: K.depthwise_conv2d(x, w, (1, 1), "same", f),
                             ((2, 4, 3, 3), (3, 2, 3, 1))),
    "depthwise_conv2d of two": Case(lambda f, x, w: K.depthwise_conv2d(x, w, (2, 2), "valid", f),
                                    ((2, 5, 5, 3), (3, 2, 3, 2))),
    "depthwise_conv2d dilated": Case(
        lambda f, x, w: K.depthwise_conv2d(x, w, (1, 1), "same", f, (2, 2)),
        ((2, 5, 4, 2), (3, 2, 2, 3))),
    "separable_conv1d": Case(lambda f, x, w, v: K.separable_conv1d(x, w, v, 2, "same", f),
                             ((2, 5, 3), (3, 3, 2), (1, 6, 2))),
    "separable_conv2d": Case(lambda f, x, w, v: K.separable_conv2d(x, w, v, (1, 1), "same", f),
                             ((2, 4, 3, 2), (2, 3, 2, 2), (1, 1, 4, 3))),
    "local_conv1d": Case(lambda f, x, w: K.local_conv1d(x, w, (2,), (2,), f),
                         ((2, 6, 2), (3, 4, 3))),
    "local_conv2d": Case(lambda f, x, w: K.local_conv2d(x, w, (2, 3), (2, 1), (2, 2), f),
                         ((2, 4, 4, 2), (4, 12, 2))),
    "pool2d": Case(lambda f, x: K.pool2d(x, (3, 2), (2, 1), "same", f, "max"), ((2, 5, 4, 3),)),
    "pool2d avg": Case(lambda f, x: K.pool2d(x, (3, 2), (2, 2), "same", f, "avg"),
                       ((2, 5, 4, 3),)),
    "pool3d": Case(lambda f, x: K.pool3d(x, (2, 2, 2), (1, 2, 1), "valid", f, "max"),
                   ((2, 3, 4, 3, 2),)),
    "pool3d avg": Case(lambda f, x: K.pool3d(x, (2, 2, 2), (2, 1, 2), "same", f, "avg"),
                       ((2, 3, 4, 3, 2),)),
    "resize_images": Case(lambda f, x: K.resize_images(x, 2, 3, f), ((2, 3, 2, 3),)),
    "resize_images bilinear": Case(lambda f, x: K.resize_images(x, 3, 2, f, "bilinear"),
                                   ((2, 3, 2, 3),)),
    "resize_volumes": Case(lambda f, x: K.resize_volumes(x, 2, 1, 3, f), ((2, 2, 3, 2, 2),)),
    "temporal_padding": Case(lambda f, x: K.temporal_padding(x, (2, 1)), ((2, 3, 4),)),
    "spatial_2d_padding": Case(lambda f, x: K.spatial_2d_padding(x, ((1, 2), (0, 3)), f),
                               ((2, 3, 2, 3),)),
    "spatial_3d_padding": Case(lambda f, x: K.spatial_3d_padding(x, ((1, 0), (2, 1), (0, 1)), f),
                               ((2, 3, 2, 2, 2),)),
    "bias_add": Case(lambda f, x, b: K.bias_add(x, b, f), ((2, 3, 2, 4), (4,))),
    "bias_add of rank 5": Case(lambda f, x, b: K.bias_add(x, b, f), ((2, 3, 2, 2, 4), (4,))),
}  # fmt: skip
ONE_FORMAT = ("temporal_padding",)
OWN_ORDER = ("local_conv1d", "local_conv2d")  # of features in windows: the channel comes first


def first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def operands(case, data_format, dtype="float64"):
    x, *others = (RNG.normal(size=s).astype(dtype) for s in case.shapes)
    return [first(x) if data_format == "channels_first" else x, *others]


def python_steps(function):
    """The names of the instructions that oracles run."""
    steps = function.stats.__self__.program.instructions
    assert steps
    return [s.name for s in steps if s.kind == PYCALL]


def formats(name):
    return ("channels_last",) if name in ONE_FORMAT else ("channels_last", "channels_first")


@pytest.mark.parametrize("name", [n for n in CASES if n not in ONE_FORMAT + OWN_ORDER])
def test_formats_are_views_of_each_other(name):
    case = CASES[name]
    x, *others = operands(case, "channels_last", "float32")
    a, b = K.placeholder(x.shape), K.placeholder(first(x).shape)
    f = K.function(
        [a, b], [case.build("channels_last", a, *others), case.build("channels_first", b, *others)]
    )
    last, turned = f(x, first(x))
    np.testing.assert_allclose(first(last), turned, rtol=1e-5, atol=1e-6)
    assert not python_steps(f)


def directional(function, arrays, direction, step=1e-5):
    high, low = ([a + sign * step * d for a, d in zip(arrays, direction)] for sign in (1, -1))
    return (function(*high) - function(*low)) / (2 * step)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_both_orders_to_all_operands(name):
    """Slopes along random directions, against differences; compiled, with nothing left out."""
    case = CASES[name]
    for data_format in formats(name):
        arrays = operands(case, data_format)
        leaves = [K.placeholder(a.shape, dtype="float64") for a in arrays]
        y = case.build(data_format, *leaves)
        cost = K.sum(K.square(y) * RNG.normal(size=K.int_shape(y)))
        for _ in range(2):
            grads = K.gradients(cost, leaves)
            f = K.function(leaves, [cost, *grads])
            found = f(*arrays)[1:]
            assert not python_steps(f)
            value = K.function(leaves, cost)
            for k, got in enumerate(found):
                direction = [RNG.normal(size=a.shape) * (i == k) for i, a in enumerate(arrays)]
                want = directional(value, arrays, direction)
                np.testing.assert_allclose(
                    (got * direction[k]).sum(),
                    want,
                    rtol=1e-4,
                    atol=1e-4,
                    err_msg=f"{data_format} operand {k}",
                )
            cost = sum(K.sum(g * RNG.normal(size=a.shape)) for g, a in zip(grads, arrays))


@pytest.mark.sampled(1, name=[*CASES][::3])
@pytest.mark.parametrize("name", CASES)
def test_float16_is_computed_in_float32(name):
    """Values and gradients in C, as near to those of float32 as float16 can be."""
    case = CASES[name]
    for data_format in formats(name):
        arrays = operands(case, data_format, "float16")
        found = []
        for dtype in ("float16", "float32"):
            leaves = [K.placeholder(a.shape, dtype=dtype) for a in arrays]
            y = case.build(data_format, *leaves)
            f = K.function(leaves, [y, *K.gradients(K.sum(y), leaves)])
            found.append(f(*(a.astype(dtype) for a in arrays)))
            assert not python_steps(f)
        for half, single in zip(*found):
            assert half.dtype == np.float16
            np.testing.assert_allclose(half, single, rtol=4e-3, atol=4e-3)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", [n for n in CASES if "local" not in n and "transpose" not in n])
def test_new_sizes_need_no_kernel(name):
    """Values and gradients of images of five sizes from one function with open shapes.

    A small image, a large one and one of at most 256 pixels first: long sums are cut in parts, and
    small images are padded and summed in other ways, so these may have kernels of their own. What
    lies between them has none.
    """
    case = CASES[name]
    for data_format in formats(name):
        x, *others = operands(case, data_format, "float32")
        channel = 1 if data_format == "channels_first" else x.ndim - 1
        open_shape = [None] * x.ndim
        open_shape[channel] = x.shape[channel]
        a = K.placeholder(open_shape)
        leaves = [K.placeholder(o.shape) for o in others]
        y = case.build(data_format, a, *leaves)
        f = K.function([a, *leaves], [y, *K.gradients(K.sum(K.square(y)), [a, *leaves])])
        kernels = set()
        for more, batch in zip((2, 16, 12, 10, 11), count(9)):
            shape = [n + more for n in x.shape]
            shape[channel], shape[0] = x.shape[channel], batch
            images = RNG.normal(size=shape).astype("float32")
            got = f(images, *others)
            want = K.function([a, *leaves], y, mode="reference")(images, *others)
            np.testing.assert_allclose(got[0], want, rtol=1e-4, atol=1e-5)
            found = {k["name"] for k in f.stats()["kernels"]}
            assert found <= kernels or more in (2, 16, 12)
            kernels |= found
