"""Schur forms, QZ, eigenvalues of any matrix, exchanged columns and systems of three diagonals of
PyTensor: without its Python ops, with their values."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pt = pytest.importorskip("pytensor.tensor")
import ckernels.pytensor as bridge  # noqa: E402

tridiagonal = pytest.importorskip(
    "pytensor.tensor.linalg.solvers.tridiagonal",
    reason="PyTensor before 3.3",
    exc_type=ImportError,
)
from test_pytensor_linalg import checked, place  # noqa: E402

L = pt.linalg
RNG = np.random.default_rng(8)
SORTS = [None, "lhp", "rhp", "iuc", "ouc"]


def listed(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("sort", SORTS)
def test_schur_forms(sort, output, batch):
    values = [RNG.normal(size=(3, 6, 6)[1 - batch :])]
    places = [place(values[0][0] if batch else values[0], batch, "float64")]
    t, z = checked(places, L.schur(*places, output=output, sort=sort), values, 1e-10)
    back = z @ t @ np.swapaxes(z.conj(), -1, -2)
    np.testing.assert_allclose(back, values[0], atol=1e-12)
    assert not np.tril(t, -1 if output == "complex" else -2).any()


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("sort", SORTS)
def test_forms_of_two_matrices(sort, output, batch):
    a, b = RNG.normal(size=(2, 3, 5, 5)) if batch else RNG.normal(size=(2, 5, 5))
    places = [place(np.zeros((5, 5)), batch, "float64") for _ in range(2)]
    outs = L.qz(*places, output=output, sort=sort, return_eigenvalues=True)
    s, t, _, _, q, z = checked(places, outs, [a, b], 1e-10)
    right = np.swapaxes(z.conj(), -1, -2)
    np.testing.assert_allclose(q @ s @ right, a, atol=1e-12)
    np.testing.assert_allclose(q @ t @ right, b, atol=1e-12)
    checked(places, L.qz(*places, output=output, sort=sort), [a, b], 1e-10)


@pytest.mark.parametrize("sort", ["iuc", "ouc", "lhp"])
def test_infinite_eigenvalues(sort):
    a, b = RNG.normal(size=(2, 4, 4))
    b[:, 0] = 0
    places = [pt.dmatrix("a"), pt.dmatrix("b")]
    checked(places, L.qz(*places, sort=sort, return_eigenvalues=True), [np.triu(a), b * 1.0], 1e-8)


def test_no_form_of_what_is_not_finite():
    a = pt.dmatrix("a")
    f = pytensor.function([a], L.schur(a), mode="CKERNELS")
    for found in f(np.array([[1.0, np.nan], [0.0, 1.0]])):
        assert np.isnan(found).all() and found.shape == (2, 2)
    assert [x.shape for x in f(np.zeros((0, 0)))] == [(0, 0)] * 2


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7)])
@pytest.mark.parametrize("mode", ["full", "economic", "r", "raw"])
def test_qr_with_exchanged_columns(mode, shape, batch):
    if mode == "raw" and batch:
        pytest.skip("PyTensor's signature of it does not hold for a batch")
    x = RNG.normal(size=((4,) * batch) + shape)
    places = [place(np.zeros(shape), batch, "float64")]
    *factors, order = checked(places, L.qr(*places, mode=mode, pivoting=True), [x], 1e-10)
    if mode in ("full", "economic"):
        moved = np.take_along_axis(x, order[..., None, :].astype(int), -1)
        np.testing.assert_allclose(factors[0] @ factors[1], moved, atol=1e-12)
    if mode == "raw":
        checked(places, L.qr(*places, mode=mode), [x], 1e-10)


@pytest.mark.parametrize("batch", [0, 1])
def test_eigenvalues_of_any_matrix(batch):
    x = RNG.normal(size=((3,) * batch) + (4, 4))
    places = [place(np.zeros((4, 4)), batch, "float64")]
    w, v = checked(places, L.eig(*places), [x], 1e-10)
    np.testing.assert_allclose(x @ v, w[..., None, :] * v, atol=1e-12)


@pytest.mark.parametrize("of", [L.schur, L.eig, lambda a: L.qr(a, pivoting=True)])
def test_in_single_precision_and_of_integers(of):
    x = RNG.normal(size=(4, 4))
    a, i = pt.fmatrix("a"), pt.lmatrix("i")
    checked([a], listed(of(a)), [x.astype("float32")], 2e-3)
    if of is not L.eig:
        checked([i], listed(of(i)), [np.rint(9 * x).astype("int64")], 1e-9)


# --- three diagonals ----------------------------------------------------------------------------


def banded(*shape):
    return np.triu(np.tril(RNG.normal(size=shape), 1), -1)


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("right", [1, 2])
@pytest.mark.parametrize("n", [3, 4, 30])
def test_factors_of_three_diagonals(n, right, transposed, batch):
    """Random numbers: about half of the rows are exchanged."""
    a, b = banded(*(2,) * batch, n, n), RNG.normal(size=(2,) * batch + (n, 3)[:right])
    places = [pt.tensor(shape=(None,) * x.ndim, dtype="float64") for x in (a, b)]
    found = tridiagonal.tridiagonal_lu_factor(places[0])
    x = tridiagonal.tridiagonal_lu_solve(found, places[1], b_ndim=right, transposed=transposed)
    *_, pivots, x = checked(places, [*found, x], [a, b], 1e-9)
    assert n < 30 or (pivots != np.arange(1, n + 1)).any()
    matrix = np.swapaxes(a, -1, -2) if transposed else a
    back = matrix @ (x if right == 2 else x[..., None])
    np.testing.assert_allclose(back.reshape(b.shape), b, atol=1e-9)


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("right", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_systems_of_three_diagonals_and_their_gradients(n, right, batch):
    """LAPACK's wrapper in SciPy takes three rows or more, so NumPy's solution is the other side."""
    a, b = banded(*(3,) * batch, n, n), RNG.normal(size=(3,) * batch + (n, 2)[:right])
    places = [pt.tensor(shape=(None,) * x.ndim, dtype="float64") for x in (a, b)]
    x = L.solve(*places, assume_a="tridiagonal", b_ndim=right)
    y = L.solve(*places, b_ndim=right)
    outs = [[z, *pytensor.grad((pt.sin(z) * z).sum(), places)] for z in (x, y)]
    ours, theirs = (pytensor.function(places, o, mode="CKERNELS") for o in outs)
    assert bridge.report(ours) == []
    found, wanted = ours(a, b), theirs(a, b)
    kept = np.triu(np.tril(np.ones((n, n)), 1), -1)
    for got, want in zip(found, [wanted[0], wanted[1] * kept, wanted[2]], strict=True):
        got = got * kept if got.shape == a.shape and want is not wanted[0] else got
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


def test_only_the_diagonals_are_read_and_singular_is_nan():
    a, b = pt.dtensor3("a"), pt.dmatrix("b")
    given = np.full((2, 4, 4), np.nan)
    kept = np.triu(np.tril(np.ones((4, 4), bool), 1), -1)
    given[:, kept] = banded(2, 4, 4)[:, kept]
    given[1, 0, :2] = 0
    x = L.solve(a, b, assume_a="tridiagonal", b_ndim=1)
    f = pytensor.function([a, b], x, mode="CKERNELS")
    found = f(given, np.ones((2, 4)))
    np.testing.assert_allclose(np.where(kept, given[0], 0) @ found[0], 1, rtol=1e-10)
    assert np.isnan(found[1]).all()
