"""
From noise to rings
===================

A small diffusion model (Ho and others, 2020) learns two rings; the way back from noise is one
function of 100 steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

STEPS, WIDTH = 100, 128
rng = np.random.default_rng(0)
beta = np.linspace(1e-4, 0.1, STEPS).astype("float32")
kept = np.cumprod(1 - beta)


def rings(n):
    angle, radius = rng.uniform(0, 2 * np.pi, n), rng.choice([0.4, 1.6], n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return (points + 0.03 * rng.normal(size=(n, 2))).astype("float32")


def layer(n, m):
    return K.variable(rng.normal(0, (2 / n) ** 0.5, (n, m))), K.variable(np.zeros(m))


layers = [layer(2 + 6, WIDTH), layer(WIDTH, WIDTH), layer(WIDTH, 2)]
weights = [w for pair in layers for w in pair]
waves = K.constant((np.pi / STEPS * 2.0 ** np.arange(3)).astype("float32"))


def noise_in(x, share):
    """The net: the noise that it finds in `x`; share: how far on, a column."""
    turns = share * waves
    h = K.concatenate([x, K.sin(turns), K.cos(turns)])
    for w, b in layers[:-1]:
        h = K.relu(K.dot(h, w) + b)
    return K.dot(h, layers[-1][0]) + layers[-1][1]


# %%
# Learning: find the noise that was mixed in.

clean, t = K.placeholder((None, 2)), K.placeholder((None, 1), dtype="int32")
noise = K.random_normal(K.shape(clean), seed=1)
alpha = K.gather(K.constant(kept), t)
mixed = K.sqrt(alpha) * clean + K.sqrt(1 - alpha) * noise
loss = K.mean(K.square(noise_in(mixed, K.cast(t, "float32")) - noise))
updates = []
for w, g in zip(weights, K.gradients(loss, weights)):
    m, v = K.zeros(K.int_shape(w)), K.zeros(K.int_shape(w))
    new_m, new_v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * K.square(g)
    step = 3e-3 * new_m / (K.sqrt(new_v) + 1e-6)
    updates += [K.update(m, new_m), K.update(v, new_v), K.update_sub(w, step)]
train = K.function([clean, t], loss, updates)
for _ in range(6000):
    train(rings(256), rng.integers(0, STEPS, (256, 1)))

# %%
# The way back.

x, now = K.placeholder((None, 2)), K.placeholder((1, 1))
found = K.function([x, now], noise_in(x, now + K.zeros_like(x[:, :1])))
points, frames = rng.normal(size=(1000, 2)).astype("float32"), []
for i in range(STEPS - 1, -1, -1):
    if i in (99, 50, 20, 10, 0):
        frames.append((i, points))
    points = points - beta[i] / np.sqrt(1 - kept[i]) * found(points, np.full((1, 1), i))
    points = points / np.sqrt(1 - beta[i])
    if i:
        points = points + np.float32(beta[i] ** 0.5) * rng.normal(size=points.shape).astype(
            "float32"
        )
frames[-1] = (0, points)

figure, axes = plt.subplots(1, 5, figsize=(10, 2.3), layout="constrained")
for axis, (i, shown) in zip(axes, frames):
    axis.plot(*shown.T, ".", ms=1)
    axis.set(title=f"noise step {i}", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), aspect="equal")
    axis.axis("off")
