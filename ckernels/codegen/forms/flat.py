"""Elementwise nests: a flat range of rows, tiles for transposed operands, steps of a recurrence."""

from contextlib import contextmanager

from ...base.machine import LANES, VECTOR
from .. import passes
from .nest import Nest

TURNED = 16 * LANES  # elements of a reversed operand that are turned at a time
ASKED = 16 * LANES  # elements of which a loop asks at a time whether a sine of them needs no libm
BYTES, FEW = VECTOR, VECTOR // 4  # elements of a vector of bytes, of the shortest ones
TILE = 2 * LANES  # transposed operands: square tiles stay in L1 (3x over untiled)


class Flat(Nest):
    """One range over all elements, cut where a row ends."""

    note = "elementwise over a flat range"

    def write(self):
        if not self.k.outer:
            self.row("x", "y", "lo", "hi")
            return
        self.c.let(n=self.dims.n)
        with self.rows_in_range("n", self.outer_sizes()):
            self.row("a", "a", "j", "end")

    @contextmanager
    def rows_in_range(self, n, sizes):
        """Once for each row of n elements, counted by `sizes`, of which the range has [j, end)."""
        c, rows = self.c, [f"r{i}" for i in range(len(sizes))]
        c.var(row=f"lo / {n}", j=f"lo % {n}")
        if len(sizes) > 1:
            c.var_digits(rows, sizes, "row")
        with c.while_("lo < hi"):
            c.let(end=f"{n} - j < hi - lo ? {n} : j + hi - lo")
            if len(sizes) == 1:
                c.let(r0="row")
            self.shift(rows, "a")
            yield
            if len(sizes) > 1:  # two divisions per row cost as much as 20 additions of floats
                c.update("lo += end - j", "j = 0")
                c.count_on(rows, sizes)
            else:
                c.update("lo += end - j", "row++", "j = 0")

    def row(self, read, written, first, last):
        self.fixed_values(read)
        still, moving = self.stores_apart()
        if still and moving:
            with self.c.if_(f"{first} < {last}"):
                self.put_all(still, written, "0")
        else:
            moving = self.k.stores
        turned = passes.turned_first(self.k)
        if not turned:
            self.loop(read, written, moving, first, last)
            return
        for i in turned:
            self.c.copy_on_stack(f"t{i}", self.k.operands[i].dtype, TURNED)
        with self.c.loop("b", first, last, TURNED):
            self.c.let(e=f"b + {TURNED} < {last} ? b + {TURNED} : {last}")
            for i in turned:
                with self.c.vector("i", "b", "e"):
                    self.c.assign(f"t{i}[i - b]", self.place(i, read, "i"))
            self.turned = {i: f"t{i}[i - b]" for i in turned}
            self.loop(read, written, moving, "b", "e")
            self.turned = {}

    def loop(self, read, written, stores, first, last):
        asked = passes.asked_ahead(self.k)
        if asked:
            self.asked_blocks(asked, read, written, stores, first, last)
        elif passes.narrow_rows(self.k):
            self.narrow_loop(read, written, stores, first, last)
        elif passes.part_rows(self.k):
            self.c.let(whole=f"{last} - ({last} - {first}) % CK_LANES")
            self.vectors(read, written, stores, first, "whole")
            with self.c.if_(f"whole < {last}"):
                self.part(read, written, stores, "whole", last)
        else:
            self.vectors(read, written, stores, first, last)

    def vectors(self, read, written, stores, first, last):
        with self.c.vector("i", first, last, unroll=passes.interleave(self.k)):
            self.element(read, written, stores)

    def part(self, read, written, stores, first, last):
        """Fewer elements than a vector has, as one."""
        c = self.c
        loads = {v.operand for v in self.k.values if v.vec and v.op == "load"}
        kept = {operand for operand, _ in stores}
        for i in sorted(loads | kept):
            c.copy_on_stack(f"t{i}", self.k.operands[i].dtype, "CK_LANES")
        for i in sorted(loads):
            c.part(f"t{i}", f"&{self.place(i, read, first)}", f"{last} - {first}")
        self.turned = {i: f"t{i}[u]" for i in loads | kept}
        with c.vector("u", "0", "CK_LANES"):
            self.element(read, written, stores)
        self.turned = {}
        for i in sorted(kept):
            c.keep_part(f"&{self.place(i, written, first)}", f"t{i}", f"{last} - {first}")

    def asked_blocks(self, asked, read, written, stores, first, last):
        """Blocks in which no sine, cosine or tangent is of a large number, and others."""
        c = self.c
        with c.loop("g", first, last, ASKED):
            c.let(h=f"g + {ASKED} < {last} ? g + {ASKED} : {last}")
            c.flag("large")
            with c.vector_flag("i", "g", "h", "large"):
                for i in passes.varying(self.k, asked):
                    self.define(i, read, "i")
                c.ask_large("large", asked)
            with c.if_("large"):
                self.vectors(read, written, stores, "g", "h")
            with c.near(), c.if_("!large"):
                self.vectors(read, written, stores, "g", "h")

    def narrow_loop(self, read, written, stores, first, last):
        c = self.c
        c.let(whole=f"{last} - ({last} - {first}) % {BYTES}")
        with c.vector("i", first, "whole"):
            self.element(read, written, stores)
        with c.if_(f"whole < {last}"):
            c.var(q="whole")
            with c.whole_blocks("q", last, FEW), c.vector("i", "q", f"q + {FEW}"):
                self.element(read, written, stores)
            with c.loop("i", "q", last):
                self.element(read, written, stores)

    def element(self, read, written, stores):
        self.varying_values(read, "i")
        self.put_all(stores, written, "i")

    def stores_apart(self):
        """(stores of one number to one place, other stores).

        GCC makes no vectors of a loop with the first kind in it: the covariances of a Gaussian
        process of 100 points, with exp of two scalars kept for its gradient, took twice as long.
        """
        apart = [], []
        for operand, value in self.k.stores:
            moves = self.k.operands[operand].inner != 0 or self.k.values[value].vec
            apart[moves].append((operand, value))
        return apart

    def put_all(self, stores, pointer, j):
        for operand, value in stores:
            self.store(operand, pointer, j, self.c.name(value))


class Tile(Nest):
    """Tiles of a matrix of which operands lie along the other axis."""

    note = f"elementwise over {TILE} x {TILE} tiles"

    def write(self):
        c = self.c
        c.let(n=self.dims.n)
        self.fixed_values("x")
        with c.loop("r0", "lo", "hi", TILE):
            c.let(r1=f"r0 + {TILE} < hi ? r0 + {TILE} : hi")
            with c.loop("c0", "0", "n", TILE):
                c.let(c1=f"c0 + {TILE} < n ? c0 + {TILE} : n")
                with c.loop("r", "r0", "r1"):
                    self.shift(["r"], "a")
                    with c.vector("i", "c0", "c1"):
                        self.varying_values("a", "i")
                        for operand, value in self.k.stores:
                            self.store(operand, "a", "i", c.name(value))
