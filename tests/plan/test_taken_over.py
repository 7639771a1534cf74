"""Arguments that a jitted function changes, in their own memory: beside NumPy for all that a call
may give, that fails or that is interrupted; and which programs do without a copy."""

import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning
from ckernels.codegen.ir import Kernel
from ckernels.plan.instructions import KernelCall, PyCall
from ckernels.plan.spans import Spans
from ckernels.plan.taken_over import TakenOver, cannot_fail


def block(a, b):
    a[1:3] += b[1:3]


def whole(a, b):
    a[:] = 2 * b + 1


def itself(a, b):
    a *= 2
    a += b


def both(a, b):
    a += b
    b -= a


def swapped(a, b):
    t = a.copy()
    a[:] = b
    b[:] = t


def shifted(a, b):
    a[1:] = a[:-1]
    b[:-1] = b[1:]


def reversed_rows(a, b):
    a[:] = a[::-1]
    b += a


def by_sum(a, b):
    a /= 1 + abs(a).sum()
    return b * 2


def normal(a, b):
    a -= a.mean(0)
    return a.sum(), a


def old_value(a, b):
    old = a.copy()
    a += b
    return old, a[1:], a[::-1]


def new_value(a, b):
    a[:] = b * 3
    return b * 3


def twice_the_same(a, b):
    c = a + a * b
    a[:] = c
    b[:] = c
    return c


def steps(a, b):
    for _ in range(4):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3


def one_by_one(a, b):
    for i in range(1, len(a)):
        a[i] = a[i] + 0.5 * a[i - 1]
    return b[0]


def moving(a, b):
    for i in range(len(a) - 2):
        a[i : i + 2] += b[i : i + 2]


def until(a, b):
    n = 0
    while abs(a).max() > 0.01:
        a *= 0.5
        n += 1
    return n


def chosen(a, b):
    if a.sum() > 0:
        a -= 1
    else:
        b += 1


def masked(a, b):
    a[a > 0] = 0
    np.maximum(b, a, out=b)


def by_columns(a, b):
    a[..., 0] = b[..., -1]
    np.add(a, b, out=b)


def checked(a, b):
    a[0] = 1
    b[len(b) - 3] = a[2]


PROGRAMS = [
    block, whole, itself, both, swapped, shifted, reversed_rows, by_sum, normal, old_value,
    new_value, twice_the_same, steps, one_by_one, moving, until, chosen, masked, by_columns,
    checked,
]  # fmt: skip


def outcome(f, arrays):
    """(result or type of the error, the arrays afterwards)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", CKernelsWarning)
        try:
            found = f(*arrays)
        except (IndexError, ValueError, TypeError) as problem:
            found = type(problem).__name__
    return found, [np.array(x) for x in arrays]


def compare(one, other):
    if isinstance(one, tuple):
        assert isinstance(other, tuple) and len(one) == len(other)
        for a, b in zip(one, other):
            compare(a, b)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.itemsize < 8 else 1e-12, atol=1e-6)
    elif isinstance(one, float):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    elif isinstance(one, np.generic):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    else:
        assert one == other


def same(f, make):
    """A jitted function beside itself in NumPy, over three calls; make() gives new arrays."""
    g = ck.jit(f)
    for _ in range(3):
        got, want = make(), make()
        (a, after), (b, wanted) = outcome(g, got), outcome(f, want)
        compare(a, b)
        for x, y in zip(after, wanted):
            compare(x, y)
        assert shared(a, got) == shared(b, want)
    return g


def shared(found, arrays):
    """Which results share memory with which arrays."""
    found = found if isinstance(found, tuple) else (found,)
    return [[np.may_share_memory(x, a) for a in arrays] for x in found if np.ndim(x)]


def numbers(shape, dtype, seed):
    found = np.random.default_rng(seed).normal(size=shape) * 3
    return found.astype(dtype)


LAYOUTS = {
    "plain": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "not aligned": lambda x: unaligned(x),
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
}


def unaligned(x):
    room = np.zeros(x.nbytes + 1, "u1")
    found = room[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_arguments_change_as_by_numpy(f, layout):
    def arrays(shape):
        return [LAYOUTS[layout](numbers(shape, "float64", 1)), numbers(shape, "float64", 2)]

    for shape in ((12,), (5, 4), (40, 30)):
        same(f, partial(arrays, shape))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "complex128", "bool"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_of_every_kind_of_number(f, dtype):
    if f is until and dtype != "float32":
        return
    same(f, lambda: [numbers((9, 4), dtype, 3), numbers((9, 4), dtype, 4)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (2,), (1, 1)])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_of_few_elements(f, shape):
    same(f, lambda: [numbers(shape, "float64", 5), numbers(shape, "float64", 6)])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_memory_of_two_arguments(f):
    def overlapping():
        x = numbers((13, 4), "float64", 7)
        return [x[1:], x[:-1]]

    def twice():
        x = numbers((12, 4), "float64", 8)
        return [x, x]

    def turned():
        x = numbers((6, 6), "float64", 9)
        return [x, x.T]

    def beside():
        x = numbers((24, 4), "float64", 10)
        return [x[:12], x[12:]]

    for make in (beside, overlapping, twice, turned):
        if not (f is checked and make is turned):  # NumPy's own store reads what it has written
            same(f, make)


def test_a_column_that_gets_a_row_which_crosses_it():
    """Of its values from before, where NumPy 2.4 reads the one at which they cross after it has
    written it."""

    @ck.jit
    def crossed(a, b):
        b[3] = a[2]

    for given in (lambda x: (x, x.T), lambda x: (x, x.copy().T)):
        x = numbers((6, 6), "float64", 9)
        row, (a, b) = x[2].copy(), given(x)
        crossed(a, b)
        np.testing.assert_array_equal(b[3], row)


@pytest.mark.parametrize("f", [block, whole, itself, steps], ids=lambda f: f.__name__)
def test_what_nobody_may_write_to(f):
    def fixed():
        x, y = numbers((12, 4), "float64", 7), numbers((12, 4), "float64", 8)
        x.flags.writeable = False
        return [x, y]

    g = same(f, fixed)
    assert outcome(g, fixed())[0] == "ValueError"


def taken(f, *arrays):
    """Whether each output of the newest trace, for these arrays, is an argument itself."""
    g = ck.jit(f)
    g(*[x.copy() for x in arrays])
    path = next(path for _, _, path in g.paths())
    found = path.compiled(*[arrays[i] for i in path.used])
    return [any(x is a for a in arrays) for x in found[path.guarded :]]


def test_who_does_without_a_copy():
    a, b = numbers((12, 4), "float64", 1), numbers((12, 4), "float64", 2)
    for f in (block, whole, itself, steps, moving, one_by_one):
        assert all(taken(f, a.copy(), b.copy())[:1]), f
    assert taken(both, a.copy(), b.copy()) == [True, True]
    assert taken(swapped, a.copy(), b.copy()) != [True, True]
    assert not any(taken(old_value, a.copy(), b.copy()))
    assert not any(taken(block, np.asfortranarray(a), b))
    large = numbers((2000, 4), "float64", 3)  # one as it lies: small ones are copied before
    assert all(taken(itself, large.copy(), large))
    assert not any(taken(itself, unaligned(large), large))


def test_what_fails_half_way_leaves_what_numpy_leaves():
    def late(a, b, k):
        a += 1
        b[k] = a[0]

    g = ck.jit(late)
    for k in (2, 5, -6, 1, 6):
        one, two = np.zeros(4), np.arange(5.0)
        first, second = one.copy(), two.copy()
        found, wanted = outcome(g, [one, two, k]), outcome(late, [first, second, k])
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(one, first)
        np.testing.assert_array_equal(two, second)


def test_indices_that_data_gives():
    def counted(a, at):
        for i in at:
            a[i] += 1

    def put(a, at):
        a[at] += 1
        a[0] = 7

    for f in (counted, put):
        g = ck.jit(f)
        for at in ([1, 2, 2], [0, 11, 3], [1, 99, 2], [5, -1, -12], [5, -13, 1]):
            got, want = np.zeros(12), np.zeros(12)
            found = outcome(g, [got, np.array(at)])[0]
            assert found == outcome(f, [want, np.array(at)])[0]
            np.testing.assert_array_equal(got, want)


# ---- at indices that data give -----------------------------------------------------------------


def put_at(a, b, at, to):
    a[at] = b[to]


def add_at(a, b, at, to):
    a[at] += b[to]


def each_added(a, b, at, to):
    np.add.at(a, at, b[to])
    np.subtract.at(b, to, 1)


def greatest_at(a, b, at, to):
    np.maximum.at(a, at, b[to])


def doubled(a, b, at, to):
    a[at] *= 2
    a[to] -= 1
    a[at] /= 4


def crossed(a, b, at, to):
    a[at] = b[at]
    b[to] = a[to]


def read_between(a, b, at, to):
    a[at] = 7
    found = a[to] + b[at]
    b[at] = 1
    return found.sum(), a[0]


def one_of_both(a, b, at, to):
    a[0] += 1
    b[at] = a[to]
    a[at + 1] = 3


def whole_then_few(a, b, at, to):
    a *= 2
    a[at] = 0
    b += a


def few_then_all(a, b, at, to):
    a[at] = b[to]
    a -= a.mean(0)


def of_what_changed(a, b, at, to):
    a[at] = b[to]
    a[abs(a[at]).astype(int).ravel()[:2] % 9] = 5


def by_pairs(a, b, at, to):
    a.reshape(-1)[at] = b.reshape(-1)[to]
    np.put(b, at, 2)


INDEXED = [put_at, add_at, each_added, greatest_at, doubled, crossed, read_between, one_of_both,
           whole_then_few, few_then_all, of_what_changed, by_pairs]  # fmt: skip
AT = {
    "some": ([1, 5, 8], [2, 1, 0]),
    "again": ([3, 3, -1], [-4, 2, 2]),
    "none": ([], []),
    "wrong": ([1, 9, 2], [0, 1, 2]),
    "wrong from below": ([1, -10, 2], [0, 1, 2]),
    "wrong later": ([1, 2, 3], [4, 5, 9]),
    "last": ([8, 1, 2], [8, 0, -9]),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["int64", "int32", "int8"])
@pytest.mark.parametrize("shape", [(9,), (9, 4)])
@pytest.mark.parametrize("f", INDEXED, ids=lambda f: f.__name__)
def test_stores_at_indices(f, shape, kind):
    g = ck.jit(f)
    for name, (at, to) in AT.items():
        got, want = ([numbers(shape, "float64", 1), numbers(shape, "float64", 2)] for _ in range(2))
        at, to = np.array(at, kind), np.array(to, kind)
        found, wanted = outcome(g, [*got, at, to])[0], outcome(f, [*want, at, to])[0]
        assert type(found) is type(wanted), name
        compare(found, wanted)
        for x, y in zip(got, want):
            compare(x, y)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "complex128", "float16"])
@pytest.mark.parametrize("f", [put_at, each_added, greatest_at, crossed], ids=lambda f: f.__name__)
def test_stores_of_every_kind_of_number(f, dtype):
    if f is each_added and dtype == "bool":
        return
    at, to = np.array([1, 5, 8, 5]), np.array([2, -1, 0, 1])
    same(f, lambda: [numbers((9, 3), dtype, 3), numbers((9, 3), dtype, 4), at, to])


def test_indices_that_the_argument_holds():
    def own(a, b):
        a[a] = b
        a[b] += a[:3]

    for values in ([2, 0, 1, 3], [3, 3, 9, 1], [0, 1, 2, -4]):
        same(own, lambda v=values: [np.array(v), np.array([1, 0, 2, 1])])
        same(own, lambda v=values: [np.array(v), np.array([1, 0, 2])])


def test_few_stores_at_indices_copy_nothing():
    a, b = numbers((12, 4), "float64", 1), numbers((12, 4), "float64", 2)
    at, to = np.array([1, 5, 8]), np.array([2, 1, 0])
    for f in (put_at, add_at, greatest_at, doubled, whole_then_few, by_pairs):
        assert all(taken(f, a.copy(), b.copy(), at, to)), f
    assert taken(crossed, a.copy(), b.copy(), at, to) == [True, True]
    assert taken(each_added, a.copy(), b.copy(), at, to) == [True, True]
    assert not any(taken(of_what_changed, a.copy(), b.copy(), at, to))


def test_other_sizes_take_the_same_plan():
    g = ck.jit(moving)
    for n in (20, 30, 50, 9, 1000):
        got, want, b = numbers((n,), "float64", n), numbers((n,), "float64", n), np.ones(n)
        g(got, b)
        moving(want, b)
        np.testing.assert_allclose(got, want, rtol=1e-13)
    sizes = [30, 50, 9, 1000]
    h = ck.jit(itself)
    for n in sizes:
        got = np.ones(n)
        h(got, np.full(n, 3.0))
        np.testing.assert_array_equal(got, np.full(n, 5.0))
    assert h.report()["traces"] == 1


def test_a_signal_ends_a_long_loop_once():
    def count(a, n):
        for _ in range(n):
            a[0] = a[0] + 1.0
            a[1] = 0.5 * a[1] + a[0]

    class Stopped(ValueError):
        pass

    def stop(*_):
        raise Stopped

    g = ck.jit(count)
    a = np.zeros(100)
    g(a, 10)
    assert a[0] == 10
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(2):
            a[:] = 0
            started = time.monotonic()
            with pytest.raises(Stopped):
                # again, for Python forgets what a handler raises inside of a finaliser
                signal.setitimer(signal.ITIMER_REAL, 0.2, 1.0)
                try:
                    g(a, 10**12)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            assert time.monotonic() - started < 30
            assert 0 <= a[0] < 10**12
            a[:] = 0
            g(a, 5)
            assert a[0] == 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_key_that_ends_one_call_says_nothing_of_the_next():
    def count(a, m, v, n):
        a[2] = a[2] + 1.0
        x = np.linalg.solve(m, v)
        for _ in range(n):
            a[0] = a[0] + 1.0
            a[1] = 0.5 * a[1] + a[0]
        return [a[1] + i * x[0] for i in range(70)]  # calls of so many results are Python's

    def stop(*_):
        raise KeyboardInterrupt

    g, v = ck.jit(count), np.ones(2)
    g(np.zeros(4), np.eye(2), v, 3)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            g(np.zeros(4), np.eye(2), v, 10**12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    got, want = np.zeros(4), np.zeros(4)
    for f, a in ((g, got), (count, want)):
        with pytest.raises(np.linalg.LinAlgError):
            f(a, np.zeros((2, 2)), v, 3)
    np.testing.assert_array_equal(got, want)


def test_threads_change_arrays_of_their_own():
    g = ck.jit(steps)
    want = [numbers((300, 20), "float64", 1), numbers((300, 20), "float64", 2)]
    for _ in range(20):
        steps(*want)
    failed = []

    def work():
        got = [numbers((300, 20), "float64", 1), numbers((300, 20), "float64", 2)]
        for _ in range(20):
            g(*got)
        if not all(np.allclose(x, y, rtol=1e-12) for x, y in zip(got, want)):
            failed.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_gradients_change_what_the_function_does():
    def cost(a, b):
        a *= b
        return (a * a).sum()

    def outer(a, b):
        c = a.copy()
        return cost(c, b)

    a, b = np.arange(1.0, 5), np.full(4, 2.0)
    with pytest.raises(ck.errors.NotSupported, match="writes into its arguments"):
        ck.jit.grad(cost)(a, b)
    slope = ck.jit.grad(ck.jit(outer))(a, b)
    np.testing.assert_array_equal(a, np.arange(1.0, 5))
    np.testing.assert_allclose(slope, 2 * a * b * b)


def test_static_arguments_and_closures():
    kept = np.zeros(40)

    def add(a, how):
        kept[3:5] += a[:2]
        if how == "twice":
            a *= 2

    g = ck.jit(add, static="how")
    a, b = np.arange(40.0), np.arange(40.0)
    for how in ("twice", "once", "twice"):
        g(a, how)
    found, kept[:] = kept.copy(), 0
    for how in ("twice", "once", "twice"):
        add(b, how)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(kept, found)


def test_one_array_read_elsewhere_and_changed_here():
    table = np.arange(30.0)

    def f(a):
        a += table[: len(a)]

    g = ck.jit(f)
    x, y = np.ones(30), np.ones(30)
    g(x), f(y)
    np.testing.assert_array_equal(x, y)
    want = table + table
    g(table)  # which is the argument as well
    np.testing.assert_array_equal(table, want)


# ---- what may be written where -----------------------------------------------------------------


def kernel(reads, writes, inplace=()):
    made = KernelCall(name="", pointers=[], kernel=Kernel("flat", 0, 0), dims=[], n=1)
    made.reads, made.writes, made.inplace = list(reads), list(writes), list(inplace)
    return made


IN, OUT, TMP = ("in", 0), ("out", 0), ("tmp", 1)


@pytest.mark.parametrize(
    ("instructions", "kept"),
    [
        ([kernel([IN], [OUT], [(OUT, IN)])], True),
        ([kernel([IN], [OUT])], False),
        ([kernel([IN], [TMP]), kernel([TMP], [OUT])], True),
        ([kernel([("in", 1)], [OUT]), kernel([IN], [TMP])], False),
        ([kernel([IN], [OUT], [(OUT, IN)]), kernel([IN], [TMP])], False),
        ([kernel([IN], [OUT], [(OUT, IN)]), kernel([TMP], [OUT])], True),
        ([kernel([IN], [OUT], [(OUT, IN)]), kernel([IN], [OUT], [(OUT, IN)])], False),
    ],
)
def test_nothing_reads_what_is_overwritten(instructions, kept):
    found = TakenOver(instructions, {0: 0}, {}, None)
    assert (found.kept, found.lost) == ({0: 0} if kept else {}, set())


def test_what_fails_comes_first():
    call = PyCall(name="", pointers=[], call=None, ins=[], outs=[])
    assert not cannot_fail(call, Spans())
    before = TakenOver([call, kernel([], [OUT])], {0: 0}, {0: 0}, None)
    call = PyCall(name="", pointers=[], call=None, ins=[], outs=[], reads=[OUT])
    after = TakenOver([kernel([], [OUT]), call], {0: 0}, {0: 0}, None)
    assert (before.kept, before.first, before.lost) == ({0: 0}, 1, set())
    assert (after.kept, after.first, after.lost) == ({}, 2, {0})


def test_what_may_fail_is_done_before_where_it_may():
    def look(reads):
        return PyCall(name="", pointers=[], call=None, ins=[], outs=[], reads=reads, writes=[TMP])

    write, use = kernel([], [OUT]), kernel([TMP], [OUT])
    for late, first, kept in (
        (look([("in", 1)]), 1, {0: 0}),
        (look([OUT]), 2, {}),
    ):
        found = TakenOver([write, late, use], {0: 0}, {0: 0}, None)
        assert (found.kept, found.first) == (kept, first if kept else 3)
        assert found.instructions == ([late, write, use] if kept else [write, late, use])
    # what it reads comes before it as well
    make, late = kernel([("in", 1)], [("tmp", 2)]), look([("tmp", 2)])
    found = TakenOver([write, make, late, use], {0: 0}, {0: 0}, None)
    assert found.instructions == [make, late, write, use]
    # and stays where its result is written where something else lies until then
    read = kernel([TMP], [OUT])
    found = TakenOver([write, read, late, use], {0: 0}, {0: 0}, None)
    assert found.kept == {}


def test_the_truth_value_comes_first():
    asked = ("out", 1)
    for order in ([asked, OUT], [OUT, asked]):
        found = TakenOver([kernel([], [each]) for each in order], {0: 0}, {}, 1)
        assert found.kept == {0: 0} and found.instructions[0].writes == [asked]
    late = [kernel([], [OUT]), kernel([OUT], [asked])]
    assert TakenOver(late, {0: 0}, {}, 1).kept == {}
    assert TakenOver([kernel([], [OUT, asked])], {0: 0}, {}, 1).kept == {}
