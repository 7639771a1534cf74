"""A training step of batch normalisation: y, moving averages, three gradients."""

import functools

import numpy as np

from benchmarks.workload import WON, Case, Workload

EPSILON, MOMENTUM = 1e-3, 0.99
FIRST = "channels_first"
SHAPES = {
    "rows": (8192, 256),
    "channels_last": (128, 28, 28, 64),
    FIRST: (128, 64, 28, 28),
}  # fmt: skip
AXES = {"rows": (0,), "channels_last": (0, 1, 2), FIRST: (0, 2, 3)}


def wide(vector, form):
    """A vector of channels so that it broadcasts against the images."""
    return vector.reshape((-1, 1, 1)) if form == FIRST else vector


def blend(old, new):
    return old * MOMENTUM + new * (1 - MOMENTUM)


class BatchNorm(Workload):
    name = "batch-norm"
    title = "batch norm step, 8192 x 256 or 128 x 28 x 28 x 64 float32, forward and backward"
    limit_is = "C loop that reads x and g once and writes y and dx once"
    stateful = True  # torch moves its averages in place
    rtol, atol = 1e-3, 2e-3  # gradients of scale and shift are sums of 8192 float32

    def cases(self):
        step = Case("batch norm step", {"form": "rows"}, (WON,))
        ahead = (WON,)
        return [step] + [Case(f"batch norm {f}", {"form": f}, ahead) for f in list(SHAPES)[1:]]

    def data(self, rng, form):
        shape = SHAPES[form]
        channels = shape[1 if form == FIRST else -1]
        x, g = (rng.standard_normal(shape, dtype=np.float32) for _ in range(2))
        scale, shift, mean = (rng.standard_normal(channels, dtype=np.float32) for _ in range(3))
        return x, scale, shift, mean, np.ones(channels, np.float32), g

    def formula(self, xp, x, scale, shift, form):
        """Result, mean and variance of the batch."""
        mean = x.mean(AXES[form])
        centred = x - wide(mean, form)
        variance = (centred * centred).mean(AXES[form])
        y = centred / wide(xp.sqrt(variance + EPSILON), form) * wide(scale, form)
        return y + wide(shift, form), mean, variance

    def numpy(self, xp, x, scale, shift, moving_mean, moving_variance, g, form):
        axes, count = AXES[form], np.float32(x.size // scale.size)
        mean = x.mean(axes)
        xhat = x - wide(mean, form)
        y = np.square(xhat)
        variance = y.mean(axes)
        inverse = 1 / np.sqrt(variance + np.float32(EPSILON))
        xhat *= wide(inverse, form)
        np.multiply(xhat, wide(scale, form), out=y)
        y += wide(shift, form)
        dshift = g.sum(axes)
        dx = g * xhat
        dscale = dx.sum(axes)
        np.multiply(xhat, wide(dscale / count, form), out=dx)
        np.subtract(g, dx, out=dx)
        dx -= wide(dshift / count, form)
        dx *= wide(scale * inverse, form)
        return [y, dx, dscale, dshift, blend(moving_mean, mean), blend(moving_variance, variance)]

    def torch_call(self, peer, *arrays, form):
        torch = peer.lib
        x, scale, shift, moving_mean, moving_variance, g = peer.tensors(arrays)
        last = form == "channels_last"
        if last:
            x, g = x.permute(0, 3, 1, 2), g.permute(0, 3, 1, 2)

        def forward(x, scale, shift):
            return torch.nn.functional.batch_norm(
                x, moving_mean, moving_variance, scale, shift, True, 1 - MOMENTUM, EPSILON
            )

        both = peer.forward_and_backward(forward, [x, scale, shift], (0, 1, 2), g)

        def call():
            y, dx, dscale, dshift = both()
            if last:
                y, dx = y.permute(0, 2, 3, 1), dx.permute(0, 2, 3, 1)
            return y, dx, dscale, dshift, moving_mean, moving_variance

        return call

    def jax_call(self, peer, *arrays, form):
        jax = peer.lib

        @jax.jit
        def step(x, scale, shift, moving_mean, moving_variance, g):
            forward = functools.partial(self.formula, jax.numpy, form=form)
            (y, mean, variance), pull = jax.vjp(forward, x, scale, shift)
            zero = jax.numpy.zeros_like(mean)
            moved = blend(moving_mean, mean), blend(moving_variance, variance)
            return (y, *pull((g, zero, zero)), *moved)

        inputs = [jax.device_put(a) for a in arrays]
        return lambda: jax.block_until_ready(step(*inputs))

    def pytensor_call(self, peer, *arrays, form):
        symbols = [peer.symbol(a) for a in arrays]
        x, scale, shift, moving_mean, moving_variance, g = symbols
        y, mean, variance = self.formula(peer.np, x, scale, shift, form)
        outputs = [y, *peer.lib.grad((y * g).sum(), [x, scale, shift])]
        outputs += [blend(moving_mean, mean), blend(moving_variance, variance)]
        return functools.partial(peer.function(symbols, outputs), *arrays)

    def ckernels_call(self, peer, *arrays, form):
        K = peer.lib
        symbols = [peer.symbol(a) for a in arrays]
        x, scale, shift, moving_mean, moving_variance, g = symbols
        y, mean, variance = K.normalize_batch_in_training(x, scale, shift, AXES[form], EPSILON)
        outputs = [y, *K.gradients(K.sum(y * g), [x, scale, shift])]
        outputs += [blend(moving_mean, mean), blend(moving_variance, variance)]
        return functools.partial(peer.function(symbols, outputs), *arrays)

    def limit(self, c, x, scale, shift, moving_mean, moving_variance, g, form):
        return c.call("copy2_f32", x, g, np.empty_like(x), np.empty_like(x), x.size, result=[])


WORKLOADS = [BatchNorm()]
