"""Functions that read several variables beside a thread that writes all of them at once.

The writer gives two variables the same number over and over; whatever a function computes from
them must come from one of its calls. Where data decides shapes a function runs in pieces, and all
of its pieces see the same values.

And functions whose indices another thread changes during a call: an error or any number, but
nothing out of range is read.
"""

import contextlib
import threading
import time

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.errors import CKernelsError

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
SIZE = 30
ALL = np.arange(SIZE, dtype="f")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def masked(x, a, b):
    """Two masks, one of an input and one of a variable."""
    m = x[x > 0]
    return [K.sum(m) * 0 + a[0], K.mean(a[a > -1]), K.mean(b), a[K.cast(m, "int32")], b]


def nonzero(x, a, b):
    (places,) = K.nonzero(x)
    return [b, a[places], K.max(b[places]), K.mean(a)]


def sliced(x, a, b):
    n = K.cast(K.sum(x[x > 0]), "int32") % 7 + 1
    return [a[:n], b[:n], K.mean(a), b[n]]


def nested(x, a, b):
    """A mask of what a mask left, through a product with a variable."""
    first = x[x > 2] * 0 + a[0]
    second = first[first > -1]
    return [second, K.mean(second) * 0 + b[1], a]


FUNCTIONS = {f.__name__: f for f in (masked, nonzero, sliced, nested)}


def beside_a_writer(f, write, calls):
    """The results of f(ALL) in which not all numbers are one."""
    stop, mixed = threading.Event(), []

    def work():
        n = 0
        while not stop.is_set():
            n = (n + 1) % 1000
            write(n)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for _ in range(calls):
            seen = {float(v) for part in f(ALL) for v in np.ravel(part)}
            if len(seen) != 1:
                mixed.append(seen)
    finally:
        stop.set()
        writer.join()
    return mixed


def pair(mode):
    """(two variables, write(n) that gives both the value n at once)."""
    a, b, n = K.zeros((SIZE,)), K.zeros((SIZE,)), K.placeholder((), dtype="float32")
    write = K.function([n], [], updates=[(a, a * 0 + n), (b, b * 0 + n)], mode=mode)
    write(0)
    return a, b, write


@pytest.mark.sampled(1)
@pytest.mark.parametrize("writer", ["compiled", "reference"])
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_call_reads_each_variable_once(name, mode, writer, calls=150):
    a, b, write = pair(writer)
    x = K.placeholder((None,))
    f = K.function([x], FUNCTIONS[name](x, a, b), mode=mode)
    assert beside_a_writer(f, write, calls) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ten_thousand_calls_read_each_variable_once(name):
    test_each_call_reads_each_variable_once(name, "compiled", "compiled", calls=10000)


def test_debug_mode_compares_values_of_one_moment():
    a, b, write = pair("compiled")
    x = K.placeholder((None,))
    f = K.function([x], sliced(x, a, b), mode="debug")
    assert beside_a_writer(f, write, 20) == []


@pytest.mark.parametrize("other", ["compiled", "staged"])
def test_no_update_of_a_function_in_pieces_is_lost(other):
    """Compiled functions that update the same variable wait for all pieces of a call."""
    total, x = K.variable(0.0, dtype="float64"), K.placeholder((None,))
    staged = K.function([x], [], updates=[(total, total + K.sum(x[x > 0]) * 0 + 1)])
    plain = K.function([x], [], updates=[(total, total + 1)], on_unused_input="ignore")
    functions = [staged, plain if other == "compiled" else staged.copy()]

    def work(f):
        for _ in range(300):
            f(ALL)

    team = [threading.Thread(target=work, args=(functions[k % 2],)) for k in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert K.get_value(total) == 1200


def test_an_error_in_a_piece_lets_others_update():
    total, x = K.variable(0.0), K.placeholder((None,))
    f = K.function([x], x[K.cast(x[x > 0], "int32")], updates=[(total, total + K.sum(x[x > 0]))])
    g = K.function([], [], updates=[(total, total + 1)])
    with pytest.raises(IndexError):
        f(np.array([50.0], "f"))
    thread = threading.Thread(target=g)
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and K.get_value(total) == 1


def test_values_of_another_shape_come_whole():
    """A writer changes the length of a variable that masks read."""
    from ckernels.compat import natural_bm as B

    v, x = B.variable(np.zeros(3)), K.placeholder((None,))
    kept = v[v > -1]
    f = K.function([x], [K.sum(kept), K.sum(kept * 0 + 1), K.mean(x[x > 0])])
    stop = threading.Event()

    def work():
        while not stop.is_set():
            for n in (2, 5, 9):
                v.set_value(np.full(n, float(n)))

    writer = threading.Thread(target=work)
    v.set_value(np.full(2, 2.0))
    writer.start()
    try:
        for _ in range(200):
            total, count, _ = f(ALL)
            assert total == count**2
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("updates", [False, True])
@pytest.mark.parametrize("staged", [False, True])
def test_shapes_that_change_whenever_a_plan_is_made(monkeypatch, staged, updates):
    """Another thread may be faster each time; the call is planned for what it read."""
    from itertools import count

    from ckernels.compat import natural_bm as B
    from ckernels.runtime.program import Program

    v, c, x = B.variable(np.full(3, 3.0)), B.variable(np.zeros(1)), K.placeholder((None,))
    lengths, bind = count(4), Program.bind

    def overtaken(self, arrays):
        plan = bind(self, arrays)
        if self.cells:
            v.set_value(np.full(n := next(lengths), float(n)))
        return plan

    monkeypatch.setattr(Program, "bind", overtaken)
    total = K.sum(v[v > -1]) if staged else K.sum(v)
    new = [(c, K.concatenate([v, v]))] if updates else []
    f = K.function([x], [total, K.sum(v * 0 + 1), v * 1 + K.mean(x)], updates=new)
    for _ in range(4):
        total, number, same = f(ALL)
        assert total == number**2 and len(same) == number
        assert (same - ALL.mean() == number).all()
        if updates:
            assert c.get_value().tolist() == [number] * int(2 * number)


@pytest.mark.slow
def test_a_writer_of_shapes_beside_ever_new_functions():
    from ckernels.compat import natural_bm as B

    v, c, x = B.variable(np.zeros(3)), B.variable(np.zeros(1)), K.placeholder((None,))
    stop = threading.Event()

    def work():
        n = 0
        while not stop.is_set():
            n += 1
            v.set_value(np.full(n % 50 + 1, float(n % 50 + 1)))

    v.set_value(np.ones(1))
    writer = threading.Thread(target=work)
    writer.start()
    try:
        for k in range(300):
            f = K.function(
                [x],
                [K.sum(v) * (k + 1), K.sum(v * 0 + 1)],
                updates=[(c, v * 2)],
                on_unused_input="ignore",
            )
            for _ in range(30):
                total, number = f(ALL)
                assert total == (k + 1) * number**2
    finally:
        stop.set()
        writer.join()


def dot_of(s, y):
    return K.dot(s, y)


def slope_of(s, y):
    return K.grad(K.sum(K.square(K.dot(s, y))), y)


def sampled(s, y):
    return K.to_dense(s * K.dot(K.dot(s, y), K.transpose(y)))


def product(s, y):
    return K.to_dense(K.dot(s, s.T))


def side_by_side(s, y):
    return K.to_dense(K.concatenate([s, s], axis=1))


def taken(s, y):
    return K.to_dense(s) + K.to_dense(s * s)


def disturbed(f, arrays, seconds=0.2):
    """Call f while another thread writes: each of `arrays`, (array, what it is filled with)."""
    stop, kept, calls = threading.Event(), [(a, a.copy(), bad) for a, bad in arrays], 0

    def work():
        while not stop.is_set():
            for array, good, bad in kept:
                array[...] = bad
                array[...] = good

    writer, end = threading.Thread(target=work), time.monotonic() + seconds
    writer.start()
    try:
        while calls < 3 or time.monotonic() < end:  # the first compiles
            calls += 1
            with contextlib.suppress(CKernelsError):
                f()
    finally:
        stop.set()
        writer.join()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("function", [dot_of, slope_of, sampled, product, side_by_side, taken])
def test_a_sparse_matrix_that_changes_is_read_within_range(function, part):
    scipy = pytest.importorskip("scipy.sparse")
    m = scipy.random(300, 200, 0.2, "csr", dtype="float32", random_state=0)
    s, y = K.placeholder((None, None), sparse=True), K.placeholder((None, None))
    f, ones = K.function([s, y], function(s, y), on_unused_input="ignore"), np.ones((200, 3), "f")
    want = f(m, ones)
    array = getattr(m, part)
    bad = 2**31 - 1 if part == "indices" else np.arange(301) * 20000
    disturbed(lambda: f(m, ones), [(array, bad)])
    np.testing.assert_array_equal(f(m, ones), want)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("dtype", ["uint16", "int64"])
def test_indices_that_change_are_looked_at_as_they_are_read(dtype, mode):
    """Also where an error is put into words."""
    x = K.placeholder((None, None))
    i = K.placeholder((None, None), dtype=dtype)
    f = K.function([x, i], K.take_along_axis(x, i, axis=0), mode=mode)
    at, rows = np.zeros((512, 40), dtype), np.ones((60, 40), "f")
    disturbed(lambda: f(rows, at), [(at, np.iinfo(dtype).max >> 8)])
    np.testing.assert_array_equal(f(rows, at), np.ones((512, 40)))


def test_a_mask_that_changes_is_counted_once():
    x, m = K.placeholder((None, None)), K.placeholder((None, None), dtype="bool")
    f, mask = K.function([x, m], x[m]), np.zeros((60, 40), bool)
    disturbed(lambda: f(np.ones((60, 40)), mask), [(mask, True)])
    assert f(np.ones((60, 40)), mask).shape == (0,)


@pytest.mark.parametrize("op", [K.argmax, K.argmin])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_place_of_a_maximum_that_is_overwritten_is_one_of_the_row(dtype, op):
    x, y, found = K.placeholder((None, None), dtype=dtype), np.ones((100, 2000), dtype), []
    f = K.function([x], op(x, 1), mode="compiled")
    disturbed(lambda: found.append(f(y)), [(y, np.where(np.arange(2000) % 7, 2, np.nan))])
    assert all(((0 <= at) & (at < 2000)).all() for at in found)


def test_elements_that_leave_their_bins_while_a_median_is_sought():
    """The last one is beyond the largest that was found."""
    x, y = K.placeholder((None,), dtype="float64"), np.random.default_rng(0).uniform(1, 2, 100_000)
    f = K.function([x], K.median(x), mode="compiled")
    disturbed(lambda: f(y), [(y[-1:], 1e300)], seconds=0.5)
    assert f(y) == np.median(y)
