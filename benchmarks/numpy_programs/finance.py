"""Programs of finance."""

import math

import numpy as np

from .registry import program


@program((20, 100, 400), lambda r, n: (100.0, 105.0, 0.03, 0.2, 1.0, n))
def binomial_american_put(spot, strike, rate, vol, years, steps):
    dt = years / steps
    u = np.exp(vol * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(rate * dt) - d) / (u - d)
    discount = np.exp(-rate * dt)
    prices = spot * d ** np.arange(steps, -1, -1) * u ** np.arange(0, steps + 1)
    values = np.maximum(strike - prices, 0)
    for i in range(steps - 1, -1, -1):  # noqa: B007
        values = discount * (p * values[1:] + (1 - p) * values[:-1])
        prices = prices[1:] * d
        values = np.maximum(values, strike - prices)
    return values[0]


@program((100, 1000, 20000), lambda r, n: (100 * np.exp(np.cumsum(r.normal(0, 0.01, n))),))
def max_drawdown(prices):
    peaks = np.maximum.accumulate(prices)
    drawdown = (prices - peaks) / peaks
    end = np.argmin(drawdown)
    start = np.argmax(prices[: end + 1])
    return drawdown.min(), start, end


@program((60, 500, 5000), lambda r, n: (r.normal(0, 0.01, n), 1e-6, 0.09, 0.9))
def garch_filter(returns, omega, alpha, beta):
    n = len(returns)
    variance = np.zeros(n)
    variance[0] = returns.var()
    for t in range(1, n):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    loglik = -0.5 * np.sum(np.log(2 * np.pi * variance) + returns**2 / variance)
    return variance, loglik


@program((50, 500, 5000), lambda r, n: (100 + np.cumsum(r.normal(size=n)), 14))
def relative_strength(prices, period):
    delta = np.diff(prices)
    gain = np.where(delta > 0, delta, 0.0)
    loss = np.where(delta < 0, -delta, 0.0)
    kernel = np.ones(period) / period
    up = np.convolve(gain, kernel, mode="valid")
    down = np.convolve(loss, kernel, mode="valid")
    return 100 - 100 / (1 + up / (down + 1e-12))


@program((20, 200, 2000), lambda r, n: (r.normal(0, 1, (n, 50)), 100.0, 0.02, 0.25, 1.0, 95.0))
def asian_option(noise, spot, rate, vol, years, strike):
    dt = years / noise.shape[1]
    steps = (rate - 0.5 * vol**2) * dt + vol * math.sqrt(dt) * noise
    paths = spot * np.exp(np.cumsum(steps, axis=1))
    payoff = np.maximum(paths.mean(axis=1) - strike, 0)
    price = math.exp(-rate * years) * payoff.mean()
    return price, payoff.std(ddof=1) / math.sqrt(len(payoff))


@program(
    (5, 30, 200),
    lambda r, n: (np.cov(r.normal(size=(n, 3 * n + 5))), r.normal(0.05, 0.02, n), 0.06),
)
def markowitz(cov, mean, target):
    ones = np.ones(len(mean))
    inv = np.linalg.inv(cov)
    a, b, c = ones @ inv @ ones, ones @ inv @ mean, mean @ inv @ mean
    l1, l2 = np.linalg.solve(np.array([[a, b], [b, c]]), np.array([1.0, target]))
    w = inv @ (l1 * ones + l2 * mean)
    return w, np.sqrt(w @ cov @ w)
