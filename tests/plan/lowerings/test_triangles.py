"""Factors, triangular systems and small whole ones in C, against NumPy and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.errors import LinearAlgebraError
from ckernels.graph.node import make
from ckernels.plan.instructions import PYCALL
from ckernels.plan.lowerings.triangles import MOST, MOST_FACTORS, MOST_WHOLE

RNG = np.random.default_rng(2)


def place(*shape, dtype="float64"):
    return K.placeholder(shape, dtype=dtype)


def native(function):
    """Whether the plan of a function calls no Python."""
    return all(i.kind != PYCALL for i in function.info.program.instructions)


def positive(n, dtype="float64"):
    a = RNG.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-10), ("float32", 2e-3)])
def test_factors(dtype, rtol):
    x = place(None, None, dtype=dtype)
    lower = K.function([x], Tensor(ops.cholesky(x.node)))
    upper = K.function([x], Tensor(ops.transpose(ops.cholesky(ops.transpose(x.node)))))
    for n in (1, 2, 5, 8, 19, 40, 67):
        a, kept = positive(n, dtype), np.tri(n, dtype=bool)
        want = np.linalg.cholesky(a)
        np.testing.assert_allclose(lower(np.where(kept, a, np.nan)), want, rtol=rtol, atol=rtol)
        got = upper(np.where(kept.T, a, np.nan))
        np.testing.assert_allclose(got, want.T, rtol=rtol, atol=rtol)
    assert native(lower) and native(upper) and lower.stats()["classes"] <= 3


def test_a_batch_of_factors_and_none():
    x = place(None, 3, 3)
    f = K.function([x], Tensor(make("cholesky", (x.node,), {"nan": True})))
    a = np.stack([positive(3), -positive(3), positive(3)])
    got = f(a)
    np.testing.assert_allclose(got[[0, 2]], np.linalg.cholesky(a[[0, 2]]), rtol=1e-12)
    assert np.isnan(got[1]).all() and native(f)
    want = f.info.spec.like(mode="reference").callable()(a)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    with pytest.raises(LinearAlgebraError, match="ositive definite"):
        K.function([x], Tensor(ops.cholesky(x.node)))(a)


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-11), ("float32", 1e-3)])
def test_factors_with_rows_exchanged(dtype, rtol):
    """As LAPACK's, of matrices as they are, transposed and every other one of a batch."""
    x = place(None, None, None, dtype=dtype)
    lu = lambda a: Tensor(make("lu", (a,)))  # noqa: E731
    every_other = ops.slice_(x.node, [(None, None, 2), (None, None, 1), (None, None, 1)])
    f = K.function([x], [lu(x.node), lu(ops.swapaxes(x.node, 1, 2)), lu(every_other)])
    for n in (1, 2, 5, 17, 40):
        a = RNG.normal(size=(3, n, n)).astype(dtype)
        plain, turned, half = f(a)
        for got, matrix in zip((*plain, *turned, *half), (*a, *a.swapaxes(1, 2), *a[::2])):
            factors, swaps = scipy.linalg.lu_factor(matrix)
            np.testing.assert_allclose(got[:n], factors, rtol=rtol, atol=rtol)
            assert got[n].tolist() == swaps.tolist() and got.shape == (n + 2, n)
            order = got[n + 1].astype(int)
            lower = np.tril(got[:n], -1) + np.eye(n)
            np.testing.assert_allclose(lower @ np.triu(got[:n]), matrix[order], atol=10 * rtol)
    assert native(f)
    want = f.info.spec.like(mode="reference").callable()(a)
    np.testing.assert_allclose(plain, want[0], rtol=rtol, atol=rtol)


def test_factors_of_singular_matrices_and_of_none():
    x = place(None, None, None)
    f = K.function([x], Tensor(make("lu", (x.node,))))
    a = np.stack([np.ones((3, 3)), np.diag([0.0, 2.0, 1.0]), np.diag([2.0, 3.0, 1.0])])
    for run in (f, f.info.spec.like(mode="reference").callable()):
        got = run(a)
        assert np.isnan(got[:2, :3]).all() and got[2].tolist() == [
            *a[2].tolist(),
            [0, 1, 2],
            [0, 1, 2],
        ]
        assert run(np.zeros((2, 0, 0))).shape == (2, 2, 0) and run(a[:0]).shape == (0, 5, 3)


def test_plain_factors_of_singular_matrices_are_lapacks():
    x = place(None, None)
    f = K.function([x], Tensor(make("lu", (x.node,), {"plain": True})))
    for run in (f, f.info.spec.like(mode="reference").callable()):
        for a in (np.diag([0.0, 2.0, 1.0]), np.zeros((3, 3)), np.tri(4, k=-1)):
            factors, swaps = scipy.linalg.lapack.dgetrf(a)[:2]
            assert run(a)[: len(a)].tolist() == factors.tolist()
            assert run(a)[len(a)].tolist() == swaps.tolist()
    assert native(f)


@pytest.mark.parametrize("n", [MOST_FACTORS + 1, 200])
def test_factors_of_many_rows_are_lapacks(n):
    x = place(None, None)
    f = K.function([x], Tensor(make("lu", (x.node,))))
    a = RNG.normal(size=(n, n))
    factors, swaps = scipy.linalg.lu_factor(a)
    got = f(a)
    np.testing.assert_array_equal(got[:n], factors)
    assert got[n].tolist() == swaps.tolist() and not native(f)
    lower = np.tril(factors, -1) + np.eye(n)
    np.testing.assert_allclose(lower @ np.triu(factors), a[got[n + 1].astype(int)], atol=1e-10)
    a[:, 3] = 0
    assert np.isnan(f(a)[:n]).all()


def test_systems_without_a_solution_are_nan_where_that_is_asked_for():
    a, b, v = place(None, None, None), place(None, None), place(None)
    made = [make("solve", (a.node, b.node), {"vector": False, "nan": True})]
    made += [make("solve", (ops.take(a.node, 0, 0), v.node), {"vector": True, "nan": True})]
    f = K.function([a, b, v], [Tensor(x) for x in made])
    for n in (3, MOST_WHOLE + 1):
        m = RNG.normal(size=(3, n, n))
        m[0] = np.eye(n) * (np.arange(n) > 0)
        right = RNG.normal(size=(n, 2))
        for run in (f, f.info.spec.like(mode="reference").callable()):
            got, vector = run(m, right, right[:, 0])
            assert np.isnan(got[0]).all() and np.isnan(vector).all() and vector.shape == (n,)
            np.testing.assert_allclose(got[1:], np.linalg.solve(m[1:], right), rtol=1e-8)
        assert native(f) == (n == 3)


def test_large_matrices_are_left_to_lapack():
    x = place(None, None)
    f = K.function([x], Tensor(ops.cholesky(x.node)))
    a = positive(MOST + 1)
    np.testing.assert_allclose(f(a), np.linalg.cholesky(a), rtol=1e-9, atol=1e-9)
    assert not native(f)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lower, trans, unit", list(itertools.product((False, True), repeat=3)))
def test_systems(lower, trans, unit):
    a, b, v = place(None, None), place(None, None), place(None)
    attrs = {"lower": lower, "trans": trans, "unit": unit, "nan": True}

    def solve(m, right):
        return Tensor(make("solve_triangular", (m, right), {**attrs, "vector": right.ndim == 1}))

    turned = ops.transpose(a.node)
    outs = [solve(a.node, b.node), solve(a.node, v.node)]
    outs += [solve(turned, ops.flip(b.node, 0)), solve(turned, v.node)]
    f = K.function([a, b, v], outs)
    for n, m in ((1, 1), (3, 2), (4, 8), (9, 21), (18, 16), (19, 37), (23, 1)):
        t = RNG.normal(size=(n, n)) / 4 + 2 * np.eye(n)
        right, vector = RNG.normal(size=(n, m)), RNG.normal(size=n)
        kept = np.tri(n, dtype=bool) if lower else np.tri(n).T > 0
        for matrix, at, given in ((t, 0, right), (t.T, 2, right[::-1])):
            dirty = np.where(kept, matrix, np.nan)
            got = f(dirty if at == 0 else dirty.T, right, vector)
            options = (int(trans), lower, unit)
            want = scipy.linalg.solve_triangular(matrix, given, *options)
            np.testing.assert_allclose(got[at], want, rtol=1e-9, atol=1e-10)
            want = scipy.linalg.solve_triangular(matrix, vector, *options)
            np.testing.assert_allclose(got[at + 1], want, rtol=1e-9, atol=1e-10)
    assert native(f)


def test_one_column_is_a_vector():
    a, b = place(2, 1, 6, 6), place(3, 6, 1)
    attrs = {"lower": False, "trans": False, "unit": False, "vector": False, "nan": True}
    t, right = RNG.normal(size=(2, 1, 6, 6)) + 4 * np.eye(6), RNG.normal(size=(3, 6, 1))
    f = K.function([a, b], Tensor(make("solve_triangular", (a.node, b.node), attrs)))
    np.testing.assert_allclose(f(t, right), np.linalg.solve(np.triu(t), right), rtol=1e-11)
    t[1, 0, 2, 2] = 0
    got = f(t, right[:, ::-1])
    assert np.isnan(got[1]).all() and np.isfinite(got[0]).all() and native(f)


def test_systems_of_a_batch_and_without_solution():
    a, b = place(None, 1, 4, 4), place(3, 4, 2)
    attrs = {"lower": True, "trans": False, "unit": False, "vector": False}
    t, right = RNG.normal(size=(2, 1, 4, 4)) + 3 * np.eye(4), RNG.normal(size=(3, 4, 2))
    f = K.function(
        [a, b], Tensor(make("solve_triangular", (a.node, b.node), {**attrs, "nan": True}))
    )
    np.testing.assert_allclose(f(t, right), np.linalg.solve(np.tril(t), right), rtol=1e-11)
    t[1, 0, 2, 2] = 0
    got = f(t, right)
    assert np.isnan(got[1]).all() and np.isfinite(got[0]).all() and native(f)
    with pytest.raises(LinearAlgebraError, match="ingular"):
        K.function([a, b], Tensor(make("solve_triangular", (a.node, b.node), attrs)))(t, right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_factor_of_nan_is_nan_in_all_modes(dtype):
    """As in NumPy: NaN says where it came from; what is indefinite has no factor."""
    x = place(None, None, dtype=dtype)
    modes = [K.function([x], K.cholesky(x), mode=mode) for mode in ("compiled", "reference")]
    for n in (1, 2, 5, 19, 40):
        for at in {(0, 0), (n - 1, 0), (n - 1, n - 1), (n // 2, n // 2)}:
            a = positive(n, dtype)
            a[at] = a[at[::-1]] = np.nan
            one, two = (f(a) for f in modes)
            assert np.isnan(one).any() and np.isnan(two).any() and not np.triu(one, 1).any()
            if n <= 5:
                np.testing.assert_allclose(one, two, rtol=1e-5)
    for wrong in ([[1, 2], [2, 1]], [[1, np.inf], [np.inf, 1]], [[0.0]], [[-np.inf]]):
        for f in modes:
            with pytest.raises(LinearAlgebraError):
                f(np.array(wrong))


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-9), ("float32", 2e-2)])
def test_small_systems_and_inverses_are_solved_in_c(dtype, rtol):
    """Of matrices as they are and transposed, of batches, for matrices and vectors."""
    a, b, v = (place(*[None] * rank, dtype=dtype).node for rank in (2, 2, 1))
    s = place(None, None, None, dtype=dtype).node
    turned = ops.swapaxes(s, 1, 2)
    outs = [ops.inverse(a), ops.inverse(turned), ops.solve(a, b), ops.solve(a, v),
            ops.solve(s, turned), ops.solve(s, b), ops.solve(turned, v)]  # fmt: skip
    f = K.function([Tensor(x) for x in (a, b, v, s)], [Tensor(x) for x in outs])
    for n in (1, 2, 3, 9, MOST_WHOLE):
        m, right = RNG.normal(size=(n, n)).astype(dtype), RNG.normal(size=(n, 4)).astype(dtype)
        one, batch = RNG.normal(size=n).astype(dtype), RNG.normal(size=(3, n, n)).astype(dtype)
        other = batch.swapaxes(1, 2)
        want = [np.linalg.inv(m), np.linalg.inv(other), np.linalg.solve(m, right),
                np.linalg.solve(m, one), np.linalg.solve(batch, other),
                np.linalg.solve(batch, right), (np.linalg.inv(other) @ one)]  # fmt: skip
        for x, y in zip(f(m, right, one, batch), want, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.abs(y).max())
    assert native(f)
    n = MOST_WHOLE + 1
    large = [RNG.normal(size=k).astype(dtype) for k in ((n, n), (n, 2), n, (2, n, n))]
    np.testing.assert_array_equal(f(*large)[0], np.linalg.inv(large[0]))  # LAPACK's
    assert [x.shape for x in f(*[np.zeros((0,) * x.ndim, dtype) for x in large])][:4] == [
        (0, 0), (0, 0, 0), (0, 0), (0,)]  # fmt: skip


@pytest.mark.parametrize("a", [np.ones((3, 3)), np.zeros((2, 2)), [[1, 2], [2, 4]]])
def test_a_singular_system_is_an_error_and_nan_is_none(a):
    x, b = place(None, None), place(None)
    inverse = K.function([x], Tensor(ops.inverse(x.node)))
    solve = K.function([x, b], Tensor(ops.solve(x.node, b.node)))
    a = np.asarray(a)
    with pytest.raises(LinearAlgebraError, match="Singular matrix"):
        inverse(a)
    with pytest.raises(LinearAlgebraError, match="Singular matrix"):
        solve(a, np.ones(len(a)))
    assert np.isnan(inverse(np.full((2, 2), np.nan))).all()
    exchanged = inverse(np.array([[0, 2], [4, 0]]))
    np.testing.assert_array_equal(exchanged, [[0, 0.25], [0.5, 0]])


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-12), ("float32", 2e-6)])
def test_exponentials(dtype, rtol):
    """Of matrices as they are and transposed; of small norm, of large norm, of 0."""
    x = place(None, None, None, dtype=dtype)
    f = K.function([x], [K.expm(x), K.expm(Tensor(ops.swapaxes(x.node, 1, 2)))])
    for n in (1, 2, 5, 13, MOST_WHOLE):
        a = RNG.normal(size=(4, n, n)).astype(dtype) / n
        a[1] *= 30
        a[2] = 0
        a[3] *= 1e-6
        plain, turned = f(a)
        assert plain.dtype == dtype
        wide = a.astype("float64")
        for got, want in ((plain, scipy.linalg.expm(wide)), (turned[:, ::-1], None)):
            if want is None:
                want = scipy.linalg.expm(wide.swapaxes(1, 2))[:, ::-1]
            for one, other in zip(got, want):
                np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max())
    assert native(f)
    np.testing.assert_array_equal(plain[2], np.eye(MOST_WHOLE))
    spin = np.array([[[0.0, -1], [1, 0]]]) * 40
    want = np.array([[np.cos(40), -np.sin(40)], [np.sin(40), np.cos(40)]])
    np.testing.assert_allclose(f(spin.astype(dtype))[0][0], want, atol=max(rtol, 1e-11) * 10)
    large = RNG.normal(size=(1, MOST_WHOLE + 1, MOST_WHOLE + 1)).astype(dtype) / 9
    np.testing.assert_allclose(f(large)[0], scipy.linalg.expm(large.astype("f8")), rtol=1e-4)
    assert f(np.zeros((2, 0, 0), dtype))[0].shape == (2, 0, 0)
    for wrong in (np.nan, np.inf):
        a = np.full((1, 3, 3), wrong, dtype)
        assert np.isnan(f(a)[0]).any()


@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-12), ("float32", 2e-5)])
def test_orthogonal_factors(dtype, rtol):
    """As LAPACK's with their signs, of all forms, of batches and of matrices transposed."""
    x = place(None, None, None, dtype=dtype)
    turned = Tensor(ops.swapaxes(x.node, 1, 2))
    outs = [*K.qr(x), *K.qr(x, "complete"), K.qr(turned)[1], K.qr(turned, "r")]
    f = K.function([x], outs)
    for m, n in ((1, 1), (3, 3), (7, 3), (3, 7), (1, 5), (5, 1), (24, 24), (40, 11)):
        a = RNG.normal(size=(2, m, n)).astype(dtype)
        a[1, :, 0] = 0  # a reflection that is none
        want = [*np.linalg.qr(a), *np.linalg.qr(a, "complete")]
        want += [np.linalg.qr(a.swapaxes(1, 2))[1]] * 2
        for got, one in zip(f(a), want, strict=True):
            assert got.shape == one.shape and got.dtype == dtype
        q, r, whole, high, upper, _ = got = f(a)
        for left, right in ((q, r), (whole, high)):
            np.testing.assert_allclose(left @ right, a, atol=10 * rtol)
            unit = np.eye(left.shape[-1])
            np.testing.assert_allclose(left.swapaxes(1, 2) @ left - unit, 0, atol=10 * rtol)
            assert not np.tril(right, -1).any()
        for k in (0, 1, 2, 3):
            np.testing.assert_allclose(got[k][0], want[k][0], rtol=rtol * 100, atol=rtol * 100)
        np.testing.assert_allclose(upper[0], want[4][0], rtol=rtol * 100, atol=rtol * 100)
        assert native(f)
    assert np.isnan(f(np.full((1, 3, 3), np.nan, dtype))[0]).all()
    tiny = np.array([[[3.0, 1], [4, 2]]], dtype) * np.finfo(dtype).tiny
    np.testing.assert_allclose(f(tiny)[1][0, 0, 0], -5 * np.finfo(dtype).tiny, rtol=1e-6)
    huge = np.array([[[3.0, 1], [4, 2]]], dtype) * (np.finfo(dtype).max / 16)
    np.testing.assert_allclose(f(huge)[1][0, 0, 0], -5 * (np.finfo(dtype).max / 16), rtol=1e-6)
    for shape in ((2, 0, 3), (2, 3, 0), (0, 3, 2)):
        a = np.zeros(shape, dtype)
        for got, one in zip(f(a)[:4], (*np.linalg.qr(a), *np.linalg.qr(a, "complete"))):
            np.testing.assert_array_equal(got, one)
    large = RNG.normal(size=(1, MOST_FACTORS + 1, 2)).astype(dtype)
    np.testing.assert_array_equal(f(large)[1], np.linalg.qr(large)[1])


@pytest.mark.sampled(0)
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-9), ("float32", 2e-3)])
def test_sylvester_equations(dtype, rtol):
    """Of any sizes, of batches that broadcast, of matrices transposed, and with many forms."""
    rng = np.random.default_rng(12)  # no two eigenvalues that nearly cancel, whatever ran before
    a, c = place(None, None, None, dtype=dtype), place(None, None, None, dtype=dtype)
    b = place(None, None, dtype=dtype)
    turned = [ops.swapaxes(x.node, -1, -2) for x in (b, a, c)]
    made = [make("sylvester", (a.node, b.node, c.node)), make("sylvester", tuple(turned))]
    f = K.function([a, b, c], [Tensor(x) for x in made])
    for m, n in ((1, 1), (2, 2), (3, 5), (9, 4), (MOST_WHOLE, 7)):
        one = rng.normal(size=(2, m, m)).astype(dtype)
        one[1] = np.triu(one[1]) + 4 * np.eye(m)  # Schur's form already
        two, side = rng.normal(size=(n, n)).astype(dtype), rng.normal(size=(2, m, n)).astype(dtype)
        got, other = f(one, two, side)
        for k in (0, 1):
            want = scipy.linalg.solve_sylvester(*[x.astype("f8") for x in (one[k], two, side[k])])
            np.testing.assert_allclose(got[k], want, rtol=rtol, atol=rtol * np.abs(want).max())
            np.testing.assert_allclose(other[k].T, want, rtol=rtol, atol=rtol * np.abs(want).max())
        assert native(f) and got.dtype == dtype
    run = f.info.spec.like(mode="reference").callable()
    np.testing.assert_allclose(run(one, two, side)[0], got, rtol=rtol, atol=rtol * abs(got).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sylvester_equations_of_small_and_large_numbers(dtype):
    """A power of two of all three leaves x as it is, though its square be out of range."""
    a, b, c = (place(None, None, dtype=dtype) for _ in range(3))
    f = K.function([a, b, c], Tensor(make("sylvester", (a.node, b.node, c.node))))
    given = [RNG.normal(size=shape).astype(dtype) for shape in ((9, 9), (5, 5), (9, 5))]
    want, far = f(*given), {"float64": 990, "float32": 100}[dtype]
    np.testing.assert_allclose(given[0] @ want + want @ given[1], given[2], atol=1e-3)
    for power in (-far, -far // 2, -far // 4, far // 4, far // 2, far):
        got = f(*[np.ldexp(x, power) for x in given])
        np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float32" else 1e-9)


def test_sylvester_equations_of_special_matrices():
    a, b, c = place(None, None), place(None, None), place(None, None)
    f = K.function([a, b, c], Tensor(make("sylvester", (a.node, b.node, c.node))))
    cyclic, rotation = np.roll(np.eye(6), 1, 0), np.array([[0.0, -1], [1, 0]])
    jordan = np.eye(5) * 2 + np.eye(5, k=1)
    for one, two in ((cyclic, 3 * np.eye(2)), (rotation, np.eye(2)), (jordan, jordan.T),
                     (np.zeros((3, 3)), np.eye(3)), (np.eye(4) * 1e-150, np.eye(4) * 1e-150),
                     (np.ones((8, 8)), np.diag([1.0, 2, 3])), (-rotation * 50, 9 * np.eye(2)),
                     (np.kron(rotation, np.eye(3)), np.eye(6) + 0.1)):  # fmt: skip
        side = RNG.normal(size=(len(one), len(two)))
        x = f(one, two, side)
        np.testing.assert_allclose(one @ x + x @ two, side, atol=1e-11)
        np.testing.assert_allclose(x, scipy.linalg.solve_sylvester(one, two, side), rtol=1e-9,
                                   atol=1e-10 * np.abs(x).max())  # fmt: skip
    for wrong in (np.nan, np.inf):
        assert np.isnan(f(np.full((3, 3), wrong), np.eye(2), np.ones((3, 2)))).all()
    assert f(np.zeros((0, 0)), np.eye(2), np.zeros((0, 2))).shape == (0, 2)
    n = MOST_WHOLE + 1
    large = [RNG.normal(size=(n, n)) for _ in range(3)]
    np.testing.assert_allclose(f(*large), scipy.linalg.solve_sylvester(*large), rtol=1e-8)


def test_complex_matrices_are_left_to_lapack():
    a, b = place(None, None, dtype="complex128"), place(None, None, dtype="complex128")
    options = {"lower": True, "trans": False, "unit": False, "vector": False}
    made = [make("cholesky", (a.node,)), make("solve_triangular", (a.node, b.node), options)]
    f = K.function([a, b], [Tensor(x) for x in made])
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=(2, 4, 4)) + 1j * rng.normal(size=(2, 4, 4))
    one = one @ one.conj().T + 4 * np.eye(4)
    for side in (two, two[:, :1], two[:, :0]):
        lower, solved = f(one, side)
        np.testing.assert_allclose(lower @ lower.conj().T, one, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.tril(one) @ solved, side, rtol=1e-12, atol=1e-12)
        assert np.allclose(np.triu(lower, 1), 0) and not native(f)


@pytest.mark.parametrize("vector", [False, True])
def test_sides_of_another_length_are_refused(vector):
    a, b = place(None, None), place(*[None] * (2 - vector))
    options = {"lower": True, "trans": False, "unit": False, "vector": vector}
    f = K.function([a, b], Tensor(make("solve_triangular", (a.node, b.node), options)))
    for n in (2, 4):
        with pytest.raises(K.errors.CKernelsError):
            f(np.eye(3), np.ones(n if vector else (n, 2)))
