"""Programs of plain NumPy under jit beside NumPy: results, their kinds, and what happens to
arguments; the traps of views, scalars, closures, sizes, masks and Python's own numbers."""

import collections
import dataclasses
import functools
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.config import config
from ckernels.base.errors import CKernelsWarning, CompileError, NotSupported
from ckernels.jit.function import Jitted
from ckernels.jit.namespace import FILLING, PLACES, RANGES, Namespace
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
    return y, z, x[[1, 1, 2]]


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


def _appends(x, found):
    found.append(1)
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
    (_prints, (V,)), (_appends, (V, [])), (_unknown, (V,)), (_many_turns, (V,)),
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


def parts_of_complex(z):
    z.real[0] = 5
    z.imag[1:] *= 2
    re = z.real
    z += 1
    return re, z.imag, z.conj(), z * 2


def seen_late(a):
    d, wide, turned = np.diag(a), np.broadcast_to(a[0], a.shape), np.rot90(a)
    a[0, 0] = 7
    a[-1] += 1
    return d * 2, wide + 0, turned, np.rollaxis(a, 1), np.unstack(a)[1], a.diagonal(1) + 0


def replaced_in_place(x):
    y = np.nan_to_num(x, copy=False)
    y[0] = 3
    return x


def windows_see_stores(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    x[2] = 9
    return w.sum(1)


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("function, make", [
    (parts_of_complex, lambda n: np.arange(n) + 1j * np.array([np.inf, *range(1, n)])),
    (seen_late, lambda n: np.arange(n * n * 1.0).reshape(n, n)),
    (replaced_in_place, lambda n: np.array([1.0, np.nan, *[np.inf] * (n - 2)])),
    (windows_see_stores, lambda n: np.arange(n * 1.0)),
    (lambda x: (x**2, x**2.0, x**1), lambda n: np.arange(n) % 2 == 0),
])  # fmt: skip
def test_views_see_what_is_stored_later(function, make, n):
    check(function, make(n))


@pytest.mark.parametrize("store", [
    lambda x: np.broadcast_to(x, (2, *x.shape)).__setitem__(0, 1.0),
    lambda x: x[:, None].diagonal().__setitem__(0, 1.0), lambda x: x.imag.__setitem__(0, 1.0),
])  # fmt: skip
def test_views_that_are_only_to_be_read_raise_as_in_numpy(store):
    with pytest.raises(ValueError, match="read-only") as ours:
        ck.jit(store)(np.ones(3))
    assert type(ours.value) is ValueError


def test_gradients_go_through_stores_into_parts():
    def f(x):
        z = x * (1 + 2j)
        z.real[...] = z.imag**2
        z.imag[1] = 3 * z.real[2]
        return (np.abs(z) ** 2).sum()

    x, step = np.array([0.5, -1.0, 2.0]), 1e-6
    want = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ck.jit.grad(f)(x), want, rtol=1e-6)


@pytest.mark.parametrize("window", [
    lambda x: np.lib.stride_tricks.sliding_window_view(x, x.shape[0] - 2),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, (x.size // 2,))[:: x.size // 4],
    lambda x: np.broadcast_to(x, (x.size, x.size)),
    lambda x: np.diag(np.outer(x, x), x.size // 2),
])  # fmt: skip
def test_views_of_as_many_elements_as_sizes_say_are_returned_at_each_size(window):
    jitted = ck.jit(window)
    for n in (6, 9, 8, 6):
        same(window(np.arange(1.0, n + 1)), jitted(np.arange(1.0, n + 1)))
    assert not jitted.report()["numpy"]


def test_no_name_of_numpy_is_hidden_by_one_of_ours():
    check(lambda x: np.trace(np.outer(x, x), 2), np.arange(6.0))
    ours = vars(Namespace(None)).keys() | {n for n in dir(Namespace) if n[0] != "_"}
    made = {f.__name__ for f in (*FILLING, *RANGES, *PLACES)} | {
        "random",
        "r_",
        "c_",
        "ix_",
        "ndarray",
    }
    made |= {"mgrid", "ogrid", "fft", "isscalar", "ndim"}
    made |= {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
    assert {n for n in ours if hasattr(np, n)} == made


def test_the_report_tells_of_kernels_that_do_not_compile(monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise CompileError("cc: no such luck\nmore words")

    def f(x):
        return np.sin(x) * 2.125 + x**3 - 0.77125

    monkeypatch.setattr(pipeline, "run", refuse)
    g = ck.jit(f)
    with config.change(base_compiledir=str(tmp_path)), warnings.catch_warnings():  # no stored plan
        warnings.simplefilter("ignore", CKernelsWarning)
        same(f(V), g(V))
    assert g.report()["kernels"] == ["cc: no such luck"]
    monkeypatch.undo()
    h = ck.jit(f)
    same(f(V), h(V))
    assert h.report()["kernels"] == []


def test_a_part_under_a_mask_keeps_its_dtype():
    jitted, x = ck.jit(whole_numbers_under_a_mask), np.arange(4)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        jitted(x)
    np.testing.assert_array_equal(x, [0, 1, 3, 4])
    check(whole_numbers_under_a_mask, np.arange(4.0))


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


def added_under_a_mask(x, y):
    y[x > 0] += 1
    return y, y[x > 0].sum()


def slopes_under_a_mask(x):
    slopes = np.diff(x)
    slopes[x > 0] = 2
    return slopes


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1), (1, 12), (12, 1), (12, 11), (1, 0)])
def test_a_mask_is_not_repeated(sizes):
    x, y = (np.arange(1.0, n + 1) for n in sizes)
    for function, args in ((added_under_a_mask, (x, y)), (slopes_under_a_mask, (np.ones(1),))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            with pytest.raises(IndexError, match="boolean index did not match"):
                ck.jit(function)(*args)
    check(added_under_a_mask, y, y)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.minimum])
@pytest.mark.parametrize("dtype", ["int16", "uint8", "bool", "float32", "complex64"])
def test_numbers_that_a_dtype_does_not_have_added_at_places(ufunc, dtype):
    places = np.array([0, 0, 1])

    def at(x, number):
        ufunc.at(x, places, number)
        return x

    for number in (0.7, -0.6, 2, -1, 1j):
        x = np.array([1, 0, 1], dtype)
        try:
            want = at(x.copy(), number)
        except Exception as problem:
            with pytest.raises(type(problem)):
                ck.jit(lambda x, number=number: at(x, number))(x.copy())
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(want, ck.jit(lambda x, number=number: at(x, number))(x))


def imports_modules(x):
    import math
    from math import exp

    import numpy as xp
    from numpy.linalg import norm

    return xp.sin(x) / norm(x) * exp(-1.0) + math.pi


def imports_linalg(x):
    import numpy.linalg as la

    return la.norm(x) + la.det(np.outer(x[:2], x[1:3]) + np.eye(2))


@pytest.mark.parametrize("function", [imports_modules, imports_linalg])
def test_imports_inside_of_a_function(function):
    check(function, np.arange(1.0, 20.0))


def test_what_a_jitted_function_shows():
    def double(x):
        return 2 * x

    double.unit = "m"
    f = ck.jit(double)
    assert [n for n in dir(f) if n[0] != "_"] == ["address", "report", "source", "unit", "wait"]
    assert f.unit == "m" and not hasattr(f, "_unit")
    with pytest.raises(AttributeError, match="`report`"):
        f.reprot()


def called(entry, *arguments):
    return entry.ctypes()(*arguments, entry.user_data)


def test_c_functions_of_jitted_ones():
    scale = np.array([1.0, 2.0, 3.0])
    energy = ck.jit(lambda x, power=2: np.sum(scale * x**power))
    x = np.array([1.0, -2.0, 0.5])
    entry = energy.address("double (int, double *, void *)", x)
    assert called(entry, 3, x.ctypes.data) == pytest.approx(np.sum(scale * x**2), rel=1e-15)
    slope = ck.jit.value_and_grad(lambda x: np.sum(scale * x**2))
    entry = slope.address("int64_t (uint64_t, double *, double *, double *, void *)", x)
    value, gradient = np.zeros(1), np.zeros(3)
    places = (x.ctypes.data, gradient.ctypes.data, value.ctypes.data)
    status = called(entry, 3, places[0], places[1], places[2])
    both = {value[0], *gradient} if status == 0 else None
    assert both == {8.0 + 1 + 0.75, *(2 * scale * x)}
    half = ck.jit(lambda x: np.where(x > 8, -x, 1 / x))
    entry = half.address("double (double, void *)", 1.0)
    assert [called(entry, x) for x in (4.0, 0.0, 9.0)] == [0.25, np.inf, -9.0]
    root = ck.jit(lambda x: math.sqrt(x) + x).address("double (double, void *)", np.float64(1.0))
    assert called(root, 4.0) == 6.0 and np.isnan(called(root, -1.0))
    unused = ck.jit(lambda x, y: x + 1).address("double (int, double *, void *)", 0.0, 0.0)
    pair = np.array([2.0, 9.0])
    assert called(unused, 2, pair.ctypes.data) == 3.0
    waited = ck.jit(lambda x: x * 3, background=True)
    assert called(waited.address("double (double, void *)", 0.0), 2.0) == 6.0


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda x: x if x > 0 else -x, "np.where"),
        (lambda x: open(str(x)), "once only"),
        (lambda x: int(1 / x), "int"),
        (lambda x: 3.0 if 1 / x > 0 else x.foo, "np.where"),
    ],
)
def test_jitted_functions_that_have_no_c_function(function, said):
    with pytest.raises(NotSupported, match=said):
        ck.jit(function).address("double (double, void *)", 1.0)


def test_a_function_that_stores_has_no_c_function():
    def double(x):
        x *= 2
        return x.sum()

    with pytest.raises(NotSupported, match="stores"):
        ck.jit(double).address("double (int, double *, void *)", np.ones(3))


Two = collections.namedtuple("Two", "first second")


@dataclasses.dataclass(frozen=True)
class Frozen:
    at: np.ndarray
    step: float = 0.5
    name: str = "a"


class Scaled:
    def __init__(self, scale):
        self.scale, self.table = scale, {"offset": np.arange(4.0), 1: None}

    def __call__(self, x):
        return x * self.scale + self.table["offset"][0]


def alike(want, got):
    """Of equal types and nesting, with equal leaves."""
    assert type(want) is type(got)
    if isinstance(want, dict):
        assert [(type(k), k) for k in want] == [(type(k), k) for k in got]
        want, got = [*want.values()], [*got.values()]
    if dataclasses.is_dataclass(want) or isinstance(want, Scaled):
        return alike(vars(want), vars(got))
    if isinstance(want, (list, tuple)):
        assert len(want) == len(got)
        return [alike(a, b) for a, b in zip(want, got)] and None
    if isinstance(want, (np.ndarray, np.generic)):
        same(want, got)
    else:
        assert repr(want) == repr(got)


def calls_of_python(monkeypatch):
    """A list that grows with each call that C hands on."""
    calls, called = [], Jitted.called
    monkeypatch.setattr(Jitted, "called", lambda *a, **k: calls.append(1) or called(*a, **k))
    return calls


def doubled(x, y):
    x *= 2
    x[0] = y.sum()
    return x[1:], x


def chosen(x):
    if (n := len(x)) > 4 and (m := x.max()) > 0:
        return x / m * n
    return {"low": x.min()} if x[0] > -4 else [x]


@pytest.mark.parametrize("function, makers", [
    (lambda x: (x + 1, x.sum(), x[:2] * 2), [lambda n: n]),
    (lambda x: (x[x > 0].max(), 1.0 * x), [lambda n: n]),  # it holds where a part is positive
    (lambda x: x[x > 0].min(), [lambda n: n]),
    (lambda x: [x + 1, x.sum(), ()], [lambda n: n]),
    (lambda x: (x, x + 1), [lambda n: n]),
    (lambda x: ((y := x + 1), y), [lambda n: n]),
    (lambda x: ((y := x + 1), y[1:], y[::2]), [lambda n: n]),
    (lambda x: (x + 1, x + 1, np.arange(3), slice(1, None), "a"), [lambda n: n]),
    (lambda x: Two(x[1:], len(x)), [lambda n: n]),
    (lambda p, x: ({**p, "h": (h := p["w"] * x)}, [h.sum(), (h, None)]),
     [lambda n: {"w": n, 1: 2, "b": True} if n.size else {}, lambda n: n]),
    (lambda s, dt: dataclasses.replace(s, at=s.at + dt * s.step), [Frozen, lambda n: 0.25]),
    (lambda s, x: (s(x), s), [lambda n: Scaled(2.0), lambda n: n]),
    (lambda p, x: p.first * p.second[0] + x, [lambda n: Two(n, [3]), lambda n: n]),
    (lambda s, x: x[s], [lambda n: slice(1, None, 2), lambda n: n]),
    (lambda x, s: x * s, [lambda n: n, lambda n: np.float32(2)]),
    (lambda x, n: sum([x + i for i in range(n)]), [lambda n: n, lambda n: 3]),
    (doubled, [lambda n: n, lambda n: n + 1]),
    (lambda x, n: (x * n, n * 2, n, max(x[3], n), max(x[0], n)), [lambda n: n, lambda n: 0.5]),
    (chosen, [lambda n: n]),
    (chosen, [lambda n: -abs(n) - 5 * (n.sum() < 20)]),
])  # fmt: skip
def test_calls_from_c_to_c(function, makers, monkeypatch):
    jitted, calls = ck.jit(function), calls_of_python(monkeypatch)
    for start in (0, 0, -3, 1):
        data = np.linspace(-1, 2, 12) + start * 0.25
        want = [m(data.copy()) for m in makers]
        got = [m(data.copy()) for m in makers]
        alike(function(*want), jitted(*got))
        alike(want, got)
        if start == 0:
            pattern = jitted(*got), function(*want)
            alike(*pattern)
    first = len(calls)
    jitted(*[m(np.linspace(-1, 2, 12)) for m in makers])
    assert len(calls) == first <= 2


def test_identity_and_views_of_results_from_c():
    function = ck.jit(lambda x: ((y := x + 1), y, y[1:], x, x[2:]))
    for _ in range(3):
        x = np.arange(12.0)
        y, again, view, given, part = function(x)
        assert y is again and view.base is y and given is x and part.base is x
        x[3] = 7
        assert part[1] == 7


def test_what_is_stored_reaches_one_writable_argument_each(monkeypatch):
    def add(a, b):
        a += b
        return a.sum()

    def case(kind):
        x = np.arange(24.0)
        if kind == "overlap":
            return x[:12], x[6:18]
        if kind == "same":
            return x[:12], x[:12]
        if kind == "interleaved":
            return x[::2], x[1::2]
        if kind == "folded":
            return np.lib.stride_tricks.as_strided(x, (12,), (0,)), x[12:]
        if kind == "reversed":
            return x[11::-1], x[12:]
        return x[:12], x[12:]

    jitted = ck.jit(add)
    for kind in ("apart", "overlap", "same", "interleaved", "reversed", "folded", "apart") * 3:
        want, got = case(kind), case(kind)
        assert add(*want) == jitted(*got), kind
        assert np.array_equal(want[0], got[0]) and np.array_equal(want[1], got[1]), kind
    calls, closed = calls_of_python(monkeypatch), case("apart")
    closed[0].flags.writeable = False
    jitted(*case("apart"))
    with pytest.raises(ValueError, match="read-only"):
        jitted(*closed)
    assert closed[0].tolist() == [*range(12)] and not calls


def test_calls_that_differ_in_what_is_part_of_a_trace():
    def function(p, x, mode="a", n=2):
        return {"sum": x.sum() + len(p), "p": p, mode: x * n if mode == "a" else x - n}

    jitted, x = ck.jit(function), np.arange(12.0)
    ones = [{"a": x}, {1: x}, {True: x}, {1.0: x}, {"a": x, "b": 1}, {"b": 1, "a": x}, [x], (x,),
            Two(x, x), "a", "b", b"a", [slice(1, 2)], [slice(1, 3)], [None], [True], [1], [1.0],
            [np.float64(1)], [range(3)], [np.dtype("f4")], [()], [[x, 1], {}]]  # fmt: skip
    for _ in range(3):
        for one in ones:
            for more in ({}, {"mode": "b"}, {"n": 3}, {"n": 3, "mode": "b"}, {"n": 2.0}):
                alike(function(one, x, **more), jitted(one, x, **more))


def test_numbers_that_are_part_of_a_trace_are_compared_with_their_sign():
    def function(x, n):
        return x * 2 + n, f"{n}"

    jitted = ck.jit(function)
    for _ in range(3):
        for n in (0.0, -0.0, 1.0, float("nan"), 1, 2, 2**70):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CKernelsWarning)
                alike(function(np.arange(12.0), n), jitted(np.arange(12.0), n))


TABLE = {"a": np.arange(12.0), "k": 3}


def test_names_that_hold_dicts_are_read_at_each_call(monkeypatch):
    def function(x):
        for key in sorted(TABLE):
            x = x * TABLE[key]
        return x

    jitted, x = ck.jit(function), np.arange(12.0)
    alike(function(x), jitted(x))
    calls = calls_of_python(monkeypatch)
    for value in (4, 5):
        monkeypatch.setitem(TABLE, "k", value)
        alike(function(x), jitted(x))
    assert not calls
    for value in (2.5, np.arange(12)):
        monkeypatch.setitem(TABLE, "k", value)
        alike(function(x), jitted(x))
    monkeypatch.setitem(TABLE, "b", 2)
    alike(function(x), jitted(x))


def test_threads_that_call_with_several_nestings():
    def function(p, x):
        p["w"] += x
        return {**p, "n": x.sum()}

    jitted, failed = ck.jit(function), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for turn in range(60):
            n = int(rng.integers(9, 12))
            w, x = rng.integers(-9, 9, (2, n + 20 * (turn % 2))).astype(float)
            names = ["w", *"abcdef"[: rng.integers(0, 6)]]
            want, got = ({k: w.copy() for k in names} for _ in range(2))
            try:
                alike(function(want, x), jitted(got, x))
                alike(want, got)
            except BaseException as problem:
                failed.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not failed


def test_what_a_call_in_c_finds_not_to_hold_is_numpys():
    jitted = ck.jit(lambda x: (x[x > 0].max(), 1.0 * x))
    x = np.linspace(-1, 2, 12)
    for _ in range(2):
        jitted(x)
        with pytest.raises(ValueError, match="zero-size"):
            jitted(-x - 3)


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
    with pytest.raises(NotSupported, match="np.ix_"):
        ck.jit(lambda a, m: a[np.ix_(m, m)], strict=True)(a[:, :5], a[0, :5] > 0)


def test_views_of_the_same_and_of_another_dtype():
    def same_dtype(a):
        b = a.view()
        b[0] = 3
        return a * 2, b

    check(same_dtype, np.arange(12.0))
    with pytest.raises(NotSupported, match="another dtype"):
        ck.jit(lambda a: a.view("i8"), strict=True)(np.arange(12.0))


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
