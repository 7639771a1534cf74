"""Sorting, places and searches in C beside NumPy's, with NaN, equal elements and no elements."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.graph.node import make
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(4)
DTYPES = ("float32", "float64", "int8", "int32", "int64", "uint8", "uint16")


def native(function):
    return all(i.kind != PYCALL for i in function.info.program.instructions)


def some(shape, dtype):
    a = np.asarray(RNG.integers(0, 40, shape)).astype(dtype)
    if np.dtype(dtype).kind == "f" and a.size > 3:
        a.flat[[1, a.size // 2]] = np.nan, -np.inf
    return a


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(dtype, side):
    x, v = K.placeholder((None,), dtype=dtype), K.placeholder((None, None), dtype=dtype)
    f = K.function([x, v], Tensor(ops.searchsorted(x.node, v.node, side)))
    shapes = ((50, (3, 41)), (1, (2, 2)), (0, (2, 3)), (7, (0, 3)), (9, (1, 1)), (700, (2, 70)))
    for count, shape in shapes:
        a, b = np.sort(some((count,), dtype)), some(shape, dtype)
        rising = np.sort(b, 1)
        for values in (
            b,
            np.asfortranarray(b),
            b[::-1],
            np.broadcast_to(b[:, :1], b.shape),
            rising,
        ):
            np.testing.assert_array_equal(f(a, values), np.searchsorted(a, values, side))
        np.testing.assert_array_equal(
            f(a[::-1][::-1], b[:, ::2]), np.searchsorted(a, b[:, ::2], side)
        )
    assert native(f)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_bins(dtype):
    """Of numbers around the edges, outside of all bins and NaN, beside np.histogram of a number and
    np.searchsorted; edges that are equal, as floats are no nearer to each other, too."""
    x, e = K.placeholder((None, None), dtype=dtype), K.placeholder((None,), dtype=dtype)
    made = [Tensor(ops.equal_bins(x.node, e.node, exact)) for exact in (False, True)]
    f = K.function([x, e], made)
    for low, high, bins in (
        (0, 1, 7),
        (-3, 0.1, 150),
        (5, 5.5, 1),
        (-1e30, 1e30, 12),
        (4e16, 4e16 + 40, 30),
    ):
        edges = np.linspace(low, high, bins + 1, dtype=dtype)
        near = [np.nextafter(edges, np.asarray(s, dtype)) for s in (np.inf, -np.inf)]
        odd = np.asarray([np.nan, np.inf, -np.inf, low - 1, high + 1], dtype)
        inner = (low + (high - low) * RNG.random(95)).astype(dtype)
        values = np.concatenate([edges, *near, odd, inner])
        values = np.resize(values, (3, len(values) // 3 + 1))
        for a in (values, np.asfortranarray(values), values[::-1, ::2], values[:1, :1], values[:0]):
            once, exact = f(a, edges)
            inside = (a >= edges[0]) & (a <= edges[-1])
            at = np.minimum(np.searchsorted(edges, a, "right") - 1, bins - 1)
            np.testing.assert_array_equal(exact, np.where(inside, at, bins))
            if low < 1e16:
                for one, there in list(zip(a.ravel(), once.ravel()))[::7]:
                    counts = np.histogram(one[None], bins, (low, high))[0]
                    assert there == (np.argmax(counts) if counts.any() else bins)
    assert native(f) and once.dtype == np.int64


def test_equal_bins_of_halves():
    """They are left to NumPy: what lies in memory is no number of C."""
    x, e = (K.placeholder((None,), dtype="float16") for _ in "xe")
    f = K.function([x, e], Tensor(ops.equal_bins(x.node, e.node, True)))
    edges, values = np.linspace(-1, 1, 6, dtype="float16"), RNG.normal(size=90).astype("float16")
    inside = (values >= edges[0]) & (values <= edges[-1])
    at = np.minimum(np.searchsorted(edges, values, "right") - 1, 4)
    np.testing.assert_array_equal(f(values, edges), np.where(inside, at, 5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sorted_and_places(dtype, axis):
    x = K.placeholder((None,) * 3, dtype=dtype)
    f = K.function([x], [Tensor(ops.sort(x.node, axis)), Tensor(ops.argsort(x.node, axis))])
    for shape in ((4, 1, 7), (1, 1, 1), (2, 35, 3), (0, 2, 3), (2, 0, 2)):
        a = some(shape, dtype)
        for values in (a, np.asfortranarray(a), a[::-1, :, ::-1]):
            got, places = f(values)
            np.testing.assert_array_equal(got, np.sort(values, axis))
            np.testing.assert_array_equal(places, np.argsort(values, axis, kind="stable"))
    assert native(f)


def parted(x, k):
    """Places along the last axis: the elements before k and at it in order, or those from it on
    where these are fewer; the others as they are."""
    order = np.argsort(x, -1, kind="stable")
    n = x.shape[-1]
    if 2 * k < n:
        front, count = order[..., : k + 1], k + 1
    else:  # of the last ones the largest is last, of equal ones the first
        turned = np.flip(x, -1)
        front, count = n - 1 - np.argsort(turned, -1, kind="stable")[..., k:], n - k
    rest = np.array([np.setdiff1d(np.arange(n), row) for row in front.reshape(-1, count)], int)
    rest = rest.reshape(*x.shape[:-1], n - count)
    return np.concatenate([front, rest] if 2 * k < n else [rest, front], -1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [0, 3, 20, -1, -4])
def test_places_about_one_place(dtype, k):
    x = K.placeholder((None,) * 2, dtype=dtype)
    for axis in (0, 1):
        f = K.function([x], Tensor(ops.numpy_partition(x.node, k, axis, True)))
        for shape in ((41, 39), (400, 300), (1, 22), (24, 1), (0, 24), (24, 0)):
            if not -shape[axis] <= k < shape[axis]:
                continue
            a = some(shape, dtype)
            for values in (a, np.asfortranarray(a), a[::-1, ::-1]):
                rows = np.moveaxis(values, axis, -1)
                want = np.moveaxis(parted(rows, k % shape[axis]), -1, axis)
                np.testing.assert_array_equal(f(values), want)
    assert native(f)


def test_a_partition_at_a_place_that_is_not_there():
    x = K.placeholder((None,))
    f = K.function([x], Tensor(ops.numpy_partition(x.node, 4, 0, True)))
    assert f(np.array([5, 4, 3, 2, 1])).tolist() == [1, 2, 3, 4, 0]
    with pytest.raises(ValueError, match="out of bounds"):
        f(np.arange(3))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_first_equal(dtype):
    """The first place of each index, counted from either end, beside a walk."""
    index, like = K.placeholder((None,), dtype=dtype), K.placeholder((None, 2))
    f = K.function([index, like], Tensor(make("first_equal", (index.node, like.node))))
    for count, size in ((1, 1), (40, 7), (300, 100), (0, 5)):
        low = 0 if dtype == "uint16" else -size
        at = RNG.integers(low, size, count).astype(dtype)
        for places in (at, at[::-1], np.repeat(at, 2)[::2]):
            first = {}
            want = [first.setdefault(int(i) % size, k) for k, i in enumerate(places)]
            np.testing.assert_array_equal(f(places, np.zeros((size, 2))), want)
    assert native(f)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16"])
def test_small_elements_are_sorted_in_c(dtype):
    x = K.placeholder((None, None), dtype=dtype)
    f = K.function([x], K.sort(x))
    for a in (some((7, 41), "int64") > 20, some((3, 1), dtype), some((40, 6), dtype).T):
        np.testing.assert_array_equal(f(a.astype(dtype)), np.sort(a.astype(dtype)))
    assert native(f)
