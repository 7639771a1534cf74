"""Calls of jitted functions that go from C to C, and C functions of them: nested arguments and
results, identity, what is stored, what is part of a trace, threads."""

import collections
import dataclasses
import math
import threading
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning, NotSupported
from ckernels.jit.function import Jitted

from .beside import check, same

A = np.random.default_rng(0).normal(size=(12, 10))

Two = collections.namedtuple("Two", "first second")


def test_what_a_jitted_function_shows():
    def double(x):
        return 2 * x

    double.unit = "m"
    f = ck.jit(double)
    assert [n for n in dir(f) if n[0] != "_"] == [
        "address",
        "explain",
        "report",
        "source",
        "unit",
        "wait",
    ]
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
        (lambda x: open("x"), "once only"),
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


def same_results(want, got):
    """Of equal types and nesting, with equal leaves."""
    assert type(want) is type(got)
    if isinstance(want, dict):
        assert [(type(k), k) for k in want] == [(type(k), k) for k in got]
        want, got = [*want.values()], [*got.values()]
    if dataclasses.is_dataclass(want) or isinstance(want, Scaled):
        return same_results(vars(want), vars(got))
    if isinstance(want, (list, tuple)):
        assert len(want) == len(got)
        return [same_results(a, b) for a, b in zip(want, got)] and None
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
    (lambda s, x: (s(x), Scaled(3.0)), [lambda n: Scaled(2.0), lambda n: n]),
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
        same_results(function(*want), jitted(*got))
        same_results(want, got)
        if start == 0:
            pattern = jitted(*got), function(*want)
            same_results(*pattern)
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
                same_results(function(one, x, **more), jitted(one, x, **more))


def test_numbers_that_are_part_of_a_trace_are_compared_with_their_sign():
    def function(x, n):
        return x * 2 + n, f"{n}"

    jitted = ck.jit(function)
    for _ in range(3):
        for n in (0.0, -0.0, 1.0, float("nan"), 1, 2, 2**70):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CKernelsWarning)
                same_results(function(np.arange(12.0), n), jitted(np.arange(12.0), n))


TABLE = {"a": np.arange(12.0), "k": 3}


def test_names_that_hold_dicts_are_read_at_each_call(monkeypatch):
    def function(x):
        for key in sorted(TABLE):
            x = x * TABLE[key]
        return x

    jitted, x = ck.jit(function), np.arange(12.0)
    same_results(function(x), jitted(x))
    calls = calls_of_python(monkeypatch)
    for value in (4, 5):
        monkeypatch.setitem(TABLE, "k", value)
        same_results(function(x), jitted(x))
    assert not calls
    for value in (2.5, np.arange(12)):
        monkeypatch.setitem(TABLE, "k", value)
        same_results(function(x), jitted(x))
    monkeypatch.setitem(TABLE, "b", 2)
    same_results(function(x), jitted(x))


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
                same_results(function(want, x), jitted(got, x))
                same_results(want, got)
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


@pytest.mark.parametrize("number", [2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**63) - 1, 2**70])
@pytest.mark.parametrize("function", [
    lambda n, x: n + 1.5, lambda n, x: n * x, lambda n, x: np.hstack([n, x]),
    lambda n, x: int(np.max(n)) * x, lambda n, x: (n + n, x),
])  # fmt: skip
def test_ints_beyond_64_bits_after_small_ones(function, number):
    """NumPy makes uint64 of some: what was compiled is for int64."""

    def outcome(f, n):
        try:
            return f(n, np.float64(0.5))
        except Exception as problem:
            return type(problem)

    jitted = ck.jit(function)
    for n in (3, 4, number, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CKernelsWarning)
            want, got = outcome(function, n), outcome(jitted, n)
        assert repr(want) == repr(got)


STEPS, WEIGHTS = np.array([[0, 1], [2, -3], [-1, 40]]), np.array([0.5, 0.25, 2.0])


def streamed(x):
    y = np.zeros_like(x)
    for i in range(3):
        moved = np.roll(np.roll(x, int(STEPS[i, 0]), 0), shift=int(STEPS[i, 1]), axis=1)
        y += WEIGHTS[i] * moved + np.roll(x, (int(STEPS[i, 1]), 2), axis=(0, 1))
    return y


def moved_by(x, steps):
    return np.roll(x, int(steps[0])), np.roll(x, [int(s) for s in steps], 0)


def test_rolls_by_numbers_that_arrays_hold():
    x = np.random.default_rng(4).normal(size=(9, 12))
    for each in (x, x.astype("float32"), x.T, x[:0], x[:1]):
        check(streamed, each)
    jitted = ck.jit(moved_by, strict=True)
    for steps in ([0, 1], [3, -4], [100, -1000]):
        for a, b in zip(jitted(x, np.array(steps)), moved_by(x, steps)):
            np.testing.assert_array_equal(a, b)
    assert jitted.report()["traces"] == 1
