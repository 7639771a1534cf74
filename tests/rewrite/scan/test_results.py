"""Results of changed scans: each kind gives its node, and follows states and rows that move."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.ops.scan import ScanSignature
from ckernels.rewrite.scan.opened import Opened, drop_carries, move_outs
from ckernels.rewrite.scan.results import (
    AfterScan,
    OutsideScan,
    ScanCount,
    ScanFinal,
    ScanOut,
    ScanTrace,
    results_of,
)

ROWS = np.array([1.0, 2.0, 4.0], "float32")


@pytest.fixture
def made():
    """(rows, scan) of sums and products of rows, with twice and three times each sum besides."""
    x = K.placeholder((3,))

    def step(row, total, product):
        total = total + row
        return total, product * row, total * 2, total * 3

    infos = [K.constant(0.0), K.constant(1.0), None, None]
    outputs, _ = K.scan(step, x, infos)
    return x, next(n for n in toposort([outputs[0].node]) if n.op.name == "scan")


SUMS, PRODUCTS = [1, 3, 7], [1, 2, 8]


def value(x, node):
    return evaluate([node], {x.node: ROWS})[0]


def test_where_they_are_at_first(made):
    x, scan = made
    sig = ScanSignature.of(scan)
    wanted = [SUMS, PRODUCTS, 7, 8, [2, 6, 14], [3, 9, 21], 3]
    found = results_of(sig)
    assert len(found) == len(wanted)
    for result, numbers in zip(found, wanted):
        np.testing.assert_array_equal(value(x, result.node(scan, sig)), numbers)


def test_what_is_made_of_others(made):
    x, scan = made
    sig = ScanSignature.of(scan)
    both = AfterScan(ops.add, (ScanOut(0), OutsideScan(x.node)))
    np.testing.assert_array_equal(value(x, both.node(scan, sig)), [3, 8, 18])
    assert both.reads(ScanOut(0)) and not both.reads(ScanOut(1)) and not both.reads(ScanTrace(0))
    moved = both.mapped(lambda r: ScanOut(1) if r == ScanOut(0) else r)
    np.testing.assert_array_equal(value(x, moved.node(scan, sig)), [4, 11, 25])


def test_rows_that_move(made):
    """What was made of the first result is made of what stands for it now."""
    x, scan = made
    opened = Opened(scan)
    opened.results.append(AfterScan(ops.neg, (ScanOut(0),)))
    move_outs(opened, opened.outs[1:], {0: AfterScan(ops.add, (ScanTrace(0),) * 2), 1: ScanOut(0)})
    found = opened.close()
    assert len(opened.outs) == 1
    for k, numbers in enumerate([SUMS, PRODUCTS, 7, 8, [2, 6, 14], [3, 9, 21], 3, [-2, -6, -14]]):
        np.testing.assert_array_equal(value(x, found[k]), numbers)


def test_states_that_go(made):
    """The first goes, so the second is the first; what read it reads what stands for it."""
    x, scan = made
    opened = Opened(scan)
    opened.results = [
        *opened.results[:4], None, None, ScanCount(),
        AfterScan(ops.sub, (ScanFinal(1), ScanFinal(0))),
    ]  # fmt: skip
    opened.outs = []

    def stands(result):
        if isinstance(result, ScanFinal):
            return AfterScan(ops.sum, (ScanTrace(1),))  # 11, in the old numbers of states
        return OutsideScan(x.node)

    drop_carries(opened, {0: stands})
    assert opened.results[1] == ScanTrace(0) and opened.results[4] is None
    found = opened.close()
    assert set(found) == {0, 1, 2, 3, 6, 7}
    for k, numbers in zip(found, [ROWS, PRODUCTS, 11, 8, 3, 8 - 11]):
        np.testing.assert_array_equal(value(x, found[k]), numbers)
