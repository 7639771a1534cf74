"""bfloat16: stored in two bytes, computed in float32; NumPy has it from the package ml_dtypes."""

import sys

import numpy as np
import pytest

import ckernels as K
from ckernels.base import dtypes
from ckernels.base.errors import ConfigError, DTypeError
from ckernels.codegen.emit import emit
from ckernels.runtime import stored

needs_ml_dtypes = pytest.mark.skipif(not dtypes.available("bfloat16"), reason="no ml_dtypes")
RNG = np.random.default_rng(5)


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for build in (
        lambda: K.placeholder((2,), dtype="bfloat16"),
        lambda: K.cast(K.placeholder((2,)), "bfloat16"),
    ):
        with pytest.raises(DTypeError, match=r"pip install 'ckernels\[bf16\]'"):
            build()
    assert not dtypes.available("bfloat16") and dtypes.available("float16")
    with pytest.raises(ConfigError, match=r"pip install 'ckernels\[bf16\]'"):
        K.set_floatx("bfloat16")
    assert K.floatx() == "float32"


def test_rules():
    assert dtypes.is_float("bfloat16") and dtypes.computed("bfloat16") == "float32"
    assert dtypes.kind("bfloat16") == "f" and dtypes.to_float("bfloat16") == "bfloat16"
    if dtypes.available("bfloat16"):
        for other, want in (
            ("bool", "bfloat16"),
            ("int8", "bfloat16"),
            ("uint8", "bfloat16"),
            ("int16", "float32"),
            ("int32", "float64"),
            ("float16", "float32"),
            ("float32", "float32"),
            ("float64", "float64"),
            ("complex64", "complex64"),
            ("bfloat16", "bfloat16"),
        ):
            assert dtypes.promote(["bfloat16", other]) == want, other
            assert dtypes.promote([other, "bfloat16"]) == want, other
        assert dtypes.promote(["bfloat16"], [float]) == "bfloat16"


def bf16(*shape):
    return RNG.normal(size=shape).astype("bfloat16")


@needs_ml_dtypes
def test_a_function_computes_in_float32_and_rounds_once():
    x = K.placeholder((None, None), dtype="bfloat16")
    f = K.function([x], [K.exp(x) * x - 1, K.sum(x, axis=1), K.softmax(x), K.cast(x, "float64")])
    a = bf16(7, 500)
    wide = a.astype("float32")
    e = np.exp(wide - wide.max(1, keepdims=True))
    for got, want in zip(
        f([a]), (np.exp(wide) * wide - 1, wide.sum(1, dtype="float64"), e / e.sum(1, keepdims=True))
    ):
        assert got.dtype == a.dtype
        np.testing.assert_allclose(got.astype("float64"), want, rtol=2.0**-8, atol=2.0**-8)
    np.testing.assert_array_equal(f([a])[3], a.astype("float64"))
    assert "ck_bfloat_to_float(a0[j])" in f.source()


@needs_ml_dtypes
def test_a_cast_in_a_graph_rounds_to_even():
    x = K.placeholder((None,))
    ones = 1 + np.arange(9, dtype="float32") / 512  # steps of a quarter ulp
    (got,) = K.function([x], [K.cast(K.cast(x, "bfloat16"), "float32")])([ones])
    np.testing.assert_array_equal(got, ones.astype("bfloat16").astype("float32"))


@needs_ml_dtypes
def test_variables_and_gradients():
    w = K.variable(bf16(20, 3), dtype="bfloat16", name="w")
    x = K.placeholder((None, 20), dtype="bfloat16")
    loss = K.mean(K.square(K.dot(x, w)))
    (g,) = K.gradients(loss, [w])
    assert g.dtype == "bfloat16"
    before, a = K.get_value(w), bf16(64, 20)
    step = K.function([x], [loss, g], updates=[(w, w - 0.1 * g)])
    value, slope = step([a])
    y = a.astype("float64") @ before.astype("float64")
    np.testing.assert_allclose(float(value), (y**2).mean(), rtol=0.02)
    want = 2 * a.astype("float64").T @ y / y.size
    np.testing.assert_allclose(slope.astype("float64"), want, rtol=0.05, atol=0.05)
    assert K.get_value(w).dtype == before.dtype
    assert [float(step([a])[0]) for _ in range(20)][-1] < 0.5 * float(value)


@needs_ml_dtypes
@pytest.mark.parametrize("mode", ["reference", "debug", "fast_compile"])
def test_modes(mode):
    x = K.placeholder((None, 6), dtype="bfloat16")
    y = [K.tanh(x) + K.mean(x, axis=0), K.max(x, axis=1), K.concatenate([x, x * 2], axis=1)]
    a = bf16(5, 6)
    for got, want in zip(K.function([x], y, mode=mode)([a]), K.function([x], y)([a])):
        np.testing.assert_allclose(
            got.astype("float32"), want.astype("float32"), rtol=0.02, atol=0.01
        )


@needs_ml_dtypes
def test_arguments():
    x = K.placeholder((None,), dtype="bfloat16")
    f = K.function([x], [x * 2])
    for given in ([1.0, 2.5], np.array([1.0, 2.5], "float32"), np.array([1, 2.5], "float16")):
        np.testing.assert_array_equal(f([given])[0].astype("float32"), [2, 5])
    y = K.placeholder((None,))
    np.testing.assert_array_equal(K.function([y], [y * 2])([bf16(3)])[0].dtype, "float32")
    with pytest.raises(DTypeError):
        f([np.array(["a"])])


@needs_ml_dtypes
def test_dropout_random_numbers_and_indices():
    x = K.placeholder((None, 4), dtype="bfloat16")
    a = bf16(1000, 4)
    (kept,) = K.function([x], [K.dropout(x, 0.5, seed=3)])([a])
    share = (kept != 0).mean()
    assert kept.dtype == a.dtype and 0.4 < share < 0.6
    u = K.eval(K.random_uniform((5000,), dtype="bfloat16", seed=1)).astype("float32")
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.02
    (rows,) = K.function([x], [K.gather(x, np.array([3, 0, -1]))])([a])
    np.testing.assert_array_equal(rows, a[[3, 0, -1]])


@needs_ml_dtypes
def test_half_the_bytes_are_moved(monkeypatch):
    """The kernel reads and writes two bytes per element."""
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))  # planned anew
    x = K.placeholder((None,), dtype="bfloat16")
    f = K.function([x], [K.tanh(x)])
    f([bf16(10)])
    kernel = f.info.program.instructions[0].kernel.check()
    assert [o.dtype for o in kernel.operands] == ["bfloat16"] * 2
    assert "uint16_t *const y1" in emit(kernel)[1]


@needs_ml_dtypes
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_it_may_be_floatx(mode):
    """Variables, constants, numbers, draws and layers are bfloat16 then, and a net learns."""
    with K.config.change(floatX="bfloat16", mode=mode):
        streams = K.RandomStreams(1)
        draws = [
            streams.uniform((4000,)),
            streams.normal((4000,)),
            K.random_uniform((4000,)),
            K.random_normal((4000,)),
            K.dropout(K.ones((4000,)), 0.5),
        ]
        for draw, mean in zip(draws, (0.5, 0, 0.5, 0, 1)):
            numbers = K.eval(draw)
            assert draw.dtype == "bfloat16" == numbers.dtype.name
            assert abs(numbers.astype("float64").mean() - mean) < 0.1
        assert K.eval(K.maximum(draws[0], draws[2])).max() < 1 and K.eval(draws[0]).min() > 0
        assert (K.placeholder((2,), dtype="int32") * 0.5).dtype == "bfloat16"
        assert K.eye(3).dtype == K.cast_to_floatx([1]).dtype.name == "bfloat16"
        x, t = K.placeholder((None, 4)), K.placeholder((None, 3))
        w, v = K.random_uniform_variable((4, 8), -1, 1, seed=1), K.zeros((8, 3))
        y = K.softmax(K.dot(K.relu(K.dot(x, w)), v))
        cost = K.mean(K.categorical_crossentropy(y, t))
        steps = [(p, p - 0.5 * g) for p, g in zip((w, v), K.gradients(cost, [w, v]))]
        train = K.function([x, t], cost, updates=steps)
        data = RNG.normal(size=(64, 4))
        costs = [float(train(data, np.eye(3)[data.argmax(1) % 3])) for _ in range(40)]
        assert w.dtype == K.get_value(w).dtype.name == "bfloat16"
        assert abs(costs[0] - np.log(3)) < 0.01 and costs[-1] < 0.75 * costs[0]
