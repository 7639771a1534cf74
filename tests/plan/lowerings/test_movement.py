"""Layouts as memory: which are one and the same."""

from dataclasses import replace

import pytest
from ops.agree import leaf

from ckernels import ops
from ckernels.codegen.layout import Layout
from ckernels.graph.node import make
from ckernels.plan.lowerings.movement import lies_in, narrow

HERE = Layout(("tmp", 0), (3, 1, 4), (4, 4, 1), "float32", 2)


def test_axes_of_size_1_lie_anywhere():
    assert lies_in(HERE, HERE) and lies_in(HERE, replace(HERE, strides=(4, 99, 1)))


@pytest.mark.parametrize(
    "there",
    [
        dict(strides=(4, 4, 3)),
        dict(strides=(1, 4, 1)),
        dict(strides=(1, 4, 3)),
        dict(offset=0),
        dict(buffer=("tmp", 1)),
    ],
)
def test_another_place_or_order_is_not_the_same(there):
    assert not lies_in(HERE, replace(HERE, **there))


def test_only_indices_that_are_widened_are_read_as_they_are():
    x = leaf((5,), "int8")
    values = ops.cast(x, "int64")
    for dtype, to, bare in (
        ("int16", "int64", True),
        ("uint32", "int64", True),
        ("int64", "int32", False),  # what wraps around is another index
        ("uint64", "int64", False),
        ("bool", "int64", False),
    ):
        i = leaf((3,), dtype)
        node = make("take", (values, ops.cast(i, to)), {"axis": 0})
        read = narrow(node).inputs
        assert read == (values, i if bare else ops.cast(i, to)), (dtype, to)
    assert narrow(ops.neg(values)) is ops.neg(values)
