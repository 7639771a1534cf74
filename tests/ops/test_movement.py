"""Movement ops against NumPy: any layout, unknown and concrete shapes, empty and 0-d tensors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import IndexOutOfBounds, ShapeError
from ckernels.ops.shape import known_values

from .agree import agree, check_gradient, leaf

SHAPES = [(), (3,), (0,), (2, 3), (1, 4), (2, 0, 3), (2, 3, 4), (1, 1, 2, 3)]
RNG = np.random.default_rng(3)


def value(shape, dtype="float64"):
    return (RNG.normal(size=shape) * 10).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_shapes_and_orders(shape, dtype):
    x = value(shape, dtype)
    agree(ops.transpose, np.transpose, x)
    agree(ops.shape, np.array(shape, "int64"), x)
    agree(ops.flatten, lambda x: x.reshape(-1), x)
    agree(lambda x: ops.flip(x), np.flip, x)
    agree(lambda x: ops.expand_dims(x, 0), lambda x: x[None], x)
    agree(lambda x: ops.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), x)
    agree(lambda x: ops.squeeze(ops.expand_dims(x, -1), -1), lambda x: x, x)
    agree(lambda x: ops.reshape(x, (1,) + shape), lambda x: x[None], x)
    agree(
        lambda x: ops.broadcast_to(x, (2,) + shape), lambda x: np.broadcast_to(x, (2,) + shape), x
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_any_permutation(shape, random):
    perm = list(range(len(shape)))
    random.shuffle(perm)
    agree(lambda x: ops.transpose(x, perm), lambda x: np.transpose(x, perm), value(shape))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=3), st.data())
@settings(max_examples=60, deadline=None)
def test_any_slice(shape, data):
    bound = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(-3, 3).filter(bool)
    slices = [slice(data.draw(bound), data.draw(bound), data.draw(step)) for _ in shape]
    agree(lambda x: ops.slice_(x, slices), lambda x: x[tuple(slices)], value(shape))


@given(
    st.lists(st.integers(1, 3), min_size=0, max_size=3),
    st.lists(st.integers(0, 3), min_size=0, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_tile(shape, reps):
    agree(lambda x: ops.tile(x, reps), lambda x: np.tile(x, reps), value(shape))


@pytest.mark.parametrize(
    "shape, axis", [((3,), 0), ((2, 3), 0), ((2, 3), -1), ((2, 3), None), ((0, 2), 1), ((), None)]
)
def test_repeat(shape, axis):
    x = value(shape, "float32")
    agree(lambda x: ops.repeat(x, 3, axis), lambda x: np.repeat(x, 3, axis), x)
    agree(lambda x: ops.repeat(x, 0, axis), lambda x: np.repeat(x, 0, axis), x)
    agree(
        lambda x, n: ops.repeat(x, n, axis),
        lambda x, n: np.repeat(x, n, axis),
        x,
        np.int64(2),
        exact_shape=False,
    )
    n = x.size if axis is None else x.shape[axis]
    counts = np.arange(n)
    agree(
        lambda x, c: ops.repeat(x, c, axis),
        lambda x, c: np.repeat(x, c, axis),
        x,
        counts,
        exact_shape=False,
    )
    if n > 1:
        agree(lambda x: ops.repeat(x, counts, axis), lambda x: np.repeat(x, counts, axis), x)


def test_repeat_refuses():
    with pytest.raises(ShapeError, match="negative"):
        ops.repeat(leaf((3,)), -1, 0)
    with pytest.raises(ShapeError, match="2 counts for an axis of size 3"):
        agree(lambda x, c: ops.repeat(x, c, 0), np.zeros(0), np.zeros(3), np.array([1, 2]))


@pytest.mark.parametrize(
    "shape, new",
    [
        ((2, 6), (3, 4)),
        ((2, 6), (-1, 4)),
        ((12,), (2, -1, 3)),
        ((2, 3), ()),
        ((1,), ()),
        ((), (1, 1)),
        ((0, 3), (3, 0)),
        ((0, 3), (0, -1)),
        ((2, 3), (6,)),
        ((2, 0), (-1,)),
    ],
)
def test_reshape_like_numpy(shape, new):
    x = value(shape)
    try:
        want = x.reshape(new)
    except ValueError:
        with pytest.raises(ShapeError, match="reshape"):
            ops.reshape(leaf(shape), new)
        return
    agree(lambda x: ops.reshape(x, new), want, x)


def test_reshape_to_symbolic_sizes():
    x, y = value((2, 6)), value((4, 3))
    agree(lambda x, y: ops.reshape(x, (ops.size_of(y, 0), -1)), lambda x, y: x.reshape(4, 3), x, y)
    agree(lambda x, y: ops.reshape(x, ops.shape(y)), lambda x, y: x.reshape(y.shape), x, y)
    agree(
        lambda x, y: ops.broadcast_to(ops.expand_dims(x, 0), ops.pack(5, ops.size_of(x, 0), 6)),
        lambda x, y: np.broadcast_to(x, (5, 2, 6)),
        x,
        y,
    )


def test_static_knowledge():
    x = leaf((None, 3, 4))
    assert ops.reshape(x, (-1, 12)).shape == (None, 12)
    assert ops.reshape(x, (ops.size_of(x, 0), 12)).shape == (None, 12)
    assert ops.reshape(leaf((5, 3, 4)), (-1, 6)).shape == (10, 6)
    assert ops.broadcast_to(leaf((1, 3)), (ops.size_of(x, 0), 3)).shape == (None, 3)
    assert known_values(ops.shape(x)) == [None, 3, 4]
    assert known_values(ops.getitem(ops.shape(x), slice(1, None))) == [3, 4]
    assert known_values(ops.pack(ops.size_of(x, 1), 7, ops.size_of(x, 0))) == [3, 7, None]
    assert known_values(ops.mul(ops.shape(x), 2)) == [None, 6, 8]
    assert ops.size_of(x, 2) == 4 and ops.size_of(x, 0).ndim == 0
    assert ops.getitem(ops.shape(x), 1).value == 3


def test_errors_name_shapes():
    x = leaf((2, 3))
    with pytest.raises(ShapeError, match=r"cannot reshape \(2, 3\) \(6 elements\) to \(4,\)"):
        ops.reshape(x, (4,))
    with pytest.raises(ShapeError, match="6 elements do not divide into 4"):
        ops.reshape(x, (4, -1))
    with pytest.raises(ShapeError, match="at most one"):
        ops.reshape(x, (-1, -1))
    with pytest.raises(ShapeError, match="unknown length"):
        ops.reshape(x, leaf((None,), "int64"))
    with pytest.raises(ShapeError, match=r"cannot broadcast shape \(2, 3\) to \(3, 3\)"):
        ops.broadcast_to(x, (3, 3))
    with pytest.raises(ShapeError, match="its size is 3, not 1"):
        ops.squeeze(x, 1)
    with pytest.raises(ShapeError, match="no order"):
        ops.transpose(x, (0, 0))
    with pytest.raises(ShapeError, match="does not exist"):
        ops.flip(x, 2)
    with pytest.raises(ShapeError, match="step"):
        ops.slice_(x, [(None, None, 0)])


def test_errors_at_run_time():
    with pytest.raises(ShapeError, match="its size is 2, not 1"):
        agree(lambda x: ops.squeeze(x, 0), np.zeros(3), value((2, 3)))
    with pytest.raises(ShapeError, match=r"cannot reshape \(2, 3\) \(6 elements\) to \(4,\)"):
        agree(lambda x: ops.reshape(x, (4,)), np.zeros(4), value((2, 3)))
    with pytest.raises(ShapeError, match="cannot broadcast"):
        agree(lambda x: ops.broadcast_to(x, (4,)), np.zeros(4), value((3,)))
    with pytest.raises(IndexOutOfBounds, match="index 3 is out of bounds for axis 0 of size 3"):
        agree(lambda x: ops.getitem(x, 3), np.float64(0), value((3,)))


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_every_dtype_passes_through(dtype):
    x = (np.arange(6) % 2).reshape(2, 3).astype(dtype)
    agree(lambda x: ops.tile(ops.transpose(x), (2, 1)), lambda x: np.tile(x.T, (2, 1)), x)


@pytest.mark.parametrize(
    "build, shape",
    [
        (lambda x: ops.transpose(x, (2, 0, 1)), (2, 3, 4)),
        (lambda x: ops.reshape(ops.square(x), (6,)), (2, 3)),
        (lambda x: ops.broadcast_to(x, (4, 2, 3)), (1, 3)),
        (lambda x: ops.slice_(ops.square(x), [(None, None, -1), (1, 5, 2)]), (3, 6)),
        (lambda x: ops.flip(ops.square(x), 1), (2, 3)),
        (lambda x: ops.tile(ops.square(x), (2, 3)), (2, 2)),
        (lambda x: ops.repeat(ops.square(x), 2, 1), (2, 2)),
        (lambda x: ops.repeat(ops.square(x), np.array([2, 0, 1]), 0), (3, 2)),
        (lambda x: ops.squeeze(ops.expand_dims(ops.square(x), 1), 1), (2, 3)),
        (lambda x: ops.flatten(ops.square(x), 2), (2, 3, 2)),
    ],
)
@pytest.mark.parametrize("static", [True, False])
def test_gradients(build, shape, static):
    check_gradient(build, value(shape), static=static)
