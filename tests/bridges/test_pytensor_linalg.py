"""Linear algebra of PyTensor: without Python calls, with the values of PyTensor's Python mode."""

import numpy as np
import pytest
import scipy.linalg

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pt = pytest.importorskip("pytensor.tensor")
import ckernels.pytensor as bridge  # noqa: E402

pytest.importorskip(
    "pytensor.tensor.linalg.decomposition", reason="PyTensor before 3.3", exc_type=ImportError
)
L = pt.linalg
RNG = np.random.default_rng(5)


def square(n=5):
    return RNG.normal(size=(n, n))


def positive(n=5):
    a = square(n)
    return a @ a.T + n * np.eye(n)


def tall():
    return RNG.normal(size=(6, 3))


# name: (function, [values]); "values": PyTensor has no gradient
CASES = {
    "inv": (L.inv, [square()]),
    "det": (L.det, [square()]),
    "slogdet": (lambda a: L.slogdet(a)[1], [square()]),
    "sign": (lambda a: L.slogdet(a)[0], [square()], "values"),
    "pinv": (L.pinv, [tall()]),
    "svd": (lambda a: L.svd(a, full_matrices=False), [square()]),
    "svd_full": (lambda a: L.svd(a), [tall()], "values"),
    "svdvals": (lambda a: L.svd(a, compute_uv=False), [tall()]),
    "nuclear": (lambda a: L.norm(a, "nuc"), [tall()]),
    "expm": (lambda a: L.expm(a / 2), [square()]),
    "qr": (L.qr, [square()], "values"),
    "qr wide": (L.qr, [tall().T], "values"),
    "qr tall": (L.qr, [tall()], "values"),
    "qr economic": (lambda a: L.qr(a, mode="economic"), [tall()], "values"),
    "qr r": (lambda a: L.qr(a, mode="r"), [tall()], "values"),
    "sylvester": (L.solve_sylvester, [square(), square(3), RNG.normal(size=(5, 3))]),
    "lyapunov": (L.solve_continuous_lyapunov, [square(), positive()]),
    "discrete lyapunov": (L.solve_discrete_lyapunov, [square() / 9, positive()]),
    "direct lyapunov": (
        lambda a, q: L.solve_discrete_lyapunov(a, q, method="direct"),
        [square(3) / 9, positive(3)],
    ),
    "eigvalsh": (L.eigvalsh, [positive()]),
    "eigvalsh upper": (lambda a: L.eigvalsh(a, lower=False), [square()]),
    "eigvalsh of two": (lambda a, b: L.eigvalsh(a, b), [square(), positive()], "values"),
    "eigvalsh of two, upper": (
        lambda a, b: L.eigvalsh(a, b, lower=False),
        [square(), positive()],
        "values",
    ),
    "lu": (L.lu, [square()]),
    "lu indices": (lambda a: L.lu(a, p_indices=True), [square()]),
    "lu permuted": (lambda a: L.lu(a, permute_l=True), [square()]),
    "lu_factor": (lambda a: L.lu_factor(a)[0], [square()]),
    "solve": (lambda a, b: L.solve(a, b, b_ndim=1), [square(), RNG.normal(size=5)]),
    "solve matrix": (lambda a, b: L.solve(a, b, b_ndim=2), [square(), RNG.normal(size=(5, 2))]),
    "solve transposed": (
        lambda a, b: L.solve(a, b, b_ndim=2, transposed=True),
        [square(), RNG.normal(size=(5, 2))],
    ),
    "solve symmetric": (
        lambda a, b: L.solve(a, b, b_ndim=1, assume_a="sym", lower=True),
        [positive(), RNG.normal(size=5)],
    ),
    "solve symmetric upper": (
        lambda a, b: L.solve(a, b, b_ndim=2, assume_a="sym"),
        [positive(), RNG.normal(size=(5, 2))],
    ),
    "solve positive": (
        lambda a, b: L.solve(a, b, b_ndim=2, assume_a="pos"),
        [positive(), RNG.normal(size=(5, 2))],
    ),
}


def place(value, batch, dtype):
    return pt.tensor(shape=(None,) * (value.ndim + batch), dtype=dtype)


def outputs_of(name, places):
    found = CASES[name][0](*places)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def checked(places, outs, values, rtol):
    """Both modes' results, compared; no call of Python is left."""
    ours = pytensor.function(places, outs, mode="CKERNELS")
    theirs = pytensor.function(
        places, outs, mode=pytensor.compile.mode.Mode(linker="py", optimizer=None)
    )
    found, wanted = ours(*values), theirs(*values)
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max(initial=0))
    assert bridge.report(ours) == []
    return found


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, batch):
    values = CASES[name][1]
    places = [place(v, batch, "float64") for v in values]
    given = [np.stack([v, 1.25 * v, 0.5 * v]) if batch else v for v in values]
    outs = outputs_of(name, places)
    checked(places, outs, given, 1e-10)
    if len(CASES[name]) == 2:
        floats = [o for o in outs if o.type.dtype == "float64"]
        cost = sum((pt.sin(o) * 0.5 + o**2).sum() for o in floats)
        checked(places, pytensor.grad(cost, places), given, 1e-9)


@pytest.mark.parametrize("mode", ["full", "economic", "r"])
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7)])
def test_gradients_of_qr_of_known_sizes(mode, shape):
    if mode == "full" and shape[0] > shape[1]:
        pytest.skip("PyTensor has none")
    a = pt.tensor(shape=shape)
    found = L.qr(a, mode=mode)
    cost = sum((pt.sin(o) * o).sum() for o in (found if isinstance(found, list) else [found]))
    checked([a], [cost, pytensor.grad(cost, a)], [RNG.normal(size=shape)], 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_float32(name):
    values = [v.astype("float32") for v in CASES[name][1]]
    places = [place(v, 0, "float32") for v in values]
    checked(places, outputs_of(name, places), values, 2e-3)


@pytest.mark.parametrize("name", ["inv", "det", "solve", "solve matrix", "lu_factor"])
def test_no_rows(name):
    values = [np.zeros((0,) * v.ndim) for v in CASES[name][1]]
    places = [place(v, 0, "float64") for v in values]
    checked(places, outputs_of(name, places), values, 0)
    batch = [np.zeros((0, *v.shape)) for v in CASES[name][1]]
    places = [place(v, 1, "float64") for v in CASES[name][1]]
    for got in pytensor.function(places, outputs_of(name, places), mode="CKERNELS")(*batch):
        assert got.shape[0] == 0


def test_without_a_solution():
    """NaN, of that element of a batch alone; factors of singular matrices are there."""
    a, b = pt.dtensor3("a"), pt.dmatrix("b")
    given = np.stack([square(3), np.diag([1.0, 0.0, 2.0]), np.ones((3, 3))])
    f = pytensor.function([a, b], L.solve(a, b, b_ndim=1), mode="CKERNELS")
    found = f(given, np.ones((3, 3)))
    np.testing.assert_allclose(given[0] @ found[0], 1, rtol=1e-10)
    assert np.isnan(found[1:]).all()
    large = np.zeros((2, 40, 40))
    large[0] = square(40)
    found = f(large, np.ones((2, 40)))
    np.testing.assert_allclose(large[0] @ found[0], 1, rtol=1e-8)
    assert np.isnan(found[1]).all()
    found = pytensor.function([a], [*L.lu(a), *L.slogdet(a), L.det(a)], mode="CKERNELS")(given)
    want = [np.stack(x) for x in zip(*[scipy.linalg.lu(m) for m in given])]
    want += [*np.linalg.slogdet(given), np.linalg.det(given)]
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lower", [False, True])
def test_of_a_symmetric_matrix_one_triangle_is_read(lower):
    a, b = pt.dmatrix("a"), pt.dvector("b")
    x = L.solve(a, b, b_ndim=1, assume_a="sym", lower=lower)
    given, right = positive() - 6 * np.eye(5), RNG.normal(size=5)
    kept = np.tri(5, dtype=bool) if lower else np.tri(5, dtype=bool).T
    (found,) = checked([a, b], [x], [np.where(kept, given, np.inf), right], 1e-10)
    np.testing.assert_allclose(given @ found, right, rtol=1e-9)


def test_integers_are_floats():
    i = pt.lmatrix("i")
    value = RNG.integers(-9, 9, (4, 4))
    checked([i], [L.inv(i), L.det(i), *L.lu(i), L.svd(i, compute_uv=False)], [value], 1e-10)


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvectors_of_one_matrix_by_another(lower, batch):
    """a @ v = w * b @ v, with v.T @ b @ v = 1; of each matrix one triangle is read."""
    values = [square(), positive()]
    given = [np.stack([v, v + np.eye(5)]) if batch else v for v in values]
    places = [place(v, batch, "float64") for v in values]
    kept = np.tri(5, dtype=bool) if lower else np.tri(5, dtype=bool).T
    f = pytensor.function(places, L.eigh(*places, lower=lower), mode="CKERNELS")
    w, v = f(*[np.where(kept, x, np.nan) for x in given])
    a, b = [np.where(kept, x, np.swapaxes(x, -1, -2)) for x in given]
    np.testing.assert_allclose(a @ v, w[..., None, :] * (b @ v), atol=1e-10)
    unit = np.broadcast_to(np.eye(5), v.shape)
    np.testing.assert_allclose(np.swapaxes(v, -1, -2) @ b @ v, unit, atol=1e-12)
    assert (np.diff(w) >= 0).all() and bridge.report(f) == []
    with pytest.raises(np.linalg.LinAlgError):
        f(a, -b)


def test_gradients_of_eigenvalues_of_one_matrix_by_another():
    a, b = pt.dmatrix("a"), pt.dmatrix("b")
    values = [positive(), positive() + np.diag(np.arange(5.0))]
    w, v = L.eigh(a, b)
    cost = (pt.sin(w) * w).sum() + (v**2).sum()
    checked([a, b], [cost, *pytensor.grad(cost, [a, b])], values, 1e-8)


@pytest.mark.parametrize("axes", [None, (0, 2)])
def test_tensors_of_equations(axes):
    a, b = pt.dtensor4("a"), pt.dmatrix("b")
    shape = (2, 3, 6, 1) if axes is None else (6, 2, 1, 3)
    given = RNG.normal(size=shape) + 0.0
    checked([a, b], [L.tensorsolve(a, b, axes)], [given, RNG.normal(size=(2, 3))], 1e-10)
