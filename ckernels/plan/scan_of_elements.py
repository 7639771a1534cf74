"""Steps that go through single elements, as statements over numbers.

Where the steps of a scan inside of a kernel (`scan_in_kernel.py`) compute numbers, read elements at
indices and write such, they are written as plain statements, twice: for steps of which every index
that moves evenly is known to lie within its axis, without looking at it, and for all others. Which
steps those are is found out before the first one, from both ends. So the compiler sees a loop over
memory, of which it makes vectors where it may; a row of Floyd and Warshall's shortest paths takes
0.3 ns an element, 4.2 before.

What happens in a step is in scan_terms.py.
"""

import functools
from typing import NamedTuple

from ..base import dtypes
from ..codegen.mathlib import ALONE
from ..codegen.print_c import READ, WRITTEN, ctype, expression, scalar
from .scan_terms import NotPlain, Terms, is_plain_call

FAR = 1 << 62  # an index beyond is no index, and may be added to
MOST_TERMS = 1000  # of which choices are looked into
DEEPEST = 100  # terms that are made of each other
MOST_LOOKED_INTO = 10_000  # terms, each as often as other truth values are known of it
LONGEST = 1 << 21  # elements from the index of a step to that of the next
MOST_PARTS = 16  # of which the least is sought in another order than they are written
FEW_STEPS = 8  # of loops that data end; most of them have no more
MOST_BACK = 4  # steps for which a number that was put is kept for those that read it again


class Exit(NamedTuple):
    """Where a step is the last one, unless a test holds; in the place of a statement."""

    test: str


class Other(NamedTuple):
    """An instruction that is no statement, in the place of one. at: how many were before it;
    meant: {(variable, element): (C of a number of a turn, what is added to it)} in it."""

    instr: object
    at: int
    meant: dict


class Lines:
    """Statements, with the names of the terms they define. Such under one condition are gathered
    and come together, before the next that they may depend on."""

    def __init__(self):
        self.lines, self.names = [], {}
        self.test, self.gathered = None, ([], [])  # a condition; where it holds, where it does not

    def where(self, test, name, lines):
        """Lines that are for where a condition holds, or not: (its term, which); name: its C."""
        if self.test not in (None, (test[0], name)):
            self.settle()
        self.test = test[0], name
        self.gathered[not test[1]].extend("    " + line for line in lines)

    def settle(self):
        """Put what was gathered."""
        if self.test is not None:
            (_, name), (held, others) = self.test, self.gathered
            first, second = (held, others) if held else (others, held)
            self.lines += [f"if ({name if held else '!' + name}) {{", *first, "}"]
            self.lines += ["else {", *second, "}"] if second else []
            self.test, self.gathered = None, ([], [])


class ScanOfElements(Terms):
    """The steps of one scan. k: the number of the scan."""

    def __init__(self, kernel, scan, k, tag, wary, split=True):
        super().__init__(kernel, scan, wary)
        self.k, self.tag = k, tag
        self.split = split  # whether there are quick steps beside careful ones
        self.moment = 0  # the event that is written
        self.late, self.hot, self.bounds = [], [], set()
        self.few, self.sought = 0, []  # steps before it is found out which are quick, and how

    @classmethod
    def of(cls, kernel, scan, k, tag):
        """The ScanOfElements of a scan, or None."""
        plain = [is_plain_call(instr) for instr in scan.body]
        if not any(plain):
            return None
        try:
            wary = kernel.is_short(scan) or not all(plain)
            steps = cls(kernel, scan, k, tag, wary, split=all(plain))
            if not steps.wary and steps.keeps_products():
                steps = cls(kernel, scan, k, tag, True)
        except NotPlain:
            return None
        steps.write()
        if steps.bounds and not steps.kept and scan.moving.flag is not None:
            plain = cls(kernel, scan, k, tag, steps.wary, split=False)
            plain.write()
            if not kernel.around[:-1]:
                return plain
            steps.begin_with(plain)
        elif steps.bounds:
            steps.before += steps.sought
        return steps

    def begin_with(self, plain):
        """Let the first steps be those of `plain`, of the same scan: a loop that data end has few
        as a rule, so where its quick steps are is found out after these."""
        self.few, self.careful = FEW_STEPS, plain.careful
        self.sought, self.before = [*self.before, *self.sought], plain.before

    # ---- indices --------------------------------------------------------------------------------

    def even(self, term):
        """(what a step adds, C of what it is at step 0) where a term moves evenly, else None."""
        if term.dtype != "int64":
            return None
        if not term.moves:
            return 0, self.held(term)
        if term.kind == "turn":
            return (-1, f"(n{self.k} - 1)") if self.scan.moving.reverse else (1, "0")
        if term.kind == "old":
            by = self.rising.get(term.of[0])
            return None if by is None else (by, f"b{self.k}_{term.of[0]}")
        if term.kind != "op":
            return None
        op = term.of[0]
        if op == "neg":
            found = self.even(term.args[0])
            return found and (_c("-", 0, found[0]), _c("-", "0", found[1]))
        if op in ("add", "sub"):
            a, b = map(self.even, term.args)
            sign = "+" if op == "add" else "-"
            return a and b and (_c(sign, a[0], b[0]), _c(sign, a[1], b[1]))
        if op == "mul":
            x, y = term.args if term.args[0].moves else term.args[::-1]
            found = None if y.moves else self.even(x)
            by = y.of[1] if y.kind == "number" else self.held(y) if found else None
            return found and (_c("*", found[0], by), _c("*", found[1], str(by)))
        return None

    def held(self, term):
        """C of a number that stays what it is, computed before the steps."""
        return self.define(self.before, term)

    def index(self, size, term):
        """How a quick step finds an index: ("even", by, base); ("looked",), where it has been
        looked at before; ("choice", its condition, two such); None where it has to be looked at."""
        found = self.even(term) if self.split else None
        if found is not None and (type(found[0]) is str or abs(found[0]) < LONGEST):
            return ("even", *found)
        if term.kind == "op" and term.of[0] == "where":
            both = [self.index(size, a) for a in term.args[1:]]
            if None not in both and all(b[0] != "choice" for b in both):
                return ("choice", term.args[0], *both)
        return ("looked",) if self.looked.get((size, term), self.moment) < self.moment else None

    def is_safe(self, axes, indices):
        """Whether quick steps need not look at these indices."""
        return all(self.index(size, i) is not None for (size, _), i in zip(axes, indices))

    def is_direct(self, axes, indices):
        """Whether none of them depends on a condition."""
        found = [self.index(size, i) for (size, _), i in zip(axes, indices)]
        return all(each is not None and each[0] != "choice" for each in found)

    def narrow(self, size, by, base):
        """Lines that leave the steps at which base + by * step is within 0 .. size - 1."""
        k, key = self.k, (size, by, base)
        if key in self.bounds:
            return
        self.bounds.add(key)
        f, g, x = f"f{k}", f"g{k}", f"z{k}"
        lines = [f"const int64_t {x} = {base};"]
        if by in (1, -1):
            low, high = (f"-{x}", f"{size} - {x}") if by == 1 else (f"{x} - {size} + 1", f"{x} + 1")
            lines += [
                f"const int64_t low = {low}, high = {high};",
                f"{f} = low > {f} ? low : {f}; {g} = high < {g} ? high : {g};",
            ]
            lines = [lines[0], f"if ({x} < -{FAR}l || {x} > {FAR}l) {g} = 0;",
                     "else {", *["    " + line for line in lines[1:]], "}"]  # fmt: skip
        elif by == 0:
            lines.append(f"if ((uint64_t){x} >= (uint64_t){size}) {g} = 0;")
        else:
            last = f"{x} + {by} * (m{k} - 1)"
            long = f"m{k} > {FAR // LONGEST}l"
            if type(by) is str:
                long += f" || {by} > {LONGEST} || {by} < -{LONGEST}"
            lines.append(
                f"if ((uint64_t){x} >= (uint64_t){size} || {long} || "
                f"(uint64_t)({last}) >= (uint64_t){size}) {g} = 0;"
            )
        self.hot += ["{", *["    " + line for line in lines], "}"]

    # ---- statements -----------------------------------------------------------------------------

    def write(self):
        """Make the lines `before` the steps, those of a `careful` step, and those of a `quick` one,
        or None where there is nothing that it leaves out."""
        self.before, self.careful, self.quick = Lines(), Lines(), Lines()
        self.statements(self.careful, False)
        self.roots = self.needed()
        self.start, self.kept, self.keeps, self.cuts = [], {}, {}, []
        for event in self.events:
            if self.split and event[0] == "put" and self.puts[event] is not None:
                self.keep(event)
        self.steady = self.read_once() if self.split else {}
        self.exits, self.left_by = self.early_exits(), set()
        self.statements(self.quick, True)
        self.apart = self.is_apart()
        k, starts = self.k, []
        for name, by in self.rising.items():
            start = f"(int64_t)((uint64_t){name}[0] - (uint64_t)({by}) * (uint64_t)j{k})"
            starts.append(f"const int64_t b{k}_{name} = {start};")
        starts += [f"(void)b{k}_{name};" for name in self.rising]
        self.before = [*starts, *self.before.lines]
        self.careful = (self.careful if self.split else self.quick).lines
        self.quick = self.quick.lines if self.bounds else None
        self.sought = [*self.late, f"int64_t f{k} = 0, g{k} = m{k};", *self.hot]

    def define(self, lines, term):
        """C of a term, whose statements are put to these lines where they are not there."""
        if term.kind in ("number", "name"):
            return term.of[0]
        if term.kind == "turn":
            return f"t{self.k}"
        home = lines if term.moves else self.before
        if term in home.names:
            return home.names[term]
        if term.kind == "op":
            whole, term = term, self.waiting(term) if lines is self.quick else term
            if whole is not term:
                name = home.names[whole] = self.define(lines, term)
                return name
            op, attrs, last = term.of
            bits = self.bits(term)
            if bits is not None:
                return self.name(home, term, bits.format(self.define(lines, term.args[0])))
            names = [self.define(lines, a) for a in term.args]
            text, alone = scalar(op, attrs, last, term.dtype), ALONE.get(op)
            if alone and text == f"ck_{op}_f64({{0}})" and self.is_awaited(term, {}):
                text = f"ck_{alone}_alone_f64({{0}})"
            text = expression(text, names)
        elif term.kind == "apart":
            text = apart(term.dtype, self.define(lines, term.args[0]))
        else:
            if term.kind == "load":
                place = f"*(const {dtypes.C_NAMES[term.dtype]} *)({term.of[0]})"
            else:
                place = "{}[{}]".format(*term.of)
            text = READ.get(term.dtype, "{0}").format(place)
            # Where gcc adds up products in their order by vectors, it rounds some of them, not all.
            if dtypes.is_float(term.dtype) and (
                not term.moves or self.chained and term.kind == "old"
            ):
                text = apart(term.dtype, text)
        return self.name(home, term, text)

    def waiting(self, term):
        """A term that is the least or largest of integers as one that compares those last which
        wait for an earlier step: in any order they are the same."""
        sense = extreme(term)
        if sense is None:
            return term
        parts, stack = [], [term]
        while stack:
            part = stack.pop()
            if extreme(part) == sense:
                stack += part.args[:0:-1]
            elif part not in parts:
                parts.append(part)
        late = {part: self.waits(part, {}) for part in parts}
        if not 3 <= len(parts) <= MOST_PARTS or len({*late.values()}) < 2:
            return term
        found = sorted(parts, key=late.get)
        return functools.reduce(functools.partial(self.one_of, sense, term.dtype), found)

    def one_of(self, sense, dtype, a, b):
        test = self.op("lt", "bool", (a, b) if sense == "least" else (b, a))
        return self.op("where", dtype, (test, a, b))

    def waits(self, term, memo):
        """Whether a term is made of what an earlier step left in variables."""
        if term not in memo:
            memo[term] = term in self.kept or term.carried or (
                any(self.waits(a, memo) for a in term.args))  # fmt: skip
        return memo[term]

    def is_awaited(self, term, memo):
        """Whether a step waits for an earlier one to compute a term, so that no vectors do: it is
        made of a state that does not rise evenly, or of an element of what steps write."""
        if term not in memo:
            memo[term] = (
                term.of[0] not in self.rising
                if term.kind == "old" and term.moves
                else term.kind == "get" and term.of[2] != -1
                or any(self.is_awaited(a, memo) for a in term.args)
            )  # fmt: skip
        return memo[term]

    def name(self, home, term, text):
        """Put a statement that defines a term."""
        name = home.names[term] = f"{'v' if term.moves else 'h'}{self.k}_{len(home.names)}"
        home.lines.append(f"const {ctype(term.dtype)} {name} = {text};")
        return name

    @staticmethod
    def bits(term):
        """C of a quotient or remainder by a power of two, which takes bits alone, or None."""
        if term.of[0] not in ("floor_div", "mod") or term.dtype not in ("int64", "int32"):
            return None
        by = term.args[1].of[1] if term.args[1].kind == "number" else 0
        if by <= 0 or by & (by - 1):
            return None
        return f"{{}} >> {by.bit_length() - 1}" if term.of[0] == "floor_div" else f"{{}} & {by - 1}"

    def statements(self, lines, quick):
        """Put what happens in a step to lines."""
        for moment, event in enumerate(self.events):
            self.moment = moment
            if event[0] == "load" or event[0] == "store":
                lines.settle()
            if event[0] == "numbers" or event[0] == "load":
                for term in event[1:]:
                    if not quick or term in self.roots:
                        self.define(lines, term)
            elif event[0] == "other":
                lines.settle()
                lines.lines.append(Other(*event[1:]))
            elif event[0] == "store":
                _, place, term = event
                term = self.puts[event] if quick else term
                text = WRITTEN.get(term.dtype, "{0}").format(self.define(lines, term))
                lines.lines.append(f"{place} = {text};")
            elif event[0] == "get":
                _, term, at = event
                if quick and moment in self.exits:
                    self.leave(lines, self.exits[moment])
                for each in (term, *self.derived.get(term, ())) if quick else (term,):
                    if each not in lines.names and (not quick or each in self.roots):
                        self.get(lines, each, at, quick)
            else:
                self.put(lines, event, quick)
        lines.settle()

    def get(self, lines, term, at, quick):
        place, axes, _ = term.of
        indices = tuple(map(self.where_left, term.args)) if quick else term.args
        offset = self.place(lines, axes, indices, at, quick)
        text = self.kept.get(term) if quick else None
        lines.settle()
        if text is None:
            text = element(term.dtype, place, offset)
        if quick and term in self.steady:
            name = f"i{self.k}_{len(self.cuts)}"
            self.start.append(f"const {ctype(term.dtype)} {name} = {text};")
            self.cuts.append(f"{offset} - ({self.steady[term]})")
            text = name
        name = lines.names[term] = f"v{self.k}_{len(lines.names)}"
        lines.lines.append(f"const {ctype(term.dtype)} {name} = {text};")

    def early_exits(self):
        """{event: conditions}: what is read to find out whether a step is the last is not read
        where a condition that is known before says that it is: `while i >= 0 and s[i] == c`."""
        flag, found = self.scan.moving.flag, {}
        variable = None if flag is None else self.kernel.variable(flag[0])
        last = variable and self.now.get((variable.name, 0))
        if not last or last.kind != "op" or last.of[0] != "logical_not":
            return found
        parts, late = conjunction(last.args[0]), set()
        for moment in range(len(self.events) - 1, -1, -1):
            event = self.events[moment]
            if event[0] in ("put", "other") or (
                event[0] == "store" and event[1] != f"{variable.name}[0]"
            ):
                break
            if event[0] not in ("get", "load"):
                continue
            late.add(event[1])
            known = {part for part in parts if late.isdisjoint(self.reached([part]))}
            if event[0] == "load" or not any(known.issuperset(g) for g in guards(event[1])):
                break
            found[moment] = sorted(known, key=parts.index)
        return found

    def leave(self, lines, conditions):
        """End a step, the last one, where one of these conditions does not hold."""
        tests = [self.define(lines, c) for c in conditions if c not in self.left_by]
        self.left_by.update(conditions)
        if tests:
            lines.settle()
            lines.lines.append(Exit(" & ".join(tests)))

    def where_left(self, term):
        """An index as it is where no step has been left."""
        if term.kind == "op" and term.of[0] == "where" and (
            self.left_by.issuperset(conjunction(term.args[0]))):  # fmt: skip
            return term.args[1]
        return term

    def put(self, lines, event, quick):
        _, place, dtype, axes, indices, value, held, at = event
        found = self.puts[event] if quick else ((), indices, value)
        if found is None:
            return
        test, indices, value = found
        if test and not self.is_direct(axes, indices):
            self.put_where(lines, test, place, dtype, axes, indices, value, at)
            return
        text = WRITTEN.get(dtype, "{0}").format(self.define(lines, value))
        offset = self.place(lines, axes, indices, at, quick)
        to = f"(({dtypes.C_NAMES[dtype]} *)({place}))[{offset}]"
        if test:
            name = self.define(lines, test[0])
            was = self.terms.get(("get", dtype, indices, (place, axes, held)))
            if was not in lines.names:
                lines.where(test, name, [f"{to} = {text};"])
                return
            # gcc makes masked stores of the other, which take longer
            text = f"{'' if test[1] else '!'}{name} ? {text} : {lines.names[was]}"
        lines.settle()
        lines.lines.append(f"{to} = {text};")
        names = self.keeps.get(event, ()) if quick else ()
        lines.lines += [f"{a} = {b};" for a, b in zip(names[:0:-1], names[-2::-1])]
        if names:
            text = apart(dtype, text) if self.is_product(value) else text
            lines.lines.append(f"{names[0]} = {text};")

    def put_where(self, lines, test, place, dtype, axes, indices, value, at):
        """A put under a condition, of which an index is looked at only where it holds."""
        name = self.define(lines, test[0])
        inside = Lines()
        inside.names = dict(lines.names)
        offset = self.place(inside, axes, indices, at, True)
        here = self.term("here", dtype, (), (place,), moves=True)
        if here in self.reached([value]):
            self.name(inside, here, element(dtype, place, offset))
        text = WRITTEN.get(dtype, "{0}").format(self.define(inside, value))
        inside.lines.append(f"(({dtypes.C_NAMES[dtype]} *)({place}))[{offset}] = {text};")
        lines.where(test, name, ["{", *["    " + line for line in inside.lines], "}"])

    def keep(self, event):
        """Where a put is all that is written of an array, or of a part of it that no step leaves,
        let what a step puts be a variable for those of the next steps that read it again: memory
        would take longer."""
        _, place, dtype, axes, _, _, held, at = event
        test, indices, _ = self.puts[event]
        if test or place in self.rows or dtype in READ:
            return
        for e in self.events:
            wrote = (
                self.memory[e[1]]
                if e[0] == "put" or e[0] == "store" and e[1] in self.memory
                else ()
            )
            if e is not event and not self.memory[place].isdisjoint(wrote) and not (
                self.is_elsewhere(event, e)
            ):  # fmt: skip
                return
        back = {}
        for e in self.events:
            if e[0] == "get" and e[1].of[:2] == (place, axes) and e[1].of[2] <= held:
                for term in (e[1], *self.derived.get(e[1], ())):
                    steps = self.steps_back(term.args, indices)
                    if steps and term in self.roots:
                        back[term] = steps
        if not back:
            return
        names = [f"a{self.k}_{len(self.kept)}_{d}" for d in range(max(back.values()))]
        whole = [self.even(i) for i in indices]
        for d, name in enumerate(names, 1):
            offset = " + ".join(
                f"({base} + (j{self.k} - {d}) * ({by})) * {step}"
                for (by, base), (_, step) in zip(whole, axes)
            )
            text = element(dtype, place, offset)
            self.start.append(f"{ctype(dtype)} {name} = {text};")
        self.kept.update((term, names[steps - 1]) for term, steps in back.items())
        self.keeps[event] = names

    def is_elsewhere(self, event, other):
        """Whether another event puts into the same array where this put of any step does not."""
        if other[0] != "put" or event[1] != other[1] or event[3] != other[3]:
            return False
        if self.puts[other] is None:
            return True
        for a, b in zip(self.puts[event][1], self.puts[other][1]):
            (first, rest), (last, others) = self.linear(a), self.linear(b)
            if not a.moves and not b.moves and rest == others and first != last:
                return self.split and all(
                    self.index(size, i) is not None and self.even(i) is not None
                    for e in (event, other)
                    for (size, _), i in zip(e[3], self.puts[e][1])
                )
        return False

    def read_once(self):
        """{element that each quick step reads: C of where the first one puts}: of what one put
        alone writes, one element a step, the next at the next step. Before such a step as puts
        where it lies, and after it, the element is what it is: then steps are loops of vectors."""
        puts = [e for e in self.events if e[0] == "put" and self.puts[e] is not None]
        if len(puts) != 1 or any(e[0] == "store" and e[1] in self.memory for e in self.events):
            return {}
        _, place, dtype, axes, _, _, held, _ = puts[0]
        _, indices, _ = self.puts[puts[0]]
        moves = [self.even(i) for i in indices]
        if place in self.rows or None in moves or not self.is_direct(axes, indices):
            return {}
        steps = [_times(str(by), step) for (by, _), (_, step) in zip(moves, axes) if by != 0]
        if steps != ["1"]:
            return {}
        base = functools.reduce(functools.partial(_c, "+"), [
            _c("*", base, str(step)) for (_, base), (_, step) in zip(moves, axes)])  # fmt: skip
        return {
            term: base
            for term in self.roots
            if term.kind == "get"
            and term.dtype == dtype
            and term.of[:2] == (place, axes)
            and 0 <= term.of[2] <= held
            and term not in self.kept
            and all((self.index(size, i) or "")[:2] == ("even", 0)
                    for (size, _), i in zip(axes, term.args))
        }  # fmt: skip

    def steps_back(self, read, put):
        """How many steps ago an element was put that is read now, or 0 where that is not known."""
        found = set()
        for a, b in zip(read, put):
            moves = self.even(a), self.even(b)
            if None in moves or moves[0][0] != moves[1][0] or type(moves[0][0]) is not int:
                return 0
            by, (first, rest), (last, other) = moves[0][0], self.linear(a), self.linear(b)
            if rest != other or (last - first if by == 0 else (last - first) % by):
                return 0
            found |= {(last - first) // by} if by else set()
        (steps,) = found if len(found) == 1 else (0,)
        return steps if 0 < steps <= MOST_BACK else 0

    def place(self, lines, axes, indices, at, quick):
        """C of which element it is; indices that have to be are looked at."""
        names, base, by = [], [], []
        for (size, step), term in zip(axes, indices):
            found = self.index(size, term) if quick else None
            if found is not None and found[0] == "even":
                self.narrow(size, *found[1:])
                base.append(_c("*", found[2], str(step)))
                if found[1] != 0:
                    by.append(_times(str(found[1]), step))
            elif found is not None and found[0] == "choice":
                both = [self.arm(lines, size, a, at) for a in term.args[1:]]
                test = self.define(lines, term.args[0])
                names.append(_times(f"({test} ? {both[0]} : {both[1]})", step))
            else:
                names.append(_times(self.checked(lines, size, term, at), step))
        base = [b for b in base if b != "0"]
        if base:
            names.append(self.offset(functools.reduce(functools.partial(_c, "+"), base)))
        by = [b for b in by if b != "0"]
        if by:
            names.append(f"j{self.k}" if by == ["1"] else f"j{self.k} * ({' + '.join(by)})")
        return " + ".join(names) or "0"

    def offset(self, text):
        """The name of a number of elements that no step changes."""
        key = "offset", text
        if key not in self.before.names:
            name = self.before.names[key] = f"o{self.k}_{len(self.before.names)}"
            self.late.append(f"const int64_t {name} = {text};")
        return self.before.names[key]

    def arm(self, lines, size, term, at):
        """C of one of two indices of which a condition chooses."""
        found = self.index(size, term)
        if found[0] == "looked":
            return self.checked(lines, size, term, at)
        self.narrow(size, *found[1:])
        return f"({self.define(lines, term)})"

    def checked(self, lines, size, term, at):
        """The name of an index that is looked at, wrapped where it is negative."""
        key = size, term
        if key in lines.names:
            return lines.names[key]
        name = lines.names[key] = f"k{self.k}_{len(lines.names)}"
        lines.settle()
        lines.lines.append(f"int64_t {name} = (int64_t){self.define(lines, term)};")
        wrong = f"(uint64_t){name} >= (uint64_t){size}"
        fails = self.kernel.fails(self.tag + at)
        wrap = [] if term.dtype.startswith("u") else [f"{name} += {name} < 0 ? {size} : 0;"]
        lines.lines += [
            f"if ({wrong}) {{",
            *["    " + line for line in wrap],
            f"    if ({wrong}) {{",
            *["        " + line for line in [*fails, "return CK_EINDEX;"]],
            "    }",
            "}",
        ]
        return name

    # ---- quick steps ----------------------------------------------------------------------------

    def needed(self):
        """The terms that quick steps define; finds what they store (`puts`), and the `derived`
        elements that are read instead of others."""
        self.derived, self.puts, self.made, self.memos, roots = {}, {}, set(), {}, {}
        self.truths_of, self.looked_into = {}, 0
        self.left, unsafe = set(), []
        for moment, event in enumerate(self.events):
            self.moment = moment
            if event[0] == "store":
                self.puts[event] = self.plainer(event[2])
                roots[event] = [self.puts[event]]
            elif event[0] == "put":
                test, indices, value = self.puts[event] = self.conditional(*event[1:7])
                roots[event] = [value, *test[:1], *self.named(event[3], indices)]
            elif event[0] == "get" and not self.is_safe(event[1].of[1], event[1].args):
                unsafe.append(event)
        self.moment = len(self.events)
        used = set().union(*map(self.reached, roots.values()))
        for event in reversed(unsafe):  # what a put would only put back is not read
            if event[1] not in self.left or event[1] in used:
                roots[event] = [event[1]]
                used |= self.reached(roots[event])
        seen = {event: self.reached(found) for event, found in roots.items()}
        self.join(seen)
        return set().union(*seen.values())

    def reached(self, terms):
        """These terms and all that they are made of."""
        seen, stack = set(), list(terms)
        while stack:
            term = stack.pop()
            if term not in seen:
                seen.add(term)
                stack += self.named(term.of[1], term.args) if term.kind == "get" else term.args
        return seen

    def join(self, seen):
        """Let two puts of one element, where a condition holds and where it does not, be one."""
        before = None
        for event in self.events:
            if event[0] in ("store", "other"):
                before = None
            elif event[0] == "put":
                test, indices, value = self.puts[event]
                if before is not None and test and before[1:4] == event[1:4]:
                    other, elsewhere, first = self.puts[before]
                    rest = set().union(*(found for e, found in seen.items() if e is not event))
                    read = any(t.kind in ("get", "load") and t.of[-1] == event[6] for t in rest)
                    if other == (test[0], not test[1]) and elsewhere == indices and not read:
                        both = (first, value) if other[1] else (value, first)
                        value = self.op("where", value.dtype, (test[0], *both))
                        seen[event] |= seen.pop(before) | {value}
                        self.puts[before], self.puts[event] = None, ((), indices, value)
                        test = ()
                before = event if test else None

    def is_apart(self):
        """Whether no quick step reads or writes what another one writes: each puts an element of
        its own into an array of which no step reads others. (What every step reads and none writes
        shares no memory with what one writes.)"""
        puts = [e for e in self.events if e[0] == "put" and self.puts[e] is not None]
        stores = any(e[0] == "store" and e[1].startswith("*") for e in self.events)
        if len(puts) != 1 or stores:
            return False
        ((_, place, _, axes, *_),) = puts
        indices = self.puts[puts[0]][1]
        moves = [self.even(i) for i in indices]
        if None in moves or any(type(by) is str for by, _ in moves):  # by nothing, perhaps
            return False
        if sum(by != 0 for by, _ in moves) != 1:
            return False
        return all(
            t.of[:2] == (place, axes) and t.args == indices or t.of[2] == -1
            if t.kind == "get"
            else t.kind != "load" or len(t.of) == 1
            for t in self.roots
        )

    def spreads(self):
        """Whether gcc may take several quick steps at once: none waits for an earlier one, but in
        sums of integers."""
        if not self.bounds or not self.apart:
            return False
        for state in self.scan.moving.states:
            new = self.kernel.variable(state.new)
            term = new and self.now.get((new.name, 0))
            if state.old is None or term is not None and not term.carried:
                continue
            summed = term is not None and term.kind == "op" and term.of[0] in ("add", "sub")
            if not summed or dtypes.is_float(state.dtype) or not any(
                a.kind == "old" for a in term.args):  # fmt: skip
                return False
        return True

    def named(self, axes, indices):
        """Those of some indices that are no sums of the number of the step."""
        found = [self.index(size, i) for (size, _), i in zip(axes, indices)]
        return [i for i, f in zip(indices, found) if f is None or f[0] != "even"]

    def conditional(self, place, dtype, axes, indices, value, held):
        """((condition, whether it has to hold), indices, value) of a put, without a condition ()
        instead: else an element is put where it lies."""
        if value.kind == "op" and value.of[0] == "where":
            for sense in (True, False):
                taken, left = value.args[1:] if sense else value.args[:0:-1]
                if left.kind != "get" or left.of != (place, axes, held):
                    continue
                known, other = (learnt(frozenset(), value.args[0], s) for s in (sense, not sense))
                inside = tuple([self.plainer(i, known) for i in indices])
                outside = tuple([self.plainer(i, other) for i in indices])
                if left.args in (indices, outside):  # else what is put is another's element
                    self.left.add(left)
                    test = self.plainer(value.args[0]), sense
                    value = self.plainer(taken, known)
                    if not self.is_direct(axes, inside):
                        at = [self.terms.get(("get", dtype, i, left.of)) for i in (indices, inside)]
                        value = self.here(value, {a for a in at if a is not None}, place)
                    return test, inside, value
        return (), indices, self.plainer(value)

    def here(self, term, at, place):
        """A term that reads the element it is put to, at one of the terms `at`, where it is put."""
        if term in at:
            self.left.add(term)
            return self.term("here", term.dtype, (), (place,), moves=True)
        args = tuple(self.here(a, at, place) for a in term.args) if term.kind == "op" else term.args
        if args == term.args or term.of[0] in ("mul", "square") and dtypes.is_float(term.dtype):
            return term
        return self.term(term.kind, term.dtype, args, term.of)

    def plainer(self, term, known=frozenset()):
        """A term where some truth values are `known`, a set of (term, whether it holds), that
        chooses what it reads, not where it reads it."""
        if len(self.terms) > MOST_TERMS or term.depth > DEEPEST:
            return term
        if known:  # of others it is the same, be they known or not
            truths = self.truths(term)
            known = frozenset([each for each in known if each[0] in truths])
        memo = self.memos.setdefault(known, {})
        if term not in memo:
            self.looked_into += 1
            left = self.looked_into > MOST_LOOKED_INTO or not (term.moves or known)
            memo[term] = term if left else self.plain(term, known)
        return memo[term]

    def truths(self, term):
        """The truth values that a term is made of, itself included."""
        if term not in self.truths_of:
            found = frozenset().union(*map(self.truths, term.args))
            self.truths_of[term] = found | {term} if term.dtype == "bool" else found
        return self.truths_of[term]

    def plain(self, term, known):
        """A term that `plainer` has not seen yet."""
        for sense in (True, False):
            if (term, sense) in known:
                return self.literal(sense, "bool")
        op, args = term.of[0] if term.kind == "op" else None, term.args
        if op in ("logical_and", "logical_or") and all(a.dtype == "bool" for a in args):
            return self.both(term, known, op == "logical_and")
        if op == "where":
            test = self.plainer(args[0], known)
            if test.kind == "number":
                return self.plainer(args[1 if test.of[1] else 2], known)
            more = [learnt(known, args[0], sense) for sense in (True, False)]
            return self.rebuilt(term, (test, *map(self.plainer, args[1:], more)))
        return self.rebuilt(term, tuple([self.plainer(a, known) for a in args]))

    def both(self, term, known, sense):
        """A conjunction, or with `sense` False a disjunction: what is asked second is asked only
        where the first, that which reads less, does not decide."""
        args = sorted(term.args, key=lambda a: sum(t.kind == "get" for t in self.reached([a])))
        first = self.plainer(args[0], known)
        if first.kind == "number":
            return self.plainer(args[1], known) if bool(first.of[1]) == sense else first
        second = self.plainer(args[1], learnt(known, args[0], sense))
        if second.kind == "number":
            return first if bool(second.of[1]) == sense else second
        found = {args[0]: first, args[1]: second}
        return self.rebuilt(term, tuple([found[a] for a in term.args]))

    def rebuilt(self, term, args):
        """A term with other ones it is made of, or as it was."""
        if all(a is b for a, b in zip(args, term.args)):
            return term
        if term.kind == "get":
            if not self.is_chosen(term, args):
                return term
            found = self.term("get", term.dtype, args, term.of, moves=True)
            kept = self.derived.setdefault(term, [])
            if found not in kept:
                kept.append(found)
            return found
        known = (term.kind, term.dtype, args, term.of) in self.terms
        found = self.term(term.kind, term.dtype, args, term.of)
        if known and found not in self.made and term.of[0] in ("mul", "square"):
            return term  # a product of another kernel, which may be rounded otherwise
        if not known:
            self.made.add(found)
        return found

    def is_chosen(self, term, indices):
        """Whether an element may be read at these indices, where that is read at others now."""
        moment, self.moment = self.moment, self.read_at[term]
        axes = term.of[1]
        found = self.is_direct(axes, indices) and self.is_safe(axes, term.args)
        self.moment = moment
        return found


def conjunction(term):
    """The conditions that all hold where one does, from the left."""
    if term.kind == "op" and term.of[0] == "logical_and":
        return [part for each in term.args for part in conjunction(each)]
    return [term]


def learnt(known, term, sense):
    """What is known where a truth value is so as well."""
    whole = "logical_and" if sense else "logical_or"
    if term.kind == "op" and term.of[0] == whole and all(a.dtype == "bool" for a in term.args):
        for part in term.args:
            known = learnt(known, part, sense)
    elif term.kind == "op" and term.of[0] == "logical_not" and term.args[0].dtype == "bool":
        known = learnt(known, term.args[0], not sense)
    return known | {(term, sense)}


def guards(get):
    """The conditions under which the indices of an element are what they are, of each index."""
    return [
        conjunction(index.args[0])
        for index in get.args
        if index.kind == "op" and index.of[0] == "where"
    ]


def element(dtype, place, offset):
    """C of an element as it is read."""
    text = f"((const {dtypes.C_NAMES[dtype]} *)({place}))[{offset}]"
    return READ.get(dtype, "{0}").format(text)


def extreme(term):
    """ "least" or "largest" where a term is that of two integers, else None."""
    if term.kind != "op" or term.of[0] != "where" or term.dtype not in dtypes.INTEGERS:
        return None
    test, *both = term.args
    if test.kind != "op" or test.of[0] not in ("lt", "le", "gt", "ge"):
        return None
    if set(test.args) != set(both):
        return None
    return "least" if (test.of[0][0] == "l") == (test.args[0] is both[0]) else "largest"


def apart(dtype, text):
    return f"ck_apart_{'f32' if dtype == 'float32' else 'f64'}({text})"


def _c(op, a, b):
    """A sum, difference or product of int64, which wraps: of numbers a number, else C."""
    if type(a) is int and type(b) is int:
        return a + b if op == "+" else a - b if op == "-" else a * b
    a, b = str(a), str(b)
    if "0" in (a, b) and op == "*":
        return "0"
    if b == "0" or op == "*" and b == "1":
        return a
    if a == "0" and op == "+" or a == "1" and op == "*":
        return b
    return f"(int64_t)((uint64_t)({a}) {op} (uint64_t)({b}))"


def _times(index, step):
    """C of an index by the step of its axis."""
    if step == 0 or index == "0":
        return "0"
    if step == 1 or step == "1":
        return index
    if index == "1":
        return str(step)
    return f"({index}) * {step}"
