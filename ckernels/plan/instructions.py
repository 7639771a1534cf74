"""Instruction: an element of a plan while it is made, as a Python object.

Scans and branches hold the instructions inside of them; in a C Plan those follow in the flat array.
The dims of gemm and native instructions are the words of a record (records.py), then those of the
kernel that follows panel by panel.
"""

import struct
from dataclasses import dataclass, field

KERNEL, GEMM, PYCALL, SCAN, IF, NATIVE = 0, 1, 2, 3, 4, 5  # enum of ckernels.h


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


def record_of(kind, dims):
    """The record of this kind that dims begin with."""
    rest = iter(dims)

    def take(kind):
        values = []
        for name in kind.FIELDS:
            count, inner = kind.NESTED.get(name, (None, None))
            if count is None:
                values.append(next(rest))
            else:
                values.append(tuple(take(inner) if inner else next(rest) for _ in range(count)))
        return kind(*values)

    return take(kind)


def words_after(kind, dims):
    """What dims hold behind a record of this kind."""
    return dims[kind.WORDS :]


@dataclass
class Instruction:
    """One instruction to be: what runs, on which pointers, and which buffers it touches."""

    kind: int
    name: str
    pointers: list
    dims: list
    n: int = 1
    block: int = 1
    grain: int = 1
    ns: float = 0.0
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    inplace: list = field(default_factory=list)
    kernel: object = None
    call: object = None
    node: object = None
    nodes: list = field(default_factory=list)
    body: list = field(default_factory=list)  # of a scan's step, or of both sides of a branch
    scan: object = None  # of a scan: a Moving
    depth: int = 0  # how many scans and branches are around it
    rows: int = None  # of the result, where an epilogue may follow
    columns: int = None  # elements of such a row
    work: object = 0  # of a kernel or a product: picoseconds, as a size

    @property
    def line(self):
        """The user's line behind the instruction, or None."""
        return None if self.node is None else self.node.line


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


@dataclass
class Moving:
    """What a scan instruction needs to know besides its body. Bases are (buffer, bytes)."""

    rows: int
    limit: int = -1
    reverse: bool = False
    count: tuple = None
    flag: tuple = None
    executed: tuple = None
    moves: dict = field(default_factory=dict)  # {("row", k): Move, or a base: it stays there}
    finals: list = field(default_factory=list)  # (to, row, first, bytes)
    traces: list = field(default_factory=list)  # (base, bytes of a row): zeros where none ran
    stepped: bool = False  # the body is one kernel that takes many steps
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
