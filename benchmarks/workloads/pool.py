"""Max pooling 2 x 2 of 32 x 64 x 32 x 32 float32 with its gradient, and upsampling by 2."""

import functools

import numpy as np

from benchmarks.workload import IMAGES, Case, Target, Workload

BATCH, SIZE, CHANNELS = 32, 32, 64
LAST, FIRST = "channels_last", "channels_first"


def split(x, form):
    """(..., rows, 2, columns, 2, ...) of an image, and the two axes of a window."""
    axis = 1 if form == LAST else 2
    half = SIZE // 2
    return x.reshape(*x.shape[:axis], half, 2, half, 2, *x.shape[axis + 2 :]), axis


class Pool(Workload):
    rtol = atol = 1e-5
    what = "max"

    def cases(self):
        ahead = (Target("torch", 1), Target("jax", 1))
        return [Case(f"{self.name} {form}", {"form": form}, ahead) for form in (LAST, FIRST)]

    def shapes(self):
        return SIZE, SIZE // 2

    def data(self, rng, form):
        def image(size):
            if form == LAST:
                return rng.standard_normal((BATCH, size, size, CHANNELS), dtype=np.float32)
            return rng.standard_normal((BATCH, CHANNELS, size, size), dtype=np.float32)

        x, y = self.shapes()
        return image(x), image(y)

    def torch_call(self, peer, x, g, form):
        torch = peer.lib
        x, g = (torch.from_numpy(a) for a in (x, g))
        if form == LAST:
            x, g = x.permute(0, 3, 1, 2), g.permute(0, 3, 1, 2)
        both = peer.forward_and_backward(self.torch_forward(torch), [x], (0,), g)
        back = (lambda t: t.permute(0, 2, 3, 1)) if form == LAST else (lambda t: t)
        return lambda: [back(t) for t in both()]

    def jax_call(self, peer, x, g, form):
        jax = peer.lib
        arrays = [jax.device_put(a) for a in (x, g)]
        forward = self.jax_forward(jax, form)

        @jax.jit
        def both(x, g):
            y, pull = jax.vjp(forward, x)
            return y, *pull(g)

        return lambda: jax.block_until_ready(both(*arrays))

    def pytensor_call(self, peer, *arrays, **params):
        raise NotImplementedError("not in PyTensor")

    def ckernels_call(self, peer, x, g, form):
        K = peer.lib
        a, b = peer.symbol(x), peer.symbol(g)
        y = self.ckernels_forward(K, a, form)
        return functools.partial(peer.function([a, b], [y, *K.gradients(K.sum(y * b), [a])]), x, g)


class MaxPool(Pool):
    name = "max-pool"
    set = IMAGES
    title = "2 x 2 max pooling of 32 x 64 x 32 x 32 float32, forward and backward"
    limit_is = "C loop that reads x twice, writes dx and a quarter more"

    def numpy_call(self, peer, x, g, form):
        def call():
            parts, axis = split(x, form)
            y = parts.max((axis + 1, axis + 3), keepdims=True)
            dx = (parts == y) * g.reshape(y.shape)
            return [y.reshape(g.shape), dx.reshape(x.shape)]

        return call

    def torch_forward(self, torch):
        return lambda x: torch.nn.functional.max_pool2d(x, 2)

    def jax_forward(self, jax, form):
        window = (1, 2, 2, 1) if form == LAST else (1, 1, 2, 2)
        return lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")

    def ckernels_forward(self, K, x, form):
        return K.pool2d(x, (2, 2), (2, 2), "valid", form, "max")


class Upsample(Pool):
    name = "upsample"
    title = "2 x 2 upsampling of 32 x 64 x 16 x 16 float32, forward and backward"
    limit_is = ""

    def shapes(self):
        return SIZE // 2, SIZE

    def numpy_call(self, peer, x, g, form):
        axis = 1 if form == LAST else 2

        def call():
            y = x.repeat(2, axis).repeat(2, axis + 1)
            parts, _ = split(g, form)
            return [y, parts.sum((axis + 1, axis + 3))]

        return call

    def torch_forward(self, torch):
        return lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")

    def jax_forward(self, jax, form):
        axis = 1 if form == LAST else 2
        return lambda x: jax.numpy.repeat(jax.numpy.repeat(x, 2, axis), 2, axis + 1)

    def ckernels_forward(self, K, x, form):
        return K.resize_images(x, 2, 2, form)


WORKLOADS = [MaxPool(), Upsample()]
