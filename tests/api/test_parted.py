"""A handle on two tensors that no file of ckernels knows: functions and gradients take it."""

import numpy as np
import pytest

import ckernels as K
from ckernels.api.parted import Parted, first_parted


class Dual(Parted):
    """A number and its rate: x + e * rate."""

    def __init__(self, data, rate):
        self.data, self.rate = data, rate

    def with_data(self, data):
        return Dual(data, self.rate)

    def function_of_parts(self, build, inputs, outputs, options):
        def flat(handles):
            parts = [(x.data, x.rate) if isinstance(x, Dual) else (x,) for x in handles]
            return [p for pair in parts for p in pair]

        return build(flat(inputs), flat(outputs), **options)


@pytest.fixture
def dual():
    return Dual(K.placeholder((None,)), K.placeholder((None,)))


def squared(x):
    return Dual(x.data * x.data, 2 * x.data * x.rate)


def test_functions_take_and_give_them(dual):
    f = K.function([dual], [squared(dual)], name="squares")
    value, rate = f(np.array([3.0, 4.0]), np.array([1.0, 0.5]))
    np.testing.assert_array_equal(value, [9, 16])
    np.testing.assert_array_equal(rate, [6, 4])
    assert f.name == "squares"  # the other arguments come along


def test_a_dense_output_of_one(dual):
    f = K.function([dual], [K.sum(dual.data)])
    assert f([1.0, 2.0], [0.0, 0.0])[0] == 3


def test_gradients_are_those_of_its_data(dual):
    x = K.placeholder((None,))
    cost = K.sum(squared(dual).data * x)
    both = K.grad(cost, [dual, x])
    assert isinstance(both[0], Dual) and both[0].rate is dual.rate
    f = K.function([dual, x], [both[0].data, both[1]])
    slope, square = f([3.0, 4.0], [0.0, 0.0], [1.0, 2.0])
    np.testing.assert_array_equal(slope, [6, 16])
    np.testing.assert_array_equal(square, [9, 16])
    alone = K.grad(cost, dual)
    assert isinstance(alone, Dual)


def test_what_is_looked_through(dual):
    x = K.placeholder((None,))
    assert first_parted([x, dual], None) is dual
    assert first_parted([x], {x: dual}) is dual
    assert first_parted([x], [(x, dual)]) is dual
    assert first_parted(None, [x], {x: x * 2}, [(x, x)], "name", 3) is None
