"""Parts of the convolution of rows, beside NumPy's; errors of shapes."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import ShapeError

from .agree import agree

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("start, size", [(0, 9), (2, 3), (-2, 4), (7, 5), (20, 2), (-9, 3), (3, 0)])
def test_parts_that_reach_beyond_the_ends_are_zero_there(start, size):
    a, v = RNG.normal(size=(3, 6)), RNG.normal(size=(3, 4))
    whole = np.zeros((3, 60))
    for row in range(3):
        whole[row, 20:29] = np.convolve(a[row], v[row])
    want = whole[:, 20 + start : 20 + start + size]
    agree(lambda a, v: ops.convolve(a, v, start, size), want, a, v, rtol=1e-12)


@pytest.mark.parametrize("n, m", [(0, 3), (3, 0), (0, 0)])
def test_of_nothing_all_sums_are_zero(n, m):
    agree(lambda a, v: ops.convolve(a, v, 0, 4), np.zeros(4), np.ones(n), np.ones(m))


def test_shapes_that_are_refused():
    for a, v in (((3,), (2, 3)), ((2, 3), (4, 3)), ((), ())):
        with pytest.raises(ShapeError, match="convolve of shapes"):
            ops.convolve(np.ones(a), np.ones(v), 0, 2)
