"""Builds every function of the math library into one shared object, and measures errors in ulp.

One translation unit per run of the tests, with the flags of kernels, for test_mathlib.py (floats)
and test_mathlib_integers.py (integers, conversions, random numbers).
"""

import ctypes
import functools
import platform
import shutil
import subprocess

import numpy as np
import pytest
from once import once

from ckernels.codegen import mathlib
from ckernels.codegen.print_c import APART
from ckernels.compiler import PREAMBLE, toolchain

CC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(CC is None, reason="no gcc")
FLAGS = [*toolchain.GCC, "-shared", "-Wall", "-Wextra", "-fopt-info-vec"]
SETS = {"native": [], "no FMA": []}  # flags of instruction sets
if platform.machine() in ("x86_64", "AMD64"):
    SETS = {"native": ["-march=native", "-mprefer-vector-width=512"], "no FMA": ["-msse4.2"]}
FLOAT = {"f32": "float", "f64": "double"}
INTS = {f"{k}{b}": f"{t}{b}_t" for k, t in (("i", "int"), ("u", "uint")) for b in (8, 16, 32, 64)}
DTYPE = {"f32": "float32", "f64": "float64", "u16h": "uint16",
         **{s: t[:-2] for s, t in INTS.items()}}  # fmt: skip
BINARY = ("pow", "atan2", "betaln", "mod", "floordiv", "max", "min")
INT_BINARY = ("floordiv", "mod", "pow", "max", "min")
SCALAR = ("gammaln", "gamma", "betaln", "j0", "j1")  # by libm, not vectorised
NEAR = {  # what has another version for numbers of which this holds
    **dict.fromkeys(("sin", "cos", "tan", "mod", "floordiv"),
                    lambda x: np.abs(x) < (5e5 if x.itemsize == 4 else 1e13)),
    **dict.fromkeys(("log", "log2", "log10", "pow"),
                    lambda x: (x >= np.finfo(x.dtype).tiny) & (x < np.inf)),
}  # fmt: skip
EXACT = ("sqrt", "abs", "floor", "ceil", "trunc", "round", "sign")
UNARY = tuple(n for n in mathlib.ULP if n not in BINARY) + EXACT


def kernel(symbol, text, out, *types):
    args = ", ".join(f"const {t} *restrict x{i}" for i, t in enumerate(types))
    return (
        f"{APART}void {symbol}({args}, {out} *restrict y, int64_t n) {{\n"
        f"    for (int64_t i = 0; i < n; i++) y[i] = {text};\n}}\n"
    )


def sources():
    for s, t in FLOAT.items():
        for n in UNARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i])", t, t)
        for n in BINARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i], x1[i])", t, t, t)
        for n in NEAR:
            given = ("x0[i]", "x1[i]") if n in BINARY else ("x0[i]",)
            text = f"ck_near_{n}_{s}({', '.join(given)})"
            yield kernel(f"near_{n}_{s}", text, t, *[t] * len(given))
        for i, k in INTS.items():
            yield kernel(f"{s}_to_{i}", f"ck_{s}_to_{i}(x0[i])", k, t)
        yield kernel(f"random_uniform_{s}", f"ck_random_uniform_{s}(x0[i], 7, 3, 1)", t, "int64_t")
        yield kernel(f"random_normal_{s}", f"ck_random_normal_{s}(x0[i], 7, 3, 1)", t, "int64_t")
    for s, t in INTS.items():
        for n in INT_BINARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i], x1[i])", t, t, t)
        for n in ("abs", "sign"):
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i])", t, t)
    for n in dict.fromkeys(mathlib.ALONE.values()):
        yield kernel(f"{n}_alone_f64", f"ck_{n}_alone_f64(x0[i])", "double", "double")
    for s in ("i64", "u64"):
        yield kernel(f"{s}_to_f64", f"ck_{s}_to_f64(x0[i])", "double", INTS[s])
    for n in ("near_floordiv", "near_mod"):
        yield kernel(f"{n}_i64", f"ck_{n}_i64(x0[i], x1[i])", "int64_t", "int64_t", "int64_t")
    yield kernel("bfloat_to_float", "ck_bfloat_to_float(x0[i])", "float", "uint16_t")
    yield kernel("float_to_bfloat", "ck_float_to_bfloat(x0[i])", "uint16_t", "float")
    yield kernel("half_to_float", "ck_half_to_float(x0[i])", "float", "uint16_t")
    yield kernel("float_to_half", "ck_float_to_half(x0[i])", "uint16_t", "float")
    yield kernel("double_to_half", "ck_double_to_half(x0[i])", "uint16_t", "double")
    yield kernel(
        "random_bits_u64",
        "ck_random_bits_u64(x0[i], x1[i], x2[i], x3[i])",
        "uint64_t",
        *["int64_t"] * 4,
    )
    yield (
        "void threefry(const uint32_t *w, uint32_t *r) {\n"
        "    ck_threefry2x32(w[0], w[1], w[2], w[3], r, r + 1);\n}\n"
    )


def whole():
    """The text that is compiled."""
    text = "".join(sources())
    return "\n".join((PREAMBLE, *mathlib.snippets(text), text))


def build(folder, instructions):
    """math.so, and what the compiler says about it."""
    (folder / "math.c").write_text(whole())
    command = [CC, *FLAGS, *SETS[instructions], "-o", folder / "math.so", folder / "math.c", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    (folder / "messages").write_text(done.stderr)


class Library:
    """The compiled kernels; `lib(symbol, out_dtype, *arrays)` runs one."""

    def __init__(self, folder):
        self.text = (folder / "math.c").read_text()
        self.messages = (folder / "messages").read_text()
        self.handle = ctypes.CDLL(str(folder / "math.so"))

    def __call__(self, symbol, out, *arrays):
        arrays = [np.ascontiguousarray(a) for a in arrays]
        result = np.empty(arrays[0].shape, out)
        getattr(self.handle, symbol)(
            *(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)),
            ctypes.c_int64(result.size),
        )
        return result


@functools.lru_cache
def library(instructions="native"):
    name = "math" if instructions == "native" else "math-" + instructions.replace(" ", "-")
    make = functools.partial(build, instructions=instructions)
    made = Library(once(name, make, whole(), FLAGS, SETS[instructions]))
    asked = [CC, *SETS[instructions], "-dM", "-E", "-x", "c", "/dev/null"]
    defined = subprocess.run(asked, capture_output=True, text=True).stdout
    made.slack = 0 if "__FMA__" in defined or "__aarch64__" in defined else 1  # see mathlib.ULP
    return made


def ulp_error(got, exact, dtype, absolute=False):
    """|got - exact| in units of the last place of `exact` in `dtype`; 0 where both are equal."""
    with np.errstate(all="ignore"):
        near = exact.astype(dtype)
        size = np.where(np.isfinite(near), np.abs(near), 1)
        unit = np.spacing(np.maximum(size, 1) if absolute else size).astype("float64")
        error = np.abs(got.astype("float64") - exact.astype("float64")) / unit
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    overflow = np.isinf(near) & (np.abs(got) == np.finfo(dtype).max)
    return np.where(same & ~np.isfinite(near), 0, np.where(overflow, 1, error))


def edges(s):
    info = np.finfo(DTYPE[s])
    tiny = float(info.smallest_subnormal)
    positive = [
        0.0,
        tiny,
        3 * tiny,
        float(info.tiny),
        1e-5,
        0.25,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        5.5,
        127.0,
        16777215.0,
        1e30,
        float(info.max),
        np.inf,
        np.nan,
    ]
    return np.array(positive + [-v for v in positive], DTYPE[s])
