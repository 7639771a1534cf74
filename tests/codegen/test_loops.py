"""Kernel.check finds what is malformed, and holds for every kernel that graphs are lowered to."""
import dataclasses

import pytest
from schedule.test_fuse import numbers

from ckernels.codegen.loops import Kernel, Operand, Value

from .planned import plan
from .test_emit import GRAPHS


def softmax_like():
    """exp(x - max(x)) over rows, by hand."""
    return Kernel("rows", 1, 0, [Operand("in", "float32", 1), Operand("out", "float32", 1)], [
        Value("load", "float32", operand=0),
        Value("reduce", "float32", "max", (0,), vec=False, run=False),
        Value("op", "float32", "{0} - {1}", (0, 1), level=1),
        Value("op", "float32", "ck_exp_f32({0})", (2,), level=1)], [(1, 3)])


def broken(position=None, **changes):
    kernel = softmax_like()
    if position is None:
        return dataclasses.replace(kernel, **changes)
    kernel.values[position] = dataclasses.replace(kernel.values[position], **changes)
    return kernel


def test_a_well_formed_kernel():
    kernel = softmax_like()
    assert kernel.check() is kernel
    assert kernel.key() == softmax_like().key() != broken(3, text="{0}").key()


@pytest.mark.parametrize("kernel, words", [
    (broken(form="spiral"), "spiral"),
    (broken(2, args=(0, 3)), "before definition"),
    (broken(0, operand=1), "loads a in"),
    (broken(2, level=0), "too early"),
    (broken(2, vec=False), "hides a vector"),
    (broken(stores=[(0, 3)]), "out operand"),
    (broken(stores=[]), "not stored"),
])
def test_what_check_finds(kernel, words):
    with pytest.raises(AssertionError, match=words):
        kernel.check()


@pytest.mark.parametrize("name", GRAPHS)
def test_kernels_of_graphs_are_well_formed(name):
    """`plan` checks each kernel and the results; equal plans have equal kernels."""
    build, shapes = GRAPHS[name]
    arrays = [numbers(*s) for s in shapes]
    _, first = plan(build, *arrays, check=False)
    _, second = plan(build, *arrays, check=False)
    assert [k.key() for k in first] == [k.key() for k in second]
