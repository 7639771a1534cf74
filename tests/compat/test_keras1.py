"""The Keras 1 dialect: its signatures, and the functions whose arguments it names its own way."""

import inspect

import numpy as np
import pytest
from clients import keras_numpy as oracle
from clients.keras_support import settings

from ckernels.base.config import config
from ckernels.compat import keras1 as K

from .keras1_signatures import DOCUMENTED, USED

pytestmark = pytest.mark.usefixtures("settings")
assert settings
rng = np.random.default_rng(3)


def drawn(*shape):
    return rng.normal(size=shape).astype("float32")


@pytest.fixture(autouse=True)
def arithmetic():
    yield
    K.calculate_like("tensorflow")


@pytest.mark.parametrize("text", DOCUMENTED + USED)
def test_signature(text):
    name = text.partition("(")[0]
    got = f"{name}{inspect.signature(getattr(K, name))}"
    assert got == text or got.startswith(text[:-1] + ", ")
    extra = list(inspect.signature(getattr(K, name)).parameters.values())[text.count("=") :]
    assert all(p.kind == p.VAR_KEYWORD or p.default is not p.empty or p.name in text for p in extra)
    assert getattr(K, name).__doc__


X, IMAGE, VOLUME = drawn(2, 3), drawn(2, 5, 6, 3), drawn(2, 4, 3, 4, 2)
P = np.array([[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]], "float32")
HOT = np.eye(3, dtype="float32")[[2, 0]]


@pytest.mark.parametrize(
    "build, want",
    [
        (lambda: K.expand_dims(K.variable(X), dim=1), X[:, None]),
        (
            lambda: K.temporal_padding(K.variable(X[None]), padding=2),
            np.pad(X[None], ((0, 0), (2, 2), (0, 0))),
        ),
        (
            lambda: K.asymmetric_temporal_padding(K.variable(X[None]), left_pad=2, right_pad=0),
            np.pad(X[None], ((0, 0), (2, 0), (0, 0))),
        ),
        (
            lambda: K.spatial_2d_padding(K.variable(IMAGE), padding=(1, 2), dim_ordering="tf"),
            np.pad(IMAGE, ((0, 0), (1, 1), (2, 2), (0, 0))),
        ),
        (
            lambda: K.spatial_2d_padding(K.variable(IMAGE), (1, 2)),  # 'th' is the default
            np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (2, 2))),
        ),
        (
            lambda: K.asymmetric_spatial_2d_padding(
                K.variable(IMAGE), 1, 0, 0, 2, dim_ordering="tf"
            ),
            np.pad(IMAGE, ((0, 0), (1, 0), (0, 2), (0, 0))),
        ),
        (
            lambda: K.spatial_3d_padding(K.variable(VOLUME), (1, 0, 2), dim_ordering="tf"),
            np.pad(VOLUME, ((0, 0), (1, 1), (0, 0), (2, 2), (0, 0))),
        ),
        (
            lambda: K.resize_images(K.variable(IMAGE), 2, 3, dim_ordering="tf"),
            IMAGE.repeat(2, 1).repeat(3, 2),
        ),
        (
            lambda: K.resize_volumes(K.variable(VOLUME), 1, 2, 1, dim_ordering="th"),
            VOLUME.repeat(2, 3),
        ),
        (lambda: K.one_hot(K.variable([2, 0], dtype="int32"), nb_classes=3), HOT),
        (lambda: K.lesser(K.variable(X), 0.0), X < 0),
        (lambda: K.lesser_equal(K.variable(X), K.variable(X)), X <= X),
        (lambda: K.any(K.variable(X) > 0, axis=-1), (X > 0).any(-1)),
        (lambda: K.dropout(K.variable(X), 0.0, 5), X),
        (lambda: K.zeros_like(K.variable(X), name="z"), np.zeros((2, 3))),
        (
            lambda: K.categorical_crossentropy(K.variable(P), K.variable(HOT)),
            -np.log(P[[0, 1], [2, 0]]),
        ),
        (
            lambda: K.sparse_categorical_crossentropy(K.variable(3 * P), K.variable([[2], [0]])),
            -np.log(P[[0, 1], [2, 0]]),
        ),
        (
            lambda: K.binary_crossentropy(K.variable(P), K.variable(HOT)),
            -(HOT * np.log(P) + (1 - HOT) * np.log(1 - P)),
        ),
        (lambda: K.l2_normalize(K.variable(X), axis=1), X / np.linalg.norm(X, axis=1)[:, None]),
        (lambda: K.map_fn(lambda row: K.sum(row), K.variable(X), name="sums"), X.sum(1)),
        (
            lambda: K.batch_dot(K.variable(X[:, None]), K.variable(X[:, :, None])),
            (X * X).sum(1)[:, None, None],
        ),
    ],
)
def test_agrees_with_numpy(build, want):
    np.testing.assert_allclose(K.eval(build()), want, rtol=1e-5, atol=1e-6)


def in_layout(x, kernel, dim_ordering):
    """Images and kernel of the last-channels layout in 'th' or 'tf'."""
    if dim_ordering == "tf":
        return K.variable(x), K.variable(kernel)
    order = (kernel.ndim - 1, kernel.ndim - 2, *range(kernel.ndim - 2))
    return K.variable(np.moveaxis(x, -1, 1)), K.variable(kernel.transpose(order))


def back(y, dim_ordering):
    y = K.eval(y)
    return np.moveaxis(y, 1, -1) if dim_ordering == "th" else y


def theano_conv(x, kernel, strides, border_mode):
    """A convolution with a kernel turned around; "same": kernel // 2 on both sides, end cut."""
    n = kernel.ndim - 2
    turned = kernel[(slice(None, None, -1),) * n]
    if border_mode == "same":
        pads = [(k // 2, k // 2) for k in kernel.shape[:n]]
        y = oracle.convolve(np.pad(x, [(0, 0), *pads, (0, 0)]), turned, strides, "valid", (1,) * n)
        key = [slice(None, -(-size // s)) for size, s in zip(x.shape[1:-1], strides)]
        return y[(slice(None), *key)]
    return widened(x, turned, strides, border_mode)


def widened(x, kernel, strides, border_mode):
    """oracle.convolve that also knows "full": kernel - 1 zeros on both sides."""
    n = kernel.ndim - 2
    if border_mode == "full":
        x = np.pad(x, [(0, 0), *((k - 1, k - 1) for k in kernel.shape[:n]), (0, 0)])
    word = "same" if border_mode == "same" else "valid"
    return oracle.convolve(x, kernel, strides, word, (1,) * n)


@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
@pytest.mark.parametrize("border_mode", ["valid", "same", "full"])
@pytest.mark.parametrize("size, strides", [((3, 3), (1, 1)), ((2, 4), (2, 1)), ((3, 2), (2, 2))])
def test_conv2d(size, strides, border_mode, dim_ordering):
    kernel = drawn(*size, 3, 4)
    x, k = in_layout(IMAGE, kernel, dim_ordering)
    options = {"strides": strides, "border_mode": border_mode, "dim_ordering": dim_ordering}
    want = widened(IMAGE, kernel, strides, border_mode)
    got = K.conv2d(x, k, image_shape=None, filter_shape=size, **options)
    np.testing.assert_allclose(back(got, dim_ordering), want, rtol=1e-4, atol=1e-5)
    K.calculate_like("theano")
    want = theano_conv(IMAGE, kernel, strides, border_mode)
    np.testing.assert_allclose(
        back(K.conv2d(x, k, **options), dim_ordering), want, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
def test_conv3d_conv1d_and_atrous(dim_ordering):
    kernel = drawn(2, 3, 2, 2, 4)
    x, k = in_layout(VOLUME, kernel, dim_ordering)
    y = K.conv3d(x, k, border_mode="same", dim_ordering=dim_ordering)
    want = oracle.convolve(VOLUME, kernel, (1, 1, 1), "same", (1, 1, 1))
    np.testing.assert_allclose(back(y, dim_ordering), want, rtol=1e-4, atol=1e-5)
    kernel = drawn(2, 2, 3, 4)
    x, k = in_layout(IMAGE, kernel, dim_ordering)
    want = oracle.convolve(IMAGE, kernel, (1, 1), "valid", (2, 2))
    for y in (
        K.atrous_conv2d(x, k, rate=2, dim_ordering=dim_ordering),
        K.conv2d(x, k, dim_ordering=dim_ordering, filter_dilation=(2, 2)),
    ):
        np.testing.assert_allclose(back(y, dim_ordering), want, rtol=1e-4, atol=1e-5)
    steps, kernel = drawn(2, 7, 3), drawn(3, 3, 4)
    got = K.eval(K.conv1d(K.variable(steps), K.variable(kernel), stride=2, border_mode="same"))
    want = oracle.convolve(steps, kernel, (2,), "same", (1,))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("border_mode, sizes", [("valid", (7, 9)), ("full", (3, 5))])
@pytest.mark.parametrize("like", ["tensorflow", "theano"])
@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
def test_deconv2d_is_the_slope_of_conv2d(dim_ordering, like, border_mode, sizes):
    """deconv2d(y, kernel) is the derivative of sum(conv2d(x, kernel') * y) with respect to x,
    kernel' having its channels the other way round."""
    K.calculate_like(like)
    kernel, y = drawn(3, 3, 4, 2), drawn(2, 3, 4, 4)  # from 4 channels to 2
    small, k = in_layout(y, kernel, dim_ordering)
    shape = (2, 2, *sizes) if dim_ordering == "th" else (2, *sizes, 2)
    options = {"strides": (2, 2), "border_mode": border_mode, "dim_ordering": dim_ordering}
    up = K.deconv2d(small, k, shape, **options)
    x = K.variable(drawn(*shape))
    _, forth = in_layout(y, kernel.swapaxes(2, 3), dim_ordering)
    down = K.conv2d(x, forth, **options)
    (slope,) = K.gradients(K.sum(down * small), [x])
    np.testing.assert_allclose(K.eval(up), K.eval(slope), rtol=1e-4, atol=1e-5)


def test_separable_conv2d():
    depthwise, pointwise = drawn(2, 3, 3, 2), drawn(1, 1, 6, 4)
    want = oracle.depthwise(IMAGE, depthwise, (1, 1), "same", (1, 1)) @ pointwise[0, 0]
    for dim_ordering in ("th", "tf"):
        x, d = in_layout(IMAGE, depthwise, dim_ordering)
        _, p = in_layout(IMAGE, pointwise, dim_ordering)
        y = K.separable_conv2d(x, d, p, border_mode="same", dim_ordering=dim_ordering)
        np.testing.assert_allclose(back(y, dim_ordering), want, rtol=1e-4, atol=1e-5)


def theano_pool(x, size, strides, reduce, fill):
    pads = [s - 2 if s > 2 and s % 2 else s - 1 for s in size]
    wide = np.pad(x, [(0, 0), *[(p, p) for p in pads], (0, 0)], constant_values=fill)
    found, counts = oracle.windows(wide, size, strides, (1,) * len(size))
    axes = tuple(range(1, x.ndim - 1))
    y = np.stack([reduce(f, axis=axes) for f in found], 1).reshape(len(x), *counts, -1)
    return y[(slice(None), *[slice(None, -(-n // s)) for n, s in zip(x.shape[1:-1], strides)])]


@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("size", [(2, 2), (3, 2)])
def test_pool2d(size, mode, dim_ordering):
    reduce, fill = (np.max, -np.inf) if mode == "max" else (np.nanmean, np.nan)
    x, _ = in_layout(IMAGE, drawn(1, 1, 1, 1), dim_ordering)
    for border_mode in ("valid", "same"):
        options = {"border_mode": border_mode, "dim_ordering": dim_ordering, "pool_mode": mode}
        K.calculate_like("tensorflow")
        wide = oracle.padded(IMAGE, size, (2, 2), (1, 1), border_mode, fill)
        found, counts = oracle.windows(wide, size, (2, 2), (1, 1))
        want = np.stack([reduce(f, axis=(1, 2)) for f in found], 1).reshape(2, *counts, -1)
        got = back(K.pool2d(x, size, strides=(2, 2), **options), dim_ordering)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        if border_mode == "same":
            K.calculate_like("theano")
            got = back(K.pool2d(x, size, strides=(2, 2), **options), dim_ordering)
            want = theano_pool(IMAGE, size, (2, 2), reduce, fill)
            np.testing.assert_allclose(got, want, rtol=1e-5)


def test_pool3d():
    y = K.pool3d(K.variable(VOLUME), (2, 1, 2), strides=(2, 1, 2), dim_ordering="tf")
    want = VOLUME.reshape(2, 2, 2, 3, 2, 2, 2).max((2, 5))
    np.testing.assert_allclose(K.eval(y), want)


def test_variables_have_names_and_ask_for_themselves():
    first, second = K.zeros((2,)), K.variable(1.0)
    assert first.name != second.name and first.name.startswith("variable_")
    assert (True if first else False) and K.variable(0.0, name="b").name == "b"
    with pytest.raises(TypeError, match="truth value"):
        bool(first + 1)
    assert K.is_keras_tensor(K.placeholder((2,))) and not K.is_keras_tensor(np.ones(2))


def test_rnn_and_function():
    x = drawn(2, 4, 3)
    cell = lambda x, states: (x + states[0], [x + states[0]])
    last, outputs, states = K.rnn(cell, K.variable(x), [K.zeros((2, 3))], go_backwards=True)
    f = K.function([], [last, outputs, states[0]], updates=[])
    run = x[:, ::-1].cumsum(1)
    for got, want in zip(f([]), (run[:, -1], run, run[:, -1])):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: K.conv2d(K.ones((1, 1, 3, 3)), K.ones((1, 1, 2, 2)), dim_ordering="cf"), "'cf'"),
        (lambda: K.conv2d(K.ones((1, 1, 3, 3)), K.ones((1, 1, 2, 2)), border_mode="x"), "'x'"),
        (lambda: K.pool2d(K.ones((1, 1, 3, 3)), (2, 2), pool_mode="sum"), "'sum'"),
        (lambda: K.calculate_like("cntk"), "'cntk'"),
        (lambda: K.set_legacy_weight_ordering("yes"), "'yes'"),
    ],
)
def test_wrong_words_are_said(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


def test_repeat_takes_a_tensor():
    x, y = K.placeholder((None, 3)), K.placeholder((None, None, 2))
    f = K.function([x, y], [K.repeat(x, K.shape(y)[1])])
    a = drawn(2, 3)
    for n in (4, 1, 0):
        np.testing.assert_array_equal(f([a, drawn(2, n, 2)])[0], a[:, None].repeat(n, 1))
    assert K.int_shape(K.repeat(x, 5)) == (None, 5, 3)
    with pytest.raises(ValueError, match="n of repeat"):
        K.repeat(x, -1)


def test_costs_with_dimensions_are_summed():
    x = K.variable(X)
    np.testing.assert_allclose(K.eval(K.gradients(K.square(x)[:, 1], [x])[0])[:, 1], 2 * X[:, 1])


def test_a_label_that_is_no_class_ends_a_sequence():
    y = np.full((1, 4, 3), 1 / 3)
    cost = lambda labels, n: K.eval(
        K.ctc_batch_cost(K.variable([labels]), K.variable(y), K.variable([[4]]), K.variable([[n]]))
    )
    np.testing.assert_array_equal(cost([0, 2, 2], 3), cost([0, 0, 0], 1))


def test_values_without_dimensions_are_scalars():
    x, v = K.placeholder((None,)), K.variable(0.5)
    (total,) = K.function([x], [K.sum(x)])([np.ones(3)])
    assert type(total) is type(K.get_value(v)) is type(K.eval(v)) is np.float32
    assert type(K.batch_get_value([v])[0]) is np.float32 and round(total, 2) == 3


def test_repeated_elements_carry_their_shape():
    assert K.repeat_elements(K.placeholder((None, 3)), 2, axis=1)._keras_shape == (None, 6)


def test_pictures_of_scipy_misc(tmp_path):
    pytest.importorskip("PIL")
    from ckernels.compat import _pictures as P

    floats = rng.normal(size=(5, 7, 3))
    want = (255 * (floats - floats.min()) / np.ptp(floats) + 0.5).astype("uint8")
    P.imsave(str(tmp_path / "a.png"), floats)
    np.testing.assert_array_equal(P.imread(str(tmp_path / "a.png")), want)
    np.testing.assert_array_equal(P.bytescale(want), want)
    P.imsave(str(tmp_path / "b.png"), want[:, :, 0])
    grey = P.imread(str(tmp_path / "b.png"))
    np.testing.assert_array_equal(grey, want[:, :, 0])
    assert P.imread(str(tmp_path / "b.png"), mode="RGB").shape == (5, 7, 3)
    assert P.imread(str(tmp_path / "a.png"), flatten=True).dtype == np.float32
    assert P.imresize(want, (10, 4)).shape == (10, 4, 3)
    assert P.imresize(want, 200).shape == P.imresize(want, 2.0).shape == (10, 14, 3)
    assert P.toimage(np.moveaxis(want, 2, 0)).size == (7, 5)
    with pytest.raises(ValueError, match="interp"):
        P.imresize(want, 2.0, interp="none")
    with pytest.raises(ValueError, match="channels"):
        P.toimage(np.zeros((5, 5, 5)))


def test_scipy_misc_gets_only_what_it_lacks():
    import types

    from ckernels.compat import _pictures as P

    misc = types.SimpleNamespace(imread="theirs")
    P.add(misc)
    assert misc.imread == "theirs" and misc.imsave is P.imsave


def test_without_a_dim_ordering():
    """The documents say 'th'; what Keras 1.2.2 itself is given takes the configured one."""
    from ckernels.compat import _taking1

    padded = np.pad(IMAGE, ((0, 0), (1, 1), (2, 2), (0, 0)))
    kernel = drawn(2, 2, 3, 4)
    for name in _taking1.FIRST_DOCUMENTED:
        ours, given = getattr(K, name), _taking1._as_configured(getattr(K, name))
        assert inspect.signature(ours).parameters["dim_ordering"].default == "th"
        assert inspect.signature(given).parameters["dim_ordering"].default == "default"
        assert given.__doc__ == ours.__doc__ and given.__name__ == name
    pad = _taking1._as_configured(K.spatial_2d_padding)
    convolve = _taking1._as_configured(K.conv2d)
    pool = _taking1._as_configured(K.pool2d)
    with config.change(image_data_format="channels_last"):
        assert pad(K.variable(IMAGE), (1, 2)).eval().shape == padded.shape
        assert convolve(K.variable(IMAGE), K.variable(kernel)).eval().shape == (2, 4, 5, 4)
        assert pool(K.variable(IMAGE), (2, 3)).eval().shape == (2, 4, 4, 3)
    with config.change(image_data_format="channels_first"):
        np.testing.assert_array_equal(
            pad(K.variable(IMAGE), (1, 2)).eval(),
            K.spatial_2d_padding(K.variable(IMAGE), (1, 2)).eval(),
        )
