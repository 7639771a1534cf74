"""A function that is traced again inside of a trace: what of_rows gives of trees and guards."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.jit import rerun
from ckernels.jit.trace import Trace
from ckernels.numpy.value import ArrayValue


def test_rows_of_trees_beside_what_is_the_same_for_all():
    trace = Trace()
    x = ArrayValue(trace, rerun.placeholder("float64", (5, 3)), False, True)
    k = ArrayValue(trace, rerun.placeholder("float64", (3,)), False, True)
    found = rerun.of_rows(trace, lambda x, k: {"p": x * k, "q": (x[0], 2)}, [x, k], {}, (0,))
    assert found["p"].shape == (5, 3) and found["q"][0].shape == found["q"][1].shape == (5,)
    assert not found["q"][0].scalar and not trace.guards
    assert rerun.shape_of(x) == (5, 3) and rerun.shape_of(np.ones(2)) == (2,)


def test_what_a_row_takes_for_granted_is_asked_of_all():
    def f(x, k):
        return x[k]

    places, table = np.array([0, 2, 1]), np.arange(9.0).reshape(3, 3)
    assert ck.jit.vmap(f)(table, places).tolist() == [0, 5, 7]
    with pytest.raises(IndexError, match="3 is out of bounds"):
        ck.jit.vmap(f)(table, places + 1)
