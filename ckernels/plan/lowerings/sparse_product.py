"""Launches of the product of two sparse matrices: counts, places and numbers of its rows.

A unit of the range is a chunk of rows with a dense row of scratch of its own, so there are only so
many chunks as scratch allows: memory is that of the result and of a few rows. Chunks do not depend
on the number of threads, nor do results.
"""

from ...base import dtypes
from ...base.machine import NS_ENTRY
from ...schedule.cost import work
from .sparse import PADDING, WORDS, SparseKernel, c_type, fits, gapless

CHUNKS = 16  # of rows at most, ...
SCRATCH = 8 << 20  # ... and bytes of all their scratch, where one row is not more

CHECKS = """\
if (b_indptr[0] != 0 || (int64_t)b_indptr[columns] > b_stored) return CK_EVALUE;
for (int64_t r = 0; r < columns; r++) bad |= b_indptr[r] > b_indptr[r + 1];
if (bad) return CK_EVALUE;
const b_uindex b_limit = wide < (b_uindex)-1 ? wide : (b_uindex)-1;
for (int64_t q = 0; q < (int64_t)b_indptr[columns]; q++) bad |= (b_uindex)b_indices[q] >= b_limit;
if (bad) return CK_EINDEX;""".splitlines()

THIRD = """\
if (c_indptr[0] != 0 || (int64_t)c_indptr[rows] > c_stored) return CK_EVALUE;
for (int64_t r = 0; r < rows; r++) bad |= c_indptr[r] > c_indptr[r + 1];
if (bad) return CK_EVALUE;
const c_uindex c_limit = wide < (c_uindex)-1 ? wide : (c_uindex)-1;
for (int64_t q = 0; q < (int64_t)c_indptr[rows]; q++) bad |= (c_uindex)c_indices[q] >= c_limit;
if (bad) return CK_EINDEX;""".splitlines()

CHUNK = ("const int64_t top = u * chunk, bottom = top + chunk < rows ? top + chunk : rows;",)

# Every place of a row once; `mark` holds the last row that saw a column.
EACH_PLACE = """\
    for (int64_t q = indptr[r]; q < (int64_t)indptr[r + 1]; q++)
        for (int64_t s = b_indptr[indices[q]]; s < (int64_t)b_indptr[indices[q] + 1]; s++) {
            const int64_t j = b_indices[s];
            if (mark[j] == r) continue;
            mark[j] = r;""".splitlines()

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
        self.head = [*self.matrix("b", indices, indptr), *CHECKS]
        self.dims.put(self.wide, "wide")

    def matrix(self, name, indices, indptr):
        """Read another matrix; the lines that declare what checks need."""
        places, ends = gapless(self.plan, indices, indptr)
        for what, layout in (("indices", places), ("indptr", ends)):
            self.read(f"{name}_{what}", layout, dtypes.C_NAMES[layout.dtype])
        self.dims.put(indices.shape[0], f"{name}_stored")
        bits = dtypes.ITEMSIZE[places.dtype] * 8
        return [f"typedef uint{bits}_t {name}_uindex;"]

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
        ["int64_t n = 0;", *EACH_PLACE, "            n++;", "        }", "out[r] = n;"],
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
        *EACH_PLACE,
        "            if (n == room) return CK_EVALUE;",
        "            to[n++] = j;",
        "        }",
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
    write.head += [*write.matrix("c", *third[:2]), *THIRD]
    for name, layout in zip(("a", "b"), gapless(plan, data, other)):
        write.read(name, layout)
    kind = c_type(data.dtype)
    count, row = write.scratch("sum", data.dtype)
    write.outs.append((f"{kind} *const out", plan.place(node)))
    # Sums at other places are made too and never read.
    wanted = "for (int64_t q = c_indptr[r]; q < (int64_t)c_indptr[r + 1]; q++) "
    each = [
        wanted + "sum[c_indices[q]] = 0;",
        "for (int64_t q = indptr[r]; q < (int64_t)indptr[r + 1]; q++) {",
        f"    const {kind} factor = a[q];",
        "    const int64_t last = b_indptr[indices[q] + 1];",
        "    for (int64_t s = b_indptr[indices[q]]; s < last; s++)",
        "        sum[b_indices[s]] += factor * b[s];",
        "}",
        wanted + "out[q] = sum[c_indices[q]];",
    ]
    pad = (
        PADDING[0]
        .replace("hi == rows", "bottom == rows")
        .replace("indptr", "c_indptr")
        .replace("stored", "c_stored")
    )
    write.rows_of(
        "numbers of a product of sparse matrices at given places: chunks of rows",
        count,
        [row, "__builtin_memset(sum, 0, wide * sizeof *sum);", pad],
        each,
    )
    return True
