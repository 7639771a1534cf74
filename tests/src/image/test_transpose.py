"""The runtime's transposition: any sizes and strides, between forbidden pages, all threads alike;
and which copies of a plan become one.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckernels as K
from ckernels import _runtime
from src.natives import DIMS, OPS, call_copy, fenced, ffi, load, same_for_all_threads

EDGES = (1, 2, 3, 4, 5, 7, 8, 31, 64, 65, 130)


def call(x, order, gap):
    """`x` transposed to `order` by the runtime."""
    shape, near = zip(*[(x.shape[k], x.strides[k] // x.itemsize) for k in order])
    return call_copy("transpose", x, shape, near, gap)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_transposition(data):
    n = data.draw(st.integers(2, 5))
    sizes = st.sampled_from(EDGES)
    batch = st.sampled_from((0, 1, 2, 3))
    shape = (*data.draw(st.tuples(*[batch] * (n - 2))), data.draw(sizes), data.draw(sizes))
    dtype = data.draw(st.sampled_from(("uint8", "uint16", "float32", "float64")))
    values = (np.arange(np.prod(shape)) % 251).astype(dtype).reshape(shape)
    lay = data.draw(st.permutations(range(n)))
    x = fenced(
        np.ascontiguousarray(values.transpose(lay)).transpose(np.argsort(lay)),
        data.draw(st.booleans()),
    )
    order = data.draw(st.permutations(range(n)))
    gap = data.draw(st.sampled_from((0, 0, 3)))
    got = same_for_all_threads(lambda: call(x, order, gap))
    np.testing.assert_array_equal(got, values.transpose(order))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_narrow_matrices(dtype):
    """Edges of squares of every width, with elements between lines or without, to both ends of a
    page."""
    for narrow in (*range(1, 18), 23):
        for long in (15, 16, 33, 300):
            wide = (np.arange(long * (narrow + 2)) % 251).astype(dtype).reshape(long, narrow + 2)
            for part in (wide[:, :narrow].copy(), wide[:, 2:]):
                for x in (part, np.ascontiguousarray(part.T).T):
                    for late in (False, True):
                        held = fenced(x, late)
                        np.testing.assert_array_equal(call(held, (1, 0), 0), x.T)
                        for gap in (0, 3):
                            np.testing.assert_array_equal(call(held.T, (1, 0), gap), x)


def good():
    d = [OPS.index("transpose"), 2, 1, 1, 1, 6, 5, 0, 0, 0, 1, 6, 0, 0, 0, 5, 1]
    return d + [0] * (DIMS - len(d))


@pytest.mark.parametrize(
    "place, value",
    [
        (1, 4),
        (1, -1),
        (2, -1),
        (5, -1),
        (6, 1 << 53),
        (4, 1 << 52),
        (15, -5),
        (16, 2),
        (16, 0),
        (12, -1),
    ],
)
def test_impossible_dims_are_refused(place, value):
    assert _runtime.native_scratch(good()) == 0
    bad = good()
    bad[place] = value
    with pytest.raises(ValueError, match="dims"):
        _runtime.native_scratch(bad)


def test_strides_too_large_for_an_address_are_refused():
    d = good()
    d[10] = 1 << 62
    assert load().ck_native_operand(ffi.new("int64_t[]", d), 0, ffi.new("ck_operand *")) == -1


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "bool", "uint8", "float16", "complex64"]
)
@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2)])
def test_transposed_results(dtype, perm):
    """Results of functions, large enough and too small for the runtime's kernel."""
    for shape in ((2, 33, 9, 17), (2, 3, 4, 5)):
        x = K.placeholder(shape, dtype=dtype)
        f = K.function([x], [K.permute_dimensions(x, perm)])
        value = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        np.testing.assert_array_equal(f([value])[0], value.transpose(perm))
