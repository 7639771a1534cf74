"""Theano's image functions in one table, compiled: values against the oracles, gradients to all
operands, of both orders, against differences along random directions.
"""

import numpy as np
import pytest

import ckernels as K
from ckernels.compat import nnet, signal

RNG = np.random.default_rng(21)


@pytest.fixture(autouse=True)
def compiled():
    with K.config.change(mode="compiled", floatX="float64", on_unused_input="ignore"):
        yield


def conv(**options):
    return lambda x, w: nnet.conv2d(x, w, **options)


IMAGE, FILTERS = (2, 4, 5, 4), (6, 4, 3, 2)
UNSHARED = (4, 3, 4, 2, 3, 2)
CASES = {
    "conv2d": (conv(), IMAGE, FILTERS),
    "conv2d full": (conv(border_mode="full"), IMAGE, FILTERS),
    "conv2d half": (conv(border_mode="half", subsample=(2, 1)), IMAGE, FILTERS),
    "conv2d integer": (conv(border_mode=2, filter_flip=False), IMAGE, FILTERS),
    "conv2d asymmetric": (conv(border_mode=((2, 0), 1), filter_dilation=(1, 2)), IMAGE, FILTERS),
    "conv2d groups": (conv(num_groups=2), IMAGE, (6, 2, 3, 2)),
    "conv2d unshared": (conv(unshared=True, num_groups=2, border_mode=(1, (0, 1)),
                             subsample=(2, 1)), IMAGE, UNSHARED),
    "conv2d unshared not flipped": (
        conv(unshared=True, num_groups=2, border_mode=(1, (0, 1)), subsample=(2, 1),
             filter_flip=False), IMAGE, UNSHARED),
    "conv3d": (lambda x, w: nnet.conv3d(x, w, border_mode="half", subsample=(2, 1, 1)),
               (1, 2, 4, 3, 3), (3, 2, 2, 2, 3)),
    "conv3d2d": (nnet.conv3d2d, (2, 4, 2, 4, 4), (3, 2, 2, 2, 2)),
    "causal_conv1d": (lambda x, w: nnet.causal_conv1d(x, w, (3, 2, 2), filter_dilation=2),
                      (2, 2, 6), (3, 2, 2)),
    "separable_conv2d": (lambda x, w, v: nnet.separable_conv2d(x, w, v, 3, border_mode="half"),
                         (2, 3, 4, 4), (6, 1, 3, 3), (2, 6, 1, 1)),
    "conv2d_transpose": (lambda x, w: nnet.conv2d_transpose(x, w, (2, 4, 6, 5), None, "half",
                                                            (2, 2)), (2, 3, 3, 3), (3, 4, 3, 3)),
    "conv2d_grad_wrt_inputs": (
        lambda g, w: nnet.conv2d_grad_wrt_inputs(g, w, (2, 4, 5, 4), subsample=(2, 1)),
        (2, 6, 2, 3), FILTERS),
    "conv2d_grad_wrt_inputs unshared": (
        lambda g, w: nnet.conv2d_grad_wrt_inputs(
            g, w, IMAGE, border_mode=(1, (0, 1)), subsample=(2, 1), num_groups=2, unshared=True),
        (2, 4, 3, 4), UNSHARED),
    "conv2d_grad_wrt_weights": (
        lambda x, g: nnet.conv2d_grad_wrt_weights(x, g, FILTERS, border_mode="full"),
        IMAGE, (2, 6, 7, 5)),
    "conv2d_grad_wrt_weights unshared": (
        lambda x, g: nnet.conv2d_grad_wrt_weights(
            x, g, UNSHARED, border_mode=(1, (0, 1)), subsample=(2, 1), num_groups=2,
            unshared=True), IMAGE, (2, 4, 3, 4)),
    "conv3d_grad_wrt_inputs": (
        lambda g, w: nnet.conv3d_grad_wrt_inputs(g, w, (1, 2, 4, 3, 3), subsample=(2, 1, 1)),
        (1, 3, 2, 2, 2), (3, 2, 2, 2, 2)),
    "conv3d_grad_wrt_weights": (
        lambda x, g: nnet.conv3d_grad_wrt_weights(x, g, (3, 2, 2, 2, 2), subsample=(2, 1, 1)),
        (1, 2, 4, 3, 3), (1, 3, 2, 2, 2)),
    "bilinear_upsampling": (lambda x: nnet.bilinear_upsampling(x, 3), (1, 2, 3, 2)),
    "frac_bilinear_upsampling": (lambda x: nnet.frac_bilinear_upsampling(x, (3, 2)), (1, 2, 4, 4)),
    "images2neibs": (lambda x: nnet.images2neibs(x, (2, 2), (1, 1)), (2, 2, 4, 3)),
    "images2neibs wrapped": (lambda x: nnet.images2neibs(x, (3, 3), mode="wrap_centered"),
                             (1, 2, 4, 3)),
    "neibs2images": (lambda x: nnet.neibs2images(x, (2, 2), (1, 2, 4, 4)), (8, 4)),
    "pool_2d": (lambda x: signal.pool_2d(x, (2, 2), True, stride=(1, 2)), (2, 2, 5, 4)),
    "pool_2d to the border": (lambda x: signal.pool_2d(x, (3, 2), False), (2, 2, 5, 5)),
    "pool_2d sum": (lambda x: signal.pool_2d(x, (3, 2), False, mode="sum"), (2, 2, 5, 5)),
    "pool_2d padded": (lambda x: signal.pool_2d(x, (3, 3), True, pad=(1, 2),
                                                mode="average_inc_pad"), (2, 2, 5, 5)),
    "pool_2d inside": (lambda x: signal.pool_2d(x, (3, 3), True, pad=(1, 2),
                                                mode="average_exc_pad"), (2, 2, 5, 5)),
    "pool_3d": (lambda x: signal.pool_3d(x, (2, 2, 2), False), (2, 2, 3, 4, 3)),
    "max_pool_2d_same_size": (lambda x: signal.max_pool_2d_same_size(x, (2, 2)), (2, 2, 4, 5)),
    "signal.conv2d": (lambda x, w: signal.conv2d(x, w, border_mode="full"), (2, 4, 4), (3, 2, 3)),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    build, *shapes = CASES[name]
    arrays = [RNG.normal(size=s) for s in shapes]
    leaves = [K.placeholder(s, dtype="float64") for s in shapes]
    y = build(*leaves)
    got, want = (K.function(leaves, y, mode=mode)(*arrays) for mode in ("compiled", "reference"))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    cost = K.sum(K.square(y) * RNG.normal(size=want.shape))
    for _ in range(2):
        grads = K.gradients(cost, leaves)
        value = K.function(leaves, cost)
        for k, g in enumerate(K.function(leaves, grads)(*arrays)):
            direction = RNG.normal(size=shapes[k])
            ends = []
            for step in (1e-5, -1e-5):
                moved = list(arrays)
                moved[k] = arrays[k] + step * direction
                ends.append(value(*moved))
            slope = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose((g * direction).sum(), slope, rtol=1e-4, atol=1e-4)
        cost = sum(K.sum(g * RNG.normal(size=s)) for g, s in zip(grads, shapes))
