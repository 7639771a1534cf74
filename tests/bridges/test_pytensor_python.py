"""What runs in Python between plans of the PyTensor bridge, and inside of them."""

import numpy as np
import pytest
from pytensor_support import RNG, X, Y, bridge, compiled, pt, pytensor, x, y


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
            np.divide(inputs[0], inputs[0])

        def infer_shape(self, *args):
            return args[-1]

    f = compiled([y], Odd()(y) * 2)
    np.testing.assert_allclose(f(Y), (Y + 1) * 2)
    with pytest.raises(KeyError, match="too large"):
        f(Y + 100)
    with pytest.warns(RuntimeWarning, match="invalid value"):  # as in PyTensor's own modes
        f(Y * 0)


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
