"""The math library of generated C against NumPy, SciPy and mpmath: errors in ulp, special values,
the same bits at every position of a vector, integers and conversions as NumPy has them, Threefry's
published vectors. Everything is compiled once, in one translation unit, with the flags of kernels.
"""
import ctypes
import re
import shutil
import subprocess
import time

import mpmath
import numpy as np
import pytest

from ckernels.codegen import mathlib
from ckernels.compiler import PREAMBLE

special = pytest.importorskip("scipy.special")
CC = shutil.which("gcc")
pytestmark = pytest.mark.skipif(CC is None, reason="no gcc")

FLAGS = ["-O2", "-std=gnu11", "-fPIC", "-shared", "-Wall", "-Wextra", "-fno-math-errno",
         "-fno-trapping-math", "-fopenmp-simd", "-fvect-cost-model=dynamic",
         "--param=vect-epilogues-nomask=0", "-march=native", "-fopt-info-vec"]
FLOAT = {"f32": "float", "f64": "double"}
INTS = {f"{k}{b}": f"{t}{b}_t" for k, t in (("i", "int"), ("u", "uint")) for b in (8, 16, 32, 64)}
DTYPE = {"f32": "float32", "f64": "float64", "u16h": "uint16",
         **{s: t[:-2] for s, t in INTS.items()}}
BINARY = ("pow", "atan2", "mod", "floordiv", "max", "min")
INT_BINARY = ("floordiv", "mod", "pow", "max", "min")
SCALAR = ("gammaln", "gamma", "j0", "j1")   # by libm, not vectorised
EXACT = ("sqrt", "abs", "floor", "ceil", "trunc", "round", "sign")
UNARY = tuple(n for n in mathlib.ULP if n not in BINARY) + EXACT


def tan_or(fn):
    return lambda x: fn(np.where(np.isfinite(x), x, np.nan))


def log1mexp(x):
    return np.where(x > -0.6931, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


ORACLE = {"sigmoid": special.expit, "softplus": softplus, "log1mexp": log1mexp,
          "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "acos": np.arccos,
          "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
          "round": np.rint, "digamma": special.digamma, "pow": np.power, "atan2": np.arctan2,
          "mod": np.mod, "floordiv": np.floor_divide, "max": np.maximum, "min": np.minimum}
# where SciPy follows another rule at poles, or is too coarse: tested by values below
SKIP_POLES = {"gammaln": lambda x: x > 0, "gamma": lambda x: x > 0,
              "digamma": lambda x: x > 0, "j0": lambda x: np.abs(x) < 1e4,
              "j1": lambda x: np.abs(x) < 1e4}
ABSOLUTE = ("gammaln", "digamma", "j0", "j1")   # near their roots the error is absolute


def oracle(name):
    return ORACLE.get(name) or getattr(np, name, None) or getattr(special, name)


def kernel(symbol, text, out, *types):
    args = ", ".join(f"const {t} *restrict x{i}" for i, t in enumerate(types))
    return (f"void {symbol}({args}, {out} *restrict y, int64_t n) {{\n"
            f"    for (int64_t i = 0; i < n; i++) y[i] = {text};\n}}\n")


def sources():
    for s, t in FLOAT.items():
        for n in UNARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i])", t, t)
        for n in BINARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i], x1[i])", t, t, t)
        for i, k in INTS.items():
            yield kernel(f"{s}_to_{i}", f"ck_{s}_to_{i}(x0[i])", k, t)
        yield kernel(f"random_uniform_{s}", f"ck_random_uniform_{s}(x0[i], 7, 3, 1)", t, "int64_t")
        yield kernel(f"random_normal_{s}", f"ck_random_normal_{s}(x0[i], 7, 3, 1)", t, "int64_t")
    for s, t in INTS.items():
        for n in INT_BINARY:
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i], x1[i])", t, t, t)
        for n in ("abs", "sign"):
            yield kernel(f"{n}_{s}", f"ck_{n}_{s}(x0[i])", t, t)
    yield kernel("half_to_float", "ck_half_to_float(x0[i])", "float", "uint16_t")
    yield kernel("float_to_half", "ck_float_to_half(x0[i])", "uint16_t", "float")
    yield kernel("double_to_half", "ck_double_to_half(x0[i])", "uint16_t", "double")
    yield kernel("random_bits_u64", "ck_random_bits_u64(x0[i], x1[i], x2[i], x3[i])", "uint64_t",
                 *["int64_t"] * 4)
    yield ("void threefry(const uint32_t *w, uint32_t *r) {\n"
           "    ck_threefry2x32(w[0], w[1], w[2], w[3], r, r + 1);\n}\n")


class Library:
    """The compiled kernels; `lib(symbol, out_dtype, *arrays)` runs one."""

    def __init__(self, folder):
        text = "".join(sources())
        file = folder / "math.c"
        file.write_text("\n".join((PREAMBLE, *mathlib.snippets(text), text)))
        self.text = file.read_text()
        done = subprocess.run([CC, *FLAGS, "-o", folder / "math.so", file, "-lm"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        self.messages = done.stderr
        self.handle = ctypes.CDLL(str(folder / "math.so"))

    def __call__(self, symbol, out, *arrays):
        arrays = [np.ascontiguousarray(a) for a in arrays]
        result = np.empty(arrays[0].shape, out)
        getattr(self.handle, symbol)(*(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)),
                                     ctypes.c_int64(result.size))
        return result


@pytest.fixture(scope="session")
def lib(tmp_path_factory):
    return Library(tmp_path_factory.mktemp("math"))


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


def float32_samples():
    """Every 1031st float32 and all those next to the specials."""
    bits = np.arange(0, 2 ** 32, 1031, dtype=np.uint64).astype(np.uint32)
    marks = np.array([0, 1, 2, 0.5, 0.25, np.log(2), np.sqrt(0.5), np.sqrt(2), np.pi, np.pi / 2,
                      88.72283, 103.97, 1e-8, np.inf, 127, 128, 149, 1.1754944e-38], "float32")
    near = (marks.view("uint32")[:, None].astype("int64") + np.arange(-200, 201)).ravel()
    near = near[near >= 0].astype("uint32")
    return np.concatenate([bits, near, near | np.uint32(0x80000000)]).view("float32")


X32 = float32_samples()


@pytest.mark.parametrize("name", [n for n in UNARY])
def test_float32_over_its_whole_range(lib, name):
    keep = SKIP_POLES.get(name)
    x = X32[keep(X32)] if keep else X32
    with np.errstate(all="ignore"):
        exact = oracle(name)(x.astype("float64"))
        got = lib(f"{name}_f32", "float32", x)
        error = ulp_error(got, exact, "float32", name in ABSOLUTE)
        worst = np.nanargmax(np.where(np.isnan(error), np.inf, error))
    bound = mathlib.ULP[name]["f32"] if name in mathlib.ULP else 0.5
    assert error[worst] <= bound, (x[worst], got[worst], exact[worst])
    if name != "log1mexp":
        zero = (got == 0) & (exact == 0)
        assert (np.signbit(got) == np.signbit(exact))[zero].all()


REFERENCE = {"exp2": lambda x: mpmath.mpf(2) ** x, "log2": lambda x: mpmath.log(x, 2),
             "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
             "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
             "log1mexp": lambda x: mpmath.log1p(-mpmath.exp(x)),
             "rsqrt": lambda x: 1 / mpmath.sqrt(x),
             "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
             "erfcinv": lambda y: mpmath.findroot(
                 lambda t: mpmath.log(mpmath.erfc(t)) - mpmath.log(y), float(special.erfcinv(y))),
             "gammaln": lambda x: mpmath.log(abs(mpmath.gamma(x))),
             "i0": lambda x: mpmath.besseli(0, x), "i1": lambda x: mpmath.besseli(1, x),
             "j0": lambda x: mpmath.besselj(0, x), "j1": lambda x: mpmath.besselj(1, x)}
DOMAIN = {"log": (0, 9), "log2": (0, 9), "log10": (0, 9), "acosh": (1, 9), "rsqrt": (0, 9),
          "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "erfinv": (-1, 1),
          "erfcinv": (0, 1.9), "log1p": (-1, 9), "log1mexp": (-9, 0), "gammaln": (-9, 30),
          "gamma": (-9, 30), "digamma": (-9, 30), "i0": (-40, 40), "i1": (-40, 40),
          "sin": (-400, 400), "cos": (-400, 400), "tan": (-400, 400)}
SLOW = ("erfinv", "erfcinv", "gammaln", "gamma", "digamma", "i0", "i1", "j0", "j1", "erfc")


def float64_samples(name, rng):
    low, high = DOMAIN.get(name, (-25, 25))
    count = 250 if name in SLOW else 1200
    wide = np.exp(rng.uniform(np.log(1e-9), np.log(high - low), count)) + low
    small = np.exp(rng.uniform(-40, 0, count)) * rng.choice([-1, 1], count)
    x = np.concatenate([rng.uniform(low, high, count), wide, small])
    return x[(x >= low) & (x <= high) & (x != 0)]


def exact_error(got, exact, absolute):
    unit = np.spacing(max(abs(float(exact)), 1.0 if absolute else 0.0))
    return float(abs(mpmath.mpf(float(got)) - exact) / unit)


@pytest.mark.parametrize("name", list(n for n in mathlib.ULP if n not in BINARY))
def test_float64_against_mpmath(lib, name):
    x = float64_samples(name, np.random.default_rng(5))
    got = lib(f"{name}_f64", "float64", x)
    fn = REFERENCE.get(name) or getattr(mpmath, name)
    worst = (0.0, 0.0, 0.0)
    with mpmath.workprec(160):
        for a, b in zip(x, got):
            exact = mpmath.mpmathify(fn(mpmath.mpf(float(a))))
            if np.isfinite(float(exact)) and float(exact):
                worst = max(worst, (exact_error(b, exact, name in ABSOLUTE), a, b))
    assert worst[0] <= mathlib.ULP[name]["f64"], worst


@pytest.mark.parametrize("s", FLOAT)
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_two_operands_against_mpmath(lib, name, s):
    rng = np.random.default_rng(8)
    x = np.exp(rng.uniform(-30, 30, 1500)).astype(DTYPE[s])
    y = (rng.normal(size=1500) * np.exp(rng.uniform(-20, 3, 1500))).astype(DTYPE[s])
    x[:300] = 1 + rng.normal(size=300) * 1e-3
    y[:300] *= 1000
    fn = mpmath.power if name == "pow" else mpmath.atan2
    got = lib(f"{name}_{s}", DTYPE[s], x, y)
    big = np.finfo(DTYPE[s]).max
    with mpmath.workprec(200):
        exact = [fn(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y)]
        errors = [float(abs(mpmath.mpf(float(g)) - e)) / float(np.spacing(DTYPE_OF(s)(float(e))))
                  for g, e in zip(got, exact) if e < big]
    assert max(errors) <= mathlib.ULP[name][s]


def DTYPE_OF(s):
    return np.dtype(DTYPE[s]).type


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(lib, name):
    rng = np.random.default_rng(2)
    x = np.exp(rng.uniform(5, 700, 2000)) * rng.choice([-1, 1], 2000)
    x[:3] = 6381956970095103 * 2.0 ** 797, np.pi * 2.0 ** 40, 1e22
    got = lib(f"{name}_f64", "float64", x)
    with mpmath.workprec(1400):
        for a, b in zip(x, got):
            assert exact_error(b, getattr(mpmath, name)(mpmath.mpf(a)), False) <= \
                mathlib.ULP[name]["f64"], a


def edges(s):
    info = np.finfo(DTYPE[s])
    tiny = float(info.smallest_subnormal)
    positive = [0.0, tiny, 3 * tiny, float(info.tiny), 1e-5, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0,
                5.5, 127.0, 16777215.0, 1e30, float(info.max), np.inf, np.nan]
    return np.array(positive + [-v for v in positive], DTYPE[s])


@pytest.mark.parametrize("s", FLOAT)
@pytest.mark.parametrize("name", BINARY)
def test_special_values_of_two_operands(lib, name, s):
    x, y = (a.ravel() for a in np.meshgrid(edges(s), edges(s)))
    got = lib(f"{name}_{s}", DTYPE[s], x, y)
    with np.errstate(all="ignore"):
        exact = oracle(name)(x, y)
    wrong = ~((got == exact) | (np.isnan(got) & np.isnan(exact)))
    if name in ("pow", "atan2"):
        wrong &= ~(ulp_error(got, exact.astype("float64"), DTYPE[s]) <= 2)
    if name not in ("max", "min"):
        wrong |= (got == 0) & (np.signbit(got) != np.signbit(exact))
    assert not wrong.any(), list(zip(x[wrong], y[wrong], got[wrong], exact[wrong]))[:8]


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("gammaln", "gamma", "digamma")])
def test_special_values_of_float64(lib, name):
    x = edges("f64")
    got = lib(f"{name}_f64", "float64", x)
    with np.errstate(all="ignore"):
        exact = oracle(name)(x)
    error = ulp_error(got, exact, "float64", name in ABSOLUTE)
    wrong = ~(error <= (8 if name in mathlib.ULP else 0))
    wrong |= (got == 0) & (exact == 0) & (np.signbit(got) != np.signbit(exact))
    skip = np.abs(x) > 1e4 if name in ("j0", "j1") else np.zeros_like(x, bool)
    assert not (wrong & ~skip).any(), list(zip(x[wrong], got[wrong], exact[wrong]))


@pytest.mark.parametrize("s", FLOAT)
def test_same_bits_at_every_position(lib, s):
    rng = np.random.default_rng(1)
    values = np.concatenate([edges(s), rng.normal(size=40) * 3]).astype(DTYPE[s])
    width = np.uint32 if s == "f32" else np.uint64
    for name in UNARY + BINARY:
        other = [np.full(70, 1.75, DTYPE[s])] if name in BINARY else []
        for v in values:
            full = np.full(70, v, DTYPE[s])
            first = lib(f"{name}_{s}", DTYPE[s], full, *other).view(width)
            alone = lib(f"{name}_{s}", DTYPE[s], full[:1], *(o[:1] for o in other)).view(width)
            assert (first == alone[0]).all() or np.isnan(first.view(DTYPE[s])).all(), (name, v)
    for n in range(1, 71):
        x = rng.normal(size=n).astype(DTYPE[s])
        for name in ("exp", "log", "tanh", "erfc", "sin"):
            whole = lib(f"{name}_{s}", DTYPE[s], x).view(width)
            single = [lib(f"{name}_{s}", DTYPE[s], x[k:k + 1]).view(width)[0] for k in (0, n - 1)]
            assert [whole[0], whole[-1]] == single, (name, n)


def test_loops_are_vectorised(lib):
    lines = {int(m[1]) for m in re.finditer(r"math\.c:(\d+):\d+: optimized: loop vec", lib.messages)}
    if not lines or "__AVX512F__" not in subprocess.run(
            [CC, "-march=native", "-dM", "-E", "-x", "c", "/dev/null"],
            capture_output=True, text=True).stdout:
        pytest.skip("vectorisation is known for AVX-512 only")
    text = lib.text.splitlines()
    allowed = {f"{n}_{s}" for n in SCALAR + ("digamma",) for s in FLOAT}
    allowed |= {f"{n}_{s}" for n in ("floordiv", "mod", "pow") for s in INTS}
    scalar = set()
    for number, line in enumerate(text, 1):
        name = re.match(r"void (\w+)\(", line)
        if name and number + 1 not in lines and "restrict" in line:
            scalar.add(name[1])
    assert scalar <= allowed


def integers(s, rng):
    info = np.iinfo(DTYPE[s])
    corner = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100]
    corner += [-1, -2, -3, -7, -100] if info.min else []
    small = rng.integers(max(info.min, -20), 20, 300)
    wild = rng.integers(info.min, info.max, 300, dtype=DTYPE[s], endpoint=True)
    return np.array([int(v) for v in (*corner, *small, *wild)], DTYPE[s])


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
                np.testing.assert_array_equal(got, oracle(name)(x, y), err_msg=name)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lib(f"abs_{s}", DTYPE[s], x), np.abs(x))
        np.testing.assert_array_equal(lib(f"sign_{s}", DTYPE[s], x), np.sign(x))


@pytest.mark.parametrize("s", FLOAT)
@pytest.mark.parametrize("i", INTS)
def test_float_to_integer_as_numpy(lib, s, i):
    rng = np.random.default_rng(6)
    powers = 2.0 ** np.arange(0, 66)
    x = np.concatenate([powers, -powers, powers - 1, powers + 1, rng.normal(size=500) * 1e3,
                        [0.0, -0.0, 0.99, -0.99, np.inf, -np.inf, np.nan]])
    x = np.concatenate([x, edges(s)]).astype(DTYPE[s])
    info, cut = np.iinfo(DTYPE[i]), np.trunc(x.astype("float64"))
    inside = (cut >= info.min) & (cut < float(info.max) + (info.bits > 32))
    inside &= np.abs(cut) < 2.0 ** 63 if i != "u64" else cut < 2.0 ** 64
    got = lib(f"{s}_to_{i}", DTYPE[i], x)
    np.testing.assert_array_equal(got[inside], x[inside].astype(DTYPE[i]))
    # outside the range: x86's "integer indefinite", its low bits for the small types
    lowest = -2 ** 63 if i in ("i64", "u64", "u32") else -2 ** 31
    far = ~(np.abs(x) < 2.0 ** 65)
    if i != "u64":
        assert (got[far] == np.array(lowest % 2 ** info.bits, f"u{info.bits // 8}")
                .astype(DTYPE[i])).all()


def test_halves(lib):
    halves = np.arange(65536, dtype=np.uint16)
    exact = halves.view("float16").astype("float32")
    got = lib("half_to_float", "float32", halves)
    number = ~np.isnan(exact)
    np.testing.assert_array_equal(got.view("uint32")[number], exact.view("uint32")[number])
    assert np.isnan(got[~number]).all()
    f = exact[np.isfinite(exact) & (exact >= 0)].astype("float64")
    middle = np.concatenate([f, (f + np.append(f[1:], 65536.0)) / 2])
    around = np.concatenate([middle, middle * (1 + 2e-7), middle * (1 - 2e-7),
                             [np.inf, np.nan, 1e30, 1e-30]])
    with np.errstate(over="ignore"):
        for dtype, symbol in (("float32", "float_to_half"), ("float64", "double_to_half")):
            more = np.concatenate([around, middle * (1 + 4e-16), middle * (1 - 4e-16)])
            for x in (more.astype(dtype), -more.astype(dtype)):
                want, got = x.astype("float16"), lib(symbol, "uint16", x).view("float16")
                np.testing.assert_array_equal(got, want)
                keep = ~np.isnan(want)
                assert (np.signbit(got) == np.signbit(want))[keep].all()


@pytest.mark.parametrize("key, counter, words", [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0))])
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
        wide = random.normal_of(r0, r1, "float64") if s == "f64" else \
            random.normal_of(r0, r1, "float32")
        assert ulp_error(normal, wide, dtype).max() <= 4
        z = normal.astype("float64")
        assert abs(z.mean()) < 0.008 and abs(z.std() - 1) < 0.006
        assert abs((z ** 4).mean() - 3) < 0.08
        # Kolmogorov-Smirnov against the normal distribution, 0.1 % level
        gap = np.abs(special.ndtr(np.sort(z)) - (i + 0.5) / n).max()
        assert gap < 1.95 / np.sqrt(n)
        assert np.abs(np.sort(uniform) - (i + 0.5) / n).max() < 1.95 / np.sqrt(n)
    far = np.array([2 ** 40 + 5, 3], np.int64)
    state = [np.full(2, v, np.int64) for v in (2 ** 33 + 1, 9, 2 ** 32 + 4)]
    bits = lib("random_bits_u64", "uint64", far, *state)
    for at, word in zip(far, bits):
        r0, r1 = random.words((2 ** 33 + 1, 9, 2 ** 32 + 4), 1, first=int(at))
        assert int(word) == int(r0[0]) | int(r1[0]) << 32


def test_snippets_come_in_order_and_fast():
    text = "y[i] = ck_tanh_f32(x[i]) + ck_not_ours(x[i]) + ck_exp_f32(x[i]);"
    found = mathlib.snippets(text)
    order = [re.search(r"(?:CK_INLINE \w+|define) (\w+)", s)[1] for s in found]
    assert order[-1] in ("ck_tanh_f32", "ck_exp_f32") and order.index("ck_expq_f32") < len(order) - 1
    assert len(set(found)) == len(found) and mathlib.snippets("no math") == ()
    assert set(mathlib.names()) >= {"ck_exp_f32", "ck_mod_i8", "ck_threefry2x32"}
    for n in range(3):
        start = time.perf_counter()
        mathlib.snippets(text * (n + 5) + "z" * n)
        spent = time.perf_counter() - start
    assert spent < 1e-3
