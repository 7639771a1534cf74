"""Arrays of texts, dates, objects and records, and objects whose state cannot be read, beside what
kernels take: kept as they are, or the call is NumPy's."""

import collections
import copy
import functools
import logging
import pickle
import threading

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning, NotSupported
from ckernels.jit.opaque import USES, Opaque, why_opaque

V = np.linspace(0.5, 1, 11)
ODD = {
    "objects": np.array([[None] * 3]).T,
    "texts": np.array(["a", "bc"]),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "records": np.zeros(3, [("u", "f8"), ("v", "i4")]),
    "the other byte order": np.arange(3.0).astype(">f8"),
    "one text": np.str_("a"),
}


class Filter:
    def __init__(self, odd):
        self.x, self.z, self.names = V * 1, odd, {"labels": odd}

    def step(self, x):
        self.x = self.x + x
        return self.x.sum()

    def replaced(self, x):
        self.z, old = self.x * x, self.z
        return old, self.z

    def moved(self, x):
        self.names["old"] = self.z
        self.x = x
        return [self.names["labels"], x + 1]

    def used(self, x):
        return x + 1, np.size(self.z), self.z == self.z


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["step", "replaced", "moved"])
def test_what_is_not_used_stays_as_it_is(odd, name):
    jitted = ck.jit(getattr(Filter, name))
    for _ in range(3):
        ours, theirs = Filter(ODD[odd]), Filter(ODD[odd])
        for k in range(2):
            got, want = jitted(ours, V * k), getattr(theirs, name)(V * k)
            np.testing.assert_allclose(ours.x, theirs.x)
            if name == "step":
                np.testing.assert_allclose(got, want)
                assert ours.z is ODD[odd]
            elif name == "moved":
                assert got[0] is want[0] is ODD[odd] and ours.names["old"] is ODD[odd]
                np.testing.assert_array_equal(got[1], want[1])
            elif k == 0:
                assert got[0] is want[0] is ODD[odd] and got[1] is ours.z
                np.testing.assert_array_equal(got[1], want[1])
    assert not jitted.report()["numpy"]


@pytest.mark.parametrize("odd", ODD)
def test_what_is_used_is_numpys(odd):
    jitted = ck.jit(Filter.used)
    with pytest.warns(CKernelsWarning, match="are computed by NumPy"):
        for _ in range(2):
            got, want = jitted(Filter(ODD[odd]), V), Filter(ODD[odd]).used(V)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b)
    assert sum(jitted.report()["numpy"].values()) == 2


def test_an_argument_and_a_name():
    label = ODD["texts"]

    def named(x, dates):
        return {"x": x * 2, "label": label, "dates": dates}

    jitted = ck.jit(named)
    for _ in range(3):
        got = jitted(V, ODD["dates"])
        assert got["label"] is label and got["dates"] is ODD["dates"]
    assert not jitted.report()["numpy"]
    with pytest.raises(NotSupported, match="has no C function"):
        ck.jit(lambda x, dates: x + 1).address("double (double, void *)", 0.0, ODD["dates"])


@pytest.mark.parametrize("name", USES)
def test_each_use_refuses(name):
    odd = Opaque(why_opaque(ODD["texts"]), np.ndarray)
    with pytest.raises(NotSupported):
        getattr(odd, f"__{name}__")(1)


@pytest.mark.parametrize("use", [
    len, list, bool, float, str, np.size, np.asarray, copy.copy, pickle.dumps, lambda x: x.shape,
    lambda x: x[0], lambda x: x + 1, lambda x: 1 + x, lambda x: x == 1, lambda x: V < x,
    lambda x: "a" in x, copy.deepcopy,
    lambda x: np.add(V, x), lambda x: V + x, lambda x: [*x], lambda x: x @ V, lambda x: f"{x}",
])  # fmt: skip
def test_what_python_and_numpy_do_with_one_refuses(use):
    with pytest.raises((NotSupported, TypeError, AttributeError)):
        use(Opaque(why_opaque(ODD["objects"]), np.ndarray))


def test_what_is_none():
    assert all(why_opaque(x) is None for x in (V, np.float32(1), 1, V > 0, V * 1j))


class Slotted:
    __slots__ = ("x",)


STATEFUL = {
    "generator": np.random.default_rng, "state": lambda: np.random.RandomState(1), "set": set,
    "lock": threading.Lock, "deque": collections.deque, "iterator": lambda: iter([1.0]),
    "slots": Slotted, "logger": lambda: logging.getLogger("a"), "method": lambda: [].append,
    "partial": lambda: functools.partial(np.sum, axis=0),
}  # fmt: skip


class Holder:
    def __init__(self, held):
        self.held, self.w = held, V * 2

    def step(self, x):
        kept = self.held if isinstance(self.held, type(held_by_name)) else x
        self.w = self.w + x
        return kept, self.w.sum() + callable(self.held)


held_by_name = np.random.RandomState(2)


@pytest.mark.parametrize("name", STATEFUL)
def test_objects_that_are_not_used_stay_as_they_are(name, monkeypatch):
    monkeypatch.setitem(globals(), "held_by_name", STATEFUL[name]())
    jitted = ck.jit(Holder.step)
    for _ in range(3):
        ours, theirs = Holder(STATEFUL[name]()), Holder(STATEFUL[name]())
        held = ours.held
        for k in range(2):
            got, want = jitted(ours, V * k), theirs.step(V * k)
            assert got[0] is held is ours.held
            np.testing.assert_allclose([got[1], *ours.w], [want[1], *theirs.w])
    assert not jitted.report()["numpy"]


def test_an_object_that_is_used_is_numpys():
    jitted = ck.jit(lambda holder, x: x * holder.held.normal())
    with pytest.warns(CKernelsWarning, match="an argument of type Generator, whose state"):
        for seed in (1, 1, 2):
            got = jitted(Holder(np.random.default_rng(seed)), V)
            np.testing.assert_array_equal(got, V * np.random.default_rng(seed).normal())
