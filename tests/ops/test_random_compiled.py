"""Compiled random numbers: the oracle's bits, for any shape, fusion and thread count."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import make, new_uid
from ckernels.ops.random import bits_of, normal_of, uniform_of, words
from ckernels.runtime.function import make_function

STATES = [(0, 0, 0), (1, 2, 3), (2**63 - 1, 5, 2**40), (-7, 2**33 + 1, -1)]
KINDS = [(ops.random_uniform, uniform_of, "float32"), (ops.random_uniform, uniform_of, "float64"),
         (ops.random_bits, bits_of, "uint32"), (ops.random_bits, bits_of, "uint64")]  # fmt: skip


def state():
    attrs = {"uid": new_uid(), "dtype": "int64", "shape": (3,), "name": None}
    return make("placeholder", (), attrs)


def compiled(build):
    s = state()
    f = make_function([s], [build(s)], single=True)
    return lambda words: f(np.array(words, "int64"))


def expected(values, words_of, shape, dtype):
    return values(*words(words_of, int(np.prod(shape))), dtype).reshape(shape)


def ulps(got, want):
    return np.abs(got.astype("float64") - want.astype("float64")) / np.spacing(np.abs(want))


@pytest.mark.parametrize("words_of", STATES)
@pytest.mark.parametrize("build, values, dtype", KINDS)
def test_bits_equal_the_oracle(build, values, dtype, words_of):
    for shape in [(), (1,), (1, 1), (0, 3), (3,), (257,), (5, 1, 70), (40, 1000)]:
        got = compiled(lambda s, shape=shape: build(s, shape, dtype))(words_of)
        assert got.dtype == dtype and got.shape == shape
        np.testing.assert_array_equal(got, expected(values, words_of, shape, dtype))


@pytest.mark.parametrize("words_of", STATES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normals_are_within_four_ulps(dtype, words_of):
    got = compiled(lambda s: ops.random_normal(s, (300, 700), dtype))(words_of)
    assert ulps(got, expected(normal_of, words_of, (300, 700), dtype)).max() <= 4
    assert abs(got.mean()) < 0.02 and abs(got.std() - 1) < 0.02


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fused_transposed_and_broadcast(dtype):
    u = expected(uniform_of, (4, 5, 6), (30, 50), dtype)
    cases = [
        (lambda x: ops.mul(x, 2), u * 2),
        (lambda x: ops.add(ops.transpose(x, (1, 0)), 1), u.T + 1),
        (lambda x: ops.concatenate([x, x], 0), np.concatenate([u, u])),
        (
            lambda x: ops.add(ops.expand(x, (1,)), np.zeros((30, 4, 50), dtype)),
            np.repeat(u[:, None], 4, 1),
        ),
        (lambda x: ops.reshape(x, (50, 30)), u.reshape(50, 30)),
        (lambda x: ops.max(x, 1), u.max(1)),
    ]
    for build, want in cases:
        f = compiled(lambda s, build=build: build(ops.random_uniform(s, (30, 50), dtype)))
        np.testing.assert_array_equal(f((4, 5, 6)), want)


@pytest.mark.parametrize("build", [ops.random_uniform, ops.random_normal])
def test_the_same_for_any_thread_count(build):
    f = compiled(lambda s: build(s, (1000, 1003), "float32"))
    before, found = K.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            K.set_num_threads(threads)
            found.append(f((1, 2, 3)))
    finally:
        K.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_prefix_of_a_longer_draw():
    short = compiled(lambda s: ops.random_normal(s, (37,), "float32"))((1, 2, 3))
    long = compiled(lambda s: ops.random_normal(s, (5000,), "float32"))((1, 2, 3))
    np.testing.assert_array_equal(short, long[:37])


def test_a_state_computed_inside_the_graph():
    for shape in [(), (1,), (4,), (3, 3)]:
        f = compiled(
            lambda s, shape=shape: ops.random_uniform(
                ops.add(s, np.array([0, 0, 1])), shape, "float32"
            )
        )
        want = expected(uniform_of, (1, 2, 4), shape, "float32")
        np.testing.assert_array_equal(f((1, 2, 3)), want)


def test_each_call_draws_anew_and_a_seed_repeats():
    def calls():
        K.set_random_seed(11)
        f = K.function([], [K.random_uniform((50,)), K.random_normal((50,))])
        return [f([]) for _ in range(3)], f

    first, f = calls()
    again, _ = calls()
    for (u, z), (v, y) in zip(first, again):
        np.testing.assert_array_equal(u, v)
        np.testing.assert_array_equal(z, y)
    assert not np.array_equal(first[0][0], first[1][0])
    assert not np.array_equal(first[0][0], first[0][1])
    assert len(f.info.steps()) <= 4  # two draws and two states, each one small loop


def test_streams_follow_the_call_counter():
    x = K.random_uniform((100,), seed=5)
    f = K.function([], [x])
    for call in range(3):
        want = expected(uniform_of, (5, 0, call), (100,), "float32")
        np.testing.assert_array_equal(f([])[0], want)
