"""A model: several routines over one state, as model.h and model.c.

Variables that some routine writes are members of a struct of the caller; all others are constants
of the file, or (weights="extern") parts of a binary file that the caller loads. Names of the
user's become C names here. What the routines compute is written by calls.py.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from ..base.dtypes import C_NAMES, is_complex
from ..graph.shapes import product
from ..graph.sizes import Size
from ..plan.template import SizedConstant
from .argument import c_text
from .calls import WRITERS, Calls, Library, comment

KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while arena state weights code main bool true "
    "false memory arena_bytes".split()
)
ALIGN = 64  # bytes, of parts of a file of weights


def c_name(text, taken, plain="v"):
    """A C name like `text` that is not `taken` yet; it is added to them."""
    name = re.sub(r"\W+", "_", text or plain, flags=re.A).strip("_").lower() or plain
    if name[0].isdigit() or name in KEYWORDS or re.match(r"ck_|k_|r\d|[jtnm]\d|\w+_t$", name):
        name = f"{plain}_{name}"
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    taken.add(found)
    return found


@dataclass
class Part:
    """A constant array: name in C, its values, where it lies in a file of weights."""

    name: str
    array: np.ndarray
    offset: int = 0


@dataclass
class Model:
    """prefix: of all public names; routines; members: {id of a variable: name in the state};
    initial: values of the members; parts: constants."""

    prefix: str
    routines: list
    extern: bool = False
    members: dict = field(default_factory=dict)
    variables: list = field(default_factory=list)  # nodes of the members, in order
    initial: list = field(default_factory=list)
    parts: list = field(default_factory=list)
    of: dict = field(default_factory=dict)  # {id of a variable: Part}
    calls: dict = field(default_factory=dict)  # {name of a routine: [Calls of each plan]}
    known: dict = field(default_factory=dict)  # {dtype, shape and bytes of a constant: Part}
    library: Library = field(default_factory=Library)
    writers: dict = field(default_factory=lambda: WRITERS)
    taken: set = field(default_factory=set)

    @property
    def arena(self):
        """Bytes of the memory that routines work in."""
        return max([r.arena for r in self.routines] + [8])

    @property
    def state_bytes(self):
        return sum(v.nbytes for v in self.initial)

    @property
    def constant_bytes(self):
        return sum(p.array.nbytes for p in self.parts)


def model(prefix, routines, extern=False, hosted=False):
    """The Model of these routines, its bodies written; hosted: for gcc and clang."""
    made = Model(prefix, routines, extern)
    if hosted:
        from . import hosted as ways  # start-up

        made.library, made.writers = ways.Hosted(), ways.WRITERS
    written = {id(r.cells[k]) for r in routines for k in r.written}
    for r in routines:
        for node in r.cells:
            if id(node) in written and id(node) not in made.members:
                made.members[id(node)] = c_name(node.name, made.taken, "variable")
                made.variables.append(node)
                made.initial.append(np.array(node.attrs["store"].get()))
    for again in (False,) if hosted else (False, True):
        if again:  # now it is known for which sizes functions are called
            made.library = Library(made.library.seen)
        for r in routines:
            made.calls[r.name] = [body(made, r, plan, k) for k, plan in enumerate(r.variants)]
    if extern:
        place(made)
    return made


def place(made):
    """Offsets of all constants, and of the first values of the state, in the file of weights."""
    at = 0
    for part in made.parts:
        part.offset = at
        at += -(-part.array.nbytes // ALIGN) * ALIGN


def part_of(made, name, array):
    name = c_name(f"const_{name}", made.taken)  # "exp" alone is a function of math.h
    made.parts.append(Part(name, np.ascontiguousarray(array)))
    return made.parts[-1]


def arguments(made, r):
    """[(C declaration, name)] of the inputs and outputs of a routine."""
    taken, found = {p.name for p in made.parts} | ({"n"} if r.batch else set()), []
    for k, (node, (dtype, _)) in enumerate(zip(r.spec.inputs, r.inputs)):
        name = c_name(node.name, taken, f"in{k}")
        found.append((f"const {c_type(dtype)} *{name}", name))
    for k, (dtype, _) in enumerate(r.outputs):
        name = c_name("out" if len(r.outputs) == 1 else f"out{k}", taken)
        found.append((f"{c_type(dtype)} *{name}", name))
    return found


def body(made, r, plan, number):
    """The Calls of one plan of a routine, written."""
    names, own = {}, []
    for k, node in enumerate(r.cells):
        if id(node) in made.members:
            names["cell", k] = f"state->{made.members[id(node)]}"
        elif used(plan, ("cell", k)):
            if id(node) not in made.of:
                made.of[id(node)] = part_of(
                    made, node.name or "weights", np.array(node.attrs["store"].get())
                )
            names["cell", k] = constant(made, made.of[id(node)])
    for k, value in enumerate(plan.constants):
        if isinstance(value, SizedConstant):
            names["const", k] = f"sized_{k}"
            numbers = [f"({C_NAMES[value.dtype]})({c_text(x)})" for x in value.values]
            own.append(f"const {C_NAMES[value.dtype]} sized_{k}[] = {{ {', '.join(numbers)} }};")
        elif used(plan, ("const", k)):
            names["const", k] = constant(made, shared_part(made, f"{r.name}_{k}", value))
    for k, (_, name) in enumerate(arguments(made, r)):
        count = len(r.inputs)
        names["in" if k < count else "out", k if k < count else k - count] = name
    calls = Calls(variant_name(r, number), names, plan.offsets, made.library, made.writers)
    for line in own:
        calls.put(line)
    calls.write(plan.instructions)
    return calls


def variant_name(r, number):
    """The C name of one plan of a routine; names of its tables begin with it."""
    return f"{r.name}_way_{number}" if r.batch else r.name


class _Anywhere(dict):
    """Names of buffers for C that is thrown away."""

    def __missing__(self, buffer):
        return "x"


def rehearsal(hosted):
    """write(plan), which writes the C of a plan only to note what the C assumes of n."""
    if hosted:
        from . import hosted as ways  # start-up

        library, writers = ways.Hosted, ways.WRITERS
    else:
        library, writers = Library, WRITERS

    def write(plan):
        for value in plan.constants:
            if isinstance(value, SizedConstant):
                list(map(c_text, value.values))
        Calls("x", _Anywhere(), plan.offsets, library(), writers).write(plan.instructions)

    return write


def shared_part(made, name, value):
    """The Part of a constant; one for all that are equal."""
    value = np.ascontiguousarray(value)
    key = value.dtype.name, value.shape, value.tobytes()
    if key not in made.known:
        made.known[key] = part_of(made, name, value)
    return made.known[key]


def constant(made, part):
    return f"CK_WEIGHT({part.name})" if made.extern else part.name


def used(plan, buffer):
    """Whether any instruction of the plan points into the buffer."""

    def points(instr):
        bases = [b for b, _ in instr.places()] + instr.reads + instr.writes
        return buffer in bases or any(map(points, instr.body))

    return any(map(points, plan.instructions))


def c_type(dtype):
    if is_complex(dtype):
        return "float" if dtype == "complex64" else "double"
    return C_NAMES[dtype]


def elements(array):
    """How many C numbers an array has: a complex number is two."""
    return product(array.shape) * (2 if is_complex(array.dtype.name) else 1)


# ---- values -------------------------------------------------------------------------------------


def values(array):
    """The numbers of an array as a C initialiser, 8 to a line."""
    name = array.dtype.name
    if is_complex(name):
        array = np.ascontiguousarray(array).view("float32" if name == "complex64" else "float64")
    elif name in ("float16", "bfloat16"):
        array = np.ascontiguousarray(array).view("uint16")
    flat = np.ravel(array)
    text = (
        [number(x, array.dtype.name) for x in flat.tolist()]
        if array.dtype.name != "float32"
        else [single(x) for x in flat]
    )
    lines = [", ".join(text[k : k + 8]) for k in range(0, len(text), 8)] or ["0"]
    return "{\n    " + ",\n    ".join(lines) + "\n}"


def single(x):
    if not np.isfinite(x):
        return number(float(x), "float32")
    text = str(x)
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def number(x, dtype):
    """One number as a C constant with exactly this value."""
    if dtype.startswith("float"):
        if x != x:
            return "NAN"
        if x in (float("inf"), float("-inf")):
            return "INFINITY" if x > 0 else "-INFINITY"
        return repr(x)
    x = int(x)
    if x == -(2**63):
        return "(-INT64_C(9223372036854775807) - 1)"
    if x == -(2**31):
        return "(-2147483647 - 1)"
    if abs(x) >= 2**31:
        return f"{'UINT64_C' if x >= 2**63 else 'INT64_C'}({x})"
    return str(x)


# ---- the files ----------------------------------------------------------------------------------

HEADER = """\
/* {prefix}.h: made by ckernels from {what}; do not edit.

   Each function returns 0, 1 where an index is out of bounds, or 4 where lengths do not fit{n};
   after an error the state is as it was. Arrays are contiguous, the last axis fastest. */
#ifndef {guard}_H
#define {guard}_H

#include <stdint.h>

#ifndef {guard}_API
#define {guard}_API /* what stands before functions: for shared libraries */
#endif
#ifdef __cplusplus
extern "C" {{
#endif

{body}
#ifdef __cplusplus
}}
#endif
#endif
"""


def header(made):
    """The text of the header."""
    p, up, lines = made.prefix, made.prefix.upper(), []
    lines.append(f"#define {up}_ARENA_BYTES {made.arena} /* what a call works in */")
    if made.extern:
        lines.append(f"#define {up}_WEIGHTS_BYTES {weights_bytes(made)} /* of {p}.bin */")
    lines.append("")
    if made.members:
        lines += [f"/* What updates write: start with {p}_reset. */", "typedef struct {"]
        for node, value in zip(made.variables, made.initial):
            lines.append(
                f"    {c_type(value.dtype.name)} {made.members[id(node)]}"
                f"[{max(1, elements(value))}]; /* {sides(value.shape)} */"
            )
        lines += [f"}} {p}_state;", ""]
        lines.append(f"{up}_API void {p}_reset({weight_argument(made)}{p}_state *state);\n")
    for r in made.routines:
        lines += described(made, r)
    return HEADER.format(
        n=" (n\n   among them)" if any(r.batch for r in made.routines) else "",
        prefix=p,
        guard=up,
        what=", ".join(r.name for r in made.routines),
        body="\n".join(lines),
    )


def sides(shape):
    sizes = [x.expression() if type(x) is Size else str(x) for x in shape]
    return " x ".join(f"({x})" if " " in x else x for x in sizes) or "one number"


def weight_argument(made):
    return "const void *weights, " if made.extern else ""


def described(made, r):
    """The prototypes of a routine, with the shapes of what it takes and gives."""
    lines = [f"n: from 1 to {r.batch}"] if r.batch else []
    names = [name for _, name in arguments(made, r)]
    for name, (dtype, shape) in zip(names, r.inputs):
        lines.append(f"{name}: {dtype} {sides(shape)}")
    for k, (dtype, _) in enumerate(r.outputs):
        *others, (_, shape) = r.sizes_of(k)
        more = "".join(f", or {sides(s)} where {spoken(fits)}" for fits, s in others)
        lines.append(f"{names[len(r.inputs) + k]}: {dtype} {sides(shape)}{more}")
    text = [
        "/* "
        + ";\n   ".join(lines or ["no arguments"])
        + f".\n   {made.prefix}_{r.name}_in works in `arena`, "
        f"{made.prefix.upper()}_ARENA_BYTES aligned as a double. */"
    ]
    api = f"{made.prefix.upper()}_API "
    return text + [api + signature(made, r, given) + ";" for given in (False, True)] + [""]


def signature(made, r, given):
    """The head of a routine; given: the arena is an argument."""
    declared = (["void *arena"] if given else []) + (["const void *weights"] if made.extern else [])
    if takes_state(made, r):
        const = "" if r.written else "const "
        declared.append(f"{const}{made.prefix}_state *state")
    declared += ["int32_t n"] if r.batch else []
    declared += [text for text, _ in arguments(made, r)]
    name = f"{made.prefix}_{r.name}{'_in' if given else ''}"
    return wrapped(f"int {name}(", declared or ["void"], ")")


def variant_signature(made, r, number):
    """The head of the function of one plan."""
    head = signature(made, r, True).replace("int32_t n", f"{made.library.index} n")
    return "static " + head.replace(f"{made.prefix}_{r.name}_in(", f"{variant_name(r, number)}(", 1)


def wrapped(head, items, tail):
    """`head`, items and `tail` in lines of at most 100 characters."""
    line, lines = head, []
    for k, item in enumerate(items):
        piece = item + (tail if k == len(items) - 1 else ", ")
        if len(line) + len(piece) > 100:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += piece
    return "\n".join([*lines, line])


def takes_state(made, r):
    return any(id(node) in made.members for node in r.cells)


def weights_bytes(made):
    total = sum(-(-p.array.nbytes // ALIGN) * ALIGN for p in made.parts)
    return total + sum(-(-v.nbytes // ALIGN) * ALIGN for v in made.initial)


def weights(made):
    """The bytes of the file of weights: constants, then the first values of the state."""
    arrays = [p.array for p in made.parts] + made.initial
    return b"".join(
        a.tobytes() + bytes(-a.nbytes % ALIGN) for a in map(np.ascontiguousarray, arrays)
    )


def source(made):
    """The text of the C file."""
    p = made.prefix
    lines = [
        f"/* {p}.c: made by ckernels; do not edit. See the README beside it. */",
        f'#include "{p}.h"',
    ]
    start = reset(made)
    lines += [made.library.text(), *constants(made), *start]
    up = p.upper()
    lines += [
        f"#ifndef {up}_NO_ARENA /* define it where every call is given its memory */",
        f"static union {{ double align; unsigned char bytes[{up}_ARENA_BYTES]; }} memory;",
        "#endif",
        "",
    ]
    for r in made.routines:
        lines += written(made, r)
    return "\n".join(lines)


def constants(made):
    """Declarations of the weights and constants."""
    if made.extern:
        return (
            [
                f"#define CK_WEIGHT(name) ((const char *)weights + ck_at_{p.name})".replace(
                    f"ck_at_{p.name}", "ck_at_##name"
                )
                for p in made.parts[:1]
            ]
            + [f"enum {{ ck_at_{p.name} = {p.offset} }};" for p in made.parts]
            + [""]
        )
    lines = []
    for part in made.parts:
        lines.append(f"/* {comment(sides(part.array.shape))} */")
        lines.append(
            f"static const {c_type(part.array.dtype.name)} {part.name}"
            f"[{max(1, elements(part.array))}] = {values(part.array)};\n"
        )
    return lines


def reset(made):
    """The function that gives the state its first values."""
    if not made.members:
        return []
    p, lines, at = made.prefix, [], sum(-(-q.array.nbytes // ALIGN) * ALIGN for q in made.parts)
    filled = []
    for node, value in zip(made.variables, made.initial):
        name = made.members[id(node)]
        if made.extern:
            filled.append(
                "    "
                + made.library.copy(f"state->{name}", f"(const char *)weights + {at}", value.nbytes)
            )
            at += -(-value.nbytes // ALIGN) * ALIGN
        elif value.tobytes() == bytes(value.nbytes):
            filled.append("    " + made.library.clear(f"state->{name}", value.nbytes))
        else:
            lines.append(
                f"static const {c_type(value.dtype.name)} first_{name}"
                f"[{elements(value)}] = {values(value)};\n"
            )
            filled.append(
                "    " + made.library.copy(f"state->{name}", f"first_{name}", value.nbytes)
            )
    return [
        *lines,
        f"void {p}_reset({weight_argument(made)}{p}_state *state)",
        "{",
        *filled,
        "}",
        "",
    ]


def table(kind, name, numbers_):
    """The declaration of a table of sizes and strides, 16 to a line."""
    if not numbers_:
        return []
    text = [number(n, "int64") for n in numbers_]
    rows = [", ".join(text[k : k + 16]) for k in range(0, len(text), 16)]
    return [f"static const {kind} {name}[] = {{", "    " + ",\n    ".join(rows), "};", ""]


def written(made, r):
    """Both functions of a routine, and before them those of its variants where it has several."""
    p, lines = made.prefix, []
    for number, calls in enumerate(made.calls[r.name]):
        lines += table("ck_index", f"{calls.name}_dims", calls.dims)
        lines += table("int64_t", f"{calls.name}_wide", calls.wide)
        head = variant_signature(made, r, number) if r.batch else signature(made, r, True)
        lines += [head, "{", *statements(made, r, calls), "    return 0;", "}", ""]
    passed = [
        *(["weights"] if made.extern else []),
        *(["state"] if takes_state(made, r) else []),
        *(["n"] if r.batch else []),
        *(name for _, name in arguments(made, r)),
    ]
    if r.batch:
        lines += [signature(made, r, True), "{"]
        for number, plan in enumerate(r.variants):
            call = wrapped(f"        return {variant_name(r, number)}(", ["arena", *passed], ");")
            lines += [f"    if ({condition(plan.fits)})", call]
        lines += ["    return CK_EVALUE;", "}", ""]
    call = wrapped(f"{p}_{r.name}_in(", ["memory.bytes", *passed], ");")
    lines += [
        f"#ifndef {p.upper()}_NO_ARENA",
        signature(made, r, False),
        "{",
        "    return " + call.replace("\n", "\n       "),
        "}",
        "#endif",
        "",
    ]
    return lines


def condition(fits):
    """Whether n is in one of these spans, as C."""
    parts = [f"n == {a}" if a == b else f"n >= {a} && n <= {b}" for a, b in fits]
    if len(parts) == 1:
        return parts[0]
    return "\n        || ".join(f"({part})" if "&&" in part else part for part in parts)


def spoken(fits):
    """The same for people, and for Python."""
    return " or ".join(f"n == {a}" if a == b else f"{a} <= n <= {b}" for a, b in fits)


def statements(made, r, calls):
    """The lines of the body of a plan."""
    lines, text = [], "\n".join(calls.lines)
    own = "    unsigned char *const arena_bytes = arena;" if "arena + " in text else None
    text = re.sub(r"\barena \+ ", "arena_bytes + ", text)
    if own:
        lines.append(own)
    if "(code = " in text:
        lines.append("    int code;")
    names = [
        "arena",
        *(["weights"] if made.extern else []),
        *(["state"] if takes_state(made, r) else []),
        *(["n"] if r.batch else []),
        *(n for _, n in arguments(made, r)),
    ]
    whole = re.sub(r"/\*.*?\*/", "", text) + (own or "")
    unused = [
        f"(void){n};"
        for n in names
        if not re.search(rf"\b{n}\b", whole) and not (n == "weights" and "CK_WEIGHT" in whole)
    ]
    if unused:
        lines.append("    " + " ".join(unused))
    return [*lines, text]
