"""Theano's pooling of the last axes and convolution of single images."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import signal as sp

import ckernels as K
from ckernels.compat import signal

RNG = np.random.default_rng(13)


@pytest.fixture(autouse=True)
def through_numpy():
    with K.config.change(mode="reference", floatX="float64"):
        yield


def starts(size, window, stride, pad, ignore_border):
    """Where windows start, by the rules in the manual's words."""
    if ignore_border:
        return range(-pad, size + pad - window + 1, stride)
    if stride >= window:
        return range(0, size, stride)
    return range(0, max(0, size - 1 - window + stride) // stride * stride + 1, stride)


def pooled(x, ws, ignore_border, stride, pad, mode):
    """One window at a time; padding is left out but for "average_inc_pad"."""
    n = len(ws)
    axes = [starts(*a, ignore_border) for a in zip(x.shape[-n:], ws, stride, pad)]
    out = np.zeros(x.shape[:-n] + tuple(map(len, axes)))
    for at in itertools.product(*(enumerate(a) for a in axes)):
        window = x[(..., *(slice(max(s, 0), s + w) for (_, s), w in zip(at, ws)))]
        flat = window.reshape(*x.shape[:-n], -1)
        place = (..., *(k for k, _ in at))
        if mode == "max":
            out[place] = flat.max(-1)
        else:
            out[place] = flat.sum(-1)
        if mode == "average_exc_pad" or (mode == "average_inc_pad" and not ignore_border):
            out[place] /= flat.shape[-1]
        elif mode == "average_inc_pad":
            out[place] /= np.prod(ws)
    return out


MODES = ["max", "sum", "average_inc_pad", "average_exc_pad"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6), (2, 3, 5, 6), (2, 1, 3, 5, 6)])
def test_pool_2d(shape, mode):
    x = RNG.normal(size=shape)
    for ws, border, stride, pad in (
        ((2, 2), True, None, (0, 0)),
        ((2, 2), False, None, (0, 0)),
        ((3, 2), True, (1, 2), (2, 1)),
        ((2, 3), False, (1, 2), (0, 0)),
        ((1, 2), False, (2, 3), (0, 0)),
        ((7, 2), False, None, (0, 0)),
    ):
        want = pooled(x, ws, border, stride or ws, pad, mode)
        for known in (shape, (None,) * len(shape)):
            a = K.placeholder(known)
            y = signal.pool_2d(a, ws, border, stride, pad, mode)
            np.testing.assert_allclose(K.function([a], y)(x), want, atol=1e-12)


def test_pool_3d():
    x = RNG.normal(size=(2, 5, 4, 6))
    for mode in MODES:
        y = signal.pool_3d(K.constant(x), (2, 3, 2), True, (1, 1, 2), (1, 2, 0), mode)
        want = pooled(x, (2, 3, 2), True, (1, 1, 2), (1, 2, 0), mode)
        np.testing.assert_allclose(y.eval(), want, atol=1e-12)
    x = K.ones((5, 5, 5))
    assert K.int_shape(signal.pool_3d(x, (2, 2, 2), True)) == (2, 2, 2)
    assert K.int_shape(signal.pool_3d(x, (2, 2, 2), False)) == (3, 3, 3)


def test_old_names_and_defaults_warn():
    x = K.constant(np.arange(25.0).reshape(5, 5))
    with pytest.warns(UserWarning, match="ignore_border"):
        y = signal.pool_2d(x, (2, 2))
    assert K.int_shape(y) == (3, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = signal.pool_2d(x, ds=(2, 2), st=(1, 1), padding=(1, 1), ignore_border=True)
    assert len(caught) == 3 and caught[0].filename == __file__
    assert K.int_shape(y) == (6, 6)


def test_constant_vectors_are_windows():
    x = K.constant(np.arange(25.0).reshape(5, 5))
    ws = K.constant([2, 2], "int64")
    np.testing.assert_array_equal(signal.pool_2d(x, ws, True).eval(), [[6, 8], [16, 18]])


def test_max_pool_2d_same_size():
    x = RNG.permutation(48).reshape(1, 2, 4, 6) + 1.0
    y = signal.max_pool_2d_same_size(K.constant(x), (2, 2)).eval()
    assert y.shape == x.shape
    blocks = y.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(-1, 4)
    assert ((blocks > 0).sum(1) == 1).all()
    want = x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(-1, 4).max(1)
    np.testing.assert_array_equal(blocks.max(1), want)
    assert (signal.max_pool_2d_same_size(K.ones((1, 1, 2, 2)), (2, 2)).eval().sum()) == 1


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_conv2d(mode):
    images, filters = RNG.normal(size=(2, 5, 6)), RNG.normal(size=(3, 3, 2))
    want = np.array([[sp.convolve2d(i, f, mode)[::2, ::1] for f in filters] for i in images])
    for x, w, part in (
        (images, filters, want),
        (images[0], filters, want[0]),
        (images, filters[1], want[:, 1]),
        (images[0], filters[1], want[0, 1]),
    ):
        got = signal.conv2d(K.constant(x), w, border_mode=mode, subsample=(2, 1))
        np.testing.assert_allclose(got.eval(), part, atol=1e-12)
        assert K.int_shape(got) == part.shape


@pytest.mark.parametrize(
    "build, match",
    [
        (lambda x: signal.pool_2d(x, None, True), "ws"),
        (lambda x: signal.pool_2d(x, (2,), True), "2 integers"),
        (lambda x: signal.pool_2d(x, (2, 2), True, mode="median"), "mode"),
        (lambda x: signal.pool_2d(x, (2, 2), False, pad=(1, 0)), "ignore_border=True"),
        (lambda x: signal.pool_2d(x, (2, 2), True, pad=(2, 0)), "smaller than the window"),
        (lambda x: signal.pool_2d(x, (2, 2), True, stride=(0, 1)), "strides"),
        (lambda x: signal.pool_2d(x[0, 0, 0], (2, 2), True), "2 dimensions"),
        (lambda x: signal.conv2d(x, x), "2 or 3 dimensions"),
        (lambda x: signal.conv2d(x[0], x[0], border_mode="half"), "border_mode"),
        (lambda x: signal.conv2d(x[0], x[0], image_shape=(2, 9, 9)), "contradicts"),
    ],
)
def test_errors(build, match):
    with pytest.raises(ValueError, match=match):
        build(K.ones((1, 2, 5, 5)))


def test_windows_are_known_when_the_graph_is_built():
    with pytest.raises(NotImplementedError, match="known"):
        signal.pool_2d(K.ones((5, 5)), K.placeholder((2,), dtype="int64"), True)


def test_a_window_that_does_not_fit_gives_nothing():
    """As in Theano 1.0.5: Pool.out_shape is 0 there."""
    x = K.zeros((2, 3, 5, 4))
    assert signal.pool_2d(x, (6, 2), True).eval().shape == (2, 3, 0, 2)
