"""Plans of compiled functions: the same bits on any number of threads, no new kernel for a batch,
arena reuse without overlap, atomic updates, many callers at once, flat memory."""

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ckernels as K
from ckernels import ops
from ckernels.base.errors import CKernelsError, ShapeError
from ckernels.graph.node import make, new_uid
from ckernels.plan.instructions import KERNEL
from ckernels.plan.memory import ALIGN, offsets
from ckernels.runtime.function import make_function


@pytest.fixture(autouse=True)
def threads():
    before = K.get_num_threads()
    yield
    K.set_num_threads(before)


def leaf(ndim, dtype="float32"):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": (None,) * ndim, "name": None}
    )


def function(build, *ndims, dtype="float32", **options):
    leaves = [leaf(n, dtype) for n in ndims]
    outputs = build(*leaves)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return make_function(leaves, outputs, positional_only=True, **options)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


# --- threads ------------------------------------------------------------------------------------

FORMS = {
    "flat": (lambda x, y: ops.tanh(x * 2 + y), [(1000, 1001), (1001,)]),
    "tile": (lambda x, y: ops.exp(ops.transpose(x)) + y, [(700, 801), (801, 700)]),
    "rows": (lambda x: ops.softmax(x, -1), [(3001, 301)]),
    "columns": (lambda x: [ops.softmax(x, 0), ops.max(x, 0)], [(301, 3001)]),
    "chunks": (lambda x: [ops.sum(x), ops.max(x), ops.argmax(x), ops.sum(ops.square(x))],
               [(1_000_003,)]),
    "column_chunks": (lambda x: [ops.sum(x, 0), ops.min(x, 0)], [(100_003, 7)]),
    "gemm": (lambda x, w, b: ops.tanh(ops.matmul(x, w) + b), [(501, 100), (100, 203), (203,)]),
    "gemm and rows": (lambda x, w: ops.softmax(ops.matmul(x, w), -1), [(1501, 64), (64, 33)]),
    "whole": (lambda x: [ops.var(x, 0), ops.mean(x), ops.log_softmax(x, 1)], [(2003, 129)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_same_bits_on_any_number_of_threads(name):
    build, shapes = FORMS[name]
    arrays = [numbers(*s, seed=k) for k, s in enumerate(shapes)]
    f = function(build, *(len(s) for s in shapes))
    K.set_num_threads(1)
    once = f(*arrays)
    for count in (2, 3, 1):
        K.set_num_threads(count)
        for _ in range(3):
            for a, b in zip(once, f(*arrays)):
                np.testing.assert_array_equal(
                    a.view("uint8") if a.ndim else a, b.view("uint8") if b.ndim else b
                )


# --- plans --------------------------------------------------------------------------------------


def classifier(x, w, b):
    return ops.softmax(ops.relu(ops.matmul(x, w) + b), -1)


def test_a_new_batch_size_makes_a_plan_but_no_kernel():
    f, w, b = function(classifier, 2, 2, 1), numbers(12, 5), numbers(5)
    f(numbers(32, 12), w, b)
    before = f.stats()
    assert before["plans"] == 1 and before["built"] + before["from_cache"] >= 1
    for n in (48, 20, 33, 32):  # the last batch of an epoch among them
        got = f(numbers(n, 12), w, b)[0]
        x = np.maximum(numbers(n, 12) @ w + b, 0)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=1e-5)
    after = f.stats()
    assert after["plans"] == 4 and len(after["kernels"]) == len(before["kernels"])
    assert after["built"] == before["built"] <= 1


def test_outputs_are_fresh_each_call():
    f = function(lambda x: [x + 1, x, x], 1)
    x = numbers(5)
    first = f(x)
    second = f(x)
    first[0][:] = 7
    first[1][:] = 9
    np.testing.assert_array_equal(second[0], x + 1)
    np.testing.assert_array_equal(second[1], numbers(5))
    np.testing.assert_array_equal(x, numbers(5))
    assert not np.shares_memory(second[1], second[2])


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 5000)),
        min_size=1,
        max_size=12,
    )
)
def test_buffers_that_live_together_do_not_overlap(spans):
    sizes = {}
    steps = [SimpleNamespace(kind=KERNEL, reads=[], writes=[], inplace=[]) for _ in range(10)]
    for k, (a, b, size) in enumerate(spans):
        sizes["tmp", k] = size
        steps[min(a, b)].writes.append(("tmp", k))
        steps[max(a, b)].reads.append(("tmp", k))
    found, total = offsets(steps, sizes)
    for i, (a, b, n) in enumerate(spans):
        at = found["tmp", i]
        assert at % ALIGN == 0 and at + n <= total
        for j, (c, d, m) in enumerate(spans[:i]):
            if min(a, b) <= max(c, d) and min(c, d) <= max(a, b):
                other = found["tmp", j]
                assert at + n <= other or other + m <= at


def test_a_long_chain_reuses_its_arena():
    def chain(x):
        for _ in range(20):
            x = ops.tanh(ops.matmul(x, x))
        return x

    f = function(chain, 2)
    f(numbers(64, 64) / 8)
    assert f.stats()["peak_bytes"] <= 4 * 64 * 64 * 4


# --- updates ------------------------------------------------------------------------------------


def test_an_error_in_the_middle_changes_nothing():
    table, count = K.variable(np.arange(12.0).reshape(4, 3)), K.variable(0.0)
    index = leaf(1, "int64")
    rows = ops.take(table.node, index, 0)
    f = make_function(
        [index],
        [ops.sum(rows)],
        [(count.node, count.node + 1), (table.node, table.node + ops.sum(rows))],
        positional_only=True,
    )
    f(np.array([0, 1]))
    before, counted = K.get_value(table), K.get_value(count)
    with pytest.raises((CKernelsError, IndexError)):
        f(np.array([0, 9]))
    np.testing.assert_array_equal(K.get_value(table), before)
    assert K.get_value(count) == counted == 1


def test_updates_see_old_values():
    a, b = K.variable(np.ones(3)), K.variable(np.full(3, 2.0))
    f = make_function(
        [], [a.node + b.node], [(a.node, b.node), (b.node, a.node)], positional_only=True
    )
    for turn in range(3):
        np.testing.assert_array_equal(f()[0], 3)
        assert K.get_value(a)[0] == (2 if turn % 2 == 0 else 1)
        assert K.get_value(b)[0] == (1 if turn % 2 == 0 else 2)


def test_an_array_a_user_holds_is_not_written_to():
    v = K.variable(np.zeros(1000))
    f = make_function([], [], [(v.node, v.node + 1)], positional_only=True)
    held = [v.node.attrs["store"].get()]
    for _ in range(4):
        f()
        held.append(v.node.attrs["store"].get())
    assert [float(h[0]) for h in held] == [0, 1, 2, 3, 4]


# --- many callers -------------------------------------------------------------------------------


def test_sixteen_threads_call_one_function():
    f, w, b = function(classifier, 2, 2, 1), numbers(40, 30), numbers(30)
    inputs = [numbers(20 + k, 40, seed=k) for k in range(16)]
    wanted = [f(x, w, b)[0] for x in inputs]

    def work(k):
        return all((f(inputs[k], w, b)[0] == wanted[k]).all() for _ in range(50))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_sixteen_threads_count_together():
    count = K.variable(np.zeros(3))
    x = leaf(1)
    f = make_function([x], [ops.sum(x)], [(count.node, count.node + x)], positional_only=True)
    ones = np.ones(3, "float32")
    start = threading.Barrier(16)

    def work(_):
        start.wait()
        for _ in range(100):
            f(ones)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    np.testing.assert_array_equal(K.get_value(count), 1600)


def test_first_calls_from_many_threads():
    f = function(lambda x: ops.tanh(x) * 3.25, 1)
    start = threading.Barrier(8)

    def work(k):
        start.wait()
        return f(np.ones(10 + k % 3, "float32"))[0]

    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(work, range(8)):
            np.testing.assert_allclose(got, np.tanh(1) * 3.25, rtol=1e-6)
    assert f.stats()["plans"] == 3


# --- memory -------------------------------------------------------------------------------------


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def soak(count):
    """Bytes that `count` builds and calls add, after as many to warm up."""

    def once():
        f = function(classifier, 2, 2, 1)
        for n in (8, 9):
            f(numbers(n, 12), numbers(12, 5), numbers(5))

    for _ in range(count // 4):
        once()
    gc.collect()
    before = resident()
    for _ in range(count):
        once()
    gc.collect()
    return resident() - before


SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
linux = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or SANITIZED,
    reason="needs /proc, and memory that is given back when it is freed",
)


@linux
def test_memory_stays_flat_over_calls():
    f = function(lambda x: [ops.tanh(x), ops.sum(x)], 1)
    x = numbers(400_000)  # outputs from the pool of large buffers
    for _ in range(20):
        f(x)
    before = resident()
    for _ in range(2000):
        f(x[:1000])
    for _ in range(200):
        f(x)
    assert resident() - before < 8 << 20


@linux
def test_memory_stays_flat_over_builds():
    assert soak(200) < 4 << 20


@linux
@pytest.mark.slow
def test_memory_stays_flat_over_many_builds():
    assert soak(2000) < 8 << 20


def test_numbers_made_from_sizes_are_not_baked_into_kernels():
    """x / shape(x)[0] for another number of rows: another plan, the same kernels."""
    x = K.placeholder((None, None))
    rows = K.cast(K.shape(x)[0], "float32")
    f = K.function([x], [K.tanh(x) / rows + K.sum(x * 2.0) / K.sqrt(rows)])
    for m in (3, 4, 7):
        a = np.linspace(-1, 1, m * 6, dtype="f").reshape(m, 6)
        np.testing.assert_allclose(
            f([a])[0], np.tanh(a) / m + (2 * a).sum() / np.sqrt(m), rtol=1e-4, atol=1e-6
        )
    assert f.stats()["plans"] == 3 and f.stats()["built"] + f.stats()["from_cache"] <= 2
    assert f.stats()["classes"] == 1


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_numbers_made_from_sizes_do_not_pin_them(dtype):
    x = K.placeholder((None, 3))
    f = K.function([x], K.cast(K.shape(x)[0], dtype) * 3)
    assert [f(np.ones((n, 3))).item() for n in (7, 9, 40)] == [21, 27, 120]
    assert f.stats()["classes"] == 1


def test_plans_of_a_function_hold_a_bounded_amount_of_memory():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.cumsum(K.cumsum(x) * 2))  # one intermediate of the size of x
    size = 225_000  # just below what goes back to the pool
    for n in range(size, size + 90):
        assert f(np.ones(n, "f"))[-1] == pytest.approx(float(n) * (n + 1), rel=1e-5)
    stats = f.stats()
    assert stats["classes"] == 1 and 60 <= stats["plans"] <= (64 << 20) // (4 * size)


def test_one_plan_serves_a_class_of_shapes():
    x, w = K.placeholder((None, 4), name="x"), K.variable(np.arange(12.0).reshape(4, 3))
    f = K.function([x], [K.softmax(K.dot(x, w)), K.mean(x, axis=0)])
    for n in (3, 5, 4, 2, 64, 12, 3):
        a = np.random.default_rng(n).random((n, 4)).astype("f")
        got = f(a)
        e = np.exp(a @ np.arange(12.0).reshape(4, 3))
        np.testing.assert_allclose(got[0], e / e.sum(1, keepdims=True), rtol=1e-4)
        np.testing.assert_allclose(got[1], a.mean(0), rtol=1e-5)
    stats = f.stats()
    assert stats["plans"] == 6 and stats["classes"] <= 2
    np.testing.assert_allclose(f(np.ones((1, 4), "f"))[1], np.ones(4))
    assert f.stats()["classes"] == stats["classes"]
    with pytest.raises(ShapeError):
        f(np.ones((1, 3), "f"))
    f(np.ones((0, 4), "f"))
    assert f.stats()["classes"] == stats["classes"] + 1


OF_MANY = {  # programs of x of shape (None, 4)
    "sums": lambda x: [K.sum(x, axis=0), K.sum(x, axis=1), K.mean(x), K.prod(x, axis=0)],
    "spread": lambda x: [K.std(x, axis=0), K.var(x), K.std(x, axis=1)],
    "extremes": lambda x: [K.max(x, axis=0), K.argmax(x, axis=0), K.argmin(x, 1), K.any(x > 0)],
    "orders": lambda x: [K.cumsum(x, axis=0), K.cumprod(x, axis=1), K.reverse(x, 0)],
    "products": lambda x: [
        K.dot(x, K.transpose(x)),
        K.dot(K.transpose(x), x),
        K.batch_dot(x, x, 1),
    ],
    "shapes": lambda x: [K.reshape(x, (-1,)), K.reshape(x, (-1, 2)), K.transpose(x), K.flatten(x)],
    "expanded": lambda x: [K.expand_dims(x, 0) + K.expand_dims(x, 1), K.repeat(x, 3)],
    "repeated": lambda x: [K.repeat_elements(x, 2, 0), K.tile(x, (2, 1)), K.concatenate([x, x], 0)],
    "parts": lambda x: [x[:1], x[-1], x[:, 1:3], x[::-1] * 2, x[-1:] + x],
    "softmax": lambda x: [K.softmax(x), K.logsumexp(x, axis=0), K.l2_normalize(x, 0)],
    "gathered": lambda x: [K.gather(x, K.argmin(x, 1) * 0), K.one_hot(K.argmax(x, 1), 4)],
    "gradients": lambda x: K.gradients(
        K.sum(K.square(x - K.mean(x, axis=0))) + K.sum(K.dot(x, K.transpose(x)) ** 2), [x]
    ),
    "scans": lambda x: [
        K.scan(lambda row, s: s * 0.5 + row, sequences=[x], outputs_info=[K.zeros((4,))])[0]
    ],
    "sizes": lambda x: [x / K.cast(K.shape(x)[0], "float32"), K.arange(K.shape(x)[0])],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("name", OF_MANY)
def test_one_after_many_is_one_as_it_is(name, contiguous):
    """A 1 in the class of larger sizes, and met first: the same numbers, of the same shapes."""
    x, y = K.placeholder((None, 4)), K.placeholder((None, 4))
    f, g = K.function([x], OF_MANY[name](x)), K.function([y], OF_MANY[name](y))

    def data(n):
        a = np.random.default_rng(n).standard_normal((2 * n, 4)).astype("f")
        return a[:n] if contiguous else a[::2]

    f([data(7)]), f([data(3)])
    for n in (1, 5, 1):
        for got, want in zip(f([data(n)]), g([data(n)])):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_one_that_stretches_is_no_member_of_the_class():
    """Near misses: a batch of one beside another size broadcasts, also where gradients sum it."""
    x, y = K.placeholder((None, 3), name="x"), K.placeholder((None, 3), name="y")
    f = K.function([x, y], [x * y, *K.gradients(K.sum(x * y * y), [x, y])])
    rng = np.random.default_rng(0)
    for n, m in ((4, 4), (6, 6), (1, 4), (4, 1), (1, 1), (1, 6), (6, 1), (0, 1), (1, 0), (5, 5)):
        a, b = rng.random((n, 3)), rng.random((m, 3))
        p, da, db = f([a, b])
        a, b = a.astype("f"), b.astype("f")
        np.testing.assert_allclose(p, a * b, rtol=1e-6)
        whole = np.broadcast_shapes(a.shape, b.shape)
        sum_to = lambda g, n: g.sum(0, keepdims=True) if n == 1 else g  # noqa: E731
        np.testing.assert_allclose(da, sum_to(np.broadcast_to(b * b, whole), n), rtol=1e-5)
        np.testing.assert_allclose(db, sum_to(2 * a * b, m), rtol=1e-5)
    with pytest.raises(ShapeError, match="axis 0 is 2 against 5"):
        f([np.ones((2, 3)), np.ones((5, 3))])
    z = K.placeholder((None, 3))
    g = K.function([z], K.squeeze(z, 0) * 2)
    with pytest.raises(ShapeError):
        g([np.ones((2, 3))])
    np.testing.assert_array_equal(g([np.ones((1, 3))]), 2 * np.ones(3))


def test_a_one_met_first_has_the_plan_of_those_that_follow():
    x = K.placeholder((None, 4))
    for order in ((1, 3, 1, 9), (3, 1, 9)):
        f = K.function([x], K.dot(x, K.ones((4, 5))))
        for n in order:
            np.testing.assert_array_equal(f([np.ones((n, 4))]), np.full((n, 5), 4.0))
            assert "matmul" in f.explain() and f.stats()["classes"] == 1


def test_a_one_that_stretches_has_one_plan_whichever_came_first(tmp_path):
    x, y = K.placeholder((None, None)), K.placeholder((None, 3))
    arrays = [[np.ones((n, k), "f"), np.ones((m, 3), "f")] for n, k, m in
              ((1, 1, 4), (5, 1, 5), (1, 3, 1), (5, 3, 5), (1, 3, 6))]  # fmt: skip
    with K.config.change(base_compiledir=str(tmp_path)):
        for order in (arrays, arrays[::-1]):
            f = K.function([x, y], K.sum(K.exp(x * y), 1))
            for a, b in order:
                np.testing.assert_allclose(f([a, b]), np.exp(a * b).sum(1), rtol=1e-6)
            assert f.stats()["classes"] == 4  # that of no 1 serves (1, 3, 1) too


SHAPES_OF_ONE = ((5, 1, 3), (1, 1, 3), (5, 4, 3), (1, 4, 3), (5, 4, 1), (5, 1, 1), (1, 1, 1))


@pytest.mark.parametrize("order", [1, -1])
def test_axes_of_one_behind_the_first_are_numbers_of_their_classes(order, tmp_path):
    """They vanish from loops; whether they do follows from the sizes of a call alone."""
    x = K.placeholder((None, None, None), name="x")
    f = K.function([x], [K.sort(x, 1), K.sum(K.exp(x), 1), K.argmax(x, 2), x[:, ::-1]])
    rng = np.random.default_rng(1)
    with K.config.change(base_compiledir=str(tmp_path)):
        for shape in SHAPES_OF_ONE[::order]:
            for _ in range(3):  # by Python's plan, and by C's classes
                a = rng.normal(size=shape).astype("f")
                wanted = np.sort(a, 1), np.exp(a).sum(1), a.argmax(2), a[:, ::-1]
                for got, want in zip(f(a), wanted):
                    np.testing.assert_allclose(got, want, rtol=1e-5)
            assert any("sort" in step for step in f.steps()) == (shape[1] != 1)
        assert f.stats()["classes"] == 4


def test_a_batch_of_one_compiles_next_to_nothing():
    """Layers whose kernels a larger batch has compiled, across the threshold of a long variance."""
    x, w = K.placeholder((None, 12, 12, 3)), K.variable(np.ones((3, 3, 3, 8)) / 27)
    y = K.conv2d(x, w, padding="same")
    y = K.relu((y - K.mean(y, axis=[0, 1, 2])) / (K.std(y, axis=[0, 1, 2]) + 0.1))
    f = K.function([x], [K.sum(y)], updates=[(w, w - 0.1 * K.gradients(K.sum(y * y), [w])[0])])
    rng = np.random.default_rng(0)
    f([rng.random((16, 12, 12, 3))])
    names = {k["name"] for k in f.stats()["kernels"]}
    f([rng.random((1, 12, 12, 3))])
    new = {k["name"] for k in f.stats()["kernels"]} - names
    assert len(new) <= len(names) // 2, (new, names)


def test_plans_of_a_class_are_made_without_python(monkeypatch):
    """Sized constants, outputs, updates and strides of a class that C knows."""
    x, total = K.placeholder((None, 3), name="x"), K.variable(np.zeros(3))
    y = K.cumsum(x * 2, 0)
    f = K.function([x], [K.mean(y, 0), y[1:], K.shape(x)[0] * 3], updates=[(total, K.sum(x, 0))])
    program, seen = f.info.program, []
    bind = program.bind
    monkeypatch.setattr(
        program, "bind", lambda arrays: seen.append(arrays[0].shape) or bind(arrays)
    )
    whole = np.random.default_rng(0).random((40, 6)).astype("f")
    for a in [whole[:n, :3].copy() for n in (7, 9, 40, 2, 1)] + [
        whole[: n * 3 : n, ::2] for n in (3, 5)
    ]:
        mean, rest, count = f(a)
        want = np.cumsum(2 * a, 0)
        np.testing.assert_allclose(mean, want.mean(0), rtol=1e-5)
        np.testing.assert_allclose(rest, want[1:], rtol=1e-5)
        np.testing.assert_allclose(K.get_value(total), a.sum(0), rtol=1e-5)
        assert count == 3 * len(a)
    assert len(seen) <= 4 and seen[0] == (7, 3) and (40, 3) not in seen
    with pytest.raises(K.errors.ShapeError, match="axis 1 is 4 instead of 3"):
        f(np.ones((9, 4), "f"))
    f.clear()
    assert f(np.ones((40, 3), "f"))[2] == 120 and seen[-1] == (40, 3)


def test_tables_of_a_class_that_do_not_fit_are_refused(monkeypatch):
    from ckernels import _runtime

    x, make, made = K.placeholder((None, None), name="x"), _runtime.Class, []
    monkeypatch.setattr(_runtime, "Class", lambda *args: made.append(args) or make(*args))
    f = K.function([x], [K.mean(K.cumsum(x * 2, 0) + K.cumsum(x, 1), 0)])
    f(np.ones((6, 5), "f"))
    plan, tables, constants = made[0]
    make(plan, tables, constants)
    kind, rows, bytes_, starts, below = 0, 6, 11, 14, 15
    for k, table in enumerate(tables):
        bad = [table[:-1]] if table.ndim == 1 and len(table) and k != below else []
        if k not in (kind, rows, bytes_, starts, below) and table.size:
            bad += [table + 10**9, table - 10**9]
        for wrong in bad:
            with pytest.raises(ValueError, match="do not fit"):
                make(plan, (*tables[:k], wrong, *tables[k + 1 :]), constants)
    for wrong in ([(0, np.array([10**6]))], [(-1, np.array([0]))], [(0, 1)], [None]):
        with pytest.raises(ValueError, match="do not fit"):
            make(plan, tables, wrong)
    with pytest.raises(ValueError, match="do not fit"):
        make(plan, tables[:-1], constants)
    with pytest.raises(TypeError, match="takes a Class"):
        f.learn(plan)


def test_equal_sizes_of_two_inputs_are_an_assumption():
    x, y = K.placeholder((None,), name="x"), K.placeholder((None,), name="y")
    f = K.function([x, y], K.sum(x * y))
    for n in (2, 3, 9):
        assert f(np.ones(n), np.full(n, 2.0)) == 2 * n
    assert f.stats()["classes"] == 1 and "x.shape[0] == y.shape[0]" in f.assumptions()
    with pytest.raises(K.errors.ShapeError, match="4"):
        f(np.ones(3), np.ones(4))
    assert f(np.ones(1), np.full(5, 2.0)) == 10 and f(np.ones(6), np.ones(6)) == 6


@pytest.mark.parametrize("order", [1, -1])
def test_the_way_of_a_sum_follows_from_its_size(order):
    """A long sum is dealt out from 32768 elements on; a bias gradient from 2 MB of floats on."""
    x, y = K.placeholder((None,)), K.placeholder((None, 300))
    f, g = K.function([x], K.sum(x)), K.function([y], K.sum(K.square(y), 0))
    with K.config.change(cache="off"):  # no plan that another test has stored
        for n in (16_384, 32_767, 32_768, 40_000, 70_000)[::order]:
            assert f(np.ones(n, "f")) == n
            assert ("partial" in f.steps()[0]) == (n >= 32_768)
        for n in (9, 1747, 1748, 3000)[::order]:
            np.testing.assert_array_equal(g(np.ones((n, 300), "f")), np.full(300, n))
            assert g.steps()[0].endswith("partial") == (n >= 1748)
        assert f.stats()["classes"] == g.stats()["classes"] == 2


@pytest.mark.parametrize("order", [1, -1])
def test_one_chunk_of_rows_and_two_share_a_plan(order):
    """16 columns are summed in chunks of 4096 rows; which of them is the last is a size alone."""
    x = K.placeholder((None, 16, 16, 16))
    f = K.function([x], K.sum(K.square(x), (0, 1, 2)))
    with K.config.change(cache="off"):
        for n in (8, 9, 15, 16, 17, 31, 32, 33, 400)[::order]:
            np.testing.assert_array_equal(f(np.ones((n, 16, 16, 16), "f")), np.full(16, 256 * n))
            assert f.steps()[0].endswith("partial")
        assert f.stats()["classes"] == 1
        for n in (7, 2):
            np.testing.assert_array_equal(f(np.ones((n, 16, 16, 16), "f")), np.full(16, 256 * n))
            assert f.stats()["classes"] == 2, n


@pytest.mark.parametrize("threshold", [2, 3, 16, 17, 4096, 4097, 16384, 32768, 65537])
def test_classes_meet_at_their_thresholds(threshold):
    """Sums, products and rows just below, at and above where plans change, through one function."""
    x = K.placeholder((None,), name="x")
    f = K.function([x], [K.sum(x), K.max(x), K.argmax(x), K.cumsum(x), x[1:] - x[:-1]])
    for n in (threshold - 1, threshold, threshold + 1, threshold - 1):
        a = np.random.default_rng(n).random(n).astype("f")
        total, top, place, running, steps = f(a)
        assert total == pytest.approx(a.sum(dtype="f8"), rel=1e-5)
        assert top == a.max() and place == a.argmax()
        np.testing.assert_allclose(running, np.cumsum(a, dtype="f8"), rtol=1e-4)
        np.testing.assert_array_equal(steps, a[1:] - a[:-1])
