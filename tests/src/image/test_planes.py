"""Depthwise convolutions with channels first, and maxima of 2 x 2 pixels, are computed as they lie,
whoever reads the results; they agree with those of channels last.
"""

import numpy as np
import pytest

import ckernels as K

RNG = np.random.default_rng(5)


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(
    "shape, kernel",
    [
        ((2, 5, 9, 17), (3, 3)),
        ((3, 2, 20, 33), (5, 4)),
        ((1, 4, 3, 3), (3, 3)),
        ((0, 3, 5, 5), (1, 3)),
    ],
)
def test_both_formats_agree(shape, kernel, padding, dtype):
    x = RNG.standard_normal(shape).astype(dtype)
    w = RNG.standard_normal((*kernel, shape[1], 1)).astype(dtype)
    results = {}
    for form in ("channels_first", "channels_last"):
        a, b = K.placeholder(ndim=4, dtype=dtype), K.placeholder(w.shape, dtype=dtype)
        y = K.depthwise_conv2d(a, b, padding=padding, data_format=form)
        loss = K.sum(K.square(y) * 0.5)
        f = K.function([a, b], [y, *K.gradients(loss, [a, b])])
        results[form] = f([x if form == "channels_first" else channels_last(x), w])
    (y, dx, dw), (want_y, want_dx, want_dw) = results.values()
    tolerance = {"rtol": 0, "atol": 2e-3 if dtype == "float32" else 1e-10}
    np.testing.assert_allclose(channels_last(y), want_y, **tolerance)
    np.testing.assert_allclose(channels_last(dx), want_dx, **tolerance)
    np.testing.assert_allclose(dw, want_dw, **tolerance)


def test_readers_of_all_kinds():
    """The result as an output twice, reshaped, as a variable's next value, in a loop, in a sum;
    an image that does not lie in rows.
    """
    x, w = RNG.standard_normal((2, 3, 8, 6)), RNG.standard_normal((3, 3, 3, 1))
    a, b = K.placeholder(x.shape, dtype="float64"), K.constant(w, dtype="float64")
    state = K.variable(np.zeros(x.shape), dtype="float64")
    y = K.depthwise_conv2d(a, b, padding="same", data_format="channels_first")
    z = K.depthwise_conv2d(y, b, padding="same", data_format="channels_first")
    outputs = [
        y,
        y,
        K.reshape(y, (2, -1)),
        K.relu(y) + 1,
        K.sum(y, axis=1),
        z,
        K.permute_dimensions(y, (0, 2, 3, 1)),
    ]
    f = K.function([a], outputs, updates=[(state, z)])
    one = K.function([a], [y])
    strided = np.asfortranarray(x)
    got = f([strided])
    want, again = one([x])[0], one([one([x])[0]])[0]
    expected = [
        want,
        want,
        want.reshape(2, -1),
        np.maximum(want, 0) + 1,
        want.sum(1),
        again,
        channels_last(want),
        again,
    ]
    for result, value in zip([*got, K.get_value(state)], expected):
        np.testing.assert_allclose(result, value, rtol=0, atol=1e-12)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    by_hand = sum(
        padded[:, :, i : i + 8, j : j + 6] * w[i, j].reshape(1, 3, 1, 1)
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(want, by_hand, rtol=0, atol=1e-12)


def max_by_hand(x, g):
    """Maxima of 2 x 2 pixels of x and the gradient of their sum times g: NaN and ties as in Keras's
    order of a window.
    """
    n, c, height, width = *x.shape[:2], x.shape[2] // 2, x.shape[3] // 2
    inside = x[:, :, : 2 * height, : 2 * width].reshape(n, c, height, 2, width, 2)
    parts = inside.transpose(0, 1, 2, 4, 3, 5).reshape(n, c, height, width, 4)
    y = parts.max(-1) if parts.size else np.zeros((n, c, height, width))
    hit = (parts == y[..., None]) | (np.isnan(parts) & np.isnan(y[..., None]))
    given = np.where(hit & (np.cumsum(hit, -1) == 1), g[..., None], 0)
    given = given.reshape(n, c, height, width, 2, 2).transpose(0, 1, 2, 4, 3, 5)
    dx = np.zeros(x.shape)
    dx[:, :, : 2 * height, : 2 * width] = given.reshape(n, c, 2 * height, 2 * width)
    return y, dx


def pooled(x, size=2, strides=None, padding="valid"):
    strides = (strides or size,) * 2
    return K.pool2d(x, (size, size), strides, padding, "channels_first", "max")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maxima_of_fours_stay_with_channels_first(dtype):
    """One function, many sizes: no copy of an image; NaN and ties; a strided image."""
    x, g = (K.placeholder(ndim=4, dtype=dtype) for _ in range(2))
    y = pooled(x)
    f = K.function([x, g], [y, *K.gradients(K.sum(y * g), [x]), pooled(K.relu(x))])
    shapes = [(2, 3, 8, 8), (1, 1, 2, 2), (4, 5, 7, 9), (0, 3, 4, 4), (2, 0, 4, 4), (3, 2, 33, 70)]
    for shape in shapes:
        a = RNG.integers(-3, 4, shape).astype(dtype)
        a[RNG.random(shape) < 0.05] = np.nan
        b = RNG.standard_normal((*shape[:2], shape[2] // 2, shape[3] // 2)).astype(dtype)
        want = max_by_hand(a, b)
        for image in (a, np.asfortranarray(a), a[:, ::-1].copy()[:, ::-1]):
            got = f([image, b])
            for one, other in zip(got, want):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(got[2], np.maximum(want[0], 0))
    assert sum("pool_max" in step for step in f.steps()) == 3
    static = K.placeholder((2, 3, 8, 8))
    f = K.function([static], [pooled(static), *K.gradients(K.sum(pooled(static)), [static])])
    assert not any("copy" in step for step in f.steps())


@pytest.mark.parametrize(
    "build",
    [
        lambda x: pooled(x, 3),
        lambda x: pooled(x, 2, 1),
        lambda x: pooled(x, 2, 2, "same"),
        lambda x: K.pool2d(x, (2, 1), (2, 2), "valid", "channels_first", "max"),
        lambda x: K.pool2d(x, (2, 2), (2, 2), "valid", "channels_first", "avg"),
        lambda x: K.pool2d(x, (2, 2), (2, 2), "valid", "channels_last", "max"),
        lambda x: K.permute_dimensions(pooled(x), (0, 2, 3, 1)),
        lambda x: K.square(pooled(x)) + K.permute_dimensions(pooled(x), (0, 1, 3, 2)),
    ],
    ids=["three", "overlapping", "padded", "two by one", "mean", "last", "turned", "read twice"],
)
def test_what_is_almost_a_maximum_of_fours(build):
    """Values, first and second derivatives are those of the ops on their own."""
    x, v = (K.placeholder((2, 3, 7, 7), dtype="float64") for _ in range(2))
    first = K.gradients(K.sum(K.sin(build(x))), [x])[0]
    outputs = [build(x), first, *K.gradients(K.sum(first * v), [x])]
    a, b = RNG.standard_normal((2, 2, 3, 7, 7))
    got = K.function([x, v], outputs)([a, b])
    step = 1e-6
    value = K.function([x], [K.sum(K.sin(build(x)))])
    slope = K.function([x], [first])
    along = RNG.standard_normal(a.shape)
    numeric = (value([a + step * along])[0] - value([a - step * along])[0]) / (2 * step)
    np.testing.assert_allclose(np.sum(got[1] * along), numeric, rtol=1e-6, atol=1e-7)
    change = (slope([a + step * along])[0] - slope([a - step * along])[0]) / (2 * step)
    np.testing.assert_allclose(np.sum(got[2] * along), np.sum(change * b), rtol=1e-5, atol=1e-6)


def test_the_second_derivative_of_a_maximum_of_fours():
    x = K.placeholder((2, 3, 6, 8), dtype="float64")
    v = K.placeholder((2, 3, 6, 8), dtype="float64")
    first = K.gradients(K.sum(K.square(pooled(x))), [x])[0]
    second = K.gradients(K.sum(first * v), [x])[0]
    a, b = RNG.standard_normal((2, 2, 3, 6, 8))
    one, two = K.function([x, v], [first, second])([a, b])
    y, hit = max_by_hand(a, np.ones((2, 3, 3, 4)))
    np.testing.assert_allclose(one, 2 * hit * a, rtol=1e-12)
    np.testing.assert_allclose(two, 2 * hit * b, rtol=1e-12)
