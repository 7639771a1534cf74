"""A plan for a class of shapes: tables in which some numbers are expressions over the sizes of the
inputs, and the assumptions under which they are right.

`Template.fill` gives the arguments of a C Plan for one set of shapes, or None where an assumption
does not hold. Made by `template` from what the planner wrote; nothing here decides anything.
"""

from typing import NamedTuple

import numpy as np

from ..base.errors import ShapeError, with_line
from ..base.native import runtime
from ..graph.shapes import show
from ..graph.sizes import Size, Written, value_of

TABLES = ("instrs", "ptrs", "dims")


class SizedConstant:
    """A constant computed from sizes: its elements, in row-major order."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, shape, values


class InstructionSummary(NamedTuple):
    """What is kept of an instruction for people; the nodes behind it may go."""

    name: str
    kind: int
    depth: int
    grain: int
    line: tuple
    kernel: object = None


class Template:
    """tables: arrays with the numbers of the shapes it was made for; patches: {table: (flat
    positions, rows of the code)} for those that differ from shape to shape. What is nested is made
    of rows of the code, or a tuple that never changes: shapes of outputs, updates, arguments of
    calls, elements of constants.

    arena: sizes, patch of sizes, starts, below, slots: rows (slot, block). constants: arrays, or
    (dtype, shape, rows of the code). assumptions: in words, (text, line, taken). orders: of each
    output the axes from the outermost in memory to the innermost, None for C order.
    """

    def __init__(self, code, args, assumed, tables, patches, arena, constants, outputs, updates,
                 calls, work, assumptions=(), instructions=(), told=(), nodes=0,
                 orders=()):  # fmt: skip
        self.code, self.args, self.assumed = code, args, assumed
        self.tables, self.patches, self.arena = tables, patches, arena
        self.constants, self.outputs, self.updates, self.calls = constants, outputs, updates, calls
        self.work, self.assumptions, self.instructions = work, assumptions, instructions
        self.told, self.nodes, self.orders = told, nodes, orders
        # Whether the shapes of all updates are the same for all shapes of the class, as those of
        # parameters are: to list hundreds of them again takes as long as all other numbers.
        self.invariant = all(type(rows) is tuple for *_, rows in self.updates)
        # (the first instruction that writes into inputs, {output: its input}, the output that is
        # asked whether it may, or None)
        self.into = None

    def fill(self, symbols):
        """Arguments of a C Plan with tags from 0; None where these shapes are of another class."""
        sizes = runtime.sizes(self.code, self.args, self.assumed, np.array(symbols, np.int64))
        if sizes is None:
            return None
        found = {}
        for name in TABLES:
            found[name] = table = self.tables[name].copy()
            at, rows = self.patches[name]
            if len(at):
                table.reshape(-1)[at] = sizes[rows]
        total = self.fill_arena(found["ptrs"], sizes)
        if total is None:
            return None

        def shape(rows):
            return rows if type(rows) is tuple else tuple(sizes[rows].tolist())

        first, homes, asked = self.into or (-1, {}, None)

        def described(k, dtype, rows, order):
            if k in homes:
                return dtype, shape(rows), order, homes[k]
            return (dtype, shape(rows)) if order is None else (dtype, shape(rows), order)

        return dict(
            found,
            into=first,
            asked=-1 if asked is None else asked,
            arena=total,
            constants=[self.constant(c, sizes) for c in self.constants],
            outputs=[
                described(k, dtype, rows, order)
                for k, ((dtype, rows), order) in enumerate(zip(self.outputs, self.orders))
            ],
            updates=self.updates
            if self.invariant
            else [(cell, dtype, shape(rows)) for cell, dtype, rows in self.updates],
            pycalls=[
                (
                    call,
                    *(
                        [(slot, dtype, shape(a), shape(b)) for slot, dtype, a, b in side]
                        for side in sides
                    ),
                )
                for call, *sides in self.calls
            ],
            work=self.work,
        )

    def fill_arena(self, ptrs, sizes):
        """Add to the rows of `ptrs` where their buffers lie; the bytes of all, or None."""
        arena = self.arena
        bytes_of = arena["sizes"]
        at, rows = arena["patch"]
        if len(at):
            bytes_of = bytes_of.copy()
            bytes_of[at] = sizes[rows]
        stacked = runtime.stack(bytes_of, arena["starts"], arena["below"])
        if stacked is None:
            return None
        offsets, total = stacked
        slots = arena["slots"]
        if len(slots):
            ptrs[slots[:, 0], 2] += offsets[slots[:, 1]]
        return total

    def learned(self, plan, kind):
        """The C runtime's Class: it makes the plans of further shapes from `plan`, the first one.

        kind: see `classes.c`. None where a call of Python has arguments that change with the sizes.
        """
        if self.calls:
            return None
        specs = [
            (which, index, axis, row)
            for which, all_of in enumerate((self.outputs, self.updates))
            for index, (*_, rows) in enumerate(all_of)
            if type(rows) is not tuple
            for axis, row in enumerate(rows)
        ]
        arena = self.arena
        tables = (
            np.array(kind, np.int64),
            self.code,
            self.args,
            self.assumed,
            *self.patches["instrs"],
            self.tables["ptrs"],
            *self.patches["ptrs"],
            *self.patches["dims"],
            arena["sizes"],
            *arena["patch"],
            arena["starts"],
            arena["below"],
            arena["slots"],
            ints(specs, 4),
        )
        sized = [(k, ints(c[2])) for k, c in enumerate(self.constants) if type(c) is tuple]
        return runtime.Class(plan, tables, sized)

    @staticmethod
    def constant(c, sizes):
        if type(c) is not tuple:
            return c
        dtype, shape, rows = c
        return sizes[rows].astype(dtype).reshape(shape)


def ints(rows, width=None):
    made = np.array(rows, np.int64)
    return made if width is None else made.reshape(-1, width)


class Encoder:
    """Splits rows with sizes into numbers at hand and patches."""

    def __init__(self, of):
        self.written = Written(of)

    def table(self, rows, width=None):
        """(the array of present values, (flat positions, rows of the code))."""
        flat = [x for row in rows for x in row] if width else rows
        at, code, present = [], [], []
        for k, x in enumerate(flat):
            if type(x) is Size:
                at.append(k)
                code.append(self.written.number(x))
                x = x.value
            present.append(x)
        return ints(present, width), (ints(at), ints(code))

    def numbers(self, values):
        """Rows of the code; the values themselves, as a tuple, where no shape changes them."""
        if any(type(x) is Size for x in values):
            return [self.written.number(x) for x in values]
        return tuple(values)

    def constant(self, c):
        if isinstance(c, SizedConstant):
            return c.dtype, c.shape, self.numbers(c.values)
        return np.ascontiguousarray(c).reshape(c.shape)

    def views(self, side):
        return [
            (slot, dtype, self.numbers(shape), self.numbers(strides))
            for slot, dtype, shape, strides in side
        ]


def template(of, tables, constants, outputs, updates):
    """The Template of what `encode.Tables` holds. of: the ShapeClass; outputs: [(dtype, shape,
    order of the axes in memory, None for C order)]; updates: [(cell, dtype, shape)]."""
    encoder = Encoder(of)
    block = {buffer: k for k, buffer in enumerate(tables.arena.names)}
    for buffer, root in tables.arena.host.items():
        block[buffer] = block[root]
    slots = [(k, block[index]) for k, (space, index, _) in enumerate(tables.ptrs) if not space]
    ptrs = [(space, index if space else 0, offset) for space, index, offset in tables.ptrs]
    made = {
        "instrs": encoder.table(tables.instrs, 8),
        "ptrs": encoder.table(ptrs, 3),
        "dims": encoder.table(tables.dims),
    }
    sizes, patch = encoder.table(tables.arena.sizes)
    starts, below = tables.arena.edges()
    arena = {
        "sizes": sizes,
        "patch": patch,
        "starts": starts,
        "below": below,
        "slots": ints(slots, 2),
    }
    found = Template(
        None,
        None,
        None,
        {name: table for name, (table, _) in made.items()},
        {name: patch for name, (_, patch) in made.items()},
        arena,
        [encoder.constant(c) for c in constants],
        [(dtype, encoder.numbers(shape)) for dtype, shape, _ in outputs],
        [(cell, dtype, encoder.numbers(shape)) for cell, dtype, shape in updates],
        [(call, encoder.views(ins), encoder.views(outs)) for call, ins, outs in tables.calls],
        int(sum(value_of(s.ns) for s in tables.instructions if not s.depth)),
    )
    found.orders = [order for *_, order in outputs]
    written = encoder.written
    found.code, found.args = ints(written.code, 3), ints(written.args)
    found.assumed = ints(written.assumed, 2)
    found.assumptions = [(str(a), a.line, a.taken) for a in of.assumed.values()]
    found.instructions = [
        InstructionSummary(i.name, i.kind, i.depth, value_of(i.grain), i.line, i.kernel)
        for i in tables.instructions
    ]
    return found


class OracleCall:
    """The callable of an op without C of its own: fills the outputs with its oracle's results."""

    apply = None  # apply_oracle, which is imported when the first one is called

    def __init__(self, node):
        self.node = node

    def __call__(self, inputs, outputs):
        apply = OracleCall.apply or _first()
        result = apply(self.node, inputs)
        if self.node.outs is None:
            result = (result,)
        for k, (out, value) in enumerate(zip(outputs, result)):
            if self.node.op.kind == "opaque":
                shape = value.shape if type(value) is np.ndarray else np.shape(value)
                if shape != out.shape:
                    raise self._misfit(k, shape, out.shape)
            out[...] = value

    def _misfit(self, k, found, told):
        """The error of an op of the user's that made another shape than it said it would."""
        op = self.node.attrs.get("op", self.node.op.name)
        text = (
            f"output {k} of {op} has shape {show(found)}; its type and infer_shape say {show(told)}"
        )
        return with_line(ShapeError(text), self.node)


def _first():
    from ..ops.reference import apply_oracle  # start-up

    OracleCall.apply = staticmethod(apply_oracle)
    return apply_oracle
