"""Convolutions of rows run in C, whatever their sizes, dtypes and layouts."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.plan.instructions import PYCALL
from ckernels.plan.lowerings.convolve import MOST

RNG = np.random.default_rng(5)


def compiled(ndim, dtype, start, size, after=lambda y: y):
    a, v = (K.placeholder((None,) * ndim, dtype=dtype) for _ in "av")
    n, m = (ops.size_of(x.node, ndim - 1) for x in (a, v))
    return K.function([a, v], Tensor(after(ops.convolve(a.node, v.node, start(n, m), size(n, m)))))


def full(n, m):
    return ops.sub(ops.add(n, m), 1)


def native(function):
    return all(i.kind != PYCALL for i in function.info.program.instructions)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int8", "uint8", "int32", "int64", "uint64"]
)
def test_sizes_below_and_above_those_of_registers(dtype):
    f = compiled(1, dtype, lambda n, m: 0, full)
    for n in (1, 7, 8, 9, 31, 32, 33, 64, 129, MOST, MOST + 1, 3 * MOST + 5):
        for m in (1, 2, 8, 33, 65, MOST + 9):
            a, v = (RNG.integers(0, 100, k).astype(dtype) for k in (n, m))
            np.testing.assert_array_equal(f(a, v), np.convolve(a, v))
            np.testing.assert_array_equal(f(a[::-1], v[::-1]), np.convolve(a[::-1], v[::-1]))
    assert native(f)


def test_rows_of_any_layout():
    f = compiled(3, "float64", lambda n, m: 3, lambda n, m: n,
                 lambda y: ops.transpose(y, (2, 0, 1)))  # fmt: skip
    a, v = RNG.normal(size=(3, 4, 50)), RNG.normal(size=(3, 4, 9))
    turned = a.transpose(1, 0, 2), v.transpose(1, 0, 2)
    views = [(a, v), (a[::-1, ::2], v[:, ::2]), (a[..., ::3], v[..., ::-2]), (a[:0], v[:0])]
    views += [(np.broadcast_to(a[:1], a.shape), v), turned]
    for x, w in views:
        got = f(x, w)
        want = np.zeros((*x.shape[:2], x.shape[2]))
        for at in np.ndindex(*x.shape[:2]):
            part = np.convolve(x[at], w[at])[3 : 3 + x.shape[2]]
            want[at][: len(part)] = part
        np.testing.assert_allclose(got, want.transpose(2, 0, 1), atol=1e-13)
    assert native(f)


def test_a_part_that_data_decide_is_left_to_numpy():
    a, v = (K.placeholder((None,)) for _ in "av")
    start = K.placeholder((), dtype="int64")
    f = K.function([a, v, start], Tensor(ops.convolve(a.node, v.node, start.node, 5)))
    x, w = RNG.integers(0, 9, 12).astype("float32"), np.ones(3, "float32")
    for at in (0, 4):
        np.testing.assert_array_equal(f(x, w, at), np.convolve(x, w)[at : at + 5])


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_meets_no_padding(bad):
    f = compiled(1, "float64", lambda n, m: 0, full)
    for n, m in ((3, 5), (40, 6), (300, 40)):
        a, v = RNG.normal(size=n), RNG.normal(size=m)
        a[1] = v[2] = bad
        np.testing.assert_allclose(f(a, v), np.convolve(a, v))
