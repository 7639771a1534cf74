"""Random graphs, compiled, against their oracles: fusion, layouts, forms and the plan all at once.

Inputs lie next to unmapped pages, in many layouts, so a read out of bounds ends the process. The
second half runs with thresholds so low that every form (tiles, strips, chunks) and every split over
threads happens on small arrays.
"""

import importlib
import pkgutil
import sys

import numpy as np
import pytest

import ckernels as K
from ckernels import codegen, plan, schedule
from ckernels.base import machine
from ckernels.codegen.forms import bands as band_form
from ckernels.codegen.forms import columns, contraction, flat, rows
from ckernels.plan import bands, scan_by_rows
from ckernels.runtime import program
from ckernels.runtime.function import make_function
from ckernels.schedule import chunks, gathers

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


LOW = {
    machine: {"THREAD_NS": 1, "IN_CACHE": 1},
    columns: {"STRIP": 4, "CHUNK_STRIP": 4},
    flat: {"TILE": 4},
    contraction: {"ROWS": 5, "TILE": 4},
    rows: {"ROW_SCRATCH": 8},
    band_form: {"BAND": 9},
    bands: {"LEAST_CHUNKS": 1},
    scan_by_rows: {"ROWS": 5, "TILE": 4},
    chunks: {"FULL": 20, "CHUNK": 7, "ROWS": 5, "LEAST": 3},
    gathers: {"STORED_RUN": 1, "SUMMED_RUN": 1, "LONG_RUN": 1},
}


def copies(owner, name):
    """The modules that have a constant of `owner`: it, and those that import it by name."""
    value, loaded = getattr(owner, name), sys.modules.items()
    return [
        m for title, m in loaded if title.startswith("ckernels.") and vars(m).get(name) is value
    ]


def load_all():
    """What is first loaded at low thresholds would keep them, for all tests behind."""
    for room in (codegen, plan, schedule, importlib.import_module("ckernels.export")):
        for file in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(file.name)


@pytest.fixture
def low_thresholds(monkeypatch):
    """Three threads for everything; tiles, strips, kept rows and chunks of a few elements."""
    load_all()
    changed = [(m, name, value) for owner, values in LOW.items() for name, value in values.items()
               for m in copies(owner, name)]  # fmt: skip
    for row in changed:
        monkeypatch.setattr(*row)
    loaded = set(sys.modules)
    monkeypatch.setattr(program, "_emitted", {})
    before = K.get_num_threads()
    K.set_num_threads(3)
    yield
    K.set_num_threads(before)
    late = [sys.modules[m] for m in sys.modules.keys() - loaded if m.startswith("ckernels.")]
    assert not [m for m in late if any(hasattr(m, n) for names in LOW.values() for n in names)]


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
