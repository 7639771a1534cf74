"""Reverse mode, Rop, Lop, Jacobians, Hessians: the manual's numbers, differences, what is cut."""

import numpy as np
import pytest
from ops.agree import check_gradient, leaf

from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import DisconnectedError, DTypeError, ShapeError
from ckernels.graph.node import constant
from ckernels.graph.op import RULES
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate

RNG = np.random.default_rng(17)


def value(nodes, env):
    return evaluate(nodes if isinstance(nodes, list) else [nodes], env)[0]


def vector(n=None):
    return leaf((n,))


# --- the manual's numbers ---------------------------------------------------------------------


def test_square():
    x = leaf(())
    g = reverse.grad(ops.pow(x, 2), x)
    assert value(g, {x: 4.0}) == 8.0
    np.testing.assert_allclose(value(g, {x: 94.2}), 188.4)


def test_logistic():
    x = leaf((None, None))
    g = reverse.grad(ops.sum(ops.true_div(1, ops.add(1, ops.exp(ops.neg(x))))), x)
    np.testing.assert_allclose(
        value(g, {x: np.array([[0.0, 1], [-1, -2]])}),
        [[0.25, 0.19661193], [0.19661193, 0.10499359]],
        rtol=1e-7,
    )


def test_jacobian_and_hessian():
    x = vector()
    env = {x: np.array([4.0, 4])}
    np.testing.assert_allclose(value(reverse.jacobian(ops.pow(x, 2), x), env), np.diag([8.0, 8]))
    np.testing.assert_allclose(
        value(reverse.hessian(ops.sum(ops.pow(x, 2)), x), env), np.diag([2.0, 2])
    )


def test_rop_and_lop():
    x, w, m, v = vector(), leaf((None, None)), leaf((None, None)), vector()
    y = ops.dot(x, w)
    r = reverse.Rop(y, w, m)
    np.testing.assert_allclose(
        value(r, {x: np.array([0.0, 1]), w: np.ones((2, 2)), m: 2 * np.ones((2, 2))}), [2, 2]
    )
    left = reverse.Lop(y, w, v)
    assert w not in toposort([left])  # the manual's function takes only (v, x)
    np.testing.assert_allclose(
        value(left, {x: np.array([0.0, 1]), v: np.array([2.0, 2])}), [[0, 0], [2, 2]]
    )


def test_hessian_times_vector_by_all_routes():
    x, v = vector(), vector()
    y = ops.sum(ops.pow(x, 2))
    g = reverse.grad(y, x)
    env = {x: np.array([4.0, 4]), v: np.array([2.0, 2])}
    for hv in (
        reverse.grad(ops.sum(ops.mul(g, v)), x),
        reverse.Rop(g, x, v),
        reverse.hessian_vector(y, x, v),
    ):
        np.testing.assert_allclose(value(hv, env), [4, 4])


def test_jacobian_of_the_scan_example():
    v, a = vector(), leaf((None, None))
    e0, m = np.eye(5)[0], np.eye(5, 3)
    m[2] = 1
    rows = value(reverse.jacobian(ops.tanh(ops.dot(v, a)), v), {v: e0, a: m})
    np.testing.assert_allclose(
        rows, [[0.41997434, 0, 0.41997434, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]], atol=1e-8
    )


def test_gradient_options_of_the_manual():
    x = leaf(())
    both = reverse.grad(ops.add(ops.pow(ops.grad_clip(x, -1, 1), 2), 0), x)
    assert value(both, {x: 2.0}) == 1.0
    np.testing.assert_allclose(value(reverse.grad(ops.sin(x), x), {x: 2.0}), -0.41614684)
    np.testing.assert_allclose(
        value(reverse.grad(ops.sin(ops.grad_scale(x, -1)), x), {x: 2.0}), 0.41614684
    )
    np.testing.assert_allclose(
        value(reverse.grad(ops.mul(x, ops.stop_gradient(x)), x), {x: 3.0}), 3
    )
    assert value(reverse.grad(ops.zero_grad(x), x), {x: 3.0}) == 0


def test_rop_and_hessian_where_the_cotangent_is_zero():
    """Rop differentiates by a cotangent of zeros: nothing may depend on its being 0."""
    x, v = vector(), vector()
    env = {x: np.array([4.0, 9]), v: np.array([1.0, 2])}
    np.testing.assert_allclose(value(reverse.Rop(ops.sqrt(x), x, v), env), [0.25, 1 / 3])
    cost = ops.sum(ops.square(ops.sub(ops.sqrt(x), 2)))  # the cotangent of sqrt(4) is 0
    np.testing.assert_allclose(value(reverse.hessian(cost, x), env), np.diag([0.125, 1 / 27]))
    np.testing.assert_allclose(value(reverse.Rop(ops.std(x), x, v), env), [0.5][0], rtol=1e-12)
    edge = {x: np.array([0.0, 1]), v: np.array([0.0, 1])}  # nothing flows through the slope inf
    np.testing.assert_allclose(value(reverse.Rop(ops.sqrt(x), x, v), edge), [0, 0.5])


def test_mixed_derivative_of_a_power_at_exponent_zero():
    x, p = vector(), vector()
    y = ops.pow(x, p)
    env = {x: np.array([2.0, 0.5, 3]), p: np.zeros(3)}
    for first, second in ((x, p), (p, x)):
        g = reverse.grad(ops.sum(reverse.grad(ops.sum(y), first)), second)
        np.testing.assert_allclose(value(g, env), [0.5, 2, 1 / 3])
    zero = {x: np.zeros(3), p: np.array([0.0, 1, 2])}
    np.testing.assert_array_equal(value(reverse.grad(ops.sum(y), x), zero), [0, 1, 0])


# --- accumulation -----------------------------------------------------------------------------


def test_shared_subexpressions_count_once():
    x = y = leaf(())
    for _ in range(60):  # 2**60 paths
        y = ops.add(y, y)
    g = reverse.grad(y, x)
    assert value(g, {x: 1.0}) == 2.0**60 and len(toposort([g])) < 200


def test_deep_graphs():
    x = y = leaf(())
    for _ in range(3000):
        y = ops.sin(y)
    assert np.isfinite(value(reverse.grad(y, x), {x: 0.5}))


def test_wrt_an_intermediate_and_several():
    x, y = vector(), vector()
    h = ops.mul(x, y)
    cost = ops.sum(ops.square(h))
    env = {x: np.array([1.0, 2]), y: np.array([3.0, 4])}
    gh, gx, gc = evaluate(reverse.grad(cost, [h, x, cost]), env)
    np.testing.assert_array_equal(gh, [6, 16])
    np.testing.assert_array_equal(gx, [18, 64])
    assert gc == 1
    assert isinstance(reverse.grad(cost, (h, x)), list) and reverse.grad(cost, h).shape == h.shape


def test_subset_of_a_table():
    table, i = leaf((None, None)), leaf((None,), "int64")
    subset = ops.getitem(table, i)
    g = reverse.grad(ops.sum(ops.square(subset)), subset)
    new = ops.inc_subtensor(table, i, ops.mul(g, -0.1))
    env = {table: np.ones((3, 2)), i: np.array([0, 2])}
    np.testing.assert_allclose(value(new, env), [[0.8, 0.8], [1, 1], [0.8, 0.8]])


def test_known_grads():
    x = vector()
    h = ops.square(x)
    env = {x: np.array([1.0, 2])}
    np.testing.assert_array_equal(
        value(reverse.grad(None, x, known_grads={h: constant(np.array([10.0, 1]))}), env), [20, 4]
    )
    # A known gradient replaces what the cost would send.
    cost = ops.sum(ops.add(h, x))
    np.testing.assert_array_equal(
        value(reverse.grad(cost, x, known_grads={h: constant(np.zeros(2))}), env), [1, 1]
    )
    with pytest.raises(ShapeError, match="was given"):
        reverse.grad(None, x, known_grads={leaf((3,)): constant(np.zeros(2))})
    with pytest.raises(ValueError, match="needs a cost"):
        reverse.grad(None, x)


def test_consider_constant():
    x = vector()
    h = ops.square(x)
    cost = ops.sum(ops.mul(h, x))
    env = {x: np.array([1.0, 2])}
    np.testing.assert_array_equal(value(reverse.grad(cost, x, consider_constant=[h]), env), [1, 4])
    np.testing.assert_array_equal(value(reverse.grad(cost, h, consider_constant=[h]), env), [1, 2])


def test_dtypes_of_gradients():
    x, n = leaf((3,), "float32"), leaf((3,), "int32")
    g = reverse.grad(ops.sum(ops.mul(ops.mul(x, n), constant(np.ones(3)))), x)
    assert g.dtype == "float32"
    half = leaf((3,), "float16")
    assert reverse.grad(ops.mean(ops.square(half)), half).dtype == "float16"


def test_lines_of_the_forward_graph():
    x = vector()
    y = ops.sum(ops.tanh(x))  # the line the gradient carries
    g = reverse.grad(y, x)
    made = [n for n in toposort([g]) if n.uid > y.uid]  # another test may keep an equal node alive
    assert made and all(n.line[0] == __file__ and n.line[1] == y.line[1] for n in made)


# --- what is refused --------------------------------------------------------------------------


def test_cost_must_be_a_float_scalar():
    x = vector()
    with pytest.raises(ShapeError, match=r"must be a scalar, but it has shape \(\?,\)"):
        reverse.grad(x, x)
    with pytest.raises(DTypeError, match="must be a float, but it is int64"):
        reverse.grad(ops.sum(ops.cast(x, "int64")), x)
    with pytest.raises(ValueError, match="disconnected"):
        reverse.grad(ops.sum(x), x, disconnected="maybe")


def test_no_path():
    x, y = leaf((2,), name="weights"), vector()
    with pytest.raises(
        DisconnectedError, match="does not depend on 'weights': there is no path"
    ) as caught:
        reverse.grad(ops.sum(y), x)
    assert "made at" in str(caught.value) or "agree.py" in str(caught.value)
    assert reverse.grad(ops.sum(y), x, disconnected="none") is None
    np.testing.assert_array_equal(
        value(reverse.grad(ops.sum(y), x, disconnected="zero"), {x: np.ones(2)}), [0, 0]
    )


@pytest.mark.parametrize(
    "block, name",
    [
        (lambda x: ops.cast(ops.argmax(x), "float64"), "argmax"),
        (lambda x: ops.sum(ops.cast(ops.cast(x, "int32"), "float64")), "cast to int32"),
        (lambda x: ops.sum(ops.stop_gradient(ops.square(x))), "stop_gradient"),
        (lambda x: ops.sum(ops.cast(ops.gt(x, 0), "float64")), "gt"),
        (lambda x: ops.cast(ops.sum(ops.shape(x)), "float64"), "shape"),
        (lambda x: ops.sum(ops.broadcast_like(ops.sum(leaf((4,))), x)), "broadcast_like"),
    ],
)
def test_blocked_paths_name_the_block(block, name):
    x = leaf((None,), name="weights")
    with pytest.raises(DisconnectedError, match=f"blocked at {name}") as caught:
        reverse.grad(block(x), x)
    message = str(caught.value)
    assert "test_reverse.py" in message and len(message.splitlines()) <= 15
    assert reverse.grad(block(x), x, disconnected="none") is None


def test_blocked_by_consider_constant_and_integers():
    x = vector()
    h = ops.square(x)
    with pytest.raises(DisconnectedError, match="blocked at consider_constant"):
        reverse.grad(ops.sum(h), x, consider_constant=[h])
    n = leaf((3,), "int64")
    with pytest.raises(DisconnectedError, match="it is int64, and only floats have one"):
        reverse.grad(ops.sum(ops.mul(n, 0.5)), n)


# --- products with Jacobians ------------------------------------------------------------------


def network(x, w, b):
    h = ops.tanh(ops.add(ops.dot(x, w), b))
    return ops.softmax(ops.concatenate([h, ops.getitem(x, (slice(None), slice(0, 1)))], 1))


BUILDS = [
    (lambda x: ops.exp(x), (3,)),
    (lambda x: ops.sum(ops.square(x), 0), (3, 2)),
    (lambda x: ops.dot(x, ops.transpose(x)), (2, 3)),
    (lambda x: ops.getitem(ops.square(x), [0, 0, 2]), (3, 2)),
    (lambda x: ops.getitem(ops.exp(x), ([0, 1], slice(None), [1, 0])), (2, 2, 2)),
    (lambda x: ops.set_subtensor(ops.square(x), (slice(None), 0), ops.sum(x)), (2, 2)),
    (lambda x: ops.inc_subtensor(ops.square(x), [0, 0], ops.exp(ops.getitem(x, [1, 0]))), (3, 2)),
    (
        lambda x: ops.set_subtensor(ops.square(x), ([0, 1], slice(None), [1, 0]), ops.sum(x, 0)),
        (2, 2, 2),
    ),
    (lambda x: ops.softmax(ops.square(x)), (2, 3)),
    (lambda x: ops.logsumexp(x, 1), (2, 3)),
    (lambda x: ops.log_softmax(x, 0), (2, 3)),
    (lambda x: ops.var(x, 0), (3, 2)),
    (lambda x: ops.reshape(ops.mean(ops.square(x), 0), (2, 1)), (3, 2)),
    (lambda x: ops.cumsum(ops.exp(x), 0), (3,)),
    (lambda x: ops.cumprod(x, 1), (2, 3)),
    (lambda x: ops.sort(ops.square(x), 1), (2, 3)),
    (lambda x: ops.inverse(x), (2, 2)),
    (lambda x: ops.solve(x, ops.getitem(x, 0)), (2, 2)),
    (lambda x: ops.det(x), (2, 2)),
    (lambda x: ops.diag(ops.square(x)), (3,)),
    (lambda x: ops.diagonal(ops.square(x), 1), (3, 3)),
    (lambda x: ops.fill_diagonal(ops.square(x), ops.sum(x)), (2, 3)),
    (lambda x: ops.tril(ops.exp(x)), (3, 3)),
    (lambda x: ops.pad(ops.square(x), ((1, 0), (0, 2))), (2, 2)),
    (lambda x: ops.tile(ops.exp(x), (2, 2)), (2,)),
    (lambda x: ops.repeat(ops.exp(x), [1, 0, 2], 0), (3,)),
    (lambda x: ops.take(ops.exp(x), [[0, 1], [2, 0]], 1), (2, 3)),
    (lambda x: ops.max(ops.square(x), 1), (2, 3)),
    (lambda x: ops.prod(x, 0), (3, 2)),
    (lambda x: ops.squeeze(ops.flip(ops.expand(ops.exp(x), (1,)), 0), 1), (3,)),
    (lambda x: ops.batch_dot(x, ops.exp(x), 1), (2, 3)),
    (lambda x: ops.tensordot(x, x, ((0,), (1,))), (2, 2)),
    (lambda x: ops.take_along_axis(ops.exp(x), [[1], [0]], 1), (2, 2)),
    (lambda x: ops.getitem(ops.exp(x), slice(None, ops.sum(ops.shape(x)) // 2)), (4,)),
    (lambda x: ops.stack([ops.sum(x), ops.prod(x)]), (3,)),
    (lambda x: ops.matmul(x, x), (2, 2, 2)),
    (lambda x: ops.where(ops.gt(x, 0), ops.exp(x), 0.5), (4,)),
    (lambda x: ops.broadcast_like(ops.sum(x), x), (3,)),
    (lambda x: ops.cholesky(ops.add(ops.dot(x, ops.transpose(x)), np.eye(2))), (2, 2)),
    (lambda x: ops.svd(x)[1], (3, 2)),
    (lambda x: ops.eigh(ops.add(x, ops.transpose(x)))[0], (2, 2)),
]  # fmt: skip


def numeric_jacobian(f, x, step=1e-6):
    out = np.zeros(f(x).shape + x.shape)
    for at in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        out[(Ellipsis,) + at] = (f(up) - f(down)) / (2 * step)
    return out


@pytest.mark.parametrize("case", range(len(BUILDS)))
@pytest.mark.parametrize("static", [True, False])
def test_jacobians_and_products(case, static):
    build, shape = BUILDS[case]
    at = RNG.normal(size=shape)
    x = leaf(shape if static else (None,) * len(shape))
    y = build(x)
    want = numeric_jacobian(lambda a: value(y, {x: a}), at)
    got = value(reverse.jacobian(y, x), {x: at})
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
    v, u = RNG.normal(size=shape), RNG.normal(size=want.shape[: want.ndim - len(shape)])
    r = value(reverse.Rop(y, x, constant(v)), {x: at})
    np.testing.assert_allclose(r, np.tensordot(want, v, len(shape)), rtol=1e-5, atol=1e-6)
    left = value(reverse.Lop(y, x, constant(u)), {x: at})
    np.testing.assert_allclose(left, np.tensordot(u, want, u.ndim), rtol=1e-5, atol=1e-6)


def test_a_network_to_second_order():
    x, w, b = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 4)), RNG.normal(size=4)
    check_gradient(network, x, w, b, rtol=1e-4)


def test_hessians():
    x, a = vector(), RNG.normal(size=(3, 3))
    quadratic = ops.mul(0.5, ops.dot(x, ops.dot(constant(a), x)))
    env = {
        x: RNG.normal(size=3),
    }
    np.testing.assert_allclose(value(reverse.hessian(quadratic, x), env), (a + a.T) / 2, rtol=1e-10)
    cost = ops.sum(ops.mul(ops.exp(x), ops.prod(x)))
    want = numeric_jacobian(lambda p: value(reverse.grad(cost, x), {x: p}), env[x])
    np.testing.assert_allclose(value(reverse.hessian(cost, x), env), want, rtol=1e-5, atol=1e-6)
    v = RNG.normal(size=3)
    np.testing.assert_allclose(
        value(reverse.hessian_vector(cost, x, constant(v)), env), want @ v, rtol=1e-5, atol=1e-6
    )
    m = leaf((None, None))
    h = value(reverse.hessian(ops.sum(ops.exp(m)), m), {m: np.zeros((2, 2))})
    np.testing.assert_allclose(h, np.eye(4).reshape(2, 2, 2, 2))


def test_lists_in_lists_out():
    x, y = vector(), vector()
    f = ops.mul(x, y)
    env = {x: np.array([1.0, 2]), y: np.array([3.0, 5])}
    jx, jy = evaluate(reverse.jacobian(f, [x, y]), env)
    np.testing.assert_array_equal(jx, np.diag([3.0, 5]))
    np.testing.assert_array_equal(jy, np.diag([1.0, 2]))
    both = reverse.Rop([f, ops.square(y)], [x, y], [constant(np.ones(2)), constant(np.ones(2))])
    np.testing.assert_array_equal(evaluate(both, env), [[4, 7], [6, 10]])
    left = reverse.Lop([f, ops.square(y)], [x, y], [constant(np.ones(2)), constant(np.ones(2))])
    np.testing.assert_array_equal(evaluate(left, env), [[3, 5], [7, 12]])
    zero = reverse.Rop(ops.square(y), x, constant(np.ones(2)))
    np.testing.assert_array_equal(value(zero, env), [0, 0])
    with pytest.raises(ValueError, match="one for each"):
        reverse.Rop(f, [x, y], [x])


def test_jacobians_of_what_is_disconnected():
    x, y = vector(2), vector(3)
    with pytest.raises(DisconnectedError):
        reverse.jacobian(ops.square(y), x)
    zero = value(
        reverse.jacobian(ops.square(y), x, disconnected="zero"), {x: np.ones(2), y: np.ones(3)}
    )
    assert zero.shape == (3, 2) and not zero.any()
    assert reverse.jacobian(ops.square(y), x, disconnected="none") is None
    with pytest.raises(DTypeError, match="Jacobian"):
        reverse.jacobian(ops.argmax(leaf((2, 3)), 0), x)


def test_rows_without_a_batch_rule_are_steps_of_a_scan(monkeypatch):
    import ckernels.autodiff.batch  # noqa: F401 (it registers the rules)

    monkeypatch.delitem(RULES["batch"], "cumsum")
    for n in (3, None):
        x = vector(n)
        jacobian = reverse.jacobian(ops.cumsum(ops.exp(x)), x)
        for at in (RNG.normal(size=3), np.zeros(0))[: 1 + (n is None)]:
            want = np.tril(np.exp(at)[None] * np.ones((len(at), 1)))
            np.testing.assert_allclose(value(jacobian, {x: at}), want)


def test_empty_jacobian():
    x = vector()
    assert value(reverse.jacobian(ops.exp(x), x), {x: np.zeros(0)}).shape == (0, 0)
