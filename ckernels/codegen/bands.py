"""Two loops as one kernel: rows, and sums over these rows, band by band.

Where many rows are computed and then read once more, for sums down their columns, memory would be
read twice. Such a kernel computes a band of rows and adds it to the sums while it is in cache. The
planner decides which two loops may share a kernel (plan/bands.py); forms/bands.py has the loop.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bands:
    """`rows`, a kernel of rows, and `kernel`, a partial column reduction of as many rows.

    Pointers and dims are those of `rows`, of which there are `dims`, and then those of `kernel`; a
    unit of the range is a chunk of rows.
    """

    rows: object
    kernel: object
    dims: int
    form = "bands"

    def key(self):
        """A hashable identity: equal keys mean equal C."""
        return (self.form, self.rows.key(), self.kernel.key(), self.dims)

    @property
    def operands(self):
        return self.rows.operands + self.kernel.operands

    def check(self):
        """Itself; AssertionError when one of its kernels is not well formed."""
        assert (self.rows.form, self.kernel.form) == ("rows", "column_chunks")
        self.rows.check()
        self.kernel.check()
        return self
