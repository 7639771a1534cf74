"""What the tests of sparse tensors share: random matrices, values of symbolic results."""

import numpy as np
import pytest

import ckernels as K

sp = pytest.importorskip("scipy.sparse")
S = K.sparse
FORMATS = ("csr", "csc")


def matrix(shape, density=0.4, format="csr", dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.uniform(-2, 2, shape) * (rng.uniform(size=shape) < density)
    return sp.csr_matrix(dense.astype(dtype)).asformat(format)


def value(x):
    """What a symbolic result is, dense."""
    if isinstance(x, (list, tuple)):
        return [value(i) for i in x]
    return K.eval(K.to_dense(x))


def close(got, want, rtol=1e-6):
    np.testing.assert_allclose(value(got), want, rtol=rtol, atol=rtol)
