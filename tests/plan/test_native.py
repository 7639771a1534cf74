"""Plans of the runtime's own kernels: epilogues, sizes, what is left to the oracles."""

import numpy as np
import pytest
from codegen.planned import leaf, plan

from ckernels import ops
from ckernels.graph.op import REGISTRY
from ckernels.plan import native
from ckernels.plan.instructions import GEMM
from ckernels.plan.records import ORDER, OrderDims
from ckernels.runtime.function import make_function

RNG = np.random.default_rng(11)


def oracle(name, attrs, *arrays):
    return REGISTRY[name].oracle(attrs, *arrays)


def numbers(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def names(build, *arrays, rtol=2e-4):
    return [s.name for s in plan(build, *arrays, rtol=rtol)[0]]


def test_bias_and_activation_are_an_epilogue():
    x, w, b = numbers(3, 9, 8, 5), numbers(3, 3, 5, 20), numbers(20)
    assert names(lambda x, w, b: ops.tanh(ops.conv(x, w, padding="same") + b), x, w, b) == [
        "conv then add+tanh"
    ]
    assert names(lambda x, w: ops.softmax(ops.conv(x, w), -1), x, w)[0].startswith("conv then ")
    g = numbers(3, 7, 6, 20)
    build = lambda g, w, b: ops.conv_input_grad(g, w, (9, 8)) * b  # noqa: E731
    assert names(build, g, w, numbers(5)) == ["conv_input_grad then mul"]
    build = lambda x, g, w: w - 0.1 * ops.conv_weight_grad(x, g, (3, 3))  # noqa: E731
    assert len(names(build, x, g, w)) == 1


def test_epilogue_of_few_pixels():
    """The work is cut along the channels: the epilogue waits for all of them."""
    x, w, b = numbers(1, 5, 5, 96), numbers(3, 3, 96, 256), numbers(256)
    assert names(lambda x, w, b: ops.relu(ops.conv(x, w, padding="same") + b), x, w, b) == [
        "conv then add+relu"
    ]


def test_a_kernel_that_sees_the_whole_image():
    """A dense layer in disguise: its gradient is a product of matrices."""
    g, w = numbers(6, 1, 1, 10), numbers(4, 5, 3, 10)
    leaves = [leaf(g.shape, "float32"), leaf(w.shape, "float32")]
    f = make_function(leaves, [ops.conv_input_grad(*leaves, (4, 5))], positional_only=True)
    want = np.einsum("nijo,hwco->nhwc", g, w)
    np.testing.assert_allclose(f(g, w)[0], want, rtol=1e-4, atol=1e-5)
    assert [i.kind for i in f.info.program.instructions] == [GEMM]


def test_groups_of_channels_are_no_dense_layer():
    """Each product of theirs sees a part of the channels."""
    g, w = numbers(6, 1, 1, 10), numbers(4, 5, 3, 10)
    leaves = [leaf(g.shape, "float32"), leaf(w.shape, "float32")]
    root = ops.conv_input_grad(*leaves, (4, 5), groups=2)
    f = make_function(leaves, [root], positional_only=True)
    parts = [np.einsum("nijo,hwco->nhwc", g[..., k : k + 5], w[..., k : k + 5]) for k in (0, 5)]
    want = np.concatenate(parts, -1)
    np.testing.assert_allclose(f(g, w)[0], want, rtol=1e-4, atol=1e-5)


def test_a_kernel_that_sees_the_image_and_what_is_around_it_is_no_dense_layer():
    g, w = numbers(6, 1, 1, 10), numbers(3, 3, 2, 10)
    build = lambda g, w: ops.conv_input_grad(g, w, (3, 3), (3, 3), ((1, 1), (1, 1)))  # noqa: E731
    found = plan(build, g, w)[0]
    assert [s.kind for s in found] != [GEMM]


def test_new_sizes_need_no_new_kernel():
    x, w = leaf((None, None, None, 4), "float32"), leaf((3, 3, 4, 8), "float32")
    f = make_function([x, w], [ops.relu(ops.conv(x, w, padding="same"))], positional_only=True)
    kernel = numbers(3, 3, 4, 8)
    for shape in ((2, 7, 9, 4), (1, 30, 5, 4), (0, 7, 9, 4)):
        image = numbers(*shape)
        want = np.maximum(
            oracle(
                "conv",
                {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "padding": ("same", "same")},
                image,
                kernel,
            ),
            0,
        )
        np.testing.assert_allclose(f(image, kernel)[0], want, rtol=1e-4, atol=1e-4)
    assert len(f.stats()["kernels"]) == 1


def test_four_spatial_axes_and_integers_are_left_to_the_oracle():
    assert names(
        lambda x, w: ops.conv(x, w), numbers(1, 3, 3, 3, 3, 2), numbers(2, 2, 2, 2, 2, 3)
    ) == ["conv"]
    x, w = (RNG.integers(-5, 6, s) for s in ((2, 5, 5, 3), (2, 2, 3, 4)))
    steps, _ = plan(lambda x, w: ops.conv(x, w), x, w)
    assert [s.kind for s in steps] == [2]


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**31 + 5])
@pytest.mark.parametrize("what", range(4))
def test_axes_of_more_places_than_a_word_counts_are_left_to_the_oracles(length, what):
    """None of them is made: the first would take too much scratch, of the others there is none."""
    row = OrderDims(
        op=ORDER, width=0, kind=1, what=what, falling=0, length=length, count=length, size=0,
        step=1, apart=1, sizes=(1, 1, 1), near=(0, 0, 0), far=(0, 0, 0), slots=1,
        none=(0,) * OrderDims.NESTED["none"][0],
    )  # fmt: skip
    assert not native.emit(None, None, row, [], 0)
    assert native.longest(row) == length
    axis = native.AxisDims(size=length, result=3, kernel=3, stride=1, dilation=1, low=0)
    long = native.window(0, "float32", 1, 1, 1, 1, [axis], (1,) * 5, (1,) * 5)
    assert length < 2**31 or not native.emit(None, None, long, [], 0)
    assert native.longest(long) == length


@pytest.mark.parametrize("turned", [False, True])
def test_slopes_whose_channels_lie_apart(turned):
    x, g = numbers(4, 6, 8, 5), numbers(4, 6, 8, 32)[..., ::2]
    g = numbers(16, 4, 6, 8).transpose(1, 2, 3, 0) if turned else g
    leaves = [leaf((None,) * 4), leaf((None,) * 4)]
    f = make_function(leaves, [ops.conv_weight_grad(*leaves, (1, 1))], single=True)
    np.testing.assert_allclose(f(x, g)[0, 0], np.einsum("nhwc,nhwo->co", x, g), atol=1e-3)
