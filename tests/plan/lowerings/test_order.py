"""Sorting, places and searches in C beside NumPy's, with NaN, equal elements and no elements."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(dtype, side):
    x, v = K.placeholder((None,), dtype=dtype), K.placeholder((None, None), dtype=dtype)
    f = K.function([x, v], Tensor(ops.searchsorted(x.node, v.node, side)))
    for count, shape in ((50, (3, 41)), (1, (2, 2)), (0, (2, 3)), (7, (0, 3)), (9, (1, 1))):
        a, b = np.sort(some((count,), dtype)), some(shape, dtype)
        for values in (b, np.asfortranarray(b), b[::-1], np.broadcast_to(b[:, :1], b.shape)):
            np.testing.assert_array_equal(f(a, values), np.searchsorted(a, values, side))
        np.testing.assert_array_equal(
            f(a[::-1][::-1], b[:, ::2]), np.searchsorted(a, b[:, ::2], side)
        )
    assert native(f)


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
