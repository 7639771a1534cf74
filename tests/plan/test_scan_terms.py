"""The terms of steps through single elements: how sums and products in them are rounded."""

import numpy as np

import ckernels as ck
from benchmarks.numpy_programs import registry


def test_products_that_many_kernels_have_for_many_uses():
    """A step of fourth order in three numbers: how each product is rounded is settled once."""

    turns = registry.load()["lorenz_rk4"].function
    jitted = ck.jit(turns)
    for steps in (40, 0, 1, 25):
        given = 1.0, 1.0, 1.0, 10.0, 28.0, 8 / 3, 0.01, steps
        np.testing.assert_allclose(jitted(*given), turns(*given), rtol=1e-9)
    assert not jitted.report()["numpy"]


def sums_at_times(x, w):
    s, t, u, v = -0.0, 0.0, 0.0, 1.0
    for i in range(len(x)):
        if w[i] != 0:
            s += x[i]
        if w[i] > 0:
            t -= x[i] * x[i]
        if w[i] > 1:
            u = x[i] - u
        if w[i] < 1:
            v = v * 0.5 + x[i]
    return s, t, u, v


def test_a_sum_at_times_keeps_its_sign_and_bits():
    """A sum of zeros of either sign is theirs; a product is rounded before a sum takes it."""
    jitted, rng = ck.jit(sums_at_times), np.random.default_rng(4)
    for x in (-np.zeros(5), np.zeros(4), np.array([np.nan, 1.0]), np.array([np.inf, -np.inf, 1.0]),
              rng.normal(size=50)):  # fmt: skip
        for w in (np.zeros(len(x), int), np.ones(len(x), int), rng.integers(-2, 3, len(x))):
            with np.errstate(invalid="ignore"):
                wanted, found = sums_at_times(x, w), jitted(x, w)
            assert [np.float64(a).tobytes() for a in wanted[:3]] == [
                np.float64(a).tobytes() for a in found[:3]
            ]
            np.testing.assert_allclose(found[3], wanted[3], 1e-12)
