"""scipy.stats in a trace: SciPy's densities and tails, inside and outside of supports; slopes."""

import numpy as np
import pytest

import ckernels as ck

from .test_algebra import check

stats = pytest.importorskip("scipy.stats")
X = np.array([-3.5, -1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 7.25, np.inf, -np.inf, np.nan])
K = np.array([-1.0, 0.0, 1.0, 2.0, 2.5, 3.0, 11.0])
S = np.array([0.31, 0.45, 0.62, 0.77])
SHAPES = {"gamma": (2.5,), "beta": (2.0, 3.5), "t": (4.0,), "lognorm": (0.8,), "chi2": (3.0,),
          "poisson": (2.5,), "binom": (3, 0.4), "bernoulli": (0.3,)}  # fmt: skip
CONTINUOUS = ("norm", "expon", "uniform", "laplace", "cauchy", "logistic", "halfnorm", "gamma",
              "beta", "t", "lognorm", "chi2")  # fmt: skip
TAILS = {"norm": ("cdf", "sf", "logcdf", "logsf"), "expon": ("cdf", "sf", "logsf"),
         "uniform": ("cdf", "sf"), "logistic": ("cdf", "sf", "logcdf", "logsf"),
         "gamma": ("cdf", "sf"), "beta": ("cdf",)}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_and_tails(name):
    of, shapes = getattr(stats, name), SHAPES.get(name, ())
    for method in ("pdf", "logpdf", *TAILS.get(name, ())):
        function = getattr(of, method)

        def f(x, *shapes, method=method, **options):
            return getattr(of, method)(x, *shapes, **options)

        for options in ({}, {"loc": 0.25, "scale": 1.5}, {"scale": -1.0}):
            with np.errstate(all="ignore"):
                want = function(X, *shapes, **options)
            found = ck.jit(f, strict=True)(X, *shapes, **options)
            np.testing.assert_allclose(found, want, rtol=2e-12, atol=1e-300)
        one = ck.jit(f, strict=True)(np.float64(0.3), *shapes, 0.1, 2.0)
        assert one == pytest.approx(function(0.3, *shapes, 0.1, 2.0), rel=1e-12)
    check(lambda x: of.logpdf(x, *[s * np.ones(4) for s in shapes], scale=1.1), S)
    if shapes and name != "beta":
        check(lambda s: of.logpdf(0.4, s), S + 1)


@pytest.mark.parametrize("name", ["poisson", "binom", "bernoulli"])
def test_counts(name):
    of, shapes = getattr(stats, name), SHAPES[name]
    for method in ("pmf", "logpmf"):

        def f(k, loc, method=method):
            return getattr(of, method)(k, *shapes, loc=loc)

        for loc in (0, 1):
            for k in (K, K.astype(int)):
                np.testing.assert_allclose(ck.jit(f, strict=True)(k, loc), f(k, loc), rtol=2e-12)
    if name != "binom":
        check(lambda s: of.logpmf(1, s), S)
    else:
        check(lambda p: of.logpmf(2, 5, p), S)


def test_frozen_ones_and_draws():
    def posterior(x, mu, sigma):
        return stats.norm(mu, sigma).logpdf(x).sum() + stats.gamma(2.0, scale=1.5).logpdf(sigma)

    x = np.linspace(-1, 2, 7)
    jitted = ck.jit(posterior, strict=True)
    assert jitted(x, 0.3, 1.2) == pytest.approx(posterior(x, 0.3, 1.2), rel=1e-12)
    slope = ck.jit.grad(posterior, (1, 2))(x, 0.3, 1.2)
    for i, step in enumerate(np.eye(2) * 1e-6):
        up, down = (posterior(x, *(np.array([0.3, 1.2]) + s)) for s in (step, -step))
        assert slope[i] == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_several_normals():
    mean, cov = np.array([0.5, -1.0]), np.array([[2.0, 0.3], [0.3, 1.0]])
    points = np.random.default_rng(1).normal(size=(5, 2))
    f = lambda x: stats.multivariate_normal.logpdf(x, mean, cov)  # noqa: E731
    check(f, points)
    check(lambda c: stats.multivariate_normal(mean, c + c.T).logpdf(points).sum(), cov / 2)
    np.testing.assert_allclose(ck.jit(f, strict=True)(points[0]), f(points[0]), rtol=1e-12)


def test_statistics():
    x = np.random.default_rng(2).uniform(0.5, 2, size=(6, 3))
    for f in (lambda x: stats.zscore(x), lambda x: stats.zscore(x, axis=1, ddof=1),
              lambda x: stats.gmean(x), lambda x: stats.gmean(x, axis=None),
              lambda x: stats.sem(x), lambda x: stats.sem(x, axis=None, ddof=0)):  # fmt: skip
        check(f, x)


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_what_is_not_served_is_scipys():
    for f in (lambda x: stats.norm.ppf(x), lambda x: stats.weibull_min.logpdf(x, 1.5),
              lambda x: stats.multivariate_normal.logpdf(x, cov=2.0)):  # fmt: skip
        jitted = ck.jit(f)
        np.testing.assert_array_equal(jitted(S), f(S))
        assert jitted.report()
