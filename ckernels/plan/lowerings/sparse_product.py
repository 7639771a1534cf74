"""Launches of the product of two sparse matrices: counts, places and numbers of its rows.

A unit of the range is a chunk of rows with a dense row of scratch of its own, so there are only so
many chunks as scratch allows: memory is that of the result and of a few rows. Chunks do not depend
on the number of threads, nor do results.
"""

from ...base import dtypes
from ...base.machine import NS_ENTRY
from ...schedule.cost import work
from .sparse import WORDS, SparseKernel, c_type, fits, gapless

CHUNKS = 16  # of rows at most, ...
SCRATCH = 8 << 20  # ... and bytes of all their scratch, where one row is not more

CHUNK = ("const int64_t top = u * chunk, bottom = top + chunk < rows ? top + chunk : rows;",)

# Columns of a row in order: from the marks where the row is dense, else by a heap sort.
SORT = """\
    if (n * 16 > wide) {
        int64_t k = 0;
        for (int64_t j = 0; j < wide; j++) if (mark[j] == r) to[k++] = j;
    } else for (int64_t end = n, start = n / 2; end > 1;) {
        $type held;
        if (start > 0) held = to[--start];
        else { held = to[--end]; to[end] = to[0]; }
        int64_t hole = start;
        for (int64_t child; (child = 2 * hole + 1) < end; hole = child) {
            if (child + 1 < end && to[child] < to[child + 1]) child++;
            if (to[child] <= held) break;
            to[hole] = to[child];
        }
        to[hole] = held;
    }"""


class Product(SparseKernel):
    """A kernel on two sparse matrices while it is written; `wide`: columns of the second."""

    def __init__(self, plan, node, first, second):
        super().__init__(plan, node, *first)
        indices, indptr, extent = second
        self.wide = extent.shape[1]
        self.dims.put(self.wide, "wide")
        self.head = self.matrix("b_", indices, indptr, "columns")

    def matrix(self, of, indices, indptr, rows):
        """Read another matrix, of `wide` columns; the lines that check it."""
        places, ends = gapless(self.plan, indices, indptr)
        for what, layout in (("indices", places), ("indptr", ends)):
            self.read(f"{of}{what}", layout, dtypes.C_NAMES[layout.dtype])
        self.dims.put(indices.shape[0], f"{of}stored")
        self.matrices[of] = places, ends, "wide"
        kind = f"uint{dtypes.ITEMSIZE[places.dtype] * 8}_t"
        return f"""\
const int64_t {of}used = wide ? {of}stored : 0, {of}end = {self.edge(rows, of)};
const {kind} {of}limit = wide < ({kind})-1 ? wide : ({kind})-1;
if ({of}indptr[0] != 0 || (int64_t){of}indptr[{rows}] > {of}stored) return CK_EVALUE;
for (int64_t r = 0; r < {rows}; r++) bad |= {of}indptr[r] > {of}indptr[r + 1];
if (bad) return CK_EVALUE;
for (int64_t q = 0; q < {of}end; q++) bad |= ({kind}){of}indices[q] >= {of}limit;
if (bad) return CK_EINDEX;""".splitlines()

    def each_place(self, *lines):
        """C that runs `lines` for each column j of row r once; `mark` holds the last row that saw
        a column."""
        return [
            "    " + self.entries("{"),
            f"        const int64_t k = {self.column('q')};",
            "        " + self.entries("{", "s", "k", "b_"),
            f"            const int64_t j = {self.column('s', 'b_')};",
            "            if (mark[j] == r) continue;",
            "            mark[j] = r;",
            *("            " + line for line in lines),
            "        }",
            "    }",
        ]

    def scratch(self, name, dtype):
        """One dense row for each chunk; the number of chunks."""
        kind = c_type(dtype) if dtypes.is_float(dtype) else dtypes.C_NAMES[dtype]
        most = min(CHUNKS, SCRATCH // max(1, self.wide * dtypes.ITEMSIZE[dtype]), self.rows)
        size = -(-self.rows // max(1, most))
        count = -(-self.rows // size)
        self.dims.put(size, "chunk")
        layout = self.plan.temp((count * max(1, self.wide),), dtype)
        self.outs.append((f"{kind} *const {name}s", layout))
        return count, f"{kind} *const {name} = {name}s + u * wide;"

    def rows_of(self, note, count, before, each):
        """Add the launch: lines `each` for every row r of a chunk."""
        body = [
            *self.head,
            "for (int64_t u = lo; u < hi; u++) {",
            *("    " + line for line in (*CHUNK, *before)),
            "    for (int64_t r = top; r < bottom; r++) {",
            *("        " + line for line in each),
            "    }",
            "}",
        ]
        self.launch(note, body, count, work(20 * NS_ENTRY, self.stored), whole=True)


def parts_fit(first, second, data=(None, None)):
    return (
        fits(*first, data[0]) and fits(*second, data[1]) and first[2].shape[1] == second[2].shape[0]
    )


def marks(write):
    count, row = write.scratch("mark", "int64")
    return count, (row, "for (int64_t j = 0; j < wide; j++) mark[j] = -1;")


def counts(plan, node):
    """The number of places of each row."""
    first, second = node.inputs[:3], node.inputs[3:]
    if not parts_fit(first, second):
        return False
    write = Product(plan, node, first, second)
    count, before = marks(write)
    write.outs.append(("int64_t *const out", plan.place(node)))
    write.rows_of(
        "places in the rows of a product of sparse matrices: chunks of rows",
        count,
        before,
        ["int64_t n = 0;", *write.each_place("n++;"), "out[r] = n;"],
    )
    return True


def places(plan, node):
    """The columns of each row, rising."""
    first, second, ends = node.inputs[:3], node.inputs[3:6], node.inputs[6]
    if not parts_fit(first, second) or ends.shape[0] != first[2].shape[0] + 1:
        return False
    write = Product(plan, node, first, second)
    (starts,) = gapless(plan, ends)
    write.read("ends", starts, dtypes.C_NAMES[starts.dtype])
    write.dims.put(node.shape[0], "total")
    count, before = marks(write)
    out = plan.place(node)
    kind = dtypes.C_NAMES[out.dtype]
    write.outs.append((f"{kind} *const out", out))
    each = [
        "const int64_t first = ends[r], room = ends[r + 1] - first;",
        "if (first < 0 || room < 0 || room > total - first) return CK_EVALUE;",
        f"{kind} *const to = out + first;",
        "int64_t n = 0;",
        *write.each_place("if (n == room) return CK_EVALUE;", "to[n++] = j;"),
        "if (n != room) return CK_EVALUE;",
        *SORT.replace("$type", kind).splitlines(),
    ]
    write.rows_of("the places of a product of sparse matrices: chunks of rows", count, before, each)
    return True


def product(plan, node):
    """The numbers of the product at given places."""
    data, other = node.inputs[0], node.inputs[4]
    first, second, third = node.inputs[1:4], node.inputs[5:8], node.inputs[8:]
    if (
        data.dtype not in WORDS
        or not parts_fit(first, second, (data, other))
        or not fits(*third)
        or third[2].shape[:2] != (first[2].shape[0], second[2].shape[1])
    ):
        return False
    write = Product(plan, node, first, second)
    write.head += write.matrix("c_", *third[:2], "rows")
    for name, layout in zip(("a", "b"), gapless(plan, data, other)):
        write.read(name, layout)
    kind = c_type(data.dtype)
    count, row = write.scratch("sum", data.dtype)
    write.outs.append((f"{kind} *const out", plan.place(node)))
    # Sums at other places are made too and never read.
    column = write.column("q", "c_")
    each = [
        write.entries(f"sum[{column}] = 0;", of="c_"),
        write.entries("{"),
        f"    const {kind} factor = a[q];",
        f"    const int64_t k = {write.column('q')};",
        "    " + write.entries(f"sum[{write.column('s', 'b_')}] += factor * b[s];", "s", "k", "b_"),
        "}",
        write.entries(f"out[q] = sum[{column}];", of="c_"),
    ]
    pad = "if (bottom == rows) for (int64_t q = c_end; q < c_stored; q++) out[q] = 0;"
    write.rows_of(
        "numbers of a product of sparse matrices at given places: chunks of rows",
        count,
        [row, "__builtin_memset(sum, 0, wide * sizeof *sum);", pad],
        each,
    )
    return True
