"""Plans made from build functions, for tests of fusion: which steps come out, and rightly so."""

import numpy as np

from ckernels.graph.node import make, new_uid
from ckernels.ops.reference import evaluate
from ckernels.plan.instructions import flatten
from ckernels.runtime.function import make_function


def leaf(shape, dtype="float32", name=None):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": name}
    )


def plan(build, *arrays, check=True, rtol=2e-4):
    """(steps, kernels) of build(*leaves) on arrays; results are checked by the oracles."""
    arrays = [np.asarray(a) for a in arrays]
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    outputs = build(*leaves)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    function = make_function(leaves, outputs, positional_only=True, downcast=False)
    results = function(*arrays)
    if check:
        for got, want in zip(results, evaluate(outputs, dict(zip(leaves, arrays)))):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    steps = flatten(function.info.program.drafted("lower").instructions)
    kernels = [s.kernel for s in steps if s.kernel is not None]
    for kernel in kernels:
        kernel.check()
    return steps, kernels


def forms(build, *arrays, **options):
    """The forms of the kernels, in order."""
    return [k.form for k in plan(build, *arrays, **options)[1]]
