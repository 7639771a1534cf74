"""How much work planning is, counted in calls of Python functions, which no busy machine changes.

In proportion to the nodes; nothing for another size of a known class.
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
    function([first])
    for x in (*others, first, *others):
        assert calls(lambda x=x: function([x])) == 1  # the lambda: C fills in the numbers
    assert function.stats()["plans"] == 4 and function.stats()["classes"] == 1


def builds(monkeypatch, function, arrays):
    """(how many loops a plan builds, how many it has, the results of the call)."""
    from ckernels.codegen.lower import Lowering

    counts = {"build": 0, "shared": 0}
    for name in counts:
        plain = getattr(Lowering, name)

        def counted(self, stores, name=name, plain=plain):
            counts[name] += 1
            return plain(self, stores)

        monkeypatch.setattr(Lowering, name, counted)
    with K.config.change(cache="off"):  # no plan that another test has stored
        found = function(arrays)
    monkeypatch.undo()
    return counts["build"], counts["shared"], found


def test_equal_layers_build_their_loops_once(monkeypatch):
    few, many = (builds(monkeypatch, trained(n), [batch(8)]) for n in (12, 48))
    assert many[1] > 3 * few[1]
    assert many[0] < 1.5 * few[0] < 0.7 * many[1]


def test_loops_that_differ_in_more_than_their_buffers_are_built_apart(monkeypatch):
    x, y = (K.placeholder((None, 6)) for _ in range(2))
    a, b = np.random.default_rng(0).random((2, 5, 6)).astype("float32")
    # strides, offsets, which operands are one, and numbers in the text differ
    parts = [x * y, x[:, ::2] * y[:, ::2], x[:, 1::2] * y[:, 1::2], x * x, x * 2.5, x * 3.5]
    f = K.function([x, y], [K.tanh(part) + K.dot(part, K.transpose(part)).sum() for part in parts])
    built, _, found = builds(monkeypatch, f, [a, b])
    for z, value in zip([a * b, (a * b)[:, ::2], (a * b)[:, 1::2], a * a, a * 2.5, a * 3.5], found):
        np.testing.assert_allclose(value, np.tanh(z) + (z @ z.T).sum(), rtol=1e-5)
    assert built >= 5
