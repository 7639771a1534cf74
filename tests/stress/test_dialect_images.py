"""Convolutions and pools under the names of each dialect, drawn at random: what loops over windows
give, in both data formats, with paddings, strides, dilation, groups and images of 0 and 1 elements.

What a dialect refuses is an error of ckernels; what it takes has the shape and the numbers of the
loops, and gradients that are adjoint to it.
"""

import itertools
import warnings

import numpy as np
import pytest
from ops.loops import convolved, padding_of

import ckernels as K
import ckernels.compat.theano.tensor as T
from ckernels.base.errors import CKernelsError
from ckernels.compat import keras1, keras2
from ckernels.compat.theano.tensor import nnet
from ckernels.compat.theano.tensor.signal import pool as theano_pool

KEPT = {"max": np.max, "sum": np.sum, "avg": np.mean}


def windows(size, k, s, pads, partial):
    """(first, last) of each window along a padded axis; partial: those in part outside too."""
    low, high = pads
    total = size + low + high
    if partial:
        count = -(-total // s) if s >= k else max(0, -(-(total - k) // s)) + 1
        count = count if total else 0
    else:
        count = max(0, (total - k) // s + 1)
    return [(a * s - low, a * s - low + k) for a in range(count)]


def pooled(x, size, strides, pads, mode, partial=False):
    """Pools of images (batch, ..., channels), a window at a time; `avg` counts what is inside the
    image, `average_inc_pad` the padding too."""
    axes = [windows(*each, partial) for each in zip(x.shape[1:-1], size, strides, pads)]
    found = np.empty((len(x), *map(len, axes), x.shape[-1]))
    inside = tuple(range(1, x.ndim - 1))
    for at in itertools.product(*[range(len(a)) for a in axes]):
        ends = [axis[i] for axis, i in zip(axes, at)]
        cut = tuple(slice(max(a, 0), max(b, 0)) for a, b in ends)
        part = x[(slice(None), *cut)]
        if mode == "average_inc_pad":
            value = part.sum(inside) / np.prod(size)
        else:
            value = KEPT[mode](part, inside)
        found[(slice(None), *at)] = value
    return found


class Draw:
    """A geometry: rank n, an image x (batch, ..., channels), and options in the words of K."""

    def __init__(self, seed):
        self.r = r = np.random.default_rng(seed)
        self.n = n = int(r.integers(1, 4))
        self.groups = int(r.choice([1, 1, 1, 2, 3]))
        self.channels = self.groups * int(r.integers(1, 3))
        self.filters = self.groups * int(r.integers(1, 3))
        sizes = r.choice([0, 1, 1, 2, 3, 5, 7, 9][: 9 - n], n)
        self.x = r.normal(size=(int(r.integers(0, 4)), *sizes, self.channels))
        self.window = tuple(map(int, r.integers(1, 4, n)))
        self.strides = tuple(map(int, r.integers(1, 4, n)))
        self.dilation = tuple(map(int, r.integers(1, 3, n))) if r.random() < 0.5 else (1,) * n
        self.first = bool(r.integers(2))  # channels before the sizes of the image
        self.known = bool(r.integers(2))
        self.w = r.normal(size=(*self.window, self.channels // self.groups, self.filters))

    def one(self, *of):
        return of[int(self.r.integers(len(of)))]

    def word(self):
        return self.one("valid", "same")

    def pairs(self, padding):
        padding = (padding,) * self.n if isinstance(padding, (str, int)) else padding
        each = zip(padding, self.x.shape[1:-1], self.window, self.strides, self.dilation)
        return [padding_of(*a) for a in each]

    def form(self):
        return {"data_format": "channels_first" if self.first else "channels_last"}

    def ordering(self):
        return {"dim_ordering": "th" if self.first else "tf"}

    def plain(self):
        """With one group, and no holes where there are steps, which Keras has not."""
        self.groups = 1
        self.w = self.r.normal(size=(*self.window, self.channels, self.filters))
        if self.r.integers(2):
            self.strides = (1,) * self.n
        else:
            self.dilation = (1,) * self.n


def moved(x):
    return np.moveaxis(x, -1, 1)


def theano_kernel(w):
    return np.ascontiguousarray(np.moveaxis(w, (-1, -2), (0, 1)))


# Each gives (function of tensors x, w; kernel as the dialect has it or None; what loops give).


def k_conv(d):
    padding = d.one(d.word(), tuple(d.one("full", "half", 1, (0, 2), "same") for _ in range(d.n)))
    options = dict(strides=d.strides, padding=padding, dilation_rate=d.dilation, groups=d.groups)
    want = convolved(d.x, d.w, d.groups, d.strides, padding, d.dilation)
    return lambda x, w: K.conv(x, w, **options, **d.form()), d.w, want


def keras2_conv(d):
    d.plain()
    padding = d.word()
    want = convolved(d.x, d.w, 1, d.strides, padding, d.dilation)
    function = (keras2.conv1d, keras2.conv2d, keras2.conv3d)[d.n - 1]
    options = dict(strides=d.strides, padding=padding, dilation_rate=d.dilation, **d.form())
    if d.n == 1:
        options["strides"], options["dilation_rate"] = d.strides[0], d.dilation[0]
    return lambda x, w: function(x, w, **options), d.w, want


def keras1_conv(d):
    d.plain()
    d.n = max(d.n, 2)
    if d.x.ndim == 3:
        d.__init__(d.r.integers(10**6) * 2 + 1)
        return keras1_conv(d)
    padding = d.one("valid", "same")
    if d.n == 3:
        d.dilation = (1,) * 3
    want = convolved(d.x, d.w, 1, d.strides, padding, d.dilation)
    w = theano_kernel(d.w) if d.first else d.w
    options = dict(strides=d.strides, border_mode=padding, **d.ordering())
    options["filter_dilation"] = d.dilation
    function = keras1.conv2d if d.n == 2 else keras1.conv3d
    return lambda x, w: function(x, w, **options), w, want


def theano_conv(d):
    while d.n == 1:
        d.__init__(int(d.r.integers(10**6)))
    d.first, flip = True, bool(d.r.integers(2))
    padding = d.one("valid", "full", "half", tuple(d.one(0, 1, 2) for _ in range(d.n)))
    w = d.w[(slice(None, None, -1),) * d.n] if flip else d.w
    want = convolved(d.x, w, d.groups, d.strides, padding, d.dilation)
    options = dict(border_mode=padding, subsample=d.strides, filter_flip=flip,
                   filter_dilation=d.dilation, num_groups=d.groups)  # fmt: skip
    function = nnet.conv2d if d.n == 2 else nnet.conv3d
    return lambda x, w: function(x, w, **options), theano_kernel(d.w), want


def depthwise(d):
    while d.n != 2:
        d.__init__(int(d.r.integers(10**6)))
    d.plain()
    d.strides = (d.strides[0],) * 2
    times = int(d.r.integers(1, 3))
    w, padding = d.r.normal(size=(*d.window, d.channels, times)), d.word()
    whole = w.reshape(*d.window, 1, d.channels * times)
    want = convolved(d.x, whole, d.channels, d.strides, padding, d.dilation)
    options = dict(strides=d.strides, padding=padding, dilation_rate=d.dilation, **d.form())
    return lambda x, w: keras2.depthwise_conv2d(x, w, **options), w, want


def transposed(d):
    """conv_transpose is the adjoint of a convolution, whose loop is written out by a basis."""
    d.plain()
    d.dilation, d.groups = (1,) * d.n, 1
    padding = d.word()
    sizes = [
        n * s if padding == "same" else (n - 1) * s + k
        for n, s, k in zip(d.x.shape[1:-1], d.strides, d.window)
    ]
    w = d.r.normal(size=(*d.window, int(d.r.integers(1, 3)), d.channels))
    want = np.zeros((len(d.x), *sizes, w.shape[-2]))
    for at in itertools.product(*map(range, want.shape[1:])):
        basis = np.zeros((1, *want.shape[1:]))
        basis[(0, *at)] = 1
        row = convolved(basis, w, 1, d.strides, padding)
        if row.shape[1:] != d.x.shape[1:]:
            raise ValueError("no such shape")
        want[(slice(None), *at)] = np.tensordot(d.x, row[0], d.n + 1)
    options = dict(strides=d.strides, padding=padding, **d.form())
    return lambda x, w: K.conv_transpose(x, w, **options), w, want


def k_pool(d):
    d.dilation = (1,) * d.n
    mode, padding = d.one("max", "sum", "avg", "average_inc_pad"), d.word()
    pairs = d.pairs(padding)
    want = pooled(d.x, d.window, d.strides, pairs, mode)
    options = dict(padding=padding, pool_mode=mode, **d.form())
    return lambda x: K.pool(x, d.window, d.strides, **options), None, want


def keras_pool(d):
    while d.n == 1:
        d.__init__(int(d.r.integers(10**6)))
    d.dilation, mode, padding, first = (1,) * d.n, d.one("max", "avg"), d.word(), d.r.integers(2)
    want = pooled(d.x, d.window, d.strides, d.pairs(padding), mode)
    if first:
        function = keras1.pool2d if d.n == 2 else keras1.pool3d
        options = dict(border_mode=padding, **d.ordering())
    else:
        function = keras2.pool2d if d.n == 2 else keras2.pool3d
        options = dict(padding=padding, **d.form())
    return lambda x: function(x, d.window, d.strides, pool_mode=mode, **options), None, want


def theano_pools(d):
    while d.n == 1:
        d.__init__(int(d.r.integers(10**6)))
    d.first, partial = True, bool(d.r.integers(2))
    mode = d.one("max", "sum", "average_inc_pad", "average_exc_pad")
    pad = (0,) * d.n if partial else tuple(int(d.r.integers(k)) for k in d.window)
    kept = "avg" if mode == "average_exc_pad" or partial and "average" in mode else mode
    want = pooled(d.x, d.window, d.strides, [(p, p) for p in pad], kept, partial)
    function = theano_pool.pool_2d if d.n == 2 else theano_pool.pool_3d
    options = dict(ignore_border=not partial, stride=d.strides, pad=pad, mode=mode)
    return lambda x: function(x, d.window, **options), None, want


KINDS = [k_conv, keras2_conv, keras1_conv, theano_conv, depthwise, transposed, k_pool, keras_pool,
         theano_pools]  # fmt: skip


def check(seed):
    """Whether the seed has images that are taken."""
    d = Draw(seed)
    kind = KINDS[seed % len(KINDS)]
    try:
        build, w, want = kind(d)
    except ValueError:  # no window fits into the image
        return False
    arrays = [moved(d.x) if d.first else d.x, *([] if w is None else [w])]
    known = [d.known, d.known or kind in (depthwise, transposed)]
    tensors = [
        K.placeholder(a.shape if k else (None,) * a.ndim, dtype="float64")
        for a, k in zip(arrays, known)
    ]
    if kind in (theano_conv, theano_pools):
        types = {4: T.dtensor4, 5: T.dtensor5}
        tensors = [types[a.ndim]() for a in arrays]
    want = moved(want) if d.first else want
    options = {"on_unused_input": "ignore"}
    if 0 in d.x.shape[1:-1] or 0 in want.shape[1:]:
        try:
            got = K.function(tensors, build(*tensors), **options)(*arrays)
        except CKernelsError:
            return False
        assert got.shape == want.shape, (kind.__name__, got.shape, want.shape)
        return True
    y = build(*tensors)
    g = d.r.normal(size=want.shape)
    slopes = K.gradients(K.sum(y * K.constant(g, dtype="float64")), tensors)
    got, *slopes = K.function(tensors, [y, *slopes], **options)(*arrays)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=kind.__name__)
    total = np.sum(g * want)  # of which all are of first order in x, and in w
    for slope, a in zip(slopes, arrays):
        assert slope.shape == a.shape
        np.testing.assert_allclose(np.sum(slope * a), total, rtol=1e-8, atol=1e-8)
    return True


def run(seeds):
    taken = 0
    for seed in seeds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                taken += check(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}, {KINDS[seed % len(KINDS)].__name__}") from problem
    return taken


def test_images_of_each_dialect():
    with K.config.change(mode="reference"):
        assert run(range(45)) > 25
    assert run(range(45, 54)) > 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_many_images_of_each_dialect(many, new_seed, mode):
    with K.config.change(mode=mode):
        run(range(new_seed, new_seed + many // (5 if mode == "reference" else 20)))
