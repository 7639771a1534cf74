"""Rows of SciPy's special functions, which are ufuncs too: `scipy.special.ndtr`, `xlogy`, `expit`.

They are added once a program has imported SciPy, which nothing here does. Values at the borders of
their domains are SciPy's.
"""

import sys

import numpy as np

from ... import ops
from ...graph.node import constant
from .base import LIBRARIES, UFUNCS, Row


def _like(x, value):
    return constant(np.asarray(value, dtype=x.dtype), x.dtype)


def _times_log(log, least):
    """x * log(y), 0 where x is 0 and y a number; log: finite beyond `least`, where x = 0 has a
    slope."""

    def build(x, y):
        infinite = ops.logical_or(ops.le(y, least), ops.eq(y, _like(y, np.inf)))
        nothing = ops.logical_and(ops.eq(x, 0), infinite)
        inside = ops.where(nothing, _like(y, 1), y)
        value = ops.mul(x, log(inside))
        # 0 whatever the signs, and with the slope of the product
        unsigned = ops.where(ops.eq(x, 0), ops.sub(value, ops.stop_gradient(value)), value)
        return ops.where(nothing, _like(x, 0), unsigned)

    return build


def _entropy(x):
    inside = ops.where(ops.le(x, 0), _like(x, 1), x)
    outside = ops.where(ops.lt(x, 0), _like(x, -np.inf), _like(x, 0))
    return ops.where(ops.le(x, 0), outside, ops.neg(ops.mul(inside, ops.log(inside))))


def _relative(rest, at_zero):
    """x log(x / y) + rest(x, y) for positive ones, at_zero(y) for x = 0, else infinite."""

    def build(x, y):
        inside = ops.logical_and(ops.gt(x, 0), ops.gt(y, 0))
        a, b = ops.where(inside, x, _like(x, 1)), ops.where(inside, y, _like(y, 1))
        value = rest(ops.mul(a, ops.log(ops.true_div(a, b))), a, b)
        border = ops.logical_and(ops.eq(x, 0), ops.ge(y, 0))
        outside = ops.where(border, at_zero(y), _like(x, np.inf))
        missing = ops.logical_or(ops.isnan(x), ops.isnan(y))
        return ops.where(missing, ops.add(x, y), ops.where(inside, value, outside))

    return build


def _less_by(value, x, y):
    return ops.add(ops.sub(value, x), y)


def _logit(x):
    """Near 1/2 by the distance from there, whose digits a quotient would lose."""
    twice = ops.mul(ops.sub(x, _like(x, 0.5)), _like(x, 2))
    middle = ops.lt(ops.abs(twice), 0.5)
    twice = ops.where(middle, twice, _like(x, 0))
    near = ops.sub(ops.log1p(twice), ops.log1p(ops.neg(twice)))
    return ops.where(middle, near, ops.log(ops.true_div(x, ops.sub(_like(x, 1), x))))


def _ndtri(p):
    """By the smaller of the two tails."""
    low = ops.lt(p, 0.5)
    half = _like(p, 0.5)
    left = ops.log(ops.where(low, p, half))
    right = ops.log1p(ops.neg(ops.where(low, half, p)))
    tail = ops.ndtri_exp(ops.where(low, left, right))
    middle = ops.mul(ops.sub(p, half), _like(p, np.sqrt(2 * np.pi)))
    return ops.where(low, tail, ops.where(ops.eq(p, 0.5), middle, ops.neg(tail)))


def _huber(delta, r):
    size = ops.abs(r)
    near = ops.mul(_like(r, 0.5), ops.mul(r, r))
    far = ops.mul(delta, ops.sub(size, ops.mul(_like(r, 0.5), delta)))
    value = ops.where(ops.lt(size, delta), near, far)
    return ops.where(ops.lt(delta, 0), _like(r, np.inf), value)


ROWS = {
    "betainc": ops.betainc, "betaln": ops.betaln,
    "exp2": ops.exp2, "huber": _huber, "digamma": ops.digamma, "entr": _entropy,
    "erf": ops.erf, "erfc": ops.erfc, "erfcinv": ops.erfcinv, "erfcx": ops.erfcx,
    "erfinv": ops.erfinv, "exp10": lambda x: ops.pow(_like(x, 10), x), "expit": ops.sigmoid,
    "expm1": ops.expm1, "gamma": ops.gamma, "gammainc": ops.gammainc, "gammaincc": ops.gammaincc,
    "gammaln": ops.gammaln, "i0": ops.i0, "i0e": ops.i0e, "i1": ops.i1, "i1e": ops.i1e,
    "j0": ops.j0, "j1": ops.j1, "kl_div": _relative(_less_by, lambda y: y),
    "log1p": ops.log1p, "log_expit": lambda x: ops.neg(ops.softplus(ops.neg(x))),
    "log_ndtr": ops.log_ndtr, "logit": _logit, "ndtr": ops.ndtr, "ndtri": _ndtri,
    "ndtri_exp": ops.ndtri_exp, "psi": ops.digamma,
    "rel_entr": _relative(lambda v, a, b: v, lambda y: _like(y, 0)),
    "xlog1py": _times_log(ops.log1p, -1), "xlogy": _times_log(ops.log, 0),
}  # fmt: skip
_added = []


def add():
    """Rows of the functions that the imported SciPy has."""
    module = sys.modules.get("scipy.special")
    if module is None or _added or not hasattr(module, "xlogy"):
        return
    for name, build in {**ROWS, "cbrt": UFUNCS[np.cbrt].build}.items():
        function = getattr(module, name, None)
        if isinstance(function, np.ufunc):
            UFUNCS.setdefault(function, Row(name, build, True))
    _added.append(True)


LIBRARIES.append(add)
