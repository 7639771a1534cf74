"""What builds, calls and deletes many times keeps nothing: no memory, no nodes, no cached objects.

The short versions run by default; the long ones are marked slow.
"""

import gc
import linecache
import os
import weakref

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler, config
from ckernels.graph import node as nodes
from ckernels.runtime import program

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def train():
    """A function with gradients, updates, a random tensor; and its variable."""
    x, t = K.placeholder((None, 6), name="x"), K.placeholder((None, 3), name="t")
    w, b = K.variable(np.ones((6, 3)), name="w"), K.variable(np.zeros(3), name="b")
    p = K.softmax(K.dot(K.dropout(x, 0.5, seed=3), w) + b)
    loss = K.mean(K.categorical_crossentropy(p, t))
    gw, gb = K.gradients(loss, [w, b])
    f = K.function([x, t], loss, updates=[(w, w - 0.1 * gw), (b, b - 0.1 * gb)])
    f(np.ones((5, 6), "f"), np.eye(3, dtype="f")[[0, 1, 2, 0, 1]])
    return f, w


def variants(k):
    """One of several kinds of function, so that all ways of running are cycled."""
    x = K.placeholder((None, 4), name="x")
    a = np.ones((3, 4), "f")
    kind = k % 8
    if kind == 1:  # data decides a shape
        f = K.function([x], K.sum(x[K.greater(x, 0)] * 2))
    elif kind == 2:
        f = K.function([x], K.softmax(x), mode="reference")
    elif kind == 3:
        f = K.function([x], K.exp(x), check="nan", profile=True)
    elif kind == 4:  # NumPy inside a plan
        f = K.function([x], K.svd(K.dot(K.transpose(x), x))[1])
    elif kind == 5 and k % 64 == 5:
        f = K.function([x], K.tanh(x) * 2, mode="debug")
    elif kind == 6:
        v = K.variable(0.0)
        f = K.function([x], K.sum(x), updates=[K.update_add(v, 1)])
        f(a)
        f = f.copy(swap={v: K.variable(5.0)})
    elif kind == 7:  # an error leaves nothing behind either
        f = K.function([x], K.dot(x, K.variable(np.ones((4, 2)))))
        with pytest.raises(TypeError):
            f(a, a)
        with pytest.raises(ValueError):
            f(np.ones((3, 5), "f"))
    else:
        return train()[0]
    f(a)
    f.stats(), f.source()
    return f


def census():
    """Sizes of what could grow."""
    return {
        "nodes": len(nodes._table),
        "emitted": len(program._emitted),
        "loaded": len(compiler._loaded),
        "lines": len(linecache.cache),
        "objects": len(gc.get_objects()),
    }


def soak(cycle, count, warm, rare=0):
    """Run `cycle(k)` `count` times after `warm` times; memory and census must stay.

    rare: kernels that may still be new, since a shape that needs them comes late.
    """
    for k in range(warm):
        cycle(k)
    gc.collect()
    before, memory = census(), resident()
    for k in range(count):
        cycle(k)
    gc.collect()
    after = census()
    for what, more in (("nodes", 0), ("lines", 0), ("emitted", rare), ("loaded", rare)):
        assert after[what] <= before[what] + more, (what, before, after)
    # Caches of plans are of one length, not of one size: a leak would be an object per cycle.
    assert after["objects"] <= before["objects"] + 200 + count // 20, (before, after)
    assert resident() <= memory * 1.05 + (1 << 20), (memory, resident())


@pytest.mark.rest
def test_a_function_dies_with_its_last_reference():
    """Without the garbage collector: nothing of a function is part of a cycle."""
    gc.collect()
    gc.disable()
    try:
        f, w = train()
        store = w.node.attrs["store"]
        parts = [f, f.info, f.info.program, w.node, store, store.cell]
        watched = [weakref.ref(part) for part in parts]
        del f, w, store, parts
        assert [r() for r in watched] == [None] * len(watched)
    finally:
        gc.enable()


@pytest.mark.sampled(0)
@pytest.mark.parametrize("kind", range(1, 8))
def test_other_kinds_of_function_die_too(kind):
    f = variants(kind)
    watched = weakref.ref(f.spec)
    del f
    gc.collect()
    assert watched() is None


@pytest.mark.rest
def test_build_call_delete():
    soak(variants, 512, 128)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_build_call_delete_long():
    soak(variants, 10_000, 512)


def changing_shapes(count, warm):
    x = K.placeholder((None, None), name="x")
    v = K.variable(np.ones((3, 3)))
    f = K.function([x], [K.softmax(x), K.sum(K.dot(x, K.transpose(x)))], updates=[(v, v * 1)])
    g = K.function([x], K.sum(x[K.greater(x, 0)] * 2))

    def call(k):
        a = np.ones((1 + k % 97, 1 + k % 89), "f")
        f(a)
        if k % 8 == 0:
            a.ravel()[: k % 50] = -1
            g(a)
        if f.plans > 64:  # by itself it keeps as many as 64 MB hold
            f.clear()
        assert len(f.info.program.instructions) <= 65

    soak(call, count, warm, rare=3)  # until all caches of the 64 last shapes are full
    steps = f.stats()
    assert steps["plans"] <= 64 and len(steps["kernels"]) < 30


@pytest.mark.rest
def test_changing_shapes():
    changing_shapes(500, 700)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_changing_shapes_long():
    # both ends see the same 64 last shapes (of one column have other graphs): 97 * 89 calls apart
    changing_shapes(10_000, 10_000 - 97 * 89)


@pytest.mark.rest
def test_a_variable_that_changes_its_shape():
    v = K.shared(np.ones(1), name="v")
    f = K.function([], K.sum(v * 2))

    def call(k):
        v.set_value(np.full(k % 97, 1.0))
        assert f() == 2 * (k % 97)
        if f.plans > 64:
            f.clear()

    soak(call, 500, 50)
