"""Random near misses of all recognisers: rewritten graphs and compiled kernels against float64."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise
from ckernels.runtime.function import make_function

from .helpers import placeholder
from .near_misses import FORMULAS, Case


def search(seeds):
    """What is wrong with rewritten graphs, evaluated by NumPy."""
    failures = []
    for seed in seeds:
        case = Case(seed)
        with np.errstate(all="ignore"):
            got = evaluate(optimise([case.root]), dict(zip(case.leaves, case.arrays)))[0]
        failures.append(case.wrong(got))
    failures = [f for f in failures if f]
    assert not failures, f"{len(failures)} of {len(seeds)}\n" + "\n".join(failures[:20])


def search_compiled(seeds, mode, per=30):
    """The same of compiled functions of some cases each."""
    failures = []
    for first in range(seeds.start, seeds.stop, per):
        cases = [Case(seed) for seed in range(first, min(first + per, seeds.stop))]
        function = make_function(
            [n for c in cases for n in c.leaves],
            [c.root for c in cases],
            positional_only=True,
            mode=mode,
        )
        got = function(*[a for c in cases for a in c.arrays])
        failures += [c.wrong(np.asarray(g)) for c, g in zip(cases, got)]
    failures = [f for f in failures if f]
    assert not failures, f"{len(failures)} of {len(seeds)}\n" + "\n".join(failures[:20])


def test_near_misses():
    search(range(300))


@pytest.mark.sampled(0)
@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_compiled_near_misses(mode):
    search_compiled(range(1000, 1045), mode)


@pytest.mark.parametrize("shape", [(4, 4), (None, None)])
def test_a_quotient_of_rows_is_taken_before_a_product_beyond_all_floats(shape):
    """A softmax without its maximum: exp(x) * rows is beyond float32 where rows / sums is 1."""
    x = placeholder("float32", shape)
    e = ops.exp(x)
    rows = ops.sum(e, (1,), keepdims=True)
    others = ops.sum(ops.true_div(ops.maximum(e, rows), rows), (1,))  # along the other axis
    root = ops.mul(e, ops.sub(ops.true_div(1.0, rows), others))
    a = np.linspace(40, 50, 16).reshape(4, 4).astype("float32")
    want = np.exp(a.astype("float64"))
    sums = want.sum(1, keepdims=True)
    want = want * (1 / sums - (np.maximum(want, sums) / sums).sum(1))
    for mode in ("compiled", "fast_compile"):
        got = make_function([x], [root], positional_only=True, mode=mode)(a)[0]
        np.testing.assert_allclose(got, want, 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_near_misses(part):
    search(range(10_000 + part * 500, 10_500 + part * 500))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_compiled_near_misses(part, mode):
    search_compiled(range(50_000 + part * 500, 50_500 + part * 500), mode)


def test_the_generator_reaches_all_formulas_and_changes():
    cases = [Case(seed) for seed in range(400)]
    assert {c.name for c in cases} == set(FORMULAS)
    ways = [change.split()[0] for c in cases for change in c.changes]
    assert all(ways.count(way) >= 20 for way in ("input", "op", "number", "axes"))
    assert all(c.changes for c in cases)
