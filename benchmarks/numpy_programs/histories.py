"""Programs that keep a history: lists that loops append to, in each turn or in some, and parts of
arrays put together from lists."""

import numpy as np

from .registry import program


@program((100, 1000, 10000), lambda r, n: (r.random(n) * 20, 0.9, 5.0))
def linear_reservoir(rain, k, stored):
    flow = []
    for p in rain:
        out = (1 - k) * stored
        stored = stored + p - out
        flow.append(out)
    return np.array(flow), stored


@program((50, 500, 5000), lambda r, n: (r.integers(-1, 2, n), r.normal(size=n) / 100, 0.001))
def back_test(signal, returns, cost):
    position, cash, trades = 0, 1.0, []
    curve = np.empty(len(returns))
    for i in range(len(returns)):
        if signal[i] != 0 and signal[i] != position:
            cash *= 1 - cost * abs(signal[i] - position)
            position = signal[i]
            trades.append(i)
        cash *= 1 + position * returns[i]
        curve[i] = cash
    return curve, trades


@program((100, 1000, 10000), lambda r, n: (r.normal(size=n), 0.01, 5.0))
def page_hinkley(x, delta, limit):
    mean = total = least = 0.0
    alarms = []
    for t in range(len(x)):
        mean += (x[t] - mean) / (t + 1)
        total += x[t] - mean - delta
        least = min(least, total)
        if total - least > limit:
            alarms.append(t)
            total = least = 0.0
    return alarms, mean


@program((50, 500, 5000), lambda r, n: (r.random(10), r.random((n, 2)), 0.1))
def greedy_bandit(chances, dice, epsilon):
    value, pulls, won = np.zeros(len(chances)), np.zeros(len(chances), int), 0
    for a, b in dice:
        if a < epsilon:
            arm = int(a / epsilon * len(chances))
        else:
            arm = np.argmax(value)
        hit = 1 if b < chances[arm] else 0
        pulls[arm] += 1
        value[arm] += (hit - value[arm]) / pulls[arm]
        won += hit
    return value, pulls, won


@program((50, 500, 5000), lambda r, n: (r.normal(size=n), 16, 8))
def spectrogram(x, size, hop):
    window = np.hanning(size)
    frames = []
    for start in range(0, len(x) - size + 1, hop):
        frames.append(window * x[start : start + size])
    if not frames:
        return np.zeros((size // 2 + 1, 0))
    return 20 * np.log10(np.abs(np.fft.rfft(np.array(frames), axis=1)).T + 1e-10)


@program((40, 300, 3000), lambda r, n: (np.exp(np.cumsum(r.normal(size=n)) / 100), 12, 26, 9))
def macd(price, fast, slow, signal):
    def average(x, span):
        a = 2 / (span + 1)
        out = np.empty_like(x)
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = a * x[i] + (1 - a) * out[i - 1]
        return out

    line = average(price, fast) - average(price, slow)
    trend = average(line, signal)
    return line, trend, line - trend


class Adam:
    def __init__(self, rate):
        self.rate, self.mean, self.square, self.turn = rate, 0, 0, 0

    def step(self, w, slope):
        self.turn += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean = self.mean / (1 - 0.9**self.turn)
        return w - self.rate * mean / (np.sqrt(self.square / (1 - 0.999**self.turn)) + 1e-8)


@program((20, 200, 2000), lambda r, n: (r.normal(size=(n, 4)), r.normal(size=n)))
def regression_by_adam(X, y):
    rule = Adam(0.05)
    w = np.zeros(X.shape[1] + 1)
    X = np.c_[np.ones(len(X)), X]
    losses = []
    for _ in range(40):
        error = X @ w - y
        losses.append((error**2).mean())
        w = rule.step(w, 2 * X.T @ error / len(y))
    return w, np.array(losses)


@program(
    (20, 200, 2000),
    lambda r, n: (r.random((n, 3)), r.random((n, 3)), np.array([0, 0, -1.0]), r.random(3)),
)
def nearest_triangle(corner, edge, origin, direction):
    e1, e2 = edge, np.roll(edge, 1, axis=1)
    h = np.cross(direction, e2)
    a = np.einsum("ij,ij->i", e1, h)
    f = np.divide(1, a, where=np.abs(a) > 1e-9, out=np.zeros_like(a))
    s = origin - corner
    u = f * np.einsum("ij,ij->i", s, h)
    q = np.cross(s, e1)
    v = f * (q @ direction)
    t = f * np.einsum("ij,ij->i", e2, q)
    hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-9)
    return np.where(hit, t, np.inf), np.count_nonzero(hit)
