"""Small nets: one sample at a time, and small steps of training."""

import numpy as np

import ckernels as K

from .registry import SAME, floats, program


def layers(rng, n, *widths):
    pairs = zip(widths[:-1], widths[1:])
    weights = [
        w for a, b in pairs for w in (floats(rng, a, b) / np.float32(a**0.5), floats(rng, b))
    ]
    return floats(rng, n, widths[0]), *weights


def policy_torch(x, w1, b1, w2, b2, w3, b3):
    import torch

    h = torch.tanh(torch.tanh(x @ w1 + b1) @ w2 + b2)
    return torch.softmax(h @ w3 + b3, -1)


@program(layers, (1, 24, 64, 64, 4), (1, 3, 5, 4, 2), torch=policy_torch, jax=SAME)
def policy_of_one_state(x, w1, b1, w2, b2, w3, b3):
    h = np.tanh(np.tanh(x @ w1 + b1) @ w2 + b2)
    y = h @ w3 + b3
    e = np.exp(y - y.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mlp_ours(x, *weights):
    image = K.placeholder((None, x.shape[1]))
    h = image
    for i in range(0, len(weights), 2):
        h = K.dot(h, K.variable(weights[i])) + K.variable(weights[i + 1])
        h = K.relu(h) if i + 2 < len(weights) else h
    function = K.function([image], [h])
    return lambda: function([x])[0]


def mlp_torch(x, w1, b1, w2, b2, w3, b3):
    import torch

    return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


@program(layers, (1, 784, 128, 64, 10), (1, 5, 4, 3, 2), ours=mlp_ours, torch=mlp_torch, jax=SAME)
def digits_of_one_image(x, w1, b1, w2, b2, w3, b3):
    return np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3


def cells(rng, t, d, h):
    return (
        floats(rng, t, d),
        floats(rng, d, 4 * h) / np.float32(d**0.5),
        floats(rng, h, 4 * h) / np.float32(h**0.5),
        floats(rng, 4 * h),
    )


def logistic(x):
    return 1 / (1 + np.exp(-x))


@program(cells, (50, 16, 32), (3, 2, 4))
def lstm_of_one_sequence(x, w, u, b):
    n = len(u)
    h = c = np.zeros(n, np.float32)
    for t in range(len(x)):
        gates = x[t] @ w + h @ u + b
        i, f, o = logistic(gates[:n]), logistic(gates[n : 2 * n]), logistic(gates[2 * n : 3 * n])
        c = f * c + i * np.tanh(gates[3 * n :])
        h = o * np.tanh(c)
    return h


def mind(rng, n, d):
    shapes = (d, 3 * d), (d, d), (d, 2 * d), (2 * d, d)
    return floats(rng, n, d), *(floats(rng, *s) / np.float32(d**0.5) for s in shapes)


def normed(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@program(mind, (16, 64), (3, 8), jax=SAME, close=1e-3)
def transformer_of_few_tokens(x, qkv, out, up, down):
    n, d = x.shape
    q, k, v = np.split((normed(x) @ qkv).reshape(n, 12, d // 4).transpose(1, 0, 2), 3)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(d // 4))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = (e / e.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(n, d)
    x = x + y @ out
    return x + np.maximum(normed(x) @ up, 0) @ down


def coder_ours(x, *weights):
    w1, b1, w2, b2 = shared = [K.variable(w) for w in weights]
    image = K.placeholder((None, x.shape[1]))
    y = K.dot(K.relu(K.dot(image, w1) + b1), w2) + b2
    loss = K.mean(K.square(y - image))
    updates = [(w, w - 0.1 * g) for w, g in zip(shared, K.gradients(loss, shared))]
    step = K.function([image], [loss], updates=updates)
    return lambda: step([x])[0]


def coder_torch(x, *weights):
    import torch

    with torch.enable_grad():
        w1, b1, w2, b2 = ws = [w.requires_grad_() for w in weights]
        loss = ((torch.relu(x @ w1 + b1) @ w2 + b2 - x) ** 2).mean()
        gradients = torch.autograd.grad(loss, ws)
    with torch.no_grad():
        for w, g in zip(ws, gradients):
            w -= 0.1 * g
    return loss.detach()


@program(layers, (64, 256, 64, 256), (3, 6, 2, 6), ours=coder_ours, torch=coder_torch)
def autoencoder_step(x, w1, b1, w2, b2):
    """A step of training with the gradient by hand, in place."""
    a = x @ w1 + b1
    h = np.maximum(a, 0)
    error = h @ w2 + b2 - x
    g = 2 * error / error.size
    back = (g @ w2.T) * (a > 0)
    w2 -= 0.1 * (h.T @ g)
    b2 -= 0.1 * g.sum(0)
    w1 -= 0.1 * (x.T @ back)
    b1 -= 0.1 * back.sum(0)
    return (error**2).mean()


def moments(rng, *shape):
    return tuple(floats(rng, *shape) for _ in range(3)) + (np.abs(floats(rng, *shape)),)


@program(moments, (512, 512), (3, 4), jax=SAME)
def adam_update(w, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    step = 0.001 * (m / (1 - 0.9**10)) / (np.sqrt(v / (1 - 0.999**10)) + 1e-8)
    return w - step - 0.0001 * w, m, v


def q_table(rng, n, states, actions):
    return (
        rng.standard_normal((states, actions)),
        rng.integers(0, states, n),
        rng.integers(0, actions, n),
        rng.standard_normal(n),
        rng.integers(0, states, n),
    )


@program(q_table, (2000, 100, 4), (9, 3, 2))
def q_learning(q, state, action, reward, after):
    q = q.copy()
    for t in range(len(state)):
        goal = reward[t] + 0.9 * q[after[t]].max()
        q[state[t], action[t]] += 0.1 * (goal - q[state[t], action[t]])
    return q
