"""Programs whose sizes only a call, or its data, knows: slices, loops, draws, empty arrays."""

import numpy as np
import pytest

import ckernels as K

A = np.arange(60.0, dtype="f").reshape(6, 10)


@pytest.fixture(params=["compiled", "reference"])
def mode(request):
    with K.config.change(mode=request.param, floatX="float32"):
        yield request.param


def test_an_index_beside_a_slice_of_unknown_length(mode):
    m, n = K.placeholder((None, None)), K.placeholder((), dtype="int32")
    f = K.function([m, n], [m[5, :n], m[:n, 5], m[n, 1:]])
    for k in (0, 4, 3):
        row, column, rest = f(A, k)
        assert row.tolist() == A[5, :k].tolist() and column.tolist() == A[:k, 5].tolist()
        assert rest.tolist() == A[k, 1:].tolist()


def test_data_decides_the_steps_of_a_loop(mode):
    y, h = K.placeholder((None,)), K.placeholder((2,))
    rows, _ = K.scan(lambda q: q + 1, outputs_info=h, n_steps=K.cast(y[5], "int32"))
    f = K.function([y, h], rows)
    for steps in (5, 3, 1):
        v = np.full(8, steps)
        assert f(v, np.zeros(2))[:, 0].tolist() == list(range(1, steps + 1))


@pytest.mark.parametrize(
    "rows, last", [(lambda y: K.reshape(y, (-1, 4)), 2), (lambda y: y * K.ones((8,)), 8)]
)
def test_a_loop_over_rows_of_unknown_number(mode, rows, last):
    y = K.placeholder((None,))
    states, _ = K.scan(lambda r, q: q + K.mean(r), rows(y), outputs_info=K.zeros(()))
    assert K.function([y], states)(np.ones(8))[-1] == last


def test_a_draw_of_unknown_size_in_a_loop(mode):
    n = K.placeholder((), dtype="int32")
    r = K.random_uniform((n, 2), seed=1)
    states, _ = K.scan(lambda q: q + r[0], outputs_info=K.zeros((2,)), n_steps=3)
    got, draw = K.function([n], [states, r])(4)
    assert draw.shape == (4, 2) and got[0].tolist() == draw[0].tolist()
    assert (np.diff(got, axis=0) < 1).all() and (np.diff(got, axis=0) >= 0).all()


@pytest.mark.parametrize("name, want", [("sum", 0), ("prod", 1), ("any", 0), ("all", 1)])
def test_reductions_of_a_reversed_empty_batch(mode, name, want):
    m = K.placeholder((None, 3))
    f = K.function([m], getattr(K, name)(m[:, ::-1], axis=0))
    assert f(np.zeros((0, 3))).tolist() == [want] * 3


def test_a_gather_of_nothing_from_no_columns(mode):
    m, i = K.placeholder((None, None)), K.placeholder((None,), dtype="int32")
    f = K.function([m, i], K.gather(m, i))
    assert f(np.zeros((3, 0)), np.zeros(0, int)).shape == (0, 0)
    assert f(A, [5, 0]).tolist() == A[[5, 0]].tolist()


SIZES = {
    "m * m": lambda m: m * m,
    "m ** 3": lambda m: m**3,
    "powers": lambda m: (m * m) * (m * m) // m,
    "square": lambda m: K.square(m) - m,
    "binomial": lambda m: (m + 1) * (m + 1) - (m - 1) * (m + 1),
    "half": lambda m: -(-m // 2),
    "modulo": lambda m: m * m % 7 + 1,
    "bounds": lambda m: K.maximum(K.minimum(m, 5), 3) + K.clip(m, 2, 6),
    "vectors": lambda m: K.prod(K.stack([m, m])) + K.sum(K.stack([m, m, m])),
    "signs": lambda m: K.abs(m - 9) * K.sign(m) - (-m),
    "floats": lambda m: K.cast(K.sqrt(K.cast(m * m, "float64")) * 2, "int32"),
    "choice": lambda m: K.switch(K.greater(m, 3), m, m * 0 + 3),
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_shapes_computed_from_sizes(size, dtype):
    """What rewriting makes of the arithmetic, m * m its square, leaves the shape known."""
    x = K.placeholder((None,))
    size = size(K.cast(K.shape(x)[0], dtype))
    rows = K.reshape(K.tile(K.expand_dims(x[:1], 0), (size, 2)), (size * 2,))
    cube = K.reshape(K.ones((size, size)), (size * size,))
    outputs = [K.tanh(rows), K.reshape(K.exp(cube), (1, size, size))]
    f, g = (K.function([x], outputs, mode=mode) for mode in ("compiled", "reference"))
    for n in (7, 5, 2):
        for got, want in zip(f(np.full(n, 0.5, "f")), g(np.full(n, 0.5, "f"))):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("sizes", [[(2, 3), (1, 3), (4, 2), (1, 1), (1, 5)], [(1, 3), (2, 3)]])
def test_an_axis_split_into_one_that_is_1_in_some_calls(sizes):
    """(a, b * a) as (a, b, a): a class of larger sizes takes no axis for 1, but serves a = 1."""
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    a, b = K.shape(y)[0], K.shape(y)[1]
    f = K.function([x, y], [K.reshape(x * 2, (a, b, a)) * K.expand_dims(y, 2)])
    for m, n in sizes:
        left = np.arange(m * n * m, dtype="float32").reshape(m, n * m)
        right = np.arange(1, 1 + m * n, dtype="float32").reshape(m, n)
        want = (left * 2).reshape(m, n, m) * right[:, :, None]
        np.testing.assert_array_equal(f([left, right])[0], want)


PATCHES = [(12, 20, 3), (6, 40, 3), (240, 1, 3), (3, 12, 20), (1, 1, 720), (720, 1, 1)]


@pytest.mark.parametrize("order", [PATCHES, PATCHES[::-1]])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::-1], np.asfortranarray])
def test_patches_of_images_of_unknown_size_are_copied_in_whole_rows(order, view):
    """The sizes of a reshape say how its result is walked, not those of what it reads."""
    x = K.placeholder((None, None, None))
    y = K.permute_dimensions(K.reshape(x, (3, 4, 4, 5, 3)), (0, 2, 1, 3, 4))
    f = K.function([x], K.reshape(y, (12, -1)) * 2)

    def want(a):
        return a.reshape(3, 4, 4, 5, 3).transpose(0, 2, 1, 3, 4).reshape(12, -1) * 2

    for shape in order:
        image = view(np.random.default_rng(2).normal(size=shape).astype("f"))
        np.testing.assert_array_equal(f(image), want(image))
        if image.flags.c_contiguous:
            assert "r3" not in f.source()  # three axes around rows of 15
    with pytest.raises(K.errors.ShapeError, match="cannot reshape"):
        f(np.ones((12, 20, 4), "f"))
