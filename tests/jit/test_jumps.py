"""break, continue, return and else of loops: what they become, and that functions do with them what
they do in NumPy: as scans, turn by turn, inside of one another; near misses stay as they are."""

import re

import numpy as np
import pytest

import ckernels as ck
from ckernels.jit.syntax import transformed

from .beside import check, same

R = np.random.default_rng(2)
V = R.normal(size=12)
LONG = np.tile(V, 9)


def leaves_early(x, tol):
    error = steps = 0
    for k in range(400):
        old = x.copy()
        x[1:-1] = 0.5 * (x[2:] + x[:-2])
        error = np.abs(x - old).max()
        steps = k
        if error < tol:
            break
        x *= 0.99
    return steps, error, k


def first_below(x, least):
    for i in range(len(x)):
        if x[i] < least:
            return i
    return -1


def first_of_pairs(x, total):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] + x[j] > total:
                return i, j
    return -1, -1


def skips(x):
    s = 0.0
    n = 0
    for i, v in enumerate(x):
        if v < 0:
            continue
        n += 1
        if n % 3 == 0:
            continue
        s += v * i
    return s, n


def runs_out(x, most):
    found = 0
    for v in x:
        if v > most:
            break
        found += 1
    else:
        found = -1
    return found


def never_ends(x, tol):
    r = np.ones(len(x)) / len(x)
    turns = 0
    while True:
        new = 0.5 * r + x[::-1] * 0.1
        turns += 1
        if np.abs(new - r).sum() < tol or turns >= 100:
            return new, turns
        r = new


def while_with_else(x):
    k = 0
    while k < 40:
        k += 1
        if x[k % 12] > 3:
            break
    else:
        k = -1
    return k


def inner_breaks(x):
    swaps = 0
    for _ in range(len(x)):
        swapped = False
        for j in range(len(x) - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
                swaps += 1
        if not swapped:
            break
    return swaps


def two_ways_on(x):
    s = 0.0
    for i in range(60):
        if x[i % 12] > 0:
            if i % 5 == 0:
                continue
            s += 1
        else:
            if i % 7 == 0:
                continue
            s -= x[i % 12]
        s += 0.25
    return s


def returns_nothing(x):
    for i in range(len(x)):
        if x[i] > 1:
            return
        x[i] = 0


def of_two_kinds(x):
    for i in range(len(x)):
        if x[i] > 100:
            return x[i], i
    return None


def pairs(x, y):
    s = 0.0
    for a, b in zip(x, y):
        if a * b < -3:
            break
        s += a * b
    for i, a in enumerate(reversed(x), 2):
        if a > 2:
            break
        s += i * a
    return s


def with_a_walrus(x):
    n = 40
    while (n := n - 1) > 3:
        x[n % 12] += n
        if n % 7 == 0:
            continue
        x[0] += 1
    return n


@pytest.mark.parametrize("function, args", [
    (leaves_early, (LONG, 1e-3)), (leaves_early, (LONG, 0.0)), (leaves_early, (LONG, 1e9)),
    (first_below, (LONG, -0.5)), (first_below, (LONG, -99.0)), (first_below, (V, V[0] + 1)),
    (first_of_pairs, (V, 1.5)), (first_of_pairs, (V, 99.0)), (first_of_pairs, (LONG, 2.0)),
    (skips, (LONG,)), (skips, (np.arange(9) - 4,)), (skips, (-np.ones(12),)),
    (runs_out, (LONG, 1.0)), (runs_out, (LONG, 99.0)), (never_ends, (V, 1e-8)),
    (never_ends, (V, 0.0)), (while_with_else, (V,)), (while_with_else, (V * 9,)),
    (inner_breaks, (V,)), (inner_breaks, (np.sort(V),)), (inner_breaks, (np.tile(V, 3),)),
    (two_ways_on, (V,)), (returns_nothing, (V,)), (returns_nothing, (V - 9,)),
    (of_two_kinds, (V,)), (of_two_kinds, (V * 200,)), (pairs, (V, LONG)), (pairs, (LONG, LONG)),
    (with_a_walrus, (V,))])  # fmt: skip
def test_loops_that_are_left(function, args):
    check(function, *args)


@pytest.mark.parametrize("function", [first_below, runs_out])
def test_one_trace_serves_all_ways_out(function):
    jitted = ck.jit(function)
    for least in (-0.5, -99.0, 99.0):
        same(function(LONG, least), jitted(LONG, least))
    assert jitted.report()["traces"] == 1


def test_loops_of_no_turns():
    for function in (first_below, runs_out):
        check(function, np.zeros(0), 0.0, traced=None)


def loss(x):
    for i in range(50):
        if x[0] ** 2 + x[1] ** 2 > 10:
            break
        x = x * 1.5 + i
    return (x**2).sum()


def test_gradients_through_a_loop_that_is_left():
    x, eps = np.array([0.3, -0.2]), 1e-6
    slopes = [(loss(x + d) - loss(x - d)) / (2 * eps) for d in eps * np.eye(2)]
    np.testing.assert_allclose(ck.jit.grad(loss)(x), slopes, rtol=1e-6)


# ---- syntax --------------------------------------------------------------------------------------


def source(function):
    return transformed(function.__code__).source.replace("lambda :", "lambda:")  # Python 3.10's


def test_flags_stand_for_jumps():
    text = source(first_below)
    assert "_ck_for(range(len(x)), _ck_body" in text and ", lambda: _ck_stop" in text
    assert "return _ck_return(_ck_returned" in text
    for function in (skips, inner_breaks, never_ends):
        assert not re.search(r"\b(break|continue)\b", source(function))


def test_what_always_returns_is_no_choice():
    assert source(never_ends).rstrip().endswith("return _ck_result2")


def left_by_try(x):
    for i in range(12):
        try:
            x[i] += 1
        except IndexError:
            break
    return x


def left_in_with(x):
    for i in range(12):
        with np.errstate(all="ignore"):
            x[i] += 1
            if i == 3:
                break
    return x


@pytest.mark.parametrize("function", [left_by_try, left_in_with])
def test_jumps_out_of_try_and_with_stay(function):
    assert transformed(function.__code__) is None
    check(function, V, traced=None)
