"""Contractions: tiles of outputs in registers, which share what they read.

A block of rows (A) meets strips of columns (B) by parts of the reduced axis (Q). What varies along
one outer axis alone is laid out for the part first, so that the tile reads one number per row and
vectors of columns whatever the strides. Floats are summed in float over a part of the axis, and the
sums of parts in double.
"""

from .. import contraction
from .nest import Nest, steps

ROWS = 128  # of a block: what is laid out of a strip of columns serves all of them
DEPTH = 64  # of a part: floats that are summed before they join the double
TILE = 8  # rows of a tile: as many additions do not wait for each other


class Contraction(Nest):
    """One row (of each leading axis) per unit of the range, or of some of its columns."""

    note = "contraction: tiles of outputs share what they read"

    def __init__(self, kernel, printer):
        super().__init__(kernel, printer)
        values = kernel.values
        self.kinds = contraction.varies(values, [self.walk(op) for op in kernel.operands])
        self.reductions = [i for i, v in enumerate(values) if v.reduces]
        self.cone = contraction.cone(values)
        self.body = [i for i in self.cone if self.kinds[i] == {"A", "B", "Q"}]
        read = {a for i in self.body for a in values[i].args}
        read |= {values[i].args[0] for i in self.reductions}
        self.laid = {
            kind: sorted(i for i in read - {*self.body} if i in self.cone and self.along(i) == kind)
            for kind in ("A", "B", "AB")
        }
        wide = any(values[values[i].args[0]].dtype == "float64" for i in self.reductions)
        self.width = "CK_LANES" if wide else "2 * CK_LANES"

    @staticmethod
    def walk(op):
        """Along which axes an operand moves."""
        moves = (("A", op.cross != 0), ("B", op.inner != 0), ("Q", op.run))
        return frozenset(axis for axis, there in moves if there)

    def along(self, i):
        """The outer axes for which value i is laid out: what varies along Q alone serves rows."""
        outer = "".join(sorted(self.kinds[i] - {"Q"}))
        return outer or ("A" if self.kinds[i] else "")

    # ---- the nest -------------------------------------------------------------------------------

    def write(self):
        c, sizes = self.c, self.outer_sizes()
        c.let(n=self.dims.n, m=sizes[-1], k=self.run_sizes()[0])
        c.let(part=f"{self.dims.chunk} > 0 ? {self.dims.chunk} : n + 1", parts="n / part + 1")
        self.arrays()
        c.var(row="lo / m / parts", p0="lo / m % parts", r0="lo % m")
        with c.while_("lo < hi"):
            c.var_at_most("rows", "m - r0 < hi - lo ? m - r0 : hi - lo", ROWS)
            self.shift([*self.unravel("row", sizes[:-1], "o"), "r0"], "a")
            self.still("a")
            c.let(end="n - p0 * part < part ? n : (p0 + 1) * part")
            with c.loop("j", "p0 * part", "end", f"({self.width})"):
                c.let(w=f"end - j < {self.width} ? end - j : {self.width}")
                self.strip()
            c.update("lo += rows", "r0 += rows")
            c.update("r0 = 0", "p0++", when="r0 == m")
            c.update("p0 = 0", "row++", when="p0 == parts")

    def arrays(self):
        c, values = self.c, self.k.values
        for kind, name, size in (
            ("A", "s", f"{ROWS} * {DEPTH}"),
            ("B", "t", f"{DEPTH} * {self.width}"),
            ("AB", "g", f"{ROWS} * {self.width}"),
        ):
            for i in self.laid[kind]:
                c.row_on_stack(f"{name}{i}", values[i].dtype, size)
        for i in self.reductions:
            c.tile_accumulators(i, f"{ROWS} * {self.width}")

    def still(self, pointer):
        """What varies along none of the axes, before all loops."""
        for i in self.cone:
            if not self.kinds[i]:
                self.define(i, pointer, "0")

    def strip(self):
        c = self.c
        self.lay("AB", "g", ("r", "rows"), ("c", "w"), self.width, "0")
        for i in self.reductions:
            c.start_tile(f"a_{i}", f"rows * {self.width}")
        with c.loop("q0", "0", "k", DEPTH):
            c.let(depth=f"k - q0 < {DEPTH} ? k - q0 : {DEPTH}")
            self.lay("A", "s", ("r", "rows"), ("q", "depth"), DEPTH, "(q0 + q)")
            self.lay("B", "t", ("q", "depth"), ("c", "w"), self.width, "(q0 + q)")
            c.var(r="0")
            with c.whole_blocks("r", "rows", TILE):
                self.tiles(TILE)
            with c.rest("r", "rows"):
                self.tiles(1)
        self.outputs()

    def lay(self, kind, name, rows, columns, length, q):
        """Compute what varies along these axes into an array [rows][length] of a part; rows and
        columns are (index, size). What is no multiple of a vector ends with zeros."""
        c, wanted = self.c, self.laid[kind]
        if not wanted:
            return
        order = self.needed(wanted)
        loops = [rows, columns]
        if kind == "B" and not any(self.is_dense(i) for i in order):
            loops = [columns, rows]  # as they lie
        with c.loop(loops[0][0], "0", loops[0][1]), c.vector(loops[1][0], "0", loops[1][1]):
            for i in order:
                self.define_at(i, "r", "(j + c)", q)
            for i in wanted:
                c.assign(f"{name}{i}[{rows[0]} * ({length}) + {columns[0]}]", f"v{i}")
        if columns[0] == "c":
            with c.loop(rows[0], "0", rows[1]), c.loop("c", "w", self.width):
                for i in wanted:
                    c.assign(f"{name}{i}[{rows[0]} * ({length}) + c]", "0")

    def is_dense(self, i):
        """Whether value i is read from columns that lie one after the other."""
        operand = self.k.values[i].operand
        return operand >= 0 and self.k.operands[operand].inner in (1, -1)

    def needed(self, roots):
        """The values below reductions that `roots` are made of, but those that never vary."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            if i not in seen and i in self.cone and self.kinds[i]:
                seen.add(i)
                stack.extend(self.k.values[i].args)
        return sorted(seen)

    # ---- tiles ----------------------------------------------------------------------------------

    def tiles(self, rows):
        """Sum a part of the axis for `rows` rows from r on, and a strip of columns.

        The vector loop is the outer one, so that its accumulators are single numbers, one register
        each: as arrays GCC keeps them in memory, and takes 1.3 times as long.
        """
        c, values = self.c, self.k.values
        with c.vector("c", "0", self.width):
            for i in self.reductions:
                c.tile(i, [f"p{u}_{i}" for u in range(rows)])
            with c.loop("q", "0", "depth"):
                self.of_columns()
                for u in range(rows):
                    with c.block(""):
                        self.of_rows(f"(r + {u})")
                        for i in self.body:
                            self.define(i, "a", "0")
                        for i in self.reductions:
                            c.add(f"p{u}_{i}", c.name(values[i].args[0]))
            for u in range(rows):
                for i in self.reductions:
                    c.add(f"a_{i}[(r + {u}) * ({self.width}) + c]", f"p{u}_{i}")

    def of_columns(self):
        for i in self.laid["B"]:
            self.c.define_as(i, f"v{i}", f"t{i}[q * ({self.width}) + c]")

    def of_rows(self, r):
        for i in self.laid["A"]:
            self.c.define_as(i, f"v{i}", f"s{i}[{r} * {DEPTH} + q]")
        for i in self.laid["AB"]:
            self.c.define_as(i, f"v{i}", f"g{i}[{r} * ({self.width}) + c]")

    # ---- what becomes of the results ------------------------------------------------------------

    def outputs(self):
        c = self.c
        seen, stack = set(), [v for _, v in self.k.stores]
        while stack:
            i = stack.pop()
            v = self.k.values[i]
            if i in seen or v.fixed:
                continue
            seen.add(i)
            if not v.reduces:
                stack.extend(v.args)
        order = sorted(seen)
        with c.loop("r", "0", "rows"), c.vector("c", "0", "w"):
            for i in order:
                if self.k.values[i].reduces:
                    c.define_tile(i, f"[r * ({self.width}) + c]")
                elif self.kinds[i] or i not in self.cone:
                    self.define_at(i, "r", "(j + c)", "0")
            for operand, value in self.k.stores:
                c.store(operand, self.at(operand, "r", "(j + c)", "0"), c.name(value))

    def define_at(self, i, r, j, q):
        operand = self.k.values[i].operand
        self.c.define(i, self.at(operand, r, j, q) if operand >= 0 else None)

    def at(self, i, r, j, q):
        """Where operand i has what belongs to row r of the block, column j, and q."""
        op, (inner, far, run) = self.k.operands[i], self.strides[i]
        terms = [f"{r} * {far[-1]}"] if op.cross != 0 else []
        terms += [steps(j, inner)] if op.inner != 0 else []
        terms += [f"{q} * {run[0]}"] if op.run and q != "0" else []
        if op.role == "index":
            return f"({' + '.join([f'a{i}', *terms])})"
        return f"a{i}[{' + '.join(terms) or '0'}]"
