"""Launches of products of compressed sparse rows with dense matrices, and of their samples.

Products are parallel over rows; those with the transpose over strips of columns of the dense
matrix, so that no two threads write to one place and the result is the same on any number of
threads.
"""

from ...base import dtypes
from ...base.machine import NS_BYTE, NS_ENTRY, VECTOR
from ...schedule.cost import work
from .sparse import WORDS, SparseKernel, c_type, fits, gapless

STRIP = 4 * VECTOR  # bytes of a strip of columns, where there are enough of them
STRIPS = 4  # strips at least, where that leaves whole vectors


def vectors(dtype):
    """(C declarations of vector types, lanes of the widest, lanes of the narrower ones)."""
    size, kind = dtypes.ITEMSIZE[dtype], c_type(dtype)
    lanes = [VECTOR // size >> k for k in range(5) if VECTOR // size >> k >= 2]
    return (
        [
            f"typedef {kind} v{n} __attribute__((vector_size({n * size}), aligned({size}), "
            "may_alias));"
            for n in lanes
        ],
        lanes[0],
        lanes[1:],
    )


def whole(dtype, first, last, inner):
    """C over the columns j from `first` to `last` while there are whole vectors: four, two, one.

    inner(parts) gives the lines for the columns from j on; parts: [(C type, offset, condition)],
    all of one pass over the stored numbers, whose indices are read once for all parts.
    """
    types, lanes, _ = vectors(dtype)
    lines = [*types, f"int64_t j = {first};"]
    for count in (4, 2, 1):
        parts = [(f"v{lanes}", str(lanes * k), "") for k in range(count)]
        head = "for" if count == 4 else "if"
        step = f"j + {lanes * count} <= {last}"
        lines.append(
            f"for (; {step}; j += {lanes * count}) {{" if head == "for" else f"if ({step}) {{"
        )
        lines += ["    " + line for line in inner(parts)]
        lines += ["}"] if head == "for" else [f"    j += {lanes * count};", "}"]
    return lines


def overlapping(dtype, inner):
    """C for the columns that `whole` leaves, of k: vectors that end at the last column, some of
    whose columns are computed once more."""
    _, lanes, narrow = vectors(dtype)
    cases = [(f"k > {lanes}", [(f"v{lanes}", f"(k - j - {lanes})", "")])]
    for n in narrow:
        cases += [
            (f"k == {n}", [(f"v{n}", "0", "")]),
            (f"k > {n}", [(f"v{n}", "0", ""), (f"v{n}", f"(k - {n})", "")]),
        ]
    lines = ["if (j == k) continue;"]
    for test, parts in cases:
        lines += [
            f"{'' if test is cases[0][0] else 'else '}if ({test}) {{",
            *("    " + line for line in inner(parts)),
            "}",
        ]
    return lines


def rest(dtype, last, inner):
    """C for the columns that `whole` leaves: each of a vector's halves, quarters, ... or not."""
    _, lanes, narrow = vectors(dtype)
    kinds = {**{n: f"v{n}" for n in narrow}, 1: c_type(dtype)}
    parts = [(kind, f"(rest & {-2 * n & (lanes - 1)})", f"rest & {n}") for n, kind in kinds.items()]
    return [
        f"const int64_t rest = {last} - j;",
        "if (rest) {",
        *("    " + line for line in inner(parts)),
        "}",
    ]


# ---- products -----------------------------------------------------------------------------------


def when(condition, line):
    return f"if ({condition}) {line}" if condition else line


def forward_strip(kind, column):
    """A strip of a row of the product: a sum of strips of rows of the dense matrix."""

    def inner(parts):
        sums = [
            f"{vector} s{i} = {'{0}' if vector[0] == 'v' else '0'};"
            for i, (vector, _, _) in enumerate(parts)
        ]
        adds = [
            when(condition, f"s{i} += data[q] * *(const {vector} *)(from + {at});")
            for i, (vector, at, condition) in enumerate(parts)
        ]
        stores = [
            when(condition, f"*({vector} *)(to + j + {at}) = s{i};")
            for i, (vector, at, condition) in enumerate(parts)
        ]
        return [
            *sums,
            "for (int64_t q = first; q < last; q++) {",
            f"    const {kind} *const from = y + {column('q')} * by + j;",
            *("    " + line for line in adds),
            "}",
            *stores,
        ]

    return inner


def backward_strip(kind, write):
    """A strip of columns of the product with the transpose: rows of y added where indices say."""

    def inner(parts):
        loads = []
        for i, (vector, at, condition) in enumerate(parts):
            load = f"*(const {vector} *)(from + {at})"
            zero = f"({vector}){{0}}" if vector[0] == "v" else "0"
            load = f"{condition} ? {load} : {zero}" if condition else load
            loads.append(f"const {vector} s{i} = {load};")
        stores = [
            when(condition, f"*({vector} *)(to + {at}) += data[q] * s{i};")
            for i, (vector, at, condition) in enumerate(parts)
        ]
        return [
            "for (int64_t r = 0; r < rows; r++) {",
            f"    const {kind} *const from = y + r * by + j;",
            *("    " + line for line in loads),
            f"    {write.entries('{')}",
            f"        {kind} *const to = out + {write.column('q')} * k + j;",
            *("        " + line for line in stores),
            "    }",
            "}",
        ]

    return inner


def forward_column(kind, column):
    """A row of the product with a vector. Short rows: one loop, whose end is predicted best."""
    return [
        "if (k == 1) {",
        f"    {kind} s0 = 0, s1 = 0, s2 = 0, s3 = 0;",
        "    int64_t q = first;",
        "    if (last - first >= 32) for (; q + 4 <= last; q += 4) {",
        *(f"        s{i} += data[q + {i}] * y[{column(f'q + {i}')}];" for i in range(4)),
        "    }",
        f"    for (; q < last; q++) s0 += data[q] * y[{column('q')}];",
        "    to[0] = (s0 + s1) + (s2 + s3);",
        "    continue;",
        "}",
    ]


def backward_column(kind, write):
    """The product of the transpose with a vector."""
    return [
        "if (k == 1) {",
        "    for (int64_t r = 0; r < rows; r++)",
        f"        {write.entries('')}out[{write.column('q')}] += data[q] * y[r];",
        "    continue;",
        "}",
    ]


def dot(plan, node):
    """A sparse matrix, or its transpose, times a dense one."""
    data, indices, indptr, extent, y = node.inputs
    k = node.shape[1]
    if data.dtype not in WORDS or not k or not fits(indices, indptr, extent, data):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    (values,) = gapless(plan, data)
    dense = write.dense(y)
    if k == 1 and dense.strides[0] != 1:
        dense = plan.copy(dense)  # a vector without gaps
    write.read("data", values)
    write.read("y", dense)
    write.write("out", plan.place(node))
    write.dims.put(k, "k")
    write.dims.put(dense.strides[0], "by")
    kind, size = c_type(data.dtype), dtypes.ITEMSIZE[data.dtype]
    took = work(NS_ENTRY, write.stored) + work(size * NS_BYTE, k, write.stored + node.shape[0])
    if not node.attrs["back"]:
        body = [
            "for (int64_t r = lo; r < hi; r++) {",
            f"    const int64_t first = {write.edge('r')}, last = {write.edge('r + 1')};",
            f"    {kind} *const to = out + r * k;",
        ]
        body += ["    " + line for line in forward_column(kind, write.column)]
        inner = forward_strip(kind, write.column)
        body += [
            "    " + line
            for line in whole(data.dtype, "0", "k", inner) + overlapping(data.dtype, inner)
        ]
        write.launch(
            "sparse rows times a dense matrix: one row per unit of the range",
            body + ["}"],
            write.rows,
            took,
        )
        return True
    lanes = VECTOR // size
    strip = max(lanes, min(STRIP // size, -(-k // STRIPS // lanes) * lanes))
    write.dims.put(strip, "strip")
    body = [
        "for (int64_t u = lo; u < hi; u++) {",
        "    const int64_t left = u * strip, right = left + strip < k ? left + strip : k;",
        "    if (strip >= k) __builtin_memset(out, 0, columns * k * sizeof *out);",
        "    else for (int64_t c = 0; c < columns; c++)",
        "        for (int64_t j = left; j < right; j++) out[c * k + j] = 0;",
    ]
    body += ["    " + line for line in backward_column(kind, write)]
    inner = backward_strip(kind, write)
    body += [
        "    " + line
        for line in whole(data.dtype, "left", "right", inner) + rest(data.dtype, "right", inner)
    ]
    write.launch(
        "the transpose of sparse rows times a dense matrix: a strip of columns per unit "
        "of the range",
        body + ["}"],
        -(-k // strip),
        took,
        whole=True,
    )
    return True


def sample(plan, node):
    """u @ v.T at the stored places."""
    indices, indptr, extent, u, v = node.inputs
    if u.dtype not in WORDS or not fits(indices, indptr, extent):
        return False
    write = SparseKernel(plan, node, indices, indptr, extent)
    left, right = write.dense(u), write.dense(v)
    write.read("u", left)
    write.read("v", right)
    write.write("out", plan.place(node))
    k, kind = u.shape[1], c_type(u.dtype)
    write.dims.put(k, "k")
    write.dims.put(left.strides[0], "by_u")
    write.dims.put(right.strides[0], "by_v")
    sums = ", ".join(f"s{i}" for i in range(4))
    body = [
        "for (int64_t r = lo; r < hi; r++) {",
        f"    const {kind} *const a = u + r * by_u;",
        f"    int64_t q = {write.edge('r')};",
        f"    const int64_t last = {write.edge('r + 1')};",
        "    for (; q + 4 <= last; q += 4) {",
        *(
            f"        const {kind} *const b{i} = v + {write.column(f'q + {i}')} * by_v;"
            for i in range(4)
        ),
        f"        {kind} {sums.replace(',', ' = 0,')} = 0;",
        f"        #pragma omp simd reduction(+:{sums})",
        "        for (int64_t j = 0; j < k; j++) {",
        *(f"            s{i} += a[j] * b{i}[j];" for i in range(4)),
        "        }",
        *(f"        out[q + {i}] = s{i};" for i in range(4)),
        "    }",
        "    for (; q < last; q++) {",
        f"        const {kind} *const b = v + {write.column('q')} * by_v;",
        f"        {kind} s = 0;",
        "        #pragma omp simd reduction(+:s)",
        "        for (int64_t j = 0; j < k; j++) s += a[j] * b[j];",
        "        out[q] = s;",
        "    }",
        "}",
        write.padding(),
    ]
    took = work(NS_ENTRY, write.stored)
    took += work(2 * dtypes.ITEMSIZE[u.dtype] * NS_BYTE, k, write.stored)
    write.launch(
        "the product of two dense matrices at the places of sparse rows: one row per "
        "unit of the range",
        body,
        write.rows,
        took,
    )
    return True
