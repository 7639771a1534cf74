"""Kernels of gathers and scatters: loops over a domain with one tensor addressed through integer
arrays.

A nest says how domain axes map to strides: whatever op it came from, its strides decide the text. A
gather is parallel over the domain; a scatter over the first indexed axis of its target: each place
has one writer that sees all indices in an order that does not depend on the number of threads, nor
does the result. What a loop reads at indices is a `fetch` of the IR, and they were checked before;
here they are checked on the way, and what goes to one place is put there in its order.
"""

from dataclasses import dataclass

from ..base import dtypes
from ..base.machine import NS_BYTE, NS_INDEX
from ..graph.shapes import product
from ..graph.sizes import greatest, value_of
from ..schedule.cost import work
from .layout import collapse
from .lower import Launch
from .raw import Dims, RawKernel, at, block, moved, times, unravel

MAX_CHUNKS = 16  # of a scatter: each looks at all indices
STRETCH, SHORT = 1024, 16  # indices that are checked together; so few are looked at one by one
RUN = 16  # elements that are copied one by one at each place
PLACES, LONG = 512, 2048  # of a table on the stack that counts; indices that are worth one


@dataclass
class Index:
    """One integer array: its layout, strides over the domain, the axis that it picks from."""

    layout: object
    strides: tuple
    size: int  # of that axis
    step: int  # stride of that axis in the tensor

    @property
    def signed(self):
        return not self.layout.dtype.startswith("u")


class IndexedNest:
    """A domain, the strides over it of the indexed tensor (`far`) and of the plain one (`near`)."""

    def __init__(self, domain, far, far_strides, near, near_strides, indices):
        self.far, self.near, self.indices = far, near, indices
        wide = [k for k, n in enumerate(domain) if n != 1]
        rows = [far_strides, near_strides] + [i.strides for i in indices]
        sizes, rows = collapse([domain[k] for k in wide], [[r[k] for k in wide] for r in rows])
        self.sizes = sizes or (1,)
        self.far_strides, self.near_strides, *self.index_strides = [r or (0,) for r in rows]
        self.count = product(domain)

    def pointers(self):
        return [lay.pointer for lay in [self.far, self.near] + [i.layout for i in self.indices]]

    def index_pointers(self):
        return [
            f"const {dtypes.C_NAMES[i.layout.dtype]} *const i{k} = p[{k + 2}];"
            for k, i in enumerate(self.indices)
        ]

    def lookups(self, dims, rows, owner=None, axis=-1):
        """(lines per row that move `at`, lines per element that move `on`, quick ones), index by
        index; the quick ones move `on` too, by an index that is held within range: see `held`.
        axis: that of the loop over elements.
        """
        per_row, per_element, quick = [], [], []
        for k, (index, strides) in enumerate(zip(self.indices, self.index_strides)):
            inner = strides[axis]
            place = at(moved(rows, strides[:axis], dims), times("i", inner, dims, f"by{k}"))
            size = dims.put(index.size, f"size{k}")
            step = times(f"k{k}", index.step, dims, f"step{k}")
            lines = [f"int64_t k{k} = i{k}[{place}];"]
            if inner:
                quick += held(k, f"i{k}[{place}]", size, dtypes.ITEMSIZE[self.far.dtype])
                quick.append(f"on += {step};")
            lines += check(f"k{k}", size, index.signed, k == owner)
            lines.append(f"{'on' if inner else 'at'} += {step};")
            (per_element if inner else per_row).extend(lines)
        return per_row, per_element, quick

    def work(self):
        """Picoseconds of the whole nest."""
        return work(2 * dtypes.ITEMSIZE[self.near.dtype] * NS_BYTE, self.count) + self.looks()

    def looks(self):
        """Of them what looking up and checking the indices takes."""
        width = 1 if any(s[-1] for s in self.index_strides) else self.sizes[-1]
        return work(NS_INDEX * len(self.indices), self.count // greatest(1, width))


def held(k, index, size, bytes):
    """C that makes `k{k}` the index, or the last place where it is none of 0 .. size - 1.

    The place that is looked at is within range whatever another thread makes of the array in the
    meantime: it is the minimum of 32 bits, one instruction, for gcc may read an index again between
    a comparison and a choice. 262,144 floats of a table of 256 take 105 us by uint8, in 64 bits
    177. Vectors of bytes cannot be gathered: the first index that does not fit ends their loop, 125
    us instead of 233.
    """
    if bytes < 4:
        wrong = f"(uint64_t)k{k} >= (uint64_t){size}"
        return [f"const int64_t k{k} = {index};", f"if ({wrong}) {{ others = 1; break; }}"]
    return [
        f"const int64_t e{k} = {index};",
        f"const uint32_t last{k} = {size} > 0x7fffffff ? 0x7fffffff : {size} - 1;",
        f"const int32_t k{k} = (uint32_t)e{k} < last{k} ? (uint32_t)e{k} : last{k};",
        f"others |= k{k} != e{k};",
    ]


def check(k, size, signed, owner):
    """C that makes `k` an index within 0 .. size - 1; owner: leaves out what is not of lo .. hi.

    One comparison passes nearly all indices; the others take the long way.
    """
    out = f"(uint64_t){k} >= (uint64_t){size}"
    if not (signed or owner):
        return [f"if ({out}) return CK_EINDEX;"]
    wrong = f"(uint64_t){k} - (uint64_t)lo >= (uint64_t)hi - (uint64_t)lo" if owner else out
    wrap = [f"    {k} += {k} < 0 ? {size} : 0;"] if signed else []
    others = [f"    if ({k} < lo || {k} >= hi) continue;"] if owner else []
    return [f"if ({wrong}) {{", *wrap, f"    if ({out}) return CK_EINDEX;", *others, "}"]


@dataclass(frozen=True)
class OneElement(RawKernel):
    """A gather or scatter of one element. steps: of each axis that an index picks from, None where
    it is in dims, after the size of the axis; skipped: dims before these."""

    steps: tuple
    skipped: int

    @property
    def writes(self):
        return self.form == "scatter"


def kernel_of(nest, form, fields, roles, skipped, plain=True):
    """The kernel of a nest; plain: elements are copied, not added to others."""
    if plain and all(type(n) is int and n == 1 for n in nest.sizes):
        steps = tuple(step_of(i.step) for i in nest.indices)
        return OneElement(form, fields, roles, steps, skipped)
    return RawKernel(form, fields, roles)


def step_of(step):
    """A step that is part of a kernel: see `times`."""
    return next((plain for plain in (0, 1, -1) if step == plain), None)


def _roles(nest, far, near):
    return ((far, nest.far.dtype), (near, nest.near.dtype)) + tuple(
        ("in", i.layout.dtype) for i in nest.indices
    )


# ---- gather -------------------------------------------------------------------------------------


def gather(nest):
    """The Launch that fills `near` from `far`; dtypes of one size share kernels: only bits move.

    Where short runs lie side by side, as the channels of pixels, a unit of the range is a run.
    """
    dims, run = Dims(), short_run(nest)
    outer = nest.sizes[:-1] if run is None else nest.sizes[:-2]
    along = len(outer)  # the axis of the loop
    dims.put(nest.sizes[along], "n")
    lines, rows = unravel("row", outer, dims)
    x_row = moved(rows, nest.far_strides[:along], dims)
    y_row = moved(rows, nest.near_strides[:along], dims)
    per_row, per_element, quick = nest.lookups(dims, rows, axis=along)
    x_at = times("i", nest.far_strides[along], dims, "sx")
    y_at = times("i", nest.near_strides[along], dims, "sy")
    if run is not None:
        loop = copy_runs(nest, dims, run, per_element, (x_at, y_at))
    elif per_element:
        move = f"to[{y_at}] = from[{at(x_at, 'on')}];"
        loop = at_once(quick, per_element, move, len(nest.indices))
    elif x_at == y_at == "i":
        loop = copy_run(64 // dtypes.ITEMSIZE[nest.far.dtype])
    else:
        loop = [
            "#pragma GCC ivdep",
            f"for (int64_t i = j; i < end; i++) to[{y_at}] = from[{x_at}];",
        ]
    kind = f"uint{8 * dtypes.ITEMSIZE[nest.far.dtype]}_t"
    kernel = kernel_of(
        nest,
        "gather",
        (
            ("note", "gather: x at checked indices"),
            ("type", kind),
            ("pointers", block(nest.index_pointers(), 1)),
            ("sizes", block(dims.lines, 1)),
            ("unravel", block(lines, 2)),
            ("x_row", x_row),
            ("y_row", y_row),
            ("row_lookups", block(per_row, 2)),
            ("loop", block(loop, 2)),
        ),
        _roles(nest, "in", "out"),
        1,
    )
    return Launch(
        kernel,
        nest.pointers(),
        dims.values,
        nest.count if run is None else nest.count // run,
        64 if run is None else 16,
        nest.work(),
        [nest.far.buffer] + [i.layout.buffer for i in nest.indices],
        [nest.near.buffer],
    )


def short_run(nest):
    """How many elements lie together at each place, where these are few; else None."""
    run = nest.sizes[-1]
    few = len(nest.sizes) > 1 and type(run) is int and 1 < run <= RUN
    return run if few and not any(s[-1] for s in nest.index_strides) else None


def copy_runs(nest, dims, run, lookups, places):
    """C that copies a run of few elements for each place of a row.

    Without it each run would be a row of its own, whose place takes divisions: 65,536 pixels of
    three floats at two indices each take 0.72 ms so, 0.15 ms as runs; of three bytes at three
    91 us, 137 with a loop over bytes, which may change what is read next.
    """
    x_at, y_at = places
    x_run = times("c", nest.far_strides[-1], dims, "run_x")
    y_run = times("c", nest.near_strides[-1], dims, "run_y")
    place = at(x_at, "on") if lookups else x_at
    copy = f"for (int64_t c = 0; c < {run}; c++) to[{at(y_at, y_run)}] = from[{at(place, x_run)}];"
    if x_run == y_run == "c":
        copy = f"__builtin_memcpy(to + ({y_at}), from + ({place}), {run} * sizeof *to);"
    return [
        "for (int64_t i = j; i < end; i++) {",
        *(["    int64_t on = 0;"] if lookups else []),
        *["    " + line for line in lookups],
        f"    {copy}",
        "}",
    ]


def at_once(quick, careful, move, indices):
    """C that gathers a stretch without a branch for each element, every index held within range.

    Where one was not, negative ones too, the stretch is gathered again, carefully. The loop over
    919 of 85 doubles takes 0.22 us, where all are looked at before they are used 0.41 us.
    """

    def loop(lines):
        head = "        for (int64_t i = first; i < last; i++) {"
        body = ["int64_t on = 0;", *lines, move]
        return [head, *["            " + line for line in body], "        }"]

    empty = "".join(f" || size{k} == 0" for k in range(indices))
    return [
        "for (int64_t last, first = j; first < end; first = last) {",
        f"    last = end - first < {STRETCH} ? end : first + {STRETCH};",
        f"    int others = last - first < {SHORT}{empty};",
        "    if (!others) {",
        "        #pragma GCC ivdep",
        *loop(quick),
        "    }",
        "    if (others) {",
        *loop(careful),
        "    }",
        "}",
    ]


def copy_run(lanes):
    """C that copies elements j .. end of a row, 1.25 times as fast as a call of memcpy."""
    return [
        "typedef __typeof__(*to) run __attribute__((vector_size(64), aligned(sizeof *to)));",
        "int64_t i = j;",
        f"for (; i + {lanes} <= end; i += {lanes}) *(run *)(to + i) = *(const run *)(from + i);",
        "for (; i < end; i++) to[i] = from[i];",
    ]


def checked(array, size):
    """The Launch that fails where an element of `array` is no index into an axis of `size`."""
    wide = [k for k, n in enumerate(array.shape) if n != 1]
    sizes, (strides,) = collapse([array.shape[k] for k in wide], [[array.strides[k] for k in wide]])
    sizes, strides = sizes or (1,), strides or (0,)
    dims = Dims()
    dims.put(sizes[-1], "n")
    dims.put(size, "size")
    lines, rows = unravel("row", sizes[:-1], dims)
    signed = not array.dtype.startswith("u")
    fields = (
        ("note", "check: every element is an index into an axis of this size"),
        ("type", dtypes.C_NAMES[array.dtype]),
        ("x_row", moved(rows, strides[:-1], dims)),
        ("x_at", times("i", strides[-1], dims, "sx")),
        ("index", "k < 0 ? k + size : k" if signed else "k"),
        ("sizes", block(dims.lines, 1)),
        ("unravel", block(lines, 2)),
    )
    count = product(array.shape)
    kernel = RawKernel("check_indices", fields, (("in", array.dtype),))
    took = work(NS_INDEX, count)
    return Launch(kernel, [array.pointer], dims.values, count, 64, took, [array.buffer], [])


# ---- scatter ------------------------------------------------------------------------------------


NOTES = {"set": "put in", "add": "added to", "max": "where larger than", "min": "where less than",
         **dict.fromkeys(("mul", "div", "and", "or", "xor"), "combined with")}  # fmt: skip
SIGNS = {"mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}


def scatter(nest, how, fill=False):
    """The Launch that sets `near` at the indexed places of `far`, or adds it ("add"), or takes the
    "max" or "min" of both, or what one of SIGNS makes of them, in their order.

    The range is the axis of the first index; fill: that axis is the first one of a contiguous
    target, which is cleared on the way, each piece just before it is added to.
    """
    dims = Dims()
    dims.put(nest.sizes[-1], "n")
    dims.put(product(nest.sizes[:-1]), "rows")
    lines, rows = unravel("row", nest.sizes[:-1], dims)
    y_row = moved(rows, nest.far_strides[:-1], dims)
    x_row = moved(rows, nest.near_strides[:-1], dims)
    per_row, per_element, _ = nest.lookups(dims, rows, owner=0)
    y_at = times("i", nest.far_strides[-1], dims, "sy")
    x_at = times("i", nest.near_strides[-1], dims, "sx")
    dtype, clear = nest.far.dtype, []
    kind, store = _store(dtype, how)
    if fill:
        one = times("1", nest.indices[0].step, dims, "step")
        clear = [f"__builtin_memset(y + lo * {one}, 0, (hi - lo) * {one} * sizeof *y);"]
    if per_element:
        body = (
            ["int64_t on = 0;"]
            + per_element
            + [store.format(f"to[{at(y_at, 'on')}]", f"from[{x_at}]")]
        )
    else:
        body = [store.format(f"to[{y_at}]", f"from[{x_at}]")]
    loop = ["for (int64_t i = 0; i < n; i++) {"] + ["    " + b for b in body] + ["}"]
    if per_element and how in ("add", "max", "min"):
        loop = in_quarters(body)
        if how == "add" and counts(nest):
            loop = (
                [*in_tables(per_element, f"from[{x_at}]", kind), "if (many) {"]
                + ["    " + line for line in loop]
                + ["}"]
            )
    if not per_element and nest.far_strides[-1]:
        loop.insert(0, "#pragma GCC ivdep")
    kernel = kernel_of(
        nest,
        "scatter",
        (
            (
                "note",
                f"scatter: x {NOTES[how]} y at checked indices; range: the first indexed axis",
            ),
            ("type", kind),
            ("pointers", block(nest.index_pointers(), 1)),
            ("sizes", block(dims.lines, 1)),
            ("fill", block(clear, 1)),
            ("unravel", block(lines, 2)),
            ("x_row", x_row),
            ("y_row", y_row),
            ("row_lookups", block(per_row, 2)),
            ("loop", block(loop, 2)),
        ),
        _roles(nest, "out", "in"),
        2,
        how == "set",
    )
    units, took = nest.indices[0].size, nest.work()
    if fill:
        took += work(dtypes.ITEMSIZE[dtype] * NS_BYTE, units, nest.indices[0].step)
    # each chunk looks at all indices
    chunks = max(1, min(MAX_CHUNKS, value_of(took) // (2 * value_of(nest.looks()) + 1)))
    buffers = [nest.near.buffer] + [i.layout.buffer for i in nest.indices]
    return Launch(
        kernel,
        nest.pointers(),
        dims.values,
        units,
        -(-units // chunks),
        took // 2,
        buffers + ([] if fill else [nest.far.buffer]),
        [nest.far.buffer],
    )


def in_quarters(body):
    """C that runs `body` for i = 0 .. n - 1, in four places of that range in turn.

    Where indices are sorted, additions that follow each other go to one place and wait for each
    other: 919 of them in 85 groups take 2.2 us in order, 1.1 us so (1.7 and 1.1 us unsorted).
    """
    inner = ["    " + b for b in body]
    return [
        "const int64_t quarter = n / 4;",
        "for (int64_t h = 0; h < quarter; h++) {",
        "    #pragma GCC unroll 4",
        "    for (int64_t u = 0; u < 4; u++) {",
        "        const int64_t i = h + u * quarter;",
        *["    " + b for b in inner],
        "    }",
        "}",
        "for (int64_t i = 4 * quarter; i < n; i++) {",
        *inner,
        "}",
    ]


def counts(nest):
    """Whether it adds integers to a vector without gaps, by one index for each of a row."""
    return (
        len(nest.sizes) == 1
        and len(nest.indices) == 1
        and not nest.far_strides[-1]
        and not dtypes.is_float(nest.far.dtype)
        and nest.far.dtype != "bool"
    )


def in_tables(lookup, value, kind):
    """C that adds in four tables of its own, one for each quarter of the row, where the range has
    few places and the row is long; `many`: whether that is left to others.

    Additions to one place wait for each other: 262,144 pixels of a smooth image take 2.1 ms where
    they go to one table, 0.4 ms so. Integers alone: sums of floats keep the order of `in_quarters`.
    """
    return [
        f"const int many = hi - lo > {PLACES} || n < {LONG};",
        "if (!many) {",
        f"    {kind} table[4][{PLACES}] = {{{{0}}}};",
        "    const int64_t quarter = n / 4;",
        "    for (int64_t h = 0; h < quarter; h++) {",
        "        #pragma GCC unroll 4",
        "        for (int64_t u = 0; u < 4; u++) {",
        "            const int64_t i = h + u * quarter;",
        "            int64_t on = 0;",
        *["            " + line for line in lookup],
        f"            table[u][on - lo] += {value};",
        "        }",
        "    }",
        "    for (int64_t i = 4 * quarter; i < n; i++) {",
        "        int64_t on = 0;",
        *["        " + line for line in lookup],
        f"        table[0][on - lo] += {value};",
        "    }",
        "    for (int64_t k = 0; k < hi - lo; k++)",
        "        to[lo + k] += table[0][k] + table[1][k] + table[2][k] + table[3][k];",
        "}",
    ]


def _store(dtype, how):
    """(C type, statement with {0} target and {1} value) of what `scatter` does."""
    size = dtypes.ITEMSIZE[dtype]
    if how == "set":
        return f"uint{8 * size}_t", "{0} = {1};"
    if how in ("max", "min"):
        return _extremum(dtype, ">" if how == "max" else "<")
    sign = SIGNS.get(how, "+")
    if dtype in dtypes.C_STORED:
        name = dtypes.C_STORED[dtype]
        wide = [f"ck_{name}_to_float({{{k}}})" for k in (0, 1)]
        return "uint16_t", f"{{0}} = ck_float_to_{name}({f' {sign} '.join(wide)});"
    if how != "add":
        sign = "&" if dtype == "bool" and how == "mul" else sign
        kind = dtypes.C_NAMES[dtype] if dtypes.is_float(dtype) else f"uint{8 * size}_t"
        if size < 4 and not dtypes.is_float(dtype):  # small ones would be multiplied as int
            return kind, f"{{0}} = ({kind})((uint32_t){{0}} {sign} (uint32_t){{1}});"
        return kind, f"{{0}} {sign}= {{1}};"
    if dtype == "bool":
        return "uint8_t", "{0} |= {1};"
    if dtypes.is_float(dtype):
        return dtypes.C_NAMES[dtype], "{0} += {1};"
    return f"uint{8 * size}_t", "{0} += {1};"


def _extremum(dtype, beats):
    """As `_store`, of the larger or smaller one; NaN where one of both is."""
    kind, load = dtypes.C_NAMES[dtype], "{0}"
    if dtype in dtypes.C_STORED:
        kind, load = "uint16_t", f"ck_{dtypes.C_STORED[dtype]}_to_float({{0}})"
    old, new = load.format("{0}"), load.format("{1}")
    return kind, f"if ({new} {beats} {old} || {new} != {new}) {{0}} = {{1}};"
