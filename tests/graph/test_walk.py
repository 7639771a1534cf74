"""Walks: order, substitution, and what a rebuilt node takes over from the one it stands for."""

import numpy as np

import ckernels as K
from ckernels import ops
from ckernels.graph.node import constant, make
from ckernels.graph.walk import leaves, rebuild, toposort, toposort_cut


def test_inputs_come_before_users_each_node_once():
    x = K.placeholder((3,)).node
    y = ops.add(ops.tanh(x), ops.exp(ops.tanh(x)))
    z = ops.mul(y, y)
    order = toposort([z, y])
    assert len({n.uid for n in order}) == len(order) == 5
    place = {n.uid: k for k, n in enumerate(order)}
    assert all(place[i.uid] < place[n.uid] for n in order for i in n.inputs)
    assert [n.op.name for n in order] == ["placeholder", "tanh", "exp", "add", "mul"]
    assert [n.op.name for n in toposort_cut([z], {ops.tanh(x).uid})] == ["exp", "add", "mul"]


def test_leaves_in_order_and_of_one_op():
    x, y = (K.placeholder((3,)).node for _ in range(2))
    root = ops.mul(ops.exp(y), ops.add(ops.mul(x, 2.0), y))
    assert [n.op.name for n in leaves([root])] == ["placeholder", "placeholder", "constant"]
    assert leaves([root], "placeholder") == [y, x] and leaves([root], "exp") == []


def test_depth_does_not_matter():
    x = K.placeholder((3,)).node
    y = x
    for _ in range(5000):
        y = ops.tanh(y)
    assert len(toposort([y])) == 5001


def test_a_rebuilt_node_keeps_its_type_where_its_inputs_keep_theirs():
    x, z = (K.placeholder((None, 3)).node for _ in range(2))
    y = ops.sum(ops.tanh(x), 0)
    (new,) = rebuild([y], {x: z})
    assert new is ops.sum(ops.tanh(z), 0) and (new.dtype, new.shape) == (y.dtype, y.shape)


def test_other_shapes_and_dtypes_of_inputs_are_followed():
    x = K.placeholder((None, 3)).node
    y = ops.sum(ops.tanh(x), 0)
    assert rebuild([ops.tanh(x)], {x: K.placeholder((4, 3)).node})[0].shape == (4, 3)
    assert rebuild([y], {x: K.placeholder((4, 5)).node})[0].shape == (5,)
    (wide,) = rebuild([y], {x: K.placeholder((None, 3), dtype="float64").node})
    assert wide.dtype == "float64"


def test_values_that_decide_a_shape_are_followed():
    """Numbers of one type, but other ones: the shape of arange is that of its bounds."""
    zero, one, stop = (constant(np.float32(v)) for v in (0, 1, 4))
    y = make("arange", (zero, stop, one), {"dtype": "float32"})
    assert y.shape == (4,)
    (new,) = rebuild([y], {stop: constant(np.float32(7))})
    assert new.shape == (7,)
    x, sizes = K.placeholder((12,)).node, constant(np.array([3, 4]))
    y = make("reshape", (x, sizes))
    assert rebuild([y], {sizes: constant(np.array([2, 6]))})[0].shape == (2, 6)
