"""Values that are Python's numbers or NumPy's scalars as data decide: types, values and dtypes of
results are NumPy's in both cases, and what would have another dtype is refused."""

import numpy as np
import pytest

import ckernels as ck

from .beside import check, same

UP = np.arange(1.0, 61.0)
NONE = -UP


def best(x):
    best, at = 0.0, -1
    for i in range(len(x)):
        if x[i] > best:
            best, at = x[i], i
    return best, at


def counted(x):
    total = 0
    for i in range(len(x)):
        if x[i] > 30:
            total += x[i]
    return total, total + 1, total > 5, -total, abs(total), total * 2 - 1


def divided(x):
    total = 1.0
    for i in range(len(x)):
        if x[i] > 30:
            total = x[i]
    return total / 4, total**2, total // 3.0, total % 0.75, 1 / total


def into_arrays(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 30:
            total = x[i]
    x[0] = total
    return x * total, total + np.arange(3), np.sqrt(np.abs(total * x))


def into_functions(x):
    most = 0.5
    for i in range(len(x)):
        if x[i] > 30:
            most = x[i]
    return np.log10(most), np.sqrt(max(most, 1.0)), np.isfinite(most), np.hypot(most, 2)


def back_again(x):
    last = x[0]
    for i in range(len(x)):
        if x[i] > 30:
            last = 0.0
        if x[i] > 50:
            last = x[i]
    return last


@pytest.mark.parametrize(
    "function", [best, counted, divided, into_arrays, into_functions, back_again]
)
@pytest.mark.parametrize("x", [UP, NONE, UP.astype("int64"), UP[:40], np.zeros(50)])
def test_either_kind(function, x):
    check(function, x, traced=None if x.dtype == "int64" else True)


def test_one_trace_gives_both_types():
    jitted = ck.jit(best)
    assert type(jitted(UP)[0]) is np.float64 and type(jitted(NONE)[0]) is float
    assert jitted.report() == {
        "traces": 1,
        "numpy": {},
        "pinned": ["all sizes"],
        "sized": [],
        "kernels": [],
    }


@pytest.mark.parametrize("x", [UP, NONE])
def test_minus_zero_of_an_int(x):
    jitted = ck.jit(counted)
    same(counted(x), jitted(x))
    assert str(jitted(NONE)[3]) == "0" and str(jitted(np.full(50, 0.0))[3]) == "0"


def another_dtype(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 30:
            total = x[i]
    return total * np.ones(3, np.float32)


@pytest.mark.parametrize("x", [UP, NONE])
def test_a_dtype_that_data_decide_is_numpys(x):
    check(another_dtype, x, traced=False)  # float32 beside a Python number, float64 beside x[i]
    check(another_dtype, x.astype("float32"))


def zero_divides(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 30:
            total = x[i]
    return 1 / total


def test_python_divides_by_zero_as_python():
    jitted = ck.jit(zero_divides)
    same(zero_divides(UP), jitted(UP))
    with pytest.raises(ZeroDivisionError):
        jitted(NONE)


def in_64_bits(x):
    total = 1.0
    for i in range(len(x)):
        total = min(abs(total) - 0.1, x[i])
    return total


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("x", [[5.0, 5.0, 5.0], [5.0, -3.0, 5.0], [0.5, 5.0, 0.25]])
def test_python_computes_in_64_bits_beside_narrower_scalars(dtype, x):
    jitted, x = ck.jit(in_64_bits), np.array(x * 20, dtype)
    for size in (2, 3, 58, 59, 60):
        want, got = in_64_bits(x[:size]), jitted(x[:size])
        assert type(want) is type(got) and want == got


def sums_of_truths(x):
    total, last = 0, 1 > 2
    for i in range(len(x)):
        hit = not x[i] > 30 if x[i] > 10 else x[i] > 5
        total = total + (hit + hit)
        last = hit if x[i] > 2 else last
    return total, last


def truths_of_both(x):
    count = 0
    for i in range(len(x)):
        hit = not x[i] > 30 if x[i] > 10 else x[i] > 5
        count += hit
        if hit & (x[i] > 7):
            count += 10
    return count


def test_truths_of_python_and_of_numpy():
    x = np.array([1.0, 8.0, 6.0, 20.0, 40.0, 3.0] * 5)
    check(truths_of_both, x)
    for size in (0, 1, 2, 30):  # True + True is 2, np.True_ + np.True_ is np.True_
        check(sums_of_truths, x[:size], traced=None)
