"""Chains down to a product, and slopes of scores: what is one and what almost is."""

import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import make
from ckernels.rewrite import scores

A, B = K.placeholder((3, 4)).node, K.placeholder((4, 5)).node
PRODUCT = ops.matmul(A, B)


@pytest.mark.parametrize(
    "x, leads",
    [
        (PRODUCT, True),
        (ops.neg(ops.mul(PRODUCT, 0.3)), True),
        (ops.add(PRODUCT, B[0]), True),
        (ops.where(ops.gt(K.placeholder((3, 5)).node, 0), PRODUCT, -1e9), True),
        (ops.exp(PRODUCT), False),
        (ops.neg(A), False),
        (A, False),
    ],
)
def test_what_leads_to_a_product(x, leads):
    assert scores.leads_to_product(x) == leads


def test_draws_keep_where_they_hold():
    """Hidden where a draw holds, a score is hidden by a condition like any other."""
    drawn = ops.lt(
        ops.random_uniform(K.placeholder((3,), dtype="int64").node, (3, 5), "float32"), 0.3
    )
    kept = scores.Chain(ops.where(drawn, PRODUCT, 0.0), lambda n: n is PRODUCT)
    assert kept.drawn is not None and not kept.hidden
    hidden = scores.Chain(ops.where(drawn, 0.0, PRODUCT), lambda n: n is PRODUCT)
    assert hidden.drawn is None and list(hidden.hidden) == [(drawn, False)]


def test_scales_in_one_order_are_compared():
    def keys(x):
        return scores.Chain(x, lambda n: n is PRODUCT).scale_keys()

    third, half = ops.mul(PRODUCT, 0.3), ops.mul(PRODUCT, 0.5)
    assert keys(ops.neg(third)) == keys(ops.mul(ops.neg(PRODUCT), 0.3))
    found = [keys(x) for x in (PRODUCT, third, half, ops.neg(third), ops.neg(PRODUCT))]
    assert len({tuple(k) for k in found}) == 5


def test_slopes_of_a_softmax_are_told_by_their_axis():
    g = K.placeholder((3, 4)).node
    p = ops.softmax(A)

    def slope(axes, wide, weights=p, other=g):
        total = ops.sum(ops.mul(weights, other), axes)
        total = make("expand", (total,), {"axes": wide}) if wide is not None else total
        return scores.slope(ops.mul(p, ops.sub(g, total)))

    assert slope((1,), (1,))[:2] == (p, g)
    q = K.placeholder((4, 4)).node  # of as many rows as columns: the sum fits along either
    square, h = ops.softmax(q), K.placeholder((4, 4)).node
    for axes, wide in (((0,), (0,)), ((0,), (1,)), ((1,), (0,))):
        total = make("expand", (ops.sum(ops.mul(square, h), axes),), {"axes": wide})
        assert scores.slope(ops.mul(square, ops.sub(h, total))) is None
    assert slope((0,), (0,)) is None and slope((1,), (1,), weights=A) is None
    assert slope((1,), (1,), other=A) is None
