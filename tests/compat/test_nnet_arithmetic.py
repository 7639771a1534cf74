"""The relationships of the Theano manual's chapter on convolution arithmetic, each by its number.

Sizes: input i, kernel k, stride s, padding p, dilation d, result o; a prime for the transposed
convolution, which is the gradient with respect to the input.
"""

import numpy as np
import pytest
from scipy import signal

import ckernels as K
from ckernels.compat import nnet

RNG = np.random.default_rng(11)
SIZES = range(1, 5)


@pytest.fixture(autouse=True)
def through_numpy():
    with K.config.change(mode="reference"):
        yield


def forward(i, k, s=1, p="valid", d=1):
    """The size of conv2d's result: of the graph, and of what it computes; another size for the
    other axis, because axes do not interact.
    """
    x, w = K.placeholder((1, 2, i, 7)), K.placeholder((3, 2, k, 2))
    mode = p if isinstance(p, str) else (p, 0)
    y = nnet.conv2d(x, w, border_mode=mode, subsample=(s, 1), filter_dilation=(d, 1))
    value = K.function([x, w], y)(np.ones((1, 2, i, 7), "f"), np.ones((3, 2, k, 2), "f"))
    assert value.shape == K.int_shape(y)
    other = {"valid": 6, "half": 8, "full": 8}[p] if isinstance(p, str) else 6
    assert value.shape[:2] + value.shape[3:] == (1, 3, other)
    return value.shape[2]


def backward(i, k, s=1, p="valid", size=None):
    """The size of the transposed convolution of i elements; None where it must be given."""
    g, w = K.placeholder((1, 3, i, 1)), K.placeholder((3, 2, k, 1))
    mode = p if isinstance(p, str) else (p, 0)
    x = nnet.conv2d_grad_wrt_inputs(g, w, (None, None, size, 1), border_mode=mode, subsample=(s, 1))
    value = K.function([g, w], x)(np.ones((1, 3, i, 1), "f"), np.ones((3, 2, k, 1), "f"))
    assert value.shape == K.int_shape(x) and value.shape[1] == 2
    return value.shape[2]


def test_relationship_1_no_padding_unit_strides():
    assert forward(4, 3) == 2
    assert all(forward(i, k) == i - k + 1 for i in (4, 5, 7) for k in SIZES)


def test_relationship_2_padding_unit_strides():
    assert forward(5, 4, p=2) == 6
    assert all(forward(5, k, p=p) == 5 - k + 2 * p + 1 for k in SIZES for p in (0, 1, 3))


def test_relationship_3_half_padding():
    assert forward(5, 3, p="half") == 5
    assert all(forward(i, k, p="half") == i for i in (3, 6) for k in (1, 3, 5))
    assert forward(5, 4, p="half") == 6  # even kernels are allowed, the size changes


def test_relationship_4_full_padding():
    assert forward(5, 3, p="full") == 7
    assert all(forward(i, k, p="full") == i + k - 1 for i in (3, 6) for k in SIZES)


def test_relationship_5_strides():
    assert forward(5, 3, 2) == 2
    assert all(forward(i, k, s) == (i - k) // s + 1 for i in (5, 6) for k in SIZES for s in SIZES)


def test_relationship_6_padding_and_strides():
    assert forward(5, 3, 2, 1) == forward(6, 3, 2, 1) == 3
    assert all(
        forward(6, k, s, p) == (6 + 2 * p - k) // s + 1
        for k in SIZES
        for s in SIZES
        for p in (1, 2)
    )


def test_relationship_7_transposed():
    assert backward(2, 3) == 4
    assert all(backward(i, k) == i + k - 1 for i in SIZES for k in SIZES)


def test_relationship_7_is_a_full_convolution():
    """With the filter turned around and its channels exchanged."""
    g, w = RNG.normal(size=(1, 3, 4, 5)), RNG.normal(size=(3, 2, 3, 2))
    x = nnet.conv2d_grad_wrt_inputs(K.constant(g), w, (None, None, 6, 6), filter_flip=False)
    full = nnet.conv2d(K.constant(g), w.transpose(1, 0, 2, 3), border_mode="full")
    np.testing.assert_allclose(x.eval(), full.eval(), rtol=1e-5, atol=1e-6)


def test_relationship_8_transposed_padding():
    assert backward(6, 4, p=2) == 5
    assert all(backward(6, k, p=p) == 6 + (k - 1) - 2 * p for k in (3, 4) for p in (0, 1, 2))


def test_relationship_9_transposed_half():
    assert backward(5, 3, p="half") == 5
    assert all(backward(i, k, p="half") == i for i in (3, 6) for k in (1, 3, 5))


def test_relationship_10_transposed_full():
    assert backward(7, 3, p="full") == 5
    assert all(backward(7, k, p="full") == 7 - (k - 1) for k in SIZES)


def test_relationship_11_transposed_strides():
    assert backward(2, 3, 2, size=5) == 5
    for i, k, s in ((2, 3, 2), (3, 2, 4), (4, 3, 3)):
        size = s * (i - 1) + k
        assert forward(size, k, s) == i and backward(i, k, s, size=size) == size


def test_relationship_12_transposed_strides_and_padding():
    assert backward(3, 3, 2, 1, size=5) == 5
    for i, k, s, p in ((3, 3, 2, 1), (4, 5, 2, 2), (3, 4, 3, 1)):
        size = s * (i - 1) + k - 2 * p
        assert forward(size, k, s, p) == i and backward(i, k, s, p, size) == size


def test_relationship_13_transposed_with_a_remainder():
    assert backward(3, 3, 2, 1, size=6) == 6 and backward(3, 4, 2, 0, size=9) == 9
    for i, k, s, p in ((3, 3, 2, 1), (3, 4, 3, 0)):
        for a in range(s):
            size = s * (i - 1) + a + k - 2 * p
            assert forward(size, k, s, p) == i and backward(i, k, s, p, size) == size
        for size in (s * (i - 1) + k - 2 * p - 1, s * i + k - 2 * p):
            with pytest.raises(ValueError, match="sizes"):
                backward(i, k, s, p, size)


def test_relationship_13_the_size_must_be_given_with_a_stride():
    with pytest.raises(ValueError, match="input_shape"):
        backward(3, 3, 2)
    assert backward(3, 3, 1) == 5


def test_the_manuals_call_with_two_entries():
    x = nnet.conv2d_grad_wrt_inputs(
        K.ones((1, 1, 3, 3)), K.ones((1, 1, 4, 4)), input_shape=(9, 9), subsample=(2, 2)
    )
    assert K.int_shape(x) == (1, 1, 9, 9)


def test_relationship_14_dilation():
    assert forward(7, 3, d=2) == 3
    for k in (1, 2, 3):
        for d in (1, 2, 3):
            for s, p in ((1, 0), (2, 1)):
                want = (7 + 2 * p - k - (k - 1) * (d - 1)) // s + 1
                assert forward(7, k, s, p, d) == want


def test_grouped():
    """Filters (c1, c2 / n, k1, k2): each group of channels by its own filters."""
    x, w = RNG.normal(size=(2, 6, 5, 5)), RNG.normal(size=(4, 3, 2, 2))
    y = nnet.conv2d(K.constant(x), w, num_groups=2).eval()
    halves = [
        nnet.conv2d(K.constant(x[:, 3 * g : 3 * g + 3]), w[2 * g : 2 * g + 2]).eval()
        for g in range(2)
    ]
    np.testing.assert_allclose(y, np.concatenate(halves, 1), rtol=1e-5, atol=1e-6)
    assert y.shape == (2, 4, 4, 4)


def test_separable():
    """Depthwise, then 1 x 1."""
    x, d, p = (RNG.normal(size=s) for s in ((2, 2, 5, 5), (4, 1, 3, 3), (3, 4, 1, 1)))
    y = nnet.separable_conv2d(K.constant(x), d, p, 2, border_mode=(1, 1), subsample=(2, 2))
    each = nnet.conv2d(K.constant(x), d, border_mode=(1, 1), subsample=(2, 2), num_groups=2)
    np.testing.assert_allclose(y.eval(), nnet.conv2d(each, p).eval(), rtol=1e-5, atol=1e-6)
    assert K.int_shape(y) == (2, 3, 3, 3)


IMAGE = [[3, 3, 2, 1, 0], [0, 0, 1, 3, 1], [3, 1, 2, 2, 3], [2, 0, 0, 2, 2], [2, 0, 0, 0, 1]]
KERNEL = [[0, 1, 2], [2, 2, 0], [0, 1, 2]]


def test_the_figure_is_a_correlation():
    x, w = K.constant([[IMAGE]], "float32"), K.constant([[KERNEL]], "float32")
    figure = [[12, 12, 17], [10, 17, 19], [9, 6, 14]]
    flipped = [[18, 20, 19], [10, 9, 17], [11, 8, 14]]
    assert nnet.conv2d(x, w, filter_flip=False).eval()[0, 0].tolist() == figure
    assert nnet.conv2d(x, w).eval()[0, 0].tolist() == flipped
    assert signal.convolve2d(IMAGE, KERNEL, "valid").tolist() == flipped
    last = K.conv2d(K.permute_dimensions(x, (0, 2, 3, 1)), K.permute_dimensions(w, (2, 3, 0, 1)))
    assert last.eval()[0, :, :, 0].tolist() == figure


def test_half_is_not_same():
    """k = 2, s = 1: "half" gives i + 1, Keras's "same" i."""
    assert forward(5, 2, p="half") == 6
    assert K.int_shape(K.conv2d(K.ones((1, 5, 5, 1)), K.ones((2, 2, 1, 1)), padding="same")) == (
        1,
        5,
        5,
        1,
    )
    assert K.int_shape(K.conv2d(K.ones((1, 6, 5, 1)), K.ones((3, 3, 1, 1)), (2, 2), "same")) == (
        1,
        3,
        3,
        1,
    )


def test_as_a_matrix():
    """The chapter's C: conv is C x, its transpose C' y."""
    w = RNG.normal(size=(1, 1, 3, 3))
    units = np.eye(16).reshape(16, 1, 4, 4)
    c = nnet.conv2d(K.constant(units, "float64"), K.constant(w, "float64")).eval().reshape(16, 4).T
    assert (c != 0).sum() == 4 * 9
    y = RNG.normal(size=(1, 1, 2, 2))
    x = nnet.conv2d_grad_wrt_inputs(
        K.constant(y, "float64"), K.constant(w, "float64"), (1, 1, 4, 4)
    )
    np.testing.assert_allclose(x.eval().ravel(), c.T @ y.ravel())
