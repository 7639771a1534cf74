"""Kernels printed from a template of their own: gathers, scatters, running sums.

They have what a loop kernel has for the rest of the system: a key, a form, operands for the
statistics, and C text named by its content. The index arithmetic they share is printed here.
Lines of C that lowerings fill in are of algorithms that are no nests: rows of a sparse matrix end
where its data say, those of a triangle need the ones before, passes of a transform change places.
"""

from dataclasses import dataclass

from .ir import Operand


@dataclass(frozen=True)
class RawKernel:
    """`form` names the template; fields: ((hole, text), ...); roles: ((role, dtype), ...)."""

    form: str
    fields: tuple
    roles: tuple

    def key(self):
        """A hashable identity: equal keys mean equal C."""
        return (self.form, self.fields)

    @property
    def operands(self):
        return [Operand(role, dtype, "n") for role, dtype in self.roles]

    def filled(self, template):
        """The text of the function, called $name; lines that holes left empty are dropped."""
        text = template.substitute(dict(self.fields), name="$name")
        return "".join(line + "\n" for line in text.split("\n") if line.strip())

    def check(self):
        """Itself: there is no spec for text that is C already."""
        return self


class Dims:
    """The dims of a launch while its kernel is written: `put` returns the C name of a number."""

    def __init__(self):
        self.values, self.lines = [], []

    def put(self, value, name=None):
        """`d[k]`, or `name` after declaring it; the text depends on the order of calls alone."""
        self.values.append(value)
        at = f"d[{len(self.values) - 1}]"
        if name is None:
            return at
        self.lines.append(f"const int64_t {name} = {at};")
        return name


def times(index, stride, dims, name):
    """C text of index * stride; strides 0, 1 and -1 are part of the kernel, others are in dims."""
    for plain, text in ((0, "0"), (1, index), (-1, f"-{index}")):
        if stride == plain:
            return text
    return f"{index} * {dims.put(stride, name)}"


def unravel(flat, sizes, dims):
    """(lines, index names) that split the number `flat` into indices over `sizes`, last fastest."""
    if len(sizes) < 2:
        return [], [flat] * len(sizes)
    names, lines = [f"r{k}" for k in range(len(sizes))], [f"int64_t rest = {flat};"]
    for k in range(len(sizes) - 1, 0, -1):
        size = dims.put(sizes[k])
        lines.append(f"const int64_t {names[k]} = rest % {size}; rest /= {size};")
    lines.append(f"const int64_t {names[0]} = rest;")
    return lines, names


def moved(indices, strides, dims):
    """C text of the sum of indices * strides."""
    terms = [f"{i} * {dims.put(s)}" for i, s in zip(indices, strides) if s]
    return " + ".join(terms) or "0"


def at(*terms):
    """C text of an index: the sum of the terms that are not 0."""
    return " + ".join(t for t in terms if t != "0") or "0"


def block(lines, depth):
    """Lines of C, indented by `depth` levels."""
    return "\n".join("    " * depth + line for line in lines)
