"""Loops and branches of NumPy programs as scans beside NumPy: what is carried, what a turn may not
do, and the traps of names, views, numbers and ends of loops."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning

from .beside import check

R = np.random.default_rng(3)
V, W, A = R.normal(size=40), R.random(40), R.normal(size=(30, 20))
S = R.random((24, 24)) + 24 * np.eye(24)


def scans(function, *args):
    """The steps of the compiled function: how many of them are scans."""
    jitted = check(function, *args)
    plan = next(iter(jitted.plans.values()))
    steps = next(iter(plan.leaves.values())).compiled.steps()
    return sum("scan" in s for s in steps)  # those inside of others included


# ---- slices whose ends are elements --------------------------------------------------------------


def rows_of_sparse(starts, x):
    y = np.empty(len(starts) - 1)
    for i in range(len(starts) - 1):
        y[i] = x[starts[i] : starts[i + 1]].sum()
    return y


def rows_by_ints(starts, x):
    y = np.empty(len(starts) - 1)
    for i in range(len(starts) - 1):
        y[i] = x[int(starts[i]) : int(starts[i + 1]) + 1].sum()
    return y


def ends_of_one_side(starts, x):
    y = np.empty(len(starts))
    for i in range(len(starts)):
        y[i] = x[starts[i] :].sum() + x[i : len(x) - i].sum()
    return y


def test_slices_between_elements_are_numpys():
    starts = np.arange(0, 400, 2)  # each turn would go through all of x
    for function in (rows_of_sparse, rows_by_ints):
        jitted = check(function, starts, R.normal(size=400), traced=False)
        assert any("two elements" in why for why in jitted.report()["numpy"])
    check(ends_of_one_side, starts, R.normal(size=400))


# ---- what calls a trace is for -------------------------------------------------------------------


def test_what_a_turn_takes_for_granted_of_arguments_is_asked_of_each_call():
    def counted(x, n, m):
        for _ in range(n):
            for j in range(0, 20, m):
                x[j] += 1
        return x

    jitted = check(counted, np.zeros(20), 9, 1)
    with pytest.raises(ValueError, match="zero"):
        jitted(np.zeros(20), 9, 0)
    assert np.array_equal(jitted(np.zeros(20), 9, 3), counted(np.zeros(20), 9, 3))


# ---- loops in functions inside -------------------------------------------------------------------


def averages(x, fast, slow):
    def smoothed(x, span):
        """Exponential."""
        out = np.empty_like(x)
        if len(x) == 0:
            return out
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = out[i - 1] + (x[i] - out[i - 1]) * 2 / (span + 1)
        return out

    def crossings(line, seen=0):
        for k in range(1, len(line)):
            if (line[k] > 0) != (line[k - 1] > 0):
                seen += 1
        return seen

    line = smoothed(x, fast) - smoothed(x, slow)
    return line, crossings(line)


def test_loops_of_functions_inside_are_scans():
    assert scans(averages, R.normal(size=500), 12, 26) >= 2
    source = ck.jit(averages).source("python")
    assert source.count("_ck_for(") == 2


# ---- loops that are scans ------------------------------------------------------------------------


def counted(steps, x):
    total, calls = 0.0, 0

    def add(y):
        nonlocal total
        total = total + y.sum()
        return total

    def twice(y):
        nonlocal calls
        calls += 1
        return add(y) + add(2 * y)

    for k in range(steps):
        x = x * 0.5 + twice(x) / (k + 4)
    return x, total, calls


def counted_on_a_side(steps, x):
    most = 0.0

    def larger(y):
        nonlocal most
        most = y
        return y * 2

    for k in range(steps):
        if x[k] > most:
            x[k] = larger(x[k])
    return x, most


@pytest.mark.parametrize("function", [counted, counted_on_a_side])
def test_names_that_called_functions_store_to_are_carried(function):
    assert scans(function, 30, V.copy()) == 1
    jitted = ck.jit(function)
    for steps in (20, 0, 12):
        for got, want in zip(jitted(steps, V.copy()), function(steps, V.copy())):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def jacobi(steps, a, b):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def by_rows(table):
    total = np.zeros(table.shape[1])
    for row in table:
        total += np.abs(row)
    return total


def backwards(x):
    y = np.zeros_like(x)
    for i in range(len(x) - 2, -1, -1):
        y[i] = 0.5 * y[i + 1] + x[i]
    return y


def by_twos(x):
    for i in range(1, len(x), 2):
        x[i] = x[i - 1] - i
    return i


def helper(out, x, i):
    out[i] += x[i] * 2


def through_helpers(x):
    out = np.ones_like(x)
    for i in range(len(x)):
        helper(out, x, i)
    return out


def nested(a):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = 0.5 * (a[i, j - 1] + a[i, j])
    return a


def triangle(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


def truncated_backwards(a):
    """Numbers of np.arange are NumPy's, of its dtype, forwards and backwards."""
    out = np.zeros((len(a), a.shape[1]))
    for t in reversed(range(len(a))):
        for k in reversed(np.arange(max(0, t - 3), t + 1)):
            out[t] = out[t] * 0.5 + k * a[k]
        for k in np.arange(t, dtype="int8"):
            out[t] += k * k
        for k in reversed(range(t, 1, -1)):
            out[t] = out[t] * 0.9 - a[k]
    return out


def windows(x):
    out = np.zeros(len(x) - 4)
    for i in range(len(out)):
        out[i] = np.sum(x[i : i + 5] * np.arange(5))
    return out


@pytest.mark.parametrize("function, args, count", [
    (jacobi, (60, V, W), 1), (by_rows, (np.vstack([A] * 10),), 1), (backwards, (np.tile(V, 9),), 1),
    (by_twos, (np.tile(V, 12),), 1), (through_helpers, (np.tile(V, 6),), 1),
    (nested, (np.tile(A, (4, 20)),), 2),
    (triangle, (S,), 3), (truncated_backwards, (S,), 4),
    (windows, (np.tile(V, 6),), 1)])  # fmt: skip
def test_loops_become_scans(function, args, count):
    assert scans(function, *args) == count


def jacobi_of_images(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[2:, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, 2:] + b[:-2, 1:-1])


def test_images_of_any_size_share_a_trace():
    jitted = ck.jit(jacobi_of_images)
    for n in (150, 152, 12):
        images = R.random((n, n)), R.random((n, n))
        mine, theirs = [x.copy() for x in images], [x.copy() for x in images]
        jitted(n, *mine), jacobi_of_images(n, *theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert jitted.report() == {"traces": 1, "numpy": {}, "pinned": [], "sized": [], "kernels": []}
    compiled = next(iter(next(iter(jitted.plans.values())).leaves.values())).compiled
    assert not any("this size only" in line for line in compiled.assumptions())


def test_a_new_number_of_turns_is_no_new_trace():
    jitted = ck.jit(jacobi)
    for steps in (5, 60, 1, 0, -3, 7):
        mine, theirs = [V.copy(), W.copy()], [V.copy(), W.copy()]
        jitted(steps, *mine), jacobi(steps, *theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert jitted.report() == {"traces": 1, "numpy": {}, "pinned": [], "sized": [], "kernels": []}


# ---- while and if --------------------------------------------------------------------------------


def until_small(x):
    count, error = 0, 1.0
    while error > 1e-3:
        x *= 0.9
        error = np.abs(x).max()
        count += 1
    return count, error


def collatz(x, n):
    k = n
    for i in range(300):
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        x[i % 40] += k
    return x


def signs(x):
    n = 0
    for i in range(len(x)):
        if x[i] > 0 and i > 3 or not x[i] < 1:
            x[i] = np.sqrt(x[i])
            n += 1
        elif -1 < x[i] < 0:
            x[i] = -x[i]
    return n


def sign(x):
    if x > 0:
        return 1
    if x < -1:
        return -1
    return 0


def values_of_helpers(x):
    total = 0
    for i in range(len(x)):
        total += sign(x[i])
    return total


def chosen(x):
    best = x[0]
    for i in range(len(x)):
        best = max(best, x[i]) if i % 3 else best
    return best, min(x[0], x[1])


def behind_the_end(x):
    y = np.zeros_like(x)
    n = len(x)
    for i in range(n):
        if i + 1 < n:
            y[i] += x[i + 1]
        if i - 5 >= 0:
            y[i] -= x[i - 5]
    return y


@pytest.mark.parametrize("function, args", [
    (until_small, (V,)), (collatz, (V, 27)), (signs, (np.tile(V, 9),)),
    (values_of_helpers, (np.tile(V, 9),)), (chosen, (np.tile(V, 9),)),
    (behind_the_end, (np.tile(V, 9),))])  # fmt: skip
def test_branches_that_a_turn_decides(function, args):
    assert scans(function, *args) == 1


# ---- the traps -----------------------------------------------------------------------------------


def same_array_twice(a, b):
    for i in range(1, 500):
        a[i % 30] = b[(i - 1) % 30] + 1


def test_one_array_given_twice():
    """Trap 1: what is stored into one argument is seen through the other."""
    mine, theirs = V.copy(), V.copy()
    jitted = ck.jit(same_array_twice)
    jitted(V.copy(), W.copy())
    jitted(mine, mine), same_array_twice(theirs, theirs)
    np.testing.assert_array_equal(mine, theirs)
    mine, theirs = V.copy(), V.copy()
    jitted(mine[1:], mine[:-1]), same_array_twice(theirs[1:], theirs[:-1])
    np.testing.assert_array_equal(mine, theirs)


def returned(x):
    for i in range(500):
        x[i % 40] += i
    return x


def test_an_argument_that_is_returned_is_the_callers_object():
    """Trap 2."""
    x = V.copy()
    assert ck.jit(returned)(x) is x


def old_view(x):
    first = x.reshape(-1)
    copied = x.copy()
    for i in range(500):
        x[i % 40] = first[(i + 1) % 40] * 0.5 + copied[i % 40]
    return first.sum(), copied


def view_of_a_turn(a):
    last = a[0]
    for i in range(1, a.shape[0] * 20):
        last = a[i % 30]
        a[i % 30] = last * 0.5 + 1
    return last.sum()


def previous_view(a):
    last = a[0]
    for i in range(1, 600):
        a[(i - 1) % 30] += 1
        a[i % 30] = last * 0.5
        last = a[i % 30]
    return a


def test_views_taken_before_a_store_see_it():
    """Trap 3: a view sees later stores, a copy does not."""
    check(old_view, V)
    check(view_of_a_turn, A)
    check(previous_view, A, traced=None)


def first_in_the_loop(x, n):
    for i in range(n):
        y = x * i
        z = y.sum()
    return i, y, z


def variable_after(x):
    for i in range(3, 900, 4):
        x[i % 40] += 1
    for j in range(2):
        x[j] = 0
    return i, j, type(i) is int


def of_another_kind_first(x):
    best, place, kind = None, -1, 0
    for i in range(400):
        kind = kind + x[i % 40]
        if i == 0 or best < x[i % 40]:
            best, place = x[i % 40], i
    return best, place, kind


def no_turn(x):
    y, count = x + 1, 0
    for i in range(len(x) - 40):
        y, count = x * i, count + 1
    return y, count


def test_names_first_bound_in_a_loop_and_after_it():
    """Trap 4; a name without a value is NumPy's error."""
    check(first_in_the_loop, V, 400)
    check(variable_after, V)
    check(of_another_kind_first, V, traced=None)
    check(no_turn, V)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for f in (first_in_the_loop, ck.jit(first_in_the_loop)):
            with pytest.raises(UnboundLocalError):
                f(V, 0)


def wraps(n):
    k = 1
    for _ in range(n):
        k = (k * 3) & 0xFFFF
    return k


def test_python_ints_of_a_loop():
    """Traps 5 and 6: ends of ranges are arguments; ints are Python's after the loop."""
    jitted = check(wraps, 1000)
    assert type(jitted(77)) is int and jitted(77) == wraps(77)
    assert jitted.report()["traces"] == 1


def from_the_end(x):
    y = np.zeros(500)
    for i in range(500):
        y[i] = x[-(i % 40) - 1]
    return y


def eight_numbers(x):
    y = np.zeros_like(x)
    for i in range(8):
        y[i] = 0.5 * x[i] + y[i - 1]
    return y


def nine_numbers(x):
    y = np.zeros_like(x)
    for i in range(9):
        y[i] = 0.5 * x[i] + y[i - 1]
    return y


def nine_arrays(x):
    y = np.zeros_like(x)
    for i in range(9):
        y = y * x + x[i]
    return y


def four_places(x):
    y = np.zeros((4, len(x)))
    for i in range(4):
        y[i] = x * x[i]
    return y


def five_places(x):
    y = np.zeros((5, len(x)))
    for i in range(5):
        y[i] = x * x[i]
    return y


def five_columns(x):
    y = np.zeros((len(x), 5))
    for i in range(5):
        y[:, i] = (x - x[i]) ** 2 + y[:, i - 1]
    return y


def five_lengths(x):
    y = np.zeros_like(x[:5])
    for i in range(5):
        y[i] = (x[i + 1 :] - x[: -i - 1]).mean()
    return y


def test_loops_over_numbers_are_scans_though_their_turns_are_few():
    """Where a turn makes an array that it stores nowhere, or there are hardly any turns, they are
    taken one by one."""
    found = {eight_numbers: 0, nine_numbers: 1, nine_arrays: 0, four_places: 0, five_places: 1,
             five_columns: 1, five_lengths: 0}  # fmt: skip
    for function, count in found.items():
        assert scans(function, V) == count
        check(function, V[::2].astype("float32"))


def test_negative_indices_of_a_turn_count_from_the_end():
    """Trap 7."""
    check(from_the_end, V)


def test_an_index_out_of_range_is_numpys_error():
    def beyond(x):
        for i in range(500):
            x[i % 41] = i

    mine, theirs = V.copy(), V.copy()
    for f, x in ((ck.jit(beyond), mine), (beyond, theirs)):
        with pytest.raises(IndexError):
            f(x)
    np.testing.assert_array_equal(mine, theirs)


def asks_in_a_turn(x):
    total = 0.0
    for i in range(500):
        total += float(str(x[i % 40]))
    return total


def makes_arrays_of_turns(x):
    total = 0.0
    for i in range(1, 30):
        total += np.ones(i).sum() * x[i]
    return total


def test_what_a_turn_asks_in_python():
    """Trap 8: a loop that asks for numbers runs as NumPy; one of few turns goes turn by turn."""
    check(asks_in_a_turn, V, traced=False)
    check(makes_arrays_of_turns, V)


def keeps_cells(x):
    scale = 2.0

    def scaled(y):
        return y * scale

    for i in range(400):
        x[i % 40] = scaled(x[i % 40])
        scale = 0.5 if i % 2 else 2.0
    return x


def with_defaults(x, k=3, *, m=2):
    for i in range(400):
        x[i % 40] += k * i - m
    return x


def test_closures_and_defaults_stay():
    """Trap 9; helpers with several returns are above."""
    check(keeps_cells, V, traced=None)
    check(with_defaults, V)


def test_without_a_source_loops_are_taken_turn_by_turn():
    """Trap 10."""
    names = {"np": np}
    exec("def f(x):\n    for i in range(50):\n        x[i % 40] += i\n    return x", names)
    check(names["f"], V)
    assert ck.jit(names["f"]).source("python") == "# f: unchanged"


def test_errors_name_the_line_of_the_loop():
    """Trap 11."""
    with pytest.warns(CKernelsWarning, match=r"test_flow\.py:\d+") as caught:
        ck.jit(asks_in_a_turn)(V)
    first = asks_in_a_turn.__code__.co_firstlineno
    assert f"test_flow.py:{first + 3}" in str(caught[0].message)


def with_break(x):
    for i in range(50):
        if i > 20:
            break
        if i % 2:
            continue
        x[i % 40] += i
    else:
        x[0] = 5
    return x


def with_try(x):
    for i in range(50):
        try:
            x[i % 40] += i
        finally:
            x[0] = 1
    return x


def with_return(x):
    for i in range(50):
        x[i % 40] += i
        if i == 30:
            return x, i
    return x, -1


def test_jumps_are_flags_and_try_is_left_as_it_is():
    """Trap 12."""
    for f in (with_break, with_try, with_return):
        check(f, V)
        assert ("_ck_for" in ck.jit(f).source("python")) == (f is not with_try)


def empty_first(x):
    y = np.empty_like(x)
    for i in range(400):
        y[i % 40] = x[i % 40] + i
    return y


def histogram(x, n):
    total = np.zeros(n, dtype=np.int64)
    for i in range(400):
        total += np.histogram(x * i, n)[0]
    return total


def test_empty_arrays_and_library_functions():
    """Traps 13 and 14."""
    check(empty_first, V)
    check(histogram, W, 5, traced=None)


# ---- ranges of elements, truth values as values, complex numbers ---------------------------------


def knapsack(values, weights, most):
    best = np.zeros(most + 1)
    for i in range(len(values)):
        for c in range(most, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best


def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[0] = prime[1] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
    return prime


def by_steps(x, steps):
    up = down = 0.0
    for k in range(len(steps)):
        for i in range(10, 20, steps[k]):
            up += x[i] * (k + 1)
        for i in range(20, 10, steps[k]):
            down += x[i] * (k + 2)
    return up, down


def parities(m):
    y, odd, count = np.zeros(len(m), dtype=bool), False, 0
    for i in range(len(m)):
        odd = odd != m[i]
        y[i] = odd or m[i]
        count += m[i]
    return y, odd, count


def truths(x):
    y, z, none = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool), 0
    for i in range(len(x)):
        y[i] = 0 < x[i] < 1
        z[i] = x[i] > 1 or x[i] < 0 and not y[i - 1]
        none += not (y[i] or z[i])
    return y, z, none


def first_that_holds(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] and (x[i] + 1 or 7.0) or 3.0
    return total


def truths_outside(x, k):
    k = k or 5
    inside = x.sum() > 0 and x.max() < 10
    return x * k, inside, not inside


def mandelbrot(c):
    turns = np.zeros(len(c), dtype=np.int64)
    for i in range(len(c)):
        z = 0j
        for _ in range(50):
            z = z * z + c[i]
            if abs(z) > 2:
                break
            turns[i] += 1
    return turns


def horner(c, x):
    total = 1 + 2j
    for k in range(len(c)):
        total = total * x + c[k]
    return total


def complex_of_python(x):
    z, total = 1 + 1j, 0j
    for i in range(len(x)):
        if x[i] > 0:
            z = -z
        total += z * x[i]
    return total, z


STEPS = np.array([1, -1, 2, -3, 20, -20] * 3)
C = R.normal(size=40) + 1j * R.normal(size=40)
WHOLE = np.array([-1.0, 0.0, 1.0, 2.0, 0.5] * 4)


@pytest.mark.parametrize("function, args", [
    (knapsack, (W, R.integers(1, 15, 40), 60)), (knapsack, (W, R.integers(1, 15, 40, "u1"), 60)),
    (knapsack, (W, R.integers(70, 90, 40, "i2"), 60)), (sieve, (200,)), (sieve, (1000,)),
    (by_steps, (V, STEPS)), (by_steps, (V, STEPS.astype("i1"))),
    (parities, (V > 0,)), (parities, (V > 9,)), (truths, (V,)), (truths, (V.astype("f4"),)),
    (first_that_holds, (WHOLE,)), (first_that_holds, (WHOLE.astype("i4"),)),
    (truths_outside, (W, 0)), (truths_outside, (-W, 2.5)), (truths_outside, (W + 10, 1)),
    (mandelbrot, (C,)), (mandelbrot, (C.astype("c8"),)), (horner, (C, 0.3)), (horner, (C, 0.3j)),
    (horner, (C.astype("c8"), 0.3))])  # fmt: skip
def test_elements_truths_and_complex_numbers_stay_in_the_loop(function, args):
    check(function, *args)


def test_what_of_these_raises_is_numpys():
    check(complex_of_python, V, traced=None)
    check(parities, V[:0] > 0, traced=None)
    compiled = ck.jit(by_steps)
    for steps, error in ((np.append(STEPS, 0), ValueError), (STEPS * 1.0, TypeError)):
        with warnings.catch_warnings(), pytest.raises(error):
            warnings.simplefilter("ignore", CKernelsWarning)
            compiled(V, steps)


# ---- never another meaning -----------------------------------------------------------------------


def appends(x):
    found = []
    for i in range(400):
        found.append(x[i % 40] * 2)
    return found


def counts_in_an_object(x):
    state = {"n": 0}
    for i in range(300):
        state["n"] = state["n"] + i
        x[i % 40] += 1
    return state["n"]


def pulls_from_an_iterator(x):
    numbers = iter(range(1000))
    for i in range(300):
        x[i % 40] += next(numbers)
    return x


def changes_a_real_array(x):
    table = np.linspace(0.0, 1.0, 40)
    for i in range(300):
        table += 1
        x[i % 40] += table[i % 40]
    return x


def swaps(a, b):
    for _ in range(301):
        b[1:-1] = a[:-2] + a[2:]
        b *= 0.4
        a, b = b, a
    return a


def stores_through_a_new_name(x):
    y = x
    for _ in range(300):
        y[0] += 1
        y = x * 2
    return x, y


def two_names_of_one_array(x):
    a = b = x * 0
    for i in range(300):
        a = b = x + i
    a[0] = 77
    return b


def lambdas(x):
    found = 0
    for i in range(300):
        f = lambda: i * 2  # noqa: B023, E731
        x[i % 40] += f()
        found = f
    return x, found()


def grows(x):
    for _ in range(6):
        x = np.concatenate([x, x[:1]])
    return x


def of_dtypes(x):
    y = x
    for i in range(5):
        y = y * np.float32(2) if i < 2 else y.astype("float64") * i
    return y


def half_first(x):
    total = np.float32(0)
    for i in range(400):
        total = total + x[i % 40]
    return total


def weak_first(x):
    scale = 1.0
    for i in range(400):
        x[i % 40] *= scale
        scale = x[i % 40]
    return x, scale


def calls_its_lambda(x):
    v = np.full_like(x, 0.3)
    for _ in range(40):
        d = np.abs(x) + 1
        rate = lambda z: 1 / (1 + np.exp(-d * z))  # noqa: B023, E731
        step = rate(v) - 0.7
        if np.all(np.abs(step) < 1e-3):
            break
        v = v - step
    return v


def keeps_its_lambda(x):
    rate = last = None
    for i in range(40):
        d = x[i % 5]
        rate = lambda z: d * z  # noqa: B023, E731
        last = rate
        if x[i % 5] > 1e9:
            break
        d = x[i % 7]
    return last(x)


def hands_on_its_lambda(x):
    found = []
    for i in range(40):
        d = x[i % 5]
        rate = lambda z: d * z  # noqa: B023, E731
        if i % 20 == 0:
            found.append(rate)
        x = rate(x) / 2
    return found[0](x), found[1](x)


def levinson(x, order):
    """Slices of slices whose lengths move."""
    a = np.zeros(order + 1, x.dtype)
    a[0], e = 1, x[0]
    for i in range(1, order + 1):
        acc = x[i]
        for j in range(1, i):
            acc += a[j] * x[i - j]
        k = -acc / e
        a[1 : i + 1] += k * a[i - 1 :: -1][:i]
        e *= 1 - k * k
    return a, e


@pytest.mark.parametrize("x, order", [(V, 1), (V, 8), (V[::2], 15), (V.astype("f4"), 6)])
def test_slices_of_slices_that_move_are_taken_turn_by_turn(x, order):
    check(levinson, 0.1 * x + (np.arange(len(x)) == 0).astype(x.dtype), order)


@pytest.mark.parametrize("function, args", [
    (calls_its_lambda, (V,)), (keeps_its_lambda, (V,)), (hands_on_its_lambda, (V,)),
    (appends, (V,)), (counts_in_an_object, (V,)), (pulls_from_an_iterator, (V,)),
    (changes_a_real_array, (V,)), (swaps, (V, W)), (stores_through_a_new_name, (V,)),
    (two_names_of_one_array, (V,)), (lambdas, (V,)), (grows, (V,)), (of_dtypes, (V,)),
    (of_dtypes, (V.astype("f4"),)), (half_first, (V,)), (half_first, (V.astype("f4"),)),
    (weak_first, (V.astype("f4"),)), (jacobi, (40, V.astype("f4"), W.astype("f4"))),
    (by_rows, (np.zeros((0, 3)),)), (nested, (A[:, ::2],)), (triangle, (S.T,)),
    (triangle, (np.zeros((0, 0)),)), (signs, (np.zeros(0),))])  # fmt: skip
def test_programs_keep_their_meaning(function, args):
    check(function, *args, traced=None)


# ---- transforms ----------------------------------------------------------------------------------


def recurrence(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = np.tanh(y[i - 1] + x[i] ** 2)
    return np.sum(y)


def test_gradients_go_through_loops():
    x = np.tile(V, 10)
    slope = ck.jit.grad(recurrence)(x)
    for i in (3, 200, 399):
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        assert slope[i] == pytest.approx((recurrence(up) - recurrence(down)) / 2e-6, rel=1e-5)


def test_batches_of_loops():
    found = ck.jit.vmap(recurrence)(A)
    np.testing.assert_allclose(found, [recurrence(a) for a in A], rtol=1e-12)


@pytest.mark.slow
def test_a_loop_of_more_turns_than_an_int32_counts():
    def turns(most):
        n = 0
        while n < most[0]:
            n += 1
        return n

    assert ck.jit(turns)(np.array([2**31 + 5])) == 2**31 + 5


class Counter:
    def __init__(self, n):
        self.n, self.log, self.parts = n, [0.0, 0.0], {"a": 0.0, "b": np.zeros(3)}

    def add(self, v):
        self.n = self.n + 1
        self.log[0] += v
        if v > 0:
            self.log[1] = v
            self.parts["a"] = self.parts["a"] + 2.0
        else:
            self.parts["b"] = self.parts["b"] + v


class Holder:
    def __init__(self, x):
        self.x = x


def counted_turns(x):
    c, d = Counter(0), Counter(1)
    for v in x:
        for k in range(3):
            c.add(v * k)
        d.add(-v)
        if c.n > 50:
            break
    return c.n, c.log, c.parts, d.n, d.log, d.parts


def in_turn(x):
    a, st = [0.0, 1.0, 2.0], {"x": np.zeros(4), "k": 0}
    for i in range(len(x)):
        a[0], a[1], a[2] = a[1], a[2], a[0] + x[i]
        st["x"] = st["x"] * 0.5 + x[i]
        st["x"][0] += 1
        st["k"] += 1
    return a, st


def made_in_turns(x):
    """What a turn makes and one side of a test changes."""
    s = 0.0
    for i in range(len(x)):
        p, r, d = Holder(x[i]), [x[i], 1.0], {"a": x[i]}
        if x[i] > 0:
            p.x, r[0] = 0.5, 0.25
            d["a"] = 0.125 if x[i] > 1 else d["a"] * 2
        s += p.x + 10 * r[0] + 100 * d["a"]
    return s


def put_back(x, p):
    """What a side changes and the turn changes back."""
    s = 0.0
    for i in range(len(x)):
        old = p.x
        if x[i] > 0:
            p.x = 2.0
        s += p.x
        p.x = old
    return s


def nested_sides(x):
    p = Holder(1.0)
    q = p
    for v in x:
        if v > 0:
            if v > 1:
                p.x = p.x * 2
            else:
                q.x = q.x + v
        elif v < -1:
            p.x = p.x - 1
    return q.x


@pytest.mark.parametrize("function", [counted_turns, in_turn, made_in_turns, nested_sides])
def test_objects_that_turns_and_sides_change(function):
    for n in (50, 7, 2, 300):
        check(function, np.random.default_rng(n).normal(size=n).round(2))


def test_objects_that_a_side_changes_for_a_while():
    for n in (50, 3):
        check(put_back, np.random.default_rng(n).normal(size=n), Holder(1.0))


def changed_by_and(x):
    def change(p):
        p.x = 5.0
        return True

    s = 0.0
    for i in range(len(x)):
        p = Holder(x[i])
        s += (1.0 if x[i] > 0 and change(p) else 2.0) + p.x
    return s


def another_object(x):
    p = Holder(0.0)
    q = p
    for v in x:
        q.x = q.x + v
        if v > 1:
            q = Holder(v)
    return p.x, q.x


def grown_on_a_side(x):
    s = 0.0
    for i in range(len(x)):
        d = {"a": x[i]}
        if x[i] > 0:
            d["b"] = 0.5
        s += len(d)
    return s


@pytest.mark.parametrize("function", [changed_by_and, another_object, grown_on_a_side])
def test_objects_whose_changes_are_no_turn_of_a_scan(function):
    for n in (50, 3):
        check(function, np.random.default_rng(n).normal(size=n), traced=None)


# ---- a name that is an array from before the loop, if there is no turn ---------------------------


def grown_until(t, s):
    while np.sum(t) < s:
        t = t * 2 + 1
    return t


def stored_after(a, s):
    t = grown_until(a, s)
    t[0] = 9.0
    return a * 1


def stored_before_it_is_read(a, s):
    t = grown_until(a, s)
    a[0] = 9.0
    return t * 1


def stored_through_a_view(a, s):
    t, u = grown_until(a * 2, s), a[1:]
    for _ in range(int(s)):
        a = a + 1
    u += 5
    return t, a * 1


def two_names(a, s):
    t = u = a * 2
    while np.sum(t) < s:
        t = t * 2 + 1
    t += 1
    return u


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("s", [-5.0, 0.0, 3.0, 40.0])
@pytest.mark.parametrize(
    "function",
    [grown_until, stored_after, stored_before_it_is_read, stored_through_a_view, two_names],
)
def test_without_a_turn_two_names_are_one_array(function, s, n):
    jitted = ck.jit(function)
    for each in (40.0, s, 40.0):
        theirs, ours = (np.linspace(-1, 2, n) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            want, got = function(theirs, each), jitted(ours, each)
        np.testing.assert_array_equal(theirs, ours)
        assert (want is theirs) == (got is ours)
        if not isinstance(want, tuple):
            want, got = (want,), (got,)
        for x, y in zip(want, got, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-14)


def newton(x, s):
    for _ in range(30):
        step = (x**3 - 2 * x - 5) / (3 * x**2 - 2)
        if np.abs(step).max() < s:
            break
        x = x - step
    return x


def same_again(x, s):
    for _ in range(3):
        if x.sum() > s:
            break
        x = x * 1.0  # a new array of equal elements
    return x


def with_its_argument(x, s):
    y = x
    for _ in range(9):
        if y.sum() > s:
            break
        y = y * 2
    return y, x, y


def two_that_follow(x, s):
    y = x + 1
    for _ in range(9):
        if x.sum() > s:
            break
        x, y = x * 2, x
    return x, y


def turned(x, s):
    for k in range(3):
        if x[k] > s:
            x = x[::-1]
    return x


def stored_into(x, s):
    y = x
    for _ in range(9):
        if y.sum() > s:
            break
        y = y * 2
    y[0] = 7
    return y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("function, compiled", [
    (newton, True), (same_again, None), (with_its_argument, True), (two_that_follow, None),
    (turned, None), (stored_into, None)])  # fmt: skip
def test_results_that_may_be_the_argument_itself(function, compiled, n, dtype):
    """Where elements tell that it is not, the trace holds; else NumPy says what it is."""
    jitted = ck.jit(function)
    for s in (1e-5, 1e9, 1.5, 1e-5, -1e9):
        theirs, ours = (np.linspace(1.5, 3, n).astype(dtype) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            want, got = function(theirs, s), jitted(ours, s)
        if not isinstance(want, tuple):
            want, got = (want,), (got,)
        for x, y in zip(want, got, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-5 if dtype == "float32" else 1e-12)
            assert np.may_share_memory(x, theirs) == np.may_share_memory(y, ours)
            assert [x is theirs, *(x is o for o in want)] == [y is ours, *(y is o for o in got)]
        np.testing.assert_array_equal(theirs, ours)
    counts = jitted.report()["numpy"]
    assert compiled is None or set(counts) == {"a result that may be an argument itself"}, counts


def two_names(x, m):
    d, y = x * 0.25, x * 1.0
    for _ in range(m):
        d = np.abs(np.sin(d))
        y = d
    d[:1] = 7.0
    return y, d


def two_names_within(x, m):
    d, y, t = x * 0.25, x * 1.0, 0.0
    for _ in range(3):
        for _ in range(m):
            d = np.abs(np.sin(d)) + 0.1
            y = d
        t = t + y.sum() - 0.5 * d.sum()
        d = d + 1.0
    return y, d, t


@pytest.mark.parametrize("function", [two_names, two_names_within])
@pytest.mark.parametrize("first", [0, 2])
def test_two_names_of_one_array_are_two_where_no_turn_is_taken(function, first):
    jitted = ck.jit(function)
    for n in (1, 5, 20):
        x = np.arange(1.0, n + 1)
        for m in (first, 0, 1, 2):
            for got, want in zip(jitted(x, m), function(x, m)):
                np.testing.assert_allclose(got, want, rtol=1e-13)


# ---- loops on the side of a test that is not taken -----------------------------------------------


def divided(x):
    out = np.zeros(len(x))
    for k in range(len(x)):
        if x[k] > 1:
            v, steps = 100.0, 0
            while v > 1:
                v = v / x[k]
                steps += 1
            out[k] = steps
    return out


def marked(x, step):
    mark = np.ones(len(x))
    for k in range(1, len(x)):
        if mark[k] > 0 and x[k] > 0:
            for i in range(k, len(x), step[k]):
                mark[i] = -x[i]
    return mark


def summed(x, step):
    total = x[0] * 0
    for k in range(len(x)):
        last = 0
        if x[k] > 1:
            for i in range(k, len(x), step[k]):
                total = total + x[i] * x[k]
                last = i
        total = total + last
    return total


def test_loops_of_a_side_that_is_not_taken_have_no_turn():
    x = np.array([0.5, 3, -0.5, 2, 0.9, 4] * 3)
    check(divided, x)  # the first of these numbers never gets below 1
    step = np.arange(len(x)) % 3 + 1
    for function in (marked, summed):
        check(function, x, step)
    slope = ck.jit.grad(summed)(x, step)
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = 1e-6
        assert abs((summed(x + e, step) - summed(x - e, step)) / 2e-6 - slope[k]) < 1e-4


# Turns that are counted by a number, on one side: what is read there need not exist elsewhere.


def beyond(x, at, w):
    """x[at[i]] is asked for where it exists alone, in the loop and at places that turns move."""
    found, last = np.zeros(len(at)), 0
    for i in range(len(at)):
        if at[i] < len(x):
            for k in range(len(w)):
                found[i] += x[at[i]] * w[k] + x[at[i] - k % 2]
                last = k
        elif not at[i] > 90:
            for k in range(len(w)):
                found[i] -= w[k]
    return found, last


def neighbours(x, w):
    """Rows before the first and after the last are on a side that is not taken."""
    n, m = x.shape
    for i in range(n):
        if i > 0:
            for j in range(m):
                if not x[i - 1, j] > x[i, j]:
                    x[i, j] = x[i - 1, j]
        if i + 2 < n:
            for j in range(m):
                x[i + 2, j] *= w[j % 3]
    return x


def both_sides(x, w):
    """Loops on both sides store into one array, and what they leave is read by both."""
    s, c = w[0] * 0, 0
    out = np.zeros((len(x), len(w)), x.dtype)
    for i in range(len(x)):
        if x[i] > s:
            for j in range(len(w)):
                out[i, j] = s + w[j]
                s += w[j] * x[i]
            c = i
        else:
            for j in range(len(w)):
                if w[j] < x[i]:
                    s -= out[c, j]
            s = s * 0.5
    return out, s, c


def rows_of_four(b, same):
    wins = np.zeros(3, np.int64)
    for i in range(b.shape[0]):
        for j in range(b.shape[1] - 3):
            c = b[i, j]
            if c != 0:
                ok = True
                for k in range(1, 4):
                    if b[i, j + k] != c:
                        ok = False
                        break
                if ok:
                    wins[c] += same
    return wins


def diffused(x):
    """A part of an array that no step leaves, beside others that it puts into: what the last step
    put is what this one reads; not so by the other column."""
    out = np.zeros(x.shape, np.uint8)
    for i in range(x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            q = 1 if x[i, j] > 0.5 else 0
            out[i, j] = q
            e = x[i, j] - q
            x[i, j + 1] += e * 7 / 16
            x[i + 1, j - 1] += e * 3 / 16
            x[i, j // 2] -= e / 16
            x[i + 1, j] += e * 5 / 16
    return out


def moved_up(x, steps):
    """Loops between the numbers of a step: what they write is read again, before and after."""
    kept = np.zeros(len(x), x.dtype)
    best, s = -1, x[0]
    for i in range(len(x)):
        kept[i] = x[i] * s
        before = kept[0]
        j = i
        while j > 0 and kept[j - 1] > kept[j]:
            t = kept[j]
            kept[j] = kept[j - 1]
            kept[j - 1] = t
            j -= 1
        if kept[0] != before:
            best = j
        s = kept[i // 2] * 0.25 + kept[0] * before + s * 0.5
        for k in range(steps):
            s = s - kept[k] * s
        kept[i] += s * x[i]
    return kept, best, s


def products(x, w, n):
    """What a loop leaves is a product, which is rounded before something is added to it."""
    a, b = x[0], x[1]
    for i in range(len(x)):
        p = a * x[i]
        for k in range(n):
            p = p * w[k]
        b = b + p
        q = b * x[i]
        for k in range(n):
            q = q * w[n - 1 - k] - p
        a = q + p
        x[i] = a * b
    return a, b, x


def test_what_is_on_the_side_of_a_test_need_not_exist_elsewhere():
    x, w = R.normal(size=9), R.normal(size=12)
    at = np.array([2, 50, 8, -3, 99, 0, 2**40])
    check(beyond, x, at, w)
    for dtype in ("float64", "float32", "int16"):
        y = (R.normal(size=(6, 9)) * 9).astype(dtype)
        v = (R.normal(size=3) * 3).astype(dtype)
        check(neighbours, y, v)
    y[1] = 0
    for z in (y.astype("float32"), np.full((5, 4), np.nan)):
        z[2, 1] = np.nan
        check(neighbours, z, np.array([1.0, np.nan, 2]).astype(z.dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loops_on_both_sides_and_between_numbers(dtype):
    x, w = R.normal(size=30).astype(dtype), R.normal(size=11).astype(dtype)
    check(both_sides, x, w)
    x[[4, 20]] = np.nan
    check(both_sides, x, w)
    board = R.integers(0, 3, (9, 30))
    board[2, 3:9], board[7, 20:] = 1, 2
    check(rows_of_four, board.astype({"float64": "int64", "float32": "int32"}[dtype]), 2)
    check(rows_of_four, board[:, :3].copy(), 1)
    picture = R.random((7, 23)).astype(dtype)
    picture[3, 5] = np.nan
    for part in (picture, picture[:1], picture[:, :2], picture[:0]):
        check(diffused, part.copy())
    check(moved_up, R.normal(size=25).astype(dtype), 1)
    check(moved_up, R.normal(size=25).astype(dtype), 20)
    check(products, (R.random(12) / 2).astype(dtype), R.random(9).astype(dtype), 9)


def test_a_place_that_a_side_alone_reads_is_an_error_where_the_side_is_taken():
    def outside(x, at):
        s = 0.0
        for i in range(len(at)):
            if at[i] > 0:
                for _ in range(12):
                    s += x[at[i]]
        return s

    x = np.arange(5.0)
    jitted = check(outside, x, np.array([1, -9, 4, -7, 3]))
    with pytest.raises(IndexError):
        jitted(x, np.array([1, -9, 5, -7, 3]))


def test_slopes_of_counted_loops_on_one_side():
    def whole(x, w):
        return both_sides(x, w)[1]

    x, w = R.normal(size=6), R.normal(size=10)
    for which in (0, 1):
        slope = ck.jit.grad(whole, argnums=which)(x, w)
        for k in range(len((x, w)[which])):
            e = np.zeros(len((x, w)[which]))
            e[k] = 1e-6
            high, low = (whole(*(a + s * e if n == which else a for n, a in enumerate((x, w))))
                         for s in (1, -1))  # fmt: skip
            assert abs((high - low) / 2e-6 - slope[k]) < 1e-4 * max(1, abs(slope[k]))


def test_counted_loops_on_one_side_in_batches_and_second_slopes():
    def whole(x, w):
        s = w[0] * 0
        for i in range(len(x)):
            if x[i] > s:
                for j in range(len(w)):
                    if w[j] > 0:
                        s += w[j] * x[i] * s + 0.1 * x[i] ** 2
            else:
                s = s * 0.5 * w[i]
        return s

    x, w = R.normal(size=(5, 8)), R.normal(size=(5, 10)) / 4
    np.testing.assert_allclose(ck.jit.vmap(whole)(x, w), [whole(*a) for a in zip(x, w)], 1e-9)
    slope, e = ck.jit.grad(whole), 1e-5
    second = ck.jit.hessian(whole)(x[0], w[0])
    for v, row in zip(np.eye(8), second):
        want = (slope(x[0] + e * v, w[0]) - slope(x[0] - e * v, w[0])) / 2 / e
        np.testing.assert_allclose(row, want, atol=1e-3 * max(1, np.abs(second).max()))


# ---- what stands in a test, and what counters are stored into -----------------------------------


def chosen_in_tests(s, a, b):
    k, x = 0, 0.0
    for i in range(1, len(a)):
        for j in range(1, len(b)):
            if s[i, j] == s[i - 1, j - 1] + (1 if a[i] == b[j] else -1):
                k += 1
            while x < (s[i, 0] if a[i] else 2):
                x += 0.75
    return k, x


def among_numbers(s):
    out = np.zeros(s.shape, np.uint8)
    few = 0
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            c = 0
            for k in range(j, s.shape[1]):
                if s[i, k] > 1:
                    c += 1
            out[i, j] = c
            if c not in (0, 2):
                few += 5 if c in {1, 4, 5.0} else 1
            elif s[i, j] in [0, 3] and s[i, 0] not in (1,):
                few -= 3
    return out, few


def segments(x):
    stack = np.zeros((len(x), 2), np.int64)
    stack[0, 1] = len(x) - 1
    top, seen = 1, np.zeros(len(x), np.int64)
    while top > 0:
        top -= 1
        a, b = stack[top, 0], stack[top, 1]
        at = a
        for i in range(a + 1, b):
            seen[i] += 1
            if x[i] > x[at] or at == a:
                at = i
        if at > a:
            stack[top, 0], stack[top, 1] = a, at
            stack[top + 1, 0], stack[top + 1, 1] = at, b
            top += 2
    return seen


def test_choices_and_numbers_named_in_tests():
    s, a = R.integers(-2, 5, (9, 9)), R.integers(0, 2, 9)
    check(chosen_in_tests, s, a, a[::-1].copy())
    check(among_numbers, np.abs(s))
    check(among_numbers, np.abs(s).astype("float32"))
    check(segments, R.normal(size=20))


def test_counters_in_arrays_of_few_bits_are_asked_whether_they_fit():
    def counted(x, out):
        for i in range(len(x)):
            c = 0
            for k in range(3, len(x)):
                if x[k] > x[i]:
                    c += 1
                else:
                    c -= 1
            out[i] = c
        return out

    x = np.arange(100.0)
    for kind in ("int8", "int16", "int32"):
        jitted = check(counted, x, np.zeros(100, kind))
    small = ck.jit(counted)
    assert np.array_equal(small(x, np.zeros(100, "int8")), counted(x, np.zeros(100, "int8")))
    with pytest.raises(OverflowError, match="out of bounds"):
        small(np.arange(300.0), np.zeros(300, "int8"))
    with pytest.raises(OverflowError, match="out of bounds"):
        small(x, np.zeros(100, "uint8"))  # a number below zero
    assert not jitted.report()["numpy"]


# ---- the least and the greatest of slices whose lengths turns decide -----------------------------


def down_a_seam(c):
    """The next place is the least of two or three below."""
    path = np.empty(len(c), np.int64)
    j = np.argmin(c[-1])
    path[-1] = j
    for i in range(len(c) - 2, -1, -1):
        low = max(j - 1, 0)
        j = low + np.argmin(c[i, low : min(j + 2, c.shape[1])])
        path[i] = j
    return path


def extremes_between(x, at):
    out = np.zeros((len(at), 4), x.dtype)
    places = np.zeros((len(at), 2), np.int64)
    for i in range(len(at)):
        part = x[at[i, 0] : at[i, 1]]
        out[i, 0] = part.max()
        out[i, 1] = np.min(part)
        places[i, 0] = part.argmax()
        places[i, 1] = np.argmin(part)
        out[i, 2] = part[0]
    return out, places


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16", "int64", "bool"])
def test_extremes_of_slices_whose_lengths_turns_decide(dtype):
    least = {"f": -np.inf, "b": False}.get(np.dtype(dtype).kind)
    least = np.iinfo(dtype).min if least is None else least
    most = {"f": np.inf, "b": True}.get(np.dtype(dtype).kind)
    most = np.iinfo(dtype).max if most is None else most
    x = (R.normal(size=20) * 5).astype(dtype)
    x[4:9], x[12:16] = least, most
    for z in (x, x[::-1].copy()):
        for k in range(2):
            if k and np.dtype(dtype).kind == "f":
                z[17] = z[6] = np.nan
            at = np.array(
                [[0, 20], [4, 9], [5, 7], [12, 16], [13, 15], [3, 17], [-4, 19], [19, 40]]
            )
            check(extremes_between, z, at, traced=None)
    check(down_a_seam, (R.normal(size=(9, 12)) * 5).astype(dtype))
    jitted = ck.jit(extremes_between)
    with pytest.raises(ValueError, match="zero-size|empty"):
        jitted(x, np.array([[3, 8], [7, 7]]))


def test_choices_of_choices_of_choices():
    def clipped(x, y):
        a = x[0]
        for i in range(len(x)):
            if y[i] > 0:
                a = min(max(a + x[i], -3.0), 3.0)
                a = min(max(a - y[i] * x[i], -2.0), a)
                a = min(max(a * x[i], -3.0), 3.0)
                a = min(max(a + y[i], x[i]), 2.0)
                a = min(max(a - x[i], -3.0), y[i])
                a = min(max(a + 2 * x[i], -1.0), 3.0)
                a = min(max(a - 0.5 * x[i], -3.0), a * a)
                a = min(max(a + x[i], -3.0), 3.0)
                y[i] = a
        return a

    check(clipped, R.normal(size=60), R.normal(size=60))  # two ways each: 2 ** 16 together


# ---- reads that nothing takes --------------------------------------------------------------------


def walks_off(x):
    i, s = 0, 0.0
    while s < 100:
        v = x[i]
        v = 1.0
        s += 0.01 * v
        i += 1
    return s


def walks_off_in_vain(x):
    i, most = 0, 3.0
    while most > 0:
        x[i]
        i = i + 1
        most = most + 1
    return i


def counts_too_far(x, n):
    s = 0.0
    for i in range(n):
        x[i]
        s += i
    return s


def reads_on_a_side(x, n):
    s = 0.0
    for i in range(n):
        if i < len(x):
            v = x[i]
        v = 2.0
        s += v
    return s


@pytest.mark.parametrize(
    "function, more", [(walks_off, ()), (walks_off_in_vain, ()), (counts_too_far, (60,))]
)
def test_a_read_that_nothing_takes_raises_where_there_is_no_such_place(function, more):
    jitted = ck.jit(function)
    for x in (V, V[:9], V[:0]):
        for _ in range(2):
            with pytest.raises(IndexError):
                jitted(x, *more)
    assert jitted.report()["traces"]


def test_reads_that_nothing_takes_cost_nothing_where_they_exist():
    for n in (0, 7, 40):
        check(counts_too_far, V, n)
    check(reads_on_a_side, V, 70)
    jitted = check(walks_off, np.ones(10_001))
    assert not jitted.report()["numpy"]
