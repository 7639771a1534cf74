"""Statistics and learning without nets: regressions, mixtures, densities, chains, tests."""

import numpy as np

from .registry import SAME, program


def labelled(rng, n, d):
    x = rng.standard_normal((n, d))
    return x, (x[:, 0] + rng.standard_normal(n) > 0).astype(np.float64), np.zeros(d)


@program(labelled, (5000, 20), (9, 3), jax=SAME)
def logistic_regression(x, y, w):
    for _ in range(20):
        p = 1 / (1 + np.exp(-(x @ w)))
        w = w - 0.5 * (x.T @ (p - y) / len(y) + 0.01 * w)
    return w


def points(rng, n, k, d):
    x = rng.standard_normal((n, d))
    return x, x[:k].copy()


def kmeans_torch(x, centre):
    import torch

    label = torch.cdist(x, centre).argmin(1)
    count = torch.bincount(label, minlength=len(centre)).clamp(min=1)
    total = torch.zeros_like(centre).index_add_(0, label, x)
    return label, total / count[:, None]


@program(points, (10000, 16, 8), (12, 3, 2), torch=kmeans_torch)
def k_means_step(x, centre):
    distance = ((x[:, None] - centre[None]) ** 2).sum(-1)
    label = distance.argmin(1)
    count = np.maximum(np.bincount(label, minlength=len(centre)), 1)
    total = np.zeros_like(centre)
    np.add.at(total, label, x)
    return label, total / count[:, None]


def mixture(rng, n, k, d):
    x, mean = points(rng, n, k, d)
    return x, mean, np.ones((k, d)), np.full(k, 1 / k)


@program(mixture, (5000, 8, 6), (9, 3, 2), jax=SAME, close=1e-3)
def gaussian_mixture_step(x, mean, var, weight):
    """A step of expectation and maximisation, diagonal covariances."""
    d = (x[:, None] - mean) ** 2 / var
    score = np.log(weight) - 0.5 * (d + np.log(2 * np.pi * var)).sum(-1)
    top = score.max(1, keepdims=True)
    e = np.exp(score - top)
    total = e.sum(1, keepdims=True)
    r = e / total
    n = r.sum(0)
    mean = r.T @ x / n[:, None]
    var = r.T @ x**2 / n[:, None] - mean**2 + 1e-6
    return mean, var, n / len(x), (np.log(total) + top).sum()


def table(rng, n, d):
    return (rng.standard_normal((n, d)) @ rng.standard_normal((d, d)),)


@program(table, (5000, 40), (9, 4), jax=SAME, close=1e-3)
def principal_components(x):
    y = x - x.mean(0)
    value, vector = np.linalg.eigh(y.T @ y / (len(x) - 1))
    return value[::-1], np.abs(y @ vector[:, ::-1][:, :5])


def surface(rng, n, d):
    x = rng.standard_normal((n, d))
    return x, np.sin(x).sum(1)


@program(surface, (300, 5), (7, 2), jax=SAME, close=1e-3)
def gaussian_process_likelihood(x, y):
    d2 = ((x[:, None] - x[None]) ** 2).sum(-1)
    k = np.exp(-0.5 * d2) + 0.1 * np.eye(len(x))
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    return -0.5 * y @ alpha - np.log(np.diagonal(factor)).sum() - len(x) / 2 * np.log(2 * np.pi)


def resampled(rng, n, b):
    return rng.exponential(size=n), rng.integers(0, n, (b, n))


def bootstrap_torch(x, picks):
    import torch

    means = x[picks].mean(1)
    return means.std(correction=0), torch.quantile(
        means, torch.tensor([0.025, 0.975], dtype=x.dtype)
    )


@program(resampled, (500, 1000), (8, 9), torch=bootstrap_torch)
def bootstrap_interval(x, picks):
    means = x[picks].mean(1)
    return means.std(), np.quantile(means, [0.025, 0.975])


def chain(rng, t):
    return rng.standard_normal(t), rng.random(t)


@program(chain, (5000,), (20,))
def metropolis_chain(step, u):
    """A walk over a mixture of two normals."""
    x = 0.0
    log_p = np.log(np.exp(-0.5 * (x - 2) ** 2) + np.exp(-0.5 * (x + 2) ** 2))
    found = np.zeros(len(step))
    for t in range(len(step)):
        y = x + step[t]
        log_q = np.log(np.exp(-0.5 * (y - 2) ** 2) + np.exp(-0.5 * (y + 2) ** 2))
        if u[t] < np.exp(log_q - log_p):
            x, log_p = y, log_q
        found[t] = x
    return found


@program(table, (2000, 20), (9, 3), jax=SAME)
def spearman_correlation(x):
    rank = np.argsort(np.argsort(x, axis=0), axis=0).astype(np.float64)
    z = (rank - rank.mean(0)) / rank.std(0)
    return z.T @ z / len(x)


def trajectory(rng, n, d):
    return *labelled(rng, n, d), rng.standard_normal(d)


@program(trajectory, (2000, 10), (9, 3), jax=SAME)
def hamiltonian_trajectory(x, y, w, momentum):
    """Leapfrog steps over the posterior of a logistic regression."""
    q, p = w, momentum
    for _ in range(10):
        g = x.T @ (1 / (1 + np.exp(-(x @ q))) - y) + q
        p = p - 0.005 * g
        q = q + 0.01 * p
        g = x.T @ (1 / (1 + np.exp(-(x @ q))) - y) + q
        p = p - 0.005 * g
    logit = x @ q
    return q, p, (np.logaddexp(0, logit) - y * logit).sum() + 0.5 * (q**2).sum()
