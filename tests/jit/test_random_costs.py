"""Costs made at random, differentiated under jit: values as NumPy's, first and second derivatives
as differences of them, the same bits on any number of threads."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels import config
from ckernels.base.errors import NotSupported
from ckernels.jit import grad, value_and_grad
from tests.codegen.test_random_graphs import low_thresholds  # noqa: F401 (a fixture)

from .random_costs import Cost

# What has no derivative here, by the words of the refusal; why.
REFUSED = {
    "a reshape that may be a view or a copy": "which one it is, the layout of results decides",
}


def along(f, x, w, u, v, step):
    """The slope of f at (x, w) along (u, v): of each result, by a central difference."""
    up, down = f(x + step * u, w + step * v), f(x - step * u, w - step * v)
    return [(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(up, down)]


def near(found, f, *at):
    """How many results of f have the slopes `found`; those that two steps tell apart, at a corner
    or where rounding decides, are not compared."""
    compared = 0
    with np.errstate(all="ignore"):
        short, long = along(f, *at, 1e-6), along(f, *at, 1e-5)
    for a, b, c in zip(found, short, long, strict=True):
        size = np.maximum(1, np.abs(a)) + np.max(np.abs(c), initial=0)
        smooth = np.abs(b - c) < 1e-4 * size
        off = np.minimum(np.abs(a - b), np.abs(a - c)) > 2e-4 * size
        assert np.isfinite(np.where(smooth, a, 0)).all() and not (off & smooth).any(), (a, b, c)
        compared += int(np.sum(smooth))
    return compared


def run(seed, folder):
    """How many numbers were compared."""
    cost = Cost(seed)
    f, x, w = cost.function(f"cost{seed}", folder), cost.x, cost.w
    rng = np.random.default_rng([seed, 1])
    u, v = rng.normal(size=x.shape), rng.normal(size=w.shape)
    first = value_and_grad(f, (0, 1))

    def slope(x, w, u, v):
        gx, gw = grad(f, (0, 1))(x, w)
        return np.sum(gx * u) + np.sum(gw * v)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, (gx, gw) = first(x, w)
        second = grad(slope, (0, 1))(x, w, u, v)
        np.testing.assert_allclose(value, f(x.copy(), w.copy()), rtol=1e-9, atol=1e-9)
        total = [np.sum(gx * u) + np.sum(gw * v)]
        compared = near(total, lambda x, w: [f(x.copy(), w.copy())], x, w, u, v)
        return compared + near(second, lambda x, w: first(x, w)[1], x, w, u, v)


def found(seed, folder):
    try:
        return run(seed, folder)
    except Exception as problem:
        if isinstance(problem, NotSupported) and any(w in str(problem) for w in REFUSED):
            return 0
        raise AssertionError(f"seed {seed}\n{Cost(seed).source}") from problem


def test_random_costs(tmp_path):
    with config.change(mode="reference"):
        assert sum(found(seed, tmp_path) for seed in range(16)) > 120
    with config.change(mode="compiled"):
        assert sum(found(seed, tmp_path) for seed in range(24, 26)) > 8


def bits(seed, count, folder):
    cost = Cost(seed)
    f = cost.function(f"threads{seed}_{count}", folder)
    ck.set_num_threads(count)
    value, slopes = value_and_grad(f, (0, 1))(cost.x, cost.w)
    return [np.asarray(a).tobytes() for a in (value, *slopes)]


def check_threads(seeds, folder):
    before = ck.get_num_threads()
    try:
        for seed in seeds:
            some = [bits(seed, count, folder) for count in (1, 2, 4)]
            assert some[0] == some[1] == some[2], f"seed {seed}\n{Cost(seed).source}"
    finally:
        ck.set_num_threads(before)


@pytest.mark.rest
def test_random_costs_on_threads(tmp_path, low_thresholds):  # noqa: F811
    check_threads(range(40, 42), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", *["compiled"] * 20])
def test_many_random_costs(tmp_path, many, new_seed, mode):
    with config.change(mode=mode):
        for seed in range(new_seed, new_seed + many // (2 if mode == "reference" else 20)):
            found(seed, tmp_path)


@pytest.mark.slow
def test_many_random_costs_on_threads(tmp_path, many, new_seed, low_thresholds):  # noqa: F811
    check_threads(range(new_seed, new_seed + many // 100), tmp_path)
