"""What is planned for many programs, as one line each, without compiling or running it.

Random graphs, with thresholds as they are and with low ones; random loops and scans with their
gradients; all ops that are no formula of one element, with theirs; and programs at sizes on both
sides of the borders between two ways. `python -m pytest
tests/codegen/test_emit.py --update-golden` writes the lines anew, beside the golden C.
"""

import functools
import hashlib
import warnings

import numpy as np
from jit import test_random_loops
from ops.agree import outputs_of
from ops.derivatives import CASES
from stress import test_random_scans

import ckernels as K
from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.base.errors import CKernelsError
from ckernels.base.machine import L2
from ckernels.codegen.emit import emit
from ckernels.graph.op import REGISTRY
from ckernels.plan import pipeline
from ckernels.plan.instructions import flatten
from ckernels.runtime.function import make_function
from ckernels.schedule.chunks import FULL, NARROW, ROWS
from ckernels.schedule.policy import MAX_STREAMS, MOST_STORED, SERIAL_REDUCTION, SHORT_ROW

from .planned import leaf
from .random_graphs import Case


class Planned(Exception):
    """A plan is made: nothing is compiled."""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def told(draft):
    """Of a plan its instructions, with the form of a kernel, and digests: of the C and the numbers
    of each, and of the memory between them and of what is assumed of sizes."""
    parts = []
    for i in flatten(draft.instructions):
        form = "" if i.kernel is None else f" {getattr(i.kernel, 'form', 'C')}"
        text = "" if i.kernel is None else emit(i.kernel)[1]
        numbers = " ".join(map(str, (*i.words(), i.n, i.block, i.grain, i.depth)))
        parts.append(f"{i.name}{form} {digest(text + numbers)}")
    memory = sorted((name, str(size)) for name, size in draft.buffer_sizes.items())
    assumed = sorted(str(a) for a in getattr(draft.sizes, "assumed", {}).values())
    return "; ".join([digest(repr((memory, assumed))), *parts])


def planned(call, monkeypatch):
    """What `call` plans, up to its first kernels."""
    found = []

    def compile_kernels(draft):
        found.append(told(draft))
        raise Planned

    stages = [s if s.__name__ != "compile_kernels" else compile_kernels for s in pipeline.PIPELINE]
    with monkeypatch.context() as patch, warnings.catch_warnings():
        patch.setattr(pipeline, "PIPELINE", tuple(stages))
        warnings.simplefilter("ignore")
        try:
            call()
        except (Planned, CKernelsError, IndexError, UnboundLocalError):
            pass
    return " | ".join(found)


# ---- programs -----------------------------------------------------------------------------------


def graph(seed, tmp_path):
    case = Case(seed, ("float64", "float32", "int32")[seed % 3])
    return called([n for n, _ in case.leaves], case.outputs, [a for _, a in case.leaves])


def called(leaves, outputs, arrays):
    function = make_function(leaves, outputs, positional_only=True, downcast=False)
    return lambda: function(*arrays)


def scan(seed, tmp_path):
    program = test_random_scans.Program(seed)
    arrays = program.arrays()
    shapes = [a.shape if seed % 2 else (None,) * a.ndim for a in arrays]
    tensors = [K.placeholder(s, dtype=test_random_scans.F) for s in shapes]
    found = test_random_scans.results(program.looped(tensors), tensors)[:-4]
    f = K.function(tensors, found, mode="compiled", on_unused_input="ignore")
    return lambda: f(*arrays)


def loop(seed, tmp_path):
    source = test_random_loops.Writer(seed).source()
    jitted = K.jit(test_random_loops.written(source, f"choices{seed}", tmp_path))
    return lambda: jitted(np.arange(12.0) - 5)


def operation(maker, seed, tmp_path):
    """An op with its gradient."""
    dtype = ("float32", "float64")[seed % 2]
    case = maker(np.random.default_rng(seed))
    arrays = [np.asarray(a, dtype) for a in case.arrays]
    leaves = [leaf(a.shape, dtype) for a in arrays]
    results = outputs_of(case.build(*leaves))
    sums = [ops.sum(ops.sin(y)) for y in results if y.dtype == dtype]
    slopes = grad(functools.reduce(ops.add, sums), leaves, "zero") if sums else ()
    return called(leaves, [*results, *slopes], arrays)


MAKERS = {maker: name for name, makers in CASES.items() for maker in makers
          if REGISTRY[name].kind not in ("elementwise", "movement")}  # fmt: skip
RUNS = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 64)
IMAGE = {"strides": (1, 1), "padding": "same"}
BORDERS = {
    "sum": (lambda x: ops.sum(x), [[(n,)] for n in (SERIAL_REDUCTION, FULL - 1, FULL, 9 * FULL)]),
    "any": (lambda x: ops.any(ops.gt(x, 0)), [[(n,)] for n in (FULL - 1, FULL)]),
    "place": (lambda x: ops.argmax(x), [[(n,)] for n in (FULL - 1, FULL)]),
    "columns": (lambda x: ops.sum(x, 0), [
        [(r, c)] for r in (ROWS - 1, ROWS, 40 * ROWS) for c in (1, 3, NARROW - 1, NARROW, 1000)]),
    "column variance": (lambda x: ops.var(x, 0), [[(r, 8)] for r in (ROWS - 1, 20 * ROWS)]),
    "normalised": (lambda x: x / ops.sum(x), [
        [(n,)] for n in (SERIAL_REDUCTION, SERIAL_REDUCTION + 1)]),
    "rows": (lambda x: ops.softmax(x, -1), [
        [(r, n)] for r in (1, 300) for n in (1, 5, 8, 16, 17, 2048, 2049, 10**5)]),
    "short rows": (lambda x: ops.sum(ops.square(x), 1), [[(999, n)] for n in (2, 3, 8, 9, 16, 32)]),
    "layers": (lambda x: (x - ops.mean(x, 1, True)) / ops.sqrt(ops.var(x, 1, True) + 1), [
        [(32, n)] for n in (7, 64, 3000, L2 // 8)]),
    "by rows": (lambda x, y: ops.sum(x * ops.expand_dims(y, 2), (0, 2)), [
        [(a, 5, n), (a, 5)]
        for a in (7, 1 + MOST_STORED // 40) for n in (SHORT_ROW, 1 + SHORT_ROW)]),
    "many read": (lambda *xs: functools.reduce(ops.add, xs), [
        [(40, 30)] * n for n in (MAX_STREAMS - 1, MAX_STREAMS, MAX_STREAMS + 2)]),
    "taken": (lambda w, x: ops.take(w, ops.cast(x, "int64"), 0) + 1, [
        [(90, n), (50,)] for n in RUNS]),
    "taken sums": (lambda w, x: ops.sum(ops.take(w, ops.cast(x, "int64"), 0), 1), [
        [(90, n), (50, 6)] for n in RUNS]),
    "product": (lambda x, w: ops.tanh(ops.matmul(x, w)), [
        [(m, k), (k, n)] for m, k, n in ((1, 9, 9), (9, 9, 1), (1, 300, 1), (4, 4, 4), (33, 2, 65),
                                         (200, 300, 7), (16, 1, 16), (512, 512, 512))]),
    "products": (lambda x, w: ops.matmul(x, w), [
        [(b, m, k), (b, k, n)] for b, m, k, n in ((2, 3, 4, 5), (64, 2, 2, 2), (3, 1, 70, 90))]),
    "then": (lambda x, w: ops.softmax(ops.matmul(x, w), -1), [
        [(m, 40), (40, n)] for m in (3, 500) for n in (4, 64, 300, 5000)]),
    "turned": (lambda x: ops.transpose(x) * 2, [
        [s] for s in ((3, 5), (64, 64), (1000, 3), (9, 800))]),
    "copied": (lambda x: ops.flatten(ops.transpose(x)), [
        [s] for s in ((3, 5), (64, 64), (800, 9))]),
    "repeated": (lambda x: ops.flatten(ops.broadcast_to(ops.expand_dims(x, 1), (9, 7, 20))), [
        [(9, 20)]]),
    "joined": (lambda x, y: ops.concatenate([x, y], 1), [[(9, 4), (9, n)] for n in (1, 4, 50)]),
    "running": (lambda x: ops.cumsum(x, 0), [[s] for s in ((5, 5), (3000, 3), (3, 3000))]),
}  # fmt: skip


def border(name, number):
    build, sizes = BORDERS[name]
    leaves = [leaf(shape) for shape in sizes[number]]
    arrays = [np.empty(shape, "float32") for shape in sizes[number]]
    return called(leaves, [build(*leaves)], arrays)


GROUPS = {
    "graphs": [(f"graph {seed}", functools.partial(graph, seed)) for seed in range(40)],
    "low": [(f"low graph {seed}", functools.partial(graph, seed)) for seed in range(1000, 1024)],
    "scans": [(f"scan {seed}", functools.partial(scan, seed)) for seed in range(12)],
    "loops": [(f"loop {seed}", functools.partial(loop, seed)) for seed in range(14)],
    "ops": [
        (f"{name} {maker.__name__} {seed}", functools.partial(operation, maker, seed))
        for maker, name in MAKERS.items() for seed in range(4)
    ],
    "borders": [
        (f"{name} {' '.join('x'.join(map(str, shape)) for shape in sizes[number])}",
         lambda tmp_path, name=name, number=number: border(name, number))
        for name, (_, sizes) in BORDERS.items() for number in range(len(sizes))
    ],
}  # fmt: skip


def lines(group, tmp_path, monkeypatch):
    """{program: what is planned for it} of a group."""
    return {
        name: planned(lambda make=make: make(tmp_path)(), monkeypatch)
        for name, make in GROUPS[group]
    }
