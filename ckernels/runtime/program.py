"""Program: what a compiled function knows. Binds input shapes to C plans and keeps the statistics.

`bind` is called by the C callable for each new set of shapes. Where they belong to a class of
shapes that is known, its template is filled in; else the graph is made concrete, rewritten and
planned, and missing kernels are compiled. The text of kernels is kept per process.
"""

import os
import weakref
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .. import compiler
from ..base import collector, locks
from ..base.config import config
from ..base.errors import (
    CacheError,
    CKernelsError,
    CompileError,
    CompilerMissing,
    KernelsMissing,
    OutOfMemory,
    ShapeError,
    with_line,
)
from ..base.native import runtime
from ..graph.node import current_line
from ..graph.shapes import show
from ..graph.sizes import LEAST, ShapeClass
from ..graph.walk import toposort
from ..plan.concrete import DataDecides, concretise, unknown
from . import choice, stored
from .kinds import kind_of, leaves_of, written_kind

SERIAL = 1 << 20  # tags of instructions: number of the plan * SERIAL + position
EMITTED = 4096  # kernels whose C text is kept; older ones are emitted again
BITS = 58  # of the number of elements of a tensor that fits in no memory
CLASSES = 32  # classes of shapes of one kind whose templates a function keeps
OF_THE_MACHINE = (CompileError, CompilerMissing, CacheError, OutOfMemory)  # not of the sizes
_emitted = {}
_emit_lock = locks.lock()


def signature(kernel):
    """What people are told of a kernel: 'rows(float32[1], float32[0]) -> float32[1]'; in brackets
    the stride class along the vector loop."""
    sides = [
        ", ".join(f"{o.dtype}[{o.inner}]" for o in kernel.operands if o.role == role)
        for role in ("in", "out")
    ]
    return f"{kernel.form}({sides[0]}) -> {sides[1]}"


class Kernels:
    """Compiled kernels of one function: {kernel key: (address, record)} and what building took."""

    def __init__(self):
        self.records, self.built, self.from_cache, self.seconds = {}, 0, 0, 0.0

    def addresses(self, kernels):
        """Machine-code addresses of Kernel objects, compiling what is missing in one batch."""
        from ..codegen.emit import emit  # start-up

        sources = []
        for kernel in kernels:
            key = kernel.key()
            with _emit_lock:
                found = _emitted.get(key)
            if found is None:
                name, text, snippets = emit(kernel)
                found = compiler.KernelSource(
                    name,
                    text,
                    snippets,
                    meta={"form": kernel.form, "signature": signature(kernel)},
                    alone=kernel.form == "own",
                )
                with _emit_lock:
                    _emitted[key] = found
                    if len(_emitted) > EMITTED:
                        del _emitted[next(iter(_emitted))]
            sources.append(found)
        if not sources:
            return []
        if compiler.ready_made():
            refuse_missing(kernels, sources)
        build = compiler.build(sources)
        self.built += build.built
        self.from_cache += build.from_cache
        self.seconds += build.seconds
        for kernel, source, key, path, address in zip(
            kernels, sources, build.keys, build.paths, build.addresses
        ):
            self.records.setdefault(
                source.name,
                SimpleNamespace(
                    name=source.name,
                    key=key,
                    path=path,
                    text=source.text,
                    length=len(source.text),
                    kernel=kernel,
                    address=address,
                ),
            )
        return build.addresses

    def adopt(self, records, build, planned_for):
        """Count the kernels of a stored plan among those of this function."""
        self.from_cache += build.from_cache
        for record in records:
            record.planned_for = planned_for
            self.records.setdefault(record.name, record)


class InstructionLine(NamedTuple):
    """What people are told about an instruction: its ops, the user's line of the last one, and how
    many scans and branches are around it."""

    name: str
    line: tuple
    depth: int = 0
    kind: int = 0


class Program:
    """The graph of one function and everything made from it.

    rules: choice.Rules, the rewrites to apply and to leave out; None: those of the flags now.
    c_order: whether all results lie in C order, whatever their operands do. homes, asked: as
    `make_function` has them.
    """

    def __init__(
        self, inputs, outputs, updates, cells, rules=None, c_order=False, homes=None, asked=None
    ):
        self.inputs, self.outputs = inputs, outputs
        self.rules, self.c_order = rules or choice.chosen(), c_order
        self.homes, self.asked = homes or {}, asked
        self.updates = updates  # [(variable node, new value node)]
        self.cells = cells  # variable nodes, in cell order
        self.kernels, self.refused = Kernels(), frozenset()
        self.partly = None  # why NumPy runs some of the loops, or all
        self.instructions, self.peak_bytes, self.nodes = [], 0, 0  # those of the last plan
        self.serial, self.told = 0, {}  # {plan's number: its instructions}
        self.bound = None  # shapes of the leaves in the last plan
        self.least = 1  # sizes below are numbers of the last plan: see `found`
        self.templates = {}  # {kind of shapes: [Template], latest first}
        self.assumptions = []  # of the last plan: (text, line, taken)
        self.described = None  # key and order of the graph: see stored.py
        self.places = {}  # {kind: the key under which its next plan is stored}
        self.lock = locks.rlock()
        self.misfit = ShapeError  # for an array that a static size of its input refuses
        self.callable = None  # weak, of the C callable, which learns to plan without this object

    def shapes_of(self, arrays):
        """{leaf: shape} for these input arrays; ShapeError where a static size disagrees."""
        shapes = {}
        for node, array in zip(self.inputs, arrays):
            self.check_shape(node, array, self.misfit)
            shapes[node] = array.shape
        for node in self.cells:
            if None in node.shape:
                shapes[node] = node.attrs["store"].get().shape
        return shapes

    @staticmethod
    def check_shape(node, array, misfit=ShapeError):
        wrong = [k for k, (a, b) in enumerate(zip(node.shape, array.shape)) if a not in (None, b)]
        if wrong:
            name = node.name or "an input"
            raise with_line(
                misfit(
                    f"{name} was declared with shape {show(node.shape)} and got an array of shape "
                    f"{show(array.shape)}: axis {wrong[0]} is {array.shape[wrong[0]]} instead of "
                    f"{node.shape[wrong[0]]}"
                ),
                node,
            )

    def drafted(self, until):
        """The Draft for the shapes of the last call, all contiguous, after the named stage."""
        sizes = ShapeClass(current_line)
        arrays = [Contiguous(self.bound[n]) for n in self.inputs]
        shapes, *_ = leaves_of(self, arrays, sizes, self.least)
        from ..plan import pipeline  # start-up: stored plans do without

        return pipeline.run(self.draft(sizes, shapes, {}), until=until)

    @property
    def optimised(self):
        """The roots after rewriting, for the shapes of the last plan; [] before the first."""
        return [] if self.bound is None else self.drafted("rewrite").roots

    def graph(self):
        """(leaves, roots) as the user wrote them."""
        return self.inputs + self.cells, self.outputs + [new for _, new in self.updates]

    def interpreted(self, shapes):
        """(leaves, roots) for the reference interpreter, rewritten where all shapes are known.

        The rewritten graph, because naive formulas overflow where stable ones do not.
        """
        leaves, roots = self.graph()
        found = concretise(leaves + roots, shapes)
        if unknown(toposort(found)):
            return leaves, roots
        from ..rewrite import optimise  # start-up

        roots = optimise(found[len(leaves) :], self.rules.exclude, self.rules.include)
        return found[: len(leaves)], roots

    def bind(self, arrays):
        """The C Plan for input arrays of these shapes and strides."""
        try:
            return self.plan(arrays)
        except (OverflowError, MemoryError) as problem:
            if isinstance(problem, CKernelsError):
                raise
            raise self.too_large(arrays) from problem

    def too_large(self, arrays):
        """The OutOfMemory of a plan in which some number is beyond all addresses."""
        shapes = ", ".join(show(a.shape) for a in arrays) or "none"
        found = OutOfMemory(
            "the function has a tensor of more elements than there are addresses, with inputs of "
            f"the shapes {shapes}"
        )
        for node in toposort(concretise(self.graph()[1], self.bound)):
            size = node.size if node.outs is None else None
            if size is not None and size >> BITS:
                return with_line(found, node)
        return found

    def plan(self, arrays):
        """The same; OverflowError or MemoryError where a number is beyond all addresses."""
        with self.lock:
            self.bound = self.shapes_of(arrays)
            found, arguments = self.found(arrays)
            self.instructions, self.nodes = found.instructions, found.nodes
            self.assumptions = found.assumptions
            self.peak_bytes = max(self.peak_bytes, arguments["arena"])
            self.serial += 1
            arguments["instrs"][:, 1] += self.serial * SERIAL
            plan = runtime.Plan(**arguments)
            self.told[self.serial] = found.told
            weakref.finalize(plan, self.told.pop, self.serial, None).atexit = False
            fast = self.callable and self.callable()
            learned = fast and found.learned(plan, written_kind(self, arrays, self.least))
            if learned:
                fast.learn(learned)
            return plan

    def found(self, arrays):
        """(Template, arguments) of the class of these arrays.

        The plan of a class does not assume that its sizes are above 1, and a size of 1 belongs to
        it like any other, whichever came first. Where that cannot be, as where a size of 1 is
        broadcast to another, a class is found or made for this size alone.
        """
        ways = [(1, *kind_of(self, arrays, 1)), (LEAST, *kind_of(self, arrays))]
        if ways[0][1] == ways[1][1]:
            del ways[1]
        for get in (self.known, partial(self.stored, arrays)):
            for self.least, kind, symbols in ways:
                found = get(kind, symbols)
                if found:
                    return found
        for self.least, kind, symbols in ways:
            try:
                return self.new(arrays, kind, symbols)
            except CKernelsError as problem:
                if self.least == ways[-1][0] or isinstance(problem, OF_THE_MACHINE):
                    raise

    def known(self, kind, symbols):
        """(Template, arguments) of a known class to which these shapes belong, or None."""
        templates = self.templates.get(kind, ())
        for k, found in enumerate(templates):
            arguments = found.fill(symbols)
            if arguments is not None:
                if k:
                    templates.insert(0, templates.pop(k))
                return found, arguments
        return None

    def stored(self, arrays, kind, symbols):
        """(Template, arguments) that the compiledir has for these shapes, or None."""
        phases = compiler.Phases()
        if self.described is None:
            with collector.later():
                self.described = stored.describe(self)
        key, order = self.described
        if not key:
            return None
        found, records, build, self.places[kind] = stored.load(key, kind, symbols, order)
        if found is None:
            return None
        self.kernels.adopt(records, build, ([outline(a) for a in arrays], self.bound, self.least))
        found.told = told(found.instructions)
        phases("read a plan of %d instructions from the compiledir", len(found.instructions))
        return self.keep(kind, found), found.fill(symbols)

    def texts(self):
        """The C of each kernel; of a stored plan it is in a note beside the kernel, and made again
        where that is gone, as from a directory that was full, or never came along."""
        made = {}
        for record in list(self.kernels.records.values()):
            text = record.text or made.get(record.name)
            if not text:
                made.update(self.emitted(*record.planned_for))
                text = made.get(record.name, "")
            yield text

    def emitted(self, arrays, bound, least):
        """{name of a kernel: its C} of the plan for arrays that lie like these."""
        from ..codegen.emit import emit  # start-up
        from ..plan import pipeline  # start-up
        from ..plan.instructions import flatten  # start-up

        with self.lock:
            now, self.bound = self.bound, bound
            try:
                for make in self.drafts(arrays, least):
                    draft = make()
                    try:
                        pipeline.run(draft, until="lower")
                        break
                    except DataDecides:
                        continue
            finally:
                self.bound = now
        kernels = [i.kernel for i in flatten(draft.instructions) if i.kernel is not None]
        return {name: text for name, text, _ in map(emit, kernels)}

    def drafts(self, arrays, least):
        """Two functions that make a Draft: for a class of shapes, and for these alone, where data
        decides a shape."""

        def make(particular):
            sizes = ShapeClass() if particular else ShapeClass(current_line)
            shapes, strides, loose = leaves_of(self, arrays, sizes, least, particular)
            return self.draft(sizes, shapes, strides, not particular, loose)

        return partial(make, False), partial(make, True)

    def new(self, arrays, kind, symbols):
        """(Template, arguments) for a class of shapes met for the first time by anybody."""
        found, arguments = self.template(arrays)
        place = self.places.pop(kind, None)
        if place:
            stored.save(place, self, found, self.described[1])
        return self.keep(kind, found), arguments

    def keep(self, kind, found):
        templates = self.templates.setdefault(kind, [])
        templates.insert(0, found)
        del templates[CLASSES:]
        return found

    def instruction(self, tag):
        """The Instruction with this tag, or None when its plan is gone."""
        serial, at = divmod(tag, SERIAL)
        found = self.told.get(serial, ())
        return found[at] if 0 <= at < len(found) else None

    @staticmethod
    def place(tag):
        """The number of the instruction with this tag in its plan."""
        return tag % SERIAL

    def around(self, tag):
        """Names of the scans around the instruction with this tag, innermost first."""
        from ..plan.instructions import SCAN  # start-up

        serial, at = divmod(tag, SERIAL)
        found = self.told.get(serial, ())[: at + 1]
        depth = found[-1].depth if found else 0
        for inner in found[::-1]:
            if inner.depth < depth:
                depth = inner.depth
                if inner.kind == SCAN:
                    yield inner.name

    def plan_arguments(self, arrays):
        """Arguments of the C Plan, with tags from 0."""
        return self.template(arrays)[1]

    def template(self, arrays):
        """(the Template of the class of shapes of these arrays, the arguments of their plan)."""
        of_class, of_these = self.drafts(arrays, self.least)
        try:
            found, arguments = self.filled(of_class, arrays)
        except DataDecides:  # or sizes are computed in ways that symbols cannot express
            arguments = None
        if arguments is None:  # or an expression leaves 64 bits at these sizes
            found, arguments = self.filled(of_these, arrays)
        return found, arguments

    def filled(self, make, arrays):
        """(the Template of the Draft that `make` makes, the arguments of its plan)."""
        found = self.planned(make)
        return found, found.fill(kind_of(self, arrays, self.least)[1])

    def planned(self, make):
        """The Template of the Draft that `make` makes; DataDecides where data decides a shape."""
        from ..plan import pipeline  # start-up

        phases, draft = compiler.Phases(), make()
        try:
            pipeline.run(draft, lambda stage: phases("%s", stage.replace("_", " ")))
        except KernelsMissing as problem:
            if config.on_compile_error == "raise" or self.refused >= problem.kernels:
                raise
            self.refused |= problem.kernels  # NumPy runs what they would have computed
            self.partly = problem
            return self.planned(make)
        found = draft.template
        self.nodes, self.instructions = found.nodes, found.instructions
        found.told = told(found.instructions)
        return found

    def draft(self, sizes, shapes, strides, exact=False, loose=frozenset()):
        """The Draft of a plan for leaves of these shapes."""
        from ..plan.pipeline import Draft  # start-up

        return Draft(
            self.inputs,
            self.outputs,
            self.updates,
            self.cells,
            self.rules,
            sizes,
            shapes,
            strides,
            self.kernels.addresses,
            exact,
            self.refused,
            loose=loose,
            c_order=self.c_order,
            homes=self.homes,
            asked=self.asked,
        )


def refuse_missing(kernels, sources):
    """KernelsMissing where some of these Kernels, with their sources, cannot be had."""
    names = compiler.lacking(sources)
    if names:
        gone = {k.key() for k, source in zip(kernels, sources) if source.name in names}
        raise KernelsMissing(
            f"ckernels found no C compiler, and {len(names)} of the {len(sources)} kernels of a "
            "function did not come with it",
            compiler.toolchain.install_hint(),
            gone,
        )


def told(instructions):
    """What people are told of the instructions of a plan."""
    return [InstructionLine(s.name, s.line, s.depth, s.kind) for s in instructions]


def show_assumption(text, line, taken):
    """An assumption of a plan in one line."""
    where = f"  ({os.path.basename(line[0])}:{line[1]})" if line else ""
    return f"{text}{'  (this size only)' if taken else ''}{where if taken else ''}"


def outline(array):
    """How an array lies, without its memory."""
    given = array.flags
    flags = SimpleNamespace(c_contiguous=given.c_contiguous, aligned=given.aligned)
    return SimpleNamespace(
        shape=array.shape, strides=array.strides, itemsize=array.itemsize, flags=flags
    )


class Contiguous:
    """Stands for a C-contiguous array of this shape where only its layout is asked for."""

    flags = SimpleNamespace(c_contiguous=True, aligned=True)

    def __init__(self, shape):
        self.shape = tuple(shape)


def bind_reference(program, arrays):
    """A Plan of one call of the reference interpreter: used where kernels cannot be compiled."""
    from ..ops import reference  # start-up

    leaves, concrete = program.interpreted(program.shapes_of(arrays))
    count = len(program.inputs)
    specs, ptrs = [], []
    for i, array in enumerate(arrays):
        ptrs.append((1, i, 0))
        specs.append((i, program.inputs[i].dtype, array.shape, array.strides))
    for i, node in enumerate(program.cells):
        value = node.attrs["store"].get()
        ptrs.append((2, i, 0))
        specs.append((count + i, node.dtype, value.shape, value.strides))
    outs = []
    for i, node in enumerate(concrete):
        space = (3, i) if i < len(program.outputs) else (4, i - len(program.outputs))
        array = np.empty(node.shape, node.dtype)
        ptrs.append((*space, 0))
        outs.append((len(leaves) + i, node.dtype, node.shape, array.strides))

    def call(inputs, outputs):
        values = reference.evaluate(concrete, dict(zip(leaves, inputs)))
        for out, value in zip(outputs, values):
            out[...] = value

    index = {id(n): i for i, n in enumerate(program.cells)}
    split = len(program.outputs)
    return runtime.Plan(
        instrs=np.array([(2, 0, 0, 0, 0, 1, 1, 1)], dtype=np.int64),
        ptrs=np.array(ptrs, dtype=np.int64).reshape(-1, 3),
        dims=np.zeros(0, np.int64),
        arena=0,
        constants=[],
        outputs=[(n.dtype, n.shape) for n in concrete[:split]],
        updates=[
            (index[id(v)], n.dtype, n.shape) for (v, _), n in zip(program.updates, concrete[split:])
        ],
        pycalls=[(call, specs, outs)],
        work=10**6,
    )
