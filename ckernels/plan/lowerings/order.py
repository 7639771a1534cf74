"""Launches of what needs the order of elements along an axis: rows that the runtime sorts.

The rows lie by up to three axes; a tensor that lies by more is copied first. Results are
contiguous. Complex numbers are left to the oracle.
"""

from ...base.dtypes import C_NAMES, C_STORED, ITEMSIZE, is_float
from ...base.machine import NS_BIN, NS_EQUAL, NS_PLACES, NS_SEARCH, NS_SORT
from ...codegen.indexed import gather
from ...codegen.layout import collapse
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, times, unravel
from ...graph.shapes import product
from ...graph.sizes import estimate, reaches
from ...ops.sort import part_of
from ...plan.records import ORDER, OrderDims
from ...schedule.cost import work
from ..native import emit, slots
from .indexed import axis_nest

UNSIGNED, SIGNED, HALF, BFLOAT, FLOAT = range(5)  # order.h
KINDS = {
    "bool": UNSIGNED,
    **{f"uint{8 << k}": UNSIGNED for k in range(4)},
    **{f"int{8 << k}": SIGNED for k in range(4)},
    "float16": HALF,
    "bfloat16": BFLOAT,
    "float32": FLOAT,
    "float64": FLOAT,
}
SORT, PLACES, EQUAL, PARTITION = range(4)
MOST_ROWS = 3  # axes of rows
LONG = 1024  # elements of a row of which few are found without the others


def rows_of(source, target, axis):
    """(sizes, strides of the operand, of the result) of the rows; fewer axes where they fit."""
    rest = [k for k, n in enumerate(target.shape) if n != 1 and k != axis]
    return collapse(
        [target.shape[k] for k in rest],
        [[lay.strides[k] for k in rest] for lay in (source, target)],
    )


def emit_rows(plan, node, source, target, axis, what=SORT, falling=False, count=None, lays=True):
    """Add the instruction that puts the rows of `source` along an axis in order, as `target`; lays:
    which is what the node is. False where it would take too much memory."""
    sizes, (near, far) = rows_of(source, target, axis)
    if len(sizes) > MOST_ROWS:
        source = plan.compact(source)
        sizes, (near, far) = rows_of(source, target, axis)
    pad = (0,) * (MOST_ROWS - len(sizes))
    record = OrderDims(
        op=ORDER,
        width=ITEMSIZE[source.dtype].bit_length() - 1,
        kind=KINDS[source.dtype],
        what=what,
        falling=int(falling),
        length=source.shape[axis],
        count=source.shape[axis] if count is None else count,
        size=0,
        step=source.strides[axis],
        apart=target.strides[axis],
        sizes=(*(1 for _ in pad), *sizes),
        near=(*pad, *near),
        far=(*pad, *far),
        slots=slots(),
        none=(0,) * OrderDims.NESTED["none"][0],
    )
    ns = estimate(product(source.shape)) * (NS_PLACES if what else NS_SORT)
    return emit(plan, node, record, [source], ns, target=target, lays=lays)


def lower(what):
    """The lowering of an op along attrs["axis"]: sorted values, or places."""

    def ordered(plan, node):
        x, axis = node.inputs[0], node.attrs["axis"]
        if x.dtype not in KINDS:
            return False
        falling, count = node.attrs.get("falling", False), node.shape[axis]
        if what == PARTITION:
            near_end = part_of(node.attrs["kth"], x.shape[axis])
            if near_end is None:
                return False
            falling, count = near_end
        return emit_rows(plan, node, plan.layout(x), plan.target(node), axis, what, falling, count)

    return ordered


def equal(plan, node):
    """The lowering of first_equal: a vector of indices, and the tensor they point into."""
    x, like = node.inputs
    if x.dtype not in KINDS:
        return False
    source = plan.layout(x)
    record = OrderDims(
        op=ORDER,
        width=ITEMSIZE[x.dtype].bit_length() - 1,
        kind=KINDS[x.dtype],
        what=EQUAL,
        falling=0,
        length=x.shape[0],
        count=x.shape[0],
        size=like.shape[0],
        step=source.strides[0],
        apart=1,
        sizes=(1,) * MOST_ROWS,
        near=(0,) * MOST_ROWS,
        far=(0,) * MOST_ROWS,
        slots=1,
        none=(0,) * OrderDims.NESTED["none"][0],
    )
    return emit(plan, node, record, [source], estimate(x.shape[0]) * NS_EQUAL)


KEYS = {  # C: the key of bits x, whose order is that of what they are, and back: see order.h
    UNSIGNED: ("x", "key"),
    SIGNED: ("($word)(x ^ sign)", "($word)(key ^ sign)"),
    FLOAT: (
        "size > $infinity ? ($word)~($word)0 "
        ": ($word)(x ^ ($word)(($word)(0 - (x >> ($bits - 1))) | sign))",
        "key == ($word)~($word)0 ? ($word)($infinity | $infinity >> 1) "
        ": ($word)(key ^ ($word)(($word)~($word)(0 - (key >> ($bits - 1))) | sign))",
    ),
}
INFINITY = {"float16": "0x7c00u", "bfloat16": "0x7f80u", "float32": "0x7f800000u",
            "float64": "0x7ff0000000000000u"}  # fmt: skip


def selected(plan, node):
    """The lowering of selected: of long rows the keys in one bin, of these those in a narrower one,
    until they are few; short rows are sorted."""
    x, places = node.inputs
    if x.dtype not in KINDS:
        return False
    source, where = plan.layout(x), plan.layout(places)
    if not reaches(source.shape[-1], LONG):
        last = x.ndim - 1
        rows = plan.temp(source.shape, x.dtype)
        result = plan.target(node)
        nest = axis_nest(rows, result, last, where)
        if nest is None or not emit_rows(plan, node, source, rows, last, lays=False):
            return False
        plan.launch(gather(axis_nest(rows, plan.place(node), last, where)), [node])
        return True
    if source.strides[-1] != 1:
        source = plan.compact(source)
    target = plan.place(node)
    if 0 in node.shape:
        return True
    bits, dims = 8 * ITEMSIZE[x.dtype], Dims()
    word = f"uint{bits}_t"
    outer = [k for k, n in enumerate(source.shape[:-1]) if n != 1]
    sizes, (strides,) = collapse([source.shape[k] for k in outer],
                                 [[source.strides[k] for k in outer]])  # fmt: skip
    dims.put(source.shape[-1], "n")
    dims.put(where.shape[0], "wanted")
    dims.put(where.strides[0], "by")
    lines, rows = unravel("row", sizes, dims)
    keys = KEYS.get(KINDS[x.dtype], KEYS[FLOAT])
    to_key, from_key = (
        text.replace("$infinity", INFINITY.get(x.dtype, "")).replace("$word", word)
        .replace("$bits", str(bits)) for text in keys
    )  # fmt: skip
    fields = (
        ("note", "selected: elements of rows in order"),
        ("word", word),
        ("bits", str(bits)),
        ("to_key", to_key),
        ("from_key", from_key),
        ("x_row", moved(rows, strides, dims)),
        ("sizes", block(dims.lines, 1)),
        ("unravel", block(lines, 2)),
    )
    count = product(source.shape[:-1])
    scratch = plan.temp((count, source.shape[-1] + 1), x.dtype)
    roles = (("in", x.dtype), ("in", "int64"), ("out", x.dtype), ("out", x.dtype))
    took = work(NS_SORT, product(source.shape))
    launch = Launch(RawKernel("select", fields, roles),
                    [lay.pointer for lay in (source, where, target, scratch)], dims.values, count,
                    1, took, [source.buffer, where.buffer],
                    [target.buffer, scratch.buffer])  # fmt: skip
    plan.launch(launch, [node])
    return True


BEFORE = {  # C: whether a stands before b, NaN last
    ("left", True): "((a < b) | ((b != b) & (a == a)))",
    ("right", True): "((a <= b) | (b != b))",
    ("left", False): "(a < b)",
    ("right", False): "(a <= b)",
}


def walked(layout):
    """(sizes, strides, Dims that hold the last size as n) by which all elements are walked, axes
    together that lie as one."""
    wide = [k for k, n in enumerate(layout.shape) if n != 1]
    sizes, (strides,) = collapse(
        [layout.shape[k] for k in wide], [[layout.strides[k] for k in wide]]
    )
    dims = Dims()
    dims.put(sizes[-1] if sizes else 1, "n")
    return sizes, strides or (0,), dims


def searchsorted(plan, node):
    """The lowering of searchsorted: sixteen searches side by side, since each waits for memory."""
    x, v = (plan.layout(i) for i in node.inputs)
    if x.dtype not in KINDS or x.dtype in C_STORED:
        return False
    target = plan.place(node)
    if 0 in node.shape:
        return True
    sizes, strides, dims = walked(v)
    dims.put(x.shape[0], "size")
    lines, rows = unravel("row", sizes[:-1], dims)
    fields = (
        ("note", f"searchsorted: where v stands in x, {node.attrs['side']} of equal ones"),
        ("type", C_NAMES[x.dtype]),
        ("before", BEFORE[node.attrs["side"], is_float(x.dtype)]),
        ("v_row", moved(rows, strides[:-1], dims)),
        ("v_at", times("(k < m ? i + k : i)", strides[-1], dims, "sv")),
        ("x_at", times("(at[k] + half - 1)", x.strides[0], dims, "sx")),
        ("x_last", times("at[k]", x.strides[0], dims, "sx_last")),
        ("sizes", block(dims.lines, 1)),
        ("unravel", block(lines, 2)),
    )
    roles = (("in", x.dtype), ("in", x.dtype), ("out", "int64"))
    pointers = [lay.pointer for lay in (x, v, target)]
    count = product(node.shape)
    took = work(NS_SEARCH, count)
    launch = Launch(RawKernel("searchsorted", fields, roles), pointers, dims.values, count, 16,
                    took, [x.buffer, v.buffer], [target.buffer])  # fmt: skip
    plan.launch(launch, [node])
    return True


SETTLED = {  # C: a guess `b` put right by the edges, by one bin as NumPy does, or by all it takes
    False: ("b -= (b > 0) & (v < e[{b}]);", "b += (b < bins - 1) & (v >= e[{above}]);"),
    True: (
        "while (b > 0 && v < e[{b}]) b--;",
        "while (b < bins - 1 && v >= e[{above}]) b++;",
    ),
}


def equal_bins(plan, node):
    """The lowering of equal_bins: guesses of 64 elements in vectors, then each put right."""
    x, edges = (plan.layout(i) for i in node.inputs)
    if x.dtype in C_STORED:
        return False
    target = plan.place(node)
    if 0 in node.shape:
        return True
    sizes, strides, dims = walked(x)
    dims.put(edges.shape[0] - 1, "bins")
    lines, rows = unravel("row", sizes[:-1], dims)
    step = edges.strides[0]
    below, above, end = (
        times(i, step, dims, f"s{k}") for k, i in enumerate(("b", "(b + 1)", "bins"))
    )
    fields = (
        ("note", "equal_bins: between which edges in e the elements of x are; bins: between none"),
        ("type", C_NAMES[x.dtype]),
        ("e_end", f"e[{end}]"),
        ("x_row", moved(rows, strides[:-1], dims)),
        ("x_at", times("(i + k)", strides[-1], dims, "sx")),
        (
            "settle",
            block([s.format(b=below, above=above) for s in SETTLED[node.attrs["exact"]]], 4),
        ),
        ("sizes", block(dims.lines, 1)),
        ("unravel", block(lines, 2)),
    )
    roles = (("in", edges.dtype), ("in", x.dtype), ("out", "int64"))
    pointers = [lay.pointer for lay in (edges, x, target)]
    count = product(node.shape)
    launch = Launch(RawKernel("equal_bins", fields, roles), pointers, dims.values, count, 64,
                    work(NS_BIN, count), [x.buffer, edges.buffer], [target.buffer])  # fmt: skip
    plan.launch(launch, [node])
    return True


sort, places, partition = lower(SORT), lower(PLACES), lower(PARTITION)
