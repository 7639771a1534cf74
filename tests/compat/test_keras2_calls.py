"""Convolutions, pooling, random numbers and values, called as Keras 2's layers call them.

Beside test_keras2.py; together they call every K function that the installed Keras uses, and
the last test asks Keras's own source which those are.
"""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from clients import keras_numpy as oracle
from clients.keras_support import installed, settings

from ckernels.compat import keras2 as K

pytestmark = pytest.mark.usefixtures("settings")
assert settings
rng = np.random.default_rng(2)
SIZES = {1: (7,), 2: (5, 6), 3: (4, 3, 4)}
LAYOUTS = ["channels_last", "channels_first"]


def drawn(*shape):
    return rng.normal(size=shape).astype("float32")


def given(x, data_format):
    return K.constant(np.moveaxis(x, -1, 1) if data_format == "channels_first" else x)


def back(y, data_format):
    y = K.eval(y)
    return np.moveaxis(y, 1, -1) if data_format == "channels_first" else y


def agree(y, want, data_format="channels_last"):
    got = back(y, data_format)
    assert got.shape == want.shape and got.dtype == "float32"
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


# (axes, kernel, strides, padding, dilation) as Conv1D, Conv2D and Conv3D pass them: tuples
CONVOLUTIONS = [
    (1, (3,), (1,), "causal", (2,)),
    (1, (3,), (2,), "same", (1,)),
    (2, (3, 2), (1, 1), "valid", (1, 1)),
    (2, (3, 3), (2, 1), "same", (1, 1)),
    (2, (2, 2), (1, 1), "same", (2, 1)),
    (3, (2, 2, 2), (1, 1, 1), "valid", (1, 1, 1)),
    (3, (3, 2, 3), (2, 1, 2), "same", (1, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("n, size, strides, padding, dilation", CONVOLUTIONS)
def test_convolutions(n, size, strides, padding, dilation, data_format):
    if padding == "causal" and data_format == "channels_first":
        pytest.skip("Keras refuses this pair")
    x, kernel = drawn(2, *SIZES[n], 3), drawn(*size, 3, 4)
    flat = n == 1  # Conv1D passes numbers
    y = getattr(K, f"conv{n}d")(
        given(x, data_format),
        K.variable(kernel),
        strides=strides[0] if flat else strides,
        padding=padding,
        data_format=data_format,
        dilation_rate=dilation[0] if flat else dilation,
    )
    agree(y, oracle.convolve(x, kernel, strides, padding, dilation), data_format)


@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("n", [2, 3])
def test_transposed_convolutions(n, padding, data_format):
    """The layer passes the whole output shape, its batch and sizes as tensors."""
    strides = (2, 1, 2)[:n]
    x, kernel = drawn(2, *SIZES[n], 3), drawn(*(3, 2, 2)[:n], 4, 3)
    layer = SimpleNamespace(
        strides=strides, padding=padding, activation=SimpleNamespace(__name__="linear")
    )
    want = oracle.conv_transpose(x, [kernel, 0.0], layer)
    sizes, batch = want.shape[1:-1], K.shape(K.constant(x))[0]
    shape = (batch, 4, *sizes) if data_format == "channels_first" else (batch, *sizes, 4)
    more = {"dilation_rate": (1, 1)} if n == 2 else {}
    y = getattr(K, f"conv{n}d_transpose")(
        given(x, data_format),
        K.variable(kernel),
        shape,
        strides,
        padding=padding,
        data_format=data_format,
        **more,
    )
    agree(y, want, data_format)


@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_depthwise_and_separable_convolutions(padding, data_format):
    x, depth, point = drawn(2, 5, 6, 3), drawn(3, 2, 3, 2), drawn(1, 1, 6, 4)
    middle = oracle.depthwise(x, depth, (1, 1), padding, (1, 1))
    options = {"padding": padding, "data_format": data_format}
    given_x, d = given(x, data_format), K.variable(depth)
    y = K.depthwise_conv2d(given_x, d, strides=(1, 1), dilation_rate=(1, 1), **options)
    agree(y, middle, data_format)
    y = K.separable_conv2d(
        given_x, d, K.variable(point), strides=(1, 1), dilation_rate=(1, 1), **options
    )
    agree(y, middle @ point[0, 0], data_format)
    x, depth, point = drawn(2, 7, 3), drawn(3, 3, 2), drawn(1, 6, 4)
    want = oracle.depthwise(x, depth, (2,), padding, (1,)) @ point[0]
    y = K.separable_conv1d(
        given(x, data_format),
        K.variable(depth),
        K.variable(point),
        strides=(2,),
        dilation_rate=(1,),
        **options,
    )
    agree(y, want, data_format)


@pytest.mark.parametrize("data_format", LAYOUTS)
def test_local_convolutions(data_format):
    """A kernel for each place; its inputs are the window's, in the layout of the images."""
    x, kernel = drawn(2, 7, 3), drawn(3, 6, 4)
    found, _ = oracle.windows(x, (2,), (2,), (1,))
    want = np.stack([f.reshape(2, -1) @ k for f, k in zip(found, kernel)], 1)
    if data_format == "channels_last":
        agree(K.local_conv1d(K.constant(x), K.variable(kernel), (2,), (2,)), want)
    x, kernel = drawn(2, 4, 5, 3), drawn(12, 12, 2)
    found, counts = oracle.windows(x, (2, 2), (1, 1), (1, 1))
    first = data_format == "channels_first"
    found = [np.moveaxis(f, -1, 1) if first else f for f in found]
    want = np.stack([f.reshape(2, -1) @ k for f, k in zip(found, kernel)], 1)
    y = K.local_conv2d(
        given(x, data_format), K.variable(kernel), (2, 2), (1, 1), tuple(counts), data_format
    )
    agree(y, want.reshape(2, *counts, 2), data_format)


@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("n", [2, 3])
def test_pooling(n, padding, mode, data_format):
    x, size, strides = drawn(2, *SIZES[n], 3), (3, 2, 2)[:n], (2, 2, 1)[:n]
    layer = SimpleNamespace(pool_size=size, strides=strides, padding=padding)
    want = (oracle.max_pool if mode == "max" else oracle.average_pool)(x, None, layer)
    pool = getattr(K, f"pool{n}d")
    agree(
        pool(given(x, data_format), size, strides, padding, data_format, pool_mode=mode),
        want,
        data_format,
    )


@pytest.mark.parametrize("data_format", LAYOUTS)
def test_volumes(data_format):
    x = drawn(2, 2, 3, 2, 3)
    y = K.resize_volumes(given(x, data_format), 2, 1, 3, data_format)
    agree(y, x.repeat(2, 1).repeat(3, 3), data_format)
    pads = ((1, 0), (0, 2), (1, 1))
    y = K.spatial_3d_padding(given(x, data_format), padding=pads, data_format=data_format)
    agree(y, np.pad(x, ((0, 0), *pads, (0, 0))), data_format)


@pytest.mark.parametrize("data_format", LAYOUTS)
def test_bilinear_images(data_format):
    """TensorFlow 1's convention, under which Keras 2 models were trained: row j is row j / factor
    of the image, between its neighbours; the last row stays behind the end."""
    x = drawn(2, 3, 4, 2)
    want = x
    for axis, factor in ((1, 2), (2, 3)):
        n = x.shape[axis]
        at = np.arange(n * factor) / factor
        low = at.astype(int)
        part = (at - low).reshape(-1, *[1] * (3 - axis))
        high = np.minimum(low + 1, n - 1)
        want = np.take(want, low, axis) * (1 - part) + np.take(want, high, axis) * part
    y = K.resize_images(given(x, data_format), 2, 3, data_format, interpolation="bilinear")
    agree(y, want, data_format)


@pytest.mark.parametrize("seed", [None, 7])
def test_random_numbers(seed):
    shape = (K.shape(K.constant(drawn(200, 3)))[0], 100)  # as noise layers pass it
    x = K.eval(K.random_normal(shape=shape, mean=1.0, stddev=2.0, seed=seed))
    assert x.shape == (200, 100) and x.dtype == "float32"
    assert x.mean() == pytest.approx(1, abs=0.1) and x.std() == pytest.approx(2, abs=0.1)
    x = K.eval(K.random_uniform(shape=shape, minval=-1.0, maxval=3.0, dtype="float64", seed=seed))
    assert x.dtype == "float64" and -1 <= x.min() < -0.9 and 2.9 < x.max() < 3
    x = K.eval(K.random_binomial(shape=shape, p=0.3, seed=seed))
    assert set(np.unique(x)) == {0, 1} and x.mean() == pytest.approx(0.3, abs=0.02)
    x = K.eval(K.truncated_normal((200, 100), 0.0, 0.5, dtype="float32", seed=seed))
    assert abs(x).max() <= 1 and x.std() == pytest.approx(0.5 * 0.8796, abs=0.02)
    a = drawn(50, 100)
    dropped = K.eval(K.dropout(K.constant(a), 0.4, noise_shape=(50, 1), seed=seed))
    kept = (dropped != 0).all(1)
    np.testing.assert_allclose(dropped[kept], a[kept] / 0.6, rtol=1e-5)
    assert (dropped[~kept] == 0).all() and 0.3 < kept.mean() < 0.9


def test_values_in_batches():
    a, b, c = K.variable(drawn(2, 3)), K.zeros((4,)), K.variable(1.0)
    new = [drawn(2, 3), drawn(4), 2.5]
    K.batch_set_value(list(zip((a, b, c), new)))
    for got, want in zip(K.batch_get_value([a, b, c]), new):
        np.testing.assert_array_equal(got, np.float32(want))
    K.set_value(c, 7)
    assert K.get_value(c) == 7
    assert K.batch_get_value([]) == [] and K.batch_set_value([]) is None
    K.get_value(a)[:] = 0
    assert K.get_value(a).any()  # a copy


def test_moving_averages():
    mean, value = K.variable([1.0, 2.0]), K.constant([3.0, 0.0])
    f = K.function([], [], updates=[K.moving_average_update(mean, value, 0.9)])
    f([])
    np.testing.assert_allclose(K.get_value(mean), [1.2, 1.8], rtol=1e-6)


def test_what_is_asked_about_tensors():
    x = K.placeholder((None, 3))
    assert (K.ndim(x), K.dtype(x), K.is_sparse(x), K.is_tensor(x)) == (2, "float32", False, True)
    assert not K.is_tensor(np.ones(2)) and not K.is_tensor(1.0) and K.is_tensor(K.zeros(()))
    assert K.pattern_broadcast(x, (True, False)) is x
    assert K.cast_to_floatx(np.ones(2, "int64")).dtype == K.floatx() == "float32"
    assert K.epsilon() == 1e-7 and K.image_data_format() == "channels_last"
    assert K.symbolic(len) is len and K.eager(len) is len
    assert K.backend() == "ckernels.compat.keras2"


# TensorFlow's module, and a guard that asks it of a layer (`K.compute_output_shape` in a branch of
# TimeDistributed that no backend can run).
ELSEWHERE = {"tensorflow_backend", "compute_output_shape", "tf"}


def called(path):
    """The names after `K.` in a Python file."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    return {
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "K"
    }


@pytest.mark.skipif(not installed().startswith("2."), reason="reads the source of keras 2")
def test_every_function_keras_uses_is_called_here():
    import importlib.util

    package = Path(importlib.util.find_spec("keras").origin).parent
    used = set()
    for path in package.rglob("*.py"):
        if "backend" not in path.relative_to(package).parts:
            used |= called(path)
    here = Path(__file__)
    tested = called(here) | called(here.with_name("test_keras2.py"))
    tested |= {f"conv{n}d" for n in (1, 2, 3)} | {f"pool{n}d" for n in (2, 3)}
    tested |= {f"conv{n}d_transpose" for n in (2, 3)}
    assert len(used) > 100 and not used - tested - ELSEWHERE
