"""The runtime's own kernels and their C in an export: one row for each native instruction.

A row says which file of `c/` has the function, how it is called, and how many operands it reads.
`multiplied` counts the multiply-adds of an instruction for the report.
"""

from typing import NamedTuple

from ..graph.shapes import product
from ..plan import native


class Native(NamedTuple):
    """file: of c/; call: arguments after the dims, with {0}, {1}... for pointers."""

    file: str
    operands: int
    flags: str = ""


NATIVES = {
    native.CONV: Native("conv", 2),
    native.CONV_INPUT_GRAD: Native("conv_input_grad", 2),
    native.CONV_WEIGHT_GRAD: Native("conv_weight_grad", 2),
    native.DEPTHWISE: Native("depthwise", 2, "0, "),
    native.DEPTHWISE_INPUT_GRAD: Native("depthwise", 2, "1, "),
    native.DEPTHWISE_WEIGHT_GRAD: Native("conv_weight_grad", 2),
    native.POOL_MAX: Native("pool", 1, "0, "),
    native.POOL_SUM: Native("pool", 1, "1, "),
    native.POOL_SUM_GRAD: Native("pool_sum_grad", 1),
    native.POOL_MAX_GRAD: Native("pool_max_back", 3, "0, "),
    native.POOL_MAX_TAKE: Native("pool_max_back", 3, "1, "),
    native.TRANSPOSE: Native("transpose", 1),
    native.PLANES: Native("depthwise", 2, "0, "),
    native.PLANES + 1: Native("depthwise", 2, "1, "),
    native.PLANES + 2: Native("conv_weight_grad", 2),
}  # fmt: skip
FIRST_CONVOLUTION, LAST_CONVOLUTION = native.CONV, native.DEPTHWISE_WEIGHT_GRAD


def dtype_of(dims):
    """The dtype a native instruction works in; of a transposition, one of its width."""
    if dims[0] == native.TRANSPOSE:
        return ("uint32", "uint64")[dims[1]]
    return ("float32", "float64")[dims[1]]


def multiplied(dims):
    """Multiply-adds of a native instruction, padding counted."""
    op = dims[0]
    if op == native.TRANSPOSE or native.POOL_MAX <= op <= native.POOL_MAX_TAKE:
        return 0
    batch, channels, out, groups = dims[2:6]
    axes = [dims[6 + 6 * k : 12 + 6 * k] for k in range(3)]
    return product([batch, channels // groups, out, *(a[1] * a[2] for a in axes)])
