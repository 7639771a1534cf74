"""Rows and the sums of their columns: a band of rows is computed, then added to the sums."""

from ...base.machine import FLOAT, L2
from .columns import ColumnChunks
from .loops import LoopChange

BAND = 3 * L2 // 32 // FLOAT  # elements of a band: what it reads and writes stays in L2


class BandedChunks(ColumnChunks):
    """A partial reduction per column of rows that $name_rows computes band by band."""

    note = "rows, and a partial column reduction of them: one chunk of rows per unit of the range"

    def __init__(self, bands, printer):
        super().__init__(bands.kernel, printer)

    def is_first(self, loop):
        return loop.level == self.levels[0]

    def band_by_band(self, loop, rest):
        c = self.c
        c.let(band=f"n < {BAND} ? {BAND} / n : 1")
        with c.blocks("b", "e", loop.begin, loop.end, "band"):
            with c.if_("j0 == 0"):
                c.call_rows("b", "e")
            rest(loop.over("b", "e"))

    changes = (
        LoopChange("bands", is_first, band_by_band,
               "Sums find in cache the rows that were just made. Layer norm with its gradients, "
               "4096 x 768 on two threads of Zen 5: 0.68 ms with bands of 16, 32 or 64 rows, 0.78 "
               "of 128, 0.83 for one kernel after the other."),
        *ColumnChunks.changes,
    )  # fmt: skip
