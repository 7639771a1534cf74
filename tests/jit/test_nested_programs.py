"""Programs of containers, functions and writes that meet, jitted: NumPy's results, types, arguments
written and memory shared with them, for arguments of two kinds after one another."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels import config

from .beside import flat, written
from .nested_programs import Writer, arguments
from .random_programs import copied
from .test_random_programs import coarsest, differs


def outcome(function, args):
    """(results, arguments afterwards), or what it raises."""
    try:
        return flat([function(*args)]), args
    except Exception as problem:
        return problem, args


def shared(results, args):
    """Which results lie in the memory of which arguments."""
    arrays = [x for x in results if isinstance(x, np.ndarray)]
    return [np.shares_memory(x, y) for x in arrays for y in args[:3]]


def run(seed, folder, writer=Writer, arguments=arguments):
    """How many calls were compared. An error that NumPy has for what nobody reads is no
    difference."""
    compared, first = 0, [seed, 0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        function = written(writer(seed, arguments(first)).source(), f"nested{seed}", folder)
        jitted = ck.jit(function)
        for each in (first, [seed, 1], first):
            args, where = arguments(each), f"seed {seed}, arguments of {each}"
            (want, theirs), (got, ours) = (outcome(f, copied(args)) for f in (function, jitted))
            if isinstance(want, Exception):
                continue
            assert not isinstance(got, Exception), (where, got)
            near, after = outcome(function, copied(args, 1.0))
            if isinstance(near, Exception) or len(near) != len(want):
                near, after = want, theirs
            numbers = [1e-3 if x.dtype == "float16" else coarsest(args) for x in args[:3]]
            for x, y, z in zip(want + theirs, got + ours, near + after, strict=True):
                if not isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
                    assert x == y, where
                    continue
                found = differs(x, y, z, max(numbers))
                assert not found, (where, found)
            assert shared(want, theirs) == shared(got, ours), where
            compared += 1
    return compared


@pytest.mark.rest
def test_nested_programs(tmp_path):
    with config.change(mode="reference"):
        assert sum(run(seed, tmp_path) for seed in range(40)) > 60


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", *["compiled"] * 20])
def test_many_nested_programs(tmp_path, many, new_seed, mode):
    with config.change(mode=mode):
        for seed in range(new_seed, new_seed + many // (3 if mode == "reference" else 20)):
            run(seed, tmp_path)
