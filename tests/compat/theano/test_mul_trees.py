"""Products as trees: what is taken apart and put together again, and pairs of sigmoid and exp."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.gof.graph import is_same_graph
from ckernels.compat.theano.tensor.nnet.sigm import (
    compute_mul,
    is_1pexp,
    is_exp,
    is_mul,
    is_neg,
    parse_mul_tree,
    partition_num_or_denom,
    perform_sigm_times_exp,
    simplify_mul,
)

x, y, z = T.dvectors("x", "y", "z")
VALUES = dict(zip((x, y, z), np.random.RandomState(3).uniform(-2, 2, (3, 4))))


def value(expression):
    return theano.function([x, y, z], expression, on_unused_input="ignore")(*VALUES.values())


def test_products_come_apart_and_together():
    assert parse_mul_tree(-(x * y)) == [True, [[False, x], [False, y]]]
    assert parse_mul_tree(x) == [False, x] and parse_mul_tree(T.neg(-x)) == [False, x]
    tree = (x * y) * -z
    assert is_same_graph(compute_mul(parse_mul_tree(tree)), tree)
    assert simplify_mul([True, [[True, None], [False, x]]]) == [False, x]
    assert simplify_mul([False, [[True, None]]]) == [True, None]
    with pytest.raises(TypeError, match="simplify_mul"):
        compute_mul([False, [[False, x], [False, None]]])


def test_forms_that_are_asked_for():
    assert is_mul(x * y) == [x, y] and is_mul(x + y) is None
    assert is_neg(-x) is x and is_neg(-1 * x) is x and is_neg(2 * x) is None
    assert value(is_neg(T.mul(x, -1, y))).tolist() == value(x * y).tolist()
    assert is_exp(T.exp(x)) == (False, x) and is_exp(-T.exp(x)) == (True, x)
    assert is_exp(x) is None and is_exp(T.exp(x) + 1) is None
    assert is_1pexp(1 + T.exp(x), False) == (False, x)
    for near in (2 + T.exp(x), 1 - T.exp(x), 1 + 2 * T.exp(x), y + T.exp(x), T.exp(x) * 1):
        assert is_1pexp(near, False) is None
    assert partition_num_or_denom(x * -T.exp(y), is_exp) == ([y], [x], True)


@pytest.mark.parametrize("written, pairs", [
    (T.nnet.sigmoid(x) * T.exp(-x), 1),
    (T.exp(x) * y * T.nnet.sigmoid(-x), 1),
    (-T.exp(x) * -T.nnet.sigmoid(-x) * -T.exp(-x), 2),
    (T.exp(-x) * -T.exp(-x) * (-T.nnet.sigmoid(x) * -T.nnet.sigmoid(x)), 2),
    (T.exp(x) * T.nnet.sigmoid(x), 0),
    (T.exp(-y) * T.nnet.sigmoid(x), 0),
])  # fmt: skip
def test_pairs_of_sigmoids_and_exponentials(written, pairs):
    tree = parse_mul_tree(written)
    assert perform_sigm_times_exp(tree) is bool(pairs)
    made = compute_mul(simplify_mul(tree))
    ops = [n.op for n in theano.gof.graph.io_toposort([x, y, z], [made])]
    before = [n.op for n in theano.gof.graph.io_toposort([x, y, z], [written])]
    assert before.count(T.exp) - ops.count(T.exp) == pairs
    np.testing.assert_allclose(value(made), value(written), rtol=1e-13)
