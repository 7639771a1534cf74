"""Models of PyMC through the bridge: log-densities and gradients against PyTensor's Python ops, and
the log-densities against the formulas, by SciPy."""

import numpy as np
import pytest

pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pm = pytest.importorskip("pymc", reason="needs PyMC: pip install pymc")
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
import scipy.special as special  # noqa: E402
import scipy.stats as stats  # noqa: E402
from pymc.pytensorf import join_nonshared_inputs  # noqa: E402

import ckernels.pytensor as bridge  # noqa: E402

RNG = np.random.default_rng(5)
N = 12
X, Z = RNG.normal(size=(2, N))
XS = RNG.normal(size=(N, 3))
GROUP = np.repeat(np.arange(4), 3)
Y = 0.5 + X + 0.4 * RNG.normal(size=N)
POSITIVE = RNG.gamma(2.0, 1.5, N)
UNIT = RNG.uniform(0.05, 0.95, N)
COUNTS = RNG.poisson(3.0, N)
TRIALS = COUNTS + RNG.integers(1, 6, N)
BITS = RNG.integers(0, 2, N)
LEVELS = RNG.integers(0, 4, N)
LATE = np.arange(N) % 3 == 0
W = np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)  # six places in a row
COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])
MODELS = {}


def model(build):
    """`build` makes the variables and gives the log-density of their values, or None."""
    MODELS[build.__name__] = build
    return build


def normal(x, mu=0.0, sigma=1.0):
    return stats.norm.logpdf(x, mu, sigma).sum()


def half_normal(x, sigma=1.0):
    return stats.halfnorm.logpdf(x, scale=sigma).sum()


# --- regressions -------------------------------------------------------------------------------


@model
def linear():
    a, b = pm.Normal("a", 0, 5), pm.Normal("b", 0, 5)
    s = pm.HalfNormal("s", 2)
    pm.Normal("y", a + b * X, s, observed=Y)
    return lambda a, b, s: normal([a, b], 0, 5) + half_normal(s, 2) + normal(Y, a + b * X, s)


@model
def several_slopes():
    b, s = pm.Normal("b", 0, 1, shape=3), pm.Exponential("s", 2.0)
    pm.Normal("y", pt.dot(XS, b), s, observed=Y)
    return lambda b, s: normal(b) + stats.expon.logpdf(s, scale=0.5) + normal(Y, XS @ b, s)


@model
def logistic():
    b = pm.Normal("b", 0, 2, shape=3)
    pm.Bernoulli("y", logit_p=pt.dot(XS, b), observed=BITS)

    def density(b):
        return normal(b, 0, 2) + special.log_expit(np.where(BITS, 1, -1) * (XS @ b)).sum()

    return density


@model
def probit():
    a, b = pm.Normal("a"), pm.Normal("b")
    pm.Bernoulli("y", p=pm.math.invprobit(a + b * X), observed=BITS)

    def density(a, b):
        return normal([a, b]) + stats.norm.logcdf(np.where(BITS, 1, -1) * (a + b * X)).sum()

    return density


@model
def poisson():
    a, b = pm.Normal("a"), pm.Normal("b")
    pm.Poisson("y", pm.math.exp(a + b * X), observed=COUNTS)
    return lambda a, b: (
        normal([a, b]) + stats.poisson.logpmf(COUNTS, np.exp(a + b * X)).sum()
    )  # fmt: skip


@model
def negative_binomial():
    a, b, k = pm.Normal("a"), pm.Normal("b"), pm.Gamma("k", 2, 1)
    pm.NegativeBinomial("y", mu=pm.math.exp(a + b * X), alpha=k, observed=COUNTS)

    def density(a, b, k):
        p = k / (k + np.exp(a + b * X))
        found = normal([a, b]) + stats.gamma.logpdf(k, 2)
        return found + stats.nbinom.logpmf(COUNTS, k, p).sum()

    return density


@model
def robust():
    a, b, s = pm.Normal("a"), pm.Normal("b"), pm.HalfCauchy("s", 1)
    nu = pm.Gamma("nu", 2, 0.1)
    pm.StudentT("y", nu=nu, mu=a + b * X, sigma=s, observed=Y)

    def density(a, b, s, nu):
        found = normal([a, b]) + stats.halfcauchy.logpdf(s) + stats.gamma.logpdf(nu, 2, scale=10)
        return found + stats.t.logpdf(Y, nu, a + b * X, s).sum()

    return density


@model
def gamma_with_a_log_link():
    a, b, k = pm.Normal("a"), pm.Normal("b"), pm.Exponential("k", 1)
    mu = pm.math.exp(a + b * X)
    pm.Gamma("y", alpha=k, beta=k / mu, observed=POSITIVE)

    def density(a, b, k):
        found = normal([a, b]) + stats.expon.logpdf(k)
        return found + stats.gamma.logpdf(POSITIVE, k, scale=np.exp(a + b * X) / k).sum()

    return density


@model
def beta_regression():
    a, b, phi = pm.Normal("a"), pm.Normal("b"), pm.Gamma("phi", 3, 0.5)
    mu = pm.math.sigmoid(a + b * X)
    pm.Beta("y", alpha=mu * phi, beta=(1 - mu) * phi, observed=UNIT)

    def density(a, b, phi):
        mu = special.expit(a + b * X)
        found = normal([a, b]) + stats.gamma.logpdf(phi, 3, scale=2)
        return found + stats.beta.logpdf(UNIT, mu * phi, (1 - mu) * phi).sum()

    return density


@model
def binomial_of_groups():
    mu, s = pm.Normal("mu"), pm.HalfNormal("s")
    z = pm.Normal("z", shape=4)
    pm.Binomial("y", TRIALS, logit_p=mu + s * z[GROUP], observed=COUNTS)

    def density(mu, s, z):
        p = special.expit(mu + s * z[GROUP])
        found = normal(mu) + half_normal(s) + normal(z)
        return found + stats.binom.logpmf(COUNTS, TRIALS, p).sum()

    return density


@model
def softmax_regression():
    b = pm.Normal("b", shape=(3, 4))
    pm.Categorical("y", logit_p=pt.dot(XS, b), observed=LEVELS)
    return lambda b: normal(b) + special.log_softmax(XS @ b, -1)[np.arange(N), LEVELS].sum()


@model
def ordered_logistic():
    b = pm.Normal("b")
    cuts = pm.Normal(
        "cuts", 0, 3, shape=3, transform=pm.distributions.transforms.ordered,
        initval=np.array([-1.0, 0.0, 1.0]),
    )  # fmt: skip
    pm.OrderedLogistic("y", eta=b * X, cutpoints=cuts, observed=LEVELS, compute_p=False)

    def density(b, cuts):
        below = special.expit(np.concatenate([[-np.inf], cuts, [np.inf]]) - b * X[:, None])
        p = np.diff(below, axis=1)[np.arange(N), LEVELS]
        return normal(b) + normal(cuts, 0, 3) + np.log(p).sum()

    return density


# --- groups, shrinkage -------------------------------------------------------------------------


@model
def varying_slopes():
    mu, s = pm.Normal("mu", shape=2), pm.HalfNormal("s", shape=2)
    a, b = pm.Normal("a", mu[0], s[0], shape=4), pm.Normal("b", mu[1], s[1], shape=4)
    pm.Normal("y", a[GROUP] + b[GROUP] * X, 0.5, observed=Y)

    def density(mu, s, a, b):
        found = normal(mu) + half_normal(s) + normal(a, mu[0], s[0]) + normal(b, mu[1], s[1])
        return found + normal(Y, a[GROUP] + b[GROUP] * X, 0.5)

    return density


@model
def crossed_groups():
    s, t = pm.Exponential("s", 1), pm.Exponential("t", 1)
    a, b = pm.Normal("a", 0, s, shape=4), pm.Normal("b", 0, t, shape=3)
    pm.Normal("y", a[GROUP] + b[np.arange(N) % 3], 1, observed=Y)

    def density(s, t, a, b):
        found = stats.expon.logpdf([s, t]).sum() + normal(a, 0, s) + normal(b, 0, t)
        return found + normal(Y, a[GROUP] + b[np.arange(N) % 3])

    return density


@model
def horseshoe():
    tau, lam = pm.HalfCauchy("tau", 1), pm.HalfCauchy("lam", 1, shape=3)
    z = pm.Normal("z", shape=3)
    pm.Normal("y", pt.dot(XS, z * tau * lam), 1, observed=Y)

    def density(tau, lam, z):
        found = stats.halfcauchy.logpdf([tau, *lam]).sum() + normal(z)
        return found + normal(Y, XS @ (z * tau * lam))

    return density


@model
def lasso():
    b = pm.Laplace("b", 0, 0.7, shape=3)
    pm.Normal("y", pt.dot(XS, b), 1, observed=Y)
    return lambda b: stats.laplace.logpdf(b, 0, 0.7).sum() + normal(Y, XS @ b)


@model
def funnel():
    v = pm.Normal("v", 0, 3)
    pm.Normal("x", 0, pm.math.exp(v / 2), shape=5)
    return lambda v, x: normal(v, 0, 3) + normal(x, 0, np.exp(v / 2))


# --- mixtures, counts --------------------------------------------------------------------------


@model
def mixture_of_normals():
    w, mu = pm.Dirichlet("w", np.ones(3) * 2), pm.Normal("mu", shape=3)
    pm.NormalMixture("y", w=w, mu=mu, sigma=0.6, observed=Y)

    def density(w, mu):
        found = stats.dirichlet.logpdf(w, np.ones(3) * 2) + normal(mu)
        return found + np.log((w * stats.norm.pdf(Y[:, None], mu, 0.6)).sum(1)).sum()

    return density


@model
def zero_inflated_poisson():
    psi, mu = pm.Beta("psi", 2, 2), pm.Gamma("mu", 2, 1)
    pm.ZeroInflatedPoisson("y", psi=psi, mu=mu, observed=COUNTS)

    def density(psi, mu):
        p = (1 - psi) * (COUNTS == 0) + psi * stats.poisson.pmf(COUNTS, mu)
        return stats.beta.logpdf(psi, 2, 2) + stats.gamma.logpdf(mu, 2) + np.log(p).sum()

    return density


@model
def multinomial():
    tally = np.array([[3, 2, 5], [0, 4, 6]])
    p = pm.Dirichlet("p", np.array([1.0, 2.0, 3.0]))
    pm.Multinomial("y", 10, p, observed=tally)

    def density(p):
        found = stats.dirichlet.logpdf(p, [1.0, 2.0, 3.0])
        return found + stats.multinomial.logpmf(tally, 10, p).sum()

    return density


@model
def a_rate_that_changes():
    early, late = pm.Exponential("early", 1), pm.Exponential("late", 1)
    pm.Poisson("y", pm.math.switch(np.arange(N) < 5, early, late), observed=COUNTS)

    def density(early, late):
        rate = np.where(np.arange(N) < 5, early, late)
        return stats.expon.logpdf([early, late]).sum() + stats.poisson.logpmf(COUNTS, rate).sum()

    return density


# --- censored, truncated, skewed ---------------------------------------------------------------


@model
def censored():
    mu, s = pm.Normal("mu"), pm.HalfNormal("s")
    pm.Censored("y", pm.Normal.dist(mu, s), lower=None, upper=1.0, observed=np.minimum(Y, 1.0))

    def density(mu, s):
        each = np.where(Y >= 1, stats.norm.logsf(1, mu, s), stats.norm.logpdf(Y, mu, s))
        return normal(mu) + half_normal(s) + each.sum()

    return density


@model
def truncated():
    mu, s = pm.Normal("mu", 0, 3), pm.HalfNormal("s", 3)
    pm.TruncatedNormal("y", mu=mu, sigma=s, lower=0, observed=POSITIVE)

    def density(mu, s):
        found = normal(mu, 0, 3) + half_normal(s, 3)
        return found + normal(POSITIVE, mu, s) - N * stats.norm.logsf(0, mu, s)

    return density


@model
def survival_by_weibull():
    a, k = pm.Normal("a"), pm.Gamma("k", 4, 2)
    scale = pm.math.exp(a + 0.3 * X)
    pm.Weibull("y", alpha=k, beta=scale[~LATE], observed=POSITIVE[~LATE])
    pm.Potential("late", -((POSITIVE[LATE] / scale[LATE]) ** k).sum())

    def density(a, k):
        scale = np.exp(a + 0.3 * X)
        each = np.where(LATE, stats.weibull_min.logsf(POSITIVE, k, scale=scale),
                        stats.weibull_min.logpdf(POSITIVE, k, scale=scale))  # fmt: skip
        return normal(a) + stats.gamma.logpdf(k, 4, scale=0.5) + each.sum()

    return density


@model
def skew_normal():
    mu, shape = pm.Normal("mu"), pm.Normal("shape", 0, 2)
    pm.SkewNormal("y", mu=mu, sigma=1.2, alpha=shape, observed=Y)

    def density(mu, shape):
        found = normal(mu) + normal(shape, 0, 2)
        return found + stats.skewnorm.logpdf(Y, shape, mu, 1.2).sum()

    return density


@model
def lognormal_and_inverse_gamma():
    v = pm.InverseGamma("v", 3, 2)
    pm.LogNormal("y", 0.3, pm.math.sqrt(v), observed=POSITIVE)

    def density(v):
        found = stats.invgamma.logpdf(v, 3, scale=2)
        return found + stats.lognorm.logpdf(POSITIVE, np.sqrt(v), scale=np.exp(0.3)).sum()

    return density


@model
def angles():
    mu, k = pm.VonMises("mu", 0, 1), pm.Exponential("k", 1)
    pm.VonMises("y", mu, k, observed=np.arctan2(X, Z))

    def density(mu, k):
        found = stats.vonmises.logpdf(mu, 1) + stats.expon.logpdf(k)
        return found + stats.vonmises.logpdf(np.arctan2(X, Z), k, mu).sum()

    return density


@model
def missing_values():
    mu = pm.Normal("mu")
    with pytest.warns(Warning, match="impute"):
        pm.Normal("y", mu, 1, observed=np.ma.masked_array(Y, LATE))
    return lambda mu, y_unobserved: normal(mu) + normal(y_unobserved, mu) + normal(Y[~LATE], mu)


# --- series, space, matrices -------------------------------------------------------------------


@model
def autoregression():
    rho = pm.Normal("rho", 0, 1, shape=3)
    s = pm.HalfNormal("s")
    pm.AR("y", rho=rho, sigma=s, constant=True, init_dist=pm.Normal.dist(0, 10), observed=Y)

    def density(rho, s):
        mean = rho[0] + rho[1] * Y[1:-1] + rho[2] * Y[:-2]
        return normal(rho) + half_normal(s) + normal(Y[:2], 0, 10) + normal(Y[2:], mean, s)

    return density


@model
def random_walk():
    s = pm.Exponential("s", 1)
    walk = pm.GaussianRandomWalk("walk", sigma=s, shape=N, init_dist=pm.Normal.dist(0, 2))
    pm.Normal("y", walk, 0.3, observed=Y)

    def density(s, walk):
        found = stats.expon.logpdf(s) + normal(walk[0], 0, 2) + normal(np.diff(walk), 0, s)
        return found + normal(Y, walk, 0.3)

    return density


@model
def growth_by_scan():
    r, k = pm.Beta("r", 2, 2), pm.HalfNormal("k", 3)
    sizes = pytensor.scan(
        lambda n, r, k: n + r * n * (1 - n / k), outputs_info=[pt.constant(0.5, dtype="float64")],
        non_sequences=[r, k], n_steps=N, return_updates=False,
    )  # fmt: skip
    pm.Normal("y", sizes, 0.5, observed=Y)

    def density(r, k):
        n, sizes = 0.5, []
        for _ in range(N):
            n = n + r * n * (1 - n / k)
            sizes.append(n)
        return stats.beta.logpdf(r, 2, 2) + half_normal(k, 3) + normal(Y, sizes, 0.5)

    return density


@model
def neighbours():
    alpha = pm.Beta("alpha", 2, 2)
    phi = pm.CAR("phi", mu=np.zeros(6), W=W, alpha=alpha, tau=1.5)
    pm.Poisson("y", pm.math.exp(phi), observed=COUNTS[:6])

    def density(alpha, phi):
        precision = 1.5 * (np.diag(W.sum(0)) - alpha * W)
        found = stats.beta.logpdf(alpha, 2, 2) + stats.poisson.logpmf(COUNTS[:6], np.exp(phi)).sum()
        found += stats.multivariate_normal.logpdf(phi, np.zeros(6), np.linalg.inv(precision))
        left_out = 3 * np.log(2 * np.pi) - np.log(W.sum(0)).sum() / 2  # by PyMC: it is constant
        return found + left_out

    return density


@model
def vectors():
    mu = pm.Normal("mu", shape=3)
    s = pm.HalfNormal("s")
    pm.MvNormal("y", mu, cov=s * COVARIANCE, observed=XS)

    def density(mu, s):
        found = normal(mu) + half_normal(s)
        return found + stats.multivariate_normal.logpdf(XS, mu, s * COVARIANCE).sum()

    return density


@model
def gaussian_process():
    ell, s = pm.Gamma("ell", 2, 1), pm.HalfNormal("s")
    process = pm.gp.Marginal(cov_func=1.3**2 * pm.gp.cov.ExpQuad(1, ell))
    process.marginal_likelihood("y", X=X[:, None], y=Y, sigma=s)

    def density(ell, s):
        apart = (X[:, None] - X) ** 2
        covariance = 1.69 * np.exp(-apart / 2 / ell**2) + (
            s**2 + pm.gp.util.JITTER_DEFAULT
        ) * np.eye(N)
        found = stats.gamma.logpdf(ell, 2) + half_normal(s)
        return found + stats.multivariate_normal.logpdf(Y, np.zeros(N), covariance)

    return density


@model
def latent_process():
    ell = pm.InverseGamma("ell", 4, 3)
    process = pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, ell))
    f = process.prior("f", X=np.linspace(0, 3, N)[:, None])
    pm.Bernoulli("y", logit_p=f, observed=BITS)


@model
def basis_of_a_process():
    ell = pm.InverseGamma("ell", 4, 3)
    process = pm.gp.HSGP(m=[6], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, ell))
    pm.Normal("y", process.prior("f", X=X[:, None]), 0.5, observed=Y)


@model
def correlations():
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2, sd_dist=pm.Exponential.dist(1, size=3))
    pm.MvNormal("y", np.zeros(3), chol=chol, observed=XS)


def functions(made, mode):
    """Of the raveled values: the log-density, its gradient, the log-density of the values as they
    are in the model, and these."""
    values = made.value_vars
    total = made.logp()
    slope = pt.concatenate([g.ravel() for g in pt.grad(total, values)])
    own = made.replace_rvs_by_values(made.free_RVs)
    outs, joined = join_nonshared_inputs(
        made.initial_point(), [total, slope, made.logp(jacobian=False), *own], values
    )
    return pm.pytensorf.compile([joined], outs, mode=mode)


QUICK = ("linear", "zero_inflated_poisson", "autoregression", "correlations")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MODELS],
)
def test_log_density_and_gradient(name):
    with pm.Model() as made:
        density = MODELS[name]()
    ours, theirs = functions(made, "CKERNELS"), functions(made, "FAST_COMPILE")
    size = sum(np.size(v) for v in made.initial_point().values())
    points = np.random.default_rng(7).normal(size=(2, size)) * [[0.3], [0.8]]
    for point in points:
        got, want = ours(point), theirs(point)
        assert np.isfinite(want[0]) and np.isfinite(want[1]).all()
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        if density is not None:
            by_name = {rv.name: value for rv, value in zip(made.free_RVs, want[3:])}
            assert got[2] == pytest.approx(float(density(**by_name)), rel=1e-6, abs=1e-6)
    assert bridge.report(ours) == []
