"""What a call costs and leaves behind: buffers, references, cycles, profile counters, nanoseconds.

Kernels are hand-written (handmade.py); the executor's meaning is tested in test_executor.py.
"""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
from src.handmade import (  # noqa: E402
    ARENA,
    CONSTANT,
    INPUT,
    OUTPUT,
    add1,
    function,
    instr,
    kernels,
    plan,
    python_square,
    simple_plan,
)

assert kernels  # a fixture


# ---- memory ----


@pytest.mark.parametrize("n", [1, 7, 1 << 18])
def test_outputs_are_fresh_and_stay_what_they_are(kernels, n):
    f, held = add1(runtime, kernels), []
    for i in range(12):
        x = np.full(n, float(i))
        y = f(x)
        assert y.flags.writeable and y.flags.c_contiguous and y.flags.aligned
        assert not np.shares_memory(x, y)
        if i % 3 == 0:
            held.append((y, i + 1.0))
        elif i % 3 == 1:
            y[:] = -1  # its buffer may come back: nobody may see the -1
    for i, (y, value) in enumerate(held):
        assert (y == value).all()
        assert not any(np.shares_memory(y, z) for z, _ in held[:i])


def test_big_outputs_reuse_memory(kernels):
    f, x = add1(runtime, kernels), np.ones(1 << 18)
    first = f(x)
    assert not first.flags.owndata
    view = first[5:]
    address = first.ctypes.data
    del first
    assert f(x).ctypes.data != address and (view == 2).all()  # the view keeps the buffer
    del view
    addresses = {f(x).ctypes.data for _ in range(5)}
    assert len(addresses) <= 2
    runtime.pool_trim()
    assert runtime.pool_bytes() == 0


def through_arena(kernels, n):
    """f(x) = x[0] + 2, by way of an arena for x + 1, n doubles."""
    return function(
        runtime,
        lambda arrays: plan(
            runtime,
            [instr(fn=kernels.add1, n=n), instr(fn=kernels.add1, ptr=2, n=1)],
            [(INPUT, 0, 0), (ARENA, 0, 0), (ARENA, 0, 0), (OUTPUT, 0, 0)],
            arena=8 * n,
            outputs=[("float64", (1,))],
        ),
        [("float64", 1)],
    )


def test_arenas_of_many_sizes_share_memory(kernels):
    runtime.pool_trim()
    largest = 0
    for megabytes in (2, 3, 2, 9, 5, 11, 12, 30, 16, 9, 2):
        x = np.full(megabytes << 17, 1.0)
        assert through_arena(kernels, x.size)(x) == 3
        largest = max(largest, megabytes)
        # one with small pages and one with huge ones, in classes of an eighth
        assert runtime.pool_bytes() <= (largest + 3) * 1.125 * (1 << 20)
    runtime.pool_trim()
    assert runtime.pool_bytes() == 0


def test_an_arena_is_not_taken_for_one_far_smaller(kernels):
    runtime.pool_trim()
    for megabytes in (40, 9, 40):
        x = np.full(megabytes << 17, 1.0)
        assert through_arena(kernels, x.size)(x) == 3
    assert runtime.pool_bytes() >= 49 << 20
    runtime.pool_trim()


def test_reference_counts_are_stable(kernels, young_heap):
    f, x, y = add1(runtime, kernels), np.ones(3), np.ones((3, 2))[:, 0]
    c = np.array(2.0)
    g = function(
        runtime,
        lambda arrays: plan(
            runtime,
            [instr(fn=kernels.axpy, n=3)],
            [(CONSTANT, 0, 0), (INPUT, 0, 0), (INPUT, 1, 0), (OUTPUT, 0, 0)],
            constants=[c],
            outputs=[("float64", (3,))],
        ),
        [("float64", 1)] * 2,
        single=False,
    )
    f(x), f(y), f([x]), g(x, x)
    objects = (f, g, x, y, c, f([x]), x.dtype)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(1000):
        f(x), f([y]), g(x, x), g([x, x])
        with pytest.raises(TypeError):
            f("s")
    gc.collect()  # tracebacks of the errors
    assert [sys.getrefcount(o) for o in objects] == before


def test_many_calls_leak_nothing(kernels):
    f, x, z = add1(runtime, kernels), np.ones(3), np.ones(5)
    f(x), f(z)
    tracemalloc.start()
    try:
        for _ in range(1000):
            f(x)
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(50000):
            f(x), f(z)
        assert tracemalloc.get_traced_memory()[0] - start < 4000
    finally:
        tracemalloc.stop()


def test_cycles_are_collected_and_weak_references_work(kernels, young_heap):
    f = add1(runtime, kernels)
    f(np.ones(2))
    f.info = [f, simple_plan(runtime, kernels)]
    cell = runtime.Cell(np.ones(1))
    refs = [weakref.ref(f), weakref.ref(f.info[1]), weakref.ref(cell)]
    del f, cell
    gc.collect()
    assert all(ref() is None for ref in refs)


def test_a_pycall_that_refers_to_its_function_is_collected(young_heap):
    def make():
        def square(inputs, outputs):
            assert f.plans == 1  # refers to f: a cycle through the plan

        f = python_square(runtime, square)
        f(np.ones(4))
        return weakref.ref(f)

    gc.disable()
    try:
        ref = make()
        assert ref() is not None
    finally:
        gc.enable()
    gc.collect()
    assert ref() is None


# ---- instrumentation and cost ----


def test_profile_counts_calls_and_time(kernels):
    steps = [
        instr(fn=kernels.add1, n=4, tag=3),
        instr(fn=kernels.slow, n=1, tag=9),
        instr(fn=kernels.add1, n=4, tag=3),
    ]
    program = simple_plan(runtime, kernels, instrs=steps, dims=[1000000])
    f = function(runtime, lambda arrays: program, [("float64", 1)])
    assert f.profile_data() == []
    f(np.ones(4))
    assert [row[1:] for row in f.profile_data()] in ([], [(0, 0), (0, 0)])
    f.profile(True)
    for _ in range(5):
        f(np.ones(4))
    f.profile(False)
    f(np.ones(4))
    (tag1, calls1, _), (tag2, calls2, ns2) = f.profile_data()
    assert (tag1, calls1, tag2, calls2) == (3, 10, 9, 5) and ns2 >= 5e6


def test_module_functions():
    before = runtime.get_num_threads()
    try:
        assert runtime.set_num_threads(1) == before and runtime.get_num_threads() == 1
        assert runtime.threads_info()["threads"] == 1
        runtime.set_num_threads(None)
        assert runtime.threads_info()["rule"]
    finally:
        runtime.set_num_threads(before)
    for wrong in (0, -3, 1 << 20):
        with pytest.raises(ValueError, match="at least 1"):
            runtime.set_num_threads(wrong)
    assert set(runtime.blas_info()) >= {"name", "builtin"}
    assert runtime.blas_use("builtin")["name"]
    runtime.blas_use(None)
