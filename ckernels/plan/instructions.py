"""Instructions: the elements of a plan while it is made, a class for each kind.

Scans and branches hold the instructions inside of them; in a C Plan those follow in the flat array.
Products and the runtime's own kernels have a record of numbers (records.py), and may have an
epilogue: a kernel that runs on their rows, panel by panel.
"""

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from ..codegen.dims import LaunchDims

KERNEL, GEMM, PYCALL, SCAN, IF, NATIVE, TOLD = 0, 1, 2, 3, 4, 5, 6  # enum of ckernels.h


def word_of(number):
    """A float64 as a word of dims: the integer of its bits."""
    return struct.unpack("q", struct.pack("d", number))[0]


def words(record):
    """The words of a record, or of a tuple of them, as dims begin with them."""
    found = []
    for value in record:
        if isinstance(value, tuple):
            found += words(value)
        else:
            found.append(value)
    return found


# A class takes 0.2 ms to make so, 0.5 with all that dataclasses have.
instruction = dataclass(kw_only=True, repr=False, eq=False)


@instruction
class Instruction:
    """What runs, on which pointers, and which buffers it touches; a class for each `kind`."""

    name: str
    pointers: list  # (buffer, bytes) of each
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    ns: float = 0.0
    node: object = None
    nodes: list = field(default_factory=list)
    depth: int = 0  # how many scans and branches are around it

    # What most kinds have not
    kernel, body, inplace, work = None, (), (), 0
    n = block = grain = 1
    told = False  # only told of: the kernel of a scan around it does the same

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}>"

    @property
    def line(self):
        """The user's line behind the instruction, or None."""
        return None if self.node is None else self.node.line

    def words(self):
        """Its numbers in the table of dims."""
        return []

    def places(self):
        """Its rows in the table of pointers."""
        return self.pointers


@instruction
class KernelCall(Instruction):
    """A generated kernel over a range of `n` units, dealt out in multiples of `block`."""

    kind = KERNEL
    kernel: object
    dims: list
    n: int
    block: int = 1
    grain: int = 1
    inplace: list = field(default_factory=list)  # (result, operand) buffers that may be one
    work: object = 0  # picoseconds, as a size
    looked: bool = False  # whether its indices were looked at before

    def words(self):
        return self.dims

    def launch(self):
        """The LaunchDims of a kernel of the IR."""
        return LaunchDims.read(self.kernel, self.dims)


@instruction
class RuntimeCall(Instruction):
    """What the runtime has a function for: a record of numbers, and perhaps an epilogue."""

    record: object
    epilogue: KernelCall = None
    inplace: list = field(default_factory=list)
    work: object = 0

    @property
    def kernel(self):
        """The kernel of the epilogue."""
        return None if self.epilogue is None else self.epilogue.kernel

    def words(self):
        return words(self.record) + ([] if self.epilogue is None else self.epilogue.dims)

    def places(self):
        return self.pointers + ([] if self.epilogue is None else self.epilogue.pointers)


@instruction
class Gemm(RuntimeCall):
    """C = A @ B, a batch of them; pointers: a, b, c."""

    kind = GEMM

    @property
    def rows(self):
        """Rows of all results, on which an epilogue may run."""
        return self.record.batch * self.record.m

    @property
    def columns(self):
        """Elements of such a row."""
        return self.record.n


@instruction
class Native(RuntimeCall):
    """One of the runtime's own kernels. rows: of the result, where an epilogue may run on them, or
    0; columns: elements of such a row."""

    kind = NATIVE
    rows: int = 0
    columns: int = 0


@instruction
class PyCall(Instruction):
    """A call of Python with views of the layouts `ins` and `outs`."""

    kind = PYCALL
    call: object
    ins: list
    outs: list


@instruction
class Scan(Instruction):
    """A body that is run once per step; it has no pointers but those of `moving`, and of the kernel
    that takes the steps, where there is one."""

    kind = SCAN
    body: list
    moving: object
    kernel: object = None
    dims: list = field(default_factory=list)  # of the kernel

    @property
    def n(self):
        """How many instructions are inside."""
        return count(self.body)

    def take(self, kernel, pointers, dims, stretch):
        """Let a kernel take the steps, `stretch` of them at a time."""
        self.kernel, self.pointers, self.dims = kernel, pointers, dims
        self.moving.stepped = stretch
        for instr in flatten(self.body, self.depth + 1):
            instr.told, instr.kernel = True, None


@instruction
class Branch(Instruction):
    """Two sides, of which one runs, as the bool at the only pointer says."""

    kind = IF
    then: list
    other: list

    @property
    def body(self):
        """The instructions of both sides."""
        return self.then + self.other

    @property
    def n(self):
        """How many instructions the first side has."""
        return count(self.then)

    @property
    def block(self):
        """How many the other one has."""
        return count(self.other)


def count(instructions):
    """How many there are, with those inside of them."""
    return sum(1 + count(instr.body) for instr in instructions)


@dataclass(frozen=True)
class Move:
    """Where a row lies at step j, which treats row t: j, or from the end where a scan is reversed.

        x < until    at  a + x * a_stride
        else         at  b + (y - shift) * b_stride

    x and y are j or t, as the two letters of `by` say. Bases a and b are (buffer, bytes), strides
    are bytes; where rows lie in a ring, their number is taken modulo its size (a power of two).
    until None: always a, by t. A stored state with the tap -1 is read by
    Move(first, s, None, 1, "jj", trace, s, None, 1): at step 0 the first state, at step j row j - 1
    of the trace.
    """

    a: tuple = None
    a_stride: int = 0
    a_ring: int = None
    until: int = None
    by: str = "jj"
    b: tuple = None
    b_stride: int = 0
    b_ring: int = None
    shift: int = 0

    @property
    def bases(self):
        return [base for base in (self.a, self.b) if base is not None]


@dataclass(frozen=True)
class BatchParts:
    """A scan whose batch has `rows` rows that do not depend on each other. A thread takes `part` of
    them through `stretch` steps, after which the scan polls for signals."""

    rows: int
    part: int
    stretch: int


class HandedOn(NamedTuple):
    """The rows of a state: `old`, which may be None, before a step and `new` after it; dtype and
    count of its elements."""

    old: tuple
    new: tuple
    dtype: str
    count: object


@dataclass
class Moving:
    """What a Scan needs to know besides its body. Bases are (buffer, bytes)."""

    rows: int
    limit: int = -1
    reverse: bool = False
    count: tuple = None
    flag: tuple = None
    executed: tuple = None
    moves: dict = field(default_factory=dict)  # {("row", k): Move, or a base: it stays there}
    finals: list = field(default_factory=list)  # (to, row, first, bytes)
    traces: list = field(default_factory=list)  # (base, bytes of a row): zeros where none ran
    states: list = field(default_factory=list)  # the HandedOn of each that is read one step later
    stepped: int = 0  # how many steps a kernel takes at a time; 0: none takes them
    parts: BatchParts = None  # batch rows that take all steps by themselves
    whole: object = None  # the Reason why none do


def flatten(instructions, depth=0):
    """All instructions in the order of a plan, inner ones after their scan; sets their `depth`."""
    flat = []
    for instr in instructions:
        instr.depth = depth
        flat.append(instr)
        flat.extend(flatten(instr.body, depth + 1))
    return flat


def touched(instr):
    """(buffers read, buffers written) by an instruction and all inside of it."""
    reads, writes = list(instr.reads), list(instr.writes)
    for inner in instr.body:
        more = touched(inner)
        reads += more[0]
        writes += more[1]
    return reads, writes
