"""Linear algebra, blocks and convolutions of PyTensor, in batches too."""

import numpy as np
import pytest
from pytensor_support import RNG, X, Y, bridge, compiled, pt, pytensor, same, x, y


def test_linear_algebra():
    s = x.T @ x + pt.eye(3)
    lower = pt.linalg.cholesky(s)
    outs = [
        lower,
        pt.linalg.inv(s),
        pt.linalg.det(s),
        pt.linalg.solve(s, y),
        pt.linalg.solve_triangular(lower, y, lower=True),
        pt.grad(pt.log(pt.diag(lower)).sum(), x),
        *pt.linalg.slogdet(s),
    ]
    same([x, y], outs, X, Y, rtol=1e-9)


def test_a_batch_of_any_core_op_is_one_graph():
    """Also over two axes, of operands that are broadcast, and where the core is an inner graph."""
    from pytensor.tensor.blockwise import Blockwise

    a, b, c = pt.dtensor3("a"), pt.dmatrix("b"), pt.dtensor4("c")
    one = pt.tensor("one", shape=(1, None, 3))
    outs = [
        pt.vectorize(pt.diag, "(n)->(n,n)")(b),
        pt.vectorize(pt.diag, "(n)->(n,n)")(a),
        pt.vectorize(lambda m: pt.diagonal(m, offset=1), "(n,m)->(k)")(c),
        pt.vectorize(lambda v: pt.cumsum(v)[::-1] ** 2, "(n)->(n)")(a),
        pt.vectorize(lambda m, v: m @ v, "(n,m),(m)->(n)")(c, a),
        pt.vectorize(lambda m, v: m * v, "(n,m),(m)->(n,m)")(one, b),
    ]
    A, B, C = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(2, 4, 5, 3))
    left = same([a, b, c, one], outs, A, B, C, RNG.normal(size=(1, 2, 3)))
    assert left == []
    g = pytensor.grad(outs[0].sum() + (outs[1] ** 2).sum(), [a, b])
    assert same([a, b], g, A, B) == []

    core = Blockwise(pt.dot(x, x.T).owner.op, signature="(n,m),(m,k)->(n,k)")
    assert same([a], [core(a, a.mT)], A) == []


def test_a_batch_that_is_empty():
    a = pt.dtensor3("a")
    diag = compiled([a], pt.vectorize(pt.diag, "(n)->(n,n)")(a))
    for shape in ((0, 4, 3), (2, 0, 3), (2, 4, 0)):
        assert diag(np.zeros(shape)).shape == shape + shape[-1:]


@pytest.mark.parametrize("rows", [(4, 2), (0, 2), (4, 0)])
def test_blocks_on_a_diagonal(rows):
    """Of open sizes, of two dtypes, empty ones; state spaces put their parts together so."""
    block_diag = getattr(pt.linalg, "block_diag", None) or pytensor.tensor.slinalg.block_diag
    i, one = pt.imatrix("i"), np.array([[2.5]])
    whole = block_diag(x, i, one)
    X, J = RNG.normal(size=(rows[0], 3)), RNG.integers(-5, 6, (rows[1], 4)).astype("int32")
    outs = [whole, pt.grad((whole[:, 1:] ** 2).sum(), x)]
    assert same([x, i], outs, X, J, exact=True) == []
    want = np.zeros((sum(rows) + 1, 8))
    want[: rows[0], :3], want[rows[0] : -1, 3:7], want[-1, -1] = X, J, 2.5
    np.testing.assert_array_equal(compiled([x, i], whole)(X, J), want)


def test_a_batch_of_blocks_on_a_diagonal():
    block_diag = getattr(pt.linalg, "block_diag", None) or pytensor.tensor.slinalg.block_diag
    a = pt.dtensor3("a")
    A = RNG.normal(size=(2, 4, 3))
    assert same([a, x], [block_diag(a, x), block_diag(x, a, x)], A, X, exact=True) == []


def test_a_core_op_without_a_batch_rule_is_a_python_call():
    a = pt.dtensor3("a")
    out = pt.vectorize(lambda m: pt.linalg.pinv(m, hermitian=True), "(n,n)->(n,n)")(a)
    A = RNG.normal(size=(3, 4, 4))
    ((name, count),) = same([a], [out], A + A.swapaxes(1, 2), rtol=1e-10)
    assert "MatrixPinv" in name and count == 1


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("sizes", [(9, 4), (4, 9), (5, 5), (6, 1), (1, 6), (300, 70)])
def test_convolutions_of_signals(mode, sizes):
    from pytensor.tensor.signal import convolve1d

    X, Y = RNG.normal(size=sizes[0]), RNG.normal(size=sizes[1])
    a, b = pt.tensor("a", shape=X.shape), pt.tensor("b", shape=Y.shape)
    out = convolve1d(a, b, mode=mode)
    (got,) = compiled([a, b], [out])(X, Y)
    if mode != "same":
        np.testing.assert_allclose(got, np.convolve(X, Y, mode), rtol=1e-12, atol=1e-13)
    assert same([a, b], [out, *pytensor.grad((out**2).sum(), [a, b])], X, Y, rtol=1e-10) == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_convolutions(dtype):
    from pytensor.tensor.signal import convolve1d, convolve2d

    X, Y = RNG.normal(size=(3, 2, 20)).astype(dtype), RNG.normal(size=(2, 6)).astype(dtype)
    a, b = pt.tensor("a", shape=X.shape, dtype=dtype), pt.tensor("b", shape=Y.shape, dtype=dtype)
    for mode in ("full", "valid"):
        f = compiled([a, b], convolve1d(a, b, mode=mode))
        want = [[np.convolve(v, k, mode) for v, k in zip(row, Y)] for row in X]
        np.testing.assert_allclose(
            f(X, Y), want, rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-6
        )
        assert bridge.report(f) == []
        image, kernel = a[:, 0, :][:, :5], b[:, :3]
        for method, left in (("direct", 0), ("auto", 0), ("fft", 1)):
            f = compiled([a, b], convolve2d(image, kernel, mode=mode, method=method))
            scipy_signal = pytest.importorskip("scipy.signal")
            want = scipy_signal.convolve(X[:, 0, :5], Y[:, :3], mode, method="direct")
            np.testing.assert_allclose(
                f(X, Y), want, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-6
            )
            assert len(bridge.report(f)) == left


def test_convolutions_that_only_a_call_decides():
    """Near misses: unknown sizes that may have to be swapped, kernels that fit in one axis only,
    nothing to convolve, integers."""
    from pytensor.tensor.signal import convolve1d, convolve2d

    a, b = pt.dvector("a"), pt.dvector("b")
    f = compiled([a, b], [convolve1d(a, b, mode=m) for m in ("valid", "full")])
    for m, n in ((7, 3), (3, 7), (4, 4)):
        X, Y = RNG.normal(size=m), RNG.normal(size=n)
        for got, mode in zip(f(X, Y), ("valid", "full")):
            np.testing.assert_allclose(got, np.convolve(X, Y, mode), rtol=1e-12, atol=1e-14)
    assert [count for _, count in bridge.report(f)] == [1]
    i, j = pt.lvector("i"), pt.lvector("j")
    big = np.array([2**53 + 1, 1]), np.array([1, 3])
    assert compiled([i, j], convolve1d(i, j))(*big).tolist() == np.convolve(*big).tolist()
    for shapes in (((0,), (3,)), ((3,), (0,))):
        u, v = [pt.tensor(shape=s) for s in shapes]
        with pytest.raises(ValueError):
            compiled([u, v], convolve1d(u, v))(*map(np.zeros, shapes))
    full = compiled([a, b], convolve1d(a, b))
    assert full(np.zeros(0), np.ones(3)).tolist() == [0, 0]  # as with NUMBA; NumPy refuses
    with pytest.raises(ValueError, match="no elements"):
        full(np.ones(3), np.zeros(0))
    u, v = pt.tensor(shape=(3, 5)), pt.tensor(shape=(4, 2))
    with pytest.raises(ValueError):
        compiled([u, v], convolve2d(u, v, mode="valid"))(np.zeros((3, 5)), np.zeros((4, 2)))


def test_factors_with_rows_exchanged():
    """Determinants and solutions by them; of many rows LAPACK makes them."""
    lu = pytest.importorskip(
        "pytensor.tensor.linalg.decomposition.lu",
        reason="PyTensor before 3.3",
        exc_type=ImportError,
    )
    pivot_to_permutation = lu.pivot_to_permutation

    a, b = pt.tensor("a", shape=(5, 5)), pt.tensor("b", shape=(2, 3, 3))
    A, B = RNG.normal(size=(5, 5)), RNG.normal(size=(2, 3, 3))
    factors, swaps = pt.linalg.lu_factor(a)
    outs = [
        factors,
        swaps,
        pivot_to_permutation(swaps, inverse=True),
        pivot_to_permutation(swaps, inverse=False),
        pt.linalg.lu_solve((factors, swaps), a[0], b_ndim=1),
        pytensor.grad((factors**2).sum(), a),
        *pt.linalg.lu_factor(b),
    ]
    assert same([a, b], outs, A, B, rtol=1e-10) == []
    assert same([x], pt.linalg.lu_factor(x), X[:3], rtol=1e-10) == []
    assert same([x], pt.linalg.lu_factor(x), RNG.normal(size=(140, 140)), rtol=1e-7) == []
