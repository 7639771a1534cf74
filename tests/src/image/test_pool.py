"""Pooling kernels of the runtime against the oracles: windows, NaN, ties, memory, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import _runtime
from src import natives
from src.natives import bounds, call, dims, fenced, oracle, same_for_all_threads

RNG = np.random.default_rng(12)
TOLERANCE = {"float32": 1e-4, "float64": 1e-12}


@st.composite
def geometries(draw, largest):
    """attrs, shape of the image."""
    n = draw(st.integers(1, 3))
    size = st.sampled_from([0, 1, 2, 3, 5, 8, 13, largest] if n < 3 else [1, 2, 3, 6])
    sizes, window = draw(st.tuples(*[size] * n)), draw(st.tuples(*[st.integers(1, 6)] * n))
    pads = []
    for have, k in zip(sizes, window):
        some = st.sampled_from((0, 0, 1, k // 2, k - 1, k + 1))
        low, high = draw(some), draw(some)
        pads.append((low, max(high, k - have - low)))
    channels = draw(st.sampled_from((0, 1, 2, 3, 4, 7, 8, 16, 23, 32, 70)))
    batch = draw(st.sampled_from((0, 1, 1, 2, 3, 9)))
    strides = draw(st.tuples(*[st.integers(1, 4)] * n))
    return {"size": window, "strides": strides, "padding": tuple(pads)}, (batch, *sizes, channels)


def spread(array):
    """The same values with unused channels between the pixels, between forbidden pages."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    wide[..., : array.shape[-1]] = array
    return fenced(wide[..., : array.shape[-1]])


def numbers(rng, shape, dtype, special=True):
    """Small integers, so that there are ties and sums are exact; now and then NaN or infinity."""
    values = rng.integers(-3, 4, shape).astype(dtype)
    if special:
        for value in (np.nan, np.inf, -np.inf):
            values[rng.random(shape) < 0.02] = value
    return values


def run(name, attrs, image, result, operands, out_shape):
    wide = name in ("pool_max", "pool_sum", "pool_sum_grad")
    operands = [(spread if wide else fenced)(a) for a in operands]
    d = dims(name, attrs, image, attrs["size"], result, operands)
    return call(name, d, operands, np.empty(out_shape, operands[0].dtype))


def compare(attrs, image, dtype, seed):
    rng = np.random.default_rng(seed)
    x = numbers(rng, image, dtype)
    y = oracle("pool_max", attrs, x)
    np.testing.assert_array_equal(run("pool_max", attrs, image, y.shape, [x], y.shape), y)
    g, v = numbers(rng, y.shape, dtype, False), numbers(rng, image, dtype, False)
    want = oracle("pool_max_grad", attrs, x, y, g)
    got = run("pool_max_grad", attrs, image, y.shape, [x, y, g], image)
    np.testing.assert_array_equal(got, want)
    want = oracle("pool_max_take", attrs, x, y, v)
    got = run("pool_max_take", attrs, image, y.shape, [x, y, v], y.shape)
    np.testing.assert_array_equal(got, want)
    x = numbers(rng, image, dtype, False)
    want = oracle("pool_sum", attrs, x)
    np.testing.assert_array_equal(run("pool_sum", attrs, image, y.shape, [x], y.shape), want)
    want = oracle("pool_sum_grad", attrs, g, np.array(image[1:-1]))
    got = run("pool_sum_grad", attrs, image, y.shape, [g], image)
    np.testing.assert_array_equal(got, want)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*[st.sampled_from([2, 3, 5, 8, 13, 30, 31, 33, 66, 70])] * 2),
    st.integers(0, 9),
    st.sampled_from(("float32", "float64")),
    st.integers(0, 99),
)
def test_two_by_two_pixels_of_one_channel(sizes, batch, dtype, seed):
    """Rows are vectors there: odd sizes, NaN, ties, and rows that are further apart."""
    attrs = {"size": (2, 2), "strides": (2, 2), "padding": ((0, 0), (0, 0))}
    image = (batch, *sizes, 1)
    rng = np.random.default_rng(seed)
    x = numbers(rng, image, dtype)
    y = oracle("pool_max", attrs, x)
    far = np.zeros((batch, sizes[0], sizes[1] + 5, 1), dtype)
    far[:, :, : sizes[1]] = x
    for operand in (fenced(x), fenced(far)[:, :, : sizes[1]], fenced(x[:, ::-1])[:, ::-1]):
        d = dims("pool_max", attrs, image, (2, 2), y.shape, [operand])
        got = call("pool_max", d, [operand], np.empty(y.shape, dtype))
        np.testing.assert_array_equal(got, y)
    compare(attrs, image, dtype, seed)
    for strides in ((3, 3), (1, 1), (2, 3)):  # almost such pixels
        y = oracle("pool_max", {**attrs, "strides": strides}, x)
        d = dims("pool_max", {**attrs, "strides": strides}, image, (2, 2), y.shape, [x])
        np.testing.assert_array_equal(call("pool_max", d, [x], np.empty(y.shape, dtype)), y)


@settings(max_examples=80, deadline=None)
@given(geometries(30), st.sampled_from(("float32", "float64")), st.integers(0, 99))
def test_random_windows(geometry, dtype, seed):
    compare(*geometry, dtype, seed)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(geometries(60), st.sampled_from(("float32", "float64")), st.integers(0, 999))
def test_more_random_windows(geometry, dtype, seed):
    compare(*geometry, dtype, seed)


@pytest.mark.parametrize("size, strides", [((2, 2), (2, 2)), ((3, 3), (2, 2)), ((5, 1), (1, 3))])
@pytest.mark.parametrize("image", [(32, 20, 20, 24), (2, 60, 60, 70)])
def test_results_do_not_depend_on_the_number_of_threads(size, strides, image):
    attrs = {"size": size, "strides": strides, "padding": ((1, 1), (0, 0))}
    x = RNG.standard_normal(image, dtype=np.float32)
    y = oracle("pool_max", attrs, x)
    g = RNG.standard_normal(y.shape, dtype=np.float32)
    for name, operands, shape, more in (
        ("pool_max", [x], y.shape, ()),
        ("pool_max_grad", [x, y, g], image, ()),
        ("pool_sum", [x], y.shape, ()),
        ("pool_sum_grad", [g], image, (np.array(image[1:-1]),)),
    ):
        got = same_for_all_threads(
            lambda: run(name, attrs, image, y.shape, operands, shape)  # noqa: B023
        )
        want = oracle(name, attrs, *operands, *more)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_sums_of_large_windows_are_accurate():
    """A sum of 250000 numbers around 1 in one float32 would lose 1 % of them."""
    x = RNG.random((1, 500, 500, 1), dtype=np.float32) + 0.5
    attrs = {"size": (500, 500), "strides": (1, 1), "padding": ((0, 0), (0, 0))}
    got = run("pool_sum", attrs, x.shape, (1, 1, 1, 1), [x], (1, 1, 1, 1))
    assert abs(got.item() / x.sum(dtype=np.float64) - 1) < 2e-5


def test_operands_whose_channels_are_not_side_by_side_are_refused():
    x = np.zeros((2, 3, 4, 5), np.float32).transpose(0, 3, 2, 1)
    attrs = {"size": (1, 1), "strides": (1, 1), "padding": ((0, 0), (0, 0))}
    d = dims("pool_max", attrs, x.shape, (1, 1), x.shape, [x])
    plan = np.array([[5, 0, 0, 0, 0, 1, 1, 1]]), np.array([(1, 0, 0), (0, 0, 0)]), np.array(d)
    with pytest.raises(ValueError, match="impossible"):
        _runtime.Plan(*plan, x.nbytes, [], [], [], [], 0)
    assert bounds(x) == (0, x.nbytes) and natives.DIMS == len(d)
