"""How operands walk short rows: one row of the table each, and near misses."""

import pytest

from ckernels.codegen.laid import ALONG, APART, CYCLE, REPEAT, in_bundles, laid

IN = ("in", "float32")


@pytest.mark.parametrize(
    "row, kind",
    [
        ((3, 1), ALONG), ((6, 2), ALONG), ((-3, -1), ALONG),
        ((0, 1), CYCLE), ((0, -4), CYCLE),
        ((1, 0), REPEAT), ((-7, 0), REPEAT),
        ((0, 0), ""),
        ((4, 1), APART), ((1, 50), APART), ((3, -1), APART), ((-3, 1), APART),
    ],
)  # fmt: skip
def test_ways(row, kind):
    assert laid((50, 3), [(3, 1), row], [IN, IN]) == (ALONG, kind)


def test_rows_that_lie_apart_are_short_read_and_in_no_bundles():
    """Of words that lie together more than of others, which are converted or stepped over."""
    for dtype, step, least in (("float32", 1, 16), ("float64", 1, 8), ("uint8", 1, 65),
                               ("float32", 2, 6), ("float16", 1, 6)):  # fmt: skip
        for n, found in ((least - 1, (APART, ALONG)), (least, ())):
            rows = [(200, step), (n, 1)]
            assert laid((50, n), rows, [("in", dtype), ("out", "float32")]) == found
    for n, found in ((7, (APART, APART)), (8, ())):
        assert laid((50, n), [(9, 1), (-n, 1)], [IN, IN]) == found
    assert laid((50, 3), [(9, 1), (9, 2)], [IN, IN]) == ()
    assert laid((50, 3), [(3, 1), (9, 1)], [IN, ("out", "float32")]) == ()
    assert in_bundles(8, [(8, 1, True), (9, 1, False)], ["in", "in"], 256) == ()


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
