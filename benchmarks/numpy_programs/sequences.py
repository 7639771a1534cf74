"""Programs of sequences: words, genes, games, ratings, queues."""

import numpy as np

from .registry import program

LETTERS = "ACGT"
COST = np.array([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]], dtype=float)
NEIGHBOURS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


@program((12, 50, 200), lambda r, n: (r.normal(size=n), r.normal(size=n + 3)))
def dynamic_time_warping(a, b):
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0
    for i in range(len(a)):
        for j in range(len(b)):
            D[i + 1, j + 1] = abs(a[i] - b[j]) + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[-1, -1], D[1:, 1:]


@program(
    (20, 200, 2000),
    lambda r, n: (np.log(r.random((4, 4))), np.log(r.random((4, n))), np.log(np.full(4, 0.25))),
)
def viterbi(transition, emission, start):
    states, steps = emission.shape
    score = start + emission[:, 0]
    back = np.zeros((steps, states), dtype=int)
    for t in range(1, steps):
        candidates = score[:, None] + transition
        back[t] = candidates.argmax(axis=0)
        score = candidates.max(axis=0) + emission[:, t]
    path = np.empty(steps, dtype=int)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


@program(
    (20, 200, 2000),
    lambda r, n: (r.dirichlet(np.ones(3), 3), r.dirichlet(np.ones(5), 3), r.integers(0, 5, n)),
)
def hidden_markov_forward(A, B, observed):
    alpha = np.full(len(A), 1 / len(A)) * B[:, observed[0]]
    loglik = np.log(alpha.sum())
    alpha /= alpha.sum()
    for o in observed[1:]:
        alpha = (alpha @ A) * B[:, o]
        total = alpha.sum()
        loglik += np.log(total)
        alpha /= total
    return loglik, alpha


@program((16, 64, 256), lambda r, n: ((r.random((n, n)) < 0.3).astype(int), 8))
def game_of_life(board, turns):
    for _ in range(turns):
        n = sum(np.roll(board, shift, axis=(0, 1)) for shift in NEIGHBOURS)
        board = ((n == 3) | ((board == 1) & (n == 2))).astype(board.dtype)
    return board, board.sum()


@program((50, 1000, 20000), lambda r, n: (r.integers(0, 4, n),))
def kmer_counts(codes, k=3):
    powers = 4 ** np.arange(k - 1, -1, -1)
    windows = np.lib.stride_tricks.sliding_window_view(codes, k)
    words = windows @ powers
    counts = np.bincount(words, minlength=4**k)
    p = counts[counts > 0] / counts.sum()
    gc = np.isin(codes, [1, 2]).mean()
    return counts, -(p * np.log2(p)).sum(), gc


@program(
    (20, 200, 2000),
    lambda r, n: (
        np.full(8, 1500.0),
        r.permuted(np.tile(np.arange(8), (n, 1)), axis=1)[:, :2],
        r.random(n) < 0.5,
    ),
)
def elo(ratings, pairs, first_won, k=32):
    for (a, b), won in zip(pairs, first_won):
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        change = k * (won - expected)
        ratings[a] += change
        ratings[b] -= change
    return ratings.argsort()[::-1]


@program((50, 1000, 10000), lambda r, n: (r.exponential(1.0, n), r.exponential(0.8, n)))
def queue_waits(gaps, services):
    arrival = np.cumsum(gaps)
    start = np.zeros_like(arrival)
    free = 0.0
    for i in range(len(arrival)):
        start[i] = max(arrival[i], free)
        free = start[i] + services[i]
    wait = start - arrival
    return wait.mean(), np.quantile(wait, 0.95), (wait > 0).sum() / len(wait)


@program((10, 50, 200), lambda r, n: (r.integers(0, 4, (n, 30)),))
def site_costs(sequences):
    total = np.zeros((len(sequences), len(sequences)))
    for site in sequences.T:
        total += COST[site[:, None], site]
    nearest = np.where(np.eye(len(total), dtype=bool), np.inf, total).argmin(axis=1)
    return total, nearest, f"{LETTERS[0]}:{len(total)}"


@program((50, 1000, 50000), lambda r, n: (r.integers(0, 256, n).astype(np.uint8),))
def adler_checksum(data):
    a = 1 + np.cumsum(data, dtype=np.int64)
    b = int(a.sum() % 65521)
    return (b << 16) | int(a[-1] % 65521)


@program((40, 1000, 20000), lambda r, n: (np.sort(r.integers(0, n, n)),))
def run_lengths(x):
    edges = np.flatnonzero(np.diff(x)) + 1
    starts = np.r_[0, edges]
    lengths = np.diff(np.r_[starts, len(x)])
    order = np.argsort(-lengths, kind="stable")
    return x[starts], lengths, x[starts][order[:3]]
