"""Time series: rolling windows, smoothing, filters of states, models fitted to what came before."""

import numpy as np

from .registry import SAME, program


def walk(rng, n):
    return (rng.standard_normal(n).cumsum(),)


@program(walk, (100000,), (60,), jax=SAME)
def bollinger_bands(price):
    """Rolling means and deviations from running sums."""
    w = 20
    s, s2 = np.cumsum(price), np.cumsum(price**2)
    mean = (s[w:] - s[:-w]) / w
    var = (s2[w:] - s2[:-w]) / w - mean**2
    deviation = np.sqrt(np.maximum(var, 0))
    return mean, mean + 2 * deviation, mean - 2 * deviation


@program(walk, (5000,), (40,))
def holt_winters(x):
    season = 12
    level, trend = x[0], x[1] - x[0]
    seasonal = np.zeros(season)
    fitted = np.zeros(len(x))
    for t in range(len(x)):
        k = t % season
        fitted[t] = level + trend + seasonal[k]
        last = level
        level = 0.3 * (x[t] - seasonal[k]) + 0.7 * (level + trend)
        trend = 0.1 * (level - last) + 0.9 * trend
        seasonal[k] = 0.2 * (x[t] - level) + 0.8 * seasonal[k]
    return fitted


@program(walk, (20000,), (50,))
def autoregression(x):
    """Least squares on the last ten values."""
    p = 10
    design = np.lib.stride_tricks.sliding_window_view(x, p)[:-1]
    design = np.concatenate([np.ones((len(design), 1)), design], 1)
    y = x[p:]
    weights = np.linalg.solve(design.T @ design, design.T @ y)
    error = y - design @ weights
    return weights, error.var()


def tracked(rng, t, d, m):
    return rng.standard_normal((t, m)), np.eye(d) + 0.05 * np.eye(d, k=2), np.eye(m, d)


@program(tracked, (300, 4, 2), (5, 4, 2))
def kalman_filter(z, f, h):
    d = len(f)
    x, p = np.zeros(d), np.eye(d)
    found = np.zeros((len(z), d))
    for t in range(len(z)):
        x, p = f @ x, f @ p @ f.T + 0.01 * np.eye(d)
        s = h @ p @ h.T + 0.1 * np.eye(len(h))
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ (z[t] - h @ x)
        p = p - gain @ h @ p
        found[t] = x
    return found


def samples(rng, n):
    return (rng.standard_normal(n),)


@program(samples, (20000,), (80,))
def autocorrelation(x):
    y = x - x.mean()
    return np.array([(y[k:] * y[: len(y) - k]).sum() for k in range(40)]) / (y**2).sum()


def motif(rng, n, m):
    return rng.standard_normal(n).cumsum(), rng.standard_normal(m).cumsum()


@program(motif, (20000, 64), (40, 8))
def distance_profile(x, query):
    """Distances of one pattern to all windows, each normalised."""
    windows = np.lib.stride_tricks.sliding_window_view(x, len(query))
    z = (windows - windows.mean(1, keepdims=True)) / windows.std(1, keepdims=True)
    q = (query - query.mean()) / query.std()
    distance = np.sqrt(((z - q) ** 2).sum(1))
    return distance, distance.argmin()


@program(walk, (20000,), (40,))
def change_points(x):
    """CUSUM of both directions."""
    z = np.diff(x)
    high = low = 0.0
    alarm = np.zeros(len(z), bool)
    for t in range(len(z)):
        high = max(0.0, high + z[t] - 0.5)
        low = max(0.0, low - z[t] - 0.5)
        if high > 5 or low > 5:
            alarm[t] = True
            high = low = 0.0
    return alarm
