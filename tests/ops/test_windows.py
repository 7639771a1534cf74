"""Windows along one axis beside NumPy's sliding_window_view, compiled and not: views of views, what
reads them, their slopes; patches of images are in test_conv.py."""

import numpy as np
import pytest

import ckernels as ck
from ckernels import ops
from ckernels.base.errors import ShapeError
from ckernels.runtime.function import make_function

from .agree import agree, check_gradient, leaf

RNG = np.random.default_rng(5)
M = RNG.normal(size=(9, 12))
view = np.lib.stride_tricks.sliding_window_view


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("x", [M, M.T[:9], M[:, ::-1], M.astype("int8"), M + 1j, M[:, :0].T])
def test_as_numpy_shows_them(x, size, axis):
    if x.shape[axis] < size:
        with pytest.raises(ShapeError, match=f"windows of {size}"):
            ops.sliding_windows(leaf(x.shape, x.dtype.name), axis, size)
    else:
        agree(lambda x: ops.sliding_windows(x, axis, size), view(x, size, axis), x)


READERS = {
    "alone": lambda w: w,
    "sums": lambda w: ops.sum(w, -1),
    "sums over places": lambda w: ops.sum(w, 0),
    "sorted": lambda w: ops.sort(w, -1),
    "every third": lambda w: ops.mul(w[::3], 2.0),
    "turned": lambda w: ops.add(ops.transpose(w)[::-1], 1.0),
    "a product": lambda w: ops.dot(w, np.arange(12.0).reshape(4, 3)),
    "products in a batch": lambda w: ops.matmul(w, ops.transpose(w, (0, 2, 1))),
    "flat": lambda w: ops.reshape(w, (-1,)),
    "joined": lambda w: ops.concatenate([w, ops.mul(w, 2.0)], 1),
    "windows again": lambda w: ops.max(ops.sliding_windows(w, 0, 2), -1),
    "written into": lambda w: ops.set_subtensor(w, (0, 0), 7.0),
}


@pytest.mark.parametrize("shape", [(9, 12), (None, None)], ids=["known", "open"])
@pytest.mark.parametrize("name", READERS)
def test_readers(name, shape):
    x = leaf(shape)
    y = READERS[name](ops.sliding_windows(ops.mul(x, 3.0), 1, 4))
    want = make_function([x], [y], single=True, mode="reference")
    f = make_function([x], [y], single=True)
    for values in (M, M[:, ::-1], np.asfortranarray(M)):
        np.testing.assert_allclose(f(values), want(values), rtol=1e-13)


def test_an_axis_that_turns_out_too_short():
    x = leaf((None,))
    f = make_function([x], [ops.sum(ops.sliding_windows(x, 0, 4), 1)], single=True)
    np.testing.assert_array_equal(f(np.arange(4.0)), [6.0])
    with pytest.raises(ShapeError, match="windows of 4 elements"):
        f(np.arange(3.0))
    with pytest.raises(ShapeError, match="one element or more"):
        ops.sliding_windows(x, 0, 0)


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients(axis):
    for size in (1, 3):
        check_gradient(lambda x, s=size: ops.square(ops.sliding_windows(x, axis, s)), M[:4, :3])


def test_moving_sums_of_a_program():
    sums = ck.jit(lambda x, w: (view(x, 20)[::2] * w).sum(1))
    x, w = RNG.normal(size=500), RNG.normal(size=20)
    np.testing.assert_allclose(sums(x, w), (view(x, 20)[::2] * w).sum(1), rtol=1e-12)
    assert not sums.report()["numpy"]
