"""The executor with hand-written kernels: arguments, plans, pointers, errors.

Expected numbers come from NumPy. Memory and speed are in test_executor_memory.py, updates, locks
and threads in test_executor_updates.py.
"""

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
from src.handmade import (  # noqa: E402
    ARENA,
    CONSTANT,
    EINDEX,
    EPYTHON,
    GEMM,
    INPUT,
    NEXT,
    OUTPUT,
    PYCALL,
    Failed,
    add1,
    function,
    instr,
    kernels,
    plan,
    python_square,
    simple_plan,
)

assert kernels  # a fixture


# ---- arguments ----


def test_positional_list_and_tuple_give_the_same(kernels):
    f, x = add1(runtime, kernels), np.arange(5.0)
    subclass = type("Inputs", (list,), {})
    for result in (f(x), f([x]), f((x,)), f(subclass([x]))):
        assert np.array_equal(result, x + 1)


def test_positional_only_passes_a_list_to_coerce(kernels):
    f = add1(runtime, kernels, positional_only=True, coerce=lambda i, v: np.array(v, float))
    assert np.array_equal(f([1, 2]), [2, 3])


def test_an_ndarray_is_never_unpacked(kernels):
    f = add1(runtime, kernels, coerce=lambda i, v: np.ravel(v))
    assert np.array_equal(f(np.ones((1, 3))), [2, 2, 2])


def test_through_reads_and_fills_lists(kernels):
    f, given, found = add1(runtime, kernels, single=False), [np.arange(3.0)], ["before"]
    for known in ([3, 4], np.array([3, 4]).T):
        values, cells = (np.array(known),), ([np.array([3, 4])],)
        results = f.through((given,), (found,), cells, values)
        assert np.array_equal(results[0], [1, 2, 3]) and found == results
    assert f.through((given,), (found,))[0] is found[0]
    given[0] = np.arange(4.0)
    others = (np.array([3, 5]), np.array([[3, 4]]), np.array([3.0, 4.0]), np.array([3]), [3, 4])
    for other in others:
        cells, before = ([other],), found[0]
        assert f.through((given,), (found,), cells, values) is None and found[0] is before
    assert np.array_equal(f.through((given,), (found,))[0], [1, 2, 3, 4])


def test_through_refuses_what_are_no_lists(kernels):
    f, given, found = add1(runtime, kernels, single=False), [np.arange(3.0)], [None]
    for arguments in (((given,), ([],)), (((),), (found,)), ((given,), ([None], [None]))):
        with pytest.raises(TypeError, match="through takes"):
            f.through(*arguments)
    with pytest.raises(TypeError, match="another number"):
        f.through((given,), ())
    with pytest.raises(TypeError):
        f.through((given,), (found,), ([],), (np.ones(1),))
    with pytest.raises(ValueError, match="as many arrays as lists"):
        f.through((given,), (found,), ([1],), ())
    with pytest.raises(TypeError, match="another number"):
        add1(runtime, kernels).through((given,), (found,))
    assert found == [None]


def scalars(runtime, kernels, count, **options):
    def bind(arrays):
        return plan(
            runtime,
            [instr(fn=kernels.add1, n=1)],
            [(INPUT, count - 1, 0), (OUTPUT, 0, 0)],
            outputs=[("float64", ())],
        )

    return function(runtime, bind, [("float64", 0)] * count, **options)


def test_zero_dimensional_output_is_an_array(kernels):
    out = scalars(runtime, kernels, 1)(np.array(3.0))
    assert type(out) is np.ndarray and out.shape == () and out == 4


def test_more_inputs_than_fit_on_the_stack(kernels):
    f = scalars(runtime, kernels, 40)
    assert f([np.array(float(i)) for i in range(40)]) == 40


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3],
        2.5,
        np.arange(3),
        np.arange(3, dtype=np.float32),
        np.arange(3, dtype=">f8"),
        np.ones(2).view(np.recarray),
        np.longdouble([1, 2]),
    ],
)
def test_anything_unusual_goes_through_coerce(kernels, value):
    seen = []

    def coerce(i, v):
        seen.append((i, v))
        return np.array(v, dtype=float, ndmin=1).ravel()

    f = add1(runtime, kernels, coerce=coerce)
    out = f([value])
    assert len(seen) == 1 and seen[0][0] == 0 and seen[0][1] is value
    assert np.array_equal(out, np.asarray(value, float).ravel() + 1)


def test_unaligned_arrays_are_copied_without_coerce(kernels):
    unaligned = np.frombuffer(b"\0" * 25, "u1")[1:].view("f8")
    f = add1(runtime, kernels, coerce=lambda i, v: pytest.fail("coerced"))
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(f([unaligned])[0], [1, 1, 1])
    np.testing.assert_array_equal(unaligned, 0)


def test_equivalent_type_numbers_are_accepted_from_coerce(kernels):
    def bind(arrays):
        assert arrays[0].dtype is np.dtype(np.int64)
        return plan(runtime, [], [], outputs=[(dtype, (2,))])

    for dtype in ("int64", np.longlong):  # what comes out is np.int64, whichever is declared
        f = function(runtime, bind, [(dtype, 1)], coerce=lambda i, v: v)
        assert f(np.zeros(2, np.longlong)).dtype.num == np.dtype(np.int64).num
        assert f(np.zeros(2, np.int64)).shape == (2,)


@pytest.mark.parametrize("wrong", [None, 3, np.zeros(3, np.float32), np.zeros((2, 2)), [1.0]])
def test_coerce_must_return_the_right_array(kernels, wrong):
    f = add1(runtime, kernels, coerce=lambda i, v: wrong)
    with pytest.raises(TypeError, match="coerce must return an ndarray of dtype float64 with 1"):
        f("x")


def test_errors_of_coerce_reach_the_user(kernels):
    with pytest.raises(TypeError, match="input 0: 'abc'"):
        add1(runtime, kernels)("abc")


def test_wrong_counts_and_keywords_ask_for_all(kernels):
    asked = []

    def coerce(i, value):
        asked.append((i, value))
        return [np.zeros(2)]

    f = add1(runtime, kernels, coerce=coerce)
    x = np.ones(1)
    for call in (lambda: f(), lambda: f(x, x), lambda: f(x, lr=3), lambda: f([])):
        assert np.array_equal(call(), [1, 1])
    assert asked == [(-1, ((), {})), (-1, ((x, x), {})), (-1, ((x,), {"lr": 3})), (-1, ((), {}))]
    bad = add1(runtime, kernels, coerce=lambda i, v: [])
    with pytest.raises(TypeError, match="must return 1 arrays"):
        bad()


def test_calls_with_keywords_may_have_a_way_of_their_own(kernels):
    asked, x = [], np.ones(1)

    def way(f, args, kwargs):
        asked.append((args, kwargs))
        f.keywords = None  # what is called may be replaced in between
        return f(*args, *kwargs.values())

    f = add1(runtime, kernels)
    assert f.keywords is None
    f.keywords = way
    assert np.array_equal(f(x), [2]) and np.array_equal(f(x, **{}), [2]) and asked == []
    assert np.array_equal(f(lr=x), [2])
    assert asked == [((), {"lr": x})] and f.keywords is None

    def fails(f, args, kwargs):
        raise KeyError(*kwargs)

    f.keywords = fails
    with pytest.raises(KeyError, match="lr"):
        f(1, lr=2)


def test_a_list_changed_by_coerce_does_no_harm(kernels):
    values = [np.zeros(()), 0.5, np.zeros(())]

    def coerce(i, v):
        values.clear()
        return np.array(v)

    assert scalars(runtime, kernels, 3, coerce=coerce)(values) == 1


def test_unknown_attributes_are_those_of_info():
    f = function(runtime, print)
    with pytest.raises(AttributeError, match="nothing"):
        f.nothing  # noqa: B018 (the lookup is the test)

    class Info:
        stats = 7

        @property
        def fickle(self):
            f.info = None  # drops the last reference to self
            return "still here"

    f.info = Info()
    assert f.stats == 7 and f.plans == 0 and f.fickle == "still here"
    f.info = f
    with pytest.raises(RecursionError):
        f.nothing  # noqa: B018
    f.info = None


# ---- keys and plans ----


def test_strides_are_part_of_the_key(kernels):
    f, base = add1(runtime, kernels), np.arange(20.0)
    for x in (base, base[::2], base[::-3], base[:10], base[10:], base[::2]):
        assert np.array_equal(f(x), x + 1)
    assert f.info == [(20,), (10,), (7,), (10,)] and f.plans == 4


def test_broadcast_and_empty_inputs(kernels):
    f = add1(runtime, kernels)
    assert np.array_equal(f(np.broadcast_to(2.0, 6)), np.full(6, 3.0))
    assert f(np.empty(0)).shape == (0,)


def test_plans_are_kept_and_cleared(kernels):
    f = add1(runtime, kernels)
    for n in (1, 2, 1, 2, 2, 1):
        f(np.ones(n))
    assert f.plans == 2 and len(f.info) == 2
    f.clear()
    assert f.plans == 0
    f(np.ones(1))
    assert f.plans == 1 and len(f.info) == 3


def test_the_least_recently_used_of_many_plans_goes(kernels):
    f, most = add1(runtime, kernels), 1024
    for n in range(1, most + 1):
        f(np.ones(n))
    f(np.ones(1))
    f(np.ones(most + 1))  # evicts 2, not 1
    assert f.plans == most and len(f.info) == most + 1
    f(np.ones(1))
    assert len(f.info) == most + 1
    f(np.ones(2))
    assert len(f.info) == most + 2


def test_bind_errors_reach_the_user_and_nothing_is_kept():
    def bind(arrays):
        raise KeyError("no such shape")

    f = function(runtime, bind)
    with pytest.raises(KeyError):
        f()
    assert f.plans == 0
    with pytest.raises(TypeError, match="bind must return a Plan, not <class 'int'>"):
        function(runtime, lambda arrays: 3)()


def test_arena_constants_offsets_and_several_outputs(kernels):
    """t = 2*x + c (arena); out0 = t[1:] + 1, out1 = t + 1."""
    c = np.array([10.0, 20, 30, 40])

    def bind(arrays):
        steps = [
            instr(fn=kernels.axpy, ptr=0, n=4),
            instr(fn=kernels.add1, ptr=4, n=3),
            instr(fn=kernels.add1, ptr=6, n=4),
        ]
        ptrs = [
            (CONSTANT, 1, 0),
            (INPUT, 0, 0),
            (CONSTANT, 0, 0),
            (ARENA, 0, 64),
            (ARENA, 0, 72),
            (OUTPUT, 0, 0),
            (ARENA, 0, 64),
            (OUTPUT, 1, 0),
        ]
        return plan(
            runtime,
            steps,
            ptrs,
            arena=128,
            constants=[c, np.array(2.0)],
            outputs=[("float64", (3,)), ("float64", (4,))],
        )

    f = function(runtime, bind, [("float64", 1)], single=False)
    x = np.arange(4.0)
    out = f(x)
    assert type(out) is list and f.peak_bytes == 128
    assert np.array_equal(out[0], (2 * x + c)[1:] + 1) and np.array_equal(out[1], 2 * x + c + 1)


def test_gemm_instruction_with_epilogue(kernels):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)), rng.standard_normal((4, 2))
    bits = np.array([1.0, 0.0]).view(np.int64)
    dims = [1, 3, 2, 4, 0, 0, 4, 2, 2, *bits, 1, 0, 0, 0, 2]

    def bind(arrays):
        ptrs = [(INPUT, 0, 0), (INPUT, 1, 0), (ARENA, 0, 0), (ARENA, 0, 0), (OUTPUT, 0, 0)]
        return plan(
            runtime,
            [instr(GEMM, fn=kernels.add1, n=3)],
            ptrs,
            dims,
            arena=48,
            outputs=[("float64", (3, 2))],
        )

    f = function(runtime, bind, [("float64", 2)] * 2)
    assert np.allclose(f(a, b), a @ b + 1, rtol=1e-14)


# ---- bad plans ----


TWO = [(INPUT, 0, 0), (OUTPUT, 0, 0)]
BAD = {
    "unknown space in row of ptrs 1": [
        dict(ptrs=[(INPUT, 0, 0), (space, 0, 0)]) for space in (-1, 6, 7)
    ],
    "index out of range in row of ptrs 1": [
        dict(ptrs=[(INPUT, 0, 0), row], constants=[np.ones(4)])
        for row in ((INPUT, -1, 0), (OUTPUT, -1, 0), (OUTPUT, 1, 0), (CONSTANT, 1, 0), (NEXT, 0, 0))
    ],
    "index out of range in row of ptrs 0": [dict(ptrs=[(CONSTANT, 0, 0)])],
    "offset out of range in row of ptrs 1": [
        dict(ptrs=[(INPUT, 0, 0), row]) for row in ((OUTPUT, 0, 33), (OUTPUT, 0, -1), (ARENA, 0, 8))
    ],
    "unknown kind of instruction": [dict(instrs=[instr(kind=kind)]) for kind in (-1, 7, 9)],
    "no function, negative range, or no block in instruction": [
        dict(instrs=[instr(**{"fn": 8, "n": 4, **one})])
        for one in (dict(fn=0), dict(n=-1), dict(block=0), dict(grain=-1))
    ],
    "pointers or dims out of range in instruction": [
        dict(instrs=[instr(fn=8, **one)])
        for one in (dict(ptr=3), dict(ptr=-1), dict(dims=1), dict(dims=-1))
    ],
    "operands out of range in gemm": [
        dict(instrs=[instr(GEMM)], dims=[0] * 16),
        dict(instrs=[instr(GEMM)], ptrs=[*TWO, (OUTPUT, 0, 0)], dims=[0] * 15),
    ],
    "no such pycall": [dict(instrs=[instr(PYCALL, fn=which)]) for which in (0, 1)],
    "negative arena": [dict(arena=-1)],
    "updated twice, cell 0": [
        dict(updates=[(cell, "float64", ()), (0, "float64", ())])
        for cell in (0, -1)  # -1: cell 0, in place
    ],
    ".": [
        dict(outputs=[("float64", (-1,))]),
        dict(outputs=[("float64", (1,) * 40)]),
        dict(constants=[np.ones((4, 4)).T]),
        dict(constants=[3]),
    ],
}


@pytest.mark.parametrize(
    "message, changes", [(message, changes) for message, some in BAD.items() for changes in some]
)
def test_bad_plans_are_refused(kernels, message, changes):
    with pytest.raises(ValueError, match=message):
        simple_plan(runtime, kernels, **changes)


def test_what_ends_where_its_memory_does_is_no_bad_plan(kernels):
    """The last places that are allowed, of pointers, offsets and dims."""
    for changes in (
        dict(ptrs=[(INPUT, 0, 0), (OUTPUT, 0, 32)]),
        dict(ptrs=[(INPUT, 0, 0), (ARENA, 0, 8)], arena=8),
        dict(instrs=[instr(fn=8, ptr=2)]),
        dict(instrs=[instr(fn=8, dims=1)], dims=[5]),
        dict(instrs=[instr(fn=8, grain=0)]),
        dict(instrs=[instr(GEMM)], ptrs=[*TWO, (OUTPUT, 0, 0)], dims=EMPTY_PRODUCT),
    ):
        simple_plan(runtime, kernels, **changes)


def test_the_output_that_is_asked_for_its_truth_is_one_byte(kernels):
    def asked(which, *outputs):
        rows = np.array([(INPUT, 0, 0), (OUTPUT, 0, 0)], np.int64)
        none = np.empty((0, 8), np.int64)
        return runtime.Plan(none, rows, none.ravel(), 0, [], list(outputs), [], [], 0.0, -1, which)

    truth, number = ("bool", ()), ("float64", ())
    asked(0, truth), asked(1, number, truth), asked(-1, number)
    for which, outputs in ((1, [truth]), (2, [truth]), (0, [number]), (1, [truth, number])):
        with pytest.raises(ValueError, match=f"no truth value in output {which}"):
            asked(which, *outputs)


def test_outputs_lie_in_the_memory_of_inputs_that_are_there():
    def written(*outputs):
        rows, none = np.array([(INPUT, 0, 0)], np.int64), np.empty((0, 8), np.int64)
        return runtime.Plan(none, rows, none.ravel(), 0, [], list(outputs), [], [], 0.0, 0, -1)

    def of(i, order=None):
        return "float64", (2, 4), order, i

    with pytest.raises(ValueError, match="two outputs in the memory of input 1"):
        written(of(1), of(0), of(1))
    with pytest.raises(ValueError, match="an input has axes in C order, not so output 1"):
        written(of(1), of(0, (1, 0)))
    inputs = [("float64", 2)] * 2
    for i in (0, 1):
        f = function(runtime, lambda arrays, i=i: written(of(i), of(1 - i)), inputs, single=False)
        x = [np.zeros((2, 4)), np.ones((2, 4))]
        assert [a is b for a, b in zip(f(*x), (x[i], x[1 - i]))] == [True, True]
    for i in (1, 2, 40):
        f = function(runtime, lambda arrays, i=i: written(of(0), of(i)), inputs[:1], single=False)
        with pytest.raises(ValueError, match="more inputs"):
            f(x[0])


def test_each_layout_has_a_plan_of_its_own(kernels):
    """Of one shape: strides tell them apart, the second time too."""
    f = add1(runtime, kernels)
    x = np.arange(24.0)
    views = [x[:4], x[:8:2], x[:12:3], x[::-1][:4], x[::-2][:4], x[20:]]
    for _ in range(2):
        for view in views:
            np.testing.assert_array_equal(f(view), view + 1)
    assert f.info == [(4,)] * 5  # the first and the last lie alike


# dtype, m, n, k, are they transposed, leading dimensions, alpha, beta, batch and its steps
EMPTY_PRODUCT = [1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]


def test_arrays_beyond_all_addresses_are_refused(kernels):
    with pytest.raises(MemoryError, match="too large"):
        simple_plan(runtime, kernels, outputs=[("float64", (1 << 40, 1 << 40))])


@pytest.mark.parametrize(
    "changes",
    [
        dict(outputs=[("object", ())]),
        dict(outputs=[("S3", ())]),
        dict(outputs=[3]),
        dict(outputs=3),
        dict(pycalls=[(3, [], [])]),
        dict(pycalls=[3]),
        dict(pycalls=[(print, [(0, "float64", (1.5,), (8,))], [])]),
    ],
)
def test_wrong_types_are_refused(kernels, changes):
    with pytest.raises(TypeError):
        simple_plan(runtime, kernels, **changes)


@pytest.mark.parametrize(
    "views",
    [
        ([(5, "float64", (), ())], []),
        ([(1, "float64", (5,), (8,))], []),
        ([], [(0, "float64", (4,), (8,))]),
        ([(1, "float64", (4,), (-8,))], []),
        ([(1, "float64", (4,), (8, 8))], []),
        ([(1, "float64", (2,), (1 << 62,))], []),
    ],
)
def test_pycall_views_must_stay_inside(kernels, views):
    with pytest.raises(ValueError):
        simple_plan(runtime, kernels, instrs=[instr(PYCALL)], pycalls=[(print, *views)])


@pytest.mark.parametrize(
    "message, index, values",
    [
        ("dtype or transposition is not 0 or 1", 0, (-1, 2)),
        ("dtype or transposition is not 0 or 1", 4, (-1, 2)),
        ("dtype or transposition is not 0 or 1", 5, (-1, 2)),
        *(("negative size", k, (-1,)) for k in (1, 2, 3, 11)),
        ("reaches outside its buffer", 1, (3, 9)),
        ("reaches outside its buffer", 2, (3,)),
        ("reaches outside its buffer", 3, (3,)),
        *(("reaches outside its buffer", k, (-1, 0, 1, 3, 10, 1 << 60)) for k in (6, 7, 8)),
        ("reaches outside its buffer", 11, (2,)),
    ],
)
def test_gemm_must_stay_inside(message, index, values):
    dims = [1, 2, 2, 2, 0, 0, 2, 2, 2, 0, 0, 1, 4, 4, 4, 0]
    ptrs = [(ARENA, 0, 0), (ARENA, 0, 32), (OUTPUT, 0, 0)]
    parts = dict(arena=64, outputs=[("float64", (2, 2))])
    plan(runtime, [instr(GEMM)], ptrs, dims, **parts)
    constant = [*ptrs[:2], (CONSTANT, 0, 0)]
    with pytest.raises(ValueError, match="result is read-only memory in gemm"):
        plan(runtime, [instr(GEMM)], constant, dims, constants=[np.ones((2, 2))], **parts)
    for value in values:
        with pytest.raises(ValueError, match=message):
            changed = [value if k == index else n for k, n in enumerate(dims)]
            # from an offset in the arena more reaches outside of it, not into the other operand
            plan(runtime, [instr(GEMM)], [ptrs[1], ptrs[1], ptrs[2]], changed, **parts)


def test_a_plan_must_fit_its_function(kernels):
    cases = [
        simple_plan(runtime, kernels, ptrs=[(INPUT, 1, 0), (OUTPUT, 0, 0)]),
        simple_plan(runtime, kernels, ptrs=[(2, 0, 0), (OUTPUT, 0, 0)]),
        simple_plan(runtime, kernels, ptrs=[(INPUT, 0, 40), (OUTPUT, 0, 0)]),
        simple_plan(runtime, kernels, updates=[(0, "float64", ())]),
        simple_plan(runtime, kernels, outputs=[("float64", (4,))] * 2),
    ]
    for case in cases:
        with pytest.raises(ValueError):
            function(runtime, lambda arrays, case=case: case, [("float64", 1)])(np.ones(4))


@pytest.mark.parametrize(
    "changes",
    [
        dict(inputs=[("object", 1)]),
        dict(inputs=[("float64", -1)]),
        dict(inputs=[3]),
        dict(cells=[3]),
        dict(updated=[0]),
        dict(flexible=[-1]),
        dict(bind=3),
    ],
)
def test_bad_functions_are_refused(changes):
    with pytest.raises((TypeError, ValueError)):
        function(runtime, **(dict(bind=print) | changes))


# ---- errors of kernels ----


def test_a_failing_kernel_asks_fail_for_the_exception(kernels):
    def bind(arrays):
        steps = [instr(fn=kernels.add1, n=2, tag=5), instr(fn=kernels.fails, n=2, tag=77)]
        return simple_plan(runtime, kernels, instrs=steps)

    x = np.ones(4)
    f = function(runtime, bind, [("float64", 1)])
    with pytest.raises(Failed) as caught:
        f(x)
    code, tag, arrays = caught.value.args
    assert (code, tag) == (EINDEX, 77) and arrays[0] is x

    def raises(code, tag, arrays):
        raise IndexError("index 7 at line 3")

    with pytest.raises(IndexError, match="line 3"):
        function(runtime, bind, [("float64", 1)], fail=raises)(x)
    with pytest.raises(RuntimeError, match="code 1 at instruction tag 77"):
        function(runtime, bind, [("float64", 1)], fail=lambda *args: None)(x)


def test_python_code_without_a_python_error_goes_to_fail(kernels):
    steps = [instr(fn=kernels.says_python, n=1)]
    program = simple_plan(runtime, kernels, instrs=steps)
    f = function(runtime, lambda arrays: program, [("float64", 1)])
    with pytest.raises(Failed) as caught:
        f(np.ones(4))
    assert caught.value.args[0] == EPYTHON


# ---- pycalls ----


@pytest.mark.parametrize("work", [0, 1e6])
def test_pycall_reads_and_writes_views(work):
    def square(inputs, outputs):
        assert not inputs[0].flags.writeable and outputs[0].flags.writeable
        np.multiply(inputs[0], inputs[0], out=outputs[0])

    x = np.arange(4.0)
    assert np.array_equal(python_square(runtime, square, work)(x), x * x)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("work", [0, 1e6])
def test_exceptions_of_a_pycall_are_unchanged(error, work):
    def explode(inputs, outputs):
        raise error("inside")

    f = python_square(runtime, explode, work)
    for _ in range(3):
        with pytest.raises(error, match="inside"):
            f(np.ones(4))


def test_a_view_kept_by_a_pycall_stays_valid():
    kept = []

    def square(inputs, outputs):
        kept.append(outputs[0])
        outputs[0][:] = inputs[0] ** 2

    f = python_square(runtime, square)
    for i in range(30):
        f(np.full(4, float(i)))
    f.clear()
    del f
    assert [k[0] for k in kept] == [i * i for i in range(30)]


def test_a_function_can_call_itself(kernels):
    depth = []

    def square(inputs, outputs):
        depth.append(1)
        if len(depth) < 20:
            assert np.array_equal(f(inputs[0] + 1), (inputs[0] + 1) ** 2)
        outputs[0][:] = inputs[0] ** 2

    f = python_square(runtime, square)
    assert np.array_equal(f(np.arange(4.0)), np.arange(4.0) ** 2) and len(depth) == 20
