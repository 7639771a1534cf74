"""conv2d(unshared=True), another filter at each place, of variables whose sizes nobody told."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor.nnet import abstract_conv

tensor6 = T.TensorType("float64", (False,) * 6)
CASES = [  # images, filters, border_mode, subsample, groups
    ((2, 2, 4, 4), (2, 2, 2, 2, 3, 3), "valid", (1, 1), 1),
    ((3, 2, 4, 2), (2, 4, 2, 2, 4, 2), "full", (2, 2), 1),
    ((3, 3, 5, 3), (3, 2, 1, 1, 3, 3), "valid", (2, 1), 3),
    ((3, 4, 4, 4), (4, 3, 3, 2, 4, 2), "full", (3, 2), 2),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[2]}-{case[4]}")
def case(request):
    images, filters, mode, subsample, groups = request.param
    rng = np.random.RandomState(0)
    how = {"border_mode": mode, "subsample": subsample, "num_groups": groups}
    return rng.uniform(size=images), rng.uniform(size=filters), how


def test_each_place_is_a_convolution_of_its_own(case):
    a, b, how = case
    x, w = T.tensor4("x"), tensor6("w")
    found = theano.function([x, w], T.nnet.conv2d(x, w, unshared=True, **how))(a, b)
    shared = theano.function([x, w], T.nnet.conv2d(x, w[:, 0, 0], **how))
    for i in range(b.shape[1]):
        for j in range(b.shape[2]):
            there = shared(a, np.roll(b, (-i, -j), (1, 2)))
            np.testing.assert_allclose(found[:, :, i, j], there[:, :, i, j])


def test_gradients_of_both_orders(case):
    a, b, how = case

    def convolved(x, w):
        return T.nnet.conv2d(x, w, unshared=True, **how)

    theano.gradient.verify_grad(convolved, [a, b], rng=np.random.RandomState(1), eps=1)

    def slopes(x, w):
        return T.concatenate([g.ravel() for g in T.grad((convolved(x, w) ** 2).sum(), [x, w])])

    theano.gradient.verify_grad(slopes, [a, b], rng=np.random.RandomState(1))


def test_the_classes_of_the_gradients(case):
    """They are the adjoints of the convolution, with sizes that are numbers or variables."""
    a, b, how = case
    x, w, g, s = T.tensor4("x"), tensor6("w"), T.tensor4("g"), T.lvector("s")
    y = theano.function([x, w], T.nnet.conv2d(x, w, unshared=True, **how))(a, b)
    top = np.random.RandomState(2).uniform(size=y.shape)
    by_image = abstract_conv.AbstractConv2d_gradInputs(unshared=True, **how)
    by_filter = abstract_conv.AbstractConv2d_gradWeights(unshared=True, **how)
    for op, kind, held, value in ((by_image, w, b, a), (by_filter, x, a, b)):
        for sizes in (value.shape[-2:], s):
            inputs = [kind, g] + ([s] if sizes is s else [])
            function = theano.function(inputs, op(kind, g, sizes))
            found = function(held, top, *([value.shape[-2:]] if sizes is s else []))
            assert found.shape == value.shape
            np.testing.assert_allclose((found * value).sum(), (y * top).sum())


def test_channels_that_do_not_fit_are_an_error_of_the_call():
    x, w = T.tensor4("x"), tensor6("w")
    f = theano.function([x, w], T.nnet.conv2d(x, w, unshared=True))
    with pytest.raises(ValueError, match="do not fit the channels"):
        f(np.ones((1, 3, 4, 4)), np.ones((1, 3, 3, 2, 2, 2)))
