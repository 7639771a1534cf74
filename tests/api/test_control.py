"""K.ifelse and lazy K.switch: one side runs, values, gradients, errors."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError
from ckernels.graph.walk import toposort
from ckernels.rewrite import optimise
from ckernels.rewrite.branches import lazify


def numbers(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def test_only_one_side_runs(capfd):
    c, x = K.placeholder((), dtype="bool"), K.placeholder((None,))
    y = K.ifelse(c, K.print_tensor(x * 2, "then"), K.print_tensor(x * 3, "else"))
    f = K.function([c, x], y)
    assert f(True, np.ones(2)).tolist() == [2, 2]
    assert "then" in (out := capfd.readouterr().out) and "else" not in out
    assert f(False, np.ones(2)).tolist() == [3, 3]
    assert "else" in (out := capfd.readouterr().out) and "then" not in out


def test_what_both_sides_and_others_need_stays_outside(capfd):
    c, x = K.placeholder((), dtype="bool"), K.placeholder((None,))
    shared = K.print_tensor(x + 1, "shared")
    y = K.ifelse(c, shared * 2, K.exp(shared))
    f = K.function([c, x], [y, shared])
    f(True, np.ones(2))
    assert capfd.readouterr().out.count("shared") == 1
    np.testing.assert_allclose(f(False, np.ones(2))[0], np.exp(2.0), rtol=1e-6)


def test_conditions_are_zero_or_not_and_numbers_fit():
    n, x = K.placeholder((), dtype="int32"), K.placeholder((3,))
    f = K.function([n, x], K.ifelse(n, K.exp(x), 0.0))
    assert f(2, np.zeros(3)).tolist() == [1, 1, 1] and f(0, np.ones(3)).tolist() == [0, 0, 0]
    assert f(0, np.ones(3)).dtype == np.float32


def test_lists_choose_together():
    c, x = K.placeholder((), dtype="bool"), K.placeholder((2,))
    a, b = K.ifelse(c, [K.exp(x), K.sin(x)], [x, K.cos(x)])
    roots = lazify([a.node, b.node])
    assert [n.op.name for n in toposort(roots)].count("ifelse") == 1
    got = K.function([c, x], [a, b])(False, np.zeros(2))
    assert got[0].tolist() == [0, 0] and got[1].tolist() == [1, 1]


def test_choices_inside_choices(capfd):
    c, d, x = K.placeholder((), dtype="bool"), K.placeholder((), dtype="bool"), K.placeholder((2,))
    inner = K.ifelse(d, K.print_tensor(K.exp(x), "A"), K.print_tensor(K.sin(x), "B"))
    y = K.ifelse(c, inner + 1, K.print_tensor(K.cos(x), "C"))
    f = K.function([c, d, x], y)
    for flags, word in (((True, True), "A"), ((True, False), "B"), ((False, True), "C")):
        f(*flags, np.zeros(2))
        out = capfd.readouterr().out
        assert [w for w in "ABC" if w in out] == [word]


def test_a_choice_that_feeds_another_by_the_same_condition(capfd):
    c, x = K.placeholder((), dtype="bool"), K.placeholder((2,))
    first = K.ifelse(c, K.exp(x), K.print_tensor(K.sin(x), "no"))
    second = K.ifelse(c, K.sin(first) * 2, K.print_tensor(K.cos(first), "no"))
    y = K.function([c, x], second)(True, np.zeros(2))
    np.testing.assert_allclose(y, 2 * np.sin(1.0), rtol=1e-6)
    assert "no" not in capfd.readouterr().out


def test_a_variable_on_each_side():
    c, w = K.placeholder((), dtype="bool"), K.variable(np.ones(2))
    f = K.function([c], K.ifelse(c, w, w * 5), updates=[K.update_add(w, 1.0)])
    assert f(True).tolist() == [1, 1] and f(False).tolist() == [10, 10]


def test_switch_with_callables_is_lazy_for_scalars_only(capfd):
    c, x = K.placeholder((), dtype="bool"), K.placeholder((2,))
    y = K.switch(c, lambda: K.print_tensor(K.exp(x), "A"), lambda: K.print_tensor(K.sin(x), "B"))
    K.function([c, x], y)(True, np.zeros(2))
    assert "B" not in capfd.readouterr().out
    rows = K.placeholder((2,), dtype="bool")
    z = K.switch(rows, lambda: x + 1, lambda: x - 1)
    assert K.function([rows, x], z)([True, False], np.zeros(2)).tolist() == [1, -1]
    wide = K.switch(c, lambda: x, lambda: K.constant(7.0))
    assert K.function([c, x], wide)(False, np.zeros(2)).tolist() == [7, 7]


def test_gradients_flow_through_the_side_that_was_taken(capfd):
    c, x = K.placeholder((), dtype="bool"), K.placeholder((3,))
    w = K.placeholder((3,))
    y = K.sum(K.ifelse(c, K.exp(x) * w, K.log(x)) * w)
    f = K.function([c, x, w], K.gradients(y, [x, w]))
    v, u = np.abs(numbers(1, 3)) + 0.5, numbers(2, 3)
    gx, gw = f(True, v, u)
    np.testing.assert_allclose(gx, np.exp(v) * u * u, rtol=1e-5)
    np.testing.assert_allclose(gw, 2 * np.exp(v) * u, rtol=1e-5)
    gx, gw = f(False, v, u)
    np.testing.assert_allclose(gx, u / v, rtol=1e-5)
    np.testing.assert_allclose(gw, np.log(v), rtol=1e-5)


def test_the_backward_work_of_the_other_side_does_not_run_and_makes_no_nan():
    c, x = K.placeholder((), dtype="bool"), K.placeholder((3,))
    y = K.sum(K.ifelse(c, K.log(x), K.tanh(x)))
    g = K.gradients(y, [x])[0]
    roots = optimise([g.node])
    names = {n.op.name for n in toposort(roots)}
    assert "ifelse" in names and not names & {"true_div", "reciprocal", "tanh"}
    f = K.function([c, x], g, mode="compiled")
    got = f(False, np.zeros(3))  # 1 / 0 is on the other side
    assert got.tolist() == [1, 1, 1]


def test_choices_in_the_steps_of_a_loop(capfd):
    x = K.placeholder((None,))

    def step(x_t, h):
        return K.ifelse(x_t > 0, K.print_tensor(h + x_t, "up"), K.print_tensor(h * 2, "double"))

    out, _ = K.scan(step, x, K.constant(1.0))
    f = K.function([x], [out, K.gradients(out[-1], [x])[0]])
    rows, g = f(np.array([1.0, -1.0, 0.5]))
    assert rows.tolist() == [2, 4, 4.5] and g.tolist() == [2, 0, 1]
    K.function([x], out)(np.ones(1))
    assert "double" not in capfd.readouterr().out.split("\n")[-2]


@pytest.mark.parametrize(
    "then, other, error, words",
    [
        (lambda x: x, lambda x: K.concatenate([x, x], 0), ShapeError, "one shape"),
        (lambda x: [x, x], lambda x: [x], ArgumentError, "2 and 1"),
        (lambda x: None, lambda x: x, DTypeError, "None"),
    ],
)
def test_sides_that_do_not_fit(then, other, error, words):
    x = K.placeholder((3,))
    with pytest.raises(error, match=words):
        K.ifelse(K.constant(True, dtype="bool"), then(x), other(x))


def test_the_condition_is_a_scalar():
    with pytest.raises(ShapeError, match="must be a scalar"):
        K.ifelse(K.placeholder((3,)) > 0, 1.0, 2.0)


def test_sides_that_read_different_results_of_one_loop():
    x, c = K.placeholder((None,)), K.placeholder((), dtype="bool")
    start = [K.constant(0.0), K.constant(1.0)]
    (sums, products), _ = K.scan(lambda xt, s, p: (s + xt, p * xt), [x], start)
    f = K.function([x, c], [K.ifelse(c, K.exp(sums), K.tanh(products))])
    a = np.array([0.5, 1.0, 1.5], "float32")
    np.testing.assert_allclose(f([a, True])[0], np.exp(np.cumsum(a)), rtol=1e-5)
    np.testing.assert_allclose(f([a, False])[0], np.tanh(np.cumprod(a)), rtol=1e-5)
