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


def counted(rng, rows, columns):
    """What may be the numbers of the rows or of the columns of a matrix, or only nearly so."""
    n = int(rng.choice([rows, columns, columns, 1]))
    line = [
        lambda: K.arange(n).node,
        lambda: K.arange(2, n + 2).node,
        lambda: K.arange(0, 2 * n, 2).node,
        lambda: ops.iota((n,), 0),
        lambda: ops.iota((rows, columns), int(rng.integers(2))),
        lambda: constant(np.arange(n) + 1),
        lambda: constant(np.arange(n)[::-1].copy()),
        lambda: constant(np.arange(n) / 2),
        lambda: constant(np.arange(rows * columns).reshape(rows, columns)),
        lambda: constant(np.int64(1)),
    ][int(rng.choice([0, 0, 0, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9]))]()
    if rng.random() < 0.3:
        line = ops.cast(line, str(rng.choice(["int32", "float64", "int64"])))
    for op in (ops.add, ops.sub):
        if rng.random() < 0.3:
            by = [2, -1, 0.5, constant(np.arange(line.size)), constant([1])][int(rng.integers(5))]
            line = op(line, by) if line.ndim < 2 else line
    if line.ndim == 1 and rng.random() < 0.5:
        line = ops.reshape(line, (line.size, 1))
    return line


def masks(rng, rows, columns):
    """A condition on the elements of a matrix."""
    kind = int(rng.integers(8))
    k = int(rng.integers(-3, 4))
    if kind == 0:
        return constant(np.tri(rows, columns, k) * int(rng.integers(1, 3)))
    if kind == 1:
        ones = constant(np.broadcast_to(float(rng.integers(3)), (rows, columns)).copy())
        return (ops.tril, ops.triu)[int(rng.integers(2))](ones, k)
    if kind == 2:
        return constant(rng.integers(0, 2, (rows, columns)) if rng.random() < 0.5
                        else np.zeros((rows, columns)))  # fmt: skip
    name = str(rng.choice(["ge", "gt", "le", "lt", "eq", "ne"]))
    return getattr(ops, name)(counted(rng, rows, columns), counted(rng, rows, columns))


NEGATIONS = [
    ops.logical_not,
    lambda condition: ops.eq(condition, 0),
    lambda condition: ops.ne(condition, 0),
    lambda condition: ops.eq(0, condition),
]


@pytest.mark.parametrize("sizes", [(4, 6), (5, 5), (1, 4), (3, 1), (1, 1), (6, 4)])
def test_an_offset_is_that_of_what_is_seen(sizes):
    """Of any condition, also of what only looks like numbers of rows and columns."""
    rng, found = np.random.default_rng(sizes), 0
    for _ in range(250):
        try:
            condition = masks(rng, *sizes)
        except K.errors.ShapeError:
            continue
        for _ in range(int(rng.integers(3))):
            condition = NEGATIONS[int(rng.integers(len(NEGATIONS)))](condition)
        holds = bool(rng.integers(2))
        offset = causal_offset(condition, holds, sizes)
        if offset is not None:
            found += 1
            seen = np.broadcast_to(evaluate([condition], {})[0], sizes).astype(bool) == holds
            np.testing.assert_array_equal(seen, np.tri(*sizes, offset, dtype=bool))
    assert found > 5
