"""Parts of arrays that move from turn to turn, read and stored into: NumPy's numbers over dtypes,
layouts and lengths; nothing is copied or masked where a slice stays inside of its axes, and what
does not stay there is NumPy's all the same."""

import copy
import random
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.jit import grad, hessian, vmap

from .beside import check, written

R = np.random.default_rng(11)
K4, K3, V = R.normal(size=(4, 4)), R.normal(size=3), R.normal(size=20)


def steps_of(jitted):
    """The instructions of all that was compiled for a function, in one text."""
    plans = jitted.plans.values()
    return "\n".join(s for p in plans for t in p.leaves.values() for s in t.compiled.steps())


# ---- what stays in place -------------------------------------------------------------------------


def add_blocks(A, k, n):
    for e in range(n):
        A[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k
    return A


def set_blocks(A, k, n):
    for e in range(n):
        A[2 * e : 2 * e + 4, e : e + 4] = k
    return A


def scaled_blocks(A, k, n):
    for e in range(n):
        A[e : e + 4, 2 * e : 2 * e + 4] *= k
    return A


def rows(A, k, n):
    for i in range(n):
        A[i : i + 2, :] -= k[0, 0]
    return A


def columns(A, k, n):
    for i in range(n):
        A[:, i : i + 2] = A[:, i + 1 : i + 3] + k[0, :2]
    return A


def runs(A, k, n):
    for i in range(n):
        A[i, i : i + 3] = k[0, :3]
        A[i + 1, i + 2 : i + 4] += k[1, :2].sum()
    return A


def inner(A, k, n):
    for i in range(n):
        A[1:-1, i : i + 2] += k[0, :2]
        A[i : i + 3, ::2] *= k[1, 1]
    return A


def downwards(A, k, n):
    for i in range(n - 1, -1, -1):
        A[i : i + 4, i : i + 4] += k * i
    return A


def in_steps(A, k, n):
    for i in range(1, 2 * n, 2):
        A[i - 1 : i + 3, i : i + 2] = k[:, :2] + i
    return A


def triangles(A, k, n):
    for i in range(n):
        for j in range(i, n):
            A[i : i + 2, j : j + 2] += k[:2, :2]
    return A


def nested_views(A, k, n):
    for i in range(n):
        part = A[i : i + 4]
        part[1:3, 2] = k[1:3, 0]
        part[:, i : i + 4] += k
    return A


def with_new_axes(A, k, n):
    for i in range(n):
        A[i : i + 2, None, 3] = k[:2, :1] * i
        A[2, i : i + 2, None] += 1
    return A


def with_indices(A, k, n):
    for i in range(n):
        A[i : i + 2, [1, 4, 2]] += k[:2, :3]
        A[-1, i : i + 2] = k[0, :2]
    return A


PLACES = [add_blocks, set_blocks, scaled_blocks, rows, columns, runs, inner, downwards, in_steps,
          triangles, nested_views, with_new_axes, with_indices]  # fmt: skip


def laid_out(x):
    """x in C order, in Fortran's, every second element of a larger one, backwards."""
    wide = np.zeros((2 * x.shape[0], 2 * x.shape[1]), x.dtype)
    wide[::2, ::2] = x
    return [x.copy(), np.asfortranarray(x), wide[::2, ::2], x[::-1, ::-1].copy()[::-1, ::-1]]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("function", PLACES, ids=lambda f: f.__name__)
def test_moving_parts_are_stored_in_place(function):
    for x in laid_out(R.normal(size=(20, 21))):
        jitted = check(function, x, K4, 7)
    assert "where" not in steps_of(jitted)
    for n in (0, 1, 2):
        check(function, R.normal(size=(20, 21)), K4, n)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint16", "complex64", "float16"])
def test_moving_parts_of_each_dtype(dtype):
    k = (np.arange(16).reshape(4, 4) + 1).astype(dtype)
    for function in (add_blocks, set_blocks, scaled_blocks, columns):
        x = (R.random((20, 21)) * 90).astype(dtype)
        check(function, x, k, 7, traced=None if dtype in ("complex64", "float16") else True)


def test_bools_and_parts_of_three_axes():
    def switched(A, n):
        for i in range(n):
            A[i : i + 3, i : i + 2] ^= True
        return A

    def cubes(A, k, n):
        for i in range(n):
            A[i : i + 3, i, i : i + 3] += k[:3, :3]
            A[0, i : i + 2, i : i + 3] *= k[0, :3]
            A[i : i + 2, i : i + 2, i : i + 2] -= k[0, 0]
        return A

    check(switched, R.random((9, 8)) > 0.5, 5)
    jitted = check(cubes, R.normal(size=(10, 11, 12)), K4, 6)
    assert "where" not in steps_of(jitted)


def test_parts_that_overlap_what_is_read():
    def moved_up(A, n):
        for i in range(n):
            A[i : i + 4] = A[i + 1 : i + 5]
        return A

    def turned(A, n):
        for i in range(n):
            A[i : i + 4] += A[i : i + 4][::-1]
            A[i : i + 3, i : i + 3] = A[i : i + 3, i : i + 3].T
        return A

    def from_both_sides(A, n):
        for i in range(1, n):
            A[i] = A[i - 1] + A[i + 1]
            A[i : i + 2, 1:] += A[i : i + 2, :-1]
        return A

    def swapped(A, n):
        for i in range(n):
            kept = A[i : i + 2].copy()
            A[i : i + 2] = A[i + 2 : i + 4]
            A[i + 2 : i + 4] = kept
        return A

    for function in (moved_up, turned, from_both_sides, swapped):
        check(function, R.normal(size=(12, 12)), 6)


def test_running_products_read_what_was_stored():
    def filtered(x, w, n):
        for i in range(n):
            x[i + 5] = np.dot(x[i : i + 5], w) * 0.1
        return x

    jitted = check(filtered, R.normal(size=60), R.normal(size=5), 50)
    assert "where" not in steps_of(jitted)


def test_one_trace_serves_all_counts_for_which_parts_stay_inside():
    jitted = ck.jit(add_blocks)
    for n in (9, 3, 0, 9, 1, 5):
        x = R.normal(size=(20, 20))
        assert np.array_equal(jitted(x.copy(), K4, n), add_blocks(x.copy(), K4, n))
    assert jitted.report()["traces"] == 1
    x = R.normal(size=(20, 4))  # a block would be cut here, where NumPy raises
    with pytest.raises(ValueError, match="could not be broadcast|operands"):
        jitted(x, K4, 3)


def test_a_first_value_is_written_once_where_the_steps_change_it():
    def zeros(x, k, n):
        A = np.zeros(x.shape)
        for i in range(n):
            A[i : i + 4, i : i + 4] += k
        return A, A.sum()

    def repeated(x, k, n):
        A = np.broadcast_to(x[0], x.shape).copy()
        for i in range(n):
            A[i, i : i + 4] -= k[0]
        return A

    def transposed(x, k, n):
        A = x.T.copy()
        for i in range(n):
            A[i : i + 4, 1] *= k[0]
        return A, x

    for function in (zeros, repeated, transposed):
        for n in (7, 0, 1):
            jitted = check(function, R.normal(size=(12, 12)), K4, n)
        assert steps_of(jitted).count("copy") == 1


def test_few_turns_that_store_in_slices_are_a_scan():
    def centred(A):
        for i in range(0, 40, 4):
            A[i : i + 4] -= A[i : i + 4].mean(0)
        return A

    def places(A):  # near misses: where nothing moves, few turns are taken one by one
        for i in range(6):
            A[1:5] += A[i]
        return A

    assert "scan" in steps_of(check(centred, R.normal(size=(40, 5))))
    assert "scan" not in steps_of(check(places, R.normal(size=(8, 5))))


# ---- lengths that change -------------------------------------------------------------------------


def american(v, s, n):
    for i in range(n - 1, -1, -1):
        v[: i + 1] = np.maximum(0.99 * (0.5 * v[1 : i + 2] + 0.49 * v[: i + 1]), s[: i + 1])
    return v


def tails(v, s, n):
    for i in range(n):
        v[i + 1 :] += s[i:-1] * v[i + 1 :]
        v[i:] -= s[i : len(s)]
    return v


def turned_ends(v, s, n):
    for i in range(1, n):
        v[:i] += s[2 : i + 2][::-1]
        v[:i] -= s[len(s) - i :][::-1] * 0.5
    return v


def sums_of_parts(v, s, n):
    for i in range(n):
        v[i] = np.dot(s[: i + 1], s[1 : i + 2]) + v[: i + 1].sum() + s[i:-1].max()
    return v


LENGTHS = [american, tails, turned_ends, sums_of_parts]


@pytest.mark.parametrize("function", LENGTHS, ids=lambda f: f.__name__)
def test_parts_of_lengths_that_change_have_a_form_in_c(function):
    for n in (9, 0, 1, 2, 10):
        check(function, R.random(12), R.random(12) / 4, n)
        check(function, R.random(12).astype("float32"), R.random(12).astype("float32") / 4, n)


def test_matrices_of_lengths_that_change():
    def shifted(A, B, n):
        for i in range(1, n):
            A[:i, 1:] += A[1 : i + 1, :-1] * 0.1
            A[i, 1 : i + 1] = B[i, :i] + B[0, 2 : i + 2]
            A[i:, :i] = B[i - 1 : -1, 1 : i + 1] + 1
        return A

    def products(A, B, n):
        for i in range(1, n):
            A[:i, :i] = B[1 : i + 1, : i + 1] @ B[: i + 1, 1 : i + 1]
            A[i, :i] = A[:i, :i] @ B[0, 2 : i + 2]
        return A

    for function in (shifted, products):
        for n in (7, 1, 2):
            check(function, R.normal(size=(9, 10)), R.normal(size=(9, 10)), n)


def squares_of_lags(x, n):
    found = np.zeros(n, np.result_type(x.dtype, np.float32))
    for k in range(1, n + 1):
        found[k - 1] = ((x[k:] - x[:-k]) ** 2).sum()
    return found


def products_of_lags(x, n):
    found = np.zeros(n, np.result_type(x.dtype, np.float32))
    for k in range(n):
        found[k] = (x[k:] * x[: len(x) - k]).mean()
    return found


def correlations_of_lags(x, n):
    found = np.zeros(n, np.result_type(x.dtype, np.float32))
    for k in range(1, n + 1):
        a, b = x[:-k] - x[:-k].mean(), x[k:] - x[k:].mean()
        found[k - 1] = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum() + 1)
    return found


def ends_of_lags(x, n):
    found = np.zeros(n, np.result_type(x.dtype, np.float32))
    for k in range(1, n + 1):
        found[k - 1] = (x[-k:] * x[:k]).sum() + x[-k:].max()
    return found


LAGS = [squares_of_lags, products_of_lags, correlations_of_lags, ends_of_lags]


@pytest.mark.parametrize("function", LAGS, ids=lambda f: f.__name__)
def test_last_elements_are_read_beside_as_many_first_ones(function):
    """Of 60 turns and more a loop is one scan; what is not in a slice may be NaN."""
    for dtype in ("float64", "float32", "int32"):
        x = (5 * R.normal(size=75)).astype(dtype)
        assert "NumPy or Python" not in steps_of(check(function, x, 60))
        check(function, x, 74)
        check(function, x, 3)
    x = np.append(R.normal(size=70), [np.nan, np.inf])
    check(function, x, 64)
    check(function, x[::-1], 64)


def test_lags_that_are_cut_are_numpys():
    def from_nothing_on(x, n):
        found = np.zeros(n)
        for k in range(n):
            found[k] = x[:-k].sum()  # x[:-0] has no elements
        return found

    check(from_nothing_on, R.normal(size=70), 64, traced=None)
    for size in (60, 61):
        check(squares_of_lags, R.normal(size=size), 60, traced=None)
        check(products_of_lags, R.normal(size=size), 60, traced=None)


def test_stores_in_other_ends_than_are_read():
    def both(x, n):
        z = x.copy()
        for k in range(1, n + 1):
            z[k:] += 0.5 * x[:-k]
            z[:-k] -= x[k:]
        return z

    for n in (60, 64, 3):
        check(both, R.normal(size=70), n, traced=None)


def test_the_last_elements_beside_the_first_are_of_one_count_of_turns():
    def crossed(v, s, n):
        for i in range(1, n):
            v[len(v) - i :] *= s[1 : i + 1]
        return v

    check(crossed, R.normal(size=12), R.normal(size=12), 9)


def test_lengths_that_are_cut_or_do_not_fit_are_numpys():
    def cut(v, s, n):
        for i in range(n):
            v[: i + 3] += 1
            v[i + 2 :] *= 2
        return v

    def from_behind(v, s, n):
        for i in range(n):
            v[: i - 1] += s[: i - 1]
            v[i - 3 :] *= 2
        return v

    def one_repeated(v, s, n):
        for i in range(1, n):
            v[: i + 1] += s[i : i + 1]
            v[:i] *= s[:1]
        return v

    def of_another_size(v, s, n):
        for i in range(n):
            v[: i + 1] += s[: i + 1]
            v[i:] *= 2
        return v

    for function in (cut, from_behind, one_repeated):
        for n in (12, 11, 3, 12):
            check(function, R.normal(size=12), R.normal(size=12), n, traced=None)
    check(of_another_size, R.normal(size=12), R.normal(size=15), 12)
    check(of_another_size, R.normal(size=15), R.normal(size=12), 12)
    with pytest.raises(ValueError):
        ck.jit(of_another_size)(R.normal(size=15), R.normal(size=12), 15)


PARTS = [":i", ":i + 1", "1:i + 1", "2:i + 2", "i:", "i + 1:", "i:-1", "i - 1:-2", "i:i + 3",
         "i + 1:i + 4", ":3", "1:4", "i:2 * i", "i + 1:2 * i + 1", ":-i", "i:i", "::2",
         "i - 1:i + 2", "i - 3:i", ":5 - i", "i + 9:"]  # fmt: skip
STORES = ["v[{a}] = s[{b}]", "v[{a}] += s[{b}]", "v[{a}] = v[{b}] * 0.5", "s[{a}] -= v[{b}]",
          "A[{a}, i] = s[{b}]", "A[i, {a}] += v[{b}]", "A[{a}, {b}] *= 0.5",
          "A[{a}, {b}] += s[{b}]", "A[{a}] = A[{b}] + 1", "v[i] = s[{a}].sum()",
          "v[{a}] += s[{a}] * v[{b}]", "A[{a}, 1:] = A[{b}, :-1]"]  # fmt: skip


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(60))
def test_random_stores_in_parts(seed, tmp_path):
    draw = random.Random(seed)
    lines = ["import numpy as np", "def f(A, v, s, n):", f"    for i in range({seed % 3}, n):"]
    for _ in range(draw.randint(1, 2)):
        a, b = draw.choice(PARTS), draw.choice(PARTS)
        b = draw.choice((a, b, draw.choice(PARTS[:4]) if a in PARTS[:4] else b))
        lines.append("        " + draw.choice(STORES).format(a=a, b=b))
    text = "\n".join([*lines, "    return v", ""])
    function = written(text, f"parts_{seed}", tmp_path)
    jitted = ck.jit(function)
    for n in (6, 1, 9, seed % 3):
        given = [R.normal(size=(10, 10)), R.normal(size=10), R.normal(size=10)]
        theirs, ours = copy.deepcopy(given), copy.deepcopy(given)
        outcome = []
        for f, arguments in ((function, theirs), (jitted, ours)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    outcome.append(f(*arguments, n).tolist())
                except (ValueError, IndexError) as problem:
                    outcome.append(type(problem))
        assert type(outcome[0]) is type(outcome[1]), text
        if isinstance(outcome[0], type):
            assert outcome[0] is outcome[1], text
        for x, y in zip(theirs, ours):
            np.testing.assert_allclose(x, y, rtol=1e-10, err_msg=text)


# ---- near misses ---------------------------------------------------------------------------------


def test_parts_that_are_cut_at_an_end_are_numpys():
    def to_the_end(A, n):
        for i in range(n):
            A[i : i + 4] *= 2
        return A

    def before_the_start(A, n):
        for i in range(n):
            A[i - 2 : i + 2] += 1
        return A

    def sums(A, n):
        y = np.zeros(n)
        for i in range(n):
            y[i] = A[i : i + 4].sum()
        return y

    def beyond(A, n):
        for i in range(n):
            A[i + 18 : i + 20] += 1
        return A

    def backwards_to_the_start(A, n):
        for i in range(n, -3, -1):
            A[i : i + 2] += 1
        return A

    for function in (to_the_end, before_the_start, sums, beyond, backwards_to_the_start):
        for n in (17, 20, 1):
            jitted = check(function, R.normal(size=20), n)
        for n in (20, 16, 17, 20):  # both kinds of calls, one after the other
            x = R.normal(size=20)
            want, got = x.copy(), x.copy()
            np.testing.assert_allclose(jitted(got, n), function(want, n))
            np.testing.assert_allclose(got, want)


def test_parts_whose_place_no_number_of_a_turn_says():
    def from_data(A, s):
        for i in range(len(s)):
            A[s[i] : s[i] + 3] += 1
        return A

    def carried(A, n):
        k = 0
        while k < n:
            A[k : k + 2] += 1
            k += 3
        return A

    def either(A, n):
        for i in range(n):
            if A[i] > 0:
                A[i : i + 2] -= 1
            else:
                A[i + 1 : i + 3] += 2
        return A

    check(from_data, R.normal(size=20), np.array([3, -2, 19, 0, 25, -30]), traced=None)
    check(carried, R.normal(size=20), 21)
    check(either, R.normal(size=20), 17)


def test_slices_of_other_lengths():
    def empty(A, n):
        for i in range(n):
            A[i:i] = 3
            A[i : i - 1] = 4
        return A

    def as_long_as_the_axis(A, n):
        for i in range(n):
            A[i : i + 6] += i
        return A

    def too_long(A, n):
        for i in range(n):
            A[i : i + 7] += i
        return A

    def every_second(A, n):
        for i in range(n):
            A[i : i + 4 : 2] += i
        return A

    for function in (empty, as_long_as_the_axis, too_long, every_second):
        for n in (1, 3):
            check(function, R.normal(size=6), n)


def test_errors_are_numpys_and_leave_what_numpy_leaves():
    def misfit(A, k, n):
        for i in range(n):
            A[i : i + 3] = k
        return A

    def out_of_bounds(A, at, k):
        for i in range(len(at)):
            A[at[i], i : i + 3] += k
        return A

    with pytest.raises(ValueError):
        ck.jit(misfit)(R.normal(size=9), V[:4], 5)
    x = R.normal(size=(5, 9))
    want, got = x.copy(), x.copy()
    for f, a in ((out_of_bounds, want), (ck.jit(out_of_bounds), got)):
        with pytest.raises(IndexError):
            f(a, np.array([1, 2, 5, 1]), K3)
    assert np.array_equal(want, got)


# ---- transforms ----------------------------------------------------------------------------------


def energy(x, k):
    A = np.zeros((9, 9))
    for e in range(3):
        A[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k * x[e]
        A[e, e : e + 3] = k[0, :3] * A[e + 1, e : e + 3]
        A[e + 1 : e + 3, 2:4] *= x[e]
    return np.sum(A**2 * np.arange(81.0).reshape(9, 9)) / 100


def triangle(x, k):
    v = x * 1.0
    for i in range(4, -1, -1):
        v[: i + 1] = np.maximum(0.9 * (0.5 * v[1 : i + 2] + 0.4 * v[: i + 1] ** 2), k[0, 0] * x[0])
        v[i + 1 :] *= x[i:-1] * np.sin(v[i + 1 :])
    return np.sum(v * np.arange(6.0))


def differences(f, x, step=1e-5):
    found = np.zeros((*np.shape(f(x)), *x.shape))
    for at in np.ndindex(*x.shape):
        ahead, back = x.copy(), x.copy()
        ahead[at] += step
        back[at] -= step
        found[(..., *at)] = (f(ahead) - f(back)) / (2 * step)
    return found


@pytest.mark.rest
def test_gradients_through_moving_parts_to_second_order():
    x, k = R.random(3) + 0.5, R.random((4, 4))
    by_x, by_k = grad(energy, argnums=(0, 1))(x, k)
    np.testing.assert_allclose(by_x, differences(lambda v: energy(v, k), x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(by_k, differences(lambda v: energy(x, v), k), rtol=1e-6, atol=1e-6)
    second = hessian(energy, argnums=1)(x, k)
    want = differences(lambda v: grad(energy, argnums=1)(x, v), k)
    np.testing.assert_allclose(second, want, rtol=1e-5, atol=1e-5)
    want = differences(lambda v: grad(energy)(v, k), x)
    np.testing.assert_allclose(hessian(energy)(x, k), want, rtol=1e-5, atol=1e-5)


def test_gradients_through_lengths_that_change_to_second_order():
    x, k = R.random(6) + 0.5, R.random((4, 4))
    np.testing.assert_allclose(
        grad(triangle)(x, k), differences(lambda v: triangle(v, k), x), rtol=1e-6, atol=1e-6
    )
    want = differences(lambda v: grad(triangle)(v, k), x)
    np.testing.assert_allclose(hessian(triangle)(x, k), want, rtol=1e-5, atol=1e-5)


def test_gradients_through_lags():
    def cost(x):
        s = 0.0
        for k in range(1, 61):
            s += ((x[k:] - x[:-k]) ** 2 * x[: len(x) - k]).sum()
        return s / 1000

    x = R.random(66) + 0.5
    np.testing.assert_allclose(grad(cost)(x), differences(cost, x), rtol=1e-6, atol=1e-6)
    some = x[:62]
    want = differences(lambda v: grad(cost)(v), some)
    np.testing.assert_allclose(hessian(cost)(some), want, rtol=1e-5, atol=1e-5)


def test_a_gradient_costs_what_its_places_cost():
    def scaled(x, k):
        A = np.ones((40, 40))
        for e in range(18):
            A[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] *= k * x[e]
            A[e] += x[e]
        return np.sum(A * A) / 1000

    x, k = R.random(18) + 0.5, R.random((4, 4)) + 0.5
    jitted = grad(scaled)
    want = differences(lambda v: scaled(v, k), x)
    np.testing.assert_allclose(jitted(x, k), want, rtol=1e-6, atol=1e-6)
    last = steps_of(jitted).rpartition("scan of")[2]
    inside = [s.split(":   ")[1] for s in last.split("\n") if ":   " in s]
    assert "advanced_set" in inside and "add" not in inside  # of two whole states


def test_batches_of_moving_parts():
    x, k = R.random((5, 3)) + 0.5, R.random((4, 4))
    got = vmap(energy, in_axes=(0, None))(x, k)
    np.testing.assert_allclose(got, [energy(v, k) for v in x])
