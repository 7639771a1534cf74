"""argmax and argmin in every form of loop nest: the first place, NaN before all, any layout."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.config import config
from ckernels.runtime.function import make_function

from .planned import leaf, plan

RNG = np.random.default_rng(3)
DTYPES = ("bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32",
          "float64", *filter(dtypes.available, dtypes.FOREIGN))  # fmt: skip
SHAPES = [(1, 1), (1, 7), (7, 1), (3, 515), (3, 1100), (515, 3), (1100, 3), (17, 300), (260, 19),
          (2, 4096), (2, 4500), (16_390, 2), (6_001, 3), (2_700, 7), (700, 63)]  # fmt: skip


def places(a):
    return [f(a, axis) for axis in (0, 1) for f in (np.argmax, np.argmin)] + [
        np.argmax(a.reshape(-1)),
        np.argmin(a.reshape(-1)),
    ]


@pytest.fixture(scope="module", params=DTYPES)
def found(request):
    x = leaf((None, None), request.param)
    flat = ops.reshape(x, (-1,))
    outputs = [op(x, axis) for axis in (0, 1) for op in (ops.argmax, ops.argmin)]
    outputs += [ops.argmax(flat, 0), ops.argmin(flat, 0)]
    return request.param, make_function([x], outputs, positional_only=True, downcast=False)


def check(found, a):
    dtype, function = found
    turned = a.strides[-1] < 0
    a = a[:, ::-1].astype(dtype)[:, ::-1] if turned else a.astype(dtype)
    for got, want in zip(function(a), places(a)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_places_are_numpys(found, shape):
    check(found, RNG.integers(0, 9, shape))  # many ties
    check(found, 50 * RNG.normal(size=shape))
    check(found, np.zeros(shape))
    check(found, RNG.integers(0, 9, shape)[:, ::-1])
    check(found, np.repeat(RNG.normal(size=shape), 2, 1)[::-1, ::-2])
    if found[0] in ("int8", "int64", "uint8"):
        check(found, np.full(shape, np.iinfo(found[0]).min))
        check(found, np.full(shape, np.iinfo(found[0]).max))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_nan_is_found_first(found, shape):
    if not dtypes.is_float(found[0]):
        return
    a = RNG.normal(size=shape)
    for value in (np.inf, -np.inf):
        check(found, np.full(shape, value))
        a[RNG.random(shape) < 0.1] = value
        check(found, a)
    for share in (0.002, 0.2, 1):
        a[RNG.random(shape) < share] = np.nan
        check(found, a)
        check(found, a[:, ::-1])


def test_rows_about_as_long_as_vectors(found):
    """The place lies in each part of a row in turn: first, whole and last vectors, behind them."""
    lengths = (*range(1, 19), 31, 32, 33, 63, 65, 95, 127, 128, 130, 257, 511, 513, 1023, 1030)
    for n in lengths:
        a = RNG.integers(0, 5, (7, n))
        a[range(7), RNG.integers(0, n, 7)] = 9
        check(found, a)
        check(found, 9 - a)
        check(found, RNG.integers(0, 3, (7, n)))


@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_without_vectors_of_the_cpu(dtype):
    with config.change(arch="generic"):
        x = leaf((None, None), dtype)
        outputs = [ops.argmax(x, 1), ops.argmin(x, 1), ops.argmax(-x, 1)]
        function = make_function([x], outputs, positional_only=True, downcast=False)
        for n in (8, 31, 33, 300, 4500):
            a = RNG.integers(0, 20, (5, n)).astype(dtype)
            if dtype.startswith("float"):
                a[1, n // 2 :], a[2], a[3, ::3] = np.nan, -np.inf, np.inf
            for got, f, b in zip(function(a), (np.argmax, np.argmin, np.argmax), (a, a, -a)):
                np.testing.assert_array_equal(got, f(b, 1))


def test_zeros_of_both_signs_are_equal(found):
    if dtypes.is_float(found[0]):
        check(found, RNG.choice([-0.0, 0.0], (33, 90)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "axis, shape",
    [(0, (1100, 1200)), (0, (3000, 5)), (1, (5, 1500, 33)), (0, (40_000,)), (0, (16_385 * 3,))],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_long_axes(axis, shape, dtype):
    """Chunks of rows, of elements and strips: also where nothing in a chunk beats the start."""
    for op in (ops.argmax, ops.argmin):
        a = (100 * RNG.normal(size=shape)).astype(dtype)
        plan(lambda x, op=op: op(x, axis), a)
        if dtype == "float32":
            a.reshape(-1)[::7] = np.nan
            plan(lambda x, op=op: op(x, axis), a)
            plan(lambda x, op=op: op(x, axis), np.full(shape, -np.inf, dtype))
            plan(lambda x, op=op: op(x, axis), np.full(shape, np.inf, dtype))


def test_places_beside_other_reductions_and_dear_values():
    a = RNG.normal(size=(60, 1030)).astype("float32")
    a[3, 700], a[4, 20], a[5] = np.nan, np.inf, -np.inf
    for axis in (0, 1):

        def build(x, axis=axis):
            y = ops.tanh(x)
            first = ops.argmax(y, axis)
            top = ops.max(y, axis, keepdims=True)
            return [
                first,
                ops.argmin(x, axis),
                ops.max(x, axis),
                ops.argmax(x, axis),
                y - top,
                ops.sum(ops.square(y), axis),
                ops.min(x, axis),
            ]

        plan(build, a, rtol=1e-3)
        plan(lambda x, axis=axis: [ops.argmax(ops.tanh(x), axis), ops.argmin(x, axis)], a)
        plan(lambda x, axis=axis: [ops.argmax(x, axis), ops.sum(x, axis)], a, rtol=1e-3)


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_other_layouts(order):
    a = RNG.integers(0, 5, (40, 60, 50)).astype("float32").transpose(order)[::-1, ::2]
    for axis in (0, 1, 2):
        plan(lambda x, axis=axis: [ops.argmax(x, axis), ops.argmin(x, axis)], a)
    plan(lambda x: ops.argmax(ops.reshape(x, (-1,)), 0), a)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("columns", [2, 3, 7, 31, 63, 64, 65])
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_of_few_columns(dtype, columns):
    """Rows that lie one behind the other, of which some are the last of a strip, or of a chunk."""
    x = leaf((None, None), dtype)
    outputs = [op(x, 0) for op in (ops.max, ops.min, ops.any, ops.all)]
    function = make_function([x], outputs, positional_only=True, downcast=False)
    for rows in (40_000 // columns, 33_000 // columns + 1):
        a = (50 * RNG.normal(size=(rows, columns))).astype(dtype)
        a[RNG.integers(0, rows, columns), np.arange(columns)] = 1  # the only one that holds
        one = np.zeros_like(a)
        one[RNG.integers(0, rows), 0] = one[0, 1] = one[-1, -1] = 1
        nan = a.copy()
        if dtypes.is_float(dtype):
            nan[RNG.integers(0, rows), 0] = nan[0, 1] = nan[-1, -1] = np.nan
        for b in (a, one, one == 0, nan, nan[:, :-1], nan[::2]):
            b = b.astype(dtype)
            plain = b.astype("float64") if dtypes.is_float(dtype) else b
            wanted = plain.max(0), plain.min(0), plain.any(0), plain.all(0)
            for got, want in zip(function(b), wanted):
                np.testing.assert_array_equal(got.astype(want.dtype), want)


def test_nan_stays_whatever_comes_behind_it(found):
    """Blocks of rows without NaN are compared as numbers, also beside a NaN of an earlier one."""
    if dtypes.is_float(found[0]):
        for at in range(0, 40, 3):
            a = np.arange(200.0).reshape(40, 5)
            a[at, 2] = np.nan
            check(found, a)
            check(found, -a)
            a[(at + 9) % 40, 1:3] = np.nan
            check(found, a)
