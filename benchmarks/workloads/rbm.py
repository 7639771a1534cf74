"""A training step of a restricted Boltzmann machine: 784-500, CD-25, batches of 100.

25 steps of Gibbs sampling in a loop, the gradients of two free energies, momentum. Numbers are
drawn differently everywhere, so results agree within what chance allows only.
"""

import functools

import numpy as np

from benchmarks.workload import WON, Case, Workload

VISIBLE, HIDDEN, BATCH, K_STEPS, RATE, MOMENTUM = 784, 500, 100, 25, 0.05, 0.9


class Rbm(Workload):
    name = "rbm"
    title = "RBM 784-500, CD-25, batch 100: one training step, float32"
    limit_is = "its 54 gemms by the bare BLAS"
    peers = ("numpy", "torch", "jax", "pytensor-numba", "pytensor-c", "ckernels", "limit")
    stateful = True
    atol = 60.0  # nats, of the mean difference of free energies

    def cases(self):
        return [Case("RBM CD-25 step", {}, (WON,))]

    def data(self, rng):
        v = (rng.random((BATCH, VISIBLE)) < 0.2).astype(np.float32)
        w = rng.standard_normal((VISIBLE, HIDDEN), dtype=np.float32) * np.float32(0.05)
        return v, w, np.zeros(VISIBLE, np.float32), np.zeros(HIDDEN, np.float32)

    def numpy_call(self, peer, v, *parameters):
        w, b, c = P = [p.copy() for p in parameters]
        V = [np.zeros_like(p) for p in P]
        rng = np.random.default_rng(1)
        rate, momentum = np.float32(RATE), np.float32(MOMENTUM)

        def probabilities(x, w, bias):
            z = x @ w
            z += bias
            np.negative(z, out=z)
            np.exp(z, out=z)
            z += 1
            return np.reciprocal(z, out=z)

        def sampled(p):
            return (rng.random(p.shape, np.float32) < p).astype(np.float32)

        def energy(x):
            z = x @ w + c
            return -(x @ b).mean() - np.logaddexp(0, z).sum(1).mean()

        def step():
            x = v
            for _ in range(K_STEPS):
                x = sampled(probabilities(sampled(probabilities(x, w, c)), w.T, b))
            loss = energy(v) - energy(x)
            h, g = probabilities(v, w, c), probabilities(x, w, c)
            gradients = x.T @ g - v.T @ h, (x - v).sum(0), (g - h).sum(0)
            for p, m, gradient in zip(P, V, gradients):
                m *= momentum
                m -= rate / BATCH * gradient
                p += m
            return [loss]

        return step

    def torch_call(self, peer, v, *parameters):
        torch = peer.lib
        torch.set_grad_enabled(False)
        v, *P = peer.tensors((v, *(p.copy() for p in parameters)))
        w, b, c = P
        V = [torch.zeros_like(p) for p in P]

        def energy(z, x):
            return -(x @ b).mean() - torch.nn.functional.softplus(z).sum(1).mean()

        def step():  # the gradients by hand: autograd would only add to them
            x = v
            for _ in range(K_STEPS):
                h = torch.bernoulli(torch.sigmoid_(torch.addmm(c, x, w)))
                x = torch.bernoulli(torch.sigmoid_(torch.addmm(b, h, w.T)))
            z, y = torch.addmm(c, v, w), torch.addmm(c, x, w)
            loss = energy(z, v) - energy(y, x)
            h, g = torch.sigmoid_(z), torch.sigmoid_(y)
            gradients = [x.T @ g - v.T @ h, (x - v).sum(0), (g - h).sum(0)]
            torch._foreach_mul_(V, MOMENTUM)
            torch._foreach_add_(V, gradients, alpha=-RATE / BATCH)
            torch._foreach_add_(P, V)
            return loss

        return step

    def jax_call(self, peer, v, *parameters):
        jax, np_ = peer.lib, peer.lib.numpy

        def energy(P, x):
            w, b, c = P
            return -(x @ b).mean() - jax.nn.softplus(x @ w + c).sum(1).mean()

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def step(P, V, v, key):
            w, b, c = P
            key, own = jax.random.split(key)

            def gibbs(x, key):
                first, second = jax.random.split(key)
                h = jax.random.bernoulli(first, jax.nn.sigmoid(x @ w + c)).astype(np_.float32)
                x = jax.random.bernoulli(second, jax.nn.sigmoid(h @ w.T + b))
                return x.astype(np_.float32), None

            x, _ = jax.lax.scan(gibbs, v, jax.random.split(own, K_STEPS))
            x = jax.lax.stop_gradient(x)
            loss, G = jax.value_and_grad(lambda P: energy(P, v) - energy(P, x))(P)
            V = [np_.float32(MOMENTUM) * m - np_.float32(RATE) * g for m, g in zip(V, G)]
            return [p + m for p, m in zip(P, V)], V, loss, key

        v, *P = (jax.device_put(a) for a in (v, *parameters))
        V, key = [np_.zeros_like(p) for p in P], jax.random.key(1)

        def call():
            nonlocal P, V, key
            P, V, loss, key = step(P, V, v, key)
            return jax.block_until_ready(loss)

        return call

    def pytensor_call(self, peer, v, *parameters):
        lib, pt = peer.lib, peer.np
        from pytensor.tensor.random.utils import RandomStream

        rng = RandomStream(1)
        w, b, c = P = [lib.shared(p) for p in parameters]
        v0 = peer.symbol(v)

        def sampled(z, columns):
            u = rng.uniform(size=(BATCH, columns), dtype="float32")
            return (u < pt.sigmoid(z)).astype("float32")

        def gibbs(x):
            return sampled(pt.dot(sampled(pt.dot(x, w) + c, HIDDEN), w.T) + b, VISIBLE)

        def energy(x):
            return -pt.dot(x, b).mean() - pt.softplus(pt.dot(x, w) + c).sum(1).mean()

        chain, states = lib.scan(gibbs, outputs_info=v0, n_steps=K_STEPS)
        x = lib.gradient.disconnected_grad(chain[-1])
        loss = energy(v0) - energy(x)
        updates = list(states.items())
        rate, momentum = np.float32(RATE), np.float32(MOMENTUM)
        for p, g in zip(P, lib.grad(loss, P)):
            m = lib.shared(np.zeros_like(p.get_value()))
            moved = momentum * m - rate * g
            updates += [(m, moved), (p, p + moved)]
        return functools.partial(peer.function([v0], loss, updates=updates), v)

    def ckernels_call(self, peer, v, *parameters):
        K = peer.lib
        K.set_random_seed(1)
        v0 = peer.symbol(v)
        w, b, c = P = [K.variable(p) for p in parameters]

        def sampled(z):
            return K.random_binomial(K.shape(z), K.sigmoid(z))

        def gibbs(x):
            return sampled(K.dot(sampled(K.dot(x, w) + c), K.transpose(w)) + b)

        def energy(x):
            return -K.mean(K.dot(x, b)) - K.mean(K.sum(K.softplus(K.dot(x, w) + c), axis=1))

        chain, states = K.scan(gibbs, outputs_info=v0, n_steps=K_STEPS)
        loss = energy(v0) - energy(K.stop_gradient(chain[-1]))
        updates = list(states.items())
        for p, g in zip(P, K.gradients(loss, P)):
            m = K.zeros(K.int_shape(p))
            moved = MOMENTUM * m - RATE * g
            updates += [K.update(m, moved), K.update_add(p, moved)]
        return functools.partial(peer.function([v0], loss, updates=updates), v)

    def limit(self, c, v, w, *biases):
        h = np.ones((BATCH, HIDDEN), np.float32)
        there_and_back = [(v, w), (h, w.T)] * K_STEPS
        return c.gemms(there_and_back + [(v, w), (v, w), (v.T, h), (v.T, h)])


WORKLOADS = [Rbm()]
