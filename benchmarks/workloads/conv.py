"""Convolutions of 32 images, float32: forward, and with both gradients; both data formats.

Padding is half a kernel on every side, as torch has it. Channels-last peers get channels-last
memory: torch the `channels_last` format of its tensors, for which oneDNN's kernels are at their
best. A first layer needs no gradient of its image.
"""

import functools

import numpy as np

from benchmarks.workload import IMAGES, Case, Target, Workload

# batch, size of the image, channels, size of the kernel, channels of the result, stride, groups
SHAPES = {
    "3x3 same": (32, 32, 64, 3, 64, 1, 1),
    "1x1": (32, 32, 64, 1, 128, 1, 1),
    "3x3 strided": (32, 32, 64, 3, 128, 2, 1),
    "first layer": (32, 64, 3, 3, 32, 1, 1),
    "depthwise": (32, 32, 64, 3, 64, 1, 64),
}  # fmt: skip
LAST, FIRST = "channels_last", "channels_first"


def taps(kernel, result, stride):
    """(place in the kernel, what all windows see there) of a padded channels-last image."""
    for i in range(kernel):
        for j in range(kernel):
            rows = slice(i, i + (result - 1) * stride + 1, stride)
            cols = slice(j, j + (result - 1) * stride + 1, stride)
            yield (i, j), (slice(None), rows, cols)


class Conv(Workload):
    name = "conv"
    title = "2-D convolution, float32, forward"
    limit_is = "no limit, a comparison: one gemm of as many multiplications by NumPy's OpenBLAS"
    rtol, atol = 1e-3, 2e-3
    set = IMAGES
    back = False  # also the gradients of the kernel and, where it may be asked for, the image

    def cases(self):
        ahead = (Target("peers", 1),)
        return [
            Case(f"{self.name} {shape} {form}", {"shape": shape, "form": form}, ahead)
            for form in (LAST, FIRST)
            for shape in SHAPES
        ]

    def data(self, rng, shape, form):
        n, s, c, k, o, stride, groups = SHAPES[shape]
        r = -(-s // stride)
        x, g = ((n, s, s, c), (n, r, r, o)) if form == LAST else ((n, c, s, s), (n, o, r, r))
        w = rng.standard_normal((k, k, c // groups, o), dtype=np.float32)
        w *= np.float32((k * k * c // groups) ** -0.5)
        x = rng.standard_normal(x, dtype=np.float32)
        return (x, w, rng.standard_normal(g, dtype=np.float32)) if self.back else (x, w)

    def wants_image(self, shape):
        return shape != "first layer"

    def results(self, y, image, kernel, shape):
        """What a call returns: with gradients, that of a first layer's image is left out."""
        if not self.back:
            return [y]
        return [y, image, kernel] if self.wants_image(shape) else [y, kernel]

    # ---- NumPy ------------------------------------------------------------------------------

    def numpy_call(self, peer, x, w, *g, shape, form):
        return functools.partial(self.by_taps, x, w, *g, shape=shape, form=form)

    def by_taps(self, x, w, g=None, *, shape, form):
        n, s, c, k, o, stride, groups = SHAPES[shape]
        last = form == LAST
        x = x if last else np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        half = k // 2
        wide = np.pad(x, ((0, 0), (half, half), (half, half), (0, 0)))
        r = -(-s // stride)
        y = np.zeros((n, r, r, o), np.float32)
        for at, there in taps(k, r, stride):
            y += wide[there] * w[at] if groups > 1 else wide[there] @ w[at]
        image = kernel = None
        if g is not None:
            g = g if last else np.ascontiguousarray(g.transpose(0, 2, 3, 1))
            image, kernel = np.zeros_like(wide), np.zeros_like(w)
            for at, there in taps(k, r, stride):
                if groups > 1:
                    image[there] += g * w[at]
                    kernel[at] = (wide[there] * g).sum((0, 1, 2))
                else:
                    image[there] += g @ w[at].T
                    kernel[at] = wide[there].reshape(-1, c).T @ g.reshape(-1, o)
            image = image[:, half : half + s, half : half + s]
        swap = (lambda a: a) if last else (lambda a: a if a is None else a.transpose(0, 3, 1, 2))
        return self.results(swap(y), swap(image), kernel, shape)

    # ---- torch ------------------------------------------------------------------------------

    def torch_call(self, peer, x, w, *g, shape, form):
        torch = peer.lib
        n, s, c, k, o, stride, groups = SHAPES[shape]
        memory = torch.channels_last if form == LAST else torch.contiguous_format
        images = [torch.from_numpy(a) for a in (x, *g)]
        if form == LAST:
            images = [t.permute(0, 3, 1, 2) for t in images]
        x, *g = (t.contiguous(memory_format=memory) for t in images)
        w = torch.from_numpy(np.ascontiguousarray(w.transpose(3, 2, 0, 1)))
        w = w.contiguous(memory_format=memory)
        F = torch.nn.functional

        def forward(x, w):
            return F.conv2d(x, w, None, stride, k // 2, 1, groups)

        back = (lambda t: t.permute(0, 2, 3, 1)) if form == LAST else (lambda t: t)
        if not self.back:
            forward = peer.without_autograd(peer.compile(forward))
            return lambda: back(forward(x, w))
        wrt = (0, 1) if self.wants_image(shape) else (1,)
        both = peer.forward_and_backward(forward, [x, w], wrt, g[0])

        def call():
            y, *image, kernel = both()
            return [back(y), *map(back, image), kernel.permute(2, 3, 1, 0)]

        return call

    # ---- the others -------------------------------------------------------------------------

    def jax_call(self, peer, x, w, *g, shape, form):
        jax = peer.lib
        *_, k, o, stride, groups = SHAPES[shape]
        around = [(k // 2, k // 2)] * 2
        layout = "NHWC" if form == LAST else "NCHW"
        arrays = [jax.device_put(a) for a in (x, w, *g)]

        def forward(x, w):
            return jax.lax.conv_general_dilated(
                x,
                w,
                (stride, stride),
                around,
                dimension_numbers=(layout, "HWIO", layout),
                feature_group_count=groups,
            )

        def with_gradients(x, w, g):
            if not self.wants_image(shape):
                y, pull = jax.vjp(functools.partial(forward, x), w)
            else:
                y, pull = jax.vjp(forward, x, w)
            return (y, *pull(g))

        jitted = jax.jit(with_gradients if self.back else forward)
        return lambda: jax.block_until_ready(jitted(*arrays))

    def pytensor_call(self, peer, *arrays, **params):
        raise NotImplementedError("no convolution for images with channels")

    def ckernels_call(self, peer, x, w, *g, shape, form):
        K = peer.lib
        *_, stride, groups = SHAPES[shape]
        symbols = [peer.symbol(x), K.placeholder(w.shape, dtype="float32"), *map(peer.symbol, g)]
        a, b = symbols[:2]
        if groups > 1:
            y = K.depthwise_conv2d(
                a, K.permute_dimensions(b, (0, 1, 3, 2)), (stride, stride), "half", form
            )
        else:
            y = K.conv2d(a, b, (stride, stride), "half", form)
        outputs = [y]
        if g:
            wrt = [a, b] if self.wants_image(shape) else [b]
            outputs += K.gradients(K.sum(y * symbols[2]), wrt)
        return functools.partial(peer.function(symbols, outputs), x, w, *g)

    def limit(self, c, x, w, *g, shape, form):
        n, s, channels, k, o, stride, groups = SHAPES[shape]
        if groups > 1:
            return None
        rows = n * (s // stride) ** 2
        a, b = np.ones((rows, k * k * channels), np.float32), w.reshape(-1, o)
        if not self.back:
            return c.gemms([(a, b)])
        pairs = [(a, b), (a.T, np.ones((rows, o), np.float32))]
        if self.wants_image(shape):
            pairs.append((np.ones((rows, o), np.float32), b.T))
        return c.gemms(pairs)


class ConvGradient(Conv):
    name = "conv-gradient"
    title = "2-D convolution, float32, forward and backward"
    back = True


WORKLOADS = [Conv(), ConvGradient()]
