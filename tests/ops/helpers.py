"""A small interpreter over oracles, a reverse mode over the `grad` of ops and finite differences.

Independent of ckernels.reference and ckernels.autodiff on purpose: ops are tested alone.
"""

import itertools

import numpy as np

from ckernels import ops
from ckernels.base import dtypes
from ckernels.graph.node import constant, make
from ckernels.graph.walk import rebuild, toposort

_uids = itertools.count()


def leaf(shape, dtype="float64", name=None):
    return make(
        "placeholder",
        (),
        {"uid": -1 - next(_uids), "dtype": dtype, "shape": tuple(shape), "name": name},
    )


def evaluate(outputs, env):
    """Arrays of the nodes `outputs`, given arrays of the leaves. Every result is checked against
    the dtype and shape that its op inferred."""
    memo = {k.uid: np.asarray(v) for k, v in env.items()}
    for node in toposort(outputs):
        if node.uid not in memo:
            y = node.op.oracle(node.attrs, *(memo[i.uid] for i in node.inputs))
            assert y.dtype.name == node.dtype, (node, y.dtype)
            assert len(y.shape) == node.ndim, (node, y.shape)
            assert all(d in (None, s) for d, s in zip(node.shape, y.shape)), (node, y.shape)
            memo[node.uid] = y
    return [memo[n.uid] for n in outputs]


def gradient(y, wrt, g):
    """Cotangents of the leaves `wrt` for the cotangent `g` of `y`; None where nothing arrives."""
    cotangents = {y.uid: g}
    for node in reversed(toposort([y])):
        arrived = cotangents.get(node.uid)
        if arrived is None or not node.inputs or not dtypes.is_inexact(node.dtype):
            continue
        assert node.op.grad is not None, f"{node.op} has no gradient"
        for i, part in zip(node.inputs, node.op.grad(node, arrived)):
            if part is not None:
                assert part.ndim == i.ndim and part.dtype == i.dtype, (node, part, i)
                before = cotangents.get(i.uid)
                cotangents[i.uid] = part if before is None else ops.add(before, part)
    return [cotangents.get(w.uid) for w in wrt]


def lowered(nodes):
    """`nodes` with every composite replaced by what it lowers to (once: the result holds none)."""
    out = rebuild(nodes, step=lambda n: n.op.lower(n) if n.op.kind == "composite" else n)
    assert not [n for n in toposort(out) if n.op.kind == "composite"]
    return out


def check_gradient(build, *arrays, wrt=None, step=1e-6, rtol=2e-6, atol=1e-7, static=False):
    """The ops' gradient of sum(build(...) * w) against central differences, in float64, by the
    oracles and by the lowered graph."""
    arrays = [np.array(a, dtype="float64") for a in arrays]
    leaves = [leaf(a.shape if static else (None,) * a.ndim) for a in arrays]
    env = dict(zip(leaves, arrays))
    y = build(*leaves)
    (value,) = evaluate([y], env)
    w = np.random.default_rng(1).normal(size=value.shape)
    wrt = range(len(arrays)) if wrt is None else wrt
    grads = gradient(y, [leaves[i] for i in wrt], constant(w))
    for i, computed in zip(wrt, grads):
        (got,) = evaluate([computed], env)
        assert got.shape == arrays[i].shape
        expected = np.empty_like(arrays[i])
        for index in np.ndindex(*arrays[i].shape):
            sides = []
            for h in (step, -step):
                moved = arrays[i].copy()
                moved[index] += h
                sides.append(np.sum(w * evaluate([y], {**env, leaves[i]: moved})[0]))
            expected[index] = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
        fixed = [leaf(a.shape) for a in arrays]
        concrete = lowered(rebuild([computed], dict(zip(leaves, fixed))))
        (again,) = evaluate(concrete, dict(zip(fixed, arrays)))
        np.testing.assert_allclose(again, expected, rtol=rtol, atol=atol)


def run(build, *arrays):
    """build(*leaves) evaluated on `arrays` by the oracles."""
    arrays = [np.asarray(a) for a in arrays]
    leaves = [leaf(a.shape, a.dtype.name) for a in arrays]
    return evaluate([build(*leaves)], dict(zip(leaves, arrays)))[0]


def run_lowered(build, *arrays):
    """Like `run`, through `lower`."""
    arrays = [np.asarray(a) for a in arrays]
    leaves = [leaf(a.shape, a.dtype.name) for a in arrays]
    return evaluate(lowered([build(*leaves)]), dict(zip(leaves, arrays)))[0]
