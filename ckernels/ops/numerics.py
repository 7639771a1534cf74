"""NumPy float64 evaluations of special functions: the oracles of the ops in special.py.

Made for accuracy (a few ulp of float64, absolute near the zeros of j0 and j1), not for speed:
compiled functions never come here. Nothing of scipy is needed.
"""

import math

import numpy as np


def each_element(fn):
    ufunc = np.frompyfunc(fn, 1, 1)
    return lambda x: np.asarray(ufunc(np.asarray(x, dtype="float64"))).astype("float64")


def _gamma(x):
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:  # a pole: signed at 0, undefined at the negative integers and at -inf
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _gammaln(x):
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


erf = each_element(math.erf)
erfc = each_element(math.erfc)
gamma = each_element(_gamma)
gammaln = each_element(_gammaln)


def erfcinv(y):
    """Inverse of erfc on [0, 2]: Newton on log(erfc) in the tail, on erfc else."""
    y = np.asarray(y, dtype="float64")
    small = np.where(y > 1, 2 - y, y)
    inside = (small > 0) & (small < 1)
    q = np.where(inside, small, 0.5)
    t = np.sqrt(-2 * np.log(q / 2))
    x = (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481))) / math.sqrt(2)
    for _ in range(6):
        tail = erfc(x)
        slope = -2 / math.sqrt(math.pi) * np.exp(-x * x)
        x = x - np.where(q < 0.1, (np.log(tail) - np.log(q)) * tail / slope, (tail - q) / slope)
    x = np.where(inside, x, np.where(small == 0, np.inf, np.where(small == 1, 0.0, np.nan)))
    return np.where(y > 1, -x, x)


def erfinv(x):
    """Inverse of erf on [-1, 1]: Newton on erf in the middle, erfcinv(1 - |x|) outside."""
    x = np.asarray(x, dtype="float64")
    size = np.abs(x)
    middle = np.where(size < 0.6, x, 0.0)
    y = middle * math.sqrt(math.pi) / 2
    for _ in range(7):
        y = y - (erf(y) - middle) * math.sqrt(math.pi) / 2 * np.exp(y * y)
    return np.where(size < 0.6, y, np.copysign(erfcinv(1 - size), x))


def _reflected(x, right, add_reflection):
    """`right` on x >= 1/2, its reflection formula elsewhere, NaN at the poles."""
    x = np.asarray(x, dtype="float64")
    left = x < 0.5
    value = right(np.where(left, 1 - x, x))
    pole = left & (x == np.floor(x))
    turn = x - np.round(x)
    value = np.where(left, add_reflection(np.where(pole, 0.25, turn), value), value)
    return np.where(pole, np.nan, value)


# Digamma on [1, 2]: (x - root) * (Y + P(x - 1) / Q(x - 1)), the root in three parts so that the
# relative error stays small next to it (rational approximation from the Boost C++ library).
_ROOT = (1569415565.0 / 2**30, 381566830.0 / 2**60, 9.016312093258695e-20)
_Y = 0.99558162689208984
_P = (-0.0020713321167745952, -0.045251321448739056, -0.28919126444774784, -0.65031853770896507,
      -0.32555031186804491, 0.25479851061131551)  # fmt: skip
_Q = (-0.55789841321675513e-6, 0.0021284987017821144, 0.054151797245674225, 0.43593529692665969,
      1.4606242909763515, 2.0767117023730469, 1.0)  # fmt: skip


def _digamma_right(x):
    shift, big = np.zeros_like(x), x >= 10
    z = np.where(big, 1.5, x)
    for _ in range(9):
        above = z > 2
        z = np.where(above, z - 1, z)
        shift = shift + np.where(above, 1 / z, 0)
    low = z < 1
    shift = shift - np.where(low, 1 / z, 0)
    z = np.where(low, z + 1, z)
    g = ((z - _ROOT[0]) - _ROOT[1]) - _ROOT[2]
    near = g * _Y + g * (np.polyval(_P, z - 1) / np.polyval(_Q, z - 1)) + shift
    w = np.where(big, x, 10.0)
    r = 1 / (w * w)
    tail = r * (
        1 / 12
        - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12)))))
    )
    return np.where(big, np.log(w) - 0.5 / w - tail, near)


def digamma(x):
    """Logarithmic derivative of gamma; NaN at the poles except -inf and inf at 0 and -0."""
    x = np.asarray(x, dtype="float64")
    value = _reflected(x, _digamma_right, lambda t, v: v - np.pi / np.tan(np.pi * t))
    value = np.where(x == 0, np.copysign(np.inf, -x), value)
    return np.where(x == np.inf, np.inf, np.where(np.isnan(x) | (x == -np.inf), np.nan, value))


def _trigamma_right(x):
    total = np.zeros_like(x)
    for _ in range(15):
        small = x < 15
        total = total + np.where(small, 1 / (x * x), 0)
        x = np.where(small, x + 1, x)
    r = 1 / (x * x)
    tail = 1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * 5 / 66)))
    return total + 1 / x + r / 2 + r / x * tail


def trigamma(x):
    """Derivative of digamma; inf at the poles."""
    x = np.asarray(x, dtype="float64")
    value = _reflected(x, _trigamma_right, lambda t, v: (np.pi / np.sin(np.pi * t)) ** 2 - v)
    value = np.where((x <= 0) & (x == np.floor(x)), np.inf, value)
    return np.where(x == np.inf, 0.0, np.where(np.isnan(x) | (x == -np.inf), np.nan, value))


def polygamma(order, x):
    """The derivative number `order` >= 1 of digamma; NaN or inf at the poles."""
    x = np.asarray(x, dtype="float64")
    left = x < 0.5
    right = _polygamma_right(order, np.where(left, 1 - x, x))
    # psi_n(1 - x) - (-1)^n psi_n(x) = (-1)^n pi d^n/dx^n cot(pi x), a polynomial in the cotangent
    slopes = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        slopes = slopes.deriv() * np.polynomial.Polynomial([-np.pi, 0, -np.pi])
    turn = np.where(left & (x != np.floor(x)), x - np.round(x), 0.25)
    cotangent = 1 / np.tan(np.pi * turn)
    mirrored = (-1) ** order * right - np.pi * slopes(cotangent)
    value = np.where(left, mirrored, right)
    pole = np.nan if order % 2 == 0 else np.inf
    value = np.where(left & (x == np.floor(x)), pole, value)
    return np.where(np.isnan(x) | (x == -np.inf), np.nan, np.where(x == np.inf, 0.0, value))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _polygamma_right(order, x):
    """(-1)^(n + 1) n! zeta(n + 1, x): terms up to x = 20 + n, then Euler and Maclaurin."""
    far = 20 + order
    n = order + 1
    total = np.zeros_like(x)
    for _ in range(far):
        small = x < far
        total = total + np.where(small, np.where(small, x, 1.0) ** -n, 0)
        x = np.where(small, x + 1, x)
    tail = x ** (1 - n) / (n - 1) + x**-n / 2
    rising = n
    for k, b in enumerate(_BERNOULLI, 1):  # B_2k / (2k)! n (n + 1) .. (n + 2k - 2)
        tail = tail + b / math.factorial(2 * k) * rising * x ** (1 - n - 2 * k)
        rising *= (n + 2 * k - 1) * (n + 2 * k)
    return (-1) ** (order + 1) * math.factorial(order) * (total + tail)


def _series(x, order, sign):
    """sum_k sign^k (x/2)^(2k+n) / (k! (k+n)!): all terms positive for i0, i1."""
    h = x * x / 4
    term = x / 2 if order else np.ones_like(x)
    total = term
    for k in range(1, 60):
        term = term * (sign * h / (k * (k + order)))
        total = total + term
    return total


def _bessel_i(x, order, scaled=False):
    """i0, i1: the series to 20, then the integral over [0, pi] by the trapezoidal rule, which
    converges geometrically for periodic functions. scaled: times exp(-|x|)."""
    size = np.abs(np.asarray(x, dtype="float64"))
    large = np.where((size > 20) & (size < 800), size, 25.0)
    angle = np.arange(0, 301) * (np.pi / 300)
    weight = np.where((angle == 0) | (np.arange(301) == 300), 0.5, 1.0) * np.cos(order * angle)
    flat = large.reshape(-1, 1)
    total = (np.exp(-2 * flat * np.sin(angle / 2) ** 2) * weight).sum(axis=1) / 300
    near = _series(np.where(size <= 20, size, 0), order, 1)
    half = 1.0 if scaled else np.exp(large / 2)
    near = near * np.exp(-np.where(size <= 20, size, 0)) if scaled else near
    value = np.where(size <= 20, near, total.reshape(size.shape) * half * half)
    far = _scaled_far(np.where(size >= 800, size, 800.0), order) if scaled else np.inf
    value = np.where(size >= 800, far, np.where(np.isnan(size), np.nan, value))
    return np.copysign(value, x) if order else value


def _scaled_far(x, order):
    """exp(-x) times i0 or i1 for x >= 800 (DLMF 10.40.1)."""
    term = total = np.ones_like(x)
    for k in range(1, 8):
        term = term * -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return total / (np.sqrt(2 * np.pi) * np.sqrt(x))


def i0e(x):
    return _bessel_i(x, 0, True)


def i1e(x):
    return _bessel_i(x, 1, True)


def i0(x):
    return _bessel_i(x, 0)


def i1(x):
    return _bessel_i(x, 1)


def _hankel(x, order):
    """Asymptotic expansion of j0, j1 for x > 25 (DLMF 10.17.3); the terms fall to 1e-22 there."""
    mu = 4.0 * order * order
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 24):
        term = term * ((mu - (2 * k - 1) ** 2) / (8 * k)) / x
        if k % 2:
            q = q + (term if k % 4 == 1 else -term)
        else:
            p = p + (term if k % 4 == 0 else -term)
    s, c = np.sin(x), np.cos(x)
    # cos and sin of x - (2 order + 1) pi / 4 without rounding the difference
    cosine, sine = ((c + s), (s - c)) if order == 0 else ((s - c), -(s + c))
    return (p * cosine - q * sine) / np.sqrt(np.pi * x)


def _bessel_j(x, order):
    """j0, j1: series to 2, trapezoidal rule on Bessel's integral to 25, then asymptotic."""
    size = np.abs(np.asarray(x, dtype="float64"))
    finite = np.where(np.isfinite(size), size, 0)
    middle = np.where((finite > 2) & (finite <= 25), finite, 3.0).reshape(-1, 1)
    angle = np.arange(0, 101) * (np.pi / 100)
    weight = np.where((np.arange(101) == 0) | (np.arange(101) == 100), 0.5, 1.0)
    integral = (np.cos(order * angle - middle * np.sin(angle)) * weight).sum(axis=1) / 100
    value = np.where(
        finite <= 2,
        _series(np.where(finite <= 2, finite, 0), order, -1),
        np.where(
            finite <= 25,
            integral.reshape(size.shape),
            _hankel(np.where(finite > 25, finite, 30.0), order),
        ),
    )
    value = np.where(np.isinf(size), 0.0, np.where(np.isnan(size), np.nan, value))
    return value * np.where(np.signbit(x), -1.0, 1.0) if order else value


def j0(x):
    return _bessel_j(x, 0)


def j1(x):
    return _bessel_j(x, 1)
