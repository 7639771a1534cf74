"""Batching convolutions and pools over one more axis: the same as one by one."""

import numpy as np
import pytest
from ops.agree import leaf

from ckernels import ops
from ckernels.autodiff.batch import NoBatchRule, batched
from ckernels.graph.node import make
from ckernels.ops.reference import evaluate

RNG = np.random.default_rng(9)
B = 3
X, W = (2, 4, 5, 4), (2, 3, 2, 6)
OPTIONS = {"strides": (1, 2), "padding": "same", "groups": 2}
G = (2, 4, 3, 6)

BUILDS = {
    "conv": (lambda x, w: ops.conv(x, w, **OPTIONS), X, W),
    "conv_input_grad": (lambda g, w: ops.conv_input_grad(g, w, X[1:-1], **OPTIONS), G, W),
    "conv_weight_grad": (lambda x, g: ops.conv_weight_grad(x, g, W[:2], **OPTIONS), X, G),
    "patches": (lambda x: ops.patches(x, 2), X),
    "patches_grad": (lambda p: ops.patches_grad(p, X[1:-1], (2, 2), 2), (2, 2, 2, 2, 2, 4)),
    "pool_max": (lambda x: ops.pool_max(x, 2), X),
    "pool_sum": (lambda x: ops.pool_sum(x, 2), X),
    "pool_sum_grad": (lambda g: ops.pool_sum_grad(g, X[1:-1], 2), (2, 2, 2, 4)),
    "interpolate": (lambda x: ops.interpolate(x, 2, 9, 2, -1, 4), X),
    "interpolate_grad": (lambda g: make("interpolate_grad", (g, ops.shape_vector([5])), {
        "axis": 2, "step": 2, "start": -1, "unit": 4}), (2, 4, 9, 4)),
    "pool_average": (lambda x: ops.pool_average(x, 3, 2, "same"), X),
}  # fmt: skip
ONE_BY_ONE = [
    (name, wide)
    for name, (_, *shapes) in BUILDS.items()
    for wide in ([(0,), (1,), (0, 1)] if len(shapes) == 2 else [(0,)])
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name, wide", ONE_BY_ONE)
def test_as_one_by_one(name, wide, known):
    """The operands `wide` vary: all are parts of one tensor, which the batch runs over."""
    build, *shapes = BUILDS[name]
    arrays = [RNG.normal(size=s) for s in shapes]
    count = sum(arrays[k].size for k in wide)
    values = RNG.normal(size=(B, count))
    source = leaf((count,))
    many = leaf((B if known else None, count))

    def operands(flat):
        start, out = 0, []
        for k, a in enumerate(arrays):
            if k in wide:
                out.append(ops.reshape(flat[start : start + a.size], a.shape))
                start += a.size
            else:
                out.append(ops.to_node(a))
        return out

    node = build(*operands(source))
    try:
        got = evaluate(batched([node], {source: many}), {many: values})[0]
    except NoBatchRule:
        assert len(wide) == 2 and not known
        return
    want = [evaluate([node], {source: v})[0] for v in values]
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_the_gradient_of_a_maximum():
    x = leaf(X)
    many = leaf((B, *X))
    values = RNG.permutation(B * int(np.prod(X))).reshape(B, *X) / 4.0
    y = ops.pool_max(x, 2, 1)
    for g in (y.op.grad(y, ops.square(y))[0],):
        take = g.op.grad(g, ops.exp(ops.mul(x, 0.01)))[2]
        for node in (g, take):
            got = evaluate(batched([node], {x: many}), {many: values})[0]
            np.testing.assert_array_equal(got, [evaluate([node], {x: v})[0] for v in values])


def test_sizes_that_vary_have_no_rule():
    sizes = leaf((2,), "int64")
    g = ops.conv_input_grad(leaf((2, 3, 3, 2)), leaf((2, 2, 1, 2)), sizes)
    with pytest.raises(NoBatchRule, match="sizes"):
        batched([g], {sizes: leaf((B, 2), "int64")})
