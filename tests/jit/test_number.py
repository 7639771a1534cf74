"""Numbers of Python's made from what is traced, and what follows from them: types, values, bits
and errors are Python's; what only a value will do for runs in NumPy."""

import itertools
import math

import numpy as np
import pytest

import ckernels as ck

from .beside import check, same

V = np.random.default_rng(1).normal(size=12)
W = np.abs(V) + 0.5


def numbers(x):
    return float(x.sum()), int(x[0] * 7), bool(x.any()), x[1].item(), x.max().item(), x.item(3)


def weak(x):
    return x * float(x[0]), x + int(x[1]), x.astype("float32") * x[2].item(), float(x[0]) ** 0.5


def types(x):
    a = x[0]
    for _ in range(3):
        a = a * 2
    return type(a), type(x), type(float(a)), type(a) is float, isinstance(float(a), float)


def of_math(x):
    s = 0.0
    for i in range(len(x)):
        if math.log(x[i]) > 0 or math.floor(x[i]) == 0:
            s += math.sqrt(x[i]) + math.log2(x[i]) - math.ceil(x[i])
    return s, math.log10(x[0]), round(float(x[1])), abs(float(x[2])), divmod(float(x[3]), 0.3)


def extremes(x):
    found = [float(v) for v in x]
    return max(found), min(found), max(x[0], x[1]), min(float(x[0]), 0.25)


def scalars(x):
    h = np.uint32(7)
    for v in x:
        h = np.uint32(h ^ np.uint8(v))
        h = np.uint32((np.uint64(h) * np.uint64(16777619)) & np.uint64(0xFFFFFFFF))
    return h, np.float32(x[0]), np.float64(x), np.int16(x[1])


def knapsack(w, v, most):
    best = np.zeros(most + 1, dtype=np.int64)
    for i in range(len(w)):
        taken = best[: most + 1 - w[i]] + v[i]
        best[w[i] :] = np.maximum(best[w[i] :], taken)
    return best[-1], best


def adaptive(y, tol):
    t, h, steps = 0.0, 0.1, 0
    while t < 1.0:
        h = min(h, 1.0 - t)
        one, half = y - h * y, y - h / 2 * y
        two = half - h / 2 * half
        if abs(two - one) < tol:
            t, y, h = t + h, two, h * 1.5
        else:
            h *= 0.5
        steps += 1
        if steps > 1000:
            break
    return y, steps


def left_of_scalars(x):
    """np.float64 is a float: what a complex number on its left computes is Python's, weak."""
    z = 1j - x[0]
    found = 1j + x[1], 2j * x[2], 1j / x[0], z, -z, z.real, z.imag, abs(z), z.conjugate()
    return *found, z * x.real.astype("float32"), x[0] * 1j, z * x[1], z - z, z / x[0]


def of_complex(x, c, n, a):
    with_others = c - x[0], c * n, c / a, c + a, a - c, n - c, x[0] - c, c * c, c - np.float64(2)
    return *with_others, abs(c), -c, c.real, c.conjugate(), c * x, (x * c)[0].item(), c**2, c == n


def waves(x):
    total, n = 0j, len(x)
    for k in range(n):
        total += 1j * x[k] - np.exp(-2j * np.pi * k / n)
    return total


@pytest.mark.parametrize("function, args", [
    (left_of_scalars, (W,)), (left_of_scalars, (W.astype("float32"),)),
    (left_of_scalars, (W * 1j,)), (of_complex, (W, 2 - 3j, 4, 0.5)), (waves, (V,)),
    (numbers, (V,)), (numbers, (V * 1e3,)), (weak, (W,)), (weak, (np.tile(W, 9),)), (types, (V,)),
    (types, (V.astype("float32"),)), (of_math, (W,)), (of_math, (np.tile(W, 9),)),
    (extremes, (V,)), (scalars, (np.arange(60, dtype=np.uint8),)),
    (knapsack, (np.array([3, 5, 2, 7]), np.array([4, 6, 3, 9]), 20)),
    (adaptive, (1.0, 1e-6)), (adaptive, (2.0, 1e-4))])  # fmt: skip
def test_numbers_stay_in_the_trace(function, args):
    check(function, *args)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float16", "float32"])
def test_numbers_of_each_dtype(dtype):
    def four(x):
        return float(x[2]), int(x[2]), bool(x[1]), x[0].item()

    check(four, np.array([1, 0, 3, 1] * 5).astype(dtype))
    check(four, np.array([1, 0, 3, 1] * 5) > 0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_ints_of_what_is_none(value):
    def whole(x):
        return int(x[0])

    jitted = ck.jit(whole)
    same(3, jitted(np.full(12, 3.7)))
    for function in (whole, jitted):
        if value == 1e300:
            assert function(np.full(12, value)) == int(value)
            continue
        with pytest.raises((ValueError, OverflowError)):
            function(np.full(12, value))


def test_math_raises_what_python_raises():
    def log(x):
        return math.log(x[0])

    def root(x):
        return math.sqrt(float(x[0]))

    def inverse(x):
        return 1 / float(x[0] + 1)

    for function in (log, root, inverse):
        jitted = ck.jit(function)
        same(function(np.ones(12)), jitted(np.ones(12)))
        for each in (function, jitted):
            with pytest.raises((ValueError, ZeroDivisionError)):
                each(-np.ones(12))


def common_factors(n, low, high):
    """Of each i and j the greatest common divisor: neither loop unrolls."""
    out = np.zeros((n, 10), dtype=np.int64)
    for i in range(n):
        for j in range(10):
            a, b = low * (i + 1), high + j
            while b:
                a, b = b, a % b
            out[i, j] = a
    return out


def shares(n, low, k):
    """Quotients and remainders by what goes through 0, or up to it."""
    total = rest = 0
    for i in range(n):
        total += (100 - 7 * i) // (low + i)
        rest += (i * i - 50) % (low + i) + (i - 9) // -3 + (i - 9) % -4 + i % k
    return total, rest


def test_ints_divided_by_what_a_loop_computes():
    """Floors and signs are Python's, and so is the error of the turn that divides by 0."""
    for arguments in ((12, 1, 1), (12, -1, 3), (30, 4, -25), (3, 0, 0)):
        assert "scan of" in check(common_factors, *arguments).explain()
    jitted = ck.jit(shares)
    for arguments in ((20, 1, 3), (20, -40, 5), (11, 3, -7), (0, 0, 1)):
        same(shares(*arguments), jitted(*arguments))
    for arguments in ((20, -5, 3), (20, 0, 3), (20, 1, 0), (20, -19, 2)):
        for each in (shares, jitted):
            with pytest.raises(ZeroDivisionError):
                each(*arguments)


def shadowed(x):
    float = np.square  # noqa: A001
    return float(x)


def shapes(x):
    return np.zeros(int(x[0])) + 1


def text(x):
    return str(float(x[0]))


def formatted(x, a):
    return f"{a:.2f} {x[0]:.3f} {x[1].item()}", str(a * 2), f"{x.dtype}"


def test_complex_numbers_that_python_refuses():
    quotient = ck.jit(lambda x: 1j / x[0])
    assert quotient(np.ones(2)) == 1j
    with pytest.raises(ZeroDivisionError):
        quotient(np.zeros(2))
    size = ck.jit(lambda x: abs((1e308 + 1e308j) * x[0].item()))
    assert size(np.ones(1)) == abs(1e308 + 1e308j)
    with pytest.raises(OverflowError):
        size(np.full(1, 1.5))


def test_near_misses():
    check(shadowed, V)
    check(shapes, np.full(12, 3.0))
    check(text, V, traced=False)
    check(formatted, V, 0.5, traced=None)
    check(lambda x: (1j ** x[0], (1j + x[0]) ** 2), W, traced=None)


def test_without_a_turn_a_number_stays_one():
    """1 that turns would make a float64 is 1 where there is none: its type decides others."""

    def added(n, x):
        s = 1
        for i in range(n):
            s += x[i]
        return s // 2

    def doubled(n, x):
        s = 1
        for _ in range(n):
            s = s * 2.0
        return s

    x = np.arange(20.0)
    for function in (added, doubled):
        jitted = ck.jit(function)
        for n in (0, 3, 0, 12, 1):
            same(function(n, x), jitted(n, x))


@pytest.mark.parametrize("function", [math.exp, math.expm1])
def test_powers_that_python_refuses_are_refused(function):
    """At the ends of what float64 holds to the last bit; in loops too, where one in a turn does."""
    largest = 709.782712893384
    jitted = ck.jit(lambda x: function(x))

    def loop(x):
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + function(x[i])
        return s

    looped = ck.jit(loop)
    for x in (largest, 700.5, -745.2, -800.0, -math.inf, math.inf, 0.0, -0.0, 1e-300):
        np.testing.assert_allclose(jitted(x), function(x), rtol=5e-16)
        given = np.full(20, x)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(looped(given), loop(given), rtol=1e-14)
    assert math.isnan(jitted(math.nan))
    for x in (np.nextafter(largest, 1e9), 710.0, 1e300):
        given = np.zeros(20)
        given[13] = x
        for call, arg in ((jitted, float(x)), (looped, given)):
            with pytest.raises(OverflowError):
                call(arg)


def powers(v):
    score = 0
    for i in range(len(v)):
        if v[i] >= 0:
            score += 2 ** int(v[i]) + 3 ** int(v[i])
    return score, 2 ** int(v[0]), 10 ** int(v[1])


def test_powers_of_known_ints_are_ints_of_64_bits():
    for v in ([5, 3], [0, 0], [1, 18, -7, 30], [62, 1, -3]):
        if max(v) < 39:
            check(powers, np.array(v))
        jitted = ck.jit(powers)
        for _ in range(2):
            assert jitted(np.array(v)) == powers(np.array(v))
    for v in ([-5, 3], [63, 3], [2, 19], [2, -1]):  # floats, or more than 64 bits
        for _ in range(2):
            got = jitted(np.array(v))
            assert got == powers(np.array(v))
            assert [type(x) for x in got] == [type(x) for x in powers(np.array(v))]
    assert jitted.report()["numpy"]
    lengths = ck.jit(lambda x: x * 2.0 ** len(x) + 2 ** len(x))
    for n in (3, 20, 62, 64):
        np.testing.assert_array_equal(lengths(np.ones(n)), np.full(n, 2.0**n + 2**n))


def same_padding(x, stride, width=3):
    """As convolutions by hand have it: of numbers that were given, and of sizes."""
    n = x.shape[0]
    before = int((stride * (n - 1) + width - n) / 2)
    if any(np.array([before, before]) < 0):
        raise ValueError(f"less than 0: {before}")
    return np.pad(x, ((before, before), (0, 1)))


def of_data(x, stride):
    return np.zeros(int(x[0] * stride))


def test_numbers_that_arguments_and_sizes_make_are_part_of_a_trace():
    f = ck.jit(same_padding)
    for n, stride in ((12, 1), (12, 2), (12, 2), (20, 3)):
        x = np.random.default_rng(n).normal(size=(n, 2))
        same(same_padding(x, stride), f(x, stride))
    assert not f.report()["numpy"] and f.report()["traces"] == 3
    check(of_data, np.full(3, 2.0), 4, traced=None)


NEAR_LIMITS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e308, -1e308, 1e-300, 710.3, 711.0, 171.7,
               math.inf, -math.inf, math.nan)  # fmt: skip
ONE_BY_ONE = [math.erfc, math.sinh, math.cosh, math.asinh, math.acosh, math.atanh, math.gamma,
              math.degrees, math.radians, math.trunc, math.isnan, math.isinf, math.isfinite,
              *(getattr(math, n) for n in ("cbrt", "exp2") if hasattr(math, n))]  # fmt: skip
TWO_BY_TWO = [math.atan2, math.hypot, math.copysign, math.fmod, math.pow, math.log]


@pytest.mark.parametrize("function", [*ONE_BY_ONE, *TWO_BY_TWO], ids=lambda f: f.__name__)
def test_functions_of_math_at_their_limits(function):
    count = 1 + (function in TWO_BY_TWO)
    plain = (lambda x: function(x[0])) if count == 1 else (lambda x: function(x[0], x[1]))
    f = ck.jit(plain)
    for values in itertools.product(NEAR_LIMITS, repeat=count):
        x = np.array(values)
        try:
            want = plain(x)
        except (ValueError, OverflowError, ZeroDivisionError) as problem:
            with pytest.raises(type(problem)):
                f(x)
            continue
        got = f(x)
        assert type(got) is type(want)
        assert math.isnan(want) and math.isnan(got) or got == pytest.approx(want, rel=1e-14, abs=0)
        assert want != 0 or math.copysign(1, got) == math.copysign(1, want)
    assert not f.report()["numpy"].keys() - {
        "a number or an index for which the trace of a call does not hold"
    }
