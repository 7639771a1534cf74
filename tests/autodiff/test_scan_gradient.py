"""Gradients through scans: against central differences, and against the same steps written out."""

import numpy as np
import pytest

import ckernels as K

F = "float64"


def numbers(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape)


def place(array, static):
    shape = array.shape if static else (None,) * array.ndim
    return K.placeholder(shape=shape, dtype=F)


def differences(f, arrays, k, step=1e-5):
    """Central differences of the scalar f with respect to arrays[k]."""
    found = np.zeros_like(arrays[k])
    for at in np.ndindex(found.shape):
        values = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[k][at] += sign * step
            values.append(f(*moved))
        found[at] = (values[0] - values[1]) / (2 * step)
    return found


def check(build, *arrays, static=True, second=True, rtol=1e-6):
    """The gradient of the scalar build(*tensors), and the gradient of a function of that one."""
    arrays = [np.asarray(a, F) for a in arrays]
    inputs = [place(a, static) for a in arrays]
    cost = build(*inputs)
    grads = K.gradients(cost, inputs, disconnected="zero")
    outs = [cost, *grads]
    if second:
        mixed = sum(K.sum(K.sin(g + numbers(k, 1)[0])) for k, g in enumerate(grads))
        outs += [mixed, *K.gradients(mixed, inputs, disconnected="zero")]
    f = K.function(inputs, outs)
    found, at = f(*arrays), 1 + len(arrays)
    for k in range(len(arrays)):
        want = differences(lambda *a: f(*a)[0], arrays, k)
        np.testing.assert_allclose(found[1 + k], want, rtol=rtol, atol=1e-7)
        if second:
            want = differences(lambda *a: f(*a)[at], arrays, k)
            np.testing.assert_allclose(found[at + 1 + k], want, rtol=10 * rtol, atol=1e-6)


def weighted(x):
    """A scalar in which every element of `x` counts differently."""
    return K.sum(K.sin(x * 1.7) + x * x)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_recurrent_layer(static, steps):
    def build(x, h, w, b):
        out, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) + x_t + b), x, h)
        return weighted(out)

    check(
        build,
        numbers(1, steps, 2, 3),
        numbers(2, 2, 3),
        numbers(3, 3, 3),
        numbers(4, 3),
        static=static,
    )


def test_products_of_each_sample_with_its_own_matrix():
    def build(x, h, w):
        out, _ = K.scan(lambda x_t, h: K.tanh(K.batch_dot(h, w)) + x_t, x, h)
        return weighted(out)

    check(build, numbers(1, 3, 2, 1, 2), numbers(2, 2, 1, 2), numbers(3, 2, 2, 2), second=False)


def test_only_the_last_state():
    def build(x, h, w):
        out, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) + x_t), x, h)
        return weighted(out[-1])

    check(build, numbers(1, 4, 2, 3), numbers(2, 2, 3), numbers(3, 3, 3))


def test_no_step_runs():
    x = K.placeholder((None, 2), dtype=F)
    h = K.placeholder((2,), dtype=F)
    w = K.placeholder((2,), dtype=F)
    out, _ = K.scan(lambda x_t, h: h * w + x_t, x, h)
    f = K.function([x, h, w], K.gradients(K.sum(out), [x, h, w]))
    for got, want in zip(f(np.zeros((0, 2)), np.ones(2), np.ones(2)), ((0, 2), (2,), (2,))):
        assert got.shape == want and not got.any()
    g = K.gradients(K.sum(K.square(out)), [w])[0]
    f = K.function([x, h, w], K.gradients(K.sum(K.square(g)), [x, h, w]))
    for got, want in zip(f(np.zeros((0, 2)), np.ones(2), np.ones(2)), ((0, 2), (2,), (2,))):
        assert got.shape == want and not got.any()


def test_a_vector_state_and_an_outer_product():
    def build(x, h, w):
        out, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) * x_t), x, h)
        return weighted(out)

    check(build, numbers(1, 3, 3), numbers(2, 3), numbers(3, 3, 3))


def test_weights_used_twice_and_transposed():
    def build(x, w, c):
        def step(x_t, h):
            hidden = K.sigmoid(K.dot(h, w) + x_t)
            return K.dot(hidden, K.transpose(w)) * c

        out, _ = K.scan(step, x, K.zeros_like(K.dot(x[0], K.transpose(w))))
        return weighted(out)

    check(build, numbers(1, 3, 2, 4), numbers(2, 3, 4), numbers(3, 1, 3))


def test_taps_into_the_past_and_the_future():
    def build(u, s, w):
        def step(u_m, u_p, a, b):
            return K.tanh(a * w + b * u_m - u_p)

        out, _ = K.scan(
            step, dict(input=u, taps=[-1, 2]), dict(initial=s, taps=[-3, -1]), n_steps=4
        )
        return weighted(out)

    check(build, numbers(1, 7, 2), numbers(2, 3, 2), numbers(3, 2))


def test_several_outputs_some_without_state():
    def build(x, a, b):
        def step(x_t, h, c):
            new = K.tanh(h + x_t * c)
            return [new, new * x_t, c * K.cos(h)]

        outs, _ = K.scan(step, x, [a, None, b])
        return weighted(outs[0]) + weighted(outs[1]) + K.sum(outs[2][-1]) * 2

    check(build, numbers(1, 4, 3), numbers(2, 3), numbers(3, 3))


def test_backwards_and_shortest():
    def build(x, y, h):
        out, _ = K.scan(lambda a, b, h: K.tanh(h * a + b), [x, y], h, go_backwards=True)
        return weighted(out)

    check(build, numbers(1, 3, 2), numbers(2, 5, 2), numbers(3, 2))
    check(build, numbers(1, 3, 2), numbers(2, 5, 2), numbers(3, 2), static=False)


def test_a_map_and_a_scalar_parameter():
    def build(x, p):
        out, _ = K.scan(lambda x_t: K.exp(x_t * p) * p, x)
        return weighted(out)

    check(build, numbers(1, 4, 2), numbers(2))


def test_folds():
    def build(x):
        return K.foldl(lambda a, b: K.tanh(a * b + b), x)[0] * 2 + K.sum(
            K.foldr(lambda a, b: K.sin(a - b * b), x, K.zeros_like(x[0]))
        )

    check(build, numbers(1, 4, 2))


def test_nested_loops():
    def build(x, h, w):
        def outer(row, h):
            inner, _ = K.scan(lambda v, g: K.tanh(g * w + v), row, h)
            return inner[-1] + K.sum(inner, 0)

        out, _ = K.scan(outer, x, h)
        return weighted(out)

    check(build, numbers(1, 2, 3, 2), numbers(2, 2), numbers(3, 2))


def test_a_loop_that_ends_early():
    def build(x, h, w):
        def step(x_t, h):
            new = h * w + x_t
            return new, K.until(K.sum(new) > 2.0)

        out, _ = K.scan(step, x, h)
        return weighted(out) + K.sum(out[-1])

    x = np.abs(numbers(1, 6, 2)) + 0.3
    check(build, x, numbers(2, 2), numbers(3, 2))


def unrolled(x, h, w, steps, start):
    """h after `steps` steps whose gradient starts at step `start`."""
    for t in range(steps):
        if t == start:
            h = K.stop_gradient(h)
        h = K.tanh(
            K.dot(h, w if t >= start else K.stop_gradient(w))
            + (x[t] if t >= start else K.stop_gradient(x[t]))
        )
    return h


@pytest.mark.parametrize("steps, back", [(5, 2), (3, 3), (2, 5), (4, 1)])
def test_truncation_stops_after_so_many_steps(steps, back):
    x, h, w = (K.placeholder((None,) * n, dtype=F) for n in (3, 2, 2))
    arrays = numbers(1, steps, 2, 3), numbers(2, 2, 3), numbers(3, 3, 3)
    out, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) + x_t), x, h, truncate_gradient=back)
    got = K.function([x, h, w], K.gradients(weighted(out[-1]), [x, w]))(*arrays)
    cost = weighted(unrolled(x, h, w, steps, max(steps - back, 0)))
    want = K.function([x, h, w], K.gradients(cost, [x, w]))(*arrays)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    full, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) + x_t), x, h)
    whole = K.function([x, h, w], K.gradients(weighted(full[-1]), [w]))(*arrays)[0]
    assert np.allclose(whole, got[1]) == (back >= steps)


def test_a_truncated_gradient_can_be_differentiated():
    x, h, w = (K.placeholder((None,) * n, dtype=F) for n in (3, 2, 2))
    arrays = numbers(1, 4, 2, 3), numbers(2, 2, 3), numbers(3, 3, 3)
    out, _ = K.scan(lambda x_t, h: K.tanh(K.dot(h, w) + x_t), x, h, truncate_gradient=2)
    (g,) = K.gradients(weighted(out[-1]), [w])
    f = K.function([x, h, w], [K.sum(K.sin(g)), *K.gradients(K.sum(K.sin(g)), [w])])
    assert f(*arrays)[1].shape == (3, 3)


def test_a_truncated_loop_that_ends_early():
    x, h = K.placeholder((6,), dtype=F), K.placeholder((), dtype=F)

    def step(x_t, h):
        new = K.tanh(h) + x_t
        return new, K.until(new > 1.8)

    out, _ = K.scan(step, x, h, truncate_gradient=2)
    g = K.gradients(out[-1], [x])[0]
    steps, value = K.function([x, h], [K.shape(out)[0], g])(np.full(6, 0.9), 0.5)
    assert steps == 3 and np.flatnonzero(value).tolist() == [1, 2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("back", [1, 2, 10])
@pytest.mark.parametrize("end", [0.6, 1.2, 9.0])
def test_second_derivatives_of_a_truncated_loop_that_ends_early(back, end):
    """Against the steps written out, with what truncation leaves out held constant."""
    x, h, w = (K.placeholder(s, dtype=F) for s in ((6, 3), (3,), (3, 3)))
    arrays = np.abs(numbers(1, 6, 3)) * 0.4, numbers(2, 3), numbers(3, 3, 3) * 0.5

    def step(x_t, h):
        new = K.tanh(K.dot(h, w)) + x_t
        return new, K.until(K.sum(new) > end)

    out, _ = K.scan(step, x, h, truncate_gradient=back)
    steps = len(K.function([x, h, w], out)(*arrays))

    def derivatives(last):
        first = K.gradients(K.sum(K.square(last) * np.arange(1.0, 4)), [x, w])
        return [*first, *K.gradients(sum(K.sum(K.sin(g)) for g in first), [x, w])]

    by_hand = h
    for t in range(steps):
        held = K.stop_gradient if t < steps - back else (lambda v: v)
        by_hand = K.stop_gradient(by_hand) if t == steps - back else by_hand
        by_hand = K.tanh(K.dot(by_hand, held(w))) + held(x[t])
    found, want = (K.function([x, h, w], derivatives(y))(*arrays) for y in (out[-1], by_hand))
    for a, b in zip(found, want):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_random_draws_are_the_same_in_the_gradient():
    x = K.placeholder((None, 4), dtype=F)
    w = K.placeholder((4,), dtype=F)
    mask = []

    def step(x_t, h):
        u = K.random_uniform((4,), dtype=F, seed=7)
        mask.append(u)
        return h * w + u * x_t

    out, updates = K.scan(step, x, K.zeros_like(w))
    cost = K.sum(out[-1])
    f = K.function([x, w], [out, *K.gradients(cost, [x, w])], updates=updates)
    for _ in range(2):
        rows, gx, gw = f(np.ones((3, 4)), np.full(4, 0.5))
        draws = np.diff(np.concatenate([np.zeros((1, 4)), rows]), axis=0) + 0.5 * np.concatenate(
            [np.zeros((1, 4)), rows[:-1]]
        )
        np.testing.assert_allclose(gx, draws * np.array([0.25, 0.5, 1.0])[:, None])
        np.testing.assert_allclose(gw, rows[1] + 0.5 * rows[0])


def test_integers_and_blocked_paths_have_no_gradient():
    x = K.placeholder((None,), dtype=F)

    def step(x_t, h, n):
        return h + K.stop_gradient(h) * x_t * K.cast(n, F), n + 1

    (out, count), _ = K.scan(step, x, [K.constant(1.0, F), K.constant(1, "int64")])
    f = K.function([x], [out[-1], K.gradients(out[-1], [x])[0], count])
    value, g, n = f(np.array([0.5, 0.25]))
    assert value == 1.5 * 1.5 and n.tolist() == [2, 3]
    np.testing.assert_allclose(g, [1.0, 3.0])


def test_the_gradient_of_a_loop_with_respect_to_captured_variables():
    w = K.variable(numbers(1, 3), dtype=F)
    out, _ = K.scan(lambda x: x * w * K.exp(w), K.constant(numbers(2, 4, 3), F))
    g = K.function([], K.gradients(K.sum(out), [w]))()[0]
    v = numbers(1, 3)
    np.testing.assert_allclose(g, numbers(2, 4, 3).sum(0) * np.exp(v) * (1 + v))


def test_rop_through_a_loop():
    x, v = K.placeholder((3, 2), dtype=F), K.placeholder((3, 2), dtype=F)
    out, _ = K.scan(lambda x_t, h: K.tanh(h + x_t), x, K.zeros_like(x[0]))
    f = K.function([x, v], [out, K.Rop(out, x, v)])
    a, d = numbers(1, 3, 2), numbers(2, 3, 2)
    want = (f(a + 1e-6 * d, d)[0] - f(a - 1e-6 * d, d)[0]) / 2e-6
    np.testing.assert_allclose(f(a, d)[1], want, rtol=1e-6)


@pytest.mark.parametrize("static", [True, False])
def test_jacobians_through_loops_run_all_rows_at_once(static):
    x, h, w = (place(np.zeros(s), static) for s in ((4, 3), (3,), (3, 3)))

    def step(x_t, h, n):
        new = K.tanh(K.dot(h, w) + x_t)
        return [new, n + 1, new * x_t]

    (out, _, extra), _ = K.scan(step, x, [h, K.constant(0, "int64"), None])
    f = K.function([x, h, w], [out, extra, *K.jacobian(out[-1], [x, h, w]), K.jacobian(extra, h)])
    arrays = [numbers(1, 4, 3), numbers(2, 3), numbers(3, 3, 3)]
    found = f(*arrays)
    for k, (result, pick) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1)]):
        got = found[2 + k]
        for at in np.ndindex(arrays[pick].shape):
            moved = [a.copy() for a in arrays]
            moved[pick][at] += 1e-6
            step = f(*moved)[result] - found[result]
            want = (step[-1] if k < 3 else step) / 1e-6
            np.testing.assert_allclose(got[(..., *at)], want, atol=1e-5)


def test_a_hessian_through_a_loop():
    x = K.placeholder((3,), dtype=F)
    out, _ = K.scan(lambda x_t, h: K.sin(h * x_t) + x_t, x, K.constant(0.5, F))
    f = K.function([x], [K.grad(out[-1], x), K.hessian(out[-1], x)])
    v = numbers(1, 3)
    want = [(f(v + d)[0] - f(v - d)[0]) / 2e-5 for d in np.eye(3) * 1e-5]
    np.testing.assert_allclose(f(v)[1], want, atol=1e-7)


@pytest.mark.sampled(1, mode=["compiled"])
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("way", ["until", "checkpoint", "plain"])
def test_second_derivatives_of_a_batch_of_no_samples(way, mode):
    """The shape of a state decides nothing while sizes are not known."""
    h, n = K.placeholder((None, 2), dtype=F), K.placeholder((), dtype="int64")

    def step(p):
        new = K.tanh(p * 1.5)
        return (new, K.until(K.sum(new) > 99)) if way == "until" else new

    rows, _ = K.scan(step, outputs_info=h, n_steps=n, checkpoint=2 if way == "checkpoint" else None)
    g = K.grad(K.sum(K.square(rows)) + K.sum(rows[-1]), h)
    f = K.function([h, n], [g, K.grad(K.sum(K.square(g)), h)], mode=mode)
    for samples, steps in ((0, 4), (3, 4), (0, 0), (3, 0), (1, 1), (0, 1)):
        v = numbers(1, samples, 2)
        first, second = f(v, steps)
        assert first.shape == second.shape == v.shape
        if steps == 0:  # the cost is the sum of the first state
            np.testing.assert_array_equal(first, 1)
            np.testing.assert_array_equal(second, 0)
    v = numbers(1, 3, 2)
    want = differences(lambda a: np.square(f(a, 4)[0]).sum(), [v], 0)
    np.testing.assert_allclose(f(v, 4)[1], want, rtol=1e-5, atol=1e-7)


def test_gradient_of_complex_states():
    z = K.placeholder((2,), dtype="complex128")
    states, _ = K.scan(lambda h: h * z + h * h, outputs_info=z, n_steps=3)
    cost = K.sum(K.square(K.real(states)) + 3 * K.imag(states))
    f, g = K.function([z], cost), K.function([z], K.grad(cost, z))
    at, found = np.array([0.3 + 0.2j, -0.4 + 0.1j]), []
    for unit in np.eye(2):
        ways = [(f(at + d * unit) - f(at - d * unit)) / 2e-6 for d in (1e-6, 1e-6j)]
        found.append(ways[0] + 1j * ways[1])
    np.testing.assert_allclose(g(at), found, rtol=1e-7)


def test_a_state_that_nothing_asks_for_has_no_gradient():
    """Its cotangents would be zeros that each step carries."""
    x, y = K.placeholder(shape=(2,), dtype=F), K.placeholder(shape=(2,), dtype=F)
    (a, b), _ = K.scan(lambda a, b: (K.sin(a), b * a), outputs_info=[x, y], n_steps=3)
    found = K.gradients(K.sum(a), [x, y], disconnected="none")
    assert found[1] is None
    assert len(found[0].node.inputs[0].attrs["taps"]) == 1
    want = np.cos(np.sin(np.sin(0.5))) * np.cos(np.sin(0.5)) * np.cos(0.5)
    want += np.cos(np.sin(0.5)) * np.cos(0.5) + np.cos(0.5)
    (got,) = K.function([x, y], [found[0]])(np.full(2, 0.5), np.ones(2))
    np.testing.assert_allclose(got, [want, want])


def test_a_first_value_that_no_step_reads_has_no_gradient():
    x, y = K.placeholder(shape=(2,), dtype=F), K.placeholder(shape=(2,), dtype=F)
    (a, b), _ = K.scan(lambda a, b: (K.sin(a), a), outputs_info=[x, y], n_steps=3)
    found = K.gradients(K.sum(a) + K.sum(b), [x, y], disconnected="none")
    assert found[1] is None and found[0] is not None


def test_a_step_without_what_is_asked_for_has_no_gradient():
    x = K.placeholder(shape=(2,), dtype=F)
    a, _ = K.scan(lambda a: K.zeros_like(a) + 1.5, outputs_info=[x], n_steps=3)
    assert K.gradients(K.sum(a), [x], disconnected="none") in (None, [None])
