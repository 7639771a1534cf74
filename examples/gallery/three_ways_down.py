"""
Three ways down
===============

Plain gradients, momentum and Adam (Kingma and Ba, 2015) on the digits, from eight seeds each: the
losses as bands, from the tenth to the ninetieth per cent.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

HERE = os.path.dirname(os.path.abspath(K.__file__))
with np.load(os.path.join(HERE, "..", "examples", "data", "digits.npz")) as file:
    images, labels = file["train.data"].astype("float32") / 16, file["train.lbl"]


def plain(w, g):
    return [K.update_sub(w, 0.3 * g)]


def momentum(w, g):
    v = K.zeros(K.int_shape(w))
    faster = 0.9 * v - 0.05 * g
    return [K.update(v, faster), K.update_add(w, faster)]


def adam(w, g):
    m, v, t = K.zeros(K.int_shape(w)), K.zeros(K.int_shape(w)), K.variable(1.0)
    new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
    step = new_m / (1 - K.pow(0.9, t)) / (K.sqrt(new_v / (1 - K.pow(0.999, t))) + 1e-7)
    new = [K.update(m, new_m), K.update(v, new_v), K.update_add(t, 1.0)]
    return [*new, K.update_sub(w, 0.005 * step)]


# %%
# The graph is built once for each rule; a seed is other values in its variables.


def trained(rule, seeds=8, steps=300):
    x, t = K.placeholder((None, 64)), K.placeholder((None,), dtype="int32")
    w1, b1 = K.zeros((64, 48)), K.zeros((48,))
    w2, b2 = K.zeros((48, 10)), K.zeros((10,))
    y = K.softmax(K.dot(K.relu(K.dot(x, w1) + b1), w2) + b2)
    loss = K.mean(K.sparse_categorical_crossentropy(y, t))
    weights = [w1, b1, w2, b2]
    updates = [u for w, g in zip(weights, K.gradients(loss, weights)) for u in rule(w, g)]
    train = K.function([x, t], loss, updates)
    first = [(u[0], K.get_value(u[0])) for u in updates]
    losses = np.zeros((seeds, steps))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        K.batch_set_value(first)
        K.set_value(w1, rng.normal(0, 64**-0.5, (64, 48)))
        K.set_value(w2, rng.normal(0, 48**-0.5, (48, 10)))
        for step in range(steps):
            rows = rng.integers(0, len(images), 64)
            losses[seed, step] = train(images[rows], labels[rows])
    return losses


figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
for rule in (plain, momentum, adam):
    losses = trained(rule)
    smooth = np.apply_along_axis(np.convolve, 1, losses, np.ones(15) / 15, "valid")
    low, middle, high = np.percentile(smooth, [10, 50, 90], axis=0)
    axis.fill_between(range(len(low)), low, high, alpha=0.25)
    axis.plot(middle, label=rule.__name__)
    print(f"{rule.__name__:9} {middle[-1]:.3f}")
axis.set(xlabel="step", ylabel="loss", yscale="log")
axis.legend()
