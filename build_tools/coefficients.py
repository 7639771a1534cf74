"""Derives the polynomial coefficients in templates/math_*.h.in: weighted minimax fits by Remez.

`python build_tools/coefficients.py [name ...]` prints each polynomial in Horner form with the error
it leaves, in bits. `--check` says which coefficients do not stand in the templates. Needs mpmath.
A fit P minimises max |weight * (P(t) - goal(t))|; the weight turns the error of P into the relative
error of the function that uses it.
"""

import pathlib
import re
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

from mpmath import mp, mpf

mp.prec = 200
TEMPLATES = pathlib.Path(__file__).parent.parent / "ckernels" / "templates"


class Fit(NamedTuple):
    goal: Callable
    low: float
    high: float
    degree: int
    weight: Callable
    bits: int  # 24: float literals, 53: double literals


def solve_reference(fit, points):
    """Coefficients of the polynomial whose weighted error alternates +-E on `points`."""
    n = fit.degree + 1
    rows, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for i, t in enumerate(points):
        for j in range(n):
            rows[i, j] = t**j
        rows[i, n] = (-1) ** i / fit.weight(t)
        right[i] = fit.goal(t)
    return [mpf(c) for c in mp.lu_solve(rows, right)][:n]


def remez(fit, steps=12, per_gap=24):
    """(coefficients, largest weighted error)."""
    n, low, high = fit.degree + 2, mpf(fit.low), mpf(fit.high)
    grid = [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + mpf(1) / 2) / (per_gap * n))
        for k in range(per_gap * n)
    ]
    goals, weights = [fit.goal(t) for t in grid], [fit.weight(t) for t in grid]
    points = [grid[per_gap * k + per_gap // 2] for k in range(n)]
    for _ in range(steps):
        c = solve_reference(fit, points)
        errors = [w * (mp.polyval(c[::-1], t) - g) for t, g, w in zip(grid, goals, weights)]
        runs = []
        for k, e in enumerate(errors):  # the extremum of each run of one sign
            if runs and (errors[runs[-1]] < 0) == (e < 0):
                runs[-1] = k if abs(e) > abs(errors[runs[-1]]) else runs[-1]
            else:
                runs.append(k)
        while len(runs) > n:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        worst = max(abs(e) for e in errors)
        if len(runs) < n or worst < 1.02 * min(abs(errors[k]) for k in runs):
            break
        points = [grid[k] for k in runs]
    return c, worst


def literal(c, bits):
    """The shortest C literal of c in float or double."""
    if bits == 53:
        return repr(float(c))
    value = struct.unpack("f", struct.pack("f", float(c)))[0]
    return (
        next(
            s
            for s in (f"{value:.{d}g}" for d in range(6, 10))
            if struct.unpack("f", struct.pack("f", float(s)))[0] == value
        )
        + "f"
    )


def horner(c, var, bits):
    """The polynomial as a C expression of `var`."""
    text = literal(c[-1], bits)
    for a in reversed(c[:-1]):
        text = (
            f"({text}) * {var} + {literal(a, bits)}"
            if " " in text
            else f"{text} * {var} + {literal(a, bits)}"
        )
    return text


def erfcx(t):
    return mp.exp(t * t) * mp.erfc(t)


def asin_q(z):
    s = mp.sqrt(z)
    return (mp.asin(s) / s - 1) / z if z else mpf(1) / 6


def atan_q(z):
    s = mp.sqrt(z)
    return (mp.atan(s) / s - 1) / z


def log_q(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3


def log_r(z):
    """log((1+s)/(1-s)) = 2 s + s z R(z), z = s^2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def log_r2(z):
    return (log_r(z) - mpf(2) / 3) / z


def log_base(base):
    """(log(1 + f) - f) / f^2 to a base, its first term (f in that base) left out."""
    return lambda f: (mp.log1p(f) - f) / f**2 / mp.log(base)


def exp2_tail(r):
    """2^r = 1 + r (log 2 + r Q(r))."""
    return (mpf(2) ** r - 1 - r * mp.log(2)) / r**2


def atanh_q(z):
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1) / z


def tan_q(z):
    s = mp.sqrt(z)
    return (mp.tan(s) / s - 1) / z


def exp2_p(r):
    return (mpf(2) ** r - 1) / r


def sin_q(z):
    s = mp.sqrt(z)
    return (mp.sin(s) / s - 1) / z


def cos_q(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_q(z):
    s = mp.sqrt(z)
    return mp.erf(s) / s - 1


def erf_tail(t):
    """log(erfc(t)) = -t (1 + P(t))."""
    return -mp.log(mp.erfc(t)) / t - 1


def erfinv_of(w):
    """erfinv(x) / x where w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def bessel_small(order):
    """i0(x), or 2 i1(x) / x, of a = x^2 / 4."""
    return lambda a: mp.besseli(order, 2 * mp.sqrt(a)) / (mp.sqrt(a) if order else 1)


def bessel_large(order):
    """sqrt(x) exp(-x) i(x) of 1 / x."""
    return lambda q: mp.besseli(order, 1 / q) * mp.exp(-1 / q) / mp.sqrt(q)


def relative(goal):
    return lambda t: 1 / goal(t)


HALF_LN2 = 0.34660
QUARTER_PI = 0.7954
LOG_LOW, LOG_HIGH, LOG_Z = -0.29290, 0.41422, 0.029438
ATAN_Z = 0.171574
EPS = 1e-5


def exp_q(r):
    return (mp.expm1(r) - r) / r**2


FITS = {
    # exp(r) = 1 + r + r^2 Q(r)
    "exp_f32": Fit(exp_q, -HALF_LN2, HALF_LN2, 5, lambda r: abs(r), 24),
    "exp_shifted_f32": Fit(exp_q, -HALF_LN2, HALF_LN2, 4, lambda r: r ** 2, 24),
    "exp_f64": Fit(exp_q, -HALF_LN2, HALF_LN2, 10, lambda r: abs(r), 53),
    "exp_mid": Fit(exp_q, -HALF_LN2, HALF_LN2, 5, lambda r: r ** 2, 53),
    # 2^r = 1 + r P(r)
    "exp2_f32": Fit(exp2_p, -0.50001, 0.50001, 5, lambda r: abs(r), 24),
    "exp2_f64": Fit(exp2_p, -0.50001, 0.50001, 10, lambda r: abs(r), 53),
    # log(1 + f) = f + f^2 Q(f), as it is and in bases 2 and 10
    "ln_f32": Fit(log_base(mp.e), LOG_LOW, LOG_HIGH, 8, lambda f: abs(f), 24),
    "log2_f32": Fit(log_base(2), LOG_LOW, LOG_HIGH, 8, lambda f: abs(f), 24),
    "log10_f32": Fit(log_base(10), LOG_LOW, LOG_HIGH, 8, lambda f: abs(f), 24),
    # log(1 + f) = f - f^2 / 2 + f^3 Q(f)
    "log_f32": Fit(log_q, LOG_LOW, LOG_HIGH, 7, lambda f: f ** 2, 24),
    "log_f64": Fit(log_r, EPS, LOG_Z, 6, lambda z: z, 53),
    "log_mid": Fit(log_r, EPS, LOG_Z, 3, lambda z: z, 53),
    "log_dd": Fit(log_r2, EPS, LOG_Z, 7, lambda z: z * z, 53),
    "log2_pair": Fit(lambda z: log_r(z) / mp.log(2), EPS, LOG_Z, 3, lambda z: z, 24),
    "exp2_tail": Fit(exp2_tail, -0.50001, 0.50001, 4, lambda r: r ** 2, 24),
    # sin(r) = r + r z Q(z), cos(r) = 1 - z / 2 + z^2 Q(z)
    "sin_f32": Fit(sin_q, EPS, QUARTER_PI ** 2, 3, lambda z: z, 53),
    "cos_f32": Fit(cos_q, EPS, QUARTER_PI ** 2, 2, lambda z: z * z, 53),
    "sin_f64": Fit(sin_q, EPS, QUARTER_PI ** 2, 5, lambda z: z, 53),
    "cos_f64": Fit(cos_q, EPS, QUARTER_PI ** 2, 5, lambda z: z * z, 53),
    "sin_one": Fit(sin_q, EPS, 0.642, 2, lambda z: z, 24),
    "cos_one": Fit(cos_q, EPS, 0.642, 2, lambda z: z * z, 24),
    # tan(r) = r + r z Q(z)
    "tan_one": Fit(tan_q, EPS, 0.642, 6, lambda z: z, 24),
    "sin_box": Fit(sin_q, EPS, 0.6169, 2, lambda z: z, 24),
    "cos_box": Fit(cos_q, EPS, 0.6169, 2, lambda z: z * z, 24),
    # atan(t) = t + t z Q(z), asin(s) = s + s z Q(z)
    "atan_f32": Fit(atan_q, EPS, ATAN_Z, 4, lambda z: z, 24),
    "atan_whole": Fit(atan_q, EPS, 1, 8, lambda z: z, 24),
    "atan_f64": Fit(atan_q, EPS, ATAN_Z, 11, lambda z: z, 53),
    "asin_f32": Fit(asin_q, EPS, 0.25, 4, lambda z: z, 24),
    "asin_f64": Fit(asin_q, EPS, 0.25, 12, lambda z: z, 53),
    # atanh(s) = s + s z Q(z)
    "atanh_f32": Fit(atanh_q, EPS, 0.0754, 3, lambda z: z, 24),
    "atanh_f64": Fit(atanh_q, EPS, 0.0754, 8, lambda z: z, 53),
    # erf(x) = x + x Q(x^2) to 1; log(erfc(t)) = -t - t P(t); erfcx in (t - k) / (t + k)
    "erf_f32": Fit(erf_q, EPS, 0.86, 5, lambda z: 1, 24),
    "erf_tail_f32": Fit(erf_tail, 0.92, 4.0, 6,
                        lambda t: t * mp.erfc(t) / mp.erf(t), 24),
    "erf_f64": Fit(erf_q, EPS, 1.0, 12, lambda z: 1, 53),
    "erfcx_f32": Fit(lambda q: (1 + 2 * (t := 2 * (1 + q) / (1 - q))) * erfcx(t), -1, 0.70, 9,
                     lambda q: 1 / ((1 + 2 * (t := 2 * (1 + q) / (1 - q))) * erfcx(t)), 24),
    "erfcx_f64": Fit(lambda q: (1 + 2 * (t := 4 * (1 + q) / (1 - q))) * erfcx(t), -1, 0.75, 23,
                     lambda q: 1 / ((1 + 2 * (t := 4 * (1 + q) / (1 - q))) * erfcx(t)), 53),
    # erfinv(x) = x P, P in w - 2.5 to w = 5, in sqrt(w) - 3 beyond, w = -log(1 - x^2)
    "erfinv_mid": Fit(lambda t: erfinv_of(t + mpf(5) / 2), -2.49999, 2.5, 8,
                      lambda t: 1 / erfinv_of(t + mpf(5) / 2), 24),
    "erfinv_tail": Fit(lambda t: erfinv_of((t + 3) ** 2), -0.7640, 1.1, 8,
                       lambda t: 1 / erfinv_of((t + 3) ** 2), 24),
    "i0_small": Fit(bessel_small(0), EPS, 15.02, 15, relative(bessel_small(0)), 53),
    "i1_small": Fit(bessel_small(1), EPS, 15.02, 14, relative(bessel_small(1)), 53),
    "i0_large": Fit(bessel_large(0), 0.001, 0.12904, 23, relative(bessel_large(0)), 53),
    "i1_large": Fit(bessel_large(1), 0.001, 0.12904, 23, relative(bessel_large(1)), 53),
}  # fmt: skip


def main(arguments):
    text = "".join(p.read_text() for p in sorted(TEMPLATES.glob("math*.in")))
    known = set(re.findall(r"[0-9][0-9a-zA-Z.+-]*", text))
    check = "--check" in arguments
    missing = 0
    for name in [a for a in arguments if a != "--check"] or FITS:
        fit = FITS[name]
        c, worst = remez(fit)
        if check:
            lost = [a for a in (literal(x, fit.bits).lstrip("-") for x in c) if a not in known]
            missing += len(lost)
            print(f"{name}: {'missing ' + ', '.join(lost) if lost else 'ok'}")
        else:
            print(f"{name}: error 2^{float(mp.log(worst, 2)):.1f}\n{horner(c, 'z', fit.bits)}")
    return missing


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
