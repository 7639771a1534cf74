"""Dispatch: calls that fit go to the compiled function, all others to `called`."""

import gc
import threading
import types
import weakref

import numpy as np
import pytest

runtime = pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
from src.handmade import add1, kernels  # noqa: E402

assert kernels  # a fixture
FLOAT = np.dtype("float64")


class Called(runtime.Dispatch):
    """Notes the calls that come to Python."""

    def __init__(self):
        self.calls = []

    def called(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return "called"


def remembered(kernels, leaves, used=(0,), fixed=(), free=(), small=8, scalar=False):
    d, names = Called(), {"x": np.arange(5.0)}
    function = add1(runtime, kernels, single=False)
    d.remember(function, leaves, used, fixed, free, small, scalar)
    return d, names


def test_what_fits_goes_to_the_function(kernels):
    d, _ = remembered(kernels, ((FLOAT, (5,), True),))
    assert np.array_equal(d(np.arange(5.0)), np.arange(5.0) + 1) and not d.calls


@pytest.mark.parametrize("args, kwargs", [
    ((), {}), ((np.arange(5.0), 1), {}), ((), {"x": np.arange(5.0)}), ((np.arange(4.0),), {}),
    ((np.arange(5, dtype="f4"),), {}), ((np.arange(10.0)[::2],), {}), ((np.zeros((5, 1)),), {}),
    ((np.arange(5.0).view(np.recarray),), {}), (([0.0] * 5,), {}), ((1.0,), {}),
    ((None,), {})])  # fmt: skip
def test_what_does_not_fit_is_called(kernels, args, kwargs):
    d, _ = remembered(kernels, ((FLOAT, (5,), True),))
    assert d(*args, **kwargs) == "called" and len(d.calls) == 1
    d.forget()
    assert d(np.arange(5.0)) == "called"


def test_sizes_above_the_small_ones_are_open(kernels):
    d, _ = remembered(kernels, ((FLOAT, (-1,), True),))
    for n, direct in ((9, True), (5000, True), (8, False), (0, False)):
        assert (not isinstance(d(np.zeros(n)), str)) == direct, n


def test_strided_leaves_are_a_kind_of_their_own(kernels):
    d, _ = remembered(kernels, ((FLOAT, (5,), False),))
    assert np.array_equal(d(np.arange(10.0)[::2]), np.arange(10.0)[::2] + 1)
    assert d(np.arange(5.0)) == "called"


def test_names_are_read_at_each_call(kernels):
    names, cell = {"x": np.zeros(5), "f": len}, types.CellType(1)
    d = Called()
    d.remember(add1(runtime, kernels, single=False), ((FLOAT, (5,), True),), (0,),
               ((names, "f", len), (cell, "cell_contents", cell.cell_contents)),
               ((names, "x"),), 8, False)  # fmt: skip
    assert np.array_equal(d(), np.ones(5))
    names["x"] = np.ones(5)
    assert np.array_equal(d(), np.full(5, 2.0))
    cell.cell_contents = 2
    assert d() == "called"
    cell.cell_contents = 1
    del names["f"]
    assert d() == "called"


def test_numbers_of_python_become_arrays(kernels):
    d, _ = remembered(kernels, ((FLOAT, (5,), True), float), (0,))
    assert not isinstance(d(np.zeros(5), 2.0), str)
    assert d(np.zeros(5), 2) == d(np.zeros(5), np.float64(2)) == "called"
    e, _ = remembered(kernels, (int, (FLOAT, (5,), True)), (0,))
    assert e(2**70, np.zeros(5)) == "called"  # beyond int64


def test_a_call_that_fails_is_called(kernels):
    d, _ = remembered(kernels, ((FLOAT, (2, 2), True),))
    assert d(np.zeros((2, 2))) == "called"  # the function takes vectors


def test_bad_traces_are_refused(kernels):
    function = add1(runtime, kernels, single=False)
    for bad in (
        (len, (), (), (), (), 8, False), (function, (5,), (0,), (), (), 8, False),
        (function, (float,), (1,), (), (), 8, False), (function, (float,), (-1,), (), (), 8, 0),
        (function, (), (), (), (({}, "x"),), 8, False), (function, (), (), (1,), (), 8, False),
        (function, (float,) * 40, (0,), (), (), 8, 0),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            Called().remember(*bad)


def test_memory(kernels):
    names = {"x": np.zeros(5)}
    d = Called()
    names["d"] = d
    for _ in range(3):
        d.remember(add1(runtime, kernels, single=False), ((FLOAT, (5,), True),), (0,),
                   ((names, "d", d),), (), 8, False)  # fmt: skip
        d(np.zeros(5))
    gone = weakref.ref(d)
    del d
    names.clear()
    gc.collect()
    assert gone() is None


def test_threads_may_forget_while_others_call(kernels):
    d, _ = remembered(kernels, ((FLOAT, (-1,), True),))
    function = add1(runtime, kernels, single=False)
    x = np.zeros(200_000)

    def forget():
        for _ in range(200):
            d.forget()
            d.remember(function, ((FLOAT, (-1,), True),), (0,), (), (), 8, False)

    threads = [threading.Thread(target=forget)]
    threads += [threading.Thread(target=lambda: [d(x) for _ in range(200)]) for _ in range(2)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert d(x)[0] == 1


def test_results_of_several_parts_and_scalars(kernels):
    d, x = Called(), np.arange(5.0)
    function = add1(runtime, kernels, single=False)  # one array, as any of several parts

    def remember(*results):
        d.remember(function, ((FLOAT, (5,), True),), (0,), (), (), 8, *results)
        return d(x)

    both = remember((False, True, (0, False), (0, True)))
    assert type(both) is tuple and [r.tolist() for r in both] == [(x + 1).tolist()] * 2
    assert remember((False, True)) == () and not d.calls
    assert remember((False, False, (0, False))).tolist() == (x + 1).tolist()
    with pytest.raises(TypeError, match="a result is"):
        remember((False, True, 0))
    with pytest.raises(ValueError):
        remember((False, False))
    assert remember((False, True, (1, False))) == "called"  # there is no such array


def test_a_trace_that_does_not_hold_is_called(kernels):
    d = Called()
    function = add1(runtime, kernels, single=False)
    d.remember(function, ((FLOAT, (5,), True),), (0,), (), (), 8, (True, True, (0, False)))
    almost = np.nextafter(0, -1, dtype="f8")  # + 1 is 1.0, of whose bytes the first is 0
    assert d(np.full(5, almost)) == "called"
    assert type(d(np.full(5, np.spacing(1.0)))) is tuple
