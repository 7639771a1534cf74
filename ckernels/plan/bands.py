"""A kernel of rows and the column sums that follow it become one kernel, where that is right.

The sums read what the rows read or made. As one kernel (codegen/bands.py) they find it in cache.
"""

from dataclasses import replace

from ..codegen.bands import Bands
from ..codegen.ir import Kernel
from ..graph.sizes import Size
from ..schedule.follow import (
    FEW_CHUNKS,
    NO_KERNEL,
    NO_ROW_LOOP,
    NOTHING_SHARED,
    OTHER_ROWS,
    OVERWRITTEN,
)
from .instructions import KernelCall

LEAST_CHUNKS = 32  # as many threads then have work, as they would have in the rows alone


def joined(rows, sums):
    """The Instruction that does both."""
    return replace(
        sums,
        name=f"{rows.name} then {sums.name}",
        pointers=rows.pointers + sums.pointers,
        dims=rows.dims + sums.dims,
        grain=1,
        ns=rows.ns + sums.ns,
        reads=rows.reads + [r for r in sums.reads if r not in rows.writes],
        writes=rows.writes + sums.writes,
        kernel=Bands(rows.kernel, sums.kernel, len(rows.dims)),
        nodes=rows.nodes + sums.nodes,
    )


def why_apart(rows, sums, refused=frozenset()):
    """The Reason why they cannot be one, or None; refused: keys of kernels that cannot be had.

    A band of the sums may need no other rows than those of the band: of what the rows read any, of
    what they write only row r for row r.
    """
    if not (of_form(rows, "rows", outer=1, runs=0) and of_form(sums, "column_chunks", 0, 1)):
        return NO_ROW_LOOP
    if sums.n < LEAST_CHUNKS:
        return FEW_CHUNKS
    read, written = {*rows.reads, *rows.writes}, {*sums.writes}
    if not equal(rows.n, sums.launch().runs[0]):
        return OTHER_ROWS
    if read & written:
        return OVERWRITTEN
    if not read & {*sums.reads}:
        return NOTHING_SHARED
    made = [w for w in walks(rows) if w.role == "out"]
    as_long = equal(rows.launch().n, sums.launch().n)
    for r in walks(sums):
        if r.role == "in" and r.pointer[0] in rows.writes:
            if not any(same_row(w, r, as_long) for w in made):
                return OTHER_ROWS
    return NO_KERNEL if joined(rows, sums).kernel.key() in refused else None


def of_form(instr, form, outer, runs):
    """Whether an instruction is a kernel of the IR of this form and so many dims."""
    k = instr.kernel
    return (
        isinstance(instr, KernelCall)
        and type(k) is Kernel
        and (k.form, k.outer, k.runs) == (form, outer, runs)
    )


class Walk:
    """How an operand of an instruction moves: its pointer, its stride class along the columns, and
    its stride from row to row (None: it does not move)."""

    def __init__(self, role, pointer, inner, step):
        self.role, self.pointer, self.inner, self.step = role, pointer, inner, step


def walks(instr):
    """The Walk of each pointer. Rows are the outer dim of a kernel of rows, the run of sums."""
    k = instr.kernel
    pointers, found = iter(instr.pointers), []
    for op, steps in zip(k.operands, instr.launch().steps):
        moves, far = (op.outer, steps.outer) if k.outer else (op.run, steps.run)
        if op.role != "index":
            found.append(Walk(op.role, next(pointers), op.inner, far[0] if moves else None))
    return found


def same_row(made, read, as_long):
    """Whether row r of `read` lies in row r of `made`; as_long: both have rows of one length."""
    return (
        made.pointer[0] == read.pointer[0]
        and equal(made.pointer[1], read.pointer[1])
        and made.step is not None
        and read.step is not None
        and equal(made.step, read.step)
        and (made.inner, read.inner) in ((0, 0), (1, 1) if as_long else (0, 0))
    )


def equal(a, b):
    """Whether two sizes are equal whatever the shapes; nothing is assumed."""
    d = a - b
    d = d.of.reduced(d) if type(d) is Size else d
    return type(d) is not Size and d == 0
