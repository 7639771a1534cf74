"""Program: what a compiled function knows. Binds input shapes to C plans and keeps the statistics.

`bind` is called by the C callable for each new set of shapes: it makes the graph concrete, rewrites
it, plans it, has missing kernels compiled and returns a C Plan. The text of kernels is kept per
process.
"""
import weakref
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .. import compiler, locks
from ..errors import ShapeError, with_line
from ..graph.folding import fold
from ..graph.node import line_of, make
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort
from ..plan.instructions import LOOP, flatten
from . import choice, stored

SERIAL = 1 << 20            # tags of instructions: number of the plan * SERIAL + position
EMITTED = 4096              # kernels whose C text is kept; older ones are emitted again
_emitted = {}
_emit_lock = locks.lock()


def concretise(roots, shapes):
    """`roots` with the leaves in `shapes` ({leaf Node: shape}) of that shape, constants folded."""
    replace = {}
    for leaf, shape in shapes.items():
        if leaf.shape != tuple(shape):
            with line_of(leaf):
                replace[leaf] = make(leaf.op, (), {**leaf.attrs, "shape": tuple(shape)})
        else:
            replace[leaf] = leaf
    return rebuild(roots, replace, fold)


def unknown(roots):
    """Nodes whose shape data decides, even though the shapes of the inputs are known."""
    return [n for n in toposort(roots) if n.outs is None and None in n.shape]


def signature(kernel):
    """What people are told of a kernel: 'rows(float32[1], float32[0]) -> float32[1]'; in brackets
    the stride class along the vector loop."""
    sides = [", ".join(f"{o.dtype}[{o.inner}]" for o in kernel.operands if o.role == role)
             for role in ("in", "out")]
    return f"{kernel.form}({sides[0]}) -> {sides[1]}"


class Kernels:
    """Compiled kernels of one function: {kernel key: (address, record)} and what building took."""

    def __init__(self):
        self.records, self.built, self.from_cache, self.seconds = {}, 0, 0, 0.0

    def addresses(self, kernels):
        """Machine-code addresses of Kernel objects, compiling what is missing in one batch."""
        from ..codegen.emit import emit
        sources = []
        for kernel in kernels:
            key = kernel.key()
            with _emit_lock:
                found = _emitted.get(key)
            if found is None:
                name, text, snippets = emit(kernel)
                found = compiler.KernelSource(name, text, snippets,
                                              meta={"form": kernel.form,
                                                    "signature": signature(kernel)})
                with _emit_lock:
                    _emitted[key] = found
                    if len(_emitted) > EMITTED:
                        del _emitted[next(iter(_emitted))]
            sources.append(found)
        if not sources:
            return []
        build = compiler.build(sources)
        self.built += build.built
        self.from_cache += build.from_cache
        self.seconds += build.seconds
        for kernel, source, key, path, address in zip(kernels, sources, build.keys, build.paths,
                                                      build.addresses):
            self.records.setdefault(source.name, SimpleNamespace(
                name=source.name, key=key, path=path, text=source.text, kernel=kernel,
                address=address))
        return build.addresses

    def adopt(self, found):
        """Count the kernels of a stored plan as this function's."""
        self.from_cache += found.build.from_cache
        for record in found.records:
            self.records.setdefault(record.name, record)


class Instruction(NamedTuple):
    """What people are told about an instruction: its ops, the user's line of the last one, and how
    many loops and branches are around it."""
    name: str
    line: tuple
    depth: int = 0
    kind: int = 0


class Program:
    """The graph of one function and everything made from it.

    rules: choice.Rules, the rewrites to apply and to leave out; None: those of the flags now.
    """

    def __init__(self, inputs, outputs, updates, cells, rules=None):
        self.inputs, self.outputs = inputs, outputs
        self.rules = rules or choice.chosen()
        self.updates = updates                      # [(variable node, new value node)]
        self.cells = cells                          # variable nodes, in cell order
        self.kernels = Kernels()
        self.steps, self.peak_bytes, self.nodes = [], 0, 0      # steps: of the last plan
        self.serial, self.instructions = 0, {}      # {plan's number: its instructions}
        self.bound = None                           # shapes of the leaves in the last plan
        self.lock = locks.rlock()

    def shapes_of(self, arrays):
        """{leaf: shape} for these input arrays; ShapeError where a static size disagrees."""
        shapes = {}
        for node, array in zip(self.inputs, arrays):
            self.check_shape(node, array)
            shapes[node] = array.shape
        for node in self.cells:
            if None in node.shape:
                shapes[node] = node.attrs["store"].get().shape
        return shapes

    @staticmethod
    def check_shape(node, array):
        wrong = [k for k, (a, b) in enumerate(zip(node.shape, array.shape)) if a not in (None, b)]
        if wrong:
            name = node.name or "an input"
            raise with_line(ShapeError(
                f"{name} was declared with shape {show(node.shape)} and got an array of shape "
                f"{show(array.shape)}: axis {wrong[0]} is {array.shape[wrong[0]]} instead of "
                f"{node.shape[wrong[0]]}"), node)

    def concrete(self, shapes):
        """(outputs, updates) rewritten for these leaf shapes."""
        roots = concretise(self.outputs + [new for _, new in self.updates], shapes)
        if unknown(roots):
            return None
        from ..rewrite import optimise
        roots = optimise(roots, self.rules.exclude, self.rules.include)
        return roots[:len(self.outputs)], roots[len(self.outputs):]

    @property
    def optimised(self):
        """The roots after rewriting, for the shapes of the last plan; [] before the first."""
        return [] if self.bound is None else sum(self.concrete(self.bound), [])

    def graph(self):
        """(leaves, roots) as the user wrote them."""
        return self.inputs + self.cells, self.outputs + [new for _, new in self.updates]

    def interpreted(self, shapes):
        """(leaves, roots) for the reference interpreter, rewritten where all shapes are known.

        The rewritten graph, because naive formulas overflow where stable ones do not.
        """
        leaves, roots = self.graph()
        found = concretise(leaves + roots, shapes)
        if unknown(found):
            return leaves, roots
        from ..rewrite import optimise
        roots = optimise(found[len(leaves):], self.rules.exclude, self.rules.include)
        return found[:len(leaves)], roots

    def bind(self, arrays):
        """The C Plan for input arrays of these shapes and strides."""
        from .. import _runtime
        with self.lock:
            self.serial += 1
            serial = self.serial
            self.bound = self.shapes_of(arrays)
            phases = compiler.Phases()
            key, order = stored.describe(self, arrays)
            found = stored.load(key, order) if key else None
            if found is None:
                arguments = self.plan_arguments(arrays)
                if key:
                    stored.save(key, self, arguments, order)
            else:
                arguments = self.adopt(found)
                phases("read a plan of %d instructions from the compiledir", len(self.steps))
            arguments["instrs"][:, 1] += serial * SERIAL
            plan = _runtime.Plan(**arguments)
            self.instructions[serial] = [
                Instruction(s.name, s.line, s.depth, s.kind) for s in self.steps]
            weakref.finalize(plan, self.instructions.pop, serial, None).atexit = False
            return plan

    def adopt(self, found):
        """The arguments of a stored plan, which becomes the last one."""
        self.kernels.adopt(found)
        self.steps, self.nodes = found.steps, found.nodes
        self.peak_bytes = max(self.peak_bytes, found.arguments["arena"])
        return found.arguments

    def instruction(self, tag):
        """The Instruction with this tag, or None when its plan is gone."""
        serial, at = divmod(tag, SERIAL)
        found = self.instructions.get(serial, ())
        return found[at] if 0 <= at < len(found) else None

    def around(self, tag):
        """Names of the loops around the instruction with this tag, innermost first."""
        serial, at = divmod(tag, SERIAL)
        found = self.instructions.get(serial, ())[:at + 1]
        depth = found[-1].depth if found else 0
        for inner in found[::-1]:
            if inner.depth < depth:
                depth = inner.depth
                if inner.kind == LOOP:
                    yield inner.name

    def plan_arguments(self, arrays):
        """Arguments of the C Plan, with tags from 0."""
        from ..plan import binder as planning
        shapes, phases = self.bound, compiler.Phases()
        outputs, updates = self.concrete(shapes)
        phases("rewrote the graph")
        self.check_updates(updates, shapes)
        inputs = {}
        for i, (node, array) in enumerate(zip(self.inputs, arrays)):
            leaf = make(node.op, (), {**node.attrs, "shape": tuple(array.shape)})
            strides = None
            if not array.flags.c_contiguous:
                strides = tuple(s // array.itemsize for s in array.strides)
            inputs[leaf.uid] = (i, strides)
        cells = {}
        for i, node in enumerate(self.cells):
            shape = tuple(shapes.get(node, node.shape))
            cells[make(node.op, (), {**node.attrs, "shape": shape}).uid] = i
        binder = planning.Binder(outputs, updates, inputs, cells)
        steps = binder.run()
        self.nodes = len(binder.order)
        phases("planned %d nodes as %d instructions", self.nodes, len(steps))
        return self.assemble(binder, steps, outputs, updates)

    def check_updates(self, new_values, shapes):
        for (variable, _), new in zip(self.updates, new_values):
            if None not in variable.shape and new.shape != variable.shape:
                name = variable.name or "a variable"
                raise with_line(ShapeError(
                    f"the update of {name} has shape {show(new.shape)}, the variable has "
                    f"{show(variable.shape)}"), new)

    def assemble(self, binder, steps, outputs, updates):
        """Arguments of the C Plan."""
        from ..plan.encode import assemble
        kernels = [s.kernel for s in flatten(steps) if s.kernel is not None]
        self.steps, arguments = assemble(steps, binder, self.kernels.addresses(kernels))
        self.peak_bytes = max(self.peak_bytes, arguments["arena"])
        index = {id(n): i for i, n in enumerate(self.cells)}
        return dict(
            arguments, outputs=[(n.dtype, n.shape) for n in outputs],
            updates=[(index[id(v)], n.dtype, n.shape) for (v, _), n in zip(self.updates, updates)])


def bind_reference(program, arrays):
    """A Plan of one call of the reference interpreter: used where kernels cannot be compiled."""
    from .. import _runtime, reference
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
    return _runtime.Plan(
        instrs=np.array([(2, 0, 0, 0, 0, 1, 1, 1)], dtype=np.int64),
        ptrs=np.array(ptrs, dtype=np.int64).reshape(-1, 3), dims=np.zeros(0, np.int64), arena=0,
        constants=[], outputs=[(n.dtype, n.shape) for n in concrete[:split]],
        updates=[(index[id(v)], n.dtype, n.shape)
                 for (v, _), n in zip(program.updates, concrete[split:])],
        pycalls=[(call, specs, outs)], work=10**6)
