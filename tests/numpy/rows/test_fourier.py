"""Rows of np.fft whose sizes are known only in a call, precisions, and what is refused."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.numpy import rows
from ckernels.numpy.promote import NUMPY

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_filters_serve_all_sizes_in_their_own_precision(dtype):
    @ck.jit(strict=True)
    def smooth(x, k):
        return np.fft.irfft(np.fft.rfft(x) * k)

    for n in (20, 64, 30):
        x, k = RNG.normal(size=(3, n)).astype(dtype), np.exp(-np.arange(n // 2 + 1.0))
        k = k.astype(dtype)
        got, want = smooth(x, k), np.fft.irfft(np.fft.rfft(x) * k)
        assert got.dtype == want.dtype == dtype
        np.testing.assert_allclose(got, want, atol=1e-6 if dtype == "float32" else 1e-14)
    assert smooth.report()["traces"] == 1


def test_gradients_through_a_spectrum():
    def power(x):
        return (np.abs(np.fft.fft(x)[:3]) ** 2).sum() + np.fft.irfft(np.fft.rfft(x) * 2j).sum()

    x = RNG.normal(size=12)
    slope = ck.jit.grad(power)(x)
    for i in range(12):
        step = np.eye(12)[i] * 1e-6
        want = (power(x + step) - power(x - step)) / 2e-6
        np.testing.assert_allclose(slope[i], want, rtol=1e-6, atol=1e-7)


def test_errors_are_numpys():
    with pytest.raises(ValueError, match="Invalid norm"):
        rows.call(NUMPY, np.fft.fft, np.ones(4), norm="other")
    with pytest.raises(ValueError, match="Invalid number"):
        rows.call(NUMPY, np.fft.fft, np.ones(4), 0)
    with pytest.raises(TypeError):
        rows.call(NUMPY, np.fft.rfft, np.ones(4) * 1j)
