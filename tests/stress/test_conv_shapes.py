"""Random geometries of convolutions, transposes and pools, compiled: each gives what the loops
give, or one of the errors that name the shapes. Nothing else may happen, whatever the numbers.
"""

import numpy as np
import pytest
from ops.loops import convolved

import ckernels as K
from ckernels.base.errors import ArgumentError, ShapeError

QUICK, LONG = 60, 3000


def random_padding(rng, n):
    words = ["valid", "same", "full", "half", "causal"]

    def one():
        kind = rng.integers(3)
        if kind == 0:
            return str(rng.choice(words))
        return int(rng.integers(3)) if kind == 1 else tuple(map(int, rng.integers(0, 4, 2)))

    return str(rng.choice(words)) if rng.random() < 0.4 else tuple(one() for _ in range(n))


def random_case(rng):
    n = int(rng.integers(1, 4))
    top = (12, 8, 5)[n - 1]
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    channels, filters = (groups * int(rng.integers(1, 4)) for _ in range(2))
    x = rng.normal(size=(int(rng.integers(0, 4)), *rng.integers(0, top, n), channels))
    w = rng.normal(size=(*rng.integers(1, 5, n), channels // groups, filters))
    if rng.random() < 0.05:
        w = w[..., :-1]
    options = {
        "strides": tuple(map(int, rng.integers(1, 4, n))),
        "padding": random_padding(rng, n),
        "dilation_rate": tuple(map(int, rng.integers(1, 3, n))),
        "groups": groups,
    }
    return x.astype("float32"), w.astype("float32"), options


def fits(x, w, options):
    """Whether the geometry is possible: a window in each axis, or an image without elements."""
    try:
        K.conv(K.placeholder(x.shape), K.placeholder(w.shape), **options)
    except ShapeError:
        return False
    return True


def check_conv(rng, known):
    x, w, options = random_case(rng)
    a, b = (K.placeholder(v.shape if known else (None,) * v.ndim) for v in (x, w))
    if not fits(x, w, options):
        with pytest.raises((ShapeError, ArgumentError)):
            K.function([a, b], K.conv(a, b, **options))(x, w)
        return
    y = K.conv(a, b, **options)
    got = K.function([a, b], y)(x, w)
    if 0 not in x.shape[1:-1]:
        groups, dilation = options["groups"], options["dilation_rate"]
        want = convolved(
            x.astype("float64"), w, groups, options["strides"], options["padding"], dilation
        )
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    g = rng.normal(size=got.shape).astype("float32")
    gx, gw = K.function([a, b], K.gradients(K.sum(y * g), [a, b]))(x, w)
    assert gx.shape == x.shape and gw.shape == w.shape
    total = float((got.astype("float64") * g).sum())
    scale = 1e-3 * (1 + np.abs(got * g).sum())
    assert abs((gx.astype("float64") * x).sum() - total) < scale
    assert abs((gw.astype("float64") * w).sum() - total) < scale


def check_pool(rng, known):
    n = int(rng.integers(1, 4))
    x = rng.normal(size=(int(rng.integers(0, 3)), *rng.integers(0, 8, n), int(rng.integers(1, 19))))
    x = x.astype("float32")
    size, strides = (tuple(map(int, rng.integers(1, 5, n))) for _ in range(2))
    padding = "partial" if rng.random() < 0.3 else random_padding(rng, n)
    mode = str(rng.choice(["max", "sum", "avg", "average_inc_pad"]))
    a = K.placeholder(x.shape if known else (None,) * x.ndim)
    try:
        K.pool(K.placeholder(x.shape), size, strides, padding, pool_mode=mode)
    except ShapeError:
        with pytest.raises(ShapeError):
            K.function([a], K.pool(a, size, strides, padding, pool_mode=mode))(x)
        return
    y = K.pool(a, size, strides, padding, pool_mode=mode)
    grad = K.gradients(K.sum(K.switch(K.greater(K.abs(y), 1e30), K.zeros_like(y), y)), [a])[0]
    outputs = [y, grad]
    got = K.function([a], outputs)(x)
    want = K.function([a], outputs, mode="reference")(x)
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def run(seeds):
    with K.config.change(image_data_format="channels_last", on_unused_input="ignore"):
        for seed in seeds:
            rng = np.random.default_rng(seed)
            try:
                (check_pool if seed % 3 == 0 else check_conv)(rng, known=bool(seed % 2))
            except BaseException:
                print("seed", seed)
                raise


def test_shapes():
    run(range(QUICK))


@pytest.mark.slow
def test_many_shapes():
    run(range(QUICK, LONG))


@pytest.mark.parametrize("strides", [2**31 - 1, 2**20])
def test_huge_steps_see_one_window(strides):
    """Strides, dilations and paddings up to 2**31 are legal and never leave the image."""
    x = K.placeholder((None, None, 3))
    w = K.ones((2, 3, 4))
    y = K.conv(x, w, strides=strides)
    assert K.function([x], y)(np.ones((1, 9, 3), "float32")).tolist() == [[[6.0] * 4]]
    with pytest.raises(ShapeError, match="larger"):
        K.function([x], K.conv(x, w, dilation_rate=strides))(np.ones((1, 9, 3), "float32"))
    pooled = K.pool(x, 2, strides)
    assert K.function([x], pooled)(np.ones((1, 9, 3), "float32")).shape == (1, 1, 3)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_new_sizes_build_nothing(data_format):
    """Batch and image sizes are numbers to kernels. Special are sizes of 1, and sums: long ones
    are taken in two parts, so a small and a large image come first."""
    first = data_format == "channels_first"
    x = K.placeholder((None, 4, None, None) if first else (None, None, None, 4))
    rng = np.random.default_rng(2)
    w, b, v = (K.variable(rng.normal(size=s)) for s in ((3, 3, 4, 8), (8,), (2, 2, 8, 4)))
    h = K.relu(K.bias_add(K.conv2d(x, w, (2, 2), "same", data_format), b, data_format))
    h = K.pool2d(h, (3, 3), (2, 2), "same", data_format, "avg")
    h = K.resize_images(K.resize_images(h, 1, 2, data_format), 2, 2, data_format, "bilinear")
    h = K.pool2d(
        K.conv2d(h, v, padding="same", data_format=data_format), (2, 2), (1, 1), "same", data_format
    )
    loss = K.mean(K.square(h))
    f = K.function([x], [loss] + K.gradients(loss, [w, b, v]))
    kernels = set()
    sizes = ((2, 9, 8), (4, 16, 16), (3, 12, 15), (5, 7, 7), (2, 30, 21), (3, 17, 18))
    for k, (batch, rows, columns) in enumerate(sizes):
        f([rng.normal(size=(batch, 4, rows, columns) if first else (batch, rows, columns, 4))])
        found = {k["name"] for k in f.stats()["kernels"]}
        assert k < 2 or found == kernels, (batch, rows, columns)
        kernels = found
