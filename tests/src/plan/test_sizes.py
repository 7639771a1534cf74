"""Classes of shapes as numbers for the runtime: rows of what is not there are refused."""

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")

CONSTANT, SYMBOL, FLOOR_DIVIDE, MODULO = 0, 1, 4, 5


def evaluated(*rows, symbols=(4,), args=(), assumed=()):
    return runtime.sizes(
        np.array(rows, np.int64).reshape(-1, 3),
        np.array(args, np.int64),
        np.array(assumed, np.int64).reshape(-1, 2),
        np.array(symbols, np.int64),
    )


def test_rows_are_numbers_symbols_and_what_is_made_of_earlier_ones():
    assert evaluated((CONSTANT, 7, 0), (SYMBOL, 0, 0)).tolist() == [7, 4]


@pytest.mark.parametrize("operation", [FLOOR_DIVIDE, MODULO])
def test_quotients_that_are_no_numbers(operation):
    for a, b, good in ((7, 2, True), (-(2**63), 1, True), (7, 0, False), (-(2**63), -1, False)):
        found = evaluated((SYMBOL, 0, 0), (SYMBOL, 1, 0), (operation, 0, 1), symbols=(a, b))
        assert (found is not None) == good
        assert not good or found[2] == (a // b if operation == FLOOR_DIVIDE else a % b)


@pytest.mark.parametrize("operation", [-1, -(2**40), 9, 10, 2**40])
def test_operations_that_are_none_are_refused_behind_good_rows_too(operation):
    with pytest.raises(ValueError, match="well formed"):
        evaluated((CONSTANT, 7, 0), (SYMBOL, 0, 0), (operation, 0, 1))


@pytest.mark.parametrize("symbol", [-1, 1, 5])
def test_symbols_that_are_not_there_are_refused(symbol):
    with pytest.raises(ValueError, match="well formed"):
        evaluated((CONSTANT, 7, 0), (SYMBOL, symbol, 0))


def stacked(sizes, below):
    """runtime.stack of blocks, each with those below it."""
    starts = np.cumsum([0, *map(len, below)])
    tables = (sizes, starts, [k for some in below for k in some])
    return runtime.stack(*(np.array(t, np.int64) for t in tables))


def test_blocks_lie_on_the_highest_of_those_below_them_in_whole_lines():
    at, top = stacked([1, 64, 65, 0, 10], [[], [0], [1], [2, 0], [0]])
    assert at.tolist() == [0, 64, 128, 256, 64] and top == 256
    assert stacked([], [])[1] == 0


@pytest.mark.parametrize("wrong", [-1, -(2**62), 2**61, 2**63 - 1])
def test_blocks_of_no_size_that_can_be_are_refused(wrong):
    for sizes in ([wrong], [1, wrong], [2**60, 1, wrong]):
        assert stacked(sizes, [range(k) for k in range(len(sizes))]) is None
    assert stacked([2**60, 2**60, 2**60, 1], [[], [0], [1], [2]]) is None


@pytest.mark.parametrize("below", [[[0]], [[], [1]], [[], [-1]], [[], [5]], [[], [2**40]]])
def test_blocks_lie_on_earlier_ones(below):
    assert stacked([8] * len(below), below) is None
    for starts in ([0, 2, 1], [-1, 0, 1], [0, 0, 2], [0, 1, 0]):
        assert runtime.stack(*(np.array(t, np.int64) for t in ([8, 8], starts, [0]))) is None
