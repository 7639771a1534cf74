"""Loops that are equal but for their numbers become one kernel, which reads them from memory; those
that almost are keep theirs: values beside NumPy's."""

import numpy as np
import pytest

import ckernels as K
from ckernels.schedule.parameters import LEAST

X = np.linspace(-1, 1, 7)
NUMBERS = [3.25, 0.75, -1.5, 4.0, 7.125]


def made(loops):
    """(the function of these loops over inputs of their own, how many kernels it has)."""
    xs = [K.placeholder((None,), dtype="float64") for _ in loops]
    f = K.function(xs, [loop(x) for loop, x in zip(loops, xs)])
    results = f(*(X + k for k in range(len(loops))))
    return results, len({r.key for r in f.info.program.kernels.records.values()})


def scaled(a, b=0.125):
    return lambda x: K.tanh(x * a) + b


@pytest.mark.parametrize("count", [2, LEAST - 1, LEAST, LEAST + 1])
def test_as_many_as_pay(count):
    results, kernels = made([scaled(a) for a in NUMBERS[:count]])
    for k, (got, a) in enumerate(zip(results, NUMBERS)):
        np.testing.assert_allclose(got, np.tanh((X + k) * a) + 0.125, 1e-13)
    assert kernels == (1 if count >= LEAST else count)


OTHERS = {
    "another function": (lambda x: K.sin(x * 2.5) + 0.125, lambda x: np.sin(x * 2.5) + 0.125),
    "another order": (lambda x: K.tanh(x + 0.375) * 2.5, lambda x: np.tanh(x + 0.375) * 2.5),
    "another dtype": (lambda x: K.tanh(K.cast(x, "float32") * 2.5) + 0.125,
                      lambda x: np.tanh(x.astype("float32") * 2.5) + 0.125),
    "a sum": (lambda x: K.sum(K.tanh(x * 2.5) + 0.125), lambda x: (np.tanh(x * 2.5) + 0.125).sum()),
    "a number more": (lambda x: K.tanh(x * 2.5) + 0.125 + K.exp(x * 1.75),
                      lambda x: np.tanh(x * 2.5) + 0.125 + np.exp(x * 1.75)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_loops_that_differ_in_more_than_numbers(name):
    build, want = OTHERS[name]
    results, kernels = made([*map(scaled, NUMBERS[:LEAST]), build])
    np.testing.assert_allclose(results[-1], want(X + LEAST), 1e-6)
    for k, (got, a) in enumerate(zip(results, NUMBERS[:LEAST])):
        np.testing.assert_allclose(got, np.tanh((X + k) * a) + 0.125, 1e-13)
    assert kernels == 2


def test_only_numbers_that_differ_are_read():
    """The sum's 0.125 stays in the text, the factor of each loop does not."""
    xs = [K.placeholder((None,), dtype="float64") for _ in range(LEAST)]
    f = K.function(xs, [scaled(a)(x) for a, x in zip(NUMBERS, xs)])
    f(*[X] * LEAST)
    text = f.source()
    assert "0.125" in text and not any(str(a) in text for a in NUMBERS[:LEAST] if a != 4.0)
