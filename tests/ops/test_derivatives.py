"""All derivatives of all differentiable ops against differences: first, second, mixed, Rop, Lop,
Hessians; at generic points and at zeros, ones and stationary points."""

import numpy as np
import pytest

from ckernels.graph.op import REGISTRY

from .derivatives import CASES, NOT_HERE, check, discrete

MAKERS = {}
for _name, _makers in CASES.items():
    for _maker in _makers:
        MAKERS.setdefault(_maker, []).append(_name)
NAMED = pytest.mark.parametrize(
    "maker", MAKERS, ids=[f"{names[0]}-{maker.__name__}" for maker, names in MAKERS.items()]
)


def test_every_differentiable_row_has_cases():
    missing = [
        n
        for n, op in list(REGISTRY.items())  # a gradient may bring ops with it
        if op.grad
        and n not in CASES
        and n not in NOT_HERE
        and not discrete(op)
        and not op.grad.__module__.startswith(
            ("ckernels.compat", "ckernels.theano", "ckernels.bridges")
        )
    ]
    assert not missing, missing


def run(maker, count, seed):
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        try:
            check(maker(rng), rng)
        except Exception as problem:
            raise AssertionError(f"case {k} of seed {seed}: {problem}") from problem


@pytest.mark.sampled(1)
@NAMED
def test_derivatives(maker):
    run(maker, 3, 1)


@pytest.mark.slow
@NAMED
def test_derivatives_of_10_000_cases(maker):
    run(maker, 10_000 // len(MAKERS) + 1, 2)
