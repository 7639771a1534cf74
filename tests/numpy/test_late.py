"""Graphs that wait: what they read, when they are compiled, who keeps them."""

import gc

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.config import config
from ckernels.numpy import late
from ckernels.numpy.arrays import Array


@pytest.fixture(autouse=True)
def flags():
    before = config.lazy_from
    config.lazy_from = 0
    yield
    config.lazy_from = before


def test_graphs_of_other_sizes_and_data_are_compiled_once():
    def value(n):
        x = Array.of(np.arange(float(n)))
        return float((x * 3 + x.sum()).max())

    assert value(20) == 19 * 3 + 190
    count = len(late._compiled)
    assert value(30) == 29 * 3 + 435 and len(late._compiled) == count
    value(5)  # a small size is part of the graph
    assert len(late._compiled) == count + 1


def test_leaves_go_with_the_graphs_that_read_them(young_heap):
    gc.collect()
    before = len(late._leaves)
    x = Array.of(np.arange(20.0))
    y = x + 1
    assert len(late._leaves) > before
    del x, y
    gc.collect()
    assert len(late._leaves) == before


def test_a_store_copies_only_what_a_graph_still_reads():
    data = np.arange(20.0)
    memory = late.Memory(data)
    node = memory.input(data)
    memory.write()
    kept = late._leaves[node].array
    assert kept is not data and (kept == data).all()
    again = memory.input(data, node)
    assert again is not node and late._leaves[again].array is data
    assert memory.input(data, again) is again
    memory.share()
    assert late._leaves[memory.input(data, again)].array is not data


def test_numbers_of_programs():
    for kept in (2, 2.0, 0.5, -1, float("nan"), True, 1j, 10**30):
        assert late.number(kept) is kept
    assert late.number(0.3).kind is float


def test_what_kernels_refuse_the_interpreter_computes(monkeypatch):
    def refuse(*args, **options):
        raise late.CKernelsError("no")

    monkeypatch.setattr(late, "_function", lambda inputs, nodes: refuse)
    x = Array.of(np.arange(20.0))
    assert float((x + 1).sum()) == 210
    assert ops.add is not None
