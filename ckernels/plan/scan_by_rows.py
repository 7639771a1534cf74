"""Batch-parallel scans: each thread runs all time steps of its own rows of the batch.

A step of a small recurrent network is too short to be shared: threads would meet after every
product. Where each instruction makes row r of its results from row r of what the scan carries, and
from memory the scan only reads, no thread needs to wait for another until the last step. What is
compared is memory: every buffer written in the body is cut into as many pieces as there are rows,
and row r of an instruction may only touch piece r.
"""

from ..base import dtypes
from ..base.machine import L2, THREAD_NS
from ..codegen.ir import Kernel
from ..graph.sizes import ceil_divide, greatest, value_of
from ..schedule import follow
from ..schedule.reasons import why_not
from .instructions import BatchParts, Gemm, KernelCall

ROWS = 8  # least rows of a product in a part: below, it runs at half its speed
TILE = 12  # rows of a tile of products with AVX-512: 9 rows take as long
ELEMENTS = 1024  # least elements of a kernel in a part, where nothing is multiplied
PARTS = 16  # most parts, so that a few threads get about as much each
PART_PS = THREAD_NS * 1000  # least work of a part: a fork and join costs a tenth
SHARED = L2 // 2  # bytes of right-hand matrices that fit in a core's L2 beside the rest
STRETCH_NS = 2e7  # how long parts run before the scan looks for Ctrl-C


class RowsOfBatch(follow.Portion):
    """A Portion, once memory is known: `instructions` are those of a step.

    written: {buffer: bytes} of all that they write or carry; None where they write others.
    """

    def __init__(self, planner, instructions):
        super().__init__(planner.node)
        self.planner, self.instructions = planner, instructions
        self.products = [instr for instr in instructions if isinstance(instr, Gemm)]
        self.written = sizes_of(planner, instructions)
        self.work = sum(instr.work for instr in instructions)

    def widths(self):
        """How many rows there may be."""
        if self.products:
            return {instr.record.m for instr in self.products}
        shapes = [self.planner.inits[i].shape[1:] for i in self.planner.alive]
        least = min((instr.n for instr in self.instructions), key=value_of)
        return list(dict.fromkeys([least, *(s[0] for s in shapes if s)]))


def computes(join):
    """A step has something to do."""
    return None if join.instructions else follow.EMPTY


def is_of_loops(join):
    """A step is made of loop nests and products."""
    found = (i for i in join.instructions if not isinstance(i, (KernelCall, Gemm)))
    return next(map(follow.alien, found), None)


def keeps_to_its_own(join):
    """A step writes nothing that another one reads but what is carried."""
    if join.written is not None:
        return None
    return follow.astray(next(i for i in join.instructions if sizes_of(join.planner, [i]) is None))


def stays_in_cache(join):
    """Each thread reads the matrices again and again."""
    return follow.LARGE if sum(map(right_bytes, join.products)) > SHARED else None


PART = (*follow.PART, computes, is_of_loops, keeps_to_its_own, stays_in_cache)


def batch_parts(planner, instructions):
    """(the BatchParts of a scan with this body, None), or (None, the Reason why there are none)."""
    join = RowsOfBatch(planner, instructions)
    reason = why_not(join, PART)
    for rows in join.widths() if reason is None else ():
        unit = ROWS if join.products else unit_of(rows, instructions)
        part = part_of(rows, unit, planner.most, join.work)
        if part is None:
            reason = follow.few_rows(rows, unit) if rows < 2 * unit else follow.LITTLE
            continue
        meets = next((i for i in instructions if not row_by_row(i, rows, join.written)), None)
        if meets is None:
            stretch = max(1, int(STRETCH_NS / max(1.0, sum(s.ns for s in instructions))))
            return BatchParts(rows, part, stretch), None
        reason = follow.meets(meets)
    return None, reason


def unit_of(rows, instructions):
    """Least rows of a part where nothing is multiplied."""
    longest = max((instr.n for instr in instructions), key=value_of)
    return greatest(1, ceil_divide(ELEMENTS * rows, longest))


def part_of(rows, unit, most, work):
    """Rows of a part: an even number of about equal parts, so that two threads end together; None
    where there is too little to do. work: picoseconds of one of `most` steps, as a size.

    Whether there are parts decides by which way products are summed, so it is asked of any sizes.
    How many there are only decides who runs them (ck_gemm_rows), and is taken from those at hand.
    """
    if rows < 2 * unit:
        return None
    if isinstance(most, int):  # as a quotient: a scan of unknown length has 2**40 steps at most
        little = work < ceil_divide(2 * PART_PS, most)
    else:
        little = most * work < 2 * PART_PS
    if little:
        return None
    whole = value_of(rows)
    parts = min(PARTS, value_of(most * work) // PART_PS, whole // value_of(unit))
    part = ceil_divide(rows, parts - parts % 2)
    if value_of(unit) > 16:
        return ceil_divide(part, 16) * 16
    return TILE if value_of(unit) < value_of(part) < TILE and whole >= 5 * TILE else part


def right_bytes(instr):
    return dtypes.ITEMSIZE[instr.node.dtype] * instr.record.n * instr.record.k


def sizes_of(planner, instructions):
    """{buffer: bytes} of all that instructions write or carry; None where they write others."""
    sizes = {}
    for i in planner.alive:
        init = planner.inits[i]
        count = dtypes.ITEMSIZE[init.dtype]
        for n in init.shape[1:]:
            count *= n
        names = [planner.old.get((i, tap)) for tap in planner.attrs["taps"][i]] + [planner.new[i]]
        sizes.update((name, count) for name in names if name is not None)
    for which, rows in planner.stored.items():
        count = dtypes.ITEMSIZE[rows.dtype]
        for n in rows.shape[1:]:
            count *= n
        sizes[planner.new[which]] = count
    for instr in instructions:
        for buffer in instr.writes:
            if buffer[0] == "tmp":
                sizes[buffer] = planner.plan.bytes_of(buffer)
            elif buffer not in sizes:
                return None
    return sizes


def row_by_row(instr, rows, sizes):
    """Whether row r of the instruction touches piece r of the buffers in `sizes`."""
    if isinstance(instr, KernelCall):
        return kernel_fits(instr, instr.n, rows, sizes)
    d, (a, b, c) = instr.record, instr.pointers
    size = dtypes.ITEMSIZE[instr.node.dtype]
    if d.m != rows or not d.n or not d.k or d.batch != 1 or b[0] in sizes:
        return False
    for (buffer, offset), trans, line, columns in (
        (a, d.trans_a, d.lda, d.k),
        (c, 0, d.ldc, d.n),
    ):
        if buffer in sizes and (
            trans or line * size * rows != sizes[buffer] or offset + columns * size > line * size
        ):
            return False
    return instr.epilogue is None or kernel_fits(instr.epilogue, d.unit * rows, rows, sizes)


def kernel_fits(call, count, rows, sizes):
    """The same for a kernel over `count` units, of which each row takes as many."""
    kernel, forms = call.kernel, ("flat", "rows", "columns")
    if not isinstance(kernel, Kernel) or kernel.form not in forms or count % rows:
        return False
    launch, at = call.launch(), iter(call.pointers)
    along = kernel.form == "rows"  # whether the vector loop runs along a row
    for op, (inner, far, run, _) in zip(kernel.operands, launch.steps):
        if op.role == "index":
            continue
        (buffer, offset), size = next(at), dtypes.ITEMSIZE[op.dtype]
        if buffer not in sizes:
            continue
        piece = sizes[buffer] // rows
        rest = [*([(launch.n, inner)] if along else []), *zip(launch.runs, run)]
        if sizes[buffer] % rows or op.picks:
            return False
        walked = list(zip(launch.outer, far)) + ([] if along else [(launch.n, inner)])
        within = beyond_rows(walked, rows, piece // size) if piece % size == 0 else None
        if within is None:
            return False
        ends = [(m - 1) * s * size for m, s in within + rest]
        low, high = sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)
        if offset + low < 0 or offset + high + size > piece:
            return False
    return True


def beyond_rows(walked, rows, piece):
    """(size, stride) of the axes within a row, when those before count rows `piece` apart."""
    left, within = rows, []
    for size, stride in walked:
        if left % size == 0:
            left //= size
            if size > 1 and stride != piece * left:
                return None
        elif size % left == 0:
            size //= left
            if left > 1 and stride * size != piece:
                return None
            left = 1
            within.append((size, stride))
        else:
            return None
    return within if left == 1 else None
