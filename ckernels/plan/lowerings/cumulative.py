"""Running sums, products, extrema, recurrences: one kernel along rows, one along columns with a
strip of values.

Floats run in the next wider dtype, as the oracles do, so results agree bit for bit; integers wrap.
Parallel over rows or columns, never along the axis.
"""

from ...base import dtypes
from ...base.machine import NS_SUM_COLUMN, NS_SUM_ROW
from ...codegen.forms.columns import STRIP
from ...codegen.layout import collapse
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, times, unravel
from ...graph.shapes import product
from ...schedule.cost import work

STEPS = {  # op -> (note, start, statement of a step: from and with are the operands' elements)
    "+": ("sum", "0", "s{at} += {from}"),
    "*": ("product", "1", "s{at} *= {from}"),
    "recurrence": ("recurrence", "0", "s{at} = {from} * s{at} + {with}"),
    "max": ("maximum", "{least}", "s{at} = {from} > s{at} || {from} != {from} ? {from} : s{at}"),
    "min": ("minimum", "{most}", "s{at} = {from} < s{at} || {from} != {from} ? {from} : s{at}"),
}  # fmt: skip


LIMITS = {  # type of a running value -> what is below and above all others
    "float": {"least": "-__builtin_inf()", "most": "__builtin_inf()"},
    "uint64_t": {"least": "0", "most": "~(uint64_t)0"},
    "int64_t": {"least": "(int64_t)((uint64_t)1 << 63)", "most": "(int64_t)(~(uint64_t)0 >> 1)"},
}


def scan(xs, y, axis, op):
    """The Launch of a running sum, product or linear recurrence of `xs` along `axis`; see STEPS."""
    rest = [k for k, n in enumerate(y.shape) if n != 1 and k != axis]
    layouts = (*xs, y)
    sizes, strides = collapse(
        [y.shape[k] for k in rest], [[lay.strides[k] for k in rest] for lay in layouts]
    )
    dims, size = Dims(), dtypes.ITEMSIZE[y.dtype]
    dims.put(y.shape[axis], "n")
    columns = bool(strides[-1]) and strides[-1][-1] < abs(y.strides[axis])
    names = ("x", "z")[: len(xs)] + ("y",)
    if columns:
        dims.put(sizes[-1], "width")
        for name, lay in zip(names, layouts):
            dims.put(lay.strides[axis], f"step_{name}")
    near = [s[-1] if columns else lay.strides[axis] for s, lay in zip(strides, layouts)]
    lines, rows = unravel("row", sizes[:-1] if columns else sizes, dims)
    index = "c" if columns else "i"
    at = [times(index, s, dims, f"s{name}") for s, name in zip(near, names)]
    kind, wide, load, store = scan_types(y.dtype, ordered=op in ("max", "min"))
    note, start, step = STEPS[op]
    start = start.format_map(LIMITS.get(wide, LIMITS["float"]))
    here = "[c]" if columns else ""
    elements = {w: load.format(f"{w}[{i}]") for w, i in zip(("from", "with"), at[:-1])}
    fields = {
        "note": note,
        "type": kind,
        "wide": wide,
        "start": start,
        "step": step.format(at=here, **elements),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
        "y_at": at[-1],
        "store": store.format(f"s{here}"),
    }
    first = [
        times("j", s, Named(a), f"s{name}") if columns else None
        for s, a, name in zip(near, at, names)
    ]
    fields.update(_pointers(kind, names, strides, rows, first, dims))
    if columns:
        fields["strip"] = str(STRIP)
    count = product(sizes)
    took = work(NS_SUM_COLUMN if columns else NS_SUM_ROW, count, y.shape[axis])
    kernel = RawKernel(
        "scan_columns" if columns else "scan_rows",
        tuple(fields.items()),
        (*(("in", x.dtype) for x in xs), ("out", y.dtype)),
    )
    byte = [(lay.buffer, lay.offset * size) for lay in layouts]
    return Launch(
        kernel,
        byte,
        dims.values,
        count,
        16 if columns else 1,
        took,
        [x.buffer for x in xs],
        [y.buffer],
    )


def _pointers(kind, names, strides, rows, first, dims):
    """The holes of a template that hold operands: their declarations, and where a row begins."""
    declared, begins, moves = [], [], []
    for k, (name, steps) in enumerate(zip(names, strides)):
        out = name == "y"
        const, pointer = ("", "to") if out else ("const ", ("from", "with")[k])
        declared.append(f"{const}{kind} *const {name} = p[{k}];")
        begin = f"{name} + {moved(rows, steps, dims)}"
        if first[k] is None:
            begins.append(f"{const}{kind} *const {pointer} = {begin};")
        else:
            begins.append(f"{const}{kind} *{pointer} = {begin} + {first[k]};")
            moves.append(f"{pointer} += step_{name};")
    return {"operands": block(declared, 1), "begins": block(begins, 2), "moves": block(moves, 3)}


class Named:
    """Stands for Dims where a stride has its name already."""

    def __init__(self, text):
        self.text = text

    def put(self, value, name):
        return name


def scan_types(dtype, ordered=False):
    """(C type, type of the running value, load, store) of a running sum; ordered: of what tells
    negative numbers from positive ones."""
    if dtype in dtypes.C_STORED:
        name = dtypes.C_STORED[dtype]
        return "uint16_t", "float", f"ck_{name}_to_float({{0}})", f"ck_float_to_{name}({{0}})"
    if dtypes.is_float(dtype):
        return dtypes.C_NAMES[dtype], "double", "{0}", f"({dtypes.C_NAMES[dtype]}){{0}}"
    sign = "" if ordered and dtypes.kind(dtype) == "i" else "u"
    kind = f"{sign}int{8 * dtypes.ITEMSIZE[dtype]}_t"
    return kind, f"{sign}int64_t", "{0}", f"({kind}){{0}}"
