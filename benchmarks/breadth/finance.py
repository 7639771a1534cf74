"""Finance: prices of options, paths, trees, risk, portfolios."""

import numpy as np

from .registry import SAME, program


def market(rng, n):
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n)


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    poly = k * (
        0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


@program(market, (50000,), (9,), jax=SAME)
def black_scholes_greeks(s, k, t):
    rate, sigma = 0.02, 0.3
    root = sigma * np.sqrt(t)
    d1 = (np.log(s / k) + (rate + sigma**2 / 2) * t) / root
    d2 = d1 - root
    discount = k * np.exp(-rate * t)
    density = np.exp(-d1 * d1 / 2) / np.sqrt(2 * np.pi)
    call = s * normal_cdf(d1) - discount * normal_cdf(d2)
    return call, call - s + discount, normal_cdf(d1), density / (s * root), s * density * np.sqrt(t)


def noise(rng, paths, steps):
    return (rng.standard_normal((paths, steps)),)


@program(noise, (5000, 100), (7, 5), jax=SAME)
def barrier_option(z):
    dt = 1 / z.shape[1]
    log_s = np.cumsum((0.02 - 0.045) * dt + 0.3 * np.sqrt(dt) * z, axis=1)
    s = 100 * np.exp(log_s)
    alive = s.min(1) > 80
    payoff = np.where(alive, np.maximum(s[:, -1] - 100, 0), 0)
    return np.exp(-0.02) * payoff.mean(), payoff.std() / np.sqrt(len(payoff))


def strikes(rng, n, steps):
    return rng.uniform(80, 120, n), np.arange(steps + 1.0)


@program(strikes, (16, 200), (2, 6))
def american_put_tree(k, j):
    """Cox, Ross and Rubinstein: options of several strikes, backwards through the tree."""
    n = len(j) - 1
    dt = 1 / n
    up = np.exp(0.3 * np.sqrt(dt))
    p = (np.exp(0.02 * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-0.02 * dt)
    value = np.maximum(k[:, None] - 100 * up ** (2 * j - n), 0)
    for i in range(n - 1, -1, -1):
        hold = discount * (p * value[:, 1 : i + 2] + (1 - p) * value[:, : i + 1])
        exercise = k[:, None] - 100 * up ** (2 * j[: i + 1] - i)
        value[:, : i + 1] = np.maximum(hold, exercise)
    return value[:, 0]


@program(noise, (5000, 20), (30, 4), jax=SAME, close=1e-3)
def longstaff_schwartz(z):
    """An American put by regression, from the last exercise back."""
    steps = z.shape[1]
    dt = 1 / steps
    s = np.exp(np.cumsum(-0.025 * dt + 0.3 * np.sqrt(dt) * z, axis=1))
    value = np.maximum(1 - s[:, -1], 0)
    for t in range(steps - 2, -1, -1):
        value = value * np.exp(-0.02 * dt)
        x = s[:, t]
        paid = np.maximum(1 - x, 0)
        w = (paid > 0).astype(x.dtype)
        basis = np.stack([np.ones_like(x), x, x * x], 1)
        weighted = basis * w[:, None]
        beta = np.linalg.solve(weighted.T @ basis + 1e-9 * np.eye(3), weighted.T @ value)
        value = np.where((paid > basis @ beta) & (paid > 0), paid, value)
    return value.mean() * np.exp(-0.02 * dt)


def history(rng, days, assets):
    returns = 0.01 * rng.standard_normal((days, assets))
    return returns, np.full(assets, 1 / assets)


@program(history, (2000, 50), (30, 4))
def value_at_risk(returns, weight):
    profit = returns @ weight
    bound = np.quantile(profit, [0.01, 0.05])
    below = profit <= bound[1]
    return bound, profit[below].mean(), np.quantile(returns, 0.05, axis=0)


@program(history, (1000, 200), (9, 3))
def drawdowns(returns, weight):
    wealth = np.cumprod(1 + returns, axis=0)
    high = np.maximum.accumulate(wealth, axis=0)
    drawdown = 1 - wealth / high
    return drawdown.max(0), drawdown.mean(0), (drawdown > 0.1).sum(0)
