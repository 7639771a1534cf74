"""NumPy float64 evaluations of functions of distributions: the oracles of ops in probability.py.

Each keeps its digits where the plain formula loses them. Like numerics.py made for accuracy, not
for speed; nothing of SciPy is needed.
"""

import math

import numpy as np

from .numerics import each_element, erfc, erfcinv


def _erfcx(x):
    if x != x:
        return x
    if x > 26:
        w, total = 1 / (x * x), 1.0
        for k in range(7, 0, -1):
            total = 1 - w * (k - 0.5) * total
        return total / (x * math.sqrt(math.pi))
    if x < -27:
        return math.inf
    # x = high + low, of which high has few digits, so that its square is exact
    high = float(np.float32(np.round(x * 1024) / 1024))
    low = (x - high) * (x + high)
    try:
        return math.erfc(x) * math.exp(high * high) * math.exp(low)
    except OverflowError:
        return math.inf


erfcx = each_element(_erfcx)


def log_ndtr(x):
    """log of the normal distribution function: by erfcx in both tails."""
    x = np.asarray(x, dtype="float64")
    size = np.abs(x)
    with np.errstate(all="ignore"):
        half = 0.5 * erfcx(np.where(size > 1, size, 1) * math.sqrt(0.5))
        right = np.log1p(-half * np.exp(-0.5 * size * size))
        near = np.log1p(-0.5 * erfc(np.where(size > 1, 1, x) * math.sqrt(0.5)))
        return np.where(x < -1, np.log(half) - 0.5 * x * x, np.where(x > 1, right, near))


def ndtri_exp(x):
    """The normal quantile of exp(x): by erfcinv of exp(x) or 1 - exp(x); where exp(x) is subnormal
    by Newton's method for half the square of the result, in the asymptotic series of log_ndtr."""
    x = np.asarray(x, dtype="float64")
    with np.errstate(all="ignore"):
        right = erfcinv(2 * np.where(x > -0.4, -np.expm1(x), 0.25))
        left = -erfcinv(2 * np.exp(np.clip(x, -690, -0.4)))
        w = np.where(x < -690, -x, 690)
        u = w - 0.5 * np.log(w) - 0.5 * math.log(4 * math.pi)
        for _ in range(3):
            r = 0.5 / u
            mills = np.log1p(-r * (1 - r * (3 - r * (15 - r * (105 - r * 945)))))
            u = u - (u - w + 0.5 * np.log(u) + 0.5 * math.log(4 * math.pi) - mills) / (1 + r)
        value = np.where(x > -0.4, right, np.where(x < -690, -np.sqrt(u), left)) * math.sqrt(2)
        return np.where(x == -np.inf, -np.inf, np.where(x <= 0, value, np.nan))


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling(x):
    """log gamma(x) less its leading terms, for x >= 10."""
    return math.fsum(c * x ** -(2 * k + 1) for k, c in enumerate(_STIRLING))


def _lgamma(x):
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _betaln(x, y):
    if x != x or y != y:
        return x + y
    p, q = min(x, y), max(x, y)
    if p == 0:
        return math.inf
    if q == math.inf:
        return math.nan if p < 0 else -math.inf
    if p < 0:
        return _lgamma(p) + _lgamma(q) - _lgamma(p + q)
    s = p + q
    h = p / s
    if p >= 10:
        return math.fsum(
            [
                0.5 * math.log(2 * math.pi) - 0.5 * math.log(q),
                (p - 0.5) * math.log(h) if h else -math.inf,
                q * math.log1p(-h),
                _stirling(p) + _stirling(q) - _stirling(s),
            ]
        )
    if q >= 10:
        return math.fsum(
            [
                _lgamma(p),
                p,
                -p * math.log(s),
                (q - 0.5) * math.log1p(-h),
                _stirling(q) - _stirling(s),
            ]
        )
    if p < 1e-300:
        return _lgamma(p)
    return math.log(math.gamma(p) * (math.gamma(q) / math.gamma(s)))


_betaln_each = np.frompyfunc(_betaln, 2, 1)


def betaln(a, b):
    """log(gamma(a) gamma(b) / gamma(a + b)), by Stirling's series where both would be large."""
    found = _betaln_each(np.asarray(a, "float64"), np.asarray(b, "float64"))
    return np.asarray(found).astype("float64")
