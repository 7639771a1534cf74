"""A user's program around the K functions: plain NumPy, exports, pictures, files, dialects."""

import io
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ckernels as ck
import ckernels.numpy as cnp
from ckernels.compat import keras2
from ckernels.errors import ArgumentError, CKernelsError, NotSupported
from ckernels.jit import grad, hessian, jacobian, jit, jvp, value_and_grad, vjp, vmap
from ckernels.typing import Function, Shape, TensorLike, Updates

Floats = npt.NDArray[np.float64]


# ---- plain NumPy ----


@ck.jit
def energy(x: Floats, strength: float = 1.0) -> float:
    return strength * np.sum(x**2) / 2


@jit(static="times", check="nan")
def repeated(x: Floats, times: int) -> Floats:
    for _ in range(times):
        x = np.sin(x) + 1
    return x


@ck.jit(background=True)
def smooth(u: Floats) -> Floats:
    v = u.copy()
    v[1:-1] = (u[:-2] + u[2:]) / 2
    return v


def derivatives(x: Floats) -> dict[str, object]:
    value, slope = value_and_grad(energy)(x)
    back_value, pull = vjp(lambda a: a * a, x)
    return {
        "value": float(value),
        "slope": slope.shape,
        "grad": grad(energy, argnums=0)(x) - slope,
        "jacobian": jacobian(lambda a: a**2)(x).shape,
        "hessian": hessian(energy)(x).shape,
        "jvp": jvp(lambda a: a * a, (3.0,), (1.0,))[1],
        "vjp": pull(np.ones_like(x))[0] + back_value,
        "vmap": vmap(np.dot, (0, None))(np.eye(2), np.array([3.0, 4.0])),
        "of the module": ck.jit.grad(ck.jit.grad(lambda a: a**3))(2.0),
    }


def descend(cost: Callable[[Floats], float], start: Floats, steps: int, rate: float) -> Floats:
    slope = ck.jit.grad(cost)
    for _ in range(steps):
        start = start - rate * slope(start)
    return start


def late() -> list[float]:
    x = cnp.linspace(0.0, 1.0, 11)
    y = cnp.exp(-(x**2))
    y[0] = 0
    table = cnp.stack([x, y], axis=1)
    print(table.shape, table.dtype, cnp.asarray([1, 2]).sum(), np.asarray(table).mean())
    return [float(cnp.sum(y)), float(y.max())]


# ---- graphs ----


class Net:
    """A net of a user's own, with its parameters in a list."""

    def __init__(self, sizes: list[int], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.weights = [
            ck.variable(rng.normal(size=pair) / pair[0] ** 0.5, name=f"w{k}")
            for k, pair in enumerate(zip(sizes, sizes[1:]))
        ]
        self.biases = [ck.zeros((n,), name=f"b{k}") for k, n in enumerate(sizes[1:])]

    @property
    def parameters(self) -> list[ck.Variable]:
        return [*self.weights, *self.biases]

    def __call__(self, x: ck.Tensor) -> ck.Tensor:
        for w, b in zip(self.weights, self.biases):
            x = ck.tanh(ck.dot(x, w) + b)
        return x

    def save(self, file: io.BytesIO) -> None:
        values: dict[str, Any] = {str(p.name): ck.get_value(p) for p in self.parameters}
        np.savez(file, **values)

    def load(self, file: io.BytesIO) -> None:
        file.seek(0)
        with np.load(file) as arrays:
            ck.batch_set_value([(p, arrays[str(p.name)]) for p in self.parameters])


def momentum(loss: ck.Tensor, parameters: list[ck.Variable], rate: float) -> Updates:
    updates: list[tuple[ck.Variable, ck.Tensor]] = []
    for p, g in zip(parameters, ck.gradients(loss, parameters)):
        velocity = ck.zeros(ck.int_shape(p))
        moved = 0.9 * velocity - rate * g
        updates += [ck.update(velocity, moved), ck.update_add(p, moved)]
    return updates


def flat(x: ck.Tensor, shape: Shape = (-1,)) -> ck.Tensor:
    return ck.reshape(x, shape)


def made(net: Net, shape: tuple[int | None, ...] = (None, 4)) -> tuple[Function, Function]:
    x = ck.placeholder(shape, name="x")
    t = ck.placeholder((None, 1), name="t")
    loss = ck.mean(ck.square(flat(net(x) - t)))
    train = ck.function([x, t], [loss], momentum(loss, net.parameters, 0.1), profile=True)
    return train, ck.function([x], net(x), name="predict")


def scaled(x: TensorLike, factor: TensorLike = 2.0) -> ck.Tensor:
    return ck.sum(ck.constant(x) if isinstance(x, np.ndarray) else x, axis=-1) * factor


def looked_at(train: Function, predict: Function, folder: Path) -> None:
    ck.draw(train, folder / "train.html")
    print(len(train.profile_table()), train.stats()["kernels"], train.explain(rewrites=True)[:5])
    report = ck.export(predict, folder / "net", shapes={"x": (1, 4)}, prefix="net")
    print(report.state + report.arena >= 0, ck.explain(predict)[:5], predict.source()[:5])
    again: Function = pickle.loads(pickle.dumps(predict))
    print(again(np.ones((2, 4))).shape, again.name, again.copy(name="other").assumptions())


def stated() -> Floats:
    x = ck.placeholder((None,), dtype="float64", name="x")
    total, _ = ck.scan(lambda row, sum: sum + row, sequences=x, outputs_info=x[0] * 0)
    chosen = ck.switch(ck.greater(total, 0), total, -total)
    return ck.function([x], ck.cumsum(chosen)[::-1])(np.arange(4.0))


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except (ArgumentError, NotSupported) as problem:
        return f"{type(problem).__name__}: {problem}"
    except CKernelsError as problem:
        return str(problem)
    return "taken"


# ---- a program of Keras 2's backend ----


def dialect() -> float:
    x = keras2.placeholder(shape=(None, 3))
    w = keras2.variable(np.ones((3, 1)))
    loss = keras2.mean(keras2.binary_crossentropy(keras2.ones_like(x[:, :1]), keras2.dot(x, w)))
    step = keras2.function([x], [loss], updates=[keras2.update_sub(w, loss * w)])
    return float(step([np.full((2, 3), 0.1)])[0])


def main() -> None:
    x = np.array([1.0, 2.0])
    print(energy(x), energy(x, strength=2.0), repeated(x, 3), smooth(np.arange(5.0)))
    print(derivatives(x), descend(lambda a: np.sum((a - 1) ** 2), x, 20, 0.2), late())
    net, other = Net([4, 3, 1]), Net([4, 3, 1], seed=1)
    train, predict = made(net)
    rng = np.random.default_rng(0)
    images, targets = rng.normal(size=(8, 4)), rng.normal(size=(8, 1))
    losses = [float(train([images, targets])[0]) for _ in range(10)]
    print(losses[-1] < losses[0], [*train.over([(images, targets)] * 2)])
    file = io.BytesIO()
    net.save(file)
    other.load(file)
    with tempfile.TemporaryDirectory() as folder:
        looked_at(train, predict, Path(folder))
    print(ck.eval(scaled(np.ones((2, 3)))), stated(), dialect())
    print(refused(lambda: ck.draw(train, "a.tiff")), ck.evaluate("x + 1", {"x": x}))
    ck.set_num_threads(1)
    with ck.config.change({"mode": "reference"}):
        print(ck.threads_info()["threads"], ck.floatx(), ck.epsilon() + 1.0)


if __name__ == "__main__":
    main()
