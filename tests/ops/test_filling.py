"""Joining, cutting and filling against NumPy: concatenate, split, pad, roll, arange, diagonals."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.ops.reference import evaluate

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(6)


def value(shape, dtype="float64"):
    return (RNG.normal(size=shape) * 10).astype(dtype)


def test_concatenate_stack_split():
    x, y = value((2, 3)), value((4, 3))
    agree(lambda x, y: ops.concatenate([x, y, x]), lambda x, y: np.concatenate([x, y, x]), x, y)
    agree(
        lambda x, y: ops.concatenate([x, y], -2),
        lambda x, y: np.concatenate([x, y]),
        x,
        y.astype("float32"),
    )
    cubes = [value((2, 2, 2, 2)) for _ in range(3)]
    for axis in (0, 1, 3, -2):
        agree(
            lambda *c, axis=axis: ops.stack(c, axis),
            lambda *c, axis=axis: np.stack(c, axis),
            *cubes,
        )
    agree(
        lambda a, b: ops.stack([a, b, 3.0]),
        lambda a, b: np.array([a, b, 3]),
        np.float64(1),
        np.float64(2),
    )
    agree(lambda y: ops.split(y, 2), lambda y: np.split(y, 2), y, exact_shape=True)
    agree(lambda y: ops.split(y, [1, 0, 2], 1), lambda y: [y[:, :1], y[:, 1:1], y[:, 1:]], y)
    check_gradient(lambda x, y: ops.concatenate([x, ops.square(y), x]), x, y)
    check_gradient(lambda x: ops.split(ops.square(x), 3, 1)[1], x)
    for bad in ([leaf((2, 3)), leaf((2, 4))], [leaf((2,)), leaf((2, 2))], [], [leaf(())]):
        with pytest.raises(ShapeError):
            ops.concatenate(bad, 0)
    with pytest.raises(ShapeError, match="cannot concatenate shapes"):
        a, b = leaf((None, None)), leaf((None, None))
        evaluate([ops.concatenate([a, b], 0)], {a: x, b: x.T})
    with pytest.raises(ShapeError, match="split"):
        ops.split(leaf((5,)), 2)


def test_pad_and_roll():
    x = value((2, 3))
    agree(lambda x: ops.pad(x, ((1, 2), (0, 1))), lambda x: np.pad(x, ((1, 2), (0, 1))), x)
    agree(
        lambda x: ops.pad(x, ((0, 2), (3, 0)), -1),
        lambda x: np.pad(x, ((0, 2), (3, 0)), constant_values=-1),
        x.astype("int16"),
    )
    agree(
        lambda x, v: ops.pad(x, ((0, 2), (3, 0)), v),
        lambda x, v: np.pad(x, ((0, 2), (3, 0)), constant_values=v),
        x,
        np.float64(4),
    )
    check_gradient(lambda x, v: ops.pad(ops.square(x), ((0, 2), (3, 0)), ops.square(v)), x, 0.5)
    for shift in (0, 1, -2, 7):
        agree(
            lambda x, shift=shift: ops.roll(x, shift, 1),
            lambda x, shift=shift: np.roll(x, shift, 1),
            x,
        )
        agree(
            lambda x, shift=shift: ops.roll(x, shift), lambda x, shift=shift: np.roll(x, shift), x
        )
        agree(lambda x, s: ops.roll(x, s, 0), lambda x, s: np.roll(x, s, 0), x, np.int64(shift))


@pytest.mark.parametrize(
    "bounds",
    [
        (5,),
        (0,),
        (2, 9),
        (9, 2),
        (9, 2, -2),
        (0, 40, 3),
        (-3, 3),
        (0, 1, 0.1),
        (1, 2.5),
        (0.5, 30, 0.7),
        (3, 0, -0.5),
    ],
)
def test_arange(bounds):
    static = ops.arange(*bounds)
    want = np.arange(*bounds)
    (got,) = evaluate([static], {})
    np.testing.assert_array_equal(got, np.arange(*bounds, dtype=static.dtype))
    if all(isinstance(b, int) for b in bounds):
        assert static.dtype == "int64"
    agree(lambda *b: ops.arange(*b), want, *bounds, exact_shape=False)
    agree(
        lambda *b: ops.arange(*b, dtype="int32") if len(bounds) == 3 else ops.arange(*b),
        np.arange(*bounds).astype("int32") if len(bounds) == 3 and want.dtype.kind == "i" else want,
        *bounds,
        exact_shape=False,
    ) if want.dtype.kind == "i" else None


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_arange_of_floats_rounds_as_numpys(dtype):
    """NumPy adds multiples of a rounded step, in float32 for the narrow ones."""
    for bounds in [(-5, 1.1, 1.2), (0.1, 40, 0.7), (1.3, -9, -0.3), (1e3, 1.01e3, 0.1), (3, 4, 7)]:
        given = [np.array(b, dtype) for b in bounds]
        want = np.arange(*(g.item() for g in given), dtype=dtype)
        inputs = [leaf((), dtype) for _ in bounds]
        for found in (
            ops.arange(*(g.item() for g in given), dtype),
            ops.arange(*inputs, dtype),
        ):
            (got,) = evaluate([found], dict(zip(inputs, given)))
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize(
    "bounds",
    [
        (-5, 0, 1),
        (-5, -7, 1),
        (250, 300, 1),
        (255, 258, 1),
        (0, 1000, 300),
        (0, 100, 300),
        (3 * 10**9, 3 * 10**9 + 3, 1),
        (0, 2**62, 2**61),
        (5, 3, -1),
        (1, -40, -2),
        (-1, 40, 2),
    ],
)
def test_arange_that_leaves_its_dtype_at_once_is_refused_as_in_numpy(bounds, dtype):
    """With constants, and with bounds that are known in a call only."""
    inputs = [leaf((), "int64") for _ in bounds]
    values = dict(zip(inputs, map(np.int64, bounds)))
    try:
        want = np.arange(*bounds, dtype=dtype)
    except OverflowError:
        with pytest.raises(DTypeError, match=f"does not fit in {dtype}"):
            ops.arange(*bounds, dtype)
        with pytest.raises(DTypeError, match=f"does not fit in {dtype}"):
            evaluate([ops.arange(*inputs, dtype)], values)
    else:
        for found in (ops.arange(*bounds, dtype), ops.arange(*inputs, dtype)):
            np.testing.assert_array_equal(evaluate([found], values)[0], want)


def test_arange_of_sizes_has_a_static_shape():
    x = leaf((None, 4))
    assert ops.arange(ops.size_of(x, 1)).shape == (4,)
    assert ops.arange(ops.size_of(x, 0)).shape == (None,)
    agree(lambda x: ops.arange(0, ops.size_of(x, 0)), lambda x: np.arange(len(x)), value((7, 2)))
    with pytest.raises(ShapeError):
        ops.arange(0, 5, 0)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3)])
@pytest.mark.parametrize("k", [0, 1, -1, 3])
def test_diagonals(shape, k):
    x = value(shape)
    agree(lambda x: ops.diagonal(x, k), lambda x: np.diagonal(x, k), x)
    agree(lambda x: ops.diag(x, k), lambda x: np.diag(x, k), x)
    agree(lambda x: ops.tril(x, k), lambda x: np.tril(x, k), x)
    agree(lambda x: ops.triu(x, k), lambda x: np.triu(x, k), x)
    want, _ = evaluate([ops.eye(*shape, k), ops.eye(3)], {})
    np.testing.assert_array_equal(want, np.eye(*shape, k, dtype="float32"))
    full = x.copy()
    rows = [(i, i + k) for i in range(shape[0]) if 0 <= i + k < shape[1]]
    for at in rows:
        full[at] = 9
    agree(lambda x: ops.fill_diagonal(x, 9, k), full, x)
    if x.size:
        check_gradient(lambda x: ops.diagonal(ops.square(x), k), x)
        check_gradient(lambda x, v: ops.fill_diagonal(ops.square(x), ops.square(v), k), x, 0.5)
        check_gradient(lambda x: ops.tril(ops.square(x), k), x)


def test_more_diagonals():
    v, cube = value((3,)), value((2, 3, 4))
    for k in (0, 2, -1):
        agree(lambda v, k=k: ops.diag(v, k), lambda v, k=k: np.diag(v, k), v)
        check_gradient(lambda v, k=k: ops.diag(ops.square(v), k), v)
    agree(lambda x: ops.diagonal(x, 1, 2, 0), lambda x: np.diagonal(x, 1, 2, 0), cube)
    agree(lambda x: ops.trace(x, 0, 0, 2), lambda x: np.trace(x, 0, 0, 2), cube, rtol=1e-14)
    same = value((3, 3, 3))
    want = same.copy()
    np.fill_diagonal(want, 2)
    agree(lambda x: ops.fill_diagonal(x, 2), want, same)
    for bad in (
        lambda: ops.diag(leaf(())),
        lambda: ops.diagonal(leaf((3,))),
        lambda: ops.tril(leaf((3,))),
        lambda: ops.fill_diagonal(leaf((3, 3, 2)), 1),
    ):
        with pytest.raises(ShapeError):
            bad()


def test_one_hot_and_nonzero():
    i = np.array([[0, 2], [1, 5]])
    want = (i[..., None] == np.arange(3)).astype("float32")
    agree(lambda i: ops.one_hot(i, 3), want, i)
    agree(lambda i: ops.one_hot(i, 3, "int8"), want.astype("int8"), i.astype("uint8"))
    x = np.array([[0, 1.5, 0], [2, 0, np.nan]])
    agree(
        lambda x: ops.nonzero(x),
        lambda x: [a.astype("int64") for a in np.nonzero(x)],
        x,
        exact_shape=False,
    )
    agree(lambda x: ops.flatnonzero(x), lambda x: np.flatnonzero(x), x, exact_shape=False)
    agree(lambda x: ops.argwhere(x), lambda x: np.argwhere(x), x, exact_shape=False)
    with pytest.raises(ShapeError):
        ops.nonzero(leaf(()))
    with pytest.raises(DTypeError):
        ops.one_hot(leaf((2,)), 3)


def test_scatter_add():
    like, i, g = np.zeros((4, 2)), np.array([3, 0, 3]), value((3, 2))
    want = np.zeros((4, 2))
    np.add.at(want, i, g)
    agree(lambda x, i, g: ops.scatter_add(x, i, g), want, like, i, g)
    check_gradient(lambda g: ops.scatter_add(like, i, ops.square(g)), g)
    with pytest.raises(ShapeError, match="scatter_add"):
        ops.scatter_add(leaf((4, 2)), leaf((3,), "int64"), leaf((2, 2)))
