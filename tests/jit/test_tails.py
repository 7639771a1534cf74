"""Lists that calls append to: known by their end alone where they are not read, else by all that
they have; and what calls leave in objects, by C."""

import copy

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning
from ckernels.base.native import runtime
from ckernels.jit.tails import READS, Described, Tail

from .beside import flat, same

V = np.linspace(-1, 1, 11)


class Model:
    def __init__(self):
        self.w, self.history, self.parts = V * 0, [], {"seen": []}

    def step(self, x):
        loss = ((self.w - x) ** 2).sum()
        self.w = self.w - 0.1 * (self.w - x)
        self.history.append(loss)
        return loss

    def all_of_it(self, x):
        for i in range(3):
            self.w = self.w + x * i
        self.parts["seen"].extend([x * 2, "text"])
        self.parts["seen"].append(x)
        self.history.append((self.w, {"sum": x.sum()}))

    def mean(self, x):
        self.history.append(x.sum())
        return sum(self.history) / len(self.history)

    def last(self, x):
        self.history.append(x if not self.history else self.history[-1] + x)

    def renewed(self, x):
        self.history.append(x.sum())
        self.history = [x.max()]

    def given_back(self, x):
        self.history.append(x.sum())
        return self.history

    def in_a_loop(self, x):
        for i in range(4):
            self.history.append(x[i] * i)


def beside(name, calls, numpy=False):
    jitted, ours, theirs = ck.jit(getattr(Model, name)), Model(), Model()
    for k in range(calls):
        want, got = getattr(theirs, name)(V * k), jitted(ours, V * k)
        for a, b in zip(flat([want, vars(theirs)]), flat([got, vars(ours)]), strict=True):
            same(a, b)
        assert (got is ours.history) == (want is theirs.history)
    assert bool(jitted.report()["numpy"]) == numpy
    return jitted.report()["traces"]


@pytest.mark.parametrize("name, most", [("step", 1), ("all_of_it", 1), ("renewed", 8)])
def test_lists_that_are_not_read_are_no_part_of_a_trace(name, most):
    assert beside(name, 40 if most == 1 else 6) <= most


@pytest.mark.parametrize("name", ["mean", "last", "given_back"])
def test_lists_that_are_read_are_known_by_all_that_they_have(name):
    assert beside(name, 5) == 5


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_what_loops_append_to_a_list_that_was_given():
    beside("in_a_loop", 5)


def test_one_list_in_two_places():
    def both(m, log, x):
        m.history.append(x.sum())
        log.append(x.max())

    jitted, m, log = ck.jit(both), Model(), []
    for _ in range(3):
        jitted(m, log, V)
    np.testing.assert_allclose(m.history, [V.sum()] * 3, atol=1e-12)
    assert log == [V.max()] * 3
    assert not jitted.report()["numpy"]
    with pytest.warns(CKernelsWarning, match="a list that it appends to stands in two places"):
        jitted(m, m.history, V)
    assert len(m.history) == 5 and m.history[-1] == V.max()


def test_names_of_the_module_that_are_lists():
    log = []

    def logged(x):
        log.append(x.sum())
        return x + 1

    jitted = ck.jit(logged)
    for k in range(12):
        same(jitted(V * k), V * k + 1)
    np.testing.assert_allclose(log, [(V * k).sum() for k in range(12)], atol=1e-12)
    assert all(type(x) is np.float64 for x in log)
    assert jitted.report()["traces"] == 1 and not jitted.report()["numpy"]


@pytest.mark.parametrize("name", READS)
def test_whatever_reads_a_tail_says_so(name):
    """Each of them as Python calls it: with one argument, or with none."""

    def on_read(path):
        raise Described(path)

    tail = Tail((0, "x"), on_read)
    tail.append(1)
    tail.extend([2])
    with pytest.raises(Described):
        getattr(tail, name)(0) if name in dir(list) else bool(tail)
    assert tail.appended() == [1, 2]


USES = [
    list, tuple, sorted, np.array, len, bool, iter, copy.copy, "".join, max, str, reversed, np.sum,
    lambda t: [*t], lambda t: t[-1], lambda t: t == [], lambda t: 1 in t, lambda t: t + [1],
    lambda t: [1] + t, lambda t: np.concatenate([t, t]), lambda t: np.add(t, 1),
    lambda t: [].extend(t),
]  # fmt: skip


@pytest.mark.parametrize("read", USES, ids=range(len(USES)))
def test_what_python_and_numpy_do_with_a_tail_reads_it(read):
    def on_read(path):
        raise Described(path)

    tail = Tail((), on_read)
    tail.append(1.0)
    with pytest.raises(Described):
        read(tail)


def test_no_method_of_lists_is_forgotten():
    known = {*READS, "append", "extend"}
    own = {n for n in dir(list) if n not in dir(object)} | {n for n in known if n in dir(object)}
    assert own - {"__class_getitem__", *known} == set()


# ---- what is put back, by C ----------------------------------------------------------------------


def counted(jitted, monkeypatch):
    calls, called = [], type(jitted).called
    monkeypatch.setattr(type(jitted), "called", lambda *a, **k: calls.append(1) or called(*a, **k))
    return calls


@pytest.mark.skipif(runtime is None, reason="there is no runtime of C")
def test_what_a_call_leaves_is_put_there_without_a_new_look(monkeypatch):
    jitted = ck.jit(Model.step)
    calls, m, other = counted(jitted, monkeypatch), Model(), Model()
    for k in range(6):
        jitted(m, V * k)
        other.step(V * k)
    assert len(calls) == 1
    np.testing.assert_allclose(m.history, other.history, rtol=1e-12)
    np.testing.assert_allclose(m.w, other.w, rtol=1e-12)

    def keywords(x, *, state, scale=2.0):
        state["x"] = state["x"] + x * scale
        return state

    jitted = ck.jit(keywords)
    calls = counted(jitted, monkeypatch)
    state = {"x": V}
    for _ in range(4):
        assert jitted(V, state=state, scale=3.0) is state
    np.testing.assert_allclose(state["x"], 13 * V, rtol=1e-12)
    assert len(calls) == 1


def test_one_object_twice_is_seen_by_c_as_well():
    def linked(a, b, x):
        a.w = a.w + x
        b.w = b.w * 2

    jitted, a, b = ck.jit(linked), Model(), Model()
    for _ in range(3):
        jitted(a, b, V)
    np.testing.assert_allclose(a.w, 3 * V)
    for _ in range(3):
        one, other = Model(), Model()
        jitted(one, one, V)
        linked(other, other, V)
        np.testing.assert_array_equal(one.w, other.w)
    assert sum(jitted.report()["numpy"].values()) == 3


def test_many_objects():
    """More than are told apart: Python looks."""

    def all_of(models, x):
        for m in models:
            m.w = m.w + x

    jitted, models = ck.jit(all_of), [Model() for _ in range(9)]
    for _ in range(3):
        jitted(models, V)
    jitted(models[:2] * 2, V)
    np.testing.assert_allclose([m.w for m in models], [5 * V] * 2 + [3 * V] * 7)


def test_a_function_that_is_never_traced_is_given_up():
    def opaque(x, log):
        log.append(np.random.default_rng(0).random() + x.sum())
        return len(log)

    jitted, log = ck.jit(opaque), []
    with pytest.warns(CKernelsWarning):
        for k in range(60):
            assert jitted(V, log) == k + 1
    assert len(jitted.plans) < 30
