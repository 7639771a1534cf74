"""Parts under masks in jitted programs beside NumPy: dtypes, sizes, what is stored there."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning

from .beside import check, same


def added_under_a_mask(x, y):
    y[x > 0] += 1
    return y, y[x > 0].sum()


def slopes_under_a_mask(x):
    slopes = np.diff(x)
    slopes[x > 0] = 2
    return slopes


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1), (1, 12), (12, 1), (12, 11), (1, 0)])
def test_a_mask_is_not_repeated(sizes):
    x, y = (np.arange(1.0, n + 1) for n in sizes)
    for function, args in ((added_under_a_mask, (x, y)), (slopes_under_a_mask, (np.ones(1),))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            with pytest.raises(IndexError, match="boolean index did not match"):
                ck.jit(function)(*args)
    check(added_under_a_mask, y, y)  # one array, twice


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.minimum])
@pytest.mark.parametrize("dtype", ["int16", "uint8", "bool", "float32", "complex64"])
def test_numbers_that_a_dtype_does_not_have_added_at_places(ufunc, dtype):
    places = np.array([0, 0, 1])

    def at(x, number):
        ufunc.at(x, places, number)
        return x

    for number in (0.7, -0.6, 2, -1, 1j):
        x = np.array([1, 0, 1], dtype)
        try:
            want = at(x.copy(), number)
        except Exception as problem:
            with pytest.raises(type(problem)):
                ck.jit(lambda x, number=number: at(x, number))(x.copy())
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(want, ck.jit(lambda x, number=number: at(x, number))(x))
