"""Loops and slices in a step: no room for turns that nobody reads, slices that start anywhere."""

import keras
import numpy as np
import pytest
from keras import ops

from ckernels.keras3 import control, jit, value_and_grad
from ckernels.ops.scan import ENDLESS

X = np.arange(24, dtype="float32").reshape(4, 6)


@pytest.mark.parametrize("at", [0, 3, 4, 5, 9, -1, -2, -3, -7])
def test_slices_start_anywhere_and_lie_inside(at):
    """As XLA has it: a negative start is from the end, and what would reach beyond moves back."""
    start = min(max(at + 6 if at < 0 else at, 0), 4)
    wanted, written = X[:3, start : start + 2], X.copy()
    written[:3, start : start + 2] = -1

    def cut(x, at):
        return ops.slice(x, (0, at), (3, 2))

    def write(x, at):
        return ops.slice_update(x, (0, at), -ops.ones((3, 2)))

    for value in (at, np.int32(at)):
        np.testing.assert_array_equal(cut(X, value), wanted)
        np.testing.assert_array_equal(write(X, value), written)
    np.testing.assert_array_equal(jit(cut)(X, np.int32(at)), wanted)
    np.testing.assert_array_equal(jit(write)(X, np.int32(at)), written)
    slope = jit(value_and_grad(lambda x, at: ops.sum(cut(x, at) ** 2)))(X, np.int32(at))[1]
    wanted_slope = np.zeros_like(X)
    wanted_slope[:3, start : start + 2] = 2 * wanted
    np.testing.assert_array_equal(slope, wanted_slope)


def test_the_shape_of_a_slice_is_what_was_asked_for():
    shapes = []

    def f(x, at):
        n = ops.shape(x)[0]
        parts = [ops.slice(x, (0, at), (2, 3)), ops.slice(x, (at, 0), (n - at, 2))]
        shapes.extend(tuple(p.shape) for p in parts)
        return parts

    step = jit(f)
    for rows in (4, 3, 2):
        a, b = step(X[:rows], np.int32(1))
        np.testing.assert_array_equal(a, X[:2, 1:4])
        np.testing.assert_array_equal(b, X[1:rows, :2])
    assert set(shapes) == {(2, 3), (None, 2)}


def test_updates_of_an_open_number_of_rows():
    step = jit(lambda x, y, at: ops.slice_update(x, (0, at), y))
    for rows in (4, 3, 2):
        wanted = X[:rows].copy()
        wanted[:, 4:5] = 7
        found = step(X[:rows], np.full((rows, 1), 7, "float32"), np.int32(4))
        np.testing.assert_array_equal(found, wanted)


def said(first, turns):
    """Rows that are written one by one, from what the last ones hold: a cache of a decoder."""

    def turn(i, rows, total):
        last = ops.slice(rows, (0, i, 0), (2, 1, 3))
        new = ops.matmul(last, ops.eye(3) * 2) + ops.cast(i, "float32")
        return i + 1, ops.slice_update(rows, (0, i + 1, 0), new), total + ops.mean(ops.max(new, -1))

    start = ops.slice_update(ops.zeros((2, 9, 3)), (0, 0, 0), first)
    return ops.while_loop(lambda i, *rest: i < turns, turn, (0, start, ops.zeros(())))


def said_by_numpy(first, turns):
    rows, total = np.zeros((2, 9, 3), "float32"), 0
    rows[:, 0:1] = first
    for i in range(turns):
        rows[:, i + 1] = rows[:, i] * 2 + i
        total += rows[:, i + 1].max(-1).mean()
    return turns, rows, total


@pytest.mark.parametrize("turns", [0, 1, 8])
def test_loops_without_a_bound_keep_one_state(turns):
    first = np.arange(6, dtype="float32").reshape(2, 1, 3)
    found = jit(said)(first, np.int32(turns))
    for a, b in zip(found, said_by_numpy(first, turns)):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("turns", [0, 1, 8])
def test_and_have_gradients(turns):
    """Each turn doubles what came before; the largest element of a row has all of its slope."""
    first = np.arange(6, dtype="float32").reshape(2, 1, 3)
    step = jit(value_and_grad(lambda first, turns: said(first, turns)[2]))
    _, slope = step(first, np.int32(turns))
    wanted = np.zeros_like(first)
    wanted[..., -1] = (2.0 ** np.arange(1, turns + 1)).sum() / 2
    np.testing.assert_allclose(slope, wanted)


def test_a_loop_may_take_more_turns_than_32_bits_count(monkeypatch):
    """Not that many are run here: what the loop is given as its limit is looked at."""
    limits, made = [], control.make_scan

    def noted(step, steps, *rest):
        limits.append(steps)
        return made(step, steps, *rest)

    monkeypatch.setattr(control, "make_scan", noted)
    start = (ops.zeros((), "int64"),)
    f = jit(lambda n: ops.while_loop(lambda i: i < n, lambda i: (i + 1,), start))
    assert int(f(np.int64(5))[0]) == 5
    assert limits[0] == ENDLESS > 2**60


def largest(x):
    return ops.sum(ops.map(lambda row: ops.exp(row - ops.max(row)), x))


def halved(x):
    """A gradient of one's own, which reads what was computed before it, in each turn of a loop."""

    def of_row(row):
        double = row * 2

        @ops.custom_gradient
        def f(a):
            return a * a, lambda upstream: upstream * double / 2

        return f(row)

    return ops.sum(ops.map(of_row, x))


@pytest.mark.parametrize("whole", [False, True])
def test_gradients_of_ones_own_in_the_turns_of_a_loop(whole):
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")

    def f(x):
        return largest(x) + halved(x) * 3

    step = jit(value_and_grad(f)) if whole else jit(lambda x: value_and_grad(f)(x))
    _, slope = step(x)
    e = np.exp(x - x.max(1, keepdims=True))
    wanted = e - (x == x.max(1, keepdims=True)) * e.sum(1, keepdims=True) + 3 * x
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-6)


def test_a_gradient_that_fails_says_so_when_it_is_asked_for():
    @ops.custom_gradient
    def f(x):
        def slope(upstream):
            raise KeyError("no slope")

        return x + 1, slope

    np.testing.assert_array_equal(jit(f)(X), X + 1)
    with pytest.raises(Exception, match="no slope"):
        jit(value_and_grad(lambda x: ops.sum(f(x))))(X)


def test_second_derivatives_go_through_them():
    @ops.custom_gradient
    def cube(x):
        return x**3, lambda upstream: upstream * 3 * x**2

    def slope(x):
        return ops.sum(value_and_grad(lambda x: ops.sum(cube(x)))(x)[1])

    np.testing.assert_allclose(jit(value_and_grad(slope))(X)[1], 6 * X)


@pytest.mark.parametrize("traced", [False, True])
def test_functions_along_rows(traced):
    run = jit if traced else lambda f: f
    each = ops.vectorize(lambda a, b: ops.vdot(a, a) + b, signature="(n),()->()")
    y = np.arange(4, dtype="float32")
    np.testing.assert_allclose(run(each)(X, y), (X**2).sum(1) + y)
    np.testing.assert_allclose(run(lambda x: each(x, 3.0))(X), (X**2).sum(1) + 3)
    outer = ops.vectorize(lambda a, b: a * b)
    found = run(lambda a, b: outer(a[:, None], b[None]))(y, y + 1)
    np.testing.assert_allclose(found, np.outer(y, y + 1))
    powers = ops.vectorize(lambda x, k, scale: scale * x**k, excluded={1, "scale"})
    np.testing.assert_allclose(run(lambda y: powers(y, 2, scale=3.0))(y), 3 * y**2)


def test_a_step_of_a_layer_of_a_decoder_says_what_the_whole_says():
    """The batch is open, and so is the place that is written to."""

    class Running(keras.layers.Layer):
        def call(self, x, cache=None, at=0):
            if cache is None:
                return ops.cumsum(x, 1)
            cache = ops.slice_update(cache, (0, at, 0), x)
            seen = ops.arange(cache.shape[1])[:, None] <= at
            return ops.sum(ops.where(seen, cache, 0), 1, keepdims=True), cache

    layer = Running()
    step = jit(lambda x, cache, at: layer(x, cache=cache, at=at))
    for rows in (3, 2):
        x = np.random.default_rng(0).normal(size=(rows, 4, 2)).astype("float32")
        cache, found = np.zeros_like(x), []
        for at in range(4):
            y, cache = step(x[:, at : at + 1], cache, np.int32(at))
            found.append(np.asarray(y)[:, 0])
        np.testing.assert_allclose(np.stack(found, 1), layer(x), rtol=1e-5)


def test_a_loop_without_an_end_picks_as_many_elements_as_data_tell():
    """Of its states, of which there may be 2**62, no rows are laid out."""

    def counted(x):
        def turn(i, total):
            places = ops.nonzero(x > ops.cast(i, "float32"))[0]
            return i + 1, total + ops.sum(ops.cast(places, "float32"))

        return ops.while_loop(lambda i, _: i < 4, turn, (0, ops.zeros(())))[1]

    x = np.array([5, 2, 7, 1], "float32")
    assert jit(counted)(x) == (0 + 1 + 2 + 3) + (0 + 1 + 2) + (0 + 2) + (0 + 2)
