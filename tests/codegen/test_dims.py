"""Dims of launches: what was written is read again, by kernels of all forms and in C text."""

import itertools

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen.dims import CHUNKED, LaunchDims, Strides
from ckernels.codegen.ir import FORMS, Kernel, Operand
from ckernels.runtime.function import make_function

from .planned import leaf


def operands():
    """One of each way to move."""
    ways = itertools.product((0, 1, -1, 3, "n"), (True, False), (True, False))
    return tuple(Operand("in", "float32", inner, *moves) for inner, *moves in ways)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("outer, runs", [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_words_are_read_as_they_were_written(form, outer, runs):
    number = itertools.count(100)

    def some(count, there=True):
        return tuple(next(number) for _ in range(count)) if there else (0,) * count

    kernel = Kernel(form, outer, runs, operands())
    steps = []
    for op in kernel.operands:
        inner = next(number) if op.inner == "n" else op.inner
        steps.append(Strides(inner, some(outer, op.outer), some(runs, op.run)))
    chunk = next(number) if form in CHUNKED else None
    launch = LaunchDims(next(number), some(outer), some(runs), chunk, tuple(steps))
    words = launch.words(kernel.operands)
    assert len(words) == len(set(words)), "no number is written twice"
    assert LaunchDims.read(kernel, [*words, "more"]) == launch


def test_what_a_kernel_knows_is_not_written():
    """A contiguous and a constant operand cost no words; a stride of 0 is one only where known."""
    kernel = Kernel("flat", 1, 0, (Operand("in", "float32", 1), Operand("out", "float32", "n")))
    launch = LaunchDims(7, (5,), (), None, (Strides(1, (9,), ()), Strides(4, (28,), ())))
    assert launch.words(kernel.operands) == [7, 5, 9, 4, 28]


def test_plans_write_what_kernels_read():
    """The dims of instructions of real loops, of which each has as many as its kernel reads."""
    x, g = leaf((None, None)), leaf((None, None))
    roots = [ops.exp(x[:, ::5]), ops.softmax(x, 1), ops.sum(x * g, 0), ops.transpose(x) + 1]
    f = make_function([x, g], roots, positional_only=True)
    a = np.ones((40, 30), "float32")
    f(a, a.copy())
    for instr in f.info.program.drafted("lower").instructions:
        if isinstance(instr.kernel, Kernel):
            launch = LaunchDims.read(instr.kernel, instr.dims)
            assert launch.words(instr.kernel.operands) == list(instr.dims)
            assert [len(s.outer) for s in launch.steps] == [instr.kernel.outer] * len(launch.steps)
