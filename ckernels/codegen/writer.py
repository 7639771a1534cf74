"""What every form of loop nest prints with: pointers, strides, values, accumulators.

A Writer holds one Kernel and the lines printed so far. The forms themselves are in `emit.py` (flat,
tile), `rows.py` and `columns.py`.
"""
import functools

from .. import dtypes
from .tidy import tidy_expression

START = {"sum": "0", "prod": "1", "any": "0", "all": "1"}
STEP = {"sum": "{a} += {v};", "prod": "{a} *= {v};", "any": "{a} |= ({v} != 0);",
        "all": "{a} &= ({v} != 0);", "max": "{a} = {v} > {a} ? {v} : {a};",
        "min": "{a} = {v} < {a} ? {v} : {a};"}
STEP["first"] = STEP["min"]     # the least index where something holds: growing along a row
COLUMNS = ("columns", "column_chunks")
CLAUSE = {"sum": "+", "prod": "*", "any": "|", "all": "&", "max": "max", "min": "min",
          "first": "min"}


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
    """C type a reduction runs in: floats are summed in double (error independent of the length).

    Sums and products of ints run unsigned, where overflow is defined and wraps as NumPy's does.
    """
    if name in ("any", "all"):
        return "int"
    if name in ("sum", "prod"):
        if dtypes.is_float(dtype):
            return "double"
        return dtypes.C_NAMES[dtype.replace("int", "uint") if dtype[0] == "i" else dtype]
    return "uint8_t" if dtype == "bool" else ctype(dtype)


class Writer:
    """Prints one kernel, line by line."""

    def __init__(self, kernel):
        self.k = kernel
        self.lines = []
        self.depth = 1
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

    # ---- accumulators ---------------------------------------------------------------------------

    @functools.cached_property
    def places(self):
        """{maximum or minimum: the first index with it} where only that asks for the index.

        Such a pair is found in one pass. Not where the reduced axes do not lie as one, since rows
        are then not walked in the order of their indices.
        """
        k, found = self.k, {}
        users = [a for v in k.values for a in v.args] + [v for _, v in k.stores]
        for i, v in enumerate(k.values):
            if v.kind != "reduce" or v.text != "first" or k.runs > (k.form in COLUMNS):
                continue
            hit = k.values[v.args[0]]
            if hit.kind == "op" and hit.text.startswith("({0} == {1}") and len(hit.args) == 3:
                arg, best, _ = hit.args
                b = k.values[best]
                if (b.kind, b.args) == ("reduce", (arg,)) and users.count(v.args[0]) == 1:
                    found[best] = i
        return found

    def has_nan(self, i):
        """Whether a maximum or minimum keeps apart that it met NaN."""
        v = self.k.values[i]
        together = self.k.form in COLUMNS and i in self.places
        return v.text in ("max", "min") and dtypes.is_float(v.dtype) and not together

    def declare_accumulator(self, i, clauses, name):
        v = self.k.values[i]
        kind = accumulator(v.text, v.dtype)
        self.put(f"{kind} a_{i} = {start_of(v.text, v.dtype)};")
        clauses.setdefault(CLAUSE[v.text], []).append(name)
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
