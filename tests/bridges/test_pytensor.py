"""The PyTensor bridge against NumPy: values, gradients, state, exceptions, Python calls."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pt = pytest.importorskip("pytensor.tensor")
import ckernels.pytensor as bridge  # noqa: E402


def compiled(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="CKERNELS", **options)


def same(inputs, outputs, *values, exact=False, rtol=1e-12):
    """Check a function against PyTensor's Python mode; its report."""
    ours, theirs = (
        compiled(inputs, outputs),
        pytensor.function(inputs, outputs, mode="FAST_COMPILE"),
    )
    for got, want in zip(ours(*values), theirs(*values)):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0 if exact else rtol, atol=0 if exact else 1e-14)
    return bridge.report(ours)


x, y = pt.dmatrix("x"), pt.dvector("y")
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(4, 3)), RNG.normal(size=3)


# --- values ------------------------------------------------------------------------------------


def test_elementwise_and_reductions():
    outs = [
        pt.tanh(x) * y,
        pt.exp(x).sum(axis=0),
        pt.switch(x > 0, x, -y).max(axis=1),
        pt.log1p(x**2).prod(),
        pt.erf(x),
        pt.gammaln(abs(x) + 1),
        pt.clip(x, -1, 0.5),
        pt.isnan(x).any(),
        x.mean(),
        x.var(axis=0),
        pt.round(x, "half_away_from_zero"),
    ]
    assert same([x, y], outs, X, Y) == []


def test_integers_and_bools_keep_their_meaning():
    i, b = pt.ivector("i"), pt.bvector("b")
    values = np.array([-7, 5, 0, 9], "int32"), np.array([2, -3, 4, 5], "int8")
    outs = [
        i // b,
        i % b,
        i / b,
        i + b,
        pt.cast(i, "int8"),
        ~(i > b),
        (i > b) & (b > 0),
        pt.sum(b),
        pt.sum(i > 0),
        pt.prod(i, dtype="int64"),
        -i,
        abs(b),
        i ^ b,
    ]
    assert same([i, b], outs, *values, exact=True) == []


def test_shapes():
    n = pt.lscalar("n")
    outs = [
        x.T,
        x.reshape((-1,)),
        x[:, None, :],
        pt.concatenate([x, x * 2], axis=1),
        pt.stack([y, y]),
        pt.tile(y, (2, 1)),
        pt.arange(n) * 1.0,
        pt.eye(3),
        pt.diag(y),
        pt.zeros((n, 2)),
        x.shape,
        pt.cumsum(x, axis=1),
        *pt.split(x, splits_size=[1, 2], n_splits=2, axis=1),
        pt.sort(y),
        pt.argsort(y),
        x.argmax(axis=1),
    ]
    assert same([x, y, n], outs, X, Y, 5) == []


def test_indexing_and_its_gradient():
    i, k = pt.lvector("i"), pt.lscalar("k")
    outs = [
        x[i],
        x[1:, ::2],
        x[:k],
        x[k],
        x[i, i % 3],
        x[x > 0],
        pt.set_subtensor(x[i], 1.0),
        pt.inc_subtensor(x[i], 2.0),
        pt.set_subtensor(x[x > 0], 0.0),
        pt.grad((x[i] ** 2).sum(), x),
        pt.inc_subtensor(x[1:3], y),
    ]
    assert same([x, y, i, k], outs, X, Y, [0, 2, 2], 1) == []


def test_products_and_softmax():
    a = pt.dtensor3("a")
    outs = [
        x @ y,
        x.T @ x,
        pt.outer(y, y),
        a @ x.T,
        pt.special.softmax(x, axis=-1),
        pt.special.log_softmax(x, axis=0),
        pt.logsumexp(x, axis=1),
        pt.grad(pt.special.softmax(x, axis=-1)[:, 0].sum(), x),
    ]
    assert same([x, y, a], outs, X, Y, RNG.normal(size=(2, 5, 3))) == []


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


def test_a_matrix_without_a_cholesky_factor_gives_nan_as_pytensor_does():
    f = compiled([x], pt.linalg.cholesky(x))
    assert np.isnan(f(-np.eye(3))).all()


def test_float32_stays_float32():
    z = pt.fmatrix("z")
    out = compiled([z], pt.exp(z) @ z.T + 1)(X.astype("float32"))
    assert out.dtype == "float32"


def test_large_constants_are_arguments_and_not_text():
    table = RNG.normal(size=(200, 100))
    f = compiled([y], y[0] + pt.as_tensor(table))
    np.testing.assert_allclose(f(Y), Y[0] + table)
    assert len(f.maker.linker.pieces.converter.large) == 1
    f = compiled([y], y[0] + pt.as_tensor(table[:2]))
    assert len(f.maker.linker.pieces.converter.large) == 0  # the near miss


# --- shared values that shapes follow from -------------------------------------------------------


def _masked():
    """(mask, size, function of y): sums and gradients over a mask, and zeros of a size."""
    mask = pytensor.shared(np.array([True, False, True, True, False]), name="mask", shape=(None,))
    size = pytensor.shared(np.array(2), name="size")
    v = pt.dvector("v")
    cost = (v[mask] ** 2).sum() + (v[~mask] ** 3).sum() + pt.zeros(size).sum() + size
    return (
        mask,
        size,
        compiled([v], [cost, pytensor.grad(cost, v), pt.zeros((size, size)), v[mask]]),
    )


def _expected(v, mask, size):
    value = (v[mask] ** 2).sum() + (v[~mask] ** 3).sum() + size
    return [value, np.where(mask, 2 * v, 3 * v**2), np.zeros((size, size)), v[mask]]


def test_masks_and_sizes_that_are_shared_are_known_to_the_plan():
    mask, size, f = _masked()
    v = RNG.normal(size=5)
    for got, want in zip(f(v), _expected(v, mask.get_value(), 2)):
        np.testing.assert_allclose(got, want)
    assert set(f.maker.linker.known.values) == {mask, size}
    plan = f.maker.linker.pieces.functions[0][0]
    assert plan.pieces is None  # no cut where a shape would be data


@pytest.mark.parametrize("changes", [1, 2, 5])
def test_masks_and_sizes_may_change(changes):
    mask, size, f = _masked()
    for k in range(changes):
        v = RNG.normal(size=5 + k % 2)
        new = RNG.random(len(v)) < 0.5
        mask.set_value(new)
        size.set_value(np.array(k))
        for _ in range(2):
            for got, want in zip(f(v), _expected(v, new, k)):
                np.testing.assert_allclose(got, want)
    assert bool(f.maker.linker.known.values) == (changes <= 2)  # then any value will do


def test_masks_that_are_written_in_place_are_seen():
    mask, _, f = _masked()
    v = RNG.normal(size=5)
    f(v)
    mask.get_value(borrow=True)[:] = [False, True, True, False, False]
    for got, want in zip(f(v), _expected(v, np.array([False, True, True, False, False]), 2)):
        np.testing.assert_allclose(got, want)


def test_a_counter_that_the_function_updates_is_not_known():
    count, size = pytensor.shared(np.array(1)), pytensor.shared(np.array(3))
    f = compiled([], pt.ones(count).sum() + pt.ones(size).sum(), updates={count: count + 1})
    assert [float(f()) for _ in range(4)] == [4, 5, 6, 7]
    assert set(f.maker.linker.known.values) == {size}


def test_a_function_with_known_values_pickles():
    _, _, f = _masked()
    v = RNG.normal(size=5)
    for got, want in zip(pickle.loads(pickle.dumps(f))(v), f(v)):
        np.testing.assert_array_equal(got, want)


def test_a_c_function_has_the_masks_of_when_it_was_asked_for():
    mask = pytensor.shared(np.array([True, False, True]), name="mask")
    v = pt.tensor("v", shape=(3,))
    f = compiled([v], [(v[mask] ** 2).sum(), pytensor.grad((v[mask] ** 2).sum(), v)])
    signature = "int64_t (uint64_t, double *, double *, double *, void *)"
    for now in ([True, False, True], [False, True, True]):
        mask.set_value(np.array(now))
        entry = bridge.address(f, signature)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(
            entry.address
        )
        given, slope, value = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(1)
        pointers = [a.ctypes.data for a in (given, slope, value)]
        assert call(3, *pointers, entry.user_data) == 0
        assert value[0] == (given[now] ** 2).sum()
        np.testing.assert_array_equal(slope, np.where(now, 2 * given, 0))


# --- loops, branches, graphs inside of graphs -----------------------------------------------------


def test_scans_and_their_gradients():
    a, h0 = pt.dscalar("a"), pt.dscalar("h0")
    out = pytensor.scan(
        lambda x, h, a: pt.tanh(a * h + x),
        sequences=[y],
        outputs_info=[h0],
        non_sequences=[a],
        return_updates=False,
    )
    two = pytensor.scan(
        lambda x, h2, h1: x + 0.5 * h1 - 0.2 * h2,
        sequences=[y],
        outputs_info=[{"initial": pt.stack([h0, a]), "taps": [-2, -1]}],
        return_updates=False,
    )
    outs = [out, out[-1], *pt.grad(out.sum(), [a, h0, y]), two, *pt.grad(two[-1], [a, h0, y])]
    assert same([y, a, h0], outs, RNG.normal(size=7), 0.7, 0.1) == []


def test_only_the_last_state_of_a_scan_is_kept():
    x0, y0, n = pt.dvector("x0"), pt.dvector("y0"), pt.lscalar("n")
    xs, ys, ws = pytensor.scan(
        lambda x, y: (x * 0.5 + y, y + 1, x * 2),
        outputs_info=[x0, y0, None],
        n_steps=5,
        return_updates=False,
    )
    assert same([x0, y0], [xs, ys[-1], ws[-1]], Y, 2 * Y) == []
    states = pytensor.scan(lambda x: x * 2, outputs_info=[x0], n_steps=n, return_updates=False)
    buffer = states.owner.inputs[0]  # its first row is x0
    f, last = compiled([x0, n], [buffer, buffer[-1]]), compiled([x0, n], buffer[-1])
    # Rewritten by PyTensor 2.38, all its own modes take one step too many for none.
    theirs = pytensor.function(
        [x0, n], buffer[-1], mode=pytensor.compile.mode.Mode("py", "fast_run")
    )
    np.testing.assert_array_equal(last(Y, 0), theirs(Y, 0))
    for steps in (0, 1, 2):
        rows, row = f(Y, steps)
        np.testing.assert_array_equal(rows, [Y * 2**k for k in range(steps + 1)])
        np.testing.assert_array_equal(row, rows[-1])
        if steps:
            np.testing.assert_array_equal(last(Y, steps), row)


def test_a_scan_that_ends_early():
    from pytensor.scan.utils import until

    a = pt.dscalar("a")
    out = pytensor.scan(
        lambda h, a: (h * a, until(h > 40.0)),
        outputs_info=[pt.ones(())],
        non_sequences=[a],
        n_steps=30,
        return_updates=False,
    )
    assert same([a], [out, out[-1], pt.grad(out[-1], a)], 2.0) == []


def test_the_side_that_is_not_taken_is_not_computed():
    from pytensor.ifelse import ifelse

    c = pt.lscalar("c")
    broken = pytensor.raise_op.Assert("never")(x.sum(), pt.lt(x.sum(), -1e9))
    f = compiled([c, x], ifelse(c, x.sum(), broken))
    assert f(1, X) == pytest.approx(X.sum())
    with pytest.raises(AssertionError, match="never"):
        f(0, X)


def test_sides_of_different_shapes():
    from pytensor.ifelse import ifelse

    c = pt.lscalar("c")
    f = compiled([c, y], ifelse(c, y, y[:2]))
    assert f(1, Y).shape == (3,) and f(0, Y).shape == (2,)


def test_op_from_graph():
    from pytensor.compile.builders import OpFromGraph

    inner = OpFromGraph([x, y], [x + y, x * 2])
    assert same([x, y], inner(x, y), X, Y) == []


def test_a_graph_inside_that_draws_numbers():
    from pytensor.compile.builders import OpFromGraph

    rng = pytensor.shared(np.random.default_rng(5))
    later, draws = pt.random.normal(y, 2.0, rng=rng).owner.outputs
    inner = OpFromGraph([rng, y], [later, pt.exp(draws)])
    later, out = inner(rng, y)
    f, numpys = compiled([y], out, updates={rng: later}), np.random.default_rng(5)
    for _ in range(2):
        np.testing.assert_allclose(f(Y), np.exp(numpys.normal(Y, 2.0)), rtol=1e-14)


# --- Python calls ---------------------------------------------------------------------------------


def test_a_check_that_does_not_hold_comes_before_a_clash_of_shapes():
    u, v = pt.dvectors("u", "v")
    held = pytensor.raise_op.Assert("sizes must agree")(u, pt.eq(u.shape[0], v.shape[0]))
    other = pytensor.raise_op.Assert("never")(u, pt.ge(u.shape[0], 0))
    f = compiled([u, v], [held + v, other + v])
    with pytest.raises(AssertionError, match="sizes must agree"):
        f(np.ones(2), np.ones(3))
    g = compiled([u, v], other + v)
    with pytest.raises(ValueError):
        g(np.ones(2), np.ones(3))


def test_an_elementwise_op_of_more_operands_than_perform_takes():
    from pytensor.scalar import ScalarOp, float64
    from pytensor.tensor.elemwise import Elemwise

    class Last(ScalarOp):
        nin = 33

        def output_types(self, types):
            return [float64]

        def impl(self, *values):
            return values[-1] - values[0]

    f = compiled([x], Elemwise(Last())(*[x * k for k in range(33)]))
    np.testing.assert_allclose(f(X), 32 * X)


def test_sparse_matrices_leave_plans_whole():
    """A plan holds a sparse matrix in parts: results, and operands of ops that run in Python, are
    the matrix, though plans beside them use its parts."""
    import scipy.sparse
    from pytensor import sparse

    a = scipy.sparse.random(4, 3, 0.5, "csr", random_state=0)
    b = scipy.sparse.random(3, 4, 0.5, "csc", random_state=1)
    s = sparse.csc_matrix("s")
    fixed = sparse.as_sparse_variable(a)
    turned = fixed.T
    total = sparse.add(s, turned)
    outs = [turned, total, sparse.dot(total, x), pt.exp(sparse.dense_from_sparse(total)).sum(), s]
    f = compiled([s, x], outs)
    dense = b.toarray() + a.toarray().T
    wanted = [a.toarray().T, dense, dense @ X, np.exp(dense).sum(), b.toarray()]
    for _ in range(2):
        for got, want in zip(f(b, X), wanted, strict=True):
            got = got.toarray() if scipy.sparse.issparse(got) else got
            np.testing.assert_allclose(got, want)
    stacked = sparse.hstack([turned, s], format="csr")
    got = compiled([s], [stacked, turned.T])(b)
    np.testing.assert_allclose(got[0].toarray(), scipy.sparse.hstack([a.T, b]).toarray())
    np.testing.assert_allclose(got[1].toarray(), a.toarray())


def test_constants_that_are_no_tensors_are_results():
    import pytensor.xtensor as px

    c = px.as_xtensor(np.arange(6.0).reshape(2, 3), dims=("a", "b"))
    f = compiled([x], [c, x * 2])
    found, doubled = f(X)
    np.testing.assert_array_equal(np.asarray(found), np.arange(6.0).reshape(2, 3))
    np.testing.assert_allclose(doubled, 2 * X)
    rng = pytensor.tensor.random.type.random_generator_type.make_constant(np.random.default_rng(3))
    drawn = pt.random.normal(0, 1, size=(3,), rng=rng)
    moved, numbers = compiled([], [drawn.owner.outputs[0], drawn])()
    want = np.random.default_rng(3)
    np.testing.assert_allclose(numbers, want.normal(0, 1, 3))
    assert moved.bit_generator.state == want.bit_generator.state


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_tensors_with_named_dims_are_tensors(dtype):
    import pytensor.xtensor as px

    kept = np.arange(6).reshape(2, 3).astype(dtype)
    named = px.xtensor("named", dims=("a", "b"), shape=(None, 3), dtype=dtype)
    shared = px.type.xtensor_shared(kept, dims=("a", "b"))
    total = named.values.sum(axis=0) + shared.values[1]
    f = compiled([named], [total, named.rename({"a": "c"}), (named * 2).transpose("b", "a")])
    assert bridge.report(f) == []
    strided = np.arange(24).reshape(4, 6).astype(dtype)[::2, ::2]
    for value in (kept, strided, np.asfortranarray(kept), kept[:0]):
        found, renamed, turned = map(np.asarray, f(value))
        assert found.dtype == renamed.dtype == turned.dtype == dtype
        np.testing.assert_array_equal(found, value.sum(0) + kept[1])
        np.testing.assert_array_equal(renamed, value)
        np.testing.assert_array_equal(turned, 2 * value.T)
    shared.set_value(kept[::-1].copy())
    np.testing.assert_array_equal(np.asarray(f(kept)[0]), kept.sum(0) + kept[0])


def test_an_op_without_a_row_is_a_call_of_perform_and_reported():
    f = compiled([x], [pt.linalg.pinv(x @ x.T, hermitian=True) * 2])
    ((name, _),) = bridge.report(f)
    assert name.startswith("MatrixPinv")
    np.testing.assert_allclose(f(X)[0], 2 * np.linalg.pinv(X @ X.T, hermitian=True), rtol=1e-10)


def test_the_report_refuses_functions_of_others():
    with pytest.raises(TypeError, match='mode="CKERNELS"'):
        bridge.report(pytensor.function([y], y * 2, mode="FAST_COMPILE"))


def test_random_variables_draw_as_pytensor_draws():
    def drawn(mode):
        rng = pytensor.shared(np.random.default_rng(5), name="rng")
        new, draw = pt.random.normal(y, 2.0, rng=rng).owner.outputs
        f = pytensor.function([y], draw * 2, updates=[(rng, new)], mode=mode)
        return [f(Y), f(Y)]

    ours, theirs = drawn("CKERNELS"), drawn("FAST_COMPILE")
    np.testing.assert_allclose(ours, theirs)
    assert not np.array_equal(ours[0], ours[1])


def test_an_op_of_the_user_and_what_it_raises():
    class Odd(pytensor.graph.op.Op):
        def make_node(self, v):
            return pytensor.graph.basic.Apply(self, [v], [v.type()])

        def perform(self, node, inputs, outputs):
            if inputs[0].sum() > 100:
                raise KeyError("too large")
            outputs[0][0] = inputs[0] + 1

        def infer_shape(self, *args):
            return args[-1]

    f = compiled([y], Odd()(y) * 2)
    np.testing.assert_allclose(f(Y), (Y + 1) * 2)
    with pytest.raises(KeyError, match="too large"):
        f(Y + 100)


@pytest.mark.parametrize("nested", [False, True])
def test_an_op_of_the_user_that_infers_a_wrong_shape(nested):
    """PyTensor never compares it with the array; programs that are public have such ops."""

    class Sums(pytensor.graph.op.Op):
        def make_node(self, v):
            return pytensor.graph.basic.Apply(self, [v], [pt.dvector()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0].reshape(-1, 2).sum(1)

        def infer_shape(self, *args):
            return args[-1]

    value = Sums()(y * 3) * 2
    if nested:
        value = pytensor.compile.builders.OpFromGraph([y], [value])(y + 1)
    f = compiled([y], [value.sum(), Sums()(pt.exp(value)), y + 1])
    for count in (8, 8, 12):
        Y = RNG.normal(size=count)
        want = 6 * (Y + nested).reshape(-1, 2).sum(1)
        got = f(Y)
        np.testing.assert_allclose(got[0], want.sum())
        np.testing.assert_allclose(got[1], np.exp(want).reshape(-1, 2).sum(1))
        np.testing.assert_allclose(got[2], Y + 1)


def test_an_op_of_the_user_whose_type_has_a_wrong_size():
    class Sums(pytensor.graph.op.Op):
        def make_node(self, v):
            return pytensor.graph.basic.Apply(self, [v], [v.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0].reshape(-1, 2).sum(1)

    z = pt.tensor("z", shape=(8,), dtype="float64")
    f = compiled([z], [pt.exp(Sums()(z))[:2] + 1, z * 2])
    Z = RNG.normal(size=8)
    for _ in range(2):
        got = f(Z)
        np.testing.assert_allclose(got[0], np.exp(Z[0:4:2] + Z[1:4:2]) + 1)
        np.testing.assert_allclose(got[1], Z * 2)


# --- state ----------------------------------------------------------------------------------------


def test_updates_see_old_values_and_an_error_leaves_all_as_it_was():
    s, t = pytensor.shared(np.ones(3), name="s"), pytensor.shared(2.0, name="t")
    f = compiled([y], (s * t).sum(), updates=[(s, s + y), (t, s.sum())])
    assert f(Y) == pytest.approx(6.0)
    np.testing.assert_allclose(s.get_value(), 1 + Y)
    assert t.get_value() == pytest.approx(3.0)
    with pytest.raises(ValueError):
        f(np.ones(2))
    assert t.get_value() == pytest.approx(3.0)
    s.set_value(np.zeros(5))
    assert f(np.ones(5)) == 0.0


def test_variables_that_become_one_value_do_not_share_its_memory():
    s, t = pytensor.shared(np.zeros(3)), pytensor.shared(np.zeros(3))
    for value in (y, y + 1):
        f = compiled([y], [value, value], updates=[(s, value), (t, value)])
        arrays = [Y, *f(Y), s.get_value(borrow=True), t.get_value(borrow=True)]
        for k, a in enumerate(arrays):
            assert not any(np.may_share_memory(a, b) for b in arrays[:k])
            assert k == 0 or np.array_equal(a, arrays[1])


def test_givens_and_trust_input():
    s = pytensor.shared(np.arange(3.0))
    f = compiled([x], (x * y).sum(), givens=[(y, s)])
    assert f(X) == pytest.approx((X * np.arange(3)).sum())
    f.trust_input = True
    assert f(X) == pytest.approx((X * np.arange(3)).sum())


# --- exceptions -----------------------------------------------------------------------------------


def test_axes_that_are_not_marked_do_not_broadcast():
    f = compiled([x, y], x + y)
    with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
        f(X, np.ones(1))
    z = pt.tensor("z", shape=(1,), dtype="float64")
    np.testing.assert_allclose(compiled([x, z], x + z)(X, np.ones(1)), X + 1)  # the near miss


@pytest.mark.parametrize(
    "make, args, error",
    [
        (lambda: x[pt.lscalar("k")], (X, 9), IndexError),
        (lambda: x @ y, (X, np.ones(4)), ValueError),
        (lambda: pt.specify_shape(y, (4,)) * 1, (Y,), AssertionError),
        (lambda: x.reshape((5, 5)), (X,), ValueError),
    ],
)
def test_errors_are_of_pytensors_classes(make, args, error):
    out = make()
    inputs = [v for v in pytensor.graph.traversal.explicit_graph_inputs([out])]
    inputs.sort(key=lambda v: "xyk".index(v.name or "k"))
    with pytest.raises(error):
        compiled(inputs, out)(*args)


@pytest.mark.parametrize(
    "sizes, rows, message",
    [
        ([2, 2, 2], 6, "Length of splits is not equal to n_splits"),
        ([2, 4], 7, "Split sizes (do not sum up to the 7 elements|sum to 6; expected 7)"),
        ([-2, 8], 6, "Split sizes cannot be negative"),
    ],
)
def test_splits_that_do_not_fit(sizes, rows, message):
    lengths = pt.lvector("lengths")
    given, known = pt.split(x, lengths, n_splits=2), pt.split(x, sizes, n_splits=2)
    for inputs, parts, more in (([x, lengths], given, [np.array(sizes)]), ([x], known, [])):
        with pytest.raises(ValueError, match=message):
            compiled(inputs, parts)(np.zeros((rows, 4)), *more)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8"])
@pytest.mark.parametrize("axis", [0, -1])
def test_splits_by_sizes_that_are_data(axis, dtype):
    a, b = pt.scalar("a", dtype=dtype), pt.scalar("b", dtype=dtype)
    parts = pt.split(x, [a, b, b], n_splits=3, axis=axis)
    slope = pytensor.grad(sum(k * (p**2).sum() for k, p in enumerate(parts, 1)), x)
    for sizes in ((2, 1), (0, 2), (4, 0), (0, 0), (1, 1)):
        rows = np.random.default_rng(3).normal(size=(sizes[0] + 2 * sizes[1], 3))
        rows = rows if axis == 0 else rows.T
        assert same([x, a, b], [*parts, slope], rows, *sizes) == []


def test_i0e_and_i1e_are_kernels():
    dist_math = pytest.importorskip("pymc.distributions.dist_math", reason="needs PyMC")
    are_kernels({"i0e": dist_math.i0e(y), "i1e": dist_math.i1e(y)})


def are_kernels(results):
    special = pytest.importorskip("scipy.special")
    f = compiled([y], list(results.values()))
    assert bridge.report(f) == []
    at = np.array([-800.0, -30, -2, -0.3])
    for got, name in zip(f(at), results):
        np.testing.assert_allclose(got, getattr(special, name)(at), rtol=1e-14)


@pytest.mark.skipif(not hasattr(pt, "ndtri_exp"), reason="this PyTensor has no ndtri_exp")
def test_ndtri_exp_is_a_kernel():
    are_kernels({"ndtri_exp": pt.ndtri_exp(y)})
    assert same([y], [pytensor.grad(pt.ndtri_exp(y).sum(), y)], np.array([-40.0, -2, -0.3])) == []


def test_a_mask_must_have_the_shape_of_what_it_masks():
    m = pt.matrix("m", dtype="bool")
    f = compiled([x, m], pt.inc_subtensor(x[m], 1.0))
    for shape in ((4, 4), (4, 1), (1, 3)):
        with pytest.raises(IndexError, match="mask does not fit"):
            f(X, np.ones(shape, "bool"))
    np.testing.assert_allclose(f(X, X > 0), X + (X > 0))


@pytest.mark.parametrize("axis, size", [(0, 4), (1, 3)])
def test_a_constant_mask_must_have_the_size_of_its_axis(axis, size):
    from pytensor.compile.mode import get_mode

    mode = get_mode("CKERNELS").excluding("shape_unsafe")
    for count in (size - 1, size, size + 1):
        mask = np.arange(count) == 1
        key = (slice(None),) * axis + (mask,)
        f = pytensor.function([x], [x[key], pt.inc_subtensor(x[key], 1.0)], mode=mode)
        if count == size:
            np.testing.assert_array_equal(f(X)[0], X[key])
        else:
            with pytest.raises(IndexError, match="mask does not fit"):
                f(X)


# --- around it ------------------------------------------------------------------------------------


def test_compiled_functions_pickle():
    s = pytensor.shared(np.ones(3))
    f = compiled([x], pt.tanh(x) + s, updates=[(s, s * 2)])
    f(X)
    g = pickle.loads(pickle.dumps(f))
    np.testing.assert_allclose(g(X), np.tanh(X) + 2)


@pytest.mark.slow
def test_processes_that_load_a_compiled_function_compile_nothing(tmp_path):
    """As chains of PyMC do: the function travels as a pickle, its kernels by the compiledir."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    runs, wrapper = tmp_path / "runs", tmp_path / "cc"
    count = f'case "$*" in *" -c "*) echo run >> "{runs}";; esac'
    wrapper.write_text(f'#!/bin/sh\n{count}\nexec {compiler} "$@"\n')
    wrapper.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, pickle, sys, pytensor, pytensor.tensor as pt, ckernels.pytensor\n"
        "at, make = pathlib.Path(sys.argv[1]), len(sys.argv) > 2\n"
        "if make:\n"
        "    x = pt.dvector('x')\n"
        "    f = pytensor.function([x], pt.exp(x).sum() * x, mode='CKERNELS')\n"
        "    at.write_bytes(pickle.dumps(f))\n"
        "f = f if make else pickle.loads(at.read_bytes())\n"
        "print(f([0.0, 0.0, 1.0])[2])\n"
    )
    flags = f"cc={wrapper},compiledir={tmp_path / 'kernels'}"
    environment = {**os.environ, "CKERNELS_FLAGS": flags}

    def start(*more):
        command = [sys.executable, "-W", "ignore", str(program), str(tmp_path / "f"), *more]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    printed = [start("make").communicate()[0]]
    made = runs.read_text()
    printed += [child.communicate()[0] for child in [start(), start(), start(), start()]]
    assert [float(x) for x in printed] == pytest.approx([2 + np.e] * 5)
    assert made and runs.read_text() == made


def test_the_mode_by_name_and_as_the_default():
    before = pytensor.config.mode
    try:
        pytensor.config.mode = "CKERNELS"
        f = pytensor.function([y], y * 2)
    finally:
        pytensor.config.mode = before
    assert bridge.report(f) == []


def test_the_configuration_pickles_and_knows_the_mode():
    restored = pickle.loads(pickle.dumps(pytensor.config))
    with pytensor.config.change_flags(mode="CKERNELS"):
        assert pytensor.config.mode == "CKERNELS"
    restored.mode = "CKERNELS"
    assert restored.mode == "CKERNELS"
    with pytest.raises(ValueError):
        restored.mode = "NONE OF THESE"


def test_a_program_runs_as_it_is(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, pytensor, pytensor.tensor as pt\n"
        "v = pt.dvector('v')\n"
        "f = pytensor.function([v], v * 2)\n"
        "print(type(f.maker.linker).__name__, f([1.0, 2.0]), sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "ckernels.pytensor", str(program), "--flag"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["CKernelsLinker", "[2.", "4.]", "['--flag']"], done.stderr
