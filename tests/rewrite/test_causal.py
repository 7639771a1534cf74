"""Which conditions on scores say that a row sees keys up to an offset, beside NumPy's triangles."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import constant
from ckernels.ops.reference import evaluate
from ckernels.rewrite.causal import causal_offset

SIZES = 4, 6
ROWS, COLUMNS = K.arange(4).node, K.arange(6).node
R = ops.reshape(ROWS, (4, 1))
NONE = K.placeholder((4, 6), name="x").node
SEEN = {
    "ge": (lambda: ops.ge(R, COLUMNS), 0),
    "gt": (lambda: ops.gt(R, COLUMNS), -1),
    "moved": (lambda: ops.ge(ops.add(R, 2), COLUMNS), 2),
    "moved the other way": (lambda: ops.ge(R, ops.add(COLUMNS, 1)), -1),
    "less": (lambda: ops.gt(ops.sub(R, -2), COLUMNS), 1),
    "columns left": (lambda: ops.le(COLUMNS, R), 0),
    "columns left, strictly": (lambda: ops.lt(COLUMNS, R), -1),
    "not after": (lambda: ops.logical_not(ops.lt(R, COLUMNS)), 0),
    "not at or after": (lambda: ops.eq(ops.le(R, COLUMNS), 0), -1),
    "not not": (lambda: ops.ne(ops.ge(R, COLUMNS), 0), 0),
    "known": (lambda: constant(np.tri(4, 6, 1)), 1),
}


@pytest.mark.parametrize("name", SEEN)
def test_offsets_of_comparisons(name):
    build, offset = SEEN[name]
    condition = build()
    assert causal_offset(condition, True, SIZES) == offset
    seen = np.broadcast_to(evaluate([condition], {})[0], SIZES).astype(bool)
    np.testing.assert_array_equal(seen, np.tri(*SIZES, offset, dtype=bool))
    assert causal_offset(ops.logical_not(condition), False, SIZES) == offset


NEAR = {
    "before": lambda: ops.le(R, COLUMNS),
    "rows of columns": lambda: ops.ge(ops.reshape(K.arange(4).node, (4, 1)), ops.mul(COLUMNS, 2)),
    "two columns": lambda: ops.ge(COLUMNS, COLUMNS),
    "equal": lambda: ops.eq(R, COLUMNS),
    "another op": lambda: ops.logical_and(ops.ge(R, COLUMNS), ops.gt(NONE, 0)),
    "of data": lambda: ops.ge(NONE, COLUMNS),
    "equal to 1": lambda: ops.eq(ops.ge(R, COLUMNS), 1),
    "floats": lambda: ops.ge(ops.add(ops.cast(R, "float32"), 0.5), COLUMNS),
}


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name):
    condition = NEAR[name]()
    assert causal_offset(condition, True, SIZES) is None


def test_other_sizes_are_another_matrix():
    assert causal_offset(ops.ge(R, COLUMNS), True, (4, 5)) is None
    assert causal_offset(ops.ge(R, COLUMNS), False, SIZES) is None
    assert causal_offset(ops.ge(R, K.arange(1).node), True, (4, 1)) == 0
