"""Trains a restricted Boltzmann machine on binary images and measures its log-likelihood.

    python examples/rbm_mnist.py                          the digits beside this file, half a minute
    python examples/rbm_mnist.py --data mnist.npz         784-500, CD-25: minutes
    python examples/rbm_mnist.py --data mnist.npz --pcd   persistent chains

Contrastive divergence (Hinton 2002) or its persistent form (Tieleman 2008), the k steps of Gibbs
sampling in one loop inside the training function; the partition function by annealed importance
sampling, a loop too (Salakhutdinov and Murray 2008). `Machine` and `functions` are all there is to
see of ckernels. Writes rbm_filters.png and rbm_samples.png.
"""

import argparse
import os
import struct
import time
import zlib
from typing import NamedTuple

import numpy as np
from mlp_digits import DIGITS, progress

import ckernels as K


class Settings(NamedTuple):
    hidden: int
    epochs: int
    batch: int
    k: int  # Gibbs steps per update
    rate: float  # of the first epoch; falls to zero along a line
    decay: float  # of the weights


SMALL = Settings(hidden=100, epochs=60, batch=20, k=10, rate=0.05, decay=1e-4)
LARGE = Settings(hidden=500, epochs=20, batch=100, k=25, rate=0.02, decay=5e-4)
MOMENTUM = 0.5, 0.9  # of the first epochs, and of the others


class Machine:
    """p(v, h) = exp(v w h + b v + c h) / Z over binary vectors v and h."""

    def __init__(self, means, hidden, rng):
        """means: of the visible units in the data, from which their biases start."""
        p = np.clip(means, 0.01, 0.99)
        weights = rng.standard_normal((len(p), hidden)) * 0.01
        self.w = K.variable(weights, name="w")
        self.b = K.variable(np.log(p / (1 - p)), name="b")
        self.c = K.zeros((hidden,), name="c")
        self.parameters = [self.w, self.b, self.c]

    def hidden(self, v):
        """What the hidden units receive."""
        return K.dot(v, self.w) + self.c

    def visible(self, h):
        """What the visible units receive."""
        return K.dot(h, K.transpose(self.w)) + self.b

    def free_energy(self, v):
        """-log sum_h exp(v w h + b v + c h), one number per row."""
        return -K.dot(v, self.b) - K.sum(K.softplus(self.hidden(v)), axis=1)

    def gibbs(self, v):
        """One step of Gibbs sampling: hidden units given v, then visible ones given these."""
        return sampled(self.visible(sampled(self.hidden(v))))


def sampled(z):
    """Bernoulli numbers of probability sigmoid(z)."""
    p = K.sigmoid(z)
    return K.random_binomial(K.shape(p), p)


def training_step(machine, settings, chains=None):
    """train([v, rate, momentum]): one update from a batch; returns the mean free energy of v less
    that of the chains' ends. chains: None for CD, or a variable that holds them for PCD.
    """
    v = K.placeholder(shape=(None, K.int_shape(machine.b)[0]), name="v")
    rate, momentum = K.placeholder(shape=(), name="rate"), K.placeholder(shape=(), name="momentum")
    start = v if chains is None else chains
    steps, updates = K.scan(machine.gibbs, outputs_info=start, n_steps=settings.k, name="gibbs")
    end = K.stop_gradient(steps[-1])

    loss = K.mean(machine.free_energy(v)) - K.mean(machine.free_energy(end))
    updates = list(updates.items())
    if chains is not None:
        updates.append(K.update(chains, end))
    for p, gradient in zip(machine.parameters, K.gradients(loss, machine.parameters)):
        if p is machine.w:
            gradient = gradient + settings.decay * p
        velocity = K.zeros(K.int_shape(p))
        moved = momentum * velocity - rate * gradient
        updates += [K.update(velocity, moved), K.update_add(p, moved)]
    return K.function([v, rate, momentum], loss, updates=updates, name="train")


def monitor(machine):
    """look([v]): (reconstruction error per pixel, pseudo-log-likelihood per image).

    The pseudo-likelihood is sum_i log p(v_i | the other pixels), estimated from one random pixel i
    of each image, times their number.
    """
    n = K.int_shape(machine.b)[0]
    v = K.placeholder(shape=(None, n), name="v")
    back = K.sigmoid(machine.visible(K.sigmoid(machine.hidden(v))))
    pixel = K.random_uniform((v.shape[0],), 0, n, dtype="int32")
    other = K.abs(v - K.one_hot(pixel, n))
    likely = -n * K.softplus(machine.free_energy(v) - machine.free_energy(other))
    return K.function([v], [K.mean(K.square(v - back)), K.mean(likely)], name="look")


def sampler(machine):
    """sample([v, steps]): the probabilities of the visible units after so many Gibbs steps."""
    v = K.placeholder(shape=(None, K.int_shape(machine.b)[0]), name="v")
    steps = K.placeholder(shape=(), dtype="int32", name="steps")
    states, updates = K.scan(machine.gibbs, outputs_info=v, n_steps=steps, name="sampling")
    p = K.sigmoid(machine.visible(sampled(machine.hidden(states[-1]))))
    return K.function([v, steps], p, updates=updates, name="sample")


def annealing(machine, base):
    """weigh([v, betas]): the logarithms of the importance weights of runs that start at rows of v.

    Each run goes from the model with biases `base` and no weights (beta 0) to the machine (beta 1)
    through p(v) ~ exp((1 - beta) base v + beta b v) prod_j (1 + exp(beta z_j)), z = v w + c.
    """
    base = K.constant(base)
    v = K.placeholder(shape=(None, K.int_shape(machine.b)[0]), name="v")
    betas = K.placeholder(shape=(None,), name="betas")

    def step(before, beta, v, log_weight):
        z, slope = machine.hidden(v), K.dot(v, machine.b - base)

        def unnormalised(beta):
            return beta * slope + K.sum(K.softplus(beta * z), axis=1)

        log_weight = log_weight + unnormalised(beta) - unnormalised(before)
        h = sampled(beta * z)
        return sampled(beta * machine.visible(h) + (1 - beta) * base), log_weight

    info = [v, K.zeros_like(v[:, 0])]
    (_, log_weights), updates = K.scan(
        step, sequences=dict(input=betas, taps=[0, 1]), outputs_info=info, name="annealing"
    )
    return K.function([v, betas], log_weights[-1], updates=updates, name="weigh")


def log_partition(machine, means, runs, temperatures, rng):
    """(log Z, its value at three standard deviations below and above) by annealed importance
    sampling; `means` of the data give the model to start from.
    """
    p = (means + 0.05) / 1.05
    base = np.log(p / (1 - p)).astype("float32")
    # Small steps where the distributions change most, in the proportions of the paper.
    shares = np.array([500, 4000, 10000]) * temperatures // 14500 + 1
    ends = (0, 0.5), (0.5, 0.9), (0.9, 1)
    betas = [np.linspace(a, b, n, endpoint=False) for n, (a, b) in zip(shares, ends)]
    betas = np.concatenate([*betas, [1]]).astype("float32")
    start = (rng.random((runs, len(p))) < p).astype("float32")
    hidden = K.int_shape(machine.c)[0]
    log_z0 = hidden * np.log(2) + np.logaddexp(0, base).sum()

    logs = annealing(machine, base)([start, betas]).astype("float64")
    top = logs.max()
    weights = np.exp(logs - top)
    mean, error = weights.mean(), 3 * weights.std() / runs**0.5
    low = np.log(mean - error) if mean > error else -np.inf
    return tuple(log_z0 + top + x for x in (np.log(mean), low, np.log(mean + error)))


def log_likelihood(machine, log_z):
    """A function of images: their mean log-likelihood in nats."""
    v = K.placeholder(shape=(None, K.int_shape(machine.b)[0]), name="v")
    energy = K.function([v], K.mean(machine.free_energy(v)))
    return lambda images: -float(energy([images])) - log_z


# ---- plain Python --------------------------------------------------------------------------------


def load(path):
    """{"train" | "valid" | "test": binary images as float32}: pixels above half of the largest."""
    with np.load(path) as file:
        largest = file["train.data"].max()
        return {
            part: (file[f"{part}.data"] > largest / 2).astype(np.float32)
            for part in ("train", "valid", "test")
        }


def fit(machine, data, settings, persistent, rng):
    """Trains for all epochs and says how it goes; returns the typical seconds of one update."""
    images, size = data["train"], settings.batch
    chains = K.variable(images[rng.permutation(len(images))[:size]]) if persistent else None
    train, look = training_step(machine, settings, chains), monitor(machine)
    count = len(images) // size
    advance, say, stop = progress(settings.epochs * count)
    start, seconds = time.perf_counter(), []
    for epoch in range(settings.epochs):
        momentum = np.float32(MOMENTUM[epoch >= 5])
        order = rng.permutation(len(images))
        for step in range(count):
            done = (epoch * count + step) / (settings.epochs * count)
            rate = np.float32(settings.rate * (1 - done))
            batch = images[order[step * size : (step + 1) * size]]
            begin = time.perf_counter()
            loss = float(train([batch, rate, momentum]))
            seconds.append(time.perf_counter() - begin)
            advance(f"free energies {loss:+.2f}")
        error, likely = look([data["valid"]])
        say(
            f"epoch {epoch + 1:3d}/{settings.epochs}  reconstruction {error:.4f}  "
            f"pseudo-likelihood {likely:8.2f}  {time.perf_counter() - start:6.1f} s"
        )
    stop()
    return float(np.median(seconds))


def mosaic(images, columns):
    """Square images, each stretched to 0 .. 1, side by side with a dark line between them."""
    side = int(images.shape[1] ** 0.5)
    low, high = images.min(1, keepdims=True), images.max(1, keepdims=True)
    tiles = ((images - low) / np.maximum(high - low, 1e-9)).reshape(-1, side, side)
    rows = -(-len(tiles) // columns)
    sheet = np.zeros((rows * (side + 1) + 1, columns * (side + 1) + 1))
    for i, tile in enumerate(tiles):
        y, x = (i // columns) * (side + 1) + 1, (i % columns) * (side + 1) + 1
        sheet[y : y + side, x : x + side] = tile
    return sheet


def write_png(path, gray, scale=2):
    """A picture of numbers in 0 .. 1, as PNG: 8 bits of gray, each number scale x scale pixels."""
    pixels = (np.clip(gray, 0, 1) * 255).astype(np.uint8).repeat(scale, 0).repeat(scale, 1)
    height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)  # 0: no filter

    def chunk(kind, content):
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b""))


def pictures(machine, data, folder, steps):
    """Writes the weights of 100 hidden units, and what 100 chains show after so many steps."""
    filters = K.get_value(machine.w).T[:100]
    chains = sampler(machine)([data["test"][:100], np.int32(steps)])
    for name, images, scale in (("filters", filters, 2), ("samples", chains, 2)):
        path = os.path.join(folder, f"rbm_{name}.png")
        write_png(path, mosaic(images, 10), scale)
        print(f"wrote {path}")


def arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--data", default=DIGITS, help="an .npz file (default: the digits)")
    add("--pcd", action="store_true", help="persistent chains instead of ones that start at data")
    for name in Settings._fields:
        kind = Settings.__annotations__[name]
        add(
            f"--{name}",
            type=kind,
            help=f"default: {getattr(SMALL, name)} for the digits, "
            f"{getattr(LARGE, name)} for larger sets",
        )
    add("--runs", type=int, default=100, help="of annealed importance sampling")
    add("--temperatures", type=int, help="default: 1000 for the digits, 14500 for larger sets")
    add("--out", default=".", help="folder for the pictures")
    add("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    data = load(options.data)
    small = len(data["train"]) < 10_000
    given = {n: getattr(options, n) for n in Settings._fields if getattr(options, n) is not None}
    settings = (SMALL if small else LARGE)._replace(**given)
    rng = np.random.default_rng(options.seed)
    K.set_random_seed(options.seed)

    means = data["train"].mean(0, dtype=np.float64)
    machine = Machine(means, settings.hidden, rng)
    kind = "PCD" if options.pcd else "CD"
    counts = ", ".join(f"{len(images)} {part}" for part, images in data.items())
    print(
        f"{os.path.basename(options.data)}: {counts}; {len(means)}-{settings.hidden}, "
        f"{kind}-{settings.k}, batches of {settings.batch}"
    )
    seconds = fit(machine, data, settings, options.pcd, rng)
    print(f"one update: {seconds * 1e3:.2f} ms")

    start = time.perf_counter()
    temperatures = options.temperatures or (1000 if small else 14500)
    log_z, low, high = log_partition(machine, means, options.runs, temperatures, rng)
    took = time.perf_counter() - start
    print(
        f"log Z {log_z:.2f} ({low:.2f} .. {high:.2f}), {took:.1f} s for {options.runs} runs "
        f"through {temperatures} temperatures"
    )
    if low == -np.inf:
        print("(the runs disagree: Z is underestimated, and the likelihoods are too high)")
    mean_of = log_likelihood(machine, log_z)
    for part in ("train", "test"):
        print(f"log-likelihood, {part}: {mean_of(data[part]):.2f} nats")
    pictures(machine, data, options.out, 200 if small else 1000)


if __name__ == "__main__":
    main()
