"""Open sizes of which some are 1 in a call: broadcast as NumPy does, or refused as it refuses.

The plan of a class of sizes serves a size of 1 too, whichever came first: what broadcasts must ask.
"""

import itertools

import numpy as np
import pytest

import ckernels as K

RNG = np.random.default_rng(5)
SIZES = list(itertools.product((1, 3), (1, 4), (1, 2), (1, 4)))  # of (a, b) and (d, c)


def numbers(*shape):
    return RNG.normal(size=shape)


def places(n, *shape):
    return RNG.integers(0, n, shape)


def stored(key, add=False):
    """NumPy's x[key] = v, or the sum into it, in a copy."""

    def run(x, *rest):
        *index, v = rest
        at = key if key is not None else tuple(index)
        found = x.copy()
        if add:
            np.add.at(found, at, v)
        else:
            found[at] = v
        return found

    return run


ROWS = np.array([0, 3])
CASES = {  # name: (in K, in NumPy, arrays of the sizes a, b, c, d)
    "set_slice": (lambda x, v: K.set_subtensor(x[1:3], v), stored(slice(1, 3)),
                  lambda a, b, c, d: (numbers(5, 4), numbers(d, c))),
    "inc_slice": (lambda x, v: K.inc_subtensor(x[1:3], v), stored(slice(1, 3), True),
                  lambda a, b, c, d: (numbers(5, 4), numbers(d, c))),
    "set_columns": (lambda x, v: K.set_subtensor(x[:, 1:], v),
                    stored((slice(None), slice(1, None))),
                    lambda a, b, c, d: (numbers(a, b), numbers(d, c))),
    "set_rows": (lambda x, v: K.set_subtensor(x[ROWS], v), stored(ROWS),
                 lambda a, b, c, d: (numbers(5, 4), numbers(d, c))),
    "inc_rows": (lambda x, i, v: K.inc_subtensor(x[i], v), stored(None, True),
                 lambda a, b, c, d: (numbers(5, 4), places(5, a), numbers(d, c))),
    "indices": (lambda x, i, j: x[i, j], lambda x, i, j: x[i, j],
                lambda a, b, c, d: (numbers(5, 6), places(5, a, b), places(6, d, c))),
    "take_along_axis": (lambda x, i: K.take_along_axis(x, i, 0),
                        lambda x, i: np.take_along_axis(x, i, 0),
                        lambda a, b, c, d: (numbers(a, b), places(a, d, c))),
    "matmul": (K.matmul, np.matmul, lambda a, b, c, d: (numbers(a, b, 3), numbers(d, 3, c))),
    "where": (lambda m, x, y: K.where(m > 0, x, y), lambda m, x, y: np.where(m > 0, x, y),
              lambda a, b, c, d: (numbers(a, b), numbers(d, c), numbers(1, 1))),
    "clip": (lambda x, low: K.clip(x, low, low + 1), lambda x, low: np.clip(x, low, low + 1),
             lambda a, b, c, d: (numbers(a, b), numbers(d, c))),
    "concatenate": (lambda x, y: K.concatenate([x, y], 0), lambda x, y: np.concatenate([x, y], 0),
                    lambda a, b, c, d: (numbers(a, b), numbers(d, c))),
    "distances": (lambda x, y: K.sum(K.square(x[:, None] - y[None]), 2),
                  lambda x, y: ((x[:, None] - y[None]) ** 2).sum(2),
                  lambda a, b, c, d: (numbers(a, b), numbers(d, c))),
}  # fmt: skip


def outcome(function, arrays):
    try:
        return function(*arrays)
    except (ValueError, IndexError) as problem:  # NumPy's, and ours
        return problem


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", CASES)
def test_open_sizes_of_one_broadcast_as_in_numpy(name):
    build, meant, arrays_of = CASES[name]
    served = None
    for a, b, d, c in SIZES:
        arrays = arrays_of(a, b, c, d)
        if served is None:
            leaves = [K.placeholder((None,) * x.ndim, dtype=x.dtype.name) for x in arrays]
            served = K.function(leaves, build(*leaves), mode="compiled")
        fresh = served.copy()  # a plan of this size alone, and one after all others
        want = outcome(meant, arrays)
        for function in (served, fresh):
            got = outcome(function, arrays)
            assert isinstance(got, Exception) == isinstance(want, Exception), (arrays, got, want)
            if not isinstance(want, Exception):
                assert got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
