"""Nets of ordinary tutorials, trained by gradient descent: residual, transformer, MLP, LSTM.

Each is written as a user of the library would write it; all start from the same numbers.
"""

import numpy as np

from .program import Program, ckernels_training, jax_training, torch_training

CHANNELS, IMAGE, CLASSES = 16, 16, 10
WIDTH, HEADS, TOKENS = 128, 4, 64
EPSILON = 1e-5


def normal(rng, *shape, scale=1.0):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)


class Residual(Program):
    """Blocks of two 3x3 convolutions with batch norm; the second adds the block's input."""

    def __init__(self, layers, limits):
        self.layers, self.limits = layers, limits
        self.name = f"residual-{layers}"
        self.title = f"residual net, {layers} layers of 3x3 convolutions with batch norm, batch 8"
        self.title += ", 16 channels, 16 x 16, training step"

    def parameters(self, rng):
        layer = lambda: [
            normal(rng, 3, 3, CHANNELS, CHANNELS, scale=(2 / 9 / CHANNELS) ** 0.5),
            np.ones(CHANNELS, np.float32),
            np.zeros(CHANNELS, np.float32),
        ]
        found = [p for _ in range(self.layers) for p in layer()]
        return [*found, normal(rng, CHANNELS, CLASSES, scale=0.1)]

    def inputs(self, rng, size):
        labels = rng.integers(0, CLASSES, size)
        return normal(rng, size, IMAGE, IMAGE, CHANNELS), labels.astype(np.int64)

    def forward(self, x, P, layer, relu):
        """The last layer's images; layer(h, kernel, scale, shift) convolves and normalises."""
        for i in range(0, self.layers, 2):
            one, two = P[3 * i : 3 * i + 3], P[3 * i + 3 : 3 * i + 6]
            x = relu(layer(relu(layer(x, *one)), *two) + x)
        return x

    def ckernels(self, K, parameters):
        x = K.placeholder((None, IMAGE, IMAGE, CHANNELS))
        t = K.placeholder((None,), dtype="int64")
        P = [K.variable(p) for p in parameters]

        def layer(h, kernel, scale, shift):
            y = K.conv2d(h, kernel, padding="same", data_format="channels_last")
            mean, variance = K.mean(y, axis=[0, 1, 2]), K.var(y, axis=[0, 1, 2])
            return (y - mean) / K.sqrt(variance + EPSILON) * scale + shift

        h = self.forward(x, P, layer, K.relu)
        y = K.softmax(K.dot(K.mean(h, axis=[1, 2]), P[-1]))
        loss = K.mean(K.sparse_categorical_crossentropy(y, t))
        return ckernels_training(K, [x, t], loss, P)

    def torch(self, torch, compile, parameters):
        F = torch.nn.functional

        def layer(h, kernel, scale, shift):
            y = F.conv2d(h, kernel, padding=1)
            return F.batch_norm(y, None, None, scale, shift, True, 0.1, EPSILON)

        def cost(P, x, t):
            x = x.permute(0, 3, 1, 2)  # channels-last memory, for which oneDNN is at its best
            h = self.forward(x, P, layer, torch.relu)
            return F.cross_entropy(h.mean((2, 3)) @ P[-1], t)

        def channels_last(p):
            if p.ndim < 4:
                return p
            return np.ascontiguousarray(p.transpose(3, 0, 1, 2)).transpose(0, 3, 1, 2)

        return torch_training(torch, compile, cost, [channels_last(p) for p in parameters])

    def jax(self, jax, parameters):
        np_, layout = jax.numpy, ("NHWC", "HWIO", "NHWC")

        def layer(h, kernel, scale, shift):
            y = jax.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=layout)
            mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
            return (y - mean) / np_.sqrt(variance + EPSILON) * scale + shift

        def cost(P, x, t):
            h = self.forward(x, P, layer, jax.nn.relu)
            y = jax.nn.log_softmax(h.mean((1, 2)) @ P[-1])
            return -np_.take_along_axis(y, t[:, None], 1).mean()

        return jax_training(jax, cost, parameters)


class Transformer(Program):
    """Blocks of attention and a layer of four times the width with GELU, norms before both."""

    def __init__(self, blocks, limits):
        self.blocks, self.limits = blocks, limits
        self.name = f"transformer-{blocks}"
        self.title = f"transformer, {blocks} blocks, {WIDTH} wide, {HEADS} heads, {TOKENS} tokens"
        self.title += ", batch 8, training step"

    def parameters(self, rng):
        d, found = WIDTH, []
        for _ in range(self.blocks):
            found += [np.ones(d, np.float32), np.zeros(d, np.float32)]
            found += [normal(rng, d, d, scale=d**-0.5) for _ in range(4)]
            found += [np.ones(d, np.float32), np.zeros(d, np.float32)]
            found += [normal(rng, d, 4 * d, scale=d**-0.5), np.zeros(4 * d, np.float32)]
            found += [normal(rng, 4 * d, d, scale=(4 * d) ** -0.5), np.zeros(d, np.float32)]
        return [*found, np.ones(d, np.float32), np.zeros(d, np.float32)]

    def inputs(self, rng, size):
        return normal(rng, size, TOKENS, WIDTH), normal(rng, size, TOKENS, WIDTH)

    def forward(self, x, P, norm, attention, gelu, dot):
        """The normalised result of all blocks."""
        for i in range(0, 12 * self.blocks, 12):
            s1, b1, q, k, v, o, s2, b2, w1, c1, w2, c2 = P[i : i + 12]
            n = norm(x, s1, b1)
            x = x + dot(attention(dot(n, q), dot(n, k), dot(n, v)), o)
            x = x + dot(gelu(dot(norm(x, s2, b2), w1) + c1), w2) + c2
        return norm(x, *P[-2:])

    def ckernels(self, K, parameters):
        x, t = (K.placeholder((None, TOKENS, WIDTH)) for _ in range(2))
        P = [K.variable(p) for p in parameters]

        def norm(h, scale, shift):
            mean = K.mean(h, axis=-1, keepdims=True)
            variance = K.var(h, axis=-1, keepdims=True)
            return (h - mean) / K.sqrt(variance + EPSILON) * scale + shift

        def heads(h):
            h = K.reshape(h, (-1, TOKENS, HEADS, WIDTH // HEADS))
            return K.permute_dimensions(h, (0, 2, 1, 3))

        def attention(q, k, v):
            q, k, v = heads(q), heads(k), heads(v)
            scores = K.matmul(q, K.permute_dimensions(k, (0, 1, 3, 2)))
            a = K.softmax(scores * (WIDTH // HEADS) ** -0.5)
            y = K.permute_dimensions(K.matmul(a, v), (0, 2, 1, 3))
            return K.reshape(y, (-1, TOKENS, WIDTH))

        def gelu(h):
            return 0.5 * h * (1 + K.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))

        loss = K.mean(K.square(self.forward(x, P, norm, attention, gelu, K.dot) - t))
        return ckernels_training(K, [x, t], loss, P)

    def torch(self, torch, compile, parameters):
        F = torch.nn.functional

        def norm(h, scale, shift):
            return F.layer_norm(h, (WIDTH,), scale, shift, EPSILON)

        def heads(h):
            return h.view(-1, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)

        def attention(q, k, v):
            y = F.scaled_dot_product_attention(heads(q), heads(k), heads(v))
            return y.transpose(1, 2).reshape(-1, TOKENS, WIDTH)

        def cost(P, x, t):
            gelu = lambda h: F.gelu(h, approximate="tanh")
            return F.mse_loss(self.forward(x, P, norm, attention, gelu, torch.matmul), t)

        return torch_training(torch, compile, cost, parameters)

    def jax(self, jax, parameters):
        np_ = jax.numpy

        def norm(h, scale, shift):
            mean, variance = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
            return (h - mean) / np_.sqrt(variance + EPSILON) * scale + shift

        def heads(h):
            return h.reshape(-1, TOKENS, HEADS, WIDTH // HEADS)

        def attention(q, k, v):
            y = jax.nn.dot_product_attention(heads(q), heads(k), heads(v))
            return y.reshape(-1, TOKENS, WIDTH)

        def cost(P, x, t):
            y = self.forward(x, P, norm, attention, jax.nn.gelu, np_.matmul)
            return np_.square(y - t).mean()

        return jax_training(jax, cost, parameters)


class Mlp(Program):
    """Three layers, relu, softmax: a small program, for which a new size should cost nothing."""

    name = "mlp-3"
    title = "MLP 784-512-256-10, batch 128, training step"
    size, others = 128, (96, 100, 64, 160, 37)
    sizes = (784, 512, 256, 10)

    def parameters(self, rng):
        found = []
        for n, m in zip(self.sizes, self.sizes[1:]):
            found += [normal(rng, n, m, scale=(2 / n) ** 0.5), np.zeros(m, np.float32)]
        return found

    def inputs(self, rng, size):
        return rng.random((size, 784), dtype=np.float32), rng.integers(0, 10, size)

    def forward(self, x, P, relu, dot):
        a = relu(dot(x, P[0]) + P[1])
        return dot(relu(dot(a, P[2]) + P[3]), P[4]) + P[5]

    def ckernels(self, K, parameters):
        x, t = K.placeholder((None, 784)), K.placeholder((None,), dtype="int64")
        P = [K.variable(p) for p in parameters]
        y = K.softmax(self.forward(x, P, K.relu, K.dot))
        return ckernels_training(K, [x, t], K.mean(K.sparse_categorical_crossentropy(y, t)), P)

    def torch(self, torch, compile, parameters):
        def cost(P, x, t):
            a = torch.relu(torch.addmm(P[1], x, P[0]))
            b = torch.relu(torch.addmm(P[3], a, P[2]))
            return torch.nn.functional.cross_entropy(torch.addmm(P[5], b, P[4]), t)

        return torch_training(torch, compile, cost, parameters)

    def jax(self, jax, parameters):
        np_ = jax.numpy

        def cost(P, x, t):
            y = jax.nn.log_softmax(self.forward(x, P, jax.nn.relu, np_.matmul))
            return -np_.take_along_axis(y, t[:, None], 1).mean()

        return jax_training(jax, cost, parameters)


class Lstm(Program):
    """An LSTM on batches that differ in length: texts sorted into batches of 64 lengths."""

    name = "lengths-64"
    title = "LSTM on batches of 64 different lengths, 16 x 32 to 64 units, training step"
    size, others = 50, tuple(11 + 2 * (37 * k % 64) for k in range(64))
    passes = True
    batch, features, units = 16, 32, 64

    def parameters(self, rng):
        shapes = (self.features, 4 * self.units), (self.units, 4 * self.units), (4 * self.units,)
        return [normal(rng, *shape, scale=0.1) for shape in shapes]

    def inputs(self, rng, size):
        return normal(rng, size, self.batch, self.features), normal(rng, self.batch, self.units)

    def ckernels(self, K, parameters):
        x = K.placeholder((None, None, self.features))
        t = K.placeholder((None, self.units))
        w, u, b = P = [K.variable(p) for p in parameters]
        n = self.units

        def step(x, h, c):
            z = K.dot(x, w) + K.dot(h, u) + b
            i, f, a, o = (z[:, k * n : (k + 1) * n] for k in range(4))
            c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(a)
            return K.sigmoid(o) * K.tanh(c), c

        zero = K.zeros_like(t)
        states = K.scan(step, sequences=[x], outputs_info=[zero, zero])[0][0]
        return ckernels_training(K, [x, t], K.mean(K.square(states[-1] - t)), P)

    def torch(self, torch, compile, parameters):
        net = torch.nn.LSTM(self.features, self.units)
        w, u, b = (torch.from_numpy(p) for p in parameters)
        with torch.no_grad():
            for own, value in zip(net.parameters(), (w.T, u.T, b, torch.zeros_like(b))):
                own.copy_(value)
        P = list(net.parameters())[:3]

        @compile or (lambda step: step)
        def gradients(x, t):
            loss = torch.nn.functional.mse_loss(net(x)[0][-1], t)
            return loss, torch.autograd.grad(loss, P)

        def step(x, t):
            loss, found = gradients(torch.from_numpy(x), torch.from_numpy(t))
            with torch.no_grad():
                torch._foreach_add_(P, found, alpha=-0.01)
            return [loss.detach().numpy()]

        return step

    def jax(self, jax, parameters):
        np_ = jax.numpy

        def cost(P, x, t):
            w, u, b = P

            def step(carry, z):
                h, c = carry
                i, f, a, o = np_.split(z + h @ u, 4, 1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * np_.tanh(a)
                h = jax.nn.sigmoid(o) * np_.tanh(c)
                return (h, c), None

            zero = np_.zeros_like(t)
            (h, _), _ = jax.lax.scan(step, (zero, zero), x @ w + b)
            return np_.square(h - t).mean()

        return jax_training(jax, cost, parameters)


PROGRAMS = [
    Residual(10, {"cold": 0.8, "warm": 0.08, "above": 0.1e-3, "one": 0.1, "per node": 0.25e-3}),
    Residual(40, {"cold": 1.1, "warm": 0.15, "above": 0.3e-3, "one": 0.3, "per node": 0.25e-3}),
    Residual(160, {"cold": 2.5, "warm": 0.5, "above": 1e-3, "one": 1, "per node": 0.25e-3}),
    Transformer(2, {"cold": 0.6, "warm": 0.06}),
    Transformer(8, {"cold": 0.8, "warm": 0.12}),
    Transformer(24, {"cold": 1.6, "warm": 0.3}),
    Mlp(),
    Lstm(),
]  # fmt: skip
