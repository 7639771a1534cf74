"""How much work planning is, counted in calls of Python functions, which no busy machine changes.

In proportion to the nodes; next to nothing for another size of a known class; nothing for a size
that was there before.
"""

import sys

import numpy as np
import pytest

import ckernels as K


def calls(run):
    """How many Python functions `run` calls."""
    count = 0

    def hook(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def trained(layers):
    """A step of gradient descent of a residual net with layer norm, and batches of any size."""
    rng = np.random.default_rng(layers)
    h = x = K.placeholder((None, 24))
    parameters = []
    for _ in range(layers):
        w = K.variable(rng.standard_normal((24, 24)) * 0.1)
        scale = K.variable(np.ones(24))
        mean, deviation = K.mean(h, -1, keepdims=True), K.std(h, -1, keepdims=True)
        h = h + K.relu(K.dot((h - mean) / (deviation + 0.1) * scale, w))
        parameters += [w, scale]
    loss = K.mean(K.square(h))
    updates = [K.update_sub(p, 0.01 * g) for p, g in zip(parameters, K.gradients(loss, parameters))]
    return K.function([x], [loss], updates=updates)


def batch(size):
    return np.ones((size, 24), "float32")


def planning(function):
    """(calls of one plan, its nodes), with all kernels compiled and no plan stored."""
    function([batch(8)])
    with K.config.change(cache="off"):
        copy = function.copy()
        return calls(lambda: copy([batch(8)])), copy.stats()["nodes"]


def test_planning_is_in_proportion_to_the_nodes():
    few, many = planning(trained(6)), planning(trained(48))
    assert many[1] > 6 * few[1]
    assert many[0] / many[1] < 1.3 * few[0] / few[1]


@pytest.mark.parametrize("sizes", [(8, 6, 12, 9), (128, 64, 96, 37)])
def test_another_size_is_not_planned(sizes):
    function = trained(12)
    first, *others = map(batch, sizes)
    plan = planning(function)[0]
    function([first])
    for x in others:
        assert calls(lambda x=x: function([x])) < plan / 200
    for x in (first, *others):
        assert calls(lambda x=x: function([x])) == 1  # the lambda
