"""Attention called directly: operands between forbidden pages, impossible dims, lesser CPUs."""

import numpy as np
import pytest

from ckernels.graph.op import REGISTRY
from ckernels.plan.instructions import word_of, words
from ckernels.plan.records import ATTENTION, ATTENTION_GRAD, AttentionDims
from src import native
from src.natives import fenced, ffi, load

MINUS_INF = float("-inf")


def strides(a, count):
    return tuple(s // a.itemsize for s in a.strides[:count])


def dims(q, k, v, causal=None, **changes):
    """The record of contiguous matrices (outer, inner, length, width)."""
    n, m = q.shape[2], k.shape[2]
    given = {
        "op": ATTENTION, "dtype": int(q.dtype == np.float64), "outer": q.shape[0],
        "inner": q.shape[1], "rows": n, "keys": m, "width": q.shape[3], "values": v.shape[3],
        "q": strides(q, 3), "k": strides(k, 3), "v": strides(v, 3), "bias": (0,) * 4,
        "mask": (0,) * 4, "has": 0, "causal": m if causal is None else causal,
        "fill": word_of(MINUS_INF), "zero": 0, "keep": 0, "only": 0,
        "none": (0,) * AttentionDims.NESTED["none"][0],
    }  # fmt: skip
    return AttentionDims(**{**given, **changes})


def run(lib, record, operands, results):
    """Run it; the spans that it says are checked by pages that cannot be touched."""
    results = [fenced(np.full(shape, np.nan, operands[0].dtype)) for shape in results]
    arrays = [*operands, *results]
    places = [ffi.cast("void *", a.__array_interface__["data"][0]) for a in arrays]
    numbers = ffi.new("int64_t[]", words(record))
    span = ffi.new("ck_operand *")
    for which in range(len(arrays)):
        assert lib.ck_native_operand(numbers, which, span) == 1
    assert lib.ck_native_operand(numbers, len(arrays), span) == 0
    assert lib.ck_native(ffi.new("void *[]", places), numbers, ffi.NULL) == 0
    return results


def compare(lib, dtype, sizes, causal=None):
    outer, inner, n, m, d, e = sizes
    rng = np.random.default_rng(n + m)
    shapes = (n, d), (m, d), (m, e), (n, e)
    q, k, v, g = (fenced(rng.standard_normal((outer, inner, *s)).astype(dtype)) for s in shapes)
    attrs = {"has": (), "causal": causal, "fill": MINUS_INF, "zero": False, "keep": 0}
    absent = [q] * 3
    record = dims(q, k, v, causal)
    ahead = run(lib, record, [q, k, v, *absent], [(*q.shape[:3], e), (*q.shape[:3], 2)])
    back = run(
        lib, record.but(op=ATTENTION_GRAD), [q, k, v, *absent, *map(fenced, ahead), g],
        [a.shape for a in (q, k, v)],
    )  # fmt: skip
    wide = [a.astype("float64") for a in (q, k, v, g)]
    out = REGISTRY["attention"].oracle(attrs, *wide[:3])
    slopes = REGISTRY["attention_grad"].oracle(attrs, *wide[:3], *out, wide[3])
    for got, want in zip((ahead[0], *back), (out[0], *slopes)):
        limit = 128 * np.finfo(dtype).eps * np.max(np.abs(want), initial=1)
        assert np.max(np.abs(got - want), initial=0) <= limit


SIZES = [
    (1, 1, 1, 1, 1, 1),
    (2, 3, 65, 70, 17, 19),
    (1, 1, 13, 1000, 8, 5),
    (1, 2, 200, 257, 33, 64),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("causal", [None, 0])
def test_nothing_beyond_operands_is_touched(dtype, sizes, causal):
    compare(load(), dtype, sizes, causal)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1])
def test_kernels_of_lesser_cpus(tmp_path, level):
    sources = sorted(native.SOURCES.rglob("*.c"))
    plain = [p.relative_to(native.SOURCES) for p in sources if "python.h" not in p.read_text()]
    lib = load(native.build(tmp_path, [f"-DCK_MAX_SIMD={level}"], plain))
    for dtype in ("float32", "float64"):
        for sizes in SIZES:
            compare(lib, dtype, sizes)
            compare(lib, dtype, sizes, 0)


@pytest.mark.parametrize(
    "change",
    [{"rows": -1}, {"keys": 1 << 40}, {"q": (0, 0, 1)}, {"has": 8}, {"dtype": 2}, {"only": 2},
     {"keep": -1}, {"causal": 1 << 40}, {"outer": 5, "q": (1 << 62, 0, 3)},
     {"rows": 1 << 30, "keys": 1 << 30, "width": 1 << 30}],
)  # fmt: skip
def test_impossible_dims_are_refused(change):
    q = np.zeros((1, 1, 4, 3), "float32")
    numbers = ffi.new("int64_t[]", words(dims(q, q, q).but(**change)))
    assert load().ck_native_operand(numbers, 0, ffi.new("ck_operand *")) == -1
