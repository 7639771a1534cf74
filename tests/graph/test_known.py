"""graph/known.py: each rule on sizes, beside NumPy's value; and what is unknown."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph import known as module
from ckernels.graph.known import known
from ckernels.graph.node import constant

SIZES = np.array([3, 7], "int64")


def int64(x):
    return constant(np.asarray(x, "int64"), "int64")


RULES = {
    "shape": (lambda s: s, SIZES),
    "add": (lambda s: ops.add(s, int64([1, 2])), SIZES + [1, 2]),
    "sub": (lambda s: ops.sub(s, int64(5)), SIZES - 5),
    "mul": (lambda s: ops.mul(s, int64([4])), SIZES * 4),
    "floor_div": (lambda s: ops.floor_div(s, int64(-2)), SIZES // -2),
    "mod": (lambda s: ops.mod(s, int64(-4)), SIZES % -4),
    "neg": (ops.neg, -SIZES),
    "square": (ops.square, SIZES**2),
    "maximum": (lambda s: ops.maximum(s, int64(5)), np.maximum(SIZES, 5)),
    "minimum": (lambda s: ops.minimum(s, int64(5)), np.minimum(SIZES, 5)),
    "sum": (lambda s: ops.sum(s, (0,)), SIZES.sum()),
    "prod": (lambda s: ops.prod(s, (0,)), SIZES.prod()),
    "cast": (lambda s: ops.cast(s, "int32"), SIZES.astype("int32")),
    "concatenate": (lambda s: ops.concatenate([s, ops.square(s)], 0), [3, 7, 9, 49]),
}


def sizes_of(*shape):
    return K.shape(K.placeholder(shape=shape)).node


@pytest.mark.parametrize("name", RULES)
def test_a_value_is_numpys(name):
    make, value = RULES[name]
    node = make(sizes_of(3, 7))
    assert name in module._RULES
    np.testing.assert_array_equal(known(node), value)


def test_floats_and_what_wraps_around_are_not_known():
    sizes = ops.mul(ops.cast(sizes_of(None, 7), "int64"), int64([1, 2**31]))
    assert known(sizes) == known(ops.cast(sizes, "int64")) == [None, 7 * 2**31]
    for dtype in ("float32", "int8", "uint64", "int32"):
        assert known(ops.cast(sizes, dtype)) is None


def test_what_is_unknown_leaves_its_neighbours_known():
    open_sizes = sizes_of(None, 7)
    assert known(open_sizes) == [None, 7]
    assert known(ops.square(open_sizes)) == [None, 49]
    assert known(ops.concatenate([open_sizes, int64([2])], 0)) == [None, 7, 2]
    assert known(ops.sum(open_sizes, (0,))) is None
    assert known(ops.floor_div(open_sizes, int64([0, 0]))) == [None, None]
    assert known(constant(np.array([1.5]), "float64")) is None
    unknown = K.placeholder(shape=(2,), dtype="int64").node
    assert known(ops.concatenate([unknown, int64([2])], 0)) == [None, None, 2]
    of_any_length = K.placeholder(shape=(None,), dtype="int64").node
    assert known(ops.concatenate([of_any_length, int64([2])], 0)) is None
