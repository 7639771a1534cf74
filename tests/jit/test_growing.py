"""Lists that loops append to, beside NumPy: in each turn or in some, before and after others, with
the end of the loop decided by data; what would be more than an array of rows is NumPy's."""

import functools
import warnings
from collections import deque

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning

from .beside import check, flat, same

V = np.random.default_rng(8).normal(size=600)


def reservoir(rain, keep, stored):
    flow = []
    for p in rain:
        out = (1 - keep) * stored
        stored = stored + p - out
        flow.append(out)
    return np.array(flow), len(flow), stored


def first_of_python(rain, stored):
    flow = []
    for p in rain:
        flow.append(stored * 0.5)
        stored = stored * 0.5 + p
    return flow, np.array(flow)


def path(x, turns):
    way = [x]
    for _ in range(turns):
        x = 0.9 * x + 0.1
        way.append(x)
    return np.array(way), np.mean(way, axis=0)


def alarms(x, limit):
    found, ends, total, inside = [], [], x[0] * 0, False
    for i in range(len(x)):
        total += x[i]
        if x[i] > limit and not inside:
            found.append(i)
            inside = True
        elif x[i] <= limit and inside:
            ends.append(total)
            inside = False
    return found, ends, np.array(found), len(ends)


def until(x, limit):
    steps, at = [], x[:2].copy()
    for _ in range(500):
        at = at * 0.99
        steps.append(at)
        if np.abs(at).sum() < limit:
            break
    return np.array(steps), np.vstack(steps), len(steps)


def either(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out.append(-2 * v)
    return np.mean(out), np.array(out), isinstance(out, list)


def in_turn(x, n):
    levels = [0.0]
    for i in range(n):
        levels.append(levels[-1] * 0.5 + x[i])
    levels.append(x[0])
    return np.array(levels)


def joined(x, n):
    a, b, z = [], [], x[:4].copy()
    for i in range(n):
        z = np.tanh(z + x[i])
        a.append(z)
        b.append(np.outer(z, z))
    return (np.stack(a), np.vstack(a), np.hstack(a), np.concatenate(a), np.column_stack(a),
            np.concatenate(b), np.vstack(b), np.array(b).mean(axis=0), a, np.sum(a))  # fmt: skip


def helped(x):
    def doubled(z):
        found = []
        for v in z:
            found.append(v * 2)
        return found

    return np.array(doubled(x)) + np.array(doubled(x[::-1]))


def numbers(x, n):
    whole, parts, truths = [], [], []
    for i in range(n):
        whole.append(i * i)
        parts.append(float(x[i]) / 2)
        truths.append(x[i] > 0)
    return whole, parts, np.array(truths), np.array(whole)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "function, args",
    [(reservoir, (0.9, np.float64(5))), (path, (50,)), (alarms, (0.5,)),
     (alarms, (-9.0,)), (either, ()),
     (until, (0.5,)), (until, (1e-9,)), (in_turn, (599,)), (joined, (400,)), (helped, ()),
     (numbers, (500,))],
)  # fmt: skip
def test_lists_of_loops(function, args, dtype):
    check(function, V.astype(dtype), *args)


def test_no_items_are_floats():
    check(alarms, V, 99.0, traced=None)
    for function in (either, helped):
        check(function, V[:0], traced=None)


def kept_and_changed(x, n):
    w, rows = np.zeros(3), []
    for _ in range(n):
        w += x[:3]
        rows.append(w)
    return np.array(rows)


def began_as_number(x, n):
    return first_of_python(x[:n], 2.0)


def changed_behind(x, n):
    w, rows = np.zeros(3), []
    for _ in range(n):
        w = w + x[:3]
        rows.append(w)
    w += 1
    return np.array(rows), w


def changed_in_the_turn(x, n):
    w, rows = np.zeros(3), []
    for _ in range(n):
        w = w + x[:3]
        rows.append(w)
        w[0] = 7
    return np.array(rows)


def taken_apart(x, n):
    rows = []
    for i in range(n):
        rows.append((i, x[i]))
    rows.sort()
    return rows[0], rows.pop(), sum(r[1] for r in rows)


def both_kinds(x, n):
    rows = [1, 2.5]
    for i in range(n):
        rows.append(x[i])
    return rows


def by_its_method(x, n):
    rows = []
    append = rows.append
    for i in range(n):
        append(x[i] * 2)
    return rows


def by_a_partial_function(x, n):
    rows = []
    append = functools.partial(lambda to, v: to.append(v), rows)
    for i in range(n):
        if x[i] > 0:
            append(x[i] * 2)
    return rows


def in_a_queue(x, n):
    last, i = deque(maxlen=3), 0
    while i < n:
        last.append(x[i])
        i += 1
    return list(last)


def by_a_method_of_an_object(x, n):
    class Rows:
        def __init__(self):
            self.rows = []

        def take(self, v):
            self.rows = [*self.rows, v]

    take = Rows().take
    for i in range(n):
        take(x[i])
    return take.__self__.rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [4, 590])
@pytest.mark.parametrize(
    "function", [kept_and_changed, changed_behind, changed_in_the_turn, taken_apart, both_kinds,
                 began_as_number, by_its_method, by_a_partial_function, in_a_queue,
                 by_a_method_of_an_object]
)  # fmt: skip
def test_what_is_more_than_rows(function, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for x in (V, V.astype("float32")):
            for want, got in zip(flat(function(x, n)), flat(ck.jit(function)(x, n)), strict=True):
                same(want, got)


def test_gradients_have_lists_of_python():
    def loss(x):
        values = []
        for k in range(4):
            values.append((x**k).sum())
        return np.array(values).sum()

    np.testing.assert_allclose(ck.jit.grad(loss)(V), 1 + 2 * V + 3 * V**2)


def found_twice(x, limit):
    places, values = [], []
    for i in range(len(x)):
        if x[i] > limit:
            places.append(i)
            values.append(x[i])
    return places, np.array(values), values, x[: len(places)], (np.array(values) * 2)[1:]


@pytest.mark.parametrize("limit", [-100.0, 0.5, 1.7, 100.0])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
def test_results_have_as_many_rows_as_data_decide(dtype, limit):
    """Of no rows np.array is of floats, which is NumPy's to make."""
    jitted, x = ck.jit(found_twice), (V * 2).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        want, got = found_twice(x, limit), jitted(x, limit)
    for a, b in zip(flat(want), flat(got), strict=True):
        same(a, b)
    assert got[1].flags.owndata and got[1].flags.writeable and got[3].base is x


def test_a_list_of_some_turns_takes_one_plan():
    """NumPy does not run between the loop and the results that are its first rows."""

    def positive(x):
        places, values, total = [], [], 0.0
        for i in range(len(x)):
            total += x[i]
            if x[i] > 0:
                places.append(i)
                values.append(x[i] * 2)
        return places, values, total

    jitted = ck.jit(positive)
    for x in (V, -np.abs(V), np.abs(V), V[:0], V[:1]):
        for a, b in zip(flat(positive(x)), flat(jitted(x)), strict=True):
            same(a, b)
    assert "stage0" not in jitted.explain()
    assert not jitted.report()["numpy"]


def number_in_the_first_turn(x, n):
    """What is appended is a Python number in early turns, by one name or by way of another."""
    total, before, totals, late, plain = 0.0, 0.0, [], [], []
    for i in range(len(x)):
        late.append(before)
        before = total
        totals.append(total * 2)
        plain.append(x[i] * 2)
        total += x[i]
    return totals, late, plain, before


def number_under_a_condition(x, n):
    total, late, plain = 0.0, [], []
    for i in range(len(x)):
        if x[i] > 0:
            late.append(total)
            plain.append(x[i])
        total = total + x[i] if x[i] > 0 else total
    return late, plain, total


@pytest.mark.parametrize("function", [number_in_the_first_turn, number_under_a_condition])
@pytest.mark.parametrize("n", [4, 9, 590])
def test_numbers_that_become_scalars_stay_numbers_in_early_turns(function, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for x in (V, -np.abs(V), np.abs(V), V.astype("float32")):
            for want, got in zip(flat(function(x[:n], 0)), flat(ck.jit(function)(x[:n], 0)),
                                 strict=True):  # fmt: skip
                same(want, got)


def traced_back(x):
    j = x[-1].argmin()
    path, signs = [j], []
    for i in range(len(x) - 1, 0, -1):
        j = (j + 3) % len(x)
        path.append(j)
        if x[i, 0] > 0:
            signs.append(x[i, 0])
    return np.array(path[::-1]), path[::-1], signs[::-1], len(signs[::-1])


def test_lists_from_the_last_item_to_the_first():
    for n in (40, 12, 3, 300):
        check(traced_back, np.random.default_rng(n).normal(size=(n, 4)))
    check(traced_back, -np.ones((30, 4)))


def events(x, on, off):
    found, since = [], -1
    for i in range(len(x)):
        if since < 0 and x[i] > on:
            since = i
        elif since >= 0 and x[i] < off:
            found.append(i - since)
            since = -1
    return len(found), sum(found), np.array(found)


def odd(x):
    found = [3]
    for i in range(len(x)):
        found.append(2 * i + 1)
    return sum(found, 5), max(found), min(found), sum(found) / len(found)


def longest(x):
    found = []
    for i in range(len(x)):
        if x[i] > 1:
            found.append(i)
    return max(found), min(found)


def sum_of_elements(x):
    found = []
    for i in range(len(x)):
        if x[i] > 1:
            found.append(x[i])
    return sum(found), max(found)


def test_sums_and_extremes_of_what_a_loop_appended():
    for x in (V, V[:40]):
        check(events, x, 0.5, -0.5)
    for x in (V, V[:9]):
        check(odd, x)
    jitted = check(longest, V)
    with pytest.raises(ValueError):
        jitted(np.zeros(600))
    jitted = check(sum_of_elements, V)
    unknown = np.where(V > 2, np.nan, V)
    for x in (unknown, np.r_[V, np.nan], np.r_[np.inf, V, np.inf], np.r_[2.0, np.nan, 3.0]):
        np.testing.assert_allclose(jitted(x), sum_of_elements(x), rtol=1e-13)
    with pytest.raises(ValueError):
        jitted(np.zeros(600))


def test_sums_of_integers_beyond_64_bits():
    def total(x):
        found = []
        for v in x:
            found.append(2**60 + int(v))
        return sum(found)

    jitted = ck.jit(total)
    for n in (3, 12, 30, 2, 12):
        for x in (np.arange(float(n)), -np.arange(float(n))):
            assert jitted(x) == total(x)
