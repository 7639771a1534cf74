"""From a Kernel to C99 text: one function of the fixed kernel signature, printed through templates/*.c.in.

The C is meant to be read: pointers named x/y by direction, values v<number>, one statement per value. Every
name is a number, so nothing a user wrote can reach the compiler.
"""
import functools
import hashlib
import os
from string import Template

from .. import dtypes
from . import mathlib
from .lower import CHUNK_STRIP, ROW_SCRATCH, STRIP, TILE
from .tidy import tidy_body, tidy_expression

_TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "templates")
UNROLL = 4                  # rows a cheap column reduction takes at a time
RECOMPUTE_COST = 4.0        # a value cheaper than this is computed again rather than kept in a row

START = {"sum": "0", "prod": "1", "any": "0", "all": "1"}
STEP = {"sum": "{a} += {v};", "prod": "{a} *= {v};", "any": "{a} |= ({v} != 0);",
        "all": "{a} &= ({v} != 0);", "max": "{a} = {v} > {a} ? {v} : {a};",
        "min": "{a} = {v} < {a} ? {v} : {a};"}
SCHEDULED = '__attribute__((optimize("schedule-insns")))\n'
CLAUSE = {"sum": "+", "prod": "*", "any": "|", "all": "&", "max": "max", "min": "min"}


@functools.lru_cache(None)
def template(name):
    """The template `templates/<name>.c.in`."""
    with open(os.path.join(_TEMPLATES, name + ".c.in")) as f:
        return Template(f.read())


def emit(kernel):
    """(name, text, snippets) of the C function for `kernel`; equal kernels give equal text."""
    return kernel.emit() if hasattr(kernel, "emit") else _Emitter(kernel).run()


def interleave(kernel):
    """How many vectors of random numbers a flat loop computes at a time; 0 for loops without.

    A cipher is a chain of 60 dependent operations: one vector after the other leaves most of the
    core idle. Measured on Zen 5, uniform float32: 0.75 ns an element alone, 0.37 by eights; normal
    float32: 2.1, by fours 0.9. Without early scheduling, unrolling gains nothing.
    """
    draws = [v.text for v in kernel.values if v.text.startswith("ck_random_")]
    if kernel.form != "flat" or not draws:
        return 0
    return 4 if len(draws) > 1 or "normal" in draws[0] else 8


def ctype(dtype):
    """C type of a value in a register."""
    if dtype == "bool":
        return "_Bool"
    return "float" if dtype == "float16" else dtypes.C_NAMES[dtype]


def start_of(name, dtype):
    """The neutral element of a reduction as a C expression."""
    if name in START:
        return START[name]
    if dtypes.is_float(dtype):
        sign = "-" if name == "max" else ""
        return sign + ("__builtin_inf()" if dtype == "float64" else "__builtin_inff()")
    if dtype == "bool":
        return "0" if name == "max" else "1"
    kind = dtypes.C_NAMES[dtype]
    bits = 8 * dtypes.ITEMSIZE[dtype]
    if dtype.startswith("u"):
        return "0" if name == "max" else f"({kind})-1"
    top = f"{2**(bits - 1) - 1}{'l' if bits == 64 else ''}"
    return f"({kind})(-{top} - 1)" if name == "max" else f"({kind}){top}"


def accumulator(name, dtype):
    """C type a reduction runs in: floats are summed in double (error independent of the length)."""
    if name in ("any", "all"):
        return "int"
    if name in ("sum", "prod"):
        return "double" if dtypes.is_float(dtype) else dtypes.C_NAMES[dtype]
    return "uint8_t" if dtype == "bool" else ctype(dtype)


class _Emitter:
    def __init__(self, kernel):
        self.k = kernel
        self.lines = []
        self.depth = 1
        self.prefix = "x"
        d = 1 + kernel.outer + kernel.runs + (kernel.form in ("chunks", "column_chunks"))
        self.strides = []
        for op in kernel.operands:
            inner = f"d[{d}]" if op.inner == "n" else str(op.inner)
            d += op.inner == "n"
            far = [f"d[{d + i}]" for i in range(kernel.outer)] if op.outer else []
            d += len(far)
            run = [f"d[{d + i}]" for i in range(kernel.runs)] if op.run else []
            d += len(run)
            self.strides.append((inner, far, run))

    # ---- text -----------------------------------------------------------------------------------

    def put(self, line=""):
        self.lines.append("    " * self.depth + line if line else "")

    def open(self, line):
        self.put(line + " {")
        self.depth += 1

    def close(self):
        self.depth -= 1
        self.put("}")

    def run(self):
        k = self.k
        getattr(self, k.form)()
        body = "\n".join(tidy_body(self.lines))
        pointers = "\n".join(self.pointer_lines())
        text = template("kernel").substitute(name="$name", form=describe(k), pointers=pointers,
                                             body=body, attribute=SCHEDULED * bool(interleave(k)))
        name = "k_" + hashlib.sha256(text.encode()).hexdigest()[:16]
        text = text.replace("$name", name)
        return name, text, mathlib.snippets(text)

    def pointer_lines(self):
        at = 0
        for i, op in enumerate(self.k.operands):
            kind = dtypes.C_NAMES[op.dtype]
            if op.role == "in":
                yield f"    const {kind} *const x{i} = p[{at}];"
            elif op.role == "out":
                yield f"    {kind} *const y{i} = p[{at}];"
            at += op.role != "index"

    # ---- pieces ---------------------------------------------------------------------------------

    def base(self, i):
        op = self.k.operands[i]
        return {"in": "x", "out": "y", "index": "i"}[op.role] + str(i)

    def shift(self, names, level, extra=None, tag=""):
        """Declare pointers moved by `names` (index variables) as a<i> (outer) or b<i> (runs)."""
        for i, op in enumerate(self.k.operands):
            inner, far, run = self.strides[i]
            by = far if level == "a" else run
            terms = [f"{v} * {s}" for v, s in zip(names, by)]
            if extra and inner != "0":
                terms.append(extra if inner == "1" else f"{extra} * {inner}")
            source = self.base(i) if level == "a" else f"a{i}"
            kind = dtypes.C_NAMES[op.dtype]
            if op.role == "index":
                source = "0" if level == "a" else source
                self.put(f"const int64_t {level}{i}{tag} = {' + '.join([source] + terms)};")
            else:
                const = "const " if op.role == "in" else ""
                self.put(f"{const}{kind} *const {level}{i}{tag} = {' + '.join([source] + terms)};")

    def unravel(self, flat, sizes, out):
        """Index variables out0.. of a flat index over dims d[sizes...]."""
        names = [f"{out}{i}" for i in range(len(sizes))]
        if len(sizes) == 1:
            self.put(f"const int64_t {names[0]} = {flat};")
            return names
        rest = f"rest_{out.strip('_')}"
        self.put(f"int64_t {rest} = {flat};")
        for i in range(len(sizes) - 1, 0, -1):
            self.put(f"const int64_t {names[i]} = {rest} % d[{sizes[i]}]; {rest} /= d[{sizes[i]}];")
        self.put(f"const int64_t {names[0]} = {rest};")
        return names

    def access(self, i, pointer, j, tag=""):
        op = self.k.operands[i]
        inner = self.strides[i][0]
        at = "0" if inner == "0" else j if inner == "1" else f"{j} * {inner}"
        if op.role == "index":
            kind = dtypes.C_NAMES[op.dtype]
            if pointer == "x":                      # nothing moved it yet
                return f"({kind})({at})"
            start = f"{pointer}{i}{tag}"
            return f"({kind})({start} + {at})" if inner != "0" else f"({kind}){start}"
        return f"{pointer}{i}{tag}[{at}]"

    def define(self, i, pointer, j, names, tag=""):
        """The statement that computes value i; `tag` tells unrolled copies apart."""
        v = self.k.values[i]
        if v.kind in ("load", "index"):
            text = self.access(v.operand, pointer, j, tag)
            if v.dtype == "float16":
                text = f"ck_half_to_float({text})"
            elif v.dtype == "bool" and v.kind == "load":
                text = f"{text} != 0"
        elif v.kind == "literal":
            text = v.text
        else:
            text = tidy_expression(v.text.format(*(names(a) for a in v.args)))
        return f"const {ctype(v.dtype)} v{i}{tag} = {text};"

    def store(self, operand, pointer, j, value, dtype):
        return f"{self.access(operand, pointer, j)} = {self.stored(operand, value)};"

    def stored(self, operand, text):
        """`text` as the number that lies in memory."""
        half = self.k.operands[operand].dtype == "float16"
        return f"ck_float_to_half({text})" if half else text

    def inline(self, i):
        v = self.k.values[i]
        return v.text if v.kind == "literal" else f"v{i}"

    # ---- flat -----------------------------------------------------------------------------------

    def flat(self):
        k = self.k
        if not k.outer:
            self.flat_loop("", "lo", "hi")
            return
        self.put("const int64_t n = d[0];")
        self.put("int64_t row = lo / n, j = lo % n;")
        self.open("while (lo < hi)")
        self.put("const int64_t end = n - j < hi - lo ? n : j + hi - lo;")
        self.shift(self.unravel("row", range(1, 1 + k.outer), "r"), "a")
        self.flat_loop("a", "j", "end")
        self.put("lo += end - j; row++; j = 0;")
        self.close()

    def flat_loop(self, pointer, first, last):
        k = self.k
        for i, v in enumerate(k.values):
            if not v.vec and v.kind != "literal":
                self.put(self.define(i, pointer or "x", "0", self.inline))
        self.put("#pragma GCC ivdep")
        if interleave(k):
            self.put(f"#pragma GCC unroll {interleave(k)}")
        self.open(f"for (int64_t i = {first}; i < {last}; i++)")
        for i, v in enumerate(k.values):
            if v.vec and v.kind != "literal":
                self.put(self.define(i, pointer or "x", "i", self.inline))
        for operand, value in k.stores:
            self.put(self.store(operand, pointer or "y", "i", self.inline(value),
                                k.values[value].dtype))
        self.close()

    def tile(self):
        k = self.k
        self.put("const int64_t n = d[0];")
        for i, v in enumerate(k.values):
            if not v.vec and v.kind != "literal":
                self.put(self.define(i, "x", "0", self.inline))
        self.open(f"for (int64_t r0 = lo; r0 < hi; r0 += {TILE})")
        self.put(f"const int64_t r1 = r0 + {TILE} < hi ? r0 + {TILE} : hi;")
        self.open(f"for (int64_t c0 = 0; c0 < n; c0 += {TILE})")
        self.put(f"const int64_t c1 = c0 + {TILE} < n ? c0 + {TILE} : n;")
        self.open("for (int64_t r = r0; r < r1; r++)")
        self.shift(["r"], "a")
        self.put("#pragma GCC ivdep")
        self.open("for (int64_t i = c0; i < c1; i++)")
        for i, v in enumerate(k.values):
            if v.vec and v.kind != "literal":
                self.put(self.define(i, "a", "i", self.inline))
        for operand, value in k.stores:
            self.put(self.store(operand, "a", "i", self.inline(value), k.values[value].dtype))
        for _ in range(4):
            self.close()

    # ---- rows -----------------------------------------------------------------------------------

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
        """Whether an operand moves along the reduced axes (what is stored there may be constant)."""
        op = self.k.operands[operand]
        return op.run or (self.k.form in ("rows", "chunks") and op.inner != 0)

    def needed(self, roots):
        """Run-level values under `roots`, in order."""
        seen, stack = set(), list(roots)
        while stack:
            i = stack.pop()
            v = self.k.values[i]
            if i in seen or v.kind in ("literal", "reduce") or not v.run:
                continue
            seen.add(i)
            stack.extend(v.args)
        return sorted(seen)

    def plan_spills(self, loops):
        """{value: loop it is kept in} for dear values that several loops of a row need."""
        if not self.k.spill:
            return {}
        first, kept = {}, {}
        for level, (reductions, stores) in loops.items():
            roots = [self.k.values[i].args[0] for i in reductions] + [v for _, v in stores]
            for i in self.needed_cut(roots, kept):
                if i not in first:
                    first[i] = level
                elif self.cone_cost(i) > RECOMPUTE_COST:
                    kept[i] = first[i]
        return kept

    def needed_cut(self, roots, kept):
        return self.needed(roots)

    def cone_cost(self, i):
        return sum(self.k.values[j].cost for j in self.needed([i]))

    def scratch(self):
        self.spills = self.plan_spills(self.loops_of())
        deep = [i for i in self.spills if not self.feeds_only_spilled(i)]
        self.spills = {i: self.spills[i] for i in deep}
        for i in sorted(self.spills):
            self.put(f"{ctype(self.k.values[i].dtype)} t{i}[{ROW_SCRATCH}];")

    def feeds_only_spilled(self, i):
        """Whether every later use of value i goes through another kept value."""
        loops = self.loops_of()
        for level, (reductions, stores) in loops.items():
            if level == self.spills[i]:
                continue
            roots = [self.k.values[r].args[0] for r in reductions] + [v for _, v in stores]
            seen, stack = set(), list(roots)
            while stack:
                j = stack.pop()
                v = self.k.values[j]
                if j in seen or v.kind in ("literal", "reduce") or not v.run:
                    continue
                if j == i:
                    return False
                seen.add(j)
                if j not in self.spills:
                    stack.extend(v.args)
        return True

    def row_stages(self, first, last):
        k, loops = self.k, self.loops_of()
        if k.form != "rows":
            self.spills = {}
        top = max([v.level + (v.kind == "reduce") for v in k.values] + list(loops) + [0])
        done = set()
        for level in range(top + 1):
            self.row_scalars(level, done)
            if level in loops:
                self.row_loop(level, *loops[level], first, last)
        for operand, value in k.stores:
            v = k.values[value]
            if not self.along_run(operand):
                if k.form == "chunks":
                    self.put(self.chunk_store(operand, value, "r"))
                else:
                    self.put(self.store(operand, "a", "0", self.inline(value), v.dtype))

    def chunk_store(self, operand, value, at):
        return f"y{operand}[{at}] = {self.stored(operand, self.inline(value))};"

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
            self.declare_accumulator(i, clauses)
        pointer = "a"
        if k.runs:
            total = " * ".join(f"d[{1 + k.outer + i}]" for i in range(k.runs))
            self.open(f"for (int64_t q = {first}; q < {last or total}; q++)")
            sizes = range(1 + k.outer, 1 + k.outer + k.runs)
            self.shift(self.unravel("q", sizes, "q_"), "b")
            pointer = "b"
        if clauses:
            text = " ".join(f"reduction({op}:{', '.join(names)})"
                            for op, names in sorted(clauses.items()))
            self.put(f"#pragma omp simd {text}")
        else:
            self.put("#pragma GCC ivdep")
        self.open("for (int64_t j = 0; j < n; j++)")
        self.loop_body(level, reductions, stores, pointer, "j")
        self.close()
        if k.runs:
            self.close()
        for i in reductions:
            self.finish_accumulator(i)

    def loop_body(self, level, reductions, stores, pointer, j):
        k = self.k
        roots = [k.values[i].args[0] for i in reductions] + [v for _, v in stores]
        order, seen, stack = [], set(), list(roots)
        while stack:
            i = stack.pop()
            v = k.values[i]
            if i in seen or v.kind in ("literal", "reduce") or not v.run:
                continue
            seen.add(i)
            if not (i in self.spills and self.spills[i] < level):
                stack.extend(v.args)
        order = sorted(seen)
        for i in order:
            if i in self.spills and self.spills[i] < level:
                self.put(f"const {ctype(k.values[i].dtype)} v{i} = t{i}[{j}];")
                continue
            self.put(self.define(i, pointer, j, self.inline))
            if i in self.spills and self.spills[i] == level:
                self.put(f"t{i}[{j}] = v{i};")
        for i in reductions:
            self.accumulate(i, f"a_{i}", f"bad_{i}")
        for operand, value in stores:
            self.put(self.store(operand, pointer, j, self.inline(value), k.values[value].dtype))

    def has_nan(self, i):
        v = self.k.values[i]
        return v.text in ("max", "min") and dtypes.is_float(v.dtype)

    def declare_accumulator(self, i, clauses):
        v = self.k.values[i]
        kind = accumulator(v.text, v.dtype)
        self.put(f"{kind} a_{i} = {start_of(v.text, v.dtype)};")
        clauses.setdefault(CLAUSE[v.text], []).append(f"a_{i}")
        if self.has_nan(i):
            self.put(f"int bad_{i} = 0;")
            clauses.setdefault("|", []).append(f"bad_{i}")

    def accumulate(self, i, name, bad):
        v = self.k.values[i]
        arg = self.inline(v.args[0])
        self.put(STEP[v.text].format(a=name, v=arg))
        if self.has_nan(i):
            self.put(f"{bad} |= {arg} != {arg};")

    def finish_accumulator(self, i, at=""):
        v = self.k.values[i]
        kind = ctype(v.dtype)
        text = f"({kind})a_{i}{at}"
        if self.has_nan(i):
            nan = '__builtin_nan("")' if v.dtype == "float64" else '__builtin_nanf("")'
            text = f"bad_{i}{at} ? {nan} : {text}"
        if at:
            return text
        self.put(f"const {kind} v{i} = {text};")
        return text

    # ---- columns --------------------------------------------------------------------------------

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
        """How an expression in a strip calls value i; `local` values are per row and carry `tag`."""
        def name(i):
            v = self.k.values[i]
            if v.kind == "literal":
                return v.text
            if self.in_array(v):
                return f"s{i}[c]"
            return f"v{i}{tag if i in local else ''}"
        return name

    def strip_roots(self, roots, stop_level=None):
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
        for i in reductions:
            v = k.values[i]
            reset = f" bad_{i}[c] = 0;" if self.has_nan(i) else ""
            self.put(f"for (int64_t c = 0; c < w; c++) {{ a_{i}[c] = "
                     f"{start_of(v.text, v.dtype)};{reset} }}")
        total = " * ".join(f"d[{1 + k.outer + i}]" for i in range(k.runs))
        roots = [k.values[i].args[0] for i in reductions] + [v for _, v in stores]
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
        for i in reductions:
            self.put("#pragma GCC ivdep")
            self.put(f"for (int64_t c = 0; c < w; c++) s{i}[c] = {self.finish_accumulator(i, '[c]')};")

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
            self.strip_reduce(i, [self.strip_name(order, t)(k.values[i].args[0]) for t in tags])
        name = self.strip_name(order)
        for operand, value in stores:
            self.put(self.store(operand, "b", "c", name(value), k.values[value].dtype))
        self.close()

    def strip_reduce(self, i, args):
        v = self.k.values[i]
        if v.text == "sum" and v.dtype == "float32" and len(args) > 1:
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


def describe(kernel):
    """One line for the reader of the generated file."""
    names = {"flat": "elementwise over a flat range",
             "tile": f"elementwise over {TILE} x {TILE} tiles",
             "rows": "row program: one outer index per unit of the range",
             "columns": "column program: one column per unit of the range",
             "chunks": "partial reduction: one chunk per unit of the range",
             "column_chunks": "partial column reduction: one chunk of rows per unit of the range"}
    return names[kernel.form]
