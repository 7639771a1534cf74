"""Products and decompositions against NumPy over ranks, batches, dtypes; their gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(11)


def value(*shape, dtype="float64"):
    return (RNG.normal(size=shape) * 3).astype(dtype)


MATMUL = [
    ((2, 3), (3, 4)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((4, 5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 0, 3), (3, 4)),
    ((5, 2, 0), (0, 4)),
    ((0,), (0,)),
]  # fmt: skip


@pytest.mark.parametrize("a, b", MATMUL)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
def test_matmul(a, b, dtype):
    agree(
        ops.matmul,
        np.matmul,
        value(*a, dtype=dtype),
        value(*b, dtype=dtype),
        rtol=1e-5 if dtype == "float32" else 1e-13,
    )


@pytest.mark.parametrize(
    "a, b",
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (4, 3, 5)),
        ((), (2, 3)),
        ((2,), (4, 2, 5)),
        ((4, 2, 3), (3,)),
        ((4, 2, 3), (2, 3, 4)),
        ((), ()),
        ((2, 0), (0, 3)),
        ((2, 3), (0, 3, 5)),
    ],
)
def test_dot(a, b):
    x, y = value(*a), value(*b)
    agree(ops.dot, lambda x, y: np.asarray(np.dot(x, y)), x, y, rtol=1e-13)
    if x.size and y.size:
        check_gradient(ops.dot, x, y)
        check_gradient(ops.dot, x, y, static=True, order=1)


def test_dtypes_of_products():
    for a in dtypes.ALL:
        for b in ("float32", a):
            assert ops.dot(leaf((2, 3), a), leaf((3, 2), b)).dtype == dtypes.promote([a, b])
            assert ops.dot(leaf((3,), a), leaf((3,), b)).dtype == dtypes.promote([a, b])
    x = value(3, dtype="float16")
    agree(
        ops.dot,
        np.asarray(np.dot(x.astype("float32"), x.astype("float32"))).astype("float16"),
        x,
        x,
        rtol=2e-3,
    )


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_tensordot(data):
    shape = st.lists(st.integers(1, 3), min_size=0, max_size=3)
    common = data.draw(shape)
    a, b = data.draw(shape), data.draw(shape)
    order_a = data.draw(st.permutations(range(len(a) + len(common))))
    order_b = data.draw(st.permutations(range(len(b) + len(common))))
    x = value(*(common + a)).transpose(order_a)
    y = value(*(common + b)).transpose(order_b)
    axes = (
        [order_a.index(i) for i in range(len(common))],
        [order_b.index(i) for i in range(len(common))],
    )
    agree(
        lambda x, y: ops.tensordot(x, y, axes),
        lambda x, y: np.tensordot(x, y, axes),
        x,
        y,
        rtol=1e-12,
    )


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((6, 1), (1, 6)), ((5, 0), (0, 5))])
def test_tensordot_of_sizes_of_equal_products(shapes):
    x, y = leaf((None, None)), leaf((None, None))
    f = make_function([x, y], [ops.tensordot(x, y, 2)])
    assert f(np.ones((2, 3)), np.ones((2, 3))) == [6] and len(f.steps()) == 1
    with pytest.raises(ShapeError, match="cannot broadcast"):
        f(*map(np.ones, shapes))


def test_tensordot_of_the_manual():
    x, y = value(2, 3, 4), value(5, 6, 4, 3)
    agree(
        lambda x, y: ops.tensordot(x, y, [[1, 2], [3, 2]]),
        lambda x, y: np.tensordot(x, y, [[1, 2], [3, 2]]),
        x,
        y,
        rtol=1e-12,
    )
    agree(lambda x, y: ops.tensordot(x, y, 0), lambda x, y: np.tensordot(x, y, 0), x, y, rtol=1e-12)
    with pytest.raises(ShapeError, match="against axis"):
        ops.tensordot(leaf((2, 3, 4)), leaf((5, 6, 4, 3)))
    check_gradient(lambda x, y: ops.tensordot(x, y, 1), value(2, 3), value(3, 2, 2))


def batch_dot_loop(x, y, a, b):
    rows = [np.tensordot(x[i], y[i], ([a - 1], [b - 1])) for i in range(len(x))]
    out = np.stack(rows)
    return out if out.ndim > 1 else out[:, None]


@pytest.mark.parametrize(
    "x, y, axes",
    [
        ((2, 2), (2, 2), 1),
        ((4, 3), (4, 5, 3), (1, 2)),
        ((6, 3, 1), (6, 4, 3), (1, 2)),
        ((4, 3), (4, 3), None),
        ((4, 3, 2), (4, 2, 5), None),
        ((4, 3, 2), (4, 2), None),
        ((4, 2), (4, 2, 5), None),
        ((4, 3, 2), (4, 5, 2), 2),
        ((4, 3, 2), (4, 5, 2), (-1, -1)),
        ((4, 3, 2, 5), (4, 6, 3), (1, 2)),
        ((4, 3, 2, 5), (4, 2, 3, 2), [2, 1]),
    ],
)
def test_batch_dot(x, y, axes):
    a, b = value(*x), value(*y)
    i, j = (axes, axes) if isinstance(axes, int) else axes or (a.ndim - 1, max(b.ndim - 2, 1))
    agree(
        lambda x, y: ops.batch_dot(x, y, axes),
        lambda x, y: batch_dot_loop(x, y, i % x.ndim, j % y.ndim),
        a,
        b,
        rtol=1e-12,
    )
    check_gradient(lambda x, y: ops.batch_dot(x, y, axes), a, b, order=1)


def test_batch_dot_of_the_manual():
    x, y = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    agree(lambda x, y: ops.batch_dot(x, y, 1), np.array([[17.0], [53]]), x, y)
    assert ops.batch_dot(leaf((100, 20)), leaf((100, 30, 20)), (1, 2)).shape == (100, 30)
    with pytest.raises(ShapeError, match="batch"):
        ops.batch_dot(leaf((4, 3)), leaf((4, 3)), (0, 1))


@pytest.mark.parametrize(
    "build",
    [
        lambda: ops.dot(leaf((2, 3)), leaf((2, 3))),
        lambda: ops.dot(leaf((3,)), leaf((4,))),
        lambda: ops.matmul(leaf((2, 3)), leaf((5, 4, 3))),
        lambda: ops.matmul(leaf((2, 2, 3)), leaf((3, 3, 4))),
        lambda: ops.matmul(leaf(()), leaf((3,))),
        lambda: ops.matmul(leaf((4, 2, 3)), leaf((4, 5))),
    ],
)
def test_static_conflicts(build):
    with pytest.raises(ShapeError, match=r"\("):
        build()


@pytest.mark.parametrize(
    "a, b", [((2, 3), (2, 3)), ((3,), (4,)), ((1,), (3,)), ((3,), (1,)), ((1, 2, 3), (4, 5))]
)
def test_conflicts_at_run_time(a, b):
    x, y = leaf((None,) * len(a)), leaf((None,) * len(b))
    with pytest.raises(ShapeError):
        evaluate([ops.dot(x, y)], {x: np.zeros(a), y: np.zeros(b)})


@pytest.mark.parametrize("a, b", MATMUL[:11])
def test_matmul_gradients(a, b):
    check_gradient(ops.matmul, value(*a) / 3, value(*b) / 3)
    check_gradient(ops.matmul, value(*a) / 3, value(*b) / 3, static=True, order=1)


def test_outer():
    agree(ops.outer, np.outer, value(2, 2), value(3), rtol=1e-15)
    check_gradient(ops.outer, value(2), value(3))


# --- decompositions ---------------------------------------------------------------------------


def well(*shape):
    """Square matrices far from singular."""
    return RNG.normal(size=shape) + 3 * np.eye(shape[-1])


def positive(*shape):
    a = RNG.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (0, 0), (2, 3, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_square(shape, dtype):
    tight = 1e-10 if dtype == "float64" else 1e-3
    x = well(*shape).astype(dtype)
    agree(ops.inverse, np.linalg.inv, x, rtol=tight)
    agree(ops.det, np.linalg.det, x, rtol=tight)
    p = positive(*shape).astype(dtype)
    agree(ops.cholesky, np.linalg.cholesky, p, rtol=tight)
    agree(lambda x: list(ops.eigh(x)), lambda x: list(np.linalg.eigh(x)), p, rtol=tight)
    b = value(*shape[:-1], 2, dtype=dtype)
    agree(ops.solve, np.linalg.solve, x, b, rtol=tight)
    v = value(shape[-1], dtype=dtype)
    agree(
        ops.solve,
        lambda a, b: np.linalg.solve(a, np.broadcast_to(b[:, None], a.shape[:-1] + (1,)))[..., 0],
        x,
        v,
        rtol=tight,
    )


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)])
def test_rectangular(shape):
    x = value(*shape)
    agree(
        lambda x: list(ops.svd(x)),
        lambda x: list(np.linalg.svd(x, full_matrices=False)),
        x,
        rtol=1e-10,
    )
    agree(lambda x: list(ops.qr(x)), lambda x: list(np.linalg.qr(x)), x, rtol=1e-10)
    agree(ops.pinv, np.linalg.pinv, x, rtol=1e-10)
    u, s, v = ops.svd(leaf(shape))
    assert s.shape == shape[:-2] + (min(shape[-2:]),) and v.shape[-1] == shape[-1]


def test_integers_and_half_compute_in_floats():
    x = np.array([[2, 1], [1, 1]])
    agree(ops.inverse, np.array([[1.0, -1], [-1, 2]]), x, rtol=1e-12)
    agree(ops.inverse, np.array([[1, -1], [-1, 2]], "float16"), x.astype("float16"), rtol=1e-2)


def test_refused():
    for build in (
        lambda: ops.inverse(leaf((2, 3))),
        lambda: ops.det(leaf((3,))),
        lambda: ops.svd(leaf((3,))),
        lambda: ops.solve(leaf((3, 3)), leaf((2,))),
        lambda: ops.solve(leaf((3, 3)), leaf((2, 3))),
    ):
        with pytest.raises(ShapeError, match=r"\("):
            build()
    x = leaf((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match=r"inverse of float64 \(2, 2\): Singular"):
        evaluate([ops.inverse(x)], {x: np.ones((2, 2))})
    with pytest.raises((DTypeError, TypeError)):
        ops.matmul(None, x)


@pytest.mark.parametrize(
    "x",
    [
        [[1.0, 2], [2, 4]],
        [[0, 0], [0, 0]],
        [[0, 0], [0, 7]],
        [[3.0]],
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        np.zeros((0, 0)),
    ],
)
def test_gradient_of_the_determinant_of_singular_matrices(x):
    a, x = leaf(np.shape(x)), np.array(x, "float64")
    (got,) = evaluate([reverse.grad(ops.det(a), a)], {a: x})
    want = np.zeros_like(x)
    for i, j in np.ndindex(*x.shape):
        minor = np.delete(np.delete(x, i, 0), j, 1)
        want[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(got, want, atol=1e-13)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_square_gradients(shape):
    x = well(*shape)
    check_gradient(ops.inverse, x)
    check_gradient(ops.det, x)
    check_gradient(
        lambda x: ops.cholesky(ops.add(ops.matmul(x, ops.swapaxes(x, -1, -2)), ops.eye_like(x))),
        x,
        rtol=1e-4,
    )
    check_gradient(lambda x: ops.cholesky(x), positive(*shape) + 0.0, order=0)
    check_gradient(ops.solve, x, value(*shape[:-1], 2))
    check_gradient(ops.solve, x, value(shape[-1]))
    symmetric = lambda x: ops.eigh(ops.add(x, ops.swapaxes(x, -1, -2)))  # noqa: E731
    check_gradient(lambda x: symmetric(x)[0], x, rtol=1e-4)
    check_gradient(lambda x: ops.square(symmetric(x)[1]), x, rtol=1e-4, order=1)
    check_gradient(lambda x: [symmetric(x)[0], ops.square(symmetric(x)[1])], x, rtol=1e-4, order=1)


def test_eigh_reads_the_lower_triangle():
    check_gradient(lambda x: ops.eigh(x)[0], positive(3, 3), rtol=1e-4)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_rectangular_gradients(shape):
    x = value(*shape)

    def signless(x):
        u, s, v = ops.svd(x)
        return [ops.square(u), s, ops.square(v)]

    check_gradient(signless, x, rtol=1e-4, order=1)
    check_gradient(lambda x: ops.svd(x)[1], x, rtol=1e-4)
    check_gradient(ops.pinv, x, rtol=1e-4)
    if shape[-2] >= shape[-1]:
        check_gradient(lambda x: [ops.square(n) for n in ops.qr(x)], x, rtol=1e-4)
