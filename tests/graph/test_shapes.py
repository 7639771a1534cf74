"""Static shapes: which are the same as they stand, and what they broadcast to."""

import itertools

import numpy as np
import pytest

from ckernels.base.errors import ShapeError
from ckernels.graph.shapes import broadcast, dense_strides, in_memory, known_same, same
from ckernels.graph.sizes import ShapeClass


@pytest.mark.parametrize("shape", [(), (3,), (None, 3), (None, None)])
def test_shapes_that_stand_alike_are_the_same(shape):
    assert known_same(shape, tuple(list(shape)))
    assert not known_same(shape, (*shape, 3))
    assert not known_same((*shape, 3), shape)


@pytest.mark.parametrize("a, b", [((2, 3), (2, 4)), ((None, 3), (2, 3)), ((3,), (2, 3))])
def test_shapes_that_differ_anywhere_are_not_the_same(a, b):
    assert not known_same(a, b) and not known_same(b, a)
    assert not same(a, b) and not same(b, a)


def test_a_size_and_a_number_of_its_value_are_not_the_same_as_they_stand():
    of = ShapeClass()
    n = of.symbol(("input", 0, 0), "n", 3)
    assert not known_same((n,), (3,)) and not known_same((3, 2), (n, 2)) and known_same((n,), (n,))
    assert not of.assumed


def test_sizes_that_are_not_known_are_not_certainly_the_same():
    assert same((2, 3), (2, 3)) and same((), ()) and not same((None, 3), (None, 3))


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


@pytest.mark.parametrize("perm", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1, 2), (1, 1, 5), (1, 1, 1)])
def test_orders_in_memory_are_those_of_numpy(shape, perm):
    """Strides without gaps are those NumPy gives; the order is read off them again, axes of one
    element first."""
    a = np.zeros([shape[k] for k in perm]).transpose(np.argsort(perm))
    strides = tuple(s // a.itemsize for s in a.strides)
    found = dense_strides(perm, shape)
    assert [s for s, n in zip(found, shape) if n > 1] == [
        s for s, n in zip(strides, shape) if n > 1
    ]
    ones = [k for k in range(3) if shape[k] == 1]
    assert in_memory(strides, shape)[: len(ones)] == tuple(sorted(ones, key=lambda k: -strides[k]))
    assert in_memory(strides, shape)[len(ones) :] == tuple(k for k in perm if shape[k] > 1)


@pytest.mark.parametrize("axis", range(3))
def test_axes_that_run_backwards(axis):
    order = [~k if k == axis else k for k in (2, 0, 1)]
    a = np.flip(np.zeros((4, 2, 3)).transpose(1, 2, 0), axis)
    assert dense_strides(order, (2, 3, 4)) == tuple(s // a.itemsize for s in a.strides)


def test_strides_ask_nothing_of_sizes():
    of = ShapeClass()
    n, m = (of.symbol(("input", 0, k), f"n{k}", value) for k, value in enumerate((1, 6)))
    assert dense_strides((1, 0), (n, m)) == (1, n) and not of.assumed
    few = m - 4  # which may be 1, for other shapes
    assert dense_strides((0, 1), (3, few)) == (few, 1) and not of.assumed
    assert dense_strides((1, 0), (3, few)) == (1, 3) and not of.assumed
    outer, middle, inner = dense_strides((0, 1, 2), (4, n, m))
    assert (outer.value, middle.value, inner) == (6, 6, 1) and not of.assumed
    assert outer is n * m


@pytest.mark.parametrize(
    "what, text",
    [
        ("add", "cannot add shapes (2, 3) and (4,): axis 1"),
        ("clip", "cannot broadcast shapes (2, 3) and (4,) in clip"),
    ],
)
def test_shapes_that_do_not_fit_are_told_with_what_is_done(what, text):
    with pytest.raises(ShapeError) as problem:
        broadcast(what, (2, 3), (4,))
    assert str(problem.value).startswith(text)
