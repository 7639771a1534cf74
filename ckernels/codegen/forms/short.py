"""Nests of short rows, elementwise or reduced as a whole: two axes are one to the vector loop.

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
        values = list(zip(kernel.values, self.kinds))
        read = {a for v, kind in values if v.computed and kind == laid.ALONG for a in v.args}
        read |= {a for v in kernel.values if v.reduces for a in v.args}
        read |= {value for _, value in kernel.stores}
        self.cycles = sorted(i for i in read if self.kinds[i] == laid.CYCLE)
        self.repeats = sorted(i for i in read if self.kinds[i] == laid.REPEAT)

    def kinds_of(self):
        """How each value varies: "" where it stays, cycle, repeat, or along with all elements."""
        kinds = []
        for v in self.k.values:
            if v.op in IN_MEMORY:
                kinds.append(self.k.operands[v.operand].laid)
            elif v.reduces:
                kinds.append("")
            else:
                found = {laid.ALONG if kinds[a] == laid.APART else kinds[a] for a in v.args} - {""}
                kinds.append(found.pop() if len(found) == 1 else laid.ALONG if found else "")
        return kinds

    def write(self):
        c = self.c
        c.let(n=self.dims.n, length=f"n * {self.outer_sizes()[-1]}")
        self.room()
        with self.rows_in_range("length", self.outer_sizes()[:-1]):
            self.row(self.k.stores)

    def room(self):
        """Where rows of a block are laid out."""
        c, values = self.c, self.k.values
        for i in (*self.cycles, *self.apart):
            c.row_on_stack(f"t{i}", values[i].dtype, BLOCK + laid.SHORT)
        for i in self.repeats:
            c.row_on_stack(f"s{i}", values[i].dtype, NUMBERS)
            c.row_on_stack(f"t{i}", values[i].dtype, BLOCK)
        c.let(step=f"{BLOCK} / n * n")

    def far(self, operand):
        """The stride of an operand from row to row."""
        return self.strides[operand][1][-1]

    # ---- one range of the two axes ---------------------------------------------------------------

    def row(self, stores, reductions=()):
        c, k = self.c, self.k
        taken = tuple((i, f"a_{i}", f"bad_{i}") for i in reductions)
        for i, v in enumerate(k.values):
            if not (self.kinds[i] or v.fixed or v.reduces or v.level):
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
            unroll = 0 if taken else passes.interleave(k)
            with c.vector("i", "0", "count", taken, unroll=unroll):
                for i, kind in enumerate(self.kinds):
                    if i in self.cycles or i in self.apart:
                        c.define_as(i, f"v{i}", f"t{i}[first + i]")
                    elif i in self.repeats:
                        c.define_as(i, f"v{i}", f"t{i}[i]")
                    elif kind == laid.ALONG:
                        self.define(i, "b", "i")
                for i, accumulator, flag in taken:
                    c.accumulate(i, accumulator, flag, c.name(k.values[i].args[0]))
                self.put_all(stores, "b", "i")

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
        apart = sorted({self.far(o) for o in read})
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
            dtype, inner, far = self.k.operands[at].dtype, self.strides[at][0], self.far(at)
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
            row = f"q + {j}" if one and self.side else f"(q + {j}) * {self.far(i)}"
            return f"a{i}[{row}]" if one else f"a{i}[{row} + {steps('k', self.strides[i][0])}]"
        return super().place(i, pointer, j, tag)


class ShortChunks(ShortRows):
    """A partial reduction of all short rows: one chunk of rows per unit of the range.

    45,240 logarithms of doubles in rows of 12, chosen from by truth values and added up, take 690
    us row by row, where no vector is as long as one of truth values, and 197 so (AVX2).
    """

    note = "partial reduction over short rows as one: one chunk of rows per unit of the range"

    def write(self):
        c, k, ((reductions, stores),) = self.c, self.k, self.loops_of().values()
        c.let(n=self.dims.n, chunk=self.dims.chunk, total=self.run_sizes()[0])
        self.room()
        with c.loop("r", "lo", "hi"):
            c.let(j="r * chunk * n")
            c.let(end="(r * chunk + chunk < total ? r * chunk + chunk : total) * n")
            self.shift([], "a")
            for i in reductions:
                c.accumulator(i)
                if c.accumulators[i].nan:
                    c.flag(f"bad_{i}", i)
            self.row(stores, reductions)
            for i in reductions:
                c.define_as(i, f"v{i}", c.accumulated(i))
            for i, v in enumerate(k.values):
                if v.level and not (v.fixed or v.reduces):
                    self.define(i, "a", "0")
            for operand, value in k.stores:
                if (operand, value) not in stores:
                    c.store(operand, f"y{operand}[r]", c.name(value))

    def far(self, operand):
        return self.strides[operand][2][-1]
