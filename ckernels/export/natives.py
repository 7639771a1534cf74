"""The runtime's own kernels and their C in an export: a table by native instruction.

It says which file of `c/` has the function, how it is called, and how many operands it reads.
`multiplied` counts the multiply-adds of an instruction for the report.
"""

from typing import NamedTuple

from ..graph.shapes import product
from ..plan import records


class NativeSource(NamedTuple):
    """file: of c/; operands: how many it reads; flag: what stands between dims and pointers."""

    file: str
    operands: int
    flag: str = ""


NATIVES = {
    records.CONV: NativeSource("conv", 2),
    records.CONV_INPUT_GRAD: NativeSource("conv_input_grad", 2),
    records.CONV_WEIGHT_GRAD: NativeSource("conv_weight_grad", 2),
    records.DEPTHWISE: NativeSource("depthwise", 2, "0"),
    records.DEPTHWISE_INPUT_GRAD: NativeSource("depthwise", 2, "1"),
    records.DEPTHWISE_WEIGHT_GRAD: NativeSource("conv_weight_grad", 2),
    records.POOL_MAX: NativeSource("pool", 1, "0"),
    records.POOL_SUM: NativeSource("pool", 1, "1"),
    records.POOL_SUM_GRAD: NativeSource("pool_sum_grad", 1),
    records.POOL_MAX_GRAD: NativeSource("pool_max_back", 3, "0"),
    records.POOL_MAX_TAKE: NativeSource("pool_max_back", 3, "1"),
    records.TRANSPOSE: NativeSource("transpose", 1),
    records.REPEAT: NativeSource("transpose", 1),
    records.PLANES: NativeSource("depthwise", 2, "0"),
    records.PLANES_INPUT_GRAD: NativeSource("depthwise", 2, "1"),
    records.PLANES_WEIGHT_GRAD: NativeSource("conv_weight_grad", 2),
}  # fmt: skip
COPIES = (records.TRANSPOSE, records.REPEAT)
REFUSED = {
    records.ORDER: "exports have no C that sorts",
    records.ATTENTION: "exports have no C for attention by blocks",
    records.ATTENTION_GRAD: "exports have no C for attention by blocks",
}


def dtype_of(record):
    """The dtype a native instruction works in; of a copy, one as wide."""
    if record.op in COPIES:
        return ("uint8", "uint16", "uint32", "uint64")[record.dtype]
    return ("float32", "float64")[record.dtype]


def multiplied(d):
    """Multiply-adds of a native instruction with this record, those in the padding included."""
    if d.op in COPIES or records.POOL_MAX <= d.op <= records.POOL_MAX_TAKE:
        return 0
    taps = (a.result * a.kernel for a in d.axes)
    return product([d.batch, d.channels // d.groups, d.out, *taps])
