"""Step: one instruction of a plan to be, in the words of Python.

Scans and branches hold the steps inside of them; in a C Plan those follow in the flat array.
"""
from dataclasses import dataclass, field

KERNEL, GEMM, PYCALL, SCAN, IF, NATIVE = 0, 1, 2, 3, 4, 5       # enum of ckernels.h


@dataclass
class Step:
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
    body: list = field(default_factory=list)    # steps of a scan, or of both sides of a branch
    scan: object = None                         # of a scan: a Moving
    depth: int = 0                              # how many scans and branches are around it
    rows: int = None                            # of the result, where an epilogue may follow
    columns: int = None                         # elements of such a row

    @property
    def line(self):
        """The user's line behind the instruction, or None."""
        return None if self.node is None else self.node.line


@dataclass(frozen=True)
class Move:
    """Where a row lies at step j, which is row t: x < until: a, else b; each a base, a stride in
    bytes, and the size of a ring of rows or None. `by` tells whether x and y are j or t.

    x: index of a; y - shift: index of b. Bases are (buffer, bytes). until None: always a, by t.
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
class Apart:
    """A scan over `rows` rows that do not depend on each other, `part` of them at a time; parts
    take `stretch` steps until the scan polls for signals."""
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
    moves: dict = field(default_factory=dict)       # {("row", k): Move, or a base: it stays there}
    finals: list = field(default_factory=list)      # (to, row, first, bytes)
    traces: list = field(default_factory=list)      # (base, bytes of a row): zeros where none ran
    stepped: bool = False                           # the body is one kernel that takes many steps
    apart: Apart = None                             # parts of the batch take the steps alone


def flatten(steps, depth=0):
    """All steps in the order of a plan, inner ones after their scan; sets their `depth`."""
    flat = []
    for step in steps:
        step.depth = depth
        flat.append(step)
        flat.extend(flatten(step.body, depth + 1))
    return flat


def touched(step):
    """(buffers read, buffers written) by a step and all steps inside of it."""
    reads, writes = list(step.reads), list(step.writes)
    for inner in step.body:
        more = touched(inner)
        reads += more[0]
        writes += more[1]
    return reads, writes


class OracleCall:
    """The callable of an op without C of its own: fills the outputs with its oracle's results."""

    def __init__(self, node):
        self.node = node

    def __call__(self, inputs, outputs):
        from ..reference import apply_oracle
        result = apply_oracle(self.node, inputs)
        for out, value in zip(outputs, result if self.node.outs is not None else (result,)):
            out[...] = value
