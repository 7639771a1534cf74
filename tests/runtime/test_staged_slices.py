"""Slices with computed bounds: minibatches by index, planned once, cut without copying the data."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import CKernelsError
from ckernels.runtime import staged
from ckernels.runtime.staged import StagedFunction

DATA = np.random.default_rng(0).standard_normal((103, 7)).astype("float32")
SIZE = 10


def minibatch(data):
    """f(i) = (sum of minibatch i over its rows, its number of rows); adds 1 to a counter."""
    i = K.placeholder(shape=(), dtype="int64", name="i")
    seen = K.variable(np.zeros((), "float32"))
    batch = data[i * SIZE : (i + 1) * SIZE]
    outputs = [K.sum(batch, axis=0), K.sum(batch * 0 + 1) / 7]
    f = K.function([i], outputs, updates=[(seen, seen + 1)])
    return f, seen


@pytest.fixture
def data():
    return K.variable(DATA)


def test_batches_equal_slices(data):
    f, seen = minibatch(data)
    assert isinstance(f, StagedFunction)
    for i in [0, 3, 10, 11, -2, 0]:
        want = DATA[i * SIZE : (i + 1) * SIZE]
        for given in (i, np.array(i), np.int64(i)):
            total, count = f([given])
            np.testing.assert_allclose(total, want.sum(0), rtol=1e-5, atol=1e-5)
            assert count == len(want)
    assert K.get_value(seen) == 18


def test_what_follows_is_planned_once_per_shape(data, monkeypatch):
    f, _ = minibatch(data)
    f([0])
    f([10])  # the three rows that are left
    monkeypatch.setattr(f, "plan", lambda *a: pytest.fail("planned again"))
    for i in (1, 9, 10, 4):
        f([i])


def test_the_data_is_not_copied(data, monkeypatch):
    parts, made = [], staged.part_of
    monkeypatch.setattr(
        staged, "part_of", lambda t: lambda *a: parts.append(made(t)(*a)) or parts[-1]
    )
    f, _ = minibatch(data)
    f([2])
    stored = data.node.attrs["store"].get()
    assert parts and all(np.shares_memory(part, stored) for part in parts)


def test_new_data_is_seen(data):
    f, _ = minibatch(data)
    f([0])
    K.set_value(data, DATA + 1)
    np.testing.assert_allclose(f([1])[0], (DATA[10:20] + 1).sum(0), rtol=1e-5)


def test_slices_of_inputs_and_views():
    x, i = K.placeholder((None, 7)), K.placeholder(shape=(), dtype="int32")
    f = K.function([x, i], [K.transpose(x)[:, i:], K.exp(x)[i : i + 2, 1:]])
    for at in (0, 5, -3, 200):
        turned, part = f([DATA, at])
        np.testing.assert_array_equal(turned, DATA.T[:, at:])
        np.testing.assert_allclose(part, np.exp(DATA)[at : at + 2, 1:], rtol=1e-6)
    with pytest.raises(CKernelsError):
        f([DATA[:, :5], 0])
    with pytest.raises(CKernelsError):
        f([DATA[:, :5], 0])  # not remembered as good


def test_updates_of_the_sliced_variable_do_not_reach_the_batch():
    v, i = K.variable(np.arange(6.0)), K.placeholder(shape=(), dtype="int64")
    part = v[i : i + 2]
    f = K.function([i], [part], updates=[(v, v * 10)])
    np.testing.assert_array_equal(f([1])[0], [1, 2])
    np.testing.assert_array_equal(f([1])[0], [10, 20])


def test_masks_of_many_sizes_are_planned_once(monkeypatch):
    asked, planned = [], StagedFunction.planned
    monkeypatch.setattr(StagedFunction, "planned", lambda f, *a: asked.append(a) or planned(f, *a))
    x = K.placeholder((None,))
    f = K.function([x], [K.cumsum(x[x > 0])[-1:]])
    for n in range(80):
        assert np.sum(f([np.ones(n, "float32")])[0]) == n
    assert len(asked) <= 10


def test_stats_and_source_cover_all_pieces(data):
    f, _ = minibatch(data)
    f([0])
    assert f.stats()["instructions"] > 0 and "int k_" in f.source()
