"""Interpolation in C along each axis of arrays in every order of axes, beside np.interp; a copy is
made only where what lies around the axis is no single run of memory."""

import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(3)


def interpolated(x, axis, count):
    at = (1 + 2 * np.arange(count)) / 4
    return np.apply_along_axis(lambda line: np.interp(at, np.arange(len(line)), line), axis, x)


def laid(x, perm):
    return np.ascontiguousarray(x.transpose(perm)).transpose(np.argsort(perm))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", range(4))
def test_orders_in_memory(axis, dtype):
    shape = (2, 3, 4, 5)
    x = K.placeholder((None,) * 4, dtype=dtype)
    f = K.function([x], Tensor(ops.interpolate(x.node, axis, 7, 2, 1, 4)))
    for size in (shape, (2, 1, 4, 1), (1, 3, 1, 5), (3, 1, 1, 1)):
        a = RNG.normal(size=size).astype(dtype)
        want = interpolated(a.astype("float64"), axis, 7)
        for perm in itertools.permutations(range(4)):
            got = f(laid(a, perm))
            np.testing.assert_allclose(got, want, 2e-6 if dtype == "float32" else 1e-14, 1e-6)
        wide = np.zeros(tuple(2 * n for n in size), dtype)
        wide[tuple(slice(None, None, 2) for _ in size)] = a
        spaced = wide[tuple(slice(None, None, 2) for _ in size)]
        np.testing.assert_array_equal(f(spaced), f(a))
    assert all(i.kind != PYCALL for i in f.info.program.instructions)
    none = np.ones(tuple(0 if a == 3 - axis else 2 for a in range(4)), dtype)
    assert f(none).shape == tuple(7 if a == axis else n for a, n in enumerate(none.shape))
    assert all(i.kind != PYCALL for i in f.info.program.instructions)


def test_what_is_copied():
    """Rows behind the axis lie side by side, what is before has one stride; or there is a copy."""
    x = K.placeholder((3, 4, 5, 6), dtype="float64")

    def copies(*perm, axis=1):
        y = K.permute_dimensions(x, perm)
        f = K.function([x], Tensor(ops.interpolate(y.node, axis, 7, 2, 1, 4)))
        a = RNG.normal(size=(3, 4, 5, 6))
        np.testing.assert_allclose(f(a), interpolated(a.transpose(perm), axis, 7), 1e-13, 1e-14)
        return sum(s.endswith("copy") for s in f.steps())

    assert copies(0, 1, 2, 3) == 0 and copies(1, 0, 2, 3) == 0
    assert copies(0, 1, 3, 2) == copies(0, 2, 1, 3) == copies(3, 0, 1, 2) == 1
    assert copies(1, 0, 2, 3, axis=2) == 1  # two strides before the axis


@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_halves_are_computed_in_a_wider_dtype_or_by_numpy(mode):
    x = K.placeholder((None, None), dtype="float16")
    f = K.function([x], Tensor(ops.interpolate(x.node, 1, 7, 2, 1, 4)), mode=mode)
    a = RNG.normal(size=(3, 5)).astype("float16")
    got = f(a)
    assert got.dtype == "float16"
    np.testing.assert_allclose(got, interpolated(a.astype("float64"), 1, 7), 1e-3, 1e-3)
