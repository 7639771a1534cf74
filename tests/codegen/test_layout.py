"""Layouts against NumPy: a view's strides address the elements that NumPy's view has."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import ops
from ckernels.codegen.layout import (
    Layout,
    collapse,
    fresh,
    part_of_pairs,
    reshape_strides,
    view,
)
from ckernels.graph.node import constant, make, new_uid
from ckernels.graph.sizes import ShapeClass

shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 6]), max_size=4).map(tuple)


def leaf(shape):
    return make(
        "placeholder",
        (),
        {"uid": new_uid(), "dtype": "float64", "shape": tuple(shape), "name": None},
    )


def addresses(layout):
    """The element offset of every index, as an array."""
    total = np.full(layout.shape, layout.offset, dtype=np.int64)
    for k, (n, s) in enumerate(zip(layout.shape, layout.strides)):
        total += (np.arange(n) * s).reshape([-1 if i == k else 1 for i in range(len(layout.shape))])
    return total


@given(shapes)
def test_contiguous_strides(shape):
    assert (addresses(fresh("b", shape, "float64")).ravel() == np.arange(np.prod(shape))).all()


@given(shapes, st.data())
def test_views_address_what_numpy_shows(shape, data):
    x = leaf(shape)
    layout = fresh("b", shape, "float64")
    memory = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    for _ in range(3):
        before = x
        x, memory = one_view(x, memory, data)
        if x is before:
            continue
        made = view(x, layout)
        if made is None:  # a reshape that needs a copy: so says NumPy
            assert x.op.name == "reshape"
            return
        assert made.shape == x.shape == memory.shape
        assert (addresses(made) == memory).all()
        layout = made


def one_view(x, memory, data):
    kind = data.draw(
        st.sampled_from(["transpose", "expand", "squeeze", "broadcast", "slice", "reshape"])
    )
    ndim = memory.ndim
    if kind == "transpose" and ndim > 1:
        perm = data.draw(st.permutations(range(ndim)))
        return make("transpose", (x,), {"perm": tuple(perm)}), memory.transpose(perm)
    if kind == "expand":
        axis = data.draw(st.integers(0, ndim))
        return make("expand", (x,), {"axes": (axis,)}), np.expand_dims(memory, axis)
    if kind == "squeeze" and 1 in memory.shape:
        axis = memory.shape.index(1)
        return make("squeeze", (x,), {"axes": (axis,)}), np.squeeze(memory, axis)
    if kind == "broadcast":
        new = (2,) + tuple(3 if d == 1 else d for d in memory.shape)
        return ops.broadcast_to(x, new), np.broadcast_to(memory, new)
    if kind == "slice" and ndim:
        step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
        start = data.draw(st.sampled_from([None, 0, 1, -1]))
        at = (slice(start, None, step),)
        new = x[at]
        return (new, memory[at]) if new.op.name == "slice" and new.inputs[0] is x else (x, memory)
    new = [d for d in memory.shape if d != 1][::-1] or [1]
    return make("reshape", (x, constant(np.array(new, "int64")))), memory.reshape(new)


@given(shapes, st.permutations(range(4)), st.lists(st.sampled_from([1, 2, 3, 6, 4]), max_size=4))
@settings(max_examples=300)
def test_reshape_strides(shape, perm, new):
    """Where strides are given they are right; where NumPy makes no copy they are given."""
    perm = [p for p in perm if p < len(shape)]
    memory = np.arange(np.prod(shape, dtype=int)).reshape(shape).transpose(perm)
    if np.prod(new, dtype=int) != memory.size:
        new = list(memory.shape[:1]) + [int(np.prod(memory.shape[1:], dtype=int))]
        if np.prod(new, dtype=int) != memory.size:
            return
    strides = tuple(s // 8 for s in memory.strides)
    got = reshape_strides(memory.shape, strides, tuple(new))
    wanted = memory.reshape(new)
    if got is not None:
        assert (addresses(Layout("b", tuple(new), got, "int64")) == wanted).all()
    elif memory.size:
        assert not np.shares_memory(wanted, memory)
    if np.shares_memory(wanted, memory):
        assert got is not None


def test_reshape_of_zero_strides():
    assert reshape_strides((4, 3), (0, 0), (12,)) == (0,)
    assert reshape_strides((4, 3), (0, 1), (12,)) is None
    assert reshape_strides((), (), (1, 1)) == (0, 0)


@pytest.mark.parametrize("strides", list(itertools.permutations([1, 5, 35, 105], 3)))
def test_collapse_keeps_every_address(strides):
    sizes = (3, 5, 7)
    rows = [strides, (35, 7, 1), (0, 0, 0)]
    new_sizes, new_rows = collapse(sizes, rows)
    assert np.prod(new_sizes) == 105 and len(new_sizes) <= 3
    for old, new in zip(rows, new_rows):
        before = addresses(Layout("b", sizes, old, "int64")).ravel()
        assert (addresses(Layout("b", new_sizes, new, "int64")).ravel() == before).all()


def test_collapse_merges_what_walks_alike():
    assert collapse((4, 5, 6), [(30, 6, 1), (0, 0, 0)]) == ((120,), [(1,), (0,)])
    assert collapse((4, 5, 6), [(30, 6, 1), (6, 0, 1)]) == ((4, 5, 6), [(30, 6, 1), (6, 0, 1)])
    assert collapse((4, 5, 6), [(30, 6, 1), (0, 6, 1)]) == ((4, 30), [(30, 1), (0, 1)])
    assert collapse((), [(), ()]) == ((), [(), ()])


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0), ()])
def test_parts_of_pairs_lie_inside_of_their_buffer(shape):
    """Of no pairs, too: behind the last one is no second part."""
    pairs = fresh("b", shape, "complex64")
    for which in (0, 1):
        part = part_of_pairs(pairs, which)
        memory = np.zeros(shape, "complex64")
        shown = (memory.real, memory.imag)[which]
        size = 2 * memory.size
        assert part.shape == shape and 0 <= part.offset < max(size, 1) and part.dtype == "float32"
        if size:
            assert (addresses(part) * 4 + memory.ctypes.data).min() == shown.ctypes.data


def test_a_size_that_is_one_now_lies_anywhere():
    """No axis is left for it, whose number the plan then takes for granted."""
    of = ShapeClass()
    n, one, two = (of.symbol(("input", 0, k), f"n{k}", v) for k, v in enumerate((6, 1, 2)))
    assert reshape_strides((n, n), (2 * n, 1), (n, n, one)) == (2 * n, 1, 0)
    assert reshape_strides((n, n), (2 * n, 1), (n, n, two)) is None
