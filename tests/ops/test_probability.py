"""Functions of distributions against SciPy, over dtypes and shapes; slopes that do not exist."""

import sys

import numpy as np
import pytest
from scipy import special

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import NotSupported
from ckernels.graph.node import constant
from ckernels.ops.reference import evaluate

from .agree import agree, leaf

RNG = np.random.default_rng(5)
WIDE = np.concatenate([RNG.normal(size=20) * 5, [0.0, -0.0, np.inf, -np.inf, np.nan, 40, -50, 900]])
POSITIVE = np.abs(WIDE[:20]) + 0.01
CASES = {
    "erfcx": (special.erfcx, WIDE), "ndtr": (special.ndtr, WIDE),
    "log_ndtr": (special.log_ndtr, WIDE), "i0e": (special.i0e, WIDE),
    "i1e": (special.i1e, WIDE),
    "ndtri_exp": (special.ndtri_exp, np.append(-np.abs(WIDE), [0.5, -0.4, -1e-12, -1e150])),
    "betaln": (special.betaln, POSITIVE, RNG.permutation(POSITIVE)),
    "gammainc": (special.gammainc, POSITIVE, RNG.permutation(POSITIVE)),
    "gammaincc": (special.gammaincc, POSITIVE, RNG.permutation(POSITIVE)),
    "betainc": (special.betainc, POSITIVE, RNG.permutation(POSITIVE), RNG.uniform(0, 1, 20)),
    "ive": (special.ive, POSITIVE, RNG.permutation(POSITIVE)),
    "kve": (special.kve, POSITIVE, RNG.permutation(POSITIVE)),
    "owens_t": (special.owens_t, WIDE[:20], RNG.permutation(POSITIVE)),
    "chi2sf": (lambda x, k: special.chdtrc(k, x), POSITIVE, RNG.permutation(POSITIVE)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    expected, *arrays = CASES[name]
    for shape in ((-1,), (2, -1)):
        xs = [a[:20].reshape(shape) if len(shape) > 1 else a for a in arrays]
        with np.errstate(all="ignore"):
            want = expected(*xs)
        agree(getattr(ops, name), want, *xs, rtol=1e-12)
    small = [a.astype("float32") for a in arrays]
    node = getattr(ops, name)(*small)
    assert node.dtype == "float32"
    with np.errstate(all="ignore"):
        want = expected(*(a.astype("float64") for a in small))
    np.testing.assert_allclose(evaluate([node], {})[0], want, rtol=3e-5, atol=1e-37)
    empty = evaluate([getattr(ops, name)(*(a[:0] for a in arrays))], {})[0]
    assert empty.shape == (0,)


def test_betaln_of_large_numbers():
    """Where gammaln(a) + gammaln(b) - gammaln(a + b) has no digit left."""
    got = evaluate([ops.betaln(np.array([1e15, 3.0]), np.array([2.0, 1e20]))], {})[0]
    np.testing.assert_allclose(got, [-69.07755278982137, -137.4619583990828], rtol=1e-13)


def test_ndtri_exp_far_out():
    """Where exp(x) is no double: mpmath's quantiles, by log_ndtr of 60 digits."""
    x = np.array([-690.5, -745.2, -1e3, -16777215, -1e9, -1e300, -np.inf, 0, 1])
    want = [-37.039663728563376, -38.48714235380105, -44.6157477319694, -5792.616924451676,
            -44721.359290004926, -1.4142135623730951e150, -np.inf, np.inf, np.nan]  # fmt: skip
    agree(ops.ndtri_exp, np.array(want), x, rtol=5e-16)


def test_log_ndtr_stays_steep():
    x = leaf((3,))
    slope = reverse.grad(ops.sum(ops.log_ndtr(x)), x)
    second = reverse.grad(ops.sum(slope), x)
    got = evaluate([slope, second], {x: np.array([-1e4, 0.0, 50.0])})
    np.testing.assert_allclose(got[0], [1e4, 0.7978845608028654, 0], rtol=1e-7, atol=1e-100)
    np.testing.assert_allclose(got[1], [-1, -0.6366197723675814, 0], rtol=1e-5, atol=1e-100)


@pytest.mark.parametrize(
    "build",
    [
        lambda v: ops.gammainc(v, 2.0),
        lambda v: ops.gammaincc(v, 2.0),
        lambda v: ops.ive(v, 2.0),
        lambda v: ops.betainc(v, 2.0, 0.5),
        lambda v: ops.betainc(2.0, v, 0.5),
        lambda v: ops.kve(v, 2.0),
    ],
    ids=["gammainc", "gammaincc", "ive", "a", "b", "kve"],
)
def test_a_slope_without_a_form_is_an_error_only_where_it_is_used(build):
    v = leaf(())
    g = reverse.grad(build(v), v)
    with pytest.raises(NotSupported, match="has no closed form"):
        evaluate([g], {v: np.array(1.5)})


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(NotSupported, match="pip install scipy"):
        evaluate([ops.gammainc(constant(np.array(1.5)), 2.0)], {})


def test_compiled():
    x = K.placeholder((None,), dtype="float64")
    f = K.function([x], [K.log_ndtr(x), K.erfcx(x), K.betaln(x + 9, 2.5), K.gammaincc(x + 9, 2.5)])
    a = np.linspace(-8, 8, 33)
    want = [
        special.log_ndtr(a),
        special.erfcx(a),
        special.betaln(a + 9, 2.5),
        special.gammaincc(a + 9, 2.5),
    ]
    for got, expected in zip(f([a]), want):
        np.testing.assert_allclose(got, expected, rtol=2e-13)
