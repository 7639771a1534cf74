"""Row programs: what the second loop over a row asks for, and that it computes the same."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.reference import evaluate
from ckernels.runtime.function import make_function

from ..planned import leaf

RNG = np.random.default_rng(3)


def run(build, x):
    """(result, lines of C that prefetch) of build(leaf) on x; the result is checked."""
    s = leaf((None,) * x.ndim, x.dtype.name)
    root = build(s)
    function = make_function([s], [root], positional_only=True)
    (got,) = function(x)
    np.testing.assert_allclose(got, evaluate([root], {s: x})[0], rtol=2e-4, atol=2e-5)
    return [line.strip() for line in function.info.source().split("\n") if "_prefetch" in line]


def normalised(x):
    off = x - ops.mean(x, 1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), 1, keepdims=True) + 1e-5)


def softmax(x):
    return ops.softmax(x, 1)


def shaped(rows, columns):
    return RNG.standard_normal((rows, columns), dtype="float32")


def test_long_rows_from_memory_ask_for_what_comes_next():
    asked = run(normalised, shaped(700, 800))
    assert [line.endswith(", 1);") for line in asked] == [False, True]  # the next row; the result


@pytest.mark.parametrize("shape", [(64, 768), (40000, 16), (9, 4097)], ids=str)
def test_rows_in_cache_short_ones_and_very_long_ones_do_not(shape):
    assert not run(normalised, shaped(*shape))


@pytest.mark.parametrize("shape", [(2, 2), (3, 7), (5, 513), (6, 1025)], ids=str)
def test_exponentials_always_do(shape):
    assert len(run(softmax, shaped(*shape))) == 2


def test_only_what_lies_side_by_side_is_asked_for():
    assert all("a0" not in line for line in run(lambda x: softmax(x[:, ::2]), shaped(20, 40)))
    assert not run(lambda x: ops.sum(ops.exp(x - 1), 1), shaped(20, 40))  # one loop
