"""A user's program around `ck.jit`: methods, partial functions, dataclasses, transforms of what is
compiled."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

import ckernels as ck
from ckernels.jit import grad, jit, value_and_grad, vmap
from ckernels.typing import Function, JitFunction

Array = npt.NDArray[np.float64]


@dataclasses.dataclass
class State:
    position: Array
    velocity: Array
    time: float = 0.0


class Fit(NamedTuple):
    slope: float
    offset: float


@jit
def step(state: State, dt: float) -> State:
    force = -state.position
    velocity = state.velocity + dt * force
    return State(state.position + dt * velocity, velocity, state.time + dt)


@ck.jit(static=("order",), strict=True)
def polynomial(x: Array, *coefficients: float, order: str = "up") -> Array:
    total = np.zeros_like(x)
    for c in coefficients if order == "down" else coefficients[::-1]:
        total = total * x + c
    return total


class Model:
    """Methods under jit: what `self` has is read at each call."""

    def __init__(self, weights: Array, penalty: float = 0.1) -> None:
        self.weights, self.penalty = weights, penalty

    @ck.jit
    def predict(self, x: Array) -> Array:
        return np.tanh(x @ self.weights)

    @jit(check="nan")
    def loss(self, x: Array, y: Array) -> float:
        return float(np.mean((self.predict(x) - y) ** 2) + self.penalty * np.sum(self.weights**2))

    @staticmethod
    @ck.jit
    def scaled(x: Array, by: float = 2.0) -> Array:
        return x * by

    @functools.cached_property
    def slope(self) -> Callable[..., Array]:
        return grad(self.cost)

    def cost(self, weights: Array, x: Array, y: Array) -> np.floating:
        return np.mean((np.tanh(x @ weights) - y) ** 2)

    def train(self, x: Array, y: Array, steps: int = 20) -> Iterator[float]:
        for _ in range(steps):
            self.weights = self.weights - 0.5 * self.slope(self.weights, x, y)
            yield float(self.cost(self.weights, x, y))


def huber(r: Array, delta: float) -> Array:
    return np.where(np.abs(r) < delta, r**2 / 2, delta * (np.abs(r) - delta / 2))


soft = ck.jit(functools.partial(huber, delta=0.5))
square = ck.jit(lambda x: x * x)


def looked_at(f: JitFunction[..., object]) -> list[str]:
    f.wait()
    report = f.report()
    return [f.__name__, f.explain()[:10], f.source()[:10], *map(str, report["numpy"])]


def derivatives(x: Array) -> tuple[Array, float, float]:
    compiled = ck.jit(grad(lambda a: np.sum(square(a) ** 2)))
    second = ck.jit.grad(ck.jit.grad(lambda a: a**4))(2.0)
    value, slopes = value_and_grad(lambda p: p["a"] * p["b"][0])({"a": 2.0, "b": [3.0, 1.0]})
    print(value + 1.0, slopes["a"], ck.jit.hessian(rosenbrock)(x[:2]).shape)
    return compiled(x), second + 0.5, float(vmap(grad(np.sin))(x).sum())


def rosenbrock(x: Array) -> float:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def fitted(x: Array, y: Array) -> Fit:
    @ck.jit
    def error(p: Array) -> float:
        return np.sum((p[0] * x + p[1] - y) ** 2)

    found = minimize(value_and_grad(error), np.zeros(2), jac=True)
    return Fit(*found.x)


def graph() -> Function:
    """The same in the functions of K, with a list of variables and a dict of updates."""
    x = ck.placeholder((None, 3), name="x")
    weights = [ck.variable(np.ones(3), name=name) for name in ("a", "b")]
    loss = ck.mean(sum((ck.dot(x, w) - 1.0) ** 2 for w in weights))
    slopes = ck.gradients(loss, weights)
    updates = {w: w - 0.1 * g for w, g in zip(weights, slopes)}
    best = ck.switch(loss < 1.0, loss, ck.stop_gradient(loss))
    return ck.function([x], [loss, best], updates=updates, profile=True, name="graph")


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = np.tanh(x @ np.array([1.0, -1.0, 0.5]))
    state = State(np.ones(2), np.zeros(2))
    for _ in range(5):
        state = step(state, dt=0.1)
    print(
        state.position.shape, round(state.time, 2), polynomial(x[0], 1.0, 2.0, order="down").sum()
    )
    model = Model(np.zeros(3))
    losses = list(model.train(x, y))
    print(losses[-1] < losses[0], model.predict(x).mean(), model.loss(x, y) + 1.0)
    print(Model.scaled(x, by=3.0).shape, soft(y).sum(), square(3.0) + 1.0, looked_at(square))
    print(
        derivatives(y), fitted(x[:, 0], y).slope, ck.eval(graph().outputs[0] * 0).shape if 0 else 1
    )
    f = graph()
    loss, best = f(x)
    print(float(loss), best.shape, f.profile_table()[0].calls, len(f.timeline()))


if __name__ == "__main__":
    main()
