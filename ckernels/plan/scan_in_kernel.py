"""Scans whose time loop is inside of one kernel, not in the runtime.

Where a step goes through numbers and single elements, nearly all of its time goes into calls of the
kernels that it is made of. Such a scan becomes one kernel: the loop over its steps, with the loops
and branches inside of it, around the functions of these kernels, which the compiler inlines. States
and values of few elements are variables there. What each function computes stays as it is, to the
last bit: numbers that one leaves to another pass `ck_apart`, across which nothing is contracted.

A million steps of `0.5 * s + x[t]` take 1.1 ms (float32, one thread of Zen 5), with a call for each
step 6 ms; a cell of an alignment matrix (four gathers, a maximum, a store) 3 ns instead of 27.
"""

from contextlib import contextmanager
from typing import NamedTuple

from ..base import dtypes
from ..codegen.emit import emit
from ..codegen.indexed import OneElement
from ..codegen.ir import Kernel
from ..codegen.print_c import JUMPING
from ..codegen.raw import RawKernel, block
from ..graph.sizes import Size
from .instructions import Branch, KernelCall, Move, Scan, flatten
from .scan_of_elements import Exit, Other, ScanOfElements
from .scan_terms import Line, is_line, is_plain_call
from .taken_over import FAILS

RAW = ("gather", "scatter", "check_indices")  # of the kernels with a template these
MOST_PS = 20_000_000  # what a kernel of a step takes at most: others may be shared by threads
MOST_STEP_NS = 1e8  # what a step takes at most: between two of them the scan polls for signals
STRETCH_NS = 1e7  # how long steps run between two looks at signals
BEAT = 16384  # steps of the scans inside between two of them: one may never end
FEW = 8  # elements of a variable, and the largest number that stands in the text
DEPTH = 8  # scans in each other: CK_DEPTH
DONE, ENDED, FAILED, INNER, STEPS = range(1, 6)  # words of what a kernel tells: ckernels.h
POLL, RUNNER, TOLD = (STEPS + DEPTH + k for k in range(3))
EPYTHON = 3  # CK_EPYTHON: an exception is set
FLOATS = {"float32": "f32", "float64": "f64"}  # what is contracted


def take_steps(instructions, plan, refused):
    """Let one kernel take the steps of each scan that may have one, the outermost ones first."""
    spans = {}  # {buffer: first and last instruction that touches it}
    for at, instr in enumerate(flatten(instructions)):
        for buffer in (*instr.reads, *instr.writes):
            spans.setdefault(buffer, [at, at])[1] = at
    _take(instructions, 0, plan, refused, spans, {})


def _take(instructions, at, plan, refused, spans, lines):
    """at: the number of the first one; lines: {buffer: its Line} of those filled before."""
    lines = dict(lines)
    for instr in instructions:
        if isinstance(instr, KernelCall) and is_line(instr) and len(instr.pointers) == 1:
            ((buffer, offset),) = instr.pointers
            if not offset:
                lines[buffer] = Line(instr.kernel, "int64", {})
        if not (isinstance(instr, Scan) and is_taken(instr)):
            _take(instr.body, at + 1, plan, refused, spans, lines)
        else:
            inside = {
                buffer
                for buffer, (first, last) in spans.items()
                if buffer[0] == "tmp" and at < first and last <= at + instr.n
            }
            written = ScanKernel(plan, inside, lines)
            kernel = written.kernel(instr)
            if kernel.key() not in refused:
                told = plan.temp((TOLD,), "int64")
                operands = [told.pointer, *written.pointers]
                instr.take(kernel, operands, written.dims, stretch_of(instr))
                instr.writes = [*instr.writes, told.buffer]
        at += 1 + sum(1 for _ in flatten(instr.body, instr.depth + 1))


def is_taken(scan):
    """Whether one kernel takes the steps of this scan."""
    ns = sum(instr.ns for instr in scan.body)
    return bool(scan.body) and ns <= MOST_STEP_NS and fits(scan, 0)


def fits(instr, depth):
    """Whether an instruction may be inside of such a kernel."""
    if isinstance(instr, KernelCall):
        kernel = instr.kernel
        known = kernel.form in RAW if isinstance(kernel, RawKernel) else isinstance(kernel, Kernel)
        return known and type(instr.work) is int and instr.work <= MOST_PS
    if isinstance(instr, Scan):
        depth += 1
        return instr.moving.parts is None and depth <= DEPTH and _fit(instr.body, depth)
    return isinstance(instr, Branch) and _fit(instr.body, depth)


def _fit(instructions, depth):
    return all(fits(instr, depth) for instr in instructions)


class FewElements:
    """Few elements that are a variable of the kernel, `name`: an array of them."""

    def __init__(self, name, dtype, count):
        self.name, self.dtype, self.count = name, dtype, count
        self.kind = dtypes.C_NAMES[dtype]

    def declared(self):
        return f"{self.kind} {self.name}[{self.count}];"

    def load(self, place):
        return [f"{self.name}[{k}] = ((const {self.kind} *)({place}))[{k}];"
                for k in range(self.count)]  # fmt: skip

    def store(self, place):
        return [f"(({self.kind} *)({place}))[{k}] = {self.name}[{k}];" for k in range(self.count)]

    def take(self, other):
        return [f"{self.name}[{k}] = {other.name}[{k}];" for k in range(self.count)]


class Ways(NamedTuple):
    """Lines before the steps of a scan, those of a step, and those of steps in which no index needs
    to be looked at, or None."""

    before: list
    careful: list
    quick: list
    apart: bool  # whether no quick step reads or writes what another one writes
    start: list  # lines before quick steps
    cuts: list = ()  # C of steps after which these lines have to come again
    few: int = 0  # careful steps before quick ones are looked for,
    sought: list = ()  # by these lines


class ScanKernel:
    """Writes the kernel of one scan. inside: the buffers that nobody touches outside of it;
    lines: {buffer: its Line} of those filled before."""

    def __init__(self, plan, inside, lines):
        self.plan, self.inside = plan, inside
        self.lines, self.depth = [], 1
        self.pointers, self.dims = [], []
        self.slots, self.numbers = {}, {}  # {(buffer, bytes as text): name}, {number: name}
        self.functions = {}  # {name: text}
        self.variables = {}  # {buffer: its FewElements}
        self.rows = {}  # {row: C of a pointer, or (buffer, bytes)}
        self.used, self.roles = set(), {}
        self.scans, self.tag, self.calls = 0, 0, 0
        self.known = lines  # {buffer: the Line that it is}
        self.fills = []  # (call, depth, buffer) of each kernel that fills a Line
        self.vectors = False  # whether a loop of it may become one over vectors
        self.meant = {}  # see Other
        self.around = []  # (number of the scan, the scan), from the outermost one on

    def kernel(self, scan):
        self.find_variables(scan)
        self.find_touches(scan)
        self.scan(scan)
        self.fill()
        pointers = [f"char *const q{k} = p[{k + 1}];" for k in range(len(self.pointers))]
        pointers += [v.declared() for b, v in self.variables.items() if b[0] != "row"]
        sizes = [f"const int64_t c{k} = d[{k}];" for k in range(len(self.dims))]
        fields = (
            ("note", "the steps of a scan"),
            ("attribute", "" if self.vectors else JUMPING),
            ("functions", "\n".join(self.functions.values())),
            ("pointers", block(pointers, 1)),
            ("sizes", block(sizes, 1)),
            ("body", "\n".join(self.lines)),
        )
        return RawKernel("steps", fields, tuple(self.roles.values()))

    def put(self, *lines):
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, head):
        self.put(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.put("}")

    # ---- names ----------------------------------------------------------------------------------

    def number(self, x):
        """C of a number: its text where it is small, so that kernels serve all larger ones."""
        if type(x) is not Size:
            x = int(x)
            if abs(x) <= FEW:
                return str(x) if x >= 0 else f"({x})"
        key = text_of(x)
        if key not in self.numbers:
            self.numbers[key] = f"c{len(self.dims)}"
            self.dims.append(x)
        return self.numbers[key]

    def place(self, buffer, offset=0):
        """C of a pointer to these bytes of a buffer."""
        if buffer in self.variables:
            found = f"(char *){self.variables[buffer].name}"
            if type(offset) is int and offset:
                return f"{found} + {offset}"  # a number in the text keeps it out of memory
        elif buffer in self.rows:
            found = self.rows[buffer]
            self.used.add(buffer)
            if isinstance(found, tuple):
                return self.place(found[0], found[1] + offset)
        else:
            key = buffer, text_of(offset)
            if key not in self.slots:
                self.slots[key] = f"q{len(self.pointers)}"
                self.pointers.append((buffer, offset))
            return self.slots[key]
        return found if type(offset) is int and not offset else f"{found} + {self.number(offset)}"

    def variable(self, buffer):
        """The FewElements that a buffer is, or None."""
        found = self.rows.get(buffer)
        while isinstance(found, tuple) and buffer not in self.variables:
            buffer = found[0]
            found = self.rows.get(buffer)
        return self.variables.get(buffer)

    # ---- variables ------------------------------------------------------------------------------

    def find_variables(self, scan):
        """Make variables of what holds few elements and is of no use outside."""
        kinds, moves = {}, {}
        inner = list(flatten([scan], scan.depth))
        for instr in inner:
            if isinstance(instr, Scan):
                moves.update(instr.moving.moves)

        def note(buffer, dtype):
            if buffer in moves:
                move = moves[buffer]
                for base in move.bases if isinstance(move, Move) else [move]:
                    note(base[0], dtype)
            else:
                kinds.setdefault(buffer, set()).add(dtype)

        for instr in inner:
            if isinstance(instr, KernelCall):
                for (buffer, _), operand in zip(instr.pointers, pointers(instr.kernel)):
                    note(buffer, operand.dtype)
            elif isinstance(instr, Branch):
                note(instr.pointers[0][0], "bool")
            else:
                self.note_scan(instr.moving, note)
        for buffer in sorted(self.inside & kinds.keys()):
            size, (dtype, *more) = self.plan.bytes_of(buffer), kinds[buffer]
            if more or dtype is None or type(size) is not int:  # None: of which no dtype is known
                continue
            if few(size // dtypes.ITEMSIZE[dtype]):
                count = size // dtypes.ITEMSIZE[dtype]
                self.variables[buffer] = FewElements(f"v{len(self.variables)}", dtype, count)

    @staticmethod
    def note_scan(moving, note):
        for base, dtype in ((moving.count, "int64"), (moving.flag, "bool"),
                            (moving.executed, "int64")):  # fmt: skip
            if base is not None:
                note(base[0], dtype)
        for state in moving.states:
            for row in (state.old, state.new):
                if row is not None:
                    note(row, state.dtype)
        dtype_of = {state.new: state.dtype for state in moving.states}
        for to, row, first, _ in moving.finals:
            for base in (to, first):
                note(base[0], dtype_of.get(row))
        for base, _ in moving.traces:
            note(base[0], None)

    def find_touches(self, scan):
        """Which scans touch each buffer: those whose steps do; None for what is around steps."""
        self.moves, self.touches = {}, {}
        scans = [i for i in flatten([scan], scan.depth) if isinstance(i, Scan)]
        for one in scans:
            self.moves.update(one.moving.moves)

        def note(buffer, by=None):
            for root in self.roots(buffer):
                self.touches.setdefault(root, set()).add(by)

        def inside(instructions, around):
            for instr in instructions:
                if isinstance(instr, Scan):
                    self.note_scan(instr.moving, lambda buffer, dtype: note(buffer))
                    inside(instr.body, id(instr))
                    continue
                for buffer, _ in instr.pointers:
                    note(buffer, around if isinstance(instr, KernelCall) else None)
                inside(instr.body, None)

        inside([scan], None)

    def roots(self, buffer):
        """The buffer, and those that it is rows of."""
        found, more = set(), [buffer]
        while more:
            buffer = more.pop()
            if buffer not in found:
                found.add(buffer)
                move = self.moves.get(buffer)
                if move is not None:
                    bases = move.bases if isinstance(move, Move) else [move]
                    more += [base[0] for base in bases]
        return found

    def is_local(self, variable, scan):
        """Whether nothing but the steps of a scan touches a variable."""
        mine = [buffer for buffer, v in self.variables.items() if v is variable]
        return all(self.touches.get(buffer, ()) == {id(scan)} for buffer in mine)

    def shift_of(self, pointer):
        """How many bytes after the beginning of a variable a pointer points."""
        buffer, offset = pointer
        while buffer not in self.variables:
            buffer, more = self.rows[buffer]
            offset = offset + more
        return offset

    def home_of(self, buffer):
        """The row or buffer that a row stays at."""
        while isinstance(self.rows.get(buffer), tuple) and not self.rows[buffer][1]:
            buffer = self.rows[buffer][0]
        return buffer

    def follows(self, buffer, scan):
        """Whether a row lies elsewhere at each step of a scan."""
        while isinstance(self.rows.get(buffer), tuple):
            buffer = self.rows[buffer][0]
        return isinstance(scan.moving.moves.get(buffer), Move)

    def line_of(self, buffer, scan):
        """The Line whose element of a step is at a row of this scan, or None."""
        move = scan.moving.moves.get(self.home_of(buffer))
        if not isinstance(move, Move) or move.until is not None or move.a[1]:
            return None
        line = self.known.get(self.home_of(move.a[0]))
        even = line is not None and type(move.a_stride) is int
        return line if even and move.a_stride == dtypes.ITEMSIZE[line.dtype] else None

    @staticmethod
    def is_short(scan):
        """Whether the compiler may write out all steps one after the other."""
        return scan.moving.count is None and type(scan.moving.rows) is int and (
            scan.moving.rows <= 2 * FEW)  # fmt: skip

    def note_line(self, instr):
        """Remember what a kernel fills an array with; `fill` puts the call where a mark stands."""
        names = {}
        outer = [i for i, o in enumerate(instr.kernel.operands) if o.role != "index"]
        for i, pointer in zip(outer, instr.pointers):
            if instr.kernel.operands[i].role == "in":
                names[i] = f"l{len(self.fills)}_{i}"
                self.put(f"const int64_t {names[i]} = *(const int64_t *)({self.place(*pointer)});")
            else:
                filled, offset = pointer
        self.put(*[f"(void){name};" for name in names.values()])
        if not offset:
            self.known[self.home_of(filled)] = Line(instr.kernel, "int64", names)
        self.put(f"@{len(self.fills)}")
        self.fills.append((instr, self.depth, filled))

    def fill(self):
        """Put the calls that fill arrays where these are read, element by element or elsewhere."""
        marked, self.lines = self.lines, []
        for line in marked:
            if not line.lstrip().startswith("@"):
                self.lines.append(line)
                continue
            instr, self.depth, filled = self.fills[int(line.lstrip()[1:])]
            read = filled in self.variables or any(buffer == filled for buffer, _ in self.slots)
            if read or filled not in self.inside:
                self.call(instr, -1)

    # ---- calls ----------------------------------------------------------------------------------

    def fails(self, tag):
        """Lines that tell which call failed, at which steps."""
        inner = [f"t{number}" for number, _ in self.around[:0:-1]]
        return [f"told[{FAILED}] = {tag}; told[{INNER}] = {len(self.around) - 1};",
                *[f"told[{STEPS + e}] = {t};" for e, t in enumerate(inner)],
                f"told[{DONE}] = j{self.around[0][0]};"]  # fmt: skip

    def note_roles(self, instr):
        for (buffer, _), operand in zip(instr.pointers, pointers(instr.kernel)):
            self.roles.setdefault(text_of(buffer), (operand.role, operand.dtype))

    def write(self, instructions):
        for instr in instructions:
            self.tag += 1
            if isinstance(instr, KernelCall):
                if is_line(instr):
                    self.note_line(instr)
                else:
                    self.call(instr, self.tag - 1)
            elif isinstance(instr, Branch):
                self.branch(instr)
            else:
                self.scan(instr)

    def function(self, kernel):
        """(name, whether it may fail) of the function of a kernel."""
        name, text, _ = emit(typed(kernel))
        inner = "$name_" + name[2:]
        if inner not in self.functions:
            body = text[text.index(f"int {name}(") :].replace(name, inner, 1)
            self.functions[inner] = "CK_INLINE " + body
        return inner, bool(FAILS.search(text))

    def call(self, instr, tag):
        kernel, k = instr.kernel, self.calls
        self.calls += 1
        name, fails = self.function(kernel)
        looped = isinstance(kernel, Kernel)
        one = looped and kernel.form == "flat" and not kernel.outer and instr.n == 1
        places, clobbers = [], False
        self.note_roles(instr)
        self.vectors |= not (
            isinstance(kernel, OneElement)
            or is_line(instr)
            or type(instr.n) is int
            and instr.n == 1
        )
        with self.block(""):
            for i, ((buffer, offset), operand) in enumerate(zip(instr.pointers, pointers(kernel))):
                place, variable = self.place(buffer, offset), self.variable(buffer)
                if looped and operand.role == "in" and operand.dtype in FLOATS:
                    apart = f"ck_apart_{FLOATS[operand.dtype]}"
                    if variable is not None:
                        self.put(*[f"{variable.name}[{e}] = {apart}({variable.name}[{e}]);"
                                   for e in range(variable.count)])  # fmt: skip
                    elif one and not operand.picks:
                        kind = dtypes.C_NAMES[operand.dtype]
                        self.put(f"const {kind} x{i} = {apart}(*(const {kind} *)({place}));")
                        place = f"(void *)&x{i}"
                    else:
                        clobbers = True
                places.append(place)
            if clobbers:
                self.put('__asm__ volatile("" ::: "memory");')
            self.put(f"void *const p{k}[] = {{{', '.join(places)}}};")
            numbers = ", ".join(map(self.number, instr.dims)) or "0"
            self.put(f"const int64_t d{k}[] = {{{numbers}}};")
            call = f"{name}(p{k}, d{k}, 0, {self.number(instr.n)})"
            if not fails:
                self.put(f"(void){call};")
                return
            with self.block(f"const int code = {call}; if (code)"):
                self.put(*self.fails(tag), "return code;")

    def branch(self, instr):
        known = dict(self.known)
        with self.block(f"if (*(const uint8_t *)({self.place(*instr.pointers[0])}))"):
            self.write(instr.then)
        self.known = dict(known)
        with self.block("else"):
            self.write(instr.other)
        self.known = known

    # ---- scans ----------------------------------------------------------------------------------

    def scan(self, scan):
        moving, k, outermost = scan.moving, self.scans, not self.around
        self.scans += 1
        j, t, n, most = (f"{x}{k}" for x in "jtnm")
        states = [s for s in moving.states if self.hold(s, k)]
        self.name_rows(moving)
        with self.block(""):
            self.begin(moving, n, most, j, outermost)
            for state in states:
                held = [self.variables[row] for row in (state.new, state.old) if row is not None]
                self.put(*[v.declared() for v in held])
                if state.old is not None:
                    start = moved(self, moving.moves[state.old], j, t)
                    self.first(moving, j, t, n, outermost, held[1].load(start))
            self.around.append((k, scan))
            known, used, self.used = dict(self.known), self.used, set()
            ways = self.ways(scan, states, k, outermost)
            with self.block(f"if ({j} < {most})"):
                self.put(*ways.before)
                self.steps(moving, k, most, ways, outermost)
            self.known = known
            self.around.pop()
            self.used |= used
            self.after(moving, states, j, t, n, outermost)

    def ways(self, scan, states, k, outermost):
        """The Ways of a step."""
        found = ScanOfElements.of(self, scan, k, self.tag)
        lines, self.lines = self.lines, []
        self.depth += 1
        if found is None:
            self.write(scan.body)
            ways = Ways([], self.lines, None, False, [])
            self.end_step(scan.moving, states, k, outermost)
        else:
            before, both = self.tag, []
            self.tag += len(flatten(scan.body, scan.depth + 1))
            for instr in scan.body:
                if is_plain_call(instr):
                    self.note_roles(instr)
            for statements in (found.careful, found.quick):
                self.lines = []
                for line in statements or ():
                    if isinstance(line, Exit):
                        with self.block(f"if (!({line.test}))"):
                            self.end_step(scan.moving, states, k, outermost, "1", found.few)
                    elif isinstance(line, Other):
                        after, meant = self.tag, self.meant
                        self.tag, self.meant = before + line.at, {**meant, **line.meant}
                        self.write([line.instr])
                        self.tag, self.meant = after, meant
                    else:
                        self.put(line)
                self.end_step(scan.moving, states, k, outermost, None, found.few)
                both.append(self.lines)
            self.vectors |= found.spreads()
            ways = Ways(found.before, both[0], found.quick and both[1], found.apart, found.start,
                        found.cuts, found.few, found.few and found.sought)  # fmt: skip
        self.depth -= 1
        self.lines = lines
        return ways

    def steps(self, moving, k, most, ways, outermost):
        """All steps, with looks at signals."""
        j, rows = f"j{k}", moving.rows
        if moving.flag is not None:
            self.put(f"int e{k} = 0;")
        if outermost or type(rows) is int and rows <= BEAT:
            self.loop(moving, k, most, ways)
            if not outermost:
                self.poll(f"{j} + 1")
            return
        ended = f" && !e{k}" if moving.flag is not None else ""
        with self.block(f"while ({j} < {most}{ended})"):
            last = f"{most} - {j} < beat ? {most} : {j} + beat"
            self.put(f"const int64_t b{k} = {j}, u{k} = {last};")
            self.loop(moving, k, f"u{k}", ways)
            self.poll(f"{j} - b{k} + 1")

    def loop(self, moving, k, end, ways):
        """The steps before `end`."""
        j, f, g = (f"{x}{k}" for x in "jfg")
        if ways.quick is None:
            self.stretch(moving, k, end, ways.careful)
            return
        ended = f" && !e{k}" if moving.flag is not None else ""
        if ways.few:
            self.first_steps(moving, k, end, ways)
            return
        with self.block(f"while ({j} < {end}{ended})"):
            self.put(f"const int quick = {j} >= {f} && {j} < {g};",
                     f"int64_t stop{k} = {j} < {f} ? {f} : quick ? {g} : {end};",
                     f"stop{k} = stop{k} < {end} ? stop{k} : {end};")  # fmt: skip
            with self.block("if (quick)"):
                self.between_cuts(moving, k, ways)
            with self.block("else"):
                self.stretch(moving, k, f"stop{k}", ways.careful)

    def first_steps(self, moving, k, end, ways):
        """The steps before `end` of a loop that data end: some careful ones, and where there are
        more, quick ones, and again careful ones after these."""
        j, f, g = (f"{x}{k}" for x in "jfg")
        self.put(f"int64_t stop{k} = {ways.few} < {end} ? {ways.few} : {end};", f"careful{k}:;")
        self.stretch(moving, k, f"stop{k}", ways.careful)
        with self.block(f"if ({j} < {end})"):
            self.put(*ways.sought, f"stop{k} = {j} < {f} && {f} < {end} ? {f} : {end};")
            with self.block(f"if ({j} >= {f} && {j} < {g})"):
                self.put(f"stop{k} = {g} < {end} ? {g} : {end};")
                self.between_cuts(moving, k, ways)
                self.put(f"stop{k} = {end};")
            self.put(f"if ({j} < {end}) goto careful{k};")
        self.put(f"left{k}:;")

    def between_cuts(self, moving, k, ways):
        """The quick steps before `stop`."""
        if not ways.cuts:
            self.quick_steps(moving, k, f"stop{k}", ways)
            return
        ended = f" && !e{k}" if moving.flag is not None else ""
        with self.block(f"while (j{k} < stop{k}{ended})"):
            self.put(f"int64_t cut{k} = stop{k};")
            for cut in ways.cuts:
                after = f"{cut} + 1 > j{k} && {cut} + 1 < cut{k}"
                self.put(f"cut{k} = {after} ? {cut} + 1 : cut{k};")
            self.quick_steps(moving, k, f"cut{k}", ways)

    def quick_steps(self, moving, k, end, ways):
        """Those before `end`, of which no index is looked at."""
        self.put(*ways.start)
        if ways.apart:
            self.put("#pragma GCC ivdep")
        self.stretch(moving, k, end, ways.quick)

    def stretch(self, moving, k, end, lines):
        """The steps before `end`, each of which is these lines."""
        j, t, n = (f"{x}{k}" for x in "jtn")
        with self.block(f"for (; {j} < {end}; {j}++)"):
            self.seek(moving, j, t, n)
            self.lines += lines

    def poll(self, steps):
        """Look for signals once in a while; `steps` were taken."""
        self.put(f"beat -= {steps};")
        with self.block("if (beat <= 0)"):
            self.put(f"int (*const poll)(void *) = (int (*)(void *))(__INTPTR_TYPE__)told[{POLL}];",
                     f"beat = {BEAT};")  # fmt: skip
            with self.block(f"if (poll((void *)(__INTPTR_TYPE__)told[{RUNNER}]))"):
                self.put(f"told[{DONE}] = j{self.around[0][0]};", f"return {EPYTHON};")

    def hold(self, state, k):
        """Let a state be two variables, what it was and what it becomes, where it is small."""
        if not few(state.count) or state.dtype not in dtypes.C_NAMES:
            return False
        for row, name in ((state.new, "w"), (state.old, "s")):
            if row is not None:
                self.variables[row] = FewElements(f"{name}{row[1]}", state.dtype, state.count)
        return True

    def name_rows(self, moving):
        for row, move in moving.moves.items():
            self.rows[row] = f"r{row[1]}" if isinstance(move, Move) else move

    def begin(self, moving, n, most, j, outermost):
        """How many rows there are, and which step is the first."""
        if outermost:
            self.put(f"const int64_t {n} = told[0], {most} = hi;",
                     f"int64_t {j} = lo, beat = {BEAT};", "(void)beat;")  # fmt: skip
            return
        rows = self.number(moving.rows)
        self.put(f"int64_t {n} = {rows};")
        if moving.count is not None:
            self.put(f"{n} = *(const int64_t *)({self.place(*moving.count)});",
                     f"{n} = {n} < 0 ? 0 : {n} > {rows} ? {rows} : {n};")  # fmt: skip
        whole = type(moving.limit) is int and moving.limit < 0
        limit = self.number(moving.limit)
        self.put(f"const int64_t {most} = {n if whole else f'{n} < {limit} ? {n} : {limit}'};",
                 f"int64_t {j} = 0;")  # fmt: skip

    def first(self, moving, j, t, n, outermost, lines):
        """Lines that load a state before the first step."""
        with self.block(""):
            self.row_of(moving, j, t, n)
            self.put(*lines)

    def row_of(self, moving, j, t, n):
        """Which row step j treats."""
        self.put(f"const int64_t {t} = {f'{n} - 1 - {j}' if moving.reverse else j};")

    def seek(self, moving, j, t, n):
        """Where the rows lie that a step reads and writes."""
        self.row_of(moving, j, t, n)
        own = [row for row in moving.moves if row in self.used and isinstance(self.rows[row], str)]
        for row in own:
            self.put(f"char *const {self.rows[row]} = {moved(self, moving.moves[row], j, t)};")
        self.put(f"(void){t};")

    def end_step(self, moving, states, k, outermost, ended=None, few=0):
        """ended: C of whether it is the last step, if not that of its flag; few: see Ways."""
        for state in states:
            new = self.variables[state.new]
            if self.is_trace(moving, state):
                self.used.add(state.new)
                self.put(*new.store(self.rows[state.new]))
            if state.old is not None:
                self.put(*self.variables[state.old].take(new))
        if moving.flag is not None:
            told = f"told[{ENDED}] = 1; " if outermost else ""
            flag = ended or f"*(const uint8_t *)({self.place(*moving.flag)})"
            out = f"goto left{k}" if few else "break"
            self.put(f"if ({flag}) {{ {told}e{k} = 1; j{k}++; {out}; }}")

    @staticmethod
    def is_trace(moving, state):
        """Whether each step has a row of its own for its new state."""
        move = moving.moves[state.new]
        return isinstance(move, Move) and move.until is None

    def after(self, moving, states, j, t, n, outermost):
        """Last states go where others read them; what a scan leaves when it has ended."""
        kept = [s for s in states if not self.is_trace(moving, s)]
        begun = f"{j} > lo" if outermost else j
        if kept:
            with self.block(f"if ({begun})"):
                self.last_row(moving, j, t, n)
                for state in kept:
                    move = moving.moves[state.new]
                    place = moved(self, move, "j", t) if isinstance(move, Move) else (
                        self.place(*move))  # fmt: skip
                    self.put(*self.variables[state.new].store(place))
        if outermost:
            self.put(f"told[{DONE}] = {j};")
            return
        for to, row, first, size in moving.finals:
            size = self.number(size)
            with self.block(f"if ({j})"):
                self.last_row(moving, j, t, n)
                self.move(to, self.last(moving, row, t), size)
            with self.block("else"):
                self.move(to, self.place(*first), size)
        low = f"({n} - {j})" if moving.reverse else "0"
        high = n if moving.reverse else j
        for base, size in moving.traces:
            at, size, rows = self.place(*base), self.number(size), self.number(moving.rows)
            end = f"{at} + {high} * {size}"
            self.put(f"__builtin_memset({at}, 0, {low} * {size});",
                     f"__builtin_memset({end}, 0, ({rows} - {high}) * {size});")  # fmt: skip
        if moving.executed is not None:
            self.put(f"*(int64_t *)({self.place(*moving.executed)}) = {j};")

    def last_row(self, moving, j, t, n):
        self.put(f"const int64_t j = {j} - 1, {t} = {f'{n} - 1 - j' if moving.reverse else 'j'};",
                 f"(void)j; (void){t};")  # fmt: skip

    def last(self, moving, row, t):
        """Where a row lies after the last step."""
        move = moving.moves[row]
        if row in self.variables or not isinstance(move, Move):
            return self.place(row)
        return moved(self, move, "j", t)

    def move(self, to, source, size):
        self.put(f"__builtin_memmove({self.place(*to)}, {source}, {size});")


def moved(kernel, move, j, t):
    """C of where a row lies at step j, which is row t."""

    def at(base, index, ring, stride):
        place = kernel.place(*base)
        if ring == 1 or type(stride) is int and not stride:
            return place
        index = index if ring is None else f"({index} & {ring - 1})"
        return f"{place} + {index} * {kernel.number(stride)}"

    if move.until is None:
        return at(move.a, t, None, move.a_stride)
    x, y = ({"j": j, "t": t}[c] for c in move.by)
    y = f"({y} - {kernel.number(move.shift)})"
    if move.a is None:
        return at(move.b, y, move.b_ring, move.b_stride)
    first = at(move.a, x, move.a_ring, move.a_stride)
    if move.b is None:
        return first
    until = kernel.number(move.until)
    return f"({x} < {until} ? {first} : {at(move.b, y, move.b_ring, move.b_stride)})"


def few(count):
    return type(count) is int and 0 < count <= FEW


def text_of(x):
    return x.expression() if type(x) is Size else repr(x)


def pointers(kernel):
    """The operands of a kernel that are pointers, in their order."""
    return [o for o in kernel.operands if o.role != "index"]


def typed(kernel):
    """A kernel that moves bits as one that moves numbers of their own type: others in the same
    function read them so, and compilers take it that types do not mix."""
    if not isinstance(kernel, RawKernel) or kernel.roles[0][1] not in FLOATS:
        return kernel
    kind = dtypes.C_NAMES[kernel.roles[0][1]]
    fields = tuple((hole, kind if hole == "type" else text) for hole, text in kernel.fields)
    return RawKernel(kernel.form, fields, kernel.roles)


def stretch_of(scan):
    """How many steps a kernel takes until the scan looks for signals."""
    return max(1, int(STRETCH_NS / max(1.0, sum(instr.ns for instr in scan.body))))
