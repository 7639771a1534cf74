"""The spec of rewritten graphs finds what is left to do; every graph of the tests keeps to it."""

import pytest

from ckernels import ops
from ckernels.graph.node import make, new_uid
from ckernels.rewrite import optimise
from ckernels.rewrite.spec import check, concrete


def leaf(*shape, dtype="float32"):
    return make("placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": shape, "name": None})


def test_rewritten_graphs_keep_to_it():
    x = leaf(3, 4)
    roots = [
        ops.softmax(x),
        ops.logsumexp(x, 1),
        ops.var(x, 0),
        ops.where(ops.gt(x, 0), x, 0),
        ops.random_uniform((1, 2, 3), (4,)),
        ops.argmax(x, 1),
    ]
    assert check(optimise(roots))


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: ops.softmax(leaf(3, 4)), "composite"),
        (lambda: ops.exp(leaf(3, None)), "not known"),
    ],
)
def test_what_it_finds(build, words):
    with pytest.raises(AssertionError, match=words):
        check([build()])


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda node: setattr(node, "inputs", (node.inputs[0], leaf(3, 4, dtype="int32"))),
            "dtypes",
        ),
        (lambda node: setattr(node, "inputs", (node.inputs[0], leaf(4, 3))), "broadcast"),
        (lambda node: setattr(node, "shape", (3,)), "broadcast"),
    ],
)
def test_what_a_wrong_rewrite_could_leave(change, words):
    node = ops.sub(leaf(3, 4), leaf(3, 4))
    change(node)
    with pytest.raises(AssertionError, match=words):
        check([node])


def test_graphs_whose_results_have_open_sizes_are_not_asked():
    """Of nodes with several results, each of these counts."""
    x, y = leaf(3, 4), leaf(4, None)
    assert concrete([ops.exp(x)]) and not concrete([ops.exp(y)])
    assert concrete([ops.sum(x)]) and not concrete([ops.matmul(x, y)])
    several = ops.svd(leaf(4, 3))[0].inputs[0]
    assert several.outs is not None and concrete([several])
    open_ones = ops.svd(leaf(4, None))[0].inputs[0]
    assert not concrete([open_ones])
