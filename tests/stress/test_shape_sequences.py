"""One function, many shapes: random programs called with sequences of random sizes, beside NumPy.

A plan may serve many shapes. So each call of a sequence is compared with the reference interpreter,
and some with a function that has seen no other shape. Sizes are empty, one, equal, neighbours of
what kernels cut by, and large; inputs lie in many layouts next to unmapped pages; what one refuses
the other refuses, and the function goes on.
"""

import warnings
from itertools import accumulate

import numpy as np
import pytest
from codegen.pages import guarded
from codegen.test_random_graphs import low_thresholds  # noqa: F401 (a fixture)

import ckernels as K
from ckernels.base.errors import CKernelsError, IndexOutOfBounds, ShapeError

from .shape_programs import WAYS, Program
from .shape_values import AXES, size_of

SIZES = (0, 1, 2, 3, 7, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 1023, 1024, 1025,
         4095, 4096, 4097)  # fmt: skip
SMALL = tuple(n for n in SIZES if n <= 33)
LARGE = 70_000  # elements of an input, now and then
ELEMENTS, WORK, TRIPS = 120_000, 20_000_000, 70
MEMORY = 8 << 30  # bytes that the process may map
TOLERANCE = {"float64": 1e-9, "float32": 5e-4}


class Sequence:
    """The sizes of some calls in a row, and their arrays."""

    def __init__(self, program, seed):
        self.program, self.rng = program, np.random.default_rng([seed, 7])
        self.calls = []
        for _ in range(int(self.rng.integers(6, 11))):
            self.calls.append(self.fitting(self.wanted()))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def wanted(self):
        """Sizes of the axes: all new, one changed, all equal, as before, or one that is large."""
        kind = self.pick(["new", "new", "new", "one", "one", "equal", "again", "large"])
        axes = {axis: self.pick(SIZES if self.rng.random() < 0.5 else SMALL) for axis in AXES}
        if kind == "equal":
            axes = dict.fromkeys(AXES, axes["a"])
        elif kind == "large":
            axes = {axis: self.pick((1, 2, 3, 7)) for axis in AXES}
            axes[self.pick(AXES)] = 0
        elif kind in ("one", "again") and self.calls:
            axes = {axis: self.calls[-1][axis] for axis in AXES}
            if kind == "one":
                axes[self.pick(AXES)] = self.pick(SIZES)
        if self.rng.random() < 0.08:
            axes[self.pick(AXES)] = 0
        for axis in AXES:
            axes[axis + "_"] = self.pick((1, axes[axis]))
            if self.rng.random() < 0.02:
                axes[axis + "_"] = 5  # which fits only sometimes
        for name, _ in self.program.lengths:
            axes[name] = self.pick((0, 1, 2, 5, 33, axes["a"], axes["b"] + 1))
        return self.enlarged(axes) if kind == "large" else axes

    def enlarged(self, sizes):
        """`sizes` with the axis of size 0 so that the first input that has it is large."""
        axis = next(a for a in AXES if sizes[a] == 0)
        sizes[axis] = 1
        rows = [leaf.dims for leaf in self.program.leaves if axis in leaf.dims]
        if rows and rows[0].count(axis) == 1:
            sizes[axis] = LARGE // max(1, elements(rows[0], sizes))
        return sizes

    def fitting(self, sizes):
        """`sizes`, smaller where a tensor or the work were too large, mostly without what fails."""
        p = self.program
        if self.rng.random() < 0.9:
            for _ in range(12):
                if all(size_of(t, self.complete(sizes)) > 0 for t in p.positive):
                    break
                for axis in AXES:
                    if self.rng.random() < 0.5:
                        sizes = self.resized(sizes, axis, self.pick(SMALL[1:]))
        while True:
            full = self.complete(sizes)
            most = max(elements(v.dims, full) for v in p.pool)
            work = max([size_of(t, full) for t in p.costs], default=0)
            trips = max([size_of(t, full) for t in p.trips], default=0)
            axis = max(AXES, key=lambda a: sizes[a])
            if not sizes[axis] or most <= ELEMENTS and work <= WORK and trips <= TRIPS:
                return sizes
            smaller = [n for n in SIZES if n < sizes[axis]]
            sizes = self.resized(sizes, axis, self.pick(smaller[-8:]))

    def resized(self, sizes, axis, n):
        twin = n if sizes[axis + "_"] == sizes[axis] else sizes[axis + "_"]
        return {**sizes, axis: n, axis + "_": twin}

    def complete(self, sizes):
        """`sizes` with the most that sizes can be that data decide."""
        full = dict(sizes)
        for name, most in self.program.bounds.items():
            full[name] = size_of(most, full)
        return full

    # ---- arrays -------------------------------------------------------------------------------

    def arrays(self, sizes):
        return [self.array(leaf, sizes) for leaf in self.program.leaves]

    def array(self, leaf, sizes):
        if leaf.kind.startswith("n"):
            return np.array(sizes[leaf.kind])
        shape = tuple(size_of(d, sizes) for d in leaf.dims)
        dtype = K.dtype(leaf.tensor)
        if leaf.kind == "i":
            return self.arranged(self.rng.integers(0, 7, shape).astype(dtype))
        return self.arranged((self.rng.integers(-8, 9, shape) / 4).astype(dtype))

    def arranged(self, array):
        """`array` in some layout, in memory that ends (or begins) at an unmapped page."""
        end = self.rng.random() < 0.5
        kind = self.pick(["plain"] * 4 + ["turned", "step", "flip", "broadcast"])
        if not array.ndim or not array.size or kind == "plain":
            return guarded(array, end)
        if kind == "turned":
            order = self.rng.permutation(array.ndim)
            return guarded(array.transpose(order), end).transpose(np.argsort(order))
        axis = int(self.rng.integers(array.ndim))
        key = [slice(None)] * array.ndim
        if kind == "step":
            key[axis] = slice(None, None, 2)
            shape = list(array.shape)
            shape[axis] = 2 * shape[axis] - 1
            wide = np.zeros(shape, array.dtype)
            wide[tuple(key)] = array
            return guarded(wide, end)[tuple(key)]
        if kind == "flip":
            return np.flip(guarded(np.flip(array, axis), end), axis)
        return np.broadcast_to(guarded(array.take([0], axis), end), array.shape)


def elements(dims, sizes):
    return list(accumulate((size_of(d, sizes) for d in dims), lambda a, b: a * b, initial=1))[-1]


# ---- comparing ----------------------------------------------------------------------------------


def outcome(function, arrays):
    """A list of arrays, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(arrays)
        except CKernelsError as problem:
            return problem


def difference(got, want):
    """A sentence about what differs, or None."""
    if isinstance(got, Exception) or isinstance(want, Exception):
        if type(got) is type(want):
            return None
        told = [repr(x) if isinstance(x, Exception) else "results" for x in (got, want)]
        return f"{told[0]}, not {told[1]}"
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for k, (a, b) in enumerate(zip(got, want)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {k} is {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        near = TOLERANCE.get(a.dtype.name, 0)
        near *= 1 + np.abs(b[np.isfinite(b)]).max(initial=0) if near else 1
        wrong = np.argwhere(~np.isclose(a, b, rtol=0, atol=near, equal_nan=True))
        if len(wrong):
            at = tuple(wrong[0])
            return f"output {k} {a.shape}: {len(wrong)} differ, at {at} {a[at]!r}, not {b[at]!r}"
    return None


def never_looks_up(function, got, want):
    """Whether only the reference computes what an index out of bounds gives: where the results ask
    for its shape alone, nothing is looked up."""
    return (
        isinstance(want, IndexOutOfBounds)
        and isinstance(got, list)
        and not any("take" in step for step in function.steps())
    )


def run(function, reference, sequence, alone):
    """What is wrong with the calls of a sequence: sentences. Every call numbered in `alone` is
    also made by a function that has had no other."""
    failures = []
    for k, sizes in enumerate(sequence.calls):
        arrays = sequence.arrays(sizes)
        fresh = None
        if k in alone:
            with K.config.change(cache="off"):
                fresh = outcome(function.copy(delete_updates=True), arrays)
        got, want = outcome(function, arrays), outcome(reference, arrays)
        if never_looks_up(function, got, want):
            continue
        wrong = difference(got, want)
        if wrong is None and fresh is not None:
            wrong = difference(got, fresh)
            wrong = wrong and f"beside a function of its own: {wrong}"
        if wrong:
            shapes = [a.shape for a in arrays]
            failures.append(f"call {k}, {sizes}, shapes {shapes}: {wrong}")
    return failures


def check(seed, sequences):
    """The failures of one program over some sequences, each on a function with no plans yet."""
    program, twin = Program(seed), Program(seed)
    first, reference = program.function(), twin.function("reference")
    failures = []
    for n in range(sequences):
        function = first.copy() if n else first
        sequence = Sequence(program, seed * 100 + n)
        alone = {3} if n == 0 else set()
        wrong = run(function, reference, sequence, alone)
        if program.state is not None and not wrong:
            states = [np.asarray(K.get_value(p.state)) for p in (program, twin)]
            wrong = [d for d in [difference(states[:1], states[1:])] if d]
        failures += [f"program {seed}, sequence {n}: {w}\n  {program.describe()}" for w in wrong]
    return failures


def search(seeds, sequences):
    failures = [text for seed in seeds for text in check(seed, sequences)]
    assert not failures, f"{len(failures)} calls differ\n" + "\n".join(failures[:20])


@pytest.fixture(autouse=True)
def quick_to_compile():
    """What is tested is which kernel runs with which sizes, not what the compiler makes of it."""
    with K.config.change(**{"cc.cflags": "-O0"}):
        yield


@pytest.fixture(autouse=True)
def limited_memory():
    """A plan that asks for far too much fails its call, not the machine."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("part", range(2))
def test_sequences_of_shapes(part):
    search(range(part * 12, part * 12 + 6), 4)


@pytest.mark.rest
@pytest.mark.usefixtures("low_thresholds")
def test_sequences_of_shapes_with_low_thresholds():
    search(range(24, 31), 4)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_many_sequences_of_shapes(part):
    search(range(10_000 + part * 50, 10_050 + part * 50), 6)


@pytest.mark.slow
@pytest.mark.usefixtures("low_thresholds")
@pytest.mark.parametrize("part", range(20))
def test_many_sequences_of_shapes_with_low_thresholds(part):
    search(range(50_000 + part * 50, 50_050 + part * 50), 5)


@pytest.mark.rest
def test_the_generator_reaches_all_kinds():
    """Sequences are worth running only if programs and sizes hold what planning may get wrong."""
    ways, seen = set(), set()
    for seed in range(150):
        program = Program(seed)
        ways |= {line.split()[0] for line in program.log}
        sequence = Sequence(program, seed)
        shapes = []
        for sizes in sequence.calls:
            arrays = sequence.arrays(sizes)
            shapes.append([a.shape for a in arrays])
            seen |= {"strided" for a in arrays if not a.flags.c_contiguous}
            seen |= {"empty" for a in arrays if not a.size}
            seen |= {"large" for a in arrays if a.size > 60_000}
            seen |= {f"axis of {n}" for a in arrays for n in a.shape if n in SIZES}
        seen |= {"again" for a, b in zip(shapes, shapes[1:]) if a == b}
        seen |= {"data decide"} if program.bounds else set()
        seen |= {"input decides"} if program.lengths else set()
        seen |= {"updates"} if program.updates else set()
    assert ways >= set(WAYS) | {"input", "gradients"}, set(WAYS) - ways
    wanted = {"strided", "empty", "large", "again", "data decide", "input decides", "updates"}
    wanted |= {f"axis of {n}" for n in SIZES}
    assert seen >= wanted, wanted - seen


def test_the_generator_knows_the_shapes_of_its_programs():
    for seed in range(60):
        program = Program(seed)
        reference, sequence = program.function("reference"), Sequence(program, seed)
        for sizes in sequence.calls[:4]:
            results = outcome(reference, sequence.arrays(sizes))
            if isinstance(results, Exception):
                continue
            for got, dims in zip(results, program.dims):
                if not any("u" in d for d in dims):
                    assert got.shape == tuple(size_of(d, sizes) for d in dims), program.describe()


def test_a_difference_is_noticed():
    a = [np.arange(1000.0)]
    assert difference(a, [a[0] + 1e-12]) is None
    assert "1 differ" in difference(a, [np.where(a[0] == 7, 7.001, a[0])])
    assert "not float64" in difference([a[0].astype("float32")], a)
    assert "results" in difference(ShapeError("no"), a)
    assert difference(a, a + a) == "1 results, not 2"
