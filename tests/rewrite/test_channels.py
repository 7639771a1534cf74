"""Rules about transposes around images are exact; networks run the same in both formats."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import constant
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise

from .helpers import placeholder

FIRST = (0, 3, 1, 2)
LAST = (0, 2, 3, 1)
SHAPE = (2, 3, 4, 5)


def turned(x):
    return ops.transpose(x, FIRST)


def back(x):
    return ops.transpose(x, LAST)


def names(node):
    return [n.op.name for n in toposort([node]) if n.op.kind != "leaf"]


# what is built of two images x, y with channels last; the ops that are left after rewriting
ROWS = {
    "elementwise": (lambda x, y: back(ops.exp(turned(x)) * turned(y)), ["exp", "mul"]),
    "bias": (lambda x, y: back(turned(x) + np.arange(5.0).reshape(5, 1, 1)), ["add"]),
    "bias over all": (lambda x, y: back(turned(x) + np.arange(5.0).reshape(1, 5, 1, 1)), ["add"]),
    "scalar": (lambda x, y: back(turned(x) * 2.5), ["mul"]),
    "sum": (lambda x, y: ops.sum(turned(x), (0, 2, 3)), ["sum"]),
    "sum to channels": (lambda x, y: ops.sum(turned(x), (2, 3)), ["sum"]),
    "sum of channels": (lambda x, y: ops.sum(turned(x), 1), ["sum"]),
    "argmax": (lambda x, y: ops.argmax(turned(x), 1), ["argmax"]),
    "concatenate": (lambda x, y: back(ops.concatenate([turned(x), turned(y)], 1)), ["concatenate"]),
    "slice": (lambda x, y: back(ops.getitem(turned(x), (slice(None), slice(1, 4, 2)))), ["slice"]),
    "index": (lambda x, y: ops.getitem(turned(x), (slice(None), 2)), ["slice", "squeeze"]),
    "pad": (lambda x, y: back(ops.pad(turned(x), ((0, 0), (1, 0), (2, 3), (0, 4)))), ["pad"]),
    "broadcast": (lambda x, y: back(ops.broadcast_to(np.arange(5.0).reshape(5, 1, 1),
                                                     (2, 5, 3, 4))), ["broadcast_to"]),
    "softmax": (lambda x, y: back(ops.softmax(turned(x), 1)), None),
    "mean": (lambda x, y: back(turned(x) - ops.mean(turned(x), (0, 2, 3), True)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rules(name):
    build, left = ROWS[name]
    x, y = placeholder("float64", SHAPE), placeholder("float64", SHAPE, "y")
    node = build(x, y)
    found = optimise([node])[0]
    assert found.shape == node.shape and found.dtype == node.dtype
    assert "transpose" not in names(found)
    assert left is None or [n for n in names(found) if n not in ("expand", "reshape")] == left
    rng = np.random.default_rng(1)
    env = {x: rng.normal(size=SHAPE), y: rng.normal(size=SHAPE)}
    want, got = evaluate([node], env)[0], evaluate([found], env)[0]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_a_transpose_of_single_channels_is_no_copy():
    x = placeholder("float32", (2, 3, 4, 1))
    assert set(names(optimise([turned(x)])[0])) <= {"expand", "squeeze", "reshape"}
    assert names(optimise([ops.transpose(x, (1, 0, 2, 3))])[0]) == ["transpose"]


def test_operands_that_are_no_transposes_stay():
    x, y = placeholder("float32", SHAPE), placeholder("float32", (2, 5, 3, 4), "y")
    found = optimise([ops.exp(turned(x)) + ops.cos(y)])[0]
    assert found.op.name == "add"
    z = constant(np.random.default_rng(0).normal(size=(2, 5, 3, 4)).astype("float32"))
    assert optimise([ops.mul(turned(x), z)])[0].op.name == "mul"


# --- networks ---------------------------------------------------------------------------------


class Net:
    """Layers in one data format; the same weights in both."""

    def __init__(self, data_format):
        self.format, self.weights = data_format, []
        self.channels = 1 if data_format == "channels_first" else 3
        self.others = [a for a in range(4) if a != self.channels]
        self.rng = np.random.default_rng(3)

    def weight(self, *shape):
        self.weights.append(K.variable(self.rng.normal(size=shape) / 3))
        return self.weights[-1]

    def conv(self, x, i, o, strides=(1, 1)):
        y = K.conv2d(x, self.weight(3, 3, i, o), strides, "same", self.format)
        return K.bias_add(y, self.weight(o), self.format)

    def pool(self, x, mode="max"):
        return K.pool2d(x, (2, 2), (2, 2), "same", self.format, mode)


def plain(net, x):
    return net.conv(net.pool(K.relu(net.conv(x, 3, 8))), 8, 4)


def normalised(net, x):
    y = net.conv(x, 3, 8)
    y, _, _ = K.normalize_batch_in_training(y, net.weight(8), net.weight(8), net.others)
    return net.conv(K.relu(y), 8, 4)


def residual(net, x):
    y = net.conv(x, 3, 4)
    y = K.relu(y + net.conv(K.tanh(net.conv(y, 4, 4)), 4, 4))
    y = K.concatenate([y, net.pool(K.resize_images(y, 2, 2, net.format), "avg")], net.channels)
    return net.conv(y, 8, 4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("build", [plain, normalised, residual])
@pytest.mark.parametrize("training", [False, True])
def test_networks_run_the_same_steps_in_both_formats(build, training):
    image = np.random.default_rng(4).normal(size=(2, 6, 5, 3)).astype("float32")
    steps, values = [], []
    for data_format in ("channels_last", "channels_first"):
        net = Net(data_format)
        first = data_format == "channels_first"
        given = np.ascontiguousarray(image.transpose(FIRST)) if first else image
        x = K.placeholder((None, *given.shape[1:]))
        y = K.mean(build(net, x), net.others)
        out = [y]
        if training:
            out = [K.mean(K.square(y))]
            out += K.gradients(out[0], net.weights)
        f = K.function([x], out)
        values.append(f([given]))
        steps.append([s.partition(": ")[2] for s in f.steps()])
    assert sorted(steps[0]) == sorted(steps[1]) and steps[0]
    for a, b in zip(*values):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "shape, axes, pooled",
    [
        ((2, 3, 2, 4, 3, 8), (2, 4), True),
        ((2, 2, 2, 3, 2, 2, 4, 9), (2, 4, 6), True),
        ((2, 3, 2, 4, 3, 7), (2, 4), False),  # few channels
        ((2, 3, 2, 4, 3, 8), (1, 4), False),
        ((2, 3, 2, 4, 3, 8), (2, 3), False),
        ((0, 3, 2, 4, 3, 8), (2, 4), False),
        ((2, 3, 9, 4, 9, 8), (2, 4), False),  # large windows
    ],
)
def test_sums_over_windows_are_pools(shape, axes, pooled):
    n = (len(shape) - 2) // 2
    image = (shape[0], *(shape[1 + 2 * k] * shape[2 + 2 * k] for k in range(n)), shape[-1])
    x = placeholder("float64", image)
    node = ops.sum(ops.reshape(x, shape), axes)
    found = optimise([node])[0]
    assert (names(found) == ["pool_sum"]) == pooled
    value = np.random.default_rng(2).normal(size=image)
    np.testing.assert_allclose(
        evaluate([found], {x: value})[0], value.reshape(shape).sum(axes), rtol=1e-12, atol=1e-13
    )
    computed = optimise([ops.sum(ops.reshape(ops.exp(x), shape), axes)])[0]
    assert "pool_sum" not in names(computed)
