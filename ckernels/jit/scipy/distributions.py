"""scipy.stats over NumPy: the distributions that likelihoods are made of, and a few statistics.

Densities are those of SciPy's `_logpdf`, of standardised numbers. Outside of its support a density
is 0, of a scale or a shape that is not positive NaN.
"""

import functools
import math
import sys
from typing import NamedTuple

import numpy as np

from .parts import is_traced, matrix, triangular, unserved

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def special(name, *args):
    """A ufunc of scipy.special, of which scipy.stats has need too."""
    return getattr(sys.modules["scipy.special"], name)(*args)


def _norm(x):
    return -0.5 * x**2 - HALF_LOG_2PI


def _logistic(x):
    y = -np.abs(x)
    return y - 2.0 * np.log1p(np.exp(y))


def _gamma(x, a):
    return special("xlogy", a - 1.0, x) - x - special("gammaln", a)


def _beta(x, a, b):
    powers = special("xlog1py", b - 1.0, -x) + special("xlogy", a - 1.0, x)
    return powers - special("betaln", a, b)


def _t(x, df):
    lead = special("gammaln", (df + 1) / 2) - special("gammaln", df / 2)
    return lead - 0.5 * np.log(df * math.pi) - (df + 1) / 2 * np.log1p(x**2 / df)


def _lognorm(x, s):
    there = ~(x <= 0)
    y = np.where(there, x, 1.0)
    found = -(np.log(y) ** 2) / (2 * s**2) - np.log(s * y * math.sqrt(2 * math.pi))
    return np.where(there, found, -np.inf)


def _chi2(x, df):
    lead = special("xlogy", df / 2.0 - 1, x) - x / 2.0
    return lead - special("gammaln", df / 2.0) - math.log(2) * df / 2.0


def _poisson(k, mu):
    return special("xlogy", k, mu) - special("gammaln", k + 1) - mu


def _binom(k, n, p):
    ways = special("gammaln", n + 1) - special("gammaln", k + 1) - special("gammaln", n - k + 1)
    return ways + special("xlogy", k, p) + special("xlog1py", n - k, -p)


class Density(NamedTuple):
    """One distribution. shapes: names of its shapes; log: its logarithmic density; ends: of its
    support, as functions of the shapes; valid: what shapes have to be; others: {method: function
    of standardised numbers and shapes}."""

    shapes: tuple
    log: object
    ends: tuple = (lambda *s: -np.inf, lambda *s: np.inf)
    inner: float = 0.5  # a number inside of the support
    valid: object = lambda *shapes: functools.reduce(np.logical_and, [s > 0 for s in shapes], True)
    others: dict = {}
    counts: bool = False


HALF = (lambda *s: 0.0, lambda *s: np.inf)
UNIT = (lambda *s: 0.0, lambda *s: 1.0)
DENSITIES = {
    "norm": Density((), _norm, others={
        "cdf": lambda x: special("ndtr", x), "sf": lambda x: special("ndtr", -x),
        "logcdf": lambda x: special("log_ndtr", x), "logsf": lambda x: special("log_ndtr", -x)}),
    "expon": Density((), lambda x: -x, HALF, others={
        "cdf": lambda x: -np.expm1(-x), "sf": lambda x: np.exp(-x), "logsf": lambda x: -x}),
    "uniform": Density((), lambda x: 0.0 * x, UNIT, others={
        "cdf": lambda x: x, "sf": lambda x: 1.0 - x}),
    "laplace": Density((), lambda x: math.log(0.5) - np.abs(x)),
    "cauchy": Density((), lambda x: -math.log(math.pi) - np.log1p(x * x)),
    "logistic": Density((), _logistic, others={
        "cdf": lambda x: special("expit", x), "sf": lambda x: special("expit", -x),
        "logcdf": lambda x: special("log_expit", x), "logsf": lambda x: special("log_expit", -x)}),
    "halfnorm": Density((), lambda x: 0.5 * math.log(2.0 / math.pi) - x * x / 2.0, HALF),
    "gamma": Density(("a",), _gamma, HALF, others={
        "cdf": lambda x, a: special("gammainc", a, x),
        "sf": lambda x, a: special("gammaincc", a, x)}),
    "beta": Density(("a", "b"), _beta, UNIT, others={
        "cdf": lambda x, a, b: special("betainc", a, b, x)}),
    "t": Density(("df",), _t),
    "lognorm": Density(("s",), _lognorm, HALF),
    "chi2": Density(("df",), _chi2, HALF),
    "poisson": Density(("mu",), _poisson, HALF, 1.0, lambda mu: mu >= 0, counts=True),
    "binom": Density(("n", "p"), _binom, (lambda n, p: 0.0, lambda n, p: n), 0.0,
                    lambda n, p: (n >= 0) & (p >= 0) & (p <= 1), counts=True),
    "bernoulli": Density(("p",), lambda k, p: _binom(k, 1, p), UNIT, 0.0,
                        lambda p: (p >= 0) & (p <= 1), counts=True),
}  # fmt: skip


class Distribution:
    """A distribution of scipy.stats in a trace."""

    def __init__(self, name, original):
        self.name, self.original, self.density = name, original, DENSITIES[name]

    def __call__(self, *args, **kwargs):
        return Frozen(self, args, kwargs)

    def __getattr__(self, method):
        density = self.__dict__["density"]
        log, plain = ("logpmf", "pmf") if density.counts else ("logpdf", "pdf")
        served = {log: self.log, plain: lambda *a, **k: np.exp(self.log(*a, **k))}
        for other, function in density.others.items():
            served[other] = functools.partial(self.other, other, function)

        def called(*args, **kwargs):
            if not is_traced(args, kwargs):
                return getattr(self.original, method)(*args, **kwargs)
            if method not in served:
                unserved(f"scipy.stats.{self.name}.{method}")
            return served[method](*args, **kwargs)

        return called

    def parts(self, args, kwargs):
        """(standardised numbers, shapes, scale, whether all of it is valid)."""
        names = [*self.density.shapes, "loc"] + ([] if self.density.counts else ["scale"])
        if len(args) > len(names) + 1 or set(kwargs) - {*names, "x", "k"}:
            unserved(f"scipy.stats.{self.name} with such arguments")
        values = dict(zip(["k" if self.density.counts else "x", *names], args))
        if not args or values.keys() & kwargs.keys():
            unserved(f"scipy.stats.{self.name} with such arguments")
        values.update(kwargs)
        if not all(n in values for n in self.density.shapes):
            unserved(f"scipy.stats.{self.name} without its shapes")
        x = np.multiply(args[0], np.float64(1))
        shapes = [np.multiply(values[n], np.float64(1)) for n in self.density.shapes]
        loc, scale = values.get("loc", 0), values.get("scale", 1)
        valid = self.density.valid(*shapes) & (scale > 0)
        return (x - loc) / scale, shapes, scale, valid

    def log(self, *args, **kwargs):
        z, shapes, scale, valid = self.parts(args, kwargs)
        low, high = (end(*shapes) for end in self.density.ends)
        inside = (z >= low) & (z <= high) & valid
        if self.density.counts:
            inside = inside & (np.floor(z) == z)
        z = np.where(inside | np.isnan(z), z, self.density.inner)
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        value = self.density.log(z, *shapes) - np.log(np.where(valid, scale, 1))
        return np.where(valid, np.where(inside | np.isnan(z), value, -np.inf), np.nan)[()]

    def other(self, name, function, *args, **kwargs):
        z, shapes, _, valid = self.parts(args, kwargs)
        low, high = (end(*shapes) for end in self.density.ends)
        rising = "cdf" in name
        below, above = (0.0, 1.0) if rising else (1.0, 0.0)
        if "log" in name:
            below, above = (-np.inf, 0.0) if rising else (0.0, -np.inf)
        under, over = z < low, z > high
        inner = np.where(under | over, self.density.inner, z)
        found = function(inner, *[np.where(valid, s, 1.0) for s in shapes])
        return np.where(valid, np.where(under, below, np.where(over, above, found)), np.nan)[()]


class Frozen:
    """A distribution with its parameters."""

    def __init__(self, distribution, args, kwargs):
        self.distribution, self.args, self.kwargs = distribution, args, kwargs

    def __getattr__(self, method):
        of = getattr(self.__dict__["distribution"], method)
        return lambda x: of(x, *self.args, **self.kwargs)


class Normals:
    """scipy.stats.multivariate_normal in a trace."""

    def __init__(self, name, original):
        self.name, self.original = name, original

    def __call__(self, *args, **kwargs):
        return Frozen(self, args, kwargs)

    def __getattr__(self, method):
        def called(*args, **kwargs):
            if not is_traced(args, kwargs):
                return getattr(self.original, method)(*args, **kwargs)
            if method not in ("pdf", "logpdf"):
                unserved(f"scipy.stats.multivariate_normal.{method}")
            found = self.log(*args, **kwargs)
            return found if method == "logpdf" else np.exp(found)

        return called

    def log(self, x, mean=None, cov=1):
        """By the factor of Cholesky, which is an error for what is not positive definite."""
        if np.ndim(cov) != 2 or np.ndim(x) > 2 or mean is not None and np.ndim(mean) != 1:
            unserved("multivariate_normal of such arguments")
        count = np.shape(cov)[0]
        if np.shape(x)[-1:] != (count,):
            unserved("multivariate_normal of such arguments")
        factor = np.linalg.cholesky(matrix(cov, True) + np.zeros((count, count)))
        apart = x - (0 if mean is None else mean)
        columns = triangular(factor, np.reshape(apart, (-1, count)).T, True, 0, False)
        square = np.sum(columns**2, axis=0)
        found = -0.5 * (count * math.log(2 * math.pi) + square)
        found = found - np.sum(np.log(np.diagonal(factor)))
        return found if np.ndim(x) == 2 else found[0]


# ---- statistics ----------------------------------------------------------------------------------


def zscore(a, axis=0, ddof=0):
    mean = np.mean(a, axis=axis, keepdims=True)
    spread = np.std(a, axis=axis, ddof=ddof, keepdims=True)
    same = np.max(a, axis=axis, keepdims=True) == np.min(a, axis=axis, keepdims=True)
    return np.where(same, np.nan, (a - mean) / np.where(same, 1, spread))


def gmean(a, axis=0):
    return np.exp(np.mean(np.log(a), axis=axis))


def sem(a, axis=0, ddof=1):
    count = np.size(a) if axis is None else np.shape(a)[axis]
    return np.std(a, axis=axis, ddof=ddof) / count**0.5
