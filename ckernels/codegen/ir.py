"""The kernel IR: what one generated kernel computes, free of sizes, strides, names and C.

A Kernel is a nest (outer rows, reduced runs, one vector loop), operands with their stride class
along the vector loop, values in single-assignment order and stores. A value names its op and
the values that are its operands; `passes.py` reads and rewrites values, `print_c.py` turns them
into C. Two graphs with equal Kernels share one compiled function. `check` says what is well formed.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ..base import dtypes
from ..graph.op import REGISTRY

FORMS = ("flat", "tile", "rows", "columns", "bundles", "contraction", "chunks", "column_chunks")
COLUMNS = ("columns", "bundles", "contraction", "column_chunks")
IN_MEMORY = ("load", "index", "fetch")
FIXED = ("literal", "count")
ROLES = {"load": "in", "fetch": "in", "index": "index"}  # of the operand of each
REDUCTIONS = ("sum", "prod", "any", "all", "max", "min", "first")
KERNEL_OPS = {         # ops that only kernels have: what they mean
    "convert": "the number in another type of register; nothing is rounded to a storage type",
    "index_of": "(x, best, index): index where x is best or NaN, else the largest of its dtype",
    "random_bits": "(element, seed, stream, call): a draw", "random_uniform": "as random_bits",
    "random_normal": "as random_bits",
    "exp_shifted": "exp(x) of a difference x <= 0",
    "exp_below": "exp(x) of x <= 0",
    "at_least": "(x, number): the larger one; a NaN stays, and x where they are equal",
    "at_most": "(x, number): the smaller one; as at_least",
}  # fmt: skip


class Operand(NamedTuple):
    """A pointer (or, for role "index", a running index) and how it moves.

    role   "in", "out" or "index"; dtype its element type; inner its stride class along the vector
    loop: 0 (constant), 1 (contiguous), -1 (reversed), a step of 2 to 4, "n" (any, given at run
    time). outer: whether it moves along outer rows; run: whether it moves along the reduced runs
    outside the vector loop. beside: (an operand before it, how many elements behind
    that it lies), where both are walked alike.
    """

    role: str
    dtype: str
    inner: object
    outer: bool = True
    run: bool = True
    cross: object = "n"  # tile, contraction: class along the tile's other axis
    laid: str = ""  # flat, bundles: how it lies in a nest of short rows (laid.py)
    picks: int = 0  # how many of its axes are picked from by indices: it is fetched, not loaded
    loose: bool = False  # its elements may lie at any byte
    beside: tuple = ()


class Value(NamedTuple):
    """One scalar per index.

    op     load or index (of `operand`), fetch (of `operand`, at the indices `args`), literal
    (attrs: number, a numeral), count (elements of a chunk), a reduction (args[0] is reduced), an
    elementwise op of the registry, or one of KERNEL_OPS. attrs: (name, value) pairs; a load may say
    which op `made` what it reads.
    vec: varies along the vector loop. level: how many reductions come before it. run: varies along
    the reduced axes. cost: as in Op.
    """

    op: str
    dtype: str
    args: tuple = ()
    attrs: tuple = ()
    operand: int = -1
    vec: bool = True
    level: int = 0
    cost: float = 0.0
    run: bool = True

    @property
    def reduces(self):
        return self.op in REDUCTIONS

    @property
    def fixed(self):
        """Whether it is one number, known or named before the nest begins."""
        return self.op in FIXED

    @property
    def computed(self):
        """Whether it is an op of other values at the same index."""
        return not (self.op in IN_MEMORY or self.op in FIXED or self.op in REDUCTIONS)

    @property
    def number(self):
        """The number of a literal; None for all else."""
        found = dict(self.attrs).get("number")
        if self.op != "literal" or found is None:
            return None
        return float(found) if dtypes.is_float(self.dtype) else int(found)

    @property
    def ready(self):
        """The number of the first loop before which it is known."""
        return self.level + self.reduces


def numeral(dtype, number):
    """`number` as an attribute of a literal: text, which tells -0.0 from 0.0 and, unlike NaN,
    equals itself."""
    return repr(float(number)) if dtypes.is_float(dtype) else str(int(number))


@dataclass(frozen=True, eq=False)
class Kernel:
    """See the module. `outer`, `runs`: how many outer and reduced dims the vector loop leaves.

    The protocol of all kernels (this one, raw.RawKernel): `form`, `operands`,
    `key()`, and a writer for their form in emit.py.
    """

    form: str
    outer: int
    runs: int
    operands: tuple = ()
    values: tuple = ()
    stores: tuple = ()  # (operand, value)
    spill: bool = False  # rows of at most ROW_SCRATCH elements
    stream: bool = False  # long rows, more of them than fit in a core's caches

    def key(self):
        """A hashable identity: equal keys mean equal C."""
        return (
            self.form,
            self.outer,
            self.runs,
            self.operands,
            self.values,
            self.stores,
            self.spill,
            self.stream,
        )

    def check(self):
        """Itself; AssertionError in a sentence when it is no well-formed kernel."""
        assert self.form in FORMS, f"there is no form {self.form}"
        for i, v in enumerate(self.values):
            for holds, sentence in SPEC:
                assert holds(self, i, v), f"value {i} ({v.op}) {sentence}"
        for operand, value in self.stores:
            assert self.operands[operand].role == "out", "a store goes to an out operand"
            assert 0 <= value < len(self.values), "a store has a value"
        stored = {o for o, _ in self.stores}
        outs = {i for i, o in enumerate(self.operands) if o.role == "out"}
        assert stored == outs, f"operands {outs ^ stored} are not stored exactly once"
        return self


# ---- what holds for each value ------------------------------------------------------------------


def known(op):
    """Whether a value may be of this op."""
    row = REGISTRY.get(op)
    return (
        op in IN_MEMORY + FIXED + REDUCTIONS
        or op in KERNEL_OPS
        or row is not None
        and row.kind == "elementwise"
        and row.c is not None
    )


def _reads(kernel, v):
    return kernel.operands[v.operand]


def _alike(kernel, v):
    """Whether the operands of an elementwise op have one dtype (a condition is a bool)."""
    found = [kernel.values[a].dtype for a in v.args]
    if v.op == "where":
        return found[0] == "bool" and found[1] == found[2] == v.dtype
    return v.op in KERNEL_OPS or len(set(found)) <= 1


SPEC = (
    (lambda k, i, v: known(v.op), "is of an op that kernels have not"),
    (lambda k, i, v: v.dtype in dtypes.SUFFIX, "has a dtype that kernels have not"),
    (lambda k, i, v: all(0 <= a < i for a in v.args), "uses a value before definition"),
    (lambda k, i, v: bool(v.args) == (v.computed or v.reduces or v.op == "fetch"),
     "has too many or no operands"),
    (lambda k, i, v: v.op not in IN_MEMORY or _reads(k, v).role == ROLES[v.op],
     "loads what is no such operand"),
    (lambda k, i, v: v.op not in ("load", "fetch") or _reads(k, v).dtype == v.dtype,
     "loads another dtype"),
    (lambda k, i, v: v.op not in IN_MEMORY or _reads(k, v).picks == len(v.args),
     "has too many or too few indices"),
    (lambda k, i, v: not v.computed or _alike(k, v), "mixes dtypes"),
    (lambda k, i, v: v.op != "literal" or v.number is not None, "has no number"),
    (lambda k, i, v: all(v.level >= k.values[a].ready for a in v.args), "is too early"),
    (lambda k, i, v: v.vec or v.reduces or not any(k.values[a].vec for a in v.args),
     "hides a vector"),
)  # fmt: skip
