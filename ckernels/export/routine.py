"""One function with shapes that never change, or that follow from one size n: its instructions
and where all buffers lie.

Plans the function as a call would, up to the compiler, then decides what the runtime decides in a
call: an update writes to its variable where nothing else needs the old value, else it waits in the
arena until the end. What has no C is refused here, by its name and the user's line. Writes no C.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..api.operands import static_shape
from ..base import given
from ..base.config import config
from ..base.dtypes import ITEMSIZE, is_float
from ..base.errors import (
    ArgumentError,
    CKernelsError,
    DTypeError,
    NotSupported,
    ShapeError,
    with_line,
)
from ..base.native import runtime
from ..graph.shapes import show
from ..graph.sizes import LEAST, ShapeClass
from ..plan import pipeline
from ..plan.instructions import (
    Instruction,
    Native,
    PyCall,
    RuntimeCall,
    Scan,
    flatten,
    touched,
    words,
)
from ..plan.memory import arrange
from ..plan.native import WITH_SCRATCH
from . import portable
from .argument import holds, largest, shape_at, spans, within
from .natives import NATIVES, REFUSED

VARIANTS = 8  # of one function, at most


@dataclass(kw_only=True)
class UpdateCopy(Instruction):
    """An instruction that only this room has: `n` bytes of the arena are copied to a variable."""

    n: int


@dataclass
class Variant:
    """instructions: of the top level; offsets: {buffer: bytes in the arena}; sizes: the ShapeClass
    of their expressions; n: for which it was made; fits: spans of the n for which it is right."""

    instructions: list
    offsets: dict
    arena: int
    constants: list
    outputs: list  # (dtype, shape)
    sizes: object = None
    n: int = None
    fits: list = field(default_factory=list)


@dataclass
class Routine:
    """name: of the C function; cells: variable nodes; written: indices of those that updates
    write; batch: the largest n, or None where all shapes are fixed; variants: one for all n, or
    several for parts of them."""

    name: str
    spec: object
    cells: list
    written: list
    inputs: list  # (dtype, shape), where sizes may be those of the first plan
    variants: list
    batch: int = None

    @property
    def instructions(self):
        return self.variants[0].instructions

    @property
    def outputs(self):
        return self.variants[0].outputs

    def sizes_of(self, k):
        """[(spans of n, shape of output k)] where the first variant has another one; then
        (None, its own), for all other n."""
        usual, found = self.outputs[k][1], []
        for plan in self.variants[1:]:
            shape = plan.outputs[k][1]
            for low, high in plan.fits:
                if any(shape_at(shape, n) != shape_at(usual, n) for n in range(low, high + 1)):
                    found.append((plan.fits, shape))
                    break
        return [*found, (None, usual)]

    @property
    def arena(self):
        return max(plan.arena for plan in self.variants)


def spec_of(f):
    """The Spec of what K.function returned; ArgumentError for anything else."""
    info = getattr(f, "info", f)
    spec = getattr(info, "spec", None)
    if spec is None or not hasattr(spec, "updates"):
        raise ArgumentError(f"K.export takes what K.function returns, not {f!r}")
    if getattr(f, "takes_sparse", False):
        raise NotSupported(
            f"{f!r} takes sparse matrices, and the arrays of an export have fixed sizes: export a "
            "function of dense inputs, or of the numbers and indices as dense inputs of their own "
            "(K.sparse.CSR), with examples="
        )
    return spec


def asked(functions, shapes):
    """{name of a function: {input: shape}} of the `shapes` that a user gave.

    functions: {name: function}. shapes: {input, its name or its number: shape}, for any of them; a
    list in the order of the inputs of the only one; or None. In a shape, None leaves a size open.
    """
    specs = {name: spec_of(f) for name, f in functions.items()}
    if shapes is None:
        return {name: {} for name in specs}
    if isinstance(shapes, Mapping):
        return _by_input(specs, shapes)
    if len(specs) > 1:
        raise ArgumentError("shapes of several functions are a dict {input or its name: shape}")
    ((name, spec),) = specs.items()
    shapes = given.sequence(shapes, "shapes")
    if len(shapes) != len(spec.inputs):
        raise ArgumentError(
            f"{name} has the inputs {labels(spec)}: a shape for each makes {len(spec.inputs)}, "
            f"and {len(shapes)} are given"
        )
    pairs = zip(spec.inputs, shapes)
    return {name: {node: _sizes(node.name, v) for node, v in pairs if v is not None}}


def _by_input(specs, shapes):
    found = {name: {} for name in specs}
    for key, value in shapes.items():
        node, known = getattr(key, "node", key), False
        for name, spec in specs.items():
            for k, leaf in enumerate(spec.inputs):
                if node is leaf or (type(node) in (str, int) and node in (leaf.name, k)):
                    found[name][leaf] = _sizes(key, value)
                    known = True
        if not known:
            there = "; ".join(f"{name} has {labels(spec)}" for name, spec in specs.items())
            raise ArgumentError(f"shapes: there is no input {key!r}: {there}")
    return found


def labels(spec):
    """The inputs as a sentence names them."""
    return ", ".join(str(node.name or k) for k, node in enumerate(spec.inputs)) or "none"


def _sizes(key, value):
    return static_shape(value, f"the shape of the input {key}")


def open_input(spec, shapes):
    """(number, node) of the first input with a size that is neither declared nor given, or None."""
    for k, node in enumerate(spec.inputs):
        if None in shapes.get(node, node.shape):
            return k, node
    return None


def shapes_of(spec, shapes, name, n=None):
    """{placeholder or variable node: shape}; `shapes`: {placeholder: shape}; n: what stands for
    sizes that are still open."""
    left, found = open_input(spec, shapes), {}
    if left is not None and n is None:
        k, node = left
        raise with_line(
            ShapeError(
                f"{name}: the input {node.name or k} has shape {show(node.shape)}; say its "
                f"sizes with shapes={{{node.name or k!r}: (...)}}, or the largest one that is "
                "an argument of the C function with batch="
            ),
            node,
        )
    for k, node in enumerate(spec.inputs):
        shape = tuple(n if size is None else size for size in shapes.get(node, node.shape))
        if len(shape) != len(node.shape) or any(
            a is not None and a is not b and a != b for a, b in zip(node.shape, shape)
        ):
            raise with_line(
                ShapeError(
                    f"{name}: the input {node.name or k} was declared with shape "
                    f"{show(node.shape)}, which {show(shape)} does not fit"
                ),
                node,
            )
        found[node] = tuple(size if size is n else int(size) for size in shape)
    for node in spec.cells:
        if None in node.shape:
            found[node] = node.attrs["store"].get().shape
    return found


def routine(name, f, shapes=None, dtype=None, scratch=False, batch=None, write=None):
    """The Routine of a function; NotSupported where an instruction runs in NumPy.

    dtype: "float32" refuses what is computed in wider floats; scratch: keep the memory that the
    runtime's own convolutions work in. batch: the largest n; sizes that remain open are n.
    write(plan): notes what the C of a plan assumes of n. Of two orders of updates, the one with the
    smaller arena is taken, then the one with fewer copies.
    """
    spec, shapes = spec_of(f), asked({name: f}, shapes)[name]
    orders = (False, True) if spec.updates else (False,)

    def leaves(n, sizes=None, least=None):
        if n is not None and n >= least:
            n = sizes.symbol(("n",), "n", n, least)
        return shapes_of(spec, shapes, name, n)

    def best(n, least=None):
        found = []
        for last in orders:
            sizes = ShapeClass()
            made = leaves(n, sizes, least)
            found.append(planned(name, spec, made, dtype, scratch, last, sizes, n))
        return min(found, key=lambda made: (made.arena, len(made.instructions)))

    if batch is not None and not is_open(spec, shapes):
        batch = None
    if batch is None:
        variants, least = [best(None)], None
    else:
        least = least_symbol(spec, shapes)
        variants = variants_for_all(best, write, batch, name, least)
    shaped = leaves(batch, variants[0].sizes, least)
    index = {id(n): i for i, n in enumerate(spec.cells)}
    written = [index[id(variable)] for variable, _ in spec.updates]
    inputs = [(n.dtype, shaped[n]) for n in spec.inputs]
    return Routine(name, spec, spec.cells, written, inputs, variants, batch)


def is_open(spec, shapes):
    """Whether some input has a size that is neither declared nor given."""
    return open_input(spec, shapes) is not None


def least_symbol(spec, shapes):
    """The least n that a plan for many takes, as in the runtime: a first axis of 1 is a batch like
    others, any other is a plan of its own."""
    later = any(None in shapes.get(node, node.shape)[1:] for node in spec.inputs)
    return LEAST if later else 1


def variants_for_all(best, write, batch, name, least):
    """Variants that together are right for each n from 1 to `batch`, the largest first."""
    left, variants = set(range(1, batch + 1)), []
    while left:
        if len(variants) == VARIANTS:
            reasons = "; ".join(map(str, variants[-1].sizes.assumed.values()))
            raise NotSupported(
                f"{name} cannot be exported for each n up to {batch}: it would take more than "
                f"{VARIANTS} programs, of which one is for {reasons}. Say fixed sizes with shapes="
            )
        n = max(left)
        try:
            plan = best(n, least)
        except CKernelsError:
            if not least <= n < LEAST:
                raise
            least = LEAST  # an axis of 1 that is broadcast
            plan = best(n, least)
        write(plan)
        right = {n} if n < least else {k for k in left if k >= least and holds(plan.sizes, k)}
        plan.fits = spans(right)
        left -= right
        variants.append(plan)
    return variants


def planned(name, spec, leaves, dtype, scratch, last, of, most):
    """The Variant for shapes {leaf: shape}, whose open size is `most` at most; last: updates
    come after all that reads the old value, where they can."""
    rules = spec.rules._replace(exclude=spec.rules.exclude | {"attention"})  # no C of its own
    with config.change(openmp=False):
        try:
            draft = pipeline.run(
                pipeline.Draft(
                    spec.inputs,
                    spec.outputs,
                    spec.updates,
                    spec.cells,
                    rules,
                    of,
                    leaves,
                    {},
                    None,
                    bands=False,
                    loops=False,
                    in_place=False,
                    c_order=True,
                ),
                until="lower",
            )
        except pipeline.DataDecides:
            raise NotSupported(
                f"{name} cannot be exported: the shape of what it computes follows "
                "from values, and exported memory is laid out in advance"
            ) from None
    instructions, sizes = draft.instructions, draft.buffer_sizes
    for instr in flatten(instructions):
        check(instr, dtype)
        if isinstance(instr, Native):
            settle_scratch(instr, sizes, scratch, most)
    index = {id(n): i for i, n in enumerate(spec.cells)}
    cells = [index[id(variable)] for variable, _ in spec.updates]
    nexts = [leaves.get(n, n.shape) for n, _ in spec.updates]
    if last:
        instructions = readers_first(instructions, cells)
    instructions = settle_updates(instructions, cells, spec, nexts, sizes)
    arena = arrange(flatten(instructions), sizes)
    offsets, total = arena.offsets([largest(size, most) for size in arena.sizes])
    outputs = [(n.dtype, tuple(n.shape)) for n in draft.of_outputs()]
    return Variant(instructions, offsets, total, draft.constants, outputs, of, most)


def check(instr, dtype):
    """Refuse what has no C, and floats wider than `dtype`."""
    if isinstance(instr, PyCall):
        portable.refuse("it runs in NumPy", instr.node)
    if isinstance(instr, Native) and instr.record.op in REFUSED:
        portable.refuse(REFUSED[instr.record.op], instr.node)
    for node in instr.nodes if dtype else ():
        if is_float(node.dtype) and ITEMSIZE[node.dtype] > ITEMSIZE[dtype]:
            raise with_line(
                DTypeError(
                    f"{node.op.name} is computed in {node.dtype}, and dtype={dtype!r} was asked for"
                ),
                node,
            )


# ---- memory of convolutions ---------------------------------------------------------------------


def operands(instr):
    """How many pointers of a native instruction its C takes: all but scratch memory."""
    return NATIVES[instr.record.op].operands + 1


def settle_scratch(instr, sizes, keep, most):
    """Leave out the scratch memory of a native instruction, or (keep) make it one thread's."""
    at = operands(instr)
    if instr.record.op not in WITH_SCRATCH:
        return
    buffer = instr.pointers[at][0]
    if keep:
        instr.record = instr.record.but(slots=1)
        own, scratch = words(instr.record), runtime.native_scratch
        ns = within(own, most) or (None,)
        sizes[buffer] = max(scratch(list(shape_at(own, n))) for n in ns)
        return
    del instr.pointers[at]
    instr.writes = [b for b in instr.writes if b != buffer]


# ---- updates ------------------------------------------------------------------------------------


def settle_updates(instructions, cells, spec, shapes, sizes):
    """The instructions with buffers ("next", i), the new values, renamed: to the memory of the
    variable, or to a buffer in the arena that is copied to it at the end."""
    names = {}
    for i in range(len(spec.updates)):
        if in_place(instructions, ("next", i), ("cell", cells[i])):
            names["next", i] = "cell", cells[i]
    late = []
    for i, (variable, _) in enumerate(spec.updates):
        if ("next", i) in names:
            continue
        count = ITEMSIZE[variable.dtype]
        for n in shapes[i]:
            count *= n
        names["next", i] = made = ("tmp", f"next {i}")
        sizes[made] = max(1, count)
        late.append(
            UpdateCopy(
                name=f"update of {variable.name or 'a variable'}",
                pointers=[(("cell", cells[i]), 0), (made, 0)],
                n=count,
                reads=[made],
                writes=[("cell", cells[i])],
            )
        )
    for instr in flatten(instructions):
        rename(instr, names)
    return instructions + late


def readers_first(instructions, cells):
    """The instructions with each update after the last that reads the old value, unless anything
    later uses what the update writes."""
    order = list(instructions)
    for i, cell in enumerate(cells):
        seen = [touched(instr) for instr in order]
        writers = [k for k, (_, writes) in enumerate(seen) if ("next", i) in writes]
        users = [k for k, (reads, _) in enumerate(seen) if ("cell", cell) in reads]
        if len(writers) != 1 or not users or users[-1] <= writers[0]:
            continue
        written = set(seen[writers[0]][1])
        if not any(written & {*reads, *writes} for reads, writes in seen[writers[0] + 1 :]):
            order.insert(users[-1], order.pop(writers[0]))
    return order


def in_place(instructions, new, old):
    """Whether the new value may be written over the old one: nobody reads that afterwards, and no
    error can come afterwards, for an error leaves all variables as they were."""
    seen = [touched(instr) for instr in instructions]
    writers = [k for k, (_, writes) in enumerate(seen) if new in writes]
    users = [k for k, (reads, writes) in enumerate(seen) if old in reads or old in writes]
    if not writers or users and users[-1] > writers[0]:
        return False
    first = instructions[writers[0]]
    if users and users[-1] == writers[0] and (new, old) not in first.inplace:
        return False
    return not any(
        s.kernel is not None and portable.fallible(s.kernel)
        for s in flatten(instructions[writers[0] :])
    )


def rename(instr, names):
    """Put other names for buffers into an instruction."""

    def of(buffer):
        return names.get(buffer, buffer)

    def base(pair):
        return None if pair is None else (of(pair[0]), pair[1])

    instr.pointers = [(of(buffer), offset) for buffer, offset in instr.pointers]
    instr.reads, instr.writes = list(map(of, instr.reads)), list(map(of, instr.writes))
    instr.inplace = [(of(a), of(b)) for a, b in instr.inplace]
    if isinstance(instr, RuntimeCall) and instr.epilogue is not None:
        rename(instr.epilogue, names)
    if not isinstance(instr, Scan):
        return
    scan = instr.moving
    scan.count, scan.flag, scan.executed = map(base, (scan.count, scan.flag, scan.executed))
    scan.moves = {
        row: base(move)
        if isinstance(move, tuple)
        else replace(move, a=base(move.a), b=base(move.b))
        for row, move in scan.moves.items()
    }
    scan.finals = [(base(to), row, base(first), size) for to, row, first, size in scan.finals]
    scan.traces = [(base(at), size) for at, size in scan.traces]
