"""How operands walk short rows: one row of the table each, and near misses."""

import pytest

from ckernels.codegen.laid import ALONG, CYCLE, REPEAT, laid

IN = ("in", "float32")


@pytest.mark.parametrize(
    "row, kind",
    [
        ((3, 1), ALONG), ((6, 2), ALONG), ((-3, -1), ALONG),
        ((0, 1), CYCLE), ((0, -4), CYCLE),
        ((1, 0), REPEAT), ((-7, 0), REPEAT),
        ((0, 0), ""),
        ((4, 1), None), ((1, 50), None), ((3, -1), None),
    ],
)  # fmt: skip
def test_ways(row, kind):
    found = laid((50, 3), [(3, 1), row], [IN, IN])
    assert found == (() if kind is None else (ALONG, kind))


def test_outputs_and_running_indices_are_not_laid_out():
    for role in ("out", "index"):
        assert laid((50, 3), [(3, 1), (0, 1)], [IN, (role, "float32")]) == ()
        assert laid((50, 3), [(3, 1), (1, 0)], [IN, (role, "float32")]) == ()
        assert laid((50, 3), [(0, 1), (3, 1)], [IN, (role, "float32")]) == (CYCLE, ALONG)


def test_one_axis_and_long_rows_are_as_they_are():
    assert laid((150,), [(1,), (0,)], [IN, IN]) == ()
    assert laid((50, 64), [(64, 1), (0, 1)], [IN, IN]) == (ALONG, CYCLE)
    assert laid((50, 65), [(65, 1), (0, 1)], [IN, IN]) == ()
    assert laid((7, 3), [(3, 1), (0, 1)], [IN, IN]) == ()
    assert laid((9, 7, 3), [(21, 3, 1), (3, 0, 1)], [IN, IN]) == ()
    assert laid((9, 8, 3), [(24, 3, 1), (3, 0, 1)], [IN, IN]) == (ALONG, CYCLE)
