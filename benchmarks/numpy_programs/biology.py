"""Programs of biology, epidemiology."""

import numpy as np

from .registry import program


@program((100, 1000, 10000), lambda r, n: (0.3, 0.1, 0.2, 0.001, n))
def seir_euler(beta, gamma, sigma, start, steps):
    s, e, i, r = 1 - start, 0.0, start, 0.0
    out = np.zeros((steps, 4))
    for t in range(steps):
        infected = beta * s * i
        s, e, i, r = (s - 0.1 * infected, e + 0.1 * (infected - sigma * e),
                      i + 0.1 * (sigma * e - gamma * i), r + 0.1 * gamma * i)  # fmt: skip
        out[t] = s, e, i, r
    return out, out[:, 2].max(), np.argmax(out[:, 2])


@program((20, 60, 200), lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n)))
def needleman_wunsch(a, b):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1))
    score[:, 0] = -np.arange(n + 1)
    score[0, :] = -np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            match = score[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else -1)
            score[i, j] = max(match, score[i - 1, j] - 1, score[i, j - 1] - 1)
    return score[n, m]


@program((20, 100, 400), lambda r, n: (r.integers(0, 4, (n, 60)),))
def jukes_cantor(sequences):
    p = (sequences[:, None, :] != sequences[None, :, :]).mean(axis=2)
    p = np.minimum(p, 0.7499)
    return -0.75 * np.log(1 - 4 / 3 * p)


@program(
    (32, 64, 200),
    lambda r, n: (1 - 0.5 * (r.random((n, n)) < 0.1), 0.25 * (r.random((n, n)) < 0.1)),
)
def gray_scott(u, v):
    for _ in range(10):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u += 0.16 * lu - uvv + 0.035 * (1 - u)
        v += 0.08 * lv + uvv - 0.1 * v
    return u, v


@program((100, 1000, 8000), lambda r, n: (-65.0, 0.05, 0.6, 0.32, n))
def hodgkin_huxley(v, m, h, n, steps):
    trace = np.zeros(steps)
    for t in range(steps):
        current = 10.0 if t > steps // 10 else 0.0
        am = 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10))
        ah = 0.07 * np.exp(-(v + 65) / 20)
        an = 0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10))
        m += 0.01 * (am * (1 - m) - 4 * np.exp(-(v + 65) / 18) * m)
        h += 0.01 * (ah * (1 - h) - h / (1 + np.exp(-(v + 35) / 10)))
        n += 0.01 * (an * (1 - n) - 0.125 * np.exp(-(v + 65) / 80) * n)
        v += 0.01 * (current - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.4))
        trace[t] = v
    return trace
