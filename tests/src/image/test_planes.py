"""Depthwise convolutions with channels first are computed as they lie, whoever reads the results;
they agree with those of channels last.
"""

import numpy as np
import pytest

import ckernels as K

RNG = np.random.default_rng(5)


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(
    "shape, kernel",
    [
        ((2, 5, 9, 17), (3, 3)),
        ((3, 2, 20, 33), (5, 4)),
        ((1, 4, 3, 3), (3, 3)),
        ((0, 3, 5, 5), (1, 3)),
    ],
)
def test_both_formats_agree(shape, kernel, padding, dtype):
    x = RNG.standard_normal(shape).astype(dtype)
    w = RNG.standard_normal((*kernel, shape[1], 1)).astype(dtype)
    results = {}
    for form in ("channels_first", "channels_last"):
        a, b = K.placeholder(ndim=4, dtype=dtype), K.placeholder(w.shape, dtype=dtype)
        y = K.depthwise_conv2d(a, b, padding=padding, data_format=form)
        loss = K.sum(K.square(y) * 0.5)
        f = K.function([a, b], [y, *K.gradients(loss, [a, b])])
        results[form] = f([x if form == "channels_first" else channels_last(x), w])
    (y, dx, dw), (want_y, want_dx, want_dw) = results.values()
    tolerance = {"rtol": 0, "atol": 2e-3 if dtype == "float32" else 1e-10}
    np.testing.assert_allclose(channels_last(y), want_y, **tolerance)
    np.testing.assert_allclose(channels_last(dx), want_dx, **tolerance)
    np.testing.assert_allclose(dw, want_dw, **tolerance)


def test_readers_of_all_kinds():
    """The result as an output twice, reshaped, as a variable's next value, in a loop, in a sum;
    an image that does not lie in rows.
    """
    x, w = RNG.standard_normal((2, 3, 8, 6)), RNG.standard_normal((3, 3, 3, 1))
    a, b = K.placeholder(x.shape, dtype="float64"), K.constant(w, dtype="float64")
    state = K.variable(np.zeros(x.shape), dtype="float64")
    y = K.depthwise_conv2d(a, b, padding="same", data_format="channels_first")
    z = K.depthwise_conv2d(y, b, padding="same", data_format="channels_first")
    outputs = [
        y,
        y,
        K.reshape(y, (2, -1)),
        K.relu(y) + 1,
        K.sum(y, axis=1),
        z,
        K.permute_dimensions(y, (0, 2, 3, 1)),
    ]
    f = K.function([a], outputs, updates=[(state, z)])
    one = K.function([a], [y])
    strided = np.asfortranarray(x)
    got = f([strided])
    want, again = one([x])[0], one([one([x])[0]])[0]
    expected = [
        want,
        want,
        want.reshape(2, -1),
        np.maximum(want, 0) + 1,
        want.sum(1),
        again,
        channels_last(want),
        again,
    ]
    for result, value in zip([*got, K.get_value(state)], expected):
        np.testing.assert_allclose(result, value, rtol=0, atol=1e-12)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    by_hand = sum(
        padded[:, :, i : i + 8, j : j + 6] * w[i, j].reshape(1, 3, 1, 1)
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(want, by_hand, rtol=0, atol=1e-12)
