"""Variables: updates that are atomic, locks that do not deadlock, and sixteen threads at once.

Kernels are hand-written (handmade.py). Expected values are counted or computed with NumPy.
"""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
from ckernels.base.errors import CKernelsWarning  # noqa: E402
from src.handmade import (  # noqa: E402
    CELL,
    INPUT,
    NEXT,
    OUTPUT,
    PYCALL,
    Failed,
    add1,
    counter,
    function,
    instr,
    kernels,
    plan,
    simple_plan,
)

assert kernels  # a fixture
LONG = 1e6  # work that makes a run release the GIL


def in_threads(count, job):
    """Run job(i) in `count` threads at once; raise what any of them raised."""
    errors, ready = [], threading.Barrier(count)

    def run(i):
        ready.wait()
        try:
            job(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]


# ---- cells ----


@pytest.mark.parametrize(
    "value",
    [
        3.5,
        [1, 2],
        np.arange(6).reshape(2, 3).T,
        np.arange(3, dtype=">i4"),
        np.zeros((0, 2)),
        np.float16(2),
        True,
        np.arange(4)[::-2],
        np.arange(3) * 1j,
        np.zeros(2, np.longlong),
    ],
)
def test_a_cell_keeps_a_native_copy(value):
    cell = runtime.Cell(value)
    kept = cell.get()
    assert np.array_equal(kept, value) and kept.dtype == np.asarray(value).dtype.newbyteorder("=")
    assert kept.flags.c_contiguous and kept.flags.aligned and not np.shares_memory(kept, value)


def test_set_never_touches_old_values():
    cell, held = runtime.Cell(np.zeros(3)), []
    for i in range(20):
        held.append((cell.get(), cell.get()[1:], memoryview(cell.get()))[i % 3])
        cell.set(np.full(3, i + 1.0))
        cell.set(np.full(3, i + 1.0))
    assert [h[0] for h in held] == list(range(20))


@pytest.mark.parametrize(
    "wrong", ["text", object(), [None], np.zeros(2, "M8[s]"), np.longdouble(1)]
)
def test_a_cell_refuses_what_kernels_cannot_hold(wrong):
    cell = runtime.Cell(1.0)
    for call in (runtime.Cell, cell.set):
        with pytest.raises(TypeError):
            call(wrong)
    other = runtime.Cell(2.0)
    with pytest.raises(TypeError):
        runtime.assign((other, cell), (3.0, wrong))
    assert cell.get() == 1 and other.get() == 2  # all, or none


# ---- updates ----


def test_outputs_see_old_values_and_updates_apply(kernels):
    cell = runtime.Cell(np.zeros(2))
    f = counter(runtime, kernels, cell)
    for i in range(10):
        assert np.array_equal(f(), [i + 1, i + 1]) and cell.get()[0] == i + 1


def test_values_held_by_the_user_never_change(kernels):
    cell = runtime.Cell(np.zeros(4))
    f, held = counter(runtime, kernels, cell), []
    for i in range(20):
        held.append((cell.get(), cell.get()[2:], memoryview(cell.get()))[i % 3])
        f(), f()
    assert [h[0] for h in held] == list(range(0, 40, 2))


def test_two_buffers_are_enough_when_nobody_holds_a_value(kernels):
    cell = runtime.Cell(np.zeros(1 << 18))
    f = counter(runtime, kernels, cell)
    addresses = set()
    for _ in range(20):
        f()
        addresses.add(cell.get().ctypes.data)
    assert len(addresses) == 2 and (cell.get() == 20).all()


def test_swapped_variables_swap(kernels):
    """a <- b + 1, b <- a + 1 from the old values, in one step."""
    a, b = runtime.Cell(np.array([1.0])), runtime.Cell(np.array([10.0]))
    both = plan(
        runtime,
        [instr(fn=kernels.add1, ptr=0, n=1), instr(fn=kernels.add1, ptr=2, n=1)],
        [(CELL, 1, 0), (NEXT, 0, 0), (CELL, 0, 0), (NEXT, 1, 0)],
        updates=[(0, "float64", (1,)), (1, "float64", (1,))],
    )
    f = function(runtime, lambda arrays: both, cells=[a, b], updated=[0, 1], single=False)
    assert f() == [] and (a.get()[0], b.get()[0]) == (11, 2)
    f()
    assert (a.get()[0], b.get()[0]) == (3, 12)


@pytest.mark.parametrize("work", [0, LONG])
def test_an_error_leaves_every_variable(kernels, work):
    a, b = runtime.Cell(np.zeros(1)), runtime.Cell(np.zeros(1))
    ptrs = [(CELL, 0, 0), (NEXT, 0, 0), (CELL, 1, 0), (NEXT, 1, 0)]
    updates = [(0, "float64", (1,)), (1, "float64", (1,))]
    steps = [instr(fn=kernels.add1, ptr=0, n=1), instr(fn=kernels.add1, ptr=2, n=1)]

    def interrupt(inputs, outputs):
        raise KeyboardInterrupt

    for last, error in ((instr(fn=kernels.fails, n=1), Failed), (instr(PYCALL), KeyboardInterrupt)):
        program = plan(
            runtime, [*steps, last], ptrs, updates=updates, work=work, pycalls=[(interrupt, [], [])]
        )
        f = function(
            runtime, lambda arrays, p=program: p, cells=[a, b], updated=[0, 1], single=False
        )
        before = a.get(), b.get()
        for _ in range(3):
            with pytest.raises(error):
                f()
        assert a.get() is before[0] and b.get() is before[1] and a.get()[0] == b.get()[0] == 0


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt even where the tests were started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_real_interrupt_leaves_every_variable(kernels, interruptible):
    def sleep(inputs, outputs):
        time.sleep(20)

    cell = runtime.Cell(np.zeros(1))
    f = counter(runtime, kernels, cell, middle=sleep)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        f()
    assert cell.get()[0] == 0
    assert counter(runtime, kernels, cell)()[0] == 1  # and the lock is free


def test_a_value_set_by_a_pycall_is_overwritten_by_the_update(kernels):
    cell = runtime.Cell(np.zeros(1))
    f = counter(runtime, kernels, cell, middle=lambda i, o: cell.set([100.0]))
    assert f()[0] == 1 and cell.get()[0] == 1


# ---- shapes of variables ----


def test_a_flexible_variable_gets_plans_per_shape(kernels):
    cell = runtime.Cell(np.zeros(2))
    f = counter(runtime, kernels, cell)
    for n in (2, 5, 2, 5, 1):
        cell.set(np.arange(float(n)))
        assert np.array_equal(f(), np.arange(n) + 1.0)
    assert f.plans == 3


def test_a_fixed_variable_must_keep_its_shape(kernels):
    cell = runtime.Cell(np.zeros(4))
    fixed = simple_plan(runtime, kernels, ptrs=[(CELL, 0, 0), (OUTPUT, 0, 0)])
    f = function(runtime, lambda arrays: fixed, cells=[cell])
    f()
    for wrong in (np.zeros(2), np.zeros((4, 1)), np.zeros(4, np.float32)):
        cell.set(wrong)
        with pytest.raises(ValueError, match="variable 0 changed its shape or dtype"):
            f()
    cell.set(np.ones(4))
    assert np.array_equal(f(), np.full(4, 2.0))


def test_an_update_must_keep_the_shape_of_a_fixed_variable():
    for dtype, shape in (("float64", (5,)), ("float32", (4,))):
        cell = runtime.Cell(np.zeros(4))
        program = plan(runtime, [], [], updates=[(0, dtype, shape)])
        f = function(runtime, lambda arrays, p=program: p, cells=[cell], updated=[0], single=False)
        with pytest.raises(ValueError, match="variable 0 another shape or dtype"):
            f()


def test_a_shape_that_changes_during_bind_is_noticed(kernels):
    cell = runtime.Cell(np.zeros(1000))
    calls = []

    def bind(arrays):
        n = cell.get().size
        calls.append(n)
        if len(calls) == 1:
            cell.set(np.zeros(3))  # as another thread could
        return plan(
            runtime,
            [instr(fn=kernels.add1, n=n)],
            [(CELL, 0, 0), (OUTPUT, 0, 0)],
            outputs=[("float64", (n,))],
        )

    f = function(runtime, bind, cells=[cell], flexible=[0])
    assert f().shape == (3,) and calls == [1000, 3] and f.plans == 1


# ---- locks ----


def test_a_nested_update_of_the_same_variable_is_refused(kernels):
    cell = runtime.Cell(np.zeros(1))
    inner = counter(runtime, kernels, cell)
    f = counter(runtime, kernels, cell, middle=lambda i, o: inner())
    with pytest.raises(RuntimeError, match="inside its own run"):
        f()
    assert cell.get()[0] == 0 and inner()[0] == 1


def test_nested_updates_of_other_variables_work(kernels):
    a, b = runtime.Cell(np.zeros(1)), runtime.Cell(np.zeros(1))
    inner = counter(runtime, kernels, b)
    f = counter(runtime, kernels, a, middle=lambda i, o: inner())
    f(), f()
    assert a.get()[0] == b.get()[0] == 2


def test_reading_a_variable_inside_its_update_works(kernels):
    cell, seen = runtime.Cell(np.zeros(4)), []
    program = simple_plan(runtime, kernels, ptrs=[(CELL, 0, 0), (OUTPUT, 0, 0)])
    read = function(runtime, lambda arrays: program, cells=[cell])
    f = counter(runtime, kernels, cell, middle=lambda i, o: seen.append(read()[0]))
    f(), f()
    assert seen == [1, 2]  # old value + 1, both times


def test_crossed_nested_updates_raise_instead_of_hanging(kernels):
    a, b = runtime.Cell(np.zeros(1)), runtime.Cell(np.zeros(1))
    inside, refused = threading.Barrier(2), []
    inner = {0: counter(runtime, kernels, b), 1: counter(runtime, kernels, a)}

    def middle(i):
        def run(inputs, outputs):
            inside.wait(20)  # now both hold their variable
            try:
                inner[i]()
            except RuntimeError as error:
                assert "wait for each other" in str(error)
                refused.append(i)

        return run

    outer = [counter(runtime, kernels, cell, middle=middle(i)) for i, cell in enumerate((a, b))]
    in_threads(2, lambda i: outer[i]())
    assert len(refused) == 1


def test_who_waits_for_long_for_a_variable_is_told(kernels):
    """A Python operation that waits for a thread which updates the same variable."""
    cell, held, warned = runtime.Cell(np.zeros(1)), threading.Event(), []
    inner = counter(runtime, kernels, cell)

    def other():
        held.wait(20)
        with warnings.catch_warnings():  # as the user's filter may have it: an error ends the wait
            warnings.simplefilter("error", CKernelsWarning)
            try:
                inner()
            except CKernelsWarning as sentence:
                warned.append(str(sentence))

    thread = threading.Thread(target=other)

    def middle(inputs, outputs):
        held.set()
        thread.join(20)

    f = counter(runtime, kernels, cell, middle=middle)
    before = runtime.patience(0.2)
    try:
        thread.start()
        f()
    finally:
        runtime.patience(before)
    assert before == 30 and not thread.is_alive()
    assert len(warned) == 1 and "a call in another thread is updating" in warned[0]
    inner(), f()  # nothing is held any more
    assert cell.get()[0] == 3


def test_readers_do_not_wait_for_a_running_update(kernels):
    cell = runtime.Cell(np.zeros(4))
    program = simple_plan(runtime, kernels, ptrs=[(CELL, 0, 0), (OUTPUT, 0, 0)])
    read = function(runtime, lambda arrays: program, cells=[cell])
    go, done = threading.Event(), threading.Event()

    def middle(inputs, outputs):
        go.set()
        assert done.wait(20)

    f = counter(runtime, kernels, cell, middle=middle)
    thread = threading.Thread(target=f)
    thread.start()
    assert go.wait(20)
    assert read()[0] == 1 and cell.get()[0] == 0
    cell.set(np.full(4, 50.0))  # the update that runs wins: it comes last
    assert read()[0] == 51
    done.set()
    thread.join(20)
    assert cell.get()[0] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_lock_does_not_outlive_its_thread_in_a_forked_child(kernels):
    cell = runtime.Cell(np.zeros(1))
    go, done = threading.Event(), threading.Event()
    f = counter(runtime, kernels, cell, middle=lambda i, o: (go.set(), done.wait(20)))
    thread = threading.Thread(target=f)
    thread.start()
    assert go.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a hang kills the child, and fails the test
        os._exit(int(counter(runtime, kernels, cell)()[0]) + 40)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join(20)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 41


# ---- threads ----


@pytest.mark.parametrize("work", [0, LONG])
def test_sixteen_threads_get_what_one_gets(kernels, work):
    f = add1(runtime, kernels, work=work)
    inputs = [np.random.default_rng(n).standard_normal(n) for n in (1, 8, 100, 1000)]
    serial = [f(x).tobytes() for x in inputs]

    def job(i):
        for turn in range(600):
            k = (turn + i) % 4
            assert f(inputs[k]).tobytes() == serial[k]
            if turn % 100 == i:
                f.clear()

    in_threads(16, job)


@pytest.mark.parametrize("work", [0, LONG])
def test_counters_count_exactly(kernels, work):
    cell = runtime.Cell(np.zeros(8))
    f, g = counter(runtime, kernels, cell, work), counter(runtime, kernels, cell, work)
    seen = [[] for _ in range(16)]

    def job(i):
        for _ in range(200):
            seen[i].append((f if i % 2 else g)()[0])

    in_threads(16, job)
    assert (cell.get() == 3200).all()
    assert sorted(sum(seen, [])) == list(range(1, 3201))


def test_counters_count_exactly_around_a_pycall(kernels):
    cell = runtime.Cell(np.zeros(1))
    f = counter(runtime, kernels, cell, LONG, middle=lambda i, o: time.sleep(0.0002))
    in_threads(8, lambda i: [f() for _ in range(20)])
    assert cell.get()[0] == 160


def test_transfers_between_variables_keep_the_total(kernels):
    """a <- b + 1 in some threads, b <- a + 1 in others: serialised, so no update is lost."""
    a, b = runtime.Cell(np.zeros(1)), runtime.Cell(np.zeros(1))
    program = plan(
        runtime,
        [instr(fn=kernels.slow, n=1), instr(fn=kernels.add1, ptr=0, n=1)],
        [(CELL, 1, 0), (NEXT, 0, 0)],
        [20000],
        updates=[(0, "float64", (1,))],
        work=LONG,
    )
    pair = [
        function(runtime, lambda arrays: program, cells=cells, updated=[0], single=False)
        for cells in ([a, b], [b, a])
    ]
    in_threads(8, lambda i: [pair[i % 2]() for _ in range(50)])
    assert abs(a.get()[0] - b.get()[0]) == 1  # each step sets one to the other + 1: never equal


def test_set_during_updates_crashes_nothing(kernels):
    cell = runtime.Cell(np.zeros(64))
    f = counter(runtime, kernels, cell, LONG)

    def job(i):
        for turn in range(200):
            if i % 4:
                out = f()
                assert (out == out[0]).all()
            else:
                cell.set(np.full((64, 32)[turn % 2], float(turn)))

    in_threads(8, job)
    value = cell.get()
    assert (value == value[0]).all()


def test_the_gil_is_released_for_long_runs(kernels):
    steps = [instr(fn=kernels.slow, n=1)] * 5
    program = plan(runtime, steps, [(INPUT, 0, 0)], [40000000], work=2e8)
    f = function(runtime, lambda arrays: program, [("float64", 0)], single=False)
    inside, turns = threading.Event(), 0

    def call():
        inside.set()
        f(np.array(1.0))  # 0.2 s
        inside.clear()

    thread = threading.Thread(target=call)
    thread.start()
    inside.wait()
    while inside.is_set():
        turns += 1
    thread.join()
    assert turns > 1000  # a call that kept the lock would leave a handful


def test_a_waiting_thread_can_be_interrupted(kernels, interruptible):
    cell, go, done = runtime.Cell(np.zeros(1)), threading.Event(), threading.Event()
    f = counter(runtime, kernels, cell, middle=lambda i, o: (go.set(), done.wait(20)))
    thread = threading.Thread(target=f)
    thread.start()
    assert go.wait(20)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        counter(runtime, kernels, cell)()
    done.set()
    thread.join(20)
    assert cell.get()[0] == 1
