"""Examples and near misses of rules on reductions, their sums, and special cases."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant

from .written import NESTED, VIEWED, C, E, F, as_shape, at, dense, image, to, turn, view, whole

FAMILIES = ("reductions", "specialise", "sums", "order")


def sides(x):
    """Rows of `x`, less a constant, against all rows."""
    return view("expand", x, axes=(1,)) * 2, x


def rows_by_rows(x):
    a, b = sides(x)
    return a - b


DECIDING = (ops.sqrt, ops.rsqrt, ops.log, ops.sign, ops.floor, ops.ceil)
COMPARING = (ops.lt, ops.le, ops.gt, ops.ge, ops.eq, ops.ne)

# rule name -> examples (graph of a placeholder x, shape of x, dtype, exact)
EXAMPLES = {
    "sort_of_one": [
        E(lambda x: ops.sort(x, 1), 3, 1),
        E(lambda x: ops.sort(x, 0), 1, 3, dtype="int8"),
        E(lambda x: ops.sort(x, 1), 0, 1, dtype="bool"),
    ],
    "place_in_one": [
        E(lambda x: ops.argmax(x, 1), 3, 1),
        E(lambda x: ops.argmin(x, 0), 1, 0, dtype="uint8"),
        E(lambda x: ops.argmax(x * np.nan), 1, 1),
    ],
    "running_over_one": [
        *(E(lambda x, op=op: op(x, 1), 3, 1)
          for op in (ops.cumsum, ops.cumprod, ops.cummax, ops.cummin)),
        E(lambda x: ops.cumsum(x, 0, True), 1, 3, dtype="int8"),
        E(lambda x: ops.cumprod(x, 1), 0, 1, dtype="bool"),
    ],
    "logsumexp_of_one": [
        E(lambda x: ops.logsumexp(x, 1), 3, 1),
        E(lambda x: ops.logsumexp(ops.log(x - x)), 1, 1),
        E(lambda x: ops.logsumexp(1 / (x - x), 0), 1, 3),
        E(lambda x: ops.logsumexp(x * np.nan, 0), 1, 3, dtype="float64"),
    ],
    "reduce_ones": [
        E(lambda x: ops.sum(x, 1), 3, 1),
        E(lambda x: ops.max(x, (0, 1)), 3, 1),
        C(lambda x: ops.sum(x, (0, 1)), 3, 1, 2),
        C(lambda x: ops.sum(x, (0, 1)), 0, 1, 2, dtype="uint64"),
        *(E(lambda x, op=op, axes=axes: view(op, x, axes=axes), 3, 1, dtype=dtype)
          for op, dtype in NESTED.items() for axes in ((), (1,), (0, 1))),
        C(lambda x: view("mean", x, axes=()), 3, 1),
        C(lambda x: view("mean", x, axes=(0, 1)), 3, 1),
    ],
    "reduce_of_view": [
        C(lambda x: ops.sum(turn(x, 2, 0, 1), 1), 2, 3, 4),
        C(lambda x: ops.sum(view("expand", x, axes=(1,)), 2), 2, 3),
        C(lambda x: ops.max(view("expand", x, axes=(1,)), (0, 1)), 2, 3),
        C(lambda x: ops.sum(as_shape(x, 6)), 2, 3),
        C(lambda x: ops.sum(to(x, 5, 2, 3), 0), 2, 3),
        C(lambda x: ops.sum(to(x, 5, 2, 3), (0, 2)), 2, 3),
        C(lambda x: ops.max(to(x, 5, 2, 3), (0, 1)), 2, 1),
        C(lambda x: ops.sum(to(x, 4, 3)), dtype="complex128"),
        C(lambda x: ops.sum(turn(x, 1, 0), 1), 0, 3),
        *(C(lambda x, op=op, of=of: view(op, of(x), axes=(0, 1)), 2, 3, dtype=dtype)
          for op, dtype in NESTED.items() for of in VIEWED
          if op != "prod" or of is not VIEWED[-1]),
    ],
    "reduce_of_reduce": [
        C(lambda x: ops.sum(ops.sum(x, 1)), 2, 3, 4),
        C(lambda x: ops.max(ops.max(x, 0), 1), 2, 3, 4),
        C(lambda x: ops.prod(ops.prod(x, 2), 0), 2, 3, 4),
        C(lambda x: ops.sum(ops.sum(x, 1)), 0, 3, dtype="uint64"),
        C(lambda x: ops.sum(ops.sum(x, 1)), 2, 3, dtype="complex64"),
        *(C(lambda x, op=op: view(op, view(op, x, axes=(1,)), axes=(0,)), 2, 3, dtype=dtype)
          for op, dtype in NESTED.items()),
    ],
    "extremum_of_joined": [
        C(lambda x: ops.max(ops.concatenate([whole(x), whole(x) * 2], 0)), 5),
        C(lambda x: ops.min(ops.concatenate([whole(x)[:, :1], -whole(x)], 1), (0, 1)), 3, 4),
    ],
    "few_of_outer": [
        C(lambda x: ops.prod(rows_by_rows(x), 2), 5, 2),
        C(lambda x: ops.prod(ops.abs(rows_by_rows(x)), 2), 3, 2),
        C(lambda x: ops.cast(ops.all(ops.lt(*sides(x)), 2), F), 3, 4),
        C(lambda x: ops.cast(ops.any(ops.logical_not(ops.lt(*sides(x))), 2), F), 3, 2),
        C(lambda x: ops.max(ops.cast(rows_by_rows(x), "int64"), 2), 3, 3),
        C(lambda x: ops.min(ops.cast(rows_by_rows(x), "int64"), 1), 3, 1, 3),
        C(lambda x: ops.cast(ops.sum(ops.lt(*sides(x)[::-1]), 0), F), 3, 1),
    ],
    "sum_of_product": [
        C(lambda x: ops.sum(3 * x, 1), 2, 3),
        C(lambda x: ops.sum(x / 3), 2, 3),
        C(lambda x: ops.sum(-x, 0), 2, 3),
        C(lambda x: ops.sum(x * constant(dense(2, 1)), 1), 2, 3),
        C(lambda x: ops.sum(x * constant(dense(3)), 0), 2, 3),
        C(lambda x: ops.sum(x * constant(dense(3)) * ops.exp(x), 0), 2, 3),
        C(lambda x: ops.sum(ops.exp(x) * (constant(dense(2, 1)) * x * 2), 1), 2, 3),
    ],
    "sum_of_choice": [
        C(lambda x: ops.sum(ops.where(ops.gt(x[0], 0), ops.exp(x), -np.inf)), 5),
        C(lambda x: ops.sum(ops.where(ops.gt(x[0], 0), -np.inf, ops.exp(x))), 5, dtype="float64"),
        C(lambda x: ops.sum(ops.where(ops.gt(x[:, :1], 0), x, np.inf), 1), 3, 4),
        C(lambda x: ops.sum(ops.where(ops.gt(x[:1, :1], 0), x, to(constant(np.nan), 3, 4)),
                            (0, 1)), 3, 4),
        C(lambda x: ops.sum(ops.where(ops.gt(x[:1], 0), x, -np.inf), 0), 3, 4),
    ],
    "distribute": [
        C(
            lambda x: (
                (ops.cos(x) / ops.exp(x) + ops.sin(x) / ops.cosh(x)) * (ops.exp(x) * ops.cosh(x))
            ),
            7,
        ),
        C(
            lambda x: (
                (ops.cos(x) / ops.sigmoid(x) - ops.sin(x) / ops.sigmoid(-x))
                * (ops.sigmoid(x) * ops.sigmoid(-x))
            ),
            7,
        ),
    ],
    "take_of_take": [
        C(lambda x: ops.take(ops.take(x, at(3, 0, -1), 0), at(1, 1), 1), 4, 5),
        C(lambda x: ops.take(ops.take(x, at(3, 0), 1), at([[1, -2], [0, 1]]), 0), 6, 5, 2),
        C(lambda x: ops.take(ops.take(x, at([3, 0]), 1), at(1), 3), 2, 4, 3, 5),
        C(lambda x: ops.take(ops.take(x, constant(np.int64(2)), 1), at(1), 1), 2, 4, 3),
    ],
    "transposes_meet": [
        E(
            lambda x: view(
                "transpose", view("transpose", x, perm=(1, 0)) * constant(dense(3, 2)), perm=(1, 0)
            ),
            2,
            3,
        ),
        E(
            lambda x: view("transpose", ops.exp(view("transpose", x, perm=(1, 0))), perm=(1, 0)),
            2,
            3,
        ),
    ],
    "lower": [C(ops.softmax, 2, 3), C(ops.mean, 2, 3)],
    "half_in_single": [
        C(lambda x: ops.matmul(x, x), 3, 3, dtype="float16"),
        C(lambda x: ops.pool_max(x, 2, 1), 2, 5, 3, dtype="float16"),
    ],
    "divide_by_power_of_two": [E(lambda x: x / 8, 7), E(lambda x: x / -0.25, 7)],
    "difference_of_products": [
        E(lambda x: x * 3.0 - ops.square(x), 7),
        E(lambda x: x[1:] * x[:-1] - x[:-1] * 3.0, 7),
    ],
    "decided_by_difference": [
        *(C(lambda x, g=g: g(x * 3.0 - ops.square(x)), 7) for g in DECIDING),
        *(C(lambda x, g=g: g(x * x - x * 3.0, 0.5), 7) for g in COMPARING),
        *(C(lambda x, g=g: g(x, x * 3.0 - x * x), 7) for g in COMPARING),
    ],
    "one_over_sqrt": [C(lambda x: 1 / ops.sqrt(ops.abs(x)), 7)],
    "outer_product": [C(lambda x: ops.matmul(x, constant(dense(1, 4))), 3, 1)],
    "logsumexp_of_shifted": [
        C(lambda x: ops.logsumexp(x - ops.max(x, 1, keepdims=True), 1), 2, 3),
        C(lambda x: ops.logsumexp(x - ops.max(x, 0), 0), 2, 3),
    ],
    "few_of_order": [
        C(lambda x, s=s: ops.numpy_argsort(x, 1)[(slice(None), *s)], 3, 40)
        for s in ([slice(2)], [slice(-2, None)], [slice(None, -3, -1)], [slice(1, None, -1)])
    ] + [
        C(lambda x: ops.numpy_argsort(x, 0)[:2, ::-1], 33, 4),
        C(lambda x: ops.argsort(x, 1)[:, :2], 3, 40),
        C(lambda x: ops.argsort(x, 1)[:, -2:], 3, 40),
    ],
    "few_of_sorted": [
        C(lambda x, s=s: ops.sort(x, 1)[(slice(None), *s)], 3, 512)
        for s in ([slice(2)], [slice(-2, None)], [slice(None, -3, -1)], [slice(1, None, -1)])
    ] + [C(lambda x: ops.sort(x, 0)[:2, ::-1], 600, 4)],
    "few_terms": [
        C(lambda x, k=k: ops.matmul(x, constant(dense(k, 1))), 5, k) for k in (2, 3, 4)
    ] + [
        C(lambda x: ops.matmul(constant(dense(1, 3)), x), 3, 5),
        C(lambda x: ops.matmul(constant(dense(5, 3)), ops.exp(x)), 3, 1),
        C(lambda x: ops.matmul(ops.tanh(x), constant(dense(4, 5))), 1, 4),
        C(lambda x: ops.matmul(x, constant(dense(2, 3, 1))), 2, 4, 3),
    ],
    "sums_of_products": [
        E(lambda x: ops.matmul(x, x[:, :2]), 4, 4, dtype="int8"),
        E(lambda x: ops.matmul(x, ops.transpose(x)), 4, 3, dtype="uint64"),
        E(lambda x: ops.matmul(x, x[0, :, :1]), 2, 3, 3, dtype="int32"),
        E(lambda x: ops.matmul(x[:1], x), 4, 4, dtype="int64"),
        E(lambda x: ops.matmul(x[:, :0], x[:0]), 4, 4, dtype="uint8"),
    ],
    "inner_product": [
        C(lambda x: ops.matmul(x, constant(dense(5, 1))), 1, 5),
        C(lambda x: ops.matmul(x, constant(dense(0, 1))), 1, 0),
    ],
    "scale_outside": [
        C(lambda x: ops.matmul(3.0 * x, constant(dense(5, 2))), 4, 5),
        C(lambda x: ops.matmul(constant(dense(2, 4)), x * 3.0), 4, 5),
    ],
}  # fmt: skip

# rule -> (dtype, graphs of x that it almost fits)
NEAR = {
    "divide_by_power_of_two": (F, [lambda x: x / 3, lambda x: x / 0.0, lambda x: 2 / x]),
    "sort_of_one": (F, [
        lambda x: ops.sort(x, 0), lambda x: ops.sort(as_shape(x, 1, 7), 1),
        lambda x: ops.argsort(as_shape(x, 7, 1), 1)]),
    "place_in_one": (F, [
        lambda x: ops.argmax(as_shape(x, 7, 1)), lambda x: ops.argmin(as_shape(x, 1, 7), 1)]),
    "running_over_one": (F, [
        lambda x: ops.cumsum(x, 0), lambda x: ops.cumprod(as_shape(x, 7, 1), 0),
        lambda x: ops.cummax(as_shape(x, 1, 7), 1), lambda x: ops.cummin(x, 0)]),
    "logsumexp_of_one": (F, [
        lambda x: ops.logsumexp(as_shape(x, 7, 1)), lambda x: ops.logsumexp(as_shape(x, 1, 7), 1)]),
    "reduce_ones": (F, [lambda x: ops.argmax(as_shape(x, 7, 1), 1), *(
        lambda x, op=op: view(op, ops.gt(x, 0) if NESTED.get(op) == "bool" else x, axes=(0,))
        for op in [*NESTED, "mean"])]),
    "reduce_of_view": (F, [
        lambda x: ops.prod(to(x, 2, 7), 0), lambda x: ops.argmax(x[::-1]), *(
            lambda x, op=op, of=of, dtype=dtype: view(op, of(ops.cast(x, dtype)), axes=(0,))
            for op, dtype in NESTED.items() for of in (
                lambda x: x[1:], lambda x: x[::-2], lambda x: as_shape(to(x, 4, 7), 14, 2)))]),
    "reduce_of_reduce": (F, [lambda x: ops.max(ops.min(to(x, 2, 7), 0), 0)]),
    "logsumexp_of_shifted": (F, [
        lambda x: ops.logsumexp(to(x, 2, 7) - ops.max(to(x, 2, 7)), 1),
        lambda x: ops.logsumexp(ops.max(x) - x), lambda x: ops.logsumexp(x - ops.min(x))]),
    "few_of_order": (F, [
        lambda x: ops.argsort(x)[:2], lambda x: ops.argsort(to(x, 40, 7), 0)[1:3],
        lambda x: ops.argsort(to(x, 40, 7), 0)[:4:2], lambda x: ops.argsort(to(x, 40, 7), 0)[:0]]),
    "few_of_sorted": (F, [
        lambda x: ops.sort(to(x, 511, 7), 0)[:2], lambda x: ops.sort(to(x, 600, 7), 0)[1:3],
        lambda x: ops.sort(to(x, 600, 7), 0)[:10], lambda x: ops.sort(to(x, 600, 7), 0)[:4:2]]),
    "few_terms": (F, [
        lambda x: ops.matmul(to(x, 5, 7), constant(dense(7, 1))),
        lambda x: ops.matmul(constant(dense(7, 3)), as_shape(x[:6], 3, 2)),
        lambda x: ops.matmul(ops.exp(as_shape(x[:6], 2, 3)), constant(dense(3, 1)))]),
    "sums_of_products": (F, [lambda x: ops.matmul(to(x, 80, 7), ops.broadcast_to(x[:1], (7, 80)))]),
    "outer_product": (F, [lambda x: ops.matmul(to(x, 2, 7), constant(dense(7, 2)))]),
    "inner_product": (F, [lambda x: ops.matmul(as_shape(x, 1, 7), constant(dense(7, 2)))]),
    "scale_outside": (F, [
        lambda x: ops.matmul(as_shape(x * x, 1, 7), constant(dense(7, 2))),
        lambda x: ops.matmul(as_shape(ops.exp(x) * 2, 1, 7), constant(dense(7, 2)))]),
    "difference_of_products": (F, [
        lambda x: x * x + x * 3.0, lambda x: x * x - x, lambda x: x - x * x,
        lambda x: ops.cast(x, "int32") * 2 - ops.cast(x, "int32") * ops.cast(x, "int32")]),
    "decided_by_difference": (F, [
        *(lambda x, g=g: g(x * x - x) for g in DECIDING),
        *(lambda x, g=g: g(x - x * x, 0.5) for g in COMPARING),
        *(lambda x, g=g: g(x, x - x * x) for g in COMPARING)]),
    "one_over_sqrt": (F, [lambda x: 2 / ops.sqrt(x), lambda x: 1 / ops.exp(x)]),
    "lower": (F, [ops.exp, ops.max]),
    "extremum_of_joined": (F, [
        lambda x: ops.max(ops.concatenate([x, x * 2], 0)),
        lambda x: ops.max(ops.concatenate([as_shape(whole(x), 7, 1)] * 2, 1), 0),
        lambda x: ops.sum(ops.concatenate([whole(x), whole(x)], 0)),
        lambda x: ops.max(ops.concatenate([whole(x), whole(x)[:0]], 0))]),
    "few_of_outer": (F, [
        lambda x: ops.sum(rows_by_rows(to(x, 2, 7)), 0),
        lambda x: ops.prod(rows_by_rows(to(x, 3, 7)), 0),
        lambda x: ops.prod(rows_by_rows(ops.transpose(to(x, 3, 7))), 2),
        lambda x: ops.sum(rows_by_rows(ops.transpose(to(x, 2, 7))), 2),
        lambda x: ops.max(rows_by_rows(ops.transpose(to(x, 2, 7))), 2),
        lambda x: ops.prod(
            rows_by_rows(turn(to(x, 2, 7), 1, 0)) * turn(to(x, 2, 7, 7), 1, 2, 0), 2),
        lambda x: ops.prod(ops.exp(turn(to(x, 2, 7), 1, 0)), 1)]),
    "sum_of_product": (F, [
        lambda x: ops.sum(x * ops.exp(x)), lambda x: ops.sum(3 / x), lambda x: ops.sum(x + 3),
        lambda x: ops.sum(to(x, 2, 7) * ops.exp(x), 1), lambda x: ops.sum(to(x, 2, 7) / x, 1),
        lambda x: ops.max(x * 3), lambda x: ops.sum(to(x, 0, 7) * 3.0)]),
    "sum_of_choice": (F, [
        lambda x: ops.sum(ops.where(ops.gt(x, 0), x, -np.inf)),
        lambda x: ops.sum(ops.where(ops.gt(x[0], 0), x[:0], -np.inf)),
        lambda x: ops.sum(ops.where(ops.gt(x[0], 0), x, 1.0)),
        lambda x: ops.sum(ops.where(ops.gt(x[0], 0), x, -0.0)),
        lambda x: ops.sum(ops.where(ops.gt(x[0], 0), as_shape(x, 1, 7), to(
            constant(np.float32(-np.inf)), 2, 7)), 0),
        lambda x: ops.max(ops.where(ops.gt(x[0], 0), x, -np.inf)),
        lambda x: ops.sum(ops.where(ops.gt(to(x, 2, 7), 0), to(x * 2, 2, 7), -np.inf), 1)]),
    "distribute": (F, [
        lambda x: (ops.cos(x) / ops.exp(x) + ops.sin(x)) * ops.cosh(x),
        lambda x: (
            (ops.cos(x) / (ops.sigmoid(x) * ops.cosh(x)) + ops.sin(x) / ops.cosh(x)) * ops.cosh(x)
        ),
        lambda x: (ops.cos(x) / ops.sin(x) + ops.exp(x)) * ops.sin(x)]),
    "half_in_single": (F, [lambda x: ops.matmul(to(x, 7, 7), to(x, 7, 7))]),
    "take_of_take": (F, [
        lambda x: ops.take(ops.take(x, at(3, 0), 0), at(1), 0),
        lambda x: ops.take(ops.take(to(x, 3, 7), at(1), 0), at(*range(7), 0), 1),
        lambda x: ops.take(ops.take(to(x, 2, 3, 7), at(1), 0), at(1), 2),
        lambda x: ops.take(ops.exp(ops.take(to(x, 3, 7), at(1), 0)), at(1), 1),
        lambda x: ops.take(ops.take(to(x, 2, 3, 7), at([1, 0]), 0), at(0), 1)]),
    "transposes_meet": (F, [lambda x: turn(ops.exp(to(x, 2, 7)), 1, 0),
                            lambda x: turn(ops.exp(image(x, 1, 2, 0)), 1, 2, 0),
                            lambda x: turn(ops.sum(image(x, 1, 0, 2), 0), 1, 0)]),
}  # fmt: skip
