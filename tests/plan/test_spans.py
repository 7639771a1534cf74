"""Spans of integers, beside all values that the nodes have; and which indices exist for certain."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import constant, placeholder
from ckernels.graph.walk import toposort
from ckernels.ops import reference
from ckernels.ops.filling import arange
from ckernels.plan.spans import Spans


def number(x):
    return constant(np.asarray(x, "int64"))


LINE = arange(0, 7, 1, "int64")
NODES = [
    number(5),
    number([3, -4, 9]),
    LINE,
    ops.add(LINE, number(-3)),
    ops.sub(number(2), LINE),
    ops.mul(ops.sub(LINE, number(3)), number(-2)),
    ops.mul(ops.sub(LINE, number(3)), ops.sub(number(1), LINE)),
    ops.neg(ops.mul(LINE, number(4))),
    ops.maximum(LINE, number(4)),
    ops.minimum(ops.neg(LINE), number(-2)),
    ops.cast(LINE, "int32"),
    ops.getitem(ops.expand(LINE, (0,)), (slice(None), slice(2, 5))),
]


@pytest.mark.parametrize("node", NODES)
def test_all_values_lie_inside(node):
    values = reference.evaluate([node], {})[0]
    low, high = Spans().of(node)
    assert low <= values.min() and values.max() <= high


@pytest.mark.parametrize("node", NODES[:6])
def test_spans_of_sums_are_no_wider(node):
    values = reference.evaluate([node], {})[0]
    assert Spans().of(node) == (values.min(), values.max())


def test_what_is_not_known():
    x = placeholder("int64", ())
    floats = constant(np.ones(3))
    for node in (x, ops.add(x, number(1)), floats, ops.abs(x)):
        assert Spans().of(node) is None
    assert Spans({x.uid: (2, 5)}).of(ops.add(x, number(1))) == (3, 6)
    wide = constant(np.asarray(2**62, "int64"))
    assert Spans().of(ops.add(ops.mul(wide, number(1)), ops.mul(LINE, wide))) is None  # wraps
    small = ops.cast(ops.mul(LINE, number(100)), "int8")
    assert Spans().of(small) is None


def test_indices_that_exist():
    x, index = placeholder("float64", (10,)), placeholder("int64", ())
    for span, fits in (
        ((0, 9), True),
        ((3, 10), False),
        ((-10, 2), True),
        ((-11, 2), False),
        (None, False),
    ):
        spans = Spans({index.uid: span})
        assert spans.within(ops.take(x, index)) == fits
        assert spans.within(ops.set_subtensor(x, (index,), number(1))) == fits
    opened = placeholder("float64", (None,))
    assert not Spans().within(ops.take(opened, number(1)))
    assert not Spans().within(ops.neg(x))
    assert not Spans().within(LINE)


def test_turns_of_loops():
    rows, first = K.placeholder((6,), dtype="int64"), K.placeholder((), dtype="int64")
    turns = K.arange(6)
    states, _ = K.scan(lambda t, r, s: s + t, [turns, rows], K.cast(first, "int64"))
    scan = next(n for n in toposort([states.node]) if n.op.name == "scan")
    inner = Spans().inside(scan)
    found = [inner.of(x) for x in scan.attrs["body"].inputs]
    assert found[:2] == [(0, 5), None] and found[2:] == [None] * len(found[2:])


def test_states_that_count():
    def grown(init, by, steps, dtype="int64"):
        more = K.constant(by, dtype=dtype)
        first = K.constant(init, dtype=dtype)
        states, _ = K.scan(lambda t, s: s + more, [K.arange(steps)], first)
        scan = next(n for n in toposort([states.node]) if n.op.name == "scan")
        return [s for s in map(Spans().inside(scan).of, scan.attrs["body"].inputs) if s]

    assert (3, 3 + 2 * 4) in grown(3, 2, 5)
    assert (3, 3) in grown(3, 0, 5)
    assert (3, 3) not in grown(3, -1, 5)
    assert (100, 127) in grown(100, 1, 28, "int8")
    assert not [s for s in grown(100, 1, 29, "int8") if s[0] == 100]  # wraps
