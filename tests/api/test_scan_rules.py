"""K.scan: rules of the manual about more than values: threads, debugging, signatures, folds."""

import inspect

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import IndexOutOfBounds

F = "float64"


def test_the_arguments_of_the_manual_by_position():
    names = list(inspect.signature(K.scan).parameters)
    assert names[:10] == [
        "function",
        "sequences",
        "outputs_info",
        "non_sequences",
        "n_steps",
        "truncate_gradient",
        "go_backwards",
        "name",
        "strict",
        "return_list",
    ]
    rows, _ = K.scan(
        lambda x, h, c: h + x * c,
        K.constant(np.arange(3.0)),
        K.constant(1.0),
        K.constant(2.0),
        2,
        -1,
        True,
        "name",
        False,
        True,
    )
    assert K.eval(rows[0]).tolist() == [5, 7]
    ignored, _ = K.scan(lambda x: x, np.ones(2), mode="FAST_RUN", profile=True, allow_gc=False)
    assert K.eval(ignored).tolist() == [1, 1]


@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_updates_alone_with_a_symbolic_number_of_steps(mode):
    k, n = K.variable(0, dtype="int32"), K.placeholder((), dtype="int32")
    _, updates = K.scan(lambda: {k: k + 1}, n_steps=n)
    K.function([n], [], updates=updates, mode=mode)(5)
    assert K.get_value(k) == 5


def test_reductions_and_folds_from_either_end():
    numbers = K.arange(5)
    assert K.eval(K.foldl(lambda a, x: a + x, numbers)) == 10
    zero = K.constant(0, dtype="int32")
    digits = lambda a, x: a * 10 + x  # noqa: E731
    assert K.eval(K.foldl(digits, numbers, zero)) == 1234
    assert K.eval(K.foldr(digits, numbers, zero)) == 43210


def test_sequences_of_unequal_length_that_only_the_call_knows():
    a, b = K.placeholder((None,), dtype=F), K.placeholder((None,), dtype=F)
    rows, _ = K.scan(lambda x, y: x * y, [a, b])
    f = K.function([a, b], rows)
    for m, n in ((3, 5), (5, 3), (4, 4), (0, 4)):
        assert f(np.ones(m), np.ones(n)).shape == (min(m, n),)


def step(x, h):
    return (
        K.tanh(K.dot(h, K.ones((64, 64), dtype=F) / 64) + x)
        + K.random_normal((300, 64), dtype=F, seed=5) * 0.1
    )


def test_draws_and_products_in_a_loop_do_not_depend_on_threads():
    x = K.placeholder((4, 300, 64), dtype=F)
    before, found = K.get_num_threads(), []
    with config.change(mode="compiled"):
        for threads in (1, 2):
            K.set_num_threads(threads)
            try:
                draws, _ = K.scan(lambda: K.random_uniform((300, 301), seed=3), n_steps=3)
                rows, _ = K.scan(step, x, K.zeros((300, 64), dtype=F))
                f = K.function([x], [draws, rows])
                value = np.random.RandomState(0).randn(4, 300, 64)
                found.append([*f(value), *f(value)])
            finally:
                K.set_num_threads(before)
    for one, two in zip(*found):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(found[0][0], found[0][2])


def test_debug_computes_the_same_and_names_the_step():
    x, h = K.placeholder((None, 3), dtype=F), K.placeholder((3,), dtype=F)
    results = []
    for debug in (False, True):
        rows, _ = K.scan(lambda r, p: K.tanh(r + p * 0.5), x, h, debug=debug)
        results += [rows, rows[-1], *K.gradients(K.sum(K.square(rows)), [x, h])]
    f = K.function([x, h], results, mode="compiled")
    found = f(np.random.RandomState(0).randn(5, 3), np.ones(3))
    for one, two in zip(found[:4], found[4:]):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    at, table = K.placeholder((None,), dtype="int32"), K.constant(np.arange(6.0))
    rows, _ = K.scan(lambda i: table[i], at, debug=True, name="slowly")
    with pytest.raises(IndexOutOfBounds, match="in step 1 of the scan 'slowly'"):
        K.function([at], rows, mode="compiled")(np.array([0, 9, 1], "int32"))


def test_truncation_changes_the_gradient():
    x = K.constant(np.arange(1.0, 5.0), F)
    w = K.variable(0.5, dtype=F)
    whole, some = (
        K.gradients(
            K.scan(lambda a, h: h * w + a, x, K.constant(0.0, F), truncate_gradient=k)[0][-1], [w]
        )[0]
        for k in (-1, 2)
    )
    # h4 = ((1 w + 2) w + 3) w + 4: d = 3 + 2 w 2 + 3 w^2; the last two steps alone: h3 + w h2
    assert K.eval(whole) == pytest.approx(3 + 2 * 0.5 * 2 + 3 * 0.25)
    h2 = 1 * 0.5 + 2
    assert K.eval(some) == pytest.approx((h2 * 0.5 + 3) + 0.5 * h2)
