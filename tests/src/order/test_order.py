"""The runtime's order of rows called directly: every width and kind of element, every length at
which it changes its way, between forbidden pages, and all threads alike.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import _runtime
from ckernels.plan.instructions import words
from ckernels.plan.lowerings.order import EQUAL, KINDS, PARTITION, PLACES, SORT
from ckernels.plan.records import OrderDims
from src.natives import OPS, bounds, fenced, ffi, load, same_for_all_threads

DTYPES = sorted(set(KINDS) - {"bfloat16"})
LENGTHS = (1, 2, 3, 4, 5, 8, 9, 10, 11, 16, 17, 24, 25, 63, 64, 65, 257, 512, 513, 1500)


def dims(x, what, out, falling=0, slots=2, size_of_axis=0, count=None):
    """The words for the rows of a matrix x along its last axis."""
    size = x.itemsize
    return words(
        OrderDims(
            op=OPS.index("order"),
            width=size.bit_length() - 1,
            kind=KINDS[x.dtype.name],
            what=what,
            falling=falling,
            length=x.shape[1],
            count=out.shape[1] if count is None else count,
            size=size_of_axis,
            step=x.strides[1] // size,
            apart=1,
            sizes=(1, 1, x.shape[0]),
            near=(0, 0, x.strides[0] // size),
            far=(0, 0, out.shape[1]),
            slots=slots,
            none=(0,) * OrderDims.NESTED["none"][0],
        )
    )


def run(x, what, count=None, falling=0, slots=2, size_of_axis=0, code=0):
    """What the runtime makes of the rows of x, which lie between forbidden pages; None where it
    says `code`."""
    shape = (x.shape[0], x.shape[1] if count is None or what == PARTITION else count)
    out = fenced(np.zeros(shape, x.dtype if what == SORT else "int64"))
    lib, span = load(), ffi.new("ck_operand *")
    words_ = ffi.new("int64_t[]", dims(x, what, out, falling, slots, size_of_axis, count))
    scratch = fenced(np.full(-(-lib.ck_native_scratch(words_) // 64) * 64, 255, "uint8"))
    for which, array in enumerate((x, out)):
        assert lib.ck_native_operand(words_, which, span) == 1
        assert (span.low, span.high, span.written) == (*bounds(array), which) or not array.size
    assert lib.ck_native_operand(words_, 2, span) == 1 and span.high == scratch.size
    at = [ffi.cast("void *", a.__array_interface__["data"][0]) for a in (x, out, scratch)]
    assert lib.ck_native(ffi.new("void *[]", at), words_, ffi.NULL) == code
    return None if code else out


def numbers(draw, dtype, rows, n):
    """Elements of which many are equal, or special, or of all sizes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(("few", "special", "wide", "close", "pairs")))
    if kind == "few":
        return rng.integers(0, 3, (rows, n)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.5, np.finfo(dtype).tiny]
        if kind == "special":
            return rng.choice(special, (rows, n)).astype(dtype)
        far = rng.normal(size=(rows, n)) * 10.0 ** rng.integers(-4, 4, (rows, n))
        if kind == "pairs":  # equal in their upper bits, far from all others
            part = rng.integers(0, max(1, n // rng.integers(1, 9)), (rows, n))
            ulps = 1 + rng.integers(0, 4, (rows, n)) * np.finfo(dtype).eps
            return (np.take_along_axis(far, part, 1) * ulps if n else far).astype(dtype)
        near = 1 + rng.integers(0, 9, (rows, n)) * np.finfo(dtype).eps
        if kind == "close" and n:  # equal in their upper bits, beside one that is far away
            near[:, 0] = -np.finfo(dtype).max
        return (far if kind == "wide" else near).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, (rows, n)) > 0
    return rng.integers(0, 256, (rows, n, np.dtype(dtype).itemsize), "uint8").view(dtype)[..., 0]


@pytest.fixture(scope="module", params=[512, 1 << 62], ids=["ours", "library"])
def long_rows(request):
    """Who sorts long rows: the machine decides by a measurement; here each does."""
    library = load().ck_sorter_limits
    for dtype in ("float32", "float64"):  # it is measured once, before
        for what in (SORT, PLACES):
            run(fenced(np.zeros((1, 600), dtype)), what)
    measured = list(library)
    library[2] = library[3] = request.param
    yield
    library[2], library[3] = measured[2:]


def negative_zeros(x):
    return (x == 0) & np.signbit(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_rows(long_rows, data):
    dtype, n = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(LENGTHS))
    rows = data.draw(st.sampled_from((1, 2, 5, 33, 65) if n < 100 else (1, 3)))
    x = numbers(data.draw, dtype, rows, n).astype(dtype)
    wide = np.zeros((rows, 2 * n), dtype)
    wide[:, ::2] = x
    x = fenced(data.draw(st.sampled_from((x, wide[:, ::2], x[::-1], x[:, ::-1]))))
    got = run(x, SORT)
    np.testing.assert_array_equal(got, np.sort(x, 1, kind="stable"))
    negative = negative_zeros(got)
    np.testing.assert_array_equal(negative.sum(1), negative_zeros(x).sum(1))
    rises = np.diff(negative.astype(int), axis=1) == 1
    assert not rises[got[:, :-1] == 0].any()  # they are first
    np.testing.assert_array_equal(run(x, PLACES), np.argsort(x, 1, kind="stable"))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_first_places(data):
    """Of few, of many, of nearly all; where each element comes before all that were found."""
    dtype = data.draw(st.sampled_from(DTYPES))
    n = data.draw(st.sampled_from((1, 9, 40, 300, 700, 5000)))
    count = data.draw(st.sampled_from((0, 1, 2, 10, n // 9, n // 2, n)))
    x = numbers(data.draw, dtype, 2, n).astype(dtype)
    lay = data.draw(st.sampled_from(("given", "rising", "falling")))
    if lay != "given":
        x = np.sort(x, 1)[:, :: 1 if lay == "rising" else -1]
    count = min(count, n)
    stable = np.argsort(x, 1, kind="stable")[:, :count]
    np.testing.assert_array_equal(run(fenced(x), PLACES, count), stable)
    turned = n - 1 - np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1][:, :count]
    np.testing.assert_array_equal(run(fenced(x), PLACES, count, falling=1), turned)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_places_parted(data):
    """The first or the last of each row in order, the others as they come."""
    dtype, falling = data.draw(st.sampled_from(DTYPES)), data.draw(st.integers(0, 1))
    n = data.draw(st.sampled_from((2, 9, 40, 300, 700, 5000)))
    x = numbers(data.draw, dtype, 2, n).astype(dtype)
    count = data.draw(st.sampled_from((1, n // 2, n // 9 + 1, n if not falling else 1)))
    got = run(fenced(x), PARTITION, count, falling=falling)
    found = run(fenced(x), PLACES, count, falling=falling)
    for row, first in zip(got, found):
        others = np.setdiff1d(np.arange(n), first)
        want = [others, first[::-1]] if falling else [first, others]
        np.testing.assert_array_equal(row, np.concatenate(want))


@pytest.mark.parametrize("what", [SORT, PLACES])
@pytest.mark.parametrize("n", [7, 100, 2000])
def test_threads_and_slots(long_rows, what, n):
    x = np.random.default_rng(1).normal(size=(37, n)).round(1)
    whole = same_for_all_threads(lambda: run(x, what))
    for slots in (1, 5, 64):
        np.testing.assert_array_equal(run(x, what, slots=slots), whole)


def test_refused():
    x = np.zeros((3, 4), "float32")
    good = dims(x, SORT, x)
    names = {name: k for k, name in enumerate(OrderDims.FIELDS)}
    assert _runtime.native_scratch(good) > 0
    for name, value in (("width", 4), ("width", 1), ("kind", 5), ("what", 4), ("falling", 2),
                        ("length", -1), ("length", 1 << 31), ("count", 3), ("count", 5),
                        ("sizes", -1)):  # fmt: skip
        bad = list(good)
        bad[names[name]] = value
        with pytest.raises(ValueError):
            _runtime.native_scratch(bad)
    for slots in (0, 1025):
        with pytest.raises(ValueError):
            _runtime.native_scratch(dims(x, SORT, x, slots=slots))
    for slots in (1, 1024):
        assert _runtime.native_scratch(dims(x, SORT, x, slots=slots)) > 0
    longest = list(good)
    longest[names["length"]] = longest[names["count"]] = 2**31 - 1
    assert _runtime.native_scratch(longest) > 0
    places = np.zeros((3, 4), "int64")
    assert _runtime.native_scratch(dims(x, PARTITION, places, falling=1, count=2)) > 0
    with pytest.raises(ValueError):  # they would be moved over each other
        _runtime.native_scratch(dims(x, PARTITION, places, falling=1, count=3))


@pytest.mark.parametrize("dtype", [f"{sign}int{8 << k}" for sign in ("", "u") for k in range(4)])
@pytest.mark.parametrize("n", [1, 2, 9, 100, 1000])
def test_first_equal(dtype, n):
    rng = np.random.default_rng(n)
    size = min(120, 3 * n)
    wide = rng.integers(-size if dtype[0] == "i" else 0, size, (1, 2 * n)).astype(dtype)
    for x in (wide[:, :n], wide[:, ::-2]):
        x = fenced(x)
        where = np.where(x < 0, x.astype("int64") + size, x)[0]
        want = [int(np.flatnonzero(where == w)[0]) for w in where]
        np.testing.assert_array_equal(run(x, EQUAL, size_of_axis=size)[0], want)
        for wrong in (size, -size - 1) if dtype[0] == "i" else (size, 255, np.iinfo(dtype).max):
            bad = x.copy()
            bad[0, -1] = wrong
            assert run(bad, EQUAL, size_of_axis=size, code=1) is None
