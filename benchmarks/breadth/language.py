"""Language: attention, embeddings, losses over vocabularies, counts, distances of strings."""

import numpy as np

import ckernels as K

from .registry import SAME, floats, program


def heads(rng, h, t, d):
    return tuple(floats(rng, h, t, d) for _ in range(3))


def attention_torch(q, k, v):
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@program(heads, (8, 256, 64), (2, 5, 4), torch=attention_torch, jax=SAME)
def causal_attention(q, k, v):
    t = q.shape[1]
    scores = q @ np.swapaxes(k, 1, 2) / np.sqrt(q.shape[-1]).astype(np.float32)
    scores = np.where(np.tril(np.ones((t, t), bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def block(rng, t, d):
    return (
        floats(rng, t, d),
        *(floats(rng, d) for _ in range(2)),
        floats(rng, d, 4 * d) / np.float32(d**0.5),
        floats(rng, 4 * d),
        floats(rng, 4 * d, d) / np.float32(d**0.5),
        floats(rng, d),
    )


def block_torch(x, scale, shift, w1, b1, w2, b2):
    from torch.nn import functional as F

    y = F.layer_norm(x, x.shape[-1:], scale, shift, 1e-5)
    return x + F.gelu(y @ w1 + b1, approximate="tanh") @ w2 + b2


@program(block, (256, 192), (3, 8), torch=block_torch, jax=SAME, close=1e-3)
def transformer_block(x, scale, shift, w1, b1, w2, b2):
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift
    y = y @ w1 + b1
    y = 0.5 * y * (1 + np.tanh(0.7978845608 * (y + 0.044715 * y**3)))
    return x + y @ w2 + b2


def documents(rng, n, t, vocabulary, d):
    length = rng.integers(1, t + 1, n)
    return floats(rng, vocabulary, d), rng.integers(0, vocabulary, (n, t)), length


def bag_torch(table, ids, length):
    import torch

    mask = (torch.arange(ids.shape[1]) < length[:, None]).float()
    return (table[ids] * mask[:, :, None]).sum(1) / length[:, None]


@program(documents, (256, 50, 20000, 64), (3, 4, 9, 5), torch=bag_torch, jax=SAME)
def mean_of_embeddings(table, ids, length):
    mask = (np.arange(ids.shape[1]) < length[:, None]).astype(np.float32)
    return (table[ids] * mask[:, :, None]).sum(1) / length[:, None].astype(np.float32)


def logits(rng, n, vocabulary):
    return 3 * floats(rng, n, vocabulary), rng.integers(0, vocabulary, n)


def entropy_torch(x, target):
    import torch

    x = x.requires_grad_()
    loss = torch.nn.functional.cross_entropy(x, target)
    return loss.detach(), torch.autograd.grad(loss, x)[0]


@program(logits, (256, 10000), (3, 7), torch=entropy_torch)
def cross_entropy_and_gradient(x, target):
    n = np.arange(len(x))
    shifted = x - x.max(1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(1, keepdims=True)
    loss = -(shifted[n, target] - np.log(total[:, 0])).mean()
    gradient = e / total
    gradient[n, target] -= 1
    return loss, gradient / len(x)


def rotated(rng, h, t, d):
    return floats(rng, h, t, d), np.arange(t, dtype=np.float32)


@program(rotated, (8, 512, 64), (2, 3, 4), jax=SAME)
def rotary_positions(x, place):
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-np.arange(half, dtype=np.float32) / half)
    angle = place[:, None] * frequency.astype(np.float32)
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def drawn(rng, n, vocabulary):
    return 2 * floats(rng, n, vocabulary), rng.random((n, 1)).astype(np.float32)


def nucleus_torch(x, u):
    import torch

    p, order = torch.sort(torch.softmax(x, -1), descending=True)
    c = torch.cumsum(p, -1)
    p = torch.where(c - p < 0.9, p, 0)
    c = torch.cumsum(p / p.sum(-1, keepdim=True), -1)
    return torch.gather(order, 1, (c < u).sum(-1, keepdim=True))[:, 0]


@program(drawn, (32, 8000), (3, 9), torch=nucleus_torch, jax=SAME)
def nucleus_sampling(x, u):
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    order = np.argsort(-p, axis=-1)
    p = np.take_along_axis(p, order, -1)
    p = np.where(np.cumsum(p, -1) - p < 0.9, p, 0)
    c = np.cumsum(p / p.sum(-1, keepdims=True), -1)
    return np.take_along_axis(order, (c < u).sum(-1, keepdims=True), 1)[:, 0]


def strings(rng, n, m):
    return rng.integers(0, 4, n), rng.integers(0, 4, m)


@program(strings, (300, 400), (6, 5))
def edit_distance(a, b):
    """Levenshtein's distance, a row of the table at a time."""
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for i in range(len(a)):
        best = np.minimum(row[1:] + 1, row[:-1] + (a[i] != b))
        best = np.concatenate((row[:1] + 1, best))
        row = np.minimum.accumulate(best - steps) + steps
    return row[-1]


def skips(rng, n, vocabulary, d):
    ids = rng.integers(0, vocabulary, (7, n))
    return floats(rng, vocabulary, d), floats(rng, vocabulary, d), ids[0], ids[1], ids[2:].T.copy()


def word2vec_ours(inner, outer, word, context, noise):
    u, v = K.variable(inner), K.variable(outer)
    w, c, z = (K.placeholder(ndim=n, dtype="int64") for n in (1, 1, 2))
    x, y, far = K.gather(u, w), K.gather(v, c), K.gather(v, z)
    loss = K.sum(K.softplus(-K.sum(x * y, -1)))
    loss = loss + K.sum(K.softplus(K.sum(far * K.expand_dims(x, 1), -1)))
    du, dv = K.gradients(loss, [u, v])
    step = K.function([w, c, z], [loss], updates=[(u, u - 0.05 * du), (v, v - 0.05 * dv)])
    return lambda: step([word, context, noise])[0]


@program(skips, (1024, 20000, 64), (5, 9, 4), ours=word2vec_ours, close=1e-3)
def word2vec_step(inner, outer, word, context, noise):
    """Skip-grams with negative samples: the loss, and a step in place."""
    x, y, far = inner[word], outer[context], outer[noise]
    near_score = (x * y).sum(-1)
    far_score = (far * x[:, None]).sum(-1)
    loss = np.logaddexp(0, -near_score).sum() + np.logaddexp(0, far_score).sum()
    g_near = -1 / (1 + np.exp(near_score))[:, None]
    g_far = 1 / (1 + np.exp(-far_score))[:, :, None]
    np.add.at(inner, word, -0.05 * (g_near * y + (g_far * far).sum(1)))
    np.add.at(outer, context, -0.05 * g_near * x)
    np.add.at(outer, noise, -0.05 * g_far * x[:, None])
    return loss
