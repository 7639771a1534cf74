"""What a model takes: flash, memory, multiply-adds; and the README beside it."""

from .model import sides, weights_bytes

README = """\
# {prefix}

{names} as C, made by ckernels (target {target}). `{prefix}.h` says what each function takes.

| | bytes |
|---|---:|
| flash: constants and first values{where} | {flash} |
| flash: tables of sizes, on a machine of 32 bits | {tables} |
| flash: code | see `size {prefix}.o` |
| memory of a call ({up}_ARENA_BYTES) | {arena} |
| state of the caller | {state} |

| function | multiply-adds of matrix products and convolutions | calls of kernels |
|---|---:|---:|
{rows}

{layout}
## Compile and test

    cc -std=c99 -O2 -c {prefix}.c
    cc -std=c99 -O2 {prefix}.c {prefix}_test.c -lm -o {prefix}_test && ./{prefix}_test

The test repeats calls recorded in Python and exits with 0 when every result is within {ulps} units
in the last place of the largest number of its array (float32: {ulps} * 1.2e-7 of it); integers must
be equal. No memory is allocated and no header but stdint.h, stddef.h and math.h is read. The file
has one static array that calls work in: threads and interrupts call the functions ending in `_in`
with memory of their own, and `-D{up}_NO_ARENA` leaves the static one out. `-DCK_VECTORS` lets gcc
and clang use vectors in matrix products (and, with -fopenmp-simd, in sums): faster, with other
rounding.
"""


class Report:
    """Sizes of an exported model in bytes: constants, tables, arena, state; multiplied: {function:
    multiply-adds}."""

    def __init__(self, made, target, ulps):
        self.made, self.target, self.ulps = made, target, ulps
        self.constants = made.constant_bytes + sum(
            v.nbytes for v in made.initial if v.tobytes() != bytes(v.nbytes)
        )
        every = [c for calls in made.calls.values() for c in calls]
        self.tables = sum(4 * len(c.dims) + 8 * len(c.wide) for c in every)
        self.arena, self.state = made.arena, made.state_bytes
        self.multiplied = {name: calls[0].multiplied for name, calls in made.calls.items()}

    def __repr__(self):
        return (
            f"<exported {self.made.prefix}: flash {self.constants + self.tables} bytes and "
            f"code, memory {self.arena} + {self.state} bytes>"
        )

    def text(self):
        """The README."""
        made = self.made
        rows = [
            f"| {r.name}{f', n = {r.batch}' if r.batch else ''} | {self.multiplied[r.name]} "
            f"| {calls(made, r)} |"
            for r in made.routines
        ]
        where = f" (in {made.prefix}.bin, {weights_bytes(made)})" if made.extern else ""
        return README.format(
            prefix=made.prefix,
            up=made.prefix.upper(),
            target=self.target,
            ulps=self.ulps,
            names=", ".join(f"`{r.name}`" for r in made.routines),
            where=where,
            flash=self.constants,
            tables=self.tables,
            arena=self.arena,
            state=self.state,
            rows="\n".join(rows),
            layout=layout(made),
        )


def calls(made, r):
    return sum("k_" in line or "ck_" in line for line in made.calls[r.name][0].lines)


def layout(made):
    """Tables of the state and of the constants."""
    lines = []
    if made.members:
        lines += ["## State", "", "| member | type | shape |", "|---|---|---|"]
        lines += [
            f"| {made.members[id(n)]} | {v.dtype.name} | {sides(v.shape)} |"
            for n, v in zip(made.variables, made.initial)
        ] + [""]
    if made.parts:
        lines += [
            "## Constants",
            "",
            f"| name | type | shape |{' at |' if made.extern else ''}",
            f"|---|---|---|{'---|' if made.extern else ''}",
        ]
        lines += [
            f"| {p.name} | {p.array.dtype.name} | {sides(p.array.shape)} |"
            f"{f' {p.offset} |' if made.extern else ''}"
            for p in made.parts
        ] + [""]
    return "\n".join(lines)
