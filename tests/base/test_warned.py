"""Warnings name the line of the program, through doors and however they are come by."""

import warnings

import pytest

import ckernels as K
import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.base.warned import warn_user
from ckernels.compat import nnet, signal

x = T.matrix("x")
row, unused = K.placeholder((3,)), K.placeholder((2,))
rows = K.placeholder((None, 3), sparse=True)
images = K.placeholder((2, 1, 4, 4))
WARNS = {
    "gradient": lambda: theano.grad(x.sum(), T.vector("v"), disconnected_inputs="warn"),
    "pool of the facade": lambda: T.signal.pool.pool_2d(x, (2, 2)),
    "pool": lambda: signal.pool_2d(x, (2, 2)),
    "unused": lambda: theano.function([x], [], on_unused_input="warn"),
    "unused of K": lambda: K.function([row, unused], row, on_unused_input="warn"),
    "unused of sparse": lambda: K.function([rows, row], K.to_dense(rows), on_unused_input="warn"),
    "ignored": lambda: nnet.conv2d(images, images, border="full"),
    "constant": lambda: theano.gradient.consider_constant(x),
    "itself": lambda: warn_user("text"),
}


@pytest.mark.parametrize("name", WARNS)
def test_a_warning_is_at_the_line_of_the_program(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNS[name]()
    line = WARNS[name].__code__.co_firstlineno
    assert caught and {(w.filename, w.lineno) for w in caught} == {(__file__, line)}


def test_it_has_its_category():
    with pytest.warns(DeprecationWarning, match="text"):
        warn_user("text", DeprecationWarning)
