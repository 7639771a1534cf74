"""Loops that run as often as an input says: one plan for all numbers, or a bound on plans."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ShapeError

F = "float64"
N = np.arange(1, 90)


def pair(inputs, outputs, **options):
    return [K.function(inputs, outputs, mode=mode, **options) for mode in ("compiled", "reference")]


def same(functions, *arguments):
    for a, b in zip(*(f(*arguments) for f in functions)):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_last_states_have_one_plan():
    n, x = K.placeholder((), dtype="int32"), K.placeholder((None,), dtype=F)
    rows, _ = K.scan(lambda h: K.tanh(h + x), outputs_info=K.zeros_like(x), n_steps=n)
    functions = pair([n, x], [rows[-1], K.sum(rows[-1])])
    for k in N:
        same(functions, k, np.ones(3))
    assert functions[0].stats()["plans"] == 1
    same(functions, 3, np.ones(4))
    assert functions[0].stats()["plans"] == 2


def test_several_states_products_draws_and_taps():
    n, w = K.placeholder((), dtype="int64"), K.placeholder((3, 3), dtype=F)

    def step(a, b2, b1, total):
        new = K.tanh(K.dot(a, w) + K.random_uniform((2, 3), dtype=F, seed=3))
        return [new, b2 * 0.5 + b1 + new[0], total + K.sum(new)]

    (a, b, c), updates = K.scan(
        step,
        outputs_info=[
            K.zeros((2, 3), dtype=F),
            dict(initial=K.ones((2, 3), dtype=F), taps=[-2, -1]),
            K.constant(0.0, F),
        ],
        n_steps=n,
    )
    (state,) = updates
    start = K.get_value(state)
    functions = pair([n, w], [a[-1], b[-1], c[-1]])
    for k in (1, 2, 3, 50):
        found = []
        for f in functions:
            K.set_value(state, start)
            found.append([*f(k, np.eye(3)), K.get_value(state)])
        for one, two in zip(*found):
            np.testing.assert_allclose(one, two, rtol=1e-10)
    assert functions[0].stats()["plans"] == 1


def test_updates_of_variables_and_no_step():
    n, v = K.placeholder((), dtype="int64"), K.variable(1.0, dtype=F)
    _, updates = K.scan(lambda: {v: v * 2}, n_steps=n)
    f = K.function([n], [], updates=updates, mode="compiled")
    for k in (0, 1, 0, 4, 3):
        f(k)
    assert K.get_value(v) == 2.0**8 and f.stats()["plans"] == 1


def test_an_early_end():
    n, top = K.placeholder((), dtype="int64"), K.placeholder((), dtype=F)
    rows, _ = K.scan(
        lambda h: (h * 2, K.until(h * 2 > top)), outputs_info=K.constant(1.0, F), n_steps=n
    )
    f = K.function([n, top], rows[-1], mode="compiled")
    for k in range(1, 12):
        for bound in (0.0, 40.0, 1e9):
            want = 2.0
            for _ in range(k - 1):
                want = want if want > bound else want * 2
            assert f(k, bound) == want
    assert f.stats()["plans"] == 1


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_numbers_that_cannot_be(mode):
    n = K.placeholder((), dtype="int64")
    rows, _ = K.scan(lambda h: h * 2, outputs_info=K.constant(1.0, F), n_steps=n)
    f = K.function([n], rows[-1], mode=mode)
    assert f(5) == 32
    with pytest.raises(ShapeError, match="cannot run -2 steps") as found:
        f(-2)
    assert "test_scan_trips.py" in str(found.value)
    assert f(5) == 32 and f(0) == 1  # after 0 steps the state is what it was first


def test_a_loop_on_one_side_of_a_branch():
    n, h = K.placeholder((), dtype="int64"), K.placeholder((3,), dtype=F)
    rows, _ = K.scan(lambda p: K.tanh(p * 0.9 + h), outputs_info=h, n_steps=n)
    functions = pair([n, h], [K.ifelse(h[0] > 0, rows[-1], h * 2)])
    for k in (3, 1, 5):
        same(functions, k, np.ones(3))
        same(functions, k, -np.ones(3))
    assert functions[0].stats()["plans"] == 1
    assert any("scan of n steps" in line for line in functions[0].steps())


def test_a_number_made_from_a_shape_stays_one():
    x = K.placeholder((None, 3), dtype=F)
    rows, _ = K.scan(lambda h: h * 2, outputs_info=K.constant(1.0, F), n_steps=K.shape(x)[0] + 1)
    f = K.function([x], rows[-1], mode="compiled")
    assert f(np.ones((4, 3))) == 32
    assert any("input 0.shape[0] steps" in line for line in f.steps())
    assert f(np.ones((6, 3))) == 128 and f.stats()["classes"] == 1


def test_plans_are_few_where_each_number_needs_one():
    n, x = K.placeholder((), dtype="int32"), K.placeholder((3,), dtype=F)
    rows, _ = K.scan(lambda h: K.tanh(h + x), outputs_info=K.zeros_like(x), n_steps=n)
    (g,) = K.gradients(K.sum(K.square(rows[-1])), [x])
    functions = pair([n, x], [rows, g])
    for k in N:
        if k in (1, 2, 40, 89):
            same(functions, k, np.ones(3))
        else:
            functions[0](k, np.ones(3))
    stats = functions[0].stats()
    assert 2 < stats["plans"] <= 2 + len(N)
    assert stats["built"] + stats["from_cache"] < 40  # kernels do not depend on the number


def test_loops_with_other_parts_whose_shape_data_decides():
    n, x = K.placeholder((), dtype="int64"), K.placeholder((None,), dtype=F)
    rows, _ = K.scan(lambda h: h + 1, outputs_info=K.constant(0.0, F), n_steps=n)
    some = x[K.cast(x > rows[-1], "bool")]
    functions = pair([n, x], [some, rows[-1]])
    for k in (1, 3, 2):
        same(functions, k, np.arange(6.0))
    with pytest.raises(ShapeError, match="cannot run -1 steps"):
        functions[0](-1, np.arange(6.0))


def test_rows_of_one_loop_count_the_steps_of_another():
    counts, h = K.placeholder((None,), dtype="int64"), K.placeholder((3,), dtype=F)

    def outer(n, a):
        return K.scan(lambda p: K.tanh(p * 0.9 + h), outputs_info=a, n_steps=n)[0][-1]

    rows, _ = K.scan(outer, counts, h)
    functions = pair([counts, h], [rows, rows[-1]])
    for given in ([3, 1, 4, 2], [1, 1, 7, 2], [5]):
        same(functions, np.array(given), np.ones(3))
    assert functions[0].stats()["plans"] == 2
    assert any("scan of n steps" in line for line in functions[0].steps())
    with pytest.raises(ShapeError, match="cannot run -4 steps.*in step 1 of"):
        functions[0](np.array([3, -4]), np.ones(3))


@pytest.mark.parametrize("back", [False, True])
def test_rows_without_elements_have_no_place_behind_the_trace(back):
    """The last of 33 states is written by a step of NumPy; a batch may be empty."""
    x, h = K.placeholder((None, None, 3)), K.placeholder((None, 3))
    w = K.placeholder((), dtype="int64")
    step = lambda r, s: K.tanh(r * 0.5 + s * 0.75)
    states = K.scan(step, sequences=[x], outputs_info=[h], go_backwards=back)[0]
    last = K.set_subtensor(states[-1][w:], 0.25)
    dx, dh = K.gradients(K.sum(K.square(last)), [x, h])
    f, g = K.function([x, h, w], dx), K.function([x, h, w], dh)
    for batch in (2, 0, 5):
        a, s = np.ones((33, batch, 3), "f") / 8, np.ones((batch, 3), "f")
        got = f(a, s, 1)
        assert got.shape == a.shape and not got[:, 1:].any() and got[:, :1].all()
        got = g(a, s, 1)
        assert got.shape == s.shape and not got[1:].any() and got[:1].all()
