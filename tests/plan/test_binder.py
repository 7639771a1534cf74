"""What is laid out before a loop reads it: columns of tables that it meets again and again."""

import numpy as np
import pytest
from codegen.planned import plan

from ckernels import ops

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


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_others_are_read_where_they_lie(name):
    build, arrays = NEAR_MISSES[name]
    assert copies(build, *arrays) == 0
