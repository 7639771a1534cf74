"""Values that a gradient computes again: what is one of them."""

import ckernels as K
from ckernels import ops
from ckernels.autodiff.recompute import checkpoint


def test_only_what_is_computed_from_the_operands_is_computed_again():
    x, w = (K.placeholder((3,)).node for _ in range(2))
    y = ops.exp(ops.mul(x, w))
    assert checkpoint(x, [x]) is x and checkpoint(ops.exp(w), [x]).op.name == "exp"
    assert checkpoint(y, []) is y
    for operands in ([x], [x, x], [x, w], [y.inputs[0]]):
        made = checkpoint(y, operands)
        assert made.op.name == "checkpoint" and made.inputs[0] is y
        assert len(set(made.inputs)) == len(made.inputs)  # each operand and captured node once
