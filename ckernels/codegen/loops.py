"""The loop IR: what one generated kernel computes, free of sizes, strides and names.

A Kernel is a nest (outer rows, reduced runs, one vector loop), operands with their stride class
along the vector loop, values in single-assignment order and stores. Two graphs with equal Kernels
share one compiled function. `check` is run on every kernel in tests.
"""
from dataclasses import dataclass, field

FORMS = ("flat", "tile", "rows", "columns", "chunks", "column_chunks")


@dataclass(frozen=True)
class Operand:
    """A pointer (or, for role "index", a running index) and how it moves.

    role   "in", "out" or "index"; dtype its element type; inner its stride class along the vector
    loop: 0 (constant), 1 (contiguous), "n" (any, given at run time). outer: whether it moves along
    outer rows; run: whether it moves along the reduced runs outside the vector loop.
    """
    role: str
    dtype: str
    inner: object
    outer: bool = True
    run: bool = True
    cross: object = "n"         # tile only: class along the tile's other axis


@dataclass(frozen=True)
class Value:
    """One scalar per index.

    kind   load (operand), index (operand), literal (text), op (text with {0}.. for args), reduce
    (op name; args[0] is reduced). vec: varies along the vector loop. level: how many reductions
    come before it.
    """
    kind: str
    dtype: str
    text: str = ""
    args: tuple = ()
    operand: int = -1
    vec: bool = True
    level: int = 0
    cost: float = 0.0
    run: bool = True            # rows/columns: varies along the reduced axes


@dataclass
class Kernel:
    """See the module. `outer`, `runs`: how many outer and reduced dims the vector loop leaves."""
    form: str
    outer: int
    runs: int
    operands: list = field(default_factory=list)
    values: list = field(default_factory=list)
    stores: list = field(default_factory=list)      # (operand, value)
    spill: bool = False                             # rows of at most ROW_SCRATCH elements

    def check(self):
        """Raise AssertionError when this is no well-formed kernel."""
        assert self.form in FORMS, self.form
        for i, v in enumerate(self.values):
            assert all(a < i for a in v.args), f"value {i} uses {v.args} before definition"
            if v.kind in ("load", "index"):
                role = "in" if v.kind == "load" else "index"
                assert self.operands[v.operand].role == role, f"value {i} loads a {role}"
            for a in v.args:
                arg = self.values[a]
                assert v.level >= arg.level + (arg.kind == "reduce"), f"value {i} is too early"
                assert v.vec or not arg.vec or v.kind == "reduce", f"value {i} hides a vector"
        for operand, value in self.stores:
            assert self.operands[operand].role == "out", "a store goes to an out operand"
            assert 0 <= value < len(self.values)
        stored = {o for o, _ in self.stores}
        outs = {i for i, o in enumerate(self.operands) if o.role == "out"}
        assert stored == outs, f"operands {outs ^ stored} are not stored exactly once"
        return self

    def key(self):
        """A hashable identity: equal keys mean equal C."""
        return (self.form, self.outer, self.runs, tuple(self.operands), tuple(self.values),
                tuple(self.stores), self.spill)
