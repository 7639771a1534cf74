"""Functions whose shapes depend on data run in pieces: compiled, with NumPy between them."""

from functools import partial

import numpy as np
import pytest
from plan.test_pipeline_work import calls

import ckernels as K
from ckernels.base.errors import KeyShapeError, ShapeError
from ckernels.base.native import runtime

TABLES = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]])]


@pytest.mark.parametrize("table", TABLES)
def test_indices_of_what_is_not_zero(table):
    x = K.placeholder((None, None), name="x")
    rows, columns = K.nonzero(x)
    f = K.function([x], [rows, columns, K.sum(x[rows, columns]), x[x > 0] * 2])
    got = f([table])
    np.testing.assert_array_equal(got[0], np.nonzero(table)[0])
    np.testing.assert_array_equal(got[1], np.nonzero(table)[1])
    assert got[2] == table.sum()
    np.testing.assert_array_equal(got[3], table[table > 0] * 2)


LAID = [
    np.random.default_rng(4).random((5, 40)) < 0.5,
    np.asfortranarray(np.random.default_rng(5).random((3, 4, 7)) < 0.3),
    (np.arange(60) % 3 == 0)[::-2],
    np.arange(9, dtype="uint8").view("bool"),
    np.ones((2, 8), bool),
    np.zeros((4, 3), bool),
    np.ones((3, 0, 2), bool),
    np.ones((0, 3), bool),
]


@pytest.mark.parametrize("mask", LAID, ids=[f"{m.shape}" for m in LAID])
def test_places_of_masks_however_they_lie(mask):
    m = K.placeholder((None,) * mask.ndim, dtype="bool")
    x = K.placeholder((None,) * mask.ndim, dtype="int64")
    f = K.function([m, x], [*K.nonzero(m), x[m]])
    values = np.arange(mask.size).reshape(mask.shape)
    *places, taken = f(mask, values)
    for place, known in zip(places, np.nonzero(mask)):
        assert place.dtype == "int64"
        np.testing.assert_array_equal(place, known)
    np.testing.assert_array_equal(taken, values[mask.astype("uint8") != 0])
    with pytest.raises(KeyShapeError):
        f(mask, np.zeros([n + 1 for n in mask.shape], "int64"))


def test_a_stage_that_is_not_well_formed_is_refused():
    whole = ((), (), (), 0, 0, (), ())
    for wrong in [
        (None, None, *whole[:-1], ((0, 0, -1, None, None, ()),)),  # no operand
        (None, None, *whole[:-2], ((3, 0, None),), ()),  # from nowhere
        (None, None, *whole[:-2], ((2, 0, None),), ()),  # no object
        (None, None, *whole[:-2], ((2, 0, 1),), ()),  # an operand of nothing
    ]:
        with pytest.raises(ValueError):
            runtime.Stage().take(*wrong)
    stage, ints = runtime.Stage(), np.array
    stage.take(None, None, *whole)
    with pytest.raises(ValueError):
        stage.take(None, None, *whole)
    empty = ints([[0, 0, 0]])[:0], ints([0])[:0], ints([[0, 0]])[:0]
    for sizes, code, args, assumed in [
        (ints([-1]), ints([[1, 1, 0]]), *empty[1:]),  # one symbol, and the second is asked for
        (ints([3]), ints([[0, 3]]), *empty[1:]),
        (ints([3]), *empty[:2], ints([[0, 0]])),
    ]:
        with pytest.raises(ValueError):
            stage.learn(sizes, code, args, assumed, runtime.Stage())


def test_updates_are_applied_by_the_last_piece_only():
    x, v = K.placeholder((None,), name="x"), K.zeros((2,), name="v")
    f = K.function([x], K.sum(x[x > 0]), updates=[(v, v + x[x > 0])])
    assert f(np.array([1.0, -1.0, 2.0])) == 3
    with pytest.raises(ShapeError):
        f(np.array([1.0, 2.0, 3.0]))  # three do not fit a variable of two
    np.testing.assert_array_equal(K.get_value(v), [1.0, 2.0])


def test_data_decides_behind_a_product_of_unknown_sizes():
    x, w = K.placeholder(ndim=2), K.ones((5, 4))
    f = K.function([x], list(K.nonzero(K.dot(x, w))))
    got = f(np.array([[0.0] * 5, [1.0] * 5]))
    np.testing.assert_array_equal(got, [[1] * 4, range(4)])


def applied(function, arguments, results):
    results.extend(function(*arguments))


def test_other_counts_are_not_planned_again():
    """A mask, what is not zero, and a slice with bounds from data, with gradients and an update:
    each of them gives other sizes in each call."""
    x, m = K.placeholder((None, 4)), K.placeholder((None,), dtype="bool")
    n = K.placeholder((), dtype="int64")
    w = K.variable(np.eye(4), name="w")
    h = K.tanh(K.dot(x[m], w))
    loss = K.sum(K.square(h)) + K.sum(x[n:] * 2)
    rows = K.nonzero(x[:, 0])[0]
    update = K.update_sub(w, 0.1 * K.gradients(loss, [w])[0])
    f = K.function([x, m, n], [h, loss, K.take(x, rows, 0), x[n:]], updates=[update])
    rng, weights, planned = np.random.default_rng(0), np.eye(4), []
    for _ in range(40):
        a = np.where(rng.random((rng.integers(6, 20), 4)) < 0.5, 0, rng.random(4))
        mask, start = rng.random(len(a)) < rng.random(), int(rng.integers(0, 4))
        mask[:2] = a[:2, 0] = True
        got = []
        planned.append(calls(partial(applied, f, (a.astype("f"), mask, start), got)))
        want = np.tanh(a[mask] @ weights)
        slope = a[mask].T @ (2 * want * (1 - want**2))
        weights = weights - 0.1 * slope
        np.testing.assert_allclose(got[0], want, rtol=1e-4, atol=1e-5)
        assert got[1] == pytest.approx((want**2).sum() + 2 * a[start:].sum(), rel=1e-4)
        np.testing.assert_allclose(got[2], a[a[:, 0] != 0], rtol=1e-5)
        np.testing.assert_allclose(got[3], a[start:], rtol=1e-5)
    assert sorted(planned)[30] < 300 < max(planned) / 5
    assert f.stats()["plans"] > 35 and f.stats()["classes"] < 12


def test_counts_of_another_class_are_planned():
    """0, 1, more, and counts that must agree: each mask is a number of rows of its own."""
    x, y = K.placeholder((None,)), K.placeholder((None,))
    f = K.function([x, y], [x[x > 0] + y, K.sum(x[x > 0] * 2)])
    for positive, other in ((3, 3), (4, 4), (0, 1), (1, 5), (5, 1), (7, 7), (0, 0), (3, 3)):
        a = np.concatenate([np.full(positive, 2.0), np.full(3, -1.0)])
        got = f(a, np.arange(other))
        np.testing.assert_array_equal(got[0], np.full(positive, 2.0) + np.arange(other))
        assert got[1] == 4 * positive
    for positive, other in ((3, 4), (2, 0)):
        with pytest.raises(ShapeError):
            f(np.concatenate([np.full(positive, 2.0), [-1.0]]), np.arange(other))


def test_a_softmax_of_what_a_bound_cuts_off():
    """As the guide has it: exp of the slice, not a slice of exp."""
    x, n = K.placeholder((None,)), K.placeholder((), dtype="int32")
    e = K.exp(x[:n])
    s = e / K.sum(e)
    f = K.function([x, n], [s, K.grad(K.sum(K.square(s)), x)])
    value, slope = f(np.array([300.0, 299.0, 500.0]), 2)
    p = np.exp([0, -1.0]) / np.exp([0, -1.0]).sum()
    np.testing.assert_allclose(value, p, rtol=1e-6)
    np.testing.assert_allclose(slope, [*(2 * p * (p - p @ p)), 0], rtol=1e-5)


# --- each piece once ---


def rounds(count, dtype="complex128"):
    """A function of `count` rounds that read and write at positions from data, and its argument.

    Complex numbers are NumPy's, so that each of their ops is seen when it runs.
    """
    z = K.placeholder((None, None), dtype=dtype)
    w, sums = z, []
    for _ in range(count):
        w = w * w + z
        at = K.nonzero(K.abs(w) < 2)
        w = K.set_subtensor(w[at], w[at][::-1] * 0.5)
        sums.append(K.sum(K.abs(w)))
    return K.function([z], [w, *sums])


def rounds_in_numpy(z, count):
    w, sums = z, []
    for _ in range(count):
        w = w * w + z
        at = np.nonzero(np.abs(w) < 2)
        w[at] = w[at][::-1] * 0.5
        sums.append(np.abs(w).sum())
    return [w, *sums]


def test_what_a_piece_computed_is_not_computed_again():
    rng, work = np.random.default_rng(0), {}
    for z in (rng.uniform(-0.5, 0.2, (9, 5)), rng.uniform(-0.5, 0.5, (9, 5)) * 1j):
        for count in (5, 20):
            f = rounds(count)
            for got, true in zip(f([z]), rounds_in_numpy(z.astype(complex), count)):
                np.testing.assert_allclose(got, true, rtol=1e-12)
            work[count] = calls(partial(f, [z]))
        assert work[20] < 4.5 * work[5]  # it grew with the square of the rounds


def test_cuts_that_are_known_at_once_share_a_piece():
    x, y = K.placeholder((None,)), K.placeholder((None,))
    parts = [x[x > 0], y[y > 1], x[x < 0] * 2]
    f = K.function([x, y], [*parts, parts[0][parts[0] > 2]])
    a = np.array([1.0, -2.0, 3.0])
    got = f([a, a])
    for have, want in zip(got, ([1, 3], [3], [-4], [3])):
        np.testing.assert_array_equal(have, want)
    assert len(f.pieces) == 3  # all masks but the last, which needs them; that one; the results


def test_sizes_stay_sizes_behind_a_cut():
    """A shape that follows from shapes does so in each piece, though an earlier one computed it."""
    x = K.placeholder((None, 3))
    n = K.shape(x)[0] * 2
    wide = K.broadcast_to(K.arange(n), (n,)) * 1.0
    some = wide[wide > 2]
    f = K.function([x], [some, K.sum(some) + K.zeros_like(wide), n])
    for rows in (2, 4, 1):
        some, zeros, size = f([np.ones((rows, 3))])
        np.testing.assert_array_equal(some, np.arange(3, 2 * rows))
        assert zeros.shape == (2 * rows,) and size == 2 * rows


# --- what is read and written at one mask ---------------------------------------------------------


def escape(n, z, c, where):
    """Rounds of the quadratic map by masks, of real and imaginary parts; and when each left."""
    (zr, zi), (cr, ci), left = z, c, z[0] * 0
    for i in range(n):
        m = zr * zr + zi * zi <= 4
        a, b = zr[m], zi[m]
        zr = where(zr, m, a * a - b * b + cr[m])
        zi = where(zi, m, 2 * a * b + ci[m])
        left = where(left, m, i + 1.0)
    return zr, zi, left


def written(x, m, y):
    x = x.copy()
    x[m] = y
    return x


@pytest.mark.parametrize("shape", [(6, 5), (1, 4), (0, 3), (1, 1)])
def test_rounds_by_masks_are_one_piece(shape):
    cr, ci = (K.placeholder((None, None), dtype="float64") for _ in range(2))
    made = escape(5, (cr, ci), (cr, ci), lambda x, m, y: K.set_subtensor(x[m], y))
    f = K.function([cr, ci], list(made))
    rng = np.random.default_rng(1)
    args = rng.normal(size=shape), rng.normal(size=shape)
    want = escape(5, args, args, written)
    for got, true in zip(f(args), want):
        np.testing.assert_allclose(got, true, rtol=1e-9)
    assert f.pieces is None


def test_gradients_through_a_mask_that_is_written():
    x, w = K.placeholder((None, None), dtype="float64"), K.placeholder((), dtype="float64")
    y = K.set_subtensor(x[x > 0], K.sin(x[x > 0] * w))
    cost = K.sum(K.square(y)) + K.sum(x[x > 0])
    slopes = K.gradients(cost, [x, w])
    twice = K.gradients(K.sum(slopes[0] * slopes[0]), [x])
    f = K.function([x, w], [cost, *slopes, *twice])
    a = np.random.default_rng(2).normal(size=(3, 4))
    cost, by_x, by_w, second = f([a, 0.7])
    m, s, c = a > 0, np.sin(0.7 * a), np.cos(0.7 * a)
    slope = np.where(m, 2 * s * c * 0.7 + 1, 2 * a)
    np.testing.assert_allclose(cost, np.where(m, s**2 + a, a**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(by_x, slope, rtol=1e-12)
    np.testing.assert_allclose(by_w, (2 * s * c * a)[m].sum(), rtol=1e-12)
    curve = np.where(m, 2 * 0.49 * (c * c - s * s), 2)
    np.testing.assert_allclose(second, 2 * slope * curve, rtol=1e-11)
    assert f.pieces is None


def test_a_mask_that_does_not_fit_is_refused_as_before():
    """Not broadcast, as the choice that takes its place would."""
    x, m = K.placeholder((None, None)), K.placeholder((None, None), dtype="bool")
    f = K.function([x, m], K.set_subtensor(x[m], x[m] * 2))
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f([a, a > 2]), np.where(a > 2, 2 * a, a))
    for shape in ((1, 3), (2, 1), (1, 1), (3, 2)):
        with pytest.raises(KeyShapeError, match="does not fit"):
            f([a, np.ones(shape, bool)])


# --- sizes inside of a step ----------------------------------------------------------------------


def compiled_steps(monkeypatch):
    """From here on a scan that its oracle runs fails the test."""

    def walk(*args):
        raise AssertionError("the steps were run in Python")

    monkeypatch.setattr("ckernels.ops.scan.walk", walk)


def growing(inner=None):
    """A function of k, x, n: states that start as x and of which each step makes (k, 2 k)."""
    x, k, n = K.placeholder(()), K.placeholder((), dtype="int64"), K.placeholder((), dtype="int64")

    def step(state, k):
        wide = K.broadcast_to(K.tanh(state), (k, 2 * k)) * K.cast(K.arange(2 * k), "float32")
        return K.sum(wide if inner is None else inner(k, wide)) / K.cast(k, "float32")

    states, _ = K.scan(step, outputs_info=x, non_sequences=[k], n_steps=n)
    return K.function([k, x, n], [states, K.gradients(states[-1], [x])[0]])


def grown(k, x, n, times):
    states, slope, factor = [x], 1.0, times * (2 * k - 1) * k
    for _ in range(n):
        slope *= factor * (1 - np.tanh(states[-1]) ** 2)
        states.append(factor * np.tanh(states[-1]))
    return states[1:], slope


SIZED = [(3, 0.01, 2), (1, 0.25, 3), (3, 0.125, 1), (5, -0.001, 2), (2, 0.03, 2), (3, 0.01, 2)]


@pytest.mark.parametrize("k,x,n", SIZED)
def test_an_input_gives_the_sizes_inside_of_a_step(k, x, n, monkeypatch):
    f = growing()
    compiled_steps(monkeypatch)
    for got, true in zip(f(k, x, n), grown(k, x, n, 1)):
        np.testing.assert_allclose(got, true, rtol=2e-6)


@pytest.mark.parametrize("k,x,n", SIZED)
def test_an_input_gives_the_sizes_two_scans_deep(k, x, n, monkeypatch):
    def inner(k, wide):
        rows, _ = K.scan(
            lambda row, wide, k: row + wide * K.sum(K.broadcast_to(K.sum(row) * 0 + 1, (k,))),
            outputs_info=wide,
            non_sequences=[wide, k],
            n_steps=2,
        )
        return rows[-1]

    f = growing(inner)
    compiled_steps(monkeypatch)
    for got, true in zip(f(k, x, n), grown(k, x, n, 1 + 2 * k)):
        np.testing.assert_allclose(got, true, rtol=2e-6)


def test_sizes_inside_of_a_step_may_be_wrong():
    x, k, n = K.placeholder(()), K.placeholder((), dtype="int64"), K.placeholder((), dtype="int64")
    states, _ = K.scan(
        lambda s, k, x: x + K.sum(K.broadcast_to(s, (k,))),
        outputs_info=x,
        non_sequences=[k, x],
        n_steps=n,
    )
    f = K.function([k, x, n], states)
    np.testing.assert_array_equal(f(2, 1.0, 3), [3, 7, 15])
    with pytest.raises(ShapeError, match=r"\(-1,\)[^$]*lambda s, k, x: x \+ K.sum"):
        f(-1, 1.0, 3)
    assert f(-1, 1.0, 0).shape == (0,)  # no step, no wrong size
    np.testing.assert_array_equal(f(2, 1.0, 3), [3, 7, 15])


def test_draws_of_sizes_that_an_input_gives(monkeypatch):
    k = K.placeholder((), dtype="int64")
    rows, _ = K.scan(
        lambda s, k: s + K.sum(K.random_uniform((k, 2), 1.0, 1.0)),
        outputs_info=K.constant(0.0),
        non_sequences=[k],
        n_steps=3,
    )
    f = K.function([k], rows)
    compiled_steps(monkeypatch)
    np.testing.assert_array_equal(f(4), [8, 16, 24])
    np.testing.assert_array_equal(f(1), [2, 4, 6])
