"""Slopes under jit where formulas change: of equal operands, at zeros, ones and borders, for every
ufunc of NumPy and SciPy that has a row, against differences to second order."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.special  # noqa: F401 (its functions have rows once it is there)

from ckernels import config
from ckernels.base.errors import NotSupported
from ckernels.jit import grad
from ckernels.numpy.rows import special
from ckernels.numpy.rows.base import UFUNCS

from .test_transform import X, check_slopes

special.add()
POINTS = [0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 0.25, 3.0, -0.5]
FLOATS = [u for u in sorted(UFUNCS, key=lambda u: u.__name__)
          if not u.signature and u.nout == 1 and "d" * u.nin + "->d" in u.types]  # fmt: skip
# Points that are left out; why.
OTHERWISE = {
    "clip": lambda x, low, high: low == high,  # both bounds are x, which is taken to be itself
    "betaln": lambda a, b: (a < 0) | (b < 0),  # outside of what its slope is a formula of
}


def smooth(f, args, k):
    """Central differences of f by its operand k, and where those to either side agree."""
    found = []
    for step in (1e-5, 1e-4):
        high, mid, low = (f(*args[:k], args[k] + s, *args[k + 1 :]) for s in (step, 0.0, -step))
        found.append(((high - low) / (2 * step), (high - mid) / step, (mid - low) / step))
    (c, up, down), (wide, _, _) = found
    size = 1 + np.abs(c)
    alike = (np.abs(c - wide) < 1e-3 * size) & (np.abs(up - down) < 2e-3 * size)
    return c, alike & np.isfinite(c) & np.isfinite(wide)


def outside(f, slope, args, k=0):
    """Where a slope of f by its operand k is not between those to its two sides."""
    found = []
    for step in (1e-5, 1e-4):
        high, mid, low = (f(*args[:k], args[k] + s, *args[k + 1 :]) for s in (step, 0.0, -step))
        found.append(np.array([(high - mid) / step, (mid - low) / step]))
    ends, wide = found
    room = 1e-3 * (1 + np.abs(ends).max(0))
    at = (np.abs(ends - wide) < room).all(0)
    return at & ~((ends.min(0) - room <= slope) & (slope <= ends.max(0) + room))


LIMITED = [lambda x: np.clip(x, 1.0, 1.0), lambda x: np.clip(x, 0, -0.0),
           lambda x: x.clip(0.5, 0.5), lambda x: np.clip(x, 2, -1),
           lambda x: np.clip(x, 1, None), lambda x: x.clip(None, 0.5),
           lambda x: np.clip(x, a_min=-1, a_max=0.5), lambda x: x.clip(min=1, max=np.int8(1)),
           lambda x: np.minimum(x, 1), lambda x: np.maximum(0.5, x)]  # fmt: skip


@pytest.mark.parametrize("mode", ["reference", "compiled"])
@pytest.mark.parametrize("f", LIMITED)
def test_slopes_of_what_is_limited(f, mode):
    """Limits that leave nothing between them make a constant: its slope is 0 on them, too."""
    x = np.array(POINTS)
    with config.change(mode=mode):
        slope = grad(lambda x: np.sum(f(x)))(x)
    wrong = outside(f, slope, [x])
    assert not wrong.any(), (x[wrong], slope[wrong])


@pytest.mark.parametrize("ufunc", FLOATS, ids=lambda u: u.__name__)
def test_slopes_at_special_points(ufunc):
    grid = itertools.product(POINTS[: 9 if ufunc.nin < 3 else 5], repeat=ufunc.nin)
    args = [np.array(column) for column in zip(*grid)]
    with config.change(mode="reference"), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k in range(ufunc.nin):
            once = grad(lambda *a: np.sum(ufunc(*a)), k)
            twice = grad(lambda *a, once=once: np.sum(once(*a)), k)
            try:
                slopes = once(*args), twice(*args)
            except NotSupported:
                continue
            want, at = smooth(ufunc, args, k)
            steeper, also = smooth(once, args, k)
            if ufunc.__name__ in OTHERWISE:
                at &= ~OTHERWISE[ufunc.__name__](*args)
            for x, y, some in zip(slopes, (want, steeper), (at, at & also)):
                wrong = some & ~(np.abs(x - y) < 2e-3 * (1 + np.abs(y)))
                assert not wrong.any(), [a[wrong] for a in (*args, x, y)]


SMOOTH = [np.median, np.nanmedian, lambda x: np.quantile(x, 0.5), lambda x: np.hypot(*x) ** 3,
          lambda x: np.percentile(x, 50, method="midpoint"), lambda x: np.logaddexp.reduce(x),
          lambda x: np.hypot.reduce(x + 4), lambda x: np.median(x) ** 2,
          lambda x: np.logaddexp2(*x)]  # fmt: skip
CORNERS = [np.ptp, np.max, lambda x: np.quantile(x, 0.25), lambda x: np.percentile(x, 80)]


@pytest.mark.parametrize("x", [np.ones(2), np.full(2, -2.0), np.array([1.0, 1.5])], ids=str)
def test_slopes_of_two_numbers_that_may_be_equal(x):
    for f in SMOOTH:  # half of a median of two is each of them, be they equal or not
        check_slopes(f, x)
    for f in CORNERS:
        both = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert np.sum(grad(f)(x)) == pytest.approx(both, abs=1e-6)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("f", [
    lambda x: np.sum(x.max(0) ** 3), lambda x: np.sum(np.max(np.abs(x), 0) ** 2),
    lambda x: np.max(np.stack([x, x])) ** 2, lambda x: np.sum(np.minimum.reduce(x, 0) ** 3),
    lambda x: np.sum(np.ptp(x, axis=0) ** 2), lambda x: np.nanmax(x, 1).sum() ** 2,
    lambda x: np.sum(np.amin(x, 0, keepdims=True) ** 3), lambda x: np.median(x, 0).sum() ** 2,
    lambda x: np.sum(np.linalg.norm(x, np.inf, axis=0) ** 2),
    lambda x: np.sum(np.maximum.accumulate(x, 0) ** 3),
    lambda x: np.sum(np.maximum.reduceat(x, [0, 2], 0) ** 2),
    lambda x: sum(np.max(np.stack([row, row]) * row) for row in x),
])  # fmt: skip
def test_equal_elements_share_the_slope_of_their_maximum(f):
    """Where one number is there twice, a maximum of both goes up with it, not twice as fast."""
    check_slopes(lambda x: f(x[[0, 0, 1, 1]]), X[:2])


def test_a_maximum_of_nan_has_no_slope():
    x = np.array([[1.0, np.nan], [2.0, 2.0]])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x.max(1)))(x), [[0, 0], [0.5, 0.5]])
