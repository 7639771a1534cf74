"""f.timeline(): which thread did what when, within the call and without overlaps."""

import gc
import threading

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.runtime.timeline import Span, Timeline

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield
    K.set_num_threads(None)


def watched(threads, rows=4096):
    K.set_num_threads(threads)
    x = K.placeholder((None, 256), name="x")
    w = K.variable(np.full((256, 256), 0.01), name="w")
    h = K.tanh(K.dot(x, w))
    f = K.function([x], K.sum(K.exp(h) * K.sin(h)), [K.update_add(w, 0.5)], profile=True, name="f")
    f(np.ones((rows, 256), "f"))
    return f


def apart(spans):
    """Whether spans of one thread do not overlap."""
    return all(a.end <= b.start for a, b in zip(spans, spans[1:]))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_spans_are_of_the_threads_that_worked_one_after_the_other(threads):
    f = watched(threads)
    found = f.timeline()
    assert {s.step for s in found} == set(range(f.stats()["instructions"]))
    steps = [line.partition(": ")[2].strip() for line in f.steps()]
    assert all(s.name == steps[s.step] for s in found)
    assert all(0 <= s.start <= s.end <= found.ms for s in found) and found.lost == 0
    assert set(found.busy()) <= set(range(threads))
    for thread in found.busy():
        assert apart([s for s in found if s.thread == thread])
    assert any(s.line and s.line[0] == __file__ for s in found)


def test_updates_in_place_are_in_it_and_each_call_begins_anew():
    f = watched(2)
    first = len(f.timeline())
    for _ in range(5):
        f(np.ones((8, 256), "f"))
    found = f.timeline()
    assert len(found) <= first and {s.step for s in found} == set(range(f.stats()["instructions"]))
    assert {s.thread for s in found} == {0}  # too little for two


def test_other_threads_have_spans_inside_a_scan_and_the_caller_has_one():
    K.set_num_threads(2)
    x = K.placeholder((None,), name="x")
    trace, _ = K.scan(lambda s: K.tanh(s) * K.exp(-s), outputs_info=[x], n_steps=40)
    f = K.function([x], trace, profile=True)
    f(np.ones(200_000, "f"))
    caller = [s for s in f.timeline() if s.thread == 0]
    assert [s.name for s in caller if s.name.startswith("scan")] == ["scan of 40 steps"]
    assert apart(caller)


def test_more_spans_than_are_kept_are_counted():
    K.set_num_threads(2)
    x, w = K.placeholder((256, 256), name="x"), K.variable(np.full((256, 256), 0.01))
    trace, _ = K.scan(lambda s: K.tanh(K.dot(s, w)), outputs_info=[x], n_steps=1500)
    f = K.function([x], trace[-1], profile=True)
    f(np.ones((256, 256), "f"))
    found = f.timeline()
    assert len(found) <= 4096
    if found.lost:  # the instructions that came after them are missing too
        assert f"and {len(found) - 100 + found.lost} more" in str(found)


def test_what_was_not_watched_says_why():
    x = K.placeholder((None,), name="x")
    f = K.function([x], x * 2)
    f([[1.0]])
    assert f.timeline() == [] and "made without profile=True" in str(f.timeline())
    g = K.function([x], x * 2, profile=True)
    assert g.timeline() == [] and "no compiled call" in repr(g.timeline())
    assert K.function([x], x, mode="reference").timeline() == []


def test_pieces_follow_each_other_and_debug_mode_shows_what_it_runs():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.cumsum(x[K.exp(x) > 1.5]), profile=True)
    f([np.linspace(-1, 1, 100)])
    found = f.timeline()
    steps = [s.step for s in found]
    assert len(found) >= 2 and steps == sorted(steps) and apart(found)
    g = K.function([x], K.exp(x), mode="debug", profile=True)
    g([np.ones(3)])
    assert [s.name for s in g.timeline()] == ["exp"]


def test_calls_from_two_threads_at_once_keep_whole_timelines():
    f = watched(2)
    steps = set(range(f.stats()["instructions"]))

    def call():
        for _ in range(20):
            f(np.ones((512, 256), "f"))

    both = [threading.Thread(target=call) for _ in range(2)]
    for t in both:
        t.start()
    for t in both:
        t.join()
    found = f.timeline()
    assert {s.step for s in found} == steps
    assert all(s.start <= s.end for s in found)


def test_a_call_or_a_clear_in_a_collection_leaves_the_spans_being_read_alone():
    """The collection that a list of spans sets off waits until another thread is within a call."""
    within, done = threading.Event(), threading.Event()
    within.set(), done.set()

    def pause(a):
        within.set()
        assert done.wait(60)
        return a

    x = K.placeholder((5,), name="x")
    f = K.function([x], K.tanh(K.py_op(pause, [x * 2], x)), profile=True)
    f(np.ones(5, "f"))
    read, seen = f._fast().span_data, []
    other = threading.Thread(target=lambda: f(np.ones(5, "f")))

    def collected(phase, info):
        if not seen:
            seen.append(phase)
            within.clear(), done.clear()
            other.start()
            assert within.wait(60)
            f.clear()

    kept = [[(k, k, k, k) for k in range(3000)], [[] for _ in range(200)]]  # none is left over
    threshold = gc.get_threshold()
    gc.callbacks.append(collected)
    try:
        gc.set_threshold(1)
        rows, lost = read()
    finally:
        gc.set_threshold(*threshold)
        kept.append(gc.collect())
        gc.callbacks.remove(collected)
    done.set()
    other.join()
    assert seen and lost == 0 and len(rows) == 3
    f(np.ones(5, "f"))
    assert [s.name for s in f.timeline()] == ["mul", "py_op", "tanh"]


def test_a_callback_that_calls_another_function_leaves_the_watch_as_it_was():
    y = K.placeholder((None,), name="y")
    inner = K.function([y], K.exp(y), profile=True, name="inner")
    x = K.placeholder((5,), name="x")
    f = K.function([x], K.tanh(K.py_op(lambda a: inner(a), [x * 2], x)), profile=True)
    f(np.ones(5, "f"))
    assert [s.name for s in f.timeline()] == ["mul", "py_op", "tanh"]
    assert [s.name for s in inner.timeline()] == ["exp"]


def test_pieces_that_a_call_of_python_makes_are_measured_as_well():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.tanh(K.py_op(lambda a: a + 1, [x * 2], x)), profile=True)
    f(np.ones(5, "f"))
    assert [s.name for s in f.timeline()] == ["mul", "tanh"]
    assert [row.name for row in f.profile_table()] == ["mul", "tanh"]


def test_the_text_is_bounded():
    spans = [Span("exp", k % 2, float(k), k + 0.5, None, 0) for k in range(150)]
    text = str(Timeline("f", spans, lost=7))
    assert text.startswith("f: 149.500 ms of one call\nthread 0: 25 % at work")
    assert text.endswith("and 57 more") and text.count("\n") == 103
