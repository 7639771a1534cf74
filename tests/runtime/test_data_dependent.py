"""Whether a graph has sizes that only data decide."""

import pytest

from ckernels import ops
from ckernels.graph.node import placeholder
from ckernels.graph.walk import toposort
from ckernels.ops.indexing.advanced import mask_indices
from ckernels.runtime.data_dependent import data_decides

X = placeholder("float64", (None,), "x")
N = placeholder("int64", (), "n")
SIZE = ops.size_of(X, 0)


@pytest.mark.parametrize(
    "root, decided",
    [
        (mask_indices(X, ops.gt(X, 0), 0)[0], True),
        (ops.nonzero(X)[0], True),
        (ops.reshape(X, (N, -1)), True),
        (ops.arange(0, N, 1, "int64"), True),
        (ops.broadcast_to(X, (N, SIZE)), True),
        (ops.arange(0, SIZE, 1, "int64"), False),
        (ops.reshape(X, (SIZE, 1)), False),
        (ops.exp(X), False),
        (ops.take(X, ops.cast(X, "int64"), 0), False),  # values alone
    ],
    ids=lambda case: case if isinstance(case, bool) else case.op.name,
)
def test_data_decide_sizes(root, decided):
    assert data_decides(toposort([root])) is decided
