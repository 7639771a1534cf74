"""np.einsum: NumPy's numbers for products of any letters, of sizes that are open while traced."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.numpy.rows.linear import _order

RNG = np.random.default_rng(3)
SUBSCRIPTS = ["ab,bc", "abc,cd->abd", "abc,bcd->ad", "abcd,cdef->abef", "abc,abd->abcd", "a,b,ab->",
              "ab,bc,cd->ad", "abc,cd,de,ef->abf", "ab,ab,ab->ab", "ca,cb->abc", "bac,adc->abd",
              "ab,ac,ad->bcd", "abc,bc,c->a", "a,a->", "ab,cd->acbd",
              "ab,bc,cd,de,ef->af", "ab,bc,bd->acd", "abc,acd->bd", "ab,acb->c"]  # fmt: skip


def operands(subscripts, dtype, **sizes):
    size = dict(zip("abcdef", (2, 3, 4, 5, 6, 7))) | sizes
    terms = subscripts.partition("->")[0].split(",")
    return [(3 * RNG.normal(size=[size[c] for c in t])).astype(dtype) for t in terms]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_numbers_of_open_sizes(subscripts, dtype):
    f = ck.jit(lambda *x: np.einsum(subscripts, *x), strict=True)
    rtol = 1e-3 if dtype == "float32" else 1e-9
    for sizes in ({}, {"a": 8, "c": 9}, {"b": 1}, {"c": 0}):
        given = operands(subscripts, dtype, **sizes)
        got, want = f(*given), np.einsum(subscripts, *given)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


MISFITS = [("ab,ab", (2, 3), (3, 2)), ("ab,ab", (6, 1), (1, 6)), ("aab,ab", (2, 2, 1), (1, 2)),
           ("abi,baj->ij", (6, 2, 2), (6, 2, 3)), ("ca,ac", (5, 0), (0, 6)), ("a,a", (1,), (4,)),
           ("zab,zab->z", (2, 2, 3), (2, 3, 2)), ("...a,ab->b", (2, 3), (3, 4))]  # fmt: skip


def result(function, *args):
    try:
        return function(*args).tolist()
    except ValueError:
        return ValueError


@pytest.mark.parametrize("subscripts, first, second", MISFITS)
def test_letters_of_other_sizes(subscripts, first, second):
    """NumPy repeats axes of 1 and refuses others, though products of sizes may be equal."""
    f, shapes = ck.jit(lambda *x: np.einsum(subscripts, *x)), (first, second)
    for some in (shapes, [tuple(n + 1 for n in s) for s in shapes], shapes):
        x = [np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in some]
        assert result(f, *x) == result(lambda *x: np.einsum(subscripts, *x), *x)


def test_the_order_of_products():
    """The fewest multiplications, were all sizes equal; from left to right where nothing tells."""
    assert _order(("ab", "bc", "cd"), "ad") == [(0, 1), (0, 1)]
    assert _order(("a", "b", "ab"), "")[0] in ((0, 2), (1, 2))  # no outer product
    assert _order(("ab", "cd", "bc"), "ad")[0] in ((0, 2), (1, 2))
    assert _order(("ab", "cd", "ef", "fa", "bc"), "de")[0] != (0, 1)
    assert _order(("ab",), "a") == []
    assert _order(("ui", "id", "ie"), "ude")[0] == (1, 2)  # uid would be turned, ide lies as it is


def test_gradients_of_three_operands():
    a, b, c = operands("ab,bcd,ad->ac", "float64")

    def cost(a, b, c):
        return (np.einsum("ab,bcd,ad->ac", a, b, c) ** 2).sum()

    found, second = ck.jit.grad(cost, (0, 1, 2))(a, b, c), ck.jit.hessian(cost)(a, b, c)
    for k in range(3):
        way, h = RNG.normal(size=(a, b, c)[k].shape), 1e-6
        high, low = ([x + s * h * way * (i == k) if i == k else x for i, x in enumerate((a, b, c))]
                     for s in (1, -1))  # fmt: skip
        slope = (cost(*high) - cost(*low)) / (2 * h)
        np.testing.assert_allclose((found[k] * way).sum(), slope, rtol=1e-6)
    way, h = RNG.normal(size=a.shape), 1e-3
    curve = (cost(a + h * way, b, c) - 2 * cost(a, b, c) + cost(a - h * way, b, c)) / h**2
    bent = np.einsum("ab,abcd,cd", way, second, way)
    np.testing.assert_allclose(bent, curve, rtol=1e-5)
