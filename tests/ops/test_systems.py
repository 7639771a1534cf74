"""Systems with structure, functions of matrices, Fourier transforms against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import ArgumentError, LinearAlgebraError, ShapeError
from ckernels.graph.node import constant
from ckernels.ops.reference import evaluate

from .agree import agree, leaf

RNG = np.random.default_rng(3)
TINY = {"float64": 1e-11, "float32": 2e-4}


def matrices(*shape, dtype="float64"):
    """Random matrices far from singular."""
    x = RNG.uniform(-0.5, 0.5, shape)
    return (x + 2 * np.eye(*shape[-2:])).astype(dtype)


@pytest.mark.parametrize("dtype", TINY)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(dtype, lower, trans, unit):
    for n in (1, 3, 70):
        a = matrices(n, n, dtype=dtype)
        a = a / np.sqrt(n) if unit else a
        for b in (RNG.normal(size=(n, 2)), RNG.normal(size=n)):
            b = b.astype(dtype)
            want = scipy.linalg.solve_triangular(a, b, int(trans), lower, unit)
            agree(
                lambda x, y: ops.solve_triangular(x, y, lower, trans, unit),
                want,
                a,
                b,
                rtol=10 * TINY[dtype],
            )


def test_solve_triangular_of_a_batch():
    a, b = matrices(2, 1, 3, 3), RNG.normal(size=(4, 3, 2))
    want = np.linalg.solve(np.tril(a), b)
    agree(lambda x, y: ops.solve_triangular(x, y, True), want, a, b, rtol=1e-11)
    want = np.linalg.solve(np.triu(a), b[0, :, 0][:, None])[..., 0]
    agree(ops.solve_triangular, want, a, b[0, :, 0], rtol=1e-11)
    agree(ops.solve_triangular, np.zeros((0, 3, 2)), a[:0, 0], b[:1], rtol=1e-11)


def test_solve_triangular_never_reads_the_other_triangle():
    a = matrices(3, 3)
    b = RNG.normal(size=(3, 2))
    dirty = np.where(np.tri(3, dtype=bool), a, np.nan)
    agree(
        lambda x, y: ops.solve_triangular(x, y, True),
        np.linalg.solve(np.tril(a), b),
        dirty,
        b,
        rtol=1e-11,
    )
    x = leaf((3, 3))
    g = reverse.grad(ops.sum(ops.solve_triangular(x, constant(b), True)), x)
    assert not np.triu(evaluate([g], {x: dirty})[0], 1).any()


def test_errors_of_solve_triangular():
    with pytest.raises(ShapeError, match=r"\(3, 3\) for a right side of shape \(4, 2\)"):
        ops.solve_triangular(np.eye(3), np.ones((4, 2)))
    with pytest.raises(ShapeError, match="square"):
        ops.solve_triangular(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ArgumentError, match="trans"):
        ops.solve_triangular(np.eye(3), np.ones(3), trans="C")
    a, b = leaf((None, None)), leaf((None, None))
    with pytest.raises(ShapeError, match="4 rows"):
        evaluate([ops.solve_triangular(a, b)], {a: np.eye(3), b: np.ones((4, 2))})
    with pytest.raises(LinearAlgebraError, match="ingular"):
        evaluate([ops.solve_triangular(a, b)], {a: np.zeros((3, 3)), b: np.ones((3, 2))})


def test_solve_with_structure():
    m, b = matrices(3, 3), RNG.normal(size=(3, 2))
    spd = m @ m.T
    for lower in (False, True):
        half = np.tril(spd) if lower else np.triu(spd)
        for kind in ("sym", "her", "pos", "symmetric"):
            agree(
                lambda x, y, k=kind: ops.solve_structured(x, y, k, lower),  # noqa: B023
                np.linalg.solve(spd, b),
                half,
                b,
                rtol=1e-11,
            )
        c = np.linalg.cholesky(spd)
        agree(
            lambda x, y: ops.cho_solve(x, y, lower),  # noqa: B023
            np.linalg.solve(spd, b),
            c if lower else c.T,
            b,
            rtol=1e-11,
        )
    agree(
        lambda x, y: ops.solve_structured(x, y, trans=True),
        np.linalg.solve(m.T, b),
        m,
        b,
        rtol=1e-11,
    )
    with pytest.raises(ArgumentError, match="assume_a"):
        ops.solve_structured(m, b, "banded")


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_lstsq(shape):
    a, b = RNG.normal(size=shape), RNG.normal(size=(shape[0], 2))
    x, _, rank, _ = np.linalg.lstsq(a, b, rcond=None)
    for right, found in ((b, x), (b[:, 0], x[:, 0])):
        left = np.square(a @ found - right).sum(0)
        agree(ops.lstsq, [found, left, np.array(rank, "int64")], a, right, rtol=1e-11)
    a[:, 0] = 0
    assert evaluate([ops.lstsq(a, b)[2]], {})[0] == np.linalg.matrix_rank(a)
    with pytest.raises(ShapeError, match="right sides"):
        ops.lstsq(np.ones((3, 2)), np.ones(4))


def test_expm():
    for scale in (1e-9, 0.1, 1, 30):
        x = RNG.normal(size=(2, 4, 4)) * scale
        want = np.stack([scipy.linalg.expm(m) for m in x])
        (got,) = evaluate([ops.expm(x)], {})
        assert np.abs(got - want).max() <= 1e-12 * np.abs(want).max()
    agree(ops.expm, np.zeros((0, 2, 2)), np.zeros((0, 2, 2)))
    agree(ops.expm, np.zeros((0, 0)), np.zeros((0, 0)))
    (got,) = evaluate([ops.expm(np.array([[np.nan, 0], [0, 1]]))], {})
    assert np.isnan(got).any()
    assert ops.expm(np.eye(2, dtype="float32")).dtype == "float32"


def test_gradient_of_expm_against_scipy():
    x, e = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    v = leaf((3, 3))
    g = reverse.grad(ops.sum(ops.mul(ops.expm(v), constant(e))), v)
    want = scipy.linalg.expm_frechet(x.T, e, compute_expm=False)
    np.testing.assert_allclose(evaluate([g], {v: x})[0], want, rtol=1e-11)


def test_spectra():
    x = matrices(2, 3, 3)
    agree(ops.slogdet, list(np.linalg.slogdet(x)), x, rtol=1e-11)
    agree(
        ops.slogdet,
        [np.array(-1.0), np.array(400 * np.log(10))],
        np.diag([-1e200, 1e200]),
        rtol=1e-11,
    )
    s = x + np.swapaxes(x, 1, 2)
    agree(ops.eigvalsh, np.linalg.eigvalsh(s), s, rtol=1e-11)
    w, v = evaluate(list(ops.eig(x)), {})
    assert w.dtype == v.dtype == np.complex128
    np.testing.assert_allclose(x @ v, v * w[:, None, :], atol=1e-12)
    assert ops.eig(x.astype("float32"))[0].dtype == "complex64"
    b = matrices(3, 3)
    b = b @ b.T
    for lower in (False, True):
        want = scipy.linalg.eigh(s[0], b, lower=lower, eigvals_only=True)
        half = np.tril if lower else np.triu
        np.testing.assert_allclose(K.eigvalsh(half(s[0]), half(b), lower).eval(), want, rtol=1e-11)


def test_full_decompositions():
    x = RNG.normal(size=(2, 4, 3))
    u, s, v = evaluate(list(ops.svd(x, full_matrices=True)), {})
    assert u.shape == (2, 4, 4) and v.shape == (2, 3, 3)
    np.testing.assert_allclose(u[..., :3] * s[:, None] @ v, x, atol=1e-12)
    agree(lambda m: ops.svd(m, compute_uv=False), np.linalg.svd(x, compute_uv=False), x, rtol=1e-11)
    agree(lambda m: ops.qr(m, "complete"), list(np.linalg.qr(x, "complete")), x, rtol=1e-11)
    agree(lambda m: ops.qr(m, "r"), np.linalg.qr(x, "r"), x, rtol=1e-11)
    with pytest.raises(ArgumentError, match="mode of qr"):
        ops.qr(x, "full")


def test_kron():
    for a, b in (
        ((2, 3), (4, 1)),
        ((3,), (2,)),
        ((2,), (3, 2)),
        ((2, 1, 2), (3, 2)),
        ((), (2, 2)),
        ((0, 2), (2, 2)),
    ):
        a, b = RNG.normal(size=a), RNG.normal(size=b)
        agree(ops.kron, np.kron(a, b), a, b, rtol=1e-15)


def test_powers_and_products():
    x = matrices(2, 3, 3)
    for n in (-2, -1, 0, 1, 2, 7):
        agree(lambda m, n=n: ops.matrix_power(m, n), np.linalg.matrix_power(x, n), x, rtol=1e-11)
    agree(
        lambda m: ops.matrix_power(m, 5),
        np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5),
        np.array([[1, 1], [0, 1]]),
    )
    a, b, c = (RNG.normal(size=s) for s in ((2, 3), (3, 4), (4, 2)))
    agree(ops.matrix_dot, a @ b @ c, a, b, c, rtol=1e-12)
    with pytest.raises(ArgumentError, match="an int"):
        ops.matrix_power(x, 0.5)
    with pytest.raises(ShapeError, match="square"):
        ops.matrix_power(np.ones((2, 3)), 0)


def test_tensors_as_matrices():
    a = RNG.normal(size=(2, 3, 6))
    agree(lambda x: ops.tensorinv(x, 2), np.linalg.tensorinv(a, 2), a, rtol=1e-9)
    b = RNG.normal(size=(2, 3))
    agree(ops.tensorsolve, np.linalg.tensorsolve(a, b), a, b, rtol=1e-9)
    moved = np.moveaxis(a, 2, 0)
    agree(
        lambda x, y: ops.tensorsolve(x, y, (0,)),
        np.linalg.tensorsolve(moved, b, (0,)),
        moved,
        b,
        rtol=1e-9,
    )
    with pytest.raises(ShapeError, match="6 equations for 5 unknowns"):
        ops.tensorinv(np.ones((2, 3, 5)))
    with pytest.raises(ArgumentError, match="ind"):
        ops.tensorinv(a, 3)


@pytest.mark.parametrize(
    "build",
    [
        ops.expm,
        lambda x: ops.slogdet(x)[1],
        ops.eigvalsh,
        lambda x: ops.irfft(ops.rfft(x)),
        lambda x: ops.solve_triangular(x, ops.sum(x, 0), True),
        lambda x: ops.cho_solve(x, x),
    ],
    ids=["expm", "slogdet", "eigvalsh", "fourier", "vector", "matrix"],
)
def test_jacobians_run_all_rows_at_once(build):
    """The batch rules: rows of a Jacobian, one by one and together."""
    x, a = leaf((4, 4)), matrices(4, 4)
    y = ops.flatten(build(x)) if build(x).ndim else ops.expand(build(x), (0,))
    (together,) = evaluate([reverse.jacobian(y, x)], {x: a})
    for k in range(y.shape[0]):
        (row,) = evaluate([reverse.grad(ops.getitem(y, k), x)], {x: a})
        np.testing.assert_allclose(together[k], row, atol=1e-11)


# --- Fourier ----------------------------------------------------------------------------------


def pairs(z):
    return np.stack([z.real, z.imag], -1)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("ndim", [1, 2])
def test_rfft_and_back(n, ndim):
    axes = (-2, -1)[2 - ndim :]
    x = RNG.normal(size=(2, 3, n))
    for norm, numpys in ((None, "backward"), ("ortho", "ortho"), ("no_norm", "backward")):
        z = np.fft.rfftn(x, axes=axes, norm=numpys)
        agree(lambda v, m=norm: ops.rfft(v, ndim, m), pairs(z), x, rtol=1e-12)
    z = np.fft.rfftn(x, axes=axes)
    for norm, factor in ((None, 1), ("no_norm", n * (3 if ndim == 2 else 1))):
        agree(lambda v, m=norm: ops.irfft(v, ndim, m, n % 2), x * factor, pairs(z), rtol=1e-12)
    agree(lambda v: ops.irfft(ops.rfft(v, ndim, "ortho"), ndim, "ortho", n % 2), x, x, rtol=1e-12)


def test_fourier_dtypes_and_errors():
    assert ops.rfft(np.ones(4, "float32")).dtype == "float32"
    assert ops.rfft(np.ones(4, "int8")).dtype == "float32"
    assert ops.rfft(leaf((None, 5))).shape == (None, 3, 2)
    with pytest.raises(ShapeError, match="1 to 1"):
        ops.rfft(np.ones(4), 2)
    with pytest.raises(ShapeError, match="empty"):
        ops.rfft(np.ones((2, 0)))
    with pytest.raises(ShapeError, match="pairs"):
        ops.irfft(np.ones((3, 3)))
    with pytest.raises(ArgumentError, match="norm"):
        ops.rfft(np.ones(4), 1, "forward")
    z = leaf((None, None))
    with pytest.raises(ShapeError, match="pairs|fit"):
        evaluate([ops.irfft(z)], {z: np.ones((3, 1))})
