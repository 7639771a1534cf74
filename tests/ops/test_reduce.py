"""Reductions against NumPy: values, dtypes, NaN, empty axes; gradients against differences."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.base import dtypes
from ckernels.base.errors import ShapeError
from ckernels.graph.node import constant

from .agree import check_gradient as agreeing
from .helpers import check_gradient, evaluate, gradient, leaf, run

X = np.array([[[0.3, -1.2, 2.5], [0.9, 1.1, -0.4]], [[1.7, 0.2, -2.2], [-0.6, 3.1, 0.8]]])
AXES = [None, 0, 1, -1, (0, 2), (-1, 0), (0, 1, 2), ()]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "ptp"])
def test_values_like_numpy(name, axis, keepdims):
    axes = tuple(range(3)) if axis is None else axis
    for x in (X, X.astype("float32"), (X * 3).astype("int64"), X > 0):
        if name == "ptp":
            if x.dtype == bool:
                continue
            expected = np.max(x, axes, keepdims=keepdims) - np.min(x, axes, keepdims=keepdims)
        else:
            expected = getattr(np, name)(x, axis=axes, keepdims=keepdims)
        got = run(lambda v: getattr(ops, name)(v, axis, keepdims), x)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_result_dtypes(dtype):
    x = leaf((2, 3), dtype)
    assert ops.sum(x).dtype == ops.prod(x).dtype == np.sum(np.ones(2, dtype)).dtype.name
    assert ops.any(x).dtype == ops.all(x, ()).dtype == "bool"
    if not dtypes.is_complex(dtype):
        assert ops.max(x).dtype == ops.min(x).dtype == dtype
        assert ops.argmax(x).dtype == "int64"


def test_sums_do_not_lose_what_the_accumulator_holds():
    assert run(ops.sum, np.ones(2**25, "float32")) == 2**25
    half = run(ops.sum, np.full(5000, 1, "float16"))
    assert half.dtype == "float16" and half == 5000
    assert run(ops.sum, np.full(300, 100, "int8")) == 30000
    assert run(ops.sum, np.full(3, 200, "uint8")).dtype == "uint64"


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_rows(name):
    fn = getattr(np, name)
    x = X.copy()
    x[0, 1, 1] = x[0, 1, 0]
    for axis in (None, 0, 1, 2, -1):
        for keepdims in (False, True):

            def build(v, axis=axis, keepdims=keepdims):
                return getattr(ops, name)(v, axis, keepdims)

            np.testing.assert_array_equal(run(build, x), fn(x, axis, keepdims=keepdims))
    x[1, 0, 1] = np.nan
    np.testing.assert_array_equal(run(getattr(ops, name), x), fn(x))
    np.testing.assert_array_equal(
        run(getattr(ops, name), np.array([1, 5, 5, 1])), fn(np.array([1, 5, 5, 1]))
    )
    assert run(getattr(ops, name), np.float64(3)) == 0
    with pytest.raises(ShapeError, match="one axis or all"):
        getattr(ops, name)(leaf((2, 3, 4)), (0, 1))


def test_nan_wins():
    x = np.array([[1.0, np.nan], [3, 2]])
    np.testing.assert_array_equal(run(lambda v: ops.max(v, 1), x), [np.nan, 3])
    np.testing.assert_array_equal(run(lambda v: ops.min(v, 1), x), [np.nan, 2])


@pytest.mark.parametrize("shape", [(0, 3, 0), (2, 0, 3), (0, 2, 2)])
@pytest.mark.parametrize("axis", [0, 1, (0, 2)])
def test_gradients_of_products_of_nothing(shape, axis):
    found = run(lambda v: grad(ops.sum(ops.prod(v, axis)), [v])[0], np.ones(shape))
    assert found.shape == shape


def test_empty_axes():
    assert run(ops.sum, np.zeros((0, 3))) == 0
    assert run(ops.prod, np.zeros((0, 3))) == 1
    assert run(lambda v: ops.max(v, 1), np.zeros((0, 3))).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ShapeError, match=r"\(0, 3\) has no elements"):
            getattr(ops, name)(leaf((0, 3)), 0)
    assert ops.max(leaf((None, 3)), 0).shape == (3,)


def test_axis_errors():
    with pytest.raises(ShapeError, match="axis 2 does not exist"):
        ops.sum(leaf((2, 3)), 2)
    with pytest.raises(ShapeError, match="twice"):
        ops.sum(leaf((2, 3)), (0, -2))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_gradients(name, axis):
    check_gradient(lambda v: getattr(ops, name)(v, axis), X)
    check_gradient(lambda v: getattr(ops, name)(v, axis, keepdims=True), X, static=True)


@pytest.mark.parametrize(
    "x, expected", [([2.0, 3, 4], [12, 8, 6]), ([2.0, 0, 4], [0, 8, 0]), ([0.0, 0, 4], [0, 0, 0])]
)
def test_gradient_of_a_product_with_zeros(x, expected):
    a = leaf((3,))
    (g,) = gradient(ops.prod(a), [a], constant(1.0, "float64"))
    np.testing.assert_array_equal(evaluate([g], {a: np.array(x)})[0], expected)
    check_gradient(lambda v: ops.prod(v, 0), np.array([x, x, [1, 0, 2], [5, 1, 3]]).T)


def test_second_gradient_of_a_product():
    check_gradient(
        lambda v: gradient(ops.prod(v), [v], constant(1.0, "float64"))[0], np.array([2.0, 3, 4])
    )


@pytest.mark.parametrize("x", [[0, 2, 3], [0, 0, 3], [0, 0, 0], [5, 0], [0]])
def test_higher_gradients_of_a_product_with_zeros(x):
    agreeing(lambda v: ops.prod(v), x, order=3)
    agreeing(lambda v: ops.prod(v, 0), np.array([x, x[::-1], np.arange(len(x))]).T, order=3)
    cube = np.arange(12.0).reshape(2, 3, 2) % 5
    agreeing(lambda v: ops.prod(v, (0, 2)), cube, order=2)


def test_gradient_of_ties_goes_to_each():
    a = leaf((3,))
    (g,) = gradient(ops.max(a), [a], constant(1.0, "float64"))
    np.testing.assert_array_equal(evaluate([g], {a: np.array([2.0, 1, 2])})[0], [1, 0, 1])
