"""Which scans run all of their steps: only of these is the last row of a trace the last state; of
scans that may stop before, results are the oracle's whatever is read of them."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import as_node, item
from ckernels.ops.reference import evaluate
from ckernels.ops.scan import Carry, scan_node
from ckernels.rewrite import optimise
from ckernels.rewrite.scan.opened import runs_all

T = 4
X, FIRST = np.arange(12.0).reshape(T, 3), np.ones((1, 3))
ENDS = {  # options: how many steps run
    "all": ({}, T),
    "no limit that is met": ({"limit": T}, T),
    "two": ({"limit": 2}, 2),
    "none": ({"limit": 0}, 0),
    "as many as are counted": ({"count": 3}, 3),
    "until": ({"until": 20.0}, 2),
}


def doubled(until=None, count=None, **options):
    """(placeholders, scan) of h = 2 h + x."""
    x, first = (K.placeholder(s, dtype="float64").node for s in ((T, 3), (1, 3)))
    row, old = (K.placeholder((3,), dtype="float64").node for _ in range(2))
    new = ops.add(ops.mul(old, 2.0), row)
    if count is not None:
        options["count"] = as_node(count, "int64")
    stop = None if until is None else ops.gt(ops.sum(new), until)
    carry = Carry(first, (-1,), [old], new)
    return [x, first], scan_node(as_node(T, "int64"), [(0, [x], row)], [carry], [], stop, **options)


@pytest.mark.parametrize("name", ENDS)
def test_only_scans_that_nothing_ends_run_all(name):
    options, steps = ENDS[name]
    leaves, scan = doubled(**options)
    assert runs_all(scan) == (name == "all")
    trace, final = item(scan, 0), item(scan, 1)
    states = [FIRST[0]]
    for row in X[:steps]:
        states.append(2 * states[-1] + row)
    given = dict(zip(leaves, (X, FIRST)))
    for read in ([final], [trace], [trace, final], [ops.getitem(trace, 0)]):
        for roots in (read, optimise(read)):
            for node, got in zip(read, evaluate(roots, given)):
                if node is final:
                    np.testing.assert_array_equal(got, states[-1])
                elif steps and node is trace:
                    np.testing.assert_array_equal(got[:steps], states[1:])
                elif steps:
                    np.testing.assert_array_equal(got, states[1])
