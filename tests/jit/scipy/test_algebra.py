"""scipy.special's functions of arrays and scipy.linalg in a trace: SciPy's values, and slopes."""

import numpy as np
import pytest

import ckernels as ck

linalg = pytest.importorskip("scipy.linalg")
special = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(3)
X = RNG.uniform(0.2, 0.9, size=(4, 3))
M = X.T @ X + np.eye(3)
U = RNG.normal(size=(3, 3)) + 3 * np.eye(3)

OF_ROWS = {
    "logsumexp": lambda x: special.logsumexp(x),
    "logsumexp of columns": lambda x: special.logsumexp(x, axis=0, keepdims=True),
    "logsumexp weighted": lambda x: special.logsumexp(x, axis=1, b=x),
    "softmax": lambda x: special.softmax(x, axis=1),
    "softmax of all": lambda x: special.softmax(x),
    "log_softmax": lambda x: special.log_softmax(x, axis=-1),
    "beside infinities": lambda x: special.logsumexp(np.where(x > 0.4, x, -np.inf), axis=1),
    "huber": lambda x: special.huber(0.4, x), "cbrt": lambda x: special.cbrt(x),
    "exp2": lambda x: special.exp2(x), "norm": lambda x: linalg.norm(x),
    "norm of rows": lambda x: linalg.norm(x, axis=1), "norm 1": lambda x: linalg.norm(x, 1),
    "toeplitz": lambda x: linalg.toeplitz(x[:, 0], x[0]), "hermitian": lambda x: (
        linalg.toeplitz(x[0])),
    "block_diag": lambda x: linalg.block_diag(x, 2 * x, x[0]),
    "svdvals": lambda x: linalg.svdvals(x),
    "svd": lambda x: np.abs(linalg.svd(x, full_matrices=False)[2]),
    "qr": lambda x: np.abs(linalg.qr(x, mode="economic")[1]),
    "qr full": lambda x: np.abs(linalg.qr(x)[1]),
}  # fmt: skip
OF_MATRICES = {
    "solve": lambda a: linalg.solve(a, X[0]), "solve several": lambda a: linalg.solve(a, X.T),
    "solve transposed": lambda a: linalg.solve(U + a, X[0], transposed=True),
    "inv": lambda a: linalg.inv(a), "det": lambda a: linalg.det(a),
    "cholesky": lambda a: linalg.cholesky(a + a.T, lower=True),
    "cholesky upper": lambda a: linalg.cholesky(a + a.T),
    "cholesky of a triangle": lambda a: linalg.cholesky(a + np.tril(U, -1)),
    "cho_solve": lambda a: linalg.cho_solve(linalg.cho_factor(a + a.T), X[0]),
    "cho_solve lower": lambda a: linalg.cho_solve(linalg.cho_factor(a + a.T, lower=True), X.T),
    "cho_factor": lambda a: linalg.cho_factor(a + np.tril(U, -1))[0],
    "triangular": lambda a: linalg.solve_triangular(a, X[0]),
    "triangular lower": lambda a: linalg.solve_triangular(a, X.T, lower=True),
    "triangular turned": lambda a: linalg.solve_triangular(a, X[0], trans=1, lower=True),
    "triangular T": lambda a: linalg.solve_triangular(a, X[0], "T", unit_diagonal=True),
    "expm": lambda a: linalg.expm(a), "eigvalsh": lambda a: linalg.eigvalsh(a),
    "eigh": lambda a: np.abs(linalg.eigh(a)[1]),
    "eigh values": lambda a: linalg.eigh(a, eigvals_only=True),
}  # fmt: skip


def check(f, x, slopes=True):
    for dtype, tolerance in (("float64", 1e-11), ("float32", 3e-4)):
        given = x.astype(dtype)
        want, found = f(given.copy()), ck.jit(f, strict=True)(given)
        assert np.shape(found) == np.shape(want)
        assert np.asarray(found).dtype == np.asarray(want).dtype or np.ndim(want) == 0
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)
    if slopes:
        weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
        cost = lambda x: np.sum(f(x) * weights)  # noqa: E731
        want = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[at] = 1e-6
            want[at] = (cost(x + step) - cost(x - step)) / 2e-6
        np.testing.assert_allclose(ck.jit.grad(cost)(x), want, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", OF_ROWS)
def test_functions_of_arrays(name):
    check(OF_ROWS[name], X, name not in ("beside infinities", "qr full"))


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_functions_of_matrices(name):
    check(OF_MATRICES[name], M, "of a triangle" not in name and name != "cho_factor")


def test_what_an_infinite_number_is():
    """An error of SciPy's, but where it is told not to look."""
    bad = M.copy()
    bad[0, 0] = np.inf
    solve = ck.jit(lambda a: linalg.solve(a, X[0]))
    np.testing.assert_allclose(solve(M), np.linalg.solve(M, X[0]))
    with pytest.raises(ValueError, match="infs or NaNs"):
        solve(bad)
    with pytest.raises(np.linalg.LinAlgError):
        ck.jit(lambda a: linalg.cholesky(a))(-M)
    unasked = ck.jit(lambda a: linalg.det(a, check_finite=False), strict=True)
    np.testing.assert_allclose(unasked(M), np.linalg.det(M))


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_what_is_not_served_is_scipys():
    for f in (lambda a: linalg.solve(a, X[0], assume_a="pos"), lambda a: linalg.lu(a)[2],
              lambda a: linalg.qr(a, pivoting=True)[1], lambda a: linalg.eigh(a, U @ U.T)[0],
              lambda a: special.logsumexp(a, return_sign=True)[0]):  # fmt: skip
        jitted = ck.jit(f)
        np.testing.assert_array_equal(jitted(M), f(M))
        assert jitted.report()
    complex_row = X[0] + 1j * X[1]
    np.testing.assert_array_equal(ck.jit(lambda c: linalg.toeplitz(c), strict=True)(complex_row),
                                  linalg.toeplitz(complex_row))  # fmt: skip
    integers = np.array([[4, 1], [1, 3]])
    np.testing.assert_allclose(ck.jit(lambda a: linalg.inv(a), strict=True)(integers),
                               np.linalg.inv(integers))  # fmt: skip


SHAPES = [((5, 3), (5,)), ((5, 3), (5, 2)), ((3, 3), (3,)), ((2, 4), (2,)), ((2, 4), (2, 3)),
          ((30, 12), (30,))]  # fmt: skip


@pytest.mark.parametrize("shape, right", SHAPES)
def test_least_squares(shape, right):
    a, b = RNG.normal(size=shape), RNG.normal(size=right)
    for rcond in (None, -1, 1e-3):
        f = lambda a, b, r=rcond: np.linalg.lstsq(a, b, rcond=r)  # noqa: E731
        for dtype, tolerance in (("float64", 1e-10), ("float32", 2e-3)):
            found = ck.jit(f, strict=True)(a.astype(dtype), b.astype(dtype))
            for x, y in zip(found, f(a.astype(dtype), b.astype(dtype))):
                assert x.dtype == y.dtype and x.shape == y.shape
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    check(lambda a: np.linalg.lstsq(a, b.astype(a.dtype))[0], a)


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_least_squares_without_full_rank_are_numpys():
    a = np.outer(np.arange(1.0, 6), np.arange(1.0, 4))
    jitted = ck.jit(lambda a, b: np.linalg.lstsq(a, b))
    for x, y in zip(jitted(a, np.arange(5.0)), np.linalg.lstsq(a, np.arange(5.0))):
        np.testing.assert_array_equal(x, y)
    full = a + np.eye(5, 3)
    np.testing.assert_allclose(jitted(full, np.arange(5.0))[0],
                               np.linalg.lstsq(full, np.arange(5.0))[0])  # fmt: skip
    for x, y in zip(jitted(np.zeros((0, 2)), np.zeros(0)), np.linalg.lstsq(np.zeros((0, 2)), [])):
        np.testing.assert_array_equal(x, y)
