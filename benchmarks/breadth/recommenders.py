"""Recommenders: factors of users and items, steps on few rows of large tables, best items."""

import numpy as np

import ckernels as K

from .registry import SAME, floats, program


def ratings(rng, users, items, d, n):
    return (
        0.1 * floats(rng, users, d),
        0.1 * floats(rng, items, d),
        rng.integers(0, users, n),
        rng.integers(0, items, n),
        rng.integers(1, 6, n).astype(np.float32),
    )


def factors_ours(p, q, user, item, rating):
    P, Q = K.variable(p), K.variable(q)
    u, i, r = (
        K.placeholder(ndim=1, dtype="int64"),
        K.placeholder(ndim=1, dtype="int64"),
        K.placeholder(ndim=1),
    )
    error = r - K.sum(K.gather(P, u) * K.gather(Q, i), -1)
    loss = K.sum(K.square(error)) / 2
    dp, dq = K.gradients(loss, [P, Q])
    step = K.function([u, i, r], [loss], updates=[(P, P - 0.01 * dp), (Q, Q - 0.01 * dq)])
    return lambda: step([user, item, rating])[0]


def factors_torch(p, q, user, item, rating):
    import torch

    x, y = p[user], q[item]
    error = rating - (x * y).sum(-1)
    p.index_add_(0, user, error[:, None] * y, alpha=0.01)
    q.index_add_(0, item, error[:, None] * x, alpha=0.01)
    return torch.sum(error**2) / 2


@program(ratings, (50000, 20000, 32, 2048), (9, 7, 3, 6), ours=factors_ours, torch=factors_torch)
def matrix_factorisation_step(p, q, user, item, rating):
    x, y = p[user], q[item]
    error = rating - (x * y).sum(-1)
    np.add.at(p, user, 0.01 * error[:, None] * y)
    np.add.at(q, item, 0.01 * error[:, None] * x)
    return (error**2).sum() / 2


def towers(rng, users, items, d):
    return floats(rng, users, d), floats(rng, items, d)


def best_torch(users, items):
    import torch

    score, place = torch.topk(users @ items.T, 10)
    return place, score


@program(towers, (64, 10000, 64), (3, 17, 4), torch=best_torch)
def ten_best_items(users, items):
    score = users @ items.T
    best = np.argpartition(-score, 10, axis=1)[:, :10]
    found = np.take_along_axis(score, best, 1)
    order = np.argsort(-found, axis=1)
    return np.take_along_axis(best, order, 1), np.take_along_axis(found, order, 1)


def implicit(rng, users, items, d):
    return rng.poisson(0.1, (users, items)).astype(np.float64), rng.standard_normal((items, d)) / 4


@program(implicit, (300, 400, 16), (4, 6, 3), jax=SAME)
def alternating_least_squares(count, y):
    """The users' half of implicit ALS: a small system for each user."""
    d = y.shape[1]
    wanted = (count > 0).astype(np.float64)
    a = y.T @ y + np.einsum("ui,id,ie->ude", 40 * count, y, y, optimize=True) + 0.1 * np.eye(d)
    b = ((1 + 40 * count) * wanted) @ y
    return np.linalg.solve(a, b[:, :, None])[:, :, 0]


def clicks(rng, n, fields, vocabulary, d):
    return (
        0.1 * floats(rng, fields * vocabulary, d),
        rng.integers(0, vocabulary, (n, fields)) + np.arange(fields) * vocabulary,
        floats(rng, fields * d, 64) / 8,
        floats(rng, 64),
        floats(rng, 64) / 8,
        (rng.random(n) < 0.3).astype(np.float32),
    )


def deep_torch(table, ids, w, b, v, click):
    import torch

    x = table[ids].flatten(1)
    logit = torch.relu(x @ w + b) @ v
    return torch.nn.functional.binary_cross_entropy_with_logits(logit, click)


@program(clicks, (1024, 10, 5000, 16), (3, 2, 5, 4), torch=deep_torch, jax=SAME)
def click_through_loss(table, ids, w, b, v, click):
    x = table[ids].reshape(len(ids), -1)
    logit = np.maximum(x @ w + b, 0) @ v
    return np.mean(np.logaddexp(0, logit) - click * logit)


@program(clicks, (1024, 10, 5000, 16), (3, 2, 5, 4), jax=SAME)
def factorisation_machine(table, ids, w, b, v, click):
    """The second-order term by the square of the sum less the sum of squares."""
    x = table[ids]
    pairs = 0.5 * (x.sum(1) ** 2 - (x**2).sum(1)).sum(-1)
    linear = table[ids, 0].sum(1)
    p = 1 / (1 + np.exp(-(pairs + linear)))
    return p, ((p - click) ** 2).mean()


def triples(rng, users, items, d, n):
    p, q, user, item, _ = ratings(rng, users, items, d, n)
    return p, q, user, item, rng.integers(0, items, n)


@program(triples, (5000, 2000, 32, 4096), (9, 7, 3, 6), close=1e-3)
def bayesian_personalised_ranking(p, q, user, liked, other):
    """The gradient over whole tables, as a batch of pairs gives it."""
    x, y = p[user], q[liked] - q[other]
    pull = (1 / (1 + np.exp((x * y).sum(-1))))[:, None]
    gp, gq = np.zeros_like(p), np.zeros_like(q)
    np.add.at(gp, user, pull * y)
    np.add.at(gq, liked, pull * x)
    np.add.at(gq, other, -pull * x)
    return gp - 0.01 * p, gq - 0.01 * q
