"""Bundles of columns: reductions over leading axes and over short bundles of neighbouring columns.

A column program whose strips are whole bundles: all columns have accumulators side by side, and
after each loop over rows those of a bundle become one number, which every column of the bundle has.
Norms of images over groups of channels are such.
"""

from .. import laid
from ..ir import IN_MEMORY
from .columns import STRIP, Columns


class Bundles(Columns):
    """One bundle per unit of the range."""

    note = "column program over bundles: one bundle of columns per unit of the range"

    def __init__(self, kernel, printer):
        self.laid = {
            i: kernel.operands[v.operand].laid
            for i, v in enumerate(kernel.values)
            if v.op in IN_MEMORY and kernel.operands[v.operand].laid in (laid.CYCLE, laid.REPEAT)
        }
        super().__init__(kernel, printer)

    def write(self):
        c = self.c
        c.let(n=self.dims.n, m=self.dims.chunk, most=f"{STRIP} / m")
        self.arrays()
        c.var(row="lo / n", first="lo % n")
        with c.while_("lo < hi"):
            c.var_at_most("bundles", "n - first < hi - lo ? n - first : hi - lo", "most")
            c.let(j0="first * m", w="bundles * m")
            self.shift(self.rows_of("row"), "a", extra="j0")
            self.lay_out()
            self.stages("0", None)
            self.store_bundles()
            c.update("lo += bundles", "first += bundles")
            c.update("first = 0", "row++", when="first == n")

    def arrays(self):
        super().arrays()
        for operand, value in self.final_stores():
            if self.k.operands[operand].laid == laid.REPEAT:
                self.c.row_on_stack(f"o{operand}", self.k.values[value].dtype, self.width)

    def along(self, i, extra):
        kind = self.k.operands[i].laid
        return {laid.REPEAT: "first", laid.CYCLE: "0"}.get(kind, extra)

    def gap_of(self, i):
        return -1 if i in self.laid else super().gap_of(i)

    def lay_out(self):
        """The columns of a strip of what each bundle, or each column of a bundle, has one of."""
        c = self.c
        for i, kind in sorted(self.laid.items()):
            if i in self.kept:
                with c.loop("g", "0", "bundles"), c.loop("k", "0", "m"):
                    self.define(i, "a", "g" if kind == laid.REPEAT else "k")
                    c.assign(f"s{i}[g * m + k]", f"v{i}")

    def reduced(self, reductions):
        for i in reductions:
            self.c.fold_strip(i)

    def store_result(self, operand, text):
        if self.k.operands[operand].laid == laid.REPEAT:
            self.c.assign(f"o{operand}[c]", text)
        else:
            super().store_result(operand, text)

    def store_bundles(self):
        """The results of bundles, of which each column has one."""
        for operand, _ in self.final_stores():
            if self.k.operands[operand].laid == laid.REPEAT:
                with self.c.loop("g", "0", "bundles"):
                    self.store(operand, "a", "g", f"o{operand}[g * m]")
