"""Row programs: reductions along the vector loop, and what can be computed between them.

One row (outer index) at a time: scalars of the row, a loop that reduces, scalars that use its
result, the next loop. Expensive values that several loops need are kept in an array of one row on
the stack. Chunked reductions are rows too. How each loop is written, row_loops.py says.
"""

from contextlib import ExitStack

from ...base.machine import FLOAT, L1
from .. import passes
from . import row_loops
from .loops import Loop
from .nest import Nest

ROW_SCRATCH = L1 // 2 // FLOAT  # elements of a row kept on the stack between two loops over it
NEUTRAL = {"sum": 0, "prod": 1}  # reductions that must not take an element twice


class Rows(Nest):
    """One outer index per unit of the range."""

    note = "row program: one outer index per unit of the range"
    changes = row_loops.CHANGES

    def __init__(self, kernel, printer):
        super().__init__(kernel, printer)
        self.loops, self.spills, self.held = self.loops_of(), {}, ()
        cached = kernel.form == "rows" and len(self.loops) > 1
        self.blocks = {
            i
            for i, v in enumerate(kernel.values)
            if v.reduces and passes.in_blocks(kernel, i, cached)
        }

    def write(self):
        c = self.c
        c.let(n=self.dims.n)
        self.spills = self.planned_spills()
        for i in sorted(self.spills):
            c.row_on_stack(f"t{i}", self.k.values[i].dtype, ROW_SCRATCH)
        row_loops.let_side_by_side(self)
        with c.loop("r", "lo", "hi"):
            self.shift(self.rows_of("r"), "a")
            self.stages("0", None)

    # ---- rows kept on the stack -----------------------------------------------------------------

    def needed(self, roots, stop=()):
        return passes.needed(self.k, roots, stop)

    def wanted(self, level):
        """The values that the loop of a level is for."""
        return self.roots(*self.loops[level])

    def planned_spills(self):
        """{value: loop it is kept in} for expensive values that several loops of a row need."""
        if not self.k.spill:
            return {}
        first, again, kept = {}, set(), {}
        for level in self.loops:
            for i in self.needed(self.wanted(level)):
                if first.setdefault(i, level) != level:
                    again.add(i)
        for i in sorted(again):  # what one is made of comes before it
            if passes.cone_cost(self.k, i, kept) > passes.RECOMPUTE_COST:
                kept[i] = first[i]
        return {i: level for i, level in kept.items() if not self.feeds_only(i, kept)}

    def feeds_only(self, i, spills):
        """Whether every later use of value i goes through another value that is kept by then."""
        for level in self.loops:
            kept = {j for j, made in spills.items() if made < level and j != i}
            if level != spills[i] and i in self.needed(self.wanted(level), kept):
                return False
        return True

    def kept_before(self, level):
        return {i for i, loop in self.spills.items() if loop < level}

    # ---- stages ---------------------------------------------------------------------------------

    def stages(self, first, last):
        done = set()
        for level in range(self.top(self.loops) + 1):
            self.scalars(level, done)
            if level in self.loops:
                self.loop(level, *self.loops[level], first, last)
        for operand, value in self.k.stores:
            if not self.along_run(operand):
                self.store_result(operand, self.c.name(value))

    def store_result(self, operand, text):
        self.store(operand, "a", "0", text)

    def scalars(self, level, done):
        """Values of one row that do not vary along it and are ready before loop `level`."""
        for i, v in enumerate(self.k.values):
            if v.run or v.fixed or v.reduces or v.level != level or i in done:
                continue
            done.add(i)
            self.define(i, "a", "0")

    def loop(self, level, reductions, stores, first, last):
        for i in reductions:
            self.c.accumulator(i)
            if self.c.accumulators[i].nan:
                self.c.flag(f"bad_{i}", i)
        taken = tuple((i, f"a_{i}", f"bad_{i}") for i in reductions)
        end = (last or " * ".join(self.run_sizes())) if self.k.runs else "n"
        self.print_loop(Loop(level, taken, tuple(stores), first, end))
        for i in reductions:
            self.c.define_as(i, f"v{i}", self.c.accumulated(i))

    def print_plainly(self, loop):
        with ExitStack() as around:
            if loop.is_left:  # GCC adds up parts of sums after a loop of no turns, too
                around.enter_context(self.c.if_(f"{loop.begin} < {loop.end}"))
            vector = self.c.vector("j", loop.begin, loop.end, loop.taken, lanes=loop.lanes)
            around.enter_context(vector)
            self.element(loop)

    def element(self, loop):
        """What one element takes: values, accumulators, stores."""
        c, k = self.c, self.k
        earlier = self.kept_before(loop.level)
        for i in self.needed(self.roots(loop.reductions, loop.stores), earlier):
            if i in earlier:
                c.define_as(i, f"v{i}", f"t{i}[j]")
                continue
            if i in self.held:
                continue
            self.define(i, loop.read, "j")
            if self.spills.get(i) == loop.level:
                c.assign(f"t{i}[j]", f"v{i}")
        for i, accumulator, flag in loop.taken:
            text, again = c.name(k.values[i].args[0]), NEUTRAL.get(k.values[i].op)
            if loop.new and again is not None:
                text = f"({loop.new} ? {text} : {again})"
            c.accumulate(i, accumulator, flag, text)
        for operand, value in loop.stores:
            self.store(operand, loop.written, "j", c.name(value))


class Chunks(Rows):
    """A partial reduction of everything: one chunk of elements, or of runs, per unit."""

    note = "partial reduction: one chunk per unit of the range"

    def write(self):
        c, sizes = self.c, self.run_sizes()
        if sizes:
            c.let(n=self.dims.n)
        c.let(chunk=self.dims.chunk, total=" * ".join(sizes) or self.dims.n)
        with c.loop("r", "lo", "hi"):
            c.let(first="r * chunk")
            c.let(last="first + chunk < total ? first + chunk : total")
            if any(v.op == "count" for v in self.k.values):
                c.count("n * (last - first)" if sizes else "last - first")
            if sizes:
                self.shift([], "a")
                self.stages("first", "last")
            else:
                c.let(n="last - first")
                row_loops.let_side_by_side(self)
                self.shift([], "a", extra="first")
                self.stages("0", None)

    def store_result(self, operand, text):
        self.c.store(operand, f"y{operand}[r]", text)
