"""K.scan with state of its own: variables that steps update, random draws, checkpoints."""

import numpy as np
import pytest

import ckernels as K
from ckernels.api.scan_step import Updates
from ckernels.base.errors import ArgumentError, DTypeError, NotSupported

F = "float64"


# --- variables and random numbers -------------------------------------------------------------


def test_variables_are_captured_and_strict_wants_them_named():
    w, x = K.variable(2.0, name="w"), K.constant(np.arange(3.0))
    for others in (None, [w]):
        rows, _ = K.scan(lambda x_t, *rest: x_t * w, x, None, others)
        assert K.eval(rows).tolist() == [0, 2, 4]
    K.scan(lambda x_t, w: x_t * K.exp(w), x, None, [w], strict=True)
    with pytest.raises(ArgumentError, match="uses w .*strict"):
        K.scan(lambda x_t: x_t * w, x, strict=True)
    p = K.placeholder((), name="p")
    with pytest.raises(ArgumentError, match="uses p "):
        K.scan(lambda x_t: x_t * K.exp(p), x, strict=True)


def test_updates_use_old_values_and_may_depend_on_rows():
    a, b = K.variable(1.0), K.variable(2.0)
    x = K.constant(np.array([10.0, 20.0]))
    rows, updates = K.scan(lambda x_t: (a + b, {a: b, b: a + x_t}), x)
    f = K.function([], rows, updates=updates)
    assert f().tolist() == [3, 13] and K.get_value(a) == 11 and K.get_value(b) == 22
    assert len(updates) == 2 and b in updates and K.variable(0.0) not in updates


def test_updates_can_be_merged_when_they_agree():
    a, b = K.variable(1.0), K.variable(2.0)
    _, one = K.scan(lambda: {a: a + 1}, n_steps=2)
    _, two = K.scan(lambda: {b: b + 1}, n_steps=2)
    both = one + two
    assert isinstance(both, Updates) and len(both) == 2
    both.update(one)
    _, other = K.scan(lambda: {a: a + 2}, n_steps=2)
    with pytest.raises(ArgumentError, match="two different updates"):
        one + other
    with pytest.raises(DTypeError, match="keys of updates"):
        Updates({"a": 1})


def test_draws_differ_from_step_to_step_and_call_to_call():
    rows, updates = K.scan(lambda: K.random_uniform((2,), seed=5), n_steps=4)
    for given in (updates, None):
        f = K.function([], rows, updates=given)
        one, two = f(), f()
        assert len({r.tobytes() for r in np.concatenate([one, two])}) == 8
    state = next(iter(updates))
    K.set_value(state, [5, 0, 0])
    again = K.function([], rows)
    one = again()
    assert K.get_value(state).tolist() == [5, 0, 4]
    single = K.random_uniform((2,), seed=5)
    f = K.function([], single)
    np.testing.assert_array_equal(one, [f() for _ in range(4)])


def test_a_draw_from_outside_is_redrawn_unless_it_is_an_argument():
    d, x = K.random_uniform((3,)), K.ones((4, 3))
    fresh, _ = K.scan(lambda v: v * d, x)
    frozen, _ = K.scan(lambda v, d: v * d, x, None, d)
    a, b = K.function([], fresh)(), K.function([], frozen)()
    assert len({r.tobytes() for r in a}) == 4 and len({r.tobytes() for r in b}) == 1


def test_draws_in_nested_loops_and_their_states():
    def outer(x):
        inner, _ = K.scan(lambda: K.random_uniform((), seed=1), n_steps=3)
        return inner

    rows, updates = K.scan(outer, K.ones((2,)))
    f = K.function([], rows)
    one, two = f(), f()
    assert len(set(np.concatenate([one, two]).ravel().tolist())) == 12
    (state,) = updates
    assert K.get_value(state)[2] == 12


def test_streams_of_the_other_generator():
    streams = K.RandomStreams(seed=42)
    rows, updates = K.scan(lambda: streams.uniform((2,)), n_steps=3)
    f = K.function([], rows, updates=updates)
    one, two = f(), f()
    assert len({r.tobytes() for r in np.concatenate([one, two])}) == 6
    again = K.RandomStreams(seed=42).uniform((2,))
    g = K.function([], again)
    np.testing.assert_array_equal(one, [g() for _ in range(3)])


def test_gibbs_with_strict_weights():
    w = K.variable(np.random.RandomState(0).randn(6, 4))
    vbias, hbias = K.zeros((6,)), K.zeros((4,))

    def step(v, w, vbias, hbias):
        h = K.random_binomial((4,), K.sigmoid(K.dot(v, w) + hbias))
        return K.random_binomial((6,), K.sigmoid(K.dot(h, K.transpose(w)) + vbias))

    sample = K.placeholder((6,))
    values, updates = K.scan(
        step, outputs_info=sample, non_sequences=[w, vbias, hbias], n_steps=10, strict=True
    )
    gibbs = K.function([sample], values[-1], updates=updates)
    draws = {gibbs(np.zeros(6)).tobytes() for _ in range(10)}
    assert len(draws) > 1 and set(np.unique(gibbs(np.ones(6)))) <= {0.0, 1.0}


# --- checkpoints ------------------------------------------------------------------------------


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("every", [1, 3, 4, 7, 20])
def test_checkpoints_change_nothing_but_memory(every, static):
    x = K.placeholder((8, 3) if static else (None, 3), dtype=F)
    w = K.variable(np.random.RandomState(0).randn(3, 3), dtype=F)
    h = K.zeros((3,), dtype=F)

    def results(**options):
        (a, b), _ = K.scan(
            lambda x_t, h: [K.tanh(K.dot(h, w) + x_t), h * x_t], x, [h, None], **options
        )
        cost = K.sum(K.square(a)) + K.sum(b) + K.sum(a[-1])
        return [a, b, a[-1], *K.gradients(cost, [x, w])]

    f = K.function([x], results() + results(checkpoint=every))
    found = f(np.random.RandomState(1).randn(8, 3))
    for one, two in zip(found[:5], found[5:]):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("taps", [[-3, -1], [-2], [-1, -2, -4]])
@pytest.mark.parametrize("every, rows", [(1, 5), (2, 8), (3, 8), (4, 8), (20, 6), (3, 1), (2, 0)])
def test_checkpoints_of_states_that_look_further_back(taps, every, rows):
    r = np.random.RandomState(0)
    x = K.placeholder((rows if rows == 8 else None, 3), dtype=F)
    w, h = (K.variable(r.randn(n, 3), dtype=F) for n in (3, -min(taps)))

    def results(**options):
        def step(x_t, *past):
            new = sum(K.tanh(K.dot(p, w)) * (k + 1) for k, p in enumerate(past)) + x_t
            return [new, past[0] * x_t]

        (a, b), _ = K.scan(step, x, [dict(initial=h, taps=taps), None], **options)
        cost = K.sum(K.square(a)) + K.sum(b)
        return [a, b, *([a[-1]] if rows else []), *K.gradients(cost, [x, w, h])]

    f = K.function([x], results() + results(checkpoint=every))
    found = f(r.randn(rows, 3))
    half = len(found) // 2
    for one, two in zip(found[:half], found[half:]):
        assert one.shape == two.shape
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("taps", [[-1], [-3, -1]])
def test_checkpoints_have_a_second_derivative_and_need_less_memory(taps):
    r = np.random.RandomState(0)
    arrays = 0.1 * r.randn(400, 64), 0.1 * r.randn(-min(taps), 64), 0.1 * r.randn(64)

    def gradient(second, **options):
        x, h, w = (K.placeholder(a.shape, dtype=F) for a in arrays)
        first = h[0] if taps == [-1] else dict(initial=h, taps=taps)
        rows, _ = K.scan(lambda x_t, *past: K.tanh(sum(past) * w + x_t), x, first, **options)
        (g,) = K.gradients(K.sum(K.square(rows[-1])), [w])
        g = K.gradients(K.sum(K.square(g)), [w])[0] if second else g
        f = K.function([x, h, w], g, mode="compiled")
        return f(*arrays), f.stats()["peak_bytes"]

    (plain, all_states), (stored, some) = gradient(False), gradient(False, checkpoint=20)
    np.testing.assert_allclose(stored, plain, rtol=1e-9)
    assert some < all_states / 3
    np.testing.assert_allclose(gradient(True, checkpoint=20)[0], gradient(True)[0], rtol=1e-9)


def test_checkpoints_redraw_the_same_numbers():
    w = K.variable(2.0, dtype=F)
    rows, updates = K.scan(
        lambda h: h * w + K.random_uniform((), dtype=F, seed=1),
        outputs_info=K.constant(0.0, F),
        n_steps=6,
        checkpoint=2,
    )
    (g,) = K.gradients(rows[-1], [w])
    out, slope = K.function([], [rows, g], updates=updates)()
    want = 0.0
    for before in [0.0, *out[:-1]]:
        want = before + 2.0 * want
    np.testing.assert_allclose(slope, want)
    (state,) = updates
    assert K.get_value(state)[2] == 6


def test_what_checkpoints_cannot_do():
    with pytest.raises(NotSupported, match="until"):
        K.scan(lambda h: (h, K.until(h > 0)), outputs_info=K.constant(1.0), n_steps=3, checkpoint=2)
    with pytest.raises(ArgumentError, match="checkpoint is 0"):
        K.scan(lambda h: h, outputs_info=K.constant(1.0), n_steps=3, checkpoint=0)
