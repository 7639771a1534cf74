"""An LSTM over 50 steps, batch 32, 64 inputs, 128 units: forward, with all its gradients, and a
training step.

Everybody multiplies all inputs by their weights at once, before the loop, and keeps the four gates
in one matrix, in torch's order: input, forget, cell, output.
"""

import functools

import numpy as np

from benchmarks.workload import WON, Case, Workload

STEPS, BATCH, INPUTS, UNITS, RATE = 50, 32, 64, 128, 0.1


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Lstm(Workload):
    peers = ("numpy", "torch", "jax", "pytensor-numba", "pytensor-c", "ckernels", "limit")
    limit_is = "its gemms by the bare BLAS"
    wrt = (1, 2, 3)
    rtol, atol = 1e-3, 1e-4

    def __init__(self, gradient):
        self.gradient = gradient
        self.name = "lstm-gradient" if gradient else "lstm"
        self.title = f"LSTM of {STEPS} steps, batch {BATCH}, {INPUTS} to {UNITS}, float32"
        self.title += ", all states and three gradients" if gradient else ", all states"

    def cases(self):
        label = "LSTM fwd+bwd" if self.gradient else "LSTM fwd"
        return [Case(label, {}, (WON,))]

    def data(self, rng):
        shapes = [(STEPS, BATCH, INPUTS), (INPUTS, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)]
        x, *parameters = (rng.standard_normal(s, dtype=np.float32) for s in shapes)
        parameters = [p * np.float32(0.1) for p in parameters]
        g = rng.standard_normal((STEPS, BATCH, UNITS), dtype=np.float32) / np.float32(STEPS)
        return (x, *parameters, g) if self.gradient else (x, *parameters)

    def numpy(self, xp, x, w, u, b, g=None):
        z = (x.reshape(-1, INPUTS) @ w + b).reshape(STEPS, BATCH, 4 * UNITS)
        h = c = np.zeros((BATCH, UNITS), np.float32)
        states, kept = [], []
        for t in range(STEPS):
            gates = z[t] + h @ u
            i, f, a, o = np.split(gates, 4, 1)
            i, f, a, o = sigmoid(i), sigmoid(f), np.tanh(a), sigmoid(o)
            kept.append((i, f, a, o, c))
            c = f * c + i * a
            h = o * np.tanh(c)
            states.append(h)
            kept[-1] += (np.tanh(c), h)
        states = np.stack(states)
        return states if g is None else [states, *self.backward(x, u, kept, g)]

    @staticmethod
    def backward(x, u, kept, g):
        dh = dc = np.zeros((BATCH, UNITS), np.float32)
        dz = np.empty((STEPS, BATCH, 4 * UNITS), np.float32)
        for t in range(STEPS)[::-1]:
            i, f, a, o, before, tanh, _ = kept[t]
            dh = dh + g[t]
            dc = dc + dh * o * (1 - tanh * tanh)
            gates = [
                dc * a * i * (1 - i),
                dc * before * f * (1 - f),
                dc * i * (1 - a * a),
                dh * tanh * o * (1 - o),
            ]
            dz[t] = np.concatenate(gates, 1)
            dh, dc = dz[t] @ u.T, dc * f
        before = np.stack([np.zeros_like(dh)] + [k[-1] for k in kept[:-1]])
        flat = dz.reshape(-1, 4 * UNITS)
        return x.reshape(-1, INPUTS).T @ flat, before.reshape(-1, UNITS).T @ flat, flat.sum(0)

    @staticmethod
    def torch_net(torch, w, u, b):
        """(torch's LSTM with these weights, its parameters)."""
        net = torch.nn.LSTM(INPUTS, UNITS)
        with torch.no_grad():
            net.weight_ih_l0[:] = torch.from_numpy(w.T.copy())
            net.weight_hh_l0[:] = torch.from_numpy(u.T.copy())
            net.bias_ih_l0[:] = torch.from_numpy(b)
            net.bias_hh_l0[:] = 0
        return net, [net.weight_ih_l0, net.weight_hh_l0, net.bias_ih_l0]

    def torch_call(self, peer, x, w, u, b, g=None):
        torch = peer.lib
        net, wrt = self.torch_net(torch, w, u, b)
        x = torch.from_numpy(x)
        torch.set_grad_enabled(self.gradient)
        if not self.gradient:
            return lambda: net(x)[0]
        g = torch.from_numpy(g)

        def call():
            states, _ = net(x)
            dw, du, db = torch.autograd.grad(states, wrt, g)
            return [states, dw.T, du.T, db]

        return call

    def jax(self, xp, x, w, u, b):
        import jax

        def step(carry, z):
            h, c = carry
            i, f, a, o = xp.split(z + h @ u, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * xp.tanh(a)
            h = jax.nn.sigmoid(o) * xp.tanh(c)
            return (h, c), h

        z = (x.reshape(-1, INPUTS) @ w + b).reshape(STEPS, BATCH, 4 * UNITS)
        zero = xp.zeros((BATCH, UNITS), "float32")
        return jax.lax.scan(step, (zero, zero), z)[1]

    def pytensor(self, pt, x, w, u, b):
        import pytensor

        def step(z, h, c, u):
            z = z + pt.dot(h, u)
            i, f, a, o = (z[:, k * UNITS : (k + 1) * UNITS] for k in range(4))
            c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(a)
            return pt.sigmoid(o) * pt.tanh(c), c

        z = (pt.dot(x.reshape((-1, INPUTS)), w) + b).reshape((STEPS, BATCH, 4 * UNITS))
        zero = pt.zeros((BATCH, UNITS), "float32")
        return pytensor.scan(
            step,
            sequences=[z],
            outputs_info=[zero, zero],
            non_sequences=[u],
            return_updates=False,
        )[0]

    def ckernels(self, K, x, w, u, b):
        def step(x, h, c):
            z = K.dot(x, w) + K.dot(h, u) + b
            i, f, a, o = (z[:, k * UNITS : (k + 1) * UNITS] for k in range(4))
            c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(a)
            return K.sigmoid(o) * K.tanh(c), c

        zero = K.constant(np.zeros((BATCH, UNITS), "float32"))
        return K.scan(step, sequences=[x], outputs_info=[zero, zero])[0][0]

    def limit(self, c, x, w, u, b, g=None):
        flat, state = x.reshape(-1, INPUTS), np.ones((BATCH, UNITS), np.float32)
        products = [(flat, w), *[(state, u)] * STEPS]
        if g is not None:
            z = np.ones((STEPS * BATCH, 4 * UNITS), np.float32)
            states = np.ones((STEPS * BATCH, UNITS), np.float32)
            products += [*[(z[:BATCH], u.T)] * STEPS, (flat.T, z), (states.T, z)]
        return c.gemms(products)


class LstmTraining(Lstm):
    """Gradient descent on the squared distance of the last state from a target."""

    peers = ("torch", "jax", "pytensor-numba", "pytensor-c", "ckernels")
    steps, stateful = 3, True

    def __init__(self):
        super().__init__(False)
        self.name = "lstm-train"
        self.title = f"LSTM training step: {STEPS} steps, batch {BATCH}, {INPUTS} to {UNITS}"
        self.title += ", float32, gradient descent"

    def cases(self):
        return [Case("LSTM training step", {}, (WON,))]

    def data(self, rng, steps=STEPS):
        x, *parameters = super().data(rng)
        x = rng.standard_normal((steps, BATCH, INPUTS), dtype=np.float32)
        return x, *parameters, rng.standard_normal((BATCH, UNITS), dtype=np.float32)

    def torch_call(self, peer, x, w, u, b, target):
        torch = peer.lib
        net, P = self.torch_net(torch, w, u, b)
        x, target = torch.from_numpy(x), torch.from_numpy(target)
        torch.set_grad_enabled(True)

        def step():
            loss = torch.mean((net(x)[0][-1] - target) ** 2)
            gradients = torch.autograd.grad(loss, P)
            with torch.no_grad():
                torch._foreach_add_(P, gradients, alpha=-RATE)
            return loss

        return step

    def jax_call(self, peer, x, *parameters_and_target):
        jax, np_ = peer.lib, peer.lib.numpy
        x, *P, target = (jax.device_put(a) for a in (x, *parameters_and_target))

        def cost(P, x, target):
            return np_.mean((self.jax(np_, x, *P)[-1] - target) ** 2)

        @functools.partial(jax.jit, donate_argnums=0)
        def step(P, x, target):
            loss, G = jax.value_and_grad(cost)(P, x, target)
            return [p - np_.float32(RATE) * g for p, g in zip(P, G)], loss

        def call():
            nonlocal P
            P, loss = step(P, x, target)
            return jax.block_until_ready(loss)

        return call

    def pytensor_call(self, peer, x, *parameters_and_target):
        lib, pt = peer.lib, peer.np
        *parameters, target = parameters_and_target
        P = [lib.shared(p) for p in parameters]
        x0, y = peer.symbol(x), peer.symbol(target)
        loss = pt.mean((self.pytensor(pt, x0, *P)[-1] - y) ** 2)
        moved = [p - np.float32(RATE) * g for p, g in zip(P, lib.grad(loss, P))]
        step = peer.function([x0, y], loss, updates=list(zip(P, moved)))
        return functools.partial(step, x, target)

    def ckernels_call(self, peer, x, *parameters_and_target):
        K = peer.lib
        *parameters, target = parameters_and_target
        P = [K.variable(p) for p in parameters]
        x0, y = peer.symbol(x), peer.symbol(target)
        loss = K.mean(K.square(self.ckernels(K, x0, *P)[-1] - y))
        updates = [K.update_sub(p, RATE * g) for p, g in zip(P, K.gradients(loss, P))]
        return functools.partial(peer.function([x0, y], loss, updates=updates), x, target)


WORKLOADS = [Lstm(False), Lstm(True), LstmTraining()]
