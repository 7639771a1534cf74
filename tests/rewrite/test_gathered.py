"""Which updates become additions to rows, and which almost do."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.graph.node import make
from ckernels.ops.reference import evaluate
from ckernels.rewrite.gathered import gathered_updates, is_above, not_negative


def leaf(shape, dtype):
    return K.placeholder(shape=shape, dtype=dtype).node


W = leaf((50, 3), "float32")
I, J = leaf((4,), "int64"), leaf((2, 3), "int32")
G, H = leaf((4, 3), "float32"), leaf((2, 3, 3), "float32")
RATE, A = leaf((), "float32"), leaf((50, 3), "float32")
RNG = np.random.default_rng(3)


def scatter(indices=I, g=G):
    return make("scatter_add", (W, indices, g), {"axis": 0})


def sliced(low, high):
    zeros = ops.broadcast_to(ops.to_node(np.float32(0), "zeros"), (50, 3))
    slices = ((low, high, 1), (None, None, 1))
    return make("set_slice", (zeros, leaf((high - low, 3), "float32")), {"slices": slices})


def columns(low, high):
    zeros = ops.broadcast_to(ops.to_node(np.float32(0), "zeros"), (50, 3))
    slices = ((None, None, 1), (low, high, 1))
    return make("set_slice", (zeros, leaf((50, high - low), "float32")), {"slices": slices})


def rewritten(new, *outputs):
    return gathered_updates([(W, new)], list(outputs))[0]


CASES = {
    "less": lambda: W - scatter() * RATE,
    "more": lambda: scatter() + W,
    "divided and negated": lambda: W + -scatter() / RATE,
    "two": lambda: W - RATE * (scatter() + scatter(J, H) * 2),
    "a difference": lambda: W - (scatter(J, H) - scatter()),
    "slice": lambda: W - RATE * sliced(2, 7),
    "not linear": lambda: W - ops.square(scatter()),
    "a matrix of factors": lambda: W - scatter() * leaf((50, 3), "float32"),
    "a row of factors": lambda: W - scatter() * leaf((3,), "float32"),
    "a column of factors": lambda: W - scatter() * leaf((50, 1), "float32"),
    "a slice and a matrix and a row": lambda: (
        W - columns(1, 2) * leaf((50, 3), "float32") * leaf((3,), "float32")),
    "of itself twice": lambda: (lambda s: W - (s + s))(scatter()),
    "a rate that is computed": lambda: W - scatter() * ops.exp(leaf((1, 3), "float32")),
    "a rate of its own root": lambda: W - scatter() * ops.expand(ops.mul(RATE, RATE), (0, 1)),
    "clipped": lambda: W - RATE * ops.clip(scatter(), -0.5, 0.5),
    "chosen": lambda: W - ops.where(scatter() > 0.3, scatter() * 2, scatter()),
    "its sign": lambda: W - RATE * ops.sign(scatter()),
    "by the root of a table": lambda: W - scatter() / (ops.sqrt(ops.square(A)) + 1e-7),
    "with a table of squares": lambda: (
        lambda s: W - RATE * s / (ops.sqrt(ops.square(A) + ops.square(s)) + 1e-7)
    )(scatter() + scatter(J, H)),
}  # fmt: skip
NEAR = {
    "decay": lambda: W * RATE - scatter(),
    "with a matrix": lambda: W - (scatter() + leaf((50, 3), "float32")),
    "the wrong way round": lambda: scatter() - W,
    "another table": lambda: leaf((50, 3), "float32") - scatter(),
    "half of all rows": lambda: W - scatter(leaf((25,), "int64"), leaf((25, 3), "float32")),
    "half of all rows as a slice": lambda: W - sliced(0, 25),
    "slice of something": lambda: W - make(
        "set_slice", (leaf((50, 3), "float32"), leaf((2, 3), "float32")),
        {"slices": ((0, 2, 1), (None, None, 1))}),
    "two slices": lambda: W - (sliced(0, 3) + sliced(2, 4)),
    "one divided by it": lambda: W - RATE / scatter(),
    "a number more": lambda: W - (scatter() + 1e-3),
    "clipped above zero": lambda: W - ops.clip(scatter(), 0.1, 0.5),
    "its cosine": lambda: W - ops.cos(scatter()),
    "by what may be zero": lambda: W - scatter() / ops.sqrt(A),
    "by the root of a table less a number": lambda: W - scatter() / ops.sqrt(A - 1e-7),
    "by what rounds to zero": lambda: W - scatter() / ops.exp(A),
    "by what may be negative": lambda: W - scatter() / (A + 1e-7),
    "by its norm": lambda: (lambda s: W - s / ops.sqrt(ops.sum(ops.square(s))))(scatter()),
    "noise": lambda: W - scatter() * ops.random_uniform(7, (50, 3), "float32"),
    "a table that is computed": lambda: W - scatter() * ops.matmul(A, leaf((3, 3), "float32")),
    "a slice and a scatter": lambda: W - (scatter() + sliced(2, 7)),
}  # fmt: skip


def leaves_of(new):
    from ckernels.graph.walk import toposort

    found = {}
    for node in toposort([new]):
        if node.op.name == "placeholder":
            wide = node.dtype.startswith("int")
            found[node] = (
                RNG.integers(-50, 50, node.shape) if wide else RNG.normal(size=node.shape)
            ).astype(node.dtype)
    return found


@pytest.mark.parametrize("name", CASES)
def test_rows(name):
    new = CASES[name]()
    found, values = rewritten(new), leaves_of(new)
    assert found.op.name in ("advanced_inc", "inc_slice") and found.inputs[0] is W
    for got, want in zip(evaluate([found], values), evaluate([new], values)):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name):
    new = NEAR[name]()
    assert rewritten(new) is new


@pytest.mark.parametrize("under", [
    lambda: ops.sqrt(A + 1e-7), lambda: ops.sqrt(ops.maximum(1e-7 + A, 0))])  # fmt: skip
def test_roots_of_a_table_and_a_number(under):
    assert rewritten(W - scatter() / under()).op.name == "advanced_inc"


def test_what_others_read_is_computed():
    s = scatter()
    for outputs in ([s], [s * 2], [ops.sum(s)]):
        new = W - s
        assert rewritten(new, *outputs) is new
    new = W - s
    assert rewritten(new, new) is new
    assert rewritten(new, ops.sum(G)) is not new


@pytest.mark.parametrize("op", ["square", "abs", "relu", "sqrt"])
def test_what_is_never_negative_is_known(op):
    assert not_negative(make(op, (A,)))


def test_numbers_are_asked_and_other_values_are_not_known():
    two, below = ops.add(A, 2.0).inputs[1], ops.add(A, -2.0).inputs[1]
    assert not_negative(two) and not not_negative(below)
    assert not any(not_negative(n) for n in (A, ops.neg(A), ops.add(A, A)))
    assert is_above(ops.add(A, 2.0)) and is_above(ops.maximum(ops.add(A, 1e-7), 0.0))
    assert not any(is_above(n) for n in (ops.add(A, -2.0), ops.add(A, A), ops.mul(A, 2.0)))
