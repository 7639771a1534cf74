"""Larger and smaller ones at indices beside NumPy's `ufunc.at`, over dtypes, ties,
NaN and keys; their slopes, at equal elements too."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import DTypeError, IndexOutOfBounds, ShapeError

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(7)
HOWS = {"max": np.maximum, "min": np.minimum, "mul": np.multiply, "div": np.true_divide,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
KEYS = {
    "rows": lambda i, j: (i,),
    "places": lambda i, j: (i, j),
    "columns": lambda i, j: (slice(None), j),
    "a part": lambda i, j: (slice(1, 4), j),
    "a table of rows": lambda i, j: (
        i[None] if isinstance(i, np.ndarray) else ops.expand(i, (0,)),
    ),
    "a run": lambda i, j: (slice(0, 3),),
}


def at(how, x, key, y):
    x = x.copy()
    with np.errstate(all="ignore"):
        HOWS[how].at(x, key, y)
    return x


def numbers(dtype, shape):
    if dtype == "bool":
        return RNG.integers(0, 2, shape) > 0
    low = 0 if dtype[0] == "u" else -3
    x = RNG.integers(low, 4, shape).astype(dtype)
    return x * x.dtype.type(0.75) if dtype[0] == "f" else x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint16",
                                   "bool"])  # fmt: skip
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("key", KEYS)
def test_as_numpy_does(how, key, dtype):
    if (dtype[0] == "f" and how in ("and", "or", "xor")) or (dtype[0] != "f" and how == "div"):
        return
    x = numbers(dtype, (5, 6))
    i, j = RNG.integers(-5, 5, 8), RNG.integers(-6, 6, 8)
    where = KEYS[key](i, j)
    y = numbers(dtype, x[where].shape)
    for value in (y, y[..., :1] if y.ndim > 1 else y[:1], y.flat[0]):
        agree(lambda x, y, i, j: ops.combine_subtensor(x, KEYS[key](i, j), y, how),
              at(how, x, where, value), x, np.asarray(value), i, j)  # fmt: skip


def test_nan_stays_and_zeros_keep_their_sign():
    x = np.array([np.nan, 1.0, -0.0, 0.0, -np.inf])
    i, y = np.array([0, 1, 2, 3, 4]), np.array([5.0, np.nan, 0.0, -0.0, -np.inf])
    for how in ("max", "min", "mul", "div"):
        agree(
            lambda x, y, i, how=how: ops.combine_subtensor(x, i, y, how), at(how, x, i, y), x, y, i
        )


def test_nothing_to_combine():
    none = np.zeros(0, "int64")
    for how in HOWS:
        dtype = "int64" if how in ("and", "or", "xor") else "float64"
        x, empty = np.ones((3, 2), dtype), np.ones((3, 0), dtype)
        agree(lambda x, i, how=how: ops.combine_subtensor(x, i, 7, how), x, x, none)
        agree(lambda x, i, how=how: ops.combine_subtensor(x, i, 7, how), empty, empty,
              np.array([2]))  # fmt: skip


def test_a_mask_and_an_index_beyond_the_end():
    x, mask = np.arange(4.0), np.array([True, False, True, False])
    agree(lambda x, m: ops.combine_subtensor(x, m, 1.5, "max"), at("max", x, mask, 1.5), x, mask)
    with pytest.raises(IndexOutOfBounds, match="index 4"):
        agree(lambda x, i: ops.combine_subtensor(x, i, 1.0, "max"), x, x, np.array([4]))
    with pytest.raises(DTypeError, match="complex"):
        ops.combine_subtensor(leaf((3,), "complex128"), leaf((2,), "int64"), 1.0, "max")
    with pytest.raises(ShapeError, match="does not fit"):
        ops.combine_subtensor(leaf((3,)), leaf((2,), "int64"), leaf((3,)), "max")


def test_gradients():
    i = np.array([0, 2, 2, 0, 0])
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
    for how in ("max", "min", "mul", "div"):
        y = y if how in ("max", "min") else np.copysign(1 + np.abs(y) % 1, y)
        check_gradient(lambda x, how=how, y=y: ops.combine_subtensor(x, i, y, how), x)
        check_gradient(lambda y, how=how: ops.combine_subtensor(x, i, y, how), y)
        check_gradient(lambda y, how=how: ops.combine_subtensor(x, (i, 1), y, how), y[:, 0])
    none, ones = np.array([0.0, 2.0, 0.0, 3.0, 0.0]), np.ones(4)
    for y in (none, none + [1, 0, 0, 0, 0], none + [1, 0, 2, 0, 1]):  # two factors of 0, one, none
        check_gradient(lambda y: ops.combine_subtensor(ones * 1.5, i, y, "mul"), y)
        check_gradient(lambda x, y=y: ops.combine_subtensor(x, i, y, "mul"), ones)
