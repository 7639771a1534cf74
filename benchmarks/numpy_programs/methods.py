"""Programs of numerical methods and of learning from data."""

import numpy as np

from .registry import program


@program((50, 500, 5000), lambda r, n: (np.sort(r.random(n)), r.normal(size=n), r.random(3 * n)))
def cubic_spline(x, y, at):
    h = np.diff(x) + 1e-3
    slope = np.diff(y) / h
    n = len(x)
    lower, diag, upper = h.copy(), np.ones(n), h.copy()
    rhs = np.zeros(n)
    diag[1:-1] = 2 * (h[:-1] + h[1:])
    rhs[1:-1] = 6 * (slope[1:] - slope[:-1])
    lower[-1] = upper[0] = 0
    for i in range(1, n):
        w = lower[i - 1] / diag[i - 1]
        diag[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    m = np.zeros(n)
    m[-1] = rhs[-1] / diag[-1]
    for i in range(n - 2, -1, -1):
        m[i] = (rhs[i] - upper[i] * m[i + 1]) / diag[i]
    k = np.clip(np.searchsorted(x, at) - 1, 0, n - 2)
    t = at - x[k]
    b = slope[k] - h[k] * (2 * m[k] + m[k + 1]) / 6
    return y[k] + t * (b + t * (m[k] / 2 + t * (m[k + 1] - m[k]) / (6 * h[k])))


def _rhs(y):
    return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


@program((2, 10, 40), lambda r, n: (np.array([1.0, 1.0, 1.0]), n / 20))
def adaptive_heun(y, end, tolerance=1e-4):
    t, h, taken, refused = 0.0, 0.01, 0, 0
    while t < end:
        k1 = _rhs(y)
        k2 = _rhs(y + h * k1)
        error = np.abs(h / 2 * (k2 - k1)).max()
        if error <= tolerance:
            y = y + h / 2 * (k1 + k2)
            t += h
            taken += 1
        else:
            refused += 1
        h = min(0.9 * h * (tolerance / max(error, 1e-12)) ** 0.5, end - t + 1e-12)
    return y, taken, refused


@program((5, 20, 80), lambda r, n: (r.normal(size=(n, n)) + n * np.eye(n), 1e-10))
def power_and_inverse(A, tolerance):
    v = np.ones(len(A)) / np.sqrt(len(A))
    value, turns = 0.0, 0
    while turns < 500:
        w = A @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        turns += 1
        if abs(new - value) < tolerance * abs(new):
            break
        value = new
    try:
        smallest = 1 / np.linalg.norm(np.linalg.inv(A), 2)
    except np.linalg.LinAlgError:
        smallest = 0.0
    return new, smallest


@program((10, 40, 150), lambda r, n: (r.normal(size=(n, n)),))
def qr_by_householder(A):
    R = A.astype(float).copy()
    n = len(R)
    Q = np.eye(n)
    for k in range(n - 1):
        x = R[k:, k]
        v = x.copy()
        v[0] += np.copysign(np.linalg.norm(x), x[0])
        v /= np.linalg.norm(v)
        R[k:, k:] -= 2 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2 * np.outer(Q[:, k:] @ v, v)
    return Q, np.triu(R)


@program(
    (40, 200, 1000),
    lambda r, n: (r.normal(size=(n, 5)), r.integers(0, 3, n), r.normal(size=(30, 5))),
)
def nearest_neighbours(X, y, queries, k=5):
    d = (queries**2).sum(1)[:, None] - 2 * queries @ X.T + (X**2).sum(1)
    idx = np.argpartition(d, k, axis=1)[:, :k]
    votes = np.apply_along_axis(np.bincount, 1, y[idx], minlength=3)
    return votes.argmax(axis=1), np.sort(np.take_along_axis(d, idx, axis=1), axis=1)


@program((30, 200, 2000), lambda r, n: (r.normal(size=(n, 6)), r.integers(0, 4, n)))
def naive_bayes(X, y):
    classes = np.unique(y)
    mean = np.array([X[y == c].mean(axis=0) for c in classes])
    var = np.array([X[y == c].var(axis=0) + 1e-9 for c in classes])
    prior = np.array([np.mean(y == c) for c in classes])
    ll = -0.5 * (np.log(2 * np.pi * var)[None] + (X[:, None] - mean) ** 2 / var).sum(axis=-1)
    ll += np.log(prior)
    ll -= ll.max(axis=1, keepdims=True)
    p = np.exp(ll)
    p /= p.sum(axis=1, keepdims=True)
    return p, (classes[p.argmax(axis=1)] == y).mean()


def relu(x):
    return np.maximum(x, 0)


@program(
    (16, 64, 512),
    lambda r, n: (
        r.normal(size=(n, 8)),
        r.normal(size=(n, 1)),
        {
            "W1": r.normal(size=(8, 16)) * 0.3,
            "b1": np.zeros(16),
            "W2": r.normal(size=(16, 1)) * 0.3,
            "b2": np.zeros(1),
        },
    ),
)
def train_small_net(X, y, params, rate=0.05, epochs=20):
    losses = []
    for _ in range(epochs):
        h = relu(X @ params["W1"] + params["b1"])
        out = h @ params["W2"] + params["b2"]
        error = out - y
        losses.append(np.mean(error**2))
        g = 2 * error / len(X)
        gh = (g @ params["W2"].T) * (h > 0)
        for name, grad in (("W2", h.T @ g), ("b2", g.sum(0)), ("W1", X.T @ gh), ("b1", gh.sum(0))):
            params[name] -= rate * grad
    return np.array(losses), params


@program((20, 100, 1000), lambda r, n: (r.normal(size=(n, 4)), np.where(r.random(n) < 0.5, -1, 1)))
def perceptron(X, y, epochs=5):
    w, b, errors = np.zeros(X.shape[1]), 0.0, []
    for _ in range(epochs):
        wrong = 0
        for xi, yi in zip(X, y):
            if yi * (w @ xi + b) <= 0:
                w += yi * xi
                b += yi
                wrong += 1
        errors.append(wrong)
        if not wrong:
            break
    return w, b, errors


@program((30, 200, 2000), lambda r, n: (r.normal(size=(n, 3)), r.normal(size=n)))
def best_stump(X, y):
    best = (np.inf, None, None)
    for feature in range(X.shape[1]):
        order = np.argsort(X[:, feature])
        ys = y[order]
        left = np.cumsum(ys)[:-1]
        n = np.arange(1, len(ys))
        gain = left**2 / n + (ys.sum() - left) ** 2 / (len(ys) - n)
        k = gain.argmax()
        loss = (ys**2).sum() - gain[k]
        if loss < best[0]:
            best = (loss, feature, X[order[k : k + 2], feature].mean())
    return best


@program((100, 1000, 10000), lambda r, n: (r.normal(size=n), r.integers(1, 64, n) / 64, r.random()))
def systematic_resampling(particles, weights, offset):
    w = weights / weights.sum()
    positions = (np.arange(len(w)) + offset) / len(w)
    cumulative = np.cumsum(w, dtype=float)
    cumulative[-1] = 1.0
    idx = np.searchsorted(cumulative, positions)
    effective = 1 / np.square(w).sum()
    particles[:] = particles[idx]
    return idx, effective, len(np.unique(idx))


@program((20, 100, 500), lambda r, n: (r.random((n, n)), r.integers(0, n, (4 * n, 2))))
def components(cost, edges):
    label = np.arange(len(cost))
    changed = True
    while changed:
        before = label.copy()
        np.minimum.at(label, edges[:, 0], before[edges[:, 1]])
        np.minimum.at(label, edges[:, 1], before[edges[:, 0]])
        changed = bool((label != before).any())
    roots, sizes = np.unique(label, return_counts=True)
    return label, len(roots), sizes.max(), cost[edges[:, 0], edges[:, 1]].sum()


@program((8, 32, 128), lambda r, n: (n, 40))
def mandelbrot_count(size, limit):
    x, y = np.meshgrid(np.linspace(-2, 0.6, size), np.linspace(-1.2, 1.2, size))
    c = x + 1j * y
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(limit):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count += inside
    return count
