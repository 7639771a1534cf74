"""Functions that go to ufuncs without Python equal those behind them, and do not warn."""

import warnings

import keras
import numpy as np
import pytest
from keras import ops

from ckernels.base.errors import ArgumentError
from ckernels.base.native import runtime
from ckernels.keras3 import backend
from ckernels.keras3.direct import quiet

X = np.array([[0.0, 1.5, -2.0], [np.inf, np.nan, 3e38]], "float32")
N = np.array([[3, -4, 0], [7, 1, -9]], "int32")
BEHIND = {
    name: made
    for name, made in vars(backend.numpy).items()
    if runtime is not None and isinstance(made, runtime.Direct)
}


@pytest.mark.skipif(runtime is None, reason="the C runtime is not built")
@pytest.mark.parametrize("name", sorted(BEHIND))
def test_as_the_function_behind_it(name):
    made = BEHIND[name]
    assert made.__name__ == made.__wrapped__.__name__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in X, N, N > 0, X[:, ::-2], X[:0], X[1, 1:2].reshape(()):
            for args in (x,), (x, x), (x, 2), (3, x):
                try:
                    wanted = made.__wrapped__(*args)
                except (TypeError, ValueError) as error:  # powers of ints below 0, say
                    kind = TypeError if isinstance(error, TypeError) else ValueError
                    with pytest.raises(kind):
                        made(*args)
                    continue
                found = made(*args)
                assert found.dtype == wanted.dtype and found.shape == wanted.shape
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("first", ["bool", "uint8", "int32", "float16", "float32"])
@pytest.mark.parametrize("second", ["bool", "int8", "int32", "float32"])
def test_arrays_of_two_dtypes_promote_as_keras(first, second):
    a, b = np.array([0, 1, 5], first), np.array([1, 1, 4], second)
    dtype = keras.backend.result_type(first, second)
    for _ in range(2):  # the second time by the dtype that is kept
        found = ops.add(a, b)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.add(a.astype(dtype), b.astype(dtype)))
        np.testing.assert_array_equal(ops.less(a, b), a.astype(dtype) < b.astype(dtype))
        truth = a.astype(bool) & b.astype(bool)
        np.testing.assert_array_equal(ops.logical_and(a, b), truth)


def test_quiet_functions_take_options():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quiet(np.sum)(np.float32([3e38, 3e38]), axis=0) == np.inf
    assert quiet(np.negative) is np.negative


def test_what_fails_is_said_with_its_shapes():
    with pytest.raises(ArgumentError, match=r"add\(.* is refused: operands could not be broadcast"):
        ops.add(np.ones((2, 3), "float32"), np.ones((2, 4), "float32"))
