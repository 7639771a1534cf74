"""Launches of products of matrices of bytes: pairs of 16 bits, whose sums of products are 32.

Operands whose rows lie apart element by element are copied first.
"""

from ...base.machine import NS_MULTIPLY
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, times
from ...graph.shapes import product
from ...graph.sizes import ceil_divide
from ...schedule.cost import work

WIDE, TALL = 64, 96  # columns and rows of the block that a unit computes


def matmul_of_bytes(plan, node):
    """One block of the result per unit of the range."""
    lays = [plan.layout(x) for x in node.inputs]
    lays = [x if x.strides[1] == 1 else plan.compact(x) for x in lays]
    target = plan.place(node)
    if not product(node.shape):
        return True
    (m, k), n = node.inputs[0].shape, node.shape[1]
    blocks = ceil_divide(n, WIDE)
    dims = Dims()
    for value in (m, k, n, blocks, *(lay.strides[0] for lay in (*lays, target))):
        dims.put(value)
    place = times("(col + c)", target.strides[1], dims, "apart")
    fields = (
        ("note", "matmul_of_bytes: blocks of a product of matrices of bytes, in 32 bits"),
        ("wide", str(WIDE)),
        ("tall", str(TALL)),
        ("at", place),
        ("at_tile", place.replace("col", "col + t * COLS")),
        ("sizes", block(dims.lines, 1)),
    )
    roles = ("in", "int8"), ("in", "int8"), ("out", "int32")
    plan.launch(
        Launch(
            RawKernel("matmul_of_bytes", fields, roles),
            [lay.pointer for lay in (*lays, target)],
            dims.values,
            ceil_divide(m, TALL) * blocks,
            1,
            work(NS_MULTIPLY / 2, product(node.shape), k),
            [lay.buffer for lay in lays],
            [target.buffer],
        ),
        [node],
    )
    return True
