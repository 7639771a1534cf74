"""Special functions: error, gamma and Bessel functions. Their oracles: numerics.py."""

import math

import numpy as np

from ..graph.node import make
from ..graph.op import Op
from . import numerics
from .base import check_kind, elementwise
from .elementwise import mul, neg, square, sub, true_div, where
from .logic import eq
from .transcendental import exp, function

__all__ = ["erf", "erfc", "erfinv", "erfcinv", "gamma", "gammaln", "digamma", "trigamma",
           "i0", "i1", "j0", "j1"]  # fmt: skip

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _bell(x):
    """The slope of erf."""
    return mul(exp(neg(square(x))), _TWO_OVER_SQRT_PI)


# fmt: off
erf = function("erf", numerics.erf, lambda x, y, g: mul(g, _bell(x)), 8, 2)
erfc = function("erfc", numerics.erfc, lambda x, y, g: neg(mul(g, _bell(x))), 12, 4)
erfinv = function("erfinv", numerics.erfinv, lambda x, y, g: true_div(g, _bell(y)), 15, 4)
erfcinv = function("erfcinv", numerics.erfcinv, lambda x, y, g: neg(true_div(g, _bell(y))), 18, 4)

gamma = function("gamma", numerics.gamma, lambda x, y, g: mul(g, mul(y, digamma(x))), 25, 8)
gammaln = function("gammaln", numerics.gammaln, lambda x, y, g: mul(g, digamma(x)), 25, 8,
                   doc="log(|gamma(x)|).")
digamma = function("digamma", numerics.digamma, lambda x, y, g: mul(g, trigamma(x)), 25, 8,
                   doc="The derivative of gammaln.")
trigamma = elementwise("trigamma", None, numerics.trigamma,
                       lambda x, y, g: mul(g, polygamma(2, x)), rule="float", wide=True, takes="f",
                       cost=200, ulp=8, doc="The derivative of digamma; through the oracle.")
# fmt: on


def _infer_polygamma(attrs, x):
    check_kind("polygamma", x.dtype, "f")
    return x.dtype, x.shape


def _run_polygamma(attrs, x):
    with np.errstate(all="ignore"):
        return numerics.polygamma(attrs["order"], x).astype(x.dtype)


Op(
    "polygamma",
    "elementwise",
    _infer_polygamma,
    _run_polygamma,
    lambda node, g: (mul(g, polygamma(node.attrs["order"] + 1, node.inputs[0])),),
    cost=400,
    ulp=64,
    doc="The derivative number attrs['order'] of digamma, from 1 on; through the oracle.",
)


def polygamma(order, x):
    """The derivative of digamma of this order, an int: 1 is trigamma."""
    return trigamma(x) if order == 1 else make("polygamma", (x,), {"order": int(order)})


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
