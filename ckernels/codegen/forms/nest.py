"""What every form walks a kernel with: strides of operands, index variables, levels of values.

The C name of each number of a launch comes from dims.py, which knows their order.
"""

from functools import partial
from itertools import count

from .. import passes
from ..dims import LaunchDims


def steps(j, stride):
    """`j` steps of a stride, both as text."""
    if "0" in (j, stride):
        return "0"
    j = j if stride == "1" or j.isalnum() else f"({j})"
    return {"1": j, "-1": f"-{j}"}.get(stride, f"{j} * {stride}")


class Nest:
    """One kernel and the printer that gets its statements."""

    changes = ()  # what becomes of its loops: see loops.py

    def __init__(self, kernel, printer):
        self.k, self.c = kernel, printer
        self.dims = LaunchDims.read(kernel, (f"d[{i}]" for i in count()))
        self.strides = []
        self.picks = []  # names of the size and the stride of each axis that an index picks from
        for i, (op, (inner, far, run, picks)) in enumerate(zip(kernel.operands, self.dims.steps)):
            if op.inner == "n":  # a name: stores of bytes might change what `d` holds
                printer.let(**{f"step{i}": inner})
                inner = f"step{i}"
            names = [f"{'size' if k % 2 == 0 else 'far'}{i}_{k // 2}" for k in range(len(picks))]
            if names:
                printer.let(**dict(zip(names, picks)))
            self.picks.append(names)
            self.strides.append((str(inner), far if op.outer else (), run if op.run else ()))
        self.fetched = {v.operand: i for i, v in enumerate(kernel.values) if v.op == "fetch"}
        self.places = passes.places(kernel)
        self.turned = {}  # operand: where its element i lies meanwhile
        self.rows_held = {}  # operand: (pointer, index term of a run) of rows that lie side by side
        self.changed = []  # names of the changes that were made

    # ---- loops ----------------------------------------------------------------------------------

    def print_loop(self, loop, done=0):
        """Print a loop by the first change behind `done` that holds for it."""
        for at, change in enumerate(self.changes[done:], done + 1):
            if change.when(self, loop):
                self.changed.append(change.name)
                change.write(self, loop, partial(self.print_loop, done=at))
                return
        self.print_plainly(loop)

    # ---- indices --------------------------------------------------------------------------------

    def outer_sizes(self):
        return self.dims.outer

    def run_sizes(self):
        return self.dims.runs

    def unravel(self, flat, sizes, out):
        """Index variables out0.. of a flat index over `sizes`."""
        names = [f"{out}{i}" for i in range(len(sizes))]
        if len(sizes) == 1:
            self.c.let(**{names[0]: flat})
        elif sizes:
            rest = f"rest_{out.strip('_')}"
            self.c.var(**{rest: flat})
            for name, size in zip(names[:0:-1], sizes[:0:-1]):
                self.c.let_digit(name, rest, size)
            self.c.let(**{names[0]: rest})
        return names

    def rows_of(self, flat):
        """Index variables of an outer row."""
        return self.unravel(flat, self.outer_sizes(), "r")

    def shift(self, names, level, extra=None, tag=""):
        """Pointers moved by `names` (index variables) as a<i> (outer rows) or b<i> (runs)."""
        for i, op in enumerate(self.k.operands):
            inner, far, run = self.strides[i]
            if op.beside:
                other, gap = op.beside
                self.c.move(i, f"{level}{i}{tag}", f"{level}{other}{tag}", [str(gap)])
                continue
            if level == "b" and i in self.rows_held:
                source, term = self.rows_held[i]
                self.c.move(i, f"b{i}{tag}", source, [term.format(names[0])])
                continue
            terms = [f"{v} * {s}" for v, s in zip(names, far if level == "a" else run)]
            if extra and inner != "0":
                terms.append(steps(self.along(i, extra), inner))
            source = f"a{i}" if level == "b" else "0" if op.role == "index" else self.base(i)
            if self.still_at(i) == level:
                terms.append(self.picked(self.fetched[i], self.at_pointers(level, tag), tag))
            self.c.move(i, f"{level}{i}{tag}", source, terms)

    def along(self, i, extra):
        """How many steps of its own operand i takes for `extra` along the vector loop."""
        return extra

    def base(self, i):
        return {"in": "x", "out": "y", "index": "i"}[self.k.operands[i].role] + str(i)

    def place(self, i, pointer, j, tag=""):
        """Where operand i has element j; of a running index, its number there."""
        if i in self.turned:
            return self.turned[i].format(tag=tag)
        inner = "1" if pointer == "b" and i in self.rows_held else self.strides[i][0]
        at = steps(j, inner)
        if self.k.operands[i].role != "index":
            return f"{pointer}{i}{tag}[{at}]"
        if pointer == "x":  # no index variable has moved it yet
            return f"({at})"
        return f"({pointer}{i}{tag} + {at})" if inner != "0" else f"{pointer}{i}{tag}"

    # ---- values ---------------------------------------------------------------------------------

    def define(self, i, pointer, j, names=None, tag=""):
        operand = self.k.values[i].operand
        place = self.place(operand, pointer, j, tag) if operand >= 0 else None
        if self.k.values[i].op == "fetch" and (pointer == "x" or not self.still_at(operand)):
            place = f"{place[:-1]} + {self.picked(i, names or self.c.name, tag)}]"
        self.c.define(i, place, names, tag)

    def still_at(self, i):
        """Where the indices of operand i are known before the vector loop: "a" (of an outer row) or
        "b" (of a run); None where they are not, or nothing is fetched."""
        if i not in self.fetched:
            return None
        values = self.k.values
        read = [self.k.operands[values[a].operand] for a in values[self.fetched[i]].args]
        if any(op.inner != 0 for op in read):
            return None
        return "b" if any(op.run for op in read) and self.k.runs else "a"

    def at_pointers(self, level, tag):
        """How an index is read where the pointers of a level have just been moved."""
        return lambda a: self.place(self.k.values[a].operand, level, "0", tag)

    def picked(self, i, names, tag):
        """How far the indices of value i move its operand."""
        v, terms = self.k.values[i], []
        steps = iter(self.picks[v.operand])
        for k, a in enumerate(v.args):
            name, size = f"k{i}_{k}{tag}", next(steps)
            self.c.held(name, a, names(a), size)
            terms.append(f"{name} * {next(steps)}")
        return " + ".join(terms)

    def store(self, operand, pointer, j, text):
        self.c.store(operand, self.place(operand, pointer, j), text)

    def fixed_values(self, pointer):
        """What does not vary along the vector loop, before it."""
        for i, v in enumerate(self.k.values):
            if not v.vec and not v.fixed:
                self.define(i, pointer, "0")

    def varying_values(self, pointer, j):
        for i, v in enumerate(self.k.values):
            if v.vec and not v.fixed:
                self.define(i, pointer, j)

    def loops_of(self):
        """{level: (reductions, stores)} for the run-level work of each loop."""
        k, work = self.k, {}
        for i, v in enumerate(k.values):
            if v.reduces:
                work.setdefault(v.level, ([], []))[0].append(i)
        for operand, value in k.stores:
            if self.along_run(operand):
                work.setdefault(k.values[value].ready, ([], []))[1].append((operand, value))
        return dict(sorted(work.items()))

    def top(self, loops):
        """The last level at which anything happens."""
        return max([v.ready for v in self.k.values] + list(loops) + [0])

    def along_run(self, operand):
        """Whether an operand moves along the reduced axes (what it holds may be constant)."""
        op = self.k.operands[operand]
        return op.run or (self.k.form in ("rows", "chunks") and op.inner != 0)

    def roots(self, reductions, stores):
        """The values that one loop is for."""
        return [self.k.values[i].args[0] for i in reductions] + [v for _, v in stores]
