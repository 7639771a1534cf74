"""Loops side by side become one where they see what they share alike; where one of them makes what
the other reads turned, or reads it in two ways, they do not: values beside NumPy's."""

import itertools

import numpy as np
import pytest
from codegen.planned import leaf

from ckernels import ops
from ckernels.runtime.function import make_function

RNG = np.random.default_rng(2)
N = 96
U, Y = RNG.normal(size=(2, N, N)).astype("float32")
E = np.exp(U) / np.exp(U).sum(1, keepdims=True)
PARTS = {
    "makes": (lambda x, y: x, E),
    "straight": (lambda x, y: y + x, Y + E),
    "turned": (lambda x, y: y * ops.transpose(x), Y * E.T),
    "sums": (lambda x, y: ops.sum(y - x, 1), (Y - E).sum(1)),
    "sums turned": (lambda x, y: ops.sum(y + ops.transpose(x), 1), (Y + E.T).sum(1)),
    "both": (lambda x, y: ops.tanh(y) * x + ops.transpose(x), np.tanh(Y) * E + E.T),
}


def run(names):
    u, y = leaf((N, N), "float32"), leaf((N, N), "float32")
    x = ops.softmax(u)
    f = make_function([u, y], [PARTS[n][0](x, y) for n in names], positional_only=True)
    for got, name in zip(f(U, Y), names):
        np.testing.assert_allclose(got, PARTS[name][1], rtol=2e-5, atol=1e-4)
    return f


@pytest.mark.parametrize("count", [2, 3])
def test_what_is_shared_straight_and_turned(count):
    for names in itertools.permutations(PARTS, count):
        run(names)


def test_alike_is_one_loop():
    assert len(run(["straight", "sums"]).info.program.instructions) == len(
        run(["sums"]).info.program.instructions
    )
