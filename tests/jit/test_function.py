"""Programs of plain NumPy under jit beside NumPy: results, their kinds, and what happens to
arguments; the traps of views, scalars, closures, sizes, masks and Python's own numbers."""

import collections
import dataclasses
import fractions
import functools
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.config import config
from ckernels.base.errors import ArgumentError, CKernelsWarning, CompileError, NotSupported
from ckernels.jit.namespace import FILLING, PLACES, RANGES, Namespace
from ckernels.jit.trace import Trace
from ckernels.plan import pipeline

from .beside import check, same, written

A = np.random.default_rng(0).normal(size=(12, 10))
V = np.random.default_rng(1).normal(size=12)
P = np.abs(A) + 0.5


# ---- programs, each with its arguments -----------------------------------------------------------


def expression(x, y):
    return np.sin(x) ** 2 + y * 2.5 - np.where(x > 0, x, -1)


def reductions(x):
    return x.sum(), x.mean(axis=0), x.std(axis=1, keepdims=True), x.max(), x.argmax(), x.any()


def views_alias(x):
    y = x[1:5]
    y += 10
    z = x.reshape(2, -1)
    z[0, 0] = -1
    t = x.T
    t[3] = 7
    u = x[2:][1:]
    u[::2] *= 2
    return x.sum(), y, z, t


def late_reads(x):
    v = x[1:-1]
    w = x.copy()
    x[2:] = 0
    return v.sum(), w, v.copy()


def stencil(u, dt):
    new = np.zeros_like(u)
    for _ in range(3):
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + dt * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        u[:] = new
        new *= 0.999
    return new


def out_and_where(x, y):
    np.multiply(x, 2, out=y)
    np.add(y, 1, out=y, where=x > 0)
    return np.add.reduce(y, axis=1), np.add.accumulate(y, axis=0), np.multiply.outer(x[0], y[0])


def creation(x, n):
    a, b, c = np.zeros((n, 2)), np.ones(n), np.full(n, 3)
    d, e = np.arange(n), np.linspace(0, 1, n)
    a[:, 0] = x[:n]
    a[:, 1] = b + c + d * e
    f = np.empty(3, dtype=np.float32)
    f[:] = 1.5
    return a, np.eye(3) * f, np.array([1.0, x[0], 2]), np.zeros(()), np.array(x[0])


def masked_in_place(x):
    mask = x > 1
    part = x[mask]
    same = part
    same += 1
    np.multiply(part, 2, out=part)
    np.add(part, 0.5, out=part, where=part > 5)
    out = np.zeros(3)
    np.multiply(x[mask][:3], 2, out=out)
    x[x > 2] += 0.25
    return part, same, out, np.divmod(x[mask], 2)


def whole_numbers_under_a_mask(x):
    x[x > 1] += 1
    part = x[x > 1]
    part += 0.5
    return part


def masks(x):
    x[x < 0] = 0
    x[x > 1] = np.sqrt(x[x > 1])
    total, count = x[x > 0.5].sum(), (x > 0.5).sum()
    x[(x > 0.2) & (x < 0.3)] += 5
    return x, total, count, x[x > 0.4].mean()


def fancy(x, index):
    y = x[index]
    x[index] = -1
    z = x[:, np.array([0, 2])]
    np.add.at(x, (index, 0), 1.0)
    x[(1, 2), (0, 1)] += x[:, (2, 0)].sum()
    return y, z, x[[1, 1, 2]], x[:, (2, 0)], x[:, ()], x[(), 1:]


def places(x, index):
    i = np.argmax(x[:, 0])
    row = x[i]
    row += 1
    x[index[0], 1:3] = 0
    return x[i, 2], x[index[1]].sum()


def scalars(x):
    s = x[0]
    t = s
    s += 1
    k = x.sum() * 2
    k -= 1
    return s, t, k, x[0], x[-1:] + s


def integers(i, j):
    return i + j, i * j, i // j, i % j, i - 1, i / 2, i & j, i >> 1, -i, i**2, abs(i), ~i


def python_numbers(x, s, n):
    h = 1.0 / s
    return x * h**2 + s / 2, x / n, h, n, s * 2.0


def use_of_ints(x, n):
    for k in range(n):
        x = x * k + 1
    return x[:n], x.reshape(n, -1), n * n


def sizes(x):
    n, m = x.shape
    assert x.ndim == 2 and x.size == n * m and len(x) == n
    return x / x.shape[0], np.zeros(x.shape) + x, np.zeros(n), np.ones((m, 2)), n


def open_sizes(x):
    return (x - x.mean()) / np.sqrt(x.shape[0] - 1.0) + x.sum() / x.size


def branch(x):
    if x.sum() > 0:
        return np.sqrt(np.abs(x))
    elif (x < -100).any():
        return x * 0
    return -x


def asks(x):
    return float(str(x.sum())) + x


def trees(state, more):
    a, (b, c) = state["a"], state["bc"]
    return {"sum": a + b, "nested": [c, (a * 2, None)], "same": more}, a


def returns_arguments(x, y):
    y += 1
    return x, y, y[1:], x.T


def identity_view(x):
    y = np.zeros((3, 4))
    y[1] = x[:4]
    return y, y[1], y.T


def with_math(x, s):
    return x * math.sqrt(s) + math.pi * math.exp(-s) + math.sin(s)


def types(x):
    assert isinstance(x, np.ndarray) and x.dtype == np.float64
    return x.astype(np.float32), x.astype(int), (x > 0).astype("int8"), x.dtype.itemsize * x


def methods(x):
    y = x.copy()
    y.fill(2.0)
    y.sort()
    return y, x.dot(x.T), x.ravel()[3], x.flatten(), x.clip(0, 1), x.cumsum(), x.round(2), x.T.T


def joined(x, v):
    return (np.concatenate([x, x]), np.stack([v, v * 2]), np.vstack([v, v]), np.hstack([v, 1.0, v]),
            np.column_stack([v, v]), np.tile(v, 2), np.roll(x, 1, axis=0))  # fmt: skip


def linear(x):
    s = x @ x.T + np.eye(12)
    return np.linalg.solve(s, x[:, 0]), np.linalg.inv(s), np.linalg.norm(x), s.trace(), np.outer(
        x[0], x[1])  # fmt: skip


def helper(x):
    y = np.zeros(3)
    y[:] = x[:3]
    return y


def calls(x):
    def inner(y):
        return y + x

    return helper(x) + inner(x)[:3], [v * 2 for v in x[:3]], sum(x[:3]), max(1, 2)


def unrolled(x):
    total = 0.0
    for row in x[:4, :2]:
        for v in row:
            total += v
    return total


PROGRAMS = {
    expression: [(V, V), (V.astype("float32"), 2), (A, A[0]), (V[:0], V[:0]), (V[::-2], 1.5)],
    reductions: [(A,), (A.T,), (A.astype("float32"),), (np.arange(6).reshape(2, 3),)],
    views_alias: [(A,), (A[:6],)], late_reads: [(V,)], stencil: [(A, 0.1), (A[:4, :4], 0.2)],
    out_and_where: [(A, np.zeros_like(A))], creation: [(V, 4)], masks: [(A,), (V,)],
    masked_in_place: [(np.arange(9.0),)],
    fancy: [(A, np.array([3, 1]))], places: [(A, np.array([2, -1]))], scalars: [(V,)],
    integers: [(np.arange(1, 9), np.arange(2, 10)), (np.arange(1, 9, dtype="int8"), 3),
               (np.uint8([1, 200]), np.uint8([100, 100]))],
    python_numbers: [(V, 0.5, 3), (V.astype("float32"), 0.5, 3)], use_of_ints: [(V, 3), (V, 4)],
    sizes: [(A,)], open_sizes: [(V,), (V[:9],)], branch: [(V,), (-np.abs(V),), (-200 - V,)],
    trees: [({"a": V, "bc": (V, 2.0)}, [1, "x", None])], returns_arguments: [(A, A + 1)],
    identity_view: [(V,)], with_math: [(V, 2.0), (V, 0.25)], types: [(A,)], methods: [(A,)],
    joined: [(A, V)], linear: [(A,)], calls: [(V,)], unrolled: [(A,)],
}  # fmt: skip


@pytest.mark.parametrize("function, args", [(f, a) for f, cases in PROGRAMS.items() for a in cases],
                         ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_programs_do_what_they_do_in_numpy(function, args):
    check(function, *args)


# ---- one trap each -------------------------------------------------------------------------------


def test_a_returned_argument_is_the_callers_object():
    x, y = A.copy(), A.copy()
    found = ck.jit(returns_arguments)(x, y)
    assert found[0] is x and found[1] is y
    assert np.shares_memory(found[2], y) and np.shares_memory(found[3], x)


def test_one_trace_serves_all_large_sizes_and_sizes_used_as_ints_get_their_own():
    f = ck.jit(open_sizes)
    for n in (9, 20, 21, 1000):
        same(open_sizes(np.arange(float(n))), f(np.arange(float(n))))
    assert f.report()["traces"] == 1 and not f.report()["pinned"]
    g = ck.jit(lambda x: sum(v for v in x[: len(x)]))
    g(V), g(V[:-1])
    assert g.report()["traces"] == 2


c = np.arange(3.0)
factor = 2.0


def test_names_are_read_at_each_call():
    global c, factor
    f = ck.jit(lambda x: x * factor + c)
    np.testing.assert_array_equal(f(np.ones(3)), [2, 3, 4])
    c[:] = 5
    np.testing.assert_array_equal(f(np.ones(3)), [7, 7, 7])
    c, factor = np.zeros(3, "float32"), 3
    np.testing.assert_array_equal(f(np.ones(3)), [3, 3, 3])
    c, factor = np.arange(3.0), 2.0
    cell = np.ones(3)

    def g(x):
        return x + cell

    g = ck.jit(g)
    np.testing.assert_array_equal(g(np.zeros(3)), [1, 1, 1])
    cell = np.zeros(4)
    np.testing.assert_array_equal(g(np.zeros(4)), [0, 0, 0, 0])


def test_a_global_array_that_is_written_is_written():
    global c

    def f(x):
        c[0] = x[0]
        return c.sum()

    c = np.arange(3.0)
    assert ck.jit(f)(np.array([9.0])) == 12 and c[0] == 9
    c = np.arange(3.0)


def test_overlapping_arguments_are_numpys():
    def f(x, y):
        x += 1
        y *= 2
        return x.sum()

    a, b = V.copy(), V.copy()
    assert ck.jit(f)(a, a) == pytest.approx(f(b, b))
    np.testing.assert_allclose(a, b)
    a, b = V.copy(), V.copy()
    ck.jit(f)(a[1:], a[:-1]), f(b[1:], b[:-1])
    np.testing.assert_allclose(a, b)


def test_read_only_arguments_raise_as_in_numpy():
    x = V.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ck.jit(stencil)(np.broadcast_to(x, (12, 12)), 0.1)


def test_errors_are_numpys():
    f = ck.jit(lambda x, y: x + y)
    with pytest.raises(ValueError, match="could not be broadcast"):
        f(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="could not be broadcast"):
        f(np.ones(30), np.ones(40))
    with pytest.raises(IndexError):
        ck.jit(lambda x: x[20])(V)
    with pytest.raises(OverflowError, match="300"):
        ck.jit(lambda x: x + 300)(np.int8([1]))

    def cast(x):
        x += 1.5

    with pytest.raises(TypeError, match="same_kind"):
        ck.jit(cast)(np.arange(3))
    with pytest.raises(ZeroDivisionError):
        ck.jit(lambda x, s: x * (1 / s))(V, 0.0)
    with pytest.raises(ValueError, match="integers to negative|Integers to negative"):
        ck.jit(lambda x, p: x**p)(np.array([2]), np.array([-1]))


def test_an_error_leaves_arguments_as_numpy_leaves_them():
    def f(x):
        x += 1
        return x[20]

    a, b = V.copy(), V.copy()
    for each, x in ((f, a), (ck.jit(f), b)):
        with pytest.raises(IndexError):
            each(x)
    np.testing.assert_array_equal(a, b)


def test_what_asks_for_numbers_runs_in_numpy_with_one_note():
    f = ck.jit(asks)
    with pytest.warns(CKernelsWarning, match=r"asks runs in NumPy: str\(x\) .*test_function.py:"):
        same(asks(V), f(V))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(asks(V), f(V))
    assert f.report()["numpy"] == {"str(x)": 2}
    with pytest.raises(NotSupported, match=r"str\(x\)"):
        ck.jit(asks, strict=True)(V)


def _prints(x):
    print(x.shape)
    return x + 1


def _random(x):
    return x + np.random.rand()


def _generator(x, rng):
    return x + rng.normal()


def _pops(x, found):
    found.pop()
    return x + 1


def _unknown(x):
    return np.trim_zeros(x)


def _many_turns(x):
    for _ in range(4000):
        try:
            x = x + 1
        finally:
            pass
    return x


def _maybe_a_view(x):
    y = (x.T + 1).ravel()
    y[0] = 5
    return y


@pytest.mark.parametrize("function, args", [
    (_prints, (V,)), (_pops, (V, [1, 2, 3, 4])), (_unknown, (V,)), (_many_turns, (V,)),
    (_maybe_a_view, (A,)), (asks, (V,))])  # fmt: skip
def test_what_cannot_be_traced_runs_in_numpy(function, args, capsys):
    check(function, *args, traced=False)


def test_random_numbers_are_drawn_in_each_call():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        f = ck.jit(_random)
        assert f(V)[0] != f(V)[0]
        g, rng = ck.jit(_generator), np.random.default_rng(0)
        assert g(V, rng)[0] != g(V, rng)[0]


def test_static_arguments_are_part_of_the_trace():
    @ck.jit(static=("how",))
    def f(x, how, power=2):
        return x**power if how == "power" else x.sum()

    same(V**2, f(V, "power"))
    same(V.sum(), f(V, how="sum"))
    same(V**3, f(V, "power", power=3))
    assert not f.report()["numpy"]


def _of_kinds(x, c):
    if c in ({1, 2}, fractions.Fraction(1, 3)):
        return x * 2
    if c == frozenset({0}):
        return np.copysign(x, [*c][0])
    return x * c if isinstance(c, (int, float)) and c > 0 else x - 1


def test_static_arguments_of_other_kinds_are_part_of_the_trace_by_value():
    f = ck.jit(_of_kinds, static="c")
    given = [{1, 2}, {1, 3}, {0.0}, {-0.0}, {0}, {False}]
    for c in [*map(frozenset, given), fractions.Fraction(1, 3), fractions.Fraction(1, 2)] * 2:
        same(_of_kinds(V, c), f(V, c))
    assert not f.report()["numpy"] and f.report()["traces"] == 8
    with pytest.warns(CKernelsWarning, match="of type set"):
        same(V * 2, f(V, {1, 2}))


def test_static_numbers_are_those_of_each_call():
    f = ck.jit(_of_kinds, static="c")
    numbers = [1, 1.0, True, 0, 0.0, -0.0, False, 2.5, np.nan, float("nan"), np.inf, np.float32(1)]
    for c in numbers + numbers[::-1]:
        same(_of_kinds(V, c), f(V, c))


@dataclasses.dataclass
class State:
    x: np.ndarray
    t: float


Pair = collections.namedtuple("Pair", "a b")


def test_dataclasses_and_named_tuples_are_trees():
    def f(state, pair):
        return State(state.x + state.t, state.t * 2), Pair(pair.b, pair.a * 2)

    found = check(f, State(V, 0.5), Pair(V, A))(State(V, 0.5), Pair(V, A))
    assert type(found[0]) is State and type(found[1]) is Pair


class Model:
    def __init__(self):
        self.w = np.ones(12)

    def scaled(self, x):
        return np.zeros(12) + x * self.w

    @ck.jit
    def predict(self, x):
        return self.scaled(x).sum()


def test_methods_read_their_object_at_each_call():
    model = Model()
    assert model.predict(V) == pytest.approx(V.sum())
    model.w[:] = 2
    assert model.predict(V) == pytest.approx(2 * V.sum())
    model.w = np.zeros(12)
    assert model.predict(V) == 0
    assert not Model.predict.report()["numpy"]


@ck.jit
def at_the_top(x):
    return x * 2


def test_jitted_functions_go_through_pickles_by_name_and_call_one_another():
    assert pickle.loads(pickle.dumps(at_the_top)) is at_the_top
    f = check(lambda x: at_the_top(x) + 1, V)
    assert f.report()["traces"] == 1


def test_threads_share_a_function():
    f, found = ck.jit(stencil), []

    def work(n):
        x = np.full((12, n), 2.0)
        f(x, 0.1)
        found.append((n, x))

    threads = [threading.Thread(target=work, args=(n,)) for n in (9, 10, 9, 30, 5, 10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, x in found:
        want = np.full((12, n), 2.0)
        stencil(want, 0.1)
        np.testing.assert_allclose(x, want)
    assert len(found) == 6


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32",
                                   "float64", "complex64", "complex128"])  # fmt: skip
def test_dtypes_and_layouts(dtype):
    def f(x):
        return x + x, x * 2, x.sum(), x == x, x[..., :].copy() if x.ndim else x, np.zeros_like(x)

    base = (np.arange(24) % 7).reshape(4, 6).astype(dtype)
    unaligned = np.frombuffer(b"\0" + base.tobytes(), dtype, offset=1).reshape(4, 6)
    for x in (base, base.T, base[::-1, ::2], base[:0], base[0, 0:1].reshape(()), unaligned):
        check(f, x)


def test_scalars_of_numpy_are_strong_and_python_numbers_weak():
    def f(x, s):
        return x * s, x + 1.5, s

    for s in (np.float64(2), np.float32(2), 2.0, 2, np.int8(2), True):
        check(f, V.astype("float32"), s)


def test_other_kinds_of_arrays_are_numpys():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        masked = np.ma.masked_less(V, 0)
        assert ck.jit(lambda x: x.sum())(masked) == masked.sum()
        dates = np.array(["2020-01-01"], "M8[D]")
        assert ck.jit(lambda x: x + 1)(dates) == dates + 1
        swapped = V.astype(">f8")
        same(V * 2, np.asarray(ck.jit(lambda x: x * 2)(swapped), "<f8"))


def test_in_the_background_numpy_answers_first():
    f = ck.jit(stencil, background=True)
    for _ in range(3):
        x, y = A.copy(), A.copy()
        same(stencil(x, 0.1), f(y, 0.1))
        np.testing.assert_allclose(y, x)
        f.wait()
        assert f.report()["traces"] == 1


def _erosion(x):
    p = np.pad(x > 0, 1, constant_values=True)
    m, n = x.shape
    return np.logical_and.reduce([p[i : i + m, j : j + n] for i in range(3) for j in range(3)])


LISTS = [
    (_erosion, A), (_erosion, A[::2, ::-1]), (_erosion, np.zeros((0, 3))),
    (lambda x: np.maximum.reduce([x, x[::-1], x * 2], initial=0.5), V),
    (lambda x: np.add.reduce([x > 0, x < 0]), V),  # counts
    (lambda x: np.add.reduce([[x[0], 1.0], [2.0, x[1]]], axis=1), V.astype("f4")),
    (lambda x, n: (np.power([n, n + 1], 2), np.multiply.outer([x[0], x[1]], x)), V, 3),
    (lambda x: np.add.accumulate((x[0], x[1], x[2])), V),
    (lambda x: np.hypot([x[0], x[1]], [x.max(), 1.0]) + np.divmod([x[2], 3.0], 2.0), V),
    (lambda x: np.linalg.norm([x[0], x[1]]) + LENGTH((x[0], x[2])), V),
    (lambda x: np.linalg.solve([[x[0] + 5, 1.0], [1.0, x[1] + 5]], [x[2], 1.0]), V),
    (lambda x: np.cross([x[0], x[1], x[2]], [1.0, 2.0, 3.0]) @ np.cross(x[:3], x[3:6]), V),
    (lambda x: (np.dot([x[0], x[1]], x[:2]), np.einsum("i,i->", [x[0], x[1]], [1.0, 2.0])), V),
    (lambda x: np.allclose([x[0], x[1]], [x[0], x[1]]), V),
    (lambda x, n: (np.shape([n, x[0]]), np.ndim([[n, 1]]), np.size([n, n])), V, 3),
    (lambda x: np.polyval([x[0], 2.0, x[1]], x) + np.interp(x, [0, x[2] ** 2], [x[0], x[1]]), V),
    (lambda x: np.fft.fft([x[0], x[1], 0.0]), V),
    (lambda x: (np.where([x[0] > 0, False], [x[1], 1], [2, x[2]]), np.dot(x[:2], [x[0], 1])), V),
    (lambda x: np.average(x[:3], weights=[x[0] ** 2, 1.0, x[1] ** 2]), V),
    (lambda x: (*np.meshgrid([x[0], 1.0], [x[1], x[2], 2.0]), np.append(x, [x[0], 3.0])), V),
    (lambda x: (np.searchsorted([0.0, x[0] ** 2], x), np.isin([x[0], 9.0], [x[1], x[0]])), V),
    (lambda x: (np.percentile([x[0], x[1], 1.0], 30), np.cov([x[0], x[1], 1.0], x[:3])), V),
    (lambda x: (round(x[0]), round(x[1], 2), round(x.sum() * 100), round(x[:1].sum(), 1)), V),
    (lambda x: functools.reduce(np.maximum, [x, x[::-1], x * 2]), V),
    (lambda x: {np.add: 1.0, np.subtract: x}[np.subtract] * 2, V),
    (lambda x: (isinstance(np.add, np.ufunc), np.add is np.add, np.add.nin, np.exp.__name__), V),
]  # fmt: skip
LENGTH = np.linalg.norm


@pytest.mark.parametrize("op", [np.add, np.sum, np.maximum, np.linalg.norm, np.stack, np.sin])
def test_functions_given_are_those_that_names_have(op):
    def asks(x, op, table):
        same = op is np.add, op is np.sum, op is LENGTH, op is np.stack, op == np.maximum
        return [x * 2 if each else x for each in same], {np.add: 1, np.sin: 2}.get(op, table)

    check(asks, V, op, 3, traced=None)
    check(lambda x, op: (x + 1, op, [np.add, np.sum], {"norm": LENGTH}), V, op)


@pytest.mark.parametrize("function, args", [(f, args) for f, *args in LISTS])
def test_lists_of_traced_values_are_arrays_for_functions_and_ufuncs(function, args):
    check(function, *args)


def test_lists_of_traced_values_that_are_stored_into_are_errors():
    """As in NumPy: a list that is made an array first would lose what it is given."""
    for store in (lambda x: np.put([x[0], x[1]], [0], [9.0]),
                  lambda x: np.copyto([x[0], x[1]], [9.0, 9.0]),
                  lambda x: np.place([x[0], x[1]], [True, False], [9.0])):  # fmt: skip
        with pytest.raises(TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            ck.jit(store)(V)


def test_arrays_in_lists_are_equal_or_not():
    """NumPy's code of array_equal catches every error, and says that they are not."""
    check(lambda x: 1 if np.array_equal([x[0], x[1]], [x[0], x[1]]) else 2, V, traced=None)
    check(lambda x: 1 if np.array_equal([x[0], x[1]], [x[1], x[0]]) else 2, V, traced=None)


def _catches(x):
    try:
        return np.frompyfunc(lambda t: 2 * t, 1, 1)(x)[0] + x
    except Exception:
        return x * 100


def _catches_all(x):
    try:
        return np.frompyfunc(lambda t: 2 * t, 1, 1)(x)[0] + x
    except:  # noqa: E722
        return x * 100


def _catches_several(x):
    try:
        return np.frompyfunc(lambda t: 2 * t, 1, 1)(x)[0] + x
    except (ValueError, RuntimeError, Exception):
        return x * 100


def _catches_one(x):
    if x.ndim > 1:
        raise Exception("a matrix")
    try:
        y = x * 2
    except ValueError:
        y = x
    finally:
        x = 3
    return y + x


def test_what_a_trace_says_by_errors_is_caught_by_no_function():
    for function in (_catches, _catches_all, _catches_several):
        check(function, V, traced=False)
    check(_catches_one, V)


def test_no_name_of_numpy_is_hidden_by_one_of_ours():
    check(lambda x: np.trace(np.outer(x, x), 2), np.arange(6.0))
    ours = vars(Namespace(Trace())).keys() | {n for n in dir(Namespace) if n[0] != "_"}
    made = {f.__name__ for f in (*FILLING, *RANGES, *PLACES)} | {
        "random",
        "r_",
        "c_",
        "ix_",
        "ndarray",
    }
    made |= {"mgrid", "ogrid", "fft", "linalg", "lib", "isscalar", "ndim", "ndindex", "ndenumerate"}
    made |= {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
    assert {n for n in ours if hasattr(np, n)} == made


def curve(x):
    return np.sin(x) * 2.125 + x**3 - 0.77125


def failing(error):
    def run(*args, **kwargs):
        raise error

    return run


@pytest.mark.usefixtures("refused_kernels_run_in_numpy")
def test_the_report_tells_of_kernels_that_do_not_compile(monkeypatch, tmp_path):
    error = CompileError("cc: no such luck\nmore words")
    monkeypatch.setattr(pipeline, "run", failing(error))
    g = ck.jit(curve)
    with config.change(base_compiledir=str(tmp_path)), warnings.catch_warnings():  # no stored plan
        warnings.simplefilter("ignore", CKernelsWarning)
        same(curve(V), g(V))
    assert g.report()["kernels"] == ["cc: no such luck"]
    monkeypatch.undo()
    h = ck.jit(curve)
    same(curve(V), h(V))
    assert h.report()["kernels"] == []


def test_an_error_of_a_plan_itself_does_not_pass_as_numpys_result(monkeypatch, tmp_path):
    """By tests/conftest.py; for users NumPy runs the call."""
    monkeypatch.setattr(pipeline, "run", failing(IndexError("no such element")))
    with config.change(base_compiledir=str(tmp_path)):  # no stored plan
        with pytest.raises(pytest.fail.Exception, match="no such element"):
            ck.jit(curve)(V)


class Scaled:
    def __call__(self, x):
        return x * 2


@pytest.mark.parametrize(
    "function",
    [functools.partial(np.add, 1), Scaled(), functools.partial(lambda a, x: x[: int(a[0])], V)],
)
def test_what_has_no_name_can_be_called(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        np.testing.assert_array_equal(ck.jit(function)(V), function(V))
    assert ck.jit(function).__name__ in ("partial", "Scaled")


def test_what_cannot_be_traced_in_the_background_is_numpys(monkeypatch):
    problems = []
    monkeypatch.setattr(threading, "excepthook", problems.append)
    jitted = ck.jit(lambda x: x, background=True)
    for _ in range(2):
        assert jitted(np.array(["a"])) == ["a"]
        jitted.wait()
    assert not problems


def test_what_is_a_scalar():
    def asked(x, s, n):
        found = [np.isscalar(v) for v in (s, n, x, x[0], x.sum(), x.mean(axis=0), len(x), 2, "a")]
        return x * s, [*found, np.isscalar(s * n), np.ndim(s), np.ndim(n), np.ndim(x)]

    for x in (np.arange(3.0), np.arange(20.0)):
        check(asked, x, 2.0, 3)
        check(asked, x, np.float64(2), np.int8(3))
        check(asked, x, np.array(2.0), np.array(3))


@pytest.mark.parametrize("source", [True, False])
def test_types_of_arguments_with_and_without_source(source, tmp_path):
    text = (
        "def f(x, s, n):\n"
        "    kinds = type(s) is float, type(n) is int, type(n) == int, isinstance(f, type)\n"
        "    return x * s, [*kinds, isinstance(int, type), type(x[0]).__name__, type(x).__name__]\n"
    )
    if source:
        function = written(text, "types_of_arguments", tmp_path)
    else:
        names = {}
        exec(text, names)
        function = names["f"]
    check(function, np.arange(3.0), 2.0, 3)
    check(function, np.arange(20.0), 2.0, 3)


def test_open_meshes_of_known_and_of_traced_indices():
    def known(a):
        a[np.ix_([0, 2], [1, 3])] = 7
        return a[np.ix_([1, 0], [0, 2])]

    def traced(a, i):
        return a[np.ix_(i, [0, 1])], np.ix_(i, i)[1]

    a = np.random.default_rng(0).standard_normal((5, 6))
    check(known, a)
    check(traced, a, np.array([3, 1, -1]))

    def masks(a, m):
        a[np.ix_(m, [0, 2])] = 5
        return a[np.ix_([1, 0], m)], a[np.ix_(m, m)].sum(0), np.ix_(m, m)[1]

    for m in (a[0, :5] > 0, np.zeros(5, bool), np.ones(5, bool)):
        check(masks, a[:, :5].copy(), m)
    with pytest.raises(ValueError, match="1 dimensional"):
        ck.jit(lambda a: a[np.ix_(a > 0)])(a)


@pytest.mark.parametrize("n, k", [(6, 6), (3, 0), (0, 4), (9, 300)])
def test_products_of_matrices_of_bools(n, k):
    rng = np.random.default_rng(n + k)
    p, q = rng.random((n, k)) < 0.1, rng.random((k, n + 1)) < 0.1
    check(lambda p, q: (p @ q, np.dot(p, q), p @ q.astype(int)), p, q)
    check(lambda p, v: (p @ v, v @ v, np.vdot(v, v), np.inner(p, v)), p, rng.random(k) < 0.3)
    check(lambda p, q: (np.tensordot(p, q, 1), np.einsum("ij->j", p + 0) > 0), p, q)


def test_texts_of_traced_values_are_those_of_their_values():
    def told(x, n, s):
        return f"{x!r} {n!r} {s!r} {x[0]!r}", repr(x), repr(n + 1), repr([n, s]), x * n

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for n, s in ((3, 0.5), (4, -2.0)):
            assert told(np.arange(12.0), n, s)[:4] == ck.jit(told)(np.arange(12.0), n, s)[:4]
            jitted = ck.jit(lambda n: (repr(n), n + 1))
            assert [jitted(k) for k in (n, n + 1)] == [(repr(k), k + 1) for k in (n, n + 1)]


def test_a_part_under_a_mask_keeps_its_dtype():
    jitted, x = ck.jit(whole_numbers_under_a_mask), np.arange(4)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        jitted(x)
    np.testing.assert_array_equal(x, [0, 1, 3, 4])
    check(whole_numbers_under_a_mask, np.arange(4.0))


def all_but_an_ellipsis(a):
    v = a[..., 0]
    v += 1
    return a, v


def an_ellipsis(a):
    v = a[...]
    v += 1
    return a, v, a[..., None]


def one_element_in_a_loop(a):
    for i in range(3):
        v = a[i, ...]
        v *= i + 2
    w = a[-1, ...]
    w[...] = 7
    return v, w, a


def place_in_an_array(a, n):
    v, w, x = a[n], a[1:, n], a[n, ...]
    v += 2
    w += 3
    x += 4
    return a, v, w, x


def place_in_a_constant(a):
    v = a[np.array(1)]
    v += 2
    w = a[np.int64(0)]
    w += 3
    return a, v, w


def number_of_a_scalar(a):
    s = a.sum()[...]
    s += 1
    return s, a[np.array(0)]


def test_elements_are_views_only_where_they_are_in_numpy():
    """An ellipsis makes an array of one element, which is a view; an array as a place a copy."""
    for dtype in ("f8", "u1", "c8"):
        check(all_but_an_ellipsis, np.arange(3).astype(dtype))
        check(all_but_an_ellipsis, np.arange(6).reshape(2, 3).astype(dtype))
        check(an_ellipsis, np.arange(3).astype(dtype))
        check(an_ellipsis, np.array(5, dtype))
        check(one_element_in_a_loop, np.arange(1, 4).astype(dtype))
    table = np.arange(6.0).reshape(3, 2)
    for n in (np.array(1), np.int64(1), 1):
        check(place_in_an_array, table, n, traced=None)
    check(place_in_a_constant, table)
    check(number_of_a_scalar, np.arange(3.0), traced=None)


def of_no_axes(x):
    flat = np.ravel(x)
    return (np.isin(3, x), np.isin(x.max(), flat), np.pad(x, 1), np.roll(x, 1), np.i0(x), np.cov(x),
            np.bitwise_count(x), np.squeeze(x.sum()), np.transpose(flat[0]), np.copy(flat[0]),
            flat[0].copy(), np.unique_counts(flat), np.unique_inverse(flat))  # fmt: skip


def truths(x):
    y = x + 1
    same = np.array_equal(x, x), np.allclose(x, x), np.array_equiv(x, y), np.array_equal(x, [1])
    return (*same, same[0] + same[1], ~same[0], same[1] / 2, not same[2], np.where(same[2], x, y),
            x if same[0] else y)  # fmt: skip


@pytest.mark.skipif(not hasattr(np, "unique_counts"), reason="NumPy 2 has these functions")
@pytest.mark.parametrize("x", [np.array(3), np.array([3]), np.array(7, "uint8")])
def test_results_of_no_axes_have_the_type_of_numpys(x):
    check(of_no_axes, x, traced=None)


@pytest.mark.parametrize("x", [np.arange(3), np.ones(1), np.array(2.5)])
def test_whether_arrays_are_equal_is_a_bool_of_pythons(x):
    """Sums of bools of NumPy's are bools, of Python's numbers."""
    check(truths, x)


def test_explain_says_what_traces_compute():
    @ck.jit
    def f(x, power):
        y = np.tanh(x) ** power
        return np.sum(np.sort(y) if y.sum() > 0 else y)

    assert "Nothing was traced yet" in f.explain()
    f(np.ones(40), 2.0), f(np.ones(40), 2)
    text = f.explain()
    assert text.count("a trace of float64 (?,)") == 2 and "where tests are True" in text
    assert f"{__file__}:{f.__wrapped__.__code__.co_firstlineno + 2}" in text and ": sort" in text
    assert ck.explain(f).count("a trace of") == 2
    assert ck.draw(f).startswith("<!DOCTYPE html>")
    g = ck.jit(lambda x: np.trim_zeros(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g(np.array([0, 3, 0]))
    assert g.explain().startswith("in NumPy, 1 call: np.trim_zeros")
    with pytest.raises(ArgumentError, match="has no trace that computes anything"):
        ck.draw(g)


@pytest.mark.parametrize(
    "name, said",
    [
        ("steps", r"f\.explain\(\) has a line"),
        ("stats", r"f\.report\(\) counts"),
        ("profile_table", "CKERNELS_FLAGS=profile=True prints"),
        ("grad", r"ck\.jit\.grad\(f\)"),
        ("py_func", r"f\.__wrapped__ is"),
        ("sorce", "did you mean `source`"),
    ],
)
def test_names_that_jitted_functions_lack_say_where_it_is(name, said):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; {said}"):
        getattr(ck.jit(lambda x: x), name)


def test_places_in_the_middle_are_of_one_plan_for_all_sizes():
    """x[n // 2] and medians: their places follow the size, which is not taken as a number."""
    f = ck.jit(lambda x: (x[len(x) // 2] + x[(len(x) - 1) // 2], np.median(x), x[-(len(x) // 3)]))
    for n in (11, 12, 40, 41, 1000, 33):
        x = np.random.default_rng(n).normal(size=n)
        want = x[n // 2] + x[(n - 1) // 2], np.median(x), x[-(n // 3)]
        np.testing.assert_array_equal(f(x), want)
    assert "this size only" not in f.explain() and f.report()["traces"] == 1


def test_places_that_an_axis_does_not_have_are_refused():
    f = ck.jit(lambda x, y: x[len(y) // 2])
    assert f(np.arange(20.0), np.ones(30)) == 15
    with pytest.raises(IndexError):
        f(np.arange(12.0), np.ones(30))
    assert f(np.arange(12.0), np.ones(22)) == 11
