"""theano.tensor.nlinalg and slinalg: every option means what it says, by NumPy and SciPy."""

import pickle

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor import blas, nlinalg, slinalg
from ckernels.compat.theano.tensor.extra_ops import Unique

RNG = np.random.RandomState(3)
X = T.dmatrix("x")


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_full_and_reduced_svd(shape):
    a = RNG.randn(*shape)
    for full in (True, False):
        u, s, v = theano.function([X], nlinalg.svd(X, full_matrices=full))(a)
        expected = np.linalg.svd(a, full_matrices=full)
        assert [p.shape for p in (u, s, v)] == [p.shape for p in expected]
        np.testing.assert_allclose(s, expected[1])
        np.testing.assert_allclose((u[:, : len(s)] * s) @ v[: len(s)], a)
    s = nlinalg.SVD(compute_uv=False)(X)
    assert s.ndim == 1
    np.testing.assert_allclose(theano.function([X], s)(a), expected[1])
    theano.gradient.verify_grad(lambda x: nlinalg.svd(x, compute_uv=False), [a], rng=RNG)


def test_cholesky_of_either_triangle():
    a = RNG.randn(3, 3)
    a = a @ a.T + np.eye(3)
    lower, upper = np.tril(a) + 7 * np.triu(np.ones((3, 3)), 1), np.triu(a)
    low = theano.function([X], slinalg.Cholesky(lower=True)(X))(lower)
    up = theano.function([X], slinalg.Cholesky(lower=False)(X))(upper)
    np.testing.assert_allclose(low, np.linalg.cholesky(a))
    np.testing.assert_allclose(up, np.linalg.cholesky(a).T)
    slope = theano.function([X], T.grad(T.sum(slinalg.cholesky(X)), X))(a)
    assert (np.triu(slope, 1) == 0).all()  # what is not read has no slope
    step = 1e-6 * np.tril(RNG.randn(3, 3))
    change = (
        np.linalg.cholesky(np.tril(a + step) + np.tril(a + step, -1).T)
        - np.linalg.cholesky(np.tril(a - step) + np.tril(a - step, -1).T)
    ).sum() / 2
    np.testing.assert_allclose((slope * step).sum(), change, rtol=1e-6)


def test_cholesky_may_give_nan():
    y = slinalg.Cholesky(on_error="nan")(X)
    f = theano.function([X], [y, T.grad(T.sum(y), X)])
    bad, slope = f(-np.eye(2))
    assert np.isnan(bad).all() and np.isnan(slope[np.tril_indices(2)]).all()
    good, slope = f(4 * np.eye(2))
    np.testing.assert_allclose(good, 2 * np.eye(2))
    assert np.isfinite(slope).all()
    with pytest.raises(np.linalg.LinAlgError):
        theano.function([X], slinalg.cholesky(X))(-np.eye(2))


@pytest.mark.parametrize("lower", [True, False])
def test_eigvalsh_reads_one_triangle(lower):
    linalg = pytest.importorskip("scipy.linalg")
    a, b = RNG.randn(3, 3), RNG.randn(3, 3) + 5 * np.eye(3)
    y = T.dmatrix("y")
    one = theano.function([X], slinalg.eigvalsh(X, None, lower))
    two = theano.function([X, y], slinalg.eigvalsh(X, y, lower))
    np.testing.assert_allclose(one(a), linalg.eigvalsh(a, lower=lower))
    np.testing.assert_allclose(two(a, b), linalg.eigvalsh(a, b, lower=lower))
    theano.gradient.verify_grad(lambda x, y: slinalg.eigvalsh(x, y, lower), [a, b], rng=RNG)


def test_eig_expm_and_least_squares():
    linalg = pytest.importorskip("scipy.linalg")
    a = RNG.randn(3, 3)
    a = a + a.T
    w, v = theano.function([X], nlinalg.eig(X))(a)
    assert w.dtype == v.dtype == "float64"
    np.testing.assert_allclose(a @ v, v * w, atol=1e-12)
    np.testing.assert_allclose(theano.function([X], slinalg.expm(X))(a), linalg.expm(a))
    for m, n, y in (
        (5, 3, T.dmatrix("y")),
        (3, 3, T.dvector("y")),
        (2, 4, T.dvector("y")),
        (5, 2, T.dvector("y")),
    ):
        b = RNG.randn(*((m, 2) if y.ndim == 2 else (m,)))
        a = RNG.randn(m, n)
        got = theano.function([X, y], nlinalg.lstsq()(X, y, -1))(a, b)
        for ours, theirs in zip(got, np.linalg.lstsq(a, b, rcond=-1)):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
            assert ours.shape == np.shape(theirs)


def test_least_squares_with_a_precision_that_is_an_input():
    x, y, rcond = T.dmatrix(), T.lmatrix(), T.dscalar()
    f = theano.function([x, y, rcond], nlinalg.lstsq()(x, y, rcond))
    a, b = np.diag([1.0, 1e-3, 1e-9]), np.arange(6).reshape(3, 2)
    for limit in (1e-2, 1e-5, -1.0):
        expected = np.linalg.lstsq(a, b, None if limit < 0 else limit)
        for ours, theirs in zip(f(a, b, limit), expected):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
            assert ours.shape == np.shape(theirs)
    v = T.dvector()
    for limit in (T.dscalar(), T.dvector()):
        f = theano.function([v, limit], nlinalg.lstsq()(v, v, limit))
        with pytest.raises(np.linalg.LinAlgError):
            f([1, 2], np.ones((2,) * limit.ndim))
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(nlinalg.lstsq()(x, y, rcond)[0].sum(), x)


def test_searchsorted():
    x, v = T.dvector("x"), T.dmatrix("v")
    for side in ("left", "right"):
        f = theano.function([x, v], T.searchsorted(x, v, side))
        values = np.array([[0, 1.0], [2, 9]])
        np.testing.assert_array_equal(
            f([1, 2, 2, 3], values), np.searchsorted([1, 2, 2, 3], values, side)
        )


def test_unique_along_an_axis():
    a = np.array([[1, 0, 1], [1, 0, 1], [0, 5, 0]], "float64")
    for axis in (None, 0, 1, -1):
        got = theano.function([X], Unique(True, True, True, axis=axis)(X))(a)
        expected = np.unique(a, True, True, True, axis=axis)
        for ours, theirs in zip(got, expected):
            np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))
    got = theano.function([X], Unique(axis=0)(X))(a)
    np.testing.assert_array_equal(got, np.unique(a, axis=0))
    with pytest.raises(RuntimeError, match="no axis 2 in a tensor of ndim 2"):
        Unique(axis=2)(X)


@pytest.mark.parametrize(
    "op",
    [
        slinalg.Cholesky(False, "nan"),
        slinalg.Eigvalsh(False),
        slinalg.Solve("lower_triangular", True),
        nlinalg.SVD(False, True),
        Unique(axis=0),
        slinalg.expm,
        nlinalg.eig,
    ],
    ids=str,
)
def test_ops_pickle_and_are_applied_again(op):
    assert pickle.loads(pickle.dumps(op)) == op
    x, many = T.dmatrix("x"), 2 if isinstance(op, slinalg.Solve) else 1
    found = op(*[x * 1] * many)
    found = found[0] if isinstance(found, list) else found
    other = theano.clone(found, replace={x: x + 2})
    a = np.array([[3.0, 1], [1, 4]])
    np.testing.assert_allclose(other.eval({x: a - 2}), found.eval({x: a}))
    if isinstance(op, (slinalg.Cholesky, slinalg.Eigvalsh, slinalg.Solve)):
        assert isinstance(op.lower, bool)


@pytest.mark.parametrize("mode", ["reduced", "r", "complete", "raw"])
def test_all_modes_of_qr(mode):
    a = RNG.randn(4, 3)
    got = theano.function([X], nlinalg.qr(X, mode))(a)
    expected = np.linalg.qr(a, mode)
    for ours, theirs in zip(*[[v] if isinstance(v, np.ndarray) else v for v in (got, expected)]):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    with pytest.raises(ValueError, match="modes"):
        nlinalg.qr(X, "none")


def test_kronecker_products():
    x, y, z = T.dvector(), T.dmatrix(), T.dtensor3()
    a, b, c = RNG.randn(2), RNG.randn(3, 4), RNG.randn(2, 3, 2)
    d = RNG.randn(2, 3)
    w = T.dmatrix()
    np.testing.assert_allclose(slinalg.kron(y, w).eval({y: b, w: d}), np.kron(b, d))
    np.testing.assert_allclose(slinalg.kron(x, y).eval({x: a, y: b}), np.kron(a[None], b).ravel())
    flat = np.multiply.outer(b, a).transpose(1, 0, 2).ravel()
    np.testing.assert_allclose(slinalg.kron(y, x).eval({x: a, y: b}), flat)
    blocks = np.multiply.outer(b, c).swapaxes(1, 2).reshape(6, 12, 2)
    np.testing.assert_allclose(slinalg.kron(y, z).eval({y: b, z: c}), blocks)
    with pytest.raises(TypeError, match="at least 3"):
        slinalg.kron(x, x)


@pytest.mark.parametrize("lower", [True, False])
def test_the_gradient_of_cholesky_is_nan_everywhere_without_a_factor(lower):
    x = T.dmatrix("x")
    f = theano.function([x], T.grad(slinalg.Cholesky(lower, on_error="nan")(x).sum(), x))
    plain = theano.function([x], T.grad(slinalg.Cholesky(lower)(x).sum(), x))
    good, bad = np.array([[2.0, 0.3], [0.3, 1.5]]), np.array([[1, 0.2], [0.2, -2]])
    assert np.isnan(f(bad)).all()
    np.testing.assert_allclose(f(good), plain(good), rtol=1e-12)


def test_the_ops_by_theano_s_names():
    """Classes of ops, also those that older programs import from sandbox.linalg.ops."""
    from ckernels.compat.theano.sandbox.linalg import ops as old
    from ckernels.compat.theano.tensor import extra_ops, nlinalg, nnet, slinalg

    a, v, i = T.dmatrix("a"), T.dvector("v"), T.lvector("i")
    matrix, labels = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.array([2, 0, 1])
    values = {a: matrix, v: np.arange(3.0), i: labels}
    rows = np.exp(matrix) / np.exp(matrix).sum(1, keepdims=True)
    wanted = {
        nlinalg.Eigh()(a)[0]: np.linalg.eigvalsh(matrix),
        nlinalg.Eigh("U")(a)[0]: np.linalg.eigvalsh(matrix),
        nlinalg.ExtractDiag(view=True)(a): [4, 3, 2],
        nlinalg.AllocDiag()(v): np.diag([0, 1, 2]),
        nlinalg.TensorInv(1)(a): np.linalg.inv(matrix),
        nlinalg.TensorSolve()(a, v): np.linalg.solve(matrix, [0, 1, 2]),
        old.Cholesky()(a): np.linalg.cholesky(matrix),
        old.Solve()(a, v): np.linalg.solve(matrix, [0, 1, 2]),
        old.psd(a): matrix,
        old.spectral_radius_bound(a, 3): np.trace(np.linalg.matrix_power(matrix, 8)) ** 0.125,
        extra_ops.FillDiagonalOffset()(a, 7.0, -1): matrix + np.diag([6.0, 6], -1),
        extra_ops.UnravelIndex()(i, (3, 1))[0]: labels,
        extra_ops.RavelMultiIndex("wrap")(i, i, (2, 3)): (labels % 2) * 3 + labels,
        extra_ops.cpu_contiguous(a.T): matrix.T,
        nnet.CrossentropyCategorical1Hot()(nnet.softmax(a), i): -np.log(rows[[0, 1, 2], labels]),
    }
    for found, want in wanted.items():
        inputs = [x for x in theano.gof.graph.inputs([found]) if x in values]
        given = [values[x] for x in inputs]
        np.testing.assert_allclose(theano.function(inputs, found)(*given), want, atol=1e-12)
    assert old.Cholesky is slinalg.Cholesky and nlinalg.Eigh("U") == nlinalg.Eigh("U")
    assert pickle.loads(pickle.dumps(nlinalg.Eigh("U"))) == nlinalg.Eigh("U") != nlinalg.Eigh()
    assert nlinalg.ExtractDiag() == nlinalg.ExtractDiag(True)
    with pytest.raises(ValueError, match="above 0"):
        old.spectral_radius_bound(a, 0)
    for build in (lambda: nlinalg.AllocDiag()(a), lambda: nlinalg.ExtractDiag()(v)):
        with pytest.raises(TypeError):
            build()


def _operands(dtype):
    shapes = (3, 4), (), (3, 5), (5, 4), (), (3,), (5,)
    parts = [np.array(RNG.randn(*s)) for s in shapes]
    if dtype.startswith("complex"):
        parts = [p + 1j * RNG.randn(*p.shape) for p in parts]
    return [np.asarray(p, dtype) for p in parts]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_products_by_their_names_in_blas(dtype):
    z, a, x, y, b, left, right = _operands(dtype)
    wide = x.T.copy()
    cases = [
        ((blas.gemm, blas.gemm_inplace), (z, a, x, y, b), b * z + a * (x @ y)),
        ((blas.gemv, blas.gemv_inplace), (left, a, x, right, b), b * left + a * (x @ right)),
        ((blas.ger, blas.ger_destructive), (wide, a, right, left),
         wide + a * np.outer(right, left)),
        ((blas._dot22, blas.Dot22()), (x, y), x @ y),
        ((blas._dot22scalar,), (x, y, a), a * (x @ y)),
        ((blas.gemm,), (z, a, x[:, :0], y[:0], b), b * z),
    ]  # fmt: skip
    for forms, values, want in cases:
        given = [T.TensorType(dtype, (False,) * v.ndim)() for v in values]
        for op in forms:
            op = pickle.loads(pickle.dumps(op))
            found = theano.function(given, op(*given))(*values)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, want, rtol=1e-4 if dtype == "float32" else 1e-12)
    if dtype == "float64":
        theano.gradient.verify_grad(lambda *v: blas.gemm(*v), [z, a, x, y, b], rng=RNG)
        theano.gradient.verify_grad(lambda *v: blas.ger(*v), [wide, a, right, left], rng=RNG)


def test_what_products_of_blas_refuse():
    v, n = T.dvector(), T.dscalar()
    for build in (lambda: blas.gemm(v, n, X, X, n), lambda: blas.gemm(X, n, X, X),
                  lambda: blas.gemv(v, n, X, T.fvector(), n), lambda: blas.ger(X, v, v, v),
                  lambda: blas.Dot22()(T.lmatrix(), T.lmatrix())):  # fmt: skip
        with pytest.raises(TypeError):
            build()
