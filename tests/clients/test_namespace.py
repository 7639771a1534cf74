"""Libraries that ask an array for its namespace, with arrays of ckernels.numpy."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ckernels.numpy as cnp
from ckernels.base.config import config

SCIPY = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import scipy.cluster.vq as vq, scipy.constants as constants, scipy.fft as fft
import scipy.integrate as integrate, scipy.ndimage as ndimage, scipy.optimize as optimize
import scipy.signal as signal, scipy.special as special, scipy.stats as stats
import ckernels.numpy as cnp

rng = np.random.default_rng(0)
x, v, w = rng.normal(size=(6, 5)), rng.normal(size=50), rng.normal(size=50)
p = np.abs(x) + 0.1
calls = [
    lambda: special.softmax(x, axis=1), lambda: special.log_softmax(x, axis=1),
    lambda: special.logsumexp(x, axis=0), lambda: special.expit(x), lambda: special.entr(p),
    lambda: special.erf(x), lambda: special.xlogy(p, p), lambda: special.gammaln(p),
    lambda: special.ndtr(x), lambda: special.rel_entr(p, p + 1), lambda: stats.zscore(x),
    lambda: stats.skew(x), lambda: stats.kurtosis(x), lambda: stats.gmean(p),
    lambda: stats.hmean(p), lambda: stats.pmean(p, 2), lambda: stats.describe(x).variance,
    lambda: stats.sem(x), lambda: stats.moment(x, 2), lambda: stats.variation(p),
    lambda: stats.entropy(p), lambda: stats.pearsonr(v, w).statistic,
    lambda: stats.ttest_1samp(x, 0.0).pvalue, lambda: stats.ttest_ind(x, x + 1).statistic,
    lambda: stats.chisquare(p).statistic, lambda: stats.jarque_bera(v).statistic,
    lambda: stats.kstat(v), lambda: stats.zmap(x, x), lambda: stats.tmean(v),
    lambda: stats.circmean(v), lambda: stats.directional_stats(x).mean_direction,
    lambda: vq.whiten(x), lambda: vq.vq(x, x[:2])[1], lambda: fft.fft(x), lambda: fft.rfftn(x),
    lambda: fft.dct(x), lambda: fft.fftshift(x), lambda: integrate.trapezoid(x),
    lambda: integrate.simpson(x), lambda: integrate.cumulative_trapezoid(x),
    lambda: signal.detrend(x), lambda: signal.hilbert(x), lambda: signal.convolve(v, w),
    lambda: ndimage.gaussian_filter(x, 1.0), lambda: optimize.rosen(x),
    lambda: constants.convert_temperature(x, "C", "K"),
]
wanted = [call() for call in calls]
x, v, w, p = map(cnp.asarray, (x, v, w, p))
own = 0
for call, want in zip(calls, wanted):
    got = call()
    own += isinstance(got, cnp.ndarray)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-12)
assert own >= len(calls) - 1, own
"""


@pytest.mark.sampled(0)
@pytest.mark.parametrize("flags", ["lazy_from=0,mode=reference", ""], ids=["late", "at once"])
def test_functions_of_scipy_take_the_namespace(flags):
    scipy = pytest.importorskip("scipy")
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):
        pytest.skip("fewer functions take a namespace before SciPy 1.17")
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "CKERNELS_FLAGS": flags}
    done = subprocess.run([sys.executable, "-c", SCIPY], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(params=[0, 1 << 15], ids=["late", "at once"])
def lazy_from(request):
    before = config.lazy_from, config.mode
    config.lazy_from, config.mode = request.param, "reference"
    yield
    config.lazy_from, config.mode = before


def test_array_api_compat_finds_it(lazy_from):
    compat = pytest.importorskip("array_api_compat")
    x = cnp.arange(12.0).reshape(3, 4)
    assert compat.array_namespace(x) is cnp and compat.is_array_api_obj(x)
    assert not compat.is_lazy_array(x) and not compat.is_numpy_array(x)
    assert compat.device(x) == "cpu" and compat.size(x) == 12
    assert compat.to_device(x, "cpu") is x


def test_dask_computes_with_it(lazy_from):
    da = pytest.importorskip("dask.array")
    x = np.arange(24.0).reshape(4, 6)
    chunks = da.from_array(cnp.asarray(x), chunks=(2, 3), asarray=False)
    for build in (lambda a: (a + 1).sum(0), lambda a: a @ a.T, lambda a: a[1:].mean()):
        np.testing.assert_allclose(np.asarray(build(chunks).compute(scheduler="sync")), build(x))


def test_xarray_holds_it(lazy_from):
    xarray = pytest.importorskip("xarray")
    x = np.arange(12.0).reshape(3, 4)
    held = xarray.DataArray(cnp.asarray(x), dims=("a", "b"))
    assert isinstance(held.data, cnp.ndarray) and isinstance((held * 2).data, cnp.ndarray)
    for build in (lambda d: d.sum("a"), lambda d: (d - d.mean("b")) / d.std("b"),
                  lambda d: d.isel(a=1) + d.transpose("b", "a").isel(a=0)):  # fmt: skip
        np.testing.assert_allclose(np.asarray(build(held).data),
                                   build(xarray.DataArray(x, dims=("a", "b"))).values)  # fmt: skip
