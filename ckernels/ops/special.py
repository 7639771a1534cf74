"""Rows of special functions: error, gamma and Bessel functions. Their oracles: numerics.py."""
import math

from . import numerics
from .base import elementwise
from .elementwise import mul, neg, square, sub, true_div, where
from .logic import eq
from .transcendental import exp, function

__all__ = ["erf", "erfc", "erfinv", "erfcinv", "gamma", "gammaln", "digamma", "trigamma",
           "i0", "i1", "j0", "j1"]

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _bell(x):
    """The slope of erf."""
    return mul(exp(neg(square(x))), _TWO_OVER_SQRT_PI)


erf = function("erf", numerics.erf, lambda x, y, g: mul(g, _bell(x)), 8, 2)
erfc = function("erfc", numerics.erfc, lambda x, y, g: neg(mul(g, _bell(x))), 12, 4)
erfinv = function("erfinv", numerics.erfinv, lambda x, y, g: true_div(g, _bell(y)), 15, 4)
erfcinv = function("erfcinv", numerics.erfcinv, lambda x, y, g: neg(true_div(g, _bell(y))), 18, 4)

gamma = function("gamma", numerics.gamma, lambda x, y, g: mul(g, mul(y, digamma(x))), 25, 8)
gammaln = function("gammaln", numerics.gammaln, lambda x, y, g: mul(g, digamma(x)), 25, 8,
                   doc="log(|gamma(x)|).")
digamma = function("digamma", numerics.digamma, lambda x, y, g: mul(g, trigamma(x)), 25, 8,
                   doc="The derivative of gammaln.")
trigamma = elementwise("trigamma", None, numerics.trigamma, rule="float", wide=True, takes="f",
                       cost=200, ulp=8,
                       doc="The derivative of digamma; through the oracle, not differentiable.")


def _grad_order_one(other):
    """d/dx of i1, j1 is other(x) - y / x, which is 1/2 at 0."""
    def grad(x, y, g):
        at_zero = eq(x, 0)
        safe = where(at_zero, 1, x)
        return mul(g, where(at_zero, 0.5, sub(other(x), true_div(y, safe))))
    return grad


i0 = function("i0", numerics.i0, lambda x, y, g: mul(g, i1(x)), 20, 8, doc="Modified Bessel I0.")
i1 = function("i1", numerics.i1, _grad_order_one(lambda x: i0(x)), 20, 8, doc="Modified Bessel I1.")
j0 = function("j0", numerics.j0, lambda x, y, g: neg(mul(g, j1(x))), 25, 8, doc="Bessel J0.")
j1 = function("j1", numerics.j1, _grad_order_one(lambda x: j0(x)), 25, 8, doc="Bessel J1.")
