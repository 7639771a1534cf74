"""Elementwise nests of short rows: the last two axes are one to the vector loop.

What is the same in each row is written down several times before the loop (cycles), what is one
number for a row is repeated, and rows that lie apart are copied side by side, block by block
(codegen/laid.py says which operand is what). Rows of full vectors are walked by flat.py.
"""

from ...base import dtypes
from ...base.machine import FLOAT, L1
from .. import laid, passes
from ..ir import IN_MEMORY
from .flat import Flat
from .nest import steps

BLOCK = L1 // 16 // FLOAT  # elements between two repetitions: a few laid out rows stay in L1
NUMBERS = BLOCK + 64  # numbers of rows, and a vector that is read behind them


class ShortRows(Flat):
    """One range over all elements, cut where the second last axis ends."""

    note = "elementwise over short rows as one"

    def __init__(self, kernel, printer):
        super().__init__(kernel, printer)
        self.kinds, self.side = self.kinds_of(), False
        self.apart = [i for i, kind in enumerate(self.kinds) if kind == laid.APART]
        self.kinds = [laid.ALONG if kind == laid.APART else kind for kind in self.kinds]
        users = [(v, self.kinds[i]) for i, v in enumerate(kernel.values) if v.computed]
        read = {a for v, kind in users if kind == laid.ALONG for a in v.args}
        read |= {value for _, value in kernel.stores}
        self.cycles = sorted(i for i in read if self.kinds[i] == laid.CYCLE)
        self.repeats = sorted(i for i in read if self.kinds[i] == laid.REPEAT)

    def kinds_of(self):
        """How each value varies: "" where it stays, cycle, repeat, or along with all elements."""
        kinds = []
        for v in self.k.values:
            if v.op in IN_MEMORY:
                kinds.append(self.k.operands[v.operand].laid)
            else:
                found = {laid.ALONG if kinds[a] == laid.APART else kinds[a] for a in v.args} - {""}
                kinds.append(found.pop() if len(found) == 1 else laid.ALONG if found else "")
        return kinds

    def write(self):
        c = self.c
        c.let(n=self.dims.n, length=f"n * {self.outer_sizes()[-1]}")
        for i in (*self.cycles, *self.apart):
            c.row_on_stack(f"t{i}", self.k.values[i].dtype, BLOCK + laid.SHORT)
        for i in self.repeats:
            c.row_on_stack(f"s{i}", self.k.values[i].dtype, NUMBERS)
            c.row_on_stack(f"t{i}", self.k.values[i].dtype, BLOCK)
        c.let(step=f"{BLOCK} / n * n")
        with self.rows_in_range("length", self.outer_sizes()[:-1]):
            self.row()

    # ---- one range of the two axes ---------------------------------------------------------------

    def row(self):
        c, k = self.c, self.k
        for i, v in enumerate(k.values):
            if not self.kinds[i] and not v.fixed:
                self.define(i, "a", "0")
        c.let(first="j % n")
        if self.cycles:
            self.lay_cycles()
        with c.loop("b", "j", "end", "step"):
            c.let(count="end - b < step ? end - b : step")
            if self.repeats or self.apart:
                c.let(q="b / n", rows="(first + count + n - 1) / n")
                self.lay_repeats()
                self.side_by_side()
            for i, op in enumerate(k.operands):
                if op.laid == laid.ALONG:
                    self.along(i)
            with c.vector("i", "0", "count", unroll=passes.interleave(k)):
                for i, kind in enumerate(self.kinds):
                    if i in self.cycles or i in self.apart:
                        c.define_as(i, f"v{i}", f"t{i}[first + i]")
                    elif i in self.repeats:
                        c.define_as(i, f"v{i}", f"t{i}[i]")
                    elif kind == laid.ALONG:
                        self.define(i, "b", "i")
                self.put_all(k.stores, "b", "i")

    def along(self, i):
        """b<i>: operand i at the begin of a block."""
        source = "0" if self.k.operands[i].role == "index" else f"a{i}"
        index = [f"a{i}"] if self.k.operands[i].role == "index" else []
        inner = self.strides[i][0]
        self.c.move(i, f"b{i}", source, [*index, "b" if inner == "1" else f"b * {inner}"])

    def lay_cycles(self):
        """One row of the values that each row meets, then the row as often as a block needs it."""
        c = self.c
        with c.vector("c", "0", "n"):
            for i in self.cone(self.cycles, laid.CYCLE):
                self.define(i, "a", "c")
            for i in self.cycles:
                c.assign(f"t{i}[c]", f"v{i}")
        c.let(far="first + (end - j < step ? end - j : step)")
        for i in self.cycles:
            c.cycle(f"t{i}", "n", "far")

    def lay_repeats(self):
        """The values of the rows of a block, then each as often as the row is long."""
        c = self.c
        if not self.repeats:
            return
        values = self.k.values
        made = self.cone(self.repeats, laid.REPEAT)
        read = [values[i].operand for i in made if values[i].op in IN_MEMORY]
        apart = sorted({self.strides[o][1][-1] for o in read})
        with c.if_(" && ".join(f"{step} == 1" for step in apart)):
            self.side = True  # gcc makes vectors of loads that it sees to be neighbours
            self.numbers_of_rows(made)
        with c.block("else"):
            self.side = False
            self.numbers_of_rows(made)
        for i in self.repeats:
            kind = dtypes.SUFFIX[dtypes.computed(self.k.values[i].dtype)]
            c.repeat(kind, f"t{i}", f"s{i}", "n", "first", "count")

    def numbers_of_rows(self, made):
        with self.c.vector("c", "0", "rows"):
            for i in made:
                self.define(i, "a", "c")
            for i in self.repeats:
                self.c.assign(f"s{i}[c]", f"v{i}")

    def side_by_side(self):
        """The rows of a block that lie apart, one after the other: column by column."""
        c = self.c
        for i in self.apart:
            at = self.k.values[i].operand
            dtype, (inner, (*_, far), _) = self.k.operands[at].dtype, self.strides[at]
            if inner == "1" and laid.as_stored(dtype):
                c.move_rows(f"t{i}", f"a{at} + q * {far}", "n", ["n", far], "0", "rows * n")
                continue
            with c.loop("k", "0", "n"), c.loop("c", "0", "rows"):
                self.define(i, "a", "c")
                c.assign(f"t{i}[c * n + k]", f"v{i}")

    def cone(self, roots, kind):
        """The values of a kind that `roots` are made of, in order."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            if i not in seen and self.kinds[i] == kind:
                seen.add(i)
                stack.extend(self.k.values[i].args)
        return sorted(seen)

    def place(self, i, pointer, j, tag=""):
        if pointer == "a" and self.k.operands[i].laid in (laid.REPEAT, laid.APART):
            one = self.k.operands[i].laid == laid.REPEAT
            row = f"q + {j}" if one and self.side else f"(q + {j}) * {self.strides[i][1][-1]}"
            return f"a{i}[{row}]" if one else f"a{i}[{row} + {steps('k', self.strides[i][0])}]"
        return super().place(i, pointer, j, tag)
