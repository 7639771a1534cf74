"""Values that are Python's numbers or NumPy's scalars as data decide: types, values and dtypes of
results are NumPy's in both cases, and what would have another dtype is refused."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.config import config

from .beside import check, flat, same, written

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
    check(another_dtype, x)  # float32 beside a Python number, float64 beside x[i]
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("x", [[5.0, 5.0, 5.0], [5.0, -3.0, 5.0], [0.5, 5.0, 0.25]])
def test_python_computes_in_64_bits_beside_narrower_scalars(dtype, x):
    jitted, x = ck.jit(in_64_bits), np.array(x * 20, dtype)
    for size in (1, 2, 3, 58, 59, 60):
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


MADE = {
    "of two": "t = max({k}, b[0])",
    "chosen": "t = {k} if b[0] > 1 else b[1]",
    "either": "t = b[1] and {k}",
    "in turns": "t = {k}\n    for i in range(len(b)):\n        t = max(t, b[i])",
    "a side of turns": "t = {k}\n    for i in range(len(b)):\n        t = b[i] if b[i] > 2 else t",
}
LISTED = """g = []
    t = {k}
    for i in range(len(b)):
        t = max(t, b[i])
        if b[i] > 0:
            g.append(t)"""
USES = """np.asarray(t)|np.array([t])|np.array([t, 1])|np.array([t, b[0]])|np.array([[t], [t]])
np.stack([t, t])|np.full(3, t)|np.where(a > 0, t, 1)|np.where(a > 0, t, a)|np.clip(t, 0, 2)
np.clip(a, 0, t)|np.sum([t, t])|sum([t, t])|np.append(a, t)|np.repeat(t, 2)|np.ones_like(t)
np.linspace(0, t, 3)|np.arange(t)|np.arange(t, 2)|np.r_[t, 1]|np.hstack([t, t])|np.sort([t, 1])
np.abs(t)|np.negative(t)|np.add(t, 1)|np.square(t)|np.power(t, 2)|np.round(t)|np.nan_to_num(t)
abs(t)|-t|t + 1|t * 2.5|t / 2|t // 2|t % 2|divmod(t, 2)|t ** 2|t + 1j|t * np.float32(2)|t * a
isinstance(t, int)|isinstance(t, float)|type(t)|np.result_type(t)|a.astype(type(t))|np.real(t)
np.meshgrid([t, t], a)[0]|np.atleast_1d(t, a)[0]|np.add.reduce([t, t])|np.where(t, 1, 2)
np.select([a > 1], [t], 0)|np.outer([t], [t])|np.max([t, 1])|np.cumsum([t, t])|sorted([t, 2, 1])
np.float64(t)|int(t)|bool(t)|a.fill(t) or a|np.copyto(a, t) or a|np.full_like(a, t)|t.imag"""
LISTS = """g|np.asarray(g)|np.array(g) + 1|sum(g)|np.sum(g)|sorted(g)|np.mean(g)|np.stack(g)|g + [1]
np.concatenate([g, g])|[x + 1 for x in g]|np.diff(g)|np.unique(g)|np.array([*g])|max(g)"""


def split(text):
    return text.replace("\n", "|").split("|")


def results(function, *args):
    """What a function returns and leaves in its arguments, or the class of what it raises."""
    try:
        return function(*args), args
    except Exception as problem:
        return type(problem)


@pytest.mark.sampled(1, made=[*MADE][::2] + ["listed"])
@pytest.mark.parametrize("dtype, k", [("float64", 3), ("float32", 3), ("int32", 2), ("int64", 2.5)])
@pytest.mark.parametrize("made", [*MADE, "listed"])
def test_dtypes_of_what_is_a_number_or_a_scalar(made, dtype, k, tmp_path):
    start, uses = (LISTED, LISTS) if made == "listed" else (MADE[made], USES)
    for n, use in enumerate(split(uses)):
        for given in False, True:
            text = f"""import numpy as np
def f(a, b{", k" if given else ""}):
    {start.format(k="k" if given else k)}
    return {use}
"""
            function = written(text, f"f{n}{given}", tmp_path)
            jitted = ck.jit(function)
            for data in [-1, -2, 0, 0.5], [5, 0, 7, 1], [0.5, 2, 4, 4.5]:
                arrays = np.array([1, 2, 3], dtype), np.array(data * 3).astype(dtype)
                args = [(*map(np.copy, arrays), *[k] * given) for _ in range(2)]
                with warnings.catch_warnings(), config.change(mode="reference"):
                    warnings.simplefilter("ignore")
                    want, got = results(function, *args[0]), results(jitted, *args[1])
                if isinstance(want, type):
                    assert got is want, (text, data)
                    continue
                for one, other in zip(flat(list(want)), flat(list(got)), strict=True):
                    same(one, other)


def test_lists_of_pythons_numbers_give_no_objects():
    def f(x, k):
        return np.outer([k], [k + 1.5]), np.kron([k], x), np.pad([k * 2.5], 1), np.unique([k, k])

    for k in (3, 2.5, 3):
        check(f, np.ones(2), k, traced=None)
