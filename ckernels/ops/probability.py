"""The functions that distributions are made of: beta, incomplete gamma and beta, normal.

betaln, erfcx, log_ndtr, ndtri_exp, i0e and i1e have C; the incomplete functions, Owen's T and
Bessel functions of any order run through SciPy, which has to be installed for them. Slopes by a
parameter that have no closed form raise NotSupported when they are computed, and only then.
"""

import importlib
import math

from ..base.errors import NotSupported
from ..graph.node import make
from ..graph.op import Op
from . import numerics, tails
from .base import elementwise
from .elementwise import add, maximum, mul, neg, sign, square, sub, true_div, where
from .logic import eq
from .special import digamma, erf, erfc, gammaln
from .transcendental import exp, function, log, log1p

__all__ = ["betaln", "erfcx", "ndtr", "log_ndtr", "ndtri_exp", "gammainc", "gammaincc", "betainc",
           "chi2sf", "owens_t", "i0e", "i1e", "ive", "kve"]  # fmt: skip

ROOT_HALF = math.sqrt(0.5)


# --- with C -----------------------------------------------------------------------------------


def _grad_betaln(a, b, y, g):
    whole = digamma(add(a, b))
    return mul(g, sub(digamma(a), whole)), mul(g, sub(digamma(b), whole))


betaln = elementwise(
    "betaln",
    "ck_betaln_{S}({0}, {1})",
    tails.betaln,
    _grad_betaln,
    rule="float",
    wide=True,
    takes="f",
    cost=60,
    ulp=16,
    commutative=True,
    doc="log(gamma(a) gamma(b) / gamma(a + b)).",
)
erfcx = function(
    "erfcx",
    tails.erfcx,
    lambda x, y, g: mul(g, sub(mul(mul(x, y), 2), 2 / math.sqrt(math.pi))),
    15,
    6,
    doc="exp(x^2) erfc(x), which neither overflows nor vanishes for large x.",
)


def _grad_log_ndtr(x, y, g):
    """The ratio of density and distribution function; beyond the limit it is 0 to the last digit,
    and so must its own slope be, where erfcx overflows."""
    limit = -18.0 if x.dtype == "float64" else -6.0
    return mul(g, true_div(math.sqrt(2 / math.pi), erfcx(maximum(mul(x, -ROOT_HALF), limit))))


log_ndtr = function(
    "log_ndtr",
    tails.log_ndtr,
    _grad_log_ndtr,
    30,
    6,
    doc="The logarithm of the distribution function of the normal law.",
)


ndtri_exp = function(
    "ndtri_exp",
    tails.ndtri_exp,
    lambda x, y, g: mul(g, mul(exp(add(x, mul(square(y), 0.5))), math.sqrt(2 * math.pi))),
    40,
    6,
    doc="The number that the normal law does not exceed with probability exp(x).",
)


def ndtr(x):
    """The distribution function of the normal law."""
    return mul(erfc(mul(x, -ROOT_HALF)), 0.5)


i0e = function(
    "i0e",
    numerics.i0e,
    lambda x, y, g: mul(g, sub(i1e(x), mul(sign(x), y))),
    20,
    6,
    doc="exp(-|x|) I0(x), which does not overflow.",
)


def _grad_i1e(x, y, g):
    none = eq(x, 0)
    ratio = where(none, 0.5, true_div(y, where(none, 1, x)))
    return mul(g, sub(sub(i0e(x), ratio), mul(sign(x), y)))


i1e = function(
    "i1e", numerics.i1e, _grad_i1e, 20, 6, doc="exp(-|x|) I1(x), which does not overflow."
)


# --- through SciPy ----------------------------------------------------------------------------


def _scipy(name):
    """SciPy's function of that name as an oracle."""

    def run(*arrays):
        try:
            special = importlib.import_module("scipy.special")
        except ImportError:
            raise NotSupported(
                f"{name} is computed by SciPy, which is not installed: pip install scipy"
            ) from None
        return getattr(special, name)(*arrays)

    return run


def _row(name, grad, doc):
    return elementwise(
        name,
        None,
        _scipy(name),
        grad,
        rule="float",
        wide=True,
        takes="f",
        cost=200,
        ulp=64,
        doc=doc + " Computed by SciPy.",
    )


def _refuse(attrs, *arrays):
    raise NotSupported(
        f"the derivative of {attrs['what']} has no closed form, and ckernels has "
        "none; K.stop_gradient on it, if its gradient is not needed"
    )


Op(
    "unknown_slope",
    "elementwise",
    lambda attrs, x: (x.dtype, x.shape),
    _refuse,
    doc="Raises when it is computed: a derivative that attrs['what'] does not have.",
)


def _no_slope(x, what):
    return make("unknown_slope", (x,), {"what": what})


def _x_log(a, x):
    """a log(x), 0 where a is 0."""
    none = eq(a, 0)
    return where(none, 0, mul(a, log(where(none, 1, x))))


def _grad_gammainc(name, direction):
    def grad(a, x, y, g):
        density = exp(sub(sub(_x_log(sub(a, 1), x), x), gammaln(a)))
        slope = mul(g, density)
        return (
            _no_slope(add(g, mul(a, 0)), f"{name} by its first operand"),
            slope if direction > 0 else neg(slope),
        )

    return grad


gammainc = _row(
    "gammainc",
    _grad_gammainc("gammainc", 1),
    "The regularised lower incomplete gamma function P(a, x).",
)
gammaincc = _row(
    "gammaincc",
    _grad_gammainc("gammaincc", -1),
    "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).",
)


def chi2sf(x, k):
    """The probability that a chi-squared variable of `k` degrees of freedom exceeds `x`."""
    return gammaincc(mul(k, 0.5), mul(x, 0.5))


def _grad_betainc(a, b, x, y, g):
    one = sub(1, x)
    none = eq(b, 1)
    far = where(none, 0, mul(sub(b, 1), log1p(neg(where(none, 0, x)))))
    slope = mul(g, exp(sub(add(_x_log(sub(a, 1), x), far), betaln(a, b))))
    whole = add(g, mul(mul(a, mul(b, one)), 0))
    return (
        _no_slope(whole, "betainc by its first operand"),
        _no_slope(whole, "betainc by its second operand"),
        slope,
    )


betainc = _row("betainc", _grad_betainc, "The regularised incomplete beta function I_x(a, b).")


def _grad_owens_t(h, a, y, g):
    by_h = mul(exp(mul(square(h), -0.5)), erf(mul(mul(a, h), ROOT_HALF)))
    one = add(square(a), 1)
    by_a = true_div(exp(mul(mul(square(h), one), -0.5)), one)
    return mul(g, mul(by_h, -0.5 / math.sqrt(2 * math.pi))), mul(g, mul(by_a, 0.5 / math.pi))


owens_t = _row("owens_t", _grad_owens_t, "Owen's T: the normal probability of X > h, 0 < Y < a X.")


def _grad_ive(v, x, y, g):
    mean = mul(add(ive(sub(v, 1), x), ive(add(v, 1), x)), 0.5)
    return (_no_slope(add(g, mul(v, 0)), "ive by its order"), mul(g, sub(mean, mul(sign(x), y))))


def _grad_kve(v, x, y, g):
    mean = mul(add(kve(sub(v, 1), x), kve(add(v, 1), x)), 0.5)
    return _no_slope(add(g, mul(v, 0)), "kve by its order"), mul(g, sub(y, mean))


ive = _row("ive", _grad_ive, "exp(-|x|) I_v(x), the modified Bessel function of order v.")
kve = _row("kve", _grad_kve, "exp(x) K_v(x), the modified Bessel function of order v.")
