"""Function: the callable behind `K.function`, in one of three ways of running.

Compiled: a C callable bound to a Program. Staged: shapes depend on data, so the graph runs in
pieces with NumPy between them. Reference: NumPy throughout, where there is no compiler or it was
asked for. All three coerce arguments, apply updates after the outputs and offer `stats`, `source`
and `copy`.
"""

import copyreg
import os
import warnings
import weakref
from contextlib import nullcontext

from ..base import given, locks, native
from ..base.config import config
from ..base.errors import (
    ArgumentError,
    CKernelsWarning,
    CompileError,
    DTypeError,
    IndexOutOfBounds,
    LinearAlgebraError,
    OutOfMemory,
    user_line,
    with_line,
)
from ..base.native import runtime
from ..compiler import CompilerMissing
from ..compiler.toolchain import install_hint
from ..graph.pickled import Graph
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort
from ..ops import reference
from ..plan.agreement import check_records
from ..plan.concrete import DataDecides
from . import choice
from .arguments import Arguments
from .common import FunctionBase, apply_updates, finish, pickled, updating
from .data_dependent import data_decides
from .program import Program, bind_reference, show_assumption
from .state import snapshot

if runtime is not None:
    check_records(runtime)

SHAPES = 64  # sets of shapes whose rewritten graph an interpreted function keeps
_warned = set()  # what was warned of: complaints of compilers, None for all else
_applied = None
DEFAULTS = (True, "", 512 << 20)  # of openmp, blas and pool
_warn_lock = locks.lock()
KEPT = (  # of a Spec by its copies and pickles, beside the graph
    "single",
    "name",
    "mode",
    "defaults",
    "downcast",
    "positional_only",
    "check",
    "profile",
    "rules",
    "c_order",
    "terse",
)


def make_function(
    inputs,
    outputs,
    updates=(),
    single=False,
    name=None,
    mode=None,
    defaults=None,
    downcast=None,
    positional_only=False,
    check=None,
    profile=None,
    order=None,
    coerce=None,
    c_order=False,
    terse=False,
    homes=None,
    asked=None,
):
    """The callable for a graph.

    inputs: placeholder Nodes; outputs: Nodes; updates: [(variable Node, new value Node)]; single:
    return the one output itself; defaults: {input index: array}; downcast: None casts floats down
    as Keras did, False refuses lossy casts, True allows all. mode: "compiled", "fast_compile",
    "reference" or "debug". check: "nan" looks for NaN and inf in what each call computes; profile:
    measure each instruction. None stands for the flag of that name. order: all nodes of the graph,
    inputs before users, where that is known. coerce(i, value): what C asks for an argument that is
    no array of the dtype and rank of input i, in place of `Arguments.coerce`. c_order: results
    lie in C order, whatever their operands do. terse: nobody reads what an index out of bounds or a
    value without a result is told with, for which the whole graph would run again in NumPy.
    homes: {number of an output: number of the input whose last value it is}; the input itself may
    be changed and is the result then, where nothing can fail half way: its array is to be
    C-contiguous, aligned and writeable, and no other one may share its memory. asked: number of an
    output, a bool, where that is done only if it is true.
    """
    spec = Spec(
        list(inputs),
        list(outputs),
        list(updates),
        single,
        name,
        mode or config.mode,
        dict(defaults or {}),
        downcast,
        positional_only,
        config.check if check is None else check or "none",
        config.profile if profile is None else profile,
        order=order,
        c_order=c_order,
        terse=terse,
    )
    spec.homes, spec.asked = homes or {}, asked
    if coerce is not None:
        spec.coerce = coerce
    return spec.callable()


class Spec(Arguments):
    """What was asked for; makes the callable and its copies."""

    homes, asked = {}, None  # of copies: they have results of their own

    def __init__(
        self,
        inputs,
        outputs,
        updates,
        single,
        name,
        mode,
        defaults,
        downcast,
        positional_only,
        check="none",
        profile=False,
        rules=None,
        order=None,
        c_order=False,
        terse=False,
    ):
        self.inputs, self.outputs, self.updates = inputs, outputs, updates
        self.single, self.name, self.mode = single, name, mode
        self.defaults, self.downcast, self.positional_only = defaults, downcast, positional_only
        self.check, self.profile, self.c_order, self.terse = check, profile, c_order, terse
        self.rules = rules or choice.chosen(mode)
        if check not in ("none", "nan"):
            raise ArgumentError(f"check is 'nan' or 'none', not {check!r}")
        order = order or toposort(self.roots())
        self.cells = [n for n in order if n.op.name == "variable"]
        self.scans = any(n.op.name == "scan" for n in order)
        self.decided = data_decides(order)
        for variable, _ in updates:
            if variable not in self.cells:
                self.cells.append(variable)

    def like(self, **changes):
        """The Spec with other `outputs`, `updates`, `mode`, ..."""
        return Spec(**self.options(changes))

    def options(self, changes):
        """The arguments that make this Spec, with `changes`."""
        names = ("inputs", "outputs", "updates", *KEPT)
        return {name: getattr(self, name) for name in names} | changes

    def plain(self, outputs, **changes):
        """The Spec of a function that only computes the list `outputs`: no updates, no checks."""
        return self.like(
            **{
                **dict(
                    outputs=list(outputs),
                    updates=[],
                    single=False,
                    defaults={},
                    positional_only=True,
                    check="none",
                    profile=False,
                ),
                **changes,
            }
        )

    def __reduce__(self):
        kept = {name: getattr(self, name) for name in KEPT}
        news = [new for _, new in self.updates]
        graph = Graph([*self.inputs, *self.outputs, *(v for v, _ in self.updates), *news])
        return _spec, (graph, len(self.inputs), len(self.outputs), kept)

    def callable(self):
        apply_flags()
        if self.mode == "debug":
            from .debug import DebugFunction  # start-up: seldom used

            return DebugFunction(self)
        if self.check == "nan":
            from .debug import CheckedFunction  # start-up: seldom used

            return CheckedFunction(self)
        if self.mode == "reference" or runtime is None:
            if self.mode != "reference":
                no_runtime()
            return ReferenceFunction(self)
        spec = self.counted()
        if spec.decided:
            spec = spec.unmasked()
        if spec.decided:
            from .staged import StagedFunction  # start-up: seldom used

            return StagedFunction(spec)
        return spec.compiled()

    def compiled(self):
        """The C callable, for a graph of which no shape is decided by data."""
        return CompiledFunction(self).callable()

    def program(self):
        """The Program of this graph, with the rewrites of its mode."""
        return Program(
            self.inputs,
            self.outputs,
            self.updates,
            self.cells,
            self.rules,
            self.c_order,
            self.homes,
            self.asked,
        )

    def roots(self):
        return self.outputs + [new for _, new in self.updates]

    def counted(self):
        """This Spec with scans that run as often as an input says without a plan for each, and
        without sizes computed from data inside of their steps."""
        if not self.scans:
            return self
        from .data_dependent import count_steps, size_steps, sizes_outside  # start-up

        return self.of_roots(sizes_outside(count_steps(size_steps(self.roots()))))

    def unmasked(self):
        """This Spec with choices for what is read and written at one mask: fewer sizes that data
        decides."""
        from ..rewrite import masked  # start-up

        return self.of_roots(masked(self.roots(), self.rules.exclude, self.rules.include))

    def of_roots(self, new):
        """This Spec with other outputs and values of its updates."""
        if new == self.roots():
            return self
        count = len(self.outputs)
        made = self.like(
            outputs=new[:count], updates=[(v, x) for (v, _), x in zip(self.updates, new[count:])]
        )
        made.homes, made.asked = self.homes, self.asked
        return made

    def fail(self, code, node, arrays):
        """The exception for a kernel's return code, in the words of the reference interpreter."""
        if code == 2:
            shapes = ", ".join(show(a.shape) for a in arrays) or "none"
            return OutOfMemory(
                f"{self.title()} ran out of memory with inputs of the shapes "
                f"{shapes}; call it with smaller ones"
            )
        try:
            if not self.terse:
                reference.evaluate(self.roots(), dict(zip(self.inputs, arrays)))
        except Exception as found:
            return found
        what = node.name if node else "a step"
        error = IndexOutOfBounds("an index is out of bounds")
        if code == 4:  # a matrix on the edge of what can be decomposed, in another order of sums
            error = LinearAlgebraError(f"{what} has no result for the values it was given")
        return with_line(error, node) if node else error

    # ---- copies -------------------------------------------------------------------------------

    def copy(self, swap=None, delete_updates=False, name=None):
        """The callable of this graph with variables swapped: see `FunctionBase.copy`."""
        replace = {}
        for old, new in given.items(swap, "swap of copy, {variable: another},"):
            old, new = getattr(old, "node", old), getattr(new, "node", new)
            if old not in self.cells:
                raise ArgumentError(
                    "copy(swap=...): a variable to be swapped is not in the function"
                )
            if old.dtype != new.dtype or old.ndim != new.ndim:
                raise DTypeError(
                    f"copy(swap=...) cannot put a {new.dtype} variable of {new.ndim} "
                    f"dimensions for a {old.dtype} one of {old.ndim}"
                )
            replace[old] = new
        name = given.name(name) or self.name
        deleted = given.flag(delete_updates, "delete_updates")
        updates = [] if deleted else self.updates
        roots = rebuild(self.outputs + [new for _, new in updates], replace)
        outputs = roots[: len(self.outputs)]
        updates = [(replace.get(v, v), new) for (v, _), new in zip(updates, roots[len(outputs) :])]
        return self.like(outputs=outputs, updates=updates, name=name).callable()


def _spec(graph, inputs, outputs, kept):
    """The Spec of a pickle."""
    roots = iter(graph.roots)
    ins = [next(roots) for _ in range(inputs)]
    outs = [next(roots) for _ in range(outputs)]
    rest = list(roots)
    half = len(rest) // 2
    return Spec(ins, outs, list(zip(rest[:half], rest[half:])), **kept)


if runtime is not None:
    copyreg.pickle(runtime.Function, pickled)


class CompiledFunction(FunctionBase):
    """Owns the Program; `fast` is the C callable handed to the user."""

    def __init__(self, spec):
        super().__init__(spec)
        self.program = spec.program()
        self.pieces = None  # a StagedFunction, once some shapes needed one
        self.of_snapshot = None  # a SnapshotFunction, once shapes changed while a plan was made

    def callable(self):
        """The C callable; it owns this object, which refers to it weakly."""
        spec = self.spec
        index = {id(n): i for i, n in enumerate(spec.cells)}
        fast = runtime.Function(
            bind=self.bind,
            coerce=spec.coerce,
            fail=self.fail,
            inputs=[(n.dtype, n.ndim) for n in spec.inputs],
            cells=[n.attrs["store"].cell for n in spec.cells],
            updated=[index[id(v)] for v, _ in spec.updates],
            single=spec.single,
            flexible=[i for i, n in enumerate(spec.cells) if None in n.shape],
            positional_only=spec.positional_only,
        )
        fast.info = self
        self._fast = weakref.ref(fast)
        if not any(None in n.shape for n in spec.cells):
            self.program.callable = self._fast
        if spec.profile:
            from .profile import watch  # start-up

            fast.profile(True)
            watch(fast)
        return fast

    def bind(self, arrays):
        if self.pieces is not None:
            return self.pieces
        before = self.changing_shapes()
        try:
            plan = self.program.bind(arrays)
            if self.program.partly is not None:
                warn_numpy(self.program.partly, " in part")
            return plan if self.changing_shapes() == before else self.steadily()
        except DataDecides:
            return self.in_pieces()
        except (CompilerMissing, CompileError) as problem:
            if config.on_compile_error == "raise":
                raise
            self.program.partly = problem
            warn_numpy(problem)
            return bind_reference(self.program, arrays)

    def changing_shapes(self):
        """The present shapes of the variables that may change theirs."""
        return [n.attrs["store"].get().shape for n in self.spec.cells if None in n.shape]

    def steadily(self):
        """The same function of values that were read before; see snapshots.py."""
        from .snapshots import SnapshotFunction  # start-up: seldom used

        if self.of_snapshot is None:
            self.of_snapshot = SnapshotFunction(self.spec)
        return self.of_snapshot

    def in_pieces(self):
        """The same function cut where data decides a shape."""
        from .staged import StagedFunction  # start-up: seldom used

        if self.pieces is None:
            self.pieces = StagedFunction(self.spec)
        return self.pieces

    def fail(self, code, tag, arrays, steps=(), error=None):
        """The exception for a failure; `error`: what Python raised in these steps of scans."""
        if error is None:
            error = self.spec.fail(code, self.program.instruction(tag), arrays)
        where = "".join(
            f" (in step {t} of the {name})"
            for t, name in zip(steps[::-1], self.program.around(tag))
        )
        sentence = str(error.args[0]) if error.args else ""
        if where and "(in step " not in sentence:
            error.args = (f"{sentence}{where}", *error.args[1:])
        return error

    @staticmethod
    def c_function(fast, signature, *arrays, bound=None):
        """What `f.address(...)` gives: see `FunctionBase.address`."""
        from . import cfunction  # start-up: few ask for one

        return cfunction.make(fast, fast.info.spec, signature, arrays, bound)

    def stats(self):
        if self.pieces is not None:
            return self.pieces.stats()
        program, kernels = self.program, self.program.kernels
        return {
            "nodes": program.nodes,
            "instructions": len(program.instructions),
            "kernels": [
                {
                    "name": r.name,
                    "key": r.key,
                    "path": r.path,
                    "form": r.kernel.form,
                    "source": os.path.splitext(r.path)[0] + ".json",
                    "inputs": sum(o.role == "in" for o in r.kernel.operands),
                    "outputs": sum(o.role == "out" for o in r.kernel.operands),
                }
                for r in kernels.records.values()
            ],
            "built": kernels.built,
            "from_cache": kernels.from_cache,
            "compile_seconds": kernels.seconds,
            "plans": self._fast().plans,
            "classes": sum(map(len, program.templates.values())),
            "peak_bytes": max(program.peak_bytes, self._fast().peak_bytes),
        }

    def profile_table(self):
        from .profile import table  # start-up

        if self.pieces is not None:
            return self.pieces.profile_table()
        data = self._fast().profile_data()
        return table(self.program, data, self.name or "function", self.spec.profile)

    profile_table.__doc__ = FunctionBase.profile_table.__doc__

    def timeline(self):
        from .timeline import timeline  # start-up

        if self.pieces is not None:
            return self.pieces.timeline()
        data = self._fast().span_data()
        return timeline(self.program, data, self.name or "function", self.spec.profile)

    timeline.__doc__ = FunctionBase.timeline.__doc__

    def assumptions(self):
        return [show_assumption(*row) for row in self.program.assumptions]

    def source(self):
        if self.pieces is not None:
            return self.pieces.source()
        return "\n".join(self.program.texts())

    def steps(self):
        if self.pieces is not None:
            return self.pieces.steps()
        return [f"{k}: {'  ' * s.depth}{s.name}" for k, s in enumerate(self.program.instructions)]


class ReferenceFunction(FunctionBase):
    """Runs the graph in NumPy. Slow and right; needs no compiler."""

    def __init__(self, spec):
        super().__init__(spec)
        self.program, self.graphs = spec.program(), {}
        self.stores = [n.attrs["store"] for n in spec.cells]
        self.alone = bool(spec.updates) or any(None in n.shape for n in spec.cells)

    def __call__(self, *args, **kwargs):
        spec = self.spec
        arrays = spec.arrange(args, kwargs)
        with updating if self.alone else nullcontext():
            leaves, roots = self.graph(arrays)
            values = arrays + snapshot(self.stores)
            values = reference.evaluate(roots, dict(zip(leaves, values)))
            count = len(spec.outputs)
            apply_updates(spec.updates, values[count:])
        return finish(values[:count], spec)

    def graph(self, arrays):
        """(leaves, roots) to evaluate: in mode "reference" what the user wrote, to the letter."""
        shapes = self.program.shapes_of(arrays)
        if self.spec.mode == "reference":
            return self.program.graph()
        key = tuple(shapes.values())
        found = self.graphs.get(key)
        if found is None:
            if len(self.graphs) >= SHAPES:
                self.graphs.clear()
            found = self.graphs[key] = self.program.interpreted(shapes)
        return found


def no_runtime():
    """What to do without the C runtime: warn, or raise where that was asked for."""
    problem = CompilerMissing(
        native.why_none(), f"{install_hint()} With a compiler, install ckernels again."
    )
    if config.on_compile_error == "raise":
        raise problem
    warn_numpy(problem)


def warn_numpy(problem, part=""):
    """One warning per process when compiled mode is out of reach, with what to do about it; of
    kernels that the compiler refuses, one for each of its complaints."""
    complaint = getattr(problem, "complaint", None)
    with _warn_lock:
        first = complaint not in _warned
        _warned.add(complaint)
    if first:
        advice = getattr(problem, "install", "") or "Other functions may still be compiled."
        reason = str(problem).removesuffix(advice).strip()
        warnings.warn_explicit(
            f"ckernels runs{part} through NumPy, slowly: {reason}. {advice} "
            "`ckernels doctor` tells more.",
            CKernelsWarning,
            *(user_line() or ("<unknown>", 0))[:2],
        )


def apply_flags():
    """Hand the flags `openmp`, `blas` and `pool` to the runtime, once for each new value.

    A flag at its default does nothing, so that a number of threads or a BLAS that was set through
    functions stays.
    """
    global _applied
    wanted = (config.openmp, config.blas, config.pool)
    before = _applied or DEFAULTS
    if runtime is None or wanted == before:
        return
    if not config.openmp:
        runtime.set_num_threads(1)
    elif not before[0]:
        runtime.set_num_threads(None)
    if config.blas != before[1]:
        runtime.blas_use(config.blas or None)
    if config.pool != before[2]:
        runtime.pool_limit(config.pool)
    _applied = wanted
