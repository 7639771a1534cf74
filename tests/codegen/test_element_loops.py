"""Loops of one element as bodies of C: states, conditions, strides, against the same in Python."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.codegen.element_loops import element_loop
from ckernels.graph.node import placeholder

COUNTS = np.array([0, 1, 2, 7, 20, -3])
STARTS = np.array([1.0, 3.0, 0.5, 2.0, 1.5, 4.0])


def run(body, n, states, fixed, until):
    """The results of a body for arrays."""
    names = ["n", *(f"x{k}" for k in range(len(states))), *(f"c{k}" for k in range(len(fixed)))]
    arrays = [n, *states, *fixed]
    inputs = [K.placeholder((None,), dtype=a.dtype.name) for a in arrays]
    labels = {f"y{k}": (a.dtype.name, (None,)) for k, a in enumerate(states)}
    if until:
        labels["ended"] = ("bool", (None,))
    outs = K.c_op(
        body,
        dict(zip(names, inputs)),
        labels,
        infer_shape=lambda first, *rest: [first] * len(labels),
        parallel=True,
    )
    return K.function(inputs, list(outs))(*arrays)


def halving():
    x, k, c = placeholder("float64", ()), placeholder("int16", ()), placeholder("float64", ())
    new = ops.add(ops.mul(x, 0.5), ops.exp(c))
    return [x, k], [c], [new, ops.add(k, 1)], ops.lt(new, 1.0)


@pytest.mark.parametrize("step", [1, -1, 2])
@pytest.mark.parametrize("until", [True, False])
def test_each_element_takes_its_own_steps(step, until):
    states, fixed, new, condition = halving()
    body = element_loop(states, fixed, new, condition if until else None)
    n, x, c = COUNTS[::step], STARTS[::step], np.linspace(-2, 0, 6)[::step]
    got = run(body, n, [x, np.zeros(len(x), "int16")], [c], until)
    for k, (most, value, add) in enumerate(zip(n, x, c)):
        taken, ended = 0, False
        for _ in range(most):
            value, taken = value / 2 + np.exp(add), taken + 1
            ended = value < 1
            if until and ended:
                break
        np.testing.assert_allclose(got[0][k], value, rtol=1e-14)
        assert got[1][k] == taken and (not until or got[2][k] == ended)


def test_states_change_all_at_once_and_flags_are_states():
    a, b, odd = placeholder("int64", ()), placeholder("int64", ()), placeholder("bool", ())
    body = element_loop([a, b, odd], [], [b, ops.add(a, b), ops.logical_not(odd)])
    n, one = np.arange(10), np.ones(10, "int64")
    first, second, flag = run(body, n, [0 * one, one, one < 0], [], False)
    np.testing.assert_array_equal(first, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    np.testing.assert_array_equal(second[:-1], first[1:])
    np.testing.assert_array_equal(flag, n % 2 == 1)


def test_no_elements():
    states, fixed, new, condition = halving()
    body = element_loop(states, fixed, new, condition)
    none = np.zeros(0)
    found = run(body, none.astype("int64"), [none, none.astype("int16")], [none], True)
    assert [a.shape for a in found] == [(0,)] * 3 and found[2].dtype == bool


def test_an_operation_without_c():
    x = placeholder("float64", ())
    assert element_loop([x], [], [ops.gammainc(x, x)]) is None
    assert element_loop([x], [], [ops.square(x)]) is not None
