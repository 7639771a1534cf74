"""NumPy programs made at random, jitted: NumPy's numbers, types, dtypes, errors and arguments, over
sizes that are known and left open, in whatever order they come."""

import random
import warnings

import numpy as np
import pytest

import ckernels as ck

from .beside import written
from .random_programs import Writer, arguments, copied

SIZES = [0, 1, 3, 8, 9, 12, 17, 33]
EDGES = [2, 7, 15, 16, 63, 64, 65, 4097]  # of vectors, strips and chunks
ULPS = 64


def outcome(function, args):
    """("ok", results and arguments afterwards), or the name of what it raises."""
    try:
        return "ok", [*function(*args), *args]
    except Exception as problem:
        return type(problem).__name__, []


def coarsest(args):
    """The largest epsilon of floats among the arguments: sums of float32 may go into float64."""
    kinds = [x.dtype for x in args if isinstance(x, (np.ndarray, np.generic))]
    return max([np.finfo(d).eps for d in kinds if d.kind in "fc"], default=0)


def differs(want, got, near, eps=0):
    """In what two results differ; near: what NumPy gives for arguments an epsilon away; eps: the
    largest epsilon of what was computed with."""
    kinds = [(type(x), getattr(x, "dtype", None), np.shape(x)) for x in (want, got)]
    if kinds[0] != kinds[1]:
        return kinds
    a, b, c = (np.asarray(x) for x in (want, got, near))
    if a.dtype.kind in "biu" or c.shape != a.shape:
        return not np.array_equal(a, b) and np.array_equal(a, c) and (want, got)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) and np.array_equal(finite, np.isfinite(c)):
        return want, got
    a, b, c = (x[finite & np.isfinite(b) & np.isfinite(c)] for x in (a, b, c))
    eps, tiny = max(eps, np.finfo(a.dtype).eps), np.finfo(a.dtype).tiny
    allowed = ULPS * eps * np.abs(a) + 200 * np.abs(a - c) + tiny
    return bool((np.abs(a - b) > allowed).any()) and (want, got)


def run(seed, folder, sizes=SIZES):
    """How many calls gave results that were compared."""
    function = written(Writer(seed).source(), f"program{seed}", folder)
    jitted, sizes, compared = ck.jit(function), sizes[:], 0
    random.Random(seed).shuffle(sizes)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for size in sizes:
            args = arguments(seed, size)
            told, want = outcome(function, copied(args))
            own, got = outcome(jitted, copied(args))
            where = f"seed {seed}, size {size}"
            assert told == own, where
            close = outcome(function, copied(args, 1.0))[1] or want
            for a, b, c in zip(want, got, close, strict=True):
                assert not (found := differs(a, b, c, coarsest(args))), (where, found)
            compared += told == "ok"
    return compared


def test_random_programs(tmp_path):
    assert sum(run(seed, tmp_path) for seed in range(16)) > 60


@pytest.mark.slow
def test_many_random_programs(tmp_path, many, new_seed):
    for seed in range(new_seed, new_seed + many // len(SIZES)):
        run(seed, tmp_path, SIZES if seed % 4 else EDGES)


def test_a_difference_is_found():
    x = np.ones(3)
    assert differs(x, x.astype("float32"), x) and differs(x, x + 1e-9, x)
    assert differs(x, np.array([1, 1, np.nan]), x) and differs(1, 1.0, 1) and not differs(x, x, x)
    assert differs(np.arange(3), np.arange(3) + 1, np.arange(3)) and not differs(
        x, x + 1e-9, x + 1e-10
    )
