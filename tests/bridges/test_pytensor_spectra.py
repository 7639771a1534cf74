"""Gradients of eigenvalues and eigenvectors, found in PyTensor's graphs."""

import inspect

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pt = pytest.importorskip("pytensor.tensor")
import ckernels.pytensor as bridge  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 3))
x = pt.dmatrix("x")


def compiled(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="CKERNELS", **options)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvectors_and_their_gradient_at_equal_eigenvalues(uplo):
    """PyTensor's own gradient divides by zero there; d sum(b * exp(x)) is known by differences."""
    b = RNG.normal(size=(3, 3))
    eigh = pt.linalg.eigh if hasattr(pt.linalg, "eigh") else pt.nlinalg.eigh
    w, v = eigh(x, UPLO=uplo)
    cost = ((v * pt.exp(w)) @ v.T * b).sum()
    f = compiled([x], [cost, pytensor.grad(cost, x)])
    assert bridge.report(f) == []
    turned = np.linalg.qr(X[:3])[0]
    for values in ([1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [0.5, 1.0, 2.0]):
        a = turned * np.array(values) @ turned.T
        want = np.zeros((3, 3))
        for i, j in zip(*np.tril_indices(3)):
            for step, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
                moved = a.copy()
                moved[i, j] += step * 1e-4
                moved[j, i] = moved[i, j]
                want[i, j] += weight * f(moved)[0] / 12e-4
        want = want if uplo == "L" else want.T
        np.testing.assert_allclose(f(a)[1], want, rtol=1e-7, atol=1e-7)


NEW_EIGH = pytest.mark.skipif(
    "lower" not in inspect.signature(getattr(pt.linalg, "eigh", len)).parameters,
    reason="PyTensor before 3.3 has an op for the gradient of eigh",
)


def _of_eigenvectors(a, b):
    w, v = pt.linalg.eigh(a)
    return ((v * pt.exp(w)[..., None, :]) @ v.mT * b).sum()


def _has_our_gradient(f):
    return any(type(n.op).__name__ == "EighGrad" for n in f.maker.fgraph.apply_nodes)


@NEW_EIGH
def test_gradients_of_eigh_are_found_in_batches_in_float32_and_of_eigenvalues_alone():
    a = RNG.normal(size=(4, 3, 3))
    a, b = a + a.swapaxes(1, 2), RNG.normal(size=(4, 3, 3))
    stack, weights = pt.dtensor3("stack"), pt.dtensor3("weights")
    f = compiled([stack, weights], pytensor.grad(_of_eigenvectors(stack, weights), stack))
    assert _has_our_gradient(f) and bridge.report(f) == []
    one, weight = pt.fmatrix("one"), pt.dmatrix("weight")
    g = compiled([one, weight], pytensor.grad(_of_eigenvectors(one, weight), one))
    assert _has_our_gradient(g)
    for k in range(4):
        np.testing.assert_allclose(g(a[k].astype("f"), b[k]), f(a, b)[k], rtol=1e-3, atol=1e-3)
    alone = compiled([x], pytensor.grad(pt.log(pt.linalg.eigh(x)[0]).sum(), x))
    assert _has_our_gradient(alone)
    square = a[0] @ a[0] + np.eye(3)
    slope = np.linalg.inv(square)  # of log det: both halves fall on the lower triangle
    np.testing.assert_allclose(alone(square), np.tril(slope) + np.tril(slope, -1), rtol=1e-9)
    same = np.eye(3) * 2.0
    np.testing.assert_allclose(alone(same), np.eye(3) / 2)


@NEW_EIGH
@pytest.mark.parametrize("near", ["two matrices", "other values", "one triangle", "no gradient"])
def test_what_is_nearly_the_gradient_of_eigh_stays_what_it_is(near):
    a, b = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    a, b, z = a + a.T, b @ b.T + np.eye(3), pt.dmatrix("z")
    if near == "two matrices":
        w, v = pt.linalg.eigh(x, z)
        out = pytensor.grad((w**2).sum() + v[0, 0], x)
    else:
        w, v = pt.linalg.eigh(x)
        other = pt.linalg.eigh(z)[0] if near == "other values" else w
        gaps = pt.sub.outer(other, other).T
        inner = pt.diag(w) + pt.switch(pt.eye(3, dtype="bool"), 0.0, 1.0 / gaps) * (v.T @ (z @ v))
        s = v @ inner @ v.T
        out = {"one triangle": pt.tril(s), "no gradient": s - s.T}.get(near)
        out = pt.tril(s) + pt.triu(s, 1).T if out is None else out
    f = compiled([x, z], out, on_unused_input="ignore")
    want = pytensor.function([x, z], out, mode="FAST_COMPILE", on_unused_input="ignore")
    assert not _has_our_gradient(f)
    np.testing.assert_allclose(f(a, b), want(a, b), rtol=1e-8, atol=1e-8)
