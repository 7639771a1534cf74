"""Instructions as C for a computer with gcc or clang: kernels as the engine has them, products and
convolutions by the runtime's own sources, which are copied beside the model.

Compiled with the engine's flags, results are bit for bit those of the engine with `blas=builtin`.
One thread; work space of large products comes from malloc. `WRITERS` has what differs from C99.
"""

import re
from dataclasses import replace
from pathlib import Path

from ..compiler import PREAMBLE
from ..graph.sizes import value_of
from ..plan import records
from ..plan.instructions import Gemm, Native
from . import portable
from .calls import WRITERS as PLAIN
from .calls import Library
from .natives import COPIES, multiplied

SOURCES = Path(__file__).parent.parent / "src"
FLAGS = ("-O3", "-std=gnu11", "-fno-math-errno")  # of the runtime's sources
SIMD = tuple(f"simd/{name}" for name in ("simd.h", "simd.c", "each.h", "each_type.h", "vector.h",
                                         "base.h", "avx2.h", "avx512.h", "neon.h"))  # fmt: skip
HEADERS = ("ckernels.h", "plan/records.h")
PRODUCT = (*HEADERS, *SIMD, "gemm/gemm.c", "gemm/builtin.c", "gemm/microkernel.h")
WINDOWS = (*HEADERS, *SIMD, "image/native.h", "image/windows.c", "image/bands.c",
           "image/tile.c", "image/tile.h", "image/channels.c", "image/channels.h",
           "image/widths.h")  # fmt: skip
FUNCTIONS = {               # of a native instruction: its function, and the source that has it
    records.CONV: ("ck_conv", "image/conv.c"), records.CONV_INPUT_GRAD: ("ck_conv", "image/conv.c"),
    records.CONV_WEIGHT_GRAD: ("ck_conv_weight", "image/conv_weight.c"),
    records.DEPTHWISE: ("ck_depthwise", "image/pool.c"),
    records.DEPTHWISE_INPUT_GRAD: ("ck_depthwise", "image/pool.c"),
    records.DEPTHWISE_WEIGHT_GRAD: ("ck_depthwise_weight", "image/depthwise.c"),
    records.POOL_MAX: ("ck_pool", "image/pool.c"), records.POOL_SUM: ("ck_pool", "image/pool.c"),
    records.POOL_SUM_GRAD: ("ck_pool", "image/pool.c"),
    records.POOL_MAX_GRAD: ("ck_pool_max_back", "image/pool_max.c"),
    records.POOL_MAX_TAKE: ("ck_pool_max_back", "image/pool_max.c"),
    records.TRANSPOSE: ("ck_transpose", "image/transpose.c"),
    records.REPEAT: ("ck_repeat", "image/repeat.c"),
    **dict.fromkeys(range(records.PLANES, records.PLANES + 3), ("ck_planes", "image/planes.c")),
}  # fmt: skip
ALSO = {
    "image/conv.c": ("image/winograd.c", "image/winograd.h"),
    "image/planes.c": ("image/planes.h",),
}
HEAD = """\
#include <math.h>
#include "runtime/native.h"

#if defined(__GNUC__) && !defined(__clang__) /* memory is reused for other types between calls */
#define CK_NOINLINE __attribute__((noipa))
#else
#define CK_NOINLINE __attribute__((noinline))
#endif
"""


class Hosted(Library):
    """A Library of kernels as they are; `sources`: files of the runtime that are needed."""

    index = "int64_t"

    def __init__(self):
        super().__init__()
        self.sources = set()

    def kernel(self, kernel, node, fixed=None, pointers=0):
        name, text, snippets = portable.generated(kernel)
        self.snippets.update(dict.fromkeys(snippets))
        self.kernels[name] = text.replace(f"int {name}(", f"CK_NOINLINE static int {name}(")
        return name, portable.fallible(kernel), False

    def narrow(self, kernel):
        return False

    def text(self):
        parts = [HEAD, PREAMBLE[PREAMBLE.index("#define CK_RESTRICT") :]]
        parts += [portable.support(name) for name in sorted(self.memory)]
        return "\n".join([*parts, *self.snippets, *self.kernels.values()])


def call(calls, instr, function):
    """A call of the runtime, which also runs the epilogue, panel by panel."""
    follows = calls.library.kernel(instr.kernel, instr.node)[0] if instr.kernel else "NULL"
    places = ", ".join(calls.place(p) for p in instr.places())
    numbers = calls.numbers(instr.words(), False)
    calls.put(f"if ((code = {function}((void *const[]){{ {places} }}, {numbers}, {follows})) != 0)")
    calls.put("    return code;")


def gemm(calls, instr):
    calls.title(instr)
    own = instr.record
    calls.multiplied += calls.times * value_of(own.m * own.n * own.k * own.batch)
    calls.library.sources.update(PRODUCT)
    call(calls, instr, "ck_gemm")


def windows(calls, instr):
    calls.title(instr)
    op = instr.record.op
    calls.multiplied += calls.times * value_of(multiplied(instr.record))
    function, source = FUNCTIONS[op]
    calls.library.sources.update((*WINDOWS, source, *ALSO.get(source, ())))
    if op not in COPIES:
        instr = replace(instr, record=instr.record.but(slots=1))
    call(calls, instr, function)


WRITERS = {**PLAIN, Gemm: gemm, Native: windows}


def alone(text):
    """A source of the runtime with its includes named without folders."""
    return re.sub(r'(#(?:include|define \w+) ")\w+/', r"\1", text)


def runtime_files(library):
    """{name below the model's folder: text} of the runtime's sources and headers, all in one
    folder, so that compilers need no include path."""
    found = {
        f"runtime/{Path(name).name}": alone((SOURCES / name).read_text(encoding="utf-8"))
        for name in sorted(library.sources | {*HEADERS, "image/native.h"})
    }
    found["runtime/serial.c"] = portable.support("serial")
    if "gemm/gemm.c" in library.sources:
        found["runtime/no_blas.c"] = portable.support("no_blas")
    return found
