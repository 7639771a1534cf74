"""Running sums and products: one kernel along rows, one along columns with a strip of values.

Floats run in the next wider dtype, as the oracles do, so results agree bit for bit; integers wrap.
Parallel over rows or columns, never along the axis.
"""

from ... import dtypes
from ...codegen.layout import collapse
from ...codegen.lower import GRAIN_NS, STRIP, Launch
from ...codegen.raw import Dims, RawKernel, block, moved, times, unravel
from ...graph.shapes import product
from ...graph.sizes import estimate, value_of

NS_ROW, NS_COLUMN = 1.2, 0.3  # per element on one core: along rows each waits for the last


def scan(x, y, axis, op, start):
    """The Launch of a running sum (op "+") or product ("*") along `axis`."""
    rest = [k for k, n in enumerate(x.shape) if n != 1 and k != axis]
    sizes, (xs, ys) = collapse(
        [x.shape[k] for k in rest], [[lay.strides[k] for k in rest] for lay in (x, y)]
    )
    dims, size = Dims(), dtypes.ITEMSIZE[x.dtype]
    dims.put(x.shape[axis], "n")
    columns = bool(ys) and ys[-1] < abs(y.strides[axis])
    if columns:
        dims.put(sizes[-1], "width")
        dims.put(x.strides[axis], "step_x")
        dims.put(y.strides[axis], "step_y")
    near = (xs[-1], ys[-1]) if columns else (x.strides[axis], y.strides[axis])
    lines, rows = unravel("row", sizes[:-1] if columns else sizes, dims)
    index = "c" if columns else "i"
    at = [times(index, s, dims, name) for s, name in zip(near, ("sx", "sy"))]
    kind, wide, load, store = scan_types(x.dtype)
    fields = {
        "note": "sum" if op == "+" else "product",
        "type": kind,
        "wide": wide,
        "op": op,
        "start": start,
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
        "load": load.format(f"from[{at[0]}]"),
        "y_at": at[1],
        "store": store.format("s[c]" if columns else "s"),
        "x_row": moved(rows, xs, dims),
        "y_row": moved(rows, ys, dims),
    }
    if columns:
        fields.update(
            strip=str(STRIP),
            x_first=times("j", near[0], Named(at[0]), "sx"),
            y_first=times("j", near[1], Named(at[1]), "sy"),
        )
    count = product(sizes)
    ns = estimate(count, x.shape[axis]) * (NS_COLUMN if columns else NS_ROW)
    kernel = RawKernel(
        "scan_columns" if columns else "scan_rows",
        tuple(fields.items()),
        (("in", x.dtype), ("out", y.dtype)),
    )
    grain = max(1, int(GRAIN_NS * value_of(count) / max(ns, 1)))
    byte = [(lay.buffer, lay.offset * size) for lay in (x, y)]
    return Launch(
        kernel, byte, dims.values, count, 16 if columns else 1, grain, ns, [x.buffer], [y.buffer]
    )


class Named:
    """Stands for Dims where a stride has its name already."""

    def __init__(self, text):
        self.text = text

    def put(self, value, name):
        return name


def scan_types(dtype):
    """(C type, type of the running value, load, store) of a running sum."""
    if dtype == "float16":
        return "uint16_t", "float", "ck_half_to_float({0})", "ck_float_to_half({0})"
    if dtypes.is_float(dtype):
        return dtypes.C_NAMES[dtype], "double", "{0}", f"({dtypes.C_NAMES[dtype]}){{0}}"
    kind = f"uint{8 * dtypes.ITEMSIZE[dtype]}_t"
    return kind, "uint64_t", "{0}", f"({kind}){{0}}"
