"""Interpolation along an axis against np.interp; its transpose against its matrix."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.node import make
from ckernels.graph.walk import rebuild
from ckernels.ops.reference import evaluate
from ckernels.runtime.function import make_function

from .agree import agree, check_gradient, fold, leaf

RNG = np.random.default_rng(14)
CASES = [       # shape, axis, count, step, start, unit
    ((4,), 0, 8, 2, -1, 4),
    ((3, 4, 2), 1, 12, 2, -2, 6),
    ((3, 5), 1, 7, 3, 0, 4),
    ((5, 2, 3), 0, 3, 2, 1, 1),
    ((2, 1, 3), 1, 4, 1, 0, 2),
    ((2, 3), 1, 1, 1, 9, 2),
]  # fmt: skip


def interpolated(x, axis, count, step, start, unit):
    at = (start + step * np.arange(count)) / unit
    return np.apply_along_axis(lambda line: np.interp(at, np.arange(len(line)), line), axis, x)


@pytest.mark.parametrize("shape, axis, count, step, start, unit", CASES)
def test_interpolate(shape, axis, count, step, start, unit):
    x, rest = RNG.normal(size=shape), (axis, count, step, start, unit)
    agree(lambda a: ops.interpolate(a, *rest), lambda a: interpolated(a, *rest), x, rtol=1e-12)
    check_gradient(lambda a: ops.square(ops.interpolate(a, *rest)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, axis, count, step, start, unit", CASES)
def test_compiled(shape, axis, count, step, start, unit, dtype):
    """Forwards and backwards, of contiguous and turned operands; the transpose by its matrix."""
    attrs = {"axis": axis, "step": step, "start": start, "unit": unit}
    for turn in (False, True):
        x = leaf((None,) * len(shape), dtype)
        source = ops.transpose(x) if turn else x
        y = ops.interpolate(source, axis, count, step, start, unit)
        g = leaf((None,) * len(shape), dtype)
        back = make(
            "interpolate_grad",
            (ops.transpose(g) if turn else g, ops.shape_vector([shape[axis]])),
            attrs,
        )
        f = make_function([x, g], [y, back])
        value = RNG.normal(size=shape).astype(dtype)
        cotangent = RNG.normal(size=(*shape[:axis], count, *shape[axis + 1 :])).astype(dtype)
        got = f(*((value.T, cotangent.T) if turn else (value, cotangent)))
        dense = interpolated(np.eye(shape[axis]), 0, count, step, start, unit)
        rtol = 1e-5 if dtype == "float32" else 1e-12
        want = np.moveaxis(np.tensordot(dense, value, (1, axis)), 0, axis)
        np.testing.assert_allclose(got[0], want, rtol=rtol, atol=rtol)
        want = np.moveaxis(np.tensordot(dense.T, cotangent, (1, axis)), 0, axis)
        np.testing.assert_allclose(got[1], want, rtol=rtol, atol=rtol)
        assert got[0].dtype == got[1].dtype == np.dtype(dtype)


def test_all_sizes_have_one_plan():
    x = K.placeholder((None, None, None, 2))
    y = K.resize_images(x, 2, 3, "channels_last", interpolation="bilinear")
    f = K.function([x], [y, K.gradients(K.sum(K.square(y)), x)[0]])
    for n, rows, columns in ((2, 3, 4), (3, 9, 2), (5, 2, 7), (2, 30, 17)):
        value = RNG.normal(size=(n, rows, columns, 2)).astype("f")
        down = interpolated(np.eye(rows), 0, 2 * rows, 2, -1, 4)
        across = interpolated(np.eye(columns), 0, 3 * columns, 2, -2, 6)
        got, slope = f(value)
        want = np.einsum("ab,nbdc,ed->naec", down, value, across)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        back = np.einsum("ab,naec,ed->nbdc", down, 2 * want, across)
        np.testing.assert_allclose(slope, back, rtol=1e-4, atol=1e-4)
    assert f.stats()["classes"] == 1 and not any("only" in text for text in f.assumptions())


def test_places_between_nothing_read_no_neighbour():
    x = np.array([1.0, np.inf, np.nan, 2.0])
    got = evaluate([ops.interpolate(x, 0, 4, 1, 0, 1)])[0]
    np.testing.assert_array_equal(got, x)


def test_unknown_sizes():
    x = leaf((None, None, 3))
    y = ops.interpolate(x, 1, ops.mul(ops.size_of(x, 1), 2), 1, 0, 2)
    assert y.shape == (None, None, 3)
    known = leaf((2, 5, 3))
    assert rebuild([y], {x: known}, fold)[0].shape == (2, 10, 3)


def test_empty():
    agree(lambda a: ops.interpolate(a, 1, 0, 1, 0, 2), np.zeros((2, 0)), np.zeros((2, 0)))
    agree(lambda a: ops.interpolate(a, 1, 4, 1, 0, 2), np.zeros((0, 4)), np.zeros((0, 3)))


def test_float16_computes_in_float32():
    x = RNG.normal(size=(3, 4)).astype("float16")
    want = interpolated(x.astype("float32"), 1, 8, 2, -1, 4).astype("float16")
    agree(lambda a: ops.interpolate(a, 1, 8, 2, -1, 4), want, x, rtol=1e-3)


@pytest.mark.parametrize(
    "build, error, match",
    [
        (lambda: ops.interpolate(leaf((3,)), 1, 2, 1, 0, 1), ShapeError, "axis 1"),
        (lambda: ops.interpolate(leaf((3,)), 0, 2, 0, 0, 1), ShapeError, "positive"),
        (lambda: ops.interpolate(leaf((3,)), 0, -2, 1, 0, 1), ShapeError, "size"),
        (lambda: ops.interpolate(leaf((0,)), 0, 2, 1, 0, 1), ShapeError, "from none"),
        (lambda: ops.interpolate(leaf((3,), "int32"), 0, 2, 1, 0, 1), DTypeError, "floats"),
    ],
)
def test_errors(build, error, match):
    with pytest.raises(error, match=match):
        build()
