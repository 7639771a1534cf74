"""From instructions with named buffers to the tables of a C plan: instrs, ptrs, dims, calls.

Their numbers may be sizes of a class of shapes. Buffers become rows (space, index, byte offset). A
row of a scan becomes a slot of its own wherever it is used, and a line in the scan's table that
says how the slot moves (ck_scan in ckernels.h).
"""

from ..base.dtypes import ITEMSIZE
from .instructions import TOLD, Move, PyCall, Scan, flatten
from .memory import arrange

SPACES = {"tmp": 0, "in": 1, "cell": 2, "out": 3, "next": 4, "const": 5}


class Tables:
    """The rows `instrs`, `ptrs`, `dims` and `calls` of a plan, and its `arena`.

    A row of ptrs is (space, index, offset), with the buffer's name as index in the arena.
    instructions: of the top level; sizes: bytes of arena buffers; addresses: of the kernels, in
    order.
    """

    def __init__(self, instructions, sizes, addresses):
        self.instructions = flatten(instructions)
        self.arena = arrange(self.instructions, sizes)
        self.instrs, self.ptrs, self.dims, self.calls = [], [], [], []
        self.owners = {}  # {row of a scan: the scan}
        self.scans = {}  # {id of a scan: ScanTable}
        addresses = iter(addresses)
        for tag, instr in enumerate(self.instructions):
            if isinstance(instr, Scan) and not instr.told:
                self.scans[id(instr.moving)] = ScanTable(instr.moving, tag)
                self.owners.update((name, instr.moving) for name in instr.moving.moves)
            first, base, fn = len(self.ptrs), len(self.dims), 0
            if instr.told:
                self.instrs.append([TOLD, tag, fn, first, base, 0, 1, 1])
                continue
            for buffer, offset in instr.places():
                self.pointer(buffer, offset)
            self.dims.extend(instr.words())
            if instr.kernel is not None:
                fn = next(addresses)
            elif isinstance(instr, PyCall):
                fn = len(self.calls)
                self.calls.append(pycall(instr, first))
            self.instrs.append(
                [instr.kind, tag, fn, first, base, instr.n, instr.block, instr.grain]
            )
        self.add_scans()

    def pointer(self, buffer, offset):
        """The slot (a new row of `ptrs`) that points there."""
        owner = self.owners.get(buffer)
        if owner is not None:
            move = owner.moves[buffer]
            if not isinstance(move, Move):  # it does not move
                return self.pointer(move[0], move[1] + offset)
        slot = len(self.ptrs)
        self.ptrs.append(self.place_of(buffer, offset))
        if owner is not None:
            self.scans[id(owner)].moved[slot] = (buffer, offset)
        return slot

    def place_of(self, buffer, offset):
        """(space, index, bytes): for a row of a scan, of one of the places it moves to."""
        if buffer in self.owners:
            move = self.owners[buffer].moves[buffer]
            if not isinstance(move, Move):
                return self.place_of(move[0], move[1] + offset)
            start = move.bases[0]
            return self.place_of(start[0], start[1] + offset)
        space, index = buffer
        if space == "tmp":
            return 0, buffer, offset
        return SPACES[space], index, offset

    # ---- scans ------------------------------------------------------------------------------

    def add_scans(self):
        """Dims of all scans. Inner ones first: they may move slots from those of outer ones."""
        for table in reversed(list(self.scans.values())):
            self.instrs[table.tag][4] = len(self.dims)
            self.dims.extend(table.encode(self))
            self.dims.extend(self.instructions[table.tag].dims)


class ScanTable:
    """The dims of one scan in the making."""

    def __init__(self, scan, tag):
        self.scan, self.tag = scan, tag
        self.moved, self.fixed = {}, {}  # {slot: (row, offset)}, {base: slot}

    def base(self, tables, base, offset=0):
        """The slot of a base, shared by all rows that move from it."""
        if base is None:
            return -1
        key = base[0], base[1] + offset
        if key not in self.fixed:
            self.fixed[key] = tables.pointer(*key)
        return self.fixed[key]

    def slot(self, tables, row):
        """A slot that shows the row."""
        found = [slot for slot, place in self.moved.items() if place == (row, 0)]
        return found[0] if found else tables.pointer(row, 0)

    def encode(self, tables):
        scan, slides, moves = self.scan, [], []
        finals = [
            (self.base(tables, to), self.slot(tables, row), self.base(tables, first), size)
            for to, row, first, size in scan.finals
        ]
        traces = [(self.base(tables, base), size) for base, size in scan.traces]
        head = [self.base(tables, x) for x in (scan.count, scan.flag, scan.executed)]
        for slot, (row, offset) in self.moved.items():
            move = scan.moves[row]
            a, b = self.base(tables, move.a, offset), self.base(tables, move.b, offset)
            if move.until is None:
                slides.append((slot, a, move.a_stride))
            else:
                x_by_t, y_by_t = (int(c == "t") for c in move.by)
                moves.append(
                    (
                        slot,
                        x_by_t,
                        move.until,
                        a,
                        move.a_stride,
                        mask(move.a_ring),
                        y_by_t,
                        move.shift,
                        b,
                        move.b_stride,
                        mask(move.b_ring),
                    )
                )
        parts = scan.parts
        numbers = [
            scan.rows,
            scan.limit,
            int(scan.reverse),
            int(scan.stepped > 0),
            *head,
            len(slides),
            len(moves),
            len(finals),
            len(traces),
            *((parts.rows, parts.part, parts.stretch) if parts else (0, 0, scan.stepped)),
        ]
        for rows in (slides, moves, finals, traces):
            for row in rows:
                numbers.extend(row)
        return numbers


def mask(ring):
    return -1 if ring is None else ring - 1


def pycall(instr, first):
    """The callable of a PyCall, with slot, dtype, shape and strides of what it reads and makes."""

    def spec(at, layout):
        size = ITEMSIZE[layout.dtype]
        return (first + at, layout.dtype, layout.shape, tuple(s * size for s in layout.strides))

    count = len(instr.ins)
    return (
        instr.call,
        [spec(k, lay) for k, lay in enumerate(instr.ins)],
        [spec(count + k, lay) for k, lay in enumerate(instr.outs)],
    )
