"""Draws of MRG31k3p in C, beside its recurrences in Python's integers: two draws in one plan, whose
states and numbers are each their own."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.ops import mrg
from ckernels.plan.instructions import PYCALL

M1, M2 = 2147483647, 2147462579


def stepped(state):
    """(the next six numbers of a state, what is drawn): L'Ecuyer and Touzin 2000."""
    x11, x12, x13, x21, x22, x23 = (int(v) for v in state)
    one = (2**22 * x12 + (2**7 + 1) * x13) % M1
    two = (2**15 * x21 + (2**15 + 1) * x23) % M2
    z = (one - two) % M1
    return [one, x11, x12, two, x21, x22], z if z else M1


def drawn(states, count):
    """(states after, numbers): the streams take turns."""
    states, numbers = [list(s) for s in states], []
    for k in range(count):
        states[k % len(states)], z = stepped(states[k % len(states)])
        numbers.append(z)
    return np.array(states), np.array(numbers)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_draws_of_one_plan(dtype):
    rng = np.random.default_rng(1)
    first, second = (K.placeholder((None, 6), dtype="int32") for _ in range(2))
    size = K.placeholder((), dtype="int32")
    one = mrg.mrg_uniform(first.node, (size.node,), dtype)
    two = mrg.mrg_uniform(second.node, (5, 3), dtype)
    read = [n for state, numbers in (one, two) for n in (state, ops.mul(numbers, 2))]
    f = K.function([first, second, size], [Tensor(n) for n in read])
    for streams, count in ((4, 11), (1, 3), (40, 7), (16, 100)):
        a, b = (rng.integers(1, 2**31 - 70000, (streams, 6)).astype("int32") for _ in range(2))
        got = f(a, b, count)
        for states, (after, numbers), n in zip((a, b), (got[:2], got[2:]), (count, 15)):
            want, z = drawn(states, n)
            np.testing.assert_array_equal(after, want)
            np.testing.assert_allclose(numbers.ravel(), 2 * z / (M1 + 1), 1e-6, 1e-9)
    assert all(i.kind != PYCALL for i in f.info.program.instructions)


@pytest.mark.parametrize("view", ["turned", "every second", "reversed", "columns reversed"])
def test_states_that_are_views(view):
    """They are laid out in C order before, where shapes are known too."""
    rng = np.random.default_rng(4)
    see = {
        "turned": lambda x: x.T if isinstance(x, np.ndarray) else K.transpose(x),
        "every second": lambda x: x[::2],
        "reversed": lambda x: x[::-1],
        "columns reversed": lambda x: x[:, ::-1],
    }[view]
    rows, columns = (6, 8) if view == "turned" else (8, 6)
    states = rng.integers(1, 2**31 - 70000, (rows, columns)).astype("int32")
    x = K.placeholder((rows, columns), dtype="int32")
    f = K.function([x], [Tensor(n) for n in mrg.mrg_uniform(see(x).node, (3, 5), "float64")])
    after, numbers = f(states)
    want, z = drawn(see(states), 15)
    np.testing.assert_array_equal(after, want)
    np.testing.assert_allclose(numbers.ravel(), z / (M1 + 1), 1e-9)
