"""Probes of promotion and of edges: functions by dtypes, everything computed late, beside NumPy.

A probe is equal in dtype, shape and values (signs of zeros included), or raises the same error.
Left out, since they are meant: warnings, and which zero the larger of 0.0 and -0.0 is.
"""

import warnings

import numpy as np
import pytest

import ckernels.numpy as cnp

pytestmark = pytest.mark.usefixtures("late")

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
UNARY = """absolute fabs sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin
cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint negative
positive invert logical_not isnan isinf isfinite signbit conjugate""".split()
BINARY = """add subtract multiply true_divide floor_divide remainder fmod power float_power maximum
minimum fmax fmin arctan2 hypot copysign logaddexp equal less greater_equal logical_and bitwise_xor
left_shift right_shift divmod""".split()
PAIRS = [("bool", "bool"), ("bool", "int8"), ("int8", "uint8"), ("int8", "int64"),
         ("uint64", "int64"), ("int32", "float32"), ("int16", "float16"), ("float32", "float64"),
         ("float16", "float32"), ("float32", "complex64"), ("int64", "complex64"),
         ("complex64", "complex128"), ("float64", "bool"), ("uint8", "uint16"),
         ("uint32", "float32"), ("int64", 2), ("int8", -3), ("float32", 2.5), ("uint8", 300),
         ("int64", 1j), ("bool", 2)]  # fmt: skip
REDUCTIONS = """sum prod max min any all argmax argmin mean std var cumsum cumprod""".split()
CLOSE = {"float16": 2e-3, "float32": 3e-6, "complex64": 3e-6, "float64": 1e-13,
         "complex128": 1e-12}  # fmt: skip


def sample(dtype, seed=0):
    if not isinstance(dtype, str):
        return dtype
    kind = np.dtype(dtype).kind
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.5, 0.3, 7.0, 100.0, 1e6])
    x = np.roll(x, seed)
    if kind in "fc":
        x = np.concatenate([x, [np.nan, np.inf, -np.inf]])
    if kind == "c":
        x = x[:10] * (0.5 - 2j)  # infinities of complex numbers are each library's own
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (np.abs(x) if kind in "ub" else x).astype(dtype)


def answer(function, args, options):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **options)
            return found if isinstance(found, tuple) else (found,)
        except (TypeError, ValueError, OverflowError) as problem:
            return type(problem)


def difference(got, want):
    """What is different, or None."""
    if isinstance(want, type) or isinstance(got, type):
        return None if got is want or (isinstance(want, type) and isinstance(got, type)
                                       and issubclass(want, got)) else (got, want)  # fmt: skip
    for g, w in zip(got, want):
        g, w = np.asarray(g), np.asarray(w)
        if g.dtype != w.dtype or g.shape != w.shape:
            return g.dtype, w.dtype, g.shape, w.shape
        close = CLOSE.get(w.dtype.name)
        with np.errstate(all="ignore"):
            same = g == w if close is None else np.isclose(g, w, close, 1e-300, equal_nan=True)
            same = same | (g == w)
        if w.dtype.kind == "f":
            same &= (w != 0) | (np.signbit(g) == np.signbit(w))
        if not same.all():
            return g[~same], w[~same]
    return None


def probes():
    for name in UNARY:
        for d in DTYPES:
            yield name, (sample(d),), {}
    for name in BINARY:
        for a, b in PAIRS:
            yield name, (sample(a), sample(b, 3)), {}
            yield name, (sample(b, 3), sample(a)), {}
    for name in REDUCTIONS:
        for d in DTYPES:
            x = sample(d)
            yield name, (x,), {}
            yield name, (np.stack([x, x[::-1]]),), {"axis": 0}


def expressions(np):
    """Programs in NumPy's names."""
    x, i, f, b = (np.asarray(sample(d)) for d in ("float64", "int8", "float32", "bool"))
    yield from (x[:4] + i[:4], f[:5] * 2.5, i + 100, i * np.asarray(np.int16(3)), f + np.float64(1),
                b + b, b * 2, -b.astype("int8"), i / i, i // 0, i % 0, x // 0, x % 0, x**2, i**2,
                f**0.5, x**-1, np.where(b, i, 2.5), np.where(b, f[:10], 1), i.sum(), b.sum(),
                f.mean(), i.mean(), np.concatenate([i, b]), np.stack([f[:10], i]), np.clip(i, 0, 5),
                np.clip(f, 0.1, 1), np.linspace(0, 1, 5) * np.asarray(np.float32(1)), i << 1,
                i >> 9,
                i & 3, ~b, ~i, abs(i), divmod(x[:10], 3)[1], x.max(), np.minimum(x, 1),
                np.sort(x[3:]), np.argmax(x), np.cumsum(i), np.cumsum(b), i.prod(), x.round(1),
                np.round(f), i.astype("float16") / 3, x.astype("float32").sum(),
                np.dot(i, i), np.dot(f[:10], i), np.outer(b, i)[3], x[::-1], x[3:] * i,
                np.maximum.accumulate(x[:10]) if hasattr(np.maximum, "nin") else x)  # fmt: skip


def test_functions_by_dtypes():
    different, count, rows = [], 0, 0
    for name, args, options in probes():
        count += 1
        want = answer(getattr(np, name), args, options)
        given = [cnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        got = answer(getattr(cnp, name), given, options)
        rows += not isinstance(got, type) and all(g.held is None for g in got)
        found = difference(got, want)
        if found is not None:
            different.append((name, [getattr(a, "dtype", a) for a in args], options, *found))
    assert count > 1_900 and rows > 1_200
    assert not different, f"{len(different)} of {count}: " + "\n".join(map(str, different))


def test_expressions():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (got, want) in enumerate(zip(expressions(cnp), expressions(np), strict=True)):
            assert difference((got,), (want,)) is None, (k, difference((got,), (want,)))
