"""Ops of constants become constants with NumPy's values; what has an effect, a size that is not
known or many elements stays."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.folding import FOLD, fold, of_sizes
from ckernels.graph.node import constant, make, sizes_constant
from ckernels.graph.sizes import ShapeClass


def leaf(shape):
    return K.placeholder(shape, dtype="float64").node


def literal(values, dtype="float64"):
    return constant(np.asarray(values, dtype))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.parametrize("values", [3, [1, 2, 3], [[1, 2], [3, 4]], np.zeros((0, 2))])
def test_of_constants(values, dtype):
    x = np.asarray(values, dtype)
    for node, want in (
        (ops.maximum(constant(x), constant(x)), x),
        (ops.logical_not(constant(x)), np.logical_not(x)),
        (ops.sum(constant(x)), x.sum()),
    ):
        got = fold(node)
        assert got.op.name == "constant" and got.dtype == node.dtype and got.shape == node.shape
        np.testing.assert_array_equal(got.value, want)


def test_a_value_out_of_range_warns_of_nothing():
    with np.errstate(all="raise"):
        got = fold(ops.true_div(literal([1.0, 0.0, -1.0]), literal(0.0))).value
    np.testing.assert_array_equal(got, [np.inf, np.nan, -np.inf])


@pytest.mark.parametrize(
    "node",
    [
        leaf((3,)),
        literal([1.0]),
        ops.neg(leaf((3,))),
        ops.add(literal([1.0, 2.0]), leaf((2,))),
        ops.shape(leaf((3, None))),
        K.print_tensor(K.constant([1.0]), "seen").node,
    ],
    ids=["placeholder", "constant", "of one", "of one and a constant", "open", "an effect"],
)
def test_what_stays(node):
    assert fold(node) is node


def test_only_small_constants_are_made():
    for count in (FOLD, FOLD + 1):
        node = make("broadcast_to", (literal(2.0), constant(np.array([count]))), {})
        assert (fold(node) is node) == (count > FOLD)


def test_a_shape_that_is_known():
    got = fold(ops.shape(leaf((3, 0, 5))))
    assert got.value.tolist() == [3, 0, 5] and got.dtype == "int64"


def test_sizes_of_sizes():
    """Integers that are computed from the sizes of a class of shapes are sizes; floats, which
    differ from shape to shape, are left to each call; users compute sizes in int32."""
    of = ShapeClass()
    n = of.symbol(("input", 0, 0), "n", 7)
    sizes = sizes_constant((n, 4), (2,))
    assert of_sizes(sizes)
    twice = fold(ops.mul(sizes, constant(np.array(2))))
    assert of_sizes(twice) and [str(v) for v in twice.attrs["value"].array] == [str(2 * n), "8"]
    real = ops.cast(sizes, "float64")
    assert fold(real) is real
    square = ops.mul(ops.reshape(sizes, (2, 1)), ops.reshape(sizes, (1, 2)))
    assert fold(square) is square  # sizes are scalars and vectors
    small = ops.cast(sizes, "int32")
    assert of_sizes(fold(ops.cast(small, "int64")))
    assert fold(ops.neg(small)).op.name == "neg"


def test_what_is_made_of_sizes_has_its_own_dtype():
    size = ShapeClass().symbol(("input", 0, 0), "n", 7)
    assert sizes_constant([size], (1,)).dtype == "int64"
    for dtype in ("float64", "float32", "int32", "int64"):
        assert constant(np.array(2, dtype), sized=True).dtype == dtype
