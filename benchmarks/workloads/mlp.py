"""A training step of a classifier: 784-512-256-10, relu, softmax, momentum, batches of 128."""

import functools

import numpy as np

from benchmarks.momentum import ckernels_updates, jax_step, torch_step
from benchmarks.workload import WON, Case, Workload

SIZES, BATCH, RATE, MOMENTUM = (784, 512, 256, 10), 128, 0.1, 0.9


def data(rng):
    """x, one-hot labels, then weights and biases of each layer."""
    x = rng.random((BATCH, SIZES[0]), dtype=np.float32)
    labels = np.eye(SIZES[-1], dtype=np.float32)[rng.integers(0, SIZES[-1], BATCH)]
    parameters = []
    for n, m in zip(SIZES, SIZES[1:]):
        weights = rng.standard_normal((n, m), dtype=np.float32) * np.float32((2 / n) ** 0.5)
        parameters += [weights, np.zeros(m, np.float32)]
    return x, labels, *parameters


class Mlp(Workload):
    name = "mlp"
    title = "MLP 784-512-256-10 training step, batch 128, momentum, float32"
    limit_is = "its eight gemms by the bare BLAS"
    steps, stateful = 3, True
    rtol, atol = 1e-3, 1e-4

    def cases(self):
        return [Case("MLP step", {}, (WON,))]

    def data(self, rng):
        return data(rng)

    def numpy_call(self, peer, x, t, *parameters):
        P = [p.copy() for p in parameters]
        V = [np.zeros_like(p) for p in P]
        rate, momentum = np.float32(RATE), np.float32(MOMENTUM)

        def hidden(x, w, b):
            h = x @ w
            h += b
            return np.maximum(h, 0, out=h)

        def step():
            a = hidden(x, P[0], P[1])
            b = hidden(a, P[2], P[3])
            z = b @ P[4]
            z += P[5]
            z -= z.max(1, keepdims=True)
            e = np.exp(z)
            total = e.sum(1, keepdims=True)
            loss = (np.log(total)[:, 0] - (z * t).sum(1)).mean()
            e /= total
            e -= t
            e /= BATCH
            db = e @ P[4].T
            db *= b > 0
            da = db @ P[2].T
            da *= a > 0
            gradients = [x.T @ da, da.sum(0), a.T @ db, db.sum(0), b.T @ e, e.sum(0)]
            for p, v, g in zip(P, V, gradients):
                g *= rate
                v *= momentum
                v -= g
                p += v
            return [loss]

        return step

    def torch_call(self, peer, x, t, *parameters):
        torch = peer.lib
        F = torch.nn.functional
        t = t.argmax(1)  # class numbers, torch's fast form
        x, t, *P = peer.tensors((x, t, *(p.copy() for p in parameters)))

        def cost(P, x, t):
            a = torch.relu(torch.addmm(P[1], x, P[0]))
            b = torch.relu(torch.addmm(P[3], a, P[2]))
            return F.cross_entropy(torch.addmm(P[5], b, P[4]), t)

        return torch_step(peer, cost, P, x, t, RATE, MOMENTUM)

    def jax_call(self, peer, x, t, *parameters):
        jax = peer.lib

        def cost(P, x, t):
            a = jax.nn.relu(x @ P[0] + P[1])
            b = jax.nn.relu(a @ P[2] + P[3])
            return -(t * jax.nn.log_softmax(b @ P[4] + P[5])).sum(1).mean()

        return jax_step(peer, cost, x, t, parameters, RATE, MOMENTUM)

    def pytensor_call(self, peer, x, t, *parameters):
        pt, shared = peer.np, peer.lib.shared
        xs, ts = peer.symbol(x), peer.symbol(t)
        P = [shared(p) for p in parameters]
        V = [shared(np.zeros_like(p)) for p in parameters]
        a = pt.maximum(pt.dot(xs, P[0]) + P[1], 0)
        b = pt.maximum(pt.dot(a, P[2]) + P[3], 0)
        z = pt.dot(b, P[4]) + P[5]
        loss = -(ts * pt.special.log_softmax(z, axis=1)).sum(1).mean()
        rate, momentum = np.float32(RATE), np.float32(MOMENTUM)
        updates = []
        for p, v, g in zip(P, V, peer.lib.grad(loss, P)):
            moved = momentum * v - rate * g
            updates += [(v, moved), (p, p + moved)]
        return functools.partial(peer.function([xs, ts], loss, updates=updates), x, t)

    def ckernels_call(self, peer, x, t, *parameters):
        K = peer.lib
        xs, ts = peer.symbol(x), peer.symbol(t)
        P = [K.variable(p) for p in parameters]
        a = K.relu(K.dot(xs, P[0]) + P[1])
        b = K.relu(K.dot(a, P[2]) + P[3])
        y = K.softmax(K.dot(b, P[4]) + P[5])
        loss = K.mean(K.categorical_crossentropy(y, ts))
        updates = ckernels_updates(K, loss, P, RATE, MOMENTUM)
        return functools.partial(peer.function([xs, ts], [loss], updates=updates), x, t)

    def limit(self, c, x, t, w1, b1, w2, b2, w3, b3):
        a = np.ones((BATCH, SIZES[1]), np.float32)
        b = np.ones((BATCH, SIZES[2]), np.float32)
        return c.gemms(
            [(x, w1), (a, w2), (b, w3), (t, w3.T), (b, w2.T), (x.T, a), (a.T, b), (b.T, t)]
        )


WORKLOADS = [Mlp()]
