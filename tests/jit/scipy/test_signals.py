"""scipy.signal, ndimage, fft, integrate and spatial.distance in a trace: SciPy's values, slopes."""

import numpy as np
import pytest

import ckernels as ck

from .test_algebra import check

pytest.importorskip("scipy")
from scipy import fft, integrate, ndimage, signal  # noqa: E402
from scipy.spatial import distance  # noqa: E402

RNG = np.random.default_rng(4)
V, W = RNG.normal(size=13), RNG.normal(size=(9, 7))
K1, K2 = np.array([0.5, 1.0, -0.25]), RNG.normal(size=(3, 3))
E1, E2 = np.array([0.5, 1.0]), RNG.normal(size=(2, 3))

SIGNALS = {
    **{f"convolve {m} {len(k)}": lambda x, m=m, k=k: signal.convolve(x, k.astype(x.dtype), mode=m)
       for m in ("full", "same", "valid") for k in (K1, E1, np.linspace(0, 1, 15))},
    **{f"correlate {m} {len(k)}": lambda x, m=m, k=k: signal.correlate(x, k.astype(x.dtype), mode=m)
       for m in ("full", "same", "valid") for k in (K1, E1, np.linspace(0, 1, 15))},
    **{f"fftconvolve {m}": lambda x, m=m: signal.fftconvolve(x, x[:4], mode=m)
       for m in ("full", "same", "valid")},
    "by spectra": lambda x: signal.correlate(x[:4], x, mode="valid", method="fft"),
    "first order": lambda x: signal.lfilter([0.2], [1.0, -0.8], x),
    "second order": lambda x: signal.lfilter([0.2, 0.1, 0.3], [2.0, -0.8, 0.4], x),
    "no feedback": lambda x: signal.lfilter([0.2, 0.1, 0.3], 1.0, x),
    "one number": lambda x: signal.lfilter([0.2], [2.0], x),
    "detrend": lambda x: signal.detrend(x), "mean": lambda x: signal.detrend(x, type="constant"),
    "trapezoid": lambda x: integrate.trapezoid(x, dx=0.5),
    "running": lambda x: integrate.cumulative_trapezoid(x, np.linspace(0, 2, 13) ** 2),
    "running from 0": lambda x: integrate.cumulative_trapezoid(x, dx=0.1, initial=0),
    "simpson": lambda x: integrate.simpson(x), "simpson even": lambda x: integrate.simpson(x[1:]),
    "simpson at": lambda x: integrate.simpson(x, x=np.linspace(0, 2, 13) ** 2),
    "simpson even at": lambda x: integrate.simpson(x[1:], x=np.linspace(1, 2, 12) ** 2),
    "simpson of two": lambda x: integrate.simpson(x[:2], dx=0.3),
    "fft": lambda x: np.abs(fft.fft(x)), "rfft": lambda x: np.abs(fft.rfft(x, norm="ortho")),
    "there and back": lambda x: fft.irfft(fft.rfft(x) * 0.5, n=13),
    "dct": lambda x: fft.dct(x), "dct ortho": lambda x: fft.dct(x, norm="ortho"),
    "dct even": lambda x: fft.dct(x[1:]),
    "gaussian 1": lambda x: ndimage.gaussian_filter1d(x, 0.7),
}  # fmt: skip
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant",
         "grid-mirror")  # fmt: skip
IMAGES = {
    **{f"gaussian {m}": lambda x, m=m: ndimage.gaussian_filter(x, 0.8, mode=m, cval=0.3)
       for m in MODES},
    "gaussian of two": lambda x: ndimage.gaussian_filter(x, (0.5, 0.0), truncate=2.0),
    "uniform": lambda x: ndimage.uniform_filter(x, 3), "uniform even": lambda x: (
        ndimage.uniform_filter(x, (4, 1), mode="nearest")),
    "weights": lambda x: ndimage.correlate(x, K2), "weights even": lambda x: (
        ndimage.correlate(x, E2, mode="wrap")),
    "convolve": lambda x: ndimage.convolve(x, K2, mode="constant", cval=1.0),
    "convolve1d": lambda x: ndimage.convolve1d(x, K1, axis=0),
    "correlate1d": lambda x: ndimage.correlate1d(x, E1, axis=1, mode="mirror"),
    "laplace": lambda x: ndimage.laplace(x), "sobel": lambda x: ndimage.sobel(x, axis=0),
    **{f"convolve2d {m} {k.shape}": lambda x, m=m, k=k: signal.convolve2d(x, k.astype(x.dtype), m)
       for m in ("full", "same", "valid") for k in (K2, E2)},
    "convolve 2": lambda x: signal.convolve(x, K2.astype(x.dtype), "same"),
    "correlate2d": lambda x: signal.correlate2d(x, K2.astype(x.dtype), "same", fillvalue=0.5),
    "correlate2d whole": lambda x: signal.correlate2d(x, E2.astype(x.dtype)),
    "detrend rows": lambda x: signal.detrend(x, axis=0),
    "simpson rows": lambda x: integrate.simpson(x, axis=0),
    "running rows": lambda x: integrate.cumulative_trapezoid(x, np.cumsum(x, axis=0) * 0 + x**2,
                                                             axis=0),
    "fft2": lambda x: np.abs(fft.fft2(x)), "rfft2": lambda x: np.abs(fft.rfft2(x)),
    "dct rows": lambda x: fft.dct(x, axis=0),
    **{m: lambda x, m=m: distance.cdist(x, x[:4] + 0.1, m)
       for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev")},
    "pdist": lambda x: distance.pdist(x),
    "pdist cityblock": lambda x: distance.pdist(x, "cityblock"),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name):
    check(SIGNALS[name], V)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    check(IMAGES[name], W)


def test_long_vectors_by_their_spectra():
    x, y = RNG.normal(size=(2, 1101))
    for mode in ("full", "same", "valid"):
        for a, b in ((x, y[:450]), (x[:450], y), (x + 1j * y, y[:450])):
            jitted = ck.jit(lambda a, b, mode=mode: signal.convolve(a, b, mode), strict=True)
            np.testing.assert_allclose(jitted(a, b), signal.convolve(a, b, mode), atol=1e-10)
    counts = np.arange(900) % 7
    exact = ck.jit(lambda x: signal.convolve(x, x), strict=True)(counts)
    assert exact.dtype == counts.dtype
    np.testing.assert_array_equal(exact, np.convolve(counts, counts))
    listed = ck.jit(lambda x: signal.correlate(x, [1.0, 2.0]), strict=True)(x)
    np.testing.assert_allclose(listed, signal.correlate(x, [1.0, 2.0]), atol=1e-12)


def test_slopes_of_no_distance_are_zero():
    slope = ck.jit.grad(lambda x: distance.cdist(x, x).sum())(W)
    assert np.isfinite(slope).all()


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_what_is_not_served_is_scipys():
    """Images of integers are cut to integers, orders of derivatives have other weights."""
    image = (W * 100).astype("uint8")
    for f, x in (
        (lambda x: ndimage.gaussian_filter(x, 1.0), image),
        (lambda x: ndimage.gaussian_filter(x, 1.0, order=1), W),
        (lambda x: ndimage.median_filter(x, 3), W),
        (lambda x: signal.lfilter([1.0], [1.0, -0.5], x, axis=0), W),
        (lambda x: signal.lfilter([1.0], [1.0, -0.5], x, zi=np.zeros(1))[0], V),
        (lambda x: signal.convolve2d(x, K2, boundary="wrap"), W),
        (lambda x: signal.correlate2d(x, E2, "same"), W),
        (lambda x: fft.dct(x, type=3), V),
        (lambda x: signal.fftconvolve(x, x), np.arange(5)),
        (lambda x: distance.cdist(x, x, "correlation"), W),
        (lambda x: ndimage.convolve(x, E2), W),
    ):
        jitted = ck.jit(f)
        np.testing.assert_array_equal(jitted(x), f(x))
        assert jitted.report()
