"""What SciPy's functions are written with."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import NotSupported
from ckernels.jit.scipy import parts


def test_matrices_are_of_numbers():
    assert parts.matrix(np.eye(2, dtype=int)).dtype == np.float64
    assert parts.matrix(np.eye(2, dtype="float32")).dtype == np.float32
    for odd in (
        np.ones(3),
        np.ones((2, 2), complex),
        np.ones((2, 2), "float16"),
        np.ones((1, 2, 2)),
    ):
        with pytest.raises(NotSupported, match="is SciPy's"):
            parts.matrix(odd)
    with pytest.raises(NotSupported, match="matrix of shape"):
        parts.matrix(np.ones((2, 3)), square=True)


def test_triangles_and_exponentials():
    a, b = np.array([[2.0, 1.0], [4.0, 3.0]]), np.array([1.0, 2.0])

    def f(a, b):
        return parts.triangular(a, b, True, 0, False), parts.exponential(a * 0)

    x, one = ck.jit(f, strict=True)(a, b)
    np.testing.assert_allclose(x, [0.5, 0.0])
    np.testing.assert_allclose(one, np.eye(2))
    with pytest.raises(NotSupported, match="trans"):
        parts.triangular(a, b, True, "C", False)


def test_lengths_of_fast_transforms():
    lengths = [2**i * 3**j * 5**k for i in range(1, 15) for j in range(9) for k in range(7)]
    for count in (1, 2, 3, 7, 97, 1550, 9973):
        assert parts.fast_length(count) == min(n for n in lengths if n >= count)
