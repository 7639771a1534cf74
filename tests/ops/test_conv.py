"""Convolutions against a loop over windows and SciPy; gradients to second order."""

import numpy as np
import pytest
from scipy import signal

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError
from ckernels.graph.node import constant, make
from ckernels.graph.walk import rebuild
from ckernels.ops.conv import geometry
from ckernels.ops.reference import evaluate

from .agree import agree, check_gradient, fold, leaf
from .loops import convolved as loops

RNG = np.random.default_rng(5)

# spatial sizes, kernel sizes, groups, arguments
CASES = [
    ((5,), (3,), 1, {}),
    ((6, 5), (3, 2), 1, {"strides": (2, 1), "padding": "same"}),
    ((6, 5), (3, 2), 1, {"strides": 3, "padding": "same"}),
    ((5, 4), (2, 3), 1, {"padding": "full", "dilation": (2, 1)}),
    ((5, 4), (2, 3), 2, {"padding": "half", "strides": 2}),
    ((5, 4), (2, 2), 4, {"padding": ((2, 0), 1)}),
    ((6, 5), (3, 3), 1, {"padding": ("causal", "same"), "dilation": 2}),
    ((4, 3, 3), (2, 2, 3), 2, {"padding": (1, (0, 2), "valid"), "strides": (2, 1, 1)}),
    ((3, 3), (1, 1), 1, {"strides": 2}),
]  # fmt: skip


def data(sizes, kernel, groups, batch=2, dtype="float64"):
    x = RNG.normal(size=(batch, *sizes, 4)).astype(dtype)
    return x, RNG.normal(size=(*kernel, 4 // groups, 4)).astype(dtype)


@pytest.mark.parametrize("sizes, kernel, groups, options", CASES)
def test_conv_is_a_sum_over_windows(sizes, kernel, groups, options):
    x, w = data(sizes, kernel, groups)
    agree(
        lambda a, b: ops.conv(a, b, groups=groups, **options),
        lambda a, b: loops(a, b, groups, **options),
        x,
        w,
        rtol=1e-12,
    )


@pytest.mark.parametrize("sizes, kernel, groups, options", CASES)
def test_adjoints_are_transposes_of_conv(sizes, kernel, groups, options):
    """<g, conv(x, w)> = <conv_input_grad(g, w), x> = <conv_weight_grad(x, g), w>."""
    x, w = data(sizes, kernel, groups)
    y = loops(x, w, groups, **options)
    g = RNG.normal(size=y.shape)
    backward = ops.conv_input_grad(g, w, sizes, groups=groups, **options)
    weights = ops.conv_weight_grad(x, g, kernel, groups=groups, **options)
    gx, gw = evaluate([backward, weights])
    assert gx.shape == x.shape and gw.shape == w.shape
    np.testing.assert_allclose([(gx * x).sum(), (gw * w).sum()], (g * y).sum(), rtol=1e-10)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("sizes, kernel, groups, options", CASES)
def test_gradients_to_second_order(sizes, kernel, groups, options):
    x, w = data(tuple(min(s, 4) for s in sizes), kernel, groups, batch=1)
    if x.size * w.size > 1500:
        x, w = x[..., :4], w[..., -4:]
    check_gradient(lambda a, b: ops.conv(a, b, groups=groups, **options), x, w, order=2)


def test_gradients_of_the_adjoints():
    x, w = data((4, 3), (2, 2), 2, batch=1)
    options = {"groups": 2, "strides": 2, "padding": "same"}
    g = evaluate([ops.conv(x, w, **options)])[0]
    check_gradient(lambda g, w: ops.conv_input_grad(g, w, (4, 3), **options), g, w, static=True)
    check_gradient(lambda x, g: ops.conv_weight_grad(x, g, (2, 2), **options), x, g, static=True)


def test_scipy_agrees():
    x, w = data((7, 6), (3, 2), 1)
    for mode, word in (("valid", "valid"), ("full", "full")):
        want = sum(
            np.stack(
                [
                    [signal.correlate2d(image, w[:, :, c, o], mode) for image in x[..., c]]
                    for o in range(4)
                ],
                -1,
            )
            for c in range(4)
        )
        np.testing.assert_allclose(evaluate([ops.conv(x, w, padding=word)])[0], want, atol=1e-12)


@pytest.mark.parametrize(
    "dtype",
    ["float16", "float32", "int8", "int64", "uint16", *filter(dtypes.available, dtypes.FOREIGN)],
)
def test_dtypes(dtype):
    x = RNG.integers(0, 4, (2, 5, 4)).astype(dtype)
    w = RNG.integers(0, 4, (3, 4, 3)).astype(dtype)
    agree(ops.conv, lambda a, b: loops(a.astype("float64"), b).astype(dtype), x, w)
    mixed = ops.conv(x.astype("float32"), w.astype("float64"))
    assert mixed.dtype == "float64"


def test_float16_adds_in_float32():
    x, w = np.ones((1, 4096, 1), "float16"), np.ones((4096, 1, 1), "float16")
    assert evaluate([ops.conv(x, w)])[0].item() == 4096


@pytest.mark.parametrize(
    "shape, kernel",
    [
        ((0, 5, 5, 2), (3, 3, 2, 4)),
        ((2, 5, 5, 0), (3, 3, 0, 4)),
        ((2, 5, 5, 2), (3, 3, 2, 0)),
    ],
)
def test_empty(shape, kernel):
    x, w = np.ones(shape), np.ones(kernel)
    agree(ops.conv, np.zeros((shape[0], 3, 3, kernel[-1])), x, w)
    gx, gw = evaluate(
        [
            ops.conv_input_grad(np.ones((shape[0], 3, 3, kernel[-1])), w, (5, 5)),
            ops.conv_weight_grad(x, np.ones((shape[0], 3, 3, kernel[-1])), (3, 3)),
        ]
    )
    np.testing.assert_array_equal(gx, np.zeros(shape) if not kernel[-1] or 0 in shape else gx)
    assert gx.shape == shape and gw.shape == kernel


def test_an_empty_image_has_an_empty_result():
    y = ops.conv(np.ones((1, 0, 4, 2)), np.ones((3, 3, 2, 5)), padding="same")
    assert evaluate([y])[0].shape == y.shape == (1, 0, 4, 5)


def test_unknown_sizes_stay_unknown_and_become_exact():
    x, w = leaf((None, None, 8, 3)), leaf((3, 3, 3, 5))
    y = ops.conv(x, w, strides=2, padding="same")
    assert y.shape == (None, None, 4, 5) and y.attrs["padding"] == ("same", (0, 1))
    known = leaf((2, 7, 8, 3))
    exact = rebuild([y], {x: known, w: w}, fold)[0]
    assert exact.shape == (2, 4, 4, 5)
    numbers = geometry(exact)
    assert numbers.padding == ((1, 1), (0, 1)) and numbers.results == (4, 4)
    assert ops.conv(x, w, strides=1, padding="same").attrs["padding"] == ((1, 1), (1, 1))
    g = ops.conv_input_grad(leaf((2, 4, 4, 5)), w, (7, 8), strides=2, padding="same")
    assert geometry(g) == numbers
    k = ops.conv_weight_grad(known, leaf((2, 4, 4, 5)), (3, 3), strides=2, padding="same")
    assert geometry(k) == numbers and k.shape == (3, 3, 3, 5)


@pytest.mark.parametrize(
    "spec, size, k, s, d, want",
    [
        ("same", 5, 3, 1, 1, (1, 1)),
        ("same", 5, 2, 1, 1, (0, 1)),
        ("same", 6, 3, 2, 1, (0, 1)),
        ("same", 5, 3, 2, 1, (1, 1)),
        ("same", 4, 1, 3, 1, (0, 0)),
        ("same", 7, 3, 1, 2, (2, 2)),
        ("half", 5, 4, 1, 1, (2, 2)),
        ("half", 5, 3, 1, 2, (2, 2)),
        ("full", 5, 3, 1, 2, (4, 4)),
        ("causal", 5, 3, 1, 2, (4, 0)),
    ],
)
def test_words_of_padding(spec, size, k, s, d, want):
    x, w = np.ones((1, size, 1)), np.ones((k, 1, 1))
    y = ops.conv(x, w, s, spec, d)
    assert y.attrs["padding"] == (want,)
    assert ops.conv(leaf((1, None, 1)), w, s, spec, d).attrs["padding"] in ((want,), (spec,))


def image(*shape):
    return leaf(shape, "float32")


@pytest.mark.parametrize(
    "build, error, match",
    [
        (
            lambda: ops.conv(image(1, 4, 4, 2), image(5, 3, 2, 1)),
            ShapeError,
            r"kernel of size 5 is larger than the image of size 4 along spatial axis 0"
            r".*\(5, 3, 2, 1\)",
        ),
        (
            lambda: ops.conv(image(1, 4, 4, 2), image(3, 3, 2, 1), dilation=3),
            ShapeError,
            r"dilated: 7",
        ),
        (
            lambda: ops.conv(image(1, 4, 4, 2), image(3, 3, 3, 1)),
            ShapeError,
            r"\(1, 4, 4, 2\) with 2 channels and a kernel \(3, 3, 3, 1\) for 3 channels",
        ),
        (lambda: ops.conv(image(1, 4, 4, 3), image(3, 3, 3, 4), groups=2), ShapeError, "groups"),
        (
            lambda: ops.conv(image(1, 4, 4, 4), image(3, 3, 2, 3), groups=2),
            ShapeError,
            "2 groups do not divide 3 output channels",
        ),
        (lambda: ops.conv(image(1, 4, 4, 4), image(3, 4, 3)), ShapeError, "kernel of 4 dimensions"),
        (lambda: ops.conv(image(4, 4), image(4, 4)), ShapeError, "at least 3 dimensions"),
        (lambda: ops.conv(image(1, 4, 2), image(0, 2, 3)), ShapeError, "no elements"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), strides=0), ArgumentError, "strides"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), strides=-1), ArgumentError, "strides"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), strides=2**31), ArgumentError, "strides"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), strides=1.5), ArgumentError, "strides"),
        (
            lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), strides=(1, 1)),
            ArgumentError,
            "1 of them",
        ),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), dilation=0), ArgumentError, "dilation"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), padding="near"), ArgumentError, "'near'"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), padding=-1), ArgumentError, "padding"),
        (
            lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), padding=((1, 2, 3),)),
            ArgumentError,
            "pad",
        ),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), padding=None), ArgumentError, "padding"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), groups=0), ArgumentError, "groups"),
        (lambda: ops.conv(image(1, 4, 2), image(2, 2, 3), groups=True), ArgumentError, "groups"),
        (lambda: ops.conv(leaf((1, 4, 2), "bool"), leaf((2, 2, 3), "bool")), DTypeError, "bool"),
        (lambda: ops.conv(leaf((1, 4, 2), "complex64"), image(2, 2, 3)), DTypeError, "complex"),
        (
            lambda: ops.conv_input_grad(image(1, 4, 3), image(2, 2, 3), (9,)),
            ShapeError,
            r"result of sizes \(8,\), not \(4,\)",
        ),
        (lambda: ops.conv_input_grad(image(1, 4, 3), image(2, 2, 4), (5,)), ShapeError, "channels"),
        (lambda: ops.conv_input_grad(image(1, 4, 3), image(2, 2, 3), (-5,)), ShapeError, "size"),
        (lambda: ops.conv_weight_grad(image(1, 4, 3), image(1, 4, 3), (2,)), ShapeError, "sizes"),
        (lambda: ops.conv_weight_grad(image(1, 4, 3), image(2, 3, 3), (2,)), ShapeError, "images"),
    ],
)
def test_errors(build, error, match):
    with pytest.raises(error, match=match):
        build()


def test_errors_at_run_time():
    """What was unknown while the graph was built is checked before anything is computed."""
    x, w = leaf((None,) * 4), leaf((None,) * 4)
    y, attrs = ops.conv(x, w), {"strides": (1, 1), "padding": ("valid",) * 2}
    for shape, kernel in (((1, 2, 2, 1), (3, 1, 1, 1)), ((1, 4, 4, 2), (3, 3, 3, 1))):
        with pytest.raises(ShapeError):
            evaluate([y], {x: np.ones(shape), w: np.ones(kernel)})
    with pytest.raises(ArgumentError, match="valid"):
        make("conv", (x, w), {**attrs, "dilation": (1, 1), "padding": ("wide", 0), "groups": 1})
    g = ops.conv_input_grad(x, w, ops.shape_vector(leaf((2,), "int64")))
    with pytest.raises(ShapeError, match="sizes"):
        vector = g.inputs[2]
        evaluate(
            [g], {x: np.ones((1, 4, 4, 1)), w: np.ones((2, 2, 3, 1)), vector: np.array([9, 9])}
        )


def test_constants_fold():
    y = ops.conv(constant(np.ones((1, 3, 1))), constant(np.ones((2, 1, 1))))
    assert fold(y).value.tolist() == [[[2.0], [2.0]]]
