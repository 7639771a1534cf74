"""Functions of pictures on arrays, which are compiled, beside NumPy and Python's colorsys."""

import colorsys

import numpy as np
import pytest
from keras import ops

from ckernels.keras3 import jit
from ckernels.keras3.eager import _function

RNG = np.random.default_rng(8)
MODES = {  # a border of np.pad for each mode of Keras's
    "constant": {"mode": "constant", "constant_values": 3.0},
    "nearest": {"mode": "edge"},
    "wrap": {"mode": "wrap"},
    "mirror": {"mode": "reflect"},
    "reflect": {"mode": "symmetric"},
}
BORDER = 14


def between(picture, places, order, mode):
    """Values at places (rows, columns): of the nearest element, or between four of them."""
    wide = np.pad(picture.astype("float64"), BORDER, **MODES[mode])
    row, column = places.astype("float64") + BORDER
    if order == 0:
        return wide[np.rint(row).astype(int), np.rint(column).astype(int)]
    i, j = np.floor(row).astype(int), np.floor(column).astype(int)
    down, right = row - i, column - j
    upper = wide[i, j] * (1 - right) + wide[i, j + 1] * right
    return upper * (1 - down) + (wide[i + 1, j] * (1 - right) + wide[i + 1, j + 1] * right) * down


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5, 6), (1, 4), (6, 5)])
def test_coordinates_between_elements(shape, mode, order):
    wide = RNG.uniform(size=shape).astype("float32")
    far = RNG.uniform(-10, 10, (2, 4, 3)).astype("float32")
    strided = np.asfortranarray(wide)[::-1], far[..., ::2]
    for dtype, tolerance in ("float32", 1e-5), ("float16", 2e-2):
        for picture, places in (wide, far), strided:
            picture, places = (np.float32(a.astype(dtype)) for a in (picture, places))
            found = ops.image.map_coordinates(picture.astype(dtype), places, order, mode, 3.0)
            assert isinstance(found, np.ndarray) and found.dtype == dtype
            wanted = between(picture, places, order, mode)
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert ops.image.map_coordinates(wide, far[:, :0], order, mode).shape == (0, 3)


@pytest.mark.parametrize("mode", MODES)
def test_coordinates_in_steps_of_open_sizes(mode):
    f = jit(lambda x, *at: ops.image.map_coordinates(x, ops.stack(at), 1, mode, 3.0))
    for shape in (4, 5), (7, 3), (1, 2):
        picture = RNG.uniform(size=shape).astype("float32")
        places = RNG.uniform(-10, 10, (2, shape[0], 3)).astype("float32")
        np.testing.assert_allclose(
            f(picture, *places), between(picture, places, 1, mode), rtol=1e-5, atol=1e-5
        )
    assert [len(t) for t in f.traces.values()] == [1] and f.pinned == 0


@pytest.mark.parametrize("mode", MODES)
def test_integers_between_elements_are_rounded(mode):
    picture, places = RNG.integers(0, 256, (5, 6)), RNG.uniform(-10, 10, (2, 20)).astype("float32")
    for dtype in "uint8", "int32":
        found = ops.image.map_coordinates(picture.astype(dtype), places[..., None], 1, mode, 3)
        assert found.dtype == dtype
        wanted = between(picture, places, 1, mode)[:, None]
        np.testing.assert_allclose(found, wanted, atol=0.501)


@pytest.mark.parametrize("pictures, transforms", [(1, 1), (3, 3), (3, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_transformed_pictures(mode, pictures, transforms):
    """Of a picture each, or of one for all."""
    x = RNG.uniform(size=(pictures, 5, 6, 2)).astype("float32")
    t = np.array([1.1, 0.2, -1.5, -0.3, 0.9, 0.8, 0, 0]) + RNG.uniform(size=(transforms, 8)) / 9
    t = np.float32(t * (np.arange(8) < 6))
    rows, columns = np.mgrid[:5, :6]
    found = ops.image.affine_transform(x, t, "bilinear", mode, 3.0)
    for i, picture in enumerate(x):
        a, b, c, d, e, f = t[i % transforms, :6].astype("float64")
        places = np.stack([d * columns + e * rows + f, a * columns + b * rows + c])
        wanted = [between(picture[..., k], places, 1, mode) for k in range(2)]
        np.testing.assert_allclose(found[i], np.stack(wanted, -1), rtol=1e-4, atol=1e-4)


def test_hues_are_those_of_colorsys():
    colours = RNG.uniform(size=(40, 3))
    colours[:8] = [[i & 1, i >> 1 & 1, i >> 2] for i in range(8)]  # greys, and two that are equal
    for dtype, tolerance in ("float32", 1e-6), ("float16", 2e-3):
        wanted = np.array([colorsys.rgb_to_hsv(*map(float, c)) for c in colours.astype(dtype)])
        x = colours.astype(dtype).reshape(2, 4, 5, 3)
        found = ops.image.rgb_to_hsv(x)
        assert isinstance(found, np.ndarray) and found.dtype == dtype
        np.testing.assert_allclose(found.reshape(40, 3), wanted, rtol=tolerance, atol=tolerance)
        first = ops.image.rgb_to_hsv(np.moveaxis(x, -1, -3), data_format="channels_first")
        np.testing.assert_array_equal(np.moveaxis(first, -3, -1), found)
    assert ops.image.rgb_to_hsv(np.zeros((0, 4, 3), "float32")).shape == (0, 4, 3)


def test_one_function_for_pictures_of_all_sizes():
    def call(size):
        ops.image.rgb_to_hsv(np.zeros((size, 9, 3), "float32"))
        return _function.cache_info()

    first = call(2)
    for size in range(3, 8):
        found = call(size)
    assert (found.misses, found.hits) == (first.misses, first.hits + 5)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_what_is_close_to_what(equal_nan):
    """NumPy's answer, for each of these numbers beside each."""
    ends = [0, -0.0, 1e-9, 1.1e-8, 1, 1.000009, 1.00002, -1, 3e38, -3e38, np.inf, -np.inf, np.nan]
    x, y = (a.ravel() for a in np.meshgrid(*[np.array(ends, "float32")] * 2))
    for rtol, atol in ((1e-5, 1e-8), (0.5, 0.0), (0.0, 2.0), (np.inf, 0.0)):
        with np.errstate(all="ignore"):
            wanted = np.isclose(x, y, rtol, atol, equal_nan)
        for a, b in ((x, y), (x.reshape(13, 13)[:, ::2], y.reshape(13, 13)[:, ::2])):
            found = ops.isclose(a, b, rtol, atol, equal_nan)
            assert found.dtype == bool
            of = wanted if a is x else wanted.reshape(13, 13)[:, ::2]
            np.testing.assert_array_equal(found, of)
    assert ops.isclose(x[:0], y[:0]).shape == (0,)
    np.testing.assert_array_equal(ops.isclose(x[4:7], x[4]), [True, True, False])


def test_determinants_of_what_has_none():
    x = np.stack([np.eye(3), np.zeros((3, 3)), -2 * np.eye(3), np.full((3, 3), np.nan)])
    sign, log = ops.slogdet(x.astype("float32"))
    np.testing.assert_array_equal(sign[:3], [1, 0, -1])
    np.testing.assert_allclose(log, [0, -np.inf, 3 * np.log(2), np.nan], rtol=1e-6)


@pytest.mark.parametrize("dtype", [None, "float64", "int32", "bfloat16", "bool"])
@pytest.mark.parametrize("shape", [3, (), (0, 2), [2, 3], np.array([2, 1])])
def test_filled(shape, dtype):
    for value in (2, 2.5, np.float32(3), True, np.arange(3)[-1:]):
        found = ops.full(shape, value, dtype)
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        assert str(found.dtype) == (dtype or "float32") and found.shape == sizes
        assert (found == np.asarray(value).astype(found.dtype)).all()
    with pytest.raises(ValueError):
        ops.full((-1, 2), 1.0)


def test_updates_leave_what_they_are_given():
    x = RNG.normal(size=(5, 6)).astype("float32")
    before, wanted, new = x.copy(), x.copy(), RNG.normal(size=(2, 3))
    for part in (new, new.astype("float32"), np.float16(new)):
        wanted[3:5, 3:6] = part.astype("float32")
        for starts in ((-2, 3), (4, 5), np.array([3, 3]), [np.int64(3), 3]):  # moved inside
            np.testing.assert_array_equal(ops.slice_update(x, starts, part), wanted)
    places, rows = np.array([[4], [0], [4]]), RNG.normal(size=(3, 6)).astype("float32")
    for kind in ("int64", "int32", "uint8"):
        for reduction, change in {"add": np.add, "max": np.maximum, "min": np.minimum,
                                  "mul": np.multiply}.items():  # fmt: skip
            wanted = x.copy()
            change.at(wanted, places[:, 0], rows)
            for part in (rows, rows.astype("float64")):
                found = ops.scatter_update(x, places.astype(kind), part, reduction)
                assert found.dtype == "float32"
                np.testing.assert_array_equal(found, wanted)
        wanted = x.copy()
        wanted[[0, 4]] = rows[1:]
        np.testing.assert_array_equal(ops.scatter_update(x, places.astype(kind), rows), wanted)
    with pytest.raises(ValueError, match="reduction"):
        ops.scatter_update(x, places, rows, "mean")
    np.testing.assert_array_equal(x, before)
