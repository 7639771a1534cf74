"""A training step of batch normalisation: y, moving averages, three gradients."""

import functools

import numpy as np

from benchmarks.workload import Case, Target, Workload

ROWS, COLUMNS, EPSILON, MOMENTUM = 8192, 256, 1e-3, 0.99


def blend(old, new):
    return old * MOMENTUM + new * (1 - MOMENTUM)


class BatchNorm(Workload):
    name = "batch-norm"
    title = f"batch norm step, {ROWS} x {COLUMNS} float32, forward and backward"
    limit_is = "C loop that reads x and g once and writes y and dx once"
    rtol, atol = 1e-3, 2e-3  # gradients of scale and shift are sums of 8192 float32

    def cases(self):
        return [Case("batch norm step", {}, (Target("peers", 1.3),))]

    def data(self, rng):
        x, g = (rng.standard_normal((ROWS, COLUMNS), dtype=np.float32) for _ in range(2))
        scale, shift, mean = (rng.standard_normal(COLUMNS, dtype=np.float32) for _ in range(3))
        return x, scale, shift, mean, np.ones(COLUMNS, np.float32), g

    def formula(self, xp, x, scale, shift):
        """Result, mean and variance of the batch."""
        mean = x.mean(0)
        centred = x - mean
        variance = (centred * centred).mean(0)
        return centred / xp.sqrt(variance + EPSILON) * scale + shift, mean, variance

    def numpy(self, xp, x, scale, shift, moving_mean, moving_variance, g):
        mean = x.mean(0)
        xhat = x - mean
        y = np.square(xhat)
        variance = y.mean(0)
        inverse = 1 / np.sqrt(variance + np.float32(EPSILON))
        xhat *= inverse
        np.multiply(xhat, scale, out=y)
        y += shift
        dshift = g.sum(0)
        dx = g * xhat
        dscale = dx.sum(0)
        np.multiply(xhat, dscale / len(x), out=dx)
        np.subtract(g, dx, out=dx)
        dx -= dshift / len(x)
        dx *= scale * inverse
        return [y, dx, dscale, dshift, blend(moving_mean, mean), blend(moving_variance, variance)]

    def torch_call(self, peer, *arrays):
        torch = peer.lib
        torch.set_grad_enabled(True)
        x, scale, shift, moving_mean, moving_variance, g = peer.tensors(arrays)
        wrt = [t.requires_grad_() for t in (x, scale, shift)]
        forward = peer.compile(
            lambda x, scale, shift, mean, variance: torch.nn.functional.batch_norm(
                x, mean, variance, scale, shift, True, 1 - MOMENTUM, EPSILON
            )
        )

        def call():
            y = forward(*wrt, moving_mean, moving_variance)
            return (y, *torch.autograd.grad(y, wrt, g))

        return call

    def jax_call(self, peer, *arrays):
        jax = peer.lib

        @jax.jit
        def step(x, scale, shift, moving_mean, moving_variance, g):
            forward = functools.partial(self.formula, jax.numpy)
            (y, mean, variance), pull = jax.vjp(forward, x, scale, shift)
            zero = jax.numpy.zeros_like(mean)
            moved = blend(moving_mean, mean), blend(moving_variance, variance)
            return (y, *pull((g, zero, zero)), *moved)

        inputs = [jax.device_put(a) for a in arrays]
        return lambda: jax.block_until_ready(step(*inputs))

    def pytensor_call(self, peer, *arrays):
        symbols = [peer.symbol(a) for a in arrays]
        x, scale, shift, moving_mean, moving_variance, g = symbols
        y, mean, variance = self.formula(peer.np, x, scale, shift)
        outputs = [y, *peer.lib.grad((y * g).sum(), [x, scale, shift])]
        outputs += [blend(moving_mean, mean), blend(moving_variance, variance)]
        return functools.partial(peer.function(symbols, outputs), *arrays)

    def ckernels_call(self, peer, *arrays):
        K = peer.lib
        symbols = [peer.symbol(a) for a in arrays]
        x, scale, shift, moving_mean, moving_variance, g = symbols
        y, mean, variance = K.normalize_batch_in_training(x, scale, shift, [0], EPSILON)
        outputs = [y, *K.gradients(K.sum(y * g), [x, scale, shift])]
        outputs += [blend(moving_mean, mean), blend(moving_variance, variance)]
        return functools.partial(peer.function(symbols, outputs), *arrays)

    def limit(self, c, x, scale, shift, moving_mean, moving_variance, g):
        return c.call("copy2_f32", x, g, np.empty_like(x), np.empty_like(x), x.size, result=[])


WORKLOADS = [BatchNorm()]
