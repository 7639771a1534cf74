"""Convolution kernels of the runtime against the oracles: geometries, memory, threads, bad dims."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckernels import _runtime
from ckernels.ops.windows import extent
from src import native, natives
from src.natives import call, dims, fenced, oracle, same_for_all_threads

RNG = np.random.default_rng(11)
TOLERANCE = {"float32": 2e-4, "float64": 1e-11}


@st.composite
def paddings(draw, sizes, kernel, dilation):
    """Pairs that leave room for a window: none, halves, whole, more than whole."""
    pairs = []
    for size, k, d in zip(sizes, kernel, dilation):
        reach = extent(k, d)
        some = st.sampled_from((0, 0, 1, reach // 2, reach - 1, reach + 2))
        low, high = draw(some), draw(some)
        pairs.append((low, max(high, reach - size - low)))
    return tuple(pairs)


@st.composite
def layouts(draw, shape, dtype, rng):
    """An array of random numbers between forbidden pages, in some layout."""
    order = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else range(len(shape))
    values = rng.standard_normal([shape[k] for k in order]).astype(dtype)
    if draw(st.integers(0, 4)) == 0:
        values = values[::-1]
    return fenced(values.transpose(np.argsort(order)), draw(st.booleans()))


@st.composite
def geometries(draw, largest):
    n = draw(st.integers(1, 3))
    size = st.sampled_from([0, 1, 2, 3, 5, 8, 13, largest] if n < 3 else [1, 2, 3, 6])
    several = st.tuples(*[size] * n)
    sizes, kernel = draw(several), draw(st.tuples(*[st.sampled_from((1, 2, 3, 4, 5, 7))] * n))
    dilation = draw(st.tuples(*[st.sampled_from((1, 1, 1, 2, 3))] * n))
    strides = draw(st.tuples(*[st.sampled_from((1, 1, 2, 3, 5))] * n))
    groups = draw(st.sampled_from((1, 1, 1, 2, 3)))
    each = st.sampled_from((1, 2, 3, 8, 16, 17, 32, 33, 40))
    attrs = {
        "strides": strides,
        "dilation": dilation,
        "groups": groups,
        "padding": draw(paddings(sizes, kernel, dilation)),
    }
    batch = draw(st.sampled_from((0, 1, 1, 2, 3, 9)))
    return attrs, (batch, *sizes, groups * draw(each)), kernel, groups * draw(each)


def close(got, want):
    assert got.shape == want.shape
    scale = max(1.0, float(np.abs(want).max())) if want.size else 1.0
    np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=TOLERANCE[str(got.dtype)])


def compare(data, attrs, image, kernel, out, lib=None, depthwise=False):
    """All three convolutions of one geometry against their oracles in float64."""
    dtype = data.draw(st.sampled_from(("float32", "float64")))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    layout = (
        (lambda shape: fenced(rng.standard_normal(shape).astype(dtype)))
        if depthwise
        else (lambda shape: data.draw(layouts(shape, dtype, rng)))
    )
    x, w = layout(image), layout((*kernel, image[-1] // attrs["groups"], out))
    want = oracle("conv", attrs, x.astype("float64"), w.astype("float64"))
    g = layout(want.shape)
    names = ("depthwise", "depthwise_input_grad", "depthwise_weight_grad")
    slots = data.draw(st.sampled_from((1, 2, 4)))
    for k, operands in enumerate(((x, w), (g, w), (x, g))):
        name = natives.OPS[k]
        if k:
            sizes = np.array(image[1:-1] if k == 1 else kernel)
            want = oracle(name, attrs, *(a.astype("float64") for a in operands), sizes)
        d = dims(names[k] if depthwise else name, attrs, image, kernel, g.shape, operands, slots)
        out_like = np.empty(want.shape, dtype)
        close(call(names[k] if depthwise else name, d, operands, out_like, lib), want)


# ---- the kernels ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data(), geometries(30))
def test_random_geometries(data, geometry):
    compare(data, *geometry)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(st.data(), geometries(70))
def test_more_random_geometries(data, geometry):
    compare(data, *geometry)


@pytest.mark.parametrize(
    "part",
    [np.s_[:], np.s_[:, :4], np.s_[:, :, 2:7], np.s_[:, :4, 2:7], np.s_[:, :, 3:4], np.s_[:1]],
)
@pytest.mark.parametrize("both", [False, True])
def test_kernels_of_one_pixel_over_parts_of_images(part, both):
    """All pixels are one row where each lies as far behind the one before it, and not elsewhere."""
    rng = np.random.default_rng(3)
    attrs = {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "padding": ((0, 0), (0, 0))}
    x, g = (rng.standard_normal((3, 6, 8, n)).astype("float32")[part] for n in (5, 16))
    g = g if both else g.copy()
    w = rng.standard_normal((1, 1, 5, 16)).astype("float32")
    for k, operands in enumerate(((x, w), (g, w), (x, g))):
        sizes = [np.array(x.shape[1:-1] if k == 1 else (1, 1))] if k else []
        want = oracle(natives.OPS[k], attrs, *(a.astype("float64") for a in operands), *sizes)
        d = dims(natives.OPS[k], attrs, x.shape, (1, 1), g.shape, operands, slots=2)
        close(call(natives.OPS[k], d, operands, np.empty(want.shape, "float32")), want)


@st.composite
def squares(draw, largest):
    """3 x 3 one pixel apart with many channels, and what is next to that."""
    n = draw(st.sampled_from((2, 2, 2, 3)))
    size, one = (
        st.sampled_from((4, 5, 8, 9, 12, 13, largest)),
        draw(st.sampled_from((0, 0, 1, 1, 2))),
    )
    sizes = [draw(size) for _ in range(n)]
    kernel, attrs = [1, 3, 3][-n:], {"strides": [1] * n, "dilation": [1] * n, "groups": 1}
    if one == 2:  # a near miss: one number is another
        which = draw(st.sampled_from(("strides", "dilation", "kernel")))
        (kernel if which == "kernel" else attrs[which])[draw(st.integers(0, n - 1))] = 2
    pads = draw(paddings(sizes, kernel, attrs["dilation"])) if one else ((1, 1),) * n
    channels, out = (draw(st.sampled_from((15, 16, 17, 32, 40, 64))) for _ in range(2))
    attrs = {**attrs, "strides": tuple(attrs["strides"]), "dilation": tuple(attrs["dilation"])}
    several = 2 + 220 // math.prod(sizes)  # of one small image no kernel is turned
    image = (draw(st.sampled_from((1, several, several))), *sizes, channels)
    return {**attrs, "padding": pads}, image, tuple(kernel), out


@pytest.mark.rest
@settings(max_examples=30, deadline=None)
@given(st.data(), squares(21))
def test_many_channels_of_nine_taps(data, geometry):
    compare(data, *geometry)


SAME = {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "padding": ("same",) * 2}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squares_of_an_image_do_not_depend_on_the_others(dtype):
    """Large enough for several bands: where a band starts moves no square."""
    x = RNG.standard_normal((4, 36, 31, 48)).astype(dtype)
    w = RNG.standard_normal((3, 3, 48, 40)).astype(dtype)

    def run(x):
        y = np.empty((*x.shape[:-1], 40), dtype)
        return call("conv", dims("conv", SAME, x.shape, (3, 3), y.shape, (x, w)), (x, w), y)

    several = run(x)
    close(several, oracle("conv", SAME, x.astype("float64"), w.astype("float64")))
    for i in range(3):
        assert run(x[i : i + 1]).tobytes() == several[i : i + 1].tobytes()


@pytest.mark.parametrize("name", ["conv", "conv_input_grad"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_is_so_only_where_it_is_read(name, value):
    """inf stays inf in each window that has it; what overflows on the way only does not."""
    x = RNG.standard_normal((8, 13, 12, 32)).astype("float32")
    w = np.abs(RNG.standard_normal((3, 3, 32, 32))).astype("float32") / 64
    x[1, 5, 6, 3] = value
    x[1, 5, 8, 3] = -value if np.isfinite(value) else value  # a square begins with their difference
    sizes = () if name == "conv" else (np.array(x.shape[1:-1]),)
    with np.errstate(invalid="ignore"):
        want = oracle(name, SAME, x.astype("float64"), w.astype("float64"), *sizes)
    got = call(name, dims(name, SAME, x.shape, (3, 3), x.shape, (x, w)), (x, w), np.empty_like(x))
    near = np.zeros(x.shape[:3], bool)
    near[1, 4:7, 5:10] = True
    np.testing.assert_allclose(got[near], want[near], rtol=1e-5, atol=1e32)
    np.testing.assert_allclose(got[~near], want[~near], rtol=0, atol=1e-4)
    assert np.isfinite(got[~near]).all()


@pytest.mark.parametrize("channels", [64, 256])
def test_squares_err_no_more_than_sums_one_by_one(channels):
    """Of the largest sum of magnitudes: eps, as a sum of 9 * channels terms in a row has."""
    x = RNG.standard_normal((1, 34, 34, channels), dtype=np.float32)
    w = RNG.standard_normal((3, 3, channels, 64), dtype=np.float32)
    got = call(
        "conv", dims("conv", SAME, x.shape, (3, 3), (1, 34, 34, 64), (x, w)), (x, w), x[..., :64]
    )
    wide = [a.astype("float64") for a in (x, w)]
    sums = oracle("conv", SAME, *map(np.abs, wide)).max()
    assert np.abs(got - oracle("conv", SAME, *wide)).max() < np.finfo("float32").eps * sums


@settings(max_examples=40, deadline=None)
@given(st.data(), geometries(30), st.sampled_from((1, 2, 3, 5, 8, 16, 23, 64, 70)))
def test_one_kernel_per_channel(data, geometry, channels):
    attrs, (batch, *sizes, _), kernel, _ = geometry
    compare(
        data,
        {**attrs, "groups": channels},
        (batch, *sizes, channels),
        kernel,
        channels,
        depthwise=True,
    )


@st.composite
def overlapping(draw, largest, channels, kernels):
    """Windows one pixel apart with a kernel of their own for each channel."""
    size, pad = st.sampled_from((1, 2, 3, 4, 5, 7, 8, 13, largest)), st.sampled_from((0, 1, 2, 3))
    n = draw(st.integers(1, 2))
    sizes, kernel = draw(st.tuples(*[size] * n)), draw(st.tuples(*[st.sampled_from(kernels)] * n))
    padding = draw(st.tuples(*[st.tuples(pad, pad)] * n))
    padding = tuple(
        (low, max(high, k - s - low)) for s, k, (low, high) in zip(sizes, kernel, padding)
    )
    c = draw(st.sampled_from(channels))
    attrs = {"strides": (1,) * n, "dilation": (1,) * n, "groups": c, "padding": padding}
    return attrs, (draw(st.sampled_from((1, 2, 3))), *sizes, c), kernel


@settings(max_examples=60, deadline=None)
@given(st.data(), overlapping(20, (1, 3, 4, 8, 16, 23, 64, 70), (3, 3, 3, 3, 5)))
def test_windows_that_overlap_per_channel(data, geometry):
    """3 x 3 and 5 x 5 with steps of one pixel: several rows and columns are done at once."""
    attrs, image, kernel = geometry
    compare(data, attrs, image, kernel, image[-1], depthwise=True)


def compare_planes(data, attrs, image, kernel, lib=None):
    """Channels first: images and results are planes."""
    dtype = data.draw(st.sampled_from(("float32", "float64")))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))

    def planes(shape):
        numbers = rng.standard_normal((shape[0], shape[-1], *shape[1:-1])).astype(dtype)
        return np.moveaxis(fenced(numbers, data.draw(st.booleans())), 1, -1)

    x, w = planes(image), data.draw(layouts((*kernel, 1, image[-1]), dtype, rng))
    wide = [a.astype("float64") for a in (x, w)]
    y = oracle("conv", attrs, *wide)
    g = planes(y.shape)
    sizes, taps = np.array(image[1:-1]), np.array(kernel)
    wide.append(g.astype("float64"))
    for name, operands, want in (
        ("planes", (x, w), np.moveaxis(y, -1, 1)),
        (
            "planes_input_grad",
            (g, w),
            np.moveaxis(oracle("conv_input_grad", attrs, wide[2], wide[1], sizes), -1, 1),
        ),
        ("planes_weight_grad", (x, g), oracle("conv_weight_grad", attrs, wide[0], wide[2], taps)),
    ):
        d = dims(name, attrs, image, kernel, g.shape, operands, slots=3)
        out = np.empty(want.shape, dtype)
        close(same_for_all_threads(lambda: call(name, d, operands, out, lib)), want)  # noqa: B023


@settings(max_examples=60, deadline=None)
@given(st.data(), overlapping(40, (1, 2, 3, 5), (1, 2, 3, 3, 3, 4, 5, 7, 16)))
def test_planes(data, geometry):
    compare_planes(data, *geometry)


@pytest.mark.parametrize("image, kernel", [((1, 150, 200, 2), (3, 3)), ((1, 5, 2100, 1), (3, 5))])
def test_large_planes(image, kernel):
    """Several bands of rows, and of columns."""
    attrs = {"strides": (1, 1), "dilation": (1, 1), "groups": image[-1], "padding": ("same",) * 2}

    @settings(max_examples=2, deadline=None)
    @given(st.data())
    def run(data):
        compare_planes(data, {**attrs, "padding": ((1, 1), (2, 0))}, image, kernel)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1])
def test_kernels_of_lesser_cpus(tmp_path, level):
    sources = sorted(native.SOURCES.rglob("*.c"))
    plain = [p.relative_to(native.SOURCES) for p in sources if "python.h" not in p.read_text()]
    lib = natives.load(native.build(tmp_path, [f"-DCK_MAX_SIMD={level}"], plain))

    @settings(max_examples=300, deadline=None)
    @given(st.data(), geometries(30))
    def run(data, geometry):
        compare(data, *geometry, lib=lib)
        compare(data, *data.draw(squares(21)), lib=lib)
        attrs, (batch, *sizes, c), kernel, _ = geometry
        compare(data, {**attrs, "groups": c}, (batch, *sizes, c), kernel, c, lib, depthwise=True)

    @settings(max_examples=150, deadline=None)
    @given(st.data(), overlapping(40, (1, 2, 3, 5, 16, 23), (1, 3, 3, 3, 4, 5)))
    def run_overlapping(data, geometry):
        attrs, image, kernel = geometry
        compare(data, attrs, image, kernel, image[-1], lib, depthwise=True)
        compare_planes(data, attrs, image, kernel, lib)

    run()
    run_overlapping()


CASES = {
    "same": ((16, 24, 24, 32), (3, 3), 48, {}),
    "few channels": ((8, 40, 40, 3), (5, 5), 20, {"strides": (2, 2)}),
    "one by one": ((8, 20, 20, 40), (1, 1), 70, {}),
    "small images": ((40, 5, 5, 64), (3, 3), 64, {}),
    "few pixels": ((1, 5, 5, 96), (3, 3), 256, {}),
    "groups": ((8, 16, 16, 48), (3, 3), 96, {"groups": 3}),
    "dilated": ((4, 200, 16), (3,), 32, {"dilation": (4,)}),
    "volume": ((3, 9, 9, 9, 16), (3, 3, 3), 32, {}),
    "one per channel": ((9, 23, 40, 70), (3, 3), 70, {"groups": 70}),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("case", CASES)
def test_results_do_not_depend_on_the_number_of_threads(case):
    padding = ("same", (0, 0))[list(CASES).index(case) % 2]
    image, kernel, out, more = CASES[case]
    n = len(kernel)
    x = RNG.standard_normal(image, dtype=np.float32)
    w = RNG.standard_normal((*kernel, image[-1] // more.get("groups", 1), out), dtype=np.float32)
    attrs = {"strides": (1,) * n, "dilation": (1,) * n, "groups": 1, "padding": (padding,) * n}
    attrs.update(more)
    want = oracle("conv", attrs, x, w)
    g = RNG.standard_normal(want.shape, dtype=np.float32)
    for name, operands, like, sizes in (
        ("conv", (x, w), g, ()),
        ("conv_input_grad", (g, w), x, (np.array(image[1:-1]),)),
        ("conv_weight_grad", (x, g), w, (np.array(kernel),)),
    ):
        runs = name.replace("conv", "depthwise") if attrs["groups"] == image[-1] else name
        d = dims(runs, attrs, image, kernel, g.shape, operands, slots=3)
        got = same_for_all_threads(lambda: call(runs, d, operands, like))  # noqa: B023
        close(got, oracle(name, attrs, *(a.astype("float64") for a in operands), *sizes))


def test_scratch_is_bounded():
    """A large image needs tiles, windows of some squares and a packed kernel, not its columns (9
    * 64 * 4 MB here)."""
    image, kernel = (4, 1000, 1000, 64), (3, 3)
    attrs = {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "padding": ("same",) * 2}
    shape = (*kernel, 64, 64)
    x, w = (np.broadcast_to(np.float32(0), s) for s in (image, shape))
    for k, (operands, limit) in enumerate((((x, w), 3e6), ((x, w), 3e6), ((x, x), 5e6))):
        d = dims(natives.OPS[k], attrs, image, kernel, image, operands, slots=2)
        assert _runtime.native_scratch(d) < limit


# ---- bad dims ---------------------------------------------------------------------------------


def numbers(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


GOOD = dims(
    "conv",
    {"strides": (1, 1), "dilation": (1, 1), "groups": 1, "padding": ("same",) * 2},
    (2, 5, 5, 3),
    (3, 3),
    (2, 5, 5, 4),
    (numbers(2, 5, 5, 3), numbers(3, 3, 3, 4)),
)


@pytest.mark.parametrize(
    "place, value",
    [
        (0, -1),
        (0, 15),
        (1, 2),
        (2, -1),
        (3, 1 << 60),
        (5, 0),
        (5, 2),
        (12, -5),
        (14, 0),
        (15, 0),
        (16, 0),
        (17, -1),
        (16, 1 << 40),
        (13, 1 << 62),
        (34, 0),
        (34, 1025),
        (35, -1),
    ],
)
def test_impossible_dims_are_refused(place, value):
    bad = list(GOOD)
    for slots in (1, 1024):
        bad[34] = slots
        assert _runtime.native_scratch(bad) > 0
    bad[place] = value
    with pytest.raises(ValueError, match="dims"):
        _runtime.native_scratch(bad)


def test_too_few_dims_are_refused():
    with pytest.raises(ValueError, match="dims"):
        _runtime.native_scratch(GOOD[:-1])


def test_a_plan_whose_operand_is_too_small_is_refused():
    size = _runtime.native_scratch(GOOD)
    ptrs = [(1, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 1024)]

    def make(arena, dims=GOOD, ptrs=ptrs):
        instrs = np.array([[5, 0, 0, 0, 0, 1, 1, 1]])
        return _runtime.Plan(instrs, np.array(ptrs), np.array(dims), arena, [], [], [], [], 0)

    make(1024 + size)
    with pytest.raises(ValueError, match="outside its buffer"):
        make(1023 + size)
    with pytest.raises(ValueError, match="read-only"):
        make(1024 + size, ptrs=[(1, 0, 0), (1, 1, 0), (1, 2, 0), (0, 0, 1024)])
    with pytest.raises(ValueError, match="impossible"):
        make(1024 + size, dims=[0, 3, *GOOD[2:]])
    with pytest.raises(ValueError, match="out of range"):
        make(1024 + size, ptrs=ptrs[:-1])
