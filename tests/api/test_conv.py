"""Convolutions of the K API in both data formats, against loops over windows."""

from functools import partial

import numpy as np
import pytest
from ops.loops import convolved as loops

import ckernels as K

RNG = np.random.default_rng(8)
FORMATS = ["channels_last", "channels_first"]


def array(*shape):
    return RNG.normal(size=shape).astype("float32")


def first(x):
    return np.moveaxis(x, -1, 1)


def last(x):
    return np.moveaxis(x, 1, -1)


def check(build, want, x, *others, data_format, known=True):
    """build(x, *others) in a format is `want` (channels last), with known and unknown sizes."""
    turn = first if data_format == "channels_first" else np.asarray
    x, want = turn(x), turn(want)
    for shape in (x.shape, (None,) * x.ndim):
        a = K.placeholder(shape=shape)
        y = build(a, *others)
        got = K.function([a], [y])([x])[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        assert got.dtype == np.float32
        shown = K.int_shape(y)
        assert all(d in (None, s) for d, s in zip(shown, want.shape)), (shown, want.shape)
        if shape == x.shape and known:
            assert shown == want.shape


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("n, name", [(1, "conv1d"), (2, "conv2d"), (3, "conv3d")])
def test_conv(n, name, data_format):
    x, w = array(2, *(6, 5, 4)[:n], 3), array(*(3, 2, 2)[:n], 3, 4)
    for options in (
        {},
        {"padding": "same"},
        {"strides": 2, "padding": "same"},
        {"dilation_rate": (2, 1, 1)[:n]},
        {"padding": "full", "strides": (1, 2, 3)[:n]},
    ):
        padding = options.get("padding", "valid")
        want = loops(x, w, 1, options.get("strides", 1), padding, options.get("dilation_rate", 1))
        check(
            lambda a, w, o=options: getattr(K, name)(a, w, data_format=data_format, **o),
            want,
            x,
            w,
            data_format=data_format,
        )
        check(
            lambda a, w, o=options: K.conv(a, w, data_format=data_format, **o),
            want,
            x,
            w,
            data_format=data_format,
        )


def test_causal_sees_no_later_step():
    x, w = array(1, 7, 2), array(3, 2, 4)
    y = K.conv1d(K.variable(x), w, padding="causal", dilation_rate=2).eval()
    for t in range(7):
        seen = x.copy()
        seen[:, t + 1 :] = 0
        again = K.conv1d(K.variable(seen), w, padding="causal", dilation_rate=2).eval()
        np.testing.assert_allclose(again[:, t], y[:, t], rtol=1e-5)
    assert y.shape == (1, 7, 4)


def test_the_default_format_is_the_settings():
    x, w = array(1, 3, 6, 5), array(3, 3, 3, 2)
    K.set_image_data_format("channels_first")
    np.testing.assert_allclose(
        K.conv2d(K.variable(x), w).eval(), first(loops(last(x), w)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("data_format", FORMATS)
def test_groups_and_flip(data_format):
    x, w = array(2, 6, 5, 4), array(3, 2, 2, 6)
    check(
        lambda a, w: K.conv(a, w, 2, "same", data_format, groups=2),
        loops(x, w, 2, 2, "same"),
        x,
        w,
        data_format=data_format,
    )
    check(
        lambda a, w: K.conv(a, w, 1, 1, data_format, groups=2, flip=True),
        loops(x, w[::-1, ::-1], 2, 1, 1),
        x,
        w,
        data_format=data_format,
    )


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("n", [2, 3])
def test_transposed_is_the_gradient(n, data_format):
    sizes = (5, 4, 3)[:n]
    transposed = {2: K.conv2d_transpose, 3: K.conv3d_transpose}[n]
    w = array(*(3, 2, 2)[:n], 3, 4)
    for strides, padding in ((1, "valid"), (2, "valid"), (2, "same"), (1, "same")):
        image = array(2, *sizes, 3)
        g = loops(image, w, 1, strides, padding)
        want = gradient_by_loops(image.shape, w, g.astype("float64"), strides, padding)
        shape = image.shape if data_format == "channels_last" else first(image).shape
        for output_shape in (
            shape,
            (None, *shape[1:]),
            np.array(shape),
            K.constant(shape, "int64"),
            [K.constant(s, "int32") for s in shape],
        ):
            build = partial(
                transposed,
                output_shape=output_shape,
                strides=(strides,) * n,
                padding=padding,
                data_format=data_format,
            )
            check(build, want, g, w, data_format=data_format)


def gradient_by_loops(shape, w, g, strides, padding):
    """The gradient of sum(g * conv) with respect to the image: conv of each unit image."""
    out = np.zeros(shape)
    for at in np.ndindex(*shape[1:]):
        unit = np.zeros((1, *shape[1:]))
        unit[(0, *at)] = 1
        out[(slice(None), *at)] = (
            (g * loops(unit, w, 1, strides, padding)).reshape(shape[0], -1).sum(1)
        )
    return out


def test_transposed_of_a_size_from_another_tensor():
    """What decoders do: up to the size of an image that is known only when the function runs."""
    image, x, w = K.placeholder((None, None, None, 3)), K.placeholder((None, None, None, 8)), None
    w = array(3, 3, 3, 8)
    y = K.conv2d_transpose(x, w, K.shape(image), (2, 2), "same")
    assert K.int_shape(y) == (None, None, None, 3)
    f = K.function([image, x], y)
    for rows in (5, 6):
        assert f(array(2, rows, 4, 3), array(2, 3, 2, 8)).shape == (2, rows, 4, 3)


@pytest.mark.parametrize(
    "size, k, strides, padding, want",
    [
        (3, 3, 2, "valid", 7),
        (3, 3, 2, "same", 6),
        (4, 3, 1, "full", 2),
        (4, 3, 1, 1, 4),
        (3, 2, 3, "valid", 8),
        (3, 3, 1, "causal", 3),
    ],
)
def test_transposed_without_a_shape_is_the_smallest(size, k, strides, padding, want):
    w = array(k, 2, 3)
    for shape in ((1, size, 3), (None, None, 3)):
        a = K.placeholder(shape)
        y = K.conv_transpose(a, w, None, strides, padding)
        assert K.function([a], y)(array(1, size, 3)).shape == (1, want, 2)
    assert K.int_shape(K.conv_transpose(K.zeros((1, size, 3)), w, None, strides, padding)) == (
        1,
        want,
        2,
    )


@pytest.mark.parametrize("data_format", FORMATS)
def test_depthwise_and_separable(data_format):
    x, d, p = array(2, 6, 5, 3), array(3, 2, 3, 2), array(1, 1, 6, 4)
    for strides, padding in (((1, 1), "valid"), ((2, 2), "same")):
        each = [loops(x[..., c : c + 1], d[:, :, c : c + 1], 1, strides, padding) for c in range(3)]
        want = np.concatenate(each, -1)
        options = {"strides": strides, "padding": padding, "data_format": data_format}
        check(partial(K.depthwise_conv2d, **options), want, x, d, data_format=data_format)
        check(
            partial(K.separable_conv2d, **options), loops(want, p), x, d, p, data_format=data_format
        )
    x, d, p = array(2, 6, 3), array(3, 3, 2), array(1, 6, 4)
    each = [loops(x[..., c : c + 1], d[:, c : c + 1], 1, 2, "same", 1) for c in range(3)]
    check(
        lambda a, d, p: K.separable_conv1d(a, d, p, 2, "same", data_format),
        loops(np.concatenate(each, -1), p),
        x,
        d,
        p,
        data_format=data_format,
    )


@pytest.mark.parametrize("data_format", FORMATS)
def test_local_conv(data_format):
    x, w = array(2, 6, 5, 3), array(6, 18, 4)
    want = np.zeros((2, 2, 3, 4), "float32")
    for i in range(2):
        for j in range(3):
            window = x[:, 2 * i : 2 * i + 3, j : j + 2]
            if data_format == "channels_first":
                window = first(window)
            want[:, i, j] = window.reshape(2, -1) @ w[3 * i + j]
    # 2 x 3 windows of 3 x 2 over the first 5 x 4 pixels
    x = x[:, :5, :4]
    check(
        lambda a, w: K.local_conv2d(a, w, (3, 2), (2, 1), (2, 3), data_format),
        want,
        x,
        w,
        data_format=data_format,
    )
    x, w = array(2, 7, 3), array(3, 9, 4)
    windows = [x[:, 2 * i : 2 * i + 3] for i in range(3)]
    if data_format == "channels_first":
        windows = [first(v) for v in windows]
    want = np.stack([v.reshape(2, -1) @ w[i] for i, v in enumerate(windows)], 1)
    check(
        lambda a, w: K.local_conv1d(a, w, (3,), (2,), data_format),
        want,
        x,
        w,
        data_format=data_format,
    )
    np.testing.assert_allclose(
        K.local_conv1d(K.variable(x), w, (3,), (2,)).eval(),
        np.stack([x[:, 2 * i : 2 * i + 3].reshape(2, -1) @ w[i] for i in range(3)], 1),
        rtol=1e-4,
        atol=1e-5,
    )


def finite(f, arrays, k, step=1e-5):
    out = np.zeros(arrays[k].shape)
    for at in np.ndindex(*arrays[k].shape):
        moved = [[np.array(a) for a in arrays] for _ in range(2)]
        moved[0][k][at] += step
        moved[1][k][at] -= step
        out[at] = (f(moved[0]) - f(moved[1])) / (2 * step)
    return out


SMALL = {
    "conv1d": (lambda x, w: K.conv1d(x, w, 2, "causal"), (1, 5, 2), (2, 2, 3)),
    "conv2d": (lambda x, w: K.conv2d(x, w, (2, 1), "same"), (2, 3, 3, 2), (2, 3, 2, 2)),
    "conv2d first": (lambda x, w: K.conv2d(x, w, padding="same", data_format="channels_first"),
                     (1, 2, 3, 3), (2, 2, 2, 2)),
    "conv3d": (lambda x, w: K.conv3d(x, w), (1, 2, 3, 2, 1), (2, 2, 1, 1, 2)),
    "transposed": (lambda x, w: K.conv2d_transpose(x, w, (1, 4, 4, 2), (2, 2), "same"),
                   (1, 2, 2, 2), (3, 2, 2, 2)),
    "depthwise": (lambda x, w: K.depthwise_conv2d(x, w), (1, 3, 3, 2), (2, 2, 2, 2)),
    "separable": (lambda x, w: K.separable_conv2d(x, w, np.ones((1, 1, 2, 2))),
                  (1, 3, 3, 2), (2, 2, 2, 1)),
    "local": (lambda x, w: K.local_conv2d(x, w, (2, 2), (1, 1), (2, 2)), (1, 3, 3, 1), (4, 4, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_gradients(name):
    """Of sum(y ** 2 * t), and of a projection of that gradient, to both operands."""
    build, *shapes = SMALL[name]
    arrays = [RNG.normal(size=s) for s in shapes]
    x, w = (K.placeholder(s, dtype="float64") for s in shapes)
    y = build(x, w)
    t = RNG.normal(size=K.int_shape(y))
    cost = K.sum(K.square(y) * t)
    for _ in range(2):
        grads = K.gradients(cost, [x, w])
        f, value = K.function([x, w], grads), K.function([x, w], cost)
        for k, got in enumerate(f(arrays)):
            want = finite(lambda moved, value=value: float(value(*moved)), arrays, k)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        cost = sum(K.sum(g * RNG.normal(size=s)) for g, s in zip(grads, shapes))


def test_jacobian_rows_run_as_one_graph():
    x, w = (K.placeholder(s, dtype="float64") for s in ((2, 4, 3, 2), (2, 2, 2, 2)))
    y = K.conv2d(x, w, padding="same")
    flat = K.flatten(y)[:3]
    arrays = [RNG.normal(size=(2, 4, 3, 2)), RNG.normal(size=(2, 2, 2, 2))]
    got = K.function([x, w], [K.jacobian(flat, x), K.jacobian(flat, w)])(arrays)
    for k, jacobian in enumerate(got):
        for row in range(3):
            value = K.function([x, w], flat[row])
            np.testing.assert_allclose(
                jacobian[row], finite(lambda m, v=value: float(v(*m)), arrays, k), atol=1e-6
            )


X, W = (2, 6, 6, 4), (3, 3, 4, 5)


@pytest.mark.parametrize(
    "build, match",
    [
        (lambda x, w: K.conv2d(x, w, data_format="channels_middle"), "data_format"),
        (lambda x, w: K.conv2d(x, w, padding="around"), "'around'"),
        (lambda x, w: K.conv2d(x, w, data_format="channels_first"), "6 channels"),
        (lambda x, w: K.conv2d(x, w, strides=(0, 1)), "strides"),
        (lambda x, w: K.conv2d(x, w, strides=(1, 1, 1)), "2 of them"),
        (lambda x, w: K.conv1d(x, w), r"conv1d needs x of 3 dimensions.*\(2, 6, 6, 4\)"),
        (lambda x, w: K.conv2d(x, w[0]), "kernel of 4 dimensions"),
        (lambda x, w: K.conv2d(x[:, :2], w), "larger than the image"),
        (lambda x, w: K.conv(x, w, groups=3), "groups"),
        (lambda x, w: K.depthwise_conv2d(x[..., :3], w), "3 channels"),
        (lambda x, w: K.separable_conv2d(x, w, w), "size 1"),
        (lambda x, w: K.conv2d_transpose(x, w, (2, 8, 8, 4)), "output channels|5"),
        (lambda x, w: K.conv2d_transpose(x[..., 1:], w[:, :, :, :3], (2, 9, 9, 4)), "sizes"),
        (lambda x, w: K.conv2d_transpose(x[..., 1:], w[:, :, :, :3], (2, 8, 8, 3)), "3 channels"),
        (lambda x, w: K.conv2d_transpose(x[..., 1:], w[:, :, :, :3], (3, 8, 8, 4)), "3 images"),
        (lambda x, w: K.conv2d_transpose(x[..., 1:], w[:, :, :, :3], (8, 8)), "4 entries"),
        (lambda x, w: K.conv2d_transpose(x[..., 1:], w[:, :, :, :3], (2, -8, 8, 4)), "negative"),
        (lambda x, w: K.local_conv2d(x, w[0], (3, 3), (1, 1), (4, 4)), "places"),
        (lambda x, w: K.local_conv2d(x, w, (3, 3), (1, 1), (4, 4)), "features, filters"),
        (
            lambda x, w: K.local_conv2d(x, K.ones((16, 36, 2)), (3, 3), (1, 1), (4, 5)),
            "output_shape",
        ),
        (lambda x, w: K.local_conv2d(x, K.ones((16, 35, 2)), (3, 3), (1, 1), (4, 4)), "features"),
    ],
)
def test_errors(build, match):
    x, w = K.zeros(X), K.zeros(W)
    with pytest.raises(ValueError, match=match) as caught:
        build(x, w)
    text = str(caught.value)
    assert "test_conv.py" in text and len(text.splitlines()) <= 15


def test_errors_when_it_runs_name_the_line():
    x = K.placeholder((None, None, None, 2))
    y = K.conv2d(x, K.zeros((3, 3, 2, 1)))  # the line
    f = K.function([x], [y])
    assert f([np.zeros((1, 3, 3, 2), "float32")])[0].shape == (1, 1, 1, 1)
    with pytest.raises(ValueError, match="larger than the image of size 2") as caught:
        f([np.zeros((1, 2, 3, 2), "float32")])
    assert "# the line" in str(caught.value)
