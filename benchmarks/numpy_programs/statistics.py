"""Programs of statistics."""

import numpy as np

from .registry import program


@program((100, 2000, 50000), lambda r, n: (r.normal(size=n), r.integers(0, n, (200, n // 10))))
def bootstrap_mean(sample, picks):
    means = sample[picks].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return means.std(ddof=1), low, high


@program((50, 200, 800), lambda r, n: (r.normal(size=n), np.linspace(-4, 4, 200), 0.3))
def kernel_density(data, grid, bandwidth):
    u = (grid[:, None] - data[None, :]) / bandwidth
    k = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    return k.sum(axis=1) / (len(data) * bandwidth)


@program((60, 500, 5000), lambda r, n: (r.normal(size=(n, 8)), (r.random(n) < 0.4).astype(float)))
def logistic_irls(X, y):
    X = np.column_stack([np.ones(len(X)), X])
    beta = np.zeros(X.shape[1])
    for _ in range(8):
        p = 1.0 / (1.0 + np.exp(-X @ beta))
        w = p * (1 - p)
        hessian = X.T @ (X * w[:, None])
        beta = beta + np.linalg.solve(hessian, X.T @ (y - p))
    return beta


@program((40, 300, 3000), lambda r, n: (r.normal(size=n), r.normal(0.3, 1.2, size=n // 2)))
def mann_whitney(a, b):
    pooled = np.concatenate([a, b])
    ranks = np.empty(len(pooled))
    ranks[np.argsort(pooled)] = np.arange(1, len(pooled) + 1)
    u = ranks[: len(a)].sum() - len(a) * (len(a) + 1) / 2
    mean = len(a) * len(b) / 2
    deviation = np.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    return u, (u - mean) / deviation


@program((50, 400, 4000), lambda r, n: (np.concatenate([r.normal(-2, 1, n), r.normal(3, 0.5, n)]),))
def gaussian_mixture(x):
    mu = np.array([x.min(), x.max()])
    sigma = np.full(2, x.std())
    weight = np.full(2, 0.5)
    for _ in range(20):
        d = (x[:, None] - mu) / sigma
        dens = weight * np.exp(-0.5 * d**2) / (sigma * np.sqrt(2 * np.pi))
        resp = dens / dens.sum(axis=1, keepdims=True)
        total = resp.sum(axis=0)
        weight = total / len(x)
        mu = (resp * x[:, None]).sum(axis=0) / total
        sigma = np.sqrt((resp * (x[:, None] - mu) ** 2).sum(axis=0) / total)
    return weight, mu, sigma


@program((30, 200, 2000), lambda r, n: (r.normal(size=(n, 6)),))
def principal_components(X):
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    values, vectors = np.linalg.eigh(np.cov(Z, rowvar=False))
    order = np.argsort(values)[::-1]
    values = values[order]
    return values / values.sum(), np.abs(Z @ vectors[:, order])
