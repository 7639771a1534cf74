"""Static shapes: which are the same as they stand, and what they broadcast to."""

import pytest

from ckernels.graph.shapes import broadcast, known_same


@pytest.mark.parametrize("shape", [(), (3,), (None, 3), (None, None)])
def test_shapes_that_stand_alike_are_the_same(shape):
    assert known_same(shape, tuple(list(shape)))
    assert not known_same(shape, (*shape, 3))
    assert not known_same((*shape, 3), shape)


@pytest.mark.parametrize("a, b", [((2, 3), (2, 4)), ((None, 3), (2, 3)), ((3,), (2, 3))])
def test_shapes_that_differ_anywhere_are_not_the_same(a, b):
    assert not known_same(a, b) and not known_same(b, a)


@pytest.mark.parametrize(
    "shapes, expected",
    [
        (((1,), (1,), (1,)), (1,)),
        (((1, 3), (1, 1), (3,)), (1, 3)),
        (((1, 1), (4, 1), (5,)), (4, 5)),
        (((None, 1), (1, 2), (1,)), (None, 2)),
        (((), (), ()), ()),
    ],
)
def test_three_shapes_are_broadcast_as_two_and_one(shapes, expected):
    assert broadcast("add", *shapes) == expected
    assert broadcast("add", broadcast("add", *shapes[:2]), shapes[2]) == expected
