"""What tests of the PyTensor bridge share: functions of its mode beside PyTensor's Python ops."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pt = pytest.importorskip("pytensor.tensor")
import ckernels.pytensor as bridge  # noqa: E402


def compiled(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="CKERNELS", **options)


def same(inputs, outputs, *values, exact=False, rtol=1e-12):
    """Check a function against PyTensor's Python mode; its report."""
    ours, theirs = (
        compiled(inputs, outputs),
        pytensor.function(inputs, outputs, mode="FAST_COMPILE"),
    )
    for got, want in zip(ours(*values), theirs(*values)):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0 if exact else rtol, atol=0 if exact else 1e-14)
    return bridge.report(ours)


x, y = pt.dmatrix("x"), pt.dvector("y")
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(4, 3)), RNG.normal(size=3)
