"""What a gradient of a loop stores of each step, and what it computes again."""

import numpy as np

from ckernels import ops
from ckernels.autodiff.scan_saved import choose_saved
from ckernels.graph.node import constant, make, placeholder
from ckernels.graph.walk import toposort

ROWS, AT = placeholder("float64", (100,)), placeholder("int64", (100,))
SLOPE = placeholder("float64", (100,))  # what comes from above


def saved(wanted, forward, free=(ROWS, AT), nothing=False):
    """Names of what is stored, where the backward step needs `wanted` and `free` is there."""
    varying = {n.uid for n in toposort([*forward, *free])}
    uids = {SLOPE.uid, wanted.uid}, varying, {n.uid for n in free}
    return [n.op.name for n in choose_saved([wanted], *uids, nothing)]


def test_what_is_cheap_is_computed_again():
    """An element that is picked costs less than one that is written and read; a cumulative sum,
    whose cost nobody modelled, and a chain of exponentials more."""
    for x, kept in (
        (ops.take(ROWS, AT, 0), []),
        (ops.neg(ROWS), []),
        (ops.mul(ROWS, constant(np.arange(100.0))), []),
        (ops.cumsum(ROWS, 0), ["cumsum"]),
        (ops.exp(ops.exp(ops.exp(ops.tanh(ROWS)))), ["exp"]),
    ):
        assert saved(ops.mul(SLOPE, x), [x]) == kept
        assert saved(ops.mul(SLOPE, x), [x], nothing=True) == []
        assert saved(ops.mul(SLOPE, x), [x], free=(ROWS, AT, x)) == []


def test_what_is_read_for_its_shape_is_named_unless_it_is_there():
    like = ops.exp(ops.take(ROWS, AT, 0))
    summed = make("unbroadcast", (SLOPE, like))
    assert saved(summed, [like]) == ["exp"]
    assert saved(summed, [like], free=(ROWS, AT, like)) == []
