"""Results are a function of program, data and machine: no call, process or thread before has a say.

Each graph is called with one size by a function that had no other call, after calls with half of
that size, twice of it and 1, with a compiledir that others have filled, and on 1, 2 and 4 threads:
all bits are equal. Which plan belongs to which size is also compared for random programs, where
nothing is compiled or run.
"""

import hashlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler
from ckernels.base.errors import CKernelsError
from ckernels.graph.sizes import AT_LEAST, ShapeClass
from ckernels.plan import native
from ckernels.plan.concrete import DataDecides
from ckernels.plan.instructions import SCAN
from ckernels.plan.lowerings import movement
from ckernels.runtime import program, stored
from ckernels.runtime.kinds import kind_of

from .history_graphs import GRAPHS
from .shape_programs import Program
from .test_shape_sequences import Sequence

HISTORIES = {
    "half": lambda n: [n // 2],
    "twice": lambda n: [2 * n],
    "one": lambda n: [1],
    "many": lambda n: [2 * n, 1, n // 2, n + 1, n - 1],
}
SHORT = ["sum_of_exponentials", "sums_of_images", "softmax", "product", "convolution_trained",
         "scan_of_a_batch", "embedding", "what_data_decide", "perceptron", "logistic"]  # fmt: skip
PARTS = slice(12, 14)  # of the dims of a scan: how its rows are dealt out to threads


# ---- bits ---------------------------------------------------------------------------------------


def results(graph, dtype, before=(), n=None):
    """The bytes of what two calls with size n give, and of the variables then, after calls with
    the sizes `before`, some of which are refused, and variables set back."""
    function, variables, first = graph.build(dtype)
    for size in before:
        with suppress(CKernelsError):
            function(graph.arrays(size, dtype))
    for variable, value in zip(variables, first):
        K.set_value(variable, value)
    arrays = graph.arrays(n or graph.n, dtype)
    found = [x for _ in range(2) for x in function(arrays)] + [K.get_value(v) for v in variables]
    return [np.asarray(x).tobytes() for x in found]


def check(monkeypatch, graph, dtype, n=None):
    """All histories of one graph."""
    n = n or graph.n
    with monkeypatch.context() as patch:
        patch.setattr(stored, "describe", lambda program: (None, ()))
        alone = results(graph, dtype, n=n)
        for name, sizes in HISTORIES.items():
            assert results(graph, dtype, sizes(n), n) == alone, f"after {name}"
        threads = K.get_num_threads()
        try:
            for count in (1, 2, 4):
                K.set_num_threads(count)
                assert results(graph, dtype, n=n) == alone, f"on {count} threads"
        finally:
            K.set_num_threads(threads)
    for name, sizes in HISTORIES.items():  # plans that another function has stored
        with monkeypatch.context() as patch:
            plans = {}
            patch.setattr(compiler, "keep", plans.__setitem__)
            patch.setattr(compiler, "kept", plans.get)
            results(graph, dtype, n=max(graph.least, sizes(n)[0]))
            assert plans, "nothing is stored"
            assert results(graph, dtype, n=n) == alone, f"with plans stored by {name}"
            assert results(graph, dtype, n=n) == alone, "with its own plan stored"


@pytest.mark.sampled(0)
@pytest.mark.parametrize("name", SHORT)
def test_no_history_changes_a_bit(monkeypatch, name):
    check(monkeypatch, GRAPHS[name], "float32" if len(name) % 2 else "float64")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GRAPHS)
def test_no_history_changes_a_bit_of_any_graph(monkeypatch, name, dtype):
    for n in (GRAPHS[name].n, 17, GRAPHS[name].least):
        check(monkeypatch, GRAPHS[name], dtype, n)


# ---- processes ----------------------------------------------------------------------------------


def digests(folder, names, dtype, size):
    """{name: digest of the results} in a process of its own; size: a key of HISTORIES, or None."""
    code = f"""
import sys, json, hashlib
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from stress.test_histories import GRAPHS, HISTORIES, results
found = {{}}
for name in {names!r}:
    graph = GRAPHS[name]
    n = HISTORIES[{size!r}](graph.n)[0] if {size!r} else graph.n
    found[name] = hashlib.sha256(b"".join(results(graph, {dtype!r}, n=n))).hexdigest()
print(json.dumps(found))
"""
    env = {**os.environ, "CKERNELS_FLAGS": f"base_compiledir={folder}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare_processes(tmp_path, names, dtype):
    alone = digests(tmp_path / "empty", names, dtype, None)
    for size in ("half", "twice"):
        digests(tmp_path / size, names, dtype, size)
        assert digests(tmp_path / size, names, dtype, None) == alone, size
    assert digests(tmp_path / "empty", names, dtype, None) == alone


@pytest.mark.rest
def test_a_compiledir_filled_by_another_size_changes_no_bit(tmp_path):
    compare_processes(tmp_path, ["sum_of_exponentials"], "float64")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_compiledir_filled_by_other_sizes_changes_no_bit_of_any_graph(tmp_path, dtype):
    compare_processes(tmp_path, list(GRAPHS), dtype)


# ---- plans --------------------------------------------------------------------------------------


def address(kernel):
    return int.from_bytes(hashlib.sha256(repr(kernel.key()).encode()).digest()[:7], "little")


@pytest.fixture
def only_planned(monkeypatch):
    """Kernels have numbers for addresses; copies, of which every way is right, are exact too."""
    monkeypatch.setattr(program.Kernels, "addresses", lambda self, made: [address(k) for k in made])
    for room in (native, movement):
        monkeypatch.setattr(room, "reaches", lambda size, threshold: size >= threshold)


def numbers(arguments):
    """Of the arguments of a plan all that decides a bit: not how work is dealt out to threads, nor
    where its buffers lie."""
    instrs, dims, ptrs = (arguments[name].copy() for name in ("instrs", "dims", "ptrs"))
    for row in instrs[instrs[:, 0] == SCAN]:
        part = dims[row[4] :][PARTS]
        part[:] = part > 0
    instrs[:, 6:], ptrs[ptrs[:, 0] == 0] = 0, 0
    constants = [np.asarray(c).tobytes() for c in arguments["constants"]]
    told = ptrs.tolist(), arguments["outputs"], arguments["updates"]
    return instrs.tolist(), dims.tolist(), constants, told


def made(found, arrays):
    """(kind, symbols, template, its arguments) of a plan for these arrays alone."""
    found.bound, found.least = found.shapes_of(arrays), 1
    return *kind_of(found, arrays, 1), *found.template(arrays)


def plans_that_differ(found, calls):
    """(pairs of calls of one class, those of them of which one has another plan in company)."""
    plans, met, wrong = [], 0, []
    for arrays in calls:
        try:
            plans.append((arrays, *made(found, arrays)))
        except (CKernelsError, DataDecides):
            continue
    for before, kind, first, template, _ in plans:
        for arrays, other, symbols, _, alone in plans:
            filled = template.fill(symbols) if kind == other and first != symbols else None
            if filled is not None:
                met += 1
                if numbers(filled) != numbers(alone):
                    wrong.append([[a.shape for a in side] for side in (before, arrays)])
    return met, wrong


def search(seeds, sequences):
    met = 0
    for seed in seeds:
        random = Program(seed)
        function = random.function()
        if not hasattr(function, "info"):
            continue  # it runs in pieces, which data decide
        found = [Sequence(random, seed * 100 + n) for n in range(sequences)]
        calls = [s.arrays(sizes) for s in found for sizes in s.calls]
        pairs, wrong = plans_that_differ(function.info.program, calls)
        met += pairs
        assert not wrong, f"program {seed}: {random.describe()}\n{wrong}"
    return met


def test_the_plan_of_a_class_is_the_one_its_sizes_have_alone(only_planned):
    assert search(range(24), 2) > 150


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_plans_of_many_classes_are_those_of_their_sizes_alone(only_planned, part):
    assert search(range(1000 + part * 50, 1050 + part * 50), 4) > 300


def differing(name, dtype="float64"):
    """How many plans of a graph, of some sizes, are others in the class of another size."""
    graph = GRAPHS[name]
    calls = [graph.arrays(n, dtype) for n in (graph.n // 2, graph.n, 2 * graph.n, 7)]
    return plans_that_differ(graph.build(dtype)[0].info.program, calls)


def test_a_decision_that_is_not_an_assumption_is_noticed(only_planned, monkeypatch):
    assert not differing("sum_of_exponentials")[1]
    noted = ShapeClass.note

    def forgetful(self, kind, size, taken=False):
        return kind if kind == AT_LEAST else noted(self, kind, size, taken)

    monkeypatch.setattr(ShapeClass, "note", forgetful)
    met, wrong = differing("sum_of_exponentials")
    assert met == 12 and len(wrong) == 8  # half and 7 are summed at once, n and 2 n in parts


def test_the_graphs_are_called_on_both_sides_of_what_decides(only_planned):
    """Histories are worth a run only where plans differ between a size, its half and its double."""
    one_class = [n for n in GRAPHS if "data" not in n and differing(n)[0] == 12]
    assert len(one_class) < len(GRAPHS) // 2, one_class
