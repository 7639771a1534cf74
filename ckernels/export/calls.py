"""The instructions of a routine as lines of C: calls of kernels, scans and branches around them.

One function for each kind of instruction, in `WRITERS`. Buffers are named here: arguments of the C
function, members of the state, offsets in the arena, rows of a scan. What the kernels compute and
where buffers lie was decided before.
"""

from ..base.dtypes import C_NAMES
from ..graph.sizes import Size, value_of
from ..plan.instructions import Branch, Gemm, KernelCall, Move, Native, Scan, word_of, words
from . import portable
from .argument import c_text
from .natives import COPIES, NATIVES, dtype_of, multiplied
from .routine import UpdateCopy, operands

WIDTH = 100  # characters of a line
VERSIONS = 6  # of a convolution or pool, 250 bytes each; one for all takes 700, its tables 144
FEW = 4  # rows of a product: with fewer, no tile of c/gemm.c.in would be full


class Calls:
    """Lines of the body of the C function `name`.

    names: {buffer that is no row and not in the arena: C expression of its pointer}; offsets:
    {buffer of the arena: bytes}; library: the Library that notes which functions are used;
    writers: {class of instruction: function(calls, instr)}.
    """

    def __init__(self, name, names, offsets, library, writers=None):
        self.name = name
        self.names, self.offsets, self.library = names, offsets, library
        self.writers = writers or WRITERS
        self.lines, self.depth = [], 1
        self.dims, self.wide, self.known = [], [], {}  # tables; wide: in 64 bits
        self.scans = 0
        self.rows, self.multiplied, self.times = {}, 0, 1

    def put(self, line):
        self.lines.extend(broken("    " * self.depth + line, "    " * (self.depth + 1)))

    def write(self, instructions):
        for instr in instructions:
            self.writers[type(instr)](self, instr)

    def title(self, instr):
        """A comment: what runs, and the user's line."""
        line = instr.line
        where = f"   {line[0].rsplit('/', 1)[-1]}:{line[1]}" if line else ""
        self.put(f"/* {comment(instr.name)}{comment(where)} */")

    # ---- names ----------------------------------------------------------------------------------

    def place(self, base):
        """The C expression of (buffer, bytes), a pointer to void or char."""
        buffer, offset = base
        if buffer[0] == "row":
            name = self.rows[buffer]
            if isinstance(name, tuple):  # the same at each step
                return self.place((name[0], name[1] + offset))
        elif buffer[0] == "tmp":
            return f"arena + {c_text(self.offsets[buffer] + offset)}"
        else:
            name = self.names[buffer]
        if type(offset) is int and not offset:
            return name if buffer[0] == "row" else f"(void *){name}"
        offset = c_text(offset)
        return f"{name} + {offset}" if buffer[0] == "row" else f"(char *){name} + {offset}"

    def numbers(self, dims, narrow=True):
        """The C expression of a pointer to these dims: in a table, or made at each call."""
        if not dims:
            return "0"
        if any(type(d) is Size for d in dims):
            kind = self.library.index if narrow else "int64_t"
            return f"(const {kind}[]){{ {', '.join(map(c_text, dims))} }}"
        key = narrow, *(int(d) for d in dims)
        table = self.dims if narrow else self.wide
        if key not in self.known:
            self.known[key] = len(table)
            table.extend(key[1:])
        return f"{self.name}_{'dims' if narrow else 'wide'} + {self.known[key]}"

    # ---- kernels --------------------------------------------------------------------------------

    def call_kernel(self, call, count, node):
        kernel, pointers, dims = call.kernel, call.pointers, call.dims
        fixed = fixed_sizes((*dims, count))
        name, fails, own = self.library.kernel(kernel, node, fixed, len(pointers))
        places = ", ".join(self.place(p) for p in pointers)
        if own:
            call = f"{name}({places})"
        else:
            numbers = self.numbers(dims, self.library.narrow(kernel))
            call = f"{name}((void *const[]){{ {places} }}, {numbers}, 0, {c_text(count)})"
        self.put(f"if ((code = {call}) != 0) return code;" if fails else f"{call};")

    def call_support(self, file, dtype, dims, pointers, flag=""):
        """Call a function of c/."""
        name, own = self.library.need(file, dtype, fixed_sizes(dims), flag)
        given = [] if own else [self.numbers(dims), *([flag] if flag else [])]
        self.put(f"{name}({', '.join([*given, *map(self.place, pointers)])});")


def fixed_sizes(dims):
    """`dims` as plain numbers, or None where one follows from an argument or is a C variable."""
    return None if any(type(d) in (Size, str) for d in dims) else tuple(map(int, dims))


def kernel(calls, instr):
    calls.title(instr)
    calls.call_kernel(instr, instr.n, instr.node)


def gemm(calls, instr):
    calls.title(instr)
    own = instr.record
    assert own.alpha == word_of(1.0) and own.beta == 0, "a product that is scaled or added"
    calls.multiplied += calls.times * value_of(own.m * own.n * own.k * own.batch)
    dtype = "float64" if own.dtype else "float32"
    file = "gemm_few" if type(own.m) is int and own.m < FEW else "gemm"
    dims = words(own.but(alpha=0, beta=0))[:-1]  # without `unit`, which is used below
    calls.call_support(file, dtype, dims, instr.pointers)
    if instr.epilogue is not None:
        calls.call_kernel(instr.epilogue, own.m * own.batch * own.unit, instr.nodes[-1])


def native(calls, instr):
    calls.title(instr)
    own = instr.record
    row, pointers = NATIVES[own.op], instr.pointers[: operands(instr)]
    calls.multiplied += calls.times * value_of(multiplied(own))
    dims = words(own if own.op in COPIES else own.but(slots=1, unit=0))
    calls.call_support(row.file, dtype_of(own), dims, pointers, row.flag)
    if instr.epilogue is not None:
        calls.call_kernel(instr.epilogue, instr.rows * own.unit, instr.nodes[-1])


def copy(calls, instr):
    calls.title(instr)
    to, source = (calls.place(p) for p in instr.pointers)
    calls.put(calls.library.copy(to, source, c_text(instr.n)))


# ---- scans and branches -------------------------------------------------------------------------


def branch(calls, instr):
    calls.title(instr)
    calls.put(f"if (*({C_NAMES['bool']} *)({calls.place(instr.pointers[0])})) {{")
    for k, half in enumerate((instr.then, instr.other)):
        calls.depth += 1
        calls.write(half)
        calls.depth -= 1
        if not k:
            calls.put("} else {")
    calls.put("}")


def scan(calls, instr):
    """A scan: its rows are pointers that each step sets anew."""
    calls.title(instr)
    moving, j = instr.moving, f"j{calls.scans}"
    t, count, most = (f"{x}{calls.scans}" for x in "tnm")
    calls.scans += 1
    calls.put("{")
    calls.depth += 1
    head = len(calls.lines)
    rows = [row for row, move in moving.moves.items() if isinstance(move, Move)]
    calls.rows.update((row, f"r{row[1]}") for row in rows)
    calls.rows.update((row, m) for row, m in moving.moves.items() if not isinstance(m, Move))
    # What each step does, and where it finds its rows
    seek = [f"r{row[1]} = {moved(calls, moving.moves[row], j, t)};" for row in rows]
    if moving.reverse:
        seek.insert(0, f"{t} = {count} - 1 - {j};")
    elif any(f"{t}" in line.split(" = ", 1)[1] for line in seek):
        seek.insert(0, f"{t} = {j};")
    stepwise(calls, instr, seek, j, most)
    after(calls, moving, j, count)
    body, calls.lines = calls.lines[head:], calls.lines[:head]
    declare(calls, moving, body, (j, t, count, most), rows)
    calls.lines += body
    calls.depth -= 1
    calls.put("}")


def stepwise(calls, instr, seek, j, most):
    calls.put(f"for ({j} = 0; {j} < {most}; {j}++) {{")
    calls.depth += 1
    for line in seek:
        calls.put(line)
    rows, times = instr.moving.rows, calls.times
    limit = instr.moving.limit
    rows, limit = value_of(rows), value_of(limit)
    calls.times *= min(rows, limit) if limit >= 0 else rows if rows < 1 << 40 else 1
    calls.write(instr.body)
    calls.times = times
    if instr.moving.flag is not None:
        calls.put(f"if (*({C_NAMES['bool']} *)({calls.place(instr.moving.flag)})) {{")
        calls.put(f"    {j}++;")
        calls.put("    break;")
        calls.put("}")
    calls.depth -= 1
    calls.put("}")


def after(calls, moving, j, count):
    """Last states, zeros where no step wrote, and how many steps ran."""
    copied, cleared = calls.library.copy, calls.library.clear
    for to, row, first, size in moving.finals:
        source = calls.place((row, 0))
        start = calls.place(first)
        chosen = f"{j} ? (void *)({source}) : (void *)({start})"
        calls.put(copied(calls.place(to), chosen, c_text(size)))
    low = f"({count} - {j})" if moving.reverse else "0"
    high = count if moving.reverse else j
    rows = c_text(moving.rows)
    for base, size in moving.traces:
        at, size = calls.place(base), grouped(size)
        if moving.reverse:
            calls.put(cleared(at, f"(size_t)({low} * {size})"))
        calls.put(
            cleared(f"(char *)({at}) + {high} * {size}", f"(size_t)((({rows}) - {high}) * {size})")
        )
    if moving.executed is not None:
        calls.put(copied(calls.place(moving.executed), f"&{j}", 8))


def declare(calls, moving, body, names, rows):
    """The variables of a scan, before its `body`."""
    j, t, count, most = names
    text = "\n".join(body)
    most_rows = grouped(moving.rows)
    whole = [f"{j} = 0", f"{count} = {most_rows}"]
    if f"{t} = " in text:
        whole.insert(1, t)
    calls.put(f"int64_t {', '.join(whole)};")
    if rows:
        calls.put(f"char {', '.join(f'*r{row[1]} = 0' for row in rows)};")
    if moving.count is not None:
        calls.put(f"{calls.library.copy(f'&{count}', calls.place(moving.count), 8)}")
        calls.put(f"{count} = {count} < 0 ? 0 : {count} > {most_rows} ? {most_rows} : {count};")
    limit = grouped(moving.limit)
    value = count if moving.limit < 0 else f"{count} < {limit} ? {count} : {limit}"
    calls.put(f"const int64_t {most} = {value};")
    for row in rows:
        if not any(
            f"r{row[1]}" in line and not line.lstrip().startswith(f"r{row[1]} = ") for line in body
        ):
            calls.put(f"(void)r{row[1]};")


def moved(calls, move, j, t):
    """Where a row lies at step j, which is row t: a C expression."""
    names = {"j": j, "t": t}

    def at(base, index, ring, stride):
        if ring == 1 or type(stride) is int and not stride:
            return f"(char *)({calls.place(base)})"
        if ring is not None:
            index = f"({index} & {ring - 1})"
        return f"(char *)({calls.place(base)}) + {index} * {grouped(stride)}"

    if move.until is None:
        return at(move.a, t, None, move.a_stride)
    x, y = (names[c] for c in move.by)
    if type(move.shift) is Size or move.shift:
        y = (
            f"({y} - {grouped(move.shift)})"
            if move.shift > 0
            else f"({y} + {grouped(-move.shift)})"
        )
    if move.a is None or move.until <= 0:
        return at(move.b, y, move.b_ring, move.b_stride)
    first = at(move.a, x, move.a_ring, move.a_stride)
    if move.b is None:
        return first
    return f"{x} < {grouped(move.until)} ? {first} : {at(move.b, y, move.b_ring, move.b_stride)}"


def grouped(size):
    """A size as C, in brackets where it is more than one number or name."""
    text = c_text(size)
    return text if text.lstrip("-").isalnum() else f"({text})"


def broken(line, indent):
    """A long line as several of at most 100 characters, cut behind commas."""
    lines = []
    while len(line) > WIDTH and ", " in line[len(indent) + 1 : WIDTH]:
        at = line.rindex(", ", len(indent) + 1, WIDTH) + 1
        lines.append(line[:at])
        line = indent + line[at + 1 :]
    return [*lines, line]


def comment(text):
    """`text` as part of a comment of C."""
    return text.replace("*/", "* /").replace("\n", " ").replace("\\", "/")


WRITERS = {
    KernelCall: kernel,
    Gemm: gemm,
    Native: native,
    Scan: scan,
    Branch: branch,
    UpdateCopy: copy,
}


class Library:
    """What the file of a model needs besides its plans: kernels, the math library, support.

    planned: {function: sizes it is called for}, which an earlier Library has `seen`. A function
    that is called for few fixed sizes is written once for each: compilers then leave out code that
    these sizes do not need, and tables of sizes. None stands for sizes that an argument decides.
    """

    index = "ck_index"  # the type that sizes are counted in

    def __init__(self, planned=None):
        self.planned, self.seen = planned or {}, {}
        self.snippets, self.kernels, self.support = {}, {}, {}
        self.memory = set()  # those of copy and clear that are used
        self.windows = False  # whether there is a convolution or a pool

    def version(self, name, sizes, most):
        """The number of the version of a function for these sizes; None for one of all sizes.

        most: up to how many versions are smaller than one for all sizes with its tables.
        """
        self.seen.setdefault(name, {})[sizes] = None
        found = list(self.planned.get(name, ()))
        return found.index(sizes) if found and None not in found and len(found) <= most else None

    def kernel(self, kernel, node, fixed=None, pointers=0):
        """(name, whether it may fail, whether it is for these sizes alone) of a kernel."""
        name, text, snippets = portable.function(kernel, node)
        self.snippets.update(dict.fromkeys(snippets))
        written = (text, *snippets)
        self.memory |= {k for k in ("copy", "clear") if any(f"ck_{k}(" in t for t in written)}
        number = self.version(name, fixed, 2 if portable.alone(text) else 1)
        if number is not None:
            text = portable.for_sizes(text, name, number, pointers, fixed)
            name = f"{name}_{number}"
        self.kernels[name] = text
        return name, portable.fallible(kernel), number is not None

    def narrow(self, kernel):
        return portable.narrow(kernel)

    def need(self, file, dtype, fixed=None, flag=""):
        """(name, whether it is for these sizes alone) of the function of a file of c/."""
        self.windows |= not file.startswith(("gemm", "transpose"))
        name, text = f"ck_{file}_{portable.SUFFIX[dtype]}", portable.support(file, dtype)
        key = fixed and (*fixed, flag)
        number = self.version(name, key, VERSIONS if portable.alone(text) else 1)
        if number is not None:
            text = portable.support_for(text, name, number, fixed, flag)
            name = f"{name}_{number}"
        self.support[text] = None
        return name, number is not None

    def copy(self, to, source, size):
        self.memory.add("copy")
        return f"ck_copy({to}, {source}, {size});"

    def clear(self, to, size):
        self.memory.add("clear")
        return f"ck_clear({to}, 0, {size});"

    def text(self):
        """The C of all of it, definitions before their uses."""
        parts = [portable.support("prelude")]
        parts += [portable.support(name) for name in sorted(self.memory)]
        if self.windows:
            helpers = portable.helpers("".join(self.support))
            parts.append(helpers.replace("static inline", "CK_FLAT") if self.planned else helpers)
        return "\n".join([*parts, *self.snippets, *self.support, *self.kernels.values()])
