"""A training step of the Theano manual's logistic regression, 400 x 784, float64.

ckernels gets the manual's naive formula; the peers get one that does not overflow.
"""

import functools

import numpy as np

from benchmarks.workload import WON, Case, Workload

SAMPLES, FEATURES, RATE, DECAY = 400, 784, 0.1, 0.01


class Logistic(Workload):
    name = "logistic"
    title = f"logistic regression step, {SAMPLES} x {FEATURES} float64"
    limit_is = "its two matrix-vector products by the bare BLAS"
    steps, stateful = 3, True
    rtol, atol = 1e-6, 1e-5  # torch.compile's float64 softplus is off by 4e-6

    def cases(self):
        return [Case("logistic regression step", {}, (WON,))]

    def data(self, rng):
        x = rng.standard_normal((SAMPLES, FEATURES))
        y = rng.integers(0, 2, SAMPLES).astype(np.float64)
        return x, y, rng.standard_normal(FEATURES)

    def numpy_call(self, peer, x, y, w):
        w, b = w.copy(), 0.0

        def step():
            nonlocal b, w
            z = x @ w
            z += b
            xent = np.logaddexp(0, z) - y * z
            p = 1 / (1 + np.exp(-z))
            error = p - y
            error /= SAMPLES
            gradient = error @ x
            gradient += 2 * DECAY * w
            gradient *= RATE
            w -= gradient
            b -= RATE * error.sum()
            return [z > 0, xent]

        return step

    def torch_call(self, peer, x, y, w):
        torch = peer.lib
        x, y, w = peer.tensors((x, y, w.copy()))
        b = torch.zeros((), dtype=torch.float64)
        torch.set_grad_enabled(False)

        def step(x, y, w, b):
            z = torch.addmv(b, x, w)
            xent = torch.nn.functional.softplus(z) - y * z
            error = (torch.sigmoid(z) - y) / SAMPLES
            gradient = torch.mv(x.t(), error) + 2 * DECAY * w
            w.sub_(gradient, alpha=RATE)
            b.sub_(error.sum(), alpha=RATE)
            return z > 0, xent

        return functools.partial(peer.compile(step), x, y, w, b)

    def jax_call(self, peer, x, y, w):
        jax, xp = peer.lib, peer.np

        def cost(w, b, x, y):
            z = x @ w + b
            xent = jax.nn.softplus(z) - y * z
            return xent.mean() + DECAY * (w * w).sum(), (z > 0, xent)

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(w, b, x, y):
            (_, seen), (dw, db) = jax.value_and_grad(cost, (0, 1), has_aux=True)(w, b, x, y)
            return w - RATE * dw, b - RATE * db, seen

        x, y, w, b = (jax.device_put(a) for a in (x, y, w, xp.zeros(())))

        def call():
            nonlocal w, b
            w, b, seen = step(w, b, x, y)
            return jax.block_until_ready(seen)

        return call

    def pytensor_call(self, peer, x, y, w):
        pt = peer.np
        xs, ys = peer.symbol(x), peer.symbol(y)
        w, b = peer.lib.shared(w, borrow=False), peer.lib.shared(np.array(0.0))
        z = pt.dot(xs, w) + b
        xent = pt.softplus(z) - ys * z
        cost = xent.mean() + DECAY * (w**2).sum()
        dw, db = peer.lib.grad(cost, [w, b])
        updates = [(w, w - RATE * dw), (b, b - RATE * db)]
        return functools.partial(peer.function([xs, ys], [z > 0, xent], updates=updates), x, y)

    def ckernels_call(self, peer, x, y, w):
        K = peer.lib
        xs, ys = peer.symbol(x), peer.symbol(y)
        w, b = K.variable(w, dtype="float64"), K.variable(0.0, dtype="float64")
        p = 1 / (1 + K.exp(-K.dot(xs, w) - b))
        xent = -ys * K.log(p) - (1 - ys) * K.log(1 - p)
        cost = K.mean(xent) + DECAY * K.sum(w**2)
        dw, db = K.gradients(cost, [w, b])
        updates = [K.update_sub(w, RATE * dw), K.update_sub(b, RATE * db)]
        return functools.partial(peer.function([xs, ys], [p > 0.5, xent], updates=updates), x, y)

    def limit(self, c, x, y, w):
        z, gradient = np.empty_like(y), np.empty_like(w)

        def call():
            np.dot(x, w, out=z)
            np.dot(y, x, out=gradient)
            return []

        return call


WORKLOADS = [Logistic()]
