"""What happens in a step that goes through single elements: terms, and events in their order.

Terms are what numbers are made of, equal ones are one object. What one kernel leaves to another
stays rounded: a product that another adds to passes `ck_apart`. scan_of_elements.py writes them.
"""

from ..base import dtypes
from ..codegen.indexed import OneElement
from ..codegen.ir import Kernel
from ..codegen.print_c import READ, literal
from .instructions import KernelCall, Scan, flatten

HANDS_ON = ("neg", "where", "maximum", "minimum", "at_least", "at_most", "convert", "identity")
ROUNDS = ("add", "sub", "true_div", "sqrt", "floor", "ceil", "trunc", "abs")
NO_SUMS = ("mul", "true_div", "square", "sqrt", "abs", "lt", "le", "gt", "ge", "eq", "ne", "isnan",
           "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", "floor",
           "ceil", "trunc")  # fmt: skip
MOST_AT_ONCE = 4  # elements of a kernel that are numbers, one after the other


class Term:
    """A number: what makes it (`kind`), of which terms, with what else tells it from others."""

    __slots__ = ("args", "carried", "depth", "dtype", "kind", "moves", "of")

    def __init__(self, kind, dtype, args, of, moves):
        self.kind, self.dtype, self.args, self.of = kind, dtype, args, of
        self.depth = 1 + max((a.depth for a in args), default=0)
        self.moves = moves  # whether it differs from step to step
        self.carried = moves and kind == "old" or any(a.carried for a in args)


def is_plain(dtype):
    return dtype in dtypes.C_NAMES and dtype not in dtypes.C_STORED and dtype in dtypes.SUFFIX


def is_one_run(kernel):
    """Whether a kernel is elementwise, over elements in memory one after the other."""
    return (
        isinstance(kernel, Kernel)
        and kernel.form == "flat"
        and not kernel.outer
        and not kernel.runs
    )


def is_number(instr):
    """Whether it is such a kernel of one element, or of few."""
    kernel = instr.kernel
    return (
        is_one_run(kernel)
        and type(instr.n) is int
        and instr.n <= MOST_AT_ONCE
        and (instr.n == 1 or all(type(o.inner) is int for o in kernel.operands))
        and all(
            v.op in ("load", "literal")
            or v.computed
            and is_plain(v.dtype)
            and not v.op.startswith("random_")
            for v in kernel.values
        )
    )


def is_element(instr):
    """Whether it reads or writes one element at indices."""
    return isinstance(instr.kernel, OneElement) and all(is_plain(d) for _, d in instr.kernel.roles)


def is_plain_call(instr):
    """Whether an instruction of a step is written as statements over numbers."""
    return isinstance(instr, KernelCall) and (is_number(instr) or is_element(instr))


class NotPlain(Exception):
    """The steps are no statements over numbers."""


class Terms:
    """Terms and events of a step of one scan. kernel: the ScanKernel that writes it; wary: whether
    products may come from an earlier step."""

    def __init__(self, kernel, scan, wary):
        self.kernel, self.scan, self.wary = kernel, scan, wary
        self.terms, self.products = {}, {}
        self.now = {}  # {(name of a variable, which element): the term it is}
        self.left_at = {}  # {name of a variable that a loop inside wrote: the version then}
        self.put_now = {}  # {where an element lies: what was put there, with the buffers it is in}
        self.events = []  # what happens in a step, in its order
        self.shared = self.all_shared()
        self.written, self.stored = self.all_written()
        self.version = 0  # of memory that the steps write
        self.chained = False  # whether products are added to what earlier steps left
        self.rising = {}  # {old state: what a step adds}
        self.looked, self.read_at = {}, {}  # the first event that looks at an index, that reads
        self.memory = {}  # {C of a pointer: the buffers it may point into}
        self.rows = set()  # C of pointers that move from step to step
        self.read()

    def keeps_products(self):
        """Whether a later step may read a product that nothing has rounded."""
        kept = [event[5] for event in self.events if event[0] == "put"]
        kept += [event[2] for event in self.events if event[0] == "store"]
        return any(map(self.is_product, kept))

    def all_written(self):
        """(the buffers, the names of the variables) that a step writes."""
        buffers, names = set(), set()
        for instr in self.scan.body:
            for buffer in instr.writes if is_plain_call(instr) else self.reached_by(instr)[1]:
                variable = self.kernel.variable(buffer)
                if variable is None:
                    buffers |= self.kernel.roots(buffer)
                else:
                    names.add(variable.name)
        return buffers, names

    def reached_by(self, instr):
        """(buffers that it touches, those that it writes) of an instruction that is no statement,
        such as a loop inside, with what rows inside of it lie in."""
        reads, writes = [], []

        def note(buffer, dtype):
            reads.append(buffer)

        for inner in flatten([instr], instr.depth):
            if not isinstance(inner, Scan):
                reads += inner.reads
                writes += inner.writes
                continue
            moving = inner.moving
            self.kernel.note_scan(moving, note)
            writes += [state.new for state in moving.states]
            writes += [base[0] for base, *_ in (*moving.finals, *moving.traces)]
            writes += [moving.executed[0]] if moving.executed is not None else []
        roots = self.kernel.roots
        writes = set().union(*map(roots, writes))
        return writes.union(*map(roots, reads)), writes

    def all_shared(self):
        """The names of the variables that such instructions touch."""
        found = [self.reached_by(i)[0] for i in self.scan.body if not is_plain_call(i)]
        variables = map(self.kernel.variable, set().union(*found))
        return {variable.name for variable in variables if variable is not None}

    def term(self, kind, dtype, args=(), of=(), moves=None):
        key = kind, dtype, args, of
        found = self.terms.get(key)
        if found is None:
            if moves is None:
                moves = any(a.moves for a in args)
            found = self.terms[key] = Term(kind, dtype, args, of, moves)
        return found

    def op(self, op, dtype, args, attrs=(), last=None):
        return self.term("op", dtype, tuple(args), (op, attrs, last or args[-1].dtype))

    def literal(self, number, dtype="int64"):
        return self.term("number", dtype, (), (literal(dtype, number), number))

    def read(self):
        at = 0  # how many instructions were before, those inside of others included
        for instr in self.scan.body:
            if not is_plain_call(instr):
                self.other(instr, at)
            elif isinstance(instr.kernel, Kernel):
                self.numbers(instr, at)
            else:
                self.element(instr, at)
            at += len(flatten([instr], instr.depth))
        for state in self.scan.moving.states:
            if state.old is not None:
                held = [self.kernel.variable(row) for row in (state.old, state.new)]
                if all(v is not None and v.count == 1 for v in held):
                    self.follow(state, *held)

    def follow(self, state, was, becomes):
        """Note by how much a step raises a state."""
        old = self.terms.get(("old", state.dtype, (), (was.name, 0)))
        new = self.now.get((becomes.name, 0))
        if old is None or new is None or new.kind != "op" or new.of[0] not in ("add", "sub"):
            return
        a, b = new.args
        if new.of[0] == "add" and b is old:
            a, b = b, a
        if a is old and state.dtype == "int64" and b.kind == "number":
            self.rising[was.name] = b.of[1] if new.of[0] == "add" else -b.of[1]

    def other(self, instr, at):
        """An instruction that is no statement: what it writes is read again. In it numbers of turns
        are what they are here."""
        meant = {}
        for which, term in self.now.items():
            number, rest = self.linear(term)
            if term.dtype == "int64" and [*rest.values()] == [1]:
                (turn,) = rest
                if turn.kind in ("turn", "name"):
                    meant[which] = self.turn_name() if turn.kind == "turn" else turn.of[0], number
        self.events.append(("other", instr, at, meant))
        for buffer in self.reached_by(instr)[1]:
            self.forget(buffer)
            variable = self.kernel.variable(buffer)
            if variable is not None:
                name = variable.name
                self.now = {which: term for which, term in self.now.items() if which[0] != name}
                self.left_at[name] = self.version

    def turn_name(self):
        """C of the number of the turn."""
        return f"t{self.kernel.around[-1][0]}"

    def linear(self, term):
        """(number, {term: how often}) whose sum a term is."""
        if term.kind == "number":
            return term.of[1], {}
        if term.kind == "op" and term.of[0] in ("add", "sub", "neg"):
            number, rest = 0, {}
            signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[term.of[0]]
            for sign, part in zip(signs, map(self.linear, term.args)):
                number += sign * part[0]
                for each, times in part[1].items():
                    rest[each] = rest.get(each, 0) + sign * times
            return number, {each: times for each, times in rest.items() if times}
        return 0, {term: 1}

    def which(self, variable, pointer, dtype):
        """(name, number) of the element of a variable that a pointer points to."""
        k, rest = 0, self.kernel.shift_of(pointer)
        if type(rest) is int:
            k, rest = divmod(rest, dtypes.ITEMSIZE[dtype])
        if variable.dtype != dtype or type(rest) is not int or rest or not 0 <= k < variable.count:
            raise NotPlain
        return variable.name, k

    def forget(self, buffer):
        """Note that memory of a buffer is written: what was put there may be no more."""
        self.version += 1
        roots = self.kernel.roots(buffer)
        self.put_now = {at: v for at, v in self.put_now.items() if v[1].isdisjoint(roots)}

    def loaded(self, pointer, dtype):
        """The term of the number at a pointer."""
        kernel, (buffer, offset) = self.kernel, pointer
        if not is_plain(dtype):
            raise NotPlain
        variable = kernel.variable(buffer)
        if variable is not None:
            which = self.which(variable, pointer, dtype)
            found = self.now.get(which)
            if found is not None:
                return found
            if variable.name in self.left_at:
                of = (*which, self.left_at[variable.name])
                term = self.term("left", dtype, (), of, moves=True)
                self.events.append(("load", term))
                return term
            old = any(
                s.old is not None and kernel.variable(s.old) is variable
                for s in self.scan.moving.states
            )
            if not old and variable.name in self.stored:
                raise NotPlain  # what it was a step before
            if not old and which in kernel.meant:
                name, number = kernel.meant[which]
                turn = self.term("name", "int64", (), (name,), moves=False)
                return self.op("add", "int64", (turn, self.literal(number))) if number else turn
            return self.term("old", dtype, (), which, moves=old)
        for k, around in () if offset else kernel.around:
            line = kernel.line_of(buffer, around)
            if line is not None and dtype == line.dtype:
                mine = around is self.scan
                of = () if mine else (f"t{k}",)
                return line.element(
                    self, self.term("turn" if mine else "name", "int64", (), of, moves=mine)
                )
        place = kernel.place(buffer, offset)
        written = not self.written.isdisjoint(kernel.roots(buffer))
        of = (place, self.version) if written else (place,)
        term = self.term("load", dtype, (), of, moves=written or kernel.follows(buffer, self.scan))
        if written:
            self.events.append(("load", term))
        return term

    def numbers(self, instr, at):
        """The values of an elementwise kernel, and where they go."""
        ir, summed = instr.kernel, sums(instr.kernel)
        for element in range(instr.n):
            pointers = instr.pointers if not element else [
                (buffer, offset + element * o.inner * dtypes.ITEMSIZE[o.dtype])
                for (buffer, offset), o in zip(instr.pointers, ir.operands)
            ]  # fmt: skip
            versions, others = {}, True
            while others:
                found = self.values(ir, pointers, at, summed, versions)
                uses, others = self.used_otherwise(ir, found, summed)
                for i in others:
                    versions[i] = versions.get(i, 0) + 1
            self.products.update(uses)
            self.events.append(("numbers", *(found[value] for _, value in ir.stores)))
            for operand, value in ir.stores:
                self.store(pointers[operand], ir.operands[operand].dtype, found[value])

    def values(self, ir, pointers, at, summed, versions):
        """The terms of the values of a kernel. summed: see `sums`; versions: {product: which one},
        of those that are computed again though another kernel has them."""
        found = []
        for i, v in enumerate(ir.values):
            args = [found[a] for a in v.args]
            if v.op == "load":
                term = self.loaded(pointers[v.operand], v.dtype)
                if i in summed:
                    term = self.rounded(term, at)
            elif v.op == "literal":
                term = self.literal(v.number, v.dtype)
            else:
                if i in versions:
                    args[0] = self.term("apart", args[0].dtype, (args[0],), ("of", versions[i]))
                if v.op in ("add", "sub") and any(a.carried for a in args):
                    for n, (a, term) in enumerate(zip(v.args, args)):
                        if ir.values[a].op not in ("mul", "square"):
                            continue
                        if term.carried or not dtypes.is_float(term.dtype):
                            self.chained = True
                        else:  # steps wait for a sum, which is there sooner than both in one
                            args[n] = self.term("apart", term.dtype, (term,), ("of", 0))
                term = self.op(v.op, v.dtype, args, v.attrs, ir.values[v.args[-1]].dtype)
                term = self.sum_of_choice(self.chosen_number(term))
            found.append(term)
        return found

    def chosen_number(self, term):
        """One of two floats, for one of two integers that is converted after it was chosen."""
        if term.kind != "op" or term.of[0] != "cast" or not dtypes.is_float(term.dtype):
            return term
        (choice,) = term.args
        if choice.kind != "op" or choice.of[0] != "where" or choice.dtype not in dtypes.INTEGERS:
            return term
        test, *both = choice.args
        if any(each.kind != "number" for each in both):
            return term
        both = [self.literal(float(each.of[1]), term.dtype) for each in both]
        return self.op("where", term.dtype, (test, *both))

    def sum_of_choice(self, term):
        """s + (x where a condition holds, else -0.0) for (s + x where it holds, else s), which are
        equal to the last bit: a step waits for s, and chooses before it is there."""
        if term.kind != "op" or term.of[0] != "where" or not dtypes.is_float(term.dtype):
            return term
        test, *both = term.args
        for k, (new, old) in enumerate((both, both[::-1])):
            sums = new.kind == "op" and new.of[0] in ("add", "sub") and new.args.count(old) == 1
            if old.kind != "old" or test.carried or not sums:
                continue
            x = new.args[0] if new.args[1] is old else new.args[1]
            if new.of[0] == "sub" and new.args[1] is old:
                continue
            nothing = self.literal(-0.0 if new.of[0] == "add" else 0.0, term.dtype)
            chosen = self.op("where", term.dtype, (test, *((nothing, x) if k else (x, nothing))))
            return self.op(new.of[0], term.dtype, (old, chosen))
        return term

    def used_otherwise(self, ir, found, summed):
        """({new product: its uses}, the products that another kernel has as well, for other uses:
        what adds to them there must not decide how they are rounded here)."""
        new, others = {}, set()
        for i, v in enumerate(ir.values):
            if v.op in ("mul", "square") and dtypes.is_float(v.dtype):
                uses = {found[k] for k, user in enumerate(ir.values) if i in user.args}
                uses |= {None} if any(value == i for _, value in ir.stores) else set()
                known = self.products.get(found[i])
                before, added = known or new.setdefault(found[i], (uses, i in summed))
                if before != uses and (added or i in summed):
                    others.add(i)
        return new, others

    def store(self, pointer, dtype, term):
        """Let a number be at a pointer."""
        kernel, (buffer, offset) = self.kernel, pointer
        variable = kernel.variable(buffer)
        if term.dtype != dtype or not is_plain(dtype):
            raise NotPlain
        if variable is not None:
            name, k = which = self.which(variable, pointer, dtype)
            self.now[which] = term
            if name in self.shared or not kernel.is_local(variable, self.scan):
                self.events.append(("store", f"{name}[{k}]", term))
            return
        self.forget(buffer)
        place = f"*({dtypes.C_NAMES[dtype]} *)({kernel.place(buffer, offset)})"
        self.memory.setdefault(place, set()).update(kernel.roots(buffer))
        self.events.append(("store", place, term))

    def element(self, instr, at):
        """An element that is read or written at indices."""
        roles = instr.kernel.roles
        far, near, *indices = instr.pointers
        indices = tuple(
            self.loaded(pointer, dtype) for pointer, (_, dtype) in zip(indices, roles[2:])
        )
        dims, sizes, steps = iter(instr.dims[instr.kernel.skipped :]), [], []
        for step in instr.kernel.steps:
            sizes.append(self.kernel.number(next(dims)))
            steps.append(step if step is not None else self.kernel.number(next(dims)))
        dtype = roles[0][1]
        place = self.kernel.place(*far)
        self.memory.setdefault(place, set()).update(self.kernel.roots(far[0]))
        if self.kernel.follows(far[0], self.scan):
            self.rows.add(place)
        axes = tuple(zip(sizes, steps))
        if instr.kernel.writes:
            if self.kernel.variable(far[0]) is not None:
                raise NotPlain
            value = self.loaded(near, dtype)
            held = self.version
            self.forget(far[0])
            if not (value.kind == "op" and value.of[0] == "where"):  # of a put under a condition
                self.put_now[place, dtype, axes, indices] = value, self.kernel.roots(far[0])
            self.look(axes, indices)
            self.events.append(("put", place, dtype, axes, indices, value, held, at))
            return
        variable = self.kernel.variable(far[0])
        written = (
            variable.name in self.stored
            if variable is not None
            else not self.written.isdisjoint(self.kernel.roots(far[0]))
        )
        if written and variable is not None:
            raise NotPlain
        put, _ = self.put_now.get((place, dtype, axes, indices), (None, None))
        if put is not None and dtype not in READ:  # memory would take longer
            self.store(near, dtype, self.rounded(put, at))
            return
        version = self.version if written else -1
        got = self.term("get", dtype, indices, (place, axes, version), moves=True)
        self.look(axes, indices)
        self.read_at.setdefault(got, len(self.events))
        self.events.append(("get", got, at))
        self.store(near, dtype, got)

    def rounded(self, term, at):
        """A term as another kernel, the one at `at`, reads it."""
        return self.term("apart", term.dtype, (term,), (at,)) if self.is_product(term) else term

    def is_product(self, term):
        """Whether a number may be a product that nothing has rounded."""
        if not dtypes.is_float(term.dtype) or term.kind in ("number", "apart", "name"):
            return False
        if term.kind != "op":
            return self.wary and term.moves
        op = term.of[0]
        if op in HANDS_ON:
            return any(map(self.is_product, term.args))
        return op not in ROUNDS

    def look(self, axes, indices):
        """Note that indices are looked at by now."""
        for (size, _), term in zip(axes, indices):
            self.looked.setdefault((size, term), len(self.events))


class Line:
    """An evenly spaced array that a kernel fills, as the terms of its elements."""

    def __init__(self, ir, dtype, names):
        self.ir, self.dtype, self.names = ir, dtype, names  # {operand: C name of its number}

    def element(self, steps, turn):
        """The term of the element that a step reads. turn: the term of its number."""
        found = []
        for v in self.ir.values:
            if v.op == "load":
                term = steps.term("name", v.dtype, (), (self.names[v.operand],), moves=False)
            elif v.op == "literal":
                term = steps.literal(v.number, v.dtype)
            elif v.op == "index":
                term = turn
            else:
                args = [found[a] for a in v.args]
                term = args[0] if v.op == "convert" and args[0].dtype == v.dtype else (
                    steps.op(v.op, v.dtype, args, v.attrs))  # fmt: skip
            found.append(term)
        return found[self.ir.stores[0][1]]


def is_line(instr):
    """Whether a kernel fills an array by the number of each element alone."""
    ir = instr.kernel
    return (
        is_one_run(ir)
        and len(ir.stores) == 1
        and ir.operands[ir.stores[0][0]].inner == 1
        and all(o.inner == 0 for o in ir.operands if o.role == "in")
        and all(v.op in ("load", "literal", "index", "add", "sub", "mul", "neg", "convert")
                and v.dtype == "int64" for v in ir.values)
        and any(v.op == "index" for v in ir.values)
    )  # fmt: skip


def sums(ir):
    """The values of a kernel to which something is, or may be, added."""
    found = set()
    for i in range(len(ir.values) - 1, -1, -1):
        v = ir.values[i]
        if v.op in HANDS_ON:
            if i in found:
                found.update(v.args)
        elif v.op not in NO_SUMS:
            found.update(v.args)
    return found
