"""Pooling and patches against a loop over windows; gradients to second order."""

import itertools

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError
from ckernels.graph.walk import rebuild
from ckernels.ops.reference import evaluate
from ckernels.ops.windows import all_pads
from ckernels.runtime.function import make_function

from .agree import agree, check_gradient, fold, leaf
from .loops import padding_of

RNG = np.random.default_rng(6)

CASES = [
    ((6,), (2,), {}),
    ((5, 4), (2, 2), {"strides": 1}),
    ((5, 4), (3, 2), {"strides": 2, "padding": "same"}),
    ((5, 4), (2, 3), {"strides": (3, 1), "padding": ((1, 0), 2)}),
    ((5, 4), (2, 2), {"padding": "partial"}),
    ((5, 7), (3, 2), {"strides": (1, 3), "padding": "partial"}),
    ((4, 3, 3), (2, 2, 1), {"strides": (2, 1, 2), "padding": "half"}),
    ((2, 2), (1, 1), {"padding": 2, "strides": 1}),      # windows that see padding only
]  # fmt: skip


def pads_and_count(spec, size, k, s):
    """((low, high), number of windows): Theano's rule for windows that reach over the end."""
    if spec != "partial":
        low, high = padding_of(spec, size, k, s, 1)
        return low, high, (size + low + high - k) // s + 1
    n = (size - 1) // s + 1 if s >= k else max(0, (size - 1 - k + s) // s) + 1
    return 0, k, n


def loops(x, size, fill, reduce, strides=None, padding="valid"):
    """reduce(window (N, *size, C)) of each window; outside of the image is `fill`."""
    n = len(size)
    strides = size if strides is None else (strides,) * n if isinstance(strides, int) else strides
    padding = (padding,) * n if isinstance(padding, (int, str)) else padding
    axes = [pads_and_count(*a) for a in zip(padding, x.shape[1:-1], size, strides)]
    wide = np.pad(
        x.astype("float64"), [(0, 0), *[a[:2] for a in axes], (0, 0)], constant_values=fill
    )
    results = [a[2] for a in axes]
    y = np.zeros((x.shape[0], *results, x.shape[-1]))
    for at in itertools.product(*map(range, results)):
        window = wide[
            (slice(None), *(slice(a * s, a * s + k) for a, s, k in zip(at, strides, size)))
        ]
        y[(slice(None), *at)] = reduce(window.reshape(x.shape[0], -1, x.shape[-1]))
    return y


def highest(window):
    return np.where(np.isnan(window).any(1), np.nan, np.max(window, 1))


def total(window):
    return np.nansum(window, 1)


def average(window):
    inside = (~np.isnan(window)).sum(1)
    return np.nansum(window, 1) / np.maximum(inside, 1)


def image(sizes, batch=2):
    return RNG.permutation(batch * int(np.prod(sizes)) * 3).reshape(batch, *sizes, 3) / 8 - 2


@pytest.mark.parametrize("sizes, size, options", CASES)
def test_pools_are_reductions_of_windows(sizes, size, options):
    x = image(sizes)
    agree(
        lambda a: ops.pool_max(a, size, **options),
        lambda a: loops(a, size, -np.inf, highest, **options),
        x,
    )
    agree(
        lambda a: ops.pool_sum(a, size, **options),
        lambda a: loops(a, size, np.nan, total, **options),
        x,
        rtol=1e-12,
    )
    agree(
        lambda a: ops.pool_average(a, size, **options),
        lambda a: loops(a, size, np.nan, average, **options),
        x,
        rtol=1e-12,
    )


@pytest.mark.parametrize("sizes, size, options", CASES)
def test_average_with_padding(sizes, size, options):
    """Padding counts, but not what "partial" adds: there the window is cut (Theano's rule)."""
    if options.get("padding") == "partial":
        expect = loops(x := image(sizes), size, np.nan, average, **options)
    else:
        expect = loops(x := image(sizes), size, 0, lambda w: w.mean(1), **options)
    agree(lambda a: ops.pool_average(a, size, inside=False, **options), expect, x, rtol=1e-12)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("sizes, size, options", CASES)
def test_gradients_to_second_order(sizes, size, options):
    x = image(sizes, 1)[..., :2]
    for build in (ops.pool_max, ops.pool_sum, ops.pool_average):
        if build is ops.pool_max and options.get("padding") == 2:
            continue  # of no element the maximum is -inf
        check_gradient(lambda a, build=build: ops.square(build(a, size, **options)), x, atol=1e-5)
    check_gradient(lambda a: ops.pool_average(a, size, inside=False, **options), x)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("sizes, size, options", CASES)
def test_patches(sizes, size, options):
    x = image(sizes)
    if options.get("strides") is None:
        options = {**options, "strides": size}

    def windows(a):
        n, shape = len(size), None
        parts = []
        for offset in range(int(np.prod(size))):
            part = loops(a, size, 0, lambda w, k=offset: w[:, k], **options)
            parts.append(part)
            shape = part.shape
        return np.moveaxis(np.stack(parts), 0, n + 1).reshape(*shape[:-1], *size, shape[-1])

    agree(lambda a: ops.patches(a, size, **options), windows, x)
    p = ops.patches(x, size, **options)
    g = RNG.normal(size=p.shape)
    back = evaluate([ops.patches_grad(g, sizes, size, **options)])[0]
    np.testing.assert_allclose((back * x).sum(), (g * windows(x)).sum())
    check_gradient(lambda a: ops.patches(a, size, **options), x[:1, ..., :1])
    check_gradient(lambda g: ops.patches_grad(g, sizes, size, **options), g[:1], static=True)


@pytest.mark.parametrize(
    "dtype", ["float32", "int16", "float16", *filter(dtypes.available, dtypes.FOREIGN)]
)
def test_compiled_patches(dtype):
    """As the oracles, of turned images too; windows apart, side by side and overlapping."""
    for sizes, size, options in [
        *CASES,
        ((7, 8), (2, 2), {"strides": (3, 2)}),
        ((7,), (3,), {"strides": 5, "dilation": 2, "padding": (1,)}),
    ]:
        options = {"strides": size, **options}
        x = RNG.integers(0, 9, (2, *sizes, 3)).astype(dtype)
        a = leaf((None,) * x.ndim, dtype)
        p = ops.patches(a, size, **options)
        back = ops.patches_grad(
            p, [ops.size_of(a, k + 1) for k in range(len(sizes))], size, **options
        )
        turned = ops.patches(ops.transpose(a), size, **options)
        want = evaluate([p, back], {a: x})
        got = make_function([a], [p, back])(x)
        other = make_function([a], [turned])(x.T)[0]
        for one, two in zip([*got, other], [*want, want[0]]):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype


def test_the_first_of_equal_maxima_gets_the_gradient():
    x = np.array([[3.0, 3, 1], [3, 2, 3]]).reshape(1, 2, 3, 1)
    a = leaf(x.shape)
    y = ops.pool_max(a, 2, 1)
    g = y.op.grad(y, ops.to_node(np.array([10.0, 1.0]).reshape(1, 1, 2, 1)))[0]
    assert evaluate([g], {a: x})[0].ravel().tolist() == [10, 1, 0, 0, 0, 0]


def test_nan_wins_and_gets_the_gradient():
    x = np.array([1.0, np.nan, 3, np.nan, 2, 2]).reshape(1, 6, 1)
    a = leaf(x.shape)
    y = ops.pool_max(a, 3, 3)
    assert np.isnan(evaluate([y], {a: x})[0]).ravel().tolist() == [True, True]
    g = y.op.grad(y, ops.ones_like(y))[0]
    assert evaluate([g], {a: x})[0].ravel().tolist() == [0, 1, 0, 1, 0, 0]


def test_minus_infinity_beats_padding():
    x = np.full((1, 2, 1), -np.inf)
    a = leaf(x.shape)
    y = ops.pool_max(a, 2, 1, 1)
    g = y.op.grad(y, ops.ones_like(y))[0]
    assert evaluate([g], {a: x})[0].ravel().tolist() == [2, 1]


@pytest.mark.parametrize(
    "dtype",
    ["float16", "float32", "int8", "uint8", "int64", *filter(dtypes.available, dtypes.FOREIGN)],
)
def test_dtypes(dtype):
    x = RNG.integers(0, 9, (2, 5, 4)).astype(dtype)
    for build, fill, reduce in ((ops.pool_max, -1, highest), (ops.pool_sum, 0, total)):
        agree(
            lambda a, build=build: build(a, 2, 1, "same"),
            lambda a, f=fill, r=reduce: loops(a, (2,), f, r, 1, "same").astype(dtype),
            x,
        )
    mean = ops.pool_average(x, 2, 1, "same")
    assert mean.dtype == dtypes.to_float(dtype)
    want = loops(x.astype("float64"), (2,), np.nan, average, 1, "same")
    np.testing.assert_array_equal(evaluate([mean])[0], want.astype(mean.dtype))


def test_float16_adds_in_float32():
    x = np.ones((1, 4096, 1), "float16")
    assert evaluate([ops.pool_sum(x, 4096)])[0].item() == 4096
    x = np.full((1, 64, 1), 60000, "float16")
    agree(lambda a: ops.pool_average(a, 64), x[:, :1], x)


def test_empty():
    agree(lambda a: ops.pool_max(a, 2), np.ones((0, 2, 2, 3)), np.ones((0, 4, 5, 3)))
    agree(lambda a: ops.pool_average(a, 2), np.ones((2, 2, 2, 0)), np.ones((2, 4, 5, 0)))
    agree(lambda a: ops.pool_average(a, 2, 1, "same"), np.ones((2, 0, 1)), np.ones((2, 0, 1)))


def test_unknown_sizes():
    x = leaf((None, None, 8, 3))
    y = ops.pool_average(x, 3, 2, "same")
    assert y.shape == (None, None, 4, 3)
    known = leaf((2, 7, 8, 3))
    exact = rebuild([y], {x: known}, fold)[0]
    assert exact.shape == (2, 4, 4, 3)
    assert all_pads(exact.attrs, (7, 8), (3, 3)) == ((1, 1), (0, 1))
    assert ops.pool_max(x, 2, padding="partial").shape == (None, None, 4, 3)


def test_sum_grad():
    g = np.array([1.0, 10]).reshape(1, 2, 1)
    agree(
        lambda g: ops.pool_sum_grad(g, (4,), 2, 1, "valid"),
        np.zeros((1, 4, 1)),
        np.zeros((1, 3, 1)),
    )
    got = evaluate([ops.pool_sum_grad(g, (3,), 2, 1)])[0]
    assert got.ravel().tolist() == [1, 11, 10]


@pytest.mark.parametrize(
    "build, error, match",
    [
        (
            lambda x: ops.pool_max(x, 5),
            ShapeError,
            "window of size 5 is larger than the image of size",
        ),
        (lambda x: ops.pool_max(x, 0), ArgumentError, "the window must be at least 1"),
        (lambda x: ops.pool_max(x, (2, 2, 2)), ArgumentError, "2 of them"),
        (lambda x: ops.pool_sum(x, 2, 0), ArgumentError, "strides"),
        (lambda x: ops.pool_sum(x, 2, -2), ArgumentError, "strides"),
        (lambda x: ops.pool_average(x, 2, 1, "most"), ArgumentError, "'most'"),
        (lambda x: ops.pool_average(x, 2, 1, -1), ArgumentError, "padding"),
        (lambda x: ops.pool_max(ops.squeeze(x, (0, 3)), 2), ShapeError, "at least 3 dimensions"),
        (lambda x: ops.pool_max(ops.cast(x, "bool"), 2), DTypeError, "bool"),
        (lambda x: ops.pool_sum_grad(x, (9, 9), 2), ShapeError, r"sizes \(4, 4\), not \(4, 3\)"),
        (lambda x: ops.patches(x, (5, 1)), ShapeError, "window of size 5"),
        (lambda x: ops.patches_grad(x, (4, 3), (2, 2)), ShapeError, "6 dimensions"),
    ],
)
def test_errors(build, error, match):
    with pytest.raises(error, match=match):
        build(leaf((1, 4, 3, 1)))
