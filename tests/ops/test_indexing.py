"""Indexing, writing, joining and filling against NumPy; indices out of range; gradients."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import ops
from ckernels.errors import DTypeError, IndexOutOfBounds, ShapeError
from ckernels.reference import evaluate

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(5)


def value(shape, dtype="float64"):
    return (RNG.normal(size=shape) * 10).astype(dtype)


A, B = np.array([2, -1, 0]), np.array([[1], [-2]])
MASK = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
KEYS = [
    (), 1, -1, slice(None), slice(1, None), slice(None, None, -1), slice(5, 0, -2), slice(2, 2), Ellipsis, None,
    (0, 1), (0, Ellipsis), (Ellipsis, -1), (slice(None), 2), (None, 1, None), (1, slice(None), None, slice(0, 1)),
    (Ellipsis, None), (slice(None, None, -2), Ellipsis, slice(3, 0, -1)), np.int64(1), (1, 2, 3),
    A, [0, 1], [[0, 1], [2, 0]], (A, A), (slice(None), A), (A, slice(None), A), (A, slice(1, None), 0),
    (0, slice(None), A), (0, A), (A, B), (B, Ellipsis, A), (None, A), (A, None), (A, None, B), (Ellipsis, A, None),
    (slice(0, 2), A[:2], slice(None, None, -1)), np.array([], "int64"), [], (slice(None), np.array([0], "uint8")),
    MASK, (MASK, 1), (MASK, slice(None, 2)), (slice(None), np.array([True, False, True, False])),
    MASK[:, 0], (Ellipsis, np.array([True] * 5)), np.zeros((3, 4, 5), bool), (A, np.array([True, True, False, True])),
    np.array(1), (np.array(1), slice(None), np.array([0, 1])), (None, slice(1, 3), A[:2], None, -1),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_like_numpy(key):
    agree(lambda x: ops.getitem(x, key), lambda x: x[tuple(key) if isinstance(key, tuple) else key],
          value((3, 4, 5), "float32"))


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
    if repr(key) not in ("()", "Ellipsis", repr(slice(None))):      # these give x itself
        agree(lambda x, y: ops.set_subtensor(ops.getitem(x, key), y), written, x, y)


ENTRY = st.integers(-2, 1) | st.none() | st.just(Ellipsis) | st.builds(
    slice, st.none() | st.integers(-4, 4), st.none() | st.integers(-4, 4), st.sampled_from([None, 1, 2, -1, -2])) \
    | st.lists(st.integers(-2, 1), min_size=2, max_size=2).map(np.array)


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
    got, = evaluate([ops.set_subtensor(leaf_x := leaf((None,) * x.ndim), key, y)], {leaf_x: x})
    if not any(isinstance(k, np.ndarray) for k in key):
        np.testing.assert_array_equal(got, x2)


def test_symbolic_scalars_and_arrays():
    x, i, j = value((4, 5)), np.int32(-2), np.int64(3)
    agree(lambda x, i: ops.getitem(x, i), lambda x, i: x[i], x, i)
    agree(lambda x, i, j: ops.getitem(x, (i, j)), lambda x, i, j: x[i, j], x, i, j)
    agree(lambda x, i: ops.getitem(x, (slice(None), i)), lambda x, i: x[:, i], x, i)
    agree(lambda x, i: ops.getitem(x, (None, i, None)), lambda x, i: x[None, i, None], x, i)
    agree(lambda x, i, j: ops.getitem(x, slice(i, j)), lambda x, i, j: x[i:j], x, i, j, exact_shape=False)
    agree(lambda x, i, j: ops.getitem(x, (0, slice(j, None, i))), lambda x, i, j: x[0, j::i], x, i, j,
          exact_shape=False)
    rows, mask = np.array([3, 0, 0]), np.array([True, False, True, False])
    agree(lambda x, r: ops.getitem(x, r), lambda x, r: x[r], x, rows)
    agree(lambda x, r: ops.getitem(x, (r, [0, 1, 2])), lambda x, r: x[r, [0, 1, 2]], x, rows)
    agree(lambda x, m: ops.getitem(x, m), lambda x, m: x[m], x, mask, exact_shape=False)
    agree(lambda x, m: ops.getitem(x, (m, 1)), lambda x, m: x[m, 1], x, mask, exact_shape=False)
    agree(lambda x: ops.getitem(x, ops.gt(x, 0)), lambda x: x[x > 0], x, exact_shape=False)
    agree(lambda x, y: ops.getitem(x, slice(None, ops.size_of(y, 0))), lambda x, y: x[:len(y)], x, np.zeros(2))


def test_symbolic_writing():
    x, i, j = value((4, 5)), np.int64(1), np.int64(3)

    def write(x, key, y):
        x = x.copy()
        x[key] = y
        return x
    agree(lambda x, i, j: ops.set_subtensor(x, slice(i, j), 7), lambda x, i, j: write(x, slice(i, j), 7), x, i, j)
    agree(lambda x, i: ops.set_subtensor(x, i, 7.0), lambda x, i: write(x, i, 7), x, i)
    agree(lambda x, i: ops.inc_subtensor(x, (slice(None), i), 1), lambda x, i: write(x, (slice(None), i), x[:, i] + 1),
          x, i)
    agree(lambda x: ops.set_subtensor(ops.getitem(x, ops.gt(x, 0)), 0), lambda x: np.where(x > 0, 0, x), x)
    agree(lambda x, i: ops.set_subtensor(x, (slice(i, None), [0, 2]), 1), lambda x, i: write(
        x, (slice(i, None), [0, 2]), 1), x, i)


@pytest.mark.parametrize("build, message", [
    (lambda x, i: ops.getitem(x, 3), "index 3 is out of bounds for axis 0 of size 3"),
    (lambda x, i: ops.getitem(x, (0, -5)), "index -5 is out of bounds for axis 1 of size 4"),
    (lambda x, i: ops.getitem(x, [0, 7]), "index 7 is out of bounds for axis 0 of size 3"),
    (lambda x, i: ops.getitem(x, i), "index 9 is out of bounds for axis 0 of size 3"),
    (lambda x, i: ops.getitem(x, (0, i)), "index 9 is out of bounds for axis 1 of size 4"),
    (lambda x, i: ops.take(x, i, 1), "index 9 is out of bounds for axis 1 of size 4"),
    (lambda x, i: ops.take_along_axis(x, ops.expand_dims(i, 0), 1), "index 9 is out of bounds for axis 1 of size 4"),
    (lambda x, i: ops.set_subtensor(x, (slice(None), i), 1), "index 9 is out of bounds for axis 1 of size 4"),
    (lambda x, i: ops.set_subtensor(x, -4, 1), "index -4 is out of bounds for axis 0 of size 3"),
    (lambda x, i: ops.scatter_add(x, i, ops.getitem(x, [0, 0])), "index 9 is out of bounds for axis 0 of size 3"),
])
def test_out_of_range(build, message):
    for x in (leaf((None, None)), leaf((3, 4))):
        i = leaf((2,), "int64")
        with pytest.raises(IndexOutOfBounds, match=message):
            evaluate([build(x, i)], {x: np.zeros((3, 4)), i: np.array([0, 9])})


def test_refused_keys():
    x = leaf((3, 4))
    for key, error in [((0, 0, 0), ShapeError), ((Ellipsis, Ellipsis), ShapeError), ("a", DTypeError),
                       (1.5, DTypeError), (np.array([1.0]), DTypeError), (slice(0.5, 1), DTypeError),
                       (np.ones(4, bool), ShapeError), (slice(leaf((2,), "int64"), None), DTypeError)]:
        with pytest.raises(error):
            ops.getitem(x, key)
    with pytest.raises(ShapeError, match="does not fit"):
        ops.set_subtensor(x, slice(0, 2), np.zeros(3))
    with pytest.raises(DTypeError, match="cast"):
        ops.set_subtensor(leaf((3,), "int32"), 0, 1.5)
    with pytest.raises(DTypeError, match="result of indexing"):
        ops.set_subtensor(x, 1)


def test_views_of_views_write_to_the_last_one():
    x = leaf((6,))
    inner = ops.getitem(x, slice(2, None))
    got, = evaluate([ops.set_subtensor(ops.getitem(inner, slice(1, 3)), 0)], {x: np.arange(6.0)})
    np.testing.assert_array_equal(got, [2, 0, 0, 5])


def test_manual_subtensors():
    r = np.arange(12, dtype="int32")
    agree(lambda r: ops.set_subtensor(ops.getitem(r, slice(10, None)), 5), np.r_[r[:10], 5, 5].astype("int32"), r)
    agree(lambda r: ops.inc_subtensor(ops.getitem(r, slice(10, None)), 5), np.r_[r[:10], 15, 16].astype("int32"), r)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(mode):
    x, far = value((3, 4, 2)), np.array([[5, -7], [0, 2]])
    i = np.array([[2, -1], [0, 0]]) if mode == "raise" else far
    for axis in (0, 1, -1):
        j = i % 2 - (i < 0) * 0 if mode == "raise" else i
        agree(lambda x, i: ops.take(x, i, axis, mode), lambda x, i: np.take(x, i, axis, mode=mode), x, j)
    agree(lambda x, i: ops.take(x, i, 1), lambda x, i: np.take(x, i, 1), x, np.zeros((0, 2), "int32"))
    agree(lambda x, i: ops.take(x, i), lambda x, i: x[i], np.zeros((0, 3)), np.zeros(0, "int64"))


def test_along_axis():
    x = value((3, 4))
    for axis in (0, 1):
        agree(lambda x: ops.take_along_axis(x, ops.argsort(x, axis), axis), lambda x: np.sort(x, axis), x)
    i = np.array([[1], [-1], [0]])
    agree(lambda x, i: ops.take_along_axis(x, i, 1), lambda x, i: np.take_along_axis(x, i, 1), x, i)
    check_gradient(lambda x: ops.take_along_axis(ops.square(x), i, 1), x)
    check_gradient(lambda x: ops.take_along_axis(ops.square(x), np.array([[0, 0, 2, -1]]), 0), x)
    check_gradient(lambda x: ops.take_along_axis(ops.square(x), np.array([[0, 0, 1], [2, 2, 0], [0, 1, 1]]), 1),
                   value((1, 4))[:, :3])


@pytest.mark.parametrize("key", [k for k in KEYS if not (isinstance(k, np.ndarray) and k.size == 0)], ids=repr)
def test_gradients(key):
    x = value((3, 4, 5))
    y = value(x[key].shape)
    rng_wrt = dict(order=1, rtol=1e-4)
    check_gradient(lambda x: ops.getitem(ops.square(x), key), x, **rng_wrt)
    check_gradient(lambda x, y: ops.set_subtensor(ops.square(x), key, ops.square(y)), x, y, **rng_wrt)
    check_gradient(lambda x, y: ops.inc_subtensor(ops.square(x), key, ops.square(y)), x, y, **rng_wrt)


@pytest.mark.parametrize("key", [1, slice(None, None, 2), (A, A), (np.array([[1, 0], [-2, 1]]), 0), (slice(1, 3), A)], ids=repr)
def test_second_gradients(key):
    x = value((3, 4)) / 10
    y = value(x[key].shape) / 10
    check_gradient(lambda x: ops.getitem(ops.exp(x), key), x)
    check_gradient(lambda x, y: ops.set_subtensor(ops.exp(x), key, ops.exp(y)), x, y)
    check_gradient(lambda x, y: ops.inc_subtensor(ops.exp(x), key, ops.exp(y)), x, y)


def test_symbolic_gradients():
    n = leaf((), "int64")
    x = value((5, 3))
    for build in (lambda x, n: ops.getitem(ops.square(x), slice(n, None)),
                  lambda x, n: ops.set_subtensor(ops.square(x), slice(None, n), ops.sum(x)),
                  lambda x, n: ops.inc_subtensor(ops.square(x), (n, slice(None)), ops.sum(x)),
                  lambda x, n: ops.getitem(ops.square(x), ops.gt(x, n))):
        check_gradient(lambda x, build=build: build(x, ops.cast(ops.mul(ops.size_of(x, 0), 0), "int64") + 2), x)
    assert n.dtype == "int64"


# --- joining and filling ----------------------------------------------------------------------------------

def test_concatenate_stack_split():
    x, y = value((2, 3)), value((4, 3))
    agree(lambda x, y: ops.concatenate([x, y, x]), lambda x, y: np.concatenate([x, y, x]), x, y)
    agree(lambda x, y: ops.concatenate([x, y], -2), lambda x, y: np.concatenate([x, y]), x, y.astype("float32"))
    cubes = [value((2, 2, 2, 2)) for _ in range(3)]
    for axis in (0, 1, 3, -2):
        agree(lambda *c: ops.stack(c, axis), lambda *c: np.stack(c, axis), *cubes)
    agree(lambda a, b: ops.stack([a, b, 3.0]), lambda a, b: np.array([a, b, 3]), np.float64(1), np.float64(2))
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
    agree(lambda x: ops.pad(x, ((0, 2), (3, 0)), -1), lambda x: np.pad(x, ((0, 2), (3, 0)), constant_values=-1),
          x.astype("int16"))
    agree(lambda x, v: ops.pad(x, ((0, 2), (3, 0)), v), lambda x, v: np.pad(
        x, ((0, 2), (3, 0)), constant_values=v), x, np.float64(4))
    check_gradient(lambda x, v: ops.pad(ops.square(x), ((0, 2), (3, 0)), ops.square(v)), x, 0.5)
    for shift in (0, 1, -2, 7):
        agree(lambda x: ops.roll(x, shift, 1), lambda x: np.roll(x, shift, 1), x)
        agree(lambda x: ops.roll(x, shift), lambda x: np.roll(x, shift), x)
        agree(lambda x, s: ops.roll(x, s, 0), lambda x, s: np.roll(x, s, 0), x, np.int64(shift))


@pytest.mark.parametrize("bounds", [(5,), (0,), (2, 9), (9, 2), (9, 2, -2), (0, 40, 3), (-3, 3), (0, 1, 0.1), (1, 2.5),
                                    (0.5, 30, 0.7), (3, 0, -0.5)])
def test_arange(bounds):
    static = ops.arange(*bounds)
    want = np.arange(*bounds)
    got, = evaluate([static], {})
    np.testing.assert_array_equal(got, want.astype(static.dtype))
    if all(isinstance(b, int) for b in bounds):
        assert static.dtype == "int64"
    agree(lambda *b: ops.arange(*b), want, *bounds, exact_shape=False)
    agree(lambda *b: ops.arange(*b, dtype="int32") if len(bounds) == 3 else ops.arange(*b),
          np.arange(*bounds).astype("int32") if len(bounds) == 3 and want.dtype.kind == "i" else want, *bounds,
          exact_shape=False) if want.dtype.kind == "i" else None


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
        agree(lambda v: ops.diag(v, k), lambda v: np.diag(v, k), v)
        check_gradient(lambda v: ops.diag(ops.square(v), k), v)
    agree(lambda x: ops.diagonal(x, 1, 2, 0), lambda x: np.diagonal(x, 1, 2, 0), cube)
    agree(lambda x: ops.trace(x, 0, 0, 2), lambda x: np.trace(x, 0, 0, 2), cube, rtol=1e-14)
    same = value((3, 3, 3))
    want = same.copy()
    np.fill_diagonal(want, 2)
    agree(lambda x: ops.fill_diagonal(x, 2), want, same)
    for bad in (lambda: ops.diag(leaf(())), lambda: ops.diagonal(leaf((3,))), lambda: ops.tril(leaf((3,))),
                lambda: ops.fill_diagonal(leaf((3, 3, 2)), 1)):
        with pytest.raises(ShapeError):
            bad()


def test_one_hot_and_nonzero():
    i = np.array([[0, 2], [1, 5]])
    want = (i[..., None] == np.arange(3)).astype("float32")
    agree(lambda i: ops.one_hot(i, 3), want, i)
    agree(lambda i: ops.one_hot(i, 3, "int8"), want.astype("int8"), i.astype("uint8"))
    x = np.array([[0, 1.5, 0], [2, 0, np.nan]])
    agree(lambda x: ops.nonzero(x), lambda x: [a.astype("int64") for a in np.nonzero(x)], x, exact_shape=False)
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
