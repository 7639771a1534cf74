"""Names of NumPy, SciPy and Theano beyond Keras's: against what they are named after."""

from pathlib import Path

import numpy as np
import pytest
from scipy import special

import ckernels as K
from ckernels.base.errors import CKernelsError

from .signatures import DOCUMENTED
from .test_math import close, run, value

ROOT = Path(__file__).parents[2]
FROM_MINUS_ONE, FROM_ZERO, FROM_ONE = (-1, 1), (0.1, 6), (1, 6)
UNARY = {
    "gamma": (special.gamma, FROM_ZERO), "gammaln": (special.gammaln, (-4.6, 9)),
    "psi": (special.psi, FROM_ZERO), "tri_gamma": (lambda x: special.polygamma(1, x), FROM_ZERO),
    "erfinv": (special.erfinv, FROM_MINUS_ONE), "erfcinv": (special.erfcinv, (0.05, 1.95)),
    "j0": (special.j0, (-9, 9)), "j1": (special.j1, (-9, 9)), "i0": (special.i0, (-4, 4)),
    "i1": (special.i1, (-4, 4)), "log1mexp": (lambda x: np.log(-np.expm1(x)), (-4, -1e-3)),
    "arcsinh": (np.arcsinh, (-4, 4)), "arccosh": (np.arccosh, FROM_ONE),
    "arctanh": (np.arctanh, (-0.9, 0.9)), "deg2rad": (np.deg2rad, (-90, 90)),
    "rad2deg": (np.rad2deg, (-2, 2)), "trunc": (np.trunc, (-3, 3)),
    "angle": (np.angle, (-2, 2)), "isfinite": (np.isfinite, (-2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    expected, bounds = UNARY[name]
    for dtype in ("float32", "float64"):
        for shape in ((), (2, 5), (0, 3)):
            x = value(shape, dtype, *bounds)
            want = np.asarray(expected(x.astype("float64")))
            want = want if want.dtype == bool else want.astype(dtype)
            got = np.asarray(run(getattr(K, name), x))
            assert got.dtype == want.dtype
            scale = 1 + np.abs(want.astype("float64"))
            limit = 3e-6 if dtype == "float32" else 2e-13
            assert np.all(np.abs(got.astype("float64") - want) <= limit * scale), name


def test_integers_become_floats():
    assert run(K.gammaln, np.array([3, 4], "int8")).dtype == np.float32
    close(run(K.gamma, np.array([3, 4], "int64")), np.array([2.0, 6.0]), "float64")


def test_binary():
    a, b = value((2, 3), "float64"), value((3,), "float64")
    close(run(K.arctan2, a, b), np.arctan2(a, b))
    close(run(K.logaddexp, a, b), np.logaddexp(a, b))
    assert run(lambda x: K.logaddexp(x, 0), a.astype("float32")).dtype == np.float32
    close(run(K.logical_xor, a > 0, b > 0), np.logical_xor(a > 0, b > 0))


def test_isclose():
    a = np.array([1.0, 2.0, np.inf, np.nan, np.inf])
    b = np.array([1.0 + 1e-9, 2.1, np.inf, np.nan, -np.inf])
    for equal in (False, True):
        close(
            run(lambda x, y, e=equal: K.isclose(x, y, equal_nan=e), a, b),
            np.isclose(a, b, equal_nan=equal),
        )


def test_complex_parts():
    z = np.array([1 + 2j, -3 - 1j])
    for name in ("real", "imag", "conj", "angle"):
        close(K.eval(getattr(K, name)(z)), getattr(np, name)(z))


def test_axes():
    x = value((2, 3, 4), "float32")
    close(run(lambda t: K.swapaxes(t, 0, -1), x), np.swapaxes(x, 0, -1))
    close(run(lambda t: K.moveaxis(t, 0, 1), x), np.moveaxis(x, 0, 1))
    close(run(lambda t: K.roll(t, -2, 1), x), np.roll(x, -2, 1))
    close(run(lambda t: K.roll(t, 5), x), np.roll(x, 5))
    close(K.eval(K.roll(x, K.constant(2, dtype="int64"), 2)), np.roll(x, 2, 2))
    v = x[0, 0, :2]
    close(run(lambda t: K.broadcast_to(t, (3, 2)), v), np.broadcast_to(v, (3, 2)))


def test_split():
    x = value((4, 6), "float32")
    for got, want in zip(run(lambda t: K.split(t, 3, 1), x), np.split(x, 3, 1)):
        close(got, want)
    for got, want in zip(run(lambda t: K.split(t, [1, 0, 3]), x), np.split(x, [1, 1])):
        close(got, want)
    with pytest.raises(CKernelsError, match="6"):
        K.split(K.zeros((4, 6)), 4, 1)
    with pytest.raises(CKernelsError, match="do not make up"):
        K.split(K.zeros((4, 6)), [1, 2])
    with pytest.raises(TypeError, match="number of parts"):
        K.split(K.zeros((4, 6)), 1.5)


def test_triangles_and_diagonals():
    x = value((2, 3, 4), "float32")
    for k in (-1, 0, 2):
        close(run(lambda t, k=k: K.tril(t, k), x), np.tril(x, k))
        close(run(lambda t, k=k: K.triu(t, k), x), np.triu(x, k))
        close(run(lambda t, k=k: K.diagonal(t, k, 1, 2), x), np.diagonal(x, k, 1, 2))
        close(run(lambda t, k=k: K.trace(t, k, 2, 1), x), np.trace(x, k, 2, 1))
        close(K.eval(K.tri(3, 4, k, dtype="int8")), np.tri(3, 4, k, "int8"))
    n = K.placeholder((), dtype="int64")
    close(K.function([n], K.tri(n))([3]), np.tri(3, dtype="float32"))


def test_orders():
    x = value((3, 4), "float64")
    for axis in (0, -1, None):
        close(run(lambda t, a=axis: K.sort(t, a), x), np.sort(x, axis))
        close(run(lambda t, a=axis: K.argsort(t, a), x), np.argsort(x, axis))
    values, indices = run(lambda t: K.top_k(t, 2, 0), x)
    close(values, -np.sort(-x, 0)[:2])
    close(np.take_along_axis(x, indices, 0), values)
    order = np.argsort(x, 1)
    close(run(lambda t, i: K.take_along_axis(t, i, 1), x, order), np.sort(x, 1))
    close(K.function([v := K.placeholder(ndim=2)], K.flatnonzero(v))([np.eye(2)]), np.array([0, 3]))


def test_products_and_decompositions():
    a, b = value((2, 3, 4), "float64"), value((4, 3, 5), "float64")
    close(
        run(lambda x, y: K.tensordot(x, y, ((1, 2), (1, 0))), a, b),
        np.tensordot(a, b, ((1, 2), (1, 0))),
    )
    close(run(K.outer, a[0], b[0, 0]), np.outer(a[0], b[0, 0]))
    m = value((2, 3, 3), "float64")
    spd = m @ np.swapaxes(m, 1, 2) + np.eye(3)
    close(run(K.cholesky, spd), np.linalg.cholesky(spd))
    close(run(K.pinv, m[:, :, :2]), np.linalg.pinv(m[:, :, :2]))
    for got, want in zip(run(K.qr, m), np.linalg.qr(m)):
        close(got, want)
    close(run(K.eigh, spd)[0], np.linalg.eigh(spd)[0])
    with pytest.raises(CKernelsError, match="square"):
        K.cholesky(K.zeros((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="ositive definite"):
        run(K.cholesky, -spd)


def test_draws():
    K.set_random_seed(1)
    f = K.function([], K.permutation(50))
    one, two = f([]), f([])
    assert sorted(one.tolist()) == list(range(50)) and (one != two).any()
    p = np.array([1.0, 0.0, 3.0])
    drawn = K.function([], K.categorical(np.broadcast_to(p, (8000, 3))))([])
    assert set(drawn) == {0, 2} and abs(np.mean(drawn == 2) - 0.75) < 0.03
    counts = K.eval(K.multinomial(p / 4, n=1000))
    assert counts.dtype == np.int64 and counts.sum() == 1000 and counts[1] == 0


def test_gradients_on_their_way():
    x = K.placeholder((), dtype="float64")
    for build, want in (
        (lambda t: K.grad_clip(t, -1, 1), 1.0),
        (K.zero_grad, 0.0),
        (lambda t: K.grad_scale(t, 0.5), 3.0),
    ):
        y = build(x)
        assert K.function([x], [y, K.grad(y**2, x)])([3.0]) == [3.0, want]


@pytest.mark.parametrize("mode", ["reference", "fast_compile"])
def test_check(mode):
    x, v = K.placeholder((None,)), K.variable(0.0)
    y = K.check(x, x > 0, K.all(x < 5), message="x out of range")
    f = K.function([x], y * 2, updates=[(v, v + 1)], mode=mode)
    close(f([[1.0, 2.0]]), np.array([2.0, 4.0], "float32"))
    for bad in ([-1.0], [6.0]):
        with pytest.raises(AssertionError, match="x out of range"):
            f([bad])
    assert K.get_value(v) == 1


def test_the_guide_lists_every_name_beyond_keras():
    page = (ROOT / "docs/guide/functions.md").read_text()
    keras = {t.partition("(")[0] for t in DOCUMENTED} | {"Tensor", "Variable"}
    assert [n for n in K.__all__ if n not in keras and f"`{n}`" not in page] == []
