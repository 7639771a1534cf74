"""`agree`: a build function against NumPy: unknown and concrete shapes, lowered, and on views.

`check_gradient`: reverse mode of ckernels.autodiff against central differences in float64, to
second order.
"""

import numpy as np

from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.graph.folding import fold
from ckernels.graph.node import constant, make, new_uid
from ckernels.graph.walk import rebuild, toposort
from ckernels.ops.reference import evaluate


def leaf(shape, dtype="float64", name=None):
    return make(
        "placeholder",
        (),
        {"uid": new_uid(), "dtype": str(dtype), "shape": tuple(shape), "name": name},
    )


def outputs_of(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def strided(array):
    """The same values in a layout that is not contiguous."""
    if not array.ndim:
        return array
    wide = np.zeros(tuple(2 * d for d in array.shape[::-1]), array.dtype)
    view = np.flip(wide[tuple(slice(None, None, 2) for _ in array.shape)].T)
    view[...] = array
    return view


def lower_all(nodes):
    nodes = rebuild(nodes, step=lambda n: n.op.lower(n) if n.op.kind == "composite" else n)
    assert not [n for n in toposort(nodes) if n.op.kind == "composite"]
    return nodes


def same(got, want, rtol):
    want = np.asarray(want)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    assert got.shape == want.shape, (got.shape, want.shape)
    if rtol:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, want)


def agree(build, expect, *arrays, rtol=0, exact_shape=True):
    """build(*leaves) evaluates to expect(*arrays) (or to the arrays `expect`)."""
    arrays = [np.asarray(a) for a in arrays]
    wants = outputs_of(expect(*arrays) if callable(expect) else expect)
    unknown = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    known = [leaf(a.shape, a.dtype.name) for a in arrays]
    loose = outputs_of(build(*unknown))
    concrete = rebuild(loose, dict(zip(unknown, known)), fold)
    for leaves, nodes, values in (
        (unknown, loose, arrays),
        (known, outputs_of(build(*known)), arrays),
        (known, concrete, [strided(a) for a in arrays]),
        (known, lower_all(concrete), arrays),
    ):
        got = evaluate(nodes, dict(zip(leaves, values)))
        assert len(got) == len(wants)
        for node, g, w in zip(nodes, got, wants):
            same(g, w, rtol)
            assert node.dtype == g.dtype.name and node.ndim == g.ndim
            assert all(d in (None, s) for d, s in zip(node.shape, g.shape)), (node.shape, g.shape)
            if exact_shape and nodes is not loose:
                assert None not in node.shape, node
    return loose


def numeric(f, arrays, k, step=1e-5):
    """Central differences of the scalar f(*arrays) with respect to arrays[k]."""
    out = np.zeros(arrays[k].shape)
    for at in np.ndindex(*arrays[k].shape):
        sides = []
        for h in (step, -step):
            moved = [np.array(a) for a in arrays]
            moved[k][at] += h
            sides.append(f(*moved))
        out[at] = (sides[0] - sides[1]) / (2 * step)
    return out


def check_gradient(build, *arrays, order=2, wrt=None, rtol=1e-5, atol=1e-6, static=False):
    """Gradients of sum(w * build(..)) with respect to all arrays; then of those gradients."""
    arrays = [np.array(a, dtype="float64") for a in arrays]
    leaves = [leaf(a.shape if static else (None,) * a.ndim) for a in arrays]
    wrt = list(range(len(arrays)) if wrt is None else wrt)
    rng = np.random.default_rng(7)
    cost = weighted(outputs_of(build(*leaves)), leaves, arrays, rng)
    for _ in range(order):
        grads = reverse.grad(cost, [leaves[k] for k in wrt], disconnected="zero")
        got = evaluate(grads, dict(zip(leaves, arrays)))

        def value(*moved, cost=cost):
            return evaluate([cost], dict(zip(leaves, moved)))[0]

        for k, g in zip(wrt, got):
            assert g.shape == arrays[k].shape
            np.testing.assert_allclose(g, numeric(value, arrays, k), rtol=rtol, atol=atol)
        cost = weighted(grads, leaves, arrays, rng)


def weighted(nodes, leaves, arrays, rng):
    """A scalar: all elements of `nodes` with random weights."""
    total = None
    for node, value in zip(nodes, evaluate(nodes, dict(zip(leaves, arrays)))):
        part = ops.sum(ops.mul(node, constant(rng.normal(size=value.shape))))
        total = part if total is None else ops.add(total, part)
    return total
