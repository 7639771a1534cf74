"""Elementary functions: exponentials, logarithms, trigonometric, hyperbolic, logistic.

Every oracle computes in float64, so that a float32 result is right to half an ulp.
"""

import math

import numpy as np

from .base import elementwise
from .elementwise import add, mul, neg, rsqrt, sqrt, square, sub, true_div

__all__ = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "log1mexp", "sin", "cos", "tan",
           "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
           "sigmoid", "softplus"]  # fmt: skip


def function(name, oracle, grad, cost=6, ulp=2, takes="f", doc=None):
    """A float function of one operand that the math library has as ck_<name>_<dtype>."""
    return elementwise(
        name,
        f"ck_{name}_{{S}}({{0}})",
        oracle,
        grad,
        rule="float",
        wide=True,
        cost=cost,
        ulp=ulp,
        takes=takes,
        doc=doc or f"{name}(x) as a float.",
    )


# --- exponentials and logarithms --------------------------------------------------------------

# fmt: off
exp = function("exp", np.exp, lambda x, y, g: mul(g, y), 5, takes="fc")
exp2 = function("exp2", np.exp2, lambda x, y, g: mul(g, mul(y, math.log(2))), 5, doc="2 ** x.")
expm1 = function("expm1", np.expm1, lambda x, y, g: mul(g, add(y, 1)), 7, takes="fc",
                 doc="exp(x) - 1, exact near 0.")
log = function("log", np.log, lambda x, y, g: true_div(g, x), takes="fc", doc="Natural logarithm.")
log2 = function("log2", np.log2, lambda x, y, g: true_div(g, mul(x, math.log(2))))
log10 = function("log10", np.log10, lambda x, y, g: true_div(g, mul(x, math.log(10))))
log1p = function("log1p", np.log1p, lambda x, y, g: true_div(g, add(x, 1)), 7, takes="fc",
                 doc="log(1 + x), exact near 0.")
# fmt: on


def _run_log1mexp(x):
    return np.where(x > -math.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


# fmt: off
log1mexp = function("log1mexp", _run_log1mexp, lambda x, y, g: neg(true_div(g, expm1(neg(x)))), 12,
                    doc="log(1 - exp(x)) for x <= 0, exact on both ends.")


# --- trigonometric ----------------------------------------------------------------------------

sin = function("sin", np.sin, lambda x, y, g: mul(g, cos(x)), 8, takes="fc")
cos = function("cos", np.cos, lambda x, y, g: neg(mul(g, sin(x))), 8, takes="fc")
tan = function("tan", np.tan, lambda x, y, g: mul(g, add(square(y), 1)), 12, 4, takes="fc")
# fmt: on


def _circle(x):
    """sqrt(1 - x^2) to the power -1, without cancellation near |x| = 1."""
    return rsqrt(mul(sub(1, x), add(1, x)))


asin = function("asin", np.arcsin, lambda x, y, g: mul(g, _circle(x)), 8)
acos = function("acos", np.arccos, lambda x, y, g: neg(mul(g, _circle(x))), 8)
atan = function("atan", np.arctan, lambda x, y, g: true_div(g, add(square(x), 1)), 8)


def _grad_atan2(a, b, y, g):
    scaled = true_div(g, add(square(a), square(b)))
    return mul(scaled, b), neg(mul(scaled, a))


# fmt: off
atan2 = elementwise("atan2", "ck_atan2_{S}({0}, {1})", np.arctan2, _grad_atan2, rule="float",
                    wide=True,
                    cost=12, ulp=2, takes="f", doc="The angle of the point (x=second, y=first).")


# --- hyperbolic -------------------------------------------------------------------------------

sinh = function("sinh", np.sinh, lambda x, y, g: mul(g, cosh(x)), 10, takes="fc")
cosh = function("cosh", np.cosh, lambda x, y, g: mul(g, sinh(x)), 10, takes="fc")
tanh = function("tanh", np.tanh, lambda x, y, g: mul(g, sub(1, square(y))), ulp=3, takes="fc")
asinh = function("asinh", np.arcsinh, lambda x, y, g: mul(g, rsqrt(add(square(x), 1))), 14)
acosh = function("acosh", np.arccosh,
                 lambda x, y, g: true_div(g, mul(sqrt(sub(x, 1)), sqrt(add(x, 1)))), 14)
atanh = function("atanh", np.arctanh, lambda x, y, g: true_div(g, mul(sub(1, x), add(1, x))), 14)
# fmt: on


# --- logistic ---------------------------------------------------------------------------------


def _run_sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _run_softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


sigmoid = function(
    "sigmoid",
    _run_sigmoid,
    lambda x, y, g: mul(g, mul(y, sub(1, y))),
    6,
    doc="1 / (1 + exp(-x)); exactly 0 and 1 far out.",
)
softplus = function(
    "softplus",
    _run_softplus,
    lambda x, y, g: mul(g, sigmoid(x)),
    10,
    doc="log(1 + exp(x)) without overflow.",
)
