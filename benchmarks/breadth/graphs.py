"""Graphs: ranks, paths, messages along edges, spectra."""

import numpy as np

from .registry import SAME, floats, program


def edges(rng, n, m):
    return rng.integers(0, n, m), rng.integers(0, n, m)


def linked(rng, n, m):
    source, target = edges(rng, n, m)
    return source, target, np.full(n, 1.0 / n)


@program(linked, (5000, 40000), (7, 20))
def page_rank(source, target, start):
    n = len(start)
    degree = np.maximum(np.bincount(source, minlength=n), 1)
    rank = start
    for _ in range(20):
        rank = 0.15 / n + 0.85 * np.bincount(target, (rank / degree)[source], n)
    return rank


def convolved(rng, n, m, d, h):
    source, target = edges(rng, n, m)
    return source, target, floats(rng, n, d), floats(rng, d, h) / np.float32(d**0.5)


def gcn_torch(source, target, x, w):
    import torch

    n = len(x)
    degree = torch.bincount(target, minlength=n) + 1
    norm = 1 / torch.sqrt(degree.float())
    y = x @ w
    out = torch.zeros_like(y).index_add_(
        0, target, y[source] * (norm[source] * norm[target])[:, None]
    )
    return torch.relu(out + y * (norm**2)[:, None])


@program(convolved, (2000, 20000, 64, 32), (6, 15, 4, 3), torch=gcn_torch)
def graph_convolution(source, target, x, w):
    n = len(x)
    degree = np.bincount(target, minlength=n) + 1
    norm = (1 / np.sqrt(degree)).astype(np.float32)
    y = x @ w
    out = np.zeros_like(y)
    np.add.at(out, target, y[source] * (norm[source] * norm[target])[:, None])
    return np.maximum(out + y * (norm**2)[:, None], 0)


def attended(rng, n, m, d):
    source, target = edges(rng, n, m)
    return source, target, floats(rng, n, d), floats(rng, d), floats(rng, d)


@program(attended, (2000, 20000, 32), (6, 15, 4))
def graph_attention(source, target, x, a, b):
    """A softmax over the edges that meet in a node."""
    n = len(x)
    score = (x @ a)[source] + (x @ b)[target]
    score = np.where(score > 0, score, 0.2 * score)
    top = np.full(n, -np.inf, np.float32)
    np.maximum.at(top, target, score)
    e = np.exp(score - top[target])
    total = np.bincount(target, e, n).astype(np.float32)
    out = np.zeros_like(x)
    np.add.at(out, target, (e / total[target])[:, None] * x[source])
    return out


def weighted(rng, n, m):
    return *edges(rng, n, m), rng.random(m), np.full(n, np.inf)


@program(weighted, (1000, 10000), (6, 15))
def bellman_ford(source, target, weight, far):
    distance = far.copy()
    distance[0] = 0
    for _ in range(15):
        np.minimum.at(distance, target, distance[source] + weight)
    return distance


def roads(rng, n):
    return (np.where(rng.random((n, n)) < 0.2, rng.random((n, n)), np.inf),)


@program(roads, (120,), (6,))
def all_shortest_paths(distance):
    d = distance.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return d


def adjacency(rng, n):
    upper = np.triu(rng.random((n, n)) < 0.1, 1)
    return ((upper | upper.T).astype(np.float32),)


@program(adjacency, (300,), (7,), jax=SAME)
def clustering_coefficients(a):
    degree = a.sum(1)
    triangles = ((a @ a) * a).sum(1) / 2
    possible = degree * (degree - 1) / 2
    return np.where(possible > 0, triangles / np.where(possible > 0, possible, 1), 0)


def symmetric(rng, n):
    return (adjacency(rng, n)[0].astype(np.float64) + 0.01,)


@program(symmetric, (100,), (7,), jax=SAME, close=1e-3)
def spectral_embedding(a):
    degree = a.sum(1)
    laplacian = np.eye(len(a)) - a / np.sqrt(degree[:, None] * degree)
    value, vector = np.linalg.eigh(laplacian)
    y = vector[:, 1:4]
    return value, np.abs(y / np.sqrt((y**2).sum(1, keepdims=True)))
