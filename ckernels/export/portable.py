"""From the C of a kernel, as the compiler room gets it, to C99 that any compiler takes.

Works on the text of generated functions and of the math library, line by line and word by word: no
pragmas, attributes or builtins of one compiler remain, and math.h has the functions they stood for.
What cannot be written in C99 raises NotSupported. Knows no graphs and no plans.
"""

import functools
import re
from pathlib import Path
from string import Template

from ..base.dtypes import C_NAMES, SUFFIX
from ..base.errors import NotSupported
from ..codegen.emit import emit
from ..codegen.forms.row_loops import BLOCK
from ..codegen.forms.rows import ROW_SCRATCH
from ..codegen.ir import Kernel

HERE = Path(__file__).parent / "c"
BUILTINS = ("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "fma")
_BUILTIN = re.compile(rf"__builtin_((?:{'|'.join(BUILTINS)})f?)\b")
_WORDS = {                      # what stands in generated C: what C99 has for it
    '__builtin_nan("")': "((double)NAN)", '__builtin_nanf("")': "NAN",
    "__builtin_inf()": "((double)INFINITY)", "__builtin_inff()": "INFINITY",
    "__builtin_memset(": "ck_clear(", "__builtin_memcpy(": "ck_copy(",
    "static __attribute__((noinline, const))": "CK_NOINLINE static",
    "static __attribute__((noinline))": "CK_NOINLINE static",
    " __attribute__((always_inline))": "",
}  # fmt: skip
_LINES = (                      # (pattern, what becomes of it)
    (re.compile(r"^[ ]*#pragma GCC ivdep\n", re.M), ""),
    (re.compile(r"^__attribute__\(\(optimize\(.*\)\)\)\n", re.M), ""),
    (re.compile(r"^([ ]*)#pragma omp simd ?(.*)\n", re.M), r"\1CK_SIMD(\2)\n"),
    (re.compile(r"^[ ]*#pragma (?:omp declare|GCC unroll).*\n", re.M), ""),
    (re.compile(r"^extern double \w+\(double\);\n", re.M), ""),
    (re.compile(r"^#line .*\n", re.M), ""),
    (re.compile(r"^[ ]*__builtin_prefetch\(.*\);\n", re.M), ""),
    (re.compile(r"__builtin_constant_p\(b\) \? .* : "), ""),  # ck_quotient_*: one way for all
)  # fmt: skip
# fmt: off
_EXPECT = re.compile(r"__builtin_expect\((.+), [01]\)( \?|\))")
_RUN = re.compile(              # a copy in vectors: plan/lowerings/indexed.py
    r"typedef __typeof__\(\*to\) run .*;\n\s*int64_t i = j;\n\s*for \(; i \+ \d+ <= .*\n"
    r"(\s*)for \(; i < end; i\+\+\)")
_TILES = (                      # loops over tiles in vectors; scalar loops behind them do the rest
    (re.compile(r"^ *typedef [\w$]+ vec __attribute__.*\n", re.M), ""),
    (re.compile(r", lanes = sizeof\(vec\) / sizeof\([\w$]+\)"), ""),
    (re.compile(r"^( *)for \(; rows == 4 && j \+ 2 \* lanes <= \w; .*\{\n(?:.*\n)*?\1\}\n", re.M),
     ""))
_EITHER = re.compile(           # a kernel in vectors, or in plain C: templates/matmul_of_bytes.c.in
    r"^#if defined\(__AVX2__\) && defined\(__clang__\)\n.*?^#else\n(.*?)^#endif\n", re.M | re.S)
_LEFT = re.compile(r"__builtin_\w+|__attribute__|__typeof__|vector_size|#pragma")
_STRIPS = re.compile(r"^[ ]*typedef (\w+) v\d+ __attribute__.*", re.M | re.S)   # sparse_dot.py
_ENTRIES = re.compile(r"for \(int64_t q = ck_within.* q\+\+\)")
# fmt: on
_FORWARD = """\
        for (int64_t j = 0; j < k; j++) {{
            {0} s = 0;
            for (int64_t q = first; q < last; q++)
                s += data[q] * y[ck_within_{1}(indices + q, columns) * by + j];
            to[j] = s;
        }}
    }}
    return 0;
}}
"""
_BACKWARD = """\
        for (int64_t r = 0; r < rows; r++)
            {2}
                for (int64_t j = left; j < right; j++)
                    out[ck_within_{1}(indices + q, columns) * k + j] += data[q] * y[r * by + j];
    }}
    return 0;
}}
"""
_IN_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
_UNREAD = re.compile(  # of one constant: commas stand between arguments alone
    r"^([ ]*)(?:const \w+(?: \*const)?|\w+ \*const) (\w+) = (?:[^;,()]|" + _IN_PARENTHESES + ")+;$"
)
_ROW = re.compile(r"\brow = lo / \w+, | row\+\+;|/\*.*?\*/")  # a row number that nothing reads
_STRIP = re.compile(r"^ *\w+ ([st]\d+)\[\d+\];$")
_EMPTY = re.compile(r"^ *for \([^{}\n]*\) \{\n *\}\n", re.M)
_BLOCKS = re.compile(  # a sum over a row that is one block
    r"double (a_\w+) = 0;\n +\{ const \w+ b = 0;\n"
    r"(?:.*\n)*? +\1 \+= (\w+);"
)
_SIGNATURE = "int {}(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {{\n"


def c99(text):
    """`text` without what only some compilers understand."""
    if " vec __attribute__" in text:
        for pattern, instead in _TILES:
            text = pattern.sub(instead, text)
    for pattern, instead in _LINES:
        text = pattern.sub(instead, text)
    for old, new in _WORDS.items():
        text = text.replace(old, new)
    text = _EITHER.sub(r"\1", text)
    text = _BUILTIN.sub(r"\1", text)
    text = _RUN.sub(r"for (int64_t i = j; i < end; i++)", text)
    text = _EXPECT.sub(r"(\1)\2", text)
    strips = _STRIPS.search(text)
    if strips:  # vectors over columns of a dense matrix: scalar loops instead
        before = text[: strips.start()]
        scalar = _FORWARD if "int64_t first = " in before else _BACKWARD
        kind, loop = re.search(r"ck_within_(\w+)\(indices", before)[1], _ENTRIES.search(before)
        text = before + scalar.format(strips[1], kind, loop and loop[0])
    return text


def without_unread(text):
    """`text` without constants that their block never reads, strips that nothing reads, and the
    loops that are empty then."""
    if len(re.findall(r"\brows\b", re.sub(r"/\*.*?\*/", "", text, flags=re.S))) == 1:
        text = text.replace("const int64_t rows = d[0], ", "const int64_t ")
    if not re.search(r"\brow\b", _ROW.sub("", text)):
        text = _ROW.sub(lambda m: m[0] if m[0][0] == "/" else "", text)
    lines = text.split("\n")
    for line in text.split("\n"):
        strip = _STRIP.match(line)
        if strip:
            users = [x for x in lines if re.search(rf"\b{strip[1]}\b", x) and x != line]
            stored = re.compile(rf" *(?:for \(.*\) )?{strip[1]}\[[^\]]*\] = [^;]*;$")
            if all(stored.match(x) for x in users):
                lines = [x for x in lines if x != line and x not in users]
    kept = []
    for k in range(len(lines) - 1, -1, -1):  # from the end: some are read only by what is left out
        match = _UNREAD.match(lines[k])
        if match and not read_below(match, kept):
            continue
        kept.append(lines[k])
    left = _EMPTY.sub("", "\n".join(reversed(kept)))
    return left if left == text else without_unread(left)


def read_below(match, kept):
    """Whether a line of the same block (the last lines of `kept`, reversed) has the name."""
    for line in reversed(kept):
        if line.strip() and len(line) - len(line.lstrip()) < len(match[1]):
            return False
        if re.search(rf"\b{match[2]}\b", line):
            return True
    return False


@functools.lru_cache(4096)
def _kernel(kernel):
    return emit(kernel.kernel)


class _ByKey:
    """A kernel, equal to others of its key."""

    def __init__(self, kernel):
        self.kernel, self.key = kernel, kernel.key()

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


def generated(kernel):
    """(name, text, snippets) of a kernel as the compiler room gets it."""
    return _kernel(_ByKey(kernel))


def fallible(kernel):
    """Whether the kernel may return an error: an index out of bounds, lengths that do not fit."""
    return re.search(r"return [^;]*CK_E|return code|\bcode\b", generated(kernel)[1]) is not None


def narrow(kernel):
    """Whether all 64-bit integers in the C of a kernel are sizes and indices."""
    if not isinstance(kernel, Kernel):
        return False
    return not any("64" in x.dtype and "int" in x.dtype for x in (*kernel.operands, *kernel.values))


def function(kernel, node=None):
    """(name, text, snippets) of the kernel as a static function of C99.

    NotSupported, with the user's line of `node`, where it needs more than C99 has.
    """
    name, text, snippets = generated(kernel)
    text, snippets = c99(text), [c99(s) for s in snippets]
    left = _LEFT.search("".join(s for s in [text, *snippets] if "if defined" not in s))
    if left is not None:
        refuse(
            f"its kernel ({kernel.form}) is written with {left[0]}, which C99 has not; "
            'target="native" exports it for gcc and clang',
            node,
        )
    head = _SIGNATURE.format(name)
    text = without_unread(text)
    body = text[text.index(head) + len(head) :]
    unused = [f"(void){x};" for x in ("p", "d", "lo", "hi") if not re.search(rf"\b{x}\b", body)]
    line = f"    {' '.join(unused)}\n" if unused else ""
    text = text.replace(head, "CK_NOINLINE static " + head + line)
    return name, text.replace("int64_t", "ck_index") if narrow(kernel) else text, snippets


# ---- functions for fixed sizes ------------------------------------------------------------------


def alone(text):
    """Whether a text is one function, of which a file may then have several versions."""
    return len(re.findall(r"^(?:CK_NOINLINE )?static .*\)(?: \{)?$", text, re.M)) == 1


def for_sizes(text, name, number, pointers, sizes):
    """A kernel for fixed sizes: its dims, then its range; its arguments are pointers only."""
    head = re.search(rf"{name}\(void \*const \*p, const (\w+) \*d, .*\{{\n", text)
    body = re.sub(r"\A    (?:\(void\)\w+; ?)+\n", "", text[head.end() :])
    *dims, count = sizes
    body = for_short_rows(body, dims[0] if dims else 0)
    body = re.sub(r"(\w+ = )d\[(\d+)\](?=[,;])", lambda m: f"{m[1]}{dims[int(m[2])]}", body)
    names = [f"p{k}" for k in range(pointers)]
    lines = {
        "p": f"    void *const p[] = {{ {', '.join(names)} }};\n",
        "d": dims_of(head[1], dims),
        "lo": f"    {head[1]} lo = 0;\n",
        "hi": f"    {head[1]} hi = {count};\n",
    }
    if not re.search(r"\bp\b", body):
        lines["p"] = f"    {' '.join(f'(void){x};' for x in names)}\n"
    used = [line for x, line in lines.items() if x == "p" or re.search(rf"\b{x}\b", body)]
    declared = ", ".join(f"void *{x}" for x in names) or "void"
    return f"{text[: head.start()]}{name}_{number}({declared}) {{\n{''.join(used)}{body}"


def support_for(text, name, number, dims, flag):
    """A function of `c/` for these dims and this flag; its arguments are pointers only."""
    head = re.search(rf"{name}\(const ck_index \*d, (?:int (\w+), )?", text)
    body = text.index("{\n", head.end()) + 2
    lines = dims_of("ck_index", dims)
    if head[1]:
        lines += f"    const int {head[1]} = {flag};\n"
    start = f"{text[: head.start()]}{name}_{number}({text[head.end() : body]}"
    return f"{start}{lines}{text[body:]}"


def dims_of(kind, dims):
    return f"    static const {kind} d[] = {{ {', '.join(map(str, dims))} }};\n"


def for_short_rows(body, n):
    """The body of a kernel whose rows have `n` elements: strips on the stack are as long as a row,
    and where a row is one block of a sum it needs no wider accumulator: the bits are the same."""
    if not re.search(r"\bn = d\[0\][,;]", body):
        return body
    if n <= ROW_SCRATCH:
        body = re.sub(rf"(?m)^(\s*\w+ t\d+)\[{ROW_SCRATCH}\];", rf"\1[{max(n, 1)}];", body)
    if 0 < n <= BLOCK:
        body = body.replace(f"e = b + {BLOCK} < n ? b + {BLOCK} : n;", "e = n;")
        body = re.sub(
            rf"for \((\w+) b = 0; b < n; b \+= {BLOCK}\) \{{\n", r"{ const \1 b = 0;\n", body
        )
        for name, part in _BLOCKS.findall(body):
            uses = {f"double {name} = 0", f"{name} += {part}", f"(float){name}"}
            left = body
            for use in uses:
                left = left.replace(use, "")
            if f"float {part} = 0;" in body and not re.search(rf"\b{name}\b", left):
                body = body.replace(f"double {name} = 0", f"float {name} = 0")
    return body


def refuse(why, node):
    """Raise NotSupported for the op of `node`, with the user's line."""
    from ..base.errors import with_line  # start-up

    name = node.op.name if node is not None else "an instruction"
    raise with_line(NotSupported(f"{name} cannot be exported: {why}"), node)


def helpers(used):
    """The parts of `c/windows.c.in` whose names occur in the text `used`, or in parts that do."""
    kept = []
    for part in reversed(support("windows").strip().split("\n\n")):
        name = re.search(r"(?:inline|static) .*?(ck_\w+)\(", part)
        if name is None or re.search(rf"\b{name[1]}\(", used):
            kept.append(part)
            used += part
    return "\n\n".join(reversed(kept)) + "\n"


@functools.cache
def support(name, dtype="float32"):
    """The text of `c/<name>.c.in` for a dtype."""
    fields = {"T": C_NAMES[dtype], "S": SUFFIX[dtype], "B": "8" if "64" in dtype else "4"}
    return Template((HERE / f"{name}.c.in").read_text(encoding="utf-8")).substitute(fields)
