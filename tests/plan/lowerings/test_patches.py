"""Windows of images and their transpose, beside loops over windows: those that lie apart, that
overlap, that leave gaps, in padded images, of all dtypes, in other orders in memory."""

import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(8)
CASES = [  # image, size, strides, padding, dilation
    ((2, 6, 4, 3), (2, 2), (2, 2), "valid", (1, 1)),  # apart, and they cover the image
    ((2, 7, 5, 3), (2, 2), (2, 2), "valid", (1, 1)),  # apart, a rest remains
    ((2, 7, 5, 1), (2, 1), (3, 2), "valid", (1, 1)),  # gaps between them
    ((1, 2, 3, 2), (2, 3), (1, 1), "valid", (1, 1)),  # one window, stepped by less than its size
    ((1, 5, 6, 2), (3, 2), (1, 2), "valid", (1, 1)),  # they overlap along one axis
    ((2, 5, 6, 2), (3, 3), (2, 2), ((1, 0), (2, 1)), (1, 1)),
    ((2, 5, 6, 2), (2, 2), (2, 2), ((1, 0), (2, 2)), (1, 1)),
    ((2, 7, 6, 2), (2, 3), (1, 1), "same", (2, 1)),
    ((2, 7, 2), (2,), (2,), "valid", (3,)),
    ((2, 3, 3, 3, 1), (2, 2, 2), (1, 1, 1), "valid", (1, 1, 1)),
    ((0, 4, 4, 2), (2, 2), (1, 1), "valid", (1, 1)),
]


def pads(padding, shape, size, strides, dilation):
    """(low, high) for each axis; of "same" here, where strides are 1."""
    if padding == "same":
        reach = [(k - 1) * d for k, d in zip(size, dilation)]
        return [(r // 2, r - r // 2) for r in reach]
    return [(0, 0)] * len(size) if padding == "valid" else padding


def windows(shape, size, strides, padding, dilation):
    """[(place of a window, place in it, place in the image)] of what is not padding."""
    around = pads(padding, shape, size, strides, dilation)
    spatial = shape[1:-1]
    counts = [
        (n + sum(p) - (k - 1) * d - 1) // s + 1
        for n, p, k, d, s in zip(spatial, around, size, dilation, strides)
    ]
    found = []
    for at in itertools.product(*map(range, counts)):
        for inside in itertools.product(*map(range, size)):
            place = [
                a * s + i * d - low
                for a, s, i, d, (low, _) in zip(at, strides, inside, dilation, around)
            ]
            if all(0 <= p < n for p, n in zip(place, spatial)):
                found.append((at, inside, tuple(place)))
    return tuple(counts), found


def native(function):
    return all(i.kind != PYCALL for i in function.info.program.instructions)


def orders(a):
    """The array in C order, with its axes turned, and backwards."""
    return a, np.asfortranarray(a), np.ascontiguousarray(a[..., ::-1])[..., ::-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "float16"])
@pytest.mark.parametrize("shape, size, strides, padding, dilation", CASES)
def test_windows_and_their_sums(shape, size, strides, padding, dilation, dtype, open_sizes):
    options = {"strides": strides, "padding": padding, "dilation": dilation}
    counts, found = windows(shape, size, **options)
    x = RNG.integers(-20, 20, shape).astype(dtype)
    p = RNG.integers(-20, 20, (shape[0], *counts, *size, shape[-1])).astype(dtype)
    if dtype == "complex64":
        x, p = x * x.dtype.type(1 - 2j), p * p.dtype.type(2 + 1j)
    want, back = np.zeros_like(p), np.zeros_like(x)
    for at, inside, place in found:
        here, there = (slice(None), *at, *inside), (slice(None), *place)
        want[here] = x[there]
        back[there] += p[here]
    image, parts = (
        K.placeholder((None,) * a.ndim if open_sizes else a.shape, dtype=dtype) for a in (x, p)
    )
    f = K.function([image], Tensor(ops.patches(image.node, size, **options)))
    g = K.function([parts], Tensor(ops.patches_grad(parts.node, shape[1:-1], size, **options)))
    h = K.function([parts], Tensor(ops.patches_grad(-parts.node, shape[1:-1], size, **options)) * 2)
    for one, other in zip(orders(x), orders(p)):
        np.testing.assert_array_equal(f(one), want)
        np.testing.assert_array_equal(g(other), back)
        np.testing.assert_array_equal(h(other), back * -2)  # beside other loops, in used memory
    if dtype != "complex64":  # which NumPy computes
        assert native(f) and (native(g) or dtype == "float16")


def test_complex_numbers_of_windows_that_overlap():
    test_windows_and_their_sums(*CASES[4], "complex64", False)
