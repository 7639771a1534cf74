"""Sorting and running sums against NumPy, with ties, NaN and empty axes; their gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ckernels as K
from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError, IndexOutOfBounds, ShapeError
from ckernels.graph.walk import rebuild
from ckernels.plan.instructions import PYCALL

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(13)
FEW = arrays(
    np.float64,
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, np.nan, np.inf]),
)


@given(FEW, st.sampled_from([0, 1, -1, None]))
@settings(max_examples=60, deadline=None)
def test_sort_like_numpy(x, axis):
    agree(lambda x: ops.sort(x, axis), lambda x: np.sort(x, axis, kind="stable"), x)
    agree(lambda x: ops.argsort(x, axis), lambda x: np.argsort(x, axis, kind="stable"), x)
    agree(lambda x: ops.cumsum(x, axis), lambda x: np.cumsum(x, axis), x)
    agree(lambda x: ops.cumprod(x, axis), lambda x: np.cumprod(x, axis), x)


@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        "bool",
        "uint16",
        "float32",
        "float16",
        "int64",
        *filter(dtypes.available, dtypes.FOREIGN),
    ],
)
def test_dtypes(dtype):
    x = (RNG.normal(size=(3, 5)) * 3).astype(dtype)
    agree(ops.sort, np.sort, x)
    wide = ops.cumsum(leaf((3,), dtype)).dtype
    assert wide == (dtype if dtypes.is_float(dtype) else "uint64" if dtype[0] == "u" else "int64")
    agree(lambda x: ops.cumsum(x, 1), lambda x: np.cumsum(x.astype("float64"), 1).astype(wide), x)


@given(FEW, st.sampled_from([0, 1, -1]))
@settings(max_examples=60, deadline=None)
def test_running_extrema(x, axis):
    for ours, theirs in ((ops.cummax, np.maximum), (ops.cummin, np.minimum)):
        agree(lambda x, f=ours: f(x, axis), lambda x, f=theirs: f.accumulate(x, axis), x)
        want = np.flip(theirs.accumulate(np.flip(x, axis), axis), axis)
        agree(lambda x, f=ours: f(x, axis, reverse=True), want, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_extrema_of_dtypes_at_their_limits(dtype, axis):
    bits = RNG.integers(0, 256, (9, 40, 8)).astype("uint8")
    if dtype == "bool":
        x = bits[..., 0] > 127
    else:
        x = bits[..., : np.dtype(dtype).itemsize].copy().view(dtype)[..., 0]
    with np.errstate(invalid="ignore"):
        agree(lambda x: ops.cummax(x, axis), np.maximum.accumulate(x, axis), x)
        agree(lambda x: ops.cummin(x, axis), np.minimum.accumulate(x, axis), x)


def test_the_first_of_equal_elements_gets_the_slope_of_an_extremum():
    x = np.array([1.0, 3.0, 3.0, 2.0, 4.0, 4.0])
    for ours, sign, back, want in ((ops.cummax, 1, False, [1, 3, 0, 0, 2, 0]),
                                   (ops.cummin, -1, False, [1, 3, 0, 0, 2, 0]),
                                   (ops.cummax, 1, True, [0, 0, 0, 0, 0, 6])):  # fmt: skip
        n = leaf(x.shape)
        slope = grad(ops.sum(ours(n, 0, back)), [n])[0]
        agree(lambda m, s=slope, n=n: rebuild([s], {n: m})[0], np.array(want, float), sign * x)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("kth", [3, (0, -1), [20]])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_orders_that_numpy_leaves(dtype, kth, axis):
    x = RNG.integers(0, 2 if dtype == "bool" else 5, (40, 33)).astype(dtype)
    agree(lambda x: ops.numpy_argsort(x, axis), np.argsort(x, axis), x)
    agree(lambda x: ops.numpy_partition(x, kth, axis), np.partition(x, kth, axis), x)
    if isinstance(kth, tuple):
        agree(lambda x: ops.numpy_partition(x, kth, axis, True), np.argpartition(x, kth, axis), x)


def test_a_partition_at_a_place_that_is_not_there():
    with pytest.raises(ShapeError, match="out of bounds"):
        ops.numpy_partition(leaf((3, 4)), 4)


def test_running_sums_keep_small_terms():
    x = np.full(2**16, 0.1, "float32")
    got = agree_last(ops.cumsum, x)
    assert abs(float(got) - 6553.6) < 1e-2


def agree_last(build, x):
    from ckernels.ops.reference import evaluate

    n = leaf(x.shape, x.dtype.name)
    return evaluate([build(n)], {n: x})[0][-1]


@given(FEW.filter(lambda x: x.shape[1] > 0), st.data())
@settings(max_examples=60, deadline=None)
def test_top_k(x, data):
    k = data.draw(st.integers(0, x.shape[1]))
    # The first of equals comes first; NaN counts as the largest, as it does in a sort.
    order = np.argsort(-np.nan_to_num(x, nan=1e300, posinf=1e200), 1, kind="stable")[:, :k]
    values, indices = np.take_along_axis(x, order, 1), order
    agree(lambda x: ops.top_k(x, k)[0], values, x)
    if not np.isnan(x).any():
        agree(lambda x: list(ops.top_k(x, k)), [values, indices], x)


def compiled(build, dtype, ndim):
    x = K.placeholder(shape=(None,) * ndim, dtype=dtype)
    return K.function([x], build(x))


@pytest.mark.parametrize("axis", range(5))
def test_compiled_along_any_axis_of_any_layout(axis):
    """Rows by more axes than an instruction has are copied first; one function, all sizes."""
    f = compiled(lambda x: [K.sort(x, axis), K.argsort(x, axis), *K.top_k(x, 2, axis)], "int32", 5)
    for size in (3, 2, 7):
        whole = RNG.integers(0, 9, (4, size, 6, 2 * size, 5)).astype("int32")
        every = whole[:, ::-1, ::2, ::2].swapaxes(1, 4)
        for x in (whole, every, np.broadcast_to(whole[:, :1], whole.shape)):
            if x.shape[axis] < 2:
                continue
            order = np.argsort(x, axis, kind="stable")
            got = f(x)
            np.testing.assert_array_equal(got[0], np.sort(x, axis))
            np.testing.assert_array_equal(got[1], order)
            falling = (
                x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
            )
            first = np.take(falling, [0, 1], axis)
            np.testing.assert_array_equal(got[3], first)
            np.testing.assert_array_equal(got[2], np.take_along_axis(x, first, axis))
    assert PYCALL not in {instruction.kind for instruction in f.info.program.instructions}


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_compiled_of_nothing(shape):
    x = np.zeros(shape, "float32")
    f = compiled(lambda x: [K.sort(x), K.argsort(x), K.sort(x, 0), K.top_k(x, 0)[1]], "float32", 2)
    for got, want in zip(f(x), (x, x.astype("int64"), x, np.zeros((shape[0], 0), "int64"))):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_zeros_keep_their_signs_and_nan_comes_last(dtype):
    x = np.array([0, np.nan, -0.0, 1, 0, -np.inf, -0.0, -np.nan, np.inf], dtype)
    for big in (x, np.tile(x, 9), np.tile(x, 500)):
        want = np.sort(big)
        zeros, negative = int((big == 0).sum()), int(np.signbit(big[big == 0]).sum())
        for mode in (None, "reference"):
            v = K.placeholder(shape=(None,), dtype=dtype)
            got = K.function([v], K.sort(v), mode=mode)(big)
            np.testing.assert_array_equal(got, want)
            signs = np.signbit(got[got == 0])
            assert signs.tolist() == [True] * negative + [False] * (zeros - negative)


def test_top_k_of_a_size_that_only_the_call_knows():
    f = compiled(lambda x: K.top_k(x, 3)[0], "float64", 2)
    np.testing.assert_array_equal(f(np.array([[1.0, 5, 2, 4]])), [[5, 4, 2]])
    np.testing.assert_array_equal(f(np.array([[1.0, 5, 3]])), [[5, 3, 1]])
    with pytest.raises(ShapeError, match="top_k of 3 elements"):
        f(np.array([[1.0, 5]]))


def test_in_top_k():
    p = np.array([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [np.nan, 0.2, 0.1], [np.inf, 1, 2]], "float32")
    t = np.array([2, 1, 0, 2], "int32")
    agree(lambda p, t: ops.in_top_k(p, t, 1), np.array([False, True, False, False]), p, t)
    agree(lambda p, t: ops.in_top_k(p, t, 2), np.array([True, True, False, True]), p, t)
    with pytest.raises(IndexOutOfBounds, match="index 3 is out of bounds for axis 1 of size 3"):
        agree(lambda p, t: ops.in_top_k(p, t, 1), [False] * 4, p, t + 1)
    with pytest.raises(ShapeError):
        ops.in_top_k(leaf((3,)), leaf((3,), "int64"), 1)
    with pytest.raises(DTypeError):
        ops.in_top_k(leaf((3, 2)), leaf((3,)), 1)
    with pytest.raises(ShapeError, match="top_k of 4"):
        ops.top_k(leaf((2, 3)), 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients(axis):
    x = RNG.normal(size=(3, 4))
    check_gradient(lambda x: ops.sort(ops.exp(x), axis), x)
    check_gradient(lambda x: ops.cumsum(ops.exp(x), axis), x)
    check_gradient(lambda x: ops.cumsum(ops.exp(x), axis, reverse=True), x)
    check_gradient(lambda x: ops.cumprod(x, axis), x)
    check_gradient(lambda x: ops.cumprod(x, axis, reverse=True), x)
    check_gradient(lambda x: ops.top_k(ops.exp(x), 2, axis)[0], x)
    check_gradient(lambda x: ops.numpy_partition(ops.exp(x), 1, axis), x)
    for reverse in (False, True):
        check_gradient(lambda x, r=reverse: ops.cummax(ops.exp(x), axis, r), x)
        check_gradient(lambda x, r=reverse: ops.cummin(ops.exp(x), axis, r), x)


@pytest.mark.parametrize("x", [[2, 0, 3, 4], [0, 2, 3], [2, 0, 3, 0, 5], [0, 0], [2, 3, 0]])
def test_gradient_of_cumprod_with_zeros(x):
    check_gradient(ops.cumprod, x, order=3)
    check_gradient(lambda x: ops.cumprod(x, 0, reverse=True), x, order=3)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence(axis, reverse):
    a, b = RNG.normal(size=(2, 3, 4))
    a[1, 2] = b[0, 1] = 0

    def by_hand(a, b):
        a, b = (np.moveaxis(t, axis, 0)[:: -1 if reverse else 1] for t in (a, b))
        y = b.copy()
        for t in range(1, len(y)):
            y[t] = a[t] * y[t - 1] + b[t]
        return np.moveaxis(y[:: -1 if reverse else 1], 0, axis)

    def build(a, b):
        return ops.linear_recurrence(a, b, axis, reverse)

    agree(build, by_hand, a, b, rtol=1e-14)
    agree(build, by_hand, a[:, :0], b[:, :0])
    agree(build, by_hand, a[:0], b[:0])
    check_gradient(build, a, b)
    for bad in ((leaf((3,)), leaf((4,))), (leaf((3,)), leaf((3, 1))), (leaf((3,), "int64"),) * 2):
        with pytest.raises((ShapeError, DTypeError)):
            ops.linear_recurrence(*bad)
