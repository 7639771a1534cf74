"""Programs whose loops go through numbers and single elements, of several fields."""

import math

import numpy as np

from .registry import program


@program(
    (100, 1000, 10000), lambda r, n: (np.cumsum(r.normal(size=n)) + r.normal(size=n), 0.1, 1.0)
)
def scalar_kalman(measured, process, noise):
    n = len(measured)
    found = np.zeros(n)
    x, p = measured[0], 1.0
    loglik = 0.0
    for t in range(n):
        p = p + process
        s = p + noise
        innovation = measured[t] - x
        gain = p / s
        x = x + gain * innovation
        p = (1 - gain) * p
        loglik -= 0.5 * (math.log(2 * math.pi * s) + innovation**2 / s)
        found[t] = x
    return found, loglik


@program((20, 60, 200), lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n + 7)))
def levenshtein(a, b):
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[n, m]


@program((20, 60, 200), lambda r, n: (np.cumsum(r.normal(size=n)), np.cumsum(r.normal(size=n))))
def time_warping(a, b):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


@program((20, 60, 200), lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n), 3.0, 1.0))
def smith_waterman_affine(a, b, opening, extension):
    n, m = len(a), len(b)
    score, up = np.zeros((n + 1, m + 1)), np.full((n + 1, m + 1), -1e9)
    left = np.full((n + 1, m + 1), -1e9)
    best = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            up[i, j] = max(score[i - 1, j] - opening, up[i - 1, j] - extension)
            left[i, j] = max(score[i, j - 1] - opening, left[i, j - 1] - extension)
            match = score[i - 1, j - 1] + (2.0 if a[i - 1] == b[j - 1] else -1.0)
            score[i, j] = max(0.0, match, up[i, j], left[i, j])
            if score[i, j] > best:
                best = score[i, j]
    return best, score


@program((100, 500, 2000), lambda r, n: (1.0, 1.0, 1.0, 10.0, 28.0, 8 / 3, 0.01, n))
def lorenz_rk4(x, y, z, sigma, rho, beta, dt, steps):
    def slope(x, y, z):
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    out = np.empty((steps, 3))
    for i in range(steps):
        a0, a1, a2 = slope(x, y, z)
        b0, b1, b2 = slope(x + dt / 2 * a0, y + dt / 2 * a1, z + dt / 2 * a2)
        c0, c1, c2 = slope(x + dt / 2 * b0, y + dt / 2 * b1, z + dt / 2 * b2)
        d0, d1, d2 = slope(x + dt * c0, y + dt * c1, z + dt * c2)
        x += dt / 6 * (a0 + 2 * b0 + 2 * c0 + d0)
        y += dt / 6 * (a1 + 2 * b1 + 2 * c1 + d1)
        z += dt / 6 * (a2 + 2 * b2 + 2 * c2 + d2)
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
    return out


@program((20, 100, 400), lambda r, n: (r.integers(1, 30, 20), r.integers(1, 100, 20), n))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for k in range(len(weights)):
        w, v = weights[k], values[k]
        for c in range(capacity, 0, -1):
            if c >= w:
                best[c] = max(best[c], best[c - w] + v)
    return best


@program((8, 30, 80), lambda r, n: (r.normal(size=(n, n)) + n * np.eye(n),))
def crout_lu(a):
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@program(
    (10, 40, 120), lambda r, n: (r.normal(size=(n, n)) + 4 * n * np.eye(n), r.normal(size=n), 12)
)
def gauss_seidel_dense(a, b, sweeps):
    n = len(b)
    x = np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += a[i, j] * x[j]
            x[i] = (b[i] - s) / a[i, i]
    return x


@program(
    (50, 500, 5000),
    lambda r, n: (10 + np.sin(np.arange(n) / 2) + r.normal(0, 0.1, n), 0.3, 0.1, 0.2, 12),
)
def holt_winters(y, alpha, beta, gamma, period):
    n = len(y)
    season = np.zeros(n + period)
    for i in range(period):
        season[i] = y[i] - y[0]
    level, trend = y[0], 0.0
    fitted = np.zeros(n)
    for t in range(n):
        fitted[t] = level + trend + season[t]
        old = level
        level = alpha * (y[t] - season[t]) + (1 - alpha) * (level + trend)
        trend = beta * (level - old) + (1 - beta) * trend
        season[t + period] = gamma * (y[t] - level) + (1 - gamma) * season[t]
    return fitted, np.mean((fitted - y) ** 2)


@program(
    (6, 16, 48),
    lambda r, n: (
        r.choice([-1, 1], (n, n)),
        r.random(4 * n * n),
        r.integers(0, n, (4 * n * n, 2)),
        0.4,
    ),
)
def ising_metropolis(spins, uniforms, places, beta):
    n = len(spins)
    spins = spins.copy()
    energy = 0.0
    for k in range(len(uniforms)):
        i, j = places[k, 0], places[k, 1]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        change = 2 * spins[i, j] * around
        if change <= 0 or uniforms[k] < math.exp(-beta * change):
            spins[i, j] = -spins[i, j]
            energy += change
    return spins, energy


@program((100, 1000, 10000), lambda r, n: (r.normal(size=n), 0.05, 0.7, 0.04, 0.3, 0.01))
def heston_path(normals, start, kappa, theta, xi, dt):
    v = np.empty(len(normals) + 1)
    v[0] = start
    for i in range(len(normals)):
        positive = max(v[i], 0.0)
        v[i + 1] = (
            v[i] + kappa * (theta - positive) * dt + xi * math.sqrt(positive * dt) * normals[i]
        )
    return v


@program((100, 1000, 10000), lambda r, n: (100 + np.cumsum(r.normal(size=n)), 14))
def wilder_rsi(prices, period):
    n = len(prices)
    out = np.full(n, np.nan)
    gain = loss = 0.0
    for i in range(1, n):
        change = prices[i] - prices[i - 1]
        up, down = (change, 0.0) if change > 0 else (0.0, -change)
        gain = (gain * (period - 1) + up) / period
        loss = (loss * (period - 1) + down) / period
        if i >= period:
            out[i] = 100.0 - 100.0 / (1.0 + gain / (loss + 1e-12))
    return out


@program((50, 500, 5000), lambda r, n: (np.repeat(r.integers(0, 9, n), r.integers(1, 4, n)),))
def run_length_counts(x):
    values, counts = np.zeros_like(x), np.zeros_like(x)
    k = 0
    values[0], counts[0] = x[0], 1
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            counts[k] += 1
        else:
            k += 1
            values[k] = x[i]
            counts[k] = 1
    return values, counts, k + 1


@program((20, 100, 1000), lambda r, n: (n,))
def collatz_lengths(n):
    out = np.zeros(n, dtype=np.int64)
    for start in range(1, n + 1):
        x, steps = start, 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        out[start - 1] = steps
    return out


@program((100, 1000, 10000), lambda r, n: (n,))
def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[0] = prime[1] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
    return prime


@program((8, 20, 50), lambda r, n: (r.integers(5, 60, n + 1).astype(np.float64),))
def matrix_chain(sizes):
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = np.inf
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                best = min(best, c)
            cost[i, j] = best
    return cost


@program((8, 24, 64), lambda r, n: (np.where(r.random((n, n)) < 0.3, r.random((n, n)), 10.0),))
def floyd_warshall(distances):
    d = distances.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


@program(
    (50, 500, 5000),
    lambda r, n: (
        r.integers(0, 4, n),
        np.log(r.dirichlet(np.ones(3), 3)),
        np.log(r.dirichlet(np.ones(4), 3)),
    ),
)
def viterbi_three(seen, change, emit):
    n = len(seen)
    score, back = np.zeros((n, 3)), np.zeros((n, 3), dtype=np.int64)
    for s in range(3):
        score[0, s] = emit[s, seen[0]]
    for t in range(1, n):
        for s in range(3):
            best, where = score[t - 1, 0] + change[0, s], 0
            for q in range(1, 3):
                found = score[t - 1, q] + change[q, s]
                if found > best:
                    best, where = found, q
            score[t, s] = best + emit[s, seen[t]]
            back[t, s] = where
    path = np.zeros(n, dtype=np.int64)
    path[n - 1] = np.argmax(score[n - 1])
    for t in range(n - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[n - 1].max()


@program((100, 1000, 10000), lambda r, n: (0.3, 0.1, 0.001, 0.05, n))
def sir_rk4(beta, gamma, start, dt, steps):
    s, i = 1.0 - start, start
    out = np.zeros((steps, 2))
    for t in range(steps):
        out[t, 0], out[t, 1] = s, i
        ks1, ki1 = -beta * s * i, beta * s * i - gamma * i
        s2, i2 = s + 0.5 * dt * ks1, i + 0.5 * dt * ki1
        ks2, ki2 = -beta * s2 * i2, beta * s2 * i2 - gamma * i2
        s3, i3 = s + 0.5 * dt * ks2, i + 0.5 * dt * ki2
        ks3, ki3 = -beta * s3 * i3, beta * s3 * i3 - gamma * i3
        s4, i4 = s + dt * ks3, i + dt * ki3
        ks4, ki4 = -beta * s4 * i4, beta * s4 * i4 - gamma * i4
        s = s + dt / 6 * (ks1 + 2 * ks2 + 2 * ks3 + ks4)
        i = i + dt / 6 * (ki1 + 2 * ki2 + 2 * ki3 + ki4)
    return out
