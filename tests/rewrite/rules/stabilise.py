"""Examples and near misses of rules on stable formulas and factors."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant, make

from .written import C, F, as_shape, to, view

FAMILIES = ("stabilise", "factors")

scatter = np.array([0, 2, 1])


def unary(outer, *inner):
    """outer(f(x)) for each of these f."""
    return [lambda x, f=f: outer(f(x)) for f in inner]


def finite_maximum(x, axis, keepdims=False, test=ops.isinf, other=0):
    """max(x), and 0 where that is inf, as logarithms of sums are often written."""
    top = ops.max(x, axis, keepdims=keepdims)
    return ops.where(test(top), other, top)


# rule name -> examples (graph of a placeholder x, shape of x, dtype, exact)
EXAMPLES = {
    "log_of_power": [C(lambda x: ops.log(ops.abs(x) ** 2.5), 7), C(lambda x: ops.log(x**6), 7)],
    "log_of_softmax": [
        C(lambda x: ops.log(ops.softmax(x)), 2, 3),
        C(lambda x: ops.log(as_shape(ops.softmax(x, 0), 6)), 2, 3),
        C(lambda x: ops.log(ops.transpose(ops.softmax(x))), 2, 3),
        C(lambda x: ops.log(ops.softmax(x)[np.array([0, 1]), np.array([2, 1])]), 2, 3),
    ],
    "exp_of_log_softmax": [
        C(lambda x: ops.exp(ops.log_softmax(x, 0)), 2, 3),
        C(lambda x: ops.exp(-ops.softplus(x)), 7),
    ],
    "minus_logsumexp": [
        C(lambda x: x - ops.logsumexp(x, 1, keepdims=True), 2, 3),
        C(lambda x: x - ops.logsumexp(x, 0), 2, 3),
    ],
    "maximum_taken_off": [
        C(lambda x, op=op: op(x - ops.max(x, 1, keepdims=True), 1), 2, 3)
        for op in (ops.softmax, ops.log_softmax)
    ] + [C(lambda x: ops.softmax(x - finite_maximum(x, 1, keepdims=True), 1), 2, 3)],
    "maximum_put_back": [
        C(lambda x: finite_maximum(x, 1) + ops.log(
            ops.sum(ops.exp(x - finite_maximum(x, 1, keepdims=True)), 1)), 2, 3),
        C(lambda x: ops.max(x, 0) + ops.logsumexp(x - finite_maximum(x, 0), 0), 2, 3),
        C(lambda x: ops.max(x, 1) + ops.logsumexp(x - ops.max(x, 1, keepdims=True), 1), 2, 3),
        C(lambda x: ops.max(x, 0) + ops.log(ops.sum(ops.exp(x - ops.max(x, 0)), 0)), 2, 3),
        C(lambda x: ops.logsumexp(x - ops.max(x)) + ops.max(x), 2, 3),
    ],
    "collect": [
        C(lambda x: x * ops.exp(x) / ops.exp(x), 7),
        C(lambda x: ops.cos(x) / ops.maximum(ops.exp(x), x) * ops.maximum(ops.exp(x), x), 7),
        C(lambda x: 1 / (1 + ops.exp(-x)), 7),
        C(lambda x: ops.exp(x) / (1 + ops.exp(x)), 7),
        C(lambda x: x / (1 + ops.exp(-x)), 7),
        C(lambda x: ops.exp(x) / ops.sum(ops.exp(x), 1, keepdims=True), 2, 3),
        C(lambda x: ops.exp(x) / ops.sum(ops.exp(x), 0), 2, 3),
        C(lambda x: ops.exp(x) / ops.sum(ops.exp(x)), 2, 3),
        C(lambda x: ops.exp(x) / (ops.exp(x) + ops.exp(2 * x)), 7),
        C(lambda x: ops.sigmoid(x) / ops.sigmoid(-x), 7),
        C(lambda x: ops.exp(x) * ops.sigmoid(-x), 7),
        C(lambda x: ops.softmax(x, 1) / ops.sum(ops.softmax(x, 1), 1, keepdims=True), 2, 3),
        C(
            lambda x: (
                x
                * ops.exp(x)
                / view("expand", ops.sum(ops.exp(x), 1) * ops.sum(x, 1), axes=(1,))
                * ops.sum(ops.exp(x), 1, keepdims=True)
            ),
            2,
            3,
        ),
        C(
            lambda x: (
                make(
                    "scatter_add",
                    (x, constant(scatter), 1 / ops.take(ops.exp(x), scatter, 0)),
                    {"axis": 0},
                )
                * ops.exp(x)
            ),
            3,
            2,
        ),
    ],
    "common_factor": [
        C(lambda x: ops.cos(x) - ops.cos(x) * ops.sigmoid(x), 7),
        C(lambda x: ops.cos(x) / x * ops.sigmoid(-x) - ops.cos(x) / x, 7),
    ],
}  # fmt: skip

# rule -> (dtype, graphs of x that it almost fits)
NEAR = {
    "maximum_put_back": (F, [
        lambda x: ops.max(to(x, 2, 7), 1) + ops.logsumexp(
            to(x, 2, 7) - finite_maximum(to(x, 2, 7), 1, other=1, keepdims=True), 1),
        lambda x: finite_maximum(to(x, 2, 7), 1) + ops.logsumexp(
            to(x, 2, 7) - finite_maximum(to(x, 2, 7), 1, test=ops.isnan, keepdims=True), 1),
        lambda x: ops.min(to(x, 2, 7), 1) + ops.logsumexp(
            to(x, 2, 7) - ops.max(to(x, 2, 7), 1, keepdims=True), 1),
        lambda x: ops.max(to(x, 7, 7), 1) + ops.logsumexp(to(x, 7, 7) - ops.max(to(x, 7, 7), 0), 1),
        lambda x: ops.max(to(x, 2, 7), 1) + ops.logsumexp(
            to(x, 2, 7) + ops.max(to(x, 2, 7), 1, keepdims=True), 1)]),
    "minus_logsumexp": (F, [lambda x: x - ops.logsumexp(2 * x), lambda x: x + ops.logsumexp(x),
                            lambda x: ops.logsumexp(x) - x]),
    "maximum_taken_off": (F, [
        lambda x: ops.softmax(x - ops.min(x)), lambda x: ops.log_softmax(x - ops.min(x)),
        lambda x: ops.softmax(x - ops.max(-x)),
        lambda x: ops.softmax(as_shape(x, 7, 1) - ops.max(as_shape(x, 7, 1), 0), 1),
        lambda x: ops.softmax(ops.max(x) - x)]),
    "log_of_power": (F, [lambda x: ops.log(ops.pow(x, ops.exp(x))), lambda x: ops.log(x**0),
                         lambda x: ops.log(ops.pow(x, constant(np.inf, F)))]),
    "log_of_one_plus_exp": (F, unary(ops.log, lambda x: 2 + ops.exp(x), lambda x: 1 + ops.exp2(x))),
    "log_of_one_minus_exp": (F, unary(ops.log, lambda x: ops.exp(x) - 1, lambda x: 2 - ops.exp(x))),
    "log_of_one_plus": (F, unary(ops.log, lambda x: 2 + x, lambda x: x - 1)),
    "log_of_one_minus": (F, unary(ops.log, lambda x: 2 - x, lambda x: x - 1)),
    "log1p_of_exp": (F, unary(ops.log1p, ops.exp2, lambda x: 2 * ops.exp(x))),
    "log1p_of_minus_exp": (F, unary(ops.log1p, ops.exp, lambda x: -ops.exp2(x))),
    "log1p_of_minus_sigmoid": (F, unary(ops.log1p, ops.sigmoid, lambda x: -ops.tanh(x))),
    "log_of_sigmoid": (F, unary(ops.log, ops.tanh, lambda x: ops.sigmoid(x) + 1)),
    "log_of_exp": (F, [lambda x: ops.log2(ops.exp(x)), lambda x: ops.log(ops.exp2(x))]),
    "log_of_sqrt": (F, [lambda x: ops.log2(ops.sqrt(x)), lambda x: ops.log(ops.rsqrt(x))]),
    "log_of_square": (F, [lambda x: ops.log1p(ops.square(x)), lambda x: ops.log(x * ops.exp(x))]),
    "log_of_sum_of_exps": (F, unary(ops.log, lambda x: ops.exp(x) + ops.exp2(x),
                                    lambda x: ops.exp(x) + x)),
    "log_of_difference_of_exps": (F, unary(ops.log, lambda x: ops.exp(x) - ops.exp2(x),
                                           lambda x: x - ops.exp(x))),
    "log_of_sum_exp": (F, unary(ops.log, lambda x: ops.sum(ops.exp2(x)), ops.sum,
                                lambda x: ops.max(ops.exp(x)))),
    "log_of_mean_exp": (F, unary(ops.log, lambda x: ops.mean(ops.exp2(x)), ops.mean,
                                 lambda x: ops.sum(ops.exp(x)))),
    "log_of_softmax": (F, [lambda x: ops.log2(ops.softmax(x)),
                           lambda x: ops.log(2 * ops.softmax(x))]),
    "exp_of_log_softmax": (F, unary(ops.exp, lambda x: 2 * ops.log_softmax(x), ops.softplus,
                                    lambda x: -ops.softplus(x) * 2)),
    "exp_minus_one": (F, [lambda x: ops.exp(x) - 2, lambda x: ops.exp2(x) - 1]),
    "one_minus_exp": (F, [lambda x: 2 - ops.exp(x), lambda x: 1 - ops.exp2(x)]),
    "one_minus_sigmoid": (F, [lambda x: 2 - ops.sigmoid(x), lambda x: 1 - ops.tanh(x)]),
    "sigmoid_minus_one": (F, [lambda x: ops.sigmoid(x) - 2, lambda x: ops.tanh(x) - 1]),
    "reciprocal_of_one_plus_exp": (F, unary(ops.reciprocal, lambda x: 2 + ops.exp(x),
                                            lambda x: 1 + ops.exp2(x))),
    "log_ratio_tanh": (F, [
        lambda x: (ops.exp(x) + ops.exp(-x)) / (ops.exp(x) - ops.exp(-x)),
        lambda x: (ops.exp(x) - ops.exp(-x)) / (ops.exp(2 * x) + ops.exp(-2 * x)),
        lambda x: (ops.exp(-x) - ops.exp(x)) / (ops.exp(x) + ops.exp(-x))]),
    "one_minus_erf": (F, [lambda x: 2 - ops.erf(x), lambda x: ops.erf(x) - 1]),
    "one_minus_erfc": (F, [lambda x: 2 - ops.erfc(x), lambda x: ops.erfc(x) - 1]),
    "sqrt_of_square": (F, [lambda x: ops.sqrt(x * ops.exp(x)), lambda x: ops.rsqrt(ops.square(x))]),
    "square_of_sqrt": (F, [lambda x: ops.square(ops.rsqrt(x)), lambda x: ops.abs(ops.sqrt(x))]),
    "collect": (F, [
        lambda x: x / ops.sin(x) * ops.sin(x), lambda x: ops.exp(x) / (1 + ops.exp2(x)),
        lambda x: ops.exp(x) / (2 + ops.exp(x)), lambda x: ops.exp(x) / ops.sum(ops.exp2(x)),
        lambda x: ops.exp(x) / ops.sum(ops.exp(2 * x)), lambda x: ops.exp(x) * ops.sigmoid(x)]),
    "common_factor": (F, [
        lambda x: ops.cos(x) - ops.exp(x) * ops.sigmoid(x), lambda x: ops.cos(x) - ops.cos(x) * x,
        lambda x: ops.cos(x) + ops.cos(x) * ops.sigmoid(x),
        lambda x: ops.cos(x) - 2 * ops.cos(x) * ops.sigmoid(x)]),
}  # fmt: skip
