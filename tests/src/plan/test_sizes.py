"""Classes of shapes as numbers for the runtime: rows of what is not there are refused."""

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime was not built")

CONSTANT, SYMBOL = 0, 1


def evaluated(*rows, symbols=(4,), args=(), assumed=()):
    return runtime.sizes(
        np.array(rows, np.int64).reshape(-1, 3),
        np.array(args, np.int64),
        np.array(assumed, np.int64).reshape(-1, 2),
        np.array(symbols, np.int64),
    )


def test_rows_are_numbers_symbols_and_what_is_made_of_earlier_ones():
    assert evaluated((CONSTANT, 7, 0), (SYMBOL, 0, 0)).tolist() == [7, 4]


@pytest.mark.parametrize("operation", [-1, -(2**40), 9, 10, 2**40])
def test_operations_that_are_none_are_refused_behind_good_rows_too(operation):
    with pytest.raises(ValueError, match="well formed"):
        evaluated((CONSTANT, 7, 0), (SYMBOL, 0, 0), (operation, 0, 1))


@pytest.mark.parametrize("symbol", [-1, 1, 5])
def test_symbols_that_are_not_there_are_refused(symbol):
    with pytest.raises(ValueError, match="well formed"):
        evaluated((CONSTANT, 7, 0), (SYMBOL, symbol, 0))
