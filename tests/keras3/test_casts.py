"""Values in another dtype: floats that integers cannot hold, in arrays and in traced steps."""

import numpy as np
import pytest
from keras import ops
from keras.src.quantizers.quantizers import compute_quantization_parameters

from ckernels.keras3 import jit

INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
EDGES = [0.0, -0.0, 0.9, -0.9, 1.5, -1.0, 127.0, 127.9, 128.0, 255.5, 256.0, -129.0, 32767.0]
BEYOND = [65504.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30, np.inf]


def expected(x, dtype):
    """Python's integers, cut at the ends."""
    limits = np.iinfo(dtype)

    def of(number):
        if np.isnan(number):
            return 0
        if np.isinf(number):
            return limits.max if number > 0 else limits.min
        return min(max(int(number), limits.min), limits.max)

    return np.array([of(v) for v in x.astype("float64")], dtype)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_floats_beyond_integers_become_the_nearest(source, dtype):
    with np.errstate(over="ignore"):
        x = np.array([*EDGES, *BEYOND, *(-b for b in BEYOND), np.nan] * 3).astype(source)
    wanted = expected(x, dtype)
    for found in (
        ops.cast(x, dtype),
        jit(lambda v: ops.cast(v, dtype))(x),
        ops.convert_to_tensor(x, dtype),
        jit(lambda v: ops.convert_to_tensor(v, dtype))(x),
        np.stack([ops.cast(v, dtype) for v in x]),
    ):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", INTS)
def test_bfloat16(dtype):
    pytest.importorskip("ml_dtypes")
    x = ops.cast(np.array([1.5, -1.0, 300.0, 1e20, -1e20, np.nan], "float32"), "bfloat16")
    wanted = expected(np.asarray(x), dtype)
    np.testing.assert_array_equal(ops.cast(x, dtype), wanted)
    np.testing.assert_array_equal(jit(lambda v: ops.cast(v, dtype))(x), wanted)


def test_what_is_no_float_is_cast_as_before():
    x = np.array([-1, 0, 300], "int32")
    np.testing.assert_array_equal(ops.cast(x, "uint8"), x.astype("uint8"))
    np.testing.assert_array_equal(jit(lambda v: ops.cast(v, "uint8"))(x), x.astype("uint8"))
    np.testing.assert_array_equal(ops.cast(np.array([np.nan, 0, 2]), "bool"), [True, False, True])


def test_zero_points_of_groups_without_a_number_below_zero():
    weights = np.linspace(0.5, 0.6, 16, dtype="float32").reshape(1, 16)
    scale, zero, _ = compute_quantization_parameters(
        weights, bits=4, per_channel=True, group_size=8
    )
    np.testing.assert_array_equal(zero, [[0, 0]])
