"""Second derivatives of random graphs of K: slopes of the gradient along a direction, against
differences of the compiled gradient. Where two steps tell apart, at a corner, nothing is compared.
"""

import numpy as np
import pytest

import ckernels as K

F = "float64"
N = 4  # both sizes of the matrices, so that all of them go together


def safe_matrix(x):
    return K.dot(K.transpose(K.tanh(x)), K.tanh(x)) + 2.0 * K.eye(N, dtype=F)


ONE = [
    K.tanh, K.sigmoid, K.softplus, K.sin, K.cos, K.erf, K.elu, K.square, K.softmax, K.transpose,
    lambda x: K.exp(K.tanh(x)), lambda x: K.log(1.0 + K.square(x)), lambda x: K.sqrt(1 + x * x),
    lambda x: x / (1.5 + K.sin(x)), lambda x: K.pow(1.5 + K.tanh(x), 2.5),
    lambda x: x - K.logsumexp(x, axis=-1, keepdims=True), lambda x: K.cumsum(x, axis=0) * 0.3,
    lambda x: K.cumprod(1 + 0.2 * K.tanh(x), axis=1), lambda x: x - K.mean(x, axis=0),
    lambda x: x / (0.5 + K.std(x, axis=1, keepdims=True)), lambda x: K.l2_normalize(x, axis=-1),
    lambda x: x * K.max(x, axis=1, keepdims=True), lambda x: K.concatenate([x[2:], x[:2]], 0),
    lambda x: K.reshape(K.reshape(x, (2, -1))[::-1], (N, N)), lambda x: K.gather(x, [3, 0, 0, 2]),
    lambda x: K.dot(x, x) * 0.3, lambda x: x[:, ::-1] * x, lambda x: K.sort(x, axis=0),
    lambda x: K.set_subtensor(x[1:, :2], K.sin(x[:-1, 2:])),
    lambda x: K.repeat_elements(x, 2, 0)[:N],
    lambda x: K.inc_subtensor(x[[0, 0, 2]], K.square(x[:3])),
    lambda x: K.tile(x, (2, 1))[1 : N + 1],
    lambda x: K.solve(safe_matrix(x), K.eye(N, dtype=F)), lambda x: K.cholesky(safe_matrix(x)),
    lambda x: K.solve(safe_matrix(x), x), lambda x: x * K.log(K.det(safe_matrix(x))) * 0.2,
    lambda x: K.squeeze(K.conv1d(K.expand_dims(x, 0), K.reshape(x[:3], (3, N, 1))
                                 + K.zeros((3, N, N), dtype=F), padding="same",
                                 data_format="channels_last"), 0),
    lambda x: K.reshape(K.pool(K.reshape(x, (1, N, N, 1)), 2, 1, "same", "channels_last", "avg"),
                        (N, N)),
    lambda x: K.reshape(K.pool(K.reshape(x, (1, N, N, 1)), 2, 1, "same", "channels_last", "max"),
                        (N, N)),
    lambda x: K.switch(K.greater(x, 0.1), x * x, K.sin(x)), lambda x: K.clip(x * x, 0.2, 1.5),
    lambda x: K.batch_dot(K.expand_dims(x, 1), K.expand_dims(K.cos(x), 2))[:, 0] + x,
]  # fmt: skip
TWO = [
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - 2 * y, lambda x, y: K.dot(x, y) * 0.5,
    K.maximum, lambda x, y: K.tensordot(x, y, [[1], [1]]) * 0.5, lambda x, y: x / (2.2 + K.sin(y)),
    lambda x, y: K.pow(1.2 + K.sigmoid(x), y),
    lambda x, y: x * K.sum(y, axis=1, keepdims=True) * 0.3,
    lambda x, y: K.concatenate([x[:, :2], y[:, 2:]], 1), lambda x, y: K.log(K.exp(x) + K.exp(y)),
]  # fmt: skip


class Case:
    def __init__(self, seed):
        self.r = r = np.random.default_rng(seed)
        shape = (N, N) if r.integers(2) else (None, None)
        self.x, self.w = (K.placeholder(shape, dtype=F) for _ in range(2))
        pool = [self.x, self.w]
        for _ in range(r.integers(2, 7)):
            if r.random() < 0.6:
                y = ONE[r.integers(len(ONE))](self.late(pool))
            else:
                y = TWO[r.integers(len(TWO))](self.late(pool), self.late(pool))
            pool.append(y)
        weights = K.constant(r.normal(size=(N, N)), dtype=F)
        last = K.tanh(pool[-1]) if r.integers(2) else pool[-1]
        self.cost = K.sum(last * weights) + 0.1 * K.sum(K.sin(pool[-2]))
        self.inputs = [self.x, self.w]
        self.at = [r.uniform(-1.5, 1.5, (N, N)) for _ in range(2)]
        self.along = [r.normal(size=(N, N)) for _ in range(2)]

    def late(self, pool):
        return pool[-1 - int(min(self.r.geometric(0.5) - 1, len(pool) - 1))]


def check(seed):
    """How many numbers were compared."""
    c = Case(seed)
    u = [K.placeholder((N, N), dtype=F) for _ in range(2)]
    first = K.gradients(c.cost, c.inputs, disconnected="zero")
    slope = sum(K.sum(g * v) for g, v in zip(first, u))
    second = K.gradients(slope, c.inputs, disconnected="zero")
    gradient = K.function(c.inputs, [c.cost, *first], on_unused_input="ignore")
    product = K.function([*c.inputs, *u], second, on_unused_input="ignore")

    def moved(step):
        return gradient([a + step * b for a, b in zip(c.at, c.along)])

    compared, steps = 0, (1e-5, 1e-6)
    differences = [
        [(a - b) / (2 * h) for a, b in zip(moved(h), moved(-h), strict=True)] for h in steps
    ]
    value, *slopes = gradient(c.at)
    found = [np.asarray(sum(np.sum(g * v) for g, v in zip(slopes, c.along)))]
    found += product([*c.at, *c.along])
    for got, *both in zip(found, *differences, strict=True):
        size = 1 + np.abs(got) + np.max(np.abs(both[0]), initial=0)
        smooth = np.abs(both[0] - both[1]) < 1e-4 * size
        off = np.minimum(*[np.abs(got - d) for d in both]) > 3e-4 * size
        assert np.isfinite(np.where(smooth, got, 0)).all(), "no number"
        assert not (off & smooth).any(), f"{got} against {both}"
        compared += int(np.sum(smooth))
    return compared


def run(seeds):
    total = 0
    for seed in seeds:
        try:
            total += check(seed)
        except Exception as problem:
            raise AssertionError(f"seed {seed}") from problem
    return total


@pytest.mark.rest
def test_random_curvature():
    with K.config.change(mode="reference"):
        assert run(range(30)) > 700
    assert run(range(30, 32)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_many_random_curvatures(many, new_seed, mode):
    with K.config.change(mode=mode):
        run(range(new_seed, new_seed + many // (10 if mode == "reference" else 50)))
