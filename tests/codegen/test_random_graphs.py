"""Random graphs, compiled, against their oracles: fusion, layouts, forms and the plan all at once.

Inputs lie next to unmapped pages, in many layouts, so a read out of bounds ends the process. The
second half runs with thresholds so low that every form (tiles, strips, chunks) and every split over
threads happens on small arrays.
"""

import sys

import numpy as np
import pytest

import ckernels as K
from ckernels.codegen import lower  # noqa: F401 (loaded, so that thresholds can be changed)
from ckernels.plan import bands  # noqa: F401
from ckernels.runtime import program
from ckernels.runtime.function import make_function
from ckernels.schedule import chunks  # noqa: F401

from .random_graphs import Case


def run(cases):
    """All failures of the cases, built as one function."""
    leaves = [pair for case in cases for pair in case.leaves]
    outputs = [node for case in cases for node in case.outputs]
    function = make_function([n for n, _ in leaves], outputs, positional_only=True, downcast=False)
    results, failures = function(*[a for _, a in leaves]), []
    for record in function.info.program.kernels.records.values():
        record.kernel.check()
    for case in cases:
        mine, results = results[: len(case.outputs)], results[len(case.outputs) :]
        if case.wrong(mine):
            failures.append(f"seed {case.seed}, {case.dtype}: {case.wrong(mine)}")
    return failures


def search(seeds, per, **options):
    failures = []
    for first in range(seeds.start, seeds.stop, per):
        cases = [
            Case(seed, ("float64", "float32", "int32")[seed % 3], **options)
            for seed in range(first, min(first + per, seeds.stop))
        ]
        failures += run(cases)
    assert not failures, "\n".join(failures)


@pytest.fixture
def low_thresholds(monkeypatch):
    """Three threads for everything; tiles, strips, kept rows and chunks of a few elements."""
    low = {
        "THREAD_NS": 1,
        "STRIP": 4,
        "CHUNK_STRIP": 4,
        "TILE": 4,
        "ROW_SCRATCH": 8,
        "FULL": 20,
        "CHUNK": 7,
        "ROWS": 5,
        "LEAST": 3,
        "IN_CACHE": 1,
        "LEAST_CHUNKS": 1,
        "BAND": 9,
        "STORED_RUN": 1,
        "SUMMED_RUN": 1,
        "LONG_RUN": 1,
    }
    rooms = [
        m
        for name, m in sys.modules.items()
        if name.startswith(("ckernels.codegen.", "ckernels.schedule.", "ckernels.plan."))
    ]
    for name, value in low.items():
        known = [room for room in rooms if hasattr(room, name)]
        assert known, f"no room has {name} any more"
        for room in known:
            monkeypatch.setattr(room, name, value)
    monkeypatch.setattr(program, "_emitted", {})
    before = K.get_num_threads()
    K.set_num_threads(3)
    yield
    K.set_num_threads(before)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("first", range(0, 90, 15))
def test_random_graphs(first):
    search(range(first, first + 15), 15)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("first", range(1000, 1060, 15))
def test_random_graphs_with_low_thresholds(first, low_thresholds):
    search(range(first, first + 15), 15)


@pytest.mark.slow
def test_many_random_graphs():
    search(range(100_000, 101_000), 10, largest=100_000)


@pytest.mark.slow
def test_many_random_graphs_with_low_thresholds(low_thresholds):
    search(range(200_000, 201_000), 10)


def test_the_generator_reaches_all_kinds():
    """The graphs are worth running only if they contain what fusion may get wrong."""
    seen = set()
    for seed in range(60):
        case = Case(seed, "float64")
        seen |= {n.op.name for n in case.pool}
        seen |= {"strided" for _, a in case.leaves if not a.flags.c_contiguous}
        seen |= {"empty" for _, a in case.leaves if not a.size}
        seen |= {"scalar" for _, a in case.leaves if not a.ndim}
        seen |= {"duplicate"} if len(set(case.outputs)) < len(case.outputs) else set()
        seen |= {"input out"} if {n for n, _ in case.leaves} & set(case.outputs) else set()
    wanted = {
        "sum",
        "max",
        "argmax",
        "softmax",
        "logsumexp",
        "mean",
        "var",
        "matmul",
        "where",
        "cast",
        "reshape",
        "transpose",
        "slice",
        "expand",
        "squeeze",
        "broadcast_to",
        "iota",
        "tanh",
        "strided",
        "empty",
        "scalar",
        "duplicate",
        "input out",
    }
    assert wanted <= seen, wanted - seen


def test_a_read_beyond_a_guarded_array_would_be_noticed():
    from .pages import PAGE, guarded

    array = guarded(np.arange(5.0))
    assert (array.ctypes.data + array.nbytes) % PAGE == 0
    assert guarded(array, at_end=False).ctypes.data % PAGE == 0
