"""The flag warn_float64: who makes a float64 out of narrower tensors is told so, with the line."""

import inspect
import warnings

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import CKernelsWarning, DTypeError


def operands():
    return K.placeholder((3,), dtype="int32"), K.placeholder((3,), dtype="float32")


def test_warning_names_the_line():
    i, x = operands()
    with config.change(warn_float64="warn"), pytest.warns(CKernelsWarning) as caught:
        line = inspect.currentframe().f_lineno + 1
        i * x
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]
    assert "mul of int32 and float32" in str(caught[0].message)


@pytest.mark.parametrize("build", [lambda i, x: i + x, lambda i, x: K.exp(i)])
def test_raise(build):
    with config.change(warn_float64="raise"), pytest.raises(DTypeError, match="makes a float64"):
        build(*operands())


def test_what_is_no_surprise():
    i, x = operands()
    with config.change(warn_float64="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = K.cast(x, "float64")  # asked for
        wide + 1, wide * i, x * 2, i * 2, K.exp(x), K.sum(i)
        f = K.function([x], K.grad(K.sum(K.tanh(x) * 0.5), x))
        f(np.ones(3, "float32"))
        with config.change(cast_policy="keep_float"):
            assert (i * x).dtype == "float32"


def test_nothing_is_said_by_default():
    i, x = operands()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (i * x).dtype == "float64"
