"""Programs of graphs, optimisation, learning."""

import numpy as np

from .registry import program


@program((10, 60, 300), lambda r, n: ((r.random((n, n)) < 0.2).astype(float),))
def pagerank(adjacency):
    n = adjacency.shape[0]
    out = adjacency.sum(axis=1)
    P = np.where(out[:, None] > 0, adjacency / np.maximum(out, 1)[:, None], 1.0 / n)
    rank = np.full(n, 1.0 / n)
    for _ in range(100):
        new = 0.15 / n + 0.85 * (rank @ P)
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank


@program((8, 40, 150), lambda r, n: ((lambda a: a + a.T)((r.random((n, n)) < 0.2).astype(float)),))
def spectral_embedding(A):
    d = A.sum(axis=1)
    s = 1 / np.sqrt(np.maximum(d, 1e-12))
    L = np.eye(len(A)) - s[:, None] * A * s[None, :]
    w, v = np.linalg.eigh(L)
    return w[:4], np.abs(v[:, 0])


@program((20, 60, 300), lambda r, n: (r.normal(size=(n, 2 * n)), r.normal(size=n), 0.1))
def lasso_ista(A, b, lam):
    x = np.zeros(A.shape[1])
    step = 1 / np.linalg.norm(A, 2) ** 2
    for _ in range(50):
        g = A.T @ (A @ x - b)
        x = x - step * g
        x = np.sign(x) * np.maximum(np.abs(x) - lam * step, 0)
    return x, 0.5 * np.sum((A @ x - b) ** 2) + lam * np.abs(x).sum()


@program(
    (10, 50, 300),
    lambda r, n: ((lambda m: m @ m.T + n * np.eye(n))(r.normal(size=(n, n))), r.normal(size=n)),
)
def conjugate_gradient(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for k in range(len(b)):  # noqa: B007
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + new / rs * p
        rs = new
    return x, k


@program((100, 1000, 10000), lambda r, n: (r.normal(size=(n, 4)), r.normal(size=(5, 4))))
def kmeans(X, centers):
    for _ in range(10):
        d = ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)
        label = d.argmin(axis=1)
        for k in range(len(centers)):
            members = X[label == k]
            if len(members):
                centers[k] = members.mean(axis=0)
    return label, centers
