"""Shapes of convolutions that abstract_conv tells, beside those that NumPy's convolutions have."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor.nnet import abstract_conv as conv


def size_of(image, kernel, mode, step, dilation):
    """The size along one axis, by convolving ones."""
    held = np.zeros((kernel - 1) * dilation + 1)
    held[::dilation] = 1
    reach = len(held)
    low, high = {
        "valid": (0, 0), "full": (reach - 1,) * 2, "half": (reach // 2,) * 2,
    }.get(mode) or (mode if isinstance(mode, tuple) else (mode, mode))  # fmt: skip
    padded = np.pad(np.ones(image), (low, high))
    return len(np.convolve(padded, held, "valid")[::step])


MODES = ["valid", "full", "half", 1, 2, (0, 2)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_sizes_of_results_images_and_kernels(mode, step, dilation):
    for image in (5, 8):
        for kernel in (1, 2, 3):
            want = size_of(image, kernel, mode, step, dilation)
            found = conv.get_conv_shape_1axis(image, kernel, mode, step, dilation)
            assert found == want
            back = conv.get_conv_gradinputs_shape_1axis(kernel, want, mode, step, dilation)
            assert back == (image if step == 1 else None)
            back = conv.get_conv_gradweights_shape_1axis(image, want, mode, step, dilation)
            assert back == (kernel if step == 1 and mode != "half" else None)


def test_sizes_that_are_not_known():
    assert conv.get_conv_shape_1axis(None, 3, "valid", 1) is None
    assert conv.get_conv_gradinputs_shape_1axis(3, None, "valid", 1, 1) is None
    assert conv.get_conv_gradweights_shape_1axis(None, 3, "valid", 1, 1) is None
    assert conv.get_conv_output_shape((2, 3, None, 9), (7, 3, 3, 3), "half", (1, 2)) == (
        2, 7, None, 5,
    )  # fmt: skip
    assert conv.get_conv_gradweights_shape(
        (2, 4, 5, 6), (2, 8, 3, 4), "valid", (1, 1), num_groups=2, unshared=True
    ) == (8, 3, 4, 2, 3, 3)
    assert conv.get_conv_gradinputs_shape(
        (8, 2, 3, 3), (2, 8, 3, 4), "valid", (1, 1), num_groups=2
    ) == (2, 4, 5, 6)


@pytest.mark.parametrize("mode", MODES)
def test_padding_of_a_mode(mode):
    for kernel in (1, 2, 3, 5):
        ((low, high),) = conv.border_mode_to_pad(
            (mode,) if isinstance(mode, tuple) else mode, 1, (kernel,)
        )
        assert 11 + low + high - kernel + 1 == size_of(11, kernel, mode, 1, 1)


def test_modes_that_are_none():
    for mode in ("same", "causal", "around"):
        with pytest.raises(ValueError, match="border_mode|valid"):
            conv.border_mode_to_pad(mode, 2, (3, 3))


CHECKED = {
    "fits": ((2, 3, 9, 9), (7, 3, 4, 4), (2, 7, 3, 3), True),
    "another size": ((2, 3, 9, 9), (7, 3, 4, 4), (2, 7, 3, 4), False),
    "another batch": ((2, 3, 9, 9), (7, 3, 4, 4), (4, 7, 3, 3), False),
    "not known": ((2, 3, None, 9), (7, 3, 4, 4), (2, 7, 5, 3), True),
    "below 0": ((2, 3, 9, 9), (7, 3, 4, 4), (2, 7, -3, 3), False),
    "fewer axes": ((2, 3, 9, 9), (7, 3, 4, 4), (2, 7, 3), False),
}


@pytest.mark.parametrize("name", CHECKED)
def test_whether_shapes_go_together(name):
    image, kernel, result, fits = CHECKED[name]
    assert conv.check_conv_gradinputs_shape(image, kernel, result, "valid", (2, 2)) is fits


def test_entries_of_a_shape():
    n = T.lscalar("n")
    shape = conv.assert_conv_shape((2, None, n))
    assert shape[:2] == (2, None)
    f = theano.function([n], shape[2])
    assert f(3) == 3
    with pytest.raises(AssertionError, match="entry 2 .* at least 1"):
        f(0)
    for bad in ((-1, 2, 3), (1, 2, 0)):
        with pytest.raises(ValueError, match="must be at least"):
            conv.assert_conv_shape(bad)
    with pytest.raises(ValueError, match="at least two entries"):
        conv.get_conv_output_shape((3,), (7, 3, 3, 3), "valid", (1, 1))


def test_shapes_that_are_asserted():
    x, n = T.dmatrix("x"), T.lscalar("n")
    assert conv.assert_shape(x, None) is x and conv.assert_shape(x, (None, None)) is x
    f = theano.function([x, n], T.as_tensor_variable(conv.assert_shape(x, (n, 3), "Odd.")))
    assert f(np.ones((2, 3)), 2).shape == (2, 3)
    for shape, rows in (((2, 3), 3), ((2, 4), 2)):
        with pytest.raises(AssertionError, match="Odd."):
            f(np.ones(shape), rows)
    with pytest.raises(AssertionError, match="has 3 entries"):
        conv.assert_shape(x, (1, 2, 3))
    fixed = T.alloc(1.0, 2, 3)
    assert conv.assert_shape(fixed, (2, 3)) is fixed
    with pytest.raises(AssertionError, match="was expected"):
        conv.assert_shape(fixed, (2, 4))


def test_shapes_that_are_told():
    """input_shape has an entry for each axis of the images."""
    image, kernel = T.alloc(1.0, 2, 3, 5, 5), T.dtensor4("kernel")
    with pytest.raises(ValueError, match="input_shape .* has 3 entries"):
        conv.conv2d(image, kernel, input_shape=(2, 3, 5))


def test_arguments_that_only_made_it_faster_are_ignored_with_a_warning():
    """Programs of 2012 unroll loops by hand; a result never depended on it."""
    x, w = T.tensor4("x"), T.tensor4("w")
    with pytest.warns(UserWarning, match="conv2d ignores unroll_batch, unroll_patch") as caught:
        y = conv.conv2d(x, w, border_mode="full", unroll_batch=2, unroll_patch=True)
    assert [c.filename for c in caught] == [__file__]
    images, kernels = np.ones((1, 2, 3, 3), "float32"), np.ones((3, 2, 2, 2), "float32")
    plain = conv.conv2d(x, w, border_mode="full").eval({x: images, w: kernels})
    np.testing.assert_array_equal(y.eval({x: images, w: kernels}), plain)
