"""Recorded calls: what the functions compute here, and a C program that compares.

Copies of the functions are called, on variables of their own, so that the user's do not change. The
exit status of the program is the number of results that are further off than the bound; integers
must be equal.
"""

from dataclasses import dataclass, field

import numpy as np

from ..api.variables import variable
from ..base import given
from ..base.dtypes import is_complex, is_float
from ..base.errors import ArgumentError, CKernelsError
from ..graph.sizes import Size
from .argument import shape_at
from .model import arguments, c_type, elements, takes_state, values, weights_bytes, wrapped
from .routine import spec_of


@dataclass
class Recorded:
    """calls: [(routine, n or None, inputs, outputs)] in order; state: {id of a variable: its last
    value}."""

    calls: list
    state: dict = field(default_factory=dict)


def record(functions, made, examples=None, count=2):
    """Call copies of the functions: `examples` [(name, arrays)], or `count` times each, and for
    the largest n of each plan."""
    swap = {
        node: variable(value.copy(), dtype=value.dtype.name)
        for node, value in zip(made.variables, made.initial)
    }
    routines = {r.name: r for r in made.routines}
    copies = {
        name: spec_of(f).copy({k: v for k, v in swap.items() if k in spec_of(f).cells})
        for name, f in functions.items()
    }
    random = np.random.default_rng(0)
    if examples is None:
        count = max([count, *(len(r.variants) for r in made.routines)])
        examples = [(r.name, None) for _ in range(count) for r in made.routines]
    calls, turns = [], dict.fromkeys(routines, 0)
    for item in given.sequence(examples, "examples"):
        name, arrays = given.pair(item, "an item of examples, (name, arrays),")
        if name not in routines:
            raise ArgumentError(
                f"examples: there is no function {name!r} among {', '.join(routines)}"
            )
        r, drawn = routines[name], arrays is None
        if drawn:
            n = r.variants[turns[name] % len(r.variants)].n
            turns[name] += 1
        else:
            arrays = taken(r, arrays)
            n = size_of(r, arrays)
        shapes = [shape_at(shape, n) for _, shape in r.inputs]
        if drawn:
            arrays = [some(random, dtype, shape) for (dtype, _), shape in zip(r.inputs, shapes)]
        else:
            arrays = [a.reshape(shape) for a, shape in zip(arrays, shapes)]
        try:
            found = copies[name](*arrays)
        except CKernelsError as problem:
            if not drawn:
                raise
            raise ArgumentError(
                f"{name} refuses the random numbers with which export would record its test: give "
                f"examples=[({name!r}, arrays)], arrays that it takes. It says: {problem}"
            ) from problem
        found = [found] if r.spec.single else list(found)
        calls.append((r, n, arrays, [np.array(x) for x in found]))
    return Recorded(
        calls, {id(node): np.array(v.node.attrs["store"].get()) for node, v in swap.items()}
    )


def taken(r, arrays):
    """The inputs of a routine that a user gave, in its dtypes."""
    arrays = given.sequence(arrays, f"the arrays for {r.name} in examples")
    if len(arrays) != len(r.inputs):
        raise ArgumentError(f"examples: {r.name} takes {len(r.inputs)} arrays, got {len(arrays)}")
    found = []
    for i, (a, (dtype, shape)) in enumerate(zip(arrays, r.inputs)):
        try:
            found.append(np.ascontiguousarray(a, dtype).reshape(np.shape(a)))
        except (TypeError, ValueError) as problem:
            raise ArgumentError(f"examples: input {i} of {r.name} is {dtype}: {problem}") from None
        sizes = [d for d in shape if type(d) is not Size]
        if found[-1].ndim != len(shape) or sizes == list(shape) != list(np.shape(a)):
            raise ArgumentError(
                f"examples: input {i} of {r.name} has shape {np.shape(a)}, and {shape} was declared"
            )
    return found


def size_of(r, arrays):
    """The n that these inputs of a routine have; None where its shapes are fixed."""
    if not r.batch:
        return None
    found = {
        size
        for a, (_, shape) in zip(arrays, r.inputs)
        for size, declared in zip(np.shape(a), shape)
        if type(declared) is Size
    }
    if len(found) != 1 or not 1 <= min(found) <= r.batch:
        raise ArgumentError(
            f"examples: the inputs of {r.name} have one size n from 1 to {r.batch}, not "
            f"{' and '.join(map(str, sorted(found)))}"
        )
    return found.pop()


def some(random, dtype, shape):
    """Numbers for an input: floats around 0, small integers."""
    if is_float(dtype) or is_complex(dtype):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


# ---- the C program ------------------------------------------------------------------------------

COMPARE = """\
static int failures;

/* Elements of `got` that are further from `want` than `most`; NaN equals NaN. */
static void compare(const char *name, const char *kind, const void *got, const void *want, size_t n,
                    double most)
{
    size_t far = 0;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double x, y;
        if (kind[0] == 'f') {
            x = (double)((const float *)got)[i];
            y = (double)((const float *)want)[i];
        } else {
            x = ((const double *)got)[i];
            y = ((const double *)want)[i];
        }
        const double off = x > y ? x - y : y - x;
        if (x == y || (x != x && y != y)) continue;
        if (!(off <= most)) far++;
        if (off > worst) worst = off;
    }
    if (far) failures++;
    printf("%-24s %8lu numbers, worst off by %g of %g%s\\n", name, (unsigned long)n, worst, most,
           far ? ": FAILED" : "");
}

static void compare_bytes(const char *name, const void *got, const void *want, size_t n)
{
    const int far = memcmp(got, want, n) != 0;
    failures += far;
    printf("%-24s %8lu bytes%s\\n", name, (unsigned long)n, far ? ": FAILED" : "");
}
"""
WEIGHTS = """\
static double weights[({up}_WEIGHTS_BYTES + 7) / 8 + 1];

static int read_weights(const char *path)
{{
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t bytes = fread(weights, 1, {up}_WEIGHTS_BYTES, file);
    fclose(file);
    return bytes == {up}_WEIGHTS_BYTES;
}}
"""


def test_source(made, recorded, ulps):
    """The text of the program that calls the C functions and compares."""
    p, lines, body = made.prefix, [], []
    for k, (r, n, inputs, outputs) in enumerate(recorded.calls):
        one_call(made, r, n, k, inputs, outputs, ulps, lines, body)
    for node in made.variables:
        name, value = made.members[id(node)], recorded.state[id(node)]
        lines.append(
            f"static const {c_type(value.dtype.name)} last_{name}"
            f"[{max(1, elements(value))}] = {values(value)};\n"
        )
        body.append(check(name, f"state.{name}", f"last_{name}", value, ulps))
    head = [
        f"/* {p}_test.c: made by ckernels: calls recorded in Python, compared. */",
        f'#include "{p}.h"',
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <string.h>",
        "",
        COMPARE,
    ]
    text = "\n".join(body)
    if "compare(" not in text:
        head[-1] = COMPARE.replace(
            COMPARE[COMPARE.index("/* Elem") : COMPARE.index("static void compare_bytes")], ""
        )
    elif "compare_bytes(" not in text:
        head[-1] = COMPARE[: COMPARE.index("static void compare_bytes")]
    begin = []
    if made.extern and weights_bytes(made):
        head.append(WEIGHTS.format(up=p.upper()))
        begin.append(
            f'    if (!read_weights(argc > 1 ? argv[1] : "{p}.bin")) {{\n'
            f'        printf("{p}.bin was not read\\n");\n        return 1;\n    }}'
        )
    if made.members:
        head.append(f"static {p}_state state;\n")
        begin.append(f"    {p}_reset({'weights, ' if made.extern else ''}&state);")
    argument = "int argc, char **argv" if "argc" in "".join(begin) else "void"
    main = [
        f"int main({argument})",
        "{",
        *begin,
        *body,
        '    printf("%s\\n", failures ? "FAILED" : "all as recorded");',
        "    return failures;",
        "}",
        "",
    ]
    return "\n".join(head + lines + main)


def one_call(made, r, n, k, inputs, outputs, ulps, lines, body):
    """The arrays of one call, and the statements that make and check it."""
    names = []
    for i, value in enumerate(inputs):
        names.append(f"in{k}_{i}")
        lines.append(
            f"static const {c_type(value.dtype.name)} {names[-1]}"
            f"[{max(1, elements(value))}] = {values(value)};\n"
        )
    for i, value in enumerate(outputs):
        kind, size = c_type(value.dtype.name), max(1, elements(value))
        names.append(f"got{k}_{i}")
        lines.append(
            f"static const {kind} want{k}_{i}[{size}] = {values(value)};\n"
            f"static {kind} got{k}_{i}[{size}];\n"
        )
    first = (["weights"] if made.extern else []) + (["&state"] if takes_state(made, r) else [])
    first += [str(n)] if r.batch else []
    call = wrapped(f"    if ({made.prefix}_{r.name}(", first + names or [""], ") != 0) failures++;")
    body.append(call)
    outs = [name for _, name in arguments(made, r)][len(inputs) :]
    for i, (value, name) in enumerate(zip(outputs, outs)):
        body.append(check(f"{r.name} {name}", f"got{k}_{i}", f"want{k}_{i}", value, ulps))


def check(title, got, want, value, ulps):
    """The statement that compares an array."""
    name = value.dtype.name
    if name in ("float32", "float64", "complex64", "complex128"):
        kind = "float" if name in ("float32", "complex64") else "double"
        return (
            f'    compare("{title}", "{kind}", {got}, {want}, {elements(value)}, '
            f"{bound(value, ulps)!r});"
        )
    return f'    compare_bytes("{title}", {got}, {want}, {value.nbytes});'


def bound(value, ulps):
    """`ulps` units in the last place of the largest finite magnitude in `value`."""
    finite = np.abs(value[np.isfinite(value)]) if value.size else value
    largest = float(finite.max()) if finite.size else 0.0
    return ulps * float(np.finfo(value.dtype).eps) * max(largest, 1e-30)
