"""Twelve models in PyMC, each a function that builds it: what the rows of pymc_rows.py compile.

Data are drawn from a fixed seed: log-densities and gradients of two engines can be compared.
"""

import numpy as np

MODELS = {}


def model(fn):
    MODELS[fn.__name__] = fn
    return fn


def _rng():
    return np.random.default_rng(1234)


@model
def radon(pm):
    """Varying intercepts and slopes, 919 observations in 85 counties."""
    rng = _rng()
    county = np.sort(rng.integers(0, 85, 919))
    floor = rng.integers(0, 2, 919).astype(float)
    log_radon = rng.normal(1.3, 0.8, 919) - 0.6 * floor
    with pm.Model() as made:
        intercept = pm.Normal("intercept", sigma=10)
        raw = pm.ZeroSumNormal("county_raw", shape=85)
        sd = pm.HalfNormal("county_sd")
        slope = pm.Normal("floor_effect", sigma=2)
        slopes = pm.ZeroSumNormal("county_floor_raw", shape=85)
        slope_sd = pm.HalfNormal("county_floor_sd")
        mu = intercept + (sd * raw)[county] + (slope + slope_sd * slopes[county]) * floor
        sigma = pm.HalfNormal("sigma", sigma=1.5)
        pm.Normal("log_radon", mu=mu, sigma=sigma, observed=log_radon)
    return made


@model
def eight_schools(pm):
    """Rubin's eight schools, not centred."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as made:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        eta = pm.Normal("eta", 0, 1, shape=8)
        pm.Normal("y", mu + tau * eta, sigma, observed=y)
    return made


@model
def logistic(pm):
    """Logistic regression, 1,000 x 10."""
    rng = _rng()
    x = rng.normal(size=(1000, 10))
    y = rng.integers(0, 2, 1000)
    with pm.Model() as made:
        beta = pm.Normal("beta", 0, 1, shape=10)
        alpha = pm.Normal("alpha", 0, 1)
        pm.Bernoulli("y", logit_p=alpha + x @ beta, observed=y)
    return made


@model
def poisson_groups(pm):
    """Poisson regression with random effects of 50 groups, 2,000 observations."""
    rng = _rng()
    group = rng.integers(0, 50, 2000)
    x = rng.normal(size=2000)
    y = rng.poisson(2.0, 2000)
    with pm.Model() as made:
        sd = pm.HalfNormal("sd", 1)
        effect = pm.Normal("effect", 0, sd, shape=50)
        alpha, beta = pm.Normal("alpha", 0, 2), pm.Normal("beta", 0, 1)
        pm.Poisson("y", pm.math.exp(alpha + effect[group] + beta * x), observed=y)
    return made


@model
def negative_binomial(pm):
    """Negative binomial regression, 500 observations."""
    rng = _rng()
    x = rng.normal(size=(500, 3))
    y = rng.negative_binomial(5, 0.5, 500)
    with pm.Model() as made:
        beta = pm.Normal("beta", 0, 1, shape=3)
        intercept = pm.Normal("intercept", 0, 2)
        alpha = pm.Exponential("alpha", 0.5)
        pm.NegativeBinomial("y", mu=pm.math.exp(intercept + x @ beta), alpha=alpha, observed=y)
    return made


@model
def student_t(pm):
    """Robust regression, 500 observations."""
    rng = _rng()
    x = rng.normal(size=500)
    y = 1 + 2 * x + rng.standard_t(3, 500)
    with pm.Model() as made:
        alpha, beta = pm.Normal("alpha", 0, 5), pm.Normal("beta", 0, 5)
        sigma, nu = pm.HalfNormal("sigma", 3), pm.Gamma("nu", 2, 0.1)
        pm.StudentT("y", nu=nu, mu=alpha + beta * x, sigma=sigma, observed=y)
    return made


@model
def mixture(pm):
    """A mixture of three normals, 500 observations."""
    rng = _rng()
    y = np.concatenate([rng.normal(m, 0.5, n) for m, n in ((-2, 150), (0, 200), (3, 150))])
    with pm.Model() as made:
        w = pm.Dirichlet("w", np.ones(3))
        mu = pm.Normal("mu", np.array([-2.0, 0.0, 2.0]), 2, shape=3)
        sigma = pm.HalfNormal("sigma", 1, shape=3)
        pm.NormalMixture("y", w=w, mu=mu, sigma=sigma, observed=y)
    return made


@model
def gp_marginal(pm):
    """A Gaussian process with a squared exponential kernel, 100 points."""
    rng = _rng()
    x = np.linspace(0, 10, 100)[:, None]
    y = np.sin(x[:, 0]) + rng.normal(0, 0.3, 100)
    with pm.Model() as made:
        ell, eta = pm.Gamma("ell", 2, 1), pm.HalfNormal("eta", 2)
        sigma = pm.HalfNormal("sigma", 1)
        process = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ell))
        process.marginal_likelihood("y", X=x, y=y, sigma=sigma)
    return made


@model
def lkj_mvnormal(pm):
    """A covariance matrix of 4 dimensions with an LKJ prior, 200 observations."""
    rng = _rng()
    y = rng.normal(size=(200, 4))
    with pm.Model() as made:
        chol, _, _ = pm.LKJCholeskyCov(
            "chol", n=4, eta=2, sd_dist=pm.Exponential.dist(1, size=4), compute_corr=True
        )
        mu = pm.Normal("mu", 0, 1, shape=4)
        pm.MvNormal("y", mu=mu, chol=chol, observed=y)
    return made


@model
def ar1_scan(pm):
    """An AR(1) process whose mean is run by a scan, 200 steps."""
    import pytensor
    import pytensor.tensor as pt

    rng = _rng()
    y = np.cumsum(rng.normal(size=200)) * 0.1
    with pm.Model() as made:
        rho, sigma = pm.Normal("rho", 0, 0.5), pm.HalfNormal("sigma", 1)
        start = pm.Normal("start", 0, 1)
        mean = pytensor.scan(
            lambda yt, h, rho: pt.tanh(rho * h + 0.5 * yt),
            sequences=[pt.as_tensor(y)],
            outputs_info=[start],
            non_sequences=[rho],
            return_updates=False,
        )
        pm.Normal("y", mean[:-1], sigma, observed=y[1:])
    return made


@model
def stochastic_volatility(pm):
    """Stochastic volatility with a Gaussian random walk, 300 days."""
    rng = _rng()
    returns = rng.standard_t(5, 300) * 0.02
    with pm.Model() as made:
        step = pm.Exponential("step_size", 10)
        volatility = pm.GaussianRandomWalk(
            "volatility", sigma=step, shape=300, init_dist=pm.Normal.dist(0, 1)
        )
        nu = pm.Exponential("nu", 0.1)
        pm.StudentT("returns", nu=nu, lam=pm.math.exp(-2 * volatility), observed=returns)
    return made


@model
def softmax_regression(pm):
    """Softmax regression: 500 observations, 8 features, 4 classes."""
    rng = _rng()
    x = rng.normal(size=(500, 8))
    y = rng.integers(0, 4, 500)
    with pm.Model() as made:
        beta = pm.Normal("beta", 0, 1, shape=(8, 4))
        alpha = pm.Normal("alpha", 0, 1, shape=4)
        pm.Categorical("y", logit_p=alpha + x @ beta, observed=y)
    return made
