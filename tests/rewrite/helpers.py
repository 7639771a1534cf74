"""Placeholders, awkward numbers, and an evaluator of graphs in mpmath: the truth for formulas."""

import mpmath
import numpy as np

from ckernels import ops  # noqa: F401  (attaches operators)
from ckernels.graph.folding import of_sizes
from ckernels.graph.node import constant, make, new_uid
from ckernels.graph.walk import rebuild, toposort
from ckernels.ops.reference import evaluate

DIGITS = 720  # enough for 1 - exp(-5e-324)
MANY_DIGITS = 9000  # enough for 1 - sigmoid(1e4)

AWKWARD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    0.1,
    -0.3,
    2.0,
    -2.0,
    3.7,
    -7.1,
    17.0,
    -17.0,
    30.0,
    -37.0,
    88.0,
    -88.0,
    89.5,
    -104.0,
    709.0,
    -709.0,
    746.0,
    -746.0,
    1e3,
    -1e3,
    1e4,
    -1e4,
    1e-3,
    -1e-3,
    1e-8,
    -1e-8,
    1e-20,
    -1e-20,
    1e-30,
    1e30,
    -1e30,
    np.inf,
    -np.inf,
    np.nan,
]  # fmt: skip
BEYOND = {
    "float32": [1e-44, -1e-44, 3e38, -3e38],
    "float64": [5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308],
}  # fmt: skip


def placeholder(dtype, shape, name="x"):
    """A leaf node of concrete shape."""
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": name}
    )


def awkward(dtype):
    """Numbers where formulas break, of this dtype."""
    return np.array(AWKWARD + BEYOND[dtype], dtype=dtype)


def _real(fn):
    def run(*args):
        if any(mpmath.isnan(a) for a in args):
            return mpmath.nan
        value = fn(*args)
        return mpmath.nan if isinstance(value, mpmath.mpc) else value

    return run


def _sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def _erfc(x):
    return mpmath.erfc(x) if abs(x) < 1000 else mpmath.mpf(0 if x > 0 else 2)


def _log(x):
    return mpmath.nan if x < 0 else mpmath.log(x)


MEANING = {
    name: _real(fn)
    for name, fn in {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "true_div": lambda a, b: a / b if b else (mpmath.inf * a if a else mpmath.nan),
        "neg": lambda a: -a,
        "abs": abs,
        "exp": mpmath.exp,
        "log": _log,
        "log1p": lambda a: _log(1 + a),
        "expm1": lambda a: mpmath.exp(a) - 1,
        "sqrt": lambda a: mpmath.nan if a < 0 else mpmath.sqrt(a),
        "square": lambda a: a * a,
        "reciprocal": lambda a: 1 / a if a else mpmath.inf,
        "sigmoid": _sigmoid,
        "softplus": lambda a: _log(1 + mpmath.exp(a)),
        "erf": mpmath.erf,
        "erfc": _erfc,
        "tanh": mpmath.tanh,
        "pow": lambda a, b: mpmath.power(a, b),
    }.items()
}


REDUCTIONS = ("sum", "mean")


def truth(root, env, digits=DIGITS):
    """Exact values of an elementwise (and sum, mean) graph, rounded to float64."""
    values = {n.uid: to_exact(a) for n, a in env.items()}
    with mpmath.workdps(digits):
        for node in toposort([root]):
            if node.uid in values:
                continue
            if node.value is not None:
                values[node.uid] = to_exact(node.value)
                continue
            inputs = [values[i.uid] for i in node.inputs]
            values[node.uid] = _apply(node, inputs)
        result = values[root.uid]
        return np.array([float(v) for v in result.ravel()]).reshape(result.shape)


def to_exact(array):
    array = np.asarray(array)
    exact = np.empty(array.shape, dtype=object)
    for i, v in np.ndenumerate(array):
        exact[i] = mpmath.mpf(float(v))
    return exact


def _apply(node, inputs):
    name = node.op.name
    if name in REDUCTIONS:
        total = np.sum(inputs[0], axis=node.attrs["axes"])
        count = inputs[0].size / max(np.size(total), 1)
        return np.asarray(total if name == "sum" else total / mpmath.mpf(count), dtype=object)
    if name in ("expand", "squeeze"):
        return np.reshape(inputs[0], node.shape)
    return np.asarray(np.frompyfunc(MEANING[name], len(inputs), 1)(*inputs), dtype=object)


def value(root, env):
    """One graph by the reference interpreter; sizes are what they are now."""
    sizes = {n: constant(n.value.astype("int64")) for n in toposort([root]) if of_sizes(n)}
    root = rebuild([root], sizes)[0] if sizes else root
    with np.errstate(all="ignore"):
        return evaluate([root], env)[0]


def ulps(got, want, dtype, scale=0):
    """Distance in units of the last place, NaN equal to NaN, beyond the range equal to inf.

    scale: magnitudes whose rounding the result cannot avoid.
    """
    with np.errstate(all="ignore"):
        want_typed = np.asarray(want).astype(dtype).astype("float64")
        got = np.asarray(got).astype("float64")
        size = np.fmax(np.abs(want_typed), np.where(np.isfinite(scale), scale, 0))
        spacing = np.spacing(size.astype(dtype)).astype("float64")
        spacing = np.maximum(spacing, np.finfo(dtype).smallest_subnormal)
        far = np.abs(got - np.where(np.isfinite(want_typed), want, 0)) / spacing
    same = (np.isnan(got) & np.isnan(want_typed)) | (got == want_typed)
    return np.where(same, 0, np.where(np.isfinite(got) & np.isfinite(want_typed), far, np.inf))
