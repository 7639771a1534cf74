"""Floats as integers by the runtime: cut at the ends, NaN is 0; every width, at every length."""

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime")
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
EDGES = [0.0, -0.0, 0.99, -0.99, 1.5, -1.0, 2.0**24 - 1, 1e30, -1e30, np.inf, -np.inf, np.nan]


def around(dtype, source):
    """Floats beside the ends of an integer dtype."""
    ends = [np.array(float(e), source) for e in (np.iinfo(dtype).min, np.iinfo(dtype).max)]
    return [np.nextafter(e, np.array(to, source)) for e in ends for to in (-np.inf, np.inf)] + ends


def expected(x, dtype):
    """Python's integers, cut at the ends."""
    limits = np.iinfo(dtype)

    def of(number):
        if number != number:
            return 0
        low, high = number <= limits.min, number >= limits.max
        return limits.min if low else limits.max if high else int(number)

    return np.array([of(float(v)) for v in x.ravel()], dtype).reshape(x.shape)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_numbers(source, dtype):
    number = np.dtype(dtype).num
    some = np.array([*EDGES, *around(dtype, source)], source)
    drawn = np.random.default_rng(0).uniform(-300, 70000, 37).astype(source)
    x = np.concatenate([some, drawn, some[::-1]])
    for n in [*range(len(x)), 0]:  # vectors, and what is left of them, at any alignment
        found = runtime.saturated(x[n:], number)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected(x[n:], dtype))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_layouts(dtype):
    x = np.linspace(-400, 400, 2 * 3 * 8, dtype="float32").reshape(2, 3, 8)
    number = np.dtype(dtype).num
    views = [x, x.T, x[::-1, :, ::2], x[:, 1], x[0, 0, 0:0], np.array(1e20, "float32"), x[:0]]
    for v in [*views, x.astype(">f4"), np.asfortranarray(x), np.broadcast_to(x[0], (4, 3, 8))]:
        found = runtime.saturated(v, number)
        assert found.shape == v.shape and found.flags.writeable
        np.testing.assert_array_equal(found, expected(v, dtype))


def test_what_is_refused():
    x = np.ones(3, "float32")
    for wrong in (x.astype("float16"), x.astype("int32"), x.astype("complex64")):
        with pytest.raises(TypeError, match="integers of float32 and float64"):
            runtime.saturated(wrong, np.dtype("int32").num)
    for dtype in ("float64", "bool", "complex64", "U4"):
        with pytest.raises(TypeError, match="integers of float32 and float64"):
            runtime.saturated(x, np.dtype(dtype).num)
    with pytest.raises(TypeError):
        runtime.saturated([1.0], np.dtype("int32").num)
