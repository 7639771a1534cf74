"""Kernels of what runs along an axis, in C: extrema of every dtype along rows and columns, over
views, both ways; sums are in tests/ops/test_sort.py."""

import numpy as np
import pytest
from ops.agree import leaf

from ckernels import ops
from ckernels.plan.instructions import PYCALL
from ckernels.runtime.function import make_function

RNG = np.random.default_rng(3)
DTYPES = ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float32",
          "float64"]  # fmt: skip


def of_bits(dtype, shape):
    """Numbers of all sizes, NaN and infinities of floats among them."""
    if dtype == "bool":
        return RNG.integers(0, 2, shape) > 0
    bits = RNG.integers(0, 256, (*shape, np.dtype(dtype).itemsize)).astype("uint8")
    return bits.view(dtype)[..., 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_extrema(dtype, axis, reverse):
    x = of_bits(dtype, (7, 40, 3))
    x[2, 3] = 1
    node = leaf((None, None, None), dtype)
    built = [op(node, axis, reverse) for op in (ops.cummax, ops.cummin)]
    f = make_function([node], built)
    for values in (x, x[:, ::-2], x.transpose(2, 1, 0), x[:1], x[:, :1], x[:0], x[:, :, :0]):
        turned = np.flip(values, axis) if reverse else values
        with np.errstate(invalid="ignore"):
            wants = [u.accumulate(turned, axis) for u in (np.maximum, np.minimum)]
        for got, want in zip(f(values), wants):
            np.testing.assert_array_equal(got, np.flip(want, axis) if reverse else want)
            assert got.dtype == want.dtype
    assert all(i.kind != PYCALL for i in f.info.program.instructions)
