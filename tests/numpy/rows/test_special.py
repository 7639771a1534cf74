"""SciPy's special functions under jit: its values, dtypes and borders; gradients by differences."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.numpy.rows import special as rows

special = pytest.importorskip("scipy.special")
UNIT = np.array([0.0, 1e-300, 1e-9, 0.2, 0.4999999, 0.5, 0.5000001, 0.7, 0.999, 1.0, np.nan])
WIDE = np.array([-np.inf, -30.0, -3.5, -0.7, -0.0, 0.0, 1e-8, 0.4, 2.5, 30.0, np.inf, np.nan])
DOMAINS = {  # arguments, where they are not WIDE
    "betainc": ([0.5, 2.0, 7.0, 1.5], [0.5, 3.0, 1.0, 2.5], [0.0, 0.3, 0.8, 1.0]),
    "betaln": ([0.5, 2.0, 70.0], [0.5, 3.0, 1.0]), "digamma": ([-2.5, -0.3, 0.1, 1.0, 40.0],),
    "psi": ([-2.5, -0.3, 0.1, 1.0, 40.0],), "erfcinv": (2 * UNIT,), "erfinv": (2 * UNIT - 1,),
    "gamma": ([-2.5, -0.3, 0.1, 1.0, 5.5, 40.0],), "gammaln": ([-2.5, 0.1, 1.0, 5.5, 400.0],),
    "gammainc": ([0.5, 2.0, 7.0], [0.0, 2.5, 9.0]), "gammaincc": ([0.5, 2.0, 7.0], [0.0, 2.5, 9.0]),
    "logit": (UNIT,), "ndtri": (UNIT,), "ndtri_exp": ([-50.0, -3.0, -0.7, -1e-3],),
    "i0": (WIDE[1:-2],), "i1": (WIDE[1:-2],),  # SciPy's are NaN at infinity
    "j0": ([-9.0, 0.0, 0.4, 3.0, 20.0],), "j1": ([-9.0, 0.0, 0.4, 3.0, 20.0],),
    "log1p": ([-1.0, -0.5, 0.0, 1e-9, 9.0, np.inf, np.nan],),
}  # fmt: skip
PAIRS = np.meshgrid([0.0, 0.3, 2.0, -1.0, np.nan], [0.0, 0.7, 3.0, -2.0, np.nan])
for _name in ("xlogy", "xlog1py", "rel_entr", "kl_div", "huber"):
    DOMAINS[_name] = tuple(PAIRS)


def arguments(name):
    return [np.asarray(a, float) for a in DOMAINS.get(name, (WIDE,))]


def has(name):
    return isinstance(getattr(special, name, None), np.ufunc)


NAMES = [name for name in rows.ROWS if has(name)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_scipy(name, dtype):
    function = getattr(special, name)
    given = [a.astype(dtype) for a in arguments(name)]
    compiled = ck.jit(lambda *a: function(*a))
    with np.errstate(all="ignore"):
        wanted, got = function(*given), compiled(*given)
    assert compiled.report()["numpy"] == {}
    assert got.dtype == wanted.dtype
    close = dict(rtol=2e-12, atol=1e-14) if dtype == "float64" else dict(rtol=3e-5, atol=1e-6)
    np.testing.assert_allclose(got, wanted, **close)


def test_integers_and_no_elements():
    assert ck.jit(lambda x: special.expit(x))(np.arange(3)).dtype == "float64"
    assert ck.jit(lambda x: special.xlogy(x, x))(np.zeros((0, 3))).shape == (0, 3)
    assert ck.jit(lambda x: special.ndtr(x))(np.float64(0.0)) == 0.5


INSIDE = {"logit": 0.3, "ndtri": 0.3, "erfinv": 0.3, "erfcinv": 0.3, "ndtri_exp": -0.9}


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("betainc", "gammainc", "gammaincc")]
)
def test_gradients(name):
    function = getattr(special, name)
    at = [np.array([INSIDE.get(name, 0.6)]), np.array([1.4])][: function.nin]
    cost = lambda *a: function(*a).sum()  # noqa: E731
    got = ck.jit.grad(cost)(*at)
    step = 1e-6
    shifted = [cost(at[0] + s, *at[1:]) for s in (step, -step)]
    np.testing.assert_allclose(got, (shifted[0] - shifted[1]) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_products_with_0_have_no_sign(name):
    function = getattr(special, name)
    x, y = map(np.ravel, np.meshgrid([0.0, -0.0], [-0.5, 0.0, 0.3, 1.0, 3.0, np.inf]))
    for kind in (np.float64, np.float32):
        got = ck.jit(lambda x, y: function(x, y))(x.astype(kind), y.astype(kind))
        assert np.array_equal(np.signbit(got), np.signbit(function(x, y)))
    inside = y + (name == "xlog1py") > 0
    x, y = x[inside], np.minimum(y[inside], 9)
    log, inner = (np.log, 1 / y) if name == "xlogy" else (np.log1p, 1 / (1 + y))
    slope = ck.jit.grad(lambda x, y: function(x, y).sum(), 0)
    np.testing.assert_allclose(slope(x, y), log(y), rtol=1e-12)
    cross = ck.jit.grad(lambda y, x: slope(x, y).sum())
    np.testing.assert_allclose(cross(y, x), inner, rtol=1e-12)


def test_gradients_at_zero_are_finite():
    x = np.array([0.0, 0.5])
    assert np.isfinite(ck.jit.grad(lambda x: special.xlogy(x, x + 1).sum())(x)).all()
