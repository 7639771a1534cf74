"""Row programs: reductions along the vector loop, and what can be computed between them.

One row (outer index) at a time: scalars of the row, a loop that reduces, scalars that use its
result, the next loop. Expensive values that several loops need are kept in an array of one row on
the stack. Chunked reductions are rows too.
"""

from contextlib import ExitStack

from ...base import dtypes
from ...base.machine import FLOAT, L1, LANES
from .. import passes
from .nest import Nest

ROW_SCRATCH = L1 // 2 // FLOAT  # elements of a row kept on the stack between two loops over it
SOUGHT = 16 * LANES  # elements of a block in which a maximum is sought, of bytes four times
KNOWN = 1024  # elements after which truth values of a row are asked whether more can matter
BLOCK = 512  # floats summed in float before they join the double
AHEAD = 2  # operands prefetched at a time
REST = LANES  # elements of the vector that ends with the row
AWAY = 2048  # elements between what is summed side by side and what is prefetched
LONG = 2048  # floats of a row at least that are summed side by side
APART = ("index", "fetch")  # values that are not read one after the other
NEUTRAL = {"sum": 0, "prod": 1}  # reductions that must not take an element twice


class Rows(Nest):
    """One outer index per unit of the range."""

    note = "row program: one outer index per unit of the range"

    def __init__(self, kernel, printer):
        super().__init__(kernel, printer)
        self.loops, self.spills, self.several = self.loops_of(), {}, {}
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
        self.let_side_by_side()
        with c.loop("r", "lo", "hi"):
            self.shift(self.rows_of("r"), "a")
            self.stages("0", None)

    # ---- rows kept on the stack -----------------------------------------------------------------

    def needed(self, roots, stop=()):
        return passes.needed(self.k, roots, stop)

    def planned_spills(self):
        """{value: loop it is kept in} for expensive values that several loops of a row need."""
        if not self.k.spill:
            return {}
        first, again, kept = {}, set(), {}
        for level, (reductions, stores) in self.loops.items():
            for i in self.needed(self.roots(reductions, stores)):
                if first.setdefault(i, level) != level:
                    again.add(i)
        for i in sorted(again):  # what one is made of comes before it
            if passes.cone_cost(self.k, i, kept) > passes.RECOMPUTE_COST:
                kept[i] = first[i]
        return {i: level for i, level in kept.items() if not self.feeds_only(i, kept)}

    def feeds_only(self, i, spills):
        """Whether every later use of value i goes through another value that is kept by then."""
        for level, (reductions, stores) in self.loops.items():
            kept = {j for j, made in spills.items() if made < level and j != i}
            if level != spills[i] and i in self.needed(self.roots(reductions, stores), kept):
                return False
        return True

    # ---- stages ---------------------------------------------------------------------------------

    def stages(self, first, last):
        done = set()
        for level in range(self.top(self.loops) + 1):
            self.scalars(level, done)
            if self.seeks(level):
                self.seek_block(level, *self.loops[level][0])
            elif self.seeks(level - 1):
                self.search_block(level, self.loops[level - 1][0][0], *self.loops[level][0])
            elif level in self.loops:
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
        c, k = self.c, self.k
        for i in reductions:
            self.accumulator(i)
        blocks = [i for i in reductions if i in self.blocks]
        ahead, pointer = self.ahead(level), "a"
        with ExitStack() as nest:
            if k.runs:
                nest.enter_context(c.loop("q", first, last or " * ".join(self.run_sizes())))
                self.shift(self.unravel("q", self.run_sizes(), "q_"), "b")
                pointer = "b"
            begin, end = "0", "n"
            settles = self.settles(level)
            if settles:
                begin, end = "b", "e"
                self.open_blocks(nest, KNOWN)
            if blocks or ahead:
                begin, end = "b", "e"
                self.open_blocks(nest)
                self.prefetch(ahead)
                for i in blocks:
                    c.partial_sum(f"p_{i}")
            taken = [(i, self.accumulator_of(i), f"bad_{i}") for i in reductions]
            if level in self.several:
                begin = self.sum_side_by_side(level, taken)
            whole = end
            if self.has_rest(level):
                whole, size = f"m{level}", end if begin == "0" else f"({end} - {begin})"
                c.let(**{whole: f"{end} < {REST} ? {end} : {end} - {size} % {REST}"})
            with ExitStack() as rest:
                if level in self.several:  # GCC adds up parts of sums after a loop of no turns, too
                    rest.enter_context(c.if_(f"{begin} < {whole}"))
                rest.enter_context(c.vector("j", begin, whole, taken))
                self.body(level, taken, stores, pointer)
            if whole != end:
                with c.block(f"if ({whole} < {end})"), c.vector("j", f"{end} - {REST}", end, taken):
                    self.body(level, taken, stores, pointer, new=f"j >= {whole}")
            for i in blocks:
                c.update(f"a_{i} += p_{i}")
            if settles:
                c.stop_when_known(reductions)
        for i in reductions:
            self.finish(i)

    def accumulator(self, i):
        self.c.accumulator(i)
        if self.c.accumulators[i].nan:
            self.c.flag(f"bad_{i}")

    def accumulator_of(self, i):
        return f"p_{i}" if i in self.blocks else f"a_{i}"

    def finish(self, i):
        self.c.define_as(i, f"v{i}", self.c.accumulated(i))

    def open_blocks(self, nest, size=BLOCK):
        nest.enter_context(self.c.loop("b", "0", "n", size))
        self.c.let(e=f"b + {size} < n ? b + {size} : n")

    def settles(self, level):
        """Whether a loop only asks for any or all of a row, so that it may stop at the first that
        decides: `any` of 262,144 truth values 2 us where most are true, 11 to the end of all."""
        reductions, stores = self.loops[level]
        asked = all(self.k.values[i].op in ("any", "all") for i in reductions)
        return bool(reductions) and asked and not (stores or self.k.runs or self.ahead(level))

    def has_rest(self, level):
        """Whether the elements of a row after the last whole vector are computed as a vector too.

        That vector ends with the row and overlaps the one before: stores repeat the same numbers,
        maxima do not change, and sums leave out elements they already have. Computed one by one,
        the last eight exponentials of a row of 1000 take a tenth of its time.
        """
        k, (reductions, stores) = self.k, self.loops[level]
        earlier = {i for i, loop in self.spills.items() if loop < level}
        return k.form == "rows" and (
            any(k.values[i].op in ("max", "min") for i in reductions)
            or any(
                passes.cone_cost(k, i, earlier) > passes.RECOMPUTE_COST
                for i in self.roots(reductions, stores)
            )
        )

    def body(self, level, taken, stores, pointer, new=None):
        """What one element takes: values, accumulators, stores. new: a condition under which it is
        none that was taken before."""
        c, k = self.c, self.k
        earlier = {i for i, loop in self.spills.items() if loop < level}
        roots = self.roots([i for i, _, _ in taken], stores)
        for i in self.needed(roots, earlier):
            if i in earlier:
                c.define_as(i, f"v{i}", f"t{i}[j]")
                continue
            self.define(i, pointer, "j")
            if self.spills.get(i) == level:
                c.assign(f"t{i}[j]", f"v{i}")
        for i, accumulator, flag in taken:
            text, again = c.name(k.values[i].args[0]), NEUTRAL.get(k.values[i].op)
            if new and again is not None:
                text = f"({new} ? {text} : {again})"
            c.accumulate(i, accumulator, flag, text)
        for operand, value in stores:
            self.store(operand, pointer, "j", c.name(value))

    # ---- sums of several vectors side by side ---------------------------------------------------

    def side_by_side(self, level):
        """Whether a loop only sums, in double, what it reads or computes at next to no cost.

        Each addition to one vector of sums waits for the one before; four vectors do not wait.
        Doubles in the second-level cache take 0.032 ns each instead of 0.061 with AVX-512, 0.035
        instead of 0.12 with AVX2 (one core of Zen 5). Floats gain by the prefetch that comes with
        it: 4 million in the third-level cache take 90 us instead of 109 on two cores, 149 instead
        of 179 with AVX2; by rows of 2048, 89 instead of 101. Floats of several operands gain
        nothing, and rows of 256 took 1.4 times as long.
        """
        k, (reductions, stores) = self.k, self.loops[level]
        roots = self.roots(reductions, stores)
        values = self.needed(roots)
        floats = len(self.loads(level)) == 1
        return (
            not (k.runs or stores or self.blocks)
            and (floats or self.is_wide(values))
            and all(k.values[i].op == "sum" for i in reductions)
            and all(self.is_plain(i) for i in values)
            and all(passes.cone_cost(k, i) <= passes.RECOMPUTE_COST for i in roots)
        )

    def is_wide(self, values):
        return any(self.k.values[i].dtype == "float64" for i in values)

    def is_plain(self, i):
        """Whether value i is a float of 4 or 8 bytes, and no part of a row on the stack; if it is
        read, one after the other or always the same."""
        v = self.k.values[i]
        if v.dtype not in ("float32", "float64") or v.op in APART or i in self.spills:
            return False
        return v.op != "load" or self.k.operands[v.operand].inner in (0, 1)

    def let_side_by_side(self):
        """How many elements of a row each loop sums so that may do it at all."""
        for level in self.loops:
            if not self.ahead(level) and self.side_by_side(level):
                wide = self.is_wide(self.needed(self.roots(*self.loops[level])))
                vectors = 2 if wide else 4  # of floats, as long as four of the numbers
                block = f"{vectors} * CK_LANES"
                long = self.k.form == "rows" and not wide
                least = LONG if long else f"{2 * vectors} * CK_LANES"
                self.several[level] = wide, block
                self.c.let(**{f"s{level}": f"CK_SIDE_BY_SIDE(n, {block}, {least})"})

    def sum_side_by_side(self, level, taken):
        """Sum blocks of four vectors into the accumulators; returns where the rest begins."""
        c, k = self.c, self.k
        values = self.needed(self.roots(*self.loops[level]))
        begin, (wide, block) = f"s{level}", self.several[level]
        lanes = "CK_LANES / 2" if wide else "CK_LANES"
        with c.if_(f"{begin} > 0"):
            for i, _, _ in taken:
                c.sums(f"s_{i}", block)
            with c.loop("b", "0", begin, block):
                if not wide:
                    with c.unrolled("q", "b", f"b + {block}", 64 // dtypes.ITEMSIZE["float32"]):
                        c.prefetch(*self.loads(level), f"q + {AWAY}")
                with c.unrolled("q", "0", block, lanes), c.vector("u", "q", f"q + {lanes}"):
                    for i in values:
                        self.define(i, "a", "b + u")
                    for i, _, _ in taken:
                        c.accumulate(i, f"s_{i}[u]", None, c.name(k.values[i].args[0]))
            with c.vector("q", "0", block, taken):
                for i, accumulator, _ in taken:
                    c.accumulate(i, accumulator, None, f"s_{i}[q]")
        return begin

    # ---- prefetching ----------------------------------------------------------------------------

    def ahead(self, level):
        """[(operand, how far, whether it is stored)] to prefetch in the second loop over a row.

        The row is in cache by then, and memory would idle: the loop prefetches the next row, and
        what later loops read and store of this one. On one core, ms: mean and variance of 4096 x
        4096 2.4 instead of 2.8, softmax of 4096 x 1000 3.5 instead of 4.6, layer norm of 4096 x
        768 2.3 instead of 3.1 (prefetching the next row alone gains nothing). Two operands at
        most: softmax of 4096 x 1000 with its gradient, two threads of Zen 5, takes 1.21 ms with
        both that are read, 1.36 with the two that are stored besides, 1.38 with none. A cheap
        loop over rows that are stored prefetches only where they come from memory: layer norms of
        64 x 768 and of 100000 x 10 took 1.1 and 1.4 times as long.
        """
        k, loops = self.k, self.loops
        if k.runs or list(loops)[1:2] != [level] or not (k.form == "chunks" or k.spill):
            return []
        if k.outer != (k.form == "rows"):
            return []
        first = self.next_row(self.loads(min(loops)))
        costly = any(
            passes.cone_cost(k, i) > passes.RECOMPUTE_COST for i in self.roots(*loops[level])
        )
        if k.outer and (costly or k.stream):
            return (first + self.later(level))[:AHEAD]
        return [] if costly or any(stores for _, stores in loops.values()) else first

    def loads(self, level):
        """The contiguous operands that a loop reads."""
        values = [self.k.values[i] for i in self.needed(self.roots(*self.loops[level]))]
        found = dict.fromkeys(v.operand for v in values if v.op == "load")
        return [i for i in found if self.k.operands[i].inner == 1]

    def next_row(self, operands):
        operands = [i for i in operands if self.k.operands[i].outer or not self.k.outer]
        return [(i, self.strides[i][1][0] if self.k.outer else "n", False) for i in operands]

    def later(self, level):
        """What loops after this one read and store of the row, and no loop so far."""
        read = {i for l in self.loops if l <= level for i in self.loads(l)}
        rest = [l for l in self.loops if l > level]
        loads = dict.fromkeys(i for l in rest for i in self.loads(l) if i not in read)
        stores = [o for l in rest for o, _ in self.loops[l][1] if self.k.operands[o].inner == 1]
        return [(i, "0", False) for i in loads if self.k.operands[i].outer] + [
            (i, "0", True) for i in stores if self.k.operands[i].outer
        ]

    def prefetch(self, wanted):
        """Prefetch the part of rows, or of the next chunk, that lies below this block."""
        if wanted:
            step = 64 // max(dtypes.ITEMSIZE[self.k.operands[i].dtype] for i, _, _ in wanted)
            with self.c.loop("j", "b", "e", step):
                for i, by, stored in wanted:
                    self.c.prefetch(i, "j" if by == "0" else f"{by} + j", stored)

    # ---- maxima and their places ----------------------------------------------------------------

    def seeks(self, level):
        """Whether a loop only looks for the maximum of a row and the next one for its place."""
        best, stores = self.loops.get(level, ([], []))
        found = self.loops.get(level + 1, ([], []))
        return bool(
            len(best) == 1
            and not stores
            and best[0] in self.places
            and found == ([self.places[best[0]]], [])
        )

    def seek_block(self, level, i):
        """The maximum (or minimum) of a row, and w, where the first block begins that has it.

        Argmax of 4096 x 4096 then waits for memory only: 2.0 ms on one core, 2.9 where the search
        for the place looks at the row up to it. Of 512 rows of 512 floats in cache it takes 41 us
        with blocks of 512, 34 and 28 with 256 and 128; of longer rows blocks of 256 take least, of
        bytes those of 1,024: the end of a block costs more than four vectors.
        """
        c = self.c
        self.accumulator(i)
        c.var(**{f"w_{i}": "0"})
        block = SOUGHT * max(1, 4 // dtypes.ITEMSIZE[self.k.values[i].dtype])
        c.let(**{f"part_{i}": f"n < {4 * block} ? {SOUGHT // 2} : {block}"})
        with c.loop("b", "0", "n", f"part_{i}"):
            c.let(e=f"b + part_{i} < n ? b + part_{i} : n")
            c.accumulator(i, f"p_{i}")
            if c.accumulators[i].nan:
                c.flag(f"q_{i}")
            taken = [(i, f"p_{i}", f"q_{i}")]
            with c.vector("j", "b", "e", taken):
                self.body(level, taken, [], "a")
            c.better_block(i)
        self.finish(i)

    def search_block(self, level, best, i):
        """The first place in the block at w that holds what `seek_block` found there."""
        c = self.c
        self.accumulator(i)
        c.let(**{f"e_{i}": f"w_{best} + part_{best} < n ? w_{best} + part_{best} : n"})
        taken = [(i, f"a_{i}", f"bad_{i}")]
        with c.vector("j", f"w_{best}", f"e_{i}", taken):
            self.body(level, taken, [], "a")
        self.finish(i)


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
                self.let_side_by_side()
                self.shift([], "a", extra="first")
                self.stages("0", None)

    def store_result(self, operand, text):
        self.c.store(operand, f"y{operand}[r]", text)
