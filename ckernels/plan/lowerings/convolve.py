"""Launches of convolutions of rows: sums side by side, which stay in registers.

Sums at the ends of rows, where not all weights have a factor, are taken one by one. Rows whose
elements lie apart are copied first; halves are left to the oracle.
"""

from ...base.dtypes import C_NAMES, C_STORED, ITEMSIZE
from ...base.machine import NS_MULTIPLY
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, times, unravel
from ...graph.shapes import product
from ...graph.sizes import ceil_divide, smallest
from ...ops.shape import known_values
from ...schedule.cost import work

MOST = 256  # sums that one unit of the range computes, a multiple of what registers hold


def convolve(plan, node):
    """One block of sums per unit of the range."""
    a, v, part = node.inputs
    part = known_values(part)
    if None in part or a.dtype in C_STORED or a.dtype not in C_NAMES:
        return False
    lays = [plan.layout(x) for x in (a, v)]
    lays = [x if x.strides[-1] == 1 else plan.compact(x) for x in lays]
    target = plan.place(node)
    if not product(node.shape):
        return True
    start, size = part
    n, m = a.shape[-1], v.shape[-1]
    dims, blocks, rest = Dims(), ceil_divide(size, MOST), range(node.ndim - 1)
    dims.put(n)
    dims.put(m)
    for value, name in ((size, "size"), (blocks, "blocks"), (start, "start")):
        dims.put(value, name)
    lines, rows = unravel("row", node.shape[:-1], dims)

    def at(lay):
        return moved(rows, [lay.strides[k] for k in rest], dims)

    fields = (
        ("note", "convolve: sums of products of two rows, side by side"),
        ("type", C_NAMES[a.dtype]),
        ("align", str(ITEMSIZE[a.dtype])),
        ("most", str(MOST)),
        ("a_row", at(lays[0])),
        ("v_row", at(lays[1])),
        ("y_row", at(target)),
        ("y_at", times("(k + l)", target.strides[-1], dims, "sy")),
        ("sizes", block(dims.lines, 1)),
        ("unravel", block(lines, 2)),
    )
    pointers = [lay.pointer for lay in (*lays, target)]
    plan.launch(
        Launch(
            RawKernel("convolve", fields, tuple((r, a.dtype) for r in ("in", "in", "out"))),
            pointers,
            dims.values,
            product(node.shape[:-1]) * blocks,
            1,
            work(NS_MULTIPLY, product(node.shape), smallest(n, m)),
            [lay.buffer for lay in lays],
            [target.buffer],
        ),
        [node],
    )
    return True
