"""Trains a classifier of handwritten digits: two hidden layers, momentum, one compiled step.

    python examples/mlp_digits.py                     the digits beside this file, seconds
    python examples/mlp_digits.py --data mnist.npz    any file with the same keys, minutes

`classifier` is all there is to see of ckernels. The first 50 steps are also done in plain NumPy, as
a check and for the time; at the end the program shows what was compiled.
"""

import argparse
import os
import time
from typing import NamedTuple

import numpy as np

import ckernels as K

DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "digits.npz")
MOMENTUM = np.float32(0.9)


class Settings(NamedTuple):
    hidden: tuple
    epochs: int
    batch: int
    rate: float  # of the first epoch; falls along a half cosine
    jitter: float  # chance of an image to be moved by one pixel, along each axis


SMALL = Settings(hidden=(256, 128), epochs=25, batch=32, rate=0.05, jitter=0.1)
LARGE = Settings(hidden=(512, 256), epochs=12, batch=128, rate=0.1, jitter=0.5)


def classifier(weights):
    """(train, predict) for the layers with these [(weights, bias)].

    train([images, one-hot labels, rate]) does one step of gradient descent with momentum and
    returns the loss; predict([images]) returns the digits.
    """
    n_in, n_out = weights[0][0].shape[0], weights[-1][0].shape[1]
    x = K.placeholder(shape=(None, n_in), name="x")
    t = K.placeholder(shape=(None, n_out), name="t")
    rate = K.placeholder(shape=(), name="rate")

    layers = [(K.variable(w), K.variable(b)) for w, b in weights]
    h = x
    for w, b in layers[:-1]:
        h = K.relu(K.dot(h, w) + b)
    w, b = layers[-1]
    y = K.softmax(K.dot(h, w) + b)
    loss = K.mean(K.categorical_crossentropy(y, t))

    parameters = [p for layer in layers for p in layer]
    updates = []
    for p, gradient in zip(parameters, K.gradients(loss, parameters)):
        velocity = K.zeros(K.int_shape(p))
        moved = MOMENTUM * velocity - rate * gradient
        updates += [K.update(velocity, moved), K.update_add(p, moved)]
    return K.function([x, t, rate], loss, updates), K.function([x], K.argmax(y))


class NumpyClassifier:
    """The same step by hand, with the gradient worked out on paper and the temporaries reused."""

    def __init__(self, weights):
        self.parameters = [p.copy() for layer in weights for p in layer]
        self.velocities = [np.zeros_like(p) for p in self.parameters]

    def train(self, x, t, rate):
        w1, b1, w2, b2, w3, b3 = self.parameters
        h1 = relu_layer(x, w1, b1)
        h2 = relu_layer(h1, w2, b2)
        z = h2 @ w3
        z += b3
        z -= z.max(1, keepdims=True)
        y = np.exp(z)
        total = y.sum(1, keepdims=True)
        loss = (np.log(total[:, 0]) - (z * t).sum(1)).mean()

        y /= total
        d3 = (y - t) / np.float32(len(x))
        d2 = d3 @ w3.T
        d2 *= h2 > 0
        d1 = d2 @ w2.T
        d1 *= h1 > 0
        gradients = x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)
        for p, v, g in zip(self.parameters, self.velocities, gradients):
            g *= rate
            v *= MOMENTUM
            v -= g
            p += v
        return loss


def relu_layer(x, w, b):
    h = x @ w
    h += b
    return np.maximum(h, 0, out=h)


def initial_weights(sizes, rng):
    """[(weights, bias)] with He's scale, which keeps the variance through relu layers."""
    return [
        (
            rng.standard_normal((n, m), dtype=np.float32) * np.float32((2 / n) ** 0.5),
            np.zeros(m, np.float32),
        )
        for n, m in zip(sizes, sizes[1:])
    ]


def load(path):
    """{"train" | "valid" | "test": (images in [0, 1] as float32, labels)}."""
    with np.load(path) as file:
        largest = np.float32(file["train.data"].max())
        return {
            part: (file[f"{part}.data"].astype(np.float32) / largest, file[f"{part}.lbl"])
            for part in ("train", "valid", "test")
        }


def batches(images, labels, classes, settings, rng):
    """Shuffled batches of (images, one-hot labels) for one epoch; a last short one is left out."""
    one_hot = np.eye(classes, dtype=np.float32)
    order = rng.permutation(len(images))
    for start in range(0, len(order) - settings.batch + 1, settings.batch):
        chosen = order[start : start + settings.batch]
        yield moved(images[chosen], settings.jitter, rng), one_hot[labels[chosen]]


def moved(images, chance, rng):
    """Square images, some of them moved by a pixel: the net learns that this changes nothing."""
    if chance == 0:
        return images
    n, side = len(images), int(images.shape[1] ** 0.5)
    padded = np.pad(images.reshape(n, side, side), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    shift = np.where(rng.random((2, n)) < chance, rng.integers(0, 3, (2, n)), 1)
    return windows[np.arange(n), shift[0], shift[1]].reshape(n, -1)


def accuracy(predict, images, labels):
    return float((predict([images]) == labels).mean())


def compare(train, weights, data, settings, steps=50):
    """Does the first steps with ckernels, then the same with NumPy.

    Returns ({name: seconds of a typical step}, largest difference of a loss). One after the other,
    because two libraries with threads of their own disturb each other when they alternate.
    """
    classes = weights[-1][0].shape[1]
    rng = np.random.default_rng(1)
    (images, labels), work = data["train"], []
    while len(work) < steps:
        work += batches(images, labels, classes, settings, rng)
    by_hand = NumpyClassifier(weights)
    steppers = {
        "ckernels": lambda *batch: train(batch),
        "NumPy": lambda *batch: by_hand.train(*batch),
    }
    seconds, losses = {}, {}
    for name, step in steppers.items():
        taken, losses[name] = [], []
        for x, t in work[:steps]:
            start = time.perf_counter()
            losses[name].append(step(x, t, np.float32(settings.rate)))
            taken.append(time.perf_counter() - start)
        seconds[name] = float(np.median(taken))  # the first calls compile and plan
    difference = np.abs(np.subtract(losses["ckernels"], losses["NumPy"])).max()
    return seconds, float(difference)


def progress(total):
    """A function to call after each step, one to print with, one to call at the end; a bar where
    rich is there.
    """
    try:
        from rich.progress import Progress, TextColumn
    except ImportError:
        return lambda text: None, print, lambda: None
    columns = (*Progress.get_default_columns(), TextColumn("{task.fields[loss]}"))
    bar = Progress(*columns, transient=True)
    task = bar.add_task("training", total=total, loss="")
    bar.start()
    return lambda text: bar.update(task, advance=1, loss=text), bar.console.print, bar.stop


def fit(train, predict, data, settings, rng):
    """Trains for all epochs; prints loss and validation accuracy after each."""
    images, labels = data["train"]
    classes = int(labels.max()) + 1
    steps = len(images) // settings.batch
    advance, say, stop = progress(settings.epochs * steps)
    start = time.perf_counter()
    for epoch in range(settings.epochs):
        rate = np.float32(settings.rate * (1 + np.cos(np.pi * epoch / settings.epochs)) / 2)
        losses = []
        for x, t in batches(images, labels, classes, settings, rng):
            losses.append(float(train([x, t, rate])))
            advance(f"loss {losses[-1]:.3f}")
        right = accuracy(predict, *data["valid"])
        seconds = time.perf_counter() - start
        say(
            f"epoch {epoch + 1:3d}/{settings.epochs}  loss {np.mean(losses):.4f}  "
            f"validation {right:.2%}  {seconds:5.1f} s"
        )
    stop()


def describe(name, function):
    """What the compiler did for a function."""
    stats = function.stats()
    kernels = stats["kernels"]
    print(
        f"{name}: {stats['nodes']} graph nodes -> {stats['instructions']} instructions, "
        f"{len(kernels)} generated kernels ({stats['built']} compiled in "
        f"{stats['compile_seconds']:.2f} s, {stats['from_cache']} from the cache), "
        f"{stats['peak_bytes'] / 1024:.0f} KiB of buffers"
    )
    for kernel in kernels:
        print(f"    {kernel['name']}: {kernel['inputs']} arrays in, {kernel['outputs']} out")
    if kernels:
        print(f"    the first one is in {kernels[0]['path']}")


def arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", default=DIGITS, help="an .npz file (default: the digits)")
    parser.add_argument("--epochs", type=int, help="default: 25 for the digits, 12 for larger sets")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    data = load(options.data)
    settings = SMALL if len(data["train"][0]) < 10_000 else LARGE
    if options.epochs is not None:
        settings = settings._replace(epochs=options.epochs)
    rng = np.random.default_rng(options.seed)
    n_in, classes = data["train"][0].shape[1], int(data["train"][1].max()) + 1
    sizes = (n_in, *settings.hidden, classes)
    counts = ", ".join(f"{len(images)} {part}" for part, (images, _) in data.items())
    print(f"{os.path.basename(options.data)}: {counts}; layers {'-'.join(map(str, sizes))}")

    weights = initial_weights(sizes, rng)
    train, predict = classifier(weights)
    seconds, difference = compare(train, weights, data, settings)
    fit(train, predict, data, settings, rng)
    print(f"test accuracy {accuracy(predict, *data['test']):.2%}\n")

    print(
        f"one step of {settings.batch} images: ckernels {seconds['ckernels'] * 1e6:.0f} us, "
        f"NumPy {seconds['NumPy'] * 1e6:.0f} us ({seconds['NumPy'] / seconds['ckernels']:.1f}x); "
        f"the losses of the first 50 steps differ by at most {difference:.1e}"
    )
    describe("train", train)
    describe("predict", predict)
    print("train.source() is the generated C.")


if __name__ == "__main__":
    main()
