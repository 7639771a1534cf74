"""Column programs: reductions over leading axes, with a strip of columns side by side in the vector
loop.

Accumulators are arrays of one strip on the stack. Cheap bodies take several rows at a time, so that
the accumulators are loaded less often.
"""
from .. import dtypes
from .lower import CHUNK_STRIP, STRIP
from .tidy import tidy_expression
from .writer import STEP, Writer, accumulator, ctype, start_of

UNROLL = 8                  # rows a cheap column reduction takes at a time: 4096 x 4096 floats take
                            # 2.4 ms on one core, 3.3 with four rows added one by one in double


class Columns(Writer):
    """The forms "columns" and "column_chunks"."""

    def columns(self):
        k = self.k
        self.spills = {}
        self.put("const int64_t n = d[0];")
        self.strip_arrays()
        self.put("int64_t row = lo / n, j0 = lo % n;")
        self.open("while (lo < hi)")
        self.put(f"int64_t w = n - j0 < hi - lo ? n - j0 : hi - lo; if (w > {STRIP}) w = {STRIP};")
        names = self.unravel("row", range(1, 1 + k.outer), "r") if k.outer else []
        self.shift(names, "a", extra="j0")
        self.strip_stages("0", None)
        self.put("lo += w; j0 += w;")
        self.put("if (j0 == n) { j0 = 0; row++; }")
        self.close()

    def column_chunks(self):
        k = self.k
        self.spills = {}
        rows = " * ".join([f"d[{1 + i}]" for i in range(k.outer)]) or "1"
        total = " * ".join(f"d[{1 + k.outer + i}]" for i in range(k.runs))
        self.put(f"const int64_t n = d[0], chunk = d[{1 + k.outer + k.runs}];")
        self.put(f"const int64_t rows = {rows}, total = {total};")
        self.strip_arrays()
        self.open("for (int64_t r = lo; r < hi; r++)")
        self.put("const int64_t first = r * chunk;")
        self.put("const int64_t last = first + chunk < total ? first + chunk : total;")
        self.count("last - first")
        self.open("for (int64_t row = 0; row < rows; row++)")
        self.open(f"for (int64_t j0 = 0; j0 < n; j0 += {CHUNK_STRIP})")
        self.put(f"const int64_t w = n - j0 < {CHUNK_STRIP} ? n - j0 : {CHUNK_STRIP};")
        names = self.unravel("row", range(1, 1 + k.outer), "r") if k.outer else []
        self.shift(names, "a", extra="j0")
        self.strip_stages("first", "last")
        for _ in range(3):
            self.close()

    def strip_arrays(self):
        width = STRIP if self.k.form == "columns" else CHUNK_STRIP
        for i, v in enumerate(self.k.values):
            if v.kind == "reduce":
                self.put(f"{accumulator(v.text, v.dtype)} a_{i}[{width}];")
                if self.has_nan(i):
                    self.put(f"uint8_t bad_{i}[{width}];")
            if self.in_array(v):
                self.put(f"{ctype(v.dtype)} s{i}[{width}];")

    def in_array(self, v):
        """Per-column values that later loops read back."""
        return v.kind == "reduce" or (v.kind == "op" and v.vec and not v.run)

    def strip_stages(self, first, last):
        k, loops = self.k, self.loops_of()
        top = max([v.level + (v.kind == "reduce") for v in k.values] + list(loops) + [0])
        for level in range(top + 1):
            self.strip_scalars(level)
            if level in loops:
                self.strip_loop(level, *loops[level], first, last)
        stores = [(o, v) for o, v in k.stores if not self.along_run(o)]
        if stores:
            self.strip_body_loop([v for _, v in stores], stores)

    def strip_name(self, local=(), tag=""):
        """How an expression in a strip calls value i; `local` ones are per row and carry `tag`."""
        def name(i):
            v = self.k.values[i]
            if v.kind == "literal":
                return v.text
            if self.in_array(v):
                return f"s{i}[c]"
            return f"v{i}{tag if i in local else ''}"
        return name

    def strip_roots(self, roots):
        """Values to compute inside one vector loop so that `roots` are known there."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            v = self.k.values[i]
            if i in seen or v.kind == "literal" or self.in_array(v):
                continue
            if not v.vec and not v.run:
                continue
            seen.add(i)
            stack.extend(v.args)
        return sorted(seen)

    def strip_body_loop(self, roots, stores=()):
        k = self.k
        self.put("#pragma GCC ivdep")
        self.open("for (int64_t c = 0; c < w; c++)")
        name = self.strip_name()
        for i in self.strip_roots(roots):
            self.put(self.define(i, "a", "c", name))
        for operand, value in stores:
            if k.form == "column_chunks":
                text = self.stored(operand, name(value))
                self.put(f"y{operand}[(r * rows + row) * n + j0 + c] = {text};")
            else:
                self.put(self.store(operand, "a", "c", name(value), k.values[value].dtype))
        self.close()

    def strip_scalars(self, level):
        k = self.k
        for i, v in enumerate(k.values):
            if v.kind == "literal" or v.run or v.level != level or v.kind == "reduce":
                continue
            if not v.vec:
                self.put(self.define(i, "a", "0", self.strip_name()))
            elif self.in_array(v):
                self.put("#pragma GCC ivdep")
                self.open("for (int64_t c = 0; c < w; c++)")
                for j in self.strip_roots(v.args):
                    self.put(self.define(j, "a", "c", self.strip_name()))
                text = tidy_expression(v.text.format(*map(self.strip_name(), v.args)))
                self.put(f"s{i}[c] = {text};")
                self.close()

    def strip_loop(self, level, reductions, stores, first, last):
        k = self.k
        places = set(self.places.values())
        reductions = [i for i in reductions if i not in places]     # found with their maximum
        if not reductions and not stores:
            return
        found = [self.places[i] for i in reductions if i in self.places]
        for i in reductions + found:
            v = k.values[i]
            reset = f" bad_{i}[c] = 0;" if self.has_nan(i) else ""
            self.put(f"for (int64_t c = 0; c < w; c++) {{ a_{i}[c] = "
                     f"{start_of(v.text, v.dtype)};{reset} }}")
        total = " * ".join(f"d[{1 + k.outer + i}]" for i in range(k.runs))
        roots = [k.values[i].args[0] for i in reductions] + [v for _, v in stores]
        roots += [self.index_of(i) for i in found]
        last = last or total
        if self.unrolls(roots, stores):
            self.put(f"int64_t q{level} = {first};")
            self.open(f"for (; q{level} + {UNROLL} <= {last}; q{level} += {UNROLL})")
            self.strip_rows(f"q{level}", roots, reductions, stores, UNROLL)
            self.close()
            self.open(f"for (; q{level} < {last}; q{level}++)")
            self.strip_rows(f"q{level}", roots, reductions, stores, 1)
        else:
            self.open(f"for (int64_t q = {first}; q < {last}; q++)")
            self.strip_rows("q", roots, reductions, stores, 1)
        self.close()
        for i in found:
            self.nothing_better(i, first)
        for i in reductions + found:
            self.put("#pragma GCC ivdep")
            result = self.finish_accumulator(i, "[c]")
            self.put(f"for (int64_t c = 0; c < w; c++) s{i}[c] = {result};")

    def index_of(self, i):
        """The value with the running index in which reduction i, a place, is counted."""
        return self.k.values[self.k.values[i].args[0]].args[2]

    def nothing_better(self, i, first):
        """Columns in which nothing beat the start (all -inf): the first row is the place."""
        k, index = self.k, self.index_of(i)
        self.put("{")
        self.depth += 1
        self.shift(self.unravel(first, range(1 + k.outer, 1 + k.outer + k.runs), "q_"), "b")
        self.put(self.define(index, "b", "0", self.strip_name()))
        nowhere = start_of("first", k.values[i].dtype)
        self.put(f"for (int64_t c = 0; c < w; c++) if (a_{i}[c] == {nowhere}) "
                 f"a_{i}[c] = v{index};")
        self.close()

    def unrolls(self, roots, stores):
        """Cheap bodies take several rows at a time: the accumulators are then loaded less often."""
        cost = sum(self.k.values[i].cost for i in self.strip_roots(roots))
        return not stores and self.k.runs == 1 and cost <= 4

    def strip_rows(self, q, roots, reductions, stores, rows):
        """One loop over the strip that takes `rows` rows from q on."""
        k = self.k
        sizes = range(1 + k.outer, 1 + k.outer + k.runs)
        if rows == 1:
            self.shift(self.unravel(q, sizes, "q_"), "b")
        else:
            for u in range(rows):
                self.shift([f"({q} + {u})"], "b", tag=f"_{u}")
        self.put("#pragma GCC ivdep")
        self.open("for (int64_t c = 0; c < w; c++)")
        order = self.strip_roots(roots)
        tags = [""] if rows == 1 else [f"_{u}" for u in range(rows)]
        for tag in tags:
            for i in order:
                self.put(self.define(i, "b", "c", self.strip_name(order, tag), tag))
        for i in reductions:
            names = [self.strip_name(order, t) for t in tags]
            args = [name(k.values[i].args[0]) for name in names]
            if i in self.places:
                self.strip_place(i, args, [name(self.index_of(self.places[i])) for name in names])
            else:
                self.strip_reduce(i, args)
        name = self.strip_name(order)
        for operand, value in stores:
            self.put(self.store(operand, "b", "c", name(value), k.values[value].dtype))
        self.close()

    def strip_place(self, i, args, indices):
        """A maximum or minimum and its first index by selects: NaN beats all but another NaN."""
        v, at = self.k.values[i], self.places[i]
        self.put(f"{accumulator(v.text, v.dtype)} t_{i} = a_{i}[c];")
        self.put(f"{ctype(self.k.values[at].dtype)} t_{at} = a_{at}[c];")
        sign = ">" if v.text == "max" else "<"
        for u, (arg, index) in enumerate(zip(args, indices)):
            nan = f" || ({arg} != {arg} && t_{i} == t_{i})" if dtypes.is_float(v.dtype) else ""
            self.put(f"const _Bool k{u}_{i} = {arg} {sign} t_{i}{nan};")
            self.put(f"t_{i} = k{u}_{i} ? {arg} : t_{i};")
            self.put(f"t_{at} = k{u}_{i} ? {index} : t_{at};")
        self.put(f"a_{i}[c] = t_{i}; a_{at}[c] = t_{at};")

    def strip_reduce(self, i, args):
        v = self.k.values[i]
        if v.text == "sum" and self.k.values[v.args[0]].dtype == "float32":
            while len(args) > 1:                        # float sums of few rows, pairwise
                args = [f"({a} + {b})" for a, b in zip(args[::2], args[1::2])]
        if len(args) > 1:
            self.put(f"{accumulator(v.text, v.dtype)} t_{i} = a_{i}[c];")
        for arg in args:
            self.put(STEP[v.text].format(a=f"t_{i}" if len(args) > 1 else f"a_{i}[c]", v=arg))
        if len(args) > 1:
            self.put(f"a_{i}[c] = t_{i};")
        if self.has_nan(i):
            self.put(f"bad_{i}[c] |= " + " | ".join(f"({a} != {a})" for a in args) + ";")
