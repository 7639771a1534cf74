"""Row programs: reductions along the vector loop, with everything that is ready between them.

One outer index at a time: scalars of the row, a loop that reduces, scalars that use the result, the
next loop. Dear values that several loops need are kept in a row on the stack. Chunked reductions
are rows too.
"""
from .. import dtypes
from .lower import ROW_SCRATCH
from .writer import Writer, accumulator, ctype, start_of

BLOCK = 512                 # dear floats summed in float before they join the double
RECOMPUTE_COST = 4.0        # a value cheaper than this is computed again rather than kept in a row


class Rows(Writer):
    """The forms "rows" and "chunks"."""

    def rows(self):
        k = self.k
        self.put("const int64_t n = d[0];")
        self.scratch()
        self.open("for (int64_t r = lo; r < hi; r++)")
        self.shift(self.unravel("r", range(1, 1 + k.outer), "r") if k.outer else [], "a")
        self.row_stages("0", None)
        self.close()

    def chunks(self):
        k = self.k
        at = f"d[{1 + k.runs}]"
        if k.runs:
            total = " * ".join(f"d[{1 + i}]" for i in range(k.runs))
            self.put("const int64_t n = d[0];")
        else:
            total = "d[0]"
        self.put(f"const int64_t chunk = {at}, total = {total};")
        self.open("for (int64_t r = lo; r < hi; r++)")
        self.put("const int64_t first = r * chunk;")
        self.put("const int64_t last = first + chunk < total ? first + chunk : total;")
        self.count("n * (last - first)" if k.runs else "last - first")
        if k.runs:
            self.shift([], "a")
            self.row_stages("first", "last")
        else:
            self.put("const int64_t n = last - first;")
            self.shift([], "a", extra="first")
            self.row_stages("0", None)
        self.close()

    def count(self, text):
        """Declare `count`, the elements of this chunk, where a value speaks of it."""
        if any(v.kind == "literal" and v.text == "count" for v in self.k.values):
            self.put(f"const double count = last > first ? (double)({text}) : 0;")

    def loops_of(self):
        """{level: (reductions, stores)} for the run-level work of each loop."""
        k, work = self.k, {}
        for i, v in enumerate(k.values):
            if v.kind == "reduce":
                work.setdefault(v.level, ([], []))[0].append(i)
        for operand, value in k.stores:
            if self.along_run(operand):
                v = k.values[value]
                level = v.level + (v.kind == "reduce")
                work.setdefault(level, ([], []))[1].append((operand, value))
        return dict(sorted(work.items()))

    def along_run(self, operand):
        """Whether an operand moves along the reduced axes (what it holds may be constant)."""
        op = self.k.operands[operand]
        return op.run or (self.k.form in ("rows", "chunks") and op.inner != 0)

    def needed(self, roots, stop=()):
        """Run-level values under `roots`, in order; those in `stop` are not looked into."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            v = self.k.values[i]
            if i in seen or v.kind in ("literal", "reduce") or not v.run:
                continue
            seen.add(i)
            if i not in stop:
                stack.extend(v.args)
        return sorted(seen)

    def roots(self, reductions, stores):
        """The values that one loop is for."""
        return [self.k.values[i].args[0] for i in reductions] + [v for _, v in stores]

    def plan_spills(self, loops):
        """{value: loop it is kept in} for dear values that several loops of a row need."""
        if not self.k.spill:
            return {}
        first, again, kept = {}, set(), {}
        for level, (reductions, stores) in loops.items():
            for i in self.needed(self.roots(reductions, stores)):
                if first.setdefault(i, level) != level:
                    again.add(i)
        for i in sorted(again):                     # what one is made of comes before it
            if self.cone_cost(i, kept) > RECOMPUTE_COST:
                kept[i] = first[i]
        return kept

    def cone_cost(self, i, kept=()):
        """What computing value i takes where those in `kept` are at hand."""
        return sum(self.k.values[j].cost for j in self.needed([i], kept) if j not in kept)

    def scratch(self):
        self.spills = self.plan_spills(self.loops_of())
        deep = [i for i in self.spills if not self.feeds_only_spilled(i)]
        self.spills = {i: self.spills[i] for i in deep}
        for i in sorted(self.spills):
            self.put(f"{ctype(self.k.values[i].dtype)} t{i}[{ROW_SCRATCH}];")

    def feeds_only_spilled(self, i):
        """Whether every later use of value i goes through another value kept before that."""
        for level, (reductions, stores) in self.loops_of().items():
            kept = {j for j, made in self.spills.items() if made < level and j != i}
            if level != self.spills[i] and i in self.needed(self.roots(reductions, stores), kept):
                return False
        return True

    def row_stages(self, first, last):
        k, loops = self.k, self.loops_of()
        if k.form != "rows":
            self.spills = {}
        top = max([v.level + (v.kind == "reduce") for v in k.values] + list(loops) + [0])
        done = set()
        for level in range(top + 1):
            self.row_scalars(level, done)
            if self.seeks(loops, level):
                self.seek_block(level, *loops[level][0])
            elif self.seeks(loops, level - 1):
                self.search_block(level, loops[level - 1][0][0], *loops[level][0])
            elif level in loops:
                self.row_loop(level, *loops[level], first, last)
        for operand, value in k.stores:
            v = k.values[value]
            if not self.along_run(operand):
                if k.form == "chunks":
                    text = self.stored(operand, self.inline(value))
                    self.put(f"y{operand}[r] = {text};")
                else:
                    self.put(self.store(operand, "a", "0", self.inline(value), v.dtype))

    def row_scalars(self, level, done):
        """Values of one row that do not vary along it and are ready before loop `level`."""
        for i, v in enumerate(self.k.values):
            if v.run or v.kind in ("literal", "reduce") or v.level != level or i in done:
                continue
            done.add(i)
            self.put(self.define(i, "a", "0", self.inline))

    def row_loop(self, level, reductions, stores, first, last):
        k = self.k
        clauses = {}
        for i in reductions:
            self.declare_accumulator(i, clauses, f"p_{i}" if self.in_blocks(i) else f"a_{i}")
        pointer = "a"
        if k.runs:
            total = " * ".join(f"d[{1 + k.outer + i}]" for i in range(k.runs))
            self.open(f"for (int64_t q = {first}; q < {last or total}; q++)")
            sizes = range(1 + k.outer, 1 + k.outer + k.runs)
            self.shift(self.unravel("q", sizes, "q_"), "b")
            pointer = "b"
        blocks = [i for i in reductions if self.in_blocks(i)]
        ahead = self.ahead(level)
        begin, end = ("b", "e") if blocks or ahead else ("0", "n")
        if blocks or ahead:
            self.open_blocks()
            self.prefetch(ahead)
            for i in blocks:
                self.put(f"float p_{i} = 0;")
        self.simd(reductions, clauses)
        self.open(f"for (int64_t j = {begin}; j < {end}; j++)")
        self.loop_body(level, reductions, stores, pointer, "j")
        self.close()
        if blocks or ahead:
            for i in blocks:
                self.put(f"a_{i} += p_{i};")
            self.close()
        if k.runs:
            self.close()
        for i in reductions:
            self.finish_accumulator(i)

    def ahead(self, level):
        """Operands of the next row to ask for in a cheap second loop over this one, now in cache.

        Mean and variance of 4096 x 4096: 2.4 ms on one core, 2.8 where each row waits for memory.
        Not where rows are stored too: a layer norm of 12 MB took a tenth longer.
        """
        k, loops = self.k, self.loops_of()
        if k.runs or list(loops)[1:2] != [level] or not (k.form == "chunks" or k.spill):
            return []
        if k.outer != (k.form == "rows") or any(stores for _, stores in loops.values()):
            return []
        if any(self.cone_cost(i) > RECOMPUTE_COST for i in self.roots(*loops[level])):
            return []
        first = self.needed(self.roots(*loops[min(loops)]))
        loads = [k.values[i].operand for i in first if k.values[i].kind == "load"]
        return [i for i in loads if k.operands[i].inner == 1
                and (k.operands[i].outer or not k.outer)]

    def prefetch(self, operands):
        """Ask for the part of the next row, or chunk, that lies below this block."""
        if operands:
            step = 64 // max(dtypes.ITEMSIZE[self.k.operands[i].dtype] for i in operands)
            self.open(f"for (int64_t j = b; j < e; j += {step})")
            for i in operands:
                by = self.strides[i][1][0] if self.k.outer else "n"
                self.put(f"__builtin_prefetch(a{i} + {by} + j);")
            self.close()

    def seeks(self, loops, level):
        """Whether a loop only looks for the maximum of a row and the next one for its place."""
        best, found = loops.get(level, ([], []))[0], loops.get(level + 1, ([], []))
        return bool(len(best) == 1 and not loops[level][1] and best[0] in self.places
                    and found == ([self.places[best[0]]], []))

    def seek_block(self, level, i):
        """The maximum (or minimum) of a row, and w, where the first block begins that has it.

        Argmax of 4096 x 4096 then waits for memory only: 2.0 ms on one core, 2.9 where the search
        for the place looks at the row up to it.
        """
        v, clauses = self.k.values[i], {}
        self.declare_accumulator(i, clauses, f"p_{i}")
        self.put(f"int64_t w_{i} = 0;")
        self.open_blocks()
        self.put(f"{accumulator(v.text, v.dtype)} p_{i} = {start_of(v.text, v.dtype)};")
        if self.has_nan(i):
            self.put(f"int q_{i} = 0;")
            clauses["|"] = [f"q_{i}"]
        self.simd([i], clauses)
        self.open("for (int64_t j = b; j < e; j++)")
        self.loop_body(level, [i], [], "a", "j", f"p_{i}", f"q_{i}")
        self.close()
        better = f"p_{i} {'>' if v.text == 'max' else '<'} a_{i}"
        if self.has_nan(i):
            self.put(f"if (q_{i} && !bad_{i}) {{ bad_{i} = 1; w_{i} = b; }}")
            better += f" && !bad_{i}"
        self.put(f"if ({better}) {{ a_{i} = p_{i}; w_{i} = b; }}")
        self.close()
        self.finish_accumulator(i)

    def search_block(self, level, best, i):
        """The first place in the block at w that holds what `seek_block` found there."""
        clauses = {}
        self.declare_accumulator(i, clauses, f"a_{i}")
        self.put(f"const int64_t e_{i} = w_{best} + {BLOCK} < n ? w_{best} + {BLOCK} : n;")
        self.simd([i], clauses)
        self.open(f"for (int64_t j = w_{best}; j < e_{i}; j++)")
        self.loop_body(level, [i], [], "a", "j")
        self.close()
        self.finish_accumulator(i)

    def open_blocks(self):
        self.open(f"for (int64_t b = 0; b < n; b += {BLOCK})")
        self.put(f"const int64_t e = b + {BLOCK} < n ? b + {BLOCK} : n;")

    def simd(self, reductions, clauses):
        """The pragma above a loop that reduces, or one that does not."""
        text = " ".join(f"reduction({op}:{', '.join(names)})"
                        for op, names in sorted(clauses.items()))
        extreme = any(self.has_nan(i) for i in reductions)      # of floats: see the macro
        text = f"CK_SIMD_EXTREME({text})" if extreme else f"#pragma omp simd {text}"
        self.put(text if clauses else "#pragma GCC ivdep")

    def in_blocks(self, i):
        """Whether reduction i sums dear floats: a block in float, the blocks in double.

        Cheap sums wait for memory and stay in double throughout, which is exact to the last bit.
        """
        v = self.k.values[i]
        floats = v.text == "sum" and self.k.values[v.args[0]].dtype in ("float16", "float32")
        return floats and self.cone_cost(v.args[0]) > RECOMPUTE_COST

    def loop_body(self, level, reductions, stores, pointer, j, into=None, bad=None):
        k = self.k
        earlier = {i for i, loop in self.spills.items() if loop < level}
        order = self.needed(self.roots(reductions, stores), earlier)
        for i in order:
            if i in earlier:
                self.put(f"const {ctype(k.values[i].dtype)} v{i} = t{i}[{j}];")
                continue
            self.put(self.define(i, pointer, j, self.inline))
            if i in self.spills and self.spills[i] == level:
                self.put(f"t{i}[{j}] = v{i};")
        for i in reductions:
            name = into or (f"p_{i}" if self.in_blocks(i) else f"a_{i}")
            self.accumulate(i, name, bad or f"bad_{i}")
        for operand, value in stores:
            self.put(self.store(operand, pointer, j, self.inline(value), k.values[value].dtype))
