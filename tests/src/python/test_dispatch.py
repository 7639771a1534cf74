"""Dispatch: calls that fit go to the compiled function, all others to `called`."""

import gc
import itertools
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

    def missed(self, *args, **kwargs):
        return "missed"

    def shared(self, *args, **kwargs):
        return "shared"


ONE = ((7, 0, 0, False, None),)  # the first array


def nested(args, free=()):
    """The description of a call without keywords."""
    return (tuple, ((tuple, tuple(args)), (dict, (), ()), (list, tuple(free))))


def end(function, used=(0,), guarded=False, mutated=(), arrays=(), parts=ONE, described="leaf"):
    return (function, used, guarded, mutated, arrays, parts, described, False)


def remember(d, kernels, leaves, used=(0,), fixed=(), free=(), args=None, **more):
    function = add1(runtime, kernels, single=False)
    args = ("leaf",) * (len(leaves) - len(free)) if args is None else args
    node = end(function, used, **more)
    d.remember(nested(args, ("leaf",) * len(free)), leaves, fixed, free, 8, node)


def remembered(kernels, leaves, used=(0,), fixed=(), free=()):
    d, names = Called(), {"x": np.arange(5.0)}
    remember(d, kernels, leaves, used, fixed, free)
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
    remember(d, kernels, ((FLOAT, (5,), True),), (0,),
             ((names, "f", len), (cell, "cell_contents", cell.cell_contents)),
             ((names, "x"),))  # fmt: skip
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


def test_calls_are_left_to_a_callable():
    d, array, record = Called(), ((FLOAT, (5,), True),), np.dtype([("a", "i4")])
    d.remember(nested(["leaf"]), array, (), (), 8, (lambda *a, **k: (a, k),))
    x = np.arange(5.0)
    assert d(x) == ((x,), {}) and d(np.arange(4.0)) == "called"
    d.remember(nested(["leaf"]), array, (), (), 8, (lambda x: 1 / 0,))
    with pytest.raises(ZeroDivisionError):
        d(x)
    d.remember(nested(["leaf"]), ((record, (2,), True),), (), (), 8, (len,))
    assert d(np.zeros(2, [("a", "i4")])) == 2  # of another object of this dtype
    assert d(np.zeros(2, [("b", "i4")])) == d(np.zeros(2, [("a", "f4")])) == "called"


def test_a_callable_may_compute_the_arrays():
    d, one, array = Called(), nested(["leaf"]), ((FLOAT, (5,), True),)
    d.remember(one, array, (), (), 8, end(lambda x: [x + 1]))
    np.testing.assert_array_equal(d(np.arange(5.0)), np.arange(1.0, 6.0))
    assert d(np.arange(4.0)) == "called"
    for function in (lambda x: (x,), lambda x: [1.0], lambda x: [], lambda x: 1 / 0, len):
        d.remember(one, array, (), (), 8, end(function))
        assert d(np.arange(5.0)) == "called"


def test_bad_traces_are_refused(kernels):
    function = add1(runtime, kernels, single=False)
    one, none, good = nested(["leaf"]), nested([]), end(function)
    array = ((FLOAT, (5,), True),)
    Called().remember(one, array, (), (), 8, good)
    for bad in (
        (one, (5,), (), (), 8, good), (one, (), (), (), 8, good), (none, array, (), (), 8, good),
        (one, array, (), (), 8, end(5.0)), (one, array, (), (), 8, end(function, (1,))),
        (one, array, (), (), 8, end(function, (-1,))), (one, array, (1,), (), 8, good),
        (none, (), (), (({}, "x"),), 8, end(function, ())), (one, array, (), (), 8, ()),
        (nested(["leaf"] * 40), array * 40, (), (), 8, good), (("leaf",), array, (), (), 8, good),
        (nested([("static", int)]), (), (), (), 8, None),
        (nested([(int, ())]), (), (), (), 8, None),
        (nested([(dict, ("a",), ("leaf",))]), array, (), (), 8, None),
        (nested([(object, 1, (), ())]), (), (), (), 8, None), (nested([7]), (), (), (), 8, None),
        (nested([("static", slice, (1, 2))]), (), (), (), 8, None),
        (one, ((float, 1),), (), (), 8, good), (one, array, (), (), 8, (function, (0,), None)),
        (one, array, (), (), 8, end(function, mutated=(0,))),
        (one, (float,), (), (), 8, end(function, mutated=(0, 0))),
        (one, array, (), (), 8, end(function, arrays=(1,))),
        (one, array, (), (), 8, end(function, parts=())),
        (one, array, (), (), 8, end(function, parts=(0,))),
        (one, array, (), (), 8, end(function, parts=((9, 0, 0, False, None),))),
        (one, array, (), (), 8, end(function, parts=((7, 0, 1, False, None),))),
        (one, array, (), (), 8, end(function, parts=((0, 1, 0, False, None),))),
        (one, (float,), (), (), 8, end(function, parts=((1, 0, 0, False, ()),))),
        (one, array, (), (), 8, end(function, parts=((1, 0, 0, False, (len,)),))),
        (one, array, (), (), 8, end(function, parts=((3, 0, 0, False, 1.0),))),
        (one, array, (), (), 8, end(function, parts=((5, 0, 0, False, 1.0),))),
        (one, array, (), (), 8, (function, (0,), good, 1)), (one, array, (), (), 8, (1,)),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            Called().remember(*bad)


def test_memory(kernels):
    names = {"x": np.zeros(5)}
    d = Called()
    names["d"] = d
    for _ in range(3):
        remember(d, kernels, ((FLOAT, (5,), True),), (0,), ((names, "d", d),))
        d(np.zeros(5))
    gone = weakref.ref(d)
    del d
    names.clear()
    gc.collect()
    assert gone() is None


def test_threads_may_forget_while_others_call(kernels):
    d, _ = remembered(kernels, ((FLOAT, (-1,), True),))
    x = np.zeros(200_000)

    def forget():
        for _ in range(200):
            d.forget()
            remember(d, kernels, ((FLOAT, (-1,), True),))

    threads = [threading.Thread(target=forget)]
    threads += [threading.Thread(target=lambda: [d(x) for _ in range(200)]) for _ in range(2)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert d(x)[0] == 1


def test_results_of_several_parts(kernels):
    x = np.arange(5.0)
    several = (tuple, ("leaf", "leaf"))

    def called(described, *parts):
        d = Called()
        remember(d, kernels, ((FLOAT, (5,), True),), parts=parts, described=described)
        return d(x)

    tail = ((lambda a: a[1:], ()),)
    y, part = called(several, *ONE, (8, 0, 0, False, tail))
    assert y.tolist() == (x + 1).tolist() and part.base is y and part.tolist() == [2, 3, 4, 5]
    y, copied = called(several, *ONE, (7, 0, 1, True, None))
    assert not np.shares_memory(y, copied) and np.array_equal(y, copied)
    given, view = called((list, several[1]), (0, 0, 0, 0, None), (1, 0, 0, 0, tail))
    assert given is x and view.base is x
    assert called((dict, ((str, "a"),), (several,)), *ONE, (2, 0, 0, 0, "b"))["a"][1] == "b"
    constant = np.ones(2)
    assert called("leaf", (3, 0, 0, False, constant)) is not constant
    assert called((tuple, ())) == ()
    assert called(("static", slice, (1, None, 2))) == slice(1, None, 2)
    assert called("leaf", (7, 1, 0, False, None)) == "called"  # there is no such array
    assert called("leaf", (1, 0, 0, False, ((len, (3,)),))) == "called"
    assert called("leaf", (4, 0, 0, False, float)) == "called"  # five elements are no number


def test_truth_values_choose_an_end(kernels):
    d, function = Called(), add1(runtime, kernels, single=False)
    ends = [end(function, parts=((2, 0, 0, False, what),)) for what in ("no", "yes")]
    d.remember(nested(["leaf"]), ((FLOAT, (1,), True),), (), (), 8, (function, (0,), *ends))
    assert d(np.array([1.0])) == "yes" and d(np.array([-1.0])) == "no"
    d.remember(nested(["leaf"]), ((FLOAT, (1,), True),), (), (), 8, (function, (0,), None, ends[1]))
    assert d(np.array([1.0])) == "yes" and d(np.array([-1.0])) == "called"


def test_a_trace_that_does_not_hold_is_missed(kernels):
    d = Called()
    remember(d, kernels, ((FLOAT, (1,), True),), guarded=True)
    assert d(np.array([-1.0])) == "missed" and d(np.array([0.0])).tolist() == [1]


def test_what_is_stored(kernels):
    d, x = Called(), np.zeros(12)
    remember(d, kernels, ((FLOAT, (5,), True),) * 2, mutated=(0, 0), arrays=(0, 1))
    assert d(x[:5], x[5:10]).tolist() == [1.0] * 5 and x.tolist() == [1] * 5 + [0] * 7
    assert d(x[:5], x[4:9]) == d(x[:5], x[:5]) == "shared" and x.sum() == 5
    x.flags.writeable = False
    assert d(x[:5], np.zeros(5)) == "shared" and x.sum() == 5


def test_what_shares_memory_with_itself_is_not_stored_to(kernels):
    """From the smallest stride on, each steps over all that those before it reach."""
    d, shape = Called(), (2, 3, 2)
    for plain in (True, False):
        leaves = ((FLOAT, shape, plain), (FLOAT, (2,), True))
        remember(d, kernels, leaves, (1,), mutated=(0, 0), arrays=(0, 1))
    memory = np.zeros(64)
    for strides in itertools.product((0, 1, -1, 2, 3, 4, 6, 12), repeat=3):
        x = np.lib.stride_tricks.as_strided(memory[20:], shape, [8 * s for s in strides])
        reach, apart = 1, True
        for step, n in sorted((abs(s), n) for s, n in zip(strides, shape)):
            apart, reach = apart and step >= reach, reach + step * (n - 1)
        memory[:] = 0
        found = d(x, np.zeros(2))
        assert (found == "shared") if not apart else not isinstance(found, str), strides
        assert memory.sum() == (12 if apart else 0)


def test_an_error_after_a_store_is_raised(kernels):
    def fails(array):
        raise ValueError("late")

    d, x = Called(), np.zeros(5)
    remember(d, kernels, ((FLOAT, (5,), True),), mutated=(0, 0), arrays=(0,),
             parts=((1, 0, 0, False, ((fails, ()),)),))  # fmt: skip
    with pytest.raises(ValueError, match="late"):
        d(x)
    assert x.tolist() == [1] * 5 and not d.calls


def test_a_few_traces_are_remembered(kernels):
    d = Called()
    for n in range(1, 7):
        remember(d, kernels, ((FLOAT, (n,), True),))
    for _ in range(2):
        found = [n for n in (3, 5, 1, 4, 6, 2) if not isinstance(d(np.zeros(n)), str)]
        assert found == [3, 5, 4, 6]
    described, leaves = nested(["leaf"]), ((FLOAT, (1,), True),)
    for what in "abcdefg":  # the same calls: in the place of the one before
        node = end(add1(runtime, kernels, single=False), parts=((2, 0, 0, False, what),))
        d.remember(described, leaves, (), (), 8, node)
        assert d(np.zeros(1)) == what
    assert not isinstance(d(np.zeros(6)), str)


def test_dicts_have_their_keys_in_their_order_and_texts_are_compared(kernels):
    d, x, how = Called(), np.zeros(5), "".join(["ho", "w"])  # another object than the text
    described = (dict, ((str, "a"), (str, "b")), ("leaf", ("static", str, "how")))
    remember(d, kernels, ((FLOAT, (5,), True),), args=(described,))
    assert d({"a": x, "b": how}).tolist() == [1] * 5 and not d.calls
    for other in (
        {"b": how, "a": x}, {"a": x}, {"a": x, "b": "now"}, {"a": x, "c": how}, {"a": how, "b": x},
        {"a": x, "b": b"how"}, {"a": x, "b": how, "c": 1},
    ):  # fmt: skip
        assert d(other) == "called"


def test_arguments_that_change_their_containers_while_compared(kernels):
    """A name whose value is computed runs Python: it may forget the trace, and empty a list."""
    d, given = Called(), [np.zeros(5)]

    class Holder:
        @property
        def value(self):
            d.forget()
            given.clear()
            return np.zeros(5)

    leaves = ((FLOAT, (5,), True),) * 2
    remember(d, kernels, leaves, free=((Holder(), "value"),), args=((list, ("leaf",)),))
    assert d(given).tolist() == [1] * 5 and not given
    assert d([np.zeros(5)]) == "called"
