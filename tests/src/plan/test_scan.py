"""CK_SCAN and CK_IF on hand-made plans: moves, rings, flags, counts, nesting, errors, checks."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from src import handmade as h
from src.handmade import ARENA, INPUT, OUTPUT, Failed, instr, kernels, move, scan

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
assert kernels  # a fixture


def running_sum(kernels, rows, n, reverse=0, **options):
    """f(x, s0[, count]): trace (rows, n) of s = s + x_t; final row; steps run."""
    size = n * 8
    ptrs = [
        (INPUT, 1, 0),
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),  # 0-2: s, x, new s: moved
        (INPUT, 0, 0),
        (INPUT, 1, 0),
        (OUTPUT, 0, 0),  # 3-5: x, s0, trace
        (OUTPUT, 1, 0),
        (OUTPUT, 2, 0),
        (INPUT, 2, 0),
    ]  # 6-8: final, executed, count
    slides = [(1, 3, size), (2, 5, size)]
    back = dict(y_by_t=1, shift=-1) if reverse else dict(shift=1)
    moves = [move(0, 1, 4, 0, 5, size, **back)]
    dims = scan(
        rows, slides, moves, [(6, 2, 4, size)], [(5, size)], reverse=reverse, executed=7, **options
    )
    instrs = [instr(h.SCAN, n=1, tag=7), instr(fn=kernels.add, n=n, tag=8)]
    outputs = [("float64", (rows, n)), ("float64", (n,)), ("int64", ())]
    counted = "count" in options
    inputs = [("float64", 2), ("float64", 1)] + [("int64", 0)] * counted
    if not counted:
        ptrs.pop()

    def bind(arrays):
        return h.plan(runtime, instrs, ptrs, dims, outputs=outputs)

    return h.function(runtime, bind, inputs, single=False)


def test_a_trace_is_written_in_place_and_read_back(kernels):
    x, s = np.random.rand(5, 3), np.random.rand(3)
    trace, final, done = running_sum(kernels, 5, 3)(x, s)
    expected, row = [], s
    for t in range(5):
        row = row + x[t]
        expected.append(row)
    np.testing.assert_array_equal(trace, expected)
    np.testing.assert_array_equal(final, expected[-1])
    assert done == 5


@pytest.mark.parametrize("count", [-3, 0, 1, 4, 6, 99])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("limit", [-1, 0, 2])
def test_count_limit_and_reverse(kernels, count, reverse, limit):
    x, s = np.random.rand(6, 2), np.random.rand(2)
    f = running_sum(kernels, 6, 2, reverse, count=8, limit=limit)
    trace, final, done = f(x, s, np.array(count))
    rows = min(max(count, 0), 6)
    order = list(range(rows))[::-1] if reverse else list(range(rows))
    order = order if limit < 0 else order[:limit]
    expected, row = np.zeros((6, 2)), s
    for t in order:
        row = expected[t] = row + x[t]
    np.testing.assert_array_equal(trace, expected)
    np.testing.assert_array_equal(final, row)
    assert done == len(order)


def test_a_ring_holds_the_last_rows(kernels):
    """s_t = s_{t-1} + s_{t-3} with a ring of 4 rows, the last one in the output."""
    rows = 7
    ptrs = [
        (INPUT, 0, 0),
        (INPUT, 0, 0),
        (ARENA, 0, 0),
        (INPUT, 0, 16),
        (INPUT, 0, 0),
        (ARENA, 0, 0),
        (OUTPUT, 0, 0),
    ]
    moves = [
        move(0, 1, 3, 0, 5, 8, shift=1, b_mask=3),
        move(1, 3, 4, 8, 5, 8, shift=3, b_mask=3),
        move(2, rows - 1, 5, 8, 6, 0, shift=rows - 1, a_mask=3),
    ]
    instrs = [instr(h.SCAN, n=1), instr(fn=kernels.add, n=1)]

    def bind(arrays):
        return h.plan(
            runtime, instrs, ptrs, scan(rows, moves=moves), arena=32, outputs=[("float64", ())]
        )

    f = h.function(runtime, bind, [("float64", 1)])
    start = [1.0, 2.0, 3.0]
    values = list(start)
    for _ in range(rows):
        values.append(values[-1] + values[-3])
    assert f(np.array(start)) == values[-1]


def counting(kernels, stop=10**6, fail=10**6, work=0, rows=10**6, slow=False, hook=h.fail):
    """f(x): adds 1 to x until `stop` is reached; fails at `fail`."""
    ptrs = [
        (ARENA, 0, 0),
        (ARENA, 0, 0),
        (ARENA, 0, 0),
        (ARENA, 0, 8),
        (ARENA, 0, 8),
        (OUTPUT, 0, 0),
        (INPUT, 0, 0),
        (ARENA, 0, 0),
        (ARENA, 0, 0),
    ]
    head = scan(rows, flag=4, executed=5)
    instrs = [
        instr(fn=kernels.add1_strided, ptr=6, dims=len(head), n=1, tag=1),
        instr(h.SCAN, n=2 + slow, tag=2),
        instr(fn=kernels.add1, ptr=0, n=1, tag=3),
        instr(fn=kernels.reached, ptr=2, dims=len(head) + 1, n=1, tag=4),
    ]
    if slow:  # 1 ms
        instrs.append(instr(fn=kernels.slow, dims=len(head) + 3, n=1))

    def bind(arrays):
        return h.plan(
            runtime,
            instrs,
            ptrs,
            [*head, 1, stop, fail, 10**6],
            arena=16,
            outputs=[("int64", ())],
            work=work,
        )

    return h.function(runtime, bind, [("float64", 0)], fail=hook)


@pytest.mark.parametrize("work", [0, 1e9])
def test_a_flag_ends_the_loop(kernels, work):
    f = counting(kernels, stop=50, work=work)
    assert f(np.array(0.0)) == 49
    assert f(np.array(100.0)) == 1


def test_a_failure_tells_the_step(kernels):
    def fail(code, tag, arrays, steps, error):
        return Failed(code, tag, steps, error)

    with pytest.raises(Failed) as info:
        counting(kernels, fail=33, hook=fail)(np.array(0.0))
    assert info.value.args == (h.EINDEX, 4, (31,), None)


def nested(kernels, rows, columns, fn, fail=h.fail):
    """f(x): y[i, k] = fn(x[i, k]), a loop over rows around a loop over the elements of one."""
    ptrs = [
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
    ]
    outer = scan(rows, slides=[(2, 0, columns * 8), (3, 1, columns * 8)])
    inner = scan(columns, slides=[(4, 2, 8), (5, 3, 8)])
    instrs = [
        instr(h.SCAN, n=2, tag=1),
        instr(h.SCAN, dims=len(outer), n=1, tag=2),
        instr(fn=fn, ptr=4, n=1, tag=3),
    ]

    def bind(arrays):
        return h.plan(runtime, instrs, ptrs, outer + inner, outputs=[("float64", (rows, columns))])

    return h.function(runtime, bind, [("float64", 2)], fail=fail)


def test_a_loop_in_a_loop(kernels):
    x = np.random.rand(3, 4)
    np.testing.assert_array_equal(nested(kernels, 3, 4, kernels.add1)(x), x + 1)


def test_a_failure_tells_the_steps_of_all_loops(kernels):
    def fail(code, tag, arrays, steps, error):
        return Failed(tag, steps)

    with pytest.raises(Failed) as info:
        nested(kernels, 3, 4, kernels.fails, fail)(np.ones((3, 4)))
    assert info.value.args == (3, (0, 0))


def test_loops_are_profiled(kernels):
    f = nested(kernels, 3, 4, kernels.add1)
    f.profile(True)
    f(np.ones((3, 4)))
    assert [row[:2] for row in f.profile_data()] == [(1, 1), (2, 3), (3, 12)]


def test_python_in_a_loop_sees_moved_rows(kernels):
    seen, kept = [], []

    def double(inputs, outputs):
        seen.append(inputs[0].copy())
        kept.append(inputs[0])
        outputs[0][...] = inputs[0] * 2

    row = ("float64", (3,), (8,))
    ptrs = [(INPUT, 0, 0), (OUTPUT, 0, 0), (INPUT, 0, 0), (OUTPUT, 0, 0)]
    dims = scan(4, slides=[(0, 2, 24), (1, 3, 24)])

    def bind(arrays):
        return h.plan(
            runtime,
            [instr(h.SCAN, n=1), instr(h.PYCALL)],
            ptrs,
            dims,
            outputs=[("float64", (4, 3))],
            work=1e9,
            pycalls=[(double, [(0, *row)], [(1, *row)])],
        )

    f = h.function(runtime, bind, [("float64", 2)])
    x = np.random.rand(4, 3)
    np.testing.assert_array_equal(f(x), 2 * x)
    np.testing.assert_array_equal(seen, x)
    del f
    np.testing.assert_array_equal(kept, x)


def test_what_python_raises_goes_through_fail_with_the_step(kernels):
    def third(inputs, outputs):
        if inputs[0] == 3:
            raise ValueError("three")

    def fail(code, tag, arrays, steps, error):
        error.args = (f"{error.args[0]} at {steps}",)
        return error

    ptrs = [(INPUT, 0, 0), (INPUT, 0, 0)]

    def bind(arrays):
        return h.plan(
            runtime,
            [instr(h.SCAN, n=1), instr(h.PYCALL)],
            ptrs,
            scan(5, slides=[(0, 1, 8)]),
            pycalls=[(third, [(0, "float64", (), ())], [])],
        )

    f = h.function(runtime, bind, [("float64", 1)], single=False, fail=fail)
    with pytest.raises(ValueError, match=r"three at \(3,\)"):
        f(np.arange(5.0))


@pytest.mark.parametrize("condition", [False, True])
def test_a_branch_runs_one_side(kernels, condition):
    ptrs = [
        (INPUT, 0, 0),
        (INPUT, 1, 0),
        (OUTPUT, 0, 0),
        (INPUT, 1, 0),
        (INPUT, 1, 0),
        (OUTPUT, 0, 0),
    ]
    instrs = [
        instr(h.IF, ptr=0, n=1, block=1),
        instr(fn=kernels.add1, ptr=1, n=2),
        instr(fn=kernels.add, ptr=3, n=2),
        instr(fn=kernels.add1, ptr=2, n=0),
    ]

    def bind(arrays):
        return h.plan(runtime, instrs, ptrs, outputs=[("float64", (2,))])

    f = h.function(runtime, bind, [("bool", 0), ("float64", 1)])
    x = np.array([3.0, 5.0])
    np.testing.assert_array_equal(f(np.array(condition), x), x + 1 if condition else 2 * x)


def test_interrupts_end_a_long_loop(kernels):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    f = counting(kernels, stop=10**9, fail=10**9, work=1e9, rows=30_000, slow=True)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        f(np.array(0.0))
    assert time.perf_counter() - start < 20


def taken(kernels, rows, stretch, ends=-1, fails=-1, hook=h.fail):
    """f(x): (x + 1, how many steps ran), by a kernel that takes the steps."""
    head = scan(rows, stepped=1, stretch=stretch, executed=3, traces=[(2, 8)])
    ptrs = [(ARENA, 0, 0), (INPUT, 0, 0), (OUTPUT, 0, 0), (OUTPUT, 1, 0)]

    def bind(arrays):
        return h.plan(
            runtime,
            [
                instr(h.SCAN, fn=kernels.steps, n=2, tag=1),
                instr(h.TOLD, tag=2),
                instr(h.TOLD, tag=3),
            ],
            ptrs,
            [*head, ends, fails],
            arena=8 * 15,
            outputs=[("float64", (rows,)), ("int64", ())],
        )

    return h.function(runtime, bind, [("float64", 1)], single=False, fail=hook)


@pytest.mark.parametrize("rows", [1, 5, 70_000])
@pytest.mark.parametrize("stretch", [1, 4, 10**6])
def test_a_kernel_may_take_the_steps(kernels, rows, stretch):
    f = taken(kernels, rows, stretch)
    x = np.random.rand(rows)
    for profile in (False, True):
        f.profile(profile)
        found, done = f(x)
        np.testing.assert_array_equal(found, x + 1)
        assert done == rows


@pytest.mark.parametrize("stretch", [1, 4, 100])
def test_a_kernel_may_end_its_scan(kernels, stretch):
    x = np.arange(9.0)
    found, done = taken(kernels, 9, stretch, ends=5)(x)
    np.testing.assert_array_equal(found, [1, 2, 3, 4, 5, 6, 0, 0, 0])
    assert done == 6


@pytest.mark.parametrize("stretch", [1, 4, 100])
def test_a_kernel_tells_where_it_failed(kernels, stretch):
    def fail(code, tag, arrays, steps, error):
        return Failed(code, tag, steps)

    with pytest.raises(Failed) as info:
        taken(kernels, 9, stretch, fails=5, hook=fail)(np.arange(9.0))
    assert info.value.args == (h.EINDEX, 3, (5, 8, 7))


@pytest.mark.parametrize(
    "head, arena, message",
    [
        (instr(h.SCAN), 104, "no kernel takes"),
        (instr(h.SCAN, fn=1, n=1), 104, "more instructions"),
        (instr(h.SCAN, fn=1), 96, "no room for what"),
        (instr(h.SCAN, fn=1, ptr=1), 104, "no room for what"),
    ],
)
def test_what_a_kernel_that_takes_steps_needs(head, arena, message):
    with pytest.raises(ValueError, match=message):
        h.plan(runtime, [head], [(ARENA, 0, 0)], scan(3, stepped=1, stretch=5), arena=arena)
    with pytest.raises(ValueError, match="no kernel takes"):
        h.plan(runtime, [instr(h.SCAN, fn=1)], [(ARENA, 0, 0)], scan(3, stepped=1), arena=104)


def in_parts(kernels, rows, part, stretch, fail=10**6, hook=h.fail, reverse=0):
    """f(x): x + 1 for (rows, 4), four rows apart; fails where the first element is `fail`."""
    ptrs = [
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
        (INPUT, 0, 0),
        (ARENA, 0, 0),
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
    ]
    dims = scan(
        rows,
        slides=[(0, 4, 32), (1, 5, 32), (2, 4, 32)],
        reverse=reverse,
        width=4,
        part=part,
        stretch=stretch,
    )
    instrs = [
        instr(h.SCAN, n=2, tag=1),
        instr(fn=kernels.add1, n=4, tag=2),
        instr(fn=kernels.reached, ptr=2, dims=len(dims), n=4, tag=3),
    ]

    def bind(arrays):
        return h.plan(
            runtime, instrs, ptrs, [*dims, 0, fail], arena=8, outputs=[("float64", (rows, 4))]
        )

    return h.function(runtime, bind, [("float64", 2)], fail=hook)


@pytest.mark.parametrize(
    "rows, part, stretch", [(1, 1, 1), (7, 1, 2), (7, 3, 7), (7, 2, 100), (1000, 2, 33)]
)
@pytest.mark.parametrize("reverse", [0, 1])
def test_parts_of_the_rows_take_the_steps_alone(kernels, rows, part, stretch, reverse):
    f = in_parts(kernels, rows, part, stretch, reverse=reverse)
    x = np.random.rand(rows, 4)
    for threads in (1, 2, 5):
        runtime.set_num_threads(threads)
        np.testing.assert_array_equal(f(x), x + 1)
    runtime.set_num_threads(None)
    f.profile(True)
    np.testing.assert_array_equal(f(x), x + 1)
    parts = -(-4 // part)
    assert [row[:2] for row in f.profile_data()] == [(1, 1), (2, parts * rows), (3, parts * rows)]


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("stretch", [1, 4, 100])
def test_the_first_failure_of_all_parts_tells_the_step(kernels, reverse, stretch):
    def fail(code, tag, arrays, steps, error):
        return Failed(code, tag, steps)

    x = np.repeat(np.arange(20.0)[:, None], 4, 1)
    x = x[::-1].copy() if reverse else x
    with pytest.raises(Failed) as info:
        in_parts(kernels, 20, 1, stretch, 13, fail, reverse)(x)
    assert info.value.args == (h.EINDEX, 3, (6 if reverse else 13,))


@pytest.mark.parametrize(
    "instrs, options",
    [
        ([instr(h.SCAN, n=1), instr(h.PYCALL)], {}),
        ([instr(h.SCAN, n=1), instr(fn=1, n=6)], {}),
        ([instr(h.SCAN, n=1), instr(fn=1, n=8)], dict(flag=0)),
        ([instr(h.SCAN, n=1), instr(fn=1, n=8)], dict(part=-1)),
        ([instr(h.SCAN, n=1), instr(fn=1, n=8)], dict(width=0)),
        ([instr(h.SCAN, n=1), instr(fn=1, n=8)], dict(stretch=0)),
        ([instr(h.SCAN, n=1), instr(h.GEMM, dims=0)], {}),
        ([instr(h.SCAN, n=1), instr(h.GEMM, dims=99)], {}),
        ([instr(h.SCAN, fn=1, n=1), instr(fn=1, n=1)], dict(stepped=1)),
    ],
)
def test_only_rows_apart_are_cut(instrs, options):
    with pytest.raises(ValueError, match="no rows apart"):
        h.plan(
            runtime,
            instrs,
            [(ARENA, 0, 0)],
            scan(3, **(dict(width=4, part=2, stretch=5) | options)),
            arena=8,
            pycalls=[(print, [], [])],
        )


# ---- bad plans ----

GOOD = dict(
    rows=4,
    slides=[(1, 3, 24), (2, 5, 24)],
    moves=[move(0, 1, 4, 0, 5, 24, shift=1)],
    traces=[(5, 24)],
)


@pytest.mark.parametrize(
    "changes",
    [
        dict(rows=0),
        dict(rows=5),
        dict(slides=[(1, 3, 32)]),
        dict(slides=[(9, 3, 24)]),
        dict(slides=[(1, 9, 24)]),
        dict(slides=[(1, 1, 24)]),
        *(dict(slides=[(1, k, 24)]) for k in (-1, 6)),
        *(dict(slides=[(k, 3, 24)]) for k in (-1, 6)),
        *(dict(moves=[move(0, 1, k, 0, 5, 24, shift=1)]) for k in (-1, 6)),
        dict(slides=[(1, 3, 24), (1, 5, 24)]),
        dict(slides=[(1, 2, 24), (2, 1, 24)]),
        dict(slides=[(1, 3, 2**62)]),
        dict(moves=[move(0, 1, 4, 0, 5, 24, shift=-1)]),
        dict(moves=[move(0, 1, 4, 0, 5, 24, shift=2)]),
        dict(moves=[move(0, 9, 4, 24, 5, 24)]),
        dict(moves=[move(0, 1, 4, 0, 5, 24, b_mask=7)]),
        dict(moves=[move(0, 1, 4, 0, 5, 24, y_by_t=7)]),
        dict(traces=[(5, 32)]),
        dict(traces=[(5, -1)]),
        dict(traces=[(4, 24)]),
        dict(traces=[(2, 24)]),
        dict(count=0),
        dict(count=99),
        dict(flag=99),
        dict(executed=3),
        dict(executed=2),
        dict(finals=[(5, 2, 4, 25)]),
        dict(finals=[(3, 2, 4, 24)]),
        dict(finals=[(5, 9, 4, 24)]),
    ],
)
def test_bad_loops_are_refused(changes):
    """A pycall looks at the row, the state and the new state of a running sum."""
    ptrs = [
        (INPUT, 1, 0),
        (INPUT, 0, 0),
        (OUTPUT, 0, 0),
        (INPUT, 0, 0),
        (ARENA, 0, 0),
        (OUTPUT, 0, 0),
    ]
    row = ("float64", (3,), (8,))
    call = [(print, [(0, *row), (1, *row)], [(2, *row)])]

    def build(parts):
        def bind(_):
            return h.plan(
                runtime,
                [instr(h.SCAN, n=1), instr(h.PYCALL)],
                ptrs,
                scan(**parts),
                arena=24,
                outputs=[("float64", (4, 3))],
                pycalls=call,
            )

        f = h.function(runtime, bind, [("float64", 2), ("float64", 1)])
        f(np.zeros((4, 3)), np.zeros(3))

    build(GOOD | dict(rows=4, limit=0))
    with pytest.raises(ValueError, match="bad plan"):
        build(GOOD | changes)


@pytest.mark.parametrize(
    "instrs",
    [
        [instr(h.SCAN, n=1)],
        [instr(h.SCAN, n=-1)],
        [instr(h.SCAN, dims=5)],
        [instr(h.IF, n=1)],
        [instr(h.IF, n=0, block=1)],
        [instr(h.IF, ptr=1)],
        [instr(h.IF, n=-1, block=2)],
        [instr(h.SCAN, n=1), instr(h.SCAN, n=1), instr(h.PYCALL)],
        [instr(kind=77)],
    ],
)
def test_bad_nesting_is_refused(instrs):
    with pytest.raises(ValueError, match="bad plan"):
        h.plan(runtime, instrs, [(ARENA, 0, 0)], scan(3), arena=8, pycalls=[(print, [], [])])


def test_a_moved_pointer_is_not_used_outside_its_loop():
    ptrs = [(INPUT, 0, 0), (INPUT, 0, 0)]
    call = [(print, [(0, "float64", (), ())], [])]
    for instrs in (
        [instr(h.SCAN, n=1), instr(h.PYCALL), instr(h.PYCALL)],
        [instr(h.PYCALL), instr(h.SCAN, n=1), instr(h.PYCALL)],
    ):
        with pytest.raises(ValueError, match="argument out of range"):
            h.plan(runtime, instrs, ptrs, scan(3, slides=[(0, 1, 8)]), pycalls=call)
