"""exception_verbosity=high: errors also print the tree of the expression they are about."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config


def raised(verbosity, work):
    with config.change(exception_verbosity=verbosity), pytest.raises(Exception) as caught:
        work()
    return str(caught.value)


def building():
    x, y = K.placeholder((None, 3), name="x"), K.placeholder((None, 4), name="y")
    return K.exp(x) + K.tanh(y)


def calling():
    x, i = K.placeholder((None, 3), name="x"), K.placeholder((None,), dtype="int64", name="i")
    return K.function([x, i], K.gather(K.exp(x), i))(np.ones((2, 3), "f"), np.array([7]))


@pytest.mark.parametrize(
    "work, shown",
    [
        (building, ["exp [id A] <float32 (?, 3)>", " |x [id B]", "tanh [id C] <float32 (?, 4)>"]),
        (calling, ["take", " |exp [id B] <float32 (?, 3)>", " |i [id D] <int64 (?,)>"]),
    ],
)
def test_high_adds_the_tree_to_what_low_says(work, shown):
    low, high = raised("low", work), raised("high", work)
    assert "[id" not in low and high.startswith(low + "\n  the expression:\n")
    assert all(part in high for part in shown), high
    assert "test_verbosity.py" in high.split("the expression:")[1]


def test_a_long_tree_is_cut():
    def work():
        x = K.placeholder((3,), name="x")
        for k in range(200):
            x = K.exp(x) + k
        return x + K.placeholder((4,))

    assert len(raised("high", work).splitlines()) < 75
