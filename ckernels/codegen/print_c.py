"""The printer: kernel IR as C99. The one file of this room that knows C.

Types, literals, the text of each op by dtype, how half floats are read and written, accumulators,
loops and their pragmas. The forms (`forms/`) say what stands where: they hand over names and index
arithmetic (+ - * / % < ?: over int64, as any target has it), never a declaration or a pragma.
The C is meant to be read: pointers named x/y by direction, values v<number>, one statement each.
"""

import functools
import re
from contextlib import contextmanager

import numpy as np

from ..base import dtypes
from ..graph.op import REGISTRY
from . import passes
from .tidy import tidy_expression

SCHEDULED = '__attribute__((optimize("schedule-insns")))\n'
# gcc 12 merges conditions of two functions that it inlined into one loop (both ask for inf), and
# then leaves the loop scalar: log-densities with log, exp and digamma 51 us with it, 17 without.
# Loops that look up indices are slower without (gathers 4 and 7 us), so it is for others alone.
APART = '__attribute__((optimize("no-tree-pre")))\n'
# Steps that wait for each other are no vectors: a jump that a choice decides is none there.
# A cell of a longest common subsequence takes 3.1 ns without, 1.5 with, a change detector 17 and 7.
JUMPING = '__attribute__((optimize("thread-jumps")))\n'
READ = {
    "bool": "{0} != 0",  # from memory to a register
    **{dtype: f"ck_{name}_to_float({{0}})" for dtype, name in dtypes.C_STORED.items()},
}
WRITTEN = {dtype: f"ck_float_to_{name}({{0}})" for dtype, name in dtypes.C_STORED.items()}
STEP = {"sum": "{a} += {v};", "prod": "{a} *= {v};", "any": "{a} |= ({v} != 0);",
        "all": "{a} &= ({v} != 0);", "max": "{a} = {v} > {a} ? {v} : {a};",
        "min": "{a} = {v} < {a} ? {v} : {a};"}  # fmt: skip
STEP["first"] = STEP["min"]  # the least index at which something holds; indices rise along a row
CLAUSE = {"sum": "+", "prod": "*", "any": "|", "all": "&", "max": "max", "min": "min",
          "first": "min"}  # fmt: skip
START = {"sum": "0", "prod": "1", "any": "0", "all": "1"}
BETTER = {"max": ">", "min": "<"}
BOUNDED = {"at_least": "{1} > {0} ? {1} : {0}", "at_most": "{1} < {0} ? {1} : {0}"}
IS_NEAR = {  # where ck_near_* will do: no doubles, no libm, exact in doubles, no special case
    ("small", "float32"): "__builtin_fabsf({0}) < 5e5f",
    ("small", "float64"): "__builtin_fabs({0}) < 1e13f",
    ("small", "int64"): "(uint64_t){0} + 0x8000000000000u < 0x10000000000000u",
    ("divisor", "float32"): "(ck_bits_f32({0}) & 0x7FFFFFFFu) - 0x3A83126Fu < 0x38000000u",
    ("divisor", "float64"): "(ck_bits_f64({0}) & -1ull >> 1) - 0x3F847AE147AE147Bu < 1ull << 62",
    ("normal", "float32"): "ck_bits_f32({0}) - 0x00800000u < 0x7F000000u",
    ("normal", "float64"): "ck_bits_f64({0}) - 0x0010000000000000u < 0x7FE0000000000000u",
}
LARGEST = {"int32": "0x7fffffff", "int64": "0x7fffffffffffffff"}
_NAME = re.compile(r"v\d+\w*|s\d+\[c\]|count")


# ---- types, numbers, ops ------------------------------------------------------------------------


def ctype(dtype):
    """C type of a value in a register."""
    return "_Bool" if dtype == "bool" else dtypes.C_NAMES[dtypes.computed(dtype)]


def accumulator_type(dtype):
    """C type of an accumulator: a dtype or "flag"."""
    return "int" if dtype == "flag" else dtypes.C_NAMES[dtype]


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
    top = f"{2 ** (bits - 1) - 1}{'l' if bits == 64 else ''}"
    return f"({kind})(-{top} - 1)" if name == "max" else f"({kind}){top}"


def literal(dtype, number):
    """A C literal with exactly this value."""
    if dtype == "bool":
        return str(int(number))
    if dtypes.is_float(dtype):
        x = float(number)
        suffix = "" if dtype == "float64" else "f"
        if x != x:
            return f'__builtin_nan{suffix}("")'
        if x in (float("inf"), float("-inf")):
            return f"{'-' if x < 0 else ''}__builtin_inf{suffix}()"
        text = (repr(x) if dtype == "float64" else str(np.float32(x))) + suffix  # shortest exact
        return f"({text})" if x < 0 or text[0] == "-" else text
    n = int(number)
    kind = dtypes.C_NAMES[dtype]
    if dtype == "int64" and n == -(2**63):
        return "(-0x7fffffffffffffff - 1)"
    return f"(({kind}){n}{'u' if dtype.startswith('u') else ''}{'l' if '64' in dtype else ''})"


def scalar(op, attrs, dtype, result):
    """C of an op with {0}, {1}.. for its operands, of which the last is of `dtype`."""
    if op == "convert":
        return f"({dtypes.C_NAMES[dtypes.computed(result)]})({{0}})"
    if op == "index_of":
        hit = "{0} == {1} || {0} != {0}" if dict(attrs)["float"] else "{0} == {1}"
        return f"({hit}) ? {{2}} : ({dtypes.C_NAMES[result]}){LARGEST[result]}"
    if op in BOUNDED:
        return BOUNDED[op]
    if op in ("exp_shifted", "exp_below"):
        return f"ck_{op}_{dtypes.SUFFIX[result]}({{0}})"
    if op.startswith("random_"):
        return f"ck_{op}_{dtypes.SUFFIX[result]}({{0}}, {{1}}, {{2}}, {{3}})"
    return _of_row(REGISTRY[op].c, attrs, dtype)


@functools.lru_cache(4096)
def _of_row(c, attrs, dtype):
    """The C that the declaration of an op gives for operands of `dtype`."""
    attrs, wide = dict(attrs), dtypes.computed(dtype)
    text = c(attrs, dtype) if callable(c) else c
    return text.format("{0}", "{1}", "{2}", T=dtypes.C_NAMES[wide], S=dtypes.SUFFIX[wide], **attrs)


@functools.lru_cache(4096)
def _tidied(text, operands):
    """`text` with its operands put in (None: a name, which is left open) and tidied."""
    names = [f"v900{k}" if o is None else o for k, o in enumerate(operands)]
    found = tidy_expression(text.format(*names)).replace("{", "{{").replace("}", "}}")
    return re.sub(r"v900(\d)\b", r"{\1}", found)


def expression(text, operands):
    """The C of `text` for operands: names, or literals in parentheses of their own."""
    shape = tuple(None if _NAME.fullmatch(o) else o for o in operands)
    return _tidied(text, shape).format(*operands)


def in_memory(operand):
    """The C type of the elements of an operand."""
    return "loose_" * operand.loose + dtypes.C_NAMES[operand.dtype]


# ---- one kernel ---------------------------------------------------------------------------------


class Printer:
    """Prints the statements that a form asks for, of one kernel."""

    def __init__(self, kernel):
        self.k = kernel
        self.accumulators = passes.accumulators(kernel)
        self.lines, self.depth = [], 1
        self.prefix = "ck_"  # of sines, cosines and tangents

    def put(self, line):
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head):
        self.put(head + " {" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.put("}")

    # ---- indices --------------------------------------------------------------------------------

    def let(self, **named):
        """Constants of type int64."""
        self.put(f"const int64_t {', '.join(f'{k} = {v}' for k, v in named.items())};")

    def held(self, name, i, index, size):
        """`name`: the index that is value i, counted from the front. It was checked before; the
        place is within range all the same, whatever another thread makes of the array meanwhile."""
        if self.k.values[i].dtype.startswith("u"):
            self.let(**{f"e{name}": f"(int64_t){index}"})
        else:
            self.let(**{f"e{name}": f"{index} + ({index} < 0 ? {size} : 0)"})
        self.let(**{name: f"e{name} >= 0 && e{name} < {size} ? e{name} : 0"})

    def var(self, **named):
        """Variables of type int64."""
        self.put(f"int64_t {', '.join(f'{k} = {v}' for k, v in named.items())};")

    def var_at_most(self, name, value, most):
        self.put(f"int64_t {name} = {value}; if ({name} > {most}) {name} = {most};")

    def let_digit(self, name, rest, size):
        """The last digit of `rest`, which loses it."""
        self.put(f"const int64_t {name} = {rest} % {size}; {rest} /= {size};")

    def var_digits(self, names, sizes, rest):
        """Variables for all digits of `rest`, which is lost: the index `names[k]` of `sizes[k]`."""
        for name, size in zip(names[:0:-1], sizes[:0:-1]):
            self.put(f"int64_t {name} = {rest} % {size}; {rest} /= {size};")
        self.var(**{names[0]: rest})

    def count_on(self, names, sizes):
        """The digits of the next number."""
        text = f"{names[0]}++;"
        for name, size in zip(names[1:], sizes[1:]):
            text = f"if (++{name} == {size}) {{ {name} = 0; {text} }}"
        self.put(text)

    def update(self, *assignments, when=None):
        """Assignments to indices, in order; where `when` holds."""
        text = " ".join(a + ";" for a in assignments)
        self.put(f"if ({when}) {{ {text} }}" if when else text)

    def loop(self, name, begin, end, step=1):
        """`name` from begin on while it is below end."""
        by = f"{name}++" if step == 1 else f"{name} += {step}"
        return self.block(f"for (int64_t {name} = {begin}; {name} < {end}; {by})")

    @contextmanager
    def blocks(self, name, end_name, begin, end, size):
        """A loop over blocks of `size`, whose ends are called `name` and `end_name`."""
        with self.loop(name, begin, end, size):
            self.let(**{end_name: f"{name} + {size} < {end} ? {name} + {size} : {end}"})
            yield

    @contextmanager
    def blocks_after_one(self, name, end_name, begin, end, first, size):
        """The same with a first block of another size."""
        with self.block(
            f"for (int64_t {name} = {begin}, {end_name}; {name} < {end}; {name} = {end_name})"
        ):
            self.put(f"{end_name} = {name} + ({name} == {begin} ? {first} : {size});")
            self.put(f"if ({end_name} > {end}) {end_name} = {end};")
            yield

    def whole_blocks(self, name, end, size):
        """A loop that goes on from the present value of `name`, while a block of `size` fits before
        the end."""
        return self.block(f"for (; {name} + {size} <= {end}; {name} += {size})")

    def rest(self, name, end):
        return self.block(f"for (; {name} < {end}; {name}++)")

    def if_(self, condition):
        return self.block(f"if ({condition})")

    def while_(self, condition):
        return self.block(f"while ({condition})")

    def unrolled(self, name, begin, end, step, turns=4):
        """A loop of so many turns, written out by the compiler."""
        self.put(f"#pragma GCC unroll {turns}")
        return self.loop(name, begin, end, step)

    def vector(self, name, begin, end, taken=(), unroll=0, lanes=None):
        """A loop for vector instructions of at most `lanes` elements; taken: (reduction, its
        accumulator, its NaN flag)."""
        self.pragma(taken, lanes)
        if unroll:
            self.put(f"#pragma GCC unroll {unroll}")
        return self.loop(name, begin, end)

    def vector_flag(self, name, begin, end, flag):
        """A loop for vector instructions that only raises a flag."""
        self.put(f"#pragma omp simd reduction(|:{flag})")
        return self.loop(name, begin, end)

    def ask_large(self, flag, asked):
        """Raise a flag where one of these values is beyond ck_near_*, or no number."""
        near = [
            IS_NEAR[question, dtypes.computed(self.k.values[i].dtype)].format(self.name(i))
            for i, question in asked
        ]
        self.put(f"{flag} |= !({' && '.join(near)});")

    @contextmanager
    def near(self):
        """Statements in which no sine and no quotient is of a large number or by a tiny one, no
        logarithm of an unusual one."""
        self.prefix = "ck_near_"
        yield
        self.prefix = "ck_"

    def pragma(self, taken, lanes=None):
        clauses = {}
        for i, accumulator, flag in taken:
            clauses.setdefault(CLAUSE[self.k.values[i].op], []).append(accumulator)
            if self.accumulators[i].nan:
                clauses.setdefault("|", []).append(flag)
        text = " ".join(
            f"reduction({op}:{', '.join(names)})" for op, names in sorted(clauses.items())
        )
        text += f" safelen({lanes})" if lanes else ""
        extreme = any(self.accumulators[i].nan for i, _, _ in taken)  # of floats: see the macro
        text = f"CK_SIMD_EXTREME({text})" if extreme else f"#pragma omp simd {text}"
        self.put(text if clauses else "#pragma GCC ivdep")

    def call_rows(self, begin, end):
        """Compute the rows from begin on up to end; what goes wrong there ends the kernel."""
        self.put(f"const int failed = $name_rows(rows_p, rows_d, {begin}, {end});")
        self.update("return failed", when="failed")

    # ---- memory ---------------------------------------------------------------------------------

    def pointers(self):
        """The lines that name the pointers a kernel is given."""
        at = 0
        for kind in sorted({op.dtype for op in self.k.operands if op.loose}):
            kind = dtypes.C_NAMES[kind]
            yield f"    typedef {kind} loose_{kind} __attribute__((aligned(1)));"
        for i, op in enumerate(self.k.operands):
            kind, letter = in_memory(op), "x" if op.role == "in" else "y"
            const = "const " if op.role == "in" else ""
            place = f"{letter}{op.beside[0]} + {op.beside[1]}" if op.beside else f"p[{at}]"
            if op.role != "index":
                yield f"    {const}{kind} *const {letter}{i} = {place};"
            at += op.role != "index"

    def move(self, i, name, source, terms):
        """`name`: the pointer or index `source` of operand i, moved by index terms."""
        op, text = self.k.operands[i], " + ".join([source, *terms])
        if op.role == "index":
            self.let(**{name: text})
        else:
            const = "const " if op.role == "in" else ""
            self.put(f"{const}{in_memory(op)} *const {name} = {text};")

    def row_on_stack(self, name, dtype, length):
        """Values of a row; truth values as bytes, for GCC makes no vectors of loads of _Bool."""
        kind = "uint8_t" if dtype == "bool" else ctype(dtype)
        self.put(f"{kind} {name}[{length}];")

    def copy_on_stack(self, name, dtype, length):
        """The same for elements as they are stored."""
        self.put(f"{dtypes.C_NAMES[dtype]} {name}[{length}];")

    def repeat(self, kind, to, source, n, first, count):
        """Write numbers of a row on the stack to another, each n times: see ck_repeat_*."""
        self.put(f"ck_repeat_{kind}({to}, {source}, {n}, {first}, {count});")

    def move_rows(self, to, source, n, steps, begin, end):
        """Copy rows of n elements that lie together: see ck_move_rows; steps: from row to row."""
        sizes = ", ".join(f"{x} * (int64_t)sizeof *{to}" for x in (n, *steps, begin, end))
        self.put(f"ck_move_rows({to}, {source}, {sizes});")

    def turn_bytes(self, to, width, source, step, far, columns, rows):
        """Lay rows of bytes side by side: see ck_turn_1."""
        self.put(f"ck_turn_1({to}, {width}, {source}, {step}, {far}, {columns}, {rows});")

    def part(self, to, source, count):
        """A vector on the stack of which the first elements are there: see ck_part_f32."""
        self.put(f"ck_part_f32({to}, {source}, {count});")

    def keep_part(self, to, source, count):
        self.put(f"ck_keep_part_f32({to}, {source}, {count});")

    def words_on_stack(self, name, count):
        """Words of 8 bytes, which no index of an export has to have."""
        self.put(f"long long {name}[{count}];")

    def word(self, name):
        self.put(f"long long {name} = 0;")

    def truth_into(self, word, byte, text):
        """Make the value called `text` a byte of a word that has none there."""
        self.put(f"{word} |= {text} ? 1LL << 8 * {byte} : 0;")

    def put_truths(self, to, words):
        """Store the truth values of four words: see ck_put_truths."""
        self.put(f"ck_put_truths({to}, {words});")

    def cycle(self, name, begin, end):
        """Fill a row on the stack up to `end` with what it has before `begin`, again and again."""
        self.put(
            f"for (int64_t c = {begin}; c < {end}; c *= 2) __builtin_memcpy({name} + c, {name}, "
            f"(size_t)(c < {end} - c ? c : {end} - c) * sizeof *{name});"
        )

    def prefetch(self, i, place, stored=False):
        self.put(f"__builtin_prefetch(a{i} + {place}{', 1' if stored else ''});")

    # ---- values ---------------------------------------------------------------------------------

    def name(self, i):
        """How a statement calls value i."""
        v = self.k.values[i]
        if v.op == "literal":
            return literal(v.dtype, dict(v.attrs)["number"])
        return "count" if v.op == "count" else f"v{i}"

    def compute(self, i, place, names=None):
        """The expression of value i; place: of its operand in memory, or of its running index."""
        v, names = self.k.values[i], names or self.name
        if v.op == "index":
            return f"({dtypes.C_NAMES[self.k.operands[v.operand].dtype]}){place}"
        if v.op in ("load", "fetch"):
            return READ.get(v.dtype, "{0}").format(place)
        text = scalar(v.op, v.attrs, self.k.values[v.args[-1]].dtype, v.dtype)
        if passes.is_near(self.k, v):
            text = text.replace("ck_", self.prefix)
        return expression(text, [names(a) for a in v.args])

    def define(self, i, place, names=None, tag=""):
        """The statement that computes value i; `tag` tells unrolled copies apart."""
        kind = ctype(self.k.values[i].dtype)
        self.put(f"const {kind} v{i}{tag} = {self.compute(i, place, names)};")

    def define_as(self, i, name, text):
        """A constant of the type of value i."""
        self.put(f"const {ctype(self.k.values[i].dtype)} {name} = {text};")

    def store(self, operand, place, text):
        """Put the value called `text` at a place of `operand` in memory."""
        self.put(f"{place} = {WRITTEN.get(self.k.operands[operand].dtype, '{0}').format(text)};")

    def assign(self, place, text):
        self.put(f"{place} = {text};")

    def count(self, text):
        """`count`: how many elements a chunk has."""
        self.put(f"const double count = last > first ? (double)({text}) : 0;")

    # ---- accumulators ---------------------------------------------------------------------------

    def accumulator(self, i, name=None):
        """Declare the accumulator of reduction i."""
        v = self.k.values[i]
        kind = accumulator_type(self.accumulators[i].dtype)
        self.put(f"{kind} {name or f'a_{i}'} = {start_of(v.op, v.dtype)};")

    def flag(self, name, i):
        """A flag beside the accumulator of reduction i."""
        kind = passes.flag_of(dtypes.ITEMSIZE[self.accumulators[i].dtype])
        self.put(f"{accumulator_type(kind)} {name} = 0;")

    def raised(self, name):
        """A flag of its own."""
        self.put(f"int {name} = 0;")

    def partial_sum(self, name):
        """An accumulator of a block, in float."""
        self.put(f"float {name} = 0;")

    def lanes(self, i, name, size):
        """Accumulators of several elements of a sum or product side by side."""
        if self.k.values[i].op == "sum":
            self.put(f"double {name}[{size}] = {{0}};")
            return
        self.put(f"double {name}[{size}];")
        with self.loop("q", "0", size):
            self.assign(f"{name}[q]", "1")

    def accumulate(self, i, name, bad, text):
        """Take the value called `text` into the accumulator `name`, NaN into the flag `bad`."""
        self.put(STEP[self.k.values[i].op].format(a=name, v=text))
        if self.accumulators[i].nan:
            self.put(f"{bad} |= {text} != {text};")

    def stop_when_known(self, reductions):
        """Leave a loop over blocks where nothing to come can change any of these truth values."""
        ops = [(self.k.values[i].op, f"a_{i}") for i in reductions]
        self.put(f"if ({' && '.join(a if op == 'any' else '!' + a for op, a in ops)}) break;")

    def accumulated(self, i, at=""):
        """The result of reduction i, as an expression."""
        v = self.k.values[i]
        text = f"({ctype(v.dtype)})a_{i}{at}"
        if self.accumulators[i].nan:
            nan = '__builtin_nan("")' if v.dtype == "float64" else '__builtin_nanf("")'
            text = f"bad_{i}{at} ? {nan} : {text}"
        return text

    def better_block(self, i):
        """Keep the best value of all blocks so far, and in w_i where its block begins."""
        better = f"p_{i} {BETTER[self.k.values[i].op]} a_{i}"
        if self.accumulators[i].nan:
            self.put(f"if (q_{i} && !bad_{i}) {{ bad_{i} = 1; w_{i} = b; }}")
            better += f" && !bad_{i}"
        self.put(f"if ({better}) {{ a_{i} = p_{i}; w_{i} = b; }}")

    def best_of(self, i, place, count, begin=None):
        """The best of numbers in memory as the value of a block, and whether one is NaN; its place
        goes into the variable `begin`."""
        v, (kind, more) = self.k.values[i], ("at", f", &{begin}") if begin else ("of", "")
        call = f"ck_{v.op}_{kind}_{dtypes.SUFFIX[v.dtype]}(&{place}, {count}{more})"
        self.put(f"const {ctype(v.dtype)} p_{i} = {call};")
        if self.accumulators[i].nan:
            self.put(f"const int q_{i} = p_{i} != p_{i};")

    def place_of(self, i, name, place, count, begin):
        """Where the value of reduction i lies behind the element `begin`."""
        kind = dtypes.SUFFIX[self.k.values[i].dtype]
        self.let(**{name: f"{begin} + ck_place_of_{kind}(&{place}, {count}, {self.name(i)})"})

    # ---- accumulators of a strip of columns -----------------------------------------------------

    def strip_accumulator(self, i, width):
        self.put(f"{accumulator_type(self.accumulators[i].dtype)} a_{i}[{width}];")
        if self.accumulators[i].nan:
            self.put(f"uint8_t bad_{i}[{width}];")

    def start_strip(self, i):
        v = self.k.values[i]
        self.put(f"a_{i}[c] = {start_of(v.op, v.dtype)};")
        if self.accumulators[i].nan:
            self.put(f"bad_{i}[c] = 0;")

    def finish_strip(self, i):
        self.define_as(i, f"v{i}", self.accumulated(i, "[c]"))

    def reduced_alone(self, i, text):
        """The result of reduction i of one value."""
        flag = f"bad_{i}"
        self.accumulator(i)
        if self.accumulators[i].nan:
            self.flag(flag, i)
        self.accumulate(i, f"a_{i}", flag, text)
        self.define_as(i, f"v{i}", self.accumulated(i))

    def fold_strip(self, i):
        """Let each m neighbouring accumulators be what all m of them are together."""
        nan = self.accumulators[i].nan
        kind = accumulator_type(self.accumulators[i].dtype)
        with self.loop("c", "0", "w", "m"):
            self.put(f"{kind} t_{i} = a_{i}[c];")
            if nan:
                self.put(f"uint8_t f_{i} = bad_{i}[c];")
            with self.loop("k", "c + 1", "c + m"):
                self.put(STEP[self.k.values[i].op].format(a=f"t_{i}", v=f"a_{i}[k]"))
                if nan:
                    self.put(f"f_{i} |= bad_{i}[k];")
            with self.loop("k", "c", "c + m"):
                self.put(f"a_{i}[k] = t_{i};")
                if nan:
                    self.put(f"bad_{i}[k] = f_{i};")

    def strip_default(self, i, text):
        """Where a strip's accumulator is what it was at the start, take `text`."""
        nowhere = start_of("first", self.k.values[i].dtype)
        self.put(f"for (int64_t c = 0; c < w; c++) if (a_{i}[c] == {nowhere}) a_{i}[c] = {text};")

    def strip_reduce(self, i, texts):
        """Take values of some rows into the accumulator of column c."""
        v, name = self.k.values[i], f"a_{i}[c]"
        args = texts
        if v.op == "sum" and self.k.values[v.args[0]].dtype == "float32":
            while len(args) > 1:  # float sums of few rows, pairwise
                args = [f"({a} + {b})" for a, b in zip(args[::2], args[1::2])]
        if len(args) > 1:
            name = f"t_{i}"
            self.put(f"{accumulator_type(self.accumulators[i].dtype)} t_{i} = a_{i}[c];")
        for arg in args:
            self.put(STEP[v.op].format(a=name, v=arg))
        if len(args) > 1:
            self.put(f"a_{i}[c] = t_{i};")
        if self.accumulators[i].nan:
            self.put(f"bad_{i}[c] |= " + " | ".join(f"({a} != {a})" for a in args) + ";")

    def strip_place(self, i, at, texts, indices, odd=None):
        """A maximum or minimum and its first index by selects: NaN beats all but another NaN. With
        a flag `odd` it is raised by NaN, and the numbers are compared as if there were none."""
        v = self.k.values[i]
        self.put(f"{accumulator_type(self.accumulators[i].dtype)} t_{i} = a_{i}[c];")
        self.put(f"{ctype(self.k.values[at].dtype)} t_{at} = a_{at}[c];")
        if odd:
            self.put(f"o_{i}[c] = t_{i}; o_{at}[c] = t_{at};")
            for a, b in zip(texts[::2], texts[1::2] or texts):  # one instruction says of both
                self.put(f"{odd} |= !({a} <= {b} || {a} > {b});")
        for u, (arg, index) in enumerate(zip(texts, indices)):
            nan = f" || ({arg} != {arg} && t_{i} == t_{i})" if dtypes.is_float(v.dtype) else ""
            self.put(f"const _Bool k{u}_{i} = {arg} {BETTER[v.op]} t_{i}{'' if odd else nan};")
            self.put(f"t_{i} = k{u}_{i} ? {arg} : t_{i};")
            self.put(f"t_{at} = k{u}_{i} ? {index} : t_{at};")
        self.put(f"a_{i}[c] = t_{i}; a_{at}[c] = t_{at};")

    def before_places(self, places, width, flag):
        """Room for what maxima and their places are before some rows, and a flag of type `flag`."""
        for value in (*places, *places.values()):
            self.put(f"{accumulator_type(self.accumulators[value].dtype)} o_{value}[{width}];")
        self.put(f"{flag} odd = 0;")

    def places_before(self, places):
        for value in (*places, *places.values()):
            self.put(f"a_{value}[c] = o_{value}[c];")

    def take(self, i, at, to, other):
        """Take accumulator `other` of a strip into accumulator `to`; at: the place of its number,
        of which the least stays where numbers are equal."""
        v = self.k.values[i]
        mine, its = f"a_{i}[{to}]", f"a_{i}[{other}]"
        if at is None:
            self.put(STEP[v.op].format(a=mine, v=its))
            if self.accumulators[i].nan:
                self.put(f"bad_{i}[{to}] |= bad_{i}[{other}];")
            return
        better, alike = f"{its} {BETTER[v.op]} {mine}", f"{its} == {mine}"
        if dtypes.is_float(v.dtype):
            better += f" || ({its} != {its} && {mine} == {mine})"
            alike = f"({alike} || ({its} != {its} && {mine} != {mine}))"
        with self.if_(f"{better} || ({alike} && a_{at}[{other}] < a_{at}[{to}])"):
            self.put(f"{mine} = {its}; a_{at}[{to}] = a_{at}[{other}];")

    # ---- accumulators of a tile -----------------------------------------------------------------

    def tile_accumulators(self, i, size):
        """Sums of a block of outputs, to which tiles add."""
        self.put(f"{accumulator_type(self.accumulators[i].dtype)} a_{i}[{size}];")

    def tile(self, i, names):
        """Sums of a tile, one for each of its rows: of floats, floats."""
        kind = ctype(self.k.values[self.k.values[i].args[0]].dtype)
        self.put(f"{kind} {', '.join(f'{name} = 0' for name in names)};")

    def start_tile(self, name, size):
        self.put(f"for (int64_t c = 0; c < {size}; c++) {name}[c] = 0;")

    def add(self, name, text):
        self.put(f"{name} += {text};")

    def define_tile(self, i, at):
        """The result of reduction i in a tile."""
        self.define_as(i, f"v{i}", f"({ctype(self.k.values[i].dtype)})a_{i}{at}")
