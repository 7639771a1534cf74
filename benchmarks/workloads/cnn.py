"""A training step of a small CNN: 28 x 28 x 1, batch 64: two convolutions, a pool, two layers."""

import functools

import numpy as np

from benchmarks.momentum import ckernels_updates, jax_step, torch_step
from benchmarks.workload import WON, Case, Workload

BATCH, RATE, MOMENTUM = 64, 0.05, 0.9
FLAT = 12 * 12 * 64
SHAPES = ((3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (FLAT, 128), (128,), (128, 10), (10,))


class Cnn(Workload):
    name = "cnn"
    title = "CNN training step, 28 x 28 x 1, batch 64, momentum, float32"
    limit_is = ""
    steps, stateful = 2, True
    rtol, atol = 1e-3, 1e-3
    peers = ("numpy", "torch", "torch-compile", "jax", "ckernels")

    def cases(self):
        return [Case("CNN step", {}, (WON,))]

    def data(self, rng):
        x = rng.random((BATCH, 28, 28, 1), dtype=np.float32)
        labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, BATCH)]
        parameters = []
        for shape in SHAPES:
            scale = (2 / np.prod(shape[:-1])) ** 0.5 if len(shape) > 1 else 0
            parameters.append(rng.standard_normal(shape, dtype=np.float32) * np.float32(scale))
        return x, labels, *parameters

    # ---- NumPy: windows as matrices ---------------------------------------------------------

    def numpy_call(self, peer, x, t, *parameters):
        P = [p.copy() for p in parameters]
        V = [np.zeros_like(p) for p in P]

        def windows(a):
            shown = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2))
            return np.ascontiguousarray(shown.transpose(0, 1, 2, 4, 5, 3))

        def step():
            wa = windows(x).reshape(-1, 9)
            a = np.maximum(wa @ P[0].reshape(9, 32) + P[1], 0).reshape(BATCH, 26, 26, 32)
            wb = windows(a).reshape(-1, 288)
            b = np.maximum(wb @ P[2].reshape(288, 64) + P[3], 0).reshape(BATCH, 12, 2, 12, 2, 64)
            pooled = b.max((2, 4), keepdims=True)
            flat = pooled.reshape(BATCH, FLAT)
            h = np.maximum(flat @ P[4] + P[5], 0)
            z = h @ P[6] + P[7]
            z -= z.max(1, keepdims=True)
            e = np.exp(z)
            total = e.sum(1, keepdims=True)
            loss = (np.log(total)[:, 0] - (z * t).sum(1)).mean()
            dz = (e / total - t) / np.float32(BATCH)
            dh = dz @ P[6].T * (h > 0)
            dpool = (dh @ P[4].T).reshape(pooled.shape)
            db = ((b == pooled) * dpool * (b > 0)).reshape(-1, 64)
            dwb = (db @ P[2].reshape(288, 64).T).reshape(BATCH, 24, 24, 3, 3, 32)
            da = np.zeros_like(a)
            for i in range(3):
                for j in range(3):
                    da[:, i : i + 24, j : j + 24] += dwb[:, :, :, i, j]
            da = (da * (a > 0)).reshape(-1, 32)
            gradients = [
                wa.T @ da,
                da.sum(0),
                wb.T @ db,
                db.sum(0),
                flat.T @ dh,
                dh.sum(0),
                h.T @ dz,
                dz.sum(0),
            ]
            for p, v, g in zip(P, V, gradients):
                v *= np.float32(MOMENTUM)
                v -= np.float32(RATE) * g.reshape(p.shape)
                p += v
            return [loss]

        return step

    # ---- torch ------------------------------------------------------------------------------

    def torch_call(self, peer, x, t, *parameters):
        torch = peer.lib
        F = torch.nn.functional
        x = torch.from_numpy(x).permute(0, 3, 1, 2)
        t = torch.from_numpy(t.argmax(1))  # class numbers, torch's fast form
        P = [torch.from_numpy(p.copy()) for p in parameters]
        for k in (0, 2):
            P[k] = P[k].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

        def cost(P, x, t):
            a = torch.relu(F.conv2d(x, P[0], P[1]))
            b = F.max_pool2d(torch.relu(F.conv2d(a, P[2], P[3])), 2)
            flat = b.permute(0, 2, 3, 1).reshape(BATCH, FLAT)
            h = torch.relu(torch.addmm(P[5], flat, P[4]))
            return F.cross_entropy(torch.addmm(P[7], h, P[6]), t)

        return torch_step(peer, cost, P, x, t, RATE, MOMENTUM)

    # ---- JAX --------------------------------------------------------------------------------

    def jax_call(self, peer, x, t, *parameters):
        jax = peer.lib
        layout = ("NHWC", "HWIO", "NHWC")

        def layer(x, w, b):
            y = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=layout)
            return jax.nn.relu(y + b)

        def cost(P, x, t):
            b = layer(layer(x, P[0], P[1]), P[2], P[3])
            window = (1, 2, 2, 1)
            b = jax.lax.reduce_window(b, -np.inf, jax.lax.max, window, window, "VALID")
            h = jax.nn.relu(b.reshape(BATCH, FLAT) @ P[4] + P[5])
            return -(t * jax.nn.log_softmax(h @ P[6] + P[7])).sum(1).mean()

        return jax_step(peer, cost, x, t, parameters, RATE, MOMENTUM)

    # ---- ckernels ---------------------------------------------------------------------------

    def ckernels_call(self, peer, x, t, *parameters):
        K = peer.lib
        xs, ts = peer.symbol(x), peer.symbol(t)
        P = [K.variable(p) for p in parameters]
        form = "channels_last"
        a = K.relu(K.bias_add(K.conv2d(xs, P[0], data_format=form), P[1]))
        b = K.relu(K.bias_add(K.conv2d(a, P[2], data_format=form), P[3]))
        b = K.pool2d(b, (2, 2), (2, 2), data_format=form)
        h = K.relu(K.dot(K.reshape(b, (-1, FLAT)), P[4]) + P[5])
        y = K.softmax(K.dot(h, P[6]) + P[7])
        loss = K.mean(K.categorical_crossentropy(y, ts))
        updates = ckernels_updates(K, loss, P, RATE, MOMENTUM)
        return functools.partial(peer.function([xs, ts], [loss], updates=updates), x, t)


WORKLOADS = [Cnn()]
