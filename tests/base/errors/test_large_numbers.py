"""Python ints beyond int64 or beyond memory: NumPy's meaning, or a sentence of a class of ours."""

import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import (
    ArgumentError,
    CKernelsError,
    DTypeError,
    IndexOutOfBounds,
    OutOfMemory,
    ShapeError,
)

MODES = ("compiled", "reference")
LARGE = [10**20, 2**63, 2**63 - 1, 2**62, 2**40 + 3]
LARGE += [-n for n in LARGE]


@pytest.mark.parametrize("mode", MODES)
def test_slices_by_ints_of_any_size(mode):
    bounds = [None, 1, -1, *LARGE]
    x = K.placeholder((None, 2))
    keys = [slice(*key) for key in itertools.product(bounds, bounds[::2], [None, -1, *LARGE[::2]])]
    f = K.function([x], [x[key] for key in keys], mode=mode)
    for n in (0, 1, 3):
        a = np.arange(2.0 * n, dtype="float32").reshape(n, 2)
        for key, got in zip(keys, f(a)):
            np.testing.assert_array_equal(got, a[key], err_msg=str(key))


@pytest.mark.parametrize("mode", MODES)
def test_slices_that_are_written(mode):
    x, n = K.placeholder((None,)), K.placeholder((), dtype="int64")
    outputs = [
        K.set_subtensor(x[10**20 :], 1.0), K.inc_subtensor(x[: 2**63], 1.0), x[n : 10**20],
        K.set_subtensor(x[:: 10**20], 5.0),
    ]  # fmt: skip
    got = K.function([x, n], outputs, mode=mode)(np.arange(3.0), 1)
    assert [g.tolist() for g in got] == [[0, 1, 2], [1, 2, 3], [1, 2], [5, 1, 2]]


@pytest.mark.parametrize("n", LARGE)
def test_indices(n):
    for x in (K.placeholder((None,)), K.placeholder((3,))):
        with pytest.raises(IndexOutOfBounds, match=str(n)):
            K.function([x], x[n])(np.ones(3))


BUILT = [
    (lambda: K.arange(0, float("nan")), ArgumentError, "finite numbers"),
    (lambda: K.arange(0, float("inf")), ArgumentError, "finite numbers"),
    (lambda: K.arange(10**20, 10**20 + 3), DTypeError, "does not fit"),
    (lambda: K.zeros((2**63,)), OutOfMemory, "9223372036854775808"),
    (lambda: K.ones((2**62, 3)), OutOfMemory, "no memory for a float32 tensor"),
    (lambda: K.eye(10**20), OutOfMemory, "no memory"),
    (lambda: K.tile(K.ones((3,)), 10**20), DTypeError, "100000000000000000000"),
    (lambda: K.reshape(K.ones((3,)), (10**20,)), DTypeError, "100000000000000000000"),
    (lambda: K.scan(lambda h: h + 1, outputs_info=K.constant(1.0), n_steps=2**63), DTypeError,
     "9223372036854775808"),
    (lambda: K.top_k(K.ones((3,)), 10**20), ShapeError, "of shape"),
]  # fmt: skip


@pytest.mark.parametrize("build, error, words", BUILT)
def test_what_is_refused_when_it_is_made(build, error, words):
    with pytest.raises(error, match=words) as caught:
        build()
    assert caught.value.line[0] == __file__


CALLED = [
    lambda v, i: K.arange(2**63), lambda v, i: K.arange(2**62),
    lambda v, i: K.arange(0, 1, 1e-300), lambda v, i: K.one_hot(i, 10**20),
    lambda v, i: K.one_hot(i, 2**62), lambda v, i: K.random_uniform((2**62,)),
    lambda v, i: K.temporal_padding(K.reshape(v, (1, -1, 1)), (10**20, 1)),
    lambda v, i: K.top_k(v, 10**20)[0], lambda v, i: K.tile(v, 2**62),
    lambda v, i: K.scan(lambda h: h + 1, outputs_info=K.constant(1.0), n_steps=2**62)[0],
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("build", CALLED)
def test_what_no_memory_holds(build, mode):
    v, i = K.placeholder((None,)), K.placeholder((None,), dtype="int64")
    with pytest.raises(CKernelsError) as caught:
        K.function([v, i], build(v, i), mode=mode, on_unused_input="ignore")(np.ones(3), [1])
    assert caught.value.line or caught.value.made


@pytest.mark.parametrize("mode", MODES)
def test_numbers_that_a_call_brings(mode):
    n, x = K.placeholder((), dtype="int64"), K.placeholder((None,))
    f = K.function([n], K.arange(n), mode=mode)
    last = K.function([x, n], [x[n:], x[:n]], mode=mode)
    for large in (2**63 - 1, 2**62):
        with pytest.raises(OutOfMemory, match=f"{large} elements"):
            f(large)
        assert [a.size for a in last(np.ones(3), large)] == [0, 3]
        assert [a.size for a in last(np.ones(3), -large)] == [3, 0]
    assert f(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_more_elements_than_there_are(mode):
    """top_k has as many results as were asked for, or says that there are not so many."""
    x, k = K.placeholder((None,)), K.placeholder((), dtype="int64")
    fixed = K.function([x], K.top_k(x, 3)[0], mode=mode)
    given = K.function([x, k], K.top_k(x, k)[0], mode=mode)
    for size in (3, 4, 9):
        v = np.random.default_rng(size).normal(size=size)
        want = np.sort(v)[::-1][:3].astype("float32")
        np.testing.assert_array_equal(fixed(v), want)
        np.testing.assert_array_equal(given(v, 3), want)
        np.testing.assert_array_equal(given(v, -3), np.sort(v)[:3].astype("float32"))
    for size in (0, 2):
        with pytest.raises(ShapeError, match=f"top_k of 3 elements along axis 0 of shape .{size},"):
            fixed(np.ones(size))
        with pytest.raises(IndexOutOfBounds):
            given(np.ones(size), 3)
