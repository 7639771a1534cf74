"""Sixteen threads at once: building graphs and functions, compiling, calling, updating, changing.

Each thread checks its own numbers, so a result that another thread disturbed is seen where it is.
"""

import threading

import numpy as np
import pytest

import ckernels as K
from ckernels import config

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
THREADS = 16


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def together(work, threads=THREADS):
    """Run work(k) in that many threads, started at one moment; the first error is raised here."""
    start, errors = threading.Barrier(threads), []

    def run(k):
        start.wait()
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    team = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    if errors:
        raise errors[0]


def network(k):
    """(training function, its variables); the graphs of all k are of the same kernels."""
    rng = np.random.default_rng(k)
    x, t = K.placeholder((None, 5), name="x"), K.placeholder((None, 3), name="t")
    w = K.variable(rng.normal(size=(5, 3)), name="w")
    p = K.softmax(K.dot(x, w))
    loss = K.mean(K.categorical_crossentropy(p, t))
    (grad,) = K.gradients(loss, [w])
    return K.function([x, t], loss, updates=[(w, w - grad)]), w


def in_numpy(k, a, t, steps):
    """What `network(k)` has in w after some steps."""
    w = np.random.default_rng(k).normal(size=(5, 3)).astype("f")
    for _ in range(steps):
        e = np.exp(a @ w)
        w = w - a.T @ (e / e.sum(1, keepdims=True) - t) / len(a)
    return w


def test_building_and_calling():
    rng = np.random.default_rng(0)
    a, t = rng.normal(size=(7, 5)).astype("f"), np.eye(3, dtype="f")[rng.integers(0, 3, 7)]

    def work(k):
        for _ in range(3):
            f, w = network(k)
            for _ in range(5):
                f(a, t)
            np.testing.assert_allclose(K.get_value(w), in_numpy(k, a, t, 5), rtol=1e-4, atol=1e-5)
            del f, w

    together(work)


@pytest.mark.rest
def test_graphs_share_nodes_that_die_and_come_back():
    """Hash-consing: equal expressions made by all threads at once, and dropped at once."""
    x = K.placeholder((None,), name="x")

    def work(k):
        for j in range(150):
            y = x
            for i in range(8):
                y = K.exp(y * (i + 1)) + j % 5
            z = x
            for i in range(8):
                z = K.exp(z * (i + 1)) + j % 5
            assert y.node is z.node

    together(work)


def test_one_function_many_shapes():
    x = K.placeholder((None, None), name="x")
    f = K.function([x], [K.sum(x, axis=0), K.softmax(x), x * 2])

    def work(k):
        rng = np.random.default_rng(k)
        for _ in range(40):
            a = rng.normal(size=rng.integers(1, 30, 2)).astype("f")
            total, soft, double = f(a)
            np.testing.assert_allclose(total, a.sum(0), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(soft.sum(-1), 1, rtol=1e-5)
            np.testing.assert_array_equal(double, a * 2)

    together(work)
    assert f.plans <= 29 * 29 and f.stats()["classes"] <= 32


@pytest.mark.parametrize("mode", ["compiled", "reference", "debug"])
def test_no_update_is_lost(mode):
    count, total = K.variable(0.0, dtype="float64"), K.variable(np.zeros(50), dtype="float64")
    x = K.placeholder((), dtype="float64", name="x")
    calls = 5 if mode == "debug" else 100
    functions = [
        K.function([x], count * 1, updates=[(count, count + 1), (total, total + x)], mode=mode)
        for _ in range(2)
    ]
    seen = [[] for _ in range(THREADS)]

    def work(k):
        for _ in range(calls):
            seen[k].append(float(functions[k % 2](k)))

    together(work)
    assert K.get_value(count) == THREADS * calls
    assert (K.get_value(total) == calls * sum(range(THREADS))).all()
    assert sorted(sum(seen, [])) == list(range(THREADS * calls))  # each call saw its own state


def test_shapes_that_data_decides():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.sum(x[K.greater(x, 0)] * 2))

    def work(k):
        for j in range(30):
            a = np.full(1 + (j + k) % 7, k + 1.0, "f")
            a[::2] = -1
            assert f(a) == 2 * (k + 1) * (len(a) // 2)

    together(work)


def test_settings_change_and_functions_are_copied_while_others_run():
    f, w = network(1)
    a, t = np.ones((4, 5), "f"), np.eye(3, dtype="f")[[0, 1, 2, 0]]
    still = f.copy(delete_updates=True)
    expected = still(a, t)

    def work(k):
        for j in range(20):
            if k == 0:
                K.set_num_threads(1 + j % 3)
            elif k == 1:
                f.clear()
            elif k == 2:
                g = f.copy(swap={w: K.variable(K.get_value(w))})
                g(a, t)
            elif k == 3:
                still.stats(), still.source(), repr(still)
            else:
                np.testing.assert_allclose(still(a, t), expected, rtol=1e-6)

    try:
        together(work)
    finally:
        K.set_num_threads(None)
