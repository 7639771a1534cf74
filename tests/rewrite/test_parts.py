"""Parts of sums: rules that ask whether sizes are equal do not take open ones for it."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.graph.node import constant
from ckernels.rewrite.parts import added_at_a_place


@pytest.mark.parametrize("sizes, alike", [((5, 5), True), ((None, None), False), ((1, 5), False),
                                          ((None, 5), False)])  # fmt: skip
def test_what_is_added_at_a_place_of_another_size_is_broadcast(sizes, alike):
    x, like = (K.placeholder((n,), dtype="float64") for n in sizes)
    y = K.placeholder((), dtype="float64")
    node = ops.add(x.node, ops.scatter_add(like.node, constant(np.array(2)), y.node, 0))
    assert (added_at_a_place(node) is not None) == alike
    for n in (1, 5):
        if sizes[0] in (n, None):
            f = K.function([x, like, y], Tensor(node))
            want = np.arange(n) + np.array([0, 0, 3.5, 0, 0])
            np.testing.assert_array_equal(f(np.arange(n), np.ones(5), 3.5), want)
