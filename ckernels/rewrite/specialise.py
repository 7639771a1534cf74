"""Special cases that are cheaper: thin matmuls, scales out of gemm, exact quotients.

Runs last, while composites are being lowered. Nothing here changes what is accurate: scales leave a
product of matrices only where they touch fewer elements behind it.
"""

import math

from .. import dtypes
from ..graph.node import make
from ..ops import cast
from .engine import Family, number, scalar
from .views import INVERSE_DEPTH, KEEP_OPERANDS, pushed

family = Family("specialise")
rule = family.rule


@rule("[composite]")
def lower(node):
    """A composite op is replaced by what it is made of."""
    return node.op.lower(node)


@rule(
    "conv",
    "conv_input_grad",
    "conv_weight_grad",
    "pool_max",
    "pool_max_grad",
    "pool_max_take",
    "pool_sum",
    "pool_sum_grad",
    "patches_grad",
    "interpolate",
    "interpolate_grad",
    "matmul",
    "csr_dot",
    "csr_sample",
    "csr_dense",
    "csr_product",
)
def half_in_single(node):
    """What adds up float16 or bfloat16 does so in float32: f(x) is cast(f(cast(x))), and has C."""
    if node.dtype not in dtypes.COMPUTED:
        return None
    wide = [cast(i, dtypes.computed(i.dtype)) for i in node.inputs]
    return cast(make(node.op, wide, node.attrs), node.dtype)


@rule("transpose")
def transposes_meet(node):
    """transpose(f(transpose(x), y)) is f(x, transpose(y)): what is stored need not be copied."""
    x = node.inputs[0]
    if x.op.kind != "elementwise" or not x.inputs or x.op.name in KEEP_OPERANDS:
        return None
    return pushed(node, x, INVERSE_DEPTH, leaves=True)


@rule("true_div")
def divide_by_power_of_two(node):
    """x / c is x * (1 / c) where c is a power of two: the same bits."""
    a, b = node.inputs
    value = number(b)
    if value is None or not math.isfinite(value) or value == 0 or b.ndim:
        return None
    mantissa, exponent = math.frexp(value)
    if (
        abs(mantissa) != 0.5
        or abs(exponent) > (120 if node.dtype == "float32" else 1000)
        or node.dtype not in ("float32", "float64")
    ):
        return None
    return make("mul", (a, scalar(1 / value, node.dtype)))


@rule("true_div")
def one_over_sqrt(node):
    """1 / sqrt(x) is rsqrt(x)."""
    a, b = node.inputs
    if number(a) == 1 and b.op.name == "sqrt" and node.dtype[0] == "f":
        return make("rsqrt", b.inputs)
    return None


@rule("matmul")
def outer_product(node):
    """(m, 1) @ (1, n) is a product with broadcasting, which fuses with what is around it."""
    a, b = node.inputs
    return make("mul", (a, b)) if a.shape[-1] == 1 and node.dtype != "bool" else None


@rule("matmul")
def inner_product(node):
    """(1, k) @ (k, 1) is sum(a * b)."""
    a, b = node.inputs
    if a.ndim != 2 or b.ndim != 2 or node.shape != (1, 1) or node.dtype[0] != "f":
        return None
    flat = [make("squeeze", (a,), {"axes": (0,)}), make("squeeze", (b,), {"axes": (1,)})]
    total = make("sum", (make("mul", flat),), {"axes": (0,)})
    return make("expand", (total,), {"axes": (0, 1)}) if total.dtype == node.dtype else None


@rule("matmul")
def scale_outside(node):
    """(c * a) @ b is c * (a @ b) for a scalar c and a stored: no scaled copy of a is made."""
    for k, i in enumerate(node.inputs):
        if i.op.name != "mul" or i.dtype[0] != "f":
            continue
        for scale, rest in (i.inputs, i.inputs[::-1]):
            if scale.ndim == 0 and _stored(rest):
                pair = list(node.inputs)
                pair[k] = rest
                return make("mul", (make("matmul", pair), scale))
    return None


def _stored(node):
    while node.op.kind == "movement":
        node = node.inputs[0]
    return node.op.kind in ("leaf", "gemm")
