"""Indexing, writing, joining and filling against NumPy; indices out of range; gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.errors import DTypeError, IndexOutOfBounds, ShapeError
from ckernels.ops.reference import evaluate

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(5)


def value(shape, dtype="float64"):
    return (RNG.normal(size=shape) * 10).astype(dtype)


A, B = np.array([2, -1, 0]), np.array([[1], [-2]])
MASK = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
KEYS = [
    (),
    1,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(5, 0, -2),
    slice(2, 2),
    Ellipsis,
    None,
    (0, 1),
    (0, Ellipsis),
    (Ellipsis, -1),
    (slice(None), 2),
    (None, 1, None),
    (1, slice(None), None, slice(0, 1)),
    (Ellipsis, None),
    (slice(None, None, -2), Ellipsis, slice(3, 0, -1)),
    np.int64(1),
    (1, 2, 3),
    A,
    [0, 1],
    [[0, 1], [2, 0]],
    (A, A),
    (slice(None), A),
    (A, slice(None), A),
    (A, slice(1, None), 0),
    (0, slice(None), A),
    (0, A),
    (A, B),
    (B, Ellipsis, A),
    (slice(None), 0, Ellipsis, A),  # an ellipsis of no axes keeps indices apart
    (slice(1, None), A, Ellipsis, B),
    (None, 0, slice(None), Ellipsis, A),
    (None, A),
    (A, None),
    (A, None, B),
    (Ellipsis, A, None),
    (slice(0, 2), A[:2], slice(None, None, -1)),
    np.array([], "int64"),
    [],
    (slice(None), np.array([0], "uint8")),
    MASK,
    (MASK, 1),
    (MASK, slice(None, 2)),
    (slice(None), np.array([True, False, True, False])),
    MASK[:, 0],
    (Ellipsis, np.array([True] * 5)),
    np.zeros((3, 4, 5), bool),
    (A, np.array([True, True, False, True])),
    np.array(1),
    (np.array(1), slice(None), np.array([0, 1])),
    (None, slice(1, 3), A[:2], None, -1),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_like_numpy(key):
    agree(
        lambda x: ops.getitem(x, key),
        lambda x: x[tuple(key) if isinstance(key, tuple) else key],
        value((3, 4, 5), "float32"),
    )


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing_like_numpy(key):
    x = value((3, 4, 5))
    y = value(x[key].shape)

    def written(x, y):
        x = x.copy()
        x[key] = y
        return x

    def added(x, y):
        x = x.copy()
        at = np.arange(x.size).reshape(x.shape)[key]
        np.add.at(x.reshape(-1), at, y)
        return x

    for small in (y, np.float64(2.5)):
        agree(lambda x, y: ops.set_subtensor(x, key, y), written, x, small)
        agree(lambda x, y: ops.inc_subtensor(x, key, y), added, x, small, rtol=1e-15)
    if repr(key) not in ("()", "Ellipsis", repr(slice(None))):  # these give x itself
        agree(lambda x, y: ops.set_subtensor(ops.getitem(x, ()), key, y), written, x, y)


ENTRY = (
    st.integers(-2, 1)
    | st.none()
    | st.just(Ellipsis)
    | st.builds(
        slice,
        st.none() | st.integers(-4, 4),
        st.none() | st.integers(-4, 4),
        st.sampled_from([None, 1, 2, -1, -2]),
    )
    | st.lists(st.integers(-2, 1), min_size=2, max_size=2).map(np.array)
)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=4), st.lists(ENTRY, max_size=5))
@settings(max_examples=200, deadline=None)
def test_any_key(shape, key):
    x, key = value(shape), tuple(key)
    try:
        want = x[key]
    except IndexError:
        with pytest.raises((ShapeError, IndexOutOfBounds)):
            ops.getitem(leaf(shape), key)
        return
    agree(lambda x: ops.getitem(x, key), want, x)
    y = value(want.shape)
    x2 = x.copy()
    x2[key] = y
    (got,) = evaluate([ops.set_subtensor(leaf_x := leaf((None,) * x.ndim), key, y)], {leaf_x: x})
    if not any(isinstance(k, np.ndarray) for k in key):
        np.testing.assert_array_equal(got, x2)


AT, FROM = (leaf((), "int64") for _ in range(2))
MOVING = [  # with the key that it is where AT is 1 and FROM is 2
    ((ops.MovingSlice(AT, 2),), (slice(1, 3),)),
    ((ops.MovingSlice(AT, 2), ops.MovingSlice(FROM, 2)), (slice(1, 3), slice(2, 4))),
    ((slice(None), ops.MovingSlice(FROM, 1)), (slice(None), slice(2, 3))),
    ((AT, ops.MovingSlice(AT, 3), 2), (1, slice(1, 4), 2)),
    ((ops.MovingSlice(AT, 2), slice(1, -1), ops.MovingSlice(FROM, 3)),
     (slice(1, 3), slice(1, -1), slice(2, 5))),
    ((ops.MovingSlice(AT, 2), None, AT, slice(None, None, -2)),
     (slice(1, 3), None, 1, slice(None, None, -2))),
    ((ops.MovingSlice(AT, 2), A, B), (slice(1, 3), A, B)),
    ((A, ops.MovingSlice(FROM, 2), B), (A, slice(2, 4), B)),
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool", "complex64"])
@pytest.mark.parametrize("key, want", MOVING, ids=range(len(MOVING)))
def test_slices_that_move(key, want, dtype):
    x = value((3, 4, 5)).astype(dtype)
    y = value(x[want].shape).astype(dtype)
    a, b = leaf(x.shape, dtype), leaf(y.shape, dtype)
    built = [ops.getitem(a, key), ops.set_subtensor(a, key, b), ops.inc_subtensor(a, key, b)]
    put, added = x.copy(), x.copy()
    put[want] = y
    np.add.at(added, want, y)
    f = K.function([Tensor(n) for n in (a, b, AT, FROM)], [Tensor(n) for n in built])
    for each in (x, np.asfortranarray(x), x[::-1, ::-1].copy()[::-1, ::-1]):
        for got in (f(each, y, 1, 2), evaluate(built, {a: each, b: y, AT: 1, FROM: 2})):
            for one, other in zip(got, (x[want], put, added)):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_slices_that_move_exist_whole():
    a = leaf((4, 5), "float64")
    moving = ops.MovingSlice(AT, 2), ops.MovingSlice(FROM, 3)
    built = [ops.getitem(a, moving), ops.set_subtensor(a, moving, 1.5)]
    functions = [K.function([Tensor(n) for n in (a, AT, FROM)], Tensor(n)) for n in built]
    x = value((4, 5))
    for at in ((3, 0), (0, 3), (-4, 0), (0, 7)):
        for f, node in zip(functions, built):
            with pytest.raises(IndexOutOfBounds):
                f(x, *at)
            with pytest.raises(IndexOutOfBounds):
                evaluate([node], {a: x, AT: np.int64(at[0]), FROM: np.int64(at[1])})
    # of all such slices, the last one is the first from behind
    assert np.array_equal(functions[0](x, -1, 0), x[2:4, :3])
    with pytest.raises(ShapeError):
        ops.getitem(a, ops.MovingSlice(leaf((2,), "int64"), 2))


def test_symbolic_scalars_and_arrays():
    x, i, j = value((4, 5)), np.int32(-2), np.int64(3)
    agree(lambda x, i: ops.getitem(x, i), lambda x, i: x[i], x, i)
    agree(lambda x, i, j: ops.getitem(x, (i, j)), lambda x, i, j: x[i, j], x, i, j)
    agree(lambda x, i: ops.getitem(x, (slice(None), i)), lambda x, i: x[:, i], x, i)
    agree(lambda x, i: ops.getitem(x, (None, i, None)), lambda x, i: x[None, i, None], x, i)
    agree(
        lambda x, i, j: ops.getitem(x, slice(i, j)),
        lambda x, i, j: x[i:j],
        x,
        i,
        j,
        exact_shape=False,
    )
    agree(
        lambda x, i, j: ops.getitem(x, (0, slice(j, None, i))),
        lambda x, i, j: x[0, j::i],
        x,
        i,
        j,
        exact_shape=False,
    )
    rows, mask = np.array([3, 0, 0]), np.array([True, False, True, False])
    agree(lambda x, r: ops.getitem(x, r), lambda x, r: x[r], x, rows)
    agree(lambda x, r: ops.getitem(x, (r, [0, 1, 2])), lambda x, r: x[r, [0, 1, 2]], x, rows)
    agree(lambda x, m: ops.getitem(x, m), lambda x, m: x[m], x, mask, exact_shape=False)
    agree(lambda x, m: ops.getitem(x, (m, 1)), lambda x, m: x[m, 1], x, mask, exact_shape=False)
    agree(lambda x: ops.getitem(x, ops.gt(x, 0)), lambda x: x[x > 0], x, exact_shape=False)
    agree(
        lambda x, y: ops.getitem(x, slice(None, ops.size_of(y, 0))),
        lambda x, y: x[: len(y)],
        x,
        np.zeros(2),
    )


def test_symbolic_writing():
    x, i, j = value((4, 5)), np.int64(1), np.int64(3)

    def write(x, key, y):
        x = x.copy()
        x[key] = y
        return x

    agree(
        lambda x, i, j: ops.set_subtensor(x, slice(i, j), 7),
        lambda x, i, j: write(x, slice(i, j), 7),
        x,
        i,
        j,
    )
    agree(lambda x, i: ops.set_subtensor(x, i, 7.0), lambda x, i: write(x, i, 7), x, i)
    agree(
        lambda x, i: ops.inc_subtensor(x, (slice(None), i), 1),
        lambda x, i: write(x, (slice(None), i), x[:, i] + 1),
        x,
        i,
    )
    agree(
        lambda x: ops.set_subtensor(x, ops.gt(x, 0), 0),
        lambda x: np.where(x > 0, 0, x),
        x,
    )
    agree(
        lambda x, i: ops.set_subtensor(x, (slice(i, None), [0, 2]), 1),
        lambda x, i: write(x, (slice(i, None), [0, 2]), 1),
        x,
        i,
    )


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda x, i: ops.getitem(x, 3), "index 3 is out of bounds for axis 0 of size 3"),
        (lambda x, i: ops.getitem(x, (0, -5)), "index -5 is out of bounds for axis 1 of size 4"),
        (lambda x, i: ops.getitem(x, [0, 7]), "index 7 is out of bounds for axis 0 of size 3"),
        (lambda x, i: ops.getitem(x, i), "index 9 is out of bounds for axis 0 of size 3"),
        (lambda x, i: ops.getitem(x, (0, i)), "index 9 is out of bounds for axis 1 of size 4"),
        (lambda x, i: ops.take(x, i, 1), "index 9 is out of bounds for axis 1 of size 4"),
        (
            lambda x, i: ops.take_along_axis(x, ops.expand_dims(i, 0), 1),
            "index 9 is out of bounds for axis 1 of size 4",
        ),
        (
            lambda x, i: ops.set_subtensor(x, (slice(None), i), 1),
            "index 9 is out of bounds for axis 1 of size 4",
        ),
        (
            lambda x, i: ops.set_subtensor(x, -4, 1),
            "index -4 is out of bounds for axis 0 of size 3",
        ),
        (
            lambda x, i: ops.scatter_add(x, i, ops.getitem(x, [0, 0])),
            "index 9 is out of bounds for axis 0 of size 3",
        ),
    ],
)
def test_out_of_range(build, message):
    for x in (leaf((None, None)), leaf((3, 4))):
        i = leaf((2,), "int64")
        with pytest.raises(IndexOutOfBounds, match=message):
            evaluate([build(x, i)], {x: np.zeros((3, 4)), i: np.array([0, 9])})


def test_refused_keys():
    x = leaf((3, 4))
    for key, error in [
        ((0, 0, 0), ShapeError),
        ((Ellipsis, Ellipsis), ShapeError),
        ("a", DTypeError),
        (1.5, DTypeError),
        (np.array([1.0]), DTypeError),
        (slice(0.5, 1), DTypeError),
        (np.ones(4, bool), ShapeError),
        (slice(leaf((2,), "int64"), None), DTypeError),
    ]:
        with pytest.raises(error):
            ops.getitem(x, key)
    with pytest.raises(ShapeError, match="does not fit"):
        ops.set_subtensor(x, slice(0, 2), np.zeros(3))
    with pytest.raises(DTypeError, match="cast"):
        ops.set_subtensor(leaf((3,), "int32"), 0, 1.5)


def test_views_of_views_write_to_the_last_one():
    x = leaf((6,))
    inner = ops.getitem(x, slice(2, None))
    (got,) = evaluate([ops.set_subtensor(inner, slice(1, 3), 0)], {x: np.arange(6.0)})
    np.testing.assert_array_equal(got, [2, 0, 0, 5])


def test_manual_subtensors():
    r = np.arange(12, dtype="int32")
    agree(
        lambda r: ops.set_subtensor(r, slice(10, None), 5),
        np.r_[r[:10], 5, 5].astype("int32"),
        r,
    )
    agree(
        lambda r: ops.inc_subtensor(r, slice(10, None), 5),
        np.r_[r[:10], 15, 16].astype("int32"),
        r,
    )


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(mode):
    x, far = value((3, 4, 2)), np.array([[5, -7], [0, 2]])
    i = np.array([[2, -1], [0, 0]]) if mode == "raise" else far
    for axis in (0, 1, -1):
        j = i % 2 - (i < 0) * 0 if mode == "raise" else i
        agree(
            lambda x, i, axis=axis: ops.take(x, i, axis, mode),
            lambda x, i, axis=axis: np.take(x, i, axis, mode=mode),
            x,
            j,
        )
    agree(
        lambda x, i: ops.take(x, i, 1), lambda x, i: np.take(x, i, 1), x, np.zeros((0, 2), "int32")
    )
    agree(lambda x, i: ops.take(x, i), lambda x, i: x[i], np.zeros((0, 3)), np.zeros(0, "int64"))


def test_along_axis():
    x = value((3, 4))
    for axis in (0, 1):
        agree(
            lambda x, axis=axis: ops.take_along_axis(x, ops.argsort(x, axis), axis),
            lambda x, axis=axis: np.sort(x, axis),
            x,
        )
    i = np.array([[1], [-1], [0]])
    agree(lambda x, i: ops.take_along_axis(x, i, 1), lambda x, i: np.take_along_axis(x, i, 1), x, i)
    check_gradient(lambda x: ops.take_along_axis(ops.square(x), i, 1), x)
    check_gradient(lambda x: ops.take_along_axis(ops.square(x), np.array([[0, 0, 2, -1]]), 0), x)
    check_gradient(
        lambda x: ops.take_along_axis(
            ops.square(x), np.array([[0, 0, 1], [2, 2, 0], [0, 1, 1]]), 1
        ),
        value((1, 4))[:, :3],
    )


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(
    "key", [k for k in KEYS if not (isinstance(k, np.ndarray) and k.size == 0)], ids=repr
)
def test_gradients(key):
    x = value((3, 4, 5))
    y = value(x[key].shape)
    rng_wrt = dict(order=1, rtol=1e-4)
    check_gradient(lambda x: ops.getitem(ops.square(x), key), x, **rng_wrt)
    check_gradient(
        lambda x, y: ops.set_subtensor(ops.square(x), key, ops.square(y)), x, y, **rng_wrt
    )
    check_gradient(
        lambda x, y: ops.inc_subtensor(ops.square(x), key, ops.square(y)), x, y, **rng_wrt
    )


@pytest.mark.parametrize(
    "key",
    [1, slice(None, None, 2), (A, A), (np.array([[1, 0], [-2, 1]]), 0), (slice(1, 3), A)],
    ids=repr,
)
def test_second_gradients(key):
    x = value((3, 4)) / 10
    y = value(x[key].shape) / 10
    check_gradient(lambda x: ops.getitem(ops.exp(x), key), x)
    check_gradient(lambda x, y: ops.set_subtensor(ops.exp(x), key, ops.exp(y)), x, y)
    check_gradient(lambda x, y: ops.inc_subtensor(ops.exp(x), key, ops.exp(y)), x, y)


def test_symbolic_gradients():
    n = leaf((), "int64")
    x = value((5, 3))
    for build in (
        lambda x, n: ops.getitem(ops.square(x), slice(n, None)),
        lambda x, n: ops.set_subtensor(ops.square(x), slice(None, n), ops.sum(x)),
        lambda x, n: ops.inc_subtensor(ops.square(x), (n, slice(None)), ops.sum(x)),
        lambda x, n: ops.getitem(ops.square(x), ops.gt(x, n)),
    ):
        check_gradient(
            lambda x, build=build: build(x, ops.cast(ops.mul(ops.size_of(x, 0), 0), "int64") + 2), x
        )
    assert n.dtype == "int64"


MASK = np.array([True, False, True])


@pytest.mark.parametrize("shape", [(2,), (4,), (0,), (1,)])
def test_constant_masks_fit_axes_whose_size_comes_later(shape):
    x, y = K.placeholder((None,)), K.placeholder((None, None))
    f = K.function([x], [x[MASK], *K.gradients(K.sum(x[MASK] ** 3), [x])])
    values = np.arange(3, dtype=np.float32)
    for _ in range(2):
        taken, slope = f([values])
        np.testing.assert_array_equal(taken, values[MASK])
        np.testing.assert_array_equal(slope, 3 * values**2 * MASK)
        with pytest.raises(ShapeError, match="a mask of shape"):
            f([np.ones(shape, np.float32)])
    grid = np.arange(6, dtype=np.float32).reshape(3, 2)
    pairs = np.array([[True, False], [True, True], [False, True]])
    for key in (pairs, (slice(None), MASK[:2]), (MASK, 1)):
        columns = K.function([y], [y[key]])
        np.testing.assert_array_equal(columns([grid])[0], grid[key])
        with pytest.raises(ShapeError, match="a mask of shape"):
            columns([np.ones((4, 4), np.float32)])


def test_constant_masks_in_scans_and_jacobians():
    x, rows = K.placeholder((None,)), K.placeholder((None, None))
    taken, _ = K.scan(lambda row: row[MASK] * 2, sequences=[rows])
    f = K.function([rows], [taken])
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(f([values])[0], 2 * values[:, MASK])
    with pytest.raises(ShapeError, match="a mask of shape"):
        f([np.ones((2, 4), np.float32)])
    jacobian = K.function([x], [K.jacobian((x**2)[MASK], x)])
    expected = np.diag(2 * values[1])[MASK]
    np.testing.assert_array_equal(jacobian([values[1]])[0], expected)
