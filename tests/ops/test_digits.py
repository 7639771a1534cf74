"""Digits of numbers, compiled, bit by bit as NumPy and the C library have them."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.graph.node import make, new_uid
from ckernels.numpy import rows
from ckernels.numpy.promote import NUMPY
from ckernels.ops import reference
from ckernels.runtime.function import make_function

TINY, HIGH = np.finfo(float).tiny, np.finfo(float).max
X = np.array([0.0, -0.0, 1.0, -1.0, TINY, -TINY / 2, 5e-324, HIGH, np.inf, -np.inf, np.nan, 0.3])
E = np.array([0, 1, -1, 52, -1074, -1100, 1023, 2000, -3000, -1050, 24, -149])
RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=500) * 10.0 ** RNG.integers(-300, 300, 500)
I = np.array([0, 1, -4, 6, -(2**63), 2**62, 12, -18])


def both(function, *args):
    """(NumPy's, compiled, interpreted)."""
    inputs = [make("placeholder", (), {"uid": new_uid(), "dtype": a.dtype.name, "shape": a.shape,
                                       "name": None}) for a in args]  # fmt: skip
    found = rows.ufunc(NUMPY, function, *inputs)
    nodes = list(found) if isinstance(found, tuple) else [found]
    with np.errstate(all="ignore"):
        want = function(*args)
    want = want if isinstance(want, tuple) else (want,)
    compiled = make_function(inputs, nodes, downcast=False)(*args)
    return want, compiled, reference.evaluate(nodes, dict(zip(inputs, args)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floats(dtype):
    with np.errstate(all="ignore"):
        x, y, w = X.astype(dtype), (X[:, None] * 0.7).astype(dtype), WIDE.astype(dtype)
    for function, args in ((np.nextafter, (x, y)), (np.fmod, (x, y)), (np.fmod, (y, x)),
                           (np.fmod, (w, w[::-1].copy())), (np.ldexp, (x[:, None], E)),
                           (np.ldexp, (w[:, None], E)), (np.frexp, (x,)), (np.frexp, (w,)),
                           (np.spacing, (x,)), (np.spacing, (w,)), (np.signbit, (x,)),
                           (np.signbit, (-x,))):  # fmt: skip
        for found in both(function, *args)[1:]:
            for got, want in zip(found, both(function, *args)[0]):
                assert got.dtype == want.dtype, function.__name__
                np.testing.assert_array_equal(got, want, err_msg=function.__name__)
                if got.dtype.kind == "f":
                    there = ~np.isnan(want)
                    np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(want[there]))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "uint32", "uint64"])
def test_integers(dtype):
    i = I.astype(dtype)
    for function, args in ((np.gcd, (i, i[:, None])), (np.bitwise_count, (i,)),
                           (np.lcm, (i[:4], i[:4, None]))):  # fmt: skip
        (want,), (compiled,), (interpreted,) = both(function, *args)
        assert compiled.dtype == want.dtype
        np.testing.assert_array_equal(compiled, want, err_msg=function.__name__)
        np.testing.assert_array_equal(interpreted, want, err_msg=function.__name__)


def test_half_floats_are_left_to_numpy():
    half = ops.zeros_like(rows.base.node_of(np.ones(2, "float16"), NUMPY))
    for function in (np.nextafter, np.spacing, np.frexp, np.fmod):
        with pytest.raises(rows.base.NotSupported, match="float16"):
            rows.ufunc(NUMPY, function, *[half] * function.nin)
