"""Column programs: reductions over leading axes, with a strip of columns side by side in the vector
loop.

Accumulators are arrays of one strip on the stack. Cheap bodies take several rows at a time, so that
the accumulators are loaded less often.
"""

from ...base import dtypes
from ...base.machine import LANES, VECTOR
from .. import passes
from .loops import Loop, LoopChange
from .nest import Nest

STRIP = 16 * LANES  # columns a column program holds accumulators for: half of the registers
CHUNK_STRIP = 4 * STRIP  # the same where one pass over rows is chunked: longer runs per page
LINES_STRIP = 4 * LANES  # the same of several operands whose columns lie apart: their lines stay in
# L1 from row to row. Sums of logarithms of 3,770 rows of 12 doubles, of two operands and stored,
# take 0.21 ms by 64, 0.22 by 128, 0.25 by 256 (AVX2)
HELD_STRIP = 4 * LANES  # columns of a strip whose rows are kept on the stack between two loops
HELD_ROWS = LANES  # of them less than these
UNROLL = 8  # rows a cheap column reduction takes at a time
UNROLL_COST = 4  # of the body at most
BLOCKS = 4  # strips of rows a cheap one takes at a time


class Columns(Nest):
    """One column per unit of the range."""

    note = "column program: one column per unit of the range"

    def __init__(self, kernel, printer):
        super().__init__(kernel, printer)
        places = set(self.places.values())  # found with their maximum
        self.work = {}
        for level, (reductions, stores) in self.loops_of().items():
            reductions = [i for i in reductions if i not in places]
            if reductions or stores:
                self.work[level] = reductions, stores
        self.levels = list(self.work)
        self.kept, self.held = self.wanted_later(), {}
        if kernel.spill:
            self.held = self.dear_again()

    @property
    def width(self):
        if self.held:
            return HELD_STRIP
        apart = sum(op.run and op.inner not in (0, 1) for op in self.k.operands)
        return LINES_STRIP if apart > 1 else STRIP

    def write(self):
        c = self.c
        c.let(n=self.dims.n)
        self.arrays()
        alone = self.may_be_alone()
        if alone:
            c.let(most=f"{self.run_sizes()[0]} == 1 ? n : {self.width}")
        c.var(row="lo / n", j0="lo % n")
        with c.while_("lo < hi"):
            width = "most" if alone else self.width
            c.var_at_most("w", "n - j0 < hi - lo ? n - j0 : hi - lo", width)
            self.shift(self.rows_of("row"), "a", extra="j0")
            if alone:
                with c.if_(f"{self.run_sizes()[0]} == 1"):
                    self.row_alone()
                with c.block("else"):
                    self.stages("0", None)
            else:
                self.stages("0", None)
            c.update("lo += w", "j0 += w")
            c.update("j0 = 0", "row++", when="j0 == n")

    def arrays(self):
        for i, v in enumerate(self.k.values):
            if v.reduces:
                self.c.strip_accumulator(i, self.width)
            if i in self.kept:
                self.c.row_on_stack(f"s{i}", v.dtype, self.width)
            if i in self.held:
                self.c.row_on_stack(f"kept{i}", v.dtype, f"{HELD_ROWS} * {self.width}")

    def may_be_alone(self):
        """Whether the one row of a strip can be reduced and stored in one loop, with accumulators
        in registers: max of 1 x 262,144 floats takes 25 us, 47 by loops of their own to start,
        reduce and store (Zen 4, one core)."""
        if len(self.levels) != 1 or self.k.runs != 1 or self.kept or self.places:
            return False
        reductions, stores = self.work[self.levels[0]]
        before = set(self.needed(self.roots(reductions, ())))
        return not stores and before.isdisjoint(self.needed(self.last_roots(), 1))

    def last_roots(self):
        return [v for _, v in self.final_stores()]

    def row_alone(self):
        c, (reductions, _) = self.c, self.work[self.levels[0]]
        before = self.needed(self.roots(reductions, ()))
        after = self.needed(self.last_roots(), 1)
        self.shift(self.unravel("0", self.run_sizes(), "q_"), "b")
        self.numbers(0)
        self.numbers(1)
        with c.vector("c", "0", "w"):
            for i in before:
                self.define(i, "b", "c", self.names(before))
            for i in reductions:
                c.reduced_alone(i, self.names(before)(self.k.values[i].args[0]))
            for i in after:
                if not self.k.values[i].reduces:
                    self.define(i, "a", "c", self.names(after))
            for operand, value in self.final_stores():
                self.store_result(operand, self.names(after)(value))

    def stages(self, first, last):
        """Loops over rows, and between two of them one loop over the columns of the strip."""
        for gap, level in enumerate(self.levels):
            reductions, stores = self.work[level]
            starts = self.accumulators(reductions)
            self.between(gap, starts=starts)
            self.loop(level, reductions, stores, first, last)
        self.between(len(self.levels), stores=self.final_stores())

    def final_stores(self):
        return [(o, v) for o, v in self.k.stores if not self.along_run(o)]

    def accumulators(self, reductions):
        """Reductions and, after them, the places found with them."""
        return reductions + [self.places[i] for i in reductions if i in self.places]

    # ---- values of a strip ----------------------------------------------------------------------

    def gap_of(self, i):
        """How many loops over rows come before value i is known for each column; None where it is
        not one number per column.

        Loads and indices count as None: each loop that needs one takes it anew.
        """
        v = self.k.values[i]
        if not (v.reduces or v.computed and v.vec and not v.run):
            return None
        return self.loops_before(v)

    def loops_before(self, v):
        return sum(level < v.ready for level in self.levels)

    def names(self, here=(), tag=""):
        """How an expression in a strip calls value i; those of `here` are local and carry `tag`."""

        def name(i):
            if self.k.values[i].fixed:
                return self.c.name(i)
            if i in self.kept and i not in here:
                return f"s{i}[c]"
            return f"v{i}{tag if i in here else ''}"

        return name

    def needed(self, roots, gap=None, stop=()):
        """Values to compute inside one vector loop so that `roots` are known there.

        gap: the loop after that many loops over rows, which reads what earlier gaps kept in arrays;
        None: a loop over rows, which reads what any gap kept. stop: values that are read there.
        """
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            v, made = self.k.values[i], self.gap_of(i)
            if i in seen or v.fixed or (made != gap if made is not None else not (v.vec or v.run)):
                continue
            seen.add(i)
            if not v.reduces and i not in stop:
                stack.extend(v.args)
        return sorted(seen)

    def dear_again(self):
        """{value: level of the loop that makes it} for what several loops over rows need and is
        dear, or lies apart from column to column: kept for all rows of a strip. A softmax's
        gradient of 20,000 rows of 10 floats takes 0.32 ms, 0.68 without, of doubles 0.52 and 1.37
        (AVX2)."""
        first, again, held, turned = {}, set(), {}, passes.bytes_apart(self.k)
        for level in self.levels:
            for i in self.needed(self.loop_roots(*self.work[level])):
                if first.setdefault(i, level) != level:
                    again.add(i)
        for i in sorted(again):
            v = self.k.values[i]
            apart = v.op == "load" and self.k.operands[v.operand].inner not in (0, 1)
            apart = apart and v.operand not in turned
            cost = sum(self.k.values[j].cost for j in self.needed([i], None, held) if j not in held)
            if v.run and (apart or cost > passes.RECOMPUTE_COST):
                held[i] = first[i]
        return held

    def held_before(self, level):
        return {i for i, made in self.held.items() if made < level}

    def wanted_later(self):
        """The values of columns that a loop after the one that makes them reads: kept in arrays."""
        values, found = self.k.values, set()
        readers = [(None, self.loop_roots(*self.work[level])) for level in self.levels]
        readers += [(len(self.levels), [v for _, v in self.final_stores()])]
        while readers:
            gap, roots = readers.pop()
            order = self.needed(roots, gap)
            read = {*roots, *(a for i in order if not values[i].reduces for a in values[i].args)}
            for i in read - found:
                if self.gap_of(i) not in (None, gap):
                    found.add(i)
                    readers.append((self.gap_of(i), [i]))
        return found

    def between(self, gap, starts=(), stores=()):
        """The loop over the columns after `gap` loops over rows: values that are known by then, and
        the accumulators of the next loop over rows at their start."""
        c, values = self.c, self.k.values
        kept = [i for i in self.kept if self.gap_of(i) == gap]
        order = self.needed([*kept, *(v for _, v in stores)], gap)
        self.numbers(gap)
        if not (order or starts or stores):
            return
        name = self.names(order)
        with c.vector("c", "0", "w"):
            for i in order:
                if values[i].reduces:
                    c.finish_strip(i)
                else:
                    self.define(i, "a", "c", name)
            for i in sorted(kept):
                c.assign(f"s{i}[c]", f"v{i}")
            for operand, value in stores:
                self.store_result(operand, name(value))
            for i in starts:
                c.start_strip(i)

    def numbers(self, gap):
        """What is one number for all columns, and known after `gap` loops over rows."""
        for i, v in enumerate(self.k.values):
            if not (v.vec or v.fixed or v.run or v.reduces) and self.loops_before(v) == gap:
                self.define(i, "a", "0")

    def store_result(self, operand, text):
        self.store(operand, "a", "c", text)

    # ---- loops over rows ------------------------------------------------------------------------

    def loop(self, level, reductions, stores, first, last):
        taken = tuple((i, None, None) for i in reductions)
        last = last or " * ".join(self.run_sizes())
        self.print_loop(Loop(level, taken, tuple(stores), first, last))
        for i in reductions:
            if i in self.places:
                self.nothing_better(self.places[i], first)
        self.reduced(reductions)

    def print_plainly(self, loop):
        with self.c.loop("q", loop.begin, loop.end):
            self.rows("q", loop, 1)

    def reduced(self, reductions):
        """What is left to do once all rows are in the accumulators of a strip."""

    def loop_roots(self, reductions, stores):
        """What one loop over rows computes for its reductions and stores."""
        places = [self.places[i] for i in reductions if i in self.places]
        return self.roots(reductions, stores) + [self.index_of(i) for i in places]

    def index_of(self, i):
        """The value with the running index in which reduction i, a place, is counted."""
        return self.k.values[self.k.values[i].args[0]].args[2]

    def nothing_better(self, i, first):
        """Columns in which nothing beat the start (all -inf): the first row is the place."""
        c, index = self.c, self.index_of(i)
        with c.block(""):
            self.shift(self.unravel(first, self.run_sizes(), "q_"), "b")
            self.define(index, "b", "0", self.names())
            c.strip_default(i, f"v{index}")

    def is_cheap(self, loop):
        """Whether a loop does little with each row beside loading its accumulators."""
        held = self.held_before(loop.level)
        order = self.needed(self.loop_roots(loop.reductions, loop.stores), None, held)
        cost = sum(self.k.values[i].cost for i in order if i not in held)
        return not loop.stores and self.k.runs == 1 and cost <= UNROLL_COST

    def several_rows(self, loop, rest):
        c, q = self.c, f"q{loop.level}"
        c.var(**{q: loop.begin})
        with c.whole_blocks(q, loop.end, UNROLL):
            self.rows(q, loop, UNROLL)
        with c.rest(q, loop.end):
            self.rows(q, loop, 1)

    def rows(self, q, loop, count, width="w", apart=""):
        """One loop over the strip that takes `count` rows from q on, or as many strips of rows."""
        c, k, reductions = self.c, self.k, loop.reductions
        tags = [""] if count == 1 else [f"_{u}" for u in range(count)]
        if count == 1:
            self.shift(self.unravel(q, self.run_sizes(), "q_"), "b")
        else:
            for u, tag in enumerate(tags):
                self.shift([f"({q} + {u}{apart})"], "b", tag=tag)
        held = self.held_before(loop.level)
        order = self.needed(self.loop_roots(reductions, loop.stores), None, held)
        names = [self.names(order, tag) for tag in tags]
        places = {i: self.places[i] for i in reductions if i in self.places}
        floats = [i for i in places if dtypes.is_float(k.values[i].dtype)]

        def block(odd=None):
            for u, (tag, name) in enumerate(zip(tags, names)):
                for i in order:
                    row = f"kept{i}[({q} + {u}) * {self.width} + c]"
                    if i in held:
                        c.define_as(i, f"v{i}{tag}", row)
                        continue
                    self.define(i, "b", "c", name, tag)
                    if i in self.held:
                        c.assign(row, f"v{i}{tag}")
            for i in reductions:
                texts = [name(k.values[i].args[0]) for name in names]
                if i in places:
                    at = places[i]
                    indices = [name(self.index_of(at)) for name in names]
                    c.strip_place(i, at, texts, indices, odd)
                else:
                    c.strip_reduce(i, texts)
            for operand, value in loop.stores:
                self.store(operand, "b", "c", names[0](value))

        wide = any(dtypes.ITEMSIZE[k.values[i].dtype] == 8 for i in floats)
        only = floats and len(floats) == len(reductions) and self.is_cheap(loop)
        if only and (wide or count > 1):
            with c.block(""):
                c.before_places(places, self.width, "int64_t" if wide else "int32_t")
                with c.vector_flag("c", "0", width, "odd"):
                    block("odd")
                with c.if_("odd"):
                    with c.vector("c", "0", width):
                        c.places_before(places)
                    with c.vector("c", "0", width):
                        block()
            return
        with c.vector("c", "0", width):
            block()

    def apart(self, loop):
        """Bytes of rows that do not lie side by side along the strip."""
        return bool(passes.bytes_apart(self.k))

    def rows_turned(self, loop, rest):
        """A few rows at a time, laid side by side first."""
        c = self.c
        with c.blocks("g", "h", loop.begin, loop.end, UNROLL):
            for i in passes.bytes_apart(self.k):
                c.copy_on_stack(f"t{i}", self.k.operands[i].dtype, UNROLL * self.width)
                step, _, (far,) = self.strides[i]
                c.turn_bytes(f"t{i}", self.width, f"a{i} + g * {far}", step, far, "w", "h - g")
                self.rows_held[i] = f"t{i}", f"({{0}} - g) * {self.width}"
            rest(loop.over("g", "h"))
            self.rows_held = {}

    changes = (
        LoopChange("rows turned", apart, rows_turned,
               "GCC puts bytes that lie a row apart into a vector one by one: maxima of 20,000 "
               "rows of 10 bytes take 58 us so, 4 where they lie side by side, 32 with eight bytes "
               "of each row at a time laid there first; their places 116 and 49 (AVX2)."),
        LoopChange("several rows", is_cheap, several_rows,
               "Accumulators are loaded once for eight rows: column sums of 4096 x 4096 floats "
               "take 2.4 ms on one core, 3.3 with four rows added one by one in double. Places of "
               "maxima are looked for as if there were no NaN, and once more in rows that have "
               "one: 64 x 20,000 doubles 360 us instead of 1,110 (Zen 3)."),
    )  # fmt: skip


class ColumnChunks(Columns):
    """A partial reduction per column: one chunk of rows per unit of the range."""

    note = "partial column reduction: one chunk of rows per unit of the range"

    @property
    def width(self):
        return CHUNK_STRIP

    def write(self):
        c, k = self.c, self.k
        c.let(n=self.dims.n, chunk=self.dims.chunk)
        c.let(rows=" * ".join(self.outer_sizes()) or "1", total=" * ".join(self.run_sizes()))
        self.arrays()
        with c.loop("r", "lo", "hi"):
            c.let(first="r * chunk")
            c.let(last="first + chunk < total ? first + chunk : total")
            if any(v.op == "count" for v in k.values):
                c.count("last - first")
            with c.loop("row", "0", "rows"), c.loop("j0", "0", "n", self.width):
                c.let(w=f"n - j0 < {self.width} ? n - j0 : {self.width}")
                self.shift(self.rows_of("row"), "a", extra="j0")
                self.stages("first", "last")

    def store_result(self, operand, text):
        self.c.store(operand, f"y{operand}[(r * rows + row) * n + j0 + c]", text)

    # ---- changes of its loop --------------------------------------------------------------------

    def may_lie_as_one(self, loop):
        """Whether reductions that come out alike in any order read nothing but rows that may lie
        one behind the other."""
        k = self.k
        read = [op for op in k.operands if op.role == "in" and (op.run or op.inner != 0)]
        return (
            k.runs == 1
            and len(self.levels) == 1
            and not loop.stores
            and all(k.values[i].op in ("max", "min", "any", "all") for i in loop.reductions)
            and all(op.run and op.inner == 1 and not op.picks for op in read)
            and all(op.inner == 0 for op in k.operands if op.role == "index")
        )

    def rows_as_one(self, loop, rest):
        """Rows side by side, as many as a strip holds, each column of each with an accumulator;
        those of a column then become one.

        A strip ends within a row, whose begin is met again as the first of the next: the vector
        loop has whole vectors, and what is reduced twice changes nothing.
        """
        c, k = self.c, self.k
        order = self.needed(self.loop_roots(loop.reductions, ()))
        counted = {
            v.operand: v.dtype
            for v in (k.values[i] for i in order)
            if v.op == "index" and k.operands[v.operand].run
        }
        step = {i: run[0] for i, (_, _, run) in enumerate(self.strides) if run}
        dense = [f"{s} == w" for i, s in step.items() if k.operands[i].role == "in"]
        c.var(at=loop.begin)
        with c.if_(" && ".join([f"w < {VECTOR}", *dense])):
            c.let(m=f"{STRIP} / w", most=f"{loop.end} - 1")
            for i, dtype in counted.items():
                c.row_on_stack(f"l{i}", dtype, STRIP)
                with c.loop("c", "0", STRIP):
                    c.assign(f"l{i}[c]", f"c / w * {step[i]}")
            with c.vector("c", "w", STRIP):
                for i in self.accumulators(loop.reductions):
                    c.start_strip(i)
            self.turned = {i: f"b{i}{{tag}} + l{i}[c]" for i in counted}
            if self.is_cheap(loop):
                with c.whole_blocks("at", "most", f"{BLOCKS} * m"):
                    self.rows("at", loop, BLOCKS, STRIP, " * m")
            with c.whole_blocks("at", "most", "m"):
                self.rows("at", loop, 1, STRIP)
            self.turned = {}
            with c.loop("c", "w", STRIP):
                c.let(to="c % w")
                for i in loop.reductions:
                    c.take(i, self.places.get(i), "to", "c")
        rest(loop.over("at", loop.end))

    changes = (
        LoopChange("rows as one", may_lie_as_one, rows_as_one,
               "A vector of three columns is mostly empty: argmax of 65,536 rows of 3 floats takes "
               "200 us row by row, 31 with 85 rows side by side; of 32,768 rows of 7 225 and 35; "
               "their max 95 and 16, 95 and 19; of rows of 64 it is level (Zen 4, one core)."),
        *Columns.changes,
    )  # fmt: skip
