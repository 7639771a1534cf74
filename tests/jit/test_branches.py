"""Traces that truth values and sizes choose from: paths that cannot be traced beside those that
can, numbers pinned on a later path, and traces for one size where one for all is refused."""

import contextlib
import gc
import signal
import warnings
import weakref

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning, IndexOutOfBounds, NonFiniteError, NotSupported
from ckernels.jit import branches as rooms
from ckernels.ops import reference

from .beside import same

R = np.random.default_rng(3)
UP, DOWN = np.arange(1.0, 13.0), -np.arange(1.0, 13.0)


def compare(function, *calls):
    """`function` jitted, called beside itself with each of the arguments."""
    jitted = ck.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        for args in calls:
            same(function(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args]),
                 jitted(*args))  # fmt: skip
    return jitted


def one_path_in_numpy(x):
    if x.sum() > 0:
        return x + 1
    return np.trim_zeros(x)


def shape_on_one_path(x, n):
    if x.sum() > 0:
        return x + 1
    return np.zeros(n)


def raises_for_some(x):
    if x.min() < 0:
        raise ValueError("less than nothing")
    return np.sqrt(x)


@pytest.mark.parametrize("calls", [(UP, DOWN, UP, DOWN), (DOWN, UP, DOWN, UP)])
def test_a_path_in_numpy_leaves_others_compiled_in_either_order(calls):
    report = compare(one_path_in_numpy, *[(x,) for x in calls]).report()
    assert report["numpy"] == {"np.trim_zeros, which is computed by NumPy": 2}
    assert report["traces"] == 1


def test_a_number_pinned_on_a_later_path_is_part_of_the_trace():
    report = compare(shape_on_one_path, (UP, 2), (DOWN, 2), (DOWN, 3), (UP, 3)).report()
    assert report["numpy"] == {} and report["pinned"] == ["1"]


@pytest.mark.parametrize("first", [UP, DOWN])
def test_an_error_of_one_path_is_the_functions_own(first):
    jitted = ck.jit(raises_for_some)
    for x in (first, UP, DOWN, UP):
        if x is UP:
            same(np.sqrt(x), jitted(x))
            continue
        with pytest.raises(ValueError, match="less than nothing"):
            jitted(x)
    assert jitted.report()["traces"] == 1


def test_strict_raises_for_the_path_that_is_numpys():
    jitted = ck.jit(one_path_in_numpy, strict=True)
    same(UP + 1, jitted(UP))
    with pytest.raises(NotSupported, match="trim_zeros"):
        jitted(DOWN)


def test_a_transform_names_the_later_path_that_it_cannot_take():
    slope = ck.jit.grad(lambda x: (x**2).sum() if x.sum() > 0 else np.trim_zeros(x).sum())
    same(2 * UP, slope(UP))
    with pytest.raises(NotSupported, match="trim_zeros"):
        slope(DOWN)


# ---- sizes ---------------------------------------------------------------------------------------


def marks(n):
    return np.linspace(-1, 1, n, retstep=True)[0]  # two results, of which a size is asked in Python


def places(x):
    return marks(x.shape[0]) * x


def in_numpy(x):
    return np.trim_zeros(x) + 1


def sizes(*found):
    return [(R.normal(size=n),) for n in found]


def test_what_is_refused_for_all_sizes_is_traced_for_one():
    report = compare(places, *sizes(12, 20, 12, 20, 5)).report()
    assert report["numpy"] == {} and report["traces"] == 3
    assert report["pinned"] == [] and report["sized"] == ["an index in Python"]


def test_what_is_refused_for_each_size_is_tried_few_times():
    jitted = compare(in_numpy, *sizes(*range(20, 30), 20, 21))
    report = jitted.report()
    assert list(report["numpy"].values()) == [12] and report["traces"] == 0
    assert report["sized"] == ["np.trim_zeros, which is computed by NumPy"]
    assert [len(p.leaves[()].found) for p in jitted.plans.values()] == [rooms.FAILURES]


def test_a_failed_size_does_not_end_the_tries():
    def twentieth(x):
        return marks(x.shape[0])[19] + x

    jitted = ck.jit(twentieth)
    with pytest.raises(IndexError), warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        jitted(R.normal(size=12))
    for n in (30, 40):
        x = R.normal(size=n)
        same(twentieth(x), jitted(x))
    assert jitted.report()["traces"] == 2


def test_sizes_of_their_own_have_an_end(monkeypatch):
    monkeypatch.setattr(rooms, "SIZES", 4)
    jitted = compare(places, *sizes(*range(10, 18)))
    report = jitted.report()
    assert report["traces"] == 4
    assert list(report["numpy"]) == ["more than 4 sizes, each with a trace: an index in Python"]


def test_small_sizes_and_data_are_not_tried_again():
    def asks(x):
        return float(np.median(x)) if np.ptp(x) > 1e9 else int(x[0]) * "a"

    report = compare(asks, (np.array([1.0, 2.0]),), (np.arange(20.0),)).report()
    assert report["sized"] == [] and report["traces"] == 0


def test_gradients_of_what_is_refused_for_all_sizes():
    slope = ck.jit.grad(lambda x: (places(x) ** 2).sum())
    for (x,) in sizes(12, 30):
        same(2 * marks(x.size) ** 2 * x, slope(x))


def settled(x, start):
    for _ in range(100):
        new = 0.15 + 0.05 * (start * x)
        if np.abs(new - start).sum() < 1e-10:
            break
        start = new
    return start


def of_its_own(x):
    return settled(x, np.full(x.shape[0], 1.0))


def with_views_of_it(x):
    found = of_its_own(x)
    return found, found[1:], found.reshape(2, -1)


def or_the_argument(x):
    return settled(x, x)


def beside_what_it_began_as(x):
    start = np.full(x.shape[0], 1.0)
    return settled(x, start), start


@pytest.mark.parametrize("function, compiled", [(of_its_own, True), (with_views_of_it, True),
                                                (or_the_argument, True),
                                                (beside_what_it_began_as, False)])  # fmt: skip
def test_a_result_that_is_one_of_several_arrays(function, compiled):
    """It is compiled where nobody else sees those arrays; else results share memory as NumPy's."""
    jitted = ck.jit(function)
    for x in (np.ones(12), np.full(12, 17.0), np.arange(12.0)):
        found = {}
        for name, call in (("NumPy", function), ("jit", jitted)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CKernelsWarning)
                results = call(x)
            results = results if isinstance(results, tuple) else (results,)
            shared = [np.may_share_memory(a, b) for a in (*results, x) for b in results]
            found[name] = results, shared
        for want, got in zip(found["NumPy"][0], found["jit"][0], strict=True):
            same(want, got)
        assert found["NumPy"][1] == found["jit"][1]
    assert (not jitted.report()["numpy"]) == compiled


# ---- slices whose length each turn decides ----


def shrinking(x):
    value, n = x.copy(), len(x)
    for i in range(n - 1, 0, -1):
        value[:i] = np.maximum(value[:i], 0.5 * (value[n - i :] + value[:i]))
    return value[0]


def crossing(x):
    value, n = x.copy(), len(x)
    for i in range(n - 1, 0, -1):
        value[n - i :] = np.maximum(value[:i], 0.5 * (value[n - i :] + value[:i]))
    return value[0] + value[-1]


def crossing_on(x):
    value, n, i = x.copy(), len(x), len(x) - 1
    while i > 0:
        value[n - i :] = np.maximum(value[:i], 0.5 * (value[n - i :] + value[:i]))
        i -= 1
    return value[0] + value[-1]


def test_a_loop_of_stores_in_slices_that_no_mask_stands_for_is_numpys():
    x = np.random.default_rng(1).normal(size=1000)
    f = ck.jit(crossing)
    with pytest.warns(CKernelsWarning, match="length each turn of a loop decides"):
        assert f(x) == crossing(x)
    assert f.report()["traces"] == 0
    few = x[:300]
    np.testing.assert_allclose(ck.jit(crossing, strict=True)(few), crossing(few), rtol=1e-12)
    f = ck.jit(crossing_on)
    with pytest.warns(CKernelsWarning, match="length each turn of a loop decides"):
        assert f(x) == crossing_on(x)


def partial_sums(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[:i].sum() * x[i]
    return total


def windows(x):
    total = 0.0
    for i in range(len(x) - 3):
        total = total + x[i : i + 3].max()
    return total


@pytest.mark.parametrize("function", [partial_sums, windows, shrinking])
def test_loops_over_slices_that_have_masks_are_traced(function):
    x = np.random.default_rng(1).normal(size=300)
    f = ck.jit(function)
    np.testing.assert_allclose(f(x), function(x), rtol=1e-12)
    assert f.report()["traces"] == 1 and not f.report()["numpy"]


def test_a_gradient_of_such_a_loop_is_traced():
    x, h = np.random.default_rng(1).normal(size=12), 1e-6
    slope = ck.jit.grad(lambda x: shrinking(x) * 1.0)(x)
    way = np.random.default_rng(2).normal(size=12)
    want = (shrinking(x + h * way) - shrinking(x - h * way)) / (2 * h)
    np.testing.assert_allclose(slope @ way, want, rtol=1e-6)


def asks(x):
    return x + 1 if x.sum() > 0 else x


def as_text(x):
    return f"{x[0]:.1f}"


def misspelt(x):
    return x.foo


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: ({"a": x[1:]}, x + 1),
        asks,
        as_text,
        misspelt,
        np.trim_zeros,
        lambda x: np.trim_zeros(x),
        lambda x: x[x > 0].mean(),
    ],
)
@pytest.mark.filterwarnings("ignore::ckernels.errors.CKernelsWarning")
def test_no_trace_keeps_the_arguments(function, young_heap):
    """Neither one that answers nor one that was refused, whose exception is kept."""
    jitted = ck.jit(function)
    for size in (20, 20, 30):
        x = np.ones(size)
        kept = weakref.ref(x)
        with contextlib.suppress(AttributeError):
            jitted(x)
        del x
        gc.collect()
        assert kept() is None


def test_a_gradient_that_is_refused_keeps_no_argument(young_heap):
    slope = ck.jit.grad(lambda x: np.trim_zeros(x).sum())
    x = np.ones(20)
    kept = weakref.ref(x)
    with pytest.raises(NotSupported):
        slope(x)
    del x
    gc.collect()
    assert kept() is None


def test_calls_that_are_left_to_numpy():
    """Straight from C, for all sizes once some were refused; counted, with their own errors."""

    def roots(x, n=1):
        if n == 0:
            raise KeyError("none")
        return np.roots(x) * n

    jitted = compare(roots, *[(np.arange(12, 12 * k, 12),) for k in (3, 4, 9, 20, 20, 33, 40)])
    assert list(jitted.report()["numpy"].values()) == [7]
    assert jitted(np.array([6, -12]), n=3) == 6
    with pytest.raises(KeyError, match="none"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CKernelsWarning)
        jitted(np.array([6, 4]), n=0)


def test_dates_are_left_to_numpy():
    days = np.array(["2020-01-01", "2021-05-05"], "M8[D]")
    jitted = compare(
        lambda d: str(d[1] - d[0]), (days,), (days,), (days.astype("M8[s]"),), (days[:2],)
    )
    assert sum(jitted.report()["numpy"].values()) == 4
    with pytest.raises(NotSupported, match="datetime64"):
        jitted.address("double (double, void *)", days)


def test_a_shape_that_the_function_itself_tries():
    """Its call fails where NumPy's does not: this size gets a trace of its own."""

    def rows(x):
        try:
            y = x.reshape(3, 7)
        except ValueError:
            y = x.reshape(-1, 5)
        return y.sum(0)

    x = np.arange(21.0)
    jitted = compare(rows, (x,), (x[:20],), (x[:20],), (x,), (x[:15],), (x,), (x[:20] + 1,))
    assert jitted.report()["numpy"] == {"a call failed: ShapeError": 1}
    with pytest.raises(ValueError):
        jitted(x[:12])


def test_numpy_says_what_is_wrong_where_it_runs_anyway(monkeypatch):
    """A graph that runs a second time for the words of its error takes a thousand times as long."""

    def far(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s

    ran, evaluate = [], reference.evaluate
    monkeypatch.setattr(reference, "evaluate", lambda *args: ran.append(1) or evaluate(*args))
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        ck.jit(far)(np.arange(20.0), 1000)
    assert not ran
    with pytest.raises(IndexOutOfBounds, match=r"index 20 .* \(in step 20 of the scan"):
        ck.jit(far, strict=True)(np.arange(20.0), 1000)
    assert ran


def test_nan_is_an_error_where_it_is_asked_for():
    def both(x):
        return np.sqrt(x) if x.sum() > 0 else np.log(x)

    good, bad = np.array([1.0, 2.0]), np.array([-1.0, 3.0])
    for made in (
        ck.jit(both, check="nan"),
        ck.jit(ck.jit.grad(lambda x: np.log(x).sum()), check="nan"),
    ):
        assert np.isfinite(made(good)).all()
        for _ in range(2):
            with pytest.raises(NonFiniteError):
                made(-good if made.__name__ == "both" else 0 * good)
            assert np.isfinite(made(good)).all()
    with pytest.raises(NonFiniteError, match="sqrt"):
        ck.jit(both, check="nan")(bad)
    with pytest.warns(CKernelsWarning, match="tolist"):
        left = ck.jit(lambda x: np.log(np.array(x.tolist())), check="nan")
        assert np.isfinite(left(good)).all()
    with pytest.raises(NonFiniteError, match="in NumPy: invalid value"):
        left(bad)


def test_calls_that_a_trace_does_not_hold_for_are_counted():
    def scaled(x, limit):
        x[:4] *= 1 / (limit - 2)
        return x.sum()

    f = ck.jit(scaled)
    for _ in range(3):  # the first from Python, the others from C
        same(scaled(UP.copy(), 2.5), f(UP.copy(), 2.5))
    assert not f.report()["numpy"]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(UP.astype("f4"), 2.0)
        with pytest.raises(ZeroDivisionError):
            f(UP.copy(), 2.0)
    why = "a number or an index for which the trace of a call does not hold"
    assert f.report()["numpy"] == {why: 4}


def test_calls_with_shared_memory_are_counted():
    def added(x, y):
        x += y
        return x

    f = ck.jit(added)
    for first in (UP, UP[:9]):
        f(first.copy(), first.copy())
    assert not f.report()["numpy"]
    for length in (6, 6, 0):
        x = np.arange(2.0 * length)
        same(added(x.copy()[:length], x[:length]), f(x[:length], x[:length]))
    assert not f.report()["numpy"]
    for _ in range(2):
        x = np.broadcast_to(1.0, (6,))
        with pytest.raises(ValueError, match="read-only"):
            f(x, x)
    why = "an array that is written to and shares memory with another one"
    assert f.report()["numpy"] == {why: 2}


def slid(row):
    row = row[row > 0]
    out, i = [], 0
    while i < len(row):
        if i + 1 < len(row) and row[i] == row[i + 1]:
            out.append(int(row[i]) + 1)
            i += 2
        else:
            out.append(int(row[i]))
            i += 1
    return np.array(out, dtype=int)


def test_what_ends_in_numpy_on_all_ways_is_not_asked_for_ever(monkeypatch):
    """One size, whose way is asked again and again; then nothing is asked."""
    jitted, asked = ck.jit(slid), []
    given = np.array([0, 2, 2, 1, 0, 1, 3])
    value_of = rooms.value_of
    monkeypatch.setattr(rooms, "value_of", lambda *a: asked.append(1) or value_of(*a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3 * rooms.IN_VAIN):
            before = len(asked)
            np.testing.assert_array_equal(jitted(given), slid(given))
    assert asked and len(asked) == before
    np.testing.assert_array_equal(jitted(given[::-1]), slid(given[::-1]))


@pytest.mark.parametrize("arrays", [1, 2, 4, 9])
def test_a_time_limit_that_comes_while_a_function_is_traced(monkeypatch, arrays):
    """What the handler of a signal raises reaches the caller, and no trace is given up for it."""

    def slow(x, n):
        total = np.zeros(3)
        for i in range(n):
            if x[i] > 0:
                total[1] += x[i] * i
            total[0] += x[i]
        return total / 2

    class Limit:
        def __call__(self, *_):
            raise TimeoutError("too late")

    made, count = rooms.Trace.made, [arrays]

    def interrupted(trace, scalar):
        count[0] -= 1
        if not count[0]:
            signal.raise_signal(signal.SIGUSR1)
        return made(trace, scalar)

    x, jitted = np.linspace(-1, 1, 12), ck.jit(slow)
    for handler in (Limit(), Limit().__call__):
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(rooms.Trace, "made", interrupted)
                with pytest.raises(TimeoutError, match="too late"):
                    jitted(x, 12)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert count == [0]
        same(jitted(x, 12), slow(x, 12))
        assert jitted.report()["traces"] == 1 and not jitted.report()["numpy"]
        jitted, count[0] = ck.jit(slow), arrays
