"""The runtime's copies of elements and rows that lie many times in the result: any widths, sizes
and strides, between forbidden pages, all threads alike; and which copies of a plan become one.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckernels as K
from ckernels import _runtime
from src.natives import DIMS, OPS, call_copy, fenced, same_for_all_threads

EDGES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 300)
DTYPES = ("uint8", "uint16", "uint32", "uint64")


def call(x, shape, gap):
    """`x`, a view of `shape`, copied by the runtime."""
    return call_copy("repeat", x, shape, [s // x.itemsize for s in x.strides], gap)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_repetition(data):
    n = data.draw(st.integers(2, 5))
    batch, sizes = st.sampled_from((0, 1, 2, 3)), st.sampled_from(EDGES)
    shape = (*data.draw(st.tuples(*[batch] * (n - 2))), data.draw(sizes), data.draw(sizes))
    dtype = data.draw(st.sampled_from(DTYPES))
    held = [data.draw(st.booleans()) for _ in shape]  # axes along which nothing changes
    held[-1] |= shape[-1] > 1 and data.draw(st.booleans())
    kept = tuple(1 if h else n for h, n in zip(held, shape))
    values = np.random.default_rng(3).integers(1, 250, kept).astype(dtype)
    steps = [1 if k == n - 1 else data.draw(st.sampled_from((1, 1, 2, -1))) for k in range(n)]
    wide = np.zeros(tuple(k * abs(s) for k, s in zip(kept, steps)), dtype)
    x = fenced(wide, data.draw(st.booleans()))[tuple(slice(None, None, s) for s in steps)]
    x[...] = values
    strides = [0 if h else s for h, s in zip(held, x.strides)]
    if shape[-1] == 1:
        strides[-1] = x.itemsize
    view = np.lib.stride_tricks.as_strided(x, shape, strides)
    gap = data.draw(st.sampled_from((0, 0, 3)))
    got = same_for_all_threads(lambda: call(view, shape, gap))
    np.testing.assert_array_equal(got, np.broadcast_to(values, shape))


def good():
    d = [OPS.index("repeat"), 0, 1, 1, 1, 6, 5, 0, 0, 0, 1, 0, 0, 0, 0, 5, 1]
    return d + [0] * (DIMS - len(d))


@pytest.mark.parametrize(
    "place, value",
    [(1, 4), (1, -1), (2, -1), (5, -1), (6, 1 << 53), (4, 1 << 52), (15, -5), (16, 2), (11, 2)],
)
def test_impossible_dims_are_refused(place, value):
    assert _runtime.native_scratch(good()) == 0
    bad = good()
    bad[place] = value
    with pytest.raises(ValueError, match="dims"):
        _runtime.native_scratch(bad)


PROGRAMS = {
    "elements": (lambda x: K.repeat_elements(x, 3, 1), lambda x: np.repeat(x, 3, 1)),
    "rows": (lambda x: K.repeat_elements(x, 2, 0), lambda x: np.repeat(x, 2, 0)),
    "tiles": (lambda x: K.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3))),
    "of every second": (lambda x: K.repeat_elements(x[:, ::2], 5, 1),
                        lambda x: np.repeat(x[:, ::2], 5, 1)),
    "of a turned one": (lambda x: K.tile(x[::-1], (2, 2)), lambda x: np.tile(x[::-1], (2, 2))),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float64", "complex64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, dtype):
    build, want = PROGRAMS[name]
    x = K.placeholder((None, None), dtype=dtype)
    f = K.function([x], build(x))
    for shape in ((7, 5), (1, 9), (9, 1), (0, 3), (3, 0), (40, 33)):
        value = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
        for array in (value, np.asfortranarray(value)):
            np.testing.assert_array_equal(f(array), want(array))
