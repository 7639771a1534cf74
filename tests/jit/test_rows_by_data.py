"""Loops and comprehensions over rows that data count: unique values, places where a mask holds."""

import numpy as np
import pytest

import ckernels as ck

from .beside import check

R = np.random.default_rng(3)
X, G = R.normal(size=300), R.integers(0, 5, 300)
NONE = np.zeros(300, int)  # where no group is the second


def means(x, g):
    groups = np.unique(g)
    out = np.zeros(len(groups))
    for i, k in enumerate(groups):
        out[i] = x[g == k].mean()
    return groups, out


def means_in_a_list(x, g):
    out = []
    for k in np.unique(g):
        out.append(x[g == k].mean())
    return out, np.array(out)


def comprehension(x, g):
    return np.array([x[g == k].mean() for k in np.unique(g)])


def entropy(x, g):
    found = 0.0
    for k in np.unique(g):
        p = len(g[g == k]) / len(g)
        found += -p * np.log2(p)
    return found


def at_places(x, g):
    total, places = 0.0, np.where(g == 2)[0]
    for i in places:
        total = total * 0.5 + x[i]
    for i in range(len(places)):
        x[places[i]] -= 1.0
    return total


def values(x, g):
    total = 0.0
    for v in x[g == 2]:
        total = total * 0.5 + v
    return total


def counts(x, g):
    total = 0.0
    for k, n in zip(*np.unique(g, return_counts=True)):
        total += k * n / len(g)
    return total


def zipped(x, g):
    """With an array of a size that is known, longer or shorter."""
    few, total = np.arange(40.0), 0.0
    for a, b in zip(x[g == 2], few):
        total += a * b
    for b, a in zip(few[:3], x[g == 1]):
        total += a - b
    return total


def centred(x, g):
    groups, where = np.unique(g, return_inverse=True)
    out = np.empty_like(x)
    for i, _ in enumerate(groups):
        m = where == i
        out[m] = x[m] - x[m].mean()
    return out


def whole_list(x, g):
    return [x[i] * 2 for i in np.flatnonzero(g == 2)], [g[i] + 1 for i in np.flatnonzero(g == 2)]


def rows(x, g):
    x = x.reshape(30, 10)
    return [x[i].sum() for i in np.flatnonzero(g[:30] == 2)], np.array([
        x[i] * 2 for i in np.flatnonzero(g[:30] == 2)])  # fmt: skip


def integers(x, g):
    return np.array([g[i] * 2 for i in np.flatnonzero(g == 2)])


def filtered(x, g):
    return np.array([x[i] for i in np.flatnonzero(g == 2) if x[i] > 0 if i % 2])


def of_pairs(x, g):
    return np.array([a * b for a, b in zip(x[g == 2], x[g == 2][::-1])])


def sums(x, g):
    return sum(abs(x[i]) for i in np.flatnonzero(g == 2)), sum([x[i] for i in range(len(x))][:2])


def extremes(x, g):
    return (max([abs(x[k]) for k in np.flatnonzero(g == 2)]),
            min(g[k] * x[k] for k in np.flatnonzero(g == 2)))  # fmt: skip


def shadowed(x, g):
    """The name of a comprehension is its own; what is asked of numbers stays as it is."""
    k = 5
    found = [k + x[k] for k in np.flatnonzero(g == 2)]
    return np.array(found) + k, [k for k in range(3) if k != 1], {k: x[k] for k in (1, 2)}


def in_turns(x, g):
    """A comprehension in a loop, over what no turn changes."""
    total = np.zeros(12)
    for t in range(12):
        total[t] = np.sum([x[i] * t for i in np.flatnonzero(g == 2)])
    return total


def late(x, g):
    """Functions see the last row."""
    made = [lambda v: v + x[k] for k in (1, 2, 3)]  # noqa: B023
    return made[0](1.0), made[2](1.0)


def chosen(x, g):
    return ([x[0] * k for k in (1, 2)] if len(g) > 3 else None, any(k > 1 for k in (1, 2)),
            [[x[i] * j for j in (1, 2)] for i in (3, 4)],
            [x[i] * j for i in (1, 2) for j in (3,)])  # fmt: skip


def sizes_of_elements(x, g):
    """Elements of arrays as sizes: of what is made, of what is reshaped."""
    n = g.max() + 1
    one_hot = np.zeros((len(g), n))
    one_hot[np.arange(len(g)), g] = 1
    few = np.reshape(x[: n * 3], (n, -1))
    return (one_hot, np.eye(g.max() + 1)[g], np.full((2, g[0]), 3.0), np.zeros(g[1], "int8"),
            np.linspace(0, 1, g[0] + 2), few, x[:12].reshape(3, g[:5].max()))  # fmt: skip


CASES = [means, means_in_a_list, comprehension, entropy, at_places, values, counts, zipped, centred,
         whole_list, rows, integers, filtered, of_pairs, sums, extremes, shadowed, late,
         chosen, in_turns, sizes_of_elements]  # fmt: skip


@pytest.mark.parametrize("function", CASES)
def test_loops_over_rows_that_data_count(function):
    check(function, X, G)


@pytest.mark.parametrize("function", [
    means, comprehension, entropy, at_places, values, counts, zipped, centred, whole_list, rows,
    integers, filtered, shadowed])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_no_rows_and_one_group(function):
    """NumPy's answer: an empty list is an array of floats, of one axis."""
    check(function, X, NONE, traced=None)


def test_a_negative_size_is_numpys_error():
    f = ck.jit(lambda g: np.zeros(g[0]).sum())
    assert f(np.array([3])) == 0
    with pytest.raises(ValueError, match="negative"):
        f(np.array([-3]))


def test_one_trace_serves_all_counts():
    f = ck.jit(comprehension)
    for most in (5, 2, 9, 1, 40):
        g = np.arange(300) % most
        np.testing.assert_allclose(f(X, g), comprehension(X, g), rtol=1e-13)
    assert f.report() == {**f.report(), "traces": 1, "numpy": {}}


def test_slopes_of_a_loop_over_groups():
    def loss(x):
        total = 0.0
        for k in np.unique(G):
            total += x[G == k].mean() ** 2
        return total

    slope = ck.jit.grad(loss)(X)
    for i in (0, 7, 299):
        step = 1e-6 * (np.arange(300) == i)
        wanted = (loss(X + step) - loss(X - step)) / 2e-6
        np.testing.assert_allclose(slope[i], wanted, rtol=1e-6, atol=1e-9)


def first_of(x, sum):
    return sum(v * 2 for v in x)


def first_of_others(x):
    return max(v * 2 for v in x)


def test_names_of_functions_of_pythons_may_be_others(monkeypatch):
    check(first_of, X[:3], next, traced=None)
    monkeypatch.setitem(globals(), "max", next)  # which takes no list
    check(first_of_others, X[:3], traced=None)
