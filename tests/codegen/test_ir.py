"""Kernel.check finds what is malformed, and holds for every kernel that graphs are lowered to."""

import dataclasses

import pytest
from schedule.test_fuse import numbers

from ckernels.codegen.ir import Kernel, Operand, Value, numeral

from .planned import plan
from .test_emit import GRAPHS


def softmax_like():
    """exp(x - max(x)) over rows, by hand."""
    return Kernel(
        "rows",
        1,
        0,
        (Operand("in", "float32", 1), Operand("out", "float32", 1)),
        (
            Value("load", "float32", operand=0),
            Value("max", "float32", (0,), vec=False, run=False),
            Value("sub", "float32", (0, 1), level=1),
            Value("exp", "float32", (2,), level=1),
        ),
        ((1, 3),),
    )


def broken(position=None, **changes):
    kernel = softmax_like()
    if position is not None:
        values = list(kernel.values)
        values[position] = values[position]._replace(**changes)
        changes = {"values": tuple(values)}
    return dataclasses.replace(kernel, **changes)


def test_a_well_formed_kernel():
    kernel = softmax_like()
    assert kernel.check() is kernel
    assert kernel.key() == softmax_like().key() != broken(3, op="tanh").key()


@pytest.mark.parametrize(
    "kernel, words",
    [
        (broken(form="spiral"), "spiral"),
        (broken(2, args=(0, 3)), "before definition"),
        (broken(0, operand=1), "loads what is no such operand"),
        (broken(0, dtype="float64"), "loads another dtype"),
        (broken(2, level=0), "too early"),
        (broken(2, vec=False), "hides a vector"),
        (broken(3, op="ck_exp_f32"), "kernels have not"),
        (broken(3, op="softmax"), "kernels have not"),
        (broken(3, args=()), "no operands"),
        (broken(3, dtype="complex64"), "dtype"),
        (broken(1, dtype="float64"), "mixes dtypes"),
        (broken(0, op="literal", operand=-1), "has no number"),
        (broken(stores=((0, 3),)), "out operand"),
        (broken(stores=()), "not stored"),
    ],
)
def test_what_check_finds(kernel, words):
    with pytest.raises(AssertionError, match=words):
        kernel.check()


def test_numbers_of_literals():
    def literal(dtype, number):
        return Value("literal", dtype, attrs=(("number", numeral(dtype, number)),))

    assert literal("float32", 0.0) != literal("float32", -0.0)
    assert literal("float64", float("nan")) == literal("float64", float("nan"))
    assert literal("float64", 0.1).number == 0.1
    assert literal("uint64", 2**64 - 1).number == 2**64 - 1
    assert Value("count", "float64").number is None


@pytest.mark.parametrize("name", GRAPHS)
def test_kernels_of_graphs_are_well_formed(name):
    """`plan` checks each kernel and the results; equal plans have equal kernels."""
    build, shapes = GRAPHS[name]
    arrays = [numbers(*s) for s in shapes]
    _, first = plan(build, *arrays, check=False)
    _, second = plan(build, *arrays, check=False)
    assert [k.key() for k in first] == [k.key() for k in second]
