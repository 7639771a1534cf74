"""verify_grad: the gradient of a graph compared with differences."""

import numpy as np

from ...base.errors import UsageError
from ..base.exceptions import RefusedError
from ..compile.function import function
from ..graph.apply import Variable
from ..handles.sharedvar import shared
from ..handles.type import TensorType
from .differences import GradientError, numeric_grad
from .functions import grad

TOLERANCE = {"float16": (5e-2, 5e-2), "float32": (1e-2, 1e-2), "float64": (1e-4, 1e-4)}


def verify_grad(
    fun,
    pt,
    n_tests=2,
    rng=None,
    eps=None,
    out_type=None,
    abs_tol=None,
    rel_tol=None,
    mode=None,
    cast_to_output_type=False,
    no_debug_ref=True,
):
    """Compare the gradient of `fun` at the arrays `pt` with differences; GradientError where not.

    rng: a RandomState for the projection that makes a scalar of the result.
    """
    if not isinstance(pt, (list, tuple)):
        raise RefusedError("pt is a list of arrays")
    pt = [np.array(p) for p in pt]
    for k, p in enumerate(pt):
        if p.dtype not in ("float16", "float32", "float64"):
            raise UsageError(
                f"input {k} of verify_grad has dtype {p.dtype}; differences need "
                "float16, float32 or float64"
            )
    if rng is None:
        raise UsageError(
            "verify_grad draws numbers: pass rng=numpy.random.RandomState(seed), or "
            "call theano.tests.unittest_tools.verify_grad, which has one"
        )
    widest = max(pt, key=lambda p: TOLERANCE[str(p.dtype)][0]).dtype.name
    tol = TOLERANCE[widest]
    abs_tol, rel_tol = abs_tol or tol[0], rel_tol or tol[1]
    inputs = [
        TensorType(p.dtype, [d == 1 for d in p.shape])(f"input {k}") for k, p in enumerate(pt)
    ]
    out = fun(*inputs)
    if not isinstance(out, Variable):
        raise UsageError("verify_grad can only verify gradients of functions of one output")
    value = function(inputs, out, mode=mode, on_unused_input="ignore", name="gradient.py fwd")
    shape = value(*[p.copy() for p in pt]).shape
    # Weights of float64 add the result up in float64: a float32 sum is as coarse as the step.
    wide = out.dtype if cast_to_output_type and out.dtype == "float32" else "float64"
    projection = shared((rng.random_sample(shape) + 0.5).astype(wide))
    cost = (projection * out).sum()
    cost_fn = function(inputs, cost, mode=mode, on_unused_input="ignore")
    symbolic = grad(cost, inputs, disconnected_inputs="ignore")
    grad_fn = function(inputs, symbolic, mode=mode, on_unused_input="ignore")
    for test in range(n_tests):
        num = numeric_grad(cost_fn, [p.copy() for p in pt], eps, out_type)
        analytic = grad_fn(*[p.copy() for p in pt])
        arg, place, abs_err, rel_err = num.max_err(analytic, abs_tol, rel_tol)
        if abs_err > abs_tol and rel_err > rel_tol or not np.isfinite(abs_err):
            raise GradientError(
                arg,
                place,
                pt[arg].shape,
                num.gf[arg].flatten()[place],
                analytic[arg].flatten()[place],
                abs_err,
                rel_err,
                abs_tol,
                rel_tol,
            )
        if test + 1 < n_tests:
            projection.set_value(np.asarray(rng.random_sample(shape) + 0.5, dtype=projection.dtype))


verify_grad.E_grad = GradientError
