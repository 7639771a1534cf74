"""Graphs thousands of operations deep: gradient, rewrites and schedule never recurse along them."""

import inspect
import sys

import pytest
from codegen.planned import leaf

import ckernels as K
from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.runtime.program import concretise
from ckernels.schedule.fuse import fuse

from . import nets

DEPTH, FRAMES = 500, 120
STEPS = {
    "add": lambda h, x: h + x,
    "itself": lambda h, x: h + ops.relu(h),
    "quotient": lambda h, x: x / (1.0 + h * h),
    "log of exp": lambda h, x: ops.log(1 + ops.exp(h)),
    "negated": lambda h, x: ops.neg(ops.neg(h) * x),
    "mean": lambda h, x: h - ops.mean(h),
    "transposed": lambda h, x: ops.transpose(ops.tanh(h)),
    "reshaped": lambda h, x: ops.reshape(ops.tanh(ops.reshape(h, (36,))), (6, 6)),
    "softmax": lambda h, x: ops.softmax(h * 2.0, -1),
    "choice": lambda h, x: ops.where(ops.gt(h, 0.0), h * 2.0, x),
    "product": lambda h, x: ops.matmul(h, x),
    "slice": lambda h, x: ops.concatenate([h[1:], x[:1]], 0),
}  # fmt: skip


@pytest.fixture
def few_frames():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + FRAMES)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", STEPS)
def test_depth_needs_no_recursion(name, few_frames):
    x = leaf((6, 6))
    h = x
    for _ in range(DEPTH):
        h = STEPS[name](h, x)
    total = ops.sum(h)
    order, home = fuse(nets.prepared([total, grad(total, [x])[0]]))
    assert len(order) >= DEPTH


def test_a_long_sum_in_the_step_of_a_scan(few_frames):
    """The gradient of a step and the passes over scans meet a sum of 500 terms."""
    x, w = K.placeholder((None, 2, 3)), K.placeholder((3, 3))

    def step(row, h):
        total = K.dot(h, w)
        for k in range(DEPTH):
            total = total + row * float(k)
        return K.tanh(total)

    states = K.scan(step, [x], [K.zeros((2, 3))])[0]
    roots = [K.gradients(K.sum(states), [w])[0].node]
    concrete = concretise(roots, {x.node: (5, 2, 3), w.node: (3, 3)})
    assert any(n.op.name == "scan" for n in fuse(nets.prepared(concrete)).order)


@pytest.mark.slow
def test_three_thousand_layers():
    order, home = fuse(nets.prepared(nets.residual(3000)[1]))
    assert len(order) > 50_000 and len(set(map(id, (g for gs in home.values() for g in gs)))) > 9000
