"""Passes over kernels: each where it applies, and on inputs that almost match, against NumPy.

In mode "fast_compile" few rewrites run before, so that kernels see the formulas as written.
"""
import numpy as np
import pytest

from ckernels import ops
from ckernels.runtime.function import Function

from .planned import leaf

RNG = np.random.default_rng(7)


def run(build, *arrays, mode="fast_compile"):
    """(result, C text) of build(*leaves) on arrays."""
    leaves = [leaf((None,) * a.ndim, a.dtype.name) for a in arrays]
    function = Function(leaves, [build(*leaves)], positional_only=True, mode=mode)
    return function(*arrays)[0], function.info.source()


def full(value, shape=(3, 5), dtype="float32"):
    return np.full(shape, value, dtype)


def normal(*shape, dtype="float32"):
    return RNG.normal(size=shape).astype(dtype)


# ---- quotients by the sum of a softmax become products with its reciprocal ----------------------

def over_sum(z, a, b, axis=1):
    """z / sum(exp(a - max(b)))."""
    e = ops.exp(a - ops.max(b, axis, keepdims=True))
    return z / ops.sum(e, axis, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_divides_once_per_row(dtype, axis):
    x = 30 * normal(6, 50, dtype=dtype)
    def softmax(x):
        e = ops.exp(x - ops.max(x, axis, keepdims=True))
        return e / ops.sum(e, axis, keepdims=True)
    got, text = run(softmax, x)
    e = np.exp((x - x.max(axis, keepdims=True)).astype("longdouble"))
    np.testing.assert_allclose(got, e / e.sum(axis, keepdims=True), rtol=8 * np.finfo(dtype).eps,
                               atol=1e-38)
    assert text.count("1.0f / " if dtype == "float32" else "1.0 / ") == 1


@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_the_sum_of_other_exponentials_may_be_tiny(mode):
    """The maximum of b says nothing of a: here the sum is subnormal, its reciprocal infinite."""
    got, _ = run(over_sum, full(1e-43), full(0), full(100), mode=mode)
    want = np.float32(1e-43) / np.float64(5 * np.float32(np.exp(-100.0)))
    np.testing.assert_allclose(got, full(want), rtol=0.05)      # both are subnormal
    assert np.isfinite(got).all()


@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_exponentials_over_their_own_tiny_sum(mode):
    def build(a, b):
        e = ops.exp(a - ops.max(b, 1, keepdims=True))
        return e / ops.sum(e, 1, keepdims=True)
    got, _ = run(build, full(0, (3, 4)), full(100, (3, 4)), mode=mode)
    np.testing.assert_array_equal(got, full(0.25, (3, 4)))


@pytest.mark.parametrize("build, arrays", [
    (lambda z, x: over_sum(z, 2 * x, x), (full(1e-43), full(-50))),
    (lambda z, x: over_sum(z, x, -x), (full(1e-43), full(-50))),
    (lambda z, x: z / ops.sum(ops.exp(x - ops.min(x, 1, keepdims=True)), 1, keepdims=True),
     (full(1), np.array([[0, 80, 80, 80, 80]] * 3, "float32"))),
    (lambda z, x: z / ops.prod(ops.exp(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
     (full(1e-43), np.array([[0, -100, 0, 0, 0]] * 3, "float32"))),
    (lambda z, x: z / ops.sum(ops.exp2(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
     (full(3), normal(3, 5))),
    (lambda z, x: z / ops.max(ops.exp(x - ops.max(x, 1, keepdims=True)), 1, keepdims=True),
     (full(3), normal(3, 5))),
], ids=["twice x", "minus x", "minimum", "product", "exp2", "maximum of exponentials"])
def test_almost_a_softmax(build, arrays):
    got, text = run(build, *arrays)
    leaves = [leaf(a.shape, "float64") for a in arrays]
    from ckernels.reference import evaluate
    want, = evaluate([build(*leaves)], dict(zip(leaves, [a.astype("float64") for a in arrays])))
    tiny = arrays[0].max() < 1e-40                  # few bits are left in subnormal numbers
    np.testing.assert_allclose(got, want, rtol=0.05 if tiny else 1e-5)
    assert "1.0f / " not in text


# ---- the exponential of x - logsumexp(x) is a multiple of the summed ones ----------------------

def exp_less_logsumexp(x, top):
    """exp(x - y), y = log(sum(exp(x - top))) + top, 0 where that is not finite."""
    y = ops.log(ops.sum(ops.exp(x - ops.expand_dims(top, 1)), 1)) + top
    return ops.exp(x - ops.expand_dims(finite(y), 1))


def finite(x):
    return ops.where(ops.isfinite(x), x, 0)


def test_a_logsumexps_gradient_takes_one_exponential_per_element():
    x = 20 * normal(5, 40)
    x[1, 3], x[2] = -np.inf, -np.inf
    got, text = run(lambda x: exp_less_logsumexp(x, finite(ops.max(x, 1))), x)
    wide = x.astype("float64")
    top = wide.max(1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        y = np.log(np.exp(wide - top).sum(1, keepdims=True)) + top
    want = np.exp(wide - np.where(np.isfinite(y), y, 0))
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-38)
    assert "ck_exp" not in text.rsplit("for (", 1)[1]


@pytest.mark.parametrize("shift", [95, 100, 103])
def test_a_top_that_is_no_maximum(shift):
    """exp(x - top) is tiny and exp(top - y) overflows although their product is about 1."""
    x = full(0)
    for build in (lambda x, b: exp_less_logsumexp(x, ops.max(b, 1)),
                  lambda x, b: exp_less_logsumexp(x, finite(ops.max(b, 1)))):
        got, _ = run(build, x, full(shift))
        assert np.isfinite(got).all() and (got > 0.1).all(), got
