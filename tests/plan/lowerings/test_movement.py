"""Layouts as memory: which are one and the same."""

from dataclasses import replace

import pytest

from ckernels.codegen.layout import Layout
from ckernels.plan.lowerings.movement import lies_in

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
