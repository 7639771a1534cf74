"""The runtime's native instructions called directly, on memory that ends where the operands end.

`call` runs one on arrays and compares what it says about them (spans, scratch) with what they
are. Operands lie between pages that cannot be touched: reading or writing one element beyond
either end ends the process, sanitizers or not.
"""

import ctypes
import functools
import mmap

import cffi
import numpy as np

from ckernels import _runtime
from ckernels.graph.op import REGISTRY
from ckernels.ops.windows import all_pads
from ckernels.plan.instructions import words
from ckernels.plan.records import AxisDims, WindowDims

OPS = ("conv", "conv_input_grad", "conv_weight_grad", "depthwise", "depthwise_input_grad",
       "depthwise_weight_grad", "pool_max", "pool_sum", "pool_sum_grad", "pool_max_grad",
       "pool_max_take", "transpose", "planes", "planes_input_grad",
       "planes_weight_grad", "order", "attention", "attention_grad", "repeat")  # fmt: skip
CDEF = """
typedef int (*ck_fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);
typedef struct { int64_t low, high; int written; } ck_operand;
int ck_native(void *const *p, const int64_t *d, ck_fn epilogue);
int ck_native_operand(const int64_t *d, int which, ck_operand *out);
int64_t ck_native_scratch(const int64_t *d);
extern int64_t ck_sorter_limits[4];
"""
DIMS = WindowDims.WORDS
PAGE = mmap.PAGESIZE
ffi = cffi.FFI()
ffi.cdef(CDEF)


@functools.cache
def load(path=None):
    return ffi.dlopen(path or _runtime.__file__)


# ---- memory -----------------------------------------------------------------------------------


def bounds(a):
    """(first byte, byte after the last) of the memory behind an array, from its data pointer."""
    reach = [(n - 1) * s for n, s in zip(a.shape, a.strides)] if a.size else []
    low = sum(min(r, 0) for r in reach)
    return low, (sum(max(r, 0) for r in reach) + a.itemsize if a.size else 0)


_protect = ctypes.CDLL(None, use_errno=True).mprotect


def fenced(array, at_end=True):
    """A copy of `array` in the same layout that ends (or starts) beside a forbidden page."""
    low, high = bounds(array)
    size = high - low
    pages = -(-size // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert not _protect(ctypes.c_void_p(start + page * PAGE), PAGE, 0)
    offset = PAGE + (pages * PAGE - size if at_end else 0)
    copy = np.ndarray(array.shape, array.dtype, memory, offset - low, array.strides)
    copy[...] = array
    return copy


# ---- dims -------------------------------------------------------------------------------------


def image_strides(a):
    batch, *near = (s // a.itemsize for s in a.strides)
    return [batch, *[0] * (4 - len(near)), *near]


def kernel_strides(a):
    return [0] * (5 - a.ndim) + [s // a.itemsize for s in a.strides]


def dims(name, attrs, image, kernel, result, operands, slots=2):
    """image, kernel, result: shapes; operands: arrays."""
    n, op = len(image) - 2, OPS.index(name)
    dilation = attrs.get("dilation", (1,) * n)
    pads = all_pads(attrs, image[1:-1], kernel[:n])
    axes = [AxisDims(1, 1, 1, 1, 1, 0)] * (3 - n)
    for row in zip(image[1:-1], result[1:-1], kernel, attrs["strides"], dilation, pads):
        axes.append(AxisDims(*row[:5], low=row[5][0]))
    second = [0] * 5
    if len(operands) == 2:
        second = (image_strides if "weight" in name else kernel_strides)(operands[1])
    groups = attrs.get("groups", max(1, image[-1]))
    return words(
        WindowDims(
            op=op,
            dtype=int(operands[0].dtype == np.float64),
            batch=image[0],
            channels=image[-1],
            out=result[-1],
            groups=groups,
            axes=tuple(axes),
            first=tuple(image_strides(operands[0])),
            second=tuple(second),
            slots=slots,
            unit=0,
        )
    )


def call(name, d, operands, out, lib=None):
    """Run it: the result, a fenced copy of the shape of `out`."""
    lib = lib or load()
    numbers = ffi.new("int64_t[]", d)
    size = lib.ck_native_scratch(numbers)
    assert size >= 0, d
    result = fenced(np.full(out.shape, np.nan, out.dtype))
    scratch = fenced(np.full(-(-size // 64) * 64, 255, np.uint8))
    arrays = [*operands, result]
    span, which = ffi.new("ck_operand *"), 0
    while found := lib.ck_native_operand(numbers, which, span):
        assert found > 0, (which, d)
        if which < len(arrays) and arrays[which].size:
            assert (span.low, span.high) == bounds(arrays[which]), (which, d)
        assert span.written == (which >= len(operands))
        which += 1
    assert which - len(arrays) in (0, 1)
    pointers = [ffi.cast("void *", a.__array_interface__["data"][0]) for a in [*arrays, scratch]]
    assert lib.ck_native(ffi.new("void *[]", pointers), numbers, ffi.NULL) == 0
    return result


def call_copy(name, x, shape, near, gap):
    """`x` copied to an array of `shape` by the runtime; near: how far apart in `x` the elements of
    the result along each axis lie. Rows of the result are `gap` elements further apart than they
    need to be, and what lies between them stays as it was."""
    wide = fenced(np.full((*shape[:-1], shape[-1] + gap), 77, x.dtype))
    out = wide[..., : shape[-1]]
    far = [*(s // x.itemsize for s in out.strides[:-1]), 1]  # NumPy: 0 in an empty array
    d = [OPS.index(name), x.itemsize.bit_length() - 1]
    for numbers, filler in ((shape, 1), (near, 0), (far, 0)):
        d += [*[filler] * (5 - len(shape)), *numbers]
    lib, numbers = load(), ffi.new("int64_t[]", d + [0] * (DIMS - len(d)))
    span = ffi.new("ck_operand *")
    for which, array in enumerate((x, out)):
        assert lib.ck_native_operand(numbers, which, span) == 1
        assert (span.low, span.high, span.written) == (*bounds(array), which)
    assert lib.ck_native_operand(numbers, 2, span) == 0
    pointers = [ffi.cast("void *", a.__array_interface__["data"][0]) for a in (x, out)]
    assert lib.ck_native(ffi.new("void *[]", pointers), numbers, ffi.NULL) == 0
    assert (wide[..., shape[-1] :] == 77).all()
    return out


def oracle(name, attrs, *arrays):
    return REGISTRY[name].oracle(attrs, *arrays)


def same_for_all_threads(compute):
    """compute() with one, two and three threads: one result, to the bit."""
    before = _runtime.get_num_threads()
    try:
        results = []
        for n in (1, 2, 3):
            _runtime.set_num_threads(n)
            results.append(compute())
    finally:
        _runtime.set_num_threads(before)
    for other in results[1:]:
        assert results[0].tobytes() == other.tobytes()
    return results[0]
