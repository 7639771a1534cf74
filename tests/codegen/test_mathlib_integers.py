"""Integers, conversions, halves and random numbers of the math library: as NumPy has them, and
Threefry's published vectors.
"""

import ctypes
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen import mathlib
from ckernels.compiler import PREAMBLE, cpu, toolchain
from ckernels.graph.node import constant, make, new_uid
from ckernels.runtime.function import make_function

from . import mathbuild
from .mathbuild import DTYPE, FLOAT, INT_BINARY, INTS, edges, library, needs_gcc, ulp_error

special = pytest.importorskip("scipy.special")
pytestmark = needs_gcc
ORACLE = {"mod": np.mod, "floordiv": np.floor_divide, "max": np.maximum, "min": np.minimum}


@pytest.fixture(scope="module")
def lib():
    return library()


def integers(s, rng):
    info = np.iinfo(DTYPE[s])
    corner = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100]
    corner += [-1, -2, -3, -7, -100] if info.min else []
    small = rng.integers(max(info.min, -20), 20, 300)
    wild = rng.integers(info.min, info.max, 300, dtype=DTYPE[s], endpoint=True)
    return np.array([int(v) for v in (*corner, *small, *wild)], DTYPE[s])


@pytest.mark.parametrize("s", INTS)
def test_quotients_by_numbers_that_the_compiler_knows(s):
    """All numbers of 8 and 16 bits, by numbers of which each has a product of its own."""
    dtype, info, rng = DTYPE[s], np.iinfo(DTYPE[s]), np.random.default_rng(4)
    if info.bits <= 16:
        x = np.arange(info.min, info.max + 1).astype(dtype)
    else:
        x = np.concatenate([integers(s, rng), info.max - integers(s, rng)])
    by = [1, 2, 3, 5, 7, 10, 60, 100, 127, info.max, info.max - 1, info.max // 2 + 2]
    by += [-1, -2, -3, -7, -128, info.min, info.min + 1] if info.min else [128, 255]
    attrs = {"uid": new_uid(), "dtype": dtype, "shape": x.shape, "name": None}
    given = make("placeholder", (), attrs)
    numbers = [constant(n, dtype) for n in by]
    results = [op(given, n) for op in (ops.floor_div, ops.mod) for n in numbers]
    with np.errstate(all="ignore"):
        wanted = [f(x, np.array(n, dtype)) for f in (np.floor_divide, np.mod) for n in by]
    found = make_function([given], results, downcast=False)(x)
    for got, want, n in zip(found, wanted, by * 2):
        np.testing.assert_array_equal(got, want, err_msg=str(n))


@pytest.mark.parametrize("s", INTS)
def test_integers_as_numpy(lib, s):
    base = integers(s, np.random.default_rng(4))
    x, y = (a.ravel() for a in np.meshgrid(base, base))
    for name in INT_BINARY:
        got = lib(f"{name}_{s}", DTYPE[s], x, y)
        with np.errstate(all="ignore"):
            if name == "pow":
                np.testing.assert_array_equal(got[y >= 0], np.power(x[y >= 0], y[y >= 0]))
                down = y < 0
                unit = np.where(y % 2 == 0, 1, x)
                np.testing.assert_array_equal(got[down], np.where(np.abs(x) == 1, unit, 0)[down])
            else:
                np.testing.assert_array_equal(got, ORACLE[name](x, y), err_msg=name)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lib(f"abs_{s}", DTYPE[s], x), np.abs(x))
        np.testing.assert_array_equal(lib(f"sign_{s}", DTYPE[s], x), np.sign(x))


def test_quotients_of_near_integers_are_exact(lib):
    """Up to 2^51, and where a quotient is as close to a whole number as one can be."""
    rng = np.random.default_rng(6)
    top = 2**51
    few = [0, 1, 2, 3, 7, 10, 2**25 - 1, 2**26, 2**26 + 1, top // 3, top - 1, top - 2]
    base = np.array([*few, *(-n for n in few), -top, *rng.integers(-top, top, 200)], "int64")
    x, y = (a.ravel() for a in np.meshgrid(base, base))
    b = rng.integers(1, 2**26, 20_000)
    whole = rng.integers(-(2**25), 2**25, 20_000) * b  # multiples, and one beside them
    x = np.concatenate([x, whole - 1, whole, whole + 1, whole - 1, whole])
    y = np.concatenate([y, b, b, b, -b, -b])
    assert np.abs(x).max() == top
    with np.errstate(all="ignore"):
        for name in ("mod", "floordiv"):
            got = lib(f"near_{name}_i64", "int64", x, y)
            np.testing.assert_array_equal(got, ORACLE[name](x, y), err_msg=name)


@pytest.mark.parametrize("s", FLOAT)
@pytest.mark.parametrize("i", INTS)
def test_float_to_integer_as_numpy(lib, s, i):
    rng = np.random.default_rng(6)
    powers = 2.0 ** np.arange(0, 66)
    x = np.concatenate(
        [
            powers,
            -powers,
            powers - 1,
            powers + 1,
            0.5 - powers,
            powers * 1.5 + 0.5,
            rng.normal(size=500) * 1e3,
            [0.0, -0.0, 0.99, -0.99, np.inf, -np.inf, np.nan],
        ]
    )
    x = np.concatenate([x, edges(s)]).astype(DTYPE[s])
    info, cut = np.iinfo(DTYPE[i]), np.trunc(x.astype("float64"))
    inside = (cut >= info.min) & (cut < float(info.max) + (info.bits > 32))
    inside &= np.abs(cut) < 2.0**63 if i != "u64" else cut < 2.0**64
    got = lib(f"{s}_to_{i}", DTYPE[i], x)
    np.testing.assert_array_equal(got[inside], x[inside].astype(DTYPE[i]))
    if i == "u32":  # the low bits of the int64, negative or beyond 2^32
        held = np.abs(cut) < 2.0**63
        np.testing.assert_array_equal(got[held], cut[held].astype("int64").astype("uint32"))
    # outside the range: x86's "integer indefinite", its low bits for the small types
    lowest = -(2**63) if i in ("i64", "u64", "u32") else -(2**31)
    far = ~(np.abs(x) < 2.0**65)
    if i != "u64":
        assert (
            got[far] == np.array(lowest % 2**info.bits, f"u{info.bits // 8}").astype(DTYPE[i])
        ).all()


def bits_of_every_size(dtype, rng):
    """Integers of each number of bits, and those around powers of two and middles of doubles."""
    info = np.iinfo(dtype)
    near = [2**k + d + e for k in range(65) for d in (0, 2 ** max(k - 53, 0)) for e in (-1, 0, 1)]
    near = [v for k in near for v in (k, -k) if info.min <= v <= info.max]
    wild = rng.integers(info.min, info.max, 4000, dtype=dtype, endpoint=True)
    return np.array([*near, *(wild >> rng.integers(0, 64, 4000).astype(dtype)).tolist()], dtype)


@pytest.fixture(params=["native", "AVX2"])
def conversions(request, lib, tmp_path):
    """The library; and its conversions for AVX2, which has none of int64: in vectors."""
    if request.param == "native":
        return lib
    if "avx2" not in (cpu.cpu_flags()[1] or ()):
        pytest.skip("this CPU has no AVX2")
    text = "".join(k for k in mathbuild.sources() if re.search(r"void [fiu]\d\d_to_", k))
    source, made = tmp_path / "math.c", tmp_path / "math.so"
    source.write_text("\n".join((PREAMBLE, *mathlib.snippets(text), text)))
    command = [mathbuild.CC, *mathbuild.FLAGS, "-mavx2", "-mfma", "-o", made, source]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (tmp_path / "messages").write_text(done.stderr)
    vectors = re.findall(r"math\.c:(\d+):\d+: optimized: loop vectorized using 32", done.stderr)
    lines = source.read_text().splitlines()
    for name in ("i64_to_f64", "u64_to_f64", "f64_to_i64", "f32_to_i64"):
        loop = 2 + next(k for k, line in enumerate(lines) if f"void {name}(" in line)
        assert str(loop) in vectors, name
    return mathbuild.Library(tmp_path)


@pytest.mark.parametrize("s", ["i64", "u64"])
def test_integers_to_doubles_are_rounded_once(conversions, s):
    x = bits_of_every_size(DTYPE[s], np.random.default_rng(3))
    got = conversions(f"{s}_to_f64", "float64", x)
    exact = np.array([float(int(v)) for v in x])  # Python rounds to even
    np.testing.assert_array_equal(got.view("int64"), exact.view("int64"))


@pytest.mark.parametrize("s", FLOAT)
def test_floats_to_integers_are_cut(conversions, s):
    rng = np.random.default_rng(4)
    whole = bits_of_every_size("int64", rng).astype("float64")
    parts = rng.normal(size=4000) * 2.0 ** rng.integers(-4, 66, 4000)
    x = np.concatenate([whole, parts, whole + 0.5, [np.inf, -np.inf, np.nan, -0.0]])
    x = np.concatenate([x.astype(DTYPE[s]), edges(s)])
    x = np.concatenate([x, np.nextafter(x, np.zeros_like(x))])
    cut = [int(v) if np.isfinite(v) else 2**63 for v in x.astype("float64")]
    want = [v if -(2**63) <= v < 2**63 else -(2**63) for v in cut]
    np.testing.assert_array_equal(conversions(f"{s}_to_i64", "int64", x), want)


def test_halves(lib):
    halves = np.arange(65536, dtype=np.uint16)
    exact = halves.view("float16").astype("float32")
    got = lib("half_to_float", "float32", halves)
    number = ~np.isnan(exact)
    np.testing.assert_array_equal(got.view("uint32")[number], exact.view("uint32")[number])
    assert np.isnan(got[~number]).all()
    f = exact[np.isfinite(exact) & (exact >= 0)].astype("float64")
    middle = np.concatenate([f, (f + np.append(f[1:], 65536.0)) / 2])
    around = np.concatenate(
        [middle, middle * (1 + 2e-7), middle * (1 - 2e-7), [np.inf, np.nan, 1e30, 1e-30]]
    )
    with np.errstate(over="ignore"):
        for dtype, symbol in (("float32", "float_to_half"), ("float64", "double_to_half")):
            more = np.concatenate([around, middle * (1 + 4e-16), middle * (1 - 4e-16)])
            for x in (more.astype(dtype), -more.astype(dtype)):
                want, got = x.astype("float16"), lib(symbol, "uint16", x).view("float16")
                np.testing.assert_array_equal(got, want)
                keep = ~np.isnan(want)
                assert (np.signbit(got) == np.signbit(want))[keep].all()


@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="ziglang is not installed")
@pytest.mark.parametrize(
    "machine, up, down",
    [("aarch64", "fcvtl", "fcvtn"), ("haswell", "vcvtph2ps.*ymm", "vcvtps2ph.*ymm")],
)
def test_halves_by_the_cpu(tmp_path, machine, up, down):
    """NEON and F16C convert several at once; numbers are those of the CPU's own instructions."""
    text = "".join(k for k in mathbuild.sources() if "_half(" in k or "half_to_" in k)
    source, made = tmp_path / "half.c", tmp_path / "half.s"
    source.write_text("\n".join((PREAMBLE, *mathlib.snippets(text), text)))
    target = ["x86_64-linux", f"-mcpu={machine}"] if machine == "haswell" else [f"{machine}-linux"]
    command = [sys.executable, "-m", "ziglang", "cc", "-target", *target, *toolchain.CLANG]
    subprocess.run([*command, "-S", "-o", made, source], check=True)
    assert re.search(up, made.read_text()) and re.search(down, made.read_text())


def test_bfloats(lib):
    """The upper half of a float32, rounded to even: all, and what lies around the middles."""
    halves = np.arange(65536, dtype=np.uint16)
    exact = (halves.astype("uint32") << 16).view("float32")
    np.testing.assert_array_equal(
        lib("bfloat_to_float", "float32", halves).view("uint32"), exact.view("uint32")
    )
    back = lib("float_to_bfloat", "uint16", exact)
    number = ~np.isnan(exact)
    np.testing.assert_array_equal(back[number], halves[number])
    assert np.isnan((back[~number].astype("uint32") << 16).view("float32")).all()
    low = np.arange(0x7F80, dtype=np.uint32) << 16
    for rest, up in ((1, 0), (0x7FFF, 0), (0x8000, None), (0x8001, 1), (0xFFFF, 1)):
        for sign in (0, 0x80000000):
            x = (low + rest + sign).astype("uint32").view("float32")
            want = (low >> 16) + ((low >> 16 & 1) if up is None else up) + (sign >> 16)
            np.testing.assert_array_equal(lib("float_to_bfloat", "uint16", x), want)


@pytest.mark.parametrize(
    "key, counter, words",
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_known_answers(lib, key, counter, words):
    given, got = np.array([*key, *counter], np.uint32), np.zeros(2, np.uint32)
    lib.handle.threefry(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(got.ctypes.data))
    assert tuple(got) == words


def test_draws_are_those_of_the_oracle(lib):
    from ckernels.ops import random

    n = 300000
    i = np.arange(n, dtype=np.int64)
    for s, dtype in (("f32", "float32"), ("f64", "float64")):
        r0, r1 = random.words((7, 3, 1), n)
        uniform = lib(f"random_uniform_{s}", dtype, i)
        np.testing.assert_array_equal(uniform, random.uniform_of(r0, r1, dtype))
        assert 0 <= uniform.min() and uniform.max() < 1
        normal = lib(f"random_normal_{s}", dtype, i)
        wide = (
            random.normal_of(r0, r1, "float64")
            if s == "f64"
            else random.normal_of(r0, r1, "float32")
        )
        assert ulp_error(normal, wide, dtype).max() <= 4
        z = normal.astype("float64")
        assert abs(z.mean()) < 0.008 and abs(z.std() - 1) < 0.006
        assert abs((z**4).mean() - 3) < 0.08
        # Kolmogorov-Smirnov against the normal distribution, 0.1 % level
        gap = np.abs(special.ndtr(np.sort(z)) - (i + 0.5) / n).max()
        assert gap < 1.95 / np.sqrt(n)
        assert np.abs(np.sort(uniform) - (i + 0.5) / n).max() < 1.95 / np.sqrt(n)
    far = np.array([2**40 + 5, 3], np.int64)
    state = [np.full(2, v, np.int64) for v in (2**33 + 1, 9, 2**32 + 4)]
    bits = lib("random_bits_u64", "uint64", far, *state)
    for at, word in zip(far, bits):
        r0, r1 = random.words((2**33 + 1, 9, 2**32 + 4), 1, first=int(at))
        assert int(word) == int(r0[0]) | int(r1[0]) << 32
