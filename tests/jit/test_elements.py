"""np.vectorize and np.apply_along_axis in a trace: NumPy's results, dtypes and errors; slopes."""

import math

import numpy as np
import pytest

import ckernels as ck

X = np.linspace(-1, 1, 40)


@np.vectorize
def bent(x):
    if x > 0:
        return math.sqrt(x)
    return -x


@np.vectorize
def halvings(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


@np.vectorize
def both(a, b):
    return a + b, a > b


def made_inside(x):
    def near(v, w):
        if abs(v - w) < 0.2:
            return v * w
        return v / (1 + w * w)

    return np.vectorize(near)(x, x[::-1]) + np.vectorize(math.sin)(x)


def rows_of_two(x):
    return np.apply_along_axis(lambda r: np.sort(r)[:2] * 2, 0, x.reshape(5, 8))


@pytest.mark.parametrize("f, args", [
    (bent, (X,)), (lambda x: bent(x.reshape(5, 8)) + 1, (X,)), (lambda x: bent(x[3]), (X,)),
    (halvings, (np.arange(1, 60),)), (both, (X, 0.25)),
    (lambda a, b: both(a[:, None], b), (X, X[:3])),
    (made_inside, (X,)), (lambda x: np.vectorize(lambda v: v > 0.3)(x), (X,)),
    (lambda x: np.vectorize(lambda v: v * 2, otypes=[np.float32])(x), (X,)),
    (lambda x: np.vectorize(lambda v: v * 2, otypes="f")(x), (X,)),
    (lambda x: np.vectorize(lambda v: v + 1)(x), (X > 0,)),
    (rows_of_two, (X,)), (lambda x: np.apply_along_axis(np.median, 0, x.reshape(5, 8)), (X,)),
    (lambda x: np.apply_along_axis(lambda r: r.sum() / r.max(), -1, x.reshape(5, 8)), (X,)),
    (lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 1, x.reshape(5, 4, 2)), (X,)),
    (lambda x: np.apply_along_axis(lambda r, k, s=1: r[0] * k + s, 1, x.reshape(5, 8), 3, s=2),
     (X,)),
    (lambda x: np.apply_along_axis(lambda r: r.sum(), 0, x), (X,)),
])  # fmt: skip
def test_results_are_numpys(f, args):
    want, found = f(*args), ck.jit(f, strict=True)(*args)
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, want))):
        assert type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-14)


def test_slopes():
    want = np.where(X > 0, 0.5 / np.sqrt(np.abs(X)), -1)
    np.testing.assert_allclose(ck.jit.grad(lambda x: bent(x).sum())(X), want)
    slope = ck.jit.grad(lambda x: np.apply_along_axis(lambda r: r @ r, 1, x.reshape(5, 8)).sum())(X)
    np.testing.assert_allclose(slope, 2 * X)


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_what_is_not_served_is_numpys():
    inverse = np.vectorize(lambda v: 1 / v)
    with pytest.raises(ZeroDivisionError):
        ck.jit(lambda x: inverse(x))(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="size 0 inputs"):
        ck.jit(bent)(np.zeros(0))
    with pytest.raises(ValueError, match="iteration dimensions are 0"):
        ck.jit(lambda x: np.apply_along_axis(np.sum, 0, x))(np.zeros((3, 0)))
    named = np.vectorize(lambda a, b: a * b, excluded={"b"})
    product = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
    for f, args in ((bent, (X.astype("f4"),)), (lambda x: named(x, b=2.0), (X,)),
                    (lambda a: product(a, a), (X.reshape(5, 8),)),
                    (np.vectorize(lambda x: f"{x:.1f}"), (X,)),
                    (np.vectorize(lambda x: x + 1j), (X + 1j,))):  # fmt: skip
        found, want = ck.jit(f)(*args), f(*args)
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)
