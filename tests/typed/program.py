"""A program as users write it, for type checkers: `tests/test_types.py` wants no error here.

It also runs, so that what the checkers accept is what works.
"""

from collections.abc import Callable

import numpy as np

import ckernels as K
from ckernels.errors import ShapeError
from ckernels.typing import Function


class Dense:
    """A layer with weights, of tensors in and out."""

    def __init__(self, inputs: int, outputs: int, activation: Callable | None = None) -> None:
        scale = 1 / np.sqrt(inputs)
        self.kernel = K.random_uniform_variable((inputs, outputs), -scale, scale, name="kernel")
        self.bias = K.zeros((outputs,), name="bias")
        self.activation = activation

    def __call__(self, x: K.Tensor) -> K.Tensor:
        y = K.bias_add(K.dot(x, self.kernel), self.bias)
        return self.activation(y) if self.activation else y

    @property
    def weights(self) -> list[K.Variable]:
        return [self.kernel, self.bias]


class Momentum:
    """Stochastic gradient descent with momentum."""

    def __init__(self, rate: float = 0.1, momentum: float = 0.9) -> None:
        self.rate = K.variable(rate, name="rate")
        self.momentum = momentum

    def updates(
        self, loss: K.Tensor, weights: list[K.Variable]
    ) -> list[tuple[K.Variable, K.Tensor]]:
        found = []
        for w, g in zip(weights, K.gradients(loss, weights)):
            velocity = K.variable(np.zeros(K.get_value(w).shape))
            new = self.momentum * velocity - self.rate * g
            found += [K.update(velocity, new), K.update(w, w + new)]
        return found


def classifier(sizes: list[int]) -> tuple[Function, Function]:
    """A step of training and the prediction of a small net."""
    x = K.placeholder((None, sizes[0]), name="x")
    target = K.placeholder((None,), dtype="int64", name="target")
    layers = [Dense(a, b, K.relu) for a, b in zip(sizes[:-2], sizes[1:-1])]
    layers.append(Dense(sizes[-2], sizes[-1], K.softmax))
    y = x
    for layer in layers:
        y = layer(y)
    weights = [w for layer in layers for w in layer.weights]
    loss = K.mean(K.sparse_categorical_crossentropy(y, target))
    loss = loss + 1e-4 * sum(K.sum(K.square(w)) for w in weights)
    accuracy = K.mean(K.equal(K.argmax(y), target))
    train = K.function([x, target], [loss, accuracy], Momentum().updates(loss, weights))
    return train, K.function([x], y, name="predict")


def elementwise(x: K.Tensor) -> list[K.Tensor]:
    """Operators and methods in all mixtures of tensors, arrays and numbers."""
    array = np.arange(3.0)
    return [
        2 * x + 1 - x / 3 + x**2,
        array + x,
        x @ np.eye(3),
        -abs(x) % 2,
        (x > 0) & ~(x < array),
        K.maximum(x, 0.0),
        K.where(x > 0, x, K.zeros_like(x)),
        K.clip(x, -1, 1),
        x.sum(axis=0, keepdims=True),
        x.reshape(-1, 3).transpose(1, 0).max(),
        x[:, 0] + x[0, None, :2].mean(),
        K.concatenate([x, x], axis=0),
        K.stack([x, x]),
        K.tile(x, (1, 2)),
        x.T.astype("float64"),
        K.permute_dimensions(x, (1, 0)),
        K.logsumexp(x, axis=(0, 1)),
        K.top_k(x, 2)[0],
        K.split(x, 3, axis=1)[0],
    ]


def derivatives() -> list[K.Tensor]:
    """One tensor for a tensor, a list for a list."""
    v = K.variable([1.0, 2.0], name="v")
    cost = K.sum(v**3)
    first = K.grad(cost, v)
    (same,) = K.grad(cost, [v])
    return [first + same, K.jacobian(v**2, v), K.hessian(cost, v), K.gradients(cost, v)[0] * 2]


def loops() -> list[K.Tensor]:
    """A scan with updates, a map and a recurrent net."""
    steps = K.placeholder((), dtype="int32", name="steps")
    powers, updates = K.scan(lambda prior: prior * 2.0, outputs_info=K.constant(1.0), n_steps=steps)
    x = K.placeholder((None, 4, 3), name="series")
    w = K.variable(np.eye(3))
    last, outputs, states = K.rnn(
        lambda x, states: (K.tanh(x + K.dot(states[0], w)), [x]), x, [x[:, 0] * 0]
    )
    f = K.function([steps], powers[-1], updates=updates)
    print(f(5), f.steps(), f.stats()["nodes"], f.name)
    return [last, outputs, states[0], K.map_fn(lambda row: K.sum(row), x)]


def mistakes() -> str:
    """Errors have classes."""
    try:
        K.dot(K.placeholder((2, 3)), K.placeholder((2, 3)))
    except ShapeError as problem:
        return str(problem)
    return ""


def sparse_input() -> Function:
    """A sparse matrix goes in, a dense product comes out."""
    a = K.placeholder((None, 4), sparse=True, name="a")
    return K.function([a], K.dot(a, K.constant(np.ones((4, 2)))))


@K.jit
def step(u: np.ndarray, rate: float) -> np.ndarray:
    """A step of diffusion in plain NumPy."""
    new = u.copy()
    new[1:-1] += rate * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 8)).astype("float32")
    target = (x[:, 0] > 0).astype("int64")
    train, predict = classifier([8, 16, 2])
    losses = [train(x, target)[0] for _ in range(20)]
    print(losses[0] > losses[-1], predict(x).shape, predict.explain()[:20])
    a = K.placeholder((3, 3), name="a")
    values = K.function([a], elementwise(a))(np.eye(3))
    print(len(values), [d.eval().shape for d in derivatives()], len(loops()))
    print(mistakes()[:20], step(np.ones(8), 0.1).sum(), K.evaluate("2 * x + 1"))
    print(K.int_shape(a)[0] + 1, K.ndim(a) + 1, a.dtype.upper(), K.epsilon() * 2)
    w = K.variable(1.0)
    K.set_value(w, K.get_value(w) + 1)
    K.function([], [], updates={w: w * 2})()
    K.function([], [], updates=[K.update_add(w, 2)])()


if __name__ == "__main__":
    main()
