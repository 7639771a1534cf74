"""Column programs: reductions over leading axes, with a strip of columns side by side in the vector
loop.

Accumulators are arrays of one strip on the stack. Cheap bodies take several rows at a time, so that
the accumulators are loaded less often.
"""
from .nest import Nest

STRIP = 256                 # columns a column program holds accumulators for
CHUNK_STRIP = 1024          # the same where one pass over rows is chunked: longer runs per page
UNROLL = 8                  # rows a cheap column reduction takes at a time: 4096 x 4096 floats take
                            # 2.4 ms on one core, 3.3 with four rows added one by one in double
UNROLL_COST = 4             # of the body at most


class Columns(Nest):
    """One column per unit of the range."""

    note = "column program: one column per unit of the range"

    @property
    def width(self):
        return STRIP

    def write(self):
        c = self.c
        c.let(n="d[0]")
        self.arrays()
        c.var(row="lo / n", j0="lo % n")
        with c.while_("lo < hi"):
            c.var_at_most("w", "n - j0 < hi - lo ? n - j0 : hi - lo", self.width)
            self.shift(self.rows_of("row"), "a", extra="j0")
            self.stages("0", None)
            c.update("lo += w", "j0 += w")
            c.update("j0 = 0", "row++", when="j0 == n")

    def arrays(self):
        for i, v in enumerate(self.k.values):
            if v.reduces:
                self.c.strip_accumulator(i, self.width)
            if self.in_array(v):
                self.c.row_on_stack(f"s{i}", v.dtype, self.width)

    @staticmethod
    def in_array(v):
        """Per-column values that later loops read back."""
        return v.reduces or (v.computed and v.vec and not v.run)

    def stages(self, first, last):
        loops = self.loops_of()
        for level in range(self.top(loops) + 1):
            self.scalars(level)
            if level in loops:
                self.loop(level, *loops[level], first, last)
        stores = [(o, v) for o, v in self.k.stores if not self.along_run(o)]
        if stores:
            self.store_results(stores)

    # ---- values of a strip ----------------------------------------------------------------------

    def names(self, local=(), tag=""):
        """How an expression in a strip calls value i; `local` ones are per row and carry `tag`."""
        def name(i):
            v = self.k.values[i]
            if v.fixed:
                return self.c.name(i)
            return f"s{i}[c]" if self.in_array(v) else f"v{i}{tag if i in local else ''}"
        return name

    def needed(self, roots):
        """Values to compute inside one vector loop so that `roots` are known there."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            v = self.k.values[i]
            if i in seen or v.fixed or self.in_array(v) or not (v.vec or v.run):
                continue
            seen.add(i)
            stack.extend(v.args)
        return sorted(seen)

    def store_results(self, stores):
        name = self.names()
        with self.c.vector("c", "0", "w"):
            for i in self.needed([v for _, v in stores]):
                self.define(i, "a", "c", name)
            for operand, value in stores:
                self.store_result(operand, name(value))

    def store_result(self, operand, text):
        self.store(operand, "a", "c", text)

    def scalars(self, level):
        """Values per column, or of all columns, that are ready before loop `level`."""
        c, name = self.c, self.names()
        for i, v in enumerate(self.k.values):
            if v.fixed or v.run or v.level != level or v.reduces:
                continue
            if not v.vec:
                self.define(i, "a", "0", name)
            elif self.in_array(v):
                with c.vector("c", "0", "w"):
                    for j in self.needed(v.args):
                        self.define(j, "a", "c", name)
                    c.assign(f"s{i}[c]", c.compute(i, None, name))

    # ---- loops over rows ------------------------------------------------------------------------

    def loop(self, level, reductions, stores, first, last):
        c = self.c
        found = set(self.places.values())
        reductions = [i for i in reductions if i not in found]      # found with their maximum
        if not reductions and not stores:
            return
        found = [self.places[i] for i in reductions if i in self.places]
        for i in reductions + found:
            c.start_strip(i)
        roots = self.roots(reductions, stores) + [self.index_of(i) for i in found]
        last = last or " * ".join(self.run_sizes())
        if self.unrolls(roots, stores):
            c.var(**{f"q{level}": first})
            with c.whole_blocks(f"q{level}", last, UNROLL):
                self.rows(f"q{level}", roots, reductions, stores, UNROLL)
            with c.rest(f"q{level}", last):
                self.rows(f"q{level}", roots, reductions, stores, 1)
        else:
            with c.loop("q", first, last):
                self.rows("q", roots, reductions, stores, 1)
        for i in found:
            self.nothing_better(i, first)
        for i in reductions + found:
            c.finish_strip(i)

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

    def unrolls(self, roots, stores):
        """Cheap bodies take several rows at a time: the accumulators are then loaded less often."""
        cost = sum(self.k.values[i].cost for i in self.needed(roots))
        return not stores and self.k.runs == 1 and cost <= UNROLL_COST

    def rows(self, q, roots, reductions, stores, count):
        """One loop over the strip that takes `count` rows from q on."""
        c, k = self.c, self.k
        tags = [""] if count == 1 else [f"_{u}" for u in range(count)]
        if count == 1:
            self.shift(self.unravel(q, self.run_sizes(), "q_"), "b")
        else:
            for u, tag in enumerate(tags):
                self.shift([f"({q} + {u})"], "b", tag=tag)
        order = self.needed(roots)
        names = [self.names(order, tag) for tag in tags]
        with c.vector("c", "0", "w"):
            for tag, name in zip(tags, names):
                for i in order:
                    self.define(i, "b", "c", name, tag)
            for i in reductions:
                texts = [name(k.values[i].args[0]) for name in names]
                if i in self.places:
                    at = self.places[i]
                    c.strip_place(i, at, texts, [name(self.index_of(at)) for name in names])
                else:
                    c.strip_reduce(i, texts)
            for operand, value in stores:
                self.store(operand, "b", "c", names[0](value))


class ColumnChunks(Columns):
    """A partial reduction per column: one chunk of rows per unit of the range."""

    note = "partial column reduction: one chunk of rows per unit of the range"

    @property
    def width(self):
        return CHUNK_STRIP

    def write(self):
        c, k = self.c, self.k
        c.let(n="d[0]", chunk=f"d[{1 + k.outer + k.runs}]")
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
