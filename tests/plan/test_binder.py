"""What is laid out before a loop reads it: columns of tables that it meets again and again."""

import numpy as np
import pytest
from codegen.planned import leaf, plan

from ckernels import ops
from ckernels.codegen.laid import SHORT
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

RNG = np.random.default_rng(8)
TABLE = RNG.normal(size=(70, 4)).astype("float32")
ROWS = RNG.normal(size=(90, 1)).astype("float32")


def copies(build, *arrays):
    return sum(s.name == "copy" for s in plan(build, *arrays)[0])


@pytest.mark.parametrize("table", [TABLE, TABLE[::-1], TABLE[:, ::2], np.repeat(TABLE, 2, 0)[::2]])
def test_columns_that_are_met_again_are_copied(table):
    assert copies(lambda t, r: t[:, 0] * r - t[:, 1], table, ROWS) == 2


def test_a_column_is_copied_once_for_all_loops():
    def build(t, r):
        x = t[:, 0] * r
        return [ops.tanh(x), ops.sum(ops.exp(x) + t[:, 0], 1), ops.matmul(x, ops.transpose(x))]

    assert copies(build, TABLE, ROWS) == 1


NEAR_MISSES = {
    "met a few times": (lambda t, r: t[:, 0] * r, [TABLE, ROWS[:8]]),
    "few elements": (lambda t, r: t[:, 0] * r, [TABLE[:9], ROWS]),
    "one after the other": (lambda t, r: t[0] * r, [TABLE.T.copy(), ROWS]),
    "backwards": (lambda t, r: t[::-1] * r, [TABLE[:, 0].copy(), ROWS]),
    "one for each row": (lambda t, r: t[:, :1] * r, [TABLE, ROWS.T.copy()]),
    "of as many elements": (lambda t, r: t[:, ::2] * r, [np.tile(TABLE, 40), ROWS[:70]]),
}


def corners(boxes, others):
    """The lower corners of the overlaps of boxes with others."""
    return ops.minimum(boxes[:, None, 2:], others[None, :, 2:])


LONG = RNG.normal(size=(70, 2 * SHORT + 1)).astype("float32")
NEAR_MISSES |= {
    "corners, met a few times": (corners, [TABLE[:8], TABLE]),
    "corners, each once": (lambda t, r: t[:, 2:] + r[:, 2:], [TABLE, TABLE]),
    "long rows": (lambda t, r: t[:, None, SHORT:] + r[None, :, SHORT:], [LONG, LONG]),
    "rows one after the other": (lambda t, r: t[:, None] + r[None], [TABLE, TABLE]),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("view", [lambda t: t, lambda t: t[::-1], lambda t: t[::2]])
def test_short_rows_that_lie_apart_are_copied_where_they_are_met_again(view, dtype):
    boxes, others = (100 * RNG.random((n, 4)) for n in (33, 90))
    boxes[1], others[2, 3], others[3] = np.nan if dtype[0] == "f" else 0, np.inf, -0.0
    with np.errstate(invalid="ignore"):
        boxes, others = boxes.astype(dtype), view(others.astype(dtype))
    assert copies(corners, boxes, others) == 1
    inputs = [leaf((None, 4), dtype), leaf((None, 4), dtype)]
    root = corners(*inputs)
    f = make_function(inputs, [root], positional_only=True)
    for given in ((boxes, others), (boxes[:0], others), (boxes, others[:0]), (boxes, others[:1])):
        (want,) = evaluate([root], dict(zip(inputs, given)))
        np.testing.assert_array_equal(f(*given)[0], want)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_others_are_read_where_they_lie(name):
    build, arrays = NEAR_MISSES[name]
    assert copies(build, *arrays) == 0
