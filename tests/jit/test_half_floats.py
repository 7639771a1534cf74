"""Halves that one loop computes: what compares them, casts them or takes steps reads what NumPy has
in memory, though the loop computes in float32. tanh of 5 is 1 as float16, and 1e-8 is 0."""

import numpy as np
import pytest

import ckernels as K
import ckernels as ck
from ckernels import config

TINY, TENTH = np.float16(1e-4), np.float16(0.1)
WHOLE = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
CONSUMERS = {
    "casts": lambda x: [np.tanh(x).astype(t) for t in WHOLE] + [(x * x).astype(t) for t in WHOLE],
    "comparisons": lambda x: [np.tanh(x) < 1, np.tanh(x) == 1, 1 > np.tanh(x), x * TENTH >= x / 10],
    "zero": lambda x: [x * TINY * TINY != 0, np.logical_not(x * TINY * TINY),
                       np.any(x * TINY * TINY), np.sign(x * TINY * TINY),
                       np.count_nonzero(x * TINY * TINY)],
    "where": lambda x: [np.where(np.tanh(x) < 1, x, 7), np.where(x * TINY * TINY, x, 7)],
    "infinite": lambda x: [np.isinf(x * 30000), np.isfinite(x * 30000), np.isnan(x * 30000)],
    "steps": lambda x: [np.floor(np.tanh(x)), np.ceil(np.tanh(x) + 1), np.trunc(np.tanh(x)),
                        np.rint(x * TENTH), np.round(x * TENTH)],
    "quotients": lambda x: [x * TENTH // TENTH, x * TENTH % TENTH, np.fmod(x * TENTH, TENTH)],
    "places": lambda x: [np.argmax(np.tanh(x)), np.argmin(-np.tanh(x)),
                         np.argmax(np.tanh(np.stack([x, x])), 1)],
    "wider": lambda x: [np.tanh(x) + np.float32(0), np.tanh(x) * np.ones(len(x))],
    "sums": lambda x: [np.sum(np.tanh(x) < 1), np.sum(np.tanh(x).astype("i8")),
                       np.max(np.tanh(x).astype("f4"))],
    "chosen first": lambda x: [np.maximum(np.tanh(x), 0) < 1, -np.abs(np.tanh(x)) > -1],
}  # fmt: skip
X = np.array([5, 4.2, 4.5, 1e-4, 0, 2.999, 3.3, 6, 7.7, -5], "e")


@pytest.mark.sampled(1, mode=["compiled"])
@pytest.mark.parametrize("mode", ["reference", "compiled"])
@pytest.mark.parametrize("name", CONSUMERS)
def test_halves_are_read_as_they_are_stored(name, mode):
    with config.change(mode=mode), np.errstate(all="ignore"):
        for x in (X, np.repeat(X, 50)):
            for got, want in zip(ck.jit(CONSUMERS[name])(x), CONSUMERS[name](x), strict=True):
                assert type(got) is type(want) and np.result_type(got) == np.result_type(want)
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_operations_of_a_loop_round_once(mode):
    """As docs/guide/dtypes.md has it; a product of two halves is exact in float32."""
    x, y, z = np.random.default_rng(3).normal(size=(3, 5000)).astype("e")
    single, numpys = (x.astype("f") * y + z).astype("e"), x * y + z
    assert np.sum(single != numpys) > 1000
    with config.change(mode=mode):
        both = ck.jit(lambda x, y, z: x * y + z)(x, y, z)
        product = ck.jit(lambda x, y: x * y)(x, y)
        alone = ck.jit(lambda p, z: p + z)(product, z)
        compared = ck.jit(lambda x, y, z: x * y + z > z)(x, y, z)
    np.testing.assert_array_equal(both, numpys if mode == "reference" else single)
    np.testing.assert_array_equal(alone, numpys)
    np.testing.assert_array_equal(compared, both > z)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_only_what_a_loop_computed_is_rounded(dtype):
    x = K.placeholder((None,), dtype=dtype)
    name = "half" if dtype == "float16" else "bfloat"

    def rounds(*results):
        f = K.function([x], list(results), mode="compiled")
        f(np.ones(20))
        text = f.source()
        assert "float" in text
        return text.count(f"ck_{name}_to_float(ck_float_to_{name}(")

    for y in (x > 1, K.relu(x) > 1, K.abs(K.maximum(x, -x)) == 2, K.cast(x, "float32"),
              K.sign(K.where(x > 0, x, -x)), K.exp(x) * 2 + x, K.sum(K.exp(x))):  # fmt: skip
        assert rounds(y) == 0
    e = K.exp(x)
    assert rounds(e > 1) == rounds(e > 1, K.cast(e, "int32"), K.sign(e)) == 1
