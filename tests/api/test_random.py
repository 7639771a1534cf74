from math import erf, sqrt

import numpy as np
import pytest

import ckernels as K

N = (400, 50)


def test_a_tensor_is_drawn_once_per_call_and_anew_at_the_next():
    u = K.random_uniform((2, 2))
    f = K.function([], u)
    assert not np.array_equal(f(), f())
    np.testing.assert_array_equal(K.function([], u + u - 2 * u)(), np.zeros((2, 2)))


def test_no_default_updates():
    g = K.function([], K.random_normal((2, 2)), no_default_updates=True)
    np.testing.assert_array_equal(g(), g())


def test_seeds():
    a, b, c = (K.function([], K.random_uniform((3,), seed=s)) for s in (7, 7, 8))
    first = a()
    np.testing.assert_array_equal(first, b())
    np.testing.assert_array_equal(a(), b())
    assert not np.array_equal(first, c())


def test_set_random_seed_makes_streams():
    def draws():
        K.set_random_seed(5)
        tensors = [
            K.random_uniform((4,)),
            K.random_uniform((4,)),
            K.random_uniform_variable((4,), 0, 1),
        ]
        return [K.eval(t) for t in tensors]

    one, two = draws(), draws()
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], one[1])


def test_numpys_seed_counts_without_one_of_ours():
    got = []
    for _ in range(2):
        np.random.seed(1337)
        got.append(K.eval(K.random_normal((3,))))
    np.testing.assert_array_equal(*got)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform(dtype):
    x = K.eval(K.random_uniform(N, -2, 3, dtype=dtype, seed=1)).astype("float64")
    assert (x >= -2).all() and (x < 3).all()
    assert abs(x.mean() - 0.5) < 0.05 and abs(x.var() - 25 / 12) < 0.08
    assert K.dtype(K.random_uniform((1,), dtype=dtype)) == dtype


BOUNDS = [
    (100, 101), (-1, 1), (0, 1), (-1, 0), (1, 1 + 2**-22), (-101, -100), (101, 100), (0.1, 0.3),
    (2**24, 2**24 + 2), (-1.0, 6e-8), (0, 1e-40), (7, 7),
]  # fmt: skip


@pytest.mark.sampled(1, low=[1, 0.1, 100])
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("low,high", BOUNDS)
def test_uniform_never_reaches_its_end(low, high, mode):
    draws = []
    for dtype in ("float16", "float32", "float64"):
        with np.errstate(over="ignore"):
            first, end = np.array([low, high]).astype(dtype)
        if not np.isfinite([first, end]).all():
            continue
        tensors = [K.variable(np.array(v), dtype=dtype) for v in (low, high)]
        many = 40000 if dtype == "float64" else 400000
        for bounds in ((low, high), tensors):
            x = K.random_uniform((many,), *bounds, dtype=dtype, seed=1)
            draws.append((first, end, x))
        made = K.get_value(K.random_uniform_variable((many,), low, high, dtype=dtype, seed=1))
        draws.append((first, end, K.constant(made, dtype=dtype)))
        rng = K.RandomStreams(1)
        draws.append((first, end, rng.uniform((many,), *tensors, dtype=dtype)))
    for (first, end, _), x in zip(draws, K.function([], [d[2] for d in draws], mode=mode)()):
        below, above = min(first, end), max(first, end)
        assert (x >= below).all() and (x <= above).all()
        assert first == end or (x != end).all(), (first, end, x.dtype)


def test_float16_coins_that_always_fall_on_one_side():
    assert K.eval(K.random_binomial((400000,), 1.0, dtype="float16", seed=1)).all()
    kept = K.eval(K.dropout(K.ones((400000,), dtype="float16"), 0.5, seed=1))
    assert set(np.unique(kept)) == {0, 2} and abs((kept > 0).mean() - 0.5) < 0.005


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal(dtype):
    x = K.eval(K.random_normal(N, 1, 2, dtype=dtype, seed=2))
    assert x.dtype == dtype and abs(x.mean() - 1) < 0.06 and abs(x.std() - 2) < 0.06
    assert abs((np.abs(x - 1) < 2).mean() - erf(1 / sqrt(2))) < 0.02


def test_truncated_normal():
    x = K.eval(K.truncated_normal(N, 1, 2, seed=3))
    assert (np.abs(x - 1) <= 4.0001).all() and x.max() > 4.5 and x.min() < -2.5
    assert abs(x.mean() - 1) < 0.06 and abs(x.std() / 2 - 0.8796) < 0.03  # the law's own deviation


def test_binomial():
    x = K.eval(K.random_binomial(N, 0.3, seed=4))
    assert set(np.unique(x)) == {0, 1} and abs(x.mean() - 0.3) < 0.02 and x.dtype == "float32"
    assert (
        not K.eval(K.random_binomial((50,))).any() and K.eval(K.random_binomial((50,), 1.0)).all()
    )


def test_integers():
    x = K.eval(K.random_uniform(N, 2, 6, dtype="int32", seed=5))
    assert x.dtype == "int32" and set(np.unique(x)) == {2, 3, 4, 5}


def test_symbolic_shapes():
    t = K.placeholder(ndim=2)
    f = K.function([t], K.random_normal((t.shape[0], 3)))
    assert f(np.ones((5, 2), "float32")).shape == (5, 3)
    g = K.function([t], K.random_uniform(K.shape(t)))
    assert g(np.ones((5, 2), "float32")).shape == (5, 2)


def test_refusals():
    with pytest.raises(TypeError):
        K.random_normal((2,), dtype="int32")
    with pytest.raises(TypeError):
        K.random_uniform((2,), seed="a")
    with pytest.raises(TypeError):
        K.random_uniform(("a",))


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x + K.random_uniform(K.shape(x), -1, 1, seed=3),
        lambda x: x + K.random_normal(K.shape(x), seed=3),
        lambda x: K.reshape(x, K.shape(x) * 2 // 2),
        lambda x: x + K.random_uniform(K.cast(K.shape(x), "int64") + 0, seed=3),
    ],
    ids=["uniform", "normal", "reshape", "sum"],
)
def test_sizes_that_are_equal(build):
    """The vector (4, 4) becomes one number broadcast: its values are known all the same."""
    x = K.placeholder((None, None))
    f = K.function([x], build(x), mode="compiled")
    for shape in ((3, 4), (4, 4), (1, 1), (0, 0), (5, 5)):
        assert f(np.zeros(shape)).shape == shape
