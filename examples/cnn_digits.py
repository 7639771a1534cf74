"""Trains a small convolutional net on handwritten digits and shows where its time goes.

    python examples/cnn_digits.py                     the digits beside this file, seconds
    python examples/cnn_digits.py --data mnist.npz    any file with the same keys, minutes

`network` is all there is to see of ckernels. At the end the program prints the time of each layer,
forwards and backwards: generated instructions know the line of the program they came from.
"""

import argparse
import linecache
import os
from typing import NamedTuple

import numpy as np
from mlp_digits import DIGITS, MOMENTUM, accuracy, fit, load

import ckernels as K


class Settings(NamedTuple):
    filters: tuple
    hidden: int
    epochs: int
    batch: int
    rate: float  # of the first epoch; falls along a half cosine
    jitter: float  # chance of an image to be moved by one pixel, along each axis


SMALL = Settings(filters=(16, 32), hidden=64, epochs=20, batch=32, rate=0.05, jitter=0.2)
LARGE = Settings(filters=(32, 64), hidden=128, epochs=4, batch=64, rate=0.05, jitter=0.5)


class Weights:
    """Variables with He's scale, which keeps the variance through relu layers, and their biases."""

    def __init__(self, rng):
        self.rng, self.all = rng, []

    def __call__(self, *shape):
        scale = np.float32((2 / np.prod(shape[:-1])) ** 0.5)
        kernel = K.variable(self.rng.standard_normal(shape, dtype=np.float32) * scale)
        bias = K.zeros(shape[-1:])
        self.all += [kernel, bias]
        return kernel, bias


def network(side, classes, settings, rng):
    """(train, predict), called with images as flat vectors of side * side pixels.

    train([images, one-hot labels, rate]) does one step of gradient descent with momentum and
    returns the loss; predict([images]) returns the digits.
    """
    first, second = settings.filters
    rest = (side + 3) // 4  # the side after two poolings, rounded up
    weights = Weights(rng)
    (k1, b1), (k2, b2) = weights(3, 3, 1, first), weights(3, 3, first, second)
    w3, b3 = weights(rest**2 * second, settings.hidden)
    w4, b4 = weights(settings.hidden, classes)

    x = K.placeholder(shape=(None, side * side), name="x")
    t = K.placeholder(shape=(None, classes), name="t")
    rate = K.placeholder(shape=(), name="rate")
    h = K.reshape(x, (-1, side, side, 1))
    h = K.relu(K.bias_add(K.conv2d(h, k1, padding="same"), b1))
    h = K.pool2d(h, (2, 2), (2, 2), padding="same")
    h = K.relu(K.bias_add(K.conv2d(h, k2, padding="same"), b2))
    h = K.pool2d(h, (2, 2), (2, 2), padding="same")
    h = K.relu(K.dot(K.batch_flatten(h), w3) + b3)
    y = K.softmax(K.dot(h, w4) + b4)
    loss = K.mean(K.categorical_crossentropy(y, t))

    updates = []
    for p, gradient in zip(weights.all, K.gradients(loss, weights.all)):
        velocity = K.zeros(K.int_shape(p))
        moved = MOMENTUM * velocity - rate * gradient
        updates += [K.update(velocity, moved), K.update_add(p, moved)]
    train = K.function([x, t, rate], loss, updates, profile=True)
    return train, K.function([x], K.argmax(y))


def predictor(predict, size=1000):
    """`predict` in batches: what lies between the layers of 10,000 images would fill gigabytes."""

    def run(inputs):
        images = inputs[0]
        parts = [predict([images[k : k + size]]) for k in range(0, len(images), size)]
        return np.concatenate(parts)

    return run


def times_of_lines(function):
    """[(ms per call, calls, source text)] of the lines of this file, in their order."""
    lines = {}
    for row in function.profile_table():
        number = row.line[1] if row.line else 0
        ms, calls = lines.get(number, (0.0, 0))
        lines[number] = ms + row.ms, max(calls, row.calls)
    return [
        (ms / max(calls, 1), linecache.getline(__file__, number).strip() or "other")
        for number, (ms, calls) in sorted(lines.items())
    ]


def arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", default=DIGITS, help="an .npz file (default: the digits)")
    parser.add_argument("--epochs", type=int, help="default: 20 for the digits, 4 for larger sets")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    data = load(options.data)
    settings = SMALL if len(data["train"][0]) < 10_000 else LARGE
    if options.epochs is not None:
        settings = settings._replace(epochs=options.epochs)
    rng = np.random.default_rng(options.seed)
    side, classes = int(data["train"][0].shape[1] ** 0.5), int(data["train"][1].max()) + 1
    counts = ", ".join(f"{len(images)} {part}" for part, (images, _) in data.items())
    print(
        f"{os.path.basename(options.data)}: {counts}; {side} x {side} pixels, "
        f"{settings.filters[0]} and {settings.filters[1]} filters"
    )

    train, predict = network(side, classes, settings, rng)
    predict = predictor(predict)
    fit(train, predict, data, settings, rng)
    print(f"test accuracy {accuracy(predict, *data['test']):.2%}\n")

    rows = times_of_lines(train)
    total = sum(ms for ms, _ in rows)
    print(f"one step of {settings.batch} images, {total:.2f} ms, by line (forwards and backwards):")
    for ms, text in rows:
        print(f"{ms:9.3f} ms {100 * ms / total:5.1f} %  {text}")


if __name__ == "__main__":
    main()
