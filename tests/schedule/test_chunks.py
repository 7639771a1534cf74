"""Reductions in chunks give what NumPy gives, however their operand lies in memory."""

from itertools import permutations

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import make
from ckernels.graph.walk import toposort
from ckernels.schedule.chunks import FULL, chunking, in_chunks

ROWS = {(24_000, 2, 3): 0, (200, 200, 6): (0, 1), (33, 33, 40): (0, 1, 2)}  # shape -> axes


@pytest.mark.parametrize("shape", ROWS)
def test_chunks_of_transposed_operands(shape):
    """Results of a chunk stand in the order of the axes, not in that of the operand's memory."""
    axes, x = ROWS[shape], K.placeholder((None, None, None))
    results = [K.sum(x, axes), K.max(x, axes), K.var(x, axes)]
    if axes == 0:
        results += [K.argmax(x, axes), K.cumsum(x, 0)[-1]]
    f = K.function([x], results, mode="compiled")
    numbers = np.random.default_rng(0).integers(-8, 9, shape).astype("f") / 4  # many are equal
    for order in permutations(range(3)):
        a = np.ascontiguousarray(numbers.transpose(order)).transpose(np.argsort(order))
        total, top, var, *rest = f(a)
        assert any("partial" in step for step in f.steps())
        np.testing.assert_array_equal(total, a.sum(axes, dtype="f8"))
        np.testing.assert_array_equal(top, a.max(axes))
        np.testing.assert_allclose(var, a.var(axes, dtype="f8"), rtol=1e-5)
        for got, want in zip(rest, (a.argmax(0), a.sum(0))):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("step", [-1, 2])
def test_chunks_of_reversed_and_stepped_operands(step):
    x = K.placeholder((None, None, None))
    f = K.function([x], [K.sum(x, 0), K.argmin(x, 0)], mode="compiled")
    numbers = np.random.default_rng(1).integers(-8, 9, (50_000, 6, 4)).astype("f") / 4
    for a in (numbers[::step], numbers[:, ::step], numbers.swapaxes(1, 2)[::step, ::step, ::step]):
        total, least = f(a)
        np.testing.assert_array_equal(total, a.sum(0, dtype="f8"))
        np.testing.assert_array_equal(least, a.argmin(0))


def test_only_leading_axes_are_reduced_in_chunks():
    def of(shape, axes):
        return chunking(ops.sum(K.placeholder(shape).node, axes))

    rows = 4 * FULL
    assert of((rows, 4), (0,)) > 1 and of((rows, 4, 2), (0, 1)) > 1 and of((rows,), (0,)) > 1
    assert of((1, rows, 4), (0, 1)) > 1 and of((rows, 1, 4), (0,)) > 1
    for shape, axes in (((4, rows), (1,)), ((rows, 4), (1,)), ((2, rows, 4), (1,)),
                        ((rows, 4, 2), (0, 2)), ((0, rows), (1,))):  # fmt: skip
        assert of(shape, axes) is None, (shape, axes)
    assert of((FULL - 1,), (0,)) is None and of((FULL,), (0,)) == 2


@pytest.mark.parametrize("kind,dtype,want", [
    ("sum", "float16", "float64"), ("sum", "float32", "float64"), ("sum", "float64", "float64"),
    ("sum", "int32", "int32"), ("prod", "float32", "float64"), ("max", "float32", "float32"),
    ("any", "bool", "bool"), ("all", "bool", "bool"), ("argmax", "float32", "int64"),
])  # fmt: skip
def test_chunks_are_put_together_in_the_dtype_of_a_sum(kind, dtype, want):
    """Of floats that is float64, as one loop over all has it in registers."""
    x = K.placeholder((4 * FULL, 3), dtype=dtype).node
    new = in_chunks(make(kind, (x,), {"axes": (0,)}))
    parts = [n for n in toposort([new]) if n.op.name == "partial"]
    assert want in {n.dtype for n in parts} and new.dtype == make(kind, (x,), {"axes": (0,)}).dtype
    assert in_chunks(parts[0]) is parts[0]
