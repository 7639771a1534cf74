"""Flat loops: what one scalar stores lies before the loop over the elements."""

import numpy as np

from ckernels import ops
from ckernels.codegen.emit import emit

from ..planned import plan

ROW, SCALAR = np.linspace(0, 1, 24).reshape(4, 6), np.float64(0.5)


def both(x, s):
    scale = ops.exp(s)
    return ops.mul(x, scale), scale


def test_a_scalar_that_is_kept_does_not_lie_in_the_vector_loop():
    """GCC makes no vectors of a loop that stores one number at one place each time."""
    for x in (ROW, ROW.T, ROW[:, ::2], ROW[0]):
        steps, kernels = plan(both, x, SCALAR, rtol=1e-12)
        assert [k.form for k in kernels] == ["flat"]
        text = emit(kernels[0])[1]
        before, loop = text.split("#pragma GCC ivdep")
        constant = [i for i, o in enumerate(kernels[0].operands) if (o.role, o.inner) == ("out", 0)]
        assert len(constant) == 1
        assert f"y{constant[0]}[0] =" in before and f"{constant[0]}[0] =" not in loop
        assert len(kernels[0].stores) == 2
