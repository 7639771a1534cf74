"""CTC in C beside sums over all paths: two costs in one plan, of scores with time first or last."""

import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels.api.tensor import Tensor
from ckernels.autodiff.reverse import grad
from ckernels.ops.ctc import ctc_cost
from ckernels.plan.instructions import PYCALL

RNG = np.random.default_rng(7)
N, T, C, MOST = 3, 4, 3, 2


def spelled(y, labels, blank=C - 1):
    """The probability of `labels`, by going through all paths of y (steps, classes)."""
    total = 0.0
    for path in itertools.product(range(C), repeat=len(y)):
        if [c for c, _ in itertools.groupby(path) if c != blank] == list(labels):
            total += np.prod([row[c] for row, c in zip(y, path)])
    return total


@pytest.mark.parametrize("time_first", [False, True])
def test_two_costs_and_their_slopes(time_first):
    order = (1, 0, 2) if time_first else (0, 1, 2)
    scores = [K.placeholder((None, None, C), dtype="float64") for _ in range(2)]
    labels, steps, counts = (
        K.placeholder(shape, dtype="int64") for shape in ((None, MOST), (None,), (None,))
    )
    outs = []
    for x in scores:
        y = K.permute_dimensions(x, order).node
        cost = ctc_cost(y, labels.node, steps.node, counts.node)
        outs += [Tensor(cost), Tensor(grad(K.sum(Tensor(cost)).node, x.node))]
    f = K.function([*scores, labels, steps, counts], outs)
    values = [RNG.dirichlet(np.ones(C), (N, T)) for _ in scores]
    label, used = np.array([[0, 1], [1, 1], [0, 0]]), np.array([2, 2, 1])
    length = np.array([4, 4, 3])
    got = f(*(v.transpose(order) for v in values), label, length, used)

    def costs(y):
        y = y / y.sum(-1, keepdims=True)
        return np.array(
            [-np.log(spelled(y[k, : length[k]], label[k, : used[k]])) for k in range(N)]
        )

    for y, cost, slope in zip(values, got[::2], got[1::2]):
        np.testing.assert_allclose(cost, costs(y), rtol=1e-10)
        want = np.zeros_like(y)
        for at in np.ndindex(*y.shape):
            ends = []
            for h in (1e-6, -1e-6):
                moved = y.copy()
                moved[at] += h
                ends.append(costs(moved).sum())
            want[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(slope, want.transpose(order), rtol=1e-6, atol=1e-7)
    assert all(i.kind != PYCALL for i in f.info.program.instructions)
