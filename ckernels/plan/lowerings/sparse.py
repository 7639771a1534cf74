"""Launches of the ops on compressed sparse rows: one template, a body for each op.

Each kernel looks at all indices it is going to follow before it follows one, and follows none out
of range whatever another thread makes of them meanwhile. All are parallel over rows but `order`.
Products are in sparse_dot.py and sparse_product.py.
"""

from ...base import dtypes
from ...base.machine import NS_BYTE, NS_ENTRY, NS_HELD
from ...codegen.layout import contiguous_strides
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block
from ...schedule.cost import work

WORDS = ("float32", "float64", "int32", "int64", "uint32", "uint64")  # what vectors multiply


def c_type(dtype):
    """The C type of numbers: integers wrap around, so they are added as unsigned ones."""
    return (
        dtypes.C_NAMES[dtype] if dtypes.is_float(dtype) else f"uint{8 * dtypes.ITEMSIZE[dtype]}_t"
    )


class SparseKernel:
    """A kernel on compressed rows while it is written."""

    def __init__(self, plan, node, indices, indptr, extent):
        self.plan, self.node = plan, node
        self.indices, self.indptr = gapless(plan, indices, indptr)
        self.matrices = {"": (self.indices, self.indptr, "columns")}
        self.rows, self.columns = extent.shape[:2]
        self.stored = indices.shape[0]
        self.dims = Dims()
        for number in (self.rows, self.columns, self.stored):
            self.dims.put(number)
        self.ins, self.outs = [], []
        for name, layout in (("indices", self.indices), ("indptr", self.indptr)):
            self.read(name, layout, dtypes.C_NAMES[layout.dtype])

    def column(self, q, of=""):
        """C of the column of entry `q`; of: what the names of another matrix begin with."""
        indices, _, columns = self.matrices[of]
        return within(indices, f"{of}indices + {q}", columns)

    def edge(self, row, of=""):
        """C of where a row begins, the one before it ends."""
        return within(self.matrices[of][1], f"{of}indptr + {row}", f"{of}used + 1")

    def entries(self, body, q="q", row="r", of=""):
        """C that runs `body` for each entry of a row."""
        first, end = self.edge(row, of), self.edge(f"{row} + 1", of)
        return f"for (int64_t {q} = {first}, end_{q} = {end}; {q} < end_{q}; {q}++) {body}"

    def padding(self):
        """C that clears `out` behind the entries of the last row."""
        return f"if (hi == rows) for (int64_t q = {self.edge('rows')}; q < stored; q++) out[q] = 0;"

    def read(self, name, layout, kind=None):
        self.ins.append((f"const {kind or c_type(layout.dtype)} *const {name}", layout))

    def dense(self, node):
        """The layout of a dense matrix with the elements of a row side by side."""
        layout = self.plan.layout(node)
        return layout if layout.strides[-1] == 1 or node.shape[-1] <= 1 else self.plan.copy(layout)

    def write(self, name, layout):
        self.outs.append((f"{c_type(layout.dtype)} *const {name}", layout))

    def launch(self, note, body, n, picoseconds, whole=False, block_of=1):
        """Add the kernel: `n` units; whole: each looks at all rows, not at those of its range."""
        if not n:
            return
        operands = self.ins + self.outs
        lines = [f"{name} = p[{k}];" for k, (name, _) in enumerate(operands)]
        index = dtypes.ITEMSIZE[self.indices.dtype] * 8
        kernel = RawKernel(
            "csr",
            (
                ("note", note),
                ("pointers", block(lines, 1)),
                ("sizes", block(self.dims.lines, 1)),
                ("begin", "0" if whole else "lo"),
                ("end", "rows" if whole else "hi"),
                ("first", self.edge("begin")),
                ("last", self.edge("end")),
                ("uindex", f"uint{index}_t"),
                ("body", block(body, 1)),
            ),
            tuple(("in", lay.dtype) for _, lay in self.ins)
            + tuple(("out", lay.dtype) for _, lay in self.outs),
        )
        self.plan.launch(
            Launch(
                kernel,
                [lay.pointer for _, lay in operands],
                self.dims.values,
                n,
                block_of,
                picoseconds,
                [lay.buffer for _, lay in self.ins],
                [lay.buffer for _, lay in self.outs],
            ),
            [self.node],
        )


def within(layout, place, size):
    """C of the index at a place of an array of indices, 0 .. size - 1 whatever it is."""
    return f"ck_within_{dtypes.SUFFIX[layout.dtype]}({place}, {size})"


def fits(indices, indptr, extent, data=None):
    """Whether the parts of a matrix have the sizes that they should: oracles say what is wrong."""
    return indptr.shape[0] == extent.shape[0] + 1 > 1 and (
        data is None or data.shape == indices.shape
    )


def gapless(plan, *nodes):
    """Layouts of vectors, copied where they have gaps."""
    made = [plan.layout(n) for n in nodes]
    return [
        lay if lay.strides == contiguous_strides(lay.shape) or lay.shape[0] <= 1 else plan.copy(lay)
        for lay in made
    ]


# ---- to and from dense --------------------------------------------------------------------------


def dense(plan, node):
    """The matrix, dense."""
    data, indices, indptr, extent = node.inputs
    if data.dtype not in (*WORDS, *dtypes.INTEGERS) or not fits(indices, indptr, extent, data):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    (values,) = gapless(plan, data)
    write.read("data", values)
    write.write("out", plan.place(node))
    body = [
        "for (int64_t r = lo; r < hi; r++) {",
        f"    {c_type(data.dtype)} *const to = out + r * columns;",
        "    __builtin_memset(to, 0, columns * sizeof *to);",
        f"    {write.entries('')}to[{write.column('q')}] += data[q];",
        "}",
    ]
    size = dtypes.ITEMSIZE[data.dtype]
    write.launch(
        "sparse rows to a dense matrix: one row per unit of the range",
        body,
        write.rows,
        work(NS_ENTRY, write.stored) + work(NS_BYTE, write.rows, write.columns, size),
    )
    return True


def take(plan, node):
    """The elements of a dense matrix at the stored places."""
    indices, indptr, extent, x = node.inputs
    if not fits(indices, indptr, extent):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    layout = plan.layout(x)
    write.read("x", layout)
    write.write("out", plan.place(node))
    write.dims.put(layout.strides[0], "by_row")
    write.dims.put(layout.strides[1], "by_column")
    body = [
        "for (int64_t r = lo; r < hi; r++)",
        f"    {write.entries('')}out[q] = x[r * by_row + {write.column('q')} * by_column];",
        write.padding(),
    ]
    write.launch(
        "a dense matrix at the places of sparse rows: one row per unit of the range",
        body,
        write.rows,
        work(NS_ENTRY, write.stored),
    )
    return True


# ---- the places themselves ----------------------------------------------------------------------


def rows(plan, node):
    """The row of each stored number."""
    indices, indptr, extent = node.inputs
    if not fits(indices, indptr, extent):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    write.write("out", plan.place(node))
    body = [
        f"for (int64_t r = lo; r < hi; r++) {write.entries('out[q] = r;')}",
        write.padding(),
    ]
    write.launch(
        "the row of each stored number: one row per unit of the range",
        body,
        write.rows,
        work(NS_ENTRY / 2, write.stored),
    )
    return True


def order(plan, node):
    """A counting sort by column."""
    indices, indptr, extent = node.inputs
    if not fits(indices, indptr, extent):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    outs = plan.places(node)
    write.write("order", outs[0])
    write.write("ends", outs[1])
    body = [
        "for (int64_t c = 0; c <= columns; c++) ends[c] = 0;",
        f"for (int64_t q = 0; q < last_entry; q++) ends[{write.column('q')} + 1]++;",
        "for (int64_t c = 0; c < columns; c++) ends[c + 1] += ends[c];",
        "for (int64_t q = 0; q < last_entry; q++) {",
        f"    const int64_t to = ends[{write.column('q')}]++;",
        "    if (to < stored) order[to] = q;",
        "}",
        "for (int64_t c = columns; c > 0; c--) ends[c] = ends[c - 1];",
        "ends[0] = 0;",
        "for (int64_t q = last_entry; q < stored; q++) order[q] = q;",
    ]
    write.launch(
        "the order of stored numbers by column: one unit",
        ["(void)lo; (void)hi;"] + body,
        1,
        work(3 * NS_ENTRY, write.stored) + work(1, write.columns),
        whole=True,
    )
    return True


def interleave(plan, node):
    """Where the rows of matrices side by side come from."""
    count, *indptrs = node.inputs
    rows = indptrs[0].shape[0] - 1
    if rows < 1 or any(i.shape != indptrs[0].shape for i in indptrs):
        return False
    ends = gapless(plan, *indptrs)
    out = plan.place(node)
    kinds = [dtypes.C_NAMES[lay.dtype] for lay in ends]
    lines = [f"const {kind} *const i{k} = p[{k}];" for k, kind in enumerate(kinds)]
    lines += [f"int64_t *const out = p[{len(ends)}];", "const int64_t rows = d[0], count = d[1];"]
    base, check, start, copies, fall = ["0"], [], [], [], []
    for k in range(len(ends)):
        check.append(f"i{k}[0] != 0 || i{k}[lo] < 0 || (int64_t)i{k}[hi] > (int64_t)i{k}[rows]")
        start.append(f"(int64_t)i{k}[lo]")
        fall.append(f"i{k}[r] > i{k}[r + 1]")
        copies += [
            f"    for (int64_t q = i{k}[r]; at < count && q < (int64_t)i{k}[r + 1]; q++) "
            f"out[at++] = {' + '.join(base)} + q;"
        ]
        base.append(f"(int64_t)i{k}[rows]")
    lines += [
        f"if ({' || '.join(check)} || {' + '.join(base[1:])} != count) return CK_EVALUE;",
        f"for (int64_t r = lo; r < hi; r++) if ({' || '.join(fall)}) return CK_EVALUE;",
        f"int64_t at = {' + '.join(start)};",
        "for (int64_t r = lo; r < hi; r++) {",
        *copies,
        "}",
    ]
    kernel = RawKernel(
        "kernel",
        (
            (
                "form",
                "positions that put the rows of matrices side by side: one row per unit of the "
                "range",
            ),
            ("attribute", ""),
            ("pointers", ""),
            ("body", block(lines, 1)),
        ),
        tuple(("in", lay.dtype) for lay in ends) + (("out", "int64"),),
    )
    plan.launch(
        Launch(
            kernel,
            [lay.pointer for lay in ends + [out]],
            [rows, count.shape[0]],
            rows,
            1,
            work(NS_ENTRY, count.shape[0]),
            [lay.buffer for lay in ends],
            [out.buffer],
        ),
        [node],
    )
    return True


def held(plan, node):
    """The columns where a bool matrix is true."""
    matrix, ends, like = node.inputs
    rows, columns = matrix.shape
    if not rows or ends.shape != (rows + 1,):
        return False
    layout = plan.layout(matrix)
    (starts,) = gapless(plan, ends)
    out = plan.place(node)
    lines = [
        "const uint8_t *const held = p[0];",
        "const int64_t *const ends = p[1];",
        "int32_t *const out = p[2];",
        "const int64_t columns = d[0], by_row = d[1], by_column = d[2], count = d[3];",
        "for (int64_t r = lo; r < hi; r++) {",
        "    const int64_t last = ends[r + 1];",
        "    int64_t at = ends[r];",
        "    if (at < 0 || last > count) return CK_EVALUE;",
        "    for (int64_t c = 0; c < columns; c++) {",
        "        if (!held[r * by_row + c * by_column]) continue;",
        "        if (at >= last) return CK_EVALUE;",
        "        out[at++] = c;",
        "    }",
        "    if (at != last) return CK_EVALUE;",
        "}",
    ]
    kernel = RawKernel(
        "kernel",
        (
            ("form", "the columns where a matrix is true: one row per unit of the range"),
            ("attribute", ""),
            ("pointers", ""),
            ("body", block(lines, 1)),
        ),
        (("in", "bool"), ("in", "int64"), ("out", "int32")),
    )
    plan.launch(
        Launch(
            kernel,
            [lay.pointer for lay in (layout, starts, out)],
            [columns, *layout.strides, like.shape[0]],
            rows,
            1,
            work(NS_HELD, rows, columns),
            [layout.buffer, starts.buffer],
            [out.buffer],
        ),
        [node],
    )
    return True
