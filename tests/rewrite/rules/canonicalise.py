"""Examples and near misses of rules on canonical arithmetic."""

from ckernels import ops
from ckernels.graph.node import constant, make

from .written import C, E, F, ints, to

FAMILIES = ("canonicalise",)


# rule name -> examples (graph of a placeholder x, shape of x, dtype, exact)
EXAMPLES = {
    "plus_zero": [
        E(lambda x: x + 0, 7),
        E(lambda x: x - 0, 7),
        E(lambda x: 0 - x, 7),
        E(lambda x: x + 0, 7, dtype=ints),
        E(lambda x: x + to(constant(0.0, F), 3, 7), 7),
    ],
    "times_one": [
        E(lambda x: x * 1, 7),
        E(lambda x: 1 * x, 7),
        E(lambda x: x / 1, 7),
        E(lambda x: x * -1, 7),
        E(lambda x: x / -1, 7),
        E(lambda x: x * 0, 7, dtype=ints),
        E(lambda x: x * -1, 7, dtype=ints),
        E(lambda x: x * 1, 3, dtype="bool"),
    ],
    "mask_decided": [
        E(lambda x: ops.masked_mul(2.0, x), 7),
        E(lambda x: ops.masked_div(2.0, x), 7),
    ],
    "minus_itself": [E(lambda x: x - x, 7, dtype=ints)],
    "pow_by_constant": [
        C(lambda x, p=p: ops.abs(x) ** p, 7) for p in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, -1.5)
    ]
    + [C(lambda x, p=p: x**p, 7) for p in (5, 6, 7, 8, 10, 12)]
    + [E(lambda x, p=p: x**p, 7) for p in (0, 1)]
    + [E(lambda x, p=p: x**p, 7, dtype=ints) for p in (3, 5, 6, 7, 8, 10, 12)],
    "no_mark": [
        E(ops.stop_gradient, 7),
        E(ops.identity, 7),
        E(lambda x: make("checkpoint", (x,)), 7),
        E(lambda x: ops.masked(x > 0, x), 7),
        E(lambda x: ops.masked(x > 0, x[0]), 7),
    ],
    "neg_of": [
        E(lambda x: ops.neg(ops.neg(x)), 7),
        E(lambda x: -(x - 1.5), 7),
        E(lambda x: -(x * 3), 7),
        E(lambda x: -(3 / x), 7),
        E(lambda x: -(x * 3), 7, dtype=ints),
    ],
    "add_of_neg": [
        E(lambda x: ops.exp(x) + -x, 7),
        E(lambda x: -x + ops.exp(x), 7),
        E(lambda x: -x + -ops.exp(x), 7),
    ],
    "sub_of_neg": [
        E(lambda x: ops.exp(x) - -x, 7),
        E(lambda x: -x - ops.exp(x), 7),
        E(lambda x: -x - 2, 7),
    ],
    "product_of_neg": [
        E(lambda x: -x * ops.exp(x), 7),
        E(lambda x: -x / -ops.exp(x), 7),
        E(lambda x: ops.exp(x) / -x, 7),
        E(lambda x: -x * -x, 7, dtype=ints),
    ],
    "even_of_neg": [E(lambda x, fn=fn, sign=sign: fn(sign(x)), 7)
                    for fn in (ops.abs, ops.square, ops.cosh, ops.cos)
                    for sign in (ops.neg, ops.abs)],
    "equal_factors": [E(lambda x: x * x, 7)],
    "merge_factors": [
        C(lambda x: x * 3 * 7, 7),
        C(lambda x: 3 * (x / 7), 7),
        C(lambda x: x / 3 / 7, 7),
        C(lambda x: 3 / x * 7, 7),
        C(lambda x: (3 / x) / 7, 7),
        C(lambda x: x * 3 / 7, 7),
    ],
    "merge_terms": [
        E(lambda x: x + 3 + 7, 7, dtype=ints),
        E(lambda x: x - 3 + 7, 7, dtype=ints),
        E(lambda x: x + 3 - 7, 7, dtype=ints),
        E(lambda x: x - 3 - 7, 7, dtype=ints),
    ],
    "merge_casts": [
        E(lambda x: ops.cast(ops.cast(x, F), "float32"), 7, dtype="float32"),
        E(lambda x: ops.cast(ops.cast(x, "int64"), F), 7, dtype=ints),
        E(lambda x: ops.cast(ops.cast(x, "int16"), "int32"), 7, dtype="int8"),
        E(lambda x: make("cast", (x,), {"dtype": F}), 7),
        E(lambda x: ops.cast(ops.cast(x, "uint8"), "complex64"), 3, dtype="bool"),
        E(lambda x: ops.cast(ops.cast(x, "int64"), "int8"), 0, dtype="uint8"),
    ],
    "useless_where": [
        E(lambda x: ops.where(ops.gt(x, 0), x, x), 7),
        E(lambda x: ops.where(True, x, ops.exp(x)), 7),
        E(lambda x: ops.where(ops.logical_not(ops.gt(x, 0)), x, ops.exp(x)), 7),
    ],
    "same_operands": [E(lambda x, fn=fn: fn(x, x), 7) for fn in (ops.maximum, ops.minimum)]
    + [E(lambda x, fn=fn: fn(x, x), 4, dtype="bool") for fn in (ops.logical_and, ops.logical_or)]
    + [E(lambda x, fn=fn: fn(x, x), 7, dtype=ints) for fn in (ops.bit_and, ops.bit_or)],
    "not_not": [E(lambda x: ops.logical_not(ops.logical_not(x)), 3, dtype="bool")],
    "idempotent": [E(lambda x, fn=fn: fn(fn(x)), 7)
                   for fn in (ops.floor, ops.ceil, ops.trunc, ops.round, ops.relu, ops.sign)],
}  # fmt: skip

# rule -> (dtype, graphs of x that it almost fits)
NEAR = {
    "plus_zero": (F, [lambda x: x + 1, lambda x: x * 0]),
    "times_one": (F, [lambda x: x * 0, lambda x: 1 / x, lambda x: x * 1.5]),
    "mask_decided": (F, [lambda x: ops.masked_mul(constant(0.0, F), x),
                         lambda x: ops.masked_div(x, constant(2.0, F))]),
    "minus_itself": (F, [lambda x: x - x]),
    "pow_by_constant": (F, [lambda x: x**11, lambda x: x**x, lambda x: ops.pow(2.0, x)]),
    "neg_of": (F, [lambda x: -(x + ops.exp(x)), lambda x: -(x * ops.exp(x))]),
    "add_of_neg": (F, [lambda x: x + ops.abs(x)]),
    "product_of_neg": (F, [lambda x: x * ops.abs(x), lambda x: x / ops.exp(-x)]),
    "even_of_neg": ("uint8", [lambda x: ops.abs(-x)]),
    "merge_casts": ("int64", [lambda x: ops.cast(ops.cast(x, F), "int64"),
                              lambda x: ops.cast(ops.cast(x, "int8"), ints),
                              lambda x: ops.cast(ops.cast(x, "uint64"), F)]),
    "equal_factors": (F, [lambda x: x * -x, lambda x: x / x]),
    "merge_factors": (F, [lambda x: x * 1e200 * 1e200, lambda x: x * 3 + 3, lambda x: x * (x * x)]),
    "merge_terms": (F, [lambda x: x + 3 + 7, lambda x: 3 - x + 7]),
    "useless_where": (F, [lambda x: ops.where(ops.gt(x, 0), x, -x)]),
    "same_operands": (F, [lambda x: ops.maximum(x, -x)]),
    "idempotent": (F, [lambda x: ops.floor(ops.ceil(x)), lambda x: ops.exp(ops.exp(x))]),
    "no_mark": (F, [lambda x: ops.grad_scale(x, 2.0), lambda x: ops.print_(x, "x =")]),
    "sub_of_neg": (F, [lambda x: x - ops.abs(x), lambda x: ops.exp(-x) - x]),
    "not_not": ("bool", [ops.logical_not, lambda x: ops.bit_not(ops.logical_not(x))]),
}  # fmt: skip
