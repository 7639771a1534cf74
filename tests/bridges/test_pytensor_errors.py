"""Exceptions of the PyTensor bridge: classes and words are PyTensor's."""

import numpy as np
import pytest
from pytensor_support import X, Y, compiled, pt, pytensor, same, x, y


def test_axes_that_are_not_marked_do_not_broadcast():
    f = compiled([x, y], x + y)
    with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
        f(X, np.ones(1))
    z = pt.tensor("z", shape=(1,), dtype="float64")
    np.testing.assert_allclose(compiled([x, z], x + z)(X, np.ones(1)), X + 1)  # the near miss


@pytest.mark.parametrize(
    "make, args, error",
    [
        (lambda: x[pt.lscalar("k")], (X, 9), IndexError),
        (lambda: x @ y, (X, np.ones(4)), ValueError),
        (lambda: pt.specify_shape(y, (4,)) * 1, (Y,), AssertionError),
        (lambda: x.reshape((5, 5)), (X,), ValueError),
    ],
)
def test_errors_are_of_pytensors_classes(make, args, error):
    out = make()
    inputs = [v for v in pytensor.graph.traversal.explicit_graph_inputs([out])]
    inputs.sort(key=lambda v: "xyk".index(v.name or "k"))
    with pytest.raises(error):
        compiled(inputs, out)(*args)


@pytest.mark.parametrize(
    "sizes, rows, message",
    [
        ([2, 2, 2], 6, "Length of splits is not equal to n_splits"),
        ([2, 4], 7, "Split sizes (do not sum up to the 7 elements|sum to 6; expected 7)"),
        ([-2, 8], 6, "Split sizes cannot be negative"),
    ],
)
def test_splits_that_do_not_fit(sizes, rows, message):
    lengths = pt.lvector("lengths")
    given, known = pt.split(x, lengths, n_splits=2), pt.split(x, sizes, n_splits=2)
    for inputs, parts, more in (([x, lengths], given, [np.array(sizes)]), ([x], known, [])):
        with pytest.raises(ValueError, match=message):
            compiled(inputs, parts)(np.zeros((rows, 4)), *more)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8"])
@pytest.mark.parametrize("axis", [0, -1])
def test_splits_by_sizes_that_are_data(axis, dtype):
    a, b = pt.scalar("a", dtype=dtype), pt.scalar("b", dtype=dtype)
    parts = pt.split(x, [a, b, b], n_splits=3, axis=axis)
    slope = pytensor.grad(sum(k * (p**2).sum() for k, p in enumerate(parts, 1)), x)
    for sizes in ((2, 1), (0, 2), (4, 0), (0, 0), (1, 1)):
        rows = np.random.default_rng(3).normal(size=(sizes[0] + 2 * sizes[1], 3))
        rows = rows if axis == 0 else rows.T
        assert same([x, a, b], [*parts, slope], rows, *sizes) == []


def test_a_mask_must_have_the_shape_of_what_it_masks():
    m = pt.matrix("m", dtype="bool")
    f = compiled([x, m], pt.inc_subtensor(x[m], 1.0))
    for shape in ((4, 4), (4, 1), (1, 3)):
        with pytest.raises(IndexError, match="mask does not fit"):
            f(X, np.ones(shape, "bool"))
    np.testing.assert_allclose(f(X, X > 0), X + (X > 0))


@pytest.mark.parametrize("axis, size", [(0, 4), (1, 3)])
def test_a_constant_mask_must_have_the_size_of_its_axis(axis, size):
    from pytensor.compile.mode import get_mode

    mode = get_mode("CKERNELS").excluding("shape_unsafe")
    for count in (size - 1, size, size + 1):
        mask = np.arange(count) == 1
        key = (slice(None),) * axis + (mask,)
        f = pytensor.function([x], [x[key], pt.inc_subtensor(x[key], 1.0)], mode=mode)
        if count == size:
            np.testing.assert_array_equal(f(X)[0], X[key])
        else:
            with pytest.raises(IndexError, match="mask does not fit"):
                f(X)
