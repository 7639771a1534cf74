"""Theano's convolutions, upsampling and neighbourhoods against SciPy, loops and definitions."""

import numpy as np
import pytest
from ops.loops import convolved
from scipy import signal as sp

import ckernels as K
from ckernels.compat import nnet

RNG = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def through_numpy():
    with K.config.change(mode="reference", floatX="float64"):
        yield


def normal(*shape):
    return RNG.normal(size=shape)


def theano(x, w, groups=1, flip=True, **options):
    """Convolution by loops in Theano's order of axes."""
    n = x.ndim - 2
    w = np.moveaxis(w, (0, 1), (-1, -2))
    if flip:
        w = np.flip(w, tuple(range(n)))
    return np.moveaxis(convolved(np.moveaxis(x, 1, -1), w, groups, **options), -1, 1)


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_conv2d_is_scipys(mode):
    x, w = normal(2, 3, 6, 5), normal(4, 3, 3, 2)
    want = [
        [sum(sp.convolve2d(x[b, c], w[o, c], mode) for c in range(3)) for o in range(4)]
        for b in range(2)
    ]
    np.testing.assert_allclose(nnet.conv2d(K.constant(x), w, border_mode=mode).eval(), want)


@pytest.mark.parametrize(
    "border, padding",
    [
        ("half", "half"),
        (1, 1),
        ((2, 0), (2, 0)),
        ((1, (2, 0)), (1, (2, 0))),
        (((1, 2), (0, 1)), ((1, 2), (0, 1))),
        ([1, 2], (1, 2)),
    ],
)
@pytest.mark.parametrize("flip", [True, False])
def test_border_modes(border, padding, flip):
    x, w = normal(1, 4, 6, 5), normal(4, 2, 3, 2)
    got = nnet.conv2d(
        K.constant(x),
        w,
        border_mode=border,
        filter_flip=flip,
        num_groups=2,
        subsample=(1, 2),
        filter_dilation=(2, 1),
    ).eval()
    want = theano(x, w, 2, flip, padding=padding, strides=(1, 2), dilation=(2, 1))
    np.testing.assert_allclose(got, want)
    shape = nnet.get_conv_output_shape((1, 4, 6, 5), (4, 2, 3, 2), border, (1, 2), (2, 1))
    assert shape == got.shape


def test_conv3d():
    x, w = normal(1, 2, 4, 3, 5), normal(3, 2, 2, 2, 3)
    got = nnet.conv3d(K.constant(x), w, border_mode=(0, 1, 2), subsample=(2, 1, 1)).eval()
    np.testing.assert_allclose(got, theano(x, w, padding=(0, 1, 2), strides=(2, 1, 1)))


def test_movies():
    x, w = normal(1, 4, 2, 3, 5), normal(3, 2, 2, 2, 3)
    want = theano(np.moveaxis(x, 1, 2), np.moveaxis(w, 1, 2), padding="full")
    got = nnet.conv3d2d(K.constant(x), w, border_mode="full").eval()
    np.testing.assert_allclose(got, np.moveaxis(want, 1, 2))


def test_causal():
    x, w = normal(2, 4, 7), normal(6, 2, 3)
    got = nnet.causal_conv1d(K.constant(x), w, (6, 2, 3), filter_dilation=2, num_groups=2).eval()
    np.testing.assert_allclose(got, theano(x, w, 2, padding="causal", dilation=2))
    filters = normal(2, 7, 4, 3)
    got = nnet.causal_conv1d(K.constant(x), filters, None, unshared=True).eval()
    np.testing.assert_allclose(got, unshared(x, filters, padding=("causal",)))


def unshared(x, filters, groups=1, flip=True, **options):
    """Each place by a whole convolution with its filters."""
    n = x.ndim - 2
    places = filters.shape[1 : n + 1]
    out = np.zeros((x.shape[0], filters.shape[0], *places))
    for at in np.ndindex(*places):
        at = (slice(None), slice(None), *at)
        out[at] = theano(x, filters[(slice(None), *at[2:])], groups, flip, **options)[at]
    return out


OPTIONS = {"border_mode": (1, (0, 1)), "subsample": (2, 1), "num_groups": 2}


@pytest.mark.parametrize("flip", [True, False])
def test_unshared(flip):
    x, w = normal(2, 4, 5, 4), normal(4, 3, 4, 2, 3, 2)
    got = nnet.conv2d(K.constant(x), w, unshared=True, filter_flip=flip, **OPTIONS).eval()
    np.testing.assert_allclose(got, unshared(x, w, 2, flip, padding=(1, (0, 1)), strides=(2, 1)))


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("is_unshared", [True, False])
def test_explicit_gradients_are_the_gradients(flip, is_unshared):
    places = (3, 4) if is_unshared else ()
    x, w = K.constant(normal(2, 4, 5, 4)), K.constant(normal(4, *places, 2, 3, 2))
    options = {**OPTIONS, "filter_flip": flip, "unshared": is_unshared}
    y = nnet.conv2d(x, w, **options)
    g = normal(2, 4, 3, 4)
    want = K.gradients(K.sum(y * g), [x, w])
    rows, columns = K.constant(5, "int64"), 4
    got = [
        nnet.conv2d_grad_wrt_inputs(g, w, (None, 4, rows, columns), **options),
        nnet.conv2d_grad_wrt_weights(x, g, (*K.int_shape(w)[:-2], 3, 2), **options),
    ]
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.eval(), b.eval(), atol=1e-10)
    up = nnet.conv2d_transpose(
        g,
        w,
        (2, 4, 5, 4),
        None,
        OPTIONS["border_mode"],
        (2, 1),
        flip,
        num_groups=2,
        unshared=is_unshared,
    )
    np.testing.assert_allclose(up.eval(), want[0].eval(), atol=1e-10)


def test_explicit_gradients_in_3d():
    x, w = K.constant(normal(1, 2, 4, 3, 3)), K.constant(normal(3, 2, 2, 2, 2))
    y = nnet.conv3d(x, w, subsample=(2, 1, 1))
    g = normal(1, 3, 2, 2, 2)
    want = K.gradients(K.sum(y * g), [x, w])
    got = [
        nnet.conv3d_grad_wrt_inputs(g, w, (1, 2, 4, 3, 3), subsample=(2, 1, 1)),
        nnet.conv3d_grad_wrt_weights(x, g, (3, 2, 2, 2, 2), subsample=(2, 1, 1)),
    ]
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.eval(), b.eval(), atol=1e-10)


def test_sizes_of_gradients_may_be_left_open_without_a_stride():
    g, w = K.ones((1, 3, 4, 4)), K.ones((3, 2, 2, 3))
    assert K.int_shape(nnet.conv2d_grad_wrt_inputs(g, w, (None,) * 4)) == (1, 2, 5, 6)
    x = K.ones((1, 2, 5, 6))
    assert K.int_shape(nnet.conv2d_grad_wrt_weights(x, g, (None,) * 4)) == (3, 2, 2, 3)
    with pytest.raises(ValueError, match="filter_shape"):
        nnet.conv2d_grad_wrt_weights(x, g, (None,) * 4, border_mode="half")


def test_shape_helpers():
    unknown = (None, 3, None, 5)
    assert nnet.get_conv_output_shape(unknown, (7, 3, 3, 3), "valid", (1, 1)) == (None, 7, None, 3)
    assert nnet.get_conv_output_shape((2, 3, 9, 9), (7, 8, 8, 3, 2, 2), "half", (1, 1)) == (
        2,
        7,
        10,
        10,
    )
    for k in (1, 2, 3, 4):
        for d in (1, 2):
            for mode in ("valid", "full", 1, "half"):
                o = nnet.get_conv_shape_1axis(9, k, mode, 1, d)
                back = nnet.get_conv_gradinputs_shape((7, 3, k), (2, 7, o), mode, (1,), (d,))
                assert back == (2, 3, 9)
                weights = nnet.get_conv_gradweights_shape((2, 3, 9), (2, 7, o), mode, (1,), (d,))
                assert weights == (7, 3, None if mode == "half" else k)
    assert nnet.get_conv_gradinputs_shape((7, 3, 4), (2, 7, 3), "valid", (2,)) == (2, 3, None)
    assert nnet.get_conv_gradweights_shape((2, 4, 9), (2, 6, 8), 0, (2,), None, 2, True) == (
        6,
        8,
        2,
        None,
    )
    shapes = (2, 3, 8), (7, 3, 4), (2, 7, 3)
    assert nnet.check_conv_gradinputs_shape(*shapes, "valid", (2,))
    assert not nnet.check_conv_gradinputs_shape(*shapes[:2], (2, 7, 4), "valid", (2,))
    assert not nnet.check_conv_gradinputs_shape(*shapes[:2], (2, 6, 3), "valid", (2,))
    assert not nnet.check_conv_gradinputs_shape(*shapes[:2], (2, 7, -1), "valid", (2,))
    assert nnet.check_conv_gradinputs_shape((2, 3, None), (7, 3, 4), (2, 7, 9), "valid", (2,))
    assert nnet.border_mode_to_pad("full", 2, (3, 4)) == ((2, 2), (3, 3))
    assert nnet.border_mode_to_pad(2, 3, (1, 2, 3)) == ((2, 2),) * 3


def test_assertions_about_shapes():
    n = K.placeholder((), dtype="int64")
    assert nnet.assert_conv_shape((0, 2, 3, None)) == (0, 2, 3, None)
    for bad in ((-1, 2, 3), (1, -2, 3), (1, 2, 0)):
        with pytest.raises(ValueError, match="at least"):
            nnet.assert_conv_shape(bad)
    f = K.function([n], nnet.assert_conv_shape((1, 2, n))[2])
    assert f(3) == 3
    with pytest.raises(AssertionError, match="entry 2"):
        f(0)
    x = K.placeholder((2, None))
    assert nnet.assert_shape(x, None) is x and nnet.assert_shape(x, (None, None)) is x
    assert nnet.assert_shape(x, (2, None)) is x
    f = K.function([x, n], nnet.assert_shape(x, (2, n), "Odd."))
    assert f(np.ones((2, 4)), 4).shape == (2, 4)
    with pytest.raises(AssertionError, match="Odd"):
        f(np.ones((2, 4)), 5)
    for bad in ((3, None), (2, 3, 4)):
        with pytest.raises(AssertionError, match="Unexpected"):
            nnet.assert_shape(x, bad)


# --- upsampling -------------------------------------------------------------------------------


def test_bilinear_kernels():
    for ratio in (1, 2, 3, 5):
        line = nnet.bilinear_kernel_1D(ratio).eval()
        assert len(line) == 2 * ratio - 1 and line.max() == 1
        np.testing.assert_allclose(line.sum(), ratio)
        np.testing.assert_array_equal(nnet.bilinear_kernel_1D(ratio, False).eval(), line * ratio)
        np.testing.assert_allclose(nnet.bilinear_kernel_2D(ratio).eval(), np.outer(line, line))


@pytest.mark.parametrize("ratio", [1, 2, 3, 4, 5])
def test_bilinear_upsampling_is_a_transposed_convolution(ratio):
    """Of the images with their edges repeated once, by the kernel of the manual, cropped so that
    an even ratio repeats the end once more."""
    x = normal(2, 3, 4, 5)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge").reshape(6, 1, 6, 7)
    crop = 2 * ratio - (ratio - 1) // 2 - 1
    kernel = nnet.bilinear_kernel_2D(ratio).eval()[None, None]
    want = nnet.conv2d_grad_wrt_inputs(
        wide, kernel, (None, None, 4 * ratio, 5 * ratio), border_mode=crop, subsample=(ratio, ratio)
    ).eval()
    for one in (True, False):
        got = nnet.bilinear_upsampling(K.constant(x), ratio, use_1D_kernel=one).eval()
        np.testing.assert_allclose(got, want.reshape(2, 3, 4 * ratio, 5 * ratio))
    if ratio % 2 == 0:
        assert (got[..., -1] == got[..., -1 - ratio // 2]).all()
        assert (got[..., 0] == got[..., ratio // 2 - 1]).all()


def test_frac_bilinear_upsampling():
    x = normal(1, 2, 4, 6)
    up = nnet.bilinear_upsampling(K.constant(x), 3).eval()
    got = nnet.bilinear_upsampling(K.constant(x), frac_ratio=(6, 4)).eval()
    np.testing.assert_allclose(got, up[:, :, ::2, ::2])
    got = nnet.frac_bilinear_upsampling(K.constant(x), ((3, 2), (1, 2))).eval()
    assert got.shape == (1, 2, 6, 3)
    shape = K.placeholder((None, 1, None, 3))
    f = K.function([shape], nnet.frac_bilinear_upsampling(shape, (3, 2)))
    assert f(normal(2, 1, 5, 3)).shape == (2, 1, 8, 5)  # every second of 15 and of 9


# --- neighbourhoods ---------------------------------------------------------------------------


def test_images2neibs_of_the_manual():
    x = np.arange(100.0).reshape(1, 1, 10, 10)
    rows = nnet.images2neibs(K.constant(x), (5, 5)).eval()
    assert rows.shape == (4, 25)
    assert rows[:, 0].tolist() == [0, 5, 50, 55] and rows[0, :6].tolist() == [0, 1, 2, 3, 4, 10]
    back = nnet.neibs2images(K.constant(rows), (5, 5), x.shape).eval()
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize("mode", ["valid", "ignore_borders", "half", "full", "wrap_centered"])
def test_images2neibs(mode):
    x = normal(2, 3, 7, 8)
    pads = {"half": (1, 1), "full": (2, 2), "wrap_centered": (1, 1)}.get(mode, (0, 0))
    wide = np.pad(
        x, ((0, 0), (0, 0), pads, pads), "wrap" if mode == "wrap_centered" else "constant"
    )
    step = {
        "full": (2, 1),
        "half": (2, 1),
        "wrap_centered": (2, 3),
        "valid": (2, 5),
        "ignore_borders": (3, 3),
    }[mode]
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    want = windows[:, :, :: step[0], :: step[1]].reshape(-1, 9)
    given = None if mode == "ignore_borders" else step
    for shape in (x.shape, (None,) * 4):
        a = K.placeholder(shape)
        got = K.function([a], nnet.images2neibs(a, (3, 3), given, mode))(x)
        np.testing.assert_array_equal(got, want)


def test_windows_must_divide_the_image():
    with pytest.raises(ValueError, match="do not divide"):
        nnet.images2neibs(K.ones((1, 1, 7, 6)), (3, 3))
    a = K.placeholder((None,) * 4)
    f = K.function([a], nnet.images2neibs(a, (3, 3)))
    assert f(np.ones((1, 2, 6, 3))).shape == (4, 9)
    with pytest.raises(ValueError, match="do not divide"):
        f(np.ones((1, 1, 7, 6)))


def test_gradients_of_neighbourhoods():
    x = K.placeholder((1, 1, 5, 4))
    cost = K.sum(K.square(nnet.images2neibs(x, (2, 2), (1, 1))))
    value = normal(1, 1, 5, 4)
    times = np.outer([1, 2, 2, 2, 1], [1, 2, 2, 1])
    np.testing.assert_allclose(K.function([x], K.gradients(cost, [x])[0])(value), 2 * value * times)
    rows = K.placeholder((None, 4))
    shape = K.placeholder((4,), dtype="int64")
    f = K.function([rows, shape], nnet.neibs2images(rows, (2, 2), shape))
    assert f(normal(6, 4), [1, 1, 4, 6]).shape == (1, 1, 4, 6)


@pytest.mark.parametrize(
    "build, match",
    [
        (lambda x, w: nnet.conv2d(x, w, border_mode="same"), "border_mode"),
        (lambda x, w: nnet.conv2d(x, w, border_mode=-1), "at least 0"),
        (lambda x, w: nnet.conv2d(x, w, input_shape=(1, 4, 6, 6)), "contradicts"),
        (lambda x, w: nnet.conv2d(x, w, filter_shape=(6, 4, 3)), "entries"),
        (lambda x, w: nnet.conv2d(x, w, num_groups=3), "groups"),
        (lambda x, w: nnet.conv2d(x, w, subsample=(0, 1)), "strides"),
        (lambda x, w: nnet.conv2d(x[0], w), "4 dimensions"),
        (lambda x, w: nnet.conv2d(x, w, unshared=True), "unshared"),
        (lambda x, w: nnet.conv2d(x, K.ones((2, 3, 3, 4, 2, 2)), unshared=True), "sizes"),
        (lambda x, w: nnet.conv2d(x, K.ones((2, 4, 4, 3, 2, 2)), unshared=True), "channels"),
        (lambda x, w: nnet.conv2d_grad_wrt_inputs(x, w, None), "input_shape"),
        (lambda x, w: nnet.conv2d_grad_wrt_inputs(x, w[:5], (1, 1, 7, 7)), "channels"),
        (lambda x, w: nnet.bilinear_upsampling(x), "either"),
        (lambda x, w: nnet.bilinear_upsampling(x, 2, (1, 2)), "either"),
        (lambda x, w: nnet.bilinear_upsampling(x, 0), "at least 1"),
        (lambda x, w: nnet.frac_bilinear_upsampling(x, (1, 2, 3)), "pair"),
        (lambda x, w: nnet.images2neibs(x, (2, 2), mode="near"), "mode"),
        (lambda x, w: nnet.images2neibs(x, (2, 2), mode="wrap_centered"), "odd"),
        (lambda x, w: nnet.images2neibs(x, (7, 7), mode="wrap_centered"), "larger"),
        (lambda x, w: nnet.neibs2images(x[0, 0], (2, 2), (1, 1, 5, 5)), "columns"),
        (lambda x, w: nnet.neibs2images(x[0], (2, 2), (1, 1, 5, 5)), "matrix"),
    ],
)
def test_errors(build, match):
    with pytest.raises(ValueError, match=match):
        build(K.ones((2, 4, 5, 5)), K.ones((6, 4, 3, 3)))
